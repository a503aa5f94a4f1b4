"""Dtypes that a VAE's own ``decode`` and ``encode`` return under ``torch.autocast()``."""

from __future__ import annotations

from typing import Any

from . import _core
from .changes import made_anew

LATENT_LENGTH = 8
"""Rows and columns of the latent that is tried. An encoder may need more than one."""


def own_dtype(vae: Any, model: _core.Model, direction: str, kind: str) -> Any:
    """The dtype that the VAE's own code returns on devices of this kind, under the autocast that is active.

    Most classes end with a convolution, so their result has autocast's dtype. Others end with a sum, and autocast promotes sums:
    an encode whose last sum has a norm in fp32 returns fp32. So the code of the class runs, on tensors without values. Where that code
    fails, the dtype is autocast's."""
    import torch
    from torch._subclasses import FakeTensorMode

    anew = made_anew(vae).requires_grad_(False).eval().to(vae.dtype)  # autocast keeps casts of parameters that require gradients
    shape = [1, model.latent_channels, *([1] if model.decodes_clips else []), LATENT_LENGTH, LATENT_LENGTH]
    if direction == "encode":
        batch, channels, frames, height, width = model.picture_shape(shape)
        shape = [batch, channels, *([frames] if model.decodes_clips else []), height, width]
    dtype = torch.get_autocast_dtype(kind)
    with torch.no_grad(), FakeTensorMode():
        for module in anew.modules():
            for held in (module._parameters, module._buffers):
                held.update({name: torch.empty(tensor.shape, dtype=tensor.dtype, device=kind) for name, tensor in held.items() if tensor is not None})
        try:
            made = getattr(anew, direction)(torch.empty(shape, dtype=vae.dtype, device=kind), return_dict=False)[0]
        except (RuntimeError, TypeError, ValueError):
            return dtype
    return getattr(made, "parameters", made).dtype
