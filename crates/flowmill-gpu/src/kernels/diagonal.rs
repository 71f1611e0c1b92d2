//! Bands and diagonals of batches of matrices, and tensors with a diagonal.

use super::copy::Copier;
use super::pad::{Padder, fill};
use super::types::{MOVABLE, word_of};
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::array::diagonal::{Alignment, Band, band_of, diag_band, kept_diagonals};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    let def = |make| {
        let host = ["k", "num_rows", "num_cols", "num_lower", "num_upper"];
        host.iter().fold(KernelDef::new(make).constrain("T", MOVABLE), |def, name| def.host_memory(name))
    };
    for op in ["BatchMatrixDiag", "MatrixDiag", "MatrixDiagV2", "MatrixDiagV3"] {
        registry.register(op, def(make_diag));
    }
    for op in ["BatchMatrixDiagPart", "MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3"] {
        registry.register(op, def(make_diag_part));
    }
    for op in ["BatchMatrixSetDiag", "MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3"] {
        registry.register(op, def(make_set_diag));
    }
    for op in ["BatchMatrixBandPart", "MatrixBandPart"] {
        registry.register(op, def(make_band_part));
    }
    registry.register("Diag", def(make_tensor_diag));
    registry.register("DiagPart", def(make_tensor_diag_part));
}

/// Copies diagonals between matrices and their packed form.
struct Diagonals {
    dtype: DType,
    copier: Copier,
    filler: Padder,
}

impl Diagonals {
    fn new(init: &KernelInit<'_>) -> Result<Diagonals> {
        let dtype = init.dtype("T")?;
        Ok(Diagonals { dtype, copier: Copier::new(dtype)?, filler: Padder::new("fill", dtype)? })
    }

    /// Enqueues a copy of the elements of a band. `matrices` is written if `to_matrices`, and else `packed`.
    fn copy(&self, device: &GpuDevice, band: &Band, matrices: &Tensor, packed: &Tensor, to_matrices: bool) -> Result<()> {
        let (size, own) = (band.rows * band.columns, band.count() * band.longest());
        let Some(batch) = matrices.num_elements().checked_div(size).filter(|_| own > 0) else { return Ok(()) };
        let (matrices, packed) = (device.address(matrices)?, device.address(packed)?);
        for run in band.runs() {
            let matrix = (matrices.offset(run.in_matrix * self.copier.size()), &[size as isize, band.columns as isize + 1][..]);
            let packed = (packed.offset(run.packed * self.copier.size()), &[own as isize, 1][..]);
            let (to, from) = if to_matrices { (matrix, packed) } else { (packed, matrix) };
            self.copier.copy(device, &[batch, run.len], to, from)?;
        }
        Ok(())
    }

    /// Enqueues a fill of a tensor with the padding value in an input, or with zeros if there is no such input.
    fn fill(&self, ctx: &KernelContext<'_>, device: &GpuDevice, output: &Tensor, input: usize) -> Result<()> {
        if output.num_elements() == 0 {
            return Ok(());
        }
        if input >= ctx.num_inputs() {
            return device.gpu().fill(device.address(output)?, 0, output.num_bytes());
        }
        let value = ctx.input(input)?;
        if value.num_elements() != 1 {
            bail!(InvalidArgument, "padding_value must be a scalar, got shape {}", value.shape());
        }
        fill(device, &self.filler, value, output)
    }
}

/// Makes the kernel of `MatrixDiag` and its later versions, which have the band, the matrices' sizes and a padding value.
fn make_diag(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (diagonals, alignment) = (Diagonals::new(init)?, Alignment::new(init)?);
    from_fn(move |ctx| {
        let (band, shape) = diag_band(ctx, alignment)?;
        let packed = ctx.input(0)?.clone();
        let output = ctx.allocate_output(0, diagonals.dtype, &shape)?.clone();
        let device = GpuDevice::of(ctx.device())?;
        diagonals.fill(ctx, device, &output, 4)?;
        diagonals.copy(device, &band, &output, &packed, true)
    })
}

/// Makes the kernel of `MatrixDiagPart` and its later versions, which have the band and a padding value.
fn make_diag_part(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (diagonals, alignment) = (Diagonals::new(init)?, Alignment::new(init)?);
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let k = if ctx.num_inputs() > 1 { Some(ctx.input(1)?) } else { None };
        let band = band_of(input.shape(), k, alignment)?;
        let output = ctx.allocate_output(0, diagonals.dtype, &band.packed_shape(input.shape()))?.clone();
        let device = GpuDevice::of(ctx.device())?;
        if band.count() > 1 {
            // Shorter diagonals leave places free.
            diagonals.fill(ctx, device, &output, 2)?;
        }
        diagonals.copy(device, &band, &input, &output, false)
    })
}

