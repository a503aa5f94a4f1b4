"""Tests the ComfyUI nodes on a stand-in for comfy.sd.VAE. comfyui_families_test.py tries every family of decoders."""

from __future__ import annotations

import importlib.util
import json
import logging
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import types
import unittest
from unittest import mock

import comfyui_stand_in
import headroom_vae
import tiny
import torch
from headroom_vae import device
from headroom_vae.checkpoints import known_model
from headroom_vae.module import ModuleDecoder

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


def flux2():
    return tiny.flux2(layers_per_block=2, decoder_block_out_channels=(32, 64, 64, 96))


def flux2_picture(vae, latent):
    """Decodes by diffusers, after ComfyUI's own preprocessing of a latent of patches."""
    mean, variance = (t.reshape(1, -1, 1, 1) for t in (vae.bn.running_mean, vae.bn.running_var))
    z = torch.nn.functional.pixel_shuffle(latent * torch.sqrt(variance + 1e-4) + mean, 2)
    return torch.clamp((vae.decode(z).sample + 1) / 2, 0, 1).movedim(1, -1)


class Nodes(unittest.TestCase):
    def setUp(self):
        logging.disable(logging.NOTSET)
        self.addCleanup(logging.disable, logging.WARNING)

    def vae(self):
        return tiny.kl(block_out_channels=(32, 64, 64), layers_per_block=2, down_block_types=("DownEncoderBlock2D",) * 3,
                       up_block_types=("UpDecoderBlock2D",) * 3)  # fmt: skip

    @torch.no_grad()
    def test_decode(self):
        vae = self.vae()
        z = torch.randn(2, 4, 9, 7, generator=torch.Generator().manual_seed(0))
        theirs = torch.clamp((vae.decode(z).sample + 1) / 2, 0, 1).movedim(1, -1)
        node = nodes().NODE_CLASS_MAPPINGS["HeadroomVAEDecode"]
        made = comfy_vae(vae)
        ours, report = getattr(node(), node.FUNCTION)({"samples": z}, made, limit_gib=1 / 32)
        self.assertEqual(ours.shape, (2, 36, 28, 3))
        self.assertLessEqual(float((ours - theirs).abs().max()), 1e-4)
        message = (r"^VAE Decode \(Headroom\): this picture needs more than limit_gib 0\.000976562\. Set limit_gib to (0\.0\d+) or more\..* "
                   r"Details: 28x36 does not fit 1\.0 MiB; the smallest")  # fmt: skip
        with self.assertRaisesRegex(headroom_vae.DoesNotFit, message) as refused:
            node().decode({"samples": z}, made, limit_gib=1 / 1024)
        self.assertNotIn("dtype=", str(refused.exception))
        self.assertNotIn("scratch=", str(refused.exception))
        self.assertNotIn("\n", str(refused.exception))
        named = float(re.match(message, str(refused.exception))[1])
        self.assertLessEqual(float((node().decode({"samples": z}, made, limit_gib=named)[0] - ours).abs().max()), 1e-5)
        self.assertRegex(report, r"^[0-9.]+ m?s on cpu, peak [0-9.]+ [KM]iB \(predicted [0-9.]+ [KM]iB\)$")

    def test_remedies_are_those_of_a_node(self):
        text = ("64x64 does not fit 1.0 GiB; the smallest limit that works is 4096MiB (4294967296 bytes); with dtype=bf16 it needs 2048MiB; with scratch=DIR "
                "it takes 1.0 s and 3MiB there; with host_limit it takes 1.0 s. Pass 3 (up1) needs the most: up1 1.0 GiB; limit='auto' is 1.0 GiB")  # fmt: skip
        remedies = ({"change": "dtype=bf16", "fits": False, "smallest_limit_bytes": 2 << 30}, {"change": "dtype=fp16", "fits": True},
                    {"change": "scratch=DIR", "fits": True}, {"change": "host_limit", "fits": True})  # fmt: skip
        refused = headroom_vae.DoesNotFit(text, 4 << 30, remedies)
        advice = ("Or start ComfyUI with --bf16-vae: then 2 GiB suffice. Or set scratch to a folder on a disk. Details: 64x64 does not fit 1.0 GiB; the "
                  "smallest limit that works is 4096MiB (4294967296 bytes). Pass 3 (up1) needs the most: up1 1.0 GiB; limit_gib 0 is 1.0 GiB")  # fmt: skip
        module = sys.modules[nodes().NODE_CLASS_MAPPINGS["HeadroomVAEDecode"].__module__]
        self.assertEqual(module._advice(refused, "clip", 1.0), f"this clip needs more than limit_gib 1. Set limit_gib to 4 or more. {advice}")
        self.assertEqual(module._advice(refused, "clip", 0.0), f"this clip needs 4 GiB, and less is free. Close other programs. {advice}")
        self.assertEqual(module._advice(headroom_vae.OutOfGpuMemory("torch refused 1.0 GiB"), "clip", 0.0), "torch refused 1.0 GiB")

    def test_estimate(self):
        made = comfy_vae(self.vae())
        node = nodes().NODE_CLASS_MAPPINGS["HeadroomVAEMemory"]
        vae, text = getattr(node(), node.FUNCTION)(made)
        self.assertIs(vae.first_stage_model, made.first_stage_model)
        self.assertEqual(made.memory_used_decode((1, 4, 32, 32), torch.float16), 7)  # the shared VAE stays as it is
        small, large = (vae.memory_used_decode((1, 4, side, side), torch.float16) for side in (32, 64))
        self.assertGreater(small, 1 << 20)
        self.assertGreater(large, 2 * small)
        self.assertIn("4 latent channels", text)

    @torch.no_grad()
    def test_flux2_latents_are_patches_that_a_batch_norm_normalises(self):
        vae = flux2()
        made, z = comfy_vae(vae), torch.randn(2, 16, 3, 4, generator=torch.Generator().manual_seed(0))
        ours, theirs = decoded_by_node(made, z), flux2_picture(vae, z)
        self.assertEqual(ours.shape, theirs.shape)
        self.assertLessEqual(float((ours - theirs).abs().max()), 1e-4)
        with self.assertRaisesRegex(headroom_vae.InputError, "expected N×16×H×W, found 1×4×6×8"):
            decoded_by_node(made, torch.zeros(1, 4, 6, 8))

    def test_the_estimate_of_flux2_is_that_of_its_decoder(self):
        vae = flux2()
        made, text = nodes().NODE_CLASS_MAPPINGS["HeadroomVAEMemory"]().estimate(comfy_vae(vae))
        known = headroom_vae.predict(vae, 48, 64, batch=2, dtype=torch.float16, device="cuda").untiled_peak_bytes
        self.assertEqual(made.memory_used_decode((2, 16, 3, 4), torch.float16), known)
        self.assertIn("AutoencoderKLFlux2", text)

    def test_nothing_that_the_estimate_finds_breaks_comfyuis_own_decode(self):
        node = nodes().NODE_CLASS_MAPPINGS["HeadroomVAEMemory"]()
        made, _ = node.estimate(comfy_vae(self.vae()))
        made, _ = node.estimate(made)  # a second time, like a workflow that runs twice
        with self.assertLogs("headroom", "WARNING") as logged:
            for shape in ((1, 128, 3, 4), (1, 4, 0, 4), (1, 4), (), (1, 4, 10**9, 4), ("a",), None):
                self.assertEqual(made.memory_used_decode(shape, torch.float16), 7, shape)
            self.assertEqual(made.memory_used_decode((1, 4, 3, 4), torch.int8), 7)
        self.assertIn("leaves ComfyUI's own", logged.output[0])
        for module in (torch.nn.Linear(2, 2), None):
            other = types.SimpleNamespace(first_stage_model=module, memory_used_decode=lambda shape, dtype: 9)
            vae, text = node.estimate(other)
            self.assertIsNot(vae, other)
            self.assertEqual(vae.memory_used_decode((1, 4, 3, 4), torch.float16), 9)
            self.assertIn("ComfyUI's own estimate: vae: ", text)

    @torch.no_grad()
    def test_of_nested_latents_the_first_is_decoded(self):
        made, z = comfy_vae(self.vae()), torch.randn(1, 4, 6, 5)
        self.assertTrue(torch.equal(decoded_by_node(made, Nested(z, torch.randn(1, 8, 20))), decoded_by_node(made, z)))

    @torch.no_grad()
    def test_of_a_clip_in_a_vae_of_pictures_the_first_frame_is_decoded(self):
        made, z = comfy_vae(self.vae()), torch.randn(1, 4, 3, 6, 5)
        ours = decoded_by_node(made, z)
        self.assertEqual(ours.shape, (1, 24, 20, 3))
        self.assertTrue(torch.equal(ours, decoded_by_node(made, z[:, :, 0])))
        estimated, _ = nodes().NODE_CLASS_MAPPINGS["HeadroomVAEMemory"]().estimate(made)
        self.assertEqual(estimated.memory_used_decode(z.shape, torch.float32), estimated.memory_used_decode(z[:, :, 0].shape, torch.float32))

    @torch.no_grad()
    def test_twelve_channels_are_pixels_side_by_side(self):
        vae = tiny.wan(dim_mult=[1, 1, 2, 2], num_res_blocks=2, out_channels=12)
        made, z = comfy_vae(vae, original_wan_21_name), torch.randn(1, 16, 2, 3, 4, generator=torch.Generator().manual_seed(0))
        theirs = torch.clamp((vae.decode(z).sample + 1) / 2, 0, 1)
        ours = decoded_by_node(made, z)
        self.assertEqual(ours.shape, (5, 48, 64, 3))
        for row, column, channel in ((0, 0, 0), (0, 1, 1), (1, 0, 2), (1, 1, 0)):
            of_theirs = theirs[0, 4 * channel + 2 * row + column]
            self.assertLessEqual(float((ours[:, row::2, column::2, channel] - of_theirs).abs().max()), 1e-4)
        shuffled = made.process_output
        made.process_output = lambda image: shuffled(torch.nn.functional.pixel_shuffle(image.movedim(1, 2), 2).movedim(1, 2))
        self.assertTrue(torch.equal(decoded_by_node(made, z), ours))

    @torch.no_grad()
    def test_other_numbers_of_channels_are_refused_by_their_number(self):
        made = comfy_vae(self.vae())
        made.first_stage_model = Renamed(tiny.kl(out_channels=5, layers_per_block=2))
        with self.assertRaisesRegex(headroom_vae.Unsupported, "its pictures have 5 channels; expected 1, 3, 4, or 12"):
            decoded_by_node(made, torch.zeros(1, 4, 3, 4))

    def test_odd_inputs_are_refused_in_one_line(self):
        made, z = comfy_vae(self.vae()), torch.zeros(1, 4, 3, 4)
        for samples, vae, options, message in (
            (None, made, {}, "samples: expected a latent, found NoneType"),
            ({}, made, {}, "samples: expected a latent, found dict"),
            ({"samples": [z]}, made, {}, "samples: expected a latent, found list"),
            ({"samples": torch.zeros(1, 8, 20)}, made, {}, "found 1×8×20"),
            ({"samples": torch.zeros(1, 16, 3, 4)}, made, {}, "expected N×4×H×W, found 1×16×3×4"),
            ({"samples": z}, None, {}, "vae: expected a VAE as ComfyUI's Load VAE gives it, found NoneType"),
            ({"samples": z}, types.SimpleNamespace(first_stage_model=None), {}, "found SimpleNamespace without a model"),
            ({"samples": z}, types.SimpleNamespace(first_stage_model=torch.nn.Linear(2, 2)), {}, "original tensor names of Stable Diffusion"),
            ({"samples": z}, made, {"limit_gib": "much"}, "limit_gib: expected GiB, or 0 for what is free, found 'much'"),
            ({"samples": z}, made, {"limit_gib": -1.0}, "found -1.0"),
            ({"samples": z}, made, {"limit_gib": math.nan}, "found nan"),
            ({"samples": z}, made, {"limit_gib": math.inf}, "found inf"),
            ({"samples": z}, made, {"limit_gib": 1e9}, "limit_gib: expected at most the [0-9.]+ GiB of memory that cpu has, .* found 1e.09"),
        ):
            with self.subTest(message), self.assertRaisesRegex(headroom_vae.InputError, message) as refused:
                nodes().NODE_CLASS_MAPPINGS["HeadroomVAEDecode"]().decode(samples, vae, **options)
            self.assertNotIn("\n", str(refused.exception))

    @torch.no_grad()
    def test_a_limit_ends_at_the_memory_of_the_control_group(self):
        made, z = comfy_vae(self.vae()), torch.randn(1, 4, 3, 4)
        with mock.patch("headroom_vae._core.memory_bytes", lambda: 3 << 30):
            self.assertEqual(decoded_by_node(made, z, limit_gib=3).shape, (1, 12, 16, 3))
            message = "limit_gib: expected at most the 3.0 GiB of memory that cpu has, or 0 for what is free, found 4"
            with self.assertRaisesRegex(headroom_vae.InputError, message):
                decoded_by_node(made, z, limit_gib=4)

    @torch.no_grad()
    def test_scratch_folders_are_those_that_the_server_allows(self):
        made, z = comfy_vae(self.vae()), torch.randn(1, 4, 6, 5)
        with tempfile.TemporaryDirectory() as folder:
            temporary, allowed, elsewhere = (pathlib.Path(folder, name) for name in ("temp", "allowed", "elsewhere"))
            (allowed / "below").mkdir(parents=True)
            elsewhere.mkdir()
            (allowed / "link").symlink_to(elsewhere)
            comfyui = {"folder_paths": types.SimpleNamespace(get_temp_directory=lambda: str(temporary))}

            def messages(*folders):
                found = set()
                for each in folders:
                    with self.assertRaises(headroom_vae.InputError) as refused:
                        decoded_by_node(made, z, scratch=str(each))
                    found.add(str(refused.exception))
                return found

            refused = [elsewhere, folder, "/etc", "/no/such/folder", allowed / "link", allowed / "..", f"{allowed}2", "a\0b", "\ud800"]
            self.assertEqual(len(messages(allowed, temporary, *refused)), 1)
            with mock.patch.dict(sys.modules, comfyui), mock.patch.dict(os.environ, {"HEADROOM_COMFYUI_SCRATCH": str(allowed)}):
                for each in (allowed, allowed / "below", temporary):
                    self.assertEqual(decoded_by_node(made, z, scratch=str(each)).shape, (1, 24, 20, 3))
                (message,) = messages(*refused, allowed / "none")
                self.assertIn("HEADROOM_COMFYUI_SCRATCH", message)

    def test_a_vae_on_a_gpu_is_never_decoded_on_the_cpu(self):
        made, z = comfy_vae(self.vae()), torch.randn(1, 4, 3, 4)
        for where, words in (("cuda", "cuda: Headroom was built for the CPU only.*start ComfyUI"), ("cuda:1", "cuda:1: Headroom uses the first GPU.*or"),
                             ("mps", "mps: Headroom runs on the CPU and on NVIDIA GPUs. To use the CPU, start ComfyUI")):  # fmt: skip
            made.device = torch.device(where)
            with mock.patch.object(device, "GPU_MODULE", pathlib.Path("/nowhere/headroom-cuda-lent.so")):
                with self.assertRaisesRegex(headroom_vae.Unsupported, f"^{words} with --cpu-vae$") as refused:
                    decoded_by_node(made, z)
            self.assertNotIn("\n", str(refused.exception))

    @torch.no_grad()
    def test_the_decode_runs_in_the_dtype_that_comfyui_chose(self):
        vae = self.vae()
        made, z = comfy_vae(vae), torch.randn(1, 4, 6, 5)
        exact = decoded_by_node(made, z)
        made.first_stage_model.half()  # as in a file of 16-bit weights
        rounded = decoded_by_node(made, z)
        made.vae_dtype = torch.bfloat16
        coarse = decoded_by_node(made, z)
        self.assertEqual(coarse.dtype, torch.float32)
        self.assertLess(float((rounded - exact).abs().max()), 5e-3)
        self.assertLess(1e-4, float((coarse - rounded).abs().max()))
        self.assertLess(float((coarse - rounded).abs().max()), 0.05)

    def test_weights_with_patches_are_refused(self):
        made = comfy_vae(self.vae())
        made.patcher = types.SimpleNamespace(patches={"decoder.conv_in.weight": [1]})
        with self.assertRaisesRegex(headroom_vae.Unsupported, "patches, such as a LoRA"):
            decoded_by_node(made, torch.zeros(1, 4, 3, 4))

    @torch.no_grad()
    def test_progress_with_previews_of_the_rows_that_are_done(self):
        if comfyui_stand_in.CLONE:
            self.skipTest("looks at what the stand-in recorded")
        from comfy.cli_args import LatentPreviewMethod, args

        made, z = comfy_vae(self.vae()), torch.randn(1, 4, 40, 36)
        node = nodes()
        often = mock.patch.object(sys.modules["headroom_nodes.progress"], "PREVIEW_SECONDS", 0)
        with often, mock.patch.object(args, "preview_method", LatentPreviewMethod.Auto):
            node.NODE_CLASS_MAPPINGS["HeadroomVAEDecode"]().decode({"samples": z}, made, limit_gib=1 / 32)
        shown = comfyui_stand_in.ProgressBar.shown
        values = [value for value, _, _ in shown]
        self.assertEqual(values, sorted(values))
        kind, picture, side = shown[-1][2]
        self.assertEqual((kind, picture.size, side), ("JPEG", (144, 160), 512))
        decoded_by_node(made, z)
        self.assertTrue(all(preview is None for _, _, preview in comfyui_stand_in.ProgressBar.shown))

    def test_previews_show_rows_and_frames_that_are_done(self):
        module = nodes()
        made, picture = comfy_vae(self.vae()), torch.zeros(1, 3, 3, 20, 30)
        picture[:, :, 1, :10] = 1
        shown = sys.modules["headroom_nodes.progress"].preview_of(made, picture, 15)
        self.assertIsNotNone(module)
        self.assertEqual(shown.size, (15, 10))
        self.assertEqual([shown.getpixel((3, row)) for row in (4, 5)], [(255, 255, 255), (127, 127, 127)])

    @torch.no_grad()
    def test_interrupt_ends_the_decode(self):
        from comfy import model_management

        made, z = comfy_vae(self.vae()), torch.randn(1, 4, 40, 36)
        interrupted = getattr(model_management, "InterruptProcessingException", comfyui_stand_in.Interrupted)
        if comfyui_stand_in.CLONE:
            model_management.interrupt_current_processing()
        else:
            model_management.interrupted = True
        with self.assertRaises(interrupted):
            decoded_by_node(made, z)
        self.assertEqual(decoded_by_node(made, z).shape, (1, 160, 144, 3))

    def test_what_comfyui_asks_of_a_node(self):
        module = nodes()
        self.assertEqual(set(module.NODE_CLASS_MAPPINGS), set(module.NODE_DISPLAY_NAME_MAPPINGS))
        for node in module.NODE_CLASS_MAPPINGS.values():
            self.assertTrue(callable(getattr(node, node.FUNCTION)))
            self.assertIn("vae", node.INPUT_TYPES()["required"])
            self.assertTrue(node.RETURN_TYPES)

    def test_configs_from_shapes(self):
        _, model = known_model(Renamed(self.vae()).state_dict())
        self.assertEqual((model.class_name, model.latent_channels), ("AutoencoderKL", 4))
        with self.assertRaisesRegex(headroom_vae.Unsupported, "original tensor names of Stable Diffusion"):
            known_model({"encoder.weight": torch.zeros(1)})
        with self.assertRaisesRegex(headroom_vae.Unsupported, "mix_factor"):
            known_model({"decoder.mid.block_1.norm1.weight": torch.zeros(1), "decoder.mid.block_1.mix_factor": torch.zeros(1)})
        with self.assertRaisesRegex(headroom_vae.Unsupported, "no tensor decoder.conv_in.weight"):
            known_model({"decoder.mid.block_1.norm1.weight": torch.zeros(1)})

    @torch.no_grad()
    def test_wan_2_2_by_its_original_names(self):
        vae = tiny.wan22(dim_mult=[1, 2, 4, 4], num_res_blocks=2, temperal_downsample=[False, True, True])
        made = Renamed(vae, original_wan_22_name)
        _, model = known_model(made.state_dict())
        self.assertEqual((model.class_name, model.latent_channels), ("AutoencoderKLWan", 4))
        for frames in (1, 2):
            z = torch.randn(1, 4, frames, 3, 5, generator=torch.Generator().manual_seed(0))
            theirs = vae.decode(z).sample
            ours = ModuleDecoder(made, model).decode(z, limit="256MiB")
            self.assertLessEqual(float((ours - theirs).abs().max()), 1e-4 * float(theirs.abs().max()))


