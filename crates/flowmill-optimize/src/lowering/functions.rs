//! The functions of a graph while it is lowered, and the records of the lowering passes.

use super::conditional::{Class, Classes, Liveness};
use flowmill_graph::{
    ARG, Attrs, ControlFlow, FrameId, Function, FunctionBody, Graph, Node, NodeId, Role, TensorType, call_of, instantiate_function,
};
use flowmill_proto::attr_value::Value;
use flowmill_proto::{AttrValue, NameAttrList};
use flowmill_tensor::Result;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::ops::RangeFrom;
use std::sync::Arc;

/// The greatest depth to which functions are copied into functions. A call that is nested deeper is not inlined.
pub const MAX_NESTING: u32 = 100;

/// The largest number of nodes that lowering adds to one graph. A call that would exceed it is not inlined: `n` functions that each call the next one
/// twice expand to 2ⁿ bodies.
pub const MAX_ADDED_NODES: usize = 1 << 18;

/// The reason why a node was not lowered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Reason {
    /// The call is recursive, directly or through other functions.
    Recursive,
    /// The node came from a chain of [`MAX_NESTING`] functions.
    NestedTooDeeply,
    /// More than [`MAX_ADDED_NODES`] nodes would be added.
    TooManyNodes,
    /// The function or the node has the attribute `_noinline`.
    NoInline,
    /// There is no such function, or its body is not a graph.
    NotAFunction,
    /// The function's types are not those of the node.
    OtherTypes,
    /// The loop has no variables, so that nothing would start its iterations.
    NoVariables,
    /// A node outside of a loop would have to wait for a node in the loop's frame.
    EffectsInFrames,
}

impl Reason {
    fn text(self) -> &'static str {
        match self {
            Reason::Recursive => "the function is recursive",
            Reason::NestedTooDeeply => "functions nest too deeply",
            Reason::TooManyNodes => "the graph would grow too large",
            Reason::NoInline => "the function is marked _noinline",
            Reason::NotAFunction => "the function has no body",
            Reason::OtherTypes => "the function has other types",
            Reason::NoVariables => "the loop has no variables",
            Reason::EffectsInFrames => "the function has effects in loops of frames",
        }
    }
}

/// A function's body, without nodes that neither results nor effects need.
pub(crate) struct Body {
    pub(crate) name: Arc<str>,
    /// The attributes that the function's signature was instantiated with.
    pub(crate) attrs: BTreeMap<String, AttrValue>,
    pub(crate) graph: Graph,
    /// The argument nodes by index; `None` if the body does not use the argument.
    pub(crate) args: Vec<Option<NodeId>>,
    /// The index of each argument node: the inverse of `args`.
    pub(crate) arg_indices: FxHashMap<NodeId, usize>,
    pub(crate) retvals: Vec<NodeId>,
    /// The nodes that run whenever the function is called. Calls of functions without effects do not count.
    pub(crate) effects: Vec<NodeId>,
    /// True if there are nodes that neither an argument nor another node starts.
    pub(crate) has_roots: bool,
    pub(crate) is_noinline: bool,
    /// True if some effects are in loops of frames.
    has_effects_in_frames: bool,
}

impl Body {
    /// Returns true if the body can replace a node with these types, whose inputs `inputs` are the arguments.
    pub(crate) fn fits(&self, node: &Node, inputs: RangeFrom<usize>) -> bool {
        let returned = self.retvals.iter().filter_map(|&id| self.graph.get(id)).flat_map(|n| n.input_types()).map(|t| t.dtype);
        self.takes(node, inputs) && returned.eq(node.output_types().iter().map(|t| t.dtype))
    }

    /// Returns true if the body's arguments have the types of these inputs of a node.
    pub(crate) fn takes(&self, node: &Node, inputs: RangeFrom<usize>) -> bool {
        let given = node.input_types().get(inputs).unwrap_or_default();
        let accepts = |arg: &Option<NodeId>, t: &TensorType| {
            arg.and_then(|id| self.graph.get(id)).is_none_or(|n| n.output_types().iter().all(|o| o.dtype == t.dtype))
        };
        self.args.len() == given.len() && self.args.iter().zip(given).all(|(arg, t)| accepts(arg, t))
    }
}

/// A function in a chain of functions that were copied into one another.
struct Link {
    function: Arc<str>,
    around: Option<u32>,
    depth: u32,
}

