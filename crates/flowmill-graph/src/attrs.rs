//! Typed access to a node's attributes, which are kept as they came over the wire.

use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{AttrValue, NameAttrList, TensorProto};
use flowmill_tensor::{Bytes, DType, PartialShape, Result, bail};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A node's attributes by name, in the form TensorFlow ships them.
///
/// Copies share the attributes until one of them is changed.
#[derive(Clone, Default)]
pub struct Attrs {
    /// `None` for none.
    common: Option<Arc<BTreeMap<String, AttrValue>>>,
    /// Attributes besides the common ones, sorted by name: those in which nodes of one [`NodeTemplate`](crate::NodeTemplate) differ.
    own: Option<Arc<[OwnAttr]>>,
}

/// An attribute that a node does not have in common with others of its [`NodeTemplate`](crate::NodeTemplate).
pub type OwnAttr = (&'static str, AttrValue);

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

impl From<BTreeMap<String, AttrValue>> for Attrs {
    fn from(attrs: BTreeMap<String, AttrValue>) -> Attrs {
        Attrs { common: (!attrs.is_empty()).then(|| Arc::new(attrs)), own: None }
    }
}

impl FromIterator<(String, AttrValue)> for Attrs {
    fn from_iter<I: IntoIterator<Item = (String, AttrValue)>>(attrs: I) -> Attrs {
        BTreeMap::from_iter(attrs).into()
    }
}

impl PartialEq for Attrs {
    fn eq(&self, other: &Attrs) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Attrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Attrs {
    /// Returns these attributes with more of other names, which are sorted by name.
    pub(crate) fn with_own(&self, own: Arc<[OwnAttr]>) -> Attrs {
        Attrs { common: self.common.clone(), own: Some(own) }
    }

    /// Returns the attribute, if it is there.
    pub fn attr(&self, name: &str) -> Option<&AttrValue> {
        if let Some(own) = &self.own
            && let Some((_, value)) = own.iter().find(|(own, _)| *own == name)
        {
            return Some(value);
        }
        self.common.as_ref()?.get(name)
    }

    /// Returns the attribute's value, if it is there.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.attr(name).and_then(|a| a.value.as_ref())
    }

    /// Returns true if there is an attribute of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.attr(name).is_some()
    }

    /// Returns the attributes in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &AttrValue)> {
        let mut common = self.common.iter().flat_map(|common| common.iter()).map(|(name, value)| (name.as_str(), value)).peekable();
        let mut own = self.own.iter().flat_map(|own| own.iter()).map(|(name, value)| (*name, value)).peekable();
        std::iter::from_fn(move || match (common.peek(), own.peek()) {
            (Some((common_name, _)), Some((own_name, _))) if own_name < common_name => own.next(),
            (Some(_), _) => common.next(),
            (None, _) => own.next(),
        })
    }

    /// Returns the values, in the order of the names.
    pub fn values(&self) -> impl Iterator<Item = &AttrValue> {
        self.iter().map(|(_, value)| value)
    }

    /// Returns a copy of the attributes as a map.
    pub fn to_map(&self) -> BTreeMap<String, AttrValue> {
        match (&self.common, &self.own) {
            (None, None) => BTreeMap::new(),
            (Some(common), None) => BTreeMap::clone(common),
            _ => self.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect(),
        }
    }

    /// Returns the attributes as a map. They are not copied if nothing shares them.
    pub fn into_map(self) -> BTreeMap<String, AttrValue> {
        match self {
            Attrs { common: Some(common), own: None } => Arc::unwrap_or_clone(common),
            attrs => attrs.to_map(),
        }
    }

    /// Returns the attributes for changes.
    fn map_mut(&mut self) -> &mut BTreeMap<String, AttrValue> {
        if self.own.is_some() {
            *self = self.to_map().into();
        }
        Arc::make_mut(self.common.get_or_insert_default())
    }

    /// Sets an attribute.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<AttrValue>) {
        self.map_mut().insert(name.into(), value.into());
    }

    /// Removes an attribute, if it is there.
    pub fn remove(&mut self, name: &str) {
        if self.contains(name) {
            self.map_mut().remove(name);
        }
    }

    /// Keeps the attributes for which `keep` returns true.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &AttrValue) -> bool) {
        self.map_mut().retain(|name, value| keep(name, value));
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
