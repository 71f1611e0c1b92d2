"""Names of graphs' collections, and the default graph's collections."""

from __future__ import annotations

from flowmill._internal.graph import get_default_graph


class GraphKeys:
    """The names of the collections that functions of this package use."""

    GLOBAL_VARIABLES = "variables"
    VARIABLES = GLOBAL_VARIABLES
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"
    _SUMMARY_COLLECTION = "_SUMMARY_V2"
    _VARIABLE_COLLECTIONS = (
        GLOBAL_VARIABLES, LOCAL_VARIABLES, METRIC_VARIABLES, MODEL_VARIABLES, TRAINABLE_VARIABLES, MOVING_AVERAGE_VARIABLES,
        CONCATENATED_VARIABLES, TRAINABLE_RESOURCE_VARIABLES,
    )
    _STREAMING_MODEL_PORTS = "streaming_model_ports"


def add_to_collection(name, value) -> None:
    """Appends a value to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names, value) -> None:
    """Appends a value to several collections of the default graph, once if one is named twice."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key, scope: str | None = None) -> list:
    """Returns a copy of a collection of the default graph; with `scope`, of the items whose names begin with a match of that regular expression."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key) -> list:
    """Returns a collection of the default graph, to be changed."""
    return get_default_graph().get_collection_ref(key)


def get_all_collection_keys() -> list:
    """The names of the default graph's collections."""
    return get_default_graph().get_all_collection_keys()


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """A name without the scope that is exported; the ``^`` of a control input and the ``loc:@`` of a colocation stay."""
    if not export_scope:
        return name
    scope = export_scope[:-1] if export_scope.endswith("/") else export_scope
    for mark in ("loc:@", "^"):
        if name.startswith(mark + scope + "/"):
            return mark + name[len(mark) + len(scope) + 1:]
    return name.removeprefix(scope + "/")


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """A name behind the scope that is imported into; the ``^`` of a control input and the ``loc:@`` of a colocation stay first."""
    if not import_scope:
        return name
    scope = import_scope[:-1] if import_scope.endswith("/") else import_scope
    for mark in ("loc:@", "^"):
        if name.startswith(mark):
            return f"{mark}{scope}/{name[len(mark):]}"
    return f"{scope}/{name}"
