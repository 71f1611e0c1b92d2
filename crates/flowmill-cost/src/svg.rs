//! Pictures of schedules: one lane per device and per link in use, over time.

use crate::machine::Machine;
use crate::order::order_by;
use crate::palette::{COPY, Palette, style};
use crate::report::MeasuredStep;
use crate::saturating::total;
use crate::simulate::{Schedule, Transfer};
use crate::tasks::TaskGraph;
use std::collections::BTreeMap;
use std::fmt::Write;

const WIDTH: f64 = 1600.0;
/// The space for the names of lanes.
const LEFT: f64 = 190.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 64.0;
const LANE: f64 = 36.0;
const LINK_LANE: f64 = 14.0;
/// The space between the simulated and the measured lane of a device, and between links.
const NEAR: f64 = 3.0;
/// The space between devices.
const FAR: f64 = 14.0;
/// Narrower bars are merged with their neighbours, so that a picture of any graph has a bounded number of bars.
const NARROWEST: f64 = 1.5;
/// The most pixels of a merged bar.
const MERGED: f64 = 4.0 * NARROWEST;
/// The pixels of one letter of a label, of a wide font.
const LETTER: f64 = 7.0;
/// The fewest letters of a name that are shown in part.
const FEWEST_LETTERS: usize = 6;
/// The links that have lanes of their own, the busiest ones.
const LINKS: usize = 12;

/// One rectangle of a lane. Times are in nanoseconds.
struct Bar<'a> {
    start: u64,
    end: u64,
    label: &'a str,
    /// The tooltip, without the times.
    title: String,
    class: &'static str,
}

impl Bar<'_> {
    fn time(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// Returns a picture of a schedule, as SVG. Each device has a lane for the simulated step and, if there is a measured step, another one below for that;
/// both have one time axis. The busiest links in use have narrow lanes, the others share one. A rectangle has its node's name as a label, if there is
/// room for it, and the name and the times as a tooltip; its colour says the op. Neighbours that are too narrow to be seen are drawn as one rectangle of
/// the colour that most of its time has, whose tooltip says how many they are. Colours follow the viewer's light or dark theme.
pub fn svg(tasks: &TaskGraph, machine: &Machine, schedule: &Schedule, measured: Option<&MeasuredStep>) -> String {
    let palette = Palette::new(tasks, schedule, measured);
    let last_measured = measured.map_or(0, |step| step.tasks.iter().map(|t| t.end).max().unwrap_or(step.duration));
    let duration = schedule.makespan.max(last_measured).max(1);
    let mut picture = Picture { lanes: String::new(), bars: String::new(), y: TOP, scale: (WIDTH - LEFT - RIGHT) / duration as f64 };
    let bar = |t: usize, start: u64, end: u64| {
        let task = &tasks.tasks()[t];
        Bar { start, end, label: &task.name, title: format!("{} ({})", task.name, task.op), class: palette.class(&task.op) }
    };
    let busy = |time: u64, of: u64| format!("{:.0} % busy", 100.0 * time as f64 / of.max(1) as f64);
    let (mut simulated, mut real) = (vec![Vec::new(); machine.num_devices()], vec![Vec::new(); machine.num_devices()]);
    for (t, &device) in schedule.devices.iter().enumerate() {
        simulated[device].push((t, schedule.start[t], schedule.end[t]));
    }
    for t in measured.iter().flat_map(|step| &step.tasks).filter(|t| t.task < tasks.len()) {
        if let Some(lane) = real.get_mut(t.device) {
            lane.push((t.task, t.start, t.end));
        }
    }
    for (device, (simulated, real)) in machine.devices().iter().zip(simulated.into_iter().zip(real)) {
        let bars = |of: Vec<(usize, u64, u64)>| -> Vec<Bar<'_>> {
            of.into_iter().filter(|(_, start, end)| end > start).map(|(t, start, end)| bar(t, start, end)).collect()
        };
        let bars_simulated = bars(simulated);
        let share = busy(total(bars_simulated.iter().map(Bar::time)), schedule.makespan);
        picture.lane(&format!("{} simulated", device.name), &share, LANE, bars_simulated);
        if measured.is_some() {
            picture.y += NEAR;
            let bars_real = bars(real);
            // Kernels of one device may overlap in a real step: each thread's bars are drawn over those of others.
            let share = busy(total(bars_real.iter().map(Bar::time)), last_measured);
            picture.lane(&format!("{} measured", device.name), &share, LANE, bars_real);
        }
        picture.y += FAR;
    }
    links(&mut picture, tasks, machine, schedule);
    let bottom = picture.y;
    picture.legend(&palette);
    picture.finish(duration, bottom, schedule, measured)
}

