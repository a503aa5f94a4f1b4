"""PyTorch's switches for TF32: whether convolutions and matrix products in fp32 may round their inputs on a GPU."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import Iterator

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


@contextmanager
def full_fp32() -> Iterator[None]:
    """Turns TF32 off in torch for this block. The switches hold for all threads of the process."""
    import torch

    conv, matmul = getattr(torch.backends.cudnn, "conv", torch.backends.cudnn), torch.backends.cuda.matmul
    name, off = ("fp32_precision", "ieee") if hasattr(conv, "fp32_precision") else ("allow_tf32", False)
    before = getattr(conv, name), getattr(matmul, name)
    setattr(conv, name, off)
    setattr(matmul, name, off)
    try:
        yield
    finally:
        setattr(conv, name, before[0])
        setattr(matmul, name, before[1])
