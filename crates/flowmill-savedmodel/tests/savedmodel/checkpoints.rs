//! Checkpoints written by TensorFlow and by us, whole and damaged.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use flowmill_savedmodel::{
    BundleReader, BundleWriter, CHECKPOINT_FILE, TensorSlice, latest_checkpoint, merge_bundles, read_checkpoint_state,
};
use flowmill_tensor::{Code, Complex, DType, Shape, Tensor, bf16};

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/checkpoints").join(path)
}

fn floats(range: std::ops::Range<u16>) -> Vec<f32> {
    range.map(f32::from).collect()
}

#[track_caller]
fn assert_same(a: &Tensor, b: &Tensor) {
    assert_eq!((a.dtype(), a.shape()), (b.dtype(), b.shape()));
    match a.dtype() {
        DType::String => assert_eq!(a.as_strings().unwrap(), b.as_strings().unwrap()),
        _ => assert_eq!(a.as_bytes().unwrap(), b.as_bytes().unwrap()),
    }
}

#[test]
fn every_type_that_tensorflow_saved_is_read() {
    let reader = BundleReader::open(data("variety/variety-2")).unwrap();
    let names: Vec<&str> = reader.names().collect();
    assert_eq!(names, ["bf16", "c64", "empty", "flags", "i8", "p/w", "pi", "ramp", "words"]);
    let read = |name| reader.read(name).unwrap();
    assert_eq!(read("i8").as_slice::<i8>().unwrap(), [1, -2, 3, 4]);
    assert_eq!(read("i8").shape().dims(), [2, 2]);
    assert_eq!(read("flags").as_slice::<bool>().unwrap(), [true, false, true]);
    assert_eq!(read("c64").as_slice::<Complex<f32>>().unwrap(), [Complex::new(1.0, 2.0), Complex::new(0.0, -3.0)]);
    assert_eq!(read("bf16").as_slice::<bf16>().unwrap(), [1.5, -2.25].map(bf16::from_f32));
    assert_eq!(read("pi").to_scalar::<f64>().unwrap(), std::f64::consts::PI);
    assert_eq!(read("empty").shape().dims(), [0, 3]);
    assert_eq!(read("ramp").as_slice::<f32>().unwrap(), floats(0..100));
    let words = [Bytes::from("a"), Bytes::from("bc"), Bytes::new(), Bytes::from("d\0e".repeat(100))];
    assert_eq!(read("words").as_strings().unwrap(), words);
    assert_eq!(reader.dtype_and_shape("words").unwrap(), (DType::String, Shape::from([2, 2])));
}

#[test]
fn partitioned_variables_are_put_together() {
    let reader = BundleReader::open(data("variety/variety-1")).unwrap();
    assert_eq!(reader.slices("p/w").unwrap().len(), 3);
    let whole = reader.read("p/w").unwrap();
    assert_eq!(whole.shape().dims(), [10, 4]);
    assert_eq!(whole.as_slice::<f32>().unwrap(), floats(0..40));
    let (_, slice) = TensorSlice::parse_spec("10 4 3,5:1,2").unwrap().unwrap();
    let part = reader.read_slice("p/w", &slice).unwrap();
    assert_eq!(part.shape().dims(), [5, 2]);
    assert_eq!(part.as_slice::<f32>().unwrap(), [13.0, 14.0, 17.0, 18.0, 21.0, 22.0, 25.0, 26.0, 29.0, 30.0]);
}

#[test]
fn slices_of_whole_tensors_are_read() {
    let reader = BundleReader::open(data("variety/variety-1")).unwrap();
    let slice = TensorSlice::new([Some((98, 2))]).unwrap();
    assert_eq!(reader.read_slice("ramp", &slice).unwrap().as_slice::<f32>().unwrap(), [98.0, 99.0]);
    let column = TensorSlice::new([None, Some((1, 1))]).unwrap();
    assert_eq!(reader.read_slice("words", &column).unwrap().as_strings().unwrap()[0], "bc");
    let error = reader.read_slice("ramp", &TensorSlice::new([Some((98, 3))]).unwrap()).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
}

#[test]
fn sharded_checkpoints_are_read_from_all_their_files() {
    let reader = BundleReader::open(data("sharded/sharded")).unwrap();
    assert_eq!(reader.read("a").unwrap().as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0]);
    assert_eq!(reader.read("b").unwrap().as_slice::<i32>().unwrap(), [4, 5]);
}

