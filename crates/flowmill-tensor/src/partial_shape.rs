use crate::{Result, Shape, bail};
use smallvec::SmallVec;
use std::fmt;

/// A shape of which some sizes, or even the rank, may be unknown.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct PartialShape(Option<SmallVec<[i64; 4]>>);

impl PartialShape {
    /// Nothing is known, not even the rank.
    pub const fn unknown() -> PartialShape {
        PartialShape(None)
    }

    /// The rank is known, no size is.
    pub fn unknown_of_rank(rank: usize) -> PartialShape {
        PartialShape(Some(SmallVec::from_elem(-1, rank)))
    }

    /// Makes a shape from sizes; a negative size is unknown.
    pub fn new(dims: &[i64]) -> PartialShape {
        PartialShape(Some(dims.iter().map(|&d| d.max(-1)).collect()))
    }

    /// Returns a scalar.
    pub fn scalar() -> PartialShape {
        PartialShape(Some(SmallVec::new()))
    }

    /// Returns the rank, if known.
    pub fn rank(&self) -> Option<usize> {
        self.0.as_ref().map(|d| d.len())
    }

    /// Returns the sizes with −1 for unknown ones, if the rank is known.
    pub fn dims(&self) -> Option<&[i64]> {
        self.0.as_deref()
    }

    /// Returns the size at `index`: `None` if it, or the rank, is unknown or out of range.
    pub fn dim(&self, index: usize) -> Option<usize> {
        self.0.as_ref()?.get(index).and_then(|&d| usize::try_from(d).ok())
    }

    /// Like [`PartialShape::dim`], but a negative index counts from the end.
    pub fn dim_from(&self, index: i64) -> Option<usize> {
        let rank = self.rank()? as i64;
        let index = if index < 0 { index + rank } else { index };
        usize::try_from(index).ok().and_then(|i| self.dim(i))
    }

    /// Returns the full shape, if every size is known.
    pub fn to_shape(&self) -> Option<Shape> {
        self.0.as_ref()?.iter().map(|&d| usize::try_from(d).ok()).collect()
    }

    /// Returns true if every size is known.
    pub fn is_fully_defined(&self) -> bool {
        self.0.as_ref().is_some_and(|d| d.iter().all(|&d| d >= 0))
    }

    /// Returns the number of elements, if every size is known and the product fits.
    pub fn num_elements(&self) -> Option<usize> {
        self.to_shape()?.checked_num_elements().ok()
    }

    /// Returns true if a tensor of shape `shape` may have this static shape.
    pub fn is_compatible_with(&self, shape: &Shape) -> bool {
        match &self.0 {
            None => true,
            Some(dims) => dims.len() == shape.rank() && dims.iter().zip(shape.iter()).all(|(&d, &s)| d < 0 || d as usize == s),
        }
    }

    /// Returns the static shape of a tensor that has both static shapes; an error if they contradict each other.
    pub fn merge(&self, other: &PartialShape) -> Result<PartialShape> {
        let (a, b) = match (&self.0, &other.0) {
            (None, _) => return Ok(other.clone()),
            (_, None) => return Ok(self.clone()),
            (Some(a), Some(b)) => (a, b),
        };
        if a.len() != b.len() {
            bail!(InvalidArgument, "Shapes must be equal rank, but are {} and {}", a.len(), b.len());
        }
        let mut out = SmallVec::with_capacity(a.len());
        for (i, (&x, &y)) in a.iter().zip(b).enumerate() {
            if x >= 0 && y >= 0 && x != y {
                bail!(InvalidArgument, "Dimension {i} in both shapes must be equal, but are {x} and {y}. Shapes are {self} and {other}.");
            }
            out.push(x.max(y));
        }
        Ok(PartialShape(Some(out)))
    }

    /// Returns the most that is known of a tensor that has one of the two static shapes.
    pub fn relax(&self, other: &PartialShape) -> PartialShape {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) if a.len() == b.len() => {
                PartialShape(Some(a.iter().zip(b).map(|(&x, &y)| if x == y { x } else { -1 }).collect()))
            }
            _ => PartialShape(None),
        }
    }

    /// Returns the dimensions of `self` followed by those of `other`.
    pub fn concat(&self, other: &PartialShape) -> PartialShape {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => PartialShape(Some(a.iter().chain(b).copied().collect())),
            _ => PartialShape(None),
        }
    }

    /// Returns the static shape of the broadcast of two shapes by NumPy's rules; an error if they do not broadcast.
    pub fn broadcast(a: &PartialShape, b: &PartialShape) -> Result<PartialShape> {
        let (Some(x), Some(y)) = (&a.0, &b.0) else { return Ok(PartialShape(None)) };
        let rank = x.len().max(y.len());
        let mut out = SmallVec::from_elem(1i64, rank);
        for i in 0..rank {
            let p = x.iter().rev().nth(i).copied().unwrap_or(1);
            let q = y.iter().rev().nth(i).copied().unwrap_or(1);
            out[rank - 1 - i] = match (p, q) {
                (1, q) => q,
                (p, 1) => p,
                (-1, q) => q,
                (p, -1) => p,
                (p, q) if p == q => p,
                (p, q) => bail!(InvalidArgument, "Dimensions must be equal, but are {p} and {q} for shapes {a} and {b}."),
            };
        }
        Ok(PartialShape(Some(out)))
    }
}

impl From<&Shape> for PartialShape {
    fn from(shape: &Shape) -> PartialShape {
        PartialShape(Some(shape.iter().map(|&d| d as i64).collect()))
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
        PartialShape(Some(dims.into_iter().map(|d| d.max(-1)).collect()))
    }
}

/// Prints the shape like TensorFlow: `[?,3]`, or `<unknown>`.
impl fmt::Display for PartialShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(dims) = &self.0 else { return f.write_str("<unknown>") };
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