class Encodes(unittest.TestCase):
    """VAE Encode (Headroom) against diffusers' own encode."""

    def setUp(self):
        logging.disable(logging.WARNING)
        without_gradients = torch.no_grad()
        without_gradients.__enter__()
        self.addCleanup(without_gradients.__exit__, None, None, None)

    def vae(self, **config):
        return tiny.kl(block_out_channels=(32, 64, 64), layers_per_block=2, down_block_types=("DownEncoderBlock2D",) * 3,
                       up_block_types=("UpDecoderBlock2D",) * 3, **config)  # fmt: skip

    def assert_close(self, ours, theirs):
        self.assertEqual(ours.shape, theirs.shape)
        self.assertEqual(ours.dtype, torch.float32)
        self.assertLessEqual(float((ours - theirs).abs().max()), 1e-5 * float(theirs.abs().max()))

    def test_stable_diffusion(self):
        for config in ({}, {"use_quant_conv": False, "use_post_quant_conv": False, "latent_channels": 16}):
            vae, pixels = self.vae(**config), random_pixels(2, 36, 28, 3)
            made = comfy_vae(vae, multiple=4)
            ours, report = encoded_by_node(made, pixels)
            self.assert_close(ours, vae.encode(pixels.movedim(-1, 1) * 2 - 1).latent_dist.mode())
            self.assertRegex(report, r"^encode: [0-9.]+ m?s on cpu, peak [0-9.]+ [KM]iB \(predicted [0-9.]+ [KM]iB\)$")
            z = torch.randn(1, vae.config.latent_channels, 9, 7, generator=torch.Generator().manual_seed(0))
            theirs = torch.clamp((vae.decode(z).sample + 1) / 2, 0, 1).movedim(1, -1)
            self.assertLessEqual(float((decoded_by_node(made, z) - theirs).abs().max()), 1e-4)
            self.assert_close(encoded_by_node(made, pixels)[0], ours)

    def test_sides_are_cropped_from_the_middle_and_further_channels_are_dropped(self):
        vae, pixels = self.vae(), random_pixels(1, 38, 31, 4)
        ours, report = encoded_by_node(comfy_vae(vae, multiple=4), pixels)
        self.assert_close(ours, vae.encode(pixels[:, 1:37, 1:29, :3].movedim(-1, 1) * 2 - 1).latent_dist.mode())
        self.assertRegex(report, r"\); cropped from 31×38 to 28×36 pixels$")

    def test_a_limit_that_is_too_small_names_the_smallest(self):
        made, pixels = comfy_vae(self.vae(), multiple=4), random_pixels(1, 64, 64, 3)
        message = r"^VAE Encode \(Headroom\): this picture needs more than limit_gib 0\.000244141\. Set limit_gib to (0\.0\d+) or more\. "
        with self.assertRaisesRegex(headroom_vae.DoesNotFit, message) as refused:
            encoded_by_node(made, pixels, limit_gib=1 / 4096)
        named = float(re.match(message, str(refused.exception))[1])
        self.assert_close(encoded_by_node(made, pixels, limit_gib=named)[0], encoded_by_node(made, pixels, limit_gib=0)[0])

    def test_flux2_latents_are_normalised_patches(self):
        for config in ({}, {"decoder_block_out_channels": (64, 64, 96, 96)}):
            vae, pixels = tiny.flux2(layers_per_block=2, **config), random_pixels(1, 48, 80, 3)
            ours, _ = encoded_by_node(comfy_vae(vae, multiple=16), pixels)
            mode = vae.encode(pixels.movedim(-1, 1) * 2 - 1).latent_dist.mode()
            mean, variance = (t.reshape(1, -1, 1, 1) for t in (vae.bn.running_mean, vae.bn.running_var))
            self.assert_close(ours, (torch.nn.functional.pixel_unshuffle(mode, 2) - mean) / torch.sqrt(variance + 1e-4))

    def test_a_batch_is_one_clip_for_wan(self):
        for vae, renamed, multiple in (
            (tiny.wan(dim_mult=[1, 1, 2, 2], num_res_blocks=2), original_wan_21_name, 8),
            (tiny.wan(dim_mult=[1, 1, 2, 2], num_res_blocks=2, out_channels=12), original_wan_21_name, 8),
            (tiny.wan22(dim_mult=[1, 2, 4, 4], num_res_blocks=2, temperal_downsample=[False, True, True]), original_wan_22_name, 16),
        ):
            made = comfy_vae(vae, renamed, multiple)
            for frames, kept in ((1, 1), (5, 5), (8, 5), (3, 1)):
                with self.subTest(vae.config.out_channels, frames=frames):
                    pixels = random_pixels(frames, 32, 48, 3)
                    ours, report = encoded_by_node(made, pixels)
                    clip = (pixels[:kept].movedim(-1, 0) * 2 - 1)[None]
                    self.assert_close(ours, vae.encode(clip).latent_dist.mode())
                    words = f"; encoded {kept} of {frames} frames: this VAE has no latent of {frames} frames$"
                    (self.assertRegex if kept < frames else self.assertNotRegex)(report, words)

    def test_a_batch_of_pictures_for_a_video_vae_that_is_not_video(self):
        vae, pixels = tiny.wan(dim_mult=[1, 1, 2, 2], num_res_blocks=2), random_pixels(2, 32, 48, 3)
        made = comfy_vae(vae, original_wan_21_name, 8)
        made.not_video = True
        self.assert_close(encoded_by_node(made, pixels)[0], vae.encode(pixels.movedim(-1, 1)[:, :, None] * 2 - 1).latent_dist.mode())

    def test_a_vae_without_a_known_encoder_decodes_and_does_not_encode(self):
        small = self.vae()
        added = comfy_vae(small, multiple=4)
        added.first_stage_model.encoder.down.get_submodule("0").attn = torch.nn.Linear(2, 2)
        other_layers = comfy_vae(self.vae(), multiple=4)
        other_layers.first_stage_model.encoder.down.get_submodule("0").block.add_module("2", torch.nn.Conv2d(2, 2, 1))
        lacking = comfy_vae(small, multiple=4)
        del lacking.first_stage_model.encoder.mid
        other_shape = comfy_vae(small, multiple=4)
        other_shape.first_stage_model.encoder.conv_in.weight = torch.nn.Parameter(torch.zeros(32, 3, 1, 1))
        other_widths = comfy_vae(small, multiple=4)
        wider = tiny.kl(block_out_channels=(64, 64, 64), layers_per_block=2, down_block_types=("DownEncoderBlock2D",) * 3,
                        up_block_types=("UpDecoderBlock2D",) * 3)  # fmt: skip
        other_widths.first_stage_model.encoder = Renamed(wider, encoder=True).encoder
        for made, words in (
            (comfy_vae(small), "vae: this VAE has no encoder"),
            (added, r"encoder\.down\.0\.attn\.bias: AutoencoderKL has no such tensor, so Headroom does not support this encoder"),
            (other_layers, "encoder: 3 residual blocks at each resolution, expected 2"),
            (lacking, r"encoder\.mid"),
            (other_shape, r"encoder\.conv_in\.weight"),
            (other_widths, r"encoder: widths \[64, 64, 64\], expected those of the decoder, \[32, 64, 64\]"),
        ):
            with self.subTest(words):
                with self.assertRaisesRegex(headroom_vae.Unsupported, f"{words}.*Use ComfyUI's VAE Encode for this VAE$") as refused:
                    encoded_by_node(made, random_pixels(1, 16, 16, 3))
                self.assertNotIn("\n", str(refused.exception))
                self.assertEqual(decoded_by_node(made, torch.zeros(1, 4, 3, 4)).shape, (1, 12, 16, 3))

    def test_a_vae_on_a_gpu_is_never_encoded_on_the_cpu(self):
        made = comfy_vae(self.vae(), multiple=4)
        made.device = torch.device("mps")
        with self.assertRaisesRegex(headroom_vae.Unsupported, "^mps: .*To use the CPU, start ComfyUI with --cpu-vae$"):
            encoded_by_node(made, random_pixels(1, 16, 16, 3))

    def test_other_channels_of_latents_are_refused(self):
        made = comfy_vae(self.vae(), multiple=4)
        made.latent_channels = 8
        with self.assertRaisesRegex(headroom_vae.Unsupported, "have 8 channels in this version of ComfyUI; expected 4"):
            encoded_by_node(made, random_pixels(1, 16, 16, 3))

    def test_odd_inputs_are_refused_in_one_line(self):
        made, pixels = comfy_vae(self.vae(), multiple=4), random_pixels(1, 16, 16, 3)
        for given, vae, options, message in (
            (None, made, {}, "pixels: expected pictures of shape N×H×W×C, found NoneType"),
            (pixels[0], made, {}, "pixels: expected pictures of shape N×H×W×C, found 16×16×3"),
            (pixels[..., :2], made, {}, "picture: expected N×3×H×W, found 1×2×16×16"),
            (pixels[:, :3], made, {}, "height"),
            (pixels, None, {}, "vae: expected a VAE as ComfyUI's Load VAE gives it, found NoneType"),
            (pixels, made, {"limit_gib": -1.0}, "limit_gib: expected GiB, or 0 for what is free, found -1.0"),
            (pixels, made, {"limit_gib": 1e9}, "limit_gib: expected at most the"),
            (pixels, made, {"scratch": "/etc"}, "scratch: expected an existing folder"),
        ):
            with self.subTest(message), self.assertRaisesRegex(headroom_vae.InputError, message) as refused:
                encoded_by_node(vae, given, **options)
            self.assertNotIn("\n", str(refused.exception))

    def test_the_encode_runs_in_the_dtype_that_comfyui_chose(self):
        made, pixels = comfy_vae(self.vae(), multiple=4), random_pixels(1, 32, 32, 3)
        exact, _ = encoded_by_node(made, pixels)
        made.vae_dtype = torch.bfloat16
        coarse, _ = encoded_by_node(made, pixels)
        self.assertEqual(coarse.dtype, torch.float32)
        difference = float((coarse - exact).abs().max())
        self.assertLess(1e-4, difference)
        self.assertLess(difference, 0.05)

    def test_changed_layers_of_the_encoder_are_refused(self):
        def with_layers():
            made = comfy_vae(self.vae(), multiple=4)
            for level, width in ((0, 32), (1, 64)):  # as ComfyUI makes them: the padding is around the convolution
                downsample = made.first_stage_model.encoder.down.get_submodule(str(level)).downsample
                layer = torch.nn.Conv2d(width, width, 3, stride=2)
                layer.weight, layer.bias = downsample.conv.weight, downsample.conv.bias
                downsample.conv = layer
            made.first_stage_model.regularization = torch.nn.Module()
            made.first_stage_model.regularization.sample = False
            return made, made.first_stage_model.encoder.down.get_submodule("0").downsample

        pixels = random_pixels(1, 16, 16, 3)
        expected, _ = encoded_by_node(comfy_vae(self.vae(), multiple=4), pixels)
        self.assert_close(encoded_by_node(with_layers()[0], pixels)[0], expected)
        for change, words in (
            (lambda made, down: setattr(down.conv, "padding_mode", "circular"), "downsample.conv: padding_mode is 'circular', expected 'zeros'"),
            (lambda made, down: setattr(down.conv, "stride", (1, 1)), r"stride is \(1, 1\), expected \(2, 2\)"),
            (lambda made, down: setattr(down.conv, "padding", (1, 1)), r"padding is \(1, 1\), expected \(0, 0\)"),
            (lambda made, down: down.register_forward_hook(lambda *_: None), "downsample: a forward hook"),
            (lambda made, down: setattr(down, "forward", lambda x: x), "downsample: forward was replaced"),
            (lambda made, down: down.add_module("pad", torch.nn.ZeroPad2d(1)), r"pad: padding is \(1, 1, 1, 1\), expected \(0, 1, 0, 1\)"),
            (lambda made, down: setattr(made.first_stage_model.regularization, "sample", True), "regularization: sample is True, expected False"),
        ):
            made, down = with_layers()
            encoded_by_node(made, pixels)
            change(made, down)
            with self.subTest(words), self.assertRaisesRegex(headroom_vae.Unsupported, words):
                encoded_by_node(made, pixels)

    def test_changed_weights_are_read_again(self):
        made, pixels = comfy_vae(self.vae(), multiple=4), random_pixels(1, 16, 16, 3)
        before, _ = encoded_by_node(made, pixels)
        made.first_stage_model.quant_conv.bias.data.add_(0.5)
        self.assert_close(encoded_by_node(made, pixels)[0], before + 0.5)

    def test_progress_and_interrupt(self):
        if comfyui_stand_in.CLONE:
            self.skipTest("looks at what the stand-in recorded")
        from comfy import model_management

        made, pixels = comfy_vae(self.vae(), multiple=4), random_pixels(1, 160, 144, 3)
        encoded_by_node(made, pixels, limit_gib=1 / 32)
        shown = comfyui_stand_in.ProgressBar.shown
        self.assertEqual([value for value, _, _ in shown], sorted(value for value, _, _ in shown))
        self.assertGreater(shown[-1][0], 500)
        self.assertTrue(all(preview is None for _, _, preview in shown))
        model_management.interrupted = True
        with self.assertRaises(comfyui_stand_in.Interrupted):
            encoded_by_node(made, pixels)


