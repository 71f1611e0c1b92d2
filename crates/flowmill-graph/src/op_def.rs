use crate::builder::gradients::OpGradient;
use crate::infer::ShapeFn;
use crate::op_traits::{Effects, OpTraits};
use flowmill_proto::AttrValue;
use flowmill_tensor::DType;

/// The definition of an op: its name, arguments, attributes and flags. Equal in meaning to TensorFlow's `OpDef`; never changes once registered.
#[derive(Clone, Debug, Default)]
pub struct OpDef {
    /// The op's type, such as `MatMul`; for a function's own op, the function's name.
    pub name: String,
    /// Data inputs, in order.
    pub inputs: Vec<ArgDef>,
    /// Outputs, in order.
    pub outputs: Vec<ArgDef>,
    /// Attributes, in order.
    pub attrs: Vec<AttrDef>,
    /// Names of a function's control outputs.
    pub control_outputs: Vec<String>,
    /// Inputs may be reordered.
    pub is_commutative: bool,
    /// The op sums its inputs, so that its cost is shared among them.
    pub is_aggregate: bool,
    /// Inputs of a reference type may be uninitialised.
    pub allows_uninitialized_input: bool,
    /// Set if new graphs may no longer use the op.
    pub deprecation: Option<Deprecation>,
    /// Infers the outputs' static shapes; `None` leaves them unknown.
    pub shape_fn: Option<ShapeFn>,
    /// The op's gradient.
    pub gradient: OpGradient,
    /// Facts about the op besides the above.
    pub traits: OpTraits,
}

/// Since which GraphDef producer version an op may no longer be used, and what to use instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deprecation {
    /// The first producer version that must not use the op.
    pub version: i32,
    /// A sentence for the user.
    pub explanation: String,
}

/// One declared input or output, which may be a list of tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgDef {
    /// The argument's name.
    pub name: String,
    /// Its type, or the attribute that holds it.
    pub ty: ArgType,
    /// The `int` attribute that says how many tensors of that type there are.
    pub number_attr: Option<String>,
    /// The argument is a reference to a mutable tensor.
    pub is_ref: bool,
}

/// The source of an argument's element type.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgType {
    /// Always this one.
    Fixed(DType),
    /// The type in a `type` attribute.
    Attr(String),
    /// The types in a `list(type)` attribute: one tensor per type.
    ListAttr(String),
}

/// One declared attribute.
#[derive(Clone, Debug, PartialEq)]
pub struct AttrDef {
    /// The attribute's name.
    pub name: String,
    /// The type of its values.
    pub ty: AttrType,
    /// The value it has if a node gives none; `None` makes it required.
    pub default: Option<AttrValue>,
    /// The types allowed for `type` and `list(type)`; empty allows all.
    pub allowed_types: Vec<DType>,
    /// The strings allowed for `string`; empty allows all.
    pub allowed_strings: Vec<String>,
    /// The least `int`, or the least length of a list.
    pub minimum: Option<i64>,
}

/// The kinds of attribute values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttrType {
    /// Bytes, mostly text.
    String,
    /// An `i64`.
    Int,
    /// An `f32`.
    Float,
    /// A boolean.
    Bool,
    /// An element type.
    Type,
    /// A static shape.
    Shape,
    /// A tensor.
    Tensor,
    /// A function of the library, with its attributes.
    Func,
    /// A list of strings.
    ListString,
    /// A list of `i64`.
    ListInt,
    /// A list of `f32`.
    ListFloat,
    /// A list of booleans.
    ListBool,
    /// A list of element types.
    ListType,
    /// A list of static shapes.
    ListShape,
    /// A list of tensors.
    ListTensor,
    /// A list of functions.
    ListFunc,
}

impl AttrType {
    /// TensorFlow's spelling and the type, all of them.
    const NAMES: [(&'static str, AttrType); 16] = [
        ("string", AttrType::String),
        ("int", AttrType::Int),
        ("float", AttrType::Float),
        ("bool", AttrType::Bool),
        ("type", AttrType::Type),
        ("shape", AttrType::Shape),
        ("tensor", AttrType::Tensor),
        ("func", AttrType::Func),
        ("list(string)", AttrType::ListString),
        ("list(int)", AttrType::ListInt),
        ("list(float)", AttrType::ListFloat),
        ("list(bool)", AttrType::ListBool),
        ("list(type)", AttrType::ListType),
        ("list(shape)", AttrType::ListShape),
        ("list(tensor)", AttrType::ListTensor),
        ("list(func)", AttrType::ListFunc),
    ];

    /// Returns the kind with TensorFlow's spelling, such as `list(int)`.
    pub fn from_name(name: &str) -> Option<AttrType> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|&(_, t)| t)
    }

    /// TensorFlow's spelling.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|&&(_, t)| t == self).map_or("", |&(n, _)| n)
    }
}

impl OpDef {
    /// Returns true if the op has state or side effects.
    pub fn is_stateful(&self) -> bool {
        self.traits.effects == Effects::State
    }

    /// Returns the declared attribute called `name`.
    pub fn attr(&self, name: &str) -> Option<&AttrDef> {
        self.attrs.iter().find(|a| a.name == name)
    }
}
