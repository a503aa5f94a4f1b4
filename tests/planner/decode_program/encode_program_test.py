"""headroom-decode encode as people run it, on files that Pillow writes, against diffusers' own encode.

  python encode_program_test.py --bin build/bin
"""
import argparse
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL, AutoencoderKLFlux2, AutoencoderKLWan
from PIL import Image
from safetensors.torch import load_file

BIN = Path()
SCALING, SHIFT = 0.125, 0.25


def picture(width, height, mode="RGB", seed=0):
    channels = len(Image.new(mode, (1, 1)).getbands())
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, channels), dtype=np.uint8)
    return Image.fromarray(pixels[..., 0] if channels == 1 else pixels, mode)


def values_of(image):
    """Converts a picture as diffusers' VaeImageProcessor does: N×C×H×W, from -1 to 1."""
    array = np.asarray(image.convert("RGB"), dtype=np.float32) / 127.5 - 1
    return torch.from_numpy(array).permute(2, 0, 1)[None]


class Encodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        torch.manual_seed(0)
        cls.vae = AutoencoderKL(block_out_channels=[16, 32], layers_per_block=1, norm_num_groups=8, latent_channels=4,
                                down_block_types=["DownEncoderBlock2D"] * 2, up_block_types=["UpDecoderBlock2D"] * 2,
                                scaling_factor=SCALING, shift_factor=SHIFT).eval()
        cls.vae.save_pretrained(cls.folder / "vae")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def run_program(self, program, *words):
        line = [BIN / program, *words]
        return subprocess.run([str(word) for word in line], capture_output=True, text=True)

    def encode(self, *words, model="vae"):
        return self.run_program("headroom-decode", "encode", "--model", self.folder / model, "--threads", 2, "--quiet", *words)

    def encoded(self, *words, output="z.safetensors", limit="64MiB", model="vae"):
        ended = self.encode("--limit", limit, "-o", self.folder / output, *words, model=model)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return load_file(self.folder / output)["latent"]

    def refuse(self, text, *words, code=2, output="z.safetensors"):
        (self.folder / output).unlink(missing_ok=True)
        ended = self.encode("--limit", "64MiB", "-o", self.folder / output, *words)
        self.assertEqual((ended.returncode, ended.stdout), (code, ""))
        self.assertRegex(ended.stderr, text)
        self.assertEqual(ended.stderr.count("\n"), 1)
        self.assertFalse((self.folder / output).exists())

    def expected(self, image):
        with torch.no_grad():
            return self.vae.encode(values_of(image)).latent_dist.mean

    def assert_close(self, ours, theirs):
        self.assertEqual(ours.shape, theirs.shape)
        self.assertLessEqual(float((ours - theirs).abs().max()), 1e-5 * float(theirs.abs().max()))

    def test_formats_and_kinds_of_pixels(self):
        image = picture(52, 36)
        wide = np.random.default_rng(1).integers(0, 65536, (36, 52), dtype=np.uint16)
        Image.fromarray(wide).save(self.folder / "wide.png")
        files = {"rgb.png": image, "rgba.png": picture(52, 36, "RGBA"), "gray.png": picture(52, 36, "L"), "graya.png": picture(52, 36, "LA"),
                 "palette.png": image.convert("P"), "bits.png": picture(52, 36, "L").convert("1"), "rgb.jpg": image, "gray.jpeg": picture(52, 36, "L"),
                 "lossless.webp": image, "rgba.webp": picture(52, 36, "RGBA"), "progressive.jpg": image, "rows.png": image}  # fmt: skip
        options = {"lossless.webp": {"lossless": True}, "progressive.jpg": {"progressive": True}}
        for name, made in files.items():
            with self.subTest(name):
                made.save(self.folder / name, **options.get(name, {}))
                read = Image.open(self.folder / name)
                self.assert_close(self.encoded("--picture", self.folder / name, "--latent-scale", "none"), self.expected(read))
        with self.subTest("16 bits"):
            eight = Image.fromarray(((wide.astype(np.uint32) * 255 + 32895) >> 16).astype(np.uint8))  # as libpng scales
            self.assert_close(self.encoded("--picture", self.folder / "wide.png", "--latent-scale", "none"), self.expected(eight))

    def test_the_peak_is_as_predicted_where_wide_kernels_are_multiplied(self):
        """Attention over 1024 channels reads two kernels of 4 MiB whole, when tensors and weights of earlier passes have filled the peak."""
        config = {"_class_name": "AutoencoderKLHunyuanImage", "in_channels": 3, "out_channels": 3, "latent_channels": 64, "layers_per_block": 0,
                  "block_out_channels": [32, 32, 64, 128, 256, 1024], "spatial_compression_ratio": 32, "sample_size": 64, "scaling_factor": 1.0}  # fmt: skip
        (self.folder / "wide").mkdir()
        (self.folder / "wide" / "config.json").write_text(json.dumps(config))
        picture(256, 256).save(self.folder / "wide.png")
        ended = self.encode("--limit", "96MiB", "--random-weights", 0, "--picture", self.folder / "wide.png", "--stats", self.folder / "wide.json",
                            "-o", self.folder / "wide.npy", model="wide")  # fmt: skip
        self.assertEqual(ended.returncode, 0, ended.stderr)
        stats = json.loads((self.folder / "wide.json").read_text())
        self.assertLess(stats["predicted_peak_bytes"], 96 << 20)  # the weights of a pass at a time
        self.assertLessEqual(stats["peak_bytes"], stats["predicted_peak_bytes"])

    def test_scale_and_kinds_of_outputs(self):
        image = picture(48, 32)
        image.save(self.folder / "p.png")
        mean = self.expected(image)
        scaled = (mean - SHIFT) * SCALING
        self.assert_close(self.encoded("--picture", self.folder / "p.png"), scaled)
        for name in ("z.npy", "z.latent"):
            self.assertEqual(self.encode("--limit", "64MiB", "-o", self.folder / name, "--picture", self.folder / "p.png").returncode, 0)
        self.assert_close(torch.from_numpy(np.load(self.folder / "z.npy")), scaled)
        comfyui = load_file(self.folder / "z.latent")
        self.assertIn("latent_format_version_0", comfyui)
        self.assert_close(comfyui["latent_tensor"], mean)
        # The decoder takes each of them without a word about scales.
        decoded = []
        for name in ("z.safetensors", "z.latent"):
            ended = self.run_program("headroom-decode", "--model", self.folder / "vae", "--limit", "64MiB", "--latent", self.folder / name,
                                     "--latent-scale", "model" if name == "z.safetensors" else "auto", "-o", self.folder / "back.npy", "--quiet")
            self.assertEqual(ended.returncode, 0, ended.stderr)
            decoded.append(torch.from_numpy(np.load(self.folder / "back.npy")))
        self.assert_close(decoded[0], decoded[1])

    def test_arrays_and_batches(self):
        batch = torch.rand(3, 3, 32, 48) * 2 - 1
        np.save(self.folder / "batch.npy", batch.numpy())
        with torch.no_grad():
            expected = self.vae.encode(batch).latent_dist.mean
        self.assert_close(self.encoded("--picture", self.folder / "batch.npy", "--latent-scale", "none"), expected)
        np.save(self.folder / "one.npy", batch[0].numpy())
        self.assert_close(self.encoded("--picture", self.folder / "one.npy", "--latent-scale", "none"), expected[:1])

    def test_a_clip_in_a_folder_of_frames(self):
        torch.manual_seed(1)
        wan = AutoencoderKLWan(base_dim=8, z_dim=4, dim_mult=[1, 1, 2], num_res_blocks=1, temperal_downsample=[False, True],
                               latents_mean=[0.5] * 4, latents_std=[2.0] * 4).eval()  # fmt: skip
        wan.save_pretrained(self.folder / "wan")
        frames = [picture(32, 20, seed=i) for i in range(6)]
        (self.folder / "frames").mkdir(exist_ok=True)
        for i, frame in enumerate(frames):
            frame.save(self.folder / "frames" / f"{i:05}.png")
        refused = self.encode("--limit", "64MiB", "-o", self.folder / "c.npy", "--picture", self.folder / "frames", model="wan")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("expected 1 plus a multiple of 2, found 6; the nearest is 5; or give --crop", refused.stderr)
        clip = torch.cat([values_of(frame) for frame in frames[:5]]).transpose(0, 1)[None]
        with torch.no_grad():
            expected = (wan.encode(clip).latent_dist.mean - 0.5) / 2
        self.assert_close(self.encoded("--picture", self.folder / "frames", "--crop", model="wan"), expected)

    def test_flux2_latents_are_packed_as_pipelines_hand_them_on(self):
        torch.manual_seed(2)
        vae = AutoencoderKLFlux2(block_out_channels=(32, 32), down_block_types=["DownEncoderBlock2D"] * 2, up_block_types=["UpDecoderBlock2D"] * 2,
                                 layers_per_block=1, latent_channels=4).eval()  # fmt: skip
        vae.bn.running_mean.normal_()
        vae.bn.running_var.uniform_(0.5, 2)
        vae.save_pretrained(self.folder / "flux2")
        image = picture(24, 16)
        image.save(self.folder / "f.png")
        with torch.no_grad():
            mean = vae.encode(values_of(image)).latent_dist.mode()
        packed = mean.unflatten(2, (-1, 2)).unflatten(4, (-1, 2)).permute(0, 1, 3, 5, 2, 4).flatten(1, 3)
        deviation = torch.sqrt(vae.bn.running_var + vae.config.batch_norm_eps)[None, :, None, None]
        expected = (packed - vae.bn.running_mean[None, :, None, None]) / deviation
        self.assert_close(self.encoded("--picture", self.folder / "f.png", model="flux2"), expected)
        self.assert_close(self.encoded("--picture", self.folder / "f.png", "--latent-scale", "none", model="flux2"), mean)

    def test_sizes_that_no_latent_has(self):
        image = picture(51, 37)
        image.save(self.folder / "odd.png")
        self.refuse(r"odd.png: expected a width that is a multiple of 2, found 51 \(use 50 or 52\) and a height .* found 37 .*; or give --crop",
                    "--picture", self.folder / "odd.png")
        self.assert_close(self.encoded("--picture", self.folder / "odd.png", "--crop", "--latent-scale", "none"), self.expected(image.crop((0, 0, 50, 36))))

    def test_a_folder_of_pictures_of_mixed_sizes_can_be_resumed(self):
        photos, latents = self.folder / "photos", self.folder / "latents"
        photos.mkdir()
        sizes = [(48, 32), (32, 48), (48, 32), (64, 64), (33, 32)]
        for i, size in enumerate(sizes):
            picture(*size, seed=i).save(photos / f"{i}.{'png' if i % 2 else 'webp'}", lossless=True)
        (photos / "notes.txt").write_text("no picture")
        words = ("--limit", "64MiB", "--pictures", photos, "--crop", "--latent-scale", "none", "-o", latents)
        (photos / "9.png").write_bytes((photos / "1.png").read_bytes()[:200])
        broken = self.encode(*words)
        self.assertEqual(broken.returncode, 2)
        self.assertRegex(broken.stderr, r"\nheadroom-decode: [^:]*9\.png: not a valid PNG file.*; 5 of 6 encodes were done\n$")
        self.assertEqual(len(list(latents.iterdir())), 5)  # what was done stays
        (photos / "9.png").unlink()
        (latents / "2.safetensors").unlink()
        before = {file.name: file.stat().st_mtime_ns for file in latents.iterdir()}
        resumed = self.encode(*words)
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertIn("1 pictures, 4 already existed", resumed.stdout)
        self.assertEqual(sorted(file.name for file in latents.iterdir()), [f"{i}.safetensors" for i in range(5)])
        self.assertLessEqual(before.items(), {file.name: file.stat().st_mtime_ns for file in latents.iterdir()}.items())
        for i, (width, height) in enumerate(sizes):
            image = picture(width, height, seed=i).crop((0, 0, width // 2 * 2, height))
            self.assert_close(load_file(latents / f"{i}.safetensors")["latent"], self.expected(image))
        self.assertIn("0 pictures, 5 already existed", self.encode(*words).stdout)

    def test_a_list_reports_each_picture(self):
        photos, stats = self.folder / "shots", self.folder / "stats.json"
        photos.mkdir()
        for name, width in (("a.png", 48), ("b.png", 64)):
            picture(width, 32).save(photos / name)
        ended = self.encode("--limit", "64MiB", "--pictures", photos, "-o", self.folder / "shot-latents", "--stats", stats)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        decodes = json.loads(stats.read_text())["decodes"]
        self.assertEqual([(one["name"], one["plan"]) for one in decodes], [("a.png", 0), ("b.png", 1)])

    def test_a_plan_of_an_encode(self):
        image = picture(48, 32)
        image.save(self.folder / "p.png")
        plan = self.folder / "plan.json"
        ended = self.run_program("headroom-plan", "--model", self.folder / "vae", "--direction", "encode", "--size", "48x32", "--limit", "16MiB", "-o", plan)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(json.loads(plan.read_text())["request"]["direction"], "encode")
        for command in ("validate", "explain"):
            done = self.run_program("headroom-plan", command, plan)
            self.assertEqual(done.returncode, 0, done.stderr)
        ended = self.encode("--plan", plan, "--picture", self.folder / "p.png", "--latent-scale", "none", "-o", self.folder / "z.safetensors", "--stats",
                            self.folder / "s.json")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assert_close(load_file(self.folder / "z.safetensors")["latent"], self.expected(image))
        stats = json.loads((self.folder / "s.json").read_text())
        self.assertLessEqual(stats["peak_bytes"], stats["predicted_peak_bytes"])
        refused = self.run_program("headroom-decode", "--plan", plan, "--model", self.folder / "vae", "--latent", self.folder / "z.safetensors", "-o",
                                   self.folder / "back.png")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("a plan of an encode; run it with headroom-decode encode --plan", refused.stderr)

    def test_refusals(self):
        image = picture(48, 32)
        image.save(self.folder / "p.png")
        bytes_of = (self.folder / "p.png").read_bytes()
        (self.folder / "cut.png").write_bytes(bytes_of[: len(bytes_of) // 2])
        image.save(self.folder / "p.jpg")
        bytes_of = (self.folder / "p.jpg").read_bytes()
        (self.folder / "cut.jpg").write_bytes(bytes_of[: len(bytes_of) // 2])
        exif = Image.Exif()
        exif[0x0112] = 6
        image.save(self.folder / "turned.jpg", exif=exif)
        (self.folder / "text.png").write_text("hello")
        image.convert("CMYK").save(self.folder / "cmyk.jpg")
        for name, text in {"cut.png": "cut.png: not a valid PNG file", "cut.jpg": "cut.jpg: not a valid JPEG file", "turned.jpg": "orientation 6",
                           "text.png": "expected a PNG, JPEG or WebP file", "cmyk.jpg": "expected gray or RGB", "none.png": "none.png"}.items():
            with self.subTest(name):
                self.refuse(text, "--picture", self.folder / name)
        self.refuse("expected a latent in .npy, .safetensors or .latent", "--picture", self.folder / "p.png", output="z.png")
        self.refuse("expected one of --picture PATH and --pictures DIR")
        ended = self.encode("--limit", "1MiB", "-o", self.folder / "z.npy", "--picture", self.folder / "p.png")
        self.assertEqual(ended.returncode, 3)
        self.assertIn("does not fit", ended.stderr)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--bin", type=Path, required=True)
    known, rest = arguments.parse_known_args()
    BIN = known.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
