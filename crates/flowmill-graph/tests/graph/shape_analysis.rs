//! Shapes with names for unknown sizes: which of them are known, and which are equal.
#![allow(clippy::unwrap_used)]

use flowmill_graph::text::{ConstantTable, parse_graph};
use flowmill_graph::{Graph, OpRegistry, OutputId, ShapeAnalysis, rewrite_for_execution};
use std::fmt::Write;
use std::sync::{Arc, LazyLock};

static REGISTRY: LazyLock<Arc<OpRegistry>> = LazyLock::new(|| Arc::new(OpRegistry::new(flowmill_ops::catalogue()).unwrap()));

struct Analysed {
    graph: Graph,
    shapes: ShapeAnalysis,
}

fn analysed(text: &str) -> Analysed {
    let graph = parse_graph(text, &REGISTRY, &ConstantTable::default()).unwrap();
    let shapes = ShapeAnalysis::new(&graph);
    Analysed { graph, shapes }
}

impl Analysed {
    fn tensor(&self, name: &str) -> OutputId {
        self.graph.find_node(name).unwrap().id().output(0)
    }

    /// The static shape, `?` for any unknown size.
    fn shape(&self, name: &str) -> String {
        self.shapes.shape(self.tensor(name)).to_string()
    }

    fn are_equal(&self, a: &str, b: &str) -> bool {
        self.shapes.are_equal(self.tensor(a), self.tensor(b))
    }
}

#[test]
fn an_unknown_batch_is_equal_to_itself_through_a_deep_network() {
    for sum in ["Add", "AddV2"] {
        let mut text = "x = Placeholder() {dtype=f32, shape=[?,8]}\nw = Placeholder() {dtype=f32, shape=[8,8]}\nb = Placeholder() {dtype=f32, shape=[8]}\nh0 = Identity(x)\n".to_owned();
        for i in 0..500 {
            writeln!(text, "p{i} = MatMul(h{i}, w)\nq{i} = BiasAdd(p{i}, b)\nr{i} = Relu(q{i})\nh{} = {sum}(h{i}, r{i})", i + 1).unwrap();
        }
        let net = analysed(&text);
        assert_eq!(net.shape("h500"), "[?,8]");
        assert!(net.are_equal("h500", "x"));
        assert!(net.are_equal("r0", "r499"));
    }
}

#[test]
fn two_unknown_sizes_are_not_equal() {
    let two = analysed(
        "x = Placeholder() {dtype=f32, shape=[?,?]}
         y = Placeholder() {dtype=f32, shape=[?,?]}
         u = Placeholder() {dtype=f32}
         v = Placeholder() {dtype=f32}
         s = AddV2(x, y)
         t = Transpose(x, p)
         p = Const() {value=i32[2]{1,0}}
         tt = Transpose(t, p)",
    );
    for (a, b) in [("x", "y"), ("u", "v"), ("x", "u"), ("s", "x"), ("s", "y"), ("t", "x")] {
        assert!(!two.are_equal(a, b), "{a} and {b}");
    }
    assert!(two.are_equal("u", "u"));
    assert!(two.are_equal("tt", "x"));
}

