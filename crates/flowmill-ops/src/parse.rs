//! The text of a declaration, read.
//!
//! ```text
//! signature := '(' args ')' [ '->' '(' args ')' ]
//! arg       := name ':' [ number_attr '*' ] ( type | 'Ref' '(' type ')' )
//! type      := an attribute's name | an element type
//! attrs     := attr { ';' attr }
//! attr      := name ':' kind [ '>=' minimum ] [ '=' default ]
//! kind      := scalar | 'list' '(' scalar ')'
//! scalar    := string | int | float | bool | type | shape | tensor | func | set | '{' element types or strings '}'
//! set       := number | real | index | quantized
//! default   := 'text' | 3 | 0.5 | true | an element type | shape | '[' defaults ']' | element type '[' ints ']'
//! shape     := unknown | '[' sizes ']'
//! ```
//! Element types have their C++ names (`float`, `half`). White space is free. A string holds any character but the quote.

use flowmill_graph::{ArgDef, ArgType, AttrDef, AttrType, OpDef};
use flowmill_proto::attr_value::ListValue;
use flowmill_proto::{AttrValue, TensorProto, TensorShapeProto};
use flowmill_tensor::DType::{self, *};
use flowmill_tensor::{Result, bail};

/// Sets of element types that many ops share, in TensorFlow's order.
const TYPE_SETS: [(&str, &[DType]); 4] = [
    ("number", &[F32, F64, I32, U8, I16, I8, C64, I64, QI8, QU8, QI32, BF16, QI16, QU16, U16, C128, F16, U32, U64]),
    ("real", &[F32, F64, I32, U8, I16, I8, I64, BF16, U16, F16, U32, U64]),
    ("index", &[I32, I64]),
    ("quantized", &[QI8, QU8, QI32, QI16, QU16]),
];

/// The definition that a signature and its attributes describe; name and flags are left empty.
pub(crate) fn definition(signature: &str, attrs: &str) -> Result<OpDef> {
    let attrs = Cursor { rest: attrs }.attrs()?;
    let mut cursor = Cursor { rest: signature };
    let inputs = cursor.args(&attrs)?;
    let outputs = if cursor.eat("->") { cursor.args(&attrs)? } else { Vec::new() };
    cursor.end()?;
    Ok(OpDef { inputs, outputs, attrs, ..OpDef::default() })
}

