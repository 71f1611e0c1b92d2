"""``tf.feature_column``: how the features of examples become a model's input."""

from flowmill.feature_column._categorical import (
    categorical_column_with_hash_bucket, categorical_column_with_identity, categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list, crossed_column, sequence_categorical_column_with_hash_bucket,
    sequence_categorical_column_with_identity, sequence_categorical_column_with_vocabulary_file, sequence_categorical_column_with_vocabulary_list,
    weighted_categorical_column,
)
from flowmill.feature_column._embedding import embedding_column, indicator_column, shared_embedding_columns
from flowmill.feature_column._models import input_layer, linear_model, make_parse_example_spec
from flowmill.feature_column._numeric import bucketized_column, numeric_column, sequence_numeric_column

__all__ = [
    "bucketized_column", "categorical_column_with_hash_bucket", "categorical_column_with_identity", "categorical_column_with_vocabulary_file",
    "categorical_column_with_vocabulary_list", "crossed_column", "embedding_column", "indicator_column", "input_layer", "linear_model",
    "make_parse_example_spec", "numeric_column", "sequence_categorical_column_with_hash_bucket", "sequence_categorical_column_with_identity",
    "sequence_categorical_column_with_vocabulary_file", "sequence_categorical_column_with_vocabulary_list", "sequence_numeric_column",
    "shared_embedding_columns", "weighted_categorical_column",
]
