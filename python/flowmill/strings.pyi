# Made by python/make_stubs from the code.

from flowmill._internal.sparse_tensor import SparseTensor
from flowmill._internal.tensor import Tensor
from flowmill.ragged import RaggedTensor
from flowmill.ragged._strings import bytes_split as bytes_split
from flowmill.ragged._strings import ngrams as ngrams
from flowmill.ragged._strings import unicode_decode as unicode_decode
from flowmill.ragged._strings import unicode_decode_with_offsets as unicode_decode_with_offsets
from flowmill.ragged._strings import unicode_encode as unicode_encode
from flowmill.ragged._strings import unicode_split as unicode_split
from flowmill.ragged._strings import unicode_split_with_offsets as unicode_split_with_offsets

__all__ = [
    "as_string",
    "bytes_split",
    "format",
    "join",
    "length",
    "lower",
    "ngrams",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "string_split",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_decode",
    "unicode_decode_with_offsets",
    "unicode_encode",
    "unicode_script",
    "unicode_split",
    "unicode_split_with_offsets",
    "unicode_transcode",
    "unsorted_segment_join",
    "upper",
]

def as_string(input, precision: int = -1, scientific: bool = False, shortest: bool = False, width: int = -1, fill: str = '', name=None) -> Tensor: ...
def join(inputs, separator: str = '', name=None) -> Tensor: ...
def string_split(
    source,
    sep=None,
    skip_empty: bool = True,
    delimiter=None,
    result_type: str = 'SparseTensor',
    name=None,
) -> SparseTensor | RaggedTensor: ...
def split(input=None, sep=None, maxsplit: int = -1, result_type: str = 'SparseTensor', source=None, name=None) -> SparseTensor | RaggedTensor: ...
def to_number(string_tensor=None, out_type=..., name=None, input=None) -> Tensor: ...
def substr(input, pos, len, name=None, unit: str = 'BYTE') -> Tensor: ...
def length(input, name=None, unit: str = 'BYTE') -> Tensor: ...
def lower(input, encoding: str = '', name=None) -> Tensor: ...
def upper(input, encoding: str = '', name=None) -> Tensor: ...
def strip(input, name=None) -> Tensor: ...
def regex_replace(input, pattern, rewrite, replace_global: bool = True, name=None) -> Tensor: ...
def regex_full_match(input, pattern, name=None) -> Tensor: ...
def to_hash_bucket(string_tensor=None, num_buckets: int | None = None, name=None, input=None) -> Tensor: ...
def to_hash_bucket_fast(input, num_buckets: int, name=None) -> Tensor: ...
def to_hash_bucket_strong(input, num_buckets: int, key, name=None) -> Tensor: ...
def reduce_join(inputs, axis=None, keep_dims=None, separator: str = '', name=None, reduction_indices=None, keepdims=None) -> Tensor: ...
def format(template: str, inputs, placeholder: str = '{}', summarize: int = 3, name=None) -> Tensor: ...
def unicode_transcode(
    input,
    input_encoding: str,
    output_encoding: str,
    errors: str = 'replace',
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name=None,
) -> Tensor: ...
def unicode_script(input, name=None) -> Tensor: ...
def unsorted_segment_join(inputs, segment_ids, num_segments, separator: str = '', name=None) -> Tensor: ...
def fingerprint(data, method: str = 'farmhash64', name: str | None = None) -> Tensor: ...
