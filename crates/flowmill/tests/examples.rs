//! The programs in `examples/` run, and what they assert holds.
#![allow(clippy::unwrap_used)]

#[path = "../examples/custom_op.rs"]
mod custom_op;
#[path = "../examples/load_and_run.rs"]
mod load_and_run;
#[path = "../examples/serve.rs"]
mod serve;
#[path = "../examples/train.rs"]
mod train;
#[path = "../examples/while_loop.rs"]
mod while_loop;

#[test]
fn a_model_is_loaded_and_run() {
    load_and_run::main().unwrap();
}

#[test]
fn a_network_is_trained() {
    train::main().unwrap();
}

#[test]
fn a_loop_runs_and_is_differentiated() {
    while_loop::main().unwrap();
}

#[test]
fn a_custom_op_is_run_and_differentiated() {
    custom_op::main().unwrap();
}

#[test]
fn many_threads_call_one_model() {
    serve::main().unwrap();
}

#[test]
fn every_example_has_a_test() {
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut names: Vec<String> =
        std::fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["custom_op.rs", "load_and_run.rs", "serve.rs", "train.rs", "while_loop.rs"]);
}
