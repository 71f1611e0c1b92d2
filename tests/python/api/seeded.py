"""Every function of the API that takes a seed, with arguments it can be called with."""

import inspect

import numpy as np

# Modules of the API that have functions with seeds.
MODULES = ("", "nn", "image", "layers", "random", "train", "initializers", "queue")


def _image(tf, *shape):
    return tf.constant(np.random.RandomState(0).rand(*(shape or (6, 6, 3))).astype(np.float32))


def _initializer(**arguments):
    return lambda tf, f, seed: f(seed=seed, **arguments)([6, 5])


def _sampled(*more, **arguments):
    def build(tf, f, seed):
        return list(f(tf.constant([[0], [3]], tf.int64), 1, 4, True, *more, seed=seed, **arguments))
    return build


def _queue(tf, f, seed):
    queue = f(60, 3, [tf.int32], [[]], seed=seed)
    filled = queue.enqueue_many([list(range(20))])
    with tf.control_dependencies([filled]):
        first = queue.dequeue_many(5)
    with tf.control_dependencies([first]):
        return [first, queue.dequeue_many(7)]


def _boxes(tf, f, seed):
    boxes = tf.constant([[[0.1, 0.2, 0.7, 0.9]]])
    return list(f(tf.constant([50, 60, 3]), boxes, seed, min_object_covered=0.3))


def _softmax_loss(tf, f, seed):
    return f(tf.ones([20, 3]), tf.ones([20]), tf.constant([[0], [3]], tf.int64), tf.ones([2, 3]), 5, 20, seed=seed)


_UNIGRAMS = {"unigrams": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]}

