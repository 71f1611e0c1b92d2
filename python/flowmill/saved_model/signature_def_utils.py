"""Signatures: what goes into a graph and comes out of it, by names that its callers use."""

from __future__ import annotations

from flowmill._internal import protos as _protos
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor_util import make_tensor_proto
from flowmill.saved_model import signature_constants as names
from flowmill.saved_model._method_names import MethodNameUpdater as MethodNameUpdater
from flowmill.saved_model.utils import build_tensor_info


def build_signature_def(inputs=None, outputs=None, method_name: str | None = None, defaults=None) -> _protos.SignatureDef:
    """Returns a `SignatureDef` of dictionaries of `TensorInfo` messages."""
    signature = _protos.get("SignatureDef")()
    for key, info in (inputs or {}).items():
        signature.inputs[key].CopyFrom(info)
    for key, info in (outputs or {}).items():
        signature.outputs[key].CopyFrom(info)
    if method_name is not None:
        signature.method_name = method_name
    for key, value in (defaults or {}).items():
        signature.defaults[key].CopyFrom(make_tensor_proto(value))
    return signature


def _infos(tensors) -> dict:
    return {key: build_tensor_info(value if hasattr(value, "get_shape") else convert_to_tensor(value)) for key, value in tensors.items()}


def predict_signature_def(inputs, outputs) -> _protos.SignatureDef:
    """Returns the signature of a graph that takes and gives dictionaries of tensors.

    Raises:
        ValueError: if there are no inputs or no outputs.
    """
    if not inputs:
        raise ValueError("Prediction `inputs` cannot be None or empty.")
    if not outputs:
        raise ValueError("Prediction `outputs` cannot be None or empty.")
    return build_signature_def(_infos(inputs), _infos(outputs), names.PREDICT_METHOD_NAME)


def _strings(tensor, what: str) -> None:
    if tensor.dtype.base_dtype.name != "string":
        raise ValueError(f"{what} must be of type string.")


def regression_signature_def(examples, predictions) -> _protos.SignatureDef:
    """Returns the signature of a graph that gives numbers for serialised examples.

    Raises:
        ValueError: if a tensor is missing or has another type.
    """
    if examples is None:
        raise ValueError("Regression `examples` cannot be None.")
    if predictions is None:
        raise ValueError("Regression `predictions` cannot be None.")
    _strings(examples, "Regression input tensors")
    if predictions.dtype.base_dtype.name != "float32":
        raise ValueError("Regression output tensors must be of type float32.")
    return build_signature_def(
        _infos({names.REGRESS_INPUTS: examples}), _infos({names.REGRESS_OUTPUTS: predictions}), names.REGRESS_METHOD_NAME)


def classification_signature_def(examples, classes, scores) -> _protos.SignatureDef:
    """Returns the signature of a graph that gives classes, scores of classes, or both, for serialised examples.

    Raises:
        ValueError: if a tensor is missing or has another type.
    """
    if examples is None:
        raise ValueError("Classification `examples` cannot be None.")
    if classes is None and scores is None:
        raise ValueError("Classification `classes` and `scores` cannot both be None.")
    _strings(examples, "Classification input tensors")
    outputs = {}
    if classes is not None:
        _strings(classes, "Classification classes tensor")
        outputs[names.CLASSIFY_OUTPUT_CLASSES] = classes
    if scores is not None:
        if scores.dtype.base_dtype.name != "float32":
            raise ValueError("Classification scores tensor must be of type float.")
        outputs[names.CLASSIFY_OUTPUT_SCORES] = scores
    return build_signature_def(_infos({names.CLASSIFY_INPUTS: examples}), _infos(outputs), names.CLASSIFY_METHOD_NAME)


def is_valid_signature(signature_def) -> bool:
    """Returns true if a signature is one that the functions of this module make."""
    if signature_def is None:
        return False
    inputs, outputs, method = dict(signature_def.inputs), dict(signature_def.outputs), signature_def.method_name
    if method == names.PREDICT_METHOD_NAME:
        return bool(inputs) and bool(outputs)
    if method == names.REGRESS_METHOD_NAME:
        return (set(inputs) == {names.REGRESS_INPUTS} and inputs[names.REGRESS_INPUTS].dtype == 7
                and set(outputs) == {names.REGRESS_OUTPUTS} and outputs[names.REGRESS_OUTPUTS].dtype == 1)
    if method == names.CLASSIFY_METHOD_NAME:
        types = {names.CLASSIFY_OUTPUT_CLASSES: 7, names.CLASSIFY_OUTPUT_SCORES: 1}
        return (set(inputs) == {names.CLASSIFY_INPUTS} and inputs[names.CLASSIFY_INPUTS].dtype == 7 and bool(outputs)
                and all(types.get(key) == info.dtype for key, info in outputs.items()))
    return False
