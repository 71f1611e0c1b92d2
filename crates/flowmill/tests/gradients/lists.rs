//! Tensor arrays and tensor lists, also in loops.

use crate::{check, numbers, type_attr};
use flowmill::builder::{ScopedBuilder, WhileOptions};
use flowmill::{DType, OutputId, PartialShape, Result};

/// A tensor array of `double`s: handle and flow.
fn array(b: &mut ScopedBuilder<'_>, size: i32) -> Result<[OutputId; 2]> {
    let size = b.scalar(size)?;
    let node = b.op("TensorArrayV3").input(size).attr("dtype", type_attr(DType::F64)).attr("dynamic_size", false);
    let node = node.attr("clear_after_read", false).finish()?;
    Ok([node.output(0), node.output(1)])
}

fn double(b: &mut ScopedBuilder<'_>, op: &str, inputs: &[OutputId]) -> Result<OutputId> {
    b.op(op).inputs(inputs).attr("dtype", type_attr(DType::F64)).output()
}

#[test]
fn tensor_arrays() {
    check("scatter and read", &[numbers(&[3, 2])], |b, x| {
        let [handle, flow] = array(b, 3)?;
        let indices = b.vector(&[2i32, 0, 1])?;
        let flow = b.call("TensorArrayScatterV3", &[handle, indices, x[0], flow])?;
        let (one, two) = (b.scalar(1i32)?, b.scalar(2i32)?);
        let first = double(b, "TensorArrayReadV3", &[handle, one, flow])?;
        let second = double(b, "TensorArrayReadV3", &[handle, two, flow])?;
        let again = double(b, "TensorArrayReadV3", &[handle, two, flow])?;
        let sum = b.call("AddV2", &[second, again])?;
        b.call("Mul", &[first, sum])
    });
    check("write and gather", &[numbers(&[2]), numbers(&[2])], |b, x| {
        let [handle, mut flow] = array(b, 2)?;
        for (i, &x) in x.iter().enumerate() {
            let i = b.scalar(i as i32)?;
            flow = b.call("TensorArrayWriteV3", &[handle, i, x, flow])?;
        }
        let indices = b.vector(&[1i32, 0])?;
        let y = double(b, "TensorArrayGatherV3", &[handle, indices, flow])?;
        b.call("Exp", &[y])
    });
    check("split and concat", &[numbers(&[5, 2])], |b, x| {
        let [handle, flow] = array(b, 2)?;
        let lengths = b.vector(&[2i64, 3])?;
        let flow = b.call("TensorArraySplitV3", &[handle, x[0], lengths, flow])?;
        let y = double(b, "TensorArrayConcatV3", &[handle, flow])?;
        b.call("Exp", &[y])
    });
}

#[test]
fn a_loop_over_tensor_arrays() {
    // s = tanh(w s + x_i), all of which are kept: what dynamic_rnn does.
    check("scan", &[numbers(&[4, 2]), numbers(&[2])], |b, x| {
        let w = x[1];
        let [inputs, flow] = array(b, 4)?;
        let indices = b.vector(&[0i32, 1, 2, 3])?;
        let read = b.call("TensorArrayScatterV3", &[inputs, indices, x[0], flow])?;
        let [outputs, flow] = array(b, 4)?;
        let (zero, start) = (b.scalar(0i32)?, b.vector(&[0.1f64, 0.2])?);
        let exits = b.while_loop(
            "while",
            &[zero, start, flow],
            &WhileOptions::default(),
            |b, vars| {
                let four = b.scalar(4i32)?;
                b.call("Less", &[vars[0], four])
            },
            |b, vars| {
                let (i, state, flow) = (vars[0], vars[1], vars[2]);
                let x = double(b, "TensorArrayReadV3", &[inputs, i, read])?;
                b.merge_shape(x, &PartialShape::new(&[2]))?;
                let weighted = b.call("Mul", &[state, w])?;
                let sum = b.call("AddV2", &[weighted, x])?;
                let state = b.call("Tanh", &[sum])?;
                let flow = b.call("TensorArrayWriteV3", &[outputs, i, state, flow])?;
                let one = b.scalar(1i32)?;
                Ok(vec![b.call("AddV2", &[i, one])?, state, flow])
            },
        )?;
        let y = double(b, "TensorArrayGatherV3", &[outputs, indices, exits[2]])?;
        b.call("Square", &[y])
    });
}

fn listed(b: &mut ScopedBuilder<'_>, op: &str, inputs: &[OutputId]) -> Result<OutputId> {
    b.op(op).inputs(inputs).attr("element_dtype", type_attr(DType::F64)).output()
}

#[test]
fn tensor_lists() {
    check("push and pop", &[numbers(&[2]), numbers(&[2])], |b, x| {
        let (shape, limit) = (b.vector(&[2i32])?, b.scalar(-1i32)?);
        let mut list = listed(b, "EmptyTensorList", &[shape, limit])?;
        for &x in x {
            list = listed(b, "TensorListPushBack", &[list, x])?;
        }
        let pop = listed(b, "TensorListPopBack", &[list, shape])?.node;
        let rest = listed(b, "TensorListStack", &[pop.output(0), shape])?;
        b.call("Mul", &[rest, pop.output(1)])
    });
    check("items", &[numbers(&[3, 2]), numbers(&[2])], |b, x| {
        let (shape, one, two) = (b.vector(&[2i32])?, b.scalar(1i32)?, b.scalar(2i32)?);
        let list = listed(b, "TensorListFromTensor", &[x[0], shape])?;
        let first = listed(b, "TensorListGetItem", &[list, one, shape])?;
        let list = listed(b, "TensorListSetItem", &[list, one, x[1]])?;
        let second = listed(b, "TensorListGetItem", &[list, two, shape])?;
        let all = listed(b, "TensorListStack", &[list, shape])?;
        let product = b.call("Mul", &[first, second])?;
        b.call("Mul", &[all, product])
    });
    check("gather and scatter", &[numbers(&[3, 2])], |b, x| {
        let shape = b.vector(&[2i32])?;
        let (order, four) = (b.vector(&[2i32, 0, 1])?, b.scalar(4i32)?);
        let list = listed(b, "TensorListScatterV2", &[x[0], order, shape, four])?;
        let some = b.vector(&[2i32, 1])?;
        let y = listed(b, "TensorListGather", &[list, some, shape])?;
        b.call("Exp", &[y])
    });
    check("split and concat", &[numbers(&[5, 2])], |b, x| {
        let (shape, lengths) = (b.vector(&[-1i32, 2])?, b.vector(&[2i64, 3])?);
        let list = listed(b, "TensorListSplit", &[x[0], shape, lengths])?;
        let y = listed(b, "TensorListConcatV2", &[list, shape, lengths])?;
        b.call("Exp", &[y])
    });
    check("resize", &[numbers(&[2, 2])], |b, x| {
        let (shape, three, one) = (b.vector(&[2i32])?, b.scalar(3i32)?, b.scalar(1i32)?);
        let list = listed(b, "TensorListFromTensor", &[x[0], shape])?;
        let list = b.call("TensorListResize", &[list, three])?;
        let y = listed(b, "TensorListGetItem", &[list, one, shape])?;
        b.call("Exp", &[y])
    });
}
