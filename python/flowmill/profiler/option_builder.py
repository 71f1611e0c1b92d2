"""Options of profiles."""

from __future__ import annotations

import copy

# The name under which options account for trainable variables.
TRAINABLE_VARIABLES = "_trainable_variables"

_DEFAULTS = {
    "max_depth": 100, "min_bytes": 0, "min_micros": 0, "min_params": 0, "min_float_ops": 0, "min_occurrence": 0, "order_by": "name",
    "account_type_regexes": [".*"], "start_name_regexes": [".*"], "trim_name_regexes": [], "show_name_regexes": [".*"],
    "hide_name_regexes": [], "account_displayed_op_only": False, "select": ["micros"], "step": -1, "output": "stdout",
}


class ProfileOptionBuilder:
    """Builds the options of :func:`flowmill.profiler.profile`: each method returns the builder, and `build` the options as a dictionary.

    Args:
        options: the options to begin with.
    """

    def __init__(self, options: dict | None = None):
        self._options = copy.deepcopy(_DEFAULTS if options is None else options)

    @staticmethod
    def trainable_variables_parameter() -> dict:
        """Returns options that show the number of parameters of trainable variables."""
        return copy.deepcopy({**_DEFAULTS, "max_depth": 10000, "account_type_regexes": [TRAINABLE_VARIABLES], "account_displayed_op_only": True,
                              "select": ["params"]})

    @staticmethod
    def float_operation() -> dict:
        """Returns options that show operations on floating-point numbers."""
        return copy.deepcopy({**_DEFAULTS, "max_depth": 10000, "min_float_ops": 1, "order_by": "float_ops", "account_displayed_op_only": True,
                              "select": ["float_ops"]})

    @staticmethod
    def time_and_memory(min_micros: int = 1, min_bytes: int = 1, min_accelerator_micros: int = 0, min_cpu_micros: int = 0, min_peak_bytes: int = 0,
                        min_residual_bytes: int = 0, min_output_bytes: int = 0) -> dict:
        """Returns options that show times and memory of at least so much."""
        return copy.deepcopy({
            **_DEFAULTS, "max_depth": 10000, "min_bytes": min_bytes, "min_peak_bytes": min_peak_bytes, "min_residual_bytes": min_residual_bytes,
            "min_output_bytes": min_output_bytes, "min_micros": min_micros, "min_accelerator_micros": min_accelerator_micros,
            "min_cpu_micros": min_cpu_micros, "order_by": "micros", "account_displayed_op_only": True, "select": ["micros", "bytes"]})

    def build(self) -> dict:
        """Returns a copy of the options."""
        return copy.deepcopy(self._options)

    def _with(self, **options) -> ProfileOptionBuilder:
        self._options.update(copy.deepcopy(options))
        return self

    def with_max_depth(self, max_depth: int) -> ProfileOptionBuilder:
        """Shows at most so many levels."""
        return self._with(max_depth=max_depth)

    def with_min_memory(self, min_bytes: int = 0, min_peak_bytes: int = 0, min_residual_bytes: int = 0,
                        min_output_bytes: int = 0) -> ProfileOptionBuilder:
        """Shows nodes with at least so many bytes."""
        return self._with(min_bytes=min_bytes, min_peak_bytes=min_peak_bytes, min_residual_bytes=min_residual_bytes, min_output_bytes=min_output_bytes)

    def with_min_execution_time(self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0) -> ProfileOptionBuilder:
        """Shows nodes that take at least so many microseconds."""
        return self._with(min_micros=min_micros, min_accelerator_micros=min_accelerator_micros, min_cpu_micros=min_cpu_micros)

    def with_min_parameters(self, min_params: int) -> ProfileOptionBuilder:
        """Shows nodes with at least so many parameters."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> ProfileOptionBuilder:
        """Shows ops and lines with at least so many nodes."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> ProfileOptionBuilder:
        """Shows nodes with at least so many operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: list[str]) -> ProfileOptionBuilder:
        """Counts only nodes of which an op, a device, or a name from an `OpLogProto` matches one of these expressions."""
        return self._with(account_type_regexes=account_type_regexes)

    def with_node_names(self, start_name_regexes: list[str] | None = None, show_name_regexes: list[str] | None = None,
                        hide_name_regexes: list[str] | None = None, trim_name_regexes: list[str] | None = None) -> ProfileOptionBuilder:
        """Selects nodes by their names.

        Args:
            start_name_regexes: the trees begin at these.
            show_name_regexes: these are shown.
            hide_name_regexes: these are not.
            trim_name_regexes: what is below these is not.
        """
        names = {"start_name_regexes": start_name_regexes, "show_name_regexes": show_name_regexes, "hide_name_regexes": hide_name_regexes,
                 "trim_name_regexes": trim_name_regexes}
        return self._with(**{key: value for key, value in names.items() if value is not None})

    def account_displayed_op_only(self, is_true: bool) -> ProfileOptionBuilder:
        """Counts only nodes that are shown, if it is true."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> ProfileOptionBuilder:
        """Writes nothing."""
        return self._with(output="none")

    def with_stdout_output(self) -> ProfileOptionBuilder:
        """Prints the profile."""
        return self._with(output="stdout")

    def with_file_output(self, outfile) -> ProfileOptionBuilder:
        """Writes the profile to a file."""
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file) -> ProfileOptionBuilder:
        """Writes the step's timeline for Perfetto and Chrome to a file ``FILE_STEP``."""
        return self._with(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file) -> ProfileOptionBuilder:
        """Is not supported: profiles are not written in pprof's format.

        Raises:
            NotImplementedError: in any case.
        """
        raise NotImplementedError("profiles are not written in pprof's format; with_timeline_output writes a trace")

    def order_by(self, attribute: str) -> ProfileOptionBuilder:
        """Sorts by ``name`` or by a column, the largest first."""
        return self._with(order_by=attribute)

    def select(self, attributes: list[str]) -> ProfileOptionBuilder:
        """Shows these columns."""
        return self._with(select=attributes)

    def with_step(self, step: int) -> ProfileOptionBuilder:
        """Shows one step of a `Profiler`; for -1 the mean of all."""
        return self._with(step=step)