# By the last part of the name: how to call it with a seed. Functions that read files or threads fill are in other tests.
CALLS = {
    "glorot_normal_initializer": _initializer(), "glorot_uniform_initializer": _initializer(), "orthogonal_initializer": _initializer(gain=2.0),
    "random_normal_initializer": _initializer(mean=1.0), "random_uniform_initializer": _initializer(minval=-2.0, maxval=3.0),
    "truncated_normal_initializer": _initializer(stddev=2.0), "uniform_unit_scaling_initializer": _initializer(factor=2.0),
    "variance_scaling_initializer": _initializer(scale=2.0, mode="fan_avg", distribution="uniform"),
    "he_normal": _initializer(), "he_uniform": _initializer(), "lecun_normal": _initializer(), "lecun_uniform": _initializer(),
    "random_brightness": lambda tf, f, seed: f(_image(tf), 0.4, seed=seed),
    "random_contrast": lambda tf, f, seed: f(_image(tf), 0.2, 1.4, seed=seed),
    "random_crop": lambda tf, f, seed: f(_image(tf), [3, 2, 3], seed=seed),
    "random_flip_left_right": lambda tf, f, seed: [f(_image(tf), seed=seed), f(_image(tf, 5, 4, 4, 3), seed=seed)],
    "random_flip_up_down": lambda tf, f, seed: [f(_image(tf), seed=seed), f(_image(tf, 5, 4, 4, 3), seed=seed)],
    "random_hue": lambda tf, f, seed: f(_image(tf), 0.3, seed=seed),
    "random_jpeg_quality": lambda tf, f, seed: tf.shape(f(_image(tf), 20, 90, seed=seed)),
    "random_saturation": lambda tf, f, seed: f(_image(tf), 0.3, 1.7, seed=seed),
    "sample_distorted_bounding_box": _boxes,
    "Dropout": lambda tf, f, seed: f(0.4, seed=seed).apply(tf.ones([5, 4]), training=True),
    "dropout": lambda tf, f, seed: f(tf.ones([5, 4]), rate=0.4, seed=seed, **({"training": True} if "training" in inspect.signature(f).parameters else {})),
    "multinomial": lambda tf, f, seed: f(tf.constant([[0.1, 1.0, 2.0], [3.0, 1.0, 0.5]]), 8, seed=seed),
    "categorical": lambda tf, f, seed: f(tf.constant([[0.1, 1.0, 2.0], [3.0, 1.0, 0.5]]), 8, seed=seed),
    "all_candidate_sampler": _sampled(), "uniform_candidate_sampler": _sampled(10), "log_uniform_candidate_sampler": _sampled(10),
    "learned_unigram_candidate_sampler": _sampled(10), "fixed_unigram_candidate_sampler": _sampled(10, **_UNIGRAMS),
    "compute_accidental_hits": lambda tf, f, seed: list(f(tf.constant([[0], [3]], tf.int64), tf.constant([3, 0, 3], tf.int64), 1, seed=seed)),
    "fractional_avg_pool": lambda tf, f, seed: list(f(_image(tf, 1, 9, 9, 2), [1.0, 1.4, 1.7, 1.0], True, deterministic=True, seed=seed)),
    "fractional_max_pool": lambda tf, f, seed: list(f(_image(tf, 1, 9, 9, 2), [1.0, 1.4, 1.7, 1.0], False, True, deterministic=True, seed=seed)),
    "sampled_softmax_loss": _softmax_loss,
    "RandomShuffleQueue": _queue,
    "gamma": lambda tf, f, seed: [f([4], [0.5, 3.0], 2.0, seed=seed), f([3], 1.0, dtype=tf.float64, seed=seed)],
    "poisson": lambda tf, f, seed: [f([0.5, 30.0], [4], seed=seed), f(3.0, [5], dtype=tf.float64, seed=seed)],
    "shuffle": lambda tf, f, seed: f(tf.range(12), seed=seed),
    "normal": lambda tf, f, seed: [f([3, 5], 1.0, 2.0, seed=seed), f([4], dtype=tf.float64, seed=seed), f([4], dtype=tf.float16, seed=seed)],
    "truncated_normal": lambda tf, f, seed: [f([3, 5], 1.0, 2.0, seed=seed), f([4], dtype=tf.float64, seed=seed)],
    "uniform": lambda tf, f, seed: [f([3, 5], seed=seed), f([4], -2, 50, tf.int64, seed=seed), f([4], 1.0, 2.0, tf.float64, seed=seed)],
}
CALLS |= {f"random_{name}": CALLS[name] for name in ("gamma", "poisson", "shuffle", "normal", "uniform")}
CALLS |= {"glorot_normal": CALLS["glorot_normal_initializer"], "glorot_uniform": CALLS["glorot_uniform_initializer"],
          "orthogonal": CALLS["orthogonal_initializer"], "variance_scaling": CALLS["variance_scaling_initializer"],
          "uniform_unit_scaling": CALLS["uniform_unit_scaling_initializer"]}

# These do not ask for the graph's seed: only with a seed of their own, which is no zero, are numbers the same each time.
WITHOUT_GRAPH_SEED = {"fractional_avg_pool", "fractional_max_pool", "sample_distorted_bounding_box"}

# What takes a seed but is no such function, or has a test of its own.
OTHERS = {"get_seed", "set_random_seed", "create_rng_state", "fold_in", "split", "random_index_shuffle"}
THREADED = {"input_producer", "range_input_producer", "slice_input_producer", "string_input_producer",
            "shuffle_batch", "shuffle_batch_join", "maybe_shuffle_batch", "maybe_shuffle_batch_join"}


def of_module(tf, module):
    """A module of the API by its name, ``""`` for the top."""
    return getattr(tf, module) if module else tf


def call_of(module, name):
    """How to call a function; those of distributions are named as initializers are."""
    if module == "initializers" and not name.endswith("initializer"):
        return CALLS.get(f"{name}_initializer") or CALLS.get(name)
    return CALLS.get(name)


def functions(tf):
    """`(module, name)` of all public functions and classes that take a seed."""
    for module in MODULES:
        home = of_module(tf, module)
        for name in sorted(set(dir(home))):
            function = getattr(home, name, None) if not name.startswith("_") else None
            if not callable(function) or inspect.ismodule(function):
                continue
            try:
                parameters = inspect.signature(function.__init__ if inspect.isclass(function) else function).parameters
            except (TypeError, ValueError):
                continue
            if "seed" in parameters or "op_seed" in parameters:
                yield module, name
