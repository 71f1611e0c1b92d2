use super::reader::Entry;
use super::{FOOTER_LEN, MAGIC, UNCOMPRESSED};
use crate::wire::mask;
use flowmill_proto::encode_varint;

/// A data block is closed once its entries reach this size, as in TensorFlow.
const BLOCK_SIZE: usize = 256 << 10;

/// The number of consecutive entries that may share prefixes.
const RESTART_INTERVAL: usize = 16;

/// Returns the table of entries, whose keys must ascend.
pub(crate) fn write_table(entries: &[Entry]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut index = Block::new(1);
    let mut data = Block::new(RESTART_INTERVAL);
    for (i, (key, value)) in entries.iter().enumerate() {
        data.push(key, value);
        if data.bytes.len() >= BLOCK_SIZE || i + 1 == entries.len() {
            let block = std::mem::replace(&mut data, Block::new(RESTART_INTERVAL));
            index.push(key, &block.append_to(&mut file));
        }
    }
    let mut footer = Block::new(1).append_to(&mut file);
    footer.extend(index.append_to(&mut file));
    footer.resize(FOOTER_LEN - 8, 0);
    footer.extend(MAGIC.to_le_bytes());
    file.extend(footer);
    file
}

struct Block {
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    restart_interval: usize,
    num_entries: usize,
    last_key: Vec<u8>,
}

impl Block {
    fn new(restart_interval: usize) -> Block {
        Block { bytes: Vec::new(), restarts: Vec::new(), restart_interval, num_entries: 0, last_key: Vec::new() }
    }

    fn push(&mut self, key: &[u8], value: &[u8]) {
        let mut shared = 0;
        if self.num_entries.is_multiple_of(self.restart_interval) {
            self.restarts.push(self.bytes.len() as u32);
        } else {
            shared = key.iter().zip(&self.last_key).take_while(|(a, b)| a == b).count();
        }
        encode_varint(shared as u64, &mut self.bytes);
        encode_varint((key.len() - shared) as u64, &mut self.bytes);
        encode_varint(value.len() as u64, &mut self.bytes);
        self.bytes.extend_from_slice(&key[shared..]);
        self.bytes.extend_from_slice(value);
        self.num_entries += 1;
        self.last_key = key.to_vec();
    }

    /// Writes the block with its trailer and returns its handle.
    fn append_to(mut self, file: &mut Vec<u8>) -> Vec<u8> {
        if self.restarts.is_empty() {
            self.restarts.push(0);
        }
        let offset = file.len();
        file.extend(self.bytes);
        file.extend(self.restarts.iter().flat_map(|restart| restart.to_le_bytes()));
        file.extend((self.restarts.len() as u32).to_le_bytes());
        let mut handle = Vec::new();
        encode_varint(offset as u64, &mut handle);
        encode_varint((file.len() - offset) as u64, &mut handle);
        file.push(UNCOMPRESSED);
        file.extend(mask(crc32c::crc32c(&file[offset..])).to_le_bytes());
        handle
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bytes::Bytes;

    use super::*;
    use crate::table::read_table;

    #[test]
    fn tables_of_many_blocks_round_trip() {
        for num_entries in [0usize, 1, 2, 16, 17, 30_000] {
            let entries: Vec<Entry> = (0..num_entries).map(|i| (format!("scope/{i:06}").into(), Bytes::from(vec![i as u8; 40]))).collect();
            assert!(read_table(&write_table(&entries).into()).unwrap() == entries, "{num_entries} entries");
        }
    }
}
