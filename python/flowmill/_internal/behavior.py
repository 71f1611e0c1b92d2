"""Switches between the behaviours of version 1 and 2. Graphs are never run eagerly here."""

from __future__ import annotations

_resource_variables = False
_control_flow_v2 = False


def enable_resource_variables() -> None:
    """Makes variables resources from now on, unless `use_resource` says otherwise."""
    global _resource_variables
    _resource_variables = True


def disable_resource_variables() -> None:
    """Makes variables references from now on, unless `use_resource` says otherwise."""
    global _resource_variables
    _resource_variables = False


def resource_variables_enabled() -> bool:
    """Returns true if variables are resources unless `use_resource` says otherwise."""
    return _resource_variables


def enable_control_flow_v2() -> None:
    """Makes branches and loops functions from now on, called by `If` and `While`."""
    global _control_flow_v2
    _control_flow_v2 = True


def disable_control_flow_v2() -> None:
    """Makes branches and loops parts of the graph from now on: `Switch` and `Merge`, `Enter` and `Exit`."""
    global _control_flow_v2
    _control_flow_v2 = False


def control_flow_v2_enabled() -> bool:
    """Returns true if branches and loops become functions."""
    return _control_flow_v2


def executing_eagerly() -> bool:
    """False: operations are added to graphs."""
    return False


def executing_eagerly_outside_functions() -> bool:
    """False: operations are added to graphs."""
    return False


def disable_eager_execution() -> None:
    """Does nothing: operations are added to graphs anyway."""


def enable_eager_execution(config=None, device_policy=None, execution_mode=None) -> None:
    """Not there.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("flowmill has no eager execution: operations are added to graphs, which sessions run.")


def disable_v2_behavior() -> None:
    """Goes back to version 1's variables and control flow."""
    disable_resource_variables()
    disable_control_flow_v2()


def enable_v2_behavior() -> None:
    """Not there: it includes eager execution.

    Raises:
        NotImplementedError: always.
    """
    enable_eager_execution()


def disable_tensor_equality() -> None:
    """Does nothing: ``==`` of tensors of graphs asks whether they are the same one."""


def enable_tensor_equality() -> None:
    """Does nothing: ``==`` asks whether two tensors of graphs are the same one, as it does in TensorFlow without eager execution."""


def disable_v2_tensorshape() -> None:
    """Does nothing: iterating over a shape gives a :class:`flowmill.Dimension` for each size."""


def enable_v2_tensorshape() -> None:
    """Not there.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("flowmill has version 1's tensor shapes only: their sizes are tf.Dimension objects.")
