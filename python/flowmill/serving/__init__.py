"""Model servers and predictors within the process. TensorFlow has no module of this name.

A `Server` answers the clients of TensorFlow Serving and of KServe, as the command ``flowmill serve`` does. A `Predictor` calls one signature of a
model without a network, for programs that have a server of their own, such as those of FastAPI and Ray Serve.
"""

from __future__ import annotations

from flowmill.serving._options import Batching, Tls
from flowmill.serving._predictor import Predictor
from flowmill.serving._server import ModelVersion, Server

__all__ = ["Batching", "ModelVersion", "Predictor", "Server", "Tls"]
