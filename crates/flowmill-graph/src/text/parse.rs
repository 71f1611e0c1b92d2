//! Reading.

use super::constants::ConstantTable;
use super::lexer::{Lexer, Token};
use super::literal::type_from_name;
use super::tensor::read_tensor;
use crate::signature::{TypeList, resolve_types};
use crate::{
    AttrType, Attrs, Graph, ImportOptions, OpDef, OpRegistry, TensorName, TensorType, complete_attrs, import_graph_def, infer_attrs,
};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{AttrValue, GraphDef, NameAttrList, NodeDef, TensorProto, TensorShapeProto};
use flowmill_tensor::{Result, bail};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Deepest nesting of functions' attributes.
const MAX_DEPTH: usize = 50;

/// Reads the text form of a graph. Empty lines are left out, `#` begins a comment. Attributes that follow from the types of a node's
/// inputs, and a constant's type, may be left out.
///
/// # Errors
/// `InvalidArgument` with the number of the line, and whatever importing the nodes refuses.
pub fn parse_graph(text: &str, registry: &Arc<OpRegistry>, constants: &ConstantTable) -> Result<Graph> {
    let mut nodes = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let mut parser = Parser { lexer: Lexer::new(line, i + 1), registry, constants };
        nodes.extend(parser.node()?);
    }
    infer_missing_attrs(&mut nodes, registry);
    let mut graph = Graph::new(registry.clone());
    let versions = Some(graph.versions());
    let options = ImportOptions { allow_internal_names: true, validate_colocation: false, ..Default::default() };
    import_graph_def(&mut graph, GraphDef { node: nodes, versions, ..Default::default() }, &options)?;
    Ok(graph)
}

