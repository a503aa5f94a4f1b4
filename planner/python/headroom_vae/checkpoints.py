"""Derives a decoder's config from the shapes of a checkpoint's tensors, for files and modules without a config.

Tensor names are those of the original checkpoints (Stable Diffusion, SDXL, SD3, FLUX, FLUX.2; Wan 2.1 and 2.2), which ComfyUI keeps.
The decoder itself knows their names in diffusers (decoder/weights/tensor_names.h).
"""

from __future__ import annotations

import json
import re
from typing import Any, Mapping, Sequence

from . import _core
from .described import model_of
from .errors import Unsupported

Shapes = Mapping[str, Sequence[int]]


def model_of_tensors(tensors: Mapping[str, Any]) -> _core.Model:
    """The model that has these parameters (tensors by name). Raises Unsupported."""
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    for finest, config_of in (("decoder.mid.block_1.norm1.weight", _stable_diffusion), ("decoder.middle.0.residual.0.gamma", _wan)):
        prefix = next((name[: -len(finest)] for name in sorted(shapes) if name.endswith(finest)), None)
        if prefix is not None:
            own = {name[len(prefix) :]: shape for name, shape in shapes.items() if name.startswith(prefix)}
            try:
                config = config_of(own)
            except KeyError as error:
                raise Unsupported(f"vae: no tensor {error.args[0]} in the checkpoint") from None
            except (IndexError, ZeroDivisionError):
                raise Unsupported("vae: its decoder's tensors have other shapes than those of any decoder that is known by its tensors") from None
            return model_of(json.dumps(config), config["_class_name"])
    raise Unsupported("vae: expected the decoder of Stable Diffusion, SDXL, SD3, FLUX, FLUX.2 or Wan by its original names")


def _numbered(shapes: Shapes, pattern: str) -> int:
    """Number of entries that the names number from 0: one more than the highest number."""
    return 1 + max((int(m[1]) for name in shapes if (m := re.match(pattern, name))), default=-1)


def _stable_diffusion(shapes: Shapes) -> dict:
    if any("mix_factor" in name or "time_stack" in name for name in shapes):
        raise Unsupported("decoder.mid.block_1.mix_factor: a decoder that mixes frames; expected one of pictures")
    if len(shapes["decoder.conv_in.weight"]) != 4:
        raise Unsupported("decoder.conv_in.weight: expected a kernel of rows and columns, found one over frames")
    levels = _numbered(shapes, r"decoder\.up\.(\d+)\.")
    latent_channels = shapes["decoder.conv_in.weight"][1]
    if any(re.match(r"decoder\.up\.\d+\.attn\.", name) for name in shapes):
        raise Unsupported("decoder.up.0.attn: attention at other resolutions than the coarsest is not supported")
    return {
        "_class_name": _core.class_of_original_names("stable_diffusion"),
        "latent_channels": latent_channels,
        "out_channels": shapes["decoder.conv_out.weight"][0],
        "block_out_channels": [shapes[f"decoder.up.{level}.block.0.conv2.weight"][0] for level in range(levels)],
        "up_block_types": ["UpDecoderBlock2D"] * levels,
        "layers_per_block": _numbered(shapes, r"decoder\.up\.0\.block\.(\d+)\.") - 1,
        "norm_num_groups": 32,
        "use_post_quant_conv": "post_quant_conv.weight" in shapes,
        "mid_block_add_attention": "decoder.mid.attn_1.q.weight" in shapes,
        **_flux2(shapes, latent_channels),
    }


def _flux2(shapes: Shapes, latent_channels: int) -> dict:
    """FLUX.2 normalises patches of its latents. So the batch norm's channel count gives the patch size."""
    if "bn.running_mean" not in shapes:
        return {}
    channels = shapes["bn.running_mean"][0]
    side = round((channels / latent_channels) ** 0.5)
    if side * side * latent_channels != channels:
        raise Unsupported(f"bn.running_mean: expected a square multiple of {latent_channels} channels, found {channels}")
    return {"_class_name": _core.class_of_original_names("flux2"), "patch_size": [side, side]}


def _wan(shapes: Shapes) -> dict:
    modules = _numbered(shapes, r"decoder\.upsamples\.(\d+)\.")
    nested = "decoder.upsamples.0.upsamples.0.residual.2.weight" in shapes  # Wan 2.2 nests the numbering within each resolution
    flat = "decoder.upsamples.0.residual.2.weight" in shapes
    if not (flat and modules == 15 or nested and modules == 4):
        raise Unsupported("decoder.upsamples: expected the 15 modules of Wan 2.1 or the 4 of Wan 2.2; others are not supported")

    def module(level: int, number: int) -> str:
        return f"decoder.upsamples.{level}.upsamples.{number}" if nested else f"decoder.upsamples.{4 * level + number}"

    base = shapes["decoder.head.0.gamma"][0]
    widest = shapes["decoder.conv1.weight"][0]
    widths = [shapes[f"{module(level, 0)}.residual.6.weight"][0] for level in range(4)]
    return {
        "_class_name": _core.class_of_original_names("wan"),
        "base_dim": base,
        "z_dim": shapes["decoder.conv1.weight"][1],
        "dim_mult": [width // base for width in reversed(widths)],
        "num_res_blocks": 2,
        "temperal_downsample": [f"{module(level, 3)}.time_conv.weight" in shapes for level in (2, 1, 0)],
        "out_channels": shapes["decoder.head.2.weight"][0],
        **({"is_residual": True, "patch_size": 2} if nested else {}),
        **({} if widest == widths[0] else {"decoder_base_dim": base}),
    }
