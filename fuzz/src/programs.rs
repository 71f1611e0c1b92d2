//! Random valid graphs: each gives the same with and without passes and programs.

use flowmill::proto::{AttrValue, DataType, GraphDef, NodeDef, TensorProto, attr_value};
use flowmill::{DType, ImportOptions, Result, RunOptions, SessionOptions, Tensor, import_graph_def, new_graph, session};
use flowmill_runtime::program::FuseOptions;
use std::time::Duration;

/// Reads choices from the input; zeros once it is used up.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn next(&mut self) -> usize {
        self.0.next().copied().map_or(0, usize::from)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.next() % from.len()]
    }
}

const UNARY: [&str; 10] = ["Neg", "Abs", "Tanh", "Square", "Sigmoid", "Relu", "Identity", "Sin", "Exp", "StopGradient"];
const BINARY: [&str; 6] = ["AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference"];

struct Builder<'a> {
    choices: Choices<'a>,
    nodes: Vec<NodeDef>,
    /// Names of `float` tensors.
    floats: Vec<String>,
}

impl Builder<'_> {
    fn add(&mut self, op: &str, inputs: &[&str], attrs: &[(&str, AttrValue)]) -> String {
        let name = format!("n{}", self.nodes.len());
        let attr = attrs.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        let input = inputs.iter().map(|&i| i.to_owned()).collect();
        self.nodes.push(NodeDef { name: name.clone(), op: op.into(), input, attr, ..NodeDef::default() });
        name
    }

    fn constant(&mut self, tensor: &Tensor) -> String {
        let proto: TensorProto = tensor.to_proto().expect("a dense tensor has a wire form");
        let value = AttrValue { value: Some(attr_value::Value::Tensor(Box::new(proto))), ..AttrValue::default() };
        let dtype = DataType::try_from(tensor.dtype().number()).unwrap_or_default();
        self.add("Const", &[], &[("dtype", dtype.into()), ("value", value)])
    }

    fn float(&mut self) -> String {
        let i = self.choices.next() % self.floats.len();
        self.floats[i].clone()
    }

    fn step(&mut self) {
        let float = ("T", AttrValue::from(DataType::DtFloat));
        let x = self.float();
        let result = match self.choices.next() % 8 {
            0..=2 => {
                let op = self.choices.pick(&UNARY);
                self.add(op, &[&x], &[float])
            }
            3 | 4 => {
                let (op, y) = (self.choices.pick(&BINARY), self.float());
                self.add(op, &[&x, &y], &[float])
            }
            5 => {
                let values = [self.choices.next() as f32 / 64.0 - 2.0, self.choices.next() as f32 / 64.0 - 2.0];
                let tensor = if self.choices.next().is_multiple_of(2) {
                    Tensor::scalar(values[0])
                } else {
                    Tensor::vector(&values).expect("two floats")
                };
                self.constant(&tensor)
            }
            6 => {
                let axis = self.choices.next() as i32 % 3 - 1;
                let axis = self.constant(&Tensor::scalar(axis));
                let keep = ("keep_dims", AttrValue::from(self.choices.next().is_multiple_of(2)));
                self.add("Sum", &[&x, &axis], &[float, ("Tidx", DataType::DtInt32.into()), keep])
            }
            _ => {
                // A conditional: both sides of a Switch, merged again.
                let (zero, one) = (self.constant(&Tensor::scalar(0i32)), self.constant(&Tensor::scalar(1i32)));
                let limit = self.constant(&Tensor::scalar(0.5f32));
                let rank = self.add("Rank", &[&x], std::slice::from_ref(&float));
                let axes = self.add("Range", &[&zero, &rank, &one], &[("Tidx", DataType::DtInt32.into())]);
                let sum = self.add("Sum", &[&x, &axes], &[float.clone(), ("Tidx", DataType::DtInt32.into())]);
                let pred = self.add("Less", &[&sum, &limit], std::slice::from_ref(&float));
                let switch = self.add("Switch", &[&x, &pred], std::slice::from_ref(&float));
                let (op, other) = (self.choices.pick(&UNARY), self.choices.pick(&UNARY));
                let no = self.add(op, &[&switch], std::slice::from_ref(&float));
                let yes = self.add(other, &[&format!("{switch}:1")], std::slice::from_ref(&float));
                self.add("Merge", &[&no, &yes], &[float, ("N", 2i64.into())])
            }
        };
        self.floats.push(result);
    }
}

/// Builds the graph that the input describes and runs it in every way.
pub fn run_graph(data: &[u8]) {
    let mut builder = Builder { choices: Choices(data.iter()), nodes: Vec::new(), floats: Vec::new() };
    let first = builder.constant(&Tensor::vector(&[0.25f32, -1.5]).expect("two floats"));
    builder.floats.push(first);
    let x = builder.add("Placeholder", &[], &[("dtype", DataType::DtFloat.into())]);
    builder.floats.push(x.clone());
    for _ in 0..1 + builder.choices.next() % 40 {
        builder.step();
    }
    let fetch = builder.floats.last().cloned().unwrap_or(x.clone());
    let def = GraphDef { node: builder.nodes, ..GraphDef::default() };
    let run = |options: SessionOptions| -> Result<Tensor> {
        let mut graph = new_graph()?;
        import_graph_def(&mut graph, def.clone(), &ImportOptions::default())?;
        let feeds = [(x.as_str(), Tensor::vector(&[1.0f32, 0.5])?)];
        let limit = RunOptions { timeout: Some(Duration::from_secs(10)), ..RunOptions::default() };
        Ok(session(graph, options)?.run_with(&feeds, &[&fetch], &[], &limit)?.values.remove(0))
    };
    let plain = run(SessionOptions {
        optimize: false,
        fuse: FuseOptions::NONE,
        inter_op_threads: 1,
        intra_op_threads: 1,
        ..SessionOptions::default()
    });
    for options in [SessionOptions::default(), SessionOptions { optimize: false, ..SessionOptions::default() }] {
        match (&plain, run(options)) {
            (Ok(a), Ok(b)) => assert!(same(a, &b), "{a:?} became {b:?}"),
            (Err(a), Err(b)) => assert_eq!(a.code(), b.code(), "{a} became {b}"),
            (a, b) => panic!("{a:?} became {b:?}"),
        }
    }
}

fn same(a: &Tensor, b: &Tensor) -> bool {
    let close = |x: f32, y: f32| x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-5 * x.abs().max(y.abs()).max(1.0);
    let (Ok(x), Ok(y)) = (a.as_slice::<f32>(), b.as_slice::<f32>()) else { return false };
    a.dtype() == DType::F32 && a.shape() == b.shape() && x.iter().zip(y).all(|(&x, &y)| close(x, y))
}
