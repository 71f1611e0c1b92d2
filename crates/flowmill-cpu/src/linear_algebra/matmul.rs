//! `MatMul` and `_FusedMatMul`.

use super::product::{Beside, PRODUCT_IN_PLACE, Product, Sizes, StableRhs, multiply_in_place};
use crate::fused_ops::{FusedOps, Start};
use crate::gemm::{Epilogue, MatrixRef, gemm_packed};
use crate::linear::{Linear, LinearCall, RowGrid};
use crate::packed_weights::MatrixForm;
use flowmill_runtime::{Cost, Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Allocator, Complex, DType, PartialShape, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// The number of multiply-adds from which a product is worth another thread.
const EXPENSIVE: usize = 200_000;
/// The number of rows that is assumed if it is unknown.
const USUAL_ROWS: usize = 8;

/// The operands that are stored as their transposes.
#[derive(Clone, Copy)]
struct Transposed {
    a: bool,
    b: bool,
}

impl Transposed {
    fn new(init: &KernelInit<'_>) -> Result<Transposed> {
        Ok(Transposed { a: init.attrs.get_or("transpose_a", false)?, b: init.attrs.get_or("transpose_b", false)? })
    }

    /// Checks that the operands are matrices that can be multiplied.
    fn sizes(self, a: &Shape, b: &Shape) -> Result<Sizes> {
        let matrix = |shape: &Shape, i: usize| match *shape.dims() {
            [rows, columns] => Ok((rows, columns)),
            _ if shape.rank() < 2 => bail!(InvalidArgument, "In[{i}] ndims must be >= 2: {}", shape.rank()),
            _ => bail!(InvalidArgument, "In[{i}] is not a matrix. Instead it has shape {shape}"),
        };
        let (a_dims, b_dims) = (matrix(a, 0)?, matrix(b, 1)?);
        let (m, k) = if self.a { (a_dims.1, a_dims.0) } else { a_dims };
        let (rows, n) = if self.b { (b_dims.1, b_dims.0) } else { b_dims };
        if k != rows {
            bail!(InvalidArgument, "Matrix size-incompatible: In[0]: {a}, In[1]: {b}");
        }
        Ok(Sizes { m, k, n })
    }

    /// Returns an estimate from what is known about the shapes when the plan is made. `None` if the shape of the weights is unknown: the time of a
    /// product, which is costly, is measured when it runs.
    fn cost(self, init: &KernelInit<'_>) -> Option<Cost> {
        let (a, b) = (init.input_shape(0), init.input_shape(1));
        let (m, k) = if self.a { (a.dim(1), a.dim(0)) } else { (a.dim(0), a.dim(1)) };
        let (rows, n) = if self.b { (b.dim(1), b.dim(0)) } else { (b.dim(0), b.dim(1)) };
        let work = m.unwrap_or(USUAL_ROWS).saturating_mul(k.or(rows).unwrap_or(USUAL_ROWS)).saturating_mul(n?);
        Some(if work >= EXPENSIVE { Cost::Expensive } else { Cost::Cheap })
    }
}

/// Returns an estimate for a product of an unknown number of rows with these weights.
pub(super) fn product_cost(weights: &PartialShape) -> Cost {
    let (Some(rows), Some(columns)) = (weights.dim(0), weights.dim(1)) else { return Cost::Expensive };
    let work = rows.saturating_mul(columns).saturating_mul(USUAL_ROWS);
    if work >= EXPENSIVE { Cost::Expensive } else { Cost::Cheap }
}

fn operand<'a, T: Product>(data: &'a [T], rows: usize, columns: usize, transposed: bool) -> MatrixRef<'a, T> {
    MatrixRef { data, ld: if transposed { rows } else { columns }, transposed }
}

struct MatMul<T> {
    transposed: Transposed,
    cost: Option<Cost>,
    marker: PhantomData<fn() -> T>,
}

impl<T: Product> Kernel for MatMul<T> {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (a, b) = (ctx.input(0)?, ctx.input(1)?);
        let size = self.transposed.sizes(a.shape(), b.shape())?;
        let mut c = ctx.allocator().uninit(T::DTYPE, [size.m, size.n])?;
        T::product(
            size,
            operand(a.as_slice()?, size.m, size.k, self.transposed.a),
            operand(b.as_slice()?, size.k, size.n, self.transposed.b),
            c.as_mut_slice()?,
        );
        ctx.set_output(0, c);
        Ok(())
    }

    fn cost(&self) -> Option<Cost> {
        self.cost
    }
}

