//! Reading from several iterators, whose elements are returned as soon as they are ready.

use super::context::IteratorContext;
use super::element::{Element, Elements};
use super::parallel::{Pipe, PipeOptions, Task};
use flowmill_tensor::Result;
use flowmill_tensor::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;

/// The open iterators.
#[derive(Default)]
struct Slots {
    state: Mutex<State>,
    /// Notified when an iterator is free or has ended.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The iterators that no thread is reading from.
    free: VecDeque<Elements>,
    num_open: usize,
    input_ended: bool,
}

impl Slots {
    /// Returns an iterator that an element was taken from.
    fn put_back(&self, inner: Elements) {
        let mut state = self.state.lock();
        if inner.has_ended() {
            state.num_open -= 1;
        } else {
            state.free.push_back(inner);
        }
        drop(state);
        self.changed.notify_one();
    }
}

/// Returns the elements of up to `length` iterators at a time, which `open` opens; `workers` threads wait for them at once. A slow iterator does
/// not delay the others.
pub(super) fn any_order(
    ctx: &Arc<IteratorContext>,
    length: usize,
    workers: usize,
    mut open: impl FnMut() -> Result<Option<Elements>> + Send + 'static,
) -> Elements {
    let slots = Arc::new(Slots::default());
    let options = PipeOptions { workers: workers.min(length), capacity: length.max(1), ordered: false };
    let mut pipe = Pipe::new(ctx, options, move || {
        let mut state = slots.state.lock();
        let mut inner = loop {
            if !state.input_ended && state.num_open < length {
                drop(state);
                // No iterator is opened anywhere else.
                let opened = open()?;
                state = slots.state.lock();
                match opened {
                    Some(inner) => {
                        state.num_open += 1;
                        break inner;
                    }
                    None => state.input_ended = true,
                }
            } else if let Some(inner) = state.free.pop_front() {
                break inner;
            } else if state.num_open == 0 {
                return Ok(None);
            } else {
                state = slots.changed.wait(state);
            }
        };
        drop(state);
        let slots = slots.clone();
        Ok(Some(Box::new(move || {
            let element = inner.next();
            slots.put_back(inner);
            element
        }) as Task<Option<Element>>))
    });
    Elements::new(move || {
        while let Some(element) = pipe.next()? {
            if element.is_some() {
                return Ok(element);
            }
        }
        Ok(None)
    })
}
