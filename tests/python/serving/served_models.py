"""Models to serve, and a client that speaks JSON."""

import json
import pathlib
import socket
import urllib.error
import urllib.request

import flowmill as tf

ROOT = pathlib.Path(__file__).parents[3]
DIGITS = ROOT / "examples" / "digits"


class Http:
    """Sends requests to one server."""

    def __init__(self, url: str):
        self.url = url

    def __call__(self, path, body=None, headers=None, method=None):
        """Returns the status and the body; `body` is sent as JSON unless it is bytes."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def json(self, path, body=None, **options):
        status, text = self(path, body, **options)
        return status, json.loads(text)


def free_ports(count):
    """Returns ports of this machine that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def add_version(directory, version=1, offset=0.0):
    """Writes a version of a model: `y` is three times `x` plus `offset`, `s` is `t`, and `h` is `g`."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        t, g = tf.placeholder(tf.string, [None], name="t"), tf.placeholder(tf.float16, [None, 2], name="g")
        builder = tf.saved_model.builder.SavedModelBuilder(str(pathlib.Path(directory) / str(version)))
        info, define = tf.saved_model.utils.build_tensor_info, tf.saved_model.signature_def_utils.build_signature_def
        predict = "tensorflow/serving/predict"
        builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map={
            "serving_default": define({"x": info(x)}, {"y": info(x * 3.0 + offset)}, predict),
            "strings": define({"t": info(t)}, {"s": info(tf.identity(t))}, predict),
            "halves": define({"g": info(g)}, {"h": info(tf.identity(g))}, predict),
        })
        builder.save()
    return pathlib.Path(directory)


def add_examples_version(tf1, directory):
    """Writes, by TensorFlow, version 1 of a model of examples with the feature `x` of two floats, as estimators are exported.

    The scores are `x` and its double, for the classes `small` and `large`; the regression is the sum of `x`.
    """
    with tf1.Graph().as_default(), tf1.Session() as session:
        serialized = tf1.placeholder(tf1.string, [None], name="examples")
        x = tf1.io.parse_example(serialized, {"x": tf1.io.FixedLenFeature([2], tf1.float32, [0.5, 0.5])})["x"]
        scores, total = x * [[1.0, 2.0]], tf1.reduce_sum(x, 1)
        classes = tf1.tile(tf1.constant([["small", "large"]]), [tf1.shape(x)[0], 1])
        define = tf1.saved_model.signature_def_utils
        signatures = {
            "serving_default": define.classification_signature_def(serialized, classes, scores),
            "classification": define.classification_signature_def(serialized, classes, scores),
            "regression": define.regression_signature_def(serialized, total),
            "predict": define.predict_signature_def({"examples": serialized}, {"scores": scores, "total": total}),
        }
        builder = tf1.saved_model.builder.SavedModelBuilder(str(pathlib.Path(directory) / "1"))
        builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map=signatures)
        builder.save()
    return pathlib.Path(directory)
