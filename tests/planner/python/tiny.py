"""Pipelines of diffusers with tiny random components, built as diffusers' own tests build them. Text encoders are left out:
prompts come as embeddings."""

from __future__ import annotations

import logging
import os
import tempfile
import unittest

logging.disable(logging.WARNING)
os.environ.setdefault("DIFFUSERS_VERBOSITY", "error")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
_temporary = tempfile.TemporaryDirectory(prefix="headroom-test-")
tempfile.tempdir = _temporary.name  # limit="auto" locks a file in it: tests that run at the same time must not warn of each other

import diffusers  # noqa: E402
import torch  # noqa: E402
from headroom_vae.latents import sample_of  # noqa: E402

diffusers.utils.logging.set_verbosity_error()


class Case(unittest.TestCase):
    """Tests run without gradients."""

    def setUp(self):
        without_gradients = torch.no_grad()
        without_gradients.__enter__()
        self.addCleanup(without_gradients.__exit__, None, None, None)

    def assert_close(self, ours, theirs, largest=1e-4):
        self.assertEqual(ours.shape, theirs.shape)
        self.assertLessEqual(float((ours.float() - theirs.float()).abs().max()), largest * float(theirs.float().abs().max()))


def latent(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def seeded(make, *args, seed: int = 0, **config):
    torch.manual_seed(seed)
    return make(*args, **config).eval()


def kl(**config):
    config = {
        "block_out_channels": (32, 64),
        "in_channels": 3,
        "out_channels": 3,
        "down_block_types": ("DownEncoderBlock2D", "DownEncoderBlock2D"),
        "up_block_types": ("UpDecoderBlock2D", "UpDecoderBlock2D"),
        "latent_channels": 4,
        "layers_per_block": 1,
        **config,
    }
    return seeded(diffusers.AutoencoderKL, **config)


def asymmetric(**config):
    config = {
        "down_block_out_channels": (32, 64),
        "down_block_types": ("DownEncoderBlock2D",) * 2,
        "up_block_out_channels": (32, 64),
        "up_block_types": ("UpDecoderBlock2D",) * 2,
        "layers_per_up_block": 2,
        **config,
    }
    return seeded(diffusers.AsymmetricAutoencoderKL, **config)


def flux2(**config):
    config = {
        "block_out_channels": (32, 32, 64, 64),
        "layers_per_block": 1,
        "latent_channels": 4,
        **config,
    }
    vae = seeded(diffusers.AutoencoderKLFlux2, **config)
    vae.bn.running_mean.normal_(0, 1)
    vae.bn.running_var.uniform_(0.5, 2)
    return vae


def autoencoder_tiny(**config):
    stages = len(config.get("num_decoder_blocks", (1, 1)))
    config = {
        "encoder_block_out_channels": (8,) * stages,
        "decoder_block_out_channels": (8,) * stages,
        "num_encoder_blocks": (1,) * stages,
        "num_decoder_blocks": (1, 1),
        **config,
    }
    return seeded(diffusers.AutoencoderTiny, **config)


def hunyuan_image(**config):
    config = {
        "in_channels": 3,
        "out_channels": 3,
        "latent_channels": 4,
        "block_out_channels": (32, 64, 64),
        "layers_per_block": 1,
        "spatial_compression_ratio": 4,
        "sample_size": 64,
        "scaling_factor": 0.75289,
        **config,
    }
    return seeded(diffusers.AutoencoderKLHunyuanImage, **config)


def minimax_h3(**config):
    """Disables tiles, which blend."""
    config = {
        "latent_channels": 4, "block_out_channels": (8, 16, 16), "layers_per_block": 1, "norm_num_groups": 4,
        "spatial_downsample_factors": (2, 2, 2), "temporal_downsample_factors": (1, 2, 2), "decoder_num_layers": 1, "decoder_num_attention_heads": 2,
        "decoder_attention_head_dim": 8, "latents_mean": (0.0,) * 4, "latents_std": (1.0,) * 4, **config,
    }  # fmt: skip
    vae = seeded(diffusers.AutoencoderKLMiniMaxH3, **config)
    vae.use_tiling = False
    return vae


def hunyuan_video(**config):
    """Disables framewise decoding and encoding, which blend clips of 16 frames and are not exact."""
    config = {
        "latent_channels": 4,
        "block_out_channels": (8, 16, 16),
        "up_block_types": ("HunyuanVideoUpBlock3D",) * 3,
        "down_block_types": ("HunyuanVideoDownBlock3D",) * 3,
        "layers_per_block": 1,
        "norm_num_groups": 4,
        "spatial_compression_ratio": 4,
        **config,
    }
    vae = seeded(diffusers.AutoencoderKLHunyuanVideo, **config)
    vae.use_framewise_decoding = vae.use_framewise_encoding = False
    return vae


HUNYUAN_VIDEO_15 = {
    "latent_channels": 4,
    "block_out_channels": (8, 16, 16),
    "layers_per_block": 1,
    "spatial_compression_ratio": 4,
    "temporal_compression_ratio": 4,
}


def hunyuan_video_15(**config):
    """Slices batches, because its attention does not support them."""
    vae = seeded(diffusers.AutoencoderKLHunyuanVideo15, **{**HUNYUAN_VIDEO_15, **config})
    vae.enable_slicing()
    return vae


def hunyuan_image_refiner(**config):
    return seeded(diffusers.AutoencoderKLHunyuanImageRefiner, **{**HUNYUAN_VIDEO_15, **config})


def ltx2_video(**config):
    return seeded(
        diffusers.AutoencoderKLLTX2Video,
        **{
            "latent_channels": 4,
            "block_out_channels": (8, 8, 8, 8),
            "layers_per_block": (1, 1, 1, 1, 1),
            "decoder_block_out_channels": (16, 32),
            "decoder_layers_per_block": (1, 1, 1),
            "decoder_spatio_temporal_scaling": (True, True),
            "decoder_inject_noise": (False, False, False),
            "upsample_type": ("spatiotemporal", "spatiotemporal"),
            "upsample_residual": (True, True),
            "upsample_factor": (2, 2),
            "patch_size": 2,
            "decoder_causal": False,
            # The latent extent depends on these keys, not on those of the decoder.
            "spatial_compression_ratio": 8,
            "temporal_compression_ratio": 4,
            **config,
        },
    )


# Two downsamplings by a stride, the second with other channels behind it, and a level without one.
LTX_VIDEO_ENCODER = {
    "block_out_channels": (8, 8, 16),
    "down_block_types": ("LTXVideoDownBlock3D",) * 3,
    "layers_per_block": (1, 2, 1, 1),
    "spatio_temporal_scaling": (True, True, False),
}


def ltx_video(**config):
    return seeded(
        diffusers.AutoencoderKLLTXVideo,
        **{
            "latent_channels": 4,
            "block_out_channels": (8, 8, 8, 8),
            "layers_per_block": (1, 1, 1, 1, 1),
            "decoder_block_out_channels": (8, 16, 16),
            "decoder_layers_per_block": (1, 1, 1, 1),
            "decoder_spatio_temporal_scaling": (True, True, False),
            "decoder_inject_noise": (False, False, False, False),
            "upsample_residual": (False, False, False),
            "upsample_factor": (1, 1, 1),
            "patch_size": 2,
            **config,
        },
    )


def cogvideox(**config):
    config = {"latent_channels": 4, "block_out_channels": (8, 8, 16), "layers_per_block": 1, "norm_num_groups": 4, **config}
    blocks = len(config["block_out_channels"])
    up, down = ("CogVideoXUpBlock3D",) * blocks, ("CogVideoXDownBlock3D",) * blocks
    return seeded(diffusers.AutoencoderKLCogVideoX, up_block_types=up, down_block_types=down, **config)


def temporal_decoder(**config):
    """Takes the frames of clips as a batch. Its decode needs their number."""
    config = {"block_out_channels": (32, 64), "layers_per_block": 2, **config}
    down = ("DownEncoderBlock2D",) * len(config["block_out_channels"])
    vae = seeded(diffusers.AutoencoderKLTemporalDecoder, down_block_types=down, **config)
    for name, parameter in vae.named_parameters():
        if name.endswith(".mix_factor"):
            parameter.data.fill_(0.7 if "resnets.0" in name else -1.1)
    return vae


def decoded(vae, z):
    """The clip or picture by vae.decode(), of a latent N×C×T×H×W or N×C×H×W."""
    return sample_of(vae.decode, z, isinstance(vae, diffusers.AutoencoderKLTemporalDecoder))


def wan(**config):
    return seeded(
        diffusers.AutoencoderKLWan,
        **{"base_dim": 8, "z_dim": 16, "dim_mult": [1, 1, 1, 1], "num_res_blocks": 1, "temperal_downsample": [False, True, True], **config},
    )


def qwen(**config):
    return seeded(
        diffusers.AutoencoderKLQwenImage,
        **{
            "base_dim": 24,
            "z_dim": 4,
            "dim_mult": [1, 2, 4],
            "num_res_blocks": 1,
            "temperal_downsample": [False, True],
            "latents_mean": [0.0] * 4,
            "latents_std": [1.0] * 4,
            **config,
        },
    )


def wan22(**config):
    """Has shortcuts around all blocks of a resolution, and patches."""
    return wan(
        **{"dim_mult": [1, 2, 2], "temperal_downsample": [True, False], "is_residual": True, "patch_size": 2, "in_channels": 12, "out_channels": 12,
           "z_dim": 4, "decoder_base_dim": 16, **config}
    )  # fmt: skip


def qwen21(**config):
    """For single pictures."""
    return seeded(
        diffusers.AutoencoderKLQwenImage21,
        **{"base_dim": 8, "decoder_base_dim": 16, "z_dim": 4, "dim_mult": [1, 2, 2], "num_res_blocks": 1, "temperal_downsample": [False, True], **config},
    )


def dc(**config):
    return seeded(
        diffusers.AutoencoderDC,
        **{
            "in_channels": 3,
            "latent_channels": 4,
            "attention_head_dim": 2,
            "encoder_block_types": ("ResBlock", "EfficientViTBlock"),
            "decoder_block_types": ("ResBlock", "EfficientViTBlock"),
            "encoder_block_out_channels": (8, 8),
            "decoder_block_out_channels": (8, 8),
            "encoder_qkv_multiscales": ((), (5,)),
            "decoder_qkv_multiscales": ((), (5,)),
            "encoder_layers_per_block": (1, 1),
            "decoder_layers_per_block": [1, 1],
            "downsample_block_type": "conv",
            "upsample_block_type": "interpolate",
            "decoder_norm_types": "rms_norm",
            "decoder_act_fns": "silu",
            "scaling_factor": 0.41407,
            **config,
        },
    )


def unet(**config):
    return seeded(
        diffusers.UNet2DConditionModel,
        block_out_channels=(32, 64),
        layers_per_block=1,
        sample_size=32,
        in_channels=4,
        out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32,
        **config,
    )


def embeddings(*shape: int, seed: int = 1):
    return latent(*shape, seed=seed)


def stable_diffusion():
    pipe = diffusers.StableDiffusionPipeline(
        vae=kl(), text_encoder=None, tokenizer=None, unet=unet(), scheduler=diffusers.DDIMScheduler(),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    )  # fmt: skip
    prompt = {"prompt_embeds": embeddings(1, 8, 32), "negative_prompt_embeds": embeddings(1, 8, 32, seed=2)}
    return pipe, {**prompt, "height": 64, "width": 48}


def stable_diffusion_xl():
    model = unet(
        attention_head_dim=(2, 4), use_linear_projection=True, addition_embed_type="text_time",
        addition_time_embed_dim=8, transformer_layers_per_block=(1, 2), projection_class_embeddings_input_dim=80,
    )  # fmt: skip
    pipe = diffusers.StableDiffusionXLPipeline(
        vae=kl(), text_encoder=None, text_encoder_2=_projection(32), tokenizer=None, tokenizer_2=None, unet=model,
        scheduler=diffusers.EulerDiscreteScheduler(),
    )  # fmt: skip
    prompt = {
        "prompt_embeds": embeddings(1, 8, 32), "negative_prompt_embeds": embeddings(1, 8, 32, seed=2),
        "pooled_prompt_embeds": embeddings(1, 32, seed=3), "negative_pooled_prompt_embeds": embeddings(1, 32, seed=4),
    }  # fmt: skip
    return pipe, {**prompt, "height": 64, "width": 48}


def _projection(dim: int):
    """The pipeline reads the width of pooled embeddings from its second text encoder."""
    from transformers import CLIPTextConfig, CLIPTextModelWithProjection

    config = CLIPTextConfig(
        hidden_size=32, intermediate_size=37, num_attention_heads=4, num_hidden_layers=1, projection_dim=dim, vocab_size=99
    )
    return seeded(CLIPTextModelWithProjection, config)


def stable_diffusion_3():
    transformer = seeded(
        diffusers.SD3Transformer2DModel,
        sample_size=32, patch_size=1, in_channels=4, num_layers=1, attention_head_dim=8, num_attention_heads=4,
        caption_projection_dim=32, joint_attention_dim=32, pooled_projection_dim=64, out_channels=4,
    )  # fmt: skip
    pipe = diffusers.StableDiffusion3Pipeline(
        transformer=transformer, scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=kl(use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.0609, scaling_factor=1.5035),
        text_encoder=None, tokenizer=None, text_encoder_2=None, tokenizer_2=None, text_encoder_3=None, tokenizer_3=None,
    )  # fmt: skip
    prompt = {
        "prompt_embeds": embeddings(1, 8, 32), "negative_prompt_embeds": embeddings(1, 8, 32, seed=2),
        "pooled_prompt_embeds": embeddings(1, 64, seed=3), "negative_pooled_prompt_embeds": embeddings(1, 64, seed=4),
    }  # fmt: skip
    return pipe, {**prompt, "height": 64, "width": 48}


def flux():
    transformer = seeded(
        diffusers.FluxTransformer2DModel,
        patch_size=1, in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=16, num_attention_heads=2,
        joint_attention_dim=32, pooled_projection_dim=32, axes_dims_rope=[4, 4, 8],
    )  # fmt: skip
    pipe = diffusers.FluxPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(), transformer=transformer, text_encoder=None, tokenizer=None,
        text_encoder_2=None, tokenizer_2=None,
        vae=kl(latent_channels=1, use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.0609, scaling_factor=1.5035),
    )  # fmt: skip
    prompt = {"prompt_embeds": embeddings(1, 8, 32), "pooled_prompt_embeds": embeddings(1, 32, seed=3)}
    return pipe, {**prompt, "height": 32, "width": 48}


