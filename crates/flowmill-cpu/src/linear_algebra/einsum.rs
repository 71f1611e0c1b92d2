//! `Einsum` of one or two operands: sums over labels of one operand first, then products of matrices that are read and written where they lie. If there
//! is nothing more to sum over, elements are multiplied.
//!
//! Operands are strided views. One is copied only if its labels cannot be read as rows and columns of a matrix with adjacent elements.

use super::product::{Product, Sizes};
use crate::array::item::{Item, for_item};
use crate::array::nd::{Strides, for_each_index, read_strided, row_major};
use crate::elementwise::Binary;
use crate::from_fn::from_fn;
use crate::gemm::{MatrixRef, Repeat};
use crate::math_binary::Mul;
use crate::number::Number;
use crate::reduction::row_sum;
use flowmill_graph::{EinsumEquation, EinsumLabel, EinsumProduct};
use flowmill_kernels::einsum::{EinsumTerms, LabelSizes, View};
use flowmill_runtime::{Kernel, KernelInit};
use flowmill_tensor::{Allocator, Complex, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

/// Makes the kernel of `Einsum`.
pub(super) fn make_einsum(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let equation = EinsumEquation::parse(init.attrs.get("equation")?)?;
    let steps = for_dtype!(
        init.dtype("T")?,
        [f16, bf16, f32, f64, i32, i64, Complex<f32>, Complex<f64>],
        T => TypedSteps::of::<T>(),
        _ => return init.unsupported()
    );
    from_fn(move |ctx| {
        let inputs: Vec<&Tensor> = ctx.inputs_from(0).collect();
        let out = einsum(steps, ctx.allocator(), &equation, &inputs)?;
        drop(inputs);
        ctx.set_output(0, out);
        Ok(())
    })
}

/// The steps of an einsum that depend on the element type. All others are compiled once.
#[derive(Clone, Copy)]
struct TypedSteps {
    /// Writes the sums of rows of this many elements.
    sum_rows: fn(rows: &Tensor, row: usize, sums: &mut Tensor) -> Result<()>,
    /// Computes the products of a plan, like [`Plan::multiply`].
    multiply: fn(&Plan, a: &Tensor, b: &Tensor, c: &mut Tensor, ldc: usize, transposed: bool) -> Result<()>,
    /// Returns the products of elements of tensors whose shapes broadcast.
    broadcast: fn(alloc: &Allocator, a: Tensor, b: Tensor) -> Result<Tensor>,
    /// Writes the elements of a dense tensor of these sizes to the positions that have these strides in another.
    spread: fn(source: &Tensor, sizes: &[usize], strides: &[isize], target: &mut Tensor) -> Result<()>,
}

impl TypedSteps {
    fn of<T: Product + Number>() -> TypedSteps {
        TypedSteps { sum_rows: sum_rows::<T>, multiply: multiply::<T>, broadcast: broadcast::<T>, spread: spread::<T> }
    }
}

fn sum_rows<T: Number>(rows: &Tensor, row: usize, sums: &mut Tensor) -> Result<()> {
    let rows = rows.as_slice::<T>()?.chunks_exact(row);
    sums.as_mut_slice::<T>()?.iter_mut().zip(rows).for_each(|(sum, row)| *sum = T::narrow(row_sum(row)));
    Ok(())
}

fn multiply<T: Product>(plan: &Plan, a: &Tensor, b: &Tensor, c: &mut Tensor, ldc: usize, transposed: bool) -> Result<()> {
    let (Some(a), Some(b)) = (plan.a.matrix(a.as_slice::<T>()?), plan.b.matrix(b.as_slice::<T>()?)) else {
        bail!(Internal, "an arranged operand without adjacent elements");
    };
    plan.multiply(a, b, c.as_mut_slice()?, ldc, transposed);
    Ok(())
}

fn broadcast<T: Number>(alloc: &Allocator, a: Tensor, b: Tensor) -> Result<Tensor> {
    Binary::<T, T>::of::<Mul>().combine(alloc, a, b)
}

fn spread<T: Number>(source: &Tensor, sizes: &[usize], strides: &[isize], target: &mut Tensor) -> Result<()> {
    let (source, target) = (source.as_slice::<T>()?, target.as_mut_slice::<T>()?);
    for_each_index(sizes, (0, strides), (0, &row_major(sizes)), |to, from| target[to] = source[from]);
    Ok(())
}

fn einsum(steps: TypedSteps, alloc: &Allocator, equation: &EinsumEquation, inputs: &[&Tensor]) -> Result<Tensor> {
    let shapes: Vec<&Shape> = inputs.iter().map(|tensor| tensor.shape()).collect();
    let EinsumTerms { operands: terms, sizes, named, output, shape } = EinsumTerms::new(equation, &shapes)?;
    let mut operands: Vec<View> = Vec::new();
    for (i, (tensor, labels)) in inputs.iter().zip(&terms).enumerate() {
        let other = terms.get(1 - i).filter(|_| inputs.len() == 2);
        let is_kept = |l: &EinsumLabel| output.contains(l) || other.is_some_and(|o| o.contains(l));
        operands.push(summed(steps, View::new(tensor, labels, &sizes), alloc, &sizes, is_kept)?);
    }
    let result = match &operands[..] {
        [one] => arranged(one, alloc, &output, &sizes)?.tensor,
        [a, b] => contract(steps, alloc, a, b, &output, &sizes)?,
        _ => bail!(Internal, "einsum of {} operands", operands.len()),
    };
    if output.len() == named.len() { result.reshaped(shape) } else { diagonal(steps, alloc, &result, &output, &named, shape) }
}

/// Returns a tensor with the dimensions `named`, some of which have the same label: `result`, whose dimensions are the labels, on the diagonals, and zeros.
fn diagonal(
    steps: TypedSteps,
    alloc: &Allocator,
    result: &Tensor,
    labels: &[EinsumLabel],
    named: &[EinsumLabel],
    shape: Shape,
) -> Result<Tensor> {
    let strides = row_major(&shape);
    let on_diagonal = |label: &EinsumLabel| named.iter().zip(&strides).filter(|(l, _)| *l == label).map(|(_, stride)| stride).sum();
    let strides: Strides = labels.iter().map(on_diagonal).collect();
    let sizes: Vec<usize> = labels.iter().filter_map(|label| named.iter().position(|l| l == label).map(|i| shape[i])).collect();
    let mut out = alloc.zeros(result.dtype(), shape)?;
    (steps.spread)(result, &sizes, &strides, &mut out)?;
    Ok(out)
}

/// Returns a view as a tensor with its dimensions in this order, which is copied unless it is that already.
fn arranged(view: &View, alloc: &Allocator, labels: &[EinsumLabel], sizes: &LabelSizes) -> Result<View> {
    let shape: Shape = labels.iter().map(|l| sizes[l]).collect();
    shape.checked_num_elements()?;
    let tensor = if view.is_in_order(labels, sizes) {
        view.tensor.clone()
    } else {
        let strides: Strides = labels.iter().map(|l| view.stride(l) as isize).collect();
        for_item!(view.tensor.dtype(), I => {
            let source = I::items(&view.tensor)?;
            I::build(alloc, view.tensor.dtype(), shape.clone(), source, |out| {
                read_strided(out, source, 0, &shape, &strides);
                Ok(())
            })?
        })
    };
    Ok(View { tensor, labels: labels.to_vec(), strides: row_major(&shape).iter().map(|&s| s as usize).collect() })
}

/// Returns the sums of a view over the labels for which `is_kept` is false.
fn summed(steps: TypedSteps, view: View, alloc: &Allocator, sizes: &LabelSizes, is_kept: impl Fn(&EinsumLabel) -> bool) -> Result<View> {
    let (kept, summed): (Vec<EinsumLabel>, Vec<EinsumLabel>) = view.labels.iter().partition(|l| is_kept(l));
    if summed.is_empty() {
        return Ok(view);
    }
    let arranged = arranged(&view, alloc, &[&kept[..], &summed].concat(), sizes)?;
    let shape: Shape = kept.iter().map(|l| sizes[l]).collect();
    let row: usize = summed.iter().map(|l| sizes[l]).product();
    let mut sums = alloc.zeros(arranged.tensor.dtype(), shape)?;
    if row > 0 {
        (steps.sum_rows)(&arranged.tensor, row, &mut sums)?;
    }
    Ok(View::new(&sums, &kept, sizes))
}

/// Dimensions that one stride covers in each of two operands.
#[derive(Clone, Copy)]
struct Run {
    size: usize,
    strides: (usize, usize),
}

/// Merges labels, outermost first, into as few runs as the strides in both operands allow.
fn runs(labels: &[EinsumLabel], sizes: &LabelSizes, stride: impl Fn(&EinsumLabel) -> (usize, usize)) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for label in labels.iter().filter(|l| sizes[l] != 1) {
        let (size, strides) = (sizes[label], stride(label));
        match runs.last_mut() {
            Some(last) if last.strides == (strides.0 * size, strides.1 * size) => *last = Run { size: last.size * size, strides },
            _ => runs.push(Run { size, strides }),
        }
    }
    runs
}

