"""The card's memory as another process reads it while something runs, with the times of both of the machine's clocks."""

import ctypes
import datetime
import subprocess
import threading
import time
from typing import Any, Callable

import numpy as np

import measure
from trace_checks import Polls

PERIOD = 0.005  # seconds between two questions, where moments are compared
SETTLED_SECONDS = 0.1  # asked before and after
_SMI = ["nvidia-smi", "--query-gpu=timestamp,memory.used", "--format=csv,noheader,nounits"]


class _Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


def nvml_used() -> Callable[[], int] | None:
    """Asks the driver's library for the bytes in use of the first card; None where it is not there."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    card, memory = ctypes.c_void_p(), _Memory()
    if library.nvmlInit_v2() or library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(card)):
        return None

    def used() -> int:
        if library.nvmlDeviceGetMemoryInfo(card, ctypes.byref(memory)):
            raise RuntimeError("NVML does not tell the card's memory")
        return memory.used

    return used


def smi_row(line: str) -> tuple[int, int] | None:
    """A line of nvidia-smi as nanoseconds since 1970 and bytes: 2026/11/22 12:03:52.123, 480."""
    try:
        when, used = line.split(",")
        at = datetime.datetime.strptime(when.strip(), "%Y/%m/%d %H:%M:%S.%f")
        return round(at.timestamp() * 1e6) * 1000, int(used) * measure.MIB
    except ValueError:
        return None


class CardPoll:
    """Polls within the `with`; `polls` afterwards has the growth since before it. By NVML, or else by nvidia-smi, whose figures are whole MiB.

    What polls is this process, and what is polled for another one's work: the two agree on nothing but the driver."""

    def __init__(self, period: float = PERIOD) -> None:
        self.period = period
        self.polls: Polls | None = None
        self.by = "none"
        self._rows: list[tuple[int, int, int]] = []

    def __enter__(self) -> "CardPoll":
        self._used = nvml_used()
        self._stop = threading.Event()
        if self._used:
            self.by = "NVML"
            self._thread = threading.Thread(target=self._ask, daemon=True)
            self._thread.start()
        else:
            self.by = "nvidia-smi"
            self._ahead = time.time_ns() - time.monotonic_ns()
            self._child = subprocess.Popen([*_SMI, "-lms", "20"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        time.sleep(SETTLED_SECONDS)
        return self

    def _ask(self) -> None:
        while not self._stop.is_set():
            before = time.time_ns(), time.monotonic_ns()
            used = self._used()
            after = time.time_ns(), time.monotonic_ns()
            self._rows.append(((before[0] + after[0]) // 2, (before[1] + after[1]) // 2, used))
            self._stop.wait(self.period)

    def __exit__(self, *_: Any) -> None:
        time.sleep(SETTLED_SECONDS)
        self._stop.set()
        if self._used:
            self._thread.join()
        else:
            self._child.terminate()
            said = filter(None, map(smi_row, self._child.communicate()[0].splitlines()))
            self._rows = [(at, at - self._ahead, used) for at, used in said]
        if self._rows:
            realtime, monotonic, used = (np.array(column, dtype=np.int64) for column in zip(*self._rows))
            self.polls = Polls(realtime, monotonic, used - used[0])
