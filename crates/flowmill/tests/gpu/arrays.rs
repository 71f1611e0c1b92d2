//! TensorArrays, stacks and variables whose tensors are in a GPU's memory.

use crate::compare::{Random, numbers};
use crate::setup::{GPU, assert_no_leaks, session};
use flowmill::prelude::*;
use flowmill::{PartialShape, Shape};

const F: DType = DType::F32;

fn constant<'b>(b: &'b GraphBuilder, value: &Tensor) -> flowmill::Result<Output<'b>> {
    b.op("Const").attr("dtype", value.dtype()).attr("value", value).output()
}

/// An array's handle and flow.
type Array<'b> = (Output<'b>, Output<'b>);

fn array<'b>(b: &'b GraphBuilder, size: i32) -> flowmill::Result<Array<'b>> {
    let id = b.op("TensorArrayV3").attr("dtype", F).input(constant(b, &Tensor::scalar(size))?).finish()?;
    Ok((b.output(id.output(0)), b.output(id.output(1))))
}

fn write<'b>(b: &'b GraphBuilder, array: Array<'b>, index: i32, value: &Tensor) -> flowmill::Result<Array<'b>> {
    let index = constant(b, &Tensor::scalar(index))?;
    let flow = b.op("TensorArrayWriteV3").input(array.0).input(index).input(constant(b, value)?).input(array.1).output()?;
    Ok((array.0, flow))
}

fn read<'b>(b: &'b GraphBuilder, array: Array<'b>, index: i32) -> flowmill::Result<Output<'b>> {
    let index = constant(b, &Tensor::scalar(index))?;
    b.op("TensorArrayReadV3").attr("dtype", F).input(array.0).input(index).input(array.1).output()
}

/// Writes, reads, joins and splits tensors of arrays, and adds up gradients.
fn array_results(device: &str) -> Vec<Vec<f64>> {
    let b = GraphBuilder::new().unwrap();
    let mut random = Random::new(91);
    let fetches = b
        .with_device(device, || {
            let mut fetches = Vec::new();
            let mut rows = array(&b, 3)?;
            for i in 0..3 {
                rows = write(&b, rows, i, &random.tensor(F, &[2, 3]))?;
            }
            let all = constant(&b, &Tensor::vector(&[2i32, 0, 1])?)?;
            let shape = PartialShape::unknown();
            let gathered = b.op("TensorArrayGatherV3").attr("dtype", F).attr("element_shape", shape).input(rows.0).input(all).input(rows.1);
            let gathered = gathered.output()?;
            let gradient =
                b.after(&[gathered.node()], || b.op("TensorArrayGradV3").attr("source", "gradients").input(rows.0).input(rows.1).finish())?;
            let mut gradient = (b.output(gradient.output(0)), b.output(gradient.output(1)));
            for _ in 0..2 {
                gradient = write(&b, gradient, 1, &random.tensor(F, &[2, 3]))?;
            }
            fetches.extend([gathered, read(&b, gradient, 1)?, read(&b, gradient, 0)?]);
            fetches.push(b.op("TensorArraySizeV3").input(rows.0).input(rows.1).output()?);
            let parts = array(&b, 2)?;
            let lengths = constant(&b, &Tensor::vector(&[2i64, 3])?)?;
            let value = constant(&b, &random.tensor(F, &[5, 4]))?;
            let flow = b.op("TensorArraySplitV3").input(parts.0).input(value).input(lengths).input(parts.1).output()?;
            let joined = b.op("TensorArrayConcatV3").attr("dtype", F).input(parts.0).input(flow).finish()?;
            fetches.extend([b.output(joined.output(0)), b.output(joined.output(1))]);
            let scattered = array(&b, 2)?;
            let at = constant(&b, &Tensor::vector(&[1i32, 0])?)?;
            let value = constant(&b, &random.tensor(F, &[2, 4]))?;
            let flow = b.op("TensorArrayScatterV3").input(scattered.0).input(at).input(value).input(scattered.1).output()?;
            fetches.push(read(&b, (scattered.0, flow), 0)?);
            Ok(fetches)
        })
        .unwrap();
    let session = session(&b);
    session.runner().fetch(&fetches[..]).unwrap().iter().map(numbers).collect()
}

#[test]
fn arrays_hold_tensors_of_the_gpu() {
    let driver = stub_cuda::install().unwrap();
    assert_eq!(array_results(GPU), array_results("/device:CPU:0"));
    assert_no_leaks(&driver);
}

#[test]
fn stacks_hold_tensors_of_the_gpu() {
    let driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let popped = b
        .with_device(GPU, || {
            let size = constant(&b, &Tensor::scalar(-1i32))?;
            let stack = b.op("StackV2").attr("elem_type", F).input(size).output()?;
            let x = constant(&b, &Tensor::vector(&[1f32, 2.0, 3.0])?)?;
            let squares = b.op("Square").input(x).output()?;
            let pushed = b.op("StackPushV2").input(stack).input(squares).output()?;
            let value = b.after(&[pushed.node()], || b.op("StackPopV2").attr("elem_type", F).input(stack).output())?;
            let negated = b.op("Neg").input(value).output()?;
            let closed = b.after(&[negated.node()], || b.op("StackCloseV2").input(stack).finish())?;
            b.after(&[closed], || b.op("Identity").input(negated).output())
        })
        .unwrap();
    assert_eq!(numbers(&session(&b).runner().fetch(popped).unwrap()), [-1.0, -4.0, -9.0]);
    assert_no_leaks(&driver);
}

#[test]
fn rows_of_variables_are_gathered() {
    let _driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let (initializer, rows, shape) = b
        .with_device(GPU, || {
            let variable = b.variable("v", constant(&b, &Tensor::from_slice(Shape::new(&[3, 2]), &[0f32, 1.0, 2.0, 3.0, 4.0, 5.0])?)?)?;
            let at = constant(&b, &Tensor::vector(&[2i64, 0, 2])?)?;
            let rows = b.op("ResourceGather").attr("dtype", F).input(variable.handle()).input(at).output()?;
            let shape = b.op("VariableShape").input(variable.handle()).output()?;
            Ok((variable.initializer(), rows, shape))
        })
        .unwrap();
    let session = session(&b);
    session.runner().target(initializer).run().unwrap();
    let [rows, shape] = session.runner().fetch([rows, shape]).unwrap();
    assert_eq!((numbers(&rows), numbers(&shape)), (vec![4.0, 5.0, 0.0, 1.0, 4.0, 5.0], vec![3.0, 2.0]));
}
