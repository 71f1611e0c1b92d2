//! The text form of a graph.

use flowmill_proto::AttrValue;
use std::fmt;

/// An attribute's value as text.
pub struct AttrText<'a>(pub &'a AttrValue);

impl fmt::Display for AttrText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.value)
    }
}
