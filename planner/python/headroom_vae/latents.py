"""Checks and converts latents."""

from __future__ import annotations

from typing import Any

from . import _core
from .errors import InputError


def request_of(model: _core.Model, given: list[int]) -> tuple[tuple[int, int, int, int], list[int]]:
    """The request of an input of this shape, a latent to decode or a picture to encode: the picture's (batch, frames, height,
    width), and the shape of the output's tensor. Raises InputError."""
    if model.direction == "decode":
        return picture_of(model, given)
    (batch, channels, frames, rows, columns), size = model.encoded_shape(given)
    return tuple(size), [batch, channels, *([frames] if len(given) == 5 else []), rows, columns]


def picture_of(model: _core.Model, latent: list[int]) -> tuple[tuple[int, int, int, int], list[int]]:
    """The picture that a latent of this shape makes: (batch, frames, height, width), and its tensor's shape, N×C×H×W or N×C×T×H×W
    like the latent's. Raises InputError."""
    batch, channels, frames, height, width = model.picture_shape(latent)
    return (batch, frames, height, width), [batch, channels, *([frames] if len(latent) == 5 else []), height, width]


def values_of(z: Any) -> Any:
    """A latent or picture as the decoder reads it: fp32, fp16 or bf16, contiguous, in the CPU's memory."""
    import torch

    values = z.detach().cpu().contiguous()  # avoids needless casts, because they wake torch's threads, which takes milliseconds
    return values if values.dtype in (torch.float32, torch.float16, torch.bfloat16) else values.float()
