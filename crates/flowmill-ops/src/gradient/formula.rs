//! Short names for the nodes that gradients are made of.

use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_tensor::{DType, Result, Shape, Tensor, f16};

type Out = Result<OutputId>;

/// Nodes as a formula writes them. All of them add one node or a few, and fail as [`ScopedBuilder::call`] does.
pub(super) trait Formula {
    fn add(&mut self, x: OutputId, y: OutputId) -> Out;
    fn sub(&mut self, x: OutputId, y: OutputId) -> Out;
    fn mul(&mut self, x: OutputId, y: OutputId) -> Out;
    fn div(&mut self, x: OutputId, y: OutputId) -> Out;
    fn neg(&mut self, x: OutputId) -> Out;
    fn square(&mut self, x: OutputId) -> Out;
    fn reciprocal(&mut self, x: OutputId) -> Out;
    /// The complex conjugate; `x` itself if it is real.
    fn conj(&mut self, x: OutputId) -> Out;
    /// A scalar of the type of `x`.
    fn number(&mut self, like: OutputId, value: f64) -> Out;
    fn times(&mut self, x: OutputId, factor: f64) -> Out;
    /// `cond ? x : y`, element by element, with broadcasting.
    fn select(&mut self, cond: OutputId, x: OutputId, y: OutputId) -> Out;
    fn reshape(&mut self, x: OutputId, shape: OutputId) -> Out;
    /// `x` in the shape of `like`.
    fn reshape_like(&mut self, x: OutputId, like: OutputId) -> Out;
    fn ints(&mut self, values: &[i32]) -> Out;
    fn int(&mut self, value: i32) -> Out;
    /// The number of dimensions, as an `int32` scalar.
    fn rank_of(&mut self, x: OutputId) -> Out;
    /// All axes of `x`: `[0, 1, …]`.
    fn all_axes(&mut self, x: OutputId) -> Out;
    /// Axes of a tensor of rank `rank`, negative ones counted from the end, as `int32` from 0 on.
    fn wrapped(&mut self, axes: OutputId, rank: OutputId) -> Out;
    /// Sums `grad`, the gradient of a broadcast result, to the shapes of the two that were broadcast.
    fn unbroadcast(&mut self, x: OutputId, y: OutputId, dx: OutputId, dy: OutputId) -> Result<[OutputId; 2]>;
}

impl Formula for ScopedBuilder<'_> {
    fn add(&mut self, x: OutputId, y: OutputId) -> Out {
        self.call("AddV2", &[x, y])
    }

    fn sub(&mut self, x: OutputId, y: OutputId) -> Out {
        self.call("Sub", &[x, y])
    }

    fn mul(&mut self, x: OutputId, y: OutputId) -> Out {
        self.call("Mul", &[x, y])
    }

    fn div(&mut self, x: OutputId, y: OutputId) -> Out {
        self.call("RealDiv", &[x, y])
    }

    fn neg(&mut self, x: OutputId) -> Out {
        self.call("Neg", &[x])
    }

    fn square(&mut self, x: OutputId) -> Out {
        self.call("Square", &[x])
    }

    fn reciprocal(&mut self, x: OutputId) -> Out {
        self.call("Reciprocal", &[x])
    }

    fn conj(&mut self, x: OutputId) -> Out {
        if matches!(self.dtype(x), DType::C64 | DType::C128) { self.call("Conj", &[x]) } else { Ok(x) }
    }

    fn number(&mut self, like: OutputId, value: f64) -> Out {
        let dtype = self.dtype(like);
        let tensor = match dtype {
            DType::F32 => Tensor::scalar(value as f32),
            DType::F64 => Tensor::scalar(value),
            DType::F16 => Tensor::scalar(f16::from_f64(value)),
            _ => {
                let number = self.constant("Const", &Tensor::scalar(value))?;
                return self.cast(number, dtype);
            }
        };
        self.constant("Const", &tensor)
    }

    fn times(&mut self, x: OutputId, factor: f64) -> Out {
        let factor = self.number(x, factor)?;
        self.mul(x, factor)
    }

    fn select(&mut self, cond: OutputId, x: OutputId, y: OutputId) -> Out {
        self.call("SelectV2", &[cond, x, y])
    }

    fn reshape(&mut self, x: OutputId, shape: OutputId) -> Out {
        self.call("Reshape", &[x, shape])
    }

    fn reshape_like(&mut self, x: OutputId, like: OutputId) -> Out {
        let (have, want) = (self.shape(x), self.shape(like));
        if have.is_fully_defined() && have == want {
            return Ok(x);
        }
        let shape = self.shape_of(like)?;
        self.reshape(x, shape)
    }

    fn ints(&mut self, values: &[i32]) -> Out {
        self.vector(values)
    }

    fn int(&mut self, value: i32) -> Out {
        self.scalar(value)
    }

    fn rank_of(&mut self, x: OutputId) -> Out {
        match self.shape(x).rank() {
            Some(rank) => self.int(rank as i32),
            None => self.call("Rank", &[x]),
        }
    }

    fn all_axes(&mut self, x: OutputId) -> Out {
        let (zero, one, rank) = (self.int(0)?, self.int(1)?, self.rank_of(x)?);
        self.call("Range", &[zero, rank, one])
    }

    fn wrapped(&mut self, axes: OutputId, rank: OutputId) -> Out {
        let axes = self.cast(axes, DType::I32)?;
        let positive = self.add(axes, rank)?;
        self.call("FloorMod", &[positive, rank])
    }

    fn unbroadcast(&mut self, x: OutputId, y: OutputId, dx: OutputId, dy: OutputId) -> Result<[OutputId; 2]> {
        let (shape_x, shape_y) = (self.shape(x), self.shape(y));
        if let (Some(static_x), Some(static_y)) = (shape_x.to_shape(), shape_y.to_shape()) {
            let out = Shape::broadcast(&static_x, &static_y);
            let mut reduced = [dx, dy];
            for (grad, shape) in reduced.iter_mut().zip([&static_x, &static_y]) {
                if let Some(out) = &out {
                    *grad = sum_to(self, *grad, shape, out)?;
                }
            }
            return Ok(reduced);
        }
        let (sx, sy) = (self.dynamic_shape_of(x)?, self.dynamic_shape_of(y)?);
        let axes = self.op("BroadcastGradientArgs").inputs(&[sx, sy]).finish()?;
        let mut reduced = [dx, dy];
        for (i, shape) in [sx, sy].into_iter().enumerate() {
            let sum = self.call("Sum", &[reduced[i], axes.output(i as u32)])?;
            reduced[i] = self.reshape(sum, shape)?;
        }
        Ok(reduced)
    }
}

/// Sums over the dimensions that `shape` was repeated in to give `out`.
fn sum_to(b: &mut ScopedBuilder<'_>, grad: OutputId, shape: &Shape, out: &Shape) -> Out {
    if shape == out {
        return Ok(grad);
    }
    let leading = out.rank() - shape.rank();
    let is_repeated = |&axis: &usize| axis < leading || (shape[axis - leading] == 1 && out[axis] != 1);
    let axes: Vec<i32> = (0..out.rank()).filter(is_repeated).map(|axis| axis as i32).collect();
    let axes = b.ints(&axes)?;
    let sum = b.call("Sum", &[grad, axes])?;
    let dims: Vec<i32> = shape.iter().map(|&d| d as i32).collect();
    let dims = b.ints(&dims)?;
    b.reshape(sum, dims)
}
