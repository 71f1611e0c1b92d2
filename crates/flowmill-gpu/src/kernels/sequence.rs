//! `ReverseSequence`, `Roll`, and `InTopK`.

use super::copy::Copier;
use super::types::{INDICES, MOVABLE, word_of};
use crate::backend::Grid;
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use crate::text::element_name;
use flowmill_kernels::array::args::{indices, product};
use flowmill_kernels::array::nd::row_major;
use flowmill_kernels::array::rearrange::sequence_axes;
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, bail, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("ReverseSequence", KernelDef::new(make_reverse_sequence).constrain("T", MOVABLE).constrain("Tlen", INDICES));
    registry.register("Roll", KernelDef::new(make_roll).constrain("T", MOVABLE).host_memory("shift").host_memory("axis"));
    let top_k = || KernelDef::new(make_in_top_k).constrain("T", INDICES);
    registry.register("InTopK", top_k());
    registry.register("InTopKV2", top_k().host_memory("k"));
}

/// Makes the kernel of `ReverseSequence`. A length that is out of range counts as the nearest one that is not: an error would have to wait for the GPU.
fn make_reverse_sequence(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let seq_dim: i64 = init.attrs.get("seq_dim")?;
    let batch_dim: i64 = init.attrs.get_or("batch_dim", 0)?;
    let (dtype, index) = (init.dtype("T")?, init.attrs.get_or("Tlen", DType::I64)?);
    let index = element_name(index).ok_or_else(|| error!(Internal, "GPU kernels have no elements of type {index}"))?;
    let types = [("T", word_of(dtype)?), ("I", index)];
    let program = CompiledKernel::new(include_str!("reverse_sequence.cu"), "reverse_sequence", &types);
    from_fn(move |ctx| {
        let (input, lengths) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        let shape = input.shape();
        let (seq, batch) = sequence_axes(shape, lengths.shape(), seq_dim, batch_dim)?;
        let output = ctx.allocate_output(0, dtype, shape)?.clone();
        let n = output.num_elements();
        if n == 0 {
            return Ok(());
        }
        let inner = |axis: usize| word(product(&shape[axis + 1..]));
        let words = [word(shape[batch])?, inner(batch)?, word(shape[seq])?, inner(seq)?];
        let device = GpuDevice::of(ctx.device())?;
        let [to, from, lengths] = [device.address(&output)?, device.address(&input)?, device.address(&lengths)?].map(Argument::Address);
        program.launch(device, device.linear_grid(n), &[to, from, lengths, Argument::U64(n as u64), Argument::Words(&words)])
    })
}

fn make_roll(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let copier = Copier::new(dtype)?;
    from_fn(move |ctx| {
        let (input, shift, axis) = (ctx.input(0)?.clone(), ctx.input(1)?, ctx.input(2)?);
        let shape = input.shape().clone();
        if shape.rank() < 1 {
            bail!(InvalidArgument, "input must be 1-D or higher");
        }
        for (name, argument) in [("shift", shift), ("axis", axis)] {
            if argument.rank() > 1 {
                bail!(InvalidArgument, "{name} must be a scalar or a 1-D vector. Found: {}", argument.shape());
            }
        }
        if shift.shape() != axis.shape() {
            bail!(InvalidArgument, "shift and axis must have the same size");
        }
        // The shift along each axis, modulo its size.
        let mut shifts = vec![0usize; shape.rank()];
        for (shift, axis) in indices(shift)?.into_iter().zip(indices(axis)?) {
            let Some(axis) = shape.axis(axis) else { bail!(InvalidArgument, "axis {axis} is out of range") };
            let size = shape[axis].max(1) as i64;
            shifts[axis] = (shifts[axis] as i64 + shift.rem_euclid(size)).rem_euclid(size) as usize;
        }
        let shifted: Vec<usize> = (0..shape.rank()).filter(|&axis| shifts[axis] > 0).collect();
        if input.num_elements() == 0 || shifted.is_empty() {
            return ctx.forward(0, 0);
        }
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        let device = GpuDevice::of(ctx.device())?;
        let (to, from, strides) = (device.address(&output)?, device.address(&input)?, row_major(&shape));
        // Each shifted axis has a part that moves up, and one that moves to the beginning.
        for part in 0..1usize << shifted.len() {
            let (mut dims, mut at_to, mut at_from) = (shape.clone(), 0, 0);
            for (i, &axis) in shifted.iter().enumerate() {
                let (shift, stride) = (shifts[axis], strides[axis] as usize);
                if part >> i & 1 == 0 {
                    dims[axis] -= shift;
                    at_to += shift * stride;
                } else {
                    at_from += (shape[axis] - shift) * stride;
                    dims[axis] = shift;
                }
            }
            let at = |address: crate::backend::Address, elements: usize| address.offset(elements * copier.size());
            copier.copy(device, &dims, (at(to, at_to), &strides), (at(from, at_from), &strides))?;
        }
        Ok(())
    })
}

/// Makes the kernel of `InTopK`, where `k` is an attribute, and `InTopKV2`. A target that is out of range is in no list.
fn make_in_top_k(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let fixed: Option<i64> = if init.attrs.contains("k") { Some(init.attrs.get("k")?) } else { None };
    let index = init.attrs.get_or("T", DType::I32)?;
    let element = element_name(index).ok_or_else(|| error!(Internal, "GPU kernels have no indices of type {index}"))?;
    let program = CompiledKernel::new(include_str!("in_top_k.cu"), "in_top_k", &[("I", element)]);
    from_fn(move |ctx| {
        let (predictions, targets) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        let k = match fixed {
            Some(k) => k,
            None if ctx.input(2)?.rank() != 0 => bail!(InvalidArgument, "k must be 0-D, got shape {}", ctx.input(2)?.shape()),
            None => ctx.input(2)?.to_i64()?,
        };
        let &[rows, classes] = predictions.shape().dims() else { bail!(InvalidArgument, "predictions must be 2-dimensional") };
        if targets.rank() != 1 {
            bail!(InvalidArgument, "targets must be 1-dimensional");
        }
        if targets.num_elements() != rows {
            bail!(InvalidArgument, "First dimension of predictions {rows} must match length of targets {}", targets.num_elements());
        }
        let output = ctx.allocate_output(0, DType::Bool, &Shape::new(&[rows]))?.clone();
        if rows == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let addresses = [device.address(&output)?, device.address(&predictions)?, device.address(&targets)?];
        let [to, predictions, targets] = addresses.map(Argument::Address);
        // More than all classes are all.
        let k = k.clamp(0, classes as i64 + 1) as u32;
        let grid = Grid { blocks: [word(rows)?, 1, 1], threads: [256, 1, 1] };
        program.launch(device, grid, &[to, predictions, targets, Argument::U32(word(classes)?), Argument::U32(k)])
    })
}
