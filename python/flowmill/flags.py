"""Flags of the command line: defined where they are used, parsed by :func:`flowmill.app.run` or when one is first read.

``--name=value``, ``--name value`` and the same with one dash; ``--name`` and ``--noname`` for booleans; ``--`` ends the flags. ``--help`` lists them,
``--flagfile=path`` reads more of them, one a line, ``--undefok=a,b`` names some that may be unknown.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable

from flowmill._internal.flag_values import (
    DuplicateFlagError, Error, Flag, FlagHolder, FlagValues, IllegalFlagValueError, UnparsedFlagAccessError, UnrecognizedFlagError, ValidationError,
    defining_module,
)

__all__ = [
    "DEFINE", "DEFINE_alias", "DEFINE_bool", "DEFINE_boolean", "DEFINE_enum", "DEFINE_enum_class", "DEFINE_flag", "DEFINE_float", "DEFINE_integer",
    "DEFINE_list", "DEFINE_multi_enum", "DEFINE_multi_float", "DEFINE_multi_integer", "DEFINE_multi_string", "DEFINE_spaceseplist", "DEFINE_string",
    "DuplicateFlagError", "Error", "FLAGS", "Flag", "FlagHolder", "FlagValues", "IllegalFlagValueError", "UnparsedFlagAccessError",
    "UnrecognizedFlagError", "ValidationError", "adopt_module_key_flags", "declare_key_flag", "disclaim_key_flags",
    "mark_bool_flags_as_mutual_exclusive",
    "mark_flag_as_required", "mark_flags_as_mutual_exclusive", "mark_flags_as_required", "multi_flags_validator", "override_value",
    "register_multi_flags_validator", "register_validator", "set_default", "validator",
]

_TRUE, _FALSE = ("true", "t", "1"), ("false", "f", "0")


def _parse_boolean(value) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        if value.lower() in _TRUE:
            return True
        if value.lower() in _FALSE:
            return False
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise ValueError(f"Non-boolean argument to boolean flag: {value!r}")


def _parse_integer(value) -> int:
    if isinstance(value, str):
        return int(value, 16 if value.lower().startswith(("0x", "-0x")) else 8 if value.lower().startswith("0o") else 10)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"Expect argument to be a string or int, found {type(value).__name__}")
    return value.__index__()


def _parse_float(value) -> float:
    if isinstance(value, bool):
        raise TypeError("Expect argument to be a string, int, or float, found bool")
    return float(value)


def _parse_string(value) -> str:
    if not isinstance(value, str):
        raise TypeError(f"flag value must be a string, found {type(value).__name__!r}")
    return value


def _bounded(parse: Callable, lower, upper) -> Callable:
    def parse_within(value):
        found = parse(value)
        if lower is not None and found < lower or upper is not None and found > upper:
            bounds = f"at most {upper}" if lower is None else f"at least {lower}" if upper is None else f"in the range [{lower}, {upper}]"
            raise ValueError(f"{value} is not {bounds}")
        return found

    return parse_within


def _one_of(values: list[str], case_sensitive: bool) -> Callable:
    def parse(value):
        for known in values:
            if known == value or not case_sensitive and isinstance(value, str) and known.lower() == value.lower():
                return known
        raise ValueError(f"value should be one of <{'|'.join(values)}>")

    return parse


def _member_of(kind: type[enum.Enum], case_sensitive: bool) -> Callable:
    def parse(value):
        if isinstance(value, kind):
            return value
        for member in kind:
            if member.name == value or not case_sensitive and member.name.lower() == str(value).lower():
                return member
        raise ValueError(f"value should be one of <{'|'.join(m.name for m in kind)}>")

    return parse


def _listed(separator: str | None) -> Callable:
    def parse(value):
        if isinstance(value, (list, tuple)):
            return list(value)
        return [part.strip() for part in value.split(separator)] if value else []

    return parse


FLAGS = FlagValues()
# Scripts read flags without having parsed them.
FLAGS.__dict__["_auto_parse"] = True


# What the arguments were called before TensorFlow 1.5.
_OLD_NAMES = {"flag_name": "name", "default_value": "default", "docstring": "help"}


def _old_names_too(function: Callable) -> Callable:
    @functools.wraps(function)
    def define(*args, **kwargs):
        return function(*args, **{_OLD_NAMES.get(key, key): value for key, value in kwargs.items()})

    return define


def _define(parse: Callable, name: str, default, help, flag_values: FlagValues | None, required: bool, **options) -> FlagHolder:
    flag = Flag(parse, name, default, help, **options)
    return DEFINE_flag(flag, FLAGS if flag_values is None else flag_values, required=required)


def DEFINE_flag(flag: Flag, flag_values: FlagValues = FLAGS, module_name: str | None = None, required: bool = False) -> FlagHolder:
    """Adds a flag.

    Raises:
        DuplicateFlagError: if there is one of that name.
        ValueError: if it is required and has a default.
    """
    if required and flag.default is not None:
        raise ValueError(f"Required flag --{flag.name} needs to have None as default value.")
    flag_values._define(flag, module_name or defining_module())
    if required:
        mark_flag_as_required(flag.name, flag_values)
    return FlagHolder(flag_values, flag)


def DEFINE(parser, name: str, default, help, flag_values: FlagValues = FLAGS, serializer=None, module_name=None, required: bool = False,
           **args) -> FlagHolder:
    """Defines a flag whose values `parser.parse` reads."""
    return _define(parser.parse, name, default, help, flag_values, required, write=serializer.serialize if serializer else str, **args)


@_old_names_too
def DEFINE_string(name: str, default, help, flag_values: FlagValues = FLAGS, required: bool = False, **args) -> FlagHolder:
    """Defines a flag with any text as its value."""
    return _define(_parse_string, name, default, help, flag_values, required, **args)


@_old_names_too
def DEFINE_boolean(name: str, default, help, flag_values: FlagValues = FLAGS, module_name=None, required: bool = False, **args) -> FlagHolder:
    """Defines a flag that is true or false."""
    return _define(_parse_boolean, name, default, help, flag_values, required, boolean=True, write=lambda v: str(v).lower(), **args)


DEFINE_bool = DEFINE_boolean


@_old_names_too
def DEFINE_integer(name: str, default, help, lower_bound=None, upper_bound=None, flag_values: FlagValues = FLAGS, required: bool = False,
                   **args) -> FlagHolder:
    """Defines a flag with an integer as its value; ``0x`` and ``0o`` are understood."""
    return _define(_bounded(_parse_integer, lower_bound, upper_bound), name, default, help, flag_values, required, kind="an integer", **args)


@_old_names_too
def DEFINE_float(name: str, default, help, lower_bound=None, upper_bound=None, flag_values: FlagValues = FLAGS, required: bool = False,
                 **args) -> FlagHolder:
    """Defines a flag with a number as its value."""
    return _define(_bounded(_parse_float, lower_bound, upper_bound), name, default, help, flag_values, required, kind="a number", **args)


def DEFINE_enum(name: str, default, enum_values, help, flag_values: FlagValues = FLAGS, module_name=None, required: bool = False,
                case_sensitive: bool = True, **args) -> FlagHolder:
    """Defines a flag with one of some strings as its value."""
    values = list(enum_values)
    return _define(_one_of(values, case_sensitive), name, default, f"<{'|'.join(values)}>: {help}", flag_values, required, **args)


def DEFINE_enum_class(name: str, default, enum_class, help, flag_values: FlagValues = FLAGS, module_name=None, case_sensitive: bool = False,
                      required: bool = False, **args) -> FlagHolder:
    """Defines a flag with a member of an enumeration as its value."""
    parse = _member_of(enum_class, case_sensitive)
    return _define(parse, name, default, help, flag_values, required, write=lambda v: v.name, **args)


def DEFINE_list(name: str, default, help, flag_values: FlagValues = FLAGS, required: bool = False, **args) -> FlagHolder:
    """Defines a flag with strings as its value, commas between them."""
    return _define(_listed(","), name, default, help, flag_values, required, write=",".join, kind="a comma separated list", **args)


def DEFINE_spaceseplist(name: str, default, help, comma_compat: bool = False, flag_values: FlagValues = FLAGS, required: bool = False,
                        **args) -> FlagHolder:
    """Defines a flag with strings as its value, spaces between them, or commas if `comma_compat` says so."""
    split = _listed(None)
    parse = (lambda v: split(v.replace(",", " ") if isinstance(v, str) else v)) if comma_compat else split
    return _define(parse, name, default, help, flag_values, required, write=" ".join, kind="a whitespace separated list", **args)


def DEFINE_multi_string(name: str, default, help, flag_values: FlagValues = FLAGS, required: bool = False, **args) -> FlagHolder:
    """Defines a flag that may be given often; its value is the list of them."""
    return _define(_parse_string, name, default, help, flag_values, required, multiple=True, kind="a list; repeat to add", **args)


def DEFINE_multi_integer(name: str, default, help, lower_bound=None, upper_bound=None, flag_values: FlagValues = FLAGS, required: bool = False,
                         **args) -> FlagHolder:
    """Defines a flag with integers as its values, which may be given often."""
    return _define(_bounded(_parse_integer, lower_bound, upper_bound), name, default, help, flag_values, required, multiple=True, **args)


def DEFINE_multi_float(name: str, default, help, lower_bound=None, upper_bound=None, flag_values: FlagValues = FLAGS, required: bool = False,
                       **args) -> FlagHolder:
    """Defines a flag with numbers as its values, which may be given often."""
    return _define(_bounded(_parse_float, lower_bound, upper_bound), name, default, help, flag_values, required, multiple=True, **args)


def DEFINE_multi_enum(name: str, default, enum_values, help, flag_values: FlagValues = FLAGS, case_sensitive: bool = True, required: bool = False,
                      **args) -> FlagHolder:
    """Defines a flag with some of some strings as its values, which may be given often."""
    return _define(_one_of(list(enum_values), case_sensitive), name, default, help, flag_values, required, multiple=True, **args)


def DEFINE_alias(name: str, original_name: str, flag_values: FlagValues = FLAGS, module_name: str | None = None) -> FlagHolder:
    """Defines another name for a flag.

    Raises:
        UnrecognizedFlagError: if there is no flag `original_name`.
    """
    if original_name not in flag_values:
        raise UnrecognizedFlagError(original_name)
    flag = flag_values[original_name]
    flag_values._flags[name] = flag
    flag_values._modules[name] = module_name or defining_module(), flag.help
    return FlagHolder(flag_values, flag)


def _name_of(flag) -> str:
    return flag.name if isinstance(flag, FlagHolder) else flag


def register_validator(flag_name, checker: Callable, message: str = "Flag validation failed", flag_values: FlagValues = FLAGS) -> None:
    """Registers `checker`, which says whether a flag may have a value: when the command line is parsed and when the flag is set."""
    name = _name_of(flag_name)
    register_multi_flags_validator([name], lambda values: checker(values[name]), message, flag_values)


def validator(flag_name, message: str = "Flag validation failed", flag_values: FlagValues = FLAGS) -> Callable:
    """Returns a decorator for a checker of :func:`register_validator`."""
    def decorate(function):
        register_validator(flag_name, function, message, flag_values)
        return function

    return decorate


def register_multi_flags_validator(flag_names, multi_flags_checker: Callable, message: str = "Flags validation failed",
                                   flag_values: FlagValues = FLAGS) -> None:
    """Registers a function of a dictionary of several flags' values that says whether they go together."""
    names = [_name_of(n) for n in flag_names]
    for name in names:
        if name not in flag_values:
            raise AttributeError(name)
    check = names, multi_flags_checker, message
    flag_values._validators.append(check)
    if flag_values.is_parsed():
        flag_values._check([check])


