//! Lookup tables. Each expected value was compared with TensorFlow 2.21, except for the order of exports, which TensorFlow does not specify.
use crate::testing::{Call, run, run1, shape, ty};
use flowmill_proto::AttrValue;
use flowmill_tensor::{Bytes, Code, DType, Result, Tensor};
use std::sync::Arc;

fn strings(values: &[&str]) -> Tensor {
    Tensor::from_strings([values.len()], values.iter().map(|s| Bytes::copy_from_slice(s.as_bytes())).collect()).unwrap()
}

fn ints(values: &[i64]) -> Tensor {
    Tensor::vector(values).unwrap()
}

fn table(op: &str, key: DType, value: DType) -> Tensor {
    run1(op, &[("key_dtype", ty(key)), ("value_dtype", ty(value))], vec![]).unwrap()
}

fn initialize(table: &Tensor, keys: Tensor, values: Tensor) -> Result<()> {
    run("InitializeTableV2", &[], vec![table.clone(), keys, values]).map(drop)
}

fn insert(table: &Tensor, keys: Tensor, values: Tensor) -> Result<()> {
    run("LookupTableInsertV2", &[], vec![table.clone(), keys, values]).map(drop)
}

fn find(table: &Tensor, keys: Tensor, default: Tensor) -> Result<Tensor> {
    run1("LookupTableFindV2", &[], vec![table.clone(), keys, default])
}

fn find_ints(table: &Tensor, keys: &[&str]) -> Vec<i64> {
    find(table, strings(keys), Tensor::scalar(-1i64)).unwrap().to_i64_vec().unwrap()
}

fn size(table: &Tensor) -> i64 {
    run1("LookupTableSizeV2", &[], vec![table.clone()]).unwrap().to_scalar().unwrap()
}

fn export(table: &Tensor) -> (Tensor, Tensor) {
    let out = run("LookupTableExportV2", &[], vec![table.clone()]).unwrap();
    (out[0].clone().unwrap(), out[1].clone().unwrap())
}

fn failure<T: std::fmt::Debug>(result: Result<T>) -> (Code, String) {
    let e = result.unwrap_err();
    (e.code(), e.message().to_owned())
}

#[test]
fn a_static_table_is_filled_once() {
    let t = table("HashTableV2", DType::String, DType::I64);
    assert_eq!(failure(find(&t, strings(&["a"]), Tensor::scalar(-1i64))), (Code::FailedPrecondition, "Table not initialized.".to_owned()));
    initialize(&t, strings(&["a", "b"]), ints(&[1, 2])).unwrap();
    initialize(&t, strings(&["c"]), ints(&[3])).unwrap();
    assert_eq!(find_ints(&t, &["b", "z", "a"]), [2, -1, 1]);
    assert_eq!(size(&t), 2);
    let e = failure(insert(&t, strings(&["a"]), ints(&[1])));
    assert_eq!(e, (Code::Unimplemented, "Insert not supported by InitializableLookupTable implementations".to_owned()));
}

#[test]
fn initial_values_are_checked() {
    let init = |keys: &[&str], values: Tensor| initialize(&table("HashTableV2", DType::String, DType::I64), strings(keys), values);
    let e = failure(init(&["a", "a"], ints(&[1, 2])));
    assert_eq!(
        e,
        (Code::FailedPrecondition, "HashTable has different value for same key. Key a has 1 and trying to add value 2".to_owned())
    );
    init(&["a", "a"], ints(&[1, 1])).unwrap();
    assert_eq!(failure(init(&["a", "a"], ints(&[1]))).1, "Keys and values must have the same size 2 vs 1");
    let e = failure(init(&["a"], Tensor::vector(&[1f32]).unwrap()));
    assert_eq!(
        e,
        (Code::InvalidArgument, "Signature mismatch, have: resource, string, float-> expected: resource, string, int64->".to_owned())
    );
}

#[test]
fn a_mutable_table_changes() {
    let t = table("MutableHashTableV2", DType::String, DType::I64);
    insert(&t, strings(&["a", "b", "a"]), ints(&[1, 2, 3])).unwrap();
    assert_eq!(find_ints(&t, &["a", "b"]), [3, 2]);
    run("LookupTableRemoveV2", &[], vec![t.clone(), strings(&["a", "zz"])]).unwrap();
    assert_eq!((size(&t), find_ints(&t, &["a", "b"])), (1, vec![-1, 2]));
    run("LookupTableImportV2", &[], vec![t.clone(), strings(&["y", "x"]), ints(&[5, 6])]).unwrap();
    let (keys, values) = export(&t);
    assert_eq!((keys.as_strings().unwrap(), values.to_i64_vec().unwrap()), (&["y".into(), "x".into()][..], vec![5, 6]));
    let out = find(&t, strings(&["q", "x"]), ints(&[-7, -8])).unwrap();
    assert_eq!(out.to_i64_vec().unwrap(), [-7, 6]);
    assert_eq!(failure(find(&t, strings(&["q", "x"]), ints(&[1, 2, 3]))).1, "Expected shape [] or [2] for default value, got [3]");
    assert_eq!(failure(insert(&t, strings(&["a", "b", "c"]), ints(&[1, 2]))).1, "Expected shape [3] for value, got [2]");
}

