"""Decodes of a VAE on a GPU through the package: on the emulated GPU, which stands in the place of the module for CUDA, with
tensors of the CPU as the memory that torch lends.

    HEADROOM_EMULATED_GPU=build/tests/emulated-gpu-lent.so gpu_test.py
"""

from __future__ import annotations

import os
import unittest
from pathlib import Path
from unittest import mock

import headroom
import tiny
import torch
from headroom import device

MIB = 1 << 20


class LentByCpu(device.TorchMemory):
    """Torch's memory as the package takes it, but the CPU's."""

    taken: list[int] = []
    held = 0

    def __init__(self, asked: str):
        super().__init__("cpu")
        self.asked = asked

    def reserve(self, bytes_: int) -> int:
        address = super().reserve(bytes_)
        LentByCpu.taken.append(bytes_)
        LentByCpu.held += 1
        return address

    def release(self) -> None:
        LentByCpu.held -= self._block is not None
        super().release()


class Gpu(unittest.TestCase):
    def setUp(self):
        self.where = "cuda:0"
        module = Path(os.environ["HEADROOM_EMULATED_GPU"])
        for patch in (
            mock.patch.object(device, "GPU_MODULE", module),
            mock.patch.object(device, "TorchMemory", LentByCpu),
            mock.patch.object(headroom.module.Parameters, "device", lambda _: self.where),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        grad = torch.no_grad()
        grad.__enter__()
        self.addCleanup(grad.__exit__, None, None, None)
        LentByCpu.taken.clear()

    def assert_close(self, ours, theirs, largest=1e-4):
        self.assertEqual(ours.shape, theirs.shape)
        self.assertLessEqual(float((ours.float() - theirs.float()).abs().max()), largest * float(theirs.float().abs().max()))

    def latent(self, *shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=torch.Generator().manual_seed(3))

    def test_the_untiled_picture_in_one_block_that_torch_lends(self):
        vae, z = tiny.kl(), self.latent(2, 4, 9, 7)
        whole = vae.decode(z).sample
        handle = headroom.enable(vae, limit="64MiB", host_limit=0)
        for _ in range(2):
            self.assert_close(vae.decode(z).sample, whole)
            self.assertEqual(LentByCpu.held, 0, "given back after each decode")
        picture_bytes = whole.numel() * 4
        self.assertEqual(LentByCpu.taken, [handle.last.peak_bytes - picture_bytes] * 2)
        self.assertEqual(handle.last.peak_bytes, handle.last.predicted_peak_bytes)
        self.assertEqual(LentByCpu.taken[0] % (2 * MIB), 0, "whole pages, so torch's allocator adds nothing")
        self.assertEqual(handle.last.planning_seconds, 0)
        self.assertEqual(handle.last.device, "cuda:0")

    def test_at_the_smallest_limit_and_below_it(self):
        vae, z = tiny.kl(), self.latent(1, 4, 24, 24)
        whole = vae.decode(z).sample
        handle = headroom.enable(vae, limit=None, host_limit=0)
        smallest = handle.predict(*whole.shape[2:]).smallest_limit_bytes
        headroom.enable(vae, limit=smallest, host_limit=0)
        self.assert_close(vae.decode(z).sample, whole)
        self.assertLessEqual(LentByCpu.taken[-1], smallest - whole.numel() * 4)
        headroom.enable(vae, limit=smallest - 1, host_limit=0)
        with self.assertRaises(headroom.DoesNotFit):
            vae.decode(z)
        self.assertEqual(len(LentByCpu.taken), 1, "nothing was taken for it")

    def test_what_torch_refuses_is_told_and_the_next_decode_runs(self):
        vae, z = tiny.kl(), self.latent(1, 4, 8, 8)
        whole = vae.decode(z).sample
        headroom.enable(vae, limit="64MiB", host_limit=0)
        refused = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nmore")
        with mock.patch.object(torch, "empty", side_effect=_raising(refused)):
            with self.assertRaisesRegex(headroom.OutOfGpuMemory, "torch refused .*: CUDA out of memory"):
                vae.decode(z)
        self.assertEqual(LentByCpu.held, 0)
        self.assert_close(vae.decode(z).sample, whole)

    def test_all_that_is_free_is_asked_for_anew_where_others_were_quicker(self):
        # Its peak is well above the smallest reservation of torch's allocator.
        vae, z = tiny.kl(mid_block_add_attention=False), self.latent(1, 4, 64, 48)
        whole = vae.decode(z).sample
        handle = headroom.enable(vae, limit="auto", host_limit=0)
        refused = torch.OutOfMemoryError("CUDA out of memory.")
        for asking in (headroom.module, headroom.prediction):
            free = mock.patch.object(asking, "free_bytes", return_value=64 << 20)
            free.start()
            self.addCleanup(free.stop)
        with mock.patch.object(torch, "empty", side_effect=_raising(refused, times=1)):
            self.assert_close(vae.decode(z).sample, whole)
        self.assertEqual(len(LentByCpu.taken), 1)
        self.assertLessEqual(handle.last.plan.peak_bytes, handle.predict(*whole.shape[2:]).peak_bytes * 7 // 8)
        with mock.patch.object(torch, "empty", side_effect=_raising(refused)):
            with self.assertRaises(headroom.OutOfGpuMemory) as raised:
                vae.decode(z)
        self.assertIsInstance(raised.exception, headroom.DoesNotFit)
        self.assertEqual(LentByCpu.held, 0)

    def test_weights_that_change_and_a_vae_that_moves(self):
        vae, z = tiny.kl(), self.latent(1, 4, 8, 8)
        handle = headroom.enable(vae, limit="64MiB", host_limit=0)
        vae.decode(z)
        vae.decoder.conv_out.weight.mul_(2)
        moved = vae.decode(z).sample
        self.where = "cpu"
        self.assert_close(moved, vae.decode(z).sample)
        self.assertEqual(len(LentByCpu.taken), 2)
        self.assertGreater(handle.held_bytes, 0, "on the CPU packed weights stay")
        self.where = "cuda:0"
        self.assert_close(vae.decode(z).sample, moved)

    def test_packed_weights_stay_until_they_change(self):
        vae, z = tiny.kl(), self.latent(1, 4, 24, 24)
        handle = headroom.enable(vae, limit="1GiB", host_limit=0)
        first = vae.decode(z).sample
        self.assertGreater(handle.held_bytes, 0)
        with mock.patch.object(headroom.parameters.Parameters, "tensors", side_effect=AssertionError("read again")):
            self.assertTrue(torch.equal(vae.decode(z).sample, first))
        vae.decoder.conv_out.weight.mul_(2)
        changed = vae.decode(z).sample
        handle.free()
        self.assertEqual(handle.held_bytes, 0)
        headroom.disable(vae)
        self.assert_close(changed, vae.decode(z).sample)

    def test_pinned_host_memory_lowers_the_smallest_limit(self):
        vae = tiny.kl()
        smallest = [
            headroom.enable(vae, limit=None, host_limit=host).predict(512, 512).smallest_limit_bytes for host in (0, "1GiB", "auto")
        ]
        self.assertLess(smallest[1], smallest[0])
        self.assertEqual(smallest[1], smallest[2])

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
        with self.assertRaisesRegex(headroom.InputError, "limit='auto': expected bytes, since there is no GPU"):
            headroom.predict("sd15", 256, 256, device="cuda", limit="auto")
        self.assertTrue(headroom.predict("sd15", 256, 256, device="cuda", limit="8GiB").fits)

    def test_what_cannot_run_is_refused_at_once(self):
        self.where = "cuda:1"
        with self.assertRaisesRegex(headroom.Unsupported, "first GPU"):
            headroom.enable(tiny.kl())
        self.where = "cuda:0"
        with self.assertRaisesRegex(headroom.InputError, "release=True: expected a VAE on the CPU"):
            headroom.enable(tiny.kl(), release=True)
        with mock.patch.object(device, "GPU_MODULE", Path("/nowhere/headroom-cuda-lent.so")):
            with self.assertRaisesRegex(headroom.Unsupported, "this build decodes on the CPU"):
                headroom.enable(tiny.kl())

    def test_where_there_is_no_gpu_the_real_module_says_so(self):
        real = Path(headroom.__file__).with_name("headroom-cuda-lent.so")
        if not real.exists() or torch.cuda.is_available():
            self.skipTest("built without CUDA, or there is a GPU")
        with mock.patch.object(device, "GPU_MODULE", real):
            vae = tiny.kl()
            headroom.enable(vae, limit="64MiB")
            with self.assertRaisesRegex(headroom.DeviceError, "cannot use CUDA: no GPU"):
                vae.decode(self.latent(1, 4, 8, 8))


def _raising(error, times=1000):
    """torch.empty that refuses bytes, so many times, and makes all other tensors."""
    made, left = torch.empty, iter(range(times))

    def empty(*shape, **options):
        if options.get("dtype") is torch.uint8 and next(left, None) is not None:
            raise error
        return made(*shape, **options)

    return empty


if __name__ == "__main__":
    unittest.main()
