# Made by python/make_stubs from the code.

import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, MutableSequence

_T = typing.TypeVar("_T")
_M = typing.TypeVar("_M", bound="_Message")

def get(name: str) -> typing.Any: ...

class _Message:
    """The base class of messages: see the class Message of the package protobuf."""
    def ByteSize(self) -> int: ...
    def Clear(self) -> None: ...
    def ClearField(self, field_name: str) -> None: ...
    def CopyFrom(self: _M, other_msg: _M) -> None: ...
    @classmethod
    def FromString(cls: type[_M], s: bytes) -> _M: ...
    def HasField(self, field_name: str) -> bool: ...
    def IsInitialized(self) -> bool: ...
    def ListFields(self) -> list[tuple[typing.Any, typing.Any]]: ...
    def MergeFrom(self: _M, other_msg: _M) -> None: ...
    def MergeFromString(self, serialized: bytes) -> int: ...
    def ParseFromString(self, serialized: bytes) -> int: ...
    def SerializeToString(self, *, deterministic: bool = ...) -> bytes: ...
    def WhichOneof(self, oneof_group: str) -> str | None: ...

class _Messages(typing.Protocol[_T]):
    """A field that holds several messages."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[_T]: ...
    @typing.overload
    def __getitem__(self, index: int) -> _T: ...
    @typing.overload
    def __getitem__(self, index: slice) -> list[_T]: ...
    def __delitem__(self, index: int | slice) -> None: ...
    def add(self, **fields: typing.Any) -> _T: ...
    def append(self, value: _T) -> None: ...
    def extend(self, values: Iterable[_T]) -> None: ...
    def insert(self, index: int, value: _T) -> None: ...
    def pop(self, index: int = ...) -> _T: ...
    def remove(self, value: _T) -> None: ...
    def reverse(self) -> None: ...
    def sort(self, *, key: Callable[[_T], typing.Any] | None = ..., reverse: bool = ...) -> None: ...
    def MergeFrom(self, other: Iterable[_T]) -> None: ...

class _MessageMap(typing.Protocol[_T]):
    """A field that holds messages by name, which are made when they are asked for."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    def __contains__(self, key: object) -> bool: ...
    def __getitem__(self, key: str) -> _T: ...
    def __delitem__(self, key: str) -> None: ...
    def get(self, key: str, default: typing.Any = ...) -> typing.Any: ...
    def get_or_create(self, key: str) -> _T: ...
    def keys(self) -> typing.KeysView[str]: ...
    def values(self) -> typing.ValuesView[_T]: ...
    def items(self) -> typing.ItemsView[str, _T]: ...
    def pop(self, key: str) -> _T: ...
    def clear(self) -> None: ...
    def MergeFrom(self, other: Mapping[str, _T]) -> None: ...

class AdviceProto(_Message):
    class Checker(_Message):
        @property
        def reports(self) -> MutableSequence[str]: ...
        def __init__(self, *, reports: Iterable[str] = ...) -> None: ...
    @property
    def checkers(self) -> _MessageMap[AdviceProto.Checker]: ...
    def __init__(self, *, checkers: Mapping[str, AdviceProto.Checker] = ...) -> None: ...

class AllocationDescription(_Message):
    requested_bytes: int
    allocated_bytes: int
    allocator_name: str
    allocation_id: int
    has_single_reference: bool
    ptr: int
    def __init__(
        self,
        *,
        requested_bytes: int | None = ...,
        allocated_bytes: int | None = ...,
        allocator_name: str | None = ...,
        allocation_id: int | None = ...,
        has_single_reference: bool | None = ...,
        ptr: int | None = ...,
    ) -> None: ...

class AllocationRecord(_Message):
    alloc_micros: int
    alloc_bytes: int
    def __init__(self, *, alloc_micros: int | None = ..., alloc_bytes: int | None = ...) -> None: ...

class AllocatorMemoryUsed(_Message):
    allocator_name: str
    total_bytes: int
    peak_bytes: int
    live_bytes: int
    @property
    def allocation_records(self) -> _Messages[AllocationRecord]: ...
    allocator_bytes_in_use: int
    def __init__(
        self,
        *,
        allocator_name: str | None = ...,
        total_bytes: int | None = ...,
        peak_bytes: int | None = ...,
        live_bytes: int | None = ...,
        allocation_records: Iterable[AllocationRecord | Mapping[str, typing.Any]] = ...,
        allocator_bytes_in_use: int | None = ...,
    ) -> None: ...

class AssetFileDef(_Message):
    @property
    def tensor_info(self) -> TensorInfo: ...
    filename: str
    def __init__(self, *, tensor_info: TensorInfo | Mapping[str, typing.Any] | None = ..., filename: str | None = ...) -> None: ...

class AttrValue(_Message):
    class ListValue(_Message):
        @property
        def s(self) -> MutableSequence[bytes]: ...
        @property
        def i(self) -> MutableSequence[int]: ...
        @property
        def f(self) -> MutableSequence[float]: ...
        @property
        def b(self) -> MutableSequence[bool]: ...
        @property
        def type(self) -> MutableSequence[int]: ...
        @property
        def shape(self) -> _Messages[TensorShapeProto]: ...
        @property
        def tensor(self) -> _Messages[TensorProto]: ...
        @property
        def func(self) -> _Messages[NameAttrList]: ...
        def __init__(
            self,
            *,
            s: Iterable[bytes] = ...,
            i: Iterable[int] = ...,
            f: Iterable[float] = ...,
            b: Iterable[bool] = ...,
            type: Iterable[int] = ...,
            shape: Iterable[TensorShapeProto | Mapping[str, typing.Any]] = ...,
            tensor: Iterable[TensorProto | Mapping[str, typing.Any]] = ...,
            func: Iterable[NameAttrList | Mapping[str, typing.Any]] = ...,
        ) -> None: ...
    s: bytes
    i: int
    f: float
    b: bool
    type: int
    @property
    def shape(self) -> TensorShapeProto: ...
    @property
    def tensor(self) -> TensorProto: ...
    @property
    def list(self) -> AttrValue.ListValue: ...
    @property
    def func(self) -> NameAttrList: ...
    placeholder: str
    def __init__(
        self,
        *,
        s: bytes | None = ...,
        i: int | None = ...,
        f: float | None = ...,
        b: bool | None = ...,
        type: int | str | None = ...,
        shape: TensorShapeProto | Mapping[str, typing.Any] | None = ...,
        tensor: TensorProto | Mapping[str, typing.Any] | None = ...,
        list: AttrValue.ListValue | Mapping[str, typing.Any] | None = ...,
        func: NameAttrList | Mapping[str, typing.Any] | None = ...,
        placeholder: str | None = ...,
    ) -> None: ...

class AutoParallelOptions(_Message):
    enable: bool
    num_replicas: int
    def __init__(self, *, enable: bool | None = ..., num_replicas: int | None = ...) -> None: ...

