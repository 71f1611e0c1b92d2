//! `flowmill calibrate`.

use crate::progress;
use flowmill::graph::text::{ConstantTable, parse_graph};
use flowmill::runtime::tuning::TuningTable;
use flowmill::{Error, Result, Session, SessionOptions, Shape, Tensor, registry, session};
use flowmill_cost::{Bandwidth, DeviceModel, KernelClass, KernelRate, Machine, MemoryLevel, Roofline};
use indicatif::ProgressBar;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The rows and columns of the matrices that are multiplied.
const MATRIX: usize = 512;
/// The elements of a tensor that no cache holds.
const LARGE: usize = 8 << 20;
/// The elements of a tensor whose computation takes next to no time.
const SMALL: usize = 8;
/// The nodes of a chain that measures what each node and each copy takes besides.
const CHAIN: usize = 400;
/// A kernel that represents its class.
struct CalibratedKernel {
    class: KernelClass,
    /// The node `y`, which reads `x` and perhaps a constant `w`.
    node: &'static str,
    /// The shapes of `w` of a small and of a large call.
    weights: Option<[&'static [usize]; 2]>,
    /// The shape of `x` of a small call.
    small: &'static [usize],
    /// The shape of `x` of a large call.
    large: &'static [usize],
    /// Operations per element of `x`.
    operations: f64,
}

/// One kernel of each class, of sizes that are usual in models.
const KERNELS: &[CalibratedKernel] = &[
    CalibratedKernel {
        class: KernelClass::Product,
        node: "y = MatMul(x, w)",
        weights: Some([&[256, 256], &[256, 256]]),
        small: &[32, 256],
        large: &[512, 256],
        operations: 2.0 * 256.0,
    },
    CalibratedKernel {
        class: KernelClass::ThinProduct,
        node: "y = MatMul(x, w)",
        weights: Some([&[64, 1024], &[1024, 1024]]),
        small: &[8, 64],
        large: &[8, 1024],
        operations: 2.0 * 1024.0,
    },
    CalibratedKernel {
        class: KernelClass::Convolution,
        node: "y = Conv2D(x, w) {strides=[1,1,1,1], padding=\"SAME\"}",
        weights: Some([&[3, 3, 64, 64], &[3, 3, 64, 64]]),
        small: &[1, 8, 8, 64],
        large: &[8, 16, 16, 64],
        operations: 2.0 * 9.0 * 64.0,
    },
    CalibratedKernel {
        class: KernelClass::ThinConvolution,
        node: "y = Conv2D(x, w) {strides=[1,1,1,1], padding=\"SAME\"}",
        weights: Some([&[3, 3, 3, 32], &[3, 3, 3, 32]]),
        small: &[1, 32, 32, 3],
        large: &[8, 64, 64, 3],
        operations: 2.0 * 9.0 * 32.0,
    },
    CalibratedKernel {
        class: KernelClass::PointwiseConvolution,
        node: "y = Conv2D(x, w) {strides=[1,1,1,1], padding=\"SAME\"}",
        weights: Some([&[1, 1, 48, 96], &[1, 1, 48, 96]]),
        small: &[1, 8, 8, 48],
        large: &[8, 24, 24, 48],
        operations: 2.0 * 96.0,
    },
    CalibratedKernel {
        class: KernelClass::DepthwiseConvolution,
        node: "y = DepthwiseConv2dNative(x, w) {strides=[1,1,1,1], padding=\"SAME\"}",
        weights: Some([&[3, 3, 96, 1], &[3, 3, 96, 1]]),
        small: &[1, 8, 8, 96],
        large: &[8, 24, 24, 96],
        operations: 2.0 * 9.0,
    },
    CalibratedKernel {
        class: KernelClass::Window,
        node: "y = MaxPool(x) {ksize=[1,3,3,1], strides=[1,1,1,1], padding=\"SAME\"}",
        weights: None,
        small: &[1, 8, 8, 64],
        large: &[8, 24, 24, 64],
        operations: 9.0,
    },
    CalibratedKernel {
        class: KernelClass::Elementwise,
        node: "y = Tanh(x)",
        weights: None,
        // Many element-wise nodes are scalars, such as counters of loops.
        small: &[SMALL],
        large: &[1 << 16],
        operations: 20.0,
    },
];

/// The measurements of a calibration: two per class of kernels, and six others.
const NUM_MEASUREMENTS: usize = 2 * KERNELS.len() + 6;

/// The speed of copies that only pass a reference on.
const FASTEST: f64 = 1e15;

#[derive(clap::Args)]
pub(crate) struct CalibrateArgs {
    /// The number of CPU devices. Each has one thread.
    #[arg(long, default_value_t = 2)]
    devices: usize,
    /// Seconds for each of about twenty measurements.
    #[arg(long, default_value_t = 0.5)]
    seconds: f64,
    /// The file to write; without, the description is printed.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Measure nothing, but forget the ways to compute convolutions that sessions have measured on this machine.
    #[arg(long, conflicts_with_all = ["devices", "seconds", "out"])]
    forget_choices: bool,
}

/// Measures this machine and writes its description.
pub(crate) fn calibrate(args: &CalibrateArgs) -> Result<()> {
    if args.forget_choices {
        let table = TuningTable::shared();
        let Some(path) = table.path() else { return Ok(()) };
        return table.clear().map_err(|e| Error::invalid_argument(format!("{}: {e}", path.display())));
    }
    let progress = progress::steps("measuring", NUM_MEASUREMENTS as u64);
    let machine = measure(args, &progress)?;
    progress.finish_and_clear();
    match &args.out {
        None => say!("{}", machine.to_json()),
        Some(path) => {
            std::fs::write(path, machine.to_json() + "\n").map_err(|e| Error::invalid_argument(format!("{}: {e}", path.display())))?;
        }
    }
    Ok(())
}

fn measure(args: &CalibrateArgs, progress: &ProgressBar) -> Result<Machine> {
    if args.devices == 0 || args.devices > flowmill_cost::MAX_DEVICES {
        return Err(Error::invalid_argument(format!("--devices must be 1 to {}, not {}", flowmill_cost::MAX_DEVICES, args.devices)));
    }
    let time = Duration::try_from_secs_f64(args.seconds).map_err(|_| Error::invalid_argument("--seconds must be a positive number"))?;
    let runs = Measurement { time, threads: 1, intra_op_threads: 1, progress };
    let product = runs.seconds("y = MatMul(x, x)", &[MATRIX, MATRIX], None)?;
    let pass = runs.seconds("y = Neg(x)", &[LARGE], None)?;
    let launch = runs.seconds(&chain(|_| ""), &[SMALL], None)? / CHAIN as f64;
    let kernel_rates = KERNELS.iter().map(|kernel| Ok((kernel.class, runs.rate(kernel, launch)?))).collect::<Result<BTreeMap<_, _>>>()?;
    let across = |i: usize| if i.is_multiple_of(2) { " @/device:CPU:1" } else { " @/device:CPU:0" };
    let both = Measurement { time, threads: 2, intra_op_threads: 1, progress };
    let hop = |size: usize| both.seconds(&chain(across), &[size], None);
    let copy = (hop(SMALL)? / CHAIN as f64 - launch).max(0.0);
    // A copy of a large tensor, beside the time that its node takes by itself.
    let large = LARGE / 64;
    let (near, far) = (runs.seconds(&chain(|_| ""), &[large], None)?, hop(large)?);
    let per_copy = (far - near) / CHAIN as f64 - copy;
    let bytes_per_second = if per_copy > 0.0 { (4.0 * large as f64 / per_copy).min(FASTEST) } else { FASTEST };

    let device = |i: usize| DeviceModel {
        name: format!("CPU:{i}"),
        flops_per_second: 2.0 * (MATRIX as f64).powi(3) / (product - launch).max(1e-9),
        bytes_per_second: 8.0 * LARGE as f64 / (pass - launch).max(1e-9),
        launch_seconds: launch,
        memory_bytes: None,
        kernel_rates: kernel_rates.clone(),
    };
    Machine::new((0..args.devices).map(device).collect(), Bandwidth { bytes_per_second, latency_seconds: copy }, Vec::new())
}

/// The bytes that kernels of a roofline's measurement read and write: of data in the cache of a core, in the cache of all cores, and in memory.
const LEVELS: [u64; 3] = [256 << 10, 4 << 20, 8 * LARGE as u64];
/// The time of each measurement of a roofline.
const ROOFLINE_TIME: Duration = Duration::from_millis(100);

/// Measures the limits of this machine with this many threads; 0 is one per core.
pub(crate) fn roofline(threads: usize) -> Result<Roofline> {
    let progress = progress::steps("calibrating", LEVELS.len() as u64 + 1);
    let runs = Measurement { time: ROOFLINE_TIME, threads: 1, intra_op_threads: threads, progress: &progress };
    let product = runs.seconds("y = MatMul(x, w)", &[MATRIX, MATRIX], Some(&[MATRIX, MATRIX]))?;
    let level = |&capacity: &u64| {
        let elements = usize::try_from(capacity / 8).unwrap_or(usize::MAX);
        let seconds = runs.seconds("y = Neg(x)", &[elements], None)?;
        Ok(MemoryLevel { capacity, bytes_per_second: capacity as f64 / seconds })
    };
    let levels = LEVELS.iter().map(level).collect::<Result<_>>()?;
    progress.finish_and_clear();
    Ok(Roofline { flops_per_second: 2.0 * (MATRIX as f64).powi(3) / product, levels })
}

/// Returns a chain of nodes from `x` to `y`, with the devices that `device` names. Each node computes one operation per element.
fn chain(device: impl Fn(usize) -> &'static str) -> String {
    let mut text = String::new();
    let mut last = "x".to_owned();
    for i in 0..CHAIN {
        let _ = writeln!(text, "n{i} = Neg({last}){}", device(i));
        last = format!("n{i}");
    }
    let _ = writeln!(text, "y = Neg({last})");
    text
}

/// The conditions of all measurements.
struct Measurement<'a> {
    time: Duration,
    /// The threads that run nodes.
    threads: usize,
    /// The threads that share a kernel's work.
    intra_op_threads: usize,
    progress: &'a ProgressBar,
}

