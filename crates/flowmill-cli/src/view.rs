//! `flowmill view`.

use crate::bench::inputs_of;
use crate::model::{Model, device_types};
use crate::{ModelArgs, print_json};
use flowmill::files::{self, ModelPath};
use flowmill::{
    CostPlacement, Error, Graph, ImportOptions, PlacementPolicy, Result, RunOptions, SessionOptions, import_graph_def, new_graph, proto,
};
use flowmill_view::{Facts, step_page};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The most names of temporary files that are tried.
const MAX_TEMPORARY: u32 = 1000;

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

impl ViewArgs {
    /// Returns true if the page has a step of the model and not the graph alone.
    fn needs_step(&self) -> bool {
        self.optimized || self.run || !self.feed.is_empty() || !self.devices.is_empty()
    }
}

/// Writes the page of a model, and opens it.
pub(crate) fn view(args: &ViewArgs) -> Result<()> {
    let mut facts = Facts::default();
    if let Some(path) = &args.run_metadata {
        facts.add_run_metadata(&std::fs::read(path).map_err(|e| file_error(path, &e))?)?;
    }
    let name = args.model.path.file_name().map(|name| name.to_string_lossy().into_owned());
    let title = name.unwrap_or_else(|| args.model.path.display().to_string());
    let text = if args.needs_step() {
        page_of_step(args, &title, facts)?
    } else {
        let graph = load_graph(&args.model)?;
        let bar = crate::progress::spinner("laying out");
        let text = step_page(&title, &graph, facts, None);
        bar.finish_and_clear();
        text
    };
    let path = write(args.output.as_deref(), &text)?;
    if args.model.json {
        print_json(&json!({"page": path.display().to_string(), "bytes": text.len()}));
    } else {
        say!("{}", path.display());
    }
    if args.open || args.output.is_none() {
        open_in_browser(&path);
    }
    Ok(())
}

/// Returns the page of a model's graph and of its step, before and after all passes.
fn page_of_step(args: &ViewArgs, title: &str, mut facts: Facts) -> Result<String> {
    let mut options = args.model.session_options();
    if !args.devices.is_empty() {
        let placement = PlacementPolicy::CostModel(CostPlacement::default());
        options = SessionOptions { device_count: device_count(&args.devices)?, placement, ..options };
    }
    let mut model = Model::load_with(&args.model, options)?;
    if !args.feed.is_empty() {
        model.set_feeds(&args.feed)?;
    }
    if args.run {
        measure(&model, args.batch, &mut facts)?;
    }
    let bar = crate::progress::spinner("laying out");
    let step = model.step_graphs()?;
    let text = step_page(title, &model.graph(), facts, Some(&step));
    bar.finish_and_clear();
    Ok(text)
}

/// Loads the graph of a model without its variables. A graph in training, which cannot be run alone, is shown, too, and so are ops that nobody defines.
fn load_graph(args: &ModelArgs) -> Result<Graph> {
    let (def, producer_ops) = match ModelPath::detect(&args.path)? {
        ModelPath::Graph(path) => (files::load_graph_def_with(path, args.file_access())?.0, Vec::new()),
        ModelPath::SavedModel(path) => {
            let tags: Vec<&str> = args.tags.iter().map(String::as_str).collect();
            parts(files::SavedModel::open_with(path, args.file_access())?.meta_graph(&tags)?.clone())
        }
        ModelPath::MetaGraph(path) => parts(files::load_meta_graph(path)?),
        ModelPath::Checkpoint(path) => {
            return Err(Error::invalid_argument(format!("{}: a checkpoint has no graph", path.display())));
        }
    };
    let mut graph = new_graph()?;
    import_graph_def(&mut graph, def, &ImportOptions { producer_ops, stand_ins: true, ..ImportOptions::default() })?;
    Ok(graph)
}

/// Returns the graph of a message, and the ops that it defines.
fn parts(meta: proto::MetaGraphDef) -> (proto::GraphDef, Vec<proto::OpDef>) {
    let ops = meta.meta_info_def.and_then(|info| info.stripped_op_list).map(|list| list.op);
    (meta.graph_def.unwrap_or_default(), ops.unwrap_or_default())
}

/// Writes the page to this file, or to a new temporary one. Returns its path.
fn write(output: Option<&Path>, text: &str) -> Result<PathBuf> {
    if let Some(path) = output {
        std::fs::write(path, text).map_err(|e| file_error(path, &e))?;
        return Ok(path.to_owned());
    }
    let mut number = 0;
    loop {
        let path = std::env::temp_dir().join(format!("flowmill-view-{}-{number}.html", std::process::id()));
        // A file that somebody else made is not written to.
        match std::fs::File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes())) {
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && number < MAX_TEMPORARY => number += 1,
            Err(e) => return Err(file_error(&path, &e)),
            Ok(()) => return Ok(path),
        }
    }
}

/// Runs the model twice on random inputs, and adds the costs of the second run.
fn measure(model: &Model, batch: usize, facts: &mut Facts) -> Result<()> {
    let inputs = inputs_of(model, None, batch)?;
    let traced = RunOptions { trace: true, ..RunOptions::default() };
    model.run(&inputs, &traced)?;
    for node in model.run(&inputs, &traced)?.stats.map(|stats| stats.take()).unwrap_or_default() {
        if !node.is_in_function {
            facts.add_execution(&node.name, &node.device, node.end.saturating_sub(node.start), node.output_bytes);
        }
    }
    Ok(())
}

/// Reads numbers of CPU devices, such as `CPU:2`.
fn device_count(devices: &[String]) -> Result<BTreeMap<String, usize>> {
    let types = device_types(devices)?;
    match types.iter().find(|(name, _)| name != "CPU") {
        Some((name, _)) => Err(Error::invalid_argument(format!("--devices: a page has devices of type CPU alone, not {name}"))),
        None => Ok(types.into_iter().collect()),
    }
}

fn file_error(path: &Path, error: &std::io::Error) -> Error {
    Error::invalid_argument(format!("{}: {error}", path.display()))
}

/// Opens a file with the desktop's browser. A machine without one leaves the file to the user.
fn open_in_browser(path: &Path) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = || std::process::Stdio::null();
    if std::process::Command::new(program).arg(path).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn().is_err() {
        crate::log::write_line(format_args!("flowmill: no program opens the page; open the file above in a browser"));
    }
}
