"""Sparse and ragged tensors, against TensorFlow."""

import numpy as np
import pytest

from oracles import assert_same

NUMBERS = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "complex64", "complex128"]
REALS = [t for t in NUMBERS if "complex" not in t]
FLOATS = ["float16", "float32", "float64"]
TOLERANCE = {"rtol": 1e-3, "atol": 1e-5}


@pytest.fixture
def dice():
    return np.random.RandomState(7)


def same(tf1, op, **arguments):
    """Asserts that `raw_ops.op` gives here what it gives there; arrays, and lists of them, are fed. The class of error, or None."""
    feeds = {}

    def fed(m, name, value):
        feeds[f"{name}:0"] = value
        return m.placeholder(value.dtype if value.dtype != object else m.string, name=name)

    def build(m):
        feeds.clear()
        inputs = {}
        for name, value in arguments.items():
            if isinstance(value, np.ndarray | np.generic):
                inputs[name] = fed(m, name, np.asarray(value))
            elif isinstance(value, list) and value and isinstance(value[0], np.ndarray):
                inputs[name] = [fed(m, f"{name}{i}", v) for i, v in enumerate(value)]
            else:
                inputs[name] = value
        outputs = getattr(m.raw_ops, op)(**inputs)
        outputs = outputs if isinstance(outputs, list | tuple) else [outputs]
        return [t for part in outputs for t in (part if isinstance(part, list | tuple) else [part])]
    return assert_same(tf1, build, feeds, **TOLERANCE)


def random_sparse(dice, shape, count, dtype="float32"):
    """Sorted places, values and shape."""
    places = np.sort(dice.choice(int(np.prod(shape)), count, replace=False))
    indices = np.stack(np.unravel_index(places, shape), 1).astype(np.int64)
    return indices, numbers(dice, count, dtype), np.int64(shape)


def numbers(dice, shape, dtype):
    if "complex" in dtype:
        return (dice.uniform(-3, 3, shape) + 1j * dice.uniform(-3, 3, shape)).astype(dtype)
    return dice.uniform(0 if dtype[0] == "u" else -9, 9, shape).astype(dtype)


def strings(*values):
    return np.array(values, object)


I = np.int64([[0, 1], [1, 0], [1, 2]])
S = np.int64([2, 3])


@pytest.mark.parametrize("dtype", [*NUMBERS, "bool"])
def test_to_dense(tf1, dice, dtype):
    indices, values, shape = random_sparse(dice, [3, 4, 2], 9, dtype)
    assert same(tf1, "SparseToDense", sparse_indices=indices, output_shape=shape, sparse_values=values, default_value=values[0]) is None
    assert same(tf1, "SparseToDense", sparse_indices=np.int32([1, 3]), output_shape=np.int32([5]), sparse_values=values[0], default_value=values[1]) is None
    assert same(tf1, "SparseToDense", sparse_indices=np.int32(2), output_shape=np.int32([5]), sparse_values=values[0], default_value=values[1]) is None


@pytest.mark.parametrize("change", [
    {"sparse_indices": I[::-1]}, {"sparse_indices": I[[0, 0, 1]]}, {"sparse_indices": I + 1}, {"sparse_indices": I[:, :1]}, {"sparse_indices": I[None]},
    {"output_shape": np.int64([[2, 3]])}, {"output_shape": np.int64([-2, 3])}, {"sparse_values": np.float32([1, 2])}, {"default_value": np.float32([0])},
    {"sparse_indices": I[::-1], "validate_indices": False}, {"sparse_indices": I + 1, "validate_indices": False}, {"sparse_indices": I - 1},
])
def test_to_dense_is_checked(tf1, change):
    good = {"sparse_indices": I, "output_shape": S, "sparse_values": np.float32([1, 2, 3]), "default_value": np.float32(0)}
    same(tf1, "SparseToDense", **{**good, **change})


