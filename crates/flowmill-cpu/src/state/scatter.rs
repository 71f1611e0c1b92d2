//! Updates of parts of variables, by reference and by handle: rows, slices named by index vectors, and strided slices.

use super::indices::{row_starts, slice_starts};
use super::update::{Update, update_blocks};
use super::{Variable, VariableKind};
use crate::array::slice_spec::{Masks, resolve};
use crate::blocks::concat_blocks;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, Shape, Tensor, bail};
use std::sync::Arc;

macro_rules! register_updates {
    ($registry:expr, $make:ident, $($op:literal, $resource_op:literal => $update:ident;)*) => {
        $($registry.add($op, |init| $make(init, Update::$update, VariableKind::Ref));
        $registry.add($resource_op, |init| $make(init, Update::$update, VariableKind::Resource));)*
    };
}

pub(super) fn register(registry: &mut KernelRegistry) {
    register_updates! { registry, make_scatter,
        "ScatterUpdate", "ResourceScatterUpdate" => Assign;
        "ScatterAdd", "ResourceScatterAdd" => Add;
        "ScatterSub", "ResourceScatterSub" => Sub;
        "ScatterMul", "ResourceScatterMul" => Mul;
        "ScatterDiv", "ResourceScatterDiv" => Div;
        "ScatterMin", "ResourceScatterMin" => Min;
        "ScatterMax", "ResourceScatterMax" => Max;
    }
    register_updates! { registry, make_scatter_nd,
        "ScatterNdUpdate", "ResourceScatterNdUpdate" => Assign;
        "ScatterNdAdd", "ResourceScatterNdAdd" => Add;
        "ScatterNdSub", "ResourceScatterNdSub" => Sub;
        "ScatterNdMin", "ResourceScatterNdMin" => Min;
        "ScatterNdMax", "ResourceScatterNdMax" => Max;
    }
    registry.add("StridedSliceAssign", |init| make_strided_slice_assign(init, VariableKind::Ref));
    registry.add("ResourceStridedSliceAssign", |init| make_strided_slice_assign(init, VariableKind::Resource));
}

