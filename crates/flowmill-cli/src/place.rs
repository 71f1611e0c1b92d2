//! `flowmill place`.

use crate::bench::inputs_of;
use crate::model::{Model, device_types};
use crate::{ModelArgs, print_json, progress};
use flowmill::graph::Role;
use flowmill::{CostPlacement, Error, NodeStats, PlacementPolicy, Result, RunOptions, SessionOptions};
use flowmill_cost::{
    Assumptions, Constraints, CostModel, Machine, MeasuredStep, MeasuredTask, Report, SearchOptions, TaskGraph, heft, lower_bound,
    place as place_by_cost, simple_placement, simulate, svg, upward_ranks,
};
use flowmill_session::SimulatedStep;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of steps of which the fastest counts.
const MEASURED_STEPS: u64 = 40;
/// The number of steps of which one is measured node by node.
const TRACED_EVERY: u64 = 5;

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
    /// The iterations of loops whose number does not follow from the graph.
    #[arg(long, default_value_t = 10)]
    iterations: u64,
    /// The number of tasks that the search for a placement may simulate in all.
    #[arg(long, default_value_t = SearchOptions::default().max_simulated_tasks)]
    effort: usize,
    /// Seconds after which the search ends, if the effort takes longer. The placement then depends on the speed of this machine.
    #[arg(long)]
    seconds: Option<f64>,
    /// Run the model on these devices, which must be CPUs, and compare the times with the predicted ones. Each kernel runs on one thread, and each
    /// device has one unless --threads says otherwise.
    #[arg(long)]
    measure: bool,
    /// The seed of the search.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write a picture of the schedule: devices as lanes over time.
    #[arg(long)]
    svg: Option<PathBuf>,
    /// Nodes of the report: those with the largest errors, or without --measure those that take longest.
    #[arg(long, default_value_t = 10)]
    top: usize,
}

/// Places a model by cost and shows the simulated schedule.
pub(crate) fn place(args: &PlaceArgs) -> Result<()> {
    let machine = machine(args)?;
    let is_local = machine.devices().iter().enumerate().all(|(i, device)| device.name == format!("CPU:{i}"));
    if args.measure && !is_local {
        return Err(Error::invalid_argument("--measure needs devices of the type CPU only"));
    }
    let limit = |seconds| Duration::try_from_secs_f64(seconds).map_err(|_| Error::invalid_argument("--seconds must be a positive number"));
    let placement = CostPlacement {
        machine: Some(Arc::new(machine.clone())),
        assumptions: Assumptions { unknown_size: args.batch, iterations: args.iterations },
        search: SearchOptions { seed: args.seed, max_simulated_tasks: args.effort, time_limit: args.seconds.map(limit).transpose()? },
        // The placement that is predicted is the one that is measured.
        measured_steps: 0,
        ..CostPlacement::default()
    };
    let threads = if args.model.threads == 0 { machine.num_devices() } else { args.model.threads };
    let options = SessionOptions {
        device_count: [("CPU".to_owned(), if is_local { machine.num_devices() } else { 1 })].into(),
        placement: PlacementPolicy::CostModel(placement.clone()),
        intra_op_threads: 1,
        inter_op_threads: threads,
        build_cost_model: if args.measure { TRACED_EVERY } else { 0 },
        ..args.model.session_options()
    };
    let mut model = Model::load_with(&args.model, options)?;
    model.set_unknown_sizes(args.batch)?;
    // A session has only devices of this machine. The nodes of others are those before passes fuse them.
    let is_planned = is_local && machine.num_devices() > 1;
    let progress = progress::spinner("placing");
    let simulated = if is_planned { model.simulate_step(false)? } else { without_session(&model, machine, &placement)? };
    progress.finish_and_clear();
    let step = if args.measure { Some(measured_step(args, &model, &simulated)?) } else { None };
    let SimulatedStep { machine, tasks, schedule } = &simulated;
    let report = Report::new(tasks, machine, schedule, step.as_ref());
    if let Some(path) = &args.svg {
        let picture = svg(tasks, machine, schedule, step.as_ref());
        std::fs::write(path, picture).map_err(|e| Error::invalid_argument(format!("{}: {e}", path.display())))?;
    }
    let from_measured = if args.measure && is_planned { Some(model.simulate_step(true)?.schedule.makespan) } else { None };
    let others = other_placements(tasks, machine)?;
    if args.model.json {
        print_json(&to_json(&report, &simulated, &others, from_measured, args.top));
        return Ok(());
    }
    say!("{}", report.text(args.top).trim_end());
    if let (Some(predicted), Some(measured)) = (from_measured, report.measured) {
        let error = 100.0 * (predicted as f64 / measured.max(1) as f64 - 1.0);
        say!("\nstep predicted from the measured times of its nodes: {:.1} µs, error {error:+.0} %", micros(predicted));
    }
    say!("\nmakespans of other placements, in µs:");
    for (name, makespan) in others {
        say!("{:>12.1}  {name}", micros(makespan));
    }
    Ok(())
}

