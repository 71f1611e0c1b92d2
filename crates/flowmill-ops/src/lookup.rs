//! Tables from keys to values.

use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op("HashTable", "() -> (table_handle: Ref(string))")
        .not_differentiable()
        .attrs("container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; key_dtype: type; value_dtype: type")
        .stateful()
        .shape(shape::vectors_of::<2>),
    op("HashTableV2", "() -> (table_handle: resource)")
        .not_differentiable()
        .attrs("container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; key_dtype: type; value_dtype: type")
        .stateful()
        .shape(shape::scalars),
    op("AnonymousHashTable", "() -> (table_handle: resource)").attrs("key_dtype: type; value_dtype: type").stateful().shape(shape::scalars),
    op("MutableHashTableV2", "() -> (table_handle: resource)")
        .not_differentiable()
        .attrs("container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; key_dtype: type; value_dtype: type")
        .stateful()
        .shape(shape::mutable_table),
    op("MutableDenseHashTableV2", "(empty_key: key_dtype, deleted_key: key_dtype) -> (table_handle: resource)")
        .not_differentiable()
        .attrs(
            "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; key_dtype: type; value_dtype: type;
                value_shape: shape = []; initial_num_buckets: int = 131072; max_load_factor: float = 0.8",
        )
        .stateful()
        .shape(shape::dense_table),
    op("InitializeTable", "(table_handle: Ref(string), keys: Tkey, values: Tval)")
        .not_differentiable()
        .attrs("Tkey: type; Tval: type")
        .shape(shape::initialize_table),
    op("InitializeTableV2", "(table_handle: resource, keys: Tkey, values: Tval)")
        .not_differentiable()
        .attrs("Tkey: type; Tval: type")
        .stateful()
        .shape(shape::initialize_table),
    op("InitializeTableFromTextFileV2", "(table_handle: resource, filename: string)")
        .not_differentiable()
        .attrs("key_index: int >= -2; value_index: int >= -2; vocab_size: int >= -1 = -1; delimiter: string = '\t'; offset: int = 0")
        .stateful()
        .shape(shape::initialize_table_from_file),
    op("LookupTableFind", "(table_handle: Ref(string), keys: Tin, default_value: Tout) -> (values: Tout)")
        .not_differentiable()
        .attrs("Tin: type; Tout: type")
        .shape(shape::table_find),
    op("LookupTableFindV2", "(table_handle: resource, keys: Tin, default_value: Tout) -> (values: Tout)")
        .not_differentiable()
        .attrs("Tin: type; Tout: type")
        .stateful()
        .shape(shape::table_find),
    op("LookupTableInsertV2", "(table_handle: resource, keys: Tin, values: Tout)")
        .not_differentiable()
        .attrs("Tin: type; Tout: type")
        .stateful()
        .shape(shape::table_changed),
    op("LookupTableRemoveV2", "(table_handle: resource, keys: Tin)").attrs("Tin: type").stateful().shape(shape::table_remove),
    op("LookupTableSizeV2", "(table_handle: resource) -> (size: int64)").not_differentiable().stateful().shape(shape::table_size),
    op("LookupTableExportV2", "(table_handle: resource) -> (keys: Tkeys, values: Tvalues)")
        .attrs("Tkeys: type; Tvalues: type")
        .stateful()
        .shape(shape::table_export),
    op("LookupTableImportV2", "(table_handle: resource, keys: Tin, values: Tout)")
        .attrs("Tin: type; Tout: type")
        .stateful()
        .shape(shape::table_import),
    op("MutableHashTable", "() -> (table_handle: Ref(string))")
        .not_differentiable()
        .attrs("container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; key_dtype: type; value_dtype: type")
        .stateful()
        .shape(shape::vectors_of::<2>),
    op("MutableHashTableOfTensors", "() -> (table_handle: Ref(string))")
        .not_differentiable()
        .attrs(
            "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; key_dtype: type; value_dtype: type;
                value_shape: shape = []",
        )
        .stateful()
        .shape(shape::vectors_of::<2>),
    op("MutableHashTableOfTensorsV2", "() -> (table_handle: resource)")
        .not_differentiable()
        .attrs(
            "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; key_dtype: type; value_dtype: type;
                value_shape: shape = []",
        )
        .stateful()
        .shape(shape::scalars),
    op("AnonymousMutableHashTable", "() -> (table_handle: resource)")
        .attrs("key_dtype: type; value_dtype: type")
        .stateful()
        .shape(shape::scalars),
    op("AnonymousMutableHashTableOfTensors", "() -> (table_handle: resource)")
        .attrs("key_dtype: type; value_dtype: type; value_shape: shape = []")
        .stateful()
        .shape(shape::scalars),
    op("AnonymousMutableDenseHashTable", "(empty_key: key_dtype, deleted_key: key_dtype) -> (table_handle: resource)")
        .attrs(
            "key_dtype: type; value_dtype: type; value_shape: shape = []; initial_num_buckets: int = 131072; max_load_factor: float =
                0.800000011920929",
        )
        .stateful()
        .shape(shape::scalars),
    op("LookupTableInsert", "(table_handle: Ref(string), keys: Tin, values: Tout)")
        .not_differentiable()
        .attrs("Tin: type; Tout: type")
        .shape(shape::unknown),
    op("LookupTableExport", "(table_handle: Ref(string)) -> (keys: Tkeys, values: Tvalues)")
        .attrs("Tkeys: type; Tvalues: type")
        .shape(shape::exported_table),
    op("LookupTableImport", "(table_handle: Ref(string), keys: Tin, values: Tout)").attrs("Tin: type; Tout: type").shape(shape::unknown),
    op("LookupTableSize", "(table_handle: Ref(string)) -> (size: int64)").not_differentiable().shape(shape::scalars),
    op("InitializeTableFromTextFile", "(table_handle: Ref(string), filename: string)")
        .not_differentiable()
        .attrs("key_index: int >= -2; value_index: int >= -2; vocab_size: int >= -1 = -1; delimiter: string = '\t'; offset: int = 0")
        .shape(shape::unknown),
];
