//! Scans of progressive files, which hold some bits of some coefficients of every block.

use super::Result;
use super::bits::{BitReader, HuffmanTable};
use super::frame::{Frame, NATURAL_ORDER, Scan};
use super::scan::{Restarts, blocks_of_unit};

/// Decodes the scan into the coefficients. Returns the number of rows of MCUs.
pub(super) fn decode(frame: &mut Frame, scan: &Scan, bits: &mut BitReader<'_>) -> Result<usize> {
    let (across, down, interleaved) = frame.units(scan);
    let rows = frame.mcu_rows;
    let (tables, components) = frame.split();
    let is_dc = scan.spectral_start == 0;
    let code = |dc: usize, ac: usize| match (is_dc, scan.high) {
        (true, 0) => HuffmanTable::checked(tables.dc[dc].as_ref(), true).map(Some),
        (true, _) => Ok(None),
        (false, _) => HuffmanTable::checked(tables.ac[ac].as_ref(), false).map(Some),
    };
    let codes = scan.parts.iter().map(|&(_, dc, ac)| code(dc, ac)).collect::<Result<Vec<_>>>()?;
    let mut last = [0i32; 4];
    let mut blocks_to_skip = 0u32;
    let mut restarts = Restarts::new(tables.restart_interval);
    for y in 0..down {
        for x in 0..across {
            if restarts.due() {
                bits.restart(restarts.number())?;
                (last, blocks_to_skip) = ([0; 4], 0);
            }
            if bits.exhausted {
                continue;
            }
            for ((&(index, ..), code), last) in scan.parts.iter().zip(&codes).zip(&mut last) {
                let component = &mut components[index];
                for place in blocks_of_unit(component, x, y, interleaved) {
                    let block = &mut component.coefficients[place * 64..][..64];
                    match (code, is_dc, scan.high) {
                        (Some(code), true, _) => {
                            let size = bits.symbol(code)?;
                            *last = last.wrapping_add(bits.signed(u32::from(size))?);
                            block[0] = (*last << scan.low) as i16;
                        }
                        (None, ..) => {
                            if bits.bit()? {
                                block[0] |= 1 << scan.low;
                            }
                        }
                        (Some(code), false, 0) => first_bits(bits, code, scan, &mut blocks_to_skip, block)?,
                        (Some(code), false, _) => more_bits(bits, code, scan, &mut blocks_to_skip, block)?,
                    }
                }
            }
        }
    }
    Ok(rows)
}

/// Reads the first bits of a band of coefficients.
fn first_bits(bits: &mut BitReader<'_>, code: &HuffmanTable, scan: &Scan, skip: &mut u32, block: &mut [i16]) -> Result<()> {
    if *skip > 0 {
        *skip -= 1;
        return Ok(());
    }
    let mut k = scan.spectral_start;
    while k <= scan.spectral_end {
        let symbol = bits.symbol(code)?;
        let (run, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
        if size > 0 {
            k += run as usize;
            block[usize::from(NATURAL_ORDER[k])] = (bits.signed(size)? << scan.low) as i16;
            k += 1;
        } else if run == 15 {
            k += 16;
        } else {
            *skip = (1 << run) + bits.bits(run)? as u32 - 1;
            break;
        }
    }
    Ok(())
}

/// Reads one more bit of the coefficients that are not zero, and coefficients that become non-zero at that bit.
fn more_bits(bits: &mut BitReader<'_>, code: &HuffmanTable, scan: &Scan, skip: &mut u32, block: &mut [i16]) -> Result<()> {
    let bit = 1i16 << scan.low;
    let refine = |bits: &mut BitReader<'_>, coefficient: &mut i16| -> Result<()> {
        if bits.bit()? && *coefficient & bit == 0 {
            *coefficient = coefficient.wrapping_add(if *coefficient >= 0 { bit } else { -bit });
        }
        Ok(())
    };
    let mut k = scan.spectral_start;
    if *skip == 0 {
        while k <= scan.spectral_end {
            let symbol = bits.symbol(code)?;
            let (mut run, size) = (i32::from(symbol >> 4), symbol & 15);
            let mut new = 0;
            if size > 0 {
                // The size must be one; libjpeg ignores that it is not.
                new = if bits.bit()? { bit } else { -bit };
            } else if run != 15 {
                *skip = (1 << run) + bits.bits(run as u32)? as u32;
                break;
            }
            while k <= scan.spectral_end {
                let coefficient = &mut block[usize::from(NATURAL_ORDER[k])];
                if *coefficient != 0 {
                    refine(bits, coefficient)?;
                } else {
                    run -= 1;
                    if run < 0 {
                        break;
                    }
                }
                k += 1;
            }
            if new != 0 {
                block[usize::from(NATURAL_ORDER[k])] = new;
            }
            k += 1;
        }
    }
    if *skip > 0 {
        for &place in NATURAL_ORDER.get(k..=scan.spectral_end).unwrap_or(&[]) {
            let coefficient = &mut block[usize::from(place)];
            if *coefficient != 0 {
                refine(bits, coefficient)?;
            }
        }
        *skip -= 1;
    }
    Ok(())
}
