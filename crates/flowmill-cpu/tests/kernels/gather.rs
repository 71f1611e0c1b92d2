//! Gathering by index. Each expected value was compared with TensorFlow 2.21.
use crate::testing::{floats, message, run, run1, shape, ty};
use flowmill_tensor::{Code, DType, Result, Shape, Tensor};

fn gather(op: &str, batch_dims: i64, dims: &[usize], indices: &[i32]) -> Result<Tensor> {
    let attrs = [("dtype", ty(DType::F32)), ("shape", shape(&[2, 2])), ("batch_dims", batch_dims.into())];
    let handle = run1("VarHandleOp", &attrs, vec![]).unwrap();
    let value = Tensor::from_slice([2, 2], &[1f32, 2.0, 3.0, 4.0]).unwrap();
    run("AssignVariableOp", &attrs[..1], vec![handle.clone(), value]).unwrap();
    run1(op, &attrs, vec![handle, Tensor::from_slice(dims, indices).unwrap()])
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
