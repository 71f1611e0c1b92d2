//! Panics of kernels. A panic is a defect of the kernel: it becomes an `Internal` error of the node, and the process continues.

use flowmill_tensor::{Error, Result, error};
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A node's name and op.
type Site = (Arc<str>, Arc<str>);

thread_local! {
    /// The node whose kernel began the panic that now unwinds this thread, if a [`Witness`] recorded it.
    static SITE: RefCell<Option<Site>> = const { RefCell::new(None) };
}

/// A guard that is held while a kernel runs inside of a larger unit. If a panic drops it, it records the node; otherwise it is forgotten.
pub(crate) struct Witness<'a> {
    node: &'a Arc<str>,
    op: &'a Arc<str>,
}

impl<'a> Witness<'a> {
    /// Calls `f`. A panic in `f` is attributed to this node.
    #[inline]
    pub(crate) fn of<R>(node: &'a Arc<str>, op: &'a Arc<str>, f: impl FnOnce() -> R) -> R {
        let witness = Witness { node, op };
        let result = f();
        std::mem::forget(witness);
        result
    }
}

impl Drop for Witness<'_> {
    #[cold]
    fn drop(&mut self) {
        // The innermost witness is the first to be dropped.
        SITE.with_borrow_mut(|site| {
            site.get_or_insert_with(|| (self.node.clone(), self.op.clone()));
        });
    }
}

/// Calls `f`, and turns a panic into an error at the node that a [`Witness`] recorded.
pub(crate) fn caught<R>(f: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|payload| Err(error_of(payload)))
}

/// Returns the error for a panic that was caught.
#[cold]
pub(crate) fn error_of(payload: Box<dyn Any + Send>) -> Error {
    let error = error!(Internal, "the kernel panicked: {}", message(&*payload));
    // Dropping a payload may panic as well.
    std::mem::forget(payload);
    match SITE.take() {
        Some((node, op)) => error.at_node(&node, &op),
        None => error,
    }
}

fn message(payload: &(dyn Any + Send)) -> &str {
    payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_node_is_named_and_only_once() {
        let (a, b, op): Site3 = ("a".into(), "b".into(), "Op".into());
        let e = caught(|| Witness::of(&a, &op, || Witness::of(&b, &op, || -> Result<()> { panic!("oh") }))).unwrap_err();
        assert_eq!((e.node(), e.op(), e.message()), (Some("b"), Some("Op"), "the kernel panicked: oh"));
        let e = caught(|| -> Result<()> { panic!("again") }).unwrap_err();
        assert_eq!(e.node(), None);
        assert_eq!(caught(|| Witness::of(&a, &op, || Ok(3))).unwrap(), 3);
        let e = caught(|| -> Result<()> { panic!("after") }).unwrap_err();
        assert_eq!(e.node(), None, "what was left is not blamed");
    }

    type Site3 = (Arc<str>, Arc<str>, Arc<str>);
}
