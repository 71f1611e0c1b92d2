//! Ops whose output is their input: `Identity` and related ops, `Placeholder`s, and the checks that forward their input.

use super::item::{Item, for_item};
use crate::from_fn::{from_fn, linear_from_fn};
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Element, PartialShape, Result, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["GuaranteeConst", "Identity", "PlaceholderWithDefault", "PreventGradient", "Snapshot", "StopGradient"] {
        registry.add(op, make_identity);
    }
    for op in ["DebugGradientIdentity", "DebugIdentity", "DebugIdentityV2"] {
        registry.add(op, make_debug_identity);
    }
    registry.add("CheckNumerics", make_check_numerics);
    registry.add("CheckNumericsV2", make_check_numerics_v2);
    registry.add("CheckPinned", make_check_pinned);
    registry.add("DeepCopy", make_deep_copy);
    registry.add("DeviceIndex", make_device_index);
    registry.add("EnsureShape", make_ensure_shape);
    registry.add("IdentityN", make_identity_n);
    registry.add("Placeholder", make_placeholder);
    registry.add("PlaceholderV2", make_placeholder);
}

fn make_identity(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| ctx.forward(0, 0))
}

/// Makes the kernel of `DebugIdentity`, which forwards its input. Debugging to URLs is an error.
fn make_debug_identity(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    if init.attrs.contains("debug_urls") && !init.attrs.list::<&str>("debug_urls")?.is_empty() {
        bail!(Unimplemented, "{} does not write to debug_urls", init.op_def.name);
    }
    make_identity(init)
}

fn make_identity_n(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| (0..ctx.num_inputs()).try_for_each(|i| ctx.forward(i, i)))
}

/// Makes the kernel of `CheckPinned`. It always fails, because memory is pinned only for other devices.
fn make_check_pinned(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|_| bail!(InvalidArgument, "not pinned"))
}

/// Makes the kernel of `DeviceIndex`: the index of this kind of device in a list of kinds, or the list's length if the kind is not in it.
fn make_device_index(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let kinds: Vec<&str> = init.attrs.list("device_names")?;
    let index = kinds.iter().position(|&kind| kind == "CPU").unwrap_or(kinds.len()) as i32;
    from_fn(move |ctx| {
        ctx.set_output(0, Tensor::scalar(index));
        Ok(())
    })
}

/// Makes the kernel of `DeepCopy`: a copy that shares no memory with the input, so that later changes of a variable do not affect it.
fn make_deep_copy(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    for_item!(dtype, T => from_fn(move |ctx| {
        let input = ctx.input(0)?;
        let source = T::items(input)?;
        let copy = T::build(ctx.allocator(), dtype, input.shape().clone(), source, |out| {
            out.clone_from_slice(source);
            Ok(())
        })?;
        ctx.set_output(0, copy);
        Ok(())
    }))
}

/// Makes the kernel of a placeholder, which returns an error, because a placeholder that runs was not fed.
fn make_placeholder(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dtype")?;
    let shape: PartialShape = init.attrs.get_or("shape", PartialShape::unknown())?;
    let of_shape = if shape.rank().is_some_and(|rank| rank > 0) { format!(" and shape {shape}") } else { String::new() };
    let message = format!("You must feed a value for placeholder tensor '{}' with dtype {}{of_shape}", init.name, cpp_name(dtype));
    from_fn(move |_| bail!(InvalidArgument, "{message}"))
}

/// Returns the name of a type in TensorFlow's messages: the C++ name for the floating-point types that have one.
pub(crate) fn cpp_name(dtype: DType) -> &'static str {
    match dtype {
        DType::F16 => "half",
        DType::F32 => "float",
        DType::F64 => "double",
        other => other.name(),
    }
}

fn make_ensure_shape(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let shape: PartialShape = init.attrs.get("shape")?;
    let name = init.name.to_owned();
    from_fn(move |ctx| {
        let input = ctx.input(0)?;
        if !shape.is_compatible_with(input.shape()) {
            bail!(InvalidArgument, "Shape of tensor {name} {} is not compatible with expected shape {shape}.", input.shape());
        }
        ctx.forward(0, 0)
    })
}

/// The kinds of non-finite values that a tensor has.
#[derive(Clone, Copy, Default)]
struct NonFinite {
    nan: bool,
    negative: bool,
    positive: bool,
}

fn find_non_finite<T: Element>(tensor: &Tensor, to_f64: fn(T) -> f64) -> Result<NonFinite> {
    let mut found = NonFinite::default();
    for &x in tensor.as_slice::<T>()? {
        let x = to_f64(x);
        if !x.is_finite() {
            found.nan |= x.is_nan();
            found.negative |= x == f64::NEG_INFINITY;
            found.positive |= x == f64::INFINITY;
        }
    }
    Ok(found)
}

/// A type with a conversion to `f64` that preserves whether values are finite.
trait Widen: Element {
    fn widen(self) -> f64;
}

macro_rules! widen {
    ($($t:ty),*) => { $(impl Widen for $t { fn widen(self) -> f64 { f64::from(self) } })* };
}

widen!(f16, bf16, f32, f64);

fn check_numerics(init: &KernelInit<'_>, describe: fn(NonFinite) -> &'static str) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let message = init.attrs.get_or("message", "")?.to_owned();
    for_dtype!(dtype, [f16, bf16, f32, f64], T => linear_from_fn(init, move |ctx| {
        let found = find_non_finite::<T>(ctx.input(0)?, T::widen)?;
        if found.nan || found.negative || found.positive {
            bail!(InvalidArgument, "{message} : Tensor had {} values", describe(found));
        }
        ctx.forward(0, 0)
    }), _ => init.unsupported())
}

fn make_check_numerics(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    check_numerics(init, |found| match (found.negative || found.positive, found.nan) {
        (true, true) => "Inf and NaN",
        (true, false) => "Inf",
        _ => "NaN",
    })
}

/// Makes the kernel of `CheckNumericsV2`, whose message, unlike that of `CheckNumerics`, has the sign of the infinities.
fn make_check_numerics_v2(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    check_numerics(init, |found| match (found.negative, found.positive, found.nan) {
        (true, true, true) => "-Inf, +Inf, and NaN",
        (true, true, false) => "-Inf and +Inf",
        (true, false, true) => "-Inf and NaN",
        (true, false, false) => "-Inf",
        (false, true, true) => "+Inf and NaN",
        (false, true, false) => "+Inf",
        _ => "NaN",
    })
}
