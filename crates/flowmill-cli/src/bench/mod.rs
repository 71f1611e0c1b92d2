//! `flowmill bench`.

mod compare;
mod roofline;

use crate::model::{Model, Port};
use crate::{ModelArgs, print_json, progress, trace};
use flowmill::{DType, OptimizationReport, PassReport, Result, RunOptions, SessionOptions, Shape, Tensor, npz};
use flowmill_timeline::{Shares, Timeline};
use roofline::NodeTable;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// The .npz file with an array for each input; without, inputs are random.
    #[arg(long)]
    inputs: Option<PathBuf>,
    /// The first size of random inputs whose static shape leaves it open.
    #[arg(long, default_value_t = 1)]
    batch: usize,
    /// Seconds to measure.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Lines of each list of where the time goes.
    #[arg(long, default_value_t = 10)]
    top: usize,
    /// Run a step without the optimiser's passes, too, and compare the most memory that tensors take at once.
    #[arg(long)]
    memory: bool,
    /// Measure other engines beside Flowmill, in turns: tensorflow, onnxruntime, openvino, or all that are installed.
    #[arg(long, value_delimiter = ',', num_args = 0.., default_missing_value = "all", value_parser = compare::NAMES)]
    compare: Vec<String>,
    /// The ONNX form of the model, for ONNX Runtime; without, it is made by tf2onnx if that is installed.
    #[arg(long)]
    onnx: Option<PathBuf>,
    /// The Python interpreter that has the other engines.
    #[arg(long, env = "FLOWMILL_PYTHON", default_value = "python3")]
    python: PathBuf,
    /// Write the timeline of one run: a page if the name ends in .html, otherwise a trace for Perfetto or Chrome's about:tracing.
    #[arg(long)]
    trace: Option<PathBuf>,
}

/// Measures a model.
pub(crate) fn bench(args: &BenchArgs) -> Result<()> {
    let model = Model::load(&args.model)?;
    let inputs = inputs_of(&model, args.inputs.as_deref(), args.batch)?;
    let start = Instant::now();
    model.run(&inputs, &RunOptions::default())?;
    let first = start.elapsed();
    let mut times = measure(&model, &inputs, args.seconds)?;
    times.sort_unstable();

    // A traced run is slower: nothing is compiled into programs, so that every node shows.
    model.run(&inputs, &RunOptions { trace: true, ..RunOptions::default() })?;
    let traced = model.run(&inputs, &RunOptions { trace: true, ..RunOptions::default() })?;
    let timeline = trace::timeline(&traced);
    if let Some(path) = &args.trace {
        trace::write(path, &args.model.path.display().to_string(), &timeline)?;
    }
    let optimizations = model.optimizations(&inputs)?;
    let by_op = timeline.by_op();
    let nodes = NodeTable::measure(&model, &inputs, args.model.threads, args.seconds)?;
    let memory = if args.memory { Some(memory_without_passes(args, &inputs)?) } else { None };
    let compared = compare::compare(args, &model, &inputs)?;
    let percentiles: Vec<(&str, f64)> = [("min", 0.0), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)]
        .iter()
        .map(|&(name, q)| (name, percentile(&times, q)))
        .collect();
    if args.model.json {
        let shown = |shares: &Shares| -> Value {
            shares.rows.iter().take(args.top).map(|s| json!({"name": s.name, "calls": s.calls, "us": s.nanos as f64 / 1e3})).collect()
        };
        let latency: serde_json::Map<String, Value> = percentiles.iter().map(|&(name, ms)| (name.to_owned(), json!(ms))).collect();
        print_json(&json!({
            "runs": times.len(),
            "first_ms": milliseconds(first),
            "latency_ms": latency,
            "optimizations": optimizations_json(&optimizations),
            "by_op": shown(&by_op),
            "memory": {"bytes": peak(&timeline), "bytes_without_passes": memory},
            "roofline": nodes.to_json(args.top),
            "compared": compared.iter().map(compare::Compared::to_json).collect::<Vec<_>>(),
        }));
        return Ok(());
    }
    say!("first run {:.3} ms (plan included), then {} runs:", milliseconds(first), times.len());
    say!("{}", percentiles.iter().map(|(name, ms)| format!("{name} {ms:.3} ms")).collect::<Vec<_>>().join("   "));
    print_optimizations(&optimizations);
    print_shares("by op", &by_op, args.top);
    nodes.print(args.top);
    let without = memory.map_or_else(String::new, |bytes| format!(", {} without passes", megabytes(bytes)));
    say!("memory of tensors in a step: at most {}{without}", megabytes(peak(&timeline)));
    compare::print(&compared);
    Ok(())
}