/// Places the nodes that the model has before passes fuse them.
fn without_session(model: &Model, machine: Machine, placement: &CostPlacement) -> Result<SimulatedStep> {
    let graph = model.graph_before_placement()?;
    let costs = CostModel::new(&graph, &placement.assumptions)?;
    let tasks = costs.tasks(&graph, &machine, &Constraints::of_graph(&graph, &machine)?)?.tasks;
    let schedule = place_by_cost(&tasks, &machine, &placement.search)?;
    Ok(SimulatedStep { machine, tasks, schedule })
}

/// Runs the model with the placement by cost. The nodes' times are those of the fastest of several traced steps, and the step's time is that of the
/// fastest of many steps.
fn measured_step(args: &PlaceArgs, model: &Model, simulated: &SimulatedStep) -> Result<MeasuredStep> {
    let batch = usize::try_from(args.batch).map_err(|_| Error::invalid_argument("--batch is too large"))?;
    let inputs = inputs_of(model, None, batch)?;
    let (mut duration, mut nodes, mut traced) = (u64::MAX, Vec::new(), u64::MAX);
    let progress = progress::steps("measuring", MEASURED_STEPS);
    for i in 0..MEASURED_STEPS {
        // A step that is measured for the cost model is traced anyway.
        let is_traced = (i + 1).is_multiple_of(TRACED_EVERY);
        let start = Instant::now();
        let outcome = model.run(&inputs, &RunOptions { trace: is_traced, ..RunOptions::default() })?;
        let elapsed = start.elapsed().as_nanos() as u64;
        match outcome.stats {
            Some(stats) if elapsed < traced => (nodes, traced) = (stats.take(), elapsed),
            Some(_) => {}
            None => duration = duration.min(elapsed),
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    let first = nodes.iter().map(|node| node.start).min().unwrap_or(0);
    let numbers: BTreeMap<&str, usize> = simulated.tasks.tasks().iter().enumerate().map(|(i, task)| (&*task.name, i)).collect();
    let mut step = MeasuredStep { duration, ..MeasuredStep::default() };
    let devices = simulated.machine.devices();
    let registry = flowmill::registry()?;
    for NodeStats { name, op, device, start, end, .. } in &nodes {
        let (start, end) = (start - first, (*end).max(*start) - first);
        // Full names end in the type and the number. The only device of a session has no lane of its own.
        let device = devices.iter().position(|d| device.ends_with(&format!(":{}", d.name))).unwrap_or(0);
        match numbers.get(&**name) {
            Some(&task) => step.tasks.push(MeasuredTask { task, device, start, end }),
            // A node that receives waits, which is no work.
            None if registry.get(op).is_some_and(|op| op.traits.role == Role::Recv) => {}
            None => step.other_nodes += end - start,
        }
    }
    Ok(step)
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

fn to_json(report: &Report, simulated: &SimulatedStep, others: &[(&'static str, u64)], from_measured: Option<u64>, top: usize) -> Value {
    let SimulatedStep { machine, schedule, .. } = simulated;
    let device = |d: usize| machine.devices().get(d).map_or("", |device| &device.name);
    let nodes: Vec<Value> = report
        .by_error(top)
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
        "predicted_from_measured_us": from_measured.map(micros),
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
    let types = device_types(&args.devices)?;
    match &args.machine {
        None if types.is_empty() => Machine::usual(&[("CPU".to_owned(), 2)]),
        None => Machine::usual(&types),
        Some(path) if types.is_empty() => Machine::read(path),
        Some(path) => Machine::read(path)?.with_devices(&types),
    }
}
