//! Every element-wise kernel against the host's.

use crate::cases::{Suite, elementwise};
use crate::recorder::Recorder;
use crate::setup::{assert_no_leaks, gpus};

/// Compares the nodes of all suites. Their kernels are compiled together, since one compiler for each takes much longer.
pub(crate) fn compare(suites: &[Suite]) {
    let driver = stub_cuda::install().unwrap();
    let recorder = Recorder::new();
    suites.iter().for_each(|suite| suite.load(recorder.device()));
    let texts = recorder.texts();
    stub_cuda::precompile(texts.iter().map(String::as_str)).unwrap();
    let device = gpus().swap_remove(0);
    let differences: Vec<String> = suites.iter().flat_map(|suite| suite.differences(device.clone())).collect();
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
    drop(device);
    assert_no_leaks(&driver);
}

#[test]
fn elementwise_kernels_compute_what_the_host_computes() {
    compare(&elementwise(&Recorder::new().device()));
}
