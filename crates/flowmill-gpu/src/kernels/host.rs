//! Kernels that compute nothing on the GPU: variables, stacks, predicates, shapes, and other shapes of the same elements.

use super::types::{MOVABLE, VALUES};
use flowmill_kernels::array::args;
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

/// Ops whose kernels are the host's, with the type attribute that says what they hold, and the inputs and outputs that are in the host's memory.
const SHARED: [(&str, &str, &[&str]); 25] = [
    ("Assign", "T", &["ref", "output_ref"]),
    ("AssignVariableOp", "dtype", &["resource"]),
    ("BytesInUse", "", &["out"]),
    ("BytesLimit", "", &["out"]),
    ("DestroyResourceOp", "", &["resource"]),
    ("DisableCopyOnRead", "", &["resource"]),
    ("IsVariableInitialized", "dtype", &["ref", "is_initialized"]),
    ("MaxBytesInUse", "", &["out"]),
    ("Placeholder", "dtype", &[]),
    ("PlaceholderV2", "dtype", &[]),
    ("ReadVariableOp", "dtype", &["resource"]),
    ("Stack", "elem_type", &["handle"]),
    ("StackClose", "", &["handle"]),
    ("StackCloseV2", "", &["handle"]),
    ("StackPop", "elem_type", &["handle"]),
    ("StackPopV2", "elem_type", &["handle"]),
    ("StackPush", "T", &["handle"]),
    ("StackPushV2", "T", &["handle"]),
    ("StackV2", "elem_type", &["max_size", "handle"]),
    ("ToBool", "", &["input", "output"]),
    ("VarHandleOp", "dtype", &["resource"]),
    ("VarIsInitializedOp", "", &["resource", "is_initialized"]),
    ("Variable", "dtype", &["ref"]),
    ("VariableShape", "", &["input", "output"]),
    ("VariableV2", "dtype", &["ref"]),
];

pub(super) fn register(registry: &mut KernelRegistry) {
    let mut shared = KernelRegistry::new();
    flowmill_host::register_all(&mut shared);
    flowmill_cpu::register_all(&mut shared);
    for (op, attr, in_host_memory) in SHARED {
        // As in TensorFlow, references to `int32` are the host's.
        let is_reference = matches!(op, "Variable" | "VariableV2");
        for def in shared.defs(op) {
            let def = in_host_memory.iter().fold(def.clone(), |def, name| def.host_memory(name));
            let types = if is_reference { VALUES } else { MOVABLE };
            if op.starts_with("Stack") && !attr.is_empty() {
                registry.register(op, def.clone().constrain(attr, &[DType::Variant]));
            }
            registry.register(op, if attr.is_empty() { def } else { def.constrain(attr, types) });
        }
    }
    registry.register("Reshape", KernelDef::new(|_| from_fn(reshape)).host_memory("shape"));
    registry.register("ExpandDims", KernelDef::new(|_| from_fn(expand_dims)).host_memory("dim"));
    registry.add("Squeeze", make_squeeze);
    registry.register("Shape", KernelDef::new(make_shape).host_memory("output"));
    registry.register("ShapeN", KernelDef::new(make_shape).host_memory("output"));
    registry.register("Size", KernelDef::new(make_size).host_memory("output"));
    registry.register("Rank", KernelDef::new(|_| from_fn(rank)).host_memory("output"));
}

fn reshape(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (input, wanted) = (ctx.input(0)?.clone(), ctx.input(1)?);
    let dims: Vec<i64> = match wanted.dtype() {
        DType::I32 => wanted.as_slice::<i32>()?.iter().map(|&dim| i64::from(dim)).collect(),
        _ => wanted.as_slice::<i64>()?.to_vec(),
    };
    let known: i64 = dims.iter().filter(|&&dim| dim != -1).product();
    let free = dims.iter().filter(|&&dim| dim == -1).count();
    if free > 1 {
        bail!(InvalidArgument, "Only one input size may be -1, not both");
    }
    let elements = input.num_elements() as i64;
    if free == 1 && (known == 0 || elements % known != 0) {
        bail!(
            InvalidArgument,
            "Input to reshape is a tensor with {elements} values, but the requested shape requires a multiple of {known}"
        );
    }
    let dims: Vec<i64> = dims.into_iter().map(|dim| if dim == -1 { elements / known } else { dim }).collect();
    ctx.set_output(0, input.reshaped(Shape::from_i64(&dims)?)?);
    Ok(())
}

fn expand_dims(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (input, axis) = (ctx.input(0)?.clone(), args::scalar_index(ctx.input(1)?, "dim")?);
    let rank = input.rank() as i64;
    let at = if axis < 0 { axis + rank + 1 } else { axis };
    if !(0..=rank).contains(&at) {
        bail!(InvalidArgument, "Tried to expand dim index {axis} for tensor with {rank} dimensions.");
    }
    let mut shape = input.shape().clone();
    shape.insert(at as usize, 1);
    ctx.set_output(0, input.reshaped(shape)?);
    Ok(())
}

fn make_squeeze(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let axes: Vec<i64> = init.attrs.list("squeeze_dims")?;
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let mut squeezed = vec![axes.is_empty(); input.rank()];
        for &axis in &axes {
            let Some(at) = input.shape().axis(axis) else {
                bail!(InvalidArgument, "Tried to squeeze dim index {axis} for tensor with {} dimensions.", input.rank());
            };
            if input.shape().dims()[at] != 1 {
                bail!(InvalidArgument, "Can not squeeze dim[{at}], expected a dimension of 1, got {}", input.shape().dims()[at]);
            }
            squeezed[at] = true;
        }
        let kept = input.shape().dims().iter().zip(squeezed).filter(|&(&dim, squeezed)| dim != 1 || !squeezed);
        let dims: Vec<usize> = kept.map(|(&dim, _)| dim).collect();
        ctx.set_output(0, input.reshaped(Shape::new(&dims))?);
        Ok(())
    })
}

fn integer(dtype: DType, value: usize) -> Tensor {
    if dtype == DType::I64 { Tensor::scalar(value as i64) } else { Tensor::scalar(value as i32) }
}

fn make_shape(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("out_type")?;
    from_fn(move |ctx| {
        for i in 0..ctx.num_inputs() {
            let dims = ctx.input(i)?.shape().dims();
            let shape = match dtype {
                DType::I64 => ctx.allocator().vector(&dims.iter().map(|&dim| dim as i64).collect::<Vec<_>>())?,
                _ => ctx.allocator().vector(&dims.iter().map(|&dim| dim as i32).collect::<Vec<_>>())?,
            };
            ctx.set_output(i, shape);
        }
        Ok(())
    })
}

fn make_size(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("out_type")?;
    from_fn(move |ctx| {
        let size = integer(dtype, ctx.input(0)?.num_elements());
        ctx.set_output(0, size);
        Ok(())
    })
}

fn rank(ctx: &mut KernelContext<'_>) -> Result<()> {
    let rank = integer(DType::I32, ctx.input(0)?.rank());
    ctx.set_output(0, rank);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_has_a_kernel() {
        let mut registry = KernelRegistry::new();
        register(&mut registry);
        let missing: Vec<&str> = SHARED.into_iter().map(|(op, _, _)| op).filter(|op| registry.defs(op).is_empty()).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
