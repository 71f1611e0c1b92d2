"""Operations that are run when a model is loaded."""

from flowmill.saved_model.builder import main_op

__all__ = ["main_op"]
