//! Converts Rust values into attribute values.

use crate::proto::attr_value::{ListValue, Value};
use crate::proto::{AttrValue, NameAttrList, TensorProto, TensorShapeProto};
use crate::{Bytes, DType, PartialShape, Result, Tensor};

/// A Rust value that an attribute can have.
pub trait ToAttr {
    /// Returns the attribute's value.
    ///
    /// # Errors
    /// `Unimplemented` for a tensor of variants, which have no wire form.
    fn to_attr(self) -> Result<AttrValue>;
}

macro_rules! to_attr {
    ($($from:ty => |$value:ident| $attr:expr;)*) => {$(
        impl ToAttr for $from {
            fn to_attr(self) -> Result<AttrValue> {
                let $value = self;
                Ok(AttrValue::from($attr))
            }
        }
    )*};
}

to_attr! {
    AttrValue => |value| value;
    bool => |value| value;
    i32 => |value| i64::from(value);
    i64 => |value| value;
    f32 => |value| value;
    f64 => |value| value as f32;
    &str => |value| value;
    Bytes => |value| value;
    DType => |value| Value::Type(value.number());
    &PartialShape => |value| value.to_proto();
    PartialShape => |value| value.to_proto();
    NameAttrList => |value| value;
    &NameAttrList => |value| value.clone();
    TensorShapeProto => |value| value;
    &Tensor => |value| value.to_proto()? as TensorProto;
    &[bool] => |value| value.to_vec();
    &[i32] => |value| value.iter().map(|&i| i64::from(i)).collect::<Vec<_>>();
    &[i64] => |value| value.to_vec();
    &[f32] => |value| value.to_vec();
    &[&str] => |value| value.iter().map(|text| Bytes::copy_from_slice(text.as_bytes())).collect::<Vec<_>>();
    &[DType] => |value| ListValue { r#type: value.iter().map(|t| t.number()).collect(), ..ListValue::default() };
    &[PartialShape] => |value| value.iter().map(PartialShape::to_proto).collect::<Vec<_>>();
    &[NameAttrList] => |value| value.to_vec();
    &[Tensor] => |value| ListValue { tensor: value.iter().map(Tensor::to_proto).collect::<Result<_>>()?, ..ListValue::default() };
}

/// An array is a list.
impl<'a, T, const N: usize> ToAttr for &'a [T; N]
where
    &'a [T]: ToAttr,
{
    fn to_attr(self) -> Result<AttrValue> {
        self.as_slice().to_attr()
    }
}
