"""What a decode would take, known before it runs."""

from __future__ import annotations

import json
import os
import re
from functools import cached_property
from typing import Any

from . import _core
from .amounts import limit_bytes
from .described import describe, device_of, dtype_of
from .device import free_bytes
from .errors import DoesNotFit, InputError


class Prediction:
    """What :func:`predict` found. Attributes in bytes and seconds.

    ``peak_bytes``, ``seconds`` and ``plan`` are of the fastest decode under the limit; None where nothing fits it.
    ``smallest_limit_bytes`` and ``remedies`` are searched for when they are first asked for, which may take a second.
    """

    def __init__(self, planner: _core.Planner, what: str, limit: int | None):
        self._planner = planner
        self.what = what
        """The request in words."""
        self.limit_bytes = limit
        self.untiled_peak_bytes: int = planner.untiled_peak_bytes()
        """Of the decode without tiles, weights included."""
        self.plan: _core.Plan | None = planner.plan(limit)

    @property
    def fits(self) -> bool:
        return self.plan is not None

    @property
    def peak_bytes(self) -> int | None:
        return self.plan.peak_bytes if self.plan else None

    @property
    def seconds(self) -> float | None:
        return self.plan.seconds if self.plan else None

    @property
    def assumed(self) -> bool:
        """Times are by stated assumptions; with ``profile=`` they are by measurements of this machine."""
        return self.plan.assumed if self.plan else True

    @cached_property
    def smallest_limit_bytes(self) -> int:
        """Below it no plan exists: exact, and slower than with more."""
        return self._planner.smallest().limit_bytes

    @cached_property
    def remedies(self) -> tuple[dict, ...]:
        """Where nothing fits: what would help, as dicts with ``change``, ``fits`` and what it takes."""
        return () if self.fits else self._why_not[1]

    @cached_property
    def _why_not(self) -> tuple[str, tuple[dict, ...]]:
        text, document = self._planner.why_not(self.limit_bytes)
        remedies = json.loads(document)["relaxations"]
        return _in_python(text), tuple({**remedy, "change": _in_python(remedy["change"])} for remedy in remedies)

    def require(self) -> _core.Plan:
        """The plan. Raises DoesNotFit, which says what would help."""
        if self.plan is None:
            raise DoesNotFit(self._why_not[0], self.smallest_limit_bytes, self._why_not[1])
        return self.plan

    def __str__(self) -> str:
        size = _core.format_bytes
        lines = [f"{self.what}: untiled {size(self.untiled_peak_bytes)}"]
        if self.plan is None:
            return f"{lines[0]}\n{self._why_not[0]}"
        under = "without a limit" if self.limit_bytes is None else f"under {size(self.limit_bytes)}"
        by = " by assumed costs" if self.assumed else ""
        lines.append(f"{under}: peak {size(self.plan.peak_bytes)}, {_core.format_seconds(self.plan.seconds)}{by}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from .notebook import prediction_html

        return prediction_html(self)


def _in_python(text: str) -> str:
    """Options of headroom-plan as arguments: ``scratch=DIR`` for ``--scratch DIR``."""
    text = re.sub(r"--([a-z-]+) (?=DIR|auto|bf16|fp16)", r"--\1=", text)
    return re.sub(r"--([a-z-]+)", lambda found: found[1].replace("-", "_"), text)


def planner_of(
    vae: Any,
    height: int,
    width: int,
    frames: int = 1,
    batch: int = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    **options: Any,
) -> tuple[_core.Planner, str]:
    """The planner of a request, and the request in words."""
    model = describe(vae).for_frames(frames)
    dtype = model.decoding_dtype(dtype_of(vae, dtype))
    planner = _core.Planner(
        model, width=width, height=height, frames=frames, batch=batch, dtype=dtype, device=device_of(vae, device), **options
    )
    size = f"{width}x{height}" + (f", {frames} frames" if frames > 1 else "") + (f", batch {batch}" if batch > 1 else "")
    return planner, f"{model.name} {size} {dtype}"


def predict(
    vae: Any,
    height: int,
    width: int,
    frames: int = 1,
    batch: int = 1,
    dtype: Any = None,
    device: Any = None,
    limit: int | str | None = None,
    *,
    host_limit: int | str = 0,
    scratch: str | None = None,
    profile: str | None = None,
) -> Prediction:
    """What decoding a picture or clip of this many pixels would take. Milliseconds; nothing is loaded or decoded.

    Args:
        vae: a diffusers VAE, a folder with ``config.json``, or a built-in name such as ``"sdxl"``.
        height, width: of the picture, in pixels.
        frames: of a clip; 1 for a picture.
        batch: pictures or clips in the latent.
        dtype: ``"fp32"``, ``"bf16"``, ``"fp16"`` or torch's; the VAE's own where it is None.
        device: ``"cpu"`` or ``"cuda"``; the VAE's own where it is None. No GPU is needed to predict for one.
        limit: bytes, ``"8GiB"``, ``"auto"`` for what is free there now, None for as much as is of use.
        host_limit: on a GPU, host memory for tensors that do not fit the device.
        scratch: on a CPU, a folder on a disk for tensors that do not fit memory.
        profile: a file of headroom-profile, measured on this machine; times are assumed without.

    Raises:
        Unsupported: a class or config that Headroom does not decode, naming it.
        InputError: sizes that no latent has.
    """
    planner, what = planner_of(
        vae, height, width, frames, batch, dtype=dtype, device=device,
        **planner_options(host_limit, scratch, profile),
    )  # fmt: skip
    return Prediction(planner, what, free_bytes(device_of(vae, device)) if limit == "auto" else limit_bytes(limit))


def plan(vae: Any, height: int, width: int, frames: int = 1, batch: int = 1, **options: Any) -> _core.Plan:
    """The fastest plan under ``limit=``; arguments as of :func:`predict`. ``plan.explain()`` has it as a tree of passes,
    ``plan.save(file)`` writes what headroom-decode runs. Raises DoesNotFit."""
    return predict(vae, height, width, frames, batch, **options).require()


def explain(vae: Any, height: int, width: int, frames: int = 1, batch: int = 1, **options: Any) -> str:
    """The plan of :func:`plan` for people."""
    return plan(vae, height, width, frames, batch, **options).explain()


def planner_options(host_limit: int | str = 0, scratch: str | None = None, profile: str | None = None) -> dict[str, Any]:
    """Keywords of the planner."""
    options: dict[str, Any] = {"host_limit_bytes": limit_bytes(host_limit, "host_limit") or 0, "profile": profile or ""}
    if scratch is not None:
        options |= {"scratch_folder": str(scratch), "scratch_limit_bytes": _free_disk_bytes(str(scratch))}
    return options


def _free_disk_bytes(folder: str) -> int:
    try:
        disk = os.statvfs(folder)
    except OSError as error:
        raise InputError(f"scratch: {folder}: expected a folder that exists ({error.strerror})") from None
    return disk.f_bavail * disk.f_frsize
