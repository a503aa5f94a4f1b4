"""Operations that compute each value, or each position, by itself. Arithmetic is fp32; a value is rounded once."""

from __future__ import annotations

from typing import Any, Callable

import torch
import torch.nn.functional as F

from .memory import Memory
from .views import Box, View, chunks, inside, zero_outside

IN_PLACE: dict[str, Callable[[Any], Any]] = {
    "none": lambda values: values,
    "silu": lambda values: F.silu(values, inplace=True),
    "relu": lambda values: values.relu_(),
    "gelu": lambda values: values.copy_(F.gelu(values)),
    "mish": lambda values: F.mish(values, inplace=True),
    "clamp": lambda values: values.clamp_(-1, 1),
    "soft clamp": lambda values: values.div_(3).tanh_().mul_(3),
    "to unit": lambda values: values.add_(1).div_(2),
}
"""Activations of an fp32 tensor."""


def _activated(values: Any, activation: str, target: Any) -> None:
    """Stores activation(values) in the target. ``values`` is fp32, and may be the target itself."""
    IN_PLACE[activation](values)
    if values is not target:
        target.copy_(values)


def add(memory: Memory, source: tuple, target: tuple, activation: str, box: Box) -> None:
    for term, total in chunks(box, View(memory, source), View(memory, target)):
        if activation == "none":
            total.add_(term)
        elif total.dtype == torch.float32:
            _activated(total.add_(term), activation, total)
        else:
            _activated(total.float().add_(term), activation, total)


def activate(memory: Memory, tile: tuple, activation: str, box: Box) -> None:
    for (values,) in chunks(box, View(memory, tile)):
        _activated(values if values.dtype == torch.float32 else values.float(), activation, values)


def normalise(
    memory: Memory, source: tuple, target: tuple, scale: int, shift: int, by_frame: bool, activation: str, picture: tuple
) -> None:
    source, target = View(memory, source), View(memory, target)
    part = inside(target.region, picture)
    zero_outside(target.tile(), target.region, part)
    sets = part[1] if by_frame else 1
    scales, shifts = (memory.at(address, torch.float32, (sets, 1, 1, source.channels)) for address in (scale, shift))
    boxes = [(t, t + 1, *part[2:]) for t in range(part[0], part[1])] if by_frame else [part]
    for box in boxes:
        number = box[0] if by_frame else 0
        for values, made in chunks(box, source, target):
            if made.dtype == torch.float32 and values.dtype == torch.float32:
                torch.addcmul(shifts[number], values, scales[number], out=made)
                _activated(made, activation, made)
            else:
                _activated(torch.addcmul(shifts[number], values.float(), scales[number]), activation, made)


def rms_norm(
    memory: Memory, source: tuple, target: tuple, weight: int, bias: int, epsilon: float, activation: str, box: Box, centred: bool
) -> None:
    source, target = View(memory, source), View(memory, target)
    weights, biases = (memory.at(address, torch.float32, (source.channels,)) for address in (weight, bias))
    for values, made in chunks(box, source, target):
        values = values.float() - values.float().mean(-1, keepdim=True) if centred else values.float()
        factor = torch.linalg.vector_norm(values, dim=-1, keepdim=True).square_().div_(source.channels).add_(epsilon).rsqrt_()
        _activated(torch.addcmul(biases, values * factor, weights), activation, made)


def gate(memory: Memory, source: tuple, target: tuple, box: Box) -> None:
    target = View(memory, target)
    for values, made in chunks(box, View(memory, source), target):
        passed, gates = values.split(target.channels, dim=-1)
        made.copy_(F.silu(gates.float()).mul_(passed))


def modulate(memory: Memory, source: tuple, factors: tuple, target: tuple, activation: str, box: Box) -> None:
    for values, both, made in chunks(box, View(memory, source), View(memory, factors), View(memory, target)):
        scales, shifts = both.float().chunk(2, dim=-1)
        _activated(torch.addcmul(shifts, values.float(), scales), activation, made)
