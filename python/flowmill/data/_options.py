"""Options of datasets: hints about how a pipeline runs. An `OptionsDataset` carries them in the graph; they change nothing in what comes out."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from flowmill.data import _wire

# Numbers of elements that cannot be counted.
INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = -1, -2


class AutotuneAlgorithm(enum.Enum):
    """The algorithms that choose parallelism and buffer sizes."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class AutoShardPolicy(enum.IntEnum):
    """The ways to divide a dataset among workers."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.Enum):
    """The ways to treat state outside of a dataset that is saved."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class _Option:
    """An attribute of options: its type, its field in TensorFlow's message, and its default."""

    def __init__(self, kind: type, field: int, doc: str, default: Callable[[], Any] | None = None):
        self.kind, self.field, self.default, self.__doc__ = kind, field, default, doc

    def __set_name__(self, owner, name: str):
        self.name = name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        values = instance._options
        if self.name not in values:
            values[self.name] = None if self.default is None else self.default()
        return values[self.name]

    def __set__(self, instance, value) -> None:
        if not isinstance(value, self.kind):
            raise TypeError(f'Property "{self.name}" must be of type {self.kind}, got: {value} (type: {type(value)})')
        instance._options[self.name] = value


class _Options:
    """Named values; None for those that nobody set."""

    def __init__(self):
        object.__setattr__(self, "_options", {})
        object.__setattr__(self, "_mutable", True)

    @classmethod
    def _declared(cls) -> dict[str, _Option]:
        return {name: option for name, option in vars(cls).items() if isinstance(option, _Option)}

    def __setattr__(self, name: str, value: Any) -> None:
        if not self._mutable:
            raise ValueError("Mutating `tf.data.Options()` returned by `tf.data.Dataset.options()` has no effect. Use "
                             "`tf.data.Dataset.with_options(options)` to set or update dataset options.")
        if not hasattr(type(self), name):
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        object.__setattr__(self, name, value)

    def __eq__(self, other):
        if not isinstance(other, type(self)):
            return NotImplemented
        return all(getattr(self, n) == getattr(other, n) for n in self._declared())

    def __ne__(self, other):
        same = self == other
        return same if same is NotImplemented else not same

    __hash__ = None

    def _freeze(self) -> None:
        """Makes later changes errors, for those of the nested options, too."""
        object.__setattr__(self, "_mutable", False)
        for name in self._declared():
            value = getattr(self, name)
            if isinstance(value, _Options):
                value._freeze()

    def _merged(self, other):
        """Returns options with what either says; `other` has the last word."""
        made = type(self)()
        for name in self._declared():
            mine, theirs = getattr(self, name), getattr(other, name)
            default = getattr(type(self)(), name)
            if isinstance(mine, _Options):
                chosen = mine._merged(theirs)
            elif isinstance(mine, list) and theirs:
                chosen = mine + theirs
            else:
                chosen = mine if theirs == default else theirs
            if chosen != default:
                made._options[name] = chosen
        return made

    def _serialized(self) -> bytes:
        """Returns TensorFlow's message of them."""
        fields = []
        for name, option in self._declared().items():
            value = getattr(self, name)
            if isinstance(value, _Options):
                fields.append((option.field, value._serialized()))
            elif isinstance(value, enum.Enum):
                fields.append((option.field, value.value))
            elif isinstance(value, list):
                fields.extend((option.field, str(each).encode()) for each in value)
            elif value is not None:
                fields.append((option.field, value.encode() if isinstance(value, str) else value))
        return _wire.message(fields)


class AutotuneOptions(_Options):
    """Hints about choosing parallelism and buffer sizes."""

    enabled = _Option(bool, 1, "Whether to choose them while the pipeline runs.")
    cpu_budget = _Option(int, 2, "The number of cores to use.")
    ram_budget = _Option(int, 3, "The number of bytes to use.")
    autotune_algorithm = _Option(AutotuneAlgorithm, 4, "The algorithm.")
    initial_parallelism = _Option(int, 5, "The parallelism to begin with.")
    min_parallelism = _Option(int, 6, "The least parallelism.")


