//! `SaveV2`, `RestoreV2` and related ones.

use super::{text, texts};
use flowmill_kernels::from_fn::{blocking_from_fn, from_fn};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_savedmodel::{BundleWriter, CheckpointReader, TensorSlice, merge_bundles, write_slice_table};
use flowmill_tensor::{DType, Result, Tensor, bail};
use std::path::Path;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("SaveV2", make_save);
    registry.add("RestoreV2", make_restore);
    registry.add("Save", make_save_v1);
    registry.add("SaveSlices", make_save_v1);
    registry.add("Restore", make_restore_v1);
    registry.add("RestoreSlice", make_restore_v1);
    registry.add("MergeV2Checkpoints", make_merge);
    registry.add("ShardedFilename", make_sharded_filename);
    registry.add("ShardedFilespec", make_sharded_filespec);
}

/// Inputs: prefix, names, slice specifications, and a tensor for each name.
fn make_save(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    blocking_from_fn(|ctx| {
        let prefix = text(ctx, 0, "prefix")?;
        let (names, specs) = (texts(ctx, 1)?, texts(ctx, 2)?);
        let tensors: Vec<&Tensor> = ctx.inputs_from(3).collect();
        check_lengths(&names, &specs, tensors.len())?;
        let mut writer = BundleWriter::create(prefix)?;
        for ((name, spec), tensor) in names.iter().zip(&specs).zip(tensors) {
            match TensorSlice::parse_spec(spec)? {
                None => writer.add(name, tensor)?,
                Some((shape, slice)) => {
                    if slice.shape(&shape)? != *tensor.shape() {
                        bail!(
                            InvalidArgument,
                            "Slice in shape_and_slice specification does not match the shape of the tensor to  save: {spec}, tensor: {}",
                            tensor.shape()
                        );
                    }
                    writer.add_slice(name, &shape, &slice, tensor)?;
                }
            }
        }
        writer.finish()
    })
}

/// `Save`, `SaveSlices`, the first format: inputs file, names, for the latter slice specifications, and a tensor for each name.
fn make_save_v1(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let first = if init.op_def.name == "SaveSlices" { 3 } else { 2 };
    blocking_from_fn(move |ctx| {
        let (path, names) = (text(ctx, 0, "filename")?, texts(ctx, 1)?);
        let specs = if first == 3 { texts(ctx, 2)? } else { vec![String::new(); names.len()] };
        let tensors: Vec<&Tensor> = ctx.inputs_from(first).collect();
        check_lengths(&names, &specs, tensors.len())?;
        let mut parts = Vec::with_capacity(tensors.len());
        for ((name, spec), tensor) in names.iter().zip(&specs).zip(tensors) {
            let (shape, slice) =
                TensorSlice::parse_spec(spec)?.unwrap_or_else(|| (tensor.shape().clone(), TensorSlice::full(tensor.rank())));
            if slice.shape(&shape)? != *tensor.shape() {
                bail!(
                    InvalidArgument,
                    "Slice in shape_and_slice specification does not match the shape of the tensor to  save: {spec}, tensor: {}",
                    tensor.shape()
                );
            }
            parts.push((name.as_str(), shape, slice, tensor));
        }
        write_slice_table(path, &parts)
    })
}

fn check_lengths(names: &[String], specs: &[String], tensors: usize) -> Result<()> {
    if names.len() != tensors || specs.len() != tensors {
        bail!(
            InvalidArgument,
            "Expected {tensors} elements in tensor_names and shape_and_slices, but got {} and {}",
            names.len(),
            specs.len()
        );
    }
    Ok(())
}

/// Inputs: prefix, names, slice specifications.
fn make_restore(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtypes = init.attrs.list::<DType>("dtypes")?;
    blocking_from_fn(move |ctx| {
        let prefix = text(ctx, 0, "prefix")?;
        let (names, specs) = (texts(ctx, 1)?, texts(ctx, 2)?);
        check_lengths(&names, &specs, dtypes.len())?;
        let reader = CheckpointReader::open(prefix)?;
        for (i, &dtype) in dtypes.iter().enumerate() {
            let value = restore(&reader, &names[i], &specs[i], dtype)?;
            ctx.set_output(i, value);
        }
        Ok(())
    })
}

/// `Restore`, `RestoreSlice`: inputs file, name, and for the latter a slice specification.
fn make_restore_v1(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dt")?;
    blocking_from_fn(move |ctx| {
        let spec = if ctx.num_inputs() > 2 { text(ctx, 2, "shape_and_slice")? } else { String::new() };
        let reader = CheckpointReader::open(text(ctx, 0, "file_pattern")?)?;
        let value = restore(&reader, &text(ctx, 1, "tensor_name")?, &spec, dtype)?;
        ctx.set_output(0, value);
        Ok(())
    })
}

fn restore(reader: &CheckpointReader, name: &str, spec: &str, dtype: DType) -> Result<Tensor> {
    let (saved_dtype, saved_shape) = reader.dtype_and_shape(name)?;
    if saved_dtype != dtype {
        bail!(
            InvalidArgument,
            "tensor_name = {name}; expected dtype {} does not equal original dtype {}",
            dtype.cpp_name(),
            saved_dtype.cpp_name()
        );
    }
    let Some((shape, slice)) = TensorSlice::parse_spec(spec)? else { return reader.read(name) };
    if shape != saved_shape {
        bail!(
            InvalidArgument,
            "tensor_name = {name}; shape in shape_and_slice spec {shape} does not match the shape stored in checkpoint: {saved_shape}"
        );
    }
    reader.read_slice(name, &slice)
}

/// Inputs: prefixes of the parts, prefix of the whole. The parts' directories go too, if they are empty and the node asks for it.
fn make_merge(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let delete_old_dirs = init.attrs.get_or("delete_old_dirs", true)?;
    blocking_from_fn(move |ctx| {
        let (parts, merged) = (texts(ctx, 0)?, text(ctx, 1, "destination_prefix")?);
        merge_bundles(&parts, &merged)?;
        let kept = Path::new(&merged).parent();
        for directory in
            parts.iter().filter_map(|part| Path::new(part).parent()).filter(|&directory| delete_old_dirs && Some(directory) != kept)
        {
            // It may hold other files, or be gone with an earlier part.
            let _ = std::fs::remove_dir(directory);
        }
        Ok(())
    })
}

fn count(ctx: &KernelContext<'_>, i: usize, what: &str) -> Result<i64> {
    let tensor = ctx.input(i)?;
    match tensor.rank() {
        0 => tensor.to_i64(),
        _ => bail!(InvalidArgument, "{what} must be a scalar, got shape {}", tensor.shape()),
    }
}

/// Inputs: base name, shard, number of shards.
fn make_sharded_filename(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let (base, shard, shards) = (text(ctx, 0, "basename")?, count(ctx, 1, "shard")?, count(ctx, 2, "num_shards")?);
        ctx.set_output(0, ctx.allocator().string(format!("{base}-{shard:05}-of-{shards:05}"))?);
        Ok(())
    })
}

/// Inputs: base name, number of shards.
fn make_sharded_filespec(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let (base, shards) = (text(ctx, 0, "basename")?, count(ctx, 1, "num_shards")?);
        ctx.set_output(0, ctx.allocator().string(format!("{base}-?????-of-{shards:05}"))?);
        Ok(())
    })
}
