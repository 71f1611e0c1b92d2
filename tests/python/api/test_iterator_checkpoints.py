"""Iterators in checkpoints: a restored iterator goes on where TensorFlow's would."""

import pytest

import flowmill

# Pipelines whose elements depend on nothing but their seeds.
PIPELINES = {
    "range": lambda d: d.range(9),
    "map_batch": lambda d: d.range(20).map(lambda x: x * 3, num_parallel_calls=2).batch(3).prefetch(2),
    "shuffle": lambda d: d.range(12).shuffle(5, seed=7),
    "shuffle_repeat": lambda d: d.range(5).shuffle(5, seed=7).repeat(3),
    "shuffle_same_order": lambda d: d.range(5).shuffle(5, seed=7, reshuffle_each_iteration=False).repeat(3),
    "random": lambda d: d.random(seed=3).take(9),
    "interleave": lambda d: d.range(4).interleave(lambda x: d.from_tensors(x).repeat(3), cycle_length=2),
    "window": lambda d: d.range(9).window(2, 1).flat_map(lambda w: w.batch(2)),
    "filter_scan": lambda d: d.range(20).filter(lambda x: x % 3 > 0).scan(0 * d.range(1).reduce(0, lambda s, _: s), lambda s, x: (s + 1, x)),
    "cache_memory": lambda d: d.range(6).cache().repeat(2),
}


def flat(values):
    return [value.tolist() for value in values]


def saved_and_restored(tf, build, prefix, taken=4):
    """Takes some elements, saves, takes the rest; then the rest again, restored in the same session, and in another session of another graph."""
    def program():
        with tf.Graph().as_default() as graph:
            iterator = tf.data.make_initializable_iterator(build(tf.data.Dataset))
            saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
            return graph, iterator.initializer, iterator.get_next(), saver

    def rest(session, following):
        found = []
        while len(found) < 30:
            try:
                found.append(session.run(following))
            except tf.errors.OutOfRangeError:
                break
        return flat(found)

    graph, initializer, following, saver = program()
    with tf.Session(graph=graph) as session:
        session.run(initializer)
        first = flat([session.run(following) for _ in range(taken)])
        path = saver.save(session, str(prefix), write_meta_graph=False)
        found = [rest(session, following)]
        saver.restore(session, path)
        found.append(rest(session, following))
    graph, initializer, following, saver = program()
    with tf.Session(graph=graph) as session:
        session.run(initializer)
        session.run(following)
        saver.restore(session, path)
        found.append(rest(session, following))
    return first, found


@pytest.mark.parametrize("name", PIPELINES)
def test_a_restored_iterator_goes_on_where_it_was_saved(tf1, tmp_path, name):
    first, rests = saved_and_restored(flowmill, PIPELINES[name], tmp_path / "ours")
    assert rests[0] == rests[1] == rests[2]
    assert (first, rests) == saved_and_restored(tf1, PIPELINES[name], tmp_path / "theirs")


def test_the_end_is_restored(tf1, tmp_path):
    first, rests = saved_and_restored(flowmill, PIPELINES["range"], tmp_path / "ours", taken=9)
    assert rests == [[], [], []]
    assert (first, rests) == saved_and_restored(tf1, PIPELINES["range"], tmp_path / "theirs", taken=9)


def test_an_order_that_nobody_chose_comes_again_in_its_session(tf1, tmp_path):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(9).shuffle(9).repeat(3))
            saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
            following = iterator.get_next()
            session.run(iterator.initializer)
            path = saver.save(session, str(tmp_path / tf.__name__))
            first = flat([session.run(following) for _ in range(27)])
            saver.restore(session, path)
            assert flat([session.run(following) for _ in range(27)]) == first


def test_elements_that_failed_are_passed_over(tmp_path):
    tf = flowmill

    def checked(x):
        with tf.control_dependencies([tf.assert_none_equal(x % 3, tf.constant(1, tf.int64))]):
            return tf.identity(x)

    with tf.Graph().as_default(), tf.Session() as session:
        iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(6).map(checked))
        saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
        following = iterator.get_next()
        session.run(iterator.initializer)
        assert session.run(following) == 0
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(following)
        path = saver.save(session, str(tmp_path / "place"))
        assert session.run(following) == 2
        saver.restore(session, path)
        assert session.run(following) == 2


def test_an_iterator_is_initialized_before_it_is_saved_or_restored(tf1, tmp_path):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(3))
            saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
            with tf.Session() as session:
                with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
                    saver.save(session, str(tmp_path / "none"))
                session.run(iterator.initializer)
                path = saver.save(session, str(tmp_path / "some"))
            with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
                saver.restore(session, path)


def test_policies_and_names(tf1):
    def described(tf):
        with tf.Graph().as_default() as graph:
            iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(3))
            saveable = tf.data.experimental.make_saveable_from_iterator(iterator, "warn")
            with pytest.raises(ValueError, match="Supported values include 'warn', 'ignore', and 'fail.' Received never"):
                tf.data.experimental.make_saveable_from_iterator(iterator, "never")
            node = graph.get_operation_by_name("SerializeIterator")
            return saveable.name, [spec.name for spec in saveable.specs], node.get_attr("external_state_policy")

    assert described(flowmill) == described(tf1) == ("IteratorV2:0", ["IteratorV2:0_STATE"], 0)


def test_a_state_that_tensorflow_saved_is_an_error(tf1, tmp_path):
    saved_and_restored(tf1, PIPELINES["range"], tmp_path / "theirs")
    tf = flowmill
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(9))
        saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
        session.run(iterator.initializer)
        with pytest.raises(tf.errors.UnimplementedError, match="IteratorV2:0_STATE: .* variants have no wire form here"):
            saver.restore(session, str(tmp_path / "theirs"))


def test_policies_of_outside_state_may_be_members(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(3))
            for policy in (*tf.data.experimental.ExternalStatePolicy, "warn", None):
                tf.data.experimental.make_saveable_from_iterator(iterator, policy)
            with pytest.raises(ValueError, match="Invalid `ExternalStatePolicy"):
                tf.data.experimental.make_saveable_from_iterator(iterator, "other")
