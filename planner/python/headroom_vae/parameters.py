"""Reads a module's parameters for the decoder, and detects whether they changed since it packed them."""

from __future__ import annotations

import weakref
from typing import Any, Callable, NamedTuple

from . import _core
from .changes import is_fused, used_modules
from .device import number_of
from .errors import InputError
from .gate import has_storage
from .latents import dtype_names
from .offloading import StoredValue, group_of, offload_kind, offloaded_value, onload_device, stored_values
from .time_step import TimeStep

Fingerprint = tuple
"""Another one where a value of a parameter has changed, however it was written."""

Stretches = list[tuple[int, int]]


class Place(NamedTuple):
    """Place of a tensor in a module. `third` is the index of the part (0, 1, 2) in a fused QKV projection."""

    name: str
    module: Any
    held: dict[str, Any]
    leaf: str
    third: int | None = None


class Parameters:
    """The parameters and buffers of a VAE that the decoder reads, by name. Valid until a module of the VAE is replaced.

    Copies only values that DLPack cannot share."""

    def __init__(self, vae: Any, model: _core.Model, time_step: TimeStep | None = None):
        """`time_step` adds the parameters that it computes."""
        modules = [*used_modules(vae, model.direction)]
        self._vae = weakref.ref(vae)
        self._modules = [module for _, module in modules]
        computed = {} if time_step is None else time_step.values
        self._places = _places(modules, set(model.parameter_names()) - computed.keys())
        self._places += [Place(name, None, computed, name) for name in computed]
        self._sources = [] if time_step is None else [*time_step.sources()]
        groups = [group for group in map(group_of, (vae, *self._modules)) if group is not None]
        self._streams = {group.stream for group in groups} - {None}
        self._stored = stored_values(groups)
        self._cells = [(place.held, place.leaf) for place in self._places]
        self._plain = not self._stored and all(place.third is None for place in self._places)

    def tensors(self) -> dict[str, Any]:
        """Contiguous tensors in the CPU's memory, by the module's own names. Tensors on other devices are copied.

        Raises InputError with the name of a tensor without values."""
        self._finish_transfers()
        ready = {}
        for place, tensor in zip(self._places, self._found()):
            if isinstance(tensor, StoredValue):
                tensor = _part(tensor.load(), place)
            values = tensor.detach().cpu()
            if values.is_floating_point() and values.element_size() == 1:
                values = values.float()  # layerwise casting stores 8-bit weights and computes with their values
            ready[place.name] = values.contiguous()
        return ready

    def on(self, device: str) -> dict[str, Any]:
        """The tensors on a device, in any layout, as PyTorch's executor reads them. Tensors on other devices are copied."""
        if device == "cpu":
            return self.tensors()
        self._finish_transfers()
        names = dtype_names()
        if any(isinstance(tensor, StoredValue) for tensor in self._found()):
            return {name: tensor.to(device) for name, tensor in self.tensors().items()}
        found = {place.name: tensor.detach().to(device) for place, tensor in zip(self._places, self._found())}
        return {name: tensor if tensor.dtype in names else tensor.float() for name, tensor in found.items()}

    def on_card(self, device: str) -> tuple[dict[str, tuple], list[Any]] | None:
        """The tensors as a decoder on ``device``, a GPU, reads them in its memory, and references that keep them alive. None unless
        all of them are there, in a dtype that it reads."""
        import torch

        self._finish_transfers()
        index, names, found = torch.device(device).index or 0, dtype_names(), self._found()
        for tensor in found:
            if isinstance(tensor, StoredValue) or not tensor.is_cuda or tensor.get_device() != index or tensor.dtype not in names:
                return None
            if not has_storage(tensor):
                return None  # fingerprint() says which
        arrays = {
            place.name: (tensor.data_ptr(), names[tensor.dtype], tensor.shape, tensor.stride()) for place, tensor in zip(self._places, found)
        }
        return arrays, found

    def fingerprint(self, device: str = "cpu", on_device: Callable[[Stretches], list[int]] | None = None) -> Fingerprint:
        """Checksums and layouts of all values.

        If `device` is a GPU, `on_device` computes checksums of values there. Values on other devices are copied to the CPU."""
        self._finish_transfers()
        gpu = number_of(device)
        kept, layouts, here, there = [], [], [], []
        for place, tensor in zip(self._places, self._found()):
            if not isinstance(tensor, StoredValue) and not has_storage(tensor):
                raise InputError(f"{place.name}: expected values, found a tensor whose storage was freed")
            if isinstance(tensor, StoredValue):
                layouts.append((tensor.fingerprint(), None, 0))
                continue
            if not (tensor.is_cpu or (tensor.is_cuda and tensor.get_device() == gpu)):
                tensor = tensor.detach().cpu()
            if not _is_dense(tensor):
                tensor = tensor.detach().contiguous()
            kept.append(tensor)  # keeps the memory alive until the checksums are done
            stretches = here if tensor.is_cpu else there
            strides = None if tensor.is_contiguous() else tensor.stride()
            layouts.append(((tensor.dtype, tensor.shape, strides), stretches, len(stretches)))
            stretches.append((tensor.data_ptr(), tensor.nbytes))
        sums_here = _core.checksums(here) if here else []
        sums_there = on_device(there) if there else []
        return tuple((layout, None if of is None else (sums_here if of is here else sums_there)[at]) for layout, of, at in layouts)

    def trained(self) -> list[tuple[dict[str, Any], str]]:
        """Cells, as (dict, key), of parameters that require gradients."""
        return [(held, leaf) for held, leaf in (*self._cells, *self._sources) if held[leaf].requires_grad]

    def device(self) -> str:
        """The device that offload hooks name, or else the device of the parameters. "cpu" if the parameters have no values.

        Raises InputError for parameters on several devices."""
        onload = onload_device((self._vae(), *self._modules))
        if onload is not None:
            return onload
        devices = {str(place.held[place.leaf].device) for place in self._places} - {"meta"}
        if len(devices) > 1:
            raise InputError(f"parameters on {' and '.join(sorted(devices))}: expected all on one device")
        return devices.pop() if devices else "cpu"

    def running_device(self) -> str:
        """The device on which the module's own code can run now. Hooks of whole models move it only before a pipeline's call. Raises InputError
        with the name of a tensor without values."""
        if self.offload_kind() is not None:
            return self.device()
        return next((str(tensor.device) for tensor in self._found()), "cpu")

    def offload_kind(self) -> str | None:
        """How hooks bring weights to a device module by module: ``"group offload"`` or ``"sequential offload"``. None without them."""
        return offload_kind((self._vae(), *self._modules))

    def release(self) -> None:
        """Drops the module's own copy of the packed parameters. They keep their shapes and lose their values."""
        import torch

        for place in self._places:
            tensor = place.held[place.leaf]
            empty = torch.empty_like(tensor, device="meta")
            is_parameter = isinstance(tensor, torch.nn.Parameter)
            place.held[place.leaf] = torch.nn.Parameter(empty, requires_grad=False) if is_parameter else empty

    def _found(self) -> list[Any]:
        """The tensor of each place, or a StoredValue if a file has it. Raises InputError with the name of a tensor without values."""
        tensors = [held[leaf] for held, leaf in self._cells]
        if self._plain and not any(tensor.is_meta for tensor in tensors):
            return tensors
        return [self._value(place, tensor) for place, tensor in zip(self._places, tensors)]

    def _value(self, place: Place, tensor: Any) -> Any:
        stored = self._stored.get(id(tensor))
        if stored is not None and stored.holds():
            return stored
        if tensor.is_meta:
            values = offloaded_value(place.module, place.leaf)
            if values is None:
                raise InputError(f"{place.name}: expected values, found none (device meta). Load the VAE again, or leave it out of offloading")
            tensor = values
        return _part(tensor, place)

    def _finish_transfers(self) -> None:
        """Waits until group offload has finished moving weights on its own streams."""
        for stream in self._streams:
            stream.synchronize()


