"""Training: optimizers, learning rates, averages, checkpoints, sessions that are watched over, and the messages of training data.

Names are looked up in their modules when they are first asked for.
"""

from __future__ import annotations

import importlib

from flowmill import _protos
from flowmill.train._readers import (
    CheckpointReader, NewCheckpointReader, checkpoint_exists, get_checkpoint_state, latest_checkpoint, list_variables, load_checkpoint, load_variable,
)

_MESSAGES = frozenset((
    "BytesList", "CheckpointState", "ClusterDef", "Example", "Feature", "FeatureList", "FeatureLists", "Features", "FloatList", "Int64List",
    "JobDef", "SaverDef", "SequenceExample", "ServerDef",
))

_BY_MODULE = {
    "inputs": "batch batch_join input_producer limit_epochs match_filenames_once maybe_batch maybe_batch_join maybe_shuffle_batch "
              "maybe_shuffle_batch_join range_input_producer shuffle_batch shuffle_batch_join slice_input_producer string_input_producer",
    "_checkpoint_hooks": "CheckpointSaverHook CheckpointSaverListener",
    "_report_hooks": "LoggingTensorHook ProfilerHook StepCounterHook SummarySaverHook",
    "_steps": "SecondOrStepTimer",
    "basic_session_run_hooks": "FeedFnHook FinalOpsHook GlobalStepWaiterHook NanLossDuringTrainingError NanTensorHook StopAtStepHook",
    "checkpoint_utils": "init_from_checkpoint",
    "coordinator": "Coordinator LooperThread",
    "learning_rate_decay": "cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay linear_cosine_decay natural_exp_decay "
                           "noisy_linear_cosine_decay piecewise_constant piecewise_constant_decay polynomial_decay",
    "monitored_session": "ChiefSessionCreator MonitoredSession MonitoredTrainingSession Scaffold SessionCreator SingularMonitoredSession "
                         "WorkerSessionCreator",
    "moving_averages": "ExponentialMovingAverage",
    "optimizer": "Optimizer",
    "optimizers": "AdadeltaOptimizer AdagradDAOptimizer AdagradOptimizer AdamOptimizer FtrlOptimizer GradientDescentOptimizer MomentumOptimizer "
                  "ProximalAdagradOptimizer ProximalGradientDescentOptimizer RMSPropOptimizer",
    "checkpoint_management": "checkpoints_iterator generate_checkpoint_state_proto get_checkpoint_mtimes remove_checkpoint update_checkpoint_state",
    "queue_runner": "QueueRunner add_queue_runner start_queue_runners",
    "saver": "Saver export_meta_graph import_meta_graph",
    "session_manager": "SessionManager",
    "session_run_hook": "SessionRunArgs SessionRunContext SessionRunHook SessionRunValues",
    "supervisor": "Supervisor",
    "training_util": "assert_global_step create_global_step get_global_step get_or_create_global_step global_step",
}
_NAMES = {name: module for module, names in _BY_MODULE.items() for name in names.split()}

__all__ = [
    "CheckpointReader", "NewCheckpointReader", "checkpoint_exists", "get_checkpoint_state", "latest_checkpoint", "list_variables",
    "load_checkpoint", "load_variable", *sorted(_MESSAGES | _NAMES.keys()),
]


def __getattr__(name: str):
    if name == "write_graph":
        from flowmill.io._write_graph import write_graph as found
    elif name == "summary_iterator":
        from flowmill.summary.writer import summary_iterator as found
    elif name in _MESSAGES:
        found = _protos.get(name)
    elif name in _NAMES:
        found = getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__():
    return sorted(_MESSAGES.union(_NAMES, globals()))
