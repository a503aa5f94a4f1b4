"""PyTorch's executor, against diffusers' own untiled decodes and encodes, for every family and drawn plans."""

from __future__ import annotations

import json
import os
import random
import unittest
from pathlib import Path
from unittest import mock

import diffusers
import headroom_vae
import tiny
import torch
from headroom_vae import _core, device, executors
from headroom_vae.decoding import encoded_output
from headroom_vae import describe
from headroom_vae.latents import request_of
from headroom_vae.module import ModuleDecoder
from headroom_vae.torch_executor import TorchDecoder, attention, memory

PLANS = int(os.environ.get("HEADROOM_DRAWN_PLANS", "2"))
"""Plans of each family: the smallest, the fastest, and others with limits drawn between them."""

TABLE = os.environ.get("HEADROOM_PRINT_TABLE")
"""Print the largest error, and the allocated over the planned peak, of each family's plans."""

RESERVE = 48 << 20
"""Bytes that a plan reserves for temporary tensors, beside the largest kernel: ``temporary_bytes`` of the device record."""

SMALL_CHUNK = 256 << 10
"""The tiny VAEs' operations are larger than such a chunk, as those of real VAEs are larger than CHUNK_BYTES."""

# A VAE, and the rows, columns and frames of a latent, or of a picture for an encode. No extent is a multiple of a tile.
DECODES = {
    "AutoencoderKL": (tiny.kl, (2, 18, 14)),
    "AsymmetricAutoencoderKL": (tiny.asymmetric, (1, 18, 14)),
    "AutoencoderKLFlux2": (tiny.flux2, (1, 10, 7)),
    "AutoencoderTiny": (tiny.autoencoder_tiny, (1, 18, 14)),
    "AutoencoderDC": (tiny.dc, (1, 10, 12)),
    "AutoencoderKLHunyuanImage": (tiny.hunyuan_image, (1, 10, 12)),
    "AutoencoderKLHunyuanImageRefiner": (tiny.hunyuan_image_refiner, (1, 2, 8, 10)),
    "AutoencoderKLHunyuanVideo": (tiny.hunyuan_video, (1, 3, 6, 7)),
    "AutoencoderKLHunyuanVideo15": (tiny.hunyuan_video_15, (1, 3, 8, 10)),
    "AutoencoderKLLTX2Video": (tiny.ltx2_video, (1, 3, 8, 10)),
    "AutoencoderKLLTXVideo": (tiny.ltx_video, (1, 3, 8, 10)),
    "AutoencoderKLQwenImage": (tiny.qwen, (1, 3, 8, 10)),
    "AutoencoderKLQwenImage21": (tiny.qwen21, (1, 1, 8, 10)),
    "AutoencoderKLCogVideoX": (tiny.cogvideox, (1, 5, 4, 5)),
    "AutoencoderKLTemporalDecoder": (tiny.temporal_decoder, (2, 3, 8, 10)),
    "AutoencoderKLWan": (tiny.wan, (1, 3, 4, 5)),
    "AutoencoderKLWan with patches": (tiny.wan22, (1, 3, 4, 5)),
}
ENCODES = {
    "AutoencoderKL": (tiny.kl, (1, 3, 136, 104)),
    "AutoencoderKLFlux2": (tiny.flux2, (1, 3, 144, 80)),
    "AutoencoderDC": (tiny.dc, (2, 3, 68, 52)),
    "AutoencoderKLQwenImage21": (tiny.qwen21, (1, 4, 1, 72, 104)),
    "AutoencoderKLQwenImage": (tiny.qwen, (1, 3, 5, 40, 56)),
    "AutoencoderKLWan": (tiny.wan, (1, 3, 9, 32, 48)),
    "AutoencoderKLWan with patches": (tiny.wan22, (1, 3, 5, 48, 80)),
    "AutoencoderTiny": (tiny.autoencoder_tiny, (2, 3, 68, 52)),
    "AutoencoderKLHunyuanImage": (tiny.hunyuan_image, (1, 3, 72, 56)),
    "AutoencoderKLHunyuanVideo": (tiny.hunyuan_video, (1, 3, 5, 40, 56)),
    "AutoencoderKLHunyuanVideo15": (tiny.hunyuan_video_15, (1, 3, 5, 40, 56)),
    "AutoencoderKLMiniMaxH3": (lambda: tiny.minimax_h3(token_drop=0), (1, 3, 17, 24, 40)),
    "AutoencoderKLLTXVideo": (lambda: tiny.ltx_video(**tiny.LTX_VIDEO_ENCODER), (1, 3, 9, 48, 80)),
    "AutoencoderKLLTX2Video": (lambda: tiny.ltx2_video(spatial_compression_ratio=16, temporal_compression_ratio=8), (1, 3, 9, 96, 160)),
}  # fmt: skip


