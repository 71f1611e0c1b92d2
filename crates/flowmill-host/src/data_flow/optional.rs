//! `OptionalFromValue` and related ops: a variant that holds tensors or nothing.

use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, PartialShape, Result, Tensor, TensorArithmetic, Variant, VariantValue, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("OptionalNone", |_| {
        from_fn(|ctx| {
            ctx.set_output(0, optional(None));
            Ok(())
        })
    });
    registry.add("OptionalFromValue", |_| {
        from_fn(|ctx| {
            let components = (0..ctx.num_inputs()).map(|i| ctx.take(i)).collect::<Result<_>>()?;
            ctx.set_output(0, optional(Some(components)));
            Ok(())
        })
    });
    registry.add("OptionalHasValue", |_| {
        from_fn(|ctx| {
            let has_value = optional_of(ctx, "OptionalHasValue")?.0.is_some();
            ctx.set_output(0, Tensor::scalar(has_value));
            Ok(())
        })
    });
    registry.add("OptionalGetValue", make_get_value);
}

struct Optional(Option<Vec<Tensor>>);

/// Returns an optional that holds these components, or nothing.
pub(crate) fn optional(components: Option<Vec<Tensor>>) -> Tensor {
    Tensor::variant(Variant::new(Optional(components)))
}

impl VariantValue for Optional {
    fn type_name(&self) -> &'static str {
        "tensorflow::data::Optional"
    }

    fn tensors(&self) -> Box<dyn Iterator<Item = &Tensor> + '_> {
        Box::new(self.0.iter().flatten())
    }

    fn with_tensors(&self, tensors: Vec<Tensor>) -> Result<Variant> {
        Ok(Variant::new(Optional(self.0.is_some().then_some(tensors))))
    }

    fn zeros_like(&self, arithmetic: &dyn TensorArithmetic) -> Result<Variant> {
        let components = self.0.as_ref().map(|c| c.iter().map(|c| arithmetic.zeros_like(c)).collect()).transpose()?;
        Ok(Variant::new(Optional(components)))
    }

    fn add(&self, other: &Variant, arithmetic: &dyn TensorArithmetic) -> Result<Variant> {
        let Some(other) = other.get::<Optional>() else {
            bail!(Internal, "Trying to add an optional and a {}", other.value().type_name());
        };
        let (a, b) = match (&self.0, &other.0) {
            (None, None) => return Ok(Variant::new(Optional(None))),
            (Some(a), Some(b)) => (a, b),
            _ => bail!(InvalidArgument, "Cannot add optionals because one has a value and the other doesn't."),
        };
        if a.len() != b.len() {
            bail!(InvalidArgument, "Cannot add optionals because they have different numbers of components ({} vs. {}).", a.len(), b.len());
        }
        let mut sums = a.clone();
        for (sum, value) in sums.iter_mut().zip(b) {
            if sum.dtype() != value.dtype() || sum.shape() != value.shape() {
                bail!(
                    InvalidArgument,
                    "Cannot add optionals because components have different types or shapes: {} vs. {}",
                    sum.shape(),
                    value.shape()
                );
            }
            arithmetic.add_to(sum, value)?;
        }
        Ok(Variant::new(Optional(Some(sums))))
    }
}

fn optional_of<'a>(ctx: &'a KernelContext<'_>, op: &str) -> Result<&'a Optional> {
    match ctx.input(0)?.as_variants().ok().and_then(|v| v.first()?.get()) {
        Some(optional) => Ok(optional),
        None => bail!(InvalidArgument, "Input to {op} must be an OptionalVariant object."),
    }
}

fn make_get_value(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let types = init.attrs.list::<DType>("output_types")?;
    let shapes = init.attrs.list::<PartialShape>("output_shapes")?;
    if types.len() != shapes.len() {
        bail!(
            InvalidArgument,
            "output_types and output_shapes must be same length, got: output_types: {} output_shapes: {}",
            types.len(),
            shapes.len()
        );
    }
    from_fn(move |ctx| {
        let Some(components) = &optional_of(ctx, "OptionalGetValue")?.0 else {
            bail!(InvalidArgument, "The given optional does not have a value.");
        };
        if components.len() != types.len() {
            bail!(InvalidArgument, "The given optional has {} components, expected {}", components.len(), types.len());
        }
        for (i, (component, (dtype, shape))) in components.iter().zip(types.iter().zip(&shapes)).enumerate() {
            if component.dtype() != *dtype {
                let (expected, actual) = (dtype.cpp_name(), component.dtype().cpp_name());
                bail!(
                    InvalidArgument,
                    "The given optional does not match the expected type for component {i}. Expected: {expected}. Actual: {actual}."
                );
            }
            if !shape.is_compatible_with(component.shape()) {
                bail!(
                    InvalidArgument,
                    "The given optional does not match the expected shape for component {i}. Expected: {shape}. Actual: {}.",
                    component.shape()
                );
            }
        }
        for (i, component) in components.clone().into_iter().enumerate() {
            ctx.set_output(i, component);
        }
        Ok(())
    })
}
