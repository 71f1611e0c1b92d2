//! Datasets that read files.

use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op(
        "CSVDataset",
        "(filenames: string, compression_type: string, buffer_size: int64, header: bool, field_delim: string,
            use_quote_delim: bool, na_value: string, select_cols: int64,
            record_defaults: output_types) -> (handle: variant)",
    )
    .not_differentiable()
    .attrs("output_types: list({float, double, int32, int64, string}) >= 1; output_shapes: list(shape) >= 1")
    .stateful()
    .shape(shape::dataset_of_ranks::<0b1111110, 0b10000000, 0b100000001>),
    op(
        "CSVDatasetV2",
        "(filenames: string, compression_type: string, buffer_size: int64, header: bool, field_delim: string,
            use_quote_delim: bool, na_value: string, select_cols: int64, record_defaults: output_types,
            exclude_cols: int64) -> (handle: variant)",
    )
    .not_differentiable()
    .attrs("output_types: list({float, double, int32, int64, string}) >= 1; output_shapes: list(shape) >= 1")
    .stateful()
    .shape(shape::dataset_of_ranks::<0b1111110, 0b1010000000, 0b100000001>),
    op("DatasetToTFRecord", "(input_dataset: variant, filename: string, compression_type: string)")
        .not_differentiable()
        .stateful()
        .shape(shape::unknown),
    op(
        "ExperimentalCSVDataset",
        "(filenames: string, compression_type: string, buffer_size: int64, header: bool, field_delim: string,
            use_quote_delim: bool, na_value: string, select_cols: int64,
            record_defaults: output_types) -> (handle: variant)",
    )
    .not_differentiable()
    .attrs("output_types: list({float, double, int32, int64, string}) >= 1; output_shapes: list(shape) >= 1")
    .stateful()
    .shape(shape::dataset_of_ranks::<0b1111110, 0b10000000, 0b100000001>),
    op("ExperimentalDatasetToTFRecord", "(input_dataset: variant, filename: string, compression_type: string)")
        .not_differentiable()
        .stateful()
        .shape(shape::unknown),
    op("ExperimentalMatchingFilesDataset", "(patterns: string) -> (handle: variant)")
        .not_differentiable()
        .stateful()
        .shape(shape::dataset_of_ranks::<0, 0, 0b1>),
    op(
        "FixedLengthRecordDataset",
        "(filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64,
            buffer_size: int64) -> (handle: variant)",
    )
    .not_differentiable()
    .attrs("metadata: string = ''")
    .stateful()
    .shape(shape::dataset_of_ranks::<0b11110, 0, 0b1>),
    op(
        "FixedLengthRecordDatasetV2",
        "(filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, buffer_size: int64,
            compression_type: string) -> (handle: variant)",
    )
    .not_differentiable()
    .attrs("metadata: string = ''")
    .stateful()
    .shape(shape::dataset_of_ranks::<0b11110, 0, 0b1>),
    op("MatchingFilesDataset", "(patterns: string) -> (handle: variant)")
        .not_differentiable()
        .stateful()
        .shape(shape::dataset_of_ranks::<0, 0, 0b1>),
    op("TFRecordDataset", "(filenames: string, compression_type: string, buffer_size: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("metadata: string = ''")
        .stateful()
        .shape(shape::dataset_of_ranks::<0b110, 0, 0b1>),
    op("TFRecordDatasetV2", "(filenames: string, compression_type: string, buffer_size: int64, byte_offsets: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("metadata: string = ''")
        .stateful()
        .shape(shape::dataset_of_ranks::<0b110, 0, 0b1001>),
    op("TextLineDataset", "(filenames: string, compression_type: string, buffer_size: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("metadata: string = ''")
        .stateful()
        .shape(shape::dataset_of_ranks::<0b110, 0, 0b1>),
];
