//! TensorArrays. Each expected value was compared with TensorFlow 2.21.
use crate::testing::{run, run1, shape, ty};
use flowmill_proto::AttrValue;
use flowmill_tensor::{Code, DType, Error, Result, Shape, Tensor};

/// A handle, and the flow that the last op on it returned.
struct Array(Tensor, Tensor);

impl Array {
    fn new(size: i32, attrs: &[(&str, AttrValue)]) -> Array {
        Array::of(DType::F32, size, attrs)
    }

    fn of(dtype: DType, size: i32, attrs: &[(&str, AttrValue)]) -> Array {
        let attrs = [attrs, &[("dtype", ty(dtype))]].concat();
        let out = run("TensorArrayV3", &attrs, vec![Tensor::scalar(size)]).unwrap();
        Array(out[0].clone().unwrap(), out[1].clone().unwrap())
    }

    fn write(&self, index: i32, value: Tensor) -> Result<()> {
        run1("TensorArrayWriteV3", &[], vec![self.0.clone(), Tensor::scalar(index), value, self.1.clone()]).map(drop)
    }

    fn read(&self, index: i32) -> Result<Tensor> {
        self.read_as(DType::F32, index)
    }

    fn read_as(&self, dtype: DType, index: i32) -> Result<Tensor> {
        run1("TensorArrayReadV3", &[("dtype", ty(dtype))], vec![self.0.clone(), Tensor::scalar(index), self.1.clone()])
    }

    fn gather(&self, indices: &[i32], element_shape: Option<&[i64]>) -> Result<Tensor> {
        let mut attrs = vec![("dtype", ty(DType::F32))];
        attrs.extend(element_shape.map(|s| ("element_shape", shape(s))));
        run1("TensorArrayGatherV3", &attrs, vec![self.0.clone(), Tensor::vector(indices).unwrap(), self.1.clone()])
    }

    fn scatter(&self, indices: &[i32], value: Tensor) -> Result<()> {
        run1("TensorArrayScatterV3", &[], vec![self.0.clone(), Tensor::vector(indices).unwrap(), value, self.1.clone()]).map(drop)
    }

    fn concat(&self, except0: Option<&[i64]>) -> Result<(Tensor, Vec<i64>)> {
        let mut attrs = vec![("dtype", ty(DType::F32))];
        attrs.extend(except0.map(|s| ("element_shape_except0", shape(s))));
        let out = run("TensorArrayConcatV3", &attrs, vec![self.0.clone(), self.1.clone()])?;
        Ok((out[0].clone().unwrap(), out[1].as_ref().unwrap().to_i64_vec()?))
    }

    fn split(&self, value: Tensor, lengths: &[i64]) -> Result<()> {
        run1("TensorArraySplitV3", &[], vec![self.0.clone(), value, Tensor::vector(lengths).unwrap(), self.1.clone()]).map(drop)
    }

    fn size(&self) -> i32 {
        run1("TensorArraySizeV3", &[], vec![self.0.clone(), self.1.clone()]).unwrap().to_scalar().unwrap()
    }

    fn grad(&self, source: &str) -> Result<Array> {
        let out = run("TensorArrayGradV3", &[("source", source.into())], vec![self.0.clone(), self.1.clone()])?;
        Ok(Array(out[0].clone().unwrap(), out[1].clone().unwrap()))
    }
}

fn vector(values: &[f32]) -> Tensor {
    Tensor::vector(values).unwrap()
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.as_slice::<f32>().unwrap().to_vec()
}

/// Returns the message without the array's unique name.
fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    let e: Error = result.unwrap_err();
    match e.message().split_once(": ") {
        Some((head, tail)) if head.starts_with("TensorArray n_") => tail.to_owned(),
        _ => e.message().to_owned(),
    }
}

