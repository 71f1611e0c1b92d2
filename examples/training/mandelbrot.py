"""The Mandelbrot set by a `while_loop`, in characters.

    python examples/training/mandelbrot.py [--tensorflow]
"""

import numpy as np

SHADES = " .:-=+*#%@"


def run(tf, width=72, height=28, limit=60):
    """Computes how many steps each point of a part of the plane takes to leave the circle of radius 2."""
    with tf.Graph().as_default():
        x = tf.reshape(tf.linspace(-2.2, 0.8, width), [1, width])
        y = tf.reshape(tf.linspace(-1.2, 1.2, height), [height, 1])
        c = tf.complex(x + tf.zeros([height, 1]), y + tf.zeros([1, width]))

        def step(i, z, counts):
            z = z * z + c
            inside = tf.abs(z) < 2.0
            # Far away the numbers would overflow.
            z = tf.where(tf.abs(z) < 1e6, z, tf.fill(tf.shape(z), tf.constant(1e6, tf.complex64)))
            return i + 1, z, counts + tf.cast(inside, tf.int32)

        start = tf.constant(0), tf.zeros_like(c), tf.zeros([height, width], tf.int32)
        _, _, counts = tf.while_loop(lambda i, *_: i < limit, step, start)
        with tf.Session() as session:
            return session.run(counts)


if __name__ == "__main__":
    import which

    for row in run(which.module()):
        print("".join(SHADES[min(int(np.log2(1 + n) * 1.7), len(SHADES) - 1)] for n in row))
