//! Attribute values from the Rust values they hold, and the functions that they name.

use bytes::Bytes;

use crate::attr_value::{ListValue, Value};
use crate::{AttrValue, DataType, NameAttrList, TensorProto, TensorShapeProto, tensor_shape_proto};

impl From<Value> for AttrValue {
    fn from(value: Value) -> Self {
        Self { value: Some(value), ..Self::default() }
    }
}

impl AttrValue {
    /// Returns the functions that the attribute names.
    pub fn functions(&self) -> &[NameAttrList] {
        match &self.value {
            Some(Value::Func(function)) => std::slice::from_ref(function),
            Some(Value::List(list)) => &list.func,
            _ => &[],
        }
    }
}

macro_rules! attr_value_from {
    ($($from:ty => |$value:ident| $variant:expr;)*) => {$(
        impl From<$from> for AttrValue {
            fn from($value: $from) -> Self {
                $variant.into()
            }
        }
    )*};
}

attr_value_from! {
    bool => |value| Value::B(value);
    i64 => |value| Value::I(value);
    f32 => |value| Value::F(value);
    Bytes => |value| Value::S(value);
    &str => |value| Value::S(Bytes::copy_from_slice(value.as_bytes()));
    String => |value| Value::S(value.into());
    DataType => |value| Value::Type(value.into());
    TensorShapeProto => |value| Value::Shape(Box::new(value));
    TensorProto => |value| Value::Tensor(Box::new(value));
    ListValue => |value| Value::List(Box::new(value));
    NameAttrList => |value| Value::Func(Box::new(value));
    Vec<bool> => |b| ListValue { b, ..Default::default() };
    Vec<i64> => |i| ListValue { i, ..Default::default() };
    Vec<f32> => |f| ListValue { f, ..Default::default() };
    Vec<Bytes> => |s| ListValue { s, ..Default::default() };
    Vec<DataType> => |types| ListValue { r#type: types.into_iter().map(i32::from).collect(), ..Default::default() };
    Vec<TensorShapeProto> => |shape| ListValue { shape, ..Default::default() };
    Vec<NameAttrList> => |func| ListValue { func, ..Default::default() };
}

impl TensorShapeProto {
    /// Returns a shape of known rank; a size of -1 is not known.
    pub fn of(sizes: impl IntoIterator<Item = i64>) -> Self {
        let dim = sizes.into_iter().map(|size| tensor_shape_proto::Dim { size, ..Default::default() });
        Self { dim: dim.collect(), ..Self::default() }
    }
}
