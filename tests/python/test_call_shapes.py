"""Static shapes of the results of function calls, which are those that the function's body has for the shapes of the call's arguments."""
import flowmill
import pytest
from google.protobuf import text_format

FUNCTIONS = """
library {
  function {
    signature {
      name: "double"
      input_arg { name: "x" type: DT_FLOAT }
      output_arg { name: "sum" type: DT_FLOAT }
      output_arg { name: "rows" type: DT_FLOAT }
    }
    node_def { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }
    node_def { name: "both" op: "ConcatV2" input: "x" input: "x" input: "axis:output:0" attr { key: "T" value { type: DT_FLOAT } } attr { key: "N" value { i: 2 } } attr { key: "Tidx" value { type: DT_INT32 } } }
    node_def { name: "total" op: "Sum" input: "x" input: "axis:output:0" attr { key: "T" value { type: DT_FLOAT } } attr { key: "Tidx" value { type: DT_INT32 } } }
    ret { key: "sum" value: "both:output:0" }
    ret { key: "rows" value: "total:output:0" }
  }
  function {
    signature { name: "outer" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "inner" op: "double" input: "x" }
    node_def { name: "again" op: "PartitionedCall" input: "inner:sum:0"
               attr { key: "Tin" value { list { type: DT_FLOAT } } } attr { key: "Tout" value { list { type: DT_FLOAT type: DT_FLOAT } } }
               attr { key: "f" value { func { name: "double" } } } }
    ret { key: "y" value: "again:output:0" }
  }
  function {
    signature { name: "read" input_arg { name: "handle" type: DT_RESOURCE } output_arg { name: "value" type: DT_FLOAT } }
    node_def { name: "value" op: "ReadVariableOp" input: "handle" attr { key: "dtype" value { type: DT_FLOAT } } }
    ret { key: "value" value: "value:value:0" }
  }
}
"""

PLACEHOLDER = 'node {{ name: "x" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }} {shape} }}'
SHAPE = 'attr { key: "shape" value { shape { dim { size: -1 } dim { size: 3 } } } }'


def call(op: str, name: str, results: int, extra: str = "", argument: str = "x", dtype: str = "DT_FLOAT") -> str:
    if op not in ("PartitionedCall", "StatefulPartitionedCall"):
        return f'node {{ name: "y" op: "{op}" input: "{argument}" {extra} }}'
    types = " ".join(["type: DT_FLOAT"] * results)
    return (
        f'node {{ name: "y" op: "{op}" input: "{argument}" attr {{ key: "Tin" value {{ list {{ type: {dtype} }} }} }}'
        f'attr {{ key: "Tout" value {{ list {{ {types} }} }} }} attr {{ key: "f" value {{ func {{ name: "{name}" }} }} }} {extra} }}'
    )


def shapes(tf, text: str) -> list:
    graph_def = tf.GraphDef()
    text_format.Parse(text, graph_def)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        return [None if each.shape.rank is None else each.shape.as_list() for each in graph.get_operation_by_name("y").outputs]


@pytest.mark.parametrize("shape", [SHAPE, ""])
@pytest.mark.parametrize("op, name, results", [
    ("double", "double", 2), ("PartitionedCall", "double", 2), ("StatefulPartitionedCall", "double", 2), ("outer", "outer", 1), ("PartitionedCall", "outer", 1),
])
def test_results_have_the_shapes_of_the_body(tf1, op, name, results, shape):
    text = FUNCTIONS + PLACEHOLDER.format(shape=shape) + call(op, name, results)
    found = shapes(flowmill, text)
    assert found == shapes(tf1, text)
    if shape:
        assert found[0] == [None, 6 if name == "double" else 12]


def test_a_call_may_keep_its_body_out_of_this(tf1):
    disabled = 'attr { key: "_disable_call_shape_inference" value { b: true } }'
    text = FUNCTIONS + PLACEHOLDER.format(shape=SHAPE) + call("PartitionedCall", "double", 2, disabled)
    assert shapes(flowmill, text) == shapes(tf1, text) == [None, None]


def test_handles_say_what_the_body_reads(tf1):
    variable = 'node { name: "v" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: 4 } dim { size: 5 } } } } }'
    text = FUNCTIONS + variable + call("StatefulPartitionedCall", "read", 1, argument="v", dtype="DT_RESOURCE")
    assert shapes(flowmill, text) == shapes(tf1, text) == [[4, 5]]


def test_functions_that_call_themselves_leave_shapes_unknown():
    recursive = """
    library { function {
      signature { name: "again" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
      node_def { name: "a" op: "again" input: "x" }
      node_def { name: "b" op: "again" input: "a:y:0" }
      ret { key: "y" value: "b:y:0" }
    } }"""
    assert shapes(flowmill, recursive + PLACEHOLDER.format(shape=SHAPE) + call("again", "again", 1)) == [None]
