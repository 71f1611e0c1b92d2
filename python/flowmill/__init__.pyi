# Made by python/make_stubs from the code.

from flowmill import app as app
from flowmill import audio as audio
from flowmill import bitwise as bitwise
from flowmill import compat as compat
from flowmill import config as config
from flowmill import contrib as contrib
from flowmill import data as data
from flowmill import debugging as debugging
from flowmill import distributions as distributions
from flowmill import errors as errors
from flowmill import experimental as experimental
from flowmill import feature_column as feature_column
from flowmill import flags as flags
from flowmill import gfile as gfile
from flowmill import graph_util as graph_util
from flowmill import image as image
from flowmill import initializers as initializers
from flowmill import io as io
from flowmill import layers as layers
from flowmill import linalg as linalg
from flowmill import logging as logging
from flowmill import lookup as lookup
from flowmill import losses as losses
from flowmill import manip as manip
from flowmill import math as math
from flowmill import metrics as metrics
from flowmill import nest as nest
from flowmill import nn as nn
from flowmill import profiler as profiler
from flowmill import python as python
from flowmill import python_io as python_io
from flowmill import quantization as quantization
from flowmill import queue as queue
from flowmill import ragged as ragged
from flowmill import random as random
from flowmill import raw_ops as raw_ops
from flowmill import saved_model as saved_model
from flowmill import serving as serving
from flowmill import sets as sets
from flowmill import signal as signal
from flowmill import sparse as sparse
from flowmill import spectral as spectral
from flowmill import strings as strings
from flowmill import summary as summary
from flowmill import test as test
from flowmill import train as train
from flowmill import version as version
from flowmill._core import VERSION as ___version__
__version__ = ___version__
from flowmill._internal.accumulators import ConditionalAccumulator as ConditionalAccumulator
from flowmill._internal.accumulators import ConditionalAccumulatorBase as ConditionalAccumulatorBase
from flowmill._internal.accumulators import SparseConditionalAccumulator as SparseConditionalAccumulator
from flowmill._internal.array import argsort as argsort
from flowmill._internal.array import batch_gather as batch_gather
from flowmill._internal.array import batch_to_space as batch_to_space
from flowmill._internal.array import batch_to_space_nd as batch_to_space_nd
from flowmill._internal.array import boolean_mask as boolean_mask
from flowmill._internal.array import broadcast_dynamic_shape as broadcast_dynamic_shape
from flowmill._internal.array import broadcast_static_shape as broadcast_static_shape
from flowmill._internal.array import broadcast_to as broadcast_to
from flowmill._internal.array import check_pinned as check_pinned
from flowmill._internal.array import concat as concat
from flowmill._internal.array import depth_to_space as depth_to_space
from flowmill._internal.array import dequantize as dequantize
from flowmill._internal.array import dynamic_partition as dynamic_partition
from flowmill._internal.array import dynamic_stitch as dynamic_stitch
from flowmill._internal.array import ensure_shape as ensure_shape
from flowmill._internal.array import expand_dims as expand_dims
from flowmill._internal.array import extract_image_patches as extract_image_patches
from flowmill._internal.array import extract_volume_patches as extract_volume_patches
from flowmill._internal.array import fake_quant_with_min_max_args as fake_quant_with_min_max_args
from flowmill._internal.array import fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient
from flowmill._internal.array import fake_quant_with_min_max_vars as fake_quant_with_min_max_vars
from flowmill._internal.array import fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient
from flowmill._internal.array import fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel
from flowmill._internal.array import fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient
from flowmill._internal.array import fill as fill
from flowmill._internal.array import gather as gather
from flowmill._internal.array import gather_nd as gather_nd
from flowmill._internal.array import guarantee_const as guarantee_const
from flowmill._internal.array import identity as identity
from flowmill._internal.array import identity_n as identity_n
from flowmill._internal.array import invert_permutation as invert_permutation
from flowmill._internal.array import matrix_transpose as matrix_transpose
from flowmill._internal.array import meshgrid as meshgrid
from flowmill._internal.array import newaxis as newaxis
from flowmill._internal.array import one_hot as one_hot
from flowmill._internal.array import ones as ones
from flowmill._internal.array import ones_like as ones_like
from flowmill._internal.array import pad as pad
from flowmill._internal.array import parallel_stack as parallel_stack
from flowmill._internal.array import placeholder as placeholder
from flowmill._internal.array import placeholder_with_default as placeholder_with_default
from flowmill._internal.array import quantize as quantize
from flowmill._internal.array import quantize_v2 as quantize_v2
from flowmill._internal.array import quantized_concat as quantized_concat
from flowmill._internal.array import rank as rank
from flowmill._internal.array import repeat as repeat
from flowmill._internal.array import required_space_to_batch_paddings as required_space_to_batch_paddings
from flowmill._internal.array import reshape as reshape
from flowmill._internal.array import reverse as reverse
from flowmill._internal.array import reverse_sequence as reverse_sequence
from flowmill._internal.array import reverse_v2 as reverse_v2
from flowmill._internal.array import roll as roll
from flowmill._internal.array import scatter_nd as scatter_nd
from flowmill._internal.array import searchsorted as searchsorted
from flowmill._internal.array import sequence_mask as sequence_mask
from flowmill._internal.array import setdiff1d as setdiff1d
from flowmill._internal.array import shape as shape
from flowmill._internal.array import shape_n as shape_n
from flowmill._internal.array import size as size
from flowmill._internal.array import slice as slice
from flowmill._internal.array import sort as sort
from flowmill._internal.array import space_to_batch as space_to_batch
from flowmill._internal.array import space_to_batch_nd as space_to_batch_nd
from flowmill._internal.array import space_to_depth as space_to_depth
from flowmill._internal.array import split as split
from flowmill._internal.array import squeeze as squeeze
from flowmill._internal.array import stack as stack
from flowmill._internal.array import strided_slice as strided_slice
from flowmill._internal.array import tensor_scatter_add as tensor_scatter_add
from flowmill._internal.array import tensor_scatter_nd_add as tensor_scatter_nd_add
from flowmill._internal.array import tensor_scatter_nd_max as tensor_scatter_nd_max
from flowmill._internal.array import tensor_scatter_nd_min as tensor_scatter_nd_min
from flowmill._internal.array import tensor_scatter_nd_sub as tensor_scatter_nd_sub
from flowmill._internal.array import tensor_scatter_nd_update as tensor_scatter_nd_update
from flowmill._internal.array import tensor_scatter_sub as tensor_scatter_sub
from flowmill._internal.array import tensor_scatter_update as tensor_scatter_update
from flowmill._internal.array import tile as tile
from flowmill._internal.array import transpose as transpose
from flowmill._internal.array import unique as unique
from flowmill._internal.array import unique_with_counts as unique_with_counts
from flowmill._internal.array import unravel_index as unravel_index
from flowmill._internal.array import unstack as unstack
from flowmill._internal.array import where as where
from flowmill._internal.array import where_v2 as where_v2
from flowmill._internal.array import zeros as zeros
from flowmill._internal.array import zeros_like as zeros_like
from flowmill._internal.batching import nondifferentiable_batch_function as nondifferentiable_batch_function
from flowmill._internal.behavior import control_flow_v2_enabled as control_flow_v2_enabled
from flowmill._internal.behavior import disable_control_flow_v2 as disable_control_flow_v2
from flowmill._internal.behavior import disable_eager_execution as disable_eager_execution
from flowmill._internal.behavior import disable_resource_variables as disable_resource_variables
from flowmill._internal.behavior import disable_tensor_equality as disable_tensor_equality
from flowmill._internal.behavior import disable_v2_behavior as disable_v2_behavior
from flowmill._internal.behavior import disable_v2_tensorshape as disable_v2_tensorshape
from flowmill._internal.behavior import enable_control_flow_v2 as enable_control_flow_v2
from flowmill._internal.behavior import enable_eager_execution as enable_eager_execution
from flowmill._internal.behavior import enable_resource_variables as enable_resource_variables
from flowmill._internal.behavior import enable_tensor_equality as enable_tensor_equality
from flowmill._internal.behavior import enable_v2_behavior as enable_v2_behavior
from flowmill._internal.behavior import enable_v2_tensorshape as enable_v2_tensorshape
from flowmill._internal.behavior import executing_eagerly as executing_eagerly
from flowmill._internal.behavior import executing_eagerly_outside_functions as executing_eagerly_outside_functions
from flowmill._internal.behavior import resource_variables_enabled as resource_variables_enabled
from flowmill._internal.cases import case as case
from flowmill._internal.cases import switch_case as switch_case
from flowmill._internal.clip_ops import clip_by_average_norm as clip_by_average_norm
from flowmill._internal.clip_ops import clip_by_global_norm as clip_by_global_norm
from flowmill._internal.clip_ops import clip_by_norm as clip_by_norm
from flowmill._internal.clip_ops import clip_by_value as clip_by_value
from flowmill._internal.clip_ops import global_norm as global_norm
from flowmill._internal.composite_specs import IndexedSlicesSpec as IndexedSlicesSpec
from flowmill._internal.composite_specs import NoneTensorSpec as NoneTensorSpec
from flowmill._internal.composite_specs import RaggedTensorSpec as RaggedTensorSpec
from flowmill._internal.composite_specs import SparseTensorSpec as SparseTensorSpec
from flowmill._internal.composite_specs import TensorArraySpec as TensorArraySpec
from flowmill._internal.composite_specs import type_spec_from_value as type_spec_from_value
from flowmill._internal.control_flow import Assert as Assert
from flowmill._internal.control_flow import cond as cond
from flowmill._internal.control_flow import group as group
from flowmill._internal.control_flow import no_op as no_op
from flowmill._internal.control_flow import tuple as tuple
from flowmill._internal.convert import constant as constant
from flowmill._internal.convert import convert_to_tensor as convert_to_tensor
from flowmill._internal.convert import convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices
from flowmill._internal.convert import register_tensor_conversion_function as register_tensor_conversion_function
from flowmill._internal.critical_section import CriticalSection as CriticalSection
from flowmill._internal.custom_gradients import custom_gradient as custom_gradient
from flowmill._internal.custom_gradients import grad_pass_through as grad_pass_through
from flowmill._internal.custom_gradients import recompute_grad as recompute_grad
from flowmill._internal.default_graph import colocate_with as colocate_with
from flowmill._internal.default_graph import container as container
from flowmill._internal.default_graph import control_dependencies as control_dependencies
from flowmill._internal.default_graph import device as device
from flowmill._internal.default_graph import name_scope as name_scope
from flowmill._internal.default_graph import op_scope as op_scope
from flowmill._internal.device import DeviceSpec as DeviceSpec
from flowmill._internal.functional_ops import foldl as foldl
from flowmill._internal.functional_ops import foldr as foldr
from flowmill._internal.functional_ops import map_fn as map_fn
from flowmill._internal.functional_ops import scan as scan
from flowmill._internal.gradient_tape import GradientTape as GradientTape
from flowmill._internal.gradients_impl import AggregationMethod as AggregationMethod
from flowmill._internal.gradients_impl import NoGradient as NoGradient
from flowmill._internal.gradients_impl import NotDifferentiable as NotDifferentiable
from flowmill._internal.gradients_impl import RegisterGradient as RegisterGradient
from flowmill._internal.gradients_impl import UnconnectedGradients as UnconnectedGradients
from flowmill._internal.gradients_impl import gradients as gradients
from flowmill._internal.gradients_impl import hessians as hessians
from flowmill._internal.gradients_impl import no_gradient as no_gradient
from flowmill._internal.gradients_impl import stop_gradient as stop_gradient
from flowmill._internal.graph import Graph as Graph
from flowmill._internal.graph import get_default_graph as get_default_graph
from flowmill._internal.graph import reset_default_graph as reset_default_graph
from flowmill._internal.graph_keys import GraphKeys as GraphKeys
from flowmill._internal.graph_keys import add_to_collection as add_to_collection
from flowmill._internal.graph_keys import add_to_collections as add_to_collections
from flowmill._internal.graph_keys import get_collection as get_collection
from flowmill._internal.graph_keys import get_collection_ref as get_collection_ref
from flowmill._internal.importer import import_graph_def as import_graph_def
from flowmill._internal.indexed_slices import IndexedSlices as IndexedSlices
from flowmill._internal.indexed_slices import IndexedSlicesValue as IndexedSlicesValue
from flowmill._internal.init_ops import constant_initializer as constant_initializer
from flowmill._internal.init_ops import glorot_normal_initializer as glorot_normal_initializer
from flowmill._internal.init_ops import glorot_uniform_initializer as glorot_uniform_initializer
from flowmill._internal.init_ops import ones_initializer as ones_initializer
from flowmill._internal.init_ops import orthogonal_initializer as orthogonal_initializer
from flowmill._internal.init_ops import random_normal_initializer as random_normal_initializer
from flowmill._internal.init_ops import random_uniform_initializer as random_uniform_initializer
from flowmill._internal.init_ops import truncated_normal_initializer as truncated_normal_initializer
from flowmill._internal.init_ops import uniform_unit_scaling_initializer as uniform_unit_scaling_initializer
from flowmill._internal.init_ops import variance_scaling_initializer as variance_scaling_initializer
from flowmill._internal.init_ops import zeros_initializer as zeros_initializer
from flowmill._internal.load_library import load_file_system_library as load_file_system_library
from flowmill._internal.load_library import load_library as load_library
from flowmill._internal.load_library import load_op_library as load_op_library
from flowmill._internal.logging_ops import Print as Print
from flowmill._internal.logging_ops import print as print
from flowmill._internal.logging_ops import timestamp as timestamp
from flowmill._internal.loops import while_loop as while_loop
from flowmill._internal.module import Module as Module
from flowmill._internal.partitioned_variables import create_partitioned_variables as create_partitioned_variables
from flowmill._internal.partitioned_variables import fixed_size_partitioner as fixed_size_partitioner
from flowmill._internal.partitioned_variables import min_max_variable_partitioner as min_max_variable_partitioner
from flowmill._internal.partitioned_variables import variable_axis_size_partitioner as variable_axis_size_partitioner
from flowmill._internal.polymorphic_function import function as function
from flowmill._internal.polymorphic_function import wrap_function as wrap_function
from flowmill._internal.protos import AttrValue as AttrValue
from flowmill._internal.protos import ConfigProto as ConfigProto
from flowmill._internal.protos import Event as Event
from flowmill._internal.protos import FunctionDef as FunctionDef
from flowmill._internal.protos import FunctionDefLibrary as FunctionDefLibrary
from flowmill._internal.protos import GPUOptions as GPUOptions
from flowmill._internal.protos import GraphDef as GraphDef
from flowmill._internal.protos import GraphOptions as GraphOptions
from flowmill._internal.protos import HistogramProto as HistogramProto
from flowmill._internal.protos import LogMessage as LogMessage
from flowmill._internal.protos import MetaGraphDef as MetaGraphDef
from flowmill._internal.protos import NameAttrList as NameAttrList
from flowmill._internal.protos import NodeDef as NodeDef
from flowmill._internal.protos import OpDef as OpDef
from flowmill._internal.protos import OpList as OpList
from flowmill._internal.protos import OptimizerOptions as OptimizerOptions
from flowmill._internal.protos import RunMetadata as RunMetadata
from flowmill._internal.protos import RunOptions as RunOptions
from flowmill._internal.protos import SavedModel as SavedModel
from flowmill._internal.protos import SessionLog as SessionLog
from flowmill._internal.protos import SignatureDef as SignatureDef
from flowmill._internal.protos import StepStats as StepStats
from flowmill._internal.protos import Summary as Summary
from flowmill._internal.protos import SummaryMetadata as SummaryMetadata
from flowmill._internal.protos import TensorInfo as TensorInfo
from flowmill._internal.protos import TensorProto as TensorProto
from flowmill._internal.protos import TensorShapeProto as TensorShapeProto
from flowmill._internal.protos import VersionDef as VersionDef
from flowmill._internal.random_seed import get_seed as get_seed
from flowmill._internal.random_seed import set_random_seed as set_random_seed
from flowmill._internal.readers import FixedLengthRecordReader as FixedLengthRecordReader
from flowmill._internal.readers import IdentityReader as IdentityReader
from flowmill._internal.readers import ReaderBase as ReaderBase
from flowmill._internal.readers import TFRecordReader as TFRecordReader
from flowmill._internal.readers import TextLineReader as TextLineReader
from flowmill._internal.readers import WholeFileReader as WholeFileReader
from flowmill._internal.script_ops import numpy_function as numpy_function
from flowmill._internal.script_ops import py_func as py_func
from flowmill._internal.script_ops import py_function as py_function
from flowmill._internal.session import InteractiveSession as InteractiveSession
from flowmill._internal.session import Session as Session
from flowmill._internal.session import get_default_session as get_default_session
from flowmill._internal.session_ops import delete_session_tensor as delete_session_tensor
from flowmill._internal.session_ops import get_session_handle as get_session_handle
from flowmill._internal.session_ops import get_session_tensor as get_session_tensor
from flowmill._internal.session_options import SessionOptions as SessionOptions
from flowmill._internal.sparse_tensor import SparseTensor as SparseTensor
from flowmill._internal.sparse_tensor import SparseTensorValue as SparseTensorValue
from flowmill._internal.sparse_tensor import convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor
from flowmill._internal.state import assign as assign
from flowmill._internal.state import assign_add as assign_add
from flowmill._internal.state import assign_sub as assign_sub
from flowmill._internal.state import batch_scatter_update as batch_scatter_update
from flowmill._internal.state import count_up_to as count_up_to
from flowmill._internal.state import is_variable_initialized as is_variable_initialized
from flowmill._internal.state import scatter_add as scatter_add
from flowmill._internal.state import scatter_div as scatter_div
from flowmill._internal.state import scatter_max as scatter_max
from flowmill._internal.state import scatter_min as scatter_min
from flowmill._internal.state import scatter_mul as scatter_mul
from flowmill._internal.state import scatter_nd_add as scatter_nd_add
from flowmill._internal.state import scatter_nd_sub as scatter_nd_sub
from flowmill._internal.state import scatter_nd_update as scatter_nd_update
from flowmill._internal.state import scatter_sub as scatter_sub
from flowmill._internal.state import scatter_update as scatter_update
from flowmill._internal.template import init_scope as init_scope
from flowmill._internal.template import make_template as make_template
from flowmill._internal.tensor import Operation as Operation
from flowmill._internal.tensor import Tensor as Tensor
from flowmill._internal.tensor_array import TensorArray as TensorArray
from flowmill._internal.tensor_shape import Dimension as Dimension
from flowmill._internal.tensor_shape import TensorShape as TensorShape
from flowmill._internal.tensor_shape import dimension_at_index as dimension_at_index
from flowmill._internal.tensor_shape import dimension_value as dimension_value
from flowmill._internal.tensor_spec import TensorSpec as TensorSpec
from flowmill._internal.tensor_util import constant_value as _get_static_value
get_static_value = _get_static_value
from flowmill._internal.tensor_util import is_symbolic_tensor as is_symbolic_tensor
from flowmill._internal.tensor_util import is_tensor as is_tensor
from flowmill._internal.tensor_util import make_ndarray as make_ndarray
from flowmill._internal.tensor_util import make_tensor_proto as make_tensor_proto
from flowmill._internal.type_spec import TypeSpec as TypeSpec
from flowmill._internal.variable_scopes import AUTO_REUSE as AUTO_REUSE
from flowmill._internal.variable_scopes import VariableScope as VariableScope
from flowmill._internal.variable_scopes import get_local_variable as get_local_variable
from flowmill._internal.variable_scopes import get_variable as get_variable
from flowmill._internal.variable_scopes import get_variable_scope as get_variable_scope
from flowmill._internal.variable_scopes import no_regularizer as no_regularizer
from flowmill._internal.variable_scopes import variable_creator_scope as variable_creator_scope
from flowmill._internal.variable_scopes import variable_op_scope as variable_op_scope
from flowmill._internal.variable_scopes import variable_scope as variable_scope
from flowmill._internal.variables import Variable as Variable
from flowmill._internal.variables import VariableAggregation as VariableAggregation
from flowmill._internal.variables import VariableSynchronization as VariableSynchronization
from flowmill._internal.variables import all_variables as all_variables
from flowmill._internal.variables import assert_variables_initialized as assert_variables_initialized
from flowmill._internal.variables import global_variables as global_variables
from flowmill._internal.variables import global_variables_initializer as global_variables_initializer
from flowmill._internal.variables import initialize_all_variables as initialize_all_variables
from flowmill._internal.variables import initialize_local_variables as initialize_local_variables
from flowmill._internal.variables import initialize_variables as initialize_variables
from flowmill._internal.variables import local_variables as local_variables
from flowmill._internal.variables import local_variables_initializer as local_variables_initializer
from flowmill._internal.variables import model_variables as model_variables
from flowmill._internal.variables import moving_average_variables as moving_average_variables
from flowmill._internal.variables import report_uninitialized_variables as report_uninitialized_variables
from flowmill._internal.variables import trainable_variables as trainable_variables
from flowmill._internal.variables import variables_initializer as variables_initializer
from flowmill._internal.vectorized import vectorized_map as vectorized_map
from flowmill._internal.view import view as view
from flowmill.data._specs import OptionalSpec as OptionalSpec
from flowmill.debugging import add_check_numerics_ops as add_check_numerics_ops
from flowmill.debugging import assert_equal as assert_equal
from flowmill.debugging import assert_greater as assert_greater
from flowmill.debugging import assert_greater_equal as assert_greater_equal
from flowmill.debugging import assert_integer as assert_integer
from flowmill.debugging import assert_less as assert_less
from flowmill.debugging import assert_less_equal as assert_less_equal
from flowmill.debugging import assert_near as assert_near
from flowmill.debugging import assert_negative as assert_negative
from flowmill.debugging import assert_non_negative as assert_non_negative
from flowmill.debugging import assert_non_positive as assert_non_positive
from flowmill.debugging import assert_none_equal as assert_none_equal
from flowmill.debugging import assert_positive as assert_positive
from flowmill.debugging import assert_proper_iterable as assert_proper_iterable
from flowmill.debugging import assert_rank as assert_rank
from flowmill.debugging import assert_rank_at_least as assert_rank_at_least
from flowmill.debugging import assert_rank_in as assert_rank_in
from flowmill.debugging import assert_same_float_dtype as assert_same_float_dtype
from flowmill.debugging import assert_scalar as assert_scalar
from flowmill.debugging import assert_type as assert_type
from flowmill.debugging import check_numerics as check_numerics
from flowmill.debugging import is_numeric_tensor as is_numeric_tensor
from flowmill.debugging import verify_tensor_all_finite as verify_tensor_all_finite
from flowmill.dtypes import DType as DType
from flowmill.dtypes import QUANTIZED_DTYPES as QUANTIZED_DTYPES
from flowmill.dtypes import as_dtype as as_dtype
from flowmill.dtypes import bfloat16 as bfloat16
from flowmill.dtypes import bool as bool
from flowmill.dtypes import complex128 as complex128
from flowmill.dtypes import complex64 as complex64
from flowmill.dtypes import double as double
from flowmill.dtypes import float16 as float16
from flowmill.dtypes import float32 as float32
from flowmill.dtypes import float64 as float64
from flowmill.dtypes import half as half
from flowmill.dtypes import int16 as int16
from flowmill.dtypes import int32 as int32
from flowmill.dtypes import int4 as int4
from flowmill.dtypes import int64 as int64
from flowmill.dtypes import int8 as int8
from flowmill.dtypes import qint16 as qint16
from flowmill.dtypes import qint32 as qint32
from flowmill.dtypes import qint8 as qint8
from flowmill.dtypes import quint16 as quint16
from flowmill.dtypes import quint8 as quint8
from flowmill.dtypes import resource as resource
from flowmill.dtypes import string as string
from flowmill.dtypes import uint16 as uint16
from flowmill.dtypes import uint32 as uint32
from flowmill.dtypes import uint4 as uint4
from flowmill.dtypes import uint64 as uint64
from flowmill.dtypes import uint8 as uint8
from flowmill.dtypes import variant as variant
from flowmill.errors import OpError as OpError
from flowmill.io import FixedLenFeature as FixedLenFeature
from flowmill.io import FixedLenSequenceFeature as FixedLenSequenceFeature
from flowmill.io import SparseFeature as SparseFeature
from flowmill.io import VarLenFeature as VarLenFeature
from flowmill.io import decode_base64 as decode_base64
from flowmill.io import decode_compressed as decode_compressed
from flowmill.io import decode_csv as decode_csv
from flowmill.io import decode_json_example as decode_json_example
from flowmill.io import decode_raw as decode_raw
from flowmill.io import encode_base64 as encode_base64
from flowmill.io import matching_files as matching_files
from flowmill.io import parse_example as parse_example
from flowmill.io import parse_single_example as parse_single_example
from flowmill.io import parse_single_sequence_example as parse_single_sequence_example
from flowmill.io import parse_tensor as parse_tensor
from flowmill.io import read_file as read_file
from flowmill.io import serialize_tensor as serialize_tensor
from flowmill.io import write_file as write_file
from flowmill.linalg import cholesky as cholesky
from flowmill.linalg import cholesky_solve as cholesky_solve
from flowmill.linalg import cross as cross
from flowmill.linalg import tensor_diag as _diag
diag = _diag
from flowmill.linalg import tensor_diag_part as _diag_part
diag_part = _diag_part
from flowmill.linalg import eye as eye
from flowmill.linalg import band_part as _matrix_band_part
matrix_band_part = _matrix_band_part
from flowmill.linalg import det as _matrix_determinant
matrix_determinant = _matrix_determinant
from flowmill.linalg import diag as _matrix_diag
matrix_diag = _matrix_diag
from flowmill.linalg import diag_part as _matrix_diag_part
matrix_diag_part = _matrix_diag_part
from flowmill.linalg import inv as _matrix_inverse
matrix_inverse = _matrix_inverse
from flowmill.linalg import set_diag as _matrix_set_diag
matrix_set_diag = _matrix_set_diag
from flowmill.linalg import solve as _matrix_solve
matrix_solve = _matrix_solve
from flowmill.linalg import lstsq as _matrix_solve_ls
matrix_solve_ls = _matrix_solve_ls
from flowmill.linalg import sqrtm as _matrix_square_root
matrix_square_root = _matrix_square_root
from flowmill.linalg import triangular_solve as _matrix_triangular_solve
matrix_triangular_solve = _matrix_triangular_solve
from flowmill.linalg import norm as norm
from flowmill.linalg import qr as qr
from flowmill.linalg import eigh as _self_adjoint_eig
self_adjoint_eig = _self_adjoint_eig
from flowmill.linalg import eigvalsh as _self_adjoint_eigvals
self_adjoint_eigvals = _self_adjoint_eigvals
from flowmill.linalg import svd as svd
from flowmill.linalg import trace as trace
from flowmill.logging import get_logger as get_logger
from flowmill.lookup import initialize_all_tables as initialize_all_tables
from flowmill.lookup import tables_initializer as tables_initializer
from flowmill.math import abs as abs
from flowmill.math import accumulate_n as accumulate_n
from flowmill.math import acos as acos
from flowmill.math import acosh as acosh
from flowmill.math import add as add
from flowmill.math import add_n as add_n
from flowmill.math import angle as angle
from flowmill.math import arg_max as arg_max
from flowmill.math import arg_min as arg_min
from flowmill.math import argmax as argmax
from flowmill.math import argmin as argmin
from flowmill.math import asin as asin
from flowmill.math import asinh as asinh
from flowmill.math import atan as atan
from flowmill.math import atan2 as atan2
from flowmill.math import atanh as atanh
from flowmill.math import betainc as betainc
from flowmill.math import bincount as bincount
from flowmill.math import bitcast as bitcast
from flowmill.math import cast as cast
from flowmill.math import ceil as ceil
from flowmill.math import complex as complex
from flowmill.math import confusion_matrix as confusion_matrix
from flowmill.math import conj as conj
from flowmill.math import cos as cos
from flowmill.math import cosh as cosh
from flowmill.math import count_nonzero as count_nonzero
from flowmill.math import cumprod as cumprod
from flowmill.math import cumsum as cumsum
from flowmill.math import digamma as digamma
from flowmill.math import div as div
from flowmill.math import div_no_nan as div_no_nan
from flowmill.math import divide as divide
from flowmill.math import einsum as einsum
from flowmill.math import equal as equal
from flowmill.math import erf as erf
from flowmill.math import erfc as erfc
from flowmill.math import exp as exp
from flowmill.math import expm1 as expm1
from flowmill.math import floor as floor
from flowmill.math import floor_div as floor_div
from flowmill.math import floordiv as floordiv
from flowmill.math import floormod as floormod
from flowmill.math import greater as greater
from flowmill.math import greater_equal as greater_equal
from flowmill.math import histogram_fixed_width as histogram_fixed_width
from flowmill.math import histogram_fixed_width_bins as histogram_fixed_width_bins
from flowmill.math import igamma as igamma
from flowmill.math import igammac as igammac
from flowmill.math import imag as imag
from flowmill.math import is_finite as is_finite
from flowmill.math import is_inf as is_inf
from flowmill.math import is_nan as is_nan
from flowmill.math import is_non_decreasing as is_non_decreasing
from flowmill.math import is_strictly_increasing as is_strictly_increasing
from flowmill.math import lbeta as lbeta
from flowmill.math import less as less
from flowmill.math import less_equal as less_equal
from flowmill.math import lgamma as lgamma
from flowmill.math import lin_space as lin_space
from flowmill.math import linspace as linspace
from flowmill.math import log as log
from flowmill.math import log1p as log1p
from flowmill.math import log_sigmoid as log_sigmoid
from flowmill.math import logical_and as logical_and
from flowmill.math import logical_not as logical_not
from flowmill.math import logical_or as logical_or
from flowmill.math import logical_xor as logical_xor
from flowmill.math import matmul as matmul
from flowmill.math import maximum as maximum
from flowmill.math import minimum as minimum
from flowmill.math import mod as mod
from flowmill.math import multiply as multiply
from flowmill.math import negative as negative
from flowmill.math import not_equal as not_equal
from flowmill.math import polygamma as polygamma
from flowmill.math import pow as pow
from flowmill.math import range as range
from flowmill.math import real as real
from flowmill.math import realdiv as realdiv
from flowmill.math import reciprocal as reciprocal
from flowmill.math import reduce_all as reduce_all
from flowmill.math import reduce_any as reduce_any
from flowmill.math import reduce_logsumexp as reduce_logsumexp
from flowmill.math import reduce_max as reduce_max
from flowmill.math import reduce_mean as reduce_mean
from flowmill.math import reduce_min as reduce_min
from flowmill.math import reduce_prod as reduce_prod
from flowmill.math import reduce_sum as reduce_sum
from flowmill.math import rint as rint
from flowmill.math import round as round
from flowmill.math import rsqrt as rsqrt
from flowmill.math import saturate_cast as saturate_cast
from flowmill.math import scalar_mul as scalar_mul
from flowmill.math import segment_max as segment_max
from flowmill.math import segment_mean as segment_mean
from flowmill.math import segment_min as segment_min
from flowmill.math import segment_prod as segment_prod
from flowmill.math import segment_sum as segment_sum
from flowmill.math import sigmoid as sigmoid
from flowmill.math import sign as sign
from flowmill.math import sin as sin
from flowmill.math import sinh as sinh
from flowmill.math import sparse_matmul as sparse_matmul
from flowmill.math import sqrt as sqrt
from flowmill.math import square as square
from flowmill.math import squared_difference as squared_difference
from flowmill.math import subtract as subtract
from flowmill.math import tan as tan
from flowmill.math import tanh as tanh
from flowmill.math import tensordot as tensordot
from flowmill.math import to_bfloat16 as to_bfloat16
from flowmill.math import to_complex128 as to_complex128
from flowmill.math import to_complex64 as to_complex64
from flowmill.math import to_double as to_double
from flowmill.math import to_float as to_float
from flowmill.math import to_int32 as to_int32
from flowmill.math import to_int64 as to_int64
from flowmill.math import truediv as truediv
from flowmill.math import truncatediv as truncatediv
from flowmill.math import truncatemod as truncatemod
from flowmill.math import unsorted_segment_max as unsorted_segment_max
from flowmill.math import unsorted_segment_mean as unsorted_segment_mean
from flowmill.math import unsorted_segment_min as unsorted_segment_min
from flowmill.math import unsorted_segment_prod as unsorted_segment_prod
from flowmill.math import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from flowmill.math import unsorted_segment_sum as unsorted_segment_sum
from flowmill.math import zeta as zeta
from flowmill.math._segments import approx_top_k as approx_top_k
from flowmill.nn._convolution import conv as conv
from flowmill.nn._convolution import conv2d_backprop_filter_v2 as conv2d_backprop_filter_v2
from flowmill.nn._convolution import conv2d_backprop_input_v2 as conv2d_backprop_input_v2
from flowmill.queue import FIFOQueue as FIFOQueue
from flowmill.queue import PaddingFIFOQueue as PaddingFIFOQueue
from flowmill.queue import PriorityQueue as PriorityQueue
from flowmill.queue import QueueBase as QueueBase
from flowmill.queue import RandomShuffleQueue as RandomShuffleQueue
from flowmill.ragged import RaggedTensor as RaggedTensor
from flowmill.ragged._cross import ragged_fill_empty_rows as ragged_fill_empty_rows
from flowmill.ragged._cross import ragged_fill_empty_rows_grad as ragged_fill_empty_rows_grad
from flowmill.random import multinomial as multinomial
from flowmill.random import random_crop as random_crop
from flowmill.random import random_gamma as random_gamma
from flowmill.random import random_normal as random_normal
from flowmill.random import random_poisson as random_poisson
from flowmill.random import random_shuffle as random_shuffle
from flowmill.random import random_uniform as random_uniform
from flowmill.random import truncated_normal as truncated_normal
from flowmill.random._stateless import random_index_shuffle as random_index_shuffle
from flowmill.signal import fft as fft
from flowmill.signal import fft2d as fft2d
from flowmill.signal import fft3d as fft3d
from flowmill.signal import ifft as ifft
from flowmill.signal import ifft2d as ifft2d
from flowmill.signal import ifft3d as ifft3d
from flowmill.signal._any_axes import fftnd_op as _fftnd
fftnd = _fftnd
from flowmill.signal._any_axes import ifftnd_op as _ifftnd
ifftnd = _ifftnd
from flowmill.signal._any_axes import irfftnd_op as _irfftnd
irfftnd = _irfftnd
from flowmill.signal._any_axes import rfftnd_op as _rfftnd
rfftnd = _rfftnd
from flowmill.sparse import deserialize_many_sparse as deserialize_many_sparse
from flowmill.sparse import edit_distance as edit_distance
from flowmill.sparse import serialize_many_sparse as serialize_many_sparse
from flowmill.sparse import serialize_sparse as serialize_sparse
from flowmill.sparse import add as _sparse_add
sparse_add = _sparse_add
from flowmill.sparse import concat as _sparse_concat
sparse_concat = _sparse_concat
from flowmill.sparse import fill_empty_rows as _sparse_fill_empty_rows
sparse_fill_empty_rows = _sparse_fill_empty_rows
from flowmill.sparse import mask as _sparse_mask
sparse_mask = _sparse_mask
from flowmill.sparse import maximum as _sparse_maximum
sparse_maximum = _sparse_maximum
from flowmill.sparse import merge as _sparse_merge
sparse_merge = _sparse_merge
from flowmill.sparse import minimum as _sparse_minimum
sparse_minimum = _sparse_minimum
from flowmill.sparse import placeholder as _sparse_placeholder
sparse_placeholder = _sparse_placeholder
from flowmill.sparse import reduce_max as _sparse_reduce_max
sparse_reduce_max = _sparse_reduce_max
from flowmill.sparse import reduce_max_sparse as _sparse_reduce_max_sparse
sparse_reduce_max_sparse = _sparse_reduce_max_sparse
from flowmill.sparse import reduce_sum as _sparse_reduce_sum
sparse_reduce_sum = _sparse_reduce_sum
from flowmill.sparse import reduce_sum_sparse as _sparse_reduce_sum_sparse
sparse_reduce_sum_sparse = _sparse_reduce_sum_sparse
from flowmill.sparse import reorder as _sparse_reorder
sparse_reorder = _sparse_reorder
from flowmill.sparse import reset_shape as _sparse_reset_shape
sparse_reset_shape = _sparse_reset_shape
from flowmill.sparse import reshape as _sparse_reshape
sparse_reshape = _sparse_reshape
from flowmill.sparse import retain as _sparse_retain
sparse_retain = _sparse_retain
from flowmill.sparse import segment_mean as _sparse_segment_mean
sparse_segment_mean = _sparse_segment_mean
from flowmill.sparse import segment_sqrt_n as _sparse_segment_sqrt_n
sparse_segment_sqrt_n = _sparse_segment_sqrt_n
from flowmill.sparse import segment_sum as _sparse_segment_sum
sparse_segment_sum = _sparse_segment_sum
from flowmill.sparse import slice as _sparse_slice
sparse_slice = _sparse_slice
from flowmill.sparse import softmax as _sparse_softmax
sparse_softmax = _sparse_softmax
from flowmill.sparse import split as _sparse_split
sparse_split = _sparse_split
from flowmill.sparse import matmul as _sparse_tensor_dense_matmul
sparse_tensor_dense_matmul = _sparse_tensor_dense_matmul
from flowmill.sparse import to_dense as _sparse_tensor_to_dense
sparse_tensor_to_dense = _sparse_tensor_to_dense
from flowmill.sparse import sparse_to_dense as sparse_to_dense
from flowmill.sparse import to_indicator as _sparse_to_indicator
sparse_to_indicator = _sparse_to_indicator
from flowmill.sparse import transpose as _sparse_transpose
sparse_transpose = _sparse_transpose
from flowmill.strings import as_string as as_string
from flowmill.strings import fingerprint as fingerprint
from flowmill.strings import reduce_join as reduce_join
from flowmill.strings import regex_replace as regex_replace
from flowmill.strings import join as _string_join
string_join = _string_join
from flowmill.strings import string_split as string_split
from flowmill.strings import strip as _string_strip
string_strip = _string_strip
from flowmill.strings import to_hash_bucket as _string_to_hash_bucket
string_to_hash_bucket = _string_to_hash_bucket
from flowmill.strings import to_hash_bucket_fast as _string_to_hash_bucket_fast
string_to_hash_bucket_fast = _string_to_hash_bucket_fast
from flowmill.strings import to_hash_bucket_strong as _string_to_hash_bucket_strong
string_to_hash_bucket_strong = _string_to_hash_bucket_strong
from flowmill.strings import to_number as _string_to_number
string_to_number = _string_to_number
from flowmill.strings import substr as substr
from flowmill.version import COMPILER_VERSION as COMPILER_VERSION
from flowmill.version import CXX11_ABI_FLAG as CXX11_ABI_FLAG
from flowmill.version import CXX_VERSION as CXX_VERSION
from flowmill.version import GIT_VERSION as GIT_VERSION
from flowmill.version import GRAPH_DEF_VERSION as GRAPH_DEF_VERSION
from flowmill.version import GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER
from flowmill.version import GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER
from flowmill.version import MONOLITHIC_BUILD as MONOLITHIC_BUILD
from flowmill.version import VERSION as VERSION

