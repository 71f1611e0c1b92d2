//! Names of tensors: `node:output`, `node` for output 0, `^node` for control.

use crate::CONTROL_SLOT;
use std::fmt;

/// The name of a tensor or of a control output, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TensorName<'a> {
    /// The node's name.
    pub node: &'a str,
    /// Its output, or [`CONTROL_SLOT`].
    pub slot: i32,
}

impl<'a> TensorName<'a> {
    /// Takes a name apart; `None` for an empty name or an output that is not a number. A node's name holds no colon, so that
    /// everything after one must be a number.
    pub fn parse(name: &'a str) -> Option<TensorName<'a>> {
        if let Some(node) = name.strip_prefix('^') {
            return (!node.is_empty()).then_some(TensorName { node, slot: CONTROL_SLOT });
        }
        match name.rsplit_once(':') {
            None => (!name.is_empty()).then_some(TensorName { node: name, slot: 0 }),
            Some((node, digits)) => {
                let all_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
                let slot = digits.parse().ok().filter(|_| all_digits && !node.is_empty())?;
                Some(TensorName { node, slot })
            }
        }
    }

    /// Returns true if this is a control output.
    pub fn is_control(&self) -> bool {
        self.slot == CONTROL_SLOT
    }
}

/// Prints the name as an input of a `NodeDef`: `x`, `x:1`, `^x`.
impl fmt::Display for TensorName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.slot {
            CONTROL_SLOT => write!(f, "^{}", self.node),
            0 => f.write_str(self.node),
            slot => write!(f, "{}:{slot}", self.node),
        }
    }
}
