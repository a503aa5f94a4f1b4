"""Tests the package's GPU path with PyTorch's CUDA build on the air card: CUDA's libraries without a card. The card's memory is
host memory. Headroom's kernels are emulated, so decodes make real pictures. PyTorch's own kernels do nothing: this test casts
and computes on the CPU.

    HEADROOM_AIR_MODULE=… LD_LIBRARY_PATH=… LD_PRELOAD=… air_card_test.py    # tests/CMakeLists.txt has the values

The streams run queued work late and in drawn orders (AIR_ORDER=drawn), so a missing wait shows as a wrong picture.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import functools
import gc
import json
import os
import re
import sys
import tempfile
import unittest
import warnings
from pathlib import Path
from unittest import mock

import accelerate
import comfyui_support
import headroom_vae
import stream_test
import tiny
import torch
from headroom_vae import device, parameters, tf32

MIB = 1 << 20
CARD = torch.device("cuda", 0)

latent = functools.partial(tiny.latent, seed=3)


class RecordedMemory(device.TorchMemory):
    """Torch's memory, with a record of each reservation's address and size."""

    blocks: list[tuple[int, int]] = []

    def reserve(self, bytes_: int) -> int:
        RecordedMemory.blocks.append((super().reserve(bytes_), bytes_))
        return RecordedMemory.blocks[-1][0]


def put_behind(stream: torch.cuda.Stream) -> None:
    """Queues work on a stream, so that the stream lags behind the host."""
    with torch.cuda.stream(stream):
        to, values = torch.empty(64, device=CARD), torch.empty(64).pin_memory()
        for _ in range(500):
            to.copy_(values, non_blocking=True)


def _raising(error, times=1000):
    """A torch.empty that raises `error` for byte tensors, the given number of times, and makes all other tensors."""
    made, left = torch.empty, iter(range(times))

    def empty(*shape, **options):
        if options.get("dtype") is torch.uint8 and next(left, None) is not None:
            raise error
        return made(*shape, **options)

    return empty


class AirCard(tiny.Case):
    def setUp(self):
        super().setUp()
        for patch in (
            mock.patch.object(device, "GPU_MODULE", Path(os.environ["HEADROOM_AIR_MODULE"])),
            mock.patch.object(device, "TorchMemory", RecordedMemory),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        self.enterContext(tf32.full_fp32())
        RecordedMemory.blocks.clear()

    def assert_close(self, ours, theirs, largest=1e-5):
        self.assertEqual(ours.shape, theirs.shape)
        self.assertLessEqual(float((ours.cpu() - theirs).abs().max()), largest * float(theirs.abs().max()))

    def assert_on_card(self, decodes: int = 1):
        """Requires this many decodes on the card since the test began, or since the last call of this method."""
        self.assertEqual(len(RecordedMemory.blocks), decodes)
        RecordedMemory.blocks.clear()


def tearDownModule():
    """Requires that the air card found no wrong use of its libraries and that no decode leaked an object."""
    gc.collect()
    describe = ctypes.CDLL("libcudart.so.13").air_card_report
    describe.restype = ctypes.c_char_p
    report = json.loads(describe())
    found = {name: report[name] for name in ("wrong_uses", "calls_after_error", "descriptors", "handles")}
    if any(found.values()):
        raise AssertionError(found)


class ClipStreams(stream_test.StreamCases, AirCard):
    """The streams' tests, on copies of their VAEs on the card."""

    def setUp(self):
        super().setUp()
        self._copies = {}

    def placed(self, vae):
        if vae not in self._copies:
            self._copies[vae] = copy.deepcopy(vae).to(CARD)
        return self._copies[vae]

    def tearDown(self):
        self._copies.clear()
        gc.collect()
        self.assertGreater(len(RecordedMemory.blocks), 0)
        self.assertEqual(torch.cuda.memory_allocated(), 0)  # the last stream gave its reservation back

    def test_frames_come_back_to_the_latents_device(self):
        vae, latents = tiny.wan(), latent(1, 16, 3, 3, 4)
        whole = vae.decode(latents).sample
        with self.stream(vae, 24, 32, limit="64MiB") as stream:
            frames = [stream.push(latents[:, :, i : i + 1].to(CARD)) for i in range(3)]
        self.assertEqual(frames[0].device, CARD)
        self.assert_close(torch.cat([part.cpu() for part in frames], 2), whole)
        self.assertLessEqual(sum(bytes_ for _, bytes_ in RecordedMemory.blocks), stream.peak_bytes)


