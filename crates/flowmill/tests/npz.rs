//! Arrays in `.npz` files.
#![allow(clippy::unwrap_used)]

use flowmill::{Code, Complex, Tensor, f16, npz};

#[test]
fn arrays_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npz");
    let arrays = [
        ("matrix", Tensor::from_slice([2, 3], &[1.5f32, 2.0, 3.0, 4.0, 5.0, -6.0]).unwrap()),
        ("scope/scalar", Tensor::scalar(7i64)),
        ("none", Tensor::from_slice([0, 4], &[0u8; 0]).unwrap()),
        ("half", Tensor::vector(&[f16::from_f32(0.5)]).unwrap()),
        ("complex", Tensor::vector(&[Complex::new(1.0f64, -2.0)]).unwrap()),
        ("flags", Tensor::vector(&[true, false]).unwrap()),
    ];
    npz::write(&path, arrays.iter().map(|(name, tensor)| (*name, tensor))).unwrap();
    let back = npz::read(&path).unwrap();
    assert_eq!(back.len(), arrays.len());
    for (name, tensor) in &arrays {
        assert_eq!(&back[*name], tensor, "{name}");
    }
}

#[test]
fn unusable_files_are_errors_that_name_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npz");
    let code = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let error = npz::read(&path).unwrap_err();
        assert!(error.to_string().contains("a.npz"), "{error}");
        error.code()
    };
    assert_eq!(code(b"no archive"), Code::InvalidArgument);
    npz::write(&path, [("x", &Tensor::vector(&[1.0f32; 100]).unwrap())]).unwrap();
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(code(&whole[..whole.len() / 2]), Code::InvalidArgument);
    let shape = whole.windows(5).position(|bytes| bytes == b"(100,").unwrap();
    let mut longer = whole.clone();
    longer[shape + 1] = b'9';
    assert_eq!(code(&longer), Code::DataLoss);
    let mut changed = whole.clone();
    let value = whole.windows(4).position(|bytes| bytes == 1.0f32.to_le_bytes()).unwrap();
    changed[value] ^= 1;
    assert_eq!(code(&changed), Code::DataLoss);
    let twice = npz::write(&path, [("x", &Tensor::scalar(1.0f32)), ("x", &Tensor::scalar(2.0f32))]).unwrap_err();
    assert_eq!(twice.code(), Code::InvalidArgument);
    let strings = npz::write(&path, [("s", &Tensor::string("text"))]).unwrap_err();
    assert_eq!(strings.code(), Code::Unimplemented);
}
