"""Finds the originals of modules and functions that ``torch.compile()`` made."""

from __future__ import annotations

from typing import Any


def followed(module: Any) -> Any:
    """The original of a module that torch.compile() made. Other modules are returned unchanged."""
    while type(module).__name__ == "OptimizedModule" and type(module).__module__.startswith("torch."):
        module = module._orig_mod
    return module


def uncompiled(function: Any) -> Any:
    """The function that torch.compile() wrapped. Others are returned unchanged."""
    while hasattr(function, "_torchdynamo_orig_callable") and getattr(function, "_torchdynamo_wrapper_id", id(function)) == id(function):
        function = function._torchdynamo_orig_callable  # functools.wraps copies this attribute, but not the identity
    is_shell = getattr(getattr(function, "__code__", None), "co_filename", "").endswith("torch/_dynamo/external_utils.py")
    return function.__wrapped__ if is_shell and hasattr(function, "__wrapped__") else function  # PyTorch's shell around callable objects


def is_own(module: Any, method: str, function: Any) -> bool:
    """True if a function is the method of the module's class, compiled or not."""
    found = uncompiled(function)
    return getattr(found, "__self__", None) is module and getattr(found, "__func__", None) is getattr(type(module), method, None)


def is_compiled_method(module: Any, name: str) -> bool:
    """True if torch.compile() made the module's own method of this name."""
    found = vars(module).get(name)
    return found is not None and uncompiled(found) is not found and is_own(module, name, found)
