//! Random numbers, shapes, tensors and attributes: mostly small and plausible, sometimes absurd.

use flowmill::proto::attr_value::{ListValue, Value};
use flowmill::proto::{AttrValue, NameAttrList, TensorShapeProto};
use flowmill::{Bytes, DType, Shape, Tensor, bf16, f16};
use flowmill_graph::{AttrDef, AttrType};

/// SplitMix64.
pub struct Random(u64);

/// Strings that occur in ops' formats, equations, patterns and names; none names a file outside of the test's directory.
const STRINGS: [&[u8]; 24] = [
    b"",
    b"a",
    b"ab c",
    b"-1",
    b"0.5",
    b"12345678901234567890",
    b"%s",
    b"%d %",
    b"ij,jk->ik",
    b"...a->a...",
    b",",
    b"->",
    b"(a+)(b",
    b"\\1",
    b"VALID",
    b"NHWC",
    b"YWJj_-==",
    b"\xff\xfe\x00",
    "ä€𝄞".as_bytes(),
    b"{\"a\":[1]}",
    b"\x08\x01\x12\xff\xff\xff\xff\x0f",
    b"k:v;k",
    b"[[1,2],[3]]",
    b"1970-01-01",
];

const FLOATS: [f64; 14] = [0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -0.0, 1e-30, 1e30, -1e30, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 100.0];

/// Sizes and indices past everything.
const HUGE: [i64; 9] = [i64::MAX, i64::MIN, i32::MAX as i64, i32::MIN as i64, 1 << 31, 1 << 40, 1 << 20, -1000, 65536];

