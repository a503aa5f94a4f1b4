"""Limits as people write them."""

from __future__ import annotations

from . import _core
from .errors import InputError


def limit_bytes(limit: int | str | None, option: str = "limit") -> int | None:
    """Bytes of ``8 << 30``, ``"8GiB"``; None of ``None``. Not for ``"auto"``."""
    if limit is None:
        return None
    if isinstance(limit, str):
        return _core.parse_bytes(limit, option)
    if isinstance(limit, bool) or not hasattr(limit, "__index__"):
        raise InputError(f"{option}: expected bytes, as in 8 << 30 or '8GiB', found {limit!r}")
    if int(limit) < 0:
        raise InputError(f"{option}: expected bytes, found {limit}")
    return int(limit)


def auto_limit_bytes(held_bytes: int = 0) -> int:
    """What a decode on the CPU could have: what this process may still take, and what the decoder holds already."""
    return _core.automatic_limit_bytes(_core.available_bytes() + held_bytes)
