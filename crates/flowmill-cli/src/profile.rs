//! `flowmill profile`.

use crate::bench::inputs_of;
use crate::model::Model;
use crate::{ModelArgs, print_json, trace};
use flowmill::{Result, RunOptions};
use flowmill_timeline::profile::{ProfileOptions, Profiler, View};
use flowmill_timeline::{Shares, Timeline};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct ProfileArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// The .npz file with an array for each input; without, inputs are random.
    #[arg(long)]
    inputs: Option<PathBuf>,
    /// The first size of random inputs whose static shape leaves it open.
    #[arg(long, default_value_t = 1)]
    batch: usize,
    /// Steps to measure, after one that is not counted.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
    /// The view: a tree of name scopes, of nodes by dataflow, or a list of ops.
    #[arg(long, default_value = "scope", value_parser = ["scope", "graph", "op"])]
    view: String,
    /// Levels of the tree.
    #[arg(long, default_value_t = 3)]
    depth: usize,
    /// Lines of each table.
    #[arg(long, default_value_t = 10)]
    top: usize,
    /// Write the timeline of the fastest step: a page if the name ends in .html, otherwise a trace for Perfetto or Chrome's about:tracing.
    #[arg(long)]
    trace: Option<PathBuf>,
}

/// Shows where the time and the memory of a model's steps go.
pub(crate) fn profile(args: &ProfileArgs) -> Result<()> {
    let model = Model::load(&args.model)?;
    let inputs = inputs_of(&model, args.inputs.as_deref(), args.batch)?;
    let mut profiler = Profiler::new(&model.graph())?;
    let mut fastest: Option<Timeline> = None;
    let progress = crate::progress::steps("profiling", u64::from(args.steps));
    for step in 0..=args.steps {
        let outcome = model.run(&inputs, &RunOptions { trace: true, ..RunOptions::default() })?;
        if step == 0 {
            continue;
        }
        let timeline = trace::timeline(&outcome);
        profiler.add_timeline(i64::from(step), &timeline);
        if fastest.as_ref().is_none_or(|fastest| timeline.duration() < fastest.duration()) {
            fastest = Some(timeline);
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    let timeline = fastest.unwrap_or_default();
    if let Some(path) = &args.trace {
        trace::write(path, &args.model.path.display().to_string(), &timeline)?;
    }
    if args.model.json {
        print_json(&to_json(&timeline, args.top));
        return Ok(());
    }
    print_step(&timeline, args);
    let view = View::from_name(&args.view)?;
    let options = ProfileOptions::time_and_memory().with_max_depth(if view == View::Op { usize::MAX } else { args.depth });
    say!("\nmean of {} steps, {} view:", args.steps, args.view);
    let text = profiler.show(view, &options).text();
    say!("{}", text.trim_end());
    Ok(())
}

fn print_step(timeline: &Timeline, args: &ProfileArgs) {
    let path = timeline.critical_path();
    let micros = |nanos: u64| nanos as f64 / 1e3;
    say!(
        "fastest step {:.1} µs with {} firings of nodes on {} devices",
        micros(timeline.duration()),
        timeline.events.len(),
        timeline.devices.len()
    );
    say!("critical path: {:.1} µs in {} nodes, {:.1} µs waiting", micros(path.running), path.events.len(), micros(path.waiting));
    for (allocator, peak) in timeline.memory_peaks() {
        say!("memory of tensors ({allocator}): at most {} bytes, at {:.1} µs", peak.bytes, micros(peak.time));
    }
    let path: std::collections::BTreeSet<&str> = path.events.iter().map(|&i| &*timeline.events[i].name).collect();
    let of_path = timeline.shares(|event| path.contains(&*event.name).then(|| format!("{} ({})", event.name, event.op)));
    for (title, shares) in [("by op", timeline.by_op()), ("by scope", timeline.by_scope(1)), ("on the critical path", of_path)] {
        say!("\n{title}:\n{}", shares.text(args.top).trim_end());
    }
}

fn to_json(timeline: &Timeline, top: usize) -> Value {
    let path = timeline.critical_path();
    let shown = |shares: &Shares| -> Value {
        shares
            .rows
            .iter()
            .take(top)
            .map(|row| json!({"name": row.name, "calls": row.calls, "us": row.nanos as f64 / 1e3, "bytes": row.bytes}))
            .collect()
    };
    let memory = timeline
        .memory_peaks()
        .into_iter()
        .map(|(allocator, peak)| (allocator.to_string(), json!({"bytes": peak.bytes, "us": peak.time as f64 / 1e3})));
    json!({
        "step_us": timeline.duration() as f64 / 1e3,
        "events": timeline.events.len(),
        "critical_path": {
            "nodes": path.events.iter().map(|&i| &*timeline.events[i].name).collect::<Vec<_>>(),
            "running_us": path.running as f64 / 1e3,
            "waiting_us": path.waiting as f64 / 1e3,
        },
        "memory_peaks": memory.collect::<serde_json::Map<_, _>>(),
        "by_op": shown(&timeline.by_op()),
        "by_node": shown(&timeline.by_node()),
        "by_scope": shown(&timeline.by_scope(1)),
    })
}
