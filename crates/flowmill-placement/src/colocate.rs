//! Groups of nodes that must share a device.

use crate::groups::{Conflict, Groups};
use crate::placer::PlaceOptions;
use crate::requests::{RequestTable, Requests};
use crate::returned::{Origin, Returned};
use crate::types::{DeviceTypes, Kernels};
use flowmill_graph::traverse::{is_back_edge, topological_order};
use flowmill_graph::{DeviceName, Edge, Graph, Node, NodeId, Role, TensorType};
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result, bail, error};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The prefix of the names in `_class`.
const CLASS_PREFIX: &[u8] = b"loc:@";

/// The graph, the devices and the groups made so far.
pub(crate) struct Colocation<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) kernels: &'a dyn Kernels,
    pub(crate) devices: &'a [DeviceName],
    pub(crate) types: DeviceTypes,
    pub(crate) options: &'a PlaceOptions<'a>,
    pub(crate) groups: Groups,
    /// See [`order_of_message`].
    order: Rc<[NodeId]>,
}

impl<'a> Colocation<'a> {
    /// Makes the groups of a graph.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a malformed request, for a node without a kernel, and for nodes that must share a device and cannot. Returns
    /// `Internal` for an assigned device that does not exist or has no kernel for its node.
    pub(crate) fn new(
        graph: &'a Graph,
        kernels: &'a dyn Kernels,
        devices: &'a [DeviceName],
        options: &'a PlaceOptions<'a>,
    ) -> Result<Colocation<'a>> {
        let types = DeviceTypes::new(devices, kernels);
        let groups = Groups::new(graph.num_node_ids(), RequestTable::new(options.allow_soft_placement));
        let mut this = Colocation { graph, kernels, devices, types, options, groups, order: order_of_message(graph) };
        this.init_nodes()?;
        this.colocate_edges()?;
        this.colocate_returned()?;
        this.colocate_classes()?;
        this.keep_host_variants_on_the_host();
        Ok(this)
    }

    /// Returns the nodes that the placer places, in the order of [`order_of_message`].
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &'a Node> + use<'a> {
        let (graph, options, order) = (self.graph, self.options, self.order.clone());
        let nodes = (0..order.len()).filter_map(move |i| graph.get(order[i]));
        nodes.filter(move |node| !options.is_fixed(node))
    }

    fn init_nodes(&mut self) -> Result<()> {
        let mut parsed: FxHashMap<&str, DeviceName> = FxHashMap::default();
        for node in self.nodes() {
            let types = self.types.supporting(node, self.kernels);
            let requests = if let Some(&device) = self.options.assigned.get(&node.id()) {
                self.check_assigned(node, device)?
            } else {
                if types.is_empty() {
                    return Err(crate::explain::no_kernel(node, self.types.names(), self.kernels));
                }
                self.requests_of(node, &mut parsed)?
            };
            self.groups.set(node.id(), requests, types);
        }
        Ok(())
    }

    fn check_assigned(&mut self, node: &Node, device: usize) -> Result<u32> {
        let at = |e: flowmill_tensor::Error| e.at_node(node.name(), node.op());
        let Some(name) = self.devices.get(device) else {
            let names = crate::explain::names(self.devices);
            return Err(at(error!(Internal, "Assigned device '{device}' does not match any device: the devices are [{names}]")));
        };
        let device_type = name.device_type.as_deref().unwrap_or_default();
        if self.kernels.priority(node, device_type).is_none() {
            return Err(at(error!(Internal, "Assigned device '{name}' does not have registered OpKernel support for {}", node.op())));
        }
        Ok(self.groups.requests.intern(Requests::assigned_to(name)))
    }

    fn requests_of(&mut self, node: &'a Node, parsed: &mut FxHashMap<&'a str, DeviceName>) -> Result<u32> {
        let text = node.device();
        if text.is_empty() {
            return Ok(0);
        }
        let requested = match parsed.get(text) {
            Some(name) => name.clone(),
            None => {
                let Ok(name) = DeviceName::parse_requested(text) else {
                    let error = error!(InvalidArgument, "Malformed device specification '{text}' in node: {}", node.name());
                    return Err(error.at_node(node.name(), node.op()));
                };
                parsed.insert(text, name.clone());
                name
            }
        };
        let makes_resource = node.num_inputs() == 0 && matches!(node.output_types(), [output] if is_shared(output));
        let resource = if makes_resource { requested.clone() } else { DeviceName::default() };
        Ok(self.groups.requests.intern(Requests { assigned: DeviceName::default(), resource, requested }))
    }

    /// Colocates the ends of all edges that need it. With soft placement the result depends on the order: the edges into one node after the other, and at
    /// last those that close loops.
    fn colocate_edges(&mut self) -> Result<()> {
        let (graph, order, mut closing) = (self.graph, self.order.clone(), Vec::new());
        for edge in order.iter().flat_map(|&id| graph.in_edges(id)) {
            if is_back_edge(graph, &edge) {
                closing.push(edge);
            } else {
                self.colocate_ends(&edge)?;
            }
        }
        closing.iter().try_for_each(|edge| self.colocate_ends(edge))
    }

    /// Colocates the ends of an edge that carries a reference or a resource, and a dataset with one that it reads.
    fn colocate_ends(&mut self, edge: &Edge) -> Result<()> {
        let (Some(src), Some(dst)) = (self.graph.get(edge.src), self.graph.get(edge.dst)) else { return Ok(()) };
        let Some(input) = usize::try_from(edge.dst_input).ok().and_then(|i| dst.input_types().get(i)) else { return Ok(()) };
        let must = is_shared(input) && !forwards_resources(dst) || input.dtype == DType::Variant && is_dataset(src) && is_dataset(dst);
        let is_returned = input.dtype == DType::Resource && self.graph.calls_functions(src);
        if must && !is_returned && !self.options.is_fixed(src) && !self.options.is_fixed(dst) {
            self.colocate_edge(src, dst)?;
        }
        Ok(())
    }

    /// Colocates the consumers of resources that calls return with the origins of the resources.
    fn colocate_returned(&mut self) -> Result<()> {
        let (mut returned, mut known) = (Returned::default(), FxHashMap::default());
        for node in self.nodes().filter(|node| returns_resource(node) && self.graph.calls_functions(node)) {
            for edge in self.graph.out_edges(node.id()) {
                let Some(output) = edge.source() else { continue };
                let is_resource = node.output_types().get(output.slot as usize).is_some_and(|t| t.dtype == DType::Resource);
                let Some(consumer) =
                    self.graph.get(edge.dst).filter(|n| is_resource && !forwards_resources(n) && !self.options.is_fixed(n))
                else {
                    continue;
                };
                let origins = known.entry(output).or_insert_with(|| returned.origins(self.graph, output));
                for origin in origins {
                    match origin {
                        Origin::Node(id) => match self.graph.get(*id) {
                            Some(src) if !self.options.is_fixed(src) => self.colocate_edge(src, consumer)?,
                            _ => {}
                        },
                        Origin::Body(device) => self.follow_resource(consumer, device)?,
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the request for a resource to the group of its consumer.
    fn follow_resource(&mut self, consumer: &Node, device: &DeviceName) -> Result<()> {
        let root = self.groups.root(consumer.id());
        let theirs = Requests { assigned: DeviceName::default(), resource: device.clone(), requested: device.clone() };
        let (ours, _) = self.groups.key(root);
        let current = self.groups.requests.get(ours).clone();
        let does_yield = !theirs.requested.is_compatible_with(&current.requested);
        let ours = if does_yield { self.groups.requests.intern(current.yielding_to(&theirs)) } else { ours };
        let theirs = self.groups.requests.intern(theirs);
        let merged = self.groups.requests.merge(ours, theirs).map_err(|e| e.at_node(consumer.name(), consumer.op()))?;
        self.groups.set_requests(root, merged);
        Ok(())
    }

    fn colocate_edge(&mut self, src: &Node, dst: &Node) -> Result<()> {
        let (from, to) = (self.groups.root(src.id()), self.groups.root(dst.id()));
        self.yield_to_source(src, from, dst, to)?;
        self.groups.union(from, to).map_err(|conflict| {
            let e = self.conflict(src, from, dst, to, conflict).context(
                "Nodes were connected by a reference or resource connection (requiring them to be on the same device), but the two nodes were assigned two different devices",
            );
            e.at_node(dst.name(), dst.op())
        })
    }

    /// Drops the requests of the consumer's group that contradict those of the resource's group.
    fn yield_to_source(&mut self, src: &Node, from: NodeId, dst: &Node, to: NodeId) -> Result<()> {
        let ((theirs, _), (ours, _)) = (self.groups.key(from), self.groups.key(to));
        if theirs == ours {
            return Ok(());
        }
        let (theirs, ours) = (self.groups.requests.get(theirs), self.groups.requests.get(ours));
        for (kind, a, b) in [("assigned", &theirs.assigned, &ours.assigned), ("resource", &theirs.resource, &ours.resource)] {
            if !a.is_compatible_with(b) {
                bail!(
                    InvalidArgument,
                    "Cannot place the graph because a reference or resource edge connects colocation groups with incompatible {kind} devices: {a} vs {b}. The edge src node is name='{}' (op='{}'), and the dst node is name='{}' (op='{}').",
                    src.name(),
                    src.op(),
                    dst.name(),
                    dst.op()
                );
            }
        }
        if !theirs.requested.is_compatible_with(&ours.requested) {
            let yielded = ours.yielding_to(theirs);
            let yielded = self.groups.requests.intern(yielded);
            self.groups.set_requests(to, yielded);
        }
        Ok(())
    }

    /// Colocates nodes that have a name in common in `_class`; each node also has its own name.
    fn colocate_classes(&mut self) -> Result<()> {
        let mut first: FxHashMap<&[u8], &Node> = FxHashMap::default();
        for node in self.nodes() {
            if let Some(Value::List(list)) = node.attrs().value("_class") {
                for class in list.s.iter().filter_map(|class| class.strip_prefix(CLASS_PREFIX)) {
                    self.join(&mut first, node, class)?;
                }
            }
            self.join(&mut first, node, node.name().as_bytes())?;
        }
        Ok(())
    }

    /// Adds a node to the class of this name. With soft placement, a node that cannot be with the others is left where it is.
    fn join(&mut self, first: &mut FxHashMap<&'a [u8], &'a Node>, node: &'a Node, class: &'a [u8]) -> Result<()> {
        let other = *first.entry(class).or_insert(node);
        let (x, y) = (self.groups.root(node.id()), self.groups.root(other.id()));
        match self.groups.union(x, y) {
            Err(conflict) if !self.options.allow_soft_placement => {
                Err(self.conflict(node, x, other, y, conflict).at_node(node.name(), node.op()))
            }
            _ => Ok(()),
        }
    }

    /// Returns the error for two nodes that must share a device.
    fn conflict(&mut self, x: &Node, x_root: NodeId, y: &Node, y_root: NodeId, conflict: Conflict) -> flowmill_tensor::Error {
        let nodes = format!("Cannot colocate nodes {{{{colocation_node {}}}}} and {{{{colocation_node {}}}}}", x.name(), y.name());
        let groups = format!("{}{}", self.describe_group(x_root), self.describe_group(y_root));
        match conflict {
            Conflict::Requests(e) => error!(InvalidArgument, "{nodes}: {}{groups}", e.message()),
            Conflict::Types => error!(
                InvalidArgument,
                "{nodes} because no device type supports both of those nodes and the other nodes colocated with them.{groups}"
            ),
        }
    }

    /// Restricts nodes that take variants to the host's types, if the tensors in the variants are the host's: those that take lists of strings or resources,
    /// and those that request no device, as does nothing that they are colocated with, and take variants that only the host makes. Their tensors would be
    /// copied to a device and back. Calls of functions go where their bodies are best.
    fn keep_host_variants_on_the_host(&mut self) {
        let is_host: Vec<bool> = self.types.names().iter().map(|name| self.kernels.is_host(name)).collect();
        if is_host.iter().all(|&is| is) {
            return;
        }
        let is_on_host = |&(t, _): &(u16, i32)| is_host[usize::from(t)];
        let makes_variants = |node: &Node| node.output_types().iter().any(|t| t.dtype == DType::Variant);
        let of_host: Vec<NodeId> = self.nodes().filter(|node| element_type(node).is_some_and(is_always_on_host)).map(Node::id).collect();
        let mut found = self.takers_of_variants(of_host);
        let only_host: Vec<NodeId> = self.nodes().filter(|node| makes_variants(node)).map(Node::id).collect();
        let only_host = only_host.into_iter().filter(|&id| {
            let root = self.groups.root(id);
            self.groups.types(root).iter().all(is_on_host)
        });
        let only_host = only_host.collect();
        for id in self.takers_of_variants(only_host) {
            let root = self.groups.root(id);
            let (requests, _) = self.groups.key(root);
            if requests == 0 && self.graph.get(id).is_some_and(|node| !self.graph.calls_functions(node)) {
                found.push(id);
            }
        }
        for id in found {
            let root = self.groups.root(id);
            let on_host: crate::types::TypeList = self.groups.types(root).iter().copied().filter(is_on_host).collect();
            if !on_host.is_empty() {
                self.groups.set_types(root, on_host);
            }
        }
    }

    /// Returns the nodes of `producers` that take variants, and those that take the variants of `producers`, directly or through others. A list node
    /// says what its elements are; other nodes that take variants take those of their producers.
    fn takers_of_variants(&self, producers: Vec<NodeId>) -> Vec<NodeId> {
        let takes_variant = |node: &Node| node.input_types().iter().any(|t| t.dtype == DType::Variant);
        let mut is_found = vec![false; self.graph.num_node_ids()];
        producers.iter().for_each(|id| is_found[id.index()] = true);
        let (mut stack, mut found) = (producers, Vec::new());
        while let Some(id) = stack.pop() {
            let Some(node) = self.graph.get(id) else { continue };
            if takes_variant(node) && !self.options.is_fixed(node) {
                found.push(id);
            }
            for edge in self.graph.out_edges(id) {
                let carries = edge
                    .source()
                    .is_some_and(|source| node.output_types().get(source.slot as usize).is_some_and(|t| t.dtype == DType::Variant));
                let Some(consumer) = self.graph.get(edge.dst) else { continue };
                if carries && element_type(consumer).is_none() && !std::mem::replace(&mut is_found[edge.dst.index()], true) {
                    stack.push(edge.dst);
                }
            }
        }
        found
    }
}

/// Returns the nodes in the order in which TensorFlow numbers those of a graph's message, and in which it places them: each node after its producers, and
/// otherwise as in the message. A gradient's nodes precede those of its forward loop that got a control input from them.
fn order_of_message(graph: &Graph) -> Rc<[NodeId]> {
    let is_in_order = |edge: Edge| edge.src < edge.dst || edge.dst <= NodeId::SINK || is_back_edge(graph, &edge);
    let by_id = || graph.op_nodes().map(Node::id).collect();
    if graph.edges().all(is_in_order) { by_id() } else { topological_order(graph).map_or_else(|_| by_id(), Into::into) }
}

/// Returns true for a tensor that is a reference or the handle of a resource.
fn is_shared(tensor: &TensorType) -> bool {
    tensor.is_ref || tensor.dtype == DType::Resource
}

/// Returns true if a node hands the resources that it takes to functions or to its outputs, so that they may be on other devices than the node.
fn forwards_resources(node: &Node) -> bool {
    node.role() == Role::Call
        || node.is_op("IdentityN")
        || node.is_op("DeleteMultiDeviceIterator")
        || node.attrs().values().any(|attr| !attr.functions().is_empty())
}

/// Returns true if a node takes the handle of a resource.
pub(crate) fn takes_resource(node: &Node) -> bool {
    node.input_types().iter().any(|t| t.dtype == DType::Resource)
}

fn returns_resource(node: &Node) -> bool {
    node.output_types().iter().any(|t| t.dtype == DType::Resource)
}

/// Returns true if the one output of a node is a dataset.
fn is_dataset(node: &Node) -> bool {
    let base = node.op().trim_end_matches(|c: char| c.is_ascii_digit());
    let is_named =
        node.op().ends_with("Dataset") || base.ends_with("DatasetV") && base.len() < node.op().len() || node.is_op("DatasetFromGraph");
    is_named && matches!(node.output_types(), [output] if output.dtype == DType::Variant)
}

/// Returns the type of the elements of the lists that a node makes, changes or reads, or `None` if it does not say, or if these are lists again.
fn element_type(node: &Node) -> Option<DType> {
    let is_variant = |t: &TensorType| t.dtype == DType::Variant;
    let is_of_lists = node.input_types().iter().chain(node.output_types()).any(is_variant);
    let element = node.attrs().get::<DType>("element_dtype").ok().filter(|_| is_of_lists)?;
    (element != DType::Variant).then_some(element)
}

/// Returns true for types whose tensors are in the host's memory on every device.
fn is_always_on_host(dtype: DType) -> bool {
    matches!(dtype, DType::String | DType::Resource)
}
