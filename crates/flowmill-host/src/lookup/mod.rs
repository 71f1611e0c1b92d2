//! Lookup tables, which are filled once by an initialiser, or are mutable.

mod buckets;
mod table;
mod text_file;
mod vocab_remapping;

use crate::from_fn::from_fn;
use crate::state::resource_name;
use buckets::DenseOptions;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{PartialShape, Result, Shape, Tensor, bail};
use std::sync::Arc;
use table::{Kind, Table, item};

/// Registers the kernels of this family. The ops of the first version, whose handles are references, have the same kernels.
pub(crate) fn register(registry: &mut KernelRegistry) {
    for op in ["HashTable", "HashTableV2", "AnonymousHashTable"] {
        registry.add(op, |init| make_table(init, Kind::Static));
    }
    for op in ["MutableHashTable", "MutableHashTableV2", "AnonymousMutableHashTable"] {
        registry.add(op, |init| make_table(init, Kind::Mutable));
    }
    for op in ["MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "AnonymousMutableHashTableOfTensors"] {
        registry.add(op, make_table_of_vectors);
    }
    for op in ["MutableDenseHashTable", "MutableDenseHashTableV2", "AnonymousMutableDenseHashTable"] {
        registry.add(op, make_dense_table);
    }
    for op in ["InitializeTable", "InitializeTableV2"] {
        registry.add(op, |_| from_fn(|ctx| table(ctx)?.initialize(ctx.input(1)?, ctx.input(2)?)));
    }
    for op in ["LookupTableInsert", "LookupTableInsertV2"] {
        registry.add(op, |_| from_fn(|ctx| table(ctx)?.insert(ctx.input(1)?, ctx.input(2)?)));
    }
    for op in ["LookupTableImport", "LookupTableImportV2"] {
        registry.add(op, |_| from_fn(|ctx| table(ctx)?.import(ctx.input(1)?, ctx.input(2)?)));
    }
    registry.add("LookupTableRemoveV2", |_| from_fn(|ctx| table(ctx)?.remove(ctx.input(1)?)));
    for op in ["LookupTableFind", "LookupTableFindV2"] {
        registry.add(op, make_find);
    }
    for op in ["LookupTableSize", "LookupTableSizeV2"] {
        registry.add(op, make_size);
    }
    for op in ["LookupTableExport", "LookupTableExportV2"] {
        registry.add(op, make_export);
    }
    text_file::register(registry);
    vocab_remapping::register(registry);
}

/// Fills the table that a handle refers to with keys and values.
///
/// # Errors
/// Returns `InvalidArgument` if the handle does not refer to a table, if keys or values are not of its types and shapes, or if it was filled before.
pub(crate) fn initialize(handle: &Tensor, keys: &Tensor, values: &Tensor) -> Result<()> {
    match handle.as_resources()?.first().and_then(|handle| handle.get::<Table>()) {
        Some(table) => table.initialize(keys, values),
        None => bail!(InvalidArgument, "The handle is not that of a lookup table"),
    }
}

/// Returns the table in input 0.
fn table<'a>(ctx: &'a KernelContext<'_>) -> Result<&'a Table> {
    let handle = ctx.handle(0)?;
    match handle.get() {
        Some(table) => Ok(table),
        None => bail!(
            InvalidArgument,
            "Trying to access a handle's resource using the wrong type. The handle points to {handle:?} but you are trying to access the resource as a lookup table"
        ),
    }
}

fn one_text(tensor: &Tensor, what: &str) -> Result<String> {
    match tensor.as_strings()? {
        [text] => Ok(String::from_utf8_lossy(text).into_owned()),
        _ => bail!(InvalidArgument, "{what} should be a single string, but got a tensor of shape {}", tensor.shape()),
    }
}

/// Returns the shape in attribute `value_shape`, which must be fully known, or that of a scalar if the attribute is missing.
fn value_shape(init: &KernelInit<'_>) -> Result<Shape> {
    let shape: PartialShape = init.attrs.get_or("value_shape", PartialShape::scalar())?;
    match shape.to_shape() {
        Some(shape) => Ok(shape),
        None => bail!(InvalidArgument, "value_shape must be fully defined, got {shape}"),
    }
}

fn is_anonymous(init: &KernelInit<'_>) -> bool {
    init.op_def.name.starts_with("Anonymous")
}

