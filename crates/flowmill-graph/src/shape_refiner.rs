//! Static shapes of all tensors of a graph.

use crate::call_shapes::{self, Budget};
use crate::evaluate::StaticValues;
use crate::infer::Asked;
use crate::symbols::SymbolTable;
use crate::traverse::{is_back_edge, topological_order};
use crate::{ARG, Evaluator, Graph, InferenceContext, Node, NodeId, OUTPUT_SHAPES, OutputId, Role, ValueInfo};
use flowmill_proto::TensorProto;
use flowmill_tensor::{DType, PartialShape, Result, Tensor, bail};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Constants of up to this many bytes are seen by shape functions.
pub const MAX_CONSTANT_BYTES: usize = 1024;

/// Runs ops' shape functions and keeps what they give.
///
/// A loop's `Merge` starts with the shape that comes in and is relaxed by what comes back until nothing changes, so that what is known
/// holds for every iteration. A node whose op has no shape function, or one that says nothing, has outputs of unknown shape.
///
/// Values of constants, and those that shape functions make of them, are handed on as nodes are added. Where a shape function asks for a value that
/// is not known so, and the graph's registry has an [`Evaluator`], kernels compute it if it depends on constants only; of `Pack`, `Concat`,
/// `Cast` and `StridedSlice`, parts of it. TensorFlow's shape refiner does the same.
///
/// In a whole graph, the results of a call have the shapes that the body of its function has for the call's arguments: see
/// [`MAX_BODY_NODES`](crate::MAX_BODY_NODES).
#[derive(Clone, Debug, Default)]
pub struct ShapeRefiner {
    /// The facts by node id; `None` if the node was not seen.
    outputs: Vec<Option<Box<[ValueInfo]>>>,
    values: StaticValues,
    /// In a function's body: what may still be inferred in bodies of calls.
    budget: Option<Budget>,
}

/// The depth to which shapes that are made of shapes are followed.
const MAX_SHAPE_DEPTH: usize = 16;

impl ShapeRefiner {
    /// Returns a refiner that has seen nothing.
    pub fn new() -> ShapeRefiner {
        ShapeRefiner::default()
    }

    /// Returns a refiner of a function's body, which takes the nodes of functions that the body calls from `budget`.
    pub(crate) fn of_body(budget: Budget) -> ShapeRefiner {
        ShapeRefiner { budget: Some(budget), ..ShapeRefiner::default() }
    }

    /// Returns the budget of [`of_body`](ShapeRefiner::of_body) without the nodes that were inferred.
    pub(crate) fn into_budget(self) -> Budget {
        self.budget.unwrap_or_default()
    }

    /// Returns the facts about a tensor; `None` if its node was not seen.
    pub fn value(&self, output: OutputId) -> Option<&ValueInfo> {
        self.outputs.get(output.node.index())?.as_ref()?.get(output.slot as usize)
    }

    /// Returns the static shape of a tensor; unknown if its node was not seen.
    pub fn shape(&self, output: OutputId) -> PartialShape {
        self.value(output).map_or_else(PartialShape::unknown, |v| v.shape.clone())
    }

    /// Adds what a caller knows of a tensor's shape. Consumers that were inferred already keep theirs.
    ///
    /// # Errors
    /// `InvalidArgument` if it contradicts what is known, `NotFound` if the node was not seen.
    pub fn merge_shape(&mut self, output: OutputId, shape: &PartialShape) -> Result<()> {
        let slot = self.outputs.get_mut(output.node.index()).and_then(Option::as_mut).and_then(|o| o.get_mut(output.slot as usize));
        let Some(value) = slot else { bail!(NotFound, "no shape is known of {output:?}") };
        value.shape = value.shape.merge(shape)?;
        self.values.clear();
        Ok(())
    }

    /// Replaces what is known of a tensor's shape: a loop's variable may have more shapes than the one it enters with. Does nothing for a node
    /// that was not seen.
    pub fn set_shape(&mut self, output: OutputId, shape: PartialShape) {
        let slot = self.outputs.get_mut(output.node.index()).and_then(Option::as_mut).and_then(|o| o.get_mut(output.slot as usize));
        if let Some(value) = slot {
            *value = ValueInfo { shape, elements: value.elements.take(), ..ValueInfo::default() };
            self.values.clear();
        }
    }

    /// Says what a resource or variant holds. Does nothing for a node that was not seen.
    pub fn set_elements(&mut self, output: OutputId, elements: Option<Vec<(DType, PartialShape)>>) {
        let slot = self.outputs.get_mut(output.node.index()).and_then(Option::as_mut).and_then(|o| o.get_mut(output.slot as usize));
        if let Some(value) = slot {
            value.elements = elements;
        }
    }

