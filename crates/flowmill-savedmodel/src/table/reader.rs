use bytes::Bytes;
use flowmill_proto::wire::{take, take_u32};
use flowmill_tensor::{Error, Result};

use super::{FOOTER_LEN, MAGIC, SNAPPY, TRAILER_LEN, UNCOMPRESSED};
use crate::wire::{mask, take_len};

/// Keys share prefixes, so a small file can describe much larger keys. All keys of a table together may
/// take this many times the size of its file, and [`MIN_KEY_BYTES`] anyhow: writers repeat a key in full
/// every 16 entries, which keeps real tables below 20 times.
const MAX_KEY_EXPANSION: usize = 256;
const MIN_KEY_BYTES: usize = 1 << 20;

/// Snappy's densest element is a copy of 64 bytes in 3.
const MAX_SNAPPY_EXPANSION: usize = 22;

/// A key and its value.
pub(crate) type Entry = (Vec<u8>, Bytes);

/// Returns all entries of a table in the order of their keys, which are unique. Values point into the file, unless
/// their block is compressed.
///
/// # Errors
/// `DataLoss` if the file is not a table or a checksum does not match.
pub(crate) fn read_table(file: &Bytes) -> Result<Vec<Entry>> {
    let index_handle = read_footer(file).ok_or_else(|| Error::data_loss("not an sstable (bad magic number)"))?;
    let mut key_bytes = MIN_KEY_BYTES.saturating_add(file.len().saturating_mul(MAX_KEY_EXPANSION));
    let mut index = Vec::new();
    read_block(file, index_handle, &mut index, &mut key_bytes)?;
    let mut entries = Vec::new();
    for (_, value) in index {
        let handle = Handle::take(&mut &value[..]).ok_or_else(corrupt)?;
        read_block(file, handle, &mut entries, &mut key_bytes)?;
    }
    Ok(entries)
}

/// The position of a block, without its trailer.
struct Handle {
    offset: usize,
    size: usize,
}

impl Handle {
    fn take(bytes: &mut &[u8]) -> Option<Handle> {
        Some(Handle { offset: take_len(bytes)?, size: take_len(bytes)? })
    }
}

/// Returns the handle of the index block.
fn read_footer(file: &[u8]) -> Option<Handle> {
    let (_, footer) = file.split_at_checked(file.len().checked_sub(FOOTER_LEN)?)?;
    let (mut handles, magic) = footer.split_last_chunk::<8>()?;
    if u64::from_le_bytes(*magic) != MAGIC {
        return None;
    }
    Handle::take(&mut handles)?; // the metaindex, which is empty
    Handle::take(&mut handles)
}

/// Appends the entries of a block.
fn read_block(file: &Bytes, handle: Handle, entries: &mut Vec<Entry>, key_bytes: &mut usize) -> Result<()> {
    let block = block_contents(file, &handle)?;
    let len = entries_len(&block).ok_or_else(corrupt)?;
    let mut rest = &block[..len];
    while !rest.is_empty() {
        let at = len - rest.len();
        let (key, value) = take_entry(&mut rest, entries.last().filter(|_| at > 0)).ok_or_else(corrupt)?;
        *key_bytes = key_bytes
            .checked_sub(key.len())
            .ok_or_else(|| Error::data_loss(format!("the keys of the table take more than {MAX_KEY_EXPANSION} times its size")))?;
        if entries.last().is_some_and(|(last, _)| *last >= key) {
            return Err(Error::data_loss("corrupted table: keys are not sorted"));
        }
        entries.push((key, block.slice_ref(value)));
    }
    Ok(())
}

/// Takes an entry off the front; the first of a block has no key before it.
fn take_entry<'a>(bytes: &mut &'a [u8], before: Option<&Entry>) -> Option<(Vec<u8>, &'a [u8])> {
    let shared = take_len(bytes)?;
    let unshared = take_len(bytes)?;
    let value_len = take_len(bytes)?;
    let prefix = before.map_or(&[][..], |(key, _)| key).get(..shared)?;
    let key = [prefix, take(bytes, unshared)?].concat();
    Some((key, take(bytes, value_len)?))
}

/// Returns the number of bytes of a block that hold entries.
fn entries_len(block: &[u8]) -> Option<usize> {
    let (rest, num_restarts) = block.split_last_chunk::<4>()?;
    let restarts = usize::try_from(u32::from_le_bytes(*num_restarts)).ok()?.checked_mul(4)?;
    rest.len().checked_sub(restarts)
}

