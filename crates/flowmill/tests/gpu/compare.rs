//! Runs a node on the CPU and on a GPU, and compares the results.

use crate::recorder::{Recorder, Recording};
use crate::setup::{GPU, gpus, gpus_with, session, session_of};
use flowmill::device::Device;
use flowmill::gpu::GpuOptions;
use flowmill::graph::ArgType;
use flowmill::prelude::*;
use flowmill::proto::AttrValue;
use flowmill::runtime::program::FuseOptions;
use flowmill::{PartialShape, Shape, ToAttr, bf16, f16};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// A node with its inputs. A list input has several tensors.
pub(crate) struct Case {
    op: &'static str,
    inputs: Vec<(Vec<Tensor>, bool)>,
    attrs: Vec<(&'static str, AttrValue)>,
    outputs: usize,
    tolerance: f64,
    options: GpuOptions,
}

impl Case {
    /// Makes a case with one output, whose elements must be equal.
    pub(crate) fn new(op: &'static str) -> Case {
        Case { op, inputs: Vec::new(), attrs: Vec::new(), outputs: 1, tolerance: 0.0, options: GpuOptions::default() }
    }

    pub(crate) fn input(mut self, tensor: Tensor) -> Case {
        self.inputs.push((vec![tensor], false));
        self
    }

    pub(crate) fn list(mut self, tensors: Vec<Tensor>) -> Case {
        self.inputs.push((tensors, true));
        self
    }

    pub(crate) fn attr(mut self, name: &'static str, value: impl ToAttr) -> Case {
        self.attrs.push((name, value.to_attr().unwrap()));
        self
    }

    /// Compares only the first `outputs` outputs.
    pub(crate) fn outputs(mut self, outputs: usize) -> Case {
        self.outputs = outputs;
        self
    }

    /// Allows differences that are `ulps` times what the element type resolves, relative to the greatest element.
    pub(crate) fn within(mut self, ulps: f64) -> Case {
        self.tolerance = ulps;
        self
    }

    /// Opens the GPUs with other options.
    pub(crate) fn with_options(mut self, options: GpuOptions) -> Case {
        self.options = options;
        self
    }

    /// Runs the node on both devices.
    pub(crate) fn check(&self) {
        if let Some(Recording { recorder, device }) = Recorder::recording() {
            // Texts depend on types, but not on shapes.
            let is_first = recorder.note(self.op);
            return self.record(&device, is_first && recorder.has_all_types);
        }
        let b = GraphBuilder::new().unwrap();
        let mut feeds = Vec::new();
        let mut groups: Vec<(Vec<Output<'_>>, bool)> = Vec::new();
        for (tensors, is_list) in &self.inputs {
            let group = tensors.iter().map(|tensor| {
                let x = b.op("Placeholder").attr("dtype", tensor.dtype()).attr("shape", PartialShape::unknown()).output().unwrap();
                feeds.push((x, tensor.clone()));
                x
            });
            groups.push((group.collect(), *is_list));
        }
        let node = |device: &str| -> Vec<Output<'_>> {
            let mut node = b.op(self.op).name("node").device(device);
            for (group, is_list) in &groups {
                node = if *is_list { node.input_list(group) } else { node.input(group[0]) };
            }
            for (name, value) in &self.attrs {
                node = node.attr(name, value.clone());
            }
            let id = node.finish().unwrap_or_else(|e| panic!("{}: {e}", self.describe()));
            (0..self.outputs as u32).map(|i| b.output(id.output(i))).collect()
        };
        let (on_host, on_gpu) = (node("/device:CPU:0"), node(GPU));
        let session = session_of(&b, gpus_with(self.options), SessionOptions::default());
        let run = |fetches: &[Output<'_>]| -> Vec<Tensor> {
            let runner = feeds.iter().fold(session.runner(), |runner, (x, value)| runner.feed(*x, value.clone()));
            runner.fetch(fetches).unwrap_or_else(|e| panic!("{}: {e}", self.describe()))
        };
        let expected = run(&on_host);
        for (i, (expected, actual)) in expected.iter().zip(run(&on_gpu)).enumerate() {
            self.compare(i, expected, &actual);
        }
        self.check_replayed(&expected);
    }

