use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bytes::Bytes;
use flowmill_proto::{BundleEntryProto, BundleHeaderProto, Message, bundle_header_proto};
use flowmill_tensor::{Code, DType, Error, Result, Shape, Tensor, bail};

use super::contents::{self, ByteOrder};
use super::{VERSION, data_path, index_path};
use crate::assembly::Assembly;
use crate::file::{DataFile, FileAccess, read_file};
use crate::ordered_code::{is_slice_key, slice_key};
use crate::slice::{TensorSlice, num_shared};
use crate::table::read_table;

/// Reads the tensors of a checkpoint.
///
/// Data files are opened when a tensor of theirs is first read; a tensor's bytes are read straight into its own memory, so that later changes of the
/// file do not matter to it. Reading takes `&self` and may be done from many threads.
#[derive(Debug)]
pub struct BundleReader {
    prefix: PathBuf,
    order: ByteOrder,
    shards: Vec<OnceLock<DataFile>>,
    /// Every entry, those of parts included, by key.
    entries: BTreeMap<Vec<u8>, BundleEntryProto>,
}

impl BundleReader {
    /// The most data files a checkpoint may have: the format's names have five digits.
    const MAX_SHARDS: usize = 100_000;

    /// Opens the checkpoint whose files begin with `prefix`, as in `dir/model.ckpt-100`.
    ///
    /// # Errors
    /// `NotFound` if there is no such checkpoint, `DataLoss` if its index is damaged, `InvalidArgument` if it
    /// needs a later version.
    pub fn open(prefix: impl AsRef<Path>) -> Result<BundleReader> {
        let prefix = prefix.as_ref();
        let path = index_path(prefix);
        let file = read_file(&path, FileAccess::Read).map_err(|error| match error.code() {
            Code::NotFound => Error::not_found(format!(
                "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {}",
                prefix.display()
            )),
            _ => error,
        })?;
        Self::from_index(prefix, &file).map_err(|error| error.context(path.display()))
    }

    fn from_index(prefix: &Path, file: &Bytes) -> Result<BundleReader> {
        let mut entries = read_table(file)?.into_iter();
        let corrupt = |key: &[u8]| Error::data_loss(format!("corrupted entry '{}'", key.escape_ascii()));
        let header = match entries.next() {
            Some((key, value)) if key.is_empty() => BundleHeaderProto::decode(value).map_err(|_| corrupt(b""))?,
            _ => bail!(DataLoss, "the table has no header of a checkpoint"),
        };
        let version = header.version.unwrap_or_default();
        if version.min_consumer > VERSION || version.bad_consumers.contains(&VERSION) {
            bail!(InvalidArgument, "Checkpoint min consumer version {} above current version {VERSION}", version.min_consumer);
        }
        let order = match bundle_header_proto::Endianness::try_from(header.endianness) {
            Ok(bundle_header_proto::Endianness::Little) => ByteOrder::Little,
            Ok(bundle_header_proto::Endianness::Big) => ByteOrder::Big,
            Err(_) => bail!(DataLoss, "unknown byte order {}", header.endianness),
        };
        let num_shards = usize::try_from(header.num_shards).ok().filter(|num| *num <= Self::MAX_SHARDS);
        let Some(num_shards) = num_shards else {
            bail!(DataLoss, "{} data files, more than {}", header.num_shards, Self::MAX_SHARDS);
        };
        let decode = |(key, value): (Vec<u8>, Bytes)| match BundleEntryProto::decode(value) {
            Ok(entry) => Ok((key, entry)),
            Err(_) => Err(corrupt(&key)),
        };
        Ok(BundleReader {
            prefix: prefix.to_owned(),
            order,
            shards: (0..num_shards).map(|_| OnceLock::new()).collect(),
            entries: entries.map(decode).collect::<Result<_>>()?,
        })
    }

