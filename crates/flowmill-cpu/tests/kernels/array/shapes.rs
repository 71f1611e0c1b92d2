use super::*;
use crate::testing::{ints, run1, shape};
use flowmill_tensor::{Shape, bf16};

#[test]
fn shape_size_and_rank_read_the_shape() {
    let x = iota([2, 3]);
    assert_eq!(run1("Shape", &[], vec![x.clone()]).unwrap(), v(&[2, 3]));
    assert_eq!(run1("Shape", &[("out_type", ty(DType::I64))], vec![x.clone()]).unwrap(), t([2], &[2i64, 3]));
    assert_eq!(run1("Shape", &[], vec![s(1)]).unwrap(), v(&[]));
    assert_eq!(run1("Size", &[], vec![x.clone()]).unwrap(), s(6));
    assert_eq!(run1("Rank", &[], vec![x.clone()]).unwrap(), s(2));
    let both = Call::new("ShapeN").inputs(vec![x, v(&[1])]).outputs(2).run().unwrap();
    assert_eq!(both, [Some(v(&[2, 3])), Some(v(&[1]))]);
}

#[test]
fn reshape_infers_one_size() {
    let reshape = |sizes: &[i32]| run1("Reshape", &[], vec![iota([2, 3]), v(sizes)]).map(|t| t.shape().to_vec());
    assert_eq!(reshape(&[3, -1]).unwrap(), [3, 2]);
    assert_eq!(reshape(&[-1]).unwrap(), [6]);
    assert_eq!(reshape(&[1, 6, 1]).unwrap(), [1, 6, 1]);
    invalid(reshape(&[-1, -1]), "Only one input size may be -1, not both 0 and 1");
    invalid(reshape(&[4]), "Input to reshape is a tensor with 6 values, but the requested shape has 4");
    invalid(reshape(&[4, -1]), "Input to reshape is a tensor with 6 values, but the requested shape requires a multiple of 4");
    invalid(reshape(&[-2]), "Size 0 must be non-negative, not -2");
    invalid(reshape(&[0, -1]), "Input to reshape is a tensor with 6 values, but the requested shape has 0");
    let empty = |sizes: &[i32]| run1("Reshape", &[], vec![iota([2, 0, 3]), v(sizes)]).map(|t| t.shape().to_vec());
    assert_eq!(empty(&[-1, 0]).unwrap(), [6, 0]);
    assert_eq!(empty(&[-1, 3]).unwrap(), [0, 3]);
    invalid(run1("Reshape", &[], vec![s(1), t([1, 1], &[1])]), "sizes input must be 1-D, not [1,1]");
    invalid(run1("Reshape", &[], vec![s(1), v(&[1; 254])]), "too many dimensions: must be < 254, but received 254");
    assert_eq!(run1("Reshape", &[], vec![s(1), v(&[1; 253])]).unwrap().rank(), 253);
    assert_eq!(run1("Reshape", &[], vec![v(&[7]), v(&[])]).unwrap(), s(7));
    assert!(reshape(&[i32::MAX, i32::MAX, i32::MAX, i32::MAX]).is_err());
}

#[test]
fn expand_dims_and_squeeze_are_inverse() {
    let expand = |dim: i32| run1("ExpandDims", &[], vec![iota([2, 3]), s(dim)]).map(|t| t.shape().to_vec());
    assert_eq!(expand(0).unwrap(), [1, 2, 3]);
    assert_eq!(expand(-1).unwrap(), [2, 3, 1]);
    assert_eq!(expand(2).unwrap(), [2, 3, 1]);
    invalid(expand(3), "Tried to expand dim index 3 for tensor with 2 dimensions.");
    let squeeze = |axes: &[i64]| run1("Squeeze", &[("squeeze_dims", ints(axes))], vec![iota([1, 2, 1])]).map(|t| t.shape().to_vec());
    assert_eq!(squeeze(&[]).unwrap(), [2]);
    assert_eq!(squeeze(&[0]).unwrap(), [2, 1]);
    assert_eq!(squeeze(&[-1]).unwrap(), [1, 2]);
    invalid(squeeze(&[1]), "Can not squeeze dim[1], expected a dimension of 1, got 2");
    invalid(squeeze(&[3]), "Tried to squeeze dim index 3 for tensor with 3 dimensions.");
}

#[test]
fn identities_pass_every_type_on() {
    for op in ["Identity", "StopGradient", "PreventGradient", "Snapshot", "GuaranteeConst", "PlaceholderWithDefault", "DeepCopy"] {
        for x in [iota([2, 2]), Tensor::string("a"), Tensor::scalar(true), t([1], &[bf16::ONE])] {
            assert_eq!(call(op, x.dtype()).input(x.clone()).run1().unwrap(), x, "{op}");
        }
    }
    let both = Call::new("IdentityN").inputs(vec![s(1), Tensor::string("b")]).outputs(2).run().unwrap();
    assert_eq!(both, [Some(s(1)), Some(Tensor::string("b"))]);
}

