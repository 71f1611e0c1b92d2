//! Trip counts of loops that follow from the graph: a condition compares a counter with a limit, and start, step and limit are constants or follow from
//! static shapes.

use flowmill_graph::{ControlFlow, ElementwiseFunction, FrameId, FunctionBody, Graph, Node, NodeId, OutputId, Role, ShapeAnalysis};
use std::cell::Cell;

/// The expressions that a counter is followed through.
const MAX_DEPTH: usize = 32;
/// The expressions that are visited for one loop. Without a limit, a chain of `LogicalAnd(x, x)` would be visited as often as it has paths.
const MAX_VISITS: usize = 4096;

/// A scalar `variable + offset`; a constant without a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Linear {
    /// The loop's variable: the node whose output it is within an iteration.
    variable: Option<NodeId>,
    offset: i64,
}

/// The value of a scalar in iteration `k`: `start + step · k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Progression {
    start: i64,
    step: i64,
}

/// Scalar expressions of one graph.
struct Scalars<'a> {
    graph: &'a Graph,
    shapes: &'a ShapeAnalysis,
    /// The expressions that may still be visited.
    visits: Cell<usize>,
}

impl<'a> Scalars<'a> {
    fn new(graph: &'a Graph, shapes: &'a ShapeAnalysis) -> Scalars<'a> {
        Scalars { graph, shapes, visits: Cell::new(MAX_VISITS) }
    }

    /// Counts the visit of an expression. Returns the node that computes it, unless the limits forbid the visit.
    fn visit(&self, tensor: OutputId, depth: usize) -> Option<&'a Node> {
        self.visits.set(self.visits.get().checked_sub(1)?);
        self.graph.get(tensor.node).filter(|_| depth < MAX_DEPTH)
    }

    /// Returns a scalar as a loop's variable and an offset, if sums and differences with constants make it.
    fn linear(&self, tensor: OutputId, depth: usize) -> Option<Linear> {
        if let Some(constant) = self.shapes.constant(tensor) {
            return Some(Linear { variable: None, offset: constant.to_i64().ok()? });
        }
        let node = self.visit(tensor, depth)?;
        let input = |i: usize| self.linear(self.graph.input(node.id(), i)?, depth + 1);
        match (node.role(), node.traits().elementwise) {
            (Role::Merge | Role::Arg, _) => Some(Linear { variable: Some(node.id()), offset: 0 }),
            (Role::Enter | Role::Switch | Role::Exit, _) => input(0),
            (_, Some(ElementwiseFunction::Add)) => {
                let (a, b) = (input(0)?, input(1)?);
                let variable = match (a.variable, b.variable) {
                    (variable, None) | (None, variable) => variable,
                    _ => return None,
                };
                Some(Linear { variable, offset: a.offset.checked_add(b.offset)? })
            }
            (_, Some(ElementwiseFunction::Sub)) => {
                let (a, b) = (input(0)?, input(1).filter(|b| b.variable.is_none())?);
                Some(Linear { variable: a.variable, offset: a.offset.checked_sub(b.offset)? })
            }
            (_, Some(ElementwiseFunction::Maximum | ElementwiseFunction::Minimum)) => {
                let (a, b) = (input(0)?, input(1)?);
                let is_maximum = node.traits().elementwise == Some(ElementwiseFunction::Maximum);
                let offset = if is_maximum { a.offset.max(b.offset) } else { a.offset.min(b.offset) };
                (a.variable.is_none() && b.variable.is_none()).then_some(Linear { variable: None, offset })
            }
            _ if node.traits().passes_on => input(0),
            _ => None,
        }
    }

    fn constant(&self, tensor: OutputId) -> Option<i64> {
        self.linear(tensor, 0).filter(|scalar| scalar.variable.is_none()).map(|scalar| scalar.offset)
    }

    /// Returns the iteration in which a condition is false for the first time. `progression` returns the start and the step of a loop's variable.
    fn count(&self, condition: OutputId, progression: &dyn Fn(NodeId) -> Option<Progression>, depth: usize) -> Option<u64> {
        let node = self.visit(condition, depth)?;
        let input = |i: usize| self.graph.input(node.id(), i);
        let value = |i: usize| {
            let Linear { variable, offset } = self.linear(input(i)?, 0)?;
            let Progression { start, step } = variable.map_or(Some(Progression { start: 0, step: 0 }), progression)?;
            Some(Progression { start: start.checked_add(offset)?, step })
        };
        if node.traits().elementwise == Some(ElementwiseFunction::LogicalAnd) {
            // The loop ends when either is false. Of a condition that is not understood, the other one is a bound.
            let sides = [0, 1].map(|i| self.count(input(i)?, progression, depth + 1));
            return sides.into_iter().flatten().min();
        }
        let Some(comparison) = node.traits().elementwise else {
            return if is_passed_on(node) { self.count(input(0)?, progression, depth + 1) } else { None };
        };
        let (a, b) = (value(0)?, value(1)?);
        let (start, step) = (i128::from(a.start) - i128::from(b.start), i128::from(a.step) - i128::from(b.step));
        // Returns the first k with start + step · k >= 0.
        let first_not_negative = |start: i128, step: i128| match (start, step) {
            (0.., _) => Some(0),
            (_, 1..) => Some((-start + step - 1) / step),
            _ => None,
        };
        let count = match comparison {
            ElementwiseFunction::Less => first_not_negative(start, step),
            ElementwiseFunction::LessEqual => first_not_negative(start - 1, step),
            ElementwiseFunction::Greater => first_not_negative(-start, -step),
            ElementwiseFunction::GreaterEqual => first_not_negative(-start - 1, -step),
            ElementwiseFunction::NotEqual if start == 0 => Some(0),
            ElementwiseFunction::NotEqual if step != 0 && start % step == 0 => Some(-start / step).filter(|&count| count > 0),
            _ => None,
        };
        u64::try_from(count?).ok()
    }
}

