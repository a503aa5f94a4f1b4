#!/usr/bin/env python3
"""Two builds of Headroom on the same decode, in turns.

    python reports/bench/compare_builds.py --before ../other/build/bin --model sdxl --size 512x512 --random-weights 0 \\
        --limits 400MiB,2GiB --rounds 5 -o reports/results/builds.md

Each build makes its own plan and decodes in a fresh process. The builds take turns, and the first one changes each round.
Writes the JSON file and, beside it, a Markdown table with the ratio of times, and of peaks.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import measure
from measure import Run, mib, spread


def compare_limit(args: argparse.Namespace, builds: dict[str, Path], limit: str, latent: Path, scratch: Path) -> dict[str, Any]:
    plans = {name: measure.make_plan(args.model, args.size, measure.parse_bytes(limit), scratch / f"{name}.json", args.profile,
                                     programs=programs)
             for name, programs in builds.items()}
    runs: dict[str, list[Run]] = {name: [] for name in builds}
    for number in range(args.rounds):
        for name in list(builds)[::1 if number % 2 == 0 else -1]:
            runs[name].append(measure.headroom_decode(args.model, scratch / f"{name}.json", latent, scratch / f"{name}.npy",
                                                      args.random_weights, args.threads, builds[name]))
        measure.note(f"{limit}, round {number + 1}/{args.rounds}: before {runs['before'][-1]['seconds']:.2f} s, "
                     f"after {runs['after'][-1]['seconds']:.2f} s")
    pairs = list(zip(runs["before"], runs["after"]))
    return {"limit": limit, "plans": plans,
            "seconds": {name: spread([run["seconds"] for run in of_build]) for name, of_build in runs.items()},
            "peak_bytes": {name: max(run["peak_bytes"] for run in of_build) for name, of_build in runs.items()},
            "time_ratio": spread([after["seconds"] / before["seconds"] for before, after in pairs]),
            **measure.compare(np.load(scratch / "after.npy"), np.load(scratch / "before.npy"))}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measure.add_run_arguments(parser, "sdxl")
    parser.add_argument("--before", type=Path, required=True, help="the folder with the other build's programs")
    parser.add_argument("--size", type=measure.parse_size, default=(512, 512), help="pixels, default: 512x512")
    parser.add_argument("--limits", default="400MiB,2GiB", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    args = measure.parse_run_arguments(parser)
    builds = {"before": args.before, "after": measure.BIN}
    header = measure.result_header()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        latent = measure.write_random_latent(args.model, args.size, args.random_weights or 0, scratch / "latent.npy")
        rows = [compare_limit(args, builds, limit, latent, scratch) for limit in args.limits.split(",")]
    lines = [["limit", "before", "after", "ratio", "peak before", "peak after", "largest difference"]]
    for row in rows:
        lines.append([row["limit"], *(f"{row['seconds'][name]['median']:.2f} s" for name in builds),
                      f"{row['time_ratio']['median']:.2f} ({row['time_ratio']['least']:.2f}–{row['time_ratio']['most']:.2f})",
                      *(mib(row["peak_bytes"][name]) for name in builds), f"{row['largest_error_relative']:.1e}"])
    title = f"{Path(args.model).name} {args.size[0]}×{args.size[1]}: two builds, {args.threads} threads"
    markdown = measure.markdown_header(title, header) + measure.markdown_table(lines) + "\nMedians of the decodes' seconds.\n"
    measure.publish(args.output, markdown)
    return 0


if __name__ == "__main__":
    measure.run_main(main)
