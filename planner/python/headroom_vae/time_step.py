"""Decoders that are given a time step: at one time step the scales and shifts of their norms are constants."""

from __future__ import annotations

import weakref
from typing import Any, Iterator

from .errors import Unsupported


class TimeStep:
    """Scales and shifts that a decoder makes from a time step, as parameters of its norms. Those of one time step at a time."""

    def __init__(self, vae: Any):
        self._vae = weakref.ref(vae)
        self.values: dict[str, Any] = {}
        """Tensors by parameter names of the graph."""

    @staticmethod
    def of(vae: Any) -> TimeStep | None:
        """None for a VAE whose decoder takes no time step."""
        return None if getattr(getattr(vae, "decoder", None), "timestep_scale_multiplier", None) is None else TimeStep(vae)

    def sources(self) -> Iterator[tuple[dict[str, Any], str]]:
        """Cells, as (dict, key), of the parameters from which the values come."""
        for name, module in self._vae().decoder.named_modules():
            for leaf in module._parameters:
                if "time_embedder" in name or leaf in ("scale_shift_table", "timestep_scale_multiplier"):
                    yield module._parameters, leaf

    def set(self, temb: Any) -> None:
        """Computes the values for a tensor of one time step. The time step is rounded as the VAE's own code does, all else is in fp32.

        Raises Unsupported if the parameters have no values."""
        import torch

        if any(held[leaf] is not None and held[leaf].is_meta for held, leaf in self.sources()):
            raise Unsupported("time_embedder: expected values, found none (device meta). Leave the VAE out of offloading")
        decoder = self._vae().decoder
        multiplier = decoder.timestep_scale_multiplier
        with torch.no_grad():
            step = (temb.detach().flatten()[:1].to(multiplier.device) * multiplier).float()
            blocks = {"mid_block": decoder.mid_block, **{f"up_blocks.{i}": block for i, block in enumerate(decoder.up_blocks)}}
            for name, block in blocks.items():
                embedded = _embedded(block.time_embedder, step).unflatten(0, (4, -1))
                for number, resnet in enumerate(block.resnets):
                    rows = embedded + resnet.scale_shift_table.float()
                    for norm in (0, 1):
                        self._set(f"decoder.{name}.resnets.{number}.norm{norm + 1}", *rows[2 * norm : 2 * norm + 2])
            rows = _embedded(decoder.time_embedder, step).unflatten(0, (2, -1)) + decoder.scale_shift_table.float()
            self._set("decoder.norm_out", *rows)

    def _set(self, norm: str, shift: Any, scale: Any) -> None:
        self.values[f"{norm}.weight"], self.values[f"{norm}.bias"] = 1 + scale, shift.clone()


def one_time_step(temb: Any) -> bool:
    """True for a tensor that has the same time step for all items, and that needs no gradient."""
    import torch

    return isinstance(temb, torch.Tensor) and temb.numel() > 0 and not temb.requires_grad and bool((temb == temb.flatten()[0]).all())


def _embedded(embedder: Any, step: Any) -> Any:
    from torch.nn.functional import linear

    layers = embedder.timestep_embedder
    hidden = linear(embedder.time_proj(step).float(), layers.linear_1.weight.float(), layers.linear_1.bias.float())
    return linear(layers.act(hidden), layers.linear_2.weight.float(), layers.linear_2.bias.float())[0]
