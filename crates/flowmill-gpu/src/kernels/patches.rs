//! `ExtractImagePatches` and `ExtractVolumePatches`, which output the elements under the windows of a convolution as channels.

use super::im2col::{RowCopies, Windows};
use super::types::{MOVABLE, NUMBERS};
use crate::device::GpuDevice;
use flowmill_kernels::from_fn::from_fn;
use flowmill_kernels::volume::{Steps, Volume};
use flowmill_kernels::window::{Geometry, Window};
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("ExtractImagePatches", KernelDef::new(make_image_patches).constrain("T", MOVABLE));
    registry.register("ExtractVolumePatches", KernelDef::new(make_volume_patches).constrain("T", NUMBERS));
}

/// Returns the inner values of an attribute with one for each of `N + 2` dimensions, which must be positive, and one outside of space.
fn over_space<const N: usize>(init: &KernelInit<'_>, name: &str) -> Result<[usize; N]> {
    let values: Vec<i64> = init.attrs.list(name)?;
    if values.len() != N + 2 {
        bail!(InvalidArgument, "Sliding window {name} field must specify {} dimensions", N + 2);
    }
    if values[0] != 1 || values[N + 1] != 1 {
        bail!(Unimplemented, "Only support {name} across space.");
    }
    let mut inner = [0; N];
    for (to, &value) in inner.iter_mut().zip(&values[1..]) {
        match usize::try_from(value) {
            Ok(value) if value > 0 && value < 1 << 31 => *to = value,
            _ => bail!(InvalidArgument, "{name} must be positive, got {value}"),
        }
    }
    Ok(inner)
}

fn is_same(init: &KernelInit<'_>) -> Result<bool> {
    match init.attrs.get("padding")? {
        "SAME" => Ok(true),
        "VALID" => Ok(false),
        other => bail!(InvalidArgument, "padding must be SAME or VALID, got {other}"),
    }
}

fn make_image_patches(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let [height, width] = over_space(init, "ksizes")?;
    let geometry = Geometry::of(over_space(init, "strides")?, over_space(init, "rates")?, is_same(init)?);
    let dtype = init.dtype("T")?;
    let copies = RowCopies::new::<Window>(dtype)?;
    from_fn(move |ctx| {
        let images = ctx.input(0)?.shape();
        if images.rank() != 4 {
            bail!(InvalidArgument, "input must be 4-dimensional{images}");
        }
        let window = geometry.window(images, height, width)?;
        extract(ctx, dtype, &copies, &window, &[window.batch, window.out_height, window.out_width])
    })
}

fn make_volume_patches(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let sizes = over_space(init, "ksizes")?;
    let steps = Steps::of(over_space(init, "strides")?, [1; 3], is_same(init)?);
    let dtype = init.dtype("T")?;
    let copies = RowCopies::new::<Volume>(dtype)?;
    from_fn(move |ctx| {
        let volumes = ctx.input(0)?.shape();
        if volumes.rank() != 5 {
            bail!(InvalidArgument, "input must be 5-dimensional{volumes}");
        }
        let volume = steps.volume(volumes, sizes)?;
        let [planes, rows, columns] = volume.axes.map(|axis| axis.output);
        extract(ctx, dtype, &copies, &volume, &[volume.batch, planes, rows, columns])
    })
}

/// Sets the output, whose dimensions but the last are `dims`, to a row for each window.
fn extract<W: Windows>(ctx: &mut KernelContext<'_>, dtype: DType, copies: &RowCopies, windows: &W, dims: &[usize]) -> Result<()> {
    let input = ctx.input(0)?.clone();
    let Some(row) = windows.taps().checked_mul(windows.channels()) else {
        bail!(InvalidArgument, "the windows have too many elements");
    };
    let output = ctx.allocate_output(0, dtype, &Shape::new(&[dims, &[row]].concat()))?.clone();
    if output.num_elements() == 0 {
        return Ok(());
    }
    let device = GpuDevice::of(ctx.device())?;
    let range = 0..windows.batch() * windows.num_windows();
    copies.enqueue(device, windows, range, device.address(&input)?, device.address(&output)?)
}