class Decodes(AirCard):
    def test_a_recording_counts_the_allocators_blocks(self):
        # Only elementwise: the air card's cuDNN supports just Headroom's convolutions.
        class Decoder(torch.nn.Sequential):
            def decode(self, z):
                return self(z)

        vae = Decoder(torch.nn.SiLU(), torch.nn.ReLU())
        recording = headroom_vae.record(vae, latent(1, 3, 50, 50).to(CARD))
        decode, before, block = recording["decodes"][0], 30_000, 30_208  # rounded up to a multiple of 512
        self.assertEqual((recording["device_kind"], decode["width_pixels"]), ("cuda", 50))
        self.assertEqual((decode["peak_bytes"], decode["peak_layer"]), (before + 2 * block, "1"))
        self.assertEqual(decode["peak_live"], [{"name": "0", "bytes": block}, {"name": "1", "bytes": block}, {"name": "latent", "bytes": before},
                                               {"name": "weights", "bytes": 0}])

    def test_there_is_a_card(self):
        self.assertTrue(torch.cuda.is_available())
        values = latent(5, 7)
        self.assertTrue(torch.equal(values.to(CARD).cpu(), values))

    def test_every_family_gives_the_untiled_picture(self):
        for make, shape in (
            (tiny.kl, (2, 4, 9, 7)),
            (tiny.autoencoder_tiny, (1, 4, 9, 7)),
            (tiny.flux2, (1, 4, 4, 6)),
            (tiny.dc, (1, 4, 5, 6)),
            (tiny.wan, (1, 16, 2, 3, 4)),
            (tiny.qwen, (1, 4, 1, 6, 5)),
        ):
            with self.subTest(make.__name__):
                vae, z = make(), latent(*shape)
                whole = vae.decode(z, return_dict=False)[0]
                headroom_vae.enable(vae.to(CARD), limit="256MiB", host_limit=0)
                before = torch.cuda.memory_allocated()
                picture = vae.decode(z.to(CARD), return_dict=False)[0]
                self.assertEqual(picture.device, CARD)
                self.assert_close(picture, whole)
                self.assert_on_card()
                del picture
                self.assertEqual(torch.cuda.memory_allocated(), before)

    def test_a_vae_that_overflows_in_16_bits_decodes_in_bf16_if_asked(self):
        z = latent(1, 4, 9, 7).to(CARD)
        with self.assertWarnsRegex(UserWarning, r"decodes run in fp32, because this VAE overflows in fp16 .*: enable\(..., dtype=\"bf16\"\)"):
            headroom_vae.enable(tiny.kl().half().to(CARD), limit="64MiB", host_limit=0)
        vae = tiny.kl().half().float().to(CARD)  # diffusers' pipelines upcast before a decode
        headroom_vae.enable(vae, limit="64MiB", host_limit=0)
        whole = vae.decode(z, return_dict=False)[0]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            handle = headroom_vae.enable(vae, limit="64MiB", host_limit=0, dtype="bf16")
        picture = vae.decode(z, return_dict=False)[0]
        self.assertEqual((handle.last.dtype, picture.dtype), ("bf16", torch.float32))
        self.assert_close(picture, whole.cpu(), 5e-2)
        self.assert_on_card(decodes=2)

    def test_tf32_is_used_as_torchs_switches_say_at_each_decode(self):
        vae, z = tiny.kl().to(CARD), latent(1, 4, 9, 7).to(CARD)
        handle = headroom_vae.enable(vae, limit="64MiB", host_limit=0)
        conv, matmul = torch.backends.cudnn.conv, torch.backends.cuda.matmul
        for convolutions, products, used in (("ieee", "ieee", "none"), ("tf32", "ieee", "convolutions"), ("ieee", "tf32", "products"),
                                             ("tf32", "tf32", "all"), ("ieee", "ieee", "none")):
            conv.fp32_precision, matmul.fp32_precision = convolutions, products
            vae.decode(z)
            self.assertEqual(handle.last.tf32, used)
            self.assertEqual(json.loads(handle.last.plan.json())["request"].get("tf32", "none"), used)
            for shown in (str(handle.last), repr(handle.last.plan), str(handle.predict(72, 56))):
                self.assertEqual("TF32" in shown, used != "none", shown)
            vae.encode(latent(1, 3, 18, 14).to(CARD))
            self.assertEqual(handle.last.tf32, used)
        conv.fp32_precision = "tf32"
        half = tiny.kl().to(torch.bfloat16).to(CARD)
        handle = headroom_vae.enable(half, limit="64MiB", host_limit=0)
        half.decode(z)
        self.assertEqual(handle.last.tf32, "none")

    def test_encoders_give_the_untiled_moments(self):
        for make, shape in (
            (tiny.kl, (2, 3, 18, 14)),
            (tiny.dc, (1, 3, 10, 12)),
            (tiny.wan, (1, 3, 9, 16, 24)),
            (tiny.wan22, (1, 3, 5, 16, 16)),
            (tiny.hunyuan_video_15, (1, 3, 9, 8, 12)),
            (tiny.ltx2_video, (1, 3, 9, 64, 32)),
        ):
            with self.subTest(make.__name__):
                vae, x = make(), latent(*shape)
                whole = vae.encode(x, return_dict=False)[0]
                handle = headroom_vae.enable(vae.to(CARD), limit="256MiB", host_limit=0)
                self.assertIsNotNone(handle.encoder, handle.why_no_encoder)
                before = torch.cuda.memory_allocated()
                # The result is where the picture is, and torch computes on the CPU alone here.
                made = vae.encode(x, return_dict=False)[0]
                self.assertEqual(handle.last.device, "cuda:0")
                self.assert_close(*(getattr(one, "parameters", one) for one in (made, whole)))
                self.assert_on_card()
                del made
                self.assertEqual(torch.cuda.memory_allocated(), before)

    def test_sixteen_bits_are_no_farther_from_fp32_than_diffusers(self):
        for dtype in (torch.bfloat16, torch.float16):
            ours, theirs = 0.0, 0.0
            for seed in range(3):
                z = latent(1, 4, 12, 10, seed=seed).to(dtype)
                exact = tiny.kl().decode(z.float()).sample
                vae = tiny.kl().to(dtype)
                theirs += float((vae.decode(z).sample.float() - exact).abs().mean())
                headroom_vae.enable(vae.to(CARD), limit="64MiB", host_limit=0)
                picture = vae.decode(z.to(CARD)).sample
                self.assertEqual(picture.dtype, dtype)
                ours += float((picture.cpu().float() - exact).abs().mean())
            self.assert_on_card(3)
            self.assertLessEqual(ours, theirs, dtype)

    def test_torch_counts_the_peak_and_the_limit_holds(self):
        vae, z = tiny.kl(), latent(1, 4, 24, 24)
        whole = vae.decode(z).sample
        picture_bytes = whole.numel() * 4
        handle = headroom_vae.enable(vae.to(CARD), limit=None, host_limit=0)
        smallest = handle.predict(*whole.shape[2:]).smallest_limit_bytes
        for limit in (None, "auto", smallest):
            headroom_vae.disable(vae)
            handle = headroom_vae.enable(vae, limit=limit, host_limit=0)
            torch.cuda.empty_cache()  # torch leaves up to 1 MiB of a cached segment with the block
            before = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            self.assert_close(vae.decode(z).sample, whole)
            peak = torch.cuda.max_memory_allocated() - before
            self.assertEqual(peak, handle.last.peak_bytes - picture_bytes)
            self.assertLessEqual(handle.last.peak_bytes, handle.last.predicted_peak_bytes)
            self.assertEqual(torch.cuda.memory_allocated(), before)
        self.assertLessEqual(handle.last.predicted_peak_bytes, smallest)
        self.assert_on_card(3)
        headroom_vae.enable(vae, limit=smallest - 1, host_limit=0)
        with self.assertRaises(headroom_vae.DoesNotFit):
            vae.decode(z)
        self.assert_on_card(0)

    def test_on_a_card_that_is_nearly_full_less_is_kept_back(self):
        vae, z = tiny.kl(), latent(1, 4, 24, 24)
        whole = vae.decode(z).sample
        handle = headroom_vae.enable(vae.to(CARD), limit="auto", host_limit=0)
        torch.cuda.empty_cache()
        free = torch.cuda.mem_get_info()[0]
        for left in (116 * MIB, 14 * MIB):
            others = torch.empty(free - left, dtype=torch.uint8, device=CARD)
            picture = vae.decode(z).sample
            self.assert_close(picture, whole)
            self.assertLessEqual(handle.last.peak_bytes - 4 * picture.numel(), left)  # the picture is on the host
            self.assert_on_card()
            del others
            torch.cuda.empty_cache()
        others = torch.empty(free - 6 * MIB, dtype=torch.uint8, device=CARD)
        with self.assertRaisesRegex(headroom_vae.DoesNotFit, r"does not fit (\d\.\d MiB); .*limit='auto': \1 are free on the GPU, and 0\.0 KiB of them stay free"):
            vae.decode(z)
        del others

    def test_host_memory_takes_tensors_that_do_not_fit(self):
        vae, z = tiny.kl(mid_block_add_attention=False), latent(2, 4, 64, 64)
        whole = vae.decode(z).sample
        vae.to(CARD)
        picture_bytes = whole.numel() * 4
        for limit in range(10 * MIB + picture_bytes, 20 * MIB, MIB // 2):
            handle = headroom_vae.enable(vae, limit=limit, host_limit="256MiB")
            plan = handle.predict(*whole.shape[2:], batch=2).require()
            if '"host"' in plan.json():
                break
        self.assertIn('"host"', plan.json())
        before = torch.cuda.memory_allocated()
        self.assert_close(vae.decode(z.to(CARD)).sample, whole)
        self.assertLessEqual(handle.last.peak_bytes, limit)
        self.assert_on_card()
        self.assertEqual(torch.cuda.memory_allocated(), before)

    def test_memory_that_torch_does_not_have_is_refused_before_anything_runs(self):
        vae, z = tiny.kl(), latent(1, 4, 24, 24)
        whole = vae.decode(z).sample
        headroom_vae.enable(vae.to(CARD), limit="1GiB", host_limit=0)
        self.assert_close(vae.decode(z).sample, whole)
        torch.cuda.empty_cache()
        held = _all_memory()
        before = torch.cuda.memory_allocated()
        with self.assertRaisesRegex(headroom_vae.OutOfGpuMemory, "torch refused .*: CUDA out of memory"):
            vae.decode(z)
        self.assertEqual(torch.cuda.memory_allocated(), before)
        held.clear()
        torch.cuda.empty_cache()
        self.assert_close(vae.decode(z).sample, whole)
        torch.cuda.empty_cache()
        total = torch.cuda.mem_get_info()[1]
        torch.cuda.set_per_process_memory_fraction(torch.cuda.memory_reserved() / total)
        self.addCleanup(torch.cuda.set_per_process_memory_fraction, 1.0)
        with self.assertRaises(headroom_vae.OutOfGpuMemory):
            vae.decode(z)

    def test_all_that_is_free_is_asked_for_anew_where_others_were_quicker(self):
        # Its peak is well above the smallest reservation of torch's allocator.
        vae, z = tiny.kl(mid_block_add_attention=False), latent(1, 4, 64, 48)
        whole = vae.decode(z).sample
        handle = headroom_vae.enable(vae.to(CARD), limit="auto", host_limit=0)
        refused = torch.OutOfMemoryError("CUDA out of memory.")
        for asking in (headroom_vae.module, headroom_vae.prediction):
            free = mock.patch.object(asking, "free_bytes", return_value=64 << 20)
            free.start()
            self.addCleanup(free.stop)
        with mock.patch.object(torch, "empty", side_effect=_raising(refused, times=1)):
            self.assert_close(vae.decode(z).sample, whole)
        self.assert_on_card()
        self.assertLessEqual(handle.last.plan.peak_bytes, handle.predict(*whole.shape[2:]).peak_bytes * 7 // 8)
        with mock.patch.object(torch, "empty", side_effect=_raising(refused)):
            with self.assertRaises(headroom_vae.OutOfGpuMemory) as raised:
                vae.decode(z)
        self.assertIsInstance(raised.exception, headroom_vae.DoesNotFit)

    def test_a_decode_that_is_stopped_leaves_nothing_behind(self):
        class Stopped(Exception):
            pass

        def stop(share):
            raise Stopped

        vae, z = tiny.kl(), latent(1, 4, 24, 24)
        whole = vae.decode(z).sample
        headroom_vae.enable(vae.to(CARD), limit="64MiB", host_limit=0, progress=stop)
        before = torch.cuda.memory_allocated()
        with self.assertRaises(Stopped):
            vae.decode(z)
        self.assertEqual(torch.cuda.memory_allocated(), before)
        self.assert_on_card()
        headroom_vae.enable(vae, limit="64MiB", host_limit=0)
        self.assert_close(vae.decode(z).sample, whole)

    def test_two_vaes_in_turn(self):
        made = [(tiny.kl(), latent(1, 4, 8, 8)), (tiny.wan(), latent(1, 16, 2, 3, 4))]
        pictures = [vae.decode(z).sample for vae, z in made]
        for vae, _ in made:
            headroom_vae.enable(vae.to(CARD), limit="128MiB", host_limit=0)
        for _ in range(2):
            for (vae, z), whole in zip(made, pictures):
                self.assert_close(vae.decode(z.to(CARD)).sample, whole)
        self.assert_on_card(4)

    def test_the_comfyui_node_decodes_where_comfyui_runs_the_vae(self):
        vae = comfyui_support.small_vae()
        z = latent(2, 4, 9, 7)
        theirs = torch.clamp((vae.decode(z).sample + 1) / 2, 0, 1).movedim(1, -1)
        freed = sys.modules["comfy.model_management"].freed
        freed.clear()
        node = comfyui_support.nodes().NODE_CLASS_MAPPINGS["HeadroomVAEDecode"]()
        for where in ("cpu", CARD):  # "cpu": ComfyUI has offloaded the weights
            made = comfyui_support.comfy_vae(vae)
            made.first_stage_model.to(where)
            made.device, made.vae_dtype = CARD, torch.float32
            ours, report = node.decode({"samples": z}, made, limit_gib=1 / 32)
            self.assert_close(ours, theirs)
            self.assertIn("on cuda", report)
        self.assertEqual([where for _, where in freed], [CARD] * 2)
        for bytes_, _ in freed:  # what the plan needs, and what ComfyUI keeps back
            self.assertTrue(1 * MIB < bytes_ <= 33 * MIB, bytes_)
        freed.clear()
        node.decode({"samples": z}, made)  # what is free gives the fastest decode, so ComfyUI keeps its models
        self.assertEqual(freed, [])
        self.assert_on_card(3)

    def test_the_comfyui_node_encodes_where_comfyui_runs_the_vae(self):
        vae = comfyui_support.small_vae()
        pixels = comfyui_support.random_pixels(1, 36, 28, 3)
        theirs = vae.encode(pixels.movedim(-1, 1) * 2 - 1).latent_dist.mode()
        freed = sys.modules["comfy.model_management"].freed
        freed.clear()
        made = comfyui_support.comfy_vae(vae, multiple=4)
        made.first_stage_model.to(CARD)
        made.device, made.vae_dtype = CARD, torch.float32
        ours, report = comfyui_support.encoded_by_node(made, pixels, limit_gib=1 / 32)
        self.assert_close(ours, theirs)
        self.assertIn("on cuda", report)
        self.assertEqual([where for _, where in freed], [CARD])
        self.assert_on_card(1)

    def test_the_comfyui_nodes_use_tf32_as_torchs_switches_or_their_input_say(self):
        z, pixels = latent(1, 4, 9, 7), comfyui_support.random_pixels(1, 36, 28, 3)
        found = comfyui_support.nodes().NODE_CLASS_MAPPINGS
        choices = found["HeadroomVAEDecode"].INPUT_TYPES()["optional"]["tf32"][0]
        wanted = {"as PyTorch": "", "off: full fp32": "", "in convolutions": " with TF32 in convolutions", "in matrix products": " with TF32 in products",
                  "in convolutions and matrix products": " with TF32"}  # fmt: skip
        self.assertEqual(choices, list(wanted))
        as_torch = " with TF32 in convolutions"
        for dtype in (torch.float32, torch.bfloat16):
            made = comfyui_support.comfy_vae(comfyui_support.small_vae(), multiple=4)
            made.first_stage_model.to(dtype).to(CARD)
            made.device, made.vae_dtype = CARD, dtype
            for torchs in ("ieee", "tf32"):
                torch.backends.cudnn.conv.fp32_precision = torchs
                for choice in choices:
                    text = "" if dtype != torch.float32 else as_torch if choice == "as PyTorch" and torchs == "tf32" else wanted[choice]
                    decoded = found["HeadroomVAEDecode"]().decode({"samples": z}, made, limit_gib=1 / 32, tf32=choice)[1]
                    encoded = found["HeadroomVAEEncode"]().encode(pixels, made, limit_gib=1 / 32, tf32=choice)[1]
                    for report in (decoded, encoded):
                        self.assertRegex(report, rf"on cuda:0 in \w+{re.escape(text)}, peak")
        with self.assertRaisesRegex(headroom_vae.InputError, "^tf32: expected one of 'as PyTorch', .*, found 'yes'$"):
            found["HeadroomVAEDecode"]().decode({"samples": z}, made, tf32="yes")


def _all_memory() -> list[torch.Tensor]:
    """Allocates all memory of the card. Less than 2 MiB of contiguous memory remains."""
    held = []
    for bytes_ in (256 * MIB, 64 * MIB, 10 * MIB, 2 * MIB):  # torch reserves 20 MiB of the card for the smallest ones
        with contextlib.suppress(torch.OutOfMemoryError):
            while True:
                held.append(torch.empty(bytes_, dtype=torch.uint8, device=CARD))
    return held


def report() -> dict:
    describe = ctypes.CDLL("libcudart.so.13").air_card_report
    describe.restype = ctypes.c_char_p
    return json.loads(describe())


def bytes_between_host_and_card() -> tuple[int, int]:
    found = report()
    return found["bytes_to_host"], found["bytes_from_host"]


class OnCard(AirCard):
    """Latent, picture and weights stay on the card."""

    def assert_equal(self, ours, theirs):
        self.assertEqual((ours.shape, ours.dtype), (theirs.shape, theirs.dtype))
        self.assertTrue(torch.equal(ours.cpu(), theirs))

    def test_pictures_have_the_bits_that_they_have_on_the_host(self):
        for make, shape in ((tiny.kl, (2, 4, 9, 7)), (tiny.dc, (1, 4, 5, 6)), (tiny.wan, (2, 16, 2, 3, 5)), (tiny.autoencoder_tiny, (1, 4, 9, 7))):
            for dtype in (torch.float32, torch.bfloat16, torch.float16):
                with self.subTest(make.__name__, dtype=dtype):
                    vae, z = make().to(dtype), latent(*shape).to(dtype)
                    handle = headroom_vae.enable(vae.to(CARD), limit="256MiB", host_limit=0)
                    by_host = vae.decode(z, return_dict=False)[0]
                    self.assertEqual(by_host.device.type, "cpu")
                    torch.cuda.synchronize()
                    on_card = z.to(CARD)
                    before = bytes_between_host_and_card()
                    picture = vae.decode(on_card, return_dict=False)[0]
                    folded = handle.held_bytes  # what the host has folded lies in its memory
                    self.assertEqual(folded == 0, make in (tiny.kl, tiny.wan))
                    self.assertEqual(bytes_between_host_and_card(), (before[0], before[1] + folded))
                    self.assertEqual(picture.device, CARD)
                    self.assert_equal(picture, by_host)
                    self.assert_on_card(2)

    def test_moments_have_the_bits_that_they_have_on_the_host(self):
        for make, shape in ((tiny.kl, (2, 3, 18, 14)), (tiny.wan, (1, 3, 9, 16, 24))):
            for dtype in (torch.float32, torch.bfloat16):
                with self.subTest(make.__name__, dtype=dtype):
                    vae, x = make().to(dtype), latent(*shape).to(dtype)
                    handle = headroom_vae.enable(vae.to(CARD), limit="256MiB", host_limit=0)
                    chosen = {**handle._options_of(handle.encoder), "dtype": dtype}
                    by_host, on_card = handle.encoder.decode(x, **chosen), x.to(CARD)
                    before = bytes_between_host_and_card()
                    made = handle.encoder.decode(on_card, **chosen)
                    self.assertEqual(bytes_between_host_and_card(), before)
                    self.assertEqual(made.device, CARD)
                    self.assert_equal(made, by_host)
                    self.assert_on_card(2)

    def test_latents_in_any_layout(self):
        vae, z = tiny.kl(), latent(2, 8, 9, 14)
        headroom_vae.enable(vae.to(CARD), limit="64MiB", host_limit=0)
        on_card = z.to(CARD)
        for given, same in (
            (on_card[:, 2:6, :, ::2], z[:, 2:6, :, ::2]),
            (on_card[:, :4].transpose(2, 3), z[:, :4].transpose(2, 3)),
            (on_card[1:, ::2], z[1:, ::2]),
            (on_card[:, :1].expand(2, 4, 9, 14), z[:, :1].expand(2, 4, 9, 14)),
            (z[:, :4].contiguous(memory_format=torch.channels_last).to(CARD), z[:, :4]),
        ):
            self.assert_equal(vae.decode(given).sample, vae.decode(same).sample)
        self.assert_on_card(10)

    def test_micro_batches_and_many_tiles(self):
        vae, z = tiny.kl(), latent(3, 4, 24, 24)
        handle = headroom_vae.enable(vae.to(CARD), limit=None, host_limit=0)
        smallest = handle.predict(48, 48, batch=3).smallest_limit_bytes
        handle = headroom_vae.enable(vae, limit=smallest, host_limit=0)
        on_card = z.to(CARD)
        before = bytes_between_host_and_card()
        picture = vae.decode(on_card).sample
        self.assertEqual(bytes_between_host_and_card(), before)
        self.assertGreater(len(handle.last.passes), 1)
        self.assert_equal(picture, vae.decode(z).sample)
        self.assert_on_card(2)

    def test_the_picture_counts_in_the_limit(self):
        vae, z = tiny.kl(), latent(1, 4, 24, 24).to(CARD)
        handle = headroom_vae.enable(vae.to(CARD), limit=None, host_limit=0)
        smallest = handle.predict(48, 48).smallest_limit_bytes
        handle = headroom_vae.enable(vae, limit=smallest, host_limit=0)
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        picture = vae.decode(z).sample
        peak = torch.cuda.max_memory_allocated() - before
        rounded = -(-picture.nbytes // 512) * 512 - picture.nbytes
        self.assertEqual(peak, handle.last.peak_bytes + rounded)
        self.assertLessEqual(handle.last.peak_bytes, smallest)
        self.assertEqual(torch.cuda.memory_allocated(), before + picture.nbytes + rounded)
        self.assert_on_card()

    def test_values_that_are_not_finite_are_named_and_the_vae_stays_usable(self):
        vae, z = tiny.kl(), latent(2, 4, 9, 7)
        headroom_vae.enable(vae.to(CARD), limit="64MiB", host_limit=0)
        whole = vae.decode(z).sample
        before = torch.cuda.memory_allocated()
        for value, text in ((float("nan"), "nan"), (float("-inf"), "-inf")):
            broken = z.clone()
            broken[1, 2, 3, 4] = value
            number = ((1 * 4 + 2) * 9 + 3) * 7 + 4
            for given in (broken, broken.to(CARD), broken.transpose(2, 3).contiguous().to(CARD).transpose(2, 3)):
                with self.assertRaisesRegex(headroom_vae.InputError, rf"^latent: element {number} is not finite \({text}\)"):
                    vae.decode(given)
        del given
        self.assertEqual(torch.cuda.memory_allocated(), before)
        with self.assertRaisesRegex(headroom_vae.InputError, "its output is not finite"):
            vae.decode((z * 1e38).to(CARD))
        self.assert_equal(vae.decode(z.to(CARD)).sample, whole)

    def test_memory_refused_at_each_allocation(self):
        vae, z = tiny.kl(), latent(1, 4, 24, 24).to(CARD)
        handle = headroom_vae.enable(vae.to(CARD), limit="64MiB", host_limit=0)
        whole = vae.decode(z).sample.cpu()
        before = torch.cuda.memory_allocated()
        made = torch.empty
        for refused in range(2):  # the decode's memory, then the picture's
            calls = iter(range(9))

            def empty(*shape, **options):
                if torch.device(options.get("device") or "cpu").type == "cuda" and next(calls) == refused:
                    raise torch.OutOfMemoryError("CUDA out of memory.")
                return made(*shape, **options)

            with mock.patch.object(torch, "empty", side_effect=empty):
                if refused == 0:
                    with self.assertRaises(headroom_vae.OutOfGpuMemory):
                        vae.decode(z)
                else:  # the picture waits on the host
                    picture = vae.decode(z).sample
                    self.assertEqual(picture.device, CARD)
                    self.assert_equal(picture, whole)
                    del picture
            self.assertEqual(torch.cuda.memory_allocated(), before)
            self.assert_equal(vae.decode(z).sample, whole)
        self.assertEqual(handle.held_bytes, 0)

    def test_a_plan_is_prepared_once_and_the_driver_is_asked_once(self):
        vae = tiny.kl()
        z = [latent(1, 4, 9, side).to(CARD) for side in (7, 8)]
        for limit, asked in (("auto", 1), ("64MiB", 0)):
            headroom_vae.enable(vae.to(CARD), limit=limit, host_limit=0)
            first = [vae.decode(each).sample.cpu() for each in z]
            for _ in range(2):
                for each, whole in zip(z, first):
                    before = report()["calls"]["cudaMemGetInfo"]
                    picture = vae.decode(each).sample
                    self.assertEqual(report()["calls"]["cudaMemGetInfo"] - before, asked)
                    self.assert_equal(picture, whole)


class Values(AirCard):
    """The decode detects weights that were changed on the card."""

    def kernels(self) -> dict:
        describe = ctypes.CDLL("libcudart.so.13").air_card_report
        describe.restype = ctypes.c_char_p
        return json.loads(describe())["kernels"]

    def test_values_are_compared_on_the_card_and_packed_again_where_they_changed(self):
        z = latent(1, 4, 9, 7)
        for dtype, largest in ((torch.float32, 1e-5), (torch.bfloat16, 5e-2)):
            vae = tiny.kl().to(dtype)
            weight = latent(*vae.decoder.conv_in.weight.shape).to(dtype)
            before = vae.decode(z.to(dtype)).sample
            vae.decoder.conv_in.weight.copy_(weight)
            after = vae.decode(z.to(dtype)).sample
            self.assertGreater(float((before - after).abs().max()), 0.1)
            vae = tiny.kl().to(dtype).to(CARD)
            headroom_vae.enable(vae, limit="64MiB", host_limit=0)
            with (
                mock.patch.object(parameters.Parameters, "tensors", side_effect=AssertionError("copied to the host")),
                mock.patch.object(parameters.Parameters, "fingerprint", side_effect=AssertionError("compared")),
            ):
                self.assert_close(vae.decode(z).sample, before, largest)
            vae.decoder.conv_in.weight.data.copy_(weight)
            self.assert_close(vae.decode(z).sample, after, largest)
            self.assertEqual(headroom_vae.handle_of(vae).held_bytes, 0)
            self.assert_on_card(2)

    def test_folded_weights_are_compared_on_the_card_and_folded_again_where_they_changed(self):
        vae, z = tiny.dc(), latent(1, 4, 5, 6)
        weight = latent(*vae.decoder.conv_in.weight.shape)
        before = vae.decode(z, return_dict=False)[0]
        vae.decoder.conv_in.weight.copy_(weight)
        after = vae.decode(z, return_dict=False)[0]
        vae = tiny.dc().to(CARD)
        handle = headroom_vae.enable(vae, limit="64MiB", host_limit=0)
        self.assert_close(vae.decode(z, return_dict=False)[0], before)
        held = handle.held_bytes
        self.assertGreater(held, 0)
        sums = self.kernels()["checksum"]
        with mock.patch.object(parameters._core, "checksums", side_effect=AssertionError("read on the host")):
            self.assert_close(vae.decode(z.to(CARD), return_dict=False)[0], before)
        self.assertEqual(self.kernels()["checksum"], sums + 1)
        vae.decoder.conv_in.weight.data.copy_(weight)
        self.assert_close(vae.decode(z, return_dict=False)[0], after)
        self.assertEqual(handle.held_bytes, held)
        handle.free()
        self.assertEqual(handle.held_bytes, 0)
        self.assert_close(vae.decode(z, return_dict=False)[0], after)
        self.assert_on_card(4)

    def test_weights_that_move_between_the_card_and_the_host(self):
        z = latent(1, 4, 9, 7)
        vae = tiny.kl()
        before = vae.decode(z).sample
        handle = headroom_vae.enable(vae, limit="64MiB", host_limit=0)
        weight = latent(*vae.decoder.conv_in.weight.shape)
        changed = tiny.kl()
        changed.decoder.conv_in.weight.copy_(weight)
        after = changed.decode(z).sample
        on_card = z.to(CARD)
        self.assert_close(vae.decode(on_card).sample, before)  # packed on the host
        self.assertGreater(handle.held_bytes, 0)
        vae.to(CARD)
        vae.decoder.conv_in.weight.data.copy_(weight)
        self.assert_close(vae.decode(on_card).sample, after)
        self.assertEqual(handle.held_bytes, 0)
        vae.cpu()
        self.assert_close(vae.decode(on_card).sample, after)
        self.assert_on_card(3)

    def test_weights_in_any_order_of_axes(self):
        for make, shape, layout in ((tiny.kl, (1, 4, 9, 7), torch.channels_last), (tiny.wan, (1, 16, 2, 3, 4), torch.channels_last_3d)):
            vae, z = make(), latent(*shape)
            whole = vae.decode(z, return_dict=False)[0]
            for parameter in vae.parameters():
                if parameter.dim() == (5 if layout is torch.channels_last_3d else 4):
                    parameter.data = parameter.data.contiguous(memory_format=layout)
            headroom_vae.enable(vae.to(CARD), limit="256MiB", host_limit=0)
            self.assert_close(vae.decode(z, return_dict=False)[0], whole)
            self.assert_on_card()

    def test_a_weight_that_is_not_finite_is_named(self):
        vae, z = tiny.kl(), latent(1, 4, 9, 7)
        whole = vae.decode(z).sample
        bias = vae.decoder.conv_in.bias
        good, bad = bias.detach().clone(), bias.detach().clone()
        bad[2] = float("inf")
        for limit in ("64MiB", None):
            headroom_vae.enable(vae.to(CARD), limit=limit, host_limit=0)
            vae.decoder.conv_in.bias.data.copy_(bad)
            with self.assertRaisesRegex(headroom_vae.InputError, r"decoder\.conv_in\.bias: element 2 is not finite"):
                vae.decode(z)
            vae.decoder.conv_in.bias.data.copy_(good)
            self.assert_close(vae.decode(z).sample, whole)
        self.assert_on_card(4)

    def test_writes_that_are_queued_on_the_callers_stream(self):
        vae, z = tiny.kl(), latent(1, 4, 9, 7)
        weight = latent(*vae.decoder.conv_in.weight.shape)
        vae.decoder.conv_in.weight.copy_(weight)
        whole = vae.decode(z).sample
        for stream in (torch.cuda.default_stream(), torch.cuda.Stream()):
            with torch.cuda.stream(stream):
                vae = tiny.kl().to(CARD)
                headroom_vae.enable(vae, limit="64MiB", host_limit=0)
                vae.decode(z)
                put_behind(stream)
                vae.decoder.conv_in.weight.data.copy_(weight.pin_memory(), non_blocking=True)
                self.assert_close(vae.decode(z).sample, whole)
                stream.synchronize()


class Streams(AirCard):
    """The caller has queued work on its current stream, the default one or another."""

    def setUp(self):
        super().setUp()
        self.z = latent(1, 4, 24, 24)

    def on_each_stream(self, check):
        for stream in (torch.cuda.default_stream(), torch.cuda.Stream()):
            with self.subTest(stream=stream.cuda_stream), torch.cuda.stream(stream):
                check()
                stream.synchronize()

    def test_memory_that_queued_work_still_uses(self):
        vae = tiny.kl()
        whole = vae.decode(self.z).sample
        headroom_vae.enable(vae.to(CARD), limit="64MiB", host_limit=0)

        def check():
            torch.cuda.empty_cache()
            vae.decode(self.z)
            bytes_ = RecordedMemory.blocks[-1][1]
            values = torch.full((bytes_,), 63, dtype=torch.uint8).pin_memory()
            for _ in range(4):
                filled = torch.empty(bytes_, dtype=torch.uint8, device=CARD)
                put_behind(torch.cuda.current_stream())
                filled.copy_(values, non_blocking=True)
                address = filled.data_ptr()
                del filled
                self.assert_close(vae.decode(self.z).sample, whole)
                self.assertEqual(RecordedMemory.blocks[-1][0], address, "torch lends the freed block")

        self.on_each_stream(check)

    def test_latents_weights_and_pictures_whose_copies_are_queued(self):
        def check():
            vae = tiny.kl()
            values = {name: latent(*tensor.shape) for name, tensor in vae.decoder.conv_out.named_parameters()}
            vae.decoder.conv_out.load_state_dict(values)
            whole = vae.decode(self.z).sample
            vae = tiny.kl().to(CARD)
            headroom_vae.enable(vae, limit="64MiB", host_limit=0)
            z = torch.zeros_like(self.z).to(CARD)
            for name, tensor in vae.decoder.conv_out.named_parameters():
                tensor.copy_(values[name].pin_memory(), non_blocking=True)
            z.copy_(self.z.pin_memory(), non_blocking=True)
            picture = torch.empty(whole.shape).pin_memory()
            picture.copy_(vae.decode(z).sample, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            self.assert_close(picture, whole)

        self.on_each_stream(check)


class Offload(AirCard):
    """An offloaded VAE runs on the device of its hooks, or else of its latent."""

    def setUp(self):
        super().setUp()
        self.vae, self.z = tiny.kl(), latent(1, 4, 9, 7)
        self.whole = self.vae.decode(self.z).sample

    def assert_decodes_on_card(self):
        self.assertEqual(json.loads(self.handle().predict(*self.whole.shape[2:]).require().json())["request"]["device"], "cuda")
        for _ in range(2):
            self.assert_close(self.vae.decode(self.z.to(CARD)).sample, self.whole)
            self.assertEqual(headroom_vae.handle_of(self.vae).report().device, str(CARD))
        self.assert_on_card(2)

    def handle(self, **options):
        return headroom_vae.enable(self.vae, limit="64MiB", host_limit=0, **options)

    def test_model_offload(self):
        _, hook = accelerate.cpu_offload_with_hook(self.vae, CARD)
        self.assert_decodes_on_card()
        self.assertEqual(self.vae.device, CARD)
        hook.offload()
        self.assertEqual(self.vae.device.type, "cpu")
        self.assert_decodes_on_card()

    def test_sequential_offload(self):
        accelerate.cpu_offload(self.vae, CARD)
        self.assertEqual(self.vae.device.type, "meta")
        self.assert_decodes_on_card()
        self.assertEqual(self.vae.device.type, "meta")

    def test_offload_that_begins_after_enable(self):
        for offload in (
            lambda vae: accelerate.cpu_offload_with_hook(vae, CARD),
            lambda vae: accelerate.cpu_offload(vae, CARD),
            lambda vae: vae.enable_group_offload(onload_device=CARD, offload_type="leaf_level"),
            lambda vae: vae.enable_group_offload(onload_device=CARD, offload_type="block_level", num_blocks_per_group=1),
        ):
            self.vae = tiny.kl()
            handle = self.handle()
            self.assert_close(self.vae.decode(self.z).sample, self.whole)
            self.assertEqual(handle.report().device, "cpu")
            offload(self.vae)
            self.assert_close(self.vae.decode(self.z.to(CARD)).sample, self.whole)
            self.assertEqual(handle.report().device, str(CARD))
            self.assert_on_card()

    def test_group_offload(self):
        for kind in ("leaf_level", "block_level"):
            for use_stream in (False, True):
                with self.subTest(kind, use_stream=use_stream):
                    self.vae = tiny.kl()
                    self.vae.enable_group_offload(onload_device=CARD, offload_type=kind, num_blocks_per_group=1, use_stream=use_stream)
                    self.assertEqual(self.vae.decoder.conv_out.weight.device.type, "cpu")
                    self.assert_decodes_on_card()

    def test_group_offload_whose_weights_are_on_their_way(self):
        last = self.vae.decoder.conv_out
        last.bias.zero_()
        whole = self.vae.decode(self.z).sample
        self.vae.enable_group_offload(onload_device=CARD, offload_type="leaf_level", use_stream=True)
        self.handle()
        group = last._diffusers_hook.get_hook("group_offloading").group
        group.non_blocking = True
        for _ in range(8):
            last.weight.neg_()  # so that memory used again has other weights
            whole = -whole
            put_behind(group.stream)
            with mock.patch.object(torch.cuda.Stream, "synchronize", lambda _: None):
                group.onload_()
            self.assertEqual(last.weight.device, CARD)
            self.assert_close(self.vae.decode(self.z).sample, whole)
            group.offload_()

    def test_group_offload_to_a_disk(self):
        for use_stream in (False, True):
            with tempfile.TemporaryDirectory() as folder, self.subTest(use_stream=use_stream):
                self.vae = tiny.kl()
                self.vae.enable_group_offload(onload_device=CARD, offload_type="leaf_level", use_stream=use_stream, offload_to_disk_path=folder)
                self.assert_decodes_on_card()

    def test_a_vae_on_the_cpu_decodes_where_its_latent_is(self):
        handle = self.handle()
        self.assert_close(self.vae.decode(self.z.to(CARD)).sample, self.whole)
        self.assert_on_card()
        self.assert_close(self.vae.decode(self.z).sample, self.whole)
        self.assert_on_card(0)
        self.assertEqual(self.vae.device.type, "cpu")
        handle.disable()
        with tempfile.TemporaryDirectory() as folder:
            headroom_vae.enable(self.vae, limit="64MiB", scratch=folder)
            self.assert_close(self.vae.decode(self.z.to(CARD)).sample, self.whole)
        headroom_vae.enable(self.vae, limit="64MiB", release=True)
        for _ in range(2):
            picture = self.vae.decode(self.z.to(CARD)).sample
            self.assertEqual(picture.device, CARD)
            self.assert_close(picture, self.whole)
        self.assert_on_card(0)

    def test_a_build_without_cuda_says_that_it_decodes_on_the_cpu(self):
        self.handle()
        with mock.patch.object(device, "GPU_MODULE", Path("/nowhere/headroom-cuda-lent.so")):
            with self.assertWarnsRegex(UserWarning, "latent is on cuda:0, but the decode runs on the CPU"):
                self.assert_close(self.vae.decode(self.z.to(CARD)).sample, self.whole)
            self.assertEqual(headroom_vae.handle_of(self.vae).report().undone, ("the latent was on cuda:0: decoded on cpu",))
            self.vae.enable_group_offload(onload_device=CARD, offload_type="leaf_level")
            with self.assertRaisesRegex(headroom_vae.Unsupported, "Headroom was built for the CPU only"):
                self.handle(executor="native")
        self.assert_on_card(0)


if __name__ == "__main__":
    warnings.simplefilter("default", UserWarning)
    unittest.main()