    /// The prefix it was opened with.
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// The names of all tensors, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().filter(|key| !is_slice_key(key)).filter_map(|key| std::str::from_utf8(key).ok())
    }

    /// Returns true if there is a tensor of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.entry(name).is_ok()
    }

    /// Type and shape of a tensor, without its elements.
    ///
    /// # Errors
    /// `NotFound`, or `DataLoss` if the entry is not valid.
    pub fn dtype_and_shape(&self, name: &str) -> Result<(DType, Shape)> {
        entry_type(self.entry(name)?).map_err(|error| self.at_tensor(name, error))
    }

    /// Returns the parts in which a tensor was saved; empty if it was saved whole.
    ///
    /// # Errors
    /// `NotFound`, or `DataLoss` if the entry is not valid.
    pub fn slices(&self, name: &str) -> Result<Vec<TensorSlice>> {
        self.entry(name)?.slices.iter().map(TensorSlice::from_proto).collect()
    }

    /// Returns a tensor.
    ///
    /// # Errors
    /// `NotFound` if there is no tensor of this name, `DataLoss` if its bytes are missing or do not match their checksum.
    pub fn read(&self, name: &str) -> Result<Tensor> {
        let entry = self.entry(name)?;
        let read = || {
            if entry.slices.is_empty() {
                return self.read_entry(entry);
            }
            let (dtype, shape) = entry_type(entry)?;
            self.assemble(name, entry, dtype, &shape, &TensorSlice::full(shape.rank()))
        };
        read().map_err(|error| self.at_tensor(name, error))
    }

    /// Returns a part of a tensor, which may have been saved whole or in parts cut otherwise.
    ///
    /// # Errors
    /// The errors of [`BundleReader::read`], and `InvalidArgument` if the slice is not within the tensor.
    pub fn read_slice(&self, name: &str, slice: &TensorSlice) -> Result<Tensor> {
        let entry = self.entry(name)?;
        let read = || {
            let (dtype, shape) = entry_type(entry)?;
            if slice.shape(&shape)? == shape && entry.slices.is_empty() {
                return self.read_entry(entry);
            }
            self.assemble(name, entry, dtype, &shape, slice)
        };
        read().map_err(|error| self.at_tensor(name, error))
    }

    /// Every entry by key, those of parts included.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&[u8], &BundleEntryProto)> {
        self.entries.iter().map(|(key, entry)| (key.as_slice(), entry))
    }

    pub(super) fn num_shards(&self) -> i32 {
        self.shards.len() as i32
    }

    pub(super) fn is_little_endian(&self) -> bool {
        self.order == ByteOrder::Little
    }

    fn entry(&self, name: &str) -> Result<&BundleEntryProto> {
        let key = name.as_bytes();
        let entry = self.entries.get(key).filter(|_| !is_slice_key(key));
        entry.ok_or_else(|| Error::not_found(format!("Key {name} not found in checkpoint")))
    }

    /// Says in an error which tensor and which file it is about.
    fn at_tensor(&self, name: &str, error: Error) -> Error {
        error.context(format_args!("TensorBundle at {}, tensor {name}", self.prefix.display()))
    }

    /// Returns the tensor of an entry with data.
    fn read_entry(&self, entry: &BundleEntryProto) -> Result<Tensor> {
        let (dtype, shape) = entry_type(entry)?;
        let (_, file) = self.shard(entry)?;
        let (offset, size) = file.range(entry.offset, entry.size)?;
        contents::decode(dtype, shape, size, self.order, entry.crc32c, |bytes| file.read(offset, bytes))
    }

    /// Returns the data file of an entry, and its number.
    fn shard(&self, entry: &BundleEntryProto) -> Result<(usize, &DataFile)> {
        let shard = usize::try_from(entry.shard_id).ok().filter(|shard| *shard < self.shards.len());
        let Some(shard) = shard else {
            bail!(DataLoss, "data file {} of {}", entry.shard_id, self.shards.len());
        };
        if let Some(file) = self.shards[shard].get() {
            return Ok((shard, file));
        }
        let file = DataFile::open(data_path(&self.prefix, entry.shard_id, self.shards.len() as i32))?;
        Ok((shard, self.shards[shard].get_or_init(|| file)))
    }

    /// Copies a part of a tensor together from the parts it was saved in.
    fn assemble(&self, name: &str, entry: &BundleEntryProto, dtype: DType, shape: &Shape, want: &TensorSlice) -> Result<Tensor> {
        let want_bounds = want.bounds(shape)?;
        let want_shape = want.shape(shape)?;
        let mut parts = Vec::new();
        for part in self.stored_slices(name, entry, shape)? {
            let bounds = part.slice.bounds(shape)?;
            if num_shared(&bounds, &want_bounds) > 0 {
                parts.push((part, bounds));
            }
        }
        let data_len = self.data_len(parts.iter().map(|(part, _)| part.entry))?;
        let mut whole = Assembly::new(dtype, want_shape, &want_bounds, data_len)?;
        for (part, bounds) in &parts {
            whole.add(&self.read_entry(part.entry)?, bounds)?;
        }
        whole.into_tensor()
    }

    /// Returns the parts of a tensor with their entries; the whole for a tensor saved whole.
    fn stored_slices<'a>(&'a self, name: &str, entry: &'a BundleEntryProto, shape: &Shape) -> Result<Vec<StoredSlice<'a>>> {
        if entry.slices.is_empty() {
            return Ok(vec![StoredSlice { slice: TensorSlice::full(shape.rank()), entry }]);
        }
        let stored = |proto| {
            let slice = TensorSlice::from_proto(proto)?;
            match self.entries.get(&slice_key(name.as_bytes(), &slice)) {
                Some(entry) => Ok(StoredSlice { slice, entry }),
                None => bail!(DataLoss, "a part of the tensor has no entry"),
            }
        };
        entry.slices.iter().map(stored).collect()
    }

    /// Returns the size of all files in which entries have data.
    fn data_len<'a>(&self, entries: impl Iterator<Item = &'a BundleEntryProto>) -> Result<usize> {
        let mut lens = BTreeMap::new();
        for entry in entries {
            let (shard, file) = self.shard(entry)?;
            file.range(entry.offset, entry.size)?;
            lens.insert(shard, usize::try_from(file.len()).unwrap_or(usize::MAX));
        }
        Ok(lens.into_values().fold(0, usize::saturating_add))
    }
}

