"""Initializers of matrices whose rows or columns belong to words: values of another program's checkpoint, by the words of both."""

from __future__ import annotations

import math
from typing import Callable

import flowmill as tf
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor


def load_and_remap_matrix(ckpt_path, old_tensor_name: str, new_row_vocab_offset: int, num_rows_to_load: int, new_col_vocab_size: int, initializer,
                          old_row_vocab_size: int = -1, old_row_vocab_file=None, new_row_vocab_file=None, old_col_vocab_file=None,
                          new_col_vocab_file=None, num_row_oov_buckets: int = 0, num_col_oov_buckets: int = 0,
                          max_rows_in_memory: int = -1) -> Tensor:
    """Loads a matrix of a checkpoint, with rows and columns by the words of two vocabularies.

    Args:
        ckpt_path: the checkpoint.
        old_tensor_name: the matrix's name in it.
        new_row_vocab_offset: the line of the first row's word in the new vocabulary.
        num_rows_to_load: the number of rows with words.
        new_col_vocab_size: the number of columns with words.
        initializer: makes values, of a shape, for words that the checkpoint lacks.
        old_row_vocab_size: how many words of the old vocabulary have rows; all if -1.
        old_row_vocab_file, new_row_vocab_file: the words of the rows; None if rows stay in order.
        old_col_vocab_file, new_col_vocab_file: the words of the columns; None if columns stay in order.
        num_row_oov_buckets, num_col_oov_buckets: how many rows and columns without words come last.
        max_rows_in_memory: how many rows are read at once; all if it is not positive.

    Returns:
        A matrix of type `float32`.

    Raises:
        ValueError: for a negative number of buckets, or if one vocabulary of two is missing, or all are.
    """
    for name, count in (("num_row_oov_buckets", num_row_oov_buckets), ("num_col_oov_buckets", num_col_oov_buckets)):
        if count < 0:
            raise ValueError(f"{name} must be >= 0, but received {count}")
    for kind, old, new in (("row", old_row_vocab_file, new_row_vocab_file), ("col", old_col_vocab_file, new_col_vocab_file)):
        if bool(old) != bool(new):
            raise ValueError(f"old_{kind}_vocab_file and new_{kind}_vocab_file must both be specified or left unspecified. "
                             f"old_{kind}_vocab_file='{old}', new_{kind}_vocab_file='{new}'")
    if not (new_row_vocab_file or new_col_vocab_file):
        raise ValueError("Must provide either row or column vocab files. If no remapping is necessary, consider `tf.train.init_from_checkpoint` instead.")
    num_rows, num_columns, columns = num_rows_to_load, new_col_vocab_size, []
    if new_row_vocab_file:
        rows, num_rows = tf.raw_ops.GenerateVocabRemapping(new_vocab_file=new_row_vocab_file, old_vocab_file=old_row_vocab_file,
                                                           new_vocab_offset=new_row_vocab_offset, num_new_vocab=num_rows_to_load,
                                                           old_vocab_size=old_row_vocab_size)
    else:
        rows = tf.range(new_row_vocab_offset, new_row_vocab_offset + num_rows_to_load, dtype=tf.int64)
    if new_col_vocab_file:
        columns, num_columns = tf.raw_ops.GenerateVocabRemapping(new_vocab_file=new_col_vocab_file, old_vocab_file=old_col_vocab_file,
                                                                 new_vocab_offset=0, num_new_vocab=new_col_vocab_size)
    missing = initializer([num_rows_to_load * new_col_vocab_size - num_rows * num_columns, 1])
    matrix = tf.raw_ops.LoadAndRemapMatrix(ckpt_path=ckpt_path, old_tensor_name=old_tensor_name, row_remapping=rows, col_remapping=columns,
                                           initializing_values=missing, num_rows=num_rows_to_load, num_cols=new_col_vocab_size,
                                           max_rows_in_memory=max_rows_in_memory)
    if num_row_oov_buckets > 0:
        matrix = tf.concat([matrix, convert_to_tensor(initializer([num_row_oov_buckets, new_col_vocab_size]))], 0)
    if num_col_oov_buckets > 0:
        more = initializer([num_rows_to_load + num_row_oov_buckets, num_col_oov_buckets])
        matrix = tf.concat([matrix, convert_to_tensor(more)], 1)
    return matrix


