//! `Einsum` of one or two operands: diagonals and sums first, then one batched matrix product, then a transposition.

use super::product::{Product, Sizes};
use crate::from_fn::from_fn;
use crate::gemm::MatrixRef;
use crate::number::Number;
use crate::reduction::row_sum;
use flowmill_runtime::{Kernel, KernelInit};
use flowmill_tensor::{Allocator, Complex, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A dimension's name: a letter, or the distance from the end of an ellipsis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Named(char),
    Ellipsis(usize),
}

/// The terms of an equation, as text.
#[derive(Debug)]
struct Equation {
    inputs: Vec<String>,
    output: String,
}

const ELLIPSIS: &str = "...";

impl Equation {
    fn parse(text: &str) -> Result<Equation> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let mut sides = text.split("->");
        let (Some(left), Some(output), None) = (sides.next(), sides.next(), sides.next()) else {
            bail!(InvalidArgument, "Expecting exactly one '->' in einsum equation: {text}");
        };
        let inputs: Vec<String> = left.split(',').map(str::to_owned).collect();
        if inputs.len() > 2 {
            bail!(InvalidArgument, "Expecting 1 or 2 input subscripts in equation '{text}' but got: {}", inputs.len());
        }
        for term in inputs.iter().map(String::as_str).chain([output]) {
            let letters = term.replacen(ELLIPSIS, "", 1);
            if let Some(c) = letters.chars().find(|c| !c.is_alphabetic()) {
                bail!(InvalidArgument, "Invalid character '{c}' in einsum equation: {text}");
            }
        }
        Ok(Equation { inputs, output: output.to_owned() })
    }
}

/// Returns the labels of a term's dimensions; its ellipsis covers `dims` of them.
fn labels(term: &str, dims: usize) -> Vec<Label> {
    let named = |s: &str| s.chars().map(Label::Named).collect::<Vec<_>>();
    match term.split_once(ELLIPSIS) {
        None => named(term),
        Some((before, after)) => {
            let middle = (0..dims).rev().map(Label::Ellipsis);
            named(before).into_iter().chain(middle).chain(named(after)).collect()
        }
    }
}

/// An operand whose labels are all different.
struct Operand<T> {
    data: Vec<T>,
    labels: Vec<Label>,
    sizes: Vec<usize>,
}

impl<T: Number> Operand<T> {
    /// Returns the operand with its dimensions in the order of `labels`; labels that it lacks have size 1.
    fn arranged(&self, labels: &[Label]) -> Operand<T> {
        let strides = row_major(&self.sizes);
        let position = |label: &Label| self.labels.iter().position(|l| l == label);
        let sizes: Vec<usize> = labels.iter().map(|l| position(l).map_or(1, |i| self.sizes[i])).collect();
        let steps: Vec<usize> = labels.iter().map(|l| position(l).map_or(0, |i| strides[i])).collect();
        Operand { data: gather(&self.data, &sizes, &steps), labels: labels.to_vec(), sizes }
    }

    /// Sums over the labels for which `keep` is false.
    fn summed(self, keep: impl Fn(&Label) -> bool) -> Operand<T> {
        let (kept, summed): (Vec<Label>, Vec<Label>) = self.labels.iter().partition(|l| keep(l));
        if summed.is_empty() {
            return self;
        }
        let all: Vec<Label> = kept.iter().chain(&summed).copied().collect();
        let arranged = self.arranged(&all);
        let sizes = arranged.sizes[..kept.len()].to_vec();
        let row: usize = arranged.sizes[kept.len()..].iter().product();
        let data = if row == 0 {
            vec![T::ZERO; sizes.iter().product()]
        } else {
            arranged.data.chunks_exact(row).map(|row| T::narrow(row_sum(row))).collect()
        };
        Operand { data, labels: kept, sizes }
    }

    fn size_of(&self, labels: &[Label]) -> usize {
        labels.iter().filter_map(|l| self.labels.iter().position(|own| own == l)).map(|i| self.sizes[i]).product()
    }
}

fn row_major(sizes: &[usize]) -> Vec<usize> {
    Shape::new(sizes).strides().to_vec()
}

/// Returns the elements of `data` at the positions that `sizes` and `steps` describe, in row-major order.
fn gather<T: Copy>(data: &[T], sizes: &[usize], steps: &[usize]) -> Vec<T> {
    let count: usize = sizes.iter().product();
    let mut out = Vec::with_capacity(count);
    let mut index = vec![0; sizes.len()];
    let mut offset = 0;
    for _ in 0..count {
        out.push(data[offset]);
        for ((i, &size), &step) in index.iter_mut().zip(sizes).zip(steps).rev() {
            *i += 1;
            offset += step;
            if *i < size {
                break;
            }
            offset -= step * size;
            *i = 0;
        }
    }
    out
}

/// Makes the kernel of `Einsum`.
pub(super) fn make_einsum(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let equation = Equation::parse(init.attrs.get("equation")?)?;
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i32, i64, Complex<f32>, Complex<f64>], T => from_fn(move |ctx| {
        let inputs: Vec<&Tensor> = ctx.inputs_from(0).collect();
        let out = einsum::<T>(ctx.allocator(), &equation, &inputs)?;
        drop(inputs);
        ctx.set_output(0, out);
        Ok(())
    }), _ => init.unsupported())
}

