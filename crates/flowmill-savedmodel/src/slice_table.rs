//! Checkpoints in TensorFlow's first format, the table of tensor slices.
//!
//! A checkpoint is one table (see [`crate::table`]), or several named `PREFIX-00000-of-00002` and so on. The empty key
//! of each maps to a `SavedTensorSlices` with names, types, shapes and slices of the tensors in it, and the key
//! of each slice to one with its elements.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use flowmill_proto::{Message, SavedSlice, SavedSliceMeta, SavedTensorSliceMeta, SavedTensorSlices, TensorProto, VersionDef};
use flowmill_tensor::{Code, Complex, DType, Element, Error, Result, Shape, Tensor, bail, f16};

use crate::assembly::Assembly;
use crate::file::{FileAccess, read_file};
use crate::ordered_code::slice_key;
use crate::slice::{TensorSlice, num_shared};
use crate::table::{read_table, write_table};

/// The wildcard for the number of a part in the name that savers return for a sharded checkpoint: `path-?????-of-00002`.
pub(crate) const ANY_PART: &str = "-?????-of-";

/// The version of slice tables that this crate reads.
const VERSION: i32 = 0;

/// The version that written tables say they have.
const PRODUCER: i32 = 1;

/// Reads the tensors of a checkpoint of the first format.
#[derive(Debug)]
pub struct SliceTableReader {
    path: PathBuf,
    tensors: BTreeMap<String, SavedTensor>,
}

#[derive(Debug)]
struct SavedTensor {
    dtype: DType,
    shape: Shape,
    /// Slices with their `SavedTensorSlices`, encoded.
    slices: Vec<(TensorSlice, Bytes)>,
}

impl SliceTableReader {
    /// Opens the checkpoint `path`: that file, or its parts.
    ///
    /// # Errors
    /// `NotFound` if there is none, `DataLoss` if it is damaged, `InvalidArgument` if it needs a later version.
    pub fn open(path: impl AsRef<Path>) -> Result<SliceTableReader> {
        let path = path.as_ref();
        let mut reader = SliceTableReader { path: path.to_owned(), tensors: BTreeMap::new() };
        for file in table_files(path)? {
            let added = read_file(&file, FileAccess::Read).and_then(|bytes| reader.add_table(&bytes));
            added.map_err(|error| error.context(file.display()))?;
        }
        Ok(reader)
    }

    fn add_table(&mut self, file: &Bytes) -> Result<()> {
        let mut entries: BTreeMap<Vec<u8>, Bytes> = read_table(file)?.into_iter().collect();
        let meta = entries.remove(&b""[..]).and_then(|value| SavedTensorSlices::decode(value).ok()?.meta);
        let Some(meta) = meta else {
            bail!(DataLoss, "the table does not say which tensors it has");
        };
        let version = meta.versions.unwrap_or_default();
        if version.min_consumer > VERSION || version.bad_consumers.contains(&VERSION) {
            bail!(InvalidArgument, "Checkpoint min consumer version {} above current version {VERSION}", version.min_consumer);
        }
        for tensor in meta.tensor {
            self.add_tensor(&tensor, &mut entries).map_err(|error| error.context(format_args!("tensor {}", tensor.name)))?;
        }
        Ok(())
    }

    fn add_tensor(&mut self, meta: &SavedSliceMeta, entries: &mut BTreeMap<Vec<u8>, Bytes>) -> Result<()> {
        let Some(dtype) = DType::from_number(meta.r#type) else {
            bail!(DataLoss, "unknown type number {}", meta.r#type);
        };
        let shape = Shape::from_proto(meta.shape.as_ref().unwrap_or(&Default::default()))?;
        let tensor =
            self.tensors.entry(meta.name.clone()).or_insert_with(|| SavedTensor { dtype, shape: shape.clone(), slices: Vec::new() });
        if tensor.dtype != dtype || tensor.shape != shape {
            bail!(DataLoss, "its parts differ in the type or shape of the whole");
        }
        for slice in &meta.slice {
            let slice = TensorSlice::from_proto(slice)?;
            let Some(value) = entries.remove(&slice_key(meta.name.as_bytes(), &slice)) else {
                bail!(DataLoss, "a part of the tensor has no entry");
            };
            tensor.slices.push((slice, value));
        }
        Ok(())
    }

    /// The names of all tensors, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Type and shape of a tensor.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn dtype_and_shape(&self, name: &str) -> Result<(DType, Shape)> {
        let tensor = self.tensor(name)?;
        Ok((tensor.dtype, tensor.shape.clone()))
    }