#[test]
fn a_placeholder_that_runs_says_that_it_was_not_fed() {
    let run = |attrs: &[(&str, _)]| run1("Placeholder", attrs, vec![]);
    invalid(
        run(&[("dtype", ty(DType::F32)), ("shape", shape(&[-1, 3]))]),
        "You must feed a value for placeholder tensor 'n' with dtype float and shape [?,3]",
    );
    invalid(run(&[("dtype", ty(DType::I32))]), "You must feed a value for placeholder tensor 'n' with dtype int32");
}

#[test]
fn ensure_shape_and_check_numerics_pass_or_fail() {
    let ensure = |dims: &[i64]| run1("EnsureShape", &[("shape", shape(dims))], vec![iota([2, 3])]);
    assert_eq!(ensure(&[-1, 3]).unwrap(), iota([2, 3]));
    invalid(ensure(&[3, 3]), "[2,3] is not compatible with expected shape [3,3].");
    let check = |op: &str, x: &[f32]| call(op, DType::F32).attr("message", "m").input(t([x.len()], x)).run1();
    assert!(check("CheckNumerics", &[1.0, -0.0]).is_ok());
    invalid(check("CheckNumerics", &[f32::NAN, f32::INFINITY]), "m : Tensor had Inf and NaN values");
    invalid(check("CheckNumerics", &[f32::NAN]), "m : Tensor had NaN values");
    invalid(check("CheckNumericsV2", &[f32::NAN, f32::INFINITY, f32::NEG_INFINITY]), "m : Tensor had -Inf, +Inf, and NaN values");
    invalid(check("CheckNumericsV2", &[f32::NAN, f32::INFINITY]), "m : Tensor had +Inf and NaN values");
}

#[test]
fn broadcasts_follow_numpy() {
    let to = |x: Tensor, sizes: &[i32]| call("BroadcastTo", x.dtype()).inputs(vec![x, v(sizes)]).run1();
    assert_eq!(to(t([2, 1], &[1, 2]), &[2, 2, 2]).unwrap(), t([2, 2, 2], &[1, 1, 2, 2, 1, 1, 2, 2]));
    assert_eq!(to(s(3), &[0, 2]).unwrap(), t::<i32, 2>([0, 2], &[]));
    invalid(to(v(&[2, 3]), &[3]), "Incompatible shapes: [2] vs. [3]");
    invalid(to(t([1, 2], &[2, 3]), &[2]), "Rank of input (2) must be no greater than rank of output shape (1).");
    let tile = |x: Tensor, multiples: Tensor| call("Tile", x.dtype()).inputs(vec![x, multiples]).run1();
    assert_eq!(tile(iota([2, 2]), v(&[2, 3])).unwrap().as_slice::<i32>().unwrap()[..12], [0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3]);
    assert_eq!(tile(t([1], &[true]), v(&[3])).unwrap(), t([3], &[true; 3]));
    assert_eq!(tile(iota([2]), v(&[0])).unwrap().shape(), &Shape::from([0]));
    invalid(tile(iota([3]), v(&[-1])), "Expected multiples[0] >= 0, but got -1");
    invalid(tile(iota([3]), v(&[1, 1])), "Expected multiples argument to be a vector of length 1 but got length 2");
    invalid(tile(iota([3]), t([1, 1], &[1])), "Expected multiples to be 1-D, but got shape [1,1]");
}

#[test]
fn broadcast_gradient_args_name_the_axes_to_sum() {
    let args = |a: &[i32], b: &[i32]| {
        let out = Call::new("BroadcastGradientArgs").attr("T", ty(DType::I32)).inputs(vec![v(a), v(b)]).outputs(2).run()?;
        Ok([out[0].as_ref().unwrap().to_i64_vec()?, out[1].as_ref().unwrap().to_i64_vec()?])
    };
    assert_eq!(args(&[2, 3], &[2, 3]).unwrap(), [vec![], vec![]]);
    assert_eq!(args(&[1, 2], &[2]).unwrap(), [vec![0], vec![0]]);
    assert_eq!(args(&[3, 1, 2], &[1, 2]).unwrap(), [vec![1], vec![0, 1]]);
    assert_eq!(args(&[], &[3]).unwrap(), [vec![0], vec![]]);
    assert_eq!(args(&[2, 1, 1], &[1, 1]).unwrap(), [vec![1, 2], vec![0, 1, 2]]);
    invalid(args(&[2], &[3]), "Incompatible shapes: [2] vs. [3]");
    let sizes = call("BroadcastArgs", DType::I32).inputs(vec![v(&[3, 1]), v(&[4])]).run1().unwrap();
    assert_eq!(sizes, v(&[3, 4]));
}
