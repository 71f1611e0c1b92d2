//! `cargo xtask licences`: every dependency may be used and shipped under Apache-2.0. Works offline.

use crate::metadata::Metadata;

/// Licences that ask for no more than a notice.
const ALLOWED: [&str; 13] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "MIT",
    "MIT-0",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Checks all packages of the lock file.
///
/// # Errors
/// One line for each package whose licence is not on the list.
pub fn check() -> Result<(), String> {
    let metadata = Metadata::read()?;
    let faults: Vec<String> = metadata
        .packages
        .iter()
        .filter(|p| !p.license.as_deref().is_some_and(is_allowed))
        .map(|p| format!("{} {}: licence {:?} is not allowed", p.name, p.version, p.license))
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Whether an SPDX expression can be satisfied: one alternative of each `AND` part is allowed. Old manifests write `/` for `OR`.
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
