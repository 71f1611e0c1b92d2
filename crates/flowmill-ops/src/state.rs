//! Variables, by reference and by resource handle.

use crate::gradient;
use crate::op::{Op, op};
use crate::shape;
use flowmill_graph::Work;

pub(crate) const OPS: &[Op] = &[
    op("Variable", "() -> (ref: Ref(dtype))")
        .attrs("shape: shape; dtype: type; container: string = ''; shared_name: string = ''")
        .stateful()
        .shape(shape::variable),
    op("VariableV2", "() -> (ref: Ref(dtype))")
        .attrs("shape: shape; dtype: type; container: string = ''; shared_name: string = ''")
        .stateful()
        .shape(shape::variable),
    op("Assign", "(ref: Ref(T), value: T) -> (output_ref: Ref(T))")
        .not_differentiable()
        .attrs("T: type; validate_shape: bool = true; use_locking: bool = true")
        .allows_uninitialized_input()
        .shape(shape::assign),
    op("AssignAdd", "(ref: Ref(T), value: T) -> (output_ref: Ref(T))")
        .not_differentiable()
        .attrs("T: number; use_locking: bool = false")
        .shape(shape::merged),
    op("AssignSub", "(ref: Ref(T), value: T) -> (output_ref: Ref(T))")
        .not_differentiable()
        .attrs("T: number; use_locking: bool = false")
        .shape(shape::merged),
    op("IsVariableInitialized", "(ref: Ref(dtype)) -> (is_initialized: bool)")
        .attrs("dtype: type")
        .allows_uninitialized_input()
        .shape(shape::scalars),
    op("TemporaryVariable", "() -> (ref: Ref(dtype))")
        .attrs("shape: shape; dtype: type; var_name: string = ''")
        .stateful()
        .shape(shape::shape_attr),
    op("DestroyTemporaryVariable", "(ref: Ref(T)) -> (value: T)").attrs("T: type; var_name: string").shape(shape::unchanged),
    op("VarHandleOp", "() -> (resource: resource)")
        .attrs(
            "container: string = ''; shared_name: string = ''; debug_name: string = ''; dtype: type; shape: shape;
                allowed_devices: list(string) = []",
        )
        .stateful()
        .shape(shape::var_handle),
    op("ReadVariableOp", "(resource: resource) -> (value: dtype)")
        .work(Work::Nothing)
        .gradient(gradient::read_variable)
        .attrs("dtype: type")
        .stateful()
        .shape(shape::read_variable),
    op("AssignVariableOp", "(resource: resource, value: dtype)")
        .attrs("dtype: type; validate_shape: bool = false")
        .stateful()
        .shape(shape::assign_variable),
    op("AssignAddVariableOp", "(resource: resource, value: dtype)").attrs("dtype: type").stateful().shape(shape::assign_variable),
    op("AssignSubVariableOp", "(resource: resource, value: dtype)").attrs("dtype: type").stateful().shape(shape::assign_variable),
    op("VarIsInitializedOp", "(resource: resource) -> (is_initialized: bool)").not_differentiable().stateful().shape(shape::scalars),
    op("VariableShape", "(input: resource) -> (output: out_type)")
        .not_differentiable()
        .attrs("out_type: index = int32")
        .stateful()
        .shape(shape::variable_shape),
    op("DestroyResourceOp", "(resource: resource)").attrs("ignore_lookup_error: bool = true").stateful().shape(shape::unknown),
    op("DisableCopyOnRead", "(resource: resource)").stateful().shape(shape::unknown),
    op("ResourceGather", "(resource: resource, indices: Tindices) -> (output: dtype)")
        .gradient(gradient::gather)
        .attrs("batch_dims: int = 0; validate_indices: bool = true; dtype: type; Tindices: index")
        .stateful()
        .shape(shape::resource_gather),
    op("ResourceGatherNd", "(resource: resource, indices: Tindices) -> (output: dtype)")
        .gradient(gradient::resource_gather_nd)
        .attrs("dtype: type; Tindices: index")
        .stateful()
        .shape(shape::resource_gather_nd),
    op("ResourceScatterAdd", "(resource: resource, indices: Tindices, updates: dtype)")
        .attrs("dtype: number; Tindices: index")
        .stateful()
        .shape(shape::resource_scatter),
    op("ResourceScatterSub", "(resource: resource, indices: Tindices, updates: dtype)")
        .attrs("dtype: number; Tindices: index")
        .stateful()
        .shape(shape::resource_scatter),
    op("ResourceScatterMul", "(resource: resource, indices: Tindices, updates: dtype)")
        .attrs("dtype: number; Tindices: index")
        .stateful()
        .shape(shape::resource_scatter),
    op("ResourceScatterDiv", "(resource: resource, indices: Tindices, updates: dtype)")
        .attrs("dtype: number; Tindices: index")
        .stateful()
        .shape(shape::resource_scatter),
    op("ResourceScatterMin", "(resource: resource, indices: Tindices, updates: dtype)")
        .attrs("dtype: number; Tindices: index")
        .stateful()
        .shape(shape::resource_scatter),
    op("ResourceScatterMax", "(resource: resource, indices: Tindices, updates: dtype)")
        .attrs("dtype: number; Tindices: index")
        .stateful()
        .shape(shape::resource_scatter),
    op("ResourceScatterUpdate", "(resource: resource, indices: Tindices, updates: dtype)")
        .attrs("dtype: type; Tindices: index")
        .stateful()
        .shape(shape::resource_scatter),
    op("ScatterUpdate", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .attrs("T: type; Tindices: index; use_locking: bool = true")
        .shape(shape::scatter),
    op("ScatterAdd", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .not_differentiable()
        .attrs("T: number; Tindices: index; use_locking: bool = false")
        .shape(shape::scatter),
    op("ScatterSub", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .not_differentiable()
        .attrs("T: number; Tindices: index; use_locking: bool = false")
        .shape(shape::scatter),
    op("ScatterMul", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .not_differentiable()
        .attrs("T: number; Tindices: index; use_locking: bool = false")
        .shape(shape::scatter),
    op("ScatterDiv", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .not_differentiable()
        .attrs("T: number; Tindices: index; use_locking: bool = false")
        .shape(shape::scatter),
    op("ScatterMin", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .attrs("T: {half, bfloat16, float, double, int32, int64}; Tindices: index; use_locking: bool = false")
        .shape(shape::scatter),
    op("ScatterMax", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .attrs("T: {half, bfloat16, float, double, int32, int64}; Tindices: index; use_locking: bool = false")
        .shape(shape::scatter),
    op("ScatterNdUpdate", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .not_differentiable()
        .attrs("T: type; Tindices: index; use_locking: bool = true; bad_indices_policy: string = ''")
        .shape(shape::scatter_nd_update),
    op("ScatterNdAdd", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .not_differentiable()
        .attrs("T: number; Tindices: index; use_locking: bool = false; bad_indices_policy: string = ''")
        .shape(shape::scatter_nd_update),
    op("ScatterNdSub", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .not_differentiable()
        .attrs("T: number; Tindices: index; use_locking: bool = false; bad_indices_policy: string = ''")
        .shape(shape::scatter_nd_update),
    op("ResourceScatterNdUpdate", "(ref: resource, indices: Tindices, updates: T)")
        .attrs("T: type; Tindices: index; use_locking: bool = true; bad_indices_policy: string = ''")
        .stateful()
        .shape(shape::resource_scatter_nd_update),
    op("ResourceScatterNdAdd", "(ref: resource, indices: Tindices, updates: T)")
        .attrs("T: type; Tindices: index; use_locking: bool = true; bad_indices_policy: string = ''")
        .stateful()
        .shape(shape::resource_scatter_nd_update),
    op("ResourceStridedSliceAssign", "(ref: resource, begin: Index, end: Index, strides: Index, value: T)")
        .attrs(
            "T: type; Index: index; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: int = 0;
                shrink_axis_mask: int = 0",
        )
        .stateful()
        .shape(shape::unknown),
    op("StridedSliceAssign", "(ref: Ref(T), begin: Index, end: Index, strides: Index, value: T) -> (output_ref: Ref(T))")
        .attrs(
            "T: type; Index: index; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: int = 0;
                shrink_axis_mask: int = 0",
        )
        .shape(shape::unchanged),
    op("CountUpTo", "(ref: Ref(T)) -> (output: T)").attrs("limit: int; T: index").shape(shape::count_up_to),
    op("ResourceCountUpTo", "(resource: resource) -> (output: T)")
        .attrs("limit: int; T: index")
        .stateful()
        .shape(shape::resource_count_up_to),
    op("ScatterNdMin", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false; bad_indices_policy: string = ''")
        .shape(shape::scatter_nd_update),
    op("ScatterNdMax", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false; bad_indices_policy: string = ''")
        .shape(shape::scatter_nd_update),
    op("ResourceScatterNdSub", "(ref: resource, indices: Tindices, updates: T)")
        .attrs("T: type; Tindices: index; use_locking: bool = true; bad_indices_policy: string = ''")
        .stateful()
        .shape(shape::resource_scatter_nd_update),
    op("ResourceScatterNdMin", "(ref: resource, indices: Tindices, updates: T)")
        .attrs("T: type; Tindices: index; use_locking: bool = true; bad_indices_policy: string = ''")
        .stateful()
        .shape(shape::resource_scatter_nd_update),
    op("ResourceScatterNdMax", "(ref: resource, indices: Tindices, updates: T)")
        .attrs("T: type; Tindices: index; use_locking: bool = true; bad_indices_policy: string = ''")
        .stateful()
        .shape(shape::resource_scatter_nd_update),
];
