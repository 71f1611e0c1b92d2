//! `RaggedCross`: crossed features that are ragged, sparse or dense.

use super::cross::{Column, each_cross, hashed, joined, starts_of};
use super::splits_tensor;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Bytes, DType, Result, Tensor, bail, check_memory};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("RaggedCross", make);
}

/// The number of inputs of each kind: `ragged` values and as many splits, `sparse` indices, values and shapes, then `dense` matrices.
struct Layout {
    ragged: usize,
    sparse: usize,
    dense: usize,
    /// The kinds of the columns: `R`, `S` or `D`.
    order: String,
}

impl Layout {
    fn new(init: &KernelInit<'_>) -> Result<Layout> {
        let count = |name| -> Result<usize> { Ok(init.attrs.list::<DType>(name)?.len()) };
        let (ragged, sparse, dense) = (count("ragged_values_types")?, count("sparse_values_types")?, count("dense_types")?);
        let order: &str = init.attrs.get("input_order")?;
        if count("ragged_splits_types")? != ragged {
            bail!(InvalidArgument, "ragged values and splits must have the same length");
        }
        if init.attrs.get::<i64>("Nsparse")? != sparse as i64 {
            bail!(InvalidArgument, "sparse indices and values must have the same length");
        }
        if order.len() != ragged + sparse + dense {
            bail!(InvalidArgument, "Invalid length for input_order");
        }
        Ok(Layout { ragged, sparse, dense, order: order.to_owned() })
    }

    /// Returns the columns of a call and the number of batch entries.
    fn columns<'a>(&self, ctx: &'a KernelContext<'_>) -> Result<(Vec<Column<'a>>, usize)> {
        let of_sparse = 2 * self.ragged;
        let of_dense = of_sparse + 3 * self.sparse;
        let (batches, ragged_splits) = self.batches(ctx, of_sparse, of_dense)?;
        check_memory::<usize>(batches.saturating_add(1).saturating_mul(self.order.len()))?;
        let (mut ragged, mut sparse, mut dense) = (ragged_splits.into_iter().enumerate(), 0..self.sparse, 0..self.dense);
        let mut columns = Vec::with_capacity(self.order.len());
        let order = &self.order;
        for kind in order.bytes() {
            columns.push(match (kind, ragged.len(), sparse.len(), dense.len()) {
                (b'R', 1.., ..) => {
                    let (i, splits) = ragged.next().unwrap_or_default();
                    Column::new(ctx.input(i)?, splits, false)?
                }
                (b'S', _, 1.., _) => {
                    let i = of_sparse + sparse.next().unwrap_or(0);
                    let rows = ctx.input(i)?.as_slice::<i64>()?.as_chunks::<2>().0;
                    Column::new(ctx.input(i + self.sparse)?, starts_of(rows, batches), true)?
                }
                (b'D', .., 1..) => {
                    let values = ctx.input(of_dense + dense.next().unwrap_or(0))?;
                    let width = values.shape()[1];
                    Column::new(values, (0..=batches).map(|batch| batch * width).collect(), false)?
                }
                (b'R', ..) => bail!(
                    InvalidArgument,
                    "input_order \"{order}\" specifies reading a ragged tensor value at index {0} from a list of {0} values.",
                    self.ragged
                ),
                (b'S', ..) => bail!(
                    InvalidArgument,
                    "input_order \"{order}\" specifies reading a sparse tensor value at index {0} from a list of {0} values.",
                    self.sparse
                ),
                (b'D', ..) => bail!(
                    InvalidArgument,
                    "input_order \"{order}\" specifies reading a dense tensor at index {0} from a list of {0} tensors.",
                    self.dense
                ),
                _ => bail!(InvalidArgument, "Unexpected input_order value."),
            });
        }
        Ok((columns, batches))
    }

    /// Checks the shapes of all inputs. Returns the number of batch entries, and the splits of the ragged inputs.
    fn batches(&self, ctx: &KernelContext<'_>, of_sparse: usize, of_dense: usize) -> Result<(usize, Vec<Vec<usize>>)> {
        let mut sizes = Vec::with_capacity(self.order.len());
        let mut ragged_splits = Vec::with_capacity(self.ragged);
        for i in 0..self.ragged {
            let (values, splits) = (ctx.input(i)?, ctx.input(self.ragged + i)?);
            if values.rank() != 1 || splits.rank() != 1 {
                bail!(InvalidArgument, "tf.ragged.cross only supports inputs with rank=2.");
            }
            ragged_splits.push(checked_splits(splits, values.num_elements())?);
            sizes.push(splits.num_elements() as i64 - 1);
        }
        for i in 0..self.sparse {
            let (indices, values) = (ctx.input(of_sparse + i)?, ctx.input(of_sparse + self.sparse + i)?);
            let shape = ctx.input(of_sparse + 2 * self.sparse + i)?;
            if indices.rank() != 2 || values.rank() != 1 || shape.rank() != 1 || indices.shape()[0] != values.num_elements() {
                bail!(InvalidArgument, "Invalid SparseTensor {i}");
            }
            let (&[batches, _], 2) = (shape.as_slice::<i64>()?, indices.shape()[1]) else {
                bail!(InvalidArgument, "tf.ragged.cross only supports inputs with rank=2.");
            };
            sizes.push(batches);
        }
        for i in 0..self.dense {
            let &[batches, _] = ctx.input(of_dense + i)?.shape().dims() else {
                bail!(InvalidArgument, "tf.ragged.cross only supports inputs with rank=2.");
            };
            sizes.push(batches as i64);
        }
        let first = sizes.first().copied().unwrap_or(0);
        if sizes.iter().any(|&size| size != first) {
            bail!(InvalidArgument, "inputs must all have the same batch dimension size.");
        }
        match usize::try_from(first) {
            Ok(batches) => Ok((batches, ragged_splits)),
            Err(_) => bail!(InvalidArgument, "a batch dimension of {first} is negative"),
        }
    }
}

