//! Softmax and the losses that are based on it.

use super::types::{FLOATS, INDICES};
use crate::backend::Grid;
use crate::compiled_kernel::{CompiledKernel, element_types, word};
use crate::device::{Argument, GpuDevice};
use crate::text::element_name;
use flowmill_kernels::cross_entropy::{dense_sizes, sparse_sizes};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("Softmax", KernelDef::new(|init| make_softmax(init, false)).constrain("T", FLOATS));
    registry.register("LogSoftmax", KernelDef::new(|init| make_softmax(init, true)).constrain("T", FLOATS));
    registry.register("SoftmaxCrossEntropyWithLogits", KernelDef::new(make_cross_entropy).constrain("T", FLOATS));
    let sparse = KernelDef::new(make_sparse_cross_entropy).constrain("T", FLOATS).constrain("Tlabels", INDICES);
    registry.register("SparseSoftmaxCrossEntropyWithLogits", sparse);
}

/// Returns the grid in which the threads with one index in y compute a row.
pub(super) fn row_grid(rows: usize, columns: usize) -> Result<Grid> {
    const THREADS: usize = 256;
    let width = columns.max(1).next_power_of_two().min(THREADS);
    let height = THREADS / width;
    Ok(Grid { blocks: [word(rows.div_ceil(height))?, 1, 1], threads: [width as u32, height as u32, 1] })
}

fn program(name: &'static str, dtype: DType, labels: DType) -> Result<CompiledKernel> {
    let [element, compute] = element_types(dtype)?;
    Ok(CompiledKernel::new(include_str!("softmax.cu"), name, &[element, compute, ("I", element_name(labels).unwrap_or("int"))]))
}

fn make_softmax(init: &KernelInit<'_>, is_log: bool) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let program = program("softmax", dtype, DType::I32)?;
    from_fn(move |ctx| {
        let logits = ctx.input(0)?.clone();
        let Some(&columns) = logits.shape().last() else {
            bail!(InvalidArgument, "logits must have >= 1 dimension, got {}", logits.shape());
        };
        let output = ctx.allocate_output(0, dtype, logits.shape())?.clone();
        if output.num_elements() == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let rows = logits.num_elements() / columns;
        let [to, from] = [device.address(&output)?, device.address(&logits)?].map(Argument::Address);
        let arguments = [to, from, Argument::U32(word(rows)?), Argument::U32(word(columns)?), Argument::U32(is_log.into())];
        program.launch(device, row_grid(rows, columns)?, &arguments)
    })
}

fn make_cross_entropy(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let program = program("cross_entropy", dtype, DType::I32)?;
    from_fn(move |ctx| {
        let (logits, labels) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        let (shape, [rows, columns]) = dense_sizes(logits.shape(), labels.shape())?;
        let Some((loss, gradient)) = outputs(ctx, dtype, &shape, rows, columns)? else { return Ok(()) };
        let device = GpuDevice::of(ctx.device())?;
        let strides = [&logits, &labels].map(|operand| broadcast_strides(operand.shape()));
        let words = [strides[0][0], strides[0][1], strides[1][0], strides[1][1]];
        let [loss, gradient] = [device.address(&loss)?, device.address(&gradient)?].map(Argument::Address);
        let [logits, labels] = [device.address(&logits)?, device.address(&labels)?].map(Argument::Address);
        let sizes = [Argument::U32(word(rows)?), Argument::U32(word(columns)?)];
        let arguments = [loss, gradient, logits, labels, sizes[0], sizes[1], Argument::Words(&words)];
        program.launch(device, row_grid(rows, columns)?, &arguments)
    })
}

/// Returns the distances between rows and between columns of an operand of at most two dimensions, which is broadcast along those of size 1.
fn broadcast_strides(shape: &Shape) -> [u32; 2] {
    match *shape.dims() {
        [rows, columns] => [if rows == 1 { 0 } else { columns as u32 }, u32::from(columns != 1)],
        [columns] => [0, u32::from(columns != 1)],
        _ => [0, 0],
    }
}

/// Allocates the loss and the gradient of a cross entropy. Returns nothing if there is nothing to compute.
fn outputs(ctx: &mut KernelContext<'_>, dtype: DType, shape: &Shape, rows: usize, columns: usize) -> Result<Option<(Tensor, Tensor)>> {
    let loss = ctx.allocate_output(0, dtype, &Shape::new(&[rows]))?.clone();
    let gradient = ctx.allocate_output(1, dtype, shape)?.clone();
    if rows > 0 && columns == 0 {
        let device = GpuDevice::of(ctx.device())?;
        device.gpu().fill(device.address(&loss)?, 0, loss.num_bytes())?;
    }
    Ok(if rows == 0 || columns == 0 { None } else { Some((loss, gradient)) })
}

/// Makes the kernel of `SparseSoftmaxCrossEntropyWithLogits`. A label out of range makes its row NaN, as on TensorFlow's GPUs.
fn make_sparse_cross_entropy(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let program = program("sparse_cross_entropy", dtype, init.dtype("Tlabels")?)?;
    from_fn(move |ctx| {
        let (logits, labels) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        let [rows, classes] = sparse_sizes(logits.shape(), labels.shape())?;
        let Some((loss, gradient)) = outputs(ctx, dtype, logits.shape(), rows, classes)? else { return Ok(()) };
        let device = GpuDevice::of(ctx.device())?;
        let [loss, gradient] = [device.address(&loss)?, device.address(&gradient)?].map(Argument::Address);
        let [logits, labels] = [device.address(&logits)?, device.address(&labels)?].map(Argument::Address);
        let arguments = [loss, gradient, logits, labels, Argument::U32(word(rows)?), Argument::U32(word(classes)?)];
        program.launch(device, row_grid(rows, classes)?, &arguments)
    })
}
