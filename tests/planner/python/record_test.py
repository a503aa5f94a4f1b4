"""Tests headroom_vae.record() for VAEs of all classes, against the layer graph's memory for the same decodes.

    PYTHONPATH=build/python python3 -m unittest tests/planner/python/record_test.py
"""

import contextlib
import io
import json
import tempfile
import unittest
import warnings
from pathlib import Path

import diffusers
import headroom_vae
import jsonschema
import tiny
import torch
from headroom_vae.__main__ import latent_shape, main
from headroom_vae.record import record

SCHEMA = json.loads((Path(__file__).resolve().parents[3] / "docs/schemas/recording.json").read_text())

# Classes for which the layer graph predicts diffusers' memory exactly, and all others. See docs/planning.md.
COUNTED = [(tiny.kl, 1), (tiny.asymmetric, 1), (tiny.flux2, 1), (tiny.wan, 5), (tiny.wan22, 5), (tiny.qwen, 5)]
OTHERS = [(tiny.dc, 1), (tiny.autoencoder_tiny, 1), (tiny.hunyuan_image, 1), (tiny.hunyuan_video, 9), (tiny.hunyuan_video_15, 9),
          (tiny.hunyuan_image_refiner, 3), (tiny.ltx2_video, 9), (tiny.ltx_video, 9), (tiny.qwen21, 1),
          (tiny.temporal_decoder, 3), (tiny.cogvideox, 9)]


def latent_of(vae, width=128, height=64, frames=1):
    return torch.randn(latent_shape(vae, width, height, frames), generator=torch.Generator().manual_seed(0))