def moments_of(output):
    if hasattr(output, "latents"):
        return output.latents
    return output.latent_dist.parameters if hasattr(output, "latent_dist") else output.latent


class PlannedDecodes:
    """Decodes of one input by plans of the kind ``torch``."""

    def __init__(self, vae, values, direction="decode", dtype="fp32", **options):
        self.model = describe(vae).for_direction(direction)
        self.values = values
        (batch, frames, height, width), self.shape = request_of(self.model, list(values.shape))
        self.of_frames = self.model.for_frames(frames)
        self.parameters = ModuleDecoder(vae, self.model)._unchanged_parameters().tensors()
        self.planner = _core.Planner(self.of_frames, width=width, height=height, frames=frames, batch=batch, dtype=dtype, device="torch",
                                     picture_dtype=dtype, **options)  # fmt: skip
        self.smallest, self.fastest = self.planner.smallest().limit_bytes, self.planner.plan(None).peak_bytes

    def at(self, share):
        """The output and the figures of the plan under a limit between the smallest and the fastest."""
        plan = self.planner.plan(self.smallest + int(share * max(0, self.fastest - self.smallest)))
        out = torch.full(self.shape, float("nan"), dtype=self.values.dtype)
        run = json.loads(TorchDecoder(self.of_frames, "cpu").decode(plan, self.parameters, self.values, out))
        return out, run

    def in_small_chunks(self, share):
        """The results of at() in chunks of SMALL_CHUNK, and temporary tensors over the reserve that a plan had for such chunks."""
        with mock.patch.object(memory, "CHUNK_BYTES_ON_CPU", SMALL_CHUNK), mock.patch.object(attention, "MOST_QUERIES", 64):
            (out, run), allocated = with_allocated_peak(lambda: self.at(share))
        planned = run["predicted_peak_bytes"] - RESERVE + RESERVE // memory.CHUNK_BYTES * SMALL_CHUNK
        return out, (allocated - run["peak_bytes"]) / (planned - run["peak_bytes"])


