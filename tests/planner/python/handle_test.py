"""Warnings, reports and errors of an enabled VAE, and how to disable it."""

from __future__ import annotations

import copy
import gc
import json
import os
import tempfile
import unittest
import warnings
from unittest import mock

import headroom_vae
import tiny
import torch
from headroom_vae import parameters
from tiny import latent


def _difference(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    """The largest difference relative to the largest magnitude."""
    return float((ours - theirs).abs().max() / theirs.abs().max())


class Handles(tiny.Case):
    def warned(self, call) -> list[warnings.WarningMessage]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        return [warning for warning in caught if issubclass(warning.category, UserWarning)]

    def test_seconds_learn_from_decodes(self):
        vae, z = tiny.kl(), torch.randn(1, 4, 96, 96, generator=torch.Generator().manual_seed(0))
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, HEADROOM_CACHE=folder):
            with headroom_vae.enable(vae, limit="256MiB") as handle:
                assumed = handle.predict(192, 192)
                self.assertIn("by assumed costs", str(assumed))
                for _ in range(2):  # on a busy machine a slower decode does not count
                    vae.decode(z)
                    found = handle.predict(192, 192)
                    self.assertRegex(str(found), "by costs learnt from [12] decodes? here")
                    self.assertRegex(found._repr_html_(), "by costs learnt from [12] decodes? here")
                learnt = json.loads(found.plan.json())["predicted"]["learnt"]
                self.assertAlmostEqual(found.seconds, assumed.seconds * learnt["ratio"])
                self.assertEqual(found.peak_bytes, assumed.peak_bytes)
            self.assertEqual(os.listdir(folder), ["learnt.json"])

    def test_weights_of_an_earlier_plan_do_not_count_in_a_peak(self):
        vae, z = tiny.kl(), latent(1, 4, 16, 24)
        handle = headroom_vae.enable(vae, limit=None)
        handle.decoder.decode(z, limit=None)  # its weights stay
        self.assertGreater(handle.held_bytes, 0)
        handle.decoder.decode(z, limit=handle.predict(32, 48).smallest_limit_bytes)
        self.assertEqual(handle.held_bytes, 0)
        self.assertLessEqual(handle.decoder.last.peak_bytes, handle.decoder.last.predicted_peak_bytes)

    def test_a_report_says_what_the_decode_would_take_without_tiles(self):
        vae = tiny.kl()
        handle = headroom_vae.enable(vae, limit="40MiB")
        vae.decode(latent(1, 4, 16, 16))
        report = handle.report()
        self.assertEqual((report.limit_bytes, report.dtype, report.executor, report.device), (40 << 20, "fp32", "native", "cpu"))
        self.assertEqual(report.untiled_peak_bytes, handle.predict(32, 32).untiled_peak_bytes)
        self.assertRegex(str(report), r"on cpu in fp32, peak .* under 40\.0 MiB\nuntiled, it would take [0-9.]+ .iB \(predicted\)")

    def test_dtype_is_that_of_decodes_alone(self):
        vae, z, x = tiny.kl(), latent(1, 4, 16, 16), latent(1, 3, 32, 32)
        whole, mean = vae.decode(z).sample, vae.encode(x).latent_dist.mean
        for dtype in ("bf16", torch.bfloat16):
            handle = headroom_vae.enable(vae, dtype=dtype, verify=True)
            sample = vae.decode(z).sample
            self.assertEqual((handle.last.dtype, sample.dtype, vae.dtype), ("bf16", torch.float32, torch.float32))
            self.assertIn("fp32: decoded in bf16, as dtype= says", handle.report().undone)
            self.assertGreater(_difference(sample, whole), 1e-4)
            self.assertLess(_difference(sample, whole), 5e-2)
            self.assertLess(_difference(vae.encode(x).latent_dist.mean, mean), 1e-5)
            self.assertEqual(handle.last.dtype, "fp32")
        self.assertIn(" bf16: ", str(handle.predict(32, 32)))
        headroom_vae.enable(vae)
        self.assertLess(_difference(vae.decode(z).sample, whole), 1e-5)

    def test_a_dtype_in_which_the_vae_overflows_is_refused(self):
        with self.assertRaisesRegex(headroom_vae.InputError, "overflows in fp16, as force_upcast in its config says. Expected 'bf16' or 'fp32'"):
            headroom_vae.enable(tiny.kl(), dtype="fp16")
        with self.assertRaisesRegex(headroom_vae.InputError, "dtype: expected fp32, bf16 or fp16, found 'int8'"):
            headroom_vae.enable(tiny.kl(), dtype=torch.int8)

    def test_disable_gives_back_the_decode_that_was_there(self):
        vae, z = tiny.kl(), latent(1, 4, 4, 4)
        for earlier in (vae.decode, torch.compile(vae.decode, backend="eager")):
            vae.decode = earlier
            handle = headroom_vae.enable(vae)
            self.assertIs(headroom_vae.enable(vae, limit="64MiB"), headroom_vae.handle_of(vae))
            vae.decode(z)
            copied = copy.deepcopy(vae)
            headroom_vae.disable(vae)
            self.assertIs(vae.decode, earlier)
            self.assertIsNone(headroom_vae.handle_of(vae))
            handle.decode(z)  # without Headroom again
            headroom_vae.disable(copied)
            self.assertIn("decode", vars(copied))

    def test_a_context_ends_what_it_began(self):
        vae, z = tiny.kl(), latent(1, 4, 4, 4)
        with headroom_vae.enable(vae, limit="64MiB") as handle:
            self.assertIs(headroom_vae.handle_of(vae), handle)
            vae.decode(z)
        self.assertIsNone(headroom_vae.handle_of(vae))
        with self.assertRaisesRegex(LookupError, "mine"), headroom_vae.enable(vae):
            raise LookupError("mine")
        self.assertIsNone(headroom_vae.handle_of(vae))
        with headroom_vae.enable(vae):
            other = headroom_vae.enable(vae, limit="64MiB")
        self.assertIs(headroom_vae.handle_of(vae), other)
        with headroom_vae.enable(tiny.kl()) as handle:
            gc.collect()  # the last reference is gone

    def test_tiling_is_named_as_without_effect_once(self):
        vae, z = tiny.kl(), latent(1, 4, 4, 4)
        vae.enable_tiling()
        caught = self.warned(lambda: (headroom_vae.enable(vae), vae.decode(z), vae.decode(z)))
        self.assertEqual(len(caught), 1)
        self.assertIn("vae.enable_tiling() has no effect while Headroom is enabled", str(caught[0].message))
        self.assertEqual(caught[0].filename, __file__)
        vae.disable_tiling()
        self.assertEqual(self.warned(lambda: headroom_vae.enable(vae)), [])
        vae.enable_tiling()
        caught = self.warned(lambda: (vae.decode(z), vae.decode(z)))
        self.assertEqual(len(caught), 1)
        self.assertEqual(caught[0].filename, __file__)

    def test_blended_clips_are_named_as_without_effect(self):
        vae = tiny.hunyuan_video()
        self.assertEqual(self.warned(lambda: headroom_vae.enable(vae)), [])
        vae = type(vae).from_config(vae.config)  # the unmodified class
        caught = self.warned(lambda: (headroom_vae.enable(vae), vae.decode(latent(1, 4, 2, 3, 2))))
        self.assertEqual(len(caught), 2)
        self.assertIn("use_framewise_decoding has no effect while Headroom is enabled: it decodes all frames as a whole", str(caught[0].message))
        self.assertIn("use_framewise_encoding has no effect while Headroom is enabled: it encodes all frames as a whole", str(caught[1].message))

    def test_a_device_without_a_decoder_falls_back_on_the_cpu_with_a_warning(self):
        vae, z = tiny.kl(), latent(1, 4, 4, 4)
        theirs = vae.decode(z).sample
        with mock.patch.object(parameters.Parameters, "device", lambda _: "xla:0"):
            caught = self.warned(lambda: headroom_vae.enable(vae, limit="64MiB"))
            self.assertEqual([str(warning.message) for warning in caught], ["decodes run on the CPU: Headroom has no decoder for xla:0, where the VAE is"])
            self.assertEqual(caught[0].filename, __file__)
            ours = vae.decode(z).sample
        self.assertLessEqual(float((ours - theirs).abs().max()), 1e-4 * float(theirs.abs().max()))
        self.assertEqual(headroom_vae.handle_of(vae).last.device, "cpu")
        self.assertIn(" on cpu in fp32, peak ", str(headroom_vae.handle_of(vae).last))
        away = mock.Mock(spec=["device", "dtype"], device=torch.device("xla"), dtype=torch.float32)
        self.assertEqual(headroom_vae.described.device_of(away), "cpu")

    def test_release_is_refused_for_a_vae_on_a_gpu(self):
        vae = tiny.kl()
        with mock.patch.object(parameters.Parameters, "device", lambda _: "cuda:0"), mock.patch("headroom_vae.module.require_device"):
            with self.assertRaisesRegex(headroom_vae.InputError, "release=True: expected a VAE on the CPU, found one on cuda:0"):
                headroom_vae.enable(vae, release=True)

    def test_an_error_carries_the_latents(self):
        vae, z = tiny.kl(), latent(1, 4, 32, 32)
        headroom_vae.enable(vae, limit="1MiB")
        with self.assertRaises(headroom_vae.DoesNotFit) as refused:
            vae.decode(z)
        self.assertIs(refused.exception.latents, z)
        headroom_vae.enable(vae, limit="64MiB")
        self.assertEqual(vae.decode(refused.exception.latents).sample.shape, (1, 3, 64, 64))
        self.assertIsNone(headroom_vae.DoesNotFit("").latents)

    def test_results_draw_themselves(self):
        vae = tiny.kl()
        handle = headroom_vae.enable(vae, limit="64MiB")
        vae.decode(latent(1, 4, 8, 8))
        for result in (handle.last, handle.last.plan, headroom_vae.plan(vae, 64, 64)):
            self.assertNotIn("object at", repr(result))
            self.assertIn("peak", repr(result))
            self.assertIn("peak", result._repr_html_())
        self.assertIn("<table>", handle.last._repr_html_())
        self.assertIn("&lt;-", handle.last.plan._repr_html_())

    def test_an_upcast_is_named(self):
        vae = tiny.kl().half()
        for found in (headroom_vae.predict(vae, 64, 64), headroom_vae.predict("sdxl", 64, 64, dtype="fp16"), headroom_vae.enable(vae).predict(64, 64)):
            self.assertIn("64x64 fp32 (not fp16, since its config has force_upcast)", str(found))
        self.assertNotIn("force_upcast", str(headroom_vae.predict("sdxl", 64, 64, dtype="bf16")))

    def test_only_public_names_are_listed(self):
        self.assertEqual(dir(headroom_vae), sorted(headroom_vae.__all__))
        for name in headroom_vae.__all__:
            self.assertTrue(hasattr(headroom_vae, name), name)
        self.assertNotIn("amounts", dir(headroom_vae))


if __name__ == "__main__":
    unittest.main()