def test_texts_to_dense(tf1):
    assert same(tf1, "SparseToDense", sparse_indices=I, output_shape=S, sparse_values=strings("a", "b", "c"), default_value=np.array("-", object)) is None


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64", "object"])
def test_reorder(tf1, dice, dtype):
    indices, values, shape = random_sparse(dice, [4, 5], 12)
    values = strings(*map(str, values)) if dtype == "object" else values.astype(dtype)
    order = dice.permutation(12)
    for o in (order, np.arange(12), order[:0]):
        assert same(tf1, "SparseReorder", input_indices=indices[o], input_values=values[o], input_shape=shape) is None


@pytest.mark.parametrize("shape", [[6, 2], [12], [-1], [3, -1], [2, 2, 3], [4, 3], [5, 2], [-1, -1], [-2, 6], [5, -1], [0, -1], [[12]]])
def test_reshape(tf1, dice, shape):
    indices, _, old = random_sparse(dice, [4, 3], 6)
    same(tf1, "SparseReshape", input_indices=indices, input_shape=old, new_shape=np.int64(shape))
    same(tf1, "SparseReshape", input_indices=indices[:0], input_shape=np.int64([0, 3]), new_shape=np.int64(shape))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64", "complex128"])
@pytest.mark.parametrize("adjoint_a", [False, True])
@pytest.mark.parametrize("adjoint_b", [False, True])
def test_matmul(tf1, dice, dtype, adjoint_a, adjoint_b):
    indices, values, shape = random_sparse(dice, [3, 4], 7, dtype)
    order = dice.permutation(7)
    b = numbers(dice, [5, 3 if adjoint_a else 4] if adjoint_b else [3 if adjoint_a else 4, 5], dtype)
    for index in ("int32", "int64"):
        assert same(tf1, "SparseTensorDenseMatMul", a_indices=indices[order].astype(index), a_values=values, a_shape=shape, b=b,
                    adjoint_a=adjoint_a, adjoint_b=adjoint_b) is None
    for change in ({"a_indices": indices + 2}, {"a_shape": shape[:1]}, {"b": b[:, :2] if adjoint_b else b[:2]}, {"b": b[0]}, {"a_values": values[:3]}, {"a_indices": indices[:, :1]}):
        good = {"a_indices": indices, "a_values": values, "a_shape": shape, "b": b}
        assert same(tf1, "SparseTensorDenseMatMul", **{**good, **change}, adjoint_a=adjoint_a, adjoint_b=adjoint_b) is not None


def test_large_matmul(tf1, dice):
    indices, values, shape = random_sparse(dice, [300, 200], 5000)
    assert same(tf1, "SparseTensorDenseMatMul", a_indices=indices, a_values=values, a_shape=shape, b=numbers(dice, [200, 70], "float32")) is None


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_mostly_zero_matrices(tf1, dice, transpose_a, transpose_b):
    a, b = numbers(dice, [4, 3] if transpose_a else [3, 4], "float32"), numbers(dice, [5, 4] if transpose_b else [4, 5], "float32")
    for types in ("float32 float32", "bfloat16 float32", "float32 bfloat16", "bfloat16 bfloat16"):
        def build(m):
            x, y = (m.cast(v, t) for v, t in zip((a, b), types.split()))
            return [m.raw_ops.SparseMatMul(a=x, b=y, transpose_a=transpose_a, transpose_b=transpose_b, a_is_sparse=True)]
        assert assert_same(tf1, build, **TOLERANCE) is None


@pytest.mark.parametrize("dtype", ["float32", "int64", "object", "bool"])
def test_empty_rows(tf1, dice, dtype):
    indices, values, shape = random_sparse(dice, [9, 3], 6)
    values = strings(*map(str, values)) if dtype == "object" else values.astype(dtype)
    default = np.array("-", object) if dtype == "object" else values[0]
    for order in (np.arange(6), dice.permutation(6), [], [0]):
        arguments = {"indices": indices[order], "values": values[order], "dense_shape": shape, "default_value": default}
        order = np.asarray(order, int)
        arguments.update(indices=indices[order], values=values[order])
        assert same(tf1, "SparseFillEmptyRows", **arguments) is None
    full = np.int64([[0, 1], [1, 0], [2, 2]])
    assert same(tf1, "SparseFillEmptyRows", indices=full, values=values[:3], dense_shape=np.int64([3, 3]), default_value=default) is None
    assert same(tf1, "SparseFillEmptyRows", indices=full[:0], values=values[:0], dense_shape=np.int64([0, 3]), default_value=default) is None
    for change in ({"dense_shape": np.int64([0, 3])}, {"dense_shape": np.int64([2, 3])}, {"indices": full - 1}, {"values": values[:2]}, {"default_value": values[:1]}):
        good = {"indices": full, "values": values[:3], "dense_shape": np.int64([3, 3]), "default_value": default}
        assert same(tf1, "SparseFillEmptyRows", **{**good, **change}) is not None


