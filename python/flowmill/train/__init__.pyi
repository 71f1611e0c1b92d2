# Made by python/make_stubs from the code.

from flowmill._internal.protos import BytesList as BytesList
from flowmill._internal.protos import CheckpointState as CheckpointState
from flowmill._internal.protos import ClusterDef as ClusterDef
from flowmill._internal.protos import Example as Example
from flowmill._internal.protos import Feature as Feature
from flowmill._internal.protos import FeatureList as FeatureList
from flowmill._internal.protos import FeatureLists as FeatureLists
from flowmill._internal.protos import Features as Features
from flowmill._internal.protos import FloatList as FloatList
from flowmill._internal.protos import Int64List as Int64List
from flowmill._internal.protos import JobDef as JobDef
from flowmill._internal.protos import SaverDef as SaverDef
from flowmill._internal.protos import SequenceExample as SequenceExample
from flowmill._internal.protos import ServerDef as ServerDef
from flowmill.io._write_graph import write_graph as write_graph
from flowmill.summary.writer import summary_iterator as summary_iterator
from flowmill.train._checkpoint_hooks import CheckpointSaverHook as CheckpointSaverHook
from flowmill.train._checkpoint_hooks import CheckpointSaverListener as CheckpointSaverListener
from flowmill.train._progress import ProgressHook as ProgressHook
from flowmill.train._readers import CheckpointReader as CheckpointReader
from flowmill.train._readers import NewCheckpointReader as NewCheckpointReader
from flowmill.train._readers import checkpoint_exists as checkpoint_exists
from flowmill.train._readers import get_checkpoint_state as get_checkpoint_state
from flowmill.train._readers import latest_checkpoint as latest_checkpoint
from flowmill.train._readers import list_variables as list_variables
from flowmill.train._readers import load_checkpoint as load_checkpoint
from flowmill.train._readers import load_variable as load_variable
from flowmill.train._report_hooks import LoggingTensorHook as LoggingTensorHook
from flowmill.train._report_hooks import ProfilerHook as ProfilerHook
from flowmill.train._report_hooks import StepCounterHook as StepCounterHook
from flowmill.train._report_hooks import SummarySaverHook as SummarySaverHook
from flowmill.train._steps import SecondOrStepTimer as SecondOrStepTimer
from flowmill.train.basic_loops import basic_train_loop as basic_train_loop
from flowmill.train.basic_session_run_hooks import FeedFnHook as FeedFnHook
from flowmill.train.basic_session_run_hooks import FinalOpsHook as FinalOpsHook
from flowmill.train.basic_session_run_hooks import GlobalStepWaiterHook as GlobalStepWaiterHook
from flowmill.train.basic_session_run_hooks import NanLossDuringTrainingError as NanLossDuringTrainingError
from flowmill.train.basic_session_run_hooks import NanTensorHook as NanTensorHook
from flowmill.train.basic_session_run_hooks import StopAtStepHook as StopAtStepHook
from flowmill.train.checkpoint import Checkpoint as Checkpoint
from flowmill.train.checkpoint import CheckpointManager as CheckpointManager
from flowmill.train.checkpoint import CheckpointOptions as CheckpointOptions
from flowmill.train.checkpoint_management import checkpoints_iterator as checkpoints_iterator
from flowmill.train.checkpoint_management import generate_checkpoint_state_proto as generate_checkpoint_state_proto
from flowmill.train.checkpoint_management import get_checkpoint_mtimes as get_checkpoint_mtimes
from flowmill.train.checkpoint_management import remove_checkpoint as remove_checkpoint
from flowmill.train.checkpoint_management import update_checkpoint_state as update_checkpoint_state
from flowmill.train.checkpoint_utils import init_from_checkpoint as init_from_checkpoint
from flowmill.train.cluster import ClusterSpec as ClusterSpec
from flowmill.train.coordinator import Coordinator as Coordinator
from flowmill.train.coordinator import LooperThread as LooperThread
from flowmill.train.device_setter import replica_device_setter as replica_device_setter
from flowmill.train.inputs import batch as batch
from flowmill.train.inputs import batch_join as batch_join
from flowmill.train.inputs import input_producer as input_producer
from flowmill.train.inputs import limit_epochs as limit_epochs
from flowmill.train.inputs import match_filenames_once as match_filenames_once
from flowmill.train.inputs import maybe_batch as maybe_batch
from flowmill.train.inputs import maybe_batch_join as maybe_batch_join
from flowmill.train.inputs import maybe_shuffle_batch as maybe_shuffle_batch
from flowmill.train.inputs import maybe_shuffle_batch_join as maybe_shuffle_batch_join
from flowmill.train.inputs import range_input_producer as range_input_producer
from flowmill.train.inputs import shuffle_batch as shuffle_batch
from flowmill.train.inputs import shuffle_batch_join as shuffle_batch_join
from flowmill.train.inputs import slice_input_producer as slice_input_producer
from flowmill.train.inputs import string_input_producer as string_input_producer
from flowmill.train.learning_rate_decay import cosine_decay as cosine_decay
from flowmill.train.learning_rate_decay import cosine_decay_restarts as cosine_decay_restarts
from flowmill.train.learning_rate_decay import exponential_decay as exponential_decay
from flowmill.train.learning_rate_decay import inverse_time_decay as inverse_time_decay
from flowmill.train.learning_rate_decay import linear_cosine_decay as linear_cosine_decay
from flowmill.train.learning_rate_decay import natural_exp_decay as natural_exp_decay
from flowmill.train.learning_rate_decay import noisy_linear_cosine_decay as noisy_linear_cosine_decay
from flowmill.train.learning_rate_decay import piecewise_constant as piecewise_constant
from flowmill.train.learning_rate_decay import piecewise_constant_decay as piecewise_constant_decay
from flowmill.train.learning_rate_decay import polynomial_decay as polynomial_decay
from flowmill.train.monitored_session import ChiefSessionCreator as ChiefSessionCreator
from flowmill.train.monitored_session import MonitoredSession as MonitoredSession
from flowmill.train.monitored_session import MonitoredTrainingSession as MonitoredTrainingSession
from flowmill.train.monitored_session import Scaffold as Scaffold
from flowmill.train.monitored_session import SessionCreator as SessionCreator
from flowmill.train.monitored_session import SingularMonitoredSession as SingularMonitoredSession
from flowmill.train.monitored_session import WorkerSessionCreator as WorkerSessionCreator
from flowmill.train.moving_averages import ExponentialMovingAverage as ExponentialMovingAverage
from flowmill.train.optimizer import Optimizer as Optimizer
from flowmill.train.optimizers import AdadeltaOptimizer as AdadeltaOptimizer
from flowmill.train.optimizers import AdagradDAOptimizer as AdagradDAOptimizer
from flowmill.train.optimizers import AdagradOptimizer as AdagradOptimizer
from flowmill.train.optimizers import AdamOptimizer as AdamOptimizer
from flowmill.train.optimizers import FtrlOptimizer as FtrlOptimizer
from flowmill.train.optimizers import GradientDescentOptimizer as GradientDescentOptimizer
from flowmill.train.optimizers import MomentumOptimizer as MomentumOptimizer
from flowmill.train.optimizers import ProximalAdagradOptimizer as ProximalAdagradOptimizer
from flowmill.train.optimizers import ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer
from flowmill.train.optimizers import RMSPropOptimizer as RMSPropOptimizer
from flowmill.train.quantize_training import do_quantize_training_on_graphdef as do_quantize_training_on_graphdef
from flowmill.train.queue_runner import QueueRunner as QueueRunner
from flowmill.train.queue_runner import add_queue_runner as add_queue_runner
from flowmill.train.queue_runner import start_queue_runners as start_queue_runners
from flowmill.train.saver import Saver as Saver
from flowmill.train.saver import export_meta_graph as export_meta_graph
from flowmill.train.saver import import_meta_graph as import_meta_graph
from flowmill.train.sdca import sdca_fprint as sdca_fprint
from flowmill.train.sdca import sdca_optimizer as sdca_optimizer
from flowmill.train.sdca import sdca_shrink_l1 as sdca_shrink_l1
from flowmill.train.session_manager import SessionManager as SessionManager
from flowmill.train.session_run_hook import SessionRunArgs as SessionRunArgs
from flowmill.train.session_run_hook import SessionRunContext as SessionRunContext
from flowmill.train.session_run_hook import SessionRunHook as SessionRunHook
from flowmill.train.session_run_hook import SessionRunValues as SessionRunValues
from flowmill.train.supervisor import Supervisor as Supervisor
from flowmill.train.sync_replicas_optimizer import SyncReplicasOptimizer as SyncReplicasOptimizer
from flowmill.train.training_util import assert_global_step as assert_global_step
from flowmill.train.training_util import create_global_step as create_global_step
from flowmill.train.training_util import get_global_step as get_global_step
from flowmill.train.training_util import get_or_create_global_step as get_or_create_global_step
from flowmill.train.training_util import global_step as global_step
from flowmill.train.warm_starting import VocabInfo as VocabInfo
from flowmill.train.warm_starting import warm_start as warm_start

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "CheckpointOptions",
    "CheckpointReader",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "CheckpointState",
    "ChiefSessionCreator",
    "ClusterDef",
    "ClusterSpec",
    "Coordinator",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FeedFnHook",
    "FinalOpsHook",
    "FloatList",
    "FtrlOptimizer",
    "GlobalStepWaiterHook",
    "GradientDescentOptimizer",
    "Int64List",
    "JobDef",
    "LoggingTensorHook",
    "LooperThread",
    "MomentumOptimizer",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "NewCheckpointReader",
    "Optimizer",
    "ProfilerHook",
    "ProgressHook",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "QueueRunner",
    "RMSPropOptimizer",
    "Saver",
    "SaverDef",
    "Scaffold",
    "SecondOrStepTimer",
    "SequenceExample",
    "ServerDef",
    "SessionCreator",
    "SessionManager",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "SingularMonitoredSession",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
    "Supervisor",
    "SyncReplicasOptimizer",
    "VocabInfo",
    "WorkerSessionCreator",
    "add_queue_runner",
    "assert_global_step",
    "basic_train_loop",
    "batch",
    "batch_join",
    "checkpoint_exists",
    "checkpoints_iterator",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "do_quantize_training_on_graphdef",
    "exponential_decay",
    "export_meta_graph",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "import_meta_graph",
    "init_from_checkpoint",
    "input_producer",
    "inverse_time_decay",
    "latest_checkpoint",
    "limit_epochs",
    "linear_cosine_decay",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
    "range_input_producer",
    "remove_checkpoint",
    "replica_device_setter",
    "sdca_fprint",
    "sdca_optimizer",
    "sdca_shrink_l1",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "summary_iterator",
    "update_checkpoint_state",
    "warm_start",
    "write_graph",
]
