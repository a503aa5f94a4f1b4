"""Time that a script may take, and how it stops between runs."""

import time
from typing import Any, Callable

LEAST_SECONDS = 20  # left on the clock for a run to begin


class OutOfTime(Exception):
    """The clock does not leave another run."""


class Clock:
    """What is left of --seconds; a run begins only where the longest one so far would still fit."""

    def __init__(self, seconds: float | None):
        self.end = time.monotonic() + seconds if seconds else None
        self.longest = 0.0

    def run(self, work: Callable[[], Any]) -> Any:
        if self.end and self.end - time.monotonic() < max(LEAST_SECONDS, 1.2 * self.longest):
            raise OutOfTime()
        start = time.monotonic()
        result = work()
        self.longest = max(self.longest, time.monotonic() - start)
        return result