class Record(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def check(self, recording):
        jsonschema.Draft202012Validator(SCHEMA).validate(recording)
        for decode in recording["decodes"]:
            self.assertEqual(sum(one["bytes"] for one in decode["peak_live"]), decode["peak_bytes"])
            self.assertEqual(max(decode["timeline"]["live_bytes"]), decode["peak_bytes"])
            self.assertEqual(decode["timeline"]["seconds"], sorted(decode["timeline"]["seconds"]))
            for layer in decode["layers"]:
                self.assertLessEqual(layer["live_bytes"], decode["peak_bytes"])
                self.assertGreaterEqual(layer["workspace_bytes"], 0)
            self.assertIn(decode["peak_layer"], [layer["name"] for layer in decode["layers"]])
        return recording

    def test_all_classes(self):
        seen = set()
        for make, frames in COUNTED + OTHERS:
            vae = make()
            seen.add(type(vae).__name__)
            with self.subTest(type(vae).__name__):
                decode = self.check(record(vae, latent_of(vae, frames=frames)))["decodes"][0]
                self.assertEqual((decode["width_pixels"], decode["height_pixels"], decode["frames"]), (128, 64, frames))
                self.assertGreater(decode["smallest_limit_bytes"], 0)
                if (make, frames) in COUNTED:
                    self.assertEqual(decode["peak_bytes"], decode["counted_peak_bytes"])
        others = {"AutoencoderKLConv3D", "CausalVAEModel", "TAEHV", "VideoAutoencoderKLWrapper"}  # not in diffusers
        others.add("AutoencoderKLMiniMaxH3")  # encodes alone
        self.assertEqual(seen, set(headroom_vae.SUPPORTED_CLASSES) - others)

    def test_peak_is_by_the_module_that_asked(self):
        vae = tiny.kl()
        decode = record(vae, latent_of(vae))["decodes"][0]
        names = {name for name, _ in vae.named_modules()}
        self.assertLessEqual({one["name"] for one in decode["peak_live"]} - {"weights", "latent"}, names)
        kinds = {layer["name"]: layer["kind"] for layer in decode["layers"]}
        self.assertEqual(kinds["decoder.conv_in"], "Conv2d")
        conv = next(layer for layer in decode["layers"] if layer["name"] == "decoder.conv_in")
        self.assertEqual(conv["activation_bytes"], 64 * 32 * 64 * 4)

    def test_tiled_decode_takes_less(self):
        vae = tiny.kl()
        latent = latent_of(vae, 256, 256)
        whole = record(vae, latent)["decodes"][0]
        vae.enable_tiling()
        self.assertLess(record(vae, latent)["decodes"][0]["peak_bytes"], whole["peak_bytes"])

    def test_nothing_stays_on_the_vae(self):
        vae = tiny.kl()
        latent = latent_of(vae)
        before = vae.decode(latent).sample
        record(vae, latent)
        self.assertFalse(any(module._forward_hooks or module._forward_pre_hooks for module in vae.modules()))
        self.assertTrue(torch.equal(vae.decode(latent).sample, before))
        with self.assertRaises(RuntimeError):
            record(vae, latent[:, :3])  # the VAE raises its own error, and the hooks are removed
        self.assertFalse(any(module._forward_hooks or module._forward_pre_hooks for module in vae.modules()))

    def test_class_that_headroom_does_not_decode(self):
        vae = diffusers.VQModel(block_out_channels=(32,), num_vq_embeddings=16)
        decode = self.check(record(vae, torch.randn(1, 3, 16, 16)))["decodes"][0]
        self.assertNotIn("smallest_limit_bytes", decode)

    def test_file_and_sizes(self):
        vae = tiny.kl()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "recording.json"
            recording = record(vae, [latent_of(vae), latent_of(vae, 64, 64)], file, model="tiny")
            self.assertEqual(json.loads(file.read_text()), recording)
            self.assertEqual([*Path(folder).iterdir()], [file])
            with self.assertRaisesRegex(headroom_vae.InputError, "cannot be written"):
                record(vae, latent_of(vae), Path(folder) / "missing" / "recording.json")

    def test_wrong_latents(self):
        vae = tiny.kl()
        for wrong, part in ((torch.zeros(4, 8, 8), r"found \(4, 8, 8\)"), ("latent.npy", "found str"), ([], "empty list")):
            with self.assertRaisesRegex(headroom_vae.InputError, part):
                record(vae, wrong)

    def test_enabled_vae(self):
        vae = tiny.kl()
        headroom_vae.enable(vae, limit="1GiB")
        with self.assertRaisesRegex(headroom_vae.InputError, r"headroom_vae.disable\(vae\) first"):
            record(vae, latent_of(vae))
        headroom_vae.disable(vae)
        self.assertGreater(record(vae, latent_of(vae))["decodes"][0]["peak_bytes"], 0)


class CommandLine(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def run_main(self, *words):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(word) for word in words])
        return code, out.getvalue(), err.getvalue()

    def test_folder(self):
        tiny.kl().save_pretrained(self.folder / "pipeline/vae")
        for model in ("pipeline/vae", "pipeline"):
            code, out, err = self.run_main("record", self.folder / model, "--sizes", "128x64,64x64", "-o", self.folder / "r.json")
            self.assertEqual(code, 0, err)
            self.assertEqual(out.count("Headroom's smallest limit"), 2)
            sizes = [(one["width_pixels"], one["height_pixels"]) for one in json.loads((self.folder / "r.json").read_text())["decodes"]]
            self.assertEqual(sizes, [(128, 64), (64, 64)])

    def test_built_in(self):
        code, out, err = self.run_main("record", "taesd", "--sizes", "64x64", "--dtype", "bf16", "-o", self.folder / "r.json")
        self.assertEqual(code, 0, err)
        self.assertEqual(json.loads((self.folder / "r.json").read_text())["dtype"], "bf16")

    def test_bad_input_is_one_line(self):
        (self.folder / "other").mkdir()
        (self.folder / "other/config.json").write_text('{"_class_name": "NoSuchVae"}')
        tiny.kl().save_pretrained(self.folder / "vae")
        for words, part in (
            (("nothing", "--sizes", "64x64"), "expected a built-in name or a folder"),
            ((self.folder / "other", "--sizes", "64x64"), "class NoSuchVae is not in diffusers"),
            ((self.folder / "vae",), "--sizes: expected"),
            ((self.folder / "vae", "--sizes", "63x64"), "63"),
        ):
            code, _, err = self.run_main("record", *words, "-o", self.folder / "r.json")
            self.assertEqual((code, err.count("\n")), (2, 1), err)
            self.assertIn(part, err)
            self.assertFalse((self.folder / "r.json").exists())


if __name__ == "__main__":
    unittest.main()