/// Makes the kernel of `MatMul`.
pub(super) fn make_matmul(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let transposed = Transposed::new(init)?;
    let cost = transposed.cost(init);
    match init.dtype("T")? {
        DType::F32 => Ok(Arc::new(FusedMatMul::from_zero(init, FusedOps::default())?)),
        DType::BF16 => {
            Ok(Arc::new(FusedMatMulBf16(FusedMatMul { transposed, cost, rhs: StableRhs::new(init, 1), fusion: FusedOps::default() })))
        }
        t => for_dtype!(t, [f16, f64, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>],
            T => Ok(Arc::new(MatMul::<T> { transposed, cost, marker: PhantomData })), _ => init.unsupported()),
    }
}

impl FusedOps {
    /// Returns the epilogue of a product of these sizes, with its operands among `args`, the inputs after the matrices and what the product is added to.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for operands of other shapes.
    pub(crate) fn epilogue<'a>(&self, args: &[&'a Tensor], size: Sizes) -> Result<Epilogue<'a>> {
        let mut args = args.iter();
        let mut epilogue = Epilogue { activation: self.activation, accumulate: self.start != Start::Zero, ..Epilogue::default() };
        if self.bias {
            let Some(bias) = args.next().filter(|b| b.num_elements() == size.n && b.rank() >= 1) else {
                bail!(InvalidArgument, "Fused MatMul needs a bias of {} elements", size.n);
            };
            epilogue.bias = Some(bias.as_slice()?);
        }
        if self.residual {
            let Some(residual) = args.next().filter(|r| *r.shape().dims() == [size.m, size.n]) else {
                bail!(InvalidArgument, "Fused MatMul needs an addend of shape [{},{}]", size.m, size.n);
            };
            epilogue.residual = Some((residual.as_slice()?, size.n));
        }
        Ok(epilogue)
    }
}

/// The kernel of a product of `float32` matrices with its epilogue.
pub(crate) struct FusedMatMul {
    transposed: Transposed,
    cost: Option<Cost>,
    rhs: StableRhs,
    fusion: FusedOps,
}

/// The inputs of a product whose sums start with zero.
pub(crate) struct ProductCall {
    size: Sizes,
    a: Tensor,
    b: Tensor,
    transposed: Transposed,
    /// The packed form of B, with which rows can be multiplied that are not stored as columns.
    packed: Option<Arc<MatrixForm>>,
    fusion: FusedOps,
    args: SmallVec<[Tensor; 2]>,
    shape: Shape,
}

impl FusedMatMul {
    /// Makes the product of a node of `float32` whose sums start with zero.
    ///
    /// # Errors
    /// Returns `Unimplemented` for sums that start with something else.
    pub(crate) fn from_zero(init: &KernelInit<'_>, fusion: FusedOps) -> Result<FusedMatMul> {
        if fusion.start != Start::Zero {
            bail!(Unimplemented, "Fusion is not implemented: sums of products that start with a tensor");
        }
        let transposed = Transposed::new(init)?;
        Ok(FusedMatMul { transposed, cost: transposed.cost(init), rhs: StableRhs::new(init, 1), fusion })
    }
}

impl Linear for FusedMatMul {
    type Call = ProductCall;

    fn call(&self, ctx: &mut KernelContext<'_>) -> Result<ProductCall> {
        let (a, b) = (ctx.take(0)?, ctx.take(1)?);
        let size = self.transposed.sizes(a.shape(), b.shape())?;
        let num_args = usize::from(self.fusion.bias) + usize::from(self.fusion.residual);
        let args = (2..2 + num_args).map(|i| ctx.take(i)).collect::<Result<SmallVec<[Tensor; 2]>>>()?;
        self.fusion.epilogue(&args.iter().collect::<SmallVec<[&Tensor; 2]>>(), size)?;
        let packed = if self.transposed.a { None } else { self.rhs.packed(&b, size, self.transposed.b)? };
        let shape = Shape::from([size.m, size.n]);
        Ok(ProductCall { size, a, b, transposed: self.transposed, packed, fusion: self.fusion, args, shape })
    }

    fn cost(&self) -> Option<Cost> {
        self.cost
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(if self.transposed.a { PRODUCT_IN_PLACE } else { self.rhs.algorithm() })
    }
}

impl LinearCall for ProductCall {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn grid(&self) -> RowGrid {
        let (step, weights) = self.packed.as_ref().map_or((self.size.m.max(1), 0), |packed| (1, packed.matrix.bytes()));
        RowGrid { images: 1, height: self.size.m, step, weights }
    }