/// The rest of the text to parse.
struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        if self.eat(token) { Ok(()) } else { bail!(Internal, "'{token}' expected before '{}'", self.rest) }
    }

    fn end(&mut self) -> Result<()> {
        self.skip_space();
        if self.rest.is_empty() { Ok(()) } else { bail!(Internal, "unexpected '{}'", self.rest) }
    }

    /// The longest run of characters that `keep` accepts; never empty.
    fn take(&mut self, what: &str, keep: impl Fn(char) -> bool) -> Result<&'a str> {
        self.skip_space();
        let end = self.rest.find(|c| !keep(c)).unwrap_or(self.rest.len());
        if end == 0 {
            bail!(Internal, "{what} expected before '{}'", self.rest);
        }
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(word)
    }

    fn name(&mut self) -> Result<&'a str> {
        self.take("a name", |c| c.is_ascii_alphanumeric() || c == '_')
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        let text = self.take("a number", |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.'))?;
        match text.parse() {
            Ok(n) => Ok(n),
            Err(_) => bail!(Internal, "bad number '{text}'"),
        }
    }

    fn string(&mut self) -> Result<&'a str> {
        self.expect("'")?;
        match self.rest.split_once('\'') {
            Some((text, rest)) => {
                self.rest = rest;
                Ok(text)
            }
            None => bail!(Internal, "string without end"),
        }
    }

    fn dtype(&mut self) -> Result<DType> {
        let name = self.name()?;
        match DType::from_name(name) {
            Some(t) => Ok(t),
            None => bail!(Internal, "no element type or attribute '{name}'"),
        }
    }

    /// `open item, item close`, possibly empty.
    fn list<T>(&mut self, open: &str, close: &str, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect(open)?;
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(close) {
                return Ok(items);
            }
            self.expect(",")?;
        }
    }

    fn args(&mut self, attrs: &[AttrDef]) -> Result<Vec<ArgDef>> {
        self.list("(", ")", |cursor| cursor.arg(attrs))
    }

    fn arg(&mut self, attrs: &[AttrDef]) -> Result<ArgDef> {
        let name = self.name()?.to_owned();
        self.expect(":")?;
        let before = self.rest;
        let number_attr = self.name()?;
        let number_attr = if self.eat("*") {
            if !attrs.iter().any(|a| a.name == number_attr && a.ty == AttrType::Int) {
                bail!(Internal, "argument '{name}': no int attribute '{number_attr}'");
            }
            Some(number_attr.to_owned())
        } else {
            self.rest = before;
            None
        };
        let is_ref = self.eat("Ref(");
        let before = self.rest;
        let word = self.name()?;
        let ty = match attrs.iter().find(|a| a.name == word).map(|a| a.ty) {
            Some(AttrType::Type) => ArgType::Attr(word.to_owned()),
            Some(AttrType::ListType) => ArgType::ListAttr(word.to_owned()),
            Some(_) => bail!(Internal, "argument '{name}': attribute '{word}' holds no types"),
            None => {
                self.rest = before;
                ArgType::Fixed(self.dtype()?)
            }
        };
        if is_ref {
            self.expect(")")?;
        }
        Ok(ArgDef { name, ty, number_attr, is_ref })
    }

    fn attrs(&mut self) -> Result<Vec<AttrDef>> {
        let mut attrs: Vec<AttrDef> = Vec::new();
        self.skip_space();
        while !self.rest.is_empty() {
            let attr = self.attr()?;
            if attrs.iter().any(|a| a.name == attr.name) {
                bail!(Internal, "attribute '{}' declared twice", attr.name);
            }
            attrs.push(attr);
            if !self.eat(";") {
                self.end()?;
            }
            self.skip_space();
        }
        Ok(attrs)
    }

    fn attr(&mut self) -> Result<AttrDef> {
        let name = self.name()?.to_owned();
        self.expect(":")?;
        let mut attr =
            AttrDef { name, ty: AttrType::Int, default: None, allowed_types: Vec::new(), allowed_strings: Vec::new(), minimum: None };
        let is_list = self.eat("list(");
        let kind = self.scalar_kind(&mut attr)?;
        if is_list {
            self.expect(")")?;
        }
        attr.ty = match AttrType::from_name(if is_list { list_kind(kind) } else { kind }) {
            Some(ty) => ty,
            None => bail!(Internal, "attribute '{}': no kind '{kind}'", attr.name),
        };
        if self.eat(">=") {
            attr.minimum = Some(self.number()?);
        }
        if self.eat("=") {
            attr.default = Some(self.default_value(attr.ty)?);
        }
        Ok(attr)
    }

    /// The kind's name; sets of types and strings go into `attr`.
    fn scalar_kind(&mut self, attr: &mut AttrDef) -> Result<&'a str> {
        self.skip_space();
        if !self.rest.starts_with('{') {
            let word = self.name()?;
            return Ok(match TYPE_SETS.iter().find(|(name, _)| *name == word) {
                Some((_, types)) => {
                    attr.allowed_types = types.to_vec();
                    "type"
                }
                None => word,
            });
        }
        if self.rest[1..].trim_start().starts_with('\'') {
            attr.allowed_strings = self.list("{", "}", |c| Ok(c.string()?.to_owned()))?;
            Ok("string")
        } else {
            attr.allowed_types = self.list("{", "}", Self::dtype)?;
            Ok("type")
        }
    }

    fn default_value(&mut self, ty: AttrType) -> Result<AttrValue> {
        let mut list = ListValue::default();
        match ty {
            AttrType::String => return Ok(self.string()?.into()),
            AttrType::Int => return Ok(self.number::<i64>()?.into()),
            AttrType::Float => return Ok(self.number::<f32>()?.into()),
            AttrType::Bool => return Ok(self.number::<bool>()?.into()),
            AttrType::Type => return Ok(flowmill_proto::attr_value::Value::Type(self.dtype()?.number()).into()),
            AttrType::Shape => return Ok(self.shape()?.into()),
            AttrType::Tensor => return Ok(self.tensor()?.into()),
            AttrType::ListString => list.s = self.list("[", "]", |c| Ok(c.string()?.to_owned().into()))?,
            AttrType::ListInt => list.i = self.list("[", "]", Self::number)?,
            AttrType::ListFloat => list.f = self.list("[", "]", Self::number)?,
            AttrType::ListBool => list.b = self.list("[", "]", Self::number)?,
            AttrType::ListType => list.r#type = self.list("[", "]", |c| Ok(c.dtype()?.number()))?,
            AttrType::ListShape => list.shape = self.list("[", "]", Self::shape)?,
            AttrType::ListTensor => list.tensor = self.list("[", "]", Self::tensor)?,
            AttrType::ListFunc if self.list("[", "]", |c| c.string().map(drop))?.is_empty() => {}
            AttrType::Func | AttrType::ListFunc => bail!(Internal, "functions have no default"),
        }
        Ok(list.into())
    }

    fn shape(&mut self) -> Result<TensorShapeProto> {
        if self.eat("unknown") {
            return Ok(TensorShapeProto { unknown_rank: true, ..Default::default() });
        }
        Ok(TensorShapeProto::of(self.list("[", "]", Self::number::<i64>)?))
    }

    /// A vector of small integers, the only constant tensors that declarations need.
    fn tensor(&mut self) -> Result<TensorProto> {
        let dtype = self.dtype()?;
        let int_val: Vec<i32> = self.list("[", "]", Self::number)?;
        Ok(TensorProto {
            dtype: dtype.number(),
            tensor_shape: Some(TensorShapeProto::of([int_val.len() as i64])),
            int_val,
            ..Default::default()
        })
    }
}