/// Draws the lanes of links.
fn links(picture: &mut Picture, tasks: &TaskGraph, machine: &Machine, schedule: &Schedule) {
    let mut by_link: BTreeMap<(usize, usize), Vec<&Transfer>> = BTreeMap::new();
    for transfer in &schedule.transfers {
        by_link.entry((transfer.from, transfer.to)).or_default().push(transfer);
    }
    let in_use: Vec<((usize, usize), u64)> =
        by_link.iter().map(|(link, copies)| (*link, total(copies.iter().map(|copy| copy.arrival - copy.start)))).collect();
    let busiest = order_by(in_use.len(), |i| (u64::MAX - in_use[i].1, 0));
    let others: Vec<(usize, usize)> = busiest.into_iter().skip(LINKS).map(|i| in_use[i].0).collect();
    let name = |d: usize| machine.devices().get(d).map_or("", |device| device.name.as_str());
    let mut draw = |label: &str, copies: Vec<&Transfer>| {
        let bytes = total(copies.iter().map(|copy| copy.bytes));
        let about = format!("{} copies, {}", copies.len(), size(bytes));
        let bar = |copy: &Transfer| {
            let task = &tasks.tasks()[copy.task].name;
            // A copy without bytes is drawn for as long as it is on its way.
            let end = if copy.end > copy.start { copy.end } else { copy.arrival };
            let title = format!("{task}: {} from {} to {}", size(copy.bytes), name(copy.from), name(copy.to));
            Bar { start: copy.start, end, label: task, title, class: COPY }
        };
        picture.lane(label, &about, LINK_LANE, copies.into_iter().map(bar).collect());
        picture.y += NEAR;
    };
    for (link, copies) in &by_link {
        if !others.contains(link) {
            draw(&format!("{} → {}", name(link.0), name(link.1)), copies.clone());
        }
    }
    if !others.is_empty() {
        draw(&format!("{} other links", others.len()), others.iter().filter_map(|link| by_link.get(link)).flatten().copied().collect());
    }
}

struct Picture {
    /// The lanes' backgrounds and names, which are below the grid.
    lanes: String,
    /// The bars and the legend, which are above the grid.
    bars: String,
    y: f64,
    /// Pixels per nanosecond.
    scale: f64,
}

