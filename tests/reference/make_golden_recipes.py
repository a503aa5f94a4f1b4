#!/usr/bin/env python3
"""Small decodes of diffusers by its own tiles for tests/decoder/session/recipe_test.cpp.

    build/venv/bin/python tests/reference/make_golden_recipes.py [FOLDER]    # default: tests/data/golden_recipes

Each case is a folder: config.json as diffusers writes it, recipe.json with the name of the recipe and the settings of
tiles that the class is given where it takes some, and the output expected.npy. Weights and latents are random, as those
of make_golden.py are. Needs torch, diffusers 0.42.1, numpy and safetensors, and no network.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import torch
from diffusers import (
    AutoencoderDC,
    AutoencoderKL,
    AutoencoderKLFlux2,
    AutoencoderKLHunyuanVideo,
    AutoencoderKLQwenImage,
    AutoencoderKLWan,
)

from make_golden import (
    LATENT_SEED,
    THREADS,
    WEIGHTS_SEED,
    config_of,
    dc_config_of,
    hunyuan_video_config_of,
    video_config_of,
)
from random_weights import fill_module, random_latent

TILING, FRAMEWISE = "diffusers-tiling", "diffusers-framewise"

# name: (latent's shape, changes to the config). Tiles have the model's own size, overlapping by a quarter.
KL_CASES = {
    # Tiles of 8 latent positions, every 6: along both axes, the last ones of 1 and 3.
    "kl_both_axes": ((2, 4, 13, 21), {"sample_size": 16}),
    # Tiles of 4, every 3: rows are cut although a tile would hold them.
    "kl_rows_that_fit": ((1, 3, 4, 11), {"sample_size": 16, "block_out_channels": [8, 12, 16], "latent_channels": 3}),
    "kl_small_enough": ((1, 4, 8, 7), {"sample_size": 16}),
    "kl_one_axis": ((1, 4, 3, 10), {"sample_size": 16, "out_channels": 1}),
}
FLUX2_CASES = {"flux2": ((1, 4, 5, 9), {"sample_size": 16})}
# name: (latent's shape, changes to the config, settings of tiles).
SQUARE = {"tile_sample_min_height": 16, "tile_sample_min_width": 16,
          "tile_sample_stride_height": 12, "tile_sample_stride_width": 12}
WAN_CASES = {
    "wan_clip": ((1, 4, 3, 7, 9), {"scale_factor_spatial": 4}, SQUARE),
    "wan_picture": ((2, 4, 1, 5, 4), {"scale_factor_spatial": 4}, SQUARE),
    "wan_narrow": (
        (1, 4, 2, 5, 8),
        {"scale_factor_spatial": 4},
        {**SQUARE, "tile_sample_min_width": 24, "tile_sample_stride_width": 8},
    ),
    # Blends patches of two pixels.
    "wan22_clip": (
        (1, 4, 2, 5, 6),
        {"scale_factor_spatial": 8, "is_residual": True, "patch_size": 2, "out_channels": 12, "decoder_base_dim": 8,
         "base_dim": 4, "temperal_downsample": [True, True]},
        {**SQUARE, "tile_sample_min_height": 32, "tile_sample_min_width": 32,
         "tile_sample_stride_height": 24, "tile_sample_stride_width": 16},
    ),
}
# Blended tiles are not clamped; a clip that is not cut is.
QWEN_CASES = {
    "qwen_clip": ((1, 4, 2, 7, 5), {}, SQUARE),
    "qwen_picture": ((2, 4, 1, 4, 6), {}, {**SQUARE, "tile_sample_stride_height": 8, "tile_sample_stride_width": 8}),
    "qwen_small_enough": ((1, 4, 2, 4, 3), {}, SQUARE),
}
# Overlapping by an eighth, as by default, and by half.
DC_CASES = {
    "dc_both_axes": (
        (1, 4, 9, 11),
        {},
        {"tile_sample_min_height": 32, "tile_sample_min_width": 32,
         "tile_sample_stride_height": 28, "tile_sample_stride_width": 28},
    ),
    "dc_shuffle": (
        (2, 4, 4, 7),
        {"upsample_block_type": "pixel_shuffle"},
        {**SQUARE, "tile_sample_stride_height": 8, "tile_sample_stride_width": 8},
    ),
}
# name: (recipe, latent's shape, changes to the config, settings of tiles).
HUNYUAN_VIDEO_CASES = {
    # 4 frames at most are not cut; of more, tiles of 5, every 3.
    "hunyuan_four_frames": (FRAMEWISE, (1, 4, 4, 2, 1), {}, {}),
    "hunyuan_five_frames": (FRAMEWISE, (1, 4, 5, 1, 2), {}, {}),
    # The last tile would make a single frame, which is dropped.
    "hunyuan_seven_frames": (FRAMEWISE, (1, 4, 7, 2, 1), {}, {}),
    "hunyuan_eight_frames": (FRAMEWISE, (2, 4, 8, 1, 1), {}, {}),
    "hunyuan_nine_frames": (FRAMEWISE, (1, 4, 9, 1, 1), {}, {}),
    "hunyuan_tiles_of_three": (
        FRAMEWISE, (1, 4, 6, 1, 2), {}, {"tile_sample_min_num_frames": 12, "tile_sample_stride_num_frames": 4},
    ),
    "hunyuan_picture": (TILING, (1, 4, 1, 6, 5), {}, SQUARE),
    "hunyuan_all_axes": (TILING, (1, 4, 6, 5, 6), {}, SQUARE),
}


def make(vae, folder, recipe, shape, settings):
    vae = fill_module(vae, WEIGHTS_SEED).eval()
    if recipe == TILING:
        vae.enable_tiling(**settings)
    else:
        for name, value in settings.items():
            setattr(vae, name, value)
    folder.mkdir(parents=True)
    vae.save_config(folder)
    (folder / "recipe.json").write_text(json.dumps({"recipe": recipe, **settings}) + "\n")
    with torch.no_grad():
        output = vae.decode(torch.from_numpy(random_latent(shape, LATENT_SEED))).sample.numpy()
    one_frame = output.ndim == 5 and output.shape[2] == 1
    np.save(folder / "expected.npy", np.ascontiguousarray(output[:, :, 0] if one_frame else output))


def main():
    torch.set_num_threads(THREADS)
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "data" / "golden_recipes")
    shutil.rmtree(root, ignore_errors=True)
    for name, (shape, changes) in KL_CASES.items():
        make(AutoencoderKL(**config_of(changes)), root / name, TILING, shape, {})
    for name, (shape, changes) in FLUX2_CASES.items():
        make(AutoencoderKLFlux2(**config_of(changes)), root / name, TILING, shape, {})
    for name, (shape, changes, settings) in WAN_CASES.items():
        make(AutoencoderKLWan(**video_config_of(changes)), root / name, TILING, shape, settings)
    for name, (shape, changes, settings) in QWEN_CASES.items():
        make(AutoencoderKLQwenImage(**video_config_of(changes)), root / name, TILING, shape, settings)
    for name, (shape, changes, settings) in DC_CASES.items():
        make(AutoencoderDC(**dc_config_of(changes)), root / name, TILING, shape, settings)
    for name, (recipe, shape, changes, settings) in HUNYUAN_VIDEO_CASES.items():
        make(AutoencoderKLHunyuanVideo(**hunyuan_video_config_of(changes)), root / name, recipe, shape, settings)
    total = sum(file.stat().st_size for folder in root.iterdir() for file in folder.iterdir())
    print(f"{len(list(root.iterdir()))} cases, {total / 1024:.0f} KiB in {root}")


if __name__ == "__main__":
    main()
