//! Tensors in text.

use super::MAX_VALUE_BYTES;
use super::constants::{ConstantTable, tensor_hash};
use super::lexer::{Lexer, Token};
use super::literal::{short_name, write_float, write_string};
use flowmill_proto::TensorProto;
use flowmill_tensor::{Complex, DType, Element, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::fmt::{self, Write};

/// An element type that can be written as text and read again.
trait TextElement: Element {
    fn write(&self, f: &mut dyn Write) -> fmt::Result;
    fn read(lexer: &mut Lexer) -> Result<Self>;
}

macro_rules! integers {
    ($($t:ty)*) => {$(impl TextElement for $t {
        fn write(&self, f: &mut dyn Write) -> fmt::Result {
            write!(f, "{self}")
        }
        fn read(lexer: &mut Lexer) -> Result<Self> {
            lexer.number()
        }
    })*};
}
integers! { i8 i16 i32 i64 u8 u16 u32 u64 }

macro_rules! floats {
    ($($t:ty)*) => {$(impl TextElement for $t {
        fn write(&self, f: &mut dyn Write) -> fmt::Result {
            write_float(f, f64::from(*self), self.to_string())
        }
        fn read(lexer: &mut Lexer) -> Result<Self> {
            lexer.number()
        }
    })*};
}
floats! { f32 f64 f16 bf16 }

impl TextElement for bool {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        write!(f, "{self}")
    }
    fn read(lexer: &mut Lexer) -> Result<Self> {
        lexer.number()
    }
}

macro_rules! complex {
    ($($t:ty)*) => {$(impl TextElement for Complex<$t> {
        fn write(&self, f: &mut dyn Write) -> fmt::Result {
            f.write_char('(')?;
            self.re.write(f)?;
            f.write_char(',')?;
            self.im.write(f)?;
            f.write_char(')')
        }
        fn read(lexer: &mut Lexer) -> Result<Self> {
            lexer.expect('(')?;
            let re = lexer.number()?;
            lexer.expect(',')?;
            let im = lexer.number()?;
            lexer.expect(')')?;
            Ok(Complex::new(re, im))
        }
    })*};
}
complex! { f32 f64 }

/// Returns the type in whose text form the bits of `dtype` are written.
fn text_type(dtype: DType) -> DType {
    match dtype {
        DType::QI32 => DType::I32,
        DType::QI16 => DType::I16,
        DType::QU16 => DType::U16,
        DType::QI8 | DType::I4 | DType::I2 => DType::I8,
        DType::QU8 | DType::U4 | DType::U2 => DType::U8,
        DType::F8E5M2 | DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E4M3B11FNUZ | DType::F8E5M2FNUZ => DType::U8,
        _ => dtype,
    }
}

/// Returns a message that is no tensor is written as its type and an error mark, which does not parse.
pub(super) fn write_tensor(f: &mut dyn Write, proto: &TensorProto) -> fmt::Result {
    let elements = proto.tensor_shape.as_ref().map_or(Ok(Shape::scalar()), Shape::from_proto).map(|s| s.num_elements());
    // A splat of a huge shape is not worth its memory.
    let bounded = elements.is_ok_and(|n| n <= proto.tensor_content.len().max(1 << 20));
    let tensor = match Tensor::from_proto(proto) {
        Ok(tensor) if bounded => tensor,
        _ => return write!(f, "type#{}!", proto.dtype),
    };
    write!(f, "{}{}", short_name(tensor.dtype()), tensor.shape())?;
    if tensor.num_bytes() > MAX_VALUE_BYTES || matches!(tensor.dtype(), DType::Resource | DType::Variant) {
        return write!(f, "#{:016x}", tensor_hash(&tensor));
    }
    f.write_char('{')?;
    if let Ok(strings) = tensor.as_strings() {
        for (i, string) in strings.iter().enumerate() {
            f.write_str(if i > 0 { "," } else { "" })?;
            write_string(f, string)?;
        }
    } else if let Ok(plain) = tensor.clone().bitcast(text_type(tensor.dtype())) {
        for_dtype!(
            plain.dtype(),
            [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool, Complex<f32>, Complex<f64>],
            T => for (i, value) in plain.as_slice::<T>().unwrap_or(&[]).iter().enumerate() {
                f.write_str(if i > 0 { "," } else { "" })?;
                value.write(f)?;
            },
            _ => {}
        );
    }
    f.write_char('}')
}

fn read_values<T: TextElement>(lexer: &mut Lexer, shape: Shape) -> Result<Tensor> {
    let mut values = Vec::new();
    while !lexer.take('}') {
        if !values.is_empty() {
            lexer.expect(',')?;
        }
        values.push(T::read(lexer)?);
    }
    Tensor::from_slice(shape, &values)
}

/// Reads a tensor after the name of its type: shape, then values or hash.
pub(super) fn read_tensor(lexer: &mut Lexer, dtype: DType, constants: &ConstantTable) -> Result<TensorProto> {
    let mut dims = Vec::new();
    lexer.expect('[')?;
    while !lexer.take(']') {
        if !dims.is_empty() {
            lexer.expect(',')?;
        }
        dims.push(lexer.number::<i64>()?);
    }
    let shape = Shape::from_i64(&dims)?;
    if let Some(hash) = lexer.take_hash() {
        return match constants.get(hash) {
            Some(tensor) if tensor.dtype() == dtype && *tensor.shape() == shape => tensor.to_proto(),
            _ => bail!(NotFound, "line {}: no constant with hash {hash:016x}, type {dtype} and shape {shape} is known", lexer.line()),
        };
    }
    lexer.expect('{')?;
    if dtype == DType::String {
        let mut strings = Vec::new();
        while !lexer.take('}') {
            if !strings.is_empty() {
                lexer.expect(',')?;
            }
            match lexer.next()? {
                Token::String(bytes) => strings.push(bytes.into()),
                other => return Err(lexer.unexpected(&other)),
            }
        }
        return Tensor::from_strings(shape, strings)?.to_proto();
    }
    let tensor = for_dtype!(
        text_type(dtype),
        [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool, Complex<f32>, Complex<f64>],
        T => read_values::<T>(lexer, shape)?,
        _ => bail!(InvalidArgument, "line {}: a tensor of type {dtype} has no values in text", lexer.line())
    );
    tensor.bitcast(dtype)?.to_proto()
}
