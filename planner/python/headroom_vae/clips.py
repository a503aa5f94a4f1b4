"""Encodes clips of a class that encodes runs of frames by themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from . import _core
from .amounts import limit_bytes
from .errors import DoesNotFit
from .latents import request_of
from .module import DecodeReport, ModuleDecoder


def encode_clips(encoder: ModuleDecoder, x: Any, *, limit: int | str | None, dtype: Any, **options: Any) -> tuple[Any, DecodeReport]:
    """Encodes N×C×T×H×W run by run, and returns the output of all runs and one report. The last frame is repeated to whole runs, and the
    last latent frames are dropped, as the model says. A causal encoder makes the others without the frames behind them."""
    import torch

    run, dropped = encoder.model.encoded_clips
    frames = x.shape[2]
    last = (frames - 1) // run * run  # where the last run begins
    _, (_, _, latent_frames, _, _) = request_of(encoder.model, [*x.shape[:2], run, *x.shape[3:]])
    step = (run - 1) // max(1, latent_frames - 1)
    kept = (latent_frames - dropped - 1) * step + 1  # frames of the last run that the result depends on
    runs = [(begin, run) for begin in range(0, last, run)] + [(last, kept)]
    _, shape = request_of(encoder.model, [*x.shape[:2], kept, *x.shape[3:]])
    shape[2] += last // run * latent_frames
    made = None if len(runs) == 1 else torch.empty(shape, dtype=dtype, device=x.device)
    # Beside the plan of a run: the whole result, and a contiguous copy of the run's frames.
    copied = x.nbytes // frames * max(length for _, length in runs)
    beside = copied + (0 if made is None else made.nbytes)
    reports, at = [], 0
    for begin, length in runs:
        part = x[:, :, begin : begin + length]
        if part.shape[2] < length:
            part = torch.cat([part, part[:, :, -1:].expand(-1, -1, length - part.shape[2], -1, -1)], dim=2)
        part = part.contiguous()
        try:
            moments = encoder.decode(part, limit=_less(limit, beside), dtype=dtype, **options)
        except DoesNotFit as refused:
            more = f"Add {_core.format_bytes(beside)}: the latent of the whole clip, and the frames of a run"
            raise DoesNotFit(f"{refused} {more}", refused.smallest_limit_bytes + beside) from None
        reports.append(encoder.last)
        del part
        if made is None:
            made = moments
        else:
            made[:, :, at : at + moments.shape[2]] = moments
            at += moments.shape[2]
    return made, _summed(reports, limit_bytes(limit) if limit != "auto" else reports[0].limit_bytes, beside)


def _less(limit: int | str | None, beside: int) -> int | str | None:
    return limit if limit in (None, "auto") else max(1, limit_bytes(limit) - beside)


def _summed(reports: list[DecodeReport], limit: int | None, beside: int) -> DecodeReport:
    """The report of the run with the largest predicted peak, with the time of all runs."""
    largest = max(reports, key=lambda report: report.predicted_peak_bytes)
    sums = {name: sum(getattr(report, name) for report in reports) for name in ("predicted_seconds", "seconds", "planning_seconds")}
    peaks = {name: max(getattr(report, name) for report in reports) for name in ("peak_bytes", "resident_growth_bytes", "untiled_peak_bytes")}
    peaks["peak_bytes"] += beside
    return replace(largest, **sums, **peaks, predicted_peak_bytes=largest.predicted_peak_bytes + beside, limit_bytes=limit)
