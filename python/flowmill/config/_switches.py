"""Settings of TensorFlow's eager execution: they are kept and returned. Sessions read their own `ConfigProto` only, as TensorFlow's do."""

from __future__ import annotations

_settings: dict = {"soft_placement": False, "functions_eagerly": False, "inter_op": 0, "intra_op": 0, "jit": "", "optimizer": {}, "tf32": True}


def get_soft_device_placement() -> bool:
    """Returns what :func:`set_soft_device_placement` has set."""
    return _settings["soft_placement"]


def set_soft_device_placement(enabled: bool) -> None:
    """Keeps the setting; sessions use ``ConfigProto.allow_soft_placement``."""
    _settings["soft_placement"] = bool(enabled)


def functions_run_eagerly() -> bool:
    """Returns what :func:`run_functions_eagerly` has set."""
    return _settings["functions_eagerly"]


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Keeps the setting; there is no eager execution, so functions are always traced."""
    _settings["functions_eagerly"] = bool(run_eagerly)


def get_inter_op_parallelism_threads() -> int:
    """Returns what :func:`set_inter_op_parallelism_threads` has set; 0 leaves the choice to the engine."""
    return _settings["inter_op"]


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Keeps the setting; sessions use ``ConfigProto.inter_op_parallelism_threads``."""
    _settings["inter_op"] = int(num_threads)


def get_intra_op_parallelism_threads() -> int:
    """Returns what :func:`set_intra_op_parallelism_threads` has set; 0 leaves the choice to the engine."""
    return _settings["intra_op"]


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Keeps the setting; sessions use ``ConfigProto.intra_op_parallelism_threads``."""
    _settings["intra_op"] = int(num_threads)


def get_jit() -> str:
    """Returns what :func:`set_jit` has set: ``"autoclustering"``, or nothing."""
    return _settings["jit"]


def set_jit(enabled: bool | str) -> None:
    """Keeps the setting; there is no compiler that it would switch on.

    Raises:
        ValueError: for a string other than ``"autoclustering"``.
    """
    if isinstance(enabled, str) and enabled not in ("", "autoclustering"):
        raise ValueError(f"Invalid argument for `jit`: {enabled}.")
    _settings["jit"] = "autoclustering" if enabled else ""


def get_experimental_options() -> dict:
    """Returns the options that :func:`set_experimental_options` has set."""
    return {"disable_meta_optimizer": False, "disable_model_pruning": False} | _settings["optimizer"]


def set_experimental_options(options: dict) -> None:
    """Keeps options of the optimizer; sessions use ``ConfigProto.graph_options``."""
    _settings["optimizer"] |= options


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Keeps the setting."""
    _settings["tf32"] = bool(enabled)


def tensor_float_32_execution_enabled() -> bool:
    """Returns what :func:`enable_tensor_float_32_execution` has set."""
    return _settings["tf32"]
