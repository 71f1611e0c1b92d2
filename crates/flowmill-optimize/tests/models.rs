//! The passes reduce models that TensorFlow exported to the expected ops.
#![allow(clippy::unwrap_used)]

mod support;

use flowmill_graph::{Graph, ImportOptions, NodeId, import_graph_def, rewrite_for_execution};
use flowmill_optimize::{Options, Target, optimize_with_shapes};
use flowmill_proto::{GraphDef, Message};
use std::collections::BTreeMap;
use support::{Arithmetic, Plain, assert_shapes_hold, registry};

/// The number of nodes of each op, except `Const`.
type Ops = BTreeMap<String, usize>;

fn optimized(model: &str, output: &str, disabled: &[&str]) -> Graph {
    optimized_for(&Arithmetic, model, output, disabled)
}

fn optimized_for(target: &dyn Target, model: &str, output: &str, disabled: &[&str]) -> Graph {
    let bytes = std::fs::read(format!("{}/../../tests/data/models/{model}.pb", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut graph = Graph::new(registry());
    import_graph_def(&mut graph, GraphDef::decode(&bytes[..]).unwrap(), &ImportOptions::default()).unwrap();
    rewrite_for_execution(&mut graph, &["x:0"], &[output], &[]).unwrap();
    let disabled: Vec<String> = disabled.iter().map(|&d| d.to_owned()).collect();
    let (report, shapes) = optimize_with_shapes(&mut graph, &Options { disabled: &disabled, ..Options::default() }, target);
    assert_shapes_hold(&graph, &shapes, model);
    assert_eq!(report.num_failures(), 0, "{report:?}");
    assert_eq!(report.num_nodes_after, graph.num_nodes());
    graph.validate().unwrap();
    graph
}

fn ops(graph: &Graph) -> Ops {
    let mut ops = Ops::new();
    for node in graph.op_nodes().filter(|n| !n.is_op("Const") && n.id() > NodeId::SINK) {
        *ops.entry(node.op().to_owned()).or_default() += 1;
    }
    ops
}

fn expect(expected: &[(&str, usize)]) -> Ops {
    expected.iter().map(|&(op, n)| (op.to_owned(), n)).collect()
}

#[test]
fn every_batch_norm_bias_residual_and_activation_of_resnet_is_fused() {
    let graph = optimized("resnet_small", "Identity:0", &[]);
    let once = ["MaxPool", "Mean", "Pad", "Softmax", "_Arg", "_FusedMatMul", "_Retval"].map(|op| (op, 1));
    // The last block of three stages is computed at the positions that the next stage reads, and so is the shortcut around it.
    assert_eq!(ops(&graph), expect(&[&once[..], &[("StridedSlice", 3), ("_FusedConv2D", 53)]].concat()));
    let with_residual = graph.op_nodes().filter(|n| n.attrs().list::<&str>("fused_ops").is_ok_and(|ops| ops == ["BiasAdd", "Add", "Relu"]));
    assert_eq!(with_residual.count(), 16);
    let pads_itself = graph.op_nodes().filter(|n| n.attrs().get::<&str>("padding").is_ok_and(|p| p == "EXPLICIT"));
    assert_eq!(pads_itself.count(), 1 + 3);
}

#[test]
fn blocks_of_mobilenet_are_one_node_each() {
    // Three projections have 8 channels: they are dot products, and nodes of their own. One of them is behind a block without an expansion.
    let expected = [
        ("Mean", 1),
        ("Softmax", 1),
        ("_Arg", 1),
        ("_FusedConv2D", 2 + 3),
        ("_FusedDepthwiseConv2dNative", 1),
        ("_FusedMatMul", 1),
        ("_FusedSeparableConv2D", 16),
        ("_Retval", 1),
    ];
    assert_eq!(ops(&optimized("mobilenetv2_small", "Identity:0", &[])), expect(&expected));
}

#[test]
fn a_perceptron_is_three_products() {
    assert_eq!(ops(&optimized("mlp", "y:0", &[])), expect(&[("Softmax", 1), ("_Arg", 1), ("_FusedMatMul", 3), ("_Retval", 1)]));
}

#[test]
fn both_activations_of_an_encoder_are_fused_though_they_stand_behind_a_reshape() {
    let graph = optimized("bert_small", "y:0", &[]);
    let with_activation = graph.op_nodes().filter(|n| n.attrs().list::<&str>("fused_ops").is_ok_and(|ops| ops == ["BiasAdd", "GeluExact"]));
    assert_eq!(with_activation.count(), 2);
    let ops = ops(&graph);
    assert_eq!(ops["_FusedMatMul"], 12);
    assert!(!ops.contains_key("Erf"));
}

#[test]
fn every_normalisation_of_an_encoder_is_one_node() {
    let normalised = ops(&optimized("bert_small", "y:0", &[]));
    assert_eq!(normalised["_FusedLayerNorm"], 5);
    assert!(!normalised.contains_key("Rsqrt") && !normalised.contains_key("Mean"));
    assert_eq!(ops(&optimized("bert_small", "y:0", &["fuse_layer_norm", "fuse_reductions", "fuse_elementwise"]))["Rsqrt"], 5);
}

#[test]
fn the_gates_of_a_recurrent_cell_are_one_node() {
    let cell = ops(&optimized("lstm_small", "y:0", &[]));
    assert_eq!((cell["_FusedMatMul"], cell["_FusedElementwise"]), (1, 1));
    assert!(["Sigmoid", "Tanh", "Mul", "Split"].iter().all(|&op| !cell.contains_key(op)));
    assert_eq!(ops(&optimized("lstm_small", "y:0", &["fuse_elementwise"]))["Sigmoid"], 3);
}

#[test]
fn the_inputs_of_a_recurrent_cell_are_multiplied_before_the_loop() {
    let graph = optimized("lstm_small", "y:0", &[]);
    let cell = ops(&graph);
    assert_eq!((cell["_HoistedMatMul"], cell["TensorArrayV3"], cell.get("ConcatV2")), (1, 1, None));
    let frames = flowmill_graph::ControlFlow::new(&graph).unwrap();
    let is_in_loop = |op: &str| graph.op_nodes().filter(|n| n.is_op(op)).all(|n| frames.frame(frames.frame_of(n.id())).parent.is_some());
    assert!(is_in_loop("_FusedMatMul") && !is_in_loop("_HoistedMatMul"));
    assert_eq!(ops(&optimized("lstm_small", "y:0", &["hoist_products"]))["ConcatV2"], 1);
}

#[test]
fn each_pass_can_be_switched_off() {
    // Sums that are left over are not fused with each other here, so that they can be counted.
    let without = |pass| ops(&optimized("resnet_small", "Identity:0", &[pass, "fuse_elementwise"]));
    let all = without("none");
    assert_eq!(without("fuse_epilogues")["Conv2D"], 53);
    assert_eq!(without("fold_padding")["Pad"], 2);
    assert_eq!(without("fold_batch_norm")["AddV2"], 53 + 16);
    assert!(without("fold_constants")["Rsqrt"] > 0);
    assert!(without("remove_identities")["Identity"] > 0);
    for pass in ["prune", "merge_duplicates"] {
        assert_eq!(without(pass)["_FusedConv2D"], all["_FusedConv2D"]);
    }
}

#[test]
fn a_target_without_fused_kernels_gets_no_fused_ops() {
    for (model, output) in [("resnet_small", "Identity:0"), ("mobilenetv2_small", "Identity:0")] {
        let graph = optimized_for(&Plain, model, output, &[]);
        let is_fused = |n: &&flowmill_graph::Node| n.op().starts_with("_Fused");
        assert_eq!(graph.op_nodes().filter(is_fused).map(|n| n.name()).collect::<Vec<_>>(), Vec::<&str>::new());
        // Batch norms are folded all the same.
        assert!(!ops(&graph).keys().any(|op| op.starts_with("FusedBatchNorm")));
    }
}
