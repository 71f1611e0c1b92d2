//! The source files of crates.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Returns all Rust files below a directory in order, without those of tests.
pub fn sources(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
        if path.is_dir() && !is_test {
            files.extend(sources(&path)?);
        } else if path.extension().is_some_and(|e| e == "rs") && !is_test {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
