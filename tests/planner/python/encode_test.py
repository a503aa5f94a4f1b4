"""Encodes by an enabled VAE, against diffusers' own untiled encode, for every class with an encoder."""

from __future__ import annotations

import copy
import pickle
import unittest

import diffusers
import headroom_vae
import tiny
import torch
from headroom_vae.decoding import encoded_output

MIB = 1 << 20

# A VAE, and pictures or clips of several sizes. Latents have odd sides, or one row.
PICTURES = {
    "AutoencoderKL": (lambda: tiny.kl(block_out_channels=(32, 32, 64), down_block_types=("DownEncoderBlock2D",) * 3,
                                      up_block_types=("UpDecoderBlock2D",) * 3), [(2, 3, 68, 52), (1, 3, 4, 100)]),
    "AutoencoderKL without quant_conv": (lambda: tiny.kl(use_quant_conv=False, mid_block_add_attention=False), [(1, 3, 42, 34)]),
    "AutoencoderKLFlux2": (tiny.flux2, [(1, 3, 72, 40)]),
    "AutoencoderDC": (tiny.dc, [(2, 3, 34, 26)]),
    "AutoencoderDC by pixel_unshuffle": (lambda: tiny.dc(downsample_block_type="pixel_unshuffle", encoder_out_shortcut=False), [(1, 3, 34, 26)]),
    "AutoencoderTiny": (tiny.autoencoder_tiny, [(2, 3, 34, 26), (1, 3, 2, 40)]),
    "AutoencoderTiny of four resolutions": (lambda: tiny.autoencoder_tiny(num_encoder_blocks=(1, 2, 0, 1), num_decoder_blocks=(1, 1, 1, 1)), [(1, 3, 40, 24)]),
    "AutoencoderKLHunyuanImage": (tiny.hunyuan_image, [(2, 3, 36, 28), (1, 3, 4, 60)]),
    "AutoencoderKLHunyuanImage of one width": (lambda: tiny.hunyuan_image(block_out_channels=(32, 32, 32), downsample_match_channel=False,
                                                                          layers_per_block=2, spatial_compression_ratio=2), [(1, 3, 18, 14)]),
    "AutoencoderKLQwenImage21": (tiny.qwen21, [(1, 4, 1, 36, 52)]),
}  # fmt: skip
CLIPS = {
    "AutoencoderKLWan": (tiny.wan, 16, 24, (1, 5, 9)),
    "AutoencoderKLWan with shortcuts and patches": (tiny.wan22, 24, 40, (1, 5, 9)),
    "AutoencoderKLQwenImage": (tiny.qwen, 20, 28, (1, 5, 9)),
    "AutoencoderKLHunyuanVideo": (tiny.hunyuan_video, 20, 28, (1, 5, 17)),
    "AutoencoderKLHunyuanVideo without attention": (lambda: tiny.hunyuan_video(mid_block_add_attention=False, spatial_compression_ratio=2), 10, 14, (1, 5)),
    "AutoencoderKLHunyuanVideo15": (tiny.hunyuan_video_15, 20, 28, (1, 5, 9)),
    "AutoencoderKLLTXVideo": (lambda: tiny.ltx_video(**tiny.LTX_VIDEO_ENCODER), 24, 40, (1, 5, 9)),
    "AutoencoderKLLTXVideo from 0.9.5 on": (
        lambda: tiny.ltx_video(
            block_out_channels=(8, 16, 16, 32), down_block_types=("LTXVideo095DownBlock3D",) * 3, layers_per_block=(1, 1, 1, 1),
            spatio_temporal_scaling=(True,) * 3, downsample_type=("spatial", "temporal", "spatiotemporal"),
            spatial_compression_ratio=8, temporal_compression_ratio=4,
        ), 24, 40, (1, 5, 9)),
    "AutoencoderKLLTX2Video": (lambda: tiny.ltx2_video(spatial_compression_ratio=16, temporal_compression_ratio=8), 48, 80, (1, 9, 17)),
}


def moments_of(output):
    if hasattr(output, "latents"):
        return output.latents
    return output.latent_dist.parameters if hasattr(output, "latent_dist") else output.latent