    /// Returns a tensor.
    ///
    /// # Errors
    /// `NotFound` if there is no tensor of this name, `DataLoss` if parts of it are missing or damaged.
    pub fn read(&self, name: &str) -> Result<Tensor> {
        let rank = self.tensor(name)?.shape.rank();
        self.read_slice(name, &TensorSlice::full(rank))
    }

    /// Returns a part of a tensor.
    ///
    /// # Errors
    /// The errors of [`SliceTableReader::read`], and `InvalidArgument` if the slice is not within the tensor.
    pub fn read_slice(&self, name: &str, slice: &TensorSlice) -> Result<Tensor> {
        let tensor = self.tensor(name)?;
        tensor.read(slice).map_err(|error| error.context(format_args!("checkpoint {}, tensor {name}", self.path.display())))
    }

    fn tensor(&self, name: &str) -> Result<&SavedTensor> {
        self.tensors.get(name).ok_or_else(|| Error::not_found(format!("Key {name} not found in checkpoint")))
    }
}

impl SavedTensor {
    fn read(&self, want: &TensorSlice) -> Result<Tensor> {
        let want_bounds = want.bounds(&self.shape)?;
        let mut parts = Vec::new();
        for (slice, value) in &self.slices {
            let bounds = slice.bounds(&self.shape)?;
            if num_shared(&bounds, &want_bounds) > 0 {
                parts.push((self.decode(&slice.shape(&self.shape)?, value)?, bounds));
            }
        }
        let data_len = parts.iter().map(|(part, _)| part.num_bytes()).sum();
        let mut whole = Assembly::new(self.dtype, want.shape(&self.shape)?, &want_bounds, data_len)?;
        for (part, bounds) in &parts {
            whole.add(part, bounds)?;
        }
        whole.into_tensor()
    }

    /// Returns the elements of a slice, which the message holds without type and shape.
    fn decode(&self, shape: &Shape, value: &Bytes) -> Result<Tensor> {
        // An element takes at least a byte, so a damaged shape cannot ask for more memory than this.
        let num_elements = shape.checked_num_elements()?;
        let data = SavedTensorSlices::decode(value.clone()).ok().and_then(|slices| slices.data?.data);
        let Some(data) = data.filter(|_| num_elements <= value.len()) else {
            bail!(DataLoss, "a part of shape {shape} is damaged");
        };
        Tensor::from_proto(&TensorProto { dtype: self.dtype.number(), tensor_shape: Some(shape.to_proto()), ..data })
            .map_err(|error| Error::data_loss(error.message()))
    }
}

