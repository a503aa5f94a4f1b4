"""Limits that are too small. The limit that the error suggests must work, and one byte less must not. Also tested in pipelines
and in the ComfyUI node.

  python limits_test.py --bin build/bin
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import headroom_vae
import tiny
import torch
from comfyui_support import comfy_vae, nodes

DRAWN = {"enable": 40, "node": 20}
BIN = pathlib.Path()


def setUpModule():
    torch.set_grad_enabled(False)


class Case:
    """A small VAE and a latent for it."""

    def __init__(self, draw: random.Random):
        kind = draw.choice(("picture", "picture", "clip"))
        dtype = draw.choice((torch.float32, torch.float32, torch.bfloat16))
        batch, rows, columns = draw.choice((1, 1, 3)), draw.randint(3, 20), draw.randint(3, 20)
        self.vae = (tiny.kl() if kind == "picture" else tiny.wan()).to(dtype)
        frames = [draw.choice((1, 2, 4))] if kind == "clip" else []
        channels = self.vae.config.latent_channels if kind == "picture" else self.vae.config.z_dim
        self.z = torch.randn(batch, channels, *frames, rows, columns, generator=torch.Generator().manual_seed(draw.randint(0, 99))).to(dtype)

    def size(self, handle) -> dict:
        batch, _, frames, height, width = handle.model.picture_shape(list(self.z.shape))
        return {"height": height, "width": width, "frames": frames, "batch": batch}


def changed(remedy: dict, vae, options: dict) -> dict:
    """Returns the options after applying a remedy. A dtype remedy converts the VAE instead."""
    name, value = remedy["change"].split("=")
    if name == "dtype":
        vae.to({"bf16": torch.bfloat16, "fp16": torch.float16}[value])
        return options
    return {**options, name: {"DIR": options["folder"], "False": False}[value]}


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def program(self, name: str, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([BIN / name, *arguments], capture_output=True, text=True, env={**os.environ, "OMP_WAIT_POLICY": "passive"})


class DrawnLimits(InFolder):
    def assert_named_limit(self, decode, refused: headroom_vae.DoesNotFit):
        """Checks the limit that an error suggests. `decode` takes a limit and returns its peak in bytes."""
        smallest = refused.smallest_limit_bytes
        self.assertIn(f"({smallest} bytes)", str(refused))
        with self.assertRaises(headroom_vae.DoesNotFit) as again:
            decode(smallest - 1)
        self.assertEqual(again.exception.smallest_limit_bytes, smallest)
        self.assertLessEqual(decode(smallest), smallest)

    def test_of_an_enabled_vae(self):
        for seed in range(DRAWN["enable"]):
            draw = random.Random(seed)
            case, scratch, release = Case(draw), draw.random() < 0.25, draw.random() < 0.2
            options = {"scratch": self.folder if scratch else None, "release": release}

            def decode(limit: int, options: dict = options, case: Case = case) -> int:
                handle = headroom_vae.enable(case.vae, limit=limit, **options)
                case.vae.decode(case.z)
                self.assertLessEqual(handle.last.predicted_peak_bytes, limit)
                self.assertEqual(handle.last.predicted_peak_bytes, handle.last.plan.peak_bytes)
                return handle.last.peak_bytes

            with self.subTest(seed=seed, latent=tuple(case.z.shape), dtype=case.z.dtype, **options):
                handle = headroom_vae.enable(case.vae, limit=None, **options)
                smallest = handle.predict(**case.size(handle)).smallest_limit_bytes
                _, _, _, height, width = handle.model.picture_shape([1, handle.model.latent_channels, 1, 1])
                limit = draw.randint(handle.predict(height, width).smallest_limit_bytes, smallest - 1)  # enable() refuses less
                with self.assertRaises(headroom_vae.DoesNotFit) as refused:
                    decode(limit)
                self.assertEqual(refused.exception.smallest_limit_bytes, smallest)
                self.assertIn(f"does not fit {headroom_vae._core.format_bytes(limit)};", str(refused.exception))
                self.assertRegex(str(refused.exception), r"of which .* (is|are) the .*(picture|clip)s? that (is|are) returned")
                self.assert_named_limit(decode, refused.exception)
                for remedy in refused.exception.remedies if seed % 3 == 0 else ():
                    self.assert_remedy(remedy, case, options, limit)

    def assert_remedy(self, remedy: dict, case: Case, options: dict, limit: int):
        vae = type(case.vae).from_config(case.vae.config).to(case.vae.dtype).eval()
        taken = changed(remedy, vae, {**options, "folder": self.folder})
        del taken["folder"]
        z = case.z.to(vae.dtype)
        with self.subTest(remedy=remedy["change"]):
            smallest = remedy.get("smallest_limit_bytes")
            if not remedy["fits"]:
                handle = headroom_vae.enable(vae, limit=smallest - 1, **taken)
                self.assertFalse(handle.predict(**case.size(handle)).fits)
            handle = headroom_vae.enable(vae, limit=limit if remedy["fits"] else smallest, **taken)
            vae.decode(z)
            self.assertLessEqual(handle.last.peak_bytes, limit if remedy["fits"] else smallest)

    def test_of_the_node(self):
        node = nodes().NODE_CLASS_MAPPINGS["HeadroomVAEDecode"]()
        vae = comfy_vae(tiny.kl(mid_block_add_attention=True))
        for seed in range(DRAWN["node"]):
            draw = random.Random(100 + seed)
            z = torch.randn(draw.choice((1, 2)), 4, draw.randint(3, 14), draw.randint(3, 14))
            scratch = self.folder if draw.random() < 0.25 else ""

            def decode(limit: int, z: torch.Tensor = z, scratch: str = scratch) -> int:
                with unittest.mock.patch.dict(os.environ, {"HEADROOM_COMFYUI_SCRATCH": self.folder}):
                    picture, _ = node.decode({"samples": z}, vae, limit_gib=limit / (1 << 30), scratch=scratch)
                return picture.numel() * 4

            with self.subTest(seed=seed, latent=tuple(z.shape), scratch=bool(scratch)):
                with self.assertRaises(headroom_vae.DoesNotFit) as refused:
                    decode(max(1024, draw.randint(1, 3 * z.numel() * 4)))  # three quarters of the picture
                self.assert_named_limit(decode, refused.exception)


class CountedInOneWay(unittest.TestCase):
    def test_enable_predict_and_the_decode_count_the_clip_in_the_peak(self):
        vae = tiny.wan()
        z = torch.randn(1, vae.config.z_dim, 11, 20, 26)
        handle = headroom_vae.enable(vae, limit="200MiB")
        clip = vae.decode(z).sample
        size = {"height": clip.shape[3], "width": clip.shape[4], "frames": clip.shape[2]}
        ours, theirs = handle.predict(**size), headroom_vae.predict(vae, **size, limit="200MiB")
        self.assertEqual(str(ours).replace(ours.what, ""), str(theirs).replace(theirs.what, ""))
        self.assertEqual(ours.limit_bytes, 200 << 20)
        self.assertEqual(ours.peak_bytes, handle.last.predicted_peak_bytes)
        self.assertEqual(ours.plan.picture_bytes, clip.numel() * 4)
        self.assertGreater(handle.last.peak_bytes, clip.numel() * 4)
        self.assertIn(" are the clip that is returned", str(ours))
        self.assertIn("picture ", ours.plan.explain())

    def test_the_limit_that_did_not_fit_is_the_one_that_was_given(self):
        vae = tiny.wan()
        headroom_vae.enable(vae, limit="2MiB")
        with self.assertRaisesRegex(headroom_vae.DoesNotFit, r"416x240 does not fit 2\.0 MiB; .*, of which 46\.8 MiB are the clip that is returned"):
            vae.decode(torch.randn(1, vae.config.z_dim, 11, 30, 52))


    def test_a_plan_in_16_bits_that_takes_more_than_untiled_says_why(self):
        fastest = headroom_vae.predict("sdxl", 256, 256, batch=2, dtype="bf16", thrift=0)
        self.assertGreater(fastest.peak_bytes, fastest.untiled_peak_bytes)
        self.assertIn("more than the untiled decode (335.6 MiB): on the CPU tiles and weights are fp32", str(fastest))
        lower = headroom_vae.predict("sdxl", 256, 256, batch=2, dtype="bf16", limit="300MiB")
        self.assertNotIn("more than", str(lower))


class Queues(InFolder):
    def test_a_queue_stays_inside_its_limit(self):
        config = dict(tiny.kl().config, _class_name="AutoencoderKL")
        pathlib.Path(self.folder, "config.json").write_text(json.dumps({key: value for key, value in config.items() if key[:1] != "_" or key == "_class_name"}))
        asked = []
        for number, (width, height, batch) in enumerate(((132, 130, 4), (120, 136, 4), (100, 110, 3))):
            torch.save(torch.randn(batch, 4, height // 2, width // 2), f"{self.folder}/z{number}.pt")
            asked.append({"name": f"{number}", "width_pixels": width, "height_pixels": height, "batch": batch, "latent": f"z{number}.pt",
                          "output": f"o{number}.npy"})  # fmt: skip
        requests, queue, stats = (f"{self.folder}/{name}.json" for name in ("requests", "queue", "stats"))
        pathlib.Path(requests).write_text(json.dumps({"schema": "headroom.requests", "version": 1, "requests": asked}))
        for limit in (24 << 20, 100 << 20):
            run = self.program("headroom-plan", "queue", requests, "--model", self.folder, "--limit", str(limit), "-o", queue)
            self.assertEqual(run.returncode, 0, run.stderr)
            run = self.program("headroom-decode", "--queue", queue, "--model", self.folder, "--random-weights", "1", "--stats", stats)
            self.assertEqual(run.returncode, 0, run.stderr)
            found = json.loads(pathlib.Path(stats).read_text())
            self.assertLessEqual(found["peak_bytes"], found["predicted_peak_bytes"])
            self.assertLessEqual(found["peak_bytes"], limit)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parsed, rest = parser.parse_known_args()
    BIN = parsed.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
