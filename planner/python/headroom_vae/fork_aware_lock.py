"""A lock that does not deadlock in a child of fork()."""

from __future__ import annotations

import os
import threading
import weakref

from .errors import DeviceError


class ForkAwareLock:
    """Reentrant lock that raises in a forked child if it was held during fork().

    The thread that held it does not exist in the child, so nobody would release it there."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._lost = False
        """Held when this process was forked."""
        _locks.add(self)

    def __enter__(self) -> None:
        self.enter()

    def enter(self, blocking: bool = True) -> bool:
        """Like ``__enter__``. With ``blocking=False``, returns False if another thread holds the lock."""
        if self._lost:
            raise DeviceError("the process was forked while this VAE was decoding: expected fork() between decodes, or start processes by "
                              "multiprocessing's 'spawn'")
        if not self._lock.acquire(blocking):
            return False
        self._depth += 1
        return True

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Marks the lock as lost if it was held during fork(). Tests the lock itself, because a thread may have acquired it without
        counting up ``_depth`` yet."""
        free = self._lock.acquire(blocking=False)
        if free:
            self._lock.release()
        self._lost = not free or self._depth > 0  # the forking thread itself may hold the lock


_locks: weakref.WeakSet[ForkAwareLock] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for lock in list(_locks):
        lock.after_fork_in_child()


os.register_at_fork(after_in_child=_after_fork_in_child)
