//! Bodies of functions and the tensors that they use of the graphs around them.
//!
//! While the body of a function is built, the graphs form a stack: the graph of the session is level 0, the body of a function that it calls level 1,
//! the body of a function in that body level 2, and so on. A tensor of an outer graph that a body uses is *captured*: a `Placeholder` in the body
//! replaces it, which becomes a parameter of the function, and each call of the function gets the tensor as an argument. A tensor that is used several
//! times is captured once.

use super::{BuilderState, Scope, ScopedBuilder};
use crate::OutputId;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, PartialShape, Result, Tensor, bail};
use rustc_hash::FxHashMap;

/// A tensor of one of the graphs of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackOutput {
    /// The graph: 0 is the outermost one.
    pub level: usize,
    /// The tensor in that graph.
    pub output: OutputId,
}

/// A tensor of an outer graph that the body of a function uses, and the body's parameter for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The outer tensor.
    pub outside: StackOutput,
    /// The output of the body's `Placeholder` that replaces it.
    pub inside: OutputId,
}

/// The facts about an outer tensor that a body needs in order to capture it.
#[derive(Clone, Debug)]
pub struct OuterTensor {
    name: String,
    dtype: DType,
    shape: PartialShape,
    elements: Option<Vec<(DType, PartialShape)>>,
    constant: Option<Tensor>,
}

impl OuterTensor {
    /// Returns the facts about a tensor of the builder's graph.
    ///
    /// # Errors
    /// `NotFound` and `OutOfRange` for a tensor that is not there.
    pub fn new(b: &ScopedBuilder<'_>, output: OutputId) -> Result<OuterTensor> {
        let dtype = b.graph.output_type(output)?.dtype;
        let name = b.graph.node(output.node)?.name().rsplit('/').next().unwrap_or_default().to_owned();
        let elements = match dtype {
            DType::Resource | DType::Variant => b.state.shapes.value(output).and_then(|v| v.elements.clone()),
            _ => None,
        };
        let constant = b.state.shapes.value(output).and_then(|v| v.constant.clone());
        Ok(OuterTensor { name, dtype, shape: b.shape(output), elements, constant })
    }

    /// Returns the facts with another name for the parameter.
    #[must_use]
    pub fn named(self, name: &str) -> OuterTensor {
        OuterTensor { name: name.to_owned(), ..self }
    }
}

/// The captures of a body, in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub(super) struct Captures {
    all: Vec<Capture>,
    parameters: FxHashMap<StackOutput, OutputId>,
}

impl BuilderState {
    /// Returns the outer tensors that this graph has captured, in the order of its parameters for them.
    pub fn captures(&self) -> &[Capture] {
        &self.captures.all
    }

    /// Returns the parameter for an outer tensor, or `None` if it has not been captured.
    pub fn captured(&self, outside: StackOutput) -> Option<OutputId> {
        self.captures.parameters.get(&outside).copied()
    }
}

impl ScopedBuilder<'_> {
    /// Returns the parameter that replaces the outer tensor `outside` in this graph, the body of a function. The first use adds it: a `Placeholder`
    /// that is in no control-flow context and waits for nothing. For a reference the parameter is the value that it refers to. Shape functions in the body
    /// see the value of a constant.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that no node can have; see [`OpBuilder::finish`](super::OpBuilder::finish).
    pub fn capture(&mut self, outside: StackOutput, tensor: &OuterTensor) -> Result<OutputId> {
        if let Some(known) = self.state.captured(outside) {
            return Ok(known);
        }
        let scope = self.scope.unconditional();
        let dtype = Value::Type(tensor.dtype.number());
        let shape = tensor.shape.to_proto();
        let inside = self.within(scope, |b| b.op("Placeholder").name(&tensor.name).attr("dtype", dtype).attr("shape", shape).output())?;
        if tensor.elements.is_some() {
            self.state.set_elements(inside, tensor.elements.clone());
        }
        if let Some(constant) = &tensor.constant {
            self.state.shapes.set_constant(inside, constant.clone());
        }
        self.state.captures.all.push(Capture { outside, inside });
        self.state.captures.parameters.insert(outside, inside);
        Ok(inside)
    }
}

/// The graphs of a stack, each of which may be behind a lock of its own: only one of them is borrowed at a time.
pub trait GraphStack {
    /// Returns the level of the innermost graph.
    fn top(&self) -> usize;

    /// Runs `f` with a builder of the graph of a level.
    ///
    /// # Errors
    /// `NotFound` for a level that the stack does not have, and the error of `f`.
    fn build<T: Send>(&mut self, level: usize, scope: &Scope, f: impl FnOnce(&mut ScopedBuilder<'_>) -> Result<T> + Send) -> Result<T>;

    /// Runs `f`, which takes long and needs none of the graphs.
    fn detached<T: Send>(&mut self, f: impl FnOnce() -> T + Send) -> T {
        f()
    }

    /// Returns the innermost graph's tensor for a tensor of the stack: the tensor itself, or the parameter for an outer tensor.
    ///
    /// # Errors
    /// `NotFound` and `OutOfRange` for a tensor that is not there, and the errors of [`ScopedBuilder::capture`].
    fn resolve(&mut self, scope: &Scope, tensor: StackOutput) -> Result<OutputId> {
        let top = self.top();
        if tensor.level == top {
            return Ok(tensor.output);
        }
        if tensor.level > top {
            bail!(NotFound, "no graph of level {} is being built, only {top} bodies of functions", tensor.level);
        }
        let outer = self.build(tensor.level, &Scope::root(), |b| OuterTensor::new(b, tensor.output))?;
        self.build(top, scope, |b| b.capture(tensor, &outer))
    }
}
