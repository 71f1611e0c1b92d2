//! Shape functions of tables. What a table's handle holds is the type and shape of a key and of a value.

use super::{common, dims};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{DType, PartialShape, Result, bail};

/// Input 0 is a table's handle, of the first version as `Ref(string)`, of the second as a resource.
fn expect_handle(c: &Context<'_>) -> Result<()> {
    if c.op_def().inputs.first().is_some_and(|handle| handle.is_ref) {
        return dims::expect(common::expect_vector(c, 0)?, 2).map(drop);
    }
    common::expect_scalar(c, 0)
}

/// The shapes of a key and a value of the table in input 0; `None` if its handle says nothing. The attributes are those that name their types.
///
/// # Errors
/// `InvalidArgument` if the table has other types.
fn table(c: &Context<'_>, key_attr: &str, value_attr: &str) -> Result<Option<(PartialShape, PartialShape)>> {
    let Some([key, value]) = c.value(0).and_then(|handle| handle.elements.as_deref()) else { return Ok(None) };
    for (found, attr) in [(key.0, key_attr), (value.0, value_attr)] {
        let asked: DType = c.attrs().get(attr)?;
        if found != asked {
            bail!(
                InvalidArgument,
                "Trying to read value with wrong dtype. Expected {} got {}",
                common::cpp_name(found),
                common::cpp_name(asked)
            );
        }
    }
    Ok(Some((key.1.clone(), value.1.clone())))
}

fn set_table(c: &mut Context<'_>, key: PartialShape, value: PartialShape) -> Result<()> {
    let (key_type, value_type) = (c.attrs().get("key_dtype")?, c.attrs().get("value_dtype")?);
    c.set_output(0, PartialShape::scalar());
    if let Some(output) = c.output_mut(0) {
        output.elements = Some(vec![(key_type, key), (value_type, value)]);
    }
    Ok(())
}

/// A new table whose keys and values are scalars.
pub(crate) fn mutable_table(c: &mut Context<'_>) -> Result<()> {
    set_table(c, PartialShape::scalar(), PartialShape::scalar())
}

/// A new table whose keys are of the shape of input 0.
pub(crate) fn dense_table(c: &mut Context<'_>) -> Result<()> {
    let key = dims::with_rank_at_most(&c.input(0), 1)?;
    let value = c.attrs().get("value_shape")?;
    set_table(c, key, value)
}

/// Keys and values that a table is filled with.
pub(crate) fn initialize_table(c: &mut Context<'_>) -> Result<()> {
    expect_handle(c)?;
    dims::with_rank(&c.input(1), 1)?.merge(&c.input(2)).map(drop)
}

/// A file that a table is filled from.
pub(crate) fn initialize_table_from_file(c: &mut Context<'_>) -> Result<()> {
    expect_handle(c)?;
    common::expect_scalar(c, 1)
}

/// Nothing but a handle to look at.
pub(crate) fn table_changed(c: &mut Context<'_>) -> Result<()> {
    expect_handle(c)
}

/// The number of a table's keys.
pub(crate) fn table_size(c: &mut Context<'_>) -> Result<()> {
    expect_handle(c)?;
    common::scalars(c)
}

/// Keys that a table loses.
pub(crate) fn table_remove(c: &mut Context<'_>) -> Result<()> {
    expect_handle(c)?;
    dims::with_rank_at_least(&c.input(1), 1).map(drop)
}

/// Keys and as many values that a table has from now on.
pub(crate) fn table_import(c: &mut Context<'_>) -> Result<()> {
    expect_handle(c)?;
    let keys = common::expect_vector(c, 1)?;
    let values = c.input(2);
    match values.rank() {
        None | Some(0) => Ok(()),
        Some(_) => dims::merge(keys, dims::size(&values, 0)).map(drop),
    }
}

/// All keys and all values, of which there may be any number.
pub(crate) fn table_export(c: &mut Context<'_>) -> Result<()> {
    expect_handle(c)?;
    table(c, "Tkeys", "Tvalues").map(drop)
}

/// A value for each key: the keys' shape without that of one key, and the shape of a value.
pub(crate) fn table_find(c: &mut Context<'_>) -> Result<()> {
    expect_handle(c)?;
    if c.op_def().inputs.first().is_some_and(|handle| handle.is_ref) {
        dims::with_rank_at_most(&c.input(2), 1)?;
    }
    let Some((key, value)) = table(c, "Tin", "Tout")? else { return Ok(()) };
    let keys = c.input(1);
    let (Some(rank), Some(suffix)) = (keys.rank(), key.rank()) else { return Ok(()) };
    let Some(prefix) = rank.checked_sub(suffix) else {
        bail!(InvalidArgument, "Expected keys to have suffix {key} but saw shape: {keys}");
    };
    c.set_output(0, dims::without_last(&keys, rank - prefix).concat(&value));
    Ok(())
}

/// A place per word, and how many words have one.
pub(crate) fn generate_vocab_remapping(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 0)?;
    common::expect_scalar(c, 1)?;
    let words: i64 = c.attrs().get("num_new_vocab")?;
    c.set_output(0, PartialShape::new(&[words]));
    c.set_output(1, PartialShape::scalar());
    Ok(())
}

/// A matrix of the sizes in attributes.
pub(crate) fn load_and_remap_matrix(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 1)?;
    let (rows, columns) = (c.attrs().get("num_rows")?, c.attrs().get("num_cols")?);
    c.set_output(0, PartialShape::new(&[rows, columns]));
    Ok(())
}
