//! Replaces element-wise functions by fewer or cheaper ones.
//!
//! | before | after | |
//! |---|---|---|
//! | `a - (-b)`, `a + (-b)`, `(-a) + b` | `a + b`, `a - b`, `b - a` | all bits stay |
//! | `(-a) · (-b)`, `(-a) / (-b)`, `\|-a\|`, `(-a)²` | `a · b`, `a / b`, `\|a\|`, `a²` | all bits stay |
//! | `(-a) · c`, `(-a) / c`, `-(a · c)`, `-(a / c)` with a constant `c` | `a · (-c)`, `a / (-c)` | all bits stay |
//! | `-(a - b)` of integers | `b - a` | all bits stay |
//! | `a · a`, `1 / a`, `1 / √a` | `Square(a)`, `Reciprocal(a)`, `Rsqrt(a)` | all bits stay on the CPU |
//! | `aⁿ` with `n` one of 2, 3, ½, −½, −1 | `a²`, `a · a²`, `√a`, `Rsqrt(a)`, `1 / a` | as TensorFlow does |
//! | `(a + c) + d`, `(a · c) · d`, `(c - a) + d`, `d - (a + c)`, `d - (c - a)` with constants | one function of one constant | rounding |
//! | `(a + s) + t` of integers, where `s` and `t` have fewer dimensions | `a + (s + t)` | all bits stay |
//! | `¬(a = b)`, and of integers `¬(a < b)` and the like | `a ≠ b`, `a ≥ b` | the same; NaN is neither less nor greater |
//! | `¬(¬a ∧ ¬b)`, `¬a ∧ ¬b`, and with `∨` | `a ∨ b`, `¬(a ∨ b)` | the same |
//! | `SelectV2(¬c, a, b)` | `SelectV2(c, b, a)` | the same |
//!
//! Sound because of that, and because the new function has all operands of the old ones, so that it fails and is dead in the same cases. It waits for the
//! nodes that the old ones and their constants waited for. Guards:
//! * an inner function whose result others see is left out only if that does not add a function;
//! * two constants are combined if the result is finite, and for products normal: then nothing overflows that did not before;
//! * an operand is not widened: `a ⁿ` and `1 / a` have the shape of `a`;
//! * the target has the new op for the type; all on one device.
//!
//! `canonicalize` runs earlier: constants are right operands, and no difference has a constant on its right.

use crate::arithmetic::{Operand, Term, apply};
use crate::constant_math::{is_safe, negated};
use crate::rewrite::{Constant, constant_input, sole_consumer};
use crate::splat::{Splat, splat};
use crate::{PassContext, Shapes, Target};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{ElementwiseFunction, Graph, Node, NodeId, OutputId, evaluate_node, is_pure};
use flowmill_tensor::{DType, Result};

/// The largest result of a function of two constants.
const MAX_BYTES: usize = 1 << 20;

pub(crate) fn run(graph: &mut Graph, PassContext { target, shapes, limit }: PassContext<'_>) -> Result<usize> {
    let mut count = 0;
    for id in topological_order(graph)? {
        if count == limit {
            break;
        }
        let Some(found) = graph.get(id).and_then(|node| Finder::new(graph, node, target, shapes)?.find()) else { continue };
        if !found.ops().all(|op| target.supports(op, found.dtype)) {
            continue;
        }
        let new = apply(graph, id, found)?;
        shapes.set_same(new.output(0), id.output(0));
        count += 1;
    }
    Ok(count)
}

/// Looks for what a node can be replaced by.
struct Finder<'a> {
    graph: &'a Graph,
    node: &'a Node,
    function: ElementwiseFunction,
    dtype: DType,
    target: &'a dyn Target,
    shapes: &'a Shapes,
}

