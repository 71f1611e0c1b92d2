//! Builds a [`PlanGraph`] from a pruned, optimised graph: finds frames, makes kernels, decodes constants.

use super::ir::{FrameId, FrameInfo, NodeKind, OutputType, PlanEdge, PlanGraph, PlanNode, PlanNodeId};
use crate::call::FunctionCall;
use crate::device::Device;
use crate::function::FunctionLibraryRuntime;
use crate::kernel::{Cost, Kernel, KernelContext};
use crate::registry::{InferencePrecision, KernelDef, KernelHome, KernelRegistry, KnownInputs};
use crate::resource::ResourceManager;
use crate::tuning::Tuner;
use flowmill_graph::{ControlFlow, FunctionLibrary, Graph, HOST_MEMORY, Node, NodeId, OpDef, OpTraits, OutputId, Role, ShapeAnalysis};
use flowmill_proto::TensorProto;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Bytes, DType, Result, Tensor, bail, error};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// State that a session keeps between plans, by node name: a constant is decoded once, weights are packed once, and a generator of random numbers
/// continues its sequence.
#[derive(Default)]
pub struct NodeCache {
    /// The decoded constants, each with its encoded bytes. A constant of the same name with other bytes is decoded anew.
    constants: Mutex<FxHashMap<String, (Bytes, Tensor)>>,
    /// The stateful kernels, each with the op that it computes.
    stateful: Mutex<FxHashMap<String, (Arc<str>, Arc<dyn Kernel>)>>,
}

/// Constants of at least this many bytes are cached. Smaller ones are decoded again.
const CACHED_BYTES: usize = 1024;

/// The environment of a plan: everything that [`build`] reads besides the graph.
pub struct PlanEnv<'a> {
    /// The device that the plan runs on.
    pub device: &'a Arc<dyn Device>,
    /// The host. Its kernels run nodes that only pass tensors on (sends, receives, switches) for devices that have no such kernels.
    pub host: &'a Arc<dyn Device>,
    /// The session's resources.
    pub resources: &'a Arc<ResourceManager>,
    /// The functions that nodes may call.
    pub functions: &'a Arc<FunctionLibraryRuntime>,
    /// The state that earlier plans of the session left; `None` for functions, whose node names are not unique.
    pub cache: Option<&'a NodeCache>,
    /// Overrides the number of parallel iterations of every loop whose own number is greater than 1.
    pub parallel_iterations: Option<u32>,
    /// The shapes of the graph's tensors. If they are missing, the graph is analysed.
    pub shapes: Option<&'a ShapeAnalysis>,
    /// The least precision in which kernels may multiply by constant weights.
    pub precision: InferencePrecision,
    /// Chooses between ways to compute nodes.
    pub tuner: &'a Arc<Tuner>,
}

/// Builds the plan's graph. `args` are the types of all arguments of the step, and `num_results` is the number of its results.
///
/// # Errors
/// Returns `NotFound`, with a list of all ops without a kernel and their nodes, `InvalidArgument` for frames that do not fit together, and the errors
/// of the kernels' makers.
pub fn build(graph: &Graph, args: Vec<DType>, num_results: usize, env: &PlanEnv<'_>) -> Result<PlanGraph> {
    check_kernels(graph, env)?;
    let flow = ControlFlow::new(graph)?;
    let frames = flow.frames().iter().map(|frame| FrameInfo {
        name: frame.name.clone(),
        parent: frame.parent.map(|p| FrameId(p.0)),
        // Where the graph says 1 it may rely on the order: gradients of such loops lack the edges that order their stacks.
        parallel_iterations: env.parallel_iterations.filter(|_| frame.parallel_iterations > 1).unwrap_or(frame.parallel_iterations).max(1),
    });
    let mut plan = PlanGraph { nodes: Vec::new(), frames: frames.collect(), args, num_results };
    let passes_reference = reads_in_every_iteration(graph);
    let analysed = if env.shapes.is_none() { ShapeAnalysis::new(graph) } else { ShapeAnalysis::default() };
    let shapes = env.shapes.unwrap_or(&analysed);
    let mut builder = Builder { graph, env, flow, shapes, ids: FxHashMap::default(), constants: FxHashMap::default(), passes_reference };
    for (i, node) in graph.op_nodes().enumerate() {
        builder.ids.insert(node.id(), PlanNodeId(i as u32));
        if node.role() == Role::Const {
            let value = builder.constant(node)?;
            let stays = node.attrs().get_or(HOST_MEMORY, false)?;
            let value = if stays { value } else { on_device(value, env.device).map_err(|e| e.at_node(node.name(), node.op()))? };
            builder.constants.insert(node.id(), value);
        }
    }
    for node in graph.op_nodes() {
        plan.nodes.push(builder.node(node)?);
    }
    plan.check_boundary()?;
    Ok(plan)
}

