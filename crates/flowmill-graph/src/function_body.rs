//! A function as a graph.

use crate::builtin::{ARG, RETVAL};
use crate::signature::{TypeList, arg_types};
use crate::traverse::prune;
use crate::{
    Attrs, Function, FunctionLibrary, Graph, ImportOptions, Node, NodeId, OpDef, OpRegistry, TensorType, arg_ranges, complete_attrs,
    import_graph_def,
};
use flowmill_proto::attr_value::Value;
use flowmill_proto::{AttrValue, DataType, FunctionDef, GraphDef, NodeDef};
use flowmill_tensor::{DType, Result, bail};
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A function with its attributes bound: a graph with an `_Arg` for each tensor that goes in and a `_Retval` for each that comes out.
#[derive(Clone)]
pub struct FunctionBody {
    /// The graph. Its library is the one the function was taken from.
    pub graph: Graph,
    /// The `_Arg`s by their attribute `index`.
    pub args: Vec<NodeId>,
    /// Their types.
    pub arg_types: Vec<DType>,
    /// The `_Retval`s by their attribute `index`.
    pub retvals: Vec<NodeId>,
    /// Their types.
    pub retval_types: Vec<DType>,
    /// The nodes that must have run when the function is done, in the order of the signature's control outputs.
    pub control_retvals: Vec<NodeId>,
}

impl FunctionBody {
    /// Returns the nodes that run whenever the function is called, whether or not a result is used: those it promises to run, and those with side
    /// effects.
    /// TensorFlow keeps the same nodes.
    pub fn effects(&self) -> Vec<NodeId> {
        let has_effect = |n: &&Node| n.op_def().is_stateful() && !n.is_op(ARG) && !n.is_op(RETVAL);
        let mut effects: Vec<NodeId> = self.graph.op_nodes().filter(has_effect).map(Node::id).collect();
        effects.extend(&self.control_retvals);
        effects.sort_unstable();
        effects.dedup();
        effects
    }

    /// Removes what neither the results nor the [effects](FunctionBody::effects) need; `args` may name removed nodes then.
    ///
    /// # Errors
    /// None for a graph whose edges are consistent.
    pub fn prune(&mut self) -> Result<()> {
        let kept = [self.effects(), self.retvals.clone()].concat();
        prune(&mut self.graph, &kept).map(|_| ())
    }
}

/// Makes the graph of a function.
///
/// `attrs` are those of the calling node or of the attribute that names the function; ones that the signature does not have are ignored,
/// missing ones take their defaults.
///
/// # Errors
/// `InvalidArgument` for unbound attributes, unknown inputs or results, and whatever importing a graph refuses; `NotFound` for ops that
/// do not exist.
pub fn instantiate_function(
    function: &Function,
    attrs: &Attrs,
    library: &Arc<FunctionLibrary>,
    registry: &Arc<OpRegistry>,
) -> Result<FunctionBody> {
    instantiate(function, attrs, library, registry).map_err(|e| e.append(format_args!("\n\t In function '{}'", function.name())))
}

fn instantiate(function: &Function, attrs: &Attrs, library: &Arc<FunctionLibrary>, registry: &Arc<OpRegistry>) -> Result<FunctionBody> {
    let (def, signature) = (function.def(), function.op_def());
    let mut bound = Attrs::default();
    for attr in &signature.attrs {
        if let Some(value) = attrs.attr(&attr.name) {
            bound.set(attr.name.clone(), value.clone());
        }
    }
    complete_attrs(&signature.name, signature, &mut bound)?;

    let mut builder = BodyBuilder { def, signature, bound: &bound, library, registry, nodes: Vec::new(), items: HashMap::new() };
    let arg_types = builder.add_args()?;
    builder.add_outputs()?;
    builder.add_nodes()?;
    let retval_types = builder.add_retvals()?;
    let nodes = builder.nodes;

    let (num_args, num_retvals) = (arg_types.len(), retval_types.len());
    let mut graph = Graph::new(registry.clone());
    graph.set_library(library.clone());
    let options = ImportOptions { validate_colocation: false, allow_internal_names: true, ..Default::default() };
    let body = GraphDef { node: nodes, versions: Some(graph.versions()), ..Default::default() };
    let ids = import_graph_def(&mut graph, body, &options)?.nodes;
    let mut control_retvals = Vec::new();
    for output in &signature.control_outputs {
        let Some(node) = def.control_ret.get(output).and_then(|name| graph.find_node(name)) else {
            bail!(InvalidArgument, "Control output '{output}' is not a node of the function");
        };
        control_retvals.push(node.id());
    }
    Ok(FunctionBody {
        args: ids[..num_args].to_vec(),
        retvals: ids[ids.len() - num_retvals..].to_vec(),
        graph,
        arg_types,
        retval_types,
        control_retvals,
    })
}

