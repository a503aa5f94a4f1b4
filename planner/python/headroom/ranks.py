"""Decodes that the ranks of a process group share: each decodes rows of its own, and hands the others what they read of them."""

from __future__ import annotations

import ctypes
import hashlib
import json
import time
from dataclasses import dataclass, replace
from typing import Any

from . import _core
from .described import config_text, dtype_name
from .errors import DoesNotFit, ExchangeError, HeadroomError, InputError
from .group_exchange import GroupExchange, Refused, one_line
from .latents import latent_values, require_latent
from .module import ModuleDecoder, _report
from .parameters import Fingerprint, Parameters
from .prediction import Prediction, request_words
from .progress import progress_of

GATHERS = ("all", "rank0")


class RanksPlanner:
    """A planner of decodes by so many ranks with one limit for each, in the place of one of decodes by one."""

    def __init__(self, planner: _core.Planner, ranks: int, what: str):
        self._planner, self.ranks, self._what = planner, ranks, what

    def untiled_peak_bytes(self) -> int:
        return self._planner.untiled_peak_bytes()

    def plan(self, limit: int | None) -> _core.Plan | None:
        return self._planner.plan_for_ranks([limit] * self.ranks)

    def plan_for(self, limits: list[int | None]) -> _core.Plan | None:
        """With a limit of each rank's own."""
        return self._planner.plan_for_ranks(limits)

    def smallest(self) -> _core.Plan:
        return self._planner.smallest_for_ranks(self.ranks)

    def why_not(self, limit: int) -> tuple[str, str]:
        size, plan = _core.format_bytes, self.smallest()
        return (
            f"{self._what} by {self.ranks} ranks does not fit {size(limit)} each; the smallest limit for each rank that works is "
            f"{size(plan.limit_bytes)} ({plan.limit_bytes} bytes){plan.returned_text}"
        ), '{"relaxations": []}'


@dataclass(frozen=True)
class Asked:
    """What one rank was asked for."""

    size: tuple[int, int, int, int]
    """Batch, frames, rows, columns."""
    latent: Any
    weights: str
    options: dict[str, Any]


