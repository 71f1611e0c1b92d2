//! Functions whose bodies are closures.

use super::{GraphBuilder, Output};
use crate::builder::{BuilderState, GraphStack, Scope, ScopedBuilder, StackOutput};
use crate::graph::traverse::reverse_reachable;
use crate::graph::{FunctionArg, FunctionPart, Node, function_def};
use crate::proto::attr_value::{ListValue, Value};
use crate::proto::{AttrValue, FunctionDef, NameAttrList};
use crate::{DType, Graph, NodeId, OutputId, PartialShape, Result};
use flowmill_tensor::{bail, error};

/// The body of a function that is being built: a graph of its own.
pub(super) struct Body {
    pub(super) graph: Graph,
    pub(super) state: BuilderState,
    /// Distinguishes the graphs that a builder has begun; 0 is the graph that it owns.
    pub(super) number: u32,
}

/// A function of `N` tensors that returns `M` tensors. [`GraphBuilder::function`] makes one.
#[derive(Clone, Debug)]
pub struct Function<'b, const N: usize, const M: usize> {
    builder: &'b GraphBuilder,
    name: String,
    args: Vec<(DType, PartialShape)>,
    results: Vec<(DType, PartialShape)>,
    captured: Vec<Output<'b>>,
    is_stateful: bool,
}

