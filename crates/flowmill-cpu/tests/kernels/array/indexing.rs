use super::*;
use flowmill_tensor::Bytes;

fn strings(values: &[&'static str]) -> Tensor {
    Tensor::from_strings([values.len()], values.iter().map(|s| Bytes::from_static(s.as_bytes())).collect()).unwrap()
}

fn gather(params: Tensor, indices: Tensor, axis: i32, batch_dims: i64) -> Result<Tensor> {
    Call::new("GatherV2").attr("Tparams", ty(params.dtype())).attr("batch_dims", batch_dims).inputs(vec![params, indices, s(axis)]).run1()
}

#[test]
fn gather_reads_rows_along_any_axis() {
    let params = || t([3, 2], &[1, 2, 3, 4, 5, 6]);
    assert_eq!(gather(params(), t([1, 2], &[2i64, 0]), 0, 0).unwrap(), t([1, 2, 2], &[5, 6, 1, 2]));
    assert_eq!(gather(params(), s(1), 0, 0).unwrap(), v(&[3, 4]));
    assert_eq!(gather(params(), v(&[1, 1, 0]), -1, 0).unwrap(), t([3, 3], &[2, 2, 1, 4, 4, 3, 6, 6, 5]));
    assert_eq!(gather(strings(&["a", "b"]), v(&[1]), 0, 0).unwrap(), strings(&["b"]));
    let deep = t([2, 2, 2], &[1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(gather(deep, t([2, 2], &[0, 1, 1, 1]), 2, 1).unwrap(), t([2, 2, 2], &[1, 2, 3, 4, 6, 6, 8, 8]));
    let v1 = Call::new("Gather").attr("Tparams", ty(DType::I32)).inputs(vec![params(), v(&[2])]).run1();
    assert_eq!(v1.unwrap(), t([1, 2], &[5, 6]));
    let empty = gather(t([3, 0], &[0i32; 0]), v(&[0, 1]), 0, 0).unwrap();
    assert_eq!(empty.shape().to_vec(), [2, 0]);
}

#[test]
fn a_large_gather_equals_the_small_one() {
    let params = iota([1000, 100]);
    let picks: Vec<i32> = (0..2000).map(|i| i * 7 % 1000).collect();
    let out = gather(params, v(&picks), 0, 0).unwrap();
    let rows = out.as_slice::<i32>().unwrap();
    assert!(picks.iter().enumerate().all(|(i, &p)| rows[i * 100] == p * 100 && rows[i * 100 + 99] == p * 100 + 99));
}

#[test]
fn bad_gathers_are_refused() {
    let params = || t([3, 2], &[1, 2, 3, 4, 5, 6]);
    invalid(gather(params(), t([1, 2], &[0, 5]), 0, 0), "indices[0,1] = 5 is not in [0, 3)");
    invalid(gather(params(), s(-1), 0, 0), "indices = -1 is not in [0, 3)");
    invalid(gather(params(), v(&[0]), 3, 0), "Expected axis in the range [-2, 2), but got 3");
    invalid(gather(s(5), v(&[0]), 0, 0), "params must be at least 1 dimensional");
    invalid(gather(params(), t([1, 2], &[0, 1]), 1, 1), "params.shape[0]: 3 should be equal to indices.shape[0]: 1");
    invalid(gather(params(), t([1, 2], &[0, 1]), 0, 1), "batch_dims (1) must be less than or equal to axis (0).");
    invalid(gather(params(), v(&[0, 1]), 1, 3), "Expected batch_dims in the range [-1, 1], but got 3");
}

#[test]
fn gather_nd_reads_slices_by_coordinates() {
    let gather_nd = |params: Tensor, indices: Tensor, policy: &str| {
        Call::new("GatherNd").attr("Tparams", ty(params.dtype())).attr("bad_indices_policy", policy).inputs(vec![params, indices]).run1()
    };
    let params = || t([3, 2], &[1, 2, 3, 4, 5, 6]);
    assert_eq!(gather_nd(params(), t([2, 2], &[0, 1, 2, 0]), "").unwrap(), v(&[2, 5]));
    assert_eq!(gather_nd(params(), t([1, 1], &[1]), "").unwrap(), t([1, 2], &[3, 4]));
    assert_eq!(gather_nd(params(), t([2, 0], &[0i32; 0]), "").unwrap().shape().to_vec(), [2, 3, 2]);
    assert_eq!(gather_nd(params(), t([2, 2], &[0, 0, 3, 1]), "IGNORE").unwrap(), v(&[1, 0]));
    invalid(gather_nd(params(), t([2, 2], &[0, 0, 3, 1]), ""), "indices[1] = [3, 1] does not index into param shape [3,2], node name: n");
    invalid(gather_nd(params(), t([1, 3], &[0; 3]), ""), "index innermost dimension length must be <= params rank; saw: 3 vs. 2");
    invalid(gather_nd(params(), s(0), ""), "indices must be at least a vector");
    invalid(gather_nd(s(5), t([1, 0], &[0i32; 0]), ""), "params must be at least a vector");
    invalid(gather_nd(t([0, 2], &[0i32; 0]), t([1, 1], &[0]), ""), "Requested more than 0 entries, but params is empty.");
}

#[test]
fn scatter_nd_adds_up_what_goes_to_one_place() {
    let scatter = |indices: Tensor, updates: Tensor, shape: &[i32]| {
        call("ScatterNd", updates.dtype()).inputs(vec![indices, updates, v(shape)]).run1()
    };
    assert_eq!(scatter(t([2, 1], &[0, 0]), v(&[1, 2]), &[3]).unwrap(), v(&[3, 0, 0]));
    assert_eq!(scatter(t([1, 1], &[1]), t([1, 2], &[1.5f32, 2.0]), &[2, 2]).unwrap(), t([2, 2], &[0.0f32, 0.0, 1.5, 2.0]));
    assert_eq!(scatter(t([2, 1], &[0, 0]), strings(&["a", "b"]), &[2]).unwrap(), strings(&["ab", ""]));
    assert_eq!(scatter(t([2, 1], &[0, 0]), t([2], &[true, true]), &[2]).unwrap(), t([2], &[true, false]));
    assert_eq!(scatter(t([1, 1], &[0]), t([1], &[i32::MAX]), &[1]).unwrap(), v(&[i32::MAX]));
    invalid(scatter(t([1, 1], &[3]), v(&[1]), &[3]), "indices[0] = [3] does not index into shape [3]");
    invalid(scatter(t([1, 1], &[-1]), v(&[1]), &[3]), "indices[0] = [-1] does not index into shape [3]");
    invalid(
        scatter(t([2, 1], &[0, 1]), v(&[1]), &[3]),
        "Outer dimensions of indices and update must match. Indices shape: [2,1], updates shape:[1]",
    );
    invalid(
        scatter(t([1, 1], &[0]), t([1, 1], &[1]), &[3]),
        "Inner dimensions of output shape must match inner dimensions of updates shape. Output: [3] updates: [1,1]",
    );
    invalid(scatter(t([1, 1], &[0]), v(&[1]), &[0]), "Indices and updates specified for empty output.  indices shape: [1,1]");
    invalid(scatter(s(0), s(1), &[3]), "Indices shape must have rank at least one. Found:[]");
}

#[test]
fn tensor_scatters_combine_in_order() {
    let scatter = |op: &str, x: Tensor, indices: &[i32], updates: Tensor| {
        call(op, x.dtype()).inputs(vec![x, t([indices.len(), 1], indices), updates]).run1()
    };
    let x = || v(&[1, 2, 3]);
    assert_eq!(scatter("TensorScatterUpdate", x(), &[0, 0], v(&[5, 6])).unwrap(), v(&[6, 2, 3]));
    assert_eq!(scatter("TensorScatterAdd", x(), &[2, 2], v(&[5, 6])).unwrap(), v(&[1, 2, 14]));
    assert_eq!(scatter("TensorScatterSub", x(), &[1], v(&[5])).unwrap(), v(&[1, -3, 3]));
    let nan = f32::NAN;
    let f = |op: &str| scatter(op, t([3], &[1.0, nan, 3.0]), &[0, 1, 2, 2], t([4], &[nan, 2.0, 1.0, 7.0])).unwrap();
    assert_eq!(f("TensorScatterMax"), t([3], &[1.0, nan, 7.0]));
    assert_eq!(f("TensorScatterMin"), t([3], &[1.0, nan, 1.0]));
    invalid(scatter("TensorScatterUpdate", x(), &[4], v(&[5])), "indices[0] = [4] does not index into shape [3]");
    invalid(
        scatter("TensorScatterAdd", x(), &[1], v(&[5, 6])),
        "Outer dimensions of indices and update must match. Indices shape: [1,1], updates shape:[2]",
    );
    fails(scatter("TensorScatterAdd", t([1], &[true]), &[0], t([1], &[true])), Code::NotFound, "No registered 'TensorScatterAdd' OpKernel");
}

#[test]
fn dynamic_partition_and_stitch() {
    let partition = |data: Tensor, partitions: Tensor, n: i64| {
        call("DynamicPartition", data.dtype()).attr("num_partitions", n).inputs(vec![data, partitions]).outputs(n as usize).run()
    };
    let out = partition(t([3, 2], &[1, 2, 3, 4, 5, 6]), v(&[1, 0, 1]), 3).unwrap();
    assert_eq!(out, [Some(t([1, 2], &[3, 4])), Some(t([2, 2], &[1, 2, 5, 6])), Some(t([0, 2], &[0i32; 0]))]);
    invalid(partition(v(&[1, 2]), v(&[1, 3]), 3), "partitions[1] = 3 is not in [0, 3)");
    invalid(
        partition(v(&[1, 2]), t([2, 1], &[1, 1]), 3),
        "data.shape must start with partitions.shape, got data.shape = [2], partitions.shape = [2,1]",
    );
    for op in ["DynamicStitch", "ParallelDynamicStitch"] {
        let stitch = |inputs: Vec<Tensor>| call(op, DType::I32).inputs(inputs).run1();
        let inputs = vec![s(3), v(&[0, 1]), t([1, 2], &[1, 2]), v(&[1, 2]), t([2, 2], &[3, 4, 5, 6]), t([1, 2, 2], &[7, 8, 9, 10])];
        assert_eq!(stitch(inputs).unwrap(), t([4, 2], &[3, 4, 7, 8, 9, 10, 1, 2]));
        assert_eq!(stitch(vec![v(&[]), t([0, 2], &[0i32; 0])]).unwrap().shape().to_vec(), [0, 2]);
        invalid(stitch(vec![v(&[-1]), v(&[1])]), "indices[0] is out of range");
        invalid(stitch(vec![v(&[0, 1]), v(&[1])]), "data[0].shape = [1] does not start with indices[0].shape = [2]");
        invalid(
            stitch(vec![v(&[0]), v(&[1]), v(&[1]), t([1, 1], &[2])]),
            "Need data[0].shape[1:] = data[1].shape[1:], got data[0].shape = [1], data[1].shape = [1,1]",
        );
    }
}