def _places(modules: list[tuple[str, Any]], wanted: set[str]) -> list[Place]:
    found: dict[str, Place] = {}
    for name, module in modules:
        for held in (module._parameters, module._buffers):
            for leaf, tensor in held.items():
                if tensor is not None:
                    found[f"{name}.{leaf}"] = Place(f"{name}.{leaf}", module, held, leaf)
    for name, module in modules:
        if is_fused(module):
            for third, projection in enumerate(("to_q", "to_k", "to_v")):
                for leaf in ("weight", "bias"):
                    fused = found.pop(f"{name}.to_qkv.{leaf}", None) if third == 2 else found.get(f"{name}.to_qkv.{leaf}")
                    if fused is not None:
                        found[f"{name}.{projection}.{leaf}"] = fused._replace(name=f"{name}.{projection}.{leaf}", third=third)
    # Older releases name attention parameters differently. The decoder knows these names, too.
    if wanted <= found.keys():
        return [found[name] for name in sorted(wanted)]
    return list(found.values())


def _part(tensor: Any, place: Place) -> Any:
    return tensor if place.third is None else tensor.chunk(3)[place.third]


def _is_dense(tensor: Any) -> bool:
    """True if the values fill one contiguous block of memory, in any order."""
    import torch

    if tensor.is_contiguous():
        return True
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return tensor.dim() in formats and tensor.is_contiguous(memory_format=formats[tensor.dim()])
