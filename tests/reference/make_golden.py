#!/usr/bin/env python3
"""Makes small reference decodes by diffusers for tests/decoder/session/golden_test.cpp.

    build/venv/bin/python tests/reference/make_golden.py [FOLDER]    # default: tests/data/golden

Each case is a folder: config.json as diffusers writes it, the output expected.npy, and for some cases weights in one
of the ways in which they are stored. Without weights of its own a case has random ones, seed WEIGHTS_SEED; its latent
is random_latent with LATENT_SEED. Latents of videos are N×C×T×H×W; expected.npy is that too where there is more than
one frame, and N×C×H×W where there is one. The cases osp_*, seedvr2*, taehv*, taef2* and hunyuan_image3* are those of
make_golden_open_sora.py, make_golden_seedvr2.py, make_golden_tiny.py and make_golden_hunyuan_image3.py, and left alone.
Needs torch, diffusers 0.42.1, numpy and safetensors, and no network.
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
    AutoencoderKLCogVideoX,
    AutoencoderKLHunyuanImage,
    AutoencoderKLHunyuanImageRefiner,
    AutoencoderKLHunyuanVideo,
    AutoencoderKLHunyuanVideo15,
    AutoencoderKLLTX2Video,
    AutoencoderKLLTXVideo,
    AutoencoderKLQwenImage,
    AutoencoderKLQwenImage21,
    AutoencoderKLTemporalDecoder,
    AutoencoderKLWan,
    AutoencoderTiny,
)
from safetensors.torch import load_file, save_file

from random_weights import fill_module, random_latent

WEIGHTS_SEED = 11
LATENT_SEED = 12
MADE_ELSEWHERE = ("osp_", "seedvr2", "taehv", "taef2", "hunyuan_image3")

# name: (latent shape, weight format, changes to the config)
CASES = {
    "plain": ((2, 4, 7, 9), None, {"layers_per_block": 2, "norm_num_groups": 8}),
    "three_blocks_no_attention": (
        (1, 3, 5, 11),
        None,
        {"block_out_channels": [8, 24, 16], "latent_channels": 3, "mid_block_add_attention": False},
    ),
    "no_post_quant": ((1, 16, 6, 6), None, {"latent_channels": 16, "use_post_quant_conv": False, "use_quant_conv": False}),
    "relu_gray": ((1, 4, 9, 5), None, {"act_fn": "relu", "out_channels": 1}),
    "gelu": ((1, 4, 5, 5), None, {"act_fn": "gelu", "norm_num_groups": 1}),
    "mish_one_block": ((1, 4, 13, 7), None, {"act_fn": "mish", "block_out_channels": [16], "norm_num_groups": 16}),
    "sharded_old_names": ((1, 4, 6, 8), "sharded_old_names", {}),
    "stored_fp16": ((1, 4, 8, 5), "fp16", {}),
    "stored_bf16": ((1, 4, 5, 8), "bf16", {}),
}
# Cases of AutoencoderDC: name: (latent's shape, changes to the config). Attention takes the linear form if a head has
# fewer channels than there are positions. Otherwise it takes the quadratic form, as the two positions below do.
DC_CASES = {
    "dc_interpolate": ((2, 4, 5, 7), {}),
    "dc_shuffle": ((1, 4, 3, 5), {"upsample_block_type": "pixel_shuffle", "decoder_in_shortcut": False}),
    "dc_quadratic": ((2, 4, 1, 2), {"attention_head_dim": 8, "decoder_qkv_multiscales": [[], [], [3, 5]]}),
    "dc_batch_norm": (
        (1, 8, 4, 3),
        {
            "latent_channels": 8,
            "decoder_layers_per_block": [0, 1, 2],
            "decoder_norm_types": ["batch_norm", "batch_norm", "batch_norm"],
            "decoder_act_fns": ["relu", "relu", "gelu"],
            "upsample_block_type": "pixel_shuffle",
            "decoder_conv_act_fn": "silu",
        },
    ),
    "dc_all_residual": (
        (1, 4, 6, 3),
        {"decoder_block_types": "ResBlock", "decoder_layers_per_block": [0, 1, 1], "decoder_act_fns": "mish"},
    ),
    "dc_odd_heads": (
        (1, 4, 7, 4),
        {"decoder_block_out_channels": [12, 24, 48], "attention_head_dim": 5, "decoder_qkv_multiscales": [[], [7], []],
         "decoder_block_types": ["ResBlock", "EfficientViTBlock", "EfficientViTBlock"], "in_channels": 1},
    ),
}
# Cases of AutoencoderKLWan and AutoencoderKLQwenImage: name: (latent's shape, changes to the config).
WAN_CASES = {
    "wan_default": ((1, 16, 3, 3, 2), {"z_dim": 16, "dim_mult": [1, 2, 4, 4], "num_res_blocks": 2}),
    "wan_one_frame": ((2, 4, 1, 5, 3), {"temperal_downsample": [True, True]}),
    "wan_two_frames": ((2, 4, 2, 3, 5), {"base_dim": 16, "temperal_downsample": [True, True]}),
    "wan_five_frames": ((1, 3, 5, 7, 5), {"z_dim": 3, "dim_mult": [2, 1], "temperal_downsample": [True]}),
    "wan_time_last": ((1, 4, 3, 3, 5), {"dim_mult": [1, 2, 3], "temperal_downsample": [True, False]}),
    # 27 channels, which the upsampling halves to 13.
    "wan_odd_channels": ((1, 5, 3, 5, 3), {"decoder_base_dim": 9, "z_dim": 5, "dim_mult": [1, 3, 3]}),
    "wan_no_time": ((1, 4, 2, 5, 7), {"dim_mult": [1, 1], "temperal_downsample": [False], "out_channels": 1}),
    "wan_twelve_channels": ((1, 4, 2, 3, 1), {"dim_mult": [1, 2], "temperal_downsample": [True], "out_channels": 12}),
}
# Cases of AutoencoderKLWan whose channels torch's pixel_shuffle turns into pixels. The config's key pixel_shuffle is
# Headroom's own: diffusers returns the channels, as in the last of WAN_CASES.
WAN_UPSCALE_CASES = {
    "wan_upscale": ((1, 16, 1, 2, 3), 2, {"z_dim": 16, "dim_mult": [1, 2, 4, 4], "num_res_blocks": 2, "out_channels": 12}),
    "wan_upscale_three_frames": ((2, 4, 3, 3, 1), 2, {"out_channels": 12}),
    "wan_upscale_by_three": ((1, 4, 5, 1, 3), 3, {"out_channels": 18, "dim_mult": [1, 2], "temperal_downsample": [True]}),
}
# Wan 2.2: patches, and shortcuts around all blocks of a resolution. These repeat channels 8, 4 or 2 times.
WAN_22 = {"is_residual": True, "patch_size": 2, "out_channels": 12, "decoder_base_dim": 8, "base_dim": 4}
WAN_22_CASES = {
    "wan22_default": (
        (1, 6, 2, 1, 2),
        {**WAN_22, "z_dim": 6, "dim_mult": [1, 2, 4, 4], "num_res_blocks": 2, "temperal_downsample": [False, True, True]},
    ),
    "wan22_one_frame": ((2, 4, 1, 3, 5), {**WAN_22, "temperal_downsample": [True, True]}),
    "wan22_three_frames": ((1, 4, 3, 3, 2), {**WAN_22, "temperal_downsample": [True, False]}),
    "wan22_without_patches": (
        (1, 4, 2, 2, 3),
        {**WAN_22, "patch_size": None, "out_channels": 3, "dim_mult": [1, 1, 4, 4], "temperal_downsample": [True, True, False]},
    ),
    "wan22_patches_alone": (
        (1, 4, 2, 3, 2),
        {"is_residual": False, "patch_size": 3, "out_channels": 18, "dim_mult": [1, 2], "temperal_downsample": [True]},
    ),
}
# Cases of AutoencoderKLQwenImage21, which decodes single pictures.
QWEN_21_CASES = {
    "qwen21_default": (
        (1, 6, 1, 2, 3),
        {"z_dim": 6, "base_dim": 4, "decoder_base_dim": 8, "dim_mult": [1, 2, 4, 8, 8], "num_res_blocks": 2,
         "temperal_downsample": [False, True, True, True]},
    ),
    "qwen21_two": ((2, 4, 1, 5, 3), {"decoder_base_dim": None, "temperal_downsample": [True, False], "out_channels": 3}),
}
QWEN_CASES = {
    "qwen_picture": ((1, 16, 1, 3, 5), {"z_dim": 16, "dim_mult": [1, 2, 4, 4], "num_res_blocks": 2}),
    "qwen_clip": ((1, 4, 3, 5, 3), {"temperal_downsample": [False, True]}),
    "qwen_layers": ((2, 4, 2, 3, 3), {"input_channels": 4, "dim_mult": [1, 2, 2], "temperal_downsample": [True, True]}),
}
# Cases of AutoencoderTiny and AutoencoderKLHunyuanImage: name: (latent's shape, changes to the config).
TINY_CASES = {
    "tiny_default": ((2, 4, 5, 7), {"num_decoder_blocks": [3, 3, 3, 1]}),
    "tiny_silu": ((1, 16, 4, 6), {"act_fn": "silu", "latent_channels": 16, "num_decoder_blocks": [1, 2], "out_channels": 1}),
    "tiny_by_three": ((1, 4, 3, 2), {"upsampling_scaling_factor": 3, "num_decoder_blocks": [0, 1]}),
}
HUNYUAN_IMAGE_CASES = {
    "hunyuan_image": ((2, 8, 3, 5), {}),
    "hunyuan_image_coarse": ((1, 4, 5, 3), {"latent_channels": 4, "block_out_channels": [32, 32, 64], "spatial_compression_ratio": 2}),
    "hunyuan_image_one_width": (
        (1, 8, 2, 3),
        {"block_out_channels": [32, 32], "upsample_match_channel": False, "downsample_match_channel": False, "out_channels": 1},
    ),
}
# Cases of AutoencoderKLHunyuanVideo: name: (latent's shape, changes to the config).
HUNYUAN_VIDEO_CASES = {
    "hunyuan_video": (
        (1, 16, 2, 1, 2),
        {"latent_channels": 16, "block_out_channels": [8, 16, 24, 24], "layers_per_block": 2, "spatial_compression_ratio": 8},
    ),
    "hunyuan_video_one_frame": ((2, 4, 1, 3, 5), {}),
    "hunyuan_video_three_frames": ((2, 4, 3, 3, 2), {}),
    "hunyuan_video_five_frames": ((1, 4, 5, 1, 1), {}),
    # The last upsampling affects frames only.
    "hunyuan_video_time_alone": ((1, 4, 3, 5, 3), {"spatial_compression_ratio": 2}),
    "hunyuan_video_no_attention": (
        (1, 3, 2, 3, 5),
        {"latent_channels": 3, "block_out_channels": [8, 16], "spatial_compression_ratio": 2, "norm_num_groups": 8,
         "mid_block_add_attention": False, "act_fn": "relu", "out_channels": 1},
    ),
}
# Cases of AutoencoderKLHunyuanVideo15: name: (latent's shape, changes to the config). An upsampling in time repeats
# channels half as often for the first frame as for later frames: 4 times for 8, 2 for 4, 1 for 2.
HUNYUAN_VIDEO_15_CASES = {
    "hunyuan_video_15": (
        (1, 8, 2, 1, 1),
        {"latent_channels": 8, "block_out_channels": [8, 16, 16, 32, 32], "layers_per_block": 2,
         "spatial_compression_ratio": 16},
    ),
    "hunyuan_video_15_one_frame": ((1, 4, 1, 3, 5), {}),
    "hunyuan_video_15_three_frames": ((1, 4, 3, 3, 2), {"block_out_channels": [8, 8, 32]}),
    "hunyuan_video_15_nine_frames": ((1, 4, 9, 1, 1), {}),
    "hunyuan_video_15_own_channels": (
        (1, 4, 2, 3, 1),
        {"upsample_match_channel": False, "downsample_match_channel": False, "block_out_channels": [8, 24, 16]},
    ),
    # Upsampling of frames always doubles rows and columns too, even beyond the spatial compression ratio.
    "hunyuan_video_15_time_longer": ((1, 4, 3, 2, 3), {"spatial_compression_ratio": 2, "out_channels": 1}),
    "hunyuan_video_15_space_alone": ((1, 4, 2, 3, 5), {"temporal_compression_ratio": 1, "layers_per_block": 0}),
}
# Cases of AutoencoderKLHunyuanImageRefiner: name: (latent's shape, changes to the config). It makes no frames, whatever its
# temporal compression ratio is.
HUNYUAN_IMAGE_REFINER_CASES = {
    "hunyuan_image_refiner": (
        (1, 8, 1, 1, 2),
        {"latent_channels": 8, "block_out_channels": [8, 16, 16, 32, 32], "layers_per_block": 2,
         "spatial_compression_ratio": 16},
    ),
    "hunyuan_image_refiner_two_frames": ((2, 4, 2, 3, 1), {}),
    "hunyuan_image_refiner_three_frames": ((1, 4, 3, 3, 5), {"block_out_channels": [8, 8, 32]}),
    "hunyuan_image_refiner_five_frames": (
        (2, 4, 5, 1, 3),
        {"upsample_match_channel": False, "downsample_match_channel": False, "block_out_channels": [8, 24, 16],
         "temporal_compression_ratio": 2, "out_channels": 1},
    ),
}
# Cases of AutoencoderKLLTX2Video and AutoencoderKLLTXVideo: name: (latent's shape, changes to the config). By default
# kernels look one frame ahead, pictures are reflected at their edges, and upsamplings have a shortcut.
LTX_2_CASES = {
    "ltx2": (
        (1, 8, 2, 2, 2),
        {"latent_channels": 8, "decoder_block_out_channels": [32, 64, 128], "decoder_layers_per_block": [1, 1, 1, 1], "patch_size": 1},
    ),
    "ltx2_one_frame": ((2, 4, 1, 2, 3), {}),
    "ltx2_two_frames": ((1, 4, 2, 2, 3), {"decoder_layers_per_block": [2, 0, 1], "patch_size": 2}),
    "ltx2_nine_frames": ((1, 4, 9, 2, 2), {"patch_size": 1, "decoder_layers_per_block": [1, 1, 1]}),
    "ltx2_causal": ((1, 4, 5, 3, 2), {"decoder_causal": True, "patch_size": 2, "out_channels": 1}),
    "ltx2_zeros": ((1, 4, 4, 2, 3), {"decoder_spatial_padding_mode": "zeros", "patch_size": 2, "upsample_residual": False}),
    # The layout of LTX-2.3, with a resolution that does not upsample.
    "ltx2_kinds": (
        (1, 6, 2, 2, 2),
        {"latent_channels": 6, "decoder_block_out_channels": [32, 32, 64, 64, 32], "decoder_layers_per_block": [1, 0, 1, 0, 1, 1],
         "decoder_spatio_temporal_scaling": [True, True, True, True, False], "upsample_residual": [True, True, False, True, False],
         "upsample_type": ["spatial", "spatiotemporal", "spatiotemporal", "temporal", "spatial"],
         "upsample_factor": [2, 1, 2, 1, 1], "patch_size": 1},
    ),
    # Residual blocks that change the number of channels.
    "ltx2_widths": (
        (1, 4, 3, 3, 3),
        {"decoder_block_out_channels": [8, 24], "upsample_factor": [1, 1], "upsample_residual": [False, True], "patch_size": 1},
    ),
}
LTX_CASES = {
    "ltx": (
        (1, 8, 2, 1, 2),
        {"latent_channels": 8, "decoder_block_out_channels": [8, 16, 24, 24], "patch_size": 2, "decoder_layers_per_block": [1, 1, 1, 1, 1],
         "decoder_spatio_temporal_scaling": [True, True, True, False]},
    ),
    "ltx_one_frame": ((2, 4, 1, 3, 2), {}),
    "ltx_causal": ((1, 4, 4, 3, 1), {"decoder_causal": True, "patch_size": 2}),
    # LTX-Video 0.9.5 without its timestep input.
    "ltx_residual": (
        (1, 4, 3, 2, 2),
        {"decoder_block_out_channels": [16, 32], "upsample_residual": [True, True], "upsample_factor": [2, 2], "patch_size": 2},
    ),
}
# Encoders are small, because no decode reads them.
ENCODER_OF_LTX = {"block_out_channels": [8, 8, 8, 8], "layers_per_block": [1, 1, 1, 1, 1]}
THREADS = 2  # rounding of sums depends on the number of threads
OLD_NAMES = {"to_q": "query", "to_k": "key", "to_v": "value", "to_out.0": "proj_attn"}


# Frames are decoded in runs of two latent frames, and the first run has one more.
COGVIDEOX_CASES = {
    "cogvideox": ((1, 4, 5, 3, 2), {}),
    "cogvideox_one_frame": ((2, 4, 1, 3, 5), {}),
    "cogvideox_one_run": ((2, 3, 3, 2, 3), {"latent_channels": 3, "block_out_channels": [8, 16], "temporal_compression_ratio": 2}),
    "cogvideox_no_frames": (
        (1, 4, 7, 3, 3),
        {"block_out_channels": [16, 8], "temporal_compression_ratio": 1, "layers_per_block": 0, "act_fn": "mish", "out_channels": 1},
    ),
}


# Cases of AutoencoderKLTemporalDecoder: name: (latent's shape, changes to the config). A batch of clips follows one clip
# after another there.
TEMPORAL_DECODER_CASES = {
    "svd": ((1, 4, 4, 3, 2), {"block_out_channels": [32, 32, 64]}),
    "svd_one_frame": ((2, 4, 1, 3, 5), {}),
    "svd_two_clips": ((2, 3, 2, 2, 5), {"latent_channels": 3, "block_out_channels": [32, 96], "out_channels": 1}),
    # No attention, since there is no second block in the middle.
    "svd_one_layer": ((1, 4, 3, 5, 3), {"block_out_channels": [64], "layers_per_block": 1}),
    "svd_three_layers": ((1, 4, 5, 3, 3), {"block_out_channels": [32], "layers_per_block": 3}),
}


def config_of(changes):
    config = {
        "block_out_channels": [8, 16],
        "latent_channels": 4,
        "out_channels": 3,
        "layers_per_block": 1,
        "norm_num_groups": 4,
        "act_fn": "silu",
    }
    config.update(changes)
    blocks = len(config["block_out_channels"])
    config["up_block_types"] = ["UpDecoderBlock2D"] * blocks
    config["down_block_types"] = ["DownEncoderBlock2D"] * blocks
    return config


def dc_config_of(changes):
    config = {
        "latent_channels": 4,
        "attention_head_dim": 4,
        "decoder_block_types": ["ResBlock", "ResBlock", "EfficientViTBlock"],
        "decoder_block_out_channels": [8, 16, 16],
        "decoder_layers_per_block": [1, 2, 2],
        "decoder_qkv_multiscales": [[], [], [5]],
        "decoder_norm_types": "rms_norm",
        "decoder_act_fns": "silu",
        "upsample_block_type": "interpolate",
        "scaling_factor": 0.41407,
    }
    config.update(changes)
    # The encoder is not used; it only has to be there.
    config["encoder_block_types"] = "ResBlock"
    config["encoder_block_out_channels"] = [8 * config["latent_channels"]] * len(config["decoder_block_out_channels"])
    config["encoder_layers_per_block"] = [1] * len(config["decoder_block_out_channels"])
    config["encoder_qkv_multiscales"] = [[]] * len(config["decoder_block_out_channels"])
    return config


def video_config_of(changes):
    config = {
        "base_dim": 8,
        "z_dim": 4,
        "dim_mult": [1, 2, 2],
        "num_res_blocks": 1,
        "attn_scales": [],
        "temperal_downsample": [False, True, True],
    }
    config.update(changes)
    config["temperal_downsample"] = config["temperal_downsample"][: len(config["dim_mult"]) - 1]
    config["latents_mean"] = [0.0] * config["z_dim"]
    config["latents_std"] = [1.0] * config["z_dim"]
    return config


def tiny_config_of(changes):
    config = {"num_decoder_blocks": [1, 1], "latent_channels": 4, **changes}
    stages = len(config["num_decoder_blocks"])
    config["decoder_block_out_channels"] = [8] * stages
    # The encoder is not used; it only has to be there.
    config["encoder_block_out_channels"] = [8] * stages
    config["num_encoder_blocks"] = [1] * stages
    return config


def hunyuan_image_config_of(changes):
    return {
        "in_channels": 3,
        "out_channels": 3,
        "latent_channels": 8,
        "block_out_channels": [32, 64, 64],
        "layers_per_block": 1,
        "spatial_compression_ratio": 4,
        "sample_size": 64,
        "scaling_factor": 0.75,
        **changes,
    }


def hunyuan_video_config_of(changes):
    config = {
        "latent_channels": 4,
        "block_out_channels": [8, 16, 16],
        "layers_per_block": 1,
        "norm_num_groups": 4,
        "spatial_compression_ratio": 4,
        **changes,
    }
    blocks = len(config["block_out_channels"])
    config["up_block_types"] = ["HunyuanVideoUpBlock3D"] * blocks
    config["down_block_types"] = ["HunyuanVideoDownBlock3D"] * blocks
    return config


def hunyuan_video_15_config_of(changes):
    return {
        "latent_channels": 4,
        "block_out_channels": [8, 16, 16],
        "layers_per_block": 1,
        "spatial_compression_ratio": 4,
        "temporal_compression_ratio": 4,
        **changes,
    }


def ltx_2_config_of(changes):
    config = {
        "latent_channels": 4,
        "decoder_block_out_channels": [16, 32],
        "decoder_layers_per_block": [1, 1, 1],
        **changes,
    }
    stages = len(config["decoder_block_out_channels"])
    config.setdefault("decoder_spatio_temporal_scaling", [True] * stages)
    config.setdefault("decoder_inject_noise", [False] * (stages + 1))
    config.setdefault("upsample_type", ["spatiotemporal"] * stages)
    config.setdefault("upsample_residual", [True] * stages)
    config.setdefault("upsample_factor", [2] * stages)
    config.setdefault("decoder_causal", False)
    return config | ENCODER_OF_LTX | {"down_block_types": ["LTX2VideoDownBlock3D"] * 4}


def ltx_config_of(changes):
    config = {
        "latent_channels": 4,
        "decoder_block_out_channels": [8, 16],
        "decoder_layers_per_block": [1, 1, 1],
        **changes,
    }
    stages = len(config["decoder_block_out_channels"])
    config.setdefault("decoder_spatio_temporal_scaling", [True] * stages)
    config.setdefault("decoder_inject_noise", [False] * (stages + 1))
    config.setdefault("upsample_residual", [False] * stages)
    config.setdefault("upsample_factor", [1] * stages)
    return config | ENCODER_OF_LTX | {"down_block_types": ["LTXVideoDownBlock3D"] * 4}


def cogvideox_config_of(changes):
    config = {"latent_channels": 4, "block_out_channels": [8, 8, 16], "layers_per_block": 1, "norm_num_groups": 4, **changes}
    blocks = len(config["block_out_channels"])
    return {**config, "up_block_types": ["CogVideoXUpBlock3D"] * blocks, "down_block_types": ["CogVideoXDownBlock3D"] * blocks}


def temporal_decoder_config_of(changes):
    config = {"latent_channels": 4, "block_out_channels": [32, 64], "layers_per_block": 2, **changes}
    return {**config, "down_block_types": ["DownEncoderBlock2D"] * len(config["block_out_channels"])}


def with_old_names(folder):
    """Gives the attention's tensors their names from before diffusers 0.18, in every shard and in the index."""

    def old(name):
        for now, before in OLD_NAMES.items():
            if ".attentions." in name:
                name = name.replace(f".{now}.", f".{before}.")
        return name

    for shard in sorted(folder.glob("*.safetensors")):
        tensors = load_file(shard)
        save_file({old(name): tensor for name, tensor in tensors.items()}, shard, metadata={"format": "pt"})
    index = folder / "diffusion_pytorch_model.safetensors.index.json"
    document = json.loads(index.read_text())
    document["weight_map"] = {old(name): shard for name, shard in document["weight_map"].items()}
    index.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")


