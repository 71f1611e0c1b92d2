//! The ops that graphs cannot do without.

use crate::{ArgDef, ArgType, AttrDef, AttrType, Effects, OpDef, OpTraits, Role};

/// The op of the nodes `_SOURCE` and `_SINK`.
pub(crate) const NO_OP: &str = "NoOp";
/// The op that produces a function's argument or a fed tensor.
pub const ARG: &str = "_Arg";
/// The attribute that holds the static shape of an [`ARG`], as a list of one shape.
pub const OUTPUT_SHAPES: &str = "_output_shapes";
/// The op that consumes a function's result or a fetched tensor.
pub const RETVAL: &str = "_Retval";

pub(crate) fn no_op() -> OpDef {
    OpDef { name: NO_OP.into(), traits: role(Role::NoOp), ..Default::default() }
}

fn role(role: Role) -> OpTraits {
    OpTraits { role, ..Default::default() }
}

fn attr(name: &str, ty: AttrType) -> AttrDef {
    let minimum = (ty == AttrType::Int).then_some(0);
    AttrDef { name: name.into(), ty, default: None, allowed_types: Vec::new(), allowed_strings: Vec::new(), minimum }
}

fn tensor(name: &str) -> ArgDef {
    ArgDef { name: name.into(), ty: ArgType::Attr("T".into()), number_attr: None, is_ref: false }
}

/// `_Arg` and `_Retval`.
pub(crate) fn function_ops() -> [OpDef; 2] {
    let attrs = || vec![attr("T", AttrType::Type), attr("index", AttrType::Int)];
    [
        OpDef {
            name: ARG.into(),
            outputs: vec![tensor("output")],
            attrs: attrs(),
            traits: OpTraits { effects: Effects::State, ..role(Role::Arg) },
            ..Default::default()
        },
        OpDef {
            name: RETVAL.into(),
            inputs: vec![tensor("input")],
            attrs: attrs(),
            traits: OpTraits { effects: Effects::State, ..role(Role::Retval) },
            ..Default::default()
        },
    ]
}

/// The attribute of a `Const` whose value stays in the host's memory, though its node is on a device with memory of its own.
pub const HOST_MEMORY: &str = "_host_memory";

/// The attribute of a result (`_Retval`) whose value stays in the memory of the device that computes it, and of the send that passes it on.
pub const KEEP_MEMORY: &str = "_keep_memory";

/// The attribute of a send and of a receive that partitioning has added: the number of their tensor among all that go from part to part.
pub const TRANSFER: &str = "_transfer";
