"""Chooses the module that the examples build their graphs with: Flowmill, or TensorFlow if the command line has ``--tensorflow``."""

import os
import sys


def module():
    """The module with the TensorFlow-1 API."""
    if "--tensorflow" not in sys.argv[1:]:
        import flowmill

        return flowmill
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    return tf
