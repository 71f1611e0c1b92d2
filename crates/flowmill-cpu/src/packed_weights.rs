//! The packed forms of weights that a kernel multiplies with in call after call.

use crate::gemm::{PackedRhs, Precision};
use flowmill_runtime::{InferencePrecision, KernelInit};
use flowmill_tensor::sync::{Mutex, MutexGuard};
use flowmill_tensor::{Result, Tensor, bail};
use smallvec::SmallVec;
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// Returns the precision in which a kernel multiplies by its input `i`: that of the session for a constant, otherwise `float32`, because a variable may be
/// trained.
pub(crate) fn precision_of(init: &KernelInit<'_>, i: usize) -> Precision {
    match init.precision {
        InferencePrecision::Bf16 if init.constant(i).is_some() => Precision::Bf16,
        _ => Precision::F32,
    }
}

/// The forms in which a tensor has been packed, which all kernels that multiply by it share: the steps of an unrolled recurrent network, heads that several
/// layers have in common, and sessions over one graph. The tensor is held, so that nothing writes to it. Another view of its memory has forms of its own.
pub(crate) struct FormsOf<F> {
    key: Key,
    weights: Tensor,
    /// The form that was packed last is the last one.
    forms: Mutex<SmallVec<[Arc<F>; 1]>>,
}

/// The most forms of one tensor that are kept. If more are needed, the oldest is dropped and packed again when it is needed again.
const MAX_FORMS: usize = 16;

/// The type of the forms, and the address of the tensor, which is that of no other memory for as long as the forms hold the tensor.
type Key = (TypeId, usize);

/// The forms that kernels hold.
static HELD: Mutex<BTreeMap<Key, Weak<dyn Any + Send + Sync>>> = Mutex::new(BTreeMap::new());

/// Locks [`HELD`]. A process that was forked while another thread had the lock waits for it in vain, and goes on without sharing.
fn held() -> Option<MutexGuard<'static, BTreeMap<Key, Weak<dyn Any + Send + Sync>>>> {
    (0..MAX_YIELDS).find_map(|_| {
        HELD.try_lock().or_else(|| {
            std::thread::yield_now();
            None
        })
    })
}

/// The times that a thread lets others run while it waits for [`HELD`], which nobody has for longer than a look-up.
const MAX_YIELDS: usize = 1000;

impl<F: Send + Sync + 'static> FormsOf<F> {
    /// Returns the forms of a tensor, which may have been packed by another kernel.
    pub(crate) fn of(weights: &Tensor) -> Arc<FormsOf<F>> {
        let key = (TypeId::of::<F>(), weights.address());
        let Some(mut held) = held() else { return Arc::new(FormsOf { key, weights: weights.clone(), forms: Mutex::default() }) };
        let old = held.get(&key).and_then(Weak::upgrade).and_then(|forms| forms.downcast::<FormsOf<F>>().ok());
        // The same memory may be a tensor of another shape.
        if let Some(forms) = old.as_ref().filter(|forms| forms.weights.same_data(weights)) {
            return forms.clone();
        }
        let forms = Arc::new(FormsOf { key, weights: weights.clone(), forms: Mutex::default() });
        let weak: Weak<FormsOf<F>> = Arc::downgrade(&forms);
        held.insert(key, weak);
        // The old forms are dropped without the lock, which dropping them takes.
        drop(held);
        forms
    }

    pub(crate) fn weights(&self) -> &Tensor {
        &self.weights
    }

    /// Returns the form for which `fits` is true; `pack` makes it if there is none.
    ///
    /// # Errors
    /// Returns the errors of `pack`.
    pub(crate) fn get(&self, fits: impl Fn(&F) -> bool, pack: impl FnOnce() -> Result<F>) -> Result<Arc<F>> {
        let mut forms = self.forms.lock();
        if let Some(form) = forms.iter().find(|form| fits(form)) {
            return Ok(form.clone());
        }
        let form = Arc::new(pack()?);
        if forms.len() == MAX_FORMS {
            forms.remove(0);
        }
        forms.push(form.clone());
        Ok(form)
    }
}

impl<F> Drop for FormsOf<F> {
    fn drop(&mut self) {
        let Some(mut held) = held() else { return };
        // Other forms may have taken the place of these.
        if held.get(&self.key).is_some_and(|forms| forms.strong_count() == 0) {
            held.remove(&self.key);
        }
    }
}

/// The form of weights that a kernel used last. Weights are packed once as long as they are the same tensor, which is so for constants and for variables between
/// two assignments; images of several sizes may need several forms.
pub(crate) struct LastForm<F>(Mutex<Option<Packed<F>>>);

struct Packed<F> {
    all: Arc<FormsOf<F>>,
    last: Arc<F>,
}

impl<F> Default for LastForm<F> {
    fn default() -> Self {
        LastForm(Mutex::new(None))
    }
}

