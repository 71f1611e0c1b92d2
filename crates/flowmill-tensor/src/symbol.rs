//! Names of unknown sizes.

/// The name of a size that is not known before a step runs. Equal names are equal sizes.
///
/// A symbol names one dimension of one *source*: a tensor, or a term that an analysis computes from other sizes. In the list of sizes of a
/// [`PartialShape`](crate::PartialShape) it is a negative number, which code that only distinguishes known from unknown sizes
/// treats as unknown. The numbers are chosen so that neither small sizes nor sums and small multiples of symbols are symbols by accident.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Symbol(u64);

/// Symbols are the negatives of `BASE`, `BASE + STEP`, `BASE + 2 * STEP`, ... below `BASE + (1 << COUNT_BITS) * STEP`.
const BASE: i64 = 1 << 52;
const STEP: i64 = 1 << 10;
/// 32 bits of a source, 8 bits of an axis.
const COUNT_BITS: u32 = 40;

impl Symbol {
    /// The symbol of dimension `axis` of a source; `None` for dimensions past the 256th.
    pub fn new(source: u32, axis: usize) -> Option<Symbol> {
        u8::try_from(axis).ok().map(|axis| Symbol(u64::from(source) << 8 | u64::from(axis)))
    }

    /// The source whose dimension the symbol names.
    pub fn source(self) -> u32 {
        (self.0 >> 8) as u32
    }

    /// The symbol as it is written in a list of sizes, a negative number.
    pub fn to_size(self) -> i64 {
        -(BASE + self.0 as i64 * STEP)
    }

    /// The symbol that an entry of a list of sizes is; `None` for known sizes and for unknown ones without a name.
    pub fn from_size(size: i64) -> Option<Symbol> {
        let offset = size.checked_neg()?.checked_sub(BASE)?;
        let is_symbol = offset >= 0 && offset % STEP == 0 && offset / STEP < 1 << COUNT_BITS;
        is_symbol.then_some(Symbol((offset / STEP) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_is_read_back_from_its_size() {
        for (source, axis) in [(0, 0), (1, 0), (1, 255), (u32::MAX, 255)] {
            let symbol = Symbol::new(source, axis).unwrap();
            assert!(symbol.to_size() < -1);
            assert_eq!(Symbol::from_size(symbol.to_size()), Some(symbol));
            assert_eq!(symbol.source(), source);
        }
        assert_eq!(Symbol::new(1, 256), None);
    }

    #[test]
    fn other_numbers_are_no_symbols() {
        let symbol = Symbol::new(3, 1).unwrap().to_size();
        for size in [0, 1, -1, -2, i64::MIN, i64::MAX, symbol + 1, symbol - 1, symbol * 2, symbol + symbol] {
            assert_eq!(Symbol::from_size(size), None, "{size}");
        }
    }
}
