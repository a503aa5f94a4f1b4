"""VAE Decode (Headroom), VAE Encode (Headroom) and Estimate Memory for VAE Decode (Headroom).

The nodes read these attributes of a ComfyUI VAE (comfy.sd.VAE): first_stage_model, vae_dtype, device, process_output, memory_used_decode,
patcher. An encode also reads: process_input, vae_encode_crop_pixels, output_channels, not_video, latent_channels.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import logging
import weakref
from typing import Any, Iterator

import headroom_vae
from headroom_vae._core import format_bytes, format_seconds
from headroom_vae.amounts import THRIFT
from headroom_vae.checkpoints import Recognised, recognise
from headroom_vae.executors import executor_for
from headroom_vae.latents import picture_of, request_of
from headroom_vae.module import ModuleDecoder

from .latents import (
    decoder_input,
    decoder_shape,
    encoder_input,
    image_of,
    latent_of,
    latent_of_encoded,
    require_latent_channels,
    require_picture,
)
from .progress import NodeProgress, preview_of
from .server import allowed_scratch, bytes_of_gib, gib_of_bytes, gib_of_input, require_limit_of_machine, scratch_example

DEFAULT_THRIFT = 100 * THRIFT
"""Default of the input thrift_percent."""

NEARLY_FASTEST = 1.1
"""Under an automatic limit ComfyUI unloads nothing if what is free now gives a decode that takes at most so much longer."""

_decoders: weakref.WeakKeyDictionary[Any, tuple[Recognised, ModuleDecoder]] = weakref.WeakKeyDictionary()
_encoders: weakref.WeakKeyDictionary[Any, ModuleDecoder] = weakref.WeakKeyDictionary()


_log = logging.getLogger("headroom")


@functools.cache
def _warn_once(message: str) -> None:
    _log.warning(message)


def _module_of(vae: Any) -> Any:
    module = getattr(vae, "first_stage_model", None)
    if not hasattr(module, "state_dict"):
        raise headroom_vae.InputError(f"vae: expected a VAE as ComfyUI's Load VAE gives it, found {type(vae).__name__} without a model")
    if getattr(getattr(vae, "patcher", None), "patches", None):
        raise headroom_vae.Unsupported(
            "vae: its weights have patches, such as a LoRA, that ComfyUI applies when it loads the VAE. Load the VAE without them")
    return module


def _decoder_of(vae: Any) -> tuple[Recognised, ModuleDecoder]:
    """The decoder of a VAE. It keeps packed weights as long as ComfyUI keeps the module."""
    module = _module_of(vae)
    if module not in _decoders:
        try:
            known = recognise(module)
        except headroom_vae.Unsupported as why:
            raise headroom_vae.Unsupported(f"{why}. Use ComfyUI's own nodes for this VAE") from None
        _decoders[module] = known, ModuleDecoder(module, known.model, known.rules)
    return _decoders[module]


def _encoder_of(vae: Any) -> tuple[Recognised, ModuleDecoder]:
    """The encoder of a VAE. Of decoder and encoder, only the one that ran last keeps packed weights. Raises Unsupported."""
    known, decoder = _decoder_of(vae)
    if known.encoder is None:
        raise headroom_vae.Unsupported(f"{known.why_no_encoder}. Use ComfyUI's VAE Encode for this VAE")
    require_latent_channels(vae, known.model)
    module = decoder.module
    if module not in _encoders:
        _encoders[module] = ModuleDecoder(module, known.encoder, known.encoder_rules, partner=decoder)
    return known, _encoders[module]


REMEDIES = {
    "dtype=bf16": lambda: "start ComfyUI with --bf16-vae",
    "scratch=DIR": lambda: f"set scratch to {scratch_example()}",
    "a scratch folder with more room": lambda: "set scratch to a folder with more room",
}
"""How a user of a node carries out the remedies of DoesNotFit. Nodes have no other ones."""


@contextlib.contextmanager
def _node_advice(node: str, frames: int, limit_gib: float) -> Iterator[None]:
    """Words DoesNotFit as a user of the node needs it: the limit to set, remedies, and then the planner's message."""
    try:
        yield
    except headroom_vae.DoesNotFit as refused:
        what = "clip" if frames > 1 else "picture"
        refused.args = (f"{node}: {_advice(refused, what, limit_gib)}", *refused.args[1:])
        raise


