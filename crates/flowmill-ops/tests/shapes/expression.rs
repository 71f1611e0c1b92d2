//! The grammar of the case files (see `expect.py`), and its meaning: an op applied to shapes, constants and other ops.

use flowmill_graph::{ArgType, AttrDef, AttrType, Attrs, InferenceContext, OpDef, ValueInfo};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{AttrValue, NameAttrList, TensorShapeProto};
use flowmill_tensor::{DType, PartialShape, Result, Tensor};
use std::collections::BTreeMap;

/// One output: its type and what is known of it.
pub type Output = (DType, ValueInfo);

#[derive(Clone, Debug)]
enum Literal {
    Word(String),
    Text(String),
    List(Vec<Literal>),
}

enum Input {
    /// A tensor that another op gives.
    Output(Output),
    /// A shape or a constant; without a type it follows from the op.
    Literal(Option<DType>, Literal, bool),
}

pub struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    pub fn new(text: &'a str) -> Parser<'a> {
        Parser { rest: text.trim() }
    }

    fn eat(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        let found = self.rest.strip_prefix(token);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn word(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_.+-".contains(c))).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        assert!(!word.is_empty(), "a word expected before '{rest}'");
        self.rest = rest;
        word
    }

    fn items<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = Vec::new();
        while !self.eat(close) {
            items.push(item(self)?);
            self.eat(",");
        }
        Ok(items)
    }

    fn literal(&mut self) -> Result<Literal> {
        if self.eat("[") {
            return Ok(Literal::List(self.items("]", Self::literal)?));
        }
        if self.eat("'") {
            let (text, rest) = self.rest.split_once('\'').unwrap();
            self.rest = rest;
            return Ok(Literal::Text(text.to_owned()));
        }
        Ok(Literal::Word(if self.eat("?") { "?".to_owned() } else { self.word().to_owned() }))
    }

    fn input(&mut self) -> Result<Input> {
        self.rest = self.rest.trim_start();
        if self.rest.starts_with(['[', '?']) {
            return Ok(Input::Literal(None, self.literal()?, false));
        }
        let before = self.rest;
        let word = self.word();
        if self.rest.starts_with(['(', '{']) {
            self.rest = before;
            let (outputs, index) = self.indexed()?;
            return Ok(Input::Output(outputs[index].clone()));
        }
        let dtype = Some(DType::from_name(word).unwrap());
        let constant = self.eat("=");
        Ok(Input::Literal(dtype, self.literal()?, constant))
    }

    /// All outputs of the outermost op.
    pub fn expression(&mut self) -> Result<Vec<Output>> {
        self.indexed().map(|(outputs, _)| outputs)
    }

    fn indexed(&mut self) -> Result<(Vec<Output>, usize)> {
        let op = self.word();
        let attrs = if self.eat("{") {
            self.items("}", |p| {
                let name = p.word().to_owned();
                assert!(p.eat("="));
                Ok((name, p.literal()?))
            })?
        } else {
            Vec::new()
        };
        assert!(self.eat("("));
        let inputs = self.items(")", Self::input)?;
        let outputs = apply(op, attrs, inputs)?;
        let index = if self.eat(":") { self.word().parse().unwrap() } else { 0 };
        Ok((outputs, index))
    }
}

/// Attributes while they are being completed, lists of types apart.
struct Node {
    def: OpDef,
    attrs: BTreeMap<String, AttrValue>,
}

impl Node {
    fn int(&self, name: &str) -> Option<usize> {
        match self.attrs.get(name)?.value {
            Some(Value::I(n)) => Some(n as usize),
            _ => None,
        }
    }

    fn dtype(&self, name: &str) -> Option<DType> {
        match self.attrs.get(name)?.value {
            Some(Value::Type(n)) => DType::from_number(n),
            _ => None,
        }
    }

    fn dtypes(&self, name: &str) -> Option<Vec<DType>> {
        match &self.attrs.get(name)?.value {
            Some(Value::List(list)) => list.r#type.iter().map(|&n| DType::from_number(n)).collect(),
            _ => None,
        }
    }

    fn set_dtype(&mut self, name: &str, dtype: DType) {
        self.attrs.insert(name.to_owned(), Value::Type(dtype.number()).into());
    }

    /// Returns the number of tensors of an argument, if the attributes determine it.
    fn count(&self, arg: &flowmill_graph::ArgDef) -> Option<usize> {
        match (&arg.number_attr, &arg.ty) {
            (Some(n), _) => self.int(n),
            (None, ArgType::ListAttr(name)) => self.dtypes(name).map(|t| t.len()),
            _ => Some(1),
        }
    }
}

