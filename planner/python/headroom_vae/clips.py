"""Encodes clips of a class that encodes parts of a clip independently."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from . import _core
from .amounts import limit_bytes
from .errors import DoesNotFit
from .latents import request_of
from .module import DecodeReport, ModuleDecoder


def parts_of(model: _core.Model, shape: list[int]) -> tuple[list[tuple[int, int]], list[int]]:
    """Begin and length of the parts of a clip of this shape, and the shape of what all parts make. A causal encoder makes a part's first latent
    frames without the frames behind them, so the last part may be shorter."""
    part, dropped = model.encoded_clips
    last = (shape[2] - 1) // part * part  # where the last part begins
    _, (_, _, latent_frames, _, _) = request_of(model, [*shape[:2], part, *shape[3:]])
    step = (part - 1) // max(1, latent_frames - 1)
    kept = (latent_frames - dropped - 1) * step + 1  # frames of the last part that the result depends on
    _, made = request_of(model, [*shape[:2], kept, *shape[3:]])
    made[2] += last // part * latent_frames
    return [(begin, part) for begin in range(0, last, part)] + [(last, kept)], made


def frames_at_a_time(parts: list[tuple[int, int]]) -> int:
    """Frames of the largest part."""
    return max(length for _, length in parts)


def encode_clips(encoder: ModuleDecoder, x: Any, *, limit: int | str | None, dtype: Any, **options: Any) -> tuple[Any, DecodeReport]:
    """Encodes N×C×T×H×W part by part, and returns the output of all parts and one report. The last frame is repeated until the last part is
    whole, and the last latent frames are dropped, as the model says."""
    import torch

    frames = x.shape[2]
    parts, shape = parts_of(encoder.model, list(x.shape))
    made = None if len(parts) == 1 else torch.empty(shape, dtype=dtype, device=x.device)
    # Beside the plan of a part: the whole result, and a contiguous copy of the part's frames.
    copied = x.nbytes // frames * frames_at_a_time(parts)
    beside = copied + (0 if made is None else made.nbytes)
    reports, at = [], 0
    for begin, length in parts:
        part = x[:, :, begin : begin + length]
        if part.shape[2] < length:
            part = torch.cat([part, part[:, :, -1:].expand(-1, -1, length - part.shape[2], -1, -1)], dim=2)
        part = part.contiguous()
        try:
            moments = encoder.decode(part, limit=_less(limit, beside), dtype=dtype, **options)
        except DoesNotFit as refused:
            more = f"Add {_core.format_bytes(beside)}: the latent of the whole clip, and the frames of a part"
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
    """The report of the part with the largest predicted peak, with the time of all parts."""
    largest = max(reports, key=lambda report: report.predicted_peak_bytes)
    sums = {name: sum(getattr(report, name) for report in reports) for name in ("predicted_seconds", "seconds", "planning_seconds")}
    peaks = {name: max(getattr(report, name) for report in reports) for name in ("peak_bytes", "resident_growth_bytes", "untiled_peak_bytes")}
    peaks["peak_bytes"] += beside
    return replace(largest, **sums, **peaks, predicted_peak_bytes=largest.predicted_peak_bytes + beside, limit_bytes=limit)
