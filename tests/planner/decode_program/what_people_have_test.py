"""Decodes of files as diffusers, torch and ComfyUI write them: the programs as people run them, against diffusers' own decode.

  python what_people_have_test.py --bin build/bin
"""
import argparse
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL, AutoencoderTiny, DDPMScheduler, LDMPipeline, UNet2DModel
from PIL import Image
from safetensors.torch import save_file

BIN = Path()
SCALING = 0.125


def tiny_vae(seed=0, **changes):
    torch.manual_seed(seed)
    return AutoencoderKL(block_out_channels=[16, 32], layers_per_block=1, norm_num_groups=8, latent_channels=4,
                         down_block_types=["DownEncoderBlock2D"] * 2, up_block_types=["UpDecoderBlock2D"] * 2,
                         scaling_factor=SCALING, force_upcast=False, **changes).eval()


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        cls.vae = tiny_vae()
        cls.pipeline = cls.folder / "pipeline"
        unet = UNet2DModel(sample_size=8, in_channels=4, out_channels=4, block_out_channels=(8, 8), layers_per_block=1,
                           norm_num_groups=4, down_block_types=("DownBlock2D",) * 2, up_block_types=("UpBlock2D",) * 2)
        LDMPipeline(vqvae=cls.vae, unet=unet, scheduler=DDPMScheduler()).save_pretrained(cls.pipeline)
        (cls.pipeline / "vqvae").rename(cls.pipeline / "vae")  # as pipelines of today call it
        torch.manual_seed(1)
        cls.input = torch.randn(1, 4, 8, 8) / SCALING
        cls.handed_on = cls.input * SCALING
        with torch.no_grad():
            cls.expected = cls.vae.decode(cls.input).sample.numpy()

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def run_decode(self, *words, model=None):
        line = [BIN / "headroom-decode", "--limit", "64MiB", "--threads", 2, "--model", model or self.pipeline, *words]
        return subprocess.run([str(word) for word in line], capture_output=True, text=True)

    def decode(self, latent, *words, model=None, output="out.npy"):
        ended = self.run_decode("--latent", latent, "-o", f"{self.folder}/{output}", *words, model=model)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stderr

    def check(self, latent, *words, model=None):
        said = self.decode(latent, *words, model=model)
        picture = np.load(self.folder / "out.npy")
        self.assertEqual(picture.shape, self.expected.shape)
        self.assertLess(np.abs(picture - self.expected).max(), 1e-4 * np.abs(self.expected).max())
        return said

    def test_pipelines_folder_and_tensors_of_torch(self):
        for name, value in {"alone.pt": self.input, "alone.pth": self.input, "chw.pt": self.input[0],
                            "parameter.pt": torch.nn.Parameter(self.input), "list.pt": [self.input],
                            "channels_last.pt": self.input.to(memory_format=torch.channels_last),
                            "part.pt": torch.cat([self.handed_on, self.input])[1:],
                            "dict.pt": {"latents": self.input}}.items():
            with self.subTest(name):
                torch.save(value, self.folder / name)
                self.check(self.folder / name)
        torch.save({"a": self.input, "b": self.handed_on}, self.folder / "two.pt")
        self.check(f"{self.folder / 'two.pt'}:a")
        refused = self.run_decode("--latent", self.folder / "two.pt", "-o", self.folder / "out.npy")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("a, b", refused.stderr)

    def test_a_latent_as_pipelines_hand_it_on(self):
        torch.save(self.handed_on, self.folder / "handed_on.pt")
        self.assertIn("scaling undone", self.check(self.folder / "handed_on.pt"))
        self.assertEqual(self.check(self.folder / "handed_on.pt", "--latent-scale", "model"), "")
        self.assertIn("warning", self.decode(self.folder / "handed_on.pt", "--latent-scale", "none"))

    def test_a_checkpoint_alone(self):
        torch.manual_seed(2)
        tiny = AutoencoderTiny().eval()
        tiny.save_pretrained(self.folder / "taesd")
        torch.save(self.handed_on, self.folder / "l.pt")
        (self.folder / "alone").mkdir(exist_ok=True)
        checkpoint = self.folder / "alone" / "taesd.safetensors"
        (self.folder / "taesd" / "diffusion_pytorch_model.safetensors").rename(checkpoint)
        self.decode(self.folder / "l.pt", model=checkpoint)
        with torch.no_grad():
            expected = tiny.decode(self.handed_on).sample.numpy()
        picture = np.load(self.folder / "out.npy")
        self.assertLess(np.abs(picture - expected).max(), 1e-3 * np.abs(expected).max())
        named = self.pipeline / "vae" / "diffusion_pytorch_model.safetensors"  # whose config lies beside it
        torch.save(self.input, self.folder / "input.pt")
        self.check(self.folder / "input.pt", model=named)

    def test_pictures_with_alpha(self):
        vae = tiny_vae(seed=3, out_channels=4)
        vae.save_pretrained(self.folder / "rgba")
        torch.save(self.input / 16, self.folder / "smooth.pt")
        with torch.no_grad():
            expected = vae.decode(self.input / 16).sample[0].permute(1, 2, 0).numpy()
        expected = np.rint(np.clip(expected * 0.5 + 0.5, 0, 1) * 255)
        for name in ("alpha.png", "alpha.webp", "alpha/"):
            self.decode(self.folder / "smooth.pt", "--latent-scale", "none", model=self.folder / "rgba", output=name)
            picture = Image.open(self.folder / ("alpha/00000.png" if name == "alpha/" else name))
            self.assertEqual(picture.mode, "RGBA")
            difference = np.abs(np.asarray(picture, dtype=float) - expected)
            self.assertLessEqual(difference[..., 3].max(), 1)  # also in WebP, whose colours are lossy
            self.assertLess(difference.mean(), 24 if name == "alpha.webp" else 0.1)
        for words in (["-o", self.folder / "alpha.jpg"], ["-o", self.folder / "alpha.y4m"],
                      ["-o", self.folder / "p.png", "--preview", self.folder / "p.ppm"]):
            refused = self.run_decode("--latent", self.folder / "smooth.pt", *words, model=self.folder / "rgba")
            self.assertEqual(refused.returncode, 2)
            self.assertIn("has no alpha", refused.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    parsed, rest = parser.parse_known_args()
    BIN = parsed.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
