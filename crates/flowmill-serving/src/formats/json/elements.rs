//! Elements of tensors, read from nested arrays.

use super::scanner::Scanner;
use crate::formats::Limits;
use flowmill::tensor::{SmallVec, bail, for_dtype};
use flowmill::{Bytes, DType, Error, Result, Shape, Tensor};

/// A type of elements that have a form in JSON.
pub(crate) trait JsonElement: Sized {
    /// Reads one element.
    fn scan(scanner: &mut Scanner<'_>) -> Result<Self>;
}

macro_rules! integers {
    ($($t:ty => $name:literal),* $(,)?) => {
        $(impl JsonElement for $t {
            #[inline]
            fn scan(scanner: &mut Scanner<'_>) -> Result<$t> {
                scanner.integer($name)
            }
        })*
    };
}

integers! {
    i8 => "int8", i16 => "int16", i32 => "int32", i64 => "int64",
    u8 => "uint8", u16 => "uint16", u32 => "uint32", u64 => "uint64",
}

impl JsonElement for f32 {
    #[inline]
    fn scan(scanner: &mut Scanner<'_>) -> Result<f32> {
        scanner.f32()
    }
}

impl JsonElement for f64 {
    #[inline]
    fn scan(scanner: &mut Scanner<'_>) -> Result<f64> {
        scanner.f64()
    }
}

impl JsonElement for bool {
    #[inline]
    fn scan(scanner: &mut Scanner<'_>) -> Result<bool> {
        scanner.boolean()
    }
}

/// A string, or an object `{"b64": "..."}`.
impl JsonElement for Bytes {
    fn scan(scanner: &mut Scanner<'_>) -> Result<Bytes> {
        if scanner.token() == Some(b'{') {
            return scanner.base64_object()?.ok_or_else(|| scanner.error("expected a string or {\"b64\": a string}, found another object"));
        }
        Ok(Bytes::from(scanner.string()?.into_owned()))
    }
}

/// The sizes of nested arrays, which must be equal for all arrays of one level.
#[derive(Default)]
struct Nesting {
    /// The size of an array of each level; [`UNKNOWN`] until an array of the level ends.
    sizes: SmallVec<[usize; 8]>,
    /// The number of levels, known from the first element or empty array.
    rank: Option<usize>,
    /// The number of items read of each open array.
    counts: SmallVec<[usize; 8]>,
}

const UNKNOWN: usize = usize::MAX;

impl Nesting {
    /// Reads a value or nested arrays of values, of the shape of those that were read before.
    fn scan<T: JsonElement>(&mut self, scanner: &mut Scanner<'_>, elements: &mut Vec<T>) -> Result<()> {
        self.counts.clear();
        loop {
            let is_empty = self.open(scanner)?;
            let depth = self.counts.len();
            if !is_empty {
                let rank = *self.rank.get_or_insert(depth);
                if depth != rank {
                    return Err(scanner.error(format_args!("a value within {depth} arrays instead of {rank}")));
                }
                let Some(count) = self.counts.last_mut() else {
                    elements.push(T::scan(scanner)?);
                    return Ok(());
                };
                let start = elements.len();
                loop {
                    elements.push(T::scan(scanner)?);
                    match scanner.token() {
                        Some(b',') => scanner.bump(),
                        Some(b']') => break,
                        _ => return Err(scanner.unexpected("',' or ']'")),
                    }
                    scanner.token();
                }
                *count = elements.len() - start;
            }
            if self.close(scanner)? {
                return Ok(());
            }
        }
    }

