//! Methods for the ops of the catalogue, made from their signatures by `tests/generated_ops.rs`.

use super::{Input, NodeBuilder, Output};
use crate::proto::NameAttrList;
use crate::{DType, NodeId, PartialShape, Result};

/// The methods of ops, for [`GraphBuilder`](crate::GraphBuilder) and [`NodeBuilder`].
///
/// Each adds a node. Its inputs and the attributes that have no default are arguments; an optional attribute is set before:
/// `b.node().attr("transpose_b", true).mat_mul(x, w)`. Attributes that follow from inputs, such as their types, need not be given. An input is a tensor
/// or a value that becomes a constant; a list of tensors is a slice. Names and meanings are TensorFlow's.
///
/// Every method returns the errors of [`NodeBuilder::finish`].
#[allow(clippy::too_many_arguments, clippy::wrong_self_convention)]
pub trait Ops<'b>: Sized {
    /// Begins a node of the op called `op`, whose inputs follow.
    fn op_node(self, op: &'static str) -> NodeBuilder<'b>;

    /// Adds a `Const` node: a number, an array of numbers, text, or a tensor.
    fn constant(self, value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        let value = value.into().into_tensor()?;
        self.op_node("Const").attr("value", &value).attr("dtype", value.dtype()).output()
    }

    /// Adds a `Placeholder` node: a tensor that is fed. A size of -1 is not known.
    fn placeholder(self, dtype: DType, shape: impl Into<PartialShape>) -> Result<Output<'b>> {
        self.op_node("Placeholder").attr("dtype", dtype).attr("shape", shape.into()).output()
    }

    /// Adds an `Abort` node. Optional: `error_msg: string = ""`, `exit_without_error: bool = false`.
    fn abort(self) -> Result<NodeId> {
        self.op_node("Abort").finish()
    }

    /// Adds an `Abs` node with input `x: T`; output `y: T`.
    fn abs(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Abs").input(x).output()
    }

    /// Adds an `AccumulateNV2` node with input `inputs: N * T`; attribute `shape: shape`; output `sum: T`.
    fn accumulate_n_v2(self, inputs: &[Output<'b>], shape: impl Into<PartialShape>) -> Result<Output<'b>> {
        self.op_node("AccumulateNV2").input_list(inputs).attr("shape", shape.into()).output()
    }

    /// Adds an `AccumulatorApplyGradient` node with inputs `handle: Ref(string)`, `local_step: int64`, `gradient: dtype`.
    fn accumulator_apply_gradient(self, handle: impl Into<Input<'b>>, local_step: impl Into<Input<'b>>, gradient: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("AccumulatorApplyGradient").input(handle).input(local_step).input(gradient).finish()
    }

    /// Adds an `AccumulatorNumAccumulated` node with input `handle: Ref(string)`; output `num_accumulated: int32`.
    fn accumulator_num_accumulated(self, handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("AccumulatorNumAccumulated").input(handle).output()
    }

    /// Adds an `AccumulatorSetGlobalStep` node with inputs `handle: Ref(string)`, `new_global_step: int64`.
    fn accumulator_set_global_step(self, handle: impl Into<Input<'b>>, new_global_step: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("AccumulatorSetGlobalStep").input(handle).input(new_global_step).finish()
    }

    /// Adds an `AccumulatorTakeGradient` node with inputs `handle: Ref(string)`, `num_required: int32`; attribute `dtype: type`; output `average: dtype`.
    fn accumulator_take_gradient(self, handle: impl Into<Input<'b>>, num_required: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("AccumulatorTakeGradient").input(handle).input(num_required).attr("dtype", dtype).output()
    }

    /// Adds an `Acos` node with input `x: T`; output `y: T`.
    fn acos(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Acos").input(x).output()
    }

    /// Adds an `Acosh` node with input `x: T`; output `y: T`.
    fn acosh(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Acosh").input(x).output()
    }

    /// Adds an `Add` node with inputs `x: T`, `y: T`; output `z: T`.
    fn add(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Add").input(x).input(y).output()
    }

    /// Adds an `AddManySparseToTensorsMap` node with inputs `sparse_indices: int64`, `sparse_values: T`, `sparse_shape: int64`; output `sparse_handles: int64`. Optional: `container: string = ""`, `shared_name: string = ""`.
    fn add_many_sparse_to_tensors_map(self, sparse_indices: impl Into<Input<'b>>, sparse_values: impl Into<Input<'b>>, sparse_shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("AddManySparseToTensorsMap").input(sparse_indices).input(sparse_values).input(sparse_shape).output()
    }

    /// Adds an `AddN` node with input `inputs: N * T`; output `sum: T`.
    fn add_n(self, inputs: &[Output<'b>]) -> Result<Output<'b>> {
        self.op_node("AddN").input_list(inputs).output()
    }

    /// Adds an `AddSparseToTensorsMap` node with inputs `sparse_indices: int64`, `sparse_values: T`, `sparse_shape: int64`; output `sparse_handle: int64`. Optional: `container: string = ""`, `shared_name: string = ""`.
    fn add_sparse_to_tensors_map(self, sparse_indices: impl Into<Input<'b>>, sparse_values: impl Into<Input<'b>>, sparse_shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("AddSparseToTensorsMap").input(sparse_indices).input(sparse_values).input(sparse_shape).output()
    }

    /// Adds an `AddV2` node with inputs `x: T`, `y: T`; output `z: T`.
    fn add_v2(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("AddV2").input(x).input(y).output()
    }

    /// Adds an `AdjustContrast` node with inputs `images: T`, `contrast_factor: float`, `min_value: float`, `max_value: float`; output `output: float`.
    fn adjust_contrast(self, images: impl Into<Input<'b>>, contrast_factor: impl Into<Input<'b>>, min_value: impl Into<Input<'b>>, max_value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("AdjustContrast").input(images).input(contrast_factor).input(min_value).input(max_value).output()
    }

    /// Adds an `AdjustContrastv2` node with inputs `images: T`, `contrast_factor: float`; output `output: T`.
    fn adjust_contrastv2(self, images: impl Into<Input<'b>>, contrast_factor: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("AdjustContrastv2").input(images).input(contrast_factor).output()
    }

    /// Adds an `AdjustHue` node with inputs `images: T`, `delta: float`; output `output: T`.
    fn adjust_hue(self, images: impl Into<Input<'b>>, delta: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("AdjustHue").input(images).input(delta).output()
    }

    /// Adds an `AdjustSaturation` node with inputs `images: T`, `scale: float`; output `output: T`.
    fn adjust_saturation(self, images: impl Into<Input<'b>>, scale: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("AdjustSaturation").input(images).input(scale).output()
    }

    /// Adds an `All` node with inputs `input: bool`, `reduction_indices: Tidx`; output `output: bool`. Optional: `keep_dims: bool = false`.
    fn all(self, input: impl Into<Input<'b>>, reduction_indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("All").input(input).input(reduction_indices).output()
    }

    /// Adds an `AllCandidateSampler` node with input `true_classes: int64`; attributes `num_true: int`, `num_sampled: int`, `unique: bool`; outputs `sampled_candidates: int64`, `true_expected_count: float`, `sampled_expected_count: float`. Optional: `seed: int = 0`, `seed2: int = 0`.
    fn all_candidate_sampler(self, true_classes: impl Into<Input<'b>>, num_true: i64, num_sampled: i64, unique: bool) -> Result<[Output<'b>; 3]> {
        self.op_node("AllCandidateSampler").input(true_classes).attr("num_true", num_true).attr("num_sampled", num_sampled).attr("unique", unique).outputs()
    }

    /// Adds an `Angle` node with input `input: T`; output `output: Tout`. Optional: `Tout: type = f32`.
    fn angle(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Angle").input(input).output()
    }

    /// Adds an `AnonymousHashTable` node with attributes `key_dtype: type`, `value_dtype: type`; output `table_handle: resource`.
    fn anonymous_hash_table(self, key_dtype: DType, value_dtype: DType) -> Result<Output<'b>> {
        self.op_node("AnonymousHashTable").attr("key_dtype", key_dtype).attr("value_dtype", value_dtype).output()
    }

    /// Adds an `AnonymousIterator` node with attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: resource`.
    fn anonymous_iterator(self, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("AnonymousIterator").attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `AnonymousIteratorV2` node with attributes `output_types: list(type)`, `output_shapes: list(shape)`; outputs `handle: resource`, `deleter: variant`.
    fn anonymous_iterator_v2(self, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<[Output<'b>; 2]> {
        self.op_node("AnonymousIteratorV2").attr("output_types", output_types).attr("output_shapes", output_shapes).outputs()
    }

    /// Adds an `AnonymousIteratorV3` node with attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: resource`.
    fn anonymous_iterator_v3(self, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("AnonymousIteratorV3").attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `AnonymousMemoryCache` node with outputs `handle: resource`, `deleter: variant`.
    fn anonymous_memory_cache(self) -> Result<[Output<'b>; 2]> {
        self.op_node("AnonymousMemoryCache").outputs()
    }

    /// Adds an `AnonymousMultiDeviceIterator` node with attributes `devices: list(string)`, `output_types: list(type)`, `output_shapes: list(shape)`; outputs `handle: resource`, `deleter: variant`.
    fn anonymous_multi_device_iterator(self, devices: &[&str], output_types: &[DType], output_shapes: &[PartialShape]) -> Result<[Output<'b>; 2]> {
        self.op_node("AnonymousMultiDeviceIterator").attr("devices", devices).attr("output_types", output_types).attr("output_shapes", output_shapes).outputs()
    }

    /// Adds an `AnonymousMultiDeviceIteratorV3` node with attributes `devices: list(string)`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: resource`.
    fn anonymous_multi_device_iterator_v3(self, devices: &[&str], output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("AnonymousMultiDeviceIteratorV3").attr("devices", devices).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `AnonymousMutableDenseHashTable` node with inputs `empty_key: key_dtype`, `deleted_key: key_dtype`; attribute `value_dtype: type`; output `table_handle: resource`. Optional: `value_shape: shape = []`, `initial_num_buckets: int = 131072`, `max_load_factor: float = 0.8`.
    fn anonymous_mutable_dense_hash_table(self, empty_key: impl Into<Input<'b>>, deleted_key: impl Into<Input<'b>>, value_dtype: DType) -> Result<Output<'b>> {
        self.op_node("AnonymousMutableDenseHashTable").input(empty_key).input(deleted_key).attr("value_dtype", value_dtype).output()
    }

    /// Adds an `AnonymousMutableHashTable` node with attributes `key_dtype: type`, `value_dtype: type`; output `table_handle: resource`.
    fn anonymous_mutable_hash_table(self, key_dtype: DType, value_dtype: DType) -> Result<Output<'b>> {
        self.op_node("AnonymousMutableHashTable").attr("key_dtype", key_dtype).attr("value_dtype", value_dtype).output()
    }

    /// Adds an `AnonymousMutableHashTableOfTensors` node with attributes `key_dtype: type`, `value_dtype: type`; output `table_handle: resource`. Optional: `value_shape: shape = []`.
    fn anonymous_mutable_hash_table_of_tensors(self, key_dtype: DType, value_dtype: DType) -> Result<Output<'b>> {
        self.op_node("AnonymousMutableHashTableOfTensors").attr("key_dtype", key_dtype).attr("value_dtype", value_dtype).output()
    }

    /// Adds an `AnonymousRandomSeedGenerator` node with inputs `seed: int64`, `seed2: int64`; outputs `handle: resource`, `deleter: variant`.
    fn anonymous_random_seed_generator(self, seed: impl Into<Input<'b>>, seed2: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("AnonymousRandomSeedGenerator").input(seed).input(seed2).outputs()
    }

    /// Adds an `AnonymousSeedGenerator` node with inputs `seed: int64`, `seed2: int64`, `reshuffle: bool`; outputs `handle: resource`, `deleter: variant`.
    fn anonymous_seed_generator(self, seed: impl Into<Input<'b>>, seed2: impl Into<Input<'b>>, reshuffle: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("AnonymousSeedGenerator").input(seed).input(seed2).input(reshuffle).outputs()
    }

    /// Adds an `Any` node with inputs `input: bool`, `reduction_indices: Tidx`; output `output: bool`. Optional: `keep_dims: bool = false`.
    fn any(self, input: impl Into<Input<'b>>, reduction_indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Any").input(input).input(reduction_indices).output()
    }

    /// Adds an `ApplyAdaMax` node with inputs `var: Ref(T)`, `m: Ref(T)`, `v: Ref(T)`, `beta1_power: T`, `lr: T`, `beta1: T`, `beta2: T`, `epsilon: T`, `grad: T`; output `out: Ref(T)`. Optional: `use_locking: bool = false`.
    fn apply_ada_max(self, var: impl Into<Input<'b>>, m: impl Into<Input<'b>>, v: impl Into<Input<'b>>, beta1_power: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, beta1: impl Into<Input<'b>>, beta2: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ApplyAdaMax").input(var).input(m).input(v).input(beta1_power).input(lr).input(beta1).input(beta2).input(epsilon).input(grad).output()
    }

    /// Adds an `ApplyAdadelta` node with inputs `var: Ref(T)`, `accum: Ref(T)`, `accum_update: Ref(T)`, `lr: T`, `rho: T`, `epsilon: T`, `grad: T`; output `out: Ref(T)`. Optional: `use_locking: bool = false`.
    fn apply_adadelta(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, accum_update: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, rho: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ApplyAdadelta").input(var).input(accum).input(accum_update).input(lr).input(rho).input(epsilon).input(grad).output()
    }

    /// Adds an `ApplyAdagrad` node with inputs `var: Ref(T)`, `accum: Ref(T)`, `lr: T`, `grad: T`; output `out: Ref(T)`. Optional: `use_locking: bool = false`, `update_slots: bool = true`.
    fn apply_adagrad(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ApplyAdagrad").input(var).input(accum).input(lr).input(grad).output()
    }

    /// Adds an `ApplyAdagradDA` node with inputs `var: Ref(T)`, `gradient_accumulator: Ref(T)`, `gradient_squared_accumulator: Ref(T)`, `grad: T`, `lr: T`, `l1: T`, `l2: T`, `global_step: int64`; output `out: Ref(T)`. Optional: `use_locking: bool = false`.
    fn apply_adagrad_da(self, var: impl Into<Input<'b>>, gradient_accumulator: impl Into<Input<'b>>, gradient_squared_accumulator: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, global_step: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ApplyAdagradDA").input(var).input(gradient_accumulator).input(gradient_squared_accumulator).input(grad).input(lr).input(l1).input(l2).input(global_step).output()
    }

    /// Adds an `ApplyAdagradV2` node with inputs `var: Ref(T)`, `accum: Ref(T)`, `lr: T`, `epsilon: T`, `grad: T`; output `out: Ref(T)`. Optional: `use_locking: bool = false`, `update_slots: bool = true`.
    fn apply_adagrad_v2(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ApplyAdagradV2").input(var).input(accum).input(lr).input(epsilon).input(grad).output()
    }

    /// Adds an `ApplyAdam` node with inputs `var: Ref(T)`, `m: Ref(T)`, `v: Ref(T)`, `beta1_power: T`, `beta2_power: T`, `lr: T`, `beta1: T`, `beta2: T`, `epsilon: T`, `grad: T`; output `out: Ref(T)`. Optional: `use_locking: bool = false`, `use_nesterov: bool = false`.
    fn apply_adam(self, var: impl Into<Input<'b>>, m: impl Into<Input<'b>>, v: impl Into<Input<'b>>, beta1_power: impl Into<Input<'b>>, beta2_power: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, beta1: impl Into<Input<'b>>, beta2: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ApplyAdam").input(var).input(m).input(v).input(beta1_power).input(beta2_power).input(lr).input(beta1).input(beta2).input(epsilon).input(grad).output()
    }

    /// Adds an `ApplyAddSign` node with inputs `var: Ref(T)`, `m: Ref(T)`, `lr: T`, `alpha: T`, `sign_decay: T`, `beta: T`, `grad: T`; output `out: Ref(T)`. Optional: `use_locking: bool = false`.
    fn apply_add_sign(self, var: impl Into<Input<'b>>, m: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, alpha: impl Into<Input<'b>>, sign_decay: impl Into<Input<'b>>, beta: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ApplyAddSign").input(var).input(m).input(lr).input(alpha).input(sign_decay).input(beta).input(grad).output()
    }

    /// Adds an `ApplyCenteredRMSProp` node with inputs `var: Ref(T)`, `mg: Ref(T)`, `ms: Ref(T)`, `mom: Ref(T)`, `lr: T`, `rho: T`, `momentum: T`, `epsilon: T`, `grad: T`; output `out: Ref(T)`. Optional: `use_locking: bool = false`.
    fn apply_centered_rms_prop(self, var: impl Into<Input<'b>>, mg: impl Into<Input<'b>>, ms: impl Into<Input<'b>>, mom: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, rho: impl Into<Input<'b>>, momentum: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ApplyCenteredRMSProp").input(var).input(mg).input(ms).input(mom).input(lr).input(rho).input(momentum).input(epsilon).input(grad).output()
    }

    /// Adds an `ApplyFtrl` node with inputs `var: Ref(T)`, `accum: Ref(T)`, `linear: Ref(T)`, `grad: T`, `lr: T`, `l1: T`, `l2: T`, `lr_power: T`; output `out: Ref(T)`. Optional: `use_locking: bool = false`, `multiply_linear_by_lr: bool = false`.
    fn apply_ftrl(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, linear: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, lr_power: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ApplyFtrl").input(var).input(accum).input(linear).input(grad).input(lr).input(l1).input(l2).input(lr_power).output()
    }

    /// Adds an `ApplyFtrlV2` node with inputs `var: Ref(T)`, `accum: Ref(T)`, `linear: Ref(T)`, `grad: T`, `lr: T`, `l1: T`, `l2: T`, `l2_shrinkage: T`, `lr_power: T`; output `out: Ref(T)`. Optional: `use_locking: bool = false`, `multiply_linear_by_lr: bool = false`.
    fn apply_ftrl_v2(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, linear: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, l2_shrinkage: impl Into<Input<'b>>, lr_power: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ApplyFtrlV2").input(var).input(accum).input(linear).input(grad).input(lr).input(l1).input(l2).input(l2_shrinkage).input(lr_power).output()
    }

    /// Adds an `ApplyGradientDescent` node with inputs `var: Ref(T)`, `alpha: T`, `delta: T`; output `out: Ref(T)`. Optional: `use_locking: bool = false`.
    fn apply_gradient_descent(self, var: impl Into<Input<'b>>, alpha: impl Into<Input<'b>>, delta: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ApplyGradientDescent").input(var).input(alpha).input(delta).output()
    }

    /// Adds an `ApplyMomentum` node with inputs `var: Ref(T)`, `accum: Ref(T)`, `lr: T`, `grad: T`, `momentum: T`; output `out: Ref(T)`. Optional: `use_locking: bool = false`, `use_nesterov: bool = false`.
    fn apply_momentum(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, momentum: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ApplyMomentum").input(var).input(accum).input(lr).input(grad).input(momentum).output()
    }

    /// Adds an `ApplyPowerSign` node with inputs `var: Ref(T)`, `m: Ref(T)`, `lr: T`, `logbase: T`, `sign_decay: T`, `beta: T`, `grad: T`; output `out: Ref(T)`. Optional: `use_locking: bool = false`.
    fn apply_power_sign(self, var: impl Into<Input<'b>>, m: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, logbase: impl Into<Input<'b>>, sign_decay: impl Into<Input<'b>>, beta: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ApplyPowerSign").input(var).input(m).input(lr).input(logbase).input(sign_decay).input(beta).input(grad).output()
    }

    /// Adds an `ApplyProximalAdagrad` node with inputs `var: Ref(T)`, `accum: Ref(T)`, `lr: T`, `l1: T`, `l2: T`, `grad: T`; output `out: Ref(T)`. Optional: `use_locking: bool = false`.
    fn apply_proximal_adagrad(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ApplyProximalAdagrad").input(var).input(accum).input(lr).input(l1).input(l2).input(grad).output()
    }

    /// Adds an `ApplyProximalGradientDescent` node with inputs `var: Ref(T)`, `alpha: T`, `l1: T`, `l2: T`, `delta: T`; output `out: Ref(T)`. Optional: `use_locking: bool = false`.
    fn apply_proximal_gradient_descent(self, var: impl Into<Input<'b>>, alpha: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, delta: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ApplyProximalGradientDescent").input(var).input(alpha).input(l1).input(l2).input(delta).output()
    }

    /// Adds an `ApplyRMSProp` node with inputs `var: Ref(T)`, `ms: Ref(T)`, `mom: Ref(T)`, `lr: T`, `rho: T`, `momentum: T`, `epsilon: T`, `grad: T`; output `out: Ref(T)`. Optional: `use_locking: bool = false`.
    fn apply_rms_prop(self, var: impl Into<Input<'b>>, ms: impl Into<Input<'b>>, mom: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, rho: impl Into<Input<'b>>, momentum: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ApplyRMSProp").input(var).input(ms).input(mom).input(lr).input(rho).input(momentum).input(epsilon).input(grad).output()
    }

    /// Adds an `ApproxTopK` node with input `input: T`; attribute `k: int`; outputs `values: T`, `indices: int32`. Optional: `reduction_dimension: int = -1`, `recall_target: float = 0.95`, `is_max_k: bool = true`, `reduction_input_size_override: int = -1`, `aggregate_to_topk: bool = true`.
    fn approx_top_k(self, input: impl Into<Input<'b>>, k: i64) -> Result<[Output<'b>; 2]> {
        self.op_node("ApproxTopK").input(input).attr("k", k).outputs()
    }

    /// Adds an `ApproximateEqual` node with inputs `x: T`, `y: T`; output `z: bool`. Optional: `tolerance: float = 0.00001`.
    fn approximate_equal(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ApproximateEqual").input(x).input(y).output()
    }

    /// Adds an `ArgMax` node with inputs `input: T`, `dimension: Tidx`; output `output: output_type`. Optional: `output_type: type = i64`.
    fn arg_max(self, input: impl Into<Input<'b>>, dimension: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ArgMax").input(input).input(dimension).output()
    }

    /// Adds an `ArgMin` node with inputs `input: T`, `dimension: Tidx`; output `output: output_type`. Optional: `output_type: type = i64`.
    fn arg_min(self, input: impl Into<Input<'b>>, dimension: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ArgMin").input(input).input(dimension).output()
    }

    /// Adds an `AsString` node with input `input: T`; output `output: string`. Optional: `precision: int = -1`, `scientific: bool = false`, `shortest: bool = false`, `width: int = -1`, `fill: string = ""`.
    fn as_string(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("AsString").input(input).output()
    }

    /// Adds an `Asin` node with input `x: T`; output `y: T`.
    fn asin(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Asin").input(x).output()
    }

    /// Adds an `Asinh` node with input `x: T`; output `y: T`.
    fn asinh(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Asinh").input(x).output()
    }

    /// Adds an `Assert` node with inputs `condition: bool`, `data: T`. Optional: `summarize: int = 3`.
    fn assert(self, condition: impl Into<Input<'b>>, data: &[Output<'b>]) -> Result<NodeId> {
        self.op_node("Assert").input(condition).input_list(data).finish()
    }

    /// Adds an `AssertCardinalityDataset` node with inputs `input_dataset: variant`, `cardinality: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn assert_cardinality_dataset(self, input_dataset: impl Into<Input<'b>>, cardinality: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("AssertCardinalityDataset").input(input_dataset).input(cardinality).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `AssertNextDataset` node with inputs `input_dataset: variant`, `transformations: string`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn assert_next_dataset(self, input_dataset: impl Into<Input<'b>>, transformations: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("AssertNextDataset").input(input_dataset).input(transformations).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `AssertPrevDataset` node with inputs `input_dataset: variant`, `transformations: string`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn assert_prev_dataset(self, input_dataset: impl Into<Input<'b>>, transformations: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("AssertPrevDataset").input(input_dataset).input(transformations).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `Assign` node with inputs `ref: Ref(T)`, `value: T`; output `output_ref: Ref(T)`. Optional: `validate_shape: bool = true`, `use_locking: bool = true`.
    fn assign(self, ref_: impl Into<Input<'b>>, value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Assign").input(ref_).input(value).output()
    }

    /// Adds an `AssignAdd` node with inputs `ref: Ref(T)`, `value: T`; output `output_ref: Ref(T)`. Optional: `use_locking: bool = false`.
    fn assign_add(self, ref_: impl Into<Input<'b>>, value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("AssignAdd").input(ref_).input(value).output()
    }

    /// Adds an `AssignAddVariableOp` node with inputs `resource: resource`, `value: dtype`.
    fn assign_add_variable_op(self, resource: impl Into<Input<'b>>, value: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("AssignAddVariableOp").input(resource).input(value).finish()
    }

    /// Adds an `AssignSub` node with inputs `ref: Ref(T)`, `value: T`; output `output_ref: Ref(T)`. Optional: `use_locking: bool = false`.
    fn assign_sub(self, ref_: impl Into<Input<'b>>, value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("AssignSub").input(ref_).input(value).output()
    }

    /// Adds an `AssignSubVariableOp` node with inputs `resource: resource`, `value: dtype`.
    fn assign_sub_variable_op(self, resource: impl Into<Input<'b>>, value: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("AssignSubVariableOp").input(resource).input(value).finish()
    }

    /// Adds an `AssignVariableOp` node with inputs `resource: resource`, `value: dtype`. Optional: `validate_shape: bool = false`.
    fn assign_variable_op(self, resource: impl Into<Input<'b>>, value: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("AssignVariableOp").input(resource).input(value).finish()
    }

    /// Adds an `Atan` node with input `x: T`; output `y: T`.
    fn atan(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Atan").input(x).output()
    }

    /// Adds an `Atan2` node with inputs `y: T`, `x: T`; output `z: T`.
    fn atan2(self, y: impl Into<Input<'b>>, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Atan2").input(y).input(x).output()
    }

    /// Adds an `Atanh` node with input `x: T`; output `y: T`.
    fn atanh(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Atanh").input(x).output()
    }

    /// Adds an `AudioSpectrogram` node with input `input: float`; attributes `window_size: int`, `stride: int`; output `spectrogram: float`. Optional: `magnitude_squared: bool = false`.
    fn audio_spectrogram(self, input: impl Into<Input<'b>>, window_size: i64, stride: i64) -> Result<Output<'b>> {
        self.op_node("AudioSpectrogram").input(input).attr("window_size", window_size).attr("stride", stride).output()
    }

    /// Adds an `AudioSummary` node with inputs `tag: string`, `tensor: float`; attribute `sample_rate: float`; output `summary: string`. Optional: `max_outputs: int = 3`.
    fn audio_summary(self, tag: impl Into<Input<'b>>, tensor: impl Into<Input<'b>>, sample_rate: f32) -> Result<Output<'b>> {
        self.op_node("AudioSummary").input(tag).input(tensor).attr("sample_rate", sample_rate).output()
    }

    /// Adds an `AudioSummaryV2` node with inputs `tag: string`, `tensor: float`, `sample_rate: float`; output `summary: string`. Optional: `max_outputs: int = 3`.
    fn audio_summary_v2(self, tag: impl Into<Input<'b>>, tensor: impl Into<Input<'b>>, sample_rate: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("AudioSummaryV2").input(tag).input(tensor).input(sample_rate).output()
    }

    /// Adds an `AutoShardDataset` node with inputs `input_dataset: variant`, `num_workers: int64`, `index: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `auto_shard_policy: int = 0`, `num_replicas: int = 0`.
    fn auto_shard_dataset(self, input_dataset: impl Into<Input<'b>>, num_workers: impl Into<Input<'b>>, index: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("AutoShardDataset").input(input_dataset).input(num_workers).input(index).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `AvgPool` node with input `value: T`; attributes `ksize: list(int)`, `strides: list(int)`, `padding: string`; output `output: T`. Optional: `data_format: string = "NHWC"`.
    fn avg_pool(self, value: impl Into<Input<'b>>, ksize: &[i64], strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("AvgPool").input(value).attr("ksize", ksize).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds an `AvgPool3D` node with input `input: T`; attributes `ksize: list(int)`, `strides: list(int)`, `padding: string`; output `output: T`. Optional: `data_format: string = "NDHWC"`.
    fn avg_pool3d(self, input: impl Into<Input<'b>>, ksize: &[i64], strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("AvgPool3D").input(input).attr("ksize", ksize).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds an `AvgPool3DGrad` node with inputs `orig_input_shape: int32`, `grad: T`; attributes `ksize: list(int)`, `strides: list(int)`, `padding: string`; output `output: T`. Optional: `data_format: string = "NDHWC"`.
    fn avg_pool3d_grad(self, orig_input_shape: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, ksize: &[i64], strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("AvgPool3DGrad").input(orig_input_shape).input(grad).attr("ksize", ksize).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds an `AvgPoolGrad` node with inputs `orig_input_shape: int32`, `grad: T`; attributes `ksize: list(int)`, `strides: list(int)`, `padding: string`; output `output: T`. Optional: `data_format: string = "NHWC"`.
    fn avg_pool_grad(self, orig_input_shape: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, ksize: &[i64], strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("AvgPoolGrad").input(orig_input_shape).input(grad).attr("ksize", ksize).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `BandedTriangularSolve` node with inputs `matrix: T`, `rhs: T`; output `output: T`. Optional: `lower: bool = true`, `adjoint: bool = false`.
    fn banded_triangular_solve(self, matrix: impl Into<Input<'b>>, rhs: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BandedTriangularSolve").input(matrix).input(rhs).output()
    }

    /// Adds a `Barrier` node with attribute `component_types: list(type)`; output `handle: Ref(string)`. Optional: `shapes: list(shape) = []`, `capacity: int = -1`, `container: string = ""`, `shared_name: string = ""`.
    fn barrier(self, component_types: &[DType]) -> Result<Output<'b>> {
        self.op_node("Barrier").attr("component_types", component_types).output()
    }

    /// Adds a `BarrierClose` node with input `handle: Ref(string)`. Optional: `cancel_pending_enqueues: bool = false`.
    fn barrier_close(self, handle: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("BarrierClose").input(handle).finish()
    }

    /// Adds a `BarrierIncompleteSize` node with input `handle: Ref(string)`; output `size: int32`.
    fn barrier_incomplete_size(self, handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BarrierIncompleteSize").input(handle).output()
    }

    /// Adds a `BarrierInsertMany` node with inputs `handle: Ref(string)`, `keys: string`, `values: T`; attribute `component_index: int`.
    fn barrier_insert_many(self, handle: impl Into<Input<'b>>, keys: impl Into<Input<'b>>, values: impl Into<Input<'b>>, component_index: i64) -> Result<NodeId> {
        self.op_node("BarrierInsertMany").input(handle).input(keys).input(values).attr("component_index", component_index).finish()
    }

    /// Adds a `BarrierReadySize` node with input `handle: Ref(string)`; output `size: int32`.
    fn barrier_ready_size(self, handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BarrierReadySize").input(handle).output()
    }

    /// Adds a `BarrierTakeMany` node with inputs `handle: Ref(string)`, `num_elements: int32`; attribute `component_types: list(type)`; outputs `indices: int64`, `keys: string`, `values: component_types`. Optional: `allow_small_batch: bool = false`, `wait_for_incomplete: bool = false`, `timeout_ms: int = -1`.
    fn barrier_take_many(self, handle: impl Into<Input<'b>>, num_elements: impl Into<Input<'b>>, component_types: &[DType]) -> Result<[Vec<Output<'b>>; 3]> {
        self.op_node("BarrierTakeMany").input(handle).input(num_elements).attr("component_types", component_types).output_lists()
    }

    /// Adds a `Batch` node with input `in_tensors: T`; attributes `num_batch_threads: int`, `max_batch_size: int`, `batch_timeout_micros: int`, `grad_timeout_micros: int`; outputs `batched_tensors: T`, `batch_index: int64`, `id: int64`. Optional: `max_enqueued_batches: int = 10`, `allowed_batch_sizes: list(int) = []`, `container: string = ""`, `shared_name: string = ""`, `batching_queue: string = ""`.
    fn batch(self, in_tensors: &[Output<'b>], num_batch_threads: i64, max_batch_size: i64, batch_timeout_micros: i64, grad_timeout_micros: i64) -> Result<[Vec<Output<'b>>; 3]> {
        self.op_node("Batch").input_list(in_tensors).attr("num_batch_threads", num_batch_threads).attr("max_batch_size", max_batch_size).attr("batch_timeout_micros", batch_timeout_micros).attr("grad_timeout_micros", grad_timeout_micros).output_lists()
    }

    /// Adds a `BatchCholesky` node with input `input: T`; output `output: T`.
    fn batch_cholesky(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchCholesky").input(input).output()
    }

    /// Adds a `BatchCholeskyGrad` node with inputs `l: T`, `grad: T`; output `output: T`.
    fn batch_cholesky_grad(self, l: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchCholeskyGrad").input(l).input(grad).output()
    }

    /// Adds a `BatchDataset` node with inputs `input_dataset: variant`, `batch_size: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn batch_dataset(self, input_dataset: impl Into<Input<'b>>, batch_size: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("BatchDataset").input(input_dataset).input(batch_size).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `BatchDatasetV2` node with inputs `input_dataset: variant`, `batch_size: int64`, `drop_remainder: bool`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `parallel_copy: bool = false`, `metadata: string = ""`.
    fn batch_dataset_v2(self, input_dataset: impl Into<Input<'b>>, batch_size: impl Into<Input<'b>>, drop_remainder: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("BatchDatasetV2").input(input_dataset).input(batch_size).input(drop_remainder).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `BatchFFT` node with input `input: complex64`; output `output: complex64`.
    fn batch_fft(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchFFT").input(input).output()
    }

    /// Adds a `BatchFFT2D` node with input `input: complex64`; output `output: complex64`.
    fn batch_fft2d(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchFFT2D").input(input).output()
    }

    /// Adds a `BatchFFT3D` node with input `input: complex64`; output `output: complex64`.
    fn batch_fft3d(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchFFT3D").input(input).output()
    }

    /// Adds a `BatchFunction` node with inputs `in_tensors: Tin`, `captured_tensors: Tcaptured`; attributes `f: func`, `num_batch_threads: int`, `max_batch_size: int`, `batch_timeout_micros: int`, `Tout: list(type)`; output `out_tensors: Tout`. Optional: `max_enqueued_batches: int = 10`, `allowed_batch_sizes: list(int) = []`, `container: string = ""`, `shared_name: string = ""`, `batching_queue: string = ""`, `low_priority_max_batch_size: int = 0`, `low_priority_batch_timeout_micros: int = 0`, `low_priority_allowed_batch_sizes: list(int) = []`, `low_priority_max_enqueued_batches: int = 0`, `mixed_priority_policy: string = "low_priority_padding_with_max_batch_size"`, `batch_padding_policy: string = "PAD_UP"`, `enable_large_batch_splitting: bool = false`.
    fn batch_function(self, in_tensors: &[Output<'b>], captured_tensors: &[Output<'b>], f: &NameAttrList, num_batch_threads: i64, max_batch_size: i64, batch_timeout_micros: i64, tout: &[DType]) -> Result<Vec<Output<'b>>> {
        self.op_node("BatchFunction").input_list(in_tensors).input_list(captured_tensors).attr("f", f).attr("num_batch_threads", num_batch_threads).attr("max_batch_size", max_batch_size).attr("batch_timeout_micros", batch_timeout_micros).attr("Tout", tout).output_lists().map(|[list]| list)
    }

    /// Adds a `BatchIFFT` node with input `input: complex64`; output `output: complex64`.
    fn batch_ifft(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchIFFT").input(input).output()
    }

    /// Adds a `BatchIFFT2D` node with input `input: complex64`; output `output: complex64`.
    fn batch_ifft2d(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchIFFT2D").input(input).output()
    }

    /// Adds a `BatchIFFT3D` node with input `input: complex64`; output `output: complex64`.
    fn batch_ifft3d(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchIFFT3D").input(input).output()
    }

    /// Adds a `BatchMatMul` node with inputs `x: T`, `y: T`; output `output: T`. Optional: `adj_x: bool = false`, `adj_y: bool = false`, `grad_x: bool = false`, `grad_y: bool = false`.
    fn batch_mat_mul(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchMatMul").input(x).input(y).output()
    }

    /// Adds a `BatchMatMulV2` node with inputs `x: T`, `y: T`; output `output: T`. Optional: `adj_x: bool = false`, `adj_y: bool = false`, `grad_x: bool = false`, `grad_y: bool = false`.
    fn batch_mat_mul_v2(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchMatMulV2").input(x).input(y).output()
    }

    /// Adds a `BatchMatMulV3` node with inputs `x: Ta`, `y: Tb`; attribute `Tout: type`; output `output: Tout`. Optional: `adj_x: bool = false`, `adj_y: bool = false`, `grad_x: bool = false`, `grad_y: bool = false`.
    fn batch_mat_mul_v3(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>, tout: DType) -> Result<Output<'b>> {
        self.op_node("BatchMatMulV3").input(x).input(y).attr("Tout", tout).output()
    }

    /// Adds a `BatchMatrixBandPart` node with inputs `input: T`, `num_lower: int64`, `num_upper: int64`; output `band: T`.
    fn batch_matrix_band_part(self, input: impl Into<Input<'b>>, num_lower: impl Into<Input<'b>>, num_upper: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchMatrixBandPart").input(input).input(num_lower).input(num_upper).output()
    }

    /// Adds a `BatchMatrixDeterminant` node with input `input: T`; output `output: T`.
    fn batch_matrix_determinant(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchMatrixDeterminant").input(input).output()
    }

    /// Adds a `BatchMatrixDiag` node with input `diagonal: T`; output `output: T`.
    fn batch_matrix_diag(self, diagonal: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchMatrixDiag").input(diagonal).output()
    }

    /// Adds a `BatchMatrixDiagPart` node with input `input: T`; output `diagonal: T`.
    fn batch_matrix_diag_part(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchMatrixDiagPart").input(input).output()
    }

    /// Adds a `BatchMatrixInverse` node with input `input: T`; output `output: T`. Optional: `adjoint: bool = false`.
    fn batch_matrix_inverse(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchMatrixInverse").input(input).output()
    }

    /// Adds a `BatchMatrixSetDiag` node with inputs `input: T`, `diagonal: T`; output `output: T`.
    fn batch_matrix_set_diag(self, input: impl Into<Input<'b>>, diagonal: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchMatrixSetDiag").input(input).input(diagonal).output()
    }

    /// Adds a `BatchMatrixSolve` node with inputs `matrix: T`, `rhs: T`; output `output: T`. Optional: `adjoint: bool = false`.
    fn batch_matrix_solve(self, matrix: impl Into<Input<'b>>, rhs: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchMatrixSolve").input(matrix).input(rhs).output()
    }

    /// Adds a `BatchMatrixSolveLs` node with inputs `matrix: T`, `rhs: T`, `l2_regularizer: double`; output `output: T`. Optional: `fast: bool = true`.
    fn batch_matrix_solve_ls(self, matrix: impl Into<Input<'b>>, rhs: impl Into<Input<'b>>, l2_regularizer: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchMatrixSolveLs").input(matrix).input(rhs).input(l2_regularizer).output()
    }

    /// Adds a `BatchMatrixTriangularSolve` node with inputs `matrix: T`, `rhs: T`; output `output: T`. Optional: `lower: bool = true`, `adjoint: bool = false`.
    fn batch_matrix_triangular_solve(self, matrix: impl Into<Input<'b>>, rhs: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchMatrixTriangularSolve").input(matrix).input(rhs).output()
    }

    /// Adds a `BatchNormWithGlobalNormalization` node with inputs `t: T`, `m: T`, `v: T`, `beta: T`, `gamma: T`; attributes `variance_epsilon: float`, `scale_after_normalization: bool`; output `result: T`.
    fn batch_norm_with_global_normalization(self, t: impl Into<Input<'b>>, m: impl Into<Input<'b>>, v: impl Into<Input<'b>>, beta: impl Into<Input<'b>>, gamma: impl Into<Input<'b>>, variance_epsilon: f32, scale_after_normalization: bool) -> Result<Output<'b>> {
        self.op_node("BatchNormWithGlobalNormalization").input(t).input(m).input(v).input(beta).input(gamma).attr("variance_epsilon", variance_epsilon).attr("scale_after_normalization", scale_after_normalization).output()
    }

    /// Adds a `BatchNormWithGlobalNormalizationGrad` node with inputs `t: T`, `m: T`, `v: T`, `gamma: T`, `backprop: T`; attributes `variance_epsilon: float`, `scale_after_normalization: bool`; outputs `dx: T`, `dm: T`, `dv: T`, `db: T`, `dg: T`.
    fn batch_norm_with_global_normalization_grad(self, t: impl Into<Input<'b>>, m: impl Into<Input<'b>>, v: impl Into<Input<'b>>, gamma: impl Into<Input<'b>>, backprop: impl Into<Input<'b>>, variance_epsilon: f32, scale_after_normalization: bool) -> Result<[Output<'b>; 5]> {
        self.op_node("BatchNormWithGlobalNormalizationGrad").input(t).input(m).input(v).input(gamma).input(backprop).attr("variance_epsilon", variance_epsilon).attr("scale_after_normalization", scale_after_normalization).outputs()
    }

    /// Adds a `BatchSelfAdjointEig` node with input `input: T`; output `output: T`.
    fn batch_self_adjoint_eig(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchSelfAdjointEig").input(input).output()
    }

    /// Adds a `BatchSelfAdjointEigV2` node with input `input: T`; outputs `e: T`, `v: T`. Optional: `compute_v: bool = true`.
    fn batch_self_adjoint_eig_v2(self, input: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("BatchSelfAdjointEigV2").input(input).outputs()
    }

    /// Adds a `BatchSvd` node with input `input: T`; outputs `s: T`, `u: T`, `v: T`. Optional: `compute_uv: bool = true`, `full_matrices: bool = false`.
    fn batch_svd(self, input: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("BatchSvd").input(input).outputs()
    }

    /// Adds a `BatchToSpace` node with inputs `input: T`, `crops: Tidx`; attribute `block_size: int`; output `output: T`.
    fn batch_to_space(self, input: impl Into<Input<'b>>, crops: impl Into<Input<'b>>, block_size: i64) -> Result<Output<'b>> {
        self.op_node("BatchToSpace").input(input).input(crops).attr("block_size", block_size).output()
    }

    /// Adds a `BatchToSpaceND` node with inputs `input: T`, `block_shape: Tblock_shape`, `crops: Tcrops`; output `output: T`.
    fn batch_to_space_nd(self, input: impl Into<Input<'b>>, block_shape: impl Into<Input<'b>>, crops: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BatchToSpaceND").input(input).input(block_shape).input(crops).output()
    }

    /// Adds a `BesselI0` node with input `x: T`; output `y: T`.
    fn bessel_i0(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BesselI0").input(x).output()
    }

    /// Adds a `BesselI0e` node with input `x: T`; output `y: T`.
    fn bessel_i0e(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BesselI0e").input(x).output()
    }

    /// Adds a `BesselI1` node with input `x: T`; output `y: T`.
    fn bessel_i1(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BesselI1").input(x).output()
    }

    /// Adds a `BesselI1e` node with input `x: T`; output `y: T`.
    fn bessel_i1e(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BesselI1e").input(x).output()
    }

    /// Adds a `BesselJ0` node with input `x: T`; output `y: T`.
    fn bessel_j0(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BesselJ0").input(x).output()
    }

    /// Adds a `BesselJ1` node with input `x: T`; output `y: T`.
    fn bessel_j1(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BesselJ1").input(x).output()
    }

    /// Adds a `BesselK0` node with input `x: T`; output `y: T`.
    fn bessel_k0(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BesselK0").input(x).output()
    }

    /// Adds a `BesselK0e` node with input `x: T`; output `y: T`.
    fn bessel_k0e(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BesselK0e").input(x).output()
    }

    /// Adds a `BesselK1` node with input `x: T`; output `y: T`.
    fn bessel_k1(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BesselK1").input(x).output()
    }

    /// Adds a `BesselK1e` node with input `x: T`; output `y: T`.
    fn bessel_k1e(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BesselK1e").input(x).output()
    }

    /// Adds a `BesselY0` node with input `x: T`; output `y: T`.
    fn bessel_y0(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BesselY0").input(x).output()
    }

    /// Adds a `BesselY1` node with input `x: T`; output `y: T`.
    fn bessel_y1(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BesselY1").input(x).output()
    }

    /// Adds a `Betainc` node with inputs `a: T`, `b: T`, `x: T`; output `z: T`.
    fn betainc(self, a: impl Into<Input<'b>>, b: impl Into<Input<'b>>, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Betainc").input(a).input(b).input(x).output()
    }

    /// Adds a `BiasAdd` node with inputs `value: T`, `bias: T`; output `output: T`. Optional: `data_format: string = "NHWC"`.
    fn bias_add(self, value: impl Into<Input<'b>>, bias: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BiasAdd").input(value).input(bias).output()
    }

    /// Adds a `BiasAddGrad` node with input `out_backprop: T`; output `output: T`. Optional: `data_format: string = "NHWC"`.
    fn bias_add_grad(self, out_backprop: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BiasAddGrad").input(out_backprop).output()
    }

    /// Adds a `BiasAddV1` node with inputs `value: T`, `bias: T`; output `output: T`.
    fn bias_add_v1(self, value: impl Into<Input<'b>>, bias: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BiasAddV1").input(value).input(bias).output()
    }

    /// Adds a `Bincount` node with inputs `arr: int32`, `size: int32`, `weights: T`; output `bins: T`.
    fn bincount(self, arr: impl Into<Input<'b>>, size: impl Into<Input<'b>>, weights: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Bincount").input(arr).input(size).input(weights).output()
    }

    /// Adds a `Bitcast` node with input `input: T`; attribute `type: type`; output `output: type`.
    fn bitcast(self, input: impl Into<Input<'b>>, type_: DType) -> Result<Output<'b>> {
        self.op_node("Bitcast").input(input).attr("type", type_).output()
    }

    /// Adds a `BitwiseAnd` node with inputs `x: T`, `y: T`; output `z: T`.
    fn bitwise_and(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BitwiseAnd").input(x).input(y).output()
    }

    /// Adds a `BitwiseOr` node with inputs `x: T`, `y: T`; output `z: T`.
    fn bitwise_or(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BitwiseOr").input(x).input(y).output()
    }

    /// Adds a `BitwiseXor` node with inputs `x: T`, `y: T`; output `z: T`.
    fn bitwise_xor(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BitwiseXor").input(x).input(y).output()
    }

    /// Adds a `BlockLSTM` node with inputs `seq_len_max: int64`, `x: T`, `cs_prev: T`, `h_prev: T`, `w: T`, `wci: T`, `wcf: T`, `wco: T`, `b: T`; outputs `i: T`, `cs: T`, `f: T`, `o: T`, `ci: T`, `co: T`, `h: T`. Optional: `forget_bias: float = 1.0`, `cell_clip: float = 3.0`, `use_peephole: bool = false`.
    fn block_lstm(self, seq_len_max: impl Into<Input<'b>>, x: impl Into<Input<'b>>, cs_prev: impl Into<Input<'b>>, h_prev: impl Into<Input<'b>>, w: impl Into<Input<'b>>, wci: impl Into<Input<'b>>, wcf: impl Into<Input<'b>>, wco: impl Into<Input<'b>>, b: impl Into<Input<'b>>) -> Result<[Output<'b>; 7]> {
        self.op_node("BlockLSTM").input(seq_len_max).input(x).input(cs_prev).input(h_prev).input(w).input(wci).input(wcf).input(wco).input(b).outputs()
    }

    /// Adds a `BlockLSTMGrad` node with inputs `seq_len_max: int64`, `x: T`, `cs_prev: T`, `h_prev: T`, `w: T`, `wci: T`, `wcf: T`, `wco: T`, `b: T`, `i: T`, `cs: T`, `f: T`, `o: T`, `ci: T`, `co: T`, `h: T`, `cs_grad: T`, `h_grad: T`; attribute `use_peephole: bool`; outputs `x_grad: T`, `cs_prev_grad: T`, `h_prev_grad: T`, `w_grad: T`, `wci_grad: T`, `wcf_grad: T`, `wco_grad: T`, `b_grad: T`.
    fn block_lstm_grad(self, seq_len_max: impl Into<Input<'b>>, x: impl Into<Input<'b>>, cs_prev: impl Into<Input<'b>>, h_prev: impl Into<Input<'b>>, w: impl Into<Input<'b>>, wci: impl Into<Input<'b>>, wcf: impl Into<Input<'b>>, wco: impl Into<Input<'b>>, b: impl Into<Input<'b>>, i: impl Into<Input<'b>>, cs: impl Into<Input<'b>>, f: impl Into<Input<'b>>, o: impl Into<Input<'b>>, ci: impl Into<Input<'b>>, co: impl Into<Input<'b>>, h: impl Into<Input<'b>>, cs_grad: impl Into<Input<'b>>, h_grad: impl Into<Input<'b>>, use_peephole: bool) -> Result<[Output<'b>; 8]> {
        self.op_node("BlockLSTMGrad").input(seq_len_max).input(x).input(cs_prev).input(h_prev).input(w).input(wci).input(wcf).input(wco).input(b).input(i).input(cs).input(f).input(o).input(ci).input(co).input(h).input(cs_grad).input(h_grad).attr("use_peephole", use_peephole).outputs()
    }

    /// Adds a `BlockLSTMGradV2` node with inputs `seq_len_max: int64`, `x: T`, `cs_prev: T`, `h_prev: T`, `w: T`, `wci: T`, `wcf: T`, `wco: T`, `b: T`, `i: T`, `cs: T`, `f: T`, `o: T`, `ci: T`, `co: T`, `h: T`, `cs_grad: T`, `h_grad: T`; attribute `use_peephole: bool`; outputs `x_grad: T`, `cs_prev_grad: T`, `h_prev_grad: T`, `w_grad: T`, `wci_grad: T`, `wcf_grad: T`, `wco_grad: T`, `b_grad: T`.
    fn block_lstm_grad_v2(self, seq_len_max: impl Into<Input<'b>>, x: impl Into<Input<'b>>, cs_prev: impl Into<Input<'b>>, h_prev: impl Into<Input<'b>>, w: impl Into<Input<'b>>, wci: impl Into<Input<'b>>, wcf: impl Into<Input<'b>>, wco: impl Into<Input<'b>>, b: impl Into<Input<'b>>, i: impl Into<Input<'b>>, cs: impl Into<Input<'b>>, f: impl Into<Input<'b>>, o: impl Into<Input<'b>>, ci: impl Into<Input<'b>>, co: impl Into<Input<'b>>, h: impl Into<Input<'b>>, cs_grad: impl Into<Input<'b>>, h_grad: impl Into<Input<'b>>, use_peephole: bool) -> Result<[Output<'b>; 8]> {
        self.op_node("BlockLSTMGradV2").input(seq_len_max).input(x).input(cs_prev).input(h_prev).input(w).input(wci).input(wcf).input(wco).input(b).input(i).input(cs).input(f).input(o).input(ci).input(co).input(h).input(cs_grad).input(h_grad).attr("use_peephole", use_peephole).outputs()
    }

    /// Adds a `BlockLSTMV2` node with inputs `seq_len_max: int64`, `x: T`, `cs_prev: T`, `h_prev: T`, `w: T`, `wci: T`, `wcf: T`, `wco: T`, `b: T`; outputs `i: T`, `cs: T`, `f: T`, `o: T`, `ci: T`, `co: T`, `h: T`. Optional: `cell_clip: float = 0.0`, `use_peephole: bool = false`.
    fn block_lstm_v2(self, seq_len_max: impl Into<Input<'b>>, x: impl Into<Input<'b>>, cs_prev: impl Into<Input<'b>>, h_prev: impl Into<Input<'b>>, w: impl Into<Input<'b>>, wci: impl Into<Input<'b>>, wcf: impl Into<Input<'b>>, wco: impl Into<Input<'b>>, b: impl Into<Input<'b>>) -> Result<[Output<'b>; 7]> {
        self.op_node("BlockLSTMV2").input(seq_len_max).input(x).input(cs_prev).input(h_prev).input(w).input(wci).input(wcf).input(wco).input(b).outputs()
    }

    /// Adds a `BoostedTreesBucketize` node with inputs `float_values: num_features * float`, `bucket_boundaries: num_features * float`; output `buckets: num_features * int32`.
    fn boosted_trees_bucketize(self, float_values: &[Output<'b>], bucket_boundaries: &[Output<'b>]) -> Result<Vec<Output<'b>>> {
        self.op_node("BoostedTreesBucketize").input_list(float_values).input_list(bucket_boundaries).output_lists().map(|[list]| list)
    }

    /// Adds a `BroadcastArgs` node with inputs `s0: T`, `s1: T`; output `r0: T`.
    fn broadcast_args(self, s0: impl Into<Input<'b>>, s1: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BroadcastArgs").input(s0).input(s1).output()
    }

    /// Adds a `BroadcastGradientArgs` node with inputs `s0: T`, `s1: T`; outputs `r0: T`, `r1: T`.
    fn broadcast_gradient_args(self, s0: impl Into<Input<'b>>, s1: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("BroadcastGradientArgs").input(s0).input(s1).outputs()
    }

    /// Adds a `BroadcastTo` node with inputs `input: T`, `shape: Tidx`; output `output: T`.
    fn broadcast_to(self, input: impl Into<Input<'b>>, shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("BroadcastTo").input(input).input(shape).output()
    }

    /// Adds a `Bucketize` node with input `input: T`; attribute `boundaries: list(float)`; output `output: int32`.
    fn bucketize(self, input: impl Into<Input<'b>>, boundaries: &[f32]) -> Result<Output<'b>> {
        self.op_node("Bucketize").input(input).attr("boundaries", boundaries).output()
    }

    /// Adds a `BytesInUse` node with output `out: int64`.
    fn bytes_in_use(self) -> Result<Output<'b>> {
        self.op_node("BytesInUse").output()
    }

    /// Adds a `BytesLimit` node with output `out: int64`.
    fn bytes_limit(self) -> Result<Output<'b>> {
        self.op_node("BytesLimit").output()
    }

    /// Adds a `BytesProducedStatsDataset` node with inputs `input_dataset: variant`, `tag: string`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn bytes_produced_stats_dataset(self, input_dataset: impl Into<Input<'b>>, tag: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("BytesProducedStatsDataset").input(input_dataset).input(tag).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `CacheDataset` node with inputs `input_dataset: variant`, `filename: string`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn cache_dataset(self, input_dataset: impl Into<Input<'b>>, filename: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("CacheDataset").input(input_dataset).input(filename).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `CacheDatasetV2` node with inputs `input_dataset: variant`, `filename: string`, `cache: resource`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn cache_dataset_v2(self, input_dataset: impl Into<Input<'b>>, filename: impl Into<Input<'b>>, cache: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("CacheDatasetV2").input(input_dataset).input(filename).input(cache).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `Case` node with inputs `branch_index: int32`, `input: Tin`; attributes `Tout: list(type)`, `branches: list(func)`; output `output: Tout`. Optional: `output_shapes: list(shape) = []`.
    fn case(self, branch_index: impl Into<Input<'b>>, input: &[Output<'b>], tout: &[DType], branches: &[NameAttrList]) -> Result<Vec<Output<'b>>> {
        self.op_node("Case").input(branch_index).input_list(input).attr("Tout", tout).attr("branches", branches).output_lists().map(|[list]| list)
    }

    /// Adds a `Cast` node with input `x: SrcT`; attribute `DstT: type`; output `y: DstT`. Optional: `Truncate: bool = false`.
    fn cast(self, x: impl Into<Input<'b>>, dst_t: DType) -> Result<Output<'b>> {
        self.op_node("Cast").input(x).attr("DstT", dst_t).output()
    }

    /// Adds a `Ceil` node with input `x: T`; output `y: T`.
    fn ceil(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Ceil").input(x).output()
    }

    /// Adds a `CheckNumerics` node with input `tensor: T`; attribute `message: string`; output `output: T`.
    fn check_numerics(self, tensor: impl Into<Input<'b>>, message: &str) -> Result<Output<'b>> {
        self.op_node("CheckNumerics").input(tensor).attr("message", message).output()
    }

    /// Adds a `CheckNumericsV2` node with input `tensor: T`; attribute `message: string`; output `output: T`.
    fn check_numerics_v2(self, tensor: impl Into<Input<'b>>, message: &str) -> Result<Output<'b>> {
        self.op_node("CheckNumericsV2").input(tensor).attr("message", message).output()
    }

    /// Adds a `CheckPinned` node with input `tensor: T`; output `output: T`.
    fn check_pinned(self, tensor: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("CheckPinned").input(tensor).output()
    }

    /// Adds a `Cholesky` node with input `input: T`; output `output: T`.
    fn cholesky(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Cholesky").input(input).output()
    }

    /// Adds a `CholeskyGrad` node with inputs `l: T`, `grad: T`; output `output: T`.
    fn cholesky_grad(self, l: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("CholeskyGrad").input(l).input(grad).output()
    }

    /// Adds a `ClipByValue` node with inputs `t: T`, `clip_value_min: T`, `clip_value_max: T`; output `output: T`.
    fn clip_by_value(self, t: impl Into<Input<'b>>, clip_value_min: impl Into<Input<'b>>, clip_value_max: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ClipByValue").input(t).input(clip_value_min).input(clip_value_max).output()
    }

    /// Adds a `CombinedNonMaxSuppression` node with inputs `boxes: float`, `scores: float`, `max_output_size_per_class: int32`, `max_total_size: int32`, `iou_threshold: float`, `score_threshold: float`; outputs `nmsed_boxes: float`, `nmsed_scores: float`, `nmsed_classes: float`, `valid_detections: int32`. Optional: `pad_per_class: bool = false`, `clip_boxes: bool = true`.
    fn combined_non_max_suppression(self, boxes: impl Into<Input<'b>>, scores: impl Into<Input<'b>>, max_output_size_per_class: impl Into<Input<'b>>, max_total_size: impl Into<Input<'b>>, iou_threshold: impl Into<Input<'b>>, score_threshold: impl Into<Input<'b>>) -> Result<[Output<'b>; 4]> {
        self.op_node("CombinedNonMaxSuppression").input(boxes).input(scores).input(max_output_size_per_class).input(max_total_size).input(iou_threshold).input(score_threshold).outputs()
    }

    /// Adds a `Complex` node with inputs `real: T`, `imag: T`; output `out: Tout`. Optional: `Tout: type = c64`.
    fn complex(self, real: impl Into<Input<'b>>, imag: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Complex").input(real).input(imag).output()
    }

    /// Adds a `ComplexAbs` node with input `x: T`; output `y: Tout`. Optional: `Tout: type = f32`.
    fn complex_abs(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ComplexAbs").input(x).output()
    }

    /// Adds a `ComputeAccidentalHits` node with inputs `true_classes: int64`, `sampled_candidates: int64`; attribute `num_true: int`; outputs `indices: int32`, `ids: int64`, `weights: float`. Optional: `seed: int = 0`, `seed2: int = 0`.
    fn compute_accidental_hits(self, true_classes: impl Into<Input<'b>>, sampled_candidates: impl Into<Input<'b>>, num_true: i64) -> Result<[Output<'b>; 3]> {
        self.op_node("ComputeAccidentalHits").input(true_classes).input(sampled_candidates).attr("num_true", num_true).outputs()
    }

    /// Adds a `Concat` node with inputs `concat_dim: int32`, `values: N * T`; output `output: T`.
    fn concat(self, concat_dim: impl Into<Input<'b>>, values: &[Output<'b>]) -> Result<Output<'b>> {
        self.op_node("Concat").input(concat_dim).input_list(values).output()
    }

    /// Adds a `ConcatOffset` node with inputs `concat_dim: int32`, `shape: N * shape_type`; output `offset: N * shape_type`.
    fn concat_offset(self, concat_dim: impl Into<Input<'b>>, shape: &[Output<'b>]) -> Result<Vec<Output<'b>>> {
        self.op_node("ConcatOffset").input(concat_dim).input_list(shape).output_lists().map(|[list]| list)
    }

    /// Adds a `ConcatV2` node with inputs `values: N * T`, `axis: Tidx`; output `output: T`.
    fn concat_v2(self, values: &[Output<'b>], axis: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ConcatV2").input_list(values).input(axis).output()
    }

    /// Adds a `ConcatenateDataset` node with inputs `input_dataset: variant`, `another_dataset: variant`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn concatenate_dataset(self, input_dataset: impl Into<Input<'b>>, another_dataset: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ConcatenateDataset").input(input_dataset).input(another_dataset).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ConditionalAccumulator` node with attributes `dtype: type`, `shape: shape`; output `handle: Ref(string)`. Optional: `container: string = ""`, `shared_name: string = ""`, `reduction_type: string = "MEAN"`.
    fn conditional_accumulator(self, dtype: DType, shape: impl Into<PartialShape>) -> Result<Output<'b>> {
        self.op_node("ConditionalAccumulator").attr("dtype", dtype).attr("shape", shape.into()).output()
    }

    /// Adds a `Conj` node with input `input: T`; output `output: T`.
    fn conj(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Conj").input(input).output()
    }

    /// Adds a `ConjugateTranspose` node with inputs `x: T`, `perm: Tperm`; output `y: T`.
    fn conjugate_transpose(self, x: impl Into<Input<'b>>, perm: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ConjugateTranspose").input(x).input(perm).output()
    }

    /// Adds a `ConsumeMutexLock` node with input `mutex_lock: variant`.
    fn consume_mutex_lock(self, mutex_lock: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ConsumeMutexLock").input(mutex_lock).finish()
    }

    /// Adds a `ControlTrigger` node.
    fn control_trigger(self) -> Result<NodeId> {
        self.op_node("ControlTrigger").finish()
    }

    /// Adds a `Conv` node with inputs `input: T`, `filter: T`; attributes `strides: list(int)`, `padding: string`; output `output: T`. Optional: `explicit_paddings: list(int) = []`, `data_format: string = "CHANNELS_LAST"`, `dilations: list(int) = []`, `batch_dims: int = 1`, `groups: int = 1`.
    fn conv(self, input: impl Into<Input<'b>>, filter: impl Into<Input<'b>>, strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("Conv").input(input).input(filter).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `Conv2D` node with inputs `input: T`, `filter: T`; attributes `strides: list(int)`, `padding: string`; output `output: T`. Optional: `use_cudnn_on_gpu: bool = true`, `explicit_paddings: list(int) = []`, `data_format: string = "NHWC"`, `dilations: list(int) = [1,1,1,1]`.
    fn conv2d(self, input: impl Into<Input<'b>>, filter: impl Into<Input<'b>>, strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("Conv2D").input(input).input(filter).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `Conv2DBackpropFilter` node with inputs `input: T`, `filter_sizes: int32`, `out_backprop: T`; attributes `strides: list(int)`, `padding: string`; output `output: T`. Optional: `use_cudnn_on_gpu: bool = true`, `explicit_paddings: list(int) = []`, `data_format: string = "NHWC"`, `dilations: list(int) = [1,1,1,1]`.
    fn conv2d_backprop_filter(self, input: impl Into<Input<'b>>, filter_sizes: impl Into<Input<'b>>, out_backprop: impl Into<Input<'b>>, strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("Conv2DBackpropFilter").input(input).input(filter_sizes).input(out_backprop).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `Conv2DBackpropFilterV2` node with inputs `input: T`, `filter: T`, `out_backprop: T`; attributes `strides: list(int)`, `padding: string`; output `output: T`. Optional: `use_cudnn_on_gpu: bool = true`, `explicit_paddings: list(int) = []`, `data_format: string = "NHWC"`, `dilations: list(int) = [1,1,1,1]`.
    fn conv2d_backprop_filter_v2(self, input: impl Into<Input<'b>>, filter: impl Into<Input<'b>>, out_backprop: impl Into<Input<'b>>, strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("Conv2DBackpropFilterV2").input(input).input(filter).input(out_backprop).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `Conv2DBackpropInput` node with inputs `input_sizes: int32`, `filter: T`, `out_backprop: T`; attributes `strides: list(int)`, `padding: string`; output `output: T`. Optional: `use_cudnn_on_gpu: bool = true`, `explicit_paddings: list(int) = []`, `data_format: string = "NHWC"`, `dilations: list(int) = [1,1,1,1]`.
    fn conv2d_backprop_input(self, input_sizes: impl Into<Input<'b>>, filter: impl Into<Input<'b>>, out_backprop: impl Into<Input<'b>>, strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("Conv2DBackpropInput").input(input_sizes).input(filter).input(out_backprop).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `Conv2DBackpropInputV2` node with inputs `input: T`, `filter: T`, `out_backprop: T`; attributes `strides: list(int)`, `padding: string`; output `output: T`. Optional: `use_cudnn_on_gpu: bool = true`, `explicit_paddings: list(int) = []`, `data_format: string = "NHWC"`, `dilations: list(int) = [1,1,1,1]`.
    fn conv2d_backprop_input_v2(self, input: impl Into<Input<'b>>, filter: impl Into<Input<'b>>, out_backprop: impl Into<Input<'b>>, strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("Conv2DBackpropInputV2").input(input).input(filter).input(out_backprop).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `Conv3D` node with inputs `input: T`, `filter: T`; attributes `strides: list(int)`, `padding: string`; output `output: T`. Optional: `data_format: string = "NDHWC"`, `dilations: list(int) = [1,1,1,1,1]`.
    fn conv3d(self, input: impl Into<Input<'b>>, filter: impl Into<Input<'b>>, strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("Conv3D").input(input).input(filter).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `Conv3DBackpropFilter` node with inputs `input: T`, `filter: T`, `out_backprop: T`; attributes `strides: list(int)`, `padding: string`; output `output: T`. Optional: `dilations: list(int) = [1,1,1,1,1]`.
    fn conv3d_backprop_filter(self, input: impl Into<Input<'b>>, filter: impl Into<Input<'b>>, out_backprop: impl Into<Input<'b>>, strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("Conv3DBackpropFilter").input(input).input(filter).input(out_backprop).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `Conv3DBackpropFilterV2` node with inputs `input: T`, `filter_sizes: int32`, `out_backprop: T`; attributes `strides: list(int)`, `padding: string`; output `output: T`. Optional: `data_format: string = "NDHWC"`, `dilations: list(int) = [1,1,1,1,1]`.
    fn conv3d_backprop_filter_v2(self, input: impl Into<Input<'b>>, filter_sizes: impl Into<Input<'b>>, out_backprop: impl Into<Input<'b>>, strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("Conv3DBackpropFilterV2").input(input).input(filter_sizes).input(out_backprop).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `Conv3DBackpropInput` node with inputs `input: T`, `filter: T`, `out_backprop: T`; attributes `strides: list(int)`, `padding: string`; output `output: T`. Optional: `dilations: list(int) = [1,1,1,1,1]`.
    fn conv3d_backprop_input(self, input: impl Into<Input<'b>>, filter: impl Into<Input<'b>>, out_backprop: impl Into<Input<'b>>, strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("Conv3DBackpropInput").input(input).input(filter).input(out_backprop).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `Conv3DBackpropInputV2` node with inputs `input_sizes: Tshape`, `filter: T`, `out_backprop: T`; attributes `strides: list(int)`, `padding: string`; output `output: T`. Optional: `data_format: string = "NDHWC"`, `dilations: list(int) = [1,1,1,1,1]`.
    fn conv3d_backprop_input_v2(self, input_sizes: impl Into<Input<'b>>, filter: impl Into<Input<'b>>, out_backprop: impl Into<Input<'b>>, strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("Conv3DBackpropInputV2").input(input_sizes).input(filter).input(out_backprop).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `Cos` node with input `x: T`; output `y: T`.
    fn cos(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Cos").input(x).output()
    }

    /// Adds a `Cosh` node with input `x: T`; output `y: T`.
    fn cosh(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Cosh").input(x).output()
    }

    /// Adds a `CountUpTo` node with input `ref: Ref(T)`; attribute `limit: int`; output `output: T`.
    fn count_up_to(self, ref_: impl Into<Input<'b>>, limit: i64) -> Result<Output<'b>> {
        self.op_node("CountUpTo").input(ref_).attr("limit", limit).output()
    }

    /// Adds a `CropAndResize` node with inputs `image: T`, `boxes: float`, `box_ind: int32`, `crop_size: int32`; output `crops: float`. Optional: `method: string = "bilinear"`, `extrapolation_value: float = 0.0`.
    fn crop_and_resize(self, image: impl Into<Input<'b>>, boxes: impl Into<Input<'b>>, box_ind: impl Into<Input<'b>>, crop_size: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("CropAndResize").input(image).input(boxes).input(box_ind).input(crop_size).output()
    }

    /// Adds a `CropAndResizeGradBoxes` node with inputs `grads: float`, `image: T`, `boxes: float`, `box_ind: int32`; output `output: float`. Optional: `method: string = "bilinear"`.
    fn crop_and_resize_grad_boxes(self, grads: impl Into<Input<'b>>, image: impl Into<Input<'b>>, boxes: impl Into<Input<'b>>, box_ind: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("CropAndResizeGradBoxes").input(grads).input(image).input(boxes).input(box_ind).output()
    }

    /// Adds a `CropAndResizeGradImage` node with inputs `grads: float`, `boxes: float`, `box_ind: int32`, `image_size: int32`; attribute `T: type`; output `output: T`. Optional: `method: string = "bilinear"`.
    fn crop_and_resize_grad_image(self, grads: impl Into<Input<'b>>, boxes: impl Into<Input<'b>>, box_ind: impl Into<Input<'b>>, image_size: impl Into<Input<'b>>, t: DType) -> Result<Output<'b>> {
        self.op_node("CropAndResizeGradImage").input(grads).input(boxes).input(box_ind).input(image_size).attr("T", t).output()
    }

    /// Adds a `Cross` node with inputs `a: T`, `b: T`; output `product: T`.
    fn cross(self, a: impl Into<Input<'b>>, b: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Cross").input(a).input(b).output()
    }

    /// Adds a `CSVDataset` node with inputs `filenames: string`, `compression_type: string`, `buffer_size: int64`, `header: bool`, `field_delim: string`, `use_quote_delim: bool`, `na_value: string`, `select_cols: int64`, `record_defaults: output_types`; attribute `output_shapes: list(shape)`; output `handle: variant`.
    fn csv_dataset(self, filenames: impl Into<Input<'b>>, compression_type: impl Into<Input<'b>>, buffer_size: impl Into<Input<'b>>, header: impl Into<Input<'b>>, field_delim: impl Into<Input<'b>>, use_quote_delim: impl Into<Input<'b>>, na_value: impl Into<Input<'b>>, select_cols: impl Into<Input<'b>>, record_defaults: &[Output<'b>], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("CSVDataset").input(filenames).input(compression_type).input(buffer_size).input(header).input(field_delim).input(use_quote_delim).input(na_value).input(select_cols).input_list(record_defaults).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `CSVDatasetV2` node with inputs `filenames: string`, `compression_type: string`, `buffer_size: int64`, `header: bool`, `field_delim: string`, `use_quote_delim: bool`, `na_value: string`, `select_cols: int64`, `record_defaults: output_types`, `exclude_cols: int64`; attribute `output_shapes: list(shape)`; output `handle: variant`.
    fn csv_dataset_v2(self, filenames: impl Into<Input<'b>>, compression_type: impl Into<Input<'b>>, buffer_size: impl Into<Input<'b>>, header: impl Into<Input<'b>>, field_delim: impl Into<Input<'b>>, use_quote_delim: impl Into<Input<'b>>, na_value: impl Into<Input<'b>>, select_cols: impl Into<Input<'b>>, record_defaults: &[Output<'b>], exclude_cols: impl Into<Input<'b>>, output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("CSVDatasetV2").input(filenames).input(compression_type).input(buffer_size).input(header).input(field_delim).input(use_quote_delim).input(na_value).input(select_cols).input_list(record_defaults).input(exclude_cols).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `CTCBeamSearchDecoder` node with inputs `inputs: T`, `sequence_length: int32`; attributes `beam_width: int`, `top_paths: int`; outputs `decoded_indices: top_paths * int64`, `decoded_values: top_paths * int64`, `decoded_shape: top_paths * int64`, `log_probability: T`. Optional: `merge_repeated: bool = true`.
    fn ctc_beam_search_decoder(self, inputs: impl Into<Input<'b>>, sequence_length: impl Into<Input<'b>>, beam_width: i64, top_paths: i64) -> Result<[Vec<Output<'b>>; 4]> {
        self.op_node("CTCBeamSearchDecoder").input(inputs).input(sequence_length).attr("beam_width", beam_width).attr("top_paths", top_paths).output_lists()
    }

    /// Adds a `CTCGreedyDecoder` node with inputs `inputs: T`, `sequence_length: int32`; outputs `decoded_indices: int64`, `decoded_values: int64`, `decoded_shape: int64`, `log_probability: T`. Optional: `merge_repeated: bool = false`, `blank_index: int = -1`.
    fn ctc_greedy_decoder(self, inputs: impl Into<Input<'b>>, sequence_length: impl Into<Input<'b>>) -> Result<[Output<'b>; 4]> {
        self.op_node("CTCGreedyDecoder").input(inputs).input(sequence_length).outputs()
    }

    /// Adds a `CTCLoss` node with inputs `inputs: T`, `labels_indices: int64`, `labels_values: int32`, `sequence_length: int32`; outputs `loss: T`, `gradient: T`. Optional: `preprocess_collapse_repeated: bool = false`, `ctc_merge_repeated: bool = true`, `ignore_longer_outputs_than_inputs: bool = false`.
    fn ctc_loss(self, inputs: impl Into<Input<'b>>, labels_indices: impl Into<Input<'b>>, labels_values: impl Into<Input<'b>>, sequence_length: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("CTCLoss").input(inputs).input(labels_indices).input(labels_values).input(sequence_length).outputs()
    }

    /// Adds a `CTCLossV2` node with inputs `inputs: float`, `labels_indices: int64`, `labels_values: int32`, `sequence_length: int32`; outputs `loss: float`, `gradient: float`. Optional: `preprocess_collapse_repeated: bool = false`, `ctc_merge_repeated: bool = true`, `ignore_longer_outputs_than_inputs: bool = false`.
    fn ctc_loss_v2(self, inputs: impl Into<Input<'b>>, labels_indices: impl Into<Input<'b>>, labels_values: impl Into<Input<'b>>, sequence_length: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("CTCLossV2").input(inputs).input(labels_indices).input(labels_values).input(sequence_length).outputs()
    }

    /// Adds a `Cumprod` node with inputs `x: T`, `axis: Tidx`; output `out: T`. Optional: `exclusive: bool = false`, `reverse: bool = false`.
    fn cumprod(self, x: impl Into<Input<'b>>, axis: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Cumprod").input(x).input(axis).output()
    }

    /// Adds a `Cumsum` node with inputs `x: T`, `axis: Tidx`; output `out: T`. Optional: `exclusive: bool = false`, `reverse: bool = false`.
    fn cumsum(self, x: impl Into<Input<'b>>, axis: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Cumsum").input(x).input(axis).output()
    }

    /// Adds a `CumulativeLogsumexp` node with inputs `x: T`, `axis: Tidx`; output `out: T`. Optional: `exclusive: bool = false`, `reverse: bool = false`.
    fn cumulative_logsumexp(self, x: impl Into<Input<'b>>, axis: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("CumulativeLogsumexp").input(x).input(axis).output()
    }

    /// Adds a `DataFormatDimMap` node with input `x: T`; output `y: T`. Optional: `src_format: string = "NHWC"`, `dst_format: string = "NCHW"`.
    fn data_format_dim_map(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DataFormatDimMap").input(x).output()
    }

    /// Adds a `DataFormatVecPermute` node with input `x: T`; output `y: T`. Optional: `src_format: string = "NHWC"`, `dst_format: string = "NCHW"`.
    fn data_format_vec_permute(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DataFormatVecPermute").input(x).output()
    }

    /// Adds a `DatasetCardinality` node with input `input_dataset: variant`; output `cardinality: int64`. Optional: `cardinality_options: string = ""`.
    fn dataset_cardinality(self, input_dataset: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DatasetCardinality").input(input_dataset).output()
    }

    /// Adds a `DatasetToGraph` node with input `input_dataset: variant`; output `graph: string`. Optional: `stateful_whitelist: list(string) = []`, `allow_stateful: bool = false`, `strip_device_assignment: bool = false`.
    fn dataset_to_graph(self, input_dataset: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DatasetToGraph").input(input_dataset).output()
    }

    /// Adds a `DatasetToGraphV2` node with input `input_dataset: variant`; output `graph: string`. Optional: `external_state_policy: int = 0`, `strip_device_assignment: bool = false`.
    fn dataset_to_graph_v2(self, input_dataset: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DatasetToGraphV2").input(input_dataset).output()
    }

    /// Adds a `DatasetToSingleElement` node with input `dataset: variant`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `components: output_types`. Optional: `metadata: string = ""`.
    fn dataset_to_single_element(self, dataset: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Vec<Output<'b>>> {
        self.op_node("DatasetToSingleElement").input(dataset).attr("output_types", output_types).attr("output_shapes", output_shapes).output_lists().map(|[list]| list)
    }

    /// Adds a `DatasetToTFRecord` node with inputs `input_dataset: variant`, `filename: string`, `compression_type: string`.
    fn dataset_to_tf_record(self, input_dataset: impl Into<Input<'b>>, filename: impl Into<Input<'b>>, compression_type: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("DatasetToTFRecord").input(input_dataset).input(filename).input(compression_type).finish()
    }

    /// Adds a `Dawsn` node with input `x: T`; output `y: T`.
    fn dawsn(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Dawsn").input(x).output()
    }

    /// Adds a `DebugGradientIdentity` node with input `input: T`; output `output: T`.
    fn debug_gradient_identity(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DebugGradientIdentity").input(input).output()
    }

    /// Adds a `DebugIdentity` node with input `input: T`; output `output: T`. Optional: `device_name: string = ""`, `tensor_name: string = ""`, `debug_urls: list(string) = []`, `gated_grpc: bool = false`.
    fn debug_identity(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DebugIdentity").input(input).output()
    }

    /// Adds a `DebugIdentityV2` node with input `input: T`; output `output: T`. Optional: `tfdbg_context_id: string = ""`, `op_name: string = ""`, `output_slot: int = -1`, `tensor_debug_mode: int = -1`, `debug_urls: list(string) = []`, `circular_buffer_size: int = 1000`, `tfdbg_run_id: string = ""`.
    fn debug_identity_v2(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DebugIdentityV2").input(input).output()
    }

    /// Adds a `DecodeAndCropJpeg` node with inputs `contents: string`, `crop_window: int32`; output `image: uint8`. Optional: `channels: int = 0`, `ratio: int = 1`, `fancy_upscaling: bool = true`, `try_recover_truncated: bool = false`, `acceptable_fraction: float = 1.0`, `dct_method: string = ""`.
    fn decode_and_crop_jpeg(self, contents: impl Into<Input<'b>>, crop_window: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DecodeAndCropJpeg").input(contents).input(crop_window).output()
    }

    /// Adds a `DecodeBase64` node with input `input: string`; output `output: string`.
    fn decode_base64(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DecodeBase64").input(input).output()
    }

    /// Adds a `DecodeBmp` node with input `contents: string`; output `image: uint8`. Optional: `channels: int = 0`.
    fn decode_bmp(self, contents: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DecodeBmp").input(contents).output()
    }

    /// Adds a `DecodeCompressed` node with input `bytes: string`; output `output: string`. Optional: `compression_type: string = ""`.
    fn decode_compressed(self, bytes: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DecodeCompressed").input(bytes).output()
    }

    /// Adds a `DecodeCSV` node with inputs `records: string`, `record_defaults: OUT_TYPE`; output `output: OUT_TYPE`. Optional: `field_delim: string = ","`, `use_quote_delim: bool = true`, `na_value: string = ""`, `select_cols: list(int) = []`.
    fn decode_csv(self, records: impl Into<Input<'b>>, record_defaults: &[Output<'b>]) -> Result<Vec<Output<'b>>> {
        self.op_node("DecodeCSV").input(records).input_list(record_defaults).output_lists().map(|[list]| list)
    }

    /// Adds a `DecodeGif` node with input `contents: string`; output `image: uint8`.
    fn decode_gif(self, contents: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DecodeGif").input(contents).output()
    }

    /// Adds a `DecodeImage` node with input `contents: string`; output `image: dtype`. Optional: `channels: int = 0`, `dtype: type = u8`, `expand_animations: bool = true`.
    fn decode_image(self, contents: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DecodeImage").input(contents).output()
    }

    /// Adds a `DecodeJpeg` node with input `contents: string`; output `image: uint8`. Optional: `channels: int = 0`, `ratio: int = 1`, `fancy_upscaling: bool = true`, `try_recover_truncated: bool = false`, `acceptable_fraction: float = 1.0`, `dct_method: string = ""`.
    fn decode_jpeg(self, contents: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DecodeJpeg").input(contents).output()
    }

    /// Adds a `DecodeJSONExample` node with input `json_examples: string`; output `binary_examples: string`.
    fn decode_json_example(self, json_examples: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DecodeJSONExample").input(json_examples).output()
    }

    /// Adds a `DecodePaddedRaw` node with inputs `input_bytes: string`, `fixed_length: int32`; attribute `out_type: type`; output `output: out_type`. Optional: `little_endian: bool = true`.
    fn decode_padded_raw(self, input_bytes: impl Into<Input<'b>>, fixed_length: impl Into<Input<'b>>, out_type: DType) -> Result<Output<'b>> {
        self.op_node("DecodePaddedRaw").input(input_bytes).input(fixed_length).attr("out_type", out_type).output()
    }

    /// Adds a `DecodePng` node with input `contents: string`; output `image: dtype`. Optional: `channels: int = 0`, `dtype: type = u8`.
    fn decode_png(self, contents: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DecodePng").input(contents).output()
    }

    /// Adds a `DecodeProtoV2` node with input `bytes: string`; attributes `message_type: string`, `field_names: list(string)`, `output_types: list(type)`; outputs `sizes: int32`, `values: output_types`. Optional: `descriptor_source: string = "local://"`, `message_format: string = "binary"`, `sanitize: bool = false`.
    fn decode_proto_v2(self, bytes: impl Into<Input<'b>>, message_type: &str, field_names: &[&str], output_types: &[DType]) -> Result<[Vec<Output<'b>>; 2]> {
        self.op_node("DecodeProtoV2").input(bytes).attr("message_type", message_type).attr("field_names", field_names).attr("output_types", output_types).output_lists()
    }

    /// Adds a `DecodeRaw` node with input `bytes: string`; attribute `out_type: type`; output `output: out_type`. Optional: `little_endian: bool = true`.
    fn decode_raw(self, bytes: impl Into<Input<'b>>, out_type: DType) -> Result<Output<'b>> {
        self.op_node("DecodeRaw").input(bytes).attr("out_type", out_type).output()
    }

    /// Adds a `DecodeWav` node with input `contents: string`; outputs `audio: float`, `sample_rate: int32`. Optional: `desired_channels: int = -1`, `desired_samples: int = -1`.
    fn decode_wav(self, contents: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("DecodeWav").input(contents).outputs()
    }

    /// Adds a `DecodeWebP` node with input `contents: string`; output `image: dtype`. Optional: `channels: int = 0`, `dtype: type = u8`.
    fn decode_web_p(self, contents: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DecodeWebP").input(contents).output()
    }

    /// Adds a `DeepCopy` node with input `x: T`; output `y: T`.
    fn deep_copy(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DeepCopy").input(x).output()
    }

    /// Adds a `DeleteIterator` node with inputs `handle: resource`, `deleter: variant`.
    fn delete_iterator(self, handle: impl Into<Input<'b>>, deleter: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("DeleteIterator").input(handle).input(deleter).finish()
    }

    /// Adds a `DeleteMemoryCache` node with inputs `handle: resource`, `deleter: variant`.
    fn delete_memory_cache(self, handle: impl Into<Input<'b>>, deleter: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("DeleteMemoryCache").input(handle).input(deleter).finish()
    }

    /// Adds a `DeleteMultiDeviceIterator` node with inputs `multi_device_iterator: resource`, `iterators: N * resource`, `deleter: variant`.
    fn delete_multi_device_iterator(self, multi_device_iterator: impl Into<Input<'b>>, iterators: &[Output<'b>], deleter: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("DeleteMultiDeviceIterator").input(multi_device_iterator).input_list(iterators).input(deleter).finish()
    }

    /// Adds a `DeleteRandomSeedGenerator` node with inputs `handle: resource`, `deleter: variant`.
    fn delete_random_seed_generator(self, handle: impl Into<Input<'b>>, deleter: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("DeleteRandomSeedGenerator").input(handle).input(deleter).finish()
    }

    /// Adds a `DeleteSeedGenerator` node with inputs `handle: resource`, `deleter: variant`.
    fn delete_seed_generator(self, handle: impl Into<Input<'b>>, deleter: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("DeleteSeedGenerator").input(handle).input(deleter).finish()
    }

    /// Adds a `DeleteSessionTensor` node with input `handle: string`.
    fn delete_session_tensor(self, handle: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("DeleteSessionTensor").input(handle).finish()
    }

    /// Adds a `DenseBincount` node with inputs `input: Tidx`, `size: Tidx`, `weights: T`; output `output: T`. Optional: `binary_output: bool = false`.
    fn dense_bincount(self, input: impl Into<Input<'b>>, size: impl Into<Input<'b>>, weights: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DenseBincount").input(input).input(size).input(weights).output()
    }

    /// Adds a `DenseCountSparseOutput` node with inputs `values: T`, `weights: output_type`; attribute `binary_output: bool`; outputs `output_indices: int64`, `output_values: output_type`, `output_dense_shape: int64`. Optional: `minlength: int = -1`, `maxlength: int = -1`.
    fn dense_count_sparse_output(self, values: impl Into<Input<'b>>, weights: impl Into<Input<'b>>, binary_output: bool) -> Result<[Output<'b>; 3]> {
        self.op_node("DenseCountSparseOutput").input(values).input(weights).attr("binary_output", binary_output).outputs()
    }

    /// Adds a `DenseToDenseSetOperation` node with inputs `set1: T`, `set2: T`; attribute `set_operation: string`; outputs `result_indices: int64`, `result_values: T`, `result_shape: int64`. Optional: `validate_indices: bool = true`.
    fn dense_to_dense_set_operation(self, set1: impl Into<Input<'b>>, set2: impl Into<Input<'b>>, set_operation: &str) -> Result<[Output<'b>; 3]> {
        self.op_node("DenseToDenseSetOperation").input(set1).input(set2).attr("set_operation", set_operation).outputs()
    }

    /// Adds a `DenseToSparseBatchDataset` node with inputs `input_dataset: variant`, `batch_size: int64`, `row_shape: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn dense_to_sparse_batch_dataset(self, input_dataset: impl Into<Input<'b>>, batch_size: impl Into<Input<'b>>, row_shape: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("DenseToSparseBatchDataset").input(input_dataset).input(batch_size).input(row_shape).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `DenseToSparseSetOperation` node with inputs `set1: T`, `set2_indices: int64`, `set2_values: T`, `set2_shape: int64`; attribute `set_operation: string`; outputs `result_indices: int64`, `result_values: T`, `result_shape: int64`. Optional: `validate_indices: bool = true`.
    fn dense_to_sparse_set_operation(self, set1: impl Into<Input<'b>>, set2_indices: impl Into<Input<'b>>, set2_values: impl Into<Input<'b>>, set2_shape: impl Into<Input<'b>>, set_operation: &str) -> Result<[Output<'b>; 3]> {
        self.op_node("DenseToSparseSetOperation").input(set1).input(set2_indices).input(set2_values).input(set2_shape).attr("set_operation", set_operation).outputs()
    }

    /// Adds a `DepthToSpace` node with input `input: T`; attribute `block_size: int`; output `output: T`. Optional: `data_format: string = "NHWC"`.
    fn depth_to_space(self, input: impl Into<Input<'b>>, block_size: i64) -> Result<Output<'b>> {
        self.op_node("DepthToSpace").input(input).attr("block_size", block_size).output()
    }

    /// Adds a `DepthwiseConv2dNative` node with inputs `input: T`, `filter: T`; attributes `strides: list(int)`, `padding: string`; output `output: T`. Optional: `explicit_paddings: list(int) = []`, `data_format: string = "NHWC"`, `dilations: list(int) = [1,1,1,1]`.
    fn depthwise_conv2d_native(self, input: impl Into<Input<'b>>, filter: impl Into<Input<'b>>, strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("DepthwiseConv2dNative").input(input).input(filter).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `DepthwiseConv2dNativeBackpropFilter` node with inputs `input: T`, `filter_sizes: int32`, `out_backprop: T`; attributes `strides: list(int)`, `padding: string`; output `output: T`. Optional: `explicit_paddings: list(int) = []`, `data_format: string = "NHWC"`, `dilations: list(int) = [1,1,1,1]`.
    fn depthwise_conv2d_native_backprop_filter(self, input: impl Into<Input<'b>>, filter_sizes: impl Into<Input<'b>>, out_backprop: impl Into<Input<'b>>, strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("DepthwiseConv2dNativeBackpropFilter").input(input).input(filter_sizes).input(out_backprop).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `DepthwiseConv2dNativeBackpropInput` node with inputs `input_sizes: int32`, `filter: T`, `out_backprop: T`; attributes `strides: list(int)`, `padding: string`; output `output: T`. Optional: `explicit_paddings: list(int) = []`, `data_format: string = "NHWC"`, `dilations: list(int) = [1,1,1,1]`.
    fn depthwise_conv2d_native_backprop_input(self, input_sizes: impl Into<Input<'b>>, filter: impl Into<Input<'b>>, out_backprop: impl Into<Input<'b>>, strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("DepthwiseConv2dNativeBackpropInput").input(input_sizes).input(filter).input(out_backprop).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `Dequantize` node with inputs `input: T`, `min_range: float`, `max_range: float`; output `output: dtype`. Optional: `mode: string = "MIN_COMBINED"`, `narrow_range: bool = false`, `axis: int = -1`, `dtype: type = f32`.
    fn dequantize(self, input: impl Into<Input<'b>>, min_range: impl Into<Input<'b>>, max_range: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Dequantize").input(input).input(min_range).input(max_range).output()
    }

    /// Adds a `DeserializeIterator` node with inputs `resource_handle: resource`, `serialized: variant`.
    fn deserialize_iterator(self, resource_handle: impl Into<Input<'b>>, serialized: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("DeserializeIterator").input(resource_handle).input(serialized).finish()
    }

    /// Adds a `DeserializeManySparse` node with input `serialized_sparse: string`; attribute `dtype: type`; outputs `sparse_indices: int64`, `sparse_values: dtype`, `sparse_shape: int64`.
    fn deserialize_many_sparse(self, serialized_sparse: impl Into<Input<'b>>, dtype: DType) -> Result<[Output<'b>; 3]> {
        self.op_node("DeserializeManySparse").input(serialized_sparse).attr("dtype", dtype).outputs()
    }

    /// Adds a `DeserializeSparse` node with input `serialized_sparse: Tserialized`; attribute `dtype: type`; outputs `sparse_indices: int64`, `sparse_values: dtype`, `sparse_shape: int64`.
    fn deserialize_sparse(self, serialized_sparse: impl Into<Input<'b>>, dtype: DType) -> Result<[Output<'b>; 3]> {
        self.op_node("DeserializeSparse").input(serialized_sparse).attr("dtype", dtype).outputs()
    }

    /// Adds a `DestroyResourceOp` node with input `resource: resource`. Optional: `ignore_lookup_error: bool = true`.
    fn destroy_resource_op(self, resource: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("DestroyResourceOp").input(resource).finish()
    }

    /// Adds a `DestroyTemporaryVariable` node with input `ref: Ref(T)`; attribute `var_name: string`; output `value: T`.
    fn destroy_temporary_variable(self, ref_: impl Into<Input<'b>>, var_name: &str) -> Result<Output<'b>> {
        self.op_node("DestroyTemporaryVariable").input(ref_).attr("var_name", var_name).output()
    }

    /// Adds a `DeviceIndex` node with attribute `device_names: list(string)`; output `index: int32`.
    fn device_index(self, device_names: &[&str]) -> Result<Output<'b>> {
        self.op_node("DeviceIndex").attr("device_names", device_names).output()
    }

    /// Adds a `Diag` node with input `diagonal: T`; output `output: T`.
    fn diag(self, diagonal: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Diag").input(diagonal).output()
    }

    /// Adds a `DiagPart` node with input `input: T`; output `diagonal: T`.
    fn diag_part(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DiagPart").input(input).output()
    }

    /// Adds a `Digamma` node with input `x: T`; output `y: T`.
    fn digamma(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Digamma").input(x).output()
    }

    /// Adds a `Dilation2D` node with inputs `input: T`, `filter: T`; attributes `strides: list(int)`, `rates: list(int)`, `padding: string`; output `output: T`.
    fn dilation2d(self, input: impl Into<Input<'b>>, filter: impl Into<Input<'b>>, strides: &[i64], rates: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("Dilation2D").input(input).input(filter).attr("strides", strides).attr("rates", rates).attr("padding", padding).output()
    }

    /// Adds a `Dilation2DBackpropFilter` node with inputs `input: T`, `filter: T`, `out_backprop: T`; attributes `strides: list(int)`, `rates: list(int)`, `padding: string`; output `filter_backprop: T`.
    fn dilation2d_backprop_filter(self, input: impl Into<Input<'b>>, filter: impl Into<Input<'b>>, out_backprop: impl Into<Input<'b>>, strides: &[i64], rates: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("Dilation2DBackpropFilter").input(input).input(filter).input(out_backprop).attr("strides", strides).attr("rates", rates).attr("padding", padding).output()
    }

    /// Adds a `Dilation2DBackpropInput` node with inputs `input: T`, `filter: T`, `out_backprop: T`; attributes `strides: list(int)`, `rates: list(int)`, `padding: string`; output `in_backprop: T`.
    fn dilation2d_backprop_input(self, input: impl Into<Input<'b>>, filter: impl Into<Input<'b>>, out_backprop: impl Into<Input<'b>>, strides: &[i64], rates: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("Dilation2DBackpropInput").input(input).input(filter).input(out_backprop).attr("strides", strides).attr("rates", rates).attr("padding", padding).output()
    }

    /// Adds a `DirectedInterleaveDataset` node with inputs `selector_input_dataset: variant`, `data_input_datasets: N * variant`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `stop_on_empty_dataset: bool = false`.
    fn directed_interleave_dataset(self, selector_input_dataset: impl Into<Input<'b>>, data_input_datasets: &[Output<'b>], output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("DirectedInterleaveDataset").input(selector_input_dataset).input_list(data_input_datasets).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `DisableCopyOnRead` node with input `resource: resource`.
    fn disable_copy_on_read(self, resource: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("DisableCopyOnRead").input(resource).finish()
    }

    /// Adds a `Div` node with inputs `x: T`, `y: T`; output `z: T`.
    fn div(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Div").input(x).input(y).output()
    }

    /// Adds a `DivNoNan` node with inputs `x: T`, `y: T`; output `z: T`.
    fn div_no_nan(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DivNoNan").input(x).input(y).output()
    }

    /// Adds a `DrawBoundingBoxes` node with inputs `images: T`, `boxes: float`; output `output: T`.
    fn draw_bounding_boxes(self, images: impl Into<Input<'b>>, boxes: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DrawBoundingBoxes").input(images).input(boxes).output()
    }

    /// Adds a `DrawBoundingBoxesV2` node with inputs `images: T`, `boxes: float`, `colors: float`; output `output: T`.
    fn draw_bounding_boxes_v2(self, images: impl Into<Input<'b>>, boxes: impl Into<Input<'b>>, colors: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("DrawBoundingBoxesV2").input(images).input(boxes).input(colors).output()
    }

    /// Adds a `DummyMemoryCache` node with output `handle: resource`.
    fn dummy_memory_cache(self) -> Result<Output<'b>> {
        self.op_node("DummyMemoryCache").output()
    }

    /// Adds a `DummySeedGenerator` node with output `handle: resource`.
    fn dummy_seed_generator(self) -> Result<Output<'b>> {
        self.op_node("DummySeedGenerator").output()
    }

    /// Adds a `DynamicPartition` node with inputs `data: T`, `partitions: int32`; attribute `num_partitions: int`; output `outputs: num_partitions * T`.
    fn dynamic_partition(self, data: impl Into<Input<'b>>, partitions: impl Into<Input<'b>>, num_partitions: i64) -> Result<Vec<Output<'b>>> {
        self.op_node("DynamicPartition").input(data).input(partitions).attr("num_partitions", num_partitions).output_lists().map(|[list]| list)
    }

    /// Adds a `DynamicStitch` node with inputs `indices: N * int32`, `data: N * T`; output `merged: T`.
    fn dynamic_stitch(self, indices: &[Output<'b>], data: &[Output<'b>]) -> Result<Output<'b>> {
        self.op_node("DynamicStitch").input_list(indices).input_list(data).output()
    }

    /// Adds an `EagerPyFunc` node with input `input: Tin`; attributes `token: string`, `Tout: list(type)`; output `output: Tout`. Optional: `is_async: bool = false`.
    fn eager_py_func(self, input: &[Output<'b>], token: &str, tout: &[DType]) -> Result<Vec<Output<'b>>> {
        self.op_node("EagerPyFunc").input_list(input).attr("token", token).attr("Tout", tout).output_lists().map(|[list]| list)
    }

    /// Adds an `EditDistance` node with inputs `hypothesis_indices: int64`, `hypothesis_values: T`, `hypothesis_shape: int64`, `truth_indices: int64`, `truth_values: T`, `truth_shape: int64`; output `output: float`. Optional: `normalize: bool = true`.
    fn edit_distance(self, hypothesis_indices: impl Into<Input<'b>>, hypothesis_values: impl Into<Input<'b>>, hypothesis_shape: impl Into<Input<'b>>, truth_indices: impl Into<Input<'b>>, truth_values: impl Into<Input<'b>>, truth_shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("EditDistance").input(hypothesis_indices).input(hypothesis_values).input(hypothesis_shape).input(truth_indices).input(truth_values).input(truth_shape).output()
    }

    /// Adds an `Eig` node with input `input: T`; attribute `Tout: type`; outputs `e: Tout`, `v: Tout`. Optional: `compute_v: bool = true`.
    fn eig(self, input: impl Into<Input<'b>>, tout: DType) -> Result<[Output<'b>; 2]> {
        self.op_node("Eig").input(input).attr("Tout", tout).outputs()
    }

    /// Adds an `Einsum` node with input `inputs: N * T`; attribute `equation: string`; output `output: T`.
    fn einsum(self, inputs: &[Output<'b>], equation: &str) -> Result<Output<'b>> {
        self.op_node("Einsum").input_list(inputs).attr("equation", equation).output()
    }

    /// Adds an `Elu` node with input `features: T`; output `activations: T`.
    fn elu(self, features: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Elu").input(features).output()
    }

    /// Adds an `EluGrad` node with inputs `gradients: T`, `outputs: T`; output `backprops: T`.
    fn elu_grad(self, gradients: impl Into<Input<'b>>, outputs: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("EluGrad").input(gradients).input(outputs).output()
    }

    /// Adds an `Empty` node with input `shape: int32`; attribute `dtype: type`; output `output: dtype`. Optional: `init: bool = false`.
    fn empty(self, shape: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("Empty").input(shape).attr("dtype", dtype).output()
    }

    /// Adds an `EmptyTensorList` node with inputs `element_shape: shape_type`, `max_num_elements: int32`; attribute `element_dtype: type`; output `handle: variant`.
    fn empty_tensor_list(self, element_shape: impl Into<Input<'b>>, max_num_elements: impl Into<Input<'b>>, element_dtype: DType) -> Result<Output<'b>> {
        self.op_node("EmptyTensorList").input(element_shape).input(max_num_elements).attr("element_dtype", element_dtype).output()
    }

    /// Adds an `EmptyTensorMap` node with output `handle: variant`.
    fn empty_tensor_map(self) -> Result<Output<'b>> {
        self.op_node("EmptyTensorMap").output()
    }

    /// Adds an `EncodeBase64` node with input `input: string`; output `output: string`. Optional: `pad: bool = false`.
    fn encode_base64(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("EncodeBase64").input(input).output()
    }

    /// Adds an `EncodeJpeg` node with input `image: uint8`; output `contents: string`. Optional: `format: string = ""`, `quality: int = 95`, `progressive: bool = false`, `optimize_size: bool = false`, `chroma_downsampling: bool = true`, `density_unit: string = "in"`, `x_density: int = 300`, `y_density: int = 300`, `xmp_metadata: string = ""`.
    fn encode_jpeg(self, image: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("EncodeJpeg").input(image).output()
    }

    /// Adds an `EncodeJpegVariableQuality` node with inputs `images: uint8`, `quality: int32`; output `contents: string`.
    fn encode_jpeg_variable_quality(self, images: impl Into<Input<'b>>, quality: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("EncodeJpegVariableQuality").input(images).input(quality).output()
    }

    /// Adds an `EncodePng` node with input `image: T`; output `contents: string`. Optional: `compression: int = -1`.
    fn encode_png(self, image: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("EncodePng").input(image).output()
    }

    /// Adds an `EncodeProto` node with inputs `sizes: int32`, `values: Tinput_types`; attributes `field_names: list(string)`, `message_type: string`; output `bytes: string`. Optional: `descriptor_source: string = "local://"`.
    fn encode_proto(self, sizes: impl Into<Input<'b>>, values: &[Output<'b>], field_names: &[&str], message_type: &str) -> Result<Output<'b>> {
        self.op_node("EncodeProto").input(sizes).input_list(values).attr("field_names", field_names).attr("message_type", message_type).output()
    }

    /// Adds an `EncodeWav` node with inputs `audio: float`, `sample_rate: int32`; output `contents: string`.
    fn encode_wav(self, audio: impl Into<Input<'b>>, sample_rate: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("EncodeWav").input(audio).input(sample_rate).output()
    }

    /// Adds an `EnsureShape` node with input `input: T`; attribute `shape: shape`; output `output: T`.
    fn ensure_shape(self, input: impl Into<Input<'b>>, shape: impl Into<PartialShape>) -> Result<Output<'b>> {
        self.op_node("EnsureShape").input(input).attr("shape", shape.into()).output()
    }

    /// Adds an `Enter` node with input `data: T`; attribute `frame_name: string`; output `output: T`. Optional: `is_constant: bool = false`, `parallel_iterations: int = 10`.
    fn enter(self, data: impl Into<Input<'b>>, frame_name: &str) -> Result<Output<'b>> {
        self.op_node("Enter").input(data).attr("frame_name", frame_name).output()
    }

    /// Adds an `Equal` node with inputs `x: T`, `y: T`; output `z: bool`. Optional: `incompatible_shape_error: bool = true`.
    fn equal(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Equal").input(x).input(y).output()
    }

    /// Adds an `Erf` node with input `x: T`; output `y: T`.
    fn erf(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Erf").input(x).output()
    }

    /// Adds an `Erfc` node with input `x: T`; output `y: T`.
    fn erfc(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Erfc").input(x).output()
    }

    /// Adds an `Erfinv` node with input `x: T`; output `y: T`.
    fn erfinv(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Erfinv").input(x).output()
    }

    /// Adds an `EuclideanNorm` node with inputs `input: T`, `reduction_indices: Tidx`; output `output: T`. Optional: `keep_dims: bool = false`.
    fn euclidean_norm(self, input: impl Into<Input<'b>>, reduction_indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("EuclideanNorm").input(input).input(reduction_indices).output()
    }

    /// Adds an `Exit` node with input `data: T`; output `output: T`.
    fn exit(self, data: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Exit").input(data).output()
    }

    /// Adds an `Exp` node with input `x: T`; output `y: T`.
    fn exp(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Exp").input(x).output()
    }

    /// Adds an `ExpandDims` node with inputs `input: T`, `dim: Tdim`; output `output: T`.
    fn expand_dims(self, input: impl Into<Input<'b>>, dim: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ExpandDims").input(input).input(dim).output()
    }

    /// Adds an `ExperimentalAssertNextDataset` node with inputs `input_dataset: variant`, `transformations: string`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_assert_next_dataset(self, input_dataset: impl Into<Input<'b>>, transformations: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalAssertNextDataset").input(input_dataset).input(transformations).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalAutoShardDataset` node with inputs `input_dataset: variant`, `num_workers: int64`, `index: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `auto_shard_policy: int = 0`.
    fn experimental_auto_shard_dataset(self, input_dataset: impl Into<Input<'b>>, num_workers: impl Into<Input<'b>>, index: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalAutoShardDataset").input(input_dataset).input(num_workers).input(index).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalBytesProducedStatsDataset` node with inputs `input_dataset: variant`, `tag: string`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_bytes_produced_stats_dataset(self, input_dataset: impl Into<Input<'b>>, tag: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalBytesProducedStatsDataset").input(input_dataset).input(tag).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalCSVDataset` node with inputs `filenames: string`, `compression_type: string`, `buffer_size: int64`, `header: bool`, `field_delim: string`, `use_quote_delim: bool`, `na_value: string`, `select_cols: int64`, `record_defaults: output_types`; attribute `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_csv_dataset(self, filenames: impl Into<Input<'b>>, compression_type: impl Into<Input<'b>>, buffer_size: impl Into<Input<'b>>, header: impl Into<Input<'b>>, field_delim: impl Into<Input<'b>>, use_quote_delim: impl Into<Input<'b>>, na_value: impl Into<Input<'b>>, select_cols: impl Into<Input<'b>>, record_defaults: &[Output<'b>], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalCSVDataset").input(filenames).input(compression_type).input(buffer_size).input(header).input(field_delim).input(use_quote_delim).input(na_value).input(select_cols).input_list(record_defaults).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalDatasetCardinality` node with input `input_dataset: variant`; output `cardinality: int64`.
    fn experimental_dataset_cardinality(self, input_dataset: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ExperimentalDatasetCardinality").input(input_dataset).output()
    }

    /// Adds an `ExperimentalDatasetToTFRecord` node with inputs `input_dataset: variant`, `filename: string`, `compression_type: string`.
    fn experimental_dataset_to_tf_record(self, input_dataset: impl Into<Input<'b>>, filename: impl Into<Input<'b>>, compression_type: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ExperimentalDatasetToTFRecord").input(input_dataset).input(filename).input(compression_type).finish()
    }

    /// Adds an `ExperimentalDenseToSparseBatchDataset` node with inputs `input_dataset: variant`, `batch_size: int64`, `row_shape: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_dense_to_sparse_batch_dataset(self, input_dataset: impl Into<Input<'b>>, batch_size: impl Into<Input<'b>>, row_shape: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalDenseToSparseBatchDataset").input(input_dataset).input(batch_size).input(row_shape).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalDirectedInterleaveDataset` node with inputs `selector_input_dataset: variant`, `data_input_datasets: N * variant`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_directed_interleave_dataset(self, selector_input_dataset: impl Into<Input<'b>>, data_input_datasets: &[Output<'b>], output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalDirectedInterleaveDataset").input(selector_input_dataset).input_list(data_input_datasets).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalGroupByReducerDataset` node with inputs `input_dataset: variant`, `key_func_other_arguments: Tkey_func_other_arguments`, `init_func_other_arguments: Tinit_func_other_arguments`, `reduce_func_other_arguments: Treduce_func_other_arguments`, `finalize_func_other_arguments: Tfinalize_func_other_arguments`; attributes `key_func: func`, `init_func: func`, `reduce_func: func`, `finalize_func: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_group_by_reducer_dataset(self, input_dataset: impl Into<Input<'b>>, key_func_other_arguments: &[Output<'b>], init_func_other_arguments: &[Output<'b>], reduce_func_other_arguments: &[Output<'b>], finalize_func_other_arguments: &[Output<'b>], key_func: &NameAttrList, init_func: &NameAttrList, reduce_func: &NameAttrList, finalize_func: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalGroupByReducerDataset").input(input_dataset).input_list(key_func_other_arguments).input_list(init_func_other_arguments).input_list(reduce_func_other_arguments).input_list(finalize_func_other_arguments).attr("key_func", key_func).attr("init_func", init_func).attr("reduce_func", reduce_func).attr("finalize_func", finalize_func).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalGroupByWindowDataset` node with inputs `input_dataset: variant`, `key_func_other_arguments: Tkey_func_other_arguments`, `reduce_func_other_arguments: Treduce_func_other_arguments`, `window_size_func_other_arguments: Twindow_size_func_other_arguments`; attributes `key_func: func`, `reduce_func: func`, `window_size_func: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_group_by_window_dataset(self, input_dataset: impl Into<Input<'b>>, key_func_other_arguments: &[Output<'b>], reduce_func_other_arguments: &[Output<'b>], window_size_func_other_arguments: &[Output<'b>], key_func: &NameAttrList, reduce_func: &NameAttrList, window_size_func: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalGroupByWindowDataset").input(input_dataset).input_list(key_func_other_arguments).input_list(reduce_func_other_arguments).input_list(window_size_func_other_arguments).attr("key_func", key_func).attr("reduce_func", reduce_func).attr("window_size_func", window_size_func).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalIgnoreErrorsDataset` node with input `input_dataset: variant`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `log_warning: bool = false`.
    fn experimental_ignore_errors_dataset(self, input_dataset: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalIgnoreErrorsDataset").input(input_dataset).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalIteratorGetDevice` node with input `resource: resource`; output `device: string`.
    fn experimental_iterator_get_device(self, resource: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ExperimentalIteratorGetDevice").input(resource).output()
    }

    /// Adds an `ExperimentalLatencyStatsDataset` node with inputs `input_dataset: variant`, `tag: string`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_latency_stats_dataset(self, input_dataset: impl Into<Input<'b>>, tag: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalLatencyStatsDataset").input(input_dataset).input(tag).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalMapAndBatchDataset` node with inputs `input_dataset: variant`, `other_arguments: Targuments`, `batch_size: int64`, `num_parallel_calls: int64`, `drop_remainder: bool`; attributes `f: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `preserve_cardinality: bool = false`.
    fn experimental_map_and_batch_dataset(self, input_dataset: impl Into<Input<'b>>, other_arguments: &[Output<'b>], batch_size: impl Into<Input<'b>>, num_parallel_calls: impl Into<Input<'b>>, drop_remainder: impl Into<Input<'b>>, f: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalMapAndBatchDataset").input(input_dataset).input_list(other_arguments).input(batch_size).input(num_parallel_calls).input(drop_remainder).attr("f", f).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalMapDataset` node with inputs `input_dataset: variant`, `other_arguments: Targuments`; attributes `f: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `use_inter_op_parallelism: bool = true`, `preserve_cardinality: bool = false`, `force_synchronous: bool = false`.
    fn experimental_map_dataset(self, input_dataset: impl Into<Input<'b>>, other_arguments: &[Output<'b>], f: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalMapDataset").input(input_dataset).input_list(other_arguments).attr("f", f).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalMatchingFilesDataset` node with input `patterns: string`; output `handle: variant`.
    fn experimental_matching_files_dataset(self, patterns: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ExperimentalMatchingFilesDataset").input(patterns).output()
    }

    /// Adds an `ExperimentalMaxIntraOpParallelismDataset` node with inputs `input_dataset: variant`, `max_intra_op_parallelism: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_max_intra_op_parallelism_dataset(self, input_dataset: impl Into<Input<'b>>, max_intra_op_parallelism: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalMaxIntraOpParallelismDataset").input(input_dataset).input(max_intra_op_parallelism).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalNonSerializableDataset` node with input `input_dataset: variant`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_non_serializable_dataset(self, input_dataset: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalNonSerializableDataset").input(input_dataset).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalParallelInterleaveDataset` node with inputs `input_dataset: variant`, `other_arguments: Targuments`, `cycle_length: int64`, `block_length: int64`, `sloppy: bool`, `buffer_output_elements: int64`, `prefetch_input_elements: int64`; attributes `f: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_parallel_interleave_dataset(self, input_dataset: impl Into<Input<'b>>, other_arguments: &[Output<'b>], cycle_length: impl Into<Input<'b>>, block_length: impl Into<Input<'b>>, sloppy: impl Into<Input<'b>>, buffer_output_elements: impl Into<Input<'b>>, prefetch_input_elements: impl Into<Input<'b>>, f: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalParallelInterleaveDataset").input(input_dataset).input_list(other_arguments).input(cycle_length).input(block_length).input(sloppy).input(buffer_output_elements).input(prefetch_input_elements).attr("f", f).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalParseExampleDataset` node with inputs `input_dataset: variant`, `num_parallel_calls: int64`, `dense_defaults: Tdense`; attributes `sparse_keys: list(string)`, `dense_keys: list(string)`, `sparse_types: list(type)`, `dense_shapes: list(shape)`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `sloppy: bool = false`.
    fn experimental_parse_example_dataset(self, input_dataset: impl Into<Input<'b>>, num_parallel_calls: impl Into<Input<'b>>, dense_defaults: &[Output<'b>], sparse_keys: &[&str], dense_keys: &[&str], sparse_types: &[DType], dense_shapes: &[PartialShape], output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalParseExampleDataset").input(input_dataset).input(num_parallel_calls).input_list(dense_defaults).attr("sparse_keys", sparse_keys).attr("dense_keys", dense_keys).attr("sparse_types", sparse_types).attr("dense_shapes", dense_shapes).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalPrivateThreadPoolDataset` node with inputs `input_dataset: variant`, `num_threads: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_private_thread_pool_dataset(self, input_dataset: impl Into<Input<'b>>, num_threads: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalPrivateThreadPoolDataset").input(input_dataset).input(num_threads).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalRandomDataset` node with inputs `seed: int64`, `seed2: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_random_dataset(self, seed: impl Into<Input<'b>>, seed2: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalRandomDataset").input(seed).input(seed2).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalRebatchDataset` node with inputs `input_dataset: variant`, `num_replicas: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `use_fallback: bool = true`.
    fn experimental_rebatch_dataset(self, input_dataset: impl Into<Input<'b>>, num_replicas: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalRebatchDataset").input(input_dataset).input(num_replicas).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalScanDataset` node with inputs `input_dataset: variant`, `initial_state: Tstate`, `other_arguments: Targuments`; attributes `f: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `preserve_cardinality: bool = false`.
    fn experimental_scan_dataset(self, input_dataset: impl Into<Input<'b>>, initial_state: &[Output<'b>], other_arguments: &[Output<'b>], f: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalScanDataset").input(input_dataset).input_list(initial_state).input_list(other_arguments).attr("f", f).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalSetStatsAggregatorDataset` node with inputs `input_dataset: variant`, `stats_aggregator: resource`, `tag: string`, `counter_prefix: string`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_set_stats_aggregator_dataset(self, input_dataset: impl Into<Input<'b>>, stats_aggregator: impl Into<Input<'b>>, tag: impl Into<Input<'b>>, counter_prefix: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalSetStatsAggregatorDataset").input(input_dataset).input(stats_aggregator).input(tag).input(counter_prefix).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalSleepDataset` node with inputs `input_dataset: variant`, `sleep_microseconds: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_sleep_dataset(self, input_dataset: impl Into<Input<'b>>, sleep_microseconds: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalSleepDataset").input(input_dataset).input(sleep_microseconds).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalSlidingWindowDataset` node with inputs `input_dataset: variant`, `window_size: int64`, `window_shift: int64`, `window_stride: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_sliding_window_dataset(self, input_dataset: impl Into<Input<'b>>, window_size: impl Into<Input<'b>>, window_shift: impl Into<Input<'b>>, window_stride: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalSlidingWindowDataset").input(input_dataset).input(window_size).input(window_shift).input(window_stride).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalStatsAggregatorHandle` node with output `handle: resource`. Optional: `container: string = ""`, `shared_name: string = ""`.
    fn experimental_stats_aggregator_handle(self) -> Result<Output<'b>> {
        self.op_node("ExperimentalStatsAggregatorHandle").output()
    }

    /// Adds an `ExperimentalStatsAggregatorSummary` node with input `iterator: resource`; output `summary: string`.
    fn experimental_stats_aggregator_summary(self, iterator: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ExperimentalStatsAggregatorSummary").input(iterator).output()
    }

    /// Adds an `ExperimentalTakeWhileDataset` node with inputs `input_dataset: variant`, `other_arguments: Targuments`; attributes `predicate: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_take_while_dataset(self, input_dataset: impl Into<Input<'b>>, other_arguments: &[Output<'b>], predicate: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalTakeWhileDataset").input(input_dataset).input_list(other_arguments).attr("predicate", predicate).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalThreadPoolDataset` node with inputs `input_dataset: variant`, `thread_pool: resource`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_thread_pool_dataset(self, input_dataset: impl Into<Input<'b>>, thread_pool: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalThreadPoolDataset").input(input_dataset).input(thread_pool).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalThreadPoolHandle` node with attributes `num_threads: int`, `display_name: string`; output `handle: resource`. Optional: `max_intra_op_parallelism: int = 1`, `container: string = ""`, `shared_name: string = ""`.
    fn experimental_thread_pool_handle(self, num_threads: i64, display_name: &str) -> Result<Output<'b>> {
        self.op_node("ExperimentalThreadPoolHandle").attr("num_threads", num_threads).attr("display_name", display_name).output()
    }

    /// Adds an `ExperimentalUnbatchDataset` node with input `input_dataset: variant`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_unbatch_dataset(self, input_dataset: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalUnbatchDataset").input(input_dataset).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `ExperimentalUniqueDataset` node with input `input_dataset: variant`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn experimental_unique_dataset(self, input_dataset: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ExperimentalUniqueDataset").input(input_dataset).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `Expint` node with input `x: T`; output `y: T`.
    fn expint(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Expint").input(x).output()
    }

    /// Adds an `Expm1` node with input `x: T`; output `y: T`.
    fn expm1(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Expm1").input(x).output()
    }

    /// Adds an `ExtractGlimpse` node with inputs `input: float`, `size: int32`, `offsets: float`; output `glimpse: float`. Optional: `centered: bool = true`, `normalized: bool = true`, `uniform_noise: bool = true`, `noise: string = "uniform"`.
    fn extract_glimpse(self, input: impl Into<Input<'b>>, size: impl Into<Input<'b>>, offsets: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ExtractGlimpse").input(input).input(size).input(offsets).output()
    }

    /// Adds an `ExtractGlimpseV2` node with inputs `input: float`, `size: int32`, `offsets: float`; output `glimpse: float`. Optional: `centered: bool = true`, `normalized: bool = true`, `uniform_noise: bool = true`, `noise: string = "uniform"`.
    fn extract_glimpse_v2(self, input: impl Into<Input<'b>>, size: impl Into<Input<'b>>, offsets: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ExtractGlimpseV2").input(input).input(size).input(offsets).output()
    }

    /// Adds an `ExtractImagePatches` node with input `images: T`; attributes `ksizes: list(int)`, `strides: list(int)`, `rates: list(int)`, `padding: string`; output `patches: T`.
    fn extract_image_patches(self, images: impl Into<Input<'b>>, ksizes: &[i64], strides: &[i64], rates: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("ExtractImagePatches").input(images).attr("ksizes", ksizes).attr("strides", strides).attr("rates", rates).attr("padding", padding).output()
    }

    /// Adds an `ExtractJpegShape` node with input `contents: string`; output `image_shape: output_type`. Optional: `output_type: type = i32`.
    fn extract_jpeg_shape(self, contents: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ExtractJpegShape").input(contents).output()
    }

    /// Adds an `ExtractVolumePatches` node with input `input: T`; attributes `ksizes: list(int)`, `strides: list(int)`, `padding: string`; output `patches: T`.
    fn extract_volume_patches(self, input: impl Into<Input<'b>>, ksizes: &[i64], strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("ExtractVolumePatches").input(input).attr("ksizes", ksizes).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `FakeQuantWithMinMaxArgs` node with input `inputs: float`; output `outputs: float`. Optional: `min: float = -6.0`, `max: float = 6.0`, `num_bits: int = 8`, `narrow_range: bool = false`.
    fn fake_quant_with_min_max_args(self, inputs: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("FakeQuantWithMinMaxArgs").input(inputs).output()
    }

    /// Adds a `FakeQuantWithMinMaxArgsGradient` node with inputs `gradients: float`, `inputs: float`; output `backprops: float`. Optional: `min: float = -6.0`, `max: float = 6.0`, `num_bits: int = 8`, `narrow_range: bool = false`.
    fn fake_quant_with_min_max_args_gradient(self, gradients: impl Into<Input<'b>>, inputs: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("FakeQuantWithMinMaxArgsGradient").input(gradients).input(inputs).output()
    }

    /// Adds a `FakeQuantWithMinMaxVars` node with inputs `inputs: float`, `min: float`, `max: float`; output `outputs: float`. Optional: `num_bits: int = 8`, `narrow_range: bool = false`.
    fn fake_quant_with_min_max_vars(self, inputs: impl Into<Input<'b>>, min: impl Into<Input<'b>>, max: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("FakeQuantWithMinMaxVars").input(inputs).input(min).input(max).output()
    }

    /// Adds a `FakeQuantWithMinMaxVarsGradient` node with inputs `gradients: float`, `inputs: float`, `min: float`, `max: float`; outputs `backprops_wrt_input: float`, `backprop_wrt_min: float`, `backprop_wrt_max: float`. Optional: `num_bits: int = 8`, `narrow_range: bool = false`.
    fn fake_quant_with_min_max_vars_gradient(self, gradients: impl Into<Input<'b>>, inputs: impl Into<Input<'b>>, min: impl Into<Input<'b>>, max: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("FakeQuantWithMinMaxVarsGradient").input(gradients).input(inputs).input(min).input(max).outputs()
    }

    /// Adds a `FakeQuantWithMinMaxVarsPerChannel` node with inputs `inputs: float`, `min: float`, `max: float`; output `outputs: float`. Optional: `num_bits: int = 8`, `narrow_range: bool = false`.
    fn fake_quant_with_min_max_vars_per_channel(self, inputs: impl Into<Input<'b>>, min: impl Into<Input<'b>>, max: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("FakeQuantWithMinMaxVarsPerChannel").input(inputs).input(min).input(max).output()
    }

    /// Adds a `FakeQuantWithMinMaxVarsPerChannelGradient` node with inputs `gradients: float`, `inputs: float`, `min: float`, `max: float`; outputs `backprops_wrt_input: float`, `backprop_wrt_min: float`, `backprop_wrt_max: float`. Optional: `num_bits: int = 8`, `narrow_range: bool = false`.
    fn fake_quant_with_min_max_vars_per_channel_gradient(self, gradients: impl Into<Input<'b>>, inputs: impl Into<Input<'b>>, min: impl Into<Input<'b>>, max: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("FakeQuantWithMinMaxVarsPerChannelGradient").input(gradients).input(inputs).input(min).input(max).outputs()
    }

    /// Adds a `FFT` node with input `input: Tcomplex`; output `output: Tcomplex`.
    fn fft(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("FFT").input(input).output()
    }

    /// Adds a `FFT2D` node with input `input: Tcomplex`; output `output: Tcomplex`.
    fn fft2d(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("FFT2D").input(input).output()
    }

    /// Adds a `FFT3D` node with input `input: Tcomplex`; output `output: Tcomplex`.
    fn fft3d(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("FFT3D").input(input).output()
    }

    /// Adds a `FFTND` node with inputs `input: Tcomplex`, `fft_length: int32`, `axes: int32`; output `output: Tcomplex`.
    fn fftnd(self, input: impl Into<Input<'b>>, fft_length: impl Into<Input<'b>>, axes: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("FFTND").input(input).input(fft_length).input(axes).output()
    }

    /// Adds a `FIFOQueue` node with attribute `component_types: list(type)`; output `handle: Ref(string)`. Optional: `shapes: list(shape) = []`, `capacity: int = -1`, `container: string = ""`, `shared_name: string = ""`.
    fn fifo_queue(self, component_types: &[DType]) -> Result<Output<'b>> {
        self.op_node("FIFOQueue").attr("component_types", component_types).output()
    }

    /// Adds a `FIFOQueueV2` node with attribute `component_types: list(type)`; output `handle: resource`. Optional: `shapes: list(shape) = []`, `capacity: int = -1`, `container: string = ""`, `shared_name: string = ""`.
    fn fifo_queue_v2(self, component_types: &[DType]) -> Result<Output<'b>> {
        self.op_node("FIFOQueueV2").attr("component_types", component_types).output()
    }

    /// Adds a `Fill` node with inputs `dims: index_type`, `value: T`; output `output: T`.
    fn fill(self, dims: impl Into<Input<'b>>, value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Fill").input(dims).input(value).output()
    }

    /// Adds a `FilterByLastComponentDataset` node with input `input_dataset: variant`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `output: variant`.
    fn filter_by_last_component_dataset(self, input_dataset: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("FilterByLastComponentDataset").input(input_dataset).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `FilterDataset` node with inputs `input_dataset: variant`, `other_arguments: Targuments`; attributes `predicate: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn filter_dataset(self, input_dataset: impl Into<Input<'b>>, other_arguments: &[Output<'b>], predicate: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("FilterDataset").input(input_dataset).input_list(other_arguments).attr("predicate", predicate).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `FinalizeDataset` node with input `input_dataset: variant`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `has_captured_ref: bool = false`.
    fn finalize_dataset(self, input_dataset: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("FinalizeDataset").input(input_dataset).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `Fingerprint` node with inputs `data: T`, `method: string`; output `fingerprint: uint8`.
    fn fingerprint(self, data: impl Into<Input<'b>>, method: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Fingerprint").input(data).input(method).output()
    }

    /// Adds a `FixedLengthRecordDataset` node with inputs `filenames: string`, `header_bytes: int64`, `record_bytes: int64`, `footer_bytes: int64`, `buffer_size: int64`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn fixed_length_record_dataset(self, filenames: impl Into<Input<'b>>, header_bytes: impl Into<Input<'b>>, record_bytes: impl Into<Input<'b>>, footer_bytes: impl Into<Input<'b>>, buffer_size: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("FixedLengthRecordDataset").input(filenames).input(header_bytes).input(record_bytes).input(footer_bytes).input(buffer_size).output()
    }

    /// Adds a `FixedLengthRecordDatasetV2` node with inputs `filenames: string`, `header_bytes: int64`, `record_bytes: int64`, `footer_bytes: int64`, `buffer_size: int64`, `compression_type: string`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn fixed_length_record_dataset_v2(self, filenames: impl Into<Input<'b>>, header_bytes: impl Into<Input<'b>>, record_bytes: impl Into<Input<'b>>, footer_bytes: impl Into<Input<'b>>, buffer_size: impl Into<Input<'b>>, compression_type: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("FixedLengthRecordDatasetV2").input(filenames).input(header_bytes).input(record_bytes).input(footer_bytes).input(buffer_size).input(compression_type).output()
    }

    /// Adds a `FixedLengthRecordReader` node with attribute `record_bytes: int`; output `reader_handle: Ref(string)`. Optional: `header_bytes: int = 0`, `footer_bytes: int = 0`, `hop_bytes: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn fixed_length_record_reader(self, record_bytes: i64) -> Result<Output<'b>> {
        self.op_node("FixedLengthRecordReader").attr("record_bytes", record_bytes).output()
    }

    /// Adds a `FixedLengthRecordReaderV2` node with attribute `record_bytes: int`; output `reader_handle: resource`. Optional: `header_bytes: int = 0`, `footer_bytes: int = 0`, `hop_bytes: int = 0`, `container: string = ""`, `shared_name: string = ""`, `encoding: string = ""`.
    fn fixed_length_record_reader_v2(self, record_bytes: i64) -> Result<Output<'b>> {
        self.op_node("FixedLengthRecordReaderV2").attr("record_bytes", record_bytes).output()
    }

    /// Adds a `FixedUnigramCandidateSampler` node with input `true_classes: int64`; attributes `num_true: int`, `num_sampled: int`, `unique: bool`, `range_max: int`; outputs `sampled_candidates: int64`, `true_expected_count: float`, `sampled_expected_count: float`. Optional: `vocab_file: string = ""`, `distortion: float = 1.0`, `num_reserved_ids: int = 0`, `num_shards: int = 1`, `shard: int = 0`, `unigrams: list(float) = []`, `seed: int = 0`, `seed2: int = 0`.
    fn fixed_unigram_candidate_sampler(self, true_classes: impl Into<Input<'b>>, num_true: i64, num_sampled: i64, unique: bool, range_max: i64) -> Result<[Output<'b>; 3]> {
        self.op_node("FixedUnigramCandidateSampler").input(true_classes).attr("num_true", num_true).attr("num_sampled", num_sampled).attr("unique", unique).attr("range_max", range_max).outputs()
    }

    /// Adds a `FlatMapDataset` node with inputs `input_dataset: variant`, `other_arguments: Targuments`; attributes `f: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn flat_map_dataset(self, input_dataset: impl Into<Input<'b>>, other_arguments: &[Output<'b>], f: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("FlatMapDataset").input(input_dataset).input_list(other_arguments).attr("f", f).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `Floor` node with input `x: T`; output `y: T`.
    fn floor(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Floor").input(x).output()
    }

    /// Adds a `FloorDiv` node with inputs `x: T`, `y: T`; output `z: T`.
    fn floor_div(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("FloorDiv").input(x).input(y).output()
    }

    /// Adds a `FloorMod` node with inputs `x: T`, `y: T`; output `z: T`.
    fn floor_mod(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("FloorMod").input(x).input(y).output()
    }

    /// Adds a `For` node with inputs `start: int32`, `limit: int32`, `delta: int32`, `input: T`; attribute `body: func`; output `output: T`.
    fn for_(self, start: impl Into<Input<'b>>, limit: impl Into<Input<'b>>, delta: impl Into<Input<'b>>, input: &[Output<'b>], body: &NameAttrList) -> Result<Vec<Output<'b>>> {
        self.op_node("For").input(start).input(limit).input(delta).input_list(input).attr("body", body).output_lists().map(|[list]| list)
    }

    /// Adds a `FractionalAvgPool` node with input `value: T`; attribute `pooling_ratio: list(float)`; outputs `output: T`, `row_pooling_sequence: int64`, `col_pooling_sequence: int64`. Optional: `pseudo_random: bool = false`, `overlapping: bool = false`, `deterministic: bool = false`, `seed: int = 0`, `seed2: int = 0`.
    fn fractional_avg_pool(self, value: impl Into<Input<'b>>, pooling_ratio: &[f32]) -> Result<[Output<'b>; 3]> {
        self.op_node("FractionalAvgPool").input(value).attr("pooling_ratio", pooling_ratio).outputs()
    }

    /// Adds a `FractionalAvgPoolGrad` node with inputs `orig_input_tensor_shape: int64`, `out_backprop: T`, `row_pooling_sequence: int64`, `col_pooling_sequence: int64`; output `output: T`. Optional: `overlapping: bool = false`.
    fn fractional_avg_pool_grad(self, orig_input_tensor_shape: impl Into<Input<'b>>, out_backprop: impl Into<Input<'b>>, row_pooling_sequence: impl Into<Input<'b>>, col_pooling_sequence: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("FractionalAvgPoolGrad").input(orig_input_tensor_shape).input(out_backprop).input(row_pooling_sequence).input(col_pooling_sequence).output()
    }

    /// Adds a `FractionalMaxPool` node with input `value: T`; attribute `pooling_ratio: list(float)`; outputs `output: T`, `row_pooling_sequence: int64`, `col_pooling_sequence: int64`. Optional: `pseudo_random: bool = false`, `overlapping: bool = false`, `deterministic: bool = false`, `seed: int = 0`, `seed2: int = 0`.
    fn fractional_max_pool(self, value: impl Into<Input<'b>>, pooling_ratio: &[f32]) -> Result<[Output<'b>; 3]> {
        self.op_node("FractionalMaxPool").input(value).attr("pooling_ratio", pooling_ratio).outputs()
    }

    /// Adds a `FractionalMaxPoolGrad` node with inputs `orig_input: T`, `orig_output: T`, `out_backprop: T`, `row_pooling_sequence: int64`, `col_pooling_sequence: int64`; output `output: T`. Optional: `overlapping: bool = false`.
    fn fractional_max_pool_grad(self, orig_input: impl Into<Input<'b>>, orig_output: impl Into<Input<'b>>, out_backprop: impl Into<Input<'b>>, row_pooling_sequence: impl Into<Input<'b>>, col_pooling_sequence: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("FractionalMaxPoolGrad").input(orig_input).input(orig_output).input(out_backprop).input(row_pooling_sequence).input(col_pooling_sequence).output()
    }

    /// Adds a `FresnelCos` node with input `x: T`; output `y: T`.
    fn fresnel_cos(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("FresnelCos").input(x).output()
    }

    /// Adds a `FresnelSin` node with input `x: T`; output `y: T`.
    fn fresnel_sin(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("FresnelSin").input(x).output()
    }

    /// Adds a `FusedBatchNorm` node with inputs `x: T`, `scale: T`, `offset: T`, `mean: T`, `variance: T`; outputs `y: T`, `batch_mean: T`, `batch_variance: T`, `reserve_space_1: T`, `reserve_space_2: T`. Optional: `epsilon: float = 0.0001`, `exponential_avg_factor: float = 1.0`, `data_format: string = "NHWC"`, `is_training: bool = true`.
    fn fused_batch_norm(self, x: impl Into<Input<'b>>, scale: impl Into<Input<'b>>, offset: impl Into<Input<'b>>, mean: impl Into<Input<'b>>, variance: impl Into<Input<'b>>) -> Result<[Output<'b>; 5]> {
        self.op_node("FusedBatchNorm").input(x).input(scale).input(offset).input(mean).input(variance).outputs()
    }

    /// Adds a `FusedBatchNormGrad` node with inputs `y_backprop: T`, `x: T`, `scale: T`, `reserve_space_1: T`, `reserve_space_2: T`; outputs `x_backprop: T`, `scale_backprop: T`, `offset_backprop: T`, `reserve_space_3: T`, `reserve_space_4: T`. Optional: `epsilon: float = 0.0001`, `data_format: string = "NHWC"`, `is_training: bool = true`.
    fn fused_batch_norm_grad(self, y_backprop: impl Into<Input<'b>>, x: impl Into<Input<'b>>, scale: impl Into<Input<'b>>, reserve_space_1: impl Into<Input<'b>>, reserve_space_2: impl Into<Input<'b>>) -> Result<[Output<'b>; 5]> {
        self.op_node("FusedBatchNormGrad").input(y_backprop).input(x).input(scale).input(reserve_space_1).input(reserve_space_2).outputs()
    }

    /// Adds a `FusedBatchNormGradV2` node with inputs `y_backprop: T`, `x: T`, `scale: float`, `reserve_space_1: U`, `reserve_space_2: U`; outputs `x_backprop: T`, `scale_backprop: U`, `offset_backprop: U`, `reserve_space_3: U`, `reserve_space_4: U`. Optional: `epsilon: float = 0.0001`, `data_format: string = "NHWC"`, `is_training: bool = true`.
    fn fused_batch_norm_grad_v2(self, y_backprop: impl Into<Input<'b>>, x: impl Into<Input<'b>>, scale: impl Into<Input<'b>>, reserve_space_1: impl Into<Input<'b>>, reserve_space_2: impl Into<Input<'b>>) -> Result<[Output<'b>; 5]> {
        self.op_node("FusedBatchNormGradV2").input(y_backprop).input(x).input(scale).input(reserve_space_1).input(reserve_space_2).outputs()
    }

    /// Adds a `FusedBatchNormGradV3` node with inputs `y_backprop: T`, `x: T`, `scale: float`, `reserve_space_1: U`, `reserve_space_2: U`, `reserve_space_3: U`; outputs `x_backprop: T`, `scale_backprop: U`, `offset_backprop: U`, `reserve_space_4: U`, `reserve_space_5: U`. Optional: `epsilon: float = 0.0001`, `data_format: string = "NHWC"`, `is_training: bool = true`.
    fn fused_batch_norm_grad_v3(self, y_backprop: impl Into<Input<'b>>, x: impl Into<Input<'b>>, scale: impl Into<Input<'b>>, reserve_space_1: impl Into<Input<'b>>, reserve_space_2: impl Into<Input<'b>>, reserve_space_3: impl Into<Input<'b>>) -> Result<[Output<'b>; 5]> {
        self.op_node("FusedBatchNormGradV3").input(y_backprop).input(x).input(scale).input(reserve_space_1).input(reserve_space_2).input(reserve_space_3).outputs()
    }

    /// Adds a `FusedBatchNormV2` node with inputs `x: T`, `scale: U`, `offset: U`, `mean: U`, `variance: U`; outputs `y: T`, `batch_mean: U`, `batch_variance: U`, `reserve_space_1: U`, `reserve_space_2: U`. Optional: `epsilon: float = 0.0001`, `exponential_avg_factor: float = 1.0`, `data_format: string = "NHWC"`, `is_training: bool = true`.
    fn fused_batch_norm_v2(self, x: impl Into<Input<'b>>, scale: impl Into<Input<'b>>, offset: impl Into<Input<'b>>, mean: impl Into<Input<'b>>, variance: impl Into<Input<'b>>) -> Result<[Output<'b>; 5]> {
        self.op_node("FusedBatchNormV2").input(x).input(scale).input(offset).input(mean).input(variance).outputs()
    }

    /// Adds a `FusedBatchNormV3` node with inputs `x: T`, `scale: U`, `offset: U`, `mean: U`, `variance: U`; outputs `y: T`, `batch_mean: U`, `batch_variance: U`, `reserve_space_1: U`, `reserve_space_2: U`, `reserve_space_3: U`. Optional: `epsilon: float = 0.0001`, `exponential_avg_factor: float = 1.0`, `data_format: string = "NHWC"`, `is_training: bool = true`.
    fn fused_batch_norm_v3(self, x: impl Into<Input<'b>>, scale: impl Into<Input<'b>>, offset: impl Into<Input<'b>>, mean: impl Into<Input<'b>>, variance: impl Into<Input<'b>>) -> Result<[Output<'b>; 6]> {
        self.op_node("FusedBatchNormV3").input(x).input(scale).input(offset).input(mean).input(variance).outputs()
    }

    /// Adds a `FusedPadConv2D` node with inputs `input: T`, `paddings: int32`, `filter: T`; attributes `mode: string`, `strides: list(int)`, `padding: string`; output `output: T`.
    fn fused_pad_conv2d(self, input: impl Into<Input<'b>>, paddings: impl Into<Input<'b>>, filter: impl Into<Input<'b>>, mode: &str, strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("FusedPadConv2D").input(input).input(paddings).input(filter).attr("mode", mode).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `FusedResizeAndPadConv2D` node with inputs `input: T`, `size: int32`, `paddings: int32`, `filter: T`; attributes `mode: string`, `strides: list(int)`, `padding: string`; output `output: T`. Optional: `resize_align_corners: bool = false`.
    fn fused_resize_and_pad_conv2d(self, input: impl Into<Input<'b>>, size: impl Into<Input<'b>>, paddings: impl Into<Input<'b>>, filter: impl Into<Input<'b>>, mode: &str, strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("FusedResizeAndPadConv2D").input(input).input(size).input(paddings).input(filter).attr("mode", mode).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `Gather` node with inputs `params: Tparams`, `indices: Tindices`; output `output: Tparams`. Optional: `validate_indices: bool = true`.
    fn gather(self, params: impl Into<Input<'b>>, indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Gather").input(params).input(indices).output()
    }

    /// Adds a `GatherNd` node with inputs `params: Tparams`, `indices: Tindices`; output `output: Tparams`. Optional: `bad_indices_policy: string = ""`.
    fn gather_nd(self, params: impl Into<Input<'b>>, indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("GatherNd").input(params).input(indices).output()
    }

    /// Adds a `GatherV2` node with inputs `params: Tparams`, `indices: Tindices`, `axis: Taxis`; output `output: Tparams`. Optional: `batch_dims: int = 0`.
    fn gather_v2(self, params: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, axis: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("GatherV2").input(params).input(indices).input(axis).output()
    }

    /// Adds a `GenerateBoundingBoxProposals` node with inputs `scores: float`, `bbox_deltas: float`, `image_info: float`, `anchors: float`, `nms_threshold: float`, `pre_nms_topn: int32`, `min_size: float`; outputs `rois: float`, `roi_probabilities: float`. Optional: `post_nms_topn: int = 300`.
    fn generate_bounding_box_proposals(self, scores: impl Into<Input<'b>>, bbox_deltas: impl Into<Input<'b>>, image_info: impl Into<Input<'b>>, anchors: impl Into<Input<'b>>, nms_threshold: impl Into<Input<'b>>, pre_nms_topn: impl Into<Input<'b>>, min_size: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("GenerateBoundingBoxProposals").input(scores).input(bbox_deltas).input(image_info).input(anchors).input(nms_threshold).input(pre_nms_topn).input(min_size).outputs()
    }

    /// Adds a `GenerateVocabRemapping` node with inputs `new_vocab_file: string`, `old_vocab_file: string`; attributes `new_vocab_offset: int`, `num_new_vocab: int`; outputs `remapping: int64`, `num_present: int32`. Optional: `old_vocab_size: int = -1`.
    fn generate_vocab_remapping(self, new_vocab_file: impl Into<Input<'b>>, old_vocab_file: impl Into<Input<'b>>, new_vocab_offset: i64, num_new_vocab: i64) -> Result<[Output<'b>; 2]> {
        self.op_node("GenerateVocabRemapping").input(new_vocab_file).input(old_vocab_file).attr("new_vocab_offset", new_vocab_offset).attr("num_new_vocab", num_new_vocab).outputs()
    }

    /// Adds a `GeneratorDataset` node with inputs `init_func_other_args: Tinit_func_args`, `next_func_other_args: Tnext_func_args`, `finalize_func_other_args: Tfinalize_func_args`; attributes `init_func: func`, `next_func: func`, `finalize_func: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn generator_dataset(self, init_func_other_args: &[Output<'b>], next_func_other_args: &[Output<'b>], finalize_func_other_args: &[Output<'b>], init_func: &NameAttrList, next_func: &NameAttrList, finalize_func: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("GeneratorDataset").input_list(init_func_other_args).input_list(next_func_other_args).input_list(finalize_func_other_args).attr("init_func", init_func).attr("next_func", next_func).attr("finalize_func", finalize_func).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `GetSessionHandle` node with input `value: T`; output `handle: string`.
    fn get_session_handle(self, value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("GetSessionHandle").input(value).output()
    }

    /// Adds a `GetSessionHandleV2` node with input `value: T`; output `handle: resource`.
    fn get_session_handle_v2(self, value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("GetSessionHandleV2").input(value).output()
    }

    /// Adds a `GetSessionTensor` node with input `handle: string`; attribute `dtype: type`; output `value: dtype`.
    fn get_session_tensor(self, handle: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("GetSessionTensor").input(handle).attr("dtype", dtype).output()
    }

    /// Adds a `Greater` node with inputs `x: T`, `y: T`; output `z: bool`.
    fn greater(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Greater").input(x).input(y).output()
    }

    /// Adds a `GreaterEqual` node with inputs `x: T`, `y: T`; output `z: bool`.
    fn greater_equal(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("GreaterEqual").input(x).input(y).output()
    }

    /// Adds a `GroupByReducerDataset` node with inputs `input_dataset: variant`, `key_func_other_arguments: Tkey_func_other_arguments`, `init_func_other_arguments: Tinit_func_other_arguments`, `reduce_func_other_arguments: Treduce_func_other_arguments`, `finalize_func_other_arguments: Tfinalize_func_other_arguments`; attributes `key_func: func`, `init_func: func`, `reduce_func: func`, `finalize_func: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn group_by_reducer_dataset(self, input_dataset: impl Into<Input<'b>>, key_func_other_arguments: &[Output<'b>], init_func_other_arguments: &[Output<'b>], reduce_func_other_arguments: &[Output<'b>], finalize_func_other_arguments: &[Output<'b>], key_func: &NameAttrList, init_func: &NameAttrList, reduce_func: &NameAttrList, finalize_func: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("GroupByReducerDataset").input(input_dataset).input_list(key_func_other_arguments).input_list(init_func_other_arguments).input_list(reduce_func_other_arguments).input_list(finalize_func_other_arguments).attr("key_func", key_func).attr("init_func", init_func).attr("reduce_func", reduce_func).attr("finalize_func", finalize_func).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `GroupByWindowDataset` node with inputs `input_dataset: variant`, `key_func_other_arguments: Tkey_func_other_arguments`, `reduce_func_other_arguments: Treduce_func_other_arguments`, `window_size_func_other_arguments: Twindow_size_func_other_arguments`; attributes `key_func: func`, `reduce_func: func`, `window_size_func: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn group_by_window_dataset(self, input_dataset: impl Into<Input<'b>>, key_func_other_arguments: &[Output<'b>], reduce_func_other_arguments: &[Output<'b>], window_size_func_other_arguments: &[Output<'b>], key_func: &NameAttrList, reduce_func: &NameAttrList, window_size_func: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("GroupByWindowDataset").input(input_dataset).input_list(key_func_other_arguments).input_list(reduce_func_other_arguments).input_list(window_size_func_other_arguments).attr("key_func", key_func).attr("reduce_func", reduce_func).attr("window_size_func", window_size_func).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `GRUBlockCell` node with inputs `x: T`, `h_prev: T`, `w_ru: T`, `w_c: T`, `b_ru: T`, `b_c: T`; outputs `r: T`, `u: T`, `c: T`, `h: T`.
    fn gru_block_cell(self, x: impl Into<Input<'b>>, h_prev: impl Into<Input<'b>>, w_ru: impl Into<Input<'b>>, w_c: impl Into<Input<'b>>, b_ru: impl Into<Input<'b>>, b_c: impl Into<Input<'b>>) -> Result<[Output<'b>; 4]> {
        self.op_node("GRUBlockCell").input(x).input(h_prev).input(w_ru).input(w_c).input(b_ru).input(b_c).outputs()
    }

    /// Adds a `GRUBlockCellGrad` node with inputs `x: T`, `h_prev: T`, `w_ru: T`, `w_c: T`, `b_ru: T`, `b_c: T`, `r: T`, `u: T`, `c: T`, `d_h: T`; outputs `d_x: T`, `d_h_prev: T`, `d_c_bar: T`, `d_r_bar_u_bar: T`.
    fn gru_block_cell_grad(self, x: impl Into<Input<'b>>, h_prev: impl Into<Input<'b>>, w_ru: impl Into<Input<'b>>, w_c: impl Into<Input<'b>>, b_ru: impl Into<Input<'b>>, b_c: impl Into<Input<'b>>, r: impl Into<Input<'b>>, u: impl Into<Input<'b>>, c: impl Into<Input<'b>>, d_h: impl Into<Input<'b>>) -> Result<[Output<'b>; 4]> {
        self.op_node("GRUBlockCellGrad").input(x).input(h_prev).input(w_ru).input(w_c).input(b_ru).input(b_c).input(r).input(u).input(c).input(d_h).outputs()
    }

    /// Adds a `GuaranteeConst` node with input `input: T`; output `output: T`.
    fn guarantee_const(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("GuaranteeConst").input(input).output()
    }

    /// Adds a `HashTable` node with attributes `key_dtype: type`, `value_dtype: type`; output `table_handle: Ref(string)`. Optional: `container: string = ""`, `shared_name: string = ""`, `use_node_name_sharing: bool = false`.
    fn hash_table(self, key_dtype: DType, value_dtype: DType) -> Result<Output<'b>> {
        self.op_node("HashTable").attr("key_dtype", key_dtype).attr("value_dtype", value_dtype).output()
    }

    /// Adds a `HashTableV2` node with attributes `key_dtype: type`, `value_dtype: type`; output `table_handle: resource`. Optional: `container: string = ""`, `shared_name: string = ""`, `use_node_name_sharing: bool = false`.
    fn hash_table_v2(self, key_dtype: DType, value_dtype: DType) -> Result<Output<'b>> {
        self.op_node("HashTableV2").attr("key_dtype", key_dtype).attr("value_dtype", value_dtype).output()
    }

    /// Adds a `HistogramFixedWidth` node with inputs `values: T`, `value_range: T`, `nbins: int32`; output `out: dtype`. Optional: `dtype: type = i32`.
    fn histogram_fixed_width(self, values: impl Into<Input<'b>>, value_range: impl Into<Input<'b>>, nbins: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("HistogramFixedWidth").input(values).input(value_range).input(nbins).output()
    }

    /// Adds a `HistogramSummary` node with inputs `tag: string`, `values: T`; output `summary: string`.
    fn histogram_summary(self, tag: impl Into<Input<'b>>, values: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("HistogramSummary").input(tag).input(values).output()
    }

    /// Adds a `HSVToRGB` node with input `images: T`; output `output: T`.
    fn hsv_to_rgb(self, images: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("HSVToRGB").input(images).output()
    }

    /// Adds an `Identity` node with input `input: T`; output `output: T`.
    fn identity(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Identity").input(input).output()
    }

    /// Adds an `IdentityN` node with input `input: T`; output `output: T`.
    fn identity_n(self, input: &[Output<'b>]) -> Result<Vec<Output<'b>>> {
        self.op_node("IdentityN").input_list(input).output_lists().map(|[list]| list)
    }

    /// Adds an `IdentityReader` node with output `reader_handle: Ref(string)`. Optional: `container: string = ""`, `shared_name: string = ""`.
    fn identity_reader(self) -> Result<Output<'b>> {
        self.op_node("IdentityReader").output()
    }

    /// Adds an `IdentityReaderV2` node with output `reader_handle: resource`. Optional: `container: string = ""`, `shared_name: string = ""`.
    fn identity_reader_v2(self) -> Result<Output<'b>> {
        self.op_node("IdentityReaderV2").output()
    }

    /// Adds an `If` node with inputs `cond: Tcond`, `input: Tin`; attributes `Tout: list(type)`, `then_branch: func`, `else_branch: func`; output `output: Tout`. Optional: `output_shapes: list(shape) = []`.
    fn if_(self, cond: impl Into<Input<'b>>, input: &[Output<'b>], tout: &[DType], then_branch: &NameAttrList, else_branch: &NameAttrList) -> Result<Vec<Output<'b>>> {
        self.op_node("If").input(cond).input_list(input).attr("Tout", tout).attr("then_branch", then_branch).attr("else_branch", else_branch).output_lists().map(|[list]| list)
    }

    /// Adds an `IFFT` node with input `input: Tcomplex`; output `output: Tcomplex`.
    fn ifft(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("IFFT").input(input).output()
    }

    /// Adds an `IFFT2D` node with input `input: Tcomplex`; output `output: Tcomplex`.
    fn ifft2d(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("IFFT2D").input(input).output()
    }

    /// Adds an `IFFT3D` node with input `input: Tcomplex`; output `output: Tcomplex`.
    fn ifft3d(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("IFFT3D").input(input).output()
    }

    /// Adds an `IFFTND` node with inputs `input: Tcomplex`, `fft_length: int32`, `axes: int32`; output `output: Tcomplex`.
    fn ifftnd(self, input: impl Into<Input<'b>>, fft_length: impl Into<Input<'b>>, axes: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("IFFTND").input(input).input(fft_length).input(axes).output()
    }

    /// Adds an `Igamma` node with inputs `a: T`, `x: T`; output `z: T`.
    fn igamma(self, a: impl Into<Input<'b>>, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Igamma").input(a).input(x).output()
    }

    /// Adds an `IgammaGradA` node with inputs `a: T`, `x: T`; output `z: T`.
    fn igamma_grad_a(self, a: impl Into<Input<'b>>, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("IgammaGradA").input(a).input(x).output()
    }

    /// Adds an `Igammac` node with inputs `a: T`, `x: T`; output `z: T`.
    fn igammac(self, a: impl Into<Input<'b>>, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Igammac").input(a).input(x).output()
    }

    /// Adds an `IgnoreErrorsDataset` node with input `input_dataset: variant`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `log_warning: bool = false`.
    fn ignore_errors_dataset(self, input_dataset: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("IgnoreErrorsDataset").input(input_dataset).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `Imag` node with input `input: T`; output `output: Tout`. Optional: `Tout: type = f32`.
    fn imag(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Imag").input(input).output()
    }

    /// Adds an `ImageProjectiveTransformV2` node with inputs `images: dtype`, `transforms: float`, `output_shape: int32`; attribute `interpolation: string`; output `transformed_images: dtype`. Optional: `fill_mode: string = "CONSTANT"`.
    fn image_projective_transform_v2(self, images: impl Into<Input<'b>>, transforms: impl Into<Input<'b>>, output_shape: impl Into<Input<'b>>, interpolation: &str) -> Result<Output<'b>> {
        self.op_node("ImageProjectiveTransformV2").input(images).input(transforms).input(output_shape).attr("interpolation", interpolation).output()
    }

    /// Adds an `ImageProjectiveTransformV3` node with inputs `images: dtype`, `transforms: float`, `output_shape: int32`, `fill_value: float`; attribute `interpolation: string`; output `transformed_images: dtype`. Optional: `fill_mode: string = "CONSTANT"`.
    fn image_projective_transform_v3(self, images: impl Into<Input<'b>>, transforms: impl Into<Input<'b>>, output_shape: impl Into<Input<'b>>, fill_value: impl Into<Input<'b>>, interpolation: &str) -> Result<Output<'b>> {
        self.op_node("ImageProjectiveTransformV3").input(images).input(transforms).input(output_shape).input(fill_value).attr("interpolation", interpolation).output()
    }

    /// Adds an `ImageSummary` node with inputs `tag: string`, `tensor: T`; output `summary: string`. Optional: `max_images: int = 3`, `bad_color: tensor = u8[4]{255,0,0,255}`.
    fn image_summary(self, tag: impl Into<Input<'b>>, tensor: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ImageSummary").input(tag).input(tensor).output()
    }

    /// Adds an `ImmutableConst` node with attributes `dtype: type`, `shape: shape`, `memory_region_name: string`; output `tensor: dtype`.
    fn immutable_const(self, dtype: DType, shape: impl Into<PartialShape>, memory_region_name: &str) -> Result<Output<'b>> {
        self.op_node("ImmutableConst").attr("dtype", dtype).attr("shape", shape.into()).attr("memory_region_name", memory_region_name).output()
    }

    /// Adds an `InTopK` node with inputs `predictions: float`, `targets: T`; attribute `k: int`; output `precision: bool`.
    fn in_top_k(self, predictions: impl Into<Input<'b>>, targets: impl Into<Input<'b>>, k: i64) -> Result<Output<'b>> {
        self.op_node("InTopK").input(predictions).input(targets).attr("k", k).output()
    }

    /// Adds an `InTopKV2` node with inputs `predictions: float`, `targets: T`, `k: T`; output `precision: bool`.
    fn in_top_k_v2(self, predictions: impl Into<Input<'b>>, targets: impl Into<Input<'b>>, k: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("InTopKV2").input(predictions).input(targets).input(k).output()
    }

    /// Adds an `InitializeTable` node with inputs `table_handle: Ref(string)`, `keys: Tkey`, `values: Tval`.
    fn initialize_table(self, table_handle: impl Into<Input<'b>>, keys: impl Into<Input<'b>>, values: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("InitializeTable").input(table_handle).input(keys).input(values).finish()
    }

    /// Adds an `InitializeTableFromDataset` node with inputs `table_handle: resource`, `dataset: variant`.
    fn initialize_table_from_dataset(self, table_handle: impl Into<Input<'b>>, dataset: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("InitializeTableFromDataset").input(table_handle).input(dataset).finish()
    }

    /// Adds an `InitializeTableFromTextFile` node with inputs `table_handle: Ref(string)`, `filename: string`; attributes `key_index: int`, `value_index: int`. Optional: `vocab_size: int = -1`, `delimiter: string = "\x09"`, `offset: int = 0`.
    fn initialize_table_from_text_file(self, table_handle: impl Into<Input<'b>>, filename: impl Into<Input<'b>>, key_index: i64, value_index: i64) -> Result<NodeId> {
        self.op_node("InitializeTableFromTextFile").input(table_handle).input(filename).attr("key_index", key_index).attr("value_index", value_index).finish()
    }

    /// Adds an `InitializeTableFromTextFileV2` node with inputs `table_handle: resource`, `filename: string`; attributes `key_index: int`, `value_index: int`. Optional: `vocab_size: int = -1`, `delimiter: string = "\x09"`, `offset: int = 0`.
    fn initialize_table_from_text_file_v2(self, table_handle: impl Into<Input<'b>>, filename: impl Into<Input<'b>>, key_index: i64, value_index: i64) -> Result<NodeId> {
        self.op_node("InitializeTableFromTextFileV2").input(table_handle).input(filename).attr("key_index", key_index).attr("value_index", value_index).finish()
    }

    /// Adds an `InitializeTableV2` node with inputs `table_handle: resource`, `keys: Tkey`, `values: Tval`.
    fn initialize_table_v2(self, table_handle: impl Into<Input<'b>>, keys: impl Into<Input<'b>>, values: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("InitializeTableV2").input(table_handle).input(keys).input(values).finish()
    }

    /// Adds an `InplaceAdd` node with inputs `x: T`, `i: int32`, `v: T`; output `y: T`.
    fn inplace_add(self, x: impl Into<Input<'b>>, i: impl Into<Input<'b>>, v: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("InplaceAdd").input(x).input(i).input(v).output()
    }

    /// Adds an `InplaceSub` node with inputs `x: T`, `i: int32`, `v: T`; output `y: T`.
    fn inplace_sub(self, x: impl Into<Input<'b>>, i: impl Into<Input<'b>>, v: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("InplaceSub").input(x).input(i).input(v).output()
    }

    /// Adds an `InplaceUpdate` node with inputs `x: T`, `i: int32`, `v: T`; output `y: T`.
    fn inplace_update(self, x: impl Into<Input<'b>>, i: impl Into<Input<'b>>, v: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("InplaceUpdate").input(x).input(i).input(v).output()
    }

    /// Adds an `InterleaveDataset` node with inputs `input_dataset: variant`, `other_arguments: Targuments`, `cycle_length: int64`, `block_length: int64`; attributes `f: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn interleave_dataset(self, input_dataset: impl Into<Input<'b>>, other_arguments: &[Output<'b>], cycle_length: impl Into<Input<'b>>, block_length: impl Into<Input<'b>>, f: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("InterleaveDataset").input(input_dataset).input_list(other_arguments).input(cycle_length).input(block_length).attr("f", f).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `Inv` node with input `x: T`; output `y: T`.
    fn inv(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Inv").input(x).output()
    }

    /// Adds an `InvGrad` node with inputs `y: T`, `dy: T`; output `z: T`.
    fn inv_grad(self, y: impl Into<Input<'b>>, dy: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("InvGrad").input(y).input(dy).output()
    }

    /// Adds an `Invert` node with input `x: T`; output `y: T`.
    fn invert(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Invert").input(x).output()
    }

    /// Adds an `InvertPermutation` node with input `x: T`; output `y: T`.
    fn invert_permutation(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("InvertPermutation").input(x).output()
    }

    /// Adds an `IRFFT` node with inputs `input: Tcomplex`, `fft_length: int32`; output `output: Treal`. Optional: `Treal: type = f32`.
    fn irfft(self, input: impl Into<Input<'b>>, fft_length: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("IRFFT").input(input).input(fft_length).output()
    }

    /// Adds an `IRFFT2D` node with inputs `input: Tcomplex`, `fft_length: int32`; output `output: Treal`. Optional: `Treal: type = f32`.
    fn irfft2d(self, input: impl Into<Input<'b>>, fft_length: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("IRFFT2D").input(input).input(fft_length).output()
    }

    /// Adds an `IRFFT3D` node with inputs `input: Tcomplex`, `fft_length: int32`; output `output: Treal`. Optional: `Treal: type = f32`.
    fn irfft3d(self, input: impl Into<Input<'b>>, fft_length: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("IRFFT3D").input(input).input(fft_length).output()
    }

    /// Adds an `IRFFTND` node with inputs `input: Tcomplex`, `fft_length: int32`, `axes: int32`; output `output: Treal`. Optional: `Treal: type = f32`.
    fn irfftnd(self, input: impl Into<Input<'b>>, fft_length: impl Into<Input<'b>>, axes: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("IRFFTND").input(input).input(fft_length).input(axes).output()
    }

    /// Adds an `IsFinite` node with input `x: T`; output `y: bool`.
    fn is_finite(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("IsFinite").input(x).output()
    }

    /// Adds an `IsInf` node with input `x: T`; output `y: bool`.
    fn is_inf(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("IsInf").input(x).output()
    }

    /// Adds an `IsNan` node with input `x: T`; output `y: bool`.
    fn is_nan(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("IsNan").input(x).output()
    }

    /// Adds an `IsVariableInitialized` node with input `ref: Ref(dtype)`; output `is_initialized: bool`.
    fn is_variable_initialized(self, ref_: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("IsVariableInitialized").input(ref_).output()
    }

    /// Adds an `IsotonicRegression` node with input `input: T`; outputs `output: output_dtype`, `segments: int32`. Optional: `output_dtype: type = f32`.
    fn isotonic_regression(self, input: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("IsotonicRegression").input(input).outputs()
    }

    /// Adds an `Iterator` node with attributes `shared_name: string`, `container: string`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: resource`.
    fn iterator(self, shared_name: &str, container: &str, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("Iterator").attr("shared_name", shared_name).attr("container", container).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `IteratorFromStringHandle` node with input `string_handle: string`; output `resource_handle: resource`. Optional: `output_types: list(type) = []`, `output_shapes: list(shape) = []`.
    fn iterator_from_string_handle(self, string_handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("IteratorFromStringHandle").input(string_handle).output()
    }

    /// Adds an `IteratorFromStringHandleV2` node with input `string_handle: string`; output `resource_handle: resource`. Optional: `output_types: list(type) = []`, `output_shapes: list(shape) = []`.
    fn iterator_from_string_handle_v2(self, string_handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("IteratorFromStringHandleV2").input(string_handle).output()
    }

    /// Adds an `IteratorGetDevice` node with input `resource: resource`; output `device: string`.
    fn iterator_get_device(self, resource: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("IteratorGetDevice").input(resource).output()
    }

    /// Adds an `IteratorGetNext` node with input `iterator: resource`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `components: output_types`.
    fn iterator_get_next(self, iterator: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Vec<Output<'b>>> {
        self.op_node("IteratorGetNext").input(iterator).attr("output_types", output_types).attr("output_shapes", output_shapes).output_lists().map(|[list]| list)
    }

    /// Adds an `IteratorGetNextAsOptional` node with input `iterator: resource`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `optional: variant`.
    fn iterator_get_next_as_optional(self, iterator: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("IteratorGetNextAsOptional").input(iterator).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `IteratorGetNextSync` node with input `iterator: resource`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `components: output_types`.
    fn iterator_get_next_sync(self, iterator: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Vec<Output<'b>>> {
        self.op_node("IteratorGetNextSync").input(iterator).attr("output_types", output_types).attr("output_shapes", output_shapes).output_lists().map(|[list]| list)
    }

    /// Adds an `IteratorToStringHandle` node with input `resource_handle: resource`; output `string_handle: string`.
    fn iterator_to_string_handle(self, resource_handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("IteratorToStringHandle").input(resource_handle).output()
    }

    /// Adds an `IteratorV2` node with attributes `shared_name: string`, `container: string`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: resource`.
    fn iterator_v2(self, shared_name: &str, container: &str, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("IteratorV2").attr("shared_name", shared_name).attr("container", container).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `KMC2ChainInitialization` node with inputs `distances: float`, `seed: int64`; output `index: int64`.
    fn kmc2_chain_initialization(self, distances: impl Into<Input<'b>>, seed: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("KMC2ChainInitialization").input(distances).input(seed).output()
    }

    /// Adds a `KmeansPlusPlusInitialization` node with inputs `points: float`, `num_to_sample: int64`, `seed: int64`, `num_retries_per_sample: int64`; output `samples: float`.
    fn kmeans_plus_plus_initialization(self, points: impl Into<Input<'b>>, num_to_sample: impl Into<Input<'b>>, seed: impl Into<Input<'b>>, num_retries_per_sample: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("KmeansPlusPlusInitialization").input(points).input(num_to_sample).input(seed).input(num_retries_per_sample).output()
    }

    /// Adds a `L2Loss` node with input `t: T`; output `output: T`.
    fn l2_loss(self, t: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("L2Loss").input(t).output()
    }

    /// Adds a `LatencyStatsDataset` node with inputs `input_dataset: variant`, `tag: string`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn latency_stats_dataset(self, input_dataset: impl Into<Input<'b>>, tag: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("LatencyStatsDataset").input(input_dataset).input(tag).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `LeakyRelu` node with input `features: T`; output `activations: T`. Optional: `alpha: float = 0.2`.
    fn leaky_relu(self, features: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("LeakyRelu").input(features).output()
    }

    /// Adds a `LeakyReluGrad` node with inputs `gradients: T`, `features: T`; output `backprops: T`. Optional: `alpha: float = 0.2`.
    fn leaky_relu_grad(self, gradients: impl Into<Input<'b>>, features: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("LeakyReluGrad").input(gradients).input(features).output()
    }

    /// Adds a `LearnedUnigramCandidateSampler` node with input `true_classes: int64`; attributes `num_true: int`, `num_sampled: int`, `unique: bool`, `range_max: int`; outputs `sampled_candidates: int64`, `true_expected_count: float`, `sampled_expected_count: float`. Optional: `seed: int = 0`, `seed2: int = 0`.
    fn learned_unigram_candidate_sampler(self, true_classes: impl Into<Input<'b>>, num_true: i64, num_sampled: i64, unique: bool, range_max: i64) -> Result<[Output<'b>; 3]> {
        self.op_node("LearnedUnigramCandidateSampler").input(true_classes).attr("num_true", num_true).attr("num_sampled", num_sampled).attr("unique", unique).attr("range_max", range_max).outputs()
    }

    /// Adds a `LeftShift` node with inputs `x: T`, `y: T`; output `z: T`.
    fn left_shift(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("LeftShift").input(x).input(y).output()
    }

    /// Adds a `LegacyParallelInterleaveDatasetV2` node with inputs `input_dataset: variant`, `other_arguments: Targuments`, `cycle_length: int64`, `block_length: int64`, `buffer_output_elements: int64`, `prefetch_input_elements: int64`; attributes `f: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `deterministic: string = "default"`, `metadata: string = ""`.
    fn legacy_parallel_interleave_dataset_v2(self, input_dataset: impl Into<Input<'b>>, other_arguments: &[Output<'b>], cycle_length: impl Into<Input<'b>>, block_length: impl Into<Input<'b>>, buffer_output_elements: impl Into<Input<'b>>, prefetch_input_elements: impl Into<Input<'b>>, f: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("LegacyParallelInterleaveDatasetV2").input(input_dataset).input_list(other_arguments).input(cycle_length).input(block_length).input(buffer_output_elements).input(prefetch_input_elements).attr("f", f).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `Less` node with inputs `x: T`, `y: T`; output `z: bool`.
    fn less(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Less").input(x).input(y).output()
    }

    /// Adds a `LessEqual` node with inputs `x: T`, `y: T`; output `z: bool`.
    fn less_equal(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("LessEqual").input(x).input(y).output()
    }

    /// Adds a `Lgamma` node with input `x: T`; output `y: T`.
    fn lgamma(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Lgamma").input(x).output()
    }

    /// Adds a `LinSpace` node with inputs `start: T`, `stop: T`, `num: Tidx`; output `output: T`.
    fn lin_space(self, start: impl Into<Input<'b>>, stop: impl Into<Input<'b>>, num: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("LinSpace").input(start).input(stop).input(num).output()
    }

    /// Adds a `ListDataset` node with input `tensors: Tinput_types`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn list_dataset(self, tensors: &[Output<'b>], output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ListDataset").input_list(tensors).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ListDiff` node with inputs `x: T`, `y: T`; outputs `out: T`, `idx: out_idx`. Optional: `out_idx: type = i32`.
    fn list_diff(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("ListDiff").input(x).input(y).outputs()
    }

    /// Adds a `LoadAndRemapMatrix` node with inputs `ckpt_path: string`, `old_tensor_name: string`, `row_remapping: int64`, `col_remapping: int64`, `initializing_values: float`; attributes `num_rows: int`, `num_cols: int`; output `output_matrix: float`. Optional: `max_rows_in_memory: int = -1`.
    fn load_and_remap_matrix(self, ckpt_path: impl Into<Input<'b>>, old_tensor_name: impl Into<Input<'b>>, row_remapping: impl Into<Input<'b>>, col_remapping: impl Into<Input<'b>>, initializing_values: impl Into<Input<'b>>, num_rows: i64, num_cols: i64) -> Result<Output<'b>> {
        self.op_node("LoadAndRemapMatrix").input(ckpt_path).input(old_tensor_name).input(row_remapping).input(col_remapping).input(initializing_values).attr("num_rows", num_rows).attr("num_cols", num_cols).output()
    }

    /// Adds a `Log` node with input `x: T`; output `y: T`.
    fn log(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Log").input(x).output()
    }

    /// Adds a `Log1p` node with input `x: T`; output `y: T`.
    fn log1p(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Log1p").input(x).output()
    }

    /// Adds a `LogMatrixDeterminant` node with input `input: T`; outputs `sign: T`, `log_abs_determinant: T`.
    fn log_matrix_determinant(self, input: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("LogMatrixDeterminant").input(input).outputs()
    }

    /// Adds a `LogSoftmax` node with input `logits: T`; output `logsoftmax: T`.
    fn log_softmax(self, logits: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("LogSoftmax").input(logits).output()
    }

    /// Adds a `LogUniformCandidateSampler` node with input `true_classes: int64`; attributes `num_true: int`, `num_sampled: int`, `unique: bool`, `range_max: int`; outputs `sampled_candidates: int64`, `true_expected_count: float`, `sampled_expected_count: float`. Optional: `seed: int = 0`, `seed2: int = 0`.
    fn log_uniform_candidate_sampler(self, true_classes: impl Into<Input<'b>>, num_true: i64, num_sampled: i64, unique: bool, range_max: i64) -> Result<[Output<'b>; 3]> {
        self.op_node("LogUniformCandidateSampler").input(true_classes).attr("num_true", num_true).attr("num_sampled", num_sampled).attr("unique", unique).attr("range_max", range_max).outputs()
    }

    /// Adds a `LogicalAnd` node with inputs `x: bool`, `y: bool`; output `z: bool`.
    fn logical_and(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("LogicalAnd").input(x).input(y).output()
    }

    /// Adds a `LogicalNot` node with input `x: bool`; output `y: bool`.
    fn logical_not(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("LogicalNot").input(x).output()
    }

    /// Adds a `LogicalOr` node with inputs `x: bool`, `y: bool`; output `z: bool`.
    fn logical_or(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("LogicalOr").input(x).input(y).output()
    }

    /// Adds a `LookupTableExport` node with input `table_handle: Ref(string)`; attributes `Tkeys: type`, `Tvalues: type`; outputs `keys: Tkeys`, `values: Tvalues`.
    fn lookup_table_export(self, table_handle: impl Into<Input<'b>>, tkeys: DType, tvalues: DType) -> Result<[Output<'b>; 2]> {
        self.op_node("LookupTableExport").input(table_handle).attr("Tkeys", tkeys).attr("Tvalues", tvalues).outputs()
    }

    /// Adds a `LookupTableExportV2` node with input `table_handle: resource`; attributes `Tkeys: type`, `Tvalues: type`; outputs `keys: Tkeys`, `values: Tvalues`.
    fn lookup_table_export_v2(self, table_handle: impl Into<Input<'b>>, tkeys: DType, tvalues: DType) -> Result<[Output<'b>; 2]> {
        self.op_node("LookupTableExportV2").input(table_handle).attr("Tkeys", tkeys).attr("Tvalues", tvalues).outputs()
    }

    /// Adds a `LookupTableFind` node with inputs `table_handle: Ref(string)`, `keys: Tin`, `default_value: Tout`; output `values: Tout`.
    fn lookup_table_find(self, table_handle: impl Into<Input<'b>>, keys: impl Into<Input<'b>>, default_value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("LookupTableFind").input(table_handle).input(keys).input(default_value).output()
    }

    /// Adds a `LookupTableFindV2` node with inputs `table_handle: resource`, `keys: Tin`, `default_value: Tout`; output `values: Tout`.
    fn lookup_table_find_v2(self, table_handle: impl Into<Input<'b>>, keys: impl Into<Input<'b>>, default_value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("LookupTableFindV2").input(table_handle).input(keys).input(default_value).output()
    }

    /// Adds a `LookupTableImport` node with inputs `table_handle: Ref(string)`, `keys: Tin`, `values: Tout`.
    fn lookup_table_import(self, table_handle: impl Into<Input<'b>>, keys: impl Into<Input<'b>>, values: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("LookupTableImport").input(table_handle).input(keys).input(values).finish()
    }

    /// Adds a `LookupTableImportV2` node with inputs `table_handle: resource`, `keys: Tin`, `values: Tout`.
    fn lookup_table_import_v2(self, table_handle: impl Into<Input<'b>>, keys: impl Into<Input<'b>>, values: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("LookupTableImportV2").input(table_handle).input(keys).input(values).finish()
    }

    /// Adds a `LookupTableInsert` node with inputs `table_handle: Ref(string)`, `keys: Tin`, `values: Tout`.
    fn lookup_table_insert(self, table_handle: impl Into<Input<'b>>, keys: impl Into<Input<'b>>, values: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("LookupTableInsert").input(table_handle).input(keys).input(values).finish()
    }

    /// Adds a `LookupTableInsertV2` node with inputs `table_handle: resource`, `keys: Tin`, `values: Tout`.
    fn lookup_table_insert_v2(self, table_handle: impl Into<Input<'b>>, keys: impl Into<Input<'b>>, values: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("LookupTableInsertV2").input(table_handle).input(keys).input(values).finish()
    }

    /// Adds a `LookupTableRemoveV2` node with inputs `table_handle: resource`, `keys: Tin`.
    fn lookup_table_remove_v2(self, table_handle: impl Into<Input<'b>>, keys: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("LookupTableRemoveV2").input(table_handle).input(keys).finish()
    }

    /// Adds a `LookupTableSize` node with input `table_handle: Ref(string)`; output `size: int64`.
    fn lookup_table_size(self, table_handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("LookupTableSize").input(table_handle).output()
    }

    /// Adds a `LookupTableSizeV2` node with input `table_handle: resource`; output `size: int64`.
    fn lookup_table_size_v2(self, table_handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("LookupTableSizeV2").input(table_handle).output()
    }

    /// Adds a `LoopCond` node with input `input: bool`; output `output: bool`.
    fn loop_cond(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("LoopCond").input(input).output()
    }

    /// Adds a `LowerBound` node with inputs `sorted_inputs: T`, `values: T`; output `output: out_type`. Optional: `out_type: type = i32`.
    fn lower_bound(self, sorted_inputs: impl Into<Input<'b>>, values: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("LowerBound").input(sorted_inputs).input(values).output()
    }

    /// Adds a `LRN` node with input `input: T`; output `output: T`. Optional: `depth_radius: int = 5`, `bias: float = 1.0`, `alpha: float = 1.0`, `beta: float = 0.5`.
    fn lrn(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("LRN").input(input).output()
    }

    /// Adds a `LRNGrad` node with inputs `input_grads: T`, `input_image: T`, `output_image: T`; output `output: T`. Optional: `depth_radius: int = 5`, `bias: float = 1.0`, `alpha: float = 1.0`, `beta: float = 0.5`.
    fn lrn_grad(self, input_grads: impl Into<Input<'b>>, input_image: impl Into<Input<'b>>, output_image: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("LRNGrad").input(input_grads).input(input_image).input(output_image).output()
    }

    /// Adds a `LSTMBlockCell` node with inputs `x: T`, `cs_prev: T`, `h_prev: T`, `w: T`, `wci: T`, `wcf: T`, `wco: T`, `b: T`; outputs `i: T`, `cs: T`, `f: T`, `o: T`, `ci: T`, `co: T`, `h: T`. Optional: `forget_bias: float = 1.0`, `cell_clip: float = 3.0`, `use_peephole: bool = false`.
    fn lstm_block_cell(self, x: impl Into<Input<'b>>, cs_prev: impl Into<Input<'b>>, h_prev: impl Into<Input<'b>>, w: impl Into<Input<'b>>, wci: impl Into<Input<'b>>, wcf: impl Into<Input<'b>>, wco: impl Into<Input<'b>>, b: impl Into<Input<'b>>) -> Result<[Output<'b>; 7]> {
        self.op_node("LSTMBlockCell").input(x).input(cs_prev).input(h_prev).input(w).input(wci).input(wcf).input(wco).input(b).outputs()
    }

    /// Adds a `LSTMBlockCellGrad` node with inputs `x: T`, `cs_prev: T`, `h_prev: T`, `w: T`, `wci: T`, `wcf: T`, `wco: T`, `b: T`, `i: T`, `cs: T`, `f: T`, `o: T`, `ci: T`, `co: T`, `cs_grad: T`, `h_grad: T`; attribute `use_peephole: bool`; outputs `cs_prev_grad: T`, `dicfo: T`, `wci_grad: T`, `wcf_grad: T`, `wco_grad: T`.
    fn lstm_block_cell_grad(self, x: impl Into<Input<'b>>, cs_prev: impl Into<Input<'b>>, h_prev: impl Into<Input<'b>>, w: impl Into<Input<'b>>, wci: impl Into<Input<'b>>, wcf: impl Into<Input<'b>>, wco: impl Into<Input<'b>>, b: impl Into<Input<'b>>, i: impl Into<Input<'b>>, cs: impl Into<Input<'b>>, f: impl Into<Input<'b>>, o: impl Into<Input<'b>>, ci: impl Into<Input<'b>>, co: impl Into<Input<'b>>, cs_grad: impl Into<Input<'b>>, h_grad: impl Into<Input<'b>>, use_peephole: bool) -> Result<[Output<'b>; 5]> {
        self.op_node("LSTMBlockCellGrad").input(x).input(cs_prev).input(h_prev).input(w).input(wci).input(wcf).input(wco).input(b).input(i).input(cs).input(f).input(o).input(ci).input(co).input(cs_grad).input(h_grad).attr("use_peephole", use_peephole).outputs()
    }

    /// Adds a `Lu` node with input `input: T`; outputs `lu: T`, `p: output_idx_type`. Optional: `output_idx_type: type = i32`.
    fn lu(self, input: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("Lu").input(input).outputs()
    }

    /// Adds a `MakeIterator` node with inputs `dataset: variant`, `iterator: resource`.
    fn make_iterator(self, dataset: impl Into<Input<'b>>, iterator: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("MakeIterator").input(dataset).input(iterator).finish()
    }

    /// Adds a `MapAndBatchDataset` node with inputs `input_dataset: variant`, `other_arguments: Targuments`, `batch_size: int64`, `num_parallel_calls: int64`, `drop_remainder: bool`; attributes `f: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `preserve_cardinality: bool = false`, `metadata: string = ""`.
    fn map_and_batch_dataset(self, input_dataset: impl Into<Input<'b>>, other_arguments: &[Output<'b>], batch_size: impl Into<Input<'b>>, num_parallel_calls: impl Into<Input<'b>>, drop_remainder: impl Into<Input<'b>>, f: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("MapAndBatchDataset").input(input_dataset).input_list(other_arguments).input(batch_size).input(num_parallel_calls).input(drop_remainder).attr("f", f).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `MapClear` node with attribute `dtypes: list(type)`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn map_clear(self, dtypes: &[DType]) -> Result<NodeId> {
        self.op_node("MapClear").attr("dtypes", dtypes).finish()
    }

    /// Adds a `MapDataset` node with inputs `input_dataset: variant`, `other_arguments: Targuments`; attributes `f: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `use_inter_op_parallelism: bool = true`, `preserve_cardinality: bool = false`, `force_synchronous: bool = false`, `metadata: string = ""`.
    fn map_dataset(self, input_dataset: impl Into<Input<'b>>, other_arguments: &[Output<'b>], f: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("MapDataset").input(input_dataset).input_list(other_arguments).attr("f", f).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `MapIncompleteSize` node with attribute `dtypes: list(type)`; output `size: int32`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn map_incomplete_size(self, dtypes: &[DType]) -> Result<Output<'b>> {
        self.op_node("MapIncompleteSize").attr("dtypes", dtypes).output()
    }

    /// Adds a `MapPeek` node with inputs `key: int64`, `indices: int32`; attribute `dtypes: list(type)`; output `values: dtypes`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn map_peek(self, key: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, dtypes: &[DType]) -> Result<Vec<Output<'b>>> {
        self.op_node("MapPeek").input(key).input(indices).attr("dtypes", dtypes).output_lists().map(|[list]| list)
    }

    /// Adds a `MapSize` node with attribute `dtypes: list(type)`; output `size: int32`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn map_size(self, dtypes: &[DType]) -> Result<Output<'b>> {
        self.op_node("MapSize").attr("dtypes", dtypes).output()
    }

    /// Adds a `MapStage` node with inputs `key: int64`, `indices: int32`, `values: fake_dtypes`; attribute `dtypes: list(type)`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn map_stage(self, key: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, values: &[Output<'b>], dtypes: &[DType]) -> Result<NodeId> {
        self.op_node("MapStage").input(key).input(indices).input_list(values).attr("dtypes", dtypes).finish()
    }

    /// Adds a `MapUnstage` node with inputs `key: int64`, `indices: int32`; attribute `dtypes: list(type)`; output `values: dtypes`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn map_unstage(self, key: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, dtypes: &[DType]) -> Result<Vec<Output<'b>>> {
        self.op_node("MapUnstage").input(key).input(indices).attr("dtypes", dtypes).output_lists().map(|[list]| list)
    }

    /// Adds a `MapUnstageNoKey` node with input `indices: int32`; attribute `dtypes: list(type)`; outputs `key: int64`, `values: dtypes`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn map_unstage_no_key(self, indices: impl Into<Input<'b>>, dtypes: &[DType]) -> Result<[Vec<Output<'b>>; 2]> {
        self.op_node("MapUnstageNoKey").input(indices).attr("dtypes", dtypes).output_lists()
    }

    /// Adds a `MatMul` node with inputs `a: T`, `b: T`; output `product: T`. Optional: `transpose_a: bool = false`, `transpose_b: bool = false`, `grad_a: bool = false`, `grad_b: bool = false`.
    fn mat_mul(self, a: impl Into<Input<'b>>, b: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatMul").input(a).input(b).output()
    }

    /// Adds a `MatchingFiles` node with input `pattern: string`; output `filenames: string`.
    fn matching_files(self, pattern: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatchingFiles").input(pattern).output()
    }

    /// Adds a `MatchingFilesDataset` node with input `patterns: string`; output `handle: variant`.
    fn matching_files_dataset(self, patterns: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatchingFilesDataset").input(patterns).output()
    }

    /// Adds a `MatrixBandPart` node with inputs `input: T`, `num_lower: Tindex`, `num_upper: Tindex`; output `band: T`.
    fn matrix_band_part(self, input: impl Into<Input<'b>>, num_lower: impl Into<Input<'b>>, num_upper: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatrixBandPart").input(input).input(num_lower).input(num_upper).output()
    }

    /// Adds a `MatrixDeterminant` node with input `input: T`; output `output: T`.
    fn matrix_determinant(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatrixDeterminant").input(input).output()
    }

    /// Adds a `MatrixDiag` node with input `diagonal: T`; output `output: T`.
    fn matrix_diag(self, diagonal: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatrixDiag").input(diagonal).output()
    }

    /// Adds a `MatrixDiagPart` node with input `input: T`; output `diagonal: T`.
    fn matrix_diag_part(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatrixDiagPart").input(input).output()
    }

    /// Adds a `MatrixDiagPartV2` node with inputs `input: T`, `k: int32`, `padding_value: T`; output `diagonal: T`.
    fn matrix_diag_part_v2(self, input: impl Into<Input<'b>>, k: impl Into<Input<'b>>, padding_value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatrixDiagPartV2").input(input).input(k).input(padding_value).output()
    }

    /// Adds a `MatrixDiagPartV3` node with inputs `input: T`, `k: int32`, `padding_value: T`; output `diagonal: T`. Optional: `align: string = "RIGHT_LEFT"`.
    fn matrix_diag_part_v3(self, input: impl Into<Input<'b>>, k: impl Into<Input<'b>>, padding_value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatrixDiagPartV3").input(input).input(k).input(padding_value).output()
    }

    /// Adds a `MatrixDiagV2` node with inputs `diagonal: T`, `k: int32`, `num_rows: int32`, `num_cols: int32`, `padding_value: T`; output `output: T`.
    fn matrix_diag_v2(self, diagonal: impl Into<Input<'b>>, k: impl Into<Input<'b>>, num_rows: impl Into<Input<'b>>, num_cols: impl Into<Input<'b>>, padding_value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatrixDiagV2").input(diagonal).input(k).input(num_rows).input(num_cols).input(padding_value).output()
    }

    /// Adds a `MatrixDiagV3` node with inputs `diagonal: T`, `k: int32`, `num_rows: int32`, `num_cols: int32`, `padding_value: T`; output `output: T`. Optional: `align: string = "RIGHT_LEFT"`.
    fn matrix_diag_v3(self, diagonal: impl Into<Input<'b>>, k: impl Into<Input<'b>>, num_rows: impl Into<Input<'b>>, num_cols: impl Into<Input<'b>>, padding_value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatrixDiagV3").input(diagonal).input(k).input(num_rows).input(num_cols).input(padding_value).output()
    }

    /// Adds a `MatrixExponential` node with input `input: T`; output `output: T`.
    fn matrix_exponential(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatrixExponential").input(input).output()
    }

    /// Adds a `MatrixInverse` node with input `input: T`; output `output: T`. Optional: `adjoint: bool = false`.
    fn matrix_inverse(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatrixInverse").input(input).output()
    }

    /// Adds a `MatrixLogarithm` node with input `input: T`; output `output: T`.
    fn matrix_logarithm(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatrixLogarithm").input(input).output()
    }

    /// Adds a `MatrixSetDiag` node with inputs `input: T`, `diagonal: T`; output `output: T`.
    fn matrix_set_diag(self, input: impl Into<Input<'b>>, diagonal: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatrixSetDiag").input(input).input(diagonal).output()
    }

    /// Adds a `MatrixSetDiagV2` node with inputs `input: T`, `diagonal: T`, `k: int32`; output `output: T`.
    fn matrix_set_diag_v2(self, input: impl Into<Input<'b>>, diagonal: impl Into<Input<'b>>, k: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatrixSetDiagV2").input(input).input(diagonal).input(k).output()
    }

    /// Adds a `MatrixSetDiagV3` node with inputs `input: T`, `diagonal: T`, `k: int32`; output `output: T`. Optional: `align: string = "RIGHT_LEFT"`.
    fn matrix_set_diag_v3(self, input: impl Into<Input<'b>>, diagonal: impl Into<Input<'b>>, k: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatrixSetDiagV3").input(input).input(diagonal).input(k).output()
    }

    /// Adds a `MatrixSolve` node with inputs `matrix: T`, `rhs: T`; output `output: T`. Optional: `adjoint: bool = false`.
    fn matrix_solve(self, matrix: impl Into<Input<'b>>, rhs: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatrixSolve").input(matrix).input(rhs).output()
    }

    /// Adds a `MatrixSolveLs` node with inputs `matrix: T`, `rhs: T`, `l2_regularizer: double`; output `output: T`. Optional: `fast: bool = true`.
    fn matrix_solve_ls(self, matrix: impl Into<Input<'b>>, rhs: impl Into<Input<'b>>, l2_regularizer: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatrixSolveLs").input(matrix).input(rhs).input(l2_regularizer).output()
    }

    /// Adds a `MatrixSquareRoot` node with input `input: T`; output `output: T`.
    fn matrix_square_root(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatrixSquareRoot").input(input).output()
    }

    /// Adds a `MatrixTriangularSolve` node with inputs `matrix: T`, `rhs: T`; output `output: T`. Optional: `lower: bool = true`, `adjoint: bool = false`.
    fn matrix_triangular_solve(self, matrix: impl Into<Input<'b>>, rhs: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MatrixTriangularSolve").input(matrix).input(rhs).output()
    }

    /// Adds a `Max` node with inputs `input: T`, `reduction_indices: Tidx`; output `output: T`. Optional: `keep_dims: bool = false`.
    fn max(self, input: impl Into<Input<'b>>, reduction_indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Max").input(input).input(reduction_indices).output()
    }

    /// Adds a `MaxBytesInUse` node with output `out: int64`.
    fn max_bytes_in_use(self) -> Result<Output<'b>> {
        self.op_node("MaxBytesInUse").output()
    }

    /// Adds a `MaxIntraOpParallelismDataset` node with inputs `input_dataset: variant`, `max_intra_op_parallelism: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn max_intra_op_parallelism_dataset(self, input_dataset: impl Into<Input<'b>>, max_intra_op_parallelism: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("MaxIntraOpParallelismDataset").input(input_dataset).input(max_intra_op_parallelism).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `MaxPool` node with input `input: T`; attributes `ksize: list(int)`, `strides: list(int)`, `padding: string`; output `output: T`. Optional: `explicit_paddings: list(int) = []`, `data_format: string = "NHWC"`.
    fn max_pool(self, input: impl Into<Input<'b>>, ksize: &[i64], strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("MaxPool").input(input).attr("ksize", ksize).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `MaxPool3D` node with input `input: T`; attributes `ksize: list(int)`, `strides: list(int)`, `padding: string`; output `output: T`. Optional: `data_format: string = "NDHWC"`.
    fn max_pool3d(self, input: impl Into<Input<'b>>, ksize: &[i64], strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("MaxPool3D").input(input).attr("ksize", ksize).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `MaxPool3DGrad` node with inputs `orig_input: TInput`, `orig_output: TInput`, `grad: T`; attributes `ksize: list(int)`, `strides: list(int)`, `padding: string`; output `output: T`. Optional: `data_format: string = "NDHWC"`.
    fn max_pool3d_grad(self, orig_input: impl Into<Input<'b>>, orig_output: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, ksize: &[i64], strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("MaxPool3DGrad").input(orig_input).input(orig_output).input(grad).attr("ksize", ksize).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `MaxPool3DGradGrad` node with inputs `orig_input: T`, `orig_output: T`, `grad: T`; attributes `ksize: list(int)`, `strides: list(int)`, `padding: string`; output `output: T`. Optional: `data_format: string = "NDHWC"`.
    fn max_pool3d_grad_grad(self, orig_input: impl Into<Input<'b>>, orig_output: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, ksize: &[i64], strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("MaxPool3DGradGrad").input(orig_input).input(orig_output).input(grad).attr("ksize", ksize).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `MaxPoolGrad` node with inputs `orig_input: T`, `orig_output: T`, `grad: T`; attributes `ksize: list(int)`, `strides: list(int)`, `padding: string`; output `output: T`. Optional: `explicit_paddings: list(int) = []`, `data_format: string = "NHWC"`.
    fn max_pool_grad(self, orig_input: impl Into<Input<'b>>, orig_output: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, ksize: &[i64], strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("MaxPoolGrad").input(orig_input).input(orig_output).input(grad).attr("ksize", ksize).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `MaxPoolGradGrad` node with inputs `orig_input: T`, `orig_output: T`, `grad: T`; attributes `ksize: list(int)`, `strides: list(int)`, `padding: string`; output `output: T`. Optional: `data_format: string = "NHWC"`.
    fn max_pool_grad_grad(self, orig_input: impl Into<Input<'b>>, orig_output: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, ksize: &[i64], strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("MaxPoolGradGrad").input(orig_input).input(orig_output).input(grad).attr("ksize", ksize).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `MaxPoolGradGradV2` node with inputs `orig_input: T`, `orig_output: T`, `grad: T`, `ksize: int32`, `strides: int32`; attribute `padding: string`; output `output: T`. Optional: `data_format: string = "NHWC"`.
    fn max_pool_grad_grad_v2(self, orig_input: impl Into<Input<'b>>, orig_output: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, ksize: impl Into<Input<'b>>, strides: impl Into<Input<'b>>, padding: &str) -> Result<Output<'b>> {
        self.op_node("MaxPoolGradGradV2").input(orig_input).input(orig_output).input(grad).input(ksize).input(strides).attr("padding", padding).output()
    }

    /// Adds a `MaxPoolGradGradWithArgmax` node with inputs `input: T`, `grad: T`, `argmax: Targmax`; attributes `ksize: list(int)`, `strides: list(int)`, `padding: string`; output `output: T`. Optional: `include_batch_in_index: bool = false`.
    fn max_pool_grad_grad_with_argmax(self, input: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, argmax: impl Into<Input<'b>>, ksize: &[i64], strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("MaxPoolGradGradWithArgmax").input(input).input(grad).input(argmax).attr("ksize", ksize).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `MaxPoolGradV2` node with inputs `orig_input: T`, `orig_output: T`, `grad: T`, `ksize: int32`, `strides: int32`; attribute `padding: string`; output `output: T`. Optional: `data_format: string = "NHWC"`.
    fn max_pool_grad_v2(self, orig_input: impl Into<Input<'b>>, orig_output: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, ksize: impl Into<Input<'b>>, strides: impl Into<Input<'b>>, padding: &str) -> Result<Output<'b>> {
        self.op_node("MaxPoolGradV2").input(orig_input).input(orig_output).input(grad).input(ksize).input(strides).attr("padding", padding).output()
    }

    /// Adds a `MaxPoolGradWithArgmax` node with inputs `input: T`, `grad: T`, `argmax: Targmax`; attributes `ksize: list(int)`, `strides: list(int)`, `padding: string`; output `output: T`. Optional: `include_batch_in_index: bool = false`.
    fn max_pool_grad_with_argmax(self, input: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, argmax: impl Into<Input<'b>>, ksize: &[i64], strides: &[i64], padding: &str) -> Result<Output<'b>> {
        self.op_node("MaxPoolGradWithArgmax").input(input).input(grad).input(argmax).attr("ksize", ksize).attr("strides", strides).attr("padding", padding).output()
    }

    /// Adds a `MaxPoolV2` node with inputs `input: T`, `ksize: int32`, `strides: int32`; attribute `padding: string`; output `output: T`. Optional: `data_format: string = "NHWC"`.
    fn max_pool_v2(self, input: impl Into<Input<'b>>, ksize: impl Into<Input<'b>>, strides: impl Into<Input<'b>>, padding: &str) -> Result<Output<'b>> {
        self.op_node("MaxPoolV2").input(input).input(ksize).input(strides).attr("padding", padding).output()
    }

    /// Adds a `MaxPoolWithArgmax` node with input `input: T`; attributes `ksize: list(int)`, `strides: list(int)`, `padding: string`; outputs `output: T`, `argmax: Targmax`. Optional: `Targmax: type = i64`, `include_batch_in_index: bool = false`.
    fn max_pool_with_argmax(self, input: impl Into<Input<'b>>, ksize: &[i64], strides: &[i64], padding: &str) -> Result<[Output<'b>; 2]> {
        self.op_node("MaxPoolWithArgmax").input(input).attr("ksize", ksize).attr("strides", strides).attr("padding", padding).outputs()
    }

    /// Adds a `Maximum` node with inputs `x: T`, `y: T`; output `z: T`.
    fn maximum(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Maximum").input(x).input(y).output()
    }

    /// Adds a `Mean` node with inputs `input: T`, `reduction_indices: Tidx`; output `output: T`. Optional: `keep_dims: bool = false`.
    fn mean(self, input: impl Into<Input<'b>>, reduction_indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Mean").input(input).input(reduction_indices).output()
    }

    /// Adds a `Merge` node with input `inputs: N * T`; outputs `output: T`, `value_index: int32`.
    fn merge(self, inputs: &[Output<'b>]) -> Result<[Output<'b>; 2]> {
        self.op_node("Merge").input_list(inputs).outputs()
    }

    /// Adds a `MergeSummary` node with input `inputs: N * string`; output `summary: string`.
    fn merge_summary(self, inputs: &[Output<'b>]) -> Result<Output<'b>> {
        self.op_node("MergeSummary").input_list(inputs).output()
    }

    /// Adds a `MergeV2Checkpoints` node with inputs `checkpoint_prefixes: string`, `destination_prefix: string`. Optional: `delete_old_dirs: bool = true`, `allow_missing_files: bool = false`.
    fn merge_v2_checkpoints(self, checkpoint_prefixes: impl Into<Input<'b>>, destination_prefix: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("MergeV2Checkpoints").input(checkpoint_prefixes).input(destination_prefix).finish()
    }

    /// Adds a `Mfcc` node with inputs `spectrogram: float`, `sample_rate: int32`; output `output: float`. Optional: `upper_frequency_limit: float = 4000.0`, `lower_frequency_limit: float = 20.0`, `filterbank_channel_count: int = 40`, `dct_coefficient_count: int = 13`.
    fn mfcc(self, spectrogram: impl Into<Input<'b>>, sample_rate: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Mfcc").input(spectrogram).input(sample_rate).output()
    }

    /// Adds a `Min` node with inputs `input: T`, `reduction_indices: Tidx`; output `output: T`. Optional: `keep_dims: bool = false`.
    fn min(self, input: impl Into<Input<'b>>, reduction_indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Min").input(input).input(reduction_indices).output()
    }

    /// Adds a `Minimum` node with inputs `x: T`, `y: T`; output `z: T`.
    fn minimum(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Minimum").input(x).input(y).output()
    }

    /// Adds a `MirrorPad` node with inputs `input: T`, `paddings: Tpaddings`; attribute `mode: string`; output `output: T`.
    fn mirror_pad(self, input: impl Into<Input<'b>>, paddings: impl Into<Input<'b>>, mode: &str) -> Result<Output<'b>> {
        self.op_node("MirrorPad").input(input).input(paddings).attr("mode", mode).output()
    }

    /// Adds a `MirrorPadGrad` node with inputs `input: T`, `paddings: Tpaddings`; attribute `mode: string`; output `output: T`.
    fn mirror_pad_grad(self, input: impl Into<Input<'b>>, paddings: impl Into<Input<'b>>, mode: &str) -> Result<Output<'b>> {
        self.op_node("MirrorPadGrad").input(input).input(paddings).attr("mode", mode).output()
    }

    /// Adds a `Mod` node with inputs `x: T`, `y: T`; output `z: T`.
    fn mod_(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Mod").input(x).input(y).output()
    }

    /// Adds a `ModelDataset` node with input `input_dataset: variant`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `algorithm: int = 0`, `cpu_budget: int = 0`, `ram_budget: int = 0`.
    fn model_dataset(self, input_dataset: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ModelDataset").input(input_dataset).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `Mul` node with inputs `x: T`, `y: T`; output `z: T`.
    fn mul(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Mul").input(x).input(y).output()
    }

    /// Adds a `MulNoNan` node with inputs `x: T`, `y: T`; output `z: T`.
    fn mul_no_nan(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MulNoNan").input(x).input(y).output()
    }

    /// Adds a `MultiDeviceIterator` node with attributes `devices: list(string)`, `shared_name: string`, `container: string`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: resource`.
    fn multi_device_iterator(self, devices: &[&str], shared_name: &str, container: &str, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("MultiDeviceIterator").attr("devices", devices).attr("shared_name", shared_name).attr("container", container).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `MultiDeviceIteratorFromStringHandle` node with input `string_handle: string`; output `multi_device_iterator: resource`. Optional: `output_types: list(type) = []`, `output_shapes: list(shape) = []`.
    fn multi_device_iterator_from_string_handle(self, string_handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MultiDeviceIteratorFromStringHandle").input(string_handle).output()
    }

    /// Adds a `MultiDeviceIteratorGetNextFromShard` node with inputs `multi_device_iterator: resource`, `shard_num: int32`, `incarnation_id: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `components: output_types`.
    fn multi_device_iterator_get_next_from_shard(self, multi_device_iterator: impl Into<Input<'b>>, shard_num: impl Into<Input<'b>>, incarnation_id: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Vec<Output<'b>>> {
        self.op_node("MultiDeviceIteratorGetNextFromShard").input(multi_device_iterator).input(shard_num).input(incarnation_id).attr("output_types", output_types).attr("output_shapes", output_shapes).output_lists().map(|[list]| list)
    }

    /// Adds a `MultiDeviceIteratorInit` node with inputs `dataset: variant`, `multi_device_iterator: resource`, `max_buffer_size: int64`; output `incarnation_id: int64`.
    fn multi_device_iterator_init(self, dataset: impl Into<Input<'b>>, multi_device_iterator: impl Into<Input<'b>>, max_buffer_size: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MultiDeviceIteratorInit").input(dataset).input(multi_device_iterator).input(max_buffer_size).output()
    }

    /// Adds a `MultiDeviceIteratorToStringHandle` node with input `multi_device_iterator: resource`; output `string_handle: string`.
    fn multi_device_iterator_to_string_handle(self, multi_device_iterator: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MultiDeviceIteratorToStringHandle").input(multi_device_iterator).output()
    }

    /// Adds a `Multinomial` node with inputs `logits: T`, `num_samples: int32`; output `output: output_dtype`. Optional: `seed: int = 0`, `seed2: int = 0`, `output_dtype: type = i64`.
    fn multinomial(self, logits: impl Into<Input<'b>>, num_samples: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Multinomial").input(logits).input(num_samples).output()
    }

    /// Adds a `MutableDenseHashTableV2` node with inputs `empty_key: key_dtype`, `deleted_key: key_dtype`; attribute `value_dtype: type`; output `table_handle: resource`. Optional: `container: string = ""`, `shared_name: string = ""`, `use_node_name_sharing: bool = false`, `value_shape: shape = []`, `initial_num_buckets: int = 131072`, `max_load_factor: float = 0.8`.
    fn mutable_dense_hash_table_v2(self, empty_key: impl Into<Input<'b>>, deleted_key: impl Into<Input<'b>>, value_dtype: DType) -> Result<Output<'b>> {
        self.op_node("MutableDenseHashTableV2").input(empty_key).input(deleted_key).attr("value_dtype", value_dtype).output()
    }

    /// Adds a `MutableHashTable` node with attributes `key_dtype: type`, `value_dtype: type`; output `table_handle: Ref(string)`. Optional: `container: string = ""`, `shared_name: string = ""`, `use_node_name_sharing: bool = false`.
    fn mutable_hash_table(self, key_dtype: DType, value_dtype: DType) -> Result<Output<'b>> {
        self.op_node("MutableHashTable").attr("key_dtype", key_dtype).attr("value_dtype", value_dtype).output()
    }

    /// Adds a `MutableHashTableOfTensors` node with attributes `key_dtype: type`, `value_dtype: type`; output `table_handle: Ref(string)`. Optional: `container: string = ""`, `shared_name: string = ""`, `use_node_name_sharing: bool = false`, `value_shape: shape = []`.
    fn mutable_hash_table_of_tensors(self, key_dtype: DType, value_dtype: DType) -> Result<Output<'b>> {
        self.op_node("MutableHashTableOfTensors").attr("key_dtype", key_dtype).attr("value_dtype", value_dtype).output()
    }

    /// Adds a `MutableHashTableOfTensorsV2` node with attributes `key_dtype: type`, `value_dtype: type`; output `table_handle: resource`. Optional: `container: string = ""`, `shared_name: string = ""`, `use_node_name_sharing: bool = false`, `value_shape: shape = []`.
    fn mutable_hash_table_of_tensors_v2(self, key_dtype: DType, value_dtype: DType) -> Result<Output<'b>> {
        self.op_node("MutableHashTableOfTensorsV2").attr("key_dtype", key_dtype).attr("value_dtype", value_dtype).output()
    }

    /// Adds a `MutableHashTableV2` node with attributes `key_dtype: type`, `value_dtype: type`; output `table_handle: resource`. Optional: `container: string = ""`, `shared_name: string = ""`, `use_node_name_sharing: bool = false`.
    fn mutable_hash_table_v2(self, key_dtype: DType, value_dtype: DType) -> Result<Output<'b>> {
        self.op_node("MutableHashTableV2").attr("key_dtype", key_dtype).attr("value_dtype", value_dtype).output()
    }

    /// Adds a `MutexLock` node with input `mutex: resource`; output `mutex_lock: variant`.
    fn mutex_lock(self, mutex: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("MutexLock").input(mutex).output()
    }

    /// Adds a `MutexV2` node with output `resource: resource`. Optional: `container: string = ""`, `shared_name: string = ""`.
    fn mutex_v2(self) -> Result<Output<'b>> {
        self.op_node("MutexV2").output()
    }

    /// Adds a `Ndtri` node with input `x: T`; output `y: T`.
    fn ndtri(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Ndtri").input(x).output()
    }

    /// Adds a `NearestNeighbors` node with inputs `points: float`, `centers: float`, `k: int64`; outputs `nearest_center_indices: int64`, `nearest_center_distances: float`.
    fn nearest_neighbors(self, points: impl Into<Input<'b>>, centers: impl Into<Input<'b>>, k: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("NearestNeighbors").input(points).input(centers).input(k).outputs()
    }

    /// Adds a `Neg` node with input `x: T`; output `y: T`.
    fn neg(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Neg").input(x).output()
    }

    /// Adds a `NextAfter` node with inputs `x1: T`, `x2: T`; output `output: T`.
    fn next_after(self, x1: impl Into<Input<'b>>, x2: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("NextAfter").input(x1).input(x2).output()
    }

    /// Adds a `NextIteration` node with input `data: T`; output `output: T`.
    fn next_iteration(self, data: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("NextIteration").input(data).output()
    }

    /// Adds a `NoOp` node.
    fn no_op(self) -> Result<NodeId> {
        self.op_node("NoOp").finish()
    }

    /// Adds a `NonDeterministicInts` node with input `shape: shape_dtype`; output `output: dtype`. Optional: `dtype: type = i64`.
    fn non_deterministic_ints(self, shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("NonDeterministicInts").input(shape).output()
    }

    /// Adds a `NonMaxSuppression` node with inputs `boxes: float`, `scores: float`, `max_output_size: int32`; output `selected_indices: int32`. Optional: `iou_threshold: float = 0.5`.
    fn non_max_suppression(self, boxes: impl Into<Input<'b>>, scores: impl Into<Input<'b>>, max_output_size: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("NonMaxSuppression").input(boxes).input(scores).input(max_output_size).output()
    }

    /// Adds a `NonMaxSuppressionV2` node with inputs `boxes: T`, `scores: T`, `max_output_size: int32`, `iou_threshold: T_threshold`; output `selected_indices: int32`.
    fn non_max_suppression_v2(self, boxes: impl Into<Input<'b>>, scores: impl Into<Input<'b>>, max_output_size: impl Into<Input<'b>>, iou_threshold: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("NonMaxSuppressionV2").input(boxes).input(scores).input(max_output_size).input(iou_threshold).output()
    }

    /// Adds a `NonMaxSuppressionV3` node with inputs `boxes: T`, `scores: T`, `max_output_size: int32`, `iou_threshold: T_threshold`, `score_threshold: T_threshold`; output `selected_indices: int32`.
    fn non_max_suppression_v3(self, boxes: impl Into<Input<'b>>, scores: impl Into<Input<'b>>, max_output_size: impl Into<Input<'b>>, iou_threshold: impl Into<Input<'b>>, score_threshold: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("NonMaxSuppressionV3").input(boxes).input(scores).input(max_output_size).input(iou_threshold).input(score_threshold).output()
    }

    /// Adds a `NonMaxSuppressionV4` node with inputs `boxes: T`, `scores: T`, `max_output_size: int32`, `iou_threshold: T_threshold`, `score_threshold: T_threshold`; outputs `selected_indices: int32`, `valid_outputs: int32`. Optional: `pad_to_max_output_size: bool = false`.
    fn non_max_suppression_v4(self, boxes: impl Into<Input<'b>>, scores: impl Into<Input<'b>>, max_output_size: impl Into<Input<'b>>, iou_threshold: impl Into<Input<'b>>, score_threshold: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("NonMaxSuppressionV4").input(boxes).input(scores).input(max_output_size).input(iou_threshold).input(score_threshold).outputs()
    }

    /// Adds a `NonMaxSuppressionV5` node with inputs `boxes: T`, `scores: T`, `max_output_size: int32`, `iou_threshold: T`, `score_threshold: T`, `soft_nms_sigma: T`; outputs `selected_indices: int32`, `selected_scores: T`, `valid_outputs: int32`. Optional: `pad_to_max_output_size: bool = false`.
    fn non_max_suppression_v5(self, boxes: impl Into<Input<'b>>, scores: impl Into<Input<'b>>, max_output_size: impl Into<Input<'b>>, iou_threshold: impl Into<Input<'b>>, score_threshold: impl Into<Input<'b>>, soft_nms_sigma: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("NonMaxSuppressionV5").input(boxes).input(scores).input(max_output_size).input(iou_threshold).input(score_threshold).input(soft_nms_sigma).outputs()
    }

    /// Adds a `NonMaxSuppressionWithOverlaps` node with inputs `overlaps: float`, `scores: float`, `max_output_size: int32`, `overlap_threshold: float`, `score_threshold: float`; output `selected_indices: int32`.
    fn non_max_suppression_with_overlaps(self, overlaps: impl Into<Input<'b>>, scores: impl Into<Input<'b>>, max_output_size: impl Into<Input<'b>>, overlap_threshold: impl Into<Input<'b>>, score_threshold: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("NonMaxSuppressionWithOverlaps").input(overlaps).input(scores).input(max_output_size).input(overlap_threshold).input(score_threshold).output()
    }

    /// Adds a `NonSerializableDataset` node with input `input_dataset: variant`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn non_serializable_dataset(self, input_dataset: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("NonSerializableDataset").input(input_dataset).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `NotEqual` node with inputs `x: T`, `y: T`; output `z: bool`. Optional: `incompatible_shape_error: bool = true`.
    fn not_equal(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("NotEqual").input(x).input(y).output()
    }

    /// Adds a `NthElement` node with inputs `input: T`, `n: int32`; output `values: T`. Optional: `reverse: bool = false`.
    fn nth_element(self, input: impl Into<Input<'b>>, n: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("NthElement").input(input).input(n).output()
    }

    /// Adds an `OneHot` node with inputs `indices: TI`, `depth: int32`, `on_value: T`, `off_value: T`; output `output: T`. Optional: `axis: int = -1`.
    fn one_hot(self, indices: impl Into<Input<'b>>, depth: impl Into<Input<'b>>, on_value: impl Into<Input<'b>>, off_value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("OneHot").input(indices).input(depth).input(on_value).input(off_value).output()
    }

    /// Adds an `OneShotIterator` node with attributes `dataset_factory: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: resource`. Optional: `container: string = ""`, `shared_name: string = ""`.
    fn one_shot_iterator(self, dataset_factory: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("OneShotIterator").attr("dataset_factory", dataset_factory).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `OnesLike` node with input `x: T`; output `y: T`.
    fn ones_like(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("OnesLike").input(x).output()
    }

    /// Adds an `OptimizeDataset` node with inputs `input_dataset: variant`, `optimizations: string`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `optimization_configs: list(string) = []`.
    fn optimize_dataset(self, input_dataset: impl Into<Input<'b>>, optimizations: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("OptimizeDataset").input(input_dataset).input(optimizations).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `OptimizeDatasetV2` node with inputs `input_dataset: variant`, `optimizations_enabled: string`, `optimizations_disabled: string`, `optimizations_default: string`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `optimization_configs: list(string) = []`.
    fn optimize_dataset_v2(self, input_dataset: impl Into<Input<'b>>, optimizations_enabled: impl Into<Input<'b>>, optimizations_disabled: impl Into<Input<'b>>, optimizations_default: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("OptimizeDatasetV2").input(input_dataset).input(optimizations_enabled).input(optimizations_disabled).input(optimizations_default).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `OptionalFromValue` node with input `components: Toutput_types`; output `optional: variant`.
    fn optional_from_value(self, components: &[Output<'b>]) -> Result<Output<'b>> {
        self.op_node("OptionalFromValue").input_list(components).output()
    }

    /// Adds an `OptionalGetValue` node with input `optional: variant`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `components: output_types`.
    fn optional_get_value(self, optional: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Vec<Output<'b>>> {
        self.op_node("OptionalGetValue").input(optional).attr("output_types", output_types).attr("output_shapes", output_shapes).output_lists().map(|[list]| list)
    }

    /// Adds an `OptionalHasValue` node with input `optional: variant`; output `has_value: bool`.
    fn optional_has_value(self, optional: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("OptionalHasValue").input(optional).output()
    }

    /// Adds an `OptionalNone` node with output `optional: variant`.
    fn optional_none(self) -> Result<Output<'b>> {
        self.op_node("OptionalNone").output()
    }

    /// Adds an `OptionsDataset` node with input `input_dataset: variant`; attributes `serialized_options: string`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn options_dataset(self, input_dataset: impl Into<Input<'b>>, serialized_options: &str, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("OptionsDataset").input(input_dataset).attr("serialized_options", serialized_options).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds an `OrderedMapClear` node with attribute `dtypes: list(type)`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn ordered_map_clear(self, dtypes: &[DType]) -> Result<NodeId> {
        self.op_node("OrderedMapClear").attr("dtypes", dtypes).finish()
    }

    /// Adds an `OrderedMapIncompleteSize` node with attribute `dtypes: list(type)`; output `size: int32`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn ordered_map_incomplete_size(self, dtypes: &[DType]) -> Result<Output<'b>> {
        self.op_node("OrderedMapIncompleteSize").attr("dtypes", dtypes).output()
    }

    /// Adds an `OrderedMapPeek` node with inputs `key: int64`, `indices: int32`; attribute `dtypes: list(type)`; output `values: dtypes`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn ordered_map_peek(self, key: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, dtypes: &[DType]) -> Result<Vec<Output<'b>>> {
        self.op_node("OrderedMapPeek").input(key).input(indices).attr("dtypes", dtypes).output_lists().map(|[list]| list)
    }

    /// Adds an `OrderedMapSize` node with attribute `dtypes: list(type)`; output `size: int32`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn ordered_map_size(self, dtypes: &[DType]) -> Result<Output<'b>> {
        self.op_node("OrderedMapSize").attr("dtypes", dtypes).output()
    }

    /// Adds an `OrderedMapStage` node with inputs `key: int64`, `indices: int32`, `values: fake_dtypes`; attribute `dtypes: list(type)`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn ordered_map_stage(self, key: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, values: &[Output<'b>], dtypes: &[DType]) -> Result<NodeId> {
        self.op_node("OrderedMapStage").input(key).input(indices).input_list(values).attr("dtypes", dtypes).finish()
    }

    /// Adds an `OrderedMapUnstage` node with inputs `key: int64`, `indices: int32`; attribute `dtypes: list(type)`; output `values: dtypes`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn ordered_map_unstage(self, key: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, dtypes: &[DType]) -> Result<Vec<Output<'b>>> {
        self.op_node("OrderedMapUnstage").input(key).input(indices).attr("dtypes", dtypes).output_lists().map(|[list]| list)
    }

    /// Adds an `OrderedMapUnstageNoKey` node with input `indices: int32`; attribute `dtypes: list(type)`; outputs `key: int64`, `values: dtypes`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn ordered_map_unstage_no_key(self, indices: impl Into<Input<'b>>, dtypes: &[DType]) -> Result<[Vec<Output<'b>>; 2]> {
        self.op_node("OrderedMapUnstageNoKey").input(indices).attr("dtypes", dtypes).output_lists()
    }

    /// Adds a `Pack` node with input `values: N * T`; output `output: T`. Optional: `axis: int = 0`.
    fn pack(self, values: &[Output<'b>]) -> Result<Output<'b>> {
        self.op_node("Pack").input_list(values).output()
    }

    /// Adds a `Pad` node with inputs `input: T`, `paddings: Tpaddings`; output `output: T`.
    fn pad(self, input: impl Into<Input<'b>>, paddings: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Pad").input(input).input(paddings).output()
    }

    /// Adds a `PadV2` node with inputs `input: T`, `paddings: Tpaddings`, `constant_values: T`; output `output: T`.
    fn pad_v2(self, input: impl Into<Input<'b>>, paddings: impl Into<Input<'b>>, constant_values: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("PadV2").input(input).input(paddings).input(constant_values).output()
    }

    /// Adds a `PaddedBatchDataset` node with inputs `input_dataset: variant`, `batch_size: int64`, `padded_shapes: N * int64`, `padding_values: Toutput_types`; attribute `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn padded_batch_dataset(self, input_dataset: impl Into<Input<'b>>, batch_size: impl Into<Input<'b>>, padded_shapes: &[Output<'b>], padding_values: &[Output<'b>], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("PaddedBatchDataset").input(input_dataset).input(batch_size).input_list(padded_shapes).input_list(padding_values).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `PaddedBatchDatasetV2` node with inputs `input_dataset: variant`, `batch_size: int64`, `padded_shapes: N * int64`, `padding_values: Toutput_types`, `drop_remainder: bool`; attribute `output_shapes: list(shape)`; output `handle: variant`. Optional: `parallel_copy: bool = false`, `metadata: string = ""`.
    fn padded_batch_dataset_v2(self, input_dataset: impl Into<Input<'b>>, batch_size: impl Into<Input<'b>>, padded_shapes: &[Output<'b>], padding_values: &[Output<'b>], drop_remainder: impl Into<Input<'b>>, output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("PaddedBatchDatasetV2").input(input_dataset).input(batch_size).input_list(padded_shapes).input_list(padding_values).input(drop_remainder).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `PaddingFIFOQueue` node with attribute `component_types: list(type)`; output `handle: Ref(string)`. Optional: `shapes: list(shape) = []`, `capacity: int = -1`, `container: string = ""`, `shared_name: string = ""`.
    fn padding_fifo_queue(self, component_types: &[DType]) -> Result<Output<'b>> {
        self.op_node("PaddingFIFOQueue").attr("component_types", component_types).output()
    }

    /// Adds a `PaddingFIFOQueueV2` node with attribute `component_types: list(type)`; output `handle: resource`. Optional: `shapes: list(shape) = []`, `capacity: int = -1`, `container: string = ""`, `shared_name: string = ""`.
    fn padding_fifo_queue_v2(self, component_types: &[DType]) -> Result<Output<'b>> {
        self.op_node("PaddingFIFOQueueV2").attr("component_types", component_types).output()
    }

    /// Adds a `ParallelBatchDataset` node with inputs `input_dataset: variant`, `batch_size: int64`, `num_parallel_calls: int64`, `drop_remainder: bool`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `parallel_copy: bool = false`, `deterministic: string = "default"`, `metadata: string = ""`.
    fn parallel_batch_dataset(self, input_dataset: impl Into<Input<'b>>, batch_size: impl Into<Input<'b>>, num_parallel_calls: impl Into<Input<'b>>, drop_remainder: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ParallelBatchDataset").input(input_dataset).input(batch_size).input(num_parallel_calls).input(drop_remainder).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ParallelConcat` node with input `values: N * T`; attribute `shape: shape`; output `output: T`.
    fn parallel_concat(self, values: &[Output<'b>], shape: impl Into<PartialShape>) -> Result<Output<'b>> {
        self.op_node("ParallelConcat").input_list(values).attr("shape", shape.into()).output()
    }

    /// Adds a `ParallelDynamicStitch` node with inputs `indices: N * int32`, `data: N * T`; output `merged: T`.
    fn parallel_dynamic_stitch(self, indices: &[Output<'b>], data: &[Output<'b>]) -> Result<Output<'b>> {
        self.op_node("ParallelDynamicStitch").input_list(indices).input_list(data).output()
    }

    /// Adds a `ParallelFilterDataset` node with inputs `input_dataset: variant`, `other_arguments: Targuments`, `num_parallel_calls: int64`; attributes `predicate: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `deterministic: string = "default"`, `metadata: string = ""`.
    fn parallel_filter_dataset(self, input_dataset: impl Into<Input<'b>>, other_arguments: &[Output<'b>], num_parallel_calls: impl Into<Input<'b>>, predicate: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ParallelFilterDataset").input(input_dataset).input_list(other_arguments).input(num_parallel_calls).attr("predicate", predicate).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ParallelInterleaveDataset` node with inputs `input_dataset: variant`, `other_arguments: Targuments`, `cycle_length: int64`, `block_length: int64`, `sloppy: bool`, `buffer_output_elements: int64`, `prefetch_input_elements: int64`; attributes `f: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn parallel_interleave_dataset(self, input_dataset: impl Into<Input<'b>>, other_arguments: &[Output<'b>], cycle_length: impl Into<Input<'b>>, block_length: impl Into<Input<'b>>, sloppy: impl Into<Input<'b>>, buffer_output_elements: impl Into<Input<'b>>, prefetch_input_elements: impl Into<Input<'b>>, f: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ParallelInterleaveDataset").input(input_dataset).input_list(other_arguments).input(cycle_length).input(block_length).input(sloppy).input(buffer_output_elements).input(prefetch_input_elements).attr("f", f).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ParallelInterleaveDatasetV2` node with inputs `input_dataset: variant`, `other_arguments: Targuments`, `cycle_length: int64`, `block_length: int64`, `num_parallel_calls: int64`; attributes `f: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `sloppy: bool = false`, `metadata: string = ""`.
    fn parallel_interleave_dataset_v2(self, input_dataset: impl Into<Input<'b>>, other_arguments: &[Output<'b>], cycle_length: impl Into<Input<'b>>, block_length: impl Into<Input<'b>>, num_parallel_calls: impl Into<Input<'b>>, f: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ParallelInterleaveDatasetV2").input(input_dataset).input_list(other_arguments).input(cycle_length).input(block_length).input(num_parallel_calls).attr("f", f).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ParallelInterleaveDatasetV3` node with inputs `input_dataset: variant`, `other_arguments: Targuments`, `cycle_length: int64`, `block_length: int64`, `num_parallel_calls: int64`; attributes `f: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `deterministic: string = "default"`, `metadata: string = ""`.
    fn parallel_interleave_dataset_v3(self, input_dataset: impl Into<Input<'b>>, other_arguments: &[Output<'b>], cycle_length: impl Into<Input<'b>>, block_length: impl Into<Input<'b>>, num_parallel_calls: impl Into<Input<'b>>, f: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ParallelInterleaveDatasetV3").input(input_dataset).input_list(other_arguments).input(cycle_length).input(block_length).input(num_parallel_calls).attr("f", f).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ParallelInterleaveDatasetV4` node with inputs `input_dataset: variant`, `other_arguments: Targuments`, `cycle_length: int64`, `block_length: int64`, `buffer_output_elements: int64`, `prefetch_input_elements: int64`, `num_parallel_calls: int64`; attributes `f: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `deterministic: string = "default"`, `metadata: string = ""`.
    fn parallel_interleave_dataset_v4(self, input_dataset: impl Into<Input<'b>>, other_arguments: &[Output<'b>], cycle_length: impl Into<Input<'b>>, block_length: impl Into<Input<'b>>, buffer_output_elements: impl Into<Input<'b>>, prefetch_input_elements: impl Into<Input<'b>>, num_parallel_calls: impl Into<Input<'b>>, f: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ParallelInterleaveDatasetV4").input(input_dataset).input_list(other_arguments).input(cycle_length).input(block_length).input(buffer_output_elements).input(prefetch_input_elements).input(num_parallel_calls).attr("f", f).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ParallelMapDataset` node with inputs `input_dataset: variant`, `other_arguments: Targuments`, `num_parallel_calls: int32`; attributes `f: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `use_inter_op_parallelism: bool = true`, `sloppy: bool = false`, `preserve_cardinality: bool = false`, `metadata: string = ""`.
    fn parallel_map_dataset(self, input_dataset: impl Into<Input<'b>>, other_arguments: &[Output<'b>], num_parallel_calls: impl Into<Input<'b>>, f: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ParallelMapDataset").input(input_dataset).input_list(other_arguments).input(num_parallel_calls).attr("f", f).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ParallelMapDatasetV2` node with inputs `input_dataset: variant`, `other_arguments: Targuments`, `num_parallel_calls: int64`; attributes `f: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `use_inter_op_parallelism: bool = true`, `deterministic: string = "default"`, `preserve_cardinality: bool = false`, `use_unbounded_threadpool: bool = false`, `metadata: string = ""`.
    fn parallel_map_dataset_v2(self, input_dataset: impl Into<Input<'b>>, other_arguments: &[Output<'b>], num_parallel_calls: impl Into<Input<'b>>, f: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ParallelMapDatasetV2").input(input_dataset).input_list(other_arguments).input(num_parallel_calls).attr("f", f).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ParameterizedTruncatedNormal` node with inputs `shape: T`, `means: dtype`, `stdevs: dtype`, `minvals: dtype`, `maxvals: dtype`; output `output: dtype`. Optional: `seed: int = 0`, `seed2: int = 0`.
    fn parameterized_truncated_normal(self, shape: impl Into<Input<'b>>, means: impl Into<Input<'b>>, stdevs: impl Into<Input<'b>>, minvals: impl Into<Input<'b>>, maxvals: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ParameterizedTruncatedNormal").input(shape).input(means).input(stdevs).input(minvals).input(maxvals).output()
    }

    /// Adds a `ParseExample` node with inputs `serialized: string`, `names: string`, `sparse_keys: Nsparse * string`, `dense_keys: Ndense * string`, `dense_defaults: Tdense`; attributes `sparse_types: list(type)`, `dense_shapes: list(shape)`; outputs `sparse_indices: Nsparse * int64`, `sparse_values: sparse_types`, `sparse_shapes: Nsparse * int64`, `dense_values: Tdense`.
    fn parse_example(self, serialized: impl Into<Input<'b>>, names: impl Into<Input<'b>>, sparse_keys: &[Output<'b>], dense_keys: &[Output<'b>], dense_defaults: &[Output<'b>], sparse_types: &[DType], dense_shapes: &[PartialShape]) -> Result<[Vec<Output<'b>>; 4]> {
        self.op_node("ParseExample").input(serialized).input(names).input_list(sparse_keys).input_list(dense_keys).input_list(dense_defaults).attr("sparse_types", sparse_types).attr("dense_shapes", dense_shapes).output_lists()
    }

    /// Adds a `ParseExampleDataset` node with inputs `input_dataset: variant`, `num_parallel_calls: int64`, `dense_defaults: Tdense`; attributes `sparse_keys: list(string)`, `dense_keys: list(string)`, `sparse_types: list(type)`, `dense_shapes: list(shape)`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `sloppy: bool = false`, `ragged_keys: list(string) = []`, `ragged_value_types: list(type) = []`, `ragged_split_types: list(type) = []`.
    fn parse_example_dataset(self, input_dataset: impl Into<Input<'b>>, num_parallel_calls: impl Into<Input<'b>>, dense_defaults: &[Output<'b>], sparse_keys: &[&str], dense_keys: &[&str], sparse_types: &[DType], dense_shapes: &[PartialShape], output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ParseExampleDataset").input(input_dataset).input(num_parallel_calls).input_list(dense_defaults).attr("sparse_keys", sparse_keys).attr("dense_keys", dense_keys).attr("sparse_types", sparse_types).attr("dense_shapes", dense_shapes).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ParseExampleDatasetV2` node with inputs `input_dataset: variant`, `num_parallel_calls: int64`, `dense_defaults: Tdense`; attributes `sparse_keys: list(string)`, `dense_keys: list(string)`, `sparse_types: list(type)`, `dense_shapes: list(shape)`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `deterministic: string = "default"`, `ragged_keys: list(string) = []`, `ragged_value_types: list(type) = []`, `ragged_split_types: list(type) = []`.
    fn parse_example_dataset_v2(self, input_dataset: impl Into<Input<'b>>, num_parallel_calls: impl Into<Input<'b>>, dense_defaults: &[Output<'b>], sparse_keys: &[&str], dense_keys: &[&str], sparse_types: &[DType], dense_shapes: &[PartialShape], output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ParseExampleDatasetV2").input(input_dataset).input(num_parallel_calls).input_list(dense_defaults).attr("sparse_keys", sparse_keys).attr("dense_keys", dense_keys).attr("sparse_types", sparse_types).attr("dense_shapes", dense_shapes).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ParseExampleV2` node with inputs `serialized: string`, `names: string`, `sparse_keys: string`, `dense_keys: string`, `ragged_keys: string`, `dense_defaults: Tdense`; attributes `num_sparse: int`, `sparse_types: list(type)`, `ragged_value_types: list(type)`, `ragged_split_types: list(type)`, `dense_shapes: list(shape)`; outputs `sparse_indices: num_sparse * int64`, `sparse_values: sparse_types`, `sparse_shapes: num_sparse * int64`, `dense_values: Tdense`, `ragged_values: ragged_value_types`, `ragged_row_splits: ragged_split_types`.
    fn parse_example_v2(self, serialized: impl Into<Input<'b>>, names: impl Into<Input<'b>>, sparse_keys: impl Into<Input<'b>>, dense_keys: impl Into<Input<'b>>, ragged_keys: impl Into<Input<'b>>, dense_defaults: &[Output<'b>], num_sparse: i64, sparse_types: &[DType], ragged_value_types: &[DType], ragged_split_types: &[DType], dense_shapes: &[PartialShape]) -> Result<[Vec<Output<'b>>; 6]> {
        self.op_node("ParseExampleV2").input(serialized).input(names).input(sparse_keys).input(dense_keys).input(ragged_keys).input_list(dense_defaults).attr("num_sparse", num_sparse).attr("sparse_types", sparse_types).attr("ragged_value_types", ragged_value_types).attr("ragged_split_types", ragged_split_types).attr("dense_shapes", dense_shapes).output_lists()
    }

    /// Adds a `ParseSequenceExample` node with inputs `serialized: string`, `debug_name: string`, `context_dense_defaults: Tcontext_dense`; attributes `feature_list_dense_missing_assumed_empty: list(string)`, `context_sparse_keys: list(string)`, `context_dense_keys: list(string)`, `feature_list_sparse_keys: list(string)`, `feature_list_dense_keys: list(string)`; outputs `context_sparse_indices: Ncontext_sparse * int64`, `context_sparse_values: context_sparse_types`, `context_sparse_shapes: Ncontext_sparse * int64`, `context_dense_values: Tcontext_dense`, `feature_list_sparse_indices: Nfeature_list_sparse * int64`, `feature_list_sparse_values: feature_list_sparse_types`, `feature_list_sparse_shapes: Nfeature_list_sparse * int64`, `feature_list_dense_values: feature_list_dense_types`, `feature_list_dense_lengths: Nfeature_list_dense * int64`. Optional: `Ncontext_sparse: int = 0`, `Ncontext_dense: int = 0`, `Nfeature_list_sparse: int = 0`, `Nfeature_list_dense: int = 0`, `context_sparse_types: list(type) = []`, `feature_list_dense_types: list(type) = []`, `context_dense_shapes: list(shape) = []`, `feature_list_sparse_types: list(type) = []`, `feature_list_dense_shapes: list(shape) = []`.
    fn parse_sequence_example(self, serialized: impl Into<Input<'b>>, debug_name: impl Into<Input<'b>>, context_dense_defaults: &[Output<'b>], feature_list_dense_missing_assumed_empty: &[&str], context_sparse_keys: &[&str], context_dense_keys: &[&str], feature_list_sparse_keys: &[&str], feature_list_dense_keys: &[&str]) -> Result<[Vec<Output<'b>>; 9]> {
        self.op_node("ParseSequenceExample").input(serialized).input(debug_name).input_list(context_dense_defaults).attr("feature_list_dense_missing_assumed_empty", feature_list_dense_missing_assumed_empty).attr("context_sparse_keys", context_sparse_keys).attr("context_dense_keys", context_dense_keys).attr("feature_list_sparse_keys", feature_list_sparse_keys).attr("feature_list_dense_keys", feature_list_dense_keys).output_lists()
    }

    /// Adds a `ParseSequenceExampleV2` node with inputs `serialized: string`, `debug_name: string`, `context_sparse_keys: string`, `context_dense_keys: string`, `context_ragged_keys: string`, `feature_list_sparse_keys: string`, `feature_list_dense_keys: string`, `feature_list_ragged_keys: string`, `feature_list_dense_missing_assumed_empty: bool`, `context_dense_defaults: Tcontext_dense`; outputs `context_sparse_indices: Ncontext_sparse * int64`, `context_sparse_values: context_sparse_types`, `context_sparse_shapes: Ncontext_sparse * int64`, `context_dense_values: Tcontext_dense`, `context_ragged_values: context_ragged_value_types`, `context_ragged_row_splits: context_ragged_split_types`, `feature_list_sparse_indices: Nfeature_list_sparse * int64`, `feature_list_sparse_values: feature_list_sparse_types`, `feature_list_sparse_shapes: Nfeature_list_sparse * int64`, `feature_list_dense_values: feature_list_dense_types`, `feature_list_dense_lengths: Nfeature_list_dense * int64`, `feature_list_ragged_values: feature_list_ragged_value_types`, `feature_list_ragged_outer_splits: feature_list_ragged_split_types`, `feature_list_ragged_inner_splits: feature_list_ragged_split_types`. Optional: `Ncontext_sparse: int = 0`, `context_sparse_types: list(type) = []`, `context_ragged_value_types: list(type) = []`, `context_ragged_split_types: list(type) = []`, `context_dense_shapes: list(shape) = []`, `Nfeature_list_sparse: int = 0`, `Nfeature_list_dense: int = 0`, `feature_list_dense_types: list(type) = []`, `feature_list_sparse_types: list(type) = []`, `feature_list_ragged_value_types: list(type) = []`, `feature_list_ragged_split_types: list(type) = []`, `feature_list_dense_shapes: list(shape) = []`.
    fn parse_sequence_example_v2(self, serialized: impl Into<Input<'b>>, debug_name: impl Into<Input<'b>>, context_sparse_keys: impl Into<Input<'b>>, context_dense_keys: impl Into<Input<'b>>, context_ragged_keys: impl Into<Input<'b>>, feature_list_sparse_keys: impl Into<Input<'b>>, feature_list_dense_keys: impl Into<Input<'b>>, feature_list_ragged_keys: impl Into<Input<'b>>, feature_list_dense_missing_assumed_empty: impl Into<Input<'b>>, context_dense_defaults: &[Output<'b>]) -> Result<[Vec<Output<'b>>; 14]> {
        self.op_node("ParseSequenceExampleV2").input(serialized).input(debug_name).input(context_sparse_keys).input(context_dense_keys).input(context_ragged_keys).input(feature_list_sparse_keys).input(feature_list_dense_keys).input(feature_list_ragged_keys).input(feature_list_dense_missing_assumed_empty).input_list(context_dense_defaults).output_lists()
    }

    /// Adds a `ParseSingleExample` node with inputs `serialized: string`, `dense_defaults: Tdense`; attributes `num_sparse: int`, `sparse_keys: list(string)`, `dense_keys: list(string)`, `sparse_types: list(type)`, `dense_shapes: list(shape)`; outputs `sparse_indices: num_sparse * int64`, `sparse_values: sparse_types`, `sparse_shapes: num_sparse * int64`, `dense_values: Tdense`.
    fn parse_single_example(self, serialized: impl Into<Input<'b>>, dense_defaults: &[Output<'b>], num_sparse: i64, sparse_keys: &[&str], dense_keys: &[&str], sparse_types: &[DType], dense_shapes: &[PartialShape]) -> Result<[Vec<Output<'b>>; 4]> {
        self.op_node("ParseSingleExample").input(serialized).input_list(dense_defaults).attr("num_sparse", num_sparse).attr("sparse_keys", sparse_keys).attr("dense_keys", dense_keys).attr("sparse_types", sparse_types).attr("dense_shapes", dense_shapes).output_lists()
    }

    /// Adds a `ParseSingleSequenceExample` node with inputs `serialized: string`, `feature_list_dense_missing_assumed_empty: string`, `context_sparse_keys: Ncontext_sparse * string`, `context_dense_keys: Ncontext_dense * string`, `feature_list_sparse_keys: Nfeature_list_sparse * string`, `feature_list_dense_keys: Nfeature_list_dense * string`, `context_dense_defaults: Tcontext_dense`, `debug_name: string`; outputs `context_sparse_indices: Ncontext_sparse * int64`, `context_sparse_values: context_sparse_types`, `context_sparse_shapes: Ncontext_sparse * int64`, `context_dense_values: Tcontext_dense`, `feature_list_sparse_indices: Nfeature_list_sparse * int64`, `feature_list_sparse_values: feature_list_sparse_types`, `feature_list_sparse_shapes: Nfeature_list_sparse * int64`, `feature_list_dense_values: feature_list_dense_types`. Optional: `context_sparse_types: list(type) = []`, `feature_list_dense_types: list(type) = []`, `context_dense_shapes: list(shape) = []`, `feature_list_sparse_types: list(type) = []`, `feature_list_dense_shapes: list(shape) = []`.
    fn parse_single_sequence_example(self, serialized: impl Into<Input<'b>>, feature_list_dense_missing_assumed_empty: impl Into<Input<'b>>, context_sparse_keys: &[Output<'b>], context_dense_keys: &[Output<'b>], feature_list_sparse_keys: &[Output<'b>], feature_list_dense_keys: &[Output<'b>], context_dense_defaults: &[Output<'b>], debug_name: impl Into<Input<'b>>) -> Result<[Vec<Output<'b>>; 8]> {
        self.op_node("ParseSingleSequenceExample").input(serialized).input(feature_list_dense_missing_assumed_empty).input_list(context_sparse_keys).input_list(context_dense_keys).input_list(feature_list_sparse_keys).input_list(feature_list_dense_keys).input_list(context_dense_defaults).input(debug_name).output_lists()
    }

    /// Adds a `ParseTensor` node with input `serialized: string`; attribute `out_type: type`; output `output: out_type`.
    fn parse_tensor(self, serialized: impl Into<Input<'b>>, out_type: DType) -> Result<Output<'b>> {
        self.op_node("ParseTensor").input(serialized).attr("out_type", out_type).output()
    }

    /// Adds a `PartitionedCall` node with input `args: Tin`; attributes `Tout: list(type)`, `f: func`; output `output: Tout`. Optional: `config: string = ""`, `config_proto: string = ""`, `executor_type: string = ""`.
    fn partitioned_call(self, args: &[Output<'b>], tout: &[DType], f: &NameAttrList) -> Result<Vec<Output<'b>>> {
        self.op_node("PartitionedCall").input_list(args).attr("Tout", tout).attr("f", f).output_lists().map(|[list]| list)
    }

    /// Adds a `PlaceholderV2` node with attributes `dtype: type`, `shape: shape`; output `output: dtype`.
    fn placeholder_v2(self, dtype: DType, shape: impl Into<PartialShape>) -> Result<Output<'b>> {
        self.op_node("PlaceholderV2").attr("dtype", dtype).attr("shape", shape.into()).output()
    }

    /// Adds a `PlaceholderWithDefault` node with input `input: dtype`; attribute `shape: shape`; output `output: dtype`.
    fn placeholder_with_default(self, input: impl Into<Input<'b>>, shape: impl Into<PartialShape>) -> Result<Output<'b>> {
        self.op_node("PlaceholderWithDefault").input(input).attr("shape", shape.into()).output()
    }

    /// Adds a `Polygamma` node with inputs `a: T`, `x: T`; output `z: T`.
    fn polygamma(self, a: impl Into<Input<'b>>, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Polygamma").input(a).input(x).output()
    }

    /// Adds a `PopulationCount` node with input `x: T`; output `y: uint8`.
    fn population_count(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("PopulationCount").input(x).output()
    }

    /// Adds a `Pow` node with inputs `x: T`, `y: T`; output `z: T`.
    fn pow(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Pow").input(x).input(y).output()
    }

    /// Adds a `PrefetchDataset` node with inputs `input_dataset: variant`, `buffer_size: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `slack_period: int = 0`, `legacy_autotune: bool = true`, `buffer_size_min: int = 0`, `metadata: string = ""`.
    fn prefetch_dataset(self, input_dataset: impl Into<Input<'b>>, buffer_size: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("PrefetchDataset").input(input_dataset).input(buffer_size).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `PreventGradient` node with input `input: T`; output `output: T`. Optional: `message: string = ""`.
    fn prevent_gradient(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("PreventGradient").input(input).output()
    }

    /// Adds a `Print` node with inputs `input: T`, `data: U`; output `output: T`. Optional: `message: string = ""`, `first_n: int = -1`, `summarize: int = 3`.
    fn print(self, input: impl Into<Input<'b>>, data: &[Output<'b>]) -> Result<Output<'b>> {
        self.op_node("Print").input(input).input_list(data).output()
    }

    /// Adds a `PrintV2` node with input `input: string`. Optional: `output_stream: string = "stderr"`, `end: string = "\n"`.
    fn print_v2(self, input: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("PrintV2").input(input).finish()
    }

    /// Adds a `PriorityQueue` node with attribute `shapes: list(shape)`; output `handle: Ref(string)`. Optional: `component_types: list(type) = []`, `capacity: int = -1`, `container: string = ""`, `shared_name: string = ""`.
    fn priority_queue(self, shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("PriorityQueue").attr("shapes", shapes).output()
    }

    /// Adds a `PriorityQueueV2` node with attribute `shapes: list(shape)`; output `handle: resource`. Optional: `component_types: list(type) = []`, `capacity: int = -1`, `container: string = ""`, `shared_name: string = ""`.
    fn priority_queue_v2(self, shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("PriorityQueueV2").attr("shapes", shapes).output()
    }

    /// Adds a `PrivateThreadPoolDataset` node with inputs `input_dataset: variant`, `num_threads: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn private_thread_pool_dataset(self, input_dataset: impl Into<Input<'b>>, num_threads: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("PrivateThreadPoolDataset").input(input_dataset).input(num_threads).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `Prod` node with inputs `input: T`, `reduction_indices: Tidx`; output `output: T`. Optional: `keep_dims: bool = false`.
    fn prod(self, input: impl Into<Input<'b>>, reduction_indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Prod").input(input).input(reduction_indices).output()
    }

    /// Adds a `PyFunc` node with input `input: Tin`; attributes `token: string`, `Tout: list(type)`; output `output: Tout`.
    fn py_func(self, input: &[Output<'b>], token: &str, tout: &[DType]) -> Result<Vec<Output<'b>>> {
        self.op_node("PyFunc").input_list(input).attr("token", token).attr("Tout", tout).output_lists().map(|[list]| list)
    }

    /// Adds a `PyFuncStateless` node with input `input: Tin`; attributes `token: string`, `Tout: list(type)`; output `output: Tout`.
    fn py_func_stateless(self, input: &[Output<'b>], token: &str, tout: &[DType]) -> Result<Vec<Output<'b>>> {
        self.op_node("PyFuncStateless").input_list(input).attr("token", token).attr("Tout", tout).output_lists().map(|[list]| list)
    }

    /// Adds a `Qr` node with input `input: T`; outputs `q: T`, `r: T`. Optional: `full_matrices: bool = false`.
    fn qr(self, input: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("Qr").input(input).outputs()
    }

    /// Adds a `QuantizeAndDequantize` node with input `input: T`; output `output: T`. Optional: `signed_input: bool = true`, `num_bits: int = 8`, `range_given: bool = false`, `input_min: float = 0.0`, `input_max: float = 0.0`.
    fn quantize_and_dequantize(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("QuantizeAndDequantize").input(input).output()
    }

    /// Adds a `QuantizeAndDequantizeV2` node with inputs `input: T`, `input_min: T`, `input_max: T`; output `output: T`. Optional: `signed_input: bool = true`, `num_bits: int = 8`, `range_given: bool = false`, `round_mode: string = "HALF_TO_EVEN"`, `narrow_range: bool = false`, `axis: int = -1`.
    fn quantize_and_dequantize_v2(self, input: impl Into<Input<'b>>, input_min: impl Into<Input<'b>>, input_max: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("QuantizeAndDequantizeV2").input(input).input(input_min).input(input_max).output()
    }

    /// Adds a `QuantizeAndDequantizeV3` node with inputs `input: T`, `input_min: T`, `input_max: T`, `num_bits: int32`; output `output: T`. Optional: `signed_input: bool = true`, `range_given: bool = true`, `narrow_range: bool = false`, `axis: int = -1`.
    fn quantize_and_dequantize_v3(self, input: impl Into<Input<'b>>, input_min: impl Into<Input<'b>>, input_max: impl Into<Input<'b>>, num_bits: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("QuantizeAndDequantizeV3").input(input).input(input_min).input(input_max).input(num_bits).output()
    }

    /// Adds a `QuantizeAndDequantizeV4` node with inputs `input: T`, `input_min: T`, `input_max: T`; output `output: T`. Optional: `signed_input: bool = true`, `num_bits: int = 8`, `range_given: bool = false`, `round_mode: string = "HALF_TO_EVEN"`, `narrow_range: bool = false`, `axis: int = -1`.
    fn quantize_and_dequantize_v4(self, input: impl Into<Input<'b>>, input_min: impl Into<Input<'b>>, input_max: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("QuantizeAndDequantizeV4").input(input).input(input_min).input(input_max).output()
    }

    /// Adds a `QuantizeAndDequantizeV4Grad` node with inputs `gradients: T`, `input: T`, `input_min: T`, `input_max: T`; outputs `input_backprop: T`, `input_min_backprop: T`, `input_max_backprop: T`. Optional: `axis: int = -1`.
    fn quantize_and_dequantize_v4_grad(self, gradients: impl Into<Input<'b>>, input: impl Into<Input<'b>>, input_min: impl Into<Input<'b>>, input_max: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("QuantizeAndDequantizeV4Grad").input(gradients).input(input).input(input_min).input(input_max).outputs()
    }

    /// Adds a `QuantizeDownAndShrinkRange` node with inputs `input: Tinput`, `input_min: float`, `input_max: float`; attribute `out_type: type`; outputs `output: out_type`, `output_min: float`, `output_max: float`.
    fn quantize_down_and_shrink_range(self, input: impl Into<Input<'b>>, input_min: impl Into<Input<'b>>, input_max: impl Into<Input<'b>>, out_type: DType) -> Result<[Output<'b>; 3]> {
        self.op_node("QuantizeDownAndShrinkRange").input(input).input(input_min).input(input_max).attr("out_type", out_type).outputs()
    }

    /// Adds a `QuantizeV2` node with inputs `input: float`, `min_range: float`, `max_range: float`; attribute `T: type`; outputs `output: T`, `output_min: float`, `output_max: float`. Optional: `mode: string = "MIN_COMBINED"`, `round_mode: string = "HALF_AWAY_FROM_ZERO"`, `narrow_range: bool = false`, `axis: int = -1`, `ensure_minimum_range: float = 0.01`.
    fn quantize_v2(self, input: impl Into<Input<'b>>, min_range: impl Into<Input<'b>>, max_range: impl Into<Input<'b>>, t: DType) -> Result<[Output<'b>; 3]> {
        self.op_node("QuantizeV2").input(input).input(min_range).input(max_range).attr("T", t).outputs()
    }

    /// Adds a `QuantizedAdd` node with inputs `x: T1`, `y: T2`, `min_x: float`, `max_x: float`, `min_y: float`, `max_y: float`; outputs `z: Toutput`, `min_z: float`, `max_z: float`. Optional: `Toutput: type = qint32`.
    fn quantized_add(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>, min_x: impl Into<Input<'b>>, max_x: impl Into<Input<'b>>, min_y: impl Into<Input<'b>>, max_y: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("QuantizedAdd").input(x).input(y).input(min_x).input(max_x).input(min_y).input(max_y).outputs()
    }

    /// Adds a `QuantizedAvgPool` node with inputs `input: T`, `min_input: float`, `max_input: float`; attributes `ksize: list(int)`, `strides: list(int)`, `padding: string`; outputs `output: T`, `min_output: float`, `max_output: float`.
    fn quantized_avg_pool(self, input: impl Into<Input<'b>>, min_input: impl Into<Input<'b>>, max_input: impl Into<Input<'b>>, ksize: &[i64], strides: &[i64], padding: &str) -> Result<[Output<'b>; 3]> {
        self.op_node("QuantizedAvgPool").input(input).input(min_input).input(max_input).attr("ksize", ksize).attr("strides", strides).attr("padding", padding).outputs()
    }

    /// Adds a `QuantizedBatchNormWithGlobalNormalization` node with inputs `t: Tinput`, `t_min: float`, `t_max: float`, `m: Tinput`, `m_min: float`, `m_max: float`, `v: Tinput`, `v_min: float`, `v_max: float`, `beta: Tinput`, `beta_min: float`, `beta_max: float`, `gamma: Tinput`, `gamma_min: float`, `gamma_max: float`; attributes `out_type: type`, `variance_epsilon: float`, `scale_after_normalization: bool`; outputs `result: out_type`, `result_min: float`, `result_max: float`.
    fn quantized_batch_norm_with_global_normalization(self, t: impl Into<Input<'b>>, t_min: impl Into<Input<'b>>, t_max: impl Into<Input<'b>>, m: impl Into<Input<'b>>, m_min: impl Into<Input<'b>>, m_max: impl Into<Input<'b>>, v: impl Into<Input<'b>>, v_min: impl Into<Input<'b>>, v_max: impl Into<Input<'b>>, beta: impl Into<Input<'b>>, beta_min: impl Into<Input<'b>>, beta_max: impl Into<Input<'b>>, gamma: impl Into<Input<'b>>, gamma_min: impl Into<Input<'b>>, gamma_max: impl Into<Input<'b>>, out_type: DType, variance_epsilon: f32, scale_after_normalization: bool) -> Result<[Output<'b>; 3]> {
        self.op_node("QuantizedBatchNormWithGlobalNormalization").input(t).input(t_min).input(t_max).input(m).input(m_min).input(m_max).input(v).input(v_min).input(v_max).input(beta).input(beta_min).input(beta_max).input(gamma).input(gamma_min).input(gamma_max).attr("out_type", out_type).attr("variance_epsilon", variance_epsilon).attr("scale_after_normalization", scale_after_normalization).outputs()
    }

    /// Adds a `QuantizedBiasAdd` node with inputs `input: T1`, `bias: T2`, `min_input: float`, `max_input: float`, `min_bias: float`, `max_bias: float`; attribute `out_type: type`; outputs `output: out_type`, `min_out: float`, `max_out: float`.
    fn quantized_bias_add(self, input: impl Into<Input<'b>>, bias: impl Into<Input<'b>>, min_input: impl Into<Input<'b>>, max_input: impl Into<Input<'b>>, min_bias: impl Into<Input<'b>>, max_bias: impl Into<Input<'b>>, out_type: DType) -> Result<[Output<'b>; 3]> {
        self.op_node("QuantizedBiasAdd").input(input).input(bias).input(min_input).input(max_input).input(min_bias).input(max_bias).attr("out_type", out_type).outputs()
    }

    /// Adds a `QuantizedConcat` node with inputs `concat_dim: int32`, `values: N * T`, `input_mins: N * float`, `input_maxes: N * float`; outputs `output: T`, `output_min: float`, `output_max: float`.
    fn quantized_concat(self, concat_dim: impl Into<Input<'b>>, values: &[Output<'b>], input_mins: &[Output<'b>], input_maxes: &[Output<'b>]) -> Result<[Output<'b>; 3]> {
        self.op_node("QuantizedConcat").input(concat_dim).input_list(values).input_list(input_mins).input_list(input_maxes).outputs()
    }

    /// Adds a `QuantizedConv2D` node with inputs `input: Tinput`, `filter: Tfilter`, `min_input: float`, `max_input: float`, `min_filter: float`, `max_filter: float`; attributes `strides: list(int)`, `padding: string`; outputs `output: out_type`, `min_output: float`, `max_output: float`. Optional: `out_type: type = qint32`, `dilations: list(int) = [1,1,1,1]`.
    fn quantized_conv2d(self, input: impl Into<Input<'b>>, filter: impl Into<Input<'b>>, min_input: impl Into<Input<'b>>, max_input: impl Into<Input<'b>>, min_filter: impl Into<Input<'b>>, max_filter: impl Into<Input<'b>>, strides: &[i64], padding: &str) -> Result<[Output<'b>; 3]> {
        self.op_node("QuantizedConv2D").input(input).input(filter).input(min_input).input(max_input).input(min_filter).input(max_filter).attr("strides", strides).attr("padding", padding).outputs()
    }

    /// Adds a `QuantizedInstanceNorm` node with inputs `x: T`, `x_min: float`, `x_max: float`; outputs `y: T`, `y_min: float`, `y_max: float`. Optional: `output_range_given: bool = false`, `given_y_min: float = 0.0`, `given_y_max: float = 0.0`, `variance_epsilon: float = 0.00001`, `min_separation: float = 0.001`.
    fn quantized_instance_norm(self, x: impl Into<Input<'b>>, x_min: impl Into<Input<'b>>, x_max: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("QuantizedInstanceNorm").input(x).input(x_min).input(x_max).outputs()
    }

    /// Adds a `QuantizedMatMul` node with inputs `a: T1`, `b: T2`, `min_a: float`, `max_a: float`, `min_b: float`, `max_b: float`; outputs `out: Toutput`, `min_out: float`, `max_out: float`. Optional: `Toutput: type = qint32`, `transpose_a: bool = false`, `transpose_b: bool = false`, `Tactivation: type = quint8`.
    fn quantized_mat_mul(self, a: impl Into<Input<'b>>, b: impl Into<Input<'b>>, min_a: impl Into<Input<'b>>, max_a: impl Into<Input<'b>>, min_b: impl Into<Input<'b>>, max_b: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("QuantizedMatMul").input(a).input(b).input(min_a).input(max_a).input(min_b).input(max_b).outputs()
    }

    /// Adds a `QuantizedMaxPool` node with inputs `input: T`, `min_input: float`, `max_input: float`; attributes `ksize: list(int)`, `strides: list(int)`, `padding: string`; outputs `output: T`, `min_output: float`, `max_output: float`.
    fn quantized_max_pool(self, input: impl Into<Input<'b>>, min_input: impl Into<Input<'b>>, max_input: impl Into<Input<'b>>, ksize: &[i64], strides: &[i64], padding: &str) -> Result<[Output<'b>; 3]> {
        self.op_node("QuantizedMaxPool").input(input).input(min_input).input(max_input).attr("ksize", ksize).attr("strides", strides).attr("padding", padding).outputs()
    }

    /// Adds a `QuantizedMul` node with inputs `x: T1`, `y: T2`, `min_x: float`, `max_x: float`, `min_y: float`, `max_y: float`; outputs `z: Toutput`, `min_z: float`, `max_z: float`. Optional: `Toutput: type = qint32`.
    fn quantized_mul(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>, min_x: impl Into<Input<'b>>, max_x: impl Into<Input<'b>>, min_y: impl Into<Input<'b>>, max_y: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("QuantizedMul").input(x).input(y).input(min_x).input(max_x).input(min_y).input(max_y).outputs()
    }

    /// Adds a `QuantizedRelu` node with inputs `features: Tinput`, `min_features: float`, `max_features: float`; outputs `activations: out_type`, `min_activations: float`, `max_activations: float`. Optional: `out_type: type = quint8`.
    fn quantized_relu(self, features: impl Into<Input<'b>>, min_features: impl Into<Input<'b>>, max_features: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("QuantizedRelu").input(features).input(min_features).input(max_features).outputs()
    }

    /// Adds a `QuantizedRelu6` node with inputs `features: Tinput`, `min_features: float`, `max_features: float`; outputs `activations: out_type`, `min_activations: float`, `max_activations: float`. Optional: `out_type: type = quint8`.
    fn quantized_relu6(self, features: impl Into<Input<'b>>, min_features: impl Into<Input<'b>>, max_features: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("QuantizedRelu6").input(features).input(min_features).input(max_features).outputs()
    }

    /// Adds a `QuantizedReluX` node with inputs `features: Tinput`, `max_value: float`, `min_features: float`, `max_features: float`; outputs `activations: out_type`, `min_activations: float`, `max_activations: float`. Optional: `out_type: type = quint8`.
    fn quantized_relu_x(self, features: impl Into<Input<'b>>, max_value: impl Into<Input<'b>>, min_features: impl Into<Input<'b>>, max_features: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("QuantizedReluX").input(features).input(max_value).input(min_features).input(max_features).outputs()
    }

    /// Adds a `QuantizedReshape` node with inputs `tensor: T`, `shape: Tshape`, `input_min: float`, `input_max: float`; outputs `output: T`, `output_min: float`, `output_max: float`.
    fn quantized_reshape(self, tensor: impl Into<Input<'b>>, shape: impl Into<Input<'b>>, input_min: impl Into<Input<'b>>, input_max: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("QuantizedReshape").input(tensor).input(shape).input(input_min).input(input_max).outputs()
    }

    /// Adds a `QuantizedResizeBilinear` node with inputs `images: T`, `size: int32`, `min: float`, `max: float`; outputs `resized_images: T`, `out_min: float`, `out_max: float`. Optional: `align_corners: bool = false`, `half_pixel_centers: bool = false`.
    fn quantized_resize_bilinear(self, images: impl Into<Input<'b>>, size: impl Into<Input<'b>>, min: impl Into<Input<'b>>, max: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("QuantizedResizeBilinear").input(images).input(size).input(min).input(max).outputs()
    }

    /// Adds a `QueueClose` node with input `handle: Ref(string)`. Optional: `cancel_pending_enqueues: bool = false`.
    fn queue_close(self, handle: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("QueueClose").input(handle).finish()
    }

    /// Adds a `QueueCloseV2` node with input `handle: resource`. Optional: `cancel_pending_enqueues: bool = false`.
    fn queue_close_v2(self, handle: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("QueueCloseV2").input(handle).finish()
    }

    /// Adds a `QueueDequeue` node with input `handle: Ref(string)`; attribute `component_types: list(type)`; output `components: component_types`. Optional: `timeout_ms: int = -1`.
    fn queue_dequeue(self, handle: impl Into<Input<'b>>, component_types: &[DType]) -> Result<Vec<Output<'b>>> {
        self.op_node("QueueDequeue").input(handle).attr("component_types", component_types).output_lists().map(|[list]| list)
    }

    /// Adds a `QueueDequeueMany` node with inputs `handle: Ref(string)`, `n: int32`; attribute `component_types: list(type)`; output `components: component_types`. Optional: `timeout_ms: int = -1`.
    fn queue_dequeue_many(self, handle: impl Into<Input<'b>>, n: impl Into<Input<'b>>, component_types: &[DType]) -> Result<Vec<Output<'b>>> {
        self.op_node("QueueDequeueMany").input(handle).input(n).attr("component_types", component_types).output_lists().map(|[list]| list)
    }

    /// Adds a `QueueDequeueManyV2` node with inputs `handle: resource`, `n: int32`; attribute `component_types: list(type)`; output `components: component_types`. Optional: `timeout_ms: int = -1`.
    fn queue_dequeue_many_v2(self, handle: impl Into<Input<'b>>, n: impl Into<Input<'b>>, component_types: &[DType]) -> Result<Vec<Output<'b>>> {
        self.op_node("QueueDequeueManyV2").input(handle).input(n).attr("component_types", component_types).output_lists().map(|[list]| list)
    }

    /// Adds a `QueueDequeueUpTo` node with inputs `handle: Ref(string)`, `n: int32`; attribute `component_types: list(type)`; output `components: component_types`. Optional: `timeout_ms: int = -1`.
    fn queue_dequeue_up_to(self, handle: impl Into<Input<'b>>, n: impl Into<Input<'b>>, component_types: &[DType]) -> Result<Vec<Output<'b>>> {
        self.op_node("QueueDequeueUpTo").input(handle).input(n).attr("component_types", component_types).output_lists().map(|[list]| list)
    }

    /// Adds a `QueueDequeueUpToV2` node with inputs `handle: resource`, `n: int32`; attribute `component_types: list(type)`; output `components: component_types`. Optional: `timeout_ms: int = -1`.
    fn queue_dequeue_up_to_v2(self, handle: impl Into<Input<'b>>, n: impl Into<Input<'b>>, component_types: &[DType]) -> Result<Vec<Output<'b>>> {
        self.op_node("QueueDequeueUpToV2").input(handle).input(n).attr("component_types", component_types).output_lists().map(|[list]| list)
    }

    /// Adds a `QueueDequeueV2` node with input `handle: resource`; attribute `component_types: list(type)`; output `components: component_types`. Optional: `timeout_ms: int = -1`.
    fn queue_dequeue_v2(self, handle: impl Into<Input<'b>>, component_types: &[DType]) -> Result<Vec<Output<'b>>> {
        self.op_node("QueueDequeueV2").input(handle).attr("component_types", component_types).output_lists().map(|[list]| list)
    }

    /// Adds a `QueueEnqueue` node with inputs `handle: Ref(string)`, `components: Tcomponents`. Optional: `timeout_ms: int = -1`.
    fn queue_enqueue(self, handle: impl Into<Input<'b>>, components: &[Output<'b>]) -> Result<NodeId> {
        self.op_node("QueueEnqueue").input(handle).input_list(components).finish()
    }

    /// Adds a `QueueEnqueueMany` node with inputs `handle: Ref(string)`, `components: Tcomponents`. Optional: `timeout_ms: int = -1`.
    fn queue_enqueue_many(self, handle: impl Into<Input<'b>>, components: &[Output<'b>]) -> Result<NodeId> {
        self.op_node("QueueEnqueueMany").input(handle).input_list(components).finish()
    }

    /// Adds a `QueueEnqueueManyV2` node with inputs `handle: resource`, `components: Tcomponents`. Optional: `timeout_ms: int = -1`.
    fn queue_enqueue_many_v2(self, handle: impl Into<Input<'b>>, components: &[Output<'b>]) -> Result<NodeId> {
        self.op_node("QueueEnqueueManyV2").input(handle).input_list(components).finish()
    }

    /// Adds a `QueueEnqueueV2` node with inputs `handle: resource`, `components: Tcomponents`. Optional: `timeout_ms: int = -1`.
    fn queue_enqueue_v2(self, handle: impl Into<Input<'b>>, components: &[Output<'b>]) -> Result<NodeId> {
        self.op_node("QueueEnqueueV2").input(handle).input_list(components).finish()
    }

    /// Adds a `QueueIsClosed` node with input `handle: Ref(string)`; output `is_closed: bool`.
    fn queue_is_closed(self, handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("QueueIsClosed").input(handle).output()
    }

    /// Adds a `QueueIsClosedV2` node with input `handle: resource`; output `is_closed: bool`.
    fn queue_is_closed_v2(self, handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("QueueIsClosedV2").input(handle).output()
    }

    /// Adds a `QueueSize` node with input `handle: Ref(string)`; output `size: int32`.
    fn queue_size(self, handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("QueueSize").input(handle).output()
    }

    /// Adds a `QueueSizeV2` node with input `handle: resource`; output `size: int32`.
    fn queue_size_v2(self, handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("QueueSizeV2").input(handle).output()
    }

    /// Adds a `RaggedBincount` node with inputs `splits: int64`, `values: Tidx`, `size: Tidx`, `weights: T`; output `output: T`. Optional: `binary_output: bool = false`.
    fn ragged_bincount(self, splits: impl Into<Input<'b>>, values: impl Into<Input<'b>>, size: impl Into<Input<'b>>, weights: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RaggedBincount").input(splits).input(values).input(size).input(weights).output()
    }

    /// Adds a `RaggedCountSparseOutput` node with inputs `splits: int64`, `values: T`, `weights: output_type`; attribute `binary_output: bool`; outputs `output_indices: int64`, `output_values: output_type`, `output_dense_shape: int64`. Optional: `minlength: int = -1`, `maxlength: int = -1`.
    fn ragged_count_sparse_output(self, splits: impl Into<Input<'b>>, values: impl Into<Input<'b>>, weights: impl Into<Input<'b>>, binary_output: bool) -> Result<[Output<'b>; 3]> {
        self.op_node("RaggedCountSparseOutput").input(splits).input(values).input(weights).attr("binary_output", binary_output).outputs()
    }

    /// Adds a `RaggedCross` node with inputs `ragged_values: ragged_values_types`, `ragged_row_splits: ragged_splits_types`, `sparse_indices: Nsparse * int64`, `sparse_values: sparse_values_types`, `sparse_shape: Nsparse * int64`, `dense_inputs: dense_types`; attributes `input_order: string`, `hashed_output: bool`, `num_buckets: int`, `hash_key: int`, `out_values_type: type`, `out_row_splits_type: type`; outputs `output_values: out_values_type`, `output_row_splits: out_row_splits_type`.
    fn ragged_cross(self, ragged_values: &[Output<'b>], ragged_row_splits: &[Output<'b>], sparse_indices: &[Output<'b>], sparse_values: &[Output<'b>], sparse_shape: &[Output<'b>], dense_inputs: &[Output<'b>], input_order: &str, hashed_output: bool, num_buckets: i64, hash_key: i64, out_values_type: DType, out_row_splits_type: DType) -> Result<[Output<'b>; 2]> {
        self.op_node("RaggedCross").input_list(ragged_values).input_list(ragged_row_splits).input_list(sparse_indices).input_list(sparse_values).input_list(sparse_shape).input_list(dense_inputs).attr("input_order", input_order).attr("hashed_output", hashed_output).attr("num_buckets", num_buckets).attr("hash_key", hash_key).attr("out_values_type", out_values_type).attr("out_row_splits_type", out_row_splits_type).outputs()
    }

    /// Adds a `RaggedFillEmptyRows` node with inputs `value_rowids: int64`, `values: T`, `nrows: int64`, `default_value: T`; outputs `output_value_rowids: int64`, `output_values: T`, `empty_row_indicator: bool`, `reverse_index_map: int64`.
    fn ragged_fill_empty_rows(self, value_rowids: impl Into<Input<'b>>, values: impl Into<Input<'b>>, nrows: impl Into<Input<'b>>, default_value: impl Into<Input<'b>>) -> Result<[Output<'b>; 4]> {
        self.op_node("RaggedFillEmptyRows").input(value_rowids).input(values).input(nrows).input(default_value).outputs()
    }

    /// Adds a `RaggedFillEmptyRowsGrad` node with inputs `reverse_index_map: int64`, `grad_values: T`; outputs `d_values: T`, `d_default_value: T`.
    fn ragged_fill_empty_rows_grad(self, reverse_index_map: impl Into<Input<'b>>, grad_values: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("RaggedFillEmptyRowsGrad").input(reverse_index_map).input(grad_values).outputs()
    }

    /// Adds a `RaggedGather` node with inputs `params_nested_splits: PARAMS_RAGGED_RANK * Tsplits`, `params_dense_values: Tvalues`, `indices: Tindices`; attribute `OUTPUT_RAGGED_RANK: int`; outputs `output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits`, `output_dense_values: Tvalues`.
    fn ragged_gather(self, params_nested_splits: &[Output<'b>], params_dense_values: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, output_ragged_rank: i64) -> Result<[Vec<Output<'b>>; 2]> {
        self.op_node("RaggedGather").input_list(params_nested_splits).input(params_dense_values).input(indices).attr("OUTPUT_RAGGED_RANK", output_ragged_rank).output_lists()
    }

    /// Adds a `RaggedRange` node with inputs `starts: T`, `limits: T`, `deltas: T`; outputs `rt_nested_splits: Tsplits`, `rt_dense_values: T`. Optional: `Tsplits: type = i64`.
    fn ragged_range(self, starts: impl Into<Input<'b>>, limits: impl Into<Input<'b>>, deltas: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("RaggedRange").input(starts).input(limits).input(deltas).outputs()
    }

    /// Adds a `RaggedTensorFromVariant` node with input `encoded_ragged: variant`; attributes `input_ragged_rank: int`, `output_ragged_rank: int`, `Tvalues: type`; outputs `output_nested_splits: output_ragged_rank * Tsplits`, `output_dense_values: Tvalues`. Optional: `Tsplits: type = i64`.
    fn ragged_tensor_from_variant(self, encoded_ragged: impl Into<Input<'b>>, input_ragged_rank: i64, output_ragged_rank: i64, tvalues: DType) -> Result<[Vec<Output<'b>>; 2]> {
        self.op_node("RaggedTensorFromVariant").input(encoded_ragged).attr("input_ragged_rank", input_ragged_rank).attr("output_ragged_rank", output_ragged_rank).attr("Tvalues", tvalues).output_lists()
    }

    /// Adds a `RaggedTensorToSparse` node with inputs `rt_nested_splits: RAGGED_RANK * Tsplits`, `rt_dense_values: T`; outputs `sparse_indices: int64`, `sparse_values: T`, `sparse_dense_shape: int64`.
    fn ragged_tensor_to_sparse(self, rt_nested_splits: &[Output<'b>], rt_dense_values: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("RaggedTensorToSparse").input_list(rt_nested_splits).input(rt_dense_values).outputs()
    }

    /// Adds a `RaggedTensorToTensor` node with inputs `shape: Tshape`, `values: T`, `default_value: T`, `row_partition_tensors: num_row_partition_tensors * Tindex`; attribute `row_partition_types: list(string)`; output `result: T`.
    fn ragged_tensor_to_tensor(self, shape: impl Into<Input<'b>>, values: impl Into<Input<'b>>, default_value: impl Into<Input<'b>>, row_partition_tensors: &[Output<'b>], row_partition_types: &[&str]) -> Result<Output<'b>> {
        self.op_node("RaggedTensorToTensor").input(shape).input(values).input(default_value).input_list(row_partition_tensors).attr("row_partition_types", row_partition_types).output()
    }

    /// Adds a `RaggedTensorToVariant` node with inputs `rt_nested_splits: RAGGED_RANK * Tsplits`, `rt_dense_values: Tvalues`; attribute `batched_input: bool`; output `encoded_ragged: variant`.
    fn ragged_tensor_to_variant(self, rt_nested_splits: &[Output<'b>], rt_dense_values: impl Into<Input<'b>>, batched_input: bool) -> Result<Output<'b>> {
        self.op_node("RaggedTensorToVariant").input_list(rt_nested_splits).input(rt_dense_values).attr("batched_input", batched_input).output()
    }

    /// Adds a `RaggedTensorToVariantGradient` node with inputs `encoded_ragged_grad: variant`, `row_splits: Tsplits`, `dense_values_shape: int32`; attribute `Tvalues: type`; output `dense_values_grad: Tvalues`.
    fn ragged_tensor_to_variant_gradient(self, encoded_ragged_grad: impl Into<Input<'b>>, row_splits: impl Into<Input<'b>>, dense_values_shape: impl Into<Input<'b>>, tvalues: DType) -> Result<Output<'b>> {
        self.op_node("RaggedTensorToVariantGradient").input(encoded_ragged_grad).input(row_splits).input(dense_values_shape).attr("Tvalues", tvalues).output()
    }

    /// Adds a `RandomCrop` node with inputs `image: T`, `size: int64`; output `output: T`. Optional: `seed: int = 0`, `seed2: int = 0`.
    fn random_crop(self, image: impl Into<Input<'b>>, size: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RandomCrop").input(image).input(size).output()
    }

    /// Adds a `RandomDataset` node with inputs `seed: int64`, `seed2: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn random_dataset(self, seed: impl Into<Input<'b>>, seed2: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("RandomDataset").input(seed).input(seed2).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `RandomDatasetV2` node with inputs `seed: int64`, `seed2: int64`, `seed_generator: resource`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `rerandomize_each_iteration: bool = false`, `metadata: string = ""`.
    fn random_dataset_v2(self, seed: impl Into<Input<'b>>, seed2: impl Into<Input<'b>>, seed_generator: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("RandomDatasetV2").input(seed).input(seed2).input(seed_generator).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `RandomGamma` node with inputs `shape: S`, `alpha: T`; output `output: T`. Optional: `seed: int = 0`, `seed2: int = 0`.
    fn random_gamma(self, shape: impl Into<Input<'b>>, alpha: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RandomGamma").input(shape).input(alpha).output()
    }

    /// Adds a `RandomGammaGrad` node with inputs `alpha: T`, `sample: T`; output `output: T`.
    fn random_gamma_grad(self, alpha: impl Into<Input<'b>>, sample: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RandomGammaGrad").input(alpha).input(sample).output()
    }

    /// Adds a `RandomIndexShuffle` node with inputs `index: dtype`, `seed: Tseed`, `max_index: dtype`; output `output: dtype`. Optional: `rounds: int = 4`.
    fn random_index_shuffle(self, index: impl Into<Input<'b>>, seed: impl Into<Input<'b>>, max_index: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RandomIndexShuffle").input(index).input(seed).input(max_index).output()
    }

    /// Adds a `RandomPoisson` node with inputs `shape: S`, `rate: dtype`; output `output: dtype`. Optional: `seed: int = 0`, `seed2: int = 0`.
    fn random_poisson(self, shape: impl Into<Input<'b>>, rate: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RandomPoisson").input(shape).input(rate).output()
    }

    /// Adds a `RandomPoissonV2` node with inputs `shape: S`, `rate: R`; output `output: dtype`. Optional: `seed: int = 0`, `seed2: int = 0`, `dtype: type = i64`.
    fn random_poisson_v2(self, shape: impl Into<Input<'b>>, rate: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RandomPoissonV2").input(shape).input(rate).output()
    }

    /// Adds a `RandomShuffle` node with input `value: T`; output `output: T`. Optional: `seed: int = 0`, `seed2: int = 0`.
    fn random_shuffle(self, value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RandomShuffle").input(value).output()
    }

    /// Adds a `RandomShuffleQueue` node with attribute `component_types: list(type)`; output `handle: Ref(string)`. Optional: `shapes: list(shape) = []`, `capacity: int = -1`, `min_after_dequeue: int = 0`, `seed: int = 0`, `seed2: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn random_shuffle_queue(self, component_types: &[DType]) -> Result<Output<'b>> {
        self.op_node("RandomShuffleQueue").attr("component_types", component_types).output()
    }

    /// Adds a `RandomShuffleQueueV2` node with attribute `component_types: list(type)`; output `handle: resource`. Optional: `shapes: list(shape) = []`, `capacity: int = -1`, `min_after_dequeue: int = 0`, `seed: int = 0`, `seed2: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn random_shuffle_queue_v2(self, component_types: &[DType]) -> Result<Output<'b>> {
        self.op_node("RandomShuffleQueueV2").attr("component_types", component_types).output()
    }

    /// Adds a `RandomStandardNormal` node with input `shape: T`; attribute `dtype: type`; output `output: dtype`. Optional: `seed: int = 0`, `seed2: int = 0`.
    fn random_standard_normal(self, shape: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("RandomStandardNormal").input(shape).attr("dtype", dtype).output()
    }

    /// Adds a `RandomUniform` node with input `shape: T`; attribute `dtype: type`; output `output: dtype`. Optional: `seed: int = 0`, `seed2: int = 0`.
    fn random_uniform(self, shape: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("RandomUniform").input(shape).attr("dtype", dtype).output()
    }

    /// Adds a `RandomUniformInt` node with inputs `shape: T`, `minval: Tout`, `maxval: Tout`; output `output: Tout`. Optional: `seed: int = 0`, `seed2: int = 0`.
    fn random_uniform_int(self, shape: impl Into<Input<'b>>, minval: impl Into<Input<'b>>, maxval: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RandomUniformInt").input(shape).input(minval).input(maxval).output()
    }

    /// Adds a `Range` node with inputs `start: Tidx`, `limit: Tidx`, `delta: Tidx`; output `output: Tidx`.
    fn range(self, start: impl Into<Input<'b>>, limit: impl Into<Input<'b>>, delta: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Range").input(start).input(limit).input(delta).output()
    }

    /// Adds a `RangeDataset` node with inputs `start: int64`, `stop: int64`, `step: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`, `replicate_on_split: bool = false`.
    fn range_dataset(self, start: impl Into<Input<'b>>, stop: impl Into<Input<'b>>, step: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("RangeDataset").input(start).input(stop).input(step).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `Rank` node with input `input: T`; output `output: int32`.
    fn rank(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Rank").input(input).output()
    }

    /// Adds a `ReadFile` node with input `filename: string`; output `contents: string`.
    fn read_file(self, filename: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ReadFile").input(filename).output()
    }

    /// Adds a `ReadVariableOp` node with input `resource: resource`; attribute `dtype: type`; output `value: dtype`.
    fn read_variable_op(self, resource: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("ReadVariableOp").input(resource).attr("dtype", dtype).output()
    }

    /// Adds a `ReaderNumRecordsProduced` node with input `reader_handle: Ref(string)`; output `records_produced: int64`.
    fn reader_num_records_produced(self, reader_handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ReaderNumRecordsProduced").input(reader_handle).output()
    }

    /// Adds a `ReaderNumRecordsProducedV2` node with input `reader_handle: resource`; output `records_produced: int64`.
    fn reader_num_records_produced_v2(self, reader_handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ReaderNumRecordsProducedV2").input(reader_handle).output()
    }

    /// Adds a `ReaderNumWorkUnitsCompleted` node with input `reader_handle: Ref(string)`; output `units_completed: int64`.
    fn reader_num_work_units_completed(self, reader_handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ReaderNumWorkUnitsCompleted").input(reader_handle).output()
    }

    /// Adds a `ReaderNumWorkUnitsCompletedV2` node with input `reader_handle: resource`; output `units_completed: int64`.
    fn reader_num_work_units_completed_v2(self, reader_handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ReaderNumWorkUnitsCompletedV2").input(reader_handle).output()
    }

    /// Adds a `ReaderRead` node with inputs `reader_handle: Ref(string)`, `queue_handle: Ref(string)`; outputs `key: string`, `value: string`.
    fn reader_read(self, reader_handle: impl Into<Input<'b>>, queue_handle: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("ReaderRead").input(reader_handle).input(queue_handle).outputs()
    }

    /// Adds a `ReaderReadUpTo` node with inputs `reader_handle: Ref(string)`, `queue_handle: Ref(string)`, `num_records: int64`; outputs `keys: string`, `values: string`.
    fn reader_read_up_to(self, reader_handle: impl Into<Input<'b>>, queue_handle: impl Into<Input<'b>>, num_records: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("ReaderReadUpTo").input(reader_handle).input(queue_handle).input(num_records).outputs()
    }

    /// Adds a `ReaderReadUpToV2` node with inputs `reader_handle: resource`, `queue_handle: resource`, `num_records: int64`; outputs `keys: string`, `values: string`.
    fn reader_read_up_to_v2(self, reader_handle: impl Into<Input<'b>>, queue_handle: impl Into<Input<'b>>, num_records: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("ReaderReadUpToV2").input(reader_handle).input(queue_handle).input(num_records).outputs()
    }

    /// Adds a `ReaderReadV2` node with inputs `reader_handle: resource`, `queue_handle: resource`; outputs `key: string`, `value: string`.
    fn reader_read_v2(self, reader_handle: impl Into<Input<'b>>, queue_handle: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("ReaderReadV2").input(reader_handle).input(queue_handle).outputs()
    }

    /// Adds a `ReaderReset` node with input `reader_handle: Ref(string)`.
    fn reader_reset(self, reader_handle: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ReaderReset").input(reader_handle).finish()
    }

    /// Adds a `ReaderResetV2` node with input `reader_handle: resource`.
    fn reader_reset_v2(self, reader_handle: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ReaderResetV2").input(reader_handle).finish()
    }

    /// Adds a `ReaderRestoreState` node with inputs `reader_handle: Ref(string)`, `state: string`.
    fn reader_restore_state(self, reader_handle: impl Into<Input<'b>>, state: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ReaderRestoreState").input(reader_handle).input(state).finish()
    }

    /// Adds a `ReaderRestoreStateV2` node with inputs `reader_handle: resource`, `state: string`.
    fn reader_restore_state_v2(self, reader_handle: impl Into<Input<'b>>, state: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ReaderRestoreStateV2").input(reader_handle).input(state).finish()
    }

    /// Adds a `ReaderSerializeState` node with input `reader_handle: Ref(string)`; output `state: string`.
    fn reader_serialize_state(self, reader_handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ReaderSerializeState").input(reader_handle).output()
    }

    /// Adds a `ReaderSerializeStateV2` node with input `reader_handle: resource`; output `state: string`.
    fn reader_serialize_state_v2(self, reader_handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ReaderSerializeStateV2").input(reader_handle).output()
    }

    /// Adds a `Real` node with input `input: T`; output `output: Tout`. Optional: `Tout: type = f32`.
    fn real(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Real").input(input).output()
    }

    /// Adds a `RealDiv` node with inputs `x: T`, `y: T`; output `z: T`.
    fn real_div(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RealDiv").input(x).input(y).output()
    }

    /// Adds a `RebatchDataset` node with inputs `input_dataset: variant`, `num_replicas: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `use_fallback: bool = true`.
    fn rebatch_dataset(self, input_dataset: impl Into<Input<'b>>, num_replicas: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("RebatchDataset").input(input_dataset).input(num_replicas).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `RebatchDatasetV2` node with inputs `input_dataset: variant`, `batch_sizes: int64`, `drop_remainder: bool`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn rebatch_dataset_v2(self, input_dataset: impl Into<Input<'b>>, batch_sizes: impl Into<Input<'b>>, drop_remainder: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("RebatchDatasetV2").input(input_dataset).input(batch_sizes).input(drop_remainder).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `Reciprocal` node with input `x: T`; output `y: T`.
    fn reciprocal(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Reciprocal").input(x).output()
    }

    /// Adds a `ReciprocalGrad` node with inputs `y: T`, `dy: T`; output `z: T`.
    fn reciprocal_grad(self, y: impl Into<Input<'b>>, dy: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ReciprocalGrad").input(y).input(dy).output()
    }

    /// Adds a `ReduceDataset` node with inputs `input_dataset: variant`, `initial_state: Tstate`, `other_arguments: Targuments`; attributes `f: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `components: output_types`. Optional: `use_inter_op_parallelism: bool = true`, `metadata: string = ""`.
    fn reduce_dataset(self, input_dataset: impl Into<Input<'b>>, initial_state: &[Output<'b>], other_arguments: &[Output<'b>], f: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Vec<Output<'b>>> {
        self.op_node("ReduceDataset").input(input_dataset).input_list(initial_state).input_list(other_arguments).attr("f", f).attr("output_types", output_types).attr("output_shapes", output_shapes).output_lists().map(|[list]| list)
    }

    /// Adds a `ReduceJoin` node with inputs `inputs: string`, `reduction_indices: int32`; output `output: string`. Optional: `keep_dims: bool = false`, `separator: string = ""`.
    fn reduce_join(self, inputs: impl Into<Input<'b>>, reduction_indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ReduceJoin").input(inputs).input(reduction_indices).output()
    }

    /// Adds a `RefEnter` node with input `data: Ref(T)`; attribute `frame_name: string`; output `output: Ref(T)`. Optional: `is_constant: bool = false`, `parallel_iterations: int = 10`.
    fn ref_enter(self, data: impl Into<Input<'b>>, frame_name: &str) -> Result<Output<'b>> {
        self.op_node("RefEnter").input(data).attr("frame_name", frame_name).output()
    }

    /// Adds a `RefExit` node with input `data: Ref(T)`; output `output: Ref(T)`.
    fn ref_exit(self, data: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RefExit").input(data).output()
    }

    /// Adds a `RefIdentity` node with input `input: Ref(T)`; output `output: Ref(T)`.
    fn ref_identity(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RefIdentity").input(input).output()
    }

    /// Adds a `RefMerge` node with input `inputs: N * Ref(T)`; outputs `output: Ref(T)`, `value_index: int32`.
    fn ref_merge(self, inputs: &[Output<'b>]) -> Result<[Output<'b>; 2]> {
        self.op_node("RefMerge").input_list(inputs).outputs()
    }

    /// Adds a `RefNextIteration` node with input `data: Ref(T)`; output `output: Ref(T)`.
    fn ref_next_iteration(self, data: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RefNextIteration").input(data).output()
    }

    /// Adds a `RefSelect` node with inputs `index: int32`, `inputs: N * Ref(T)`; output `output: Ref(T)`.
    fn ref_select(self, index: impl Into<Input<'b>>, inputs: &[Output<'b>]) -> Result<Output<'b>> {
        self.op_node("RefSelect").input(index).input_list(inputs).output()
    }

    /// Adds a `RefSwitch` node with inputs `data: Ref(T)`, `pred: bool`; outputs `output_false: Ref(T)`, `output_true: Ref(T)`.
    fn ref_switch(self, data: impl Into<Input<'b>>, pred: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("RefSwitch").input(data).input(pred).outputs()
    }

    /// Adds a `RegexFullMatch` node with inputs `input: string`, `pattern: string`; output `output: bool`.
    fn regex_full_match(self, input: impl Into<Input<'b>>, pattern: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RegexFullMatch").input(input).input(pattern).output()
    }

    /// Adds a `RegexReplace` node with inputs `input: string`, `pattern: string`, `rewrite: string`; output `output: string`. Optional: `replace_global: bool = true`.
    fn regex_replace(self, input: impl Into<Input<'b>>, pattern: impl Into<Input<'b>>, rewrite: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RegexReplace").input(input).input(pattern).input(rewrite).output()
    }

    /// Adds a `Relu` node with input `features: T`; output `activations: T`.
    fn relu(self, features: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Relu").input(features).output()
    }

    /// Adds a `Relu6` node with input `features: T`; output `activations: T`.
    fn relu6(self, features: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Relu6").input(features).output()
    }

    /// Adds a `Relu6Grad` node with inputs `gradients: T`, `features: T`; output `backprops: T`.
    fn relu6_grad(self, gradients: impl Into<Input<'b>>, features: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Relu6Grad").input(gradients).input(features).output()
    }

    /// Adds a `ReluGrad` node with inputs `gradients: T`, `features: T`; output `backprops: T`.
    fn relu_grad(self, gradients: impl Into<Input<'b>>, features: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ReluGrad").input(gradients).input(features).output()
    }

    /// Adds a `RepeatDataset` node with inputs `input_dataset: variant`, `count: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn repeat_dataset(self, input_dataset: impl Into<Input<'b>>, count: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("RepeatDataset").input(input_dataset).input(count).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `RequantizationRange` node with inputs `input: Tinput`, `input_min: float`, `input_max: float`; outputs `output_min: float`, `output_max: float`.
    fn requantization_range(self, input: impl Into<Input<'b>>, input_min: impl Into<Input<'b>>, input_max: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("RequantizationRange").input(input).input(input_min).input(input_max).outputs()
    }

    /// Adds a `RequantizationRangePerChannel` node with inputs `input: T`, `input_min: float`, `input_max: float`; attribute `clip_value_max: float`; outputs `output_min: float`, `output_max: float`.
    fn requantization_range_per_channel(self, input: impl Into<Input<'b>>, input_min: impl Into<Input<'b>>, input_max: impl Into<Input<'b>>, clip_value_max: f32) -> Result<[Output<'b>; 2]> {
        self.op_node("RequantizationRangePerChannel").input(input).input(input_min).input(input_max).attr("clip_value_max", clip_value_max).outputs()
    }

    /// Adds a `Requantize` node with inputs `input: Tinput`, `input_min: float`, `input_max: float`, `requested_output_min: float`, `requested_output_max: float`; attribute `out_type: type`; outputs `output: out_type`, `output_min: float`, `output_max: float`.
    fn requantize(self, input: impl Into<Input<'b>>, input_min: impl Into<Input<'b>>, input_max: impl Into<Input<'b>>, requested_output_min: impl Into<Input<'b>>, requested_output_max: impl Into<Input<'b>>, out_type: DType) -> Result<[Output<'b>; 3]> {
        self.op_node("Requantize").input(input).input(input_min).input(input_max).input(requested_output_min).input(requested_output_max).attr("out_type", out_type).outputs()
    }

    /// Adds a `RequantizePerChannel` node with inputs `input: T`, `input_min: float`, `input_max: float`, `requested_output_min: float`, `requested_output_max: float`; outputs `output: out_type`, `output_min: float`, `output_max: float`. Optional: `out_type: type = quint8`.
    fn requantize_per_channel(self, input: impl Into<Input<'b>>, input_min: impl Into<Input<'b>>, input_max: impl Into<Input<'b>>, requested_output_min: impl Into<Input<'b>>, requested_output_max: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("RequantizePerChannel").input(input).input(input_min).input(input_max).input(requested_output_min).input(requested_output_max).outputs()
    }

    /// Adds a `Reshape` node with inputs `tensor: T`, `shape: Tshape`; output `output: T`.
    fn reshape(self, tensor: impl Into<Input<'b>>, shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Reshape").input(tensor).input(shape).output()
    }

    /// Adds a `ResizeArea` node with inputs `images: T`, `size: int32`; output `resized_images: float`. Optional: `align_corners: bool = false`.
    fn resize_area(self, images: impl Into<Input<'b>>, size: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ResizeArea").input(images).input(size).output()
    }

    /// Adds a `ResizeBicubic` node with inputs `images: T`, `size: int32`; output `resized_images: float`. Optional: `align_corners: bool = false`, `half_pixel_centers: bool = false`.
    fn resize_bicubic(self, images: impl Into<Input<'b>>, size: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ResizeBicubic").input(images).input(size).output()
    }

    /// Adds a `ResizeBicubicGrad` node with inputs `grads: float`, `original_image: T`; output `output: T`. Optional: `align_corners: bool = false`, `half_pixel_centers: bool = false`.
    fn resize_bicubic_grad(self, grads: impl Into<Input<'b>>, original_image: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ResizeBicubicGrad").input(grads).input(original_image).output()
    }

    /// Adds a `ResizeBilinear` node with inputs `images: T`, `size: int32`; output `resized_images: float`. Optional: `align_corners: bool = false`, `half_pixel_centers: bool = false`.
    fn resize_bilinear(self, images: impl Into<Input<'b>>, size: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ResizeBilinear").input(images).input(size).output()
    }

    /// Adds a `ResizeBilinearGrad` node with inputs `grads: float`, `original_image: T`; output `output: T`. Optional: `align_corners: bool = false`, `half_pixel_centers: bool = false`.
    fn resize_bilinear_grad(self, grads: impl Into<Input<'b>>, original_image: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ResizeBilinearGrad").input(grads).input(original_image).output()
    }

    /// Adds a `ResizeNearestNeighbor` node with inputs `images: T`, `size: int32`; output `resized_images: T`. Optional: `align_corners: bool = false`, `half_pixel_centers: bool = false`.
    fn resize_nearest_neighbor(self, images: impl Into<Input<'b>>, size: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ResizeNearestNeighbor").input(images).input(size).output()
    }

    /// Adds a `ResizeNearestNeighborGrad` node with inputs `grads: T`, `size: int32`; output `output: T`. Optional: `align_corners: bool = false`, `half_pixel_centers: bool = false`.
    fn resize_nearest_neighbor_grad(self, grads: impl Into<Input<'b>>, size: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ResizeNearestNeighborGrad").input(grads).input(size).output()
    }

    /// Adds a `ResourceAccumulatorApplyGradient` node with inputs `handle: resource`, `local_step: int64`, `gradient: dtype`.
    fn resource_accumulator_apply_gradient(self, handle: impl Into<Input<'b>>, local_step: impl Into<Input<'b>>, gradient: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceAccumulatorApplyGradient").input(handle).input(local_step).input(gradient).finish()
    }

    /// Adds a `ResourceAccumulatorNumAccumulated` node with input `handle: resource`; output `num_accumulated: int32`.
    fn resource_accumulator_num_accumulated(self, handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ResourceAccumulatorNumAccumulated").input(handle).output()
    }

    /// Adds a `ResourceAccumulatorSetGlobalStep` node with inputs `handle: resource`, `new_global_step: int64`.
    fn resource_accumulator_set_global_step(self, handle: impl Into<Input<'b>>, new_global_step: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceAccumulatorSetGlobalStep").input(handle).input(new_global_step).finish()
    }

    /// Adds a `ResourceAccumulatorTakeGradient` node with inputs `handle: resource`, `num_required: int32`; attribute `dtype: type`; output `average: dtype`.
    fn resource_accumulator_take_gradient(self, handle: impl Into<Input<'b>>, num_required: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("ResourceAccumulatorTakeGradient").input(handle).input(num_required).attr("dtype", dtype).output()
    }

    /// Adds a `ResourceApplyAdaMax` node with inputs `var: resource`, `m: resource`, `v: resource`, `beta1_power: T`, `lr: T`, `beta1: T`, `beta2: T`, `epsilon: T`, `grad: T`. Optional: `use_locking: bool = false`.
    fn resource_apply_ada_max(self, var: impl Into<Input<'b>>, m: impl Into<Input<'b>>, v: impl Into<Input<'b>>, beta1_power: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, beta1: impl Into<Input<'b>>, beta2: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceApplyAdaMax").input(var).input(m).input(v).input(beta1_power).input(lr).input(beta1).input(beta2).input(epsilon).input(grad).finish()
    }

    /// Adds a `ResourceApplyAdadelta` node with inputs `var: resource`, `accum: resource`, `accum_update: resource`, `lr: T`, `rho: T`, `epsilon: T`, `grad: T`. Optional: `use_locking: bool = false`.
    fn resource_apply_adadelta(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, accum_update: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, rho: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceApplyAdadelta").input(var).input(accum).input(accum_update).input(lr).input(rho).input(epsilon).input(grad).finish()
    }

    /// Adds a `ResourceApplyAdagrad` node with inputs `var: resource`, `accum: resource`, `lr: T`, `grad: T`. Optional: `use_locking: bool = false`, `update_slots: bool = true`.
    fn resource_apply_adagrad(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceApplyAdagrad").input(var).input(accum).input(lr).input(grad).finish()
    }

    /// Adds a `ResourceApplyAdagradDA` node with inputs `var: resource`, `gradient_accumulator: resource`, `gradient_squared_accumulator: resource`, `grad: T`, `lr: T`, `l1: T`, `l2: T`, `global_step: int64`. Optional: `use_locking: bool = false`.
    fn resource_apply_adagrad_da(self, var: impl Into<Input<'b>>, gradient_accumulator: impl Into<Input<'b>>, gradient_squared_accumulator: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, global_step: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceApplyAdagradDA").input(var).input(gradient_accumulator).input(gradient_squared_accumulator).input(grad).input(lr).input(l1).input(l2).input(global_step).finish()
    }

    /// Adds a `ResourceApplyAdagradV2` node with inputs `var: resource`, `accum: resource`, `lr: T`, `epsilon: T`, `grad: T`. Optional: `use_locking: bool = false`, `update_slots: bool = true`.
    fn resource_apply_adagrad_v2(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceApplyAdagradV2").input(var).input(accum).input(lr).input(epsilon).input(grad).finish()
    }

    /// Adds a `ResourceApplyAdam` node with inputs `var: resource`, `m: resource`, `v: resource`, `beta1_power: T`, `beta2_power: T`, `lr: T`, `beta1: T`, `beta2: T`, `epsilon: T`, `grad: T`. Optional: `use_locking: bool = false`, `use_nesterov: bool = false`.
    fn resource_apply_adam(self, var: impl Into<Input<'b>>, m: impl Into<Input<'b>>, v: impl Into<Input<'b>>, beta1_power: impl Into<Input<'b>>, beta2_power: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, beta1: impl Into<Input<'b>>, beta2: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceApplyAdam").input(var).input(m).input(v).input(beta1_power).input(beta2_power).input(lr).input(beta1).input(beta2).input(epsilon).input(grad).finish()
    }

    /// Adds a `ResourceApplyAdamWithAmsgrad` node with inputs `var: resource`, `m: resource`, `v: resource`, `vhat: resource`, `beta1_power: T`, `beta2_power: T`, `lr: T`, `beta1: T`, `beta2: T`, `epsilon: T`, `grad: T`. Optional: `use_locking: bool = false`.
    fn resource_apply_adam_with_amsgrad(self, var: impl Into<Input<'b>>, m: impl Into<Input<'b>>, v: impl Into<Input<'b>>, vhat: impl Into<Input<'b>>, beta1_power: impl Into<Input<'b>>, beta2_power: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, beta1: impl Into<Input<'b>>, beta2: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceApplyAdamWithAmsgrad").input(var).input(m).input(v).input(vhat).input(beta1_power).input(beta2_power).input(lr).input(beta1).input(beta2).input(epsilon).input(grad).finish()
    }

    /// Adds a `ResourceApplyAddSign` node with inputs `var: resource`, `m: resource`, `lr: T`, `alpha: T`, `sign_decay: T`, `beta: T`, `grad: T`. Optional: `use_locking: bool = false`.
    fn resource_apply_add_sign(self, var: impl Into<Input<'b>>, m: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, alpha: impl Into<Input<'b>>, sign_decay: impl Into<Input<'b>>, beta: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceApplyAddSign").input(var).input(m).input(lr).input(alpha).input(sign_decay).input(beta).input(grad).finish()
    }

    /// Adds a `ResourceApplyCenteredRMSProp` node with inputs `var: resource`, `mg: resource`, `ms: resource`, `mom: resource`, `lr: T`, `rho: T`, `momentum: T`, `epsilon: T`, `grad: T`. Optional: `use_locking: bool = false`.
    fn resource_apply_centered_rms_prop(self, var: impl Into<Input<'b>>, mg: impl Into<Input<'b>>, ms: impl Into<Input<'b>>, mom: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, rho: impl Into<Input<'b>>, momentum: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceApplyCenteredRMSProp").input(var).input(mg).input(ms).input(mom).input(lr).input(rho).input(momentum).input(epsilon).input(grad).finish()
    }

    /// Adds a `ResourceApplyFtrl` node with inputs `var: resource`, `accum: resource`, `linear: resource`, `grad: T`, `lr: T`, `l1: T`, `l2: T`, `lr_power: T`. Optional: `use_locking: bool = false`, `multiply_linear_by_lr: bool = false`.
    fn resource_apply_ftrl(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, linear: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, lr_power: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceApplyFtrl").input(var).input(accum).input(linear).input(grad).input(lr).input(l1).input(l2).input(lr_power).finish()
    }

    /// Adds a `ResourceApplyFtrlV2` node with inputs `var: resource`, `accum: resource`, `linear: resource`, `grad: T`, `lr: T`, `l1: T`, `l2: T`, `l2_shrinkage: T`, `lr_power: T`. Optional: `use_locking: bool = false`, `multiply_linear_by_lr: bool = false`.
    fn resource_apply_ftrl_v2(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, linear: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, l2_shrinkage: impl Into<Input<'b>>, lr_power: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceApplyFtrlV2").input(var).input(accum).input(linear).input(grad).input(lr).input(l1).input(l2).input(l2_shrinkage).input(lr_power).finish()
    }

    /// Adds a `ResourceApplyGradientDescent` node with inputs `var: resource`, `alpha: T`, `delta: T`. Optional: `use_locking: bool = false`.
    fn resource_apply_gradient_descent(self, var: impl Into<Input<'b>>, alpha: impl Into<Input<'b>>, delta: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceApplyGradientDescent").input(var).input(alpha).input(delta).finish()
    }

    /// Adds a `ResourceApplyKerasMomentum` node with inputs `var: resource`, `accum: resource`, `lr: T`, `grad: T`, `momentum: T`. Optional: `use_locking: bool = false`, `use_nesterov: bool = false`.
    fn resource_apply_keras_momentum(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, momentum: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceApplyKerasMomentum").input(var).input(accum).input(lr).input(grad).input(momentum).finish()
    }

    /// Adds a `ResourceApplyMomentum` node with inputs `var: resource`, `accum: resource`, `lr: T`, `grad: T`, `momentum: T`. Optional: `use_locking: bool = false`, `use_nesterov: bool = false`.
    fn resource_apply_momentum(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, momentum: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceApplyMomentum").input(var).input(accum).input(lr).input(grad).input(momentum).finish()
    }

    /// Adds a `ResourceApplyPowerSign` node with inputs `var: resource`, `m: resource`, `lr: T`, `logbase: T`, `sign_decay: T`, `beta: T`, `grad: T`. Optional: `use_locking: bool = false`.
    fn resource_apply_power_sign(self, var: impl Into<Input<'b>>, m: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, logbase: impl Into<Input<'b>>, sign_decay: impl Into<Input<'b>>, beta: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceApplyPowerSign").input(var).input(m).input(lr).input(logbase).input(sign_decay).input(beta).input(grad).finish()
    }

    /// Adds a `ResourceApplyProximalAdagrad` node with inputs `var: resource`, `accum: resource`, `lr: T`, `l1: T`, `l2: T`, `grad: T`. Optional: `use_locking: bool = false`.
    fn resource_apply_proximal_adagrad(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceApplyProximalAdagrad").input(var).input(accum).input(lr).input(l1).input(l2).input(grad).finish()
    }

    /// Adds a `ResourceApplyProximalGradientDescent` node with inputs `var: resource`, `alpha: T`, `l1: T`, `l2: T`, `delta: T`. Optional: `use_locking: bool = false`.
    fn resource_apply_proximal_gradient_descent(self, var: impl Into<Input<'b>>, alpha: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, delta: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceApplyProximalGradientDescent").input(var).input(alpha).input(l1).input(l2).input(delta).finish()
    }

    /// Adds a `ResourceApplyRMSProp` node with inputs `var: resource`, `ms: resource`, `mom: resource`, `lr: T`, `rho: T`, `momentum: T`, `epsilon: T`, `grad: T`. Optional: `use_locking: bool = false`.
    fn resource_apply_rms_prop(self, var: impl Into<Input<'b>>, ms: impl Into<Input<'b>>, mom: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, rho: impl Into<Input<'b>>, momentum: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceApplyRMSProp").input(var).input(ms).input(mom).input(lr).input(rho).input(momentum).input(epsilon).input(grad).finish()
    }

    /// Adds a `ResourceConditionalAccumulator` node with attributes `dtype: type`, `shape: shape`; output `handle: resource`. Optional: `container: string = ""`, `shared_name: string = ""`, `reduction_type: string = "MEAN"`.
    fn resource_conditional_accumulator(self, dtype: DType, shape: impl Into<PartialShape>) -> Result<Output<'b>> {
        self.op_node("ResourceConditionalAccumulator").attr("dtype", dtype).attr("shape", shape.into()).output()
    }

    /// Adds a `ResourceCountUpTo` node with input `resource: resource`; attributes `limit: int`, `T: type`; output `output: T`.
    fn resource_count_up_to(self, resource: impl Into<Input<'b>>, limit: i64, t: DType) -> Result<Output<'b>> {
        self.op_node("ResourceCountUpTo").input(resource).attr("limit", limit).attr("T", t).output()
    }

    /// Adds a `ResourceGather` node with inputs `resource: resource`, `indices: Tindices`; attribute `dtype: type`; output `output: dtype`. Optional: `batch_dims: int = 0`, `validate_indices: bool = true`.
    fn resource_gather(self, resource: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("ResourceGather").input(resource).input(indices).attr("dtype", dtype).output()
    }

    /// Adds a `ResourceGatherNd` node with inputs `resource: resource`, `indices: Tindices`; attribute `dtype: type`; output `output: dtype`.
    fn resource_gather_nd(self, resource: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("ResourceGatherNd").input(resource).input(indices).attr("dtype", dtype).output()
    }

    /// Adds a `ResourceScatterAdd` node with inputs `resource: resource`, `indices: Tindices`, `updates: dtype`.
    fn resource_scatter_add(self, resource: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceScatterAdd").input(resource).input(indices).input(updates).finish()
    }

    /// Adds a `ResourceScatterDiv` node with inputs `resource: resource`, `indices: Tindices`, `updates: dtype`.
    fn resource_scatter_div(self, resource: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceScatterDiv").input(resource).input(indices).input(updates).finish()
    }

    /// Adds a `ResourceScatterMax` node with inputs `resource: resource`, `indices: Tindices`, `updates: dtype`.
    fn resource_scatter_max(self, resource: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceScatterMax").input(resource).input(indices).input(updates).finish()
    }

    /// Adds a `ResourceScatterMin` node with inputs `resource: resource`, `indices: Tindices`, `updates: dtype`.
    fn resource_scatter_min(self, resource: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceScatterMin").input(resource).input(indices).input(updates).finish()
    }

    /// Adds a `ResourceScatterMul` node with inputs `resource: resource`, `indices: Tindices`, `updates: dtype`.
    fn resource_scatter_mul(self, resource: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceScatterMul").input(resource).input(indices).input(updates).finish()
    }

    /// Adds a `ResourceScatterNdAdd` node with inputs `ref: resource`, `indices: Tindices`, `updates: T`. Optional: `use_locking: bool = true`, `bad_indices_policy: string = ""`.
    fn resource_scatter_nd_add(self, ref_: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceScatterNdAdd").input(ref_).input(indices).input(updates).finish()
    }

    /// Adds a `ResourceScatterNdMax` node with inputs `ref: resource`, `indices: Tindices`, `updates: T`. Optional: `use_locking: bool = true`, `bad_indices_policy: string = ""`.
    fn resource_scatter_nd_max(self, ref_: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceScatterNdMax").input(ref_).input(indices).input(updates).finish()
    }

    /// Adds a `ResourceScatterNdMin` node with inputs `ref: resource`, `indices: Tindices`, `updates: T`. Optional: `use_locking: bool = true`, `bad_indices_policy: string = ""`.
    fn resource_scatter_nd_min(self, ref_: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceScatterNdMin").input(ref_).input(indices).input(updates).finish()
    }

    /// Adds a `ResourceScatterNdSub` node with inputs `ref: resource`, `indices: Tindices`, `updates: T`. Optional: `use_locking: bool = true`, `bad_indices_policy: string = ""`.
    fn resource_scatter_nd_sub(self, ref_: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceScatterNdSub").input(ref_).input(indices).input(updates).finish()
    }

    /// Adds a `ResourceScatterNdUpdate` node with inputs `ref: resource`, `indices: Tindices`, `updates: T`. Optional: `use_locking: bool = true`, `bad_indices_policy: string = ""`.
    fn resource_scatter_nd_update(self, ref_: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceScatterNdUpdate").input(ref_).input(indices).input(updates).finish()
    }

    /// Adds a `ResourceScatterSub` node with inputs `resource: resource`, `indices: Tindices`, `updates: dtype`.
    fn resource_scatter_sub(self, resource: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceScatterSub").input(resource).input(indices).input(updates).finish()
    }

    /// Adds a `ResourceScatterUpdate` node with inputs `resource: resource`, `indices: Tindices`, `updates: dtype`.
    fn resource_scatter_update(self, resource: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceScatterUpdate").input(resource).input(indices).input(updates).finish()
    }

    /// Adds a `ResourceSparseApplyAdadelta` node with inputs `var: resource`, `accum: resource`, `accum_update: resource`, `lr: T`, `rho: T`, `epsilon: T`, `grad: T`, `indices: Tindices`. Optional: `use_locking: bool = false`.
    fn resource_sparse_apply_adadelta(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, accum_update: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, rho: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceSparseApplyAdadelta").input(var).input(accum).input(accum_update).input(lr).input(rho).input(epsilon).input(grad).input(indices).finish()
    }

    /// Adds a `ResourceSparseApplyAdagrad` node with inputs `var: resource`, `accum: resource`, `lr: T`, `grad: T`, `indices: Tindices`. Optional: `use_locking: bool = false`, `update_slots: bool = true`.
    fn resource_sparse_apply_adagrad(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceSparseApplyAdagrad").input(var).input(accum).input(lr).input(grad).input(indices).finish()
    }

    /// Adds a `ResourceSparseApplyAdagradDA` node with inputs `var: resource`, `gradient_accumulator: resource`, `gradient_squared_accumulator: resource`, `grad: T`, `indices: Tindices`, `lr: T`, `l1: T`, `l2: T`, `global_step: int64`. Optional: `use_locking: bool = false`.
    fn resource_sparse_apply_adagrad_da(self, var: impl Into<Input<'b>>, gradient_accumulator: impl Into<Input<'b>>, gradient_squared_accumulator: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, global_step: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceSparseApplyAdagradDA").input(var).input(gradient_accumulator).input(gradient_squared_accumulator).input(grad).input(indices).input(lr).input(l1).input(l2).input(global_step).finish()
    }

    /// Adds a `ResourceSparseApplyAdagradV2` node with inputs `var: resource`, `accum: resource`, `lr: T`, `epsilon: T`, `grad: T`, `indices: Tindices`. Optional: `use_locking: bool = false`, `update_slots: bool = true`.
    fn resource_sparse_apply_adagrad_v2(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceSparseApplyAdagradV2").input(var).input(accum).input(lr).input(epsilon).input(grad).input(indices).finish()
    }

    /// Adds a `ResourceSparseApplyCenteredRMSProp` node with inputs `var: resource`, `mg: resource`, `ms: resource`, `mom: resource`, `lr: T`, `rho: T`, `momentum: T`, `epsilon: T`, `grad: T`, `indices: Tindices`. Optional: `use_locking: bool = false`.
    fn resource_sparse_apply_centered_rms_prop(self, var: impl Into<Input<'b>>, mg: impl Into<Input<'b>>, ms: impl Into<Input<'b>>, mom: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, rho: impl Into<Input<'b>>, momentum: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceSparseApplyCenteredRMSProp").input(var).input(mg).input(ms).input(mom).input(lr).input(rho).input(momentum).input(epsilon).input(grad).input(indices).finish()
    }

    /// Adds a `ResourceSparseApplyFtrl` node with inputs `var: resource`, `accum: resource`, `linear: resource`, `grad: T`, `indices: Tindices`, `lr: T`, `l1: T`, `l2: T`, `lr_power: T`. Optional: `use_locking: bool = false`, `multiply_linear_by_lr: bool = false`.
    fn resource_sparse_apply_ftrl(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, linear: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, lr_power: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceSparseApplyFtrl").input(var).input(accum).input(linear).input(grad).input(indices).input(lr).input(l1).input(l2).input(lr_power).finish()
    }

    /// Adds a `ResourceSparseApplyFtrlV2` node with inputs `var: resource`, `accum: resource`, `linear: resource`, `grad: T`, `indices: Tindices`, `lr: T`, `l1: T`, `l2: T`, `l2_shrinkage: T`, `lr_power: T`. Optional: `use_locking: bool = false`, `multiply_linear_by_lr: bool = false`.
    fn resource_sparse_apply_ftrl_v2(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, linear: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, l2_shrinkage: impl Into<Input<'b>>, lr_power: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceSparseApplyFtrlV2").input(var).input(accum).input(linear).input(grad).input(indices).input(lr).input(l1).input(l2).input(l2_shrinkage).input(lr_power).finish()
    }

    /// Adds a `ResourceSparseApplyKerasMomentum` node with inputs `var: resource`, `accum: resource`, `lr: T`, `grad: T`, `indices: Tindices`, `momentum: T`. Optional: `use_locking: bool = false`, `use_nesterov: bool = false`.
    fn resource_sparse_apply_keras_momentum(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, momentum: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceSparseApplyKerasMomentum").input(var).input(accum).input(lr).input(grad).input(indices).input(momentum).finish()
    }

    /// Adds a `ResourceSparseApplyMomentum` node with inputs `var: resource`, `accum: resource`, `lr: T`, `grad: T`, `indices: Tindices`, `momentum: T`. Optional: `use_locking: bool = false`, `use_nesterov: bool = false`.
    fn resource_sparse_apply_momentum(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, momentum: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceSparseApplyMomentum").input(var).input(accum).input(lr).input(grad).input(indices).input(momentum).finish()
    }

    /// Adds a `ResourceSparseApplyProximalAdagrad` node with inputs `var: resource`, `accum: resource`, `lr: T`, `l1: T`, `l2: T`, `grad: T`, `indices: Tindices`. Optional: `use_locking: bool = false`.
    fn resource_sparse_apply_proximal_adagrad(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceSparseApplyProximalAdagrad").input(var).input(accum).input(lr).input(l1).input(l2).input(grad).input(indices).finish()
    }

    /// Adds a `ResourceSparseApplyProximalGradientDescent` node with inputs `var: resource`, `alpha: T`, `l1: T`, `l2: T`, `grad: T`, `indices: Tindices`. Optional: `use_locking: bool = false`.
    fn resource_sparse_apply_proximal_gradient_descent(self, var: impl Into<Input<'b>>, alpha: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceSparseApplyProximalGradientDescent").input(var).input(alpha).input(l1).input(l2).input(grad).input(indices).finish()
    }

    /// Adds a `ResourceSparseApplyRMSProp` node with inputs `var: resource`, `ms: resource`, `mom: resource`, `lr: T`, `rho: T`, `momentum: T`, `epsilon: T`, `grad: T`, `indices: Tindices`. Optional: `use_locking: bool = false`.
    fn resource_sparse_apply_rms_prop(self, var: impl Into<Input<'b>>, ms: impl Into<Input<'b>>, mom: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, rho: impl Into<Input<'b>>, momentum: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceSparseApplyRMSProp").input(var).input(ms).input(mom).input(lr).input(rho).input(momentum).input(epsilon).input(grad).input(indices).finish()
    }

    /// Adds a `ResourceStridedSliceAssign` node with inputs `ref: resource`, `begin: Index`, `end: Index`, `strides: Index`, `value: T`. Optional: `begin_mask: int = 0`, `end_mask: int = 0`, `ellipsis_mask: int = 0`, `new_axis_mask: int = 0`, `shrink_axis_mask: int = 0`.
    fn resource_strided_slice_assign(self, ref_: impl Into<Input<'b>>, begin: impl Into<Input<'b>>, end: impl Into<Input<'b>>, strides: impl Into<Input<'b>>, value: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("ResourceStridedSliceAssign").input(ref_).input(begin).input(end).input(strides).input(value).finish()
    }

    /// Adds a `Restore` node with inputs `file_pattern: string`, `tensor_name: string`; attribute `dt: type`; output `tensor: dt`. Optional: `preferred_shard: int = -1`.
    fn restore(self, file_pattern: impl Into<Input<'b>>, tensor_name: impl Into<Input<'b>>, dt: DType) -> Result<Output<'b>> {
        self.op_node("Restore").input(file_pattern).input(tensor_name).attr("dt", dt).output()
    }

    /// Adds a `RestoreSlice` node with inputs `file_pattern: string`, `tensor_name: string`, `shape_and_slice: string`; attribute `dt: type`; output `tensor: dt`. Optional: `preferred_shard: int = -1`.
    fn restore_slice(self, file_pattern: impl Into<Input<'b>>, tensor_name: impl Into<Input<'b>>, shape_and_slice: impl Into<Input<'b>>, dt: DType) -> Result<Output<'b>> {
        self.op_node("RestoreSlice").input(file_pattern).input(tensor_name).input(shape_and_slice).attr("dt", dt).output()
    }

    /// Adds a `RestoreV2` node with inputs `prefix: string`, `tensor_names: string`, `shape_and_slices: string`; attribute `dtypes: list(type)`; output `tensors: dtypes`.
    fn restore_v2(self, prefix: impl Into<Input<'b>>, tensor_names: impl Into<Input<'b>>, shape_and_slices: impl Into<Input<'b>>, dtypes: &[DType]) -> Result<Vec<Output<'b>>> {
        self.op_node("RestoreV2").input(prefix).input(tensor_names).input(shape_and_slices).attr("dtypes", dtypes).output_lists().map(|[list]| list)
    }

    /// Adds a `Reverse` node with inputs `tensor: T`, `dims: bool`; output `output: T`.
    fn reverse(self, tensor: impl Into<Input<'b>>, dims: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Reverse").input(tensor).input(dims).output()
    }

    /// Adds a `ReverseSequence` node with inputs `input: T`, `seq_lengths: Tlen`; attribute `seq_dim: int`; output `output: T`. Optional: `batch_dim: int = 0`.
    fn reverse_sequence(self, input: impl Into<Input<'b>>, seq_lengths: impl Into<Input<'b>>, seq_dim: i64) -> Result<Output<'b>> {
        self.op_node("ReverseSequence").input(input).input(seq_lengths).attr("seq_dim", seq_dim).output()
    }

    /// Adds a `ReverseV2` node with inputs `tensor: T`, `axis: Tidx`; output `output: T`.
    fn reverse_v2(self, tensor: impl Into<Input<'b>>, axis: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ReverseV2").input(tensor).input(axis).output()
    }

    /// Adds a `RewriteDataset` node with inputs `input_dataset: variant`, `rewrite_name: string`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn rewrite_dataset(self, input_dataset: impl Into<Input<'b>>, rewrite_name: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("RewriteDataset").input(input_dataset).input(rewrite_name).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `RFFT` node with inputs `input: Treal`, `fft_length: int32`; output `output: Tcomplex`. Optional: `Tcomplex: type = c64`.
    fn rfft(self, input: impl Into<Input<'b>>, fft_length: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RFFT").input(input).input(fft_length).output()
    }

    /// Adds a `RFFT2D` node with inputs `input: Treal`, `fft_length: int32`; output `output: Tcomplex`. Optional: `Tcomplex: type = c64`.
    fn rfft2d(self, input: impl Into<Input<'b>>, fft_length: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RFFT2D").input(input).input(fft_length).output()
    }

    /// Adds a `RFFT3D` node with inputs `input: Treal`, `fft_length: int32`; output `output: Tcomplex`. Optional: `Tcomplex: type = c64`.
    fn rfft3d(self, input: impl Into<Input<'b>>, fft_length: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RFFT3D").input(input).input(fft_length).output()
    }

    /// Adds a `RFFTND` node with inputs `input: Treal`, `fft_length: int32`, `axes: int32`; output `output: Tcomplex`. Optional: `Tcomplex: type = c64`.
    fn rfftnd(self, input: impl Into<Input<'b>>, fft_length: impl Into<Input<'b>>, axes: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RFFTND").input(input).input(fft_length).input(axes).output()
    }

    /// Adds a `RGBToHSV` node with input `images: T`; output `output: T`.
    fn rgb_to_hsv(self, images: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RGBToHSV").input(images).output()
    }

    /// Adds a `RightShift` node with inputs `x: T`, `y: T`; output `z: T`.
    fn right_shift(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RightShift").input(x).input(y).output()
    }

    /// Adds a `Rint` node with input `x: T`; output `y: T`.
    fn rint(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Rint").input(x).output()
    }

    /// Adds a `RngReadAndSkip` node with inputs `resource: resource`, `alg: int32`, `delta: uint64`; output `value: int64`.
    fn rng_read_and_skip(self, resource: impl Into<Input<'b>>, alg: impl Into<Input<'b>>, delta: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RngReadAndSkip").input(resource).input(alg).input(delta).output()
    }

    /// Adds a `RngSkip` node with inputs `resource: resource`, `algorithm: int64`, `delta: int64`.
    fn rng_skip(self, resource: impl Into<Input<'b>>, algorithm: impl Into<Input<'b>>, delta: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("RngSkip").input(resource).input(algorithm).input(delta).finish()
    }

    /// Adds a `Roll` node with inputs `input: T`, `shift: Tshift`, `axis: Taxis`; output `output: T`.
    fn roll(self, input: impl Into<Input<'b>>, shift: impl Into<Input<'b>>, axis: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Roll").input(input).input(shift).input(axis).output()
    }

    /// Adds a `Round` node with input `x: T`; output `y: T`.
    fn round(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Round").input(x).output()
    }

    /// Adds a `Rsqrt` node with input `x: T`; output `y: T`.
    fn rsqrt(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Rsqrt").input(x).output()
    }

    /// Adds a `RsqrtGrad` node with inputs `y: T`, `dy: T`; output `z: T`.
    fn rsqrt_grad(self, y: impl Into<Input<'b>>, dy: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("RsqrtGrad").input(y).input(dy).output()
    }

    /// Adds a `SampleDistortedBoundingBox` node with inputs `image_size: T`, `bounding_boxes: float`; outputs `begin: T`, `size: T`, `bboxes: float`. Optional: `seed: int = 0`, `seed2: int = 0`, `min_object_covered: float = 0.1`, `aspect_ratio_range: list(float) = [0.75,1.33]`, `area_range: list(float) = [0.05,1.0]`, `max_attempts: int = 100`, `use_image_if_no_bounding_boxes: bool = false`.
    fn sample_distorted_bounding_box(self, image_size: impl Into<Input<'b>>, bounding_boxes: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("SampleDistortedBoundingBox").input(image_size).input(bounding_boxes).outputs()
    }

    /// Adds a `SampleDistortedBoundingBoxV2` node with inputs `image_size: T`, `bounding_boxes: float`, `min_object_covered: float`; outputs `begin: T`, `size: T`, `bboxes: float`. Optional: `seed: int = 0`, `seed2: int = 0`, `aspect_ratio_range: list(float) = [0.75,1.33]`, `area_range: list(float) = [0.05,1.0]`, `max_attempts: int = 100`, `use_image_if_no_bounding_boxes: bool = false`.
    fn sample_distorted_bounding_box_v2(self, image_size: impl Into<Input<'b>>, bounding_boxes: impl Into<Input<'b>>, min_object_covered: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("SampleDistortedBoundingBoxV2").input(image_size).input(bounding_boxes).input(min_object_covered).outputs()
    }

    /// Adds a `SamplingDataset` node with inputs `input_dataset: variant`, `rate: float`, `seed: int64`, `seed2: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn sampling_dataset(self, input_dataset: impl Into<Input<'b>>, rate: impl Into<Input<'b>>, seed: impl Into<Input<'b>>, seed2: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("SamplingDataset").input(input_dataset).input(rate).input(seed).input(seed2).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `Save` node with inputs `filename: string`, `tensor_names: string`, `data: T`.
    fn save(self, filename: impl Into<Input<'b>>, tensor_names: impl Into<Input<'b>>, data: &[Output<'b>]) -> Result<NodeId> {
        self.op_node("Save").input(filename).input(tensor_names).input_list(data).finish()
    }

    /// Adds a `SaveSlices` node with inputs `filename: string`, `tensor_names: string`, `shapes_and_slices: string`, `data: T`.
    fn save_slices(self, filename: impl Into<Input<'b>>, tensor_names: impl Into<Input<'b>>, shapes_and_slices: impl Into<Input<'b>>, data: &[Output<'b>]) -> Result<NodeId> {
        self.op_node("SaveSlices").input(filename).input(tensor_names).input(shapes_and_slices).input_list(data).finish()
    }

    /// Adds a `SaveV2` node with inputs `prefix: string`, `tensor_names: string`, `shape_and_slices: string`, `tensors: dtypes`.
    fn save_v2(self, prefix: impl Into<Input<'b>>, tensor_names: impl Into<Input<'b>>, shape_and_slices: impl Into<Input<'b>>, tensors: &[Output<'b>]) -> Result<NodeId> {
        self.op_node("SaveV2").input(prefix).input(tensor_names).input(shape_and_slices).input_list(tensors).finish()
    }

    /// Adds a `ScalarSummary` node with inputs `tags: string`, `values: T`; output `summary: string`.
    fn scalar_summary(self, tags: impl Into<Input<'b>>, values: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ScalarSummary").input(tags).input(values).output()
    }

    /// Adds a `ScaleAndTranslate` node with inputs `images: T`, `size: int32`, `scale: float`, `translation: float`; output `resized_images: float`. Optional: `kernel_type: string = "lanczos3"`, `antialias: bool = true`.
    fn scale_and_translate(self, images: impl Into<Input<'b>>, size: impl Into<Input<'b>>, scale: impl Into<Input<'b>>, translation: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ScaleAndTranslate").input(images).input(size).input(scale).input(translation).output()
    }

    /// Adds a `ScaleAndTranslateGrad` node with inputs `grads: T`, `original_image: T`, `scale: float`, `translation: float`; output `output: T`. Optional: `kernel_type: string = "lanczos3"`, `antialias: bool = true`.
    fn scale_and_translate_grad(self, grads: impl Into<Input<'b>>, original_image: impl Into<Input<'b>>, scale: impl Into<Input<'b>>, translation: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ScaleAndTranslateGrad").input(grads).input(original_image).input(scale).input(translation).output()
    }

    /// Adds a `ScanDataset` node with inputs `input_dataset: variant`, `initial_state: Tstate`, `other_arguments: Targuments`; attributes `f: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `preserve_cardinality: bool = false`, `use_default_device: bool = true`, `metadata: string = ""`.
    fn scan_dataset(self, input_dataset: impl Into<Input<'b>>, initial_state: &[Output<'b>], other_arguments: &[Output<'b>], f: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ScanDataset").input(input_dataset).input_list(initial_state).input_list(other_arguments).attr("f", f).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ScatterAdd` node with inputs `ref: Ref(T)`, `indices: Tindices`, `updates: T`; output `output_ref: Ref(T)`. Optional: `use_locking: bool = false`.
    fn scatter_add(self, ref_: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ScatterAdd").input(ref_).input(indices).input(updates).output()
    }

    /// Adds a `ScatterDiv` node with inputs `ref: Ref(T)`, `indices: Tindices`, `updates: T`; output `output_ref: Ref(T)`. Optional: `use_locking: bool = false`.
    fn scatter_div(self, ref_: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ScatterDiv").input(ref_).input(indices).input(updates).output()
    }

    /// Adds a `ScatterMax` node with inputs `ref: Ref(T)`, `indices: Tindices`, `updates: T`; output `output_ref: Ref(T)`. Optional: `use_locking: bool = false`.
    fn scatter_max(self, ref_: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ScatterMax").input(ref_).input(indices).input(updates).output()
    }

    /// Adds a `ScatterMin` node with inputs `ref: Ref(T)`, `indices: Tindices`, `updates: T`; output `output_ref: Ref(T)`. Optional: `use_locking: bool = false`.
    fn scatter_min(self, ref_: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ScatterMin").input(ref_).input(indices).input(updates).output()
    }

    /// Adds a `ScatterMul` node with inputs `ref: Ref(T)`, `indices: Tindices`, `updates: T`; output `output_ref: Ref(T)`. Optional: `use_locking: bool = false`.
    fn scatter_mul(self, ref_: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ScatterMul").input(ref_).input(indices).input(updates).output()
    }

    /// Adds a `ScatterNd` node with inputs `indices: Tindices`, `updates: T`, `shape: Tindices`; output `output: T`. Optional: `bad_indices_policy: string = ""`.
    fn scatter_nd(self, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>, shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ScatterNd").input(indices).input(updates).input(shape).output()
    }

    /// Adds a `ScatterNdAdd` node with inputs `ref: Ref(T)`, `indices: Tindices`, `updates: T`; output `output_ref: Ref(T)`. Optional: `use_locking: bool = false`, `bad_indices_policy: string = ""`.
    fn scatter_nd_add(self, ref_: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ScatterNdAdd").input(ref_).input(indices).input(updates).output()
    }

    /// Adds a `ScatterNdMax` node with inputs `ref: Ref(T)`, `indices: Tindices`, `updates: T`; output `output_ref: Ref(T)`. Optional: `use_locking: bool = false`, `bad_indices_policy: string = ""`.
    fn scatter_nd_max(self, ref_: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ScatterNdMax").input(ref_).input(indices).input(updates).output()
    }

    /// Adds a `ScatterNdMin` node with inputs `ref: Ref(T)`, `indices: Tindices`, `updates: T`; output `output_ref: Ref(T)`. Optional: `use_locking: bool = false`, `bad_indices_policy: string = ""`.
    fn scatter_nd_min(self, ref_: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ScatterNdMin").input(ref_).input(indices).input(updates).output()
    }

    /// Adds a `ScatterNdNonAliasingAdd` node with inputs `input: T`, `indices: Tindices`, `updates: T`; output `output: T`. Optional: `bad_indices_policy: string = ""`.
    fn scatter_nd_non_aliasing_add(self, input: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ScatterNdNonAliasingAdd").input(input).input(indices).input(updates).output()
    }

    /// Adds a `ScatterNdSub` node with inputs `ref: Ref(T)`, `indices: Tindices`, `updates: T`; output `output_ref: Ref(T)`. Optional: `use_locking: bool = false`, `bad_indices_policy: string = ""`.
    fn scatter_nd_sub(self, ref_: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ScatterNdSub").input(ref_).input(indices).input(updates).output()
    }

    /// Adds a `ScatterNdUpdate` node with inputs `ref: Ref(T)`, `indices: Tindices`, `updates: T`; output `output_ref: Ref(T)`. Optional: `use_locking: bool = true`, `bad_indices_policy: string = ""`.
    fn scatter_nd_update(self, ref_: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ScatterNdUpdate").input(ref_).input(indices).input(updates).output()
    }

    /// Adds a `ScatterSub` node with inputs `ref: Ref(T)`, `indices: Tindices`, `updates: T`; output `output_ref: Ref(T)`. Optional: `use_locking: bool = false`.
    fn scatter_sub(self, ref_: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ScatterSub").input(ref_).input(indices).input(updates).output()
    }

    /// Adds a `ScatterUpdate` node with inputs `ref: Ref(T)`, `indices: Tindices`, `updates: T`; output `output_ref: Ref(T)`. Optional: `use_locking: bool = true`.
    fn scatter_update(self, ref_: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ScatterUpdate").input(ref_).input(indices).input(updates).output()
    }

    /// Adds a `SdcaFprint` node with input `input: string`; output `output: int64`.
    fn sdca_fprint(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SdcaFprint").input(input).output()
    }

    /// Adds a `SdcaOptimizer` node with inputs `sparse_example_indices: num_sparse_features * int64`, `sparse_feature_indices: num_sparse_features * int64`, `sparse_feature_values: num_sparse_features_with_values * float`, `dense_features: num_dense_features * float`, `example_weights: float`, `example_labels: float`, `sparse_indices: num_sparse_features * int64`, `sparse_weights: num_sparse_features * float`, `dense_weights: num_dense_features * float`, `example_state_data: float`; attributes `loss_type: string`, `l1: float`, `l2: float`, `num_loss_partitions: int`, `num_inner_iterations: int`; outputs `out_example_state_data: float`, `out_delta_sparse_weights: num_sparse_features * float`, `out_delta_dense_weights: num_dense_features * float`. Optional: `adaptative: bool = false`.
    fn sdca_optimizer(self, sparse_example_indices: &[Output<'b>], sparse_feature_indices: &[Output<'b>], sparse_feature_values: &[Output<'b>], dense_features: &[Output<'b>], example_weights: impl Into<Input<'b>>, example_labels: impl Into<Input<'b>>, sparse_indices: &[Output<'b>], sparse_weights: &[Output<'b>], dense_weights: &[Output<'b>], example_state_data: impl Into<Input<'b>>, loss_type: &str, l1: f32, l2: f32, num_loss_partitions: i64, num_inner_iterations: i64) -> Result<[Vec<Output<'b>>; 3]> {
        self.op_node("SdcaOptimizer").input_list(sparse_example_indices).input_list(sparse_feature_indices).input_list(sparse_feature_values).input_list(dense_features).input(example_weights).input(example_labels).input_list(sparse_indices).input_list(sparse_weights).input_list(dense_weights).input(example_state_data).attr("loss_type", loss_type).attr("l1", l1).attr("l2", l2).attr("num_loss_partitions", num_loss_partitions).attr("num_inner_iterations", num_inner_iterations).output_lists()
    }

    /// Adds a `SdcaOptimizerV2` node with inputs `sparse_example_indices: num_sparse_features * int64`, `sparse_feature_indices: num_sparse_features * int64`, `sparse_feature_values: num_sparse_features_with_values * float`, `dense_features: num_dense_features * float`, `example_weights: float`, `example_labels: float`, `sparse_indices: num_sparse_features * int64`, `sparse_weights: num_sparse_features * float`, `dense_weights: num_dense_features * float`, `example_state_data: float`; attributes `loss_type: string`, `l1: float`, `l2: float`, `num_loss_partitions: int`, `num_inner_iterations: int`; outputs `out_example_state_data: float`, `out_delta_sparse_weights: num_sparse_features * float`, `out_delta_dense_weights: num_dense_features * float`. Optional: `adaptive: bool = false`.
    fn sdca_optimizer_v2(self, sparse_example_indices: &[Output<'b>], sparse_feature_indices: &[Output<'b>], sparse_feature_values: &[Output<'b>], dense_features: &[Output<'b>], example_weights: impl Into<Input<'b>>, example_labels: impl Into<Input<'b>>, sparse_indices: &[Output<'b>], sparse_weights: &[Output<'b>], dense_weights: &[Output<'b>], example_state_data: impl Into<Input<'b>>, loss_type: &str, l1: f32, l2: f32, num_loss_partitions: i64, num_inner_iterations: i64) -> Result<[Vec<Output<'b>>; 3]> {
        self.op_node("SdcaOptimizerV2").input_list(sparse_example_indices).input_list(sparse_feature_indices).input_list(sparse_feature_values).input_list(dense_features).input(example_weights).input(example_labels).input_list(sparse_indices).input_list(sparse_weights).input_list(dense_weights).input(example_state_data).attr("loss_type", loss_type).attr("l1", l1).attr("l2", l2).attr("num_loss_partitions", num_loss_partitions).attr("num_inner_iterations", num_inner_iterations).output_lists()
    }

    /// Adds a `SdcaShrinkL1` node with input `weights: num_features * Ref(float)`; attributes `l1: float`, `l2: float`.
    fn sdca_shrink_l1(self, weights: &[Output<'b>], l1: f32, l2: f32) -> Result<NodeId> {
        self.op_node("SdcaShrinkL1").input_list(weights).attr("l1", l1).attr("l2", l2).finish()
    }

    /// Adds a `SegmentMax` node with inputs `data: T`, `segment_ids: Tindices`; output `output: T`.
    fn segment_max(self, data: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SegmentMax").input(data).input(segment_ids).output()
    }

    /// Adds a `SegmentMaxV2` node with inputs `data: T`, `segment_ids: Tindices`, `num_segments: Tnumsegments`; output `output: T`.
    fn segment_max_v2(self, data: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>, num_segments: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SegmentMaxV2").input(data).input(segment_ids).input(num_segments).output()
    }

    /// Adds a `SegmentMean` node with inputs `data: T`, `segment_ids: Tindices`; output `output: T`.
    fn segment_mean(self, data: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SegmentMean").input(data).input(segment_ids).output()
    }

    /// Adds a `SegmentMin` node with inputs `data: T`, `segment_ids: Tindices`; output `output: T`.
    fn segment_min(self, data: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SegmentMin").input(data).input(segment_ids).output()
    }

    /// Adds a `SegmentMinV2` node with inputs `data: T`, `segment_ids: Tindices`, `num_segments: Tnumsegments`; output `output: T`.
    fn segment_min_v2(self, data: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>, num_segments: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SegmentMinV2").input(data).input(segment_ids).input(num_segments).output()
    }

    /// Adds a `SegmentProd` node with inputs `data: T`, `segment_ids: Tindices`; output `output: T`.
    fn segment_prod(self, data: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SegmentProd").input(data).input(segment_ids).output()
    }

    /// Adds a `SegmentProdV2` node with inputs `data: T`, `segment_ids: Tindices`, `num_segments: Tnumsegments`; output `output: T`.
    fn segment_prod_v2(self, data: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>, num_segments: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SegmentProdV2").input(data).input(segment_ids).input(num_segments).output()
    }

    /// Adds a `SegmentSum` node with inputs `data: T`, `segment_ids: Tindices`; output `output: T`.
    fn segment_sum(self, data: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SegmentSum").input(data).input(segment_ids).output()
    }

    /// Adds a `SegmentSumV2` node with inputs `data: T`, `segment_ids: Tindices`, `num_segments: Tnumsegments`; output `output: T`.
    fn segment_sum_v2(self, data: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>, num_segments: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SegmentSumV2").input(data).input(segment_ids).input(num_segments).output()
    }

    /// Adds a `Select` node with inputs `condition: bool`, `t: T`, `e: T`; output `output: T`.
    fn select(self, condition: impl Into<Input<'b>>, t: impl Into<Input<'b>>, e: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Select").input(condition).input(t).input(e).output()
    }

    /// Adds a `SelectV2` node with inputs `condition: bool`, `t: T`, `e: T`; output `output: T`.
    fn select_v2(self, condition: impl Into<Input<'b>>, t: impl Into<Input<'b>>, e: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SelectV2").input(condition).input(t).input(e).output()
    }

    /// Adds a `SelfAdjointEig` node with input `input: T`; output `output: T`.
    fn self_adjoint_eig(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SelfAdjointEig").input(input).output()
    }

    /// Adds a `SelfAdjointEigV2` node with input `input: T`; outputs `e: T`, `v: T`. Optional: `compute_v: bool = true`.
    fn self_adjoint_eig_v2(self, input: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("SelfAdjointEigV2").input(input).outputs()
    }

    /// Adds a `Selu` node with input `features: T`; output `activations: T`.
    fn selu(self, features: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Selu").input(features).output()
    }

    /// Adds a `SeluGrad` node with inputs `gradients: T`, `outputs: T`; output `backprops: T`.
    fn selu_grad(self, gradients: impl Into<Input<'b>>, outputs: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SeluGrad").input(gradients).input(outputs).output()
    }

    /// Adds a `SerializeIterator` node with input `resource_handle: resource`; output `serialized: variant`. Optional: `external_state_policy: int = 0`.
    fn serialize_iterator(self, resource_handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SerializeIterator").input(resource_handle).output()
    }

    /// Adds a `SerializeManySparse` node with inputs `sparse_indices: int64`, `sparse_values: T`, `sparse_shape: int64`; output `serialized_sparse: out_type`. Optional: `out_type: type = string`.
    fn serialize_many_sparse(self, sparse_indices: impl Into<Input<'b>>, sparse_values: impl Into<Input<'b>>, sparse_shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SerializeManySparse").input(sparse_indices).input(sparse_values).input(sparse_shape).output()
    }

    /// Adds a `SerializeSparse` node with inputs `sparse_indices: int64`, `sparse_values: T`, `sparse_shape: int64`; output `serialized_sparse: out_type`. Optional: `out_type: type = string`.
    fn serialize_sparse(self, sparse_indices: impl Into<Input<'b>>, sparse_values: impl Into<Input<'b>>, sparse_shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SerializeSparse").input(sparse_indices).input(sparse_values).input(sparse_shape).output()
    }

    /// Adds a `SerializeTensor` node with input `tensor: T`; output `serialized: string`.
    fn serialize_tensor(self, tensor: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SerializeTensor").input(tensor).output()
    }

    /// Adds a `SetSize` node with inputs `set_indices: int64`, `set_values: T`, `set_shape: int64`; output `size: int32`. Optional: `validate_indices: bool = true`.
    fn set_size(self, set_indices: impl Into<Input<'b>>, set_values: impl Into<Input<'b>>, set_shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SetSize").input(set_indices).input(set_values).input(set_shape).output()
    }

    /// Adds a `SetStatsAggregatorDataset` node with inputs `input_dataset: variant`, `stats_aggregator: resource`, `tag: string`, `counter_prefix: string`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn set_stats_aggregator_dataset(self, input_dataset: impl Into<Input<'b>>, stats_aggregator: impl Into<Input<'b>>, tag: impl Into<Input<'b>>, counter_prefix: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("SetStatsAggregatorDataset").input(input_dataset).input(stats_aggregator).input(tag).input(counter_prefix).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `Shape` node with input `input: T`; output `output: out_type`. Optional: `out_type: type = i32`.
    fn shape(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Shape").input(input).output()
    }

    /// Adds a `ShapeN` node with input `input: N * T`; output `output: N * out_type`. Optional: `out_type: type = i32`.
    fn shape_n(self, input: &[Output<'b>]) -> Result<Vec<Output<'b>>> {
        self.op_node("ShapeN").input_list(input).output_lists().map(|[list]| list)
    }

    /// Adds a `ShardDataset` node with inputs `input_dataset: variant`, `num_shards: int64`, `index: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `require_non_empty: bool = false`, `metadata: string = ""`.
    fn shard_dataset(self, input_dataset: impl Into<Input<'b>>, num_shards: impl Into<Input<'b>>, index: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ShardDataset").input(input_dataset).input(num_shards).input(index).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ShardedFilename` node with inputs `basename: string`, `shard: int32`, `num_shards: int32`; output `filename: string`.
    fn sharded_filename(self, basename: impl Into<Input<'b>>, shard: impl Into<Input<'b>>, num_shards: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ShardedFilename").input(basename).input(shard).input(num_shards).output()
    }

    /// Adds a `ShardedFilespec` node with inputs `basename: string`, `num_shards: int32`; output `filename: string`.
    fn sharded_filespec(self, basename: impl Into<Input<'b>>, num_shards: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ShardedFilespec").input(basename).input(num_shards).output()
    }

    /// Adds a `ShuffleAndRepeatDataset` node with inputs `input_dataset: variant`, `buffer_size: int64`, `seed: int64`, `seed2: int64`, `count: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `reshuffle_each_iteration: bool = true`, `metadata: string = ""`.
    fn shuffle_and_repeat_dataset(self, input_dataset: impl Into<Input<'b>>, buffer_size: impl Into<Input<'b>>, seed: impl Into<Input<'b>>, seed2: impl Into<Input<'b>>, count: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ShuffleAndRepeatDataset").input(input_dataset).input(buffer_size).input(seed).input(seed2).input(count).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ShuffleAndRepeatDatasetV2` node with inputs `input_dataset: variant`, `buffer_size: int64`, `seed: int64`, `seed2: int64`, `count: int64`, `seed_generator: resource`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `reshuffle_each_iteration: bool = true`, `metadata: string = ""`.
    fn shuffle_and_repeat_dataset_v2(self, input_dataset: impl Into<Input<'b>>, buffer_size: impl Into<Input<'b>>, seed: impl Into<Input<'b>>, seed2: impl Into<Input<'b>>, count: impl Into<Input<'b>>, seed_generator: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ShuffleAndRepeatDatasetV2").input(input_dataset).input(buffer_size).input(seed).input(seed2).input(count).input(seed_generator).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ShuffleDataset` node with inputs `input_dataset: variant`, `buffer_size: int64`, `seed: int64`, `seed2: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `reshuffle_each_iteration: bool = true`, `metadata: string = ""`.
    fn shuffle_dataset(self, input_dataset: impl Into<Input<'b>>, buffer_size: impl Into<Input<'b>>, seed: impl Into<Input<'b>>, seed2: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ShuffleDataset").input(input_dataset).input(buffer_size).input(seed).input(seed2).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ShuffleDatasetV2` node with inputs `input_dataset: variant`, `buffer_size: int64`, `seed_generator: resource`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn shuffle_dataset_v2(self, input_dataset: impl Into<Input<'b>>, buffer_size: impl Into<Input<'b>>, seed_generator: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ShuffleDatasetV2").input(input_dataset).input(buffer_size).input(seed_generator).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ShuffleDatasetV3` node with inputs `input_dataset: variant`, `buffer_size: int64`, `seed: int64`, `seed2: int64`, `seed_generator: resource`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `reshuffle_each_iteration: bool = true`, `metadata: string = ""`.
    fn shuffle_dataset_v3(self, input_dataset: impl Into<Input<'b>>, buffer_size: impl Into<Input<'b>>, seed: impl Into<Input<'b>>, seed2: impl Into<Input<'b>>, seed_generator: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ShuffleDatasetV3").input(input_dataset).input(buffer_size).input(seed).input(seed2).input(seed_generator).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `Sigmoid` node with input `x: T`; output `y: T`.
    fn sigmoid(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Sigmoid").input(x).output()
    }

    /// Adds a `SigmoidGrad` node with inputs `y: T`, `dy: T`; output `z: T`.
    fn sigmoid_grad(self, y: impl Into<Input<'b>>, dy: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SigmoidGrad").input(y).input(dy).output()
    }

    /// Adds a `Sign` node with input `x: T`; output `y: T`.
    fn sign(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Sign").input(x).output()
    }

    /// Adds a `Sin` node with input `x: T`; output `y: T`.
    fn sin(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Sin").input(x).output()
    }

    /// Adds a `Sinh` node with input `x: T`; output `y: T`.
    fn sinh(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Sinh").input(x).output()
    }

    /// Adds a `Size` node with input `input: T`; output `output: out_type`. Optional: `out_type: type = i32`.
    fn size(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Size").input(input).output()
    }

    /// Adds a `SkipDataset` node with inputs `input_dataset: variant`, `count: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn skip_dataset(self, input_dataset: impl Into<Input<'b>>, count: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("SkipDataset").input(input_dataset).input(count).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `SleepDataset` node with inputs `input_dataset: variant`, `sleep_microseconds: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn sleep_dataset(self, input_dataset: impl Into<Input<'b>>, sleep_microseconds: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("SleepDataset").input(input_dataset).input(sleep_microseconds).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `Slice` node with inputs `input: T`, `begin: Index`, `size: Index`; output `output: T`.
    fn slice(self, input: impl Into<Input<'b>>, begin: impl Into<Input<'b>>, size: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Slice").input(input).input(begin).input(size).output()
    }

    /// Adds a `SlidingWindowDataset` node with inputs `input_dataset: variant`, `window_size: int64`, `window_shift: int64`, `window_stride: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `drop_remainder: bool = true`.
    fn sliding_window_dataset(self, input_dataset: impl Into<Input<'b>>, window_size: impl Into<Input<'b>>, window_shift: impl Into<Input<'b>>, window_stride: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("SlidingWindowDataset").input(input_dataset).input(window_size).input(window_shift).input(window_stride).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `Snapshot` node with input `input: T`; output `output: T`.
    fn snapshot(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Snapshot").input(input).output()
    }

    /// Adds a `SobolSample` node with inputs `dim: int32`, `num_results: int32`, `skip: int32`; output `samples: dtype`. Optional: `dtype: type = f32`.
    fn sobol_sample(self, dim: impl Into<Input<'b>>, num_results: impl Into<Input<'b>>, skip: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SobolSample").input(dim).input(num_results).input(skip).output()
    }

    /// Adds a `Flowmill>Softclip` node with input `features: T`; output `activations: T`. Optional: `sharpness: float = 1.0`.
    fn softclip(self, features: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Flowmill>Softclip").input(features).output()
    }

    /// Adds a `Softmax` node with input `logits: T`; output `softmax: T`.
    fn softmax(self, logits: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Softmax").input(logits).output()
    }

    /// Adds a `SoftmaxCrossEntropyWithLogits` node with inputs `features: T`, `labels: T`; outputs `loss: T`, `backprop: T`.
    fn softmax_cross_entropy_with_logits(self, features: impl Into<Input<'b>>, labels: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("SoftmaxCrossEntropyWithLogits").input(features).input(labels).outputs()
    }

    /// Adds a `Softplus` node with input `features: T`; output `activations: T`.
    fn softplus(self, features: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Softplus").input(features).output()
    }

    /// Adds a `SoftplusGrad` node with inputs `gradients: T`, `features: T`; output `backprops: T`.
    fn softplus_grad(self, gradients: impl Into<Input<'b>>, features: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SoftplusGrad").input(gradients).input(features).output()
    }

    /// Adds a `Softsign` node with input `features: T`; output `activations: T`.
    fn softsign(self, features: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Softsign").input(features).output()
    }

    /// Adds a `SoftsignGrad` node with inputs `gradients: T`, `features: T`; output `backprops: T`.
    fn softsign_grad(self, gradients: impl Into<Input<'b>>, features: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SoftsignGrad").input(gradients).input(features).output()
    }

    /// Adds a `SpaceToBatch` node with inputs `input: T`, `paddings: Tpaddings`; attribute `block_size: int`; output `output: T`.
    fn space_to_batch(self, input: impl Into<Input<'b>>, paddings: impl Into<Input<'b>>, block_size: i64) -> Result<Output<'b>> {
        self.op_node("SpaceToBatch").input(input).input(paddings).attr("block_size", block_size).output()
    }

    /// Adds a `SpaceToBatchND` node with inputs `input: T`, `block_shape: Tblock_shape`, `paddings: Tpaddings`; output `output: T`.
    fn space_to_batch_nd(self, input: impl Into<Input<'b>>, block_shape: impl Into<Input<'b>>, paddings: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SpaceToBatchND").input(input).input(block_shape).input(paddings).output()
    }

    /// Adds a `SpaceToDepth` node with input `input: T`; attribute `block_size: int`; output `output: T`. Optional: `data_format: string = "NHWC"`.
    fn space_to_depth(self, input: impl Into<Input<'b>>, block_size: i64) -> Result<Output<'b>> {
        self.op_node("SpaceToDepth").input(input).attr("block_size", block_size).output()
    }

    /// Adds a `SparseAccumulatorApplyGradient` node with inputs `handle: Ref(string)`, `local_step: int64`, `gradient_indices: int64`, `gradient_values: dtype`, `gradient_shape: int64`; attribute `has_known_shape: bool`.
    fn sparse_accumulator_apply_gradient(self, handle: impl Into<Input<'b>>, local_step: impl Into<Input<'b>>, gradient_indices: impl Into<Input<'b>>, gradient_values: impl Into<Input<'b>>, gradient_shape: impl Into<Input<'b>>, has_known_shape: bool) -> Result<NodeId> {
        self.op_node("SparseAccumulatorApplyGradient").input(handle).input(local_step).input(gradient_indices).input(gradient_values).input(gradient_shape).attr("has_known_shape", has_known_shape).finish()
    }

    /// Adds a `SparseAccumulatorTakeGradient` node with inputs `handle: Ref(string)`, `num_required: int32`; attribute `dtype: type`; outputs `indices: int64`, `values: dtype`, `shape: int64`.
    fn sparse_accumulator_take_gradient(self, handle: impl Into<Input<'b>>, num_required: impl Into<Input<'b>>, dtype: DType) -> Result<[Output<'b>; 3]> {
        self.op_node("SparseAccumulatorTakeGradient").input(handle).input(num_required).attr("dtype", dtype).outputs()
    }

    /// Adds a `SparseAdd` node with inputs `a_indices: int64`, `a_values: T`, `a_shape: int64`, `b_indices: int64`, `b_values: T`, `b_shape: int64`, `thresh: Treal`; outputs `sum_indices: int64`, `sum_values: T`, `sum_shape: int64`.
    fn sparse_add(self, a_indices: impl Into<Input<'b>>, a_values: impl Into<Input<'b>>, a_shape: impl Into<Input<'b>>, b_indices: impl Into<Input<'b>>, b_values: impl Into<Input<'b>>, b_shape: impl Into<Input<'b>>, thresh: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("SparseAdd").input(a_indices).input(a_values).input(a_shape).input(b_indices).input(b_values).input(b_shape).input(thresh).outputs()
    }

    /// Adds a `SparseAddGrad` node with inputs `backprop_val_grad: T`, `a_indices: int64`, `b_indices: int64`, `sum_indices: int64`; outputs `a_val_grad: T`, `b_val_grad: T`.
    fn sparse_add_grad(self, backprop_val_grad: impl Into<Input<'b>>, a_indices: impl Into<Input<'b>>, b_indices: impl Into<Input<'b>>, sum_indices: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("SparseAddGrad").input(backprop_val_grad).input(a_indices).input(b_indices).input(sum_indices).outputs()
    }

    /// Adds a `SparseApplyAdadelta` node with inputs `var: Ref(T)`, `accum: Ref(T)`, `accum_update: Ref(T)`, `lr: T`, `rho: T`, `epsilon: T`, `grad: T`, `indices: Tindices`; output `out: Ref(T)`. Optional: `use_locking: bool = false`.
    fn sparse_apply_adadelta(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, accum_update: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, rho: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseApplyAdadelta").input(var).input(accum).input(accum_update).input(lr).input(rho).input(epsilon).input(grad).input(indices).output()
    }

    /// Adds a `SparseApplyAdagrad` node with inputs `var: Ref(T)`, `accum: Ref(T)`, `lr: T`, `grad: T`, `indices: Tindices`; output `out: Ref(T)`. Optional: `use_locking: bool = false`, `update_slots: bool = true`.
    fn sparse_apply_adagrad(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseApplyAdagrad").input(var).input(accum).input(lr).input(grad).input(indices).output()
    }

    /// Adds a `SparseApplyAdagradDA` node with inputs `var: Ref(T)`, `gradient_accumulator: Ref(T)`, `gradient_squared_accumulator: Ref(T)`, `grad: T`, `indices: Tindices`, `lr: T`, `l1: T`, `l2: T`, `global_step: int64`; output `out: Ref(T)`. Optional: `use_locking: bool = false`.
    fn sparse_apply_adagrad_da(self, var: impl Into<Input<'b>>, gradient_accumulator: impl Into<Input<'b>>, gradient_squared_accumulator: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, global_step: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseApplyAdagradDA").input(var).input(gradient_accumulator).input(gradient_squared_accumulator).input(grad).input(indices).input(lr).input(l1).input(l2).input(global_step).output()
    }

    /// Adds a `SparseApplyAdagradV2` node with inputs `var: Ref(T)`, `accum: Ref(T)`, `lr: T`, `epsilon: T`, `grad: T`, `indices: Tindices`; output `out: Ref(T)`. Optional: `use_locking: bool = false`, `update_slots: bool = true`.
    fn sparse_apply_adagrad_v2(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseApplyAdagradV2").input(var).input(accum).input(lr).input(epsilon).input(grad).input(indices).output()
    }

    /// Adds a `SparseApplyCenteredRMSProp` node with inputs `var: Ref(T)`, `mg: Ref(T)`, `ms: Ref(T)`, `mom: Ref(T)`, `lr: T`, `rho: T`, `momentum: T`, `epsilon: T`, `grad: T`, `indices: Tindices`; output `out: Ref(T)`. Optional: `use_locking: bool = false`.
    fn sparse_apply_centered_rms_prop(self, var: impl Into<Input<'b>>, mg: impl Into<Input<'b>>, ms: impl Into<Input<'b>>, mom: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, rho: impl Into<Input<'b>>, momentum: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseApplyCenteredRMSProp").input(var).input(mg).input(ms).input(mom).input(lr).input(rho).input(momentum).input(epsilon).input(grad).input(indices).output()
    }

    /// Adds a `SparseApplyFtrl` node with inputs `var: Ref(T)`, `accum: Ref(T)`, `linear: Ref(T)`, `grad: T`, `indices: Tindices`, `lr: T`, `l1: T`, `l2: T`, `lr_power: T`; output `out: Ref(T)`. Optional: `use_locking: bool = false`, `multiply_linear_by_lr: bool = false`.
    fn sparse_apply_ftrl(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, linear: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, lr_power: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseApplyFtrl").input(var).input(accum).input(linear).input(grad).input(indices).input(lr).input(l1).input(l2).input(lr_power).output()
    }

    /// Adds a `SparseApplyFtrlV2` node with inputs `var: Ref(T)`, `accum: Ref(T)`, `linear: Ref(T)`, `grad: T`, `indices: Tindices`, `lr: T`, `l1: T`, `l2: T`, `l2_shrinkage: T`, `lr_power: T`; output `out: Ref(T)`. Optional: `use_locking: bool = false`, `multiply_linear_by_lr: bool = false`.
    fn sparse_apply_ftrl_v2(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, linear: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, l2_shrinkage: impl Into<Input<'b>>, lr_power: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseApplyFtrlV2").input(var).input(accum).input(linear).input(grad).input(indices).input(lr).input(l1).input(l2).input(l2_shrinkage).input(lr_power).output()
    }

    /// Adds a `SparseApplyMomentum` node with inputs `var: Ref(T)`, `accum: Ref(T)`, `lr: T`, `grad: T`, `indices: Tindices`, `momentum: T`; output `out: Ref(T)`. Optional: `use_locking: bool = false`, `use_nesterov: bool = false`.
    fn sparse_apply_momentum(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, momentum: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseApplyMomentum").input(var).input(accum).input(lr).input(grad).input(indices).input(momentum).output()
    }

    /// Adds a `SparseApplyProximalAdagrad` node with inputs `var: Ref(T)`, `accum: Ref(T)`, `lr: T`, `l1: T`, `l2: T`, `grad: T`, `indices: Tindices`; output `out: Ref(T)`. Optional: `use_locking: bool = false`.
    fn sparse_apply_proximal_adagrad(self, var: impl Into<Input<'b>>, accum: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseApplyProximalAdagrad").input(var).input(accum).input(lr).input(l1).input(l2).input(grad).input(indices).output()
    }

    /// Adds a `SparseApplyProximalGradientDescent` node with inputs `var: Ref(T)`, `alpha: T`, `l1: T`, `l2: T`, `grad: T`, `indices: Tindices`; output `out: Ref(T)`. Optional: `use_locking: bool = false`.
    fn sparse_apply_proximal_gradient_descent(self, var: impl Into<Input<'b>>, alpha: impl Into<Input<'b>>, l1: impl Into<Input<'b>>, l2: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseApplyProximalGradientDescent").input(var).input(alpha).input(l1).input(l2).input(grad).input(indices).output()
    }

    /// Adds a `SparseApplyRMSProp` node with inputs `var: Ref(T)`, `ms: Ref(T)`, `mom: Ref(T)`, `lr: T`, `rho: T`, `momentum: T`, `epsilon: T`, `grad: T`, `indices: Tindices`; output `out: Ref(T)`. Optional: `use_locking: bool = false`.
    fn sparse_apply_rms_prop(self, var: impl Into<Input<'b>>, ms: impl Into<Input<'b>>, mom: impl Into<Input<'b>>, lr: impl Into<Input<'b>>, rho: impl Into<Input<'b>>, momentum: impl Into<Input<'b>>, epsilon: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseApplyRMSProp").input(var).input(ms).input(mom).input(lr).input(rho).input(momentum).input(epsilon).input(grad).input(indices).output()
    }

    /// Adds a `SparseBincount` node with inputs `indices: int64`, `values: Tidx`, `dense_shape: int64`, `size: Tidx`, `weights: T`; output `output: T`. Optional: `binary_output: bool = false`.
    fn sparse_bincount(self, indices: impl Into<Input<'b>>, values: impl Into<Input<'b>>, dense_shape: impl Into<Input<'b>>, size: impl Into<Input<'b>>, weights: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseBincount").input(indices).input(values).input(dense_shape).input(size).input(weights).output()
    }

    /// Adds a `SparseConcat` node with inputs `indices: N * int64`, `values: N * T`, `shapes: N * int64`; attribute `concat_dim: int`; outputs `output_indices: int64`, `output_values: T`, `output_shape: int64`.
    fn sparse_concat(self, indices: &[Output<'b>], values: &[Output<'b>], shapes: &[Output<'b>], concat_dim: i64) -> Result<[Output<'b>; 3]> {
        self.op_node("SparseConcat").input_list(indices).input_list(values).input_list(shapes).attr("concat_dim", concat_dim).outputs()
    }

    /// Adds a `SparseConditionalAccumulator` node with attributes `dtype: type`, `shape: shape`; output `handle: Ref(string)`. Optional: `container: string = ""`, `shared_name: string = ""`, `reduction_type: string = "MEAN"`.
    fn sparse_conditional_accumulator(self, dtype: DType, shape: impl Into<PartialShape>) -> Result<Output<'b>> {
        self.op_node("SparseConditionalAccumulator").attr("dtype", dtype).attr("shape", shape.into()).output()
    }

    /// Adds a `SparseCountSparseOutput` node with inputs `indices: int64`, `values: T`, `dense_shape: int64`, `weights: output_type`; attribute `binary_output: bool`; outputs `output_indices: int64`, `output_values: output_type`, `output_dense_shape: int64`. Optional: `minlength: int = -1`, `maxlength: int = -1`.
    fn sparse_count_sparse_output(self, indices: impl Into<Input<'b>>, values: impl Into<Input<'b>>, dense_shape: impl Into<Input<'b>>, weights: impl Into<Input<'b>>, binary_output: bool) -> Result<[Output<'b>; 3]> {
        self.op_node("SparseCountSparseOutput").input(indices).input(values).input(dense_shape).input(weights).attr("binary_output", binary_output).outputs()
    }

    /// Adds a `SparseCross` node with inputs `indices: N * int64`, `values: sparse_types`, `shapes: N * int64`, `dense_inputs: dense_types`; attributes `hashed_output: bool`, `num_buckets: int`, `hash_key: int`, `out_type: type`, `internal_type: type`; outputs `output_indices: int64`, `output_values: out_type`, `output_shape: int64`.
    fn sparse_cross(self, indices: &[Output<'b>], values: &[Output<'b>], shapes: &[Output<'b>], dense_inputs: &[Output<'b>], hashed_output: bool, num_buckets: i64, hash_key: i64, out_type: DType, internal_type: DType) -> Result<[Output<'b>; 3]> {
        self.op_node("SparseCross").input_list(indices).input_list(values).input_list(shapes).input_list(dense_inputs).attr("hashed_output", hashed_output).attr("num_buckets", num_buckets).attr("hash_key", hash_key).attr("out_type", out_type).attr("internal_type", internal_type).outputs()
    }

    /// Adds a `SparseCrossHashed` node with inputs `indices: N * int64`, `values: sparse_types`, `shapes: N * int64`, `dense_inputs: dense_types`, `num_buckets: int64`, `strong_hash: bool`, `salt: int64`; outputs `output_indices: int64`, `output_values: int64`, `output_shape: int64`.
    fn sparse_cross_hashed(self, indices: &[Output<'b>], values: &[Output<'b>], shapes: &[Output<'b>], dense_inputs: &[Output<'b>], num_buckets: impl Into<Input<'b>>, strong_hash: impl Into<Input<'b>>, salt: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("SparseCrossHashed").input_list(indices).input_list(values).input_list(shapes).input_list(dense_inputs).input(num_buckets).input(strong_hash).input(salt).outputs()
    }

    /// Adds a `SparseCrossV2` node with inputs `indices: N * int64`, `values: sparse_types`, `shapes: N * int64`, `dense_inputs: dense_types`, `sep: string`; outputs `output_indices: int64`, `output_values: string`, `output_shape: int64`.
    fn sparse_cross_v2(self, indices: &[Output<'b>], values: &[Output<'b>], shapes: &[Output<'b>], dense_inputs: &[Output<'b>], sep: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("SparseCrossV2").input_list(indices).input_list(values).input_list(shapes).input_list(dense_inputs).input(sep).outputs()
    }

    /// Adds a `SparseDenseCwiseAdd` node with inputs `sp_indices: int64`, `sp_values: T`, `sp_shape: int64`, `dense: T`; output `output: T`.
    fn sparse_dense_cwise_add(self, sp_indices: impl Into<Input<'b>>, sp_values: impl Into<Input<'b>>, sp_shape: impl Into<Input<'b>>, dense: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseDenseCwiseAdd").input(sp_indices).input(sp_values).input(sp_shape).input(dense).output()
    }

    /// Adds a `SparseDenseCwiseDiv` node with inputs `sp_indices: int64`, `sp_values: T`, `sp_shape: int64`, `dense: T`; output `output: T`.
    fn sparse_dense_cwise_div(self, sp_indices: impl Into<Input<'b>>, sp_values: impl Into<Input<'b>>, sp_shape: impl Into<Input<'b>>, dense: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseDenseCwiseDiv").input(sp_indices).input(sp_values).input(sp_shape).input(dense).output()
    }

    /// Adds a `SparseDenseCwiseMul` node with inputs `sp_indices: int64`, `sp_values: T`, `sp_shape: int64`, `dense: T`; output `output: T`.
    fn sparse_dense_cwise_mul(self, sp_indices: impl Into<Input<'b>>, sp_values: impl Into<Input<'b>>, sp_shape: impl Into<Input<'b>>, dense: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseDenseCwiseMul").input(sp_indices).input(sp_values).input(sp_shape).input(dense).output()
    }

    /// Adds a `SparseFillEmptyRows` node with inputs `indices: int64`, `values: T`, `dense_shape: int64`, `default_value: T`; outputs `output_indices: int64`, `output_values: T`, `empty_row_indicator: bool`, `reverse_index_map: int64`.
    fn sparse_fill_empty_rows(self, indices: impl Into<Input<'b>>, values: impl Into<Input<'b>>, dense_shape: impl Into<Input<'b>>, default_value: impl Into<Input<'b>>) -> Result<[Output<'b>; 4]> {
        self.op_node("SparseFillEmptyRows").input(indices).input(values).input(dense_shape).input(default_value).outputs()
    }

    /// Adds a `SparseFillEmptyRowsGrad` node with inputs `reverse_index_map: int64`, `grad_values: T`; outputs `d_values: T`, `d_default_value: T`.
    fn sparse_fill_empty_rows_grad(self, reverse_index_map: impl Into<Input<'b>>, grad_values: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("SparseFillEmptyRowsGrad").input(reverse_index_map).input(grad_values).outputs()
    }

    /// Adds a `SparseMatMul` node with inputs `a: Ta`, `b: Tb`; output `product: float`. Optional: `transpose_a: bool = false`, `transpose_b: bool = false`, `a_is_sparse: bool = false`, `b_is_sparse: bool = false`.
    fn sparse_mat_mul(self, a: impl Into<Input<'b>>, b: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseMatMul").input(a).input(b).output()
    }

    /// Adds a `SparseReduceMax` node with inputs `input_indices: int64`, `input_values: T`, `input_shape: int64`, `reduction_axes: int32`; output `output: T`. Optional: `keep_dims: bool = false`.
    fn sparse_reduce_max(self, input_indices: impl Into<Input<'b>>, input_values: impl Into<Input<'b>>, input_shape: impl Into<Input<'b>>, reduction_axes: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseReduceMax").input(input_indices).input(input_values).input(input_shape).input(reduction_axes).output()
    }

    /// Adds a `SparseReduceMaxSparse` node with inputs `input_indices: int64`, `input_values: T`, `input_shape: int64`, `reduction_axes: int32`; outputs `output_indices: int64`, `output_values: T`, `output_shape: int64`. Optional: `keep_dims: bool = false`.
    fn sparse_reduce_max_sparse(self, input_indices: impl Into<Input<'b>>, input_values: impl Into<Input<'b>>, input_shape: impl Into<Input<'b>>, reduction_axes: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("SparseReduceMaxSparse").input(input_indices).input(input_values).input(input_shape).input(reduction_axes).outputs()
    }

    /// Adds a `SparseReduceSum` node with inputs `input_indices: int64`, `input_values: T`, `input_shape: int64`, `reduction_axes: int32`; output `output: T`. Optional: `keep_dims: bool = false`.
    fn sparse_reduce_sum(self, input_indices: impl Into<Input<'b>>, input_values: impl Into<Input<'b>>, input_shape: impl Into<Input<'b>>, reduction_axes: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseReduceSum").input(input_indices).input(input_values).input(input_shape).input(reduction_axes).output()
    }

    /// Adds a `SparseReduceSumSparse` node with inputs `input_indices: int64`, `input_values: T`, `input_shape: int64`, `reduction_axes: int32`; outputs `output_indices: int64`, `output_values: T`, `output_shape: int64`. Optional: `keep_dims: bool = false`.
    fn sparse_reduce_sum_sparse(self, input_indices: impl Into<Input<'b>>, input_values: impl Into<Input<'b>>, input_shape: impl Into<Input<'b>>, reduction_axes: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("SparseReduceSumSparse").input(input_indices).input(input_values).input(input_shape).input(reduction_axes).outputs()
    }

    /// Adds a `SparseReorder` node with inputs `input_indices: int64`, `input_values: T`, `input_shape: int64`; outputs `output_indices: int64`, `output_values: T`.
    fn sparse_reorder(self, input_indices: impl Into<Input<'b>>, input_values: impl Into<Input<'b>>, input_shape: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("SparseReorder").input(input_indices).input(input_values).input(input_shape).outputs()
    }

    /// Adds a `SparseReshape` node with inputs `input_indices: int64`, `input_shape: int64`, `new_shape: int64`; outputs `output_indices: int64`, `output_shape: int64`.
    fn sparse_reshape(self, input_indices: impl Into<Input<'b>>, input_shape: impl Into<Input<'b>>, new_shape: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("SparseReshape").input(input_indices).input(input_shape).input(new_shape).outputs()
    }

    /// Adds a `SparseSegmentMean` node with inputs `data: T`, `indices: Tidx`, `segment_ids: Tsegmentids`; output `output: T`. Optional: `sparse_gradient: bool = false`.
    fn sparse_segment_mean(self, data: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseSegmentMean").input(data).input(indices).input(segment_ids).output()
    }

    /// Adds a `SparseSegmentMeanGrad` node with inputs `grad: T`, `indices: Tidx`, `segment_ids: Tsegmentids`, `output_dim0: int32`; output `output: T`.
    fn sparse_segment_mean_grad(self, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>, output_dim0: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseSegmentMeanGrad").input(grad).input(indices).input(segment_ids).input(output_dim0).output()
    }

    /// Adds a `SparseSegmentMeanGradV2` node with inputs `grad: T`, `indices: Tidx`, `segment_ids: Tsegmentids`, `dense_output_dim0: int32`; outputs `output: T`, `sorted_unique_indices: Tidx`.
    fn sparse_segment_mean_grad_v2(self, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>, dense_output_dim0: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("SparseSegmentMeanGradV2").input(grad).input(indices).input(segment_ids).input(dense_output_dim0).outputs()
    }

    /// Adds a `SparseSegmentMeanWithNumSegments` node with inputs `data: T`, `indices: Tidx`, `segment_ids: Tsegmentids`, `num_segments: Tnumsegments`; output `output: T`. Optional: `sparse_gradient: bool = false`.
    fn sparse_segment_mean_with_num_segments(self, data: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>, num_segments: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseSegmentMeanWithNumSegments").input(data).input(indices).input(segment_ids).input(num_segments).output()
    }

    /// Adds a `SparseSegmentSqrtN` node with inputs `data: T`, `indices: Tidx`, `segment_ids: Tsegmentids`; output `output: T`. Optional: `sparse_gradient: bool = false`.
    fn sparse_segment_sqrt_n(self, data: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseSegmentSqrtN").input(data).input(indices).input(segment_ids).output()
    }

    /// Adds a `SparseSegmentSqrtNGrad` node with inputs `grad: T`, `indices: Tidx`, `segment_ids: Tsegmentids`, `output_dim0: int32`; output `output: T`.
    fn sparse_segment_sqrt_n_grad(self, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>, output_dim0: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseSegmentSqrtNGrad").input(grad).input(indices).input(segment_ids).input(output_dim0).output()
    }

    /// Adds a `SparseSegmentSqrtNGradV2` node with inputs `grad: T`, `indices: Tidx`, `segment_ids: Tsegmentids`, `dense_output_dim0: int32`; outputs `output: T`, `sorted_unique_indices: Tidx`.
    fn sparse_segment_sqrt_n_grad_v2(self, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>, dense_output_dim0: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("SparseSegmentSqrtNGradV2").input(grad).input(indices).input(segment_ids).input(dense_output_dim0).outputs()
    }

    /// Adds a `SparseSegmentSqrtNWithNumSegments` node with inputs `data: T`, `indices: Tidx`, `segment_ids: Tsegmentids`, `num_segments: Tnumsegments`; output `output: T`. Optional: `sparse_gradient: bool = false`.
    fn sparse_segment_sqrt_n_with_num_segments(self, data: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>, num_segments: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseSegmentSqrtNWithNumSegments").input(data).input(indices).input(segment_ids).input(num_segments).output()
    }

    /// Adds a `SparseSegmentSum` node with inputs `data: T`, `indices: Tidx`, `segment_ids: Tsegmentids`; output `output: T`. Optional: `sparse_gradient: bool = false`.
    fn sparse_segment_sum(self, data: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseSegmentSum").input(data).input(indices).input(segment_ids).output()
    }

    /// Adds a `SparseSegmentSumGrad` node with inputs `grad: T`, `indices: Tidx`, `segment_ids: Tsegmentids`, `output_dim0: int32`; output `output: T`.
    fn sparse_segment_sum_grad(self, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>, output_dim0: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseSegmentSumGrad").input(grad).input(indices).input(segment_ids).input(output_dim0).output()
    }

    /// Adds a `SparseSegmentSumGradV2` node with inputs `grad: T`, `indices: Tidx`, `segment_ids: Tsegmentids`, `dense_output_dim0: int32`; outputs `output: T`, `sorted_unique_indices: Tidx`.
    fn sparse_segment_sum_grad_v2(self, grad: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>, dense_output_dim0: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("SparseSegmentSumGradV2").input(grad).input(indices).input(segment_ids).input(dense_output_dim0).outputs()
    }

    /// Adds a `SparseSegmentSumWithNumSegments` node with inputs `data: T`, `indices: Tidx`, `segment_ids: Tsegmentids`, `num_segments: Tnumsegments`; output `output: T`. Optional: `sparse_gradient: bool = false`.
    fn sparse_segment_sum_with_num_segments(self, data: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>, num_segments: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseSegmentSumWithNumSegments").input(data).input(indices).input(segment_ids).input(num_segments).output()
    }

    /// Adds a `SparseSlice` node with inputs `indices: int64`, `values: T`, `shape: int64`, `start: int64`, `size: int64`; outputs `output_indices: int64`, `output_values: T`, `output_shape: int64`.
    fn sparse_slice(self, indices: impl Into<Input<'b>>, values: impl Into<Input<'b>>, shape: impl Into<Input<'b>>, start: impl Into<Input<'b>>, size: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("SparseSlice").input(indices).input(values).input(shape).input(start).input(size).outputs()
    }

    /// Adds a `SparseSliceGrad` node with inputs `backprop_val_grad: T`, `input_indices: int64`, `input_start: int64`, `output_indices: int64`; output `val_grad: T`.
    fn sparse_slice_grad(self, backprop_val_grad: impl Into<Input<'b>>, input_indices: impl Into<Input<'b>>, input_start: impl Into<Input<'b>>, output_indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseSliceGrad").input(backprop_val_grad).input(input_indices).input(input_start).input(output_indices).output()
    }

    /// Adds a `SparseSoftmax` node with inputs `sp_indices: int64`, `sp_values: T`, `sp_shape: int64`; output `output: T`.
    fn sparse_softmax(self, sp_indices: impl Into<Input<'b>>, sp_values: impl Into<Input<'b>>, sp_shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseSoftmax").input(sp_indices).input(sp_values).input(sp_shape).output()
    }

    /// Adds a `SparseSoftmaxCrossEntropyWithLogits` node with inputs `features: T`, `labels: Tlabels`; outputs `loss: T`, `backprop: T`.
    fn sparse_softmax_cross_entropy_with_logits(self, features: impl Into<Input<'b>>, labels: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("SparseSoftmaxCrossEntropyWithLogits").input(features).input(labels).outputs()
    }

    /// Adds a `SparseSparseMaximum` node with inputs `a_indices: int64`, `a_values: T`, `a_shape: int64`, `b_indices: int64`, `b_values: T`, `b_shape: int64`; outputs `output_indices: int64`, `output_values: T`.
    fn sparse_sparse_maximum(self, a_indices: impl Into<Input<'b>>, a_values: impl Into<Input<'b>>, a_shape: impl Into<Input<'b>>, b_indices: impl Into<Input<'b>>, b_values: impl Into<Input<'b>>, b_shape: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("SparseSparseMaximum").input(a_indices).input(a_values).input(a_shape).input(b_indices).input(b_values).input(b_shape).outputs()
    }

    /// Adds a `SparseSparseMinimum` node with inputs `a_indices: int64`, `a_values: T`, `a_shape: int64`, `b_indices: int64`, `b_values: T`, `b_shape: int64`; outputs `output_indices: int64`, `output_values: T`.
    fn sparse_sparse_minimum(self, a_indices: impl Into<Input<'b>>, a_values: impl Into<Input<'b>>, a_shape: impl Into<Input<'b>>, b_indices: impl Into<Input<'b>>, b_values: impl Into<Input<'b>>, b_shape: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("SparseSparseMinimum").input(a_indices).input(a_values).input(a_shape).input(b_indices).input(b_values).input(b_shape).outputs()
    }

    /// Adds a `SparseSplit` node with inputs `split_dim: int64`, `indices: int64`, `values: T`, `shape: int64`; attribute `num_split: int`; outputs `output_indices: num_split * int64`, `output_values: num_split * T`, `output_shape: num_split * int64`.
    fn sparse_split(self, split_dim: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, values: impl Into<Input<'b>>, shape: impl Into<Input<'b>>, num_split: i64) -> Result<[Vec<Output<'b>>; 3]> {
        self.op_node("SparseSplit").input(split_dim).input(indices).input(values).input(shape).attr("num_split", num_split).output_lists()
    }

    /// Adds a `SparseTensorDenseAdd` node with inputs `a_indices: Tindices`, `a_values: T`, `a_shape: Tindices`, `b: T`; output `output: T`.
    fn sparse_tensor_dense_add(self, a_indices: impl Into<Input<'b>>, a_values: impl Into<Input<'b>>, a_shape: impl Into<Input<'b>>, b: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseTensorDenseAdd").input(a_indices).input(a_values).input(a_shape).input(b).output()
    }

    /// Adds a `SparseTensorDenseMatMul` node with inputs `a_indices: Tindices`, `a_values: T`, `a_shape: int64`, `b: T`; output `product: T`. Optional: `adjoint_a: bool = false`, `adjoint_b: bool = false`.
    fn sparse_tensor_dense_mat_mul(self, a_indices: impl Into<Input<'b>>, a_values: impl Into<Input<'b>>, a_shape: impl Into<Input<'b>>, b: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseTensorDenseMatMul").input(a_indices).input(a_values).input(a_shape).input(b).output()
    }

    /// Adds a `SparseTensorSliceDataset` node with inputs `indices: int64`, `values: Tvalues`, `dense_shape: int64`; output `handle: variant`.
    fn sparse_tensor_slice_dataset(self, indices: impl Into<Input<'b>>, values: impl Into<Input<'b>>, dense_shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseTensorSliceDataset").input(indices).input(values).input(dense_shape).output()
    }

    /// Adds a `SparseToDense` node with inputs `sparse_indices: Tindices`, `output_shape: Tindices`, `sparse_values: T`, `default_value: T`; output `dense: T`. Optional: `validate_indices: bool = true`.
    fn sparse_to_dense(self, sparse_indices: impl Into<Input<'b>>, output_shape: impl Into<Input<'b>>, sparse_values: impl Into<Input<'b>>, default_value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SparseToDense").input(sparse_indices).input(output_shape).input(sparse_values).input(default_value).output()
    }

    /// Adds a `SparseToSparseSetOperation` node with inputs `set1_indices: int64`, `set1_values: T`, `set1_shape: int64`, `set2_indices: int64`, `set2_values: T`, `set2_shape: int64`; attribute `set_operation: string`; outputs `result_indices: int64`, `result_values: T`, `result_shape: int64`. Optional: `validate_indices: bool = true`.
    fn sparse_to_sparse_set_operation(self, set1_indices: impl Into<Input<'b>>, set1_values: impl Into<Input<'b>>, set1_shape: impl Into<Input<'b>>, set2_indices: impl Into<Input<'b>>, set2_values: impl Into<Input<'b>>, set2_shape: impl Into<Input<'b>>, set_operation: &str) -> Result<[Output<'b>; 3]> {
        self.op_node("SparseToSparseSetOperation").input(set1_indices).input(set1_values).input(set1_shape).input(set2_indices).input(set2_values).input(set2_shape).attr("set_operation", set_operation).outputs()
    }

    /// Adds a `Spence` node with input `x: T`; output `y: T`.
    fn spence(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Spence").input(x).output()
    }

    /// Adds a `Split` node with inputs `split_dim: int32`, `value: T`; attribute `num_split: int`; output `output: num_split * T`.
    fn split(self, split_dim: impl Into<Input<'b>>, value: impl Into<Input<'b>>, num_split: i64) -> Result<Vec<Output<'b>>> {
        self.op_node("Split").input(split_dim).input(value).attr("num_split", num_split).output_lists().map(|[list]| list)
    }

    /// Adds a `SplitV` node with inputs `value: T`, `size_splits: Tlen`, `split_dim: int32`; attribute `num_split: int`; output `output: num_split * T`.
    fn split_v(self, value: impl Into<Input<'b>>, size_splits: impl Into<Input<'b>>, split_dim: impl Into<Input<'b>>, num_split: i64) -> Result<Vec<Output<'b>>> {
        self.op_node("SplitV").input(value).input(size_splits).input(split_dim).attr("num_split", num_split).output_lists().map(|[list]| list)
    }

    /// Adds a `Sqrt` node with input `x: T`; output `y: T`.
    fn sqrt(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Sqrt").input(x).output()
    }

    /// Adds a `SqrtGrad` node with inputs `y: T`, `dy: T`; output `z: T`.
    fn sqrt_grad(self, y: impl Into<Input<'b>>, dy: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SqrtGrad").input(y).input(dy).output()
    }

    /// Adds a `Square` node with input `x: T`; output `y: T`.
    fn square(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Square").input(x).output()
    }

    /// Adds a `SquaredDifference` node with inputs `x: T`, `y: T`; output `z: T`.
    fn squared_difference(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("SquaredDifference").input(x).input(y).output()
    }

    /// Adds a `Squeeze` node with input `input: T`; output `output: T`. Optional: `squeeze_dims: list(int) = []`.
    fn squeeze(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Squeeze").input(input).output()
    }

    /// Adds a `Stack` node with attribute `elem_type: type`; output `handle: Ref(string)`. Optional: `stack_name: string = ""`.
    fn stack(self, elem_type: DType) -> Result<Output<'b>> {
        self.op_node("Stack").attr("elem_type", elem_type).output()
    }

    /// Adds a `StackClose` node with input `handle: Ref(string)`.
    fn stack_close(self, handle: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("StackClose").input(handle).finish()
    }

    /// Adds a `StackCloseV2` node with input `handle: resource`.
    fn stack_close_v2(self, handle: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("StackCloseV2").input(handle).finish()
    }

    /// Adds a `StackPop` node with input `handle: Ref(string)`; attribute `elem_type: type`; output `elem: elem_type`.
    fn stack_pop(self, handle: impl Into<Input<'b>>, elem_type: DType) -> Result<Output<'b>> {
        self.op_node("StackPop").input(handle).attr("elem_type", elem_type).output()
    }

    /// Adds a `StackPopV2` node with input `handle: resource`; attribute `elem_type: type`; output `elem: elem_type`.
    fn stack_pop_v2(self, handle: impl Into<Input<'b>>, elem_type: DType) -> Result<Output<'b>> {
        self.op_node("StackPopV2").input(handle).attr("elem_type", elem_type).output()
    }

    /// Adds a `StackPush` node with inputs `handle: Ref(string)`, `elem: T`; output `output: T`. Optional: `swap_memory: bool = false`.
    fn stack_push(self, handle: impl Into<Input<'b>>, elem: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StackPush").input(handle).input(elem).output()
    }

    /// Adds a `StackPushV2` node with inputs `handle: resource`, `elem: T`; output `output: T`. Optional: `swap_memory: bool = false`.
    fn stack_push_v2(self, handle: impl Into<Input<'b>>, elem: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StackPushV2").input(handle).input(elem).output()
    }

    /// Adds a `StackV2` node with input `max_size: int32`; attribute `elem_type: type`; output `handle: resource`. Optional: `stack_name: string = ""`.
    fn stack_v2(self, max_size: impl Into<Input<'b>>, elem_type: DType) -> Result<Output<'b>> {
        self.op_node("StackV2").input(max_size).attr("elem_type", elem_type).output()
    }

    /// Adds a `Stage` node with input `values: dtypes`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn stage(self, values: &[Output<'b>]) -> Result<NodeId> {
        self.op_node("Stage").input_list(values).finish()
    }

    /// Adds a `StageClear` node with attribute `dtypes: list(type)`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn stage_clear(self, dtypes: &[DType]) -> Result<NodeId> {
        self.op_node("StageClear").attr("dtypes", dtypes).finish()
    }

    /// Adds a `StagePeek` node with input `index: int32`; attribute `dtypes: list(type)`; output `values: dtypes`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn stage_peek(self, index: impl Into<Input<'b>>, dtypes: &[DType]) -> Result<Vec<Output<'b>>> {
        self.op_node("StagePeek").input(index).attr("dtypes", dtypes).output_lists().map(|[list]| list)
    }

    /// Adds a `StageSize` node with attribute `dtypes: list(type)`; output `size: int32`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn stage_size(self, dtypes: &[DType]) -> Result<Output<'b>> {
        self.op_node("StageSize").attr("dtypes", dtypes).output()
    }

    /// Adds a `StatefulPartitionedCall` node with input `args: Tin`; attributes `Tout: list(type)`, `f: func`; output `output: Tout`. Optional: `config: string = ""`, `config_proto: string = ""`, `executor_type: string = ""`.
    fn stateful_partitioned_call(self, args: &[Output<'b>], tout: &[DType], f: &NameAttrList) -> Result<Vec<Output<'b>>> {
        self.op_node("StatefulPartitionedCall").input_list(args).attr("Tout", tout).attr("f", f).output_lists().map(|[list]| list)
    }

    /// Adds a `StatefulRandomBinomial` node with inputs `resource: resource`, `algorithm: int64`, `shape: S`, `counts: T`, `probs: T`; output `output: dtype`. Optional: `dtype: type = i64`.
    fn stateful_random_binomial(self, resource: impl Into<Input<'b>>, algorithm: impl Into<Input<'b>>, shape: impl Into<Input<'b>>, counts: impl Into<Input<'b>>, probs: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatefulRandomBinomial").input(resource).input(algorithm).input(shape).input(counts).input(probs).output()
    }

    /// Adds a `StatefulStandardNormal` node with inputs `resource: resource`, `shape: shape_dtype`; output `output: dtype`. Optional: `dtype: type = f32`.
    fn stateful_standard_normal(self, resource: impl Into<Input<'b>>, shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatefulStandardNormal").input(resource).input(shape).output()
    }

    /// Adds a `StatefulStandardNormalV2` node with inputs `resource: resource`, `algorithm: int64`, `shape: shape_dtype`; output `output: dtype`. Optional: `dtype: type = f32`.
    fn stateful_standard_normal_v2(self, resource: impl Into<Input<'b>>, algorithm: impl Into<Input<'b>>, shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatefulStandardNormalV2").input(resource).input(algorithm).input(shape).output()
    }

    /// Adds a `StatefulTruncatedNormal` node with inputs `resource: resource`, `algorithm: int64`, `shape: shape_dtype`; output `output: dtype`. Optional: `dtype: type = f32`.
    fn stateful_truncated_normal(self, resource: impl Into<Input<'b>>, algorithm: impl Into<Input<'b>>, shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatefulTruncatedNormal").input(resource).input(algorithm).input(shape).output()
    }

    /// Adds a `StatefulUniform` node with inputs `resource: resource`, `algorithm: int64`, `shape: shape_dtype`; output `output: dtype`. Optional: `dtype: type = f32`.
    fn stateful_uniform(self, resource: impl Into<Input<'b>>, algorithm: impl Into<Input<'b>>, shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatefulUniform").input(resource).input(algorithm).input(shape).output()
    }

    /// Adds a `StatefulUniformFullInt` node with inputs `resource: resource`, `algorithm: int64`, `shape: shape_dtype`; output `output: dtype`. Optional: `dtype: type = u64`.
    fn stateful_uniform_full_int(self, resource: impl Into<Input<'b>>, algorithm: impl Into<Input<'b>>, shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatefulUniformFullInt").input(resource).input(algorithm).input(shape).output()
    }

    /// Adds a `StatefulUniformInt` node with inputs `resource: resource`, `algorithm: int64`, `shape: shape_dtype`, `minval: dtype`, `maxval: dtype`; output `output: dtype`.
    fn stateful_uniform_int(self, resource: impl Into<Input<'b>>, algorithm: impl Into<Input<'b>>, shape: impl Into<Input<'b>>, minval: impl Into<Input<'b>>, maxval: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatefulUniformInt").input(resource).input(algorithm).input(shape).input(minval).input(maxval).output()
    }

    /// Adds a `StatelessCase` node with inputs `branch_index: int32`, `input: Tin`; attributes `Tout: list(type)`, `branches: list(func)`; output `output: Tout`. Optional: `output_shapes: list(shape) = []`.
    fn stateless_case(self, branch_index: impl Into<Input<'b>>, input: &[Output<'b>], tout: &[DType], branches: &[NameAttrList]) -> Result<Vec<Output<'b>>> {
        self.op_node("StatelessCase").input(branch_index).input_list(input).attr("Tout", tout).attr("branches", branches).output_lists().map(|[list]| list)
    }

    /// Adds a `StatelessIf` node with inputs `cond: Tcond`, `input: Tin`; attributes `Tout: list(type)`, `then_branch: func`, `else_branch: func`; output `output: Tout`. Optional: `output_shapes: list(shape) = []`.
    fn stateless_if(self, cond: impl Into<Input<'b>>, input: &[Output<'b>], tout: &[DType], then_branch: &NameAttrList, else_branch: &NameAttrList) -> Result<Vec<Output<'b>>> {
        self.op_node("StatelessIf").input(cond).input_list(input).attr("Tout", tout).attr("then_branch", then_branch).attr("else_branch", else_branch).output_lists().map(|[list]| list)
    }

    /// Adds a `StatelessMultinomial` node with inputs `logits: T`, `num_samples: int32`, `seed: Tseed`; output `output: output_dtype`. Optional: `output_dtype: type = i64`.
    fn stateless_multinomial(self, logits: impl Into<Input<'b>>, num_samples: impl Into<Input<'b>>, seed: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatelessMultinomial").input(logits).input(num_samples).input(seed).output()
    }

    /// Adds a `StatelessParameterizedTruncatedNormal` node with inputs `shape: S`, `seed: Tseed`, `means: dtype`, `stddevs: dtype`, `minvals: dtype`, `maxvals: dtype`; output `output: dtype`.
    fn stateless_parameterized_truncated_normal(self, shape: impl Into<Input<'b>>, seed: impl Into<Input<'b>>, means: impl Into<Input<'b>>, stddevs: impl Into<Input<'b>>, minvals: impl Into<Input<'b>>, maxvals: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatelessParameterizedTruncatedNormal").input(shape).input(seed).input(means).input(stddevs).input(minvals).input(maxvals).output()
    }

    /// Adds a `StatelessRandomBinomial` node with inputs `shape: S`, `seed: Tseed`, `counts: T`, `probs: T`; output `output: dtype`. Optional: `dtype: type = i64`.
    fn stateless_random_binomial(self, shape: impl Into<Input<'b>>, seed: impl Into<Input<'b>>, counts: impl Into<Input<'b>>, probs: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatelessRandomBinomial").input(shape).input(seed).input(counts).input(probs).output()
    }

    /// Adds a `StatelessRandomGammaV2` node with inputs `shape: T`, `seed: Tseed`, `alpha: dtype`; output `output: dtype`.
    fn stateless_random_gamma_v2(self, shape: impl Into<Input<'b>>, seed: impl Into<Input<'b>>, alpha: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatelessRandomGammaV2").input(shape).input(seed).input(alpha).output()
    }

    /// Adds a `StatelessRandomGammaV3` node with inputs `shape: shape_dtype`, `key: uint64`, `counter: uint64`, `alg: int32`, `alpha: dtype`; output `output: dtype`.
    fn stateless_random_gamma_v3(self, shape: impl Into<Input<'b>>, key: impl Into<Input<'b>>, counter: impl Into<Input<'b>>, alg: impl Into<Input<'b>>, alpha: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatelessRandomGammaV3").input(shape).input(key).input(counter).input(alg).input(alpha).output()
    }

    /// Adds a `StatelessRandomGetAlg` node with output `alg: int32`.
    fn stateless_random_get_alg(self) -> Result<Output<'b>> {
        self.op_node("StatelessRandomGetAlg").output()
    }

    /// Adds a `StatelessRandomGetKeyCounter` node with input `seed: Tseed`; outputs `key: uint64`, `counter: uint64`.
    fn stateless_random_get_key_counter(self, seed: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("StatelessRandomGetKeyCounter").input(seed).outputs()
    }

    /// Adds a `StatelessRandomGetKeyCounterAlg` node with input `seed: Tseed`; outputs `key: uint64`, `counter: uint64`, `alg: int32`.
    fn stateless_random_get_key_counter_alg(self, seed: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("StatelessRandomGetKeyCounterAlg").input(seed).outputs()
    }

    /// Adds a `StatelessRandomNormal` node with inputs `shape: T`, `seed: Tseed`; output `output: dtype`. Optional: `dtype: type = f32`.
    fn stateless_random_normal(self, shape: impl Into<Input<'b>>, seed: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatelessRandomNormal").input(shape).input(seed).output()
    }

    /// Adds a `StatelessRandomNormalV2` node with inputs `shape: Tshape`, `key: uint64`, `counter: uint64`, `alg: int32`; output `output: dtype`. Optional: `dtype: type = f32`.
    fn stateless_random_normal_v2(self, shape: impl Into<Input<'b>>, key: impl Into<Input<'b>>, counter: impl Into<Input<'b>>, alg: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatelessRandomNormalV2").input(shape).input(key).input(counter).input(alg).output()
    }

    /// Adds a `StatelessRandomPoisson` node with inputs `shape: T`, `seed: Tseed`, `lam: Rtype`; attribute `dtype: type`; output `output: dtype`.
    fn stateless_random_poisson(self, shape: impl Into<Input<'b>>, seed: impl Into<Input<'b>>, lam: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("StatelessRandomPoisson").input(shape).input(seed).input(lam).attr("dtype", dtype).output()
    }

    /// Adds a `StatelessRandomUniform` node with inputs `shape: T`, `seed: Tseed`; output `output: dtype`. Optional: `dtype: type = f32`.
    fn stateless_random_uniform(self, shape: impl Into<Input<'b>>, seed: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatelessRandomUniform").input(shape).input(seed).output()
    }

    /// Adds a `StatelessRandomUniformFullInt` node with inputs `shape: T`, `seed: Tseed`; output `output: dtype`. Optional: `dtype: type = u64`.
    fn stateless_random_uniform_full_int(self, shape: impl Into<Input<'b>>, seed: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatelessRandomUniformFullInt").input(shape).input(seed).output()
    }

    /// Adds a `StatelessRandomUniformFullIntV2` node with inputs `shape: Tshape`, `key: uint64`, `counter: uint64`, `alg: int32`; output `output: dtype`. Optional: `dtype: type = u64`.
    fn stateless_random_uniform_full_int_v2(self, shape: impl Into<Input<'b>>, key: impl Into<Input<'b>>, counter: impl Into<Input<'b>>, alg: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatelessRandomUniformFullIntV2").input(shape).input(key).input(counter).input(alg).output()
    }

    /// Adds a `StatelessRandomUniformInt` node with inputs `shape: T`, `seed: Tseed`, `minval: dtype`, `maxval: dtype`; output `output: dtype`.
    fn stateless_random_uniform_int(self, shape: impl Into<Input<'b>>, seed: impl Into<Input<'b>>, minval: impl Into<Input<'b>>, maxval: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatelessRandomUniformInt").input(shape).input(seed).input(minval).input(maxval).output()
    }

    /// Adds a `StatelessRandomUniformIntV2` node with inputs `shape: Tshape`, `key: uint64`, `counter: uint64`, `alg: int32`, `minval: dtype`, `maxval: dtype`; output `output: dtype`.
    fn stateless_random_uniform_int_v2(self, shape: impl Into<Input<'b>>, key: impl Into<Input<'b>>, counter: impl Into<Input<'b>>, alg: impl Into<Input<'b>>, minval: impl Into<Input<'b>>, maxval: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatelessRandomUniformIntV2").input(shape).input(key).input(counter).input(alg).input(minval).input(maxval).output()
    }

    /// Adds a `StatelessRandomUniformV2` node with inputs `shape: Tshape`, `key: uint64`, `counter: uint64`, `alg: int32`; output `output: dtype`. Optional: `dtype: type = f32`.
    fn stateless_random_uniform_v2(self, shape: impl Into<Input<'b>>, key: impl Into<Input<'b>>, counter: impl Into<Input<'b>>, alg: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatelessRandomUniformV2").input(shape).input(key).input(counter).input(alg).output()
    }

    /// Adds a `StatelessSampleDistortedBoundingBox` node with inputs `image_size: T`, `bounding_boxes: float`, `min_object_covered: float`, `seed: Tseed`; outputs `begin: T`, `size: T`, `bboxes: float`. Optional: `aspect_ratio_range: list(float) = [0.75,1.33]`, `area_range: list(float) = [0.05,1.0]`, `max_attempts: int = 100`, `use_image_if_no_bounding_boxes: bool = false`.
    fn stateless_sample_distorted_bounding_box(self, image_size: impl Into<Input<'b>>, bounding_boxes: impl Into<Input<'b>>, min_object_covered: impl Into<Input<'b>>, seed: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("StatelessSampleDistortedBoundingBox").input(image_size).input(bounding_boxes).input(min_object_covered).input(seed).outputs()
    }

    /// Adds a `StatelessShuffle` node with inputs `value: T`, `key: uint64`, `counter: uint64`, `alg: int32`; output `output: T`.
    fn stateless_shuffle(self, value: impl Into<Input<'b>>, key: impl Into<Input<'b>>, counter: impl Into<Input<'b>>, alg: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatelessShuffle").input(value).input(key).input(counter).input(alg).output()
    }

    /// Adds a `StatelessTruncatedNormal` node with inputs `shape: T`, `seed: Tseed`; output `output: dtype`. Optional: `dtype: type = f32`.
    fn stateless_truncated_normal(self, shape: impl Into<Input<'b>>, seed: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatelessTruncatedNormal").input(shape).input(seed).output()
    }

    /// Adds a `StatelessTruncatedNormalV2` node with inputs `shape: Tshape`, `key: uint64`, `counter: uint64`, `alg: int32`; output `output: dtype`. Optional: `dtype: type = f32`.
    fn stateless_truncated_normal_v2(self, shape: impl Into<Input<'b>>, key: impl Into<Input<'b>>, counter: impl Into<Input<'b>>, alg: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatelessTruncatedNormalV2").input(shape).input(key).input(counter).input(alg).output()
    }

    /// Adds a `StatelessWhile` node with input `input: T`; attributes `cond: func`, `body: func`; output `output: T`. Optional: `output_shapes: list(shape) = []`, `parallel_iterations: int = 10`.
    fn stateless_while(self, input: &[Output<'b>], cond: &NameAttrList, body: &NameAttrList) -> Result<Vec<Output<'b>>> {
        self.op_node("StatelessWhile").input_list(input).attr("cond", cond).attr("body", body).output_lists().map(|[list]| list)
    }

    /// Adds a `StaticRegexFullMatch` node with input `input: string`; attribute `pattern: string`; output `output: bool`.
    fn static_regex_full_match(self, input: impl Into<Input<'b>>, pattern: &str) -> Result<Output<'b>> {
        self.op_node("StaticRegexFullMatch").input(input).attr("pattern", pattern).output()
    }

    /// Adds a `StaticRegexReplace` node with input `input: string`; attributes `pattern: string`, `rewrite: string`; output `output: string`. Optional: `replace_global: bool = true`.
    fn static_regex_replace(self, input: impl Into<Input<'b>>, pattern: &str, rewrite: &str) -> Result<Output<'b>> {
        self.op_node("StaticRegexReplace").input(input).attr("pattern", pattern).attr("rewrite", rewrite).output()
    }

    /// Adds a `StatsAggregatorHandle` node with output `handle: resource`. Optional: `container: string = ""`, `shared_name: string = ""`.
    fn stats_aggregator_handle(self) -> Result<Output<'b>> {
        self.op_node("StatsAggregatorHandle").output()
    }

    /// Adds a `StatsAggregatorHandleV2` node with output `handle: resource`. Optional: `container: string = ""`, `shared_name: string = ""`.
    fn stats_aggregator_handle_v2(self) -> Result<Output<'b>> {
        self.op_node("StatsAggregatorHandleV2").output()
    }

    /// Adds a `StatsAggregatorSummary` node with input `iterator: resource`; output `summary: string`.
    fn stats_aggregator_summary(self, iterator: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StatsAggregatorSummary").input(iterator).output()
    }

    /// Adds a `StopGradient` node with input `input: T`; output `output: T`.
    fn stop_gradient(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StopGradient").input(input).output()
    }

    /// Adds a `StridedSlice` node with inputs `input: T`, `begin: Index`, `end: Index`, `strides: Index`; output `output: T`. Optional: `begin_mask: int = 0`, `end_mask: int = 0`, `ellipsis_mask: int = 0`, `new_axis_mask: int = 0`, `shrink_axis_mask: int = 0`.
    fn strided_slice(self, input: impl Into<Input<'b>>, begin: impl Into<Input<'b>>, end: impl Into<Input<'b>>, strides: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StridedSlice").input(input).input(begin).input(end).input(strides).output()
    }

    /// Adds a `StridedSliceAssign` node with inputs `ref: Ref(T)`, `begin: Index`, `end: Index`, `strides: Index`, `value: T`; output `output_ref: Ref(T)`. Optional: `begin_mask: int = 0`, `end_mask: int = 0`, `ellipsis_mask: int = 0`, `new_axis_mask: int = 0`, `shrink_axis_mask: int = 0`.
    fn strided_slice_assign(self, ref_: impl Into<Input<'b>>, begin: impl Into<Input<'b>>, end: impl Into<Input<'b>>, strides: impl Into<Input<'b>>, value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StridedSliceAssign").input(ref_).input(begin).input(end).input(strides).input(value).output()
    }

    /// Adds a `StridedSliceGrad` node with inputs `shape: Index`, `begin: Index`, `end: Index`, `strides: Index`, `dy: T`; output `output: T`. Optional: `begin_mask: int = 0`, `end_mask: int = 0`, `ellipsis_mask: int = 0`, `new_axis_mask: int = 0`, `shrink_axis_mask: int = 0`.
    fn strided_slice_grad(self, shape: impl Into<Input<'b>>, begin: impl Into<Input<'b>>, end: impl Into<Input<'b>>, strides: impl Into<Input<'b>>, dy: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StridedSliceGrad").input(shape).input(begin).input(end).input(strides).input(dy).output()
    }

    /// Adds a `StringFormat` node with input `inputs: T`; output `output: string`. Optional: `template: string = "%s"`, `placeholder: string = "%s"`, `summarize: int = 3`.
    fn string_format(self, inputs: &[Output<'b>]) -> Result<Output<'b>> {
        self.op_node("StringFormat").input_list(inputs).output()
    }

    /// Adds a `StringJoin` node with input `inputs: N * string`; output `output: string`. Optional: `separator: string = ""`.
    fn string_join(self, inputs: &[Output<'b>]) -> Result<Output<'b>> {
        self.op_node("StringJoin").input_list(inputs).output()
    }

    /// Adds a `StringLength` node with input `input: string`; output `output: int32`. Optional: `unit: string = "BYTE"`.
    fn string_length(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StringLength").input(input).output()
    }

    /// Adds a `StringLower` node with input `input: string`; output `output: string`. Optional: `encoding: string = ""`.
    fn string_lower(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StringLower").input(input).output()
    }

    /// Adds a `StringNGrams` node with inputs `data: string`, `data_splits: Tsplits`; attributes `separator: string`, `ngram_widths: list(int)`, `left_pad: string`, `right_pad: string`, `pad_width: int`, `preserve_short_sequences: bool`; outputs `ngrams: string`, `ngrams_splits: Tsplits`.
    fn string_n_grams(self, data: impl Into<Input<'b>>, data_splits: impl Into<Input<'b>>, separator: &str, ngram_widths: &[i64], left_pad: &str, right_pad: &str, pad_width: i64, preserve_short_sequences: bool) -> Result<[Output<'b>; 2]> {
        self.op_node("StringNGrams").input(data).input(data_splits).attr("separator", separator).attr("ngram_widths", ngram_widths).attr("left_pad", left_pad).attr("right_pad", right_pad).attr("pad_width", pad_width).attr("preserve_short_sequences", preserve_short_sequences).outputs()
    }

    /// Adds a `StringSplit` node with inputs `input: string`, `delimiter: string`; outputs `indices: int64`, `values: string`, `shape: int64`. Optional: `skip_empty: bool = true`.
    fn string_split(self, input: impl Into<Input<'b>>, delimiter: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("StringSplit").input(input).input(delimiter).outputs()
    }

    /// Adds a `StringSplitV2` node with inputs `input: string`, `sep: string`; outputs `indices: int64`, `values: string`, `shape: int64`. Optional: `maxsplit: int = -1`.
    fn string_split_v2(self, input: impl Into<Input<'b>>, sep: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("StringSplitV2").input(input).input(sep).outputs()
    }

    /// Adds a `StringStrip` node with input `input: string`; output `output: string`.
    fn string_strip(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StringStrip").input(input).output()
    }

    /// Adds a `StringToHashBucket` node with input `string_tensor: string`; attribute `num_buckets: int`; output `output: int64`.
    fn string_to_hash_bucket(self, string_tensor: impl Into<Input<'b>>, num_buckets: i64) -> Result<Output<'b>> {
        self.op_node("StringToHashBucket").input(string_tensor).attr("num_buckets", num_buckets).output()
    }

    /// Adds a `StringToHashBucketFast` node with input `input: string`; attribute `num_buckets: int`; output `output: int64`.
    fn string_to_hash_bucket_fast(self, input: impl Into<Input<'b>>, num_buckets: i64) -> Result<Output<'b>> {
        self.op_node("StringToHashBucketFast").input(input).attr("num_buckets", num_buckets).output()
    }

    /// Adds a `StringToHashBucketStrong` node with input `input: string`; attributes `num_buckets: int`, `key: list(int)`; output `output: int64`.
    fn string_to_hash_bucket_strong(self, input: impl Into<Input<'b>>, num_buckets: i64, key: &[i64]) -> Result<Output<'b>> {
        self.op_node("StringToHashBucketStrong").input(input).attr("num_buckets", num_buckets).attr("key", key).output()
    }

    /// Adds a `StringToNumber` node with input `string_tensor: string`; output `output: out_type`. Optional: `out_type: type = f32`.
    fn string_to_number(self, string_tensor: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StringToNumber").input(string_tensor).output()
    }

    /// Adds a `StringUpper` node with input `input: string`; output `output: string`. Optional: `encoding: string = ""`.
    fn string_upper(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("StringUpper").input(input).output()
    }

    /// Adds a `Sub` node with inputs `x: T`, `y: T`; output `z: T`.
    fn sub(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Sub").input(x).input(y).output()
    }

    /// Adds a `Substr` node with inputs `input: string`, `pos: T`, `len: T`; output `output: string`. Optional: `unit: string = "BYTE"`.
    fn substr(self, input: impl Into<Input<'b>>, pos: impl Into<Input<'b>>, len: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Substr").input(input).input(pos).input(len).output()
    }

    /// Adds a `Sum` node with inputs `input: T`, `reduction_indices: Tidx`; output `output: T`. Optional: `keep_dims: bool = false`.
    fn sum(self, input: impl Into<Input<'b>>, reduction_indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Sum").input(input).input(reduction_indices).output()
    }

    /// Adds a `Svd` node with input `input: T`; outputs `s: T`, `u: T`, `v: T`. Optional: `compute_uv: bool = true`, `full_matrices: bool = false`.
    fn svd(self, input: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("Svd").input(input).outputs()
    }

    /// Adds a `Switch` node with inputs `data: T`, `pred: bool`; outputs `output_false: T`, `output_true: T`.
    fn switch(self, data: impl Into<Input<'b>>, pred: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("Switch").input(data).input(pred).outputs()
    }

    /// Adds a `SymbolicGradient` node with input `input: Tin`; attributes `Tout: list(type)`, `f: func`; output `output: Tout`.
    fn symbolic_gradient(self, input: &[Output<'b>], tout: &[DType], f: &NameAttrList) -> Result<Vec<Output<'b>>> {
        self.op_node("SymbolicGradient").input_list(input).attr("Tout", tout).attr("f", f).output_lists().map(|[list]| list)
    }

    /// Adds a `TakeDataset` node with inputs `input_dataset: variant`, `count: int64`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn take_dataset(self, input_dataset: impl Into<Input<'b>>, count: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("TakeDataset").input(input_dataset).input(count).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `TakeManySparseFromTensorsMap` node with input `sparse_handles: int64`; attribute `dtype: type`; outputs `sparse_indices: int64`, `sparse_values: dtype`, `sparse_shape: int64`. Optional: `container: string = ""`, `shared_name: string = ""`.
    fn take_many_sparse_from_tensors_map(self, sparse_handles: impl Into<Input<'b>>, dtype: DType) -> Result<[Output<'b>; 3]> {
        self.op_node("TakeManySparseFromTensorsMap").input(sparse_handles).attr("dtype", dtype).outputs()
    }

    /// Adds a `TakeWhileDataset` node with inputs `input_dataset: variant`, `other_arguments: Targuments`; attributes `predicate: func`, `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn take_while_dataset(self, input_dataset: impl Into<Input<'b>>, other_arguments: &[Output<'b>], predicate: &NameAttrList, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("TakeWhileDataset").input(input_dataset).input_list(other_arguments).attr("predicate", predicate).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `Tan` node with input `x: T`; output `y: T`.
    fn tan(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Tan").input(x).output()
    }

    /// Adds a `Tanh` node with input `x: T`; output `y: T`.
    fn tanh(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Tanh").input(x).output()
    }

    /// Adds a `TanhGrad` node with inputs `y: T`, `dy: T`; output `z: T`.
    fn tanh_grad(self, y: impl Into<Input<'b>>, dy: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TanhGrad").input(y).input(dy).output()
    }

    /// Adds a `TemporaryVariable` node with attributes `shape: shape`, `dtype: type`; output `ref: Ref(dtype)`. Optional: `var_name: string = ""`.
    fn temporary_variable(self, shape: impl Into<PartialShape>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("TemporaryVariable").attr("shape", shape.into()).attr("dtype", dtype).output()
    }

    /// Adds a `TensorArray` node with input `size: int32`; attribute `dtype: type`; output `handle: Ref(string)`. Optional: `dynamic_size: bool = false`, `clear_after_read: bool = true`, `tensor_array_name: string = ""`, `element_shape: shape = ?`.
    fn tensor_array(self, size: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("TensorArray").input(size).attr("dtype", dtype).output()
    }

    /// Adds a `TensorArrayClose` node with input `handle: Ref(string)`.
    fn tensor_array_close(self, handle: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("TensorArrayClose").input(handle).finish()
    }

    /// Adds a `TensorArrayCloseV2` node with input `handle: string`.
    fn tensor_array_close_v2(self, handle: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("TensorArrayCloseV2").input(handle).finish()
    }

    /// Adds a `TensorArrayCloseV3` node with input `handle: resource`.
    fn tensor_array_close_v3(self, handle: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("TensorArrayCloseV3").input(handle).finish()
    }

    /// Adds a `TensorArrayConcat` node with inputs `handle: Ref(string)`, `flow_in: float`; attribute `dtype: type`; outputs `value: dtype`, `lengths: int64`. Optional: `element_shape_except0: shape = ?`.
    fn tensor_array_concat(self, handle: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>, dtype: DType) -> Result<[Output<'b>; 2]> {
        self.op_node("TensorArrayConcat").input(handle).input(flow_in).attr("dtype", dtype).outputs()
    }

    /// Adds a `TensorArrayConcatV2` node with inputs `handle: string`, `flow_in: float`; attribute `dtype: type`; outputs `value: dtype`, `lengths: int64`. Optional: `element_shape_except0: shape = ?`.
    fn tensor_array_concat_v2(self, handle: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>, dtype: DType) -> Result<[Output<'b>; 2]> {
        self.op_node("TensorArrayConcatV2").input(handle).input(flow_in).attr("dtype", dtype).outputs()
    }

    /// Adds a `TensorArrayConcatV3` node with inputs `handle: resource`, `flow_in: float`; attribute `dtype: type`; outputs `value: dtype`, `lengths: int64`. Optional: `element_shape_except0: shape = ?`.
    fn tensor_array_concat_v3(self, handle: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>, dtype: DType) -> Result<[Output<'b>; 2]> {
        self.op_node("TensorArrayConcatV3").input(handle).input(flow_in).attr("dtype", dtype).outputs()
    }

    /// Adds a `TensorArrayGather` node with inputs `handle: Ref(string)`, `indices: int32`, `flow_in: float`; attribute `dtype: type`; output `value: dtype`. Optional: `element_shape: shape = ?`.
    fn tensor_array_gather(self, handle: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("TensorArrayGather").input(handle).input(indices).input(flow_in).attr("dtype", dtype).output()
    }

    /// Adds a `TensorArrayGatherV2` node with inputs `handle: string`, `indices: int32`, `flow_in: float`; attribute `dtype: type`; output `value: dtype`. Optional: `element_shape: shape = ?`.
    fn tensor_array_gather_v2(self, handle: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("TensorArrayGatherV2").input(handle).input(indices).input(flow_in).attr("dtype", dtype).output()
    }

    /// Adds a `TensorArrayGatherV3` node with inputs `handle: resource`, `indices: int32`, `flow_in: float`; attribute `dtype: type`; output `value: dtype`. Optional: `element_shape: shape = ?`.
    fn tensor_array_gather_v3(self, handle: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("TensorArrayGatherV3").input(handle).input(indices).input(flow_in).attr("dtype", dtype).output()
    }

    /// Adds a `TensorArrayGrad` node with inputs `handle: string`, `flow_in: float`; attribute `source: string`; output `grad_handle: Ref(string)`.
    fn tensor_array_grad(self, handle: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>, source: &str) -> Result<Output<'b>> {
        self.op_node("TensorArrayGrad").input(handle).input(flow_in).attr("source", source).output()
    }

    /// Adds a `TensorArrayGradV2` node with inputs `handle: string`, `flow_in: float`; attribute `source: string`; output `grad_handle: string`.
    fn tensor_array_grad_v2(self, handle: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>, source: &str) -> Result<Output<'b>> {
        self.op_node("TensorArrayGradV2").input(handle).input(flow_in).attr("source", source).output()
    }

    /// Adds a `TensorArrayGradV3` node with inputs `handle: resource`, `flow_in: float`; attribute `source: string`; outputs `grad_handle: resource`, `flow_out: float`.
    fn tensor_array_grad_v3(self, handle: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>, source: &str) -> Result<[Output<'b>; 2]> {
        self.op_node("TensorArrayGradV3").input(handle).input(flow_in).attr("source", source).outputs()
    }

    /// Adds a `TensorArrayGradWithShape` node with inputs `handle: resource`, `flow_in: float`, `shape_to_prepend: int32`; attribute `source: string`; outputs `grad_handle: resource`, `flow_out: float`.
    fn tensor_array_grad_with_shape(self, handle: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>, shape_to_prepend: impl Into<Input<'b>>, source: &str) -> Result<[Output<'b>; 2]> {
        self.op_node("TensorArrayGradWithShape").input(handle).input(flow_in).input(shape_to_prepend).attr("source", source).outputs()
    }

    /// Adds a `TensorArrayPack` node with inputs `handle: Ref(string)`, `flow_in: float`; attribute `dtype: type`; output `value: dtype`. Optional: `element_shape: shape = ?`.
    fn tensor_array_pack(self, handle: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("TensorArrayPack").input(handle).input(flow_in).attr("dtype", dtype).output()
    }

    /// Adds a `TensorArrayRead` node with inputs `handle: Ref(string)`, `index: int32`, `flow_in: float`; attribute `dtype: type`; output `value: dtype`.
    fn tensor_array_read(self, handle: impl Into<Input<'b>>, index: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("TensorArrayRead").input(handle).input(index).input(flow_in).attr("dtype", dtype).output()
    }

    /// Adds a `TensorArrayReadV2` node with inputs `handle: string`, `index: int32`, `flow_in: float`; attribute `dtype: type`; output `value: dtype`.
    fn tensor_array_read_v2(self, handle: impl Into<Input<'b>>, index: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("TensorArrayReadV2").input(handle).input(index).input(flow_in).attr("dtype", dtype).output()
    }

    /// Adds a `TensorArrayReadV3` node with inputs `handle: resource`, `index: int32`, `flow_in: float`; attribute `dtype: type`; output `value: dtype`.
    fn tensor_array_read_v3(self, handle: impl Into<Input<'b>>, index: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("TensorArrayReadV3").input(handle).input(index).input(flow_in).attr("dtype", dtype).output()
    }

    /// Adds a `TensorArrayScatter` node with inputs `handle: Ref(string)`, `indices: int32`, `value: T`, `flow_in: float`; output `flow_out: float`.
    fn tensor_array_scatter(self, handle: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, value: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorArrayScatter").input(handle).input(indices).input(value).input(flow_in).output()
    }

    /// Adds a `TensorArrayScatterV2` node with inputs `handle: string`, `indices: int32`, `value: T`, `flow_in: float`; output `flow_out: float`.
    fn tensor_array_scatter_v2(self, handle: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, value: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorArrayScatterV2").input(handle).input(indices).input(value).input(flow_in).output()
    }

    /// Adds a `TensorArrayScatterV3` node with inputs `handle: resource`, `indices: int32`, `value: T`, `flow_in: float`; output `flow_out: float`.
    fn tensor_array_scatter_v3(self, handle: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, value: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorArrayScatterV3").input(handle).input(indices).input(value).input(flow_in).output()
    }

    /// Adds a `TensorArraySize` node with inputs `handle: Ref(string)`, `flow_in: float`; output `size: int32`.
    fn tensor_array_size(self, handle: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorArraySize").input(handle).input(flow_in).output()
    }

    /// Adds a `TensorArraySizeV2` node with inputs `handle: string`, `flow_in: float`; output `size: int32`.
    fn tensor_array_size_v2(self, handle: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorArraySizeV2").input(handle).input(flow_in).output()
    }

    /// Adds a `TensorArraySizeV3` node with inputs `handle: resource`, `flow_in: float`; output `size: int32`.
    fn tensor_array_size_v3(self, handle: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorArraySizeV3").input(handle).input(flow_in).output()
    }

    /// Adds a `TensorArraySplit` node with inputs `handle: Ref(string)`, `value: T`, `lengths: int64`, `flow_in: float`; output `flow_out: float`.
    fn tensor_array_split(self, handle: impl Into<Input<'b>>, value: impl Into<Input<'b>>, lengths: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorArraySplit").input(handle).input(value).input(lengths).input(flow_in).output()
    }

    /// Adds a `TensorArraySplitV2` node with inputs `handle: string`, `value: T`, `lengths: int64`, `flow_in: float`; output `flow_out: float`.
    fn tensor_array_split_v2(self, handle: impl Into<Input<'b>>, value: impl Into<Input<'b>>, lengths: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorArraySplitV2").input(handle).input(value).input(lengths).input(flow_in).output()
    }

    /// Adds a `TensorArraySplitV3` node with inputs `handle: resource`, `value: T`, `lengths: int64`, `flow_in: float`; output `flow_out: float`.
    fn tensor_array_split_v3(self, handle: impl Into<Input<'b>>, value: impl Into<Input<'b>>, lengths: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorArraySplitV3").input(handle).input(value).input(lengths).input(flow_in).output()
    }

    /// Adds a `TensorArrayUnpack` node with inputs `handle: Ref(string)`, `value: T`, `flow_in: float`; output `flow_out: float`.
    fn tensor_array_unpack(self, handle: impl Into<Input<'b>>, value: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorArrayUnpack").input(handle).input(value).input(flow_in).output()
    }

    /// Adds a `TensorArrayV2` node with input `size: int32`; attribute `dtype: type`; output `handle: string`. Optional: `element_shape: shape = ?`, `dynamic_size: bool = false`, `clear_after_read: bool = true`, `tensor_array_name: string = ""`.
    fn tensor_array_v2(self, size: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("TensorArrayV2").input(size).attr("dtype", dtype).output()
    }

    /// Adds a `TensorArrayV3` node with input `size: int32`; attribute `dtype: type`; outputs `handle: resource`, `flow: float`. Optional: `element_shape: shape = ?`, `dynamic_size: bool = false`, `clear_after_read: bool = true`, `identical_element_shapes: bool = false`, `tensor_array_name: string = ""`.
    fn tensor_array_v3(self, size: impl Into<Input<'b>>, dtype: DType) -> Result<[Output<'b>; 2]> {
        self.op_node("TensorArrayV3").input(size).attr("dtype", dtype).outputs()
    }

    /// Adds a `TensorArrayWrite` node with inputs `handle: Ref(string)`, `index: int32`, `value: T`, `flow_in: float`; output `flow_out: float`.
    fn tensor_array_write(self, handle: impl Into<Input<'b>>, index: impl Into<Input<'b>>, value: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorArrayWrite").input(handle).input(index).input(value).input(flow_in).output()
    }

    /// Adds a `TensorArrayWriteV2` node with inputs `handle: string`, `index: int32`, `value: T`, `flow_in: float`; output `flow_out: float`.
    fn tensor_array_write_v2(self, handle: impl Into<Input<'b>>, index: impl Into<Input<'b>>, value: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorArrayWriteV2").input(handle).input(index).input(value).input(flow_in).output()
    }

    /// Adds a `TensorArrayWriteV3` node with inputs `handle: resource`, `index: int32`, `value: T`, `flow_in: float`; output `flow_out: float`.
    fn tensor_array_write_v3(self, handle: impl Into<Input<'b>>, index: impl Into<Input<'b>>, value: impl Into<Input<'b>>, flow_in: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorArrayWriteV3").input(handle).input(index).input(value).input(flow_in).output()
    }

    /// Adds a `TensorDataset` node with input `components: Toutput_types`; attribute `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn tensor_dataset(self, components: &[Output<'b>], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("TensorDataset").input_list(components).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `TensorListConcat` node with input `input_handle: variant`; attribute `element_dtype: type`; outputs `tensor: element_dtype`, `lengths: int64`. Optional: `element_shape: shape = ?`.
    fn tensor_list_concat(self, input_handle: impl Into<Input<'b>>, element_dtype: DType) -> Result<[Output<'b>; 2]> {
        self.op_node("TensorListConcat").input(input_handle).attr("element_dtype", element_dtype).outputs()
    }

    /// Adds a `TensorListConcatLists` node with inputs `input_a: variant`, `input_b: variant`; attribute `element_dtype: type`; output `output: variant`.
    fn tensor_list_concat_lists(self, input_a: impl Into<Input<'b>>, input_b: impl Into<Input<'b>>, element_dtype: DType) -> Result<Output<'b>> {
        self.op_node("TensorListConcatLists").input(input_a).input(input_b).attr("element_dtype", element_dtype).output()
    }

    /// Adds a `TensorListConcatV2` node with inputs `input_handle: variant`, `element_shape: shape_type`, `leading_dims: int64`; attribute `element_dtype: type`; outputs `tensor: element_dtype`, `lengths: int64`.
    fn tensor_list_concat_v2(self, input_handle: impl Into<Input<'b>>, element_shape: impl Into<Input<'b>>, leading_dims: impl Into<Input<'b>>, element_dtype: DType) -> Result<[Output<'b>; 2]> {
        self.op_node("TensorListConcatV2").input(input_handle).input(element_shape).input(leading_dims).attr("element_dtype", element_dtype).outputs()
    }

    /// Adds a `TensorListElementShape` node with input `input_handle: variant`; attribute `shape_type: type`; output `element_shape: shape_type`.
    fn tensor_list_element_shape(self, input_handle: impl Into<Input<'b>>, shape_type: DType) -> Result<Output<'b>> {
        self.op_node("TensorListElementShape").input(input_handle).attr("shape_type", shape_type).output()
    }

    /// Adds a `TensorListFromTensor` node with inputs `tensor: element_dtype`, `element_shape: shape_type`; output `output_handle: variant`.
    fn tensor_list_from_tensor(self, tensor: impl Into<Input<'b>>, element_shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorListFromTensor").input(tensor).input(element_shape).output()
    }

    /// Adds a `TensorListGather` node with inputs `input_handle: variant`, `indices: int32`, `element_shape: int32`; attribute `element_dtype: type`; output `values: element_dtype`.
    fn tensor_list_gather(self, input_handle: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, element_shape: impl Into<Input<'b>>, element_dtype: DType) -> Result<Output<'b>> {
        self.op_node("TensorListGather").input(input_handle).input(indices).input(element_shape).attr("element_dtype", element_dtype).output()
    }

    /// Adds a `TensorListGetItem` node with inputs `input_handle: variant`, `index: int32`, `element_shape: Tshape`; attribute `element_dtype: type`; output `item: element_dtype`.
    fn tensor_list_get_item(self, input_handle: impl Into<Input<'b>>, index: impl Into<Input<'b>>, element_shape: impl Into<Input<'b>>, element_dtype: DType) -> Result<Output<'b>> {
        self.op_node("TensorListGetItem").input(input_handle).input(index).input(element_shape).attr("element_dtype", element_dtype).output()
    }

    /// Adds a `TensorListLength` node with input `input_handle: variant`; output `length: int32`.
    fn tensor_list_length(self, input_handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorListLength").input(input_handle).output()
    }

    /// Adds a `TensorListPopBack` node with inputs `input_handle: variant`, `element_shape: int32`; attribute `element_dtype: type`; outputs `output_handle: variant`, `tensor: element_dtype`.
    fn tensor_list_pop_back(self, input_handle: impl Into<Input<'b>>, element_shape: impl Into<Input<'b>>, element_dtype: DType) -> Result<[Output<'b>; 2]> {
        self.op_node("TensorListPopBack").input(input_handle).input(element_shape).attr("element_dtype", element_dtype).outputs()
    }

    /// Adds a `TensorListPushBack` node with inputs `input_handle: variant`, `tensor: element_dtype`; output `output_handle: variant`.
    fn tensor_list_push_back(self, input_handle: impl Into<Input<'b>>, tensor: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorListPushBack").input(input_handle).input(tensor).output()
    }

    /// Adds a `TensorListPushBackBatch` node with inputs `input_handles: variant`, `tensor: element_dtype`; output `output_handles: variant`.
    fn tensor_list_push_back_batch(self, input_handles: impl Into<Input<'b>>, tensor: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorListPushBackBatch").input(input_handles).input(tensor).output()
    }

    /// Adds a `TensorListReserve` node with inputs `element_shape: shape_type`, `num_elements: int32`; attribute `element_dtype: type`; output `handle: variant`.
    fn tensor_list_reserve(self, element_shape: impl Into<Input<'b>>, num_elements: impl Into<Input<'b>>, element_dtype: DType) -> Result<Output<'b>> {
        self.op_node("TensorListReserve").input(element_shape).input(num_elements).attr("element_dtype", element_dtype).output()
    }

    /// Adds a `TensorListResize` node with inputs `input_handle: variant`, `size: int32`; output `output_handle: variant`.
    fn tensor_list_resize(self, input_handle: impl Into<Input<'b>>, size: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorListResize").input(input_handle).input(size).output()
    }

    /// Adds a `TensorListScatter` node with inputs `tensor: element_dtype`, `indices: int32`, `element_shape: shape_type`; output `output_handle: variant`.
    fn tensor_list_scatter(self, tensor: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, element_shape: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorListScatter").input(tensor).input(indices).input(element_shape).output()
    }

    /// Adds a `TensorListScatterIntoExistingList` node with inputs `input_handle: variant`, `tensor: element_dtype`, `indices: int32`; output `output_handle: variant`.
    fn tensor_list_scatter_into_existing_list(self, input_handle: impl Into<Input<'b>>, tensor: impl Into<Input<'b>>, indices: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorListScatterIntoExistingList").input(input_handle).input(tensor).input(indices).output()
    }

    /// Adds a `TensorListScatterV2` node with inputs `tensor: element_dtype`, `indices: int32`, `element_shape: shape_type`, `num_elements: int32`; output `output_handle: variant`.
    fn tensor_list_scatter_v2(self, tensor: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, element_shape: impl Into<Input<'b>>, num_elements: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorListScatterV2").input(tensor).input(indices).input(element_shape).input(num_elements).output()
    }

    /// Adds a `TensorListSetItem` node with inputs `input_handle: variant`, `index: int32`, `item: element_dtype`; output `output_handle: variant`. Optional: `resize_if_index_out_of_bounds: bool = false`.
    fn tensor_list_set_item(self, input_handle: impl Into<Input<'b>>, index: impl Into<Input<'b>>, item: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorListSetItem").input(input_handle).input(index).input(item).output()
    }

    /// Adds a `TensorListSplit` node with inputs `tensor: element_dtype`, `element_shape: shape_type`, `lengths: int64`; output `output_handle: variant`.
    fn tensor_list_split(self, tensor: impl Into<Input<'b>>, element_shape: impl Into<Input<'b>>, lengths: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorListSplit").input(tensor).input(element_shape).input(lengths).output()
    }

    /// Adds a `TensorListStack` node with inputs `input_handle: variant`, `element_shape: int32`; attribute `element_dtype: type`; output `tensor: element_dtype`. Optional: `num_elements: int = -1`.
    fn tensor_list_stack(self, input_handle: impl Into<Input<'b>>, element_shape: impl Into<Input<'b>>, element_dtype: DType) -> Result<Output<'b>> {
        self.op_node("TensorListStack").input(input_handle).input(element_shape).attr("element_dtype", element_dtype).output()
    }

    /// Adds a `TensorMapErase` node with inputs `input_handle: variant`, `key: key_dtype`; attribute `value_dtype: type`; output `output_handle: variant`.
    fn tensor_map_erase(self, input_handle: impl Into<Input<'b>>, key: impl Into<Input<'b>>, value_dtype: DType) -> Result<Output<'b>> {
        self.op_node("TensorMapErase").input(input_handle).input(key).attr("value_dtype", value_dtype).output()
    }

    /// Adds a `TensorMapHasKey` node with inputs `input_handle: variant`, `key: key_dtype`; output `has_key: bool`.
    fn tensor_map_has_key(self, input_handle: impl Into<Input<'b>>, key: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorMapHasKey").input(input_handle).input(key).output()
    }

    /// Adds a `TensorMapInsert` node with inputs `input_handle: variant`, `key: key_dtype`, `value: value_dtype`; output `output_handle: variant`.
    fn tensor_map_insert(self, input_handle: impl Into<Input<'b>>, key: impl Into<Input<'b>>, value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorMapInsert").input(input_handle).input(key).input(value).output()
    }

    /// Adds a `TensorMapLookup` node with inputs `input_handle: variant`, `key: key_dtype`; attribute `value_dtype: type`; output `value: value_dtype`.
    fn tensor_map_lookup(self, input_handle: impl Into<Input<'b>>, key: impl Into<Input<'b>>, value_dtype: DType) -> Result<Output<'b>> {
        self.op_node("TensorMapLookup").input(input_handle).input(key).attr("value_dtype", value_dtype).output()
    }

    /// Adds a `TensorMapSize` node with input `input_handle: variant`; output `size: int32`.
    fn tensor_map_size(self, input_handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorMapSize").input(input_handle).output()
    }

    /// Adds a `TensorMapStackKeys` node with input `input_handle: variant`; attribute `key_dtype: type`; output `keys: key_dtype`.
    fn tensor_map_stack_keys(self, input_handle: impl Into<Input<'b>>, key_dtype: DType) -> Result<Output<'b>> {
        self.op_node("TensorMapStackKeys").input(input_handle).attr("key_dtype", key_dtype).output()
    }

    /// Adds a `TensorScatterAdd` node with inputs `tensor: T`, `indices: Tindices`, `updates: T`; output `output: T`. Optional: `bad_indices_policy: string = ""`.
    fn tensor_scatter_add(self, tensor: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorScatterAdd").input(tensor).input(indices).input(updates).output()
    }

    /// Adds a `TensorScatterMax` node with inputs `tensor: T`, `indices: Tindices`, `updates: T`; output `output: T`. Optional: `bad_indices_policy: string = ""`.
    fn tensor_scatter_max(self, tensor: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorScatterMax").input(tensor).input(indices).input(updates).output()
    }

    /// Adds a `TensorScatterMin` node with inputs `tensor: T`, `indices: Tindices`, `updates: T`; output `output: T`. Optional: `bad_indices_policy: string = ""`.
    fn tensor_scatter_min(self, tensor: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorScatterMin").input(tensor).input(indices).input(updates).output()
    }

    /// Adds a `TensorScatterSub` node with inputs `tensor: T`, `indices: Tindices`, `updates: T`; output `output: T`. Optional: `bad_indices_policy: string = ""`.
    fn tensor_scatter_sub(self, tensor: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorScatterSub").input(tensor).input(indices).input(updates).output()
    }

    /// Adds a `TensorScatterUpdate` node with inputs `tensor: T`, `indices: Tindices`, `updates: T`; output `output: T`. Optional: `bad_indices_policy: string = ""`.
    fn tensor_scatter_update(self, tensor: impl Into<Input<'b>>, indices: impl Into<Input<'b>>, updates: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorScatterUpdate").input(tensor).input(indices).input(updates).output()
    }

    /// Adds a `TensorSliceDataset` node with input `components: Toutput_types`; attribute `output_shapes: list(shape)`; output `handle: variant`. Optional: `is_files: bool = false`, `metadata: string = ""`, `replicate_on_split: bool = false`.
    fn tensor_slice_dataset(self, components: &[Output<'b>], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("TensorSliceDataset").input_list(components).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `TensorStridedSliceUpdate` node with inputs `input: T`, `begin: Index`, `end: Index`, `strides: Index`, `value: T`; output `output: T`. Optional: `begin_mask: int = 0`, `end_mask: int = 0`, `ellipsis_mask: int = 0`, `new_axis_mask: int = 0`, `shrink_axis_mask: int = 0`.
    fn tensor_strided_slice_update(self, input: impl Into<Input<'b>>, begin: impl Into<Input<'b>>, end: impl Into<Input<'b>>, strides: impl Into<Input<'b>>, value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorStridedSliceUpdate").input(input).input(begin).input(end).input(strides).input(value).output()
    }

    /// Adds a `TensorSummary` node with input `tensor: T`; output `summary: string`. Optional: `description: string = ""`, `labels: list(string) = []`, `display_name: string = ""`.
    fn tensor_summary(self, tensor: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorSummary").input(tensor).output()
    }

    /// Adds a `TensorSummaryV2` node with inputs `tag: string`, `tensor: T`, `serialized_summary_metadata: string`; output `summary: string`.
    fn tensor_summary_v2(self, tag: impl Into<Input<'b>>, tensor: impl Into<Input<'b>>, serialized_summary_metadata: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TensorSummaryV2").input(tag).input(tensor).input(serialized_summary_metadata).output()
    }

    /// Adds a `TextLineDataset` node with inputs `filenames: string`, `compression_type: string`, `buffer_size: int64`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn text_line_dataset(self, filenames: impl Into<Input<'b>>, compression_type: impl Into<Input<'b>>, buffer_size: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TextLineDataset").input(filenames).input(compression_type).input(buffer_size).output()
    }

    /// Adds a `TextLineReader` node with output `reader_handle: Ref(string)`. Optional: `skip_header_lines: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn text_line_reader(self) -> Result<Output<'b>> {
        self.op_node("TextLineReader").output()
    }

    /// Adds a `TextLineReaderV2` node with output `reader_handle: resource`. Optional: `skip_header_lines: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn text_line_reader_v2(self) -> Result<Output<'b>> {
        self.op_node("TextLineReaderV2").output()
    }

    /// Adds a `TFRecordDataset` node with inputs `filenames: string`, `compression_type: string`, `buffer_size: int64`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn tf_record_dataset(self, filenames: impl Into<Input<'b>>, compression_type: impl Into<Input<'b>>, buffer_size: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TFRecordDataset").input(filenames).input(compression_type).input(buffer_size).output()
    }

    /// Adds a `TFRecordDatasetV2` node with inputs `filenames: string`, `compression_type: string`, `buffer_size: int64`, `byte_offsets: int64`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn tf_record_dataset_v2(self, filenames: impl Into<Input<'b>>, compression_type: impl Into<Input<'b>>, buffer_size: impl Into<Input<'b>>, byte_offsets: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TFRecordDatasetV2").input(filenames).input(compression_type).input(buffer_size).input(byte_offsets).output()
    }

    /// Adds a `TFRecordReader` node with output `reader_handle: Ref(string)`. Optional: `container: string = ""`, `shared_name: string = ""`, `compression_type: string = ""`.
    fn tf_record_reader(self) -> Result<Output<'b>> {
        self.op_node("TFRecordReader").output()
    }

    /// Adds a `TFRecordReaderV2` node with output `reader_handle: resource`. Optional: `container: string = ""`, `shared_name: string = ""`, `compression_type: string = ""`.
    fn tf_record_reader_v2(self) -> Result<Output<'b>> {
        self.op_node("TFRecordReaderV2").output()
    }

    /// Adds a `ThreadPoolDataset` node with inputs `input_dataset: variant`, `thread_pool: resource`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`.
    fn thread_pool_dataset(self, input_dataset: impl Into<Input<'b>>, thread_pool: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ThreadPoolDataset").input(input_dataset).input(thread_pool).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `ThreadPoolHandle` node with attributes `num_threads: int`, `display_name: string`; output `handle: resource`. Optional: `max_intra_op_parallelism: int = 1`, `container: string = ""`, `shared_name: string = ""`.
    fn thread_pool_handle(self, num_threads: i64, display_name: &str) -> Result<Output<'b>> {
        self.op_node("ThreadPoolHandle").attr("num_threads", num_threads).attr("display_name", display_name).output()
    }

    /// Adds a `ThreadUnsafeUnigramCandidateSampler` node with input `true_classes: int64`; attributes `num_true: int`, `num_sampled: int`, `unique: bool`, `range_max: int`; outputs `sampled_candidates: int64`, `true_expected_count: float`, `sampled_expected_count: float`. Optional: `seed: int = 0`, `seed2: int = 0`.
    fn thread_unsafe_unigram_candidate_sampler(self, true_classes: impl Into<Input<'b>>, num_true: i64, num_sampled: i64, unique: bool, range_max: i64) -> Result<[Output<'b>; 3]> {
        self.op_node("ThreadUnsafeUnigramCandidateSampler").input(true_classes).attr("num_true", num_true).attr("num_sampled", num_sampled).attr("unique", unique).attr("range_max", range_max).outputs()
    }

    /// Adds a `Tile` node with inputs `input: T`, `multiples: Tmultiples`; output `output: T`.
    fn tile(self, input: impl Into<Input<'b>>, multiples: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Tile").input(input).input(multiples).output()
    }

    /// Adds a `TileGrad` node with inputs `input: T`, `multiples: int32`; output `output: T`.
    fn tile_grad(self, input: impl Into<Input<'b>>, multiples: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TileGrad").input(input).input(multiples).output()
    }

    /// Adds a `Timestamp` node with output `ts: double`.
    fn timestamp(self) -> Result<Output<'b>> {
        self.op_node("Timestamp").output()
    }

    /// Adds a `ToBool` node with input `input: T`; output `output: bool`.
    fn to_bool(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ToBool").input(input).output()
    }

    /// Adds a `TopK` node with input `input: T`; attribute `k: int`; outputs `values: T`, `indices: int32`. Optional: `sorted: bool = true`.
    fn top_k(self, input: impl Into<Input<'b>>, k: i64) -> Result<[Output<'b>; 2]> {
        self.op_node("TopK").input(input).attr("k", k).outputs()
    }

    /// Adds a `TopKV2` node with inputs `input: T`, `k: Tk`; outputs `values: T`, `indices: index_type`. Optional: `sorted: bool = true`, `index_type: type = i32`.
    fn top_k_v2(self, input: impl Into<Input<'b>>, k: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("TopKV2").input(input).input(k).outputs()
    }

    /// Adds a `Transpose` node with inputs `x: T`, `perm: Tperm`; output `y: T`.
    fn transpose(self, x: impl Into<Input<'b>>, perm: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Transpose").input(x).input(perm).output()
    }

    /// Adds a `TridiagonalMatMul` node with inputs `superdiag: T`, `maindiag: T`, `subdiag: T`, `rhs: T`; output `output: T`.
    fn tridiagonal_mat_mul(self, superdiag: impl Into<Input<'b>>, maindiag: impl Into<Input<'b>>, subdiag: impl Into<Input<'b>>, rhs: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TridiagonalMatMul").input(superdiag).input(maindiag).input(subdiag).input(rhs).output()
    }

    /// Adds a `TridiagonalSolve` node with inputs `diagonals: T`, `rhs: T`; output `output: T`. Optional: `partial_pivoting: bool = true`, `perturb_singular: bool = false`.
    fn tridiagonal_solve(self, diagonals: impl Into<Input<'b>>, rhs: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TridiagonalSolve").input(diagonals).input(rhs).output()
    }

    /// Adds a `TruncateDiv` node with inputs `x: T`, `y: T`; output `z: T`.
    fn truncate_div(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TruncateDiv").input(x).input(y).output()
    }

    /// Adds a `TruncateMod` node with inputs `x: T`, `y: T`; output `z: T`.
    fn truncate_mod(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("TruncateMod").input(x).input(y).output()
    }

    /// Adds a `TruncatedNormal` node with input `shape: T`; attribute `dtype: type`; output `output: dtype`. Optional: `seed: int = 0`, `seed2: int = 0`.
    fn truncated_normal(self, shape: impl Into<Input<'b>>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("TruncatedNormal").input(shape).attr("dtype", dtype).output()
    }

    /// Adds a `Unbatch` node with inputs `batched_tensor: T`, `batch_index: int64`, `id: int64`; attribute `timeout_micros: int`; output `unbatched_tensor: T`. Optional: `container: string = ""`, `shared_name: string = ""`.
    fn unbatch(self, batched_tensor: impl Into<Input<'b>>, batch_index: impl Into<Input<'b>>, id: impl Into<Input<'b>>, timeout_micros: i64) -> Result<Output<'b>> {
        self.op_node("Unbatch").input(batched_tensor).input(batch_index).input(id).attr("timeout_micros", timeout_micros).output()
    }

    /// Adds a `UnbatchDataset` node with input `input_dataset: variant`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn unbatch_dataset(self, input_dataset: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("UnbatchDataset").input(input_dataset).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `UnbatchGrad` node with inputs `original_input: T`, `batch_index: int64`, `grad: T`, `id: int64`; output `batched_grad: T`. Optional: `container: string = ""`, `shared_name: string = ""`.
    fn unbatch_grad(self, original_input: impl Into<Input<'b>>, batch_index: impl Into<Input<'b>>, grad: impl Into<Input<'b>>, id: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("UnbatchGrad").input(original_input).input(batch_index).input(grad).input(id).output()
    }

    /// Adds a `UnicodeDecode` node with input `input: string`; attribute `input_encoding: string`; outputs `row_splits: Tsplits`, `char_values: int32`. Optional: `errors: string = "replace"`, `replacement_char: int = 65533`, `replace_control_characters: bool = false`, `Tsplits: type = i64`.
    fn unicode_decode(self, input: impl Into<Input<'b>>, input_encoding: &str) -> Result<[Output<'b>; 2]> {
        self.op_node("UnicodeDecode").input(input).attr("input_encoding", input_encoding).outputs()
    }

    /// Adds a `UnicodeDecodeWithOffsets` node with input `input: string`; attribute `input_encoding: string`; outputs `row_splits: Tsplits`, `char_values: int32`, `char_to_byte_starts: int64`. Optional: `errors: string = "replace"`, `replacement_char: int = 65533`, `replace_control_characters: bool = false`, `Tsplits: type = i64`.
    fn unicode_decode_with_offsets(self, input: impl Into<Input<'b>>, input_encoding: &str) -> Result<[Output<'b>; 3]> {
        self.op_node("UnicodeDecodeWithOffsets").input(input).attr("input_encoding", input_encoding).outputs()
    }

    /// Adds a `UnicodeEncode` node with inputs `input_values: int32`, `input_splits: Tsplits`; attribute `output_encoding: string`; output `output: string`. Optional: `errors: string = "replace"`, `replacement_char: int = 65533`.
    fn unicode_encode(self, input_values: impl Into<Input<'b>>, input_splits: impl Into<Input<'b>>, output_encoding: &str) -> Result<Output<'b>> {
        self.op_node("UnicodeEncode").input(input_values).input(input_splits).attr("output_encoding", output_encoding).output()
    }

    /// Adds a `UnicodeScript` node with input `input: int32`; output `output: int32`.
    fn unicode_script(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("UnicodeScript").input(input).output()
    }

    /// Adds a `UnicodeTranscode` node with input `input: string`; attributes `input_encoding: string`, `output_encoding: string`; output `output: string`. Optional: `errors: string = "replace"`, `replacement_char: int = 65533`, `replace_control_characters: bool = false`.
    fn unicode_transcode(self, input: impl Into<Input<'b>>, input_encoding: &str, output_encoding: &str) -> Result<Output<'b>> {
        self.op_node("UnicodeTranscode").input(input).attr("input_encoding", input_encoding).attr("output_encoding", output_encoding).output()
    }

    /// Adds a `UniformCandidateSampler` node with input `true_classes: int64`; attributes `num_true: int`, `num_sampled: int`, `unique: bool`, `range_max: int`; outputs `sampled_candidates: int64`, `true_expected_count: float`, `sampled_expected_count: float`. Optional: `seed: int = 0`, `seed2: int = 0`.
    fn uniform_candidate_sampler(self, true_classes: impl Into<Input<'b>>, num_true: i64, num_sampled: i64, unique: bool, range_max: i64) -> Result<[Output<'b>; 3]> {
        self.op_node("UniformCandidateSampler").input(true_classes).attr("num_true", num_true).attr("num_sampled", num_sampled).attr("unique", unique).attr("range_max", range_max).outputs()
    }

    /// Adds a `Unique` node with input `x: T`; outputs `y: T`, `idx: out_idx`. Optional: `out_idx: type = i32`.
    fn unique(self, x: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("Unique").input(x).outputs()
    }

    /// Adds a `UniqueDataset` node with input `input_dataset: variant`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn unique_dataset(self, input_dataset: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("UniqueDataset").input(input_dataset).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `UniqueV2` node with inputs `x: T`, `axis: Taxis`; outputs `y: T`, `idx: out_idx`. Optional: `out_idx: type = i32`.
    fn unique_v2(self, x: impl Into<Input<'b>>, axis: impl Into<Input<'b>>) -> Result<[Output<'b>; 2]> {
        self.op_node("UniqueV2").input(x).input(axis).outputs()
    }

    /// Adds a `UniqueWithCounts` node with input `x: T`; outputs `y: T`, `idx: out_idx`, `count: out_idx`. Optional: `out_idx: type = i32`.
    fn unique_with_counts(self, x: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("UniqueWithCounts").input(x).outputs()
    }

    /// Adds a `UniqueWithCountsV2` node with inputs `x: T`, `axis: Taxis`; outputs `y: T`, `idx: out_idx`, `count: out_idx`. Optional: `out_idx: type = i32`.
    fn unique_with_counts_v2(self, x: impl Into<Input<'b>>, axis: impl Into<Input<'b>>) -> Result<[Output<'b>; 3]> {
        self.op_node("UniqueWithCountsV2").input(x).input(axis).outputs()
    }

    /// Adds a `Unpack` node with input `value: T`; attribute `num: int`; output `output: num * T`. Optional: `axis: int = 0`.
    fn unpack(self, value: impl Into<Input<'b>>, num: i64) -> Result<Vec<Output<'b>>> {
        self.op_node("Unpack").input(value).attr("num", num).output_lists().map(|[list]| list)
    }

    /// Adds a `UnravelIndex` node with inputs `indices: Tidx`, `dims: Tidx`; output `output: Tidx`.
    fn unravel_index(self, indices: impl Into<Input<'b>>, dims: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("UnravelIndex").input(indices).input(dims).output()
    }

    /// Adds a `UnsortedSegmentJoin` node with inputs `inputs: string`, `segment_ids: Tindices`, `num_segments: Tnumsegments`; output `output: string`. Optional: `separator: string = ""`.
    fn unsorted_segment_join(self, inputs: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>, num_segments: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("UnsortedSegmentJoin").input(inputs).input(segment_ids).input(num_segments).output()
    }

    /// Adds a `UnsortedSegmentMax` node with inputs `data: T`, `segment_ids: Tindices`, `num_segments: Tnumsegments`; output `output: T`.
    fn unsorted_segment_max(self, data: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>, num_segments: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("UnsortedSegmentMax").input(data).input(segment_ids).input(num_segments).output()
    }

    /// Adds a `UnsortedSegmentMin` node with inputs `data: T`, `segment_ids: Tindices`, `num_segments: Tnumsegments`; output `output: T`.
    fn unsorted_segment_min(self, data: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>, num_segments: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("UnsortedSegmentMin").input(data).input(segment_ids).input(num_segments).output()
    }

    /// Adds a `UnsortedSegmentProd` node with inputs `data: T`, `segment_ids: Tindices`, `num_segments: Tnumsegments`; output `output: T`.
    fn unsorted_segment_prod(self, data: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>, num_segments: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("UnsortedSegmentProd").input(data).input(segment_ids).input(num_segments).output()
    }

    /// Adds a `UnsortedSegmentSum` node with inputs `data: T`, `segment_ids: Tindices`, `num_segments: Tnumsegments`; output `output: T`.
    fn unsorted_segment_sum(self, data: impl Into<Input<'b>>, segment_ids: impl Into<Input<'b>>, num_segments: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("UnsortedSegmentSum").input(data).input(segment_ids).input(num_segments).output()
    }

    /// Adds a `Unstage` node with attribute `dtypes: list(type)`; output `values: dtypes`. Optional: `capacity: int = 0`, `memory_limit: int = 0`, `container: string = ""`, `shared_name: string = ""`.
    fn unstage(self, dtypes: &[DType]) -> Result<Vec<Output<'b>>> {
        self.op_node("Unstage").attr("dtypes", dtypes).output_lists().map(|[list]| list)
    }

    /// Adds a `UnwrapDatasetVariant` node with input `input_handle: variant`; output `output_handle: variant`.
    fn unwrap_dataset_variant(self, input_handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("UnwrapDatasetVariant").input(input_handle).output()
    }

    /// Adds a `UpperBound` node with inputs `sorted_inputs: T`, `values: T`; output `output: out_type`. Optional: `out_type: type = i32`.
    fn upper_bound(self, sorted_inputs: impl Into<Input<'b>>, values: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("UpperBound").input(sorted_inputs).input(values).output()
    }

    /// Adds a `VarHandleOp` node with attributes `dtype: type`, `shape: shape`; output `resource: resource`. Optional: `container: string = ""`, `shared_name: string = ""`, `debug_name: string = ""`, `allowed_devices: list(string) = []`.
    fn var_handle_op(self, dtype: DType, shape: impl Into<PartialShape>) -> Result<Output<'b>> {
        self.op_node("VarHandleOp").attr("dtype", dtype).attr("shape", shape.into()).output()
    }

    /// Adds a `VarIsInitializedOp` node with input `resource: resource`; output `is_initialized: bool`.
    fn var_is_initialized_op(self, resource: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("VarIsInitializedOp").input(resource).output()
    }

    /// Adds a `VariableShape` node with input `input: resource`; output `output: out_type`. Optional: `out_type: type = i32`.
    fn variable_shape(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("VariableShape").input(input).output()
    }

    /// Adds a `VariableV2` node with attributes `shape: shape`, `dtype: type`; output `ref: Ref(dtype)`. Optional: `container: string = ""`, `shared_name: string = ""`.
    fn variable_v2(self, shape: impl Into<PartialShape>, dtype: DType) -> Result<Output<'b>> {
        self.op_node("VariableV2").attr("shape", shape.into()).attr("dtype", dtype).output()
    }

    /// Adds a `Where` node with input `input: T`; output `index: int64`.
    fn where_(self, input: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Where").input(input).output()
    }

    /// Adds a `While` node with input `input: T`; attributes `cond: func`, `body: func`; output `output: T`. Optional: `output_shapes: list(shape) = []`, `parallel_iterations: int = 10`.
    fn while_(self, input: &[Output<'b>], cond: &NameAttrList, body: &NameAttrList) -> Result<Vec<Output<'b>>> {
        self.op_node("While").input_list(input).attr("cond", cond).attr("body", body).output_lists().map(|[list]| list)
    }

    /// Adds a `WholeFileReader` node with output `reader_handle: Ref(string)`. Optional: `container: string = ""`, `shared_name: string = ""`.
    fn whole_file_reader(self) -> Result<Output<'b>> {
        self.op_node("WholeFileReader").output()
    }

    /// Adds a `WholeFileReaderV2` node with output `reader_handle: resource`. Optional: `container: string = ""`, `shared_name: string = ""`.
    fn whole_file_reader_v2(self) -> Result<Output<'b>> {
        self.op_node("WholeFileReaderV2").output()
    }

    /// Adds a `WindowDataset` node with inputs `input_dataset: variant`, `size: int64`, `shift: int64`, `stride: int64`, `drop_remainder: bool`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn window_dataset(self, input_dataset: impl Into<Input<'b>>, size: impl Into<Input<'b>>, shift: impl Into<Input<'b>>, stride: impl Into<Input<'b>>, drop_remainder: impl Into<Input<'b>>, output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("WindowDataset").input(input_dataset).input(size).input(shift).input(stride).input(drop_remainder).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }

    /// Adds a `WrapDatasetVariant` node with input `input_handle: variant`; output `output_handle: variant`.
    fn wrap_dataset_variant(self, input_handle: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("WrapDatasetVariant").input(input_handle).output()
    }

    /// Adds a `WriteFile` node with inputs `filename: string`, `contents: string`.
    fn write_file(self, filename: impl Into<Input<'b>>, contents: impl Into<Input<'b>>) -> Result<NodeId> {
        self.op_node("WriteFile").input(filename).input(contents).finish()
    }

    /// Adds a `Xdivy` node with inputs `x: T`, `y: T`; output `z: T`.
    fn xdivy(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Xdivy").input(x).input(y).output()
    }

    /// Adds a `Xlog1py` node with inputs `x: T`, `y: T`; output `z: T`.
    fn xlog1py(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Xlog1py").input(x).input(y).output()
    }

    /// Adds a `Xlogy` node with inputs `x: T`, `y: T`; output `z: T`.
    fn xlogy(self, x: impl Into<Input<'b>>, y: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Xlogy").input(x).input(y).output()
    }

    /// Adds a `ZerosLike` node with input `x: T`; output `y: T`.
    fn zeros_like(self, x: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("ZerosLike").input(x).output()
    }

    /// Adds a `Zeta` node with inputs `x: T`, `q: T`; output `z: T`.
    fn zeta(self, x: impl Into<Input<'b>>, q: impl Into<Input<'b>>) -> Result<Output<'b>> {
        self.op_node("Zeta").input(x).input(q).output()
    }

    /// Adds a `ZipDataset` node with input `input_datasets: N * variant`; attributes `output_types: list(type)`, `output_shapes: list(shape)`; output `handle: variant`. Optional: `metadata: string = ""`.
    fn zip_dataset(self, input_datasets: &[Output<'b>], output_types: &[DType], output_shapes: &[PartialShape]) -> Result<Output<'b>> {
        self.op_node("ZipDataset").input_list(input_datasets).attr("output_types", output_types).attr("output_shapes", output_shapes).output()
    }
}
