use std::fmt;

/// The type of a tensor's elements. Discriminants are TensorFlow's `DataType` numbers.
///
/// Reference types (`DT_FLOAT_REF` …) are not element types: a reference is a property of an edge, kept
/// beside the element type wherever it matters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DType {
    /// `f32`.
    F32 = 1,
    /// `f64`.
    F64 = 2,
    /// `i32`.
    I32 = 3,
    /// `u8`.
    U8 = 4,
    /// `i16`.
    I16 = 5,
    /// `i8`.
    I8 = 6,
    /// A string of bytes.
    String = 7,
    /// A complex number of two `f32`.
    C64 = 8,
    /// `i64`.
    I64 = 9,
    /// `bool`.
    Bool = 10,
    /// A quantized `i8`.
    QI8 = 11,
    /// A quantized `u8`.
    QU8 = 12,
    /// A quantized `i32`.
    QI32 = 13,
    /// A float of 16 bits with the exponent of `f32`.
    BF16 = 14,
    /// A quantized `i16`.
    QI16 = 15,
    /// A quantized `u16`.
    QU16 = 16,
    /// `u16`.
    U16 = 17,
    /// A complex number of two `f64`.
    C128 = 18,
    /// The IEEE float of 16 bits.
    F16 = 19,
    /// A handle of a resource of the session.
    Resource = 20,
    /// A value of any type that has no element type.
    Variant = 21,
    /// `u32`.
    U32 = 22,
    /// `u64`.
    U64 = 23,
    /// A float of 8 bits, 5 of them exponent.
    F8E5M2 = 24,
    /// A float of 8 bits, 4 of them exponent, without infinities.
    F8E4M3FN = 25,
    /// A float of 8 bits, 4 of them exponent, without infinities and negative zero.
    F8E4M3FNUZ = 26,
    /// Like `F8E4M3FNUZ`, with the exponent bias 11.
    F8E4M3B11FNUZ = 27,
    /// A float of 8 bits, 5 of them exponent, without infinities and negative zero.
    F8E5M2FNUZ = 28,
    /// An integer of 4 bits.
    I4 = 29,
    /// An unsigned integer of 4 bits.
    U4 = 30,
    /// An integer of 2 bits.
    I2 = 31,
    /// An unsigned integer of 2 bits.
    U2 = 32,
}

use DType::*;

/// The facts about each type: the type, TensorFlow's enum name, TensorFlow's Python name, bytes per element (0: no fixed size).
const TABLE: [(DType, &str, &str, usize); 32] = [
    (F32, "DT_FLOAT", "float32", 4),
    (F64, "DT_DOUBLE", "float64", 8),
    (I32, "DT_INT32", "int32", 4),
    (U8, "DT_UINT8", "uint8", 1),
    (I16, "DT_INT16", "int16", 2),
    (I8, "DT_INT8", "int8", 1),
    (String, "DT_STRING", "string", 0),
    (C64, "DT_COMPLEX64", "complex64", 8),
    (I64, "DT_INT64", "int64", 8),
    (Bool, "DT_BOOL", "bool", 1),
    (QI8, "DT_QINT8", "qint8", 1),
    (QU8, "DT_QUINT8", "quint8", 1),
    (QI32, "DT_QINT32", "qint32", 4),
    (BF16, "DT_BFLOAT16", "bfloat16", 2),
    (QI16, "DT_QINT16", "qint16", 2),
    (QU16, "DT_QUINT16", "quint16", 2),
    (U16, "DT_UINT16", "uint16", 2),
    (C128, "DT_COMPLEX128", "complex128", 16),
    (F16, "DT_HALF", "float16", 2),
    (Resource, "DT_RESOURCE", "resource", 0),
    (Variant, "DT_VARIANT", "variant", 0),
    (U32, "DT_UINT32", "uint32", 4),
    (U64, "DT_UINT64", "uint64", 8),
    (F8E5M2, "DT_FLOAT8_E5M2", "float8_e5m2", 1),
    (F8E4M3FN, "DT_FLOAT8_E4M3FN", "float8_e4m3fn", 1),
    (F8E4M3FNUZ, "DT_FLOAT8_E4M3FNUZ", "float8_e4m3fnuz", 1),
    (F8E4M3B11FNUZ, "DT_FLOAT8_E4M3B11FNUZ", "float8_e4m3b11fnuz", 1),
    (F8E5M2FNUZ, "DT_FLOAT8_E5M2FNUZ", "float8_e5m2fnuz", 1),
    (I4, "DT_INT4", "int4", 1),
    (U4, "DT_UINT4", "uint4", 1),
    (I2, "DT_INT2", "int2", 1),
    (U2, "DT_UINT2", "uint2", 1),
];