#[test]
fn what_is_missing_is_named() {
    let reader = BundleReader::open(data("variety/variety-1")).unwrap();
    let error = reader.read("absent").unwrap_err();
    assert_eq!((error.code(), error.message()), (Code::NotFound, "Key absent not found in checkpoint"));
    let error = BundleReader::open(data("variety/variety-3")).unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    assert!(error.message().contains("Failed to find any matching files for"), "{error}");
}

#[test]
fn the_state_names_the_newest_checkpoint() {
    let dir = data("variety");
    assert_eq!(latest_checkpoint(&dir).unwrap(), Some(dir.join("variety-2")));
    let state = read_checkpoint_state(&dir, CHECKPOINT_FILE).unwrap().unwrap();
    assert_eq!(state.all_model_checkpoint_paths.len(), 2);
    assert_eq!(latest_checkpoint(&data("v1")).unwrap(), None);
}

/// Writes one tensor of each kind, one of them in parts.
fn write_some(prefix: &Path) -> Vec<(&'static str, Tensor)> {
    let tensors = vec![
        ("scope/floats", Tensor::from_slice([3, 5], &floats(0..15)).unwrap()),
        ("scope/scalar", Tensor::scalar(7i64)),
        ("flags", Tensor::vector(&[true, false]).unwrap()),
        ("words", Tensor::from_strings([2], vec!["".into(), vec![b'w'; 300].into()]).unwrap()),
        ("none", Tensor::zeros(DType::F64, [0]).unwrap()),
        ("parts", Tensor::from_slice([4, 6], &floats(0..24)).unwrap()),
    ];
    let mut writer = BundleWriter::create(prefix).unwrap();
    for (name, tensor) in &tensors[..5] {
        writer.add(name, tensor).unwrap();
    }
    let shape = Shape::from([4, 6]);
    for (start, len) in [(3, 1), (0, 3)] {
        let slice = TensorSlice::new([Some((start, len)), None]).unwrap();
        let part = tensors[5].1.view(start as usize * 6, [len as usize, 6]).unwrap();
        writer.add_slice("parts", &shape, &slice, &part).unwrap();
    }
    writer.finish().unwrap();
    tensors
}

#[test]
fn what_is_written_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("new/dir/model.ckpt-1");
    for _ in 0..2 {
        let tensors = write_some(&prefix); // the second time over the first
        let reader = BundleReader::open(&prefix).unwrap();
        assert_eq!(reader.names().count(), tensors.len());
        for (name, tensor) in &tensors {
            assert_same(&reader.read(name).unwrap(), tensor);
        }
    }
    assert_eq!(fs::read_dir(dir.path().join("new/dir")).unwrap().count(), 2, "only the index and the data remain");
}

#[test]
fn tensors_outlive_their_reader() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("big");
    let mut writer = BundleWriter::create(&prefix).unwrap();
    writer.add("odd", &Tensor::vector(&[1u8, 2, 3]).unwrap()).unwrap();
    writer.add("big", &Tensor::vector(&floats(0..5000)).unwrap()).unwrap();
    writer.finish().unwrap();
    let reader = BundleReader::open(&prefix).unwrap();
    let big = reader.read("big").unwrap();
    drop(reader);
    assert_eq!(big.as_slice::<f32>().unwrap(), floats(0..5000));
}

#[test]
fn writers_refuse_what_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("refused");
    let mut writer = BundleWriter::create(&prefix).unwrap();
    let tensor = Tensor::vector(&[1.0f32, 2.0]).unwrap();
    writer.add("a", &tensor).unwrap();
    assert!(writer.add("a", &tensor).unwrap_err().message().contains("Adding duplicate key: a"));
    assert_eq!(writer.add("", &tensor).unwrap_err().code(), Code::InvalidArgument);
    let slice = TensorSlice::new([Some((0, 2))]).unwrap();
    assert_eq!(writer.add_slice("a", &[4].into(), &slice, &tensor).unwrap_err().code(), Code::InvalidArgument);
    writer.add_slice("b", &[4].into(), &slice, &tensor).unwrap();
    assert!(writer.add_slice("b", &[5].into(), &slice, &tensor).is_err(), "the shape of the whole differs");
    let overlapping = TensorSlice::new([Some((1, 2))]).unwrap();
    writer.add_slice("b", &[4].into(), &overlapping, &tensor).unwrap();
    writer.finish().unwrap();
    let error = BundleReader::open(&prefix).unwrap().read("b").unwrap_err();
    assert_eq!(error.code(), Code::DataLoss);
    assert!(error.message().contains("overlap"), "{error}");

    let mut writer = BundleWriter::create(dir.path().join("gone")).unwrap();
    writer.add("a", &tensor).unwrap();
    drop(writer);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "an unfinished checkpoint leaves no file");
}