/// A matrix whose rows and columns have a stride each.
#[derive(Clone, Copy)]
struct Layout {
    rows: usize,
    columns: usize,
    strides: (usize, usize),
}

impl Layout {
    /// Returns the distance of adjacent stored rows, and true if those are the matrix's columns. `None` if neither rows nor columns have adjacent elements.
    fn stored(self) -> Option<(usize, bool)> {
        let fits = |(count, stride): (usize, usize), (len, step): (usize, usize)| {
            ((len == 1 || step == 1) && (count == 1 || stride >= len)).then_some(if count == 1 { len } else { stride })
        };
        let (rows, columns) = ((self.rows, self.strides.0), (self.columns, self.strides.1));
        fits(rows, columns).map(|ld| (ld, false)).or_else(|| fits(columns, rows).map(|ld| (ld, true)))
    }

    fn matrix<T>(self, data: &[T]) -> Option<MatrixRef<'_, T>> {
        self.stored().map(|(ld, transposed)| MatrixRef { data, ld, transposed })
    }
}

/// Returns a view as a tensor with the dimensions `labels`, of which those that the view lacks have size 1.
fn broadcastable(view: &View, alloc: &Allocator, labels: &[EinsumLabel], sizes: &LabelSizes) -> Result<Tensor> {
    let own: Vec<EinsumLabel> = labels.iter().copied().filter(|l| view.labels.contains(l)).collect();
    let shape: Shape = labels.iter().map(|l| if view.labels.contains(l) { sizes[l] } else { 1 }).collect();
    arranged(view, alloc, &own, sizes)?.tensor.reshaped(shape)
}

