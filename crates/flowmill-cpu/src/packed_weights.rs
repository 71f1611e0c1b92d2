//! The packed form of a matrix that a kernel multiplies with in call after call.

use crate::gemm::{PackedRhs, Precision};
use flowmill_runtime::{InferencePrecision, KernelInit};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Result, Tensor, bail};
use std::sync::Arc;

/// Returns the precision in which a kernel multiplies by its input `i`: that of the session for a constant, otherwise `float32`, because a variable may be
/// trained.
pub(crate) fn precision_of(init: &KernelInit<'_>, i: usize) -> Precision {
    match init.precision {
        InferencePrecision::Bf16 if init.constant(i).is_some() => Precision::Bf16,
        _ => Precision::F32,
    }
}

/// The matrix of the last call, and its packed form. The tensor is held, so that nothing writes to it.
pub(crate) struct PackedWeights {
    precision: Precision,
    packed: Mutex<Option<(Tensor, Arc<PackedRhs>)>>,
}

impl PackedWeights {
    /// Makes the memory of a matrix that is packed for products in this precision.
    pub(crate) fn new(precision: Precision) -> PackedWeights {
        PackedWeights { precision, packed: Mutex::default() }
    }

    /// Returns the packed form of a matrix with `rows` rows, of which all dimensions before the last two are 1.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a tensor of another shape.
    pub(crate) fn get(&self, matrix: &Tensor, rows: usize) -> Result<Arc<PackedRhs>> {
        let (before, depth, columns) = match matrix.shape().dims() {
            [before @ .., depth, columns] => (before, *depth, *columns),
            _ => bail!(InvalidArgument, "weights must be a matrix: {}", matrix.shape()),
        };
        if before.iter().any(|&d| d != 1) {
            bail!(InvalidArgument, "weights must be a matrix, or a filter of one position: {}", matrix.shape());
        }
        if depth != rows {
            bail!(InvalidArgument, "input and filter must have the same depth: {rows} vs {depth}");
        }
        let mut packed = self.packed.lock();
        if let Some((_, packed)) = packed.as_ref().filter(|(tensor, _)| tensor.same_data(matrix)) {
            return Ok(packed.clone());
        }
        let new = Arc::new(PackedRhs::pack(self.precision, matrix.as_slice::<f32>()?, depth, columns, false));
        *packed = Some((matrix.clone(), new.clone()));
        Ok(new)
    }
}
