"""Trade-off between peak memory and time."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from . import _core
from .amounts import whole_number
from .errors import InputError
from .prediction import planner_of, planner_options


class FrontierPoint(NamedTuple):
    """One plan of a frontier."""

    peak_bytes: int
    """Peak of the decode. It is also the smallest limit under which this plan is found."""
    seconds: float
    """Predicted time of the decode."""


class Frontier(tuple):
    """The fastest plan under each of several limits: a sequence of FrontierPoints, largest peak first."""

    what: str
    """The request in words."""
    assumed: bool
    """True if times come from assumed costs, not from a profile of this machine."""

    def __str__(self) -> str:
        longest = max((point.seconds for point in self), default=1.0)
        rows = [
            f"{_core.format_bytes(p.peak_bytes):>10}  {_core.format_seconds(p.seconds):>8}  {'#' * round(40 * p.seconds / longest)}"
            for p in self
        ]
        return "\n".join([self.what + (", assumed costs" if self.assumed else ""), *rows])

    __repr__ = __str__


def frontier(
    vae: Any,
    height: int,
    width: int,
    frames: int = 1,
    batch: int = 1,
    dtype: Any = None,
    device: Any = None,
    *,
    points: int = 32,
    host_limit: int | str = 0,
    scratch: str | None = None,
    profile: str | None = None,
) -> Frontier:
    """The fastest plan under each of several limits: a Frontier of at most ``points`` FrontierPoints, in bytes and seconds.

    They reach from the smallest limit that works to where more memory gains nothing. Other arguments are those of
    :func:`headroom_vae.predict`. It takes seconds, and decodes nothing::

        for point in headroom_vae.frontier("sdxl", height=1024, width=1024):
            print(point.peak_bytes, point.seconds)

    Raises Unsupported and InputError, as predict does."""
    planner, what = planner_of(
        vae, height, width, frames, batch, dtype=dtype, device=device,
        **planner_options(host_limit, scratch, profile),
    )  # fmt: skip
    if whole_number(points, "points") < 1:
        raise InputError(f"points: expected at least 1, found {points}")
    document = json.loads(planner.frontier(points))
    found = Frontier(FrontierPoint(p["peak_bytes"], p["seconds"]) for p in document["points"])
    found.what, found.assumed = what, document.get("assumed", True)
    return found