/// Returns the product of two operands, summed over the labels that both have and the output lacks, with its dimensions in the order of `output`.
fn contract(steps: TypedSteps, alloc: &Allocator, a: &View, b: &View, output: &[EinsumLabel], sizes: &LabelSizes) -> Result<Tensor> {
    let Some(product) = EinsumProduct::of(&a.labels, &b.labels, output) else {
        bail!(Internal, "labels of an einsum without a role: {:?} and {:?}", a.labels, b.labels);
    };
    if product.inner.is_empty() {
        let (a, b) = (broadcastable(a, alloc, output, sizes)?, broadcastable(b, alloc, output, sizes)?);
        return (steps.broadcast)(alloc, a, b);
    }
    let shape: Shape = output.iter().map(|l| sizes[l]).collect();
    let count = |labels: &[EinsumLabel]| labels.iter().map(|l| sizes[l]).product::<usize>();
    if shape.checked_num_elements()? == 0 || count(&product.inner) == 0 {
        return alloc.zeros(a.tensor.dtype(), shape);
    }
    let c = row_major(&shape);
    let stride_of_c = |label: &EinsumLabel| output.iter().position(|l| l == label).map_or(0, |i| c[i] as usize);

    // One stride has to cover all labels that are summed over.
    let (left_order, right_order) =
        ([&product.batch[..], &product.rows, &product.inner].concat(), [&product.batch[..], &product.inner, &product.columns].concat());
    let (mut left, mut right) = (a.clone(), b.clone());
    if runs(&product.inner, sizes, |l| (left.stride(l), 0)).len() > 1 {
        left = arranged(a, alloc, &left_order, sizes)?;
    }
    if runs(&product.inner, sizes, |l| (right.stride(l), 0)).len() > 1 {
        right = arranged(b, alloc, &right_order, sizes)?;
    }
    let plan = Plan::new(&product, &left, &right, sizes, stride_of_c);
    if plan.a.stored().is_none() {
        left = arranged(a, alloc, &left_order, sizes)?;
    }
    if plan.b.stored().is_none() {
        right = arranged(b, alloc, &right_order, sizes)?;
    }
    let plan = Plan::new(&product, &left, &right, sizes, stride_of_c);
    let dtype = a.tensor.dtype();
    if let Some((ldc, transposed)) = plan.c.stored() {
        let mut out = alloc.uninit(dtype, shape)?;
        (steps.multiply)(&plan, &left.tensor, &right.tensor, &mut out, ldc, transposed)?;
        return Ok(out);
    }
    let order = [&product.batch[..], &product.rows, &product.columns].concat();
    let whole: Shape = order.iter().map(|l| sizes[l]).collect();
    let strides = row_major(&whole);
    let plan = Plan::new(&product, &left, &right, sizes, |label| order.iter().position(|l| l == label).map_or(0, |i| strides[i] as usize));
    let mut out = alloc.uninit(dtype, whole)?;
    (steps.multiply)(&plan, &left.tensor, &right.tensor, &mut out, plan.c.columns, false)?;
    arranged(&View::new(&out, &order, sizes), alloc, output, sizes).map(|view| view.tensor)
}

