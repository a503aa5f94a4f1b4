"""Makes configs from the tensors of original checkpoints, by shapes and by settings of their modules. One scheme for each kind of tensor names."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

from . import _core
from .errors import Unsupported

Shapes = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Scheme:
    config: Callable[[Shapes, Any], dict]
    """Makes a config from shapes, and from the module or None. KeyError: a tensor is missing. IndexError: a shape lacks an axis."""
    encoder: Callable[[Shapes, Any, dict], dict] | None = None
    """Makes the keys that the encoder adds to this config. Raises Unsupported for an encoder that no config describes, and as `config` does."""
    decoder: str = "decoder."
    """Names of the decoder's own tensors start with this."""
    unread: str = ""
    """The decoder has tensors with this in their names that a decode does not read."""


def _numbered(shapes: Shapes, pattern: str) -> int:
    """Number of entries that the names number from 0: one more than the highest number."""
    return 1 + max((int(m[1]) for name in shapes if (m := re.match(pattern, name))), default=-1)


def _widths(shapes: Shapes, blocks: str, tensor: str) -> list[int]:
    """Output channels of a convolution in each of the numbered blocks."""
    return [shapes[f"{blocks}.{level}.{tensor}"][0] for level in range(_numbered(shapes, rf"{re.escape(blocks)}\.(\d+)\."))]


def class_of(names: str) -> str:
    return _core.class_of_original_names(names)


def _stable_diffusion(shapes: Shapes, module: Any) -> dict:
    """Everything whose first block is decoder.mid.block_1 with a group norm."""
    if "decoder.conv_in.conv.weight" in shapes:
        return _hunyuan_video(shapes, module)
    if len(shapes["decoder.conv_in.weight"]) != 4:
        raise Unsupported("decoder.conv_in.weight: expected a kernel of rows and columns, found one over frames")
    if "decoder.up.0.upsample.conv.weight" in shapes:  # the coarsest resolution is the first one there
        return _hunyuan_image(shapes)
    latent_channels = shapes["decoder.conv_in.weight"][1]
    if any(re.match(r"decoder\.up\.\d+\.attn\.", name) for name in shapes):
        raise Unsupported("decoder.up.0.attn: attention at other resolutions than the coarsest is not supported")
    return {
        "_class_name": class_of("stable_diffusion"),
        "latent_channels": latent_channels,
        "out_channels": shapes["decoder.conv_out.weight"][0],
        "block_out_channels": _widths(shapes, "decoder.up", "block.0.conv2.weight"),
        "up_block_types": ["UpDecoderBlock2D"] * _numbered(shapes, r"decoder\.up\.(\d+)\."),
        "layers_per_block": _numbered(shapes, r"decoder\.up\.0\.block\.(\d+)\.") - 1,
        "norm_num_groups": 32,
        "use_post_quant_conv": "post_quant_conv.weight" in shapes or "decoder.post_quant_conv.weight" in shapes,
        "mid_block_add_attention": "decoder.mid.attn_1.q.weight" in shapes,
        **_flux2(shapes, latent_channels),
    }


def _svd(shapes: Shapes, module: Any) -> dict:
    return {
        "_class_name": class_of("svd"),
        "latent_channels": shapes["decoder.conv_in.weight"][1],
        "out_channels": shapes["decoder.conv_out.weight"][0],
        "block_out_channels": _widths(shapes, "decoder.up", "block.0.conv2.weight"),
        "layers_per_block": _numbered(shapes, r"decoder\.up\.0\.block\.(\d+)\.") - 1,
    }


def _cogvideox(shapes: Shapes, module: Any) -> dict:
    widths = _widths(shapes, "decoder.up", "block.0.conv2.conv.weight")
    return {
        "_class_name": class_of("cogvideox"),
        "latent_channels": shapes["decoder.conv_in.conv.weight"][1],
        "out_channels": shapes["decoder.conv_out.conv.weight"][0],
        "block_out_channels": widths,
        "up_block_types": ["CogVideoXUpBlock3D"] * len(widths),
        "layers_per_block": _numbered(shapes, r"decoder\.up\.0\.block\.(\d+)\.") - 1,
    }


