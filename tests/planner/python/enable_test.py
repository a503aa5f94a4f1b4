"""An enabled VAE. Its decode is exact and stays within its limit, and the object is otherwise unchanged. Headroom does not disturb
the rest of the process."""

from __future__ import annotations

import copy
import gc
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
import weakref

import accelerate
import diffusers
import headroom_vae
import tiny
import torch
from tiny import latent

MIB = 1 << 20


def resident_bytes() -> int:
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


class Enable(tiny.Case):
    def test_everything_else_of_the_vae_stays(self):
        vae = tiny.kl()
        before = {name: tensor.clone() for name, tensor in vae.state_dict().items()}
        config, kind, original = dict(vae.config), type(vae), vae.decode
        handle = headroom_vae.enable(vae, limit="64MiB")
        z = latent(1, 4, 8, 8)
        sample = vae.decode(z).sample
        self.assertEqual((dict(vae.config), type(vae)), (config, kind))
        self.assertEqual(list(vae.state_dict()), list(before))
        for name, tensor in vae.state_dict().items():
            self.assertTrue(torch.equal(tensor, before[name]), name)
        self.assertIs(headroom_vae.handle_of(vae), handle)
        headroom_vae.disable(vae)
        self.assertEqual(vae.decode, original)
        self.assertIsNone(headroom_vae.handle_of(vae))
        headroom_vae.disable(vae)  # no effect the second time
        self.assert_close(sample, vae.decode(z).sample)

    def test_return_values(self):
        vae, z = tiny.kl(), latent(1, 4, 8, 8)
        headroom_vae.enable(vae)
        whole = vae.decode(z)
        self.assertEqual(type(whole).__name__, "DecoderOutput")
        alone = vae.decode(z, return_dict=False)
        self.assertIsInstance(alone, tuple)
        self.assertTrue(torch.equal(alone[0], whole.sample))
        self.assertTrue(torch.equal(vae.decode(z, False, torch.Generator())[0], whole.sample))
        # forward() goes through decode().
        headroom_vae.disable(vae)
        picture = latent(1, 3, 16, 16)
        theirs = vae(picture).sample
        headroom_vae.enable(vae)
        self.assert_close(vae(picture).sample, theirs)

    def test_sixteen_bits_come_back_as_such(self):
        for dtype in (torch.bfloat16, torch.float16):
            vae, z = tiny.kl().to(dtype), latent(1, 4, 8, 8).to(dtype)
            theirs = tiny.kl().decode(z.float()).sample
            headroom_vae.enable(vae, limit="64MiB")
            ours = vae.decode(z).sample
            self.assertEqual(ours.dtype, dtype)
            self.assert_close(ours, theirs, 5e-2)

    def test_a_vae_in_another_dtype_gets_a_plan_of_that_dtype(self):
        z = latent(1, 4, 8, 8)
        dtypes = {torch.float32: "fp32", torch.bfloat16: "bf16"}
        for first, second in (dtypes, reversed(dtypes)):
            with self.subTest(first=first, second=second):
                vae = tiny.kl().to(first)
                handle = headroom_vae.enable(vae, limit="64MiB")
                vae.decode(z.to(first))
                self.assertEqual(handle.last.plan.dtype, dtypes[first])
                vae.to(second)
                ours = vae.decode(z.to(second)).sample
                self.assertEqual(handle.last.plan.dtype, dtypes[second])
                fresh = copy.deepcopy(vae)
                headroom_vae.enable(fresh, limit="64MiB")
                self.assertTrue(torch.equal(ours, fresh.decode(z.to(second)).sample))

    def test_a_latent_in_another_order_or_dtype_is_no_other_picture(self):
        vae, z = tiny.kl(), latent(2, 4, 8, 12)
        headroom_vae.enable(vae)
        ours = vae.decode(z).sample
        self.assertTrue(torch.equal(vae.decode(z.double()).sample, ours))
        self.assertTrue(torch.equal(vae.decode(z.to(memory_format=torch.channels_last)).sample, ours))
        self.assertTrue(torch.equal(vae.decode(z.repeat(1, 1, 1, 2)[..., :12]).sample, ours))

    def test_weights_that_change_are_packed_again(self):
        vae, z = tiny.kl(), latent(1, 4, 8, 8)
        headroom_vae.enable(vae)
        vae.decode(z)
        for change in (
            lambda: vae.decoder.conv_in.weight.mul_(1.5),
            lambda: setattr(vae.decoder.conv_out, "bias", torch.nn.Parameter(torch.ones(3))),
            lambda: vae.to(torch.float64).to(torch.float32).decoder.conv_out.weight.add_(0.01),
        ):
            change()
            theirs = type(vae).decode(vae, z).sample
            self.assert_close(vae.decode(z).sample, theirs)

    def test_weights_are_packed_once_for_all_sizes_and_planned_once_for_each(self):
        vae = tiny.kl()
        handle = headroom_vae.enable(vae, limit="64MiB")
        vae.decode(latent(1, 4, 8, 8))
        held = handle.held_bytes
        self.assertGreater(held, 0)
        self.assertGreater(handle.last.planning_seconds, 0)
        vae.decode(latent(1, 4, 16, 8))
        self.assertEqual(handle.held_bytes, held)
        vae.decode(latent(1, 4, 8, 8))
        self.assertEqual(handle.last.planning_seconds, 0)
        handle.free()
        self.assertEqual(handle.held_bytes, 0)
        vae.decode(latent(1, 4, 8, 8))
        self.assertEqual(handle.held_bytes, held)

    def test_release_drops_the_modules_own_weights(self):
        vae, z = tiny.kl(), latent(1, 4, 8, 8)
        theirs = vae.decode(z).sample
        headroom_vae.enable(vae, limit="64MiB", release=True)
        self.assert_close(vae.decode(z).sample, theirs)
        self.assertEqual(vae.decoder.conv_in.weight.device.type, "meta")
        self.assertEqual(vae.encoder.conv_in.weight.device.type, "cpu")
        self.assert_close(vae.decode(z).sample, theirs)
        vae.decode(latent(1, 4, 16, 8))
        with self.assertRaisesRegex(headroom_vae.HeadroomError, "release=True"):
            headroom_vae.disable(vae)
        with self.assertRaisesRegex(headroom_vae.InputError, "release=True"):
            headroom_vae.enable(tiny.kl(), release=True, verify=True)

    def test_copies_decode_with_their_own_weights(self):
        vae, z = tiny.kl(), latent(1, 4, 8, 8)
        headroom_vae.enable(vae, limit="64MiB")
        for copied in (copy.deepcopy(vae), pickle.loads(pickle.dumps(vae))):
            copied.decoder.conv_in.weight.mul_(2)
            self.assertIsNot(headroom_vae.handle_of(copied), headroom_vae.handle_of(vae))
            theirs = type(copied).decode(copied, z).sample
            self.assert_close(copied.decode(z).sample, theirs)
            self.assertGreater(float((vae.decode(z).sample - theirs).abs().max()), 1e-3)

    def test_saved_and_loaded_as_ever(self):
        vae, z = tiny.kl(), latent(1, 4, 8, 8)
        headroom_vae.enable(vae)
        ours = vae.decode(z).sample
        with tempfile.TemporaryDirectory() as folder:
            vae.save_pretrained(folder)
            loaded = diffusers.AutoencoderKL.from_pretrained(folder)
            self.assertIsNone(headroom_vae.handle_of(loaded))
            self.assert_close(ours, loaded.decode(z).sample)
            self.assertTrue(headroom_vae.predict(folder, 64, 64).fits)

    def test_what_is_held_goes_with_the_vae(self):
        vae = tiny.kl()
        handle = weakref.ref(headroom_vae.enable(vae))
        vae.decode(latent(1, 4, 8, 8))
        gone = weakref.ref(vae)
        del vae
        gc.collect()
        self.assertIsNone(gone())
        self.assertIsNone(handle())

    def test_what_does_not_fit(self):
        vae, z = tiny.kl(), latent(1, 4, 32, 32)
        headroom_vae.enable(vae, limit="1MiB")
        with self.assertRaises(headroom_vae.DoesNotFit) as refused:
            vae.decode(z)
        self.assertGreater(refused.exception.smallest_limit_bytes, MIB)
        theirs = type(vae).decode(vae, z).sample
        headroom_vae.enable(vae, limit="1MiB", on_misfit="original")
        with self.assertWarnsRegex(UserWarning, "smallest limit"):
            self.assertTrue(torch.equal(vae.decode(z).sample, theirs))
        with self.assertRaisesRegex(headroom_vae.InputError, "on_misfit"):
            headroom_vae.enable(vae, on_misfit="tile")

    def test_on_disk_what_does_not_fit_memory(self):
        levels = {
            "block_out_channels": (32,) * 4,
            "down_block_types": ("DownEncoderBlock2D",) * 4,
            "up_block_types": ("UpDecoderBlock2D",) * 4,
        }
        vae, z = tiny.kl(layers_per_block=3, **levels), latent(1, 4, 40, 40)
        theirs = vae.decode(z).sample
        with tempfile.TemporaryDirectory() as folder:
            smallest = headroom_vae.enable(vae, scratch=folder).predict(320, 320).smallest_limit_bytes
            handle = headroom_vae.enable(vae, limit=smallest + theirs.numel() * 4, scratch=folder)
            self.assert_close(vae.decode(z).sample, theirs)
            self.assertGreater(handle.last.plan.scratch_bytes, 0)
            self.assertEqual(os.listdir(folder), [])

    def test_a_trace_of_the_next_decode(self):
        vae = tiny.kl()
        handle = headroom_vae.enable(vae)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "trace.json")
            handle.trace(file)
            vae.decode(latent(1, 4, 8, 8))
            self.assertTrue(file.stat().st_size > 100)
            file.unlink()
            vae.decode(latent(1, 4, 8, 8))
            self.assertFalse(file.exists())
        self.assertEqual([p["name"] for p in handle.last.passes], [p["name"] for p in json.loads(handle.last.plan.json())["passes"]])

    def test_a_trace_spares_the_files_of_the_vae(self):
        with tempfile.TemporaryDirectory() as folder:
            tiny.kl().save_pretrained(folder)
            os.link(pathlib.Path(folder, "config.json"), pathlib.Path(folder, "hard.json"))
            vae = diffusers.AutoencoderKL.from_pretrained(folder)
            handle = headroom_vae.enable(vae)
            for name in ("config.json", "hard.json", "diffusion_pytorch_model.safetensors"):
                with self.assertRaisesRegex(headroom_vae.InputError, "would overwrite a file of the model"):
                    handle.trace(pathlib.Path(folder, name))
            handle.trace(pathlib.Path(folder, "trace.json"))
            vae.decode(latent(1, 4, 8, 8))
            self.assertTrue(pathlib.Path(folder, "trace.json").stat().st_size > 100)

    def test_what_is_refused(self):
        vae = tiny.kl()
        with self.assertRaisesRegex(headroom_vae.Unsupported, "VQModel: expected one of .*AutoencoderDC, AutoencoderKL.*AutoencoderTiny"):
            headroom_vae.enable(diffusers.VQModel())
        with self.assertRaisesRegex(headroom_vae.Unsupported, "int: expected one of"):
            headroom_vae.enable(3)
        with self.assertRaisesRegex(headroom_vae.Unsupported, "act_fn"):
            headroom_vae.enable(_with_config(vae, act_fn="tanh"))
        headroom_vae.enable(vae)
        for z, message in (
            (latent(1, 3, 8, 8), "expected N×4×H×W, found 1×3×8×8"),
            (latent(4, 8, 8), "found 4×8×8"),
            (latent(1, 4, 0, 8), "extent of 0"),
        ):
            with self.assertRaisesRegex(headroom_vae.InputError, message):
                vae.decode(z)

    def test_weights_that_are_no_numbers_are_refused_by_name(self):
        vae = tiny.kl()
        vae.decoder.conv_in.weight[0, 0, 0, 0] = float("nan")
        headroom_vae.enable(vae)
        with self.assertRaisesRegex(headroom_vae.InputError, "decoder.conv_in.weight: element 0 is not finite"):
            vae.decode(latent(1, 4, 8, 8))
        vae.decoder.conv_in.weight[0, 0, 0, 0] = 0
        self.assert_close(vae.decode(latent(1, 4, 8, 8)).sample, type(vae).decode(vae, latent(1, 4, 8, 8)).sample)

    def test_a_model_that_is_not_there_is_refused_when_enabled(self):
        with torch.device("meta"):
            vae = diffusers.AutoencoderKL(**{k: v for k, v in tiny.kl().config.items() if not k.startswith("_")})
        vae.post_quant_conv.to_empty(device="cpu")
        with self.assertRaisesRegex(headroom_vae.InputError, "found .*meta"):
            headroom_vae.enable(vae)

    def test_weights_that_offload_hooks_hold(self):
        z = latent(1, 4, 8, 8)
        theirs = tiny.kl().decode(z).sample
        for offload in (
            lambda vae: accelerate.cpu_offload(vae, torch.device("cpu")),
            lambda vae: vae.enable_group_offload(onload_device=torch.device("cpu"), offload_type="leaf_level"),
        ):
            vae = tiny.kl()
            offload(vae)
            headroom_vae.enable(vae, limit="64MiB")
            self.assert_close(vae.decode(z).sample, theirs)

    def test_several_threads_and_vaes(self):
        vaes = [tiny.kl(), tiny.kl(layers_per_block=2), tiny.dc()]
        latents = [latent(1, 4, 8 + 2 * i, 12) for i in range(6)]
        theirs = [[vae.decode(z, return_dict=False)[0] for z in latents] for vae in vaes]
        for vae in vaes:
            headroom_vae.enable(vae, limit="64MiB")
        ours, threads = {}, []
        for i, vae in enumerate(vaes):
            for k, z in enumerate(latents):

                def work(i=i, k=k, vae=vae, z=z):
                    with torch.no_grad():
                        ours[i, k] = vae.decode(z, return_dict=False)[0]

                threads.append(threading.Thread(target=work))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for (i, k), sample in ours.items():
            self.assert_close(sample, theirs[i][k])
        self.assertEqual(len(ours), len(threads))

    def test_other_threads_allocate_as_they_like(self):
        """A small limit on a decode does not limit the rest of the process."""
        vae, z = tiny.kl(), latent(4, 4, 32, 32)
        handle = headroom_vae.enable(vae, limit="24MiB")
        stop, failures, taken = threading.Event(), [], [0]

        def allocate():
            try:
                while not stop.is_set():
                    taken[0] += torch.ones(16 * MIB // 4).numel()
            except Exception as error:  # noqa: BLE001
                failures.append(error)

        other = threading.Thread(target=allocate)
        other.start()
        try:
            for _ in range(3):
                vae.decode(z)
        finally:
            stop.set()
            other.join()
        self.assertEqual(failures, [])
        self.assertGreater(taken[0], 0)
        self.assertLessEqual(handle.last.peak_bytes, 24 * MIB)

    def test_decodes_of_mixed_sizes_do_not_grow(self):
        vae = tiny.kl()
        handle = headroom_vae.enable(vae, limit="48MiB")
        sizes = [(8, 8), (24, 16), (16, 40), (9, 31)]
        for rows, columns in sizes * 2:
            vae.decode(latent(1, 4, rows, columns))
        gc.collect()
        before = resident_bytes()
        for i in range(192):
            rows, columns = sizes[i * 7 % 4]
            vae.decode(latent(1, 4, rows, columns))
            self.assertLessEqual(handle.last.peak_bytes, handle.last.predicted_peak_bytes)
        gc.collect()
        self.assertLessEqual(resident_bytes() - before, 4 * MIB)

    def test_a_decode_ends_with_an_interrupt(self):
        program = """
            import signal, threading, torch, os, tiny, headroom_vae
            vae = tiny.kl(block_out_channels=(128, 128), layers_per_block=2)
            z = torch.randn(1, 4, 96, 96)
            begun = threading.Event()
            def told(share):
                if not begun.is_set():
                    begun.set()
                    os.kill(os.getpid(), signal.SIGINT)
            headroom_vae.enable(vae, limit="256MiB", progress=told)
            try:
                with torch.no_grad():
                    vae.decode(z)
                print("finished")
            except KeyboardInterrupt:
                headroom_vae.enable(vae, limit="256MiB")
                with torch.no_grad():
                    print("interrupted", tuple(vae.decode(z[..., :8, :8]).sample.shape))
            """
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout.strip(), "interrupted (1, 3, 16, 16)", done.stderr)

    def test_an_error_of_whoever_watches_ends_the_decode(self):
        vae, z = tiny.kl(), latent(1, 4, 16, 16)

        def told(share):
            raise LookupError("enough")

        headroom_vae.enable(vae, progress=told)
        with self.assertRaisesRegex(LookupError, "enough"):
            vae.decode(z)
        headroom_vae.enable(vae)
        self.assert_close(vae.decode(z).sample, type(vae).decode(vae, z).sample)


