//! Terms over unknown sizes, as a shape analysis makes them.

use crate::OutputId;
use flowmill_tensor::Symbol;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A size as shape functions see it: known, a [`Symbol`], or −1.
type Size = i64;

const UNKNOWN: Size = -1;

/// Sums of more symbols, and products of more, are unknown sizes of their own. No model is known to need as many.
const MAX_PARTS: usize = 8;

/// The sources of symbols: tensors, and terms over other symbols. Equal terms are one source.
#[derive(Clone, Debug, Default)]
pub(crate) struct SymbolTable {
    tensors: FxHashMap<OutputId, u32>,
    terms: FxHashMap<Term, u32>,
    /// The sources by number, which starts at 1.
    sources: Vec<Source>,
}

#[derive(Clone, Debug)]
struct Source {
    /// `None` for a tensor.
    term: Option<Term>,
    /// The number of loops around the tensor. Its size may differ between the iterations of each of them.
    depth: u32,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Term {
    /// The sum, whose parts are no sums, in order and each multiplied by a factor that is not 0.
    Sum(Sum),
    /// The product, whose factors are neither sums of several parts nor products, in order.
    Product(SmallVec<[Symbol; 4]>),
    /// The quotient, rounded up.
    Quotient(Symbol, i64),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Sum {
    constant: i64,
    parts: SmallVec<[(Symbol, i64); 2]>,
}

/// A product of a known factor and symbols in order.
struct Product {
    factor: i64,
    symbols: SmallVec<[Symbol; 4]>,
}

impl SymbolTable {
    /// The source that a tensor is; `None` when there are too many. `depth` is the number of loops around the tensor.
    pub(crate) fn tensor(&mut self, tensor: OutputId, depth: u32) -> Option<u32> {
        if let Some(&source) = self.tensors.get(&tensor) {
            return Some(source);
        }
        let source = self.add(Source { term: None, depth })?;
        self.tensors.insert(tensor, source);
        Some(source)
    }

    /// Returns how many loops are around what has the sizes of a source.
    pub(crate) fn depth(&self, source: u32) -> u32 {
        self.source(source).map_or(0, |s| s.depth)
    }

    /// Returns `a + b`.
    pub(crate) fn sum(&mut self, a: Size, b: Size) -> Size {
        self.try_sum(a, b, 1).unwrap_or(UNKNOWN)
    }

    /// Returns `a - b`.
    pub(crate) fn difference(&mut self, a: Size, b: Size) -> Size {
        self.try_sum(a, b, -1).unwrap_or(UNKNOWN)
    }

    /// Returns `size / divisor`, rounded up, for a positive divisor.
    pub(crate) fn quotient(&mut self, size: Size, divisor: i64) -> Size {
        self.try_quotient(size, divisor).unwrap_or(UNKNOWN)
    }

    /// Returns the product of `sizes` divided by that of `divisors`, if all divisors are factors of it.
    pub(crate) fn ratio(&mut self, sizes: &[Size], divisors: &[Size]) -> Size {
        self.try_ratio(sizes, divisors).unwrap_or(UNKNOWN)
    }

    /// Returns true if the products of two lists of sizes are sure to be equal.
    pub(crate) fn are_equal_products(&self, a: &[Size], b: &[Size]) -> bool {
        let products = self.as_product(a).zip(self.as_product(b));
        products.is_some_and(|(a, b)| a.factor == b.factor && (a.factor == 0 || a.symbols == b.symbols))
    }

    fn source(&self, source: u32) -> Option<&Source> {
        self.sources.get((source as usize).checked_sub(1)?)
    }

    fn add(&mut self, source: Source) -> Option<u32> {
        self.sources.push(source);
        u32::try_from(self.sources.len()).ok()
    }

    fn term_of(&self, symbol: Symbol) -> Option<&Term> {
        self.source(symbol.source())?.term.as_ref()
    }

    fn symbol_of(&mut self, term: Term) -> Option<Symbol> {
        if let Some(&source) = self.terms.get(&term) {
            return Symbol::new(source, 0);
        }
        let depth = |symbol: &Symbol| self.depth(symbol.source());
        let depth = match &term {
            Term::Sum(sum) => sum.parts.iter().map(|(symbol, _)| depth(symbol)).max(),
            Term::Product(factors) => factors.iter().map(depth).max(),
            Term::Quotient(symbol, _) => Some(depth(symbol)),
        };
        let source = self.add(Source { term: Some(term.clone()), depth: depth.unwrap_or(0) })?;
        self.terms.insert(term, source);
        Symbol::new(source, 0)
    }

    fn as_sum(&self, size: Size) -> Option<Sum> {
        if size >= 0 {
            return Some(Sum { constant: size, ..Sum::default() });
        }
        let symbol = Symbol::from_size(size)?;
        Some(match self.term_of(symbol) {
            Some(Term::Sum(sum)) => sum.clone(),
            _ => Sum { constant: 0, parts: [(symbol, 1)].into_iter().collect() },
        })
    }

    fn size_of(&mut self, sum: Sum) -> Option<Size> {
        match (&sum.parts[..], sum.constant) {
            ([], constant) => (constant >= 0).then_some(constant),
            ([(symbol, 1)], 0) => Some(symbol.to_size()),
            (parts, _) if parts.len() > MAX_PARTS => None,
            _ => self.symbol_of(Term::Sum(sum)).map(Symbol::to_size),
        }
    }

    fn try_sum(&mut self, a: Size, b: Size, sign: i64) -> Option<Size> {
        let (mut sum, other) = (self.as_sum(a)?, self.as_sum(b)?);
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(sign)?)?;
        for (symbol, factor) in other.parts {
            let factor = factor.checked_mul(sign)?;
            match sum.parts.binary_search_by_key(&symbol, |(s, _)| *s) {
                Ok(at) => {
                    sum.parts[at].1 = sum.parts[at].1.checked_add(factor)?;
                    if sum.parts[at].1 == 0 {
                        sum.parts.remove(at);
                    }
                }
                Err(at) => sum.parts.insert(at, (symbol, factor)),
            }
        }
        self.size_of(sum)
    }

    fn try_quotient(&mut self, size: Size, divisor: i64) -> Option<Size> {
        if divisor <= 1 {
            return Some(size).filter(|_| divisor == 1);
        }
        if size >= 0 {
            return Some(size / divisor + i64::from(size % divisor != 0));
        }
        let mut sum = self.as_sum(size)?;
        if sum.constant % divisor == 0 && sum.parts.iter().all(|(_, factor)| factor % divisor == 0) {
            sum.constant /= divisor;
            sum.parts.iter_mut().for_each(|(_, factor)| *factor /= divisor);
            return self.size_of(sum);
        }
        let symbol = Symbol::from_size(size)?;
        // Rounding up twice is rounding up once by the product.
        let term = match self.term_of(symbol) {
            Some(&Term::Quotient(inner, first)) => Term::Quotient(inner, first.checked_mul(divisor)?),
            _ => Term::Quotient(symbol, divisor),
        };
        self.symbol_of(term).map(Symbol::to_size)
    }

    fn as_product(&self, sizes: &[Size]) -> Option<Product> {
        let mut product = Product { factor: 1, symbols: SmallVec::new() };
        for &size in sizes {
            let sum = self.as_sum(size)?;
            match (&sum.parts[..], sum.constant) {
                ([], constant) => product.factor = product.factor.checked_mul(constant)?,
                (&[(symbol, factor)], 0) => {
                    product.factor = product.factor.checked_mul(factor)?;
                    match self.term_of(symbol) {
                        Some(Term::Product(factors)) => product.symbols.extend_from_slice(factors),
                        _ => product.symbols.push(symbol),
                    }
                }
                _ => product.symbols.push(Symbol::from_size(size)?),
            }
        }
        product.symbols.sort_unstable();
        Some(product)
    }

    fn try_ratio(&mut self, sizes: &[Size], divisors: &[Size]) -> Option<Size> {
        let (mut product, divisor) = (self.as_product(sizes)?, self.as_product(divisors)?);
        if divisor.factor <= 0 || product.factor % divisor.factor != 0 {
            return None;
        }
        let factor = product.factor / divisor.factor;
        for symbol in divisor.symbols {
            let at = product.symbols.binary_search(&symbol).ok()?;
            product.symbols.remove(at);
        }
        let size = match product.symbols[..] {
            _ if factor == 0 => return Some(0),
            [] => return Some(factor),
            [symbol] => symbol,
            _ if product.symbols.len() > MAX_PARTS => return None,
            _ => self.symbol_of(Term::Product(product.symbols))?,
        };
        if factor == 1 {
            return Some(size.to_size());
        }
        let mut sum = self.as_sum(size.to_size())?;
        sum.constant = sum.constant.checked_mul(factor)?;
        for (_, part) in &mut sum.parts {
            *part = part.checked_mul(factor)?;
        }
        self.size_of(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeId;

    fn with_symbols() -> (SymbolTable, Size, Size) {
        let mut table = SymbolTable::default();
        let mut symbol = |i: u32| Symbol::new(table.tensor(NodeId(i).output(0), 0).unwrap(), 0).unwrap().to_size();
        let (a, b) = (symbol(2), symbol(3));
        (table, a, b)
    }

    #[test]
    fn equal_terms_are_equal_sizes_however_they_are_made() {
        let (mut t, a, b) = with_symbols();
        assert_ne!(a, b);
        let (left, right) = (t.sum(a, b), t.sum(b, a));
        assert_eq!(left, right);
        assert_eq!(t.difference(left, b), a);
        let more = t.sum(a, 3);
        assert_eq!(t.difference(more, 3), a);
        assert_eq!(t.difference(a, a), 0);
        let (twice, product) = (t.sum(a, a), t.ratio(&[2, a], &[]));
        assert_eq!(twice, product);
        assert_eq!(t.quotient(twice, 2), a);
        let halves = t.quotient(a, 2);
        let quarters = t.quotient(halves, 2);
        assert_eq!(quarters, t.quotient(a, 4));
        assert_ne!(quarters, halves);
        let all = t.ratio(&[a, b, 6], &[]);
        assert_eq!(t.ratio(&[all], &[b, 3]), t.ratio(&[a, 2], &[]));
        assert!(t.are_equal_products(&[all], &[3, b, twice]));
        assert!(!t.are_equal_products(&[a, 2], &[b, 2]) && !t.are_equal_products(&[UNKNOWN], &[UNKNOWN]));
    }

    #[test]
    fn sizes_that_do_not_follow_are_unknown() {
        let (mut t, a, b) = with_symbols();
        assert_eq!(t.sum(a, -1), UNKNOWN);
        assert_eq!(t.ratio(&[a], &[b]), UNKNOWN);
        assert_eq!(t.ratio(&[a, 3], &[2]), UNKNOWN);
        assert_eq!(t.ratio(&[a], &[0]), UNKNOWN);
        assert_eq!(t.quotient(a, 0), UNKNOWN);
        assert_eq!(t.difference(3, 5), UNKNOWN);
        assert_eq!(t.sum(i64::MAX, 1), UNKNOWN);
    }
}
