//! Products and convolutions, of which any rows of the result can be computed alone.

use flowmill_runtime::{Cost, Kernel, KernelContext};
use flowmill_tensor::{DType, Result, Shape};
use std::ops::Range;

/// A product or convolution of `float32`, whose first two inputs are the tensor and its weights, and whose next inputs are the operands of its epilogue.
pub(crate) trait Linear: Send + Sync + 'static {
    /// One call of it.
    type Call: LinearCall;

    /// Takes and checks the inputs of a call.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for inputs that do not fit together.
    fn call(&self, ctx: &mut KernelContext<'_>) -> Result<Self::Call>;

    /// Returns the inputs that are processed image by image, as [`Kernel::batched_inputs`] does.
    fn batched_inputs(&self) -> u32 {
        0
    }

    /// Returns an estimate of its run time, as [`Kernel::cost`] does.
    fn cost(&self) -> Option<Cost> {
        None
    }

    /// Returns the name of the way in which the last call computed.
    fn algorithm(&self) -> Option<&'static str> {
        None
    }
}

/// The rows of a result, along all dimensions but the last ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowGrid {
    /// The number of images; 1 for a matrix.
    pub(crate) images: usize,
    /// The number of rows of an image.
    pub(crate) height: usize,
    /// The number of rows that are computed together: a part of an image starts at a multiple of it.
    pub(crate) step: usize,
    /// The bytes of the weights, which each part of the result reads.
    pub(crate) weights: usize,
}

impl RowGrid {
    /// Returns the number of rows of all images.
    pub(crate) fn num_rows(&self) -> usize {
        self.images * self.height
    }
}

/// The inputs of one call of a [`Linear`].
pub(crate) trait LinearCall: Sync {
    /// Returns the shape of the result.
    fn shape(&self) -> &Shape;

    /// Returns the rows of the result.
    fn grid(&self) -> RowGrid;

    /// Computes some rows, counted through all images: part of one image, or whole images. The bits are those of the whole result.
    ///
    /// # Errors
    /// Returns the error for a tensor in the memory of another device.
    fn compute(&self, rows: Range<usize>, output: &mut [f32]) -> Result<()>;
}

/// The kernel that computes the whole result.
pub(crate) struct WholeResult<L>(pub(crate) L);

impl<L: Linear> Kernel for WholeResult<L> {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let call = self.0.call(ctx)?;
        let mut out = ctx.allocator().uninit(DType::F32, call.shape().clone())?;
        if out.num_elements() > 0 {
            call.compute(0..call.grid().num_rows(), out.as_mut_slice()?)?;
        }
        ctx.set_output(0, out);
        Ok(())
    }

    fn cost(&self) -> Option<Cost> {
        self.0.cost()
    }

    fn batched_inputs(&self) -> u32 {
        self.0.batched_inputs()
    }

    fn algorithm(&self) -> Option<&'static str> {
        self.0.algorithm()
    }
}
