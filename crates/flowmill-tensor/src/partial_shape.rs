use crate::{Result, Shape, Symbol, bail};
use smallvec::SmallVec;
use std::fmt;

/// A shape of which some sizes, or even the rank, may be unknown.
///
/// A shape analysis gives unknown sizes names, [`Symbol`]s, and unknown shapes a source, so that they can be compared:
/// see [`PartialShape::with_symbols`]. Shapes of messages and of graphs that are being built have none.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PartialShape(Dims);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Dims {
    /// The rank is unknown. With a source other than 0, dimension `i` is the symbol `(source, i)`, and shapes of one source are equal.
    /// Only an analysis that makes symbols knows a least rank other than 0.
    Unknown { source: u32, min_rank: u8 },
    /// The sizes: −1 is unknown, other negative numbers are symbols.
    Known(SmallVec<[i64; 4]>),
}

/// A size as a shape holds it: negative numbers that are no symbols are −1.
fn size(size: i64) -> i64 {
    if size >= -1 || Symbol::from_size(size).is_some() { size } else { -1 }
}

/// Returns true if two sizes are sure to be equal.
fn is_same_size(a: i64, b: i64) -> bool {
    a == b && a != -1
}

impl Default for PartialShape {
    fn default() -> PartialShape {
        PartialShape::unknown()
    }
}

impl PartialShape {
    /// Nothing is known, not even the rank.
    pub const fn unknown() -> PartialShape {
        PartialShape(Dims::Unknown { source: 0, min_rank: 0 })
    }

    /// The rank is known, no size is.
    pub fn unknown_of_rank(rank: usize) -> PartialShape {
        PartialShape(Dims::Known(SmallVec::from_elem(-1, rank)))
    }

    /// Returns an unknown shape of at least `rank` dimensions, for an analysis that makes symbols.
    pub fn unknown_of_rank_at_least(rank: usize) -> PartialShape {
        PartialShape(Dims::Unknown { source: 0, min_rank: u8::try_from(rank).unwrap_or(u8::MAX) })
    }

    /// Makes a shape from sizes; a negative size that is no [`Symbol`] is unknown.
    pub fn new(dims: &[i64]) -> PartialShape {
        dims.iter().copied().collect()
    }

    /// Returns a scalar.
    pub fn scalar() -> PartialShape {
        PartialShape(Dims::Known(SmallVec::new()))
    }

    /// Returns this shape with a symbol for each unknown size: dimension `i` is the symbol `(source, i)`. A shape of unknown rank becomes the
    /// unknown shape of `source`. Symbols and sources that are there stay.
    pub fn with_symbols(self, source: u32) -> PartialShape {
        PartialShape(match self.0 {
            Dims::Unknown { source: 0, min_rank } => Dims::Unknown { source, min_rank },
            Dims::Known(mut dims) => {
                for (axis, d) in dims.iter_mut().enumerate().filter(|(_, d)| **d == -1) {
                    *d = Symbol::new(source, axis).map_or(-1, Symbol::to_size);
                }
                Dims::Known(dims)
            }
            named => named,
        })
    }

    /// Returns true if [`with_symbols`](PartialShape::with_symbols) would add any.
    pub fn has_unnamed(&self) -> bool {
        match &self.0 {
            Dims::Unknown { source, .. } => *source == 0,
            Dims::Known(dims) => dims.contains(&-1),
        }
    }

    /// Returns this shape without the symbols and the source for which `keep`, called with a symbol's source, is false.
    pub fn retain_symbols(self, keep: impl Fn(u32) -> bool) -> PartialShape {
        PartialShape(match self.0 {
            Dims::Unknown { source, min_rank } if source != 0 && !keep(source) => Dims::Unknown { source: 0, min_rank },
            Dims::Known(mut dims) => {
                dims.iter_mut().filter(|d| Symbol::from_size(**d).is_some_and(|s| !keep(s.source()))).for_each(|d| *d = -1);
                Dims::Known(dims)
            }
            other => other,
        })
    }