/// Returns the most bytes that the tensors of a step take at once, on the device that takes the most.
fn peak(timeline: &Timeline) -> u64 {
    timeline.memory_peaks().into_values().map(|peak| peak.bytes).max().unwrap_or(0)
}

/// Returns the most bytes that tensors take at once in a step that no pass has changed.
fn memory_without_passes(args: &BenchArgs, inputs: &BTreeMap<String, Tensor>) -> Result<u64> {
    let model = Model::load_with(&args.model, SessionOptions { optimize: false, ..args.model.session_options() })?;
    let traced = model.run(inputs, &RunOptions { trace: true, ..RunOptions::default() })?;
    Ok(peak(&trace::timeline(&traced)))
}

fn megabytes(bytes: u64) -> String {
    format!("{:.2} MB", bytes as f64 / 1e6)
}

/// Returns a model's inputs: those in a file, or else random ones.
pub(crate) fn inputs_of(model: &Model, path: Option<&Path>, batch: usize) -> Result<BTreeMap<String, Tensor>> {
    match path {
        Some(path) => npz::read(path),
        None => model.distinct_inputs().map(|p| Ok((p.name.clone(), random(p, batch)?))).collect(),
    }
}

fn optimizations_json(report: &OptimizationReport) -> Value {
    let pass = |p: &PassReport| json!({"name": p.name, "changes": p.num_changes, "error": p.error.as_ref().map(ToString::to_string)});
    let passes: Vec<Value> = report.passes.iter().map(pass).collect();
    json!({"nodes_before": report.num_nodes_before, "nodes_after": report.num_nodes_after, "passes": passes})
}

fn print_optimizations(report: &OptimizationReport) {
    say!("\noptimised from {} to {} nodes; changes of each pass:", report.num_nodes_before, report.num_nodes_after);
    for pass in &report.passes {
        match &pass.error {
            None => say!("{:>10}  {}", pass.num_changes, pass.name),
            Some(error) => say!("{:>10}  {}: {error}", "failed", pass.name),
        }
    }
}

fn measure(model: &Model, inputs: &BTreeMap<String, Tensor>, seconds: f64) -> Result<Vec<Duration>> {
    const FEWEST: usize = 5;
    let bar = progress::time("measuring", (seconds * 1e3) as u64);
    let (begin, mut times) = (Instant::now(), Vec::new());
    while times.len() < FEWEST || begin.elapsed().as_secs_f64() < seconds {
        let start = Instant::now();
        model.run(inputs, &RunOptions::default())?;
        times.push(start.elapsed());
        if times.len() % 16 == 0 {
            bar.set_position(begin.elapsed().as_millis() as u64);
        }
    }
    bar.finish_and_clear();
    Ok(times)
}

fn print_shares(title: &str, shares: &Shares, top: usize) {
    say!("\n{title} (a traced run, {:.3} ms in nodes):", shares.nanos as f64 / 1e6);
    say!("{}", shares.text(top).trim_end());
}

fn milliseconds(d: Duration) -> f64 {
    d.as_secs_f64() * 1e3
}

/// Returns a percentile of ascending times, in milliseconds; 0 if there are none.
fn percentile(sorted: &[Duration], q: f64) -> f64 {
    let at = (sorted.len().saturating_sub(1) as f64 * q).round() as usize;
    sorted.get(at).copied().map_or(0.0, milliseconds)
}

/// Returns a tensor of the port's type: numbers from a fixed sequence in [0, 1), small integers, or empty strings.
fn random(port: &Port, batch: usize) -> Result<Tensor> {
    let dims = port.shape.dims().map_or_else(
        || vec![batch],
        |dims| dims.iter().enumerate().map(|(i, &d)| usize::try_from(d).unwrap_or(if i == 0 { batch } else { 1 })).collect(),
    );
    let shape = Shape::new(&dims);
    let n = shape.checked_num_elements()?;
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    match port.dtype {
        DType::F32 => Tensor::from_slice(shape, &(0..n).map(|_| next()).collect::<Vec<_>>()),
        DType::F64 => Tensor::from_slice(shape, &(0..n).map(|_| f64::from(next())).collect::<Vec<_>>()),
        DType::I32 => Tensor::from_slice(shape, &(0..n).map(|_| (next() * 100.0) as i32).collect::<Vec<_>>()),
        DType::I64 => Tensor::from_slice(shape, &(0..n).map(|_| (next() * 100.0) as i64).collect::<Vec<_>>()),
        dtype => Tensor::zeros(dtype, shape),
    }
}
