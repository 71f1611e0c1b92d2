//! Strings: formatting, splitting, hashing, encodings, conversions.

use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op("AsString", "(input: T) -> (output: string)").not_differentiable()
        .attrs("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, complex64, complex128, bool,
                variant, string}; precision: int = -1; scientific: bool = false; shortest: bool = false; width: int = -1; fill: string = ''")
        .shape(shape::unchanged),
    op("StringJoin", "(inputs: N * string) -> (output: string)").not_differentiable().attrs("N: int >= 0; separator: string = ''").shape(shape::string_join),
    op("StringSplit", "(input: string, delimiter: string) -> (indices: int64, values: string, shape: int64)").not_differentiable()
        .attrs("skip_empty: bool = true")
        .shape(shape::string_split),
    op("StringSplitV2", "(input: string, sep: string) -> (indices: int64, values: string, shape: int64)")
        .attrs("maxsplit: int = -1")
        .shape(shape::string_split),
    op("StringLength", "(input: string) -> (output: int32)").attrs("unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'").shape(shape::unchanged),
    op("StringLower", "(input: string) -> (output: string)").attrs("encoding: string = ''").shape(shape::unchanged),
    op("StringUpper", "(input: string) -> (output: string)").attrs("encoding: string = ''").shape(shape::unchanged),
    op("StringStrip", "(input: string) -> (output: string)").shape(shape::unchanged),
    op("StringFormat", "(inputs: T) -> (output: string)")
        .attrs("T: list(type) >= 0; template: string = '%s'; placeholder: string = '%s'; summarize: int = 3")
        .shape(shape::string_format),
    op("StringNGrams", "(data: string, data_splits: Tsplits) -> (ngrams: string, ngrams_splits: Tsplits)")
        .attrs("separator: string; ngram_widths: list(int) >= 0; left_pad: string; right_pad: string; pad_width: int;
                preserve_short_sequences: bool; Tsplits: index = int64")
        .shape(shape::string_n_grams),
    op("Substr", "(input: string, pos: T, len: T) -> (output: string)").attrs("T: index; unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'").shape(shape::substr),
    op("ReduceJoin", "(inputs: string, reduction_indices: int32) -> (output: string)").not_differentiable()
        .attrs("keep_dims: bool = false; separator: string = ''")
        .shape(shape::reduction),
    op("UnsortedSegmentJoin", "(inputs: string, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: string)")
        .attrs("separator: string = ''; Tindices: index; Tnumsegments: index = int32")
        .shape(shape::unsorted_segment),
    op("RegexReplace", "(input: string, pattern: string, rewrite: string) -> (output: string)").not_differentiable()
        .attrs("replace_global: bool = true")
        .shape(shape::unchanged),
    op("RegexFullMatch", "(input: string, pattern: string) -> (output: bool)").shape(shape::unchanged),
    op("StaticRegexReplace", "(input: string) -> (output: string)")
        .attrs("pattern: string; rewrite: string; replace_global: bool = true")
        .shape(shape::unchanged),
    op("StaticRegexFullMatch", "(input: string) -> (output: bool)").attrs("pattern: string").shape(shape::unchanged),
    op("StringToNumber", "(string_tensor: string) -> (output: out_type)").not_differentiable()
        .attrs("out_type: {float, double, int32, int64, uint32, uint64} = float")
        .shape(shape::unchanged),
    op("StringToHashBucket", "(string_tensor: string) -> (output: int64)").not_differentiable().attrs("num_buckets: int >= 1").shape(shape::unchanged),
    op("StringToHashBucketFast", "(input: string) -> (output: int64)").not_differentiable().attrs("num_buckets: int >= 1").shape(shape::unchanged),
    op("StringToHashBucketStrong", "(input: string) -> (output: int64)").not_differentiable().attrs("num_buckets: int >= 1; key: list(int)").shape(shape::unchanged),
    op("EncodeBase64", "(input: string) -> (output: string)").not_differentiable().attrs("pad: bool = false").shape(shape::unchanged),
    op("DecodeBase64", "(input: string) -> (output: string)").not_differentiable().shape(shape::unchanged),
    op("UnicodeDecode", "(input: string) -> (row_splits: Tsplits, char_values: int32)")
        .attrs("input_encoding: string; errors: {'strict', 'replace', 'ignore'} = 'replace'; replacement_char: int = 65533;
                replace_control_characters: bool = false; Tsplits: index = int64")
        .shape(shape::unicode_decode),
    op("UnicodeDecodeWithOffsets", "(input: string) -> (row_splits: Tsplits, char_values: int32, char_to_byte_starts: int64)")
        .attrs("input_encoding: string; errors: {'strict', 'replace', 'ignore'} = 'replace'; replacement_char: int = 65533;
                replace_control_characters: bool = false; Tsplits: index = int64")
        .shape(shape::unicode_decode),
    op("UnicodeEncode", "(input_values: int32, input_splits: Tsplits) -> (output: string)")
        .attrs("errors: {'ignore', 'replace', 'strict'} = 'replace'; output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'};
                replacement_char: int = 65533; Tsplits: index = int64")
        .shape(shape::unicode_encode),
    op("UnicodeTranscode", "(input: string) -> (output: string)")
        .attrs("input_encoding: string; output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'};
                errors: {'strict', 'replace', 'ignore'} = 'replace'; replacement_char: int = 65533; replace_control_characters: bool = false")
        .shape(shape::unchanged),
    op("UnicodeScript", "(input: int32) -> (output: int32)").shape(shape::unchanged),
    op("DecodeRaw", "(bytes: string) -> (output: out_type)").not_differentiable()
        .attrs("out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, complex64, complex128, bool, bfloat16};
                little_endian: bool = true")
        .shape(shape::decode_raw),
    op("DecodePaddedRaw", "(input_bytes: string, fixed_length: int32) -> (output: out_type)").not_differentiable()
        .attrs("out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, bfloat16}; little_endian: bool = true")
        .shape(shape::decode_padded_raw),
    op("DecodeCSV", "(records: string, record_defaults: OUT_TYPE) -> (output: OUT_TYPE)")
        .attrs("OUT_TYPE: list({float, double, int32, int64, string}) >= 1; field_delim: string = ','; use_quote_delim: bool = true;
                na_value: string = ''; select_cols: list(int) = []")
        .shape(shape::decode_csv),
    op("Fingerprint", "(data: T, method: string) -> (fingerprint: uint8)")
        .attrs("T: type")
        .shape(shape::fingerprint),
];