class Encodes(tiny.Case):
    def check(self, vae, picture):
        """Tight and ample limits give diffusers' result, and peaks are as predicted."""
        theirs = moments_of(vae.encode(picture))
        height, width = picture.shape[-2:]
        frames = picture.shape[2] if picture.dim() == 5 else 1
        handle = headroom_vae.enable(vae, limit=None)
        smallest = handle.predict(height, width, frames, len(picture), direction="encode").smallest_limit_bytes
        ample = handle.predict(height, width, frames, len(picture), direction="encode").peak_bytes
        self.assert_close(moments_of(vae.encode(picture)), theirs, 1e-5)
        self.assertIs(handle.last, handle.encoder.last)
        for limit in (smallest, (2 * smallest + ample) // 3, None):
            handle.free()
            made = handle.encoder.decode(picture, limit=limit)
            self.assert_close(moments_of(encoded_output(made, handle.model, True)), theirs, 1e-5)
            report = handle.encoder.last
            self.assertEqual(report.direction, "encode")
            self.assertLessEqual(report.peak_bytes, report.predicted_peak_bytes)
            self.assertLessEqual(report.predicted_peak_bytes, report.peak_bytes + 2 * MIB)
            if limit is not None:
                self.assertLessEqual(report.predicted_peak_bytes, limit)
        headroom_vae.disable(vae)

    def test_pictures(self):
        for name, (make, shapes) in PICTURES.items():
            for shape in shapes:
                with self.subTest(name, shape=shape):
                    self.check(make(), tiny.latent(*shape))

    def test_clips(self):
        for name, (make, height, width, lengths) in CLIPS.items():
            for frames in lengths:
                with self.subTest(name, frames=frames):
                    self.check(make(), tiny.latent(1, 3, frames, height, width))

    def test_an_encoder_without_a_decoder(self):
        """MiniMax-H3's. Its class encodes parts of 17 frames independently, repeats the last one and drops latent frames at the end."""
        for changes, lengths in (({}, (1, 2, 5, 17, 18, 40)), ({"clip_length": 9, "token_drop": 0, "spatial_padding_mode": "replicate"}, (9, 12))):
            vae = tiny.minimax_h3(**changes)
            for frames in lengths:
                with self.subTest(frames=frames, **changes):
                    clip = tiny.latent(2, 3, frames, 24, 40)
                    theirs = moments_of(vae.encode(clip))
                    with self.assertWarnsRegex(UserWarning, "decode.. is the VAE's own: .*Headroom does not decode with MiniMax-H3's VAE"):
                        handle = headroom_vae.enable(vae, limit="8MiB")
                    self.assert_close(moments_of(vae.encode(clip)), theirs, 1e-5)
                    self.assertLessEqual(handle.last.peak_bytes, handle.last.predicted_peak_bytes)
                    self.assertLessEqual(handle.last.predicted_peak_bytes, 8 * MIB)
                    self.assertEqual((handle.last.limit_bytes, handle.last.direction), (8 * MIB, "encode"))
                    self.assertEqual((handle.decoder, list(handle.entries)), (None, ["encode"]))
                    self.assertNotIn("decode", vars(vae))
                    predicted = handle.predict(24, 40, frames, 2, direction="encode")
                    self.assertLessEqual(predicted.peak_bytes, handle.last.predicted_peak_bytes)
                    self.assertGreater(predicted.peak_bytes, handle.last.predicted_peak_bytes - MIB)
                    with self.assertRaisesRegex(headroom_vae.Unsupported, "cross-fades clips"):
                        handle.predict(24, 40)
                    headroom_vae.disable(vae)
                    self.assertNotIn("encode", vars(vae))
        vae.use_tiling = True
        with self.assertWarnsRegex(UserWarning, "enable_tiling.. has no effect on encode"):
            headroom_vae.enable(vae)
        with self.assertRaisesRegex(headroom_vae.InputError, "Headroom does not decode"):
            headroom_vae.predict("minimax-h3", 256, 256)
        self.assertTrue(headroom_vae.predict("minimax-h3", 256, 256, 17, direction="encode", limit="1GiB").fits)

    def test_a_batch_of_clips(self):
        self.check(tiny.wan(), tiny.latent(3, 3, 5, 16, 24))

    def test_samples_of_the_distribution_are_equal(self):
        vae, picture = tiny.kl(), tiny.latent(1, 3, 32, 48)
        theirs = vae.encode(picture).latent_dist.sample(torch.Generator().manual_seed(1))
        headroom_vae.enable(vae)
        self.assert_close(vae.encode(picture, return_dict=False)[0].sample(torch.Generator().manual_seed(1)), theirs, 1e-5)

    def test_16_bits(self):
        for make, shape in ((tiny.kl, (1, 3, 32, 48)), (tiny.autoencoder_tiny, (1, 3, 32, 48)), (tiny.hunyuan_image, (1, 3, 32, 48)), (tiny.hunyuan_video, (1, 3, 5, 16, 24)),
                            (tiny.ltx_video, (1, 3, 9, 32, 48))):  # fmt: skip
            vae, picture = make().to(torch.bfloat16), tiny.latent(*shape).to(torch.bfloat16)
            precise = moments_of(make().encode(picture.float()))
            theirs = moments_of(vae.encode(picture))
            headroom_vae.enable(vae)
            ours = moments_of(vae.encode(picture))
            self.assertEqual(ours.dtype, torch.bfloat16)
            self.assertLessEqual(float((ours.float() - precise).abs().mean()), float((theirs.float() - precise).abs().mean()), make.__name__)

    def test_decodes_and_encodes_take_turns(self):
        vae, picture = tiny.kl(), tiny.latent(1, 3, 32, 48)
        theirs = moments_of(vae.encode(picture))
        latent = tiny.latent(1, 4, 16, 24)
        decoded = vae.decode(latent).sample
        handle = headroom_vae.enable(vae)
        for _ in range(2):
            self.assert_close(moments_of(vae.encode(picture)), theirs, 1e-5)
            encoder_bytes = handle.held_bytes
            self.assert_close(vae.decode(latent).sample, decoded)
            # Packed weights of one direction leave before the other runs.
            self.assertEqual(handle.held_bytes, handle.decoder.held_bytes)
        self.assertGreater(encoder_bytes, 0)
        handle.free()
        self.assertEqual(handle.held_bytes, 0)

    def test_changed_weights_and_copies(self):
        vae, picture = tiny.kl(), tiny.latent(1, 3, 32, 48)
        headroom_vae.enable(vae)
        before = moments_of(vae.encode(picture))
        vae.encoder.conv_in.bias.data.add_(0.5)
        changed = moments_of(vae.encode(picture))
        self.assertGreater(float((changed - before).abs().max()), 1e-3)
        for copied in (copy.deepcopy(vae), pickle.loads(pickle.dumps(vae))):
            self.assert_close(moments_of(copied.encode(picture)), changed, 1e-6)
            self.assertIsNot(headroom_vae.handle_of(copied), headroom_vae.handle_of(vae))
        headroom_vae.disable(vae)
        self.assertNotIn("encode", vars(vae))
        self.assert_close(moments_of(vae.encode(picture)), changed, 1e-5)

    def test_sizes_that_no_latent_has_are_refused(self):
        vae = tiny.kl()
        headroom_vae.enable(vae)
        with self.assertRaisesRegex(headroom_vae.InputError, "height: expected a height that is a multiple of 2, found 33 .use 32 or 34"):
            vae.encode(tiny.latent(1, 3, 33, 48))
        with self.assertRaisesRegex(headroom_vae.InputError, "picture: expected N×3×H×W, found 1×4×32×48"):
            vae.encode(tiny.latent(1, 4, 32, 48))
        with self.assertRaisesRegex(headroom_vae.InputError, "picture: expected a torch tensor, found list"):
            vae.encode([1])
        clips = tiny.wan()
        headroom_vae.enable(clips)
        with self.assertRaisesRegex(headroom_vae.InputError, "frames: expected 1 plus a multiple of 4, found 6; the nearest is 5"):
            clips.encode(tiny.latent(1, 3, 6, 16, 16))

    def test_a_limit_that_does_not_fit(self):
        vae, picture = tiny.kl(), tiny.latent(1, 3, 64, 64)
        theirs = moments_of(vae.encode(picture))
        smallest = headroom_vae.predict(vae, 64, 64, direction="encode").smallest_limit_bytes
        headroom_vae.enable(vae, limit=smallest - 1024)
        with self.assertRaises(headroom_vae.DoesNotFit) as refused:
            vae.encode(picture)
        self.assertEqual(refused.exception.smallest_limit_bytes, smallest)
        headroom_vae.enable(vae, limit=smallest - 1024, on_misfit="original")
        with self.assertWarnsRegex(UserWarning, "encoding with the VAE's own encode"):
            torch.testing.assert_close(moments_of(vae.encode(picture)), theirs, rtol=0, atol=0)

    def test_a_vae_whose_encoder_headroom_does_not_know_keeps_its_own(self):
        for vae, why in ((tiny.hunyuan_image_refiner(), "Headroom does not encode with AutoencoderKLHunyuanImageRefiner"), (tiny.kl(), "conv_in")):
            if isinstance(vae, diffusers.AutoencoderKL):
                vae.encoder.conv_in.padding_mode = "circular"
            handle = headroom_vae.enable(vae)
            self.assertIn(why, handle.why_no_encoder)
            self.assertNotIn("encode", vars(vae))
            with self.assertRaises(headroom_vae.Unsupported):
                handle.predict(64, 64, direction="encode")

    def test_image_to_image(self):
        pipe, arguments = tiny.stable_diffusion()
        pipe = diffusers.StableDiffusionImg2ImgPipeline(**pipe.components, requires_safety_checker=False)
        arguments = {key: value for key, value in arguments.items() if key not in ("height", "width")}
        arguments["image"] = tiny.latent(1, 3, 64, 48).clamp(-1, 1)
        theirs = tiny.run(pipe, arguments, strength=0.8)
        handle = headroom_vae.enable(pipe, limit="64MiB")
        self.assert_close(torch.as_tensor(tiny.run(pipe, arguments, strength=0.8)), torch.as_tensor(theirs), 1e-4)
        self.assertEqual(handle.last.direction, "decode")
        self.assertIsNotNone(handle.encoder.last)


if __name__ == "__main__":
    unittest.main()
