"""Exact decodes with the parameters of a torch module, from any library."""

from __future__ import annotations

import json
import time
import warnings
import weakref
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Callable

from . import _core, gate
from .amounts import THRIFT, limit_bytes
from .changes import is_compiled
from .described import dtype_name
from .device import decoding_device, free_bytes, numbered, require_device, require_no_capture
from .errors import HeadroomError, InputError, OutOfGpuMemory, Unsupported
from .executors import NATIVE, Executor, executor_for
from .fork_aware_lock import ForkAwareLock
from .latents import given, is_on, request_of, values_of, values_on
from .layers import LayerRules
from .neighbours import alone
from .parameters import Fingerprint, Parameters
from .prediction import Prediction, automatic, planner_options, request_words
from .progress import progress_of
from .tf32 import tf32_of
from .time_step import TimeStep
from .watch import Guard

PLANS = 3
"""How often a decode in all that a GPU has free is planned, where others take of it before it begins."""


@dataclass(frozen=True, repr=False)
class DecodeReport:
    """Time and memory of the last decode or encode. In a notebook it is shown as a table."""

    plan: _core.Plan
    """The plan of the decode."""
    predicted_peak_bytes: int
    """The plan's peak, with the picture that the decode returned."""
    peak_bytes: int
    """Measured peak: packed weights, tensors and workspace of the decode, and the picture that it returned."""
    resident_growth_bytes: int
    """Growth of the process's resident memory during the decode, other threads included. Weights that were packed before do not
    count."""
    predicted_seconds: float
    """Predicted time of the decode, from the profile or from assumed costs. Planning does not count."""
    seconds: float
    """Measured time of the decode. Planning does not count."""
    planning_seconds: float
    """Time of planning. 0 if the decode used the plan of an earlier one."""
    passes: tuple[dict, ...] = field(repr=False)
    """Dicts with ``name``, ``seconds``, ``peak_bytes`` and their predictions."""
    largest_error: float | None = None
    """Under ``verify=True``: the largest difference from the original decode, relative to its largest magnitude. None if the
    original decode cannot run."""
    device: str = "cpu"
    """Device of the decode: ``"cpu"``, or a GPU such as ``"cuda:0"``."""
    undone: tuple[str, ...] = ()
    """Settings of the VAE that the decode did not use, such as ``"tiling was on: not used"``."""
    direction: str = "decode"
    """``"decode"`` or ``"encode"``."""
    executor: str = "native"
    """The code that ran the plan: ``"native"`` is Headroom's own, ``"torch"`` PyTorch's operations."""
    why_executor: str = ""
    """Why PyTorch's operations ran."""
    proven_error: float | None = None
    """If the VAE's own code is not diffusers': the largest difference between it and Headroom in a tiny call, relative to the largest
    magnitude. None if no proof was needed."""
    allocated_peak_bytes: int | None = None
    """The most bytes that PyTorch's allocator had lent for the decode, with the executor ``"torch"``. None if the backend does not count it."""
    limit_bytes: int | None = None
    """The limit of this decode. ``"auto"`` is the free memory when it began. None: no limit."""
    untiled_peak_bytes: int = 0
    """Predicted peak of the same decode without tiles, weights included. On a GPU it leaves out cuDNN's memory."""

    @property
    def dtype(self) -> str:
        """The dtype of the decode's arithmetic: ``"fp32"``, ``"bf16"`` or ``"fp16"``."""
        return self.plan.dtype

    @property
    def tf32(self) -> str:
        """The work in fp32 that ran in TF32, as torch's switches said: ``"none"``, ``"convolutions"``, ``"products"`` or ``"all"``."""
        return self.plan.tf32

    def __str__(self) -> str:
        size, seconds = _core.format_bytes, _core.format_seconds
        text = "" if self.direction == "decode" else "encode: "
        text += f"{seconds(self.seconds)} on {self.device} in {self.dtype}{self.plan.tf32_text}"
        text += f", peak {size(self.peak_bytes)} (predicted {size(self.predicted_peak_bytes)})"
        text += "" if self.limit_bytes is None else f" under {size(self.limit_bytes)}"
        if self.largest_error is not None:
            text += f", largest error {self.largest_error:.1e}"
        at_least = "" if self.device == "cpu" else "at least "
        lines = [text, f"untiled, it would take {at_least}{size(self.untiled_peak_bytes)} (predicted)"]
        if self.proven_error is not None:
            lines.append(f"the VAE's own code was proven to compute the same, up to {self.proven_error:.1e} of the magnitude")
        if self.executor == "torch":
            lines.append(f"by PyTorch's operations: {self.why_executor}")
        if self.allocated_peak_bytes is not None and self.allocated_peak_bytes > self.predicted_peak_bytes:
            lines.append(f"PyTorch allocated {size(self.allocated_peak_bytes)}, more than planned: give a smaller limit if memory is short")
        return "\n".join([*lines, *self.undone])

    def __repr__(self) -> str:
        return f"<{self.direction}: {'; '.join(str(self).splitlines())}>"