/// Returns the session's table under the node's name, after a check that its types are those of the node.
fn shared(init: &KernelInit<'_>, name: &str, make: impl FnOnce() -> Result<Table>) -> Result<Tensor> {
    let container = init.attrs.get_or("container", "")?;
    let table = init.resources.lookup_or_create(container, name, make)?;
    let (key_dtype, value_dtype) = (init.dtype("key_dtype")?, init.dtype("value_dtype")?);
    if (table.key_dtype, table.value_dtype) != (key_dtype, value_dtype) {
        let [key, value, k, v] = [key_dtype, value_dtype, table.key_dtype, table.value_dtype].map(|t| t.cpp_name());
        bail!(InvalidArgument, "Conflicting key/value dtypes {key}->{value} with {k}->{v} for table {name}");
    }
    Ok(init.resources.handle(container, name, Some(table), Vec::new()))
}

/// Makes the kernel of a table with scalar keys: the session's table under the node's name, made once, or a new one at each call if it is anonymous.
fn make_table(init: &KernelInit<'_>, kind: Kind) -> Result<Arc<dyn Kernel>> {
    let (key_dtype, value_dtype, value_shape) = (init.dtype("key_dtype")?, init.dtype("value_dtype")?, value_shape(init)?);
    let make = move || Table::new(kind.clone(), key_dtype, Shape::scalar(), value_dtype, value_shape.clone());
    if is_anonymous(init) {
        return from_fn(move |ctx| {
            ctx.set_output(0, ctx.resources().handle("", "anonymous_table", Some(Arc::new(make())), Vec::new()));
            Ok(())
        });
    }
    let handle = shared(init, resource_name(init)?, || Ok(make()))?;
    from_fn(move |ctx| {
        ctx.set_output(0, handle.clone());
        Ok(())
    })
}

/// Makes the kernel of `MutableHashTableOfTensorsV2`, a table whose values are vectors.
fn make_table_of_vectors(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let shape = value_shape(init)?;
    if shape.rank() != 1 {
        bail!(InvalidArgument, "Default value must be a vector, got shape {shape}");
    }
    make_table(init, Kind::Mutable)
}

/// Makes the kernel of `MutableDenseHashTableV2`. Inputs: the keys that mark empty and removed buckets, which have the shape of a key.
fn make_dense_table(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (key_dtype, value_dtype, value_shape) = (init.dtype("key_dtype")?, init.dtype("value_dtype")?, value_shape(init)?);
    let max_load_factor: f32 = init.attrs.get_or("max_load_factor", 0.8)?;
    let num_buckets: i64 = init.attrs.get_or("initial_num_buckets", 1 << 17)?;
    let num_buckets = usize::try_from(num_buckets).unwrap_or(0);
    if value_shape.rank() > 1 {
        bail!(InvalidArgument, "Empty value must be a scalar or a vector, got shape {value_shape}");
    }
    let anonymous = is_anonymous(init);
    let container = init.attrs.get_or("container", "")?.to_owned();
    let name = resource_name(init)?.to_owned();
    from_fn(move |ctx| {
        let (empty, deleted) = (ctx.input(0)?, ctx.input(1)?);
        if empty.shape() != deleted.shape() {
            bail!(InvalidArgument, "Empty and deleted keys must have same shape, got shapes: {} and {}", empty.shape(), deleted.shape());
        }
        if empty.rank() > 1 {
            bail!(InvalidArgument, "Empty key must be a scalar or a vector, got shape {}", empty.shape());
        }
        let key_shape = empty.shape().clone();
        let (empty, deleted) = (item(empty, &key_shape)?, item(deleted, &key_shape)?);
        let options = DenseOptions { key_dtype, empty, deleted, num_buckets, max_load_factor };
        options.check()?;
        let make = || Table::new(Kind::Dense(options), key_dtype, key_shape, value_dtype, value_shape.clone());
        let table = if anonymous { Arc::new(make()) } else { ctx.resources().lookup_or_create(&container, &name, || Ok(make()))? };
        ctx.set_output(0, ctx.resources().handle(&container, &name, Some(table), Vec::new()));
        Ok(())
    })
}

/// Makes the kernel of `LookupTableFindV2`. Inputs: table, keys, default value.
fn make_find(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let values = table(ctx)?.find(ctx.allocator(), ctx.input(1)?, ctx.input(2)?)?;
        ctx.set_output(0, values);
        Ok(())
    })
}

fn make_size(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let len = table(ctx)?.len();
        ctx.set_output(0, Tensor::scalar(len as i64));
        Ok(())
    })
}

fn make_export(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let (keys, values) = table(ctx)?.export(ctx.allocator())?;
        ctx.set_output(0, keys);
        ctx.set_output(1, values);
        Ok(())
    })
}
