//! Sorted tables: files that map byte strings to byte strings, in LevelDB's format.
//!
//! A table is a run of blocks. Each block is followed by a byte for its compression and a masked CRC-32C of
//! block and byte. Entries of a block are sorted and share prefixes with the key before:
//! `shared: varint, unshared: varint, value: varint, rest of the key, value`; a block ends with the offsets of entries
//! that share nothing, and their number. The footer names the index block, whose values are handles
//! (`offset: varint, size: varint`) of the data blocks.

mod reader;
mod writer;

pub(crate) use reader::read_table;
pub(crate) use writer::write_table;

/// The last eight bytes of a table.
const MAGIC: u64 = 0xdb47_7524_8b80_fb57;

/// Two handles, padded, and the magic number.
const FOOTER_LEN: usize = 48;

/// Compression and checksum of a block.
const TRAILER_LEN: usize = 5;

const UNCOMPRESSED: u8 = 0;
const SNAPPY: u8 = 1;
