//! Arrays in `.npz` files.
#![allow(clippy::unwrap_used)]

use flowmill::{Code, Complex, Result, Tensor, f16, npz};
use std::collections::BTreeMap;
use std::io::Write;

/// Reads a file with the array `a` of this type and shape, in NumPy's notation, and these bytes.
fn read_array(descr: &str, shape: &str, bytes: &[u8]) -> Result<BTreeMap<String, Tensor>> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npz");
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut archive = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    archive.start_file("a.npy", zip::write::SimpleFileOptions::default()).unwrap();
    archive.write_all(b"\x93NUMPY\x01\x00").unwrap();
    archive.write_all(&u16::try_from(header.len()).unwrap().to_le_bytes()).unwrap();
    archive.write_all(header.as_bytes()).unwrap();
    archive.write_all(bytes).unwrap();
    archive.finish().unwrap();
    npz::read(&path)
}

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

#[test]
fn texts_become_strings() {
    // NumPy wrote this file; its names are of the type `<U3`.
    let of_numpy = npz::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/models/mlp.npz")).unwrap();
    assert_eq!(of_numpy["input_name"], Tensor::string("x:0"));
    assert_eq!(of_numpy["output_name"], Tensor::string("y:0"));
    let strings = |texts: &[&'static str]| Tensor::from_strings([texts.len()], texts.iter().map(|&text| text.into()).collect()).unwrap();
    let points: Vec<u8> = "h\u{e9}\0\u{1f600}\0\0".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    assert_eq!(read_array("<U3", "(2,)", &points).unwrap()["a"], strings(&["h\u{e9}", "\u{1f600}"]));
    assert_eq!(read_array("|S3", "(3,)", b"abca\0\0\0\0\0").unwrap()["a"], strings(&["abc", "a", ""]));
    assert_eq!(read_array("|S0", "(0,)", b"").unwrap()["a"], strings(&[]));
}

#[test]
fn texts_whose_type_or_shape_is_a_lie_are_errors() {
    for (descr, shape, bytes) in [
        ("<U1", "()", &[0, 0, 0x11, 0][..]),
        ("<U2", "(2,)", &[0; 15][..]),
        ("<U4611686018427387903", "()", &[0; 8][..]),
        ("|S18446744073709551615", "(2,)", &[0; 8][..]),
        ("|S1", "(4611686018427387904,)", &[0; 8][..]),
        ("<U0", "(1099511627776,)", &[][..]),
        ("|S0", "(1099511627776,)", &[][..]),
    ] {
        assert_eq!(read_array(descr, shape, bytes).unwrap_err().code(), Code::DataLoss, "{descr} {shape}");
    }
    // Beyond the sizes of memory and of shapes.
    for (descr, shape) in [("<U18446744073709551615", "()"), ("|S1", "(9223372036854775808,)"), ("|S1", "(4611686018427387904, 2)")] {
        assert_eq!(read_array(descr, shape, &[0; 8]).unwrap_err().code(), Code::InvalidArgument, "{descr} {shape}");
    }
}
