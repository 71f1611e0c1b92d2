//! Tensor lists. Each expected value was compared with TensorFlow 2.21.
use crate::testing::{run, run1, ty};
use flowmill_kernels::arithmetic::HostArithmetic;
use flowmill_tensor::{Code, DType, Result, Shape, Tensor};

/// Returns a shape input; `None` is an unknown shape.
fn dims(shape: Option<&[i32]>) -> Tensor {
    shape.map_or(Tensor::scalar(-1i32), |s| Tensor::vector(s).unwrap())
}

fn vector(values: &[f32]) -> Tensor {
    Tensor::vector(values).unwrap()
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.as_slice::<f32>().unwrap().to_vec()
}

fn empty(shape: Option<&[i32]>) -> Tensor {
    run1("EmptyTensorList", &[("element_dtype", ty(DType::F32))], vec![dims(shape), Tensor::scalar(-1i32)]).unwrap()
}

fn reserve(len: i32, shape: Option<&[i32]>) -> Tensor {
    run1("TensorListReserve", &[("element_dtype", ty(DType::F32))], vec![dims(shape), Tensor::scalar(len)]).unwrap()
}

fn push(list: Tensor, item: Tensor) -> Result<Tensor> {
    run1("TensorListPushBack", &[], vec![list, item])
}

fn pushed(items: &[Tensor]) -> Tensor {
    items.iter().fold(empty(None), |list, item| push(list, item.clone()).unwrap())
}

fn get(list: &Tensor, index: i32, shape: Option<&[i32]>) -> Result<Tensor> {
    run1("TensorListGetItem", &[("element_dtype", ty(DType::F32))], vec![list.clone(), Tensor::scalar(index), dims(shape)])
}

fn set(list: Tensor, index: i32, item: Tensor) -> Result<Tensor> {
    run1("TensorListSetItem", &[], vec![list, Tensor::scalar(index), item])
}

fn stack(list: Tensor, shape: Option<&[i32]>) -> Result<Tensor> {
    run1("TensorListStack", &[("element_dtype", ty(DType::F32))], vec![list, dims(shape)])
}

fn gather(list: &Tensor, indices: &[i32], shape: Option<&[i32]>) -> Result<Tensor> {
    run1("TensorListGather", &[("element_dtype", ty(DType::F32))], vec![list.clone(), Tensor::vector(indices).unwrap(), dims(shape)])
}

fn concat(list: Tensor, shape: Option<&[i32]>, leading: &[i64]) -> Result<(Tensor, Vec<i64>)> {
    let out = run("TensorListConcatV2", &[("element_dtype", ty(DType::F32))], vec![list, dims(shape), Tensor::vector(leading).unwrap()])?;
    Ok((out[0].clone().unwrap(), out[1].as_ref().unwrap().to_i64_vec()?))
}

fn length(list: &Tensor) -> i32 {
    run1("TensorListLength", &[], vec![list.clone()]).unwrap().to_scalar().unwrap()
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    let e = result.unwrap_err();
    assert_eq!(e.code(), Code::InvalidArgument);
    e.message().to_owned()
}

#[test]
fn lists_are_values() {
    let one = pushed(&[Tensor::scalar(1f32)]);
    let two = push(one.clone(), Tensor::scalar(2f32)).unwrap();
    let changed = set(two.clone(), 0, Tensor::scalar(9f32)).unwrap();
    assert_eq!((length(&one), length(&two)), (1, 2));
    assert_eq!(floats(&stack(two, None).unwrap()), [1.0, 2.0]);
    assert_eq!(floats(&stack(changed, None).unwrap()), [9.0, 2.0]);
}

#[test]
fn popping_gives_the_shorter_list_and_the_element() {
    let pop = |list: Tensor, shape| run("TensorListPopBack", &[("element_dtype", ty(DType::F32))], vec![list, dims(shape)]);
    let out = pop(pushed(&[Tensor::scalar(1f32), Tensor::scalar(2f32)]), None).unwrap();
    assert_eq!(length(out[0].as_ref().unwrap()), 1);
    assert_eq!(floats(out[1].as_ref().unwrap()), [2.0]);
    assert_eq!(message(pop(empty(None), None)), "Trying to pop from an empty list.");
    assert_eq!(
        message(pop(reserve(1, None), None)),
        "Trying to read an uninitialized tensor but element_shape is not fully defined.<unknown>"
    );
    assert_eq!(floats(pop(reserve(1, None), Some(&[2])).unwrap()[1].as_ref().unwrap()), [0.0, 0.0]);
}

