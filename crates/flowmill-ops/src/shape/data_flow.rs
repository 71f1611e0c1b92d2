//! TensorArrays, tensor lists, stacks and queues: handles that know the shapes of what they hold.

use super::{common, dims};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{DType, PartialShape, Result, bail};

/// Returns the type and shape that the handle in input `i` holds, if it holds a single thing.
fn element(c: &Context<'_>, i: usize) -> Option<(DType, PartialShape)> {
    match c.value(i)?.elements.as_deref()? {
        [element] => Some(element.clone()),
        _ => None,
    }
}

fn set_element(c: &mut Context<'_>, output: usize, element: Option<(DType, PartialShape)>) {
    if let Some(output) = c.output_mut(output) {
        output.elements = element.map(|e| vec![e]);
    }
}

// TensorArrays: a handle of two strings and a flow, a scalar that orders the operations.

/// A new array. Its elements' shape is known if it is whole, or the same for all.
pub(crate) fn tensor_array(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 0)?;
    c.set_output(0, PartialShape::new(&[2]));
    c.set_output(1, PartialShape::scalar());
    let shape = common::shape_of_attr(c, "element_shape")?;
    if shape.is_fully_defined() || c.attrs().get("identical_element_shapes")? {
        let dtype = c.attrs().get("dtype")?;
        set_element(c, 0, Some((dtype, shape)));
    }
    Ok(())
}

/// The array of gradients of another.
pub(crate) fn tensor_array_grad(c: &mut Context<'_>) -> Result<()> {
    dims::expect(common::expect_vector(c, 0)?, 2)?;
    c.set_output(0, PartialShape::new(&[2]));
    c.set_output(1, PartialShape::scalar());
    let mut held = element(c, 0);
    if c.op_def().name == "TensorArrayGradWithShape" {
        let prefix = c.input_as_shape(2)?;
        held = held.map(|(dtype, shape)| (dtype, prefix.concat(&shape)));
    }
    set_element(c, 0, held);
    Ok(())
}

/// An element is written: the flow comes out.
pub(crate) fn tensor_array_write(c: &mut Context<'_>) -> Result<()> {
    dims::expect(common::expect_vector(c, 0)?, 2)?;
    common::expect_scalar(c, 1)?;
    if let Some((_, shape)) = element(c, 0) {
        shape.merge(&c.input(2))?;
    }
    common::expect_scalar(c, 3)?;
    common::scalars(c)
}

/// An element.
pub(crate) fn tensor_array_read(c: &mut Context<'_>) -> Result<()> {
    dims::expect(common::expect_vector(c, 0)?, 2)?;
    common::expect_scalar(c, 1)?;
    common::expect_scalar(c, 2)?;
    if let Some((_, shape)) = element(c, 0) {
        c.set_output(0, shape);
    }
    Ok(())
}

/// Elements at indices, stacked.
pub(crate) fn tensor_array_gather(c: &mut Context<'_>) -> Result<()> {
    let indices = common::expect_vector(c, 1)?;
    dims::expect(common::expect_vector(c, 0)?, 2)?;
    common::expect_scalar(c, 2)?;
    let declared = common::shape_of_attr(c, "element_shape")?;
    let shape = element(c, 0).map_or(declared, |(_, shape)| shape);
    c.set_output(0, PartialShape::new(&[indices]).concat(&shape));
    Ok(())
}

/// Rows written to indices: the flow comes out.
pub(crate) fn tensor_array_scatter(c: &mut Context<'_>) -> Result<()> {
    let indices = common::expect_vector(c, 1)?;
    dims::expect(common::expect_vector(c, 0)?, 2)?;
    common::expect_scalar(c, 3)?;
    let value = c.input(2);
    if let Some((_, shape)) = element(c, 0) {
        dims::merge(dims::size(&value, 0), indices)?;
        shape.merge(&dims::suffix(&value, 1))?;
    }
    common::scalars(c)
}

/// All elements joined, and their lengths.
pub(crate) fn tensor_array_concat(c: &mut Context<'_>) -> Result<()> {
    dims::expect(common::expect_vector(c, 0)?, 2)?;
    c.set_output(1, PartialShape::new(&[dims::UNKNOWN]));
    Ok(())
}

/// Parts of a tensor written one after the other: the flow comes out.
pub(crate) fn tensor_array_split(c: &mut Context<'_>) -> Result<()> {
    dims::expect(common::expect_vector(c, 0)?, 2)?;
    common::expect_scalar(c, 3)?;
    common::scalars(c)
}

/// The number of elements.
pub(crate) fn tensor_array_size(c: &mut Context<'_>) -> Result<()> {
    dims::expect(common::expect_vector(c, 0)?, 2)?;
    common::scalars(c)
}

