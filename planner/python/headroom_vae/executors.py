"""Choice of the code that runs a plan: Headroom's own, or PyTorch's operations on any device that PyTorch has."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Any, NamedTuple

from . import _core
from .device import OTHER_DEVICES, open_decoder, open_streams, require_device, require_number
from .errors import InputError, Unsupported

EXECUTORS = ("auto", "native", "torch")


class Executor(NamedTuple):
    name: str
    """``"native"`` or ``"torch"``."""
    why: str = ""
    """Why it is not Headroom's own code."""

    def planned_device(self, device: str) -> str:
        """The kind of device that the plan is for."""
        return "torch" if self.name == "torch" else device.partition(":")[0]

    def open_decoder(self, model: _core.Model, device: str) -> Any:
        """A decoder on ``device``. Raises DeviceError."""
        if self.name == "native":
            return open_decoder(model, device)
        from .torch_executor import TorchDecoder

        return TorchDecoder(model, device)

    def open_streams(self, model: _core.Model, device: str, dtype: str, tensors: dict[str, Any]) -> _core.Streams:
        """Streams on ``device`` for plans of this dtype, with these tensors on the CPU as weights. Raises DeviceError."""
        if self.name == "native":
            return open_streams(model, device, dtype, tensors)
        from .torch_executor import open_streams as open_torch_streams

        return open_torch_streams(model, device, dtype, tensors)

    def running(self, device: str) -> Any:
        """A context in which plans run on ``device``."""
        if self.name == "native":
            return nullcontext()
        from .torch_executor import own_settings

        return own_settings(device)


NATIVE = Executor("native")


def require_executor(executor: str) -> str:
    """Raises InputError unless there is an executor of this name."""
    if executor not in EXECUTORS:
        raise InputError(f"executor: expected 'auto', 'native' or 'torch', found {executor!r}")
    return executor


def executor_for(device: str, asked: str = "auto", to_use_cpu: str | None = None) -> Executor:
    """The executor of decodes on this device. Raises Unsupported if the asked one cannot run there."""
    advice = {} if to_use_cpu is None else {"to_use_cpu": to_use_cpu}
    if require_executor(asked) == "torch":
        require_number(device)
        return Executor("torch", 'executor="torch"')
    if asked == "native":
        require_device(device, **advice)
        return NATIVE
    try:
        require_device(device, **advice)
    except Unsupported as refused:
        if device.partition(":")[0] not in ("cuda", *OTHER_DEVICES):
            raise
        require_number(device)
        return Executor("torch", refused.reason)
    return NATIVE


def planned_executor(device: str, asked: str = "auto") -> Executor:
    """Like executor_for(), for a prediction: a device that is not there is assumed to run Headroom's own code."""
    kind = device.partition(":")[0]
    if require_executor(asked) == "auto" and kind == "cuda":
        torch = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_available():
            return NATIVE
        return executor_for(device)
    return NATIVE if asked == "native" else executor_for(kind, asked)
