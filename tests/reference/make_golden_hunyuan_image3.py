#!/usr/bin/env python3
"""Small decodes of HunyuanImage 3's VAE for tests/decoder/session/golden_test.cpp.

    build/venv/bin/python tests/reference/make_golden_hunyuan_image3.py [FOLDER]    # default: tests/data/golden

Each case is a folder hunyuan_image3*: config.json and the output expected.npy. Weights and latents are random, seeded as
in make_golden.py. Needs torch, diffusers and numpy, and no network.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import torch

from hunyuan_image3 import HunyuanImage3
from make_golden import LATENT_SEED, THREADS, WEIGHTS_SEED
from random_weights import fill_module, random_latent

# name: (latent shape, changes to the config)
CASES = {
    # The levels of the published decoder, narrower.
    "hunyuan_image3": ((1, 8, 3, 2), {"block_out_channels": [32, 32, 64, 64, 64], "latent_channels": 8, "ffactor_spatial": 16}),
    "hunyuan_image3_two_frames": ((2, 4, 5, 3), {"block_out_channels": [64, 32], "ffactor_spatial": 2, "ffactor_temporal": 2}),
    "hunyuan_image3_no_frames": ((1, 4, 3, 5), {"block_out_channels": [32, 32], "ffactor_spatial": 2, "ffactor_temporal": 1}),
    "hunyuan_image3_own_channels": ((1, 4, 3, 5), {"upsample_match_channel": False, "out_channels": 1, "layers_per_block": 0}),
}


def config_of(changes):
    return {
        "_class_name": "AutoencoderKLConv3D",
        "block_out_channels": [32, 64, 64],
        "ffactor_spatial": 4,
        "ffactor_temporal": 4,
        "latent_channels": 4,
        "layers_per_block": 1,
        "out_channels": 3,
        **changes,
    }


def make(folder, shape, config):
    model = fill_module(HunyuanImage3(config), WEIGHTS_SEED).eval()
    with torch.inference_mode():
        picture = model.decode(torch.from_numpy(random_latent(shape, LATENT_SEED))).numpy()
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    np.save(folder / "expected.npy", np.ascontiguousarray(picture))


def main():
    torch.set_num_threads(THREADS)
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "data" / "golden")
    for folder in root.glob("hunyuan_image3*"):
        shutil.rmtree(folder)
    for name, (shape, changes) in CASES.items():
        make(root / name, shape, config_of(changes))
    total = sum(file.stat().st_size for file in root.glob("hunyuan_image3*/*"))
    print(f"{len(CASES)} cases, {total / 1024:.0f} KiB in {root}")


if __name__ == "__main__":
    main()
