"""Errors without a GPU, and the memory available from torch. air_card_test.py tests decodes on a GPU."""

from __future__ import annotations

import unittest
from pathlib import Path
from unittest import mock

import headroom_vae
import tiny
import torch
from headroom_vae import device


class Gpu(unittest.TestCase):
    def setUp(self):
        for patch in (
            mock.patch.object(device, "GPU_MODULE", Path(__file__)),  # any existing file
            mock.patch.object(headroom_vae.module.Parameters, "device", lambda _: "cuda:0"),
        ):
            patch.start()
            self.addCleanup(patch.stop)

    def test_auto_is_what_torch_could_give(self):
        gib = 1 << 30
        told = {"init": None, "mem_get_info": (5 * gib, 24 * gib), "memory_reserved": 3 * gib, "memory_allocated": 1 * gib}
        with mock.patch.multiple(torch.cuda, **{name: mock.Mock(return_value=value) for name, value in told.items()}):
            fraction = mock.patch.object(torch.cuda, "get_per_process_memory_fraction", lambda _: 1.0, create=True)
            with fraction:
                self.assertEqual(device.free_bytes("cuda:0"), 7 * gib - device.AUTO_MARGIN_BYTES)
            capped = mock.patch.object(torch.cuda, "get_per_process_memory_fraction", lambda _: 0.25, create=True)
            with capped:
                self.assertEqual(device.free_bytes("cuda:0"), 5 * gib - device.AUTO_MARGIN_BYTES)

    def test_auto_without_a_gpu_names_what_is_missing(self):
        if torch.cuda.is_available():
            self.skipTest("there is a GPU")
        with self.assertRaisesRegex(headroom_vae.InputError, "limit='auto': expected bytes, because torch finds no GPU"):
            headroom_vae.predict("sd15", 256, 256, device="cuda", limit="auto")
        self.assertTrue(headroom_vae.predict("sd15", 256, 256, device="cuda", limit="8GiB").fits)

    def test_what_cannot_run_is_refused_at_once(self):
        with mock.patch.object(device, "GPU_MODULE", Path("/nowhere/headroom-cuda-lent.so")):
            with self.assertRaisesRegex(headroom_vae.Unsupported, "cuda:0: Headroom was built for the CPU only. Build it for NVIDIA GPUs .*or move the VAE to the CPU$"):
                headroom_vae.enable(tiny.kl(), executor="native")

    def test_another_pytorch_than_for_cuda_12_and_13_is_named(self):
        for cuda, hip, found in (("11.8", None, "for CUDA 11.8"), (None, "6.4.1", "for ROCm 6.4.1"), (None, None, "without CUDA")):
            with mock.patch.object(torch.version, "cuda", cuda), mock.patch.object(torch.version, "hip", hip):
                with self.assertRaisesRegex(headroom_vae.Unsupported, rf"expected PyTorch for CUDA 12 or 13, found .* {found}\. Install PyTorch"):
                    headroom_vae.enable(tiny.kl(), executor="native")

    def test_a_module_that_cannot_be_loaded_is_named(self):
        with mock.patch.object(torch.version, "cuda", "13.0"):
            with self.assertRaisesRegex(headroom_vae.Unsupported, "the GPU module cannot be loaded: .*gpu_test.py.*Install PyTorch for CUDA 12 or 13"):
                headroom_vae.enable(tiny.kl(), executor="native")

    def test_where_there_is_no_gpu_the_real_module_says_so(self):
        real = Path(headroom_vae.__file__).with_name("headroom-cuda-lent.so")
        if not real.exists() or torch.cuda.is_available():
            self.skipTest("built without CUDA, or there is a GPU")
        with mock.patch.object(device, "GPU_MODULE", real):
            vae = tiny.kl()
            headroom_vae.enable(vae, limit="64MiB", executor="native")
            with self.assertRaisesRegex(headroom_vae.DeviceError, "cannot use CUDA: no GPU"):
                vae.decode(torch.zeros(1, 4, 8, 8))


if __name__ == "__main__":
    unittest.main()
