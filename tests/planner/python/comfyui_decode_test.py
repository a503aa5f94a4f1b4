"""Tests VAE Decode (Headroom) on a stand-in for comfy.sd.VAE. comfyui_families_test.py tries every family of decoders."""

from __future__ import annotations

import logging
import math
import os
import pathlib
import re
import sys
import tempfile
import types
import unittest
from unittest import mock

import comfyui_stand_in
import headroom_vae
import tiny
import torch
from comfyui_support import (
    Nested,
    Renamed,
    comfy_vae,
    decoded_by_node,
    flux2,
    flux2_picture,
    nodes,
    original_wan_21_name,
    original_wan_22_name,
    small_vae,
)
from headroom_vae.checkpoints import known_model
from headroom_vae.module import ModuleDecoder


class Decodes(unittest.TestCase):
    def setUp(self):
        logging.disable(logging.NOTSET)
        self.addCleanup(logging.disable, logging.WARNING)

    @torch.no_grad()
    def test_decode(self):
        vae = small_vae()
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
        self.assertRegex(report, r"^[0-9.]+ m?s on cpu in fp32, peak [0-9.]+ [KM]iB \(predicted [0-9.]+ [KM]iB\)( under [0-9.]+ .iB)?\nuntiled, it would take [0-9.]+ [KM]iB \(predicted\)$")

    @torch.no_grad()
    def test_thrift_gives_time_for_memory(self):
        made, z = comfy_vae(small_vae()), torch.randn(1, 4, 12, 10)
        node = nodes().NODE_CLASS_MAPPINGS["HeadroomVAEDecode"]

        def decoded(**thrift):
            picture, report = node().decode({"samples": z}, made, limit_gib=1, **thrift)
            return picture, headroom_vae._core.parse_bytes(re.search("predicted (.*)[)]", report)[1].replace(" ", ""), "")

        (fastest, most), (small, least) = decoded(thrift_percent=0), decoded(thrift_percent=100.0)
        self.assertLess(least, most)
        self.assertLessEqual(float((fastest - small).abs().max()), 1e-5)
        self.assertEqual(node.INPUT_TYPES()["optional"]["thrift_percent"][1]["default"], 1.0)
        self.assertEqual(decoded()[1], decoded(thrift_percent=1)[1])
        for wrong in (-1, 101, math.nan, "1", True):
            with self.assertRaisesRegex(headroom_vae.InputError, "thrift_percent: expected from 0 to 100, found"):
                decoded(thrift_percent=wrong)

    def test_remedies_are_those_of_a_node(self):
        text = ("64x64 does not fit 1.0 GiB; the smallest limit that works is 4096MiB (4294967296 bytes); with dtype=bf16 it needs 2048MiB; with scratch=DIR "
                "it takes 1.0 s and 3MiB there; with host_limit it takes 1.0 s. Pass 3 (up1) needs the most: up1 1.0 GiB; limit='auto' is 1.0 GiB")  # fmt: skip
        remedies = ({"change": "dtype=bf16", "fits": False, "smallest_limit_bytes": 2 << 30}, {"change": "dtype=fp16", "fits": True},
                    {"change": "scratch=DIR", "fits": True}, {"change": "host_limit", "fits": True})  # fmt: skip
        refused = headroom_vae.DoesNotFit(text, 4 << 30, remedies)
        advice = ("Or start ComfyUI with --bf16-vae: then 2 GiB suffice. Or set scratch to a folder on a disk. Details: 64x64 does not fit 1.0 GiB; the "
                  "smallest limit that works is 4096MiB (4294967296 bytes). Pass 3 (up1) needs the most: up1 1.0 GiB; limit_gib auto is 1.0 GiB")  # fmt: skip
        module = sys.modules[nodes().NODE_CLASS_MAPPINGS["HeadroomVAEDecode"].__module__]
        self.assertEqual(module._advice(refused, "clip", 1.0), f"this clip needs more than limit_gib 1. Set limit_gib to 4 or more. {advice}")
        self.assertEqual(module._advice(refused, "clip", 0.0), f"this clip needs 4 GiB, and less is free. Close other programs. {advice}")
        self.assertEqual(module._advice(headroom_vae.OutOfGpuMemory("torch refused 1.0 GiB"), "clip", 0.0), "torch refused 1.0 GiB")

    def test_estimate(self):
        made = comfy_vae(small_vae())
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
        made, _ = node.estimate(comfy_vae(small_vae()))
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
        made, z = comfy_vae(small_vae()), torch.randn(1, 4, 6, 5)
        self.assertTrue(torch.equal(decoded_by_node(made, Nested(z, torch.randn(1, 8, 20))), decoded_by_node(made, z)))

    @torch.no_grad()
    def test_of_a_clip_in_a_vae_of_pictures_the_first_frame_is_decoded(self):
        made, z = comfy_vae(small_vae()), torch.randn(1, 4, 3, 6, 5)
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
        made = comfy_vae(small_vae())
        made.first_stage_model = Renamed(tiny.kl(out_channels=5, layers_per_block=2))
        with self.assertRaisesRegex(headroom_vae.Unsupported, "its pictures have 5 channels; expected 1, 3, 4, or 12"):
            decoded_by_node(made, torch.zeros(1, 4, 3, 4))

    def test_odd_inputs_are_refused_in_one_line(self):
        made, z = comfy_vae(small_vae()), torch.zeros(1, 4, 3, 4)
        for samples, vae, options, message in (
            (None, made, {}, "samples: expected a latent, found NoneType"),
            ({}, made, {}, "samples: expected a latent, found dict"),
            ({"samples": [z]}, made, {}, "samples: expected a latent, found list"),
            ({"samples": torch.zeros(1, 8, 20)}, made, {}, "found 1×8×20"),
            ({"samples": torch.zeros(1, 16, 3, 4)}, made, {}, r"expected N×4×H×W, found 1×16×3×4\. Latents of .*flux, .*wan2\.1.* have 16 channels: load the VAE of your model"),
            ({"samples": z}, None, {}, "vae: expected a VAE as ComfyUI's Load VAE gives it, found NoneType"),
            ({"samples": z}, types.SimpleNamespace(first_stage_model=None), {}, "found SimpleNamespace without a model"),
            ({"samples": z}, types.SimpleNamespace(first_stage_model=torch.nn.Linear(2, 2)), {}, "original tensor names of Stable Diffusion"),
            ({"samples": z}, made, {"limit_gib": "much"}, "limit_gib: expected GiB, such as 6.5, or auto for the free memory, found 'much'"),
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
        made, z = comfy_vae(small_vae()), torch.randn(1, 4, 3, 4)
        with mock.patch("headroom_vae._core.memory_bytes", lambda: 3 << 30):
            self.assertEqual(decoded_by_node(made, z, limit_gib=3).shape, (1, 12, 16, 3))
            message = "limit_gib: expected at most the 3.0 GiB of memory that cpu has, or auto for the free memory, found 4"
            with self.assertRaisesRegex(headroom_vae.InputError, message):
                decoded_by_node(made, z, limit_gib=4)

    @torch.no_grad()
    def test_scratch_folders_are_those_that_the_server_allows(self):
        made, z = comfy_vae(small_vae()), torch.randn(1, 4, 6, 5)
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
        made, z = comfy_vae(small_vae()), torch.randn(1, 4, 3, 4)
        made.device = torch.device("xla")
        words = "xla: Headroom's own code runs on the CPU and on NVIDIA GPUs. To use the CPU, start ComfyUI with --cpu-vae"
        with self.assertRaisesRegex(headroom_vae.Unsupported, f"^{words}$") as refused:
            decoded_by_node(made, z)
        self.assertNotIn("\n", str(refused.exception))

    @torch.no_grad()
    def test_the_decode_runs_in_the_dtype_that_comfyui_chose(self):
        vae = small_vae()
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
        made = comfy_vae(small_vae())
        made.patcher = types.SimpleNamespace(patches={"decoder.conv_in.weight": [1]})
        with self.assertRaisesRegex(headroom_vae.Unsupported, "patches, such as a LoRA"):
            decoded_by_node(made, torch.zeros(1, 4, 3, 4))

    @torch.no_grad()
    def test_progress_with_previews_of_the_rows_that_are_done(self):
        if comfyui_stand_in.CLONE:
            self.skipTest("looks at what the stand-in recorded")
        from comfy.cli_args import LatentPreviewMethod, args

        made, z = comfy_vae(small_vae()), torch.randn(1, 4, 40, 36)
        node = nodes()
        often = mock.patch.object(sys.modules["headroom_nodes.progress"], "PREVIEW_SECONDS", 0)
        with often, mock.patch.object(args, "preview_method", LatentPreviewMethod.Auto):
            node.NODE_CLASS_MAPPINGS["HeadroomVAEDecode"]().decode({"samples": z}, made, limit_gib=1 / 32)
        shown = comfyui_stand_in.ProgressBar.shown
        values = [value for value, _, _ in shown]
        self.assertEqual(values, sorted(values))
        kind, picture, side = shown[-1][2]
        self.assertEqual((kind, picture.size, side), ("JPEG", (144, 160), 512))
        self.assertIsNone(shown[0][2])
        self.assertTrue(all(preview[1].getextrema() != ((127, 127),) * 3 for _, _, preview in shown if preview))
        decoded_by_node(made, z)
        self.assertTrue(all(preview is None for _, _, preview in comfyui_stand_in.ProgressBar.shown))

    def test_previews_show_rows_and_frames_that_are_done_over_estimated_colours(self):
        self.assertIsNotNone(nodes())
        preview_of = sys.modules["headroom_nodes.progress"].preview_of
        made, z, picture = comfy_vae(small_vae()), torch.zeros(2, 4, 2, 10, 15), torch.zeros(2, 3, 3, 20, 30)
        self.assertIsNone(preview_of(made, z, picture, 15))
        # The second frame is a linear map of the second latent frame: black left of white, and a row of red. Half of it is done.
        z[0, 0, 1, :, 8:], z[0, 1, 1, ::3] = 2, 1
        frame = torch.full((3, 20, 30), -1.0)
        frame[:, :, 16:] = 0.9
        frame[0, torch.arange(20) % 6 < 2] += 0.5
        picture[0, :, 1, :10] = frame[:, :10]
        self.assertIsNone(preview_of(made, z.flip(3) * (torch.arange(10) > 4)[:, None], picture, 15))  # what is done is plain, the rest is not
        self.assertIsNone(preview_of(made, z.where(z > 0, torch.nan), picture, 15))
        shown = preview_of(made, z, picture, 15)
        self.assertEqual(shown.size, (15, 10))
        for row in range(10):
            for column in range(15):
                expected = (frame[:, 2 * row, 2 * column].clamp(-1, 1) + 1) * 127.5
                for found, channel in zip(shown.getpixel((column, row)), expected.tolist()):
                    self.assertLess(abs(found - channel), 2 if row < 5 else 30, (row, column))

    @torch.no_grad()
    def test_the_log_has_the_plan_and_the_result(self):
        made, z = comfy_vae(small_vae()), torch.randn(1, 4, 9, 7)
        with self.assertLogs("headroom", "INFO") as logged:
            decoded_by_node(made, z)
        plan, result = (record.getMessage() for record in logged.records)
        self.assertRegex(plan, r"^VAE Decode \(Headroom\): about [0-9.]+ .?s by assumed costs, peak [0-9.]+ .iB$")
        self.assertRegex(result, r"^VAE Decode \(Headroom\): [0-9.]+ m?s on cpu in fp32, peak [^\n]+$")

    @torch.no_grad()
    def test_interrupt_ends_the_decode(self):
        from comfy import model_management

        made, z = comfy_vae(small_vae()), torch.randn(1, 4, 40, 36)
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
        _, model = known_model(Renamed(small_vae()).state_dict())
        self.assertEqual((model.class_name, model.latent_channels), ("AutoencoderKL", 4))
        with self.assertRaisesRegex(headroom_vae.Unsupported, "original tensor names of Stable Diffusion"):
            known_model({"encoder.weight": torch.zeros(1)})
        with self.assertRaisesRegex(headroom_vae.Unsupported, "no tensor decoder.conv_in.weight"):
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


if __name__ == "__main__":
    unittest.main()