def load_and_remap_matrix_initializer(ckpt_path, old_tensor_name: str, new_row_vocab_size: int, new_col_vocab_size: int,
                                      old_row_vocab_size: int = -1, old_row_vocab_file=None, new_row_vocab_file=None, old_col_vocab_file=None,
                                      new_col_vocab_file=None, num_row_oov_buckets: int = 0, num_col_oov_buckets: int = 0, initializer=None,
                                      max_rows_in_memory: int = -1) -> Callable:
    """Returns an initializer of a variable, or of its parts along the first dimension, that loads a matrix of a checkpoint.

    Arguments are those of :func:`load_and_remap_matrix`; `new_row_vocab_size` is the number of words of all parts, and an `initializer` of None
    makes zeros.

    Raises:
        TypeError: If `initializer` is no function.
    """
    make = tf.zeros_initializer() if initializer is None else initializer
    if not callable(make):
        raise TypeError(f"initializer must be callable, instead of being {make} of type {type(make)}.")

    def initialize(shape, dtype=tf.float32, partition_info=None):
        if dtype != tf.float32:
            raise TypeError(f"Currently, only float32 is supported. Received dtype: {dtype}")
        if len(shape) != 2:
            raise ValueError(f"Expected 2-dim shape, but received: {shape}")
        if shape[0] <= 0:
            raise ValueError(f"Expected 1st dim of shape to be > 0, but received shape: {shape}")
        width = new_col_vocab_size + num_col_oov_buckets
        if shape[1] != width:
            raise ValueError(f"Expected 2nd dim of shape to be new_col_vocab_size ({new_col_vocab_size}) + num_col_oov_buckets "
                             f"({num_col_oov_buckets}) = {width}, but received shape: {shape}")
        offset = 0 if partition_info is None else partition_info.single_offset(shape)
        count = new_row_vocab_size + num_row_oov_buckets
        if offset + shape[0] > count:
            raise ValueError(f"Trying to initialize {shape[0]} additional rows after {offset} rows have already been initialized, which would exceed "
                             f"expected total row count of new_row_vocab_size ({new_row_vocab_size}) + num_row_oov_buckets ({num_row_oov_buckets}) "
                             f"= {count}.")
        without_words = min(shape[0], max(0, offset + shape[0] - new_row_vocab_size))
        if offset > new_row_vocab_size:
            return make(shape)
        return load_and_remap_matrix(ckpt_path, old_tensor_name, offset, shape[0] - without_words, new_col_vocab_size, make, old_row_vocab_size,
                                     old_row_vocab_file, new_row_vocab_file, old_col_vocab_file, new_col_vocab_file, without_words,
                                     num_col_oov_buckets, max_rows_in_memory)
    return initialize


def load_embedding_initializer(ckpt_path, embedding_tensor_name: str, new_vocab_size: int, embedding_dim: int, old_vocab_file, new_vocab_file,
                               old_vocab_size: int = -1, num_oov_buckets: int = 0, initializer=None, max_rows_in_memory: int = -1) -> Callable:
    """Returns an initializer of embeddings that loads those of a checkpoint by their words.

    Args:
        ckpt_path: the checkpoint.
        embedding_tensor_name: the name of its embeddings.
        new_vocab_size: the number of words.
        embedding_dim: the number of columns.
        old_vocab_file, new_vocab_file: files with a word per line, of the checkpoint and of the program.
        old_vocab_size: how many words of the checkpoint have rows; all if -1.
        num_oov_buckets: how many rows without words come last.
        initializer: makes the rows that the checkpoint lacks; a truncated normal distribution if it is None.
        max_rows_in_memory: how many rows are read at once; all if it is not positive.
    """
    if initializer is None:
        initializer = tf.truncated_normal_initializer(stddev=1.0 / math.sqrt(embedding_dim))
    return load_and_remap_matrix_initializer(ckpt_path, embedding_tensor_name, new_vocab_size, embedding_dim, old_vocab_size, old_vocab_file,
                                             new_vocab_file, None, None, num_oov_buckets, 0, initializer, max_rows_in_memory)
