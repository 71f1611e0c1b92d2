//! Scans of baseline files, which hold whole blocks, one after the other.

use super::bits::{BitReader, HuffmanTable};
use super::frame::{Component, Frame, NATURAL_ORDER, Scan};
use super::{Fault, Result};

/// Decodes the scan into the coefficients. Returns the number of rows of MCUs that are complete; data that ends too early is no error.
pub(super) fn decode(frame: &mut Frame, scan: &Scan, bits: &mut BitReader<'_>) -> Result<usize> {
    let (across, down, interleaved) = frame.units(scan);
    let (tables, components) = frame.split();
    let codes = scan.parts.iter().map(|&(_, dc, ac)| {
        Ok((HuffmanTable::checked(tables.dc[dc].as_ref(), true)?, HuffmanTable::checked(tables.ac[ac].as_ref(), false)?))
    });
    let codes = codes.collect::<Result<Vec<_>>>()?;
    let mut last = [0i32; 4];
    let mut restarts = Restarts::new(tables.restart_interval);
    for y in 0..down {
        for x in 0..across {
            let unit = (|| {
                if restarts.due() {
                    bits.restart(restarts.number())?;
                    last = [0; 4];
                }
                if bits.exhausted {
                    return Ok(());
                }
                for ((&(index, ..), &(dc, ac)), last) in scan.parts.iter().zip(&codes).zip(&mut last) {
                    let component = &mut components[index];
                    for place in blocks_of_unit(component, x, y, interleaved) {
                        let block = &mut component.coefficients[place * 64..][..64];
                        decode_block(bits, dc, ac, last, block)?;
                    }
                }
                Ok(())
            })();
            match unit {
                Ok(()) => {}
                Err(Fault::Truncated) => return Ok(if interleaved || components.len() == 1 { y } else { 0 }),
                Err(fault) => return Err(fault),
            }
        }
    }
    Ok(down)
}

/// Returns the indices of a component's blocks in the MCU at column `x`, row `y`.
pub(super) fn blocks_of_unit(c: &Component, x: usize, y: usize, interleaved: bool) -> impl Iterator<Item = usize> + use<> {
    let (h, v) = if interleaved { (c.h, c.v) } else { (1, 1) };
    let stride = c.stride;
    (0..h * v).map(move |i| (y * v + i / h) * stride + x * h + i % h)
}

fn decode_block(bits: &mut BitReader<'_>, dc: &HuffmanTable, ac: &HuffmanTable, last: &mut i32, block: &mut [i16]) -> Result<()> {
    let size = bits.symbol(dc)?;
    *last = last.wrapping_add(bits.signed(u32::from(size))?);
    block[0] = *last as i16;
    let mut k = 1;
    while k < 64 {
        let symbol = bits.symbol(ac)?;
        let (run, size) = (usize::from(symbol >> 4), u32::from(symbol & 15));
        if size == 0 {
            if run != 15 {
                break;
            }
            k += 16;
            continue;
        }
        k += run;
        block[usize::from(NATURAL_ORDER[k])] = bits.signed(size)? as i16;
        k += 1;
    }
    Ok(())
}

/// A counter of the MCUs between restart markers, which are numbered from 0 to 7 in turn.
pub(super) struct Restarts {
    interval: usize,
    left: usize,
    next: u8,
}

impl Restarts {
    pub(super) fn new(interval: usize) -> Restarts {
        Restarts { interval, left: interval, next: 0 }
    }

    /// Counts the next MCU, and returns true if a restart marker precedes it.
    pub(super) fn due(&mut self) -> bool {
        if self.interval == 0 {
            return false;
        }
        let due = self.left == 0;
        self.left = if due { self.interval - 1 } else { self.left - 1 };
        due
    }

    /// Returns the number of the next restart marker.
    pub(super) fn number(&mut self) -> u8 {
        let number = self.next;
        self.next = (number + 1) % 8;
        number
    }
}