impl GraphBuilder {
    /// Builds a function by calling `body` with its parameters, of the types and shapes `args`. The methods of the builder add nodes to the body until
    /// `body` returns. [`Function::call`] adds a call.
    ///
    /// The body may use the tensors of the graphs around it. Such a tensor is captured: it becomes a further parameter, one for each tensor, and each
    /// call gets it as an argument. Bodies nest to any depth, and [`GraphBuilder::cond`] and [`GraphBuilder::while_loop`] work in them. Derivatives
    /// with respect to captured tensors, and to tensors that these depend on, may be taken inside of the body as well as outside.
    ///
    /// ```
    /// use flowmill::PartialShape;
    /// use flowmill::prelude::*;
    ///
    /// # fn main() -> flowmill::Result<()> {
    /// let b = GraphBuilder::new()?;
    /// let v = b.constant(3.0f32)?;
    /// let w = v * v;
    /// // f(x) = x w², and its derivative with respect to v, which the body does not use itself.
    /// let f = b.function("f", [(DType::F32, PartialShape::scalar())], |[x]| {
    ///     let y = x * w * w;
    ///     let [slope] = b.gradients(y, [v])?;
    ///     Ok([y, slope])
    /// })?;
    /// assert_eq!(f.captured().len(), 2); // v and w
    /// let [y, slope] = f.call([b.constant(2.0f32)?])?;
    /// let session = b.session(SessionOptions::default())?;
    /// let [y, slope] = session.runner().fetch([y, slope])?;
    /// assert_eq!((y.to_scalar::<f32>()?, slope.to_scalar::<f32>()?), (162.0, 216.0)); // 2 v⁴ and 8 v³
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Nodes of the body whose results nobody uses run in each call if their ops have effects, such as assignments. Ids of nodes, as for
    /// [`GraphBuilder::after`], are those of the body. A variable is added outside and captured.
    ///
    /// # Errors
    /// `InvalidArgument` for results that are tensors of another function's body or of another builder, and for a `name` that is empty; the errors of
    /// `body`.
    pub fn function<'b, const N: usize, const M: usize>(
        &'b self,
        name: &str,
        args: [(DType, PartialShape); N],
        body: impl FnOnce([Output<'b>; N]) -> Result<[Output<'b>; M]>,
    ) -> Result<Function<'b, N, M>> {
        if name.is_empty() {
            bail!(InvalidArgument, "a function needs a name");
        }
        let open = self.open_body(name);
        let mut parameters = Vec::with_capacity(N);
        for (dtype, shape) in &args {
            let placeholder = self.node().name("arg").attr("dtype", *dtype).attr("shape", shape);
            parameters.push(placeholder.of("Placeholder").output()?);
        }
        let results = self.ids(body(self.array(parameters.iter().map(|p| p.id()).collect())?)?)?;
        self.check()?;
        let parameters: Vec<OutputId> = parameters.into_iter().map(Output::id).collect();
        let (def, captures, shapes) = self.scoped(|b| {
            let captures: Vec<StackOutput> = b.state().captures().iter().map(|c| c.outside).collect();
            let shapes = results.iter().map(|&r| (b.dtype(r), b.shape(r))).collect();
            Ok((body_def(b, name, &parameters, &results)?, captures, shapes))
        })?;
        let Some(body) = open.close() else { bail!(Internal, "the body of function '{name}' has ended already") };
        let is_stateful = def.signature.as_ref().is_some_and(|s| s.is_stateful);
        let whole = def.signature.as_ref().map(|s| s.name.clone()).unwrap_or_default();
        self.scoped(|b| {
            // The functions that were made in the body come first.
            for function in body.graph.library().iter() {
                if b.graph().library().get(function.name()).is_none() {
                    b.graph_mut().library_mut().add(function.def().clone())?;
                }
            }
            b.graph_mut().library_mut().add(def)
        })?;
        let captured = captures.into_iter().map(|tensor| self.handle(tensor)).collect();
        Ok(Function { builder: self, name: whole, args: args.into(), results: shapes, captured, is_stateful })
    }

    /// Begins a body: new nodes are added to it until the guard is closed or dropped.
    fn open_body(&self, name: &str) -> OpenBody<'_> {
        let outer = self.scope();
        let library = self.read_graph(self.current(), |graph, _| graph.library().clone());
        let mut graph = self.ops.new_graph();
        if let Some(library) = library {
            graph.set_library(library);
        }
        let building = &mut *self.building.borrow_mut();
        building.functions.push(name.to_owned());
        let number = building.functions.len() as u32;
        building.bodies.push(Body { graph, state: BuilderState::default(), number });
        building.scope = Scope::root();
        OpenBody { builder: self, outer, depth: building.bodies.len() }
    }

    /// Returns the number of the graph that nodes are added to.
    pub(super) fn current(&self) -> u32 {
        self.building.borrow().bodies.last().map_or(0, |body| body.number)
    }

    /// Returns the handle of a tensor of a graph that is being built.
    fn handle(&self, tensor: StackOutput) -> Output<'_> {
        let body = tensor.level.checked_sub(1);
        let number = body.and_then(|i| self.building.borrow().bodies.get(i).map(|b| b.number)).unwrap_or(0);
        Output::of(self, tensor.output, number)
    }

    /// Reads a graph by its number; `None` if it is a body that has ended.
    pub(super) fn read_graph<T>(&self, number: u32, f: impl FnOnce(&Graph, &BuilderState) -> T) -> Option<T> {
        let building = self.building.borrow();
        if number == 0 {
            return Some(f(&self.graph.read(), &building.state));
        }
        building.bodies.iter().find(|body| body.number == number).map(|body| f(&body.graph, &body.state))
    }

    /// Returns the error for a tensor of a body that has ended.
    pub(super) fn ended(&self, number: u32) -> crate::Error {
        let building = self.building.borrow();
        let name = (number as usize).checked_sub(1).and_then(|i| building.functions.get(i)).map_or("", String::as_str);
        error!(InvalidArgument, "a tensor of the body of function '{name}' was used outside of that body")
    }

    /// Returns the place of a tensor among the graphs that are being built.
    ///
    /// # Errors
    /// `InvalidArgument` for a tensor of another builder, or of a body that has ended.
    pub(super) fn place(&self, output: Output<'_>) -> Result<StackOutput> {
        let output = output.ok()?;
        if !std::ptr::eq(output.builder(), self) {
            bail!(InvalidArgument, "a tensor of another builder");
        }
        let number = output.graph_number();
        let level = match number {
            0 => Some(0),
            _ => self.building.borrow().bodies.iter().position(|body| body.number == number).map(|i| i + 1),
        };
        match level {
            Some(level) => Ok(StackOutput { level, output: output.id() }),
            None => Err(self.ended(number)),
        }
    }

    /// Returns the id of a tensor in the graph that nodes are added to, which captures it if it is of a graph around.
    pub(super) fn resolve(&self, output: Output<'_>) -> Result<OutputId> {
        let tensor = self.place(output)?;
        Graphs(self).resolve(&self.scope(), tensor)
    }

    /// Returns the ids of tensors in the graph that nodes are added to.
    pub(super) fn ids<'b>(&self, outputs: impl IntoIterator<Item = Output<'b>>) -> Result<Vec<OutputId>> {
        outputs.into_iter().map(|output| self.resolve(output)).collect()
    }
}

impl<'b, const N: usize, const M: usize> Function<'b, N, M> {
    /// Returns the name of the function in the graph's library: that of [`GraphBuilder::function`] and a number for its contents.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the tensors outside that the body uses, in the order in which calls get them after the other arguments.
    pub fn captured(&self) -> &[Output<'b>] {
        &self.captured
    }

