"""Tests that the ComfyUI nodes decode and encode every family from the original names of its tensors.

Small VAEs of diffusers with renamed tensors stand in for ComfyUI's. If HEADROOM_COMFYUI names a clone of ComfyUI, its own comfy.sd.VAE
decodes random weights of full size as well, and a table shows the largest differences."""

from __future__ import annotations

import json
import math
import pathlib
import re
import sys
import types
import unittest
from unittest import mock

import comfyui_stand_in
import headroom_vae
import tiny
import torch
from comfyui_support import (
    Renamed,
    comfy_vae,
    cropped,
    decoded_by_node,
    encoded_by_node,
    nodes,
    original_name,
    original_wan_21_name,
    original_wan_22_name,
    random_pixels,
)

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "reference"))
from seedvr2 import SeedVR2  # noqa: E402
from tiny_decoders import TAEF2, TAEHV  # noqa: E402

CLOSE = 1e-4


def random_latent(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def image(sample: torch.Tensor) -> torch.Tensor:
    """ComfyUI's IMAGE of a decoded sample."""
    picture = torch.clamp((sample + 1) / 2, 0, 1)
    return (picture.movedim(2, 1).flatten(0, 1) if picture.dim() == 5 else picture).movedim(1, -1)


def coarsest_first(name: str) -> str:
    """The original name of a HunyuanVideo 1.5 tensor. Its levels count as diffusers' do."""
    words = original_name(name.replace(".norm.gamma", ".group_norm.gamma").replace(".proj_out.", ".to_out."), 0).split(".")
    if words[1] == "up":
        words[2] = str(-1 - int(words[2]))
    return ".".join(words)


def svd_name(name: str, levels: int) -> str:
    """The original name of a tensor of Stable Video Diffusion's decoder."""
    for part, there in (("spatial_res_block.", ""), ("temporal_res_block.norm1", "time_stack.in_layers.0"), ("time_mixer.", ""),
                        ("temporal_res_block.conv1", "time_stack.in_layers.2"), ("temporal_res_block.norm2", "time_stack.out_layers.0"),
                        ("temporal_res_block.conv2", "time_stack.out_layers.3"), ("decoder.time_conv_out", "decoder.conv_out.time_mix_conv")):  # fmt: skip
        name = name.replace(part, there)
    return original_name(name, levels)


def hunyuan_image_name(name: str, blocks: int) -> str:
    """The original name of a HunyuanImage tensor. diffusers numbers blocks and resamplings of all levels in one list. `blocks`: of the
    decoder. The encoder has one less."""
    words = name.split(".")
    if words[1] in ("up_blocks", "down_blocks"):
        way, blocks = ("up", blocks) if words[1] == "up_blocks" else ("down", blocks - 1)
        level, module = divmod(int(words[2]), blocks + 1)
        return ".".join([words[0], way, str(level), *([f"{way}sample"] if module == blocks else ["block", str(module)]), *words[3:]])
    if words[2:3] == ["attentions"]:
        words[4] = {"norm": "group_norm", "proj": "to_out"}.get(words[4], words[4])
    return original_name(".".join(words), 0)


def ltx_names(vae) -> dict[str, str]:
    """Start of each diffusers name, and of the original's. Blocks, widenings, upsamplings and downsamplings are one list there."""
    starts, number = {"decoder.mid_block.resnets.": "decoder.up_blocks.0.res_blocks."}, 1
    for level, block in enumerate(vae.decoder.up_blocks):
        for part, there in (("conv_in.", ""), ("upsamplers.0.", ""), ("resnets.", "res_blocks.")):
            if getattr(block, part.split(".")[0], None) is not None:
                starts[f"decoder.up_blocks.{level}.{part}"] = f"decoder.up_blocks.{number}.{there}"
                number += 1
    number = 0
    for level, block in enumerate(vae.encoder.down_blocks):
        for part, there in (("resnets.", "res_blocks."), ("downsamplers.0.", ""), ("conv_out.", "")):
            if getattr(block, part.split(".")[0], None) is not None:
                starts[f"encoder.down_blocks.{level}.{part}"] = f"encoder.down_blocks.{number}.{there}"
                number += 1
    return {**starts, "encoder.mid_block.resnets.": f"encoder.down_blocks.{number}.res_blocks."}


def listed(module: torch.nn.Module) -> None:
    """Makes lists of the modules whose children have numbers for names."""
    for name, child in [*module.named_children()]:
        listed(child)
        if child._modules and all(leaf.isdigit() for leaf in child._modules):
            setattr(module, name, torch.nn.ModuleList(child._modules[str(i)] for i in range(len(child._modules))))


def ltx(vae, encoder=False):
    """A module with the names and the settings of ComfyUI's VideoVAE."""
    starts = ltx_names(vae)

    def renamed(name: str) -> str:
        for start, there in starts.items():
            if name.startswith(start):
                return there + name[len(start) :].replace("conv_shortcut.conv.", "conv_shortcut.").replace("norm3.", "norm3.norm.")
        return name

    made = Renamed(vae, renamed, encoder)
    listed(made)
    decoder, config = made.decoder, vae.config
    if encoder:
        made.encoder.patch_size, made.encoder.conv_in.conv.padding_mode = config.patch_size, config.get("encoder_spatial_padding_mode", "zeros")
    decoder.timestep_conditioning, decoder.patch_size, decoder.causal = False, config.patch_size, config.decoder_causal
    decoder.conv_in.conv.padding_mode = config.get("decoder_spatial_padding_mode", "zeros")
    for block in decoder.up_blocks:
        for part in getattr(block, "res_blocks", ()):
            part.inject_noise = False
    for start, there in starts.items():
        if "downsamplers" in start and encoder and hasattr(vae.get_submodule(start[:-1]), "stride"):
            made.get_submodule(there[:-1]).stride = vae.get_submodule(start[:-1]).stride
        if "upsamplers" in start:
            upsampler = vae.get_submodule(start[:-1])
            block = made.get_submodule(there[:-1])
            block.stride, block.residual, block.out_channels_reduction_factor = upsampler.stride, upsampler.residual, upsampler.upscale_factor
    made.per_channel_statistics = torch.nn.Module()
    for name, values in (("mean-of-means", torch.randn(4)), ("std-of-means", torch.rand(4) + 0.5)):
        made.per_channel_statistics.register_buffer(name, values)
    return made


def cogvideox_name(name, levels):
    name = re.sub(r"mid_block\.resnets\.(\d)", lambda m: f"mid.block_{int(m[1]) + 1}", name)
    name = re.sub(r"up_blocks\.(\d)\.resnets\.", lambda m: f"up.{levels - 1 - int(m[1])}.block.", name)
    name = re.sub(r"up_blocks\.(\d)\.upsamplers\.0\.", lambda m: f"up.{levels - 1 - int(m[1])}.upsample.", name)
    return name.replace("conv_shortcut", "nin_shortcut")


class ByNames(unittest.TestCase):
    """Each family in its original names."""

    def decoded(self, module, latent, **options):
        made = comfy_vae(tiny.kl())
        made.first_stage_model = module
        return decoded_by_node(made, latent, **options)

    def assert_close(self, ours, theirs):
        self.assertEqual(ours.shape, theirs.shape)
        self.assertLessEqual(float((ours - theirs).abs().max()), CLOSE)

    @torch.no_grad()
    def test_hunyuan_video(self):
        vae = tiny.hunyuan_video(block_out_channels=(32, 32, 64), norm_num_groups=32)
        made, z = Renamed(vae), random_latent(1, 4, 3, 4, 5)
        self.assert_close(self.decoded(made, z), image(vae.decode(z).sample))
        comfy = comfy_vae(tiny.kl())
        comfy.first_stage_model = made
        for latent, words in ((z, "seconds? on cpu|m?s on cpu[^;]*; decoded as the model was published"), (z[:, :, :1], r"\)$")):
            self.assertRegex(nodes().NODE_CLASS_MAPPINGS["HeadroomVAEDecode"]().decode({"samples": latent}, comfy)[1], words)

    @torch.no_grad()
    def test_hunyuan_video_15(self):
        vae = tiny.hunyuan_video_15()
        made = Renamed(vae, coarsest_first)
        made.decoder.mid.block_1.temb_proj = torch.nn.Linear(2, 2)  # ComfyUI's module has one that no decode calls
        attention = type(vae.decoder.mid_block.attentions[0])
        for frames in (1, 3):
            z = random_latent(2, 4, frames, 4, 5)
            with mock.patch.object(attention, "prepare_causal_attention_mask", lambda *_, **__: None):  # ComfyUI's attention has no mask
                theirs = vae.decode(z).sample
            self.assert_close(self.decoded(made, z), image(theirs))

    @torch.no_grad()
    def test_hunyuan_image(self):
        vae = tiny.hunyuan_image()
        z = random_latent(1, 4, 4, 5)
        made = Renamed(vae, lambda name: hunyuan_image_name(name, vae.config.layers_per_block + 1))
        self.assert_close(self.decoded(made, z), image(vae.decode(z).sample))

    @torch.no_grad()
    def test_ltx(self):
        for vae in (tiny.ltx2_video(), tiny.ltx2_video(decoder_causal=True, decoder_spatial_padding_mode="zeros"), tiny.ltx_video()):
            made, z = ltx(vae), random_latent(1, 4, 2, 4, 5)
            mean, deviation = (values.reshape(1, -1, 1, 1, 1) for values in made.per_channel_statistics.buffers())
            self.assert_close(self.decoded(made, z), image(vae.decode(z * deviation + mean).sample))

    def test_ltx_decoders_that_add_noise_are_refused(self):
        made, z = ltx(tiny.ltx2_video()), random_latent(1, 4, 2, 4, 5)
        made.decoder.up_blocks[0].res_blocks[0].inject_noise = True
        with self.assertRaisesRegex(headroom_vae.Unsupported, r"decoder\.up_blocks\.0\.res_blocks: inject_noise is True"):
            self.decoded(made, z)
        made.decoder.timestep_conditioning = True
        with self.assertRaisesRegex(headroom_vae.Unsupported, "timestep_conditioning is True: this decoder adds noise"):
            self.decoded(made, z)

    @torch.no_grad()
    def test_taesd(self):
        vae = tiny.autoencoder_tiny(num_decoder_blocks=(2, 1, 1), latent_channels=4)
        made = Renamed(vae, lambda name: ".".join(["taesd_decoder", str(int(name.split(".")[2]) + 1), *name.split(".")[3:]]))
        made.taesd_encoder = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.Conv2d(8, 8, 3, stride=2))
        made.vae_scale, made.vae_shift = torch.nn.Parameter(torch.tensor(1.5)), torch.nn.Parameter(torch.tensor(0.2))
        z = random_latent(1, 4, 4, 5)
        self.assert_close(self.decoded(made, z), image(vae.decode((z - 0.2) * 1.5).sample))
        made.taesd_decoder.get_submodule("3").skip = torch.nn.Conv2d(8, 8, 1, bias=False)
        with self.assertRaisesRegex(headroom_vae.Unsupported, r"taesd_decoder\.3\.skip\.weight: \w+ has no such tensor"):
            self.decoded(Another(made), z)

    @torch.no_grad()
    def test_taef2(self):
        torch.manual_seed(0)
        vae = TAEF2({"latent_channels": 4, "out_channels": 3, "decoder_block_out_channels": [8] * 3, "num_decoder_blocks": [2, 1, 1]})
        made = Renamed(vae, lambda name: ".".join(["taesd_decoder", str(int(name.split(".")[2]) + 1), *name.split(".")[3:]]))
        z = random_latent(1, 4, 4, 5)
        pool = made.taesd_decoder.get_submodule("3.pool")
        pool.add_module("1", vae.get_submodule("decoder.layers.2.pool.1"))
        self.assert_close(self.decoded(made, z), image(vae.decode(z)))
        pool.get_submodule("1").num_groups = 8
        with self.assertRaisesRegex(headroom_vae.Unsupported, "num_groups is 8, expected 4"):
            self.decoded(Another(made), z)

    @torch.no_grad()
    def test_taehv(self):
        for changes in ({}, {"patch_size": 2}, {"decoder_time_upscale": [True, True, True], "num_decoder_blocks": [3, 3, 3]}):
            config = {"latent_channels": 4, "out_channels": 3, "patch_size": 1, "decoder_block_out_channels": [8, 6, 6, 4], "num_decoder_blocks": [3, 3, 3],
                      "decoder_time_upscale": [False, True, True], "decoder_space_upscale": [True] * 3, **changes}  # fmt: skip
            torch.manual_seed(0)
            module, made = TAEHV(config), comfy_vae(tiny.kl())
            module.patch_size, module.frames_to_trim, module.process_in = module.patch, module.dropped, lambda latent: 1.5 * latent
            made.first_stage_model, made.process_output = module, lambda picture: picture
            for frames in (1, 3):
                z = random_latent(2, 4, frames, 4, 5)
                self.assert_close(decoded_by_node(made, z), image(module.decode(1.5 * z)))
        module.decoder[2] = torch.nn.LeakyReLU(0.2)
        with self.assertRaisesRegex(headroom_vae.Unsupported, r"decoder\.2 is LeakyReLU, expected ReLU"):
            decoded_by_node(types.SimpleNamespace(**{**vars(made), "first_stage_model": Another(module)}), z)

    @torch.no_grad()
    def test_qwen_image_21(self):
        vae = tiny.qwen21(dim_mult=[1, 2, 2, 2], num_res_blocks=2, temperal_downsample=[False, True, True])
        made, z = Renamed(vae, original_wan_22_name), random_latent(2, 4, 4, 5)
        self.assert_close(self.decoded(made, z), image(vae.decode(z[:, :, None]).sample))

    @torch.no_grad()
    def test_cogvideox(self):
        """By the names of its authors. ComfyUI has no module of its own for it."""
        vae = tiny.cogvideox(block_out_channels=(32, 32, 64), norm_num_groups=32)
        made = Renamed(vae, lambda name: cogvideox_name(name, 3))
        for frames in (1, 5):
            z = random_latent(1, 4, frames, 4, 5)
            self.assert_close(self.decoded(made, z), image(vae.decode(z).sample))
        with self.assertRaisesRegex(headroom_vae.HeadroomError, "A latent has 1 plus a multiple of 2 frames"):
            self.decoded(made, random_latent(1, 4, 2, 4, 5))

    @torch.no_grad()
    def test_kernels_without_time(self):
        """Decoders of pictures whose kernels have kept their last frame alone."""
        vae = tiny.qwen(dim_mult=[1, 1, 2, 2], num_res_blocks=2, temperal_downsample=[False, True, True])
        made = Renamed(vae, original_wan_21_name)
        for name, kernel in list(made.named_parameters()):
            if kernel.dim() == 5:
                path, _, leaf = name.rpartition(".")
                made.get_submodule(path)._parameters[leaf] = torch.nn.Parameter(kernel[:, :, -1].clone())
        z = random_latent(2, 4, 4, 5)
        self.assert_close(self.decoded(made, z), image(vae.decode(z[:, :, None]).sample))

    @torch.no_grad()
    def test_stable_video_diffusion(self):
        """ComfyUI's batch of pictures is one clip."""
        vae = tiny.temporal_decoder()
        made = Renamed(vae, lambda name: svd_name(name, 2))
        for frames in (1, 3):
            z = random_latent(frames, 4, 4, 5)
            self.assert_close(self.decoded(made, z), image(vae.decode(z, num_frames=frames).sample))
        made.decoder.mid.attn_1.time_mix_block = torch.nn.Linear(2, 2)  # a decoder whose attention mixes frames too
        with self.assertRaisesRegex(headroom_vae.Unsupported, "decoder.mid.attn_1.time_mix_block"):
            self.decoded(Another(made), random_latent(2, 4, 4, 5))

    @torch.no_grad()
    def test_seedvr2(self):
        torch.manual_seed(0)
        vae = SeedVR2({"latent_channels": 4, "out_channels": 3, "block_out_channels": (32, 32, 64), "layers_per_block": 1, "act_fn": "silu",
                       "norm_num_groups": 32, "temporal_scale_num": 2, "use_post_quant_conv": False, "attention": True})  # fmt: skip
        z = random_latent(2, 4, 3, 4, 5)
        theirs = image(vae.decode(z / 0.9152))
        self.assert_close(self.decoded(vae, z), theirs)
        self.assert_close(self.decoded(vae, z.flatten(1, 2)), theirs)  # ComfyUI's sampler makes further channels of frames
        with self.assertRaisesRegex(headroom_vae.InputError, "expected N×4×T×H×W"):
            self.decoded(vae, random_latent(1, 6, 4, 5))


