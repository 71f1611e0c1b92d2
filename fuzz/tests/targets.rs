//! Every fuzz target for a bounded time: `FLOWMILL_FUZZ_SECONDS` each, one second if nothing is said.

use std::process::Command;

#[test]
fn no_input_makes_a_target_panic() {
    let seconds = std::env::var("FLOWMILL_FUZZ_SECONDS").unwrap_or("1".to_owned());
    let status = Command::new(env!("CARGO_BIN_EXE_flowmill-fuzz")).args(["--seconds", &seconds]).status();
    assert!(status.is_ok_and(|s| s.success()));
}