def _advice(refused: headroom_vae.DoesNotFit, what: str, limit_gib: float) -> str:
    if not refused.smallest_limit_bytes:  # other programs hold the GPU's memory
        return str(refused)
    least = gib_of_bytes(refused.smallest_limit_bytes)
    text = f"this {what} needs {least:g} GiB, and less is free. Close other programs"
    if limit_gib > 0:
        text = f"this {what} needs more than limit_gib {limit_gib:g}. Set limit_gib to {least:g} or more"
    for remedy in refused.remedies:
        needed = None if remedy["fits"] else gib_of_bytes(remedy["smallest_limit_bytes"])
        if remedy["change"] in REMEDIES and (needed is None or needed < least):
            text += f". Or {REMEDIES[remedy['change']]()}" + ("" if needed is None else f": then {needed:g} GiB suffice")
    before, separator, cause = str(refused).replace("limit='auto'", "limit_gib auto").partition(". Pass ")
    in_python = ("with ", "there was no time")  # remedies as Python's arguments
    details = "; ".join(part for part in before.split("; ") if not part.startswith(in_python))
    return f"{text}. Details: {details}{separator}{cause}"


def _limit_input(work: str, result: str) -> tuple[str, dict]:
    tooltip = (
        f"Most memory of the {work} in GiB, such as 6.5: VRAM on a GPU, RAM on the CPU. Counts the packed weights, tensors and {result}. Does not count "
        f"loaded models. auto: the free memory. ComfyUI unloads models only if the {work} needs their memory, or would be over 10 % slower without it."
    )
    return "STRING", {"default": "auto", "tooltip": tooltip}


def _scratch_input() -> tuple[str, dict]:
    tooltip = (
        "Only if ComfyUI runs the VAE on the CPU (--cpu-vae): a folder for a file with tensors that do not fit limit_gib. It must be in ComfyUI's "
        "temp folder, or in a folder that the environment variable HEADROOM_COMFYUI_SCRATCH names. Empty: no file."
    )
    return "STRING", {"default": "", "advanced": True, "tooltip": tooltip}


TF32 = {
    "as PyTorch": None,
    "off: full fp32": "none",
    "in convolutions": "convolutions",
    "in matrix products": "products",
    "in convolutions and matrix products": "all",
}
"""Choices of the input tf32."""


def _tf32_input() -> tuple[list[str], dict]:
    tooltip = (
        "Only for a VAE in fp32 on a GPU: what may round its inputs to TF32, which is several times faster and not exact (about 77 dB with SDXL). "
        "'as PyTorch' follows the switches of ComfyUI's process; by default they allow it in convolutions."
    )
    return list(TF32), {"default": next(iter(TF32)), "advanced": True, "tooltip": tooltip}


def _tf32_of(choice: str) -> str | None:
    if choice not in TF32:
        raise headroom_vae.InputError(f"tf32: expected one of {', '.join(map(repr, TF32))}, found {choice!r}")
    return TF32[choice]


def _thrift_input() -> tuple[str, dict]:
    tooltip = (
        "Share of time to give for memory: of the plans that take at most this much longer than the fastest, a small one runs. "
        "0: the fastest plan, whatever memory it takes."
    )
    return "FLOAT", {"default": DEFAULT_THRIFT, "min": 0.0, "max": 100.0, "step": 0.5, "round": 0.01, "advanced": True, "tooltip": tooltip}


def _thrift_of(percent: float) -> float:
    if isinstance(percent, bool) or not isinstance(percent, (int, float)) or not 0 <= percent <= 100:
        raise headroom_vae.InputError(f"thrift_percent: expected from 0 to 100, found {percent!r}")
    return percent / 100


def _options_of(scratch: str, tf32: str, thrift_percent: float) -> dict:
    """Inputs of a node as keywords of ModuleDecoder's functions."""
    return {"scratch": allowed_scratch(scratch), "tf32": _tf32_of(tf32), "thrift": _thrift_of(thrift_percent)}


def _device_of(vae: Any) -> str:
    """The device that ComfyUI chose for this VAE. Raises Unsupported if Headroom does not run on it."""
    device = str(getattr(vae, "device", "cpu"))
    executor_for(device, to_use_cpu="start ComfyUI with --cpu-vae")
    return device