    /// Says that every step computes `constant` for a tensor. Does nothing for a node that was not seen.
    pub(crate) fn set_constant(&mut self, output: OutputId, constant: Tensor) {
        let slot = self.outputs.get_mut(output.node.index()).and_then(Option::as_mut).and_then(|o| o.get_mut(output.slot as usize));
        if let Some(value) = slot {
            value.constant = Some(constant);
        }
    }

    /// Infers the outputs of one node, whose producers were seen before, those on back edges excepted: what comes over these is unknown.
    ///
    /// The results of a call are as the op's shape function says. TensorFlow, too, looks into the bodies of functions only when it imports a graph.
    ///
    /// # Errors
    /// Returns the error of the op's shape function, with the node's name.
    pub fn add_node(&mut self, graph: &Graph, id: NodeId) -> Result<()> {
        let node = graph.node(id)?;
        let (outputs, _) = self.infer_with_values(graph, node, &NoNames, false)?;
        self.store(id, outputs);
        Ok(())
    }

    /// Infers all nodes of a graph.
    ///
    /// # Errors
    /// Returns the error of an op's shape function, and `InvalidArgument` for a cycle that is not a loop.
    pub fn infer_graph(&mut self, graph: &Graph) -> Result<()> {
        let order = topological_order(graph)?;
        self.infer_in_order(graph, &order)
    }

    /// Infers some nodes of a graph; producers that are not among them were seen before.
    ///
    /// # Errors
    /// Returns the error of an op's shape function, and `InvalidArgument` for a cycle that is not a loop.
    pub fn infer_nodes(&mut self, graph: &Graph, nodes: &[NodeId]) -> Result<()> {
        let mut wanted = vec![false; graph.num_node_ids()];
        for node in nodes {
            if let Some(w) = wanted.get_mut(node.index()) {
                *w = true;
            }
        }
        let mut order = topological_order(graph)?;
        order.retain(|n| wanted[n.index()]);
        self.infer_in_order(graph, &order)
    }

    /// Infers the nodes of a graph that were not seen.
    ///
    /// # Errors
    /// Returns the error of an op's shape function, and `InvalidArgument` for a cycle that is not a loop.
    pub(crate) fn infer_unseen(&mut self, graph: &Graph) -> Result<()> {
        let mut order = topological_order(graph)?;
        order.retain(|&id| !self.has_seen(id));
        self.infer_in_order(graph, &order)
    }

    fn infer_in_order(&mut self, graph: &Graph, order: &[NodeId]) -> Result<()> {
        self.infer_with_names(graph, order, &NoNames)
    }

    /// Infers nodes in topological order; `names` gives their unknown sizes names.
    pub(crate) fn infer_with_names(&mut self, graph: &Graph, order: &[NodeId], names: &impl SizeNames) -> Result<()> {
        let mut places = vec![u32::MAX; graph.num_node_ids()];
        for (place, node) in order.iter().enumerate() {
            places[node.index()] = place as u32;
        }
        // Places in `order` of nodes whose inputs have changed since they were inferred.
        let mut again = BTreeSet::new();
        // Those of nodes whose shape functions asked for values that nodes further back decide.
        let mut asking = BTreeSet::new();
        for (place, &id) in order.iter().enumerate() {
            let (mut outputs, has_asked) = self.infer_with_values(graph, &graph[id], names, true)?;
            if has_asked {
                asking.insert(place as u32);
            }
            names.set_names(&graph[id], &mut outputs);
            self.store(id, outputs);
            for edge in graph.out_edges(id).filter(|e| is_back_edge(graph, e) && places[e.dst.index()] <= place as u32) {
                again.insert(places[edge.dst.index()]);
            }
        }
        while let Some(place) = again.pop_first() {
            let id = order[place as usize];
            let node = &graph[id];
            let (mut outputs, _) = self.infer_with_values(graph, node, names, true)?;
            let old = self.outputs[id.index()].as_deref().unwrap_or(&[]);
            if node.is_merge() {
                // Only ever less is known, which is why this ends.
                for (new, old) in outputs.iter_mut().zip(old) {
                    new.shape = new.shape.relax(&old.shape);
                }
            }
            names.set_names(node, &mut outputs);
            if outputs.iter().zip(old).all(|(a, b)| is_same(a, b)) {
                continue;
            }
            self.store(id, outputs);
            let consumers = graph.out_edges(id).filter(|e| !e.is_control()).map(|e| places[e.dst.index()]);
            again.extend(consumers.filter(|&p| p != u32::MAX));
            again.extend(asking.range(place + 1..));
        }
        Ok(())
    }

    /// Returns true if the node was inferred.
    pub(crate) fn has_seen(&self, id: NodeId) -> bool {
        self.outputs.get(id.index()).is_some_and(Option::is_some)
    }

    /// Records what is known of a node without inferring it.
    pub(crate) fn set(&mut self, id: NodeId, outputs: Vec<ValueInfo>) {
        self.store(id, outputs);
    }

