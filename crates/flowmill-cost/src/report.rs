//! Reports: predicted and measured times, per node and of the whole step.

use crate::machine::Machine;
use crate::measured::MeasuredCosts;
use crate::order::order_by;
use crate::saturating::total;
use crate::simulate::Schedule;
use crate::tasks::{Task, TaskGraph};
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
    /// The nanoseconds in kernels of nodes that are no tasks, such as those that send and receive.
    pub other_nodes: u64,
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

impl ReportRow {
    /// Returns the predicted time less the measured one, in nanoseconds, or the nearest number that is representable; `None` for a task that was not measured.
    pub fn difference(&self) -> Option<i64> {
        let difference = i128::from(self.predicted) - i128::from(self.measured?);
        Some(difference.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }
}

/// The comparison of a schedule with measured times.
#[derive(Clone, Debug)]
pub struct Report {
    /// The tasks, in the order of the graph.
    pub rows: Vec<ReportRow>,
    /// The simulated nanoseconds of the step.
    pub predicted: u64,
    /// The measured nanoseconds of the step; `None` if only tasks were measured.
    pub measured: Option<u64>,
    /// The measured nanoseconds of nodes that are no tasks.
    pub other_nodes: u64,
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
    measured: Option<u64>,
    peak_memory: u64,
}

impl Report {
    /// Compares a schedule with a measured step.
    pub fn new(tasks: &TaskGraph, machine: &Machine, schedule: &Schedule, step: Option<&MeasuredStep>) -> Report {
        let mut measured: Vec<Option<u64>> = vec![None; tasks.len()];
        for execution in step.iter().flat_map(|step| &step.tasks) {
            if let Some(sum) = measured.get_mut(execution.task) {
                *sum = Some(sum.unwrap_or(0).saturating_add(execution.end.saturating_sub(execution.start)));
            }
        }
        let mut report = Report::with(tasks, machine, schedule, measured);
        report.measured = step.map(|step| step.duration);
        report.other_nodes = step.map_or(0, |step| step.other_nodes);
        report
    }

    /// Compares a schedule with the mean times of tasks over many steps.
    pub fn of_costs(tasks: &TaskGraph, machine: &Machine, schedule: &Schedule, costs: &MeasuredCosts) -> Report {
        let measured = |task: &Task| costs.get(&task.name).and_then(|node| node.time_per_step()).map(|time| time as u64);
        Report::with(tasks, machine, schedule, tasks.tasks().iter().map(measured).collect())
    }

    fn with(tasks: &TaskGraph, machine: &Machine, schedule: &Schedule, measured: Vec<Option<u64>>) -> Report {
        let mut devices: Vec<DeviceRow> = Vec::with_capacity(machine.num_devices());
        for ((model, busy), &peak_memory) in machine.devices().iter().zip(schedule.busy(machine)).zip(&schedule.peak_memory) {
            devices.push(DeviceRow { name: model.name.clone(), tasks: 0, busy, measured: None, peak_memory });
        }
        let mut rows = Vec::with_capacity(tasks.len());
        for (t, (task, measured)) in tasks.tasks().iter().zip(measured).enumerate() {
            let device = schedule.devices[t];
            if let Some(row) = devices.get_mut(device) {
                row.tasks += 1;
                row.measured = measured.map_or(row.measured, |time| Some(row.measured.unwrap_or(0).saturating_add(time)));
            }
            let (name, op) = (Arc::clone(&task.name), Arc::clone(&task.op));
            rows.push(ReportRow { name, op, device, predicted: schedule.end[t] - schedule.start[t], measured });
        }
        let copied_bytes = total(schedule.transfers.iter().map(|transfer| transfer.bytes));
        let (predicted, copies) = (schedule.makespan, schedule.transfers.len());
        Report { rows, predicted, measured: None, other_nodes: 0, devices, copies, copied_bytes }
    }

    /// Returns the error of the prediction, as a fraction of the measured time of the step; `None` without a measurement.
    pub fn error(&self) -> Option<f64> {
        error(self.predicted, self.measured?)
    }

