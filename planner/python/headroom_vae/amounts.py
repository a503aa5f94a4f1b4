"""Parses arguments such as byte counts, whole numbers and file names."""

from __future__ import annotations

import operator
import os
from typing import Any

from . import _core
from .errors import InputError

THRIFT: float = _core.default_thrift
"""Share of time that plans give for memory by default."""


def limit_bytes(limit: int | str | None, option: str = "limit") -> int | None:
    """Parses a limit such as ``8 << 30`` or ``"8GiB"`` to bytes. None stays None. Does not accept ``"auto"``."""
    if limit is None:
        return None
    if isinstance(limit, str):
        if not limit.isprintable():  # includes lone surrogates, which C++ cannot encode as UTF-8
            raise InputError(f"{option}: expected bytes such as 8GiB, found {limit!r}")
        return _core.parse_bytes(limit.strip(), option)
    bytes_ = whole_number(limit, option, "bytes, as in 8 << 30 or '8GiB'")
    if bytes_ < 0:
        raise InputError(f"{option}: expected bytes, found {limit}")
    return bytes_


def share(value: float | str, option: str) -> float:
    """Parses a share such as ``0.05`` or ``"5%"``."""
    if isinstance(value, str) and value.isprintable():
        return _core.parse_share(value.strip(), option)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InputError(f"{option}: expected a share from 0 to 1 such as 0.05 or '5%', found {value!r}")
    return float(value)


def any_case(limit: Any) -> Any:
    """``"auto"`` for ``"AUTO"`` and ``" Auto "``. Others are returned unchanged."""
    return "auto" if isinstance(limit, str) and limit.strip().lower() == "auto" else limit


def require_sensible_limit(limit: int | str | None, option: str = "limit") -> None:
    """Raises InputError if the limit is so small that the caller probably meant GiB."""
    bytes_ = None if limit == "auto" else limit_bytes(limit, option)
    if bytes_ is None or bytes_ >= _core.fewest_sensible_bytes:
        return
    raise InputError(f"{option}={limit!r} is {bytes_} bytes." + (f" Did you mean '{bytes_}GiB'?" if bytes_ > 0 else ""))


def is_plain_number(limit: int | str | None) -> bool:
    """True if a limit has no unit, so that its unit may be a mistake."""
    return limit is not None and not (isinstance(limit, str) and any(letter.isalpha() for letter in limit))


def whole_number(value: Any, name: str, expected: str = "a whole number") -> int:
    """``value`` as an int. Raises InputError if it is not a whole number that fits 64 bits."""
    try:
        number = operator.index(value)
    except (TypeError, ValueError):
        number = 1 << 63
    if isinstance(value, bool) or not -(1 << 63) <= number < 1 << 63:
        raise InputError(f"{name}: expected {expected}, found {value!r}")
    return number


def whole_size(height: int, width: int, frames: int, batch: int) -> tuple[int, int, int, int]:
    """(batch, frames, height, width) as ints. Raises InputError for one that is not a whole number."""
    named = (("height", height), ("width", width), ("frames", frames), ("batch", batch))
    height, width, frames, batch = (whole_number(value, name) for name, value in named)
    return batch, frames, height, width


def file_name(path: Any, name: str) -> str:
    """``path`` as text. Raises InputError if it cannot be a file name."""
    try:
        text = os.fsdecode(path)
    except TypeError:
        text = "\0"
    if "\0" in text:
        raise InputError(f"{name}: expected the name of a file, found {path!r}")
    return text


def auto_limit_bytes(held_bytes: int = 0) -> int:
    """Memory that a decode on the CPU could have: free memory of this process, plus the decoder's own ``held_bytes``."""
    return _core.automatic_limit_bytes(_core.available_bytes() + held_bytes)


def memory_bytes() -> int:
    """Total memory that this process could use, free or not: the limit of its control group, or else the machine's memory."""
    return _core.memory_bytes()
