//! The packed forms of weights that a kernel multiplies with in call after call.

use crate::gemm::{PackedRhs, Precision};
use flowmill_runtime::{InferencePrecision, KernelInit};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Result, Tensor, bail};
use smallvec::SmallVec;
use std::sync::Arc;

/// Returns the precision in which a kernel multiplies by its input `i`: that of the session for a constant, otherwise `float32`, because a variable may be
/// trained.
pub(crate) fn precision_of(init: &KernelInit<'_>, i: usize) -> Precision {
    match init.precision {
        InferencePrecision::Bf16 if init.constant(i).is_some() => Precision::Bf16,
        _ => Precision::F32,
    }
}

/// The forms in which the weights of the last call have been packed. Weights are packed once as long as they are the same tensor, which is so for constants and
/// for variables between two assignments; images of several sizes may need several forms. The tensor is held, so that nothing writes to it.
pub(crate) struct PackedForms<F>(Mutex<Option<Packed<F>>>);

struct Packed<F> {
    weights: Tensor,
    /// The form that was packed last is the last one.
    forms: SmallVec<[Arc<F>; 1]>,
}

/// The most forms of one tensor that are kept. If more are needed, the oldest is dropped and packed again when it is needed again.
const MAX_FORMS: usize = 8;

impl<F> Default for PackedForms<F> {
    fn default() -> Self {
        PackedForms(Mutex::new(None))
    }
}

impl<F> PackedForms<F> {
    /// Returns the form of `weights` for which `fits` is true; `pack` makes it if there is none.
    ///
    /// # Errors
    /// Returns the errors of `pack`.
    pub(crate) fn get(&self, weights: &Tensor, fits: impl Fn(&F) -> bool, pack: impl FnOnce() -> Result<F>) -> Result<Arc<F>> {
        let mut packed = self.0.lock();
        let packed = match &mut *packed {
            Some(packed) if packed.weights.same_data(weights) => packed,
            packed => packed.insert(Packed { weights: weights.clone(), forms: SmallVec::new() }),
        };
        if let Some(form) = packed.forms.iter().find(|form| fits(form)) {
            return Ok(form.clone());
        }
        let form = Arc::new(pack()?);
        if packed.forms.len() == MAX_FORMS {
            packed.forms.remove(0);
        }
        packed.forms.push(form.clone());
        Ok(form)
    }

    /// Returns the form that was packed last.
    pub(crate) fn last(&self) -> Option<Arc<F>> {
        self.0.lock().as_ref()?.forms.last().cloned()
    }
}

/// The packed form of a matrix that a kernel multiplies with in call after call.
pub(crate) struct PackedWeights {
    precision: Precision,
    packed: PackedForms<PackedRhs>,
}

impl PackedWeights {
    /// Makes the memory of a matrix that is packed for products in this precision.
    pub(crate) fn new(precision: Precision) -> PackedWeights {
        PackedWeights { precision, packed: PackedForms::default() }
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
        let pack = || Ok(PackedRhs::pack(self.precision, matrix.as_slice()?, depth, columns, false));
        self.packed.get(matrix, |_| true, pack)
    }
}
