"""Attention by chunks of queries and keys, with a running maximum (Milakov and Gimelshein 2018)."""

from __future__ import annotations

from typing import Any, Iterator

import torch

from .memory import Memory
from .views import View

MOST_QUERIES = 1024


def attend(
    memory: Memory, queries: tuple, keys: tuple, values: tuple, target: tuple, query_frame: int, target_frame: int,
    key_frames: tuple[int, int], interleaved: bool, state: tuple[int, int, int], first: bool, last: bool,
) -> None:  # fmt: skip
    """softmax(q kᵀ) v for all queries of one frame. Keys may come in several calls: then the sums stay in ``state``."""
    queries, keys, values, target = (View(memory, view) for view in (queries, keys, values, target))
    positions = _positions(queries)
    kept = None
    if state[0]:
        shapes = ((positions, values.channels), (positions, 1), (positions, 1))
        kept = [memory.at(address, torch.float32, shape) for address, shape in zip(state, shapes)]
    begin = 0
    for block in range(len(queries.blocks)):
        of_block = _positions(queries, block)
        for start in range(0, of_block, MOST_QUERIES):
            stop = min(of_block, start + MOST_QUERIES)
            chosen = _rows(queries, block, query_frame, interleaved, start, stop).float()
            part = slice(begin + start, begin + stop)
            sums = [torch.empty((stop - start, width), device=memory.device) for width in (values.channels, 1, 1)] if kept is None else [each[part] for each in kept]
            if first:
                sums[0].zero_()
                sums[1].fill_(-torch.inf)
                sums[2].zero_()
            for key_rows, value_rows in _key_chunks(keys, values, key_frames, interleaved, stop - start):
                _add(sums, chosen, key_rows.float(), value_rows.float())
            if last:
                _store(target, target_frame, interleaved, part, sums[0] / sums[2])
        begin += of_block


def _add(sums: list[Any], queries: Any, keys: Any, values: Any) -> None:
    """Adds a chunk of keys to the weighted values, the largest score and the weights of each query."""
    total, largest, weights = sums
    scores = queries @ keys.T
    raised = torch.maximum(largest, scores.amax(1, keepdim=True))
    factor = (largest - raised).exp_()
    scores.sub_(raised).exp_()
    weights.mul_(factor).add_(scores.sum(1, keepdim=True))
    total.mul_(factor).addmm_(scores, values)
    largest.copy_(raised)


def _positions(view: View, block: int | None = None) -> int:
    _, _, y0, y1, x0, x1 = view.region
    rows = y1 - y0 if block is None else min(view.block_rows, y1 - y0 - block * view.block_rows)
    return rows * (x1 - x0)


def _interleaved_at(view: View, frame: int) -> tuple[Any, Any]:
    """Frame and channel where the values of an interleaved frame are stored: value_at() in decoder/gpu/kernels/attention.h."""
    number = torch.arange(view.channels, device=view.memory.device) + (frame - view.region[0]) * view.channels
    count = view.region[1] - view.region[0]
    return number % count, number // count


def _rows(view: View, block: int, frame: int, interleaved: bool, start: int, stop: int) -> Any:
    """Positions [start, stop) of a block's frame, [positions, channels]."""
    values = view.block(block).flatten(1, 2)[:, start:stop]
    if not interleaved:
        return values[frame - view.region[0]]
    frames, channels = _interleaved_at(view, frame)
    return values[frames, :, channels].T


def _key_chunks(keys: View, values: View, frames: tuple[int, int], interleaved: bool, queries: int) -> Iterator[tuple[Any, Any]]:
    """Keys and values, chunk by chunk. Their blocks have equal rows."""
    widest = max(queries, keys.channels, values.channels)
    most = max(1, keys.memory.chunk_bytes // (4 * widest))
    for frame in range(*frames):
        for block in range(len(keys.blocks)):
            of_block = _positions(keys, block)
            for start in range(0, of_block, most):
                stop = min(of_block, start + most)
                yield tuple(_rows(view, block, frame, interleaved, start, stop) for view in (keys, values))


def _store(target: View, frame: int, interleaved: bool, part: slice, result: Any) -> None:
    begin = 0
    for block in range(len(target.blocks)):
        of_block = _positions(target, block)
        first, end = max(part.start, begin), min(part.stop, begin + of_block)
        if first < end:
            rows, values = result[first - part.start : end - part.start], target.block(block).flatten(1, 2)[:, first - begin : end - begin]
            if interleaved:
                frames, channels = _interleaved_at(target, frame)
                values[frames, :, channels] = rows.T.to(target.dtype)
            else:
                values[frame - target.region[0]].copy_(rows)
        begin += of_block