#[test]
fn incomplete_parts_are_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("part");
    let mut writer = BundleWriter::create(&prefix).unwrap();
    let slice = TensorSlice::new([Some((0, 2))]).unwrap();
    let part = Tensor::vector(&[1i32, 2]).unwrap();
    writer.add_slice("p", &[4].into(), &slice, &part).unwrap();
    writer.add_slice("huge", &[1 << 40].into(), &slice, &part).unwrap();
    writer.add("other", &Tensor::zeros(DType::I32, [100]).unwrap()).unwrap();
    writer.finish().unwrap();
    let reader = BundleReader::open(&prefix).unwrap();
    assert_eq!(reader.read_slice("p", &slice).unwrap().as_slice::<i32>().unwrap(), [1, 2]);
    let error = reader.read("p").unwrap_err();
    assert!(error.message().contains("2 of the 4 elements"), "{error}");
    let error = reader.read("huge").unwrap_err();
    assert!(error.message().contains("for a tensor of type int32 and shape [1099511627776]"), "{error}");
}

#[test]
fn checkpoints_are_merged() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let shape = Shape::from([4]);
    for (prefix, start) in [("one", 0i32), ("two", 2)] {
        let mut writer = BundleWriter::create(at(prefix)).unwrap();
        writer.add(prefix, &Tensor::scalar(start)).unwrap();
        let slice = TensorSlice::new([Some((i64::from(start), 2))]).unwrap();
        writer.add_slice("parts", &shape, &slice, &Tensor::vector(&[start, start + 1]).unwrap()).unwrap();
        writer.finish().unwrap();
    }
    merge_bundles(&[at("one"), at("two")], at("all")).unwrap();
    let reader = BundleReader::open(at("all")).unwrap();
    assert_eq!(reader.names().collect::<Vec<_>>(), ["one", "parts", "two"]);
    assert_eq!(reader.read("parts").unwrap().as_slice::<i32>().unwrap(), [0, 1, 2, 3]);
    assert_eq!(reader.read("two").unwrap().to_scalar::<i32>().unwrap(), 2);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
    assert_eq!(merge_bundles::<&str>(&[], at("none")).unwrap_err().code(), Code::InvalidArgument);
}

/// Reads all tensors that a damaged checkpoint still offers; each must be as it was, or an error.
fn check_damaged(prefix: &Path, tensors: &[(&str, Tensor)]) {
    let Ok(reader) = BundleReader::open(prefix) else { return };
    for (name, tensor) in tensors {
        match reader.read(name) {
            Ok(read) => assert_same(&read, tensor),
            Err(error) => assert!(error.message().contains(name), "{error}"),
        }
    }
}

#[test]
fn every_damaged_or_missing_byte_is_noticed_or_harmless() {
    let dir = tempfile::tempdir().unwrap();
    let (original, damaged) = (dir.path().join("original"), dir.path().join("damaged"));
    let tensors = write_some(&original);
    let path = |prefix: &Path, suffix: &str| PathBuf::from(format!("{}{suffix}", prefix.display()));
    let suffixes = [".index", ".data-00000-of-00001"];
    for suffix in suffixes {
        for suffix in suffixes {
            fs::copy(path(&original, suffix), path(&damaged, suffix)).unwrap();
        }
        let bytes = fs::read(path(&original, suffix)).unwrap();
        let target = path(&damaged, suffix);
        let replace = |bytes: &[u8]| {
            fs::remove_file(&target).unwrap(); // mapped files are not changed in place
            fs::write(&target, bytes).unwrap();
            check_damaged(&damaged, &tensors);
        };
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            replace(&changed);
            replace(&bytes[..at]);
        }
    }
}

#[test]
fn a_damaged_tensor_is_named_and_others_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("damaged");
    write_some(&prefix);
    let path = dir.path().join("damaged.data-00000-of-00001");
    let mut bytes = fs::read(&path).unwrap();
    bytes[0] ^= 1;
    fs::remove_file(&path).unwrap();
    fs::write(&path, bytes).unwrap();
    let reader = BundleReader::open(&prefix).unwrap();
    let error = reader.read("scope/floats").unwrap_err();
    assert_eq!(error.code(), Code::DataLoss);
    assert!(error.message().contains("scope/floats") && error.message().contains("Checksum does not match"), "{error}");
    assert_eq!(reader.read("scope/scalar").unwrap().to_scalar::<i64>().unwrap(), 7);
}