    fn store(&mut self, id: NodeId, outputs: Vec<ValueInfo>) {
        if self.outputs.len() <= id.index() {
            self.outputs.resize(id.index() + 1, None);
        }
        if self.outputs[id.index()].is_some() {
            self.values.clear();
        }
        self.outputs[id.index()] = Some(outputs.into());
    }

    /// Returns the outputs of a node, with the values that its shape function asks for computed if they can be; and whether it asked for any. For a node of a
    /// whole graph, the body of a called function says more of them, and back edges are assumed to bring the shapes that come in.
    fn infer_with_values(
        &mut self,
        graph: &Graph,
        node: &Node,
        names: &impl SizeNames,
        is_whole_graph: bool,
    ) -> Result<(Vec<ValueInfo>, bool)> {
        let (mut outputs, has_asked) = self.infer_node(graph, node, names, is_whole_graph)?;
        if is_whole_graph && call_shapes::is_call(graph, node) {
            let of_body = self.budget.take();
            let is_body = of_body.is_some();
            let mut budget = of_body.unwrap_or_default();
            let inputs = graph.inputs(node.id()).map(|input| self.value(input));
            call_shapes::refine(graph, node, inputs, &mut outputs, &mut budget);
            self.budget = is_body.then_some(budget);
        }
        Ok((outputs, has_asked))
    }

    fn infer_node(&mut self, graph: &Graph, node: &Node, names: &impl SizeNames, assume_loops: bool) -> Result<(Vec<ValueInfo>, bool)> {
        let inferred = self.infer(graph, node, names.symbols(), assume_loops, &[]);
        if names.symbols().is_some() {
            // What cannot be inferred is an error of the step, or was reported when the graph was built. Constants were computed before.
            return Ok((inferred.map_or_else(|_| vec![ValueInfo::default(); node.num_outputs()], |(outputs, _)| outputs), false));
        }
        let (mut outputs, mut asked) = inferred?;
        if asked == Asked::default() {
            return Ok((outputs, false));
        }
        let Some(evaluator) = graph.registry().evaluator() else { return Ok((outputs, false)) };
        let mut values = std::mem::take(&mut self.values);
        let (mut found, mut tried) = (Vec::new(), Asked::default());
        loop {
            let count = found.len();
            for i in 0..node.num_inputs().min(64) {
                let [is_value, is_shape] = [asked.values & !tried.values, asked.shapes & !tried.shapes].map(|mask| mask & 1 << i != 0);
                let Some(input) = graph.input(node.id(), i).filter(|_| is_value || is_shape) else { continue };
                let mut compute =
                    Computed { refiner: self, graph, evaluator: &**evaluator, values: &mut values, met: FxHashMap::default() };
                let value = if is_shape { compute.partly(input, MAX_SHAPE_DEPTH) } else { compute.wholly(input) };
                found.extend(value.map(|value| (i, value)));
            }
            if found.len() == count {
                break;
            }
            tried = Asked { values: tried.values | asked.values, shapes: tried.shapes | asked.shapes };
            (outputs, asked) = self.infer(graph, node, None, assume_loops, &found)?;
        }
        self.values = values;
        Ok((outputs, true))
    }

    /// Returns the outputs of a node, and what its shape function asked for in vain. With `assume_loops`, what comes over a back edge that was not seen has
    /// the shape of what comes in. `found` says more of some inputs than was seen.
    fn infer(
        &self,
        graph: &Graph,
        node: &Node,
        symbols: Option<&RefCell<SymbolTable>>,
        assume_loops: bool,
        found: &[(usize, ValueInfo)],
    ) -> Result<(Vec<ValueInfo>, Asked)> {
        let input = |i: usize| graph.input(node.id(), i).and_then(|src| self.value(src));
        let num_inputs = node.num_inputs();
        let incoming = if assume_loops && node.is_merge() { (0..num_inputs).find_map(input) } else { None };
        // The value that comes in is not the one of later iterations, its shape may be.
        let assumed =
            incoming.map(|v| ValueInfo { shape: v.shape.clone(), elements: v.elements.clone(), ..Default::default() }).unwrap_or_default();
        let more = |i: usize| found.iter().rev().find(|(at, _)| *at == i).map(|(_, value)| value);
        let inputs = (0..num_inputs).map(|i| more(i).or_else(|| input(i)).unwrap_or(&assumed));
        let context = InferenceContext::new(node.op_def(), node.attrs(), inputs, node.num_outputs());
        let mut context = context.made_by(graph.producer()).with_symbols(symbols);
        if let Some(shape_fn) = node.op_def().shape_fn {
            shape_fn(&mut context).map_err(|e| e.append(context.describe(graph, node)).at_node(node.name(), node.op()))?;
        }
        let asked = context.asked();
        let mut outputs = context.into_outputs();
        if let (true, Some(value), Some(output)) = (symbols.is_some() && node.is_enter(), input(0), outputs.first_mut()) {
            // Every iteration is looked at, so that what the first one begins with need not be forgotten.
            output.shape = value.shape.clone();
        }
        if node.role() == Role::Const {
            read_constant(node, &mut outputs).map_err(|e| e.at_node(node.name(), node.op()))?;
        } else if node.is_op(ARG) {
            read_arg(node, &mut outputs);
        }
        Ok((outputs, asked))
    }
}