/// The matrices of a contraction, and the dimensions over which they are repeated.
struct Plan {
    repeats: Vec<Repeat>,
    a: Layout,
    b: Layout,
    c: Layout,
}

impl Plan {
    /// Plans the product of operands in which one stride covers the inner labels. Rows and columns that no single stride covers are repeated.
    fn new(product: &EinsumProduct, a: &View, b: &View, sizes: &LabelSizes, stride_of_c: impl Fn(&EinsumLabel) -> usize) -> Plan {
        let mut repeats: Vec<Repeat> = Vec::new();
        for label in product.batch.iter().filter(|l| sizes[l] != 1) {
            repeats.push(Repeat { size: sizes[label], a: a.stride(label), b: b.stride(label), c: stride_of_c(label) });
        }
        let one = Run { size: 1, strides: (1, 1) };
        let mut rows = runs(&product.rows, sizes, |l| (a.stride(l), stride_of_c(l)));
        let mut columns = runs(&product.columns, sizes, |l| (b.stride(l), stride_of_c(l)));
        let inner = runs(&product.inner, sizes, |l| (a.stride(l), b.stride(l)));
        let (m, n) = (rows.pop().unwrap_or(one), columns.pop().unwrap_or(one));
        repeats.extend(rows.iter().map(|r| Repeat { size: r.size, a: r.strides.0, b: 0, c: r.strides.1 }));
        repeats.extend(columns.iter().map(|r| Repeat { size: r.size, a: 0, b: r.strides.0, c: r.strides.1 }));
        // Runs of both operands differ only if neither operand alone has two.
        let k = match inner[..] {
            [] => one,
            [run] => run,
            [.., last] => Run { size: inner.iter().map(|r| r.size).product(), ..last },
        };
        Plan {
            repeats,
            a: Layout { rows: m.size, columns: k.size, strides: (m.strides.0, k.strides.0) },
            b: Layout { rows: k.size, columns: n.size, strides: (k.strides.1, n.strides.0) },
            c: Layout { rows: m.size, columns: n.size, strides: (m.strides.1, n.strides.1) },
        }
    }

    /// Computes all products. Rows of each result are `ldc` apart; if it is `transposed`, the product of the transposed operands is computed.
    fn multiply<T: Product>(&self, x: MatrixRef<'_, T>, y: MatrixRef<'_, T>, c: &mut [T], ldc: usize, transposed: bool) {
        let size = Sizes { m: self.a.rows, k: self.a.columns, n: self.b.columns };
        if transposed {
            let (x, y) = (MatrixRef { transposed: !x.transposed, ..x }, MatrixRef { transposed: !y.transposed, ..y });
            let repeats: Vec<Repeat> = self.repeats.iter().map(|r| Repeat { a: r.b, b: r.a, ..*r }).collect();
            T::strided(&repeats, Sizes { m: size.n, n: size.m, ..size }, y, x, c, ldc);
        } else {
            T::strided(&self.repeats, size, x, y, c, ldc);
        }
    }
}