impl<'a> Finder<'a> {
    fn new(graph: &'a Graph, node: &'a Node, target: &'a dyn Target, shapes: &'a Shapes) -> Option<Finder<'a>> {
        let function = node.traits().elementwise.filter(|_| is_pure(graph, node))?;
        let dtype = node.input_types().last()?.dtype;
        Some(Finder { graph, node, function, dtype, target, shapes })
    }

    fn find(&self) -> Option<Term> {
        use ElementwiseFunction::*;
        match self.function {
            Neg => self.negation(),
            LogicalNot => self.logical_not(),
            Reciprocal => self.reciprocal(self.input(0)?),
            Add => self.sum().or_else(|| self.constants()).or_else(|| self.narrow_operands()),
            Sub => self.difference().or_else(|| self.constants()),
            Mul => self.product().or_else(|| self.constants()),
            RealDiv => self.quotient(),
            Pow => self.power(),
            LogicalAnd | LogicalOr => self.logical(),
            SelectV2 => self.select(),
            function if function.is_even() => {
                let (inner, a) = self.inner(0, Neg)?;
                Some(self.term(function, [a.into()], &[inner]))
            }
            _ => None,
        }
    }

    fn input(&self, i: usize) -> Option<OutputId> {
        self.graph.input(self.node.id(), i)
    }

    /// Returns the node that computes `function` for input `i`, and its first operand.
    fn inner(&self, i: usize, function: ElementwiseFunction) -> Option<(&'a Node, OutputId)> {
        self.producer(self.input(i)?, function)
    }

    fn producer(&self, tensor: OutputId, function: ElementwiseFunction) -> Option<(&'a Node, OutputId)> {
        let node = self.graph.get(tensor.node)?;
        let is_found = node.traits().elementwise == Some(function) && node.device() == self.node.device() && is_pure(self.graph, node);
        Some((node, self.graph.input(node.id(), 0).filter(|_| is_found)?))
    }

    /// Like [`inner`](Self::inner), of a node that nobody else sees.
    fn own(&self, i: usize, function: ElementwiseFunction) -> Option<(&'a Node, OutputId)> {
        self.inner(i, function).filter(|(node, _)| sole_consumer(self.graph, node.id()).is_some())
    }

    fn constant(&self, node: &Node, i: usize) -> Option<Constant> {
        constant_input(self.graph, node.id(), i)
    }

    fn constant_negated(&self, node: &Node, i: usize) -> Option<Operand> {
        let found = self.constant(node, i)?;
        Some(Operand::Constant(Constant { value: negated(&found.value)?, ..found }))
    }

    /// Returns a function that replaces the node and `skipped` nodes before it.
    fn term(&self, function: ElementwiseFunction, operands: impl IntoIterator<Item = Operand>, skipped: &[&Node]) -> Term {
        let replaced: Vec<NodeId> = skipped.iter().map(|n| n.id()).collect();
        Term { function, dtype: self.dtype, operands: operands.into_iter().collect(), replaced }
    }

    fn negation(&self) -> Option<Term> {
        use ElementwiseFunction::*;
        for function in [Mul, RealDiv] {
            if let Some((inner, a)) = self.own(0, function) {
                return Some(self.term(function, [a.into(), self.constant_negated(inner, 1)?], &[inner]));
            }
        }
        let (inner, a) = self.own(0, Sub).filter(|_| self.dtype.is_integer())?;
        Some(self.term(Sub, [self.graph.input(inner.id(), 1)?.into(), a.into()], &[inner]))
    }

    fn sum(&self) -> Option<Term> {
        use ElementwiseFunction::*;
        if let Some((inner, b)) = self.inner(1, Neg) {
            return Some(self.term(Sub, [self.input(0)?.into(), b.into()], &[inner]));
        }
        let (inner, a) = self.inner(0, Neg)?;
        Some(self.term(Sub, [self.input(1)?.into(), a.into()], &[inner]))
    }

    fn difference(&self) -> Option<Term> {
        let (inner, b) = self.inner(1, ElementwiseFunction::Neg)?;
        Some(self.term(ElementwiseFunction::Add, [self.input(0)?.into(), b.into()], &[inner]))
    }

    fn product(&self) -> Option<Term> {
        use ElementwiseFunction::*;
        let (left, right) = (self.input(0)?, self.input(1)?);
        if left == right {
            return Some(self.term(Square, [left.into()], &[]));
        }
        self.signs()
    }

    /// Removes signs from both operands, or moves the sign of one into a constant.
    fn signs(&self) -> Option<Term> {
        let (inner, a) = self.inner(0, ElementwiseFunction::Neg)?;
        if let Some((other, b)) = self.inner(1, ElementwiseFunction::Neg) {
            return Some(self.term(self.function, [a.into(), b.into()], &[inner, other]));
        }
        Some(self.term(self.function, [a.into(), self.constant_negated(self.node, 1)?], &[inner]))
    }

    fn quotient(&self) -> Option<Term> {
        let is_one = splat(self.graph, self.input(0)?).is_some_and(|(value, _)| value.is_number(1));
        if is_one && self.dtype.is_floating() && self.has_shape_of(1) {
            let of = self.constant(self.node, 0).filter(|one| one.controls.is_empty()).and(self.input(1))?;
            return Some(self.reciprocal(of).unwrap_or_else(|| self.term(ElementwiseFunction::Reciprocal, [of.into()], &[])));
        }
        self.signs()
    }

    /// Returns the reciprocal of a square root.
    fn reciprocal(&self, of: OutputId) -> Option<Term> {
        let (inner, a) = self.producer(of, ElementwiseFunction::Sqrt).filter(|_| self.dtype.is_floating())?;
        Some(self.term(ElementwiseFunction::Rsqrt, [a.into()], &[inner]))
    }

    fn has_shape_of(&self, i: usize) -> bool {
        self.input(i).is_some_and(|input| self.shapes.of(self.graph).are_equal(input, self.node.id().output(0)))
    }

    fn power(&self) -> Option<Term> {
        use ElementwiseFunction::*;
        let (power, controls) = splat(self.graph, self.input(1)?)?;
        if !self.has_shape_of(0) || !controls.is_empty() || self.dtype.is_complex() {
            return None;
        }
        let a: Operand = self.input(0)?.into();
        let is_square = power.is_number(2);
        let square = Operand::Term(Box::new(self.term(Square, [a.clone()], &[])));
        Some(match power {
            _ if is_square => self.term(Square, [a], &[]),
            _ if power.is_number(3) => self.term(Mul, [a, square], &[]),
            Splat::Float(0.5) => self.term(Sqrt, [a], &[]),
            Splat::Float(-0.5) => self.term(Rsqrt, [a], &[]),
            Splat::Float(-1.0) => self.term(Reciprocal, [a], &[]),
            _ => return None,
        })
    }

    /// Combines the constants of this function and of the one before it.
    fn constants(&self) -> Option<Term> {
        use ElementwiseFunction::*;
        let (at, inner_at) = if self.function == Sub { (0, 1) } else { (1, 0) };
        let outer = self.constant(self.node, at)?;
        let combined = |function: ElementwiseFunction, a: &Constant, b: &Constant| {
            let values = [a.value.clone(), b.value.clone()];
            // Any node of the function computes it.
            let by = if function == self.function { self.node } else { self.own(inner_at, function)?.0 };
            let value = evaluate_node(self.target, self.graph, by.id(), &values, MAX_BYTES)?.pop()?;
            is_safe(&value, function != Mul)
                .then(|| Operand::Constant(Constant { value, controls: [&a.controls[..], &b.controls].concat() }))
        };
        if let Some((inner, left)) = self.own(inner_at, if self.function == Sub { Add } else { self.function }) {
            // (a + c) + d, (a · c) · d and d - (a + c).
            let constant = self.constant(inner, 1).filter(|_| self.constant(inner, 0).is_none())?;
            let operands = match self.function {
                Sub => [combined(Sub, &outer, &constant)?, left.into()],
                function => [left.into(), combined(function, &constant, &outer)?],
            };
            return Some(self.term(self.function, operands, &[inner]));
        }
        let (inner, _) = self.own(inner_at, Sub).filter(|_| self.function != Mul)?;
        let (constant, a) = (self.constant(inner, 0)?, self.graph.input(inner.id(), 1)?);
        Some(match self.function {
            // (c - a) + d
            Add => self.term(Sub, [combined(Add, &constant, &outer)?, a.into()], &[inner]),
            // d - (c - a)
            _ => self.term(Add, [a.into(), combined(Sub, &outer, &constant)?], &[inner]),
        })
    }

    /// Adds two small operands of integers before they are added to a large one.
    fn narrow_operands(&self) -> Option<Term> {
        let (inner, a) = self.own(0, ElementwiseFunction::Add).filter(|_| self.dtype.is_integer())?;
        let (s, t) = (self.graph.input(inner.id(), 1)?, self.input(1)?);
        let shapes = self.shapes.of(self.graph);
        let rank = |tensor: OutputId| shapes.rank(tensor);
        let is_narrow = rank(s)?.max(rank(t)?) < rank(a)? && (shapes.are_equal(s, t) || rank(s)? == 0 || rank(t)? == 0);
        let sum = Operand::Term(Box::new(self.term(ElementwiseFunction::Add, [s.into(), t.into()], &[])));
        is_narrow.then(|| self.term(ElementwiseFunction::Add, [a.into(), sum], &[inner]))
    }

    fn logical_not(&self) -> Option<Term> {
        use ElementwiseFunction::*;
        let (function, is_exact) = match self.graph.get(self.input(0)?.node)?.traits().elementwise? {
            Equal => (NotEqual, true),
            NotEqual => (Equal, true),
            Less => (GreaterEqual, false),
            LessEqual => (Greater, false),
            Greater => (LessEqual, false),
            GreaterEqual => (Less, false),
            LogicalAnd => return self.de_morgan(LogicalAnd, LogicalOr),
            LogicalOr => return self.de_morgan(LogicalOr, LogicalAnd),
            _ => return None,
        };
        let (inner, left) = self.own(0, self.graph.get(self.input(0)?.node)?.traits().elementwise?)?;
        let right = self.graph.input(inner.id(), 1)?;
        let dtype = self.graph.output_type(left).ok()?.dtype;
        let raises_errors = inner.attrs().get_or("incompatible_shape_error", true).ok()?;
        let is_admitted = raises_errors && (is_exact || dtype.is_integer());
        is_admitted.then(|| Term { dtype, ..self.term(function, [left.into(), right.into()], &[inner]) })
    }

    /// Replaces `¬(¬a ∧ ¬b)` by `a ∨ b`.
    fn de_morgan(&self, function: ElementwiseFunction, dual: ElementwiseFunction) -> Option<Term> {
        let (inner, _) = self.own(0, function)?;
        let (left, a) = self.producer(self.graph.input(inner.id(), 0)?, ElementwiseFunction::LogicalNot)?;
        let (right, b) = self.producer(self.graph.input(inner.id(), 1)?, ElementwiseFunction::LogicalNot)?;
        Some(self.term(dual, [a.into(), b.into()], &[left, right, inner]))
    }

    /// Replaces `¬a ∧ ¬b` by `¬(a ∨ b)`, unless that is negated itself.
    fn logical(&self) -> Option<Term> {
        use ElementwiseFunction::*;
        let dual = if self.function == LogicalAnd { LogicalOr } else { LogicalAnd };
        let ((left, a), (right, b)) = (self.own(0, LogicalNot)?, self.own(1, LogicalNot)?);
        let inner = Operand::Term(Box::new(self.term(dual, [a.into(), b.into()], &[])));
        Some(self.term(LogicalNot, [inner], &[left, right]))
    }

    fn select(&self) -> Option<Term> {
        let (inner, condition) = self.inner(0, ElementwiseFunction::LogicalNot)?;
        let operands = [condition, self.input(2)?, self.input(1)?].map(Operand::from);
        Some(self.term(ElementwiseFunction::SelectV2, operands, &[inner]))
    }
}
