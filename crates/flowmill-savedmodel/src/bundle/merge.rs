use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::path::Path;

use flowmill_proto::BundleEntryProto;
use flowmill_tensor::{Result, bail};

use super::reader::BundleReader;
use super::writer::write_index;
use super::{data_path, index_path};
use crate::file::io_error;

/// Makes one checkpoint of those with the given prefixes, as the op `MergeV2Checkpoints` does: data files are moved,
/// a new index is written, the old ones are removed.
///
/// # Errors
/// `InvalidArgument` if two of them hold the same tensor, or differ in byte order, or there is none; those of
/// [`BundleReader::open`] and of the file system. Nothing is moved before all have been read.
pub fn merge_bundles<P: AsRef<Path>>(prefixes: &[P], merged: impl AsRef<Path>) -> Result<()> {
    let merged = merged.as_ref();
    let readers = prefixes.iter().map(BundleReader::open).collect::<Result<Vec<_>>>()?;
    if readers.is_empty() {
        bail!(InvalidArgument, "no checkpoints to merge");
    }
    if let Some(other) = readers.iter().find(|reader| !reader.is_little_endian()) {
        bail!(InvalidArgument, "{} is big-endian; only little-endian checkpoints are merged", other.prefix().display());
    }
    let mut entries = BTreeMap::new();
    let mut num_shards = 0;
    let mut moves = Vec::new();
    for reader in &readers {
        for (key, entry) in reader.entries() {
            let mut entry = entry.clone();
            entry.shard_id += num_shards;
            add_entry(&mut entries, key, entry)?;
        }
        for shard in 0..reader.num_shards() {
            moves.push((data_path(reader.prefix(), shard, reader.num_shards()), num_shards + shard));
        }
        num_shards += reader.num_shards();
    }
    if let Some(parent) = merged.parent() {
        fs::create_dir_all(parent).map_err(|error| io_error(parent, error))?;
    }
    for (from, shard) in moves {
        fs::rename(&from, data_path(merged, shard, num_shards)).map_err(|error| io_error(&from, error))?;
    }
    write_index(merged, num_shards, entries)?;
    for reader in &readers {
        let old = index_path(reader.prefix());
        if old != index_path(merged) {
            fs::remove_file(&old).map_err(|error| io_error(&old, error))?;
        }
    }
    Ok(())
}

/// Adds an entry; parts of one tensor may come from several checkpoints.
fn add_entry(entries: &mut BTreeMap<Vec<u8>, BundleEntryProto>, key: &[u8], entry: BundleEntryProto) -> Result<()> {
    match entries.entry(key.to_vec()) {
        Entry::Vacant(vacant) => {
            vacant.insert(entry);
        }
        Entry::Occupied(mut occupied) => {
            let whole = occupied.get_mut();
            if whole.slices.is_empty() || entry.slices.is_empty() {
                bail!(InvalidArgument, "Duplicate tensor keyed by {} encountered, when merging checkpoints", key.escape_ascii());
            }
            if whole.dtype != entry.dtype || whole.shape != entry.shape {
                bail!(InvalidArgument, "parts of {} differ in the type or shape of the whole", key.escape_ascii());
            }
            whole.slices.extend(entry.slices);
        }
    }
    Ok(())
}