    /// Runs the node on a GPU in several steps, of which the last ones replay recorded work unless the op cannot be recorded. Inputs in the host's
    /// memory are constants. This is done once for an op and types of inputs.
    fn check_replayed(&self, expected: &[Tensor]) {
        static CHECKED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
        let types: Vec<DType> = self.inputs.iter().flat_map(|(tensors, _)| tensors).map(Tensor::dtype).collect();
        if !CHECKED.lock().unwrap_or_else(PoisonError::into_inner).insert(format!("{} {types:?}", self.op)) {
            return;
        }
        let def = flowmill::registry().unwrap().get(self.op).unwrap().clone();
        let devices = gpus();
        let gpu = devices[0].clone();
        let defs = gpu.kernels().defs(self.op);
        let of_device = defs.iter().filter(|kernel| def.inputs.iter().any(|input| !kernel.is_in_host_memory(&input.name)));
        let in_host_memory = |name: &str| of_device.clone().any(|kernel| kernel.is_in_host_memory(name));
        let b = GraphBuilder::new().unwrap();
        let mut feeds = Vec::new();
        let mut node = b.op(self.op).name("node").device(GPU);
        for ((tensors, is_list), input) in self.inputs.iter().zip(&def.inputs) {
            let is_constant = in_host_memory(&input.name);
            let group = tensors.iter().map(|tensor| {
                if is_constant {
                    return b.op("Const").attr("dtype", tensor.dtype()).attr("value", tensor).output().unwrap();
                }
                let x = b.op("Placeholder").attr("dtype", tensor.dtype()).attr("shape", PartialShape::unknown()).output().unwrap();
                feeds.push((x, tensor.clone()));
                x
            });
            let group: Vec<Output<'_>> = group.collect();
            node = if *is_list { node.input_list(&group) } else { node.input(group[0]) };
        }
        if feeds.is_empty() || def.is_stateful() {
            return;
        }
        let node = self.attrs.iter().fold(node, |node, (name, value)| node.attr(name, value.clone()));
        let id = node.finish().unwrap();
        let outputs: Vec<Output<'_>> = (0..self.outputs as u32).map(|i| b.output(id.output(i))).collect();
        let usual = SessionOptions::default();
        let session = session_of(&b, devices, SessionOptions { fuse: FuseOptions { min_replayed: Some(1), ..usual.fuse }, ..usual });
        for _ in 0..4 {
            let runner = feeds.iter().fold(session.runner(), |runner, (x, value)| runner.feed(*x, value.clone()));
            let found: Vec<Tensor> = runner.fetch(&outputs[..]).unwrap_or_else(|e| panic!("{}: {e}", self.describe()));
            found.iter().enumerate().for_each(|(i, actual)| self.compare(i, &expected[i], actual));
        }
        assert!(gpu.replays_strands(), "the work of {} cannot be recorded: its kernel must declare it", self.describe());
    }

