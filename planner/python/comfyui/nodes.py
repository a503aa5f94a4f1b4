"""VAE Decode (Headroom) and Headroom memory estimate.

The nodes read these attributes of a ComfyUI VAE (comfy.sd.VAE): first_stage_model, vae_dtype, device, process_output, memory_used_decode.
"""

from __future__ import annotations

import functools
import logging
import weakref
from typing import Any

import headroom_vae
from headroom_vae.amounts import require_sensible_limit
from headroom_vae.checkpoints import model_of_tensors
from headroom_vae.device import require_device
from headroom_vae.module import ModuleDecoder

from .server import allowed_scratch, require_limit_of_machine

_decoders: weakref.WeakKeyDictionary[Any, ModuleDecoder] = weakref.WeakKeyDictionary()


@functools.cache
def _warn_once(message: str) -> None:
    logging.getLogger("headroom").warning(message)


def _module_of(vae: Any) -> Any:
    module = getattr(vae, "first_stage_model", None)
    if not hasattr(module, "state_dict"):
        raise headroom_vae.InputError(f"vae: expected a VAE as ComfyUI's Load VAE gives it, found {type(vae).__name__} without a model")
    return module


def _decoder_of(vae: Any) -> ModuleDecoder:
    """The decoder of a VAE. It keeps packed weights as long as ComfyUI keeps the module."""
    module = _module_of(vae)
    if module not in _decoders:
        _decoders[module] = ModuleDecoder(module, model_of_tensors(module.state_dict()))
    return _decoders[module]


def _device_of(vae: Any) -> str:
    """The device that ComfyUI chose for this VAE, if Headroom can decode there. Otherwise the CPU, with a warning."""
    device = str(getattr(vae, "device", "cpu"))
    try:
        require_device(device)
    except headroom_vae.Unsupported as why:
        _warn_once(f"VAE Decode (Headroom) runs on the CPU, not on ComfyUI's device: {why}")
        return "cpu"
    return device


def _latent_of(samples: Any, model: Any) -> Any:
    """The tensor that ComfyUI's own VAE Decode would decode. Raises InputError."""
    import torch

    latent = samples.get("samples") if isinstance(samples, dict) else None
    if getattr(latent, "is_nested", False):  # for example video and sound; the first part is the picture
        latent = latent.unbind()[0]
    if not isinstance(latent, torch.Tensor):
        raise headroom_vae.InputError(f"samples: expected a latent, found {type(samples if latent is None else latent).__name__}")
    return latent[:, :, 0] if latent.dim() == 5 and not model.decodes_clips else latent


def _latent_shape(shape: Any, model: Any) -> list[int]:
    """Converts the shape of a ComfyUI latent to the shape that the decoder takes. Raises InputError."""
    shape = list(shape)
    if len(shape) == 5 and not model.decodes_clips:
        del shape[2]
    if model.latent_patches is None:
        return shape
    rows, columns, _ = model.latent_patches
    channels = model.latent_channels * rows * columns
    if len(shape) != 4 or shape[1] != channels:
        raise headroom_vae.InputError(f"latent: expected N×{channels}×H×W, found {'×'.join(map(str, shape))}")
    return [shape[0], model.latent_channels, shape[2] * rows, shape[3] * columns]


def _decoder_input(latent: Any, model: Any, module: Any) -> Any:
    """The latent without FLUX.2's batch norm and patches."""
    if model.latent_patches is None:
        return latent
    import torch

    shape = _latent_shape(latent.shape, model)
    rows, columns, epsilon = model.latent_patches
    state = module.state_dict()
    mean, variance = (state[f"bn.running_{name}"].detach().cpu().double().reshape(1, -1, 1, 1) for name in ("mean", "var"))
    values = latent.detach().cpu().double() * torch.sqrt(variance + epsilon) + mean
    values = values.unflatten(1, (-1, rows, columns)).permute(0, 1, 4, 2, 5, 3)
    return values.reshape(shape).float().to(latent.device)


def _require_picture(model: Any) -> None:
    """Raises Unsupported if ComfyUI has no picture format with the decoder's number of channels."""
    channels = model.picture_shape([1, model.latent_channels, 1, 1])[1]
    if channels not in (1, 3, 4, 12):
        raise headroom_vae.Unsupported(f"vae: its pictures have {channels} channels; expected 1, 3, 4, or 12 (2×2 pixels of 3)")


