"""Operations that move values: copies, upsampling, channels into pixels and back, frames, and a tile's positions outside the picture."""

from __future__ import annotations

from typing import Any

import torch

from .memory import Memory
from .views import Box, View, boxes, chunks_of, inside, pieces_of, zero_outside


def copy_box(memory: Memory, source: tuple, target: tuple, box: Box) -> None:
    source, target = View(memory, source), View(memory, target)
    for piece in pieces_of(box, source, target):
        target.part(piece).copy_(source.part(piece))


def gather(memory: Memory, source: tuple, target: tuple, picture: tuple) -> None:
    whole = View(memory, target)
    part = inside(whole.region, picture)
    zero_outside(whole.tile(), whole.region, part)
    copy_box(memory, source, target, part)


def phase(begin: int, end: int, factor: int, number: int) -> tuple[int, int]:
    """The interval of n for which n * factor + number lies in [begin, end)."""
    first = -(-(begin - number) // factor)
    return first, max(first, -(-(end - number) // factor))


def _target_phase(view: View, box: Box, factors: tuple[int, int], numbers: tuple[int, int], coarse: Box) -> Any:
    """The positions of a tile that the coarse positions of one phase make."""
    t0, _, y0, _, x0, _ = view.region
    tile = view.tile()[box[0] - t0 : box[1] - t0]
    first_row, first_column = coarse[2] * factors[0] + numbers[0] - y0, coarse[4] * factors[1] + numbers[1] - x0
    rows, columns = coarse[3] - coarse[2], coarse[5] - coarse[4]
    rows_end, columns_end = first_row + (rows - 1) * factors[0] + 1, first_column + (columns - 1) * factors[1] + 1
    return tile[:, first_row : rows_end : factors[0], first_column : columns_end : factors[1]]


def upsample(memory: Memory, source: tuple, target: tuple, factor_y: int, factor_x: int, picture: tuple) -> None:
    source, target = View(memory, source), View(memory, target)
    part = inside(target.region, picture)
    zero_outside(target.tile(), target.region, part)
    factors = factor_y, factor_x
    for y in range(factor_y):
        for x in range(factor_x):
            coarse = (*part[:2], *phase(part[2], part[3], factor_y, y), *phase(part[4], part[5], factor_x, x))
            for piece in pieces_of(coarse, source):
                _target_phase(target, part, factors, (y, x), piece).copy_(source.part(piece))


def depth_to_space(
    memory: Memory, source: tuple, target: tuple, factor: tuple[int, int, int], first: tuple, later: tuple, frame_step: int, box: Box
) -> None:
    source, target = View(memory, source), View(memory, target)
    channels = torch.arange(target.channels, device=memory.device)
    for t in range(box[0], box[1]):
        begin, pixel_step, channel_step, repeats = first if factor[0] == 1 or t == 0 else later
        read = t if factor[0] == 1 or t == 0 else (t - 1) // factor[0] + 1
        if factor[0] > 1 and t > 0:
            begin += (t - 1) % factor[0] * frame_step
        for y in range(factor[1]):
            for x in range(factor[2]):
                coarse = (read, read + 1, *phase(box[2], box[3], factor[1], y), *phase(box[4], box[5], factor[2], x))
                origin = begin + (y * factor[2] + x) * pixel_step
                for chunk in boxes(coarse, source):
                    made = _target_phase(target, (t, t + 1, *box[2:]), factor[1:], (y, x), chunk)
                    values = source.part(chunk)
                    if repeats == 1:
                        made.copy_(values[..., origin : origin + (target.channels - 1) * channel_step + 1 : channel_step])
                    else:
                        made.copy_(values[..., (channels * channel_step + origin) // repeats])


def space_to_depth(
    memory: Memory, source: tuple, target: tuple, stride: tuple[int, int, int], first: tuple, later: tuple, box: Box
) -> None:
    source, target = View(memory, source), View(memory, target)
    channels = torch.arange(source.channels, device=memory.device)
    for t, t1, y0, y1, x0, x1 in chunks_of((box[0], box[1], *box[2:]), max(source.channels, target.channels) * 4, memory.chunk_bytes):
        for frame in range(t, t1):
            by_first = frame == 0 or stride[0] == 1
            frames, zeros, channel_step, frame_step, row_step, column_step, group = first if by_first else later
            sums = torch.zeros((1, y1 - y0, x1 - x0, target.channels), device=memory.device)
            for fold in range(zeros, frames):
                read = frame if by_first else (frame - 1) * stride[0] + 1 + fold
                for y in range(stride[1]):
                    rows = source.whole((read, read + 1, y0 * stride[1], y1 * stride[1], x0 * stride[2], x1 * stride[2]))[:, y :: stride[1]]
                    for x in range(stride[2]):
                        to = (channels * channel_step + fold * frame_step + y * row_step + x * column_step) // group
                        sums.index_add_(3, to, rows[:, :, x :: stride[2]].float())
            target.part((frame, frame + 1, y0, y1, x0, x1)).copy_(sums.div_(group))


def unfold_frames(memory: Memory, first: tuple, rest: tuple, target: tuple, box: Box) -> None:
    first, rest, target = View(memory, first), View(memory, rest), View(memory, target)
    for t in range(box[0], box[1]):
        source, read, half = (first, 0, 0) if t == 0 else (rest, (t + 1) // 2, 0 if t % 2 == 1 else target.channels)
        for _, _, *place in pieces_of((t, t + 1, *box[2:]), source, target):
            values = source.part((read, read + 1, *place))[..., half : half + target.channels]
            target.part((t, t + 1, *place)).copy_(values)


def _blends(begin: int, end: int, factor: int, first: int, extent: int, device: Any) -> tuple[int, int, Any, Any]:
    """Linear upsampling along one axis: the interval read, and of each position its own and its neighbour's index in it. Positions
    before ``first`` are not blended."""
    at = torch.arange(begin, end)
    counted = at - first
    own = at if factor == 1 else torch.where(at < first, at, first + counted // 2)
    beside = own if factor == 1 else torch.where(at < first, at, (own + torch.where(counted % 2 == 0, -1, 1)).clamp(first, extent - 1))
    low, high = int(torch.minimum(own, beside).min()), int(torch.maximum(own, beside).max()) + 1
    return low, high, (own - low).to(device), (beside - low).to(device)


def interpolate(memory: Memory, source: tuple, target: tuple, factor: tuple[int, int, int], extent: tuple, box: Box) -> None:
    source, target = View(memory, source), View(memory, target)
    for chunk in chunks_of(box, target.channels * 4, memory.chunk_bytes // 2):
        axes = [
            _blends(chunk[2 * axis], chunk[2 * axis + 1], factor[axis], 1 if axis == 0 else 0, extent[axis], memory.device)
            for axis in range(3)
        ]
        values = source.whole(tuple(bound for low, high, _, _ in axes for bound in (low, high)))
        values = values.float()
        for axis, (_, _, own, beside) in enumerate(axes):
            if factor[axis] > 1:
                values = values.index_select(axis, own).lerp_(values.index_select(axis, beside), 0.25)
        target.part(chunk).copy_(values)


def fill_outside(memory: Memory, tile: tuple, edges: str, picture: tuple) -> None:
    view = View(memory, tile)
    values, region = view.tile(), view.region
    part = inside(region, picture)
    if edges == "zeros":
        return zero_outside(values, region, part)

    def copied(at: int, extent: int) -> int:
        if edges == "replicate":
            return min(max(at, 0), extent - 1)
        if extent == 1:
            return 0
        distance = abs(at) % (2 * (extent - 1))
        return min(distance, 2 * (extent - 1) - distance)

    rows = slice(part[2] - region[2], part[3] - region[2])
    for x in (*range(region[4], part[4]), *range(part[5], region[5])):
        values[:, rows, x - region[4]].copy_(values[:, rows, copied(x, picture[2]) - region[4]])
    for y in (*range(region[2], part[2]), *range(part[3], region[3])):
        values[:, y - region[2]].copy_(values[:, copied(y, picture[1]) - region[2]])
