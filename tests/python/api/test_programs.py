"""What surrounds programs: flags, their main function, messages, strings, versions."""

import io
import logging
import subprocess
import sys

import pytest

import flowmill
from flowmill import flags


@pytest.fixture
def values():
    """Flags of the test's own."""
    found = flags.FlagValues()
    flags.DEFINE_string("name", "x", "a name", flag_values=found, short_name="n")
    flags.DEFINE_integer("steps", 10, "steps", lower_bound=1, flag_values=found)
    flags.DEFINE_float("rate", 0.5, "a rate", flag_values=found)
    flags.DEFINE_boolean("train", False, "whether to train", flag_values=found)
    flags.DEFINE_enum("mode", "a", ["a", "b"], "a mode", flag_values=found)
    flags.DEFINE_list("items", ["1"], "items", flag_values=found)
    flags.DEFINE_multi_integer("layer", None, "layers", flag_values=found)
    return found


def test_flags_are_parsed(values):
    with pytest.raises(flags.UnparsedFlagAccessError, match="--name before flags were parsed"):
        values.name
    rest = values(["prog", "--name=y", "--steps", "20", "-rate=1e-3", "--train", "--mode=b", "--items=a, b", "--layer=1", "--layer=0x10",
                   "file", "--name=z"])
    assert rest == ["prog", "file", "--name=z"]
    assert (values.name, values.steps, values.rate, values.train) == ("y", 20, 1e-3, True)
    assert (values.mode, values.items, values.layer) == ("b", ["a", "b"], [1, 16])
    assert values["train"].present == 1 and values["name"].default == "x"
    values(["prog", "--notrain", "-n", "w", "--", "--steps=3"])
    assert (values.train, values.name, values.steps) == (False, "w", 20)
    assert "name" in values and list(values)[0] == "items" and len(values) == 8
    assert values.flag_values_dict()["rate"] == 1e-3
    values.steps = 5
    assert values.steps == 5
    with pytest.raises(AttributeError):
        values.nothing
    values.unparse_flags()
    values.mark_as_parsed()
    assert values.name == "x"


@pytest.mark.parametrize("word, error, match", [
    ("--none=1", flags.UnrecognizedFlagError, "Unknown command line flag 'none'"),
    ("--step=1", flags.UnrecognizedFlagError, "Did you mean: steps"),
    ("--steps=0", flags.IllegalFlagValueError, "flag --steps=0: "),
    ("--steps=a", flags.IllegalFlagValueError, "flag --steps=a: "),
    ("--train=perhaps", flags.IllegalFlagValueError, "flag --train=perhaps: Non-boolean argument to boolean flag"),
    ("--mode=c", flags.IllegalFlagValueError, "value should be one of <a|b>"),
    ("--name", flags.Error, "Missing value for flag --name"),
])
def test_wrong_flags(values, word, error, match):
    with pytest.raises(error) as found:
        values(["prog", word])
    assert match in str(found.value)


def test_unknown_flags_may_stay(values):
    assert values(["prog", "--none=1", "--steps=2", "more", "--train"], known_only=True) == ["prog", "--none=1", "more"]
    assert (values.steps, values.train) == (2, True)
    assert values(["prog", "--undefok=none", "--none=1"]) == ["prog"]


def test_flags_from_a_file(values, tmp_path):
    path = tmp_path / "flags"
    path.write_text("# a comment\n--steps=7\n\n--notrain\n")
    values(["prog", f"--flagfile={path}", "--name=q"])
    assert (values.steps, values.train, values.name) == (7, False, "q")
    assert "--name=q\n" in values.flags_into_string() and "--notrain\n" in values.flags_into_string()


def test_flags_are_validated(values):
    flags.register_validator("steps", lambda v: v % 2 == 0, "must be even", flag_values=values)
    flags.mark_flag_as_required("layer", flag_values=values)
    with pytest.raises(flags.IllegalFlagValueError, match="--layer must have a value other than None"):
        values(["prog"])
    with pytest.raises(flags.IllegalFlagValueError, match="must be even"):
        values(["prog", "--layer=1", "--steps=3"])
    with pytest.raises(flags.DuplicateFlagError, match="'name' is defined twice"):
        flags.DEFINE_string("name", "", "another", flag_values=values)


