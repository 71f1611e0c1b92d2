"""Hash tables whose handles are references, against TensorFlow."""

import pytest

from oracles import both


@pytest.mark.parametrize("op", ["MutableHashTable", "MutableHashTableOfTensors"])
def test_tables_by_reference(tf1, op):
    def build(m):
        table = getattr(m.raw_ops, op)(key_dtype=m.string, value_dtype=m.int64, shared_name="table")
        insert = m.raw_ops.LookupTableInsert(table_handle=table, keys=m.constant([b"a", b"b"]), values=m.constant([1, 2], m.int64))
        with m.control_dependencies([insert]):
            size = m.raw_ops.LookupTableSize(table_handle=table)
            found = m.raw_ops.LookupTableFind(table_handle=table, keys=m.constant([b"b", b"z"]), default_value=m.constant(-1, m.int64))
        return [size, found]
    # References cannot be made by raw_ops in every version of TensorFlow: graphs of version 1 have them.
    results = both(tf1, build)
    assert isinstance(results[1], list) and results[1][0] == 2 and results[1][1].tolist() == [2, -1]
