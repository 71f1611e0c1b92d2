//! The types of a node's inputs and outputs, from its op's definition and its attributes.

use crate::{ArgDef, ArgType, Attrs, OpDef};
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_tensor::{DType, Result, bail};
use smallvec::SmallVec;
use std::fmt;
use std::ops::Range;

/// The most tensors that one declared argument may have.
pub const MAX_ARG_TENSORS: i64 = 1 << 20;

/// The type of one input or output of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// The element type; for a reference, of what it refers to.
    pub dtype: DType,
    /// A reference to a mutable tensor.
    pub is_ref: bool,
}

impl TensorType {
    /// Returns true if an input of type `self` takes a tensor of type `actual`: a reference can be read as a value, but not vice versa.
    pub fn accepts(self, actual: TensorType) -> bool {
        self.dtype == actual.dtype && (!self.is_ref || actual.is_ref)
    }
}

impl From<DType> for TensorType {
    fn from(dtype: DType) -> TensorType {
        TensorType { dtype, is_ref: false }
    }
}

/// TensorFlow's C++ name: `float`, `int32`, `float_ref`.
impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(type_name(self.dtype))?;
        if self.is_ref { f.write_str("_ref") } else { Ok(()) }
    }
}

impl fmt::Debug for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Types of inputs and outputs; those of most nodes need no memory of their own.
pub(crate) type TypeList = SmallVec<[TensorType; 8]>;

/// The name that TensorFlow's C++ messages use.
pub(crate) fn type_name(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "float",
        DType::F64 => "double",
        DType::F16 => "half",
        _ => dtype.name(),
    }
}

/// `float, int32`, as TensorFlow lists types in messages.
pub(crate) fn type_names(types: &[TensorType]) -> String {
    types.iter().map(|t| t.to_string()).collect::<Vec<_>>().join(", ")
}

/// The types of all inputs and outputs. Shared by all nodes of a graph that have the same.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Signature {
    /// Inputs, then outputs.
    types: Box<[TensorType]>,
    num_inputs: usize,
}

impl Signature {
    pub(crate) fn new(types: &[TensorType], num_inputs: usize) -> Signature {
        Signature { types: types.into(), num_inputs }
    }

    pub(crate) fn is(&self, types: &[TensorType], num_inputs: usize) -> bool {
        self.num_inputs == num_inputs && *self.types == *types
    }

    pub(crate) fn inputs(&self) -> &[TensorType] {
        &self.types[..self.num_inputs]
    }

    pub(crate) fn outputs(&self) -> &[TensorType] {
        &self.types[self.num_inputs..]
    }
}

/// Appends the types of one argument's tensors.
pub(crate) fn arg_types(arg: &ArgDef, attrs: &Attrs, types: &mut TypeList) -> Result<()> {
    let dtype = match &arg.ty {
        ArgType::ListAttr(attr) => {
            for dtype in attrs.list::<DType>(attr)? {
                types.push(TensorType { dtype, is_ref: arg.is_ref });
            }
            return Ok(());
        }
        ArgType::Attr(attr) => attrs.get(attr)?,
        ArgType::Fixed(dtype) => *dtype,
    };
    let n = match &arg.number_attr {
        None => 1,
        Some(attr) => attrs.get::<i64>(attr)?,
    };
    if !(0..=MAX_ARG_TENSORS).contains(&n) {
        bail!(InvalidArgument, "Value for number_attr() {n} of argument '{}' is not between 0 and {MAX_ARG_TENSORS}", arg.name);
    }
    types.extend((0..n).map(|_| TensorType { dtype, is_ref: arg.is_ref }));
    Ok(())
}

/// Appends the types of all inputs, then those of all outputs; returns the number of inputs.
pub(crate) fn resolve_types(op_def: &OpDef, attrs: &Attrs, types: &mut TypeList) -> Result<usize> {
    let start = types.len();
    for arg in &op_def.inputs {
        arg_types(arg, attrs, types)?;
    }
    let num_inputs = types.len() - start;
    for arg in &op_def.outputs {
        arg_types(arg, attrs, types)?;
    }
    Ok(num_inputs)
}

/// Returns the range of tensors of each argument, in the order of `args`.
///
/// # Errors
/// `InvalidArgument` if an attribute that says so is missing or out of range.
pub fn arg_ranges(args: &[ArgDef], attrs: &Attrs) -> Result<Vec<Range<usize>>> {
    let mut types = TypeList::new();
    args.iter()
        .map(|arg| {
            let start = types.len();
            arg_types(arg, attrs, &mut types)?;
            Ok(start..types.len())
        })
        .collect()
}

/// Adds the attributes that follow from the types of a node's inputs and that it leaves out: element types, lists of types, and how many
/// tensors an argument has. An input whose type is not known yet is `None`. Attributes that cannot be inferred stay missing.
pub fn infer_attrs(op_def: &OpDef, inputs: &[Option<TensorType>], attrs: &mut Attrs) {
    let mut at = 0usize;
    // An argument of unknown length takes what the others, of known length, leave.
    let single = op_def.inputs.iter().filter(|a| a.number_attr.is_none() && !matches!(a.ty, ArgType::ListAttr(_))).count();
    let num_lists = op_def.inputs.len() - single;
    for arg in &op_def.inputs {
        let left = inputs.len().saturating_sub(single);
        let count = match (&arg.ty, &arg.number_attr) {
            (_, Some(n)) => match attrs.get::<i64>(n) {
                Ok(n) => usize::try_from(n).unwrap_or(0),
                Err(_) if num_lists == 1 => left,
                Err(_) => return,
            },
            (ArgType::ListAttr(list), None) => match attrs.list::<DType>(list) {
                Ok(types) => types.len(),
                Err(_) if num_lists == 1 => left,
                Err(_) => return,
            },
            _ => 1,
        };
        let types = inputs.get(at..at.saturating_add(count)).unwrap_or(&[]);
        at = at.saturating_add(count);
        if let Some(n) = &arg.number_attr
            && !attrs.contains(n)
        {
            attrs.set(n.clone(), count as i64);
        }
        match &arg.ty {
            ArgType::Attr(name) if !attrs.contains(name) => {
                if let Some(ty) = types.iter().flatten().next() {
                    attrs.set(name.clone(), AttrValue::from(Value::Type(ty.dtype.number())));
                }
            }
            ArgType::ListAttr(name) if !attrs.contains(name) => {
                if let Some(types) = types.iter().map(|t| t.map(|t| t.dtype.number())).collect::<Option<Vec<_>>>() {
                    attrs.set(name.clone(), ListValue { r#type: types, ..Default::default() });
                }
            }
            _ => {}
        }
    }
}
