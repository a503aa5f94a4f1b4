"""A model from whatever a caller has: a diffusers VAE, a folder, a built-in name."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _core
from .errors import InputError, Unsupported

SUPPORTED_CLASSES = tuple(_core.supported_classes())
"""Classes of decoders, by diffusers' names."""


def class_name_of(vae: Any) -> str:
    """The supported class that an object is of. Raises Unsupported."""
    for base in type(vae).__mro__:
        if base.__name__ in SUPPORTED_CLASSES:
            return base.__name__
    raise Unsupported(f"{type(vae).__name__}: expected one of {', '.join(SUPPORTED_CLASSES)}")


def describe(vae: Any) -> _core.Model:
    """The model of a diffusers VAE, of a folder with ``config.json``, or of a built-in name. No weights are read.

    Raises Unsupported where the class or a value of the config is not supported, naming it.
    """
    if isinstance(vae, _core.Model):
        return vae
    if isinstance(vae, (str, os.PathLike)):
        return _core.Model.resolve(os.fspath(vae))
    return model_of(config_text(vae), class_name_of(vae))


def config_text(vae: Any) -> str:
    """The config of a diffusers VAE as JSON. Raises Unsupported and InputError."""
    name = class_name_of(vae)
    config = getattr(vae, "config", None)
    if config is None:
        raise InputError(f"{name}: expected a config, as diffusers' models have")
    return json.dumps({**dict(config), "_class_name": name}, default=_plain)


def model_of(config: str, class_name: str) -> _core.Model:
    """The model of a config as JSON. Raises Unsupported naming the key."""
    try:
        return _core.Model.from_config(config, f"{class_name}.config")
    except InputError as error:
        raise Unsupported(str(error)) from None


def _plain(value: Any) -> Any:
    """For JSON: tuples of a config are lists already; what else there is, is only named."""
    return list(value) if isinstance(value, (set, frozenset)) else str(value)


def dtype_name(dtype: Any) -> str:
    """``"fp32"``, ``"bf16"`` or ``"fp16"`` of a torch dtype or of such a name."""
    names = {
        "fp32": "fp32", "float32": "fp32", "float": "fp32",
        "bf16": "bf16", "bfloat16": "bf16",
        "fp16": "fp16", "float16": "fp16", "half": "fp16",
    }  # fmt: skip
    name = str(dtype).removeprefix("torch.")
    if name not in names:
        raise InputError(f"dtype: expected fp32, bf16 or fp16, found {dtype}")
    return names[name]


def dtype_of(vae: Any, dtype: Any = None) -> str:
    """What a decode runs in where ``dtype`` was asked for; of the VAE's own where that is None."""
    if dtype is None:
        dtype = getattr(vae, "dtype", None) or "fp32"
    return dtype_name(dtype)


def device_of(vae: Any, device: Any = None) -> str:
    """``"cpu"`` or ``"cuda"``."""
    if device is None:
        device = getattr(vae, "device", None) or "cpu"
    name = str(device).split(":")[0]
    if name not in ("cpu", "cuda"):
        raise InputError(f"device: expected cpu or cuda, found {device}")
    return name
