//! `flowmill run`.

use crate::model::Model;
use crate::{ModelArgs, print_json, trace};
use flowmill::{Result, RunOptions, Tensor, npz};
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// The .npz file with an array for each input.
    #[arg(long)]
    inputs: PathBuf,
    /// The .npz file to write, with an array for each output; without, outputs are only summarised.
    #[arg(long)]
    outputs: Option<PathBuf>,
    /// Write the timeline of the run: a page if the name ends in .html, otherwise a trace for Perfetto or Chrome's about:tracing.
    #[arg(long)]
    trace: Option<PathBuf>,
    /// Give up after this many seconds.
    #[arg(long)]
    timeout: Option<f64>,
}

/// Runs a model once.
pub(crate) fn run(args: &RunArgs) -> Result<()> {
    let inputs = npz::read(&args.inputs)?;
    let model = Model::load(&args.model)?;
    let timeout = args.timeout.map(|s| Duration::try_from_secs_f64(s).unwrap_or(Duration::MAX));
    let start = Instant::now();
    let outcome = model.run(&inputs, &RunOptions { timeout, trace: args.trace.is_some(), ..RunOptions::default() })?;
    let elapsed = start.elapsed();
    if let Some(path) = &args.trace {
        trace::write(path, &args.model.path.display().to_string(), &trace::timeline(&outcome))?;
    }
    let outputs: Vec<(String, Tensor)> = model.outputs.iter().map(|p| p.name.clone()).zip(outcome.values).collect();
    if let Some(path) = &args.outputs {
        npz::write(path, outputs.iter().map(|(name, tensor)| (name.as_str(), tensor)))?;
    }
    if args.model.json {
        let shown = outputs.iter().map(|(name, t)| (name.clone(), json!({"dtype": t.dtype().name(), "shape": t.shape().to_i64()})));
        print_json(&json!({"seconds": elapsed.as_secs_f64(), "outputs": shown.collect::<serde_json::Map<_, _>>()}));
    } else {
        for (name, tensor) in &outputs {
            say!("{name}: {tensor:?}");
        }
        crate::log::write_line(format_args!("ran in {:.3} ms", elapsed.as_secs_f64() * 1e3));
    }
    Ok(())
}