impl Random {
    pub fn new(seed: u64, name: &str) -> Random {
        Random(name.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub fn int(&mut self) -> i64 {
        if self.once_in(14) { self.pick(&HUGE) } else { self.below(6) as i64 - i64::from(self.once_in(3)) }
    }

    fn ints(&mut self) -> Vec<i64> {
        (0..self.below(6)).map(|_| self.int()).collect()
    }

    fn float(&mut self) -> f64 {
        if self.once_in(2) { self.pick(&FLOATS) } else { (self.below(2001) as f64 - 1000.0) / 500.0 }
    }

    pub fn string(&mut self) -> &'static [u8] {
        self.pick(&STRINGS)
    }

    /// Sizes of a tensor that has few elements, or none however large it is otherwise.
    pub fn dims(&mut self) -> Vec<usize> {
        if self.once_in(16) {
            let mut dims = vec![0, self.pick(&[1 << 40, 1 << 31])];
            if self.once_in(2) {
                dims.push(self.pick(&[1 << 16, 3]));
            }
            let by = self.below(dims.len());
            dims.rotate_left(by);
            return dims;
        }
        let rank = if self.once_in(12) { 5 + self.below(4) } else { self.below(5) };
        (0..rank).map(|_| if self.once_in(9) { 0 } else { 1 + self.below(4) }).collect()
    }

    /// A tensor of a type with elements.
    pub fn tensor(&mut self, dtype: DType, dims: &[usize]) -> Tensor {
        let shape = Shape::new(dims);
        let n = shape.num_elements();
        if dtype == DType::String {
            let strings = (0..n).map(|_| Bytes::from_static(self.string())).collect();
            return Tensor::from_strings(shape, strings).expect("as many strings as the shape has");
        }
        // One value everywhere, values that rise, or anything.
        let (way, first) = (self.below(4), self.below(4) as i64);
        let elements: Vec<u8> = (0..n as i64)
            .flat_map(|i| match way {
                0 => self.element(dtype, Some(first)),
                1 => self.element(dtype, Some(first + i)),
                _ => self.element(dtype, None),
            })
            .collect();
        Tensor::copy_from_bytes(dtype, shape, &elements).expect("as many bytes as the shape has")
    }

    fn element(&mut self, dtype: DType, value: Option<i64>) -> Vec<u8> {
        let int = value.unwrap_or_else(|| self.int());
        let float = value.map_or_else(|| self.float(), |v| v as f64);
        match dtype {
            DType::F32 => (float as f32).to_le_bytes().to_vec(),
            DType::F64 => float.to_le_bytes().to_vec(),
            DType::F16 => f16::from_f64(float).to_le_bytes().to_vec(),
            DType::BF16 => bf16::from_f64(float).to_le_bytes().to_vec(),
            DType::C64 => [float as f32, self.float() as f32].iter().flat_map(|v| v.to_le_bytes()).collect(),
            DType::C128 => [float, self.float()].iter().flat_map(|v| v.to_le_bytes()).collect(),
            DType::Bool => vec![(int & 1) as u8],
            DType::I4 | DType::U4 | DType::I2 | DType::U2 => vec![(int & 1) as u8],
            _ => int.to_le_bytes()[..dtype.size().unwrap_or(0)].to_vec(),
        }
    }

    fn shape(&mut self) -> TensorShapeProto {
        match self.below(6) {
            0 => TensorShapeProto { unknown_rank: true, ..TensorShapeProto::default() },
            1 => TensorShapeProto::of(self.ints()),
            _ => TensorShapeProto::of(self.dims().into_iter().map(|d| d as i64)),
        }
    }

    /// One of the types that `attr` takes, `main` if that is one of them and nothing else is wished.
    pub fn dtype(&mut self, attr: &AttrDef, main: DType) -> DType {
        let allowed: Vec<DType> = if attr.allowed_types.is_empty() { DType::all().collect() } else { attr.allowed_types.clone() };
        if allowed.contains(&main) && !self.once_in(5) { main } else { self.pick(&allowed) }
    }

    /// A value of the attribute's type within what its declaration demands.
    pub fn attr(&mut self, attr: &AttrDef, is_count: bool, main: DType) -> AttrValue {
        let length = self.below(4).max(attr.minimum.unwrap_or(0) as usize);
        let mut list = ListValue::default();
        match attr.ty {
            AttrType::String => return Value::S(self.allowed_string(attr)).into(),
            AttrType::Int if is_count => return (length as i64).into(),
            AttrType::Int => return self.int().max(attr.minimum.unwrap_or(i64::MIN)).into(),
            AttrType::Float => return (self.float() as f32).into(),
            AttrType::Bool => return self.once_in(2).into(),
            AttrType::Type => return Value::Type(self.dtype(attr, main).number()).into(),
            AttrType::Shape => return self.shape().into(),
            AttrType::Tensor => {
                let dims = self.dims();
                return self.tensor(main, &dims).to_proto().expect("a tensor with elements has a wire form").into();
            }
            AttrType::Func => return NameAttrList { name: "missing".into(), ..NameAttrList::default() }.into(),
            AttrType::ListString => list.s = (0..length).map(|_| self.allowed_string(attr)).collect(),
            // Windows, strides and axes have as many numbers as their data dimensions.
            AttrType::ListInt if !self.once_in(3) => list.i = (0..4 + self.below(2)).map(|_| 1 + self.below(3) as i64).collect(),
            AttrType::ListInt => list.i = (0..length).map(|_| self.int()).collect(),
            AttrType::ListFloat => list.f = (0..length).map(|_| self.float() as f32).collect(),
            AttrType::ListType => list.r#type = (0..length).map(|_| self.dtype(attr, main).number()).collect(),
            AttrType::ListShape => list.shape = (0..length).map(|_| self.shape()).collect(),
            AttrType::ListBool => list.b = (0..length).map(|_| self.once_in(2)).collect(),
            AttrType::ListTensor | AttrType::ListFunc => {}
        }
        list.into()
    }

    fn allowed_string(&mut self, attr: &AttrDef) -> Bytes {
        match attr.allowed_strings.as_slice() {
            [] => Bytes::from_static(self.string()),
            allowed => allowed[self.below(allowed.len())].clone().into(),
        }
    }
}
