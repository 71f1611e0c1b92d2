"""Steps of several workers taken together: their gradients are collected, and applied once there are enough."""

from __future__ import annotations

from flowmill._internal.accumulators import ConditionalAccumulator, SparseConditionalAccumulator
from flowmill._internal.array import fill
from flowmill._internal.control_flow import group, no_op
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.indexed_slices import IndexedSlices
from flowmill._internal.resource_variable import ResourceVariable
from flowmill._internal.state import assign
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.variables import Variable, global_variables, report_uninitialized_variables
from flowmill.queue import FIFOQueue
from flowmill.train.optimizer import Optimizer
from flowmill.train.queue_runner import QueueRunner
from flowmill.train.session_manager import _ready
from flowmill.train.session_run_hook import SessionRunHook

__all__ = ["SyncReplicasOptimizer"]


class SyncReplicasOptimizer(Optimizer):
    """Makes the steps of several workers count as one. Each worker adds its gradients to accumulators and waits for a token. As soon as there are
    enough gradients of the current step, another optimizer applies their mean, and every worker gets a token, the number of the next step.

    The workers are threads that run steps in sessions of one process, which share accumulators and the queue of tokens.

    Args:
        opt: the optimizer that applies the means.
        replicas_to_aggregate: how many gradients a step takes.
        total_num_replicas: how many workers there are, as many as gradients if it is None.
        variable_averages: an `ExponentialMovingAverage` of the variables after each step.
        variables_to_average: the variables it averages.
        use_locking: whether variables are locked while they are changed.
        name: the name of the scope of the operations.
    """

    def __init__(self, opt: Optimizer, replicas_to_aggregate: int, total_num_replicas: int | None = None, variable_averages=None,
                 variables_to_average=None, use_locking: bool = False, name: str = "sync_replicas"):
        super().__init__(use_locking, name)
        self._opt = opt
        self._replicas_to_aggregate = replicas_to_aggregate
        self._total_num_replicas = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        self._variable_averages, self._variables_to_average = variable_averages, variables_to_average
        self._global_step = None
        self._tokens: FIFOQueue | None = None
        self._queue_runner: QueueRunner | None = None
        #: What a worker, the chief, and either before that must run before the first step; there once gradients are applied.
        self.local_step_init_op = self.chief_init_op = self.ready_for_local_init_op = None

    def compute_gradients(self, *args, **kwargs) -> list[tuple]:
        """Computes the gradients of the optimizer within."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name: str | None = None) -> Operation | Tensor:  # type: ignore[override]
        """Returns the operation that a worker runs for a step: it adds its gradients, then waits for a token.

        Args:
            grads_and_vars: pairs of a gradient, which may be None, and a variable.
            global_step: the variable that counts steps: gradients that were begun at an older step are dropped.
            name: not used.

        Raises:
            ValueError: if there are no variables, or no `global_step`.
        """
        if not grads_and_vars:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        graph = get_default_graph()
        # The worker's own step is where the worker is.
        with graph.colocate_with(no_op()):
            local_step = Variable(0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], dtype=global_step.dtype.base_dtype,
                                  name="sync_rep_local_step")
        self.local_step_init_op = assign(local_step, global_step)
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        with graph.name_scope(self._name):
            added, means, accumulators = _accumulated(graph, grads_and_vars, local_step, self._replicas_to_aggregate)
            train_op = self._waiting(graph, added, means, local_step)
            begun: list = [self.local_step_init_op]
            for accumulator, device in accumulators:
                with graph.device(device):
                    begun.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
            self.chief_init_op = group(*begun)
        return train_op

    def _waiting(self, graph, added: list[Operation], means: list[tuple], local_step):
        """Builds what the chief runs, which applies the means and gives out tokens; returns what waits for one."""
        step = self._global_step
        with graph.device(step.device), graph.name_scope(""):
            applied = self._opt.apply_gradients(means, step)
            self._tokens = FIFOQueue(-1, step.dtype.base_dtype, shapes=(), name="sync_token_q", shared_name="sync_token_q")
            with graph.control_dependencies(added):
                token = self._tokens.dequeue()
            train_op = assign(local_step, token)
            with graph.control_dependencies([applied]):
                number = max(self._total_num_replicas, self._replicas_to_aggregate)
                # The operation that all readers of a reference share may have run before the update.
                present = step if isinstance(step, ResourceVariable) else step.read_value()
                sync_op = self._tokens.enqueue_many((fill([number], present),))
            if self._variable_averages is not None:
                with graph.control_dependencies([sync_op]), graph.name_scope(""):
                    sync_op = self._variable_averages.apply(self._variables_to_average)
            self._queue_runner = QueueRunner(self._tokens, [sync_op])
        return train_op

    def get_chief_queue_runner(self) -> QueueRunner:
        """Returns the runner of the thread that applies gradients: for one of the workers, the chief.

        Raises:
            ValueError: before :meth:`apply_gradients`.
        """
        if self._queue_runner is None:
            raise ValueError("Should be called after apply_gradients().")
        return self._queue_runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """Returns the operation that the chief runs before the first step: it puts tokens into the queue.

        Args:
            num_tokens: how many; -1 for as many as a step takes gradients.

        Raises:
            ValueError: before :meth:`apply_gradients`, or if so few would let nobody finish the first step.
        """
        if self._tokens is None:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)")
        if num_tokens <= 0:
            return no_op(name="no_init_tokens")
        graph = get_default_graph()
        with graph.device(self._global_step.device), graph.name_scope(""):
            return self._tokens.enqueue_many((fill([num_tokens], self._global_step),))

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """Returns a hook that does before the first step what must be done, and starts the chief's thread.

        Args:
            is_chief: whether the session is the chief's.
            num_tokens: as of :meth:`get_init_tokens_op`.
        """
        return _Hook(self, is_chief, num_tokens)

    # Slots are those of the optimizer within.

    def get_slot(self, var, name: str) -> Variable | None:
        """The slot of a variable by its name, None if there is none."""
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """The names of slots."""
        return self._opt.get_slot_names()

    def variables(self) -> list[Variable]:
        """Returns the variables that the optimizer within made, by name."""
        return self._opt.variables()


def _accumulated(graph, grads_and_vars, local_step, number: int):
    """Adds gradients to accumulators, beside their variables: the operations that add, pairs of a mean of `number` gradients and its variable,
    accumulators with their devices."""
    added, means, accumulators = [], [], []
    for grad, var in grads_and_vars:
        if grad is None:
            means.append((None, var))
            continue
        with graph.device(var.device):
            accumulator: ConditionalAccumulator | SparseConditionalAccumulator
            if isinstance(grad, IndexedSlices):
                accumulator = SparseConditionalAccumulator(grad.dtype, shape=(), shared_name=var.name + "/grad_accum")
                added.append(accumulator.apply_indexed_slices_grad(grad, local_step=local_step))
                means.append((accumulator.take_indexed_slices_grad(number), var))
            elif isinstance(grad, Tensor):
                accumulator = ConditionalAccumulator(grad.dtype, shape=var.shape, shared_name=var.name + "/grad_accum")
                added.append(accumulator.apply_grad(grad, local_step=local_step))
                means.append((accumulator.take_grad(number), var))
            else:
                raise ValueError("Unknown grad type!")
        accumulators.append((accumulator, var.device))
    return added, means, accumulators


class _Hook(SessionRunHook):
    """The hook that :meth:`SyncReplicasOptimizer.make_session_run_hook` returns."""

    def __init__(self, optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int):
        self._optimizer, self._is_chief, self._num_tokens = optimizer, is_chief, num_tokens
        self._init_tokens: Operation | None = None

    def begin(self) -> None:
        """Adds what the session will run.

        Raises:
            ValueError: if no gradients were applied yet.
        """
        if self._optimizer._queue_runner is None:
            raise ValueError("SyncReplicasOptimizer.apply_gradient should be called before using the hook.")
        if self._is_chief:
            self._init_tokens = self._optimizer.get_init_tokens_op(self._num_tokens)

    def after_create_session(self, session, coord) -> None:
        """Runs it.

        Raises:
            RuntimeError: if variables have no values.
        """
        optimizer = self._optimizer
        is_ready, message = _ready(optimizer.ready_for_local_init_op, session)
        if not is_ready:
            raise RuntimeError(
                f"Init operations did not make model ready for SyncReplicasOptimizer local_init. Init op: {optimizer.local_step_init_op.name}, "
                f"error: {message}")
        session.run(optimizer.chief_init_op if self._is_chief else optimizer.local_step_init_op)
        if self._is_chief:
            session.run(self._init_tokens)
            optimizer.get_chief_queue_runner().create_threads(session, coord=coord, daemon=True, start=True)
