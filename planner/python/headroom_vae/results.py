"""Results of ``decode`` and ``encode``, as diffusers' classes return them."""

from __future__ import annotations

from typing import Any

from . import _core


def moments_of(encoded: Any) -> Any:
    """The tensor of what a VAE's own encode returns: of a distribution, its moments."""
    return getattr(encoded, "parameters", encoded)


def whole_moments(made: Any, latent_channels: int) -> Any:
    """Repeats a single channel beside the means for each of them: it is the log-variance of all, as in LTX."""
    import torch

    if made.shape[1] != latent_channels + 1:
        return made
    return torch.cat([made, made[:, -1:].repeat_interleave(latent_channels - 1, dim=1)], dim=1)


def encoded_output(made: Any, model: _core.Model, return_dict: bool) -> Any:
    """Turns the encoder's output into what a diffusers VAE's ``encode`` returns: the latent, or the distribution of its moments."""
    made = whole_moments(made, model.latent_channels)
    if made.shape[1] == model.latent_channels:
        if not return_dict:
            return (made,)
        if model.class_name == _core.class_of_original_names("tiny"):
            from diffusers.models.autoencoders.autoencoder_tiny import AutoencoderTinyOutput

            return AutoencoderTinyOutput(latents=made)
        from diffusers.models.autoencoders.vae import EncoderOutput

        return EncoderOutput(latent=made)
    from diffusers.models.autoencoders.vae import DiagonalGaussianDistribution
    from diffusers.models.modeling_outputs import AutoencoderKLOutput

    distribution = DiagonalGaussianDistribution(made)
    return AutoencoderKLOutput(latent_dist=distribution) if return_dict else (distribution,)


def decoded_output(sample: Any, return_dict: bool) -> Any:
    if not return_dict:
        return (sample,)
    from diffusers.models.autoencoders.vae import DecoderOutput

    return DecoderOutput(sample=sample)
