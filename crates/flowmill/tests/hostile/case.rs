//! A node to run: its attributes and what its inputs are.

use crate::values::Random;
use flowmill::proto::AttrValue;
use flowmill::{DType, OpRegistry, Tensor};
use flowmill_graph::{ArgType, Attrs, OpDef};
use flowmill_runtime::KernelRegistry;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Case {
    pub op: String,
    pub attrs: Attrs,
    pub inputs: Vec<Input>,
    /// Nodes that are run first, with this one's first input instead of their own.
    pub before: Vec<Case>,
    /// The type that tensors have if nothing else is said, and their usual shape.
    main: DType,
    shape: Vec<usize>,
}

#[derive(Clone, Debug)]
pub struct Input {
    /// The type asked for, and whether a reference is.
    pub ty: (DType, bool),
    pub source: Source,
}

#[derive(Clone, Debug)]
pub enum Source {
    /// A placeholder whose static shape is known or not.
    Fed {
        value: Tensor,
        known: bool,
    },
    Constant(Tensor),
    /// The first output of a node: handles, references, variants.
    Node(Box<Case>),
}

/// Makes cases.
pub struct Cases {
    pub registry: Arc<OpRegistry>,
    /// Ops whose first output is a handle, a reference or a variant.
    producers: Vec<(Arc<OpDef>, (DType, bool))>,
    /// Ops whose first input is.
    consumers: Vec<(Arc<OpDef>, (DType, bool))>,
}

/// The depth to which the inputs of inputs are generated.
const MAX_DEPTH: usize = 3;

impl Cases {
    pub fn new(registry: Arc<OpRegistry>, kernels: &KernelRegistry) -> Cases {
        let mut cases = Cases { registry, producers: Vec::new(), consumers: Vec::new() };
        for name in kernels.ops() {
            let Some(def) = cases.registry.get(name) else { continue };
            let kind = |arg: Option<&flowmill_graph::ArgDef>| {
                let arg = arg?;
                match (&arg.ty, arg.is_ref) {
                    (ArgType::Fixed(dtype @ (DType::Resource | DType::Variant)), _) => Some((*dtype, false)),
                    (ArgType::Fixed(dtype), true) => Some((*dtype, true)),
                    (ArgType::Attr(_), true) => Some((DType::F32, true)),
                    _ => None,
                }
            };
            let (input, output) = (kind(def.inputs.first()), kind(def.outputs.first()));
            let def = def.clone();
            cases.producers.extend(output.map(|kind| (def.clone(), kind)));
            cases.consumers.extend(input.map(|kind| (def, kind)));
        }
        cases
    }

    /// A case for `op`: new, or one of `corpus` with something changed.
    pub fn case(&self, op: &OpDef, corpus: &[Case], random: &mut Random) -> Case {
        if corpus.is_empty() || random.once_in(4) {
            return self.fresh(op, random, 0);
        }
        let mut case = corpus[random.below(corpus.len())].clone();
        for _ in 0..1 + random.below(2) {
            self.change(op, &mut case, random);
        }
        case
    }

    fn fresh(&self, op: &OpDef, random: &mut Random, depth: usize) -> Case {
        const COMMON: [DType; 12] = [
            DType::F32,
            DType::F32,
            DType::F32,
            DType::F64,
            DType::I32,
            DType::I64,
            DType::I64,
            DType::String,
            DType::Bool,
            DType::U8,
            DType::C64,
            DType::F16,
        ];
        let (main, shape) = (random.pick(&COMMON), random.dims());
        self.with(op, main, shape, random, depth)
    }

    fn with(&self, op: &OpDef, main: DType, shape: Vec<usize>, random: &mut Random, depth: usize) -> Case {
        let mut attrs = Attrs::default();
        op.attrs.iter().for_each(|attr| attrs.set(attr.name.clone(), self.attr(op, attr, main, random)));
        let mut case = Case { op: op.name.clone(), attrs, inputs: Vec::new(), before: Vec::new(), main, shape };
        case.inputs = input_types(op, &case.attrs).into_iter().map(|ty| self.input(ty, &case, random, depth)).collect();
        if depth == 0 {
            case.before = self.before(op, &case, random);
        }
        case
    }

