"""Notices other processes that decode on the same device under ``limit="auto"``: each of them counts the same free memory."""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import contextmanager
from typing import Any, Iterator

from .gate import warn


def lock_file(device: Any) -> str:
    """The file that a decode under ``limit="auto"`` locks. One for each user and device."""
    name = "cpu"
    if device.type == "cuda":
        import torch

        properties = torch.cuda.get_device_properties(device)
        name = str(getattr(properties, "uuid", f"cuda{device.index or 0}"))  # CUDA_VISIBLE_DEVICES changes the numbers of devices
    return os.path.join(tempfile.gettempdir(), f"headroom-{os.getuid()}-{name}.lock")


@contextmanager
def alone(device: Any, warned: set[str]) -> Iterator[None]:
    """Warns once, by `warned`, if another process is within it for the same device. Does nothing if the file cannot be locked."""
    try:
        file = os.open(lock_file(device), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        yield
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.pwrite(file, f"{os.getpid():<10}".encode(), 0)
    except OSError:
        holder = os.pread(file, 10, 0).strip()
        if holder != str(os.getpid()).encode() and "auto" not in warned:
            warned.add("auto")
            warn(
                f"limit='auto': another process ({holder.decode() or 'unknown'}) decodes on {device.type} too, and both count the same free "
                "memory. Give each a limit in bytes, such as limit='8GiB'"
            )
    try:
        yield
    finally:
        os.close(file)