    /// Returns what is known of this shape without any symbol.
    pub fn without_symbols(&self) -> PartialShape {
        match &self.0 {
            Dims::Unknown { .. } => PartialShape::unknown(),
            Dims::Known(dims) => PartialShape(Dims::Known(dims.iter().map(|&d| d.max(-1)).collect())),
        }
    }

    /// Returns true if tensors of the two shapes are sure to have equal shapes: all sizes are known or symbols, and equal.
    pub fn is_same(&self, other: &PartialShape) -> bool {
        match (&self.0, &other.0) {
            (Dims::Unknown { source: a, .. }, Dims::Unknown { source: b, .. }) => a == b && *a != 0,
            (Dims::Known(a), Dims::Known(b)) => a.len() == b.len() && a.iter().zip(b).all(|(&x, &y)| is_same_size(x, y)),
            // A tensor of unknown shape, and one of the rank that some op needs it to have, with its sizes.
            (&Dims::Unknown { source, .. }, Dims::Known(dims)) | (Dims::Known(dims), &Dims::Unknown { source, .. }) => {
                let is_own = |(axis, &size): (usize, &i64)| Symbol::new(source, axis).is_some_and(|symbol| symbol.to_size() == size);
                source != 0 && !dims.is_empty() && dims.iter().enumerate().all(is_own)
            }
        }
    }

    /// Returns the shape of a tensor of this shape that is found to have `rank` dimensions; `None` if its rank is known and another.
    pub fn of_rank(&self, rank: usize) -> Option<PartialShape> {
        match &self.0 {
            Dims::Unknown { source: 0, .. } => Some(PartialShape::unknown_of_rank(rank)),
            Dims::Unknown { source, .. } => Some(PartialShape::unknown_of_rank(rank).with_symbols(*source)),
            Dims::Known(dims) => (dims.len() == rank).then(|| self.clone()),
        }
    }

    /// Returns this shape with a least rank, if it is an unknown shape that has a source. Any other stays as it is.
    pub fn of_rank_at_least(&self, rank: usize) -> PartialShape {
        match self.0 {
            Dims::Unknown { source, min_rank } if source != 0 => {
                PartialShape(Dims::Unknown { source, min_rank: min_rank.max(u8::try_from(rank).unwrap_or(u8::MAX)) })
            }
            _ => self.clone(),
        }
    }

    /// The least rank that a tensor of this shape has: the rank where it is known.
    pub fn min_rank(&self) -> usize {
        match &self.0 {
            Dims::Unknown { min_rank, .. } => usize::from(*min_rank),
            Dims::Known(dims) => dims.len(),
        }
    }

    /// Returns the rank, if known.
    pub fn rank(&self) -> Option<usize> {
        self.dims().map(<[i64]>::len)
    }

    /// Returns the sizes with negative numbers for unknown ones, if the rank is known: −1, or a [`Symbol`].
    pub fn dims(&self) -> Option<&[i64]> {
        match &self.0 {
            Dims::Unknown { .. } => None,
            Dims::Known(dims) => Some(dims),
        }
    }

    /// Returns the size at `index`: `None` if it, or the rank, is unknown or out of range.
    pub fn dim(&self, index: usize) -> Option<usize> {
        self.dims()?.get(index).and_then(|&d| usize::try_from(d).ok())
    }

    /// Like [`PartialShape::dim`], but a negative index counts from the end.
    pub fn dim_from(&self, index: i64) -> Option<usize> {
        let rank = self.rank()? as i64;
        let index = if index < 0 { index + rank } else { index };
        usize::try_from(index).ok().and_then(|i| self.dim(i))
    }

    /// Returns the full shape, if every size is known.
    pub fn to_shape(&self) -> Option<Shape> {
        self.dims()?.iter().map(|&d| usize::try_from(d).ok()).collect()
    }

    /// Returns true if every size is known.
    pub fn is_fully_defined(&self) -> bool {
        self.dims().is_some_and(|d| d.iter().all(|&d| d >= 0))
    }

    /// Returns the number of elements, if every size is known and the product fits.
    pub fn num_elements(&self) -> Option<usize> {
        self.to_shape()?.checked_num_elements().ok()
    }

