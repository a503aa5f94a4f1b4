#!/usr/bin/env python3
"""Small decodes of Open-Sora-Plan's CausalVAEModel for tests/decoder/session/golden_test.cpp.

    build/venv/bin/python tests/reference/make_golden_open_sora.py --source Open-Sora-Plan [FOLDER]

SOURCE is a clone of github.com/PKU-YuanGroup/Open-Sora-Plan with its tags; the default FOLDER is tests/data/golden.
Each case is a folder osp_*: config.json as the published ones are, and the output expected.npy. Weights and latents
are random, seeded as in make_golden.py. Needs torch, diffusers 0.42.1 and numpy, and no network.

The cases cover, as decoder_conv_in, decoder_conv_out and q_conv, CausalConv3d and Conv2d; as decoder_mid_resnet and
decoder_resnet_blocks ResnetBlock3D and ResnetBlock2D; as decoder_attention AttnBlock3D, AttnBlock3DFix and AttnBlock,
in the middle and by attn_resolutions; as decoder_spatial_upsample SpatialUpsample2x, Upsample and
Spatial2xTime2x3DUpsample, and Spatial2x3DUpsample; as decoder_temporal_upsample TimeUpsample2x and TimeUpsampleRes2x;
with and without use_quant_layer. osp_v1_0, osp_v1_1 and osp_v1_2 have the decoders of the published models, narrower.
Not covered are TimeUpsampleResAdv2x, LinAttnBlock and the classes with _GC, which train with checkpoints.
"""

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
import torch

from make_golden import LATENT_SEED, THREADS, WEIGHTS_SEED
from open_sora_plan import load_model_class
from random_weights import fill_module, random_latent

RES, FLAT = "ResnetBlock3D", "ResnetBlock2D"
UP, UP_FLAT, UP_LINEAR, UP_BOTH = "SpatialUpsample2x", "Upsample", "Spatial2x3DUpsample", "Spatial2xTime2x3DUpsample"
TIME, TIME_RES = "TimeUpsample2x", "TimeUpsampleRes2x"

# name: (latent shape, changes to the config of v1.0)
CASES = {
    "osp_v1_0": ((1, 4, 2, 3, 2), {"hidden_size_mult": [1, 2, 4, 4]}),
    "osp_v1_1": (
        (1, 4, 3, 2, 3),
        {
            "hidden_size_mult": [1, 2, 4, 4],
            "num_res_blocks": 2,
            "decoder_attention": "AttnBlock3DFix",
            "decoder_temporal_upsample": ["", "", TIME_RES, TIME_RES],
        },
    ),
    "osp_v1_2": (
        (1, 4, 3, 3, 2),
        {
            "hidden_size_mult": [1, 2, 4, 4],
            "num_res_blocks": 2,
            "decoder_attention": "AttnBlock3DFix",
            "decoder_spatial_upsample": ["", UP, UP_BOTH, UP_BOTH],
            "decoder_temporal_upsample": ["", "", "", ""],
            "use_quant_layer": True,
        },
    ),
    # AttnBlock3D confuses frames and channels. Five frames and 64 channels make its mix-up span both.
    "osp_mixed_frames": (
        (2, 3, 5, 3, 5),
        {
            "z_channels": 5,
            "embed_dim": 3,
            "decoder_resnet_blocks": [RES, RES],
            "decoder_spatial_upsample": ["", UP],
            "decoder_temporal_upsample": ["", TIME],
        },
    ),
    "osp_one_frame": (
        (1, 4, 1, 5, 3),
        {
            "decoder_attention": "AttnBlock3DFix",
            "decoder_resnet_blocks": [RES, RES, RES],
            "decoder_spatial_upsample": ["", UP, UP_BOTH],
            "decoder_temporal_upsample": ["", TIME_RES, ""],
            "hidden_size_mult": [1, 3, 2],
        },
    ),
    "osp_flat": (
        (1, 4, 3, 5, 3),
        {
            "q_conv": "Conv2d",
            "decoder_conv_in": "Conv2d",
            "decoder_conv_out": "Conv2d",
            "decoder_attention": "AttnBlock",
            "decoder_mid_resnet": FLAT,
            "decoder_resnet_blocks": [RES, FLAT, FLAT],
            "decoder_spatial_upsample": ["", UP_FLAT, UP_FLAT],
            "decoder_temporal_upsample": ["", "", TIME],
            "hidden_size_mult": [1, 2, 2],
        },
    ),
    "osp_one_flat_frame": (
        (2, 4, 1, 3, 7),
        {
            "decoder_attention": "AttnBlock",
            "decoder_mid_resnet": FLAT,
            "decoder_resnet_blocks": [FLAT, RES],
            "decoder_spatial_upsample": ["", UP_FLAT],
            "decoder_temporal_upsample": ["", TIME],
            "use_quant_layer": False,
        },
    ),
    "osp_attention_in_levels": (
        (1, 4, 2, 3, 5),
        {
            "attn_resolutions": [16, 32],
            "resolution": 32,
            "decoder_attention": "AttnBlock3DFix",
            "decoder_resnet_blocks": [RES, FLAT],
            "decoder_spatial_upsample": ["", UP_LINEAR],
            "decoder_temporal_upsample": [TIME_RES, TIME],
        },
    ),
    "osp_time_alone": (
        (1, 4, 5, 5, 7),
        {
            "hidden_size_mult": [1],
            "decoder_resnet_blocks": [RES],
            "decoder_spatial_upsample": [""],
            "decoder_temporal_upsample": [TIME_RES],
        },
    ),
}


