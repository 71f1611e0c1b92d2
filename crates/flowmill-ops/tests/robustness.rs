//! Shape functions answer whatever a graph from outside holds: absurd shapes, constants and attributes are errors or unknown, never a panic.
#![allow(clippy::unwrap_used, clippy::panic)]

use flowmill_graph::{ArgType, AttrDef, AttrType, Attrs, InferenceContext, OpDef, ValueInfo};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{AttrValue, NameAttrList, TensorProto, TensorShapeProto};
use flowmill_tensor::{DType, PartialShape, Tensor};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn shape_functions_never_panic() {
    let mut random = Random(7);
    let mut panics = Vec::new();
    for def in flowmill_ops::catalogue() {
        for round in 0..300 {
            let (attrs, inputs, outputs) = random.node(&def);
            let result = catch_unwind(AssertUnwindSafe(|| {
                let mut context = InferenceContext::new(&def, &attrs, &inputs, outputs);
                drop(def.shape_fn.unwrap()(&mut context));
            }));
            if result.is_err() {
                panics.push(format!("{} (round {round}) of {inputs:?} with {attrs:?}", def.name));
                break;
            }
        }
    }
    assert!(panics.is_empty(), "{}", panics.join("\n"));
}

/// TensorFlow ends the process here.
#[test]
fn channels_of_a_scalar_are_an_error() {
    let def = flowmill_ops::catalogue().into_iter().find(|def| def.name == "FakeQuantWithMinMaxVarsPerChannelGradient").unwrap();
    let shapes = [PartialShape::unknown(), PartialShape::scalar(), PartialShape::unknown(), PartialShape::unknown()];
    let inputs = shapes.map(|shape| ValueInfo { shape, ..ValueInfo::default() });
    let attrs = Attrs::default();
    let mut context = InferenceContext::new(&def, &attrs, &inputs, 3);
    assert!(def.shape_fn.unwrap()(&mut context).is_err());
}

