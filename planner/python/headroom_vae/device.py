"""Device that a decode runs on, and memory available there."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

from . import _core
from .amounts import auto_limit_bytes
from .errors import InputError, OutOfGpuMemory, Unsupported, join_torch

GPU_MODULE = Path(_core.__file__).with_name("headroom-cuda-lent.so")
"""The module that calls CUDA. It exists only if the package was built with CUDA."""

CUDA_VERSIONS = ("12", "13")
"""Major versions of CUDA whose libraries the module can call, once PyTorch has loaded them."""

LEAST_CAPABILITY = (8, 0)
"""Compute capability that Headroom's own kernels need."""

AUTO_MARGIN_BYTES = 256 << 20
"""Left free on a GPU under ``limit="auto"`` for other programs. If no plan fits, prediction.automatic() leaves less."""

OTHER_DEVICES = ("xpu", "mps")
"""Kinds of devices on which only PyTorch's executor decodes."""

MOVE_TO_CPU = "move the VAE to the CPU"


class TorchMemory:
    """GPU memory for one decode: a single torch tensor on the caller's current stream.

    So torch counts the memory, applies its cap, and can refuse before anything runs."""

    ALIGNMENT_BYTES = 512

    def __init__(self, device: str):
        self.device = device
        self._block: Any = None

    def name(self) -> str:
        import torch

        return f"torch {torch.__version__}"

    def reserve(self, bytes_: int) -> int:
        """Allocates ``bytes_`` bytes and returns their aligned address. Raises OutOfGpuMemory."""
        import torch

        try:
            self._block = torch.empty(bytes_, dtype=torch.uint8, device=self.device)
            if self._block.data_ptr() % self.ALIGNMENT_BYTES != 0:  # never true for torch's own allocator
                self._block = torch.empty(bytes_ + self.ALIGNMENT_BYTES, dtype=torch.uint8, device=self.device)
        except torch.OutOfMemoryError as refused:
            join_torch()
            raise OutOfGpuMemory(f"torch refused {_core.format_bytes(bytes_)}: {str(refused).splitlines()[0]}") from None
        return -(-self._block.data_ptr() // self.ALIGNMENT_BYTES) * self.ALIGNMENT_BYTES

    def stream(self) -> int:
        """The caller's current CUDA stream. Work queued there may still use the memory."""
        import torch

        return torch.cuda.current_stream(self.device).cuda_stream

    def release(self) -> None:
        self._block = None


def decoding_device(device: str, executor: str = "auto") -> str:
    """Device on which a VAE on ``device`` decodes. The CPU if the executor does not run on the device."""
    others = () if executor == "native" else OTHER_DEVICES
    return device if device.partition(":")[0] in ("cpu", "cuda", *others) else "cpu"


def require_device(device: str, to_use_cpu: str = MOVE_TO_CPU) -> None:
    """Raises Unsupported unless Headroom's own code can run on the device. ``to_use_cpu`` tells the user how to use the CPU instead."""
    kind = device.partition(":")[0]
    if kind == "cpu":
        return
    if kind != "cuda":
        raise _refused(device, "Headroom's own code runs on the CPU and on NVIDIA GPUs", f"To use the CPU, {to_use_cpu}")
    if not GPU_MODULE.exists():
        raise _refused(device, "Headroom was built for the CPU only", f"Build it for NVIDIA GPUs (make venv wheel, see Install in docs/python.md), or {to_use_cpu}")
    _require_cuda(device, to_use_cpu)
    require_number(device)
    _require_capability(device, to_use_cpu)


def _refused(device: str, reason: str, advice: str) -> Unsupported:
    refused = Unsupported(f"{device}: {reason}. {advice}")
    refused.reason = reason
    return refused


def _require_cuda(device: str, to_use_cpu: str) -> None:
    """Raises Unsupported unless the process has PyTorch for CUDA, whose libraries the GPU module calls."""
    import torch

    what_to_do = f"Install PyTorch for CUDA {' or '.join(CUDA_VERSIONS)}, or {to_use_cpu}"
    if torch.version.cuda is None or torch.version.cuda.partition(".")[0] not in CUDA_VERSIONS:
        found = "without CUDA"
        if torch.version.hip or torch.version.cuda:
            found = f"for ROCm {torch.version.hip}" if torch.version.hip else f"for CUDA {torch.version.cuda}"
        raise _refused(device, f"expected PyTorch for CUDA {' or '.join(CUDA_VERSIONS)}, found PyTorch {torch.__version__} {found}", what_to_do)
    try:
        module = ctypes.CDLL(os.fspath(GPU_MODULE))
    except OSError as missing:
        raise _refused(device, f"the GPU module cannot be loaded: {str(missing).splitlines()[0]}", what_to_do) from None
    module.headroom_refuses_torch.restype = ctypes.c_char_p
    reason = module.headroom_refuses_torch()
    if reason:
        raise _refused(device, f"the GPU module cannot use PyTorch {torch.__version__} for CUDA {torch.version.cuda}: {reason.decode()}", what_to_do)


def _require_capability(device: str, to_use_cpu: str) -> None:
    """Raises Unsupported for an NVIDIA GPU that is too old for Headroom's kernels. Without a GPU, opening the device says so."""
    import torch

    if not torch.cuda.is_available():
        return
    found = tuple(torch.cuda.get_device_capability(device))
    if found < LEAST_CAPABILITY:
        reason = f"compute capability {found[0]}.{found[1]}, and Headroom's own kernels need {LEAST_CAPABILITY[0]}.{LEAST_CAPABILITY[1]} or later"
        raise _refused(device, reason, f"Use executor=\"auto\", or {to_use_cpu}")


def numbered(device: str) -> str:
    """``device`` with its number: ``"cuda"`` is torch's current GPU."""
    if device not in ("cuda", "xpu"):
        return device
    import torch

    if device == "xpu":
        return f"xpu:{torch.xpu.current_device()}"

    return f"cuda:{torch.cuda.current_device()}" if torch.cuda.is_available() else device


def number_of(device: str) -> int | None:
    """CUDA's number of a GPU such as ``"cuda:1"``. None for the CPU."""
    kind, _, number = device.partition(":")
    return int(number or 0) if kind == "cuda" else None


def require_no_capture(device: str) -> None:
    """Raises Unsupported while the current stream of a GPU records a CUDA graph. A decode waits on the host, which ends the recording."""
    import torch

    if number_of(device) is None or not torch.cuda.is_initialized():
        return
    with torch.cuda.device(device):
        of_device = torch.cuda.is_current_stream_capturing()
    if of_device or torch.cuda.is_current_stream_capturing():
        raise Unsupported("torch.cuda.graph: expected a decode outside of it, because Headroom's decodes wait on the host and cannot be captured")


def require_number(device: str) -> None:
    """Raises InputError if there are GPUs, but not so many. Without any, what uses the GPU says so."""
    import torch

    count, number = torch.cuda.device_count(), number_of(device)
    if number is not None and 0 < count <= number:
        there = "is one GPU, cuda:0" if count == 1 else f"are {count} GPUs, cuda:0 to cuda:{count - 1}"
        raise InputError(f"{device}: there {there}")


def open_decoder(model: _core.Model, device: str) -> _core.Decoder:
    """A decoder of ``model`` on ``device``, which require_device() must accept. Raises DeviceError."""
    number = number_of(device)
    if number is None:
        return _core.cpu_decoder(model)
    return _core.gpu_decoder(model, os.fspath(GPU_MODULE), number, TorchMemory(device))


def open_streams(model: _core.Model, device: str, dtype: str, tensors: dict[str, Any]) -> _core.Streams:
    """Streams of ``model`` on ``device``, which require_device() must accept, for plans of this dtype. Raises DeviceError."""
    import torch

    threads, number = torch.get_num_threads(), number_of(device)
    if number is None:
        return _core.cpu_streams(model, tensors, threads)
    return _core.gpu_streams(model, os.fspath(GPU_MODULE), number, TorchMemory(device), dtype, tensors, threads)


def free_bytes(device: str, held_bytes: int = 0, margin_bytes: int = AUTO_MARGIN_BYTES) -> int:
    """Memory that a decode on the device could use now (``limit="auto"``). On the CPU it includes the decoder's ``held_bytes``.

    On a GPU, ``margin_bytes`` stay free. Raises InputError if there is no GPU."""
    kind = device.partition(":")[0]
    if kind == "cpu":
        return auto_limit_bytes(held_bytes)
    if kind in OTHER_DEVICES:
        return max(0, _free_of_backend(kind, device) - margin_bytes)
    try:
        import torch

        torch.cuda.init()
    except (ImportError, AssertionError, RuntimeError) as missing:
        raise InputError(f"limit='auto': expected bytes, because torch finds no GPU: {str(missing).splitlines()[0]}") from None
    require_number(device)
    device = numbered(device)
    free, total = torch.cuda.mem_get_info(device)
    reserved, allocated = torch.cuda.memory_reserved(device), torch.cuda.memory_allocated(device)
    share = getattr(torch.cuda, "get_per_process_memory_fraction", lambda _: 1.0)(device)
    return max(0, min(free + reserved - allocated, int(total * share) - allocated) - margin_bytes)


def _free_of_backend(kind: str, device: str) -> int:
    """Memory that PyTorch's backend of another vendor could allocate now. Raises InputError if the backend does not tell."""
    import torch

    backend = getattr(torch, kind)
    if hasattr(backend, "recommended_max_memory"):  # MPS
        return backend.recommended_max_memory() - backend.current_allocated_memory()
    try:
        free, _ = backend.mem_get_info(device)
    except (AttributeError, RuntimeError) as missing:
        raise InputError(f"limit='auto': expected bytes, because torch does not tell the free memory of {device}: {missing}") from None
    return free + backend.memory_reserved(device) - backend.memory_allocated(device)
