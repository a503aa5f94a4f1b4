"""Checkpoints as people download them, under original names and in other formats, against diffusers' own decode.

  python checkpoints_test.py --bin build/bin
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL, AutoencoderKLWan
from safetensors.torch import save_file

BIN = Path()


class Checkpoints(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.set_grad_enabled(False)
        torch.manual_seed(0)
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def run_decode(self, *words):
        line = [BIN / "headroom-decode", "--limit", "256MiB", "--threads", 2, "-o", self.folder / "out.npy", *words]
        return subprocess.run([str(word) for word in line], capture_output=True, text=True)

    def check_decode(self, expected, *words):
        ended = self.run_decode(*words)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        picture = np.load(self.folder / "out.npy")
        self.assertEqual(picture.shape, tuple(expected.shape))
        self.assertLess(np.abs(picture - expected.numpy()).max(), 1e-4 * expected.abs().max().item())

    def config_and_file(self, name, vae, channels):
        """A folder with the config alone, and the decoder's tensors beside it."""
        folder = self.folder / name
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({**vae.config, "_class_name": type(vae).__name__}))
        tensors = {key: value.contiguous() for key, value in vae.state_dict().items() if not re.match(r"(encoder|quant_conv)", key)}
        save_file(tensors, folder / "original.sft")
        np.save(folder / "latent.npy", torch.randn(1, channels, 4, 4).numpy())
        return folder

    def test_factors_that_the_config_lacks_are_those_of_diffusers_class(self):
        vae = AutoencoderKLWan(base_dim=8, z_dim=16, num_res_blocks=1).eval()
        folder = self.config_and_file("wan", vae, 16)
        config = json.loads((folder / "config.json").read_text())
        mean, deviation = (torch.tensor(config.pop(key)).view(1, 16, 1, 1) for key in ("latents_mean", "latents_std"))
        (folder / "config.json").write_text(json.dumps(config))
        latent = torch.from_numpy(np.load(folder / "latent.npy"))
        expected = vae.decode((latent * deviation + mean).unsqueeze(2)).sample.squeeze(2)
        words = ["--model", folder, "--weights", folder / "original.sft", "--latent", folder / "latent.npy", "--latent-scale",
                 "model"]
        self.check_decode(expected, *words)
        (folder / "config.json").write_text(json.dumps({**config, "latents_mean": None}))
        refused = self.run_decode(*words)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("config.json: latents_mean: --latent-scale model needs", refused.stderr)

    def test_the_conversion_that_a_refused_pickle_names_works(self):
        vae = AutoencoderKL(block_out_channels=[16, 32], layers_per_block=1, norm_num_groups=8,
                            down_block_types=["DownEncoderBlock2D"] * 2, up_block_types=["UpDecoderBlock2D"] * 2).eval()
        latent = torch.randn(1, 4, 4, 4)
        np.save(self.folder / "latent.npy", latent.numpy())
        expected = vae.decode(latent).sample
        for name, content in {"vae.ckpt": {"state_dict": vae.state_dict(), "global_step": 5}, "a b.pt": vae.state_dict()}.items():
            for legacy in (False, True):
                folder = self.folder / f"pickled {legacy}"
                folder.mkdir(exist_ok=True)
                (folder / "config.json").write_text(json.dumps({**vae.config, "_class_name": "AutoencoderKL"}))
                torch.save(content, folder / name, _use_new_zipfile_serialization=not legacy)
                words = ["--model", folder, "--latent", self.folder / "latent.npy", "--latent-scale", "none"]
                refused = self.run_decode(*words, "--weights", folder / name)
                self.assertEqual(refused.returncode, 2)
                self.assertEqual(refused.stderr.count("\n"), 1)
                self.run_command(refused.stderr)
                self.check_decode(expected, *words, "--weights", (folder / name).with_suffix(".safetensors"))

    def test_the_conversion_that_a_folder_of_pickles_names_works(self):
        vae = AutoencoderKL(block_out_channels=[16, 32], layers_per_block=1, norm_num_groups=8,
                            down_block_types=["DownEncoderBlock2D"] * 2, up_block_types=["UpDecoderBlock2D"] * 2).eval()
        latent = torch.randn(1, 4, 4, 4)
        np.save(self.folder / "latent.npy", latent.numpy())
        for name, options in {"plain": {}, "half": {"variant": "fp16"}, "shards": {"max_shard_size": "100KB"}}.items():
            folder = self.folder / name
            vae.save_pretrained(folder, safe_serialization=False, **options)
            words = ["--model", folder, "--latent", self.folder / "latent.npy", "--latent-scale", "none"]
            refused = self.run_decode(*words)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(".bin", refused.stderr)
            self.run_command(refused.stderr)
            self.check_decode(vae.decode(latent).sample, *words)

    def run_command(self, message):
        command = message[message.index("python -c"):].strip().replace("python", sys.executable, 1)
        subprocess.run(command, shell=True, check=True, capture_output=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    parsed, rest = parser.parse_known_args()
    BIN = parsed.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
