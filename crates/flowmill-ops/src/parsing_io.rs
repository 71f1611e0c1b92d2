//! Examples, serialised tensors, checkpoints, and files.

use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op(
        "ParseExample",
        "(serialized: string, names: string, sparse_keys: Nsparse * string, dense_keys: Ndense * string, dense_defaults: Tdense)
         -> (sparse_indices: Nsparse * int64, sparse_values: sparse_types, sparse_shapes: Nsparse * int64, dense_values: Tdense)",
    ).costly()
    .attrs("Nsparse: int >= 0; Ndense: int >= 0; sparse_types: list({float, int64, string}) >= 0;
                Tdense: list({float, int64, string}) >= 0; dense_shapes: list(shape) >= 0")
    .shape(shape::parse_example),
    op(
        "ParseExampleV2",
        "(serialized: string, names: string, sparse_keys: string, dense_keys: string, ragged_keys: string, dense_defaults: Tdense)
         -> (sparse_indices: num_sparse * int64, sparse_values: sparse_types, sparse_shapes: num_sparse * int64, dense_values: Tdense,
         ragged_values: ragged_value_types, ragged_row_splits: ragged_split_types)",
    ).costly()
    .attrs("Tdense: list({float, int64, string}) >= 0; num_sparse: int >= 0; sparse_types: list({float, int64, string}) >= 0;
                ragged_value_types: list({float, int64, string}) >= 0; ragged_split_types: list(index) >= 0; dense_shapes: list(shape) >= 0")
    .shape(shape::parse_example),
    op(
        "ParseSingleExample",
        "(serialized: string, dense_defaults: Tdense)
         -> (sparse_indices: num_sparse * int64, sparse_values: sparse_types, sparse_shapes: num_sparse * int64, dense_values: Tdense)",
    ).costly()
    .attrs("num_sparse: int >= 0; sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0;
                sparse_types: list({float, int64, string}) >= 0; Tdense: list({float, int64, string}) >= 0; dense_shapes: list(shape) >= 0")
    .shape(shape::parse_example),
    op(
        "ParseSequenceExample",
        "(serialized: string, debug_name: string, context_dense_defaults: Tcontext_dense)
         -> (context_sparse_indices: Ncontext_sparse * int64, context_sparse_values: context_sparse_types,
         context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: Tcontext_dense,
         feature_list_sparse_indices: Nfeature_list_sparse * int64, feature_list_sparse_values: feature_list_sparse_types,
         feature_list_sparse_shapes: Nfeature_list_sparse * int64, feature_list_dense_values: feature_list_dense_types,
         feature_list_dense_lengths: Nfeature_list_dense * int64)",
    ).costly()
    .attrs("feature_list_dense_missing_assumed_empty: list(string) >= 0; context_sparse_keys: list(string) >= 0;
                context_dense_keys: list(string) >= 0; feature_list_sparse_keys: list(string) >= 0; feature_list_dense_keys: list(string) >= 0;
                Ncontext_sparse: int >= 0 = 0; Ncontext_dense: int >= 0 = 0; Nfeature_list_sparse: int >= 0 = 0; Nfeature_list_dense: int >= 0 = 0;
                context_sparse_types: list({float, int64, string}) >= 0 = []; Tcontext_dense: list({float, int64, string}) >= 0 = [];
                feature_list_dense_types: list({float, int64, string}) >= 0 = []; context_dense_shapes: list(shape) >= 0 = [];
                feature_list_sparse_types: list({float, int64, string}) >= 0 = []; feature_list_dense_shapes: list(shape) >= 0 = []")
    .shape(shape::parse_sequence_example),
    op(
        "ParseSingleSequenceExample",
        "(serialized: string, feature_list_dense_missing_assumed_empty: string, context_sparse_keys: Ncontext_sparse * string,
          context_dense_keys: Ncontext_dense * string, feature_list_sparse_keys: Nfeature_list_sparse * string,
          feature_list_dense_keys: Nfeature_list_dense * string, context_dense_defaults: Tcontext_dense, debug_name: string)
         -> (context_sparse_indices: Ncontext_sparse * int64, context_sparse_values: context_sparse_types,
         context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: Tcontext_dense,
         feature_list_sparse_indices: Nfeature_list_sparse * int64, feature_list_sparse_values: feature_list_sparse_types,
         feature_list_sparse_shapes: Nfeature_list_sparse * int64, feature_list_dense_values: feature_list_dense_types)",
    ).costly()
    .attrs("Ncontext_sparse: int >= 0 = 0; Ncontext_dense: int >= 0 = 0; Nfeature_list_sparse: int >= 0 = 0; Nfeature_list_dense: int >= 0 = 0;
                context_sparse_types: list({float, int64, string}) >= 0 = []; Tcontext_dense: list({float, int64, string}) >= 0 = [];
                feature_list_dense_types: list({float, int64, string}) >= 0 = []; context_dense_shapes: list(shape) >= 0 = [];
                feature_list_sparse_types: list({float, int64, string}) >= 0 = []; feature_list_dense_shapes: list(shape) >= 0 = []")
    .shape(shape::parse_single_sequence_example),
    op(
        "ParseSequenceExampleV2",
        "(serialized: string, debug_name: string, context_sparse_keys: string, context_dense_keys: string, context_ragged_keys: string,
          feature_list_sparse_keys: string, feature_list_dense_keys: string, feature_list_ragged_keys: string,
          feature_list_dense_missing_assumed_empty: bool, context_dense_defaults: Tcontext_dense)
         -> (context_sparse_indices: Ncontext_sparse * int64, context_sparse_values: context_sparse_types,
         context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: Tcontext_dense, context_ragged_values: context_ragged_value_types,
         context_ragged_row_splits: context_ragged_split_types, feature_list_sparse_indices: Nfeature_list_sparse * int64,
         feature_list_sparse_values: feature_list_sparse_types, feature_list_sparse_shapes: Nfeature_list_sparse * int64,
         feature_list_dense_values: feature_list_dense_types, feature_list_dense_lengths: Nfeature_list_dense * int64,
         feature_list_ragged_values: feature_list_ragged_value_types, feature_list_ragged_outer_splits: feature_list_ragged_split_types,
         feature_list_ragged_inner_splits: feature_list_ragged_split_types)",
    ).costly()
    .attrs("Ncontext_sparse: int >= 0 = 0; Tcontext_dense: list({float, int64, string}) >= 0 = [];
                context_sparse_types: list({float, int64, string}) >= 0 = [];
                context_ragged_value_types: list({float, int64, string}) >= 0 = []; context_ragged_split_types: list(index) >= 0 = [];
                context_dense_shapes: list(shape) >= 0 = []; Nfeature_list_sparse: int >= 0 = 0; Nfeature_list_dense: int >= 0 = 0;
                feature_list_dense_types: list({float, int64, string}) >= 0 = [];
                feature_list_sparse_types: list({float, int64, string}) >= 0 = [];
                feature_list_ragged_value_types: list({float, int64, string}) >= 0 = [];
                feature_list_ragged_split_types: list(index) >= 0 = []; feature_list_dense_shapes: list(shape) >= 0 = []")
    .shape(shape::parse_sequence_example_v2),
    op("DecodeProtoV2", "(bytes: string) -> (sizes: int32, values: output_types)")
        .not_differentiable()
        .attrs(
            "message_type: string; field_names: list(string); output_types: list(type) >= 0; descriptor_source: string = 'local://';
                message_format: string = 'binary'; sanitize: bool = false",
        )
        .shape(shape::decode_proto),
    op("EncodeProto", "(sizes: int32, values: Tinput_types) -> (bytes: string)")
        .not_differentiable()
        .attrs(
            "field_names: list(string); message_type: string; descriptor_source: string = 'local://'; Tinput_types: list(type) >= 1",
        )
        .shape(shape::encode_proto),
    op("DecodeJSONExample", "(json_examples: string) -> (binary_examples: string)").not_differentiable().shape(shape::unchanged),
    op("ParseTensor", "(serialized: string) -> (output: out_type)").not_differentiable().attrs("out_type: type").shape(shape::unknown),
    op("SerializeTensor", "(tensor: T) -> (serialized: string)").not_differentiable().attrs("T: type").shape(shape::scalars),
    op("SaveV2", "(prefix: string, tensor_names: string, shape_and_slices: string, tensors: dtypes)")
        .attrs("dtypes: list(type) >= 1")
        .stateful()
        .shape(shape::unknown),
    op("RestoreV2", "(prefix: string, tensor_names: string, shape_and_slices: string) -> (tensors: dtypes)")
        .attrs("dtypes: list(type) >= 1")
        .stateful()
        .shape(shape::restore_v2),
    op("GenerateVocabRemapping", "(new_vocab_file: string, old_vocab_file: string) -> (remapping: int64, num_present: int32)")
        .not_differentiable()
        .attrs("new_vocab_offset: int >= 0; num_new_vocab: int >= 0; old_vocab_size: int >= -1 = -1")
        .shape(shape::generate_vocab_remapping),
    op(
        "LoadAndRemapMatrix",
        "(ckpt_path: string, old_tensor_name: string, row_remapping: int64, col_remapping: int64, initializing_values: float)
         -> (output_matrix: float)",
    )
    .not_differentiable()
    .attrs("num_rows: int >= 0; num_cols: int >= 1; max_rows_in_memory: int = -1")
    .stateful()
    .shape(shape::load_and_remap_matrix),
    op("Save", "(filename: string, tensor_names: string, data: T)").attrs("T: list(type) >= 1").stateful().shape(shape::unknown),
    op("Restore", "(file_pattern: string, tensor_name: string) -> (tensor: dt)")
        .attrs("dt: type; preferred_shard: int = -1")
        .stateful()
        .shape(shape::unknown),
    op("MergeV2Checkpoints", "(checkpoint_prefixes: string, destination_prefix: string)")
        .attrs("delete_old_dirs: bool = true; allow_missing_files: bool = false")
        .stateful()
        .shape(shape::unknown),
    op("ShardedFilespec", "(basename: string, num_shards: int32) -> (filename: string)").shape(shape::scalars),
    op("ShardedFilename", "(basename: string, shard: int32, num_shards: int32) -> (filename: string)").shape(shape::scalars),
    op("ReadFile", "(filename: string) -> (contents: string)").shape(shape::scalars),
    op("WriteFile", "(filename: string, contents: string)").stateful().shape(shape::unknown),
    op("MatchingFiles", "(pattern: string) -> (filenames: string)").shape(shape::vectors),
    op("DecodeCompressed", "(bytes: string) -> (output: string)").costly()
        .not_differentiable()
        .attrs("compression_type: string = ''")
        .shape(shape::unchanged),
    op("SaveSlices", "(filename: string, tensor_names: string, shapes_and_slices: string, data: T)")
        .attrs("T: list(type) >= 1")
        .stateful()
        .shape(shape::unknown),
    op("RestoreSlice", "(file_pattern: string, tensor_name: string, shape_and_slice: string) -> (tensor: dt)")
        .attrs("dt: type; preferred_shard: int = -1")
        .stateful()
        .shape(shape::restore_slice),
    op("DecodeWav", "(contents: string) -> (audio: float, sample_rate: int32)")
        .attrs("desired_channels: int = -1; desired_samples: int = -1")
        .shape(shape::decode_wav),
    op("EncodeWav", "(audio: float, sample_rate: int32) -> (contents: string)").shape(shape::encode_wav),
];