/// Makes the kernel of `MatrixSetDiag` and its later versions, which have the band.
fn make_set_diag(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (diagonals, alignment) = (Diagonals::new(init)?, Alignment::new(init)?);
    from_fn(move |ctx| {
        let (input, packed) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        let k = if ctx.num_inputs() > 2 { Some(ctx.input(2)?) } else { None };
        let band = band_of(input.shape(), k, alignment)?;
        let expected = band.packed_shape(input.shape());
        if packed.rank() == 0 {
            bail!(InvalidArgument, "diagonal must be at least 1-dim, received shape: {}", packed.shape());
        }
        if *packed.shape() != expected {
            bail!(
                InvalidArgument,
                "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is not equal to the longests diagonal in range [lower_diag_index:upper_diag_index].\nInput shape: {}\nDiagonal shape: {}\nExpected diagonal shape: {expected}",
                input.shape(),
                packed.shape()
            );
        }
        let output = ctx.allocate_output(0, diagonals.dtype, input.shape())?.clone();
        let device = GpuDevice::of(ctx.device())?;
        if output.num_elements() == 0 {
            return Ok(());
        }
        device.gpu().copy(device.address(&output)?, device.address(&input)?, output.num_bytes())?;
        diagonals.copy(device, &band, &output, &packed, true)
    })
}

/// Makes the kernel of `MatrixBandPart`: everything outside of the band becomes zero; a negative number keeps the whole triangle on its side.
fn make_band_part(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let program = CompiledKernel::new(include_str!("band.cu"), "band_part", &[("T", word_of(dtype)?)]);
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let (lower, upper) = kept_diagonals(ctx, input.shape())?;
        let &[.., rows, columns] = input.shape().dims() else { bail!(Internal, "a matrix of shape {}", input.shape()) };
        let output = ctx.allocate_output(0, dtype, input.shape())?.clone();
        let n = output.num_elements();
        if n == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let [to, from] = [device.address(&output)?, device.address(&input)?].map(Argument::Address);
        let limit = |n: i64, all: usize| if n < 0 { word(all) } else { Ok(n as u32) };
        let sizes = [word(rows)?, word(columns)?, limit(lower, rows)?, limit(upper, columns)?];
        program.launch(device, device.linear_grid(n), &[to, from, Argument::U64(n as u64), Argument::Words(&sizes)])
    })
}

/// Makes the kernel of `Diag`: a tensor of twice the rank with the input on its diagonal.
fn make_tensor_diag(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let diagonals = Diagonals::new(init)?;
    from_fn(move |ctx| {
        let x = ctx.input(0)?.clone();
        if x.rank() == 0 {
            bail!(InvalidArgument, "Input must be at least rank 1, got 0");
        }
        let shape: Shape = x.shape().iter().chain(x.shape().iter()).copied().collect();
        shape.checked_num_elements()?;
        let output = ctx.allocate_output(0, diagonals.dtype, &shape)?.clone();
        let device = GpuDevice::of(ctx.device())?;
        diagonals.fill(ctx, device, &output, usize::MAX)?;
        let n = x.num_elements();
        if n == 0 {
            return Ok(());
        }
        let (to, from) = (device.address(&output)?, device.address(&x)?);
        diagonals.copier.copy(device, &[n], (to, &[n as isize + 1]), (from, &[1]))
    })
}

/// Makes the kernel of `DiagPart`, the inverse of `Diag`.
fn make_tensor_diag_part(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let diagonals = Diagonals::new(init)?;
    from_fn(move |ctx| {
        let x = ctx.input(0)?.clone();
        let half = x.rank() / 2;
        if x.rank() == 0 || x.rank() % 2 != 0 {
            bail!(InvalidArgument, "The rank of the tensor should be even and positive, got shape {}", x.shape());
        }
        let (left, right) = x.shape().split_at(half);
        if let Some(i) = (0..half).find(|&i| left[i] != right[i]) {
            bail!(InvalidArgument, "Invalid shape {}: dimensions {i} and {} do not match.", x.shape(), i + half);
        }
        let output = ctx.allocate_output(0, diagonals.dtype, &Shape::new(left))?.clone();
        let n = output.num_elements();
        if n == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let (to, from) = (device.address(&output)?, device.address(&x)?);
        diagonals.copier.copy(device, &[n], (to, &[1]), (from, &[n as isize + 1]))
    })
}