/// The tensors that a name in a function's body denotes: `first..first + count` of a node.
#[derive(Clone)]
struct Item {
    node: Arc<str>,
    first: usize,
    types: TypeList,
    /// True for an argument that is a list: each tensor has an `_Arg` of its own, `name_i`.
    is_arg_list: bool,
}

impl Item {
    /// The name of the `i`th tensor as a GraphDef writes it.
    fn tensor(&self, i: usize) -> String {
        if self.is_arg_list {
            return format!("{}_{i}", self.node);
        }
        match self.first + i {
            0 => self.node.to_string(),
            slot => format!("{}:{slot}", self.node),
        }
    }
}

struct BodyBuilder<'a> {
    def: &'a FunctionDef,
    signature: &'a OpDef,
    bound: &'a Attrs,
    library: &'a FunctionLibrary,
    registry: &'a OpRegistry,
    nodes: Vec<NodeDef>,
    /// Arguments as `name`, outputs of nodes as `node:output`.
    items: HashMap<String, Item>,
}

impl BodyBuilder<'_> {
    /// Returns the `_Arg`s, with the attributes that the function gives its arguments.
    fn add_args(&mut self) -> Result<Vec<DType>> {
        let mut dtypes: Vec<DType> = Vec::new();
        for (place, arg) in self.signature.inputs.iter().enumerate() {
            let mut types = TypeList::new();
            arg_types(arg, self.bound, &mut types)?;
            let item = Item { node: arg.name.as_str().into(), first: 0, is_arg_list: types.len() > 1, types };
            let given = u32::try_from(place).ok().and_then(|place| self.def.arg_attr.get(&place));
            for (i, ty) in item.types.iter().enumerate() {
                let mut node = boundary(ARG, item.tensor(i), ty.dtype, dtypes.len(), None);
                for (name, value) in given.iter().flat_map(|g| &g.attr) {
                    node.attr.insert(name.clone(), value.clone());
                }
                self.nodes.push(node);
                dtypes.push(ty.dtype);
            }
            self.items.insert(arg.name.clone(), item);
        }
        Ok(dtypes)
    }

    /// The outputs of the body's nodes, which may be used before they are listed.
    fn add_outputs(&mut self) -> Result<()> {
        for node in &self.def.node_def {
            let op_def = match self.library.op_def(&node.op) {
                Some(op_def) => op_def,
                None => self.registry.lookup(&node.op).map_err(|e| e.at_node(&node.name, &node.op))?,
            };
            if op_def.outputs.is_empty() {
                continue;
            }
            let mut attrs = Attrs::from(substitute_all(&node.attr, self.bound, &node.name)?);
            complete_attrs(&node.name, op_def, &mut attrs)?;
            let name: Arc<str> = node.name.as_str().into();
            for (arg, range) in op_def.outputs.iter().zip(arg_ranges(&op_def.outputs, &attrs)?) {
                let mut types = TypeList::new();
                arg_types(arg, &attrs, &mut types)?;
                self.items
                    .insert(format!("{name}:{}", arg.name), Item { node: name.clone(), first: range.start, types, is_arg_list: false });
            }
        }
        Ok(())
    }

    fn add_nodes(&mut self) -> Result<()> {
        for node in &self.def.node_def {
            let mut input = Vec::with_capacity(node.input.len());
            for name in &node.input {
                if name.starts_with('^') {
                    input.extend(self.control_input(name));
                } else {
                    input.extend(
                        self.tensors(name)
                            .map_err(|e| e.append(format_args!(" of node '{}'", node.name)))?
                            .into_iter()
                            .map(|(name, _)| name),
                    );
                }
            }
            self.nodes.push(NodeDef { input, attr: substitute_all(&node.attr, self.bound, &node.name)?, ..node.clone() });
        }
        Ok(())
    }

    /// A control input may name an argument that is a list: any of its `_Arg`s does then, if there are any.
    fn control_input(&self, name: &str) -> Option<String> {
        match self.items.get(&name[1..]) {
            Some(item) if item.types.is_empty() => None,
            Some(item) if item.is_arg_list => Some(format!("^{}", item.tensor(0))),
            _ => Some(name.to_owned()),
        }
    }

    fn add_retvals(&mut self) -> Result<Vec<DType>> {
        let mut dtypes = Vec::new();
        for output in &self.signature.outputs {
            let Some(source) = self.def.ret.get(&output.name) else { bail!(InvalidArgument, "Return '{}' missing.", output.name) };
            let mut expected = TypeList::new();
            arg_types(output, self.bound, &mut expected)?;
            let tensors = self.tensors(source).map_err(|e| e.append(format_args!(" of return '{}'", output.name)))?;
            if tensors.len() != expected.len() || tensors.iter().zip(&expected).any(|((_, t), e)| t.dtype != e.dtype) {
                bail!(InvalidArgument, "Invalid ret types {} : {source}", output.name);
            }
            let many = tensors.len() > 1;
            for (i, (tensor, ty)) in tensors.into_iter().enumerate() {
                let name = if many { format!("{}_RetVal_{i}", output.name) } else { format!("{}_RetVal", output.name) };
                self.nodes.push(boundary(RETVAL, name, ty.dtype, dtypes.len(), Some(tensor)));
                dtypes.push(ty.dtype);
            }
        }
        Ok(dtypes)
    }

    /// Returns the tensors that a name denotes: `arg`, `arg:i`, `node:output` (all of a list) or `node:output:i`.
    fn tensors(&self, name: &str) -> Result<Vec<(String, TensorType)>> {
        if let Some(item) = self.items.get(name) {
            return Ok((0..item.types.len()).map(|i| (item.tensor(i), item.types[i])).collect());
        }
        if let Some((list, index)) = name.rsplit_once(':')
            && let (Some(item), Ok(index)) = (self.items.get(list), index.parse::<usize>())
            && let Some(&ty) = item.types.get(index)
        {
            return Ok(vec![(item.tensor(index), ty)]);
        }
        bail!(InvalidArgument, "input {name} is not found: no such argument or output")
    }
}

