//! The text form: what is printed reads back as the same graph.
#![allow(clippy::unwrap_used)]

use crate::support::*;
use flowmill_graph::text::{AttrText, ConstantTable, parse_graph};
use flowmill_proto::attr_value::ListValue;
use flowmill_proto::{AttrValue, NameAttrList, TensorShapeProto};
use flowmill_tensor::{Code, Complex, DType, Shape, Tensor, bf16, f16};

#[track_caller]
fn assert_round_trip(text: &str) {
    let graph = parse_graph(text, &registry(), &ConstantTable::new()).unwrap();
    assert_eq!(graph.to_string(), text);
    let again = parse_graph(&graph.to_string(), &registry(), &ConstantTable::of_graph(&graph).unwrap()).unwrap();
    assert_eq!(again.to_graph_def(), graph.to_graph_def());
}

#[test]
fn what_is_printed_reads_back() {
    assert_round_trip(
        r#"x = Placeholder() {dtype=f32, shape=[?,784]}
init:0 = NoOp()
w = Const() {dtype=f32, value=f32[2,2]{1.0,-2.5,inf,1e-12}}
y = MatMul(x, w) {T=f32, transpose_a=true} @/device:CPU:0 ^init
p = Const() {dtype=bool, value=bool[]{true}}
sw:2 = Switch(y, p) {T=f32} ^init ^w
c = Conv(sw:1) {T=f32, _class=list(string)["loc:@w"], data_format="NCHW", strides=[1,2]}
call:2 = Call(x, p) {Tin=[f32,bool], Tout=[i64,string], f=@f{n=3, s=shape[2,?], t=f32[1]{0.5}}}
"#
        .replace("1e-12", "0.000000000001")
        .as_str(),
    );
}

#[test]
fn loops_read_back() {
    let graph = import(counting_loop("", "f"));
    let text = graph.to_string();
    assert!(text.contains("merge:2 = Merge(enter, next) {N=2, T=f32}\n"), "{text}");
    let again = parse_graph(&text, &registry(), &ConstantTable::new()).unwrap();
    assert_eq!(again.to_string(), text);
}

#[test]
fn types_that_follow_from_inputs_may_be_left_out() {
    let short = "x = Placeholder() {dtype=f64}  # a comment\n\ny = AddN(x, x)\nz:3 = IdentityN(y, x, y)\nc = Const() {value=i32[2]{1,2}}\n";
    let graph = parse_graph(short, &registry(), &ConstantTable::new()).unwrap();
    let text = graph.to_string();
    assert!(text.contains("y = AddN(x, x) {N=2, T=f64}\nz:3 = IdentityN(y, x, y) {T=[f64,f64,f64]}\n"), "{text}");
    assert!(text.contains("c = Const() {dtype=i32,"), "{text}");
}

#[test]
fn tensors_of_every_type_read_back() {
    let tensors = [
        Tensor::vector(&[1i8, -128]).unwrap(),
        Tensor::vector(&[u64::MAX, 0]).unwrap(),
        Tensor::vector(&[f32::MIN_POSITIVE, f32::MAX, f32::NEG_INFINITY]).unwrap(),
        Tensor::scalar(0.1f64),
        Tensor::vector(&[f16::from_f32(0.1)]).unwrap(),
        Tensor::vector(&[bf16::from_f32(3.0)]).unwrap(),
        Tensor::vector(&[Complex::new(1.5f32, -2.0)]).unwrap(),
        Tensor::scalar(Complex::new(0.0f64, f64::INFINITY)),
        Tensor::vector(&[true, false]).unwrap(),
        Tensor::from_strings([3], vec!["a\"b\\\n".into(), "".into(), vec![0xffu8, 0].into()]).unwrap(),
        Tensor::vector(&[3u8]).unwrap().bitcast(DType::F8E4M3FN).unwrap(),
        Tensor::vector(&[-3i32]).unwrap().bitcast(DType::QI32).unwrap(),
        Tensor::zeros(DType::F32, Shape::new(&[0, 3])).unwrap(),
    ];
    for tensor in tensors {
        let graph = import([constant("c", &tensor)]);
        let again = parse_graph(&graph.to_string(), &registry(), &ConstantTable::new()).unwrap();
        let value = again.find_node("c").unwrap().attrs().get("value").unwrap();
        assert_eq!(Tensor::from_proto(value).unwrap(), tensor, "{graph}");
    }
}

#[test]
fn large_constants_are_found_by_hash() {
    let tensor = Tensor::vector(&vec![0.5f32; 100]).unwrap();
    let graph = import([constant("c", &tensor)]);
    let text = graph.to_string();
    assert!(text.starts_with("c = Const() {dtype=f32, value=f32[100]#"), "{text}");
    assert_eq!(parse_graph(&text, &registry(), &ConstantTable::new()).unwrap_err().code(), Code::NotFound);
    let again = parse_graph(&text, &registry(), &ConstantTable::of_graph(&graph).unwrap()).unwrap();
    assert_eq!(again.to_graph_def().node, graph.to_graph_def().node);
}

#[test]
fn undeclared_values_say_what_they_are() {
    let list = |l: ListValue| AttrValue::from(l);
    let shapes = vec![TensorShapeProto::of([1, -1]), TensorShapeProto { unknown_rank: true, ..Default::default() }];
    let values = [
        list(ListValue::default()),
        list(ListValue { i: vec![1, -2], ..Default::default() }),
        list(ListValue { f: vec![1.0], ..Default::default() }),
        list(ListValue { shape: shapes, ..Default::default() }),
        list(ListValue { func: vec![NameAttrList { name: "g".into(), ..Default::default() }], ..Default::default() }),
        types(&[DType::F32, DType::Variant]),
        AttrValue::from(2i64),
        AttrValue::from(2.0f32),
        AttrValue::from("2"),
        AttrValue::from(true),
        AttrValue::from(TensorShapeProto { unknown_rank: true, ..Default::default() }),
        AttrValue::default(),
    ];
    for value in values {
        let graph = import([node("n", "NoOp", &[]).with("_x", value.clone())]);
        let again = parse_graph(&graph.to_string(), &registry(), &ConstantTable::new()).unwrap();
        assert_eq!(again.find_node("n").unwrap().attrs().attr("_x"), Some(&value), "{graph}");
    }
    assert_eq!(AttrText(&types(&[DType::F32])).to_string(), "[f32]");
}

#[test]
fn a_mistake_is_answered_with_its_line() {
    for (text, message) in [
        ("x = Placeholder() {dtype=f32}\ny = Neg(x", "line 2: expected ','"),
        ("x Placeholder()", "line 1: expected '='"),
        ("x = Const() {value=f32[2]{1.0,x}}", "line 1: 'x' is not a value"),
        ("x = Const() {value=f32[2]{1.0}}", "1 values for a tensor of shape [2]"),
        ("x = NoOp() {_a=\"b}", "line 1: a string has no end"),
        ("x = NoOp() y", "line 1: unexpected 'y'"),
        ("\n= NoOp()", "line 2: unexpected '='"),
        ("x = Foo()", "Op type not registered 'Foo'"),
    ] {
        let e = parse_graph(text, &registry(), &ConstantTable::new()).unwrap_err();
        assert!(e.message().contains(message), "{text}: {e}");
    }
}