fn apply(op: &str, attrs: Vec<(String, Literal)>, inputs: Vec<Input>) -> Result<Vec<Output>> {
    let def = definition(op);
    let attrs = attrs
        .into_iter()
        .map(|(name, value)| {
            let kind = def.attr(&name).unwrap_or_else(|| panic!("{op} has no attribute {name}")).ty;
            let value = attr_value(kind, &value);
            (name, value)
        })
        .collect();
    infer(op, attrs, inputs)
}

fn definition(op: &str) -> OpDef {
    let (_, declared) = flowmill_ops::declarations().find(|(_, o)| o.name() == op).unwrap_or_else(|| panic!("no op {op}"));
    declared.definition().unwrap()
}

/// Completes the attributes and runs the op's shape function.
fn infer(op: &str, attrs: Vec<(String, AttrValue)>, inputs: Vec<Input>) -> Result<Vec<Output>> {
    let mut node = Node { def: definition(op), attrs: attrs.into_iter().collect() };
    let types = resolve(&mut node, &inputs);
    let values: Vec<ValueInfo> = inputs.into_iter().zip(types).map(|(input, dtype)| value_info(input, dtype)).collect();
    let Node { def, attrs } = node;
    let attrs = Attrs::from(attrs);
    let outputs: Vec<DType> = def.outputs.iter().flat_map(|arg| output_types(arg, &attrs)).collect();
    let mut context = InferenceContext::new(&def, &attrs, &values, outputs.len());
    (def.shape_fn.unwrap_or_else(|| panic!("{op} has no shape function")))(&mut context)?;
    Ok(outputs.into_iter().zip(context.into_outputs()).collect())
}

