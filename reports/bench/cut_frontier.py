#!/usr/bin/env python3
"""Peak against time of two builds: how far time jumps where the limit falls by a twentieth.

    python reports/bench/cut_frontier.py --before ../other/build/bin -o reports/results/cut-frontier.json

Both builds plan under the same many limits, by assumed costs. Writes the JSON file and, beside it, a Markdown table with the
steps that were the largest before.
"""

import argparse
import csv
import resource
import tempfile
from pathlib import Path

import measure
from measure import mib

LESS = 0.95


def frontier(program: Path, model: str, size: str, points: int) -> tuple[list[tuple[int, float]], float]:
    """Peaks with their seconds, falling, and the processor's seconds that finding them took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "frontier.csv"
        measure.run([str(program), "frontier", "--model", model, "--size", size, "--points", str(points), "--csv", str(table)])
        with table.open() as lines:
            rows = [(int(row["peak_bytes"]), float(row["seconds"])) for row in csv.DictReader(lines)]
    return rows, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def seconds_under(points: list[tuple[int, float]], limit: float) -> float:
    """Of the fastest plan under the limit."""
    return min((seconds for peak, seconds in points if peak <= limit), default=float("inf"))


def steps(points: list[tuple[int, float]]) -> list[dict[str, float]]:
    """For every peak from which a twentieth less still has a plan: how many times as long that one takes."""
    smallest = min(peak for peak, _ in points)
    return [{"peak_bytes": peak, "seconds": seconds, "ratio": seconds_under(points, LESS * peak) / seconds}
            for peak, seconds in points if LESS * peak >= smallest]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="the folder with the other build's programs")
    parser.add_argument("--model", default="sdxl")
    parser.add_argument("--size", default="1024x1024")
    parser.add_argument("--points", type=int, default=120, help="limits, default: %(default)s")
    parser.add_argument("-o", "--output", type=Path, help="the results, .json; the table lies beside it, .md")
    args = parser.parse_args()

    header = measure.result_header()
    builds = {"before": args.before / "headroom-plan", "after": measure.BIN / "headroom-plan"}
    found = {name: frontier(program, args.model, args.size, args.points) for name, program in builds.items()}
    points = {name: rows for name, (rows, _) in found.items()}
    jumps = {name: max(steps(rows), key=lambda step: step["ratio"]) for name, rows in points.items()}
    worst = sorted(steps(points["before"]), key=lambda step: -step["ratio"])[:12]
    table = [["peak", "before", "after", "5 % less: before", "after"]]
    for step in sorted(worst, key=lambda step: -step["peak_bytes"]):
        limit = step["peak_bytes"]
        table.append([mib(limit), *(f"{seconds_under(points[name], limit):.1f} s" for name in builds),
                      *(f"{seconds_under(points[name], LESS * limit):.1f} s" for name in builds)])
    title = f"{args.model} at {args.size} on the CPU: peak against time, before and after tensors kept above a row"
    markdown = measure.markdown_header(title, header) + measure.markdown_table(table)
    markdown += "\nLimits at which 5 % less cost the most before, by assumed costs.\n\n"
    for name in builds:
        step = jumps[name]
        markdown += (f"- {name}: the largest step is {100 * (step['ratio'] - 1):.0f} % in time for 5 % in bytes, from "
                     f"{mib(step['peak_bytes'])}; {len(points[name])} points in {found[name][1]:.1f} s of one processor.\n")
    measure.publish(args.output, {"title": title, **header, "points": {name: [{"peak_bytes": peak, "seconds": seconds}
                                                                            for peak, seconds in rows]
                                                                     for name, rows in points.items()},
                                  "largest_steps": jumps, "planning_seconds": {name: used for name, (_, used) in found.items()}},
                    markdown)
    return 0


if __name__ == "__main__":
    measure.run_main(main)
