//! The colours of a picture.

use crate::order::order_by;
use crate::report::MeasuredStep;
use crate::saturating::{add, total};
use crate::simulate::Schedule;
use crate::svg::duration;
use crate::tasks::TaskGraph;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The classes of the ops that take the most time, each with a colour of its own.
const CLASSES: [&str; 10] = ["o0", "o1", "o2", "o3", "o4", "o5", "o6", "o7", "o8", "o9"];
/// Ops that take less than this part of the time have no colour of their own, and are not in the legend.
const INVISIBLE: u64 = 2000;
/// The class of all other ops.
const OTHER: &str = "other";
/// The class of copies.
pub(crate) const COPY: &str = "copy";

/// The colours of categories, for any picture. Dark text is readable on each of them.
pub const COLOURS: [&str; 10] =
    ["#e8a17c", "#8fb8de", "#9ccb86", "#c9a0dc", "#f0cf65", "#7fcdc4", "#f2a3b3", "#b3a78c", "#a9a9e8", "#cfe07a"];

/// The colour of all categories that have none of [`COLOURS`].
pub const OTHER_COLOUR: &str = "#bdbdbd";

/// The rules of the style sheet besides the colours of bars.
const STYLE: &str = "\
text{font:11px sans-serif;fill:#222}.heading{font-size:15px}.faint{fill:#666}.label{fill:#111;pointer-events:none}\
.page{fill:#fff}.lane{fill:#f1f1f1}.grid{stroke:#ccc;stroke-width:.7}.end{stroke:#c00;stroke-dasharray:4 3}\
.copy{fill:#8aa0b4}.bar{stroke:#fff;stroke-width:.6}\
@media(prefers-color-scheme:dark){text{fill:#ddd}.faint{fill:#999}.label{fill:#111}.page{fill:#16181c}.lane{fill:#24272d}.grid{stroke:#41454d}.end{stroke:#f66}.bar{stroke:#16181c}}";

/// Returns the style sheet. Bars keep their colours in a dark theme, in which the labels on them stay dark.
pub(crate) fn style() -> String {
    let mut style = STYLE.to_owned();
    for (class, colour) in CLASSES.iter().zip(COLOURS).chain([(&OTHER, OTHER_COLOUR)]) {
        style.push_str(&format!(".{class}{{fill:{colour}}}"));
    }
    style
}

/// The colours of ops.
pub(crate) struct Palette {
    /// The ops with colours of their own, the one that takes longest first, with their simulated nanoseconds.
    ops: Vec<(Arc<str>, u64)>,
    /// The number of other ops that take time, and their nanoseconds.
    others: (usize, u64),
}

impl Palette {
    /// Chooses the ops that take the most time, simulated or measured.
    pub(crate) fn new(tasks: &TaskGraph, schedule: &Schedule, measured: Option<&MeasuredStep>) -> Palette {
        let mut times: BTreeMap<&Arc<str>, (u64, u64)> = BTreeMap::new();
        for (t, task) in tasks.tasks().iter().enumerate() {
            add(&mut times.entry(&task.op).or_default().0, schedule.end[t] - schedule.start[t]);
        }
        for execution in measured.iter().flat_map(|step| &step.tasks) {
            if let Some(task) = tasks.tasks().get(execution.task) {
                add(&mut times.entry(&task.op).or_default().1, execution.end.saturating_sub(execution.start));
            }
        }
        let total = total(times.values().map(|(simulated, measured)| *simulated.max(measured)));
        let is_visible = |time: u64| time.saturating_mul(INVISIBLE) > total;
        let visible: Vec<(&Arc<str>, (u64, u64))> = times.into_iter().filter(|(_, (a, b))| is_visible(*a.max(b))).collect();
        // Of ops that take equal times, the first by name comes first.
        let order = order_by(visible.len(), |i| (u64::MAX - visible[i].1.0.max(visible[i].1.1), 0));
        let mut palette = Palette { ops: Vec::new(), others: (0, 0) };
        for i in order {
            let (op, (time, _)) = visible[i];
            if palette.ops.len() < CLASSES.len() {
                palette.ops.push((Arc::clone(op), time));
            } else {
                palette.others = (palette.others.0 + 1, palette.others.1.saturating_add(time));
            }
        }
        palette
    }

    /// Returns the class of an op's bars.
    pub(crate) fn class(&self, op: &str) -> &'static str {
        self.ops.iter().zip(CLASSES).find(|((other, _), _)| **other == *op).map_or(OTHER, |(_, class)| class)
    }

    /// Returns the classes with their meanings.
    pub(crate) fn legend(&self) -> Vec<(&'static str, String)> {
        let mut entries: Vec<(&str, String)> =
            self.ops.iter().map(|(op, time)| (self.class(op), format!("{op} {}", duration(*time)))).collect();
        if self.others.0 > 0 {
            let ops = if self.others.0 == 1 { "op" } else { "ops" };
            entries.push((OTHER, format!("{} other {ops} {}", self.others.0, duration(self.others.1))));
        }
        entries
    }
}
