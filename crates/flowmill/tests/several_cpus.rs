//! Sessions on several CPU devices, as far as the Python tests cannot see them.
#![allow(clippy::unwrap_used)]

use flowmill::{Code, DType, GraphBuilder, Ops, PartialShape, RunOptions, Session, SessionOptions, Tensor};
use flowmill_graph::text::{ConstantTable, parse_graph};
use flowmill_tensor::sync::RwLock;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

fn options(num_cpus: usize) -> SessionOptions {
    SessionOptions { device_count: BTreeMap::from([("CPU".to_owned(), num_cpus)]), ..SessionOptions::default() }
}

fn session(text: &str, num_cpus: usize) -> Session {
    let graph = parse_graph(text, &flowmill::registry().unwrap(), &ConstantTable::default()).unwrap();
    Session::new(Arc::new(RwLock::new(graph)), flowmill::kernels(), options(num_cpus)).unwrap()
}

fn cpu(i: usize) -> String {
    format!("/job:localhost/replica:0/task:0/device:CPU:{i}")
}

#[test]
fn a_session_has_the_cpus_that_its_options_count() {
    for count in [1, 3] {
        let names: Vec<String> = session("", count).devices().map(|device| device.name.to_string()).collect();
        assert_eq!(names, (0..count).map(cpu).collect::<Vec<_>>());
    }
    let kernels = flowmill::kernels();
    assert_eq!(options(0).cpus(&kernels).err().map(|e| e.code()), Some(Code::NotFound));
    assert_eq!(options(SessionOptions::MAX_CPUS + 1).cpus(&kernels).err().map(|e| e.code()), Some(Code::InvalidArgument));
    let counted = |count| options(count).cpus(&kernels).unwrap().iter().filter(|device| device.memory_stats().is_some()).count();
    assert_eq!((counted(1), counted(2)), (0, 2), "a single CPU does not pay for an account");
}

#[test]
fn tensors_move_between_cpus_without_a_copy() {
    let session = session(
        "x = Placeholder() {dtype=f32, shape=[?]}
         a = Identity(x) {T=f32} @/device:CPU:1
         b = Identity(a) {T=f32} @/device:CPU:2",
        3,
    );
    let x = Tensor::from_slice([1000], &[1.5f32; 1000]).unwrap();
    let fetched = session.run(&[("x:0", x.clone())], &["a:0", "b:0"], &[]).unwrap();
    for tensor in &fetched {
        assert_eq!(tensor.as_slice::<f32>().unwrap().as_ptr(), x.as_slice::<f32>().unwrap().as_ptr());
    }
}

const VARIABLE: &str = "
    v = VarHandleOp() {dtype=f32, shape=[], shared_name=\"v\"} @/device:CPU:1
    one = Const() {value=f32[]{1.0}}
    init = AssignVariableOp(v, one) {dtype=f32} @/device:CPU:1
    there = ReadVariableOp(v) {dtype=f32}
    handle = Placeholder() {dtype=resource, shape=[]}
    elsewhere = ReadVariableOp(handle) {dtype=f32} @/device:CPU:2
    handle_of_same = Placeholder() {dtype=resource, shape=[]}
    same = ReadVariableOp(handle_of_same) {dtype=f32} @/device:CPU:1
";

#[test]
fn handles_name_their_device_and_other_devices_refuse_them() {
    let session = session(VARIABLE, 3);
    session.run(&[], &[], &["init"]).unwrap();
    let handle = session.run(&[], &["v:0"], &[]).unwrap().remove(0);
    assert_eq!(handle.as_resources().unwrap()[0].device().map(|device| device.to_string()), Some(cpu(1)));
    assert_eq!(handle.to_proto().unwrap().resource_handle_val[0].device, cpu(1));
    assert_eq!(Tensor::from_proto(&handle.to_proto().unwrap()).unwrap().as_resources().unwrap()[0].device().map(|d| &**d), Some(&*cpu(1)));
    // Nodes that use one placeholder are on one device.
    let fed = [("handle:0", handle.clone()), ("handle_of_same:0", handle)];
    for fetch in ["there:0", "same:0"] {
        assert_eq!(session.run(&fed, &[fetch], &[]).unwrap()[0].to_scalar::<f32>().unwrap(), 1.0);
    }
    let error = session.run(&fed, &["elsewhere:0"], &[]).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert_eq!(error.message(), format!("Trying to access resource v located in device {} from device {}", cpu(1), cpu(2)));
    assert_eq!(error.node(), Some("elsewhere"));
}

#[test]
fn a_step_returns_the_graph_of_each_device() {
    let session = session(VARIABLE, 3);
    let wanted = RunOptions { output_partition_graphs: true, ..RunOptions::default() };
    session.run(&[], &[], &["init"]).unwrap();
    let graphs = session.run_with(&[], &["there:0"], &[], &wanted).unwrap().partition_graphs;
    let devices: Vec<BTreeSet<&str>> = graphs.iter().map(|graph| graph.node.iter().map(|node| node.device.as_str()).collect()).collect();
    assert_eq!(devices, [BTreeSet::from([&*cpu(0)]), BTreeSet::from([&*cpu(1)])]);
    let has = |graph: usize, name: &str| graphs[graph].node.iter().any(|node| node.name == name);
    assert!(has(1, "there") && has(1, "v") && !has(0, "there"));
    let without = session.run_with(&[], &["there:0"], &[], &RunOptions::default()).unwrap();
    assert!(without.partition_graphs.is_empty());
}

#[test]
fn functions_of_all_parts_are_searched_for_ops_without_kernels() {
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [2]).unwrap();
    let scalars = [(DType::F32, PartialShape::new(&[2]))];
    let f = b.function("f", scalars, |[x]| Ok([b.op("RiscAbs").name("absent").input(x).output()?])).unwrap();
    let [y] = b.with_device("/device:CPU:1", || f.call([x])).unwrap();
    let z = b.with_device("/device:CPU:0", || b.neg(y)).unwrap();
    let options = SessionOptions { lower: false, ..options(2) };
    let session = Session::new(b.shared_graph().clone(), flowmill::kernels(), options).unwrap();
    let missing = session.ops_without_kernels(&[], &[&z.name().unwrap()], &[]).unwrap();
    let nodes: Vec<&str> = missing.values().flatten().map(String::as_str).collect();
    assert_eq!((missing.keys().map(String::as_str).collect::<Vec<_>>(), nodes.len()), (vec!["RiscAbs"], 1), "{missing:?}");
}
