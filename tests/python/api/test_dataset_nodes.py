"""Datasets and iterators become the nodes that TensorFlow makes of them, with the same attributes, and TensorFlow runs them."""

import re

import pytest
from compare import _described, _flat, same
from dataset_programs import OTHER_NODES, PROGRAMS, RANDOM_PROGRAMS, WITHOUT_KERNELS, write_files

import flowmill

# What both modules choose at random or by counting: names of functions, of tables and of files.
_CHOSEN = ("shared_name",)


def attributes(op):
    found = {}
    for name, value in op.node_def.attr.items():
        if name not in _CHOSEN and not name.startswith("_"):
            text = str(value)
            found[name] = re.sub(r'name: "[^"]*"', "name", text) if value.HasField("func") else text
    return found


def described(tf, build, files):
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(7)
        dataset = build(tf, files)
        iterator = tf.data.make_initializable_iterator(dataset)
        iterator.get_next()
        iterator.get_next_as_optional()
        spec = repr(dataset.element_spec), str(tf.data.get_output_types(dataset)), str(tf.data.get_output_shapes(dataset))
        if not graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES) and "Placeholder" not in {op.type for op in graph.get_operations()}:
            try:
                tf.data.make_one_shot_iterator(dataset).get_next()
            except ValueError as error:
                assert "stateful" in str(error)
            tf.random_uniform([])
        return _described(graph), [(op.name, attributes(op)) for op in graph.get_operations()], spec


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in (*PROGRAMS, *RANDOM_PROGRAMS) if name not in OTHER_NODES])
def test_nodes_attributes_and_specs_are_tensorflows(tf1, tmp_path, name):
    write_files(tmp_path)
    build = {**PROGRAMS, **RANDOM_PROGRAMS}[name]
    theirs, ours = (described(tf, build, tmp_path) for tf in (tf1, flowmill))
    assert ours[0] == theirs[0]
    assert ours[1] == theirs[1]
    assert [re.sub(r"tf\.", "", s) for s in ours[2]] == [re.sub(r"tf\.", "", s) for s in theirs[2]]


def parts(tf, element):
    """The tensors of an element."""
    found = []
    for leaf in _flat(element):
        if isinstance(leaf, tf.SparseTensor):
            found += [leaf.indices, leaf.values, leaf.dense_shape]
        elif isinstance(leaf, tf.RaggedTensor):
            found += [leaf.flat_values, *leaf.nested_row_splits]
        else:
            found.append(leaf)
    return found


def built(tf, build, files):
    """A graph, the operations to run first, and the tensors of an element."""
    with tf.Graph().as_default() as graph:
        dataset = build(tf, files)
        iterator = tf.data.make_initializable_iterator(dataset)
        tensors = parts(tf, iterator.get_next())
        before = [tf.global_variables_initializer(), *graph.get_collection(tf.GraphKeys.TABLE_INITIALIZERS), iterator.initializer]
        return graph, [op.name for op in before], [t.name for t in tensors]


def elements(tf, graph, before, tensors, most=30):
    with graph.as_default(), tf.Session(graph=graph) as session:
        for name in before:
            session.run(graph.get_operation_by_name(name))
        found = []
        while len(found) < most:
            try:
                found.append(session.run([graph.get_tensor_by_name(name) for name in tensors]))
            except tf.errors.OutOfRangeError as error:
                assert "End of sequence" in str(error)
                break
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_elements_are_tensorflows_here_and_in_tensorflow(tf1, tmp_path, name):
    write_files(tmp_path)
    wanted = elements(tf1, *built(tf1, PROGRAMS[name], tmp_path))
    graph, before, tensors = built(flowmill, PROGRAMS[name], tmp_path)
    exported = tf1.Graph()
    with exported.as_default():
        tf1.import_graph_def(tf1.GraphDef.FromString(graph.as_graph_def().SerializeToString()), name="")
    sides = [(tf1, exported)] if name in WITHOUT_KERNELS else [(tf1, exported), (flowmill, graph)]
    for found in [elements(tf, side, before, tensors) for tf, side in sides]:
        assert len(found) == len(wanted)
        for mine, other in zip(found, wanted):
            for a, b in zip(mine, other, strict=True):
                same(a, b)
