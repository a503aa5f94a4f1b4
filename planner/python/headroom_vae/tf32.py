"""PyTorch's switches for TF32: whether convolutions and matrix products in fp32 may round their inputs on a GPU."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import Any, Iterator

TORCH_DEFAULT = "convolutions"
"""The work that PyTorch does in TF32 unless a switch was set."""


def tf32_of(dtype: str, device: str, asked: str | None = None) -> str:
    """The work of a decode that runs in TF32: ``"all"``, ``"convolutions"``, ``"products"`` or ``"none"``. It is ``asked``, or by default
    that of torch's switches at this moment.

    Only fp32 on a GPU can use TF32. ``dtype`` is the decode's own, after ``force_upcast``."""
    if dtype != "fp32" or device.partition(":")[0] != "cuda":
        return "none"
    if asked is not None:
        return asked
    if "torch" not in sys.modules:
        return TORCH_DEFAULT
    convolutions, products = _convolutions(), _products()
    return ("all" if products else "convolutions") if convolutions else "products" if products else "none"


def assumed(dtype: str, device: str) -> str:
    """A text for a prediction that could not ask torch. Empty if torch is imported, or TF32 is not used."""
    return ", PyTorch's default" if "torch" not in sys.modules and tf32_of(dtype, device) != "none" else ""


def _convolutions() -> bool:
    import torch

    # Before fp32_precision (PyTorch 2.9) there was allow_tf32. It raises an error once a program uses both.
    conv = getattr(torch.backends.cudnn, "conv", None)
    return torch.backends.cudnn.allow_tf32 if conv is None else conv.fp32_precision == "tf32"


def _products() -> bool:
    import torch

    matmul = torch.backends.cuda.matmul
    precision = getattr(matmul, "fp32_precision", None)
    return matmul.allow_tf32 if precision is None else precision == "tf32"


class _Off:
    """TF32 is off while any block of full_fp32() runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks = 0
        self._before: tuple[Any, Any] = (None, None)

    def enter(self) -> None:
        with self._lock:
            if self._blocks == 0:
                self._before = self._set(None)
            self._blocks += 1

    def leave(self) -> None:
        with self._lock:
            self._blocks -= 1
            if self._blocks == 0:
                self._set(self._before)

    @staticmethod
    def _set(values: tuple[Any, Any] | None) -> tuple[Any, Any]:
        """Sets the switches of convolutions and products. None: off. Returns the values before."""
        import torch

        conv, matmul = getattr(torch.backends.cudnn, "conv", torch.backends.cudnn), torch.backends.cuda.matmul
        name, off = ("fp32_precision", "ieee") if hasattr(conv, "fp32_precision") else ("allow_tf32", False)
        before = getattr(conv, name), getattr(matmul, name)
        for part, value in zip((conv, matmul), values or (off, off)):
            setattr(part, name, value)
        return before


_off = _Off()


@contextmanager
def full_fp32() -> Iterator[None]:
    """Turns TF32 off in torch for this block. The switches hold for all threads of the process: they come back when the last of such blocks
    ends."""
    _off.enter()
    try:
        yield
    finally:
        _off.leave()
