//! `cargo xtask allocations`: kernels allocate tensors through their context, so that the memory is charged to their device.
//!
//! Found are functions of `Tensor` that allocate memory for elements, and the allocator without an account (`Allocator::process`), anywhere in the
//! crates of kernels but in their tests. Tensors that do not belong to a call of a kernel are listed in [`EXCEPTIONS`].

use crate::sources::sources;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The directories of kernels.
const DIRECTORIES: [&str; 6] = [
    "flowmill/src/io_kernels",
    "flowmill-codecs/src",
    "flowmill-cpu/src",
    "flowmill-gpu/src/kernels",
    "flowmill-host/src",
    "flowmill-kernels/src",
];

/// The functions of `Tensor` that allocate memory for elements without an account.
const ALLOCATING: [&str; 9] =
    ["copy_from_bytes", "filled_by", "from_slice", "from_strings", "index_vector", "string", "uninit", "vector", "zeros"];

/// Files that may allocate without a context, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("flowmill-gpu/src/kernels/layout.rs", "sizes of dimensions in the host's memory"),
    ("flowmill-gpu/src/kernels/pad.rs", "a scalar"),
    ("flowmill-gpu/src/kernels/reduce.rs", "axes in the host's memory"),
    ("flowmill-host/src/batching/batcher.rs", "joins the inputs of several steps"),
    ("flowmill-host/src/data_flow/barrier.rs", "keys share their bytes"),
    ("flowmill-host/src/dataset/batch.rs", "batches without elements hold no memory"),
    ("flowmill-host/src/dataset/files.rs", "records are read ahead of the steps that take them"),
    ("flowmill-host/src/image/summary.rs", "the default of an attribute is made with the kernel"),
    ("flowmill-host/src/lookup/table.rs", "prints elements in an error"),
    ("flowmill-host/src/lookup/text_file.rs", "the contents of a file are added to a table"),
];

/// Checks the sources of all kernels below `root`.
///
/// # Errors
/// One line for each file that allocates without a context and is not listed, and for each listed one that does not.
pub fn check(root: &Path) -> Result<(), String> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for directory in DIRECTORIES {
        for path in sources(&root.join("crates").join(directory)).map_err(|e| e.to_string())? {
            let text = fs::read_to_string(&path).map_err(|e| e.to_string())?;
            let tokens: TokenStream = text.parse().map_err(|e| format!("{}: {e}", path.display()))?;
            let calls = allocations(tokens);
            if !calls.is_empty() {
                let file = path.strip_prefix(root.join("crates")).unwrap_or(&path).display().to_string();
                found.insert(file, calls);
            }
        }
    }
    let mut faults: Vec<String> = Vec::new();
    for (file, calls) in &found {
        if !EXCEPTIONS.iter().any(|(listed, _)| listed == file) {
            faults.push(format!("{file} calls {}: allocate by the context's `allocator()`", calls.join(", ")));
        }
    }
    let unused = EXCEPTIONS.iter().filter(|(file, _)| !found.contains_key(*file));
    faults.extend(unused.map(|(file, _)| format!("{file} needs no exception in xtask/src/allocations.rs")));
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Returns the allocating functions that the tokens name, without those in tests.
fn allocations(tokens: TokenStream) -> Vec<String> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        if is_test_attribute(&tokens[i..]) {
            // The next group of braces is the body of the test module or function.
            i += 2;
            while i < tokens.len() && !matches!(&tokens[i], TokenTree::Group(g) if g.delimiter() == proc_macro2::Delimiter::Brace) {
                i += 1;
            }
        } else if let Some((owner, name)) = path_of(&tokens[i..]) {
            let allocates = if owner == "Tensor" {
                ALLOCATING.contains(&name.as_str())
            } else {
                owner == "Allocator" && matches!(name.as_str(), "process" | "default")
            };
            if allocates {
                found.push(format!("{owner}::{name}"));
            }
        } else if let TokenTree::Group(group) = &tokens[i] {
            found.extend(allocations(group.stream()));
        }
        i += 1;
    }
    found
}

/// Returns true if the tokens begin with `#[cfg(test)]` or `#[test]`.
fn is_test_attribute(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(attribute), ..] = tokens else { return false };
    let attribute = attribute.stream().to_string().replace(' ', "");
    hash.as_char() == '#' && (attribute == "test" || attribute == "cfg(test)")
}

/// Returns `A` and `b` if the tokens begin with `A::b`.
fn path_of(tokens: &[TokenTree]) -> Option<(String, String)> {
    match tokens {
        [TokenTree::Ident(owner), TokenTree::Punct(a), TokenTree::Punct(b), TokenTree::Ident(name), ..]
            if a.as_char() == ':' && b.as_char() == ':' =>
        {
            Some((owner.to_string(), name.to_string()))
        }
        _ => None,
    }
}
