"""Prediction of a decode's memory and time before it runs."""

from __future__ import annotations

import json
import os
from functools import cached_property
from typing import Any

from . import _core
from .amounts import THRIFT, any_case, file_name, limit_bytes, share, whole_size
from .checkpoints import describe
from .described import device_of, dtype_of
from .device import free_bytes
from .errors import DoesNotFit, InputError, in_python
from .executors import NATIVE, planned_executor
from .stream_prediction import StreamPrediction, stream_planner
from .tf32 import assumed, tf32_of


class Prediction:
    """Result of :func:`predict`. Attributes are in bytes and seconds.

    ``peak_bytes``, ``seconds`` and ``plan`` describe the fastest decode under the limit. They are None if no plan fits.
    ``smallest_limit_bytes`` and ``remedies`` are computed on first access, which may take a second.
    """

    def __init__(self, planner: _core.Planner, what: str, limit: int | None, device: str, remark: str = ""):
        self._planner = planner
        self._remark = remark  # for the error if nothing fits: the source of the limit
        self._on_gpu = device != "cpu"
        self.what = what
        """The request in words."""
        self.limit_bytes = limit
        self.untiled_peak_bytes: int = planner.untiled_peak_bytes()
        """Peak of the decode without tiles, weights included. On a GPU the decode takes more: this leaves out the memory of cuDNN."""
        self.plan: _core.Plan | None = planner.plan(limit)

    @property
    def fits(self) -> bool:
        """True if a plan fits the limit."""
        return self.plan is not None

    @property
    def peak_bytes(self) -> int | None:
        """Peak of the fastest decode under the limit. None if nothing fits."""
        return self.plan.peak_bytes if self.plan else None

    @property
    def seconds(self) -> float | None:
        """Predicted time of the fastest decode under the limit. None if nothing fits."""
        return self.plan.seconds if self.plan else None

    @property
    def assumed(self) -> bool:
        """True if times come from assumed speeds. With ``profile=`` they come from measurements on this machine."""
        return self.plan.assumed if self.plan else True

    @cached_property
    def smallest_limit_bytes(self) -> int:
        """No plan exists below this limit. The decode under it is exact, but slower than with more memory."""
        return self._planner.smallest().limit_bytes

    @cached_property
    def remedies(self) -> tuple[dict, ...]:
        """Changes that would help if nothing fits, as dicts with ``change``, ``fits`` and the memory and time they take."""
        return () if self.fits else self._why_not[1]

    @cached_property
    def _why_not(self) -> tuple[str, tuple[dict, ...]]:
        text, document = self._planner.why_not(self.limit_bytes)
        remedies = json.loads(document)["relaxations"]
        return in_python(text) + self._remark, tuple({**remedy, "change": in_python(remedy["change"])} for remedy in remedies)

    def require(self) -> _core.Plan:
        """Returns the plan. Raises DoesNotFit with changes that would help."""
        if self.plan is None:
            raise DoesNotFit(self._why_not[0], self.smallest_limit_bytes, self._why_not[1])
        return self.plan

    @property
    def untiled_text(self) -> str:
        """The untiled peak in words."""
        return ("at least " if self._on_gpu else "") + _core.format_bytes(self.untiled_peak_bytes)

    def __str__(self) -> str:
        size = _core.format_bytes
        lines = [f"{self.what}: untiled {self.untiled_text}"]
        if self.plan is None:
            return f"{lines[0]}\n{self._why_not[0]}"
        under = "without a limit" if self.limit_bytes is None else f"under {size(self.limit_bytes)}"
        seconds = _core.format_seconds(self.plan.seconds) + self.plan.assumed_text
        lines.append(f"{under}: peak {size(self.plan.peak_bytes)}{self.plan.returned_text}, {seconds}")
        if self.plan.above_untiled_remark:
            lines.append(self.plan.above_untiled_remark)
        return "\n".join(lines)

    __repr__ = __str__


def _plan_text(plan: _core.Plan) -> str:
    under = f"under {_core.format_bytes(plan.limit_bytes)}: peak {_core.format_bytes(plan.peak_bytes)}"
    in_tf32 = f"in {plan.dtype}{plan.tf32_text} " if plan.tf32_text else ""
    return f"<plan {in_tf32}{under}, {_core.format_seconds(plan.seconds)}{plan.assumed_text}>"


