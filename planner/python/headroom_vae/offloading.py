"""Reads offload hooks of accelerate and diffusers: the device that a module runs on, and the weights that hooks keep elsewhere."""

from __future__ import annotations

import functools
import os
from typing import Any, Iterable, Iterator

from .errors import InputError

HOOK_PACKAGES = ("accelerate.hooks", "diffusers.hooks.hooks")
"""Packages whose hooks replace a module's `forward`."""

MOVING_HOOKS = ("accelerate.hooks", "diffusers.hooks.group_offloading", "diffusers.hooks.layerwise_casting", "diffusers.hooks.hooks")
"""Hooks that move or cast weights, and change no value on its way through a module."""


def onload_device(modules: Iterable[Any]) -> str | None:
    """The device that offload hooks move the weights to before a module runs. None without such hooks."""
    for module in modules:
        group = group_of(module)
        if group is not None:
            return _device_name(group.onload_device)
        for hook in _accelerate_hooks(module):
            device = getattr(hook, "execution_device", None)
            if device is not None:
                return _device_name(device)
    return None


def _device_name(device: Any) -> str:
    """``"cpu"``, also for ``cpu:0``, which pipelines make of ``"cpu"``; otherwise torch's name."""
    import torch

    device = torch.device(device)
    return "cpu" if device.type == "cpu" else str(device)


def offload_kind(modules: Iterable[Any]) -> str | None:
    """``"group offload"`` or ``"sequential offload"`` if hooks bring weights to a device module by module. None otherwise."""
    for module in modules:
        if group_of(module) is not None:
            return "group offload"
        if any(getattr(hook, "offload", None) is True for hook in _accelerate_hooks(module)):
            return "sequential offload"
    return None


def offloaded_value(module: Any, name: str) -> Any:
    """A parameter's values that sequential offload keeps outside the module. None if no hook has them."""
    for hook in _accelerate_hooks(module):
        weights = getattr(hook, "weights_map", None)
        if weights is not None and name in weights:
            return weights[name]
    return None


class StoredValue:
    """A tensor that group offload keeps in a file. Meanwhile the module itself has no values for it."""

    def __init__(self, group: Any, key: str):
        self._group, self._path, self._key = group, group.safetensors_file_path, key

    def holds(self) -> bool:
        return self._group._is_offloaded_to_disk

    def fingerprint(self) -> tuple:
        found = os.stat(self._path)
        return self._path, self._key, found.st_mtime_ns, found.st_size

    def load(self) -> Any:
        import safetensors

        try:
            with safetensors.safe_open(self._path, "pt", device="cpu") as file:
                return file.get_tensor(self._key)
        except (OSError, safetensors.SafetensorError) as error:
            raise InputError(f"{self._path}: group offload keeps weights here, which cannot be read: {error}") from None


def stored_values(groups: Iterable[Any]) -> dict[int, StoredValue]:
    """Tensors that these groups of diffusers' group offload keep on disk, by the tensor's id()."""
    on_disk = [group for group in groups if getattr(group, "offload_to_disk_path", None)]
    return {id(tensor): StoredValue(group, key) for group in on_disk for tensor, key in group.tensor_to_key.items()}


def group_of(module: Any) -> Any:
    """A module's group in diffusers' group offload. None if it has no group."""
    registry = vars(module).get("_diffusers_hook")
    hook = None if registry is None else registry.get_hook("group_offloading")
    return None if hook is None else hook.group


def is_hooked_forward(module: Any, forward: Any) -> bool:
    """True if a `forward` calls hooks and then the `forward` of the module's class."""
    while forward is not None:
        if getattr(forward, "__func__", None) is type(module).forward and forward.__self__ is module:
            return True
        called = forward.func if isinstance(forward, functools.partial) else forward
        if getattr(called, "__module__", "") not in HOOK_PACKAGES:
            return False
        inner = getattr(forward, "__wrapped__", None)
        if inner is None or inner is called:  # older releases do not record the wrapped function
            return True
        forward = inner
    return False


def foreign_hook(module: Any) -> Any:
    """The first hook of accelerate or diffusers that may change values. None if all hooks only move or cast weights."""
    registry = vars(module).get("_diffusers_hook")
    hooks = [*_accelerate_hooks(module), *(() if registry is None else registry.hooks.values())]
    return next((hook for hook in hooks if type(hook).__module__ not in MOVING_HOOKS), None)


def _accelerate_hooks(module: Any) -> Iterator[Any]:
    hook = vars(module).get("_hf_hook")
    if hook is not None:
        yield from getattr(hook, "hooks", (hook,))
