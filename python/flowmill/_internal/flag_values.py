"""Flags, and how a command line sets their values. :mod:`flowmill.flags` defines them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any


class Error(Exception):
    """Something is wrong with flags."""


class DuplicateFlagError(Error):
    """A flag is defined twice."""


class IllegalFlagValueError(Error):
    """A flag cannot have a value."""


class UnrecognizedFlagError(Error):
    """There is no such flag."""

    def __init__(self, flagname: str, flagvalue: Any = "", suggestions: Iterable[str] = ()):
        self.flagname, self.flagvalue = flagname, flagvalue
        close = f". Did you mean: {', '.join(suggestions)} ?" if suggestions else ""
        super().__init__(f"Unknown command line flag '{flagname}'{close}")


class UnparsedFlagAccessError(Error):
    """A flag was read before the command line was parsed."""


class ValidationError(Error):
    """A validator says no."""


class Flag:
    """One flag.

    Attributes:
        name, short_name, help: what it is called and what it does.
        default, value: its value if none is given, and now.
        present: how often the command line has it.
        boolean: whether it may be given without a value.
    """

    def __init__(self, parse: Callable, name: str, default, help: str | None, short_name: str | None = None, boolean: bool = False,
                 multiple: bool = False, allow_override: bool = False, write: Callable = str, kind: str = ""):
        self.parse_value, self.name, self.help, self.short_name = parse, name, help or "(no help available)", short_name
        self.boolean, self.multiple, self.allow_override = boolean, multiple, allow_override
        self.write, self.kind = write, kind
        self.present = 0
        self.using_default_value = True
        self.set_default(default)

    def _parsed(self, value):
        if value is None:
            return None
        try:
            if self.multiple:
                return [self.parse_value(v) for v in (value if isinstance(value, (list, tuple)) else [value])]
            return self.parse_value(value)
        except (ValueError, TypeError) as error:
            raise IllegalFlagValueError(f"flag --{self.name}={value}: {error}") from None

    def set_default(self, default) -> None:
        """Sets the value it has if none is given."""
        self.default = self._parsed(default)
        if self.using_default_value:
            self.value = self.default

    def parse(self, argument) -> None:
        """Takes a value from the command line; flags that may be given often collect them."""
        found = self._parsed(argument)
        self.value = [*self.value, *found] if self.multiple and self.present else found
        self.present += 1
        self.using_default_value = False

    def unparse(self) -> None:
        """Forgets what the command line said."""
        self.present, self.using_default_value, self.value = 0, True, self.default

    def serialize(self) -> str:
        """Returns the flag as the command line would have it; empty for None."""
        if self.value is None:
            return ""
        if self.boolean:
            return f"--{'' if self.value else 'no'}{self.name}"
        if self.multiple:
            return "\n".join(f"--{self.name}={self.write(v)}" for v in self.value)
        return f"--{self.name}={self.write(self.value)}"


class FlagHolder:
    """A flag that was defined, to read its value by."""

    def __init__(self, flag_values: FlagValues, flag: Flag):
        self._flag_values, self._flag = flag_values, flag

    @property
    def name(self) -> str:
        """The flag's name."""
        return self._flag.name

    @property
    def value(self) -> Any:
        """The flag's value."""
        return getattr(self._flag_values, self._flag.name)

    @property
    def default(self) -> Any:
        """The flag's default."""
        return self._flag.default

    @property
    def present(self) -> bool:
        """Returns true if the command line has the flag."""
        return self._flag.present > 0

    def serialize(self) -> str:
        """Returns the flag as the command line would have it."""
        return self._flag.serialize()

    def __bool__(self):
        raise TypeError("bool() is not supported for instances of FlagHolder; use its value.")