impl<F: Send + Sync + 'static> LastForm<F> {
    /// Returns the form of `weights` for which `fits` is true; `pack` makes it if no kernel has.
    ///
    /// # Errors
    /// Returns the errors of `pack`.
    pub(crate) fn get(&self, weights: &Tensor, fits: impl Fn(&F) -> bool, pack: impl FnOnce() -> Result<F>) -> Result<Arc<F>> {
        let mut packed = self.0.lock();
        let all = match &*packed {
            Some(Packed { all, last }) if all.weights().same_data(weights) => {
                if fits(last) {
                    return Ok(last.clone());
                }
                all.clone()
            }
            _ => FormsOf::of(weights),
        };
        let last = all.get(fits, pack)?;
        *packed = Some(Packed { all, last: last.clone() });
        Ok(last)
    }

    /// Returns the form that was used last.
    pub(crate) fn last(&self) -> Option<Arc<F>> {
        self.0.lock().as_ref().map(|packed| packed.last.clone())
    }
}

/// A packed matrix, which may be the transpose of the tensor that it is packed from.
pub(crate) struct MatrixForm {
    transposed: bool,
    pub(crate) matrix: PackedRhs,
}

impl MatrixForm {
    /// Makes the form of a matrix of `k` rows and `n` columns, whose elements are those of a tensor or, if `transposed`, of its transpose.
    pub(crate) fn get(
        forms: &FormsOf<MatrixForm>,
        precision: Precision,
        (k, n): (usize, usize),
        transposed: bool,
        pack: impl FnOnce() -> Result<PackedRhs>,
    ) -> Result<Arc<MatrixForm>> {
        forms.get(|form| form.is_for(precision, (k, n), transposed), || Ok(MatrixForm { transposed, matrix: pack()? }))
    }

    fn is_for(&self, precision: Precision, (k, n): (usize, usize), transposed: bool) -> bool {
        (self.transposed, self.matrix.precision(), self.matrix.k(), self.matrix.n()) == (transposed, precision, k, n)
    }
}

/// The packed form of a matrix that a kernel multiplies with in call after call.
pub(crate) struct PackedWeights {
    precision: Precision,
    packed: LastForm<MatrixForm>,
}

impl PackedWeights {
    /// Makes the memory of a matrix that is packed for products in this precision.
    pub(crate) fn new(precision: Precision) -> PackedWeights {
        PackedWeights { precision, packed: LastForm::default() }
    }

    /// Returns the packed form of a matrix with `rows` rows, of which all dimensions before the last two are 1.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a tensor of another shape.
    pub(crate) fn get(&self, matrix: &Tensor, rows: usize) -> Result<Arc<MatrixForm>> {
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
        let pack = || {
            let matrix = PackedRhs::pack(self.precision, matrix.as_slice()?, depth, columns, false);
            Ok(MatrixForm { transposed: false, matrix })
        };
        self.packed.get(matrix, |form| form.is_for(self.precision, (depth, columns), false), pack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowmill_tensor::Shape;

    fn weights() -> Tensor {
        Tensor::from_slice(Shape::from([4, 4]), &[0.5f32; 16]).unwrap()
    }

    fn number_held(weights: &Tensor) -> usize {
        HELD.lock().keys().filter(|key| key.1 == weights.address()).count()
    }

    #[test]
    fn kernels_share_the_forms_of_one_tensor() {
        let weights = weights();
        let kernels = [PackedWeights::new(Precision::F32), PackedWeights::new(Precision::F32), PackedWeights::new(Precision::Bf16)];
        let forms: Vec<_> = kernels.iter().map(|kernel| kernel.get(&weights, 4).unwrap()).collect();
        assert!(Arc::ptr_eq(&forms[0], &forms[1]));
        assert_eq!(forms[2].matrix.precision(), Precision::Bf16);
        let transposed = MatrixForm::get(&FormsOf::of(&weights), Precision::F32, (4, 4), true, || {
            Ok(PackedRhs::pack(Precision::F32, weights.as_slice()?, 4, 4, true))
        });
        assert!(transposed.unwrap().transposed && !forms[0].transposed);
        assert!(Arc::ptr_eq(&forms[0], &kernels[1].get(&weights, 4).unwrap()));
        drop(kernels);
        assert_eq!(number_held(&weights), 0);
    }

    #[test]
    fn the_same_memory_in_another_shape_has_forms_of_its_own() {
        let (matrix, kernel) = (weights(), PackedWeights::new(Precision::F32));
        let row = matrix.clone().reshaped(Shape::from([1, 16])).unwrap();
        let old = FormsOf::<MatrixForm>::of(&matrix);
        assert_eq!(kernel.get(&row, 1).unwrap().matrix.n(), 16);
        assert_eq!(kernel.get(&matrix, 4).unwrap().matrix.n(), 4);
        drop((old, kernel));
        assert_eq!(number_held(&matrix), 0);
    }

    #[test]
    fn forms_beyond_the_limit_are_packed_again() {
        let (weights, forms) = (weights(), LastForm::<usize>::default());
        let get = |wanted: usize| *forms.get(&weights, |form| *form == wanted, || Ok(wanted)).unwrap();
        assert!((0..3 * MAX_FORMS).all(|i| get(i) == i) && get(0) == 0);
        assert_eq!(FormsOf::<usize>::of(&weights).forms.lock().len(), MAX_FORMS);
    }
}
