//! Typed access to a node's attributes, which are kept as they came over the wire.

use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{AttrValue, NameAttrList, TensorProto};
use flowmill_tensor::{Bytes, DType, PartialShape, Result, bail};
use std::collections::BTreeMap;

/// A node's attributes by name, in the form TensorFlow ships them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attrs(pub BTreeMap<String, AttrValue>);

/// A Rust type that an attribute can be read as.
pub trait Attr<'a>: Sized {
    /// TensorFlow's name of the kind, for messages.
    const KIND: &'static str;
    /// Returns the value, if the attribute is of this kind.
    fn from_value(value: &'a Value) -> Option<Self>;
}

/// A Rust type whose lists an attribute can be read as. An empty list is a list of any kind.
pub trait AttrList<'a>: Sized {
    /// TensorFlow's name of the kind of an element.
    const KIND: &'static str;
    /// Returns the values.
    fn from_list(list: &'a ListValue) -> Option<Vec<Self>>;
}

impl Attrs {
    /// Returns the attribute's value, if it is there.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.0.get(name).and_then(|a| a.value.as_ref())
    }

    /// Returns true if there is an attribute of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Sets an attribute.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<AttrValue>) {
        self.0.insert(name.into(), value.into());
    }

    /// Returns the attribute as a `T`: `i64`, `f32`, `bool`, `DType`, `&str`, `&Bytes`, `PartialShape`, `&TensorProto` or `&NameAttrList`.
    ///
    /// # Errors
    /// `InvalidArgument` if the attribute is missing or of another kind.
    pub fn get<'a, T: Attr<'a>>(&'a self, name: &str) -> Result<T> {
        match self.value(name) {
            None => bail!(InvalidArgument, "No attr named '{name}' in NodeDef"),
            Some(value) => match T::from_value(value) {
                Some(v) => Ok(v),
                None => bail!(InvalidArgument, "AttrValue of '{name}' had another type when '{}' was expected", T::KIND),
            },
        }
    }

    /// Like [`Attrs::get`], with a default for a missing attribute.
    pub fn get_or<'a, T: Attr<'a>>(&'a self, name: &str, default: T) -> Result<T> {
        if self.contains(name) { self.get(name) } else { Ok(default) }
    }

    /// Returns the attribute as a list.
    ///
    /// # Errors
    /// `InvalidArgument` if the attribute is missing or of another kind.
    pub fn list<'a, T: AttrList<'a>>(&'a self, name: &str) -> Result<Vec<T>> {
        match self.value(name) {
            Some(Value::List(list)) => match T::from_list(list) {
                Some(v) => Ok(v),
                None => bail!(InvalidArgument, "AttrValue of '{name}' had a value outside 'list({})'", T::KIND),
            },
            Some(_) => bail!(InvalidArgument, "AttrValue of '{name}' had another type when 'list({})' was expected", T::KIND),
            None => bail!(InvalidArgument, "No attr named '{name}' in NodeDef"),
        }
    }
}

macro_rules! scalar_attrs {
    ($($t:ty, $kind:literal, $variant:ident($v:ident) => $expr:expr;)*) => {
        $(impl<'a> Attr<'a> for $t {
            const KIND: &'static str = $kind;
            fn from_value(value: &'a Value) -> Option<Self> {
                match value { Value::$variant($v) => $expr, _ => None }
            }
        })*
    };
}

scalar_attrs! {
    i64, "int", I(v) => Some(*v);
    f32, "float", F(v) => Some(*v);
    bool, "bool", B(v) => Some(*v);
    DType, "type", Type(v) => DType::from_number(*v);
    &'a Bytes, "string", S(v) => Some(v);
    &'a str, "string", S(v) => std::str::from_utf8(v).ok();
    PartialShape, "shape", Shape(v) => Some(PartialShape::from_proto(v));
    &'a TensorProto, "tensor", Tensor(v) => Some(v);
    &'a NameAttrList, "func", Func(v) => Some(v);
}

macro_rules! list_attrs {
    ($($t:ty, $kind:literal, $l:ident => $expr:expr;)*) => {
        $(impl<'a> AttrList<'a> for $t {
            const KIND: &'static str = $kind;
            fn from_list($l: &'a ListValue) -> Option<Vec<Self>> { $expr }
        })*
    };
}

list_attrs! {
    i64, "int", l => Some(l.i.clone());
    f32, "float", l => Some(l.f.clone());
    bool, "bool", l => Some(l.b.clone());
    DType, "type", l => l.r#type.iter().map(|&t| DType::from_number(t)).collect();
    &'a Bytes, "string", l => Some(l.s.iter().collect());
    &'a str, "string", l => l.s.iter().map(|s| std::str::from_utf8(s).ok()).collect();
    PartialShape, "shape", l => Some(l.shape.iter().map(PartialShape::from_proto).collect());
    &'a TensorProto, "tensor", l => Some(l.tensor.iter().collect());
    &'a NameAttrList, "func", l => Some(l.func.iter().collect());
}
