"""Arguments for any function of the API, by the names of its parameters."""

import inspect


def _placeholder(dtype, *shape):
    return lambda tf, name: tf.placeholder(dtype, shape, name)


def _value(value):
    return lambda tf, name: value


def _sparse(tf, name=None):
    return tf.SparseTensor([[0, 1], [1, 2]], [1.0, 2.0], [2, 3])


# What a parameter is that has no name below: tried in this order until TensorFlow takes it.
TENSORS = [
    _placeholder("float32", 2, 3), _placeholder("float32", 3, 3), _placeholder("int32", 2, 3), _placeholder("bool", 2, 3),
    _placeholder("float32", 2, 4, 4, 3), _placeholder("float32", 4), _placeholder("string", 2), _placeholder("complex64", 2, 3),
    _placeholder("float32"), _placeholder("int64", 3), _placeholder("uint8", 4, 4, 3), _sparse,
]

BY_NAME = {
    **dict.fromkeys(("axis", "minval", "start", "pos"), _value(0)),
    **dict.fromkeys(("k", "strides", "offset_height", "offset_width", "shift", "len", "num_true", "num_lower", "num_upper", "frame_step"), _value(1)),
    **dict.fromkeys(("num_segments", "block_size", "kernel_size", "pool_size", "sections", "maxval", "num_sampled", "frame_length"), _value(2)),
    **dict.fromkeys(("num", "seed", "depth", "num_classes", "target_height", "target_width", "num_rows", "max_iterations"), _value(3)),
    **dict.fromkeys(("filters", "units", "window_length", "nbins"), _value(4)),
    **dict.fromkeys(("global_step", "limit", "num_buckets"), _value(5)), **dict.fromkeys(("range_max", "decay_steps"), _value(10)),
    **dict.fromkeys(("delta", "learning_rate"), _value(0.1)), **dict.fromkeys(("lower", "max_delta"), _value(0.2)),
    **dict.fromkeys(("rate", "alpha"), _value(0.3)), **dict.fromkeys(("decay_rate", "central_fraction"), _value(0.5)),
    **dict.fromkeys(("clip_value_min", "mean", "offset"), _value(0.0)), **dict.fromkeys(("contrast_factor", "saturation_factor"), _value(1.1)),
    **dict.fromkeys(("on_value", "clip_norm", "clip_value_max", "gamma", "stddev", "variance", "scale"), _value(1.0)),
    **dict.fromkeys(("indices", "labels"), _value([0, 1])), **dict.fromkeys(("sequence_length", "lengths", "boundaries"), _value([1, 2])),
    "keep_prob": _value(0.7), "upper": _value(1.2), "lam": _value(2.0), "stop": _value(5.0), "variance_epsilon": _value(0.001),
    "jpeg_quality": _value(50), "dtype": lambda tf, name: tf.float32, "shape": _value([3, 2]), "size": _value([3, 3]), "segment_ids": _value([0, 0]),
    "multiples": _value([1, 2]), "paddings": _value([[1, 1], [0, 1]]), "perm": _value([1, 0]), "begin": _value([0, 0]), "ksize": _value([1, 2, 2, 1]),
    "padding": _value("SAME"), "num_or_size_splits": _value(1), "axes": _value([0]), "pattern": _value("a"), "rewrite": _value("b"),
    "equation": _value("ij,ij->ij"), "mask": _value([True, False]), "dims": _value([2, 3]), "value_range": _value([0.0, 1.0]), "unique": _value(True),
    "diagonal": _placeholder("float32", 3), "sp_input": _sparse, "true_classes": _placeholder("int64", 2, 1),
    "predictions": _placeholder("float32", 2, 3), "targets": _placeholder("int32", 2),
}

# Parameters that are lists of such values.
LISTS = {"values", "inputs", "tensors", "input", "tensor_list", "arrays", "elems", "t_list"}

MODULES = ("", "nn", "math", "linalg", "image", "losses", "metrics", "strings", "sparse", "random", "debugging", "signal", "bitwise", "train", "layers",
           "sets", "quantization", "manip")

# These do something else than adding to a graph, or wait.
NOT_CALLED = {
    "Print", "Session", "add_check_numerics_ops", "disable_check_numerics", "disable_eager_execution", "disable_v2_behavior", "enable_check_numerics",
    "enable_eager_execution", "enable_v2_behavior", "gradients", "hessians", "import_graph_def", "load_file_system_library", "load_library",
    "load_op_library", "make_template", "numpy_function", "print", "py_func", "py_function", "reset_default_graph", "set_log_device_placement",
    "set_random_seed", "timestamp", "while_loop", "write_graph", "device", "name_scope", "get_logger", "checkpoints_iterator", "MonitoredTrainingSession",
}
NOT_CALLED |= {f"{verb}_{what}" for verb in ("enable", "disable") for what in (
    "resource_variables", "control_flow_v2", "tensor_equality", "v2_tensorshape")}


def functions(tf, other):
    """`(module, name)` of the functions that both modules have, each once."""
    seen = set()
    for module in MODULES:
        home, there = (getattr(m, module) if module else m for m in (tf, other))
        for name in sorted(set(dir(home)) - NOT_CALLED):
            function = getattr(home, name)
            if name.startswith("_") or inspect.isclass(function) or inspect.ismodule(function) or not callable(function) or id(function) in seen:
                continue
            if hasattr(there, name):
                seen.add(id(function))
                yield module, name


def calls(tf, module, name):
    """Ways to call a function: each takes a module of the API and calls its function."""
    signature = inspect.signature(getattr(getattr(tf, module) if module else tf, name))
    required = [p.name for p in signature.parameters.values() if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    for tensor in TENSORS:
        for in_lists in (False, True)[:1 + bool(LISTS & set(required))]:
            def call(api, _=None, tensor=tensor, in_lists=in_lists):
                api.set_random_seed(1)
                given = {}
                for parameter in required:
                    make = BY_NAME.get(parameter, tensor)
                    value = make(api, parameter)
                    given[parameter] = [value, make(api, parameter + "b")] if in_lists and parameter in LISTS else value
                return getattr(getattr(api, module) if module else api, name)(**given)
            yield call