#[test]
fn an_element_is_written_and_read_once() {
    let a = Array::new(3, &[]);
    a.write(1, vector(&[1.0, 2.0])).unwrap();
    assert_eq!(message(a.write(1, vector(&[1.0, 2.0]))), "Could not write to TensorArray index 1 because it has already been written to.");
    assert_eq!(floats(&a.read(1).unwrap()), [1.0, 2.0]);
    assert_eq!(
        message(a.read(1)),
        "Could not read index 1 twice because it was cleared after a previous read (perhaps try setting clear_after_read = false?)."
    );
    let kept = Array::new(3, &[("clear_after_read", false.into())]);
    kept.write(0, Tensor::scalar(5f32)).unwrap();
    assert_eq!(floats(&kept.read(0).unwrap()), [5.0]);
    assert_eq!(floats(&kept.read(0).unwrap()), [5.0]);
    assert_eq!(message(kept.write(0, Tensor::scalar(2f32))), "Could not write to TensorArray index 0 because it has already been read.");
}

#[test]
fn indices_sizes_and_types_are_checked() {
    let a = Array::new(3, &[]);
    assert_eq!(message(a.write(3, Tensor::scalar(1f32))), "Tried to write to index 3 but array is not resizeable and size is: 3");
    assert_eq!(message(a.write(-1, Tensor::scalar(1f32))), "Tried to write to index -1 but array is not resizeable and size is: 3");
    assert_eq!(message(a.read(3)), "Tried to read from index 3 but array size is: 3");
    assert_eq!(message(a.read(-1)), "Tried to read from index -1 but array size is: 3");
    assert_eq!(message(a.write(0, Tensor::scalar(1i32))), "TensorArray dtype is float but Op is trying to write dtype int32.");
    assert_eq!(message(a.read_as(DType::I32, 0)), "TensorArray dtype is float but Op requested dtype int32.");
    assert!(
        message(a.read(0))
            .starts_with("Could not read from TensorArray index 0.  Furthermore, the element shape is not fully defined: <unknown>.")
    );
    let e = run("TensorArrayV3", &[("dtype", ty(DType::F32))], vec![Tensor::scalar(-1i32)]).unwrap_err();
    assert_eq!(e.message(), "Size should be >= 0.");
    let e = run("TensorArrayV3", &[("dtype", ty(DType::F32))], vec![Tensor::vector(&[1i32]).unwrap()]).unwrap_err();
    assert_eq!(e.message(), "TensorArray size must be scalar, but had shape: [1]");
}

#[test]
fn element_shapes_are_checked_and_fill_in_zeros() {
    let a = Array::new(2, &[("element_shape", shape(&[2]))]);
    assert_eq!(floats(&a.read(0).unwrap()), [0.0, 0.0]);
    assert_eq!(
        message(a.write(1, Tensor::scalar(1f32))),
        "Could not write to TensorArray index 1 because the value shape is [] which is incompatible with the TensorArray's inferred element shape: [2] (consider setting infer_shape=False)."
    );
    let same = Array::new(2, &[("identical_element_shapes", true.into())]);
    same.write(0, vector(&[1.0])).unwrap();
    assert!(message(same.write(1, vector(&[1.0, 2.0]))).contains("incompatible with the TensorArray's inferred element shape: [1]"));
    assert_eq!(floats(&same.read(1).unwrap()), [0.0]);
    let strings = Array::of(DType::String, 2, &[("element_shape", shape(&[2]))]);
    assert_eq!(message(strings.read_as(DType::String, 0)), "tensor_array::TensorSetZero type not supported: string");
}

#[test]
fn a_dynamic_array_grows_as_far_as_memory_goes() {
    let a = Array::new(2, &[("dynamic_size", true.into())]);
    a.write(5, Tensor::scalar(1f32)).unwrap();
    assert_eq!(a.size(), 6);
    assert_eq!(Array::new(i32::MAX, &[]).size(), i32::MAX);
}