__all__ = [
    "AUTO_REUSE",
    "AggregationMethod",
    "Assert",
    "AttrValue",
    "COMPILER_VERSION",
    "CXX11_ABI_FLAG",
    "CXX_VERSION",
    "ConditionalAccumulator",
    "ConditionalAccumulatorBase",
    "ConfigProto",
    "CriticalSection",
    "DType",
    "DeviceSpec",
    "Dimension",
    "Event",
    "FIFOQueue",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FixedLengthRecordReader",
    "FunctionDef",
    "FunctionDefLibrary",
    "GIT_VERSION",
    "GPUOptions",
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
    "GradientTape",
    "Graph",
    "GraphDef",
    "GraphKeys",
    "GraphOptions",
    "HistogramProto",
    "IdentityReader",
    "IndexedSlices",
    "IndexedSlicesSpec",
    "IndexedSlicesValue",
    "InteractiveSession",
    "LogMessage",
    "MONOLITHIC_BUILD",
    "MetaGraphDef",
    "Module",
    "NameAttrList",
    "NoGradient",
    "NodeDef",
    "NoneTensorSpec",
    "NotDifferentiable",
    "OpDef",
    "OpError",
    "OpList",
    "Operation",
    "OptimizerOptions",
    "OptionalSpec",
    "PaddingFIFOQueue",
    "Print",
    "PriorityQueue",
    "QUANTIZED_DTYPES",
    "QueueBase",
    "RaggedTensor",
    "RaggedTensorSpec",
    "RandomShuffleQueue",
    "ReaderBase",
    "RegisterGradient",
    "RunMetadata",
    "RunOptions",
    "SavedModel",
    "Session",
    "SessionLog",
    "SessionOptions",
    "SignatureDef",
    "SparseConditionalAccumulator",
    "SparseFeature",
    "SparseTensor",
    "SparseTensorSpec",
    "SparseTensorValue",
    "StepStats",
    "Summary",
    "SummaryMetadata",
    "TFRecordReader",
    "Tensor",
    "TensorArray",
    "TensorArraySpec",
    "TensorInfo",
    "TensorProto",
    "TensorShape",
    "TensorShapeProto",
    "TensorSpec",
    "TextLineReader",
    "TypeSpec",
    "UnconnectedGradients",
    "VERSION",
    "VarLenFeature",
    "Variable",
    "VariableAggregation",
    "VariableScope",
    "VariableSynchronization",
    "VersionDef",
    "WholeFileReader",
    "__version__",
    "abs",
    "accumulate_n",
    "acos",
    "acosh",
    "add",
    "add_check_numerics_ops",
    "add_n",
    "add_to_collection",
    "add_to_collections",
    "all_variables",
    "angle",
    "app",
    "approx_top_k",
    "arg_max",
    "arg_min",
    "argmax",
    "argmin",
    "argsort",
    "as_dtype",
    "as_string",
    "asin",
    "asinh",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_type",
    "assert_variables_initialized",
    "assign",
    "assign_add",
    "assign_sub",
    "atan",
    "atan2",
    "atanh",
    "audio",
    "batch_gather",
    "batch_scatter_update",
    "batch_to_space",
    "batch_to_space_nd",
    "betainc",
    "bfloat16",
    "bincount",
    "bitcast",
    "bitwise",
    "bool",
    "boolean_mask",
    "broadcast_dynamic_shape",
    "broadcast_static_shape",
    "broadcast_to",
    "case",
    "cast",
    "ceil",
    "check_numerics",
    "check_pinned",
    "cholesky",
    "cholesky_solve",
    "clip_by_average_norm",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "colocate_with",
    "compat",
    "complex",
    "complex128",
    "complex64",
    "concat",
    "cond",
    "config",
    "confusion_matrix",
    "conj",
    "constant",
    "constant_initializer",
    "container",
    "contrib",
    "control_dependencies",
    "control_flow_v2_enabled",
    "conv",
    "conv2d_backprop_filter_v2",
    "conv2d_backprop_input_v2",
    "convert_to_tensor",
    "convert_to_tensor_or_indexed_slices",
    "convert_to_tensor_or_sparse_tensor",
    "cos",
    "cosh",
    "count_nonzero",
    "count_up_to",
    "create_partitioned_variables",
    "cross",
    "cumprod",
    "cumsum",
    "custom_gradient",
    "data",
    "debugging",
    "decode_base64",
    "decode_compressed",
    "decode_csv",
    "decode_json_example",
    "decode_raw",
    "delete_session_tensor",
    "depth_to_space",
    "dequantize",
    "deserialize_many_sparse",
    "device",
    "diag",
    "diag_part",
    "digamma",
    "dimension_at_index",
    "dimension_value",
    "disable_control_flow_v2",
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_tensor_equality",
    "disable_v2_behavior",
    "disable_v2_tensorshape",
    "distributions",
    "div",
    "div_no_nan",
    "divide",
    "double",
    "dynamic_partition",
    "dynamic_stitch",
    "edit_distance",
    "einsum",
    "enable_control_flow_v2",
    "enable_eager_execution",
    "enable_resource_variables",
    "enable_tensor_equality",
    "enable_v2_behavior",
    "enable_v2_tensorshape",
    "encode_base64",
    "ensure_shape",
    "equal",
    "erf",
    "erfc",
    "errors",
    "executing_eagerly",
    "executing_eagerly_outside_functions",
    "exp",
    "expand_dims",
    "experimental",
    "expm1",
    "extract_image_patches",
    "extract_volume_patches",
    "eye",
    "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
    "feature_column",
    "fft",
    "fft2d",
    "fft3d",
    "fftnd",
    "fill",
    "fingerprint",
    "fixed_size_partitioner",
    "flags",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_div",
    "floordiv",
    "floormod",
    "foldl",
    "foldr",
    "function",
    "gather",
    "gather_nd",
    "get_collection",
    "get_collection_ref",
    "get_default_graph",
    "get_default_session",
    "get_local_variable",
    "get_logger",
    "get_seed",
    "get_session_handle",
    "get_session_tensor",
    "get_static_value",
    "get_variable",
    "get_variable_scope",
    "gfile",
    "global_norm",
    "global_variables",
    "global_variables_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "grad_pass_through",
    "gradients",
    "graph_util",
    "greater",
    "greater_equal",
    "group",
    "guarantee_const",
    "half",
    "hessians",
    "histogram_fixed_width",
    "histogram_fixed_width_bins",
    "identity",
    "identity_n",
    "ifft",
    "ifft2d",
    "ifft3d",
    "ifftnd",
    "igamma",
    "igammac",
    "imag",
    "image",
    "import_graph_def",
    "init_scope",
    "initialize_all_tables",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "initializers",
    "int16",
    "int32",
    "int4",
    "int64",
    "int8",
    "invert_permutation",
    "io",
    "irfftnd",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_numeric_tensor",
    "is_strictly_increasing",
    "is_symbolic_tensor",
    "is_tensor",
    "is_variable_initialized",
    "layers",
    "lbeta",
    "less",
    "less_equal",
    "lgamma",
    "lin_space",
    "linalg",
    "linspace",
    "load_file_system_library",
    "load_library",
    "load_op_library",
    "local_variables",
    "local_variables_initializer",
    "log",
    "log1p",
    "log_sigmoid",
    "logging",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lookup",
    "losses",
    "make_ndarray",
    "make_template",
    "make_tensor_proto",
    "manip",
    "map_fn",
    "matching_files",
    "math",
    "matmul",
    "matrix_band_part",
    "matrix_determinant",
    "matrix_diag",
    "matrix_diag_part",
    "matrix_inverse",
    "matrix_set_diag",
    "matrix_solve",
    "matrix_solve_ls",
    "matrix_square_root",
    "matrix_transpose",
    "matrix_triangular_solve",
    "maximum",
    "meshgrid",
    "metrics",
    "min_max_variable_partitioner",
    "minimum",
    "mod",
    "model_variables",
    "moving_average_variables",
    "multinomial",
    "multiply",
    "name_scope",
    "negative",
    "nest",
    "newaxis",
    "nn",
    "no_gradient",
    "no_op",
    "no_regularizer",
    "nondifferentiable_batch_function",
    "norm",
    "not_equal",
    "numpy_function",
    "one_hot",
    "ones",
    "ones_initializer",
    "ones_like",
    "op_scope",
    "orthogonal_initializer",
    "pad",
    "parallel_stack",
    "parse_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "placeholder",
    "placeholder_with_default",
    "polygamma",
    "pow",
    "print",
    "profiler",
    "py_func",
    "py_function",
    "python",
    "python_io",
    "qint16",
    "qint32",
    "qint8",
    "qr",
    "quantization",
    "quantize",
    "quantize_v2",
    "quantized_concat",
    "queue",
    "quint16",
    "quint8",
    "ragged",
    "ragged_fill_empty_rows",
    "ragged_fill_empty_rows_grad",
    "random",
    "random_crop",
    "random_gamma",
    "random_index_shuffle",
    "random_normal",
    "random_normal_initializer",
    "random_poisson",
    "random_shuffle",
    "random_uniform",
    "random_uniform_initializer",
    "range",
    "rank",
    "raw_ops",
    "read_file",
    "real",
    "realdiv",
    "reciprocal",
    "recompute_grad",
    "reduce_all",
    "reduce_any",
    "reduce_join",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "regex_replace",
    "register_tensor_conversion_function",
    "repeat",
    "report_uninitialized_variables",
    "required_space_to_batch_paddings",
    "reset_default_graph",
    "reshape",
    "resource",
    "resource_variables_enabled",
    "reverse",
    "reverse_sequence",
    "reverse_v2",
    "rfftnd",
    "rint",
    "roll",
    "round",
    "rsqrt",
    "saturate_cast",
    "saved_model",
    "scalar_mul",
    "scan",
    "scatter_add",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd",
    "scatter_nd_add",
    "scatter_nd_sub",
    "scatter_nd_update",
    "scatter_sub",
    "scatter_update",
    "searchsorted",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "self_adjoint_eig",
    "self_adjoint_eigvals",
    "sequence_mask",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "serving",
    "set_random_seed",
    "setdiff1d",
    "sets",
    "shape",
    "shape_n",
    "sigmoid",
    "sign",
    "signal",
    "sin",
    "sinh",
    "size",
    "slice",
    "sort",
    "space_to_batch",
    "space_to_batch_nd",
    "space_to_depth",
    "sparse",
    "sparse_add",
    "sparse_concat",
    "sparse_fill_empty_rows",
    "sparse_mask",
    "sparse_matmul",
    "sparse_maximum",
    "sparse_merge",
    "sparse_minimum",
    "sparse_placeholder",
    "sparse_reduce_max",
    "sparse_reduce_max_sparse",
    "sparse_reduce_sum",
    "sparse_reduce_sum_sparse",
    "sparse_reorder",
    "sparse_reset_shape",
    "sparse_reshape",
    "sparse_retain",
    "sparse_segment_mean",
    "sparse_segment_sqrt_n",
    "sparse_segment_sum",
    "sparse_slice",
    "sparse_softmax",
    "sparse_split",
    "sparse_tensor_dense_matmul",
    "sparse_tensor_to_dense",
    "sparse_to_dense",
    "sparse_to_indicator",
    "sparse_transpose",
    "spectral",
    "split",
    "sqrt",
    "square",
    "squared_difference",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "string",
    "string_join",
    "string_split",
    "string_strip",
    "string_to_hash_bucket",
    "string_to_hash_bucket_fast",
    "string_to_hash_bucket_strong",
    "string_to_number",
    "strings",
    "substr",
    "subtract",
    "summary",
    "svd",
    "switch_case",
    "tables_initializer",
    "tan",
    "tanh",
    "tensor_scatter_add",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "tensor_scatter_sub",
    "tensor_scatter_update",
    "tensordot",
    "test",
    "tile",
    "timestamp",
    "to_bfloat16",
    "to_complex128",
    "to_complex64",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
    "trace",
    "train",
    "trainable_variables",
    "transpose",
    "truediv",
    "truncated_normal",
    "truncated_normal_initializer",
    "truncatediv",
    "truncatemod",
    "tuple",
    "type_spec_from_value",
    "uint16",
    "uint32",
    "uint4",
    "uint64",
    "uint8",
    "uniform_unit_scaling_initializer",
    "unique",
    "unique_with_counts",
    "unravel_index",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
    "unstack",
    "variable_axis_size_partitioner",
    "variable_creator_scope",
    "variable_op_scope",
    "variable_scope",
    "variables_initializer",
    "variance_scaling_initializer",
    "variant",
    "vectorized_map",
    "verify_tensor_all_finite",
    "version",
    "view",
    "where",
    "where_v2",
    "while_loop",
    "wrap_function",
    "write_file",
    "zeros",
    "zeros_initializer",
    "zeros_like",
    "zeta",
]