class RankedDecoder(ModuleDecoder):
    """Decodes by the weights of a module on the CPU, together with the other ranks of a group, which have the same latents and
    weights and decode at the same time. All of them get the picture, or rank 0 alone: then others get one of no items."""

    def __init__(self, module: Any, model: _core.Model, exchange: GroupExchange, gather: str):
        super().__init__(module, model)
        self._exchange = exchange
        self._gather = gather
        self._weights: tuple[Fingerprint, str] | None = None  # of the parameters whose digest this is
        self._plans: dict[tuple, tuple[list, str, list[int]]] = {}  # rank 0's: limits, the plan's text, peaks
        self._known: tuple[str, _core.Plan] | None = None  # the last plan, and its text

    def require_parameters(self, release: bool = False) -> None:
        self._require_cpu(self._device())
        super().require_parameters(release)

    def decode(
        self, z: Any, *, limit: Any = "auto", profile: str | None = None, dtype: Any = None, release: bool = False,
        progress: Any = None, pipeline_bar: Any = None, trace_file: str = "", **_: Any,
    ) -> Any:  # fmt: skip
        with self._exchange.lock, self._lock:
            self._exchange.open()
            try:
                asked, plan, planning_seconds = self._agreed(z, limit, {"dtype": dtype, "profile": profile, "release": release})
                return self._run(z, asked, plan, planning_seconds, (progress, pipeline_bar, trace_file))
            except Refused as refused:
                raise refused.error from None
            except BaseException as error:
                self._exchange.abandon(one_line(error))
                raise

    def _agreed(self, z: Any, limit: Any, options: dict[str, Any]) -> tuple[Asked, _core.Plan, float]:
        """What is decoded and the plan of this rank, once all ranks have said that they decode the same. Raises Refused."""
        exchange, started = self._exchange, time.perf_counter()
        asked, failure, own = None, None, {}
        try:
            asked = self._asked(z, options)
            own_limit = self._limit(limit, "cpu")
            if own_limit is not None:
                own_limit += self._spared_bytes(asked.size, asked.options["dtype"])
            own = {"limit": own_limit, "auto": limit == "auto"}
        except Exception as error:
            failure = error
        said = [json.loads(text) for text in exchange.gather_texts(json.dumps({**own, "failure": failure and one_line(failure)}))]
        if failure is not None:
            raise Refused(failure)
        for rank, words in enumerate(said):
            if words["failure"]:
                raise Refused(ExchangeError(f"rank {rank} ended: {words['failure']}"))
        self._agree(asked)
        answer = json.loads(exchange.hand_out(json.dumps(self._planned_for_all(asked, said)) if exchange.rank == 0 else None))
        if "plan" not in answer:
            raise Refused(DoesNotFit(answer["refusal"], answer["smallest"]) if "smallest" in answer else ExchangeError(answer["refusal"]))
        if self._known is None or self._known[0] != answer["plan"]:
            self._known = answer["plan"], _core.plan_of_rank(self._model_for(asked.size[1], options["release"]), answer["plan"], exchange.rank)
        return asked, self._known[1], time.perf_counter() - started

    def _asked(self, z: Any, options: dict[str, Any]) -> Asked:
        module = self.module
        self._require_cpu("cpu" if self.released else self._unchanged_parameters().device())
        require_latent(z)
        batch, _, frames, height, width = self.model.picture_shape(list(z.shape))
        dtype = next(module.parameters()).dtype if options["dtype"] is None else options["dtype"]
        return Asked((batch, frames, height, width), latent_values(z).float(), self._weights_digest(), {**options, "dtype": dtype})

    def _agree(self, asked: Asked) -> None:
        config = {key: value for key, value in json.loads(config_text(self.module)).items() if key == "_class_name" or key[:1] != "_"}
        shape = "x".join(str(length) for length in asked.latent.shape)
        options = f"{dtype_name(asked.options['dtype'])}, release={asked.options['release']}, gather={self._gather!r}"
        try:
            _core.agree(self._exchange, [
                ("decoder", json.dumps(config, sort_keys=True), self.model.class_name),
                ("weights", asked.weights, ""),
                ("latent", f"{shape} {_digest(asked.latent)}", shape),
                ("dtype and options", options, options),
            ])  # fmt: skip
        except ExchangeError as error:
            if self._exchange.is_open:
                raise Refused(error) from None
            raise

    def _planned_for_all(self, asked: Asked, said: list[dict]) -> dict[str, Any]:
        """Rank 0's plan for all ranks, as text, or why there is none."""
        release, profile, dtype = (asked.options[name] for name in ("release", "profile", "dtype"))
        limits, key = [words["limit"] for words in said], (asked.size, str(dtype), release, profile)
        known = self._plans.get(key)
        if known is None or not _serves(known, limits, said):
            try:
                planner, _ = self._planner(asked.size, dtype, release, profile)
                plan = planner.plan_for(limits)
            except HeadroomError as error:
                return {"refusal": f"rank 0 ended: {one_line(error)}"}
            if plan is None:
                why = planner.why_not(min(limit for limit in limits if limit is not None))[0]
                return {"refusal": why, "smallest": planner.smallest().limit_bytes}
            known = self._plans[key] = limits, plan.json(), plan.peaks_bytes
        return {"plan": known[1]}

    def _run(self, z: Any, asked: Asked, plan: _core.Plan, planning_seconds: float, shown: tuple) -> Any:
        import torch

        exchange, release = self._exchange, asked.options["release"]
        sent_before = exchange.sent_bytes
        batch, frames, height, width = asked.size
        channels = self.model.picture_shape([1, self.model.latent_channels, 1, 1])[1]
        sample = torch.empty([batch, channels, height, width] if z.dim() == 4 else [batch, channels, frames, height, width], dtype=asked.options["dtype"])
        decoder = self._decoder("cpu", self._model_for(frames, release))
        tensors = self._tensors(decoder, "cpu", plan, self._unchanged_parameters())
        progress, pipeline_bar, trace_file = shown
        with progress_of(progress, pipeline_bar, plan) as told:
            run = decoder.decode(
                plan, tensors, asked.latent, sample, threads=torch.get_num_threads(), progress=told, trace_file=trace_file, ranks=exchange
            )
        exchange.complete_picture(sample, plan.rows, list(range(exchange.size)) if self._gather == "all" else [0])
        if release and not self.released and plan.weights_stay:
            Parameters(self.module, self.model).release()
            self.released = True
        report, spared = _report(plan, json.loads(run), planning_seconds), self._spared_bytes(asked.size, asked.options["dtype"])
        self.last = replace(
            report, sent_bytes=exchange.sent_bytes - sent_before,
            predicted_peak_bytes=report.predicted_peak_bytes - spared, peak_bytes=report.peak_bytes - spared,
        )  # fmt: skip
        return (sample if self._has_picture else sample[:0].clone()).to(z.device)

    def predict(
        self, size: tuple[int, int, int, int], dtype: Any, limit: int | str | None, *, profile: str | None = None, release: bool = False,
        **_: Any,
    ) -> Prediction:  # fmt: skip
        """The same by all ranks with this limit for each."""
        planner, what = self._planner(size, dtype, release, profile)
        return Prediction(planner, what, self._limit(limit, "cpu"))

    def _planner(self, size: tuple, dtype: Any, release: bool, profile: str | None) -> tuple[RanksPlanner, str]:
        batch, frames, height, width = size
        asked = dtype_name(dtype)
        name = self.model.decoding_dtype(asked)
        planner = _core.Planner(
            self._model_for(frames, release), width=width, height=height, frames=frames, batch=batch, dtype=name, device="cpu",
            picture_dtype=asked, resident_weights=release, profile=profile or "",
        )  # fmt: skip
        what = request_words(self.model, size, asked)
        return RanksPlanner(planner, self._exchange.size, what), what

    @property
    def _has_picture(self) -> bool:
        return self._gather == "all" or self._exchange.rank == 0

    def _spared_bytes(self, size: tuple, dtype: Any) -> int:
        """Plans count the whole picture at each rank. Where others get no picture, they hold rows of their own until rank 0
        has them, and spare the rest."""
        if self._has_picture:
            return 0
        batch, frames, height, width = size
        channels = self.model.picture_shape([1, self.model.latent_channels, 1, 1])[1]
        whole = batch * channels * frames * height * width * (4 if dtype_name(dtype) == "fp32" else 2)
        latent_rows = self.model.latent_shape(width, height, frames, batch)[-2]
        return whole - whole * -(-latent_rows // self._exchange.size) // latent_rows

    def _weights_digest(self) -> str:
        if self.released:
            return self._weights[1]
        parameters = self._unchanged_parameters()
        now = parameters.fingerprint()
        if self._weights is None or self._weights[0] != now:
            self._weights = now, _digest(*(tensor for _, tensor in sorted(parameters.tensors().items())))
        return self._weights[1]

    @staticmethod
    def _require_cpu(device: str) -> None:
        if device != "cpu":
            raise InputError(f"group=: on the CPU only so far; expected the VAE there, found it on {device}")


def _serves(known: tuple[list, str, list[int]], limits: list, said: list[dict]) -> bool:
    """Whether a plan of another decode has the limits of this one, or fits what is free now."""
    return all(
        then == limit or (words["auto"] and peak <= limit)
        for then, limit, peak, words in zip(known[0], limits, known[2], said)
    )  # fmt: skip


def _digest(*tensors: Any) -> str:
    """Of contiguous tensors in the CPU's memory."""
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(f"{tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update((ctypes.c_char * (tensor.numel() * tensor.element_size())).from_address(tensor.data_ptr()))
    return digest.hexdigest()