// Tensor lists: a variant scalar.

/// An empty list, or one of a given length.
pub(crate) fn tensor_list_new(c: &mut Context<'_>) -> Result<()> {
    let dtype = c.attrs().get("element_dtype")?;
    let shape = shape_or_any(c, 0)?;
    c.set_output(0, PartialShape::scalar());
    set_element(c, 0, Some((dtype, shape)));
    Ok(())
}

/// The shape in input `i`: a vector, or −1 for any.
pub(crate) fn shape_or_any(c: &Context<'_>, i: usize) -> Result<PartialShape> {
    if c.input(i).rank() != Some(0) {
        dims::with_rank_at_most(&c.input(i), 1)?;
        return c.input_as_shape(i);
    }
    match c.constant(i) {
        Some(size) if size.to_i64()? != -1 => bail!(InvalidArgument, "Shape must be rank 1 but is rank 0"),
        _ => Ok(PartialShape::unknown()),
    }
}

/// Returns the shape of the elements of the list in input 0, whose type must be the node's.
fn list_element(c: &Context<'_>) -> Result<PartialShape> {
    let want: DType = c.attrs().get("element_dtype")?;
    let Some((have, shape)) = element(c, 0) else { return Ok(PartialShape::unknown()) };
    if have == want {
        return Ok(shape);
    }
    let (want, have) = (common::cpp_name(want), common::cpp_name(have));
    match c.op_def().name.as_str() {
        "TensorListPushBack" => {
            bail!(
                InvalidArgument,
                "Trying to push to list with wrong element dtype. List has type {have} but trying to push element with type {want}"
            )
        }
        "TensorListPopBack" => {
            bail!(
                InvalidArgument,
                "Trying to read from list with wrong element dtype. List has type {have} but trying to push element with type {want}"
            )
        }
        "TensorListStack" | "TensorListConcat" | "TensorListConcatV2" => {
            bail!(InvalidArgument, "Trying to read from list with wrong element dtype. List has type {have} but expected type {want}")
        }
        _ => bail!(InvalidArgument, "Expected list with element dtype {want} but got list with element dtype {have}"),
    }
}

/// Output `output` is a list of elements of shape `shape`.
fn set_list(c: &mut Context<'_>, output: usize, shape: PartialShape) -> Result<()> {
    let dtype = c.attrs().get("element_dtype")?;
    set_element(c, output, Some((dtype, shape)));
    Ok(())
}

/// A list with one more element. As in TensorFlow, an element of another shape is found when the step runs.
pub(crate) fn tensor_list_push(c: &mut Context<'_>) -> Result<()> {
    let held = list_element(c)?;
    c.set_output(0, c.input(0));
    set_list(c, 0, held)
}

/// A list with another element, input 2, at an index. As in TensorFlow, one of another type is found when the step runs.
pub(crate) fn tensor_list_set(c: &mut Context<'_>) -> Result<()> {
    let held = element(c, 0);
    if let Some((_, shape)) = &held {
        c.input(2).merge(shape)?;
    }
    c.set_output(0, c.input(0));
    set_element(c, 0, held);
    Ok(())
}

/// The list without its last element, and that element.
pub(crate) fn tensor_list_pop(c: &mut Context<'_>) -> Result<()> {
    let held = list_element(c)?;
    let shape = held.merge(&shape_or_any(c, 1)?)?;
    c.set_output(0, c.input(0));
    set_list(c, 0, held)?;
    c.set_output(1, shape);
    Ok(())
}

/// An element; input 2 says what its shape is.
pub(crate) fn tensor_list_get(c: &mut Context<'_>) -> Result<()> {
    let shape = list_element(c)?.merge(&shape_or_any(c, 2)?)?;
    c.set_output(0, shape);
    Ok(())
}

/// A list with the elements of input 0 and another length.
pub(crate) fn tensor_list_resize(c: &mut Context<'_>) -> Result<()> {
    c.set_output(0, PartialShape::scalar());
    let held = element(c, 0);
    set_element(c, 0, held);
    Ok(())
}

/// All elements stacked; `num_elements` may say how many there are.
pub(crate) fn tensor_list_stack(c: &mut Context<'_>) -> Result<()> {
    let shape = list_element(c)?.merge(&shape_or_any(c, 1)?)?;
    let count: i64 = c.attrs().get("num_elements")?;
    c.set_output(0, PartialShape::new(&[count]).concat(&shape));
    Ok(())
}

/// The elements at the indices in input 1, stacked.
pub(crate) fn tensor_list_gather(c: &mut Context<'_>) -> Result<()> {
    let shape = list_element(c)?.merge(&shape_or_any(c, 2)?)?;
    c.set_output(0, c.input(1).concat(&shape));
    Ok(())
}