fn einsum<T: Product + Number>(alloc: &Allocator, equation: &Equation, inputs: &[&Tensor]) -> Result<Tensor> {
    if inputs.len() != equation.inputs.len() {
        bail!(InvalidArgument, "Expecting {} inputs but got {}", equation.inputs.len(), inputs.len());
    }
    let mut input_labels = Vec::new();
    let mut sizes: BTreeMap<Label, usize> = BTreeMap::new();
    for (i, (term, tensor)) in equation.inputs.iter().zip(inputs).enumerate() {
        let letters = term.replacen(ELLIPSIS, "", 1).chars().count();
        let ellipsis = tensor.rank().checked_sub(letters).filter(|&dims| dims == 0 || term.contains(ELLIPSIS));
        let Some(ellipsis) = ellipsis else {
            let least = if term.contains(ELLIPSIS) { "rank at least" } else { "rank" };
            bail!(InvalidArgument, "Expected input {i} to have {least} {letters} but got: {}", tensor.rank());
        };
        let labels = labels(term, ellipsis);
        for (axis, (label, &size)) in labels.iter().zip(tensor.shape().iter()).enumerate() {
            let known = sizes.entry(*label).or_insert(size);
            let broadcasts = matches!(label, Label::Ellipsis(_)) && (size == 1 || *known == 1);
            if broadcasts && *known == 1 {
                *known = size;
            } else if *known != size && !broadcasts {
                bail!(
                    InvalidArgument,
                    "Expected dimension {known} at axis {axis} of the input shaped {} but got dimension {size}",
                    tensor.shape()
                );
            }
        }
        input_labels.push(labels);
    }
    let ellipsis = sizes.keys().filter(|l| matches!(l, Label::Ellipsis(_))).count();
    let output = labels(&equation.output, ellipsis);
    let mut seen = Vec::new();
    for label in &output {
        if !sizes.contains_key(label) || seen.contains(label) {
            bail!(InvalidArgument, "Output subscripts '{}' must name each of the inputs' labels at most once", equation.output);
        }
        seen.push(*label);
    }
    let shape: Shape = output.iter().map(|l| sizes[l]).collect();
    shape.checked_num_elements()?;
    let mut operands = Vec::new();
    for (i, (tensor, labels)) in inputs.iter().zip(&input_labels).enumerate() {
        let other = input_labels.get(1 - i).filter(|_| inputs.len() == 2);
        let operand = diagonal::<T>(tensor, labels, &sizes)?;
        operands.push(operand.summed(|l| output.contains(l) || other.is_some_and(|o| o.contains(l))));
    }
    let result = match &operands[..] {
        [one] => one.arranged(&output),
        [a, b] => contract(a, b, &output).arranged(&output),
        _ => bail!(Internal, "einsum of {} operands", operands.len()),
    };
    alloc.from_slice(shape, &result.data)
}

/// Returns the operand with distinct labels: repeated labels select a diagonal, and broadcast dimensions are repeated to their full size.
fn diagonal<T: Number>(tensor: &Tensor, labels: &[Label], sizes: &BTreeMap<Label, usize>) -> Result<Operand<T>> {
    let strides = tensor.shape().strides();
    let mut unique: Vec<Label> = Vec::new();
    let mut steps: Vec<usize> = Vec::new();
    for ((label, &stride), &size) in labels.iter().zip(&strides).zip(tensor.shape().iter()) {
        let step = if size == 1 { 0 } else { stride };
        match unique.iter().position(|l| l == label) {
            Some(i) => steps[i] += step,
            None => {
                unique.push(*label);
                steps.push(step);
            }
        }
    }
    let sizes: Vec<usize> = unique.iter().map(|l| sizes[l]).collect();
    Ok(Operand { data: gather(tensor.as_slice::<T>()?, &sizes, &steps), labels: unique, sizes })
}

/// Returns the product of two operands, summed over the labels that both have and the output lacks.
fn contract<T: Product + Number>(a: &Operand<T>, b: &Operand<T>, output: &[Label]) -> Operand<T> {
    let shared: Vec<Label> = a.labels.iter().filter(|l| b.labels.contains(l)).copied().collect();
    let (batch, inner): (Vec<Label>, Vec<Label>) = shared.iter().partition(|l| output.contains(l));
    let only = |x: &Operand<T>| -> Vec<Label> { x.labels.iter().filter(|l| !shared.contains(l)).copied().collect() };
    let (rows, columns) = (only(a), only(b));
    let size = Sizes { m: a.size_of(&rows), k: a.size_of(&inner), n: b.size_of(&columns) };
    let left = a.arranged(&[&batch[..], &rows, &inner].concat());
    let right = b.arranged(&[&batch[..], &inner, &columns].concat());
    let batches = a.size_of(&batch);
    let mut data = vec![T::ZERO; batches * size.m * size.n];
    if !data.is_empty() && size.k > 0 {
        let x = MatrixRef { data: &left.data, ld: size.k, transposed: false };
        let y = MatrixRef { data: &right.data, ld: size.n, transposed: false };
        T::batch(size, (x, size.m * size.k), (y, size.k * size.n), &mut data);
    }
    let labels = [&batch[..], &rows, &columns].concat();
    let sizes = labels.iter().map(|l| if a.labels.contains(l) { a.size_of(&[*l]) } else { b.size_of(&[*l]) }).collect();
    Operand { data, labels, sizes }
}
