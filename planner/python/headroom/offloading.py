"""Offload hooks of accelerate and diffusers: the device that a module runs on, and its weights while they are elsewhere."""

from __future__ import annotations

from typing import Any, Iterator

from .errors import InputError


def onload_device(vae: Any) -> str | None:
    """The device that offload hooks bring a module's weights to when it runs. None without such hooks."""
    import torch

    for module in vae.modules():
        group = _group(module)
        if group is not None:
            return str(torch.device(group.onload_device))
        for hook in _accelerate_hooks(module):
            device = getattr(hook, "execution_device", None)
            if device is not None:
                return str(torch.device(device))
    return None


def offloaded_value(module: Any, name: str) -> Any:
    """The values of a parameter that sequential offload keeps outside of the module. None where no hook has them."""
    for hook in _accelerate_hooks(module):
        weights = getattr(hook, "weights_map", None)
        if weights is not None and name in weights:
            return weights[name]
    return None


def finish_transfers(vae: Any) -> None:
    """Waits for weights that group offload is moving on streams of its own. Raises InputError for weights on a disk."""
    streams = set()
    for module in vae.modules():
        group = _group(module)
        if group is None:
            continue
        if getattr(group, "offload_to_disk_path", None):
            raise InputError(
                f"{type(vae).__name__}: group offload keeps its weights in {group.offload_to_disk_path}; expected them in memory. "
                "Leave out offload_to_disk_path for the VAE, or leave out the VAE by exclude_modules=['vae']"
            )
        if group.stream is not None:
            streams.add(group.stream)
    for stream in streams:
        stream.synchronize()


def _group(module: Any) -> Any:
    """The group of diffusers' group offload that a module is in."""
    registry = vars(module).get("_diffusers_hook")
    hook = None if registry is None else registry.get_hook("group_offloading")
    return None if hook is None else hook.group


def _accelerate_hooks(module: Any) -> Iterator[Any]:
    hook = vars(module).get("_hf_hook")
    if hook is not None:
        yield from getattr(hook, "hooks", (hook,))