    /// Returns the rows with the largest differences between prediction and measurement, the largest first; those with the longest predicted times if
    /// nothing was measured. Rows without a measurement come last.
    pub fn by_error(&self, n: usize) -> Vec<&ReportRow> {
        // A measured row has at least 1, so that rows without a measurement come last.
        let difference = |row: &ReportRow| row.difference().map_or(0, |difference| difference.unsigned_abs().saturating_add(1));
        let order = order_by(self.rows.len(), |i| (u64::MAX - difference(&self.rows[i]), u64::MAX - self.rows[i].predicted));
        order.into_iter().take(n).filter_map(|i| self.rows.get(i)).collect()
    }

    /// Returns the report as text, with the `top` rows of [`Report::by_error`].
    pub fn text(&self, top: usize) -> String {
        ReportText { report: self, top }.to_string()
    }
}

fn error(predicted: u64, measured: u64) -> Option<f64> {
    (measured > 0).then(|| (predicted as f64 - measured as f64) / measured as f64)
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
        writeln!(f, "\ncopies between devices: {}, {} bytes", report.copies, report.copied_bytes)?;
        let columns = ["device", "nodes", "predicted µs", "share", "measured µs", "error", "peak bytes"];
        writeln!(f)?;
        row(f, &columns.map(str::to_owned), "")?;
        for device in &report.devices {
            let share = 100.0 * device.busy as f64 / report.predicted.max(1) as f64;
            let (tasks, peak) = (device.tasks.to_string(), device.peak_memory.to_string());
            let [predicted, measured, error] = times(device.busy, device.measured);
            row(f, &[device.name.clone(), tasks, predicted, format!("{share:.0} %"), measured, error, peak], "")?;
        }
        let is_measured = report.rows.iter().any(|row| row.measured.is_some());
        let order = if is_measured { "the largest difference first" } else { "the longest first" };
        let shown = report.by_error(self.top);
        writeln!(f, "\n{} of {} nodes, {order}:", shown.len(), report.rows.len())?;
        row(f, &["predicted µs", "measured µs", "error", "device"].map(str::to_owned), "node")?;
        for node in &shown {
            let device = report.devices.get(node.device).map_or("", |device| &device.name);
            let [predicted, measured, error] = times(node.predicted, node.measured);
            row(f, &[predicted, measured, error, device.to_owned()], &format!("{} ({})", node.name, node.op))?;
        }
        let sums = |rows: &mut dyn Iterator<Item = &ReportRow>| {
            rows.fold((0, None), |(predicted, measured), row| {
                let measured = row.measured.map_or(measured, |time: u64| Some(time.saturating_add(measured.unwrap_or(0))));
                (row.predicted.saturating_add(predicted), measured)
            })
        };
        for (name, (predicted, measured)) in [
            ("in these nodes", sums(&mut shown.iter().copied())),
            ("in all measured nodes", sums(&mut report.rows.iter().filter(|row| row.measured.is_some()))),
            ("in all nodes", sums(&mut report.rows.iter())),
        ] {
            let [predicted, measured, error] = times(predicted, measured);
            if is_measured || name == "in all nodes" {
                row(f, &[predicted, measured, error, String::new()], name)?;
            }
        }
        if report.other_nodes > 0 {
            let measured = format!("{:.1}", micros(report.other_nodes));
            row(
                f,
                &["-".to_owned(), measured, String::new(), String::new()],
                "in nodes that are not predicted, such as those that send and receive",
            )?;
        }
        Ok(())
    }
}

/// Writes columns of equal widths, and a last one of any width.
fn row(f: &mut fmt::Formatter<'_>, columns: &[String], last: &str) -> fmt::Result {
    let mut line = String::new();
    for column in columns {
        let width = column.chars().count();
        line.extend(std::iter::repeat_n(' ', 12usize.saturating_sub(width)).chain(column.chars()).chain([' ', ' ']));
    }
    line.push_str(last);
    f.write_str(line.trim_end())?;
    f.write_str("\n")
}

/// Returns the columns of a predicted time, a measured time and their relative difference.
fn times(predicted: u64, measured: Option<u64>) -> [String; 3] {
    let micros = |time: u64| format!("{:.1}", micros(time));
    let relative = measured.and_then(|measured| error(predicted, measured)).map_or_else(String::new, |e| format!("{:+.0} %", 100.0 * e));
    [micros(predicted), measured.map_or_else(|| "-".to_owned(), micros), relative]
}

fn micros(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}
