//! Asks the linker for a small module, in the words that the linker of this build understands.
//!
//! An optimised module has one copy of functions that are equal, most of which are instances of generic code, and similar functions lie beside each other,
//! within reach of the wheel's compression. `lld`, which is what Rust links with on x86-64 Linux, has options for both. Other linkers make a larger module.

use std::env;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const OPTIONS: [&str; 2] = ["-Wl,--icf=all", "-Wl,--bp-compression-sort=both"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    // A module for tests links faster without.
    if matches!(env::var("OPT_LEVEL").as_deref(), Ok("0" | "1")) {
        return;
    }
    for option in OPTIONS.iter().filter(|option| links_with(option)) {
        println!("cargo::rustc-cdylib-link-arg={option}");
    }
}

/// Returns true if a library links with the option.
fn links_with(option: &str) -> bool {
    let variable = |name| env::var(name).unwrap_or_default();
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--crate-type=cdylib", "--crate-name=linked", "--target", &variable("TARGET"), "-C", &format!("link-arg={option}"), "-o"]);
    rustc.arg(Path::new(&variable("OUT_DIR")).join("linked")).args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    let child = rustc.arg("-").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    child.is_ok_and(|mut child| {
        let written =
            child.stdin.take().is_some_and(|mut source| source.write_all(b"#[unsafe(no_mangle)] pub extern \"C\" fn linked() {}").is_ok());
        child.wait().is_ok_and(|status| status.success()) && written
    })
}
