use crate::testing::{run, run1};
use flowmill_tensor::Tensor;

#[test]
fn what_is_written_is_read() {
    let values = [0.0f32, 0.5, -1.0, 2.0, 0.25, -0.25];
    let file = run1("EncodeWav", &[], vec![Tensor::from_slice([3, 2], &values).unwrap(), Tensor::scalar(8000i32)]).unwrap();
    let out = run("DecodeWav", &[], vec![file.clone()]).unwrap();
    let read = out[0].as_ref().unwrap();
    assert_eq!(
        (read.shape().dims(), read.as_slice::<f32>().unwrap()),
        (&[3, 2][..], &[0.0, 0.5, -1.0, 32767.0 / 32768.0, 0.25, -0.25][..])
    );
    assert_eq!(out[1].as_ref().unwrap().to_scalar::<i32>().unwrap(), 8000);
    let attrs = [("desired_channels", 3i64.into()), ("desired_samples", 4i64.into())];
    let more = run1("DecodeWav", &attrs, vec![file.clone()]).unwrap();
    assert_eq!(more.as_slice::<f32>().unwrap()[..3], [0.0, 0.5, 0.5]);
    assert_eq!(more.as_slice::<f32>().unwrap()[9..], [0.0; 3]);
    // Cut off anywhere, it is an error.
    let bytes = file.as_strings().unwrap()[0].clone();
    for length in 0..bytes.len() {
        assert!(run("DecodeWav", &[], vec![Tensor::string(bytes.slice(..length))]).is_err(), "{length}");
    }
}
