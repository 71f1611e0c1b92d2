//! Symbolic shape analysis: finds the sizes of a graph's tensors that are known before a step runs, and those that are equal.

use crate::shape_refiner::SizeNames;
use crate::symbols::SymbolTable;
use crate::traverse::topological_order;
use crate::{ControlFlow, Graph, Node, NodeId, OutputId, Role, ShapeRefiner, ValueInfo};
use flowmill_tensor::{PartialShape, Result, Tensor};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// The shapes of all tensors of a graph, with a name for each size that is not known.
///
/// Batch and image sizes are the caller's, so that static shapes say nothing about them. Here an unknown size is a
/// [`Symbol`](flowmill_tensor::Symbol), equal to itself, and the ops' shape functions compute with symbols: a convolution of stride 2 with padding
/// `SAME` makes ⌈height/2⌉ of an unknown height, whatever its window, and the two branches of a residual block are found to have one shape.
/// Symbols also follow tensors whose values are shapes, from `Shape` through slices, `Pack` and `ConcatV2` to `Reshape`.
///
/// * In a loop, a symbol is valid within one iteration. A loop variable keeps the symbols that it enters with if no iteration changes them; any other
///   size of the variable gets a symbol of its own. Symbols of an iteration do not leave the loop.
/// * A read of a reference may have another shape each time if the variable declares no shape. Each such read then has its own symbols.
/// * A node whose shape function fails has outputs of unknown shape. The step reports the error.
///
/// The analysis visits each node once, and nodes of loops a few times more. A rewrite that keeps the values of the tensors that it keeps also keeps
/// their shapes, so that after it only new nodes need a visit: [`update`](ShapeAnalysis::update) makes it. Until then nothing is known of new nodes,
/// except what [`set_same`](ShapeAnalysis::set_same) reports.
#[derive(Debug, Default)]
pub struct ShapeAnalysis {
    shapes: ShapeRefiner,
    symbols: SymbolTable,
    /// The analysed tensor that each new tensor replaced.
    replaced: FxHashMap<OutputId, OutputId>,
}

impl ShapeAnalysis {
    /// Analyses a graph. Of one with a cycle that is no loop nothing is known.
    pub fn new(graph: &Graph) -> ShapeAnalysis {
        let mut analysis = ShapeAnalysis::default();
        analysis.update(graph);
        analysis
    }

    /// Analyses the nodes that were added to the graph since the last call. A node that [`set_same`](ShapeAnalysis::set_same) reported is not visited.
    ///
    /// The shapes of the others stay as they are. So the tensors of a node that was there must have the shapes that they had: a rewrite that changes them, such
    /// as to another layout, needs a new analysis.
    pub fn update(&mut self, graph: &Graph) {
        let replaced = std::mem::take(&mut self.replaced);
        for node in replaced.keys().filter_map(|new| graph.get(new.node)) {
            // Equal shapes do not make equal values.
            let info = |old: &ValueInfo| ValueInfo { shape: old.shape.clone(), elements: old.elements.clone(), ..ValueInfo::default() };
            let outputs = (0..node.num_outputs() as u32).map(|slot| self.shapes.value(*replaced.get(&node.id().output(slot))?).map(info));
            if let Some(outputs) = outputs.collect::<Option<Vec<_>>>() {
                self.shapes.set(node.id(), outputs);
            }
        }
        if graph.op_nodes().all(|node| self.shapes.has_seen(node.id())) {
            return;
        }
        if self.infer_new_nodes(graph).is_err() {
            *self = ShapeAnalysis::default();
        }
        // Of some outputs of a node more is known than its shape function says.
        for (new, old) in replaced {
            let shape = self.shapes.shape(old);
            if !self.shapes.shape(new).is_same(&shape) && graph.get(new.node).is_some() {
                self.shapes.set_shape(new, shape);
            }
        }
    }

    /// Infers the nodes that were not seen, each after its producers, those on back edges excepted.
    fn infer_new_nodes(&mut self, graph: &Graph) -> Result<()> {
        let order = topological_order(graph)?;
        let has_loops = order.iter().filter_map(|&id| graph.get(id)).any(Node::is_enter);
        let flow = if has_loops { Some(ControlFlow::new(graph)?) } else { None };
        let new: Vec<NodeId> = order.into_iter().filter(|&id| !self.shapes.has_seen(id)).collect();
        let symbols = RefCell::new(std::mem::take(&mut self.symbols));
        let names = Names { depths: flow.as_ref().map(depths).unwrap_or_default(), flow, symbols };
        let inferred = self.shapes.infer_with_names(graph, &new, &names);
        self.symbols = names.symbols.into_inner();
        inferred
    }

