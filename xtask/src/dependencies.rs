//! `cargo xtask dependencies`: what every dependency must be. Works offline.
//!
//! * It comes from the crates.io registry, by its checksum in `Cargo.lock`.
//! * Its licence allows use and shipping under Apache-2.0.
//! * It is none of those that are refused for what they do.
//! * Two versions of one package in the lock file are known and have a reason.
//!
//! Advisories are not looked up: their database is a git repository, which a machine without a network does not have.

use crate::metadata::Metadata;
use std::collections::BTreeMap;

/// The one registry that dependencies may come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Licences that require no more than a notice.
const ALLOWED: [&str; 14] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "MIT",
    "MIT-0",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "IJG",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Packages of which dependencies want two versions that cannot be brought together from here. Those of `glam` are in the lock file for conversions
/// that `nalgebra` offers; none is built. `ring` uses the older `getrandom` and
/// `windows-sys`, and `rcgen`, which tests alone use, the newer `base64` and `bit-vec`.
const TWICE: [&str; 11] = [
    "base64",
    "bit-vec",
    "foldhash",
    "getrandom",
    "glam",
    "hashbrown",
    "miniz_oxide",
    "quick-error",
    "syn",
    "unicode-width",
    "windows-sys",
];

/// Packages that no crate may use, also not through another package, with the reason.
const REFUSED: [(&str, &str); 1] = [(
    "parking_lot_core",
    "its table of waiting threads points into the stacks of threads that a forked process lacks; use flowmill_tensor::sync",
)];

/// Checks all packages of the lock file.
///
/// # Errors
/// One line for each fault.
pub fn check() -> Result<(), String> {
    let packages = Metadata::read()?.packages;
    let mut faults = Vec::new();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in &packages {
        let (name, version) = (&package.name, &package.version);
        versions.entry(name).or_default().push(version);
        if !package.license.as_deref().is_some_and(is_allowed) {
            faults.push(format!("{name} {version}: licence {:?} is not allowed", package.license));
        }
        if package.source.as_deref().is_some_and(|source| source != REGISTRY) {
            faults.push(format!("{name} {version}: comes from {:?} and not from crates.io", package.source));
        }
        if let Some((_, reason)) = REFUSED.iter().find(|(refused, _)| refused == name) {
            faults.push(format!("{name}: {reason}"));
        }
    }
    for (name, versions) in versions {
        if (versions.len() > 1) != TWICE.contains(&name) {
            faults.push(format!("{name}: {}; see TWICE in xtask/src/dependencies.rs", versions.join(" and ")));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Returns true if an SPDX expression can be satisfied: each `AND` part has an alternative in [`ALLOWED`]. Old manifests write `/` for `OR`.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ");
    expression
        .split(" AND ")
        .all(|part| part.split(" OR ").any(|licence| ALLOWED.contains(&licence.split_whitespace().collect::<Vec<_>>().join(" ").as_str())))
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[test]
    fn expressions_are_understood() {
        assert!(is_allowed("MIT OR Apache-2.0"));
        assert!(is_allowed("MIT/GPL-3.0"));
        assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(!is_allowed("MIT AND GPL-3.0"));
        assert!(!is_allowed(""));
    }
}