class Pack(unittest.TestCase):
    """The folder as ComfyUI's registry and Manager read it."""

    FOLDER = NODES.parent

    def test_project_file(self):
        project = tomllib.loads((self.FOLDER / "pyproject.toml").read_text())
        self.assertRegex(project["project"]["name"], "^[a-z][a-z-]*$")
        self.assertIn("Repository", project["project"]["urls"])
        self.assertTrue({"PublisherId", "DisplayName", "Icon", "requires-comfyui"} <= project["tool"]["comfy"].keys())
        version = re.search(r"project\(headroom VERSION ([0-9.]+)", (self.FOLDER.parents[2] / "CMakeLists.txt").read_text())[1]
        self.assertEqual(project["project"]["version"], version)
        self.assertEqual(project["project"]["dependencies"], (self.FOLDER / "requirements.txt").read_text().split())
        self.assertTrue((self.FOLDER / project["project"]["license"]["file"]).exists())
        self.assertTrue((self.FOLDER / project["tool"]["comfy"]["Icon"].rpartition("/")[2]).exists())
        for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", (self.FOLDER / "README.md").read_text()):
            self.assertTrue((self.FOLDER / picture).exists(), picture)

    def test_every_node_has_a_help_page_of_its_inputs_and_outputs(self):
        module = nodes()
        for name, node in module.NODE_CLASS_MAPPINGS.items():
            page = (self.FOLDER / module.WEB_DIRECTORY / "docs" / f"{name}.md").read_text()
            self.assertIn(f"# {module.NODE_DISPLAY_NAME_MAPPINGS[name]}", page)
            inputs = [given for part in node.INPUT_TYPES().values() for given in part]
            for given in (*inputs, *node.RETURN_NAMES):
                self.assertIn(f"| `{given}` |", page)

    def test_example_workflows_fit_the_nodes(self):
        known, used = nodes().NODE_CLASS_MAPPINGS, set()
        for file in (self.FOLDER / "example_workflows").glob("*.json"):
            workflow = json.loads(file.read_text())
            types = {node["id"]: node["type"] for node in workflow["nodes"]}
            used |= set(types.values())
            for node in workflow["nodes"]:
                if node["type"] in known:
                    cls = known[node["type"]]
                    accepted = {name: kind for part in cls.INPUT_TYPES().values() for name, (kind, _) in part.items()}
                    linked = {entry["name"]: entry["type"] for entry in node["inputs"]}
                    self.assertEqual(linked, {name: kind for name, kind in accepted.items() if kind.isupper() and name in linked})
                    self.assertEqual(len(node["widgets_values"]), len(accepted) - len(linked), file.name)
                    self.assertEqual([entry["name"] for entry in node["outputs"]], list(cls.RETURN_NAMES))
        self.assertTrue(known.keys() <= used)

    def test_without_the_package_one_line_says_what_to_install(self):
        code = f"import sys, runpy; sys.modules['headroom_vae'] = None; runpy.run_path({str(NODES)!r}, run_name='headroom_nodes')"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        last = run.stderr.strip().splitlines()[-1]
        self.assertRegex(last, "^ImportError: Headroom's nodes need the package headroom-vae.* --no-index --find-links CLONE/dist headroom-vae$")


if __name__ == "__main__":
    unittest.main()
