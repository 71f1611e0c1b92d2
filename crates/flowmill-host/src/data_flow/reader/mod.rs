//! Readers: `TextLineReader` and related ops read files record by record. A queue supplies the names of the files.

mod format;
mod object;
mod records;

pub(crate) use format::{Compression, Format, Source, decompressed, masked_crc};
pub use records::TfRecords;

use crate::from_fn::from_fn;
use crate::state::resource_name;
use flowmill_runtime::{AsyncContext, AsyncKernel, Cost, Kernel, KernelContext, KernelInit, KernelRegistry, ResourceManager};
use flowmill_tensor::{Bytes, Result, Tensor, bail};
use object::{Reader, Wanted};
use prost::Message;
use std::sync::Arc;

/// Registers the kernels of this family. The ops of the first version, whose handles are references, have the same kernels.
pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["FixedLengthRecordReader", "IdentityReader", "TFRecordReader", "TextLineReader", "WholeFileReader"] {
        registry.add(op, make_reader);
    }
    for op in ["FixedLengthRecordReaderV2", "IdentityReaderV2", "TFRecordReaderV2", "TextLineReaderV2", "WholeFileReaderV2"] {
        registry.add(op, make_reader);
    }
    for op in ["ReaderRead", "ReaderReadV2"] {
        registry.add(op, |_| Ok(Arc::new(Read { many: false })));
    }
    for op in ["ReaderReadUpTo", "ReaderReadUpToV2"] {
        registry.add(op, |_| Ok(Arc::new(Read { many: true })));
    }
    for op in ["ReaderNumRecordsProduced", "ReaderNumRecordsProducedV2"] {
        registry.add(op, |_| number(|reader| reader.state().records_produced));
    }
    for op in ["ReaderNumWorkUnitsCompleted", "ReaderNumWorkUnitsCompletedV2"] {
        registry.add(op, |_| number(|reader| reader.state().work_finished));
    }
    for op in ["ReaderSerializeState", "ReaderSerializeStateV2"] {
        registry.add(op, make_serialize);
    }
    for op in ["ReaderRestoreState", "ReaderRestoreStateV2"] {
        registry.add(op, make_restore);
    }
    for op in ["ReaderReset", "ReaderResetV2"] {
        registry.add(op, |_| from_fn(|ctx| reader(Some(ctx.input(0)?), ctx.resources())?.reset()));
    }
}

/// Makes the kernel of a reader, whose output is the session's reader under the node's name.
fn make_reader(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let format = Format::new(init)?;
    let (container, name) = (init.attrs.get_or("container", "")?, resource_name(init)?);
    let reader = init.resources.lookup_or_create(container, name, || Ok(Reader::new(name, format)))?;
    let handle = init.resources.handle(container, name, Some(reader), Vec::new());
    from_fn(move |ctx| {
        ctx.set_output(0, handle.clone());
        Ok(())
    })
}

/// Returns the reader that a handle refers to.
fn reader(handle: Option<&Tensor>, resources: &ResourceManager) -> Result<Arc<Reader>> {
    super::object_of(handle, resources, "a reader")
}

/// The kernel of `ReaderRead` and `ReaderReadUpTo`. Inputs: reader, queue, and for `ReaderReadUpTo` the number of records.
struct Read {
    many: bool,
}

impl Kernel for Read {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "readers are asynchronous")
    }

    fn cost(&self) -> Option<Cost> {
        // A call reads its files on the thread that starts it.
        Some(Cost::Blocking)
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl Read {
    fn wanted(&self, inputs: &[Tensor]) -> Result<Wanted> {
        if !self.many {
            return Ok(Wanted::One);
        }
        let records = inputs.get(2).map_or(Ok(0), Tensor::to_i64)?;
        match usize::try_from(records) {
            Ok(records @ 1..) => Ok(Wanted::UpTo(records)),
            _ => bail!(InvalidArgument, "num_records must be positive, got {records}"),
        }
    }
}

impl AsyncKernel for Read {
    fn start(&self, ctx: AsyncContext) {
        let found = self.wanted(ctx.inputs()).and_then(|wanted| {
            Ok((reader(ctx.inputs().first(), ctx.resources())?, super::queue::queue_of(ctx.inputs().get(1), ctx.resources())?, wanted))
        });
        match found {
            Ok((reader, queue, wanted)) => reader.read(queue, wanted, ctx),
            Err(e) => ctx.done(Err(e)),
        }
    }
}

fn number(of: fn(&Reader) -> i64) -> Result<Arc<dyn Kernel>> {
    from_fn(move |ctx| {
        let number = of(&*reader(Some(ctx.input(0)?), ctx.resources())?);
        ctx.set_output(0, Tensor::scalar(number));
        Ok(())
    })
}

fn make_serialize(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let state = reader(Some(ctx.input(0)?), ctx.resources())?.serialized()?;
        ctx.set_output(0, ctx.allocator().string(state.encode_to_vec())?);
        Ok(())
    })
}

fn make_restore(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let state = ctx.input(1)?;
        let [state] = state.as_strings()? else {
            bail!(InvalidArgument, "Reader state must be scalar, but had shape: {}", state.shape());
        };
        let state: &Bytes = state;
        reader(Some(ctx.input(0)?), ctx.resources())?.restore(state)
    })
}