    fn attr(&self, op: &OpDef, attr: &flowmill_graph::AttrDef, main: DType, random: &mut Random) -> AttrValue {
        match &attr.default {
            Some(default) if !random.once_in(3) => default.clone(),
            _ => {
                let is_count = op.inputs.iter().chain(&op.outputs).any(|a| a.number_attr.as_deref() == Some(&attr.name));
                random.attr(attr, is_count, main)
            }
        }
    }

    fn input(&self, ty: (DType, bool), case: &Case, random: &mut Random, depth: usize) -> Input {
        let made = ty.1 || matches!(ty.0, DType::Resource | DType::Variant);
        let source = if made {
            let of_kind: Vec<_> = self.producers.iter().filter(|(_, kind)| kind.1 == ty.1 && (kind.0 == ty.0 || ty.1)).collect();
            let related: Vec<_> = of_kind.iter().copied().filter(|(def, _)| is_related(&def.name, &case.op)).collect();
            let from = if related.is_empty() || random.once_in(4) { of_kind } else { related };
            let shallow: Vec<_> = from.iter().copied().filter(|(def, _)| def.inputs.is_empty()).collect();
            let from = if depth >= MAX_DEPTH && !shallow.is_empty() { shallow } else { from };
            match from.get(random.below(from.len())) {
                Some((def, _)) if depth <= MAX_DEPTH => {
                    let main = if ty.1 { ty.0 } else { case.main };
                    Source::Node(Box::new(self.with(def, main, case.shape.clone(), random, depth + 1)))
                }
                _ => Source::Constant(Tensor::scalar(0.0f32)),
            }
        } else {
            let dims = match random.below(8) {
                0..=3 => case.shape.clone(),
                4 => Vec::new(),
                5 => vec![random.below(5)],
                _ => random.dims(),
            };
            let value = random.tensor(ty.0, &dims);
            if random.once_in(4) { Source::Constant(value) } else { Source::Fed { value, known: random.once_in(3) } }
        };
        Input { ty, source }
    }

    fn before(&self, op: &OpDef, case: &Case, random: &mut Random) -> Vec<Case> {
        let Some(Input { ty, source: Source::Node(_) }) = case.inputs.first() else { return Vec::new() };
        let related = |name: &str| is_related(name, &op.name) || name.starts_with("Assign");
        let from: Vec<_> = self.consumers.iter().filter(|(def, kind)| kind.1 == ty.1 && related(&def.name)).collect();
        let mut before = Vec::new();
        for _ in 0..random.below(4) {
            if let Some((def, _)) = from.get(random.below(from.len())) {
                before.push(self.with(def, case.main, case.shape.clone(), random, 1));
            }
        }
        before
    }