def _with_config(vae, **values):
    copied = copy.deepcopy(vae)
    copied.register_to_config(**values)
    return copied


class Families(tiny.Case):
    """Models that the tested pipelines do not cover."""

    def check(self, vae, shape):
        z = latent(*shape)
        theirs = tiny.decoded(vae, z)
        handle = headroom_vae.enable(vae, limit=None)
        height, width = theirs.shape[-2:]
        frames = theirs.shape[2] if theirs.dim() == 5 else 1
        smallest = handle.predict(height, width, frames, batch=shape[0]).smallest_limit_bytes
        for limit in (None, smallest + theirs.numel() * 4):
            handle = headroom_vae.enable(vae, limit=limit)
            ours = tiny.decoded(vae, z)
            self.assertEqual(ours.shape, theirs.shape)
            self.assertLessEqual(float((ours - theirs).abs().max()), 1e-4 * float(theirs.abs().max()))
            self.assertLessEqual(handle.last.peak_bytes, handle.last.predicted_peak_bytes)

    def test_every_class_and_its_variants(self):
        picture = (2, 4, 7, 9)
        clips = [(2, 4, frames, 5, 3) for frames in (1, 3, 5)]
        for make, config, shapes in (
            (tiny.kl, {}, [(3, 4, 9, 14)]),
            (tiny.asymmetric, {}, [picture]),
            (tiny.dc, {}, [(2, 4, 7, 10)]),
            (tiny.flux2, {}, [picture]),
            (tiny.flux2, {"decoder_block_out_channels": (16, 32, 32, 48), "norm_num_groups": 16}, [picture]),
            (tiny.flux2, {"use_post_quant_conv": False}, [picture]),
            (tiny.hunyuan_image, {}, [picture]),
            (tiny.hunyuan_image, {"layers_per_block": 0, "spatial_compression_ratio": 2, "block_out_channels": (32, 32, 64)}, [picture]),
            (tiny.autoencoder_tiny, {}, [picture]),
            (tiny.autoencoder_tiny, {"num_decoder_blocks": (2, 0, 1), "act_fn": "silu"}, [picture]),
            (tiny.wan, {}, [(1, 16, 3, 5, 7)]),
            (tiny.wan, {"out_channels": 12}, [(2, 16, 2, 3, 5)]),
            (tiny.wan22, {}, [(2, 4, frames, 5, 7) for frames in (1, 2, 3)]),
            (tiny.wan22, {"patch_size": None, "in_channels": 3, "out_channels": 3}, [(1, 4, 2, 3, 6)]),
            (tiny.qwen, {}, [(2, 4, 1, 6, 9)]),
            (tiny.qwen21, {}, [(2, 4, 1, 5, 7)] if hasattr(diffusers, "AutoencoderKLQwenImage21") else []),
            (tiny.hunyuan_video, {}, clips),
            (tiny.hunyuan_video, {"mid_block_add_attention": False, "act_fn": "relu"}, [(1, 4, 2, 1, 1)]),
            (tiny.hunyuan_video_15, {}, clips),
            (tiny.hunyuan_video_15, {"upsample_match_channel": False, "downsample_match_channel": False, "temporal_compression_ratio": 2},
             [(1, 4, 2, 1, 1)]),
            (tiny.hunyuan_image_refiner, {}, [(2, 4, frames, 5, 3) for frames in (1, 2, 3)]),
            (tiny.ltx2_video, {}, clips),
            (tiny.ltx2_video, {"decoder_causal": True, "decoder_spatial_padding_mode": "zeros"}, [(1, 4, 2, 3, 2)]),
            (tiny.ltx_video, {}, [(1, 4, 3, 3, 5)]),
            (tiny.cogvideox, {}, [(2, 4, frames, 5, 3) for frames in (1, 3, 7)]),
            (tiny.cogvideox, {"temporal_compression_ratio": 2, "act_fn": "relu"}, [(1, 4, 5, 3, 2)]),
            (tiny.temporal_decoder, {}, clips),
            (tiny.temporal_decoder, {"layers_per_block": 1, "block_out_channels": (64,)}, [(1, 4, 2, 6, 3)]),
        ):  # fmt: skip
            for shape in shapes:
                with self.subTest(make.__name__, config=config, shape=shape):
                    self.check(make(**config), shape)
        with self.assertRaisesRegex(headroom_vae.HeadroomError, "timestep_conditioning"):
            headroom_vae.enable(tiny.ltx_video(timestep_conditioning=True), limit="256MiB")

    def test_runs_of_frames(self):
        """CogVideoX's norms see the frames of one run. Clips with a first run of another length are refused."""
        vae = tiny.cogvideox()
        vae.num_latent_frames_batch_size = 4
        with self.assertRaisesRegex(headroom_vae.Unsupported, "num_latent_frames_batch_size is 4"):
            headroom_vae.enable(vae, limit="256MiB")
        vae.num_latent_frames_batch_size = 2
        headroom_vae.enable(vae, limit="256MiB")
        with self.assertRaisesRegex(headroom_vae.InputError, "A latent has 1 plus a multiple of 2 frames"):
            vae.decode(latent(1, 4, 4, 3, 3))

    def test_frames_as_a_batch(self):
        """Stable Video Diffusion's pipeline decodes a run of frames at a time. Each run is a clip."""
        vae, frames = tiny.temporal_decoder(), latent(6, 4, 5, 4)
        runs = [3, 3, 2, 2, 1]
        starts = [0, 3, 0, 2, 5]
        theirs = [vae.decode(frames[at : at + run], run).sample for at, run in zip(starts, runs)]
        two_clips = vae.decode(frames, num_frames=3, return_dict=False)[0]
        with torch.enable_grad():
            vae.decode(frames, num_frames=3).sample.sum().backward()
        gradient = vae.decoder.conv_in.bias.grad.clone()
        vae.zero_grad()
        handle = headroom_vae.enable(vae, limit="256MiB", verify=True)
        for at, run, expected in zip(starts, runs, theirs):
            self.assert_close(vae.decode(frames[at : at + run], run).sample, expected, 1e-5)
            self.assertLess(handle.last.largest_error, 1e-5)
        self.assert_close(vae.decode(frames, num_frames=3, return_dict=False)[0], two_clips, 1e-5)
        with torch.enable_grad():
            vae.decode(frames, num_frames=3).sample.sum().backward()
        self.assert_close(vae.decoder.conv_in.bias.grad, gradient, 1e-4)
        with self.assertRaisesRegex(headroom_vae.InputError, r"multiple of num_frames = 4 .* found shape \(6, 4, 5, 4\)"):
            vae.decode(frames, num_frames=4)
        with self.assertRaisesRegex(headroom_vae.InputError, "N·T×C×H×W"):
            vae.decode(frames[None], num_frames=6)
        with self.assertRaisesRegex(headroom_vae.InputError, "num_frames: expected a positive integer, found 0"):
            vae.decode(frames, num_frames=0)
        with self.assertRaisesRegex(TypeError, "num_frames"):
            vae.decode(frames)
        headroom_vae.disable(vae)
        self.assert_close(vae.decode(frames, num_frames=3).sample, two_clips, 0)

    def test_wan_2_1_that_upscales(self):
        """Without Headroom's own key the decode returns diffusers' twelve channels."""
        vae, z = tiny.wan(out_channels=12), latent(2, 16, 2, 3, 5)
        theirs = torch.nn.functional.pixel_shuffle(vae.decode(z).sample.movedim(1, 2), 2).movedim(1, 2)
        vae.register_to_config(pixel_shuffle=2)
        headroom_vae.enable(vae, limit="256MiB")
        ours = vae.decode(z).sample
        self.assertEqual(ours.shape, theirs.shape)
        self.assertLessEqual(float((ours - theirs).abs().max()), 1e-4 * float(theirs.abs().max()))

    def test_a_picture_and_a_clip_by_one_vae(self):
        """Single frames use kernels of one frame. Alternating pictures and clips packs the weights again each time."""
        for make in (tiny.wan, tiny.wan22):
            vae = make(base_dim=32)
            channels = vae.config.z_dim
            handle = headroom_vae.enable(vae, limit="256MiB")
            held = {}
            for frames in (1, 3, 1, 2):
                z = latent(1, channels, frames, 4, 5)
                theirs = type(vae).decode(vae, z).sample
                ours = vae.decode(z).sample
                self.assertLessEqual(float((ours - theirs).abs().max()), 1e-4 * float(theirs.abs().max()))
                self.assertLessEqual(handle.last.peak_bytes, handle.last.predicted_peak_bytes)
                of_pictures = frames == 1
                self.assertEqual(held.setdefault(of_pictures, handle.held_bytes), handle.held_bytes)
            self.assertLess(held[True], 0.5 * held[False])

    def test_weights_that_are_the_only_ones_serve_pictures_and_clips(self):
        vae = tiny.wan()
        clip, picture = latent(1, 16, 2, 4, 5), latent(1, 16, 1, 4, 5)
        theirs = [vae.decode(z).sample for z in (picture, clip)]
        headroom_vae.enable(vae, limit="256MiB", release=True)
        for z, expected in zip((picture, clip), theirs):
            ours = vae.decode(z).sample
            self.assertLessEqual(float((ours - expected).abs().max()), 1e-4 * float(expected.abs().max()))

    def test_a_decoder_that_is_given_a_time_step(self):
        config = {"timestep_conditioning": True, "decoder_block_out_channels": (8, 16, 32), "upsample_factor": (2, 2, 2),
                  "upsample_residual": (True, False, True), "decoder_spatio_temporal_scaling": (True, True, True)}  # fmt: skip
        vae = tiny.ltx_video(**config)
        with self.assertRaisesRegex(headroom_vae.InputError, "release=True: not with a VAE whose decodes are given a time step"):
            headroom_vae.enable(vae, release=True)
        handle = headroom_vae.enable(vae, limit="256MiB", verify=True)
        seen = []
        for frames, step in ((1, 0.05), (3, 0.05), (3, 0.3), (2, 0.0)):
            z, temb = latent(2, 4, frames, 3, 5), torch.tensor([step, step])
            theirs = type(vae).decode(vae, z, temb).sample
            ours = vae.decode(z, temb, return_dict=False)[0] if frames == 1 else vae.decode(z, temb=temb).sample
            self.assertLessEqual(float((ours - theirs).abs().max()), 1e-4 * float(theirs.abs().max()))
            self.assertLessEqual(handle.last.largest_error, 1e-4)
            self.assertLessEqual(handle.last.peak_bytes, handle.last.predicted_peak_bytes)
            seen.append(ours)
        self.assertGreater(float((seen[1] - seen[2]).abs().max()), 1e-3)
        vae.decoder.scale_shift_table.data += 0.5
        theirs = type(vae).decode(vae, z, temb).sample
        self.assertLessEqual(float((vae.decode(z, temb).sample - theirs).abs().max()), 1e-4 * float(theirs.abs().max()))
        with self.assertRaisesRegex(headroom_vae.InputError, "temb: expected a tensor with the time step of the decode, found none"):
            vae.decode(z)
        last, two = handle.last, torch.tensor([0.05, 0.3])
        self.assertTrue(torch.equal(vae.decode(z, two).sample, type(vae).decode(vae, z, two).sample))
        self.assertIs(handle.last, last)
        headroom_vae.disable(vae)
        handle = headroom_vae.enable(vae, limit="256MiB", executor="torch")
        self.assertLessEqual(float((vae.decode(z, temb).sample - theirs).abs().max()), 1e-4 * float(theirs.abs().max()))

    def test_what_only_the_vae_s_own_decode_knows_of_ltx(self):
        vae, z = tiny.ltx2_video(), latent(1, 4, 3, 3, 2)
        theirs = vae.decode(z, causal=True).sample
        handle = headroom_vae.enable(vae, limit="256MiB")
        self.assertEqual(float((vae.decode(z, causal=True).sample - theirs).abs().max()), 0)
        self.assertIsNone(handle.last)

    def test_autoencoder_tiny(self):
        vae, z = tiny.autoencoder_tiny(), latent(1, 4, 5, 6)
        theirs = vae.decode(z).sample
        headroom_vae.enable(vae, limit="64MiB")
        # Its decode names the latent differently and orders its options differently.
        generator = torch.Generator()
        for ours in (
            vae.decode(x=z).sample,
            vae.decode(z, generator).sample,
            vae.decode(z, None, False)[0],
            vae.decode(z, generator, return_dict=False)[0],
        ):
            self.assertLessEqual(float((ours - theirs).abs().max()), 1e-4 * float(theirs.abs().max()))
        with self.assertRaises(TypeError):
            vae.decode(z=z)
        picture = vae(torch.rand(1, 3, 16, 16)).sample  # forward() goes through decode()
        self.assertEqual(picture.shape, (1, 3, 16, 16))
        self.assertIsNotNone(headroom_vae.handle_of(vae).last)

    def test_asymmetric(self):
        vae = tiny.asymmetric()
        headroom_vae.enable(vae, limit="256MiB")
        # A mask selects another decoder, which the VAE runs itself.
        z, image, mask = latent(1, 4, 8, 8), latent(1, 3, 16, 16), torch.ones(1, 1, 16, 16)
        mask[..., :8] = 0
        theirs = type(vae).decode(vae, z, image=image, mask=mask).sample
        self.assertTrue(torch.equal(vae.decode(z, image=image, mask=mask).sample, theirs))
        ours = vae.decode(z, image=None, mask=None).sample
        self.assertFalse(torch.allclose(ours, theirs, atol=1e-3))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unittest.main()
