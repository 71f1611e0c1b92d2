//! `flowmill view`.

use crate::ModelArgs;
use crate::bench::random;
use crate::model::Model;
use flowmill::{Error, Result, RunOptions, SessionOptions};
use flowmill_view::{Facts, step_page};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct ViewArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// The page's file. Without, the page is a temporary file and opens in the browser.
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Open the page in the browser also with --output.
    #[arg(long)]
    open: bool,
    /// Also show the step of the signature, or of --fetch, before and after all passes, and what each pass did.
    #[arg(long)]
    optimized: bool,
    /// Tensors that the step is fed; without, those of the signature or all placeholders. Implies --optimized.
    #[arg(long)]
    feed: Vec<String>,
    /// The number of CPUs to place the step on, such as CPU:2, with a graph for each. Implies --optimized.
    #[arg(long, value_delimiter = ',')]
    devices: Vec<String>,
    /// A file with a serialized RunMetadata, for colours by time and memory.
    #[arg(long)]
    run_metadata: Option<PathBuf>,
    /// Run the model on random inputs, for colours by time and memory. Implies --optimized.
    #[arg(long)]
    run: bool,
    /// The first size of random inputs whose static shape leaves it open.
    #[arg(long, default_value_t = 1)]
    batch: usize,
}

/// Writes the page of a model, and opens it.
pub(crate) fn view(args: &ViewArgs) -> Result<()> {
    let mut options = args.model.session_options();
    if !args.devices.is_empty() {
        options = SessionOptions { device_count: device_count(&args.devices)?, ..options };
    }
    let mut model = Model::load_with(&args.model, options)?;
    if !args.feed.is_empty() {
        model.set_feeds(&args.feed)?;
    }
    let mut facts = Facts::default();
    if let Some(path) = &args.run_metadata {
        facts.add_run_metadata(&std::fs::read(path).map_err(|e| file_error(path, &e))?)?;
    }
    if args.run {
        measure(&model, args.batch, &mut facts)?;
    }
    let needs_step = args.optimized || args.run || !args.feed.is_empty() || !args.devices.is_empty();
    let bar = crate::spinner("laying out");
    let step = if needs_step { Some(model.step_graphs()?) } else { None };
    let title =
        args.model.path.file_name().map_or_else(|| args.model.path.display().to_string(), |name| name.to_string_lossy().into_owned());
    let text = step_page(&title, &model.graph(), facts, step.as_ref());
    bar.finish_and_clear();
    let path = match &args.output {
        Some(path) => path.clone(),
        None => std::env::temp_dir().join(format!("flowmill-view-{}.html", std::process::id())),
    };
    std::fs::write(&path, text).map_err(|e| file_error(&path, &e))?;
    say!("{}", path.display());
    if args.open || args.output.is_none() {
        open_in_browser(&path);
    }
    Ok(())
}

/// Runs the model twice on random inputs, and adds the costs of the second run.
fn measure(model: &Model, batch: usize, facts: &mut Facts) -> Result<()> {
    let inputs: BTreeMap<_, _> =
        model.distinct_inputs().map(|port| Ok((port.name.clone(), random(port, batch)?))).collect::<Result<_>>()?;
    let traced = RunOptions { trace: true, ..RunOptions::default() };
    model.run(&inputs, &traced)?;
    for node in model.run(&inputs, &traced)?.stats.map(|stats| stats.take()).unwrap_or_default() {
        if !node.is_in_function {
            facts.add_execution(&node.name, &node.device, node.end.saturating_sub(node.start), node.output_bytes);
        }
    }
    Ok(())
}

/// Reads numbers of devices, such as `CPU:2`.
fn device_count(devices: &[String]) -> Result<BTreeMap<String, usize>> {
    let parse = |text: &String| {
        let (kind, count) = text.split_once(':')?;
        let count: usize = count.parse().ok().filter(|&count| count > 0)?;
        (kind == "CPU").then(|| (kind.to_owned(), count))
    };
    let invalid = |text| Error::invalid_argument(format!("--devices must be a number of CPUs such as CPU:2, not '{text}'"));
    devices.iter().map(|text| parse(text).ok_or_else(|| invalid(text))).collect()
}

fn file_error(path: &Path, error: &std::io::Error) -> Error {
    Error::invalid_argument(format!("{}: {error}", path.display()))
}

/// Opens a file with the desktop's browser. A machine without one leaves the file to the user.
fn open_in_browser(path: &Path) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = || std::process::Stdio::null();
    if std::process::Command::new(program).arg(path).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn().is_err() {
        eprintln!("flowmill: no program opens the page; open the file above in a browser");
    }
}
