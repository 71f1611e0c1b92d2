use crate::{Result, bail};
use smallvec::SmallVec;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// The sizes of a tensor's dimensions, outermost first. A scalar has none.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape(SmallVec<[usize; 4]>);

impl Shape {
    /// The most dimensions a tensor may have, as in TensorFlow.
    pub const MAX_RANK: usize = 254;

    /// Returns the shape of a scalar.
    pub const fn scalar() -> Shape {
        Shape(SmallVec::new_const())
    }

    /// Makes a shape from sizes that are already `usize`.
    pub fn new(dims: &[usize]) -> Shape {
        Shape(SmallVec::from_slice(dims))
    }

    /// Makes a shape from sizes of unchecked input: none may be negative, the rank at most [`Shape::MAX_RANK`], the product within `i64`.
    pub fn from_i64(dims: &[i64]) -> Result<Shape> {
        if dims.len() > Self::MAX_RANK {
            bail!(InvalidArgument, "shape has {} dimensions, more than {}", dims.len(), Self::MAX_RANK);
        }
        let mut out = SmallVec::with_capacity(dims.len());
        for &d in dims {
            match usize::try_from(d) {
                Ok(d) => out.push(d),
                Err(_) => bail!(InvalidArgument, "Dimension {d} must be >= 0 in shape {dims:?}"),
            }
        }
        let shape = Shape(out);
        shape.checked_num_elements()?;
        Ok(shape)
    }

    /// Returns the product of all sizes; 1 for a scalar. Saturates: shapes from outside are checked when they are made.
    pub fn num_elements(&self) -> usize {
        self.0.iter().fold(1usize, |n, &d| n.saturating_mul(d))
    }

    /// Returns the product of all sizes, or an error if that of the sizes that are not zero passes `i64`: so neither a part of the sizes has a product
    /// that overflows. NumPy has no such arrays either; TensorFlow allows them if the zero comes first.
    pub fn checked_num_elements(&self) -> Result<usize> {
        let mut n: i64 = 1;
        for &d in self.0.iter().filter(|&&d| d != 0) {
            match i64::try_from(d).ok().and_then(|d| n.checked_mul(d)) {
                Some(m) => n = m,
                None => bail!(
                    InvalidArgument,
                    "Encountered overflow when multiplying shape dimensions: {self} has too many elements, more than 2^63 - 1"
                ),
            }
        }
        Ok(if self.0.contains(&0) { 0 } else { n as usize })
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Returns the sizes.
    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    /// Returns the sizes as TensorFlow writes them.
    pub fn to_i64(&self) -> Vec<i64> {
        self.0.iter().map(|&d| d as i64).collect()
    }

    /// Adds a dimension at the inner end.
    pub fn push(&mut self, dim: usize) {
        self.0.push(dim);
    }

    /// Adds a dimension before `index`.
    pub fn insert(&mut self, index: usize, dim: usize) {
        self.0.insert(index, dim);
    }

    /// Takes out the dimension at `index`.
    pub fn remove(&mut self, index: usize) -> usize {
        self.0.remove(index)
    }

    /// Row-major strides in elements.
    pub fn strides(&self) -> SmallVec<[usize; 4]> {
        let mut strides: SmallVec<[usize; 4]> = SmallVec::from_elem(1, self.rank());
        for i in (1..self.rank()).rev() {
            strides[i - 1] = strides[i].saturating_mul(self.0[i].max(1));
        }
        strides
    }

    /// Resolves an axis that may count from the end; `None` out of range.
    pub fn axis(&self, axis: i64) -> Option<usize> {
        let rank = self.rank() as i64;
        let axis = if axis < 0 { axis.checked_add(rank)? } else { axis };
        (0..rank).contains(&axis).then_some(axis as usize)
    }

    /// The shape two shapes broadcast to, by NumPy's rules; `None` if they do not.
    pub fn broadcast(a: &Shape, b: &Shape) -> Option<Shape> {
        let rank = a.rank().max(b.rank());
        let mut out = SmallVec::from_elem(1usize, rank);
        for (i, slot) in out.iter_mut().rev().enumerate() {
            let x = a.0.iter().rev().nth(i).copied().unwrap_or(1);
            let y = b.0.iter().rev().nth(i).copied().unwrap_or(1);
            *slot = match (x, y) {
                (x, y) if x == y => x,
                (1, y) => y,
                (x, 1) => x,
                _ => return None,
            };
        }
        Some(Shape(out))
    }
}

impl Deref for Shape {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl DerefMut for Shape {
    fn deref_mut(&mut self) -> &mut [usize] {
        &mut self.0
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(dims: [usize; N]) -> Shape {
        Shape::new(&dims)
    }
}

impl From<&[usize]> for Shape {
    fn from(dims: &[usize]) -> Shape {
        Shape::new(dims)
    }
}

impl From<Vec<usize>> for Shape {
    fn from(dims: Vec<usize>) -> Shape {
        Shape(SmallVec::from_vec(dims))
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(dims: I) -> Shape {
        Shape(dims.into_iter().collect())
    }
}

/// Prints the shape like TensorFlow: `[2,3]`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, d) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            write!(f, "{d}")?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_follows_numpy() {
        let b = |a: &[usize], b: &[usize]| Shape::broadcast(&a.into(), &b.into()).map(|s| s.to_vec());
        assert_eq!(b(&[2, 3], &[3]), Some(vec![2, 3]));
        assert_eq!(b(&[2, 1], &[1, 5]), Some(vec![2, 5]));
        assert_eq!(b(&[], &[4]), Some(vec![4]));
        assert_eq!(b(&[0, 1], &[1, 3]), Some(vec![0, 3]));
        assert_eq!(b(&[2], &[3]), None);
    }

    #[test]
    fn sizes_from_outside_are_checked() {
        assert!(Shape::from_i64(&[-1]).is_err());
        assert!(Shape::from_i64(&[i64::MAX, 2]).is_err());
        assert_eq!(Shape::from_i64(&[i64::MAX, 0]).map(|s| s.num_elements()), Ok(0));
        // A part of these sizes has no product.
        assert!(Shape::from_i64(&[i64::MAX, 2, 0]).is_err());
        assert!(Shape::from_i64(&[0, i64::MAX, 2]).is_err());
        assert!(Shape::from_i64(&[1; 255]).is_err());
    }
}
