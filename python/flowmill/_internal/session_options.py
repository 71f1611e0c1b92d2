"""Options of sessions."""

from __future__ import annotations

from typing import Any


class SessionOptions:
    """The options of a session's steps: those of a `ConfigProto` and further ones. Pass one as ``Session(config=...)``.

    Args:
        config: a `ConfigProto` to begin with; the other arguments go before what it says.
        intra_op_threads: threads inside kernels; 0 is one a core.
        inter_op_threads: threads that run nodes beside each other; 0 is one a core.
        device_count: number of devices by type, such as ``{"CPU": 2}``. A session has a GPU only if it asks for one: ``{"GPU": 1}``.
        allow_soft_placement: ignores the type and the number of a requested device, and colocation, where they cannot be satisfied.
        optimize: rewrites graphs before they run.
        lower: inlines called functions, branches and loops into the graph that uses them; otherwise their nodes call functions.
        disabled_passes: names of rewriting passes to leave out.
        strands: runs chains of cheap nodes as one unit.
        loops: runs loops with nothing to overlap without frames.
        parallel_iterations: in place of what the graph says, for every loop whose iterations it lets overlap at all.
        log_device_placement: prints the device of each node that is placed, as ``name: (Op): device``, and the physical devices.
        place_pruned_graph: places the nodes that a step needs, and not all there are.
        thread_pools: pairs of a number of threads and a name that sessions share the pool by; `RunOptions.inter_op_thread_pool` chooses.
        timeout: seconds after which a step ends with `DeadlineExceededError`.
        gpu_fraction: the part of a GPU's memory that may be used; None leaves the driver its reserve.
        gpu_growth: allocates a GPU's memory when it is needed, and not all at once.
        placement: ``"simple"``, by TensorFlow's rules, or ``"cost_model"``, by the simulated time of a step.
        machine: the path of the description of the devices' speeds for the cost model, which ``flowmill calibrate`` writes.
        placement_measured_steps: with ``"cost_model"``, the number of measured steps of a signature (see `build_cost_model`) after which its nodes are
            placed again by the measured costs, and once more whenever the number has doubled; 0 never does.
        placement_min_gain: the share of the simulated time that a new placement must save to replace the running plan.
        build_cost_model: measures the costs of nodes in every so many steps of each signature, for `RunMetadata.cost_graph`; 0 never does.
        build_cost_model_after: steps of each signature before costs are measured.
        enable_recv_scheduling: delays receives of tensors from other devices until the tensors are soon needed, so that less memory is in use at once.
    """

    def __init__(self, config=None, **options) -> None:
        unknown = options.keys() - _SWITCHES
        if unknown:
            raise TypeError(f"SessionOptions has no argument {sorted(unknown)[0]!r}; it has {', '.join(sorted(_SWITCHES))}.")
        self._options: dict[str, Any] = {} if config is None else _of_config(config)
        self._options.update(options)

    def __repr__(self):
        return f"SessionOptions({', '.join(f'{k}={v!r}' for k, v in self._options.items())})"


_SWITCHES = {
    "intra_op_threads", "inter_op_threads", "device_count", "allow_soft_placement", "optimize", "lower", "disabled_passes", "strands", "loops",
    "parallel_iterations", "place_pruned_graph", "thread_pools", "timeout", "gpu_fraction", "gpu_growth",
    "log_device_placement", "placement", "machine", "build_cost_model", "build_cost_model_after", "enable_recv_scheduling",
    "placement_measured_steps", "placement_min_gain",
}


# The entry of `RewriterConfig.custom_optimizers` that chooses placement by the cost model. Its parameters are `machine` (s, the path of a description),
# `measured_steps` (i) and `min_gain` (f).
_COST_MODEL_PLACEMENT = "cost_model_placement"


def _of_config(config) -> dict[str, Any]:
    """Returns the options of a `ConfigProto`, Flowmill's or TensorFlow's."""
    if not hasattr(config, "inter_op_parallelism_threads"):
        raise TypeError(f"Argument `config` must be a tf.ConfigProto, but got {type(config).__name__!r}")
    options = {
        "intra_op_threads": max(config.intra_op_parallelism_threads, 0),
        "inter_op_threads": 1 if config.inter_op_parallelism_threads < 0 else config.inter_op_parallelism_threads,
        "device_count": {kind: max(count, 0) for kind, count in config.device_count.items()},
        "allow_soft_placement": config.allow_soft_placement,
        "log_device_placement": config.log_device_placement,
    }
    if options["device_count"].get("GPU"):
        if config.gpu_options.per_process_gpu_memory_fraction > 0:
            options["gpu_fraction"] = config.gpu_options.per_process_gpu_memory_fraction
        options["gpu_growth"] = config.gpu_options.allow_growth
    graph_options = config.graph_options
    options["place_pruned_graph"] = graph_options.place_pruned_graph
    options["enable_recv_scheduling"] = graph_options.enable_recv_scheduling
    options["build_cost_model"] = max(graph_options.build_cost_model, 0)
    options["build_cost_model_after"] = max(graph_options.build_cost_model_after, 0)
    for optimizer in graph_options.rewrite_options.custom_optimizers:
        if optimizer.name == _COST_MODEL_PLACEMENT:
            options["placement"] = "cost_model"
            if "machine" in optimizer.parameter_map:
                options["machine"] = optimizer.parameter_map["machine"].s.decode()
            if "measured_steps" in optimizer.parameter_map:
                options["placement_measured_steps"] = max(optimizer.parameter_map["measured_steps"].i, 0)
            if "min_gain" in optimizer.parameter_map:
                options["placement_min_gain"] = optimizer.parameter_map["min_gain"].f
    # Two names of one pass: older TensorFlows have the first alone. 1 and 3 are RewriterConfig.ON and AGGRESSIVE.
    rewrites = [getattr(graph_options.rewrite_options, f"auto_mixed_precision_{name}", 0) for name in ("mkl", "onednn_bfloat16")]
    if any(toggle in (1, 3) for toggle in rewrites):
        options["inference_precision"] = "bf16"
    options["thread_pools"] = [(max(p.num_threads, 0), p.global_name) for p in config.session_inter_op_thread_pool]
    # -1 is OptimizerOptions.L0.
    if graph_options.optimizer_options.opt_level == -1 or graph_options.rewrite_options.disable_meta_optimizer:
        options["optimize"] = False
    if config.operation_timeout_in_ms > 0:
        options["timeout"] = config.operation_timeout_in_ms / 1000
    return options
