"""What type checkers and readers are told: the stubs of the native module and the docstrings of the package."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import flowmill
from flowmill import _core

PACKAGE = Path(flowmill.__file__).parent
MODULES = ["flowmill", "flowmill.cases", "flowmill.control_flow", "flowmill.cond_v2", "flowmill.control_flow_contexts", "flowmill.custom_gradients", "flowmill.func_graph", "flowmill.defun",
           "flowmill.functional_ops", "flowmill._rnn_base", "flowmill._rnn_wrappers", "flowmill.rnn", "flowmill.rnn_cell", "flowmill.script_ops", "flowmill.while_v2", "flowmill.loops", "flowmill.tensor_array",
           "flowmill.dtypes", "flowmill.errors", "flowmill.graph", "flowmill.importer", "flowmill.saved_model",
           "flowmill.saved_model.loader", "flowmill.session", "flowmill.tensor", "flowmill.tensor_shape", "flowmill.train",
           "flowmill.array._blocks", "flowmill.array._creation", "flowmill.array._layout", "flowmill.array._masks", "flowmill.bitwise",
           "flowmill.clip_ops", "flowmill.debugging._properties", "flowmill.debugging._values", "flowmill.linalg._matrices", "flowmill.linalg._norms", "flowmill.signal._fourier", "flowmill.signal._windows",
           "flowmill.logging_ops", "flowmill.math._segments",
           "flowmill.random._stateful", "flowmill.random._stateless",
           "flowmill.math._elementwise", "flowmill.math._products", "flowmill.math._reductions", "flowmill.tensor_util",
           "flowmill.app", "flowmill.compat", "flowmill.flags", "flowmill.gfile", "flowmill.io", "flowmill.io._records", "flowmill.io.gfile",
           "flowmill.logging", "flowmill.python.client.device_lib", "flowmill.tensor_spec", "flowmill.test", "flowmill.version",
           "flowmill.template", "flowmill.graph_keys", "flowmill.init_ops", "flowmill.initializers", "flowmill.partitioned_variables", "flowmill.random_seed",
           "flowmill.resource_variable", "flowmill.state", "flowmill.variable_scopes", "flowmill.variables",
           "flowmill.train._readers", "flowmill.train.learning_rate_decay", "flowmill.train.moving_averages", "flowmill.train.optimizer",
           "flowmill.train.optimizers", "flowmill.train.slot_creator", "flowmill.train.training_util",
           "flowmill.summary", "flowmill.summary.writer", "flowmill.train._checkpoint_hooks", "flowmill.train._report_hooks", "flowmill.train._steps", "flowmill.train.basic_session_run_hooks", "flowmill.train.checkpoint_utils",
           "flowmill.train.monitored_session", "flowmill.train.supervisor", "flowmill.train.session_manager", "flowmill.train.session_run_hook", "flowmill.train.coordinator", "flowmill.train.queue_runner",
           "flowmill.train._saveables", "flowmill.train.checkpoint_management", "flowmill.train.saver", "flowmill.graph_util", "flowmill.meta_graph",
           "flowmill.saved_model.builder", "flowmill.saved_model.signature_def_utils", "flowmill.saved_model.utils",
           "flowmill.sparse._arithmetic", "flowmill.sparse._dense", "flowmill.sparse._layout", "flowmill.sparse_tensor", "flowmill.strings",
           "flowmill.data._dataset", "flowmill.data._function", "flowmill.data._iterator", "flowmill.data._pipeline", "flowmill.data._structure",
           "flowmill.data.experimental", "flowmill._partial_run", "flowmill.gradient_checker", "flowmill.sets", "flowmill.session_ops", "flowmill.train.inputs", "flowmill.lookup", "flowmill.lookup._index", "flowmill.lookup._initializers", "flowmill.lookup._tables", "flowmill.lookup.experimental", "flowmill.queue", "flowmill.io._coding", "flowmill.io._features", "flowmill.io._parsing", "flowmill.sparse._arithmetic",
           "flowmill.sparse._dense", "flowmill.sparse._layout", "flowmill.sparse_tensor", "flowmill.strings"]
MODULES += ["flowmill.default_graph", "flowmill.image._boxes", "flowmill.image._color", "flowmill.image._decode", "flowmill.image._geometry",
           "flowmill.image._quality", "flowmill.image._resize", "flowmill.layers._base", "flowmill.layers._convolution", "flowmill.layers._core",
           "flowmill.layers._normalization", "flowmill.layers._pooling", "flowmill.losses", "flowmill.metrics._confusion",
           "flowmill.metrics._mean", "flowmill.metrics._thresholds", "flowmill.metrics._top", "flowmill.nn._activation", "flowmill.nn._atrous",
           "flowmill.nn._convolution", "flowmill.nn._cross_entropy", "flowmill.nn._ctc", "flowmill.nn._dropout", "flowmill.nn._embedding",
           "flowmill.nn._normalization", "flowmill.nn._pooling", "flowmill.nn._sampling", "flowmill.nn._top"]
MODULES += ["flowmill.data._options", "flowmill.debugging._switches", "flowmill.gradient_tape", "flowmill.module", "flowmill.polymorphic_function",
            "flowmill.saved_model.main_op", "flowmill.train.checkpoint", "flowmill.type_spec", "flowmill.vectorized"]


def stub_parameters(function: ast.FunctionDef) -> list[tuple[str, str, bool]]:
    """Name, kind and whether there is a default, without the instance or class."""
    args = function.args
    plain = [*args.posonlyargs, *args.args]
    defaults = [False] * (len(plain) - len(args.defaults)) + [True] * len(args.defaults)
    found = [(a.arg, "plain", d) for a, d in zip(plain, defaults)]
    if args.vararg:
        found.append((args.vararg.arg, "rest", False))
    found += [(a.arg, "keyword", d is not None) for a, d in zip(args.kwonlyargs, args.kw_defaults)]
    return [f for f in found if f[0] not in ("self", "cls")]


KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "plain", inspect.Parameter.POSITIONAL_OR_KEYWORD: "plain",
    inspect.Parameter.VAR_POSITIONAL: "rest", inspect.Parameter.KEYWORD_ONLY: "keyword",
}


def real_parameters(function) -> list[tuple[str, str, bool]]:
    parameters = inspect.signature(function).parameters.values()
    return [(p.name, KINDS[p.kind], p.default is not p.empty) for p in parameters if p.name not in ("self", "cls")]


def test_the_stub_of_the_native_module_is_true():
    tree = ast.parse((PACKAGE / "_core.pyi").read_text())
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
    variables = {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)}
    assert variables | functions.keys() | classes.keys() == {n for n in dir(_core) if not n.startswith("_")}
    for name, function in functions.items():
        assert stub_parameters(function) == real_parameters(getattr(_core, name)), name
    for name, stub in classes.items():
        real = getattr(_core, name)
        methods = {m.name: m for m in stub.body if isinstance(m, ast.FunctionDef)}
        properties = {m.target.id for m in stub.body if isinstance(m, ast.AnnAssign)}
        assert properties | {m for m in methods if not m.startswith("_")} == {m for m in vars(real) if not m.startswith("_")}, name
        for method, declared in methods.items():
            assert method in vars(real), f"{name}.{method}"
            if method == "__new__":
                assert stub_parameters(declared) == real_parameters(real), name
            elif not method.startswith("_"):
                assert stub_parameters(declared) == real_parameters(getattr(real, method)), f"{name}.{method}"


def test_the_package_says_that_it_has_types():
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_documented(name):
    module = importlib.import_module(name)
    assert module.__doc__
    for attribute, value in vars(module).items():
        if attribute.startswith("_") or getattr(value, "__module__", None) != name or not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        assert value.__doc__, attribute
        if inspect.isclass(value):
            for member, part in vars(value).items():
                if not member.startswith("_") and (inspect.isfunction(part) or isinstance(part, (property, staticmethod, classmethod))):
                    assert part.__doc__, f"{attribute}.{member}"
