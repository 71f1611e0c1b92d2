//! The wire types of protocol buffer fields, by the fields' descriptors.

use flowmill_proto::wire::{FIXED32, FIXED64, LENGTH_DELIMITED, START_GROUP, VARINT};
use prost_reflect::Kind;

/// Returns the wire type in which single values of a kind are written.
pub(super) fn wire_type(kind: &Kind, is_group: bool) -> u8 {
    match kind {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => FIXED64,
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => FIXED32,
        Kind::Message(_) if is_group => START_GROUP,
        Kind::String | Kind::Bytes | Kind::Message(_) => LENGTH_DELIMITED,
        _ => VARINT,
    }
}
