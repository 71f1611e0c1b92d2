//! Arrays in `.npz` files, as `numpy.savez` and `numpy.savez_compressed` write them.

use flowmill_tensor::{Bytes, Complex, DType, Element, Error, Result, Shape, Tensor, f16};
use npyz::npz::{array_name_from_file_name, file_name_from_array_name};
use npyz::{DType as NpyType, NpyFile, Order, WriteOptions, WriterBuilder};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Returns the arrays of a file by name.
///
/// # Errors
/// `InvalidArgument` if the file cannot be read, `DataLoss` if an array is cut off or has elements of no bytes, `Unimplemented` for an array that is not
/// in C's order or whose type is not one of a tensor's in little-endian order. The error names the file and the array.
pub fn read(path: impl AsRef<Path>) -> Result<BTreeMap<String, Tensor>> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|e| unusable(path, e))?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|e| unusable(path, e))?;
    let mut arrays = BTreeMap::new();
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(|e| unusable(path, e))?;
        let file_name = entry.name().map_err(|e| unusable(path, e))?;
        let Some(name) = array_name_from_file_name(&file_name).map(str::to_owned) else { continue };
        let array = NpyFile::new(entry).map_err(|e| unusable(path, e))?;
        let tensor = tensor(array).map_err(|e| e.context(format_args!("{}, array '{name}'", path.display())))?;
        arrays.insert(name, tensor);
    }
    Ok(arrays)
}

fn unusable(path: &Path, e: impl std::fmt::Display) -> Error {
    Error::invalid_argument(format!("{}: {e}", path.display()))
}

fn tensor<R: Read>(array: NpyFile<R>) -> Result<Tensor> {
    let dims: Vec<i64> = array.shape().iter().map(|&d| i64::try_from(d).unwrap_or(-1)).collect();
    let shape = Shape::from_i64(&dims)?;
    if array.order() == Order::Fortran && shape.rank() > 1 {
        return Err(Error::unimplemented("an array in Fortran's order; save numpy.ascontiguousarray of it"));
    }
    let descr = match array.dtype() {
        NpyType::Plain(t) => t.to_string(),
        _ => return Err(Error::unimplemented("an array of records")),
    };
    if let Some(text) = TextType::parse(&descr) {
        return strings(array, text, shape);
    }
    let dtype = dtype_of(&descr).ok_or_else(|| Error::unimplemented(format!("an array of type {descr}")))?;
    let bytes = all_bytes(array, dtype.size().unwrap_or(0) as u64)?;
    Tensor::copy_from_bytes(dtype, shape, &bytes)
}

/// An element type of NumPy's for strings of a fixed length, which shorter strings fill with zeros.
#[derive(Clone, Copy)]
struct TextType {
    is_unicode: bool,
    /// Code points or bytes.
    length: usize,
}

impl TextType {
    /// Parses a type such as `<U8` or `|S8`.
    fn parse(descr: &str) -> Option<TextType> {
        let descr = descr.trim_matches('\'');
        let (is_unicode, length) = match (descr.strip_prefix("<U"), descr.strip_prefix("|S")) {
            (Some(length), _) => (true, length),
            (_, Some(length)) => (false, length),
            _ => return None,
        };
        Some(TextType { is_unicode, length: length.parse().ok()? })
    }
}

/// Reads strings; Unicode becomes UTF-8.
fn strings<R: Read>(array: NpyFile<R>, text: TextType, shape: Shape) -> Result<Tensor> {
    let size = text.length.saturating_mul(if text.is_unicode { 4 } else { 1 });
    let bytes = all_bytes(array, size as u64)?;
    // NumPy writes no such type. Its elements would cost memory that no byte of the file accounts for.
    if size == 0 && shape.num_elements() > 0 {
        return Err(Error::data_loss("the elements have no bytes"));
    }
    let string = |element: &[u8]| -> Result<Bytes> {
        if !text.is_unicode {
            let length = element.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            return Ok(Bytes::copy_from_slice(&element[..length]));
        }
        let points = element.chunks_exact(4).map(|point| u32::from_le_bytes([point[0], point[1], point[2], point[3]]));
        let text: Option<String> = points.map(char::from_u32).collect();
        let text = text.ok_or_else(|| Error::data_loss("a string is not Unicode"))?;
        Ok(Bytes::copy_from_slice(text.trim_end_matches('\0').as_bytes()))
    };
    Tensor::from_strings(shape, bytes.chunks_exact(size.max(1)).map(string).collect::<Result<_>>()?)
}

/// Reads the elements, each of `size` bytes.
fn all_bytes<R: Read>(array: NpyFile<R>, size: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = array.len().saturating_mul(size);
    // One byte more, so that the archive reaches the end of the entry and compares its checksum.
    array.into_inner().take(length.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| Error::data_loss(e.to_string()))?;
    if bytes.len() as u64 != length {
        return Err(Error::data_loss(format!("the shape asks for {length} bytes, which are not what the file holds")));
    }
    Ok(bytes)
}

/// The element type of NumPy's name for it, such as `<f4`.
fn dtype_of(descr: &str) -> Option<DType> {
    Some(match descr.trim_matches('\'') {
        "<f4" => DType::F32,
        "<f8" => DType::F64,
        "<f2" => DType::F16,
        "|i1" => DType::I8,
        "<i2" => DType::I16,
        "<i4" => DType::I32,
        "<i8" => DType::I64,
        "|u1" => DType::U8,
        "<u2" => DType::U16,
        "<u4" => DType::U32,
        "<u8" => DType::U64,
        "|b1" => DType::Bool,
        "<c8" => DType::C64,
        "<c16" => DType::C128,
        _ => return None,
    })
}

/// Writes arrays by name, uncompressed.
///
/// # Errors
/// `InvalidArgument` if the file cannot be written or two arrays have one name, `Unimplemented` for a tensor whose type NumPy lacks.
pub fn write<'a>(path: impl AsRef<Path>, arrays: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> Result<()> {
    let path = path.as_ref();
    let file = File::create(path).map_err(|e| unusable(path, e))?;
    let mut archive = ZipWriter::new(BufWriter::new(file));
    // Without the mark of a large file, an array of 4 GiB would fail.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    for (name, tensor) in arrays {
        let shape: Vec<u64> = tensor.shape().iter().map(|&d| d as u64).collect();
        macro_rules! write_as {
            ($($t:ty),*) => {
                match tensor.dtype() {
                    $(d if d == <$t as Element>::DTYPE => {
                        archive.start_file(file_name_from_array_name(name), options).map_err(|e| unusable(path, e))?;
                        let array = WriteOptions::<$t>::new().default_dtype().shape(&shape).writer(&mut archive).begin_nd();
                        let mut array = array.map_err(|e| unusable(path, e))?;
                        array.extend(tensor.as_slice::<$t>()?.iter().copied()).map_err(|e| unusable(path, e))?;
                        array.finish().map_err(|e| unusable(path, e))?;
                    })*
                    d => return Err(Error::unimplemented(format!("'{name}' has type {d}, which .npz files do not hold"))),
                }
            };
        }
        write_as!(f32, f64, f16, i8, i16, i32, i64, u8, u16, u32, u64, bool, Complex<f32>, Complex<f64>);
    }
    archive.finish().and_then(|file| Ok(file.into_inner().map_err(|e| e.into_error())?.sync_data()?)).map_err(|e| unusable(path, e))
}
