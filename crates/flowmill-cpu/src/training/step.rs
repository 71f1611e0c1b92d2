//! The common part of all optimisers' kernels: checks, locks and the loop over the elements.

use crate::from_fn::from_fn;
use crate::number::Number;
use crate::parallel;
use flowmill_kernels::variable::Variable;
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{DType, Element, Result, Shape, Tensor, bail, bf16, f16};
use num_traits::Float;
use smallvec::SmallVec;
use std::sync::Arc;

/// The inputs of an optimiser's kernel. The variable and its slots come first, then hyperparameters and the gradient.
#[derive(Clone, Copy)]
pub(super) struct Signature<const V: usize, const S: usize> {
    /// The names of the variable and its slots.
    pub(super) variables: [&'static str; V],
    /// The input indices and names of the hyperparameters, which are scalars.
    pub(super) scalars: [(usize, &'static str); S],
    /// The input index and name of the gradient.
    pub(super) gradient: (usize, &'static str),
}

/// A type in which rules are computed. Elements of `float16` and `bfloat16` are widened to `float32`, and rounded once per update.
pub(super) trait Real: Number + Float + From<f32> + Into<f64> {}

impl Real for f32 {}
impl Real for f64 {}

/// The number of elements that a rule is applied to at a time.
const BLOCK: usize = 128;

/// Reads the elements of `tensor` from `start` on.
fn load<A: Real>(tensor: &Tensor, start: usize, out: &mut [A]) -> Result<()> {
    fn widened<T: Element + Into<f32>, A: Real>(tensor: &Tensor, start: usize, out: &mut [A]) -> Result<()> {
        let elements = &tensor.as_slice::<T>()?[start..start + out.len()];
        out.iter_mut().zip(elements).for_each(|(to, &from)| *to = <A as From<f32>>::from(from.into()));
        Ok(())
    }
    match tensor.dtype() {
        DType::F16 => widened::<f16, A>(tensor, start, out),
        DType::BF16 => widened::<bf16, A>(tensor, start, out),
        // This variable is a count of steps.
        DType::I64 => {
            let counts = &tensor.as_slice::<i64>()?[start..start + out.len()];
            out.iter_mut().zip(counts).for_each(|(to, &from)| *to = <A as num_traits::NumCast>::from(from).unwrap_or(A::ZERO));
            Ok(())
        }
        _ => {
            out.copy_from_slice(&tensor.as_slice::<A>()?[start..start + out.len()]);
            Ok(())
        }
    }
}

/// Overwrites the elements of `tensor` from `start` on.
fn store<A: Real>(tensor: &mut Tensor, start: usize, values: &[A]) -> Result<()> {
    fn narrowed<T: Element, A: Real>(tensor: &mut Tensor, start: usize, values: &[A], narrow: fn(f64) -> T) -> Result<()> {
        let elements = &mut tensor.as_mut_slice::<T>()?[start..start + values.len()];
        elements.iter_mut().zip(values).for_each(|(to, &from)| *to = narrow(from.into()));
        Ok(())
    }
    match tensor.dtype() {
        DType::F16 => narrowed(tensor, start, values, f16::from_f64),
        DType::BF16 => narrowed(tensor, start, values, bf16::from_f64),
        _ => {
            tensor.as_mut_slice::<A>()?[start..start + values.len()].copy_from_slice(values);
            Ok(())
        }
    }
}

impl<const V: usize, const S: usize> Signature<V, S> {
    fn scalars<A: Real>(&self, ctx: &KernelContext<'_>) -> Result<[A; S]> {
        let mut values = [A::ZERO; S];
        for (value, &(input, name)) in values.iter_mut().zip(&self.scalars) {
            let tensor = ctx.input(input)?;
            if tensor.rank() != 0 {
                bail!(InvalidArgument, "{name} is not a scalar: {}", tensor.shape());
            }
            load(tensor, 0, std::slice::from_mut(value))?;
        }
        Ok(values)
    }
}

/// Locks the variables, which are the first inputs and are called `names`, and calls `body` with their common shape and their values.
fn with_variables(
    ctx: &KernelContext<'_>,
    dtype: DType,
    names: &[&'static str],
    body: &mut dyn FnMut(&Shape, &mut [&mut Tensor]) -> Result<()>,
) -> Result<()> {
    let variables = (0..names.len()).map(|i| Variable::from_input(ctx, i)).collect::<Result<Vec<_>>>()?;
    let mut guards = Variable::lock_all(&variables)?;
    let mut shape: Option<Shape> = None;
    let mut values = Vec::with_capacity(names.len());
    for ((guard, variable), name) in guards.iter_mut().zip(&variables).zip(names) {
        let Some(value) = guard.as_mut() else { return Err(variable.uninitialized()) };
        if value.dtype() != dtype {
            bail!(InvalidArgument, "Trying to update variable {} of type {} as {dtype}", variable.name(), value.dtype());
        }
        let shape = shape.get_or_insert_with(|| value.shape().clone());
        if shape != value.shape() {
            bail!(InvalidArgument, "{} and {name} do not have the same shape{shape} {}", names[0], value.shape());
        }
        values.push(value);
    }
    match shape {
        Some(shape) => body(&shape, &mut values),
        None => bail!(Internal, "an optimizer without variables"),
    }
}

flowmill_numeric::dispatch! {
    /// Calls `f` with the number of each element of a block.
    fn for_block<F>(f: &mut F) where [F: FnMut(usize)] {
        for i in 0..BLOCK {
            f(i);
        }
    }
}

/// An update of the elements of a variable and of its slots. Most rules are functions of an element.
pub(super) trait Rule<A: Real, const V: usize>: Sync {
    /// Updates the first `n` elements of a block.
    fn update_block(&self, block: &mut Block<A, V>, n: usize);
}

impl<A: Real, const V: usize, F: Fn([A; V], A) -> [A; V] + Sync> Rule<A, V> for F {
    fn update_block(&self, block: &mut Block<A, V>, n: usize) {
        block.update(n, self);
    }
}

/// The elements of the variables and of the gradient that a rule is applied to at a time.
pub(super) struct Block<A, const V: usize> {
    values: [[A; BLOCK]; V],
    gradients: [A; BLOCK],
}

impl<A: Real, const V: usize> Block<A, V> {
    fn new() -> Self {
        Block { values: [[A::ZERO; BLOCK]; V], gradients: [A::ZERO; BLOCK] }
    }

    /// Applies a function to the first `n` elements.
    pub(super) fn update(&mut self, n: usize, rule: &impl Fn([A; V], A) -> [A; V]) {
        let Block { values, gradients } = self;
        let mut element = |i: usize| {
            let new = rule(std::array::from_fn(|v| values[v][i]), gradients[i]);
            values.iter_mut().zip(new).for_each(|(values, new)| values[i] = new);
        };
        // Elements beyond the first `n` are computed, too, but not more than those, which may be powers.
        if 2 * n >= BLOCK { for_block(&mut element) } else { (0..n).for_each(element) }
    }
}

impl<A: Real, const V: usize> Block<A, V> {
    /// Updates rows of `width` elements of each variable, which begin at `starts`, with as many elements of the gradient from `at` on. All fit in a block, and no
    /// element is in two rows.
    fn update_rows(
        &mut self,
        variables: &mut [&mut Tensor],
        (starts, width): (&[usize], usize),
        (gradient, at): (&Tensor, usize),
        rule: &impl Rule<A, V>,
    ) -> Result<()> {
        let n = starts.len() * width;
        let places = || starts.iter().enumerate().map(|(i, &start)| (start, i * width..(i + 1) * width));
        load(gradient, at, &mut self.gradients[..n])?;
        for (values, variable) in self.values.iter_mut().zip(variables.iter()) {
            places().try_for_each(|(start, row)| load(variable, start, &mut values[row]))?;
        }
        rule.update_block(self, n);
        for (values, variable) in self.values.iter().zip(variables.iter_mut()) {
            places().try_for_each(|(start, row)| store(variable, start, &values[row]))?;
        }
        Ok(())
    }
}

/// Updates `len` elements of each variable from `start` on, with as many elements of the gradient from `at` on.
fn update_run<A: Real, const V: usize>(
    variables: &mut [&mut Tensor],
    start: usize,
    (gradient, at): (&Tensor, usize),
    len: usize,
    rule: &impl Rule<A, V>,
) -> Result<()> {
    let mut block = Block::new();
    for done in (0..len).step_by(BLOCK) {
        block.update_rows(variables, (&[start + done], BLOCK.min(len - done)), (gradient, at + done), rule)?;
    }
    Ok(())
}

/// Updates rows of `width` elements of each variable, one after the other. Row `i` of the gradient is for row `rows[i]`; rows may repeat.
fn update_rows<A: Real, const V: usize>(
    variables: &mut [&mut Tensor],
    rows: &[i64],
    gradient: &Tensor,
    width: usize,
    rule: &impl Rule<A, V>,
) -> Result<()> {
    let starts: Vec<usize> = rows.iter().map(|&row| row as usize * width).collect();
    if 2 * width > BLOCK || width == 0 {
        let mut runs = starts.iter().enumerate();
        return runs.try_for_each(|(i, &start)| update_run(variables, start, (gradient, i * width), width, rule));
    }
    let (mut block, mut first) = (Block::new(), 0);
    while first < rows.len() {
        // As many different rows as a block has room for.
        let mut end = first + 1;
        while end < rows.len() && end - first < BLOCK / width && !starts[first..end].contains(&starts[end]) {
            end += 1;
        }
        block.update_rows(variables, (&starts[first..end], width), (gradient, first * width), rule)?;
        first = end;
    }
    Ok(())
}

/// Like [`update_run`] for all elements, if these are of the type in which the rule is computed: on several threads if there are many.
fn update_all<A: Real, const V: usize>(variables: &mut [&mut Tensor], gradient: &Tensor, rule: &impl Rule<A, V>) -> Result<()> {
    let gradient = gradient.as_slice::<A>()?;
    let mut rest = variables.iter_mut().map(|variable| variable.as_mut_slice::<A>()).collect::<Result<SmallVec<[&mut [A]; V]>>>()?;
    let blocks = gradient.len().div_ceil(BLOCK);
    // A core updates about 16 bytes per nanosecond.
    let nanoseconds = gradient.len().saturating_mul((V + 1) * size_of::<A>()) / 16;
    let num_pieces = if parallel::is_worth_forking(nanoseconds) { (4 * parallel::threads()).min(blocks) } else { 1 };
    // Each lock is taken once, by the thread that updates the part.
    let mut pieces = Vec::with_capacity(num_pieces);
    for i in 0..num_pieces {
        let elements = |block: usize| (block * BLOCK).min(gradient.len());
        let piece = parallel::piece(blocks, num_pieces, i);
        let range = elements(piece.start)..elements(piece.end);
        let mut parts = SmallVec::<[&mut [A]; V]>::new();
        for variable in &mut rest {
            let (now, later) = std::mem::take(variable).split_at_mut(range.len());
            parts.push(now);
            *variable = later;
        }
        pieces.push(Mutex::new((parts, &gradient[range])));
    }
    parallel::run(num_pieces, |i| {
        let (variables, gradient) = &mut *pieces[i].lock();
        let mut block = Block::<A, V>::new();
        for (at, gradient) in gradient.chunks(BLOCK).enumerate() {
            let (n, range) = (gradient.len(), at * BLOCK..at * BLOCK + gradient.len());
            block.gradients[..n].copy_from_slice(gradient);
            for (values, variable) in block.values.iter_mut().zip(variables.iter()) {
                values[..n].copy_from_slice(&variable[range.clone()]);
            }
            rule.update_block(&mut block, n);
            for (values, variable) in block.values.iter().zip(variables.iter_mut()) {
                variable[range.clone()].copy_from_slice(&values[..n]);
            }
        }
    });
    Ok(())
}

/// Forwards a reference, for the ops that return the variable.
fn forward_reference(ctx: &mut KernelContext<'_>) -> Result<()> {
    if ctx.num_outputs() > 0 { ctx.forward(0, 0) } else { Ok(()) }
}

/// Returns a kernel that updates every element of its variables; `prepare` makes a rule from the hyperparameters.
pub(super) fn dense<A: Real, R, const V: usize, const S: usize>(
    init: &KernelInit<'_>,
    signature: Signature<V, S>,
    prepare: impl Fn([A; S]) -> R + Send + Sync + 'static,
) -> Result<Arc<dyn Kernel>>
where
    R: Rule<A, V>,
{
    let dtype = init.dtype("T")?;
    from_fn(move |ctx| {
        let rule = prepare(signature.scalars(ctx)?);
        let (input, name) = signature.gradient;
        let gradient = ctx.input(input)?;
        with_variables(ctx, dtype, &signature.variables, &mut |shape, variables| {
            if gradient.shape() != shape {
                bail!(InvalidArgument, "{} and {name} do not have the same shape{shape} {}", signature.variables[0], gradient.shape());
            }
            if gradient.dtype() == A::DTYPE && variables.iter().all(|variable| variable.dtype() == A::DTYPE) {
                return update_all(variables, gradient, &rule);
            }
            update_run(variables, 0, (gradient, 0), shape.num_elements(), &rule)
        })?;
        forward_reference(ctx)
    })
}

/// Returns a kernel that updates the rows of its variables whose indices are in the input after the gradient, one after the other; rows may repeat.
pub(super) fn sparse<A: Real, R, const V: usize, const S: usize>(
    init: &KernelInit<'_>,
    signature: Signature<V, S>,
    prepare: impl Fn([A; S]) -> R + Send + Sync + 'static,
) -> Result<Arc<dyn Kernel>>
where
    R: Rule<A, V>,
{
    let dtype = init.dtype("T")?;
    from_fn(move |ctx| {
        let rule = prepare(signature.scalars(ctx)?);
        let (input, name) = signature.gradient;
        let (gradient, indices) = (ctx.input(input)?, ctx.input(input + 1)?);
        let rows = row_numbers(indices)?;
        with_variables(ctx, dtype, &signature.variables, &mut |shape, variables| {
            let width = checked_row_width((signature.variables[0], shape), (name, gradient), &rows)?;
            update_rows(variables, &rows, gradient, width, &rule)
        })?;
        forward_reference(ctx)
    })
}

/// Returns the number of elements of a row, after a check that the gradient has one row for each of `rows` and that the variable has all of these.
fn checked_row_width((variable, shape): (&str, &Shape), (name, gradient): (&str, &Tensor), rows: &[i64]) -> Result<usize> {
    let Some((&limit, inner)) = shape.split_first() else { bail!(InvalidArgument, "{variable} must be at least 1 dimensional") };
    let expected: Shape = std::iter::once(rows.len()).chain(inner.iter().copied()).collect();
    if *gradient.shape() != expected {
        bail!(
            InvalidArgument,
            "{name} must be the same size as indices in the first dimension and as {variable} in the others: {} for {expected}",
            gradient.shape()
        );
    }
    if let Some(at) = rows.iter().position(|&row| row < 0 || row as usize >= limit) {
        bail!(InvalidArgument, "Index {} at offset {at} in indices is out of range", rows[at]);
    }
    Ok(inner.iter().product())
}

fn row_numbers(indices: &Tensor) -> Result<Vec<i64>> {
    if indices.rank() != 1 {
        bail!(InvalidArgument, "indices must be one-dimensional");
    }
    indices.to_i64_vec()
}
