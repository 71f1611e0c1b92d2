"""``tf.nn.experimental``: dropout with random numbers of the caller's choice."""

from __future__ import annotations

from flowmill.nn._dropout import general_dropout, stateless_dropout

__all__ = ["general_dropout", "stateless_dropout"]
