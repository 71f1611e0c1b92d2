//! The dimensions that a reduction removes, and the shortest description of the iteration over its input.

pub use flowmill_numeric::reduce::Segment;
use flowmill_tensor::{Result, Shape, Tensor, bail};
use smallvec::SmallVec;

/// A reduction of one shape over some of its axes.
pub struct Plan {
    /// The result's shape.
    pub shape: Shape,
    /// The segments are alternately reduced and kept, outermost first, without dimensions of size 1.
    pub segments: SmallVec<[Segment; 4]>,
    /// The number of elements that are reduced to one.
    pub count: usize,
}

impl Plan {
    /// Returns the plan of a reduction of a tensor of `shape` over `axes`, a tensor of `int32` or `int64` whose negative values count from the end.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for an axis out of range or given twice.
    pub fn new(shape: &Shape, axes: &Tensor, keep_dims: bool) -> Result<Plan> {
        let mut reduced: SmallVec<[bool; 8]> = SmallVec::from_elem(false, shape.rank());
        for axis in axes.to_i64_vec()? {
            let Some(axis) = shape.axis(axis) else {
                bail!(InvalidArgument, "Invalid reduction dimension ({axis} for input with {} dimension(s)", shape.rank());
            };
            if reduced[axis] {
                bail!(InvalidArgument, "Invalid reduction arguments: Axes contains duplicate dimension: {axis}");
            }
            reduced[axis] = true;
        }
        let mut plan = Plan { shape: Shape::scalar(), segments: SmallVec::new(), count: 1 };
        for (&size, &reduced) in shape.iter().zip(&reduced) {
            if !reduced {
                plan.shape.push(size);
            } else {
                plan.count = plan.count.saturating_mul(size);
                if keep_dims {
                    plan.shape.push(1);
                }
            }
            match plan.segments.last_mut() {
                _ if size == 1 => {}
                Some(last) if last.reduced == reduced => last.size = last.size.saturating_mul(size),
                _ => plan.segments.push(Segment { size, reduced }),
            }
        }
        Ok(plan)
    }
}
