//! Bits of entropy-coded data, and Huffman codes.

use super::{Fault, Result};

/// Codes up to this length are decoded by a single table lookup.
const LOOKUP_BITS: u32 = 9;

/// A canonical Huffman code.
#[derive(Clone)]
pub(super) struct HuffmanTable {
    /// For each sequence of [`LOOKUP_BITS`] bits, the length and the symbol of the code that it begins with; length 0 if that code is longer.
    lookup: Vec<(u8, u8)>,
    /// The largest code of each length, or -1 if there is none.
    max_code: [i32; 18],
    /// The number to add to a code of each length to get the index of its symbol.
    offset: [i32; 17],
    symbols: Vec<u8>,
    /// True if the lengths form a valid prefix code.
    valid: bool,
}

impl HuffmanTable {
    /// Returns the table of the code with `counts[i]` codewords of length `i + 1`.
    pub(super) fn new(counts: &[u8], symbols: &[u8]) -> HuffmanTable {
        let mut table = HuffmanTable {
            lookup: vec![(0, 0); 1 << LOOKUP_BITS],
            max_code: [-1; 18],
            offset: [0; 17],
            symbols: symbols.to_vec(),
            valid: true,
        };
        let (mut code, mut next) = (0i32, 0usize);
        for (length, &count) in (1u32..).zip(counts) {
            let count = usize::from(count);
            table.offset[length as usize] = next as i32 - code;
            for _ in 0..count {
                if length <= LOOKUP_BITS && code < 1 << length {
                    let from = (code as usize) << (LOOKUP_BITS - length);
                    let entry = (length as u8, symbols.get(next).copied().unwrap_or(0));
                    table.lookup[from..from + (1 << (LOOKUP_BITS - length))].fill(entry);
                }
                code += 1;
                next += 1;
            }
            if count > 0 {
                table.max_code[length as usize] = code - 1;
            }
            // No codeword consists of ones only.
            table.valid &= code < 1 << length;
            code <<= 1;
        }
        // Ends the search for bits that are no valid codeword.
        table.max_code[17] = i32::MAX;
        table
    }

    /// Returns the table, which must be a valid code; if `dc`, its symbols must be lengths of numbers.
    pub(super) fn checked(table: Option<&HuffmanTable>, dc: bool) -> Result<&HuffmanTable> {
        table.filter(|t| t.valid && (!dc || t.symbols.iter().all(|&s| s <= 15))).ok_or(Fault::Invalid)
    }
}

/// A reader of bits, most significant bit first. After a marker it returns zeros.
pub(super) struct BitReader<'a> {
    data: &'a [u8],
    at: usize,
    /// The bits that were read but not consumed; the next one is the most significant.
    buffer: u64,
    len: u32,
    /// The marker that ended the data.
    marker: Option<u8>,
    recover: bool,
    truncated: bool,
    /// True once zeros were returned: the coefficients up to the next restart marker are then left unchanged.
    pub(super) exhausted: bool,
}

const EOI: u8 = 0xd9;

impl<'a> BitReader<'a> {
    pub(super) fn new(data: &'a [u8], at: usize, recover: bool) -> BitReader<'a> {
        BitReader { data, at, buffer: 0, len: 0, marker: None, recover, truncated: false, exhausted: false }
    }

    /// Returns true if the data ended without a marker.
    pub(super) fn truncated(&self) -> bool {
        self.truncated
    }

    /// Returns the offset from which to look for markers when the scan is over.
    pub(super) fn position(&self) -> usize {
        if self.marker.is_some() { self.at.saturating_sub(2) } else { self.at.saturating_sub(self.len as usize / 8) }
    }

    /// Fills the buffer, as libjpeg does: a file that ends meanwhile is truncated, even if the missing bytes are not needed.
    fn fill(&mut self) -> Result<()> {
        while self.len <= 56 && self.marker.is_none() {
            match self.data.get(self.at..).unwrap_or(&[]) {
                [0xff, rest @ ..] => match rest.iter().position(|&b| b != 0xff) {
                    Some(skipped) if rest[skipped] == 0 => {
                        self.push(0xff);
                        self.at += skipped + 2;
                    }
                    Some(skipped) => {
                        self.marker = Some(rest[skipped]);
                        self.at += skipped + 2;
                    }
                    None => self.end()?,
                },
                &[byte, ..] => {
                    self.push(byte);
                    self.at += 1;
                }
                [] => self.end()?,
            }
        }
        Ok(())
    }

    fn push(&mut self, byte: u8) {
        self.buffer |= u64::from(byte) << (56 - self.len);
        self.len += 8;
    }

    fn end(&mut self) -> Result<()> {
        if !self.recover {
            self.truncated = true;
            return Err(Fault::Truncated);
        }
        self.marker = Some(EOI);
        self.at = self.data.len() + 2;
        Ok(())
    }

    fn ensure(&mut self, bits: u32) -> Result<()> {
        if self.len < bits { self.fill() } else { Ok(()) }
    }

    fn consume(&mut self, bits: u32) {
        self.buffer <<= bits;
        if bits > self.len {
            self.exhausted = true;
            self.len = 0;
        } else {
            self.len -= bits;
        }
    }

    /// Returns `count` bits as a number, at most 16.
    pub(super) fn bits(&mut self, count: u32) -> Result<i32> {
        if count == 0 {
            return Ok(0);
        }
        self.ensure(count)?;
        let value = (self.buffer >> (64 - count)) as i32;
        self.consume(count);
        Ok(value)
    }

    /// Returns one bit.
    pub(super) fn bit(&mut self) -> Result<bool> {
        Ok(self.bits(1)? != 0)
    }

    /// Returns the next symbol, or 0 for bits that are no valid codeword.
    pub(super) fn symbol(&mut self, table: &HuffmanTable) -> Result<u8> {
        self.ensure(8)?;
        let (length, symbol) = table.lookup[(self.buffer >> (64 - LOOKUP_BITS)) as usize];
        if length > 0 && u32::from(length) <= self.len {
            self.consume(u32::from(length));
            return Ok(symbol);
        }
        let (mut length, mut code) = (1usize, self.bits(1)?);
        while code > table.max_code[length] {
            code = code << 1 | self.bits(1)?;
            length += 1;
        }
        if length > 16 {
            return Ok(0);
        }
        let index = usize::try_from(code + table.offset[length]).ok();
        Ok(index.and_then(|i| table.symbols.get(i)).copied().unwrap_or(0))
    }

    /// Returns a number of `size` bits. Numbers whose first bit is zero are negative.
    pub(super) fn signed(&mut self, size: u32) -> Result<i32> {
        let value = self.bits(size)?;
        Ok(if size > 0 && value < 1 << (size - 1) { value - (1 << size) + 1 } else { value })
    }

    /// Continues after the restart marker `number`. If another marker is found, the interval that it ends is left unchanged.
    pub(super) fn restart(&mut self, number: u8) -> Result<()> {
        (self.buffer, self.len) = (0, 0);
        if self.marker.is_none() {
            // Skip bytes in front of the marker.
            while self.marker.is_none() {
                self.len = 0;
                self.buffer = 0;
                self.fill()?;
            }
            (self.buffer, self.len) = (0, 0);
        }
        if self.marker == Some(0xd0 + number) {
            self.marker = None;
            self.exhausted = false;
        }
        Ok(())
    }
}
