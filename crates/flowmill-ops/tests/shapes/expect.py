"""Writes what TensorFlow infers into the case files beside this script.

    python expect.py [FILE.txt ...]

A case is `expression -> result` on a line. The text after the arrow is replaced by TensorFlow's answer; shapes.rs compares Flowmill with it.
The grammar:

    expression := Op ['{' name=value, ... '}'] '(' input, ... ')' [':' output]
    input      := expression | [type] shape | type '=' constant
    shape      := '?' | '[' sizes ']'          (a size is a number or '?')
    result     := shapes | '()' | 'error:' message

Types of inputs without one follow from the op's definition: fixed, given by an attribute, the attribute's default, or float.
"""

import glob
import os
import re
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.framework import op_def_registry, tensor_shape

tf1 = tf.compat.v1
TOKEN = re.compile(r"\s*(->|'[^']*'|-?[\w.]*\w[\w.+-]*|[\[\](){},=:?])")


class Parser:
    def __init__(self, text):
        self.tokens = TOKEN.findall(text)
        self.at = 0

    def peek(self, ahead=0):
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def take(self, expected=None):
        token = self.peek()
        assert expected is None or token == expected, f"{expected} expected, {token} found in {self.tokens}"
        self.at += 1
        return token

    def items(self, close, item):
        out = []
        while self.peek() != close:
            out.append(item())
            if self.peek() == ",":
                self.take()
        self.take(close)
        return out

    def literal(self):
        token = self.take()
        if token == "[":
            return self.items("]", self.literal)
        if token[0] == "'":
            return token[1:-1].encode()
        if token in ("true", "false"):
            return token == "true"
        for number in (int, float):
            try:
                return number(token)
            except ValueError:
                pass
        return token

    def attr(self):
        name = self.take()
        self.take("=")
        return name, self.literal()

    def input(self):
        if self.peek() in "[?":
            return None, self.literal(), False
        if self.peek(1) in "([{?=" and self.peek(1) and self.peek(1) not in "({":
            dtype = tf.as_dtype(self.take())
            if self.peek() == "=":
                self.take()
                return dtype, self.literal(), True
            return dtype, self.literal(), False
        return self.expression()

    def expression(self):
        op = self.take()
        attrs = {}
        if self.peek() == "{":
            self.take()
            attrs = dict(self.items("}", self.attr))
        self.take("(")
        inputs = self.items(")", self.input)
        output = 0
        if self.peek() == ":":
            self.take()
            output = int(self.take())
        return build(op, attrs, inputs, output)


def shape_of(literal):
    return None if literal == "?" else [None if d == "?" else d for d in literal]


def attr_value(kind, value):
    v = attr_value_pb2.AttrValue()

    def put(target, kind, value, many):
        field = {"string": "s", "int": "i", "float": "f", "bool": "b", "type": "type", "shape": "shape", "func": "func"}[kind]
        if kind == "type":
            value = value if isinstance(value, int) else tf.as_dtype(value).as_datatype_enum
        if kind == "shape":
            value = tensor_shape.TensorShape(shape_of(value)).as_proto()
        if kind == "func":
            value = attr_value_pb2.NameAttrList(name=value if isinstance(value, str) else value.decode())
        if many:
            if kind in ("shape", "func"):
                getattr(target, field).add().CopyFrom(value)
            else:
                getattr(target, field).append(value)
        elif kind in ("shape", "func"):
            getattr(target, field).CopyFrom(value)
        else:
            setattr(target, field, value)

    if kind.startswith("list("):
        v.list.SetInParent()
        for item in value:
            put(v.list, kind[5:-1], item, True)
    else:
        put(v, kind, value, False)
    return v


def build(op, attrs, inputs, output):
    op_def = op_def_registry.get(op)
    kinds = {a.name: a for a in op_def.attr}
    attrs = dict(attrs)
    lists = [a for a in op_def.input_arg if (a.number_attr and a.number_attr not in attrs) or (a.type_list_attr and a.type_list_attr not in attrs)]
    known = 0
    for a in op_def.input_arg:
        if a not in lists:
            known += attrs[a.number_attr] if a.number_attr else len(attrs[a.type_list_attr]) if a.type_list_attr else 1
    groups, at = [], 0
    for a in op_def.input_arg:
        if a in lists:
            # One list takes all that is left; several share it evenly, as those of one length.
            count = (len(inputs) - known) // len(lists)
        else:
            count = attrs[a.number_attr] if a.number_attr else len(attrs[a.type_list_attr]) if a.type_list_attr else 1
        groups.append((a, list(range(at, at + count))))
        at += count
    assert at == len(inputs), f"{op}: {len(inputs)} inputs, {at} expected"

    def dtype_of(i):
        item = inputs[i]
        return item[0] if isinstance(item, tuple) else item.dtype.base_dtype

    for a, indices in groups:
        if a.number_attr:
            attrs.setdefault(a.number_attr, len(indices))
        if a.type_attr and a.type_attr not in attrs:
            found = [dtype_of(i) for i in indices if dtype_of(i) is not None]
            if found:
                attrs[a.type_attr] = found[0].as_datatype_enum
        if a.type_list_attr and a.type_list_attr not in attrs:
            attrs[a.type_list_attr] = [(dtype_of(i) or tf.float32).as_datatype_enum for i in indices]
    for a in op_def.attr:
        if a.type == "type" and a.name not in attrs:
            allowed = list(a.allowed_values.list.type)
            if a.HasField("default_value"):
                attrs[a.name] = a.default_value.type
            else:
                attrs[a.name] = 1 if not allowed or 1 in allowed else allowed[0]
    tensors = []
    for a, indices in groups:
        for k, i in enumerate(indices):
            if not isinstance(inputs[i], tuple):
                tensors.append(inputs[i])
                continue
            dtype, value, constant = inputs[i]
            if constant:
                tensors.append(tf1.constant(value, dtype))
                continue
            number = a.type or (attrs[a.type_attr] if a.type_attr else attrs[a.type_list_attr][k])
            dtype = dtype or tf.as_dtype(number)
            tensors.append(tf1.placeholder(dtype, shape_of(value)))
    values = {name: attr_value(kinds[name].type, value) for name, value in attrs.items()}
    made = tf1.get_default_graph()._create_op_internal(op, tensors, attrs=values, op_def=op_def, name=op.lstrip("_"))
    build.last = made
    return made.outputs[output] if made.outputs else made


def answer(expression):
    with tf1.Graph().as_default():
        try:
            Parser(expression).expression()
        except (ValueError, tf.errors.OpError) as e:
            return "error: " + re.split(r" for '\{\{node", str(e))[0].replace("\n", " ")
        outputs = build.last.outputs
        if not outputs:
            return "()"
        texts = []
        for t in outputs:
            texts.append("?" if t.shape.rank is None else "[" + ",".join("?" if d is None else str(d) for d in t.shape.as_list()) + "]")
        return " ".join(texts)


def main():
    files = sys.argv[1:] or sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "*.txt")))
    for path in files:
        lines = []
        for line in open(path).read().splitlines():
            if line.strip() and not line.startswith("#"):
                expression = line.split(" -> ")[0].strip()
                line = f"{expression} -> {answer(expression)}"
            lines.append(line)
        with open(path, "w") as f:
            f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