def multi_flags_validator(flag_names, message: str = "Flag validation failed", flag_values: FlagValues = FLAGS) -> Callable:
    """Returns a decorator for a checker of :func:`register_multi_flags_validator`."""
    def decorate(function):
        register_multi_flags_validator(flag_names, function, message, flag_values)
        return function

    return decorate


def mark_flag_as_required(flag_name, flag_values: FlagValues = FLAGS) -> None:
    """Refuses command lines that leave a flag None."""
    name = _name_of(flag_name)
    register_validator(name, lambda value: value is not None, f"Flag --{name} must have a value other than None.", flag_values)


def mark_flags_as_required(flag_names, flag_values: FlagValues = FLAGS) -> None:
    """Like :func:`mark_flag_as_required`, for several flags."""
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


def mark_flags_as_mutual_exclusive(flag_names, required: bool = False, flag_values: FlagValues = FLAGS) -> None:
    """Refuses command lines that give more than one of some flags, or none of them if one is required."""
    names = [_name_of(n) for n in flag_names]
    count = "Exactly" if required else "At most"

    def check(values):
        given = sum(value is not None for value in values.values())
        return given == 1 or not required and given == 0

    register_multi_flags_validator(names, check, f"{count} one of ({', '.join(names)}) must have a value other than None.", flag_values)


