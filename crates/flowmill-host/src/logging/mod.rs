//! `Print`, `PrintV2`, `Timestamp`, summaries, and the use of memory.

mod summary;

use crate::from_fn::from_fn;
use crate::summarize::summarize;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{MemoryStats, Result, Tensor, bail};
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    registry.add("Print", make_print);
    registry.add("PrintV2", make_print_v2);
    registry.add("Timestamp", make_timestamp);
    registry.add("BytesInUse", |_| from_fn(|ctx| memory(ctx, |stats| stats.bytes_in_use)));
    registry.add("BytesLimit", |_| from_fn(|ctx| memory(ctx, |stats| stats.bytes_limit)));
    registry.add("MaxBytesInUse", |_| from_fn(|ctx| memory(ctx, |stats| stats.peak_bytes_in_use)));
    summary::register(registry);
}

/// Sets the output to a count of the use of the device's memory.
fn memory(ctx: &mut KernelContext<'_>, count: fn(&MemoryStats) -> usize) -> Result<()> {
    let device = ctx.device();
    let Some(stats) = device.memory_stats() else {
        bail!(FailedPrecondition, "{} does not count the use of its memory", device.attributes().name)
    };
    ctx.set_output(0, Tensor::scalar(count(&stats) as i64));
    Ok(())
}

/// Makes the kernel of `Print`, which writes the message and the data to standard error at the first `first_n` calls, and forwards its first input.
fn make_print(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let message = init.attrs.get_or::<&str>("message", "")?.to_owned();
    let first_n = init.attrs.get_or("first_n", -1i64)?;
    let summarize_n = init.attrs.get_or("summarize", 3i64)?;
    let calls = AtomicI64::new(0);
    from_fn(move |ctx| {
        if first_n < 0 || calls.fetch_add(1, Ordering::Relaxed) < first_n {
            let data: String = ctx.inputs_from(1).map(|t| format!("[{}]", summarize(t, summarize_n))).collect();
            // A closed standard error is no reason to fail a step.
            let _ = writeln!(std::io::stderr(), "{message}{data}");
        }
        ctx.forward(0, 0)
    })
}

/// The destination of `PrintV2`.
enum Stream {
    Stdout,
    Stderr,
    /// TensorFlow's log, which is standard error.
    Log(&'static str),
    File(String),
}

impl Stream {
    fn parse(name: &str) -> Result<Stream> {
        match name {
            "stdout" => Ok(Stream::Stdout),
            "stderr" => Ok(Stream::Stderr),
            "log(info)" => Ok(Stream::Log("INFO")),
            "log(warning)" => Ok(Stream::Log("WARNING")),
            "log(error)" => Ok(Stream::Log("ERROR")),
            _ => match name.strip_prefix("file://") {
                Some(path) => Ok(Stream::File(path.to_owned())),
                None => bail!(
                    InvalidArgument,
                    "Unknown output stream: {name}, Valid streams are: stdout stderr log(info) log(warning) log(error)"
                ),
            },
        }
    }

    fn write(&self, text: &[u8], end: &[u8]) -> Result<()> {
        let line = [text, end].concat();
        // A closed standard stream is no reason to fail a step, unlike a file that cannot be written.
        match self {
            Stream::Stdout => {
                let mut stdout = std::io::stdout().lock();
                let _ = stdout.write_all(&line).and_then(|()| stdout.flush());
            }
            Stream::Stderr => {
                let _ = std::io::stderr().write_all(&line);
            }
            Stream::Log(level) => {
                let _ = writeln!(std::io::stderr(), "{level}: {}", String::from_utf8_lossy(text));
            }
            Stream::File(path) => {
                let written = OpenOptions::new().create(true).append(true).open(path).and_then(|mut file| file.write_all(&line));
                if let Err(e) = written {
                    bail!(InvalidArgument, "Failed to write to {path}: {e}");
                }
            }
        }
        Ok(())
    }
}

fn make_print_v2(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let stream = Stream::parse(init.attrs.get_or("output_stream", "stderr")?)?;
    let end = init.attrs.get_or::<&str>("end", "\n")?.to_owned();
    from_fn(move |ctx| {
        let input = ctx.input(0)?;
        match (input.rank(), input.as_strings()?) {
            (0, [text]) => stream.write(text, end.as_bytes()),
            _ => bail!(InvalidArgument, "Input is expected to be scalar, but got {}", input.shape()),
        }
    })
}

/// Makes the kernel of `Timestamp`: seconds since 1970, as `float64`.
fn make_timestamp(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64());
        ctx.set_output(0, Tensor::scalar(now));
        Ok(())
    })
}
