//! Pictures of schedules: one lane per device and per link in use, over time.

use crate::machine::Machine;
use crate::report::MeasuredStep;
use crate::simulate::Schedule;
use crate::tasks::TaskGraph;
use std::collections::BTreeMap;
use std::fmt::Write;

const WIDTH: f64 = 1600.0;
/// The space for the names of lanes.
const LEFT: f64 = 150.0;
const TOP: f64 = 50.0;
const LANE: f64 = 44.0;
const LINK_LANE: f64 = 16.0;
const GAP: f64 = 8.0;
/// Narrower bars are merged with their neighbours, so that a picture of any graph has a bounded number of bars.
const NARROWEST: f64 = 1.5;
/// The pixels of one letter of a label.
const LETTER: f64 = 6.2;
/// The ops that the legend names.
const LEGEND: usize = 12;

/// One rectangle of a lane. Times are in nanoseconds.
struct Bar {
    start: u64,
    end: u64,
    label: String,
    title: String,
    hue: u32,
}

/// Returns a picture of a schedule, as SVG. Each device has a lane for the simulated step and, if there is a measured step, another one below for that;
/// both have one time axis. Links in use have narrow lanes. A rectangle has its node's name as a label, if there is room for it, and the name and the
/// times as a tooltip. Neighbours that are too narrow to be seen are drawn as one grey rectangle, whose tooltip says how many they are.
pub fn svg(tasks: &TaskGraph, machine: &Machine, schedule: &Schedule, measured: Option<&MeasuredStep>) -> String {
    let total = schedule.makespan.max(measured.map_or(0, |step| step.tasks.iter().map(|t| t.end).max().unwrap_or(step.duration))).max(1);
    let mut picture = Picture { body: String::new(), y: TOP, scale: (WIDTH - LEFT - 10.0) / total as f64 };
    for (d, device) in machine.devices().iter().enumerate() {
        let simulated = (0..tasks.len()).filter(|&t| schedule.devices[t] == d && schedule.end[t] > schedule.start[t]);
        let bars = simulated.map(|t| task_bar(tasks, t, schedule.start[t], schedule.end[t])).collect();
        picture.lane(&format!("{} simulated", device.name), LANE, bars);
        if let Some(step) = measured {
            let on_device = step.tasks.iter().filter(|t| t.device == d && t.task < tasks.len());
            // Kernels of one device may overlap in a real step: each thread's bars are drawn over those of others.
            picture.lane(&format!("{} measured", device.name), LANE, on_device.map(|t| task_bar(tasks, t.task, t.start, t.end)).collect());
        }
    }
    let mut links: BTreeMap<(usize, usize), Vec<Bar>> = BTreeMap::new();
    for transfer in &schedule.transfers {
        let task = &tasks.tasks()[transfer.task];
        let title = format!("{}: {} bytes, arrives at {:.1} µs", task.name, transfer.bytes, transfer.arrival as f64 / 1e3);
        // A copy without bytes is drawn for as long as it is on its way.
        let end = if transfer.end > transfer.start { transfer.end } else { transfer.arrival };
        let bar = Bar { start: transfer.start, end, label: task.name.to_string(), title, hue: 210 };
        links.entry((transfer.from, transfer.to)).or_default().push(bar);
    }
    for ((from, to), bars) in links {
        let name = |d: usize| machine.devices().get(d).map_or("", |device| &device.name);
        picture.lane(&format!("{} → {}", name(from), name(to)), LINK_LANE, bars);
    }
    picture.legend(tasks, schedule);
    picture.finish(total, schedule, measured)
}

fn task_bar(tasks: &TaskGraph, t: usize, start: u64, end: u64) -> Bar {
    let task = &tasks.tasks()[t];
    let title = format!(
        "{} ({}): {:.1} µs, from {:.1} to {:.1}",
        task.name,
        task.op,
        (end - start) as f64 / 1e3,
        start as f64 / 1e3,
        end as f64 / 1e3
    );
    Bar { start, end, label: task.name.to_string(), title, hue: hue(&task.op) }
}

/// Returns a colour for an op, equal in all pictures.
fn hue(op: &str) -> u32 {
    op.bytes().fold(17u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte))).wrapping_mul(0x9e37_79b1) % 360
}

struct Picture {
    body: String,
    y: f64,
    /// Pixels per nanosecond.
    scale: f64,
}