class Encodes(unittest.TestCase):
    """Each family whose encoder Headroom knows, in its original names."""

    def setUp(self):
        without_gradients = torch.no_grad()
        without_gradients.__enter__()
        self.addCleanup(without_gradients.__exit__, None, None, None)

    def vae(self, module, multiple):
        made = comfy_vae(tiny.kl())
        made.first_stage_model = module
        made.vae_encode_crop_pixels = lambda pixels: cropped(pixels, multiple) if multiple else pixels
        return made

    def assert_close(self, ours, theirs):
        self.assertEqual(ours.shape, theirs.shape)
        self.assertLessEqual(float((ours - theirs).abs().max()), 1e-5 * float(theirs.abs().max()))

    def clip(self, pixels):
        return (pixels.movedim(-1, 0) * 2 - 1)[None]

    def test_hunyuan_video(self):
        made = self.vae(Renamed(vae := tiny.hunyuan_video(block_out_channels=(32, 32, 64), norm_num_groups=32), encoder=True), 4)
        for frames, kept in ((1, 1), (5, 5), (7, 5)):
            pixels = random_pixels(frames, 17, 20, 3)
            latent, report = encoded_by_node(made, pixels)
            self.assert_close(latent, vae.encode(self.clip(pixels[:kept, :16])).latent_dist.mode())
            self.assertEqual(kept > 1, "; encoded as the model was published" in report)

    def test_hunyuan_video_15(self):
        for config in ({}, {"downsample_match_channel": False}):
            vae = tiny.hunyuan_video_15(**config)
            attention = type(vae.encoder.mid_block.attentions[0])
            made = self.vae(Renamed(vae, lambda name: coarsest_first(name) if name.startswith("decoder.") else encoder_name(name), True), 4)
            made.first_stage_model.encoder.mid.block_1.temb_proj = torch.nn.Linear(2, 2)
            for frames, kept in ((1, 1), (5, 5), (7, 5)):
                pixels = random_pixels(frames, 17, 20, 3)
                with mock.patch.object(attention, "prepare_causal_attention_mask", lambda *_, **__: None):  # ComfyUI's attention has no mask
                    theirs = vae.encode(self.clip(pixels[:kept, :16])).latent_dist.mode()
                self.assert_close(encoded_by_node(made, pixels)[0], theirs)

    def test_hunyuan_image(self):
        for config in ({}, {"layers_per_block": 2}, {"block_out_channels": (32, 32, 32), "downsample_match_channel": False}):
            vae = tiny.hunyuan_image(**config)
            made = self.vae(Renamed(vae, lambda name: hunyuan_image_name(name, vae.config.layers_per_block + 1), encoder=True), 4)
            pixels = random_pixels(2, 21, 24, 3)
            theirs = vae.encode(pixels[:, :20].movedim(-1, 1) * 2 - 1).latent_dist.mode()
            self.assert_close(encoded_by_node(made, pixels)[0], theirs)

    def test_ltx_2(self):
        for vae in (
            tiny.ltx2_video(spatial_compression_ratio=16, temporal_compression_ratio=8),
            tiny.ltx2_video(encoder_spatial_padding_mode="reflect", block_out_channels=(8, 8, 16), layers_per_block=(2, 1, 1, 2),
                            spatio_temporal_scaling=(True,) * 3, down_block_types=("LTX2VideoDownBlock3D",) * 3,
                            downsample_type=("spatial", "temporal", "spatiotemporal")),
        ):  # fmt: skip
            module = ltx(vae, encoder=True)
            mean, deviation = (values.reshape(1, -1, 1, 1, 1) for values in module.per_channel_statistics.buffers())
            step = 2 ** sum("temporal" in kind for kind in vae.config.downsample_type)
            for frames, kept in ((1, 1), (1 + step, 1 + step), (step, 1)):
                pixels = random_pixels(frames, 32, 48, 3)
                theirs = (vae.encode(self.clip(pixels[:kept])).latent_dist.mode() - mean) / deviation
                self.assert_close(encoded_by_node(self.vae(module, 16), pixels)[0], theirs)

    def test_ltx_video(self):
        for config, multiple, step in ((tiny.LTX_VIDEO_ENCODER, 8, 4), ({}, 16, 8), ({"spatio_temporal_scaling": (True, False, True, True)}, 16, 8)):
            vae = tiny.ltx_video(**config)
            module = ltx(vae, encoder=True)
            mean, deviation = (values.reshape(1, -1, 1, 1, 1) for values in module.per_channel_statistics.buffers())
            for frames, kept in ((1, 1), (1 + step, 1 + step), (step, 1)):
                pixels = random_pixels(frames, 32, 48, 3)
                theirs = (vae.encode(self.clip(pixels[:kept])).latent_dist.mode() - mean) / deviation
                self.assert_close(encoded_by_node(self.vae(module, multiple), pixels)[0], theirs)

    def test_other_encoders_of_ltx_are_refused(self):
        def refused(number, replaced, message):
            module = ltx(tiny.ltx2_video(), encoder=True)
            module.encoder.down_blocks[number] = replaced
            with self.assertRaisesRegex(headroom_vae.Unsupported, message):
                encoded_by_node(self.vae(module, 16), random_pixels(1, 32, 32, 3))
            self.assertEqual(decoded_by_node(self.vae(module, 16), random_latent(1, 4, 2, 4, 5)).shape[-1], 3)

        refused(1, torch.nn.ModuleDict({"fold": torch.nn.Conv3d(4, 4, 3)}), r"encoder\.down_blocks\.1: \w+, expected residual blocks, then a downsampling by space")
        # A convolution with a stride among downsamplings by space to depth
        refused(1, torch.nn.ModuleDict({"conv": torch.nn.Conv3d(4, 4, 3, stride=2)}), r"encoder\.down_blocks\.3: \w+, expected .* by a convolution with a stride")

    def test_taesd(self):
        for config in ({}, {"num_encoder_blocks": (1, 0, 2), "num_decoder_blocks": (2, 1, 1)}):
            vae = tiny.autoencoder_tiny(**config)
            module = Renamed(vae, taesd_name, encoder=True)
            module.vae_scale, module.vae_shift = torch.nn.Parameter(torch.tensor(1.5)), torch.nn.Parameter(torch.tensor(0.2))
            pixels = random_pixels(2, 17, 20, 3)
            theirs = vae.encode(pixels[:, :16].movedim(-1, 1) * 2 - 1).latents / 1.5 + 0.2
            self.assert_close(encoded_by_node(self.vae(module, 4), pixels)[0], theirs)
        module.taesd_encoder.get_submodule("1").skip = torch.nn.Conv2d(8, 8, 1, bias=False)
        with self.assertRaisesRegex(headroom_vae.Unsupported, r"taesd_encoder\.1\.skip\.weight: \w+ has no such tensor"):
            encoded_by_node(self.vae(Another(module), 4), pixels)

    def test_taef2(self):
        torch.manual_seed(0)
        vae = TAEF2({"latent_channels": 4, "out_channels": 3, "decoder_block_out_channels": [8] * 3, "num_decoder_blocks": [2, 1, 1]})
        pixels = random_pixels(1, 16, 20, 3)
        made = self.vae(Renamed(vae, taesd_name, encoder=True), 4)
        self.assert_close(encoded_by_node(made, pixels)[0], vae.encode(pixels.movedim(-1, 1) * 2 - 1))

    def test_qwen_image_21(self):
        vae = tiny.qwen21(dim_mult=[1, 2, 2, 2], num_res_blocks=2, temperal_downsample=[False, True, True])
        made, pixels = self.vae(Renamed(vae, original_wan_22_name, True), 8), random_pixels(2, 32, 48, 4)
        made.output_channels = 4
        self.assert_close(encoded_by_node(made, pixels)[0], vae.encode(pixels.movedim(-1, 1)[:, :, None] * 2 - 1).latent_dist.mode()[:, :, 0])

    def test_seedvr2(self):
        for quant_conv in (False, True):
            torch.manual_seed(0)
            vae = SeedVR2({"latent_channels": 4, "out_channels": 3, "block_out_channels": (32, 32, 64), "layers_per_block": 1, "act_fn": "silu",
                           "norm_num_groups": 32, "temporal_scale_num": 2, "use_quant_conv": quant_conv, "use_post_quant_conv": False,
                           "attention": True})  # fmt: skip
            for frames in (1, 5):
                pixels = random_pixels(frames, 16, 20, 3)
                self.assert_close(encoded_by_node(self.vae(vae, None), pixels)[0], vae.encode(self.clip(pixels))[:, :4] * 0.9152)

    def test_families_without_an_encoder(self):
        module = Renamed(tiny.hunyuan_image(), lambda name: hunyuan_image_name(name, 2))
        with self.assertRaisesRegex(headroom_vae.Unsupported, "this VAE has no encoder. Use ComfyUI's VAE Encode"):
            encoded_by_node(self.vae(module, 8), random_pixels(1, 32, 32, 3))


