"""Convolutions of tiles. The input holds the halo, so no padding is added but for frames outside the clip."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from .memory import Memory
from .moves import phase
from .views import Box, View, chunks_of, is_empty, pieces_of

FIRST_FRAME, ZEROS_INSTEAD = 1, 2
"""BeforeFirst of decoder/graph/graph.h; 0 stands for zeros."""


def convolve(memory: Memory, source: tuple, residual: tuple | None, target: tuple, box: Box, shape: tuple, kernel: int, bias: int) -> None:
    convolution = _Convolution(View(memory, source), shape, kernel, bias)
    target = View(memory, target)
    residual = None if residual is None else View(memory, residual)
    if not convolution.upsamples:
        origin = convolution.rows_before, convolution.columns_before
        for chunk in convolution.chunks(box):
            made = convolution.make(convolution.weights, chunk, origin)
            for piece in pieces_of(chunk, target, *([] if residual is None else [residual])):
                values = made[:, piece[2] - chunk[2] : piece[3] - chunk[2]]
                if residual is not None:
                    values.add_(residual.part(piece))
                target.part(piece).copy_(values)
        return
    for number in range(4):
        y, x = number // 2, number % 2
        coarse = (*box[:2], *phase(box[2], box[3], 2, y), *phase(box[4], box[5], 2, x))
        if is_empty(coarse):
            continue
        for chunk in convolution.chunks(coarse):
            made = convolution.make(convolution.weights[number], chunk, (1 - y, 1 - x))
            fine = (*chunk[:2], 2 * chunk[2] + y, 2 * chunk[3] + y - 1, 2 * chunk[4] + x, 2 * chunk[5] + x - 1)
            for piece in pieces_of(fine, target):
                first, end = phase(piece[2], piece[3], 2, y)
                if first < end:
                    rows = target.part((*piece[:2], 2 * first + y, piece[3], *piece[4:]))
                    rows[:, ::2, ::2].copy_(made[:, first - chunk[2] : end - chunk[2]])


class _Convolution:
    def __init__(self, source: View, shape: tuple, kernel: int, bias: int):
        inputs, outputs, groups, (frames, rows, columns), upsamples, before_first, frames_ahead, stride, begins_at_own = shape
        self.source, self.groups, self.upsamples, self.before_first, self.stride = source, groups, upsamples, before_first, stride
        self.frames, self.outputs = frames, outputs
        self.frames_before = frames - 1 - frames_ahead
        self.taps = (2, 2) if upsamples else (rows, columns)
        self.rows_before, self.columns_before = (0, 0) if begins_at_own else (rows // 2, columns // 2)
        stored = (outputs, frames, *self.taps, inputs // groups)
        weights = source.memory.at(kernel, source.dtype, (4, *stored) if upsamples else stored)
        self.weights = weights.movedim(-1, -4)  # … outputs, inputs, frames, rows, columns
        self.bias = source.memory.at(bias, source.dtype, (outputs,))

    def chunks(self, box: Box) -> Any:
        """Chunks of outputs whose input and result are small enough."""
        read = self.source.channels * self.stride[0] * self.stride[1] * self.stride[2]
        itemsize = self.source.dtype.itemsize
        return chunks_of(box, max(read, self.outputs) * itemsize, self.source.memory.chunk_bytes)

    def make(self, weights: Any, box: Box, origin: tuple[int, int]) -> Any:
        """The outputs of a box, [frames, rows, columns, channels]. ``origin``: how far the first tap lies above and to the left."""
        t0, t1, y0, y1, x0, x1 = box
        of_time, of_rows, of_columns = self.stride
        top, left = y0 * of_rows - origin[0], x0 * of_columns - origin[1]
        bottom, right = (y1 - 1) * of_rows - origin[0] + self.taps[0], (x1 - 1) * of_columns - origin[1] + self.taps[1]
        first = t0 * of_time - self.frames_before
        end = (t1 - 1) * of_time - self.frames_before + self.frames
        values = self._frames(range(first, end, 1 if self.frames > 1 else of_time), (top, bottom, left, right))
        if self.frames > 1 and self.source.memory.device.type != "cpu" and values.dtype != torch.float32:
            made = F.conv3d(values.permute(3, 0, 1, 2)[None], weights, self.bias, self.stride, groups=self.groups)
            return made[0].permute(1, 2, 3, 0)
        # One convolution of pictures for each frame of the kernel: PyTorch's own over clips in fp32 needs many times the memory.
        if self.frames > 1:
            values, weights = values.float(), weights.float()
        values, read, made = values.permute(0, 3, 1, 2), (t1 - t0 - 1) * of_time + 1, None
        for tap in range(self.frames):
            chosen = values[tap : tap + read : of_time] if self.frames > 1 else values
            bias = self.bias.to(values.dtype) if made is None else None
            part = F.conv2d(chosen, weights[:, :, tap], bias, (of_rows, of_columns), groups=self.groups)
            made = part if made is None else made.add_(part)
        return made.permute(0, 2, 3, 1)

    def _frames(self, wanted: range, place: tuple[int, int, int, int]) -> Any:
        """These frames of the input, by the rule of frame_of_tap() in decoder/cpu/convolution.h. A copy only where frames repeat or
        are zero."""
        last, read = self.source.region[1] - 1, list(wanted)
        if self.before_first == FIRST_FRAME:
            read = [min(max(0, frame), last) for frame in read]
        fewest = 1 if self.before_first == ZEROS_INSTEAD else 0
        found = [frame for frame in read if fewest <= frame <= last]
        if not found:
            shape = (len(read), place[1] - place[0], place[3] - place[2], self.source.channels)
            return torch.zeros(shape, dtype=self.source.dtype, device=self.source.memory.device)
        values = self.source.whole((found[0], found[-1] + 1, *place))
        if found == read and len(read) == values.shape[0]:
            return values
        pieces = [values[frame - found[0]] if fewest <= frame <= last else torch.zeros_like(values[0]) for frame in read]
        return torch.stack(pieces)