def _explain(plan: _core.Plan) -> str:
    """The passes in order: what each takes, makes and releases, its time and its peak."""
    return in_python(_core_explain(plan))


_core_explain = _core.Plan.explain
_core.Plan.explain = _explain
_core.Plan.__repr__ = _plan_text


def planner_of(
    vae: Any,
    height: int,
    width: int,
    frames: int = 1,
    batch: int = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    direction: str = "decode",
    executor: str = "auto",
    **options: Any,
) -> tuple[_core.Planner, str]:
    """The planner of a request, and a text that describes the request."""
    size = batch, frames, height, width = whole_size(height, width, frames, batch)
    model = describe(vae).for_direction(direction).for_frames(frames)
    asked = dtype_of(vae, dtype)
    dtype = model.decoding_dtype(asked)
    chosen = planned_executor(device_of(vae, device), executor)
    device = chosen.planned_device(device_of(vae, device))
    if device == "cpu" and options.get("host_limit_bytes"):
        raise InputError('host_limit: not on the CPU, whose memory is the host\'s: use scratch=DIR, or device="cuda"')
    if device != "cpu" and options.get("scratch_folder"):
        raise InputError("scratch: not on a GPU: use host_limit=BYTES" if chosen is NATIVE else f"scratch: not with PyTorch's executor ({chosen.why})")
    tf32 = tf32_of(dtype, device)
    planner = _core.Planner(
        model, width=width, height=height, frames=frames, batch=batch, dtype=dtype, device=device, tf32=tf32, picture_dtype=asked, **options
    )
    return planner, request_words(model, size, asked, tf32) + assumed(dtype, device)


def request_words(model: _core.Model, size: tuple[int, int, int, int], asked: str, tf32: str, precision: str | None = None) -> str:
    """Text that describes a decode of (batch, frames, height, width) in the dtype ``asked``, with this work in TF32. The arithmetic is
    in ``precision``, by default as the model asks."""
    batch, frames, height, width = size
    dtype = precision or model.decoding_dtype(asked)
    encode = "" if model.direction == "decode" else "encode of "
    upcast = "" if dtype == asked or precision else f" (not {asked}, since its config has force_upcast)"
    return f"{encode}{model.name} {width}x{height}" + (f", {frames} frames" if frames > 1 else "") + (f", batch {batch}" if batch > 1 else "") + f" {dtype}{_core.tf32_text(tf32)}{upcast}"


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
    direction: str = "decode",
    host_limit: int | str = 0,
    scratch: str | None = None,
    profile: str | None = None,
    thrift: float | str = THRIFT,
    executor: str = "auto",
    stream: bool = False,
    block: int = 1,
    sessions: int = 1,
) -> Prediction | StreamPrediction:
    """Predicts what decoding or encoding a picture or clip of this size would take, including what ``decode`` or ``encode`` returns.
    Takes milliseconds; loads and decodes nothing.

    Args:
        vae: a diffusers VAE, a pipeline with one, a folder with ``config.json``, or a built-in name such as ``"sdxl"``.
        height, width: of the picture, in pixels.
        frames: of a clip; 1 for a picture.
        batch: pictures or clips in the latent.
        dtype: ``"fp32"``, ``"bf16"``, ``"fp16"`` or a torch dtype. None: the VAE's own.
        device: ``"cpu"``, ``"cuda"`` or a GPU such as ``"cuda:1"``. None: the VAE's own. Only ``limit="auto"`` asks the GPU. In fp32 on a
            GPU, TF32 is used as torch's switches say (``torch.backends``), which is in convolutions by default.
        limit: bytes, or a text such as ``"8GiB"``. ``"auto"``: the free memory of the device. None: no limit.
        direction: ``"decode"`` or ``"encode"``.
        host_limit: on a GPU, host memory for kept tensors that do not fit the limit. Bytes, or a text such as ``"64GiB"``. 0: none.
            ``enable()`` has another default: half of the free host memory.
        scratch: on a CPU, a folder on a disk for tensors that do not fit memory.
        profile: a profile that headroom-profile measured on this machine. Without one, times come from assumed speeds.
        thrift: share of time to give for memory, such as ``0.05`` or ``"5%"``, as in ``enable()``. 0: none.
        executor: the code that would run the plan, as in ``enable()``.
        stream: predict :func:`stream` instead, with its ``block`` and ``sessions``. ``frames`` is not used.

    Returns a :class:`Prediction`. It has ``fits``, ``peak_bytes``, ``seconds`` and ``plan`` of the decode under the limit.
    It also has ``untiled_peak_bytes``, ``smallest_limit_bytes`` and ``remedies``::

        headroom_vae.predict("sdxl", height=2048, width=2048, dtype="bf16", limit="2GiB").fits

    Raises:
        Unsupported: Headroom does not support the class or the config. The message has the name or key.
        InputError: no latent has this size.
    """
    limit = any_case(limit)
    if stream:
        planner, what = stream_planner(
            vae, height, width, block, batch, dtype=dtype, device=device, direction=direction, executor=executor,
            **planner_options(profile=profile, thrift=thrift),
        )  # fmt: skip
        return StreamPrediction(planner, what, block, sessions, free_bytes(device_of(vae, device)) if limit == "auto" else limit_bytes(limit))
    planner, what = planner_of(
        vae, height, width, frames, batch, dtype=dtype, device=device, direction=direction, executor=executor,
        **planner_options(host_limit, scratch, profile, thrift),
    )  # fmt: skip
    if limit == "auto":
        return automatic(planner, what, device_of(vae, device))
    return Prediction(planner, what, limit_bytes(limit), device_of(vae, device))


