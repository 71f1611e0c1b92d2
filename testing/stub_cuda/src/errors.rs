//! The driver's error codes.

use std::ffi::{CStr, c_uint};

pub(crate) type Code = c_uint;

pub(crate) const SUCCESS: Code = 0;
pub(crate) const INVALID_VALUE: Code = 1;
pub(crate) const OUT_OF_MEMORY: Code = 2;
pub(crate) const INVALID_DEVICE: Code = 101;
pub(crate) const INVALID_IMAGE: Code = 200;
pub(crate) const INVALID_CONTEXT: Code = 201;
pub(crate) const PEER_ACCESS_UNSUPPORTED: Code = 217;
pub(crate) const INVALID_HANDLE: Code = 400;
pub(crate) const ILLEGAL_STATE: Code = 401;
pub(crate) const NOT_FOUND: Code = 500;
pub(crate) const NOT_READY: Code = 600;
pub(crate) const ILLEGAL_ADDRESS: Code = 700;
pub(crate) const LAUNCH_OUT_OF_RESOURCES: Code = 701;
pub(crate) const LAUNCH_FAILED: Code = 719;
pub(crate) const STREAM_CAPTURE_UNSUPPORTED: Code = 900;
pub(crate) const STREAM_CAPTURE_INVALIDATED: Code = 901;

/// Returns the name of an error.
pub(crate) fn describe(error: Code) -> &'static CStr {
    match error {
        SUCCESS => c"CUDA_SUCCESS",
        INVALID_VALUE => c"CUDA_ERROR_INVALID_VALUE",
        OUT_OF_MEMORY => c"CUDA_ERROR_OUT_OF_MEMORY",
        46 => c"CUDA_ERROR_DEVICE_UNAVAILABLE",
        INVALID_DEVICE => c"CUDA_ERROR_INVALID_DEVICE",
        INVALID_IMAGE => c"CUDA_ERROR_INVALID_IMAGE",
        INVALID_CONTEXT => c"CUDA_ERROR_INVALID_CONTEXT",
        PEER_ACCESS_UNSUPPORTED => c"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
        INVALID_HANDLE => c"CUDA_ERROR_INVALID_HANDLE",
        ILLEGAL_STATE => c"CUDA_ERROR_ILLEGAL_STATE",
        NOT_FOUND => c"CUDA_ERROR_NOT_FOUND",
        NOT_READY => c"CUDA_ERROR_NOT_READY",
        ILLEGAL_ADDRESS => c"CUDA_ERROR_ILLEGAL_ADDRESS",
        LAUNCH_OUT_OF_RESOURCES => c"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
        LAUNCH_FAILED => c"CUDA_ERROR_LAUNCH_FAILED",
        STREAM_CAPTURE_UNSUPPORTED => c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        STREAM_CAPTURE_INVALIDATED => c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
        _ => c"CUDA_ERROR_UNKNOWN",
    }
}

/// Returns the code of a result.
pub(crate) fn code(result: Result<(), Code>) -> Code {
    result.err().unwrap_or(SUCCESS)
}

pub(crate) fn check(condition: bool, otherwise: Code) -> Result<(), Code> {
    if condition { Ok(()) } else { Err(otherwise) }
}
