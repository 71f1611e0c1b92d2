//! Tensor maps: maps from tensors to tensors, as values.

use crate::gradient;
use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op("EmptyTensorMap", "() -> (handle: variant)").shape(shape::scalars),
    op("TensorMapSize", "(input_handle: variant) -> (size: int32)").shape(shape::scalars),
    op("TensorMapLookup", "(input_handle: variant, key: key_dtype) -> (value: value_dtype)")
        .gradient(gradient::tensor_map_lookup)
        .attrs("key_dtype: type; value_dtype: type")
        .shape(shape::unknown),
    op("TensorMapInsert", "(input_handle: variant, key: key_dtype, value: value_dtype) -> (output_handle: variant)")
        .gradient(gradient::tensor_map_insert)
        .attrs("key_dtype: type; value_dtype: type")
        .shape(shape::scalars),
    op("TensorMapErase", "(input_handle: variant, key: key_dtype) -> (output_handle: variant)")
        .gradient(gradient::tensor_map_erase)
        .attrs("key_dtype: type; value_dtype: type")
        .shape(shape::scalars),
    op("TensorMapHasKey", "(input_handle: variant, key: key_dtype) -> (has_key: bool)").attrs("key_dtype: type").shape(shape::scalars),
    op("TensorMapStackKeys", "(input_handle: variant) -> (keys: key_dtype)").attrs("key_dtype: type").shape(shape::unknown),
];