/// Copies a constant to the device, and waits for the copy.
fn on_device(value: Tensor, device: &Arc<dyn Device>) -> Result<Tensor> {
    if device.is_host() {
        return Ok(value);
    }
    let (sender, receiver) = std::sync::mpsc::channel();
    device.copy_from_host(
        value,
        Box::new(move |copied| {
            let _ = sender.send(copied);
        }),
    );
    receiver.recv().unwrap_or_else(|_| Err(error!(Internal, "a copy to {} ended without a result", device.attributes().name)))
}

/// Makes the node one that runs with dead inputs, and takes control inputs like others.
fn send_also_when_dead(node: &mut PlanNode) {
    node.kind = NodeKind::Program;
    node.takes_ref.resize(node.inputs.len() + node.controls.len(), true);
    node.inputs.append(&mut node.controls);
}

/// Returns true if the executor runs the op without a kernel.
fn needs_no_kernel(traits: &OpTraits) -> bool {
    match traits.role {
        Role::Arg | Role::Retval | Role::Const | Role::NoOp | Role::ControlTrigger | Role::LoopCond | Role::PlaceholderWithDefault => true,
        Role::Merge | Role::Enter | Role::Exit | Role::NextIteration => true,
        _ => traits.passes_on,
    }
}

/// Returns true if the engine can run an op: it has a kernel, or the executor implements it.
pub fn is_runnable(op: &OpDef, kernels: &KernelRegistry) -> bool {
    needs_no_kernel(&op.traits) || kernels.contains(&op.name)
}

/// Returns true if the host's kernel runs a node of another device, because one kernel serves all devices and `device` has none of its own.
fn runs_hosts_kernel(op: &OpDef, device: &Arc<dyn Device>) -> bool {
    op.traits.role.has_kernel_for_all_devices() && !device.kernels().contains(&op.name)
}

/// Returns the registration of the kernel that runs a node on `device`, with true if the kernel is one of the device, and false if it serves all
/// devices. Returns `None` if the executor runs the node without a kernel, if its op is a function, and if there is no kernel.
pub fn kernel_def<'a>(node: &Node, device: &'a Arc<dyn Device>, host: &'a Arc<dyn Device>) -> Option<(&'a KernelDef, bool)> {
    let op = node.op_def();
    let def = kernels_for(op, device, host).find(node.op(), node.attrs()).filter(|_| !needs_no_kernel(&op.traits))?;
    Some((def, !runs_hosts_kernel(op, device)))
}

/// Returns the registry that has the kernel of a node on `device`.
fn kernels_for<'a>(op: &OpDef, device: &'a Arc<dyn Device>, host: &'a Arc<dyn Device>) -> &'a KernelRegistry {
    if runs_hosts_kernel(op, device) { host.kernels() } else { device.kernels() }
}

/// Returns true if the engine can run a node on `device`: there is a kernel for its op and types, or the executor implements the op. Calls of functions
/// run on every device.
pub fn runs_on(node: &Node, device: &Arc<dyn Device>, host: &Arc<dyn Device>, functions: &FunctionLibrary) -> bool {
    let op = node.op_def();
    needs_no_kernel(&op.traits) || functions.get(node.op()).is_some() || kernels_for(op, device, host).supports(node.op(), node.attrs())
}

/// Returns the ops of a graph that the engine cannot run on `device`, with the names of their nodes. Calls of functions are not listed.
pub fn without_kernels<'a>(graph: &'a Graph, device: &Arc<dyn Device>, host: &Arc<dyn Device>) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut missing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in graph.op_nodes() {
        if !is_runnable(node.op_def(), kernels_for(node.op_def(), device, host)) && graph.library().get(node.op()).is_none() {
            missing.entry(node.op()).or_default().push(node.name());
        }
    }
    missing
}

fn check_kernels(graph: &Graph, env: &PlanEnv<'_>) -> Result<()> {
    const NODES_LISTED: usize = 3;
    let missing = without_kernels(graph, env.device, env.host);
    let Some((op, nodes)) = missing.iter().next() else { return Ok(()) };
    let list: Vec<String> = missing
        .iter()
        .map(|(op, nodes)| {
            let more = if nodes.len() > NODES_LISTED { format!(" and {} more", nodes.len() - NODES_LISTED) } else { String::new() };
            format!("{op} ({}{more})", nodes[..nodes.len().min(NODES_LISTED)].join(", "))
        })
        .collect();
    let found = error!(
        NotFound,
        "No registered '{op}' OpKernel for {} devices. Ops without a kernel: {}. Steps that need none of these nodes run: other fetches, or feeds in \
         their place, leave them out",
        env.device.attributes().device_type(),
        list.join("; ")
    );
    Err(found.at_node(nodes[0], op))
}

