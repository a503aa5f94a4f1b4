#!/usr/bin/env python3
"""What reports/bench/counted_memory.py counts, and what reports/bench/measure.py says of clips' latents.

    python3 -m unittest tests/reports/bench/counted_memory_test.py
"""

import sys
import unittest
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "reports" / "bench"))
import measure  # noqa: E402
from counted_memory import CountedMemory  # noqa: E402


class Counted(unittest.TestCase):
    def test_what_is_held_at_one_time_is_counted_once(self):
        there_before = torch.zeros(1000)
        with CountedMemory() as counted:
            first = there_before + 1
            view = first.view(10, 100)
            self.assertEqual(counted.live_bytes, 4000)
            second = view.half()
            del first, view
            self.assertEqual(counted.live_bytes, 2000)
            third = second + second
            del second, third
        self.assertEqual((counted.live_bytes, counted.peak_bytes), (0, 6000))

    def test_in_place_operations_and_tensors_from_before_are_free(self):
        there_before = torch.zeros(1000)
        with CountedMemory() as counted:
            there_before.add_(1)
            there_before[:10].mul_(2)
        self.assertEqual(counted.peak_bytes, 0)

    def test_tensors_without_values_count_as_if_they_had_some(self):
        with CountedMemory() as counted:
            pairs = torch.empty(475200, 475200, dtype=torch.float16, device="meta")
            self.assertEqual(counted.live_bytes, 2 * 475200**2)
            del pairs


class ClipLatents(unittest.TestCase):
    def test_shapes_of_the_built_in_models(self):
        for model, size, frames, expected in (("hunyuan-video", (1280, 720), 129, (1, 16, 33, 90, 160)),
                                              ("wan2.1", (832, 480), 81, (1, 16, 21, 60, 104)),
                                              ("wan2.2", (1280, 704), 121, (1, 48, 31, 44, 80)),
                                              ("qwen-image-2.1", (2048, 2048), 1, (1, 64, 1, 128, 128)),
                                              ("open-sora-plan", (512, 512), 65, (1, 4, 17, 64, 64))):
            with self.subTest(model):
                shape = measure.latent_shape(model, size, 1, frames)
                self.assertEqual(shape, expected)
                self.assertEqual(measure.clip_frames(model, shape), frames)
        self.assertEqual(measure.latent_shape("sdxl", (512, 256)), (1, 4, 32, 64))
        with self.assertRaisesRegex(RuntimeError, "expected 1 more than a multiple of 4, found 16"):
            measure.latent_shape("hunyuan-video", (128, 128), 1, 16)


if __name__ == "__main__":
    unittest.main()
