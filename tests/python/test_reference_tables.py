"""Hash tables whose handles are references, against TensorFlow."""

import pytest

from oracles import both


@pytest.mark.parametrize("op, values", [("MutableHashTable", [1, 2, -1]), ("MutableHashTableOfTensors", [[1], [2], [-1]])])
def test_tables_by_reference(tf1, op, values):
    def build(m):
        first, second, default = (m.constant(value, m.int64) for value in values)
        shape = {"value_shape": [1]} if op.endswith("OfTensors") else {}
        table = getattr(m.raw_ops, op)(key_dtype=m.string, value_dtype=m.int64, shared_name="table", **shape)
        insert = m.raw_ops.LookupTableInsert(table_handle=table, keys=m.constant([b"a", b"b"]), values=m.stack([first, second]))
        with m.control_dependencies([insert]):
            size = m.raw_ops.LookupTableSize(table_handle=table)
            found = m.raw_ops.LookupTableFind(table_handle=table, keys=m.constant([b"b", b"z"]), default_value=default)
        return [size, found]
    # References cannot be made by raw_ops in every version of TensorFlow: graphs of version 1 have them.
    results = both(tf1, build)
    assert isinstance(results[1], list) and results[1][0] == 2 and results[1][1].tolist() == values[1:]