/// Writes a checkpoint of one file: tensors that are slices of others, with the names and shapes of the whole ones.
///
/// # Errors
/// `InvalidArgument` if a slice is written twice or a tensor's parts differ in type or shape, `Unimplemented` for elements that the
/// format does not have; what writing a file gives.
pub fn write_slice_table(path: impl AsRef<Path>, tensors: &[(&str, Shape, TensorSlice, &Tensor)]) -> Result<()> {
    let mut entries: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut metas: BTreeMap<&str, SavedSliceMeta> = BTreeMap::new();
    for (name, shape, slice, tensor) in tensors {
        let meta = metas.entry(*name).or_insert_with(|| SavedSliceMeta {
            name: (*name).to_owned(),
            shape: Some(shape.to_proto()),
            r#type: tensor.dtype().number(),
            ..SavedSliceMeta::default()
        });
        if meta.shape.as_ref() != Some(&shape.to_proto()) || meta.r#type != tensor.dtype().number() {
            bail!(InvalidArgument, "Mismatching shapes or types: the parts of tensor {name} are not of one tensor");
        }
        meta.slice.push(slice.to_proto());
        let data =
            SavedSlice { name: (*name).to_owned(), slice: Some(slice.to_proto()), data: Some(elements(tensor)?), ..SavedSlice::default() };
        let value = SavedTensorSlices { data: Some(data), ..SavedTensorSlices::default() }.encode_to_vec();
        if entries.insert(slice_key(name.as_bytes(), slice), value).is_some() {
            bail!(InvalidArgument, "Overlapping slices: a slice of tensor {name} is written twice");
        }
    }
    let versions = VersionDef { producer: PRODUCER, min_consumer: 0, ..VersionDef::default() };
    let meta = SavedTensorSliceMeta { tensor: metas.into_values().collect(), versions: Some(versions), ..SavedTensorSliceMeta::default() };
    entries.insert(Vec::new(), SavedTensorSlices { meta: Some(meta), ..SavedTensorSlices::default() }.encode_to_vec());
    let entries: Vec<(Vec<u8>, Bytes)> = entries.into_iter().map(|(key, value)| (key, value.into())).collect();
    let path = path.as_ref();
    // Beside the destination and renamed over it, so that a reader sees the old file or the new one.
    let temporary = path.with_extension(format!("tempstate{}", std::process::id()));
    fs::write(&temporary, write_table(&entries))
        .and_then(|()| fs::rename(&temporary, path))
        .map_err(|error| Error::new(Code::Unknown, format!("{}; {error}", path.display())))
}

/// Returns the elements in the fields that readers of this format look into.
fn elements(tensor: &Tensor) -> Result<TensorProto> {
    fn ints<T: Element + Into<i32>>(tensor: &Tensor) -> Result<Vec<i32>> {
        Ok(tensor.as_slice::<T>()?.iter().map(|&v| v.into()).collect())
    }
    let mut proto = TensorProto::default();
    match tensor.dtype() {
        DType::F32 => proto.float_val = tensor.as_slice::<f32>()?.to_vec(),
        DType::F64 => proto.double_val = tensor.as_slice::<f64>()?.to_vec(),
        DType::I32 => proto.int_val = ints::<i32>(tensor)?,
        DType::I16 => proto.int_val = ints::<i16>(tensor)?,
        DType::I8 => proto.int_val = ints::<i8>(tensor)?,
        DType::U8 => proto.int_val = ints::<u8>(tensor)?,
        DType::U16 => proto.int_val = ints::<u16>(tensor)?,
        DType::I64 => proto.int64_val = tensor.as_slice::<i64>()?.to_vec(),
        DType::Bool => proto.bool_val = tensor.as_slice::<bool>()?.to_vec(),
        DType::String => proto.string_val = tensor.as_strings()?.to_vec(),
        DType::F16 => proto.half_val = tensor.as_slice::<f16>()?.iter().map(|v| i32::from(v.to_bits())).collect(),
        DType::C64 => proto.scomplex_val = tensor.as_slice::<Complex<f32>>()?.iter().flat_map(|v| [v.re, v.im]).collect(),
        other => bail!(Unimplemented, "checkpoints of the first format have no tensors of type {}", other.cpp_name()),
    }
    Ok(proto)
}

/// Returns the files of a checkpoint: `path`, or all of `path-00000-of-00002` and so on, which savers call `path-?????-of-00002`.
pub(crate) fn table_files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let not_found = || {
        Error::not_found(format!("Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {}", path.display()))
    };
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(not_found)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (name, count) = name.split_once(ANY_PART).map_or((name, None), |(name, count)| (name, Some(count)));
    let is_part = |file: &PathBuf| {
        let suffix = file.file_name().and_then(|file| file.to_str()?.strip_prefix(name)?.strip_prefix('-'));
        let numbers = suffix.and_then(|suffix| suffix.split_once("-of-"));
        numbers.is_some_and(|(part, parts)| {
            [part, parts].iter().all(|number| number.parse::<u32>().is_ok()) && count.is_none_or(|count| count == parts)
        })
    };
    let entries = fs::read_dir(directory).map_err(|_| not_found())?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_part).collect();
    files.sort();
    if files.is_empty() { Err(not_found()) } else { Ok(files) }
}
