//! Matrix products.

use super::epilogue;
use crate::backend::{Address, Epilogue, Gemm, Grid, Update};
use crate::device::{Argument, GpuDevice};
use crate::text::{compute_name, element_name, source};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail, error};
use std::sync::Arc;

const TYPES: &[DType] = &[DType::F16, DType::BF16, DType::F32, DType::F64, DType::I32, DType::I64];

/// The rows and columns of the tile that a block of the crate's own kernel computes.
const TILE: usize = 64;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("MatMul", KernelDef::new(make_mat_mul).constrain("T", TYPES));
    let fused = KernelDef::new(make_fused_mat_mul).constrain("T", &[DType::F16, DType::BF16, DType::F32]);
    registry.register("_FusedMatMul", fused.fuses(epilogue::can_be));
    registry.register("BatchMatMul", KernelDef::new(make_batch_mat_mul).constrain("T", TYPES));
    registry.register("BatchMatMulV2", KernelDef::new(make_batch_mat_mul).constrain("T", TYPES));
}

fn make_mat_mul(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (transpose_a, transpose_b) = (init.attrs.get::<bool>("transpose_a")?, init.attrs.get::<bool>("transpose_b")?);
    let dtype = init.dtype("T")?;
    from_fn(move |ctx| {
        let (a, b) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        if a.rank() != 2 || b.rank() != 2 {
            bail!(InvalidArgument, "In[0] and In[1] must be matrices: {} vs. {}", a.shape(), b.shape());
        }
        product(ctx, dtype, [&a, &b], [transpose_a, transpose_b], None).map(drop)
    })
}

fn make_fused_mat_mul(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (transpose_a, transpose_b) = (init.attrs.get_or("transpose_a", false)?, init.attrs.get_or("transpose_b", false)?);
    let dtype = init.dtype("T")?;
    let epilogue = epilogue::Epilogue::new(init, dtype)?;
    from_fn(move |ctx| {
        let (a, b) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        if a.rank() != 2 || b.rank() != 2 {
            bail!(InvalidArgument, "In[0] and In[1] must be matrices: {} vs. {}", a.shape(), b.shape());
        }
        let device = GpuDevice::of(ctx.device())?;
        let columns = b.shape().dims()[usize::from(!transpose_b)];
        let of_library = epilogue.for_library(ctx, device, columns)?;
        let (output, is_done) = product(ctx, dtype, [&a, &b], [transpose_a, transpose_b], of_library)?;
        if is_done { Ok(()) } else { epilogue.apply(ctx, device, &output) }
    })
}

fn make_batch_mat_mul(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (transpose_a, transpose_b) = (init.attrs.get::<bool>("adj_x")?, init.attrs.get::<bool>("adj_y")?);
    let dtype = init.dtype("T")?;
    from_fn(move |ctx| {
        let (a, b) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        if a.rank() < 2 || b.rank() < 2 {
            bail!(InvalidArgument, "In[0] and In[1] must have at least two dimensions: {} vs. {}", a.shape(), b.shape());
        }
        product(ctx, dtype, [&a, &b], [transpose_a, transpose_b], None).map(drop)
    })
}