class ModuleDecoder:
    """Decodes, or encodes, with the weights of a module, by default on the device of the weights.

    Weights on the GPU of the decodes are packed there by each decode. All others are packed once, in the CPU's memory, and serve
    every size. A decode frees all its other memory at the end. Concurrent decodes run one after another."""

    def __init__(
        self, module: Any, model: _core.Model, rules: LayerRules | None = None, partner: ModuleDecoder | None = None, prover: Any = None
    ):
        """`rules` are those of a module that is not of diffusers. `partner` runs the module's other direction. Only one of both has
        packed weights at a time. `prover` proves that code other than diffusers' computes the same."""
        self.prover = prover
        self.model = model
        self.last: DecodeReport | None = None
        self.planned: _core.Plan | None = None  # of the decode that runs
        self.released = False
        self._module = weakref.ref(module)
        self._lock = ForkAwareLock() if partner is None else partner._lock
        self._partner = partner
        if partner is not None:
            partner._partner = self
        self._decoders: dict[tuple[str, bool, str], Any] = {}  # key: device, whether it decodes one frame of a video model, and executor
        self._of_one_frame: _core.Model | None = None
        self._packed: Fingerprint | None = None  # of the packed parameters
        self._predictions: dict[tuple, Prediction] = {}
        self._guard = Guard(rules, model.direction, prover)
        self.time_step = TimeStep.of(module) if model.direction == "decode" else None
        self._bound: tuple[Any, Parameters] | None = None  # valid while the guard has this watch
        self._compiled = False  # valid with _bound
        self._warned: set[str] = set()

    def module_or_none(self) -> Any:
        """The VAE, or None if it was garbage-collected."""
        return self._module()

    @property
    def module(self) -> Any:
        module = self._module()
        if module is None:
            raise HeadroomError("the VAE that was enabled is gone. Call headroom_vae.enable() with the one that is in use now")
        return module

    @property
    def held_bytes(self) -> int:
        """Bytes held between decodes: packed weights."""
        return sum(decoder.held_bytes() for decoder in self._decoders.values())

    def free(self) -> None:
        """Drops packed weights; the next decode packs them again."""
        if self.released:
            raise HeadroomError("release=True: these are the only weights that there are")
        with self._lock:
            self._drop_weights()
            self._packed = None

    def require_parameters(self, release: bool = False, warn: bool = True, executor: str = "auto") -> None:
        """Checks that the module can be decoded.

        Raises InputError with the first parameter that is missing or has another shape. Raises Unsupported if decodes cannot
        run on the parameters' device, or if the module was changed. Warns if decodes run on the CPU instead."""
        parameters = self._unchanged_parameters()
        own, device = parameters.device(), self._device(parameters, executor)
        chosen = executor_for(device, executor)
        _require_native(chosen, release)
        if release and self.time_step is not None:
            raise InputError("release=True: not with a VAE whose decodes are given a time step, since its norms change with it")
        _require_cpu_to_release(device, release)
        if own != device and warn:
            gate.warn(f"decodes run on the CPU: Headroom has no decoder for {own}, where the VAE is")
        on_card = parameters.on_card(device) if device != "cpu" and chosen is NATIVE else None
        _core.require_parameters(self.model, parameters.tensors() if on_card is None else on_card[0], self.model.name)

    def _unchanged_parameters(self) -> Parameters:
        """The module's parameters. Raises Unsupported if the module differs from what its class makes."""
        import torch

        module = self.module
        self._guard.require(module)
        if self._bound is None or self._bound[0] is not self._guard.watch:
            if self.time_step is not None and not self.time_step.values:
                self.time_step.set(torch.zeros(1))
            self._bound = self._guard.watch, Parameters(module, self.model, self.time_step)
            self._compiled = is_compiled(module, self.model.direction)
        return self._bound[1]

    def trained(self) -> list[tuple[dict[str, Any], str]]:
        """Cells of parameters that a call uses and that need gradients. Empty if gradients are off."""
        if not gate.are_recorded():
            return []
        with self._lock:
            return self._unchanged_parameters().trained()

    def proof(self, options: dict[str, Any]) -> Any:
        """The proof of calls of the module's own method with these arguments. Raises Unsupported."""
        with self._lock:
            self._unchanged_parameters()
            return self.prover.proof(self.module, options)

    def decode(
        self,
        z: Any,
        *,
        limit: int | str | None = "auto",
        host_limit: int | str = 0,
        scratch: str | None = None,
        profile: str | None = None,
        thrift: float | str = THRIFT,
        dtype: Any = None,
        device: str | None = None,
        release: bool = False,
        progress: bool | Callable[[float], None] | None = None,
        pipeline_bar: Any = None,
        trace_file: str = "",
        out: Any = None,
        tf32: str | None = None,
        executor: str = "auto",
        precision: str | None = None,
        temb: Any = None,
    ) -> Any:
        """Decodes a latent, N×C×H×W or N×C×T×H×W. Returns the picture on the latent's device, in `dtype` (default: the module's). If
        the model encodes, `z` is a picture, and the result is what its encoder makes.

        The decode runs on `device`. By default it runs on the module's device. If the module is on the CPU and the latent on a
        GPU, it runs on that GPU, unless `release` or `scratch` needs the CPU. `last` has the time and memory afterwards.
        `out`, a contiguous tensor on the CPU of the picture's shape and `dtype`, receives rows while the decode runs.
        `temb` has the time step of a decoder that takes one. `tf32` is as in predict(). Only a decode in fp32 on a GPU uses it. `executor` is as in enable().
        `precision` is the dtype of the arithmetic. By default it is `dtype`, or fp32 if the config has force_upcast.
        Raises DoesNotFit and InputError."""
        import torch

        gate.require_served(gate.past(z, "latent" if self.model.direction == "decode" else "picture"))
        size, picture = request_of(self.model, list(z.shape))
        with self._lock, ExitStack() as until_done:
            module = self.module
            dtype = next(module.parameters()).dtype if dtype is None else dtype
            started = time.perf_counter()
            parameters = self._unchanged_parameters()
            if self.time_step is not None:
                self.time_step.set(temb)
            device = numbered(device or self._device_for(z, parameters, release or scratch is not None, executor))
            chosen = executor_for(device, executor)
            _require_native(chosen, release, scratch)
            require_no_capture(device)
            _require_cpu_to_release(device, release)
            if limit == "auto":
                until_done.enter_context(alone(torch.device(device), self._warned))
            plans = PLANS if limit == "auto" else 1
            options = {"device": device, "host_limit": host_limit, "scratch": scratch, "profile": profile, "thrift": thrift, "release": release, "tf32": tf32, "executor": executor, "precision": precision}
            if out is not None and (list(out.shape) != picture or out.dtype != dtype):
                raise InputError(f"out: expected {dtype} of shape {picture}, found {out.dtype} of {list(out.shape)}")
            by_torch = chosen.name == "torch"
            latent = values_on(z, device) if by_torch else values_of(z, device)
            sample, run, refusals = out, None, []

            def picture_memory() -> Any:
                nonlocal sample
                if by_torch:
                    sample = torch.empty(picture, dtype=dtype, device=device)
                    return sample
                sample = _empty_picture(picture, dtype, z.device if is_on(z, device) else torch.device("cpu"))
                return given(sample)

            while run is None:
                prediction, known = self._planned(size, dtype, limit, options)
                if refusals and (not prediction.fits or len(refusals) == plans):
                    raise refusals[0]
                plan = self.planned = prediction.require()
                planning_seconds = 0.0 if known else time.perf_counter() - started
                if self._partner is not None:
                    self._partner._yield_weights()
                decoder = self._decoder(device, self._model_for(size[1], release), chosen)
                tensors, _kept = (parameters.on(device), None) if by_torch else self._tensors(decoder, device, plan, parameters)
                try:
                    with progress_of(progress, pipeline_bar, plan) as told:
                        run = decoder.decode(
                            plan, tensors, latent if by_torch else given(latent), picture_memory if out is None or by_torch else out,
                            threads=torch.get_num_threads(), progress=told, trace_file=trace_file,
                        )  # fmt: skip
                except OutOfGpuMemory as refused:  # another program took the memory after planning
                    refusals.append(refused)
                    limit = min(free_bytes(device, self._held_on(device), 0), prediction.peak_bytes * 7 // 8) if plans > 1 else limit
            undone = self._undone(z, parameters, device, dtype, plan)
            if release and not self.released and plan.weights_stay:
                parameters.release()
                self.released = True
            self.last = replace(
                _report(plan, json.loads(run), planning_seconds), device=device, undone=undone, direction=self.model.direction,
                executor=chosen.name, why_executor=chosen.why, proven_error=None if self.prover is None else self.prover.error,
                limit_bytes=prediction.limit_bytes, untiled_peak_bytes=prediction.untiled_peak_bytes,
            )  # fmt: skip
        return sample.to(z.device) if out is None or not by_torch else out.copy_(sample)

    def require_ready(self, on: Any, size: tuple[int, int, int, int] | None, dtype: Any, limit: int | str | None, **options: Any) -> None:
        """Raises the errors that a decode of latents on the device of the tensor ``on`` would raise before it runs. ``size`` is
        (batch, frames, height, width) of the picture. If it is None, or under ``limit="auto"``, the limit is not checked: memory may
        be freed until then. Takes other keywords of decode()."""
        if on is None or not self._lock.enter(blocking=False):  # another thread decodes
            return
        try:
            parameters = self._unchanged_parameters()
            executor = options.get("executor", "auto")
            needs_cpu = options["release"] or options["scratch"] is not None
            device = self._device_for(on, parameters, needs_cpu, executor, warn=False)  # the decode warns
            _require_native(executor_for(device, executor), options["release"], options["scratch"])
            _require_cpu_to_release(device, options["release"])
            if size is not None and limit != "auto":
                self._planned(size, dtype, limit, {"device": device, **options})[0].require()
        finally:
            self._lock.__exit__()

    def _undone(self, z: Any, parameters: Parameters, device: str, dtype: Any, plan: _core.Plan) -> tuple[str, ...]:
        """Settings of the VAE that a decode on ``device`` did not use, one text for each."""
        module, found, batch = self.module, [], z.shape[0]
        if getattr(module, "use_tiling", False):
            found.append("tiling was on: not used")
        if getattr(module, "use_slicing", False) and batch > 1:
            found.append(f"slicing was on: not used, the plan {self.model.direction}s {plan.micro_batch} of {batch} at a time")
        framewise = f"use_framewise_{self.model.direction[:-1]}ing"
        if getattr(module, framewise, False):
            found.append(f"framewise {self.model.direction[:-1]}ing was on: not used")
        if self._compiled or getattr(module, "_compiled_call_impl", None) is not None:
            found.append("torch.compile: the compiled code was not used")
        kind = None if self.released else parameters.offload_kind()
        if kind is not None:
            found.append(f"{kind} was on: its hooks moved nothing, the {self.model.direction} read the weights from where they are")
        asked = dtype_name(dtype)
        if plan.dtype != asked:
            why = "as dtype= says" if plan.dtype != self.model.decoding_dtype(asked) else "since its config has force_upcast"
            found.append(f"{asked}: {self.model.direction}d in {plan.dtype}, {why}")
        for what, place in (("the latent" if self.model.direction == "decode" else "the picture", str(z.device)), ("the VAE", "cpu" if self.released else numbered(parameters.device()))):
            if place not in ("cpu", device):
                found.append(f"{what} was on {place}: {self.model.direction}d on {device}")
        return tuple(found)

    def predict(
        self,
        size: tuple[int, int, int, int],
        dtype: Any,
        limit: int | str | None,
        *,
        device: str | None = None,
        host_limit: int | str = 0,
        scratch: str | None = None,
        profile: str | None = None,
        thrift: float | str = THRIFT,
        release: bool = False,
        tf32: str | None = None,
        executor: str = "auto",
        precision: str | None = None,
    ) -> Prediction:
        """Predicts a decode of (batch, frames, height, width) at this moment. The peak includes the returned picture. ``tf32`` is by
        default that of torch's switches, and else ``"none"``, ``"convolutions"``, ``"products"`` or ``"all"``. ``precision`` is as in decode()."""
        batch, frames, height, width = size
        device = numbered(device) if device else self._device(Parameters(self.module, self.model), executor)
        chosen = executor_for(device, executor)
        _require_native(chosen, release, scratch)
        on_cpu, no_host = device == "cpu", device == "cpu" and (chosen is NATIVE or host_limit == "auto")
        asked = dtype_name(dtype)
        name = precision or self.model.decoding_dtype(asked)
        tf32 = tf32_of(name, device, tf32) if chosen is NATIVE else "none"
        planner = _core.Planner(
            self._model_for(frames, release), width=width, height=height, frames=frames, batch=batch, dtype=name, device=chosen.planned_device(device),
            tf32=tf32, picture_dtype=asked, resident_weights=release,
            **planner_options(0 if no_host else _host_bytes(host_limit), scratch if on_cpu else None, profile, thrift),
        )  # fmt: skip
        what = request_words(self.model, size, asked, tf32, precision)
        return automatic(planner, what, device, self._held_on(device)) if limit == "auto" else Prediction(planner, what, limit_bytes(limit), device)

    def _model_for(self, frames: int, release: bool) -> _core.Model:
        """The model for decodes of this number of frames. Released weights are packed only once, so they serve any number."""
        if release or self.released or frames != 1:
            return self.model
        if self._of_one_frame is None:
            self._of_one_frame = self.model.for_frames(1)
        return self._of_one_frame

    def _decoder(self, device: str, model: _core.Model, executor: Executor) -> Any:
        """Decoder for this model. Drops packed weights of other decoders on the device, so that only one set stays."""
        key = device, model.decodes_clips != self.model.decodes_clips, executor.name
        for other, decoder in self._decoders.items():
            if other != key and other[0] == device:
                decoder.drop_weights()
        if key not in self._decoders:
            self._decoders[key] = executor.open_decoder(model, device)
        return self._decoders[key]

    def _planned(self, size: tuple, dtype: Any, limit: int | str | None, options: dict) -> tuple[Prediction, bool]:
        """The prediction for this size, and whether it came from the cache. Under ``limit="auto"`` a cached one must fit the memory
        that is free now."""
        precision = options.get("precision") or self.model.decoding_dtype(dtype_name(dtype))
        tf32 = tf32_of(precision, options["device"], options.get("tf32"))
        options = {**options, "tf32": tf32}
        key = (*size, str(dtype), limit, *sorted(options.items()))
        found = self._predictions.get(key)
        if found is not None:
            if limit != "auto" or (found.fits and found.peak_bytes <= free_bytes(options["device"], self._held_on(options["device"]))):
                return found, True
        found = self._predictions[key] = self.predict(size, dtype, limit, **options)
        return found, False

    def _device(self, parameters: Parameters, executor: str = "auto") -> str:
        """The device that decodes of the module run on."""
        return "cpu" if self.released else numbered(decoding_device(parameters.device(), executor))

    def _device_for(self, z: Any, parameters: Parameters, needs_cpu: bool, executor: str, warn: bool = True) -> str:
        """Device that decodes this latent: by default the module's."""
        device = self._device(parameters, executor)
        if device != "cpu" or z.device.type != "cuda" or self.released or needs_cpu:
            return device
        try:
            require_device(str(z.device))
        except Unsupported as why:
            if warn:
                warnings.warn(f"the latent is on {z.device}, but the decode runs on the CPU: {why}", stacklevel=6)
            return device
        return str(z.device)

    def _tensors(self, decoder: _core.Decoder, device: str, plan: _core.Plan, parameters: Parameters) -> tuple[dict[str, Any] | None, Any]:
        """The module's parameters if the decoder must pack them, and references that keep them alive. None if its packed weights are up
        to date."""
        if self.released:
            return None, None
        on_card = None if device == "cpu" else parameters.on_card(device)
        if on_card is not None and not decoder.keeps_folded():
            return on_card
        now = parameters.fingerprint(device, decoder.checksums)
        if now != self._packed:
            self._drop_weights()
            self._packed = now
        if on_card is not None:
            return on_card
        return None if decoder.has_weights(plan) else parameters.tensors(), None

    def _drop_weights(self) -> None:
        for decoder in self._decoders.values():
            decoder.drop_weights()

    def _yield_weights(self) -> None:
        """Drops packed weights, because the other direction is about to run. Released weights stay: no others exist."""
        if not self.released:
            self._drop_weights()
            self._packed = None

    def _held_on(self, device: str) -> int:
        return sum(decoder.held_bytes() for (of_device, *_), decoder in self._decoders.items() if of_device == device)


def _require_native(executor: Executor, release: bool, scratch: str | None = None) -> None:
    """Raises InputError for an option that PyTorch's executor does not have."""
    if executor is NATIVE:
        return
    for name, given_ in (("release=True", release), ("scratch", scratch is not None)):
        if given_:
            raise InputError(f"{name}: not with PyTorch's executor ({executor.why}). Leave it out, or use executor=\"native\"")


def _require_cpu_to_release(device: str, release: bool) -> None:
    if release and device != "cpu":
        raise InputError(f"release=True: expected a VAE on the CPU, found one on {device}")


def _empty_picture(shape: list[int], dtype: Any, device: Any) -> Any:
    """Memory of the picture. On a GPU that is nearly full torch may need more than the picture takes. Then the picture is on the CPU until
    the decode has given its memory back."""
    import torch

    try:
        return torch.empty(shape, dtype=dtype, device=device)
    except torch.OutOfMemoryError:
        return torch.empty(shape, dtype=dtype, device="cpu")


def _host_bytes(limit: int | str) -> int:
    """Pinned host memory for tensors that do not fit a GPU. ``"auto"`` is half of the free memory."""
    return free_bytes("cpu") // 2 if limit == "auto" else limit_bytes(limit, "host_limit") or 0


def _report(plan: _core.Plan, run: dict, planning_seconds: float) -> DecodeReport:
    return DecodeReport(
        plan=plan,
        predicted_peak_bytes=run["predicted_peak_bytes"],
        peak_bytes=run["peak_bytes"],
        resident_growth_bytes=run["rss_growth_bytes"],
        predicted_seconds=run["predicted_seconds"],
        seconds=run["seconds"],
        planning_seconds=planning_seconds,
        passes=tuple(run["passes"]),
        allocated_peak_bytes=run.get("allocated_peak_bytes"),
    )