/// A linear congruential generator: the same numbers everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }

    /// Mostly small, sometimes as large or small as can be.
    fn int(&mut self) -> i64 {
        match self.below(12) {
            0 => i64::MAX,
            1 => i64::MIN,
            2 => i64::from(i32::MAX),
            3 => -2,
            _ => self.below(7) as i64 - 1,
        }
    }

    fn ints(&mut self) -> Vec<i64> {
        (0..self.below(6)).map(|_| self.int()).collect()
    }

    fn shape(&mut self) -> PartialShape {
        if self.below(6) == 0 { PartialShape::unknown() } else { PartialShape::new(&self.ints()) }
    }

    fn shape_proto(&mut self) -> TensorShapeProto {
        match self.shape().dims() {
            Some(sizes) => TensorShapeProto::of(sizes.iter().copied()),
            None => TensorShapeProto { unknown_rank: true, ..TensorShapeProto::default() },
        }
    }

    fn constant(&mut self, dtype: DType) -> Option<Tensor> {
        let values = self.ints();
        let vector = match dtype {
            DType::I32 => Tensor::vector(&values.iter().map(|&v| v as i32).collect::<Vec<_>>()),
            DType::I64 => Tensor::vector(&values),
            DType::F32 => Tensor::vector(&values.iter().map(|&v| v as f32).collect::<Vec<_>>()),
            DType::String => Tensor::from_strings([values.len()], values.iter().map(|v| format!("{v} {v},{v}").into()).collect()),
            _ => return None,
        };
        let vector = vector.unwrap();
        let shape = match (self.below(3), values.len()) {
            (0, 1) => vec![],
            (1, n) if n % 2 == 0 => vec![n / 2, 2],
            (_, n) => vec![n],
        };
        vector.reshaped(flowmill_tensor::Shape::new(&shape)).ok()
    }

    fn value(&mut self, dtype: DType) -> ValueInfo {
        let constant = if self.below(2) == 0 { self.constant(dtype) } else { None };
        let shape = constant.as_ref().map_or_else(|| self.shape(), |t| t.shape().into());
        let as_shape = (constant.is_none() && shape.rank() == Some(1) && self.below(3) == 0).then(|| self.shape());
        let holds = matches!(dtype, DType::Resource | DType::Variant) && self.below(2) == 0;
        let elements = holds.then(|| (0..self.below(3)).map(|_| (DType::F32, self.shape())).collect());
        ValueInfo { shape, constant, as_shape, elements }
    }

    fn dtype(&mut self, attr: &AttrDef) -> DType {
        let all: Vec<DType> = DType::all().collect();
        let allowed = if attr.allowed_types.is_empty() { &all } else { &attr.allowed_types };
        allowed[self.below(allowed.len())]
    }

    fn attr(&mut self, attr: &AttrDef, is_count: bool) -> AttrValue {
        let length = self.below(4).max(attr.minimum.unwrap_or(0) as usize);
        let string = |random: &mut Random| match attr.allowed_strings.as_slice() {
            [] => ["", "ij,jk->ik", "...->", "a->b"][random.below(4)].to_owned(),
            allowed => allowed[random.below(allowed.len())].clone(),
        };
        let mut list = ListValue::default();
        match attr.ty {
            AttrType::String => return string(self).into(),
            AttrType::Int if is_count => return (length as i64).into(),
            AttrType::Int => return self.int().max(attr.minimum.unwrap_or(i64::MIN)).into(),
            AttrType::Float => return (self.int() as f32).into(),
            AttrType::Bool => return (self.below(2) == 0).into(),
            AttrType::Type => return Value::Type(self.dtype(attr).number()).into(),
            AttrType::Shape => return self.shape_proto().into(),
            AttrType::Tensor => return TensorProto { dtype: 1, tensor_shape: Some(self.shape_proto()), ..TensorProto::default() }.into(),
            AttrType::Func => return NameAttrList::default().into(),
            AttrType::ListString => list.s = (0..length).map(|_| string(self).into()).collect(),
            AttrType::ListInt => list.i = (0..length).map(|_| self.int()).collect(),
            AttrType::ListFloat => list.f = vec![0.5; length],
            AttrType::ListType => list.r#type = (0..length).map(|_| self.dtype(attr).number()).collect(),
            AttrType::ListShape => list.shape = (0..length).map(|_| self.shape_proto()).collect(),
            AttrType::ListBool | AttrType::ListTensor | AttrType::ListFunc => {}
        }
        list.into()
    }

    /// A node that keeps to its definition and to nothing else; the number of its outputs.
    fn node(&mut self, def: &OpDef) -> (Attrs, Vec<ValueInfo>, usize) {
        let counts = |name: &str| def.inputs.iter().chain(&def.outputs).any(|a| a.number_attr.as_deref() == Some(name));
        let mut attrs = Attrs::default();
        for attr in &def.attrs {
            let value = match &attr.default {
                Some(default) if self.below(2) == 0 => default.clone(),
                _ => self.attr(attr, counts(&attr.name)),
            };
            attrs.set(attr.name.clone(), value);
        }
        let types = |arg: &flowmill_graph::ArgDef| {
            let count = arg.number_attr.as_ref().map_or(1, |n| attrs.get::<i64>(n).unwrap() as usize);
            match &arg.ty {
                ArgType::Fixed(dtype) => vec![*dtype; count],
                ArgType::Attr(name) => vec![attrs.get(name).unwrap(); count],
                ArgType::ListAttr(name) => attrs.list(name).unwrap(),
            }
        };
        let inputs: Vec<DType> = def.inputs.iter().flat_map(types).collect();
        let outputs = def.outputs.iter().flat_map(types).count();
        let inputs = inputs.into_iter().map(|dtype| self.value(dtype)).collect();
        (attrs, inputs, outputs)
    }
}
