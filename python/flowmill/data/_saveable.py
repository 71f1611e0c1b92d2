"""Iterators in checkpoints."""

from __future__ import annotations

from flowmill._internal.apply import call
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor import Operation
from flowmill.data._iterator import Iterator
from flowmill.data._options import ExternalStatePolicy
from flowmill.train._saveables import SaveableObject, SaveSpec


class _IteratorSaveable(SaveableObject):
    """The place of an iterator in its dataset."""

    def __init__(self, iterator: Iterator, policy: ExternalStatePolicy):
        resource = iterator._iterator_resource
        place = call("SerializeIterator", None, resource, external_state_policy=policy.value)
        super().__init__(resource, [SaveSpec(place, "", resource.name + "_STATE", device=resource.device)], resource.name)

    def restore(self, restored_tensors, restored_shapes) -> Operation:
        with get_default_graph().colocate_with(self.op):
            return call("DeserializeIterator", None, self.op, restored_tensors[0])


def make_saveable_from_iterator(iterator: Iterator, external_state_policy: str | None = None) -> SaveableObject:
    """Returns an object by which :class:`flowmill.train.Saver` saves and restores the place of an iterator: add it to the collection
    `SAVEABLE_OBJECTS`, or pass it to the saver.

    The iterator is initialized before it is restored. Restoring begins anew with the seeds that were drawn when it was saved, and passes over the
    elements that were taken: it calls the functions of these elements again.

    Args:
        iterator: the iterator.
        external_state_policy: what to do about state outside of the dataset, such as that of random operations in functions, which is never
            saved: 'warn', 'ignore', or 'fail', which is what None means, or one of :class:`ExternalStatePolicy`.

    Raises:
        ValueError: for another policy.
    """
    policies = {policy.name.lower(): policy for policy in ExternalStatePolicy}
    policy = external_state_policy or "fail"
    name = policy.name.lower() if isinstance(policy, ExternalStatePolicy) else policy
    if name not in policies:
        raise ValueError(f"Invalid `ExternalStatePolicy.` Supported values include 'warn', 'ignore', and 'fail.' Received {external_state_policy}.")
    return _IteratorSaveable(iterator, policies[name])
