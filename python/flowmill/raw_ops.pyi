# Made by python/make_stubs from the code.

import typing
from collections.abc import Sequence

from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.dtypes import DType

# A tensor, or what `flowmill.convert_to_tensor` takes.
_Input = typing.Any
# What `flowmill.as_dtype` takes.
_Type = DType | str | int | type[typing.Any]
_Shape = TensorShape | Sequence[int | None] | int | None

def Abort(*, error_msg: str | bytes | None = None, exit_without_error: bool | None = None, name: str | None = None) -> Operation: ...
def Abs(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def AccumulateNV2(*, inputs: Sequence[_Input], shape: _Shape, N: int | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def AccumulatorApplyGradient(
    *,
    handle: _Input,
    local_step: _Input,
    gradient: _Input,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def AccumulatorNumAccumulated(*, handle: _Input, name: str | None = None) -> Tensor: ...
def AccumulatorSetGlobalStep(*, handle: _Input, new_global_step: _Input, name: str | None = None) -> Operation: ...
def AccumulatorTakeGradient(*, handle: _Input, num_required: _Input, dtype: _Type, name: str | None = None) -> Tensor: ...
def Acos(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Acosh(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Add(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def AddManySparseToTensorsMap(
    *,
    sparse_indices: _Input,
    sparse_values: _Input,
    sparse_shape: _Input,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def AddN(*, inputs: Sequence[_Input], N: int | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def AddSparseToTensorsMap(
    *,
    sparse_indices: _Input,
    sparse_values: _Input,
    sparse_shape: _Input,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def AddV2(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def AdjustContrast(
    *,
    images: _Input,
    contrast_factor: _Input,
    min_value: _Input,
    max_value: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def AdjustContrastv2(*, images: _Input, contrast_factor: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def AdjustHue(*, images: _Input, delta: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def AdjustSaturation(*, images: _Input, scale: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def All(*, input: _Input, axis: _Input, keep_dims: bool | None = None, Tidx: _Type | None = None, name: str | None = None) -> Tensor: ...
class _AllCandidateSampler(typing.NamedTuple):
    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor

def AllCandidateSampler(
    *,
    true_classes: _Input,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    seed2: int | None = None,
    name: str | None = None,
) -> _AllCandidateSampler: ...
def Angle(*, input: _Input, Tout: _Type | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def AnonymousHashTable(*, key_dtype: _Type, value_dtype: _Type, name: str | None = None) -> Tensor: ...
def AnonymousIterator(*, output_types: Sequence[_Type], output_shapes: Sequence[_Shape], name: str | None = None) -> Tensor: ...
class _AnonymousIteratorV2(typing.NamedTuple):
    handle: Tensor
    deleter: Tensor

def AnonymousIteratorV2(*, output_types: Sequence[_Type], output_shapes: Sequence[_Shape], name: str | None = None) -> _AnonymousIteratorV2: ...
def AnonymousIteratorV3(*, output_types: Sequence[_Type], output_shapes: Sequence[_Shape], name: str | None = None) -> Tensor: ...
class _AnonymousMemoryCache(typing.NamedTuple):
    handle: Tensor
    deleter: Tensor

def AnonymousMemoryCache(*, name: str | None = None) -> _AnonymousMemoryCache: ...
class _AnonymousMultiDeviceIterator(typing.NamedTuple):
    handle: Tensor
    deleter: Tensor

def AnonymousMultiDeviceIterator(
    *,
    devices: Sequence[str | bytes],
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> _AnonymousMultiDeviceIterator: ...
def AnonymousMultiDeviceIteratorV3(
    *,
    devices: Sequence[str | bytes],
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def AnonymousMutableDenseHashTable(
    *,
    empty_key: _Input,
    deleted_key: _Input,
    value_dtype: _Type,
    value_shape: _Shape | None = None,
    initial_num_buckets: int | None = None,
    max_load_factor: float | None = None,
    key_dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def AnonymousMutableHashTable(*, key_dtype: _Type, value_dtype: _Type, name: str | None = None) -> Tensor: ...
def AnonymousMutableHashTableOfTensors(
    *,
    key_dtype: _Type,
    value_dtype: _Type,
    value_shape: _Shape | None = None,
    name: str | None = None,
) -> Tensor: ...
class _AnonymousRandomSeedGenerator(typing.NamedTuple):
    handle: Tensor
    deleter: Tensor

def AnonymousRandomSeedGenerator(*, seed: _Input, seed2: _Input, name: str | None = None) -> _AnonymousRandomSeedGenerator: ...
class _AnonymousSeedGenerator(typing.NamedTuple):
    handle: Tensor
    deleter: Tensor

def AnonymousSeedGenerator(*, seed: _Input, seed2: _Input, reshuffle: _Input, name: str | None = None) -> _AnonymousSeedGenerator: ...
def Any(*, input: _Input, axis: _Input, keep_dims: bool | None = None, Tidx: _Type | None = None, name: str | None = None) -> Tensor: ...
def ApplyAdaMax(
    *,
    var: _Input,
    m: _Input,
    v: _Input,
    beta1_power: _Input,
    lr: _Input,
    beta1: _Input,
    beta2: _Input,
    epsilon: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ApplyAdadelta(
    *,
    var: _Input,
    accum: _Input,
    accum_update: _Input,
    lr: _Input,
    rho: _Input,
    epsilon: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ApplyAdagrad(
    *,
    var: _Input,
    accum: _Input,
    lr: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    update_slots: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ApplyAdagradDA(
    *,
    var: _Input,
    gradient_accumulator: _Input,
    gradient_squared_accumulator: _Input,
    grad: _Input,
    lr: _Input,
    l1: _Input,
    l2: _Input,
    global_step: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ApplyAdagradV2(
    *,
    var: _Input,
    accum: _Input,
    lr: _Input,
    epsilon: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    update_slots: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ApplyAdam(
    *,
    var: _Input,
    m: _Input,
    v: _Input,
    beta1_power: _Input,
    beta2_power: _Input,
    lr: _Input,
    beta1: _Input,
    beta2: _Input,
    epsilon: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    use_nesterov: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ApplyAddSign(
    *,
    var: _Input,
    m: _Input,
    lr: _Input,
    alpha: _Input,
    sign_decay: _Input,
    beta: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ApplyCenteredRMSProp(
    *,
    var: _Input,
    mg: _Input,
    ms: _Input,
    mom: _Input,
    lr: _Input,
    rho: _Input,
    momentum: _Input,
    epsilon: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ApplyFtrl(
    *,
    var: _Input,
    accum: _Input,
    linear: _Input,
    grad: _Input,
    lr: _Input,
    l1: _Input,
    l2: _Input,
    lr_power: _Input,
    use_locking: bool | None = None,
    multiply_linear_by_lr: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ApplyFtrlV2(
    *,
    var: _Input,
    accum: _Input,
    linear: _Input,
    grad: _Input,
    lr: _Input,
    l1: _Input,
    l2: _Input,
    l2_shrinkage: _Input,
    lr_power: _Input,
    use_locking: bool | None = None,
    multiply_linear_by_lr: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ApplyGradientDescent(
    *,
    var: _Input,
    alpha: _Input,
    delta: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ApplyMomentum(
    *,
    var: _Input,
    accum: _Input,
    lr: _Input,
    grad: _Input,
    momentum: _Input,
    use_locking: bool | None = None,
    use_nesterov: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ApplyPowerSign(
    *,
    var: _Input,
    m: _Input,
    lr: _Input,
    logbase: _Input,
    sign_decay: _Input,
    beta: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ApplyProximalAdagrad(
    *,
    var: _Input,
    accum: _Input,
    lr: _Input,
    l1: _Input,
    l2: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ApplyProximalGradientDescent(
    *,
    var: _Input,
    alpha: _Input,
    l1: _Input,
    l2: _Input,
    delta: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ApplyRMSProp(
    *,
    var: _Input,
    ms: _Input,
    mom: _Input,
    lr: _Input,
    rho: _Input,
    momentum: _Input,
    epsilon: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _ApproxTopK(typing.NamedTuple):
    values: Tensor
    indices: Tensor

def ApproxTopK(
    *,
    input: _Input,
    k: int,
    reduction_dimension: int | None = None,
    recall_target: float | None = None,
    is_max_k: bool | None = None,
    reduction_input_size_override: int | None = None,
    aggregate_to_topk: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _ApproxTopK: ...
def ApproximateEqual(*, x: _Input, y: _Input, tolerance: float | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ArgMax(
    *,
    input: _Input,
    dimension: _Input,
    output_type: _Type | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ArgMin(
    *,
    input: _Input,
    dimension: _Input,
    output_type: _Type | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def AsString(
    *,
    input: _Input,
    precision: int | None = None,
    scientific: bool | None = None,
    shortest: bool | None = None,
    width: int | None = None,
    fill: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Asin(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Asinh(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Assert(
    *,
    condition: _Input,
    data: Sequence[_Input],
    summarize: int | None = None,
    T: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Operation: ...
def AssertCardinalityDataset(
    *,
    input_dataset: _Input,
    cardinality: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def AssertNextDataset(
    *,
    input_dataset: _Input,
    transformations: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def AssertPrevDataset(
    *,
    input_dataset: _Input,
    transformations: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def Assign(
    *,
    ref: _Input,
    value: _Input,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def AssignAdd(*, ref: _Input, value: _Input, use_locking: bool | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def AssignAddVariableOp(*, resource: _Input, value: _Input, dtype: _Type | None = None, name: str | None = None) -> Operation: ...
def AssignSub(*, ref: _Input, value: _Input, use_locking: bool | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def AssignSubVariableOp(*, resource: _Input, value: _Input, dtype: _Type | None = None, name: str | None = None) -> Operation: ...
def AssignVariableOp(
    *,
    resource: _Input,
    value: _Input,
    validate_shape: bool | None = None,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def Atan(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Atan2(*, y: _Input, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Atanh(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def AudioSpectrogram(*, input: _Input, window_size: int, stride: int, magnitude_squared: bool | None = None, name: str | None = None) -> Tensor: ...
def AudioSummary(*, tag: _Input, tensor: _Input, sample_rate: float, max_outputs: int | None = None, name: str | None = None) -> Tensor: ...
def AudioSummaryV2(*, tag: _Input, tensor: _Input, sample_rate: _Input, max_outputs: int | None = None, name: str | None = None) -> Tensor: ...
def AutoShardDataset(
    *,
    input_dataset: _Input,
    num_workers: _Input,
    index: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    auto_shard_policy: int | None = None,
    num_replicas: int | None = None,
    name: str | None = None,
) -> Tensor: ...
def AvgPool(
    *,
    value: _Input,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def AvgPool3D(
    *,
    input: _Input,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def AvgPool3DGrad(
    *,
    orig_input_shape: _Input,
    grad: _Input,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def AvgPoolGrad(
    *,
    orig_input_shape: _Input,
    grad: _Input,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def BandedTriangularSolve(
    *,
    matrix: _Input,
    rhs: _Input,
    lower: bool | None = None,
    adjoint: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Barrier(
    *,
    component_types: Sequence[_Type],
    shapes: Sequence[_Shape] | None = None,
    capacity: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def BarrierClose(*, handle: _Input, cancel_pending_enqueues: bool | None = None, name: str | None = None) -> Operation: ...
def BarrierIncompleteSize(*, handle: _Input, name: str | None = None) -> Tensor: ...
def BarrierInsertMany(
    *,
    handle: _Input,
    keys: _Input,
    values: _Input,
    component_index: int,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def BarrierReadySize(*, handle: _Input, name: str | None = None) -> Tensor: ...
class _BarrierTakeMany(typing.NamedTuple):
    indices: Tensor
    keys: Tensor
    values: list[Tensor]

def BarrierTakeMany(
    *,
    handle: _Input,
    num_elements: _Input,
    component_types: Sequence[_Type],
    allow_small_batch: bool | None = None,
    wait_for_incomplete: bool | None = None,
    timeout_ms: int | None = None,
    name: str | None = None,
) -> _BarrierTakeMany: ...
class _Batch(typing.NamedTuple):
    batched_tensors: list[Tensor]
    batch_index: Tensor
    id: Tensor

def Batch(
    *,
    in_tensors: Sequence[_Input],
    num_batch_threads: int,
    max_batch_size: int,
    batch_timeout_micros: int,
    grad_timeout_micros: int,
    max_enqueued_batches: int | None = None,
    allowed_batch_sizes: Sequence[int] | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    batching_queue: str | bytes | None = None,
    T: Sequence[_Type] | None = None,
    name: str | None = None,
) -> _Batch: ...
def BatchCholesky(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BatchCholeskyGrad(*, l: _Input, grad: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BatchDataset(
    *,
    input_dataset: _Input,
    batch_size: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def BatchDatasetV2(
    *,
    input_dataset: _Input,
    batch_size: _Input,
    drop_remainder: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    parallel_copy: bool | None = None,
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def BatchFFT(*, input: _Input, name: str | None = None) -> Tensor: ...
def BatchFFT2D(*, input: _Input, name: str | None = None) -> Tensor: ...
def BatchFFT3D(*, input: _Input, name: str | None = None) -> Tensor: ...
def BatchFunction(
    *,
    in_tensors: Sequence[_Input],
    captured_tensors: Sequence[_Input],
    f: typing.Any,
    num_batch_threads: int,
    max_batch_size: int,
    batch_timeout_micros: int,
    Tout: Sequence[_Type],
    max_enqueued_batches: int | None = None,
    allowed_batch_sizes: Sequence[int] | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    batching_queue: str | bytes | None = None,
    low_priority_max_batch_size: int | None = None,
    low_priority_batch_timeout_micros: int | None = None,
    low_priority_allowed_batch_sizes: Sequence[int] | None = None,
    low_priority_max_enqueued_batches: int | None = None,
    mixed_priority_policy: str | bytes | None = None,
    batch_padding_policy: str | bytes | None = None,
    enable_large_batch_splitting: bool | None = None,
    Tcaptured: Sequence[_Type] | None = None,
    Tin: Sequence[_Type] | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def BatchIFFT(*, input: _Input, name: str | None = None) -> Tensor: ...
def BatchIFFT2D(*, input: _Input, name: str | None = None) -> Tensor: ...
def BatchIFFT3D(*, input: _Input, name: str | None = None) -> Tensor: ...
def BatchMatMul(
    *,
    x: _Input,
    y: _Input,
    adj_x: bool | None = None,
    adj_y: bool | None = None,
    grad_x: bool | None = None,
    grad_y: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def BatchMatMulV2(
    *,
    x: _Input,
    y: _Input,
    adj_x: bool | None = None,
    adj_y: bool | None = None,
    grad_x: bool | None = None,
    grad_y: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def BatchMatMulV3(
    *,
    x: _Input,
    y: _Input,
    Tout: _Type,
    adj_x: bool | None = None,
    adj_y: bool | None = None,
    grad_x: bool | None = None,
    grad_y: bool | None = None,
    Ta: _Type | None = None,
    Tb: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def BatchMatrixBandPart(*, input: _Input, num_lower: _Input, num_upper: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BatchMatrixDeterminant(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BatchMatrixDiag(*, diagonal: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BatchMatrixDiagPart(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BatchMatrixInverse(*, input: _Input, adjoint: bool | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BatchMatrixSetDiag(*, input: _Input, diagonal: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BatchMatrixSolve(*, matrix: _Input, rhs: _Input, adjoint: bool | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BatchMatrixSolveLs(
    *,
    matrix: _Input,
    rhs: _Input,
    l2_regularizer: _Input,
    fast: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def BatchMatrixTriangularSolve(
    *,
    matrix: _Input,
    rhs: _Input,
    lower: bool | None = None,
    adjoint: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def BatchNormWithGlobalNormalization(
    *,
    t: _Input,
    m: _Input,
    v: _Input,
    beta: _Input,
    gamma: _Input,
    variance_epsilon: float,
    scale_after_normalization: bool,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _BatchNormWithGlobalNormalizationGrad(typing.NamedTuple):
    dx: Tensor
    dm: Tensor
    dv: Tensor
    db: Tensor
    dg: Tensor

def BatchNormWithGlobalNormalizationGrad(
    *,
    t: _Input,
    m: _Input,
    v: _Input,
    gamma: _Input,
    backprop: _Input,
    variance_epsilon: float,
    scale_after_normalization: bool,
    T: _Type | None = None,
    name: str | None = None,
) -> _BatchNormWithGlobalNormalizationGrad: ...
def BatchSelfAdjointEig(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
class _BatchSelfAdjointEigV2(typing.NamedTuple):
    e: Tensor
    v: Tensor

def BatchSelfAdjointEigV2(
    *,
    input: _Input,
    compute_v: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _BatchSelfAdjointEigV2: ...
class _BatchSvd(typing.NamedTuple):
    s: Tensor
    u: Tensor
    v: Tensor

def BatchSvd(
    *,
    input: _Input,
    compute_uv: bool | None = None,
    full_matrices: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _BatchSvd: ...
def BatchToSpace(
    *,
    input: _Input,
    crops: _Input,
    block_size: int,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def BatchToSpaceND(
    *,
    input: _Input,
    block_shape: _Input,
    crops: _Input,
    T: _Type | None = None,
    Tblock_shape: _Type | None = None,
    Tcrops: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def BesselI0(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BesselI0e(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BesselI1(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BesselI1e(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BesselJ0(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BesselJ1(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BesselK0(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BesselK0e(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BesselK1(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BesselK1e(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BesselY0(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BesselY1(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Betainc(*, a: _Input, b: _Input, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BiasAdd(*, value: _Input, bias: _Input, data_format: str | bytes | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BiasAddGrad(*, out_backprop: _Input, data_format: str | bytes | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BiasAddV1(*, value: _Input, bias: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Bincount(*, arr: _Input, size: _Input, weights: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Bitcast(*, input: _Input, type: _Type, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BitwiseAnd(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BitwiseOr(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BitwiseXor(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
class _BlockLSTM(typing.NamedTuple):
    i: Tensor
    cs: Tensor
    f: Tensor
    o: Tensor
    ci: Tensor
    co: Tensor
    h: Tensor

def BlockLSTM(
    *,
    seq_len_max: _Input,
    x: _Input,
    cs_prev: _Input,
    h_prev: _Input,
    w: _Input,
    wci: _Input,
    wcf: _Input,
    wco: _Input,
    b: _Input,
    forget_bias: float | None = None,
    cell_clip: float | None = None,
    use_peephole: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _BlockLSTM: ...
class _BlockLSTMGrad(typing.NamedTuple):
    x_grad: Tensor
    cs_prev_grad: Tensor
    h_prev_grad: Tensor
    w_grad: Tensor
    wci_grad: Tensor
    wcf_grad: Tensor
    wco_grad: Tensor
    b_grad: Tensor

def BlockLSTMGrad(
    *,
    seq_len_max: _Input,
    x: _Input,
    cs_prev: _Input,
    h_prev: _Input,
    w: _Input,
    wci: _Input,
    wcf: _Input,
    wco: _Input,
    b: _Input,
    i: _Input,
    cs: _Input,
    f: _Input,
    o: _Input,
    ci: _Input,
    co: _Input,
    h: _Input,
    cs_grad: _Input,
    h_grad: _Input,
    use_peephole: bool,
    T: _Type | None = None,
    name: str | None = None,
) -> _BlockLSTMGrad: ...
class _BlockLSTMGradV2(typing.NamedTuple):
    x_grad: Tensor
    cs_prev_grad: Tensor
    h_prev_grad: Tensor
    w_grad: Tensor
    wci_grad: Tensor
    wcf_grad: Tensor
    wco_grad: Tensor
    b_grad: Tensor

def BlockLSTMGradV2(
    *,
    seq_len_max: _Input,
    x: _Input,
    cs_prev: _Input,
    h_prev: _Input,
    w: _Input,
    wci: _Input,
    wcf: _Input,
    wco: _Input,
    b: _Input,
    i: _Input,
    cs: _Input,
    f: _Input,
    o: _Input,
    ci: _Input,
    co: _Input,
    h: _Input,
    cs_grad: _Input,
    h_grad: _Input,
    use_peephole: bool,
    T: _Type | None = None,
    name: str | None = None,
) -> _BlockLSTMGradV2: ...
class _BlockLSTMV2(typing.NamedTuple):
    i: Tensor
    cs: Tensor
    f: Tensor
    o: Tensor
    ci: Tensor
    co: Tensor
    h: Tensor

def BlockLSTMV2(
    *,
    seq_len_max: _Input,
    x: _Input,
    cs_prev: _Input,
    h_prev: _Input,
    w: _Input,
    wci: _Input,
    wcf: _Input,
    wco: _Input,
    b: _Input,
    cell_clip: float | None = None,
    use_peephole: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _BlockLSTMV2: ...
def BoostedTreesBucketize(
    *,
    float_values: Sequence[_Input],
    bucket_boundaries: Sequence[_Input],
    num_features: int | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def BroadcastArgs(*, s0: _Input, s1: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
class _BroadcastGradientArgs(typing.NamedTuple):
    r0: Tensor
    r1: Tensor

def BroadcastGradientArgs(*, s0: _Input, s1: _Input, T: _Type | None = None, name: str | None = None) -> _BroadcastGradientArgs: ...
def BroadcastTo(*, input: _Input, shape: _Input, T: _Type | None = None, Tidx: _Type | None = None, name: str | None = None) -> Tensor: ...
def Bucketize(*, input: _Input, boundaries: Sequence[float], T: _Type | None = None, name: str | None = None) -> Tensor: ...
def BytesInUse(*, name: str | None = None) -> Tensor: ...
def BytesLimit(*, name: str | None = None) -> Tensor: ...
def BytesProducedStatsDataset(
    *,
    input_dataset: _Input,
    tag: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def CSVDataset(
    *,
    filenames: _Input,
    compression_type: _Input,
    buffer_size: _Input,
    header: _Input,
    field_delim: _Input,
    use_quote_delim: _Input,
    na_value: _Input,
    select_cols: _Input,
    record_defaults: Sequence[_Input],
    output_shapes: Sequence[_Shape],
    output_types: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def CSVDatasetV2(
    *,
    filenames: _Input,
    compression_type: _Input,
    buffer_size: _Input,
    header: _Input,
    field_delim: _Input,
    use_quote_delim: _Input,
    na_value: _Input,
    select_cols: _Input,
    record_defaults: Sequence[_Input],
    exclude_cols: _Input,
    output_shapes: Sequence[_Shape],
    output_types: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
class _CTCBeamSearchDecoder(typing.NamedTuple):
    decoded_indices: list[Tensor]
    decoded_values: list[Tensor]
    decoded_shape: list[Tensor]
    log_probability: Tensor

def CTCBeamSearchDecoder(
    *,
    inputs: _Input,
    sequence_length: _Input,
    beam_width: int,
    top_paths: int,
    merge_repeated: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _CTCBeamSearchDecoder: ...
class _CTCGreedyDecoder(typing.NamedTuple):
    decoded_indices: Tensor
    decoded_values: Tensor
    decoded_shape: Tensor
    log_probability: Tensor

def CTCGreedyDecoder(
    *,
    inputs: _Input,
    sequence_length: _Input,
    merge_repeated: bool | None = None,
    blank_index: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _CTCGreedyDecoder: ...
class _CTCLoss(typing.NamedTuple):
    loss: Tensor
    gradient: Tensor

def CTCLoss(
    *,
    inputs: _Input,
    labels_indices: _Input,
    labels_values: _Input,
    sequence_length: _Input,
    preprocess_collapse_repeated: bool | None = None,
    ctc_merge_repeated: bool | None = None,
    ignore_longer_outputs_than_inputs: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _CTCLoss: ...
class _CTCLossV2(typing.NamedTuple):
    loss: Tensor
    gradient: Tensor

def CTCLossV2(
    *,
    inputs: _Input,
    labels_indices: _Input,
    labels_values: _Input,
    sequence_length: _Input,
    preprocess_collapse_repeated: bool | None = None,
    ctc_merge_repeated: bool | None = None,
    ignore_longer_outputs_than_inputs: bool | None = None,
    name: str | None = None,
) -> _CTCLossV2: ...
def CacheDataset(
    *,
    input_dataset: _Input,
    filename: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def CacheDatasetV2(
    *,
    input_dataset: _Input,
    filename: _Input,
    cache: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def Case(
    *,
    branch_index: _Input,
    input: Sequence[_Input],
    Tout: Sequence[_Type],
    branches: Sequence[typing.Any],
    output_shapes: Sequence[_Shape] | None = None,
    Tin: Sequence[_Type] | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def Cast(*, x: _Input, DstT: _Type, Truncate: bool | None = None, SrcT: _Type | None = None, name: str | None = None) -> Tensor: ...
def Ceil(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def CheckNumerics(*, tensor: _Input, message: str | bytes, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def CheckNumericsV2(*, tensor: _Input, message: str | bytes, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def CheckPinned(*, tensor: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Cholesky(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def CholeskyGrad(*, l: _Input, grad: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ClipByValue(*, t: _Input, clip_value_min: _Input, clip_value_max: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
class _CombinedNonMaxSuppression(typing.NamedTuple):
    nmsed_boxes: Tensor
    nmsed_scores: Tensor
    nmsed_classes: Tensor
    valid_detections: Tensor

def CombinedNonMaxSuppression(
    *,
    boxes: _Input,
    scores: _Input,
    max_output_size_per_class: _Input,
    max_total_size: _Input,
    iou_threshold: _Input,
    score_threshold: _Input,
    pad_per_class: bool | None = None,
    clip_boxes: bool | None = None,
    name: str | None = None,
) -> _CombinedNonMaxSuppression: ...
def Complex(*, real: _Input, imag: _Input, Tout: _Type | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ComplexAbs(*, x: _Input, Tout: _Type | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
class _ComputeAccidentalHits(typing.NamedTuple):
    indices: Tensor
    ids: Tensor
    weights: Tensor

def ComputeAccidentalHits(
    *,
    true_classes: _Input,
    sampled_candidates: _Input,
    num_true: int,
    seed: int | None = None,
    seed2: int | None = None,
    name: str | None = None,
) -> _ComputeAccidentalHits: ...
def Concat(*, concat_dim: _Input, values: Sequence[_Input], N: int | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ConcatOffset(
    *,
    concat_dim: _Input,
    shape: Sequence[_Input],
    N: int | None = None,
    shape_type: _Type | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def ConcatV2(
    *,
    values: Sequence[_Input],
    axis: _Input,
    N: int | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ConcatenateDataset(
    *,
    input_dataset: _Input,
    another_dataset: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def ConditionalAccumulator(
    *,
    dtype: _Type,
    shape: _Shape,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    reduction_type: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def Conj(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ConjugateTranspose(*, x: _Input, perm: _Input, T: _Type | None = None, Tperm: _Type | None = None, name: str | None = None) -> Tensor: ...
def Const(*, value: typing.Any, dtype: _Type, name: str | None = None) -> Tensor: ...
def ConsumeMutexLock(*, mutex_lock: _Input, name: str | None = None) -> Operation: ...
def ControlTrigger(*, name: str | None = None) -> Operation: ...
def Conv(
    *,
    input: _Input,
    filter: _Input,
    strides: Sequence[int],
    padding: str | bytes,
    explicit_paddings: Sequence[int] | None = None,
    data_format: str | bytes | None = None,
    dilations: Sequence[int] | None = None,
    batch_dims: int | None = None,
    groups: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Conv2D(
    *,
    input: _Input,
    filter: _Input,
    strides: Sequence[int],
    padding: str | bytes,
    use_cudnn_on_gpu: bool | None = None,
    explicit_paddings: Sequence[int] | None = None,
    data_format: str | bytes | None = None,
    dilations: Sequence[int] | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Conv2DBackpropFilter(
    *,
    input: _Input,
    filter_sizes: _Input,
    out_backprop: _Input,
    strides: Sequence[int],
    padding: str | bytes,
    use_cudnn_on_gpu: bool | None = None,
    explicit_paddings: Sequence[int] | None = None,
    data_format: str | bytes | None = None,
    dilations: Sequence[int] | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Conv2DBackpropFilterV2(
    *,
    input: _Input,
    filter: _Input,
    out_backprop: _Input,
    strides: Sequence[int],
    padding: str | bytes,
    use_cudnn_on_gpu: bool | None = None,
    explicit_paddings: Sequence[int] | None = None,
    data_format: str | bytes | None = None,
    dilations: Sequence[int] | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Conv2DBackpropInput(
    *,
    input_sizes: _Input,
    filter: _Input,
    out_backprop: _Input,
    strides: Sequence[int],
    padding: str | bytes,
    use_cudnn_on_gpu: bool | None = None,
    explicit_paddings: Sequence[int] | None = None,
    data_format: str | bytes | None = None,
    dilations: Sequence[int] | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Conv2DBackpropInputV2(
    *,
    input: _Input,
    filter: _Input,
    out_backprop: _Input,
    strides: Sequence[int],
    padding: str | bytes,
    use_cudnn_on_gpu: bool | None = None,
    explicit_paddings: Sequence[int] | None = None,
    data_format: str | bytes | None = None,
    dilations: Sequence[int] | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Conv3D(
    *,
    input: _Input,
    filter: _Input,
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes | None = None,
    dilations: Sequence[int] | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Conv3DBackpropFilter(
    *,
    input: _Input,
    filter: _Input,
    out_backprop: _Input,
    strides: Sequence[int],
    padding: str | bytes,
    dilations: Sequence[int] | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Conv3DBackpropFilterV2(
    *,
    input: _Input,
    filter_sizes: _Input,
    out_backprop: _Input,
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes | None = None,
    dilations: Sequence[int] | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Conv3DBackpropInput(
    *,
    input: _Input,
    filter: _Input,
    out_backprop: _Input,
    strides: Sequence[int],
    padding: str | bytes,
    dilations: Sequence[int] | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Conv3DBackpropInputV2(
    *,
    input_sizes: _Input,
    filter: _Input,
    out_backprop: _Input,
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes | None = None,
    dilations: Sequence[int] | None = None,
    T: _Type | None = None,
    Tshape: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Cos(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Cosh(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def CountUpTo(*, ref: _Input, limit: int, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def CropAndResize(
    *,
    image: _Input,
    boxes: _Input,
    box_ind: _Input,
    crop_size: _Input,
    method: str | bytes | None = None,
    extrapolation_value: float | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def CropAndResizeGradBoxes(
    *,
    grads: _Input,
    image: _Input,
    boxes: _Input,
    box_ind: _Input,
    method: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def CropAndResizeGradImage(
    *,
    grads: _Input,
    boxes: _Input,
    box_ind: _Input,
    image_size: _Input,
    T: _Type,
    method: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def Cross(*, a: _Input, b: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Cumprod(
    *,
    x: _Input,
    axis: _Input,
    exclusive: bool | None = None,
    reverse: bool | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Cumsum(
    *,
    x: _Input,
    axis: _Input,
    exclusive: bool | None = None,
    reverse: bool | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def CumulativeLogsumexp(
    *,
    x: _Input,
    axis: _Input,
    exclusive: bool | None = None,
    reverse: bool | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def DataFormatDimMap(
    *,
    x: _Input,
    src_format: str | bytes | None = None,
    dst_format: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def DataFormatVecPermute(
    *,
    x: _Input,
    src_format: str | bytes | None = None,
    dst_format: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def DatasetCardinality(*, input_dataset: _Input, cardinality_options: str | bytes | None = None, name: str | None = None) -> Tensor: ...
def DatasetToGraph(
    *,
    input_dataset: _Input,
    stateful_whitelist: Sequence[str | bytes] | None = None,
    allow_stateful: bool | None = None,
    strip_device_assignment: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
def DatasetToGraphV2(
    *,
    input_dataset: _Input,
    external_state_policy: int | None = None,
    strip_device_assignment: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
def DatasetToSingleElement(
    *,
    dataset: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def DatasetToTFRecord(*, input_dataset: _Input, filename: _Input, compression_type: _Input, name: str | None = None) -> Operation: ...
def Dawsn(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def DebugGradientIdentity(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def DebugIdentity(
    *,
    input: _Input,
    device_name: str | bytes | None = None,
    tensor_name: str | bytes | None = None,
    debug_urls: Sequence[str | bytes] | None = None,
    gated_grpc: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def DebugIdentityV2(
    *,
    input: _Input,
    tfdbg_context_id: str | bytes | None = None,
    op_name: str | bytes | None = None,
    output_slot: int | None = None,
    tensor_debug_mode: int | None = None,
    debug_urls: Sequence[str | bytes] | None = None,
    circular_buffer_size: int | None = None,
    tfdbg_run_id: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def DecodeAndCropJpeg(
    *,
    contents: _Input,
    crop_window: _Input,
    channels: int | None = None,
    ratio: int | None = None,
    fancy_upscaling: bool | None = None,
    try_recover_truncated: bool | None = None,
    acceptable_fraction: float | None = None,
    dct_method: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def DecodeBase64(*, input: _Input, name: str | None = None) -> Tensor: ...
def DecodeBmp(*, contents: _Input, channels: int | None = None, name: str | None = None) -> Tensor: ...
def DecodeCSV(
    *,
    records: _Input,
    record_defaults: Sequence[_Input],
    field_delim: str | bytes | None = None,
    use_quote_delim: bool | None = None,
    na_value: str | bytes | None = None,
    select_cols: Sequence[int] | None = None,
    OUT_TYPE: Sequence[_Type] | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def DecodeCompressed(*, bytes: _Input, compression_type: str | bytes | None = None, name: str | None = None) -> Tensor: ...
def DecodeGif(*, contents: _Input, name: str | None = None) -> Tensor: ...
def DecodeImage(
    *,
    contents: _Input,
    channels: int | None = None,
    dtype: _Type | None = None,
    expand_animations: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
def DecodeJSONExample(*, json_examples: _Input, name: str | None = None) -> Tensor: ...
def DecodeJpeg(
    *,
    contents: _Input,
    channels: int | None = None,
    ratio: int | None = None,
    fancy_upscaling: bool | None = None,
    try_recover_truncated: bool | None = None,
    acceptable_fraction: float | None = None,
    dct_method: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def DecodePaddedRaw(
    *,
    input_bytes: _Input,
    fixed_length: _Input,
    out_type: _Type,
    little_endian: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
def DecodePng(*, contents: _Input, channels: int | None = None, dtype: _Type | None = None, name: str | None = None) -> Tensor: ...
class _DecodeProtoV2(typing.NamedTuple):
    sizes: Tensor
    values: list[Tensor]

def DecodeProtoV2(
    *,
    bytes: _Input,
    message_type: str | bytes,
    field_names: Sequence[str | bytes],
    output_types: Sequence[_Type],
    descriptor_source: str | bytes | None = None,
    message_format: str | bytes | None = None,
    sanitize: bool | None = None,
    name: str | None = None,
) -> _DecodeProtoV2: ...
def DecodeRaw(*, bytes: _Input, out_type: _Type, little_endian: bool | None = None, name: str | None = None) -> Tensor: ...
class _DecodeWav(typing.NamedTuple):
    audio: Tensor
    sample_rate: Tensor

def DecodeWav(
    *,
    contents: _Input,
    desired_channels: int | None = None,
    desired_samples: int | None = None,
    name: str | None = None,
) -> _DecodeWav: ...
def DecodeWebP(*, contents: _Input, channels: int | None = None, dtype: _Type | None = None, name: str | None = None) -> Tensor: ...
def DeepCopy(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def DeleteIterator(*, handle: _Input, deleter: _Input, name: str | None = None) -> Operation: ...
def DeleteMemoryCache(*, handle: _Input, deleter: _Input, name: str | None = None) -> Operation: ...
def DeleteMultiDeviceIterator(
    *,
    multi_device_iterator: _Input,
    iterators: Sequence[_Input],
    deleter: _Input,
    N: int | None = None,
    name: str | None = None,
) -> Operation: ...
def DeleteRandomSeedGenerator(*, handle: _Input, deleter: _Input, name: str | None = None) -> Operation: ...
def DeleteSeedGenerator(*, handle: _Input, deleter: _Input, name: str | None = None) -> Operation: ...
def DeleteSessionTensor(*, handle: _Input, name: str | None = None) -> Operation: ...
def DenseBincount(
    *,
    input: _Input,
    size: _Input,
    weights: _Input,
    binary_output: bool | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _DenseCountSparseOutput(typing.NamedTuple):
    output_indices: Tensor
    output_values: Tensor
    output_dense_shape: Tensor

def DenseCountSparseOutput(
    *,
    values: _Input,
    weights: _Input,
    binary_output: bool,
    minlength: int | None = None,
    maxlength: int | None = None,
    T: _Type | None = None,
    output_type: _Type | None = None,
    name: str | None = None,
) -> _DenseCountSparseOutput: ...
class _DenseToDenseSetOperation(typing.NamedTuple):
    result_indices: Tensor
    result_values: Tensor
    result_shape: Tensor

def DenseToDenseSetOperation(
    *,
    set1: _Input,
    set2: _Input,
    set_operation: str | bytes,
    validate_indices: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _DenseToDenseSetOperation: ...
def DenseToSparseBatchDataset(
    *,
    input_dataset: _Input,
    batch_size: _Input,
    row_shape: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
class _DenseToSparseSetOperation(typing.NamedTuple):
    result_indices: Tensor
    result_values: Tensor
    result_shape: Tensor

def DenseToSparseSetOperation(
    *,
    set1: _Input,
    set2_indices: _Input,
    set2_values: _Input,
    set2_shape: _Input,
    set_operation: str | bytes,
    validate_indices: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _DenseToSparseSetOperation: ...
def DepthToSpace(
    *,
    input: _Input,
    block_size: int,
    data_format: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def DepthwiseConv2dNative(
    *,
    input: _Input,
    filter: _Input,
    strides: Sequence[int],
    padding: str | bytes,
    explicit_paddings: Sequence[int] | None = None,
    data_format: str | bytes | None = None,
    dilations: Sequence[int] | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def DepthwiseConv2dNativeBackpropFilter(
    *,
    input: _Input,
    filter_sizes: _Input,
    out_backprop: _Input,
    strides: Sequence[int],
    padding: str | bytes,
    explicit_paddings: Sequence[int] | None = None,
    data_format: str | bytes | None = None,
    dilations: Sequence[int] | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def DepthwiseConv2dNativeBackpropInput(
    *,
    input_sizes: _Input,
    filter: _Input,
    out_backprop: _Input,
    strides: Sequence[int],
    padding: str | bytes,
    explicit_paddings: Sequence[int] | None = None,
    data_format: str | bytes | None = None,
    dilations: Sequence[int] | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Dequantize(
    *,
    input: _Input,
    min_range: _Input,
    max_range: _Input,
    mode: str | bytes | None = None,
    narrow_range: bool | None = None,
    axis: int | None = None,
    dtype: _Type | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def DeserializeIterator(*, resource_handle: _Input, serialized: _Input, name: str | None = None) -> Operation: ...
class _DeserializeManySparse(typing.NamedTuple):
    sparse_indices: Tensor
    sparse_values: Tensor
    sparse_shape: Tensor

def DeserializeManySparse(*, serialized_sparse: _Input, dtype: _Type, name: str | None = None) -> _DeserializeManySparse: ...
class _DeserializeSparse(typing.NamedTuple):
    sparse_indices: Tensor
    sparse_values: Tensor
    sparse_shape: Tensor

def DeserializeSparse(
    *,
    serialized_sparse: _Input,
    dtype: _Type,
    Tserialized: _Type | None = None,
    name: str | None = None,
) -> _DeserializeSparse: ...
def DestroyResourceOp(*, resource: _Input, ignore_lookup_error: bool | None = None, name: str | None = None) -> Operation: ...
def DestroyTemporaryVariable(*, ref: _Input, var_name: str | bytes, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def DeviceIndex(*, device_names: Sequence[str | bytes], name: str | None = None) -> Tensor: ...
def Diag(*, diagonal: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def DiagPart(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Digamma(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Dilation2D(
    *,
    input: _Input,
    filter: _Input,
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str | bytes,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Dilation2DBackpropFilter(
    *,
    input: _Input,
    filter: _Input,
    out_backprop: _Input,
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str | bytes,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Dilation2DBackpropInput(
    *,
    input: _Input,
    filter: _Input,
    out_backprop: _Input,
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str | bytes,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def DirectedInterleaveDataset(
    *,
    selector_input_dataset: _Input,
    data_input_datasets: Sequence[_Input],
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    stop_on_empty_dataset: bool | None = None,
    N: int | None = None,
    name: str | None = None,
) -> Tensor: ...
def DisableCopyOnRead(*, resource: _Input, name: str | None = None) -> Operation: ...
def Div(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def DivNoNan(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def DrawBoundingBoxes(*, images: _Input, boxes: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def DrawBoundingBoxesV2(*, images: _Input, boxes: _Input, colors: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def DummyMemoryCache(*, name: str | None = None) -> Tensor: ...
def DummySeedGenerator(*, name: str | None = None) -> Tensor: ...
def DynamicPartition(*, data: _Input, partitions: _Input, num_partitions: int, T: _Type | None = None, name: str | None = None) -> list[Tensor]: ...
def DynamicStitch(
    *,
    indices: Sequence[_Input],
    data: Sequence[_Input],
    N: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def EagerPyFunc(
    *,
    input: Sequence[_Input],
    token: str | bytes,
    Tout: Sequence[_Type],
    is_async: bool | None = None,
    Tin: Sequence[_Type] | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def EditDistance(
    *,
    hypothesis_indices: _Input,
    hypothesis_values: _Input,
    hypothesis_shape: _Input,
    truth_indices: _Input,
    truth_values: _Input,
    truth_shape: _Input,
    normalize: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _Eig(typing.NamedTuple):
    e: Tensor
    v: Tensor

def Eig(*, input: _Input, Tout: _Type, compute_v: bool | None = None, T: _Type | None = None, name: str | None = None) -> _Eig: ...
def Einsum(*, inputs: Sequence[_Input], equation: str | bytes, N: int | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Elu(*, features: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def EluGrad(*, gradients: _Input, outputs: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Empty(*, shape: _Input, dtype: _Type, init: bool | None = None, name: str | None = None) -> Tensor: ...
def EmptyTensorList(
    *,
    element_shape: _Input,
    max_num_elements: _Input,
    element_dtype: _Type,
    shape_type: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def EmptyTensorMap(*, name: str | None = None) -> Tensor: ...
def EncodeBase64(*, input: _Input, pad: bool | None = None, name: str | None = None) -> Tensor: ...
def EncodeJpeg(
    *,
    image: _Input,
    format: str | bytes | None = None,
    quality: int | None = None,
    progressive: bool | None = None,
    optimize_size: bool | None = None,
    chroma_downsampling: bool | None = None,
    density_unit: str | bytes | None = None,
    x_density: int | None = None,
    y_density: int | None = None,
    xmp_metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def EncodeJpegVariableQuality(*, images: _Input, quality: _Input, name: str | None = None) -> Tensor: ...
def EncodePng(*, image: _Input, compression: int | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def EncodeProto(
    *,
    sizes: _Input,
    values: Sequence[_Input],
    field_names: Sequence[str | bytes],
    message_type: str | bytes,
    descriptor_source: str | bytes | None = None,
    Tinput_types: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def EncodeWav(*, audio: _Input, sample_rate: _Input, name: str | None = None) -> Tensor: ...
def EnsureShape(*, input: _Input, shape: _Shape, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Enter(
    *,
    data: _Input,
    frame_name: str | bytes,
    is_constant: bool | None = None,
    parallel_iterations: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Equal(*, x: _Input, y: _Input, incompatible_shape_error: bool | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Erf(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Erfc(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Erfinv(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def EuclideanNorm(
    *,
    input: _Input,
    axis: _Input,
    keep_dims: bool | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Exit(*, data: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Exp(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ExpandDims(*, input: _Input, axis: _Input, T: _Type | None = None, Tdim: _Type | None = None, name: str | None = None) -> Tensor: ...
def ExperimentalAssertNextDataset(
    *,
    input_dataset: _Input,
    transformations: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def ExperimentalAutoShardDataset(
    *,
    input_dataset: _Input,
    num_workers: _Input,
    index: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    auto_shard_policy: int | None = None,
    name: str | None = None,
) -> Tensor: ...
def ExperimentalBytesProducedStatsDataset(
    *,
    input_dataset: _Input,
    tag: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def ExperimentalCSVDataset(
    *,
    filenames: _Input,
    compression_type: _Input,
    buffer_size: _Input,
    header: _Input,
    field_delim: _Input,
    use_quote_delim: _Input,
    na_value: _Input,
    select_cols: _Input,
    record_defaults: Sequence[_Input],
    output_shapes: Sequence[_Shape],
    output_types: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def ExperimentalDatasetCardinality(*, input_dataset: _Input, name: str | None = None) -> Tensor: ...
def ExperimentalDatasetToTFRecord(*, input_dataset: _Input, filename: _Input, compression_type: _Input, name: str | None = None) -> Operation: ...
def ExperimentalDenseToSparseBatchDataset(
    *,
    input_dataset: _Input,
    batch_size: _Input,
    row_shape: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def ExperimentalDirectedInterleaveDataset(
    *,
    selector_input_dataset: _Input,
    data_input_datasets: Sequence[_Input],
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    N: int | None = None,
    name: str | None = None,
) -> Tensor: ...
def ExperimentalGroupByReducerDataset(
    *,
    input_dataset: _Input,
    key_func_other_arguments: Sequence[_Input],
    init_func_other_arguments: Sequence[_Input],
    reduce_func_other_arguments: Sequence[_Input],
    finalize_func_other_arguments: Sequence[_Input],
    key_func: typing.Any,
    init_func: typing.Any,
    reduce_func: typing.Any,
    finalize_func: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    Tfinalize_func_other_arguments: Sequence[_Type] | None = None,
    Tinit_func_other_arguments: Sequence[_Type] | None = None,
    Tkey_func_other_arguments: Sequence[_Type] | None = None,
    Treduce_func_other_arguments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def ExperimentalGroupByWindowDataset(
    *,
    input_dataset: _Input,
    key_func_other_arguments: Sequence[_Input],
    reduce_func_other_arguments: Sequence[_Input],
    window_size_func_other_arguments: Sequence[_Input],
    key_func: typing.Any,
    reduce_func: typing.Any,
    window_size_func: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    Tkey_func_other_arguments: Sequence[_Type] | None = None,
    Treduce_func_other_arguments: Sequence[_Type] | None = None,
    Twindow_size_func_other_arguments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def ExperimentalIgnoreErrorsDataset(
    *,
    input_dataset: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    log_warning: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
def ExperimentalIteratorGetDevice(*, resource: _Input, name: str | None = None) -> Tensor: ...
def ExperimentalLatencyStatsDataset(
    *,
    input_dataset: _Input,
    tag: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def ExperimentalMapAndBatchDataset(
    *,
    input_dataset: _Input,
    other_arguments: Sequence[_Input],
    batch_size: _Input,
    num_parallel_calls: _Input,
    drop_remainder: _Input,
    f: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    preserve_cardinality: bool | None = None,
    Targuments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def ExperimentalMapDataset(
    *,
    input_dataset: _Input,
    other_arguments: Sequence[_Input],
    f: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    use_inter_op_parallelism: bool | None = None,
    preserve_cardinality: bool | None = None,
    force_synchronous: bool | None = None,
    Targuments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def ExperimentalMatchingFilesDataset(*, patterns: _Input, name: str | None = None) -> Tensor: ...
def ExperimentalMaxIntraOpParallelismDataset(
    *,
    input_dataset: _Input,
    max_intra_op_parallelism: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def ExperimentalNonSerializableDataset(
    *,
    input_dataset: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def ExperimentalParallelInterleaveDataset(
    *,
    input_dataset: _Input,
    other_arguments: Sequence[_Input],
    cycle_length: _Input,
    block_length: _Input,
    sloppy: _Input,
    buffer_output_elements: _Input,
    prefetch_input_elements: _Input,
    f: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    Targuments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def ExperimentalParseExampleDataset(
    *,
    input_dataset: _Input,
    num_parallel_calls: _Input,
    dense_defaults: Sequence[_Input],
    sparse_keys: Sequence[str | bytes],
    dense_keys: Sequence[str | bytes],
    sparse_types: Sequence[_Type],
    dense_shapes: Sequence[_Shape],
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    sloppy: bool | None = None,
    Tdense: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def ExperimentalPrivateThreadPoolDataset(
    *,
    input_dataset: _Input,
    num_threads: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def ExperimentalRandomDataset(
    *,
    seed: _Input,
    seed2: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def ExperimentalRebatchDataset(
    *,
    input_dataset: _Input,
    num_replicas: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    use_fallback: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
def ExperimentalScanDataset(
    *,
    input_dataset: _Input,
    initial_state: Sequence[_Input],
    other_arguments: Sequence[_Input],
    f: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    preserve_cardinality: bool | None = None,
    Targuments: Sequence[_Type] | None = None,
    Tstate: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def ExperimentalSetStatsAggregatorDataset(
    *,
    input_dataset: _Input,
    stats_aggregator: _Input,
    tag: _Input,
    counter_prefix: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def ExperimentalSleepDataset(
    *,
    input_dataset: _Input,
    sleep_microseconds: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def ExperimentalSlidingWindowDataset(
    *,
    input_dataset: _Input,
    window_size: _Input,
    window_shift: _Input,
    window_stride: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def ExperimentalStatsAggregatorHandle(
    *,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def ExperimentalStatsAggregatorSummary(*, iterator: _Input, name: str | None = None) -> Tensor: ...
def ExperimentalTakeWhileDataset(
    *,
    input_dataset: _Input,
    other_arguments: Sequence[_Input],
    predicate: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    Targuments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def ExperimentalThreadPoolDataset(
    *,
    input_dataset: _Input,
    thread_pool: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def ExperimentalThreadPoolHandle(
    *,
    num_threads: int,
    display_name: str | bytes,
    max_intra_op_parallelism: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def ExperimentalUnbatchDataset(
    *,
    input_dataset: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def ExperimentalUniqueDataset(
    *,
    input_dataset: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def Expint(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Expm1(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ExtractGlimpse(
    *,
    input: _Input,
    size: _Input,
    offsets: _Input,
    centered: bool | None = None,
    normalized: bool | None = None,
    uniform_noise: bool | None = None,
    noise: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def ExtractGlimpseV2(
    *,
    input: _Input,
    size: _Input,
    offsets: _Input,
    centered: bool | None = None,
    normalized: bool | None = None,
    uniform_noise: bool | None = None,
    noise: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def ExtractImagePatches(
    *,
    images: _Input,
    ksizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str | bytes,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ExtractJpegShape(*, contents: _Input, output_type: _Type | None = None, name: str | None = None) -> Tensor: ...
def ExtractVolumePatches(
    *,
    input: _Input,
    ksizes: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def FFT(*, input: _Input, Tcomplex: _Type | None = None, name: str | None = None) -> Tensor: ...
def FFT2D(*, input: _Input, Tcomplex: _Type | None = None, name: str | None = None) -> Tensor: ...
def FFT3D(*, input: _Input, Tcomplex: _Type | None = None, name: str | None = None) -> Tensor: ...
def FFTND(*, input: _Input, fft_length: _Input, axes: _Input, Tcomplex: _Type | None = None, name: str | None = None) -> Tensor: ...
def FIFOQueue(
    *,
    component_types: Sequence[_Type],
    shapes: Sequence[_Shape] | None = None,
    capacity: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def FIFOQueueV2(
    *,
    component_types: Sequence[_Type],
    shapes: Sequence[_Shape] | None = None,
    capacity: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def FakeQuantWithMinMaxArgs(
    *,
    inputs: _Input,
    min: float | None = None,
    max: float | None = None,
    num_bits: int | None = None,
    narrow_range: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
def FakeQuantWithMinMaxArgsGradient(
    *,
    gradients: _Input,
    inputs: _Input,
    min: float | None = None,
    max: float | None = None,
    num_bits: int | None = None,
    narrow_range: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
def FakeQuantWithMinMaxVars(
    *,
    inputs: _Input,
    min: _Input,
    max: _Input,
    num_bits: int | None = None,
    narrow_range: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
class _FakeQuantWithMinMaxVarsGradient(typing.NamedTuple):
    backprops_wrt_input: Tensor
    backprop_wrt_min: Tensor
    backprop_wrt_max: Tensor

def FakeQuantWithMinMaxVarsGradient(
    *,
    gradients: _Input,
    inputs: _Input,
    min: _Input,
    max: _Input,
    num_bits: int | None = None,
    narrow_range: bool | None = None,
    name: str | None = None,
) -> _FakeQuantWithMinMaxVarsGradient: ...
def FakeQuantWithMinMaxVarsPerChannel(
    *,
    inputs: _Input,
    min: _Input,
    max: _Input,
    num_bits: int | None = None,
    narrow_range: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
class _FakeQuantWithMinMaxVarsPerChannelGradient(typing.NamedTuple):
    backprops_wrt_input: Tensor
    backprop_wrt_min: Tensor
    backprop_wrt_max: Tensor

def FakeQuantWithMinMaxVarsPerChannelGradient(
    *,
    gradients: _Input,
    inputs: _Input,
    min: _Input,
    max: _Input,
    num_bits: int | None = None,
    narrow_range: bool | None = None,
    name: str | None = None,
) -> _FakeQuantWithMinMaxVarsPerChannelGradient: ...
def Fill(*, dims: _Input, value: _Input, T: _Type | None = None, index_type: _Type | None = None, name: str | None = None) -> Tensor: ...
def FilterByLastComponentDataset(
    *,
    input_dataset: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def FilterDataset(
    *,
    input_dataset: _Input,
    other_arguments: Sequence[_Input],
    predicate: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    Targuments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def FinalizeDataset(
    *,
    input_dataset: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    has_captured_ref: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
def Fingerprint(*, data: _Input, method: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def FixedLengthRecordDataset(
    *,
    filenames: _Input,
    header_bytes: _Input,
    record_bytes: _Input,
    footer_bytes: _Input,
    buffer_size: _Input,
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def FixedLengthRecordDatasetV2(
    *,
    filenames: _Input,
    header_bytes: _Input,
    record_bytes: _Input,
    footer_bytes: _Input,
    buffer_size: _Input,
    compression_type: _Input,
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def FixedLengthRecordReader(
    *,
    record_bytes: int,
    header_bytes: int | None = None,
    footer_bytes: int | None = None,
    hop_bytes: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def FixedLengthRecordReaderV2(
    *,
    record_bytes: int,
    header_bytes: int | None = None,
    footer_bytes: int | None = None,
    hop_bytes: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    encoding: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
class _FixedUnigramCandidateSampler(typing.NamedTuple):
    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor

def FixedUnigramCandidateSampler(
    *,
    true_classes: _Input,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str | bytes | None = None,
    distortion: float | None = None,
    num_reserved_ids: int | None = None,
    num_shards: int | None = None,
    shard: int | None = None,
    unigrams: Sequence[float] | None = None,
    seed: int | None = None,
    seed2: int | None = None,
    name: str | None = None,
) -> _FixedUnigramCandidateSampler: ...
def FlatMapDataset(
    *,
    input_dataset: _Input,
    other_arguments: Sequence[_Input],
    f: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    Targuments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def Floor(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def FloorDiv(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def FloorMod(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Flowmill_Softclip(*, features: _Input, sharpness: float | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def For(
    *,
    start: _Input,
    limit: _Input,
    delta: _Input,
    input: Sequence[_Input],
    body: typing.Any,
    T: Sequence[_Type] | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
class _FractionalAvgPool(typing.NamedTuple):
    output: Tensor
    row_pooling_sequence: Tensor
    col_pooling_sequence: Tensor

def FractionalAvgPool(
    *,
    value: _Input,
    pooling_ratio: Sequence[float],
    pseudo_random: bool | None = None,
    overlapping: bool | None = None,
    deterministic: bool | None = None,
    seed: int | None = None,
    seed2: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _FractionalAvgPool: ...
def FractionalAvgPoolGrad(
    *,
    orig_input_tensor_shape: _Input,
    out_backprop: _Input,
    row_pooling_sequence: _Input,
    col_pooling_sequence: _Input,
    overlapping: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _FractionalMaxPool(typing.NamedTuple):
    output: Tensor
    row_pooling_sequence: Tensor
    col_pooling_sequence: Tensor

def FractionalMaxPool(
    *,
    value: _Input,
    pooling_ratio: Sequence[float],
    pseudo_random: bool | None = None,
    overlapping: bool | None = None,
    deterministic: bool | None = None,
    seed: int | None = None,
    seed2: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _FractionalMaxPool: ...
def FractionalMaxPoolGrad(
    *,
    orig_input: _Input,
    orig_output: _Input,
    out_backprop: _Input,
    row_pooling_sequence: _Input,
    col_pooling_sequence: _Input,
    overlapping: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def FresnelCos(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def FresnelSin(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
class _FusedBatchNorm(typing.NamedTuple):
    y: Tensor
    batch_mean: Tensor
    batch_variance: Tensor
    reserve_space_1: Tensor
    reserve_space_2: Tensor

def FusedBatchNorm(
    *,
    x: _Input,
    scale: _Input,
    offset: _Input,
    mean: _Input,
    variance: _Input,
    epsilon: float | None = None,
    exponential_avg_factor: float | None = None,
    data_format: str | bytes | None = None,
    is_training: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _FusedBatchNorm: ...
class _FusedBatchNormGrad(typing.NamedTuple):
    x_backprop: Tensor
    scale_backprop: Tensor
    offset_backprop: Tensor
    reserve_space_3: Tensor
    reserve_space_4: Tensor

def FusedBatchNormGrad(
    *,
    y_backprop: _Input,
    x: _Input,
    scale: _Input,
    reserve_space_1: _Input,
    reserve_space_2: _Input,
    epsilon: float | None = None,
    data_format: str | bytes | None = None,
    is_training: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _FusedBatchNormGrad: ...
class _FusedBatchNormGradV2(typing.NamedTuple):
    x_backprop: Tensor
    scale_backprop: Tensor
    offset_backprop: Tensor
    reserve_space_3: Tensor
    reserve_space_4: Tensor

def FusedBatchNormGradV2(
    *,
    y_backprop: _Input,
    x: _Input,
    scale: _Input,
    reserve_space_1: _Input,
    reserve_space_2: _Input,
    epsilon: float | None = None,
    data_format: str | bytes | None = None,
    is_training: bool | None = None,
    T: _Type | None = None,
    U: _Type | None = None,
    name: str | None = None,
) -> _FusedBatchNormGradV2: ...
class _FusedBatchNormGradV3(typing.NamedTuple):
    x_backprop: Tensor
    scale_backprop: Tensor
    offset_backprop: Tensor
    reserve_space_4: Tensor
    reserve_space_5: Tensor

def FusedBatchNormGradV3(
    *,
    y_backprop: _Input,
    x: _Input,
    scale: _Input,
    reserve_space_1: _Input,
    reserve_space_2: _Input,
    reserve_space_3: _Input,
    epsilon: float | None = None,
    data_format: str | bytes | None = None,
    is_training: bool | None = None,
    T: _Type | None = None,
    U: _Type | None = None,
    name: str | None = None,
) -> _FusedBatchNormGradV3: ...
class _FusedBatchNormV2(typing.NamedTuple):
    y: Tensor
    batch_mean: Tensor
    batch_variance: Tensor
    reserve_space_1: Tensor
    reserve_space_2: Tensor

def FusedBatchNormV2(
    *,
    x: _Input,
    scale: _Input,
    offset: _Input,
    mean: _Input,
    variance: _Input,
    epsilon: float | None = None,
    exponential_avg_factor: float | None = None,
    data_format: str | bytes | None = None,
    is_training: bool | None = None,
    T: _Type | None = None,
    U: _Type | None = None,
    name: str | None = None,
) -> _FusedBatchNormV2: ...
class _FusedBatchNormV3(typing.NamedTuple):
    y: Tensor
    batch_mean: Tensor
    batch_variance: Tensor
    reserve_space_1: Tensor
    reserve_space_2: Tensor
    reserve_space_3: Tensor

def FusedBatchNormV3(
    *,
    x: _Input,
    scale: _Input,
    offset: _Input,
    mean: _Input,
    variance: _Input,
    epsilon: float | None = None,
    exponential_avg_factor: float | None = None,
    data_format: str | bytes | None = None,
    is_training: bool | None = None,
    T: _Type | None = None,
    U: _Type | None = None,
    name: str | None = None,
) -> _FusedBatchNormV3: ...
def FusedPadConv2D(
    *,
    input: _Input,
    paddings: _Input,
    filter: _Input,
    mode: str | bytes,
    strides: Sequence[int],
    padding: str | bytes,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def FusedResizeAndPadConv2D(
    *,
    input: _Input,
    size: _Input,
    paddings: _Input,
    filter: _Input,
    mode: str | bytes,
    strides: Sequence[int],
    padding: str | bytes,
    resize_align_corners: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _GRUBlockCell(typing.NamedTuple):
    r: Tensor
    u: Tensor
    c: Tensor
    h: Tensor

def GRUBlockCell(
    *,
    x: _Input,
    h_prev: _Input,
    w_ru: _Input,
    w_c: _Input,
    b_ru: _Input,
    b_c: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> _GRUBlockCell: ...
class _GRUBlockCellGrad(typing.NamedTuple):
    d_x: Tensor
    d_h_prev: Tensor
    d_c_bar: Tensor
    d_r_bar_u_bar: Tensor

def GRUBlockCellGrad(
    *,
    x: _Input,
    h_prev: _Input,
    w_ru: _Input,
    w_c: _Input,
    b_ru: _Input,
    b_c: _Input,
    r: _Input,
    u: _Input,
    c: _Input,
    d_h: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> _GRUBlockCellGrad: ...
def Gather(
    *,
    params: _Input,
    indices: _Input,
    validate_indices: bool | None = None,
    Tindices: _Type | None = None,
    Tparams: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def GatherNd(
    *,
    params: _Input,
    indices: _Input,
    bad_indices_policy: str | bytes | None = None,
    Tindices: _Type | None = None,
    Tparams: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def GatherV2(
    *,
    params: _Input,
    indices: _Input,
    axis: _Input,
    batch_dims: int | None = None,
    Taxis: _Type | None = None,
    Tindices: _Type | None = None,
    Tparams: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _GenerateBoundingBoxProposals(typing.NamedTuple):
    rois: Tensor
    roi_probabilities: Tensor

def GenerateBoundingBoxProposals(
    *,
    scores: _Input,
    bbox_deltas: _Input,
    image_info: _Input,
    anchors: _Input,
    nms_threshold: _Input,
    pre_nms_topn: _Input,
    min_size: _Input,
    post_nms_topn: int | None = None,
    name: str | None = None,
) -> _GenerateBoundingBoxProposals: ...
class _GenerateVocabRemapping(typing.NamedTuple):
    remapping: Tensor
    num_present: Tensor

def GenerateVocabRemapping(
    *,
    new_vocab_file: _Input,
    old_vocab_file: _Input,
    new_vocab_offset: int,
    num_new_vocab: int,
    old_vocab_size: int | None = None,
    name: str | None = None,
) -> _GenerateVocabRemapping: ...
def GeneratorDataset(
    *,
    init_func_other_args: Sequence[_Input],
    next_func_other_args: Sequence[_Input],
    finalize_func_other_args: Sequence[_Input],
    init_func: typing.Any,
    next_func: typing.Any,
    finalize_func: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    Tfinalize_func_args: Sequence[_Type] | None = None,
    Tinit_func_args: Sequence[_Type] | None = None,
    Tnext_func_args: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def GetSessionHandle(*, value: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def GetSessionHandleV2(*, value: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def GetSessionTensor(*, handle: _Input, dtype: _Type, name: str | None = None) -> Tensor: ...
def Greater(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def GreaterEqual(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def GroupByReducerDataset(
    *,
    input_dataset: _Input,
    key_func_other_arguments: Sequence[_Input],
    init_func_other_arguments: Sequence[_Input],
    reduce_func_other_arguments: Sequence[_Input],
    finalize_func_other_arguments: Sequence[_Input],
    key_func: typing.Any,
    init_func: typing.Any,
    reduce_func: typing.Any,
    finalize_func: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    Tfinalize_func_other_arguments: Sequence[_Type] | None = None,
    Tinit_func_other_arguments: Sequence[_Type] | None = None,
    Tkey_func_other_arguments: Sequence[_Type] | None = None,
    Treduce_func_other_arguments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def GroupByWindowDataset(
    *,
    input_dataset: _Input,
    key_func_other_arguments: Sequence[_Input],
    reduce_func_other_arguments: Sequence[_Input],
    window_size_func_other_arguments: Sequence[_Input],
    key_func: typing.Any,
    reduce_func: typing.Any,
    window_size_func: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    Tkey_func_other_arguments: Sequence[_Type] | None = None,
    Treduce_func_other_arguments: Sequence[_Type] | None = None,
    Twindow_size_func_other_arguments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def GuaranteeConst(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def HSVToRGB(*, images: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def HashTable(
    *,
    key_dtype: _Type,
    value_dtype: _Type,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    use_node_name_sharing: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
def HashTableV2(
    *,
    key_dtype: _Type,
    value_dtype: _Type,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    use_node_name_sharing: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
def HistogramFixedWidth(
    *,
    values: _Input,
    value_range: _Input,
    nbins: _Input,
    dtype: _Type | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def HistogramSummary(*, tag: _Input, values: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def IFFT(*, input: _Input, Tcomplex: _Type | None = None, name: str | None = None) -> Tensor: ...
def IFFT2D(*, input: _Input, Tcomplex: _Type | None = None, name: str | None = None) -> Tensor: ...
def IFFT3D(*, input: _Input, Tcomplex: _Type | None = None, name: str | None = None) -> Tensor: ...
def IFFTND(*, input: _Input, fft_length: _Input, axes: _Input, Tcomplex: _Type | None = None, name: str | None = None) -> Tensor: ...
def IRFFT(*, input: _Input, fft_length: _Input, Treal: _Type | None = None, Tcomplex: _Type | None = None, name: str | None = None) -> Tensor: ...
def IRFFT2D(*, input: _Input, fft_length: _Input, Treal: _Type | None = None, Tcomplex: _Type | None = None, name: str | None = None) -> Tensor: ...
def IRFFT3D(*, input: _Input, fft_length: _Input, Treal: _Type | None = None, Tcomplex: _Type | None = None, name: str | None = None) -> Tensor: ...
def IRFFTND(
    *,
    input: _Input,
    fft_length: _Input,
    axes: _Input,
    Treal: _Type | None = None,
    Tcomplex: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Identity(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def IdentityN(*, input: Sequence[_Input], T: Sequence[_Type] | None = None, name: str | None = None) -> list[Tensor]: ...
def IdentityReader(*, container: str | bytes | None = None, shared_name: str | bytes | None = None, name: str | None = None) -> Tensor: ...
def IdentityReaderV2(*, container: str | bytes | None = None, shared_name: str | bytes | None = None, name: str | None = None) -> Tensor: ...
def If(
    *,
    cond: _Input,
    input: Sequence[_Input],
    Tout: Sequence[_Type],
    then_branch: typing.Any,
    else_branch: typing.Any,
    output_shapes: Sequence[_Shape] | None = None,
    Tcond: _Type | None = None,
    Tin: Sequence[_Type] | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def Igamma(*, a: _Input, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def IgammaGradA(*, a: _Input, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Igammac(*, a: _Input, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def IgnoreErrorsDataset(
    *,
    input_dataset: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    log_warning: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
def Imag(*, input: _Input, Tout: _Type | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ImageProjectiveTransformV2(
    *,
    images: _Input,
    transforms: _Input,
    output_shape: _Input,
    interpolation: str | bytes,
    fill_mode: str | bytes | None = None,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ImageProjectiveTransformV3(
    *,
    images: _Input,
    transforms: _Input,
    output_shape: _Input,
    fill_value: _Input,
    interpolation: str | bytes,
    fill_mode: str | bytes | None = None,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ImageSummary(
    *,
    tag: _Input,
    tensor: _Input,
    max_images: int | None = None,
    bad_color: typing.Any | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ImmutableConst(*, dtype: _Type, shape: _Shape, memory_region_name: str | bytes, name: str | None = None) -> Tensor: ...
def InTopK(*, predictions: _Input, targets: _Input, k: int, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def InTopKV2(*, predictions: _Input, targets: _Input, k: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def InitializeTable(
    *,
    table_handle: _Input,
    keys: _Input,
    values: _Input,
    Tkey: _Type | None = None,
    Tval: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def InitializeTableFromDataset(*, table_handle: _Input, dataset: _Input, name: str | None = None) -> Operation: ...
def InitializeTableFromTextFile(
    *,
    table_handle: _Input,
    filename: _Input,
    key_index: int,
    value_index: int,
    vocab_size: int | None = None,
    delimiter: str | bytes | None = None,
    offset: int | None = None,
    name: str | None = None,
) -> Operation: ...
def InitializeTableFromTextFileV2(
    *,
    table_handle: _Input,
    filename: _Input,
    key_index: int,
    value_index: int,
    vocab_size: int | None = None,
    delimiter: str | bytes | None = None,
    offset: int | None = None,
    name: str | None = None,
) -> Operation: ...
def InitializeTableV2(
    *,
    table_handle: _Input,
    keys: _Input,
    values: _Input,
    Tkey: _Type | None = None,
    Tval: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def InplaceAdd(*, x: _Input, i: _Input, v: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def InplaceSub(*, x: _Input, i: _Input, v: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def InplaceUpdate(*, x: _Input, i: _Input, v: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def InterleaveDataset(
    *,
    input_dataset: _Input,
    other_arguments: Sequence[_Input],
    cycle_length: _Input,
    block_length: _Input,
    f: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    Targuments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def Inv(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def InvGrad(*, y: _Input, dy: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Invert(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def InvertPermutation(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def IsFinite(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def IsInf(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def IsNan(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def IsVariableInitialized(*, ref: _Input, dtype: _Type | None = None, name: str | None = None) -> Tensor: ...
class _IsotonicRegression(typing.NamedTuple):
    output: Tensor
    segments: Tensor

def IsotonicRegression(
    *,
    input: _Input,
    output_dtype: _Type | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _IsotonicRegression: ...
def Iterator(
    *,
    shared_name: str | bytes,
    container: str | bytes,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def IteratorFromStringHandle(
    *,
    string_handle: _Input,
    output_types: Sequence[_Type] | None = None,
    output_shapes: Sequence[_Shape] | None = None,
    name: str | None = None,
) -> Tensor: ...
def IteratorFromStringHandleV2(
    *,
    string_handle: _Input,
    output_types: Sequence[_Type] | None = None,
    output_shapes: Sequence[_Shape] | None = None,
    name: str | None = None,
) -> Tensor: ...
def IteratorGetDevice(*, resource: _Input, name: str | None = None) -> Tensor: ...
def IteratorGetNext(*, iterator: _Input, output_types: Sequence[_Type], output_shapes: Sequence[_Shape], name: str | None = None) -> list[Tensor]: ...
def IteratorGetNextAsOptional(
    *,
    iterator: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def IteratorGetNextSync(
    *,
    iterator: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> list[Tensor]: ...
def IteratorToStringHandle(*, resource_handle: _Input, name: str | None = None) -> Tensor: ...
def IteratorV2(
    *,
    shared_name: str | bytes,
    container: str | bytes,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def KMC2ChainInitialization(*, distances: _Input, seed: _Input, name: str | None = None) -> Tensor: ...
def KmeansPlusPlusInitialization(
    *,
    points: _Input,
    num_to_sample: _Input,
    seed: _Input,
    num_retries_per_sample: _Input,
    name: str | None = None,
) -> Tensor: ...
def L2Loss(*, t: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def LRN(
    *,
    input: _Input,
    depth_radius: int | None = None,
    bias: float | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def LRNGrad(
    *,
    input_grads: _Input,
    input_image: _Input,
    output_image: _Input,
    depth_radius: int | None = None,
    bias: float | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _LSTMBlockCell(typing.NamedTuple):
    i: Tensor
    cs: Tensor
    f: Tensor
    o: Tensor
    ci: Tensor
    co: Tensor
    h: Tensor

def LSTMBlockCell(
    *,
    x: _Input,
    cs_prev: _Input,
    h_prev: _Input,
    w: _Input,
    wci: _Input,
    wcf: _Input,
    wco: _Input,
    b: _Input,
    forget_bias: float | None = None,
    cell_clip: float | None = None,
    use_peephole: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _LSTMBlockCell: ...
class _LSTMBlockCellGrad(typing.NamedTuple):
    cs_prev_grad: Tensor
    dicfo: Tensor
    wci_grad: Tensor
    wcf_grad: Tensor
    wco_grad: Tensor

def LSTMBlockCellGrad(
    *,
    x: _Input,
    cs_prev: _Input,
    h_prev: _Input,
    w: _Input,
    wci: _Input,
    wcf: _Input,
    wco: _Input,
    b: _Input,
    i: _Input,
    cs: _Input,
    f: _Input,
    o: _Input,
    ci: _Input,
    co: _Input,
    cs_grad: _Input,
    h_grad: _Input,
    use_peephole: bool,
    T: _Type | None = None,
    name: str | None = None,
) -> _LSTMBlockCellGrad: ...
def LatencyStatsDataset(
    *,
    input_dataset: _Input,
    tag: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def LeakyRelu(*, features: _Input, alpha: float | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def LeakyReluGrad(*, gradients: _Input, features: _Input, alpha: float | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
class _LearnedUnigramCandidateSampler(typing.NamedTuple):
    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor

def LearnedUnigramCandidateSampler(
    *,
    true_classes: _Input,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    seed2: int | None = None,
    name: str | None = None,
) -> _LearnedUnigramCandidateSampler: ...
def LeftShift(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def LegacyParallelInterleaveDatasetV2(
    *,
    input_dataset: _Input,
    other_arguments: Sequence[_Input],
    cycle_length: _Input,
    block_length: _Input,
    buffer_output_elements: _Input,
    prefetch_input_elements: _Input,
    f: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    deterministic: str | bytes | None = None,
    metadata: str | bytes | None = None,
    Targuments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def Less(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def LessEqual(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Lgamma(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def LinSpace(*, start: _Input, stop: _Input, num: _Input, T: _Type | None = None, Tidx: _Type | None = None, name: str | None = None) -> Tensor: ...
def ListDataset(
    *,
    tensors: Sequence[_Input],
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    Tinput_types: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
class _ListDiff(typing.NamedTuple):
    out: Tensor
    idx: Tensor

def ListDiff(*, x: _Input, y: _Input, out_idx: _Type | None = None, T: _Type | None = None, name: str | None = None) -> _ListDiff: ...
def LoadAndRemapMatrix(
    *,
    ckpt_path: _Input,
    old_tensor_name: _Input,
    row_remapping: _Input,
    col_remapping: _Input,
    initializing_values: _Input,
    num_rows: int,
    num_cols: int,
    max_rows_in_memory: int | None = None,
    name: str | None = None,
) -> Tensor: ...
def Log(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Log1p(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
class _LogMatrixDeterminant(typing.NamedTuple):
    sign: Tensor
    log_abs_determinant: Tensor

def LogMatrixDeterminant(*, input: _Input, T: _Type | None = None, name: str | None = None) -> _LogMatrixDeterminant: ...
def LogSoftmax(*, logits: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
class _LogUniformCandidateSampler(typing.NamedTuple):
    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor

def LogUniformCandidateSampler(
    *,
    true_classes: _Input,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    seed2: int | None = None,
    name: str | None = None,
) -> _LogUniformCandidateSampler: ...
def LogicalAnd(*, x: _Input, y: _Input, name: str | None = None) -> Tensor: ...
def LogicalNot(*, x: _Input, name: str | None = None) -> Tensor: ...
def LogicalOr(*, x: _Input, y: _Input, name: str | None = None) -> Tensor: ...
class _LookupTableExport(typing.NamedTuple):
    keys: Tensor
    values: Tensor

def LookupTableExport(*, table_handle: _Input, Tkeys: _Type, Tvalues: _Type, name: str | None = None) -> _LookupTableExport: ...
class _LookupTableExportV2(typing.NamedTuple):
    keys: Tensor
    values: Tensor

def LookupTableExportV2(*, table_handle: _Input, Tkeys: _Type, Tvalues: _Type, name: str | None = None) -> _LookupTableExportV2: ...
def LookupTableFind(
    *,
    table_handle: _Input,
    keys: _Input,
    default_value: _Input,
    Tin: _Type | None = None,
    Tout: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def LookupTableFindV2(
    *,
    table_handle: _Input,
    keys: _Input,
    default_value: _Input,
    Tin: _Type | None = None,
    Tout: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def LookupTableImport(
    *,
    table_handle: _Input,
    keys: _Input,
    values: _Input,
    Tin: _Type | None = None,
    Tout: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def LookupTableImportV2(
    *,
    table_handle: _Input,
    keys: _Input,
    values: _Input,
    Tin: _Type | None = None,
    Tout: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def LookupTableInsert(
    *,
    table_handle: _Input,
    keys: _Input,
    values: _Input,
    Tin: _Type | None = None,
    Tout: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def LookupTableInsertV2(
    *,
    table_handle: _Input,
    keys: _Input,
    values: _Input,
    Tin: _Type | None = None,
    Tout: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def LookupTableRemoveV2(*, table_handle: _Input, keys: _Input, Tin: _Type | None = None, name: str | None = None) -> Operation: ...
def LookupTableSize(*, table_handle: _Input, name: str | None = None) -> Tensor: ...
def LookupTableSizeV2(*, table_handle: _Input, name: str | None = None) -> Tensor: ...
def LoopCond(*, input: _Input, name: str | None = None) -> Tensor: ...
def LowerBound(
    *,
    sorted_inputs: _Input,
    values: _Input,
    out_type: _Type | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _Lu(typing.NamedTuple):
    lu: Tensor
    p: Tensor

def Lu(*, input: _Input, output_idx_type: _Type | None = None, T: _Type | None = None, name: str | None = None) -> _Lu: ...
def MakeIterator(*, dataset: _Input, iterator: _Input, name: str | None = None) -> Operation: ...
def MapAndBatchDataset(
    *,
    input_dataset: _Input,
    other_arguments: Sequence[_Input],
    batch_size: _Input,
    num_parallel_calls: _Input,
    drop_remainder: _Input,
    f: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    preserve_cardinality: bool | None = None,
    metadata: str | bytes | None = None,
    Targuments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def MapClear(
    *,
    dtypes: Sequence[_Type],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Operation: ...
def MapDataset(
    *,
    input_dataset: _Input,
    other_arguments: Sequence[_Input],
    f: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    use_inter_op_parallelism: bool | None = None,
    preserve_cardinality: bool | None = None,
    force_synchronous: bool | None = None,
    metadata: str | bytes | None = None,
    Targuments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def MapIncompleteSize(
    *,
    dtypes: Sequence[_Type],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def MapPeek(
    *,
    key: _Input,
    indices: _Input,
    dtypes: Sequence[_Type],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def MapSize(
    *,
    dtypes: Sequence[_Type],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def MapStage(
    *,
    key: _Input,
    indices: _Input,
    values: Sequence[_Input],
    dtypes: Sequence[_Type],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    fake_dtypes: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Operation: ...
def MapUnstage(
    *,
    key: _Input,
    indices: _Input,
    dtypes: Sequence[_Type],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
class _MapUnstageNoKey(typing.NamedTuple):
    key: Tensor
    values: list[Tensor]

def MapUnstageNoKey(
    *,
    indices: _Input,
    dtypes: Sequence[_Type],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> _MapUnstageNoKey: ...
def MatMul(
    *,
    a: _Input,
    b: _Input,
    transpose_a: bool | None = None,
    transpose_b: bool | None = None,
    grad_a: bool | None = None,
    grad_b: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MatchingFiles(*, pattern: _Input, name: str | None = None) -> Tensor: ...
def MatchingFilesDataset(*, patterns: _Input, name: str | None = None) -> Tensor: ...
def MatrixBandPart(
    *,
    input: _Input,
    num_lower: _Input,
    num_upper: _Input,
    T: _Type | None = None,
    Tindex: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MatrixDeterminant(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def MatrixDiag(*, diagonal: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def MatrixDiagPart(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def MatrixDiagPartV2(*, input: _Input, k: _Input, padding_value: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def MatrixDiagPartV3(
    *,
    input: _Input,
    k: _Input,
    padding_value: _Input,
    align: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MatrixDiagV2(
    *,
    diagonal: _Input,
    k: _Input,
    num_rows: _Input,
    num_cols: _Input,
    padding_value: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MatrixDiagV3(
    *,
    diagonal: _Input,
    k: _Input,
    num_rows: _Input,
    num_cols: _Input,
    padding_value: _Input,
    align: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MatrixExponential(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def MatrixInverse(*, input: _Input, adjoint: bool | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def MatrixLogarithm(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def MatrixSetDiag(*, input: _Input, diagonal: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def MatrixSetDiagV2(*, input: _Input, diagonal: _Input, k: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def MatrixSetDiagV3(
    *,
    input: _Input,
    diagonal: _Input,
    k: _Input,
    align: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MatrixSolve(*, matrix: _Input, rhs: _Input, adjoint: bool | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def MatrixSolveLs(
    *,
    matrix: _Input,
    rhs: _Input,
    l2_regularizer: _Input,
    fast: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MatrixSquareRoot(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def MatrixTriangularSolve(
    *,
    matrix: _Input,
    rhs: _Input,
    lower: bool | None = None,
    adjoint: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Max(
    *,
    input: _Input,
    axis: _Input,
    keep_dims: bool | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MaxBytesInUse(*, name: str | None = None) -> Tensor: ...
def MaxIntraOpParallelismDataset(
    *,
    input_dataset: _Input,
    max_intra_op_parallelism: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def MaxPool(
    *,
    input: _Input,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    explicit_paddings: Sequence[int] | None = None,
    data_format: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MaxPool3D(
    *,
    input: _Input,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MaxPool3DGrad(
    *,
    orig_input: _Input,
    orig_output: _Input,
    grad: _Input,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes | None = None,
    T: _Type | None = None,
    TInput: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MaxPool3DGradGrad(
    *,
    orig_input: _Input,
    orig_output: _Input,
    grad: _Input,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MaxPoolGrad(
    *,
    orig_input: _Input,
    orig_output: _Input,
    grad: _Input,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    explicit_paddings: Sequence[int] | None = None,
    data_format: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MaxPoolGradGrad(
    *,
    orig_input: _Input,
    orig_output: _Input,
    grad: _Input,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MaxPoolGradGradV2(
    *,
    orig_input: _Input,
    orig_output: _Input,
    grad: _Input,
    ksize: _Input,
    strides: _Input,
    padding: str | bytes,
    data_format: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MaxPoolGradGradWithArgmax(
    *,
    input: _Input,
    grad: _Input,
    argmax: _Input,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    include_batch_in_index: bool | None = None,
    T: _Type | None = None,
    Targmax: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MaxPoolGradV2(
    *,
    orig_input: _Input,
    orig_output: _Input,
    grad: _Input,
    ksize: _Input,
    strides: _Input,
    padding: str | bytes,
    data_format: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MaxPoolGradWithArgmax(
    *,
    input: _Input,
    grad: _Input,
    argmax: _Input,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    include_batch_in_index: bool | None = None,
    T: _Type | None = None,
    Targmax: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MaxPoolV2(
    *,
    input: _Input,
    ksize: _Input,
    strides: _Input,
    padding: str | bytes,
    data_format: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _MaxPoolWithArgmax(typing.NamedTuple):
    output: Tensor
    argmax: Tensor

def MaxPoolWithArgmax(
    *,
    input: _Input,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    Targmax: _Type | None = None,
    include_batch_in_index: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _MaxPoolWithArgmax: ...
def Maximum(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Mean(
    *,
    input: _Input,
    axis: _Input,
    keep_dims: bool | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _Merge(typing.NamedTuple):
    output: Tensor
    value_index: Tensor

def Merge(*, inputs: Sequence[_Input], N: int | None = None, T: _Type | None = None, name: str | None = None) -> _Merge: ...
def MergeSummary(*, inputs: Sequence[_Input], N: int | None = None, name: str | None = None) -> Tensor: ...
def MergeV2Checkpoints(
    *,
    checkpoint_prefixes: _Input,
    destination_prefix: _Input,
    delete_old_dirs: bool | None = None,
    allow_missing_files: bool | None = None,
    name: str | None = None,
) -> Operation: ...
def Mfcc(
    *,
    spectrogram: _Input,
    sample_rate: _Input,
    upper_frequency_limit: float | None = None,
    lower_frequency_limit: float | None = None,
    filterbank_channel_count: int | None = None,
    dct_coefficient_count: int | None = None,
    name: str | None = None,
) -> Tensor: ...
def Min(
    *,
    input: _Input,
    axis: _Input,
    keep_dims: bool | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Minimum(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def MirrorPad(
    *,
    input: _Input,
    paddings: _Input,
    mode: str | bytes,
    T: _Type | None = None,
    Tpaddings: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MirrorPadGrad(
    *,
    input: _Input,
    paddings: _Input,
    mode: str | bytes,
    T: _Type | None = None,
    Tpaddings: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Mod(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ModelDataset(
    *,
    input_dataset: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    algorithm: int | None = None,
    cpu_budget: int | None = None,
    ram_budget: int | None = None,
    name: str | None = None,
) -> Tensor: ...
def Mul(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def MulNoNan(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def MultiDeviceIterator(
    *,
    devices: Sequence[str | bytes],
    shared_name: str | bytes,
    container: str | bytes,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def MultiDeviceIteratorFromStringHandle(
    *,
    string_handle: _Input,
    output_types: Sequence[_Type] | None = None,
    output_shapes: Sequence[_Shape] | None = None,
    name: str | None = None,
) -> Tensor: ...
def MultiDeviceIteratorGetNextFromShard(
    *,
    multi_device_iterator: _Input,
    shard_num: _Input,
    incarnation_id: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> list[Tensor]: ...
def MultiDeviceIteratorInit(*, dataset: _Input, multi_device_iterator: _Input, max_buffer_size: _Input, name: str | None = None) -> Tensor: ...
def MultiDeviceIteratorToStringHandle(*, multi_device_iterator: _Input, name: str | None = None) -> Tensor: ...
def Multinomial(
    *,
    logits: _Input,
    num_samples: _Input,
    seed: int | None = None,
    seed2: int | None = None,
    output_dtype: _Type | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MutableDenseHashTableV2(
    *,
    empty_key: _Input,
    deleted_key: _Input,
    value_dtype: _Type,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    use_node_name_sharing: bool | None = None,
    value_shape: _Shape | None = None,
    initial_num_buckets: int | None = None,
    max_load_factor: float | None = None,
    key_dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def MutableHashTable(
    *,
    key_dtype: _Type,
    value_dtype: _Type,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    use_node_name_sharing: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
def MutableHashTableOfTensors(
    *,
    key_dtype: _Type,
    value_dtype: _Type,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    use_node_name_sharing: bool | None = None,
    value_shape: _Shape | None = None,
    name: str | None = None,
) -> Tensor: ...
def MutableHashTableOfTensorsV2(
    *,
    key_dtype: _Type,
    value_dtype: _Type,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    use_node_name_sharing: bool | None = None,
    value_shape: _Shape | None = None,
    name: str | None = None,
) -> Tensor: ...
def MutableHashTableV2(
    *,
    key_dtype: _Type,
    value_dtype: _Type,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    use_node_name_sharing: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
def MutexLock(*, mutex: _Input, name: str | None = None) -> Tensor: ...
def MutexV2(*, container: str | bytes | None = None, shared_name: str | bytes | None = None, name: str | None = None) -> Tensor: ...
def Ndtri(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
class _NearestNeighbors(typing.NamedTuple):
    nearest_center_indices: Tensor
    nearest_center_distances: Tensor

def NearestNeighbors(*, points: _Input, centers: _Input, k: _Input, name: str | None = None) -> _NearestNeighbors: ...
def Neg(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def NextAfter(*, x1: _Input, x2: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def NextIteration(*, data: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def NoOp(*, name: str | None = None) -> Operation: ...
def NonDeterministicInts(*, shape: _Input, dtype: _Type | None = None, shape_dtype: _Type | None = None, name: str | None = None) -> Tensor: ...
def NonMaxSuppression(
    *,
    boxes: _Input,
    scores: _Input,
    max_output_size: _Input,
    iou_threshold: float | None = None,
    name: str | None = None,
) -> Tensor: ...
def NonMaxSuppressionV2(
    *,
    boxes: _Input,
    scores: _Input,
    max_output_size: _Input,
    iou_threshold: _Input,
    T: _Type | None = None,
    T_threshold: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def NonMaxSuppressionV3(
    *,
    boxes: _Input,
    scores: _Input,
    max_output_size: _Input,
    iou_threshold: _Input,
    score_threshold: _Input,
    T: _Type | None = None,
    T_threshold: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _NonMaxSuppressionV4(typing.NamedTuple):
    selected_indices: Tensor
    valid_outputs: Tensor

def NonMaxSuppressionV4(
    *,
    boxes: _Input,
    scores: _Input,
    max_output_size: _Input,
    iou_threshold: _Input,
    score_threshold: _Input,
    pad_to_max_output_size: bool | None = None,
    T: _Type | None = None,
    T_threshold: _Type | None = None,
    name: str | None = None,
) -> _NonMaxSuppressionV4: ...
class _NonMaxSuppressionV5(typing.NamedTuple):
    selected_indices: Tensor
    selected_scores: Tensor
    valid_outputs: Tensor

def NonMaxSuppressionV5(
    *,
    boxes: _Input,
    scores: _Input,
    max_output_size: _Input,
    iou_threshold: _Input,
    score_threshold: _Input,
    soft_nms_sigma: _Input,
    pad_to_max_output_size: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _NonMaxSuppressionV5: ...
def NonMaxSuppressionWithOverlaps(
    *,
    overlaps: _Input,
    scores: _Input,
    max_output_size: _Input,
    overlap_threshold: _Input,
    score_threshold: _Input,
    name: str | None = None,
) -> Tensor: ...
def NonSerializableDataset(
    *,
    input_dataset: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def NotEqual(*, x: _Input, y: _Input, incompatible_shape_error: bool | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def NthElement(*, input: _Input, n: _Input, reverse: bool | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def OneHot(
    *,
    indices: _Input,
    depth: _Input,
    on_value: _Input,
    off_value: _Input,
    axis: int | None = None,
    T: _Type | None = None,
    TI: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def OneShotIterator(
    *,
    dataset_factory: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def OnesLike(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def OptimizeDataset(
    *,
    input_dataset: _Input,
    optimizations: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    optimization_configs: Sequence[str | bytes] | None = None,
    name: str | None = None,
) -> Tensor: ...
def OptimizeDatasetV2(
    *,
    input_dataset: _Input,
    optimizations_enabled: _Input,
    optimizations_disabled: _Input,
    optimizations_default: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    optimization_configs: Sequence[str | bytes] | None = None,
    name: str | None = None,
) -> Tensor: ...
def OptionalFromValue(*, components: Sequence[_Input], Toutput_types: Sequence[_Type] | None = None, name: str | None = None) -> Tensor: ...
def OptionalGetValue(
    *,
    optional: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> list[Tensor]: ...
def OptionalHasValue(*, optional: _Input, name: str | None = None) -> Tensor: ...
def OptionalNone(*, name: str | None = None) -> Tensor: ...
def OptionsDataset(
    *,
    input_dataset: _Input,
    serialized_options: str | bytes,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def OrderedMapClear(
    *,
    dtypes: Sequence[_Type],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Operation: ...
def OrderedMapIncompleteSize(
    *,
    dtypes: Sequence[_Type],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def OrderedMapPeek(
    *,
    key: _Input,
    indices: _Input,
    dtypes: Sequence[_Type],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def OrderedMapSize(
    *,
    dtypes: Sequence[_Type],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def OrderedMapStage(
    *,
    key: _Input,
    indices: _Input,
    values: Sequence[_Input],
    dtypes: Sequence[_Type],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    fake_dtypes: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Operation: ...
def OrderedMapUnstage(
    *,
    key: _Input,
    indices: _Input,
    dtypes: Sequence[_Type],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
class _OrderedMapUnstageNoKey(typing.NamedTuple):
    key: Tensor
    values: list[Tensor]

def OrderedMapUnstageNoKey(
    *,
    indices: _Input,
    dtypes: Sequence[_Type],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> _OrderedMapUnstageNoKey: ...
def Pack(*, values: Sequence[_Input], axis: int | None = None, N: int | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Pad(*, input: _Input, paddings: _Input, T: _Type | None = None, Tpaddings: _Type | None = None, name: str | None = None) -> Tensor: ...
def PadV2(
    *,
    input: _Input,
    paddings: _Input,
    constant_values: _Input,
    T: _Type | None = None,
    Tpaddings: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def PaddedBatchDataset(
    *,
    input_dataset: _Input,
    batch_size: _Input,
    padded_shapes: Sequence[_Input],
    padding_values: Sequence[_Input],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    N: int | None = None,
    Toutput_types: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def PaddedBatchDatasetV2(
    *,
    input_dataset: _Input,
    batch_size: _Input,
    padded_shapes: Sequence[_Input],
    padding_values: Sequence[_Input],
    drop_remainder: _Input,
    output_shapes: Sequence[_Shape],
    parallel_copy: bool | None = None,
    metadata: str | bytes | None = None,
    N: int | None = None,
    Toutput_types: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def PaddingFIFOQueue(
    *,
    component_types: Sequence[_Type],
    shapes: Sequence[_Shape] | None = None,
    capacity: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def PaddingFIFOQueueV2(
    *,
    component_types: Sequence[_Type],
    shapes: Sequence[_Shape] | None = None,
    capacity: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def ParallelBatchDataset(
    *,
    input_dataset: _Input,
    batch_size: _Input,
    num_parallel_calls: _Input,
    drop_remainder: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    parallel_copy: bool | None = None,
    deterministic: str | bytes | None = None,
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def ParallelConcat(*, values: Sequence[_Input], shape: _Shape, N: int | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ParallelDynamicStitch(
    *,
    indices: Sequence[_Input],
    data: Sequence[_Input],
    N: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ParallelFilterDataset(
    *,
    input_dataset: _Input,
    other_arguments: Sequence[_Input],
    num_parallel_calls: _Input,
    predicate: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    deterministic: str | bytes | None = None,
    metadata: str | bytes | None = None,
    Targuments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def ParallelInterleaveDataset(
    *,
    input_dataset: _Input,
    other_arguments: Sequence[_Input],
    cycle_length: _Input,
    block_length: _Input,
    sloppy: _Input,
    buffer_output_elements: _Input,
    prefetch_input_elements: _Input,
    f: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    Targuments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def ParallelInterleaveDatasetV2(
    *,
    input_dataset: _Input,
    other_arguments: Sequence[_Input],
    cycle_length: _Input,
    block_length: _Input,
    num_parallel_calls: _Input,
    f: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    sloppy: bool | None = None,
    metadata: str | bytes | None = None,
    Targuments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def ParallelInterleaveDatasetV3(
    *,
    input_dataset: _Input,
    other_arguments: Sequence[_Input],
    cycle_length: _Input,
    block_length: _Input,
    num_parallel_calls: _Input,
    f: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    deterministic: str | bytes | None = None,
    metadata: str | bytes | None = None,
    Targuments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def ParallelInterleaveDatasetV4(
    *,
    input_dataset: _Input,
    other_arguments: Sequence[_Input],
    cycle_length: _Input,
    block_length: _Input,
    buffer_output_elements: _Input,
    prefetch_input_elements: _Input,
    num_parallel_calls: _Input,
    f: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    deterministic: str | bytes | None = None,
    metadata: str | bytes | None = None,
    Targuments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def ParallelMapDataset(
    *,
    input_dataset: _Input,
    other_arguments: Sequence[_Input],
    num_parallel_calls: _Input,
    f: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    use_inter_op_parallelism: bool | None = None,
    sloppy: bool | None = None,
    preserve_cardinality: bool | None = None,
    metadata: str | bytes | None = None,
    Targuments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def ParallelMapDatasetV2(
    *,
    input_dataset: _Input,
    other_arguments: Sequence[_Input],
    num_parallel_calls: _Input,
    f: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    use_inter_op_parallelism: bool | None = None,
    deterministic: str | bytes | None = None,
    preserve_cardinality: bool | None = None,
    use_unbounded_threadpool: bool | None = None,
    metadata: str | bytes | None = None,
    Targuments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def ParameterizedTruncatedNormal(
    *,
    shape: _Input,
    means: _Input,
    stdevs: _Input,
    minvals: _Input,
    maxvals: _Input,
    seed: int | None = None,
    seed2: int | None = None,
    T: _Type | None = None,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _ParseExample(typing.NamedTuple):
    sparse_indices: list[Tensor]
    sparse_values: list[Tensor]
    sparse_shapes: list[Tensor]
    dense_values: list[Tensor]

def ParseExample(
    *,
    serialized: _Input,
    names: _Input,
    sparse_keys: Sequence[_Input],
    dense_keys: Sequence[_Input],
    dense_defaults: Sequence[_Input],
    sparse_types: Sequence[_Type],
    dense_shapes: Sequence[_Shape],
    Ndense: int | None = None,
    Nsparse: int | None = None,
    Tdense: Sequence[_Type] | None = None,
    name: str | None = None,
) -> _ParseExample: ...
def ParseExampleDataset(
    *,
    input_dataset: _Input,
    num_parallel_calls: _Input,
    dense_defaults: Sequence[_Input],
    sparse_keys: Sequence[str | bytes],
    dense_keys: Sequence[str | bytes],
    sparse_types: Sequence[_Type],
    dense_shapes: Sequence[_Shape],
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    sloppy: bool | None = None,
    ragged_keys: Sequence[str | bytes] | None = None,
    ragged_value_types: Sequence[_Type] | None = None,
    ragged_split_types: Sequence[_Type] | None = None,
    Tdense: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def ParseExampleDatasetV2(
    *,
    input_dataset: _Input,
    num_parallel_calls: _Input,
    dense_defaults: Sequence[_Input],
    sparse_keys: Sequence[str | bytes],
    dense_keys: Sequence[str | bytes],
    sparse_types: Sequence[_Type],
    dense_shapes: Sequence[_Shape],
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    deterministic: str | bytes | None = None,
    ragged_keys: Sequence[str | bytes] | None = None,
    ragged_value_types: Sequence[_Type] | None = None,
    ragged_split_types: Sequence[_Type] | None = None,
    Tdense: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
class _ParseExampleV2(typing.NamedTuple):
    sparse_indices: list[Tensor]
    sparse_values: list[Tensor]
    sparse_shapes: list[Tensor]
    dense_values: list[Tensor]
    ragged_values: list[Tensor]
    ragged_row_splits: list[Tensor]

def ParseExampleV2(
    *,
    serialized: _Input,
    names: _Input,
    sparse_keys: _Input,
    dense_keys: _Input,
    ragged_keys: _Input,
    dense_defaults: Sequence[_Input],
    num_sparse: int,
    sparse_types: Sequence[_Type],
    ragged_value_types: Sequence[_Type],
    ragged_split_types: Sequence[_Type],
    dense_shapes: Sequence[_Shape],
    Tdense: Sequence[_Type] | None = None,
    name: str | None = None,
) -> _ParseExampleV2: ...
class _ParseSequenceExample(typing.NamedTuple):
    context_sparse_indices: list[Tensor]
    context_sparse_values: list[Tensor]
    context_sparse_shapes: list[Tensor]
    context_dense_values: list[Tensor]
    feature_list_sparse_indices: list[Tensor]
    feature_list_sparse_values: list[Tensor]
    feature_list_sparse_shapes: list[Tensor]
    feature_list_dense_values: list[Tensor]
    feature_list_dense_lengths: list[Tensor]

def ParseSequenceExample(
    *,
    serialized: _Input,
    debug_name: _Input,
    context_dense_defaults: Sequence[_Input],
    feature_list_dense_missing_assumed_empty: Sequence[str | bytes],
    context_sparse_keys: Sequence[str | bytes],
    context_dense_keys: Sequence[str | bytes],
    feature_list_sparse_keys: Sequence[str | bytes],
    feature_list_dense_keys: Sequence[str | bytes],
    Ncontext_sparse: int | None = None,
    Ncontext_dense: int | None = None,
    Nfeature_list_sparse: int | None = None,
    Nfeature_list_dense: int | None = None,
    context_sparse_types: Sequence[_Type] | None = None,
    feature_list_dense_types: Sequence[_Type] | None = None,
    context_dense_shapes: Sequence[_Shape] | None = None,
    feature_list_sparse_types: Sequence[_Type] | None = None,
    feature_list_dense_shapes: Sequence[_Shape] | None = None,
    Tcontext_dense: Sequence[_Type] | None = None,
    name: str | None = None,
) -> _ParseSequenceExample: ...
class _ParseSequenceExampleV2(typing.NamedTuple):
    context_sparse_indices: list[Tensor]
    context_sparse_values: list[Tensor]
    context_sparse_shapes: list[Tensor]
    context_dense_values: list[Tensor]
    context_ragged_values: list[Tensor]
    context_ragged_row_splits: list[Tensor]
    feature_list_sparse_indices: list[Tensor]
    feature_list_sparse_values: list[Tensor]
    feature_list_sparse_shapes: list[Tensor]
    feature_list_dense_values: list[Tensor]
    feature_list_dense_lengths: list[Tensor]
    feature_list_ragged_values: list[Tensor]
    feature_list_ragged_outer_splits: list[Tensor]
    feature_list_ragged_inner_splits: list[Tensor]

def ParseSequenceExampleV2(
    *,
    serialized: _Input,
    debug_name: _Input,
    context_sparse_keys: _Input,
    context_dense_keys: _Input,
    context_ragged_keys: _Input,
    feature_list_sparse_keys: _Input,
    feature_list_dense_keys: _Input,
    feature_list_ragged_keys: _Input,
    feature_list_dense_missing_assumed_empty: _Input,
    context_dense_defaults: Sequence[_Input],
    Ncontext_sparse: int | None = None,
    context_sparse_types: Sequence[_Type] | None = None,
    context_ragged_value_types: Sequence[_Type] | None = None,
    context_ragged_split_types: Sequence[_Type] | None = None,
    context_dense_shapes: Sequence[_Shape] | None = None,
    Nfeature_list_sparse: int | None = None,
    Nfeature_list_dense: int | None = None,
    feature_list_dense_types: Sequence[_Type] | None = None,
    feature_list_sparse_types: Sequence[_Type] | None = None,
    feature_list_ragged_value_types: Sequence[_Type] | None = None,
    feature_list_ragged_split_types: Sequence[_Type] | None = None,
    feature_list_dense_shapes: Sequence[_Shape] | None = None,
    Tcontext_dense: Sequence[_Type] | None = None,
    name: str | None = None,
) -> _ParseSequenceExampleV2: ...
class _ParseSingleExample(typing.NamedTuple):
    sparse_indices: list[Tensor]
    sparse_values: list[Tensor]
    sparse_shapes: list[Tensor]
    dense_values: list[Tensor]

def ParseSingleExample(
    *,
    serialized: _Input,
    dense_defaults: Sequence[_Input],
    num_sparse: int,
    sparse_keys: Sequence[str | bytes],
    dense_keys: Sequence[str | bytes],
    sparse_types: Sequence[_Type],
    dense_shapes: Sequence[_Shape],
    Tdense: Sequence[_Type] | None = None,
    name: str | None = None,
) -> _ParseSingleExample: ...
class _ParseSingleSequenceExample(typing.NamedTuple):
    context_sparse_indices: list[Tensor]
    context_sparse_values: list[Tensor]
    context_sparse_shapes: list[Tensor]
    context_dense_values: list[Tensor]
    feature_list_sparse_indices: list[Tensor]
    feature_list_sparse_values: list[Tensor]
    feature_list_sparse_shapes: list[Tensor]
    feature_list_dense_values: list[Tensor]

def ParseSingleSequenceExample(
    *,
    serialized: _Input,
    feature_list_dense_missing_assumed_empty: _Input,
    context_sparse_keys: Sequence[_Input],
    context_dense_keys: Sequence[_Input],
    feature_list_sparse_keys: Sequence[_Input],
    feature_list_dense_keys: Sequence[_Input],
    context_dense_defaults: Sequence[_Input],
    debug_name: _Input,
    context_sparse_types: Sequence[_Type] | None = None,
    feature_list_dense_types: Sequence[_Type] | None = None,
    context_dense_shapes: Sequence[_Shape] | None = None,
    feature_list_sparse_types: Sequence[_Type] | None = None,
    feature_list_dense_shapes: Sequence[_Shape] | None = None,
    Ncontext_dense: int | None = None,
    Ncontext_sparse: int | None = None,
    Nfeature_list_dense: int | None = None,
    Nfeature_list_sparse: int | None = None,
    Tcontext_dense: Sequence[_Type] | None = None,
    name: str | None = None,
) -> _ParseSingleSequenceExample: ...
def ParseTensor(*, serialized: _Input, out_type: _Type, name: str | None = None) -> Tensor: ...
def PartitionedCall(
    *,
    args: Sequence[_Input],
    Tout: Sequence[_Type],
    f: typing.Any,
    config: str | bytes | None = None,
    config_proto: str | bytes | None = None,
    executor_type: str | bytes | None = None,
    Tin: Sequence[_Type] | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def Placeholder(*, dtype: _Type, shape: _Shape | None = None, name: str | None = None) -> Tensor: ...
def PlaceholderV2(*, dtype: _Type, shape: _Shape, name: str | None = None) -> Tensor: ...
def PlaceholderWithDefault(*, input: _Input, shape: _Shape, dtype: _Type | None = None, name: str | None = None) -> Tensor: ...
def Polygamma(*, a: _Input, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def PopulationCount(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Pow(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def PrefetchDataset(
    *,
    input_dataset: _Input,
    buffer_size: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    slack_period: int | None = None,
    legacy_autotune: bool | None = None,
    buffer_size_min: int | None = None,
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def PreventGradient(*, input: _Input, message: str | bytes | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Print(
    *,
    input: _Input,
    data: Sequence[_Input],
    message: str | bytes | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    T: _Type | None = None,
    U: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def PrintV2(*, input: _Input, output_stream: str | bytes | None = None, end: str | bytes | None = None, name: str | None = None) -> Operation: ...
def PriorityQueue(
    *,
    shapes: Sequence[_Shape],
    component_types: Sequence[_Type] | None = None,
    capacity: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def PriorityQueueV2(
    *,
    shapes: Sequence[_Shape],
    component_types: Sequence[_Type] | None = None,
    capacity: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def PrivateThreadPoolDataset(
    *,
    input_dataset: _Input,
    num_threads: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def Prod(
    *,
    input: _Input,
    axis: _Input,
    keep_dims: bool | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def PyFunc(
    *,
    input: Sequence[_Input],
    token: str | bytes,
    Tout: Sequence[_Type],
    Tin: Sequence[_Type] | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def PyFuncStateless(
    *,
    input: Sequence[_Input],
    token: str | bytes,
    Tout: Sequence[_Type],
    Tin: Sequence[_Type] | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
class _Qr(typing.NamedTuple):
    q: Tensor
    r: Tensor

def Qr(*, input: _Input, full_matrices: bool | None = None, T: _Type | None = None, name: str | None = None) -> _Qr: ...
def QuantizeAndDequantize(
    *,
    input: _Input,
    signed_input: bool | None = None,
    num_bits: int | None = None,
    range_given: bool | None = None,
    input_min: float | None = None,
    input_max: float | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def QuantizeAndDequantizeV2(
    *,
    input: _Input,
    input_min: _Input,
    input_max: _Input,
    signed_input: bool | None = None,
    num_bits: int | None = None,
    range_given: bool | None = None,
    round_mode: str | bytes | None = None,
    narrow_range: bool | None = None,
    axis: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def QuantizeAndDequantizeV3(
    *,
    input: _Input,
    input_min: _Input,
    input_max: _Input,
    num_bits: _Input,
    signed_input: bool | None = None,
    range_given: bool | None = None,
    narrow_range: bool | None = None,
    axis: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def QuantizeAndDequantizeV4(
    *,
    input: _Input,
    input_min: _Input,
    input_max: _Input,
    signed_input: bool | None = None,
    num_bits: int | None = None,
    range_given: bool | None = None,
    round_mode: str | bytes | None = None,
    narrow_range: bool | None = None,
    axis: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _QuantizeAndDequantizeV4Grad(typing.NamedTuple):
    input_backprop: Tensor
    input_min_backprop: Tensor
    input_max_backprop: Tensor

def QuantizeAndDequantizeV4Grad(
    *,
    gradients: _Input,
    input: _Input,
    input_min: _Input,
    input_max: _Input,
    axis: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _QuantizeAndDequantizeV4Grad: ...
class _QuantizeDownAndShrinkRange(typing.NamedTuple):
    output: Tensor
    output_min: Tensor
    output_max: Tensor

def QuantizeDownAndShrinkRange(
    *,
    input: _Input,
    input_min: _Input,
    input_max: _Input,
    out_type: _Type,
    Tinput: _Type | None = None,
    name: str | None = None,
) -> _QuantizeDownAndShrinkRange: ...
class _QuantizeV2(typing.NamedTuple):
    output: Tensor
    output_min: Tensor
    output_max: Tensor

def QuantizeV2(
    *,
    input: _Input,
    min_range: _Input,
    max_range: _Input,
    T: _Type,
    mode: str | bytes | None = None,
    round_mode: str | bytes | None = None,
    narrow_range: bool | None = None,
    axis: int | None = None,
    ensure_minimum_range: float | None = None,
    name: str | None = None,
) -> _QuantizeV2: ...
class _QuantizedAdd(typing.NamedTuple):
    z: Tensor
    min_z: Tensor
    max_z: Tensor

def QuantizedAdd(
    *,
    x: _Input,
    y: _Input,
    min_x: _Input,
    max_x: _Input,
    min_y: _Input,
    max_y: _Input,
    Toutput: _Type | None = None,
    T1: _Type | None = None,
    T2: _Type | None = None,
    name: str | None = None,
) -> _QuantizedAdd: ...
class _QuantizedAvgPool(typing.NamedTuple):
    output: Tensor
    min_output: Tensor
    max_output: Tensor

def QuantizedAvgPool(
    *,
    input: _Input,
    min_input: _Input,
    max_input: _Input,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    T: _Type | None = None,
    name: str | None = None,
) -> _QuantizedAvgPool: ...
class _QuantizedBatchNormWithGlobalNormalization(typing.NamedTuple):
    result: Tensor
    result_min: Tensor
    result_max: Tensor

def QuantizedBatchNormWithGlobalNormalization(
    *,
    t: _Input,
    t_min: _Input,
    t_max: _Input,
    m: _Input,
    m_min: _Input,
    m_max: _Input,
    v: _Input,
    v_min: _Input,
    v_max: _Input,
    beta: _Input,
    beta_min: _Input,
    beta_max: _Input,
    gamma: _Input,
    gamma_min: _Input,
    gamma_max: _Input,
    out_type: _Type,
    variance_epsilon: float,
    scale_after_normalization: bool,
    Tinput: _Type | None = None,
    name: str | None = None,
) -> _QuantizedBatchNormWithGlobalNormalization: ...
class _QuantizedBiasAdd(typing.NamedTuple):
    output: Tensor
    min_out: Tensor
    max_out: Tensor

def QuantizedBiasAdd(
    *,
    input: _Input,
    bias: _Input,
    min_input: _Input,
    max_input: _Input,
    min_bias: _Input,
    max_bias: _Input,
    out_type: _Type,
    T1: _Type | None = None,
    T2: _Type | None = None,
    name: str | None = None,
) -> _QuantizedBiasAdd: ...
class _QuantizedConcat(typing.NamedTuple):
    output: Tensor
    output_min: Tensor
    output_max: Tensor

def QuantizedConcat(
    *,
    concat_dim: _Input,
    values: Sequence[_Input],
    input_mins: Sequence[_Input],
    input_maxes: Sequence[_Input],
    N: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _QuantizedConcat: ...
class _QuantizedConv2D(typing.NamedTuple):
    output: Tensor
    min_output: Tensor
    max_output: Tensor

def QuantizedConv2D(
    *,
    input: _Input,
    filter: _Input,
    min_input: _Input,
    max_input: _Input,
    min_filter: _Input,
    max_filter: _Input,
    strides: Sequence[int],
    padding: str | bytes,
    out_type: _Type | None = None,
    dilations: Sequence[int] | None = None,
    Tfilter: _Type | None = None,
    Tinput: _Type | None = None,
    name: str | None = None,
) -> _QuantizedConv2D: ...
class _QuantizedInstanceNorm(typing.NamedTuple):
    y: Tensor
    y_min: Tensor
    y_max: Tensor

def QuantizedInstanceNorm(
    *,
    x: _Input,
    x_min: _Input,
    x_max: _Input,
    output_range_given: bool | None = None,
    given_y_min: float | None = None,
    given_y_max: float | None = None,
    variance_epsilon: float | None = None,
    min_separation: float | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _QuantizedInstanceNorm: ...
class _QuantizedMatMul(typing.NamedTuple):
    out: Tensor
    min_out: Tensor
    max_out: Tensor

def QuantizedMatMul(
    *,
    a: _Input,
    b: _Input,
    min_a: _Input,
    max_a: _Input,
    min_b: _Input,
    max_b: _Input,
    Toutput: _Type | None = None,
    transpose_a: bool | None = None,
    transpose_b: bool | None = None,
    Tactivation: _Type | None = None,
    T1: _Type | None = None,
    T2: _Type | None = None,
    name: str | None = None,
) -> _QuantizedMatMul: ...
class _QuantizedMaxPool(typing.NamedTuple):
    output: Tensor
    min_output: Tensor
    max_output: Tensor

def QuantizedMaxPool(
    *,
    input: _Input,
    min_input: _Input,
    max_input: _Input,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    T: _Type | None = None,
    name: str | None = None,
) -> _QuantizedMaxPool: ...
class _QuantizedMul(typing.NamedTuple):
    z: Tensor
    min_z: Tensor
    max_z: Tensor

def QuantizedMul(
    *,
    x: _Input,
    y: _Input,
    min_x: _Input,
    max_x: _Input,
    min_y: _Input,
    max_y: _Input,
    Toutput: _Type | None = None,
    T1: _Type | None = None,
    T2: _Type | None = None,
    name: str | None = None,
) -> _QuantizedMul: ...
class _QuantizedRelu(typing.NamedTuple):
    activations: Tensor
    min_activations: Tensor
    max_activations: Tensor

def QuantizedRelu(
    *,
    features: _Input,
    min_features: _Input,
    max_features: _Input,
    out_type: _Type | None = None,
    Tinput: _Type | None = None,
    name: str | None = None,
) -> _QuantizedRelu: ...
class _QuantizedRelu6(typing.NamedTuple):
    activations: Tensor
    min_activations: Tensor
    max_activations: Tensor

def QuantizedRelu6(
    *,
    features: _Input,
    min_features: _Input,
    max_features: _Input,
    out_type: _Type | None = None,
    Tinput: _Type | None = None,
    name: str | None = None,
) -> _QuantizedRelu6: ...
class _QuantizedReluX(typing.NamedTuple):
    activations: Tensor
    min_activations: Tensor
    max_activations: Tensor

def QuantizedReluX(
    *,
    features: _Input,
    max_value: _Input,
    min_features: _Input,
    max_features: _Input,
    out_type: _Type | None = None,
    Tinput: _Type | None = None,
    name: str | None = None,
) -> _QuantizedReluX: ...
class _QuantizedReshape(typing.NamedTuple):
    output: Tensor
    output_min: Tensor
    output_max: Tensor

def QuantizedReshape(
    *,
    tensor: _Input,
    shape: _Input,
    input_min: _Input,
    input_max: _Input,
    T: _Type | None = None,
    Tshape: _Type | None = None,
    name: str | None = None,
) -> _QuantizedReshape: ...
class _QuantizedResizeBilinear(typing.NamedTuple):
    resized_images: Tensor
    out_min: Tensor
    out_max: Tensor

def QuantizedResizeBilinear(
    *,
    images: _Input,
    size: _Input,
    min: _Input,
    max: _Input,
    align_corners: bool | None = None,
    half_pixel_centers: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _QuantizedResizeBilinear: ...
def QueueClose(*, handle: _Input, cancel_pending_enqueues: bool | None = None, name: str | None = None) -> Operation: ...
def QueueCloseV2(*, handle: _Input, cancel_pending_enqueues: bool | None = None, name: str | None = None) -> Operation: ...
def QueueDequeue(*, handle: _Input, component_types: Sequence[_Type], timeout_ms: int | None = None, name: str | None = None) -> list[Tensor]: ...
def QueueDequeueMany(
    *,
    handle: _Input,
    n: _Input,
    component_types: Sequence[_Type],
    timeout_ms: int | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def QueueDequeueManyV2(
    *,
    handle: _Input,
    n: _Input,
    component_types: Sequence[_Type],
    timeout_ms: int | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def QueueDequeueUpTo(
    *,
    handle: _Input,
    n: _Input,
    component_types: Sequence[_Type],
    timeout_ms: int | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def QueueDequeueUpToV2(
    *,
    handle: _Input,
    n: _Input,
    component_types: Sequence[_Type],
    timeout_ms: int | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def QueueDequeueV2(*, handle: _Input, component_types: Sequence[_Type], timeout_ms: int | None = None, name: str | None = None) -> list[Tensor]: ...
def QueueEnqueue(
    *,
    handle: _Input,
    components: Sequence[_Input],
    timeout_ms: int | None = None,
    Tcomponents: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Operation: ...
def QueueEnqueueMany(
    *,
    handle: _Input,
    components: Sequence[_Input],
    timeout_ms: int | None = None,
    Tcomponents: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Operation: ...
def QueueEnqueueManyV2(
    *,
    handle: _Input,
    components: Sequence[_Input],
    timeout_ms: int | None = None,
    Tcomponents: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Operation: ...
def QueueEnqueueV2(
    *,
    handle: _Input,
    components: Sequence[_Input],
    timeout_ms: int | None = None,
    Tcomponents: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Operation: ...
def QueueIsClosed(*, handle: _Input, name: str | None = None) -> Tensor: ...
def QueueIsClosedV2(*, handle: _Input, name: str | None = None) -> Tensor: ...
def QueueSize(*, handle: _Input, name: str | None = None) -> Tensor: ...
def QueueSizeV2(*, handle: _Input, name: str | None = None) -> Tensor: ...
def RFFT(*, input: _Input, fft_length: _Input, Tcomplex: _Type | None = None, Treal: _Type | None = None, name: str | None = None) -> Tensor: ...
def RFFT2D(*, input: _Input, fft_length: _Input, Tcomplex: _Type | None = None, Treal: _Type | None = None, name: str | None = None) -> Tensor: ...
def RFFT3D(*, input: _Input, fft_length: _Input, Tcomplex: _Type | None = None, Treal: _Type | None = None, name: str | None = None) -> Tensor: ...
def RFFTND(
    *,
    input: _Input,
    fft_length: _Input,
    axes: _Input,
    Tcomplex: _Type | None = None,
    Treal: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def RGBToHSV(*, images: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def RaggedBincount(
    *,
    splits: _Input,
    values: _Input,
    size: _Input,
    weights: _Input,
    binary_output: bool | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _RaggedCountSparseOutput(typing.NamedTuple):
    output_indices: Tensor
    output_values: Tensor
    output_dense_shape: Tensor

def RaggedCountSparseOutput(
    *,
    splits: _Input,
    values: _Input,
    weights: _Input,
    binary_output: bool,
    minlength: int | None = None,
    maxlength: int | None = None,
    T: _Type | None = None,
    output_type: _Type | None = None,
    name: str | None = None,
) -> _RaggedCountSparseOutput: ...
class _RaggedCross(typing.NamedTuple):
    output_values: Tensor
    output_row_splits: Tensor

def RaggedCross(
    *,
    ragged_values: Sequence[_Input],
    ragged_row_splits: Sequence[_Input],
    sparse_indices: Sequence[_Input],
    sparse_values: Sequence[_Input],
    sparse_shape: Sequence[_Input],
    dense_inputs: Sequence[_Input],
    input_order: str | bytes,
    hashed_output: bool,
    num_buckets: int,
    hash_key: int,
    out_values_type: _Type,
    out_row_splits_type: _Type,
    Nsparse: int | None = None,
    dense_types: Sequence[_Type] | None = None,
    ragged_splits_types: Sequence[_Type] | None = None,
    ragged_values_types: Sequence[_Type] | None = None,
    sparse_values_types: Sequence[_Type] | None = None,
    name: str | None = None,
) -> _RaggedCross: ...
class _RaggedFillEmptyRows(typing.NamedTuple):
    output_value_rowids: Tensor
    output_values: Tensor
    empty_row_indicator: Tensor
    reverse_index_map: Tensor

def RaggedFillEmptyRows(
    *,
    value_rowids: _Input,
    values: _Input,
    nrows: _Input,
    default_value: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> _RaggedFillEmptyRows: ...
class _RaggedFillEmptyRowsGrad(typing.NamedTuple):
    d_values: Tensor
    d_default_value: Tensor

def RaggedFillEmptyRowsGrad(
    *,
    reverse_index_map: _Input,
    grad_values: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> _RaggedFillEmptyRowsGrad: ...
class _RaggedGather(typing.NamedTuple):
    output_nested_splits: list[Tensor]
    output_dense_values: Tensor

def RaggedGather(
    *,
    params_nested_splits: Sequence[_Input],
    params_dense_values: _Input,
    indices: _Input,
    OUTPUT_RAGGED_RANK: int,
    PARAMS_RAGGED_RANK: int | None = None,
    Tindices: _Type | None = None,
    Tsplits: _Type | None = None,
    Tvalues: _Type | None = None,
    name: str | None = None,
) -> _RaggedGather: ...
class _RaggedRange(typing.NamedTuple):
    rt_nested_splits: Tensor
    rt_dense_values: Tensor

def RaggedRange(
    *,
    starts: _Input,
    limits: _Input,
    deltas: _Input,
    Tsplits: _Type | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _RaggedRange: ...
class _RaggedTensorFromVariant(typing.NamedTuple):
    output_nested_splits: list[Tensor]
    output_dense_values: Tensor

def RaggedTensorFromVariant(
    *,
    encoded_ragged: _Input,
    input_ragged_rank: int,
    output_ragged_rank: int,
    Tvalues: _Type,
    Tsplits: _Type | None = None,
    name: str | None = None,
) -> _RaggedTensorFromVariant: ...
class _RaggedTensorToSparse(typing.NamedTuple):
    sparse_indices: Tensor
    sparse_values: Tensor
    sparse_dense_shape: Tensor

def RaggedTensorToSparse(
    *,
    rt_nested_splits: Sequence[_Input],
    rt_dense_values: _Input,
    RAGGED_RANK: int | None = None,
    T: _Type | None = None,
    Tsplits: _Type | None = None,
    name: str | None = None,
) -> _RaggedTensorToSparse: ...
def RaggedTensorToTensor(
    *,
    shape: _Input,
    values: _Input,
    default_value: _Input,
    row_partition_tensors: Sequence[_Input],
    row_partition_types: Sequence[str | bytes],
    T: _Type | None = None,
    Tindex: _Type | None = None,
    Tshape: _Type | None = None,
    num_row_partition_tensors: int | None = None,
    name: str | None = None,
) -> Tensor: ...
def RaggedTensorToVariant(
    *,
    rt_nested_splits: Sequence[_Input],
    rt_dense_values: _Input,
    batched_input: bool,
    RAGGED_RANK: int | None = None,
    Tsplits: _Type | None = None,
    Tvalues: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def RaggedTensorToVariantGradient(
    *,
    encoded_ragged_grad: _Input,
    row_splits: _Input,
    dense_values_shape: _Input,
    Tvalues: _Type,
    Tsplits: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def RandomCrop(
    *,
    image: _Input,
    size: _Input,
    seed: int | None = None,
    seed2: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def RandomDataset(
    *,
    seed: _Input,
    seed2: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def RandomDatasetV2(
    *,
    seed: _Input,
    seed2: _Input,
    seed_generator: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    rerandomize_each_iteration: bool | None = None,
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def RandomGamma(
    *,
    shape: _Input,
    alpha: _Input,
    seed: int | None = None,
    seed2: int | None = None,
    S: _Type | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def RandomGammaGrad(*, alpha: _Input, sample: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def RandomIndexShuffle(
    *,
    index: _Input,
    seed: _Input,
    max_index: _Input,
    rounds: int | None = None,
    Tseed: _Type | None = None,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def RandomPoisson(
    *,
    shape: _Input,
    rate: _Input,
    seed: int | None = None,
    seed2: int | None = None,
    S: _Type | None = None,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def RandomPoissonV2(
    *,
    shape: _Input,
    rate: _Input,
    seed: int | None = None,
    seed2: int | None = None,
    dtype: _Type | None = None,
    R: _Type | None = None,
    S: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def RandomShuffle(*, value: _Input, seed: int | None = None, seed2: int | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def RandomShuffleQueue(
    *,
    component_types: Sequence[_Type],
    shapes: Sequence[_Shape] | None = None,
    capacity: int | None = None,
    min_after_dequeue: int | None = None,
    seed: int | None = None,
    seed2: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def RandomShuffleQueueV2(
    *,
    component_types: Sequence[_Type],
    shapes: Sequence[_Shape] | None = None,
    capacity: int | None = None,
    min_after_dequeue: int | None = None,
    seed: int | None = None,
    seed2: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def RandomStandardNormal(
    *,
    shape: _Input,
    dtype: _Type,
    seed: int | None = None,
    seed2: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def RandomUniform(
    *,
    shape: _Input,
    dtype: _Type,
    seed: int | None = None,
    seed2: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def RandomUniformInt(
    *,
    shape: _Input,
    minval: _Input,
    maxval: _Input,
    seed: int | None = None,
    seed2: int | None = None,
    T: _Type | None = None,
    Tout: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Range(*, start: _Input, limit: _Input, delta: _Input, Tidx: _Type | None = None, name: str | None = None) -> Tensor: ...
def RangeDataset(
    *,
    start: _Input,
    stop: _Input,
    step: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    replicate_on_split: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
def Rank(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ReadFile(*, filename: _Input, name: str | None = None) -> Tensor: ...
def ReadVariableOp(*, resource: _Input, dtype: _Type, name: str | None = None) -> Tensor: ...
def ReaderNumRecordsProduced(*, reader_handle: _Input, name: str | None = None) -> Tensor: ...
def ReaderNumRecordsProducedV2(*, reader_handle: _Input, name: str | None = None) -> Tensor: ...
def ReaderNumWorkUnitsCompleted(*, reader_handle: _Input, name: str | None = None) -> Tensor: ...
def ReaderNumWorkUnitsCompletedV2(*, reader_handle: _Input, name: str | None = None) -> Tensor: ...
class _ReaderRead(typing.NamedTuple):
    key: Tensor
    value: Tensor

def ReaderRead(*, reader_handle: _Input, queue_handle: _Input, name: str | None = None) -> _ReaderRead: ...
class _ReaderReadUpTo(typing.NamedTuple):
    keys: Tensor
    values: Tensor

def ReaderReadUpTo(*, reader_handle: _Input, queue_handle: _Input, num_records: _Input, name: str | None = None) -> _ReaderReadUpTo: ...
class _ReaderReadUpToV2(typing.NamedTuple):
    keys: Tensor
    values: Tensor

def ReaderReadUpToV2(*, reader_handle: _Input, queue_handle: _Input, num_records: _Input, name: str | None = None) -> _ReaderReadUpToV2: ...
class _ReaderReadV2(typing.NamedTuple):
    key: Tensor
    value: Tensor

def ReaderReadV2(*, reader_handle: _Input, queue_handle: _Input, name: str | None = None) -> _ReaderReadV2: ...
def ReaderReset(*, reader_handle: _Input, name: str | None = None) -> Operation: ...
def ReaderResetV2(*, reader_handle: _Input, name: str | None = None) -> Operation: ...
def ReaderRestoreState(*, reader_handle: _Input, state: _Input, name: str | None = None) -> Operation: ...
def ReaderRestoreStateV2(*, reader_handle: _Input, state: _Input, name: str | None = None) -> Operation: ...
def ReaderSerializeState(*, reader_handle: _Input, name: str | None = None) -> Tensor: ...
def ReaderSerializeStateV2(*, reader_handle: _Input, name: str | None = None) -> Tensor: ...
def Real(*, input: _Input, Tout: _Type | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def RealDiv(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def RebatchDataset(
    *,
    input_dataset: _Input,
    num_replicas: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    use_fallback: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
def RebatchDatasetV2(
    *,
    input_dataset: _Input,
    batch_sizes: _Input,
    drop_remainder: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def Reciprocal(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ReciprocalGrad(*, y: _Input, dy: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ReduceDataset(
    *,
    input_dataset: _Input,
    initial_state: Sequence[_Input],
    other_arguments: Sequence[_Input],
    f: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    use_inter_op_parallelism: bool | None = None,
    metadata: str | bytes | None = None,
    Targuments: Sequence[_Type] | None = None,
    Tstate: Sequence[_Type] | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def ReduceJoin(
    *,
    inputs: _Input,
    reduction_indices: _Input,
    keep_dims: bool | None = None,
    separator: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def RefEnter(
    *,
    data: _Input,
    frame_name: str | bytes,
    is_constant: bool | None = None,
    parallel_iterations: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def RefExit(*, data: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def RefIdentity(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
class _RefMerge(typing.NamedTuple):
    output: Tensor
    value_index: Tensor

def RefMerge(*, inputs: Sequence[_Input], N: int | None = None, T: _Type | None = None, name: str | None = None) -> _RefMerge: ...
def RefNextIteration(*, data: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def RefSelect(*, index: _Input, inputs: Sequence[_Input], N: int | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
class _RefSwitch(typing.NamedTuple):
    output_false: Tensor
    output_true: Tensor

def RefSwitch(*, data: _Input, pred: _Input, T: _Type | None = None, name: str | None = None) -> _RefSwitch: ...
def RegexFullMatch(*, input: _Input, pattern: _Input, name: str | None = None) -> Tensor: ...
def RegexReplace(*, input: _Input, pattern: _Input, rewrite: _Input, replace_global: bool | None = None, name: str | None = None) -> Tensor: ...
def Relu(*, features: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Relu6(*, features: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Relu6Grad(*, gradients: _Input, features: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ReluGrad(*, gradients: _Input, features: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def RepeatDataset(
    *,
    input_dataset: _Input,
    count: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
class _RequantizationRange(typing.NamedTuple):
    output_min: Tensor
    output_max: Tensor

def RequantizationRange(
    *,
    input: _Input,
    input_min: _Input,
    input_max: _Input,
    Tinput: _Type | None = None,
    name: str | None = None,
) -> _RequantizationRange: ...
class _RequantizationRangePerChannel(typing.NamedTuple):
    output_min: Tensor
    output_max: Tensor

def RequantizationRangePerChannel(
    *,
    input: _Input,
    input_min: _Input,
    input_max: _Input,
    clip_value_max: float,
    T: _Type | None = None,
    name: str | None = None,
) -> _RequantizationRangePerChannel: ...
class _Requantize(typing.NamedTuple):
    output: Tensor
    output_min: Tensor
    output_max: Tensor

def Requantize(
    *,
    input: _Input,
    input_min: _Input,
    input_max: _Input,
    requested_output_min: _Input,
    requested_output_max: _Input,
    out_type: _Type,
    Tinput: _Type | None = None,
    name: str | None = None,
) -> _Requantize: ...
class _RequantizePerChannel(typing.NamedTuple):
    output: Tensor
    output_min: Tensor
    output_max: Tensor

def RequantizePerChannel(
    *,
    input: _Input,
    input_min: _Input,
    input_max: _Input,
    requested_output_min: _Input,
    requested_output_max: _Input,
    out_type: _Type | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _RequantizePerChannel: ...
def Reshape(*, tensor: _Input, shape: _Input, T: _Type | None = None, Tshape: _Type | None = None, name: str | None = None) -> Tensor: ...
def ResizeArea(*, images: _Input, size: _Input, align_corners: bool | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ResizeBicubic(
    *,
    images: _Input,
    size: _Input,
    align_corners: bool | None = None,
    half_pixel_centers: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ResizeBicubicGrad(
    *,
    grads: _Input,
    original_image: _Input,
    align_corners: bool | None = None,
    half_pixel_centers: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ResizeBilinear(
    *,
    images: _Input,
    size: _Input,
    align_corners: bool | None = None,
    half_pixel_centers: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ResizeBilinearGrad(
    *,
    grads: _Input,
    original_image: _Input,
    align_corners: bool | None = None,
    half_pixel_centers: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ResizeNearestNeighbor(
    *,
    images: _Input,
    size: _Input,
    align_corners: bool | None = None,
    half_pixel_centers: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ResizeNearestNeighborGrad(
    *,
    grads: _Input,
    size: _Input,
    align_corners: bool | None = None,
    half_pixel_centers: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ResourceAccumulatorApplyGradient(
    *,
    handle: _Input,
    local_step: _Input,
    gradient: _Input,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceAccumulatorNumAccumulated(*, handle: _Input, name: str | None = None) -> Tensor: ...
def ResourceAccumulatorSetGlobalStep(*, handle: _Input, new_global_step: _Input, name: str | None = None) -> Operation: ...
def ResourceAccumulatorTakeGradient(*, handle: _Input, num_required: _Input, dtype: _Type, name: str | None = None) -> Tensor: ...
def ResourceApplyAdaMax(
    *,
    var: _Input,
    m: _Input,
    v: _Input,
    beta1_power: _Input,
    lr: _Input,
    beta1: _Input,
    beta2: _Input,
    epsilon: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceApplyAdadelta(
    *,
    var: _Input,
    accum: _Input,
    accum_update: _Input,
    lr: _Input,
    rho: _Input,
    epsilon: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceApplyAdagrad(
    *,
    var: _Input,
    accum: _Input,
    lr: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    update_slots: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceApplyAdagradDA(
    *,
    var: _Input,
    gradient_accumulator: _Input,
    gradient_squared_accumulator: _Input,
    grad: _Input,
    lr: _Input,
    l1: _Input,
    l2: _Input,
    global_step: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceApplyAdagradV2(
    *,
    var: _Input,
    accum: _Input,
    lr: _Input,
    epsilon: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    update_slots: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceApplyAdam(
    *,
    var: _Input,
    m: _Input,
    v: _Input,
    beta1_power: _Input,
    beta2_power: _Input,
    lr: _Input,
    beta1: _Input,
    beta2: _Input,
    epsilon: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    use_nesterov: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceApplyAdamWithAmsgrad(
    *,
    var: _Input,
    m: _Input,
    v: _Input,
    vhat: _Input,
    beta1_power: _Input,
    beta2_power: _Input,
    lr: _Input,
    beta1: _Input,
    beta2: _Input,
    epsilon: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceApplyAddSign(
    *,
    var: _Input,
    m: _Input,
    lr: _Input,
    alpha: _Input,
    sign_decay: _Input,
    beta: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceApplyCenteredRMSProp(
    *,
    var: _Input,
    mg: _Input,
    ms: _Input,
    mom: _Input,
    lr: _Input,
    rho: _Input,
    momentum: _Input,
    epsilon: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceApplyFtrl(
    *,
    var: _Input,
    accum: _Input,
    linear: _Input,
    grad: _Input,
    lr: _Input,
    l1: _Input,
    l2: _Input,
    lr_power: _Input,
    use_locking: bool | None = None,
    multiply_linear_by_lr: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceApplyFtrlV2(
    *,
    var: _Input,
    accum: _Input,
    linear: _Input,
    grad: _Input,
    lr: _Input,
    l1: _Input,
    l2: _Input,
    l2_shrinkage: _Input,
    lr_power: _Input,
    use_locking: bool | None = None,
    multiply_linear_by_lr: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceApplyGradientDescent(
    *,
    var: _Input,
    alpha: _Input,
    delta: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceApplyKerasMomentum(
    *,
    var: _Input,
    accum: _Input,
    lr: _Input,
    grad: _Input,
    momentum: _Input,
    use_locking: bool | None = None,
    use_nesterov: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceApplyMomentum(
    *,
    var: _Input,
    accum: _Input,
    lr: _Input,
    grad: _Input,
    momentum: _Input,
    use_locking: bool | None = None,
    use_nesterov: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceApplyPowerSign(
    *,
    var: _Input,
    m: _Input,
    lr: _Input,
    logbase: _Input,
    sign_decay: _Input,
    beta: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceApplyProximalAdagrad(
    *,
    var: _Input,
    accum: _Input,
    lr: _Input,
    l1: _Input,
    l2: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceApplyProximalGradientDescent(
    *,
    var: _Input,
    alpha: _Input,
    l1: _Input,
    l2: _Input,
    delta: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceApplyRMSProp(
    *,
    var: _Input,
    ms: _Input,
    mom: _Input,
    lr: _Input,
    rho: _Input,
    momentum: _Input,
    epsilon: _Input,
    grad: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceConditionalAccumulator(
    *,
    dtype: _Type,
    shape: _Shape,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    reduction_type: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def ResourceCountUpTo(*, resource: _Input, limit: int, T: _Type, name: str | None = None) -> Tensor: ...
def ResourceGather(
    *,
    resource: _Input,
    indices: _Input,
    dtype: _Type,
    batch_dims: int | None = None,
    validate_indices: bool | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ResourceGatherNd(*, resource: _Input, indices: _Input, dtype: _Type, Tindices: _Type | None = None, name: str | None = None) -> Tensor: ...
def ResourceScatterAdd(
    *,
    resource: _Input,
    indices: _Input,
    updates: _Input,
    Tindices: _Type | None = None,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceScatterDiv(
    *,
    resource: _Input,
    indices: _Input,
    updates: _Input,
    Tindices: _Type | None = None,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceScatterMax(
    *,
    resource: _Input,
    indices: _Input,
    updates: _Input,
    Tindices: _Type | None = None,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceScatterMin(
    *,
    resource: _Input,
    indices: _Input,
    updates: _Input,
    Tindices: _Type | None = None,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceScatterMul(
    *,
    resource: _Input,
    indices: _Input,
    updates: _Input,
    Tindices: _Type | None = None,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceScatterNdAdd(
    *,
    ref: _Input,
    indices: _Input,
    updates: _Input,
    use_locking: bool | None = None,
    bad_indices_policy: str | bytes | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceScatterNdMax(
    *,
    ref: _Input,
    indices: _Input,
    updates: _Input,
    use_locking: bool | None = None,
    bad_indices_policy: str | bytes | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceScatterNdMin(
    *,
    ref: _Input,
    indices: _Input,
    updates: _Input,
    use_locking: bool | None = None,
    bad_indices_policy: str | bytes | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceScatterNdSub(
    *,
    ref: _Input,
    indices: _Input,
    updates: _Input,
    use_locking: bool | None = None,
    bad_indices_policy: str | bytes | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceScatterNdUpdate(
    *,
    ref: _Input,
    indices: _Input,
    updates: _Input,
    use_locking: bool | None = None,
    bad_indices_policy: str | bytes | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceScatterSub(
    *,
    resource: _Input,
    indices: _Input,
    updates: _Input,
    Tindices: _Type | None = None,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceScatterUpdate(
    *,
    resource: _Input,
    indices: _Input,
    updates: _Input,
    Tindices: _Type | None = None,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceSparseApplyAdadelta(
    *,
    var: _Input,
    accum: _Input,
    accum_update: _Input,
    lr: _Input,
    rho: _Input,
    epsilon: _Input,
    grad: _Input,
    indices: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceSparseApplyAdagrad(
    *,
    var: _Input,
    accum: _Input,
    lr: _Input,
    grad: _Input,
    indices: _Input,
    use_locking: bool | None = None,
    update_slots: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceSparseApplyAdagradDA(
    *,
    var: _Input,
    gradient_accumulator: _Input,
    gradient_squared_accumulator: _Input,
    grad: _Input,
    indices: _Input,
    lr: _Input,
    l1: _Input,
    l2: _Input,
    global_step: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceSparseApplyAdagradV2(
    *,
    var: _Input,
    accum: _Input,
    lr: _Input,
    epsilon: _Input,
    grad: _Input,
    indices: _Input,
    use_locking: bool | None = None,
    update_slots: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceSparseApplyCenteredRMSProp(
    *,
    var: _Input,
    mg: _Input,
    ms: _Input,
    mom: _Input,
    lr: _Input,
    rho: _Input,
    momentum: _Input,
    epsilon: _Input,
    grad: _Input,
    indices: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceSparseApplyFtrl(
    *,
    var: _Input,
    accum: _Input,
    linear: _Input,
    grad: _Input,
    indices: _Input,
    lr: _Input,
    l1: _Input,
    l2: _Input,
    lr_power: _Input,
    use_locking: bool | None = None,
    multiply_linear_by_lr: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceSparseApplyFtrlV2(
    *,
    var: _Input,
    accum: _Input,
    linear: _Input,
    grad: _Input,
    indices: _Input,
    lr: _Input,
    l1: _Input,
    l2: _Input,
    l2_shrinkage: _Input,
    lr_power: _Input,
    use_locking: bool | None = None,
    multiply_linear_by_lr: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceSparseApplyKerasMomentum(
    *,
    var: _Input,
    accum: _Input,
    lr: _Input,
    grad: _Input,
    indices: _Input,
    momentum: _Input,
    use_locking: bool | None = None,
    use_nesterov: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceSparseApplyMomentum(
    *,
    var: _Input,
    accum: _Input,
    lr: _Input,
    grad: _Input,
    indices: _Input,
    momentum: _Input,
    use_locking: bool | None = None,
    use_nesterov: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceSparseApplyProximalAdagrad(
    *,
    var: _Input,
    accum: _Input,
    lr: _Input,
    l1: _Input,
    l2: _Input,
    grad: _Input,
    indices: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceSparseApplyProximalGradientDescent(
    *,
    var: _Input,
    alpha: _Input,
    l1: _Input,
    l2: _Input,
    grad: _Input,
    indices: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceSparseApplyRMSProp(
    *,
    var: _Input,
    ms: _Input,
    mom: _Input,
    lr: _Input,
    rho: _Input,
    momentum: _Input,
    epsilon: _Input,
    grad: _Input,
    indices: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def ResourceStridedSliceAssign(
    *,
    ref: _Input,
    begin: _Input,
    end: _Input,
    strides: _Input,
    value: _Input,
    begin_mask: int | None = None,
    end_mask: int | None = None,
    ellipsis_mask: int | None = None,
    new_axis_mask: int | None = None,
    shrink_axis_mask: int | None = None,
    Index: _Type | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
def Restore(*, file_pattern: _Input, tensor_name: _Input, dt: _Type, preferred_shard: int | None = None, name: str | None = None) -> Tensor: ...
def RestoreSlice(
    *,
    file_pattern: _Input,
    tensor_name: _Input,
    shape_and_slice: _Input,
    dt: _Type,
    preferred_shard: int | None = None,
    name: str | None = None,
) -> Tensor: ...
def RestoreV2(
    *,
    prefix: _Input,
    tensor_names: _Input,
    shape_and_slices: _Input,
    dtypes: Sequence[_Type],
    name: str | None = None,
) -> list[Tensor]: ...
def Reverse(*, tensor: _Input, dims: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ReverseSequence(
    *,
    input: _Input,
    seq_lengths: _Input,
    seq_dim: int,
    batch_dim: int | None = None,
    T: _Type | None = None,
    Tlen: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ReverseV2(*, tensor: _Input, axis: _Input, T: _Type | None = None, Tidx: _Type | None = None, name: str | None = None) -> Tensor: ...
def RewriteDataset(
    *,
    input_dataset: _Input,
    rewrite_name: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def RightShift(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Rint(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def RngReadAndSkip(*, resource: _Input, alg: _Input, delta: _Input, name: str | None = None) -> Tensor: ...
def RngSkip(*, resource: _Input, algorithm: _Input, delta: _Input, name: str | None = None) -> Operation: ...
def Roll(
    *,
    input: _Input,
    shift: _Input,
    axis: _Input,
    T: _Type | None = None,
    Taxis: _Type | None = None,
    Tshift: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Round(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Rsqrt(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def RsqrtGrad(*, y: _Input, dy: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
class _SampleDistortedBoundingBox(typing.NamedTuple):
    begin: Tensor
    size: Tensor
    bboxes: Tensor

def SampleDistortedBoundingBox(
    *,
    image_size: _Input,
    bounding_boxes: _Input,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: float | None = None,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _SampleDistortedBoundingBox: ...
class _SampleDistortedBoundingBoxV2(typing.NamedTuple):
    begin: Tensor
    size: Tensor
    bboxes: Tensor

def SampleDistortedBoundingBoxV2(
    *,
    image_size: _Input,
    bounding_boxes: _Input,
    min_object_covered: _Input,
    seed: int | None = None,
    seed2: int | None = None,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _SampleDistortedBoundingBoxV2: ...
def SamplingDataset(
    *,
    input_dataset: _Input,
    rate: _Input,
    seed: _Input,
    seed2: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def Save(
    *,
    filename: _Input,
    tensor_names: _Input,
    data: Sequence[_Input],
    T: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Operation: ...
def SaveSlices(
    *,
    filename: _Input,
    tensor_names: _Input,
    shapes_and_slices: _Input,
    data: Sequence[_Input],
    T: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Operation: ...
def SaveV2(
    *,
    prefix: _Input,
    tensor_names: _Input,
    shape_and_slices: _Input,
    tensors: Sequence[_Input],
    dtypes: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Operation: ...
def ScalarSummary(*, tags: _Input, values: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ScaleAndTranslate(
    *,
    images: _Input,
    size: _Input,
    scale: _Input,
    translation: _Input,
    kernel_type: str | bytes | None = None,
    antialias: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ScaleAndTranslateGrad(
    *,
    grads: _Input,
    original_image: _Input,
    scale: _Input,
    translation: _Input,
    kernel_type: str | bytes | None = None,
    antialias: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ScanDataset(
    *,
    input_dataset: _Input,
    initial_state: Sequence[_Input],
    other_arguments: Sequence[_Input],
    f: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    preserve_cardinality: bool | None = None,
    use_default_device: bool | None = None,
    metadata: str | bytes | None = None,
    Targuments: Sequence[_Type] | None = None,
    Tstate: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def ScatterAdd(
    *,
    ref: _Input,
    indices: _Input,
    updates: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ScatterDiv(
    *,
    ref: _Input,
    indices: _Input,
    updates: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ScatterMax(
    *,
    ref: _Input,
    indices: _Input,
    updates: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ScatterMin(
    *,
    ref: _Input,
    indices: _Input,
    updates: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ScatterMul(
    *,
    ref: _Input,
    indices: _Input,
    updates: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ScatterNd(
    *,
    indices: _Input,
    updates: _Input,
    shape: _Input,
    bad_indices_policy: str | bytes | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ScatterNdAdd(
    *,
    ref: _Input,
    indices: _Input,
    updates: _Input,
    use_locking: bool | None = None,
    bad_indices_policy: str | bytes | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ScatterNdMax(
    *,
    ref: _Input,
    indices: _Input,
    updates: _Input,
    use_locking: bool | None = None,
    bad_indices_policy: str | bytes | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ScatterNdMin(
    *,
    ref: _Input,
    indices: _Input,
    updates: _Input,
    use_locking: bool | None = None,
    bad_indices_policy: str | bytes | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ScatterNdNonAliasingAdd(
    *,
    input: _Input,
    indices: _Input,
    updates: _Input,
    bad_indices_policy: str | bytes | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ScatterNdSub(
    *,
    ref: _Input,
    indices: _Input,
    updates: _Input,
    use_locking: bool | None = None,
    bad_indices_policy: str | bytes | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ScatterNdUpdate(
    *,
    ref: _Input,
    indices: _Input,
    updates: _Input,
    use_locking: bool | None = None,
    bad_indices_policy: str | bytes | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ScatterSub(
    *,
    ref: _Input,
    indices: _Input,
    updates: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def ScatterUpdate(
    *,
    ref: _Input,
    indices: _Input,
    updates: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SdcaFprint(*, input: _Input, name: str | None = None) -> Tensor: ...
class _SdcaOptimizer(typing.NamedTuple):
    out_example_state_data: Tensor
    out_delta_sparse_weights: list[Tensor]
    out_delta_dense_weights: list[Tensor]

def SdcaOptimizer(
    *,
    sparse_example_indices: Sequence[_Input],
    sparse_feature_indices: Sequence[_Input],
    sparse_feature_values: Sequence[_Input],
    dense_features: Sequence[_Input],
    example_weights: _Input,
    example_labels: _Input,
    sparse_indices: Sequence[_Input],
    sparse_weights: Sequence[_Input],
    dense_weights: Sequence[_Input],
    example_state_data: _Input,
    loss_type: str | bytes,
    l1: float,
    l2: float,
    num_loss_partitions: int,
    num_inner_iterations: int,
    adaptative: bool | None = None,
    num_dense_features: int | None = None,
    num_sparse_features: int | None = None,
    num_sparse_features_with_values: int | None = None,
    name: str | None = None,
) -> _SdcaOptimizer: ...
class _SdcaOptimizerV2(typing.NamedTuple):
    out_example_state_data: Tensor
    out_delta_sparse_weights: list[Tensor]
    out_delta_dense_weights: list[Tensor]

def SdcaOptimizerV2(
    *,
    sparse_example_indices: Sequence[_Input],
    sparse_feature_indices: Sequence[_Input],
    sparse_feature_values: Sequence[_Input],
    dense_features: Sequence[_Input],
    example_weights: _Input,
    example_labels: _Input,
    sparse_indices: Sequence[_Input],
    sparse_weights: Sequence[_Input],
    dense_weights: Sequence[_Input],
    example_state_data: _Input,
    loss_type: str | bytes,
    l1: float,
    l2: float,
    num_loss_partitions: int,
    num_inner_iterations: int,
    adaptive: bool | None = None,
    num_dense_features: int | None = None,
    num_sparse_features: int | None = None,
    num_sparse_features_with_values: int | None = None,
    name: str | None = None,
) -> _SdcaOptimizerV2: ...
def SdcaShrinkL1(*, weights: Sequence[_Input], l1: float, l2: float, num_features: int | None = None, name: str | None = None) -> Operation: ...
def SegmentMax(*, data: _Input, segment_ids: _Input, T: _Type | None = None, Tindices: _Type | None = None, name: str | None = None) -> Tensor: ...
def SegmentMaxV2(
    *,
    data: _Input,
    segment_ids: _Input,
    num_segments: _Input,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    Tnumsegments: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SegmentMean(*, data: _Input, segment_ids: _Input, T: _Type | None = None, Tindices: _Type | None = None, name: str | None = None) -> Tensor: ...
def SegmentMin(*, data: _Input, segment_ids: _Input, T: _Type | None = None, Tindices: _Type | None = None, name: str | None = None) -> Tensor: ...
def SegmentMinV2(
    *,
    data: _Input,
    segment_ids: _Input,
    num_segments: _Input,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    Tnumsegments: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SegmentProd(*, data: _Input, segment_ids: _Input, T: _Type | None = None, Tindices: _Type | None = None, name: str | None = None) -> Tensor: ...
def SegmentProdV2(
    *,
    data: _Input,
    segment_ids: _Input,
    num_segments: _Input,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    Tnumsegments: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SegmentSum(*, data: _Input, segment_ids: _Input, T: _Type | None = None, Tindices: _Type | None = None, name: str | None = None) -> Tensor: ...
def SegmentSumV2(
    *,
    data: _Input,
    segment_ids: _Input,
    num_segments: _Input,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    Tnumsegments: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Select(*, condition: _Input, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def SelectV2(*, condition: _Input, t: _Input, e: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def SelfAdjointEig(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
class _SelfAdjointEigV2(typing.NamedTuple):
    e: Tensor
    v: Tensor

def SelfAdjointEigV2(*, input: _Input, compute_v: bool | None = None, T: _Type | None = None, name: str | None = None) -> _SelfAdjointEigV2: ...
def Selu(*, features: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def SeluGrad(*, gradients: _Input, outputs: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def SerializeIterator(*, resource_handle: _Input, external_state_policy: int | None = None, name: str | None = None) -> Tensor: ...
def SerializeManySparse(
    *,
    sparse_indices: _Input,
    sparse_values: _Input,
    sparse_shape: _Input,
    out_type: _Type | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SerializeSparse(
    *,
    sparse_indices: _Input,
    sparse_values: _Input,
    sparse_shape: _Input,
    out_type: _Type | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SerializeTensor(*, tensor: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def SetSize(
    *,
    set_indices: _Input,
    set_values: _Input,
    set_shape: _Input,
    validate_indices: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SetStatsAggregatorDataset(
    *,
    input_dataset: _Input,
    stats_aggregator: _Input,
    tag: _Input,
    counter_prefix: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def Shape(*, input: _Input, out_type: _Type | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ShapeN(
    *,
    input: Sequence[_Input],
    out_type: _Type | None = None,
    N: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def ShardDataset(
    *,
    input_dataset: _Input,
    num_shards: _Input,
    index: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    require_non_empty: bool | None = None,
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def ShardedFilename(*, basename: _Input, shard: _Input, num_shards: _Input, name: str | None = None) -> Tensor: ...
def ShardedFilespec(*, basename: _Input, num_shards: _Input, name: str | None = None) -> Tensor: ...
def ShuffleAndRepeatDataset(
    *,
    input_dataset: _Input,
    buffer_size: _Input,
    seed: _Input,
    seed2: _Input,
    count: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    reshuffle_each_iteration: bool | None = None,
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def ShuffleAndRepeatDatasetV2(
    *,
    input_dataset: _Input,
    buffer_size: _Input,
    seed: _Input,
    seed2: _Input,
    count: _Input,
    seed_generator: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    reshuffle_each_iteration: bool | None = None,
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def ShuffleDataset(
    *,
    input_dataset: _Input,
    buffer_size: _Input,
    seed: _Input,
    seed2: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    reshuffle_each_iteration: bool | None = None,
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def ShuffleDatasetV2(
    *,
    input_dataset: _Input,
    buffer_size: _Input,
    seed_generator: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def ShuffleDatasetV3(
    *,
    input_dataset: _Input,
    buffer_size: _Input,
    seed: _Input,
    seed2: _Input,
    seed_generator: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    reshuffle_each_iteration: bool | None = None,
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def Sigmoid(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def SigmoidGrad(*, y: _Input, dy: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Sign(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Sin(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Sinh(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Size(*, input: _Input, out_type: _Type | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def SkipDataset(
    *,
    input_dataset: _Input,
    count: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def SleepDataset(
    *,
    input_dataset: _Input,
    sleep_microseconds: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def Slice(*, input: _Input, begin: _Input, size: _Input, Index: _Type | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def SlidingWindowDataset(
    *,
    input_dataset: _Input,
    window_size: _Input,
    window_shift: _Input,
    window_stride: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    drop_remainder: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
def Snapshot(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def SobolSample(*, dim: _Input, num_results: _Input, skip: _Input, dtype: _Type | None = None, name: str | None = None) -> Tensor: ...
def Softmax(*, logits: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
class _SoftmaxCrossEntropyWithLogits(typing.NamedTuple):
    loss: Tensor
    backprop: Tensor

def SoftmaxCrossEntropyWithLogits(
    *,
    features: _Input,
    labels: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> _SoftmaxCrossEntropyWithLogits: ...
def Softplus(*, features: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def SoftplusGrad(*, gradients: _Input, features: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Softsign(*, features: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def SoftsignGrad(*, gradients: _Input, features: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def SpaceToBatch(
    *,
    input: _Input,
    paddings: _Input,
    block_size: int,
    T: _Type | None = None,
    Tpaddings: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SpaceToBatchND(
    *,
    input: _Input,
    block_shape: _Input,
    paddings: _Input,
    T: _Type | None = None,
    Tblock_shape: _Type | None = None,
    Tpaddings: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SpaceToDepth(
    *,
    input: _Input,
    block_size: int,
    data_format: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseAccumulatorApplyGradient(
    *,
    handle: _Input,
    local_step: _Input,
    gradient_indices: _Input,
    gradient_values: _Input,
    gradient_shape: _Input,
    has_known_shape: bool,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Operation: ...
class _SparseAccumulatorTakeGradient(typing.NamedTuple):
    indices: Tensor
    values: Tensor
    shape: Tensor

def SparseAccumulatorTakeGradient(
    *,
    handle: _Input,
    num_required: _Input,
    dtype: _Type,
    name: str | None = None,
) -> _SparseAccumulatorTakeGradient: ...
class _SparseAdd(typing.NamedTuple):
    sum_indices: Tensor
    sum_values: Tensor
    sum_shape: Tensor

def SparseAdd(
    *,
    a_indices: _Input,
    a_values: _Input,
    a_shape: _Input,
    b_indices: _Input,
    b_values: _Input,
    b_shape: _Input,
    thresh: _Input,
    T: _Type | None = None,
    Treal: _Type | None = None,
    name: str | None = None,
) -> _SparseAdd: ...
class _SparseAddGrad(typing.NamedTuple):
    a_val_grad: Tensor
    b_val_grad: Tensor

def SparseAddGrad(
    *,
    backprop_val_grad: _Input,
    a_indices: _Input,
    b_indices: _Input,
    sum_indices: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> _SparseAddGrad: ...
def SparseApplyAdadelta(
    *,
    var: _Input,
    accum: _Input,
    accum_update: _Input,
    lr: _Input,
    rho: _Input,
    epsilon: _Input,
    grad: _Input,
    indices: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseApplyAdagrad(
    *,
    var: _Input,
    accum: _Input,
    lr: _Input,
    grad: _Input,
    indices: _Input,
    use_locking: bool | None = None,
    update_slots: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseApplyAdagradDA(
    *,
    var: _Input,
    gradient_accumulator: _Input,
    gradient_squared_accumulator: _Input,
    grad: _Input,
    indices: _Input,
    lr: _Input,
    l1: _Input,
    l2: _Input,
    global_step: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseApplyAdagradV2(
    *,
    var: _Input,
    accum: _Input,
    lr: _Input,
    epsilon: _Input,
    grad: _Input,
    indices: _Input,
    use_locking: bool | None = None,
    update_slots: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseApplyCenteredRMSProp(
    *,
    var: _Input,
    mg: _Input,
    ms: _Input,
    mom: _Input,
    lr: _Input,
    rho: _Input,
    momentum: _Input,
    epsilon: _Input,
    grad: _Input,
    indices: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseApplyFtrl(
    *,
    var: _Input,
    accum: _Input,
    linear: _Input,
    grad: _Input,
    indices: _Input,
    lr: _Input,
    l1: _Input,
    l2: _Input,
    lr_power: _Input,
    use_locking: bool | None = None,
    multiply_linear_by_lr: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseApplyFtrlV2(
    *,
    var: _Input,
    accum: _Input,
    linear: _Input,
    grad: _Input,
    indices: _Input,
    lr: _Input,
    l1: _Input,
    l2: _Input,
    l2_shrinkage: _Input,
    lr_power: _Input,
    use_locking: bool | None = None,
    multiply_linear_by_lr: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseApplyMomentum(
    *,
    var: _Input,
    accum: _Input,
    lr: _Input,
    grad: _Input,
    indices: _Input,
    momentum: _Input,
    use_locking: bool | None = None,
    use_nesterov: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseApplyProximalAdagrad(
    *,
    var: _Input,
    accum: _Input,
    lr: _Input,
    l1: _Input,
    l2: _Input,
    grad: _Input,
    indices: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseApplyProximalGradientDescent(
    *,
    var: _Input,
    alpha: _Input,
    l1: _Input,
    l2: _Input,
    grad: _Input,
    indices: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseApplyRMSProp(
    *,
    var: _Input,
    ms: _Input,
    mom: _Input,
    lr: _Input,
    rho: _Input,
    momentum: _Input,
    epsilon: _Input,
    grad: _Input,
    indices: _Input,
    use_locking: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseBincount(
    *,
    indices: _Input,
    values: _Input,
    dense_shape: _Input,
    size: _Input,
    weights: _Input,
    binary_output: bool | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _SparseConcat(typing.NamedTuple):
    output_indices: Tensor
    output_values: Tensor
    output_shape: Tensor

def SparseConcat(
    *,
    indices: Sequence[_Input],
    values: Sequence[_Input],
    shapes: Sequence[_Input],
    concat_dim: int,
    N: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _SparseConcat: ...
def SparseConditionalAccumulator(
    *,
    dtype: _Type,
    shape: _Shape,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    reduction_type: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
class _SparseCountSparseOutput(typing.NamedTuple):
    output_indices: Tensor
    output_values: Tensor
    output_dense_shape: Tensor

def SparseCountSparseOutput(
    *,
    indices: _Input,
    values: _Input,
    dense_shape: _Input,
    weights: _Input,
    binary_output: bool,
    minlength: int | None = None,
    maxlength: int | None = None,
    T: _Type | None = None,
    output_type: _Type | None = None,
    name: str | None = None,
) -> _SparseCountSparseOutput: ...
class _SparseCross(typing.NamedTuple):
    output_indices: Tensor
    output_values: Tensor
    output_shape: Tensor

def SparseCross(
    *,
    indices: Sequence[_Input],
    values: Sequence[_Input],
    shapes: Sequence[_Input],
    dense_inputs: Sequence[_Input],
    hashed_output: bool,
    num_buckets: int,
    hash_key: int,
    out_type: _Type,
    internal_type: _Type,
    N: int | None = None,
    dense_types: Sequence[_Type] | None = None,
    sparse_types: Sequence[_Type] | None = None,
    name: str | None = None,
) -> _SparseCross: ...
class _SparseCrossHashed(typing.NamedTuple):
    output_indices: Tensor
    output_values: Tensor
    output_shape: Tensor

def SparseCrossHashed(
    *,
    indices: Sequence[_Input],
    values: Sequence[_Input],
    shapes: Sequence[_Input],
    dense_inputs: Sequence[_Input],
    num_buckets: _Input,
    strong_hash: _Input,
    salt: _Input,
    N: int | None = None,
    dense_types: Sequence[_Type] | None = None,
    sparse_types: Sequence[_Type] | None = None,
    name: str | None = None,
) -> _SparseCrossHashed: ...
class _SparseCrossV2(typing.NamedTuple):
    output_indices: Tensor
    output_values: Tensor
    output_shape: Tensor

def SparseCrossV2(
    *,
    indices: Sequence[_Input],
    values: Sequence[_Input],
    shapes: Sequence[_Input],
    dense_inputs: Sequence[_Input],
    sep: _Input,
    N: int | None = None,
    dense_types: Sequence[_Type] | None = None,
    sparse_types: Sequence[_Type] | None = None,
    name: str | None = None,
) -> _SparseCrossV2: ...
def SparseDenseCwiseAdd(
    *,
    sp_indices: _Input,
    sp_values: _Input,
    sp_shape: _Input,
    dense: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseDenseCwiseDiv(
    *,
    sp_indices: _Input,
    sp_values: _Input,
    sp_shape: _Input,
    dense: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseDenseCwiseMul(
    *,
    sp_indices: _Input,
    sp_values: _Input,
    sp_shape: _Input,
    dense: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _SparseFillEmptyRows(typing.NamedTuple):
    output_indices: Tensor
    output_values: Tensor
    empty_row_indicator: Tensor
    reverse_index_map: Tensor

def SparseFillEmptyRows(
    *,
    indices: _Input,
    values: _Input,
    dense_shape: _Input,
    default_value: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> _SparseFillEmptyRows: ...
class _SparseFillEmptyRowsGrad(typing.NamedTuple):
    d_values: Tensor
    d_default_value: Tensor

def SparseFillEmptyRowsGrad(
    *,
    reverse_index_map: _Input,
    grad_values: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> _SparseFillEmptyRowsGrad: ...
def SparseMatMul(
    *,
    a: _Input,
    b: _Input,
    transpose_a: bool | None = None,
    transpose_b: bool | None = None,
    a_is_sparse: bool | None = None,
    b_is_sparse: bool | None = None,
    Ta: _Type | None = None,
    Tb: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseReduceMax(
    *,
    input_indices: _Input,
    input_values: _Input,
    input_shape: _Input,
    reduction_axes: _Input,
    keep_dims: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _SparseReduceMaxSparse(typing.NamedTuple):
    output_indices: Tensor
    output_values: Tensor
    output_shape: Tensor

def SparseReduceMaxSparse(
    *,
    input_indices: _Input,
    input_values: _Input,
    input_shape: _Input,
    reduction_axes: _Input,
    keep_dims: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _SparseReduceMaxSparse: ...
def SparseReduceSum(
    *,
    input_indices: _Input,
    input_values: _Input,
    input_shape: _Input,
    reduction_axes: _Input,
    keep_dims: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _SparseReduceSumSparse(typing.NamedTuple):
    output_indices: Tensor
    output_values: Tensor
    output_shape: Tensor

def SparseReduceSumSparse(
    *,
    input_indices: _Input,
    input_values: _Input,
    input_shape: _Input,
    reduction_axes: _Input,
    keep_dims: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _SparseReduceSumSparse: ...
class _SparseReorder(typing.NamedTuple):
    output_indices: Tensor
    output_values: Tensor

def SparseReorder(
    *,
    input_indices: _Input,
    input_values: _Input,
    input_shape: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> _SparseReorder: ...
class _SparseReshape(typing.NamedTuple):
    output_indices: Tensor
    output_shape: Tensor

def SparseReshape(*, input_indices: _Input, input_shape: _Input, new_shape: _Input, name: str | None = None) -> _SparseReshape: ...
def SparseSegmentMean(
    *,
    data: _Input,
    indices: _Input,
    segment_ids: _Input,
    sparse_gradient: bool | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    Tsegmentids: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseSegmentMeanGrad(
    *,
    grad: _Input,
    indices: _Input,
    segment_ids: _Input,
    output_dim0: _Input,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    Tsegmentids: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _SparseSegmentMeanGradV2(typing.NamedTuple):
    output: Tensor
    sorted_unique_indices: Tensor

def SparseSegmentMeanGradV2(
    *,
    grad: _Input,
    indices: _Input,
    segment_ids: _Input,
    dense_output_dim0: _Input,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    Tsegmentids: _Type | None = None,
    name: str | None = None,
) -> _SparseSegmentMeanGradV2: ...
def SparseSegmentMeanWithNumSegments(
    *,
    data: _Input,
    indices: _Input,
    segment_ids: _Input,
    num_segments: _Input,
    sparse_gradient: bool | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    Tnumsegments: _Type | None = None,
    Tsegmentids: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseSegmentSqrtN(
    *,
    data: _Input,
    indices: _Input,
    segment_ids: _Input,
    sparse_gradient: bool | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    Tsegmentids: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseSegmentSqrtNGrad(
    *,
    grad: _Input,
    indices: _Input,
    segment_ids: _Input,
    output_dim0: _Input,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    Tsegmentids: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _SparseSegmentSqrtNGradV2(typing.NamedTuple):
    output: Tensor
    sorted_unique_indices: Tensor

def SparseSegmentSqrtNGradV2(
    *,
    grad: _Input,
    indices: _Input,
    segment_ids: _Input,
    dense_output_dim0: _Input,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    Tsegmentids: _Type | None = None,
    name: str | None = None,
) -> _SparseSegmentSqrtNGradV2: ...
def SparseSegmentSqrtNWithNumSegments(
    *,
    data: _Input,
    indices: _Input,
    segment_ids: _Input,
    num_segments: _Input,
    sparse_gradient: bool | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    Tnumsegments: _Type | None = None,
    Tsegmentids: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseSegmentSum(
    *,
    data: _Input,
    indices: _Input,
    segment_ids: _Input,
    sparse_gradient: bool | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    Tsegmentids: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseSegmentSumGrad(
    *,
    grad: _Input,
    indices: _Input,
    segment_ids: _Input,
    output_dim0: _Input,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    Tsegmentids: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _SparseSegmentSumGradV2(typing.NamedTuple):
    output: Tensor
    sorted_unique_indices: Tensor

def SparseSegmentSumGradV2(
    *,
    grad: _Input,
    indices: _Input,
    segment_ids: _Input,
    dense_output_dim0: _Input,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    Tsegmentids: _Type | None = None,
    name: str | None = None,
) -> _SparseSegmentSumGradV2: ...
def SparseSegmentSumWithNumSegments(
    *,
    data: _Input,
    indices: _Input,
    segment_ids: _Input,
    num_segments: _Input,
    sparse_gradient: bool | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    Tnumsegments: _Type | None = None,
    Tsegmentids: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _SparseSlice(typing.NamedTuple):
    output_indices: Tensor
    output_values: Tensor
    output_shape: Tensor

def SparseSlice(
    *,
    indices: _Input,
    values: _Input,
    shape: _Input,
    start: _Input,
    size: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> _SparseSlice: ...
def SparseSliceGrad(
    *,
    backprop_val_grad: _Input,
    input_indices: _Input,
    input_start: _Input,
    output_indices: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseSoftmax(*, sp_indices: _Input, sp_values: _Input, sp_shape: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
class _SparseSoftmaxCrossEntropyWithLogits(typing.NamedTuple):
    loss: Tensor
    backprop: Tensor

def SparseSoftmaxCrossEntropyWithLogits(
    *,
    features: _Input,
    labels: _Input,
    T: _Type | None = None,
    Tlabels: _Type | None = None,
    name: str | None = None,
) -> _SparseSoftmaxCrossEntropyWithLogits: ...
class _SparseSparseMaximum(typing.NamedTuple):
    output_indices: Tensor
    output_values: Tensor

def SparseSparseMaximum(
    *,
    a_indices: _Input,
    a_values: _Input,
    a_shape: _Input,
    b_indices: _Input,
    b_values: _Input,
    b_shape: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> _SparseSparseMaximum: ...
class _SparseSparseMinimum(typing.NamedTuple):
    output_indices: Tensor
    output_values: Tensor

def SparseSparseMinimum(
    *,
    a_indices: _Input,
    a_values: _Input,
    a_shape: _Input,
    b_indices: _Input,
    b_values: _Input,
    b_shape: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> _SparseSparseMinimum: ...
class _SparseSplit(typing.NamedTuple):
    output_indices: list[Tensor]
    output_values: list[Tensor]
    output_shape: list[Tensor]

def SparseSplit(
    *,
    split_dim: _Input,
    indices: _Input,
    values: _Input,
    shape: _Input,
    num_split: int,
    T: _Type | None = None,
    name: str | None = None,
) -> _SparseSplit: ...
def SparseTensorDenseAdd(
    *,
    a_indices: _Input,
    a_values: _Input,
    a_shape: _Input,
    b: _Input,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseTensorDenseMatMul(
    *,
    a_indices: _Input,
    a_values: _Input,
    a_shape: _Input,
    b: _Input,
    adjoint_a: bool | None = None,
    adjoint_b: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseTensorSliceDataset(
    *,
    indices: _Input,
    values: _Input,
    dense_shape: _Input,
    Tvalues: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def SparseToDense(
    *,
    sparse_indices: _Input,
    output_shape: _Input,
    sparse_values: _Input,
    default_value: _Input,
    validate_indices: bool | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _SparseToSparseSetOperation(typing.NamedTuple):
    result_indices: Tensor
    result_values: Tensor
    result_shape: Tensor

def SparseToSparseSetOperation(
    *,
    set1_indices: _Input,
    set1_values: _Input,
    set1_shape: _Input,
    set2_indices: _Input,
    set2_values: _Input,
    set2_shape: _Input,
    set_operation: str | bytes,
    validate_indices: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _SparseToSparseSetOperation: ...
def Spence(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Split(*, axis: _Input, value: _Input, num_split: int, T: _Type | None = None, name: str | None = None) -> list[Tensor]: ...
def SplitV(
    *,
    value: _Input,
    size_splits: _Input,
    axis: _Input,
    num_split: int,
    T: _Type | None = None,
    Tlen: _Type | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def Sqrt(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def SqrtGrad(*, y: _Input, dy: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Square(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def SquaredDifference(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Squeeze(*, input: _Input, axis: Sequence[int] | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Stack(*, elem_type: _Type, stack_name: str | bytes | None = None, name: str | None = None) -> Tensor: ...
def StackClose(*, handle: _Input, name: str | None = None) -> Operation: ...
def StackCloseV2(*, handle: _Input, name: str | None = None) -> Operation: ...
def StackPop(*, handle: _Input, elem_type: _Type, name: str | None = None) -> Tensor: ...
def StackPopV2(*, handle: _Input, elem_type: _Type, name: str | None = None) -> Tensor: ...
def StackPush(*, handle: _Input, elem: _Input, swap_memory: bool | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def StackPushV2(*, handle: _Input, elem: _Input, swap_memory: bool | None = None, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def StackV2(*, max_size: _Input, elem_type: _Type, stack_name: str | bytes | None = None, name: str | None = None) -> Tensor: ...
def Stage(
    *,
    values: Sequence[_Input],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    dtypes: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Operation: ...
def StageClear(
    *,
    dtypes: Sequence[_Type],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Operation: ...
def StagePeek(
    *,
    index: _Input,
    dtypes: Sequence[_Type],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def StageSize(
    *,
    dtypes: Sequence[_Type],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatefulPartitionedCall(
    *,
    args: Sequence[_Input],
    Tout: Sequence[_Type],
    f: typing.Any,
    config: str | bytes | None = None,
    config_proto: str | bytes | None = None,
    executor_type: str | bytes | None = None,
    Tin: Sequence[_Type] | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def StatefulRandomBinomial(
    *,
    resource: _Input,
    algorithm: _Input,
    shape: _Input,
    counts: _Input,
    probs: _Input,
    dtype: _Type | None = None,
    S: _Type | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatefulStandardNormal(
    *,
    resource: _Input,
    shape: _Input,
    dtype: _Type | None = None,
    shape_dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatefulStandardNormalV2(
    *,
    resource: _Input,
    algorithm: _Input,
    shape: _Input,
    dtype: _Type | None = None,
    shape_dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatefulTruncatedNormal(
    *,
    resource: _Input,
    algorithm: _Input,
    shape: _Input,
    dtype: _Type | None = None,
    shape_dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatefulUniform(
    *,
    resource: _Input,
    algorithm: _Input,
    shape: _Input,
    dtype: _Type | None = None,
    shape_dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatefulUniformFullInt(
    *,
    resource: _Input,
    algorithm: _Input,
    shape: _Input,
    dtype: _Type | None = None,
    shape_dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatefulUniformInt(
    *,
    resource: _Input,
    algorithm: _Input,
    shape: _Input,
    minval: _Input,
    maxval: _Input,
    dtype: _Type | None = None,
    shape_dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatelessCase(
    *,
    branch_index: _Input,
    input: Sequence[_Input],
    Tout: Sequence[_Type],
    branches: Sequence[typing.Any],
    output_shapes: Sequence[_Shape] | None = None,
    Tin: Sequence[_Type] | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def StatelessIf(
    *,
    cond: _Input,
    input: Sequence[_Input],
    Tout: Sequence[_Type],
    then_branch: typing.Any,
    else_branch: typing.Any,
    output_shapes: Sequence[_Shape] | None = None,
    Tcond: _Type | None = None,
    Tin: Sequence[_Type] | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def StatelessMultinomial(
    *,
    logits: _Input,
    num_samples: _Input,
    seed: _Input,
    output_dtype: _Type | None = None,
    T: _Type | None = None,
    Tseed: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatelessParameterizedTruncatedNormal(
    *,
    shape: _Input,
    seed: _Input,
    means: _Input,
    stddevs: _Input,
    minvals: _Input,
    maxvals: _Input,
    S: _Type | None = None,
    Tseed: _Type | None = None,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatelessRandomBinomial(
    *,
    shape: _Input,
    seed: _Input,
    counts: _Input,
    probs: _Input,
    dtype: _Type | None = None,
    S: _Type | None = None,
    T: _Type | None = None,
    Tseed: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatelessRandomGammaV2(
    *,
    shape: _Input,
    seed: _Input,
    alpha: _Input,
    T: _Type | None = None,
    Tseed: _Type | None = None,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatelessRandomGammaV3(
    *,
    shape: _Input,
    key: _Input,
    counter: _Input,
    alg: _Input,
    alpha: _Input,
    dtype: _Type | None = None,
    shape_dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatelessRandomGetAlg(*, name: str | None = None) -> Tensor: ...
class _StatelessRandomGetKeyCounter(typing.NamedTuple):
    key: Tensor
    counter: Tensor

def StatelessRandomGetKeyCounter(*, seed: _Input, Tseed: _Type | None = None, name: str | None = None) -> _StatelessRandomGetKeyCounter: ...
class _StatelessRandomGetKeyCounterAlg(typing.NamedTuple):
    key: Tensor
    counter: Tensor
    alg: Tensor

def StatelessRandomGetKeyCounterAlg(*, seed: _Input, Tseed: _Type | None = None, name: str | None = None) -> _StatelessRandomGetKeyCounterAlg: ...
def StatelessRandomNormal(
    *,
    shape: _Input,
    seed: _Input,
    dtype: _Type | None = None,
    T: _Type | None = None,
    Tseed: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatelessRandomNormalV2(
    *,
    shape: _Input,
    key: _Input,
    counter: _Input,
    alg: _Input,
    dtype: _Type | None = None,
    Tshape: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatelessRandomPoisson(
    *,
    shape: _Input,
    seed: _Input,
    lam: _Input,
    dtype: _Type,
    Rtype: _Type | None = None,
    T: _Type | None = None,
    Tseed: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatelessRandomUniform(
    *,
    shape: _Input,
    seed: _Input,
    dtype: _Type | None = None,
    T: _Type | None = None,
    Tseed: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatelessRandomUniformFullInt(
    *,
    shape: _Input,
    seed: _Input,
    dtype: _Type | None = None,
    T: _Type | None = None,
    Tseed: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatelessRandomUniformFullIntV2(
    *,
    shape: _Input,
    key: _Input,
    counter: _Input,
    alg: _Input,
    dtype: _Type | None = None,
    Tshape: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatelessRandomUniformInt(
    *,
    shape: _Input,
    seed: _Input,
    minval: _Input,
    maxval: _Input,
    T: _Type | None = None,
    Tseed: _Type | None = None,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatelessRandomUniformIntV2(
    *,
    shape: _Input,
    key: _Input,
    counter: _Input,
    alg: _Input,
    minval: _Input,
    maxval: _Input,
    Tshape: _Type | None = None,
    dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatelessRandomUniformV2(
    *,
    shape: _Input,
    key: _Input,
    counter: _Input,
    alg: _Input,
    dtype: _Type | None = None,
    Tshape: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _StatelessSampleDistortedBoundingBox(typing.NamedTuple):
    begin: Tensor
    size: Tensor
    bboxes: Tensor

def StatelessSampleDistortedBoundingBox(
    *,
    image_size: _Input,
    bounding_boxes: _Input,
    min_object_covered: _Input,
    seed: _Input,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    T: _Type | None = None,
    Tseed: _Type | None = None,
    name: str | None = None,
) -> _StatelessSampleDistortedBoundingBox: ...
def StatelessShuffle(*, value: _Input, key: _Input, counter: _Input, alg: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def StatelessTruncatedNormal(
    *,
    shape: _Input,
    seed: _Input,
    dtype: _Type | None = None,
    T: _Type | None = None,
    Tseed: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatelessTruncatedNormalV2(
    *,
    shape: _Input,
    key: _Input,
    counter: _Input,
    alg: _Input,
    dtype: _Type | None = None,
    Tshape: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatelessWhile(
    *,
    input: Sequence[_Input],
    cond: typing.Any,
    body: typing.Any,
    output_shapes: Sequence[_Shape] | None = None,
    parallel_iterations: int | None = None,
    T: Sequence[_Type] | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def StaticRegexFullMatch(*, input: _Input, pattern: str | bytes, name: str | None = None) -> Tensor: ...
def StaticRegexReplace(
    *,
    input: _Input,
    pattern: str | bytes,
    rewrite: str | bytes,
    replace_global: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
def StatsAggregatorHandle(*, container: str | bytes | None = None, shared_name: str | bytes | None = None, name: str | None = None) -> Tensor: ...
def StatsAggregatorHandleV2(*, container: str | bytes | None = None, shared_name: str | bytes | None = None, name: str | None = None) -> Tensor: ...
def StatsAggregatorSummary(*, iterator: _Input, name: str | None = None) -> Tensor: ...
def StopGradient(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def StridedSlice(
    *,
    input: _Input,
    begin: _Input,
    end: _Input,
    strides: _Input,
    begin_mask: int | None = None,
    end_mask: int | None = None,
    ellipsis_mask: int | None = None,
    new_axis_mask: int | None = None,
    shrink_axis_mask: int | None = None,
    Index: _Type | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StridedSliceAssign(
    *,
    ref: _Input,
    begin: _Input,
    end: _Input,
    strides: _Input,
    value: _Input,
    begin_mask: int | None = None,
    end_mask: int | None = None,
    ellipsis_mask: int | None = None,
    new_axis_mask: int | None = None,
    shrink_axis_mask: int | None = None,
    Index: _Type | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StridedSliceGrad(
    *,
    shape: _Input,
    begin: _Input,
    end: _Input,
    strides: _Input,
    dy: _Input,
    begin_mask: int | None = None,
    end_mask: int | None = None,
    ellipsis_mask: int | None = None,
    new_axis_mask: int | None = None,
    shrink_axis_mask: int | None = None,
    Index: _Type | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def StringFormat(
    *,
    inputs: Sequence[_Input],
    template: str | bytes | None = None,
    placeholder: str | bytes | None = None,
    summarize: int | None = None,
    T: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def StringJoin(*, inputs: Sequence[_Input], separator: str | bytes | None = None, N: int | None = None, name: str | None = None) -> Tensor: ...
def StringLength(*, input: _Input, unit: str | bytes | None = None, name: str | None = None) -> Tensor: ...
def StringLower(*, input: _Input, encoding: str | bytes | None = None, name: str | None = None) -> Tensor: ...
class _StringNGrams(typing.NamedTuple):
    ngrams: Tensor
    ngrams_splits: Tensor

def StringNGrams(
    *,
    data: _Input,
    data_splits: _Input,
    separator: str | bytes,
    ngram_widths: Sequence[int],
    left_pad: str | bytes,
    right_pad: str | bytes,
    pad_width: int,
    preserve_short_sequences: bool,
    Tsplits: _Type | None = None,
    name: str | None = None,
) -> _StringNGrams: ...
class _StringSplit(typing.NamedTuple):
    indices: Tensor
    values: Tensor
    shape: Tensor

def StringSplit(*, input: _Input, delimiter: _Input, skip_empty: bool | None = None, name: str | None = None) -> _StringSplit: ...
class _StringSplitV2(typing.NamedTuple):
    indices: Tensor
    values: Tensor
    shape: Tensor

def StringSplitV2(*, input: _Input, sep: _Input, maxsplit: int | None = None, name: str | None = None) -> _StringSplitV2: ...
def StringStrip(*, input: _Input, name: str | None = None) -> Tensor: ...
def StringToHashBucket(*, string_tensor: _Input, num_buckets: int, name: str | None = None) -> Tensor: ...
def StringToHashBucketFast(*, input: _Input, num_buckets: int, name: str | None = None) -> Tensor: ...
def StringToHashBucketStrong(*, input: _Input, num_buckets: int, key: Sequence[int], name: str | None = None) -> Tensor: ...
def StringToNumber(*, string_tensor: _Input, out_type: _Type | None = None, name: str | None = None) -> Tensor: ...
def StringUpper(*, input: _Input, encoding: str | bytes | None = None, name: str | None = None) -> Tensor: ...
def Sub(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Substr(
    *,
    input: _Input,
    pos: _Input,
    len: _Input,
    unit: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Sum(
    *,
    input: _Input,
    axis: _Input,
    keep_dims: bool | None = None,
    T: _Type | None = None,
    Tidx: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _Svd(typing.NamedTuple):
    s: Tensor
    u: Tensor
    v: Tensor

def Svd(
    *,
    input: _Input,
    compute_uv: bool | None = None,
    full_matrices: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> _Svd: ...
class _Switch(typing.NamedTuple):
    output_false: Tensor
    output_true: Tensor

def Switch(*, data: _Input, pred: _Input, T: _Type | None = None, name: str | None = None) -> _Switch: ...
def SymbolicGradient(
    *,
    input: Sequence[_Input],
    Tout: Sequence[_Type],
    f: typing.Any,
    Tin: Sequence[_Type] | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def TFRecordDataset(
    *,
    filenames: _Input,
    compression_type: _Input,
    buffer_size: _Input,
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def TFRecordDatasetV2(
    *,
    filenames: _Input,
    compression_type: _Input,
    buffer_size: _Input,
    byte_offsets: _Input,
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def TFRecordReader(
    *,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    compression_type: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def TFRecordReaderV2(
    *,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    compression_type: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def TakeDataset(
    *,
    input_dataset: _Input,
    count: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
class _TakeManySparseFromTensorsMap(typing.NamedTuple):
    sparse_indices: Tensor
    sparse_values: Tensor
    sparse_shape: Tensor

def TakeManySparseFromTensorsMap(
    *,
    sparse_handles: _Input,
    dtype: _Type,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> _TakeManySparseFromTensorsMap: ...
def TakeWhileDataset(
    *,
    input_dataset: _Input,
    other_arguments: Sequence[_Input],
    predicate: typing.Any,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    Targuments: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def Tan(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Tanh(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def TanhGrad(*, y: _Input, dy: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def TemporaryVariable(*, shape: _Shape, dtype: _Type, var_name: str | bytes | None = None, name: str | None = None) -> Tensor: ...
def TensorArray(
    *,
    size: _Input,
    dtype: _Type,
    dynamic_size: bool | None = None,
    clear_after_read: bool | None = None,
    tensor_array_name: str | bytes | None = None,
    element_shape: _Shape | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorArrayClose(*, handle: _Input, name: str | None = None) -> Operation: ...
def TensorArrayCloseV2(*, handle: _Input, name: str | None = None) -> Operation: ...
def TensorArrayCloseV3(*, handle: _Input, name: str | None = None) -> Operation: ...
class _TensorArrayConcat(typing.NamedTuple):
    value: Tensor
    lengths: Tensor

def TensorArrayConcat(
    *,
    handle: _Input,
    flow_in: _Input,
    dtype: _Type,
    element_shape_except0: _Shape | None = None,
    name: str | None = None,
) -> _TensorArrayConcat: ...
class _TensorArrayConcatV2(typing.NamedTuple):
    value: Tensor
    lengths: Tensor

def TensorArrayConcatV2(
    *,
    handle: _Input,
    flow_in: _Input,
    dtype: _Type,
    element_shape_except0: _Shape | None = None,
    name: str | None = None,
) -> _TensorArrayConcatV2: ...
class _TensorArrayConcatV3(typing.NamedTuple):
    value: Tensor
    lengths: Tensor

def TensorArrayConcatV3(
    *,
    handle: _Input,
    flow_in: _Input,
    dtype: _Type,
    element_shape_except0: _Shape | None = None,
    name: str | None = None,
) -> _TensorArrayConcatV3: ...
def TensorArrayGather(
    *,
    handle: _Input,
    indices: _Input,
    flow_in: _Input,
    dtype: _Type,
    element_shape: _Shape | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorArrayGatherV2(
    *,
    handle: _Input,
    indices: _Input,
    flow_in: _Input,
    dtype: _Type,
    element_shape: _Shape | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorArrayGatherV3(
    *,
    handle: _Input,
    indices: _Input,
    flow_in: _Input,
    dtype: _Type,
    element_shape: _Shape | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorArrayGrad(*, handle: _Input, flow_in: _Input, source: str | bytes, name: str | None = None) -> Tensor: ...
def TensorArrayGradV2(*, handle: _Input, flow_in: _Input, source: str | bytes, name: str | None = None) -> Tensor: ...
class _TensorArrayGradV3(typing.NamedTuple):
    grad_handle: Tensor
    flow_out: Tensor

def TensorArrayGradV3(*, handle: _Input, flow_in: _Input, source: str | bytes, name: str | None = None) -> _TensorArrayGradV3: ...
class _TensorArrayGradWithShape(typing.NamedTuple):
    grad_handle: Tensor
    flow_out: Tensor

def TensorArrayGradWithShape(
    *,
    handle: _Input,
    flow_in: _Input,
    shape_to_prepend: _Input,
    source: str | bytes,
    name: str | None = None,
) -> _TensorArrayGradWithShape: ...
def TensorArrayPack(*, handle: _Input, flow_in: _Input, dtype: _Type, element_shape: _Shape | None = None, name: str | None = None) -> Tensor: ...
def TensorArrayRead(*, handle: _Input, index: _Input, flow_in: _Input, dtype: _Type, name: str | None = None) -> Tensor: ...
def TensorArrayReadV2(*, handle: _Input, index: _Input, flow_in: _Input, dtype: _Type, name: str | None = None) -> Tensor: ...
def TensorArrayReadV3(*, handle: _Input, index: _Input, flow_in: _Input, dtype: _Type, name: str | None = None) -> Tensor: ...
def TensorArrayScatter(
    *,
    handle: _Input,
    indices: _Input,
    value: _Input,
    flow_in: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorArrayScatterV2(
    *,
    handle: _Input,
    indices: _Input,
    value: _Input,
    flow_in: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorArrayScatterV3(
    *,
    handle: _Input,
    indices: _Input,
    value: _Input,
    flow_in: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorArraySize(*, handle: _Input, flow_in: _Input, name: str | None = None) -> Tensor: ...
def TensorArraySizeV2(*, handle: _Input, flow_in: _Input, name: str | None = None) -> Tensor: ...
def TensorArraySizeV3(*, handle: _Input, flow_in: _Input, name: str | None = None) -> Tensor: ...
def TensorArraySplit(
    *,
    handle: _Input,
    value: _Input,
    lengths: _Input,
    flow_in: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorArraySplitV2(
    *,
    handle: _Input,
    value: _Input,
    lengths: _Input,
    flow_in: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorArraySplitV3(
    *,
    handle: _Input,
    value: _Input,
    lengths: _Input,
    flow_in: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorArrayUnpack(*, handle: _Input, value: _Input, flow_in: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def TensorArrayV2(
    *,
    size: _Input,
    dtype: _Type,
    element_shape: _Shape | None = None,
    dynamic_size: bool | None = None,
    clear_after_read: bool | None = None,
    tensor_array_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
class _TensorArrayV3(typing.NamedTuple):
    handle: Tensor
    flow: Tensor

def TensorArrayV3(
    *,
    size: _Input,
    dtype: _Type,
    element_shape: _Shape | None = None,
    dynamic_size: bool | None = None,
    clear_after_read: bool | None = None,
    identical_element_shapes: bool | None = None,
    tensor_array_name: str | bytes | None = None,
    name: str | None = None,
) -> _TensorArrayV3: ...
def TensorArrayWrite(*, handle: _Input, index: _Input, value: _Input, flow_in: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def TensorArrayWriteV2(
    *,
    handle: _Input,
    index: _Input,
    value: _Input,
    flow_in: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorArrayWriteV3(
    *,
    handle: _Input,
    index: _Input,
    value: _Input,
    flow_in: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorDataset(
    *,
    components: Sequence[_Input],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    Toutput_types: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
class _TensorListConcat(typing.NamedTuple):
    tensor: Tensor
    lengths: Tensor

def TensorListConcat(
    *,
    input_handle: _Input,
    element_dtype: _Type,
    element_shape: _Shape | None = None,
    name: str | None = None,
) -> _TensorListConcat: ...
def TensorListConcatLists(*, input_a: _Input, input_b: _Input, element_dtype: _Type, name: str | None = None) -> Tensor: ...
class _TensorListConcatV2(typing.NamedTuple):
    tensor: Tensor
    lengths: Tensor

def TensorListConcatV2(
    *,
    input_handle: _Input,
    element_shape: _Input,
    leading_dims: _Input,
    element_dtype: _Type,
    shape_type: _Type | None = None,
    name: str | None = None,
) -> _TensorListConcatV2: ...
def TensorListElementShape(*, input_handle: _Input, shape_type: _Type, name: str | None = None) -> Tensor: ...
def TensorListFromTensor(
    *,
    tensor: _Input,
    element_shape: _Input,
    element_dtype: _Type | None = None,
    shape_type: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorListGather(*, input_handle: _Input, indices: _Input, element_shape: _Input, element_dtype: _Type, name: str | None = None) -> Tensor: ...
def TensorListGetItem(
    *,
    input_handle: _Input,
    index: _Input,
    element_shape: _Input,
    element_dtype: _Type,
    Tshape: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorListLength(*, input_handle: _Input, name: str | None = None) -> Tensor: ...
class _TensorListPopBack(typing.NamedTuple):
    output_handle: Tensor
    tensor: Tensor

def TensorListPopBack(*, input_handle: _Input, element_shape: _Input, element_dtype: _Type, name: str | None = None) -> _TensorListPopBack: ...
def TensorListPushBack(*, input_handle: _Input, tensor: _Input, element_dtype: _Type | None = None, name: str | None = None) -> Tensor: ...
def TensorListPushBackBatch(*, input_handles: _Input, tensor: _Input, element_dtype: _Type | None = None, name: str | None = None) -> Tensor: ...
def TensorListReserve(
    *,
    element_shape: _Input,
    num_elements: _Input,
    element_dtype: _Type,
    shape_type: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorListResize(*, input_handle: _Input, size: _Input, name: str | None = None) -> Tensor: ...
def TensorListScatter(
    *,
    tensor: _Input,
    indices: _Input,
    element_shape: _Input,
    element_dtype: _Type | None = None,
    shape_type: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorListScatterIntoExistingList(
    *,
    input_handle: _Input,
    tensor: _Input,
    indices: _Input,
    element_dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorListScatterV2(
    *,
    tensor: _Input,
    indices: _Input,
    element_shape: _Input,
    num_elements: _Input,
    element_dtype: _Type | None = None,
    shape_type: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorListSetItem(
    *,
    input_handle: _Input,
    index: _Input,
    item: _Input,
    resize_if_index_out_of_bounds: bool | None = None,
    element_dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorListSplit(
    *,
    tensor: _Input,
    element_shape: _Input,
    lengths: _Input,
    element_dtype: _Type | None = None,
    shape_type: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorListStack(
    *,
    input_handle: _Input,
    element_shape: _Input,
    element_dtype: _Type,
    num_elements: int | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorMapErase(*, input_handle: _Input, key: _Input, value_dtype: _Type, key_dtype: _Type | None = None, name: str | None = None) -> Tensor: ...
def TensorMapHasKey(*, input_handle: _Input, key: _Input, key_dtype: _Type | None = None, name: str | None = None) -> Tensor: ...
def TensorMapInsert(
    *,
    input_handle: _Input,
    key: _Input,
    value: _Input,
    key_dtype: _Type | None = None,
    value_dtype: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorMapLookup(*, input_handle: _Input, key: _Input, value_dtype: _Type, key_dtype: _Type | None = None, name: str | None = None) -> Tensor: ...
def TensorMapSize(*, input_handle: _Input, name: str | None = None) -> Tensor: ...
def TensorMapStackKeys(*, input_handle: _Input, key_dtype: _Type, name: str | None = None) -> Tensor: ...
def TensorScatterAdd(
    *,
    tensor: _Input,
    indices: _Input,
    updates: _Input,
    bad_indices_policy: str | bytes | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorScatterMax(
    *,
    tensor: _Input,
    indices: _Input,
    updates: _Input,
    bad_indices_policy: str | bytes | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorScatterMin(
    *,
    tensor: _Input,
    indices: _Input,
    updates: _Input,
    bad_indices_policy: str | bytes | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorScatterSub(
    *,
    tensor: _Input,
    indices: _Input,
    updates: _Input,
    bad_indices_policy: str | bytes | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorScatterUpdate(
    *,
    tensor: _Input,
    indices: _Input,
    updates: _Input,
    bad_indices_policy: str | bytes | None = None,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorSliceDataset(
    *,
    components: Sequence[_Input],
    output_shapes: Sequence[_Shape],
    is_files: bool | None = None,
    metadata: str | bytes | None = None,
    replicate_on_split: bool | None = None,
    Toutput_types: Sequence[_Type] | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorStridedSliceUpdate(
    *,
    input: _Input,
    begin: _Input,
    end: _Input,
    strides: _Input,
    value: _Input,
    begin_mask: int | None = None,
    end_mask: int | None = None,
    ellipsis_mask: int | None = None,
    new_axis_mask: int | None = None,
    shrink_axis_mask: int | None = None,
    Index: _Type | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorSummary(
    *,
    tensor: _Input,
    description: str | bytes | None = None,
    labels: Sequence[str | bytes] | None = None,
    display_name: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TensorSummaryV2(
    *,
    tag: _Input,
    tensor: _Input,
    serialized_summary_metadata: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TextLineDataset(
    *,
    filenames: _Input,
    compression_type: _Input,
    buffer_size: _Input,
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def TextLineReader(
    *,
    skip_header_lines: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def TextLineReaderV2(
    *,
    skip_header_lines: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def ThreadPoolDataset(
    *,
    input_dataset: _Input,
    thread_pool: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    name: str | None = None,
) -> Tensor: ...
def ThreadPoolHandle(
    *,
    num_threads: int,
    display_name: str | bytes,
    max_intra_op_parallelism: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
class _ThreadUnsafeUnigramCandidateSampler(typing.NamedTuple):
    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor

def ThreadUnsafeUnigramCandidateSampler(
    *,
    true_classes: _Input,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    seed2: int | None = None,
    name: str | None = None,
) -> _ThreadUnsafeUnigramCandidateSampler: ...
def Tile(*, input: _Input, multiples: _Input, T: _Type | None = None, Tmultiples: _Type | None = None, name: str | None = None) -> Tensor: ...
def TileGrad(*, input: _Input, multiples: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Timestamp(*, name: str | None = None) -> Tensor: ...
def ToBool(*, input: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
class _TopK(typing.NamedTuple):
    values: Tensor
    indices: Tensor

def TopK(*, input: _Input, k: int, sorted: bool | None = None, T: _Type | None = None, name: str | None = None) -> _TopK: ...
class _TopKV2(typing.NamedTuple):
    values: Tensor
    indices: Tensor

def TopKV2(
    *,
    input: _Input,
    k: _Input,
    sorted: bool | None = None,
    index_type: _Type | None = None,
    T: _Type | None = None,
    Tk: _Type | None = None,
    name: str | None = None,
) -> _TopKV2: ...
def Transpose(*, x: _Input, perm: _Input, T: _Type | None = None, Tperm: _Type | None = None, name: str | None = None) -> Tensor: ...
def TridiagonalMatMul(
    *,
    superdiag: _Input,
    maindiag: _Input,
    subdiag: _Input,
    rhs: _Input,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TridiagonalSolve(
    *,
    diagonals: _Input,
    rhs: _Input,
    partial_pivoting: bool | None = None,
    perturb_singular: bool | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def TruncateDiv(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def TruncateMod(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def TruncatedNormal(
    *,
    shape: _Input,
    dtype: _Type,
    seed: int | None = None,
    seed2: int | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Unbatch(
    *,
    batched_tensor: _Input,
    batch_index: _Input,
    id: _Input,
    timeout_micros: int,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def UnbatchDataset(
    *,
    input_dataset: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def UnbatchGrad(
    *,
    original_input: _Input,
    batch_index: _Input,
    grad: _Input,
    id: _Input,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
class _UnicodeDecode(typing.NamedTuple):
    row_splits: Tensor
    char_values: Tensor

def UnicodeDecode(
    *,
    input: _Input,
    input_encoding: str | bytes,
    errors: str | bytes | None = None,
    replacement_char: int | None = None,
    replace_control_characters: bool | None = None,
    Tsplits: _Type | None = None,
    name: str | None = None,
) -> _UnicodeDecode: ...
class _UnicodeDecodeWithOffsets(typing.NamedTuple):
    row_splits: Tensor
    char_values: Tensor
    char_to_byte_starts: Tensor

def UnicodeDecodeWithOffsets(
    *,
    input: _Input,
    input_encoding: str | bytes,
    errors: str | bytes | None = None,
    replacement_char: int | None = None,
    replace_control_characters: bool | None = None,
    Tsplits: _Type | None = None,
    name: str | None = None,
) -> _UnicodeDecodeWithOffsets: ...
def UnicodeEncode(
    *,
    input_values: _Input,
    input_splits: _Input,
    output_encoding: str | bytes,
    errors: str | bytes | None = None,
    replacement_char: int | None = None,
    Tsplits: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def UnicodeScript(*, input: _Input, name: str | None = None) -> Tensor: ...
def UnicodeTranscode(
    *,
    input: _Input,
    input_encoding: str | bytes,
    output_encoding: str | bytes,
    errors: str | bytes | None = None,
    replacement_char: int | None = None,
    replace_control_characters: bool | None = None,
    name: str | None = None,
) -> Tensor: ...
class _UniformCandidateSampler(typing.NamedTuple):
    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor

def UniformCandidateSampler(
    *,
    true_classes: _Input,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    seed2: int | None = None,
    name: str | None = None,
) -> _UniformCandidateSampler: ...
class _Unique(typing.NamedTuple):
    y: Tensor
    idx: Tensor

def Unique(*, x: _Input, out_idx: _Type | None = None, T: _Type | None = None, name: str | None = None) -> _Unique: ...
def UniqueDataset(
    *,
    input_dataset: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
class _UniqueV2(typing.NamedTuple):
    y: Tensor
    idx: Tensor

def UniqueV2(
    *,
    x: _Input,
    axis: _Input,
    out_idx: _Type | None = None,
    T: _Type | None = None,
    Taxis: _Type | None = None,
    name: str | None = None,
) -> _UniqueV2: ...
class _UniqueWithCounts(typing.NamedTuple):
    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]

def UniqueWithCounts(*, x: _Input, out_idx: _Type | None = None, T: _Type | None = None, name: str | None = None) -> _UniqueWithCounts: ...
class _UniqueWithCountsV2(typing.NamedTuple):
    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]

def UniqueWithCountsV2(
    *,
    x: _Input,
    axis: _Input,
    out_idx: _Type | None = None,
    T: _Type | None = None,
    Taxis: _Type | None = None,
    name: str | None = None,
) -> _UniqueWithCountsV2: ...
def Unpack(*, value: _Input, num: int, axis: int | None = None, T: _Type | None = None, name: str | None = None) -> list[Tensor]: ...
def UnravelIndex(*, indices: _Input, dims: _Input, Tidx: _Type | None = None, name: str | None = None) -> Tensor: ...
def UnsortedSegmentJoin(
    *,
    inputs: _Input,
    segment_ids: _Input,
    num_segments: _Input,
    separator: str | bytes | None = None,
    Tindices: _Type | None = None,
    Tnumsegments: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def UnsortedSegmentMax(
    *,
    data: _Input,
    segment_ids: _Input,
    num_segments: _Input,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    Tnumsegments: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def UnsortedSegmentMin(
    *,
    data: _Input,
    segment_ids: _Input,
    num_segments: _Input,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    Tnumsegments: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def UnsortedSegmentProd(
    *,
    data: _Input,
    segment_ids: _Input,
    num_segments: _Input,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    Tnumsegments: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def UnsortedSegmentSum(
    *,
    data: _Input,
    segment_ids: _Input,
    num_segments: _Input,
    T: _Type | None = None,
    Tindices: _Type | None = None,
    Tnumsegments: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def Unstage(
    *,
    dtypes: Sequence[_Type],
    capacity: int | None = None,
    memory_limit: int | None = None,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def UnwrapDatasetVariant(*, input_handle: _Input, name: str | None = None) -> Tensor: ...
def UpperBound(
    *,
    sorted_inputs: _Input,
    values: _Input,
    out_type: _Type | None = None,
    T: _Type | None = None,
    name: str | None = None,
) -> Tensor: ...
def VarHandleOp(
    *,
    dtype: _Type,
    shape: _Shape,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    debug_name: str | bytes | None = None,
    allowed_devices: Sequence[str | bytes] | None = None,
    name: str | None = None,
) -> Tensor: ...
def VarIsInitializedOp(*, resource: _Input, name: str | None = None) -> Tensor: ...
def Variable(
    *,
    shape: _Shape,
    dtype: _Type,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def VariableShape(*, input: _Input, out_type: _Type | None = None, name: str | None = None) -> Tensor: ...
def VariableV2(
    *,
    shape: _Shape,
    dtype: _Type,
    container: str | bytes | None = None,
    shared_name: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def Where(*, condition: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def While(
    *,
    input: Sequence[_Input],
    cond: typing.Any,
    body: typing.Any,
    output_shapes: Sequence[_Shape] | None = None,
    parallel_iterations: int | None = None,
    T: Sequence[_Type] | None = None,
    name: str | None = None,
) -> list[Tensor]: ...
def WholeFileReader(*, container: str | bytes | None = None, shared_name: str | bytes | None = None, name: str | None = None) -> Tensor: ...
def WholeFileReaderV2(*, container: str | bytes | None = None, shared_name: str | bytes | None = None, name: str | None = None) -> Tensor: ...
def WindowDataset(
    *,
    input_dataset: _Input,
    size: _Input,
    shift: _Input,
    stride: _Input,
    drop_remainder: _Input,
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    name: str | None = None,
) -> Tensor: ...
def WrapDatasetVariant(*, input_handle: _Input, name: str | None = None) -> Tensor: ...
def WriteFile(*, filename: _Input, contents: _Input, name: str | None = None) -> Operation: ...
def Xdivy(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Xlog1py(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Xlogy(*, x: _Input, y: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ZerosLike(*, x: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def Zeta(*, x: _Input, q: _Input, T: _Type | None = None, name: str | None = None) -> Tensor: ...
def ZipDataset(
    *,
    input_datasets: Sequence[_Input],
    output_types: Sequence[_Type],
    output_shapes: Sequence[_Shape],
    metadata: str | bytes | None = None,
    N: int | None = None,
    name: str | None = None,
) -> Tensor: ...
