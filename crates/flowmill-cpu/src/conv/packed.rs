//! The packed forms of a convolution's filter.

use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Result, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;

/// The forms in which a filter has been packed. It is packed once as long as it is the same tensor, which is so for constants and for variables between two
/// assignments; images of several sizes may need several forms.
pub(super) struct PackedForms<F>(Mutex<Option<Packed<F>>>);

struct Packed<F> {
    filter: Tensor,
    forms: SmallVec<[Arc<F>; 1]>,
}

impl<F> Default for PackedForms<F> {
    fn default() -> Self {
        PackedForms(Mutex::new(None))
    }
}

impl<F> PackedForms<F> {
    /// Returns the form of `filter` for which `fits` is true; `pack` makes it if there is none.
    ///
    /// # Errors
    /// Returns the errors of `pack`.
    pub(super) fn get(&self, filter: &Tensor, fits: impl Fn(&F) -> bool, pack: impl FnOnce() -> Result<F>) -> Result<Arc<F>> {
        let mut packed = self.0.lock();
        let packed = match &mut *packed {
            Some(packed) if packed.filter.same_data(filter) => packed,
            packed => packed.insert(Packed { filter: filter.clone(), forms: SmallVec::new() }),
        };
        if let Some(form) = packed.forms.iter().find(|form| fits(form)) {
            return Ok(form.clone());
        }
        let form = Arc::new(pack()?);
        packed.forms.push(form.clone());
        Ok(form)
    }

    /// Returns the form that was packed last.
    pub(super) fn last(&self) -> Option<Arc<F>> {
        self.0.lock().as_ref()?.forms.last().cloned()
    }
}