@pytest.mark.parametrize("dtype", NUMBERS)
def test_gradient_of_empty_rows(tf1, dice, dtype):
    gradient = numbers(dice, 6, dtype)
    for index in ([0, 2, 5], [], [3, 3], [6], [-1]):
        same(tf1, "SparseFillEmptyRowsGrad", reverse_index_map=np.int64(index), grad_values=gradient)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("kind", ["Sum", "Mean", "SqrtN"])
def test_segments(tf1, dice, dtype, kind):
    if kind != "Sum" and dtype not in FLOATS:
        pytest.skip("no such kernel")
    data = numbers(dice, [6, 4, 2], dtype)
    indices, ids = np.int32([5, 0, 0, 3, 2]), np.int32([0, 0, 2, 2, 4])
    for index, segment in (("int32", "int32"), ("int64", "int32"), ("int32", "int64")):
        arguments = {"data": data, "indices": indices.astype(index), "segment_ids": ids.astype(segment)}
        assert same(tf1, f"SparseSegment{kind}", **arguments) is None
        assert same(tf1, f"SparseSegment{kind}WithNumSegments", **arguments, num_segments=np.int32(7)) is None
        assert same(tf1, f"SparseSegment{kind}WithNumSegments", **arguments, num_segments=np.int32(4)) is not None
    assert same(tf1, f"SparseSegment{kind}", data=data, indices=indices[:0], segment_ids=ids[:0]) is None
    for i, s in ((indices + 1, ids), (indices - 1, ids), (indices, ids[::-1]), (indices, ids - 1), (indices[:2], ids), (indices[None], ids)):
        assert same(tf1, f"SparseSegment{kind}", data=data, indices=i, segment_ids=s) is not None


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", ["Sum", "Mean", "SqrtN"])
def test_gradients_of_segments(tf1, dice, dtype, kind):
    gradient = numbers(dice, [5, 3], dtype)
    indices, ids = np.int32([5, 0, 0, 3, 2]), np.int32([0, 0, 2, 2, 4])
    for i, s, rows in ((indices, ids, 7), (indices, ids, 5), (indices, ids + 1, 7), (indices - 1, ids, 7), (indices[:2], ids, 7)):  # without indices TensorFlow's result is not set
        same(tf1, f"SparseSegment{kind}Grad", grad=gradient, indices=i, segment_ids=s, output_dim0=np.int32(rows))


@pytest.mark.parametrize("axis", [0, 1, -1, 2, -3])
@pytest.mark.parametrize("dtype", ["float32", "object"])
def test_concat(tf1, dice, axis, dtype):
    shapes = [[3, 4], [3, 4], [3, 4]]
    for i, size in enumerate((2, 5)):
        shapes[i][axis % 2 if axis < 2 else 0] = size
    parts = [random_sparse(dice, shape, 5) for shape in shapes]
    values = [strings(*map(str, p[1])) if dtype == "object" else p[1] for p in parts]
    same(tf1, "SparseConcat", indices=[p[0] for p in parts], values=values, shapes=[p[2] for p in parts], concat_dim=axis)
    assert same(tf1, "SparseConcat", indices=[p[0][::-1] for p in parts], values=values, shapes=[p[2] + i for i, p in enumerate(parts)], concat_dim=axis) is not None


