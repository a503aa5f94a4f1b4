"""A lock that a child of fork() does not wait for in vain."""

from __future__ import annotations

import os
import threading

from .errors import DeviceError


class ForkAwareLock:
    """Reentrant. A thread that held it while the process forked does not exist in the child, and never gives it back."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._holders: list[int] = []
        """A process for each time that the lock is held."""

    def __enter__(self) -> None:
        if any(holder != os.getpid() for holder in self._holders):
            raise DeviceError("the process was forked while this VAE was decoding: expected fork() between decodes, or start processes by "
                              "multiprocessing's 'spawn'")
        self._lock.acquire()
        self._holders.append(os.getpid())

    def __exit__(self, *error: object) -> None:
        self._holders.pop()
        self._lock.release()
