//! Variables, by reference and by resource handle.

mod variable;

pub use variable::{ResourceVariable, Variable};