    /// The shape of a tensor, its unknown sizes as symbols; unknown for a node that was not analysed.
    pub fn shape(&self, tensor: OutputId) -> PartialShape {
        let tensor = self.replaced.get(&tensor).copied().unwrap_or(tensor);
        self.shapes.shape(tensor)
    }

    /// The rank of a tensor, if it is known.
    pub fn rank(&self, tensor: OutputId) -> Option<usize> {
        self.shape(tensor).rank()
    }

    /// Returns the value of a tensor, if it is a small constant or follows from static shapes.
    pub fn constant(&self, tensor: OutputId) -> Option<&Tensor> {
        self.shapes.value(tensor)?.constant.as_ref()
    }

    /// Returns the shape that the value of a tensor describes, as far as it is known: that of `x` for `Shape(x)`.
    pub fn described(&self, tensor: OutputId) -> PartialShape {
        let Some(value) = self.shapes.value(tensor) else { return PartialShape::default() };
        let of_constant = || Some(PartialShape::new(&value.constant.as_ref()?.to_i64_vec().ok()?));
        value.as_shape.clone().or_else(of_constant).unwrap_or_default()
    }

    /// Returns true if the tensor is sure to have at least one dimension.
    pub fn has_dimensions(&self, tensor: OutputId) -> bool {
        self.shape(tensor).min_rank() > 0
    }

    /// Returns true if two tensors are sure to have the same shape whenever both are there: in each step, and in each iteration of a loop.
    pub fn are_equal(&self, a: OutputId, b: OutputId) -> bool {
        a == b || self.shape(a).is_same(&self.shape(b))
    }

    /// Returns true if two tensors are sure to have the same number of elements whenever both are there.
    pub fn are_equal_in_number(&self, a: OutputId, b: OutputId) -> bool {
        let (a, b) = (self.shape(a), self.shape(b));
        a.is_same(&b) || a.dims().zip(b.dims()).is_some_and(|(a, b)| self.symbols.are_equal_products(a, b))
    }

    /// Records that `new`, which was not analysed, replaces `old` and has its shape.
    pub fn set_same(&mut self, new: OutputId, old: OutputId) {
        let old = self.replaced.get(&old).copied().unwrap_or(old);
        if new != old {
            self.replaced.insert(new, old);
        }
    }
}

/// The number of loops around each frame.
fn depths(flow: &ControlFlow) -> Vec<u32> {
    let mut depths: Vec<u32> = Vec::with_capacity(flow.frames().len());
    for frame in flow.frames() {
        let outside = frame.parent.and_then(|parent| depths.get(parent.0 as usize));
        depths.push(outside.map_or(0, |depth| depth + 1));
    }
    depths
}

/// The names of one analysis.
struct Names {
    /// `None` for a graph without loops.
    flow: Option<ControlFlow>,
    depths: Vec<u32>,
    symbols: RefCell<SymbolTable>,
}

impl SizeNames for Names {
    fn symbols(&self) -> Option<&RefCell<SymbolTable>> {
        Some(&self.symbols)
    }

    fn set_names(&self, node: &Node, outputs: &mut [ValueInfo]) {
        let frame = self.flow.as_ref().map(|flow| flow.output_frame_of(node.id()));
        let depth = frame.and_then(|frame| self.depths.get(frame.0 as usize)).copied().unwrap_or(0);
        let mut symbols = self.symbols.borrow_mut();
        for (slot, (value, output_type)) in outputs.iter_mut().zip(node.output_types()).enumerate() {
            let mut shape = std::mem::take(&mut value.shape);
            if node.role() == Role::Exit {
                let is_outside = |source: u32| symbols.depth(source) <= depth;
                shape = shape.retain_symbols(is_outside);
                value.as_shape = value.as_shape.take().map(|sizes| sizes.retain_symbols(is_outside));
            }
            // What a handle holds is read in other iterations than those in which it was written.
            for (_, held) in value.elements.iter_mut().flatten() {
                *held = held.without_symbols();
            }
            value.shape = if output_type.is_ref {
                shape.without_symbols()
            } else if shape.has_unnamed() {
                match symbols.tensor(node.id().output(slot as u32), depth) {
                    Some(source) => shape.with_symbols(source),
                    None => shape,
                }
            } else {
                shape
            };
        }
    }
}