def config_of(changes):
    """The encoder is not used: it only has to be there, and small."""
    config = {
        "hidden_size": 32,
        "z_channels": 4,
        "hidden_size_mult": [1, 2],
        "attn_resolutions": [],
        "dropout": 0.0,
        "resolution": 256,
        "double_z": True,
        "embed_dim": 4,
        "num_res_blocks": 1,
        "q_conv": "CausalConv3d",
        "decoder_conv_in": "CausalConv3d",
        "decoder_conv_out": "CausalConv3d",
        "decoder_attention": "AttnBlock3D",
        "decoder_resnet_blocks": [RES] * 4,
        "decoder_spatial_upsample": ["", UP, UP, UP],
        "decoder_temporal_upsample": ["", "", TIME, TIME],
        "decoder_mid_resnet": RES,
        "use_quant_layer": True,
    }
    config.update(changes)
    levels = len(config["hidden_size_mult"])
    config["encoder_conv_in"] = "Conv2d"
    config["encoder_conv_out"] = "Conv2d"
    config["encoder_attention"] = "AttnBlock"
    config["encoder_mid_resnet"] = FLAT
    config["encoder_resnet_blocks"] = [FLAT] * levels
    config["encoder_spatial_downsample"] = [""] * levels
    config["encoder_temporal_downsample"] = [""] * levels
    return config


def make(family, folder, shape, changes):
    config = config_of(changes)
    model = fill_module(family.from_config(config), WEIGHTS_SEED).eval()
    with torch.inference_mode():
        clip = model.decode(torch.from_numpy(random_latent(shape, LATENT_SEED))).numpy()
    folder.mkdir(parents=True)
    document = {"_class_name": "CausalVAEModel", **dict(sorted(config.items()))}
    (folder / "config.json").write_text(json.dumps(document, indent=2) + "\n")
    np.save(folder / "expected.npy", np.ascontiguousarray(clip[:, :, 0] if clip.shape[2] == 1 else clip))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True, help="clone of Open-Sora-Plan, with or without a checkout")
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parent.parent / "data" / "golden")
    args = parser.parse_args()
    torch.set_num_threads(THREADS)
    family = load_model_class(args.source)
    for folder in args.folder.glob("osp_*"):
        shutil.rmtree(folder)
    for name, (shape, changes) in CASES.items():
        make(family, args.folder / name, shape, changes)
    total = sum(file.stat().st_size for file in args.folder.glob("osp_*/*"))
    print(f"{len(CASES)} cases, {total / 1024:.0f} KiB in {args.folder}")


if __name__ == "__main__":
    main()
