//! The command `flowmill`: inspects, runs, measures, places and serves models.
#![deny(missing_docs, unreachable_pub, unnameable_types)]
#![forbid(unsafe_code)]

/// Prints a line on standard output. A reader that has gone, such as `head`, is no failure.
macro_rules! say {
    ($($text:tt)*) => {
        $crate::print_line(format_args!($($text)*))
    };
}

mod bench;
mod calibrate;
mod inspect;
mod log;
mod model;
mod ops;
mod place;
mod profile;
mod progress;
mod run;
mod serve;
mod trace;
mod view;

use clap::{Args, Parser, Subcommand};
use flowmill::{FileAccess, InferencePrecision, Result, SessionOptions};
use std::ffi::OsString;
use std::path::PathBuf;

/// Loads and runs TensorFlow models (SavedModels, frozen graphs, checkpoints) without TensorFlow.
#[derive(Parser)]
#[command(name = "flowmill", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Shows a model's signatures, ops, functions, variables, and what of it Flowmill cannot run.
    ///
    /// PATH is a SavedModel's directory, a frozen graph's file, a MetaGraph's, or the prefix of a checkpoint.
    #[command(after_help = "Example:\n  flowmill inspect examples/digits/1")]
    Inspect(inspect::InspectArgs),
    /// Runs a model on arrays from an .npz file and writes its outputs to another.
    ///
    /// Names in the input file are those of the signature's inputs or, for a frozen graph, of tensors (`x` or `x:0`).
    #[command(
        after_help = "Examples:\n  flowmill run examples/digits/1 --inputs x.npz --outputs y.npz\n  flowmill run model.pb --inputs x.npz --fetch y:0 --outputs y.npz\n  flowmill run examples/digits/1 --inputs x.npz --trace step.html"
    )]
    Run(run::RunArgs),
    /// Measures a model: percentiles of the latency, what the optimiser's passes changed, and where the time goes by op and by node.
    ///
    /// Without --inputs, inputs are random, with 1 for every unknown size.
    #[command(
        after_help = "Examples:\n  flowmill bench examples/digits/1 --batch 32\n  flowmill bench model.pb --fetch y:0 --trace trace.json"
    )]
    Bench(bench::BenchArgs),
    /// Lists the ops that Flowmill knows, or the types that their kernels compute.
    ///
    /// With --kernels, a line for each combination of types: the op, the device type, and the types of each type attribute that cannot be any that the op allows.
    #[command(after_help = "Examples:\n  flowmill ops Conv\n  flowmill ops --kernels MatMul")]
    Ops(ops::OpsArgs),
    /// Places a model's nodes on devices so that a simulated step is short, and shows the schedule.
    ///
    /// The times of nodes are estimates from static shapes and from the machine's speeds.
    #[command(
        after_help = "Examples:\n  flowmill place examples/digits/1 --devices CPU:4 --batch 32 --svg out.svg\n  flowmill place model.pb --devices CPU:1,GPU:2 --fetch y:0"
    )]
    Place(place::PlaceArgs),
    /// Shows where the time and the memory of a model's steps go: by op, by name scope, by node, and on the critical path.
    ///
    /// Steps are traced, which is slower: nothing is compiled into programs, so that every node shows.
    #[command(
        after_help = "Examples:\n  flowmill profile examples/digits/1 --batch 32\n  flowmill profile model.pb --fetch y:0 --view op --trace step.html"
    )]
    Profile(profile::ProfileArgs),
    /// Measures this machine's arithmetic, memory, launches and copies, and writes the description that `place --machine` reads.
    #[command(after_help = "Example:\n  flowmill calibrate --devices 2 --out machine.json")]
    Calibrate(calibrate::CalibrateArgs),
    /// Shows a model's graph as a page in the browser: scopes that open, search, paths, colours, shapes.
    ///
    /// The page is one file without links to others. With --optimized it has the step before and after all passes, side by side if that is chosen.
    #[command(
        after_help = "Examples:\n  flowmill view examples/digits/1\n  flowmill view model.pb -o graph.html --fetch y:0 --optimized --run"
    )]
    View(Box<view::ViewArgs>),
    /// Serves models over the protocols of TensorFlow Serving and of KServe, by REST and gRPC.
    ///
    /// Options that TensorFlow Serving has are its own, by name and default, except that the REST API is on and that addresses are of this machine only
    /// unless --host says otherwise. SIGTERM ends the server when its requests are answered.
    #[command(
        after_help = "Examples:\n  flowmill serve examples/digits\n  flowmill serve --model_name=digits --model_base_path=/models/digits --host=0.0.0.0\n  flowmill serve --model_config_file=models.config --enable_batching"
    )]
    Serve(Box<serve::ServeArgs>),
}

/// The arguments of every command that runs a model.
#[derive(Args)]
struct ModelArgs {
    /// The model.
    path: PathBuf,
    /// The signature to call.
    #[arg(long, default_value = "serving_default")]
    signature: String,
    /// Tags of the SavedModel's graph, separated by commas.
    #[arg(long, default_value = "serve", value_delimiter = ',')]
    tags: Vec<String>,
    /// Tensors to fetch from a frozen graph; without, all that nothing consumes.
    #[arg(long)]
    fetch: Vec<String>,
    /// Threads; 0 is one per core.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// The least precision in which float32 is multiplied by constant weights: `f32`, or `bf16`, which is faster and less accurate.
    #[arg(long = "inference-precision", alias = "inference_precision", default_value = "f32")]
    inference_precision: InferencePrecision,
    /// Leave out a pass of the optimiser, by name; may be given several times. `all` leaves out every one.
    #[arg(long = "disable-pass")]
    disabled_passes: Vec<String>,
    /// Map the graph's file instead of reading it. Loading is faster and processes share the memory, but the file must not be changed in place
    /// while the command runs: that ends it with SIGBUS, or changes its results.
    #[arg(long)]
    map_file: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl ModelArgs {
    fn file_access(&self) -> FileAccess {
        if self.map_file { FileAccess::Map } else { FileAccess::Read }
    }

    fn session_options(&self) -> SessionOptions {
        SessionOptions {
            intra_op_threads: self.threads,
            inter_op_threads: self.threads,
            // A model is run wherever it was made.
            allow_soft_placement: true,
            optimize: !self.disabled_passes.iter().any(|p| p == "all"),
            disabled_passes: self.disabled_passes.clone(),
            inference_precision: self.inference_precision,
            ..SessionOptions::default()
        }
    }
}

/// Runs the command line `args`, the first of which is the program's name; returns the exit status: 0, 1 for a failure, 2 for wrong usage.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(e) => {
            let _ = e.print();
            return u8::try_from(e.exit_code()).unwrap_or(2);
        }
    };
    let result: Result<()> = match cli.command {
        Command::Inspect(args) => inspect::inspect(&args),
        Command::Run(args) => run::run(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Ops(args) => ops::ops(&args),
        Command::Place(args) => place::place(&args),
        Command::Profile(args) => profile::profile(&args),
        Command::Calibrate(args) => calibrate::calibrate(&args),
        Command::View(args) => view::view(&args),
        Command::Serve(args) => serve::serve(&args),
    };
    match result {
        Ok(()) => 0,
        Err(e) => {
            log::write_line(format_args!("flowmill: {e}"));
            1
        }
    }
}

fn print_line(text: std::fmt::Arguments<'_>) {
    use std::io::{ErrorKind, Write};
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => log::write_line(format_args!("flowmill: standard output: {e}")),
        _ => {}
    }
}

/// Prints JSON in a stable form.
fn print_json(value: &serde_json::Value) {
    say!("{value:#}");
}
