//! The dataflow graph: arena, op registry, attributes, GraphDef import and export, traversals, text form.
