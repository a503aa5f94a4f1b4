"""``verify=True``: compares Headroom's picture with the VAE's own untiled decode, or with that of another executor."""

from __future__ import annotations

import copy
import functools
from typing import Any, Callable

from . import _core
from .described import dtype_in_use, dtype_name
from .errors import VerificationError
from .latents import sample_of
from .tf32 import full_fp32
from .gate import warn

VERIFIED_ERROR = {"fp32": 1e-4, "bf16": 5e-2, "fp16": 1e-2}
"""Largest difference from the original decode under ``verify=True``, of its largest magnitude."""

VERIFIED_ERROR_IN_TF32 = 1e-2
"""Tolerance for a decode that used TF32. The original always decodes in full fp32."""

BLENDING = ("use_tiling", "use_slicing", "use_framewise_decoding")
"""Attributes by which a VAE decodes in parts, most of which it blends."""


def largest_error(
    vae: Any, model: _core.Model, z: Any, sample: Any, plan: _core.Plan, by_torch: Callable[[Any], Any] | None = None,
    temb: Any = None, own: Callable[[Any], Any] | None = None,
) -> float | None:  # fmt: skip
    """Largest difference from the VAE's own decode over all items, relative to the largest magnitude of the item's original picture.
    ``plan`` is that of the decode. ``by_torch`` decodes an item by PyTorch's executor, which then stands for the original.
    ``temb`` is the time step of a decoder that takes one.
    ``own`` is the VAE's own decode where its class is not diffusers'.

    Warns and returns None if the other decode cannot run. Raises VerificationError."""
    import torch

    name, error = type(vae).__name__, 0.0
    option = "verify=True" if by_torch is None else 'verify="torch"'
    whose = f"{name}'s own decode" if by_torch is None else "the decode by PyTorch's executor"
    original_name = "the original decode" if by_torch is None else whose
    for item, ours in zip(z.split(1), sample.split(1)):
        try:
            with torch.no_grad(), full_fp32():
                other = by_torch or own
                original = _untiled(vae, model, item, temb) if other is None else other(item).float()
        except Exception as failed:
            why = str(failed).strip().splitlines() or [""]
            warn(f"{option}: the picture was not compared, since {whose} cannot run: {type(failed).__name__}: {why[0]}")
            return None
        if not torch.isfinite(original).all():
            warn(f"{option}: the picture was not compared, since the output of {whose} is not finite")
            return None
        if original.shape != ours.shape:
            raise VerificationError(f"{name}: expected a picture of shape {tuple(original.shape)} as the original decode's, found {tuple(ours.shape)}")
        difference = (ours.to(original.device).float() - original).abs().max() / original.abs().max().clamp_min(1e-30)
        error = max(error, float(difference))
    dtype = torch.get_autocast_dtype(z.device.type) if torch.is_autocast_enabled(z.device.type) else dtype_in_use(vae)
    accepted, in_tf32 = max(VERIFIED_ERROR[dtype_name(dtype)], VERIFIED_ERROR[plan.dtype]), ""
    if plan.tf32 != "none":
        accepted = max(accepted, VERIFIED_ERROR_IN_TF32)
        in_tf32 = f" in full fp32. With TF32 at most {accepted:.0e} is accepted"
    if not error <= accepted:
        raise VerificationError(f"{name}: differs by {error:.1e} of the magnitude from {original_name}{in_tf32}")
    return error


def _untiled(vae: Any, model: _core.Model, z: Any, temb: Any) -> Any:
    """Decodes with the VAE's own class, in fp32 if its config upcasts.

    Runs on a copy of the VAE, so that the attributes of the VAE itself do not change. Without upcasting the copy shares the weights."""
    alone = copy.copy(vae)
    vars(alone).pop("decode", None)
    for name in BLENDING:
        if getattr(alone, name, False):
            setattr(alone, name, False)
    if model.decoding_dtype(dtype_name(vae.dtype)) != dtype_name(vae.dtype):
        alone = copy.deepcopy(alone).float()
    device = z.device if alone.device.type == "meta" else alone.device
    own = functools.partial(type(vae).decode, alone, **({} if temb is None else {"temb": temb[: len(z)]}))
    return sample_of(own, z.to(device=device, dtype=alone.dtype), model.frames_in_batch).float()
