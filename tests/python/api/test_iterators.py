"""Iterators of datasets: places of sessions, initializers, handles, errors and seeds are TensorFlow's."""

import threading

import numpy as np
import pytest
from compare import compare, same, same_error

import flowmill


def drained(tf, session, fetch, most=30):
    """What steps give until the elements end."""
    found = []
    for _ in range(most):
        try:
            found.append(session.run(fetch))
        except tf.errors.OutOfRangeError as error:
            assert "End of sequence" in str(error)
            break
    return found


def in_both(tf1, run):
    """What `run(tf)` returns, which must be equal for both modules."""
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            found.append(run(tf))
    assert found[1] == found[0]
    return found[1]


def test_each_session_has_its_own_place(tf1):
    def run(tf):
        following = tf.data.Dataset.range(4).make_one_shot_iterator().get_next()
        with tf.Session() as first, tf.Session() as second:
            return [int(s.run(following)) for s in (first, first, second, first, second)]

    assert in_both(tf1, run) == [0, 1, 0, 2, 1]


def test_a_session_has_one_place_for_an_iterator(tf1):
    def run(tf):
        iterator = tf.data.Dataset.range(4).make_initializable_iterator()
        pair = iterator.get_next(), iterator.get_next()
        with tf.Session() as session:
            session.run(iterator.initializer)
            return sorted(int(v) for step in range(2) for v in session.run(pair))

    assert in_both(tf1, run) == [0, 1, 2, 3]


def test_initializers_begin_anew_with_what_is_fed(tf1):
    def run(tf):
        limit = tf.placeholder(tf.int64, [])
        iterator = tf.data.Dataset.range(limit).make_initializable_iterator()
        following = iterator.get_next()
        with tf.Session() as session:
            with pytest.raises(tf.errors.FailedPreconditionError, match="iterator has not been initialized"):
                session.run(following)
            found = []
            for n in (3, 2):
                session.run(iterator.initializer, {limit: n})
                found.append([int(v) for v in drained(tf, session, following)])
            session.run(iterator.initializer, {limit: 5})
            found.append(int(session.run(following)))
            session.run(iterator.initializer, {limit: 5})
            return [*found, int(session.run(following))]

    assert in_both(tf1, run) == [[0, 1, 2], [0, 1], 0, 0]


def test_steps_past_the_end_go_on_failing(tf1):
    def run(tf):
        following = tf.data.Dataset.range(2).make_one_shot_iterator().get_next()
        with tf.Session() as session:
            found = [int(session.run(following)) for _ in range(2)]
            for _ in range(3):
                with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
                    session.run(following)
            return found

    in_both(tf1, run)


def test_elements_that_may_not_be_there(tf1):
    def run(tf):
        iterator = tf.data.Dataset.range(1).make_initializable_iterator()
        element = tf.data.experimental.get_next_as_optional(iterator)
        value = tf.cond(element.has_value(), lambda: element.get_value(), lambda: tf.constant(-1, tf.int64))
        with tf.Session() as session:
            session.run(iterator.initializer)
            return [int(session.run(value)) for _ in range(3)]

    assert in_both(tf1, run) == [0, -1, -1]


def test_a_table_that_a_function_captures(tf1):
    def run(tf):
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
        iterator = tf.data.Dataset.from_tensor_slices(["b", "c", "a"]).map(lambda s: table.lookup(s)).make_initializable_iterator()
        following = iterator.get_next()
        with tf.Session() as session:
            session.run([tf.tables_initializer()])
            session.run(iterator.initializer)
            return [int(v) for v in drained(tf, session, following)]

    assert in_both(tf1, run) == [2, -1, 1]


def test_a_variable_that_a_function_captures_is_read_when_elements_are_made(tf1):
    def run(tf):
        variable = tf.get_variable("v", initializer=tf.constant(1, tf.int64), use_resource=True)
        options = tf.data.Options()
        options.experimental_optimization.inject_prefetch = False
        iterator = tf.data.Dataset.range(4).map(lambda x: x + variable).with_options(options).make_initializable_iterator()
        following = iterator.get_next()
        more = variable.assign_add(10)
        with tf.Session() as session:
            session.run(variable.initializer)
            session.run(iterator.initializer)
            found = [int(session.run(following))]
            session.run(more)
            return [*found, int(session.run(following))]

    assert in_both(tf1, run) == [1, 12]


