"""Peak against time of several builds as a picture, SVG: for every limit, on a logarithmic scale, the seconds of the fastest plan under it."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

Points = Sequence[tuple[int, float]]

WIDTH, HEIGHT = 860, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 48, 52
COLOURS = ("#9aa0a6", "#1a66c2", "#c2571a")
MIB = 1 << 20


def even_ticks(most: float, about: int) -> list[float]:
    """Round numbers from 0 to `most`, `about` of them at the most."""
    step = next(step for power in range(-2, 7) for step in (10.0 ** power, 2 * 10.0 ** power, 5 * 10.0 ** power) if most / step <= about)
    return [step * number for number in range(int(most // step) + 1)]


def logarithmic_ticks(least: float, most: float) -> list[float]:
    every = [factor * 10.0 ** power for power in range(7) for factor in (1, 1.5, 2, 3, 4, 5, 7)]
    return [tick for tick in every if least <= tick <= most]


def staircase(points: Points, most_bytes: float) -> list[tuple[float, float]]:
    """Corners of the fewest seconds under every limit, from the smallest peak to `most_bytes`."""
    corners: list[tuple[float, float]] = []
    for peak, seconds in sorted(points):
        if corners:
            corners.append((peak, corners[-1][1]))
        corners.append((peak, seconds))
    return [*corners, (most_bytes, corners[-1][1])]


def picture(builds: Mapping[str, Points], title: str) -> str:
    peaks = [peak for points in builds.values() for peak, _ in points]
    least, most = min(peaks) * 0.95, max(peaks) * 1.02
    slowest = max(seconds for points in builds.values() for _, seconds in points) * 1.05

    def x(peak: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(peak / least) / math.log(most / least)

    def y(seconds: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * seconds / slowest

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
             'font-family="sans-serif" font-size="12" fill="#333">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>', f'<text x="{LEFT}" y="20" font-size="14">{escape(title)}</text>']
    for peak in logarithmic_ticks(least / MIB, most / MIB):
        parts.append(f'<text x="{x(peak * MIB):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{peak:g}</text>')
    for seconds in even_ticks(slowest, 8):
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(seconds):.1f}" y2="{y(seconds):.1f}" stroke="#e3e3e3"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(seconds) + 4:.1f}" text-anchor="end">{seconds:g}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">limit, MiB</text>')
    parts.append(f'<text x="16" y="{HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 16 {HEIGHT / 2})">seconds of the fastest plan</text>')
    for number, (name, points) in enumerate(builds.items()):
        corners = " ".join(f"{x(peak):.1f},{y(seconds):.1f}" for peak, seconds in staircase(points, most))
        colour = COLOURS[number % len(COLOURS)]
        parts.append(f'<polyline points="{corners}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{WIDTH - RIGHT - 8}" y="{TOP + 14 + 18 * number}" text-anchor="end" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def write_picture(path: Path, builds: Mapping[str, Points], title: str) -> None:
    path.write_text(picture(builds, title))