fn list_kind(scalar: &str) -> &'static str {
    match scalar {
        "string" => "list(string)",
        "int" => "list(int)",
        "float" => "list(float)",
        "bool" => "list(bool)",
        "type" => "list(type)",
        "shape" => "list(shape)",
        "tensor" => "list(tensor)",
        "func" => "list(func)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn reads_every_construct() {
        let def = definition(
            "(x: T, rest: N * T, cell: Ref(T), values: Tin) -> (y: float)",
            "T: {float, half} = half; N: int >= 1; Tin: list(type) >= 2; mode: {'up', 'down'} = 'up';
             k: list({int32}) = [int32]; s: shape = [2, -1]; u: shape = unknown; f: float = -inf",
        )
        .unwrap();
        assert_eq!(def.inputs.len(), 4);
        assert_eq!(def.inputs[1].number_attr.as_deref(), Some("N"));
        assert!(def.inputs[2].is_ref);
        assert_eq!(def.inputs[3].ty, ArgType::ListAttr("Tin".into()));
        assert_eq!(def.outputs[0].ty, ArgType::Fixed(F32));
        assert_eq!(def.attrs[0].allowed_types, [F32, F16]);
        assert_eq!(def.attrs[2].minimum, Some(2));
        assert_eq!(def.attrs[3].default, Some("up".into()));
        assert_eq!(def.attrs[4].ty, AttrType::ListType);
        assert_eq!(def.attrs[5].default, Some(TensorShapeProto::of([2, -1]).into()));
        assert_eq!(def.attrs[7].default, Some(f32::NEG_INFINITY.into()));
    }

    #[test]
    fn malformed_text_is_an_error() {
        for (signature, attrs) in [
            ("x: T", "T: type"),
            ("(x: T)", ""),
            ("(x: N)", "N: int"),
            ("(x: N * float)", "N: float"),
            ("(x: Ref(float)", ""),
            ("(x: float) -> (y: float) z", ""),
            ("()", "T: types"),
            ("()", "T: type = int31"),
            ("()", "s: string = 'open"),
            ("()", "n: int = x"),
            ("()", "n: int; n: int"),
            ("()", "n: int m: int"),
            ("()", "f: func = 'g'"),
        ] {
            assert!(definition(signature, attrs).is_err(), "{signature} {attrs}");
        }
    }
}