#[test]
fn pushes_are_checked() {
    let attrs = [("element_dtype", ty(DType::F32))];
    let list = run1("EmptyTensorList", &attrs, vec![dims(Some(&[])), Tensor::scalar(1i32)]).unwrap();
    assert_eq!(
        message(push(list.clone(), vector(&[1.0]))),
        "Tried to append a tensor with incompatible shape to a list. Op element shape: [1] list shape: []"
    );
    assert_eq!(message(push(list.clone(), Tensor::scalar(1i32))), "Invalid data types; op elements int32 but list elements float");
    let full = push(list, Tensor::scalar(1f32)).unwrap();
    assert_eq!(message(push(full, Tensor::scalar(1f32))), "Tried to push item into a full list list size: 1 max_num_elements: 1");
    assert_eq!(message(push(Tensor::scalar(1f32), Tensor::scalar(1f32))), "Input list must be a scalar. Saw: []");
}

#[test]
fn elements_never_set_are_zeros_of_a_known_shape() {
    assert_eq!(floats(&get(&reserve(2, Some(&[2])), 1, None).unwrap()), [0.0, 0.0]);
    assert_eq!(get(&reserve(2, Some(&[-1, 2])), 1, Some(&[3, -1])).unwrap().shape(), &Shape::from([3, 2]));
    assert_eq!(floats(&get(&set(reserve(2, None), 0, vector(&[1.0, 2.0])).unwrap(), 1, None).unwrap()), [0.0, 0.0]);
    assert_eq!(
        message(get(&reserve(2, None), 1, None)),
        "Trying to read an uninitialized tensor but element_shape is not fully defined: <unknown> and no list element is set."
    );
}

#[test]
fn indices_are_checked() {
    assert_eq!(message(get(&reserve(2, None), 5, None)), "Trying to access element 5 in a list with 2 elements.");
    assert_eq!(message(get(&reserve(2, None), -1, None)), "Trying to access element -1 in a list with 2 elements.");
    assert_eq!(message(set(reserve(2, None), 2, Tensor::scalar(1f32))), "Trying to modify element 2 in a list with 2 elements.");
    let inputs = vec![reserve(2, None), Tensor::scalar(4i32), Tensor::scalar(1f32)];
    assert_eq!(length(&run1("TensorListSetItem", &[("resize_if_index_out_of_bounds", true.into())], inputs).unwrap()), 5);
    assert_eq!(
        message(set(reserve(2, Some(&[2])), 0, vector(&[1.0]))),
        "Tried to set a tensor with incompatible shape at a list index. Item element shape: [1] list shape: [2]"
    );
    let e = run1("TensorListReserve", &[("element_dtype", ty(DType::F32))], vec![dims(None), Tensor::scalar(-3i32)]);
    assert_eq!(message(e), "The num_elements to reserve must be a non negative number, but got -3");
}

#[test]
fn stacking_needs_one_known_shape() {
    let out = stack(set(reserve(2, None), 0, vector(&[1.0, 2.0])).unwrap(), None).unwrap();
    assert_eq!((out.shape(), floats(&out)), (&Shape::from([2, 2]), vec![1.0, 2.0, 0.0, 0.0]));
    assert_eq!(
        message(stack(reserve(2, None), None)),
        "Tried to stack list which only contains uninitialized tensors and has a non-fully-defined element_shape: <unknown>"
    );
    assert_eq!(
        message(stack(empty(None), None)),
        "Tried to stack elements of an empty list with non-fully-defined element_shape: <unknown>"
    );
    assert_eq!(stack(empty(Some(&[-1, 2])), Some(&[3, -1])).unwrap().shape(), &Shape::from([0, 3, 2]));
    let mixed = pushed(&[vector(&[1.0]), vector(&[1.0, 2.0])]);
    assert_eq!(message(stack(mixed, None)), "PartialTensorShape: Incompatible shapes during merge: [1] vs. [2]");
    let inputs = vec![reserve(2, Some(&[])), dims(None)];
    let e = run1("TensorListStack", &[("element_dtype", ty(DType::F32)), ("num_elements", 3i64.into())], inputs);
    assert_eq!(message(e), "Operation expected a list with 3 elements but got a list with 2 elements.");
}

#[test]
fn gathering_picks_elements() {
    let list = set(reserve(2, None), 0, vector(&[1.0, 2.0])).unwrap();
    assert_eq!(floats(&gather(&list, &[1, 0], None).unwrap()), [0.0, 0.0, 1.0, 2.0]);
    assert_eq!(message(gather(&list, &[2], None)), "Trying to gather element 2 in a list with 2 elements.");
    assert_eq!(message(gather(&list, &[-1], None)), "Trying to gather element -1 in a list with 2 elements.");
    assert_eq!(message(gather(&list, &[], None)), "Tried to gather 0-elements from a list with non-fully-defined shape: <unknown>");
    assert_eq!(gather(&list, &[], Some(&[2])).unwrap().shape(), &Shape::from([0, 2]));
}