    /// Returns true if a tensor of shape `shape` may have this static shape.
    #[inline]
    pub fn is_compatible_with(&self, shape: &Shape) -> bool {
        match self.dims() {
            None => true,
            Some(dims) => dims.len() == shape.rank() && dims.iter().zip(shape.iter()).all(|(&d, &s)| d < 0 || d as usize == s),
        }
    }

    /// Returns the static shape of a tensor that has both static shapes; an error if they contradict each other.
    pub fn merge(&self, other: &PartialShape) -> Result<PartialShape> {
        let (a, b) = match (&self.0, &other.0) {
            (Dims::Unknown { .. }, Dims::Unknown { source: 0, .. }) => return Ok(self.of_rank_at_least(other.min_rank())),
            (Dims::Unknown { .. }, _) => return Ok(other.of_rank_at_least(self.min_rank())),
            (_, Dims::Unknown { .. }) => return Ok(self.clone()),
            (Dims::Known(a), Dims::Known(b)) => (a, b),
        };
        if a.len() != b.len() {
            bail!(InvalidArgument, "Shapes must be equal rank, but are {} and {}", a.len(), b.len());
        }
        let mut out = SmallVec::with_capacity(a.len());
        for (i, (&x, &y)) in a.iter().zip(b).enumerate() {
            if x >= 0 && y >= 0 && x != y {
                bail!(InvalidArgument, "Dimension {i} in both shapes must be equal, but are {x} and {y}. Shapes are {self} and {other}.");
            }
            out.push(if x >= 0 || y == -1 { x } else { y });
        }
        Ok(PartialShape(Dims::Known(out)))
    }

    /// Returns the most that is known of a tensor that has one of the two static shapes.
    pub fn relax(&self, other: &PartialShape) -> PartialShape {
        match (&self.0, &other.0) {
            (Dims::Known(a), Dims::Known(b)) if a.len() == b.len() => {
                PartialShape(Dims::Known(a.iter().zip(b).map(|(&x, &y)| if x == y { x } else { -1 }).collect()))
            }
            (&Dims::Unknown { source: a, min_rank: x }, &Dims::Unknown { source: b, min_rank: y }) => {
                PartialShape(Dims::Unknown { source: if a == b { a } else { 0 }, min_rank: x.min(y) })
            }
            _ => PartialShape::unknown(),
        }
    }

    /// Returns the dimensions of `self` followed by those of `other`.
    pub fn concat(&self, other: &PartialShape) -> PartialShape {
        match (&self.0, &other.0) {
            (Dims::Known(a), Dims::Known(b)) => PartialShape(Dims::Known(a.iter().chain(b).copied().collect())),
            _ => PartialShape::unknown(),
        }
    }

    /// Returns the static shape of the broadcast of two shapes by NumPy's rules; an error if they do not broadcast.
    pub fn broadcast(a: &PartialShape, b: &PartialShape) -> Result<PartialShape> {
        let (x, y) = match (&a.0, &b.0) {
            (Dims::Known(x), Dims::Known(y)) => (x, y),
            _ if a.is_same(b) || b.rank() == Some(0) => return Ok(a.clone()),
            _ if a.rank() == Some(0) => return Ok(b.clone()),
            (&Dims::Unknown { source, .. }, _) | (_, &Dims::Unknown { source, .. }) => {
                let min_rank = if source == 0 { 0 } else { u8::try_from(a.min_rank().max(b.min_rank())).unwrap_or(u8::MAX) };
                return Ok(PartialShape(Dims::Unknown { source: 0, min_rank }));
            }
        };
        let rank = x.len().max(y.len());
        let mut out: SmallVec<[i64; 4]> = SmallVec::from_elem(1i64, rank);
        for (i, out) in out.iter_mut().enumerate() {
            let [p, q] = [x, y].map(|dims| (i + dims.len()).checked_sub(rank).map_or(1, |axis| dims[axis]));
            *out = match (p, q) {
                (1, q) => q,
                (p, 1) => p,
                (p, q) if p == q => p,
                // A known size of more than one is that of the result: the other side has it, or is widened to it.
                (p, q) if p < 0 && q < 0 => -1,
                (p, q) if p < 0 => q,
                (p, q) if q < 0 => p,
                (p, q) => bail!(InvalidArgument, "Dimensions must be equal, but are {p} and {q}"),
            };
        }
        Ok(PartialShape(Dims::Known(out)))
    }
}

