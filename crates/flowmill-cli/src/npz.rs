//! Arrays in `.npz` files.

use flowmill::{DType, Error, Result, Shape, Tensor};
use npyz::{DType as NpyType, NpyFile, Order, WriterBuilder};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read};
use std::path::Path;

fn io_error(path: &Path, e: impl std::fmt::Display) -> Error {
    Error::invalid_argument(format!("{}: {e}", path.display()))
}

/// The arrays of a file by name.
///
/// # Errors
/// `InvalidArgument` if the file cannot be read or holds an array whose type no tensor has.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, Tensor>> {
    let file = File::open(path).map_err(|e| io_error(path, e))?;
    let mut archive = npyz::npz::NpzArchive::new(BufReader::new(file)).map_err(|e| io_error(path, e))?;
    let names: Vec<String> = archive.array_names().map(str::to_owned).collect();
    let mut arrays = BTreeMap::new();
    for name in names {
        let array = archive.by_name(&name).map_err(|e| io_error(path, e))?;
        if let Some(array) = array {
            let tensor = tensor(array).map_err(|e| e.context(format_args!("{}, array '{name}'", path.display())))?;
            arrays.insert(name, tensor);
        }
    }
    Ok(arrays)
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
    let dtype = dtype_of(&descr).ok_or_else(|| Error::unimplemented(format!("an array of type {descr}")))?;
    let size = dtype.size().unwrap_or(0) as u64;
    let mut bytes = Vec::new();
    let length = array.len().saturating_mul(size);
    array.into_inner().take(length).read_to_end(&mut bytes).map_err(|e| Error::data_loss(e.to_string()))?;
    Tensor::copy_from_bytes(dtype, shape, &bytes)
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

/// Writes arrays by name.
///
/// # Errors
/// `InvalidArgument` if the file cannot be written, `Unimplemented` for a tensor that NumPy has no type for.
pub(crate) fn write(path: &Path, arrays: &[(String, Tensor)]) -> Result<()> {
    let file = File::create(path).map_err(|e| io_error(path, e))?;
    let mut archive = npyz::npz::NpzWriter::new(BufWriter::new(file));
    for (name, tensor) in arrays {
        let shape: Vec<u64> = tensor.shape().iter().map(|&d| d as u64).collect();
        macro_rules! write_as {
            ($($t:ty),*) => {
                match tensor.dtype() {
                    $(d if d == <$t as flowmill::Element>::DTYPE => {
                        let options = archive.array(name, Default::default()).map_err(|e| io_error(path, e))?;
                        let mut writer = options.default_dtype().shape(&shape).begin_nd().map_err(|e| io_error(path, e))?;
                        writer.extend(tensor.as_slice::<$t>()?).map_err(|e| io_error(path, e))?;
                        writer.finish().map_err(|e| io_error(path, e))?;
                    })*
                    d => return Err(Error::unimplemented(format!("output '{name}' has type {d}, which .npz files do not hold"))),
                }
            };
        }
        write_as!(f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_come_back_and_damage_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.npz");
        let x = Tensor::from_slice([2, 3], &[1.5f32, 2.0, 3.0, 4.0, 5.0, -6.0]).unwrap();
        let y = Tensor::scalar(7i64);
        write(&path, &[("x".into(), x.clone()), ("y".into(), y.clone())]).unwrap();
        let back = read(&path).unwrap();
        assert_eq!((&back["x"], &back["y"]), (&x, &y));
        std::fs::write(&path, b"no archive").unwrap();
        assert!(read(&path).is_err());
    }
}