/// The rows of a tensor as a list; the last input says what an element's shape is.
pub(crate) fn tensor_list_from_tensor(c: &mut Context<'_>) -> Result<()> {
    let declared = shape_or_any(c, 1)?;
    let rows = dims::with_rank_at_least(&c.input(0), 1)?;
    dims::suffix(&rows, 1).merge(&declared)?;
    c.set_output(0, PartialShape::scalar());
    set_list(c, 0, declared)
}

/// A list from rows at indices; the element shape is input 2.
pub(crate) fn tensor_list_scatter(c: &mut Context<'_>) -> Result<()> {
    let shape = shape_or_any(c, 2)?;
    c.set_output(0, PartialShape::scalar());
    set_list(c, 0, shape)
}

/// The list with rows at indices replaced.
pub(crate) fn tensor_list_scatter_into(c: &mut Context<'_>) -> Result<()> {
    let held = list_element(c)?;
    common::expect_vector(c, 2)?;
    c.set_output(0, PartialShape::scalar());
    set_list(c, 0, held)
}

/// All elements joined along their first dimension, and their lengths.
pub(crate) fn tensor_list_concat(c: &mut Context<'_>) -> Result<()> {
    let held = list_element(c)?;
    let declared = if c.op_def().name == "TensorListConcatV2" { shape_or_any(c, 1)? } else { c.attrs().get("element_shape")? };
    let shape = held.merge(&declared)?;
    if shape.rank() == Some(0) {
        bail!(InvalidArgument, "Shape must be at least rank 1 but is rank 0");
    }
    if shape.rank().is_some() {
        c.set_output(0, dims::replaced(&shape, 0, dims::UNKNOWN));
    }
    c.set_output(1, PartialShape::new(&[dims::UNKNOWN]));
    Ok(())
}

/// Parts of a tensor as a list.
pub(crate) fn tensor_list_split(c: &mut Context<'_>) -> Result<()> {
    let declared = shape_or_any(c, 1)?;
    let rows = dims::with_rank_at_least(&c.input(0), 1)?;
    let any_length = PartialShape::new(&[dims::UNKNOWN]);
    let shape = any_length.concat(&dims::suffix(&rows, 1)).merge(&declared)?;
    c.set_output(0, PartialShape::scalar());
    set_list(c, 0, shape)
}

/// The shape of an element as a vector; −1 as a scalar if nothing is known.
pub(crate) fn tensor_list_element_shape(c: &mut Context<'_>) -> Result<()> {
    let Some((_, shape)) = element(c, 0) else { return Ok(()) };
    if let Some(rank) = shape.rank() {
        c.set_output(0, PartialShape::new(&[rank as i64]));
        super::value::set_shape(c, 0, c.attrs().get("shape_type")?, shape);
    }
    Ok(())
}

// Stacks, queues, optionals.

/// The pushed element comes out again.
pub(crate) fn stack_push(c: &mut Context<'_>) -> Result<()> {
    common::pass(c, 1, 0);
    Ok(())
}

/// A queue: a handle that knows its components.
pub(crate) fn queue(c: &mut Context<'_>) -> Result<()> {
    c.set_output(0, PartialShape::scalar());
    let dtypes: Vec<DType> = c.attrs().list("component_types")?;
    let shapes: Vec<PartialShape> = c.attrs().list("shapes")?;
    if let Some(output) = c.output_mut(0).filter(|_| shapes.len() == dtypes.len()) {
        output.elements = Some(dtypes.into_iter().zip(shapes).collect());
    }
    Ok(())
}

/// The handle of a queue whose elements begin with the number that they are ordered by.
pub(crate) fn priority_queue(c: &mut Context<'_>) -> Result<()> {
    c.set_output(0, PartialShape::scalar());
    let dtypes: Vec<DType> = c.attrs().list("component_types")?;
    let shapes: Vec<PartialShape> = c.attrs().list("shapes")?;
    if let Some(output) = c.output_mut(0).filter(|_| shapes.len() == dtypes.len()) {
        let priority = std::iter::once((DType::I64, PartialShape::scalar()));
        output.elements = Some(priority.chain(dtypes.into_iter().zip(shapes)).collect());
    }
    Ok(())
}

/// One element of a queue, or if the node takes many, as many as input 1 says.
pub(crate) fn dequeue(c: &mut Context<'_>) -> Result<()> {
    let rows = match c.op_def().name.as_str() {
        "QueueDequeueV2" => None,
        "QueueDequeueManyV2" => Some(num_dequeued(c)?),
        _ => Some(dims::UNKNOWN),
    };
    let Some(elements) = c.value(0).and_then(|v| v.elements.as_deref()).filter(|e| e.len() == c.num_outputs()) else { return Ok(()) };
    for (i, (_, shape)) in elements.iter().enumerate() {
        let shape = rows.map_or_else(|| shape.clone(), |n| PartialShape::new(&[n]).concat(shape));
        c.set_output(i, shape);
    }
    Ok(())
}

