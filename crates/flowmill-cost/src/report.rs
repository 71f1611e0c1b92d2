//! Reports: predicted and measured times, per node and of the whole step.

use crate::machine::Machine;
use crate::simulate::Schedule;
use crate::tasks::TaskGraph;
use std::fmt;
use std::sync::Arc;

/// One execution of a task in a real step. Times are nanoseconds from the start of the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredTask {
    /// The task's index.
    pub task: usize,
    /// The device that it ran on.
    pub device: usize,
    /// The time when its kernel started.
    pub start: u64,
    /// The time when its kernel ended.
    pub end: u64,
}

/// A real step.
#[derive(Clone, Debug, Default)]
pub struct MeasuredStep {
    /// The executions of tasks, of which a task may have none or several.
    pub tasks: Vec<MeasuredTask>,
    /// The nanoseconds of the step.
    pub duration: u64,
}

/// The times of one task.
#[derive(Clone, Debug)]
pub struct ReportRow {
    /// The node's name.
    pub name: Arc<str>,
    /// The node's op.
    pub op: Arc<str>,
    /// The device's number.
    pub device: usize,
    /// The predicted nanoseconds per step.
    pub predicted: u64,
    /// The measured nanoseconds per step, over all executions; `None` for a task that was not measured.
    pub measured: Option<u64>,
}

/// The comparison of a schedule with a measured step.
#[derive(Clone, Debug)]
pub struct Report {
    /// The tasks, in the order of the graph.
    pub rows: Vec<ReportRow>,
    /// The simulated nanoseconds of the step.
    pub predicted: u64,
    /// The measured nanoseconds of the step.
    pub measured: Option<u64>,
    devices: Vec<DeviceRow>,
    copies: usize,
    copied_bytes: u64,
}

/// One device in a report.
#[derive(Clone, Debug)]
struct DeviceRow {
    name: String,
    tasks: usize,
    busy: u64,
    peak_memory: u64,
}

impl Report {
    /// Compares a schedule with a measured step.
    pub fn new(tasks: &TaskGraph, machine: &Machine, schedule: &Schedule, step: Option<&MeasuredStep>) -> Report {
        let mut measured: Vec<Option<u64>> = vec![None; tasks.len()];
        for execution in step.iter().flat_map(|step| &step.tasks) {
            if let Some(sum) = measured.get_mut(execution.task) {
                *sum = Some(sum.unwrap_or(0) + execution.end.saturating_sub(execution.start));
            }
        }
        let row = |(t, measured): (usize, Option<u64>)| {
            let (task, device) = (&tasks.tasks()[t], schedule.devices[t]);
            ReportRow {
                name: Arc::clone(&task.name),
                op: Arc::clone(&task.op),
                device,
                predicted: schedule.end[t] - schedule.start[t],
                measured,
            }
        };
        let (busy, mut counts) = (schedule.busy(machine), vec![0; machine.num_devices()]);
        schedule.devices.iter().for_each(|&device| counts[device] += 1);
        let device = |(d, model): (usize, &crate::DeviceModel)| DeviceRow {
            name: model.name.clone(),
            tasks: counts[d],
            busy: busy[d],
            peak_memory: schedule.peak_memory[d],
        };
        Report {
            rows: measured.into_iter().enumerate().map(row).collect(),
            predicted: schedule.makespan,
            measured: step.map(|step| step.duration),
            devices: machine.devices().iter().enumerate().map(device).collect(),
            copies: schedule.transfers.len(),
            copied_bytes: schedule.transfers.iter().map(|transfer| transfer.bytes).sum(),
        }
    }

    /// Returns the error of the prediction, as a fraction of the measured time of the step; `None` without a measurement.
    pub fn error(&self) -> Option<f64> {
        let measured = self.measured.filter(|&measured| measured > 0)? as f64;
        Some((self.predicted as f64 - measured) / measured)
    }

    /// Returns the rows with the longest times, measured or predicted, the longest first.
    pub fn longest(&self, n: usize) -> Vec<&ReportRow> {
        let mut rows: Vec<&ReportRow> = self.rows.iter().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.measured.unwrap_or(0).max(row.predicted)));
        rows.truncate(n);
        rows
    }

    /// Returns the report as text, with the `top` longest nodes.
    pub fn text(&self, top: usize) -> String {
        ReportText { report: self, top }.to_string()
    }
}

/// A report with the number of nodes to show.
struct ReportText<'a> {
    report: &'a Report,
    top: usize,
}

impl fmt::Display for ReportText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = self.report;
        write!(f, "step: {:.1} µs predicted", micros(report.predicted))?;
        if let (Some(measured), Some(error)) = (report.measured, report.error()) {
            write!(f, ", {:.1} µs measured, error {:+.0} %", micros(measured), 100.0 * error)?;
        }
        writeln!(f, "\ncopies between devices: {}, {} bytes\n", report.copies, report.copied_bytes)?;
        writeln!(f, "{:>12}  {:>7}  {:>12}  {:>6}  {:>14}", "device", "nodes", "busy µs", "busy", "peak bytes")?;
        for device in &report.devices {
            let share = 100.0 * device.busy as f64 / report.predicted.max(1) as f64;
            let (name, busy) = (&device.name, micros(device.busy));
            writeln!(f, "{name:>12}  {:>7}  {busy:>12.1}  {share:>4.0} %  {:>14}", device.tasks, device.peak_memory)?;
        }
        writeln!(f, "\n{:>12}  {:>12}  {:>12}  node", "predicted µs", "measured µs", "device")?;
        for row in report.longest(self.top) {
            let device = report.devices.get(row.device).map_or("", |device| &device.name);
            let measured = row.measured.map_or_else(|| "-".to_owned(), |measured| format!("{:.1}", micros(measured)));
            writeln!(f, "{:>12.1}  {measured:>12}  {device:>12}  {} ({})", micros(row.predicted), row.name, row.op)?;
        }
        Ok(())
    }
}

fn micros(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}
