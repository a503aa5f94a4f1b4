#!/usr/bin/env python3
"""Peak against time of two builds: how far time jumps where the limit falls by a twentieth.

What evens it out: tensors kept above a row, algorithms by convolution, rows carried from tile to tile, narrower tiles.

    python reports/bench/cut_frontier.py --before ../other/build/bin --limits 510MiB -o reports/results/cut-frontier.json

Both builds plan under the same many limits, by assumed costs. Under those of --limits both decode as well, in turns, with random
weights; on the CPU alone. Writes the JSON file and, beside it, a Markdown table with the steps that were the largest before, and a picture of both frontiers.
"""

import argparse
import csv
import resource
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import measure
from frontier_picture import write_picture
from measure import mib

LESS = 0.95


def cuts(program: Path) -> list[str]:
    """--cuts, for a program that knows it."""
    return ["--cuts"] if "--cuts" in measure.run([str(program), "frontier", "--help"]) else []


def frontier(program: Path, words: list[str]) -> tuple[list[tuple[int, float]], float]:
    """Peaks with their seconds, falling, and the processor's seconds that finding them took."""
    before = user_seconds()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "frontier.csv"
        measure.run([str(program), "frontier", *words, "--csv", str(table), *cuts(program)])
        with table.open() as lines:
            rows = [(int(row["peak_bytes"]), float(row["seconds"])) for row in csv.DictReader(lines)]
    return rows, user_seconds() - before


def seconds_under(points: list[tuple[int, float]], limit: float) -> float:
    """Of the fastest plan under the limit."""
    return min((seconds for peak, seconds in points if peak <= limit), default=float("inf"))


def steps(points: list[tuple[int, float]]) -> list[dict[str, float]]:
    """For every peak from which a twentieth less still has a plan: how many times as long that one takes."""
    smallest = min(peak for peak, _ in points)
    return [{"peak_bytes": peak, "seconds": seconds, "ratio": seconds_under(points, LESS * peak) / seconds}
            for peak, seconds in points if LESS * peak >= smallest]


def largest_step(points: list[tuple[int, float]], least_peak: float = 0) -> dict[str, float]:
    """Of those that end above `least_peak`."""
    return max((step for step in steps(points) if LESS * step["peak_bytes"] >= least_peak), key=lambda step: step["ratio"])


def user_seconds() -> float:
    """Of all children so far: what a decode takes where others use the processors too."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def decodes(builds: dict[str, Path], model: str, size: str, limit: str, rounds: int) -> dict[str, Any]:
    """Of each build the processors' seconds and the peak of decodes under a limit, and how far the last two pictures are apart."""
    extent = measure.parse_size(size)
    taken: dict[str, list[float]] = {name: [] for name in builds}
    peaks: dict[str, list[int]] = {name: [] for name in builds}
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        latent = measure.write_random_latent(model, extent, 1, folder / "latent.npy")
        plans = {name: measure.make_plan(model, extent, measure.parse_bytes(limit), folder / f"{name}.json", programs=program.parent,
                                        options=cuts(program))
                 for name, program in builds.items()}
        for number in range(rounds):
            for name in list(builds)[::1 if number % 2 == 0 else -1]:
                before = user_seconds()
                run = measure.headroom_decode(model, folder / f"{name}.json", latent, folder / f"{name}.npy", 0, 2, builds[name].parent)
                taken[name].append(user_seconds() - before)
                peaks[name].append(run["peak_bytes"])
                measure.note(f"{limit}, round {number + 1}/{rounds}, {name}: {taken[name][-1]:.1f} s of the processors")
        return {"limit": limit, "size": size, "plans": plans,
                "user_seconds": {name: measure.spread(seconds) for name, seconds in taken.items()},
                "peak_bytes": {name: max(of_build) for name, of_build in peaks.items()},
                **measure.compare(np.load(folder / "after.npy"), np.load(folder / "before.npy"))}


