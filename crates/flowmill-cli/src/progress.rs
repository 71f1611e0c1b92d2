//! Progress of long work, on standard error. Nothing is shown unless that is a terminal.

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use std::time::Duration;

const TICK: Duration = Duration::from_millis(120);

/// Shows work of unknown length: a spinner with the time that it has taken.
pub(crate) fn spinner(message: &'static str) -> ProgressBar {
    shown(ProgressBar::new_spinner(), message, "{spinner} {msg} {elapsed}")
}

/// Shows work of `total` steps: how many are done, how many per second, and the time left.
pub(crate) fn steps(message: &'static str, total: u64) -> ProgressBar {
    shown(ProgressBar::new(total), message, "{msg} {wide_bar} {human_pos}/{human_len} {per_sec}, {eta} left")
}

/// Shows work that takes a known time, in milliseconds.
pub(crate) fn time(message: &'static str, milliseconds: u64) -> ProgressBar {
    shown(ProgressBar::new(milliseconds), message, "{msg} {wide_bar} {percent} %, {eta} left")
}

/// Shows a bar until it is finished or dropped, such as by an error.
fn shown(bar: ProgressBar, message: &'static str, template: &str) -> ProgressBar {
    let mut bar = bar.with_message(message).with_finish(ProgressFinish::AndClear);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar = bar.with_style(style);
    }
    bar.enable_steady_tick(TICK);
    bar
}
