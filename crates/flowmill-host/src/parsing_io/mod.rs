//! Kernels on serialised messages: examples, tensors, lines of CSV files, compressed strings, sound.

#![forbid(unsafe_code)]

mod audio_summary;
mod column;
mod compressed;
pub(crate) mod csv;
mod example;
pub(crate) mod example_parser;
mod json_example;
mod parse_example;
mod parse_sequence;
mod wav;

use crate::from_fn::from_fn;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flowmill_proto::{Message, TensorProto};
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Tensor, bail};
use std::sync::Arc;

/// The number of bytes of a message that cannot be parsed which its error shows.
const MAX_SHOWN: usize = 1024;

/// Registers the kernels of this family. The ops that read and write files are in the facade crate.
pub(crate) fn register(registry: &mut KernelRegistry) {
    compressed::register(registry);
    csv::register(registry);
    json_example::register(registry);
    parse_example::register(registry);
    parse_sequence::register(registry);
    audio_summary::register(registry);
    wav::register(registry);
    registry.add("ParseTensor", make_parse_tensor);
    registry.add("SerializeTensor", make_serialize_tensor);
}

fn make_parse_tensor(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype: DType = init.dtype("out_type")?;
    from_fn(move |ctx| {
        let [serialized] = ctx.input(0)?.as_strings()? else {
            bail!(InvalidArgument, "Expected `serialized` to be a scalar, got shape: {}", ctx.input(0)?.shape());
        };
        let Ok(proto) = TensorProto::decode(serialized.clone()) else {
            bail!(
                InvalidArgument,
                "Could not parse `serialized` as TensorProto, base64: {}",
                STANDARD.encode(&serialized[..serialized.len().min(MAX_SHOWN)])
            );
        };
        let tensor = Tensor::from_proto(&proto)?;
        if tensor.dtype() != dtype {
            bail!(InvalidArgument, "Type mismatch between parsed tensor ({}) and dtype ({dtype})", tensor.dtype());
        }
        ctx.set_output(0, tensor);
        Ok(())
    })
}

/// Makes the kernel of `SerializeTensor`. Its messages have elements of all types except strings as bytes.
fn make_serialize_tensor(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let tensor = ctx.input(0)?;
        let proto = if tensor.dtype().size().is_some() { tensor.to_content_proto()? } else { tensor.to_proto()? };
        ctx.set_output(0, ctx.allocator().string(proto.encode_to_vec())?);
        Ok(())
    })
}
