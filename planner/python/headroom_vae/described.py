"""Reads class, config, dtype and device of a VAE, or of the one that a pipeline has."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _core
from .amounts import file_name
from .compiled import followed
from .device import OTHER_DEVICES, decoding_device
from .errors import InputError, Unsupported

SUPPORTED_CLASSES = tuple(_core.supported_classes())
"""Classes of decoders, by diffusers' names."""


def vae_of(vae_or_pipe: Any) -> Any:
    """The VAE of a pipeline. Anything else is returned unchanged, but for compiled VAEs, which are unwrapped.

    Raises InputError for a class, and Unsupported for a pipeline without a VAE."""
    if isinstance(vae_or_pipe, type):
        name = vae_or_pipe.__name__
        raise InputError(f"{name} is a class; expected an object, such as {name}.from_pretrained(…) returns")
    vae = getattr(vae_or_pipe, "vae", None)
    inner = getattr(vae_or_pipe, "model", None)
    if vae is None and not hasattr(vae_or_pipe, "state_dict") and hasattr(inner, "state_dict") and hasattr(inner, "decode"):
        vae = inner  # a VAE's wrapper that is no module, such as Wan's
    if vae is None and any(base.__name__ == "DiffusionPipeline" for base in type(vae_or_pipe).__mro__):
        raise Unsupported(f"{type(vae_or_pipe).__name__}: this pipeline has no VAE")
    return followed(vae_or_pipe if vae is None else vae)


def loaded_vae_of(vae_or_pipe: Any) -> Any:
    """Like vae_of(), but requires a VAE with weights. Raises InputError for names and folders."""
    vae = vae_of(vae_or_pipe)
    if isinstance(vae, (str, os.PathLike)):
        raise InputError(f"expected a VAE or a pipeline, found the name {os.fspath(vae)!r}; load it first, by from_pretrained(…)")
    if not hasattr(vae, "__dict__") or isinstance(vae, _core.Model):
        class_name_of(vae)
    return vae


def class_name_of(vae: Any) -> str:
    """Name of the supported class that an object belongs to. Raises Unsupported."""
    for base in type(vae).__mro__:
        if base.__name__ in SUPPORTED_CLASSES:
            return base.__name__
    inner = getattr(vae, "module", None)  # DataParallel, DistributedDataParallel and others
    if any(base.__name__ in SUPPORTED_CLASSES for base in type(inner).__mro__):
        raise Unsupported(f"{type(vae).__name__} wraps an {type(inner).__name__}. Enable its .module instead")
    raise Unsupported(f"{type(vae).__name__}: expected one of {', '.join(SUPPORTED_CLASSES)}")


def output_name(path: Any, argument: str, vae: Any) -> str:
    """Checks the name of an output file. Raises InputError if its folder does not exist, or if it is in the folder that the VAE
    was loaded from."""
    name = file_name(path, argument)
    if not os.path.isdir(os.path.dirname(name) or "."):
        raise InputError(f"{argument}: {name}: cannot be written: expected a folder that exists")
    _core.require_apart(name, str(getattr(getattr(vae, "config", None), "_name_or_path", None) or ""))
    return name


def config_text(vae: Any) -> str:
    """The config of a diffusers VAE as JSON. Raises Unsupported and InputError."""
    name = class_name_of(vae)
    config = getattr(vae, "config", None)
    try:
        values = dict(config)
    except (TypeError, ValueError):
        raise InputError(f"{name}: expected a config, as diffusers' models have, found {type(config).__name__}") from None
    return json.dumps({**values, "_class_name": name}, default=_plain)


def model_of(config: str, class_name: str) -> _core.Model:
    """The model of a config in JSON. Raises Unsupported with the key."""
    try:
        return _core.Model.from_config(config, f"{class_name}.config")
    except InputError as error:
        raise Unsupported(str(error)) from None


def _plain(value: Any) -> Any:
    """JSON fallback: sets become lists, and other values become text."""
    return list(value) if isinstance(value, (set, frozenset)) else str(value)


def dtype_name(dtype: Any) -> str:
    """``"fp32"``, ``"bf16"`` or ``"fp16"`` for a torch dtype or for one of these names."""
    names = {
        "fp32": "fp32", "float32": "fp32", "float": "fp32",
        "bf16": "bf16", "bfloat16": "bf16",
        "fp16": "fp16", "float16": "fp16", "half": "fp16",
    }  # fmt: skip
    name = str(dtype).removeprefix("torch.")
    if name not in names:
        raise InputError(f"dtype: expected fp32, bf16 or fp16, found {name!r}")
    return names[name]


def require_precision(model: _core.Model, dtype: str | None) -> None:
    """Raises InputError for a dtype in which the model overflows."""
    if dtype == "fp16" and model.decoding_dtype("fp16") != "fp16":
        raise InputError(f"dtype: {model.name} overflows in fp16, as force_upcast in its config says. Expected 'bf16' or 'fp32'")


def dtype_in_use(vae: Any) -> Any:
    """torch's dtype of a VAE: fp32 if it has no weights."""
    import torch

    own = getattr(vae, "dtype", None)
    return own if isinstance(own, torch.dtype) else next((weight.dtype for weight in vae.parameters()), torch.float32)


def dtype_of(vae: Any, dtype: Any = None) -> str:
    """Name of ``dtype``, or of the VAE's dtype if it is None."""
    if dtype is None:
        vae = vae_of(vae)
        dtype = dtype_in_use(vae) if hasattr(vae, "parameters") else getattr(vae, "dtype", None) or "fp32"
    return dtype_name(dtype)


def device_of(vae: Any, device: Any = None) -> str:
    """``"cpu"``, ``"cuda"`` or a GPU such as ``"cuda:1"``. If ``device`` is None, the device that the VAE decodes on."""
    if device is None:
        return decoding_device(str(getattr(vae_of(vae), "device", None) or "cpu"))
    name = str(device)
    kind, colon, number = name.partition(":")
    if kind not in ("cpu", "cuda", *OTHER_DEVICES) or (colon and not number.isdecimal()):
        raise InputError(f"device: expected cpu, cuda, cuda:N, xpu or mps, found {name!r}")
    return "cpu" if kind == "cpu" else name
