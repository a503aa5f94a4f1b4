"""Input, output and weights: tensors of the caller on the device, in PyTorch's own layout. And checks for values that are not finite."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import torch

from .memory import DTYPES, Memory
from .views import Box, View, boxes

FINITE_PHASES = ((slice(0, 1), slice(1, 3)), (slice(0, 2), slice(2, 3)))
"""By phase of an upsampling kernel and tap of its two: the taps of the original kernel that it sums."""


class Flags:
    """Flags of the host that the device raises. They are written when the host waits, so that nothing waits before."""

    def __init__(self) -> None:
        self._awaited: list[tuple[int, Any]] = []

    def raise_unless_finite(self, values: Any, flag: int) -> None:
        if flag and values.numel():
            self._awaited.append((flag, torch.linalg.vector_norm(values, ord=torch.inf).float()))

    def write(self) -> None:
        """Waits for the device."""
        if not self._awaited:
            return
        finite = torch.stack([largest for _, largest in self._awaited]).isfinite().tolist()
        for (flag, _), is_finite in zip(self._awaited, finite):
            if not is_finite:
                ctypes.c_uint32.from_address(flag).value = 1
        self._awaited.clear()


def _planes(memory: Memory, planes: tuple, box: Box, channels: int) -> Any:
    """A box of planes as [frames, rows, columns, channels]."""
    address, dtype, channel, frame, row, column = planes
    first = address + (box[0] * frame + box[2] * row + box[4] * column) * DTYPES[dtype].itemsize
    shape = box[1] - box[0], box[3] - box[2], box[5] - box[4], channels
    return memory.at(first, DTYPES[dtype], shape, (frame, row, column, channel))


def load_planes(memory: Any, planes: tuple, target: tuple, flag: int) -> None:
    view = View(memory, target)
    made = view.tile()
    made.copy_(_planes(memory, planes, view.region, view.channels))
    memory.flags.raise_unless_finite(made, flag)


def emit_planes(memory: Any, source: tuple, box: Box, shift: float, planes: tuple, flag: int) -> None:
    view = View(memory, source)
    _copy_out(view, box, shift, _planes(memory, planes, box, view.channels), flag)


def _copy_out(view: View, box: Box, shift: float, target: Any, flag: int) -> None:
    """Copies a box to a tensor of its shape."""
    for t0, t1, y0, y1, x0, x1 in boxes(box, view):
        values = view.part((t0, t1, y0, y1, x0, x1))
        view.memory.flags.raise_unless_finite(values, flag)
        made = target[t0 - box[0] : t1 - box[0], y0 - box[2] : y1 - box[2]]
        made.copy_(values.float() + shift if shift else values)


def emit(memory: Any, source: tuple, box: Box, shift: float, pixels: int, flag: int) -> None:
    """Writes a box to the host's memory, as contiguous fp32."""
    view = View(memory, source)
    shape = box[1] - box[0], box[3] - box[2], box[5] - box[4], view.channels
    host = torch.frombuffer((ctypes.c_float * math.prod(shape)).from_address(pixels), dtype=torch.float32)
    _copy_out(view, box, shift, host.view(shape), flag)


def check_finite(memory: Any, values: int, count: int, flag: int) -> None:
    memory.flags.raise_unless_finite(memory.at(values, memory.wide, (count,)), flag)


def pack(memory: Any, plain: tuple, flag: int) -> None:
    """Packs one list of parameters, as Pack of decoder/gpu/calls/calls.h says."""
    source, source_dtype, to, to_dtype, constant, extent, strides, phases, by, addend, scale = plain
    outputs, frames, rows, columns, inputs = extent
    dtype = DTYPES[to_dtype]
    if not source:
        memory.at(to, dtype, tuple(extent)).fill_(constant)
        return
    if by[0]:
        values = _product(memory, plain)
    else:
        values = memory.at(source, DTYPES[source_dtype], tuple(extent), tuple(strides))
    memory.flags.raise_unless_finite(values, flag)
    if not phases:
        memory.at(to, dtype, tuple(extent)).copy_(values)
        return
    made = memory.at(to, dtype, (4, outputs, frames, 2, 2, inputs))
    most_outputs = max(1, memory.chunk_bytes // (8 * frames * rows * columns * inputs))
    for output in range(0, outputs, most_outputs):
        chosen = slice(output, output + most_outputs)
        part = values[chosen].to(memory.wide)
        for phase in range(4):
            for tap in range(4):
                y, x = FINITE_PHASES[phase // 2][tap // 2], FINITE_PHASES[phase % 2][tap % 2]
                made[phase, chosen, :, tap // 2, tap % 2].copy_(part[:, :, y, x].sum((2, 3)))


def _product(memory: Any, plain: tuple) -> Any:
    """The product of two kernels of one tap, and what is added to it."""
    source, source_dtype, _, _, _, extent, strides, _, by, addend, scale = plain
    outputs, inputs = extent[0], extent[4]
    by_address, by_dtype, summed, by_output, by_summed = by
    left = memory.at(by_address, DTYPES[by_dtype], (outputs, summed), (by_output, by_summed)).to(memory.wide)
    right = memory.at(source, DTYPES[source_dtype], (summed, inputs), (strides[0], strides[4])).to(memory.wide)
    product = left @ right
    address, dtype, step, checks = addend
    if address:
        added = memory.at(address, DTYPES[dtype], (outputs, 1), (step, 1)).to(memory.wide)
        product += added - added if checks else added
    return (product * scale).to(torch.float32).view(tuple(extent))