/// Sets and returns the output: the product of two tensors of matrices, whose other dimensions are broadcast. Returns true if a library applied `epilogue`.
fn product(
    ctx: &mut KernelContext<'_>,
    dtype: DType,
    operands: [&Tensor; 2],
    transposed: [bool; 2],
    epilogue: Option<Epilogue>,
) -> Result<(Tensor, bool)> {
    let [a, b] = operands.map(|operand| operand.shape().dims());
    let ((batch_a, matrix_a), (batch_b, matrix_b)) = (a.split_at(a.len() - 2), b.split_at(b.len() - 2));
    let rows_columns = |matrix: &[usize], transposed: bool| if transposed { (matrix[1], matrix[0]) } else { (matrix[0], matrix[1]) };
    let ((m, k), (k_b, n)) = (rows_columns(matrix_a, transposed[0]), rows_columns(matrix_b, transposed[1]));
    if k != k_b {
        bail!(InvalidArgument, "Matrix size-incompatible: In[0]: {}, In[1]: {}", operands[0].shape(), operands[1].shape());
    }
    let (batch_a, batch_b) = (Shape::new(batch_a), Shape::new(batch_b));
    let Some(batch) = Shape::broadcast(&batch_a, &batch_b) else {
        bail!(
            InvalidArgument,
            "In[0] and In[1] must have compatible batch dimensions: {} vs. {}",
            operands[0].shape(),
            operands[1].shape()
        );
    };
    let mut shape = batch.clone();
    shape.push(m);
    shape.push(n);
    let output = ctx.allocate_output(0, dtype, &shape)?.clone();
    let device = GpuDevice::of(ctx.device())?;
    let to = device.address(&output)?;
    if output.num_elements() == 0 {
        return Ok((output, false));
    }
    if k == 0 {
        device.gpu().fill(to, 0, output.num_bytes())?;
        return Ok((output, false));
    }
    let [from_a, from_b] = [device.address(operands[0])?, device.address(operands[1])?];
    let gemm = |matrices, batch, strides| Gemm {
        dtype,
        m,
        n,
        k,
        transpose_a: transposed[0],
        transpose_b: transposed[1],
        matrices,
        batch,
        strides,
        allow_tf32: device.options().allow_tf32,
        update: None,
    };
    let is_one = |shape: &Shape| shape.num_elements() == 1;
    if (batch_a == batch || is_one(&batch_a)) && (batch_b == batch || is_one(&batch_b)) {
        let stride = |shape: &Shape, size: usize| if is_one(shape) { 0 } else { size };
        let strides = [stride(&batch_a, m * k), stride(&batch_b, k * n), m * n];
        let products = gemm([from_a, from_b, to], batch.num_elements(), strides);
        if let Some(epilogue) = epilogue
            && device.gpu().gemm_with_epilogue(&products, epilogue)?
        {
            return Ok((output, true));
        }
        run(device, &products)?;
        return Ok((output, false));
    }
    // Each product of its own, in the order of the output's matrices.
    let layout_of = |own: &Shape| -> Vec<usize> {
        let missing = batch.rank() - own.rank();
        let strides = own.strides();
        (0..batch.rank()).map(|i| if i < missing || own.dims()[i - missing] == 1 { 0 } else { strides[i - missing] }).collect()
    };
    let (strides_a, strides_b) = (layout_of(&batch_a), layout_of(&batch_b));
    let size = dtype.size().unwrap_or(0);
    for i in 0..batch.num_elements() {
        let (mut rest, mut at_a, mut at_b) = (i, 0, 0);
        for d in (0..batch.rank()).rev() {
            let at = rest % batch.dims()[d];
            rest /= batch.dims()[d];
            at_a += at * strides_a[d];
            at_b += at * strides_b[d];
        }
        let matrices = [from_a.offset(at_a * m * k * size), from_b.offset(at_b * k * n * size), to.offset(i * m * n * size)];
        run(device, &gemm(matrices, 1, [0, 0, 0]))?;
    }
    Ok((output, false))
}

/// Enqueues one product of matrices of `m` × `n` elements, whose sums have `k` terms.
///
/// # Errors
/// Returns the errors of the device.
pub(super) fn multiply(
    device: &GpuDevice,
    dtype: DType,
    (m, n, k): (usize, usize, usize),
    transposed: [bool; 2],
    matrices: [Address; 3],
) -> Result<()> {
    let product = Gemm {
        dtype,
        m,
        n,
        k,
        transpose_a: transposed[0],
        transpose_b: transposed[1],
        matrices,
        batch: 1,
        strides: [0; 3],
        allow_tf32: device.options().allow_tf32,
        update: None,
    };
    run(device, &product)
}

/// Enqueues products: with a library if there is one, and else with the crate's own kernel.
pub(super) fn run(device: &GpuDevice, products: &Gemm) -> Result<()> {
    if device.gpu().gemm(products)? {
        return Ok(());
    }
    let unnamed = || error!(Internal, "GPU kernels have no elements of type {}", products.dtype);
    let element = element_name(products.dtype).ok_or_else(unnamed)?;
    let compute = compute_name(products.dtype).ok_or_else(unnamed)?;
    let function = device.function(&source(&[("T", element), ("C", compute)], include_str!("matmul.cu")), "matmul")?;
    let word = |n: usize| u32::try_from(n).map_err(|_| error!(Unimplemented, "a matrix product of size {n} is too large"));
    let (m, n, k) = (word(products.m)?, word(products.n)?, word(products.k)?);
    let strides = products.strides.map(word);
    let [stride_a, stride_b, stride_c] = strides;
    let [leading_a, leading_b, leading_c] = match products.update {
        Some(Update { leading: [a, b, c] }) => [word(a)?, word(b)?, word(c)?],
        None => [if products.transpose_a { m } else { k }, if products.transpose_b { k } else { n }, n],
    };
    let [transpose_a, transpose_b, subtract] = [products.transpose_a, products.transpose_b, products.update.is_some()].map(u32::from);
    let dims = [m, n, k, transpose_a, transpose_b, stride_a?, stride_b?, stride_c?, leading_a, leading_b, leading_c, subtract];
    // The number of blocks in y and z is limited.
    const MOST_BLOCKS: usize = 65_535;
    let rows = products.m.div_ceil(TILE);
    if rows > MOST_BLOCKS {
        bail!(Unimplemented, "a matrix product of {m} rows is too large");
    }
    let size = products.dtype.size().unwrap_or(0);
    for first in (0..products.batch).step_by(MOST_BLOCKS) {
        let batch = (products.batch - first).min(MOST_BLOCKS);
        let at = |i: usize| -> Address { products.matrices[i].offset(first * products.strides[i] * size) };
        let grid = Grid { blocks: [word(products.n.div_ceil(TILE))?, rows as u32, batch as u32], threads: [256, 1, 1] };
        let arguments = [Argument::Address(at(2)), Argument::Address(at(0)), Argument::Address(at(1)), Argument::Words(&dims)];
        device.launch(&function, grid, &arguments)?;
    }
    Ok(())
}
