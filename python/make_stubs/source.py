"""Stubs of modules from their source, completed by what is there when they are imported.

Type checkers read a package's source if there is no stub. Three things of a module they cannot see: names that are looked up elsewhere when they
are asked for (`flowmill._internal.lazy`), functions and classes that other functions make, and methods that are put into classes. Functions without any types
they do not let typed code call. A module with any of these gets a stub; what is written in its source is taken over from there.
"""

from __future__ import annotations

import ast
import builtins
import collections
import inspect
import types
from collections.abc import Callable

from flowmill._internal import lazy as _lazy
from make_stubs import layout

# Decorators that say what a function is.
_DECORATORS = ("property", "staticmethod", "classmethod", "abc.abstractmethod", "contextlib.contextmanager", "functools.cached_property")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_PLAIN = (bool, int, float, str, bytes)
_CONTAINERS = {tuple: "tuple[Any, ...]", list: "list[Any]", dict: "dict[Any, Any]", frozenset: "frozenset[Any]", set: "set[Any]"}
# What Python asks of special methods.
_SPECIAL = {
    "__init__": "None", "__exit__": "None", "__repr__": "str", "__str__": "str", "__hash__": "int", "__len__": "int", "__int__": "int",
    "__bool__": "bool", "__eq__": "bool", "__ne__": "bool", "__contains__": "bool", "__index__": "int", "__float__": "float",
}
# Objects made of several tensors.
_COMPOSITES = {"SparseTensor", "IndexedSlices"}
# Python's operators on tensors, which are put into the classes.
_UNARY = ("__neg__", "__abs__", "__invert__")
_OPERATORS_GIVE = "flowmill._internal.tensor", "Tensor"


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _gives_composites(gives: str) -> bool:
    first, *rest = gives.split(" | ")
    return first == "Tensor" and bool(rest) and _COMPOSITES.issuperset(rest)


def _with_first(parameters: list[str], kind: str | None) -> list[str]:
    """Parameters of which the first has a type."""
    return parameters if kind is None else [f"{parameters[0]}: {kind}", *parameters[1:]]


def tree_of(module: types.ModuleType) -> ast.Module:
    """A module's source."""
    with open(module.__file__, encoding="utf-8") as file:
        return ast.parse(file.read())


def is_made(statement: ast.stmt, module: types.ModuleType) -> bool:
    """Returns true if a statement binds a public name to a function or class that another function makes."""
    if not isinstance(statement, ast.Assign) or isinstance(statement.value, (ast.Name, ast.Attribute)):
        return False
    if isinstance(statement.value, ast.Call) and ast.unparse(statement.value.func).endswith("namedtuple"):
        return False
    made = (vars(module).get(t.id) for t in statement.targets if isinstance(t, ast.Name) and not t.id.startswith("_"))
    return any(isinstance(found, types.FunctionType) or _is_class(found) for found in made)


def _is_class(value) -> bool:
    # Python 3.10 takes `dict[str, int]` for one.
    return isinstance(value, type) and not isinstance(value, types.GenericAlias)


def installed(statement: ast.ClassDef, cls: type) -> list[str]:
    """The methods of a class that its source does not have."""
    if hasattr(cls, "_fields") or hasattr(cls, "__dataclass_fields__"):
        return []
    written = {n.name for n in statement.body if isinstance(n, _FUNCTIONS)}
    targets = [target for n in statement.body if isinstance(n, ast.Assign) for target in n.targets]
    written |= {t.id for target in targets for t in ast.walk(target) if isinstance(t, ast.Name)}
    return [name for name, member in vars(cls).items()
            if isinstance(member, types.FunctionType) and member.__module__.startswith("flowmill") and name not in written]


def taken(module: types.ModuleType) -> set[tuple[str, str]]:
    """Returns the names that a module takes from others: pairs of a module and a name."""
    return {(n.module, a.name) for n in ast.walk(tree_of(module)) if isinstance(n, ast.ImportFrom) for a in n.names}