fn is_passed_on(node: &Node) -> bool {
    node.traits().passes_on || matches!(node.role(), Role::LoopCond | Role::Switch | Role::Enter)
}

/// Returns the trip count of each frame, by [`FrameId`]; `None` for the root, and for a loop that may end at any time.
pub(crate) fn of_frames(graph: &Graph, flow: &ControlFlow, shapes: &ShapeAnalysis) -> Vec<Option<u64>> {
    let of_frame = |frame: &flowmill_graph::Frame| {
        let condition = graph.input(frame.loop_cond?, 0)?;
        let scalars = Scalars::new(graph, shapes);
        scalars.count(condition, &|merge| frame_variable(&scalars, merge), 0)
    };
    flow.frames().iter().map(of_frame).collect()
}

/// Returns the values of a loop's variable, which is the output of a `Merge` of an `Enter` and a `NextIteration`.
fn frame_variable(scalars: &Scalars<'_>, merge: NodeId) -> Option<Progression> {
    let graph = scalars.graph;
    let sources = [0, 1].map(|i| graph.input(merge, i));
    let source = |role: Role| sources.into_iter().flatten().find(|source| graph.get(source.node).is_some_and(|node| node.role() == role));
    let start = scalars.constant(source(Role::Enter)?)?;
    let next = graph.input(source(Role::NextIteration)?.node, 0)?;
    let Linear { variable, offset } = scalars.linear(next, 0)?;
    (variable == Some(merge)).then_some(Progression { start, step: offset })
}

/// Returns the trip count of a node that calls a condition and a body in turn.
pub(crate) fn of_while(graph: &Graph, shapes: &ShapeAnalysis, node: &Node, condition: &FunctionBody, body: &FunctionBody) -> Option<u64> {
    let outer = Scalars::new(graph, shapes);
    let (condition_shapes, body_shapes) = (ShapeAnalysis::new(&condition.graph), ShapeAnalysis::new(&body.graph));
    let inner = Scalars::new(&body.graph, &body_shapes);
    let variable = |arg: NodeId| {
        let i = condition.args.iter().position(|&other| other == arg)?;
        let start = outer.constant(graph.input(node.id(), i)?)?;
        let next = body.graph.input(*body.retvals.get(i)?, 0)?;
        let Linear { variable, offset } = inner.linear(next, 0)?;
        (variable == body.args.get(i).copied()).then_some(Progression { start, step: offset })
    };
    let conditions = Scalars::new(&condition.graph, &condition_shapes);
    conditions.count(condition.graph.input(*condition.retvals.first()?, 0)?, &variable, 0)
}

/// Returns the number of times that each frame's nodes run per step, by [`FrameId`]. `iterations` returns that of one loop per execution of the loop.
pub(crate) fn executions(flow: &ControlFlow, iterations: impl Fn(FrameId) -> f64) -> Vec<f64> {
    let mut executions: Vec<f64> = Vec::with_capacity(flow.frames().len());
    for (i, frame) in flow.frames().iter().enumerate() {
        let outside = frame.parent.and_then(|parent| executions.get(parent.0 as usize).copied());
        executions.push(outside.map_or(1.0, |outside| outside * iterations(FrameId(i as u32))));
    }
    executions
}