    /// Makes a device that computes nothing load the kernels of the node, if `all_types` for all types that there are kernels for.
    fn record(&self, device: &Arc<dyn Device>, all_types: bool) {
        let def = flowmill::registry().unwrap().get(self.op).unwrap().clone();
        let constraints =
            device.kernels().defs(self.op).iter().filter(|_| all_types).flat_map(|kernel| kernel.constraints().iter().copied());
        let types = constraints.flat_map(|(attr, types)| types.iter().map(move |&dtype| (attr, dtype)));
        // Variants have no kernels of their own.
        let types: Vec<_> = types.filter(|(_, dtype)| *dtype != DType::Variant).map(Some).collect();
        let b = GraphBuilder::new().unwrap();
        let mut nodes = Vec::new();
        for change in std::iter::once(None).chain(types) {
            let (mut feeds, mut node) = (Vec::new(), b.op(self.op).device(GPU));
            let mut is_of_input = false;
            for ((tensors, is_list), input) in self.inputs.iter().zip(&def.inputs) {
                let to = change.filter(|(attr, _)| input.ty == ArgType::Attr((*attr).to_owned())).map(|(_, dtype)| dtype);
                is_of_input |= to.is_some();
                let group: Vec<Output<'_>> = tensors
                    .iter()
                    .map(|tensor| {
                        let value = to.map_or_else(|| tensor.clone(), |dtype| converted(tensor, dtype));
                        let x = b.op("Placeholder").attr("dtype", value.dtype()).attr("shape", PartialShape::unknown()).output().unwrap();
                        feeds.push((x, value));
                        x
                    })
                    .collect();
                node = if *is_list { node.input_list(&group) } else { node.input(group[0]) };
            }
            for (name, value) in self.attrs.iter().filter(|(name, _)| change.is_none_or(|(attr, _)| attr != *name)) {
                node = node.attr(name, value.clone());
            }
            if let Some((attr, dtype)) = change.filter(|(attr, _)| def.attrs.iter().any(|own| own.name == *attr))
                && (!is_of_input || self.attrs.iter().any(|(name, _)| *name == attr))
            {
                node = node.attr(attr, dtype);
            }
            // The op may not have the type.
            let Ok(id) = node.finish() else { continue };
            nodes.push((b.output(id.output(0)), feeds));
        }
        let session = session(&b);
        for (output, feeds) in nodes {
            let runner = feeds.iter().fold(session.runner(), |runner, (x, value)| runner.feed(*x, value.clone()));
            // Kernels refuse values that do not fit a type.
            let _ = runner.fetch(output);
        }
    }

    fn compare(&self, i: usize, expected: &Tensor, actual: &Tensor) {
        let context = || format!("output {i} of {}", self.describe());
        assert_eq!((actual.dtype(), actual.shape()), (expected.dtype(), expected.shape()), "{}", context());
        let (wanted, found) = (numbers(expected), numbers(actual));
        let greatest = wanted.iter().copied().filter(|x| x.is_finite()).fold(0.0f64, |most, x| most.max(x.abs()));
        let allowed = self.tolerance * resolution(expected.dtype()) * greatest;
        for (at, (&wanted, &found)) in wanted.iter().zip(&found).enumerate() {
            let is_equal = wanted == found || (wanted.is_nan() && found.is_nan()) || (wanted - found).abs() <= allowed;
            assert!(is_equal, "element {at} of {}: {found} instead of {wanted}, which differ by more than {allowed}", context());
        }
    }

    fn describe(&self) -> String {
        let inputs: Vec<String> =
            self.inputs.iter().flat_map(|(tensors, _)| tensors).map(|tensor| format!("{}{}", tensor.dtype(), tensor.shape())).collect();
        format!("{}({}) {:?}", self.op, inputs.join(", "), self.attrs)
    }
}

/// Returns the numbers of a tensor as elements of another type.
fn converted(tensor: &Tensor, dtype: DType) -> Tensor {
    tensor_of(dtype, tensor.shape().clone(), &numbers(tensor))
}

fn resolution(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 1.0 / 1024.0,
        DType::BF16 => 1.0 / 128.0,
        DType::F32 | DType::C64 => f64::from(f32::EPSILON),
        DType::F64 | DType::C128 => f64::EPSILON,
        _ => 0.0,
    }
}