def automatic(planner: _core.Planner, what: str, device: str, held_bytes: int = 0) -> Prediction:
    """Prediction under ``limit="auto"``. If nothing fits a GPU with the usual margin, tries a smaller margin and then none."""
    size, limit = _core.format_bytes, free_bytes(device, held_bytes)
    if device == "cpu":
        return Prediction(planner, what, limit, device, f"; limit='auto' is the memory that this process may still take, {size(limit)}")
    found = Prediction(planner, what, limit, device)
    free = free_bytes(device, held_bytes, 0)
    for kept in (free // 16, 0):
        if not found.fits and free - kept > limit:
            found = Prediction(planner, what, free - kept, device, f"; limit='auto': {size(free)} are free on the GPU, and {size(kept)} of them stay free")
    return found


def plan(vae: Any, height: int, width: int, frames: int = 1, batch: int = 1, **options: Any) -> _core.Plan:
    """The fastest plan under ``limit=``. Takes the arguments of :func:`predict`.

    ``plan.explain()`` lists its passes in order. ``plan.save(file)`` writes a plan file for headroom-decode::

        headroom_vae.plan("sdxl", height=1024, width=1024, limit="1GiB").save("plan.json")

    Raises DoesNotFit, and the errors of predict."""
    return predict(vae, height, width, frames, batch, **options).require()


def explain(vae: Any, height: int, width: int, frames: int = 1, batch: int = 1, **options: Any) -> str:
    """Text that explains the plan of :func:`plan`: its passes in order, with the peak marked. Takes the arguments of predict."""
    return plan(vae, height, width, frames, batch, **options).explain()


def planner_options(
    host_limit: int | str = 0, scratch: str | None = None, profile: str | None = None, thrift: float | str = THRIFT
) -> dict[str, Any]:
    """Keyword arguments for the planner."""
    host_limit_bytes = limit_bytes(host_limit, "host_limit") or 0
    options: dict[str, Any] = {
        "host_limit_bytes": host_limit_bytes,
        "profile": "" if profile is None else file_name(profile, "profile"),
        "thrift": share(thrift, "thrift"),
    }
    if scratch is not None:
        folder = file_name(scratch, "scratch")
        options |= {"scratch_folder": folder, "scratch_limit_bytes": _free_disk_bytes(folder)}
    return options


def _free_disk_bytes(folder: str) -> int:
    try:
        disk = os.statvfs(folder)
    except (OSError, ValueError) as error:
        raise InputError(f"scratch: {folder}: expected a folder that exists ({getattr(error, 'strerror', error)})") from None
    return disk.f_bavail * disk.f_frsize