impl From<&Shape> for PartialShape {
    fn from(shape: &Shape) -> PartialShape {
        PartialShape(Dims::Known(shape.iter().map(|&d| d as i64).collect()))
    }
}

impl From<Shape> for PartialShape {
    fn from(shape: Shape) -> PartialShape {
        PartialShape::from(&shape)
    }
}

/// Sizes; −1 is not known.
impl<const N: usize> From<[i64; N]> for PartialShape {
    fn from(dims: [i64; N]) -> PartialShape {
        PartialShape::new(&dims)
    }
}

/// Sizes; −1 is not known.
impl From<&[i64]> for PartialShape {
    fn from(dims: &[i64]) -> PartialShape {
        PartialShape::new(dims)
    }
}

impl From<&PartialShape> for PartialShape {
    fn from(shape: &PartialShape) -> PartialShape {
        shape.clone()
    }
}

impl FromIterator<i64> for PartialShape {
    fn from_iter<I: IntoIterator<Item = i64>>(dims: I) -> PartialShape {
        PartialShape(Dims::Known(dims.into_iter().map(size).collect()))
    }
}

/// Prints the shape like TensorFlow: `[?,3]`, or `<unknown>`.
impl fmt::Display for PartialShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(dims) = self.dims() else { return f.write_str("<unknown>") };
        f.write_str("[")?;
        for (i, &d) in dims.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            if d < 0 { f.write_str("?")? } else { write!(f, "{d}")? }
        }
        f.write_str("]")
    }
}

impl fmt::Debug for PartialShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(source: u32, dims: &[i64]) -> PartialShape {
        PartialShape::new(dims).with_symbols(source)
    }

    #[test]
    fn symbols_are_kept_where_both_shapes_agree() {
        let (a, b) = (named(1, &[-1, 4]), named(2, &[-1, 4]));
        assert!(a.is_same(&a) && !a.is_same(&b));
        assert!(!PartialShape::new(&[-1, 4]).is_same(&PartialShape::new(&[-1, 4])));
        assert!(a.relax(&a).is_same(&a));
        assert_eq!(a.relax(&b), PartialShape::new(&[-1, 4]));
        assert!(PartialShape::broadcast(&a, &named(3, &[1])).unwrap().is_same(&a));
        assert_eq!(PartialShape::broadcast(&a, &b).unwrap(), PartialShape::new(&[-1, 4]));
        assert_eq!(PartialShape::broadcast(&a, &PartialShape::new(&[7, 1])).unwrap(), PartialShape::new(&[7, 4]));
        assert!(a.merge(&PartialShape::new(&[-1, -1])).unwrap().is_same(&a));
        assert_eq!(a.merge(&PartialShape::new(&[7, 4])).unwrap(), PartialShape::new(&[7, 4]));
        assert_eq!(a.without_symbols(), PartialShape::new(&[-1, 4]));
        assert_eq!(named(5, &[-1]).concat(&a).retain_symbols(|source| source == 1).dims().unwrap()[0], -1);
        assert_eq!(a.to_string(), "[?,4]");
    }

    #[test]
    fn an_unknown_shape_with_a_source_has_the_sizes_of_that_source() {
        let unknown = PartialShape::unknown().with_symbols(1);
        let ranked = unknown.of_rank(2).unwrap();
        assert!(ranked.is_same(&named(1, &[-1, -1])) && ranked.is_same(&unknown));
        assert!(!ranked.is_same(&PartialShape::unknown().with_symbols(2)));
        assert!(!PartialShape::unknown().is_same(&PartialShape::unknown()));
        assert_eq!(PartialShape::unknown().of_rank_at_least(1).min_rank(), 0);
        let vector = unknown.of_rank_at_least(1);
        assert!(vector.min_rank() == 1 && vector.is_same(&unknown));
        assert_eq!(PartialShape::broadcast(&vector, &PartialShape::unknown().with_symbols(2)).unwrap().min_rank(), 1);
        assert_eq!(unknown.without_symbols(), PartialShape::unknown());
    }
}