/// Names the sizes that shape functions leave unknown.
pub(crate) trait SizeNames {
    /// Returns the table of the names, with which shape functions compute, or `None` if unknown sizes have no names.
    fn symbols(&self) -> Option<&RefCell<SymbolTable>>;

    /// Names the unknown sizes of a node's outputs. The name of a node's axis is the same in every call.
    fn set_names(&self, node: &Node, outputs: &mut [ValueInfo]);
}

/// Leaves unknown sizes without names.
struct NoNames;

impl SizeNames for NoNames {
    fn symbols(&self) -> Option<&RefCell<SymbolTable>> {
        None
    }

    fn set_names(&self, _: &Node, _: &mut [ValueInfo]) {}
}

/// Values for the shape function of one node.
struct Computed<'a> {
    refiner: &'a ShapeRefiner,
    graph: &'a Graph,
    evaluator: &'a dyn Evaluator,
    values: &'a mut StaticValues,
    /// The facts found about tensors that are partly known.
    met: FxHashMap<OutputId, Option<ValueInfo>>,
}

impl Computed<'_> {
    /// Returns a tensor whose value kernels give.
    fn wholly(&mut self, tensor: OutputId) -> Option<ValueInfo> {
        let known = |output: OutputId| self.refiner.value(output)?.constant.clone();
        let value = self.values.find(self.graph, self.evaluator, &known, tensor)?;
        let before = self.refiner.value(tensor).cloned().unwrap_or_default();
        Some(ValueInfo { shape: value.shape().into(), constant: Some(value), ..before })
    }

    /// Computes a tensor that describes a shape, some sizes of which kernels compute.
    fn partly(&mut self, tensor: OutputId, depth: usize) -> Option<ValueInfo> {
        if let Some(known) = self.met.get(&tensor) {
            return known.clone();
        }
        let found = self.wholly(tensor).or_else(|| self.made_of_parts(tensor, depth));
        self.met.insert(tensor, found.clone());
        found
    }

    fn made_of_parts(&mut self, tensor: OutputId, depth: usize) -> Option<ValueInfo> {
        let node = self.graph.get(tensor.node)?;
        let depth = depth.checked_sub(1)?;
        if !matches!(node.op(), "Cast" | "Pack" | "Concat" | "ConcatV2" | "StridedSlice") {
            return None;
        }
        let mut found = Vec::new();
        for i in 0..node.num_inputs() {
            let input = self.graph.input(tensor.node, i)?;
            if self.refiner.value(input)?.constant.is_none() {
                found.extend(self.partly(input, depth).map(|value| (i, value)));
            }
        }
        if found.is_empty() {
            return None;
        }
        let (outputs, _) = self.refiner.infer(self.graph, node, None, false, &found).ok()?;
        outputs.into_iter().nth(tensor.slot as usize)
    }
}

/// Returns true if shape functions cannot tell two values apart.
fn is_same(a: &ValueInfo, b: &ValueInfo) -> bool {
    a.shape == b.shape && a.as_shape == b.as_shape && a.elements == b.elements && a.constant == b.constant
}

fn read_constant(node: &Node, outputs: &mut [ValueInfo]) -> Result<()> {
    let [output] = outputs else { return Ok(()) };
    if output.constant.is_some() {
        return Ok(());
    }
    let proto: &TensorProto = node.attrs().get("value")?;
    let shape = proto.tensor_shape.as_ref().map_or_else(PartialShape::scalar, PartialShape::from_proto);
    let Some(elements) = shape.num_elements() else {
        bail!(InvalidArgument, "the value of constant '{}' has no complete shape: {shape}", node.name());
    };
    let dtype = node.output_types()[0].dtype;
    let is_small = dtype.size().is_some_and(|size| elements.saturating_mul(size) <= MAX_CONSTANT_BYTES);
    if is_small {
        output.constant = Some(Tensor::from_proto(proto)?);
    }
    output.shape = shape;
    Ok(())
}

/// A function's argument may carry its shape.
fn read_arg(node: &Node, outputs: &mut [ValueInfo]) {
    if let ([output], Ok(shapes)) = (outputs, node.attrs().list::<PartialShape>(OUTPUT_SHAPES))
        && let [shape] = &shapes[..]
    {
        output.shape = shape.clone();
    }
}
