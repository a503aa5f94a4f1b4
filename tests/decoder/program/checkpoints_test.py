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
from diffusers import AutoencoderKL, AutoencoderKLFlux2, AutoencoderKLHunyuanVideo15, AutoencoderKLLTX2Video
from diffusers.loaders.single_file_utils import convert_ltx2_vae_to_diffusers
from safetensors.torch import save_file

BIN = Path()


def renamed(name, rules):
    for pattern, original in rules:
        name = re.sub(pattern, original, name)
    return name


def stable_diffusion_rules(number_of_level):
    return [(r"decoder\.mid_block\.resnets\.(\d)", lambda m: f"decoder.mid.block_{int(m[1]) + 1}"),
            (r"decoder\.mid_block\.attentions\.0", "decoder.mid.attn_1"),
            (r"group_norm", "norm"), (r"to_([qkv])\.", r"\1."), (r"to_out\.0", "proj_out"),
            (r"decoder\.up_blocks\.(\d)\.", lambda m: f"decoder.up.{number_of_level(int(m[1]))}."),
            (r"resnets\.", "block."), (r"upsamplers\.0", "upsample"), (r"conv_shortcut", "nin_shortcut"),
            (r"conv_norm_out", "norm_out")]


FLUX2 = [(r"^post_quant_conv", "decoder.post_quant_conv"), *stable_diffusion_rules(lambda level: 1 - level)]
HUNYUAN_VIDEO_15 = stable_diffusion_rules(lambda level: level)
LTX2 = [(r"decoder\.up_blocks\.(\d)\.upsamplers\.0", lambda m: f"decoder.up_blocks.{2 * int(m[1]) + 1}"),
        (r"decoder\.up_blocks\.(\d)\.resnets", lambda m: f"decoder.up_blocks.{2 * int(m[1]) + 2}.res_blocks"),
        (r"decoder\.mid_block\.resnets", "decoder.up_blocks.0.res_blocks"),
        (r"latents_mean", "per_channel_statistics.mean-of-means"), (r"latents_std", "per_channel_statistics.std-of-means")]


def with_random_statistics(vae):
    for name, buffer in vae.named_buffers():
        if buffer.is_floating_point():
            buffer.copy_(torch.rand_like(buffer) + 0.5)
    return vae.eval()


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

    def config_and_file(self, name, vae, rules, prefix="", channels=8):
        """A folder with the config alone, and the decoder's tensors under their original names."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps({**vae.config, "_class_name": type(vae).__name__}))
        tensors = {prefix + renamed(key, rules): value.contiguous() for key, value in vae.state_dict().items()
                   if not re.match(r"(encoder|quant_conv|bn\.num)", key)}
        self.assertTrue(any(key.startswith(prefix) and ".up" in key for key in tensors))
        save_file(tensors, folder / "original.sft")
        np.save(folder / "latent.npy", torch.randn(1, channels, 4, 4).numpy())
        return folder

    def check_original_names(self, name, vae, rules, prefix=""):
        folder = self.config_and_file(name, vae, rules, prefix)
        latent = torch.from_numpy(np.load(folder / "latent.npy"))
        if "Video" in type(vae).__name__:
            latent = latent.unsqueeze(2)
            np.save(folder / "latent.npy", latent.numpy())
        expected = vae.decode(latent).sample
        expected = expected.squeeze(2) if expected.dim() == 5 else expected
        words = ["--latent", folder / "latent.npy", "--latent-scale", "none"]
        self.check_decode(expected, "--model", folder, "--weights", folder / "original.sft", *words)
        self.check_decode(expected, "--model", folder / "original.sft", *words)  # the config lies beside it
        return folder, latent

    def test_flux2_and_its_small_decoder_by_original_names(self):
        common = dict(layers_per_block=1, norm_num_groups=8, latent_channels=8, block_out_channels=(16, 32),
                      down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2)
        for name, widths in (("flux2", None), ("small", (8, 24))):
            vae = with_random_statistics(AutoencoderKLFlux2(**common, decoder_block_out_channels=widths))
            for prefix in ("", "vae."):
                folder, latent = self.check_original_names(name, vae, FLUX2, prefix)
                patches = torch.nn.functional.pixel_unshuffle(latent, 2)
                mean, variance = (getattr(vae.bn, key).view(1, -1, 1, 1) for key in ("running_mean", "running_var"))
                handed_on = (patches - mean) / torch.sqrt(variance + vae.config.batch_norm_eps)
                np.save(folder / "handed_on.npy", handed_on.numpy())
                self.check_decode(vae.decode(latent).sample, "--model", folder, "--weights", folder / "original.sft",
                                  "--latent", folder / "handed_on.npy", "--latent-scale", "model")

    def test_hunyuan_video_15_by_original_names(self):
        vae = AutoencoderKLHunyuanVideo15(latent_channels=8, block_out_channels=(16, 32, 32), layers_per_block=1,
                                          spatial_compression_ratio=4, temporal_compression_ratio=2).eval()
        for prefix in ("", "vae."):
            self.check_original_names("hunyuan", vae, HUNYUAN_VIDEO_15, prefix)

    def test_ltx_2_by_original_names(self):
        vae = with_random_statistics(AutoencoderKLLTX2Video(
            latent_channels=8, block_out_channels=(8, 16, 32), down_block_types=("LTX2VideoDownBlock3D",) * 3,
            layers_per_block=(1, 1, 1, 1), spatio_temporal_scaling=(True,) * 3, downsample_type=("spatiotemporal",) * 3,
            decoder_block_out_channels=(8, 16, 32), decoder_layers_per_block=(1, 1, 1, 1),
            decoder_spatio_temporal_scaling=(True,) * 3, decoder_inject_noise=(False,) * 4,
            upsample_residual=(True,) * 3, upsample_factor=(2,) * 3))
        back = convert_ltx2_vae_to_diffusers({renamed(key, LTX2): value for key, value in vae.state_dict().items()})
        self.assertLessEqual({key for key in vae.state_dict() if "encoder" not in key}, back.keys())
        for prefix in ("", "vae."):
            self.check_original_names("ltx2", vae, LTX2, prefix)

    def test_factors_that_the_config_lacks_are_those_of_diffusers_class(self):
        from diffusers import AutoencoderKLWan
        vae = AutoencoderKLWan(base_dim=8, z_dim=16, num_res_blocks=1).eval()
        folder = self.config_and_file("wan", vae, [], channels=16)
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