def taesd_name(name: str) -> str:
    """The original name of a tensor of AutoencoderTiny. The decoder's sequence begins with a clamp."""
    side, _, number, *rest = name.split(".")
    return ".".join([f"taesd_{side}", str(int(number) + (side == "decoder")), *rest])


def encoder_name(name: str) -> str:
    """The original name of a tensor of HunyuanVideo 1.5's encoder."""
    return original_name(name.replace(".norm.gamma", ".group_norm.gamma").replace(".proj_out.", ".to_out."), 0)


class Another(torch.nn.Module):
    """Another module of the same tensors. The nodes know modules by identity."""

    def __init__(self, module):
        super().__init__()
        self._modules, self._parameters = module._modules, module._parameters


def zeros(**shapes: tuple) -> dict[str, torch.Tensor]:
    return {name.replace("__", "."): torch.zeros(shape) for name, shape in shapes.items()}


LTX_2 = {
    "dims": 3, "latent_channels": 128, "encoder_blocks": [["res_x", {"num_layers": 1}]], "norm_layer": "pixel_norm", "patch_size": 4,
    "decoder_blocks": [["res_x", {"num_layers": 5}], *[["compress_all", {"residual": True, "multiplier": 2}], ["res_x", {"num_layers": 5}]] * 3],
    "latent_log_var": "uniform", "causal_decoder": False, "timestep_conditioning": False, "spatial_padding_mode": "zeros",
}  # fmt: skip
SD_UP = {"decoder__up__3__upsample__conv__weight": (512, 512, 3, 3)}
WAN = {"decoder__middle__0__residual__0__gamma": (384, 1, 1, 1), "decoder__head__0__gamma": (96, 1, 1, 1), "encoder__conv1__weight": (96, 3, 3, 3, 3)}