#[test]
fn gather_stacks_elements() {
    let a = Array::new(3, &[("clear_after_read", false.into())]);
    (0..3).for_each(|i| a.write(i, vector(&[i as f32, 10.0 * i as f32])).unwrap());
    let out = a.gather(&[2, 0], None).unwrap();
    assert_eq!((out.shape(), floats(&out)), (&Shape::from([2, 2]), vec![2.0, 20.0, 0.0, 0.0]));
    assert_eq!(message(a.gather(&[0, 3], None)), "Tried to read from index 3 but array size is: 3");
    assert_eq!(
        message(a.gather(&[0], Some(&[3]))),
        "TensorArray was passed element_shape [3] which does not match the Tensor at index 0: [2]"
    );
    let b = Array::new(2, &[]);
    b.write(0, vector(&[1.0])).unwrap();
    b.write(1, vector(&[1.0, 2.0])).unwrap();
    assert_eq!(message(b.gather(&[0, 1], None)), "TensorArray has inconsistent shapes.  Index 0 has shape: [1] but index 1 has shape: [2]");
    let empty = Array::new(0, &[]);
    let e = empty.gather(&[], None).unwrap_err();
    assert_eq!(e.code(), Code::Unimplemented);
    assert!(e.message().starts_with("TensorArray has size zero, but element shape <unknown> is not fully defined."));
    assert_eq!(empty.gather(&[], Some(&[2])).unwrap().shape(), &Shape::from([0, 2]));
}

