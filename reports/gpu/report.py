"""Output of a part of the check: rows on standard output, one JSON object a line. check.py collects them.

    report = Report(); report.row("1024²", "22.9 ms", "57.1 dB"); report.fail("kernels", "3 of 31 fail", details)

Each row is flushed at once, so check.py keeps the rows of a part that it kills.
"""

import json
import sys
import time
import traceback
from typing import Any, Callable


class Report:
    """Rows of one part. `seconds` is the part's time limit."""

    def __init__(self, seconds: float):
        self.end = time.monotonic() + seconds
        self.failed = False

    def left(self) -> float:
        return max(0.0, self.end - time.monotonic())

    def row(self, what: str, *found: Any, ok: bool = True) -> None:
        self.failed |= not ok
        print(json.dumps({"what": what, "found": [str(each) for each in found], "ok": ok}, ensure_ascii=False), flush=True)

    def fail(self, what: str, why: str, details: str = "") -> None:
        """Adds a row that fails the part. The full details go to the log."""
        self.log(f"*** {what}: {why}\n{details}")
        self.row(what, f"FAILED: {why}", ok=False)

    def log(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def step(self, what: str, work: Callable[[], Any], needs_seconds: float = 0) -> Any:
        """Runs a step. An error becomes a failed row, so that later steps still run. If too little time is left, adds a row instead of
        running the step."""
        begun, result = time.monotonic(), None
        if self.left() < needs_seconds:
            return self.fail(what, f"not run: {self.left():.0f} s left, needs {needs_seconds:.0f}")
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - a part reports whatever goes wrong and goes on
            self.fail(what, f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:300]}", traceback.format_exc())
        self.log(f"--- {what}: {time.monotonic() - begun:.1f} s")
        return result
