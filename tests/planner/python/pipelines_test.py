"""Compares pictures of diffusers' pipelines with and without Headroom, for every way to call them."""

from __future__ import annotations

import unittest

import headroom_vae
import numpy as np
import tiny
import torch

LARGEST_ERROR = 1e-4


def picture_of(result) -> np.ndarray:
    while isinstance(result, tuple):
        result = result[0]
    if isinstance(result, list):
        result = np.stack([np.asarray(item, dtype=np.float32) for item in result])
    return result.float().numpy() if isinstance(result, torch.Tensor) else np.asarray(result, dtype=np.float32)


class Pipelines(unittest.TestCase):
    def assert_same(self, ours, theirs, largest=LARGEST_ERROR):
        self.assertEqual(ours.shape, theirs.shape)
        self.assertTrue(np.isfinite(theirs).all())
        self.assertLessEqual(np.abs(ours - theirs).max(), largest * np.abs(theirs).max())

    def test_every_pipeline(self):
        for name, make in tiny.PIPELINES.items():
            with self.subTest(name):
                pipe, arguments = make()
                theirs = picture_of(tiny.run(pipe, arguments))
                handle = headroom_vae.enable(pipe, limit="64MiB")
                ours = picture_of(tiny.run(pipe, arguments))
                self.assert_same(ours, theirs)
                self.assertIsNotNone(handle.last)
                self.assertLessEqual(handle.last.peak_bytes, handle.last.predicted_peak_bytes)
                self.assertLessEqual(handle.last.predicted_peak_bytes, 64 << 20)
                smallest = handle.predict(arguments["height"], arguments["width"], arguments.get("num_frames", 1))
                headroom_vae.enable(pipe, limit=smallest.smallest_limit_bytes + ours.size * 4)
                self.assert_same(picture_of(tiny.run(pipe, arguments)), theirs)
                headroom_vae.disable(pipe)
                np.testing.assert_array_equal(picture_of(tiny.run(pipe, arguments)), theirs)

    def test_every_kind_of_output(self):
        pipe, arguments = tiny.stable_diffusion()
        for more in (
            {"output_type": "pil"},
            {"output_type": "np"},
            {"output_type": "latent"},
            {"return_dict": False},
            {"num_images_per_prompt": 3},
        ):
            with self.subTest(**more):
                theirs = picture_of(tiny.run(pipe, arguments, **more))
                headroom_vae.enable(pipe, limit="64MiB")
                # Rounding to eight bits may differ by one.
                self.assert_same(picture_of(tiny.run(pipe, arguments, **more)), theirs, 1 / 250 if "pil" in more.values() else LARGEST_ERROR)
                headroom_vae.disable(pipe)

    def test_in_inference_mode(self):
        pipe, arguments = tiny.stable_diffusion()
        theirs = picture_of(tiny.run(pipe, arguments))
        headroom_vae.enable(pipe)
        with torch.inference_mode():
            self.assert_same(picture_of(tiny.run(pipe, arguments)), theirs)

    def test_slicing_and_tiling_switches_stay(self):
        pipe, arguments = tiny.stable_diffusion()
        theirs = picture_of(tiny.run(pipe, arguments, num_images_per_prompt=2))
        headroom_vae.enable(pipe)
        pipe.vae.enable_slicing()
        self.assert_same(picture_of(tiny.run(pipe, arguments, num_images_per_prompt=2)), theirs)
        pipe.vae.enable_tiling()
        with self.assertWarnsRegex(UserWarning, "has no effect"):
            self.assert_same(picture_of(tiny.run(pipe, arguments, num_images_per_prompt=2)), theirs)

    def test_offload_hooks_are_called(self):
        from accelerate.hooks import ModelHook, add_hook_to_module

        calls = []

        class Hook(ModelHook):
            def pre_forward(self, module, *args, **kwargs):
                calls.append(type(module).__name__)
                return args, kwargs

        pipe, arguments = tiny.stable_diffusion()
        theirs = picture_of(tiny.run(pipe, arguments))
        headroom_vae.enable(pipe)
        add_hook_to_module(pipe.vae, Hook())
        self.assert_same(picture_of(tiny.run(pipe, arguments)), theirs)
        self.assertEqual(calls, ["AutoencoderKL"])

    def test_progress_as_the_pipeline_shows_it(self):
        pipe, arguments = tiny.stable_diffusion()
        shares = []
        headroom_vae.enable(pipe, progress=shares.append)
        tiny.run(pipe, arguments)
        self.assertEqual(shares, sorted(shares))
        self.assertEqual(shares[-1], 1)


if __name__ == "__main__":
    unittest.main()