def sana():
    transformer = seeded(
        diffusers.SanaTransformer2DModel,
        patch_size=1, in_channels=4, out_channels=4, num_layers=1, num_attention_heads=2, attention_head_dim=4,
        num_cross_attention_heads=2, cross_attention_head_dim=4, cross_attention_dim=8, caption_channels=8, sample_size=32,
    )  # fmt: skip
    pipe = diffusers.SanaPipeline(
        tokenizer=None, text_encoder=None, vae=dc(), transformer=transformer,
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(shift=7.0),
    )  # fmt: skip
    mask = torch.ones(1, 8, dtype=torch.long)
    prompt = {
        "prompt_embeds": embeddings(1, 8, 8), "negative_prompt_embeds": embeddings(1, 8, 8, seed=2),
        "prompt_attention_mask": mask, "negative_prompt_attention_mask": mask,
    }  # fmt: skip
    return pipe, {**prompt, "prompt": None, "negative_prompt": None, "height": 32, "width": 64, "use_resolution_binning": False}


def wan_video():
    transformer = seeded(
        diffusers.WanTransformer3DModel,
        patch_size=(1, 2, 2), num_attention_heads=2, attention_head_dim=12, in_channels=16, out_channels=16, text_dim=32,
        freq_dim=256, ffn_dim=32, num_layers=2, cross_attn_norm=True, qk_norm="rms_norm_across_heads", rope_max_seq_len=32,
    )  # fmt: skip
    pipe = diffusers.WanPipeline(
        tokenizer=None, text_encoder=None, vae=wan(), transformer=transformer,
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(shift=7.0),
    )  # fmt: skip
    prompt = {"prompt_embeds": embeddings(1, 8, 32), "negative_prompt_embeds": embeddings(1, 8, 32, seed=2)}
    return pipe, {**prompt, "height": 32, "width": 48, "num_frames": 9}