/// The elements as numbers.
pub(crate) fn numbers(tensor: &Tensor) -> Vec<f64> {
    macro_rules! of {
        ($t:ty, |$x:ident| $number:expr) => {
            tensor.as_slice::<$t>().unwrap().iter().map(|&$x| $number).collect()
        };
    }
    match tensor.dtype() {
        DType::F16 => of!(f16, |x| x.to_f64()),
        DType::BF16 => of!(bf16, |x| x.to_f64()),
        DType::F32 => of!(f32, |x| f64::from(x)),
        DType::F64 => of!(f64, |x| x),
        DType::I8 => of!(i8, |x| f64::from(x)),
        DType::I16 => of!(i16, |x| f64::from(x)),
        DType::I32 => of!(i32, |x| f64::from(x)),
        DType::I64 => of!(i64, |x| x as f64),
        DType::U8 => of!(u8, |x| f64::from(x)),
        DType::U16 => of!(u16, |x| f64::from(x)),
        DType::U32 => of!(u32, |x| f64::from(x)),
        DType::U64 => of!(u64, |x| x as f64),
        DType::Bool => of!(bool, |x| f64::from(u8::from(x))),
        DType::C64 => of!(flowmill::Complex<f32>, |x| f64::from(x.re) + 1e3 * f64::from(x.im)),
        DType::C128 => of!(flowmill::Complex<f64>, |x| x.re + 1e3 * x.im),
        dtype => panic!("no numbers of type {dtype}"),
    }
}

/// A source of random tensors.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n.max(1)
    }

    /// Returns a tensor with small elements of any type: halves and quarters between -8 and 8 for floats.
    pub(crate) fn tensor(&mut self, dtype: DType, dims: &[usize]) -> Tensor {
        let shape = Shape::new(dims);
        let n = shape.num_elements();
        let values: Vec<f64> = (0..n).map(|_| self.below(64) as f64 * 0.25 - 8.0).collect();
        tensor_of(dtype, shape, &values)
    }

    /// Returns a tensor of floats between 0 and 1.
    pub(crate) fn unit(&mut self, dtype: DType, dims: &[usize]) -> Tensor {
        let shape = Shape::new(dims);
        let values: Vec<f64> = (0..shape.num_elements()).map(|_| self.below(1000) as f64 / 1000.0).collect();
        tensor_of(dtype, shape, &values)
    }

    /// Returns a tensor of indices below `n`.
    pub(crate) fn indices(&mut self, dtype: DType, dims: &[usize], n: usize) -> Tensor {
        let shape = Shape::new(dims);
        let values: Vec<f64> = (0..shape.num_elements()).map(|_| self.below(n) as f64).collect();
        tensor_of(dtype, shape, &values)
    }
}

/// Returns a tensor of numbers, converted to a type.
pub(crate) fn tensor_of(dtype: DType, shape: Shape, values: &[f64]) -> Tensor {
    macro_rules! of {
        (|$x:ident| $number:expr) => {
            Tensor::from_slice(shape, &values.iter().map(|&$x| $number).collect::<Vec<_>>()).unwrap()
        };
    }
    match dtype {
        DType::F16 => of!(|x| f16::from_f64(x)),
        DType::BF16 => of!(|x| bf16::from_f64(x)),
        DType::F32 => of!(|x| x as f32),
        DType::F64 => of!(|x| x),
        DType::I8 => of!(|x| x as i8),
        DType::I16 => of!(|x| x as i16),
        DType::I32 => of!(|x| x as i32),
        DType::I64 => of!(|x| x as i64),
        DType::U8 => of!(|x| x.abs() as u8),
        DType::U16 => of!(|x| x.abs() as u16),
        DType::U32 => of!(|x| x.abs() as u32),
        DType::U64 => of!(|x| x.abs() as u64),
        DType::Bool => of!(|x| x > 0.0),
        DType::C64 => of!(|x| flowmill::Complex::new(x as f32, -x as f32)),
        DType::C128 => of!(|x| flowmill::Complex::new(x, -x)),
        dtype => panic!("no tensors of type {dtype}"),
    }
}

/// Returns a vector of `int32`.
pub(crate) fn ints(values: &[i32]) -> Tensor {
    Tensor::vector(values).unwrap()
}
