# Made by python/make_stubs from the code.

from flowmill._internal.type_spec import TypeSpec as _Structure
Structure = _Structure
from flowmill.data._csv import CsvDataset as CsvDataset
from flowmill.data._csv import make_csv_dataset as make_csv_dataset
from flowmill.data._dataset import from_variant as from_variant
from flowmill.data._dataset import get_structure as get_structure
from flowmill.data._dataset import to_variant as to_variant
from flowmill.data._examples import make_batched_features_dataset as make_batched_features_dataset
from flowmill.data._examples import parse_example_dataset as parse_example_dataset
from flowmill.data._experimental import Counter as Counter
from flowmill.data._experimental import RaggedTensorStructure as RaggedTensorStructure
from flowmill.data._experimental import RandomDataset as RandomDataset
from flowmill.data._experimental import SparseTensorStructure as SparseTensorStructure
from flowmill.data._experimental import TFRecordWriter as TFRecordWriter
from flowmill.data._experimental import TensorArrayStructure as TensorArrayStructure
from flowmill.data._experimental import TensorStructure as TensorStructure
from flowmill.data._experimental import assert_cardinality as assert_cardinality
from flowmill.data._experimental import bucket_by_sequence_length as bucket_by_sequence_length
from flowmill.data._experimental import cardinality as cardinality
from flowmill.data._experimental import choose_from_datasets as choose_from_datasets
from flowmill.data._experimental import copy_to_device as copy_to_device
from flowmill.data._experimental import dense_to_ragged_batch as dense_to_ragged_batch
from flowmill.data._experimental import dense_to_sparse_batch as dense_to_sparse_batch
from flowmill.data._experimental import enumerate_dataset as enumerate_dataset
from flowmill.data._experimental import from_list as from_list
from flowmill.data._experimental import get_single_element as get_single_element
from flowmill.data._experimental import group_by_window as group_by_window
from flowmill.data._experimental import ignore_errors as ignore_errors
from flowmill.data._experimental import map_and_batch as map_and_batch
from flowmill.data._experimental import map_and_batch_with_legacy_function as map_and_batch_with_legacy_function
from flowmill.data._experimental import pad_to_cardinality as pad_to_cardinality
from flowmill.data._experimental import parallel_interleave as parallel_interleave
from flowmill.data._experimental import prefetch_to_device as prefetch_to_device
from flowmill.data._experimental import rejection_resample as rejection_resample
from flowmill.data._experimental import sample_from_datasets as sample_from_datasets
from flowmill.data._experimental import scan as scan
from flowmill.data._experimental import shuffle_and_repeat as shuffle_and_repeat
from flowmill.data._experimental import take_while as take_while
from flowmill.data._experimental import unbatch as unbatch
from flowmill.data._experimental import unique as unique
from flowmill.data._grouping import Reducer as Reducer
from flowmill.data._grouping import group_by_reducer as group_by_reducer
from flowmill.data._iterator import get_next_as_optional as get_next_as_optional
from flowmill.data._options import AutoShardPolicy as AutoShardPolicy
from flowmill.data._options import AutotuneAlgorithm as AutotuneAlgorithm
from flowmill.data._options import AutotuneOptions as AutotuneOptions
from flowmill.data._options import DistributeOptions as DistributeOptions
from flowmill.data._options import ExternalStatePolicy as ExternalStatePolicy
from flowmill.data._options import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from flowmill.data._options import OptimizationOptions as OptimizationOptions
from flowmill.data._options import ServiceOptions as ServiceOptions
from flowmill.data._options import ThreadingOptions as ThreadingOptions
from flowmill.data._options import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
from flowmill.data._saveable import make_saveable_from_iterator as make_saveable_from_iterator
from flowmill.data._specs import DatasetSpec as _DatasetStructure
DatasetStructure = _DatasetStructure
from flowmill.data._specs import Optional as Optional
from flowmill.data._specs import OptionalSpec as _OptionalStructure
OptionalStructure = _OptionalStructure
from flowmill.data._tables import DatasetInitializer as DatasetInitializer
from flowmill.data._tables import index_table_from_dataset as index_table_from_dataset
from flowmill.data._tables import table_from_dataset as table_from_dataset

AUTOTUNE: int
SHARD_HINT: int
