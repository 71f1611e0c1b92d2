"""Classifies handwritten digits with a SavedModel that TensorFlow trained, and compares with what TensorFlow said.

The model is a convolutional network and an LSTM that reads an image row by row in a `while_loop`. `expected.npz` holds 297 images that
it was not trained on, their labels, and TensorFlow's outputs. Exits with 1 where Flowmill's differ.

    python examples/digits/demo.py
"""

import pathlib
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).parent
RTOL, ATOL = 1e-4, 1e-5


def main() -> int:
    start = time.perf_counter()
    import flowmill as tf

    imported = time.perf_counter()
    model = tf.saved_model.load(HERE / "1")
    classify = model.signatures["serving_default"]
    loaded = time.perf_counter()
    expected = np.load(HERE / "expected.npz")
    images, labels = expected["images"], expected["labels"]
    first = time.perf_counter()
    classify(images=images[:1])
    first = time.perf_counter() - first
    outputs = classify(images=images)

    classes_agree = int(np.sum(outputs["classes"] == expected["classes"]))
    probabilities_agree = np.allclose(outputs["probabilities"], expected["probabilities"], rtol=RTOL, atol=ATOL)
    largest = float(np.max(np.abs(outputs["probabilities"] - expected["probabilities"])))
    n = len(images)
    print(f"flowmill {tf.__version__}, model {classify.name}: {', '.join(classify.inputs)} -> {', '.join(classify.outputs)}")
    print(f"accuracy             {np.mean(outputs['classes'] == labels):.2%} of {n} images")
    print(f"as TensorFlow        {classes_agree} of {n} classes, probabilities {'equal' if probabilities_agree else 'DIFFERENT'} "
          f"(largest difference {largest:.1e})")
    print(f"import, load, first  {1e3 * (imported - start):.1f} ms, {1e3 * (loaded - imported):.1f} ms, {1e3 * first:.1f} ms")
    print(f"time per image       {1e6 * best(lambda: classify(images=images[:1])):.1f} µs alone, "
          f"{1e6 * best(lambda: classify(images=images)) / n:.1f} µs in a batch of {n}")
    return 0 if probabilities_agree and classes_agree == n else 1


def best(run, seconds: float = 0.5) -> float:
    """The shortest time of a run, of as many as fit into some seconds."""
    end, shortest = time.perf_counter() + seconds, float("inf")
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


if __name__ == "__main__":
    sys.exit(main())