@pytest.mark.parametrize("start, size", [([0, 0], [2, 2]), ([1, 2], [9, 9]), ([3, 0], [1, 5]), ([5, 0], [2, 2]), ([0, 0], [0, 5]), ([0], [2]), ([[0, 0]], [2, 2])])
def test_slice(tf1, dice, start, size):
    indices, values, shape = random_sparse(dice, [4, 5], 11)
    same(tf1, "SparseSlice", indices=indices, values=values, shape=shape, start=np.int64(start), size=np.int64(size))


def test_gradient_of_slice(tf1, dice):
    indices, values, _ = random_sparse(dice, [4, 5], 11)
    start = np.int64([1, 2])
    kept = indices[(indices >= start).all(1)] - start
    assert same(tf1, "SparseSliceGrad", backprop_val_grad=values[: len(kept)], input_indices=indices, input_start=start, output_indices=kept) is None
    assert same(tf1, "SparseSliceGrad", backprop_val_grad=values[: len(kept)], input_indices=indices, input_start=start + 1, output_indices=kept) is not None


@pytest.mark.parametrize("axis, pieces", [(0, 2), (1, 2), (1, 5), (0, 3), (-1, 2), (2, 2), (0, 5)])
def test_split(tf1, dice, axis, pieces):
    indices, values, shape = random_sparse(dice, [4, 5], 11)
    same(tf1, "SparseSplit", split_dim=np.int64(axis), indices=indices, values=values, shape=shape, num_split=pieces)


@pytest.mark.parametrize("kind, dtype", [*(("Sum", t) for t in NUMBERS), *(("Max", t) for t in REALS)])
@pytest.mark.parametrize("keep_dims", [False, True])
def test_reductions(tf1, dice, kind, dtype, keep_dims):
    indices, values, shape = random_sparse(dice, [3, 4, 2], 9, dtype)
    for axes in (0, [1], [-1], [0, 2], [2, 0], [0, 1, 2], [], [3]):
        for sparse in ("", "Sparse"):
            same(tf1, f"SparseReduce{kind}{sparse}", input_indices=indices, input_values=values, input_shape=shape, reduction_axes=np.int32(axes), keep_dims=keep_dims)


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax(tf1, dice, dtype):
    indices, values, shape = random_sparse(dice, [3, 4, 5], 20, dtype)
    assert same(tf1, "SparseSoftmax", sp_indices=indices, sp_values=values, sp_shape=shape) is None
    assert same(tf1, "SparseSoftmax", sp_indices=indices[:, :1], sp_values=values, sp_shape=shape[:1]) is not None


@pytest.mark.parametrize("dtype", NUMBERS)
def test_with_dense(tf1, dice, dtype):
    indices, values, shape = random_sparse(dice, [3, 4, 2], 9, dtype)
    for dense in ([3, 4, 2], [4, 2], [2], [], [1, 2], [3, 1, 2], [4, 4, 2], [1, 3, 4, 2]):
        for op in ("Add", "Mul", "Div") if "complex" not in dtype else ():
            dense_values = np.abs(numbers(dice, dense, dtype)) if "complex" not in dtype else numbers(dice, dense, dtype)
            same(tf1, f"SparseDenseCwise{op}", sp_indices=indices, sp_values=values, sp_shape=shape, dense=(dense_values + 1).astype(dtype))
        for index in ("int32", "int64"):
            same(tf1, "SparseTensorDenseAdd", a_indices=indices.astype(index), a_values=values, a_shape=shape.astype(index), b=numbers(dice, dense, dtype))
    assert same(tf1, "SparseTensorDenseAdd", a_indices=indices + 2, a_values=values, a_shape=shape, b=numbers(dice, [3, 4, 2], dtype)) is not None


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16", "int32", "int64", "complex64", "complex128"])
def test_sums(tf1, dice, dtype):
    a, b = random_sparse(dice, [4, 5], 9, dtype), random_sparse(dice, [4, 5], 7, dtype)
    real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    for threshold in (0, 3):
        assert same(tf1, "SparseAdd", a_indices=a[0], a_values=a[1], a_shape=a[2], b_indices=b[0], b_values=b[1], b_shape=b[2],
                    thresh=np.array(threshold, real)) is None
    union = np.unique(np.concatenate([a[0], b[0]]), axis=0)
    for kept in (union, union[::2]):
        assert same(tf1, "SparseAddGrad", backprop_val_grad=numbers(dice, len(kept), dtype), a_indices=a[0], b_indices=b[0], sum_indices=kept) is None
    if "complex" not in dtype:
        for op in ("SparseSparseMaximum", "SparseSparseMinimum"):
            assert same(tf1, op, a_indices=a[0], a_values=a[1], a_shape=a[2], b_indices=b[0], b_values=b[1], b_shape=b[2]) is None
            assert same(tf1, op, a_indices=a[0], a_values=a[1], a_shape=a[2], b_indices=b[0], b_values=b[1], b_shape=b[2] + 1) is not None