impl Picture {
    fn lane(&mut self, name: &str, height: f64, mut bars: Vec<Bar>) {
        let (y, width) = (self.y, WIDTH - LEFT - 10.0);
        let middle = y + height / 2.0 + 4.0;
        let _ = writeln!(self.body, r##"<text x="4" y="{middle:.1}">{}</text>"##, escape(name));
        let _ = writeln!(self.body, r##"<rect x="{LEFT}" y="{y:.1}" width="{width:.1}" height="{height}" fill="#f4f4f4"/>"##);
        bars.sort_by_key(|bar| (bar.start, bar.end));
        let mut narrow: Vec<Bar> = Vec::new();
        for bar in bars {
            let is_narrow = (bar.end.saturating_sub(bar.start)) as f64 * self.scale < NARROWEST;
            let is_far = narrow.first().is_some_and(|first| (bar.end.saturating_sub(first.start)) as f64 * self.scale > 4.0 * NARROWEST);
            if !is_narrow || is_far {
                self.merged(&mut narrow, height);
            }
            if is_narrow {
                narrow.push(bar);
            } else {
                self.bar(&bar, height, &format!("hsl({},60%,72%)", bar.hue));
            }
        }
        self.merged(&mut narrow, height);
        self.y += height + GAP;
    }

    /// Draws narrow bars as one.
    fn merged(&mut self, bars: &mut Vec<Bar>, height: f64) {
        let Some((first, last)) = bars.first().zip(bars.iter().map(|bar| bar.end).max()) else { return };
        let busy: u64 = bars.iter().map(|bar| bar.end - bar.start).sum();
        let title = match &bars[..] {
            [one] => one.title.clone(),
            _ => format!("{} nodes, {:.1} µs in all, the first is {}", bars.len(), busy as f64 / 1e3, first.label),
        };
        let share = busy as f64 / (last - first.start).max(1) as f64;
        let lightness = 85.0 - 30.0 * share.clamp(0.0, 1.0);
        let bar = Bar { start: first.start, end: last, label: String::new(), title, hue: 0 };
        self.bar(&bar, height, &format!("hsl(0,0%,{lightness:.0}%)"));
        bars.clear();
    }

    fn bar(&mut self, bar: &Bar, height: f64, fill: &str) {
        let x = LEFT + bar.start as f64 * self.scale;
        let width = ((bar.end - bar.start) as f64 * self.scale).max(0.4);
        let y = self.y;
        let title = escape(&bar.title);
        let _ = writeln!(
            self.body,
            r##"<rect x="{x:.2}" y="{y:.1}" width="{width:.2}" height="{height}" fill="{fill}" stroke="#fff" stroke-width="0.3"><title>{title}</title></rect>"##
        );
        let letters = (width / LETTER) as usize;
        if letters >= 3 && !bar.label.is_empty() {
            let middle = y + height / 2.0 + 4.0;
            let label = escape(&shortened(&bar.label, letters));
            let _ = writeln!(self.body, r##"<text x="{:.2}" y="{middle:.1}" pointer-events="none">{label}</text>"##, x + 2.0);
        }
    }

    /// Names the ops that take the most time, with their colours.
    fn legend(&mut self, tasks: &TaskGraph, schedule: &Schedule) {
        let mut by_op: BTreeMap<&str, u64> = BTreeMap::new();
        for (t, task) in tasks.tasks().iter().enumerate() {
            *by_op.entry(&task.op).or_default() += schedule.end[t] - schedule.start[t];
        }
        let mut ops: Vec<(&str, u64)> = by_op.into_iter().filter(|(_, time)| *time > 0).collect();
        ops.sort_by_key(|&(op, time)| (std::cmp::Reverse(time), op));
        let mut x = LEFT;
        for (op, time) in ops.into_iter().take(LEGEND) {
            let label = format!("{op} {:.0} µs", time as f64 / 1e3);
            if x + label.chars().count() as f64 * LETTER > WIDTH - 20.0 {
                break;
            }
            let (y, hue) = (self.y + 4.0, hue(op));
            let _ = writeln!(self.body, r##"<rect x="{x:.1}" y="{y:.1}" width="10" height="10" fill="hsl({hue},60%,72%)"/>"##);
            let _ = writeln!(self.body, r##"<text x="{:.1}" y="{:.1}">{}</text>"##, x + 14.0, y + 9.0, escape(&label));
            x += 30.0 + label.chars().count() as f64 * LETTER;
        }
        self.y += 24.0;
    }

    fn finish(self, total: u64, schedule: &Schedule, measured: Option<&MeasuredStep>) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{h:.0}" viewBox="0 0 {WIDTH} {h:.0}" font-family="sans-serif" font-size="11">"##,
            h = self.y
        );
        let _ = writeln!(out, r##"<rect width="100%" height="100%" fill="#fff"/>"##);
        let mut title = format!("simulated step: {:.1} µs", schedule.makespan as f64 / 1e3);
        if let Some(step) = measured {
            let _ = write!(title, ", measured step: {:.1} µs", step.duration as f64 / 1e3);
        }
        let _ = writeln!(out, r##"<text x="{LEFT}" y="16" font-size="14">{title}</text>"##);
        let tick = tick(total);
        for i in 0..=total / tick {
            let x = LEFT + (i * tick) as f64 * self.scale;
            let bottom = self.y - 24.0;
            let _ = writeln!(out, r##"<line x1="{x:.2}" x2="{x:.2}" y1="{:.1}" y2="{bottom:.1}" stroke="#ddd"/>"##, TOP - 8.0);
            let _ = writeln!(out, r##"<text x="{x:.2}" y="{:.1}" fill="#555">{} µs</text>"##, TOP - 12.0, (i * tick) as f64 / 1e3);
        }
        out + &self.body + "</svg>\n"
    }
}

/// Returns the distance of the axis' ticks: 1, 2 or 5 times a power of ten, so that there are about ten.
fn tick(total: u64) -> u64 {
    let mut unit = 1u64;
    loop {
        for factor in [1, 2, 5] {
            if total / (unit * factor) <= 12 {
                return unit * factor;
            }
        }
        unit *= 10;
    }
}

/// Returns the end of a name, which says more than its scopes do.
fn shortened(name: &str, letters: usize) -> String {
    let n = name.chars().count();
    if n <= letters { name.to_owned() } else { name.chars().skip(n - letters + 1).collect::<String>().replacen("", "…", 1) }
}

/// Returns text that is valid in XML: control characters are replaced.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
