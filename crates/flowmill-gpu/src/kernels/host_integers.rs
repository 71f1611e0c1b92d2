//! Integer arithmetic on shapes, which stays in the host's memory, and placeholders.
//!
//! TensorFlow computes on `int32` tensors of these ops in the host's memory, whatever the device: they are mostly shapes and indices, which other
//! kernels need there. The kernels are those of the CPU. Constants are among the ops, so that a permutation or a shape that a pass adds is there, too.

use super::types::MOVABLE;
use flowmill_runtime::{KernelDef, KernelRegistry};
use flowmill_tensor::DType;

/// An op, its type attribute, and its inputs and outputs.
type Op = (&'static str, &'static str, &'static [&'static str]);

/// Ops whose kernels for `int32` compute in the host's memory.
const SMALL: [Op; 34] = [
    ("Add", "T", &["x", "y", "z"]),
    ("AddV2", "T", &["x", "y", "z"]),
    ("BroadcastTo", "T", &["input", "shape", "output"]),
    ("Concat", "T", &["concat_dim", "values", "output"]),
    ("ConcatV2", "T", &["values", "axis", "output"]),
    ("Const", "dtype", &["output"]),
    ("Equal", "T", &["x", "y", "z"]),
    ("Fill", "T", &["dims", "value", "output"]),
    ("FloorDiv", "T", &["x", "y", "z"]),
    ("FloorMod", "T", &["x", "y", "z"]),
    ("Greater", "T", &["x", "y", "z"]),
    ("GreaterEqual", "T", &["x", "y", "z"]),
    ("Less", "T", &["x", "y", "z"]),
    ("LessEqual", "T", &["x", "y", "z"]),
    ("Max", "T", &["input", "reduction_indices", "output"]),
    ("Maximum", "T", &["x", "y", "z"]),
    ("Min", "T", &["input", "reduction_indices", "output"]),
    ("Minimum", "T", &["x", "y", "z"]),
    ("Mul", "T", &["x", "y", "z"]),
    ("Neg", "T", &["x", "y"]),
    ("NotEqual", "T", &["x", "y", "z"]),
    ("OnesLike", "T", &["x", "y"]),
    ("Pack", "T", &["values", "output"]),
    ("Prod", "T", &["input", "reduction_indices", "output"]),
    ("Range", "Tidx", &["start", "limit", "delta", "output"]),
    ("Reverse", "T", &["tensor", "dims", "output"]),
    ("ReverseV2", "T", &["tensor", "axis", "output"]),
    ("Slice", "T", &["input", "begin", "size", "output"]),
    ("StridedSlice", "T", &["input", "begin", "end", "strides", "output"]),
    ("StridedSliceGrad", "T", &["shape", "begin", "end", "strides", "dy", "output"]),
    ("Sub", "T", &["x", "y", "z"]),
    ("Sum", "T", &["input", "reduction_indices", "output"]),
    ("Unpack", "T", &["value", "output"]),
    ("ZerosLike", "T", &["x", "y"]),
];

/// Ops on shapes and seeds, which have a kernel in the host's memory for every type.
const SHAPES: [Op; 10] = [
    ("BroadcastArgs", "", &["s0", "s1", "r0"]),
    ("BroadcastGradientArgs", "", &["s0", "s1", "r0", "r1"]),
    ("ConcatOffset", "", &["concat_dim", "shape", "offset"]),
    ("DataFormatDimMap", "", &["x", "y"]),
    ("DataFormatVecPermute", "", &["x", "y"]),
    ("InvertPermutation", "", &["x", "y"]),
    ("LinSpace", "", &["start", "stop", "num", "output"]),
    ("StatelessRandomGetAlg", "", &["alg"]),
    ("StatelessRandomGetKeyCounter", "", &["seed", "key", "counter"]),
    ("StatelessRandomGetKeyCounterAlg", "", &["seed", "key", "counter", "alg"]),
];

pub(super) fn register(registry: &mut KernelRegistry) {
    let mut host = KernelRegistry::new();
    flowmill_cpu::register_all(&mut host);
    for (op, attr, tensors) in SMALL.into_iter().chain(SHAPES) {
        let in_host_memory = |def: KernelDef| tensors.iter().fold(def, |def, name| def.host_memory(name));
        for def in host.defs(op) {
            let def = if attr.is_empty() { def.clone() } else { def.clone().constrain(attr, &[DType::I32]) };
            // The kernels of other types may compute on the device in `int32`, too.
            registry.register(op, in_host_memory(def).priority(1));
        }
    }
    // A placeholder may request a GPU. It is fed, or its kernel says that it is not.
    for op in ["Placeholder", "PlaceholderV2"] {
        host.defs(op).iter().for_each(|def| registry.register(op, def.clone().constrain("dtype", MOVABLE)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_has_a_kernel() {
        let mut registry = KernelRegistry::new();
        register(&mut registry);
        let missing: Vec<&str> = SMALL.into_iter().chain(SHAPES).map(|(op, _, _)| op).filter(|op| registry.defs(op).is_empty()).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
