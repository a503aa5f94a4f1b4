"""Makes a model from a VAE, a pipeline, a folder, or a built-in name. Recognises decoders and encoders without a config, such as ComfyUI's, by
their tensors and by the settings of their modules.

Tensor names are those of the original checkpoints, which ComfyUI keeps. A family's record has them (`original_names` in decoder/families), and
the decoder maps them to diffusers' names itself.
"""

from __future__ import annotations

import inspect
import json
import os
from dataclasses import dataclass, replace
from typing import Any, Callable, Mapping, NamedTuple

from . import _core
from .amounts import file_name
from .described import SUPPORTED_CLASSES, class_name_of, config_text, model_of, vae_of
from .errors import InputError, Unsupported
from .layers import LayerRules
from .original_configs import SCHEMES, Scheme, Shapes, class_of


@dataclass(frozen=True)
class Recognised:
    model: _core.Model
    rules: LayerRules
    """How the module's layers must be set up for the decode to be exact."""
    unscales_latents: bool
    """The module's own decode divides latents by the model's scaling factor. Those of the other modules expect divided latents."""
    clip_remark: str = ""
    """How decoded and encoded clips differ from the module's own results. Empty: they do not."""
    encoder: _core.Model | None = None
    """None: Headroom does not encode with this module."""
    encoder_rules: LayerRules = LayerRules()
    """Like `rules`, for the encode."""
    why_no_encoder: str = ""


def recognise(module: Any) -> Recognised:
    """The decoder of a module, and its encoder if Headroom knows it. Raises Unsupported with the tensor or setting of the decoder that is
    not supported."""
    tensors = module.state_dict()
    config, model = known_model(tensors, module)
    name = config["_class_name"]
    rules = LayerRules(name in _OUTSIDE_PADDING, config.get("decoder_spatial_padding_mode", "zeros"), both_ends=model.frames_in_batch)
    if config.get("use_midblock_gn"):
        rules = replace(rules, norm=(4, 1e-5))
    remark = {class_of("hunyuan_video"): _HUNYUAN_VIDEO_CLIPS, class_of("svd"): _SVD_CLIPS}.get(name, "")
    known = Recognised(model, rules, name == class_of("seedvr2"), remark)
    try:
        config, encoder = known_encoder(tensors, module)
    except (InputError, Unsupported) as why:
        return replace(known, why_no_encoder=str(why))
    padding_mode = config.get("encoder_spatial_padding_mode", "zeros")
    names = list(tensors)
    of_encoder = replace(rules, padding_mode=padding_mode, read=frozenset(encoder.read_names(names)), strided=encoder.strided(names))
    return replace(known, encoder=encoder, encoder_rules=of_encoder)


class Described(NamedTuple):
    model: _core.Model
    config: str
    """JSON. Of a VAE that has none: made from its tensors."""
    foreign: bool
    """True if the class is not diffusers'. Then only a proof tells whether its code computes the same."""


def described(vae: Any) -> Described:
    """The model of a VAE with weights: by its config, or else by the names and shapes of its tensors. Raises Unsupported."""
    try:
        config = config_text(vae)
        return Described(model_of(config, class_name_of(vae)), config, not is_of_diffusers(vae))
    except InputError as refused:
        if is_of_diffusers(vae) or not hasattr(vae, "state_dict"):
            raise
        config = config_of(vae)
        if config is None:  # its tensors have names of no original checkpoint
            raise
        try:
            text = json.dumps(config)
            return Described(model_of(text, config["_class_name"]), text, True)
        except InputError as other:
            raise Unsupported(f"{type(vae).__name__}, recognised by its tensors: {other}") from refused


def is_of_diffusers(vae: Any) -> bool:
    """True if the class of a VAE is a supported one of diffusers, or decodes by its method."""
    bases = [base for base in type(vae).__mro__ if base.__name__ in SUPPORTED_CLASSES and base.__module__.startswith("diffusers.")]
    return bool(bases) and inspect.getattr_static(type(vae), "decode") is inspect.getattr_static(bases[0], "decode")


def describe(vae: Any) -> _core.Model:
    """The model of a VAE or of a pipeline with one, of a folder with ``config.json``, or of a built-in name. Does not read weights. A VAE
    without diffusers' config is recognised by the names and shapes of its tensors.

    Raises Unsupported with the name of an unsupported class or config key.
    """
    vae = vae_of(vae)
    if isinstance(vae, _core.Model):
        return vae
    if isinstance(vae, (str, os.PathLike)):
        return _core.Model.resolve(file_name(vae, "vae"))
    return described(vae).model


def config_of(module: Any) -> dict | None:
    """A config for the tensors of a module, with the encoder's keys if Headroom knows the encoder. None if the tensors have names of no
    original checkpoint. Raises Unsupported."""
    tensors = module.state_dict()
    if _core.original_names(list(tensors)) is None:
        return None
    config, _ = known_model(tensors, module)
    try:
        return known_encoder(tensors, module)[0]
    except (InputError, Unsupported):
        return config


