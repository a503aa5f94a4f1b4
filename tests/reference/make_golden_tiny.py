#!/usr/bin/env python3
"""Small decodes of tiny decoders that diffusers does not have, for tests/decoder/session/golden_test.cpp.

    build/venv/bin/python tests/reference/make_golden_tiny.py [FOLDER]    # default: tests/data/golden

Each case is a folder taehv* or taef2*: config.json and the output expected.npy. Weights and latents are random, seeded as in
make_golden.py. Needs torch, diffusers and numpy, and no network.
"""

from golden_cases import make_all
from tiny_decoders import TAEF2, TAEHV

# name: (latent shape, changes to the config)
CASES = {
    # The levels of the published decoder, narrower.
    "taehv": ((1, 4, 2, 3, 2), {"decoder_block_out_channels": [16, 8, 6, 6], "num_decoder_blocks": [3, 3, 3]}),
    "taehv_one_frame": ((2, 4, 1, 3, 2), {}),
    "taehv_patches": ((1, 6, 2, 1, 3), {"latent_channels": 6, "patch_size": 2}),
    "taehv_all_double": ((1, 4, 3, 2, 1), {"decoder_time_upscale": [True, True, True], "patch_size": 2}),
    "taehv_all_double_one_frame": ((1, 4, 1, 2, 3), {"decoder_time_upscale": [True, True, True]}),
    "taehv_first_doubles": (
        (1, 4, 3, 3, 3),
        {"decoder_time_upscale": [True, False, False], "decoder_space_upscale": [True, False, True], "out_channels": 1},
    ),
    "taehv_still": ((1, 4, 2, 3, 2), {"decoder_time_upscale": [False, False, False]}),
}
TAEF2_CASES = {
    "taef2": ((1, 4, 5, 3), {"decoder_block_out_channels": [8] * 4, "num_decoder_blocks": [3, 3, 3, 1]}),
    "taef2_small": ((2, 6, 4, 7), {"latent_channels": 6, "num_decoder_blocks": [2, 0]}),
}


def taef2_config_of(changes):
    config = {
        "_class_name": "AutoencoderTiny",
        "decoder_block_out_channels": [12, 12],
        "latent_channels": 4,
        "num_decoder_blocks": [1, 1],
        "out_channels": 3,
        "use_midblock_gn": True,
    }
    return config | changes


def config_of(changes):
    config = {
        "_class_name": "TAEHV",
        "decoder_block_out_channels": [8, 6, 6, 4],
        "decoder_space_upscale": [True, True, True],
        "decoder_time_upscale": [False, True, True],
        "latent_channels": 4,
        "num_decoder_blocks": [1, 1, 2],
        "out_channels": 3,
        "patch_size": 1,
    }
    return config | changes


if __name__ == "__main__":
    make_all(["taehv", "taef2"], (TAEHV, config_of, CASES), (TAEF2, taef2_config_of, TAEF2_CASES))
