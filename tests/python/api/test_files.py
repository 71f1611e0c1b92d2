"""Files, record files, graphs as files: against TensorFlow's."""

import os
import random

import pytest

import flowmill
from flowmill._internal.crc32c import crc32c


@pytest.fixture(params=["tensorflow", "flowmill"])
def tf(request, tf1):
    """Both modules: what is asserted holds for either."""
    return tf1 if request.param == "tensorflow" else flowmill


def test_text_and_bytes(tf, tmp_path):
    path = str(tmp_path / "a.txt")
    with tf.gfile.GFile(path, "w") as f:
        f.write("erste\n")
        f.write("zweite Zeile ä\n".encode())
    with tf.gfile.Open(path) as f:
        assert f.size() == 22
        assert f.readline() == "erste\n"
        assert f.tell() == 6
        f.seek(0)
        assert list(f) == ["erste\n", "zweite Zeile ä\n"]
    with tf.gfile.FastGFile(path, "rb") as f:
        assert f.read(3) == b"ers"
        assert f.read() == "te\nzweite Zeile ä\n".encode()
    with tf.gfile.GFile(path, "a") as f:
        f.write("x")
    assert tf.io.gfile.GFile(path).readlines()[-1] == "x"
    with pytest.raises(tf.errors.PermissionDeniedError, match="open for reading"):
        tf.gfile.GFile(path, "w").read()
    with pytest.raises(tf.errors.PermissionDeniedError, match="open for writing"):
        tf.gfile.GFile(path).write("x")
    with pytest.raises(tf.errors.NotFoundError):
        tf.gfile.GFile(str(tmp_path / "none")).read()
    assert not tf.gfile.Exists(str(tmp_path / "none"))


def test_directories(tf, tmp_path):
    root = str(tmp_path / "d")
    tf.gfile.MakeDirs(os.path.join(root, "b", "c"))
    tf.gfile.MakeDirs(root)
    tf.gfile.MkDir(root)
    with pytest.raises(tf.errors.NotFoundError):
        tf.gfile.MkDir(os.path.join(root, "x", "y"))
    for name in ("1.txt", ".hidden", "b/2.txt"):
        with tf.gfile.GFile(os.path.join(root, name), "w") as f:
            f.write("abc")
    assert sorted(tf.gfile.ListDirectory(root)) == [".hidden", "1.txt", "b"]
    with pytest.raises(tf.errors.NotFoundError, match="Could not find directory"):
        tf.gfile.ListDirectory(os.path.join(root, "none"))
    assert tf.gfile.IsDirectory(root) and not tf.gfile.IsDirectory(os.path.join(root, "1.txt"))
    assert sorted(tf.gfile.Glob(os.path.join(root, "*", "*.txt"))) == [os.path.join(root, "b", "2.txt")]
    assert sorted(tf.gfile.Glob([os.path.join(root, "[0-9].t?t"), os.path.join(root, "none*")])) == [os.path.join(root, "1.txt")]
    assert tf.gfile.Stat(os.path.join(root, "1.txt")).length == 3
    assert [(d, sorted(s), sorted(f)) for d, s, f in tf.gfile.Walk(root)] == [
        (root, ["b"], [".hidden", "1.txt"]), (os.path.join(root, "b"), ["c"], ["2.txt"]), (os.path.join(root, "b", "c"), [], [])]
    assert [d for d, _, _ in tf.gfile.Walk(root, in_order=False)][-1] == root
    tf.gfile.Copy(os.path.join(root, "1.txt"), os.path.join(root, "3.txt"))
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.gfile.Copy(os.path.join(root, "1.txt"), os.path.join(root, "3.txt"))
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.gfile.Rename(os.path.join(root, "1.txt"), os.path.join(root, "3.txt"))
    tf.gfile.Rename(os.path.join(root, "1.txt"), os.path.join(root, "3.txt"), overwrite=True)
    tf.gfile.Remove(os.path.join(root, "3.txt"))
    with pytest.raises(tf.errors.NotFoundError):
        tf.gfile.Remove(os.path.join(root, "3.txt"))
    tf.io.gfile.rmtree(root)
    assert not tf.io.gfile.exists(root)
    with pytest.raises(tf.errors.NotFoundError):
        tf.gfile.DeleteRecursively(root)


