//! Selection between tensors, element by element.

use super::{Maximum, Minimum};
use crate::array::item::Item;
use crate::elementwise::{Binary, CHUNK, Operand, Word, broadcast_positions, for_blocks};
use crate::from_fn::from_fn;
use crate::number::Ordered;
use flowmill_numeric::elementwise::{Selectable, replace_unless, select};
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Allocator, Complex, DType, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

/// Makes the kernel of `SelectV2`: condition and both values broadcast.
pub(super) fn make_select_v2(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let select = selector(init)?;
    from_fn(move |ctx| {
        let (condition, then, otherwise) = (ctx.take(0)?, ctx.take(1)?, ctx.take(2)?);
        let shape = if condition.shape() == then.shape() && then.shape() == otherwise.shape() {
            then.shape().clone()
        } else {
            let values = Shape::broadcast(then.shape(), otherwise.shape());
            match values.and_then(|s| Shape::broadcast(&s, condition.shape())) {
                Some(shape) => shape,
                None => bail!(
                    InvalidArgument,
                    "condition {}, then {}, and else {} must be broadcastable",
                    condition.shape(),
                    then.shape(),
                    otherwise.shape()
                ),
            }
        };
        let out = choose(ctx.allocator(), &condition, then, otherwise, shape, select)?;
        ctx.set_output(0, out);
        Ok(())
    })
}

/// Makes the kernel of `Select`: both values have the same shape, which the condition has, too, unless it is a scalar, or a vector that selects rows.
pub(super) fn make_select(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let select = selector(init)?;
    from_fn(move |ctx| {
        let (condition, then, otherwise) = (ctx.take(0)?, ctx.take(1)?, ctx.take(2)?);
        let shape = then.shape().clone();
        if shape != *otherwise.shape() {
            bail!(InvalidArgument, "'then' and 'else' must have the same size.  but received: {shape} vs. {}", otherwise.shape());
        }
        let condition = if condition.rank() == 0 || *condition.shape() == shape {
            condition
        } else if condition.rank() == 1 {
            if shape.first() != condition.shape().first() {
                bail!(
                    InvalidArgument,
                    "Number of batches of 'then' must match size of 'cond', but saw: {} vs. {}",
                    shape.first().copied().unwrap_or(0),
                    condition.num_elements()
                );
            }
            let mut rows = Shape::new(&vec![1; shape.rank()]);
            rows[0] = condition.num_elements();
            condition.reshaped(rows)?
        } else {
            bail!(
                InvalidArgument,
                "Inputs to operation Select of type Select must have the same size and shape.  Input 0: {} != input 1: {shape}",
                condition.shape()
            );
        };
        let out = choose(ctx.allocator(), &condition, then, otherwise, shape, select)?;
        ctx.set_output(0, out);
        Ok(())
    })
}

type Select = fn(&Allocator, &Tensor, Tensor, Tensor, Shape) -> Result<Tensor>;

fn selector(init: &KernelInit<'_>) -> Result<Select> {
    let dtype = init.dtype("T")?;
    match dtype {
        DType::String => Ok(|alloc, c, t, e, shape| {
            alloc.from_strings(shape.clone(), pick(c, t.shape(), t.as_strings()?, e.shape(), e.as_strings()?, &shape)?)
        }),
        DType::Variant => Ok(|_, c, t, e, shape| {
            Tensor::from_variants(shape.clone(), pick(c, t.shape(), t.as_variants()?, e.shape(), e.as_variants()?, &shape)?)
        }),
        DType::Resource => Ok(|_, c, t, e, shape| {
            Tensor::from_resources(shape.clone(), pick(c, t.shape(), t.as_resources()?, e.shape(), e.as_resources()?, &shape)?)
        }),
        _ => {
            let select: Select = match dtype.size() {
                _ if dtype == DType::Bool => select_dense::<bool>,
                Some(1) => select_dense::<u8>,
                Some(2) => select_dense::<u16>,
                Some(4) => select_dense::<u32>,
                Some(8) => select_dense::<u64>,
                _ => select_dense::<Complex<f64>>,
            };
            for_dtype!(dtype, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool, Complex<f32>, Complex<f64>], T => Ok(select), _ => init.unsupported())
        }
    }
}