def known_model(tensors: Mapping[str, Any], module: Any = None) -> tuple[dict, _core.Model]:
    """The config and model that have these tensors, by name. Raises Unsupported, also for a tensor that the model does not read."""
    prefix, scheme, own = _own_shapes(tensors)
    config = _described("decoder", scheme.config, own, module)
    model = model_of(json.dumps(config), config["_class_name"])
    _require_all_read(model, tensors, prefix + scheme.decoder, scheme.unread)
    return config, model


def known_encoder(tensors: Mapping[str, Any], module: Any = None) -> tuple[dict, _core.Model]:
    """The config and the encoding model that have these tensors. Raises Unsupported, also for a tensor that the model does not read, and
    InputError for one that is missing or has another shape."""
    prefix, scheme, own = _own_shapes(tensors)
    config = _described("decoder", scheme.config, own, module)
    name, start = config["_class_name"], _encoder_start(prefix)
    own = {**own, **{"encoder." + tensor[len(start) :]: tuple(values.shape) for tensor, values in tensors.items() if tensor.startswith(start)}}
    if scheme.encoder is None or not model_of(json.dumps(config), name).has_encoder:
        raise Unsupported(f"{name}: Headroom does not encode with this class")
    if not any(tensor.startswith("encoder.") for tensor in own):
        raise Unsupported("vae: this VAE has no encoder")
    config |= _described("encoder", scheme.encoder, own, module, config)
    model = model_of(json.dumps(config), config["_class_name"]).for_direction("encode")
    _require_all_read(model, tensors, start, scheme.unread)
    _require_parameters(model, tensors)
    return config, model


def _encoder_start(prefix: str) -> str:
    """Start of the encoder's names. TAESD's decoder has a prefix of its own, such as taesd_decoder."""
    return prefix.removesuffix("decoder.") + "encoder."


def _own_shapes(tensors: Mapping[str, Any]) -> tuple[str, Scheme, Shapes]:
    """The prefix of the VAE's names, their scheme, and the shapes by names without the prefix."""
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    found = _core.original_names(list(shapes))
    if found is None:
        raise Unsupported("vae: Headroom does not recognise this VAE. It recognises the original tensor names of " + ", ".join(_KNOWN[:-1]) + " and " + _KNOWN[-1])
    key, prefix = found
    return prefix, SCHEMES[key], {name[len(prefix) :]: shape for name, shape in shapes.items() if name.startswith(prefix)}


def _described(side: str, config: Callable[..., dict], *given: Any) -> dict:
    try:
        return config(*given)
    except KeyError as error:
        raise Unsupported(f"vae: no tensor {error.args[0]} in the checkpoint") from None
    except (IndexError, ZeroDivisionError):
        raise Unsupported(f"vae: Headroom supports no {side} with tensors of these shapes") from None
    except AttributeError as missing:  # of a module that is not ComfyUI's
        raise Unsupported(f"vae: this {side}'s settings cannot be read: {missing}") from None


def _require_all_read(model: _core.Model, tensors: Mapping[str, Any], start: str, unread: str) -> None:
    """Raises Unsupported for a tensor whose name has this start and that the model does not read."""
    read = set(model.read_names(list(tensors)))
    for name in sorted(tensors):
        if name.startswith(start) and name not in read and not (unread and unread in name):
            raise Unsupported(f"{name}: {model.class_name} has no such tensor, so Headroom does not support this {model.direction}r")


def _require_parameters(model: _core.Model, tensors: Mapping[str, Any]) -> None:
    """Raises InputError with the first parameter that is missing or has another shape."""
    import torch

    # Values are not read. So tensors of the same shapes serve, whatever dtype and device the given ones have. All names tell the scheme.
    read = set(model.read_names(list(tensors)))
    shaped = {name: torch.empty(tuple(tensor.shape) if name in read else 0, dtype=torch.float16) for name, tensor in tensors.items()}
    _core.require_parameters(model, shaped, "vae")


_KNOWN = (
    "Stable Diffusion", "SDXL", "SD3", "FLUX", "FLUX.2", "TAESD", "taehv", "Wan", "Qwen-Image", "HunyuanImage", "HunyuanVideo", "HunyuanVideo 1.5", "LTX",
    "SeedVR2", "Stable Video Diffusion", "CogVideoX",
)  # fmt: skip

_HUNYUAN_VIDEO_CLIPS = (
    "as the model was published: its attention sees earlier frames, its norms the whole clip. ComfyUI's own code lets attention see "
    "all frames and normalises parts of a clip, so its results differ"
)

_SVD_CLIPS = "decoded as one clip. ComfyUI's own decode cuts a clip that does not fit the card, and then norms see fewer frames"

_OUTSIDE_PADDING = (class_of("hunyuan_video"), class_of("hunyuan_video_15"))
"""Classes whose originals pad outside of their convolutions."""