#[test]
fn values_may_be_tensors() {
    let attrs = [("key_dtype", ty(DType::I64)), ("value_dtype", ty(DType::F32)), ("value_shape", shape(&[2]))];
    let t = run1("MutableHashTableOfTensorsV2", &attrs, vec![]).unwrap();
    insert(&t, ints(&[1, 2]), Tensor::from_slice([2, 2], &[1f32, 2.0, 3.0, 4.0]).unwrap()).unwrap();
    let out = find(&t, ints(&[2, 9]), Tensor::vector(&[0f32, -1.0]).unwrap()).unwrap();
    assert_eq!(out.as_slice::<f32>().unwrap(), [3.0, 4.0, 0.0, -1.0]);
    assert_eq!(
        failure(insert(&t, ints(&[1]), Tensor::from_slice([1, 3], &[0f32; 3]).unwrap())).1,
        "Expected shape [1,2] for value, got [1,3]"
    );
}

#[test]
fn a_dense_table_refuses_its_markers() {
    let attrs = [("key_dtype", ty(DType::I64)), ("value_dtype", ty(DType::I64))];
    let t = run1("MutableDenseHashTableV2", &attrs, vec![Tensor::scalar(0i64), Tensor::scalar(-1i64)]).unwrap();
    insert(&t, ints(&[1, 2]), ints(&[10, 20])).unwrap();
    assert_eq!(find(&t, ints(&[2, 9]), Tensor::scalar(-7i64)).unwrap().to_i64_vec().unwrap(), [20, -7]);
    assert_eq!(failure(insert(&t, ints(&[0]), ints(&[1]))).1, "Using the empty_key as a table key is not allowed");
    assert_eq!(failure(find(&t, ints(&[-1]), Tensor::scalar(0i64))).1, "Using the deleted_key as a table key is not allowed");
}

#[test]
fn nodes_of_one_name_share_a_table_and_anonymous_ones_do_not() {
    let resources = Arc::default();
    let make = |op: &str, value: DType| {
        let attrs: [(&str, AttrValue); 3] = [("key_dtype", ty(DType::String)), ("value_dtype", ty(value)), ("shared_name", "t".into())];
        Call::new(op).attrs(&attrs).resources(&resources).run1()
    };
    initialize(&make("HashTableV2", DType::I64).unwrap(), strings(&["a"]), ints(&[1])).unwrap();
    assert_eq!(find_ints(&make("HashTableV2", DType::I64).unwrap(), &["a"]), [1]);
    assert_eq!(make("HashTableV2", DType::F32).unwrap_err().code(), Code::InvalidArgument);
    let anonymous = || table("AnonymousHashTable", DType::String, DType::I64);
    initialize(&anonymous(), strings(&["a"]), ints(&[1])).unwrap();
    assert_eq!(size(&anonymous()), 0);
}

#[test]
fn text_files_fill_tables() {
    let path = std::env::temp_dir().join(format!("flowmill-vocabulary-{}", std::process::id()));
    std::fs::write(&path, "foo\t1\nbar\t2\nbaz\t3\n").unwrap();
    let file = path.to_str().unwrap().to_owned();
    let fill = |key, value, indices: [i64; 2], more: &[(&str, AttrValue)]| {
        let t = table("HashTableV2", key, value);
        let attrs = [&[("key_index", indices[0].into()), ("value_index", indices[1].into())], more].concat();
        run("InitializeTableFromTextFileV2", &attrs, vec![t.clone(), Tensor::string(file.clone())]).map(|_| t)
    };
    assert_eq!(find_ints(&fill(DType::String, DType::I64, [-2, -1], &[]).unwrap(), &["bar\t2"]), [1]);
    assert_eq!(find_ints(&fill(DType::String, DType::I64, [0, 1], &[]).unwrap(), &["bar"]), [2]);
    assert_eq!(
        find_ints(&fill(DType::String, DType::I64, [0, -1], &[("vocab_size", 2i64.into())]).unwrap(), &["foo", "bar", "baz"]),
        [0, 1, -1]
    );
    let numbered = fill(DType::I64, DType::String, [-1, 0], &[("offset", 1i64.into())]).unwrap();
    assert_eq!(find(&numbered, ints(&[2, 7]), Tensor::string("?")).unwrap().as_strings().unwrap(), ["bar", "?"]);
    let message = |result: Result<Tensor>| failure(result).1.replace(&file, "F");
    assert_eq!(
        message(fill(DType::String, DType::I64, [0, 2], &[])),
        "Invalid number of columns in F line 0 (foo\t1) : expected at least 3 got 2"
    );
    assert_eq!(
        message(fill(DType::String, DType::I64, [0, -1], &[("vocab_size", 5i64.into())])),
        "Invalid vocab_size in F: expected 5 but got 3"
    );
    assert_eq!(
        message(fill(DType::String, DType::I32, [0, -1], &[])),
        "Value index for line number requires table value dtype of int64, got int32"
    );
    assert_eq!(message(fill(DType::String, DType::I64, [1, 0], &[])), "Field foo in line 0 is not a valid int64.");
    std::fs::remove_file(path).unwrap();
    assert_eq!(failure(fill(DType::String, DType::I64, [-2, -1], &[])).0, Code::NotFound);
}
