"""Training: optimizers, learning rates, averages, checkpoints, sessions that are watched over, and the messages of training data.

Names are looked up in their modules when they are first used.
"""

from __future__ import annotations

from flowmill._internal import lazy as _lazy
from flowmill.train._readers import (
    CheckpointReader, NewCheckpointReader, checkpoint_exists, get_checkpoint_state, latest_checkpoint, list_variables, load_checkpoint, load_variable,
)

_BY_MODULE = {
    "inputs": "batch batch_join input_producer limit_epochs match_filenames_once maybe_batch maybe_batch_join maybe_shuffle_batch "
              "maybe_shuffle_batch_join range_input_producer shuffle_batch shuffle_batch_join slice_input_producer string_input_producer",
    "_checkpoint_hooks": "CheckpointSaverHook CheckpointSaverListener",
    "_progress": "ProgressHook",
    "_report_hooks": "LoggingTensorHook ProfilerHook StepCounterHook SummarySaverHook",
    "_steps": "SecondOrStepTimer",
    "basic_session_run_hooks": "FeedFnHook FinalOpsHook GlobalStepWaiterHook NanLossDuringTrainingError NanTensorHook StopAtStepHook",
    "basic_loops": "basic_train_loop",
    "checkpoint": "Checkpoint CheckpointManager CheckpointOptions",
    "checkpoint_utils": "init_from_checkpoint",
    "cluster": "ClusterSpec",
    "coordinator": "Coordinator LooperThread",
    "device_setter": "replica_device_setter",
    "learning_rate_decay": "cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay linear_cosine_decay natural_exp_decay "
                           "noisy_linear_cosine_decay piecewise_constant piecewise_constant_decay polynomial_decay",
    "monitored_session": "ChiefSessionCreator MonitoredSession MonitoredTrainingSession Scaffold SessionCreator SingularMonitoredSession "
                         "WorkerSessionCreator",
    "moving_averages": "ExponentialMovingAverage",
    "optimizer": "Optimizer",
    "optimizers": "AdadeltaOptimizer AdagradDAOptimizer AdagradOptimizer AdamOptimizer FtrlOptimizer GradientDescentOptimizer MomentumOptimizer "
                  "ProximalAdagradOptimizer ProximalGradientDescentOptimizer RMSPropOptimizer",
    "checkpoint_management": "checkpoints_iterator generate_checkpoint_state_proto get_checkpoint_mtimes remove_checkpoint update_checkpoint_state",
    "quantize_training": "do_quantize_training_on_graphdef",
    "queue_runner": "QueueRunner add_queue_runner start_queue_runners",
    "sdca": "sdca_fprint sdca_optimizer sdca_shrink_l1",
    "saver": "Saver export_meta_graph import_meta_graph",
    "session_manager": "SessionManager",
    "session_run_hook": "SessionRunArgs SessionRunContext SessionRunHook SessionRunValues",
    "supervisor": "Supervisor",
    "sync_replicas_optimizer": "SyncReplicasOptimizer",
    "warm_starting": "VocabInfo warm_start",
    "training_util": "assert_global_step create_global_step get_global_step get_or_create_global_step global_step",
}

# Names of other modules that are also reached as ``tf.train.name``.
_ELSEWHERE = {"io._write_graph": "write_graph", "summary.writer": "summary_iterator"}

_NAMES = _lazy.table(__name__, _BY_MODULE) | _lazy.table("flowmill", _ELSEWHERE) | _lazy.messages(
    "BytesList CheckpointState ClusterDef Example Feature FeatureList FeatureLists Features FloatList Int64List JobDef SaverDef "
    "SequenceExample ServerDef"
)

__all__ = [
    "CheckpointReader", "NewCheckpointReader", "checkpoint_exists", "get_checkpoint_state", "latest_checkpoint", "list_variables",
    "load_checkpoint", "load_variable", *sorted(_NAMES),
]

__getattr__, __dir__ = _lazy.attach(__name__, _NAMES)
