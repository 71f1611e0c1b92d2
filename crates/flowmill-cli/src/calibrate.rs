//! `flowmill calibrate`.

use flowmill::graph::text::{ConstantTable, parse_graph};
use flowmill::{Error, Result, Session, SessionOptions, Shape, Tensor, registry, session};
use flowmill_cost::{Bandwidth, DeviceModel, Machine};
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
/// The speed of copies that only pass a reference on.
const FASTEST: f64 = 1e15;

#[derive(clap::Args)]
pub(crate) struct CalibrateArgs {
    /// The number of CPU devices, which share the threads equally.
    #[arg(long, default_value_t = 2)]
    devices: usize,
    /// Threads of all devices together; 0 is one a core.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Seconds for each of the five measurements.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// The file to write; without, the description is printed.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Measures this machine and writes its description.
pub(crate) fn calibrate(args: &CalibrateArgs) -> Result<()> {
    let bar = crate::spinner("measuring");
    let machine = measure(args)?;
    bar.finish_and_clear();
    match &args.out {
        None => say!("{}", machine.to_json()),
        Some(path) => {
            std::fs::write(path, machine.to_json() + "\n").map_err(|e| Error::invalid_argument(format!("{}: {e}", path.display())))?;
        }
    }
    Ok(())
}

fn measure(args: &CalibrateArgs) -> Result<Machine> {
    if args.devices == 0 || args.devices > flowmill_cost::MAX_DEVICES {
        return Err(Error::invalid_argument(format!("--devices must be 1 to {}, not {}", flowmill_cost::MAX_DEVICES, args.devices)));
    }
    let time = Duration::try_from_secs_f64(args.seconds).map_err(|_| Error::invalid_argument("--seconds must be a positive number"))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if args.threads == 0 { cores } else { args.threads };
    let runs = Measurement { time, threads: (threads / args.devices).max(1) };

    let product = runs.seconds("y = MatMul(x, x)", &[MATRIX, MATRIX])?;
    let pass = runs.seconds("y = Neg(x)", &[LARGE])?;
    let launch = runs.seconds(&chain(|_| ""), &[SMALL])? / CHAIN as f64;
    let across = |i: usize| if i.is_multiple_of(2) { " @/device:CPU:1" } else { " @/device:CPU:0" };
    let hop = |size: usize| runs.seconds(&chain(across), &[size]);
    let copy = (hop(SMALL)? / CHAIN as f64 - launch).max(0.0);
    // A copy of a large tensor, beside the time that its node takes by itself.
    let large = LARGE / 64;
    let (near, far) = (runs.seconds(&chain(|_| ""), &[large])?, hop(large)?);
    let per_copy = (far - near) / CHAIN as f64 - copy;
    let bytes_per_second = if per_copy > 0.0 { (4.0 * large as f64 / per_copy).min(FASTEST) } else { FASTEST };

    let device = |i: usize| DeviceModel {
        name: format!("CPU:{i}"),
        flops_per_second: 2.0 * (MATRIX as f64).powi(3) / (product - launch).max(1e-9),
        bytes_per_second: 8.0 * LARGE as f64 / (pass - launch).max(1e-9),
        launch_seconds: launch,
        memory_bytes: None,
    };
    Machine::new((0..args.devices).map(device).collect(), Bandwidth { bytes_per_second, latency_seconds: copy }, Vec::new())
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
struct Measurement {
    time: Duration,
    threads: usize,
}

impl Measurement {
    /// Returns the least seconds of a step that computes the node `y` from `x`, a tensor of this shape.
    fn seconds(&self, nodes: &str, shape: &[usize]) -> Result<f64> {
        let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
        let text = format!("x = Placeholder() {{dtype=f32, shape=[{}]}}\n{nodes}\n", dims.join(","));
        let graph = parse_graph(&text, &registry()?, &ConstantTable::default())?;
        let options = SessionOptions {
            intra_op_threads: self.threads,
            inter_op_threads: self.threads,
            device_count: [("CPU".to_owned(), 2)].into(),
            // Each node is to run by itself.
            optimize: false,
            ..SessionOptions::default()
        };
        least(&session(graph, options)?, shape, self.time)
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