FAMILIES = {
    "Stable Diffusion": (zeros(decoder__conv_in__weight=(512, 4, 3, 3), post_quant_conv__weight=(4, 4, 1, 1), **SD_UP), [(2, 4, 5, 6)]),
    "FLUX": (zeros(decoder__conv_in__weight=(512, 16, 3, 3), **SD_UP), [(1, 16, 5, 6)]),
    "FLUX.2": (zeros(decoder__conv_in__weight=(512, 32, 3, 3), decoder__post_quant_conv__weight=(32, 32, 1, 1), bn__running_mean=(128,), **SD_UP),
               [(1, 128, 3, 4)]),
    "FLUX.2 small": (zeros(decoder__conv_in__weight=(384, 32, 3, 3), decoder__post_quant_conv__weight=(32, 32, 1, 1), bn__running_mean=(128,),
                           decoder__up__3__upsample__conv__weight=(384, 384, 3, 3)), [(1, 128, 3, 4)]),
    "LTX-2": (zeros(decoder__up_blocks__0__res_blocks__0__conv1__conv__weight=(1024, 1024, 3, 3, 3)), [(1, 128, 1, 2, 3), (1, 128, 3, 2, 3)]),
    "LTX-Video": (zeros(decoder__up_blocks__0__res_blocks__0__conv1__conv__weight=(512, 512, 3, 3, 3)), [(1, 128, 1, 2, 3), (1, 128, 3, 2, 3)]),
    "HunyuanVideo 1.5": (zeros(decoder__conv_in__conv__weight=(1024, 32, 3, 3, 3)), [(1, 32, 1, 2, 3), (1, 32, 4, 2, 3)]),
    "HunyuanVideo": (zeros(decoder__conv_in__conv__weight=(512, 16, 3, 3, 3), post_quant_conv__weight=(16, 16, 1, 1, 1)), [(1, 16, 1, 3, 4)]),
    "HunyuanImage": (zeros(decoder__conv_in__weight=(1024, 64, 3, 3)), [(1, 64, 2, 3)]),
    "TAESD": (zeros(taesd_decoder__1__weight=(64, 4, 3, 3)), [(2, 4, 5, 6)]),
    "TAEF1": (zeros(taesd_decoder__1__weight=(64, 16, 3, 3)), [(1, 16, 5, 6)]),
    "Wan 2.1, Qwen-Image": (zeros(**WAN, decoder__head__2__weight=(3, 96, 3, 3, 3)), [(1, 16, 1, 3, 4), (1, 16, 3, 3, 4)]),
    "Wan 2.1 with 12 channels": (zeros(**WAN, decoder__head__2__weight=(12, 96, 3, 3, 3)), [(1, 16, 1, 3, 4), (1, 16, 3, 3, 4)]),
    "Wan 2.2": (zeros(decoder__middle__0__residual__0__gamma=(1024, 1, 1, 1),
                      decoder__upsamples__0__upsamples__0__residual__2__weight=(1024, 1024, 3, 3, 3)), [(1, 48, 3, 2, 3)]),
}  # fmt: skip
"""The tensors that comfy.sd.VAE recognises each family by, and shapes of latents as ComfyUI holds them."""


