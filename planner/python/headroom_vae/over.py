"""Finds functions that lie under or over Headroom's on a VAE."""

from __future__ import annotations

from typing import Any

from .changes import shown


def uncompiled(function: Any) -> Any:
    """The function that torch.compile() wrapped. Others are returned unchanged."""
    while hasattr(function, "_torchdynamo_orig_callable") and getattr(function, "_torchdynamo_wrapper_id", id(function)) == id(function):
        function = function._torchdynamo_orig_callable  # functools.wraps copies this attribute, but not the identity
    is_shell = getattr(getattr(function, "__code__", None), "co_filename", "").endswith("torch/_dynamo/external_utils.py")
    return function.__wrapped__ if is_shell and hasattr(function, "__wrapped__") else function  # PyTorch's shell around callable objects


def is_own(vae: Any, method: str, function: Any) -> bool:
    """True if a function is the method of the VAE's class, compiled or not."""
    found = uncompiled(function)
    return getattr(found, "__self__", None) is vae and found.__func__ is getattr(type(vae), method, None)


def is_call_of(function: Any, replacement: type) -> bool:
    """True if a function is an object of this class, compiled or not."""
    found = uncompiled(function)
    return isinstance(found, replacement) or isinstance(getattr(found, "__self__", None), replacement)


def remark(vae: Any, method: str, replacement: type) -> str | None:
    """A sentence about the function that lies over Headroom's. None if there is none."""
    function = vars(vae).get(method)
    if function is None or is_call_of(function, replacement):
        return None
    return f"vae.{method} is now {shown(function)}, not Headroom's: Headroom runs only if that function calls it"
