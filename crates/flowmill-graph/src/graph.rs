//! The graph: nodes by id and by name.

mod change;
mod part;
mod template;

pub use template::NodeTemplate;

use crate::arena::Arena;
use crate::check::{complete_attrs, is_valid_internal_name};
use crate::edge::EdgeRecord;
use crate::name_hash::{NameHash, NameHasher};
use crate::node::{EdgeList, NodeRest};
use crate::signature::{Signature, TensorType, TypeList, resolve_types};
use crate::{Attrs, EdgeId, FunctionLibrary, Node, NodeId, OpDef, OpRegistry, OutputId, builtin, versions};
use flowmill_proto::{GraphDef, NodeDef, VersionDef};
use flowmill_tensor::{Result, bail};
use hashbrown::{HashSet, HashTable};
use std::borrow::Borrow;
use std::fmt::Write;
use std::ops::Index;
use std::sync::{Arc, LazyLock};

static NO_OP: LazyLock<Arc<OpDef>> = LazyLock::new(|| Arc::new(builtin::no_op()));

/// The parts of a new node, except its inputs.
pub(crate) struct NodeParts<'a> {
    pub(crate) name: String,
    pub(crate) op_def: Arc<OpDef>,
    pub(crate) device: &'a str,
    pub(crate) attrs: Attrs,
    pub(crate) rest: Option<Box<NodeRest>>,
}

impl NodeParts<'_> {
    /// Takes a message apart.
    fn of(def: &mut NodeDef, op_def: Arc<OpDef>) -> NodeParts<'_> {
        let (name, attrs, rest) = (std::mem::take(&mut def.name), std::mem::take(&mut def.attr).into(), NodeRest::take(def));
        NodeParts { name, op_def, device: &def.device, attrs, rest }
    }
}

/// A dataflow graph.
///
/// Nodes and edges are kept in chunked slabs and named by ids that are never given out again within the graph. Every graph starts
/// with `_SOURCE` and `_SINK`, joined by a control edge.
///
/// `graph[id]` gives a node and panics for an id that is not in the graph, as an index out of range does; [`Graph::node`] answers
/// with an error.
#[derive(Clone)]
pub struct Graph {
    pub(crate) registry: Arc<OpRegistry>,
    pub(crate) nodes: Arena<NodeId, Node>,
    pub(crate) edges: Arena<EdgeId, EdgeRecord>,
    /// Node ids by their names, each with the name's hash, so that growing the table looks at no node.
    names: HashTable<(NameHash, NodeId)>,
    pub(crate) hasher: NameHasher,
    /// Nodes with smaller ids are in `names` before they are inserted.
    names_known: usize,
    signatures: HashSet<Arc<Signature>>,
    devices: HashSet<Device>,
    /// The versions of the imported message, unchanged; `None` if it had none.
    pub(crate) versions: Option<VersionDef>,
    library: Arc<FunctionLibrary>,
    /// True if the imported message had a library, even an empty one.
    pub(crate) has_library_field: bool,
    /// The other fields of the message that was imported into the empty graph.
    pub(crate) rest: GraphDef,
    pub(crate) change_count: u64,
    /// Changes that are not additions.
    pub(crate) rewrite_count: u64,
    name_counter: u64,
}

impl Graph {
    /// Returns an empty graph whose ops are those of `registry`.
    pub fn new(registry: Arc<OpRegistry>) -> Graph {
        let mut graph = Graph {
            registry,
            nodes: Arena::new(),
            edges: Arena::new(),
            names: HashTable::new(),
            hasher: NameHasher::default(),
            names_known: 0,
            signatures: HashSet::new(),
            devices: HashSet::new(),
            versions: Some(versions::current()),
            library: Arc::default(),
            has_library_field: false,
            rest: GraphDef::default(),
            change_count: 0,
            rewrite_count: 0,
            name_counter: 0,
        };
        for name in ["_SOURCE", "_SINK"] {
            // A fresh arena has room for two nodes.
            let _ = graph.insert((name.into(), graph.hasher.hash(name)), NO_OP.clone(), None, Attrs::default(), None, Arc::default());
        }
        let _ = graph.add_control_edge(NodeId::SOURCE, NodeId::SINK);
        graph
    }

    /// Returns the ops that do not come from the graph's own library.
    pub fn registry(&self) -> &Arc<OpRegistry> {
        &self.registry
    }

    /// Returns the functions.
    pub fn library(&self) -> &Arc<FunctionLibrary> {
        &self.library
    }