def load(folder):
    """Loads a saved model by diffusers in fp32."""
    return AutoencoderKL.from_pretrained(folder, torch_dtype=torch.float32, low_cpu_mem_usage=False)


def store(vae, folder, how):
    """Saves the model and returns it as diffusers loads it."""
    if how != "sharded_old_names":
        vae.to(torch.float16 if how == "fp16" else torch.bfloat16).save_pretrained(folder)
        return load(folder)
    vae.save_pretrained(folder, max_shard_size="60KB")
    loaded = load(folder)  # load before renaming: diffusers accepts old names only in single files
    with_old_names(folder)
    return loaded


def make(folder, shape, how, changes):
    torch.manual_seed(0)  # for the unused weights of the encoder, which are saved too
    vae = fill_module(AutoencoderKL(**config_of(changes)), WEIGHTS_SEED).eval()
    folder.mkdir(parents=True)
    if how is None:
        vae.save_config(folder)
    else:
        vae = store(vae, folder, how).eval()
    with torch.no_grad():
        picture = vae.decode(torch.from_numpy(random_latent(shape, LATENT_SEED))).sample
    np.save(folder / "expected.npy", picture.numpy())


def make_picture(vae, folder, shape):
    vae = fill_module(vae, WEIGHTS_SEED).eval()
    folder.mkdir(parents=True)
    vae.save_config(folder)
    with torch.no_grad():
        picture = vae.decode(torch.from_numpy(random_latent(shape, LATENT_SEED))).sample
    np.save(folder / "expected.npy", picture.numpy())


