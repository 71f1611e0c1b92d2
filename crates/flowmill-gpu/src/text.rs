//! The text of kernels: CUDA C, generated for the element types of a node.

use flowmill_tensor::DType;

/// Definitions that every kernel begins with.
const PRELUDE: &str = include_str!("kernels/prelude.cu");

/// Returns the name of an element type in memory, or `None` if GPUs have no such type.
pub(crate) fn element_name(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::F32 => "float",
        DType::F64 => "double",
        DType::F16 => "half",
        DType::BF16 => "bfloat",
        DType::I8 => "signed char",
        DType::I16 => "short",
        DType::I32 => "int",
        DType::I64 => "long long",
        DType::U8 => "unsigned char",
        DType::U16 => "unsigned short",
        DType::U32 => "unsigned int",
        DType::U64 => "unsigned long long",
        DType::Bool => "bool",
        _ => return None,
    })
}

/// Returns the name of the type in which a kernel computes with elements of a type.
pub(crate) fn compute_name(dtype: DType) -> Option<&'static str> {
    match dtype {
        DType::F16 | DType::BF16 => Some("float"),
        dtype => element_name(dtype),
    }
}

/// Definitions of special functions, whose names begin with `special_`.
const SPECIAL: &str = include_str!("kernels/special.cu");

/// Returns a kernel's whole text: the prelude, the special functions if the kernel names one, type definitions, and the kernel.
pub(crate) fn source(types: &[(&str, &str)], kernel: &str) -> String {
    let definitions: String = types.iter().map(|(name, definition)| format!("typedef {definition} {name};\n")).collect();
    let special = if kernel.contains("special_") { SPECIAL } else { "" };
    format!("{PRELUDE}\n{special}{definitions}\n{kernel}")
}