class FlagValues:
    """All flags, each an attribute. Called with a command line it parses it."""

    def __init__(self) -> None:
        self.__dict__.update(_flags={}, _parsed=False, _validators=[], _modules={}, _auto_parse=False)

    def _define(self, flag: Flag, module: str) -> None:
        for name in filter(None, (flag.name, flag.short_name)):
            known = self._flags.get(name)
            if known is not None and not (flag.allow_override or known.allow_override) and self._modules.get(name) != (module, flag.help):
                raise DuplicateFlagError(f"The flag '{name}' is defined twice. First from {self._modules[name][0]}, Second from {module}. "
                                         f"Description from first occurrence: {known.help}")
            self._flags[name] = flag
            self._modules[name] = module, flag.help

    def __getitem__(self, name: str) -> Flag:
        return self._flags[name]

    def __setitem__(self, name: str, flag: Flag) -> None:
        flag.name = name
        self._define(flag, defining_module())

    def __contains__(self, name: str) -> bool:
        return name in self._flags

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({f.name for f in self._flags.values()}))

    def __len__(self) -> int:
        return len(self._flags)

    def __dir__(self):
        return sorted([*self._flags, *super().__dir__()])

    def __getattr__(self, name: str):
        if name.startswith("__") or name not in self._flags:
            raise AttributeError(name)
        if not self._parsed:
            if not self._auto_parse:
                raise UnparsedFlagAccessError(f"Trying to access flag --{name} before flags were parsed.")
            self(sys.argv)
        return self._flags[name].value

    def __setattr__(self, name: str, value) -> None:
        if name not in self._flags:
            raise AttributeError(name)
        flag = self._flags[name]
        flag.value = value
        flag.using_default_value = False
        self._check(v for v in self._validators if name in v[0])

    def __delattr__(self, name: str) -> None:
        if name not in self._flags:
            raise AttributeError(name)
        flag = self._flags[name]
        for key in [k for k, f in self._flags.items() if f is flag]:
            del self._flags[key], self._modules[key]

    def __call__(self, argv, known_only: bool = False) -> list[str]:
        """Parses a command line, whose first item is the program.

        Args:
            argv: its words.
            known_only: whether flags that do not exist stay in what is returned.

        Returns:
            The program and the words that are no flags.

        Raises:
            UnrecognizedFlagError, IllegalFlagValueError: for a flag that does not exist, or cannot have the value.
        """
        if isinstance(argv, (str, bytes)) or not argv:
            raise TypeError("argv should be a tuple/list of strings with the program first, not bytes or string.")
        rest, unknown, allowed = self._parse(list(argv[1:]), known_only)
        unknown = [(name, value) for name, value in unknown if name not in allowed and name.removeprefix("no") not in allowed]
        if unknown:
            import difflib  # start-up: only an error message needs it

            name, value = unknown[0]
            raise UnrecognizedFlagError(name, value, [f"{m}" for m in difflib.get_close_matches(name, list(self))])
        self.__dict__["_parsed"] = True
        self._check(self._validators)
        return [argv[0], *rest]

    def _parse(self, words: list[str], known_only: bool):
        rest, unknown, allowed = [], [], set()
        while words:
            word = words.pop(0)
            if not word.startswith("-") or word == "-":
                rest.append(word)
                if known_only:
                    continue
                break  # the first word that is no flag ends them
            if word == "--":
                if known_only:
                    rest.append(word)
                break
            name, equals, value = word.lstrip("-").partition("=")
            argument = value if equals else None
            if name == "undefok":
                allowed.update(n.strip() for n in (argument if argument is not None else words.pop(0)).split(","))
                continue
            if name == "flagfile":
                words[:0] = _words_of_file(argument if argument is not None else words.pop(0))
                continue
            flag = self._flags.get(name)
            if flag is None and argument is None and name.startswith("no") and name[2:] in self._flags and self._flags[name[2:]].boolean:
                self._flags[name[2:]].parse(False)
            elif flag is None:
                if known_only:
                    rest.append(word)
                elif name in ("help", "helpfull", "h", "?"):
                    self._print_help()
                else:
                    unknown.append((name, argument))
            elif argument is not None:
                flag.parse(argument)
            elif flag.boolean:
                flag.parse(True)
            elif not words:
                raise Error(f"Missing value for flag --{name}")
            else:
                flag.parse(words.pop(0))
        return rest + words, unknown, allowed

    def _print_help(self) -> None:
        print(f"\n       USAGE: {os.path.basename(sys.argv[0])} [flags]\nflags:\n{self.get_help()}")
        sys.exit(1)

    def _check(self, validators) -> None:
        for names, check, message in validators:
            if not all(name in self._flags for name in names):
                continue
            values = {name: self._flags[name].value for name in names}
            try:
                fits = check(values)
            except ValidationError as error:
                raise IllegalFlagValueError(f"flag{'s' if len(names) > 1 else ''} {_shown(values)}: {error}") from None
            if not fits:
                raise IllegalFlagValueError(f"flag{'s' if len(names) > 1 else ''} {_shown(values)}: {message}")

    def is_parsed(self) -> bool:
        """Returns true if a command line was parsed."""
        return self._parsed

    def mark_as_parsed(self) -> None:
        """Allows flags to be read without a command line."""
        self.__dict__["_parsed"] = True

    def unparse_flags(self) -> None:
        """Forgets what command lines said."""
        for flag in self._flags.values():
            flag.unparse()
        self.__dict__["_parsed"] = False

    def flag_values_dict(self) -> dict[str, Any]:
        """The values by name."""
        return {name: flag.value for name, flag in self._flags.items()}

    def get_flag_value(self, name: str, default):
        """Returns the value of a flag; `default` if there is no such flag or it is None."""
        value = getattr(self, name) if name in self._flags else None
        return default if value is None else value

    def set_default(self, name: str, value) -> None:
        """Changes a flag's default."""
        if name not in self._flags:
            raise AttributeError(name)
        self._flags[name].set_default(value)
        self._check(v for v in self._validators if name in v[0] and self._parsed)

    def find_module_defining_flag(self, flagname: str, default=None):
        """Returns the module that defines a flag."""
        return self._modules[flagname][0] if flagname in self._modules else default

    def flags_by_module_dict(self) -> dict[str, list[Flag]]:
        """Returns the flags by the modules that define them."""
        found: dict[str, list[Flag]] = {}
        for name in self:
            found.setdefault(self._modules[name][0], []).append(self._flags[name])
        return found

    def get_help(self) -> str:
        """Returns the help text of all flags, by module."""
        lines = []
        for module, flags in sorted(self.flags_by_module_dict().items()):
            lines.append(f"\n{module}:")
            for flag in flags:
                name = f"--[no]{flag.name}" if flag.boolean else f"--{flag.name}"
                short = f"-{flag.short_name}," if flag.short_name else ""
                lines.append(f"  {short}{name}: {flag.help}")
                if flag.default is not None:
                    lines.append(f"    (default: {flag.write(flag.default) if not flag.multiple else flag.default!r})")
                if flag.kind:
                    lines.append(f"    ({flag.kind})")
        return "\n".join(lines)

    def main_module_help(self) -> str:
        """Returns the help text of the flags that the program itself defines."""
        return self.get_help()

    def flags_into_string(self) -> str:
        """Returns the flags as a flagfile would have them."""
        return "".join(text + "\n" for text in (self._flags[name].serialize() for name in self) if text)

    def append_flags_into_file(self, filename) -> None:
        """Appends the flags to a flagfile."""
        with open(filename, "a") as file:
            file.write(self.flags_into_string())


def _shown(values: dict[str, Any]) -> str:
    return " ".join(f"--{name}={value}" for name, value in values.items())


def _words_of_file(path: str) -> list[str]:
    with open(os.path.expanduser(path)) as file:
        lines = [line.strip() for line in file]
    return [line for line in lines if line and not line.startswith(("#", "//"))]


def defining_module() -> str:
    """Returns the module that a flag is defined in: the nearest caller's outside of these two."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") in (__name__, "flowmill.flags"):
        frame = frame.f_back
    name = "__main__" if frame is None else frame.f_globals.get("__name__", "__main__")
    return sys.argv[0] if name == "__main__" and sys.argv else name
