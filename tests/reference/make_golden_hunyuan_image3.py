#!/usr/bin/env python3
"""Small decodes of HunyuanImage 3's VAE for tests/decoder/session/golden_test.cpp.

    build/venv/bin/python tests/reference/make_golden_hunyuan_image3.py [FOLDER]    # default: tests/data/golden

Each case is a folder hunyuan_image3*: config.json and the output expected.npy. Weights and latents are random, seeded as
in make_golden.py. Needs torch, diffusers and numpy, and no network.
"""

from golden_cases import make_all
from hunyuan_image3 import HunyuanImage3

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


if __name__ == "__main__":
    make_all(["hunyuan_image3"], (HunyuanImage3, config_of, CASES))