/// A kernel that changes the variable in input 0; where that is a reference, it is passed on.
fn updating(
    kind: VariableKind,
    change: impl Fn(&KernelContext<'_>, &mut Tensor) -> Result<()> + Send + Sync + 'static,
) -> Result<Arc<dyn Kernel>> {
    from_fn(move |ctx| {
        Variable::from_input(ctx, 0)?.update(|value| change(ctx, value))?;
        match kind {
            VariableKind::Ref => ctx.forward(0, 0),
            VariableKind::Resource => Ok(()),
        }
    })
}

fn check_dtype(value: &Tensor, updates: &Tensor) -> Result<()> {
    if value.dtype() != updates.dtype() {
        bail!(
            InvalidArgument,
            "Trying to update variable with wrong dtype. Expected {} got {}",
            value.dtype().cpp_name(),
            updates.dtype().cpp_name()
        );
    }
    Ok(())
}

/// `ScatterAdd` and its kin: inputs variable, indices of rows, and an update for each, or a scalar for all.
fn make_scatter(init: &KernelInit<'_>, update: Update, kind: VariableKind) -> Result<Arc<dyn Kernel>> {
    update.checked_dtype(init, kind.dtype_attr())?;
    updating(kind, move |ctx, value| {
        let (indices, updates) = (ctx.input(1)?, ctx.input(2)?);
        check_dtype(value, updates)?;
        let Some((&rows, row)) = value.shape().split_first() else {
            bail!(InvalidArgument, "params must be at least 1-D, got shape {}", value.shape());
        };
        let expected = indices.shape().iter().chain(row).copied();
        if updates.rank() != 0 && !expected.eq(updates.shape().iter().copied()) {
            bail!(
                InvalidArgument,
                "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape {}, indices.shape {}, params.shape {}",
                updates.shape(),
                indices.shape(),
                value.shape()
            );
        }
        let block = Shape::new(row).num_elements();
        let starts = row_starts(indices, rows, block)?;
        update_blocks(update, value, &starts, block, updates)
    })
}

/// `ScatterNdAdd` and its kin: the rows of the indices name slices of the variable.
fn make_scatter_nd(init: &KernelInit<'_>, update: Update, kind: VariableKind) -> Result<Arc<dyn Kernel>> {
    update.checked_dtype(init, "T")?;
    updating(kind, move |ctx, value| {
        let (indices, updates) = (ctx.input(1)?, ctx.input(2)?);
        check_dtype(value, updates)?;
        let slice = check_nd_shapes(indices.shape(), updates.shape(), value.shape())?;
        match slice_starts(indices, value.shape())? {
            Ok(starts) => update_blocks(update, value, &starts, slice, updates),
            Err(bad) => bail!(InvalidArgument, "{bad} does not index into shape {}", value.shape()),
        }
    })
}

/// The number of elements of a slice, where the shapes of a `ScatterNd`-like op agree.
fn check_nd_shapes(indices: &Shape, updates: &Shape, value: &Shape) -> Result<usize> {
    let Some((&depth, batch)) = indices.split_last() else {
        bail!(InvalidArgument, "Indices shape must have rank at least one. Found: {indices}");
    };
    if updates.get(..batch.len()) != Some(batch) {
        let n = batch.len();
        bail!(InvalidArgument, "Dimensions [0,{n}) of indices[shape={indices}] must match dimensions [0,{n}) of updates[shape={updates}]");
    }
    let slice = value.get(depth..);
    if slice.is_none() || updates.get(batch.len()..) != slice {
        bail!(
            InvalidArgument,
            "Dimensions [{depth},{}) of input[shape={value}] must match dimensions [{},{}) of updates[shape={updates}]",
            value.rank(),
            batch.len(),
            updates.rank()
        );
    }
    Ok(Shape::new(slice.unwrap_or_default()).num_elements())
}

/// Assigns to a slice `variable[begin:end:strides]`; a value that can be broadcast to the slice is. Inputs: variable, begin, end, strides, value.
fn make_strided_slice_assign(init: &KernelInit<'_>, kind: VariableKind) -> Result<Arc<dyn Kernel>> {
    let masks = Masks::from_attrs(init.attrs)?;
    updating(kind, move |ctx, target| {
        let value = ctx.input(4)?;
        check_dtype(target, value)?;
        let (region, shape) = resolve(target.shape(), ctx.input(1)?, ctx.input(2)?, ctx.input(3)?, &masks)?;
        let source = broadcast_indices(value.shape(), &shape)?;
        let strides = target.shape().strides();
        let sizes = Shape::new(&region.sizes);
        let inner = sizes.strides();
        let start = |i: usize| -> usize {
            let along =
                |axis: usize| (region.begins[axis] + (i / inner[axis] % sizes[axis]) as i64 * region.steps[axis]) as usize * strides[axis];
            (0..sizes.rank()).map(along).sum()
        };
        let starts: Vec<usize> = (0..sizes.num_elements()).map(start).collect();
        let values = concat_blocks(value.dtype(), [starts.len()].into(), source.into_iter().map(|i| (value, i..i + 1)))?;
        update_blocks(Update::Assign, target, &starts, 1, &values)
    })
}

/// For every element of `to`, which element of `from` stands there when `from` is broadcast.
fn broadcast_indices(from: &Shape, to: &Shape) -> Result<Vec<usize>> {
    if Shape::broadcast(from, to).as_ref() != Some(to) {
        bail!(InvalidArgument, "could not broadcast input array from shape {from} into shape {to}");
    }
    let (from_strides, to_strides) = (from.strides(), to.strides());
    let skipped = to.rank() - from.rank();
    let source = |i: usize| {
        (0..from.rank())
            .filter(|&axis| from[axis] != 1)
            .map(|axis| i / to_strides[axis + skipped] % to[axis + skipped] * from_strides[axis])
            .sum()
    };
    Ok((0..to.num_elements()).map(source).collect())
}

#[cfg(test)]
mod tests {
    //! Each expectation was compared with TensorFlow 2.21.
    #![allow(clippy::unwrap_used)]
    use crate::testing::{run, run1, shape, ty};
    use flowmill_runtime::RefVariable;
    use flowmill_tensor::{Code, DType, Result, Tensor};

    fn matrix(rows: usize, values: &[f32]) -> Tensor {
        Tensor::from_slice([rows, values.len() / rows], values).unwrap()
    }

    fn vector(values: &[f32]) -> Tensor {
        Tensor::vector(values).unwrap()
    }

    fn ints(dims: &[usize], values: &[i32]) -> Tensor {
        Tensor::from_slice(dims, values).unwrap()
    }

    /// Runs an op on a TF-1 variable and gives the variable's value after it.
    fn on_ref(op: &str, initial: Tensor, inputs: Vec<Tensor>) -> Result<Tensor> {
        let dtype = ty(initial.dtype());
        let variable = run1("VariableV2", &[("dtype", dtype.clone()), ("shape", shape(&initial.shape().to_i64()))], vec![]).unwrap();
        run("Assign", &[], vec![variable.clone(), initial]).unwrap();
        let out = run1(op, &[("T", dtype)], [vec![variable], inputs].concat())?;
        Ok(out.as_resources()?[0].get::<RefVariable>().unwrap().get().unwrap())
    }

    /// The same on a resource variable.
    fn on_resource(op: &str, initial: Tensor, inputs: Vec<Tensor>) -> Result<Tensor> {
        let dtype = ty(initial.dtype());
        let attrs = [("dtype", dtype.clone()), ("T", dtype), ("shape", shape(&initial.shape().to_i64()))];
        let handle = run1("VarHandleOp", &attrs, vec![]).unwrap();
        run("AssignVariableOp", &attrs, vec![handle.clone(), initial]).unwrap();
        run(op, &attrs, [vec![handle.clone()], inputs].concat())?;
        run1("ReadVariableOp", &attrs, vec![handle])
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
    fn rows_are_updated() {
        let v = || matrix(2, &[1.0, 2.0, 3.0, 4.0]);
        let twice = || vec![ints(&[2], &[1, 1]), matrix(2, &[5.0, 6.0, 7.0, 8.0])];
        assert_eq!(floats(on_ref("ScatterAdd", v(), twice())), [1.0, 2.0, 15.0, 18.0]);
        assert_eq!(floats(on_resource("ResourceScatterAdd", v(), twice())), [1.0, 2.0, 15.0, 18.0]);
        assert_eq!(floats(on_ref("ScatterSub", v(), twice())), [1.0, 2.0, -9.0, -10.0]);
        assert_eq!(floats(on_ref("ScatterUpdate", v(), twice())), [1.0, 2.0, 7.0, 8.0]);
        assert_eq!(floats(on_ref("ScatterMul", v(), vec![ints(&[2], &[1, 1]), Tensor::scalar(10f32)])), [1.0, 2.0, 300.0, 400.0]);
        assert_eq!(floats(on_resource("ResourceScatterDiv", v(), vec![ints(&[1], &[0]), Tensor::scalar(2f32)])), [0.5, 1.0, 3.0, 4.0]);
        let nan = || vec![ints(&[2, 1], &[1, 0]), Tensor::from_slice([2, 1, 2], &[0.0, 9.0, 2.0, f32::NAN]).unwrap()];
        assert_eq!(floats(on_ref("ScatterMin", v(), nan())), [1.0, 2.0, 0.0, 4.0]);
        assert_eq!(floats(on_ref("ScatterMax", v(), nan())), [2.0, 2.0, 3.0, 9.0]);
        let nothing = vec![ints(&[0], &[]), Tensor::zeros(DType::F32, [0, 2]).unwrap()];
        assert_eq!(floats(on_ref("ScatterAdd", v(), nothing)), [1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn any_type_can_be_assigned() {
        let strings = |values: &[&'static str]| Tensor::from_strings([values.len()], values.iter().map(|&s| s.into()).collect()).unwrap();
        let out = on_ref("ScatterUpdate", strings(&["a", "b"]), vec![ints(&[1], &[1]), strings(&["c"])]).unwrap();
        assert_eq!(out.as_strings().unwrap(), ["a", "c"]);
        let out = on_resource(
            "ResourceScatterUpdate",
            Tensor::vector(&[true, false]).unwrap(),
            vec![ints(&[1], &[1]), Tensor::vector(&[true]).unwrap()],
        )
        .unwrap();
        assert_eq!(out.as_slice::<bool>().unwrap(), [true, true]);
        let e =
            on_ref("ScatterAdd", Tensor::vector(&[true]).unwrap(), vec![ints(&[1], &[0]), Tensor::vector(&[true]).unwrap()]).unwrap_err();
        assert_eq!(e.code(), Code::NotFound);
    }

    #[test]
    fn row_updates_are_checked() {
        let v = || vector(&[1.0, 2.0]);
        let ones = |n: usize| vector(&vec![1.0; n]);
        assert_eq!(
            message(on_ref("ScatterAdd", Tensor::scalar(1f32), vec![ints(&[1], &[0]), ones(1)])),
            "params must be at least 1-D, got shape []"
        );
        assert_eq!(
            message(on_ref("ScatterAdd", v(), vec![ints(&[2, 2], &[0, 1, 0, 5]), matrix(2, &[1.0; 4])])),
            "indices[1,1] = 5 is not in [0, 2)"
        );
        assert_eq!(message(on_ref("ScatterAdd", v(), vec![ints(&[], &[5]), Tensor::scalar(1f32)])), "indices = 5 is not in [0, 2)");
        assert_eq!(message(on_resource("ResourceScatterAdd", v(), vec![ints(&[1], &[-1]), ones(1)])), "indices[0] = -1 is not in [0, 2)");
        assert_eq!(
            message(on_ref("ScatterAdd", v(), vec![ints(&[1], &[0]), ones(2)])),
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape [2], indices.shape [1], params.shape [2]"
        );
        let zero = vec![ints(&[1], &[0]), Tensor::vector(&[0i32]).unwrap()];
        assert_eq!(message(on_ref("ScatterDiv", Tensor::vector(&[1i32]).unwrap(), zero)), "Integer division by zero");
    }

    #[test]
    fn slices_are_updated() {
        let v = || matrix(2, &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(floats(on_ref("ScatterNdUpdate", v(), vec![ints(&[1, 2], &[1, 0]), vector(&[9.0])])), [1.0, 2.0, 9.0, 4.0]);
        let rows = vec![ints(&[2, 1], &[1, 1]), matrix(2, &[9.0, 1.0, 1.0, 1.0])];
        assert_eq!(floats(on_resource("ResourceScatterNdAdd", v(), rows)), [1.0, 2.0, 13.0, 6.0]);
        assert_eq!(floats(on_ref("ScatterNdSub", v(), vec![ints(&[1, 2], &[1, 0]), vector(&[9.0])])), [1.0, 2.0, -6.0, 4.0]);
        assert_eq!(floats(on_ref("ScatterNdMax", v(), vec![ints(&[1, 2], &[1, 0]), vector(&[9.0])])), [1.0, 2.0, 9.0, 4.0]);
        let bad = |indices, updates| message(on_ref("ScatterNdAdd", v(), vec![indices, updates]));
        assert_eq!(bad(ints(&[2, 1, 2], &[1, 0, 2, 0]), matrix(2, &[9.0, 2.0])), "indices[1,0] = [2, 0] does not index into shape [2,2]");
        assert_eq!(bad(ints(&[1, 2], &[1, -1]), vector(&[9.0])), "indices[0] = [1, -1] does not index into shape [2,2]");
        assert_eq!(
            bad(ints(&[1, 3], &[1, 0, 0]), vector(&[9.0])),
            "Dimensions [3,2) of input[shape=[2,2]] must match dimensions [1,1) of updates[shape=[1]]"
        );
        assert_eq!(
            bad(ints(&[1, 2], &[1, 0]), vector(&[9.0, 1.0])),
            "Dimensions [0,1) of indices[shape=[1,2]] must match dimensions [0,1) of updates[shape=[2]]"
        );
    }

    #[test]
    fn strided_slices_are_assigned() {
        let v = || matrix(3, &(0..12).map(|i| i as f32).collect::<Vec<_>>());
        let assign = |begin: &[i32], end: &[i32], strides: &[i32], value| {
            let spec = [begin, end, strides].map(|s| ints(&[s.len()], s)).to_vec();
            on_resource("ResourceStridedSliceAssign", v(), [spec, vec![value]].concat())
        };
        let expected = [0.0, 1.0, 1.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 2.0, 2.0, 11.0];
        assert_eq!(floats(assign(&[0, 1], &[3, 3], &[2, 1], matrix(2, &[1.0, 1.0, 2.0, 2.0]))), expected);
        let expected = [0.0, 7.0, 7.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 7.0, 7.0, 11.0];
        assert_eq!(floats(assign(&[0, 1], &[3, 3], &[2, 1], Tensor::scalar(7f32))), expected);
        let expected = [0.0, 6.0, 2.0, 5.0, 4.0, 4.0, 6.0, 3.0, 8.0, 2.0, 10.0, 1.0];
        assert_eq!(floats(assign(&[2, 3], &[-4, -5], &[-1, -2], matrix(3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))), expected);
        assert_eq!(assign(&[0, 1], &[3, 3], &[2, 1], vector(&[1.0, 2.0, 3.0])).unwrap_err().code(), Code::InvalidArgument);
        let line = on_ref(
            "StridedSliceAssign",
            vector(&[0.0, 1.0, 2.0, 3.0]),
            [1, 3, 1].map(|i| ints(&[1], &[i])).into_iter().chain([vector(&[9.0, 8.0])]).collect(),
        );
        assert_eq!(floats(line), [0.0, 9.0, 8.0, 3.0]);
    }
}
