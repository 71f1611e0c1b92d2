//! Runs the text cases of tests: files of inputs with their expected outputs, which the environment variable `BLESS=1` writes.
//!
//! ```text
//! # what the case shows
//! ! an option
//! the input
//! ---
//! the output
//! ===
//! ```
#![deny(missing_docs, unreachable_pub)]
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

/// The input of a case.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    head: &'a str,
    file: &'a str,
}

impl<'a> Case<'a> {
    /// Returns the file and the first line of the case, for messages.
    pub fn title(&self) -> String {
        format!("{}: {}", self.file, self.head.lines().next().unwrap_or_default())
    }

    /// Returns the lines that begin with `!`, without it.
    pub fn options(&self) -> impl Iterator<Item = &'a str> {
        self.head.lines().filter_map(|line| line.strip_prefix('!')).map(str::trim)
    }

    /// Returns the lines that are neither options nor comments.
    pub fn input(&self) -> String {
        self.head.lines().filter(|line| !line.starts_with(['#', '!'])).map(|line| format!("{line}\n")).collect()
    }
}

/// Returns the text files of a directory, sorted.
///
/// # Errors
/// Returns the error of reading the directory.
pub fn files(directory: impl AsRef<Path>) -> std::io::Result<Vec<PathBuf>> {
    let mut files = std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    files.sort_unstable();
    Ok(files)
}

/// Compares the output of each case of a file with what `output` returns for its input. With `BLESS` set, writes the outputs into the file instead.
///
/// # Errors
/// Returns the error of reading or writing the file.
///
/// # Panics
/// Panics if an output differs.
pub fn check(path: &Path, mut output: impl FnMut(&Case<'_>) -> String) -> std::io::Result<()> {
    let (text, file) = (std::fs::read_to_string(path)?, path.file_name().unwrap_or_default().to_string_lossy());
    let (bless, mut blessed) = (std::env::var_os("BLESS").is_some(), String::new());
    for case in text.split_inclusive("===\n").map(|case| case.trim_end_matches("===\n")).filter(|case| !case.trim().is_empty()) {
        let (head, expected) = case.split_once("---\n").unwrap_or((case, ""));
        let case = Case { head, file: &file };
        let actual = output(&case);
        assert!(bless || actual == expected, "{}\n{actual}", case.title());
        blessed += &format!("{head}---\n{actual}===\n");
    }
    if bless { std::fs::write(path, blessed) } else { Ok(()) }
}
