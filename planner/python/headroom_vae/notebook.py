"""HTML of results, which notebooks show. No other file knows of it: the classes get their ``_repr_html_`` here."""

from __future__ import annotations

from html import escape

from . import _core
from .decoding import Handle
from .frontiers import Frontier
from .module import DecodeReport
from .prediction import Prediction

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 480, 220, 60, 40


def prediction_html(prediction: Prediction) -> str:
    """The figures as a table, with a bar for each number of bytes."""
    rows = [("untiled, at least" if prediction.untiled_text.startswith("at least") else "untiled", prediction.untiled_peak_bytes)]
    if prediction.plan is not None:
        rows.append(("peak, planned", prediction.plan.peak_bytes))
    rows.append(("smallest limit", prediction.smallest_limit_bytes))
    if prediction.limit_bytes is not None:
        rows.append(("limit", prediction.limit_bytes))
    largest = max(number for _, number in rows)
    cells = "".join(
        f"<tr><td>{name}</td><td style='text-align:right'>{_core.format_bytes(number)}</td>"
        f"<td><div style='background:#4c78a8;height:0.8em;width:{max(1, round(200 * number / largest))}px'></div></td></tr>"
        for name, number in rows
    )
    if prediction.plan is not None:
        seconds = _core.format_seconds(prediction.plan.seconds) + prediction.plan.assumed_text
        cells += f"<tr><td>time</td><td colspan=2>{seconds}</td></tr>"
    else:
        cells += f"<tr><td>does not fit</td><td colspan=2>{escape(str(prediction).splitlines()[-1])}</td></tr>"
    return f"<table><caption>{escape(prediction.what)}</caption>{cells}</table>"


def report_html(report: DecodeReport) -> str:
    """Table of predicted and measured values."""
    size, seconds = _core.format_bytes, _core.format_seconds
    rows = (
        ("peak", size(report.predicted_peak_bytes), size(report.peak_bytes)),
        ("time", seconds(report.predicted_seconds), seconds(report.seconds)),
        ("peak of an untiled decode", size(report.untiled_peak_bytes), ""),
    )
    caption = escape(str(report).splitlines()[0]) + "".join(f"<br>{escape(text)}" for text in report.undone)
    cells = "".join(f"<tr><td>{name}</td><td style='text-align:right'>{then}</td><td style='text-align:right'>{now}</td></tr>" for name, then, now in rows)
    return f"<table><caption>{caption}</caption><tr><th></th><th>predicted</th><th>measured</th></tr>{cells}</table>"


def handle_html(handle: Handle) -> str:
    """The VAE and its limit, and the table of the last decode."""
    what = f"<p>{escape(handle.model.name)} decodes with Headroom, limit {escape(handle._limit_text())}</p>"
    return what + ("<p>no decode yet</p>" if handle.last is None else report_html(handle.last))


def plan_html(plan: _core.Plan) -> str:
    """The passes of the plan in order, collapsed."""
    return f"<details><summary>{escape(repr(plan))}</summary><pre>{escape(plan.explain())}</pre></details>"


def frontier_html(frontier: Frontier) -> str:
    """Time over peak as an SVG."""
    if not frontier:
        return f"<p>{escape(frontier.what)}: nothing fits</p>"
    most_bytes = max(point.peak_bytes for point in frontier)
    most_seconds = max(point.seconds for point in frontier)

    def at(point: tuple[float, float]) -> str:
        x = _LEFT + (_WIDTH - _LEFT - 10) * point[0] / most_bytes
        return f"{x:.1f},{_HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - 10) * point[1] / most_seconds:.1f}"

    line = " ".join(at(point) for point in frontier)
    dots = "".join(
        "<circle cx='{0}' cy='{1}' r='3' fill='#4c78a8'><title>{2}, {3}</title></circle>".format(
            *at(p).split(","), _core.format_bytes(p.peak_bytes), _core.format_seconds(p.seconds)
        )
        for p in frontier
    )
    return (
        f"<figure><figcaption>{escape(frontier.what)}</figcaption>"
        f"<svg width='{_WIDTH}' height='{_HEIGHT}' font-size='11' font-family='sans-serif'>"
        f"<path d='M{_LEFT},10 V{_HEIGHT - _BOTTOM} H{_WIDTH - 10}' fill='none' stroke='#888'/>"
        f"<polyline points='{line}' fill='none' stroke='#4c78a8'/>{dots}"
        f"<text x='{_LEFT - 4}' y='18' text-anchor='end'>{_core.format_seconds(most_seconds)}</text>"
        f"<text x='{_LEFT - 4}' y='{_HEIGHT - _BOTTOM}' text-anchor='end'>0</text>"
        f"<text x='{_WIDTH - 10}' y='{_HEIGHT - _BOTTOM + 14}' text-anchor='end'>{_core.format_bytes(most_bytes)}</text>"
        f"<text x='{(_LEFT + _WIDTH) // 2}' y='{_HEIGHT - 6}' text-anchor='middle'>peak of the decode, weights included</text>"
        "</svg></figure>"
    )


Prediction._repr_html_ = prediction_html
DecodeReport._repr_html_ = report_html
Handle._repr_html_ = handle_html
_core.Plan._repr_html_ = plan_html
Frontier._repr_html_ = frontier_html