/// A part of a tensor and the entry that has its data.
struct StoredSlice<'a> {
    slice: TensorSlice,
    entry: &'a BundleEntryProto,
}

/// Type and shape of an entry.
fn entry_type(entry: &BundleEntryProto) -> Result<(DType, Shape)> {
    let Some(dtype) = DType::from_number(entry.dtype) else {
        bail!(DataLoss, "unknown type number {}", entry.dtype);
    };
    let dims: Vec<i64> = entry.shape.iter().flat_map(|shape| &shape.dim).map(|dim| dim.size).collect();
    match Shape::from_i64(&dims) {
        Ok(shape) => Ok((dtype, shape)),
        Err(error) => bail!(DataLoss, "{}", error.message()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use flowmill_proto::{TensorShapeProto, TensorSliceProto, VersionDef, tensor_slice_proto};
    use proptest::prelude::*;

    use super::*;
    use crate::table::write_table;
    use crate::wire::mask;

    fn index(header: &BundleHeaderProto, entries: impl IntoIterator<Item = (Vec<u8>, BundleEntryProto)>) -> Bytes {
        let mut table = vec![(Vec::new(), header.encode_to_vec().into())];
        table.extend(entries.into_iter().map(|(key, entry)| (key, Bytes::from(entry.encode_to_vec()))));
        write_table(&table).into()
    }

    #[test]
    fn headers_are_checked() {
        let open = |header: BundleHeaderProto| BundleReader::from_index(Path::new("x"), &index(&header, [])).map(|_| ());
        let version = |version| BundleHeaderProto { num_shards: 1, version: Some(version), ..Default::default() };
        assert_eq!(open(version(VersionDef { producer: 9, min_consumer: 1, ..Default::default() })), Ok(()));
        let too_new = open(version(VersionDef { min_consumer: 2, ..Default::default() })).unwrap_err();
        assert_eq!(too_new.code(), Code::InvalidArgument);
        assert!(open(version(VersionDef { bad_consumers: vec![VERSION], ..Default::default() })).is_err());
        for num_shards in [-1, i32::MAX] {
            assert_eq!(open(BundleHeaderProto { num_shards, ..Default::default() }).unwrap_err().code(), Code::DataLoss);
        }
        assert!(open(BundleHeaderProto { endianness: 7, ..Default::default() }).is_err());
        let no_header = write_table(&[(b"key".to_vec(), Bytes::new())]);
        assert!(BundleReader::from_index(Path::new("x"), &no_header.into()).is_err());
    }

    prop_compose! {
        fn any_size()(size in prop_oneof![0i64..5, any::<i64>()]) -> i64 { size }
    }

    prop_compose! {
        fn any_slice()(extents in proptest::collection::vec(proptest::option::of((any_size(), any_size())), 0..3)) -> TensorSliceProto {
            let extent = extents.into_iter().map(|extent| tensor_slice_proto::Extent {
                start: extent.map_or(0, |(start, _)| start),
                has_length_hack: extent.map(|(_, len)| tensor_slice_proto::extent::HasLengthHack::Length(len)),
                ..Default::default()
            });
            TensorSliceProto { extent: extent.collect(), ..Default::default() }
        }
    }

    prop_compose! {
        /// Returns an entry, most often with the checksum of its bytes of `data`.
        fn any_entry(data: &'static [u8])(
            dtype in 0..25i32, dims in proptest::collection::vec(any_size(), 0..3), shard_id in -1..3i32, offset in any_size(),
            size in prop_oneof![0i64..40, any::<i64>()], damaged in 0..8, slices in proptest::collection::vec(any_slice(), 0..3),
        ) -> BundleEntryProto {
            let bytes = data.get(offset as usize..(offset as usize).wrapping_add(size as usize)).unwrap_or(b"");
            let crc32c = mask(crc32c::crc32c(bytes)) ^ u32::from(damaged == 0);
            BundleEntryProto {
                dtype, shape: Some(TensorShapeProto::of(dims)), shard_id, offset, size, crc32c, slices, ..Default::default()
            }
        }
    }

    const DATA: &[u8] = b"\x03\x01\x00\x00some bytes of a data file, which entries point to";

    proptest! {
        #[test]
        fn entries_of_any_content_give_tensors_or_errors(
            whole in any_entry(DATA), parts in proptest::collection::vec(any_entry(DATA), 3), big in any::<bool>(), want in any_slice(),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let prefix = dir.path().join("any");
            let header = BundleHeaderProto { num_shards: 2, endianness: big.into(), ..Default::default() };
            std::fs::write(data_path(&prefix, 0, 2), DATA).unwrap();
            let mut entries: BTreeMap<Vec<u8>, BundleEntryProto> = [(b"t".to_vec(), whole.clone())].into();
            for (slice, part) in whole.slices.iter().zip(parts) {
                if let Ok(slice) = TensorSlice::from_proto(slice) {
                    entries.insert(slice_key(b"t", &slice), part);
                }
            }
            std::fs::write(index_path(&prefix), index(&header, entries)).unwrap();
            let reader = BundleReader::open(&prefix).unwrap();
            if let Ok(tensor) = reader.read("t") {
                prop_assert_eq!(reader.dtype_and_shape("t").unwrap(), (tensor.dtype(), tensor.shape().clone()));
            }
            if let Ok(slice) = TensorSlice::from_proto(&want) && let Ok(tensor) = reader.read_slice("t", &slice) {
                let (_, shape) = reader.dtype_and_shape("t").unwrap();
                prop_assert_eq!(tensor.shape(), &slice.shape(&shape).unwrap());
            }
        }
    }
}
