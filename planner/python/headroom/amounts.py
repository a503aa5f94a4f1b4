"""Arguments as people write them."""

from __future__ import annotations

import operator
import os
from typing import Any

from . import _core
from .errors import InputError


def limit_bytes(limit: int | str | None, option: str = "limit") -> int | None:
    """Bytes of ``8 << 30``, ``"8GiB"``; None of ``None``. Not for ``"auto"``."""
    if limit is None:
        return None
    if isinstance(limit, str):
        if not limit.isprintable():  # half of a surrogate pair too, which is no text in C++
            raise InputError(f"{option}: expected bytes such as 8GiB, found {limit!r}")
        return _core.parse_bytes(limit, option)
    bytes_ = whole_number(limit, option, "bytes, as in 8 << 30 or '8GiB'")
    if bytes_ < 0:
        raise InputError(f"{option}: expected bytes, found {limit}")
    return bytes_


def require_sensible_limit(limit: int | str | None, option: str = "limit") -> None:
    """Raises InputError for so few bytes that GiB are meant."""
    bytes_ = None if limit == "auto" else limit_bytes(limit, option)
    if bytes_ is None or bytes_ >= _core.fewest_sensible_bytes:
        return
    raise InputError(f"{option} {bytes_} is {bytes_} bytes." + (f" Did you mean {bytes_}GiB?" if bytes_ > 0 else ""))


def whole_number(value: Any, name: str, expected: str = "a whole number") -> int:
    """``value`` as an int. Raises InputError for what is no whole number of 64 bits."""
    try:
        number = operator.index(value)
    except (TypeError, ValueError):
        number = 1 << 63
    if isinstance(value, bool) or not -(1 << 63) <= number < 1 << 63:
        raise InputError(f"{name}: expected {expected}, found {value!r}")
    return number


def file_name(path: Any, name: str) -> str:
    """Raises InputError for what names no file."""
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
    """All memory that this process could have, whoever uses it now: the machine's, or its control group's."""
    return _core.memory_bytes()