    fn change(&self, op: &OpDef, case: &mut Case, random: &mut Random) {
        let (attrs, inputs) = (op.attrs.len(), case.inputs.len());
        let at = random.below(attrs + 4 * inputs + 1);
        if at < attrs {
            case.attrs.set(op.attrs[at].name.clone(), self.attr(op, &op.attrs[at], case.main, random));
            let mut old = std::mem::take(&mut case.inputs);
            let types = input_types(op, &case.attrs);
            for ty in types {
                let kept = old.iter().position(|i| i.ty == ty).map(|i| old.remove(i));
                let input = kept.unwrap_or_else(|| self.input(ty, case, random, 0));
                case.inputs.push(input);
            }
        } else if at == attrs + 4 * inputs {
            case.before = self.before(op, case, random);
        } else {
            let i = (at - attrs) / 4;
            let ty = case.inputs[i].ty;
            match (&case.inputs[i].source, random.below(4)) {
                (Source::Fed { value, known }, 0) => case.inputs[i].source = Source::Fed { value: value.clone(), known: !known },
                (Source::Fed { value, .. }, 1) => case.inputs[i].source = Source::Constant(value.clone()),
                (Source::Constant(value) | Source::Fed { value, .. }, 2) => {
                    // Another size, or a dimension more or less.
                    let mut dims = value.shape().dims().to_vec();
                    match (random.below(4), dims.len()) {
                        (0, _) => dims.push(1 + random.below(2)),
                        (1, 1..) => drop(dims.remove(0)),
                        (_, 1..) => {
                            let axis = random.below(dims.len());
                            dims[axis] = random.below(5);
                        }
                        _ => dims = case.shape.clone(),
                    }
                    if dims.iter().product::<usize>() > 4096 {
                        dims = case.shape.clone();
                    }
                    case.inputs[i].source = Source::Fed { value: random.tensor(ty.0, &dims), known: false };
                }
                (Source::Constant(value) | Source::Fed { value, .. }, 3) => {
                    let dims = value.shape().dims().to_vec();
                    case.inputs[i].source = Source::Fed { value: random.tensor(ty.0, &dims), known: false };
                }
                _ => case.inputs[i] = self.input(ty, case, random, 0),
            }
        }
    }
}

/// Returns true if the names of two ops begin with the same word, such as `Queue` or `TensorList`.
fn is_related(a: &str, b: &str) -> bool {
    const FAMILIES: [&[&str]; 12] = [
        &["Queue", "FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue", "PriorityQueue"],
        &["TensorArray"],
        &["TensorList", "EmptyTensorList", "TensorListReserve"],
        &["Lookup", "Hash", "MutableHash", "MutableDense", "AnonymousHash", "AnonymousMutable", "Initialize", "AnonymousMutableDense"],
        &["Stack"],
        &["Barrier"],
        &["Reader", "TextLineReader", "IdentityReader", "FixedLength", "WholeFile", "TFRecord"],
        &["Accumulator", "ConditionalAccumulator", "SparseConditional", "SparseAccumulator", "ResourceAccumulator", "ResourceConditional"],
        &[
            "Variable",
            "VarHandle",
            "ReadVariable",
            "Assign",
            "Scatter",
            "ResourceScatter",
            "ResourceGather",
            "Destroy",
            "IsVariable",
            "ResourceApply",
            "Apply",
            "SparseApply",
            "ResourceSparse",
            "ResourceStrided",
            "Count",
            "ResourceCount",
            "VarIsInitialized",
            "TemporaryVariable",
            "Rng",
            "StatefulRandom",
            "StatefulStandard",
            "StatefulTruncated",
            "StatefulUniform",
        ],
        &["RaggedTensor"],
        &["Mutex", "Consume"],
        &["Summary", "CreateSummary", "Write", "Flush", "Close", "Import"],
    ];
    FAMILIES.iter().any(|family| {
        let is_in = |name: &str| family.iter().any(|prefix| name.starts_with(prefix));
        is_in(a) && is_in(b)
    })
}

/// Types of a node's inputs, and which are references.
fn input_types(op: &OpDef, attrs: &Attrs) -> Vec<(DType, bool)> {
    op.inputs
        .iter()
        .flat_map(|arg| {
            let count = arg.number_attr.as_ref().map_or(1, |n| attrs.get::<i64>(n).unwrap_or(0) as usize);
            let types = match &arg.ty {
                ArgType::Fixed(dtype) => vec![*dtype; count],
                ArgType::Attr(name) => vec![attrs.get(name).unwrap_or(DType::F32); count],
                ArgType::ListAttr(name) => attrs.list(name).unwrap_or_default(),
            };
            types.into_iter().map(|dtype| (dtype, arg.is_ref)).collect::<Vec<_>>()
        })
        .collect()
}