/// The number of elements in input 1, whose rank the kernel checks.
fn num_dequeued(c: &Context<'_>) -> Result<i64> {
    match common::ints(c, 1)?.as_deref() {
        Some(&[n]) if n < 0 => bail!(InvalidArgument, "Input 'n' must be >= 0, but is {n}"),
        Some(&[n]) => Ok(n),
        _ => Ok(dims::UNKNOWN),
    }
}

/// The handles of a reader and of a queue: of the first version both are vectors of two strings.
fn reader_and_queue(c: &Context<'_>) -> Result<()> {
    for (i, arg) in c.op_def().inputs.iter().take(2).enumerate() {
        if arg.is_ref {
            dims::expect(common::expect_vector(c, i)?, 2)?;
        } else {
            common::expect_scalar(c, i)?;
        }
    }
    Ok(())
}

/// A record: key and value.
pub(crate) fn reader_read(c: &mut Context<'_>) -> Result<()> {
    reader_and_queue(c)?;
    common::scalars(c)
}

/// Several records.
pub(crate) fn reader_read_up_to(c: &mut Context<'_>) -> Result<()> {
    reader_and_queue(c)?;
    common::expect_scalar(c, 2)?;
    common::vectors(c)
}

/// A reader takes up a state.
pub(crate) fn reader_restore(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 1)
}

/// The handle of a barrier, keys, and a row for each of them.
pub(crate) fn barrier_insert_many(c: &mut Context<'_>) -> Result<()> {
    dims::expect(common::expect_vector(c, 0)?, 2)?;
    let keys = dims::with_rank(&c.input(1), 1)?;
    let values = dims::with_rank_at_least(&c.input(2), 1)?;
    keys.merge(&PartialShape::new(&[dims::size(&values, 0)]))?;
    Ok(())
}

/// The handle of a barrier; scalars come out.
pub(crate) fn barrier_scalars(c: &mut Context<'_>) -> Result<()> {
    dims::expect(common::expect_vector(c, 0)?, 2)?;
    common::scalars(c)
}

/// An accumulator's step, or a gradient's, is a scalar.
pub(crate) fn accumulator_step(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 1)
}

/// The handle of a TensorArray that is a string.
pub(crate) fn tensor_array_v2(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 0)?;
    common::vectors_of::<2>(c)
}

/// The handle of the gradient of a TensorArray.
pub(crate) fn tensor_array_grad_v2(c: &mut Context<'_>) -> Result<()> {
    dims::expect(common::expect_vector(c, 0)?, 2)?;
    common::vectors_of::<2>(c)
}

/// The elements at a vector of indices, of which nothing is known.
pub(crate) fn tensor_array_gather_v2(c: &mut Context<'_>) -> Result<()> {
    dims::expect(common::expect_vector(c, 0)?, 2)?;
    common::expect_vector(c, 1)?;
    common::expect_scalar(c, 2)
}

/// No output.
pub(crate) fn tensor_array_close_v2(c: &mut Context<'_>) -> Result<()> {
    dims::expect(common::expect_vector(c, 0)?, 2).map(drop)
}

/// A vector of lists, each with one more element: the row of its number.
pub(crate) fn tensor_list_push_batch(c: &mut Context<'_>) -> Result<()> {
    let lists = dims::with_rank(&c.input(0), 1)?;
    let tensor = dims::with_rank_at_least(&c.input(1), 1)?;
    let count = dims::merge(dims::size(&tensor, 0), dims::size(&lists, 0))?;
    let held = list_element(c)?;
    c.set_output(0, PartialShape::new(&[count]));
    set_list(c, 0, held)
}

/// Lists with the elements of both inputs, which hold elements of one type.
pub(crate) fn tensor_list_concat_lists(c: &mut Context<'_>) -> Result<()> {
    let shape = c.input(0).merge(&c.input(1))?;
    let dtype: DType = c.attrs().get("element_dtype")?;
    let (a, b) = (element(c, 0), element(c, 1));
    let mut held = PartialShape::unknown();
    for (list, name) in [(a, "input_a"), (b, "input_b")] {
        let Some((have, shape)) = list else { continue };
        if have != dtype {
            bail!(InvalidArgument, "{name}.type != element_dtype: {} vs. {}", common::cpp_name(have), common::cpp_name(dtype));
        }
        held = held.merge(&shape)?;
    }
    c.set_output(0, shape);
    set_list(c, 0, held)
}
