"""VAEs as ComfyUI loads them, for tests of the nodes. Stand-ins serve without ComfyUI."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
import types

import comfyui_stand_in
import tiny
import torch

comfyui_stand_in.install()
NODES = pathlib.Path(__file__).parents[3] / "planner" / "python" / "comfyui" / "__init__.py"


def nodes():
    spec = importlib.util.spec_from_file_location("headroom_nodes", NODES, submodule_search_locations=[str(NODES.parent)])
    module = importlib.util.module_from_spec(spec)
    sys.modules["headroom_nodes"] = module
    spec.loader.exec_module(module)
    return module


def original_name(name: str, levels: int) -> str:
    """Maps a diffusers tensor name to Stable Diffusion's original name. Deliberately independent of the product's rule."""
    words = name.split(".")
    if words[0] not in ("decoder", "encoder"):
        return name
    if words[1] == "mid_block" and words[2] == "resnets":
        return ".".join([words[0], "mid", f"block_{int(words[3]) + 1}", *words[4:]])
    if words[1] == "mid_block":
        last = {"group_norm": "norm", "to_q": "q", "to_k": "k", "to_v": "v", "to_out": "proj_out"}[words[4]]
        return ".".join([words[0], "mid", "attn_1", last, words[-1]])
    if words[1] == "down_blocks":
        level = ["encoder", "down", words[2]]
        if words[3] == "downsamplers":
            return ".".join([*level, "downsample", *words[5:]])
        return ".".join([*level, "block", words[4], *("nin_shortcut" if w == "conv_shortcut" else w for w in words[5:])])
    if words[1] == "up_blocks":
        level = ["decoder", "up", str(levels - 1 - int(words[2]))]
        if words[3] == "upsamplers":
            return ".".join([*level, "upsample", *words[5:]])
        return ".".join([*level, "block", words[4], *("nin_shortcut" if w == "conv_shortcut" else w for w in words[5:])])
    return name.replace("conv_norm_out", "norm_out")


def original_wan_22_name(name: str) -> str:
    """Maps a diffusers tensor name to Wan 2.2's original name."""
    words = name.split(".")
    numbers = {"norm1": "residual.0", "conv1": "residual.2", "norm2": "residual.3", "conv2": "residual.6", "conv_shortcut": "shortcut"}
    if words[1] == "mid_block" and words[2] == "resnets":
        return ".".join([words[0], "middle", str(2 * int(words[3])), numbers[words[4]], *words[5:]])
    if words[1] == "mid_block":
        return ".".join([words[0], "middle.1", *words[4:]])
    if words[1] == "down_blocks" and words[3] == "resnets":
        return ".".join(["encoder.downsamples", words[2], "downsamples", words[4], numbers[words[5]], *words[6:]])
    if words[1] == "down_blocks":
        return ".".join(["encoder.downsamples", words[2], "downsamples.2", *words[4:]])
    if words[1] == "up_blocks" and words[3] == "resnets":
        return ".".join(["decoder.upsamples", words[2], "upsamples", words[4], numbers[words[5]], *words[6:]])
    if words[1] == "up_blocks":
        return ".".join(["decoder.upsamples", words[2], "upsamples.3", *words[4:]])
    ends = {"conv_in": "conv1", "norm_out": "head.0", "conv_out": "head.2"}
    if len(words) == 2:
        return ".".join([{"post_quant_conv": "conv2", "quant_conv": "conv1"}[words[0]], words[1]])
    return ".".join([words[0], ends[words[1]], words[2]])


class Renamed(torch.nn.Module):
    """A diffusers decoder whose parameters have the original names, with its encoder or without."""

    def __init__(self, vae, renamed=None, encoder=False):
        super().__init__()
        sides = ("decoder.", "post_quant_conv.", *(("encoder.", "quant_conv.") if encoder else ()))
        for name, tensor in vae.state_dict().items():
            if name.startswith("bn."):
                if not hasattr(self, "bn"):
                    self.bn = torch.nn.Module()
                self.bn.register_buffer(name[3:], tensor)
            elif name.startswith(sides):
                owner = self
                *path, leaf = (renamed(name) if renamed else original_name(name, len(vae.config.block_out_channels))).split(".")
                for word in path:
                    if not hasattr(owner, word):
                        owner.add_module(word, torch.nn.Module())
                    owner = getattr(owner, word)
                if ".attentions." in name and tensor.dim() == 2:
                    tensor = tensor[..., None, None]  # a 1x1 convolution there
                owner.register_parameter(leaf, torch.nn.Parameter(tensor))


