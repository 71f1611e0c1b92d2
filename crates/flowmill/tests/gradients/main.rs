//! Gradients against finite differences: of ops, through control flow, and how the walk goes.
#![allow(clippy::unwrap_used, clippy::panic)]

use flowmill::builder::gradients::{GradientOptions, add_gradients};
use flowmill::builder::{BuilderState, Scope, ScopedBuilder};
use flowmill::{DType, OutputId, PartialShape, Result, Session, SessionOptions, Tensor};
use std::sync::Arc;

mod control_flow;
mod coverage;
mod elements;
mod function_frames;
mod functions;
mod kernels;
mod lists;
mod matrices;
mod networks;
mod ops;
mod ragged;
mod segments;
mod walk;

/// Fed tensors, and a function of them.
struct Case {
    session: Arc<Session>,
    xs: Vec<String>,
    y: String,
    grads: Vec<String>,
    /// The static shapes of the gradients.
    shapes: Vec<PartialShape>,
}

/// Builds `f` of placeholders with the shapes of `values`, known or not, and its gradients.
fn build(values: &[Tensor], static_shapes: bool, f: impl FnOnce(&mut ScopedBuilder<'_>, &[OutputId]) -> Result<OutputId>) -> Result<Case> {
    let mut graph = flowmill::new_graph()?;
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root())?;
    let mut xs = Vec::new();
    for value in values {
        let shape = if static_shapes { PartialShape::from(value.shape().clone()) } else { PartialShape::unknown_of_rank(value.rank()) };
        let x = b.op("Placeholder").name("x").attr("dtype", flowmill_proto::DataType::DtDouble).attr("shape", shape.to_proto());
        xs.push(x.output()?);
    }
    let y = f(&mut b, &xs)?;
    let grads = add_gradients(&mut b, &[y], &xs, &[], &GradientOptions::default())?;
    let (mut names, mut shapes) = (Vec::new(), Vec::new());
    for grad in &grads {
        let grad = b.densify(grad.as_ref().unwrap())?;
        names.push(b.graph().tensor_name(grad));
        shapes.push(b.shape(grad));
    }
    let name = |t: &OutputId| b.graph().tensor_name(*t);
    let (xs, y) = (xs.iter().map(name).collect(), name(&y));
    graph.validate()?;
    Ok(Case { session: flowmill::session(graph, SessionOptions::default())?, xs, y, grads: names, shapes })
}

impl Case {
    fn run(&self, values: &[Tensor], fetches: &[&str]) -> Vec<Tensor> {
        let feeds: Vec<(&str, Tensor)> = self.xs.iter().map(String::as_str).zip(values.iter().cloned()).collect();
        self.session.run(&feeds, fetches, &[]).unwrap()
    }

    /// The sum of `y`.
    fn loss(&self, values: &[Tensor]) -> f64 {
        self.run(values, &[&self.y])[0].as_slice::<f64>().unwrap().iter().sum()
    }

    fn compare(&self, what: &str, values: &[Tensor], precision: Precision) {
        let step = precision.step;
        let fetches: Vec<&str> = self.grads.iter().map(String::as_str).collect();
        let grads = self.run(values, &fetches);
        for (i, grad) in grads.iter().enumerate() {
            assert_eq!(grad.shape(), values[i].shape(), "{what}: gradient {i}");
            for element in 0..grad.num_elements() {
                let moved = |by: f64| {
                    let mut values = values.to_vec();
                    values[i].as_mut_slice::<f64>().unwrap()[element] += by;
                    self.loss(&values)
                };
                let numeric = (moved(step) - moved(-step)) / (2.0 * step);
                let symbolic = grad.as_slice::<f64>().unwrap()[element];
                let tolerance = precision.tolerance * (0.1 + numeric.abs());
                assert!(
                    (numeric - symbolic).abs() < tolerance,
                    "{what}: gradient {i}, element {element}: {symbolic}, by differences {numeric}"
                );
            }
        }
    }
}

/// The distance by which arguments are moved, and the relative error that a gradient may have against the differences.
#[derive(Clone, Copy)]
struct Precision {
    step: f64,
    tolerance: f64,
}

const DOUBLE: Precision = Precision { step: 1e-5, tolerance: 1e-5 };
/// For what has kernels for `float` alone.
const SINGLE: Precision = Precision { step: 2e-2, tolerance: 1e-2 };

/// Compares with static and with unknown shapes.
fn check(what: &str, values: &[Tensor], f: impl Fn(&mut ScopedBuilder<'_>, &[OutputId]) -> Result<OutputId>) {
    check_with(DOUBLE, what, values, f);
}

fn check_with(precision: Precision, what: &str, values: &[Tensor], f: impl Fn(&mut ScopedBuilder<'_>, &[OutputId]) -> Result<OutputId>) {
    for static_shapes in [true, false] {
        build(values, static_shapes, &f).unwrap_or_else(|e| panic!("{what}: {e}")).compare(what, values, precision);
    }
}

/// Like [`check`], for a function of `float`s.
fn check_single(what: &str, values: &[Tensor], f: impl Fn(&mut ScopedBuilder<'_>, &[OutputId]) -> Result<OutputId>) {
    check_with(SINGLE, what, values, |b, xs| {
        let xs: Vec<OutputId> = xs.iter().map(|&x| b.cast(x, DType::F32)).collect::<Result<_>>()?;
        let y = f(b, &xs)?;
        b.cast(y, DType::F64)
    });
}

fn type_attr(dtype: DType) -> flowmill_proto::AttrValue {
    flowmill_proto::attr_value::Value::Type(dtype.number()).into()
}

/// Numbers between 0.2 and 0.9, none like another.
fn numbers(shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    let values: Vec<f64> = (0..count).map(|i| 0.2 + 0.7 * ((i as f64 * 0.618_034 + 0.1) % 1.0)).collect();
    Tensor::from_slice(shape.to_vec(), &values).unwrap()
}