def _stable_diffusion_encoder(shapes: Shapes, module: Any, config: dict) -> dict:
    if config["_class_name"] == class_of("hunyuan_video"):
        return _hunyuan_video_encoder(shapes, config)
    if config["_class_name"] == class_of("hunyuan_image"):
        return _hunyuan_image_encoder(shapes, config)
    widths = _widths(shapes, "encoder.down", "block.0.conv2.weight")
    _require_layers(config, _numbered(shapes, r"encoder\.down\.0\.block\.(\d+)\."))
    if "patch_size" not in config:  # only FLUX.2's class has other widths in its decoder
        _require_widths(config, widths)
    return {
        **({} if widths == config["block_out_channels"] else {"block_out_channels": widths, "decoder_block_out_channels": config["block_out_channels"]}),
        "in_channels": shapes["encoder.conv_in.weight"][1],
        "down_block_types": ["DownEncoderBlock2D"] * len(widths),
        "use_quant_conv": "quant_conv.weight" in shapes or "encoder.quant_conv.weight" in shapes,
    }


def _require_layers(config: dict, layers: int) -> None:
    if layers != config["layers_per_block"]:
        raise Unsupported(f"encoder: {layers} residual blocks at each resolution, expected {config['layers_per_block']}, one fewer than the decoder has")


def _require_widths(config: dict, widths: list[int]) -> None:
    if widths != config["block_out_channels"]:
        raise Unsupported(f"encoder: widths {widths}, expected those of the decoder, {config['block_out_channels']}")


def _flux2(shapes: Shapes, latent_channels: int) -> dict:
    """FLUX.2 normalises patches of its latents. So the batch norm's channel count gives the patch size."""
    if "bn.running_mean" not in shapes:
        return {}
    channels = shapes["bn.running_mean"][0]
    side = round((channels / latent_channels) ** 0.5)
    if side * side * latent_channels != channels:
        raise Unsupported(f"bn.running_mean: expected a square multiple of {latent_channels} channels, found {channels}")
    return {"_class_name": class_of("flux2"), "patch_size": [side, side]}


def _hunyuan_image(shapes: Shapes) -> dict:
    widths = _widths(shapes, "decoder.up", "block.0.conv2.weight")
    return {
        "_class_name": class_of("hunyuan_image"),
        "latent_channels": shapes["decoder.conv_in.weight"][1],
        "out_channels": shapes["decoder.conv_out.weight"][0],
        "block_out_channels": widths[::-1],
        "layers_per_block": _numbered(shapes, r"decoder\.up\.0\.block\.(\d+)\.") - 1,
        "spatial_compression_ratio": 2 ** _upsamplings(shapes),
        "upsample_match_channel": 4 * widths[1] == shapes["decoder.up.0.upsample.conv.weight"][0],
        "scaling_factor": 1.0,  # ComfyUI divides its latents by the scale
    }


def _hunyuan_image_encoder(shapes: Shapes, config: dict) -> dict:
    widths = _widths(shapes, "encoder.down", "block.0.conv2.weight")
    _require_layers(config, _numbered(shapes, r"encoder\.down\.0\.block\.(\d+)\."))
    _require_widths(config, widths)
    match_channels = widths[1] == 4 * shapes["encoder.down.0.downsample.conv.weight"][0]
    return {"in_channels": shapes["encoder.conv_in.weight"][1], "downsample_match_channel": match_channels}


def _upsamplings(shapes: Shapes) -> int:
    return sum(1 for name in shapes if re.fullmatch(r"decoder\.up\.\d+\.upsample\.conv(\.conv)?\.weight", name))


def _hunyuan_video(shapes: Shapes, module: Any) -> dict:
    levels = _numbered(shapes, r"decoder\.up\.(\d+)\.")
    for level in range(1, levels):  # the finest resolutions double frames, too
        upsample = getattr(_child(module, f"decoder.up.{level}"), "upsample", None)
        expected = 2.0 if level <= 2 else (1.0, 2.0, 2.0)
        found = getattr(upsample, "scale_factor", expected)
        if found != expected:
            raise Unsupported(f"decoder.up.{level}.upsample: expected to scale by {expected}, found {found}")
    return {
        "_class_name": class_of("hunyuan_video"),
        "latent_channels": shapes["decoder.conv_in.conv.weight"][1],
        "out_channels": shapes["decoder.conv_out.conv.weight"][0],
        "block_out_channels": _widths(shapes, "decoder.up", "block.0.conv2.conv.weight"),
        "up_block_types": ["HunyuanVideoUpBlock3D"] * levels,
        "layers_per_block": _numbered(shapes, r"decoder\.up\.0\.block\.(\d+)\.") - 1,
        "norm_num_groups": 32,
        "spatial_compression_ratio": 2 ** _upsamplings(shapes),
        "mid_block_add_attention": "decoder.mid.attn_1.q.weight" in shapes,
    }