def qwen_image():
    transformer = seeded(
        diffusers.QwenImageTransformer2DModel,
        patch_size=2, in_channels=16, out_channels=4, num_layers=2, attention_head_dim=16, num_attention_heads=3,
        joint_attention_dim=16, guidance_embeds=False, axes_dims_rope=(8, 4, 4),
    )  # fmt: skip
    pipe = diffusers.QwenImagePipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(
            base_shift=0.5, max_shift=0.9, shift=1.0, use_dynamic_shifting=True
        ),
        vae=qwen(), text_encoder=None, tokenizer=None, transformer=transformer,
    )  # fmt: skip
    mask = torch.ones(1, 8, dtype=torch.long)
    return pipe, {"prompt_embeds": embeddings(1, 8, 16), "prompt_embeds_mask": mask, "height": 32, "width": 48}


PIPELINES = {
    "Stable Diffusion": stable_diffusion,
    "Stable Diffusion XL": stable_diffusion_xl,
    "Stable Diffusion 3": stable_diffusion_3,
    "FLUX": flux,
    "Sana": sana,
    "Wan": wan_video,
    "Qwen-Image": qwen_image,
}


def run(pipe, arguments: dict, **more):
    """Calls the pipeline once with fixed noise. Returns pictures as numpy arrays; clips have a leading axis."""
    pipe.set_progress_bar_config(disable=True)
    generator = torch.Generator("cpu").manual_seed(0)
    call = {"num_inference_steps": 2, "generator": generator, "output_type": "pt", **arguments, **more}
    result = pipe(**call)
    return result if isinstance(result, tuple) else getattr(result, "images", None) if hasattr(result, "images") else result.frames