def _captures_placeholder(tf):
    tf.data.Dataset.range(tf.placeholder(tf.int64, [])).make_one_shot_iterator()


def _captures_variable(tf):
    variable = tf.Variable(1, use_resource=True)
    tf.data.Dataset.range(3).map(lambda x: x + tf.cast(variable, tf.int64)).make_one_shot_iterator()


def _other_graph(tf):
    dataset = tf.data.Dataset.range(3)
    with tf.Graph().as_default():
        tf.data.make_initializable_iterator(dataset)


def _iterator_of(tf, types, shapes=None):
    return tf.data.Iterator.from_structure(types, shapes)


@pytest.mark.parametrize(("build", "match"), [
    (_captures_placeholder, "Cannot capture a placeholder"),
    (_captures_variable, "Use `make_initializable_iterator()` instead."),
    (_other_graph, "Make sure that the dataset is created in the same graph as the iterator."),
    (lambda tf: tf.data.Dataset.range(3).make_one_shot_iterator().initializer, "The iterator does not have an initializer."),
    (lambda tf: _iterator_of(tf, tf.int32).make_initializer(tf.data.Dataset.range(3)), "Expected output types"),
    (lambda tf: _iterator_of(tf, tf.int64, [2]).make_initializer(tf.data.Dataset.range(3)), "Expected output shapes compatible with"),
    (lambda tf: _iterator_of(tf, (tf.int64, tf.int64)).make_initializer(tf.data.Dataset.range(3)), "The two structures don't have the same nested"),
    (lambda tf: tf.data.Iterator(tf.constant(1), None, None, [], []), "must be specified to create an iterator"),
    (lambda tf: iter(tf.data.Dataset.range(3)), "only supports Python-style iteration in eager mode"),
    (lambda tf: len(tf.data.Dataset.range(3)), "only supports `len` in eager mode"),
    (lambda tf: tf.data.get_output_types(3), "Invalid `dataset_or_iterator`."),
])
def test_errors_of_iterators(tf1, build, match):
    same_error(tf1, build, match)


@pytest.mark.parametrize(("build", "match"), [
    (lambda tf: tf.data.Dataset.from_tensor_slices(3), "Unbatching a tensor is only supported for rank >= 1"),
    (lambda tf: tf.data.Dataset.from_tensor_slices(([1, 2], [1, 2, 3])), "are not compatible"),
    (lambda tf: tf.data.Dataset.from_tensor_slices(()), "`element` should not be empty"),
    (lambda tf: tf.data.Dataset.range(), "should be between 1 and 3 but was 0"),
    (lambda tf: tf.data.Dataset.zip([tf.data.Dataset.range(3)]), "Python `list` is not supported"),
    (lambda tf: tf.data.Dataset.zip((tf.data.Dataset.range(3), 3)), "encountered object of type"),
    (lambda tf: tf.data.Dataset.range(3).map(lambda x: object()), "Unsupported return value from function passed to Dataset.map()"),
    (lambda tf: tf.data.Dataset.range(3).filter(lambda x: x), "`predicate` must return a `tf.bool` scalar tensor"),
    (lambda tf: tf.data.Dataset.range(3).apply(lambda d: 3), "must return a `tf.data.Dataset` object"),
    (lambda tf: tf.data.Dataset.range(3).concatenate(tf.data.Dataset.from_tensors(1.0)), "Incompatible dataset elements"),
    (lambda tf: tf.data.Dataset.range(3).unbatch(), "Cannot unbatch an input with scalar components."),
    (lambda tf: tf.data.Dataset.range(3).take(1, name="a b"), "needs to be a valid identifier"),
    (lambda tf: tf.data.Dataset.range(3).padded_batch(2, [3]), "is not compatible with the shape"),
    (lambda tf: tf.data.Dataset.range(3).padded_batch(2, [], 1.5), "does not match type"),
    (lambda tf: tf.data.Dataset.range(3).reduce(0, lambda state, x: tf.constant("s")), "The element types for the new state must match"),
    (lambda tf: tf.data.Dataset.range(3).scan(0, lambda state, x: state), "should return a pair"),
    (lambda tf: tf.data.Dataset.from_generator(3, tf.int32), "`generator` must be a Python callable."),
    (lambda tf: tf.data.Dataset.from_generator(lambda: [], None), "To specify the output signature"),
    (lambda tf: tf.data.Dataset.from_tensors(1.0).apply(tf.data.experimental.unique()), "does not support type"),
    (lambda tf: tf.data.TextLineDataset(3), "must contain `tf.string` elements"),
    (lambda tf: tf.data.experimental.make_csv_dataset("nothing*", 2), "No files match `file_pattern` nothing*."),
    (lambda tf: tf.data.experimental.sample_from_datasets([]), "`datasets` should not be empty"),
    (lambda tf: tf.data.experimental.sample_from_datasets([tf.data.Dataset.range(3)] * 2, [1.0]), "should have the same length"),
    (lambda tf: tf.data.experimental.choose_from_datasets([tf.data.Dataset.range(3)], tf.data.Dataset.from_tensors(1.0)), "must be scalar `tf.int64`"),
    (lambda tf: setattr(tf.data.Options(), "deterministic", 3), "must be of type"),
    (lambda tf: setattr(tf.data.Dataset.range(3).options(), "deterministic", True), "has no effect"),
])
@pytest.mark.filterwarnings("ignore")
def test_errors_of_datasets(tf1, build, match):
    same_error(tf1, build, match)


