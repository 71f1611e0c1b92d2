//! Writes timelines of steps to files.

use flowmill::{Error, Result, RunOutcome};
use flowmill_timeline::{ChromeOptions, OpTime, Timeline, step_stats};
use std::ffi::OsStr;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Returns the timeline of a traced step.
pub(crate) fn timeline(outcome: &RunOutcome) -> Timeline {
    outcome.stats.as_ref().map(|stats| Timeline::new(&step_stats(stats), OpTime::Schedule)).unwrap_or_default()
}

/// Writes a timeline: as a page if the file's name ends in `.html`, otherwise as a trace for Perfetto and Chrome.
///
/// # Errors
/// `InvalidArgument` if the file cannot be written.
pub(crate) fn write(path: &Path, title: &str, timeline: &Timeline) -> Result<()> {
    let is_page = path.extension().is_some_and(|extension| extension == OsStr::new("html"));
    let written = File::create(path).map(BufWriter::new).and_then(|file| match is_page {
        true => timeline.write_page(file, title),
        false => timeline.write_chrome(file, ChromeOptions::default()),
    });
    written.map_err(|e| Error::invalid_argument(format!("{}: {e}", path.display())))
}