class DistributeOptions(_Options):
    """Hints about several workers."""

    auto_shard_policy = _Option(AutoShardPolicy, 1, "How the dataset is divided among them.", lambda: AutoShardPolicy.AUTO)
    num_devices = _Option(int, 2, "The number of devices of a worker.")

    def _serialized(self) -> bytes:
        fields = [] if self.auto_shard_policy == AutoShardPolicy.AUTO else [(1, self.auto_shard_policy.value)]
        return _wire.message(fields if self.num_devices is None else [*fields, (2, self.num_devices)])


class OptimizationOptions(_Options):
    """Hints about rewriting a pipeline."""

    apply_default_optimizations = _Option(bool, 1, "Whether to rewrite where nothing is said.")
    filter_fusion = _Option(bool, 6, "Whether to fuse filters.")
    map_and_batch_fusion = _Option(bool, 9, "Whether to fuse a map and a batch.")
    map_and_filter_fusion = _Option(bool, 10, "Whether to fuse a map and a filter.")
    map_fusion = _Option(bool, 11, "Whether to fuse maps.")
    map_parallelization = _Option(bool, 12, "Whether to make maps parallel.")
    noop_elimination = _Option(bool, 14, "Whether to leave out what does nothing.")
    parallel_batch = _Option(bool, 15, "Whether to copy elements of a batch in parallel.")
    shuffle_and_repeat_fusion = _Option(bool, 17, "Whether to fuse a shuffle and a repeat.")
    filter_parallelization = _Option(bool, 18, "Whether to make filters parallel.")
    inject_prefetch = _Option(bool, 19, "Whether to end with a prefetch.")
    seq_interleave_prefetch = _Option(bool, 21, "Whether a parallel interleave becomes a sequential one that prefetches.")


class ServiceOptions(_Options):
    """Hints about a service of datasets."""

    pinned = _Option(bool, 1, "Whether data is in pinned memory.")


class ThreadingOptions(_Options):
    """Hints about threads."""

    max_intra_op_parallelism = _Option(int, 1, "The number of threads of one operation.")
    private_threadpool_size = _Option(int, 2, "The number of threads of a pool for the dataset alone.")


class Options(_Options):
    """Hints that :meth:`Dataset.with_options` takes. What nobody set is None; some hold hints of their own.

    Raises:
        AttributeError: for a name that is no option.
        TypeError: for a value of another type.
        ValueError: for options that belong to a dataset.
    """

    deterministic = _Option(bool, 1, "Whether elements come in a fixed order.")
    experimental_distribute = _Option(DistributeOptions, 2, "Hints about several workers.", DistributeOptions)
    experimental_optimization = _Option(OptimizationOptions, 3, "Hints about rewriting the pipeline.", OptimizationOptions)
    experimental_slack = _Option(bool, 4, "Whether the last prefetch leaves time to the step.")
    threading = _Option(ThreadingOptions, 5, "Hints about threads.", ThreadingOptions)
    experimental_external_state_policy = _Option(ExternalStatePolicy, 6, "What to do about state outside of a dataset that is saved.")
    autotune = _Option(AutotuneOptions, 7, "Hints about choosing parallelism and buffer sizes.", AutotuneOptions)
    experimental_symbolic_checkpoint = _Option(bool, 8, "Whether checkpoints hold positions in sources instead of buffers.")
    experimental_warm_start = _Option(bool, 9, "Whether background threads start with the iterator.")
    dataset_name = _Option(str, 10, "A name for messages.")
    framework_type = _Option(list, 11, "The frameworks that made the pipeline.")
    experimental_service = _Option(ServiceOptions, 12, "Hints about a service of datasets.", ServiceOptions)

    @property
    def experimental_deterministic(self) -> bool | None:
        """The former name of :attr:`deterministic`."""
        return self.deterministic

    @experimental_deterministic.setter
    def experimental_deterministic(self, value: bool) -> None:
        self.deterministic = value

    @property
    def experimental_threading(self) -> ThreadingOptions:
        """The former name of :attr:`threading`."""
        return self.threading

    @experimental_threading.setter
    def experimental_threading(self, value: ThreadingOptions) -> None:
        self.threading = value

    def __init__(self) -> None:
        super().__init__()

    def merge(self, options: Options) -> Options:
        """Returns options with what either says; `options` has the last word.

        Raises:
            TypeError: for what are no options.
        """
        if not isinstance(options, Options):
            raise TypeError(f"Could not merge incompatible options of type {type(options)} and {type(self)}.")
        return self._merged(options)
