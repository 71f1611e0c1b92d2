//! The types that kernels compute are known without making them: `src/kernel_types.txt` says what their makers accept.
//! `BLESS=1 cargo test --workspace --test kernel_types` writes it.
#![allow(clippy::unwrap_used)]

use flowmill::device::HostDevice;
use flowmill::graph::{AttrDef, AttrType, Attrs, Node, OpDef};
use flowmill::proto::attr_value::{ListValue, Value};
use flowmill::proto::{AttrValue, NameAttrList, NodeDef, TensorShapeProto};
use flowmill::runtime::tuning::Tuner;
use flowmill::runtime::{FunctionLibraryRuntime, InferencePrecision, KernelInit, ResourceManager};
use flowmill::{Code, DType, Graph, KernelRegistry};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The types of attributes, in the order of [`type_attrs`].
type Types = Vec<DType>;

/// The type attributes of an op.
fn type_attrs(op: &OpDef) -> Vec<&AttrDef> {
    op.attrs.iter().filter(|attr| attr.ty == AttrType::Type).collect()
}

fn allowed(attr: &AttrDef) -> Vec<DType> {
    if attr.allowed_types.is_empty() { DType::all().collect() } else { attr.allowed_types.clone() }
}

/// Some value of an attribute that has no default and is no type.
fn some_value(attr: &AttrDef) -> Value {
    let least = attr.minimum.unwrap_or(0);
    let count = usize::try_from(least.max(1)).unwrap();
    match attr.ty {
        AttrType::String => Value::S(attr.allowed_strings.first().cloned().unwrap_or_default().into()),
        AttrType::Int => Value::I(least.max(1)),
        AttrType::Float => Value::F(1.0),
        AttrType::Bool => Value::B(false),
        AttrType::Shape => Value::Shape(Box::new(TensorShapeProto { unknown_rank: true, ..TensorShapeProto::default() })),
        AttrType::Func => Value::Func(Box::new(NameAttrList { name: "f".to_owned(), ..NameAttrList::default() })),
        AttrType::ListType => {
            let dtype = allowed(attr).into_iter().find(|d| *d == DType::F32).or(allowed(attr).first().copied()).unwrap();
            Value::List(Box::new(ListValue { r#type: vec![dtype.number(); count], ..ListValue::default() }))
        }
        AttrType::ListInt => Value::List(Box::new(ListValue { i: vec![1; count], ..ListValue::default() })),
        AttrType::ListString => Value::List(Box::new(ListValue { s: vec![Default::default(); count], ..ListValue::default() })),
        AttrType::ListFloat => Value::List(Box::new(ListValue { f: vec![1.0; count], ..ListValue::default() })),
        _ => Value::List(Box::default()),
    }
}

/// A node of `op` without inputs whose type attributes are `types`. `None` where the op does not allow them together.
fn node_of(graph: &mut Graph, op: &OpDef, types: &Types) -> Option<flowmill::NodeId> {
    let mut attr: BTreeMap<String, AttrValue> = BTreeMap::new();
    for def in op.attrs.iter().filter(|def| def.default.is_none() && def.ty != AttrType::Type) {
        attr.insert(def.name.clone(), some_value(def).into());
    }
    for (def, dtype) in type_attrs(op).iter().zip(types) {
        attr.insert(def.name.clone(), Value::Type(dtype.number()).into());
    }
    let name = graph.new_name("n");
    graph.add_node(NodeDef { name, op: op.name.clone(), attr, ..NodeDef::default() }).ok()
}

/// Returns true if the maker of a node's kernel accepts its types: it may refuse other attributes, which are arbitrary here.
fn is_accepted(kernels: &KernelRegistry, node: &Node) -> bool {
    let input_types: Vec<DType> = node.input_types().iter().map(|t| t.dtype).collect();
    let output_types: Vec<DType> = node.output_types().iter().map(|t| t.dtype).collect();
    let made = kernels.make(&KernelInit {
        name: node.name(),
        op_def: node.op_def(),
        attrs: node.attrs(),
        input_types: &input_types,
        output_types: &output_types,
        input_shapes: &[],
        constants: &[],
        device: &HostDevice::cpu(0, Arc::default()),
        resources: &Arc::new(ResourceManager::new()),
        functions: &Arc::new(FunctionLibraryRuntime::new(|name, _| Err(flowmill::Error::new(Code::NotFound, name)))),
        precision: InferencePrecision::F32,
        tuner: Tuner::off(),
    });
    !matches!(made, Err(e) if e.code() == Code::NotFound && e.message().starts_with("No registered"))
}

/// All combinations of the allowed types of an op's type attributes.
fn combinations(op: &OpDef) -> Vec<Types> {
    type_attrs(op).iter().fold(vec![Vec::new()], |all, attr| {
        all.iter().flat_map(|before| allowed(attr).into_iter().map(move |dtype| [&before[..], &[dtype]].concat())).collect()
    })
}

/// Rows of a table of combinations: in each row a set of types for each attribute, all combinations of which are there.
fn rows(combinations: &BTreeSet<Types>) -> Vec<Vec<BTreeSet<DType>>> {
    if combinations.iter().all(Vec::is_empty) {
        return vec![Vec::new(); usize::from(!combinations.is_empty())];
    }
    // Types of the first attribute that go with the same combinations of the others share rows.
    let mut rest_of: BTreeMap<DType, BTreeSet<Types>> = BTreeMap::new();
    for types in combinations {
        rest_of.entry(types[0]).or_default().insert(types[1..].to_vec());
    }
    let mut with_rest: BTreeMap<BTreeSet<Types>, BTreeSet<DType>> = BTreeMap::new();
    for (first, rest) in rest_of {
        with_rest.entry(rest).or_default().insert(first);
    }
    let row =
        |(rest, first): (BTreeSet<Types>, BTreeSet<DType>)| rows(&rest).into_iter().map(move |row| [vec![first.clone()], row].concat());
    let mut all: Vec<_> = with_rest.into_iter().flat_map(row).collect();
    all.sort();
    all
}

/// The lines of the table for an op; none where its kernel accepts all types that the op allows.
fn lines(op: &OpDef, allowed: &BTreeSet<Types>, accepted: &BTreeSet<Types>) -> Vec<String> {
    if allowed == accepted {
        return Vec::new();
    }
    let line = |row: Vec<BTreeSet<DType>>| {
        let attrs = type_attrs(op).into_iter().zip(row);
        let attrs: Vec<String> =
            attrs.map(|(attr, types)| format!(" {}={}", attr.name, types.iter().map(|t| t.name()).collect::<Vec<_>>().join(","))).collect();
        format!("{}{}", op.name, attrs.concat())
    };
    rows(accepted).into_iter().map(line).collect()
}

/// More combinations than this are not tried.
const MOST: usize = 30_000;

#[test]
fn the_table_says_what_the_makers_accept() {
    let (registry, kernels) = (flowmill::registry().unwrap(), flowmill::kernels());
    let (mut table, mut without) = (Vec::new(), Vec::new());
    for op in kernels.ops() {
        let Some(op) = registry.get(op) else { continue };
        let op: &OpDef = op;
        // A constant's value must be of its type, and its kernel takes all types.
        let has_value = op.attrs.iter().any(|attr| attr.ty == AttrType::Tensor && attr.default.is_none());
        if has_value || type_attrs(op).is_empty() || combinations(op).len() > MOST {
            continue;
        }
        let mut graph = flowmill::new_graph().unwrap();
        let (mut allowed, mut accepted) = (BTreeSet::new(), BTreeSet::new());
        for types in combinations(op) {
            let Some(id) = node_of(&mut graph, op, &types) else { continue };
            allowed.insert(types.clone());
            if is_accepted(&kernels, &graph[id]) {
                accepted.insert(types);
            }
        }
        if accepted.is_empty() {
            without.push(op.name.clone());
            continue;
        }
        table.extend(lines(op, &allowed, &accepted));
    }
    assert_eq!(without, Vec::<String>::new(), "no combination of types has a kernel");
    table.sort();
    let expected =
        format!("# The types that kernels compute, where an op allows others: see tests/kernel_types.rs.\n{}\n", table.join("\n"));
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kernel_types.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap() == expected, "stale: run BLESS=1 cargo test --workspace --test kernel_types");
}

#[test]
fn the_registry_is_asked_without_making_a_kernel() {
    let kernels = flowmill::kernels();
    let attrs = |dtype: DType| {
        let mut attrs = Attrs::default();
        attrs.set("T", Value::Type(dtype.number()));
        attrs
    };
    assert!(kernels.supports("AddN", &attrs(DType::F32)) && kernels.supports("AddN", &attrs(DType::Variant)));
    assert!(!kernels.supports("AddN", &attrs(DType::String)));
    assert!(kernels.supports("Identity", &attrs(DType::String)));
    assert!(!kernels.supports("NoSuchOp", &attrs(DType::F32)));
}
