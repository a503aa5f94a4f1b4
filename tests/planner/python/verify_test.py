"""``verify=True`` compares a picture with the VAE's own untiled decode. If that decode fails, the picture is still returned."""

from __future__ import annotations

import unittest
import warnings
from unittest import mock

import accelerate
import headroom_vae
import tiny
import torch
from headroom_vae import verification
from tiny import latent


class Verify(tiny.Case):
    def error(self, vae, z, largest=1e-4):
        """Returns the largest error of a decode with verify=True. Only warnings about blending are allowed."""
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="verify=True")
            warnings.filterwarnings("ignore", message=".* has no effect")
            handle = headroom_vae.enable(vae, limit="1GiB", verify=True)
            vae.decode(z)
        self.assertLessEqual(handle.last.largest_error, largest)
        return handle.last.largest_error

    def test_tiling_is_off_in_the_decode_that_it_compares_with(self):
        kl, wan22 = tiny.kl(), tiny.wan22()
        kl.tile_latent_min_size, kl.tile_sample_min_size = 8, 16
        wan22.enable_tiling(tile_sample_min_height=32, tile_sample_min_width=32, tile_sample_stride_height=16, tile_sample_stride_width=16)
        for vae, z in ((kl, latent(1, 4, 32, 24)), (wan22, latent(1, 4, 2, 9, 8))):
            vae.enable_tiling()
            untiled = self.error(vae, z)
            self.assertTrue(vae.use_tiling)
            tiled = type(vae).decode(vae, z).sample
            self.assertGreater(float((vae.decode(z).sample - tiled).abs().max() / tiled.abs().max()), 10 * untiled)

    def test_hunyuan_video_as_it_comes_blends_clips(self):
        vae, z = tiny.hunyuan_video(), latent(1, 4, 6, 3, 2)
        vae.use_framewise_decoding = True
        untiled = self.error(vae, z)
        self.assertTrue(vae.use_framewise_decoding)
        blended = type(vae).decode(vae, z).sample
        self.assertGreater(float((vae.decode(z).sample - blended).abs().max() / blended.abs().max()), 10 * untiled)

    def test_items_are_compared_one_by_one(self):
        vae, z = tiny.hunyuan_video_15(), latent(2, 4, 3, 5, 3)
        vae.disable_slicing()
        with self.assertRaises(RuntimeError):
            vae.decode(z)
        self.error(vae, z)

        def wrong_where_faint(vae, model, z, temb):
            sample = untiled(vae, model, z, temb)
            return sample if z.abs().max() > 1 else sample * 1.001

        vae, untiled = tiny.kl(), verification._untiled
        headroom_vae.enable(vae, verify=True)
        faint = mock.patch.object(verification, "_untiled", wrong_where_faint)
        with faint, self.assertRaisesRegex(headroom_vae.VerificationError, "differs by"):
            vae.decode(latent(2, 4, 8, 8) * torch.tensor([100.0, 0.01]).reshape(2, 1, 1, 1))

    def test_with_tf32_a_larger_difference_is_accepted_and_named(self):
        vae, z = tiny.kl(), latent(1, 4, 8, 8)
        sample = vae.decode(z).sample
        switches = torch.backends.cudnn.conv, torch.backends.cuda.matmul
        before = [switch.fp32_precision for switch in switches]
        seen, untiled = [], verification._untiled

        def watched(*arguments):
            seen.append([switch.fp32_precision for switch in switches])
            return untiled(*arguments)

        def error(difference, tf32):
            plan = mock.Mock(dtype="fp32", tf32=tf32)
            return verification.largest_error(vae, headroom_vae.describe(vae), z, sample + difference * sample.abs().max(), plan)

        with mock.patch.object(verification, "_untiled", watched):
            self.assertGreater(error(5e-3, "convolutions"), 4e-3)
            with self.assertRaisesRegex(headroom_vae.VerificationError, "original decode in full fp32. With TF32 at most 1e-02 is accepted"):
                error(2e-2, "all")
            with self.assertRaisesRegex(headroom_vae.VerificationError, "of the magnitude from the original decode$"):
                error(5e-3, "none")
        self.assertEqual(seen, [["ieee", "ieee"]] * 3)
        self.assertEqual([switch.fp32_precision for switch in switches], before)

    def test_in_fp32_where_the_config_upcasts(self):
        vae, z = tiny.kl().half(), latent(2, 4, 8, 8).half()
        weight = vae.decoder.conv_in.weight
        weight.mul_(3e4 / float(weight.abs().max()))  # the convolution's output overflows fp16
        self.assertFalse(torch.isfinite(vae.decode(z).sample).all())
        self.error(vae, z, 1e-2)
        self.assertEqual(vae.dtype, torch.float16)

    def test_a_picture_is_returned_with_a_warning_where_the_original_cannot_run(self):
        for original, why in (
            ({"side_effect": RuntimeError("shape mismatch\nmore of it")}, "own decode cannot run: RuntimeError: shape mismatch$"),
            ({"return_value": torch.full((1, 3, 16, 16), float("inf"))}, "the output of AutoencoderKL's own decode is not finite$"),
        ):
            vae = tiny.kl()
            handle = headroom_vae.enable(vae, verify=True)
            with mock.patch.object(verification, "_untiled", **original), self.assertWarnsRegex(UserWarning, "verify=True: the picture was not compared, since .*" + why):
                picture = vae.decode(latent(1, 4, 8, 8)).sample
            self.assertEqual(picture.shape, (1, 3, 16, 16))
            self.assertIsNone(handle.last.largest_error)

    def test_with_offloaded_weights_and_latents_of_another_dtype(self):
        vae = tiny.kl()
        accelerate.cpu_offload(vae, torch.device("cpu"))
        self.error(vae, latent(1, 4, 8, 8))
        self.error(tiny.kl(), latent(1, 4, 8, 8).double())
        self.error(tiny.kl().to(torch.bfloat16), latent(1, 4, 8, 8), 5e-2)


if __name__ == "__main__":
    unittest.main()
