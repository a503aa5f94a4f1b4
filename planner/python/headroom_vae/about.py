"""Tells what Headroom can do on this machine, and tries it on a tiny VAE."""

from __future__ import annotations

import json
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Iterator

from . import _core
from .device import free_bytes
from .errors import DeviceError, HeadroomError
from .executors import executor_for

WITHOUT_TORCH = "PyTorch: not installed. Headroom plans without it, and decodes with it"

CHECKED_ERROR = 1e-4
"""Largest difference of check() from the VAE's own decode, relative to the largest magnitude."""


def lines() -> Iterator[str]:
    """Versions, devices, and the code that decodes on each of them."""
    yield f"headroom_vae {_core.__version__}, Python {platform.python_version()}"
    try:
        import torch
    except ImportError:
        yield WITHOUT_TORCH
        return
    yield f"PyTorch {torch.__version__}, {_backend(torch)}; diffusers {_version('diffusers')}"
    yield f"cpu: {_abilities('cpu')}"
    found = list(devices())
    yield from (f"{device}: {name}, {_abilities(device)}" for device, name in found)
    if not found:
        yield "PyTorch finds no GPU"


def devices() -> Iterator[tuple[str, str]]:
    """The GPUs that PyTorch finds, and their names."""
    import torch

    for kind in ("cuda", "xpu"):
        backend = getattr(torch, kind)
        if backend.is_available():
            yield from ((f"{kind}:{number}", backend.get_device_name(number)) for number in range(backend.device_count()))
    if torch.backends.mps.is_available():
        yield "mps", "Apple GPU"


def _backend(torch: Any) -> str:
    if torch.version.hip:
        return f"for ROCm {torch.version.hip}"
    return f"for CUDA {torch.version.cuda}" if torch.version.cuda else "without CUDA"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "is not installed, and enable() needs it for pipelines"


def _abilities(device: str) -> str:
    """The code that decodes on a device, and the memory that is free there."""
    try:
        chosen = executor_for(device)
        free = f"{_core.format_bytes(free_bytes(device))} for a decode"
    except HeadroomError as refused:
        return f"no decodes: {refused}"
    return f"{free}, by Headroom's own code" if chosen.name == "native" else f"{free}, by PyTorch's operations ({chosen.why})"


def check(device: str = "cpu") -> str:
    """Decodes with a tiny VAE of random weights within a limit, and compares the picture with the untiled one. Returns the result in
    words. Raises DeviceError if the pictures differ."""
    import diffusers
    import torch

    from .decoding import enable

    torch.manual_seed(0)
    config = json.loads(_core.built_in_config("sd15"))
    tiny = {name: config[name][:2] for name in ("down_block_types", "up_block_types")}
    vae = getattr(diffusers, config["_class_name"]).from_config({**config, **tiny, "block_out_channels": (32, 64)}).to(device).requires_grad_(False)
    z = torch.randn(1, 4, 48, 48).to(device)
    whole = vae.decode(z).sample
    handle = enable(vae, limit="24MiB", host_limit=0)
    started = time.perf_counter()
    picture = vae.decode(z).sample
    seconds, report = time.perf_counter() - started, handle.report()
    error = float((picture - whole).abs().max() / whole.abs().max())
    size = _core.format_bytes
    result = f"a tiny VAE decoded on {device} in {_core.format_seconds(seconds)}: peak {size(report.peak_bytes)} of {size(24 << 20)}, largest error {error:.1e}"
    if not error <= CHECKED_ERROR:
        raise DeviceError(f"{result}; expected at most {CHECKED_ERROR:.0e}")
    return result
