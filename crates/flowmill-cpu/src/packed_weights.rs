//! The packed form of a matrix that a kernel multiplies with in call after call.

use crate::gemm::PackedB;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Result, Tensor, bail};
use std::sync::Arc;

/// The matrix of the last call, and its packed form. The tensor is held, so that nothing writes to it.
#[derive(Default)]
pub(crate) struct PackedWeights(Mutex<Option<(Tensor, Arc<PackedB>)>>);

impl PackedWeights {
    /// Returns the packed form of a matrix with `rows` rows, of which all dimensions before the last two are 1.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a tensor of another shape.
    pub(crate) fn get(&self, matrix: &Tensor, rows: usize) -> Result<Arc<PackedB>> {
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
        let mut packed = self.0.lock();
        if let Some((_, packed)) = packed.as_ref().filter(|(tensor, _)| tensor.same_data(matrix)) {
            return Ok(packed.clone());
        }
        let new = Arc::new(PackedB::pack(matrix.as_slice::<f32>()?, depth, columns, false));
        *packed = Some((matrix.clone(), new.clone()));
        Ok(new)
    }
}