LTX_2_ENCODER = [
    ["res_x", {"num_layers": 4}], ["compress_space_res", {"multiplier": 2}], ["res_x", {"num_layers": 6}], ["compress_time_res", {"multiplier": 2}],
    ["res_x", {"num_layers": 6}], ["compress_all_res", {"multiplier": 2}], ["res_x", {"num_layers": 2}], ["compress_all_res", {"multiplier": 2}],
    ["res_x", {"num_layers": 2}],
]  # fmt: skip
PIXELS = {
    "Stable Diffusion": [(2, 70, 52, 3)],
    "FLUX": [(1, 64, 48, 4)],
    "Wan 2.1, Qwen-Image": [(1, 64, 50, 3), (7, 48, 32, 3)],
    "Wan 2.2": [(1, 64, 48, 3), (6, 48, 32, 3)],
    "LTX-2": [(1, 64, 96, 3), (9, 64, 96, 3)],
    "LTX-Video": [(1, 64, 96, 3), (9, 64, 96, 3)],
    "HunyuanVideo": [(1, 64, 96, 3)],
}
"""Shapes of pictures for the families that this version of ComfyUI encodes as Headroom does."""


def fill(module: torch.nn.Module, encoder: bool = False) -> None:
    """Gives the decoder random weights that keep activations near 1, and the encoder if asked."""
    generator = torch.Generator().manual_seed(0)
    unused = () if encoder else ("encoder.", "taesd_encoder.", "quant_conv.")
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if name.startswith(unused) or "scale_shift_table" in name or not tensor.is_floating_point():
            continue
        leaf = name.rpartition(".")[2]
        if tensor.dim() == 0:
            tensor.fill_(1.3 if "scale" in leaf else 0.1)
        elif tensor.dim() > 1 and leaf == "weight":
            tensor.copy_(torch.randn(tensor.shape, generator=generator) / math.sqrt(tensor[0].numel()))
        elif leaf in ("weight", "gamma", "running_var", "std-of-means"):
            tensor.copy_(1 + 0.2 * torch.rand(tensor.shape, generator=generator))
        else:
            tensor.copy_(0.1 * torch.randn(tensor.shape, generator=generator))