impl Picture {
    /// Draws a lane. `about` is shown below its name or, in a narrow lane, as a tooltip.
    fn lane(&mut self, name: &str, about: &str, height: f64, bars: Vec<Bar<'_>>) {
        let (y, width, name, about) = (self.y, WIDTH - LEFT - RIGHT, escape(name), escape(about));
        if height >= LANE {
            let (first, second) = (y + height / 2.0 - 3.0, y + height / 2.0 + 11.0);
            let _ = writeln!(
                self.lanes,
                r##"<text x="8" y="{first:.1}">{name}</text><text class="faint" x="8" y="{second:.1}">{about}</text>"##
            );
        } else {
            let middle = y + height / 2.0 + 4.0;
            let _ = writeln!(self.lanes, r##"<text x="8" y="{middle:.1}">{name}<title>{about}</title></text>"##);
        }
        let _ = writeln!(self.lanes, r##"<rect class="lane" x="{LEFT}" y="{y:.1}" width="{width:.1}" height="{height}"/>"##);
        let mut narrow: Vec<&Bar<'_>> = Vec::new();
        for bar in order_by(bars.len(), |i| (bars[i].start, bars[i].end)).into_iter().filter_map(|i| bars.get(i)) {
            let is_narrow = bar.time() as f64 * self.scale < NARROWEST;
            let is_far = narrow.first().is_some_and(|first| (bar.end.saturating_sub(first.start)) as f64 * self.scale > MERGED);
            if !is_narrow || is_far {
                self.merged(&mut narrow, height);
            }
            if is_narrow {
                narrow.push(bar);
            } else {
                self.bar(bar, height);
            }
        }
        self.merged(&mut narrow, height);
        self.y += height;
    }

    /// Draws narrow bars as one.
    fn merged(&mut self, bars: &mut Vec<&Bar<'_>>, height: f64) {
        let Some((first, end)) = bars.first().zip(bars.iter().map(|bar| bar.end).max()) else { return };
        if let [one] = &bars[..] {
            self.bar(one, height);
        } else {
            let time_of = |class: &str| total(bars.iter().filter(|bar| bar.class == class).map(|bar| bar.time()));
            let busy = total(bars.iter().map(|bar| bar.time()));
            let class = bars.iter().map(|bar| (time_of(bar.class), bar.class)).max().map_or("", |(_, class)| class);
            let title = format!("{} short ones of {} in all, the first is {}", bars.len(), duration(busy), first.title);
            self.bar(&Bar { start: first.start, end, label: "", title, class }, height);
        }
        bars.clear();
    }

    fn bar(&mut self, bar: &Bar<'_>, height: f64) {
        let (x, y, class) = (LEFT + bar.start as f64 * self.scale, self.y, bar.class);
        let width = (bar.time() as f64 * self.scale).max(0.4);
        let title = escape(&format!("{}: {}, from {} to {}", bar.title, duration(bar.time()), duration(bar.start), duration(bar.end)));
        let _ = write!(
            self.bars,
            r##"<rect class="{class} bar" x="{x:.2}" y="{y:.1}" width="{width:.2}" height="{height}"><title>{title}</title></rect>"##
        );
        let label = shortened(bar.label, ((width - 6.0) / LETTER).max(0.0) as usize);
        if !label.is_empty() {
            let middle = y + height / 2.0 + 4.0;
            let _ = write!(self.bars, r##"<text class="label" x="{:.2}" y="{middle:.1}">{}</text>"##, x + 3.0, escape(&label));
        }
        self.bars.push('\n');
    }

    /// Names the ops of the colours, with their simulated times.
    fn legend(&mut self, palette: &Palette) {
        self.y += FAR;
        let mut x = LEFT;
        for (class, label) in palette.legend() {
            let width = 34.0 + label.chars().count() as f64 * LETTER;
            if x + width > WIDTH && x > LEFT {
                (x, self.y) = (LEFT, self.y + 18.0);
            }
            let (y, text) = (self.y, escape(&label));
            let _ = writeln!(self.bars, r##"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="11" height="11"/>"##);
            let _ = writeln!(self.bars, r##"<text x="{:.1}" y="{:.1}">{text}</text>"##, x + 16.0, y + 10.0);
            x += width;
        }
        self.y += 26.0;
    }

    fn finish(self, total: u64, bottom: f64, schedule: &Schedule, measured: Option<&MeasuredStep>) -> String {
        let mut heading = format!("Simulated step: {}", duration(schedule.makespan));
        if let Some(step) = measured {
            let _ = write!(heading, ", measured step: {}", duration(step.duration));
        }
        let (nodes, copies) = (schedule.devices.len(), schedule.transfers.len());
        let devices = schedule.peak_memory.len();
        let about = format!("{heading}. {nodes} nodes on {devices} devices, {copies} copies between devices, over time.");
        let mut out = String::new();
        let height = self.y;
        let _ = writeln!(
            out,
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0}" viewBox="0 0 {WIDTH} {height:.0}" role="img" aria-labelledby="title desc">"##
        );
        let _ = writeln!(out, r##"<title id="title">{heading}</title><desc id="desc">{about}</desc>"##);
        let _ = writeln!(out, "<style>{}</style>", style());
        let _ = writeln!(out, r##"<rect class="page" width="100%" height="100%"/>"##);
        let _ = writeln!(out, r##"<text class="heading" x="8" y="22">{heading}</text>"##);
        out.push_str(&self.lanes);
        let tick = tick(total);
        let top = TOP - 8.0;
        for i in 0..=total / tick {
            let x = LEFT + (i * tick) as f64 * self.scale;
            let _ = writeln!(out, r##"<line class="grid" x1="{x:.2}" x2="{x:.2}" y1="{top:.1}" y2="{bottom:.1}"/>"##);
            if x < WIDTH - 4.0 * LETTER {
                let _ = writeln!(
                    out,
                    r##"<text class="faint" text-anchor="middle" x="{x:.2}" y="{:.1}">{}</text>"##,
                    TOP - 13.0,
                    duration(i * tick)
                );
            }
        }
        out.push_str(&self.bars);
        let end = LEFT + schedule.makespan as f64 * self.scale;
        let _ = writeln!(
            out,
            r##"<line class="end" x1="{end:.2}" x2="{end:.2}" y1="{top:.1}" y2="{bottom:.1}"><title>end of the simulated step</title></line>"##
        );
        out + "</svg>\n"
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

/// Returns a time with the unit that suits it.
pub(crate) fn duration(nanoseconds: u64) -> String {
    in_units(nanoseconds, 1000, &["ns", "µs", "ms", "s"])
}

fn size(bytes: u64) -> String {
    in_units(bytes, 1024, &["B", "KiB", "MiB", "GiB", "TiB"])
}

/// Returns a number in the largest unit of which there is at least one, with three digits or more.
fn in_units(n: u64, step: u64, units: &[&str]) -> String {
    let (mut value, mut i) = (n as f64, 0);
    while value >= step as f64 && i + 1 < units.len() {
        (value, i) = (value / step as f64, i + 1);
    }
    let digits = if i == 0 || value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {}", units.get(i).copied().unwrap_or_default())
}

/// Returns a name that fits into so many letters: all of it, or else its last part without scopes, or else the end of that; empty if there is no room.
fn shortened(name: &str, letters: usize) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    for name in [name, last] {
        if name.chars().count() <= letters {
            return name.to_owned();
        }
    }
    if letters < FEWEST_LETTERS {
        return String::new();
    }
    let skipped = last.chars().count() - (letters - 1);
    std::iter::once('…').chain(last.chars().skip(skipped)).collect()
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