def with_allocated_peak(work):
    """What work() returns, and the most bytes that PyTorch's allocator on the CPU had lent during it."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as recorded:
        made = work()
    live = most = 0
    for event in sorted(recorded.profiler.kineto_results.events(), key=lambda event: event.start_ns()):
        if event.name() == "[memory]":
            live += event.nbytes()
            most = max(most, live)
    return made, most


class TorchExecutor(tiny.Case):
    def setUp(self):
        super().setUp()
        self.random = random.Random(5)

    def shares(self):
        return [0, 1, *(self.random.random() for _ in range(PLANS - 2))]

    def test_decodes_of_every_family(self):
        classes = {name.partition(" ")[0] for name in DECODES}
        encodes_alone = {"AutoencoderKLMiniMaxH3"}
        self.assertEqual(classes, {name for name in headroom_vae.SUPPORTED_CLASSES if hasattr(diffusers, name)} - encodes_alone)
        for name, (make, (batch, *extent)) in DECODES.items():
            with self.subTest(name):
                vae = make()
                z = tiny.latent(batch, describe(vae).latent_channels, *extent)
                self.check(f"{name}, decode", PlannedDecodes(vae, z), tiny.decoded(vae, z))

    def test_encodes_of_every_family(self):
        for name, (make, shape) in ENCODES.items():
            with self.subTest(name):
                vae = make()
                x = tiny.latent(*shape)
                encodes = PlannedDecodes(vae, x, "encode")
                self.check(f"{name}, encode", encodes, moments_of(vae.encode(x)), lambda out: moments_of(encoded_output(out, encodes.model, True)))

    def check(self, name, decodes, theirs, finished=lambda out: out):
        errors, ratios = [], []
        for share in self.shares():
            out, ratio = decodes.in_small_chunks(share)
            ours = finished(out)
            errors.append(float((ours - theirs).abs().max() / theirs.abs().max()))
            ratios.append(ratio)
            self.assert_close(ours, theirs, 1e-5)
            self.assertLessEqual(ratio, 1)
        if TABLE:
            print(f"| {name} | {len(errors)} | {max(errors):.1e} | {min(ratios):.2f} | {max(ratios):.2f} |", flush=True)

    def test_16_bits_are_as_close_as_diffusers(self):
        for dtype in (torch.bfloat16, torch.float16):
            vae, z = tiny.kl(), tiny.latent(1, 4, 8, 6)
            precise = vae.decode(z.to(dtype).float()).sample
            vae, z = vae.to(dtype), z.to(dtype)
            theirs = vae.decode(z).sample
            headroom_vae.enable(vae, executor="torch")
            ours = vae.decode(z).sample
            self.assertEqual(ours.dtype, dtype)
            self.assertLessEqual(float((ours.float() - precise).abs().mean()), 1.05 * float((theirs.float() - precise).abs().mean()))

    def test_allocations_stay_within_the_plan(self):
        # 96×64 latents: operations are larger than a chunk, and the reserve is most of a tiny decoder's plan.
        for make, extent in ((tiny.kl, (96, 64)), (tiny.wan, (3, 24, 20)), (tiny.dc, (12, 16))):
            vae = make()
            decodes = PlannedDecodes(vae, tiny.latent(1, describe(vae).latent_channels, *extent))
            (_, run), peak = with_allocated_peak(lambda decodes=decodes: decodes.at(0.5))
            self.assertLessEqual(peak, run["predicted_peak_bytes"])

    def test_kept_tensors_in_host_memory(self):
        vae, z = tiny.kl(mid_block_add_attention=False), tiny.latent(1, 4, 240, 160)
        theirs = vae.decode(z).sample
        without, beside = PlannedDecodes(vae, z), PlannedDecodes(vae, z, host_limit_bytes=1 << 30)
        self.assertLess(beside.smallest, without.smallest)
        ours, run = beside.at(0)
        self.assertGreater(run["to_host_bytes"], 0)
        self.assert_close(ours, theirs, 1e-5)

    def test_values_that_are_not_finite_are_named(self):
        vae, z = tiny.kl(), tiny.latent(1, 4, 9, 7)
        headroom_vae.enable(vae, executor="torch")
        with self.assertRaisesRegex(headroom_vae.InputError, "latent"):
            vae.decode(torch.full_like(z, float("nan")))
        vae.decoder.conv_in.weight[0, 0, 0, 0] = float("inf")
        with self.assertRaisesRegex(headroom_vae.InputError, "conv_in"):
            vae.decode(z)

    def test_a_handle_says_which_executor_ran(self):
        vae, z = tiny.kl(), tiny.latent(1, 4, 9, 7)
        theirs = vae.decode(z).sample
        handle = headroom_vae.enable(vae, executor="torch", limit="100MiB")
        with torch.autocast("cpu", enabled=True):  # the executor computes in the plan's dtype
            vae.decode(z)
        self.assert_close(vae.decode(z).sample, theirs, 1e-5)
        report = handle.report()
        self.assertEqual((report.executor, report.device), ("torch", "cpu"))
        self.assertIn("by PyTorch's operations: executor=\"torch\"", str(report))
        self.assertEqual(json.loads(report.plan.json())["request"]["device"], "torch")
        self.assertLessEqual(report.predicted_peak_bytes, 100 << 20)
        # Changed weights count at once: nothing packed stays.
        vae.decoder.conv_out.weight.mul_(2)
        self.assertGreater(float((vae.decode(z).sample - theirs).abs().max()), 0.1 * float(theirs.abs().max()))
        self.assertEqual(handle.held_bytes, 0)
        handle = headroom_vae.enable(vae)
        vae.decode(z)
        self.assertEqual((handle.last.executor, handle.last.why_executor), ("native", ""))

    def test_verification_by_the_other_executor(self):
        vae, z = tiny.kl(), tiny.latent(1, 4, 9, 7)
        handle = headroom_vae.enable(vae, verify="torch")
        vae.decode(z)
        self.assertLess(handle.last.largest_error, 1e-5)
        self.assertEqual(handle.last.executor, "native")
        with mock.patch.object(TorchDecoder, "decode", lambda self, plan, tensors, latent, out, **_: out().zero_() and None or "{}"):
            with self.assertWarnsRegex(UserWarning, "verify=\"torch\": the picture was not compared, since the decode by PyTorch's executor cannot run"):
                vae.decode(z)

    def test_options_that_it_does_not_have_are_refused(self):
        for options in ({"release": True}, {"scratch": "/tmp"}):
            vae = tiny.kl()
            with self.assertRaisesRegex(headroom_vae.InputError, f"{next(iter(options))}.*: not with PyTorch's executor"):
                headroom_vae.enable(vae, executor="torch", **options)
                vae.decode(tiny.latent(1, 4, 9, 7))
        with self.assertRaisesRegex(headroom_vae.InputError, "executor: expected 'auto', 'native' or 'torch', found 'cuda'"):
            headroom_vae.enable(tiny.kl(), executor="cuda")

    def test_a_prediction_of_another_device(self):
        for name in ("xpu", "mps"):
            prediction = headroom_vae.predict("sd15", 256, 256, device=name, limit="8GiB")
            self.assertEqual(json.loads(prediction.plan.json())["request"]["device"], "torch")
        native = headroom_vae.predict("sd15", 256, 256, device="cuda", dtype="bf16", limit="8GiB")
        by_torch = headroom_vae.predict("sd15", 256, 256, device="cuda", dtype="bf16", limit="8GiB", executor="torch")
        self.assertLessEqual(by_torch.peak_bytes, 1.15 * native.peak_bytes + RESERVE)


class OperationsAndDrawnPlans(unittest.TestCase):
    """The C++ tests of a GPU: every operation, and every family by random plans, decodes and encodes. Catch2 runs once in a process."""

    def test_all(self):
        import operations_on_torch
        from headroom_vae.torch_executor import Executor

        tests = "every operation gives*,every strided convolution*,any plan for a GPU*,16 bits on a GPU*,streams on a GPU*,on a GPU a clip in drawn*"
        with torch.no_grad():
            self.assertEqual(operations_on_torch.run(Executor("cpu"), [tests]), 0)


class Choice(unittest.TestCase):
    """The executor of each kind of device. The devices are faked."""

    def choose(self, device_name, asked="auto", capability=(9, 0), cuda="13.0", hip=None):
        with (
            mock.patch.object(device, "GPU_MODULE", Path(__file__)),
            mock.patch.object(device.ctypes, "CDLL", lambda _: mock.Mock(headroom_refuses_torch=mock.Mock(return_value=None))),
            mock.patch.object(torch.version, "cuda", cuda),
            mock.patch.object(torch.version, "hip", hip),
            mock.patch.object(torch.cuda, "is_available", lambda: True),
            mock.patch.object(torch.cuda, "get_device_capability", lambda _: capability),
        ):
            return executors.executor_for(device_name, asked)

    def test_auto(self):
        self.assertEqual(self.choose("cpu"), executors.NATIVE)
        self.assertEqual(self.choose("cuda:0"), executors.NATIVE)
        for name, faked, why in (
            ("cuda:0", {"capability": (7, 5)}, "compute capability 7.5, and Headroom's own kernels need 8.0 or later"),
            ("cuda:0", {"cuda": None, "hip": "6.4.1"}, "found PyTorch .* for ROCm 6.4.1$"),
            ("xpu", {}, "Headroom's own code runs on the CPU and on NVIDIA GPUs"),
            ("mps", {}, "Headroom's own code runs on the CPU and on NVIDIA GPUs"),
        ):
            with self.subTest(name, **faked):
                chosen = self.choose(name, **faked)
                self.assertEqual(chosen.name, "torch")
                self.assertRegex(chosen.why, why)

    def test_asked(self):
        self.assertEqual(self.choose("cuda:0", "torch"), ("torch", 'executor="torch"'))
        with self.assertRaisesRegex(headroom_vae.Unsupported, "expected PyTorch for CUDA .*found .* for ROCm 6.4.1"):
            self.choose("cuda:0", "native", cuda=None, hip="6.4.1")
        with self.assertRaisesRegex(headroom_vae.Unsupported, "cuda:0: compute capability 7.5, and Headroom's own kernels need 8.0 or later. Use executor="):
            self.choose("cuda:0", "native", (7, 5))
        with self.assertRaisesRegex(headroom_vae.Unsupported, "mps: Headroom's own code runs on the CPU and on NVIDIA GPUs"):
            self.choose("mps", "native")


if __name__ == "__main__":
    unittest.main()
