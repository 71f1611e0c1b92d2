//! Checks that must hold for the project as a whole.

use std::process::Command;

#[track_caller]
fn succeeds(args: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(args).output().expect("xtask can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn crates_use_only_the_crates_below_them() {
    succeeds(&["layers"]);
}

#[test]
fn dependencies_may_be_used_and_shipped() {
    succeeds(&["dependencies"]);
}

#[test]
fn ops_are_recognised_by_their_traits() {
    succeeds(&["op-names"]);
}

#[test]
fn kernels_allocate_through_their_context() {
    succeeds(&["allocations"]);
}

#[test]
fn documentation_consists_of_sentences() {
    succeeds(&["prose"]);
}

#[test]
fn generated_code_is_that_of_the_proto_files() {
    succeeds(&["proto", "--check"]);
}