    /// Returns true if the kernel of a node calls functions of the library when it runs: the node's op is a function, or one that calls functions.
    pub fn calls_functions(&self, node: &Node) -> bool {
        node.role().calls_functions() || self.library.get(node.op()).is_some()
    }

    /// Returns the functions, for adding and removing. A library shared with another graph is copied first.
    pub fn library_mut(&mut self) -> &mut FunctionLibrary {
        self.change_count += 1;
        Arc::make_mut(&mut self.library)
    }

    /// Replaces the functions.
    pub fn set_library(&mut self, library: Arc<FunctionLibrary>) {
        self.change_count += 1;
        self.library = library;
    }

    /// The versions the graph was made with.
    pub fn versions(&self) -> VersionDef {
        self.versions.clone().unwrap_or_default()
    }

    /// Returns the version of the graph format that the graph was made with: 0 if its message did not say.
    pub fn producer(&self) -> i32 {
        self.versions.as_ref().map_or(0, |versions| versions.producer)
    }

    /// Replaces the versions.
    pub fn set_versions(&mut self, versions: VersionDef) {
        self.versions = Some(versions);
    }

    /// Returns the definition of an op of the registry or a function of the library.
    ///
    /// # Errors
    /// `NotFound` if there is neither.
    pub fn op_def(&self, op: &str) -> Result<&Arc<OpDef>> {
        match self.library.op_def(op) {
            Some(def) => Ok(def),
            None => self.registry.lookup(op),
        }
    }

    /// Grows with each change: equal counts mean that nothing changed in between.
    pub fn change_count(&self) -> u64 {
        self.change_count
    }

    /// Grows with each change of what was there: equal counts mean that the graph only gained nodes and edges in between.
    pub fn rewrite_count(&self) -> u64 {
        self.rewrite_count
    }

    /// Counts a change of what was there.
    pub(crate) fn count_rewrite(&mut self) {
        self.change_count += 1;
        self.rewrite_count += 1;
    }

    /// Ids given out so far: every node's id is less.
    pub fn num_node_ids(&self) -> usize {
        self.nodes.num_keys()
    }

    /// Nodes, `_SOURCE` and `_SINK` included.
    pub fn num_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Ids given out so far: every edge's id is less.
    pub fn num_edge_ids(&self) -> usize {
        self.edges.num_keys()
    }

    /// Edges, the one between `_SOURCE` and `_SINK` included.
    pub fn num_edges(&self) -> usize {
        self.edges.len()
    }