def _is_untyped(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Returns true if a public function has no annotations of its parameters and its result."""
    args = function.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
    is_public = not function.name.startswith("_") or function.name in ("__init__", "__call__")
    return is_public and function.returns is None and not any(a.annotation for a in every)


def needs_stub(module: types.ModuleType) -> bool:
    """Returns true if type checkers miss parts of a module."""
    if module.__name__ in _lazy.TABLES:
        return True
    for statement in tree_of(module).body:
        if is_made(statement, module):
            return True
        if isinstance(statement, _FUNCTIONS):
            if _is_untyped(statement) or statement.returns is not None and _gives_composites(ast.unparse(statement.returns)):
                return True
        if isinstance(statement, ast.ClassDef):
            cls = vars(module)[statement.name]
            if not statement.name.startswith("_") and any(isinstance(n, _FUNCTIONS) and _is_untyped(n) for n in statement.body):
                return True
            if installed(statement, cls) or "__signature__" in vars(cls):
                return True
    return False


class Stub:
    """The stub of a module.

    Args:
        module: the module.
        shared: those of its names that other modules of the package take from it.
    """

    def __init__(self, module: types.ModuleType, shared: set[str]):
        self._module, self._tree, self._shared = module, tree_of(module), shared
        self._bound = {n for n in vars(module) if hasattr(builtins, n) and not n.startswith("__")}
        # What has to be imported besides the module's own imports: names by module.
        self._imports: dict[str, set[str]] = collections.defaultdict(set)

    def text(self) -> str:
        """The stub's text."""
        body = [line for lines in self._needed(list(map(self._statement, self._tree.body))) for line in lines]
        exported = self._exported(body)
        lines = [*self._own_imports("\n".join(body), {line.split()[-1] for line in exported if line.startswith("from ")}), *exported]
        offered = getattr(self._module, "__all__", None)
        if offered is not None:
            lines += ["", "__all__ = [", *(f'    "{name}",' for name in sorted(offered)), "]"]
        return "\n".join(["# Made by python/make_stubs from the code.", "", *lines, "", *body]).rstrip() + "\n"

    def _needed(self, statements: list[list[str]]) -> list[list[str]]:
        """Statements without functions and classes of the module alone that no other one mentions."""
        private = {}
        for statement, lines in zip(self._tree.body, statements):
            if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)) and statement.name.startswith("_") and statement.name not in self._shared:
                private[statement.name] = lines
        while True:
            kept = [lines for lines in statements if not any(lines is p for p in private.values())]
            words = {n.id for lines in kept for n in ast.walk(ast.parse("\n".join(lines))) if isinstance(n, ast.Name)}
            if not words & private.keys():
                return kept
            private = {name: lines for name, lines in private.items() if name not in words}

    # Imports

    def _own_imports(self, body: str, known: set[str]) -> list[str]:
        """The imports of the source that the stub needs, and others, but not of the names `known`, which are there already."""
        used = {n.id for n in ast.walk(ast.parse(body)) if isinstance(n, ast.Name)}
        found: list[str] = []
        known = set(known)
        for statement in ast.walk(self._tree):
            if not isinstance(statement, (ast.Import, ast.ImportFrom)):
                continue
            aliases = [a for a in statement.names if (a.asname or a.name.split(".")[0]) in used and (a.asname or a.name) not in known]
            if not aliases or getattr(statement, "module", "") == "__future__":
                continue
            known |= {a.asname or a.name.split(".")[0] for a in aliases}
            if isinstance(statement, ast.Import):
                found += [f"import {a.name}" + (f" as {a.asname}" if a.asname else "") for a in aliases]
            else:
                found.append(f"from {statement.module} import {', '.join(a.name + (f' as {a.asname}' if a.asname else '') for a in aliases)}")
        if "builtins" in used and "builtins" not in known:
            found.append("import builtins")
        self._imports["typing"].add("Any")
        for module, names in self._imports.items():
            wanted = sorted(n for n in names if n in used and n not in known and module != self._module.__name__)
            if wanted:
                found.append(f"from {module} import {', '.join(wanted)}")
        return sorted(found, key=lambda line: (line.split()[1].startswith("flowmill"), line.startswith("from"), line.lower()))

    def _exported(self, body: list[str]) -> list[str]:
        """Returns the names of other modules that the module offers, imported under their own names, so that others can import them from here."""
        defined = set()
        for statement in ast.parse("\n".join(body)).body:
            defined |= {statement.name} if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)) else set()
            defined |= {t.id for t in getattr(statement, "targets", []) or [getattr(statement, "target", None)] if isinstance(t, ast.Name)}
        offered = getattr(self._module, "__all__", ())
        where = {}
        for statement in self._tree.body:
            if isinstance(statement, ast.ImportFrom):
                where |= {a.asname or a.name: (statement.module, a.name) for a in statement.names}
        lazy = _lazy.TABLES.get(self._module.__name__, {})
        found = {}
        for name in {*lazy, *(n for n in offered if n in where)} - defined:
            if name in lazy:
                home, inner = lazy[name]
                home, inner = (home, inner) if inner else home.rpartition(".")[::2]
            else:
                home, inner = where[name]
            found[name] = home, inner
        own = [f"{name}: {self._type_of(vars(self._module)[name])}" for name in where if name == "__version__" and name not in found]
        lines = []
        for name, (home, inner) in sorted(found.items(), key=lambda item: (item[1][0], item[0])):
            # Only a name that stays the same is offered on by a stub's import.
            lines += [f"from {home} import {inner} as {name}"] if inner == name else [f"from {home} import {inner} as _{name}", f"{name} = _{name}"]
        return lines + own

    # Statements

    def _statement(self, statement: ast.stmt) -> list[str]:
        if isinstance(statement, _FUNCTIONS):
            return [] if statement.name in ("__getattr__", "__dir__") else self._function(statement, set())
        if isinstance(statement, ast.ClassDef):
            return self._class(statement, vars(self._module)[statement.name])
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            return [] if statement.target.id.startswith("_") else [f"{statement.target.id}: {self._annotation(statement.annotation, set())}"]
        if isinstance(statement, ast.Assign):
            return [line for target in statement.targets for line in self._assigned(target, statement.value)]
        return []

    def _assigned(self, target: ast.expr, value: ast.expr) -> list[str]:
        if isinstance(target, ast.Tuple):
            parts = value.elts if isinstance(value, ast.Tuple) else [ast.Constant(...)] * len(target.elts)
            return [line for t, v in zip(target.elts, parts) for line in self._assigned(t, v)]
        if not isinstance(target, ast.Name) or target.id.startswith("_"):
            return []
        found = vars(self._module)[target.id]
        if isinstance(found, types.FunctionType) or _is_class(found):
            if isinstance(value, ast.Name):
                return [f"{target.id} = {value.id}"]
            if isinstance(found, type) and not issubclass(found, tuple):
                return self._made_class(target.id, found)
            if isinstance(found, types.FunctionType):
                return self._made(target.id, found)
            self._imports["typing"].add("NamedTuple")
            return [f"class {target.id}(NamedTuple):", *(f"    {field}: Any" for field in found._fields)]
        return [f"{target.id}: {self._type_of(found)}"]

    def _type_of(self, value) -> str:
        kind = type(value)
        if kind in _PLAIN:
            return self._plain(kind.__name__)
        if kind in _CONTAINERS:
            return self._plain(_CONTAINERS[kind])
        if kind.__module__.startswith("flowmill"):
            self._imports[kind.__module__].add(kind.__name__)
            return kind.__name__
        return "None" if value is None else "Any"

    def _plain(self, text: str) -> str:
        name = text.partition("[")[0]
        return f"builtins.{text}" if name in self._bound else text

    # Functions

    def _function(self, function: ast.FunctionDef | ast.AsyncFunctionDef, inner: set[str], indent: str = "") -> list[str]:
        decorators = [ast.unparse(d) for d in function.decorator_list]
        lines = [f"{indent}@{d}" for d in decorators if d in _DECORATORS or d.endswith(".setter")]
        gives = self._plain(_SPECIAL.get(function.name, "Any")) if function.returns is None else self._annotation(function.returns, inner)
        if f"{function.name}.setter" in decorators:
            gives = "None"
        keyword = "async def" if isinstance(function, ast.AsyncFunctionDef) else "def"

        def written(gives: str, first: str | None) -> list[str]:
            head, *rest = layout.function(function.name, _with_first(self._parameters(function.args, inner), first), gives, indent)
            return [*lines, head.replace("def", keyword, 1), *rest]

        return self._overloads(gives, written)

    def _parameters(self, args: ast.arguments, inner: set[str]) -> list[str]:
        def written(arg: ast.arg, default: ast.expr | None = None) -> str:
            text = arg.arg if arg.annotation is None else f"{arg.arg}: {self._annotation(arg.annotation, inner)}"
            return text if default is None else f"{text}{' = ' if arg.annotation else '='}{_default(default)}"

        plain = [*args.posonlyargs, *args.args]
        parts = [written(a, d) for a, d in zip(plain, [None] * (len(plain) - len(args.defaults)) + args.defaults)]
        if args.posonlyargs:
            parts.insert(len(args.posonlyargs), "/")
        if args.vararg is not None or args.kwonlyargs:
            parts.append("*" + (written(args.vararg) if args.vararg is not None else ""))
        parts += [written(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults)]
        return parts + ([f"**{written(args.kwarg)}"] if args.kwarg is not None else [])

    def _annotation(self, node: ast.expr, inner: set[str]) -> str:
        """An annotation, in which Python's types are meant where the module or class has something of their name."""
        hidden = self._bound | {n for n in inner if hasattr(builtins, n)}

        class Meant(ast.NodeTransformer):
            def visit_Name(self, name):  # noqa: N802
                return ast.parse(f"builtins.{name.id}", mode="eval").body if name.id in hidden and hasattr(builtins, name.id) else name

        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = ast.parse(node.value, mode="eval").body
        return ast.unparse(Meant().visit(node))

    def _made(self, name: str, function: types.FunctionType, gives: str | None = None, indent: str = "") -> list[str]:
        """A function that another one made, from its signature."""
        signature, names = inspect.signature(function), function.__globals__
        if gives is None:
            gives = "Any" if signature.return_annotation is signature.empty else self._named(signature.return_annotation, names)
        return self._overloads(gives, lambda gives, first: layout.function(
            name, _with_first(self._parameters_of(signature, names), first), gives, indent, _doc(function)))

    def _overloads(self, gives: str, write: Callable[[str, str | None], list[str]]) -> list[str]:
        """A function that gives a tensor, and a composite for a composite of the same kind: once for each.

        Args:
            gives: the type of its result.
            write: gives its lines for a type of the result, and one of the first parameter if it is not the one of the source.
        """
        kinds = gives.split(" | ")
        if not _gives_composites(gives):
            return write(gives, None)
        self._imports["typing"].add("overload")
        return [line for kind in (*kinds[1:], kinds[0]) for line in ("@overload", *write(kind, kind if kind in _COMPOSITES else None))]

    def _parameters_of(self, signature: inspect.Signature, names: dict) -> list[str]:
        parts = []
        for parameter in signature.parameters.values():
            text, typed = parameter.name, isinstance(parameter.annotation, str)
            if typed:
                text += f": {self._named(parameter.annotation, names)}"
            if parameter.default is not parameter.empty:
                default = repr(parameter.default) if isinstance(parameter.default, (*_PLAIN, type(None))) else "..."
                text += f" = {default}" if typed else f"={default}"
            parts.append(text)
        return parts

    def _named(self, annotation: str, names: dict) -> str:
        """An annotation whose names are looked up among those of its module."""
        tree = ast.parse(annotation, mode="eval").body
        for node in ast.walk(tree):
            found = names.get(node.id) if isinstance(node, ast.Name) else None
            if isinstance(found, type) and found.__module__.startswith("flowmill"):
                self._imports[found.__module__].add(node.id)
        return self._annotation(tree, set())

    # Classes

    def _class(self, statement: ast.ClassDef, cls: type) -> list[str]:
        bases = [ast.unparse(b) for b in statement.bases]
        # Calling it makes one of its subclasses: neither what does that nor what they have to add concerns those who call it.
        is_front = "__signature__" in vars(cls)
        if not is_front:
            bases += [f"{k.arg}={ast.unparse(k.value)}" for k in statement.keywords]
        inner = {n.name for n in statement.body if isinstance(n, _FUNCTIONS)}
        body: list[str] = []
        for member in statement.body:
            if _is_private(getattr(member, "name", "")):
                continue
            if isinstance(member, _FUNCTIONS):
                body += [line for line in self._function(member, inner, "    ") if not (is_front and line.strip() == "@abc.abstractmethod")]
            elif isinstance(member, ast.ClassDef):
                body += ["    " + line for line in self._class(member, vars(cls)[member.name])]
            elif isinstance(member, ast.AnnAssign) and not _is_private(member.target.id):
                body.append(f"    {member.target.id}: {self._annotation(member.annotation, inner)}")
            elif isinstance(member, ast.Assign):
                body += self._class_value(member, cls)
        written = {line.split(":")[0].strip() for line in body}
        body += [f"    {name}: Any" for name in _attributes(statement) if not hasattr(cls, name) and name not in written]
        if is_front:
            body += layout.function("__init__", ["self", *self._parameters_of(cls.__signature__, vars(self._module))], "None", "    ")
        for name in installed(statement, cls):
            home, kind = _OPERATORS_GIVE
            self._imports[home].add(kind)
            body += layout.function(name, ["self"] if name in _UNARY else ["self", "y: Any"], kind, "    ")
        head = f"class {statement.name}({', '.join(bases)}):" if bases else f"class {statement.name}:"
        return [head + ("" if body else " ..."), *body]

    def _class_value(self, statement: ast.Assign, cls: type) -> list[str]:
        lines = []
        for target in statement.targets:
            for name in (t.id for t in getattr(target, "elts", [target]) if isinstance(t, ast.Name)):
                if _is_private(name) or name in ("__signature__", "__slots__"):
                    continue
                if isinstance(statement.value, ast.Name):
                    lines.append(f"    {name} = {statement.value.id}")
                elif isinstance(getattr(cls, name), cls):  # a value of an enumeration
                    lines.append(f"    {name} = {getattr(cls, name).value!r}")
                else:
                    lines.append(f"    {name}: {self._type_of(getattr(cls, name))}")
        return lines

    def _made_class(self, name: str, cls: type) -> list[str]:
        bases = [b.__name__ for b in cls.__bases__ if b is not object]
        body = [line for member, function in vars(cls).items() if isinstance(function, types.FunctionType)
                for line in self._made(member, function, "None" if member == "__init__" else None, "    ")]
        doc = [f"    {line}" if line else "" for line in _doc(cls)]
        return [f"class {name}({', '.join(bases)}):", *doc, *body]


def _default(node: ast.expr) -> str:
    """A default as it is written if that is short, an ellipsis for what the reader has to look up."""
    try:
        return ast.unparse(node) if isinstance(ast.literal_eval(node), (*_PLAIN, type(None))) else "..."
    except ValueError:
        return "..."


def _attributes(statement: ast.ClassDef) -> list[str]:
    """The public attributes that methods give an object."""
    found = {}
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self":
            found[node.attr] = None
    return [name for name in found if not name.startswith("_")]


def _doc(thing) -> list[str]:
    """A docstring as lines; if the source has none to show."""
    text = inspect.getdoc(thing)
    if not text or not vars(thing).get("__doc__", thing.__doc__):
        return []
    first, *rest = text.splitlines()
    return [f'"""{first}"""'] if not rest else [f'"""{first}', *rest, '"""']
