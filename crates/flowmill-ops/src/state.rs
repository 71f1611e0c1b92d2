//! Variables, by reference and by resource handle.

use crate::op::{Op, op};

pub(crate) const OPS: &[Op] = &[
    op("Variable", "() -> (ref: Ref(dtype))").attrs("shape: shape; dtype: type; container: string = ''; shared_name: string = ''").stateful(),
    op("VariableV2", "() -> (ref: Ref(dtype))").attrs("shape: shape; dtype: type; container: string = ''; shared_name: string = ''").stateful(),
    op("Assign", "(ref: Ref(T), value: T) -> (output_ref: Ref(T))")
        .attrs("T: type; validate_shape: bool = true; use_locking: bool = true")
        .allows_uninitialized_input(),
    op("AssignAdd", "(ref: Ref(T), value: T) -> (output_ref: Ref(T))").attrs("T: number; use_locking: bool = false"),
    op("AssignSub", "(ref: Ref(T), value: T) -> (output_ref: Ref(T))").attrs("T: number; use_locking: bool = false"),
    op("IsVariableInitialized", "(ref: Ref(dtype)) -> (is_initialized: bool)").attrs("dtype: type").allows_uninitialized_input(),
    op("TemporaryVariable", "() -> (ref: Ref(dtype))").attrs("shape: shape; dtype: type; var_name: string = ''").stateful(),
    op("DestroyTemporaryVariable", "(ref: Ref(T)) -> (value: T)").attrs("T: type; var_name: string"),
    op("VarHandleOp", "() -> (resource: resource)")
        .attrs("container: string = ''; shared_name: string = ''; debug_name: string = ''; dtype: type; shape: shape;
                allowed_devices: list(string) = []")
        .stateful(),
    op("ReadVariableOp", "(resource: resource) -> (value: dtype)").attrs("dtype: type").stateful(),
    op("AssignVariableOp", "(resource: resource, value: dtype)").attrs("dtype: type; validate_shape: bool = false").stateful(),
    op("AssignAddVariableOp", "(resource: resource, value: dtype)").attrs("dtype: type").stateful(),
    op("AssignSubVariableOp", "(resource: resource, value: dtype)").attrs("dtype: type").stateful(),
    op("VarIsInitializedOp", "(resource: resource) -> (is_initialized: bool)").stateful(),
    op("VariableShape", "(input: resource) -> (output: out_type)").attrs("out_type: index = int32").stateful(),
    op("DestroyResourceOp", "(resource: resource)").attrs("ignore_lookup_error: bool = true").stateful(),
    op("ResourceGather", "(resource: resource, indices: Tindices) -> (output: dtype)")
        .attrs("batch_dims: int = 0; validate_indices: bool = true; dtype: type; Tindices: index")
        .stateful(),
    op("ResourceGatherNd", "(resource: resource, indices: Tindices) -> (output: dtype)").attrs("dtype: type; Tindices: index").stateful(),
    op("ResourceScatterAdd", "(resource: resource, indices: Tindices, updates: dtype)").attrs("dtype: number; Tindices: index").stateful(),
    op("ResourceScatterSub", "(resource: resource, indices: Tindices, updates: dtype)").attrs("dtype: number; Tindices: index").stateful(),
    op("ResourceScatterMul", "(resource: resource, indices: Tindices, updates: dtype)").attrs("dtype: number; Tindices: index").stateful(),
    op("ResourceScatterDiv", "(resource: resource, indices: Tindices, updates: dtype)").attrs("dtype: number; Tindices: index").stateful(),
    op("ResourceScatterMin", "(resource: resource, indices: Tindices, updates: dtype)").attrs("dtype: number; Tindices: index").stateful(),
    op("ResourceScatterMax", "(resource: resource, indices: Tindices, updates: dtype)").attrs("dtype: number; Tindices: index").stateful(),
    op("ResourceScatterUpdate", "(resource: resource, indices: Tindices, updates: dtype)").attrs("dtype: type; Tindices: index").stateful(),
    op("ScatterUpdate", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .attrs("T: type; Tindices: index; use_locking: bool = true"),
    op("ScatterAdd", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false"),
    op("ScatterSub", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false"),
    op("ScatterMul", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false"),
    op("ScatterDiv", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false"),
    op("ScatterMin", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .attrs("T: {half, bfloat16, float, double, int32, int64}; Tindices: index; use_locking: bool = false"),
    op("ScatterMax", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .attrs("T: {half, bfloat16, float, double, int32, int64}; Tindices: index; use_locking: bool = false"),
    op("ScatterNdUpdate", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .attrs("T: type; Tindices: index; use_locking: bool = true; bad_indices_policy: string = ''"),
    op("ScatterNdAdd", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false; bad_indices_policy: string = ''"),
    op("ScatterNdSub", "(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false; bad_indices_policy: string = ''"),
    op("ResourceScatterNdUpdate", "(ref: resource, indices: Tindices, updates: T)")
        .attrs("T: type; Tindices: index; use_locking: bool = true; bad_indices_policy: string = ''")
        .stateful(),
    op("ResourceScatterNdAdd", "(ref: resource, indices: Tindices, updates: T)")
        .attrs("T: type; Tindices: index; use_locking: bool = true; bad_indices_policy: string = ''")
        .stateful(),
    op("ResourceStridedSliceAssign", "(ref: resource, begin: Index, end: Index, strides: Index, value: T)")
        .attrs("T: type; Index: index; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: int = 0;
                shrink_axis_mask: int = 0")
        .stateful(),
    op("StridedSliceAssign", "(ref: Ref(T), begin: Index, end: Index, strides: Index, value: T) -> (output_ref: Ref(T))")
        .attrs("T: type; Index: index; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: int = 0;
                shrink_axis_mask: int = 0"),
    op("CountUpTo", "(ref: Ref(T)) -> (output: T)").attrs("limit: int; T: index"),
    op("ResourceCountUpTo", "(resource: resource) -> (output: T)").attrs("limit: int; T: index").stateful(),
];