def _hunyuan_video_encoder(shapes: Shapes, config: dict) -> dict:
    widths = _widths(shapes, "encoder.down", "block.0.conv2.conv.weight")
    _require_layers(config, _numbered(shapes, r"encoder\.down\.0\.block\.(\d+)\."))
    _require_widths(config, widths)
    return {"in_channels": shapes["encoder.conv_in.conv.weight"][1], "down_block_types": ["HunyuanVideoDownBlock3D"] * len(widths)}


def _hunyuan_video_15(shapes: Shapes, module: Any) -> dict:
    widths = _widths(shapes, "decoder.up", "block.0.conv2.conv.weight")
    levels = len(widths)
    match_channels, doublings = True, 0
    for level in range(_upsamplings(shapes)):
        outputs = shapes[f"decoder.up.{level}.upsample.conv.conv.weight"][0]
        following = shapes[f"decoder.up.{level + 1}.block.0.conv1.conv.weight"][1] if level + 1 < levels else widths[level]
        match_channels &= level + 1 < levels and following == widths[level + 1]
        doublings += outputs == 8 * following
    return {
        "_class_name": class_of("hunyuan_video_15"),
        "latent_channels": shapes["decoder.conv_in.conv.weight"][1],
        "out_channels": shapes["decoder.conv_out.conv.weight"][0],
        "block_out_channels": widths[::-1],
        "layers_per_block": _numbered(shapes, r"decoder\.up\.0\.block\.(\d+)\.") - 1,
        "spatial_compression_ratio": 2 ** _upsamplings(shapes),
        "temporal_compression_ratio": 2**doublings,
        "upsample_match_channel": match_channels,
        "attention_frames": "all",  # as in ComfyUI's module; diffusers' attends to earlier frames only
    }


def _hunyuan_video_15_encoder(shapes: Shapes, module: Any, config: dict) -> dict:
    widths = _widths(shapes, "encoder.down", "block.0.conv2.conv.weight")
    _require_layers(config, _numbered(shapes, r"encoder\.down\.0\.block\.(\d+)\."))
    _require_widths(config, widths)
    match_channels = True
    for level in range(len(widths)):
        if f"encoder.down.{level}.downsample.conv.conv.weight" in shapes:
            following = f"encoder.down.{level + 1}.block.0.conv1.conv.weight"
            match_channels &= following in shapes and shapes[following][1] == widths[level + 1]
    return {"in_channels": shapes["encoder.conv_in.conv.weight"][1], "downsample_match_channel": match_channels}


def _ltx(shapes: Shapes, module: Any) -> dict:
    """LTX-Video and LTX-2. Their modules differ in settings that no shape shows."""
    decoder = _child(module, "decoder")
    if decoder is None:
        raise Unsupported("decoder.up_blocks: LTX decoders differ in settings that no tensor shows; expected a module, found tensors alone")
    if decoder.timestep_conditioning:
        raise Unsupported("decoder.timestep_conditioning is True: this decoder adds noise to its latent, so no two of its pictures are equal")
    mid, stages, ahead = None, [], {}
    for number, block in enumerate(decoder.up_blocks):
        name = f"decoder.up_blocks.{number}"
        if f"{name}.conv.conv.weight" in shapes:
            ahead["upsampling"] = block
        elif f"{name}.conv1.conv.weight" in shapes:
            ahead["widens"] = True
        else:
            for part in block.res_blocks:
                if part.inject_noise:
                    raise Unsupported(f"{name}.res_blocks: inject_noise is True: no two pictures of this decoder are equal")
            blocks = _numbered(shapes, rf"decoder\.up_blocks\.{number}\.res_blocks\.(\d+)\.")
            found = (shapes[f"{name}.res_blocks.0.conv1.conv.weight"][0], blocks, ahead.get("upsampling"))
            if mid is None:
                mid = found
            else:
                stages.append(found)
            ahead = {}
    if mid is None or not stages or ahead:
        raise Unsupported("decoder.up_blocks: expected residual blocks first and last")
    factors = [getattr(up, "out_channels_reduction_factor", 1) for _, _, up in stages]
    strides = [tuple(getattr(up, "stride", (2, 2, 2))) for _, _, up in stages]
    patch = decoder.patch_size
    return {
        "_class_name": class_of("ltx"),
        "latent_channels": shapes["decoder.conv_in.conv.weight"][1],
        "out_channels": shapes["decoder.conv_out.conv.weight"][0] // patch**2,
        "decoder_block_out_channels": [width * factor for (width, _, _), factor in zip(stages, factors)][::-1],
        "decoder_layers_per_block": [*[blocks for _, blocks, _ in stages][::-1], mid[1]],
        "decoder_spatio_temporal_scaling": [up is not None for _, _, up in stages][::-1],
        "upsample_type": [_LTX_SCALINGS.get(stride, str(stride)) for stride in strides],
        "upsample_residual": [bool(getattr(up, "residual", False)) for _, _, up in stages][::-1],
        "upsample_factor": factors[::-1],
        "timestep_conditioning": False,
        "patch_size": patch,
        "resnet_norm_eps": 1e-6,
        "decoder_causal": bool(decoder.causal),
        "decoder_spatial_padding_mode": decoder.conv_in.conv.padding_mode,
    }


