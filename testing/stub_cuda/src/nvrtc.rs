//! The functions of NVRTC that Flowmill calls.

use crate::compile;
use std::ffi::{CStr, c_char, c_int};
use std::ptr;

const SUCCESS: c_int = 0;
const INVALID_INPUT: c_int = 3;
const INVALID_PROGRAM: c_int = 4;
const INVALID_OPTION: c_int = 5;
const COMPILATION: c_int = 6;

const ARCHITECTURES: [c_int; 5] = [75, 80, 90, 100, 120];

/// A program, with what the compiler made of it.
struct Program {
    source: String,
    image: Vec<u8>,
    log: Vec<u8>,
}

type Handle = *mut Program;

/// # Safety
/// The pointers must be valid for writes.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcVersion(major: *mut c_int, minor: *mut c_int) -> c_int {
    // SAFETY: as the function requires.
    unsafe { (*major, *minor) = (13, 0) };
    SUCCESS
}

/// # Safety
/// The pointer must be valid for writes.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcGetNumSupportedArchs(count: *mut c_int) -> c_int {
    // SAFETY: as the function requires.
    unsafe { *count = ARCHITECTURES.len() as c_int };
    SUCCESS
}

/// # Safety
/// The pointer must be valid for as many writes as there are architectures.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcGetSupportedArchs(architectures: *mut c_int) -> c_int {
    // SAFETY: as the function requires.
    unsafe { ptr::copy_nonoverlapping(ARCHITECTURES.as_ptr(), architectures, ARCHITECTURES.len()) };
    SUCCESS
}

/// # Safety
/// `program` must be valid for writes, and `source` a string.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcCreateProgram(
    program: *mut Handle,
    source: *const c_char,
    _name: *const c_char,
    _headers: c_int,
    _header_texts: *const *const c_char,
    _header_names: *const *const c_char,
) -> c_int {
    if source.is_null() {
        return INVALID_INPUT;
    }
    // SAFETY: as the function requires.
    let source = unsafe { CStr::from_ptr(source) }.to_string_lossy().into_owned();
    // SAFETY: as the function requires.
    unsafe { *program = Box::into_raw(Box::new(Program { source, image: Vec::new(), log: vec![0] })) };
    SUCCESS
}

/// # Safety
/// The handle must be of a program.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcDestroyProgram(program: *mut Handle) -> c_int {
    // SAFETY: the program was made by `nvrtcCreateProgram` and is destroyed once.
    drop(unsafe { Box::from_raw(*program) });
    SUCCESS
}

/// # Safety
/// The handle must be of a program, and the options strings.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcCompileProgram(program: Handle, count: c_int, options: *const *const c_char) -> c_int {
    // SAFETY: as the function requires.
    let Some(program) = (unsafe { program.as_mut() }) else { return INVALID_PROGRAM };
    for i in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: as the function requires.
        let option = unsafe { CStr::from_ptr(*options.add(i)) }.to_string_lossy();
        if let Some(architecture) = option.strip_prefix("--gpu-architecture=sm_")
            && !ARCHITECTURES.iter().any(|known| known.to_string() == architecture)
        {
            return INVALID_OPTION;
        }
    }
    match compile::compile(&program.source) {
        Ok(image) => {
            program.image = [image.as_bytes(), &[0]].concat();
            SUCCESS
        }
        Err(message) => {
            program.log = [message.replace('\0', "").as_bytes(), &[0]].concat();
            COMPILATION
        }
    }
}

/// # Safety
/// The handle must be of a program, and the pointers valid for what is written.
unsafe fn write(program: Handle, of: impl Fn(&Program) -> &[u8], size: *mut usize, bytes: *mut c_char) -> c_int {
    // SAFETY: as the function requires.
    let Some(program) = (unsafe { program.as_ref() }) else { return INVALID_PROGRAM };
    let content = of(program);
    if !size.is_null() {
        // SAFETY: as the function requires.
        unsafe { *size = content.len() };
    }
    if !bytes.is_null() {
        // SAFETY: as the function requires.
        unsafe { ptr::copy_nonoverlapping(content.as_ptr(), bytes.cast(), content.len()) };
    }
    SUCCESS
}

macro_rules! outputs {
    ($($size:ident $get:ident $field:ident)*) => {$(
        /// # Safety
        /// The handle must be of a program, and the pointer valid for writes.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $size(program: Handle, size: *mut usize) -> c_int {
            // SAFETY: as the function requires.
            unsafe { write(program, |program| &program.$field, size, ptr::null_mut()) }
        }

        /// # Safety
        /// The handle must be of a program, and the pointer valid for as many writes as the output has bytes.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $get(program: Handle, bytes: *mut c_char) -> c_int {
            // SAFETY: as the function requires.
            unsafe { write(program, |program| &program.$field, ptr::null_mut(), bytes) }
        }
    )*};
}

outputs! {
    nvrtcGetCUBINSize nvrtcGetCUBIN image
    nvrtcGetPTXSize nvrtcGetPTX image
    nvrtcGetProgramLogSize nvrtcGetProgramLog log
}

/// # Safety
/// None; the string is static.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcGetErrorString(error: c_int) -> *const c_char {
    match error {
        SUCCESS => c"NVRTC_SUCCESS".as_ptr(),
        COMPILATION => c"NVRTC_ERROR_COMPILATION".as_ptr(),
        _ => c"NVRTC_ERROR".as_ptr(),
    }
}
