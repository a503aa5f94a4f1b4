"""Decodes and encodes by PyTorch's own operations, on any device that PyTorch has.

The plan, its passes and its offsets are those of every decode. The extension module calls one method of :class:`Executor` for each
operation of a tile. All tensors are views of one reservation, and the operations' own temporary tensors are small."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Iterator

import torch

from .._core import Model, Plan, Streams, torch_decoder, torch_streams
from ..latents import dtype_names
from ..tf32 import full_fp32
from . import attention, convolution, moves, planes, pointwise, sums
from .memory import Memory
from .peak import AllocatorPeak


class Executor(Memory):
    """The operations of a decode, as methods. Their arguments are those of decoder/gpu/calls/calls.h."""

    gather, copy_box, upsample = moves.gather, moves.copy_box, moves.upsample
    depth_to_space, space_to_depth = moves.depth_to_space, moves.space_to_depth
    unfold_frames, interpolate, fill_outside = moves.unfold_frames, moves.interpolate, moves.fill_outside
    add, activate, gate, modulate = pointwise.add, pointwise.activate, pointwise.gate, pointwise.modulate
    normalise, rms_norm = pointwise.normalise, pointwise.rms_norm
    add_moments, affine = sums.add_moments, sums.affine
    add_key_value_sums, linear_attention = sums.add_key_value_sums, sums.linear_attention
    convolve, attend = convolution.convolve, attention.attend
    load_planes, emit_planes, emit = planes.load_planes, planes.emit_planes, planes.emit
    check_finite, pack = planes.check_finite, planes.pack

    def __init__(self, device: str):
        super().__init__(device)
        self.flags = planes.Flags()

    def device_name(self) -> str:
        return f"{self.device} by PyTorch's operations"

    def libraries(self) -> str:
        return f"torch {torch.__version__}"

    def synchronize(self) -> None:
        self.flags.write()


@contextmanager
def own_settings(device: str) -> Iterator[None]:
    """Turns off the caller's gradients, autocast and TF32 while a plan runs on ``device``."""
    with torch.no_grad(), torch.autocast(torch.device(device).type, enabled=False), full_fp32():
        yield


def open_streams(model: Model, device: str, dtype: str, tensors: dict[str, Any]) -> Streams:
    """Streams on ``device`` for plans of this dtype, with these tensors on the CPU as weights."""
    return torch_streams(model, Executor(device), dtype, tensors, torch.get_num_threads())


class TorchDecoder:
    """A ``_core.Decoder`` whose operations are PyTorch's. It reads the caller's tensors where they are, on the device."""

    def __init__(self, model: Model, device: str):
        self._executor = Executor(device)
        self._decoder = torch_decoder(model, self._executor)

    def decode(self, plan: Plan, tensors: dict[str, Any], latent: Any, out: Any, **options: Any) -> str:
        """Decodes like ``_core.Decoder.decode``, but all tensors are torch's, and ``tensors`` is never None. The figures have
        ``allocated_peak_bytes`` too, or None if the backend does not count."""
        executor = self._executor
        memory: Callable[[], Any] = out if callable(out) else lambda: out
        with ExitStack() as until_done, own_settings(executor.device.type):
            until_done.callback(executor.forget_lent)
            peak = until_done.enter_context(AllocatorPeak(executor.device))
            weights = {name: self._lent(tensor) for name, tensor in tensors.items()}
            run = json.loads(self._decoder.decode(plan, weights, self._lent(latent), lambda: self._lent(memory()), **options))
            if self._decoder.keeps_folded():
                self._decoder.drop_weights()  # the next decode folds the parameters that it finds then
        return json.dumps({**run, "allocated_peak_bytes": peak.bytes})

    def _lent(self, tensor: Any) -> tuple:
        tensor = tensor.detach()
        return self._executor.lend(tensor), dtype_names()[tensor.dtype], tuple(tensor.shape), tuple(tensor.stride())

    def has_weights(self, plan: Plan) -> bool:
        return False

    def keeps_folded(self) -> bool:
        return False

    def drop_weights(self) -> None:
        pass

    def held_bytes(self) -> int:
        return 0
