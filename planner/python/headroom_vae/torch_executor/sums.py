"""Statistics of GroupNorm, and linear attention: sums that tiles add to."""

from __future__ import annotations

from typing import Iterator

import torch

from .memory import Memory
from .views import Box, View, chunks


def add_moments(memory: Memory, source: tuple, box: Box, groups: int, by_frame: bool, state: int) -> None:
    """Merges a frame's box into count, mean and squared differences of each group (Chan, Golub, LeVeque 1983, eq. 2.1)."""
    view = View(memory, source)
    first = box[0] if by_frame else 0
    moments = memory.at(state, memory.wide, (first + 1, groups, 3))[first]
    for (values,) in chunks(box, view):
        # Sums of differences from a value of the channel: they lose nothing where the mean is far from zero. Each row of positions
        # is summed in fp32, and the rows in a wider dtype.
        origin = values[0, 0, 0].float()
        values = (values.float() - origin).view(-1, values.shape[2], view.channels)
        ones = torch.ones((1, 1, values.shape[1]), device=memory.device).expand(values.shape[0], -1, -1)
        count = values.shape[0] * values.shape[1]
        means = torch.bmm(ones, values).sum(0, dtype=memory.wide) / count
        squares = torch.bmm(ones, values.square_()).sum(0, dtype=memory.wide) / count
        variances = (squares - means.square()).view(groups, -1)
        means = (means + origin).view(groups, -1)
        mean = means.mean(1)
        of_group = count * means.shape[1]
        variance = (variances + (means - mean[:, None]).square()).mean(1).clamp_min_(0)
        before, before_mean, before_m2 = moments.unbind(1)
        total, apart = before + of_group, mean - before_mean
        merged_m2 = before_m2 + variance * of_group + apart.square() * before * of_group / total
        moments.copy_(torch.stack([total, before_mean + apart * of_group / total, merged_m2], dim=1))


def affine(
    memory: Memory,
    state: int,
    sets: int,
    groups: int,
    channels: int,
    run_frames: int,
    epsilon: float,
    weight: int,
    bias: int,
    scale: int,
    shift: int,
) -> None:
    """Scale and shift of each channel of each set, from the moments. With runs of frames, a set is a frame."""
    moments = memory.at(state, memory.wide, (sets, groups, 3))
    if run_frames > 0:
        moments = torch.cat([_merged(run) for run in moments.split([*run_lengths(sets, run_frames)])])
    moments = moments.repeat_interleave(channels // groups, dim=1)
    weights, biases = (memory.at(address, torch.float32, (channels,)) for address in (weight, bias))
    scales, shifts = (memory.at(address, torch.float32, (sets, channels)) for address in (scale, shift))
    factors = weights / ((moments[..., 2] / moments[..., 0]).clamp_min(0) + epsilon).sqrt()
    scales.copy_(factors)
    shifts.copy_(biases - moments[..., 1] * factors)


def run_lengths(frames: int, run_frames: int) -> Iterator[int]:
    """Frames of each run of a clip: the first run has one frame more than the others."""
    first = 0
    while first < frames:
        length = min(run_frames + (1 if first == 0 else 0), frames - first)
        yield length
        first += length


def _merged(run: torch.Tensor) -> torch.Tensor:
    """The merged moments of a run of frames, for each of its frames."""
    count, mean, m2 = run.unbind(2)
    total = count.sum(0)
    of_all = (count * mean).sum(0) / total
    merged = torch.stack([total, of_all, (m2 + count * (mean - of_all).square()).sum(0)], dim=1)
    return merged.expand_as(run)


def _heads(values: torch.Tensor, heads: int, channels: int) -> tuple[torch.Tensor, ...]:
    """Queries, keys and values as [heads, positions, channels] in fp32."""
    return values.float().reshape(-1, heads, 3, channels).permute(2, 1, 0, 3).unbind(0)


def add_key_value_sums(memory: Memory, chunk: tuple, box: Box, heads: int, channels: int, sums: int) -> None:
    total = memory.at(sums, memory.wide, (heads, channels, channels + 1))
    for (values,) in chunks(box, View(memory, chunk)):
        _, keys, values = _heads(values, heads, channels)
        keys = keys.relu().transpose(1, 2)
        total[..., :channels] += torch.bmm(keys, values)
        total[..., channels] += keys.sum(2)


def linear_attention(
    memory: Memory, chunk: tuple, target: tuple, box: Box, heads: int, channels: int, first_channel: int, sums: int, epsilon: float
) -> None:
    total = memory.at(sums, memory.wide, (heads, channels, channels + 1)).float()
    for values, made in chunks(box, View(memory, chunk), View(memory, target)):
        queries = _heads(values, heads, channels)[0].relu()
        products = torch.bmm(queries, total)
        mixed = products[..., :channels] / (products[..., channels:] + epsilon)
        result = mixed.permute(1, 0, 2).reshape(*made.shape[:3], heads * channels)
        made[..., first_channel : first_channel + heads * channels].copy_(result)
