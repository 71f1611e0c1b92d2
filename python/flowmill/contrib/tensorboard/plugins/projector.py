"""The embedding projector."""

from __future__ import annotations

import os

from flowmill._internal import lazy as _lazy

_NAMES = _lazy.messages("EmbeddingInfo ProjectorConfig SpriteMetadata")

__all__ = ["visualize_embeddings", *sorted(_NAMES)]

__getattr__, __dir__ = _lazy.attach(__name__, _NAMES)

# The file that TensorBoard looks for in the directory of a run.
_FILE = "projector_config.pbtxt"


def visualize_embeddings(logdir, config) -> None:
    """Writes the projector's configuration to the directory of a run.

    Args:
        logdir: the directory, or a `FileWriter` of it.
        config: a `ProjectorConfig` that names the embeddings, and the checkpoint with them, unless that is the latest one of the directory.

    Raises:
        ValueError: if there is no directory.
    """
    from google.protobuf import text_format  # start-up: protobuf is loaded when it is used

    logdir = logdir.get_logdir() if hasattr(logdir, "get_logdir") else logdir
    if logdir is None:
        raise ValueError("Expected logdir to be a path, but got None")
    with open(os.path.join(os.fspath(logdir), _FILE), "w", encoding="utf-8") as file:
        file.write(text_format.MessageToString(config))
