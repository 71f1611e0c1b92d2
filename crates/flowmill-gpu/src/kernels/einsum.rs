//! `Einsum` of one or two operands: sums over labels of one operand first, then products of matrices.
//!
//! Operands are strided views. One is copied only if its labels are not in the order of a batch of matrices.

use super::copy::Copier;
use super::matmul;
use super::reduce::Reducer;
use crate::backend::Gemm;
use crate::device::GpuDevice;
use flowmill_graph::{EinsumEquation, EinsumLabel, EinsumProduct};
use flowmill_kernels::array::nd::{Strides, row_major};
use flowmill_kernels::axes::Plan;
use flowmill_kernels::einsum::{EinsumTerms, LabelSizes, View};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Device, Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

const TYPES: &[DType] = &[DType::F16, DType::BF16, DType::F32, DType::F64, DType::I32, DType::I64];

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("Einsum", KernelDef::new(make).constrain("T", TYPES));
}

/// The kernels of an einsum.
struct Einsum {
    equation: EinsumEquation,
    dtype: DType,
    copier: Copier,
    sum: Reducer,
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let equation = EinsumEquation::parse(init.attrs.get("equation")?)?;
    let einsum = Einsum { equation, dtype, copier: Copier::new(dtype)?, sum: Reducer::new("Sum", dtype)? };
    from_fn(move |ctx| {
        let result = einsum.compute(ctx)?;
        ctx.set_output(0, result);
        Ok(())
    })
}

impl Einsum {
    fn compute(&self, ctx: &KernelContext<'_>) -> Result<Tensor> {
        let device = GpuDevice::of(ctx.device())?;
        let inputs: Vec<&Tensor> = ctx.inputs_from(0).collect();
        let shapes: Vec<&Shape> = inputs.iter().map(|tensor| tensor.shape()).collect();
        let EinsumTerms { operands: terms, sizes, named, output, shape } = EinsumTerms::new(&self.equation, &shapes)?;
        let mut operands: Vec<View> = Vec::new();
        for (i, (tensor, labels)) in inputs.iter().zip(&terms).enumerate() {
            let other = terms.get(1 - i).filter(|_| inputs.len() == 2);
            let is_kept = |l: &EinsumLabel| output.contains(l) || other.is_some_and(|o| o.contains(l));
            operands.push(self.summed(device, View::new(tensor, labels, &sizes), &sizes, is_kept)?);
        }
        let result = match &operands[..] {
            [one] => self.arranged(device, one, &output, &sizes)?.tensor,
            [a, b] => self.contract(device, a, b, &output, &sizes)?,
            _ => bail!(Internal, "einsum of {} operands", operands.len()),
        };
        if output.len() == named.len() { result.reshaped(shape) } else { self.diagonal(device, &result, &output, &named, shape) }
    }

    fn zeros(&self, device: &GpuDevice, shape: &Shape) -> Result<Tensor> {
        let zeros = device.allocate(self.dtype, shape)?;
        if zeros.num_elements() > 0 {
            device.gpu().fill(device.address(&zeros)?, 0, zeros.num_bytes())?;
        }
        Ok(zeros)
    }

    /// Returns a tensor with the dimensions `named`, some of which have the same label: `result`, whose dimensions are the labels, on the diagonals, and
    /// zeros.
    fn diagonal(&self, device: &GpuDevice, result: &Tensor, labels: &[EinsumLabel], named: &[EinsumLabel], shape: Shape) -> Result<Tensor> {
        let out = self.zeros(device, &shape)?;
        if result.num_elements() == 0 {
            return Ok(out);
        }
        let strides = row_major(&shape);
        let on_diagonal = |label: &EinsumLabel| named.iter().zip(&strides).filter(|(l, _)| *l == label).map(|(_, stride)| *stride).sum();
        let to: Strides = labels.iter().map(on_diagonal).collect();
        let sizes: Vec<usize> = labels.iter().filter_map(|label| named.iter().position(|l| l == label).map(|i| shape[i])).collect();
        self.copier.copy(device, &sizes, (device.address(&out)?, &to), (device.address(result)?, &row_major(&sizes)))?;
        Ok(out)
    }

