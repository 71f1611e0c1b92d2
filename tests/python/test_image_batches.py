"""Batches of images, which run a few images at a time: results are TensorFlow's, and an image has the same bits beside others."""

import numpy as np
import pytest

import flowmill


def network(m, axis):
    """Convolutions of an image, joined along an axis and convolved again. Joined along the first axis, they are other images."""
    random = np.random.RandomState(3)

    def convolution(x, size, inputs, outputs):
        weights = random.uniform(-0.5, 0.5, (size, size, inputs, outputs)).astype("f")
        return m.nn.relu(m.nn.conv2d(x, m.constant(weights), [1, 1, 1, 1], "SAME"))

    image = m.placeholder("float32", [None, 12, 14, 3], name="image")
    first = convolution(image, 3, 3, 8)
    joined = m.concat([first, convolution(first, 3, 8, 8), convolution(first, 1, 8, 8)], axis)
    last = convolution(joined, 3, joined.shape.as_list()[3], 5)
    return m.concat([last, last], axis=axis)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("axis", [3, -1, 1, -3, 0, -4])
def test_joined_convolutions_of_batches(tf1, axis, threads):
    images = np.random.RandomState(4).uniform(-1, 1, (7, 12, 14, 3)).astype("f")
    with tf1.Graph().as_default(), tf1.Session() as session:
        wanted = session.run(network(tf1, axis), {"image:0": images})
    with flowmill.Graph().as_default() as graph:
        result = network(flowmill, axis)
        with flowmill.Session(graph=graph, config=flowmill.SessionOptions(intra_op_threads=threads)) as session:
            found = session.run(result, {"image:0": images})
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
            if axis not in (0, -4):
                single = [session.run(result, {"image:0": images[i:i + 1]}) for i in range(len(images))]
                np.testing.assert_array_equal(found, np.concatenate(single))