/// The invariants of loops that come from a reference, with the `Identity` between: nodes that pass the reference on, so that each
/// iteration reads the variable as it is then. TensorFlow's invariant shares the variable's memory, which assignments write to.
fn reads_in_every_iteration(graph: &Graph) -> FxHashSet<NodeId> {
    let is_ref = |output: OutputId| graph.output_type(output).is_ok_and(|t| t.is_ref);
    let mut found = FxHashSet::default();
    for enter in graph.op_nodes().filter(|n| n.is_enter() && n.attrs().get("is_constant").unwrap_or(false)) {
        let Some(source) = graph.input(enter.id(), 0) else { continue };
        let identity = graph.get(source.node).filter(|n| n.is_op("Identity")).map(|n| n.id());
        if is_ref(source) {
            found.insert(enter.id());
        } else if let Some(identity) = identity.filter(|&id| graph.input(id, 0).is_some_and(is_ref)) {
            found.extend([enter.id(), identity]);
        }
    }
    found
}

/// A kernel that passes a reference on if the variable has a value.
struct CheckedReference;

impl Kernel for CheckedReference {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        if let Ok(variable) = ctx.ref_input(0)
            && variable.get().is_none()
        {
            let name = ctx.handle(0).map_or("", |h| h.name());
            bail!(FailedPrecondition, "Attempting to use uninitialized value {name}");
        }
        ctx.forward(0, 0)
    }
}

struct Builder<'a> {
    graph: &'a Graph,
    env: &'a PlanEnv<'a>,
    flow: ControlFlow,
    shapes: &'a ShapeAnalysis,
    ids: FxHashMap<NodeId, PlanNodeId>,
    constants: FxHashMap<NodeId, Tensor>,
    /// See [`reads_in_every_iteration`].
    passes_reference: FxHashSet<NodeId>,
}

