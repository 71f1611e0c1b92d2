//! `flowmill place`.

use crate::bench::random;
use crate::model::{Model, Port};
use crate::{ModelArgs, print_json};
use flowmill::{CostPlacement, Error, Graph, NodeStats, PartialShape, PlacementPolicy, Result, RunOptions, SessionOptions};
use flowmill_cost::{
    Assumptions, Constraints, CostModel, Machine, MeasuredStep, MeasuredTask, Report, Schedule, SearchOptions, TaskGraph, heft,
    lower_bound, place as place_by_cost, simple_placement, simulate, svg, upward_ranks,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of steps of which the fastest counts.
const MEASURED_STEPS: usize = 20;

#[derive(clap::Args)]
pub(crate) struct PlaceArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// The types of devices with their numbers, such as CPU:2,GPU:1. Without, all devices of --machine, or CPU:2 without that.
    #[arg(long, value_delimiter = ',')]
    devices: Vec<String>,
    /// The machine's description, which `flowmill calibrate` writes; without, devices have usual speeds.
    #[arg(long)]
    machine: Option<PathBuf>,
    /// The value of each size that the model's static shapes leave open.
    #[arg(long, default_value_t = 1)]
    batch: u64,
    /// The iterations that each loop is assumed to have.
    #[arg(long, default_value_t = 10)]
    iterations: u64,
    /// The number of tasks that the search for a placement may simulate in all.
    #[arg(long, default_value_t = SearchOptions::default().max_simulated_tasks)]
    effort: usize,
    /// Seconds after which the search ends, if the effort takes longer. The placement then depends on the speed of this machine.
    #[arg(long)]
    seconds: Option<f64>,
    /// Run the model on these devices, which must be CPUs, and compare the times with the predicted ones.
    #[arg(long)]
    measure: bool,
    /// The seed of the search.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write a picture of the schedule: devices as lanes over time.
    #[arg(long)]
    svg: Option<PathBuf>,
    /// Nodes of the report, the longest first.
    #[arg(long, default_value_t = 10)]
    top: usize,
}

/// Places a model by cost and shows the simulated schedule.
pub(crate) fn place(args: &PlaceArgs) -> Result<()> {
    let machine = machine(args)?;
    let model = Model::load(&args.model)?;
    let mut graph = model.graph_before_placement()?;
    set_arg_shapes(&mut graph, &model, args.batch)?;
    let assumptions = Assumptions { unknown_size: args.batch, iterations: args.iterations };
    let costs = CostModel::new(&graph, &assumptions)?;
    let tasks = costs.tasks(&graph, &machine, &Constraints::of_graph(&graph, &machine)?)?.tasks;
    let limit = |seconds| Duration::try_from_secs_f64(seconds).map_err(|_| Error::invalid_argument("--seconds must be a positive number"));
    let time_limit = args.seconds.map(limit).transpose()?;
    let search = SearchOptions { seed: args.seed, max_simulated_tasks: args.effort, time_limit };
    let schedule = place_by_cost(&tasks, &machine, &search)?;
    let placement = CostPlacement { machine: Some(Arc::new(machine.clone())), assumptions, search };
    let step = if args.measure { Some(measured_step(args, &machine, placement, &tasks)?) } else { None };
    let report = Report::new(&tasks, &machine, &schedule, step.as_ref());
    if let Some(path) = &args.svg {
        let picture = svg(&tasks, &machine, &schedule, step.as_ref());
        std::fs::write(path, picture).map_err(|e| Error::invalid_argument(format!("{}: {e}", path.display())))?;
    }
    let others = other_placements(&tasks, &machine)?;
    if args.model.json {
        print_json(&to_json(&report, &machine, &schedule, &others, args.top));
        return Ok(());
    }
    say!("{}", report.text(args.top).trim_end());
    say!("\nmakespans of other placements, in µs:");
    for (name, makespan) in others {
        say!("{:>12.1}  {name}", micros(makespan));
    }
    Ok(())
}

