"""Sound as files."""

import numpy as np
import pytest

import flowmill
from compare import compare, run, same_error

SOUND = np.random.RandomState(0).uniform(-1.2, 1.2, (50, 2)).astype("f")


def file_of(sound=SOUND, rate=16000) -> bytes:
    return run(flowmill, lambda tf: tf.audio.encode_wav(sound, rate))[2][0]


def test_files(tf1):
    compare(tf1, lambda tf: tf.audio.encode_wav(SOUND, 16000, name="wav"))
    compare(tf1, lambda tf: tf.audio.encode_wav(np.zeros((0, 1), "f"), 1))
    for options in ({}, {"desired_channels": 1}, {"desired_channels": 4, "desired_samples": 70}, {"desired_samples": 3}, {"desired_samples": 0}):
        compare(tf1, lambda tf, options=options: list(tf.audio.decode_wav(file_of(), **options)))


def test_chunks_before_and_behind(tf1):
    file = file_of()
    junk = b"JUNK" + (4).to_bytes(4, "little") + b"abcd"
    for data in (file[:12] + junk + file[12:], file + b"LIST" + (3).to_bytes(4, "little") + b"abc", file[:16] + b"\x12" + file[17:36] + b"\0\0" + file[36:]):
        compare(tf1, lambda tf, data=data: list(tf.audio.decode_wav(data)))


@pytest.mark.parametrize("change, message", [
    (lambda f: f[:3], "Data too short when trying to read string"), (lambda f: b"RIFX" + f[4:], "Header mismatch: Expected RIFF but found RIFX"),
    (lambda f: f[:12] + b"abcd" + f[16:], "Unexpected field abcd"), (lambda f: f[:16] + b"\x11" + f[17:], "Bad format chunk size for WAV"),
    (lambda f: f[:20] + b"\x03" + f[21:], "Bad audio format for WAV"), (lambda f: f[:22] + b"\0\0" + f[24:], "Bad number of channels for WAV"),
    (lambda f: f[:34] + b"\x08" + f[35:], "Can only read 16-bit WAV files, but received 8"), (lambda f: f[:32] + b"\x09" + f[33:], "Bad bytes per sample"),
    (lambda f: f[:28] + b"\x09" + f[29:], "Bad bytes per second"), (lambda f: f[:36], "No data chunk found in WAV"),
    (lambda f: f + f[36:], "More than one data chunk found in WAV"), (lambda f: f[:-1], "Data too short"),
])
def test_files_that_are_not_right(tf1, change, message):
    data = change(file_of())
    for tf in (tf1, flowmill):
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            run(tf, lambda tf: tf.audio.decode_wav(data)[0])
        assert message in str(raised.value)


def test_errors(tf1):
    same_error(tf1, lambda tf: tf.audio.decode_wav(["a"]), "Shape must be rank 0 but is rank 1")
    same_error(tf1, lambda tf: tf.audio.decode_wav("a", -2), "channels must be non-negative, got -2")
    same_error(tf1, lambda tf: tf.audio.encode_wav([1.0], 1), "Shape must be rank 2 but is rank 1")
    for tf in (tf1, flowmill):
        with pytest.raises(tf.errors.InvalidArgumentError, match="sample_rate must be in"):
            run(tf, lambda tf: tf.audio.encode_wav(SOUND, 0))
    with pytest.raises(flowmill.errors.InvalidArgumentError, match="num_channels must be in"):
        run(flowmill, lambda tf: tf.audio.encode_wav(np.zeros((2, 0), "f"), 1))