/// Completes the attributes from the inputs and the defaults; the type of each input.
fn resolve(node: &mut Node, inputs: &[Input]) -> Vec<DType> {
    let args = node.def.inputs.clone();
    let open = args.iter().filter(|a| node.count(a).is_none()).count();
    let known: usize = args.iter().filter_map(|a| node.count(a)).sum();
    let share = (inputs.len() - known).checked_div(open).unwrap_or(0);
    let counts: Vec<usize> = args.iter().map(|a| node.count(a).unwrap_or(share)).collect();
    assert_eq!(counts.iter().sum::<usize>(), inputs.len(), "inputs of {}", node.def.name);
    let type_of = |i: usize| match &inputs[i] {
        Input::Output((dtype, _)) => Some(*dtype),
        Input::Literal(dtype, ..) => *dtype,
    };
    let mut at = 0;
    let mut ranges = Vec::new();
    for (arg, &count) in args.iter().zip(&counts) {
        let range = at..at + count;
        if let Some(n) = &arg.number_attr {
            node.attrs.entry(n.clone()).or_insert_with(|| (count as i64).into());
        }
        match &arg.ty {
            ArgType::Attr(name) if node.dtype(name).is_none() => {
                if let Some(dtype) = range.clone().find_map(type_of) {
                    node.set_dtype(name, dtype);
                }
            }
            ArgType::ListAttr(name) if node.dtypes(name).is_none() => {
                let r#type = range.clone().map(|i| type_of(i).unwrap_or(DType::F32).number()).collect();
                node.attrs.insert(name.clone(), ListValue { r#type, ..ListValue::default() }.into());
            }
            _ => {}
        }
        ranges.push(range);
        at += count;
    }
    complete(node);
    let mut types = Vec::new();
    for (arg, range) in args.iter().zip(ranges) {
        let list = if let ArgType::ListAttr(name) = &arg.ty { node.dtypes(name).unwrap() } else { Vec::new() };
        types.extend(range.enumerate().map(|(k, _)| match &arg.ty {
            ArgType::Fixed(dtype) => *dtype,
            ArgType::Attr(name) => node.dtype(name).unwrap(),
            ArgType::ListAttr(_) => list[k],
        }));
    }
    types
}

/// Fills what is left with defaults; types without one are float if that is allowed.
fn complete(node: &mut Node) {
    let attrs: Vec<AttrDef> = node.def.attrs.clone();
    for attr in attrs.into_iter().filter(|a| !node.attrs.contains_key(&a.name)).collect::<Vec<_>>() {
        match (attr.default, attr.ty) {
            (Some(default), _) => drop(node.attrs.insert(attr.name, default)),
            (None, AttrType::Type) => {
                let float = attr.allowed_types.is_empty() || attr.allowed_types.contains(&DType::F32);
                node.set_dtype(&attr.name, if float { DType::F32 } else { attr.allowed_types[0] });
            }
            (None, _) => panic!("{} needs attribute {}", node.def.name, attr.name),
        }
    }
}

fn output_types(arg: &flowmill_graph::ArgDef, attrs: &Attrs) -> Vec<DType> {
    let count = arg.number_attr.as_ref().map_or(1, |n| attrs.get::<i64>(n).unwrap() as usize);
    match &arg.ty {
        ArgType::Fixed(dtype) => vec![*dtype; count],
        ArgType::Attr(name) => vec![attrs.get(name).unwrap(); count],
        ArgType::ListAttr(name) => attrs.list(name).unwrap(),
    }
}

fn value_info(input: Input, dtype: DType) -> ValueInfo {
    match input {
        Input::Output((_, value)) => value,
        Input::Literal(_, literal, false) => ValueInfo { shape: shape(&literal), ..ValueInfo::default() },
        Input::Literal(_, literal, true) => {
            // As in a graph, where constants are nodes.
            let proto = tensor(dtype, &literal).to_proto().unwrap();
            let attrs = vec![("dtype".to_owned(), Value::Type(dtype.number()).into()), ("value".to_owned(), proto.into())];
            infer("Const", attrs, Vec::new()).unwrap().remove(0).1
        }
    }
}

fn shape(literal: &Literal) -> PartialShape {
    match literal {
        Literal::List(sizes) => sizes.iter().map(|s| if text(s) == "?" { -1 } else { text(s).parse().unwrap() }).collect(),
        _ => PartialShape::unknown(),
    }
}

fn text(literal: &Literal) -> &str {
    match literal {
        Literal::Word(text) | Literal::Text(text) => text,
        Literal::List(_) => panic!("no list expected: {literal:?}"),
    }
}

fn tensor(dtype: DType, literal: &Literal) -> Tensor {
    let mut sizes = Vec::new();
    let mut elements: Vec<&Literal> = vec![literal];
    while let Some(Literal::List(first)) = elements.first() {
        sizes.push(first.len());
        elements = elements.iter().flat_map(|l| if let Literal::List(items) = l { items.iter() } else { [].iter() }).collect();
    }
    fn all<T: std::str::FromStr>(elements: &[&Literal]) -> Vec<T> {
        elements.iter().map(|e| text(e).parse().ok().unwrap()).collect()
    }
    let flat = match dtype {
        DType::I32 => Tensor::vector(&all::<i32>(&elements)),
        DType::I64 => Tensor::vector(&all::<i64>(&elements)),
        DType::F32 => Tensor::vector(&all::<f32>(&elements)),
        DType::F64 => Tensor::vector(&all::<f64>(&elements)),
        DType::Bool => Tensor::vector(&all::<bool>(&elements)),
        DType::String => Tensor::from_strings([elements.len()], elements.iter().map(|e| text(e).to_owned().into()).collect()),
        _ => panic!("no constants of {dtype}"),
    };
    flat.unwrap().reshaped(flowmill_tensor::Shape::new(&sizes)).unwrap()
}

fn attr_value(kind: AttrType, literal: &Literal) -> AttrValue {
    let list = || match literal {
        Literal::List(items) => items.iter(),
        _ => panic!("a list expected: {literal:?}"),
    };
    let dtype = |l: &Literal| DType::from_name(text(l)).unwrap().number();
    match kind {
        AttrType::String => text(literal).into(),
        AttrType::Int => text(literal).parse::<i64>().unwrap().into(),
        AttrType::Float => text(literal).parse::<f32>().unwrap().into(),
        AttrType::Bool => (text(literal) == "true").into(),
        AttrType::Type => Value::Type(dtype(literal)).into(),
        AttrType::Shape => shape_proto(literal).into(),
        AttrType::Func => function(literal).into(),
        AttrType::ListFloat => ListValue { f: list().map(|l| text(l).parse().unwrap()).collect(), ..ListValue::default() }.into(),
        AttrType::ListInt => ListValue { i: list().map(|l| text(l).parse().unwrap()).collect(), ..ListValue::default() }.into(),
        AttrType::ListType => ListValue { r#type: list().map(dtype).collect(), ..ListValue::default() }.into(),
        AttrType::ListShape => ListValue { shape: list().map(shape_proto).collect(), ..ListValue::default() }.into(),
        AttrType::ListFunc => ListValue { func: list().map(function).collect(), ..ListValue::default() }.into(),
        AttrType::ListString => ListValue { s: list().map(|l| text(l).to_owned().into()).collect(), ..ListValue::default() }.into(),
        _ => panic!("no literals of {}", kind.name()),
    }
}

fn function(literal: &Literal) -> NameAttrList {
    NameAttrList { name: text(literal).to_owned(), ..NameAttrList::default() }
}

fn shape_proto(literal: &Literal) -> TensorShapeProto {
    match shape(literal).dims() {
        Some(sizes) => TensorShapeProto::of(sizes.iter().copied()),
        None => TensorShapeProto { unknown_rank: true, ..TensorShapeProto::default() },
    }
}
