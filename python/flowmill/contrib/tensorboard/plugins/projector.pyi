# Made by python/make_stubs from the code.

from flowmill._internal.protos import EmbeddingInfo as EmbeddingInfo
from flowmill._internal.protos import ProjectorConfig as ProjectorConfig
from flowmill._internal.protos import SpriteMetadata as SpriteMetadata

__all__ = [
    "EmbeddingInfo",
    "ProjectorConfig",
    "SpriteMetadata",
    "visualize_embeddings",
]

def visualize_embeddings(logdir, config) -> None: ...