@pytest.mark.parametrize("method", ["flat_map", "interleave"])
def test_functions_that_must_return_datasets(method):
    with flowmill.Graph().as_default(), pytest.raises(TypeError, match="must return a `Dataset` object"):
        getattr(flowmill.data.Dataset.range(3), method)(lambda x: x)


def test_a_one_shot_iterator_uses_up_a_seed(tf1):
    def build(tf):
        tf.set_random_seed(5)
        before = tf.random_uniform([2])
        tf.data.Dataset.range(3).make_one_shot_iterator()
        return before, tf.random_uniform([2]), tf.random_normal([2])

    compare(tf1, build)


def test_seeded_order_of_a_graph_with_a_seed(tf1):
    def run(tf):
        tf.set_random_seed(5)
        following = tf.data.Dataset.range(20).shuffle(7).make_one_shot_iterator().get_next()
        with tf.Session() as session:
            return [int(v) for v in drained(tf, session, following)]

    assert sorted(in_both(tf1, run)) == list(range(20))


def test_state_that_a_function_makes_of_all_elements(tf1):
    def build(tf):
        numbers = tf.data.Dataset.range(5)
        total, count = numbers.reduce((np.int64(0), 0), lambda state, x: (state[0] + x, state[1] + 1))
        return total, count, numbers.cardinality(), numbers.repeat().cardinality(), numbers.take(1).get_single_element()

    same(compare(tf1, build)[0], 10)


def test_effects_of_functions_keep_their_order(tf1):
    def run(tf):
        seen = []

        def note(what, value):
            seen.append((what, int(value)))
            return value

        def function(x):
            tf.py_func(lambda v: note("unused", v), [x], tf.int64)
            return tf.py_func(lambda v: note("used", v), [x], tf.int64)

        iterator = tf.data.Dataset.range(2).map(function).make_initializable_iterator()
        following = iterator.get_next()
        with tf.Session() as session:
            session.run(iterator.initializer)
            assert drained(tf, session, following) == [0, 1]
        return seen

    assert in_both(tf1, run) == [("unused", 0), ("used", 0), ("unused", 1), ("used", 1)]


def test_prefetched_elements_are_made_before_they_are_needed(tf1):
    def run(tf):
        made = threading.Event()

        def generator():
            for i in range(4):
                if i == 2:
                    made.set()
                yield i

        following = tf.data.Dataset.from_generator(generator, tf.int64, []).prefetch(3).make_one_shot_iterator().get_next()
        with tf.Session() as session:
            first = int(session.run(following))
            assert made.wait(30)
            return [first, *(int(v) for v in drained(tf, session, following))]

    assert in_both(tf1, run) == [0, 1, 2, 3]
