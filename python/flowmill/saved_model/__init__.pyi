# Made by python/make_stubs from the code.

from typing import Any
from flowmill.saved_model import builder as builder
from flowmill.saved_model import constants as constants
from flowmill.saved_model import loader as loader
from flowmill.saved_model import main_op as main_op
from flowmill.saved_model import signature_constants as signature_constants
from flowmill.saved_model import signature_def_utils as signature_def_utils
from flowmill.saved_model import tag_constants as tag_constants
from flowmill.saved_model import utils as utils
from flowmill.saved_model._model import Model as Model
from flowmill.saved_model._model import Signature as Signature
from flowmill.saved_model._model import TensorSpec as TensorSpec
from flowmill.saved_model.builder import SavedModelBuilder as _Builder
Builder = _Builder
from flowmill.saved_model.builder import simple_save as simple_save
from flowmill.saved_model.constants import ASSETS_DIRECTORY as ASSETS_DIRECTORY
from flowmill.saved_model.constants import ASSETS_KEY as ASSETS_KEY
from flowmill.saved_model.constants import DEBUG_DIRECTORY as DEBUG_DIRECTORY
from flowmill.saved_model.constants import DEBUG_INFO_FILENAME_PB as DEBUG_INFO_FILENAME_PB
from flowmill.saved_model.constants import LEGACY_INIT_OP_KEY as LEGACY_INIT_OP_KEY
from flowmill.saved_model.constants import MAIN_OP_KEY as MAIN_OP_KEY
from flowmill.saved_model.constants import SAVED_MODEL_FILENAME_PB as SAVED_MODEL_FILENAME_PB
from flowmill.saved_model.constants import SAVED_MODEL_FILENAME_PBTXT as SAVED_MODEL_FILENAME_PBTXT
from flowmill.saved_model.constants import SAVED_MODEL_SCHEMA_VERSION as SAVED_MODEL_SCHEMA_VERSION
from flowmill.saved_model.constants import VARIABLES_DIRECTORY as VARIABLES_DIRECTORY
from flowmill.saved_model.constants import VARIABLES_FILENAME as VARIABLES_FILENAME
from flowmill.saved_model.loader import maybe_saved_model_directory as _contains_saved_model
contains_saved_model = _contains_saved_model
from flowmill.saved_model.loader import maybe_saved_model_directory as maybe_saved_model_directory
from flowmill.saved_model.main_op import main_op_with_restore as main_op_with_restore
from flowmill.saved_model.signature_constants import CLASSIFY_INPUTS as CLASSIFY_INPUTS
from flowmill.saved_model.signature_constants import CLASSIFY_METHOD_NAME as CLASSIFY_METHOD_NAME
from flowmill.saved_model.signature_constants import CLASSIFY_OUTPUT_CLASSES as CLASSIFY_OUTPUT_CLASSES
from flowmill.saved_model.signature_constants import CLASSIFY_OUTPUT_SCORES as CLASSIFY_OUTPUT_SCORES
from flowmill.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY as DEFAULT_SERVING_SIGNATURE_DEF_KEY
from flowmill.saved_model.signature_constants import PREDICT_INPUTS as PREDICT_INPUTS
from flowmill.saved_model.signature_constants import PREDICT_METHOD_NAME as PREDICT_METHOD_NAME
from flowmill.saved_model.signature_constants import PREDICT_OUTPUTS as PREDICT_OUTPUTS
from flowmill.saved_model.signature_constants import REGRESS_INPUTS as REGRESS_INPUTS
from flowmill.saved_model.signature_constants import REGRESS_METHOD_NAME as REGRESS_METHOD_NAME
from flowmill.saved_model.signature_constants import REGRESS_OUTPUTS as REGRESS_OUTPUTS
from flowmill.saved_model.signature_def_utils import build_signature_def as build_signature_def
from flowmill.saved_model.signature_def_utils import classification_signature_def as classification_signature_def
from flowmill.saved_model.signature_def_utils import is_valid_signature as is_valid_signature
from flowmill.saved_model.signature_def_utils import predict_signature_def as predict_signature_def
from flowmill.saved_model.signature_def_utils import regression_signature_def as regression_signature_def
from flowmill.saved_model.tag_constants import GPU as GPU
from flowmill.saved_model.tag_constants import SERVING as SERVING
from flowmill.saved_model.tag_constants import TPU as TPU
from flowmill.saved_model.tag_constants import TRAINING as TRAINING
from flowmill.saved_model.utils import build_tensor_info as build_tensor_info
from flowmill.saved_model.utils import get_tensor_from_tensor_info as get_tensor_from_tensor_info

__all__ = [
    "ASSETS_DIRECTORY",
    "ASSETS_KEY",
    "Builder",
    "CLASSIFY_INPUTS",
    "CLASSIFY_METHOD_NAME",
    "CLASSIFY_OUTPUT_CLASSES",
    "CLASSIFY_OUTPUT_SCORES",
    "DEBUG_DIRECTORY",
    "DEBUG_INFO_FILENAME_PB",
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY",
    "GPU",
    "LEGACY_INIT_OP_KEY",
    "MAIN_OP_KEY",
    "Model",
    "PREDICT_INPUTS",
    "PREDICT_METHOD_NAME",
    "PREDICT_OUTPUTS",
    "REGRESS_INPUTS",
    "REGRESS_METHOD_NAME",
    "REGRESS_OUTPUTS",
    "SAVED_MODEL_FILENAME_PB",
    "SAVED_MODEL_FILENAME_PBTXT",
    "SAVED_MODEL_SCHEMA_VERSION",
    "SERVING",
    "Signature",
    "TPU",
    "TRAINING",
    "TensorSpec",
    "VARIABLES_DIRECTORY",
    "VARIABLES_FILENAME",
    "build_signature_def",
    "build_tensor_info",
    "builder",
    "classification_signature_def",
    "constants",
    "contains_saved_model",
    "get_tensor_from_tensor_info",
    "is_valid_signature",
    "load",
    "loader",
    "main_op",
    "main_op_with_restore",
    "maybe_saved_model_directory",
    "predict_signature_def",
    "regression_signature_def",
    "signature_constants",
    "signature_def_utils",
    "simple_save",
    "tag_constants",
    "utils",
]

def load(sess, tags=None, export_dir=None, import_scope=None, *, config=None, map_file: bool = False) -> Any: ...
