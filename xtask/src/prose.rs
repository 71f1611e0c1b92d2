//! `cargo xtask prose`: documentation consists of sentences that a reader understands alone.
//!
//! The doc comments of Rust code, the docstrings of the Python package and the Markdown pages are read. A finding is
//!
//! * a doc comment or docstring whose first line is a fragment: it begins with one of [`FRAGMENTS`] instead of saying what the item is or does;
//! * a section `# Errors` that refers to another item's errors and names no error code;
//! * a turn of phrase that [`findings_in_words`] looks for: "stands" for being somewhere, or "a node" for a rate per node.
//!
//! Sentences that were written before this check are counted in [`EXCEPTIONS`]. The counts may only shrink.

mod extract;

use extract::Doc;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Folders and files that are read.
const ROOTS: [&str; 7] = ["crates", "xtask", "fuzz", "examples", "python", "docs", "."];

/// Files and folders that nobody writes by hand.
const GENERATED: [&str; 5] = [
    "crates/flowmill-proto/src/gen",
    "crates/flowmill/src/graph_builder/generated.rs",
    "docs/api.md",
    "CHANGELOG.md",
    "python/flowmill/_core.pyi",
];

/// Modules, other files and folders with findings, and how many they may have. `a/b` is the module of `a/b.rs` and of all files below `a/b`.
const EXCEPTIONS: &[(&str, usize)] = &[];

/// Openings of a first line that make it a fragment, or a sentence without a subject that its reader can name.
const FRAGMENTS: [&str; 19] = [
    "As", "By", "From", "Gives", "How", "Let", "Lets", "Of", "Same", "That", "The same", "Those", "What", "Where", "Whether", "Which",
    "Who", "Why", "With",
];

/// Openings of a section `# Errors` that leave the errors to another item.
const ERROR_REFERENCES: [&str; 8] = ["As", "Like", "See", "The errors of", "The same", "Those", "What", "Where"];

/// Names of error codes, one of which a section `# Errors` gives.
const ERROR_CODES: [&str; 16] = [
    "Cancelled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "Unauthenticated",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "DataLoss",
];

/// Units after which "a node" means "per node".
const UNITS: [&str; 11] = ["ns", "µs", "ms", "s", "bytes", "byte", "KB", "MB", "GB", "instructions", "times"];

/// Adverbs after which "a step" means "per step".
const FREQUENCIES: [&str; 2] = ["once", "twice"];

/// Things that a rate can be per.
const COUNTED: [&str; 19] = [
    "batch",
    "byte",
    "call",
    "edge",
    "element",
    "frame",
    "graph",
    "image",
    "input",
    "iteration",
    "layer",
    "node",
    "op",
    "output",
    "pass",
    "row",
    "run",
    "step",
    "tile",
];

