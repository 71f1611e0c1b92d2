//! Compilation of kernels by NVRTC, with a cache on disk.
//!
//! Kernels are compiled to machine code (a cubin) of the GPU at hand. PTX would be compiled by the driver, which refuses PTX of a later version of
//! CUDA than its own; it is used only for GPUs that are newer than the compiler.

use cudarc::nvrtc::{result, sys};
use flowmill_runtime::user_cache;
use flowmill_tensor::{Error, Result, bail, error};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::ffi::{CStr, CString, c_char};
use std::fs;
use std::hash::Hash;
use std::path::PathBuf;

/// The compiler of all GPUs.
pub(super) struct Compiler {
    cache: Option<PathBuf>,
}

/// The number of an architecture, such as 90 for `sm_90`.
type Architecture = u32;

impl Compiler {
    pub(super) fn new(cache: Option<PathBuf>) -> Compiler {
        Compiler { cache }
    }

    /// Compiles a kernel for an architecture. Returns an image that the driver loads.
    ///
    /// # Errors
    /// Returns `NotFound` if NVRTC is not installed, and `Internal` with the compiler's log for a kernel that does not compile.
    pub(super) fn compile(&self, source: &str, architecture: Architecture) -> Result<Vec<u8>> {
        // SAFETY: loading the library runs its initialisers, which have no further conditions.
        if !unsafe { sys::is_culib_present() } {
            bail!(NotFound, "NVRTC (libnvrtc.so) is not installed, which compiles kernels: pip install flowmill[cuda]");
        }
        let file = self.cache_file(source, architecture)?;
        if let Some(image) = file.as_ref().and_then(|file| fs::read(file).ok()) {
            return Ok(image);
        }
        let image = compile(source, architecture)?;
        if let Some(file) = file {
            // A cache that cannot be written is not used.
            let _ = user_cache::replace(&file, &image);
        }
        Ok(image)
    }

    /// Forgets a cached image that the driver refuses. Returns false if there is none.
    pub(super) fn forget(&self, source: &str, architecture: Architecture) -> bool {
        self.cache_file(source, architecture).ok().flatten().is_some_and(|file| fs::remove_file(file).is_ok())
    }

    fn cache_file(&self, source: &str, architecture: Architecture) -> Result<Option<PathBuf>> {
        let Some(directory) = &self.cache else { return Ok(None) };
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are to integers that live through the call.
        unsafe { sys::nvrtcVersion(&mut major, &mut minor) }.result().map_err(failed)?;
        let mut hasher = SipHasher13::new();
        (source, architecture, major, minor).hash(&mut hasher);
        Ok(Some(directory.join(format!("{:032x}.bin", hasher.finish128().as_u128()))))
    }
}

fn failed(e: result::NvrtcError) -> Error {
    error!(Internal, "NVRTC failed: {e}")
}

/// A program that is destroyed when it is dropped.
struct Program(sys::nvrtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program was created by NVRTC and is destroyed once.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

fn compile(source: &str, architecture: Architecture) -> Result<Vec<u8>> {
    let supported = supported_architectures()?;
    let is_supported = supported.contains(&architecture);
    let target = match supported.iter().filter(|&&other| other <= architecture).max() {
        _ if is_supported => format!("--gpu-architecture=sm_{architecture}"),
        Some(older) => format!("--gpu-architecture=compute_{older}"),
        None => bail!(FailedPrecondition, "NVRTC does not compile for sm_{architecture}: the GPU needs an older version of CUDA"),
    };
    let text = CString::new(source).map_err(|_| error!(Internal, "the text of a kernel has a zero byte"))?;
    let program = Program(result::create_program(&text, Some(c"kernel.cu")).map_err(failed)?);
    // SAFETY: the program is alive, and so is its text.
    let compiled = unsafe { result::compile_program(program.0, &[target.as_str(), "--std=c++17", "--device-as-default-execution-space"]) };
    if let Err(e) = compiled {
        // SAFETY: the program is alive; its log is a string that ends in a zero.
        let log = unsafe { result::get_program_log(program.0) }.unwrap_or_default();
        let bytes: Vec<u8> = log.iter().map(|&c| c as u8).collect();
        let log = CStr::from_bytes_until_nul(&bytes).map(CStr::to_string_lossy).unwrap_or_default();
        bail!(Internal, "A GPU kernel does not compile for sm_{architecture}: {e}\n{log}");
    }
    if !is_supported {
        // SAFETY: the program was compiled.
        let text = unsafe { result::get_ptx(program.0) }.map_err(failed)?;
        return Ok(text.iter().map(|&c| c as u8).collect());
    }
    let mut size = 0;
    // SAFETY: the program was compiled, and the pointer is to an integer.
    unsafe { sys::nvrtcGetCUBINSize(program.0, &mut size) }.result().map_err(failed)?;
    let mut image = vec![0u8; size];
    // SAFETY: the image has as many bytes as NVRTC writes.
    unsafe { sys::nvrtcGetCUBIN(program.0, image.as_mut_ptr().cast::<c_char>()) }.result().map_err(failed)?;
    Ok(image)
}

fn supported_architectures() -> Result<Vec<Architecture>> {
    let mut count = 0;
    // SAFETY: the pointer is to an integer.
    unsafe { sys::nvrtcGetNumSupportedArchs(&mut count) }.result().map_err(failed)?;
    let mut numbers = vec![0; usize::try_from(count).unwrap_or(0)];
    // SAFETY: the vector has as many elements as NVRTC writes.
    unsafe { sys::nvrtcGetSupportedArchs(numbers.as_mut_ptr()) }.result().map_err(failed)?;
    Ok(numbers.into_iter().filter_map(|number| number.try_into().ok()).collect())
}