    fn compute(&self, rows: Range<usize>, output: &mut [f32]) -> Result<()> {
        let Sizes { k, n, .. } = self.size;
        let epilogue = self.fusion.epilogue(&self.args.iter().collect::<SmallVec<[&Tensor; 2]>>(), self.size)?;
        let a = self.a.as_slice::<f32>()?;
        match &self.packed {
            Some(packed) => gemm_packed(&a[rows.start * k..], k, rows.len(), &packed.matrix, output, n, &epilogue.from_row(rows.start)),
            // All rows are computed together.
            None => multiply_in_place(self.size, (a, self.transposed.a), (self.b.as_slice()?, self.transposed.b), output, &epilogue),
        }
        Ok(())
    }
}

impl FusedMatMul {
    /// Returns the product. `start` is what each sum starts with, as [`FusedOps::start`] says.
    fn multiply(&self, alloc: &Allocator, a: &Tensor, b: &Tensor, start: Option<Tensor>, args: &[&Tensor]) -> Result<Tensor> {
        if self.fusion.start == Start::Part {
            return self.multiply_beside_part(alloc, start, a, b, args);
        }
        let size = self.transposed.sizes(a.shape(), b.shape())?;
        let epilogue = self.fusion.epilogue(args, size)?;
        let mut c = match start {
            Some(start) => sums(alloc, start, size)?,
            None if self.fusion.start == Start::Zero => alloc.uninit(DType::F32, [size.m, size.n])?,
            None => bail!(InvalidArgument, "Fused MatMul needs a tensor of shape [{},{}] to add to", size.m, size.n),
        };
        let target = c.as_mut_slice::<f32>()?;
        let rows = a.as_slice::<f32>()?;
        if self.transposed.a {
            multiply_in_place(size, (rows, true), (b.as_slice()?, self.transposed.b), target, &epilogue);
        } else {
            self.rhs.multiply(size, rows, b, self.transposed.b, target, &epilogue)?;
        }
        Ok(c)
    }

    /// Returns the product of `[part, a]` and `b`. A matrix is the product of the part and the first rows of `b`; the part itself has the shape
    /// `[rows, 1, columns]`.
    fn multiply_beside_part(&self, alloc: &Allocator, part: Option<Tensor>, a: &Tensor, b: &Tensor, args: &[&Tensor]) -> Result<Tensor> {
        let (&[m, right_columns], &[rows, columns], false) = (a.shape().dims(), b.shape().dims(), self.transposed.a) else {
            bail!(InvalidArgument, "Fused MatMul needs matrices, and not the shapes {} and {}", a.shape(), b.shape());
        };
        let (k, n) = if self.transposed.b { (columns, rows) } else { (rows, columns) };
        let size = Sizes { m, k, n };
        let (Some(left_columns), Some(part)) = (k.checked_sub(right_columns), part) else {
            bail!(InvalidArgument, "Matrix size-incompatible: In[0]: {}, In[1]: {}", a.shape(), b.shape());
        };
        let mut epilogue = self.fusion.epilogue(args, size)?;
        let right = a.as_slice()?;
        if part.rank() == 2 {
            let mut c = sums(alloc, part, size)?;
            let a = Beside { left: None, left_columns, right };
            self.rhs.multiply_beside(size, a, b, self.transposed.b, c.as_mut_slice()?, &epilogue)?;
            return Ok(c);
        }
        if *part.shape().dims() != [m, 1, left_columns] {
            bail!(InvalidArgument, "Fused MatMul needs a part of shape [{m},1,{left_columns}] instead of {}", part.shape());
        }
        epilogue.accumulate = false;
        let mut c = alloc.uninit(DType::F32, [m, n])?;
        let a = Beside { left: Some(part.as_slice()?), left_columns, right };
        self.rhs.multiply_beside(size, a, b, self.transposed.b, c.as_mut_slice()?, &epilogue)?;
        Ok(c)
    }
}

/// Returns the tensor in whose place the sums of a product are computed that start with its elements.
fn sums(alloc: &Allocator, start: Tensor, size: Sizes) -> Result<Tensor> {
    if *start.shape().dims() != [size.m, size.n] {
        bail!(InvalidArgument, "Fused MatMul needs a tensor of shape [{},{}] to add to", size.m, size.n);
    }
    alloc.writable(start)
}

/// The kernel of a product of `bfloat16` matrices with its epilogue: sums and epilogue are `float32`, and rounded once.
struct FusedMatMulBf16(FusedMatMul);

