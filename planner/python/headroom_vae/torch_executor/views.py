"""Views: regions of one item in memory, channels last, in blocks of rows. A region or box is (t0, t1, y0, y1, x0, x1)."""

from __future__ import annotations

from typing import Any, Iterator

import torch

from .memory import DTYPES, Memory

Box = tuple[int, int, int, int, int, int]


class View:
    """A view as tensors [frames, rows, columns, channels], one for each block."""

    def __init__(self, memory: Memory, plain: tuple):
        self.memory = memory
        self.blocks, dtype, self.region, self.channels, self.block_rows = plain
        self.dtype = DTYPES[dtype]

    def block(self, number: int) -> Any:
        """All frames of a block's rows."""
        t0, t1, y0, y1, x0, x1 = self.region
        row = (x1 - x0) * self.channels
        rows = min(self.block_rows, y1 - y0 - number * self.block_rows)
        shape = (t1 - t0, rows, x1 - x0, self.channels)
        return self.memory.at(self.blocks[number], self.dtype, shape, (self.block_rows * row, row, self.channels, 1))

    def part(self, box: Box) -> Any:
        """A box whose rows lie in one block."""
        t0, _, y0, _, x0, _ = self.region
        number = (box[2] - y0) // self.block_rows
        first = y0 + number * self.block_rows
        return self.block(number)[box[0] - t0 : box[1] - t0, box[2] - first : box[3] - first, box[4] - x0 : box[5] - x0]

    def whole(self, box: Box) -> Any:
        """Any box. Copies it if its rows lie in several blocks."""
        pieces = [self.part(piece) for piece in pieces_of(box, self)]
        return pieces[0] if len(pieces) == 1 else torch.cat(pieces, dim=1)

    def tile(self) -> Any:
        """All of a view with one block."""
        return self.block(0)


def inside(region: Box, picture: tuple[int, int, int]) -> Box:
    """The part of a region inside the picture. May be empty."""
    begins, ends = region[::2], region[1::2]
    pairs = [(max(0, begin), min(end, extent)) for begin, end, extent in zip(begins, ends, picture)]
    return tuple(bound for begin, end in pairs for bound in (begin, max(begin, end)))


def is_empty(box: Box) -> bool:
    return box[0] >= box[1] or box[2] >= box[3] or box[4] >= box[5]


def pieces_of(box: Box, *views: View) -> Iterator[Box]:
    """The box, cut where a block of any view ends."""
    if is_empty(box):
        return
    cuts = {box[2], box[3]}
    for view in views:
        if len(view.blocks) > 1:
            first = view.region[2]
            begin = first + (box[2] - first) // view.block_rows * view.block_rows
            cuts.update(y for y in range(begin + view.block_rows, box[3], view.block_rows))
    rows = sorted(cuts)
    for y0, y1 in zip(rows, rows[1:]):
        yield box[0], box[1], y0, y1, box[4], box[5]


def chunks_of(box: Box, bytes_of_position: int, most_bytes: int) -> Iterator[Box]:
    """The box in chunks of at most ``most_bytes``: several frames, or rows of one frame, at least one row."""
    t0, t1, y0, y1, x0, x1 = box
    row = max(1, (x1 - x0) * bytes_of_position)
    rows = max(1, min(y1 - y0, most_bytes // row))
    frames = max(1, most_bytes // (row * max(1, y1 - y0))) if rows == y1 - y0 else 1
    for t in range(t0, t1, frames):
        for y in range(y0, y1, rows):
            yield t, min(t1, t + frames), y, min(y1, y + rows), x0, x1


def boxes(box: Box, *views: View) -> Iterator[Box]:
    """The box in chunks whose rows lie in one block of each view. Chunks are sized for the widest view in fp32."""
    channels = max(view.channels for view in views)
    for piece in pieces_of(box, *views):
        yield from chunks_of(piece, channels * 4, views[0].memory.chunk_bytes)


def chunks(box: Box, *views: View) -> Iterator[tuple]:
    """Tensors of the same box of several views, chunk by chunk."""
    for chunk in boxes(box, *views):
        yield tuple(view.part(chunk) for view in views)


def zero_outside(tile: Any, region: Box, part: Box) -> None:
    """Zeros a tile of ``region`` outside ``part``, along rows and columns."""
    if is_empty(part):
        tile.zero_()
        return
    top, bottom = part[2] - region[2], part[3] - region[2]
    left, right = part[4] - region[4], part[5] - region[4]
    for strip in (tile[:, :top], tile[:, bottom:], tile[:, top:bottom, :left], tile[:, top:bottom, right:]):
        if strip.numel():
            strip.zero_()
