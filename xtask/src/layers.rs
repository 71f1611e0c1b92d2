//! `cargo xtask layers`: every crate uses only the crates below it.

use crate::metadata::{Metadata, Package};

/// The crates from the bottom up. Each may use any that precedes it.
const LAYERS: [&str; 29] = [
    "flowmill-allocator",
    "flowmill-parallel",
    "flowmill-numeric",
    "flowmill-proto",
    "flowmill-tensor",
    "flowmill-codecs",
    "flowmill-graph",
    "flowmill-ops",
    "flowmill-runtime",
    "flowmill-optimize",
    "flowmill-placement",
    "flowmill-partition",
    "flowmill-cost",
    "flowmill-timeline",
    "flowmill-session",
    "flowmill-view",
    "flowmill-kernels",
    "flowmill-host",
    "flowmill-cpu",
    "flowmill-gpu",
    "flowmill-savedmodel",
    "flowmill",
    "flowmill-serving",
    "flowmill-cluster",
    "flowmill-cli",
    "flowmill-python",
    "flowmill-fuzz",
    EXAMPLES[0],
    EXAMPLES[1],
];

/// Crates like those of users: they use the facade alone, in their tests too.
const EXAMPLES: [&str; 2] = ["flowmill-example-custom-device", "flowmill-example-custom-op"];

/// Pairs that the order allows and the design does not: a crate and one it must not know.
const FORBIDDEN: [(&str, &str); 13] = [
    ("flowmill-runtime", "flowmill-ops"),
    ("flowmill-runtime", "flowmill-numeric"),
    ("flowmill-optimize", "flowmill-runtime"),
    ("flowmill-kernels", "flowmill-optimize"),
    ("flowmill-kernels", "flowmill-session"),
    ("flowmill-host", "flowmill-optimize"),
    ("flowmill-host", "flowmill-session"),
    ("flowmill-cpu", "flowmill-optimize"),
    ("flowmill-cpu", "flowmill-session"),
    ("flowmill-cpu", "flowmill-host"),
    ("flowmill-savedmodel", "flowmill-runtime"),
    ("flowmill-savedmodel", "flowmill-session"),
    ("flowmill-savedmodel", "flowmill-cpu"),
];

/// Checks all crates of the workspace.
///
/// # Errors
/// One line for each dependency that points the wrong way and each crate without a layer.
pub fn check() -> Result<(), String> {
    let metadata = Metadata::read()?;
    let mut faults = Vec::new();
    for package in metadata.members().filter(|p| p.name.starts_with("flowmill")) {
        let Some(own) = layer(&package.name) else {
            faults.push(format!("{} has no layer in xtask/src/layers.rs", package.name));
            continue;
        };
        for used in uses(package) {
            let is_below =
                if EXAMPLES.contains(&package.name.as_str()) { used == "flowmill" } else { layer(used).is_some_and(|l| l < own) };
            let allowed = is_below && !FORBIDDEN.contains(&(package.name.as_str(), used));
            if !allowed {
                faults.push(format!("{} must not use {used}", package.name));
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|&l| l == name)
}

/// The workspace's crates that a package's own code uses; tests may use any.
fn uses(package: &Package) -> impl Iterator<Item = &str> {
    let with_tests = EXAMPLES.contains(&package.name.as_str());
    package
        .dependencies
        .iter()
        .filter(move |d| (with_tests || d.kind.as_deref() != Some("dev")) && d.name.starts_with("flowmill"))
        .map(|d| d.name.as_str())
}