impl Kernel for FusedMatMulBf16 {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let FusedMatMul { transposed, rhs, fusion, .. } = &self.0;
        let start = if fusion.start == Start::Zero { None } else { ctx.take(2).ok() };
        let c = {
            let (a, b, alloc) = (ctx.input(0)?, ctx.input(1)?, ctx.allocator());
            let size = transposed.sizes(a.shape(), b.shape())?;
            let args = ctx.inputs_from(2).map(|arg| widened::<bf16>(alloc, arg)).collect::<Result<SmallVec<[Tensor; 2]>>>()?;
            let epilogue = fusion.epilogue(&args.iter().collect::<SmallVec<[&Tensor; 2]>>(), size)?;
            let mut c = match start {
                Some(start) => sums(alloc, start, size)?,
                None if fusion.start == Start::Zero => alloc.uninit(DType::BF16, [size.m, size.n])?,
                None => bail!(InvalidArgument, "Fused MatMul needs a tensor of shape [{},{}] to add to", size.m, size.n),
            };
            let rows = operand(a.as_slice()?, size.m, size.k, transposed.a);
            rhs.multiply_bf16(size, rows, b, transposed.b, c.as_mut_slice()?, &epilogue)?;
            c
        };
        ctx.set_output(0, c);
        Ok(())
    }

    fn cost(&self) -> Option<Cost> {
        self.0.cost
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.0.rhs.algorithm())
    }
}

/// Returns a tensor of 16-bit floats as `float32`.
fn widened<T: crate::number::Number<Acc = f32>>(alloc: &Allocator, tensor: &Tensor) -> Result<Tensor> {
    alloc.from_slice(tensor.shape().clone(), &tensor.as_slice::<T>()?.iter().map(|x| x.widen()).collect::<Vec<f32>>())
}

impl Kernel for FusedMatMul {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let start = if self.fusion.start == Start::Zero { None } else { ctx.take(2).ok() };
        let c = {
            let args: smallvec::SmallVec<[&Tensor; 2]> = ctx.inputs_from(2).collect();
            self.multiply(ctx.allocator(), ctx.input(0)?, ctx.input(1)?, start, &args)?
        };
        ctx.set_output(0, c);
        Ok(())
    }

    fn cost(&self) -> Option<Cost> {
        self.cost
    }

    fn algorithm(&self) -> Option<&'static str> {
        Linear::algorithm(self)
    }
}

/// A fused product of 16-bit floats, computed in `float32`.
struct Widened<T> {
    inner: FusedMatMul,
    marker: PhantomData<fn() -> T>,
}

impl<T: crate::number::Number<Acc = f32>> Kernel for Widened<T> {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut inputs = ctx.inputs_from(0).map(|t| widened::<T>(ctx.allocator(), t)).collect::<Result<Vec<_>>>()?;
        let start = (self.inner.fusion.start != Start::Zero && inputs.len() > 2).then(|| inputs.remove(2));
        let [a, b, args @ ..] = &inputs[..] else { bail!(Internal, "a product needs two inputs") };
        let c = self.inner.multiply(ctx.allocator(), a, b, start, &args.iter().collect::<Vec<_>>())?;
        let narrow: Vec<T> = c.as_slice::<f32>()?.iter().map(|&x| T::narrow(x)).collect();
        let out = ctx.allocator().from_slice(c.shape().clone(), &narrow)?;
        ctx.set_output(0, out);
        Ok(())
    }

    fn cost(&self) -> Option<Cost> {
        self.inner.cost
    }
}

/// Makes the kernel of `_FusedMatMul`.
pub(super) fn make_fused_matmul(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let transposed = Transposed::new(init)?;
    let cost = transposed.cost(init);
    let dtype = init.dtype("T")?;
    let fusion = FusedOps::of_product(init)?;
    let is_widened = dtype == DType::F16 || (dtype == DType::BF16 && fusion.start == Start::Part);
    let rhs = if is_widened { StableRhs::changing() } else { StableRhs::new(init, 1) };
    let inner = FusedMatMul { transposed, cost, rhs, fusion };
    match dtype {
        DType::F32 => Ok(Arc::new(inner)),
        DType::F16 => Ok(Arc::new(Widened::<f16> { inner, marker: PhantomData })),
        DType::BF16 if is_widened => Ok(Arc::new(Widened::<bf16> { inner, marker: PhantomData })),
        DType::BF16 => Ok(Arc::new(FusedMatMulBf16(inner))),
        _ => init.unsupported(),
    }
}