/// Selects one of two values. If the condition is a scalar and the chosen value has the result's shape, the value is forwarded; otherwise `select`
/// is called.
fn choose(alloc: &Allocator, condition: &Tensor, then: Tensor, otherwise: Tensor, shape: Shape, select: Select) -> Result<Tensor> {
    if let Some(bits) = condition.scalar_bits(DType::Bool) {
        let chosen = if bits & 1 != 0 { &then } else { &otherwise };
        if *chosen.shape() == shape {
            return Ok(if bits & 1 != 0 { then } else { otherwise });
        }
    }
    select(alloc, condition, then, otherwise, shape)
}

fn select_dense<T: Item + Word + Selectable>(
    alloc: &Allocator,
    condition: &Tensor,
    mut then: Tensor,
    otherwise: Tensor,
    shape: Shape,
) -> Result<Tensor> {
    let conditions = Operand::new(condition.as_slice::<bool>()?, condition.shape(), &shape);
    let rejected = Operand::new(T::items(&otherwise)?, otherwise.shape(), &shape);
    if *then.shape() == shape && then.is_unique() {
        T::update(&mut then, |items| {
            for_blocks(items, 1, &|start, block| {
                let (mut c, mut e) = ([false; CHUNK], [T::default(); CHUNK]);
                for (i, chunk) in block.chunks_mut(CHUNK).enumerate() {
                    let (at, n) = (start + i * CHUNK, chunk.len());
                    replace_unless(conditions.read(at, n, &mut c), rejected.read(at, n, &mut e), chunk);
                }
            });
            Ok(())
        })?;
        return Ok(then);
    }
    let accepted = Operand::new(T::items(&then)?, then.shape(), &shape);
    T::build(alloc, then.dtype(), shape.clone(), &[], |items| {
        for_blocks(items, 1, &|start, block| {
            let (mut c, mut t, mut e) = ([false; CHUNK], [T::default(); CHUNK], [T::default(); CHUNK]);
            for (i, chunk) in block.chunks_mut(CHUNK).enumerate() {
                let (at, n) = (start + i * CHUNK, chunk.len());
                select(conditions.read(at, n, &mut c), accepted.read(at, n, &mut t), rejected.read(at, n, &mut e), chunk);
            }
        });
        Ok(())
    })
}

fn pick<T: Clone>(
    condition: &Tensor,
    then_shape: &Shape,
    then: &[T],
    else_shape: &Shape,
    otherwise: &[T],
    shape: &Shape,
) -> Result<Vec<T>> {
    let conditions = condition.as_slice::<bool>()?;
    let positions = broadcast_positions(then_shape, shape).into_iter().zip(broadcast_positions(else_shape, shape));
    let chosen = broadcast_positions(condition.shape(), shape).into_iter().zip(positions);
    Ok(chosen.map(|(c, (t, e))| if conditions[c] { then[t].clone() } else { otherwise[e].clone() }).collect())
}

/// Makes the kernel of `ClipByValue`: the bounds are scalars or have the value's shape. If the bounds contradict each other, the lower bound is
/// used; NaN stays NaN.
pub(super) fn make_clip(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], T => from_fn(clip::<T>), _ => init.unsupported())
}

fn clip<T: Ordered>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (value, low, high) = (ctx.take(0)?, ctx.take(1)?, ctx.take(2)?);
    let shape = value.shape();
    if [&low, &high].iter().any(|bound| bound.rank() > 0 && bound.shape() != shape) {
        bail!(
            InvalidArgument,
            "clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. input shape: {shape} clip_value_min shape: {} clip_value_max shape: {}",
            low.shape(),
            high.shape()
        );
    }
    let clipped = Binary::<T, T>::of::<Minimum>().combine(ctx.allocator(), value, high)?;
    let clipped = Binary::<T, T>::of::<Maximum>().combine(ctx.allocator(), clipped, low)?;
    ctx.set_output(0, clipped);
    Ok(())
}
