"""Prediction of a stream's memory before it opens."""

from __future__ import annotations

from typing import Any

from . import _core
from .amounts import whole_number, whole_size
from .checkpoints import describe
from .described import device_of, dtype_of
from .errors import DoesNotFit, Unsupported
from .executors import planned_executor
from .tf32 import tf32_of


class StreamPrediction:
    """Result of :func:`predict` with ``stream=True``. Attributes are in bytes. They are None if nothing fits the limit."""

    def __init__(self, planner: _core.Planner, what: str, block: int, sessions: int, limit: int | None):
        self.what = what
        """The stream in words."""
        self.limit_bytes = limit
        self.sessions = sessions
        """Streams that the limit has to hold."""
        self._refused: DoesNotFit | None = None
        self._plan: _core.StreamPlan | None = None
        try:
            self._plan = planner.stream_plan(block, sessions, limit)
        except DoesNotFit as refused:
            self._refused = refused

    @property
    def fits(self) -> bool:
        """True if so many streams fit the limit."""
        return self._plan is not None

    @property
    def state_bytes(self) -> int | None:
        """The most that stays in memory between two blocks of a stream."""
        return self._plan.state_bytes if self._plan else None

    @property
    def weights_bytes(self) -> int | None:
        """Packed weights, which all streams share."""
        return self._plan.weights_bytes if self._plan else None

    @property
    def peak_bytes(self) -> int | None:
        """The most that all streams take together: weights, the state of each, and the work of one."""
        return self._plan.peak_bytes(self.sessions) if self._plan else None

    @property
    def delay_frames(self) -> int | None:
        """Frames by which the output stays behind."""
        return self._plan.delay_frames if self._plan else None

    def require(self) -> _core.StreamPlan:
        """Returns the plan. Raises DoesNotFit with a limit that suffices."""
        if self._plan is None:
            raise self._refused
        return self._plan

    def __str__(self) -> str:
        if self._plan is None:
            return f"{self.what}: {self._refused}"
        size = _core.format_bytes
        streams = "" if self.sessions == 1 else f"{self.sessions} streams, "
        return f"{self.what}: {streams}state {size(self.state_bytes)}, peak {size(self.peak_bytes)}, delay {self.delay_frames} frames"

    __repr__ = __str__


def stream_planner(
    vae: Any,
    height: int,
    width: int,
    block: int,
    batch: int = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    direction: str = "decode",
    executor: str = "auto",
    **options: Any,
) -> tuple[_core.Planner, str]:
    """The planner of a stream, and a text that describes the stream. Raises Unsupported with the reason if the class needs the whole
    clip."""
    batch, _, height, width = whole_size(height, width, 1, batch)
    block = whole_number(block, "block")
    model = describe(vae).for_direction(direction)
    asked = dtype_of(vae, dtype)
    why = model.why_no_stream()
    if why:
        raise Unsupported(f"{model.name} cannot run block by block: {why}")
    precision = model.decoding_dtype(asked)
    of = device_of(vae, device)
    kind = planned_executor(of, executor).planned_device(of)
    planner = _core.Planner(
        model, width=width, height=height, batch=batch, dtype=precision, device=kind, tf32=tf32_of(precision, kind), picture_dtype=asked,
        stream_block=block, **options,
    )  # fmt: skip
    encode = "" if direction == "decode" else "encode of "
    return planner, f"stream of {encode}{model.name} {width}x{height} in blocks of {block}" + (f", batch {batch}" if batch > 1 else "")