def _make_room(vae: Any, decoder: ModuleDecoder, size: tuple, limit: int | str, options: dict) -> None:
    """Makes ComfyUI unload models until the plan of the decode or encode fits. One of less memory needs nothing unloaded."""
    from comfy import model_management

    fastest = decoder.predict(size, vae.vae_dtype, None if limit == "auto" else limit, **options)
    if limit == "auto":
        now = decoder.predict(size, vae.vae_dtype, "auto", **options)
        if now.fits and now.seconds <= NEARLY_FASTEST * fastest.seconds:
            return
    if fastest.fits:
        model_management.free_memory(fastest.peak_bytes + model_management.extra_reserved_memory(), vae.device)


@contextlib.contextmanager
def _running(node: str, decoder: ModuleDecoder, frames: int, limit_gib: float, preview: Any = None) -> Iterator[NodeProgress]:
    """The progress of a decode or encode, with previews by `preview`. The log gets its plan and its result, and DoesNotFit the words of a node."""

    def log_plan() -> None:
        plan = decoder.planned
        _log.info("%s: about %s%s, peak %s", node, format_seconds(plan.seconds), plan.assumed_text, format_bytes(plan.peak_bytes))

    with _node_advice(node, frames, limit_gib):
        yield NodeProgress(preview, log_plan)
    _log.info("%s: %s", node, str(decoder.last).splitlines()[0])


class HeadroomVAEDecode:
    """Node that decodes the untiled picture within a memory limit."""

    CATEGORY = "latent"
    FUNCTION = "decode"
    RETURN_TYPES = ("IMAGE", "STRING")
    RETURN_NAMES = ("image", "report")
    OUTPUT_TOOLTIPS = ("The decoded pictures.", "Device, seconds and peak memory of the decode.")
    DESCRIPTION = "Decodes a latent inside a memory limit. The picture equals the untiled one up to rounding: no blended tiles, no seams."
    SEARCH_ALIASES = ["headroom", "vae decode", "low vram decode", "decode tiled"]

    @classmethod
    def INPUT_TYPES(cls) -> dict:
        limit = _limit_input("decode", "the finished picture or clip, which lies in RAM")
        return {
            "required": {
                "samples": ("LATENT", {"tooltip": "The latent to decode."}),
                "vae": ("VAE", {"tooltip": "The VAE whose decoder runs."}),
                "limit_gib": limit,
            },
            "optional": {"scratch": _scratch_input(), "tf32": _tf32_input(), "thrift_percent": _thrift_input()},
        }

    def decode(
        self, samples: dict, vae: Any, limit_gib: str | float = "auto", scratch: str = "", tf32: str = "as PyTorch", thrift_percent: float = DEFAULT_THRIFT
    ) -> tuple:
        import torch

        gib = gib_of_input(limit_gib)
        limit, options = bytes_of_gib(gib), _options_of(scratch, tf32, thrift_percent)
        known, decoder = _decoder_of(vae)
        model = known.model
        require_picture(model)
        z = decoder_input(latent_of(samples, model), known, decoder.module)
        device = _device_of(vae)
        require_limit_of_machine(limit, device)
        size, shape = picture_of(model, list(z.shape))
        if device != "cpu":
            _make_room(vae, decoder, size, limit, {"device": device, **options})
        picture = torch.zeros(shape, dtype=vae.vae_dtype)
        with _running("VAE Decode (Headroom)", decoder, size[1], gib, functools.partial(preview_of, vae, z.cpu(), picture)) as progress:
            decoder.decode(z, limit=limit, device=device, dtype=vae.vae_dtype, progress=progress, out=picture, **options)
        remark = f"; decoded {known.clip_remark}" if size[1] > 1 and known.clip_remark else ""
        return image_of(vae, picture), f"{decoder.last}{remark}"