    /// Adds a call, in the graph that defines the function or in a body in it. The node is a `StatefulPartitionedCall` if an op of the body has state.
    ///
    /// # Errors
    /// `InvalidArgument` for an argument whose type or static shape does not fit, and for a function that captures tensors of a body that has ended.
    pub fn call(&self, args: [Output<'b>; N]) -> Result<[Output<'b>; M]> {
        let b = self.builder;
        let context = |i: usize, e: crate::Error| e.context(format_args!("argument {i} of function '{}'", self.name));
        for (i, (arg, (dtype, shape))) in args.iter().zip(&self.args).enumerate() {
            let given = arg.ok()?.dtype();
            if given != *dtype {
                return Err(context(i, error!(InvalidArgument, "a tensor of {given}, not of {dtype}")));
            }
            arg.shape().merge(shape).map_err(|e| context(i, e))?;
        }
        let inputs = b.ids(args.into_iter().chain(self.captured.iter().copied()))?;
        let op = if self.is_stateful { "StatefulPartitionedCall" } else { "PartitionedCall" };
        let outputs = b.scoped(|b| {
            let tin: Vec<DType> = inputs.iter().map(|&input| b.dtype(input)).collect();
            let tout = self.results.iter().map(|(dtype, _)| *dtype);
            let f = NameAttrList { name: self.name.clone(), ..NameAttrList::default() };
            let call = b.op(op).inputs(&inputs).attr("Tin", types(tin)).attr("Tout", types(tout)).attr("f", f).finish()?;
            for (slot, (_, shape)) in self.results.iter().enumerate() {
                b.merge_shape(call.output(slot as u32), shape)?;
            }
            Ok((0..M as u32).map(|slot| call.output(slot)).collect::<Vec<_>>())
        })?;
        b.array(outputs)
    }
}

fn types(dtypes: impl IntoIterator<Item = DType>) -> AttrValue {
    let r#type = dtypes.into_iter().map(DType::number).collect();
    Value::List(Box::new(ListValue { r#type, ..ListValue::default() })).into()
}

/// Returns the definition of the function whose body the builder's graph is.
fn body_def(b: &ScopedBuilder<'_>, name: &str, parameters: &[OutputId], results: &[OutputId]) -> Result<FunctionDef> {
    let (graph, shapes) = (b.graph(), b.state().shapes());
    let captured = b.state().captures().iter().map(|c| c.inside);
    let args = parameters.iter().copied().chain(captured).map(|arg| FunctionArg::new(graph, shapes, arg)).collect::<Result<Vec<_>>>()?;
    // A call runs all nodes with effects, and the nodes that these and the results need by data or by control.
    let parameters: Vec<NodeId> = args.iter().filter_map(|arg| arg.tensor).map(|tensor| tensor.node).collect();
    let stateful = graph.op_nodes().filter(|node| node.op_def().is_stateful()).map(Node::id);
    let ends: Vec<NodeId> = results.iter().map(|result| result.node).chain(stateful).collect();
    let needed = reverse_reachable(graph, &ends);
    let is_kept = |node: NodeId| needed[node.index()] && !parameters.contains(&node);
    // Effects that no other node of the function waits for.
    let is_effect = |node: NodeId| graph[node].op_def().is_stateful() && !graph.out_edges(node).any(|e| is_kept(e.dst));
    let kept: Vec<NodeId> = graph.op_node_ids().into_iter().filter(|&n| is_kept(n)).collect();
    let effects: Vec<NodeId> = kept.iter().copied().filter(|&n| is_effect(n)).collect();
    function_def(graph, name, &FunctionPart { args: &args, results, kept: &kept, control_results: &effects, ..FunctionPart::default() })
}

/// A body that has begun; it ends when this is closed or dropped, also by an error or a panic.
struct OpenBody<'b> {
    builder: &'b GraphBuilder,
    /// The scope around it.
    outer: Scope,
    /// The number of bodies that have begun, with this one.
    depth: usize,
}

impl OpenBody<'_> {
    /// Ends the body and returns it.
    fn close(self) -> Option<Body> {
        let building = &mut *self.builder.building.borrow_mut();
        if building.bodies.len() == self.depth { building.bodies.pop() } else { None }
    }
}

impl Drop for OpenBody<'_> {
    fn drop(&mut self) {
        let building = &mut *self.builder.building.borrow_mut();
        building.bodies.truncate(self.depth - 1);
        building.scope = std::mem::take(&mut self.outer);
    }
}

/// The graphs of a builder as a stack: its own graph, and the bodies that are being built.
pub(super) struct Graphs<'b>(pub(super) &'b GraphBuilder);

impl GraphStack for Graphs<'_> {
    fn top(&self) -> usize {
        self.0.building.borrow().bodies.len()
    }

    fn build<T: Send>(&mut self, level: usize, scope: &Scope, f: impl FnOnce(&mut ScopedBuilder<'_>) -> Result<T> + Send) -> Result<T> {
        self.0.scoped_at(level, scope.clone(), f).0
    }
}