/// Checks all documentation below `root`.
///
/// # Errors
/// Returns one line for each finding of a module, file or folder that has more findings than [`EXCEPTIONS`] allows, and one for each exception that allows
/// more than there are.
pub fn check(root: &Path) -> Result<(), String> {
    let mut found = Vec::new();
    for path in documents(root).map_err(|e| e.to_string())? {
        let text = fs::read_to_string(root.join(&path)).map_err(|e| format!("{path}: {e}"))?;
        let findings = findings(&path, &text);
        if !findings.is_empty() {
            found.push((path, findings));
        }
    }
    let faults = compare(&found, EXCEPTIONS);
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Returns a line for each finding that no exception allows, and for each exception that is stale.
fn compare(found: &[(String, Vec<String>)], exceptions: &[(&str, usize)]) -> Vec<String> {
    let covers = |listed: &str, path: &str| {
        let module = path.strip_suffix(".rs").unwrap_or(path);
        path == listed || module.strip_prefix(listed).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut faults = Vec::new();
    for (path, findings) in found {
        if !exceptions.iter().any(|(listed, _)| covers(listed, path)) {
            faults.extend(findings.iter().cloned());
        }
    }
    for (listed, allowed) in exceptions {
        let covered: Vec<&String> = found.iter().filter(|(path, _)| covers(listed, path)).flat_map(|(_, findings)| findings).collect();
        if covered.len() > *allowed {
            faults.extend(covered.iter().map(|finding| (*finding).clone()));
            faults.push(format!("{listed} has {} findings, {allowed} are allowed in xtask/src/prose.rs: mend what is new", covered.len()));
        } else if covered.len() < *allowed {
            faults.push(format!("{listed} has {} findings: lower its count, {allowed}, in xtask/src/prose.rs", covered.len()));
        }
    }
    faults
}

/// Returns the paths of all files that are read, relative to `root`, in order.
fn documents(root: &Path) -> io::Result<Vec<String>> {
    let mut paths = Vec::new();
    for directory in ROOTS {
        collect(root, Path::new(directory), &mut paths)?;
    }
    paths.sort();
    Ok(paths)
}

/// Appends the documents of a directory. Of the root itself only its files are taken.
fn collect(root: &Path, directory: &Path, paths: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(directory))? {
        let entry = entry?;
        let path = directory.join(entry.file_name());
        let path = path.strip_prefix(".").map(Path::to_path_buf).unwrap_or(path);
        let name = path.to_string_lossy().replace('\\', "/");
        if GENERATED.contains(&name.as_str()) || name.ends_with("/target") {
            continue;
        }
        if entry.file_type()?.is_dir() {
            if directory != Path::new(".") {
                collect(root, &path, paths)?;
            }
        } else if ["rs", "py", "md"].iter().any(|e| PathBuf::from(&name).extension().is_some_and(|x| x == *e)) {
            paths.push(name);
        }
    }
    Ok(())
}

/// Returns the findings of one file, each as `path:line: reason`.
fn findings(path: &str, text: &str) -> Vec<String> {
    let is_markdown = path.ends_with(".md");
    let docs = match path.rsplit('.').next() {
        Some("rs") => extract::rust(text),
        Some("py") => extract::python(text),
        _ => extract::markdown(text),
    };
    let mut found = Vec::new();
    for doc in &docs {
        let mut report = |line: usize, reason: String| found.push(format!("{path}:{}: {reason}", doc.line + line));
        if !is_markdown && let Some(opening) = doc.lines.first().and_then(|line| opening(line, &FRAGMENTS)) {
            report(0, format!("a first line that begins with \"{opening}\" is a fragment: say what the item is or does"));
        }
        for (line, opening) in vague_errors(doc) {
            report(line, format!("`# Errors` begins with \"{opening}\" and names no error code"));
        }
        for (line, reason) in findings_in_words(doc) {
            report(line, reason);
        }
    }
    found
}

/// Returns the opening that `line` begins with, as whole words.
fn opening<'a>(line: &str, openings: &[&'a str]) -> Option<&'a str> {
    let follows = |rest: &str| rest.chars().next().is_none_or(|c| c.is_whitespace() || ",;:.".contains(c));
    openings.iter().copied().find(|opening| line.strip_prefix(opening).is_some_and(follows))
}

/// Returns the sections `# Errors` whose first paragraph refers to other errors without a code, with the lines they begin at.
fn vague_errors(doc: &Doc) -> Vec<(usize, &'static str)> {
    let headings = doc.lines.iter().enumerate().filter(|(_, line)| line.as_str() == "# Errors").map(|(i, _)| i);
    let mut found = Vec::new();
    for heading in headings {
        let Some(start) = (heading + 1..doc.lines.len()).find(|&i| !doc.lines[i].is_empty()) else { continue };
        let paragraph = doc.lines[start..].iter().take_while(|line| !line.is_empty() && !line.starts_with('#'));
        let names_code = paragraph.flat_map(|line| line.split(|c: char| !c.is_alphanumeric())).any(|word| ERROR_CODES.contains(&word));
        if !names_code && let Some(opening) = opening(&doc.lines[start], &ERROR_REFERENCES) {
            found.push((start, opening));
        }
    }
    found
}

/// Returns turns of phrase that have a plain counterpart, with their lines.
fn findings_in_words(doc: &Doc) -> Vec<(usize, String)> {
    let words: Vec<(usize, &str)> =
        doc.lines.iter().enumerate().flat_map(|(i, line)| line.split_whitespace().map(move |w| (i, w))).collect();
    let plain = |i: usize| words.get(i).map_or("", |(_, word)| word.trim_matches(|c: char| ",.;:()".contains(c)));
    // A word that a sentence or clause ends with is not joined to the next one.
    let joined = |i: usize| words.get(i).is_some_and(|(_, word)| !word.ends_with([',', '.', ';', ':', ')']));
    let mut found = Vec::new();
    for (i, &(line, _)) in words.iter().enumerate() {
        let word = plain(i);
        if word == "stands" || word == "stand" {
            found.push((line, format!("\"{word}\": write \"is\", \"lives in\", \"means\" or \"replaces\"")));
        }
        let is_amount = UNITS.contains(&word) && i > 0 && plain(i - 1).ends_with(|c: char| c.is_ascii_digit());
        let is_rate = (is_amount || FREQUENCIES.contains(&word)) && joined(i) && ["a", "an"].contains(&plain(i + 1));
        if is_rate && COUNTED.contains(&plain(i + 2)) {
            found.push((line, format!("\"{word} {} {}\": write \"per {}\"", plain(i + 1), plain(i + 2), plain(i + 2))));
        }
    }
    found
}

#[cfg(test)]
mod tests;