@unittest.skipUnless(comfyui_stand_in.CLONE, "HEADROOM_COMFYUI names no clone of ComfyUI: its own comfy.sd.VAE was not tried")
class InComfyUI(unittest.TestCase):
    table: list[str] = []

    @classmethod
    def tearDownClass(cls):
        print("\n" + "\n".join(["| decoder | latent | largest difference |", "|---|---|---|", *cls.table]))

    def compare(self, name, vae, latent, theirs):
        theirs = theirs.flatten(0, 1) if theirs.dim() == 5 else theirs
        if theirs.shape[-1] == 12:
            theirs = torch.nn.functional.pixel_shuffle(theirs.movedim(-1, 1), 2).movedim(1, -1)
        ours = decoded_by_node(vae, latent)
        self.assertEqual(ours.shape, theirs.shape)
        self.assertGreater(float(theirs.std()), 0.05)  # a picture, not grey
        difference = float((ours - theirs).abs().max())
        self.table.append(f"| {name} | {'×'.join(map(str, latent.shape))} | {difference:.1e} |")
        self.assertLessEqual(difference, CLOSE)

    @torch.no_grad()
    def test_every_family_gives_comfyuis_own_pixels(self):
        import comfy.sd

        for name, (tensors, shapes) in FAMILIES.items():
            if "decoder.post_quant_conv.weight" in tensors:
                tensors = {**tensors, "post_quant_conv.weight": tensors["decoder.post_quant_conv.weight"]}
            with self.subTest(name):
                vae = comfy.sd.VAE(sd=tensors, metadata={"config": json.dumps({"vae": LTX_2})} if name == "LTX-2" else None)
                fill(vae.first_stage_model)
                for shape in shapes:
                    latent = random_latent(*shape)
                    self.compare(name, vae, latent, vae.decode(latent.clone()))
                changed = [part for part in vae.first_stage_model.modules() if max(getattr(part, "kernel_size", (1,))) > 1][-1]
                changed.padding_mode = "circular"
                with self.assertRaisesRegex(headroom_vae.Unsupported, "padding_mode is 'circular'"):
                    decoded_by_node(vae, latent)

    @torch.no_grad()
    def test_encodes_give_comfyuis_own_latents(self):
        import comfy.sd

        for name, shapes in PIXELS.items():
            config = {**LTX_2, "encoder_blocks": LTX_2_ENCODER}
            with self.subTest(name):
                vae = comfy.sd.VAE(sd=FAMILIES[name][0], metadata={"config": json.dumps({"vae": config})} if name == "LTX-2" else None)
                fill(vae.first_stage_model, encoder=True)
                for shape in shapes:
                    pixels = random_pixels(*shape)
                    theirs, ours = vae.encode(pixels[..., :3]), encoded_by_node(vae, pixels, limit_gib=0)[0]
                    self.assertEqual(ours.shape, theirs.shape)
                    self.assertGreater(float(theirs.std()), 0.05)
                    self.assertLessEqual(float((ours - theirs).abs().max()), 1e-5 * float(theirs.abs().max()))
                for part in vae.first_stage_model.encoder.modules():
                    if max(getattr(part, "kernel_size", (1,))) > 1:
                        part.padding_mode, before = "circular", part.padding_mode
                        with self.assertRaisesRegex(headroom_vae.Unsupported, "padding_mode is 'circular'.*The encode would ignore this"):
                            encoded_by_node(vae, pixels)
                        part.padding_mode = before

    def test_other_decoders_of_comfyui_are_refused(self):
        from comfy.ldm.cosmos.vae import CausalContinuousVideoTokenizer

        cosmos = {"z_channels": 16, "latent_channels": 16, "z_factor": 1, "resolution": 1024, "in_channels": 3, "out_channels": 3, "channels": 32,
                  "channels_mult": [2, 4, 4], "num_res_blocks": 2, "attn_resolutions": [32], "dropout": 0.0, "patch_size": 4, "num_groups": 1,
                  "temporal_compression": 8, "spacial_compression": 8}  # fmt: skip
        vae = types.SimpleNamespace(first_stage_model=CausalContinuousVideoTokenizer(**cosmos))
        with self.assertRaisesRegex(headroom_vae.Unsupported, "original tensor names.*Use ComfyUI's own nodes for this VAE$"):
            decoded_by_node(vae, random_latent(1, 16, 1, 4, 4))

    @torch.no_grad()
    def test_qwen_image_21_by_comfyuis_module_of_wan_22(self):
        """Later versions of ComfyUI decode Qwen-Image 2.1 with this module. It has kernels of one frame there."""
        from comfy.ldm.wan import vae2_2

        causal = vae2_2.CausalConv3d

        def of_one_frame(inputs, outputs, kernel, padding=0, stride=1):
            kernel, padding = ((1, *kernel[1:]), (0, *padding[1:])) if isinstance(kernel, tuple) else ((1, kernel, kernel), (0, padding, padding))
            return causal(inputs, outputs, kernel, padding=padding, stride=stride)

        with mock.patch.object(vae2_2, "CausalConv3d", of_one_frame):
            module = vae2_2.WanVAE(dim=32, dec_dim=48, z_dim=64, dim_mult=[1, 2, 4, 8, 8], temperal_downsample=[False, True, True, True]).eval()
            module.decoder.head[2] = of_one_frame(48, 4, 3, padding=1)
        fill(module)
        vae = types.SimpleNamespace(first_stage_model=module, vae_dtype=torch.float32, device=torch.device("cpu"))
        vae.process_output = lambda picture: torch.clamp((picture + 1) / 2, 0, 1)
        z = random_latent(1, 64, 3, 4)
        cache = [None] * vae2_2.count_conv3d(module.decoder)
        sample = module.decoder(module.conv2(z[:, :, None]), feat_cache=cache, feat_idx=[0], first_chunk=True)
        self.compare("Qwen-Image 2.1", vae, z, image(sample))


if __name__ == "__main__":
    unittest.main()