/// Returns splits after a check that they begin at 0, ascend, and end at the number of values.
fn checked_splits(splits: &Tensor, values: usize) -> Result<Vec<usize>> {
    let splits = splits.to_i64_vec()?;
    let (Some(&first), Some(&last)) = (splits.first(), splits.last()) else {
        bail!(InvalidArgument, "Invalid ragged splits: ragged splits must have at least one splits, but is empty");
    };
    if first != 0 {
        bail!(InvalidArgument, "Invalid ragged splits: first element of ragged splits  must be 0 but is {first}");
    }
    if let Some(i) = splits.windows(2).position(|pair| pair[0] > pair[1]) {
        let (here, next) = (splits[i], splits[i + 1]);
        bail!(
            InvalidArgument,
            "Invalid ragged splits: ragged splits must be monotonically increasing, but ragged_splits[{}]={next} is smaller than row_splits[{i}]={here}",
            i + 1
        );
    }
    if last != values as i64 {
        bail!(
            InvalidArgument,
            "Invalid ragged splits: last element of ragged splits must be the number of ragged values({values}) but is {last}"
        );
    }
    Ok(splits.into_iter().map(|s| s as usize).collect())
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let layout = Layout::new(init)?;
    let (buckets, key): (i64, i64) = (init.attrs.get("num_buckets")?, init.attrs.get("hash_key")?);
    let is_text = init.dtype("out_values_type")? == DType::String;
    let splits_type = init.dtype("out_row_splits_type")?;
    from_fn(move |ctx| {
        let (columns, batches) = layout.columns(ctx)?;
        let (mut texts, mut hashes): (Vec<Bytes>, Vec<i64>) = (Vec::new(), Vec::new());
        let counts = each_cross(&columns, batches, |features| {
            if is_text {
                texts.push(joined(features, b"_X_"));
            } else {
                hashes.push(hashed(features, key, buckets));
            }
        })?;
        let values = if is_text { ctx.allocator().from_strings([texts.len()], texts)? } else { ctx.allocator().vector(&hashes)? };
        let ends = counts.iter().scan(0, |end, count| {
            *end += count;
            Some(*end)
        });
        let row_splits = splits_tensor(ctx.allocator(), splits_type, &[0].into_iter().chain(ends).collect::<Vec<_>>())?;
        ctx.set_output(0, values);
        ctx.set_output(1, row_splits);
        Ok(())
    })
}