class BoundedTensorSpecProto(_Message):
    name: str
    @property
    def shape(self) -> TensorShapeProto: ...
    dtype: int
    @property
    def minimum(self) -> TensorProto: ...
    @property
    def maximum(self) -> TensorProto: ...
    def __init__(
        self,
        *,
        name: str | None = ...,
        shape: TensorShapeProto | Mapping[str, typing.Any] | None = ...,
        dtype: int | str | None = ...,
        minimum: TensorProto | Mapping[str, typing.Any] | None = ...,
        maximum: TensorProto | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class BytesList(_Message):
    @property
    def value(self) -> MutableSequence[bytes]: ...
    def __init__(self, *, value: Iterable[bytes] = ...) -> None: ...

class CapturedTensor(_Message):
    name: str
    concrete_function: str
    def __init__(self, *, name: str | None = ..., concrete_function: str | None = ...) -> None: ...

class CheckpointState(_Message):
    model_checkpoint_path: str
    @property
    def all_model_checkpoint_paths(self) -> MutableSequence[str]: ...
    @property
    def all_model_checkpoint_timestamps(self) -> MutableSequence[float]: ...
    last_preserved_timestamp: float
    def __init__(
        self,
        *,
        model_checkpoint_path: str | None = ...,
        all_model_checkpoint_paths: Iterable[str] = ...,
        all_model_checkpoint_timestamps: Iterable[float] = ...,
        last_preserved_timestamp: float | None = ...,
    ) -> None: ...

class ClusterDef(_Message):
    @property
    def job(self) -> _Messages[JobDef]: ...
    def __init__(self, *, job: Iterable[JobDef | Mapping[str, typing.Any]] = ...) -> None: ...

class ClusterDeviceFilters(_Message):
    @property
    def jobs(self) -> _Messages[JobDeviceFilters]: ...
    def __init__(self, *, jobs: Iterable[JobDeviceFilters | Mapping[str, typing.Any]] = ...) -> None: ...

class CodeDef(_Message):
    class Trace(_Message):
        file_id: int
        lineno: int
        function_id: int
        line_id: int
        func_start_line: int
        def __init__(
            self,
            *,
            file_id: int | None = ...,
            lineno: int | None = ...,
            function_id: int | None = ...,
            line_id: int | None = ...,
            func_start_line: int | None = ...,
        ) -> None: ...
    @property
    def traces(self) -> _Messages[CodeDef.Trace]: ...
    def __init__(self, *, traces: Iterable[CodeDef.Trace | Mapping[str, typing.Any]] = ...) -> None: ...

class CollectionDef(_Message):
    class NodeList(_Message):
        @property
        def value(self) -> MutableSequence[str]: ...
        def __init__(self, *, value: Iterable[str] = ...) -> None: ...
    class BytesList(_Message):
        @property
        def value(self) -> MutableSequence[bytes]: ...
        def __init__(self, *, value: Iterable[bytes] = ...) -> None: ...
    class Int64List(_Message):
        @property
        def value(self) -> MutableSequence[int]: ...
        def __init__(self, *, value: Iterable[int] = ...) -> None: ...
    class FloatList(_Message):
        @property
        def value(self) -> MutableSequence[float]: ...
        def __init__(self, *, value: Iterable[float] = ...) -> None: ...
    class AnyList(_Message):
        @property
        def value(self) -> _Messages[typing.Any]: ...
        def __init__(self, *, value: Iterable[typing.Any | Mapping[str, typing.Any]] = ...) -> None: ...
    @property
    def node_list(self) -> CollectionDef.NodeList: ...
    @property
    def bytes_list(self) -> CollectionDef.BytesList: ...
    @property
    def int64_list(self) -> CollectionDef.Int64List: ...
    @property
    def float_list(self) -> CollectionDef.FloatList: ...
    @property
    def any_list(self) -> CollectionDef.AnyList: ...
    def __init__(
        self,
        *,
        node_list: CollectionDef.NodeList | Mapping[str, typing.Any] | None = ...,
        bytes_list: CollectionDef.BytesList | Mapping[str, typing.Any] | None = ...,
        int64_list: CollectionDef.Int64List | Mapping[str, typing.Any] | None = ...,
        float_list: CollectionDef.FloatList | Mapping[str, typing.Any] | None = ...,
        any_list: CollectionDef.AnyList | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class ConfigProto(_Message):
    class Experimental(_Message):
        MLIR_BRIDGE_ROLLOUT_UNSPECIFIED: int
        MLIR_BRIDGE_ROLLOUT_ENABLED: int
        MLIR_BRIDGE_ROLLOUT_DISABLED: int
        collective_group_leader: str
        executor_type: str
        recv_buf_max_chunk: int
        use_numa_affinity: bool
        collective_deterministic_sequential_execution: bool
        collective_nccl: bool
        share_session_state_in_clusterspec_propagation: bool
        disable_thread_spinning: bool
        share_cluster_devices_in_session: bool
        @property
        def session_metadata(self) -> SessionMetadata: ...
        optimize_for_static_graph: bool
        enable_mlir_bridge: bool
        mlir_bridge_rollout: int
        enable_mlir_graph_optimization: bool
        disable_output_partition_graphs: bool
        xla_fusion_autotuner_thresh: int
        use_tfrt: bool
        enable_multi_host: bool
        tfrt_use_ifrt: bool
        backend_server_port: int
        target_tpu: bool
        target_gpu: bool
        stream_merge_threshold: int
        disable_functional_ops_lowering: bool
        xla_prefer_single_graph_cluster: bool
        @property
        def coordination_config(self) -> CoordinationServiceConfig: ...
        disable_optimize_for_static_graph: bool
        disable_eager_executor_streaming_enqueue: bool
        finalize_function_library_runtime: bool
        finalize_resource_manager: bool
        tf2xla_dump_dir: str
        online_cost_analysis: bool
        def __init__(
            self,
            *,
            collective_group_leader: str | None = ...,
            executor_type: str | None = ...,
            recv_buf_max_chunk: int | None = ...,
            use_numa_affinity: bool | None = ...,
            collective_deterministic_sequential_execution: bool | None = ...,
            collective_nccl: bool | None = ...,
            share_session_state_in_clusterspec_propagation: bool | None = ...,
            disable_thread_spinning: bool | None = ...,
            share_cluster_devices_in_session: bool | None = ...,
            session_metadata: SessionMetadata | Mapping[str, typing.Any] | None = ...,
            optimize_for_static_graph: bool | None = ...,
            enable_mlir_bridge: bool | None = ...,
            mlir_bridge_rollout: int | str | None = ...,
            enable_mlir_graph_optimization: bool | None = ...,
            disable_output_partition_graphs: bool | None = ...,
            xla_fusion_autotuner_thresh: int | None = ...,
            use_tfrt: bool | None = ...,
            enable_multi_host: bool | None = ...,
            tfrt_use_ifrt: bool | None = ...,
            backend_server_port: int | None = ...,
            target_tpu: bool | None = ...,
            target_gpu: bool | None = ...,
            stream_merge_threshold: int | None = ...,
            disable_functional_ops_lowering: bool | None = ...,
            xla_prefer_single_graph_cluster: bool | None = ...,
            coordination_config: CoordinationServiceConfig | Mapping[str, typing.Any] | None = ...,
            disable_optimize_for_static_graph: bool | None = ...,
            disable_eager_executor_streaming_enqueue: bool | None = ...,
            finalize_function_library_runtime: bool | None = ...,
            finalize_resource_manager: bool | None = ...,
            tf2xla_dump_dir: str | None = ...,
            online_cost_analysis: bool | None = ...,
        ) -> None: ...
    @property
    def device_count(self) -> MutableMapping[str, int]: ...
    intra_op_parallelism_threads: int
    inter_op_parallelism_threads: int
    use_per_session_threads: bool
    @property
    def session_inter_op_thread_pool(self) -> _Messages[ThreadPoolOptionProto]: ...
    placement_period: int
    @property
    def device_filters(self) -> MutableSequence[str]: ...
    @property
    def gpu_options(self) -> GPUOptions: ...
    @property
    def pluggable_device_options(self) -> GPUOptions: ...
    allow_soft_placement: bool
    log_device_placement: bool
    @property
    def graph_options(self) -> GraphOptions: ...
    operation_timeout_in_ms: int
    @property
    def rpc_options(self) -> RPCOptions: ...
    @property
    def cluster_def(self) -> ClusterDef: ...
    isolate_session_state: bool
    share_cluster_devices_in_session: bool
    @property
    def experimental(self) -> ConfigProto.Experimental: ...
    def __init__(
        self,
        *,
        device_count: Mapping[str, int] = ...,
        intra_op_parallelism_threads: int | None = ...,
        inter_op_parallelism_threads: int | None = ...,
        use_per_session_threads: bool | None = ...,
        session_inter_op_thread_pool: Iterable[ThreadPoolOptionProto | Mapping[str, typing.Any]] = ...,
        placement_period: int | None = ...,
        device_filters: Iterable[str] = ...,
        gpu_options: GPUOptions | Mapping[str, typing.Any] | None = ...,
        pluggable_device_options: GPUOptions | Mapping[str, typing.Any] | None = ...,
        allow_soft_placement: bool | None = ...,
        log_device_placement: bool | None = ...,
        graph_options: GraphOptions | Mapping[str, typing.Any] | None = ...,
        operation_timeout_in_ms: int | None = ...,
        rpc_options: RPCOptions | Mapping[str, typing.Any] | None = ...,
        cluster_def: ClusterDef | Mapping[str, typing.Any] | None = ...,
        isolate_session_state: bool | None = ...,
        share_cluster_devices_in_session: bool | None = ...,
        experimental: ConfigProto.Experimental | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class CoordinatedJob(_Message):
    name: str
    num_tasks: int
    def __init__(self, *, name: str | None = ..., num_tasks: int | None = ...) -> None: ...

class CoordinationServiceConfig(_Message):
    service_type: str
    service_leader: str
    enable_health_check: bool
    cluster_register_timeout_in_ms: int
    cluster_register_with_barrier: bool
    heartbeat_timeout_in_ms: int
    @property
    def coordinated_job_list(self) -> _Messages[CoordinatedJob]: ...
    shutdown_barrier_timeout_in_ms: int
    agent_destruction_without_shutdown: bool
    @property
    def recoverable_jobs(self) -> MutableSequence[str]: ...
    allow_new_incarnation_to_reconnect: bool
    force_disable: bool
    poll_for_error_from_service_at_startup: bool
    def __init__(
        self,
        *,
        service_type: str | None = ...,
        service_leader: str | None = ...,
        enable_health_check: bool | None = ...,
        cluster_register_timeout_in_ms: int | None = ...,
        cluster_register_with_barrier: bool | None = ...,
        heartbeat_timeout_in_ms: int | None = ...,
        coordinated_job_list: Iterable[CoordinatedJob | Mapping[str, typing.Any]] = ...,
        shutdown_barrier_timeout_in_ms: int | None = ...,
        agent_destruction_without_shutdown: bool | None = ...,
        recoverable_jobs: Iterable[str] = ...,
        allow_new_incarnation_to_reconnect: bool | None = ...,
        force_disable: bool | None = ...,
        poll_for_error_from_service_at_startup: bool | None = ...,
    ) -> None: ...

class CostGraphDef(_Message):
    class Node(_Message):
        class InputInfo(_Message):
            preceding_node: int
            preceding_port: int
            def __init__(self, *, preceding_node: int | None = ..., preceding_port: int | None = ...) -> None: ...
        class OutputInfo(_Message):
            size: int
            alias_input_port: int
            @property
            def shape(self) -> TensorShapeProto: ...
            dtype: int
            def __init__(
                self,
                *,
                size: int | None = ...,
                alias_input_port: int | None = ...,
                shape: TensorShapeProto | Mapping[str, typing.Any] | None = ...,
                dtype: int | str | None = ...,
            ) -> None: ...
        name: str
        device: str
        id: int
        @property
        def input_info(self) -> _Messages[CostGraphDef.Node.InputInfo]: ...
        @property
        def output_info(self) -> _Messages[CostGraphDef.Node.OutputInfo]: ...
        temporary_memory_size: int
        persistent_memory_size: int
        host_temp_memory_size: int
        device_temp_memory_size: int
        device_persistent_memory_size: int
        compute_cost: int
        compute_time: int
        memory_time: int
        is_final: bool
        @property
        def control_input(self) -> MutableSequence[int]: ...
        inaccurate: bool
        def __init__(
            self,
            *,
            name: str | None = ...,
            device: str | None = ...,
            id: int | None = ...,
            input_info: Iterable[CostGraphDef.Node.InputInfo | Mapping[str, typing.Any]] = ...,
            output_info: Iterable[CostGraphDef.Node.OutputInfo | Mapping[str, typing.Any]] = ...,
            temporary_memory_size: int | None = ...,
            persistent_memory_size: int | None = ...,
            host_temp_memory_size: int | None = ...,
            device_temp_memory_size: int | None = ...,
            device_persistent_memory_size: int | None = ...,
            compute_cost: int | None = ...,
            compute_time: int | None = ...,
            memory_time: int | None = ...,
            is_final: bool | None = ...,
            control_input: Iterable[int] = ...,
            inaccurate: bool | None = ...,
        ) -> None: ...
    class AggregatedCost(_Message):
        cost: float
        dimension: str
        def __init__(self, *, cost: float | None = ..., dimension: str | None = ...) -> None: ...
    @property
    def node(self) -> _Messages[CostGraphDef.Node]: ...
    @property
    def cost(self) -> _Messages[CostGraphDef.AggregatedCost]: ...
    def __init__(
        self,
        *,
        node: Iterable[CostGraphDef.Node | Mapping[str, typing.Any]] = ...,
        cost: Iterable[CostGraphDef.AggregatedCost | Mapping[str, typing.Any]] = ...,
    ) -> None: ...

class DebugOptions(_Message):
    @property
    def debug_tensor_watch_opts(self) -> _Messages[DebugTensorWatch]: ...
    global_step: int
    reset_disk_byte_usage: bool
    def __init__(
        self,
        *,
        debug_tensor_watch_opts: Iterable[DebugTensorWatch | Mapping[str, typing.Any]] = ...,
        global_step: int | None = ...,
        reset_disk_byte_usage: bool | None = ...,
    ) -> None: ...

class DebugTensorWatch(_Message):
    node_name: str
    output_slot: int
    @property
    def debug_ops(self) -> MutableSequence[str]: ...
    @property
    def debug_urls(self) -> MutableSequence[str]: ...
    tolerate_debug_op_creation_failures: bool
    def __init__(
        self,
        *,
        node_name: str | None = ...,
        output_slot: int | None = ...,
        debug_ops: Iterable[str] = ...,
        debug_urls: Iterable[str] = ...,
        tolerate_debug_op_creation_failures: bool | None = ...,
    ) -> None: ...

class DeviceStepStats(_Message):
    device: str
    @property
    def node_stats(self) -> _Messages[NodeExecStats]: ...
    @property
    def thread_names(self) -> MutableMapping[int, str]: ...
    def __init__(
        self,
        *,
        device: str | None = ...,
        node_stats: Iterable[NodeExecStats | Mapping[str, typing.Any]] = ...,
        thread_names: Mapping[int, str] = ...,
    ) -> None: ...

class DictValue(_Message):
    @property
    def fields(self) -> _MessageMap[StructuredValue]: ...
    def __init__(self, *, fields: Mapping[str, StructuredValue] = ...) -> None: ...

class EmbeddingInfo(_Message):
    tensor_name: str
    metadata_path: str
    bookmarks_path: str
    @property
    def tensor_shape(self) -> MutableSequence[int]: ...
    @property
    def sprite(self) -> SpriteMetadata: ...
    tensor_path: str
    def __init__(
        self,
        *,
        tensor_name: str | None = ...,
        metadata_path: str | None = ...,
        bookmarks_path: str | None = ...,
        tensor_shape: Iterable[int] = ...,
        sprite: SpriteMetadata | Mapping[str, typing.Any] | None = ...,
        tensor_path: str | None = ...,
    ) -> None: ...

class Event(_Message):
    wall_time: float
    step: int
    file_version: str
    graph_def: bytes
    @property
    def summary(self) -> Summary: ...
    @property
    def log_message(self) -> LogMessage: ...
    @property
    def session_log(self) -> SessionLog: ...
    @property
    def tagged_run_metadata(self) -> TaggedRunMetadata: ...
    meta_graph_def: bytes
    @property
    def source_metadata(self) -> SourceMetadata: ...
    def __init__(
        self,
        *,
        wall_time: float | None = ...,
        step: int | None = ...,
        file_version: str | None = ...,
        graph_def: bytes | None = ...,
        summary: Summary | Mapping[str, typing.Any] | None = ...,
        log_message: LogMessage | Mapping[str, typing.Any] | None = ...,
        session_log: SessionLog | Mapping[str, typing.Any] | None = ...,
        tagged_run_metadata: TaggedRunMetadata | Mapping[str, typing.Any] | None = ...,
        meta_graph_def: bytes | None = ...,
        source_metadata: SourceMetadata | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class Example(_Message):
    @property
    def features(self) -> Features: ...
    def __init__(self, *, features: Features | Mapping[str, typing.Any] | None = ...) -> None: ...

class Experiment(_Message):
    name: str
    description: str
    user: str
    time_created_secs: float
    @property
    def hparam_infos(self) -> _Messages[HParamInfo]: ...
    @property
    def metric_infos(self) -> _Messages[MetricInfo]: ...
    def __init__(
        self,
        *,
        name: str | None = ...,
        description: str | None = ...,
        user: str | None = ...,
        time_created_secs: float | None = ...,
        hparam_infos: Iterable[HParamInfo | Mapping[str, typing.Any]] = ...,
        metric_infos: Iterable[MetricInfo | Mapping[str, typing.Any]] = ...,
    ) -> None: ...

class Feature(_Message):
    @property
    def bytes_list(self) -> BytesList: ...
    @property
    def float_list(self) -> FloatList: ...
    @property
    def int64_list(self) -> Int64List: ...
    def __init__(
        self,
        *,
        bytes_list: BytesList | Mapping[str, typing.Any] | None = ...,
        float_list: FloatList | Mapping[str, typing.Any] | None = ...,
        int64_list: Int64List | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class FeatureList(_Message):
    @property
    def feature(self) -> _Messages[Feature]: ...
    def __init__(self, *, feature: Iterable[Feature | Mapping[str, typing.Any]] = ...) -> None: ...

class FeatureLists(_Message):
    @property
    def feature_list(self) -> _MessageMap[FeatureList]: ...
    def __init__(self, *, feature_list: Mapping[str, FeatureList] = ...) -> None: ...

class Features(_Message):
    @property
    def feature(self) -> _MessageMap[Feature]: ...
    def __init__(self, *, feature: Mapping[str, Feature] = ...) -> None: ...

class FloatList(_Message):
    @property
    def value(self) -> MutableSequence[float]: ...
    def __init__(self, *, value: Iterable[float] = ...) -> None: ...

class FullTypeDef(_Message):
    type_id: int
    @property
    def args(self) -> _Messages[FullTypeDef]: ...
    s: str
    i: int
    def __init__(
        self,
        *,
        type_id: int | str | None = ...,
        args: Iterable[FullTypeDef | Mapping[str, typing.Any]] = ...,
        s: str | None = ...,
        i: int | None = ...,
    ) -> None: ...

class FunctionDef(_Message):
    class ArgAttrs(_Message):
        @property
        def attr(self) -> _MessageMap[AttrValue]: ...
        def __init__(self, *, attr: Mapping[str, AttrValue] = ...) -> None: ...
    @property
    def signature(self) -> OpDef: ...
    @property
    def attr(self) -> _MessageMap[AttrValue]: ...
    @property
    def arg_attr(self) -> MutableMapping[int, FunctionDef.ArgAttrs]: ...
    @property
    def resource_arg_unique_id(self) -> MutableMapping[int, int]: ...
    @property
    def node_def(self) -> _Messages[NodeDef]: ...
    @property
    def ret(self) -> MutableMapping[str, str]: ...
    @property
    def control_ret(self) -> MutableMapping[str, str]: ...
    def __init__(
        self,
        *,
        signature: OpDef | Mapping[str, typing.Any] | None = ...,
        attr: Mapping[str, AttrValue] = ...,
        arg_attr: Mapping[int, FunctionDef.ArgAttrs] = ...,
        resource_arg_unique_id: Mapping[int, int] = ...,
        node_def: Iterable[NodeDef | Mapping[str, typing.Any]] = ...,
        ret: Mapping[str, str] = ...,
        control_ret: Mapping[str, str] = ...,
    ) -> None: ...

class FunctionDefLibrary(_Message):
    @property
    def function(self) -> _Messages[FunctionDef]: ...
    @property
    def gradient(self) -> _Messages[GradientDef]: ...
    @property
    def registered_gradients(self) -> _Messages[RegisteredGradient]: ...
    def __init__(
        self,
        *,
        function: Iterable[FunctionDef | Mapping[str, typing.Any]] = ...,
        gradient: Iterable[GradientDef | Mapping[str, typing.Any]] = ...,
        registered_gradients: Iterable[RegisteredGradient | Mapping[str, typing.Any]] = ...,
    ) -> None: ...

class FunctionSpec(_Message):
    DEFAULT: int
    ON: int
    OFF: int
    @property
    def fullargspec(self) -> StructuredValue: ...
    is_method: bool
    @property
    def input_signature(self) -> StructuredValue: ...
    jit_compile: int
    def __init__(
        self,
        *,
        fullargspec: StructuredValue | Mapping[str, typing.Any] | None = ...,
        is_method: bool | None = ...,
        input_signature: StructuredValue | Mapping[str, typing.Any] | None = ...,
        jit_compile: int | str | None = ...,
    ) -> None: ...

class GPUOptions(_Message):
    class Experimental(_Message):
        class VirtualDevices(_Message):
            @property
            def memory_limit_mb(self) -> MutableSequence[float]: ...
            @property
            def priority(self) -> MutableSequence[int]: ...
            @property
            def device_ordinal(self) -> MutableSequence[int]: ...
            def __init__(
                self,
                *,
                memory_limit_mb: Iterable[float] = ...,
                priority: Iterable[int] = ...,
                device_ordinal: Iterable[int] = ...,
            ) -> None: ...
        class StreamMergeOptions(_Message):
            merge_host_to_device_stream: bool
            merge_device_to_host_stream: bool
            merge_device_to_device_stream: bool
            def __init__(
                self,
                *,
                merge_host_to_device_stream: bool | None = ...,
                merge_device_to_host_stream: bool | None = ...,
                merge_device_to_device_stream: bool | None = ...,
            ) -> None: ...
        @property
        def virtual_devices(self) -> _Messages[GPUOptions.Experimental.VirtualDevices]: ...
        num_virtual_devices_per_gpu: int
        use_unified_memory: bool
        num_dev_to_dev_copy_streams: int
        collective_ring_order: str
        timestamped_allocator: bool
        kernel_tracker_max_interval: int
        kernel_tracker_max_bytes: int
        kernel_tracker_max_pending: int
        internal_fragmentation_fraction: float
        use_cuda_malloc_async: bool
        disallow_retry_on_allocation_failure: bool
        gpu_host_mem_limit_in_mb: float
        gpu_host_mem_disallow_growth: bool
        gpu_system_memory_size_in_mb: int
        populate_pjrt_gpu_client_creation_info: bool
        node_id: int
        @property
        def stream_merge_options(self) -> GPUOptions.Experimental.StreamMergeOptions: ...
        def __init__(
            self,
            *,
            virtual_devices: Iterable[GPUOptions.Experimental.VirtualDevices | Mapping[str, typing.Any]] = ...,
            num_virtual_devices_per_gpu: int | None = ...,
            use_unified_memory: bool | None = ...,
            num_dev_to_dev_copy_streams: int | None = ...,
            collective_ring_order: str | None = ...,
            timestamped_allocator: bool | None = ...,
            kernel_tracker_max_interval: int | None = ...,
            kernel_tracker_max_bytes: int | None = ...,
            kernel_tracker_max_pending: int | None = ...,
            internal_fragmentation_fraction: float | None = ...,
            use_cuda_malloc_async: bool | None = ...,
            disallow_retry_on_allocation_failure: bool | None = ...,
            gpu_host_mem_limit_in_mb: float | None = ...,
            gpu_host_mem_disallow_growth: bool | None = ...,
            gpu_system_memory_size_in_mb: int | None = ...,
            populate_pjrt_gpu_client_creation_info: bool | None = ...,
            node_id: int | None = ...,
            stream_merge_options: GPUOptions.Experimental.StreamMergeOptions | Mapping[str, typing.Any] | None = ...,
        ) -> None: ...
    per_process_gpu_memory_fraction: float
    allow_growth: bool
    allocator_type: str
    deferred_deletion_bytes: int
    visible_device_list: str
    polling_active_delay_usecs: int
    polling_inactive_delay_msecs: int
    force_gpu_compatible: bool
    @property
    def experimental(self) -> GPUOptions.Experimental: ...
    def __init__(
        self,
        *,
        per_process_gpu_memory_fraction: float | None = ...,
        allow_growth: bool | None = ...,
        allocator_type: str | None = ...,
        deferred_deletion_bytes: int | None = ...,
        visible_device_list: str | None = ...,
        polling_active_delay_usecs: int | None = ...,
        polling_inactive_delay_msecs: int | None = ...,
        force_gpu_compatible: bool | None = ...,
        experimental: GPUOptions.Experimental | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class GradientDef(_Message):
    function_name: str
    gradient_func: str
    def __init__(self, *, function_name: str | None = ..., gradient_func: str | None = ...) -> None: ...

class GraphDebugInfo(_Message):
    class FileLineCol(_Message):
        file_index: int
        line: int
        col: int
        func: str
        code: str
        def __init__(
            self,
            *,
            file_index: int | None = ...,
            line: int | None = ...,
            col: int | None = ...,
            func: str | None = ...,
            code: str | None = ...,
        ) -> None: ...
    class StackTrace(_Message):
        @property
        def file_line_cols(self) -> _Messages[GraphDebugInfo.FileLineCol]: ...
        @property
        def frame_id(self) -> MutableSequence[int]: ...
        def __init__(
            self,
            *,
            file_line_cols: Iterable[GraphDebugInfo.FileLineCol | Mapping[str, typing.Any]] = ...,
            frame_id: Iterable[int] = ...,
        ) -> None: ...
    @property
    def files(self) -> MutableSequence[str]: ...
    @property
    def frames_by_id(self) -> MutableMapping[int, GraphDebugInfo.FileLineCol]: ...
    @property
    def traces_by_id(self) -> MutableMapping[int, GraphDebugInfo.StackTrace]: ...
    @property
    def traces(self) -> _MessageMap[GraphDebugInfo.StackTrace]: ...
    @property
    def name_to_trace_id(self) -> MutableMapping[str, int]: ...
    def __init__(
        self,
        *,
        files: Iterable[str] = ...,
        frames_by_id: Mapping[int, GraphDebugInfo.FileLineCol] = ...,
        traces_by_id: Mapping[int, GraphDebugInfo.StackTrace] = ...,
        traces: Mapping[str, GraphDebugInfo.StackTrace] = ...,
        name_to_trace_id: Mapping[str, int] = ...,
    ) -> None: ...

class GraphDef(_Message):
    @property
    def node(self) -> _Messages[NodeDef]: ...
    @property
    def versions(self) -> VersionDef: ...
    version: int
    @property
    def library(self) -> FunctionDefLibrary: ...
    @property
    def debug_info(self) -> GraphDebugInfo: ...
    def __init__(
        self,
        *,
        node: Iterable[NodeDef | Mapping[str, typing.Any]] = ...,
        versions: VersionDef | Mapping[str, typing.Any] | None = ...,
        version: int | None = ...,
        library: FunctionDefLibrary | Mapping[str, typing.Any] | None = ...,
        debug_info: GraphDebugInfo | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class GraphNodeProto(_Message):
    name: str
    @property
    def tensor_value(self) -> TFProfTensorProto: ...
    run_count: int
    exec_micros: int
    accelerator_exec_micros: int
    cpu_exec_micros: int
    requested_bytes: int
    peak_bytes: int
    residual_bytes: int
    output_bytes: int
    parameters: int
    float_ops: int
    @property
    def devices(self) -> MutableSequence[str]: ...
    total_definition_count: int
    total_run_count: int
    total_exec_micros: int
    total_accelerator_exec_micros: int
    total_cpu_exec_micros: int
    total_requested_bytes: int
    total_peak_bytes: int
    total_residual_bytes: int
    total_output_bytes: int
    total_parameters: int
    total_float_ops: int
    @property
    def shapes(self) -> _Messages[TensorShapeProto]: ...
    @property
    def input_shapes(self) -> MutableMapping[int, TensorShapeProto]: ...
    @property
    def children(self) -> _Messages[GraphNodeProto]: ...
    def __init__(
        self,
        *,
        name: str | None = ...,
        tensor_value: TFProfTensorProto | Mapping[str, typing.Any] | None = ...,
        run_count: int | None = ...,
        exec_micros: int | None = ...,
        accelerator_exec_micros: int | None = ...,
        cpu_exec_micros: int | None = ...,
        requested_bytes: int | None = ...,
        peak_bytes: int | None = ...,
        residual_bytes: int | None = ...,
        output_bytes: int | None = ...,
        parameters: int | None = ...,
        float_ops: int | None = ...,
        devices: Iterable[str] = ...,
        total_definition_count: int | None = ...,
        total_run_count: int | None = ...,
        total_exec_micros: int | None = ...,
        total_accelerator_exec_micros: int | None = ...,
        total_cpu_exec_micros: int | None = ...,
        total_requested_bytes: int | None = ...,
        total_peak_bytes: int | None = ...,
        total_residual_bytes: int | None = ...,
        total_output_bytes: int | None = ...,
        total_parameters: int | None = ...,
        total_float_ops: int | None = ...,
        shapes: Iterable[TensorShapeProto | Mapping[str, typing.Any]] = ...,
        input_shapes: Mapping[int, TensorShapeProto] = ...,
        children: Iterable[GraphNodeProto | Mapping[str, typing.Any]] = ...,
    ) -> None: ...

class GraphOptions(_Message):
    enable_recv_scheduling: bool
    @property
    def optimizer_options(self) -> OptimizerOptions: ...
    build_cost_model: int
    build_cost_model_after: int
    infer_shapes: bool
    place_pruned_graph: bool
    enable_bfloat16_sendrecv: bool
    timeline_step: int
    @property
    def rewrite_options(self) -> RewriterConfig: ...
    def __init__(
        self,
        *,
        enable_recv_scheduling: bool | None = ...,
        optimizer_options: OptimizerOptions | Mapping[str, typing.Any] | None = ...,
        build_cost_model: int | None = ...,
        build_cost_model_after: int | None = ...,
        infer_shapes: bool | None = ...,
        place_pruned_graph: bool | None = ...,
        enable_bfloat16_sendrecv: bool | None = ...,
        timeline_step: int | None = ...,
        rewrite_options: RewriterConfig | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class HParamInfo(_Message):
    name: str
    display_name: str
    description: str
    type: int
    @property
    def domain_discrete(self) -> typing.Any: ...
    @property
    def domain_interval(self) -> Interval: ...
    def __init__(
        self,
        *,
        name: str | None = ...,
        display_name: str | None = ...,
        description: str | None = ...,
        type: int | str | None = ...,
        domain_discrete: typing.Any | Mapping[str, typing.Any] | None = ...,
        domain_interval: Interval | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class HistogramProto(_Message):
    min: float
    max: float
    num: float
    sum: float
    sum_squares: float
    @property
    def bucket_limit(self) -> MutableSequence[float]: ...
    @property
    def bucket(self) -> MutableSequence[float]: ...
    def __init__(
        self,
        *,
        min: float | None = ...,
        max: float | None = ...,
        num: float | None = ...,
        sum: float | None = ...,
        sum_squares: float | None = ...,
        bucket_limit: Iterable[float] = ...,
        bucket: Iterable[float] = ...,
    ) -> None: ...

class Int64List(_Message):
    @property
    def value(self) -> MutableSequence[int]: ...
    def __init__(self, *, value: Iterable[int] = ...) -> None: ...

class Interval(_Message):
    min_value: float
    max_value: float
    def __init__(self, *, min_value: float | None = ..., max_value: float | None = ...) -> None: ...

class JobDef(_Message):
    name: str
    @property
    def tasks(self) -> MutableMapping[int, str]: ...
    def __init__(self, *, name: str | None = ..., tasks: Mapping[int, str] = ...) -> None: ...

class JobDeviceFilters(_Message):
    name: str
    @property
    def tasks(self) -> MutableMapping[int, TaskDeviceFilters]: ...
    def __init__(self, *, name: str | None = ..., tasks: Mapping[int, TaskDeviceFilters] = ...) -> None: ...

class ListValue(_Message):
    @property
    def values(self) -> _Messages[StructuredValue]: ...
    def __init__(self, *, values: Iterable[StructuredValue | Mapping[str, typing.Any]] = ...) -> None: ...

class LogMessage(_Message):
    UNKNOWN: int
    DEBUGGING: int
    INFO: int
    WARN: int
    ERROR: int
    FATAL: int
    level: int
    message: str
    def __init__(self, *, level: int | str | None = ..., message: str | None = ...) -> None: ...

class MemoryStats(_Message):
    temp_memory_size: int
    persistent_memory_size: int
    @property
    def persistent_tensor_alloc_ids(self) -> MutableSequence[int]: ...
    device_temp_memory_size: int
    device_persistent_memory_size: int
    @property
    def device_persistent_tensor_alloc_ids(self) -> MutableSequence[int]: ...
    def __init__(
        self,
        *,
        temp_memory_size: int | None = ...,
        persistent_memory_size: int | None = ...,
        persistent_tensor_alloc_ids: Iterable[int] = ...,
        device_temp_memory_size: int | None = ...,
        device_persistent_memory_size: int | None = ...,
        device_persistent_tensor_alloc_ids: Iterable[int] = ...,
    ) -> None: ...

class MetaGraphDef(_Message):
    class MetaInfoDef(_Message):
        meta_graph_version: str
        @property
        def stripped_op_list(self) -> OpList: ...
        @property
        def any_info(self) -> typing.Any: ...
        @property
        def tags(self) -> MutableSequence[str]: ...
        tensorflow_version: str
        tensorflow_git_version: str
        stripped_default_attrs: bool
        @property
        def function_aliases(self) -> MutableMapping[str, str]: ...
        def __init__(
            self,
            *,
            meta_graph_version: str | None = ...,
            stripped_op_list: OpList | Mapping[str, typing.Any] | None = ...,
            any_info: typing.Any | Mapping[str, typing.Any] | None = ...,
            tags: Iterable[str] = ...,
            tensorflow_version: str | None = ...,
            tensorflow_git_version: str | None = ...,
            stripped_default_attrs: bool | None = ...,
            function_aliases: Mapping[str, str] = ...,
        ) -> None: ...
    @property
    def meta_info_def(self) -> MetaGraphDef.MetaInfoDef: ...
    @property
    def graph_def(self) -> GraphDef: ...
    @property
    def saver_def(self) -> SaverDef: ...
    @property
    def collection_def(self) -> _MessageMap[CollectionDef]: ...
    @property
    def signature_def(self) -> _MessageMap[SignatureDef]: ...
    @property
    def asset_file_def(self) -> _Messages[AssetFileDef]: ...
    @property
    def object_graph_def(self) -> SavedObjectGraph: ...
    def __init__(
        self,
        *,
        meta_info_def: MetaGraphDef.MetaInfoDef | Mapping[str, typing.Any] | None = ...,
        graph_def: GraphDef | Mapping[str, typing.Any] | None = ...,
        saver_def: SaverDef | Mapping[str, typing.Any] | None = ...,
        collection_def: Mapping[str, CollectionDef] = ...,
        signature_def: Mapping[str, SignatureDef] = ...,
        asset_file_def: Iterable[AssetFileDef | Mapping[str, typing.Any]] = ...,
        object_graph_def: SavedObjectGraph | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class MetricInfo(_Message):
    @property
    def name(self) -> MetricName: ...
    display_name: str
    description: str
    dataset_type: int
    def __init__(
        self,
        *,
        name: MetricName | Mapping[str, typing.Any] | None = ...,
        display_name: str | None = ...,
        description: str | None = ...,
        dataset_type: int | str | None = ...,
    ) -> None: ...

class MetricName(_Message):
    group: str
    tag: str
    def __init__(self, *, group: str | None = ..., tag: str | None = ...) -> None: ...

class MultiGraphNodeProto(_Message):
    name: str
    exec_micros: int
    accelerator_exec_micros: int
    cpu_exec_micros: int
    requested_bytes: int
    peak_bytes: int
    residual_bytes: int
    output_bytes: int
    parameters: int
    float_ops: int
    total_exec_micros: int
    total_accelerator_exec_micros: int
    total_cpu_exec_micros: int
    total_requested_bytes: int
    total_peak_bytes: int
    total_residual_bytes: int
    total_output_bytes: int
    total_parameters: int
    total_float_ops: int
    @property
    def graph_nodes(self) -> _Messages[GraphNodeProto]: ...
    @property
    def children(self) -> _Messages[MultiGraphNodeProto]: ...
    def __init__(
        self,
        *,
        name: str | None = ...,
        exec_micros: int | None = ...,
        accelerator_exec_micros: int | None = ...,
        cpu_exec_micros: int | None = ...,
        requested_bytes: int | None = ...,
        peak_bytes: int | None = ...,
        residual_bytes: int | None = ...,
        output_bytes: int | None = ...,
        parameters: int | None = ...,
        float_ops: int | None = ...,
        total_exec_micros: int | None = ...,
        total_accelerator_exec_micros: int | None = ...,
        total_cpu_exec_micros: int | None = ...,
        total_requested_bytes: int | None = ...,
        total_peak_bytes: int | None = ...,
        total_residual_bytes: int | None = ...,
        total_output_bytes: int | None = ...,
        total_parameters: int | None = ...,
        total_float_ops: int | None = ...,
        graph_nodes: Iterable[GraphNodeProto | Mapping[str, typing.Any]] = ...,
        children: Iterable[MultiGraphNodeProto | Mapping[str, typing.Any]] = ...,
    ) -> None: ...

class NameAttrList(_Message):
    name: str
    @property
    def attr(self) -> _MessageMap[AttrValue]: ...
    def __init__(self, *, name: str | None = ..., attr: Mapping[str, AttrValue] = ...) -> None: ...

class NamedTupleValue(_Message):
    name: str
    @property
    def values(self) -> _Messages[PairValue]: ...
    def __init__(self, *, name: str | None = ..., values: Iterable[PairValue | Mapping[str, typing.Any]] = ...) -> None: ...

class NodeDef(_Message):
    class ExperimentalDebugInfo(_Message):
        @property
        def original_node_names(self) -> MutableSequence[str]: ...
        @property
        def original_func_names(self) -> MutableSequence[str]: ...
        def __init__(self, *, original_node_names: Iterable[str] = ..., original_func_names: Iterable[str] = ...) -> None: ...
    name: str
    op: str
    @property
    def input(self) -> MutableSequence[str]: ...
    device: str
    @property
    def attr(self) -> _MessageMap[AttrValue]: ...
    @property
    def experimental_debug_info(self) -> NodeDef.ExperimentalDebugInfo: ...
    @property
    def experimental_type(self) -> FullTypeDef: ...
    def __init__(
        self,
        *,
        name: str | None = ...,
        op: str | None = ...,
        input: Iterable[str] = ...,
        device: str | None = ...,
        attr: Mapping[str, AttrValue] = ...,
        experimental_debug_info: NodeDef.ExperimentalDebugInfo | Mapping[str, typing.Any] | None = ...,
        experimental_type: FullTypeDef | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class NodeExecStats(_Message):
    node_name: str
    all_start_micros: int
    op_start_rel_micros: int
    op_end_rel_micros: int
    all_end_rel_micros: int
    @property
    def memory(self) -> _Messages[AllocatorMemoryUsed]: ...
    @property
    def output(self) -> _Messages[NodeOutput]: ...
    timeline_label: str
    scheduled_micros: int
    thread_id: int
    @property
    def referenced_tensor(self) -> _Messages[AllocationDescription]: ...
    @property
    def memory_stats(self) -> MemoryStats: ...
    all_start_nanos: int
    op_start_rel_nanos: int
    op_end_rel_nanos: int
    all_end_rel_nanos: int
    scheduled_nanos: int
    def __init__(
        self,
        *,
        node_name: str | None = ...,
        all_start_micros: int | None = ...,
        op_start_rel_micros: int | None = ...,
        op_end_rel_micros: int | None = ...,
        all_end_rel_micros: int | None = ...,
        memory: Iterable[AllocatorMemoryUsed | Mapping[str, typing.Any]] = ...,
        output: Iterable[NodeOutput | Mapping[str, typing.Any]] = ...,
        timeline_label: str | None = ...,
        scheduled_micros: int | None = ...,
        thread_id: int | None = ...,
        referenced_tensor: Iterable[AllocationDescription | Mapping[str, typing.Any]] = ...,
        memory_stats: MemoryStats | Mapping[str, typing.Any] | None = ...,
        all_start_nanos: int | None = ...,
        op_start_rel_nanos: int | None = ...,
        op_end_rel_nanos: int | None = ...,
        all_end_rel_nanos: int | None = ...,
        scheduled_nanos: int | None = ...,
    ) -> None: ...

class NodeOutput(_Message):
    slot: int
    @property
    def tensor_description(self) -> TensorDescription: ...
    def __init__(self, *, slot: int | None = ..., tensor_description: TensorDescription | Mapping[str, typing.Any] | None = ...) -> None: ...

class NoneValue(_Message):
    def __init__(self) -> None: ...

class OpDef(_Message):
    class ArgDef(_Message):
        name: str
        description: str
        type: int
        type_attr: str
        number_attr: str
        type_list_attr: str
        @property
        def handle_data(self) -> _Messages[ResourceHandleProto.DtypeAndShape]: ...
        is_ref: bool
        @property
        def experimental_full_type(self) -> FullTypeDef: ...
        def __init__(
            self,
            *,
            name: str | None = ...,
            description: str | None = ...,
            type: int | str | None = ...,
            type_attr: str | None = ...,
            number_attr: str | None = ...,
            type_list_attr: str | None = ...,
            handle_data: Iterable[ResourceHandleProto.DtypeAndShape | Mapping[str, typing.Any]] = ...,
            is_ref: bool | None = ...,
            experimental_full_type: FullTypeDef | Mapping[str, typing.Any] | None = ...,
        ) -> None: ...
    class AttrDef(_Message):
        name: str
        type: str
        @property
        def default_value(self) -> AttrValue: ...
        description: str
        has_minimum: bool
        minimum: int
        @property
        def allowed_values(self) -> AttrValue: ...
        def __init__(
            self,
            *,
            name: str | None = ...,
            type: str | None = ...,
            default_value: AttrValue | Mapping[str, typing.Any] | None = ...,
            description: str | None = ...,
            has_minimum: bool | None = ...,
            minimum: int | None = ...,
            allowed_values: AttrValue | Mapping[str, typing.Any] | None = ...,
        ) -> None: ...
    name: str
    @property
    def input_arg(self) -> _Messages[OpDef.ArgDef]: ...
    @property
    def output_arg(self) -> _Messages[OpDef.ArgDef]: ...
    @property
    def control_output(self) -> MutableSequence[str]: ...
    @property
    def attr(self) -> _Messages[OpDef.AttrDef]: ...
    @property
    def deprecation(self) -> OpDeprecation: ...
    summary: str
    description: str
    is_commutative: bool
    is_aggregate: bool
    is_stateful: bool
    allows_uninitialized_input: bool
    is_distributed_communication: bool
    def __init__(
        self,
        *,
        name: str | None = ...,
        input_arg: Iterable[OpDef.ArgDef | Mapping[str, typing.Any]] = ...,
        output_arg: Iterable[OpDef.ArgDef | Mapping[str, typing.Any]] = ...,
        control_output: Iterable[str] = ...,
        attr: Iterable[OpDef.AttrDef | Mapping[str, typing.Any]] = ...,
        deprecation: OpDeprecation | Mapping[str, typing.Any] | None = ...,
        summary: str | None = ...,
        description: str | None = ...,
        is_commutative: bool | None = ...,
        is_aggregate: bool | None = ...,
        is_stateful: bool | None = ...,
        allows_uninitialized_input: bool | None = ...,
        is_distributed_communication: bool | None = ...,
    ) -> None: ...

class OpDeprecation(_Message):
    version: int
    explanation: str
    def __init__(self, *, version: int | None = ..., explanation: str | None = ...) -> None: ...

class OpList(_Message):
    @property
    def op(self) -> _Messages[OpDef]: ...
    def __init__(self, *, op: Iterable[OpDef | Mapping[str, typing.Any]] = ...) -> None: ...

class OpLogEntry(_Message):
    name: str
    float_ops: int
    @property
    def types(self) -> MutableSequence[str]: ...
    @property
    def code_def(self) -> CodeDef: ...
    def __init__(
        self,
        *,
        name: str | None = ...,
        float_ops: int | None = ...,
        types: Iterable[str] = ...,
        code_def: CodeDef | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class OpLogProto(_Message):
    @property
    def log_entries(self) -> _Messages[OpLogEntry]: ...
    @property
    def id_to_string(self) -> MutableMapping[int, str]: ...
    def __init__(self, *, log_entries: Iterable[OpLogEntry | Mapping[str, typing.Any]] = ..., id_to_string: Mapping[int, str] = ...) -> None: ...

class OptimizerOptions(_Message):
    L1: int
    L0: int
    DEFAULT: int
    OFF: int
    ON_1: int
    ON_2: int
    do_common_subexpression_elimination: bool
    do_constant_folding: bool
    max_folded_constant_in_bytes: int
    do_function_inlining: bool
    opt_level: int
    global_jit_level: int
    cpu_global_jit: bool
    def __init__(
        self,
        *,
        do_common_subexpression_elimination: bool | None = ...,
        do_constant_folding: bool | None = ...,
        max_folded_constant_in_bytes: int | None = ...,
        do_function_inlining: bool | None = ...,
        opt_level: int | str | None = ...,
        global_jit_level: int | str | None = ...,
        cpu_global_jit: bool | None = ...,
    ) -> None: ...

class PairValue(_Message):
    key: str
    @property
    def value(self) -> StructuredValue: ...
    def __init__(self, *, key: str | None = ..., value: StructuredValue | Mapping[str, typing.Any] | None = ...) -> None: ...

class ProjectorConfig(_Message):
    model_checkpoint_path: str
    @property
    def embeddings(self) -> _Messages[EmbeddingInfo]: ...
    model_checkpoint_dir: str
    def __init__(
        self,
        *,
        model_checkpoint_path: str | None = ...,
        embeddings: Iterable[EmbeddingInfo | Mapping[str, typing.Any]] = ...,
        model_checkpoint_dir: str | None = ...,
    ) -> None: ...

class RPCOptions(_Message):
    use_rpc_for_inprocess_master: bool
    compression_algorithm: str
    compression_level: int
    cache_rpc_response: bool
    disable_session_connection_sharing: bool
    num_channels_per_target: int
    def __init__(
        self,
        *,
        use_rpc_for_inprocess_master: bool | None = ...,
        compression_algorithm: str | None = ...,
        compression_level: int | None = ...,
        cache_rpc_response: bool | None = ...,
        disable_session_connection_sharing: bool | None = ...,
        num_channels_per_target: int | None = ...,
    ) -> None: ...

class RegisteredGradient(_Message):
    gradient_func: str
    registered_op_type: str
    def __init__(self, *, gradient_func: str | None = ..., registered_op_type: str | None = ...) -> None: ...

class RegisteredSaver(_Message):
    name: str
    object_name: str
    def __init__(self, *, name: str | None = ..., object_name: str | None = ...) -> None: ...

class ResourceHandleProto(_Message):
    class DtypeAndShape(_Message):
        dtype: int
        @property
        def shape(self) -> TensorShapeProto: ...
        def __init__(self, *, dtype: int | str | None = ..., shape: TensorShapeProto | Mapping[str, typing.Any] | None = ...) -> None: ...
    device: str
    container: str
    name: str
    hash_code: int
    maybe_type_name: str
    @property
    def dtypes_and_shapes(self) -> _Messages[ResourceHandleProto.DtypeAndShape]: ...
    def __init__(
        self,
        *,
        device: str | None = ...,
        container: str | None = ...,
        name: str | None = ...,
        hash_code: int | None = ...,
        maybe_type_name: str | None = ...,
        dtypes_and_shapes: Iterable[ResourceHandleProto.DtypeAndShape | Mapping[str, typing.Any]] = ...,
    ) -> None: ...

class RewriterConfig(_Message):
    class CustomGraphOptimizer(_Message):
        name: str
        @property
        def parameter_map(self) -> _MessageMap[AttrValue]: ...
        def __init__(self, *, name: str | None = ..., parameter_map: Mapping[str, AttrValue] = ...) -> None: ...
    DEFAULT: int
    ON: int
    OFF: int
    AGGRESSIVE: int
    EXPERIMENTAL_MLIR: int
    EXPERIMENTAL_BOTH: int
    NO_CONVERSION_ON_CPU: int
    NCHW_TO_NHWC: int
    NHWC_TO_NCHW: int
    DEFAULT_NUM_ITERS: int
    ONE: int
    TWO: int
    DEFAULT_MEM_OPT: int
    NO_MEM_OPT: int
    MANUAL: int
    SWAPPING_HEURISTICS: int
    RECOMPUTATION_HEURISTICS: int
    SCHEDULING_HEURISTICS: int
    HEURISTICS: int
    cpu_layout_conversion: int
    layout_optimizer: int
    constant_folding: int
    shape_optimization: int
    remapping: int
    common_subgraph_elimination: int
    arithmetic_optimization: int
    dependency_optimization: int
    loop_optimization: int
    function_optimization: int
    debug_stripper: int
    disable_model_pruning: bool
    scoped_allocator_optimization: int
    pin_to_host_optimization: int
    implementation_selector: int
    auto_mixed_precision: int
    auto_mixed_precision_mkl: int
    auto_mixed_precision_onednn_bfloat16: int
    auto_mixed_precision_cpu: int
    disable_meta_optimizer: bool
    disable_tfg_optimizer: bool
    use_plugin_optimizers: int
    experimental_conditional_code_motion: int
    meta_optimizer_iterations: int
    min_graph_nodes: int
    experimental_disable_compressed_tensor_optimization: bool
    experimental_disable_folding_quantization_emulation: bool
    memory_optimization: int
    memory_optimizer_target_node_name_scope: str
    meta_optimizer_timeout_ms: int
    @property
    def auto_parallel(self) -> AutoParallelOptions: ...
    fail_on_optimizer_errors: bool
    @property
    def scoped_allocator_opts(self) -> ScopedAllocatorOptions: ...
    @property
    def optimizers(self) -> MutableSequence[str]: ...
    @property
    def custom_optimizers(self) -> _Messages[RewriterConfig.CustomGraphOptimizer]: ...
    @property
    def inter_optimizer_verifier_config(self) -> VerifierConfig: ...
    @property
    def post_optimization_verifier_config(self) -> VerifierConfig: ...
    def __init__(
        self,
        *,
        cpu_layout_conversion: int | str | None = ...,
        layout_optimizer: int | str | None = ...,
        constant_folding: int | str | None = ...,
        shape_optimization: int | str | None = ...,
        remapping: int | str | None = ...,
        common_subgraph_elimination: int | str | None = ...,
        arithmetic_optimization: int | str | None = ...,
        dependency_optimization: int | str | None = ...,
        loop_optimization: int | str | None = ...,
        function_optimization: int | str | None = ...,
        debug_stripper: int | str | None = ...,
        disable_model_pruning: bool | None = ...,
        scoped_allocator_optimization: int | str | None = ...,
        pin_to_host_optimization: int | str | None = ...,
        implementation_selector: int | str | None = ...,
        auto_mixed_precision: int | str | None = ...,
        auto_mixed_precision_mkl: int | str | None = ...,
        auto_mixed_precision_onednn_bfloat16: int | str | None = ...,
        auto_mixed_precision_cpu: int | str | None = ...,
        disable_meta_optimizer: bool | None = ...,
        disable_tfg_optimizer: bool | None = ...,
        use_plugin_optimizers: int | str | None = ...,
        experimental_conditional_code_motion: int | str | None = ...,
        meta_optimizer_iterations: int | str | None = ...,
        min_graph_nodes: int | None = ...,
        experimental_disable_compressed_tensor_optimization: bool | None = ...,
        experimental_disable_folding_quantization_emulation: bool | None = ...,
        memory_optimization: int | str | None = ...,
        memory_optimizer_target_node_name_scope: str | None = ...,
        meta_optimizer_timeout_ms: int | None = ...,
        auto_parallel: AutoParallelOptions | Mapping[str, typing.Any] | None = ...,
        fail_on_optimizer_errors: bool | None = ...,
        scoped_allocator_opts: ScopedAllocatorOptions | Mapping[str, typing.Any] | None = ...,
        optimizers: Iterable[str] = ...,
        custom_optimizers: Iterable[RewriterConfig.CustomGraphOptimizer | Mapping[str, typing.Any]] = ...,
        inter_optimizer_verifier_config: VerifierConfig | Mapping[str, typing.Any] | None = ...,
        post_optimization_verifier_config: VerifierConfig | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class RunMetadata(_Message):
    class FunctionGraphs(_Message):
        @property
        def partition_graphs(self) -> _Messages[GraphDef]: ...
        @property
        def pre_optimization_graph(self) -> GraphDef: ...
        @property
        def post_optimization_graph(self) -> GraphDef: ...
        def __init__(
            self,
            *,
            partition_graphs: Iterable[GraphDef | Mapping[str, typing.Any]] = ...,
            pre_optimization_graph: GraphDef | Mapping[str, typing.Any] | None = ...,
            post_optimization_graph: GraphDef | Mapping[str, typing.Any] | None = ...,
        ) -> None: ...
    @property
    def step_stats(self) -> StepStats: ...
    @property
    def cost_graph(self) -> CostGraphDef: ...
    @property
    def partition_graphs(self) -> _Messages[GraphDef]: ...
    @property
    def function_graphs(self) -> _Messages[RunMetadata.FunctionGraphs]: ...
    @property
    def session_metadata(self) -> SessionMetadata: ...
    def __init__(
        self,
        *,
        step_stats: StepStats | Mapping[str, typing.Any] | None = ...,
        cost_graph: CostGraphDef | Mapping[str, typing.Any] | None = ...,
        partition_graphs: Iterable[GraphDef | Mapping[str, typing.Any]] = ...,
        function_graphs: Iterable[RunMetadata.FunctionGraphs | Mapping[str, typing.Any]] = ...,
        session_metadata: SessionMetadata | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class RunOptions(_Message):
    class Experimental(_Message):
        class RunHandlerPoolOptions(_Message):
            priority: int
            def __init__(self, *, priority: int | None = ...) -> None: ...
        collective_graph_key: int
        use_run_handler_pool: bool
        @property
        def run_handler_pool_options(self) -> RunOptions.Experimental.RunHandlerPoolOptions: ...
        def __init__(
            self,
            *,
            collective_graph_key: int | None = ...,
            use_run_handler_pool: bool | None = ...,
            run_handler_pool_options: RunOptions.Experimental.RunHandlerPoolOptions | Mapping[str, typing.Any] | None = ...,
        ) -> None: ...
    NO_TRACE: int
    SOFTWARE_TRACE: int
    HARDWARE_TRACE: int
    FULL_TRACE: int
    trace_level: int
    timeout_in_ms: int
    inter_op_thread_pool: int
    output_partition_graphs: bool
    @property
    def debug_options(self) -> DebugOptions: ...
    report_tensor_allocations_upon_oom: bool
    @property
    def experimental(self) -> RunOptions.Experimental: ...
    def __init__(
        self,
        *,
        trace_level: int | str | None = ...,
        timeout_in_ms: int | None = ...,
        inter_op_thread_pool: int | None = ...,
        output_partition_graphs: bool | None = ...,
        debug_options: DebugOptions | Mapping[str, typing.Any] | None = ...,
        report_tensor_allocations_upon_oom: bool | None = ...,
        experimental: RunOptions.Experimental | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class SaveableObject(_Message):
    save_function: int
    restore_function: int
    def __init__(self, *, save_function: int | None = ..., restore_function: int | None = ...) -> None: ...

class SavedAsset(_Message):
    asset_file_def_index: int
    def __init__(self, *, asset_file_def_index: int | None = ...) -> None: ...

class SavedBareConcreteFunction(_Message):
    concrete_function_name: str
    @property
    def argument_keywords(self) -> MutableSequence[str]: ...
    allowed_positional_arguments: int
    @property
    def function_spec(self) -> FunctionSpec: ...
    def __init__(
        self,
        *,
        concrete_function_name: str | None = ...,
        argument_keywords: Iterable[str] = ...,
        allowed_positional_arguments: int | None = ...,
        function_spec: FunctionSpec | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class SavedConcreteFunction(_Message):
    @property
    def bound_inputs(self) -> MutableSequence[int]: ...
    @property
    def canonicalized_input_signature(self) -> StructuredValue: ...
    @property
    def output_signature(self) -> StructuredValue: ...
    def __init__(
        self,
        *,
        bound_inputs: Iterable[int] = ...,
        canonicalized_input_signature: StructuredValue | Mapping[str, typing.Any] | None = ...,
        output_signature: StructuredValue | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class SavedConstant(_Message):
    operation: str
    def __init__(self, *, operation: str | None = ...) -> None: ...

class SavedFunction(_Message):
    @property
    def concrete_functions(self) -> MutableSequence[str]: ...
    @property
    def function_spec(self) -> FunctionSpec: ...
    def __init__(self, *, concrete_functions: Iterable[str] = ..., function_spec: FunctionSpec | Mapping[str, typing.Any] | None = ...) -> None: ...

class SavedModel(_Message):
    saved_model_schema_version: int
    @property
    def meta_graphs(self) -> _Messages[MetaGraphDef]: ...
    def __init__(
        self,
        *,
        saved_model_schema_version: int | None = ...,
        meta_graphs: Iterable[MetaGraphDef | Mapping[str, typing.Any]] = ...,
    ) -> None: ...

class SavedObject(_Message):
    @property
    def children(self) -> _Messages[TrackableObjectGraph.TrackableObject.ObjectReference]: ...
    @property
    def dependencies(self) -> _Messages[TrackableObjectGraph.TrackableObject.ObjectReference]: ...
    @property
    def slot_variables(self) -> _Messages[TrackableObjectGraph.TrackableObject.SlotVariableReference]: ...
    @property
    def user_object(self) -> SavedUserObject: ...
    @property
    def asset(self) -> SavedAsset: ...
    @property
    def function(self) -> SavedFunction: ...
    @property
    def variable(self) -> SavedVariable: ...
    @property
    def bare_concrete_function(self) -> SavedBareConcreteFunction: ...
    @property
    def constant(self) -> SavedConstant: ...
    @property
    def resource(self) -> SavedResource: ...
    @property
    def captured_tensor(self) -> CapturedTensor: ...
    @property
    def saveable_objects(self) -> _MessageMap[SaveableObject]: ...
    registered_name: str
    @property
    def serialized_user_proto(self) -> typing.Any: ...
    registered_saver: str
    def __init__(
        self,
        *,
        children: Iterable[TrackableObjectGraph.TrackableObject.ObjectReference | Mapping[str, typing.Any]] = ...,
        dependencies: Iterable[TrackableObjectGraph.TrackableObject.ObjectReference | Mapping[str, typing.Any]] = ...,
        slot_variables: Iterable[TrackableObjectGraph.TrackableObject.SlotVariableReference | Mapping[str, typing.Any]] = ...,
        user_object: SavedUserObject | Mapping[str, typing.Any] | None = ...,
        asset: SavedAsset | Mapping[str, typing.Any] | None = ...,
        function: SavedFunction | Mapping[str, typing.Any] | None = ...,
        variable: SavedVariable | Mapping[str, typing.Any] | None = ...,
        bare_concrete_function: SavedBareConcreteFunction | Mapping[str, typing.Any] | None = ...,
        constant: SavedConstant | Mapping[str, typing.Any] | None = ...,
        resource: SavedResource | Mapping[str, typing.Any] | None = ...,
        captured_tensor: CapturedTensor | Mapping[str, typing.Any] | None = ...,
        saveable_objects: Mapping[str, SaveableObject] = ...,
        registered_name: str | None = ...,
        serialized_user_proto: typing.Any | Mapping[str, typing.Any] | None = ...,
        registered_saver: str | None = ...,
    ) -> None: ...

class SavedObjectGraph(_Message):
    @property
    def nodes(self) -> _Messages[SavedObject]: ...
    @property
    def concrete_functions(self) -> _MessageMap[SavedConcreteFunction]: ...
    def __init__(
        self,
        *,
        nodes: Iterable[SavedObject | Mapping[str, typing.Any]] = ...,
        concrete_functions: Mapping[str, SavedConcreteFunction] = ...,
    ) -> None: ...

class SavedResource(_Message):
    device: str
    def __init__(self, *, device: str | None = ...) -> None: ...

class SavedUserObject(_Message):
    identifier: str
    @property
    def version(self) -> VersionDef: ...
    metadata: str
    def __init__(
        self,
        *,
        identifier: str | None = ...,
        version: VersionDef | Mapping[str, typing.Any] | None = ...,
        metadata: str | None = ...,
    ) -> None: ...

class SavedVariable(_Message):
    dtype: int
    @property
    def shape(self) -> TensorShapeProto: ...
    trainable: bool
    synchronization: int
    aggregation: int
    name: str
    device: str
    @property
    def experimental_distributed_variable_components(self) -> _Messages[SavedVariable]: ...
    def __init__(
        self,
        *,
        dtype: int | str | None = ...,
        shape: TensorShapeProto | Mapping[str, typing.Any] | None = ...,
        trainable: bool | None = ...,
        synchronization: int | str | None = ...,
        aggregation: int | str | None = ...,
        name: str | None = ...,
        device: str | None = ...,
        experimental_distributed_variable_components: Iterable[SavedVariable | Mapping[str, typing.Any]] = ...,
    ) -> None: ...

class SaverDef(_Message):
    LEGACY: int
    V1: int
    V2: int
    filename_tensor_name: str
    save_tensor_name: str
    restore_op_name: str
    max_to_keep: int
    sharded: bool
    keep_checkpoint_every_n_hours: float
    version: int
    def __init__(
        self,
        *,
        filename_tensor_name: str | None = ...,
        save_tensor_name: str | None = ...,
        restore_op_name: str | None = ...,
        max_to_keep: int | None = ...,
        sharded: bool | None = ...,
        keep_checkpoint_every_n_hours: float | None = ...,
        version: int | str | None = ...,
    ) -> None: ...

class ScopedAllocatorOptions(_Message):
    @property
    def enable_op(self) -> MutableSequence[str]: ...
    def __init__(self, *, enable_op: Iterable[str] = ...) -> None: ...

class SequenceExample(_Message):
    @property
    def context(self) -> Features: ...
    @property
    def feature_lists(self) -> FeatureLists: ...
    def __init__(
        self,
        *,
        context: Features | Mapping[str, typing.Any] | None = ...,
        feature_lists: FeatureLists | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class ServerDef(_Message):
    @property
    def cluster(self) -> ClusterDef: ...
    job_name: str
    replica: int
    task_index: int
    @property
    def default_session_config(self) -> ConfigProto: ...
    protocol: str
    port: int
    @property
    def cluster_device_filters(self) -> ClusterDeviceFilters: ...
    def __init__(
        self,
        *,
        cluster: ClusterDef | Mapping[str, typing.Any] | None = ...,
        job_name: str | None = ...,
        replica: int | None = ...,
        task_index: int | None = ...,
        default_session_config: ConfigProto | Mapping[str, typing.Any] | None = ...,
        protocol: str | None = ...,
        port: int | None = ...,
        cluster_device_filters: ClusterDeviceFilters | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class SessionLog(_Message):
    STATUS_UNSPECIFIED: int
    START: int
    STOP: int
    CHECKPOINT: int
    status: int
    checkpoint_path: str
    msg: str
    def __init__(self, *, status: int | str | None = ..., checkpoint_path: str | None = ..., msg: str | None = ...) -> None: ...

class SessionMetadata(_Message):
    name: str
    version: int
    def __init__(self, *, name: str | None = ..., version: int | None = ...) -> None: ...

class SignatureDef(_Message):
    @property
    def inputs(self) -> _MessageMap[TensorInfo]: ...
    @property
    def outputs(self) -> _MessageMap[TensorInfo]: ...
    method_name: str
    @property
    def defaults(self) -> _MessageMap[TensorProto]: ...
    def __init__(
        self,
        *,
        inputs: Mapping[str, TensorInfo] = ...,
        outputs: Mapping[str, TensorInfo] = ...,
        method_name: str | None = ...,
        defaults: Mapping[str, TensorProto] = ...,
    ) -> None: ...

class SourceMetadata(_Message):
    writer: str
    def __init__(self, *, writer: str | None = ...) -> None: ...

class SpriteMetadata(_Message):
    image_path: str
    @property
    def single_image_dim(self) -> MutableSequence[int]: ...
    def __init__(self, *, image_path: str | None = ..., single_image_dim: Iterable[int] = ...) -> None: ...

class StepStats(_Message):
    @property
    def dev_stats(self) -> _Messages[DeviceStepStats]: ...
    def __init__(self, *, dev_stats: Iterable[DeviceStepStats | Mapping[str, typing.Any]] = ...) -> None: ...

class StructuredValue(_Message):
    @property
    def none_value(self) -> NoneValue: ...
    float64_value: float
    int64_value: int
    string_value: str
    bool_value: bool
    @property
    def tensor_shape_value(self) -> TensorShapeProto: ...
    tensor_dtype_value: int
    @property
    def tensor_spec_value(self) -> TensorSpecProto: ...
    @property
    def type_spec_value(self) -> TypeSpecProto: ...
    @property
    def bounded_tensor_spec_value(self) -> BoundedTensorSpecProto: ...
    @property
    def list_value(self) -> ListValue: ...
    @property
    def tuple_value(self) -> TupleValue: ...
    @property
    def dict_value(self) -> DictValue: ...
    @property
    def named_tuple_value(self) -> NamedTupleValue: ...
    @property
    def tensor_value(self) -> TensorProto: ...
    @property
    def numpy_value(self) -> TensorProto: ...
    def __init__(
        self,
        *,
        none_value: NoneValue | Mapping[str, typing.Any] | None = ...,
        float64_value: float | None = ...,
        int64_value: int | None = ...,
        string_value: str | None = ...,
        bool_value: bool | None = ...,
        tensor_shape_value: TensorShapeProto | Mapping[str, typing.Any] | None = ...,
        tensor_dtype_value: int | str | None = ...,
        tensor_spec_value: TensorSpecProto | Mapping[str, typing.Any] | None = ...,
        type_spec_value: TypeSpecProto | Mapping[str, typing.Any] | None = ...,
        bounded_tensor_spec_value: BoundedTensorSpecProto | Mapping[str, typing.Any] | None = ...,
        list_value: ListValue | Mapping[str, typing.Any] | None = ...,
        tuple_value: TupleValue | Mapping[str, typing.Any] | None = ...,
        dict_value: DictValue | Mapping[str, typing.Any] | None = ...,
        named_tuple_value: NamedTupleValue | Mapping[str, typing.Any] | None = ...,
        tensor_value: TensorProto | Mapping[str, typing.Any] | None = ...,
        numpy_value: TensorProto | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class Summary(_Message):
    class Image(_Message):
        height: int
        width: int
        colorspace: int
        encoded_image_string: bytes
        def __init__(
            self,
            *,
            height: int | None = ...,
            width: int | None = ...,
            colorspace: int | None = ...,
            encoded_image_string: bytes | None = ...,
        ) -> None: ...
    class Audio(_Message):
        sample_rate: float
        num_channels: int
        length_frames: int
        encoded_audio_string: bytes
        content_type: str
        def __init__(
            self,
            *,
            sample_rate: float | None = ...,
            num_channels: int | None = ...,
            length_frames: int | None = ...,
            encoded_audio_string: bytes | None = ...,
            content_type: str | None = ...,
        ) -> None: ...
    class Value(_Message):
        node_name: str
        tag: str
        @property
        def metadata(self) -> SummaryMetadata: ...
        simple_value: float
        obsolete_old_style_histogram: bytes
        @property
        def image(self) -> Summary.Image: ...
        @property
        def histo(self) -> HistogramProto: ...
        @property
        def audio(self) -> Summary.Audio: ...
        @property
        def tensor(self) -> TensorProto: ...
        def __init__(
            self,
            *,
            node_name: str | None = ...,
            tag: str | None = ...,
            metadata: SummaryMetadata | Mapping[str, typing.Any] | None = ...,
            simple_value: float | None = ...,
            obsolete_old_style_histogram: bytes | None = ...,
            image: Summary.Image | Mapping[str, typing.Any] | None = ...,
            histo: HistogramProto | Mapping[str, typing.Any] | None = ...,
            audio: Summary.Audio | Mapping[str, typing.Any] | None = ...,
            tensor: TensorProto | Mapping[str, typing.Any] | None = ...,
        ) -> None: ...
    @property
    def value(self) -> _Messages[Summary.Value]: ...
    def __init__(self, *, value: Iterable[Summary.Value | Mapping[str, typing.Any]] = ...) -> None: ...

class SummaryDescription(_Message):
    type_hint: str
    def __init__(self, *, type_hint: str | None = ...) -> None: ...

class SummaryMetadata(_Message):
    class PluginData(_Message):
        plugin_name: str
        content: bytes
        def __init__(self, *, plugin_name: str | None = ..., content: bytes | None = ...) -> None: ...
    @property
    def plugin_data(self) -> SummaryMetadata.PluginData: ...
    display_name: str
    summary_description: str
    data_class: int
    def __init__(
        self,
        *,
        plugin_data: SummaryMetadata.PluginData | Mapping[str, typing.Any] | None = ...,
        display_name: str | None = ...,
        summary_description: str | None = ...,
        data_class: int | str | None = ...,
    ) -> None: ...

class TFProfTensorProto(_Message):
    dtype: int
    @property
    def value_double(self) -> MutableSequence[float]: ...
    @property
    def value_int64(self) -> MutableSequence[int]: ...
    @property
    def value_str(self) -> MutableSequence[str]: ...
    def __init__(
        self,
        *,
        dtype: int | str | None = ...,
        value_double: Iterable[float] = ...,
        value_int64: Iterable[int] = ...,
        value_str: Iterable[str] = ...,
    ) -> None: ...

class TaggedRunMetadata(_Message):
    tag: str
    run_metadata: bytes
    def __init__(self, *, tag: str | None = ..., run_metadata: bytes | None = ...) -> None: ...

class TaskDeviceFilters(_Message):
    @property
    def device_filters(self) -> MutableSequence[str]: ...
    def __init__(self, *, device_filters: Iterable[str] = ...) -> None: ...

class TensorDescription(_Message):
    dtype: int
    @property
    def shape(self) -> TensorShapeProto: ...
    @property
    def allocation_description(self) -> AllocationDescription: ...
    def __init__(
        self,
        *,
        dtype: int | str | None = ...,
        shape: TensorShapeProto | Mapping[str, typing.Any] | None = ...,
        allocation_description: AllocationDescription | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class TensorInfo(_Message):
    class CooSparse(_Message):
        values_tensor_name: str
        indices_tensor_name: str
        dense_shape_tensor_name: str
        def __init__(
            self,
            *,
            values_tensor_name: str | None = ...,
            indices_tensor_name: str | None = ...,
            dense_shape_tensor_name: str | None = ...,
        ) -> None: ...
    class CompositeTensor(_Message):
        @property
        def type_spec(self) -> TypeSpecProto: ...
        @property
        def components(self) -> _Messages[TensorInfo]: ...
        def __init__(
            self,
            *,
            type_spec: TypeSpecProto | Mapping[str, typing.Any] | None = ...,
            components: Iterable[TensorInfo | Mapping[str, typing.Any]] = ...,
        ) -> None: ...
    name: str
    @property
    def coo_sparse(self) -> TensorInfo.CooSparse: ...
    @property
    def composite_tensor(self) -> TensorInfo.CompositeTensor: ...
    dtype: int
    @property
    def tensor_shape(self) -> TensorShapeProto: ...
    def __init__(
        self,
        *,
        name: str | None = ...,
        coo_sparse: TensorInfo.CooSparse | Mapping[str, typing.Any] | None = ...,
        composite_tensor: TensorInfo.CompositeTensor | Mapping[str, typing.Any] | None = ...,
        dtype: int | str | None = ...,
        tensor_shape: TensorShapeProto | Mapping[str, typing.Any] | None = ...,
    ) -> None: ...

class TensorProto(_Message):
    dtype: int
    @property
    def tensor_shape(self) -> TensorShapeProto: ...
    version_number: int
    tensor_content: bytes
    @property
    def half_val(self) -> MutableSequence[int]: ...
    @property
    def float_val(self) -> MutableSequence[float]: ...
    @property
    def double_val(self) -> MutableSequence[float]: ...
    @property
    def int_val(self) -> MutableSequence[int]: ...
    @property
    def string_val(self) -> MutableSequence[bytes]: ...
    @property
    def scomplex_val(self) -> MutableSequence[float]: ...
    @property
    def int64_val(self) -> MutableSequence[int]: ...
    @property
    def bool_val(self) -> MutableSequence[bool]: ...
    @property
    def dcomplex_val(self) -> MutableSequence[float]: ...
    @property
    def resource_handle_val(self) -> _Messages[ResourceHandleProto]: ...
    @property
    def variant_val(self) -> _Messages[VariantTensorDataProto]: ...
    @property
    def uint32_val(self) -> MutableSequence[int]: ...
    @property
    def uint64_val(self) -> MutableSequence[int]: ...
    float8_val: bytes
    def __init__(
        self,
        *,
        dtype: int | str | None = ...,
        tensor_shape: TensorShapeProto | Mapping[str, typing.Any] | None = ...,
        version_number: int | None = ...,
        tensor_content: bytes | None = ...,
        half_val: Iterable[int] = ...,
        float_val: Iterable[float] = ...,
        double_val: Iterable[float] = ...,
        int_val: Iterable[int] = ...,
        string_val: Iterable[bytes] = ...,
        scomplex_val: Iterable[float] = ...,
        int64_val: Iterable[int] = ...,
        bool_val: Iterable[bool] = ...,
        dcomplex_val: Iterable[float] = ...,
        resource_handle_val: Iterable[ResourceHandleProto | Mapping[str, typing.Any]] = ...,
        variant_val: Iterable[VariantTensorDataProto | Mapping[str, typing.Any]] = ...,
        uint32_val: Iterable[int] = ...,
        uint64_val: Iterable[int] = ...,
        float8_val: bytes | None = ...,
    ) -> None: ...

class TensorShapeProto(_Message):
    class Dim(_Message):
        size: int
        name: str
        def __init__(self, *, size: int | None = ..., name: str | None = ...) -> None: ...
    @property
    def dim(self) -> _Messages[TensorShapeProto.Dim]: ...
    unknown_rank: bool
    def __init__(self, *, dim: Iterable[TensorShapeProto.Dim | Mapping[str, typing.Any]] = ..., unknown_rank: bool | None = ...) -> None: ...

class TensorSpecProto(_Message):
    name: str
    @property
    def shape(self) -> TensorShapeProto: ...
    dtype: int
    def __init__(
        self,
        *,
        name: str | None = ...,
        shape: TensorShapeProto | Mapping[str, typing.Any] | None = ...,
        dtype: int | str | None = ...,
    ) -> None: ...

class ThreadPoolOptionProto(_Message):
    num_threads: int
    global_name: str
    def __init__(self, *, num_threads: int | None = ..., global_name: str | None = ...) -> None: ...

class TrackableObjectGraph(_Message):
    class TrackableObject(_Message):
        class ObjectReference(_Message):
            node_id: int
            local_name: str
            def __init__(self, *, node_id: int | None = ..., local_name: str | None = ...) -> None: ...
        class SerializedTensor(_Message):
            name: str
            full_name: str
            checkpoint_key: str
            def __init__(self, *, name: str | None = ..., full_name: str | None = ..., checkpoint_key: str | None = ...) -> None: ...
        class SlotVariableReference(_Message):
            original_variable_node_id: int
            slot_name: str
            slot_variable_node_id: int
            def __init__(
                self,
                *,
                original_variable_node_id: int | None = ...,
                slot_name: str | None = ...,
                slot_variable_node_id: int | None = ...,
            ) -> None: ...
        @property
        def children(self) -> _Messages[TrackableObjectGraph.TrackableObject.ObjectReference]: ...
        @property
        def attributes(self) -> _Messages[TrackableObjectGraph.TrackableObject.SerializedTensor]: ...
        @property
        def slot_variables(self) -> _Messages[TrackableObjectGraph.TrackableObject.SlotVariableReference]: ...
        @property
        def registered_saver(self) -> RegisteredSaver: ...
        @property
        def has_checkpoint_values(self) -> typing.Any: ...
        def __init__(
            self,
            *,
            children: Iterable[TrackableObjectGraph.TrackableObject.ObjectReference | Mapping[str, typing.Any]] = ...,
            attributes: Iterable[TrackableObjectGraph.TrackableObject.SerializedTensor | Mapping[str, typing.Any]] = ...,
            slot_variables: Iterable[TrackableObjectGraph.TrackableObject.SlotVariableReference | Mapping[str, typing.Any]] = ...,
            registered_saver: RegisteredSaver | Mapping[str, typing.Any] | None = ...,
            has_checkpoint_values: typing.Any | Mapping[str, typing.Any] | None = ...,
        ) -> None: ...
    @property
    def nodes(self) -> _Messages[TrackableObjectGraph.TrackableObject]: ...
    def __init__(self, *, nodes: Iterable[TrackableObjectGraph.TrackableObject | Mapping[str, typing.Any]] = ...) -> None: ...

class TupleValue(_Message):
    @property
    def values(self) -> _Messages[StructuredValue]: ...
    def __init__(self, *, values: Iterable[StructuredValue | Mapping[str, typing.Any]] = ...) -> None: ...

class TypeSpecProto(_Message):
    UNKNOWN: int
    SPARSE_TENSOR_SPEC: int
    INDEXED_SLICES_SPEC: int
    RAGGED_TENSOR_SPEC: int
    TENSOR_ARRAY_SPEC: int
    DATA_DATASET_SPEC: int
    DATA_ITERATOR_SPEC: int
    OPTIONAL_SPEC: int
    PER_REPLICA_SPEC: int
    VARIABLE_SPEC: int
    ROW_PARTITION_SPEC: int
    REGISTERED_TYPE_SPEC: int
    EXTENSION_TYPE_SPEC: int
    type_spec_class: int
    @property
    def type_state(self) -> StructuredValue: ...
    type_spec_class_name: str
    num_flat_components: int
    def __init__(
        self,
        *,
        type_spec_class: int | str | None = ...,
        type_state: StructuredValue | Mapping[str, typing.Any] | None = ...,
        type_spec_class_name: str | None = ...,
        num_flat_components: int | None = ...,
    ) -> None: ...

class VariantTensorDataProto(_Message):
    type_name: str
    metadata: bytes
    @property
    def tensors(self) -> _Messages[TensorProto]: ...
    def __init__(
        self,
        *,
        type_name: str | None = ...,
        metadata: bytes | None = ...,
        tensors: Iterable[TensorProto | Mapping[str, typing.Any]] = ...,
    ) -> None: ...

class VerifierConfig(_Message):
    DEFAULT: int
    ON: int
    OFF: int
    verification_timeout_in_ms: int
    structure_verifier: int
    def __init__(self, *, verification_timeout_in_ms: int | None = ..., structure_verifier: int | str | None = ...) -> None: ...

class VersionDef(_Message):
    producer: int
    min_consumer: int
    @property
    def bad_consumers(self) -> MutableSequence[int]: ...
    def __init__(self, *, producer: int | None = ..., min_consumer: int | None = ..., bad_consumers: Iterable[int] = ...) -> None: ...