impl Builder<'_> {
    fn node(&self, node: &Node) -> Result<PlanNode> {
        let mut inputs = Vec::with_capacity(node.num_inputs());
        for i in 0..node.num_inputs() {
            match self.graph.input(node.id(), i).and_then(|o| Some(PlanEdge { node: *self.ids.get(&o.node)?, slot: o.slot })) {
                Some(edge) => inputs.push(edge),
                None => {
                    return Err(
                        error!(InvalidArgument, "Input {i} of node {} is not connected", node.name()).at_node(node.name(), node.op())
                    );
                }
            }
        }
        let controls = self
            .graph
            .control_inputs(node.id())
            .filter_map(|id| self.ids.get(&id).map(|&node| PlanEdge { node, slot: PlanEdge::CONTROL }))
            .collect();
        let kind = self.kind(node).map_err(|e| e.at_node(node.name(), node.op()))?;
        let passes_reference = self.passes_reference.contains(&node.id());
        let kernel: Option<Arc<dyn Kernel>> = match node.op() {
            "Identity" if passes_reference => Some(Arc::new(CheckedReference)),
            "GuaranteeConst" if node.input_types().first().is_some_and(|t| t.dtype == DType::Resource) => {
                let error = error!(InvalidArgument, "Input tensor cannot be a resource variable handle.");
                return Err(error.at_node(node.name(), node.op()));
            }
            _ if needs_no_kernel(node.traits()) => None,
            _ => Some(self.kernel(node)?),
        };
        let (name, op) = (node.shared_name().clone(), Arc::from(node.op()));
        let cost = kernel.as_ref().map_or(Cost::Cheap, |kernel| Cost::of(&**kernel, node.traits()));
        let takes_ref = node.input_types().iter().map(|t| t.is_ref || passes_reference).collect();
        let frame = FrameId(self.flow.frame_of(node.id()).0);
        let passes_object = passes_reference || node.traits().gives_handle_for_string;
        let outputs = node.output_types().iter().map(|t| OutputType { dtype: t.dtype, is_ref: t.is_ref || passes_object }).collect();
        let shapes = (0..node.num_outputs()).map(|slot| self.shapes.shape(node.id().output(slot as u32))).collect();
        let mut made =
            PlanNode { name, op, traits: *node.traits(), kind, kernel, cost, frame, inputs, takes_ref, controls, outputs, shapes };
        if node.role() == Role::Send {
            send_also_when_dead(&mut made);
        }
        Ok(made)
    }

    fn kind(&self, node: &Node) -> Result<NodeKind> {
        let index = || {
            node.attrs().get::<i64>("index").and_then(|i| usize::try_from(i).map_err(|_| error!(InvalidArgument, "index {i} is negative")))
        };
        Ok(match node.role() {
            Role::Arg => NodeKind::Arg(index()?),
            Role::Retval => NodeKind::Ret(index()?),
            Role::Const => match self.constants.get(&node.id()) {
                Some(value) => NodeKind::Const(value.clone()),
                None => bail!(Internal, "a constant without a value"),
            },
            Role::ControlTrigger => NodeKind::ControlTrigger,
            Role::Merge => NodeKind::Merge,
            Role::Exit => NodeKind::Exit,
            Role::NextIteration => NodeKind::NextIteration,
            Role::Enter => {
                let frame = FrameId(self.flow.output_frame_of(node.id()).0);
                NodeKind::Enter { frame, is_constant: node.attrs().get("is_constant")? }
            }
            _ => NodeKind::Op,
        })
    }

    fn constant(&self, node: &Node) -> Result<Tensor> {
        let proto: &TensorProto = node.attrs().get("value").map_err(|e| e.at_node(node.name(), node.op()))?;
        let cache = self.env.cache.filter(|_| proto.tensor_content.len() >= CACHED_BYTES);
        if let Some((bytes, value)) = cache.and_then(|c| c.constants.lock().get(node.name()).cloned())
            && std::ptr::eq(bytes.as_ref(), proto.tensor_content.as_ref())
        {
            return Ok(value);
        }
        let value = Tensor::from_proto(proto).map_err(|e| e.at_node(node.name(), node.op()))?;
        let dtype: DType = node.attrs().get("dtype")?;
        if value.dtype() != dtype {
            return Err(error!(InvalidArgument, "Type mismatch between value ({}) and dtype ({dtype})", value.dtype())
                .at_node(node.name(), node.op()));
        }
        if let Some(cache) = cache {
            cache.constants.lock().insert(node.name().to_owned(), (proto.tensor_content.clone(), value.clone()));
        }
        Ok(value)
    }

    fn kernel(&self, node: &Node) -> Result<Arc<dyn Kernel>> {
        // Sends and receives keep nothing, and partitioning gives those of different steps the same names.
        let is_transfer = matches!(node.role(), Role::Send | Role::Recv);
        let keeps_state = node.op_def().is_stateful() && !is_transfer && self.graph.library().get(node.op()).is_none();
        let cache = self.env.cache.filter(|_| keeps_state);
        // The same name may be that of a node of another function's body under other feeds and fetches.
        if let Some((op, kernel)) = cache.and_then(|c| c.stateful.lock().get(node.name()).cloned())
            && *op == *node.op()
        {
            return Ok(kernel);
        }
        let kernel = self.make(node)?;
        if let Some(cache) = cache {
            cache.stateful.lock().insert(node.name().to_owned(), (node.op().into(), kernel.clone()));
        }
        Ok(kernel)
    }

    fn make(&self, node: &Node) -> Result<Arc<dyn Kernel>> {
        if self.graph.library().get(node.op()).is_some() && !self.env.device.kernels().contains(node.op()) {
            let function = self.env.functions.instantiate(node.op(), node.attrs()).map_err(|e| e.at_node(node.name(), node.op()))?;
            return Ok(Arc::new(FunctionCall::new(function, node.num_outputs())));
        }
        let inputs = KnownInputs {
            // What kernels estimate their work by. Names of unknown sizes mean nothing to them.
            shapes: self.graph.inputs(node.id()).map(|o| self.shapes.shape(o).without_symbols()).collect(),
            constants: self.graph.inputs(node.id()).map(|o| self.constant_behind(o.node)).collect(),
        };
        let PlanEnv { device, host, resources, functions, precision, tuner, .. } = *self.env;
        kernels_for(node.op_def(), device, host).make_for(node, &inputs, &KernelHome { device, resources, functions, precision, tuner })
    }

    /// The constant that a node is, or passes on: through `Identity` and the `Enter` of a loop invariant.
    fn constant_behind(&self, mut node: NodeId) -> Option<Tensor> {
        const STEPS: usize = 8;
        for _ in 0..STEPS {
            if let Some(value) = self.constants.get(&node) {
                return Some(value.clone());
            }
            let n = self.graph.get(node)?;
            let invariant = n.is_enter() && n.attrs().get::<bool>("is_constant").unwrap_or(false);
            if !invariant && !n.is_op("Identity") {
                return None;
            }
            node = self.graph.input(node, 0)?.node;
        }
        None
    }
}