/// The functions of one graph's library while that graph is lowered.
pub struct Functions {
    bodies: FxHashMap<String, Option<Arc<Body>>>,
    /// The functions whose bodies are being prepared, to detect recursion.
    open: FxHashSet<String>,
    links: Vec<Link>,
    /// The innermost function that each copied node came from.
    origins: FxHashMap<NodeId, u32>,
    /// The link of the function whose body the graph is.
    root: Option<u32>,
    classes: Classes,
    left: BTreeMap<NodeId, Reason>,
    num_added: usize,
    max_added: usize,
    only_marked: bool,
}

/// The attribute of branches and loops that TensorFlow lowers.
const IS_LOWERED: &str = "_lower_using_switch_merge";

/// Returns true for a branch or a loop that TensorFlow lowers before it places a graph.
pub fn is_marked(node: &Node) -> bool {
    node.attrs().get(IS_LOWERED).unwrap_or(false)
}

impl Functions {
    /// Makes the state for a graph that is the body of `function`, or of no function if the name is `""`.
    pub fn new(function: &str) -> Functions {
        let mut this = Functions {
            bodies: FxHashMap::default(),
            open: FxHashSet::default(),
            links: Vec::new(),
            origins: FxHashMap::default(),
            root: None,
            classes: Classes::default(),
            left: BTreeMap::new(),
            num_added: 0,
            max_added: MAX_ADDED_NODES,
            only_marked: false,
        };
        if !function.is_empty() {
            this.links.push(Link { function: function.into(), around: None, depth: 0 });
            this.root = Some(0);
        }
        this
    }

    /// Replaces the limit [`MAX_ADDED_NODES`].
    pub fn with_max_added_nodes(self, max_added: usize) -> Functions {
        Functions { max_added, ..self }
    }

    /// Returns the reasons why nodes were not lowered, each with the number of nodes.
    pub fn left(&self) -> Vec<(&'static str, usize)> {
        let mut counts: BTreeMap<Reason, usize> = BTreeMap::new();
        self.left.values().for_each(|&r| *counts.entry(r).or_default() += 1);
        counts.into_iter().map(|(r, n)| (r.text(), n)).collect()
    }

    /// Returns the nodes of these ops that no earlier round gave up on, in order.
    pub(crate) fn candidates(&self, graph: &Graph, is_wanted: impl Fn(&Node) -> bool) -> Vec<NodeId> {
        let is_lowered = |n: &Node| !self.only_marked || is_marked(n);
        graph.op_nodes().filter(|n| is_wanted(n) && is_lowered(n)).map(Node::id).filter(|id| !self.left.contains_key(id)).collect()
    }

    /// Lowers only what TensorFlow lowers before it places a graph.
    pub(crate) fn only_marked(self) -> Functions {
        Functions { only_marked: true, ..self }
    }

    /// Records that a node is not lowered.
    pub(crate) fn leave(&mut self, node: NodeId, reason: Reason) {
        self.left.insert(node, reason);
    }

    /// Returns the body of a function that `node` calls.
    pub(crate) fn body(&mut self, graph: &Graph, node: NodeId, function: &NameAttrList) -> std::result::Result<Arc<Body>, Reason> {
        let mut link = self.origin(node);
        if link.is_some_and(|l| self.links[l as usize].depth >= MAX_NESTING) {
            return Err(Reason::NestedTooDeeply);
        }
        while let Some(l) = link {
            if *self.links[l as usize].function == *function.name {
                return Err(Reason::Recursive);
            }
            link = self.links[l as usize].around;
        }
        let body = self.make(graph, &function.name, &Attrs::from(function.attr.clone())).ok_or(Reason::NotAFunction)?;
        if body.has_effects_in_frames {
            return Err(Reason::EffectsInFrames);
        }
        if self.num_added + body.graph.num_nodes() > self.max_added {
            return Err(Reason::TooManyNodes);
        }
        Ok(body)
    }

    /// Computes the liveness of the graph's nodes.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a cycle that is no loop.
    pub(crate) fn liveness(&mut self, graph: &Graph) -> Result<Liveness> {
        self.classes.of(graph)
    }

    /// Records the class of a new Merge or Exit: that of the node that it replaces.
    pub(crate) fn add_join(&mut self, join: NodeId, class: Class) {
        self.classes.add_join(join, class);
    }