_LTX_SCALINGS = {(2, 2, 2): "spatiotemporal", (1, 2, 2): "spatial", (2, 1, 1): "temporal"}


def _ltx_encoder(shapes: Shapes, module: Any, config: dict) -> dict:
    """LTX-2's encoder, or LTX-Video's, whose downsamplings are convolutions with a stride."""
    encoder = _child(module, "encoder")
    if encoder is None:
        raise Unsupported("encoder.down_blocks: LTX encoders differ in settings that no tensor shows; expected a module, found tensors alone")
    if encoder.patch_size != config["patch_size"]:
        raise Unsupported(f"encoder.patch_size is {encoder.patch_size}, expected that of the decoder, {config['patch_size']}")
    common = {
        "in_channels": shapes["encoder.conv_in.conv.weight"][1] // encoder.patch_size**2,
        "encoder_causal": True,  # ComfyUI's encoder has no other mode
    }
    if any(re.fullmatch(r"encoder\.down_blocks\.\d+\.conv\.weight", name) for name in shapes):
        return common | _ltx_video_encoder(shapes, encoder)
    layers, widths, kinds = [0], [], []
    for number, block in enumerate(encoder.down_blocks):
        name = f"encoder.down_blocks.{number}"
        if f"{name}.res_blocks.0.conv1.conv.weight" in shapes and layers[-1] == 0:
            layers[-1] = _numbered(shapes, rf"encoder\.down_blocks\.{number}\.res_blocks\.(\d+)\.")
        elif f"{name}.conv.conv.weight" in shapes:
            stride = tuple(block.stride)
            kinds.append(_LTX_SCALINGS.get(stride, str(stride)))
            widths.append(shapes[f"{name}.conv.conv.weight"][0] * math.prod(stride))
            layers.append(0)
        else:
            raise Unsupported(f"{name}: {type(block).__name__}, expected residual blocks, then a downsampling by space to depth")
    return {
        **common,
        "block_out_channels": widths,
        "layers_per_block": layers,
        "spatio_temporal_scaling": [True] * len(widths),
        "downsample_type": kinds,
        "encoder_spatial_padding_mode": encoder.conv_in.conv.padding_mode,
    }


def _ltx_video_encoder(shapes: Shapes, encoder: Any) -> dict:
    layers, downsamples, widths = [], [], [shapes["encoder.conv_in.conv.weight"][0]]
    for number, block in enumerate(encoder.down_blocks):
        name = f"encoder.down_blocks.{number}"
        if f"{name}.res_blocks.0.conv1.conv.weight" in shapes:
            layers.append(_numbered(shapes, rf"encoder\.down_blocks\.{number}\.res_blocks\.(\d+)\."))
            downsamples.append(False)
            widths += widths[-1:]
        elif f"{name}.conv.weight" in shapes and layers and not downsamples[-1]:
            downsamples[-1] = True
        elif f"{name}.conv1.conv.weight" in shapes and layers:
            widths[-1] = shapes[f"{name}.conv1.conv.weight"][0]
        else:
            raise Unsupported(f"{name}: {type(block).__name__}, expected residual blocks, then a downsampling by a convolution with a stride")
    return {
        "_class_name": class_of("ltx_video"),
        "block_out_channels": widths[:-2],
        "down_block_types": ["LTXVideoDownBlock3D"] * len(layers[:-1]),
        "layers_per_block": layers,
        "spatio_temporal_scaling": downsamples[:-1],
    }


