//! The dense tensors that a tensor is made of: itself, or those inside of its variants.

use super::Tensor;
use crate::{Result, bail};
use std::ops::ControlFlow;

impl Tensor {
    /// Calls `visit` with each dense tensor that this one is made of: with itself, or with the tensors inside of its variants, nested ones too. Strings and
    /// handles are not dense.
    fn visit_dense_parts<'a>(&'a self, visit: &mut dyn FnMut(&'a Tensor) -> ControlFlow<()>) -> ControlFlow<()> {
        match self.as_variants() {
            Ok(variants) => {
                variants.iter().flat_map(|variant| variant.value().tensors()).try_for_each(|part| part.visit_dense_parts(visit))
            }
            Err(_) if self.dtype().size().is_some() => visit(self),
            Err(_) => ControlFlow::Continue(()),
        }
    }

    /// Returns the dense tensors that this one is made of: itself, or the tensors inside of its variants, nested ones too.
    pub fn dense_parts(&self) -> Vec<&Tensor> {
        let mut parts = Vec::new();
        let _ = self.visit_dense_parts(&mut |part| {
            parts.push(part);
            ControlFlow::Continue(())
        });
        parts
    }

    /// Returns the first of [`Tensor::dense_parts`], which tells the memory that all of them are in.
    pub fn first_dense_part(&self) -> Option<&Tensor> {
        let mut first = None;
        let _ = self.visit_dense_parts(&mut |part| {
            first = Some(part);
            ControlFlow::Break(())
        });
        first
    }

    /// Returns true if all of [`Tensor::dense_parts`] are in the host's memory.
    pub fn has_parts_on_host(&self) -> bool {
        self.is_on_host() && (self.as_variants().is_err() || self.first_dense_part().is_none_or(Tensor::is_on_host))
    }

    /// Returns the tensor with other dense parts: `change` returns what replaces a part, or `None` to keep it. Returns `None` if all parts are kept.
    ///
    /// # Errors
    /// Returns the errors of `change` and of [`VariantValue::with_tensors`](crate::VariantValue::with_tensors).
    pub fn map_dense_parts(&self, change: &mut dyn FnMut(&Tensor) -> Result<Option<Tensor>>) -> Result<Option<Tensor>> {
        let Ok(variants) = self.as_variants() else {
            return if self.dtype().size().is_some() { change(self) } else { Ok(None) };
        };
        let mut changed = Vec::new();
        for (i, variant) in variants.iter().enumerate() {
            let mut parts = Vec::new();
            for (j, part) in variant.value().tensors().enumerate() {
                if let Some(part) = part.map_dense_parts(change)? {
                    parts.push((j, part));
                }
            }
            if !parts.is_empty() {
                let mut all: Vec<Tensor> = variant.value().tensors().cloned().collect();
                parts.into_iter().for_each(|(j, part)| all[j] = part);
                changed.push((i, variant.value().with_tensors(all)?));
            }
        }
        if changed.is_empty() {
            return Ok(None);
        }
        let mut all = variants.to_vec();
        changed.into_iter().for_each(|(i, variant)| all[i] = variant);
        Tensor::from_variants(self.shape().clone(), all).map(Some)
    }

    /// Returns the tensor with these dense parts in place of [`Tensor::dense_parts`].
    ///
    /// # Errors
    /// Returns `Internal` if there are fewer parts than the tensor has, and the errors of [`Tensor::map_dense_parts`].
    pub fn with_dense_parts(&self, parts: impl IntoIterator<Item = Tensor>) -> Result<Tensor> {
        let mut parts = parts.into_iter();
        let next = |_: &Tensor| match parts.next() {
            Some(part) => Ok(Some(part)),
            None => bail!(Internal, "a tensor is made of more parts than it is made again of"),
        };
        Ok(self.map_dense_parts(&mut { next })?.unwrap_or_else(|| self.clone()))
    }
}