C1 = (np.int64([[0, 0], [0, 1], [2, 0]]), np.int64([3, 2]))
C2 = (np.int64([[0, 0], [1, 0], [2, 0], [2, 1]]), np.int64([3, 2]))


@pytest.mark.parametrize("numbers_too", [False, True])
def test_crosses(tf1, numbers_too):
    first = strings("a", "b", "c")
    second = np.int64([5, -6, 1 << 40, 8]) if numbers_too else strings("w", "x", "y", "z")
    dense = np.array([[1, 2], [3, 4], [5, 6]], np.int64) if numbers_too else np.array([["p"], ["q"], ["r"]], object)
    arguments = {"indices": [C1[0], C2[0]], "values": [first, second], "shapes": [C1[1], C2[1]], "dense_inputs": [dense]}
    for strong in (False, True) if not numbers_too else (False,):
        # TensorFlow crashes where numbers of a dense input are hashed strongly.
        assert same(tf1, "SparseCrossHashed", **arguments, num_buckets=np.int64(100), strong_hash=np.bool_(strong), salt=np.int64([3, 1137])) is None
    for buckets in (0, 100):
        assert same(tf1, "SparseCross", **arguments, hashed_output=True, num_buckets=buckets, hash_key=956888297470, out_type="int64", internal_type="int64") is None
    same(tf1, "SparseCross", **arguments, hashed_output=False, num_buckets=0, hash_key=1, out_type="string", internal_type="string")
    assert same(tf1, "SparseCrossV2", **arguments, sep=np.array("_Y_", object)) is None


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_ranges(tf1, dtype):
    for starts, limits, deltas in (([0, 5, 8], [8, 0, 8], [2, -2, 3]), (3, [9, 2], 1), (0, 5, 2), ([0], [4], [0]), ([0, 1], [3], 1), ([[0]], [3], 1), ([], [], 1)):
        for splits in ("int32", "int64"):
            same(tf1, "RaggedRange", starts=np.array(starts, dtype), limits=np.array(limits, dtype), deltas=np.array(deltas, dtype), Tsplits=splits)


@pytest.mark.parametrize("dtype", ["float32", "object"])
def test_gathering_ragged_rows(tf1, dice, dtype):
    outer, inner, values = np.int64([0, 2, 2, 5]), np.int64([0, 1, 4, 4, 6, 9]), numbers(dice, [9, 2], "float32")
    values = values.astype(str).astype(object) if dtype == "object" else values
    for indices in ([0, 2, 1, 2], [], 2, [[0, 2], [1, 1]], [3], [-1]):
        indices = np.int32(indices)
        same(tf1, "RaggedGather", params_nested_splits=[outer, inner], params_dense_values=values, indices=indices, OUTPUT_RAGGED_RANK=2 + indices.ndim - 1)
        same(tf1, "RaggedGather", params_nested_splits=[inner], params_dense_values=values, indices=indices, OUTPUT_RAGGED_RANK=1 + indices.ndim - 1)
    for bad in ([0, 5, 2], [0, 2, 99], [-1, 2, 3]):
        assert same(tf1, "RaggedGather", params_nested_splits=[np.int64(bad)], params_dense_values=values, indices=np.int32([0]), OUTPUT_RAGGED_RANK=1) is not None


