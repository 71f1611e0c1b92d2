//! `_FusedReadMatMul`, which multiplies an element of an array and a matrix, side by side, by weights, as each step of a recurrent network does.
//!
//! Inputs: handle, index, flow, matrix, weights, and the operands of the epilogue. The element's part of the product depends on nothing that the
//! loop computes. If a step has few rows, the product spends most of its time reading the weights. Therefore the parts of several elements are
//! computed together when the first of them is read, so that their part of the weights is read once for all. The array stores them.
//!
//! The number of elements that are computed together doubles while reads follow one another in either direction, up to [`AHEAD_ROWS`] rows. So at
//! most as many are computed in vain as were used. An element is written once, so parts that are computed ahead stay valid. Elements that were not
//! written yet, have another shape, or may still be added to are not computed ahead.
//!
//! A sum of products is one chain in the order of the weights' rows ([`crate::gemm`]). So to continue the chain after the element's part returns
//! the same bits as the product of both.

use super::{Sizes, product_cost, product_sizes};
use crate::array::joined_shape;
use crate::fused_ops::FusedOps;
use crate::gemm::{Epilogue, LDA, PackedB, Rows, gemm_packed, gemm_rows};
use flowmill_kernels::tensor_array::{TensorArray, array_of, scalar_i32};
use flowmill_runtime::{Cost, Kernel, KernelContext, KernelInit};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Allocator, DType, Result, Tensor, bail};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most rows of elements that are multiplied at once: for this many rows, reading the weights is a small part of the work.
const AHEAD_ROWS: usize = 24;

/// A counter of numbers that identify the readers of an array.
static NEXT_READER: AtomicU64 = AtomicU64::new(0);

struct ReadMatMul {
    reader: u64,
    fusion: FusedOps,
    cost: Cost,
    weights: Mutex<Weights>,
}

/// The weights, packed in the forms that were used so far.
#[derive(Default)]
struct Weights {
    of: Option<Tensor>,
    whole: Option<Arc<PackedB>>,
    split: Option<Arc<Split>>,
}

/// The weights in two parts: the rows for the element and the rows for the matrix.
struct Split {
    element: PackedB,
    rest: PackedB,
}

/// Parts of products that were computed together: for elements `first`, `first + step`, …
struct Ahead {
    weights: Arc<Split>,
    first: i64,
    step: i64,
    len: usize,
    /// The number of rows per element.
    rows: usize,
    products: Tensor,
}

impl Ahead {
    /// Returns the position of element `index`.
    fn place(&self, index: i64) -> Option<usize> {
        usize::try_from((index - self.first) * self.step).ok().filter(|&place| place < self.len)
    }

    /// Returns the step and the number of elements to compute ahead when `index` is read after these elements.
    fn next(&self, index: i64) -> (i64, usize) {
        let distance = index - self.first;
        match self.len {
            1 if distance.abs() == 1 => (distance, 2),
            len if distance == self.step * len as i64 => (self.step, 2 * len),
            _ => (1, 1),
        }
    }
}

/// Makes the kernel of `_FusedReadMatMul`.
pub(super) fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    if init.dtype("T")? != DType::F32 {
        return init.unsupported();
    }
    Ok(Arc::new(ReadMatMul {
        reader: NEXT_READER.fetch_add(1, Ordering::Relaxed),
        fusion: FusedOps::new(init)?,
        cost: product_cost(&init.input_shape(4)),
        weights: Mutex::default(),
    }))
}

impl Kernel for ReadMatMul {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let product = {
            let index = i64::from(scalar_i32(ctx.input(1)?, "index")?);
            let (rest, weights) = (ctx.input(3)?, ctx.input(4)?);
            let args: SmallVec<[&Tensor; 2]> = ctx.inputs_from(5).collect();
            let array = array_of(ctx, DType::F32)?;
            let element = array.read(ctx.allocator(), index)?;
            let joined = joined_shape([element.shape(), rest.shape()], 1)?;
            let size = product_sizes(&joined, weights.shape())?;
            let epilogue = self.fusion.epilogue(&args, size)?;
            let &[_, depth] = element.shape().dims() else { bail!(Internal, "the element next to a matrix is not a matrix") };
            if size.m == 0 || 2 * size.m > AHEAD_ROWS || depth == 0 || depth == size.k {
                self.whole(ctx.allocator(), &element, rest, weights, size, &epilogue)?
            } else {
                let split = self.split(weights, depth, size)?;
                let mut product = self.share(ctx.allocator(), array, index, &element, split.clone())?;
                let epilogue = Epilogue { accumulate: true, ..epilogue };
                gemm_packed(rest.as_slice()?, size.k - depth, size.m, &split.rest, product.as_mut_slice()?, size.n, &epilogue);
                product
            }
        };
        ctx.set_output(0, product);
        Ok(())
    }

    fn cost(&self) -> Option<Cost> {
        Some(self.cost)
    }
}

