//! The log of `flowmill serve` on standard error.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static NUM_LOST: AtomicU64 = AtomicU64::new(0);

/// Writes lines to standard error. A line that cannot be written, because the disk under it is full or its reader has gone, is counted and lost: it must not end what
/// the program does.
pub(crate) struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // The whole line at once: other threads write, too.
        if io::stderr().lock().write_all(line).is_err() {
            NUM_LOST.fetch_add(1, Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the number of lines that were lost so far.
pub(crate) fn num_lost_lines() -> u64 {
    NUM_LOST.load(Relaxed)
}

/// Writes a line to standard error, if it can be written.
pub(crate) fn write_line(text: std::fmt::Arguments<'_>) {
    let _ = LogWriter.write_all(format!("{text}\n").as_bytes());
}
