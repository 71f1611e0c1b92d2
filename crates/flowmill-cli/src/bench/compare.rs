//! Other engines beside Flowmill: each in a process of its own, in turns with the model's steps.

use super::{BenchArgs, measure, percentile};
use crate::model::Model;
use flowmill::files::ModelPath;
use flowmill::{DType, Error, Result, RunOptions, Tensor, npz};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The values of `--compare`.
pub(super) const NAMES: [&str; 4] = ["all", "tensorflow", "onnxruntime", "openvino"];
/// The turns of each engine.
const TURNS: u32 = 8;
/// The program that runs an engine.
const PROGRAM: &str = include_str!("peers.py");

/// The figures of one engine.
pub(super) struct Compared {
    engine: String,
    version: String,
    /// The times of steps, ascending.
    times: Vec<Duration>,
    /// The largest difference of an output from Flowmill's, relative to the largest value of that output.
    difference: Option<f64>,
    error: Option<String>,
}

/// Measures the engines that the arguments name, and Flowmill as the first row. Without engines there are no rows.
pub(super) fn compare(args: &BenchArgs, model: &Model, inputs: &BTreeMap<String, Tensor>) -> Result<Vec<Compared>> {
    if args.compare.is_empty() {
        return Ok(Vec::new());
    }
    let every = args.compare.iter().any(|name| name == "all");
    let names = NAMES.iter().skip(1).filter(|name| every || args.compare.iter().any(|wanted| wanted == *name));
    let directory = tempfile::tempdir().map_err(|e| Error::unavailable(format!("a temporary directory cannot be made: {e}")))?;
    let values = directory.path().join("inputs.npz");
    npz::write(&values, inputs.iter().map(|(name, value)| (name.as_str(), value)))?;
    let expected = model.run(inputs, &RunOptions::default())?.values;
    let mut rows = Vec::new();
    let mut engines = Vec::new();
    for name in names {
        let results = directory.path().join(format!("{name}.npz"));
        match Engine::start(name, args, model, inputs, &values, &results) {
            Ok((engine, version)) => {
                let difference = difference(&expected, &results)?;
                engines.push((rows.len(), engine));
                rows.push(Compared { engine: (*name).to_owned(), version, times: Vec::new(), difference, error: None });
            }
            Err(Failure::Missing) if every => {}
            Err(failure) => {
                let error = Some(failure.text(name));
                rows.push(Compared { engine: (*name).to_owned(), version: String::new(), times: Vec::new(), difference: None, error });
            }
        }
    }
    let mut own = Vec::new();
    for _ in 0..TURNS {
        let seconds = args.seconds / f64::from(TURNS);
        own.extend(measure(model, inputs, seconds)?);
        for (row, engine) in &mut engines {
            match engine.measure(seconds) {
                Ok(times) => rows[*row].times.extend(times),
                Err(failure) => rows[*row].error = Some(failure.text(&rows[*row].engine)),
            }
        }
    }
    let version = env!("CARGO_PKG_VERSION").to_owned();
    rows.insert(0, Compared { engine: "flowmill".to_owned(), version, times: own, difference: None, error: None });
    rows.iter_mut().for_each(|row| row.times.sort_unstable());
    Ok(rows)
}

/// Prints a table of engines.
pub(super) fn print(rows: &[Compared]) {
    let Some(own) = rows.first().map(|row| percentile(&row.times, 0.0)) else { return };
    say!("\n{:<24} {:>10} {:>10} {:>11} {:>11}", "engine", "min, ms", "p50, ms", "÷ flowmill", "difference");
    for row in rows {
        let name = format!("{} {}", row.engine, row.version);
        match &row.error {
            Some(error) => say!("{name:<24} {error}"),
            None => {
                let (least, median) = (percentile(&row.times, 0.0), percentile(&row.times, 0.5));
                let difference = row.difference.map_or_else(String::new, |difference| format!("{difference:.0e}"));
                say!("{name:<24} {least:>10.3} {median:>10.3} {:>11.2} {difference:>11}", least / own);
            }
        }
    }
}

impl Compared {
    /// Returns the row as JSON.
    pub(super) fn to_json(&self) -> Value {
        let percentile = |q| (!self.times.is_empty()).then(|| percentile(&self.times, q));
        json!({
            "engine": self.engine,
            "version": self.version,
            "runs": self.times.len(),
            "min_ms": percentile(0.0),
            "p50_ms": percentile(0.5),
            "difference": self.difference,
            "error": self.error,
        })
    }
}

