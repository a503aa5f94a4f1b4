#!/usr/bin/env python3
"""Small decodes of SeedVR2's VAE for tests/decoder/session/golden_test.cpp.

    build/venv/bin/python tests/reference/make_golden_seedvr2.py [FOLDER]    # default: tests/data/golden

Each case is a folder seedvr2*: config.json and the output expected.npy. Weights and latents are random, seeded as in
make_golden.py. Needs torch, diffusers and numpy, and no network.
"""

from golden_cases import make_all
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


if __name__ == "__main__":
    make_all(["seedvr2"], (SeedVR2, config_of, CASES))