    /// Adds a link for a copy of `function`'s body that replaces `caller`.
    pub(super) fn enter(&mut self, caller: NodeId, function: &Arc<str>) -> u32 {
        let around = self.origin(caller);
        let depth = around.map_or(0, |l| self.links[l as usize].depth) + 1;
        self.links.push(Link { function: function.clone(), around, depth });
        self.links.len() as u32 - 1
    }

    /// Records a copied node.
    pub(super) fn note(&mut self, node: NodeId, link: u32) {
        self.origins.insert(node, link);
        self.num_added += 1;
    }

    fn origin(&self, node: NodeId) -> Option<u32> {
        self.origins.get(&node).copied().or(self.root)
    }

    fn make(&mut self, graph: &Graph, name: &str, attrs: &Attrs) -> Option<Arc<Body>> {
        let key = format!("{name} {attrs:?}");
        if let Some(body) = self.bodies.get(&key) {
            return body.clone();
        }
        if self.open.len() > MAX_NESTING as usize || !self.open.insert(key.clone()) {
            return None;
        }
        let function = graph.library().get(name).cloned();
        let body = function.and_then(|f| {
            let body = instantiate_function(&f, attrs, graph.library(), graph.registry()).ok()?;
            self.prepare(&f, attrs, body).map(Arc::new)
        });
        self.open.remove(&key);
        self.bodies.insert(key, body.clone());
        body
    }

    fn prepare(&mut self, function: &Function, attrs: &Attrs, mut body: FunctionBody) -> Option<Body> {
        let effects: Vec<NodeId> = body.effects().into_iter().filter(|&id| self.has_effect(&body.graph, id)).collect();
        let kept = [effects.clone(), body.retvals.clone()].concat();
        flowmill_graph::traverse::prune(&mut body.graph, &kept).ok()?;
        let graph = body.graph;
        let has_effects_in_frames = has_any_in_frames(&graph, &effects)?;
        let has_roots = graph.op_nodes().any(|n| !n.is_op(ARG) && graph.in_edges(n.id()).next().is_none());
        let args: Vec<Option<NodeId>> = body.args.iter().map(|&id| graph.get(id).map(Node::id)).collect();
        Some(Body {
            name: function.name().into(),
            attrs: attrs.to_map(),
            arg_indices: args.iter().enumerate().filter_map(|(i, &id)| Some((id?, i))).collect(),
            args,
            retvals: body.retvals,
            effects,
            has_roots,
            is_noinline: is_noinline(&Attrs::from(function.def().attr.clone())),
            has_effects_in_frames,
            graph,
        })
    }

    /// Returns true if the node, which has state or is one that a function promises to run, has an effect besides its results.
    fn has_effect(&mut self, graph: &Graph, id: NodeId) -> bool {
        let Some(node) = graph.get(id) else { return false };
        let Some(functions) = called(graph, node) else { return true };
        functions.iter().any(|f| self.make(graph, &f.name, &Attrs::from(f.attr.clone())).is_none_or(|body| !body.effects.is_empty()))
    }
}

/// Returns true if one of the nodes is in a loop of frames, and `None` if the graph's frames are not well formed.
fn has_any_in_frames(graph: &Graph, nodes: &[NodeId]) -> Option<bool> {
    if nodes.is_empty() || !graph.op_nodes().any(Node::is_enter) {
        return Some(false);
    }
    let flow = ControlFlow::new(graph).ok()?;
    Some(nodes.iter().any(|&id| flow.frame_of(id) != FrameId::ROOT))
}

/// Returns true if the attributes of a function or a call forbid inlining. A function that XLA must compile is marked `_noinline`, so that it reaches
/// XLA whole; here, nothing needs it whole.
pub(crate) fn is_noinline(attrs: &Attrs) -> bool {
    let is_set = |name| attrs.get_or(name, false).unwrap_or(false);
    is_set("_noinline") && !is_set("_XlaMustCompile")
}

/// Returns the functions that a call, branch or loop runs, or `None` for other nodes.
pub(crate) fn called(graph: &Graph, node: &Node) -> Option<Vec<NameAttrList>> {
    let of = |attr: &str| node.attrs().get::<&NameAttrList>(attr).ok().cloned();
    match node.role() {
        Role::If => Some(vec![of("then_branch")?, of("else_branch")?]),
        Role::While => Some(vec![of("cond")?, of("body")?]),
        Role::Case => match node.attrs().value("branches")? {
            Value::List(list) => Some(list.func.clone()),
            _ => None,
        },
        _ => Some(vec![call_of(graph, node)?]),
    }
}