    /// Returns the node `id`, or `None` if it was removed or never was.
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id)
    }

    /// Returns the node `id`.
    ///
    /// # Errors
    /// `NotFound` if it was removed or never was.
    pub fn node(&self, id: NodeId) -> Result<&Node> {
        match self.nodes.get(id) {
            Some(node) => Ok(node),
            None => bail!(NotFound, "Node id {} is not in the graph", id.0),
        }
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> Result<&mut Node> {
        match self.nodes.get_mut(id) {
            Some(node) => Ok(node),
            None => bail!(NotFound, "Node id {} is not in the graph", id.0),
        }
    }

    /// Returns all nodes in the order of their ids, `_SOURCE` and `_SINK` first.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = &Node> {
        self.nodes.iter().map(|(_, node)| node)
    }

    /// Returns the nodes but `_SOURCE` and `_SINK`, in the order of their ids.
    pub fn op_nodes(&self) -> impl DoubleEndedIterator<Item = &Node> {
        self.nodes().filter(|n| !n.is_source_or_sink())
    }

    /// Returns the ids of [`Graph::op_nodes`], for loops that change the graph.
    pub fn op_node_ids(&self) -> Vec<NodeId> {
        self.op_nodes().map(Node::id).collect()
    }

    /// Returns the node called `name`.
    pub fn find_node(&self, name: &str) -> Option<&Node> {
        self.find_hashed(name, self.hasher.hash(name))
    }

    fn find_hashed(&self, name: &str, hash: NameHash) -> Option<&Node> {
        let same = |&(other, id): &(NameHash, NodeId)| other == hash && self.nodes.get(id).is_some_and(|n| *n.name == *name);
        self.names.find(hash.spread(), same).and_then(|&(_, id)| self.get(id))
    }

    /// Adds a node.
    ///
    /// Its `input` names nodes of this graph: data inputs in order (`x`, `x:1`), then control inputs (`^x`). Data inputs may be left
    /// out at the end, to be connected with [`Graph::add_edge`]. Attributes it leaves out take their defaults.
    ///
    /// # Errors
    /// `NotFound` for an op that does not exist; `InvalidArgument` for a bad name, attribute, input or type. The graph is unchanged then.
    pub fn add_node(&mut self, mut def: NodeDef) -> Result<NodeId> {
        let inputs = std::mem::take(&mut def.input);
        let (mut data, mut control) = (Vec::with_capacity(inputs.len()), Vec::new());
        for input in &inputs {
            match crate::TensorName::parse(input) {
                Some(name) if name.is_control() => control.push(self.named_input(name.node, &def.name)?),
                Some(_) if !control.is_empty() => {
                    bail!(InvalidArgument, "Node '{}': Control dependencies must come after regular dependencies", def.name)
                }
                Some(name) => data.push(self.named_input(name.node, &def.name)?.output(name.slot as u32)),
                None => bail!(InvalidArgument, "Node '{}': Malformed input '{input}'", def.name),
            }
        }
        self.add_node_with_inputs(def, &data, &control)
    }

    fn named_input(&self, name: &str, of: &str) -> Result<NodeId> {
        match self.find_node(name) {
            Some(node) => Ok(node.id),
            None => bail!(InvalidArgument, "Node '{of}': Unknown input node '{name}'"),
        }
    }

    /// Adds a node with inputs given by id; `def.input` is not looked at. Otherwise as [`Graph::add_node`].
    ///
    /// # Errors
    /// `NotFound` for an unknown op, `InvalidArgument` for a bad name, attribute, input or type; see [`Graph::add_node`].
    pub fn add_node_with_inputs(&mut self, mut def: NodeDef, inputs: &[OutputId], control: &[NodeId]) -> Result<NodeId> {
        let op_def = self.op_def(&def.op)?.clone();
        self.add_parts(NodeParts::of(&mut def, op_def), inputs, control)
    }

    /// Like [`Graph::add_node_with_inputs`], for a node whose op is known.
    pub(crate) fn add_parts(&mut self, mut node: NodeParts<'_>, inputs: &[OutputId], control: &[NodeId]) -> Result<NodeId> {
        let hash = self.hasher.hash(&node.name);
        let signature = self.check_node(&mut node, hash)?;
        self.add_checked(node, hash, signature, inputs, control)
    }

    /// Adds a node of which everything but its inputs is checked.
    fn add_checked(
        &mut self,
        node: NodeParts<'_>,
        hash: NameHash,
        signature: Arc<Signature>,
        inputs: &[OutputId],
        control: &[NodeId],
    ) -> Result<NodeId> {
        let id = self.nodes.next_key()?;
        let types = signature.inputs();
        if inputs.len() > types.len() {
            bail!(
                InvalidArgument,
                "NodeDef expected inputs '{}' do not match {} inputs specified; {}; NodeDef: {{{{node {}}}}}",
                crate::signature::type_names(types),
                inputs.len(),
                node.op_def,
                node.name
            );
        }
        for (i, (&input, &expected)) in inputs.iter().zip(types).enumerate() {
            self.check_edge_types(input, i, &node.name, expected)?;
        }
        for &c in control {
            self.node(c)?;
        }
        self.edges.check_room(inputs.len() + control.len())?;
        let device = self.intern_device(node.device);
        self.insert((node.name.into(), hash), node.op_def, device, node.attrs, node.rest, signature)?;
        for (i, &input) in inputs.iter().enumerate() {
            self.connect(input, id, i)?;
        }
        for &c in control {
            self.add_control_edge(c, id)?;
        }
        Ok(id)
    }

    /// Checks everything of a node that does not depend on its inputs, and completes its attributes.
    fn check_node(&mut self, node: &mut NodeParts<'_>, hash: NameHash) -> Result<Arc<Signature>> {
        if !is_valid_internal_name(&node.name) {
            bail!(InvalidArgument, "Node '{}': Node name contains invalid characters", node.name);
        }
        if self.find_hashed(&node.name, hash).is_some() {
            bail!(InvalidArgument, "Node name '{}' already exists in the Graph", node.name);
        }
        complete_attrs(&node.name, &node.op_def, &mut node.attrs)?;
        self.resolve_signature(&node.op_def, &node.attrs).map_err(|e| e.at_node(&node.name, &node.op_def.name))
    }

    pub(crate) fn resolve_signature(&mut self, op_def: &OpDef, attrs: &Attrs) -> Result<Arc<Signature>> {
        let mut types = TypeList::new();
        let num_inputs = resolve_types(op_def, attrs, &mut types)?;
        Ok(self.intern_signature(&types, num_inputs))
    }

    fn intern_signature(&mut self, types: &[TensorType], num_inputs: usize) -> Arc<Signature> {
        struct Key<'a>(&'a [TensorType], usize);
        impl std::hash::Hash for Key<'_> {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.0.hash(state);
                self.1.hash(state);
            }
        }
        impl hashbrown::Equivalent<Arc<Signature>> for Key<'_> {
            fn equivalent(&self, key: &Arc<Signature>) -> bool {
                key.is(self.0, self.1)
            }
        }
        if let Some(signature) = self.signatures.get(&Key(types, num_inputs)) {
            return signature.clone();
        }
        let signature = Arc::new(Signature::new(types, num_inputs));
        self.signatures.insert(signature.clone());
        signature
    }

    pub(crate) fn intern_device(&mut self, device: &str) -> Option<Arc<String>> {
        if device.is_empty() {
            return None;
        }
        Some(self.devices.get_or_insert_with(device, |d| Device(Arc::new(d.to_owned()))).0.clone())
    }

    /// Makes room for that many more nodes and edges, so that importing does not grow tables step by step.
    pub(crate) fn reserve(&mut self, nodes: usize, edges: usize) {
        self.nodes.reserve(nodes);
        self.edges.reserve(edges);
    }

    /// Takes over a table of names, with the ids that the next insertions will give. The graph has no nodes yet but its first two.
    pub(crate) fn adopt_names(&mut self, mut names: HashTable<(NameHash, NodeId)>) {
        for &(hash, id) in &self.names {
            names.insert_unique(hash.spread(), (hash, id), |(hash, _)| hash.spread());
        }
        self.names = names;
        self.names_known = self.nodes.num_keys() + self.names.len() - 2;
    }

    /// Adds a node whose parts are checked; its inputs are not connected. The hash is that of the name by `self.hasher`.
    pub(crate) fn insert(
        &mut self,
        (name, hash): (Arc<str>, NameHash),
        op_def: Arc<OpDef>,
        device: Option<Arc<String>>,
        attrs: Attrs,
        rest: Option<Box<NodeRest>>,
        signature: Arc<Signature>,
    ) -> Result<NodeId> {
        let id = self.nodes.next_key()?;
        let in_edges = EdgeList::from_elem(EdgeId::NONE, signature.inputs().len());
        self.nodes.insert(Node { id, name, op_def, signature, device, attrs, in_edges, out_edges: EdgeList::new(), rest })?;
        if id.index() >= self.names_known {
            self.names.insert_unique(hash.spread(), (hash, id), |(hash, _)| hash.spread());
        }
        self.change_count += 1;
        Ok(id)
    }

    fn forget_name(&mut self, id: NodeId, name: &str) {
        let hash = self.hasher.hash(name);
        if let Ok(entry) = self.names.find_entry(hash.spread(), |&(_, other)| other == id) {
            entry.remove();
        }
    }

    /// A name that no node has: `prefix/_N`.
    pub fn new_name(&mut self, prefix: &str) -> String {
        self.unused_name(prefix).0
    }

    /// Returns [`Graph::new_name`] with its hash.
    fn unused_name(&mut self, prefix: &str) -> (String, NameHash) {
        const MAX_SUFFIX: usize = 12;
        loop {
            // In one allocation: partitioning makes hundreds of thousands of names.
            let mut name = String::with_capacity(prefix.len() + MAX_SUFFIX);
            name.push_str(prefix);
            let _ = write!(name, "/_{}", self.name_counter);
            self.name_counter += 1;
            let hash = self.hasher.hash(&name);
            if self.find_hashed(&name, hash).is_none() {
                return (name, hash);
            }
        }
    }
}

/// A device's name in the set of those that nodes share, found by `&str`.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Device(Arc<String>);

impl Borrow<str> for Device {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Index<NodeId> for Graph {
    type Output = Node;
    fn index(&self, id: NodeId) -> &Node {
        match self.nodes.get(id) {
            Some(node) => node,
            None => missing_node(id),
        }
    }
}

#[cold]
#[allow(clippy::panic)]
fn missing_node(id: NodeId) -> ! {
    panic!("{id:?} is not in the graph")
}