impl ReadMatMul {
    /// Returns the product of both parts, computed at once.
    fn whole(
        &self,
        alloc: &Allocator,
        element: &Tensor,
        rest: &Tensor,
        weights: &Tensor,
        size: Sizes,
        epilogue: &Epilogue<'_>,
    ) -> Result<Tensor> {
        let packed = {
            let mut known = self.weights.lock();
            known.follow(weights);
            match &known.whole {
                Some(packed) => packed.clone(),
                None => known.whole.insert(Arc::new(PackedB::pack(weights.as_slice()?, size.k, size.n, false))).clone(),
            }
        };
        let mut product = alloc.uninit(DType::F32, [size.m, size.n])?;
        let joined = Joined { parts: [element.as_slice()?, rest.as_slice()?], depths: [element.shape()[1], rest.shape()[1]] };
        gemm_rows(&joined, size.m, &packed, product.as_mut_slice()?, size.n, epilogue);
        Ok(product)
    }

    /// Returns the weights, split after row `depth`.
    fn split(&self, weights: &Tensor, depth: usize, size: Sizes) -> Result<Arc<Split>> {
        let mut known = self.weights.lock();
        known.follow(weights);
        if let Some(split) = known.split.as_ref().filter(|split| split.element.k() == depth) {
            return Ok(split.clone());
        }
        let (element, rest) = weights.as_slice::<f32>()?.split_at(depth * size.n);
        let element = PackedB::pack(element, depth, size.n, false);
        let rest = PackedB::pack(rest, size.k - depth, size.n, false);
        Ok(known.split.insert(Arc::new(Split { element, rest })).clone())
    }

    /// Returns the product of element `index` with its part of the weights, as a tensor that nothing else refers to.
    fn share(&self, alloc: &Allocator, array: &TensorArray, index: i64, element: &Tensor, weights: Arc<Split>) -> Result<Tensor> {
        let (rows, n) = (element.shape()[0], weights.element.n());
        let last: Option<Box<Ahead>> = array.take_ahead(self.reader).and_then(|ahead| ahead.downcast().ok());
        let last = last.filter(|ahead| ahead.rows == rows && Arc::ptr_eq(&ahead.weights, &weights));
        let ahead = match last {
            Some(ahead) if ahead.place(index).is_some() => ahead,
            last => {
                let (step, len) = last.map_or((1, 1), |last| last.next(index));
                let elements = array.waiting(index, step, len.min(AHEAD_ROWS / rows), element);
                let parts = elements.iter().map(Tensor::as_slice).collect::<Result<SmallVec<[&[f32]; AHEAD_ROWS]>>>()?;
                let mut products = alloc.uninit(DType::F32, [parts.len() * rows, n])?;
                let stacked = Stacked { parts: &parts, rows, depth: weights.element.k() };
                gemm_rows(&stacked, parts.len() * rows, &weights.element, products.as_mut_slice()?, n, &Epilogue::default());
                Box::new(Ahead { weights, first: index, step, len: parts.len(), rows, products })
            }
        };
        let mut share = alloc.uninit(DType::F32, [rows, n])?;
        if let Some(place) = ahead.place(index) {
            share.as_mut_slice::<f32>()?.copy_from_slice(&ahead.products.as_slice()?[place * rows * n..][..rows * n]);
        }
        array.put_ahead(self.reader, ahead);
        Ok(share)
    }
}

impl Weights {
    /// Drops what was packed of other weights.
    fn follow(&mut self, weights: &Tensor) {
        if !self.of.as_ref().is_some_and(|of| of.same_data(weights)) {
            *self = Weights { of: Some(weights.clone()), ..Weights::default() };
        }
    }
}

/// The rows of two matrices side by side, as a source of rows.
struct Joined<'a> {
    parts: [&'a [f32]; 2],
    depths: [usize; 2],
}

impl Rows<f32> for Joined<'_> {
    fn pack(&self, row0: usize, rows: usize, k0: usize, kc: usize, dst: &mut [f32]) {
        let [first, second] = self.depths;
        let (from_first, from_second) = (k0.min(first)..(k0 + kc).min(first), k0.max(first) - first..(k0 + kc).max(first) - first);
        for (i, dst) in (row0..row0 + rows).zip(dst.chunks_mut(LDA)) {
            let (head, tail) = dst[..kc].split_at_mut(from_first.len());
            head.copy_from_slice(&self.parts[0][i * first..][from_first.clone()]);
            tail.copy_from_slice(&self.parts[1][i * second..][from_second.clone()]);
        }
    }
}

/// The rows of matrices of one shape, one matrix after the other, as a source of rows.
struct Stacked<'a> {
    parts: &'a [&'a [f32]],
    rows: usize,
    depth: usize,
}

impl Rows<f32> for Stacked<'_> {
    fn pack(&self, row0: usize, rows: usize, k0: usize, kc: usize, dst: &mut [f32]) {
        for (i, dst) in (row0..row0 + rows).zip(dst.chunks_mut(LDA)) {
            let row = &self.parts[i / self.rows][i % self.rows * self.depth..][..self.depth];
            dst[..kc].copy_from_slice(&row[k0..][..kc]);
        }
    }
}
