"""Checks and converts latents."""

from __future__ import annotations

from typing import Any

from . import _core
from .errors import InputError


def picture_of(model: _core.Model, latent: list[int]) -> tuple[tuple[int, int, int, int], list[int]]:
    """The picture that a latent of this shape makes: (batch, frames, height, width), and its tensor's shape, N×C×H×W or N×C×T×H×W
    like the latent's. Raises InputError."""
    batch, channels, frames, height, width = model.picture_shape(latent)
    return (batch, frames, height, width), [batch, channels, *([frames] if len(latent) == 5 else []), height, width]


def require_latent(z: Any) -> None:
    """Raises InputError unless ``z`` is a dense tensor of floating-point values."""
    import torch

    if not isinstance(z, torch.Tensor):
        raise InputError(f"latent: expected a torch tensor, found {type(z).__name__}")
    if z.is_nested or z.layout != torch.strided:
        raise InputError(f"latent: expected a dense tensor, found {'a nested one' if z.is_nested else str(z.layout).removeprefix('torch.')}")
    if not z.is_floating_point():
        raise InputError(f"latent: expected floating-point values, found {str(z.dtype).removeprefix('torch.')}")
    if z.device.type == "meta":
        raise InputError("latent: expected values, found none (device meta)")


def latent_values(z: Any) -> Any:
    """A latent as the decoder reads it: fp32, fp16 or bf16, contiguous, in the CPU's memory."""
    import torch

    values = z.detach().cpu().contiguous()  # avoids needless casts, because they wake torch's threads, which takes milliseconds
    return values if values.dtype in (torch.float32, torch.float16, torch.bfloat16) else values.float()
