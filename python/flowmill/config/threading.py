"""``tf.config.threading``: numbers of threads."""

from flowmill.config._switches import (
    get_inter_op_parallelism_threads, get_intra_op_parallelism_threads, set_inter_op_parallelism_threads, set_intra_op_parallelism_threads,
)

__all__ = [
    "get_inter_op_parallelism_threads", "get_intra_op_parallelism_threads", "set_inter_op_parallelism_threads", "set_intra_op_parallelism_threads",
]
