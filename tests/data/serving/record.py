"""Records the bodies of requests that Triton's client makes, and checks that it reads `response.body`.

Run it with Python in an environment with `tritonclient[http]`. The tests that use the files are in `crates/flowmill-serving/tests/formats/clients.rs`.
"""

from pathlib import Path

import numpy as np
from tritonclient.http import InferenceServerClient, InferInput, InferRequestedOutput
from tritonclient.utils import np_to_triton_dtype

HERE = Path(__file__).parent


def record(name, inputs, **options):
    body, json_size = InferenceServerClient.generate_request_body(inputs, **options)
    (HERE / name).write_bytes(body)
    print(name, len(body), json_size)


def make_input(name, array, binary):
    tensor = InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
    tensor.set_data_from_numpy(array, binary_data=binary)
    return tensor


def check_response(json_size):
    body = (HERE / "response.body").read_bytes()
    result = InferenceServerClient.parse_response_body(body, header_length=json_size)
    np.testing.assert_array_equal(result.as_numpy("y"), np.array([[0.1, -1e10], [np.inf, 3]], np.float32))
    np.testing.assert_array_equal(result.as_numpy("h"), np.array([0.5], np.float16))
    assert list(result.as_numpy("s")) == ['a"\x01é'.encode(), b""]
    np.testing.assert_array_equal(result.as_numpy("n"), np.array([[2**64 - 1, 0]], np.uint64))
    np.testing.assert_array_equal(result.as_numpy("b"), [True, False])
    assert result.get_response()["id"] == "r-1"


def main():
    x = np.array([[1.5, -2.25, 3.0], [0.1, 1e-7, 1e9]], np.float32)
    n = np.array([[1], [-2]], np.int64)
    s = np.array([['a"é', ""]], dtype=np.object_)
    h = np.array([0.5, -1.0], np.float16)
    b = np.array([True, False])
    record(
        "json.body",
        [make_input("x", x, False), make_input("n", n, False), make_input("s", s, False), make_input("b", b, False)],
        outputs=[InferRequestedOutput("y", binary_data=False), InferRequestedOutput("z", binary_data=True, class_count=2)],
        request_id="r-1",
        priority=1,
        timeout=5000,
        parameters={"trace": True, "note": "é", "ratio": 0.5},
    )
    record("binary.body", [make_input("x", x, True), make_input("s", s, True), make_input("n", n, False), make_input("h", h, True), make_input("b", b, True)])
    check_response(json_size=len((HERE / "response.body").read_bytes()) - 2 - 13)


if __name__ == "__main__":
    main()
