"""The parameters of a module as the decoder reads them, and whether they are still those that it has packed."""

from __future__ import annotations

from typing import Any

from . import _core
from .errors import InputError
from .offloading import finish_transfers, offloaded_value, onload_device


Fingerprint = tuple
"""Another one where a parameter was replaced, moved, or written to."""


class Parameters:
    """Names and tensors of what the decoder reads of a VAE. Nothing is copied but what DLPack cannot hand over."""

    def __init__(self, vae: Any, model: _core.Model):
        self._vae = vae
        self._names = model.parameter_names()

    def tensors(self) -> dict[str, Any]:
        """Contiguous tensors in the CPU's memory, by the module's own names; copies of what is on a GPU. Raises InputError
        naming what has no values."""
        finish_transfers(self._vae)
        ready = {}
        for name, tensor in self._state().items():
            if tensor.device.type == "meta":
                raise InputError(f"{name}: expected values, found none (device meta). Load the VAE again, or leave it out of offloading")
            values = tensor.detach().cpu()
            if values.is_floating_point() and values.element_size() == 1:
                values = values.float()  # layerwise casting keeps weights in 8 bits, and computes with what they are
            ready[name] = values.contiguous()
        return ready

    def fingerprint(self) -> Fingerprint:
        return tuple(
            (name, str(tensor.device), tensor.data_ptr(), tensor.dtype, _version(tensor)) for name, tensor in self._state().items()
        )

    def device(self) -> str:
        """The device that offload hooks name, or else the one that has the parameters: "cpu" if they have no values. Raises
        InputError for parameters on several devices."""
        onload = onload_device(self._vae)
        if onload is not None:
            return onload
        devices = {str(tensor.device) for tensor in self._state().values()} - {"meta"}
        if len(devices) > 1:
            raise InputError(f"parameters on {' and '.join(sorted(devices))}: expected all on one device")
        return devices.pop() if devices else "cpu"

    def release(self) -> None:
        """Drops the module's own copy of what is packed: these parameters have shapes and no values from here on."""
        import torch

        owners = dict(self._vae.named_modules())
        for name in self._state():
            owner, _, leaf = name.rpartition(".")
            module = owners[owner]
            tensor = getattr(module, leaf)
            empty = torch.empty_like(tensor, device="meta")
            if isinstance(tensor, torch.nn.Parameter):
                module._parameters[leaf] = torch.nn.Parameter(empty, requires_grad=False)
            else:
                module._buffers[leaf] = empty

    def _state(self) -> dict[str, Any]:
        wanted = set(self._names)
        found = {}
        for listed in (self._vae.named_parameters(), self._vae.named_buffers()):
            found.update((name, tensor) for name, tensor in listed if name in wanted)
        # Attention of older releases has other names; the decoder knows them.
        if len(found) < len(wanted):
            for listed in (self._vae.named_parameters(), self._vae.named_buffers()):
                found.update((name, tensor) for name, tensor in listed if not name.startswith(("encoder.", "quant_conv.")))
        owners = dict(self._vae.named_modules())
        for name, tensor in found.items():
            if tensor.device.type == "meta":
                owner, _, leaf = name.rpartition(".")
                values = offloaded_value(owners[owner], leaf)
                found[name] = tensor if values is None else values
        return found


def _version(tensor: Any) -> int:
    try:
        return tensor._version
    except (RuntimeError, AttributeError):  # tensors made in inference mode count no writes
        return 0