#[test]
fn concatenation_gives_values_and_lengths() {
    let (values, lengths) = concat(pushed(&[vector(&[1.0]), vector(&[2.0, 3.0])]), None, &[]).unwrap();
    assert_eq!((floats(&values), lengths), (vec![1.0, 2.0, 3.0], vec![1, 2]));
    let (values, lengths) = concat(reserve(2, None), Some(&[-1, 2]), &[1, 2]).unwrap();
    assert_eq!((values.shape(), lengths), (&Shape::from([3, 2]), vec![1, 2]));
    let (values, lengths) = concat(reserve(2, Some(&[3, 1])), None, &[]).unwrap();
    assert_eq!((values.shape(), lengths), (&Shape::from([6, 1]), vec![3, 3]));
    let (values, lengths) = concat(empty(None), Some(&[2, 3]), &[]).unwrap();
    assert_eq!((values.shape(), lengths), (&Shape::from([0, 3]), vec![]));
    assert_eq!(
        message(concat(reserve(2, None), Some(&[-1, 2]), &[1])),
        "List contains uninitialized tensor at index 1 but leading_dims has only 1 elements."
    );
    assert_eq!(
        message(concat(pushed(&[Tensor::scalar(1f32)]), None, &[])),
        "Concat saw a scalar shape at index 0 but requires at least vectors."
    );
    assert_eq!(
        message(concat(empty(None), None, &[])),
        "All except the first dimension must be fully defined when concating an empty tensor list. element_shape: <unknown>"
    );
    assert_eq!(concat(reserve(2, None), Some(&[-1, 2]), &[i64::MAX, i64::MAX]).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn tensors_become_lists_of_rows() {
    let rows = Tensor::from_slice([2, 2], &[1f32, 2.0, 3.0, 4.0]).unwrap();
    let list = run1("TensorListFromTensor", &[("element_dtype", ty(DType::F32))], vec![rows.clone(), dims(None)]).unwrap();
    assert_eq!(floats(&get(&list, 1, None).unwrap()), [3.0, 4.0]);
    let from = |tensor, shape| run1("TensorListFromTensor", &[("element_dtype", ty(DType::F32))], vec![tensor, dims(shape)]);
    assert_eq!(message(from(Tensor::scalar(1f32), None)), "Tensor must be at least a vector, but saw shape: []");
    assert_eq!(message(from(rows, Some(&[3]))), "Specified a list with shape [3] from a tensor with shape [2]");
}

#[test]
fn splitting_uses_every_row() {
    let split = |lengths: &[i64]| {
        run1(
            "TensorListSplit",
            &[("element_dtype", ty(DType::F32))],
            vec![vector(&[1.0, 2.0, 3.0]), dims(None), Tensor::vector(lengths).unwrap()],
        )
    };
    assert_eq!(floats(&get(&split(&[1, 2]).unwrap(), 1, None).unwrap()), [2.0, 3.0]);
    assert_eq!(message(split(&[1, 1])), "Unused values in tensor. Length of tensor: 3 Values used: 2");
    assert_eq!(message(split(&[1, 3])), "Attempting to slice [1, 4] from tensor with length 3");
    assert_eq!(message(split(&[-1, 3])), "Invalid value in lengths: -1");
    assert_eq!(split(&[1, i64::MAX]).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn scattering_grows_the_list_as_far_as_told() {
    let scatter = |indices: &[i32], len: i32| {
        let inputs = vec![vector(&[1.0, 2.0]), Tensor::vector(indices).unwrap(), dims(None), Tensor::scalar(len)];
        run1("TensorListScatterV2", &[("element_dtype", ty(DType::F32))], inputs)
    };
    assert_eq!(floats(&stack(scatter(&[3, 1], -1).unwrap(), None).unwrap()), [0.0, 2.0, 0.0, 1.0]);
    assert_eq!(length(&scatter(&[3, 1], 8).unwrap()), 8);
    assert_eq!(message(scatter(&[3, 1], 3)), "TensorListScatter: Trying to scatter at index 3 in list with size 3");
    assert_eq!(message(scatter(&[-3, 1], -1)), "Indices in TensorListScatter must all be non-negative.");
    assert_eq!(message(scatter(&[3], -1)), "Invalid number of rows in input tensor. Expected: 1 Actual: 2");
    let inputs = vec![reserve(2, None), vector(&[1.0, 2.0]), Tensor::vector(&[3i32, 1]).unwrap()];
    let existing = run1("TensorListScatterIntoExistingList", &[("element_dtype", ty(DType::F32))], inputs).unwrap();
    assert_eq!(floats(&stack(existing, None).unwrap()), [0.0, 2.0, 0.0, 1.0]);
}

#[test]
fn sizes_and_shapes_can_be_asked_for() {
    let resize = |size: i32| run1("TensorListResize", &[], vec![reserve(2, None), Tensor::scalar(size)]);
    assert_eq!((length(&resize(5).unwrap()), length(&resize(1).unwrap())), (5, 1));
    assert_eq!(message(resize(-1)), "TensorListSlice expects size to be non-negative. Got: -1");
    let shape = |list| run1("TensorListElementShape", &[("shape_type", ty(DType::I64))], vec![list]).unwrap();
    assert_eq!(shape(reserve(2, Some(&[-1, 3]))).as_slice::<i64>().unwrap(), [-1, 3]);
    let unknown = shape(reserve(2, None));
    assert_eq!((unknown.rank(), unknown.as_slice::<i64>().unwrap()), (0, &[-1i64][..]));
    let e = run1("EmptyTensorList", &[("element_dtype", ty(DType::F32))], vec![Tensor::scalar(3i32), Tensor::scalar(-1i32)]);
    assert_eq!(message(e), "The only valid scalar shape tensor is the fully unknown shape specified as -1.");
}

#[test]
fn lists_are_joined_and_pushed_to_in_batches() {
    let scalar = |x: f32| pushed(&[Tensor::scalar(x)]);
    let join = |a, b| run1("TensorListConcatLists", &[("element_dtype", ty(DType::F32))], vec![a, b]);
    assert_eq!(floats(&stack(join(scalar(1.0), scalar(2.0)).unwrap(), None).unwrap()), [1.0, 2.0]);
    assert_eq!(
        message(join(empty(Some(&[2])), scalar(2.0))),
        "input_a and input_b TensorList element shapes are not identical at index 0.  Saw [2] vs. <unknown>"
    );
    let lists = [scalar(1.0), scalar(2.0)].map(|l| l.as_variants().unwrap()[0].clone());
    let lists = Tensor::from_variants([2], lists.to_vec()).unwrap();
    let batch = |item: Tensor| run1("TensorListPushBackBatch", &[("element_dtype", ty(DType::F32))], vec![lists.clone(), item]);
    let out = batch(vector(&[3.0, 4.0])).unwrap();
    assert_eq!(floats(&stack(out.element(1).unwrap(), None).unwrap()), [2.0, 4.0]);
    assert_eq!(message(batch(vector(&[3.0]))), "Expected tensor.shape[0] == input_handles.size, but saw 1 vs. 2");
}

#[test]
fn lists_add_up_and_have_zeros() {
    let add = |a: &Tensor, b: &Tensor| {
        a.as_variants().unwrap()[0].value().add(&b.as_variants().unwrap()[0], &HostArithmetic).map(Tensor::variant)
    };
    let list = |values: &[f32]| pushed(&[vector(values)]);
    assert_eq!(floats(&stack(add(&list(&[1.0]), &list(&[2.0])).unwrap(), None).unwrap()), [3.0]);
    let a = set(reserve(2, None), 0, vector(&[1.0])).unwrap();
    let b = set(reserve(2, None), 1, vector(&[5.0])).unwrap();
    assert_eq!(floats(&stack(add(&a, &b).unwrap(), None).unwrap()), [1.0, 5.0]);
    assert_eq!(
        message(add(&list(&[1.0]), &list(&[2.0, 3.0])).map(drop)),
        "Trying to add two tensors with incompatible element shapes. One is [1] and the other is [2]"
    );
    assert_eq!(
        message(add(&list(&[1.0]), &a).map(drop)),
        "Trying to add two lists of tensors with different lengths. One is 1 and the other is 2"
    );
    let zeros = list(&[1.0, 2.0]).as_variants().unwrap()[0].value().zeros_like(&HostArithmetic).unwrap();
    assert_eq!(floats(&stack(Tensor::variant(zeros), None).unwrap()), [0.0, 0.0]);
}

#[test]
fn a_list_nobody_else_holds_changes_in_place() {
    let list = (0..100).fold(empty(None), |list, i| push(list, Tensor::scalar(i as f32)).unwrap());
    let place = |list: &Tensor| std::ptr::from_ref(list.as_variants().unwrap()[0].value()).cast::<()>();
    let before = place(&list);
    let after = set(list, 5, Tensor::scalar(0f32)).unwrap();
    assert_eq!(place(&after), before);
}
