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
        # One convolution of pictures for each frame of the kernel: PyTorch's own over clips in fp32 needs many times the memory.
        self.by_frame = frames > 1 and (source.memory.device.type == "cpu" or source.dtype == torch.float32)
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
        itemsize = 4 if self.by_frame else self.source.dtype.itemsize
        return chunks_of(box, max(read, self.outputs) * itemsize, self.source.memory.chunk_bytes)

    def make(self, weights: Any, box: Box, origin: tuple[int, int]) -> Any:
        """The outputs of a box, [frames, rows, columns, channels]. ``origin``: how far the first tap lies above and to the left."""
        t0, t1, y0, y1, x0, x1 = box
        of_rows, of_columns = self.stride[1:]
        top, left = y0 * of_rows - origin[0], x0 * of_columns - origin[1]
        bottom, right = (y1 - 1) * of_rows - origin[0] + self.taps[0], (x1 - 1) * of_columns - origin[1] + self.taps[1]
        if not self.by_frame and self.frames > 1:
            values = self._frames(t0, t1, (top, bottom, left, right))
            made = F.conv3d(values.permute(3, 0, 1, 2)[None], weights, self.bias, self.stride, groups=self.groups)
            return made[0].permute(1, 2, 3, 0)
        made = None
        for tap in range(self.frames):
            for first, count, frame in self._runs(t0, t1, tap):
                values = self.source.whole((frame, frame + (count - 1) * self.stride[0] + 1, top, bottom, left, right))[:: self.stride[0]]
                if self.by_frame:
                    values = values.float()
                alone = self.frames == 1 and count == t1 - t0
                kernel, bias = weights[:, :, tap].to(values.dtype), self.bias if alone else None
                part = F.conv2d(values.permute(0, 3, 1, 2), kernel, bias, (of_rows, of_columns), groups=self.groups).permute(0, 2, 3, 1)
                if alone:
                    return part
                made = self._biases(box) if made is None else made
                made[first : first + count].add_(part)
                del part
        return self._biases(box) if made is None else made

    def _biases(self, box: Box) -> Any:
        shape = box[1] - box[0], box[3] - box[2], box[5] - box[4], self.outputs
        return self.bias.float().expand(shape).clone(memory_format=torch.contiguous_format)

    def _frame(self, number: int) -> int | None:
        """The input's frame that stands for this one, by the rule of frame_of_tap() in decoder/cpu/convolution.h. None: zeros."""
        last = self.source.region[1] - 1
        if self.before_first == FIRST_FRAME:
            return min(max(0, number), last)
        return number if (1 if self.before_first == ZEROS_INSTEAD else 0) <= number <= last else None

    def _runs(self, t0: int, t1: int, tap: int) -> list[list[int]]:
        """The frames that a tap of the kernel reads for outputs [t0, t1): the first output of a run, their number, and the frame that the
        first one reads. Runs leave frames of zeros out."""
        runs: list[list[int]] = []
        for at, t in enumerate(range(t0, t1)):
            frame = self._frame(t * self.stride[0] - self.frames_before + tap)
            if runs and frame is not None and runs[-1][0] + runs[-1][1] == at and runs[-1][2] + runs[-1][1] * self.stride[0] == frame:
                runs[-1][1] += 1
            elif frame is not None:
                runs.append([at, 1, frame])
        return runs

    def _frames(self, t0: int, t1: int, place: tuple[int, int, int, int]) -> Any:
        """All frames that outputs [t0, t1) read. A copy only where frames repeat or are zero."""
        first, end = t0 * self.stride[0] - self.frames_before, (t1 - 1) * self.stride[0] - self.frames_before + self.frames
        read = [self._frame(number) for number in range(first, end)]
        if read == list(range(first, end)):
            return self.source.whole((first, end, *place))
        zeros = (place[1] - place[0], place[3] - place[2], self.source.channels)
        made = torch.empty((len(read), *zeros), dtype=self.source.dtype, device=self.source.memory.device)
        for target, frame in zip(made, read):
            target.zero_() if frame is None else target.copy_(self.source.whole((frame, frame + 1, *place))[0])
        return made