    /// Returns the view as a tensor with its dimensions in this order, which is copied unless it is that already.
    fn arranged(&self, device: &GpuDevice, view: &View, labels: &[EinsumLabel], sizes: &LabelSizes) -> Result<View> {
        let shape: Shape = labels.iter().map(|l| sizes[l]).collect();
        shape.checked_num_elements()?;
        let adjacent = row_major(&shape);
        let tensor = if view.is_in_order(labels, sizes) {
            view.tensor.clone().reshaped(shape)?
        } else {
            let strides: Strides = labels.iter().map(|l| view.stride(l) as isize).collect();
            let copy = device.allocate(self.dtype, &shape)?;
            if copy.num_elements() > 0 {
                self.copier.copy(device, &shape, (device.address(&copy)?, &adjacent), (device.address(&view.tensor)?, &strides))?;
            }
            copy
        };
        Ok(View { tensor, labels: labels.to_vec(), strides: adjacent.iter().map(|&s| s as usize).collect() })
    }

    /// Sums over the labels for which `is_kept` is false.
    fn summed(&self, device: &GpuDevice, view: View, sizes: &LabelSizes, is_kept: impl Fn(&EinsumLabel) -> bool) -> Result<View> {
        let (kept, summed): (Vec<EinsumLabel>, Vec<EinsumLabel>) = view.labels.iter().partition(|l| is_kept(l));
        if summed.is_empty() {
            return Ok(view);
        }
        let arranged = self.arranged(device, &view, &[&kept[..], &summed].concat(), sizes)?;
        let shape: Shape = kept.iter().map(|l| sizes[l]).collect();
        let row: usize = summed.iter().map(|l| sizes[l]).product();
        let rows = arranged.tensor.reshaped(Shape::new(&[shape.num_elements(), row]))?;
        let sums = device.allocate(self.dtype, &shape)?;
        let plan = Plan::new(rows.shape(), &device.host_allocator().vector(&[1i64])?, false)?;
        self.sum.reduce(device, &rows, &plan, &sums)?;
        Ok(View::new(&sums, &kept, sizes))
    }

    /// Returns an operand in one of two orders of its labels, and true if it is the second one.
    fn matrices(&self, device: &GpuDevice, view: &View, orders: [&[EinsumLabel]; 2], sizes: &LabelSizes) -> Result<(Tensor, bool)> {
        if !view.is_in_order(orders[0], sizes) && view.is_in_order(orders[1], sizes) {
            return Ok((view.tensor.clone(), true));
        }
        Ok((self.arranged(device, view, orders[0], sizes)?.tensor, false))
    }

    /// Returns the product of two operands, summed over the labels that both have and the output lacks, with its dimensions in the order of `output`.
    fn contract(&self, device: &GpuDevice, a: &View, b: &View, output: &[EinsumLabel], sizes: &LabelSizes) -> Result<Tensor> {
        let Some(EinsumProduct { batch, rows, columns, inner, .. }) = EinsumProduct::of(&a.labels, &b.labels, output) else {
            bail!(Internal, "labels of an einsum without a role: {:?} and {:?}", a.labels, b.labels);
        };
        let count = |labels: &[EinsumLabel]| labels.iter().map(|l| sizes[l]).product::<usize>();
        let (m, n, k, products) = (count(&rows), count(&columns), count(&inner), count(&batch));
        let shape: Shape = output.iter().map(|l| sizes[l]).collect();
        if shape.checked_num_elements()? == 0 || k == 0 {
            return self.zeros(device, &shape);
        }
        let concat = |parts: [&[EinsumLabel]; 3]| parts.concat();
        let left = [concat([&batch, &rows, &inner]), concat([&batch, &inner, &rows])];
        let right = [concat([&batch, &inner, &columns]), concat([&batch, &columns, &inner])];
        let (x, transpose_a) = self.matrices(device, a, [&left[0], &left[1]], sizes)?;
        let (y, transpose_b) = self.matrices(device, b, [&right[0], &right[1]], sizes)?;
        let order = concat([&batch, &rows, &columns]);
        let whole: Shape = order.iter().map(|l| sizes[l]).collect();
        let product = device.allocate(self.dtype, &whole)?;
        let gemm = Gemm {
            dtype: self.dtype,
            m,
            n,
            k,
            transpose_a,
            transpose_b,
            matrices: [device.address(&x)?, device.address(&y)?, device.address(&product)?],
            batch: products,
            strides: [m * k, k * n, m * n],
            allow_tf32: device.options().allow_tf32,
            update: None,
        };
        matmul::run(device, &gemm)?;
        Ok(self.arranged(device, &View::new(&product, &order, sizes), output, sizes)?.tensor)
    }
}