def mark_bool_flags_as_mutual_exclusive(flag_names, required: bool = False, flag_values: FlagValues = FLAGS) -> None:
    """Refuses command lines that make more than one of some boolean flags true, or none of them if one is required."""
    names = [_name_of(n) for n in flag_names]
    for name in names:
        if not flag_values[name].boolean:
            raise ValidationError(f"Flag --{name} is not Boolean, which is required for flags used in mark_bool_flags_as_mutual_exclusive.")

    def check(values):
        given = sum(bool(value) for value in values.values())
        return given == 1 or not required and given == 0

    register_multi_flags_validator(names, check, f"{'Exactly' if required else 'At most'} one of ({', '.join(names)}) must be True.", flag_values)


def set_default(flag_holder: FlagHolder, value) -> None:
    """Changes a flag's default."""
    flag_holder._flag_values.set_default(flag_holder.name, value)


def override_value(flag_holder: FlagHolder, value) -> None:
    """Sets a flag's value, whatever the command line says."""
    setattr(flag_holder._flag_values, flag_holder.name, flag_holder._flag._parsed(value))


def declare_key_flag(flag_name, flag_values: FlagValues = FLAGS) -> None:
    """Checks that there is such a flag; help lists all flags anyway."""
    if _name_of(flag_name) not in flag_values:
        raise UnrecognizedFlagError(_name_of(flag_name))


def adopt_module_key_flags(module, flag_values: FlagValues = FLAGS) -> None:
    """Does nothing: help lists the flags of all modules."""


def disclaim_key_flags() -> None:
    """Does nothing: help names the module that calls :func:`DEFINE_flag`."""
