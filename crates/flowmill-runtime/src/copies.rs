//! Copies of tensors that are made of several others.

use crate::device::CopyDone;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{DType, Result, Tensor, error};
use std::sync::Arc;

/// The copy of a tensor whose parts are copied one by one.
struct PartsInFlight {
    /// The tensor that is copied.
    original: Tensor,
    state: Mutex<Copied>,
}

struct Copied {
    /// The copies that have arrived, in the order of the parts.
    parts: Vec<Option<Tensor>>,
    missing: usize,
    /// The receiver of the whole. It is taken when all parts have arrived, or by the first error.
    done: Option<CopyDone>,
}

/// Copies a tensor by copying its dense parts with `copy`: a tensor that is no variant as one, and one of variants part by part.
pub(crate) fn copy_parts(tensor: Tensor, copy: impl Fn(Tensor, CopyDone), done: CopyDone) {
    if tensor.dtype() != DType::Variant {
        return copy(tensor, done);
    }
    let parts: Vec<Tensor> = tensor.dense_parts().into_iter().cloned().collect();
    if parts.is_empty() {
        return done(Ok(tensor));
    }
    let copied = Copied { parts: vec![None; parts.len()], missing: parts.len(), done: Some(done) };
    let in_flight = Arc::new(PartsInFlight { original: tensor, state: Mutex::new(copied) });
    for (i, part) in parts.into_iter().enumerate() {
        let in_flight = in_flight.clone();
        copy(part, Box::new(move |copied| in_flight.arrive(i, copied)));
    }
}

impl PartsInFlight {
    fn arrive(&self, i: usize, copied: Result<Tensor>) {
        let (done, parts) = {
            let mut state = self.state.lock();
            state.missing -= 1;
            match copied {
                Ok(part) => state.parts[i] = Some(part),
                Err(e) => {
                    let done = state.done.take();
                    drop(state);
                    return done.into_iter().for_each(|done| done(Err(e.clone())));
                }
            }
            if state.missing > 0 {
                return;
            }
            (state.done.take(), std::mem::take(&mut state.parts))
        };
        if let Some(done) = done {
            let all: Option<Vec<Tensor>> = parts.into_iter().collect();
            let all = all.ok_or_else(|| error!(Internal, "a part of a tensor was not copied"));
            done(all.and_then(|all| self.original.with_dense_parts(all)));
        }
    }
}
