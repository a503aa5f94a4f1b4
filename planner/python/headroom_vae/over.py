"""Finds functions that lie under or over Headroom's on a VAE."""

from __future__ import annotations

from typing import Any

from .changes import shown
from .compiled import uncompiled


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