/// A process that runs an engine.
struct Engine {
    process: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// The reason why there are no figures of an engine.
enum Failure {
    /// The engine is not installed.
    Missing,
    /// Anything else.
    Other(String),
}

impl Failure {
    fn text(&self, engine: &str) -> String {
        match self {
            Failure::Missing => format!("not installed (pip install {engine}, and --python for its interpreter)"),
            Failure::Other(text) => text.clone(),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::Other(error.to_string())
    }
}

impl Engine {
    /// Starts an engine and runs the model once. Returns its version, too.
    fn start(
        name: &str,
        args: &BenchArgs,
        model: &Model,
        inputs: &BTreeMap<String, Tensor>,
        values: &Path,
        results: &Path,
    ) -> std::result::Result<(Engine, String), Failure> {
        let failed = |error: Error| Failure::Other(error.to_string());
        let tensors = inputs.keys().map(|input| Ok((input.clone(), model.input_tensor(input)?.into()))).collect::<Result<_>>();
        let tensors: serde_json::Map<String, Value> = tensors.map_err(failed)?;
        let outputs: serde_json::Map<String, Value> =
            model.outputs.iter().map(|port| (port.name.clone(), port.tensor.as_str().into())).collect();
        let is_saved_model = matches!(ModelPath::detect(&args.model.path).map_err(failed)?, ModelPath::SavedModel(_));
        let job = json!({
            "engine": name,
            "model": args.model.path,
            "kind": if is_saved_model { "saved_model" } else { "graph" },
            "signature": args.model.signature,
            "tags": args.model.tags,
            "inputs": tensors,
            "outputs": outputs,
            "values": values,
            "results": results,
            "threads": args.model.threads,
            "onnx": args.onnx,
        });
        let mut process = Command::new(&args.python)
            .args(["-c", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| Failure::Other(format!("{}: {e}", args.python.display())))?;
        let (Some(commands), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(Failure::Other("the process has no pipes".to_owned()));
        };
        let mut engine = Engine { process, commands, answers: BufReader::new(answers) };
        let answer = engine.ask(&job.to_string())?;
        Ok((engine, answer["version"].as_str().unwrap_or_default().to_owned()))
    }

    /// Runs the model for some seconds and returns the times of its steps.
    fn measure(&mut self, seconds: f64) -> std::result::Result<Vec<Duration>, Failure> {
        let answer = self.ask(&seconds.to_string())?;
        let times = answer["times"].as_array().into_iter().flatten().filter_map(Value::as_f64);
        Ok(times.filter_map(|seconds| Duration::try_from_secs_f64(seconds).ok()).collect())
    }

    fn ask(&mut self, line: &str) -> std::result::Result<Value, Failure> {
        writeln!(self.commands, "{line}")?;
        self.commands.flush()?;
        let mut text = String::new();
        if self.answers.read_line(&mut text)? == 0 {
            return Err(Failure::Other("the process ended".to_owned()));
        }
        let answer: Value = serde_json::from_str(&text).map_err(|e| Failure::Other(e.to_string()))?;
        match answer["error"].as_str() {
            Some(_) if answer["missing"] == true => Err(Failure::Missing),
            Some(error) => Err(Failure::Other(error.to_owned())),
            None => Ok(answer),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // One that has ended is no failure.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the largest difference of an engine's outputs from the expected ones, relative to the largest value of each; `None` if there are no numbers.
fn difference(expected: &[Tensor], results: &Path) -> Result<Option<f64>> {
    let actual = npz::read(results)?;
    let mut largest = None;
    for (i, expected) in expected.iter().enumerate() {
        let Some(actual) = actual.get(&format!("o{i}")).filter(|actual| actual.shape() == expected.shape()) else {
            return Ok(Some(f64::INFINITY));
        };
        let (DType::F32, DType::F32) = (expected.dtype(), actual.dtype()) else { continue };
        let (expected, actual) = (expected.as_slice::<f32>()?, actual.as_slice::<f32>()?);
        let scale = expected.iter().map(|x| f64::from(x.abs())).fold(f64::MIN_POSITIVE, f64::max);
        let worst = expected.iter().zip(actual).map(|(x, y)| f64::from((x - y).abs())).fold(0.0, f64::max);
        largest = Some(f64::max(largest.unwrap_or(0.0), worst / scale));
    }
    Ok(largest)
}
