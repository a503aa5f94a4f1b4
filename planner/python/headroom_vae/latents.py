"""Checks and converts latents."""

from __future__ import annotations

import functools
from typing import Any, Callable

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


def clips_of(frames: Any, num_frames: Any) -> Any:
    """Clips N×C×T×H×W of a batch of frames N·T×C×H×W. Raises InputError unless there are whole clips of ``num_frames`` frames."""
    if not isinstance(num_frames, int) or num_frames < 1:
        raise InputError(f"num_frames: expected a positive integer, found {num_frames!r}")
    shape = tuple(frames.shape)
    if len(shape) != 4 or shape[0] % num_frames:
        raise InputError(f"latent: expected a multiple of num_frames = {num_frames} frames as a batch, N·T×C×H×W, found shape {shape}")
    return frames.unflatten(0, (shape[0] // num_frames, num_frames)).transpose(1, 2)


def frames_of(clips: Any) -> Any:
    """The reverse of clips_of()."""
    return clips.transpose(1, 2).flatten(0, 1)


def sample_of(decode: Callable[..., Any], z: Any, frames_in_batch: bool) -> Any:
    """The picture or clip that a VAE's own ``decode`` makes of a latent N×C×H×W or N×C×T×H×W."""
    decoded = decode(frames_of(z), num_frames=z.shape[2]) if frames_in_batch else decode(z)
    sample = getattr(decoded, "sample", decoded[0] if isinstance(decoded, (tuple, list)) else decoded)
    return clips_of(sample, z.shape[2]) if frames_in_batch else sample


def values_on(z: Any, device: str) -> Any:
    """A latent or picture on ``device``, in a dtype that PyTorch's executor reads."""
    values = z.detach().resolve_neg().to(device)
    return values if values.dtype in dtype_names() else values.float()


def values_of(z: Any, device: str = "cpu") -> Any:
    """A latent or picture as a decoder on ``device`` reads it: fp32, fp16 or bf16. It stays on the device if it is there. Otherwise it
    is contiguous in the CPU's memory."""
    # avoids needless casts, because they wake torch's threads, which takes milliseconds
    values = z.detach().resolve_neg() if is_on(z, device) else z.detach().cpu().contiguous()
    return values if values.dtype in dtype_names() else values.float()


def is_on(tensor: Any, device: str) -> bool:
    """True if the tensor is on ``device``, a GPU, so that decodes there can use its memory."""
    import torch

    if tensor.device.type != "cuda" or device.partition(":")[0] != "cuda":
        return False
    return tensor.device.index == (torch.device(device).index or 0)


def given(tensor: Any) -> Any:
    """A tensor as the decoder takes it. On a GPU: address, dtype, shape and strides."""
    return tensor if tensor.is_cpu else (tensor.data_ptr(), dtype_names()[tensor.dtype], tensor.shape, tensor.stride())


@functools.cache
def dtype_names() -> dict[Any, str]:
    """The dtypes of torch that decoders read and write, and the decoder's names for them."""
    import torch

    return {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}
