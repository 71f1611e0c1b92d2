//! Checkpoints in TensorFlow's second format, the tensor bundle.
//!
//! The bundle with prefix `p` is a table `p.index` and data files `p.data-00000-of-00001`. The table maps the empty
//! key to a `BundleHeaderProto` and every tensor's name to a `BundleEntryProto`: type, shape, place in the data
//! files, checksum. A tensor that was saved in parts (a partitioned variable) has an entry that lists its parts, and an
//! entry with data for each part under a key made of the name and the part.

mod contents;
mod merge;
mod reader;
mod writer;

use std::path::{Path, PathBuf};

pub use merge::merge_bundles;
pub use reader::BundleReader;
pub use writer::BundleWriter;

/// The version of bundles that this crate reads and writes.
const VERSION: i32 = 1;

/// `prefix.index`.
fn index_path(prefix: &Path) -> PathBuf {
    with_suffix(prefix, ".index")
}

/// `prefix.data-00000-of-00001`, the file of a shard.
fn data_path(prefix: &Path, shard: i32, num_shards: i32) -> PathBuf {
    with_suffix(prefix, &format!(".data-{shard:05}-of-{num_shards:05}"))
}

/// Returns a path with text added to its last component.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
