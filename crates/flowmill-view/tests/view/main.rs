//! Tests of layouts, trees of scopes and pages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod layouts;
mod pages;
mod trees;

use flowmill_graph::text::{ConstantTable, parse_graph};
use flowmill_graph::{Graph, OpRegistry};
use std::sync::{Arc, LazyLock};

static REGISTRY: LazyLock<Arc<OpRegistry>> = LazyLock::new(|| Arc::new(flowmill_ops::registry().unwrap()));

/// Returns the graph of a text.
fn graph(text: &str) -> Graph {
    parse_graph(text, &REGISTRY, &ConstantTable::new()).unwrap()
}

/// Returns a graph of `layers` scopes in a row, of 6 nodes each.
fn layers(layers: usize) -> Graph {
    let mut text = String::from("x = Placeholder() {dtype=f32, shape=[?,4]}\n");
    let values = ["0.5"; 16].join(",");
    for i in 0..layers {
        let before = if i == 0 { "x".to_owned() } else { format!("net/layer_{}/out", i - 1) };
        let scope = format!("net/layer_{i}");
        text.push_str(&format!(
            "{scope}/w = Const() {{dtype=f32, value=f32[4,4]{{{values}}}}}\n{scope}/b = Const() {{dtype=f32, value=f32[4]{{0.5,0.5,0.5,0.5}}}}\n\
             {scope}/product = MatMul({before}, {scope}/w) {{T=f32}}\n{scope}/sum = AddV2({scope}/product, {scope}/b) {{T=f32}}\n\
             {scope}/relu = Relu({scope}/sum) {{T=f32}}\n{scope}/out = AddV2({scope}/relu, {before}) {{T=f32}}\n"
        ));
    }
    graph(&text)
}