RECORDS = [b"", b"a", bytes(range(256)) * 100, random.Random(1).randbytes(8191), random.Random(2).randbytes(8192), b"end"]


def test_a_walk_says_what_is_not_there(tf, tmp_path):
    (tmp_path / "a").mkdir()
    failed = []
    assert [names for _, *names in tf.io.gfile.walk(str(tmp_path))] == [[["a"], []], [[], []]]
    assert list(tf.io.gfile.walk(str(tmp_path / "b"))) == []

    def stop(error):
        failed.append(error)
        raise error

    with pytest.raises(tf.errors.NotFoundError):
        list(tf.io.gfile.walk(str(tmp_path / "b"), onerror=stop))
    assert len(failed) == 1


@pytest.mark.parametrize("kind", ["", "ZLIB", "GZIP"])
def test_records_are_read_and_written_as_tensorflow_does(tf1, tmp_path, kind):
    for writer, reader in ((tf1, flowmill), (flowmill, tf1), (flowmill, flowmill)):
        path = str(tmp_path / "r")
        options = writer.io.TFRecordOptions(compression_type=kind)
        with writer.python_io.TFRecordWriter(path, options) as f:
            for i, record in enumerate(RECORDS):
                f.write(record)
                if i == 2:
                    f.flush()
        assert list(reader.python_io.tf_record_iterator(path, reader.python_io.TFRecordOptions(getattr(
            reader.python_io.TFRecordCompressionType, kind or "NONE")))) == RECORDS
    with pytest.raises(flowmill.errors.FailedPreconditionError):
        f.write(b"")


def test_damaged_records(tf, tmp_path):
    path = str(tmp_path / "r")
    with tf.io.TFRecordWriter(path) as f:
        f.write(b"hello")
        f.write(b"world")
    whole = (tmp_path / "r").read_bytes()
    for damaged in (whole[:-1], whole[:24] + b"\1" + whole[25:], whole[:-6] + b"X" + whole[-5:]):
        (tmp_path / "r").write_bytes(damaged)
        with pytest.raises(tf.errors.DataLossError):
            list(tf.io.tf_record_iterator(path))
    (tmp_path / "r").write_bytes(whole[:25])
    assert list(tf.io.tf_record_iterator(path)) == [b"hello"]
    with pytest.raises(tf.errors.NotFoundError):
        list(tf.io.tf_record_iterator(str(tmp_path / "none")))


def test_compressions_are_checked():
    with pytest.raises(ValueError, match="Not a valid compression_type"):
        flowmill.io.TFRecordOptions(compression_type="BZIP")
    assert flowmill.io.TFRecordOptions.get_compression_type_string(flowmill.io.TFRecordOptions("GZIP")) == "GZIP"


def test_the_checksum_is_castagnolis():
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    long = random.Random(3).randbytes(300_001)
    slow = 0xFFFFFFFF
    for byte in long:
        slow ^= byte
        for _ in range(8):
            slow = slow >> 1 ^ (0x82F63B78 if slow & 1 else 0)
    assert crc32c(long) == slow ^ 0xFFFFFFFF


@pytest.mark.parametrize("as_text", [True, False])
def test_graphs_are_written(tf1, tmp_path, as_text):
    with flowmill.Graph().as_default() as graph:
        flowmill.constant([1.5], name="c")
    path = flowmill.io.write_graph(graph, str(tmp_path / "new"), "g.pb", as_text)
    assert path == str(tmp_path / "new" / "g.pb")
    data = (tmp_path / "new" / "g.pb").read_bytes()
    if as_text:
        from google.protobuf import text_format

        found = text_format.Parse(data, tf1.GraphDef())
    else:
        found = tf1.GraphDef.FromString(data)
    assert [n.name for n in found.node] == ["c"]
