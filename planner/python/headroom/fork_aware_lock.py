"""A lock that a child of fork() does not wait for in vain."""

from __future__ import annotations

import os
import threading
import weakref

from .errors import DeviceError


class ForkAwareLock:
    """Reentrant. A thread that held it while the process forked does not exist in the child, and never gives it back."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._lost = False
        """Held when this process was forked."""
        _locks.add(self)

    def __enter__(self) -> None:
        if self._lost:
            raise DeviceError("the process was forked while this VAE was decoding: expected fork() between decodes, or start processes by "
                              "multiprocessing's 'spawn'")
        self._lock.acquire()
        self._depth += 1

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Asks the lock itself, since a thread may have been forked away just after it took the lock."""
        free = self._lock.acquire(blocking=False)
        if free:
            self._lock.release()
        self._lost = not free or self._depth > 0  # the thread that forked may hold it too


_locks: weakref.WeakSet[ForkAwareLock] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for lock in list(_locks):
        lock.after_fork_in_child()


os.register_at_fork(after_in_child=_after_fork_in_child)
