"""Tests VAE Encode (Headroom) against diffusers' own encode, on a stand-in for comfy.sd.VAE."""

from __future__ import annotations

import logging
import re
import unittest

import comfyui_stand_in
import headroom_vae
import tiny
import torch
from comfyui_support import (
    Renamed,
    comfy_vae,
    decoded_by_node,
    encoded_by_node,
    original_wan_21_name,
    original_wan_22_name,
    random_pixels,
    small_vae,
)


class Encodes(unittest.TestCase):
    def setUp(self):
        logging.disable(logging.WARNING)
        without_gradients = torch.no_grad()
        without_gradients.__enter__()
        self.addCleanup(without_gradients.__exit__, None, None, None)

    def assert_close(self, ours, theirs):
        self.assertEqual(ours.shape, theirs.shape)
        self.assertEqual(ours.dtype, torch.float32)
        self.assertLessEqual(float((ours - theirs).abs().max()), 1e-5 * float(theirs.abs().max()))

    def test_stable_diffusion(self):
        for config in ({}, {"use_quant_conv": False, "use_post_quant_conv": False, "latent_channels": 16}):
            vae, pixels = small_vae(**config), random_pixels(2, 36, 28, 3)
            made = comfy_vae(vae, multiple=4)
            ours, report = encoded_by_node(made, pixels)
            self.assert_close(ours, vae.encode(pixels.movedim(-1, 1) * 2 - 1).latent_dist.mode())
            self.assertRegex(report, r"^encode: [0-9.]+ m?s on cpu in fp32, peak [0-9.]+ [KM]iB \(predicted [0-9.]+ [KM]iB\)( under [0-9.]+ .iB)?\nuntiled, it would take [0-9.]+ [KM]iB \(predicted\)$")
            z = torch.randn(1, vae.config.latent_channels, 9, 7, generator=torch.Generator().manual_seed(0))
            theirs = torch.clamp((vae.decode(z).sample + 1) / 2, 0, 1).movedim(1, -1)
            self.assertLessEqual(float((decoded_by_node(made, z) - theirs).abs().max()), 1e-4)
            self.assert_close(encoded_by_node(made, pixels)[0], ours)

    def test_sides_are_cropped_from_the_middle_and_further_channels_are_dropped(self):
        vae, pixels = small_vae(), random_pixels(1, 38, 31, 4)
        ours, report = encoded_by_node(comfy_vae(vae, multiple=4), pixels)
        self.assert_close(ours, vae.encode(pixels[:, 1:37, 1:29, :3].movedim(-1, 1) * 2 - 1).latent_dist.mode())
        self.assertRegex(report, r"\); cropped from 31×38 to 28×36 pixels$")

    def test_a_limit_that_is_too_small_names_the_smallest(self):
        made, pixels = comfy_vae(small_vae(), multiple=4), random_pixels(1, 64, 64, 3)
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
        small = small_vae()
        added = comfy_vae(small, multiple=4)
        added.first_stage_model.encoder.down.get_submodule("0").attn = torch.nn.Linear(2, 2)
        other_layers = comfy_vae(small_vae(), multiple=4)
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
        made = comfy_vae(small_vae(), multiple=4)
        made.device = torch.device("xla")
        with self.assertRaisesRegex(headroom_vae.Unsupported, "^xla: .*To use the CPU, start ComfyUI with --cpu-vae$"):
            encoded_by_node(made, random_pixels(1, 16, 16, 3))

    def test_other_channels_of_latents_are_refused(self):
        made = comfy_vae(small_vae(), multiple=4)
        made.latent_channels = 8
        with self.assertRaisesRegex(headroom_vae.Unsupported, "have 8 channels in this version of ComfyUI; expected 4"):
            encoded_by_node(made, random_pixels(1, 16, 16, 3))

    def test_odd_inputs_are_refused_in_one_line(self):
        made, pixels = comfy_vae(small_vae(), multiple=4), random_pixels(1, 16, 16, 3)
        for given, vae, options, message in (
            (None, made, {}, "pixels: expected pictures of shape N×H×W×C, found NoneType"),
            (pixels[0], made, {}, "pixels: expected pictures of shape N×H×W×C, found 16×16×3"),
            (pixels[..., :2], made, {}, "picture: expected N×3×H×W, found 1×2×16×16"),
            (pixels[:, :3], made, {}, "height"),
            (pixels, None, {}, "vae: expected a VAE as ComfyUI's Load VAE gives it, found NoneType"),
            (pixels, made, {"limit_gib": -1.0}, "limit_gib: expected GiB, such as 6.5, or auto for the free memory, found -1.0"),
            (pixels, made, {"limit_gib": 1e9}, "limit_gib: expected at most the"),
            (pixels, made, {"scratch": "/etc"}, "scratch: expected an existing folder"),
        ):
            with self.subTest(message), self.assertRaisesRegex(headroom_vae.InputError, message) as refused:
                encoded_by_node(vae, given, **options)
            self.assertNotIn("\n", str(refused.exception))

    def test_the_encode_runs_in_the_dtype_that_comfyui_chose(self):
        made, pixels = comfy_vae(small_vae(), multiple=4), random_pixels(1, 32, 32, 3)
        exact, _ = encoded_by_node(made, pixels)
        made.vae_dtype = torch.bfloat16
        coarse, _ = encoded_by_node(made, pixels)
        self.assertEqual(coarse.dtype, torch.float32)
        difference = float((coarse - exact).abs().max())
        self.assertLess(1e-4, difference)
        self.assertLess(difference, 0.05)

    def test_changed_layers_of_the_encoder_are_refused(self):
        def with_layers():
            made = comfy_vae(small_vae(), multiple=4)
            for level, width in ((0, 32), (1, 64)):  # as ComfyUI makes them: the padding is around the convolution
                downsample = made.first_stage_model.encoder.down.get_submodule(str(level)).downsample
                layer = torch.nn.Conv2d(width, width, 3, stride=2)
                layer.weight, layer.bias = downsample.conv.weight, downsample.conv.bias
                downsample.conv = layer
            made.first_stage_model.regularization = torch.nn.Module()
            made.first_stage_model.regularization.sample = False
            return made, made.first_stage_model.encoder.down.get_submodule("0").downsample

        pixels = random_pixels(1, 16, 16, 3)
        expected, _ = encoded_by_node(comfy_vae(small_vae(), multiple=4), pixels)
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
        made, pixels = comfy_vae(small_vae(), multiple=4), random_pixels(1, 16, 16, 3)
        before, _ = encoded_by_node(made, pixels)
        made.first_stage_model.quant_conv.bias.data.add_(0.5)
        self.assert_close(encoded_by_node(made, pixels)[0], before + 0.5)

    def test_progress_and_interrupt(self):
        if comfyui_stand_in.CLONE:
            self.skipTest("looks at what the stand-in recorded")
        from comfy import model_management

        made, pixels = comfy_vae(small_vae(), multiple=4), random_pixels(1, 160, 144, 3)
        encoded_by_node(made, pixels, limit_gib=1 / 32)
        shown = comfyui_stand_in.ProgressBar.shown
        self.assertEqual([value for value, _, _ in shown], sorted(value for value, _, _ in shown))
        self.assertGreater(shown[-1][0], 500)
        self.assertTrue(all(preview is None for _, _, preview in shown))
        model_management.interrupted = True
        with self.assertRaises(comfyui_stand_in.Interrupted):
            encoded_by_node(made, pixels)


if __name__ == "__main__":
    unittest.main()