#[test]
fn scatter_writes_rows() {
    let rows = Tensor::from_slice([2, 20], &(0..40).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    let a = Array::new(2, &[]);
    a.scatter(&[1, 0], rows.clone()).unwrap();
    assert_eq!(floats(&a.read(1).unwrap()), (0..20).map(|i| i as f32).collect::<Vec<_>>());
    assert_eq!(message(a.scatter(&[0], Tensor::scalar(1f32))), "Input value for unpack must be at least a vector but received shape: []");
    assert_eq!(message(a.scatter(&[0, 1, 2], rows.clone())), "Expected len(indices) == values.shape[0], but saw: 3 vs. 2");
    assert_eq!(message(a.scatter(&[0, 2], rows.clone())), "Max scatter index must be < array size (2 vs. 2)");
    let dynamic = Array::new(0, &[("dynamic_size", true.into())]);
    dynamic.scatter(&[0, 5], rows).unwrap();
    assert_eq!(dynamic.size(), 6);
    let strings = Array::of(DType::String, 2, &[]);
    strings.scatter(&[0, 1], Tensor::from_strings([2], vec!["a".into(), "b".into()]).unwrap()).unwrap();
    assert_eq!(strings.read_as(DType::String, 1).unwrap().as_strings().unwrap(), ["b"]);
}

#[test]
fn concat_and_split_are_inverse() {
    let a = Array::new(3, &[]);
    a.split(vector(&[1.0, 2.0, 3.0]), &[1, 0, 2]).unwrap();
    let (value, lengths) = a.concat(None).unwrap();
    assert_eq!((floats(&value), lengths), (vec![1.0, 2.0, 3.0], vec![1, 0, 2]));
    assert_eq!(message(a.split(Tensor::scalar(1f32), &[1])), "Expected value to be at least a vector, but received shape: []");
    assert_eq!(
        message(a.split(vector(&[1.0]), &[1, 1])),
        "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is 2 and value's shape is: [1]"
    );
    assert_eq!(
        message(a.split(vector(&[1.0]), &[1])),
        "TensorArray's size is not equal to the size of lengths (3 vs. 1), and the TensorArray is not marked as dynamically resizeable"
    );
    assert_eq!(a.split(vector(&[1.0, 2.0]), &[-1, 3]).unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(a.split(vector(&[1.0, 2.0]), &[i64::MAX, i64::MAX]).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn concat_needs_rows_of_one_shape() {
    let scalars = Array::new(1, &[]);
    scalars.write(0, Tensor::scalar(1f32)).unwrap();
    assert_eq!(
        message(scalars.concat(None)),
        "Concat saw a scalar shape at index 0 but requires at least vectors.  Did you mean to call pack?"
    );
    let mixed = Array::new(2, &[]);
    mixed.write(0, Tensor::from_slice([1, 1], &[1f32]).unwrap()).unwrap();
    mixed.write(1, vector(&[1.0])).unwrap();
    assert_eq!(
        message(mixed.concat(None)),
        "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: [1] but index 1 has (excepting dimension 0) shape: []"
    );
    let empty = Array::new(0, &[]);
    assert_eq!(empty.concat(None).unwrap_err().code(), Code::Unimplemented);
    let (value, lengths) = empty.concat(Some(&[3])).unwrap();
    assert_eq!((value.shape(), lengths), (&Shape::from([0, 3]), vec![]));
}

#[test]
fn gradients_accumulate() {
    let a = Array::new(2, &[("dynamic_size", true.into())]);
    a.write(0, vector(&[1.0, 2.0])).unwrap();
    let g = a.grad("g").unwrap();
    let initial = vector(&[1.0, 1.0]);
    g.write(0, initial.clone()).unwrap();
    a.grad("g").unwrap().write(0, vector(&[1.0, 5.0])).unwrap();
    assert_eq!(floats(&g.read(0).unwrap()), [2.0, 6.0]);
    assert_eq!(floats(&initial), [1.0, 1.0]);
    assert_eq!(floats(&a.grad("other").unwrap().read(0).unwrap()), [0.0, 0.0]);
    assert!(message(g.read(1)).contains("Could not read from TensorArray index 1.  Furthermore"));
    assert!(message(a.write(3, vector(&[1.0]))).contains("array is not resizeable and size is: 2"));
    assert_eq!(g.grad("h").map(drop).unwrap_err().code(), Code::InvalidArgument);
    let shapes = a.grad("shapes").unwrap();
    assert!(message(shapes.write(0, vector(&[1.0]))).contains("because the existing shape is [2] but the new input shape is [1]."));
}

#[test]
fn a_gradient_may_have_more_dimensions() {
    let a = Array::new(1, &[]);
    a.write(0, vector(&[1.0, 2.0])).unwrap();
    a.read(0).unwrap();
    let inputs = vec![a.0.clone(), a.1.clone(), Tensor::vector(&[3i32]).unwrap()];
    let out = run("TensorArrayGradWithShape", &[("source", "g".into())], inputs).unwrap();
    let g = Array(out[0].clone().unwrap(), a.1.clone());
    assert_eq!(g.read(0).unwrap().shape(), &Shape::from([3, 2]));
}

#[test]
fn a_closed_array_can_only_be_closed() {
    let a = Array::new(1, &[]);
    let close = || run("TensorArrayCloseV3", &[], vec![a.0.clone()]).map(drop);
    close().unwrap();
    close().unwrap();
    let e = a.read(0).unwrap_err();
    assert!(e.message().starts_with("TensorArray n_") && e.message().ends_with(" has already been closed."), "{e}");
}

#[test]
fn the_gradient_of_a_split_joins_what_the_split_wrote() {
    let forward = Array::new(3, &[("dynamic_size", true.into())]);
    let values = |n: usize| Tensor::vector(&vec![1f32; n]).unwrap();
    forward.split(values(3), &[1, 1, 1]).unwrap();
    forward.write(3, values(1)).unwrap();
    let gradient = forward.grad("g").unwrap();
    gradient.split(values(4), &[1, 1, 1, 1]).unwrap();
    assert_eq!(gradient.concat(None).unwrap().1, [1, 1, 1]);
    assert_eq!(forward.concat(None).unwrap().1, [1, 1, 1, 1]);
    // Without a split, the whole array is concatenated.
    let forward = Array::new(2, &[]);
    forward.write(0, values(1)).unwrap();
    forward.write(1, values(2)).unwrap();
    let gradient = forward.grad("g").unwrap();
    gradient.split(values(3), &[1, 2]).unwrap();
    assert_eq!(gradient.concat(None).unwrap().1, [1, 2]);
}