def _wan(shapes: Shapes, module: Any) -> dict:
    modules = _numbered(shapes, r"decoder\.upsamples\.(\d+)\.")
    nested = "decoder.upsamples.0.upsamples.0.residual.2.weight" in shapes  # Wan 2.2 nests the numbering within each resolution
    flat = "decoder.upsamples.0.residual.2.weight" in shapes
    without_time = _frames_of(shapes["decoder.conv1.weight"]) == 1
    of_pictures = nested and without_time
    if not (flat and modules == 15 or nested and (modules == 4 or of_pictures)):
        raise Unsupported("decoder.upsamples: expected the 15 modules of Wan 2.1 or the 4 of Wan 2.2; others are not supported")
    levels = modules if nested else 4

    def part(level: int, number: int) -> str:
        return f"decoder.upsamples.{level}.upsamples.{number}" if nested else f"decoder.upsamples.{4 * level + number}"

    base = shapes["decoder.head.0.gamma"][0]
    widest = shapes["decoder.conv1.weight"][0]
    widths = [shapes[f"{part(level, 0)}.residual.6.weight"][0] for level in range(levels)]
    config = {
        "_class_name": class_of("qwen_image_21" if of_pictures else "wan"),
        "base_dim": base,
        "z_dim": shapes["decoder.conv1.weight"][1],
        "dim_mult": [width // base for width in reversed(widths)],
        "num_res_blocks": 2,
        "temperal_downsample": [f"{part(level, 3)}.time_conv.weight" in shapes for level in reversed(range(levels - 1))],
        "out_channels": shapes["decoder.head.2.weight"][0],
        **({"is_residual": True} if nested else {}),
        **({"kernel_frames": 1} if without_time and not nested else {}),
        **({} if widest == widths[0] and not of_pictures else {"decoder_base_dim": base}),
    }
    patch = getattr(module, "patch_size", 1 if of_pictures else 2)
    return {**config, "patch_size": patch} if nested and patch > 1 else config


def _wan_encoder(shapes: Shapes, module: Any, config: dict) -> dict:
    base, multiples = shapes["encoder.conv1.weight"][0], config["dim_mult"]
    nested = config.get("is_residual", False)

    def downsampling(level: int) -> str:
        return f"encoder.downsamples.{level}.downsamples.2" if nested else f"encoder.downsamples.{3 * level + 2}"

    frames = [f"{downsampling(level)}.time_conv.weight" in shapes for level in range(len(multiples) - 1)]
    if frames != config["temperal_downsample"]:
        raise Unsupported(f"encoder.downsamples: it halves frames at {frames}, expected as the decoder doubles them, {config['temperal_downsample']}")
    return {
        "base_dim": base,
        "decoder_base_dim": config.get("decoder_base_dim", config["base_dim"]),
        "in_channels": shapes["encoder.conv1.weight"][1],
    }


def _frames_of(kernel: Sequence[int]) -> int:
    return kernel[2] if len(kernel) == 5 else 1


def _tiny(shapes: Shapes, module: Any) -> dict:
    """TAESD's modules are a sequence: a clamp, a convolution, an activation, then blocks and upsampled convolutions."""
    last = _numbered(shapes, r"(\d+)\.") - 1
    stages = [0]
    for number in range(3, last):
        if f"{number}.conv.0.weight" in shapes:
            stages[-1] += 1
        elif f"{number}.weight" in shapes:
            stages.append(0)
    return {
        "_class_name": class_of("tiny"),
        "latent_channels": shapes["1.weight"][1],
        "out_channels": shapes[f"{last}.weight"][0],
        "num_decoder_blocks": stages,
        "decoder_block_out_channels": [shapes["1.weight"][0]] * len(stages),
        "use_midblock_gn": "3.pool.0.weight" in shapes,
    }


def _taehv(shapes: Shapes, module: Any) -> dict:
    """taehv's decoder is a sequence: a clamp, a convolution, an activation, then memory blocks, upsamplings, growths and convolutions."""
    if "decoder.0.weight" in shapes:
        raise Unsupported("decoder.0.weight: taehv's larger decoder is not supported; expected a clamp first")
    activation = _child(module, "decoder.2")
    if activation is not None and type(activation).__name__ != "ReLU":
        raise Unsupported(f"decoder.2 is {type(activation).__name__}, expected ReLU")
    last = _numbered(shapes, r"decoder\.(\d+)\.") - 1
    growths = [number for number in range(3, last) if f"decoder.{number}.conv.weight" in shapes]
    grown = [shapes[f"decoder.{number}.conv.weight"] for number in growths]
    channels = shapes[f"decoder.{last}.weight"][0]
    patch = getattr(module, "patch_size", math.isqrt(channels // 3))
    return {
        "_class_name": class_of("taehv"),
        "latent_channels": shapes["decoder.1.weight"][1],
        "out_channels": channels // patch**2,
        "patch_size": patch,
        "num_decoder_blocks": [growth - begin - 1 for growth, begin in zip(growths, [3, *(growth + 2 for growth in growths)])],
        "decoder_block_out_channels": [*[inputs for _, inputs, *_ in grown], shapes[f"decoder.{last}.weight"][1]],
        "decoder_time_upscale": [outputs == 2 * inputs for outputs, inputs, *_ in grown],
        "is_cogvideox": getattr(module, "is_cogvideox", False),
    }


def _tiny_encoder(shapes: Shapes, module: Any, config: dict) -> dict:
    last = _numbered(shapes, r"encoder\.(\d+)\.") - 1
    stages = [0]
    for number in range(1, last):
        if f"encoder.{number}.conv.0.weight" in shapes:
            stages[-1] += 1
        else:
            stages.append(0)
    first = shapes["encoder.0.weight"]
    return {"in_channels": first[1], "num_encoder_blocks": stages, "encoder_block_out_channels": [first[0]] * len(stages)}


def _seedvr2(shapes: Shapes, module: Any) -> dict:
    widths = _widths(shapes, "decoder.up_blocks", "resnets.0.conv2.weight")
    levels = len(widths)
    outputs = [shapes[f"decoder.up_blocks.{level}.upsamplers.0.upscale_conv.weight"][0] for level in range(levels - 1)]
    return {
        "_class_name": class_of("seedvr2"),
        "latent_channels": shapes["decoder.conv_in.weight"][1],
        "out_channels": shapes["decoder.conv_out.weight"][0],
        "block_out_channels": widths[::-1],
        "up_block_types": ["UpDecoderBlock3D"] * levels,
        "layers_per_block": _numbered(shapes, r"decoder\.up_blocks\.0\.resnets\.(\d+)\.") - 1,
        "norm_num_groups": 32,
        "temporal_scale_num": sum(count == 8 * width for count, width in zip(outputs, widths)),
        "use_post_quant_conv": "post_quant_conv.weight" in shapes,
        "attention": "decoder.mid_block.attentions.0.to_q.weight" in shapes,
    }


def _seedvr2_encoder(shapes: Shapes, module: Any, config: dict) -> dict:
    widths = _widths(shapes, "encoder.down_blocks", "resnets.0.conv2.weight")
    _require_layers(config, _numbered(shapes, r"encoder\.down_blocks\.0\.resnets\.(\d+)\."))
    _require_widths(config, widths)
    return {"in_channels": shapes["encoder.conv_in.weight"][1], "use_quant_conv": "quant_conv.weight" in shapes}


def _child(module: Any, path: str) -> Any:
    """The submodule with this name, or None."""
    for word in path.split("."):
        module = None if module is None else module._modules.get(word)
    return module


SCHEMES = {
    "ltx": Scheme(_ltx, _ltx_encoder),
    "hunyuan_video_15": Scheme(_hunyuan_video_15, _hunyuan_video_15_encoder, unread=".temb_proj."),
    "stable_diffusion": Scheme(_stable_diffusion, _stable_diffusion_encoder),
    "wan": Scheme(_wan, _wan_encoder, unread=".time_conv."),
    "seedvr2": Scheme(_seedvr2, _seedvr2_encoder),
    "svd": Scheme(_svd),
    "cogvideox": Scheme(_cogvideox),
    "tiny": Scheme(_tiny, _tiny_encoder, decoder=""),
    "taehv": Scheme(_taehv),
}
"""By the keys of the families whose marks _core.original_names() finds."""
