//! Checkpoints of the first format, written by TensorFlow.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use flowmill_savedmodel::{CheckpointReader, SliceTableReader, TensorSlice};
use flowmill_tensor::{Code, Complex};

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/checkpoints").join(path)
}

#[test]
fn every_type_that_tensorflow_saved_is_read() {
    let reader = CheckpointReader::open(data("v1/model.ckpt")).unwrap();
    assert!(matches!(reader, CheckpointReader::SliceTable(_)));
    assert_eq!(reader.names(), ["c64", "empty", "flags", "i8", "p/w", "pi", "ramp", "words"]);
    let read = |name| reader.read(name).unwrap();
    assert_eq!(read("i8").as_slice::<i8>().unwrap(), [1, -2, 3, 4]);
    assert_eq!(read("flags").as_slice::<bool>().unwrap(), [true, false, true]);
    assert_eq!(read("c64").as_slice::<Complex<f32>>().unwrap(), [Complex::new(1.0, 2.0), Complex::new(0.0, -3.0)]);
    assert_eq!(read("pi").to_scalar::<f64>().unwrap(), std::f64::consts::PI);
    assert_eq!(read("empty").shape().dims(), [0, 3]);
    assert_eq!(read("words").as_strings().unwrap()[1], "bc");
    let floats = |range: std::ops::Range<u16>| range.map(f32::from).collect::<Vec<f32>>();
    assert_eq!(read("ramp").as_slice::<f32>().unwrap(), floats(0..100));
    assert_eq!(read("p/w").shape().dims(), [10, 4]);
    assert_eq!(read("p/w").as_slice::<f32>().unwrap(), floats(0..40));
    let slice = TensorSlice::new([Some((3, 2)), Some((3, 1))]).unwrap();
    assert_eq!(reader.read_slice("p/w", &slice).unwrap().as_slice::<f32>().unwrap(), [15.0, 19.0]);
}

#[test]
fn checkpoints_of_several_files_are_read() {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(data("v1/model.ckpt"), dir.path().join("model-00000-of-00001")).unwrap();
    fs::write(dir.path().join("model-of-1"), "another file").unwrap();
    let reader = SliceTableReader::open(dir.path().join("model")).unwrap();
    assert_eq!(reader.names().count(), 8);
    assert_eq!(reader.read("absent").unwrap_err().message(), "Key absent not found in checkpoint");
    assert_eq!(SliceTableReader::open(dir.path().join("other")).unwrap_err().code(), Code::NotFound);
}

#[test]
fn every_damaged_or_missing_byte_is_noticed_or_harmless() {
    let reader = SliceTableReader::open(data("v1/model.ckpt")).unwrap();
    let original: Vec<_> = reader.names().map(|name| (name, reader.read(name).unwrap().to_proto().unwrap())).collect();
    let bytes = fs::read(data("v1/model.ckpt")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("damaged");
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        for bytes in [&changed, &bytes[..at]] {
            fs::write(&path, bytes).unwrap();
            let Ok(reader) = SliceTableReader::open(&path) else { continue };
            for (name, tensor) in &original {
                let Ok(read) = reader.read(name) else { continue };
                assert_eq!(read.to_proto().unwrap(), *tensor, "byte {at}");
            }
        }
    }
}