/// Adds the attributes that follow from inputs, if these are listed before their consumers.
fn infer_missing_attrs(nodes: &mut [NodeDef], registry: &OpRegistry) {
    let mut outputs: BTreeMap<String, Vec<TensorType>> = BTreeMap::new();
    for node in nodes {
        let Some(op_def) = registry.get(&node.op) else { continue };
        let mut attrs = Attrs::from(std::mem::take(&mut node.attr));
        if node.op == "Const"
            && let Ok(tensor) = attrs.get::<&TensorProto>("value")
            && !attrs.contains("dtype")
        {
            attrs.set("dtype", AttrValue::from(Value::Type(tensor.dtype)));
        }
        let data = node.input.iter().filter_map(|i| TensorName::parse(i)).filter(|i| !i.is_control());
        let types: Vec<_> = data.map(|i| outputs.get(i.node)?.get(i.slot as usize).copied()).collect();
        infer_attrs(op_def, &types, &mut attrs);
        let mut completed = attrs.clone();
        node.attr = attrs.into_map();
        let mut types = TypeList::new();
        // What is wrong here is reported when the node is imported.
        if complete_attrs(&node.name, op_def, &mut completed).is_ok()
            && let Ok(num_inputs) = resolve_types(op_def, &completed, &mut types)
        {
            outputs.insert(node.name.clone(), types[num_inputs..].to_vec());
        }
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    registry: &'a OpRegistry,
    constants: &'a ConstantTable,
}

impl Parser<'_> {
    fn node(&mut self) -> Result<Option<NodeDef>> {
        let name = match self.lexer.next()? {
            Token::End => return Ok(None),
            Token::Word(name) => name,
            other => return Err(self.lexer.unexpected(&other)),
        };
        // How many outputs there are follows from the op.
        if self.lexer.take(':') {
            self.lexer.number::<u32>()?;
        }
        self.lexer.expect('=')?;
        let mut node = NodeDef { name, op: self.lexer.word()?, ..Default::default() };
        let op_def = self.registry.get(&node.op).cloned();
        self.lexer.expect('(')?;
        while !self.lexer.take(')') {
            if !node.input.is_empty() {
                self.lexer.expect(',')?;
            }
            node.input.push(self.tensor_name()?);
        }
        if self.lexer.take('{') {
            node.attr = self.attrs(op_def.as_deref(), 0)?;
        }
        if self.lexer.take('@') {
            node.device = self.lexer.until_blank().to_owned();
        }
        while self.lexer.take('^') {
            node.input.push(format!("^{}", self.lexer.word()?));
        }
        match self.lexer.next()? {
            Token::End => Ok(Some(node)),
            other => Err(self.lexer.unexpected(&other)),
        }
    }

    fn tensor_name(&mut self) -> Result<String> {
        let mut name = self.lexer.word()?;
        if self.lexer.take(':') {
            name = format!("{name}:{}", self.lexer.number::<u32>()?);
        }
        Ok(name)
    }

    /// Attributes up to the closing brace.
    fn attrs(&mut self, op_def: Option<&OpDef>, depth: usize) -> Result<BTreeMap<String, AttrValue>> {
        let mut attrs = BTreeMap::new();
        while !self.lexer.take('}') {
            if !attrs.is_empty() {
                self.lexer.expect(',')?;
            }
            let name = self.lexer.word()?;
            self.lexer.expect('=')?;
            let ty = op_def.and_then(|op| op.attr(&name)).map(|a| a.ty);
            attrs.insert(name, AttrValue { value: self.value(ty, depth)?, ..Default::default() });
        }
        Ok(attrs)
    }

    fn value(&mut self, ty: Option<AttrType>, depth: usize) -> Result<Option<Value>> {
        if depth > MAX_DEPTH {
            bail!(InvalidArgument, "line {}: functions are nested deeper than {MAX_DEPTH}", self.lexer.line());
        }
        let element = ty.and_then(element_type);
        if element.is_some() && self.lexer.take('[') {
            return Ok(Some(self.list(element, depth)?));
        }
        if ty == Some(AttrType::Shape) {
            return Ok(Some(Value::Shape(Box::new(self.shape()?))));
        }
        Ok(Some(match self.lexer.next()? {
            Token::String(bytes) => Value::S(bytes.into()),
            Token::Char('@') => Value::Func(Box::new(self.func(depth)?)),
            Token::Char('$') => Value::Placeholder(self.lexer.word()?),
            Token::Word(word) => match &*word {
                "none" => return Ok(None),
                "shape" => Value::Shape(Box::new(self.shape()?)),
                "list" => self.untyped_list(depth)?,
                _ => self.word_value(&word, ty)?,
            },
            other => return Err(self.lexer.unexpected(&other)),
        }))
    }

    /// Returns a number, a truth value, a type, or a tensor, which begins with its type.
    fn word_value(&mut self, word: &str, ty: Option<AttrType>) -> Result<Value> {
        if word == "true" || word == "false" {
            return Ok(Value::B(word == "true"));
        }
        if word == "type" && self.lexer.take('#') {
            return Ok(Value::Type(self.lexer.number()?));
        }
        if let Some(dtype) = type_from_name(word) {
            if ty != Some(AttrType::Type) && self.lexer.peek('[') {
                return Ok(Value::Tensor(Box::new(read_tensor(&mut self.lexer, dtype, self.constants)?)));
            }
            return Ok(Value::Type(dtype.number()));
        }
        if ty != Some(AttrType::Float)
            && let Ok(i) = word.parse()
        {
            return Ok(Value::I(i));
        }
        match word.parse() {
            Ok(x) => Ok(Value::F(x)),
            Err(_) => bail!(InvalidArgument, "line {}: '{word}' is not an attribute's value", self.lexer.line()),
        }
    }

    fn func(&mut self, depth: usize) -> Result<NameAttrList> {
        let name = self.lexer.word()?;
        let attr = if self.lexer.take('{') { self.attrs(None, depth + 1)? } else { BTreeMap::new() };
        Ok(NameAttrList { name, attr, ..Default::default() })
    }

    fn shape(&mut self) -> Result<TensorShapeProto> {
        if self.lexer.take('?') {
            return Ok(TensorShapeProto { unknown_rank: true, ..Default::default() });
        }
        let mut dims = Vec::new();
        self.lexer.expect('[')?;
        while !self.lexer.take(']') {
            if !dims.is_empty() {
                self.lexer.expect(',')?;
            }
            dims.push(if self.lexer.take('?') { -1 } else { self.lexer.number()? });
        }
        Ok(TensorShapeProto::of(dims))
    }

    /// After `list`: the kind in parentheses, then the elements. Without a kind there are none.
    fn untyped_list(&mut self, depth: usize) -> Result<Value> {
        let mut element = None;
        if self.lexer.take('(') {
            let kind = self.lexer.word()?;
            self.lexer.expect(')')?;
            element = AttrType::from_name(&kind);
        }
        self.lexer.expect('[')?;
        self.list(element, depth)
    }

    /// Elements up to the closing bracket.
    fn list(&mut self, element: Option<AttrType>, depth: usize) -> Result<Value> {
        let mut list = ListValue::default();
        let mut is_first = true;
        while !self.lexer.take(']') {
            if !is_first {
                self.lexer.expect(',')?;
            }
            is_first = false;
            match self.value(element, depth + 1)? {
                Some(Value::S(s)) => list.s.push(s),
                Some(Value::I(i)) => list.i.push(i),
                Some(Value::F(x)) => list.f.push(x),
                Some(Value::B(b)) => list.b.push(b),
                Some(Value::Type(t)) => list.r#type.push(t),
                Some(Value::Shape(shape)) => list.shape.push(*shape),
                Some(Value::Tensor(tensor)) => list.tensor.push(*tensor),
                Some(Value::Func(func)) => list.func.push(*func),
                _ => bail!(InvalidArgument, "line {}: a list cannot hold this", self.lexer.line()),
            }
        }
        Ok(Value::List(Box::new(list)))
    }
}

fn element_type(list: AttrType) -> Option<AttrType> {
    AttrType::from_name(list.name().strip_prefix("list(")?.strip_suffix(')')?)
}