def decode_table(rows: list[dict[str, Any]]) -> str:
    table = [["size", "limit", "before", "after", "ratio", "planned ratio", "peak, after", "largest difference, relative"]]
    for row in rows:
        before, after = (row["user_seconds"][name]["median"] for name in ("before", "after"))
        planned = row["plans"]["after"]["predicted_seconds"] / row["plans"]["before"]["predicted_seconds"]
        table.append([row["size"], row["limit"], f"{before:.1f} s", f"{after:.1f} s", f"{after / before:.2f}", f"{planned:.2f}",
                      mib(row["peak_bytes"]["after"]), f"{row['largest_error_relative']:.1e}"])
    return "\nDecodes, in seconds of the processors (two threads, medians):\n\n" + measure.markdown_table(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="the folder with the other build's programs")
    parser.add_argument("--after", type=Path, default=measure.BIN, help="the folder with this build's programs, default: build/bin")
    parser.add_argument("--model", default="sdxl")
    parser.add_argument("--size", default="1024x1024")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="default: %(default)s")
    parser.add_argument("--dtype", choices=["fp32", "fp16", "bf16"], default="fp32", help="default: %(default)s")
    parser.add_argument("--points", type=int, default=120, help="limits, default: %(default)s")
    parser.add_argument("--limits", default="", help="decode under these too, at --decode-size")
    parser.add_argument("--decode-size", default="1024x1024", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=1, help="of decodes, default: %(default)s")
    parser.add_argument("-o", "--output", type=Path, help="the results, .json; table and picture lie beside it, .md and .svg")
    args = parser.parse_args()

    if args.limits and args.device == "cuda":
        parser.error("--limits: decodes are on the CPU; leave out --device cuda, or --limits")
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
    header = measure.result_header()
    builds = {"before": args.before / "headroom-plan", "after": args.after / "headroom-plan"}
    words = ["--model", args.model, "--size", args.size, "--device", args.device, "--dtype", args.dtype, "--points", str(args.points)]
    found = {name: frontier(program, words) for name, program in builds.items()}
    points = {name: rows for name, (rows, _) in found.items()}
    jumps = {name: largest_step(rows) for name, rows in points.items()}
    # Smallest limits differ, and time rises most before the smallest.
    both_have_plans = max(min(peak for peak, _ in rows) for rows in points.values())
    jumps_of_both = {name: largest_step(rows, both_have_plans) for name, rows in points.items()}
    worst = sorted(steps(points["before"]), key=lambda step: -step["ratio"])[:12]
    table = [["peak", "before", "after", "5 % less: before", "after"]]
    for step in sorted(worst, key=lambda step: -step["peak_bytes"]):
        limit = step["peak_bytes"]
        table.append([mib(limit), *(f"{seconds_under(points[name], limit):.3g} s" for name in builds),
                      *(f"{seconds_under(points[name], LESS * limit):.3g} s" for name in builds)])
    request = f"{args.model} at {args.size} on the CPU" if args.device == "cpu" else f"{args.model} at {args.size} on CUDA, {args.dtype}"
    title = f"{request}: peak against time, before and after what evens it out"
    markdown = measure.markdown_header(title, header)
    if args.output:
        picture = args.output.with_suffix(".svg")
        write_picture(picture, points, f"{request}: the fastest plan under every limit, by assumed costs")
        markdown += f"![the seconds of the fastest plan under every limit, before and after]({picture.name})\n\n"
    markdown += measure.markdown_table(table)
    markdown += "\nLimits at which 5 % less cost the most before, by assumed costs.\n\n"
    for name in builds:
        step = jumps[name]
        markdown += (f"- {name}: the largest step is {100 * (step['ratio'] - 1):.0f} % in time for 5 % in bytes, from "
                     f"{mib(step['peak_bytes'])} (smallest limit {mib(min(peak for peak, _ in points[name]))}); "
                     f"{100 * (jumps_of_both[name]['ratio'] - 1):.0f} %, from {mib(jumps_of_both[name]['peak_bytes'])}, "
                     f"where both have plans; {len(points[name])} points in {found[name][1]:.1f} s of one processor.\n")
    ran = [decodes(builds, args.model, args.decode_size, limit, args.rounds) for limit in args.limits.split(",") if limit]
    if ran:
        markdown += decode_table(ran)
    measure.publish(args.output, {"title": title, **header, "points": {name: [{"peak_bytes": peak, "seconds": seconds}
                                                                            for peak, seconds in rows]
                                                                     for name, rows in points.items()},
                                  "largest_steps": jumps, "largest_steps_where_both_have_plans": jumps_of_both, "decodes": ran,
                                  "planning_seconds": {name: used for name, (_, used) in found.items()}},
                    markdown)
    return 0


if __name__ == "__main__":
    measure.run_main(main)