/// Runs the model with the placement by cost. The nodes' times are those of a traced step, and the step's time is that of the fastest of several other
/// steps.
fn measured_step(args: &PlaceArgs, machine: &Machine, placement: CostPlacement, tasks: &TaskGraph) -> Result<MeasuredStep> {
    if machine.devices().iter().enumerate().any(|(i, device)| device.name != format!("CPU:{i}")) {
        return Err(Error::invalid_argument("--measure needs devices of the type CPU only"));
    }
    let options = SessionOptions {
        device_count: [("CPU".to_owned(), machine.num_devices())].into(),
        placement: PlacementPolicy::CostModel(placement),
        ..args.model.session_options()
    };
    let model = Model::load_with(&args.model, options)?;
    let batch = usize::try_from(args.batch).map_err(|_| Error::invalid_argument("--batch is too large"))?;
    let inputs = model.distinct_inputs().map(|port| Ok((port.name.clone(), random(port, batch)?))).collect::<Result<_>>()?;
    let mut duration = u64::MAX;
    for _ in 0..MEASURED_STEPS {
        let start = Instant::now();
        model.run(&inputs, &RunOptions::default())?;
        duration = duration.min(start.elapsed().as_nanos() as u64);
    }
    let trace = RunOptions { trace: true, ..RunOptions::default() };
    model.run(&inputs, &trace)?;
    let nodes = model.run(&inputs, &trace)?.stats.map(|stats| stats.take()).unwrap_or_default();
    let first = nodes.iter().map(|node| node.start).min().unwrap_or(0);
    let numbers: BTreeMap<&str, usize> = tasks.tasks().iter().enumerate().map(|(i, task)| (&*task.name, i)).collect();
    let measured = |node: &NodeStats| {
        // Full names end in the type and the number.
        let device = machine.devices().iter().position(|device| node.device.ends_with(&format!(":{}", device.name)))?;
        Some(MeasuredTask { task: *numbers.get(&*node.name)?, device, start: node.start - first, end: node.end.max(node.start) - first })
    };
    Ok(MeasuredStep { tasks: nodes.iter().filter_map(measured).collect(), duration })
}

/// Returns the makespans that a placement is compared with.
fn other_placements(tasks: &TaskGraph, machine: &Machine) -> Result<Vec<(&'static str, u64)>> {
    let by_heft = heft(tasks, machine, &upward_ranks(tasks, machine));
    Ok(vec![
        ("simple placer", simulate(tasks, machine, &simple_placement(tasks, machine))?.makespan),
        ("HEFT", simulate(tasks, machine, &by_heft)?.makespan),
        ("lower bound", lower_bound(tasks, machine)),
    ])
}

fn to_json(report: &Report, machine: &Machine, schedule: &Schedule, others: &[(&'static str, u64)], top: usize) -> Value {
    let device = |d: usize| machine.devices().get(d).map_or("", |device| &device.name);
    let nodes: Vec<Value> = report
        .longest(top)
        .into_iter()
        .map(|row| {
            let measured = row.measured.map(micros);
            json!({"name": &*row.name, "op": &*row.op, "device": device(row.device), "predicted_us": micros(row.predicted), "measured_us": measured})
        })
        .collect();
    let mut counts = vec![0; machine.num_devices()];
    schedule.devices.iter().for_each(|&d| counts[d] += 1);
    let busy = schedule.busy(machine);
    let devices: Vec<Value> = (0..machine.num_devices())
        .map(|d| json!({"name": device(d), "nodes": counts[d], "busy_us": micros(busy[d]), "peak_bytes": schedule.peak_memory[d]}))
        .collect();
    let others: serde_json::Map<String, Value> = others.iter().map(|&(name, time)| (name.replace(' ', "_"), json!(micros(time)))).collect();
    json!({
        "predicted_us": micros(report.predicted),
        "measured_us": report.measured.map(micros),
        "other_placements_us": others,
        "copies": schedule.transfers.len(),
        "devices": devices,
        "nodes": nodes,
    })
}

fn micros(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}

/// Returns the machine that the arguments describe.
fn machine(args: &PlaceArgs) -> Result<Machine> {
    let types = args.devices.iter().map(|text| device_type(text)).collect::<Result<Vec<_>>>()?;
    match &args.machine {
        None if types.is_empty() => Machine::usual(&[("CPU".to_owned(), 2)]),
        None => Machine::usual(&types),
        Some(path) if types.is_empty() => Machine::read(path),
        Some(path) => Machine::read(path)?.with_devices(&types),
    }
}

/// Reads a type of devices with their number, such as `CPU:2`.
fn device_type(text: &str) -> Result<(String, usize)> {
    let parsed = text.split_once(':').and_then(|(name, n)| Some((name.to_uppercase(), n.parse().ok()?)));
    parsed
        .filter(|(name, n)| !name.is_empty() && *n > 0)
        .ok_or_else(|| Error::invalid_argument(format!("--devices: '{text}' is not a type of devices with their number, such as CPU:2")))
}

/// Sets the static shapes of the step's arguments to those of its inputs, with `batch` for the sizes that they leave open.
fn set_arg_shapes(graph: &mut Graph, model: &Model, batch: u64) -> Result<()> {
    let batch = i64::try_from(batch).map_err(|_| Error::invalid_argument("--batch is too large"))?;
    let inputs: Vec<&Port> = model.distinct_inputs().collect();
    let args: Vec<_> =
        graph.op_nodes().filter(|n| n.role() == flowmill::graph::Role::Arg).map(|n| (n.id(), n.attrs().get::<i64>("index"))).collect();
    for (node, index) in args {
        let port = usize::try_from(index?).ok().and_then(|i| inputs.get(i));
        let Some(dims) = port.and_then(|port| port.shape.dims()) else { continue };
        let dims: Vec<i64> = dims.iter().map(|&d| if d < 0 { batch } else { d }).collect();
        graph.set_attr(node, flowmill::graph::OUTPUT_SHAPES, vec![PartialShape::new(&dims).to_proto()])?;
    }
    Ok(())
}