/// Returns a block, checked and uncompressed.
fn block_contents(file: &Bytes, handle: &Handle) -> Result<Bytes> {
    let end = handle.offset.checked_add(handle.size).ok_or_else(corrupt)?;
    let end_of_trailer = end.checked_add(TRAILER_LEN).filter(|&end| end <= file.len()).ok_or_else(corrupt)?;
    let contents = file.slice(handle.offset..end);
    let mut trailer = &file[end..end_of_trailer];
    let compression = trailer[0];
    let crc = crc32c::crc32c(&file[handle.offset..=end]);
    trailer = &trailer[1..];
    if take_u32(&mut trailer) != Some(mask(crc)) {
        return Err(Error::data_loss("block checksum mismatch"));
    }
    match compression {
        UNCOMPRESSED => Ok(contents),
        SNAPPY => {
            let len = snap::raw::decompress_len(&contents).map_err(|_| corrupt())?;
            if len > contents.len().saturating_mul(MAX_SNAPPY_EXPANSION) {
                return Err(corrupt());
            }
            let contents = snap::raw::Decoder::new().decompress_vec(&contents).map_err(|_| corrupt())?;
            Ok(contents.into())
        }
        _ => Err(Error::data_loss(format!("bad block type {compression}"))),
    }
}

#[cold]
fn corrupt() -> Error {
    Error::data_loss("corrupted table")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use flowmill_tensor::Code;

    use super::*;
    use crate::table::write_table;
    use flowmill_proto::encode_varint;

    fn with_trailer(mut block: Vec<u8>, compression: u8) -> Vec<u8> {
        block.push(compression);
        let crc = mask(crc32c::crc32c(&block));
        block.extend(crc.to_le_bytes());
        block
    }

    /// Returns a table of one data block, given with its compression.
    fn table_of(data: Vec<u8>, compression: u8) -> Bytes {
        let mut index = vec![0, 1, 0, b'~'];
        let mut handle = vec![0];
        encode_varint(data.len() as u64, &mut handle);
        index[2] = handle.len() as u8;
        index.extend(handle);
        index.extend([0, 0, 0, 0, 1, 0, 0, 0]);
        let mut file = with_trailer(data, compression);
        let mut footer = vec![0, 0];
        encode_varint(file.len() as u64, &mut footer);
        encode_varint(index.len() as u64, &mut footer);
        footer.resize(FOOTER_LEN - 8, 0);
        footer.extend(MAGIC.to_le_bytes());
        file.extend(with_trailer(index, UNCOMPRESSED));
        file.extend(footer);
        file.into()
    }

    const BLOCK: [u8; 19] = [0, 2, 1, b'a', b'b', b'x', 1, 1, 2, b'c', b'y', b'z', 0, 0, 0, 0, 1, 0, 0];

    fn block() -> Vec<u8> {
        let mut block = BLOCK.to_vec();
        block.push(0);
        block
    }

    #[test]
    fn reads_shared_prefixes_and_snappy() {
        let compressed = snap::raw::Encoder::new().compress_vec(&block()).unwrap();
        for table in [table_of(block(), UNCOMPRESSED), table_of(compressed, SNAPPY)] {
            let entries = read_table(&table).unwrap();
            assert_eq!(entries, [(b"ab".to_vec(), Bytes::from("x")), (b"ac".to_vec(), Bytes::from("yz"))]);
        }
    }

    #[test]
    fn refuses_what_is_not_a_table() {
        let error = |table: Bytes| read_table(&table).unwrap_err();
        assert!(error(Bytes::from(vec![0; 100])).message().contains("not an sstable"));
        assert!(error(Bytes::new()).message().contains("not an sstable"));
        assert!(error(table_of(block(), 7)).message().contains("bad block type 7"));
        let mut unsorted = block();
        unsorted[9] = b'a';
        assert!(error(table_of(unsorted, UNCOMPRESSED)).message().contains("not sorted"));
        let bomb = [&[0xff, 0xff, 0xff, 0xff, 0x0f], &[0; 20][..]].concat();
        assert_eq!(error(table_of(bomb, SNAPPY)).code(), Code::DataLoss);
    }

    #[test]
    fn keys_may_not_grow_without_bound() {
        let mut data = vec![0];
        encode_varint(1 << 16, &mut data);
        data.push(0);
        data.extend(vec![b'k'; 1 << 16]);
        for i in 0..20_000 {
            encode_varint((1 << 16) + i, &mut data); // the whole key before
            data.extend([1, 0, b'k']);
        }
        data.extend([0, 0, 0, 0, 1, 0, 0, 0]);
        let error = read_table(&table_of(data, UNCOMPRESSED)).unwrap_err();
        assert_eq!(error.code(), Code::DataLoss);
        assert!(error.message().contains("256 times"), "{error}");
    }

    #[test]
    fn every_damaged_byte_is_noticed_or_harmless() {
        let entries: Vec<Entry> = (0..40).map(|i| (format!("key{i:02}").into_bytes(), Bytes::from("value"))).collect();
        let table = write_table(&entries);
        for at in 0..table.len() {
            for bit in 0..8 {
                let mut damaged = table.clone();
                damaged[at] ^= 1 << bit;
                if let Ok(read) = read_table(&damaged.into()) {
                    assert_eq!(read, entries, "byte {at}");
                }
            }
            assert!(read_table(&Bytes::copy_from_slice(&table[..at])).is_err());
        }
    }
}