class HeadroomVAEEncode:
    """Node that encodes whole pictures within a memory limit."""

    CATEGORY = "latent"
    FUNCTION = "encode"
    RETURN_TYPES = ("LATENT", "STRING")
    RETURN_NAMES = ("latent", "report")
    OUTPUT_TOOLTIPS = ("The latent.", "Device, seconds and peak memory of the encode, and what was cropped.")
    DESCRIPTION = "Encodes pictures inside a memory limit. The latent equals the untiled one up to rounding: no blended tiles."
    SEARCH_ALIASES = ["headroom", "vae encode", "low vram encode", "encode tiled"]

    @classmethod
    def INPUT_TYPES(cls) -> dict:
        limit = _limit_input("encode", "the finished latent, which lies in RAM")
        return {
            "required": {
                "pixels": ("IMAGE", {"tooltip": "The pictures to encode. With a video VAE the whole batch becomes one clip."}),
                "vae": ("VAE", {"tooltip": "The VAE whose encoder runs."}),
                "limit_gib": limit,
            },
            "optional": {"scratch": _scratch_input(), "tf32": _tf32_input(), "thrift_percent": _thrift_input()},
        }

    def encode(
        self, pixels: Any, vae: Any, limit_gib: str | float = "auto", scratch: str = "", tf32: str = "as PyTorch", thrift_percent: float = DEFAULT_THRIFT
    ) -> tuple:
        gib = gib_of_input(limit_gib)
        limit, options = bytes_of_gib(gib), _options_of(scratch, tf32, thrift_percent)
        known, encoder = _encoder_of(vae)
        device = _device_of(vae)
        require_limit_of_machine(limit, device)
        picture, left_out = encoder_input(vae, pixels, known)
        size = request_of(encoder.model, list(picture.shape))[0]
        if device != "cpu":
            _make_room(vae, encoder, size, limit, {"device": device, **options})
        with _running("VAE Encode (Headroom)", encoder, size[1], gib) as progress:
            made = encoder.decode(picture, limit=limit, device=device, dtype=vae.vae_dtype, progress=progress, **options)
        remarks = [f"encoded {known.clip_remark}"] if size[1] > 1 and known.clip_remark else []
        return {"samples": latent_of_encoded(made, known, encoder.module)}, "; ".join([str(encoder.last), *left_out, *remarks])


class HeadroomVAEMemory:
    """Node that gives a VAE another estimate of its own decode's memory. The estimate is computed from the decoder's layers."""

    CATEGORY = "latent"
    FUNCTION = "estimate"
    RETURN_TYPES = ("VAE", "STRING")
    RETURN_NAMES = ("vae", "report")
    DESCRIPTION = "Estimates the memory of ComfyUI's own VAE Decode from the layers of the VAE, so that ComfyUI unloads enough models and no more."

    @classmethod
    def INPUT_TYPES(cls) -> dict:
        return {"required": {"vae": ("VAE", {"tooltip": "A VAE. It stays as it is; the output is a copy that shares its weights."})}}

    def estimate(self, vae: Any) -> tuple:
        changed = copy.copy(vae)
        own = getattr(vae.memory_used_decode, "of_comfyui", vae.memory_used_decode)
        try:
            known, _ = _decoder_of(vae)
            model = known.model
        except Exception as why:
            _warn_once(f"Estimate Memory for VAE Decode (Headroom) leaves ComfyUI's own estimate: {why}")
            changed.memory_used_decode = own
            return changed, f"ComfyUI's own estimate: {why}"

        def memory_used_decode(shape: Any, dtype: Any) -> int:
            """Falls back to ComfyUI's estimate on any error, because an exception here would abort ComfyUI's own decode."""
            try:
                batch, _, frames, height, width = model.picture_shape(decoder_shape(shape, known))
                if frames > 1:  # ComfyUI decodes a few frames at a time, so an untiled decode would tell it too much
                    return own(shape, dtype)
                prediction = headroom_vae.predict(model, height, width, frames, batch, dtype=dtype, device="cuda")
                return prediction.untiled_peak_bytes
            except Exception as why:
                _warn_once(f"Estimate Memory for VAE Decode (Headroom) leaves ComfyUI's own estimate: {why}")
                return own(shape, dtype)

        memory_used_decode.of_comfyui = own
        changed.memory_used_decode = memory_used_decode
        return changed, f"{model.class_name}, {model.latent_channels} latent channels"


NODE_CLASS_MAPPINGS = {"HeadroomVAEDecode": HeadroomVAEDecode, "HeadroomVAEEncode": HeadroomVAEEncode, "HeadroomVAEMemory": HeadroomVAEMemory}
NODE_DISPLAY_NAME_MAPPINGS = {
    "HeadroomVAEDecode": "VAE Decode (Headroom)",
    "HeadroomVAEEncode": "VAE Encode (Headroom)",
    "HeadroomVAEMemory": "Estimate Memory for VAE Decode (Headroom)",
}