impl DType {
    /// Every element type, in the order of TensorFlow's numbers.
    pub fn all() -> impl Iterator<Item = DType> {
        TABLE.iter().map(|row| row.0)
    }

    /// Returns the type with TensorFlow's number `n` (1 = `DT_FLOAT` …); reference numbers (over 100) are not accepted.
    pub fn from_number(n: i32) -> Option<DType> {
        let index = usize::try_from(n).ok()?.checked_sub(1)?;
        TABLE.get(index).map(|row| row.0)
    }

    /// TensorFlow's number of this type.
    pub fn number(self) -> i32 {
        self as i32
    }

    /// TensorFlow's enum name, such as `DT_FLOAT`.
    pub fn enum_name(self) -> &'static str {
        TABLE[self as usize - 1].1
    }

    /// The name Python users know, such as `float32`.
    pub fn name(self) -> &'static str {
        TABLE[self as usize - 1].2
    }

    /// The name in TensorFlow's kernels' messages: as [`DType::name`], but `float`, `double` and `half`.
    pub fn cpp_name(self) -> &'static str {
        match self {
            F32 => "float",
            F64 => "double",
            F16 => "half",
            _ => self.name(),
        }
    }

    /// Returns the type with this enum name (`DT_FLOAT`), Python name (`float32`), or TensorFlow's C++ name (`float`, `double`, `half`).
    pub fn from_name(name: &str) -> Option<DType> {
        let name = match name {
            "float" => "float32",
            "double" => "float64",
            "half" => "float16",
            _ => name,
        };
        TABLE.iter().find(|row| row.1 == name || row.2 == name).map(|row| row.0)
    }

    /// Bytes one element takes in a dense buffer; `None` for strings, resources and variants.
    pub fn size(self) -> Option<usize> {
        match TABLE[self as usize - 1].3 {
            0 => None,
            n => Some(n),
        }
    }

    /// Real and complex floating types.
    pub fn is_floating(self) -> bool {
        matches!(self, F32 | F64 | F16 | BF16 | F8E5M2 | F8E4M3FN | F8E4M3FNUZ | F8E4M3B11FNUZ | F8E5M2FNUZ)
    }

    /// `complex64` and `complex128`.
    pub fn is_complex(self) -> bool {
        matches!(self, C64 | C128)
    }

    /// Integers, signed and unsigned, not quantised ones and not `bool`.
    pub fn is_integer(self) -> bool {
        matches!(self, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 | I4 | U4 | I2 | U2)
    }

    /// Returns the quantised integer types.
    pub fn is_quantized(self) -> bool {
        matches!(self, QI8 | QU8 | QI16 | QU16 | QI32)
    }

    /// Returns the type of the integers that a tensor of a quantised type stores, and any other type itself.
    pub fn stored(self) -> Self {
        match self {
            QI8 => I8,
            QU8 => U8,
            QI16 => I16,
            QU16 => U16,
            QI32 => I32,
            other => other,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_find_the_type_again() {
        for (i, t) in DType::all().enumerate() {
            assert_eq!(t.number(), i as i32 + 1);
            assert_eq!(DType::from_number(t.number()), Some(t));
            assert_eq!(DType::from_name(t.name()), Some(t));
            assert_eq!(DType::from_name(t.enum_name()), Some(t));
        }
        assert_eq!(DType::from_number(0), None);
        assert_eq!(DType::from_number(101), None);
    }
}
