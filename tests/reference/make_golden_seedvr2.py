#!/usr/bin/env python3
"""Small decodes of SeedVR2's VAE for tests/decoder/session/golden_test.cpp.

    build/venv/bin/python tests/reference/make_golden_seedvr2.py [FOLDER]    # default: tests/data/golden

Each case is a folder seedvr2*: config.json and the output expected.npy. Weights and latents are random, seeded as in
make_golden.py. Needs torch, diffusers and numpy, and no network.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import torch

from make_golden import LATENT_SEED, THREADS, WEIGHTS_SEED
from random_weights import fill_module, random_latent
from seedvr2 import SeedVR2

# name: (latent shape, changes to the config)
CASES = {
    # The levels of the published decoder, narrower.
    "seedvr2": ((1, 4, 2, 3, 2), {"block_out_channels": [4, 8, 16, 16]}),
    "seedvr2_one_frame": ((2, 4, 1, 5, 3), {}),
    "seedvr2_three_frames": ((2, 4, 3, 3, 5), {"layers_per_block": 2}),
    "seedvr2_five_frames": ((1, 3, 5, 3, 7), {"latent_channels": 3, "temporal_scale_num": 1, "norm_num_groups": 1}),
    "seedvr2_no_attention": ((1, 4, 2, 5, 3), {"attention": False, "use_post_quant_conv": True, "act_fn": "relu"}),
    "seedvr2_space_alone": ((1, 4, 3, 3, 5), {"block_out_channels": [8, 16], "temporal_scale_num": 0}),
}


def config_of(changes):
    config = {
        "_class_name": "VideoAutoencoderKLWrapper",
        "act_fn": "silu",
        "attention": True,
        "block_out_channels": [8, 16, 8],
        "latent_channels": 4,
        "layers_per_block": 1,
        "norm_num_groups": 4,
        "out_channels": 3,
        "temporal_scale_num": 2,
        "use_post_quant_conv": False,
    }
    config.update(changes)
    config["up_block_types"] = ["UpDecoderBlock3D"] * len(config["block_out_channels"])
    return config


def make(folder, shape, config):
    model = fill_module(SeedVR2(config), WEIGHTS_SEED).eval()
    with torch.inference_mode():
        clip = model.decode(torch.from_numpy(random_latent(shape, LATENT_SEED))).numpy()
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    np.save(folder / "expected.npy", np.ascontiguousarray(clip[:, :, 0] if clip.shape[2] == 1 else clip))


def main():
    torch.set_num_threads(THREADS)
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "data" / "golden")
    for folder in root.glob("seedvr2*"):
        shutil.rmtree(folder)
    for name, (shape, changes) in CASES.items():
        make(root / name, shape, config_of(changes))
    total = sum(file.stat().st_size for file in root.glob("seedvr2*/*"))
    print(f"{len(CASES)} cases, {total / 1024:.0f} KiB in {root}")


if __name__ == "__main__":
    main()
