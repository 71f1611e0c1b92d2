"""Where the names of the API's top level come from: each is looked up in its module when it is first asked for, so that importing the package stays quick.

A line a module; a name that is called otherwise in its module is written ``top=inner``.
"""

from __future__ import annotations

_BY_MODULE = {
    "_behavior": "control_flow_v2_enabled disable_control_flow_v2 disable_eager_execution disable_resource_variables disable_v2_behavior "
                 "disable_v2_tensorshape enable_control_flow_v2 enable_eager_execution enable_resource_variables enable_v2_behavior "
                 "enable_v2_tensorshape executing_eagerly executing_eagerly_outside_functions resource_variables_enabled",
    "_convert": "constant convert_to_tensor register_tensor_conversion_function convert_to_tensor_or_indexed_slices",
    "control_flow": "cond group no_op tuple",
    "gradients_impl": "AggregationMethod NoGradient NotDifferentiable RegisterGradient UnconnectedGradients gradients no_gradient stop_gradient",
    "indexed_slices": "IndexedSlices",
    "tensor_spec": "TensorSpec",
    "version": "COMPILER_VERSION GIT_VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER VERSION",
}

# Modules of the API that are reached as ``tf.name``.
MODULES = frozenset((
    *"saved_model train raw_ops nest".split(),
    *"app compat flags gfile io logging python python_io test version".split(),
))


def _table() -> dict[str, tuple[str, str]]:
    table = {}
    for module, names in _BY_MODULE.items():
        for name in names.split():
            top, _, inner = name.partition("=")
            table[top] = module, inner or top
    return table


# Module and name in it, by the name at the top level.
NAMES = _table()