/// A residual block whose first convolution and shortcut both halve the image, whose shape is not even known to have four dimensions.
fn residual_block(input: &str, sum: &str) -> Analysed {
    analysed(&format!(
        "x = Placeholder() {{dtype=f32{input}}}
         w = Placeholder() {{dtype=f32, shape=[3,3,4,4]}}
         v = Placeholder() {{dtype=f32, shape=[1,1,4,4]}}
         b = Placeholder() {{dtype=f32, shape=[4]}}
         short = Conv2D(x, v) {{strides=[1,2,2,1], padding=\"VALID\"}}
         c1 = Conv2D(x, w) {{strides=[1,2,2,1], padding=\"SAME\"}}
         b1 = BiasAdd(c1, b)
         r1 = Relu6(b1)
         pads = Const() {{value=i32[4,2]{{0,0,1,1,1,1,0,0}}}}
         p2 = Pad(r1, pads)
         c2 = Conv2D(p2, w) {{strides=[1,1,1,1], padding=\"VALID\"}}
         c3 = Conv2D(r1, w) {{strides=[1,1,1,1], padding=\"EXPLICIT\", explicit_paddings=[0,0,1,1,1,1,0,0]}}
         c4 = MaxPool(r1) {{ksize=[1,3,3,1], strides=[1,1,1,1], padding=\"SAME\"}}
         valid = Conv2D(r1, w) {{strides=[1,1,1,1], padding=\"VALID\"}}
         y = {sum}(short, c2)"
    ))
}

#[test]
fn the_branches_of_a_residual_block_have_equal_shapes() {
    for input in ["", ", shape=[?,?,?,4]", ", shape=[?,?,?,?]", ", shape=[?,17,?,4]"] {
        for sum in ["Add", "AddV2", "Maximum"] {
            let block = residual_block(input, sum);
            for branch in ["c1", "c2", "c3", "c4", "y"] {
                assert!(block.are_equal("short", branch), "{branch} of {input:?}, joined by {sum}");
            }
            assert!(!block.are_equal("short", "valid"), "a window that takes fewer places, of {input:?}");
            assert!(!block.are_equal("short", "x"), "{input:?}");
        }
    }
}

#[test]
fn sizes_follow_windows_as_their_kernels_compute_them() {
    let images = analysed(
        "x = Placeholder() {dtype=f32, shape=[?,?,?,4]}
         w = Placeholder() {dtype=f32, shape=[3,3,4,4]}
         quarter = MaxPool(x) {ksize=[1,2,2,1], strides=[1,4,4,1], padding=\"SAME\"}
         half = MaxPool(x) {ksize=[1,2,2,1], strides=[1,2,2,1], padding=\"SAME\"}
         halves = Conv2D(half, w) {strides=[1,2,2,1], padding=\"SAME\"}
         once = Conv2D(x, w) {strides=[1,1,1,1], padding=\"VALID\"}
         twice = Conv2D(once, w) {strides=[1,1,1,1], padding=\"VALID\"}
         dilated = Conv2D(x, w) {strides=[1,1,1,1], padding=\"VALID\", dilations=[1,2,2,1]}
         floor = MaxPool(x) {ksize=[1,2,2,1], strides=[1,2,2,1], padding=\"VALID\"}",
    );
    assert!(images.are_equal("quarter", "halves"));
    assert!(images.are_equal("twice", "dilated"));
    assert!(!images.are_equal("once", "twice"));
    assert!(!images.are_equal("half", "floor"), "an odd size is rounded up by one and down by the other");
}

#[test]
fn sizes_are_followed_through_tensors_that_are_shapes() {
    let head = "x = Placeholder() {dtype=f32, shape=[?,?,12]}
                zero = Const() {value=i32[1]{0}}
                one = Const() {value=i32[1]{1}}
                two = Const() {value=i32[1]{2}}
                three = Const() {value=i32[]{3}}
                four = Const() {value=i32[]{4}}
                minus = Const() {value=i32[]{-1}}
                twelve = Const() {value=i32[1]{12}}
                at = Const() {value=i32[]{0}}
                flat_shape = Const() {value=i32[2]{-1,12}}
                s = Shape(x)
                batch = StridedSlice(s, zero, one, one) {shrink_axis_mask=1}
                time = StridedSlice(s, one, two, one) {shrink_axis_mask=1}
                flat = Reshape(x, flat_shape)
                prefix = StridedSlice(s, zero, two, one)
                parts:3 = Unpack(s) {num=3, T=i32}
                gathered = GatherV2(s, zero, at)
                rest = GatherV2(s, one, at)\n";
    // Each makes the shape [batch, time, 12] or its heads [batch, time, 3, 4] in another way.
    for shape in [
        "shape = Pack(batch, time, parts:2)",
        "shape = Pack(parts, parts:1, parts:2)",
        "shape = ConcatV2(prefix, twelve, at)",
        "shape = ConcatV2(gathered, rest, twelve, at)",
        "shape = Pack(batch, minus, parts:2)",
        "sum = AddV2(time, three)\nback = Sub(sum, three)\nshape = Pack(batch, back, parts:2)",
    ] {
        let text = format!("{head}{shape}\nback_again = Reshape(flat, shape)\nfilled = Fill(shape, minus)");
        let graph = analysed(&text);
        assert_eq!(graph.shape("back_again"), "[?,?,12]", "{shape}");
        assert!(graph.are_equal("back_again", "x"), "{shape}");
        assert!(shape.contains("minus") || graph.are_equal("filled", "x"), "{shape}");
    }
    for heads in ["heads_shape = Pack(batch, time, three, four)", "heads_shape = Pack(parts, minus, three, four)"] {
        let text = format!(
            "{head}{heads}
             heads = Reshape(x, heads_shape)
             swap = Const() {{value=i32[4]{{0,2,1,3}}}}
             moved = Transpose(heads, swap)
             moved_back = Transpose(moved, swap)
             area = Mul(batch, time)
             joined_shape = Pack(area, parts:2)
             joined = Reshape(moved_back, joined_shape)"
        );
        let graph = analysed(&text);
        assert_eq!(graph.shape("heads"), "[?,?,3,4]");
        assert!(graph.are_equal("joined", "flat"), "{heads}");
        assert!(!graph.are_equal("heads", "moved"));
    }
}

#[test]
fn a_loop_variable_keeps_the_sizes_that_no_iteration_changes() {
    let graph = analysed(
        "x = Placeholder() {dtype=f32, shape=[?,4]}
         y = Placeholder() {dtype=f32, shape=[?,4]}
         w = Placeholder() {dtype=f32, shape=[4,4]}
         axis = Const() {value=i32[]{0}}
         we = Enter(w) {frame_name=\"l\", is_constant=true}
         xi = Enter(x) {frame_name=\"l\", is_constant=true}
         ae = Enter(axis) {frame_name=\"l\", is_constant=true}
         xe = Enter(x) {frame_name=\"l\"}
         ye = Enter(y) {frame_name=\"l\"}
         xm:2 = Merge(xe, xn) {N=2, T=f32}
         ym:2 = Merge(ye, yn) {N=2, T=f32}
         c = Const() {value=bool[]{true}} ^xm
         cond = LoopCond(c)
         xs:2 = Switch(xm, cond) {T=f32}
         ys:2 = Switch(ym, cond) {T=f32}
         p = MatMul(xs:1, we) {T=f32}
         h = Tanh(p) {T=f32}
         longer = ConcatV2(ys:1, xi, ae) {N=2, T=f32, Tidx=i32}
         squared = Square(ys:1) {T=f32}
         xn = NextIteration(h) {T=f32}
         yn = NextIteration(longer) {T=f32}
         xo = Exit(xs) {T=f32}
         yo = Exit(ys) {T=f32}
         yo2 = Exit(ys) {T=f32}",
    );
    assert_eq!(graph.shape("xm"), "[?,4]");
    assert!(graph.are_equal("xm", "x"), "its batch is that of every iteration");
    assert!(graph.are_equal("xo", "x"));
    assert!(graph.are_equal("h", "xi"));
    // The other one grows: its length holds within an iteration, and what leaves the loop has another.
    assert_eq!(graph.shape("ym"), "[?,4]");
    assert!(!graph.are_equal("ym", "y"));
    assert!(graph.are_equal("squared", "ym"));
    assert!(!graph.are_equal("longer", "ym"));
    for outside in ["ym", "y", "squared", "yo2"] {
        assert!(!graph.are_equal("yo", outside), "{outside}");
    }
}

#[test]
fn what_is_read_from_a_reference_may_have_another_shape_each_time() {
    let graph = analysed(
        "v = VariableV2() {dtype=f32, shape=[?]}
         init = Placeholder() {dtype=f32}
         first = Identity(v) {T=f32}
         assigned = Assign(v, init) {T=f32, validate_shape=false} ^first
         second = Identity(v) {T=f32} ^assigned",
    );
    assert!(!graph.are_equal("first", "second"));
}

#[test]
fn the_optimizers_own_ops_have_shapes() {
    let graph = analysed(
        "x = Placeholder() {dtype=f32, shape=[?,8]}
         u = Placeholder() {dtype=f32}
         w = Placeholder() {dtype=f32, shape=[8,8]}
         k = Placeholder() {dtype=f32, shape=[3,3,4,1]}
         image = Placeholder() {dtype=f32, shape=[?,?,?,4]}
         b = Placeholder() {dtype=f32, shape=[8]}
         c = Placeholder() {dtype=f32, shape=[4]}
         p = _FusedMatMul(x, w, b) {fused_ops=[\"BiasAdd\"], num_args=1}
         norm = _FusedLayerNorm(p, b, b) {epsilon=0.1}
         e:2 = _FusedElementwise(norm, x) {T=f32, N=2, num_results=2, pieces=[0,1,0,1], program=[\"Mul 0 1\",\"Tanh 2\"], outputs=[3,2]}
         half = _FusedElementwise(x) {T=f32, N=1, num_results=1, pieces=[1,2], program=[\"Tanh 0\"], outputs=[1]}
         any = _FusedElementwise(u) {T=f32, N=1, num_results=1, pieces=[0,1], program=[\"Tanh 0\"], outputs=[1]}
         padded = _FusedDepthwiseConv2dNative(image, k, c) {T=f32, fused_ops=[\"BiasAdd\"], num_args=1, strides=[1,1,1,1], padding=\"VALID\", _explicit_paddings=list(int)[0,0,1,1,1,1,0,0]}",
    );
    for name in ["p", "norm", "e"] {
        assert!(graph.are_equal(name, "x"), "{name}");
    }
    assert_eq!(graph.shape("half"), "[?,4]");
    assert_eq!(graph.shape("any"), "<unknown>");
    assert!(graph.shapes.has_dimensions(graph.tensor("any")));
    assert!(graph.are_equal("padded", "image"));
}

#[test]
fn an_op_that_needs_dimensions_has_them() {
    let graph = analysed(
        "u = Placeholder() {dtype=f32}
         v = Placeholder() {dtype=f32}
         s = Softmax(u) {T=f32}
         t = Tanh(s) {T=f32}
         sum = AddV2(t, v) {T=f32}
         m = BatchMatMulV2(u, v) {T=f32}
         plain = Tanh(u) {T=f32}
         scalar = Const() {value=f32[]{1.0}}",
    );
    for name in ["s", "t", "sum", "m"] {
        assert!(graph.shapes.has_dimensions(graph.tensor(name)), "{name}");
    }
    for name in ["u", "plain", "scalar"] {
        assert!(!graph.shapes.has_dimensions(graph.tensor(name)), "{name}");
    }
    assert!(graph.are_equal("t", "u"));
}

#[test]
fn a_node_that_cannot_run_has_an_unknown_shape() {
    let mut graph =
        analysed("x = Placeholder() {dtype=f32, shape=[?,2]}\ny = Placeholder() {dtype=f32, shape=[2,2]}\nz = MatMul(x, y)").graph;
    let y = graph.find_node("y").unwrap().id();
    graph.set_attr(y, "shape", flowmill_tensor::PartialShape::new(&[3, 3]).to_proto()).unwrap();
    let shapes = ShapeAnalysis::new(&graph);
    assert_eq!(shapes.shape(graph.find_node("z").unwrap().id().output(0)).to_string(), "<unknown>");
    assert_eq!(shapes.rank(graph.find_node("x").unwrap().id().output(0)), Some(2));
}

#[test]
fn the_argument_for_a_placeholder_has_the_placeholders_shape() {
    let text = "x = Placeholder() {dtype=f32, shape=[?,3]}\nany = Placeholder() {dtype=f32}\ny = Mul(x, any)\nz = Neg(y)\n";
    let shapes_of_args = |feeds: &[&str]| {
        let mut graph = parse_graph(text, &REGISTRY, &ConstantTable::default()).unwrap();
        let made = rewrite_for_execution(&mut graph, feeds, &["z"], &[]).unwrap();
        let shapes = ShapeAnalysis::new(&graph);
        made.args.iter().map(|arg| shapes.shape(arg.unwrap().output(0)).to_string()).collect::<Vec<_>>()
    };
    assert_eq!(shapes_of_args(&["x", "any"]), ["[?,3]", "<unknown>"]);
    // A tensor that is computed may be fed with a value of any shape.
    assert_eq!(shapes_of_args(&["y"]), ["<unknown>"]);
}