def _image_of(vae: Any, sample: Any) -> Any:
    """Converts a decoded sample to ComfyUI's IMAGE. A clip becomes a batch of pictures, as in ComfyUI's own node."""
    import torch

    picture = vae.process_output(sample.float())
    if picture.dim() == 5:
        picture = picture.movedim(2, 1).flatten(0, 1)
    if picture.shape[1] == 12:  # 2×2 pixels of 3 channels, if process_output did not unshuffle them
        picture = torch.nn.functional.pixel_shuffle(picture, 2)
    return picture.movedim(1, -1)


def _make_room(vae: Any, latent: Any) -> None:
    """Makes ComfyUI unload models until its own estimate for this decode is free. ComfyUI does this before its own decode, too."""
    from comfy import model_management

    model_management.free_memory(vae.memory_used_decode(latent.shape, vae.vae_dtype), vae.device)


class HeadroomVAEDecode:
    """Node that decodes the untiled picture within a memory limit."""

    CATEGORY = "latent"
    FUNCTION = "decode"
    RETURN_TYPES = ("IMAGE",)
    DESCRIPTION = "Decodes a latent exactly, without blended tiles, inside a memory limit."

    @classmethod
    def INPUT_TYPES(cls) -> dict:
        limit = {"default": "auto", "tooltip": "Bytes that the decode may take, such as 4GiB; auto for what is free."}
        scratch = {"default": "", "tooltip": "A folder on a disk for what does not fit memory, of those that the server allows; empty for none."}
        return {
            "required": {"samples": ("LATENT",), "vae": ("VAE",), "limit": ("STRING", limit)},
            "optional": {"scratch": ("STRING", scratch)},
        }

    def decode(self, samples: dict, vae: Any, limit: str = "auto", scratch: str = "") -> tuple:
        limit, folder = limit or "auto", allowed_scratch(scratch)
        require_sensible_limit(limit)
        decoder = _decoder_of(vae)
        _require_picture(decoder.model)
        latent = _latent_of(samples, decoder.model)
        z = _decoder_input(latent, decoder.model, _module_of(vae))
        device = _device_of(vae)
        require_limit_of_machine(limit, device)
        if device != "cpu":
            _make_room(vae, latent)
        return (_image_of(vae, decoder.decode(z, limit=limit, scratch=folder, device=device)),)


class HeadroomMemoryEstimate:
    """Node that replaces a VAE's memory estimate for ComfyUI's own decode. The new estimate is computed from the decoder's layers."""

    CATEGORY = "latent"
    FUNCTION = "estimate"
    RETURN_TYPES = ("VAE", "STRING")
    DESCRIPTION = "Replaces ComfyUI's estimate of the memory of a decode by one that is worked out layer by layer."

    @classmethod
    def INPUT_TYPES(cls) -> dict:
        return {"required": {"vae": ("VAE",)}}

    def estimate(self, vae: Any) -> tuple:
        own = getattr(vae.memory_used_decode, "of_comfyui", vae.memory_used_decode)
        try:
            model = model_of_tensors(_module_of(vae).state_dict())
        except Exception as why:
            _warn_once(f"Headroom memory estimate leaves ComfyUI's own: {why}")
            vae.memory_used_decode = own
            return vae, f"ComfyUI's own estimate: {why}"

        def memory_used_decode(shape: Any, dtype: Any) -> int:
            """Falls back to ComfyUI's estimate on any error, because an exception here would abort ComfyUI's own decode."""
            try:
                batch, _, frames, height, width = model.picture_shape(_latent_shape(shape, model))
                prediction = headroom_vae.predict(model, height, width, frames, batch, dtype=dtype, device="cuda")
                return prediction.untiled_peak_bytes
            except Exception as why:
                _warn_once(f"Headroom memory estimate leaves ComfyUI's own: {why}")
                return own(shape, dtype)

        memory_used_decode.of_comfyui = own
        vae.memory_used_decode = memory_used_decode
        return vae, f"{model.class_name}, {model.latent_channels} latent channels"


NODE_CLASS_MAPPINGS = {"HeadroomVAEDecode": HeadroomVAEDecode, "HeadroomMemoryEstimate": HeadroomMemoryEstimate}
NODE_DISPLAY_NAME_MAPPINGS = {
    "HeadroomVAEDecode": "VAE Decode (Headroom)",
    "HeadroomMemoryEstimate": "Headroom memory estimate",
}