def make_video(vae, folder, shape):
    vae = fill_module(vae, WEIGHTS_SEED).eval()
    vae.use_framewise_decoding = False  # otherwise HunyuanVideo blends overlapping chunks of frames
    folder.mkdir(parents=True)
    vae.save_config(folder)
    with torch.no_grad():
        clip = vae.decode(torch.from_numpy(random_latent(shape, LATENT_SEED))).sample.numpy()
    np.save(folder / "expected.npy", np.ascontiguousarray(clip[:, :, 0] if clip.shape[2] == 1 else clip))


def make_clip_of_batch(vae, folder, shape):
    """A class whose decode takes the frames as a batch."""
    vae = fill_module(vae, WEIGHTS_SEED).eval()
    folder.mkdir(parents=True)
    vae.save_config(folder)
    frames = torch.from_numpy(random_latent(shape, LATENT_SEED)).transpose(1, 2).flatten(0, 1)
    with torch.no_grad():
        clip = vae.decode(frames, num_frames=shape[2]).sample.unflatten(0, (shape[0], shape[2])).transpose(1, 2)
    np.save(folder / "expected.npy", (clip[:, :, 0] if shape[2] == 1 else clip).contiguous().numpy())


def shuffle_pixels(folder, side):
    """Turns the channels of a video case into pixels, and says so in its config."""
    channels = torch.from_numpy(np.load(folder / "expected.npy"))
    by_frame = channels if channels.ndim == 4 else channels.movedim(2, 1)
    pixels = torch.nn.functional.pixel_shuffle(by_frame, side)
    np.save(folder / "expected.npy", (pixels if channels.ndim == 4 else pixels.movedim(1, 2)).contiguous().numpy())
    config = json.loads((folder / "config.json").read_text()) | {"pixel_shuffle": side}
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def main():
    torch.set_num_threads(THREADS)
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "data" / "golden")
    for folder in root.glob("*"):
        if not folder.name.startswith(MADE_ELSEWHERE):
            shutil.rmtree(folder)
    for name, (shape, how, changes) in CASES.items():
        make(root / name, shape, how, changes)
    for name, (shape, changes) in DC_CASES.items():
        make_picture(AutoencoderDC(**dc_config_of(changes)), root / name, shape)
    for name, (shape, changes) in TINY_CASES.items():
        make_picture(AutoencoderTiny(**tiny_config_of(changes)), root / name, shape)
    for name, (shape, changes) in HUNYUAN_IMAGE_CASES.items():
        make_picture(AutoencoderKLHunyuanImage(**hunyuan_image_config_of(changes)), root / name, shape)
    for family, cases in (
        (AutoencoderKLWan, WAN_CASES | WAN_22_CASES),
        (AutoencoderKLQwenImage, QWEN_CASES),
        (AutoencoderKLQwenImage21, QWEN_21_CASES),
    ):
        for name, (shape, changes) in cases.items():
            make_video(family(**video_config_of(changes)), root / name, shape)
    for name, (shape, side, changes) in WAN_UPSCALE_CASES.items():
        make_video(AutoencoderKLWan(**video_config_of(changes)), root / name, shape)
        shuffle_pixels(root / name, side)
    for name, (shape, changes) in HUNYUAN_VIDEO_CASES.items():
        make_video(AutoencoderKLHunyuanVideo(**hunyuan_video_config_of(changes)), root / name, shape)
    for name, (shape, changes) in HUNYUAN_VIDEO_15_CASES.items():
        make_video(AutoencoderKLHunyuanVideo15(**hunyuan_video_15_config_of(changes)), root / name, shape)
    for name, (shape, changes) in HUNYUAN_IMAGE_REFINER_CASES.items():
        make_video(AutoencoderKLHunyuanImageRefiner(**hunyuan_video_15_config_of(changes)), root / name, shape)
    for name, (shape, changes) in LTX_2_CASES.items():
        make_video(AutoencoderKLLTX2Video(**ltx_2_config_of(changes)), root / name, shape)
    for name, (shape, changes) in LTX_CASES.items():
        make_video(AutoencoderKLLTXVideo(**ltx_config_of(changes)), root / name, shape)
    for name, (shape, changes) in COGVIDEOX_CASES.items():
        make_video(AutoencoderKLCogVideoX(**cogvideox_config_of(changes)), root / name, shape)
    for name, (shape, changes) in TEMPORAL_DECODER_CASES.items():
        make_clip_of_batch(AutoencoderKLTemporalDecoder(**temporal_decoder_config_of(changes)), root / name, shape)
    made = [folder for folder in root.iterdir() if not folder.name.startswith(MADE_ELSEWHERE)]
    total = sum(file.stat().st_size for folder in made for file in folder.iterdir())
    print(f"{len(made)} cases, {total / 1024:.0f} KiB in {root}")


if __name__ == "__main__":
    main()