impl Measurement<'_> {
    /// Returns the rate of a class of kernels: that of the operations by which two calls of different sizes differ, and the time that the smaller call
    /// takes besides.
    fn rate(&self, kernel: &CalibratedKernel, launch: f64) -> Result<KernelRate> {
        let seconds = |shape: &[usize], weights: Option<&[usize]>| Ok((self.seconds(kernel.node, shape, weights)? - launch).max(1e-9));
        let weights = kernel.weights.map_or([None; 2], |shapes| shapes.map(Some));
        let (small, large): (f64, f64) = (seconds(kernel.small, weights[0])?, seconds(kernel.large, weights[1])?);
        let operations = |shape: &[usize]| shape.iter().product::<usize>() as f64 * kernel.operations;
        let (few, many) = (operations(kernel.small), operations(kernel.large));
        let operations_per_second = if large > small { (many - few) / (large - small) } else { many / large };
        Ok(KernelRate { operations_per_second, seconds_per_call: (small - few / operations_per_second).max(0.0) })
    }

    /// Returns the least seconds of a step that computes the node `y` from `x`, a tensor of the shape `shape`, and `w`, a constant of the shape `weights`.
    fn seconds(&self, nodes: &str, shape: &[usize], weights: Option<&[usize]>) -> Result<f64> {
        let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
        let constant = if weights.is_some() { "w = Const() {value=f32[]{0.5}}\n" } else { "" };
        let text = format!("x = Placeholder() {{dtype=f32, shape=[{}]}}\n{constant}{nodes}\n", dims.join(","));
        let mut graph = parse_graph(&text, &registry()?, &ConstantTable::default())?;
        if let (Some(dims), Some(node)) = (weights, graph.find_node("w").map(|node| node.id())) {
            let value = Tensor::from_slice(Shape::new(dims), &vec![0.5f32; dims.iter().product()])?;
            graph.set_attr(node, "value", value.to_proto()?)?;
        }
        let options = SessionOptions {
            intra_op_threads: self.intra_op_threads,
            inter_op_threads: self.threads,
            device_count: [("CPU".to_owned(), 2)].into(),
            // Each node is to run by itself.
            optimize: false,
            ..SessionOptions::default()
        };
        let seconds = least(&session(graph, options)?, shape, self.time)?;
        self.progress.inc(1);
        Ok(seconds)
    }
}

fn least(session: &Arc<Session>, shape: &[usize], time: Duration) -> Result<f64> {
    let x = Tensor::from_slice(Shape::new(shape), &vec![0.5f32; shape.iter().product()])?;
    let callable = session.make_callable(&["x:0"], &["y:0"], &[])?;
    let (begin, mut least) = (Instant::now(), f64::INFINITY);
    callable.run(vec![x.clone()])?;
    loop {
        let start = Instant::now();
        callable.run(vec![x.clone()])?;
        least = least.min(start.elapsed().as_secs_f64());
        if begin.elapsed() >= time {
            return Ok(least);
        }
    }
}
