"""Finds the methods of a class that a call can reach, and the names that their code reads."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any, Iterable, Iterator

CALLED = ("forward", "__call__", "_wrapped_call_impl", "_call_impl", "__getattr__", "__iter__", "__len__", "__getitem__")
"""Functions that run when a module is called, or when its parent iterates over it."""

CALLERS = ("torch", "accelerate")
"""Packages whose decorators may stand around any method."""

OTHER_WAYS = ("encode", "tile")
"""In names of methods that a decode does not call, or that only its blended tiles do."""


@dataclass(frozen=True)
class Methods:
    names: frozenset[str]
    """Names that the code reads: of attributes, methods and globals alike."""
    functions: frozenset[str]
    """The names that are methods."""
    foreign: tuple[tuple[str, Any], ...]
    """Methods whose code is of another package than their class."""


_known: dict[tuple[type, tuple[str, ...]], Methods] = {}


def methods_of(cls: type, called: tuple[str, ...]) -> Methods:
    known = _known.get((cls, called))
    if known is None or _foreign(cls, known.functions):
        known = _found(cls, called)
        if not known.foreign:
            _known[cls, called] = known
    return known


def _found(cls: type, called: tuple[str, ...]) -> Methods:
    names, functions, ahead = set(), {"__init__"}, list(called)
    while ahead:
        name = ahead.pop()
        if name in names or (name not in called and any(word in name for word in OTHER_WAYS)):
            continue
        names.add(name)
        for owner in _owners(cls, name):  # a method may call its base's method
            for function in _functions(vars(owner)[name]):
                functions.add(name)
                ahead.extend(_names_in(function.__code__))
    return Methods(frozenset(names), frozenset(functions), _foreign(cls, functions))


def _foreign(cls: type, names: Iterable[str]) -> tuple[tuple[str, Any], ...]:
    """Methods whose code comes from another package than their class. Skips `decode`, which Headroom replaces."""
    found = []
    for name in sorted(set(names) - {"decode"}):
        for owner in _owners(cls, name):
            function = next(_functions(vars(owner)[name]), None)
            package = "" if function is None else str(function.__globals__.get("__name__")).partition(".")[0]
            if function is not None and package != owner.__module__.partition(".")[0] and package not in CALLERS:
                found.append((name, function))
    return tuple(found)


def _owners(cls: type, name: str) -> list[type]:
    """The class and those of its bases that define this name."""
    return [owner for owner in cls.__mro__ if owner is not object and name in vars(owner)]


def _functions(attribute: Any) -> Iterator[types.FunctionType]:
    """The function of a method. If it is a decorator's wrapper, also the wrapped functions, found in its closure."""
    if isinstance(attribute, (staticmethod, classmethod)):
        attribute = attribute.__func__
    if isinstance(attribute, property):
        attribute = attribute.fget
    if isinstance(attribute, types.FunctionType):
        yield attribute
        for cell in attribute.__closure__ or ():
            try:
                inner = cell.cell_contents
            except ValueError:  # the cell has no value yet
                continue
            if isinstance(inner, types.FunctionType) and inner is not attribute:
                yield from _functions(inner)


def _names_in(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, str) and constant.isidentifier():
            yield constant
        elif isinstance(constant, types.CodeType):
            yield from _names_in(constant)
