"""Exact decodes by the parameters of a torch module, whichever library it comes from."""

from __future__ import annotations

import json
import threading
import time
import weakref
from dataclasses import dataclass, field
from typing import Any, Callable

from . import _core
from .amounts import auto_limit_bytes, limit_bytes
from .described import dtype_name
from .errors import HeadroomError, Unsupported
from .parameters import Parameters
from .prediction import Prediction, planner_options
from .progress import progress_of


@dataclass(frozen=True)
class DecodeReport:
    """What the last decode took."""

    plan: _core.Plan
    predicted_peak_bytes: int
    peak_bytes: int
    """Measured: weights, tensors and workspace of the decode, and the picture that it returned."""
    resident_growth_bytes: int
    """Of the whole process while it ran, other threads' included."""
    predicted_seconds: float
    seconds: float
    planning_seconds: float
    """0 where the plan of an earlier decode served."""
    passes: tuple[dict, ...] = field(repr=False)
    """Each with ``name``, ``seconds``, ``peak_bytes`` and what was predicted of them."""
    largest_error: float | None = None
    """Under ``verify=True``: the largest difference from the original decode, of its largest magnitude."""

    def __str__(self) -> str:
        size, seconds = _core.format_bytes, _core.format_seconds
        text = f"{seconds(self.seconds)}, peak {size(self.peak_bytes)} (predicted {size(self.predicted_peak_bytes)})"
        return text if self.largest_error is None else f"{text}, largest error {self.largest_error:.1e}"


class ModuleDecoder:
    """Decodes by the weights of a module on the CPU. They are packed once, and serve every size; what else a decode takes is
    given back after it. Decodes of several threads wait for one another."""

    def __init__(self, module: Any, model: _core.Model):
        self.model = model
        self.last: DecodeReport | None = None
        self.released = False
        self._module = weakref.ref(module)
        self._lock = threading.RLock()
        self._decoder = _core.Decoder(model)
        self._packed: tuple | None = None  # the fingerprint of the parameters that are packed
        self._predictions: dict[tuple, Prediction] = {}

    @property
    def module(self) -> Any:
        module = self._module()
        if module is None:
            raise HeadroomError("the VAE is gone")
        return module

    @property
    def held_bytes(self) -> int:
        """What is held between decodes: packed weights."""
        return self._decoder.held_bytes()

    def free(self) -> None:
        """Drops packed weights; the next decode packs them again."""
        if self.released:
            raise HeadroomError("release=True: these are the only weights that there are")
        with self._lock:
            self._decoder.drop_weights()
            self._packed = None

    def require_parameters(self) -> None:
        """Raises InputError naming the first parameter that is missing, elsewhere, or of another shape."""
        _core.require_parameters(self.model, Parameters(self.module, self.model).tensors(), self.model.name)

    def decode(
        self,
        z: Any,
        *,
        limit: int | str | None = "auto",
        scratch: str | None = None,
        profile: str | None = None,
        dtype: Any = None,
        release: bool = False,
        progress: bool | Callable[[float], None] | None = None,
        pipeline_bar: Any = None,
        trace_file: str = "",
    ) -> Any:
        """The picture of a latent, N×C×H×W or N×C×T×H×W, as a tensor of `dtype` on the latent's device; of the module's
        dtype where that is None. Raises DoesNotFit and InputError; `last` has what it took."""
        import torch

        batch, channels, frames, height, width = self.model.picture_shape(list(z.shape))
        with self._lock:
            module = self.module
            dtype = next(module.parameters()).dtype if dtype is None else dtype
            started = time.perf_counter()
            options = {"scratch": scratch, "profile": profile, "release": release}
            prediction, known = self._planned((batch, frames, height, width), dtype, limit, options)
            plan = prediction.require()
            planning_seconds = 0.0 if known else time.perf_counter() - started
            tensors = self._tensors(module, plan)
            picture = [batch, channels, height, width] if z.dim() == 4 else [batch, channels, frames, height, width]
            sample = torch.empty(picture, dtype=dtype)
            latent = z.detach().to(device="cpu", dtype=torch.float32).contiguous()
            with progress_of(progress, pipeline_bar, plan) as told:
                run = self._decoder.decode(
                    plan, tensors, latent, sample, threads=torch.get_num_threads(), progress=told, trace_file=trace_file
                )
            if release and not self.released and plan.weights_stay:
                Parameters(module, self.model).release()
                self.released = True
            self.last = _report(plan, json.loads(run), sample.numel() * sample.element_size(), planning_seconds)
        return sample.to(z.device)

    def predict(
        self,
        size: tuple[int, int, int, int],
        dtype: Any,
        limit: int | str | None,
        *,
        scratch: str | None = None,
        profile: str | None = None,
        release: bool = False,
    ) -> Prediction:
        """Of a decode of (batch, frames, height, width) now. The limit is for the picture that it returns as well."""
        batch, frames, height, width = size
        name = self.model.decoding_dtype(dtype_name(dtype))
        planner = _core.Planner(
            self.model, width=width, height=height, frames=frames, batch=batch, dtype=name, resident_weights=release,
            **planner_options(0, scratch, profile),
        )  # fmt: skip
        return Prediction(planner, f"{self.model.name} {width}x{height} {name}", self._limit(size, dtype, limit))

    def _planned(self, size: tuple, dtype: Any, limit: int | str | None, options: dict) -> tuple[Prediction, bool]:
        """The prediction of this size, and whether it was known. One of another moment serves where it fits what is free
        now."""
        key = (*size, str(dtype), limit, *options.values())
        found = self._predictions.get(key)
        if found is not None:
            if limit != "auto" or (found.fits and found.peak_bytes <= self._limit(size, dtype, limit)):
                return found, True
        found = self._predictions[key] = self.predict(size, dtype, limit, **options)
        return found, False

    def _limit(self, size: tuple, dtype: Any, limit: int | str | None) -> int | None:
        """For the decode alone, without the picture that it returns."""
        batch, frames, height, width = size
        _, channels, *_ = self.model.picture_shape([1, self.model.latent_channels, 1, 1])
        picture_bytes = batch * channels * frames * height * width * (4 if dtype_name(dtype) == "fp32" else 2)
        bytes_ = auto_limit_bytes(self._decoder.held_bytes()) if limit == "auto" else limit_bytes(limit)
        return None if bytes_ is None else max(0, bytes_ - picture_bytes)

    def _tensors(self, module: Any, plan: _core.Plan) -> dict[str, Any] | None:
        """The module's parameters where the decoder has to read them; None where what it has packed still holds."""
        if self.released:
            return None
        parameters = Parameters(module, self.model)
        now = parameters.fingerprint()
        if any(device != "cpu" for device in now.devices):
            raise Unsupported(f"parameters on {', '.join(now.devices)}: this build decodes on the CPU; expected them there")
        if now != self._packed:
            self._decoder.drop_weights()
            self._packed = now
        if plan.weights_stay and self._decoder.has_weights():
            return None
        return parameters.tensors()


def _report(plan: _core.Plan, run: dict, picture_bytes: int, planning_seconds: float) -> DecodeReport:
    return DecodeReport(
        plan=plan,
        predicted_peak_bytes=run["predicted_peak_bytes"] + picture_bytes,
        peak_bytes=run["peak_bytes"] + picture_bytes,
        resident_growth_bytes=run["rss_growth_bytes"],
        predicted_seconds=run["predicted_seconds"],
        seconds=run["seconds"],
        planning_seconds=planning_seconds,
        passes=tuple(run["passes"]),
    )
