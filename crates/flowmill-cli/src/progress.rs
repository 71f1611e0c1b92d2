//! Progress of long work, on standard error. Nothing is shown unless that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

const TICK: Duration = Duration::from_millis(120);

/// Shows work of unknown length: a spinner with the time that it has taken.
pub(crate) fn spinner(message: impl Into<String>) -> ProgressBar {
    let bar = styled(ProgressBar::new_spinner(), "{spinner} {msg} {elapsed}");
    bar.set_message(message.into());
    bar.enable_steady_tick(TICK);
    bar
}

/// Shows work of `total` steps: how many are done, how many per second, and the time left.
pub(crate) fn steps(message: impl Into<String>, total: u64) -> ProgressBar {
    let bar = styled(ProgressBar::new(total), "{msg} {wide_bar} {human_pos}/{human_len} {per_sec}, {eta} left");
    bar.set_message(message.into());
    bar.enable_steady_tick(TICK);
    bar
}

/// Shows work that takes a known time, in milliseconds.
pub(crate) fn time(message: impl Into<String>, milliseconds: u64) -> ProgressBar {
    let bar = styled(ProgressBar::new(milliseconds), "{msg} {wide_bar} {percent} %, {eta} left");
    bar.set_message(message.into());
    bar.enable_steady_tick(TICK);
    bar
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
