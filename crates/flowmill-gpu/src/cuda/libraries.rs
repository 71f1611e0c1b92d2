//! Loading of CUDA's libraries from directories that the dynamic linker does not search, such as those of Python packages.

use std::fs;
use std::path::{Path, PathBuf};

/// The driver.
pub(super) const DRIVER: &[&str] = &["libcuda.so"];
/// The other libraries in the order in which they need each other.
pub(super) const LIBRARIES: &[&str] = &["libnvrtc-builtins.so", "libnvrtc.so", "libcublasLt.so", "libcublas.so", "libcudnn.so"];

/// Loads each library from the first directory that has it. Later requests for the library's bare name get this one. Libraries that are not found are
/// left to the dynamic linker.
pub(super) fn preload(libraries: &[&str], directories: &[PathBuf]) {
    for prefix in libraries {
        let loaded = directories.iter().flat_map(|directory| versions(directory, prefix)).find_map(|path| {
            // SAFETY: loading a library runs its initialisers; the user named the directory as one of CUDA's.
            unsafe { libloading::Library::new(path) }.ok()
        });
        // The library stays loaded as long as the process runs.
        loaded.into_iter().for_each(std::mem::forget);
    }
}

/// Returns the files in a directory whose names begin with `prefix`, in order.
fn versions(directory: &Path, prefix: &str) -> Vec<PathBuf> {
    let names = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        names.filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(prefix))).collect();
    found.sort();
    found
}
