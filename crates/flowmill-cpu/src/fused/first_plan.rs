//! Plans that depend on the shapes of a call's arguments.

use flowmill_tensor::{Result, Shape, bail};
use smallvec::SmallVec;
use std::ops::Deref;
use std::sync::OnceLock;

/// Keeps the plan of a kernel for the shapes of its first call, which most calls have. Other shapes get a plan for each call.
pub(super) struct FirstPlan<P>(OnceLock<Box<Kept<P>>>);

struct Kept<P> {
    shapes: SmallVec<[Shape; 8]>,
    plan: P,
}

/// A plan that is kept, or one that was made for a call.
pub(super) enum Planned<'a, P> {
    Kept(&'a P),
    Made(P),
}

impl<P> Deref for Planned<'_, P> {
    type Target = P;

    fn deref(&self) -> &P {
        match self {
            Planned::Kept(plan) => plan,
            Planned::Made(plan) => plan,
        }
    }
}

impl<P> FirstPlan<P> {
    pub(super) const fn new() -> FirstPlan<P> {
        FirstPlan(OnceLock::new())
    }

    /// Returns the plan for arguments of these shapes. `make` makes it if it is not kept.
    ///
    /// # Errors
    /// Returns the error of `make`.
    pub(super) fn get<'s>(
        &self,
        shapes: impl Iterator<Item = &'s Shape> + Clone,
        make: impl FnOnce() -> Result<P>,
    ) -> Result<Planned<'_, P>> {
        if let Some(kept) = self.0.get() {
            return if kept.shapes.iter().eq(shapes) { Ok(Planned::Kept(&kept.plan)) } else { make().map(Planned::Made) };
        }
        let made = Box::new(Kept { shapes: shapes.cloned().collect(), plan: make()? });
        match (self.0.set(made), self.0.get()) {
            // Another call was first.
            (Err(made), _) => Ok(Planned::Made(made.plan)),
            (Ok(()), Some(kept)) => Ok(Planned::Kept(&kept.plan)),
            (Ok(()), None) => bail!(Internal, "a plan is not kept"),
        }
    }
}
