"""Converts ComfyUI's latents to the decoder's input, and decoded pictures to ComfyUI's IMAGE. Converts pictures and latents of encodes
likewise."""

from __future__ import annotations

from typing import Any

import headroom_vae
from headroom_vae._core import models_with_channels


def latent_of(samples: Any, model: Any) -> Any:
    """The tensor that ComfyUI's own VAE Decode would decode. Raises InputError."""
    import torch

    latent = samples.get("samples") if isinstance(samples, dict) else None
    if getattr(latent, "is_nested", False):  # for example video and sound; the first part is the picture
        latent = latent.unbind()[0]
    if not isinstance(latent, torch.Tensor):
        raise headroom_vae.InputError(f"samples: expected a latent, found {type(samples if latent is None else latent).__name__}")
    return latent[:, :, 0] if latent.dim() == 5 and not model.decodes_clips else latent


def decoder_shape(shape: Any, known: Any) -> list[int]:
    """Converts the shape of a ComfyUI latent to the shape that the decoder takes. Raises InputError."""
    shape, model = list(shape), known.model
    if model.frames_in_batch and len(shape) == 4:  # a batch is one clip
        return [1, shape[1], shape[0], *shape[2:]]
    if len(shape) == 5 and not model.decodes_clips:
        del shape[2]
    if known.unscales_latents and len(shape) == 4 and shape[1] % model.latent_channels == 0:  # SeedVR2's frames may be further channels
        shape[1:2] = [model.latent_channels, shape[1] // model.latent_channels]
    if model.latent_patches is None:
        return shape
    rows, columns, _ = model.latent_patches
    channels = model.latent_channels * rows * columns
    if len(shape) != 4 or shape[1] != channels:
        raise headroom_vae.InputError(f"latent: expected N×{channels}×H×W, found {'×'.join(map(str, shape))}")
    return [shape[0], model.latent_channels, shape[2] * rows, shape[3] * columns]


def decoder_input(latent: Any, known: Any, module: Any) -> Any:
    """The latent as the decoder takes it. ComfyUI's modules undo their scaling inside their own decode."""
    shape, model = decoder_shape(latent.shape, known), known.model
    _require_channels(shape, known)
    if hasattr(module, "process_in"):  # taehv scales latents for its transformer
        return module.process_in(latent)
    mean, deviation = _statistics(module, known)
    if mean is None:
        return latent.movedim(0, 1)[None] if len(shape) != latent.dim() else latent
    values = latent.detach().cpu().double()
    axes = [1, -1] + [1] * (values.dim() - 2)
    values = values * deviation.reshape(axes) + mean.reshape(axes)
    if model.latent_patches is not None:
        rows, columns, _ = model.latent_patches
        values = values.unflatten(1, (-1, rows, columns)).permute(0, 1, 4, 2, 5, 3)
    return values.reshape(shape).float().to(latent.device)


def _require_channels(shape: list[int], known: Any) -> None:
    """Raises InputError for a latent of another number of channels, before its values meet the statistics. The message has models with such
    latents."""
    try:
        known.model.picture_shape(shape)
    except headroom_vae.InputError as refused:
        channels = shape[1] if len(shape) > 1 else 0
        names = models_with_channels(channels)
        if channels == known.model.latent_channels or not names:
            raise
        raise headroom_vae.InputError(f"{refused}. Latents of {names} have {channels} channels: load the VAE of your model") from None


def _statistics(module: Any, known: Any) -> tuple[Any, Any]:
    """Mean and deviation of the latent's channels, as tensors of one element or one for each channel. (None, None): not normalised."""
    import torch

    state, model = module.state_dict(), known.model

    def values(name: str) -> Any:
        return state[name].detach().cpu().double()

    if model.latent_patches is not None:  # FLUX.2 normalises patches by a batch norm
        epsilon = model.latent_patches[2]
        return values("bn.running_mean"), torch.sqrt(values("bn.running_var") + epsilon)
    if "per_channel_statistics.std-of-means" in state:  # LTX
        return values("per_channel_statistics.mean-of-means"), values("per_channel_statistics.std-of-means")
    if "vae_scale" in state:  # TAESD: (latent - shift) * scale
        scale = values("vae_scale")
        return -values("vae_shift") * scale, scale
    if known.unscales_latents:
        return torch.zeros(1).double(), torch.tensor([1 / model.scaling_factor]).double()
    return None, None


def require_picture(model: Any) -> None:
    """Raises Unsupported if ComfyUI has no picture format with the decoder's number of channels."""
    channels = model.picture_shape([1, model.latent_channels, 1, 1])[1]
    if channels not in (1, 3, 4, 12):
        raise headroom_vae.Unsupported(f"vae: its pictures have {channels} channels; expected 1, 3, 4, or 12 (2×2 pixels of 3)")


def image_of(vae: Any, sample: Any) -> Any:
    """Converts a decoded sample to ComfyUI's IMAGE. A clip becomes a batch of pictures, as in ComfyUI's own node."""
    import torch

    picture = sample.float()
    if hasattr(vae.first_stage_model, "frames_to_trim"):  # taehv's own pictures are 0 … 1
        picture = (picture + 1) / 2
    picture = vae.process_output(picture)
    if picture.dim() == 5:
        picture = picture.movedim(2, 1).flatten(0, 1)
    if picture.shape[1] == 12:  # 2×2 pixels of 3 channels, if process_output did not unshuffle them
        picture = torch.nn.functional.pixel_shuffle(picture, 2)
    return picture.movedim(1, -1)


def encoder_input(vae: Any, pixels: Any, known: Any) -> tuple[Any, list[str]]:
    """The pictures as the encoder takes them, and what was left out of them. Raises InputError.

    ComfyUI crops the sides itself. A batch of pictures is one clip, unless the VAE has `not_video`."""
    import torch

    if not isinstance(pixels, torch.Tensor) or pixels.dim() != 4 or not pixels.is_floating_point():
        found = "×".join(map(str, pixels.shape)) if isinstance(pixels, torch.Tensor) else type(pixels).__name__
        raise headroom_vae.InputError(f"pixels: expected pictures of shape N×H×W×C, found {found}")
    left_out = []
    cropped = vae.vae_encode_crop_pixels(pixels[..., : vae.output_channels])
    if cropped.shape[1:3] != pixels.shape[1:3]:
        (height, width), (rows, columns) = pixels.shape[1:3], cropped.shape[1:3]
        left_out.append(f"cropped from {width}×{height} to {columns}×{rows} pixels")
    picture = cropped.movedim(-1, 1)
    if known.model.decodes_clips:
        picture = picture.unsqueeze(2) if getattr(vae, "not_video", False) else picture.movedim(0, 1).unsqueeze(0)
        frames = picture.shape[2]
        kept = _most_frames(known.encoder, list(picture.shape))
        if kept < frames:
            left_out.append(f"encoded {kept} of {frames} frames: this VAE has no latent of {frames} frames")
        picture = picture[:, :, :kept]
    return vae.process_input(picture).to(vae.vae_dtype), left_out


def _most_frames(encoder: Any, shape: list[int]) -> int:
    """The most leading frames that a latent has, as ComfyUI's own encodes drop the others. All if no number suits the other axes."""
    for frames in range(shape[2], 0, -1):
        try:
            encoder.encoded_shape([*shape[:2], frames, *shape[3:]])
        except headroom_vae.InputError:
            continue
        return frames
    return shape[2]


def require_latent_channels(vae: Any, model: Any) -> None:
    """Raises Unsupported if ComfyUI's latents of this VAE have another number of channels. ComfyUI 0.3 folds HunyuanVideo 1.5's."""
    rows, columns, _ = model.latent_patches or (1, 1, None)
    channels = model.latent_channels * rows * columns
    found = getattr(vae, "latent_channels", channels)
    if found != channels:
        raise headroom_vae.Unsupported(
            f"vae: latents of this VAE have {found} channels in this version of ComfyUI; expected {channels}. Use ComfyUI's VAE Encode")


def latent_of_encoded(made: Any, known: Any, module: Any) -> Any:
    """ComfyUI's latent for an encoder's output: the mode of the distribution, normalised if ComfyUI's own latents are."""
    model = known.model
    mode = made[:, : model.latent_channels]
    mean, deviation = _statistics(module, known)
    if mean is None:
        return mode.float()
    values = mode.double()
    if model.latent_patches is not None:
        rows, columns, _ = model.latent_patches
        values = values.unflatten(3, (-1, columns)).unflatten(2, (-1, rows)).permute(0, 1, 3, 5, 2, 4).flatten(1, 3)
    axes = [1, -1] + [1] * (values.dim() - 2)
    return ((values - mean.reshape(axes)) / deviation.reshape(axes)).float()