def test_old_names_of_arguments():
    found = flags.FlagValues()
    flags.DEFINE_integer(flag_name="old", default_value=3, docstring="old", flag_values=found)
    found(["prog"])
    assert found.old == 3


def test_a_program_runs(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import flowmill as tf\n"
        "tf.flags.DEFINE_integer('steps', 1, 'steps')\n"
        "tf.app.flags.DEFINE_string('text', None, 'text')\n"
        "def main(argv):\n"
        "    print(tf.app.flags.FLAGS.steps, tf.flags.FLAGS.text, argv[1:])\n"
        "    return 3\n"
        "if __name__ == '__main__':\n"
        "    tf.app.run()\n")
    done = subprocess.run([sys.executable, str(program), "--steps=4", "rest", "--text", "t", "--unknown"], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("4 t ['rest', '--unknown']\n", 3), done.stderr
    done = subprocess.run([sys.executable, str(program), "--help"], capture_output=True, text=True)
    assert "--steps: steps" in done.stdout and done.returncode == 1
    done = subprocess.run([sys.executable, str(program), "--steps=x"], capture_output=True, text=True)
    assert "flag --steps=x" in done.stderr and done.returncode == 1


def test_messages():
    logger = flowmill.logging.get_logger()
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s:%(filename)s:%(message)s"))
    logger.addHandler(handler)
    try:
        assert flowmill.logging.get_verbosity() == flowmill.logging.WARN
        flowmill.logging.info("not seen")
        flowmill.logging.set_verbosity(flowmill.logging.INFO)
        flowmill.logging.info("a %d", 1)
        flowmill.logging.warn("b")
        flowmill.logging.log(flowmill.logging.ERROR, "c")
        for i in range(5):
            flowmill.logging.log_first_n(flowmill.logging.INFO, "first %d", 2, i)
        for i in range(5):
            flowmill.logging.log_every_n(flowmill.logging.INFO, "every %d", 3, i)
        flowmill.logging.log_if(flowmill.logging.INFO, "no", False)
        flowmill.logging.vlog(flowmill.logging.DEBUG, "not seen")
    finally:
        logger.removeHandler(handler)
        flowmill.logging.set_verbosity(flowmill.logging.WARN)
    place = "test_programs.py"
    assert stream.getvalue().split("\n") == [
        f"INFO:{place}:a 1", f"WARNING:{place}:b", f"ERROR:{place}:c", f"INFO:{place}:first 0", f"INFO:{place}:first 1", f"INFO:{place}:every 0",
        f"INFO:{place}:every 3", ""]


def test_strings(tf1):
    for tf in (tf1, flowmill):
        assert tf.compat.as_bytes("ä") == "ä".encode() and tf.compat.as_text(b"a") == "a" and tf.compat.as_str("b") == "b"
        assert tf.compat.as_str_any(12) == "12" and tf.compat.as_bytes(bytearray(b"x")) == b"x"
        with pytest.raises(TypeError, match="Expected binary or unicode string, got 1"):
            tf.compat.as_bytes(1)
        with pytest.raises(TypeError, match="Expected binary or unicode string"):
            tf.compat.as_text(None)


def test_version_1_is_the_package_itself():
    import flowmill.compat.v1 as tf
    from flowmill.compat import v1

    assert tf is flowmill and v1 is flowmill and flowmill.compat.v1 is flowmill
    tf.disable_v2_behavior()
    tf.disable_eager_execution()
    assert not tf.executing_eagerly() and not tf.resource_variables_enabled()
    tf.enable_resource_variables()
    assert tf.resource_variables_enabled()
    tf.disable_resource_variables()
    with pytest.raises(NotImplementedError, match="no eager execution"):
        tf.enable_eager_execution()
    with pytest.raises(AttributeError, match="flowmill has no tf.compat.v2"):
        flowmill.compat.v2


def test_versions():
    assert flowmill.VERSION == flowmill.__version__ == flowmill.version.VERSION
    with flowmill.Graph().as_default() as graph:
        assert graph.as_graph_def().versions.producer == flowmill.GRAPH_DEF_VERSION


def test_devices():
    from flowmill.python.client import device_lib

    assert [(d.name, d.device_type) for d in device_lib.list_local_devices()] == [("/device:CPU:0", "CPU")]
    assert len(device_lib.list_local_devices(flowmill.ConfigProto(device_count={"CPU": 3}))) == 3
    assert not flowmill.test.is_gpu_available() and flowmill.test.gpu_device_name() == "" and not flowmill.test.is_built_with_cuda()


def test_specs(tf1):
    for tf in (tf1, flowmill):
        spec = tf.TensorSpec([None, 3], tf.int32, name="s")
        assert spec.shape.as_list() == [None, 3] and spec.dtype == tf.int32 and spec.name == "s"
        assert spec == tf.TensorSpec([None, 3], tf.int32, name="s") != tf.TensorSpec([2, 3], tf.int32, name="s")
        assert tf.TensorSpec([1]).dtype == tf.float32
        with tf.Graph().as_default():
            tensor = tf.constant([[1, 2, 3]], name="c")
            assert tf.TensorSpec.from_tensor(tensor).name == "c" and spec.is_compatible_with(tensor)
            assert not tf.TensorSpec([2, 3], tf.int32).is_compatible_with(tensor)


class Case(flowmill.test.TestCase):
    def test_it(self):
        first = flowmill.get_default_graph()
        with self.test_session() as sess:
            assert sess.graph is first
            self.assertAllEqual(self.evaluate(flowmill.constant([1, 2])), [1, 2])
            self.assertAllClose({"a": [1.0, 2.0]}, {"a": [1.0, 2.0 + 1e-9]})
            self.assertNotAllClose([1.0], [1.1])
            with self.assertRaisesOpError("divi"):
                flowmill.raw_ops.FloorDiv(x=1, y=flowmill.constant(0)).eval()
        with self.session(graph=flowmill.Graph()):
            assert flowmill.get_default_graph() is not first
        assert self.get_temp_dir().startswith(flowmill.test.get_temp_dir())


def test_stand_ins(tf1):
    import types

    class Thing:
        value = 1

        @staticmethod
        def static():
            return 2
    for tf in (tf1, flowmill):
        module, thing = types.ModuleType("m"), Thing()
        module.x, thing.own = 1, 3
        with tf.test.StubOutForTesting() as stubs:
            stubs.Set(module, "x", 2)
            stubs.Set(module, "x", 3)
            stubs.SmartSet(thing, "value", 5)
            stubs.SmartSet(thing, "own", 6)
            stubs.Set(Thing, "static", staticmethod(lambda: 7))
            assert (module.x, thing.value, thing.own, Thing.static()) == (3, 5, 6, 7)
        assert (module.x, thing.value, thing.own, Thing.static()) == (1, 1, 3, 2)


def test_timings(tf1, capsys):
    for tf in (tf1, flowmill):
        class Sum(tf.test.Benchmark):
            def benchmark_sum(self, tf=tf):
                with tf.Graph().as_default(), tf.Session(config=tf.test.benchmark_config()) as session:
                    return self.run_op_benchmark(session, tf.reduce_sum(tf.ones([10])), min_iters=3, store_memory_usage=False, mbs=2, extras={"size": 10})
        found = Sum().benchmark_sum()
        assert found["iters"] == 3 and 0 < found["wall_time"] < 10 and found["throughput"] == 2 / found["wall_time"]
        assert found["extras"]["size"] == 10 and {"wall_time_mean", "wall_time_stdev"} < set(found["extras"])
        assert tf.test.Benchmark.is_abstract() and not Sum.is_abstract()
    assert "Sum.benchmark_sum: iters=3 wall_time=" in capsys.readouterr().out


def test_tests_that_are_left_out():
    class Some(flowmill.test.TestCase):
        @flowmill.test.disable_with_predicate(lambda: True, "not here")
        def test_it(self):
            raise AssertionError
    result = Some("test_it").run()
    assert [reason for _, reason in result.skipped] == ["not here"]
    assert flowmill.test.with_eager_op_as_function(Some) is Some and not flowmill.test.is_cpu_target_available("no such")
