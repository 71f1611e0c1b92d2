use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use flowmill_proto::{BundleEntryProto, BundleHeaderProto, Message, VersionDef};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};

use super::{VERSION, contents, data_path, index_path, with_suffix};
use crate::file::io_error;
use crate::ordered_code::slice_key;
use crate::slice::TensorSlice;
use crate::table::write_table;

/// Dense tensors begin at multiples of this in a data file, so that reading them needs no copy.
const ALIGNMENT: u64 = 64;

/// Writes a checkpoint of one data file.
///
/// Files appear under their names when [`BundleWriter::finish`] has written them whole: until then, and if the
/// writer is dropped before, a checkpoint of the same prefix stays as it is.
#[derive(Debug)]
pub struct BundleWriter {
    prefix: PathBuf,
    data: TemporaryFile,
    len: u64,
    entries: BTreeMap<Vec<u8>, BundleEntryProto>,
}

impl BundleWriter {
    /// Begins a checkpoint whose files begin with `prefix`. Missing directories are made.
    ///
    /// # Errors
    /// Those of the file system, as `PermissionDenied` and so on.
    pub fn create(prefix: impl AsRef<Path>) -> Result<BundleWriter> {
        let prefix = prefix.as_ref().to_owned();
        if let Some(parent) = prefix.parent() {
            fs::create_dir_all(parent).map_err(|error| io_error(parent, error))?;
        }
        let data = TemporaryFile::create(data_path(&prefix, 0, 1))?;
        Ok(BundleWriter { prefix, data, len: 0, entries: BTreeMap::new() })
    }

    /// Adds a tensor.
    ///
    /// # Errors
    /// `InvalidArgument` if the name is empty or taken, `Unimplemented` for resources and for variants that are not in their wire form, and those of the
    /// file system.
    pub fn add(&mut self, name: &str, tensor: &Tensor) -> Result<()> {
        check_name(name)?;
        self.add_data(name.as_bytes().to_vec(), tensor, name)
    }

    /// Adds a part of a tensor of shape `shape`. Parts may come in any order; they must not overlap, which reading checks.
    ///
    /// # Errors
    /// The errors of [`BundleWriter::add`], and `InvalidArgument` if the part's shape is not the slice's, or type or shape
    /// of the whole are not those of its other parts.
    pub fn add_slice(&mut self, name: &str, shape: &Shape, slice: &TensorSlice, tensor: &Tensor) -> Result<()> {
        check_name(name)?;
        if *tensor.shape() != slice.shape(shape)? {
            bail!(InvalidArgument, "a part of shape {} for a slice of shape {}", tensor.shape(), slice.shape(shape)?);
        }
        let whole = BundleEntryProto { dtype: tensor.dtype().number(), shape: Some(shape.to_proto()), ..Default::default() };
        let proto = slice.to_proto();
        match self.entries.get(name.as_bytes()) {
            None => {}
            Some(other) if other.slices.is_empty() => bail!(InvalidArgument, "Adding duplicate key: {name}"),
            Some(other) if other.dtype != whole.dtype || other.shape != whole.shape => {
                bail!(InvalidArgument, "parts of {name} differ in the type or shape of the whole")
            }
            Some(_) => {}
        }
        self.add_data(slice_key(name.as_bytes(), slice), tensor, name)?;
        self.entries.entry(name.as_bytes().to_vec()).or_insert(whole).slices.push(proto);
        Ok(())
    }

    fn add_data(&mut self, key: Vec<u8>, tensor: &Tensor, name: &str) -> Result<()> {
        if self.entries.contains_key(&key) {
            bail!(InvalidArgument, "Adding duplicate key: {name}");
        }
        if tensor.dtype() != DType::String {
            let padding = self.len.next_multiple_of(ALIGNMENT) - self.len;
            self.data.write(&[0; ALIGNMENT as usize][..padding as usize])?;
            self.len += padding;
        }
        let (size, crc32c) = contents::encode(tensor, |bytes| self.data.write(bytes))?;
        let entry = BundleEntryProto {
            dtype: tensor.dtype().number(),
            shape: Some(tensor.shape().to_proto()),
            offset: self.len as i64,
            size: size as i64,
            crc32c,
            ..Default::default()
        };
        self.len += size;
        self.entries.insert(key, entry);
        Ok(())
    }

    /// Writes the index and gives the files their names, replacing a checkpoint of the same prefix.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied` or another error of the file system, with the path.
    pub fn finish(self) -> Result<()> {
        self.data.persist()?;
        write_index(&self.prefix, 1, self.entries)
    }
}

/// Writes the index of a checkpoint.
pub(super) fn write_index(prefix: &Path, num_shards: i32, entries: BTreeMap<Vec<u8>, BundleEntryProto>) -> Result<()> {
    let header =
        BundleHeaderProto { num_shards, version: Some(VersionDef { producer: VERSION, ..Default::default() }), ..Default::default() };
    let mut table = vec![(Vec::new(), Bytes::from(header.encode_to_vec()))];
    table.extend(entries.into_iter().map(|(key, entry)| (key, entry.encode_to_vec().into())));
    let mut index = TemporaryFile::create(index_path(prefix))?;
    index.write(&write_table(&table))?;
    index.persist()
}

fn check_name(name: &str) -> Result<()> {
    if name.is_empty() || name.starts_with('\0') {
        bail!(InvalidArgument, "a tensor of a checkpoint needs a name that does not begin with a zero byte, not {name:?}");
    }
    Ok(())
}

/// A file beside its destination; removed when dropped.
#[derive(Debug)]
struct TemporaryFile {
    destination: PathBuf,
    path: PathBuf,
    writer: Option<BufWriter<File>>,
}

impl TemporaryFile {
    fn create(destination: PathBuf) -> Result<TemporaryFile> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let unique = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = with_suffix(&destination, &format!(".tempstate{}-{unique}", std::process::id()));
        let file = File::create_new(&path).map_err(|error| io_error(&path, error))?;
        Ok(TemporaryFile { destination, path, writer: Some(BufWriter::with_capacity(1 << 18, file)) })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.writer {
            Some(writer) => writer.write_all(bytes).map_err(|error| io_error(&self.path, error)),
            None => bail!(FailedPrecondition, "{} is closed", self.path.display()),
        }
    }

    fn persist(mut self) -> Result<()> {
        if let Some(mut writer) = self.writer.take() {
            let result = writer.flush().and_then(|()| fs::rename(&self.path, &self.destination));
            if let Err(error) = result {
                let _ = fs::remove_file(&self.path);
                return Err(io_error(&self.destination, error));
            }
        }
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            let _ = fs::remove_file(&self.path);
        }
    }
}