fn boundary(op: &str, name: String, dtype: DType, index: usize, input: Option<String>) -> NodeDef {
    let dtype = DataType::try_from(dtype.number()).unwrap_or_default();
    let attr = [("T".to_owned(), AttrValue::from(dtype)), ("index".to_owned(), AttrValue::from(index as i64))];
    NodeDef { name, op: op.into(), attr: attr.into(), input: input.into_iter().collect(), ..Default::default() }
}

fn substitute_all(attrs: &BTreeMap<String, AttrValue>, bound: &Attrs, node: &str) -> Result<BTreeMap<String, AttrValue>> {
    attrs.iter().map(|(name, value)| Ok((name.clone(), substitute(value, bound, node)?))).collect()
}

/// Puts what attributes are bound to in the place of placeholders, also inside lists and functions' attributes.
fn substitute(value: &AttrValue, bound: &Attrs, node: &str) -> Result<AttrValue> {
    Ok(match &value.value {
        Some(Value::Placeholder(name)) => match bound.attr(name) {
            Some(value) => value.clone(),
            None => bail!(InvalidArgument, "Failed to bind all placeholders in node '{node}': no attr '{name}'"),
        },
        Some(Value::Func(func)) => {
            let mut func = func.clone();
            func.attr = substitute_all(&func.attr, bound, node)?;
            AttrValue::from(Value::Func(func))
        }
        Some(Value::List(list)) if !list.func.is_empty() => {
            let mut list = list.clone();
            for func in &mut list.func {
                func.attr = substitute_all(&func.attr, bound, node)?;
            }
            AttrValue::from(Value::List(list))
        }
        _ => value.clone(),
    })
}
