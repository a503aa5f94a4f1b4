"""Memory of PyTorch's executor: one reservation, tensors that a caller lends, and host memory, all by addresses."""

from __future__ import annotations

import bisect
import ctypes
from typing import Any

import torch

from .._core import format_bytes
from ..errors import OutOfGpuMemory, join_torch

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "fp64": torch.float64}

FIRST_ADDRESS = 1 << 60
"""Addresses on the device begin here. They are numbers of our own: backends such as MPS have no addresses to compute with. No memory
of the host lies there."""

ALIGNMENT_BYTES = 4096

CHUNK_BYTES = 12 << 20
"""Most bytes of each temporary tensor of one operation. Operations use up to four at a time, within the device record's
``temporary_bytes``."""

CHUNK_BYTES_ON_CPU = 2 << 20
"""CHUNK_BYTES on a CPU, where a call costs little. Small tensors stay in the caches. And the C library keeps freed memory in pieces of
the sizes that it lent, so the process grows by more than it uses: by 80 MiB for chunks of 12 MiB."""


class Memory:
    """Turns addresses into tensors on a device."""

    def __init__(self, device: str):
        self.device = torch.device(device)
        self.wide = torch.float32 if self.device.type == "mps" else torch.float64
        """The dtype of statistics. MPS has no fp64."""
        self.chunk_bytes = CHUNK_BYTES_ON_CPU if self.device.type == "cpu" else CHUNK_BYTES
        self._block: Any = None
        self._typed: dict[torch.dtype, Any] = {}
        self._lent: list[tuple[int, Any]] = []
        self._next = FIRST_ADDRESS

    def reserve(self, bytes_: int) -> int:
        """Allocates the reservation and returns its address. Raises OutOfGpuMemory."""
        try:
            self._block = torch.empty(bytes_ // 8 * 8 + 8, dtype=torch.uint8, device=self.device)
        except (torch.OutOfMemoryError, RuntimeError) as refused:
            join_torch()
            raise OutOfGpuMemory(f"torch refused {format_bytes(bytes_)}: {str(refused).splitlines()[0]}") from None
        self._typed = {torch.uint8: self._block}
        self._begin, self._end = self._take(bytes_), self._next
        return self._begin

    def release(self) -> None:
        self._block, self._typed, self._begin, self._end = None, {}, 0, 0

    def lend(self, tensor: Any) -> int:
        """An address for a tensor on the device, until forget_lent()."""
        address = self._take(tensor.untyped_storage().nbytes())
        self._lent.append((address, tensor))
        return address

    def forget_lent(self) -> None:
        self._lent.clear()
        self._next = FIRST_ADDRESS

    def at(self, address: int, dtype: torch.dtype, shape: tuple, strides: tuple | None = None) -> Any:
        """The tensor at an address. Strides are in elements; None: contiguous."""
        if strides is None:
            strides, length = [], 1
            for extent in reversed(shape):
                strides.insert(0, length)
                length *= extent
        if self._begin <= address < self._end:
            flat = self._typed.get(dtype)
            if flat is None:
                flat = self._typed[dtype] = self._block.view(dtype)
            return torch.as_strided(flat, shape, strides, (address - self._begin) // flat.itemsize)
        tensor, first = self._lent_at(address)
        return torch.as_strided(tensor, shape, strides, first)

    def copy(self, to: int, source: int, bytes_: int) -> None:
        """Copies within the device's memory, or between it and the host's."""
        self._bytes(to, bytes_).copy_(self._bytes(source, bytes_))

    def clear(self, address: int, bytes_: int) -> None:
        self._bytes(address, bytes_).zero_()

    def _bytes(self, address: int, bytes_: int) -> Any:
        if address < FIRST_ADDRESS:
            return torch.frombuffer((ctypes.c_uint8 * bytes_).from_address(address), dtype=torch.uint8)
        if self._begin <= address < self._end:
            return self.at(address, torch.uint8, (bytes_,))
        tensor, first = self._lent_at(address)
        return torch.as_strided(tensor, (bytes_ // tensor.itemsize,), (1,), first).view(torch.uint8)

    def _lent_at(self, address: int) -> tuple[Any, int]:
        """The lent tensor that an address is in, and the number of the element there in the tensor's storage."""
        begin, tensor = self._lent[bisect.bisect_right(self._lent, address, key=lambda entry: entry[0]) - 1]
        return tensor, tensor.storage_offset() + (address - begin) // tensor.itemsize

    def _take(self, bytes_: int) -> int:
        address = self._next
        self._next += -(-max(bytes_, 1) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        return address