    /// Moves to the next value within arrays, or to the end of an empty array: then the result is true.
    fn open(&mut self, scanner: &mut Scanner<'_>) -> Result<bool> {
        while scanner.token() == Some(b'[') {
            let depth = self.counts.len();
            if let Some(rank) = self.rank.filter(|&rank| depth >= rank) {
                return Err(scanner.error(format_args!("an array within {depth} arrays, of which there may be {rank}")));
            }
            scanner.enter(depth)?;
            scanner.bump();
            self.counts.push(0);
            if self.sizes.len() == depth {
                self.sizes.push(UNKNOWN);
            }
            if scanner.token() == Some(b']') {
                self.rank.get_or_insert(depth + 1);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Moves past the ends of arrays, of which one is here, to the next item of an open one; returns true if none is open.
    fn close(&mut self, scanner: &mut Scanner<'_>) -> Result<bool> {
        loop {
            let count = self.counts.pop().unwrap_or_default();
            let size = &mut self.sizes[self.counts.len()];
            if *size == UNKNOWN {
                *size = count;
            } else if *size != count {
                return Err(scanner.error(format_args!("an array of {count} items, after others of {size}, ends")));
            }
            scanner.bump();
            let Some(count) = self.counts.last_mut() else { return Ok(true) };
            *count += 1;
            match scanner.token() {
                Some(b',') => {
                    scanner.bump();
                    return Ok(false);
                }
                Some(b']') => {}
                _ => return Err(scanner.unexpected("',' or ']'")),
            }
        }
    }

    fn shape(&self) -> &[usize] {
        &self.sizes[..self.rank.unwrap_or(0)]
    }
}

macro_rules! columns {
    ($($variant:ident($t:ty)),* $(,)?) => {
        enum Values {
            $($variant(Vec<$t>),)*
            String(Vec<Bytes>),
        }

        impl Values {
            /// Makes room for elements of `num_bytes` bytes of text; `None` for types without a form in JSON.
            fn new(dtype: DType, num_bytes: usize) -> Option<Values> {
                /// Bytes of text that a number takes at least, usually.
                const BYTES_PER_NUMBER: usize = 8;
                Some(match dtype {
                    $(DType::$variant => Values::$variant(Vec::with_capacity(num_bytes / BYTES_PER_NUMBER + 1)),)*
                    DType::String => Values::String(Vec::new()),
                    _ => return None,
                })
            }

            fn len(&self) -> usize {
                match self {
                    $(Values::$variant(values) => values.len(),)*
                    Values::String(values) => values.len(),
                }
            }

            fn scan(&mut self, nesting: &mut Nesting, scanner: &mut Scanner<'_>) -> Result<()> {
                match self {
                    $(Values::$variant(values) => nesting.scan(scanner, values),)*
                    Values::String(values) => nesting.scan(scanner, values),
                }
            }

            fn into_tensor(self, shape: Shape) -> Result<Tensor> {
                match self {
                    $(Values::$variant(values) => Tensor::from_slice(shape, &values),)*
                    Values::String(values) => Tensor::from_strings(shape, values),
                }
            }
        }
    };
}

columns! { F32(f32), F64(f64), I8(i8), I16(i16), I32(i32), I64(i64), U8(u8), U32(u32), U64(u64), Bool(bool) }

/// The elements of a tensor that is read from one or several values of equal shape.
pub(crate) struct Elements {
    nesting: Nesting,
    values: Values,
    num_values: usize,
}

impl Elements {
    /// Prepares to read values of a type from about `num_bytes` bytes of text.
    ///
    /// # Errors
    /// `Unimplemented` for a type that TensorFlow Serving does not read from JSON.
    pub(crate) fn new(dtype: DType, num_bytes: usize) -> Result<Elements> {
        match Values::new(dtype, num_bytes) {
            Some(values) => Ok(Elements { nesting: Nesting::default(), values, num_values: 0 }),
            None => bail!(Unimplemented, "JSON has no values of type {dtype}"),
        }
    }

    /// Reads a value.
    ///
    /// # Errors
    /// `InvalidArgument` for text that is not JSON or not of the type, and a shape other than that of the values before; `ResourceExhausted` for
    /// more elements than the limit.
    pub(crate) fn scan(&mut self, scanner: &mut Scanner<'_>, limits: &Limits) -> Result<()> {
        self.values.scan(&mut self.nesting, scanner)?;
        self.num_values += 1;
        if self.values.len() > limits.max_elements {
            return Err(too_many(limits));
        }
        Ok(())
    }

    /// Returns the number of values that were read.
    pub(crate) fn num_values(&self) -> usize {
        self.num_values
    }

    /// Returns the tensor of the only value.
    pub(crate) fn into_tensor(self) -> Result<Tensor> {
        let shape = Shape::new(self.nesting.shape());
        self.values.into_tensor(shape)
    }

    /// Returns the tensor of all values, with their number as the first dimension.
    pub(crate) fn into_batch(self) -> Result<Tensor> {
        let shape = std::iter::once(self.num_values).chain(self.nesting.shape().iter().copied()).collect();
        self.values.into_tensor(shape)
    }
}

/// Reads the elements of a tensor of a shape, in arrays that may be nested in any way.
///
/// # Errors
/// `InvalidArgument` for text that is not JSON or not of the type, another number of elements, and a type without a form in JSON; `ResourceExhausted`
/// past the memory limit.
pub(crate) fn scan_flat(scanner: &mut Scanner<'_>, dtype: DType, shape: Shape) -> Result<Tensor> {
    let count = shape.num_elements();
    // Each element takes a byte and a comma, so that a large shape is not allocated for little text.
    if count.saturating_mul(2) > scanner.num_remaining().saturating_add(1) {
        return Err(scanner.error(format_args!("too little text for {count} elements")));
    }
    if dtype == DType::String {
        let mut strings = Vec::new();
        fill_flat(scanner, count, |scanner, _| {
            strings.push(Bytes::from(scanner.string()?.into_owned()));
            Ok(())
        })?;
        return Tensor::from_strings(shape, strings);
    }
    for_dtype!(dtype, [f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool], T => {
        let mut tensor = Tensor::uninit(dtype, shape)?;
        let elements = tensor.as_mut_slice::<T>()?;
        fill_flat(scanner, count, |scanner, i| {
            elements[i] = T::scan(scanner)?;
            Ok(())
        })?;
        Ok(tensor)
    }, _ => bail!(InvalidArgument, "JSON has no values of type {dtype}; send them as binary data"))
}

/// Calls `element` at each of `count` values within arrays.
#[inline]
fn fill_flat<'a>(scanner: &mut Scanner<'a>, count: usize, mut element: impl FnMut(&mut Scanner<'a>, usize) -> Result<()>) -> Result<()> {
    if scanner.token() != Some(b'[') {
        return Err(scanner.unexpected("an array of elements"));
    }
    let (mut depth, mut found) = (0, 0);
    loop {
        // Here is an item of an array, or the outermost array.
        let mut is_item = true;
        while scanner.token() == Some(b'[') {
            scanner.enter(depth)?;
            scanner.bump();
            depth += 1;
            if scanner.take(b']') {
                depth -= 1;
                is_item = false;
                break;
            }
        }
        if is_item {
            if found == count {
                return Err(scanner.error(format_args!("more than the {count} elements of the shape")));
            }
            element(scanner, found)?;
            found += 1;
        }
        loop {
            if depth == 0 {
                if found < count {
                    return Err(scanner.error(format_args!("{found} instead of {count} elements end")));
                }
                return Ok(());
            }
            if scanner.next_item(b']')? {
                scanner.token();
                break;
            }
            depth -= 1;
        }
    }
}

/// Returns the error of a request with too many elements.
pub(crate) fn too_many(limits: &Limits) -> Error {
    flowmill::tensor::error!(ResourceExhausted, "the request has more than {} elements", limits.max_elements)
}