def original_wan_21_name(name: str) -> str:
    """Maps a diffusers tensor name to Wan 2.1's original name, which numbers all resolutions in one list of 15 modules. diffusers numbers
    those of the encoder likewise."""
    words = name.split(".")
    if words[1] == "down_blocks":
        residual = {"norm1": "residual.0", "conv1": "residual.2", "norm2": "residual.3", "conv2": "residual.6", "conv_shortcut": "shortcut"}
        return ".".join(["encoder.downsamples", words[2], residual.get(words[3], words[3]), *words[4:]])
    words = original_wan_22_name(name.replace(".upsamplers.0.", ".upsampler.")).split(".")
    if words[1] == "upsamples":
        words[2:5] = [str(4 * int(words[2]) + int(words[4]))]
    return ".".join(words)


class Nested:
    """Stand-in for ComfyUI's NestedTensor, which holds a clip and its sound and is not a tensor."""

    is_nested = True

    def __init__(self, *tensors):
        self._tensors = list(tensors)

    def unbind(self):
        return self._tensors


def comfy_vae(vae, renamed=None, multiple=None):
    """A stand-in for comfy.sd.VAE. `multiple` is that of an encode's sides. None: the VAE has no encoder."""
    made = types.SimpleNamespace()
    made.first_stage_model = Renamed(vae, renamed, multiple is not None)
    made.process_input = lambda image: image * 2.0 - 1.0
    made.vae_encode_crop_pixels = lambda pixels: cropped(pixels, multiple)
    made.output_channels = 3
    made.process_output = lambda image: torch.clamp((image + 1.0) / 2.0, min=0.0, max=1.0)
    made.memory_used_decode = lambda shape, dtype: 7
    made.vae_dtype = torch.float32
    made.device = torch.device("cpu")
    return made


def decoded_by_node(vae, latent, **options):
    return nodes().NODE_CLASS_MAPPINGS["HeadroomVAEDecode"]().decode({"samples": latent}, vae, **{"limit_gib": 1, **options})[0]


def cropped(pixels, multiple):
    """Crops both sides from the middle."""
    rows, columns = (side // multiple * multiple for side in pixels.shape[1:3])
    top, left = ((side - kept) // 2 for side, kept in zip(pixels.shape[1:3], (rows, columns)))
    return pixels[:, top : top + rows, left : left + columns]


def encoded_by_node(vae, pixels, **options):
    latent, report = nodes().NODE_CLASS_MAPPINGS["HeadroomVAEEncode"]().encode(pixels, vae, **{"limit_gib": 1, **options})
    return latent["samples"], report


def random_pixels(*shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(2))


def small_vae(**config):
    """A VAE of Stable Diffusion's class with three resolutions."""
    return tiny.kl(block_out_channels=(32, 64, 64), layers_per_block=2, down_block_types=("DownEncoderBlock2D",) * 3,
                   up_block_types=("UpDecoderBlock2D",) * 3, **config)  # fmt: skip


def flux2():
    return tiny.flux2(layers_per_block=2, decoder_block_out_channels=(32, 64, 64, 96))


def flux2_picture(vae, latent):
    """Decodes by diffusers, after ComfyUI's own preprocessing of a latent of patches."""
    mean, variance = (t.reshape(1, -1, 1, 1) for t in (vae.bn.running_mean, vae.bn.running_var))
    z = torch.nn.functional.pixel_shuffle(latent * torch.sqrt(variance + 1e-4) + mean, 2)
    return torch.clamp((vae.decode(z).sample + 1) / 2, 0, 1).movedim(1, -1)