def test_ragged_to_sparse(tf1, dice):
    outer, inner, values = np.int64([0, 2, 2, 5]), np.int64([0, 1, 4, 4, 6, 9]), numbers(dice, [9, 2], "float32")
    for splits, v in (([outer, inner], values), ([inner], values[:, 0]), ([inner.astype(np.int32)], values[:, :, None]), ([np.int64([0])], values[:0])):
        assert same(tf1, "RaggedTensorToSparse", rt_nested_splits=splits, rt_dense_values=v) is None
    for bad in ([1, 9], [0, 8], [0, 5, 3, 9], []):
        assert same(tf1, "RaggedTensorToSparse", rt_nested_splits=[np.int64(bad)], rt_dense_values=values) is not None


@pytest.mark.parametrize("dtype", ["float32", "int64", "object"])
def test_ragged_to_dense(tf1, dice, dtype):
    outer, inner, values = np.int64([0, 2, 2, 5]), np.int64([0, 1, 4, 4, 6, 9]), numbers(dice, [9, 2], "float32")
    values = values.astype(str).astype(object) if dtype == "object" else values.astype(dtype)
    default = values[0, 0]
    default = np.array(default, object) if dtype == "object" else default
    for shape in (-1, [-1, -1, -1], [5, 3, -1], [2, 2, 2], [0, 1, -1], [-1, -1, 3], [-2, 1, 2], [3, 4]):
        arguments = {"shape": np.int64(shape), "values": values, "default_value": default}
        same(tf1, "RaggedTensorToTensor", **arguments, row_partition_tensors=[inner], row_partition_types=["ROW_SPLITS"])
        ids = np.int64([0, 1, 1, 1, 3, 3, 4, 4, 4])
        same(tf1, "RaggedTensorToTensor", **arguments, row_partition_tensors=[np.int64(5), ids], row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"])
        same(tf1, "RaggedTensorToTensor", **arguments, row_partition_tensors=[np.int64(2), ids], row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"])
    for shape in ([-1, -1, -1, -1], [2, 3, 4, 2], [4, 1, 1, 2]):
        arguments = {"shape": np.int64(shape), "values": values, "default_value": values[1]}
        assert same(tf1, "RaggedTensorToTensor", **arguments, row_partition_tensors=[outer, inner], row_partition_types=["ROW_SPLITS", "ROW_SPLITS"]) is None
    for bad in ([0, 5, 2], [0, 3], [1, 9], []):
        same(tf1, "RaggedTensorToTensor", shape=np.int64(-1), values=values, default_value=default, row_partition_tensors=[np.int64(bad)], row_partition_types=["ROW_SPLITS"])


@pytest.mark.parametrize("dtype", ["float32", "object"])
def test_ragged_variants(tf1, dice, dtype):
    outer, inner, values = np.int64([0, 2, 2, 5]), np.int64([0, 1, 4, 4, 6, 9]), numbers(dice, [9, 2], "float32")
    values = values.astype(str).astype(object) if dtype == "object" else values

    for batched, rank, rows in ((False, 2, []), (True, 1, []), (True, 1, [2]), (True, 1, [1]), (True, 2, []), (False, 1, [])):
        def build(m):
            encoded = m.raw_ops.RaggedTensorToVariant(rt_nested_splits=[outer, inner], rt_dense_values=values, batched_input=batched)
            encoded = m.gather(encoded, rows) if rows else encoded
            splits, decoded = m.raw_ops.RaggedTensorFromVariant(
                encoded_ragged=encoded, input_ragged_rank=rank, output_ragged_rank=rank + batched, Tvalues=m.as_dtype(values.dtype) if dtype != "object" else m.string)
            return [*splits, decoded]
        assert_same(tf1, build)


def test_flat_values_in_variants(tf1, dice):
    values = numbers(dice, [4, 3], "float32")

    def build(m):
        encoded = m.raw_ops.RaggedTensorToVariant(rt_nested_splits=[], rt_dense_values=values, batched_input=True)
        splits, decoded = m.raw_ops.RaggedTensorFromVariant(encoded_ragged=encoded, input_ragged_rank=0, output_ragged_rank=1, Tvalues=m.float32)
        return [*splits, decoded]
    assert assert_same(tf1, build) is None
