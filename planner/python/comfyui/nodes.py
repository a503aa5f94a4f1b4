"""VAE Decode (Headroom) and Headroom memory estimate.

What a ComfyUI VAE (comfy.sd.VAE) is asked for: first_stage_model, vae_dtype, device, process_output, memory_used_decode.
"""

from __future__ import annotations

import weakref
from typing import Any

import headroom
from headroom.checkpoints import model_of_tensors
from headroom.device import require_device
from headroom.module import ModuleDecoder

_decoders: weakref.WeakKeyDictionary[Any, ModuleDecoder] = weakref.WeakKeyDictionary()


def _decoder_of(vae: Any) -> ModuleDecoder:
    """Packed weights stay as long as ComfyUI keeps the module."""
    module = vae.first_stage_model
    if module not in _decoders:
        _decoders[module] = ModuleDecoder(module, model_of_tensors(module.state_dict()))
    return _decoders[module]


def _device_of(vae: Any) -> str:
    """Where ComfyUI runs this VAE, where decodes can run there; the CPU otherwise."""
    try:
        require_device(str(vae.device))
    except headroom.Unsupported:
        return "cpu"
    return str(vae.device)


def _make_room(vae: Any, latent: Any) -> None:
    """Has ComfyUI unload models until its own estimate of this decode is free, as it does before its own decode."""
    from comfy import model_management

    model_management.free_memory(vae.memory_used_decode(latent.shape, vae.vae_dtype), vae.device)


class HeadroomVAEDecode:
    """The untiled picture inside a limit."""

    CATEGORY = "latent"
    FUNCTION = "decode"
    RETURN_TYPES = ("IMAGE",)
    DESCRIPTION = "Decodes a latent exactly, without blended tiles, inside a memory limit."

    @classmethod
    def INPUT_TYPES(cls) -> dict:
        limit = {"default": "auto", "tooltip": "Bytes that the decode may take, such as 4GiB; auto for what is free."}
        scratch = {"default": "", "tooltip": "A folder on a disk for what does not fit memory; empty for none."}
        return {
            "required": {"samples": ("LATENT",), "vae": ("VAE",), "limit": ("STRING", limit)},
            "optional": {"scratch": ("STRING", scratch)},
        }

    def decode(self, samples: dict, vae: Any, limit: str = "auto", scratch: str = "") -> tuple:
        latent = samples["samples"]
        device = _device_of(vae)
        if device != "cpu":
            _make_room(vae, latent)
        picture = _decoder_of(vae).decode(latent, limit=limit or "auto", scratch=scratch or None, device=device)
        picture = vae.process_output(picture.float()).movedim(1, -1)
        if picture.dim() == 5:  # a clip becomes a batch of pictures, as with ComfyUI's own node
            picture = picture.reshape(-1, *picture.shape[-3:])
        return (picture,)


class HeadroomMemoryEstimate:
    """ComfyUI's own VAE with an estimate of what its decode takes that knows the decoder."""

    CATEGORY = "latent"
    FUNCTION = "estimate"
    RETURN_TYPES = ("VAE", "STRING")
    DESCRIPTION = "Replaces ComfyUI's estimate of the memory of a decode by one that is worked out layer by layer."

    @classmethod
    def INPUT_TYPES(cls) -> dict:
        return {"required": {"vae": ("VAE",)}}

    def estimate(self, vae: Any) -> tuple:
        model = model_of_tensors(vae.first_stage_model.state_dict())

        def memory_used_decode(shape: tuple, dtype: Any) -> int:
            batch, _, frames, height, width = model.picture_shape(list(shape))
            prediction = headroom.predict(model, height, width, frames, batch, dtype=dtype, device="cuda")
            return prediction.untiled_peak_bytes

        vae.memory_used_decode = memory_used_decode
        return vae, f"{model.class_name}, {model.latent_channels} latent channels"


NODE_CLASS_MAPPINGS = {"HeadroomVAEDecode": HeadroomVAEDecode, "HeadroomMemoryEstimate": HeadroomMemoryEstimate}
NODE_DISPLAY_NAME_MAPPINGS = {
    "HeadroomVAEDecode": "VAE Decode (Headroom)",
    "HeadroomMemoryEstimate": "Headroom memory estimate",
}
