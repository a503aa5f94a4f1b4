"""The highest number of bytes that PyTorch's allocator had lent during a decode."""

from __future__ import annotations

from typing import Any

import torch


class AllocatorPeak:
    """Measures while it is entered. ``bytes`` is what the decode added, or None if the backend does not count its allocations."""

    def __init__(self, device: torch.device):
        self.bytes: int | None = None
        backend: Any = getattr(torch, device.type, None)
        counts = hasattr(backend, "max_memory_allocated") and hasattr(backend, "reset_peak_memory_stats")
        self._backend, self._device = (backend if counts else None), device

    def __enter__(self) -> AllocatorPeak:
        if self._backend is not None:
            self._backend.reset_peak_memory_stats(self._device)
            self._before = self._backend.memory_allocated(self._device)
        return self

    def __exit__(self, *failed: Any) -> None:
        if self._backend is not None:
            self.bytes = self._backend.max_memory_allocated(self._device) - self._before
