//! Reading parts of resource variables.

use super::Variable;
use super::indices::{batched_row_starts, slice_starts};
use crate::blocks::concat_blocks;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ResourceGather", make_gather);
    registry.add("ResourceGatherNd", make_gather_nd);
}

fn read(ctx: &KernelContext<'_>, dtype: DType) -> Result<Tensor> {
    let value = Variable::from_input(ctx, 0)?.read()?;
    if value.dtype() != dtype {
        bail!(InvalidArgument, "Trying to read variable with wrong dtype. Expected {} got {}", dtype.cpp_name(), value.dtype().cpp_name());
    }
    Ok(value)
}

/// `ResourceGather`: rows of the variable along dimension `batch_dims`, whose outer dimensions are shared with the indices.
fn make_gather(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dtype")?;
    let batch_dims = init.attrs.get_or("batch_dims", 0i64)?;
    from_fn(move |ctx| {
        let (params, indices) = (read(ctx, dtype)?, ctx.input(1)?);
        let axis = if batch_dims < 0 { batch_dims + indices.rank() as i64 } else { batch_dims };
        let Some(axis) = usize::try_from(axis).ok().filter(|&axis| axis <= indices.rank()) else {
            bail!(InvalidArgument, "batch_dims must be in [-{rank}, {rank}], got {batch_dims}", rank = indices.rank());
        };
        let (Some(batch), Some((&rows, row))) = (params.shape().get(..axis), params.shape().get(axis..).and_then(<[usize]>::split_first))
        else {
            bail!(InvalidArgument, "params must be at least {} dimensional", axis + 1);
        };
        if indices.shape().get(..axis) != Some(batch) {
            bail!(
                InvalidArgument,
                "The first {axis} dimensions of params ({}) and indices ({}) must be equal",
                params.shape(),
                indices.shape()
            );
        }
        let block = Shape::new(row).num_elements();
        let starts = batched_row_starts(indices, Shape::new(batch).num_elements(), rows, block)?;
        let shape: Shape = indices.shape().iter().chain(row).copied().collect();
        let out = gather(&params, shape, &starts, block)?;
        ctx.set_output(0, out);
        Ok(())
    })
}

/// `ResourceGatherNd`: the rows of the indices name slices of the variable.
fn make_gather_nd(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dtype")?;
    let name = init.name.to_owned();
    from_fn(move |ctx| {
        let (params, indices) = (read(ctx, dtype)?, ctx.input(1)?);
        let Some((&depth, batch)) = indices.shape().split_last() else {
            bail!(InvalidArgument, "indices must be at least a vector");
        };
        let Some(slice) = params.shape().get(depth..) else {
            bail!(InvalidArgument, "index innermost dimension length must be <= params rank; saw: {depth} vs. {}", params.rank());
        };
        let starts = match slice_starts(indices, params.shape())? {
            Ok(starts) => starts,
            Err(bad) => bail!(InvalidArgument, "{bad} does not index into param shape {}, node name: {name}", params.shape()),
        };
        let shape: Shape = batch.iter().chain(slice).copied().collect();
        let out = gather(&params, shape, &starts, Shape::new(slice).num_elements())?;
        ctx.set_output(0, out);
        Ok(())
    })
}

fn gather(params: &Tensor, shape: Shape, starts: &[usize], block: usize) -> Result<Tensor> {
    shape.checked_num_elements()?;
    concat_blocks(params.dtype(), shape, starts.iter().map(|&start| (params, start..start + block)))
}

#[cfg(test)]
mod tests {
    //! Each expectation was compared with TensorFlow 2.21.
    #![allow(clippy::unwrap_used)]
    use crate::testing::{run, run1, shape, ty};
    use flowmill_tensor::{Code, DType, Result, Shape, Tensor};

    fn gather(op: &str, batch_dims: i64, dims: &[usize], indices: &[i32]) -> Result<Tensor> {
        let attrs = [("dtype", ty(DType::F32)), ("shape", shape(&[2, 2])), ("batch_dims", batch_dims.into())];
        let handle = run1("VarHandleOp", &attrs, vec![]).unwrap();
        let value = Tensor::from_slice([2, 2], &[1f32, 2.0, 3.0, 4.0]).unwrap();
        run("AssignVariableOp", &attrs[..1], vec![handle.clone(), value]).unwrap();
        run1(op, &attrs, vec![handle, Tensor::from_slice(dims, indices).unwrap()])
    }

    fn floats(result: Result<Tensor>) -> Vec<f32> {
        result.unwrap().as_slice::<f32>().unwrap().to_vec()
    }

    fn message(result: Result<Tensor>) -> String {
        let e = result.map(drop).unwrap_err();
        assert_eq!(e.code(), Code::InvalidArgument);
        e.message().to_owned()
    }

    #[test]
    fn rows_are_gathered() {
        let out = gather("ResourceGather", 0, &[1, 2], &[1, 0]).unwrap();
        assert_eq!(out.shape(), &Shape::from([1, 2, 2]));
        assert_eq!(floats(Ok(out)), [3.0, 4.0, 1.0, 2.0]);
        assert_eq!(floats(gather("ResourceGather", 1, &[2, 2], &[1, 0, 0, 0])), [2.0, 1.0, 3.0, 3.0]);
        assert_eq!(message(gather("ResourceGather", 0, &[1], &[7])), "indices[0] = 7 is not in [0, 2)");
        assert_eq!(gather("ResourceGather", 1, &[3, 1], &[0, 0, 0]).unwrap_err().code(), Code::InvalidArgument);
        assert_eq!(gather("ResourceGather", 2, &[2, 2], &[0; 4]).unwrap_err().code(), Code::InvalidArgument);
    }

    #[test]
    fn slices_are_gathered() {
        assert_eq!(floats(gather("ResourceGatherNd", 0, &[2, 2], &[1, 0, 0, 1])), [3.0, 2.0]);
        assert_eq!(floats(gather("ResourceGatherNd", 0, &[1], &[1])), [3.0, 4.0]);
        assert_eq!(gather("ResourceGatherNd", 0, &[2, 0], &[]).unwrap().shape(), &Shape::from([2, 2, 2]));
        assert_eq!(
            message(gather("ResourceGatherNd", 0, &[2, 1, 2], &[1, 0, 0, 7])),
            "indices[1,0] = [0, 7] does not index into param shape [2,2], node name: n"
        );
        assert_eq!(
            message(gather("ResourceGatherNd", 0, &[1, 3], &[1, 0, 0])),
            "index innermost dimension length must be <= params rank; saw: 3 vs. 2"
        );
        assert_eq!(message(gather("ResourceGatherNd", 0, &[], &[1])), "indices must be at least a vector");
    }
}
