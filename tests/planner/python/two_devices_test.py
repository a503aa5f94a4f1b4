"""Tests decodes on a machine with two GPUs, over an air card with two devices (AIR_DEVICES=2). It fails launches, records and
allocations across devices as CUDA does. tests/CMakeLists.txt has the environment.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import json
import os
import subprocess
import sys
import threading
import unittest
from pathlib import Path
from unittest import mock

import headroom_vae
import tiny
import torch
from headroom_vae import device, tf32

CARDS = (0, 1)
latent = functools.partial(tiny.latent, seed=3)


def report() -> dict:
    describe = ctypes.CDLL("libcudart.so.13").air_card_report
    describe.restype = ctypes.c_char_p
    return json.loads(describe())


def launches() -> list[int]:
    counts = report()
    return [counts.get(f"launches_on_{card}", 0) for card in CARDS]


def tearDownModule():
    gc.collect()
    found = report()
    wrong = {name: found[name] for name in ("wrong_uses", "calls_after_error", "descriptors", "handles")}
    if any(wrong.values()):
        raise AssertionError(wrong)


class TwoDevices(tiny.Case):
    def setUp(self):
        super().setUp()
        self.enterContext(tf32.full_fp32())  # torch's default is TF32, which the air card computes too
        module = mock.patch.object(device, "GPU_MODULE", Path(os.environ["HEADROOM_AIR_MODULE"]))
        module.start()
        self.addCleanup(module.stop)
        self.addCleanup(torch.cuda.set_device, 0)

    def enabled(self, card, **options):
        vae = tiny.kl().to(f"cuda:{card}")
        headroom_vae.enable(vae, **{"limit": "64MiB", "host_limit": 0, **options})
        return vae

    def assert_close(self, ours, theirs):
        self.assertEqual(ours.shape, theirs.shape)
        self.assertLessEqual(float((ours.cpu() - theirs).abs().max()), 1e-5 * float(theirs.abs().max()))

    def assert_current(self, card):
        """The caller's next tensor lands on the card that was current before."""
        self.assertEqual(torch.cuda.current_device(), card)
        self.assertEqual(torch.empty(1, device="cuda").device, torch.device("cuda", card))

    def test_decodes_and_encodes_leave_the_current_device(self):
        z, x = latent(1, 4, 9, 7), latent(1, 3, 18, 14)
        picture, moments = tiny.kl().decode(z).sample, tiny.kl().encode(x, return_dict=False)[0].parameters
        for card in CARDS:
            vae = self.enabled(card)
            for current in (*CARDS, *CARDS):
                with self.subTest(card=card, current=current):
                    torch.cuda.set_device(current)
                    before = launches()
                    made = vae.decode(z.to(f"cuda:{card}")).sample
                    self.assert_current(current)
                    self.assertEqual(made.device, torch.device("cuda", card))
                    self.assert_close(made, picture)
                    self.assertEqual(headroom_vae.handle_of(vae).last.device, f"cuda:{card}")
                    self.assert_close(vae.encode(x, return_dict=False)[0].parameters, moments)
                    self.assert_current(current)
                    after = launches()
                    self.assertGreater(after[card], before[card])
                    self.assertEqual(after[1 - card], before[1 - card])

    def test_memory_is_taken_from_the_card_of_the_vae(self):
        z = latent(1, 4, 24, 24)
        vae = self.enabled(1)
        torch.cuda.reset_peak_memory_stats(0)
        torch.cuda.reset_peak_memory_stats(1)
        before = [torch.cuda.memory_allocated(card) for card in CARDS]
        picture = vae.decode(z).sample
        peak = [torch.cuda.max_memory_allocated(card) - before[card] for card in CARDS]
        self.assertEqual(peak, [0, headroom_vae.handle_of(vae).last.peak_bytes - picture.nbytes])

    def test_threads_with_devices_of_their_own(self):
        z = latent(1, 4, 9, 7)
        picture = tiny.kl().decode(z).sample
        vaes = [self.enabled(card) for card in CARDS]
        failed = []

        @torch.no_grad()  # a thread has a mode of its own
        def decode(current, card):
            try:
                torch.cuda.set_device(current)
                for _ in range(3):
                    self.assert_close(vaes[card].decode(z).sample, picture)
                    self.assert_current(current)
            except BaseException as error:
                failed.append((current, card, error))

        threads = [threading.Thread(target=decode, args=(current, card)) for current in CARDS for card in CARDS]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        self.assert_current(0)

    def test_failures_leave_the_current_device(self):
        class Stopped(Exception):
            pass

        def stop(share):
            raise Stopped

        z = latent(1, 4, 24, 24)
        vae = self.enabled(0, progress=stop)
        torch.cuda.set_device(1)
        with self.assertRaises(Stopped):
            vae.decode(z)
        self.assert_current(1)
        refused = torch.OutOfMemoryError("CUDA out of memory.")
        vae = self.enabled(0)
        with mock.patch.object(device.TorchMemory, "reserve", side_effect=refused), self.assertRaises(torch.OutOfMemoryError):
            vae.decode(z)
        self.assert_current(1)

    def test_pinned_weights_are_freed_with_another_device_current(self):
        vae = self.enabled(0)
        vae.decode(latent(1, 4, 9, 7))
        torch.cuda.set_device(1)
        headroom_vae.handle_of(vae).free()
        self.assert_current(1)
        del vae
        gc.collect()
        self.assert_current(1)

    def test_cuda_means_the_current_device(self):
        z = latent(1, 4, 9, 7)
        picture = tiny.kl().decode(z).sample
        vae = self.enabled(0)
        with mock.patch.object(headroom_vae.module.Parameters, "device", lambda _: "cuda"):  # as an offload hook may name it
            for current in CARDS:
                torch.cuda.set_device(current)
                self.assert_close(vae.decode(z).sample, picture)
                self.assertEqual(headroom_vae.handle_of(vae).last.device, f"cuda:{current}")

    def test_a_latent_on_another_card(self):
        z = latent(1, 4, 9, 7)
        vae = self.enabled(0)
        made = vae.decode(z.to("cuda:1")).sample
        self.assertEqual(made.device, torch.device("cuda", 1))
        self.assert_close(made, tiny.kl().decode(z).sample)
        self.assertEqual(headroom_vae.handle_of(vae).last.undone, ("the latent was on cuda:1: decoded on cuda:0",))

    def test_a_decode_inside_a_graph_is_refused(self):
        cuda, z = ctypes.CDLL("libcudart.so.13"), latent(1, 4, 9, 7)
        vae = self.enabled(0)
        expected = vae.decode(z).sample
        for card in CARDS:  # of the decode, and of the caller
            torch.cuda.set_device(card)
            with torch.cuda.stream(torch.cuda.Stream()):
                handle = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
                before = launches()
                self.assertEqual(cuda.cudaStreamBeginCapture(handle, 0), 0)
                try:
                    with self.assertRaisesRegex(headroom_vae.Unsupported, r"^torch\.cuda\.graph: expected a decode outside of it, [^\n]*$"):
                        vae.decode(z)
                finally:
                    self.assertEqual(cuda.cudaStreamEndCapture(handle, ctypes.byref(ctypes.c_void_p())), 0)
                self.assertEqual(launches(), before)
            self.assert_close(vae.decode(z).sample, expected)

    def test_auto_is_what_the_named_card_has_free(self):
        free = {card: headroom_vae.predict("sd15", 64, 64, device=f"cuda:{card}", limit="auto").limit_bytes for card in CARDS}
        held = torch.empty(512 << 20, dtype=torch.uint8, device="cuda:1")
        now = {card: headroom_vae.predict("sd15", 64, 64, device=f"cuda:{card}", limit="auto").limit_bytes for card in CARDS}
        self.assertEqual([free[card] - now[card] for card in CARDS], [0, held.nbytes])
        torch.cuda.set_device(1)
        self.assertEqual(headroom_vae.predict("sd15", 64, 64, device="cuda", limit="auto").limit_bytes, now[1])
        with self.assertRaisesRegex(headroom_vae.InputError, r"^cuda:7: there are 2 GPUs, cuda:0 to cuda:1$"):
            headroom_vae.predict("sd15", 64, 64, device="cuda:7", limit="auto")

    def test_a_card_that_is_not_used_gets_no_context(self):
        used = subprocess.run([sys.executable, __file__, "--decode-on-1"], capture_output=True, text=True, check=True)
        self.assertEqual(used.stdout, "contexts: 1\n")


def decode_on_1() -> None:
    """For a process of its own: decodes on cuda:1, while cuda:0 is current and was never used."""
    with mock.patch.object(device, "GPU_MODULE", Path(os.environ["HEADROOM_AIR_MODULE"])), torch.no_grad():
        vae = tiny.kl().to("cuda:1")
        headroom_vae.enable(vae, limit="64MiB", host_limit=0)
        vae.decode(latent(1, 4, 9, 7))
    print("contexts:", report()["contexts"])


if __name__ == "__main__":
    if "--decode-on-1" in sys.argv:
        decode_on_1()
    else:
        unittest.main()
