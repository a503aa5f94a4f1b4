#!/usr/bin/env python3
"""Headroom against diffusers on the same weights and latent, side by side.

    python reports/bench/bench_decode.py --model sdxl --size 512x512 --random-weights 0 \\
        --limits 576MiB,2GiB --pairs 3 --threads 2 -o reports/results/sdxl-512.json

Every run is a fresh process. Each run of Headroom (and of the other --modes of diffusers) follows a run of diffusers
untiled and is compared with that neighbour, in time and in pixels, since a machine's clock moves. Seconds are those of
the decode with its weights in place. Writes the JSON file and, beside it, a Markdown table. Ends with 1 where
Headroom's error passes 1e-4 of the reference's magnitude, its peak the limit, or its resident growth the limit + 32 MiB.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any, Callable

import numpy as np

import measure
from measure import EXACT, Run, decibels, mib, spread

MODES = ("untiled", "channels-last", "tiled")
Decode = Callable[[Path], Run]


def limit_list(text: str) -> list[str]:
    limits = text.split(",")
    for each in limits:
        measure.parse_bytes(each)
    return limits


def contenders(args: argparse.Namespace, size: tuple[int, int], latent: Path, scratch: Path) -> dict[str, tuple[Run, Decode]]:
    """By name: what is known beforehand, and the decode into a file."""
    found: dict[str, tuple[Run, Decode]] = {}
    for text in args.limits:
        plan_file = scratch / f"plan-{text}.json"
        plan = measure.make_plan(args.model, size, measure.parse_bytes(text), plan_file, args.profile)
        measure.note(f"plan for {text}: peak {mib(plan['predicted_peak_bytes'])}, {plan['passes']} passes")

        def ours(output: Path, plan_file: Path = plan_file) -> Run:
            return measure.headroom_decode(args.model, plan_file, latent, output, args.random_weights, args.threads)

        found[f"Headroom, {text}"] = (plan, ours)
    for mode in args.modes:
        if mode == "untiled":
            continue

        def theirs(output: Path, mode: str = mode) -> Run:
            return measure.diffusers_decode(args.model, latent, output, args.random_weights, args.threads, mode, args.tile)

        found[f"diffusers {mode}" + (f" {args.tile}" if mode == "tiled" else "")] = ({}, theirs)
    return found


def run_pairs(args: argparse.Namespace, latent: Path, scratch: Path, runs: dict[str, tuple[Run, Decode]]) -> list[Run]:
    """The pairs in the order in which they ran."""
    pairs = []
    for round_number in range(1, args.pairs + 1):
        for name, (_, decode) in runs.items():
            untiled = measure.diffusers_decode(args.model, latent, scratch / "untiled.npy", args.random_weights, args.threads)
            run = decode(scratch / "run.npy")
            error = measure.compare(np.load(scratch / "run.npy"), np.load(scratch / "untiled.npy"))
            pair = {"name": name, "untiled": untiled, "run": run, "time_ratio": run["seconds"] / untiled["seconds"], **error}
            pairs.append(pair)
            measure.note(f"pair {round_number}/{args.pairs}, {name}: {run['seconds']:.2f} s, untiled {untiled['seconds']:.2f} s, "
                         f"ratio {pair['time_ratio']:.2f}, resident growth {mib(run['rss_growth_bytes'])}, "
                         f"error {error['largest_error_relative']:.1e}")
    return pairs


def memory(runs: list[Run], ours: bool) -> dict[str, int]:
    """Headroom's largest, and diffusers' median, whose allocator leaves more or less behind from run to run."""
    keys = ("peak_bytes", "rss_growth_bytes", "peak_above_weights_bytes", "weights_bytes")
    typical = max if ours else np.median
    return {key: int(typical([run[key] for run in runs])) for key in keys if key in runs[0]}


def summary(name: str, plan: Run, pairs: list[Run]) -> dict[str, Any]:
    runs = [pair["run"] for pair in pairs]
    psnr = [pair["psnr_db"] for pair in pairs if pair["psnr_db"] is not None]
    entry = {"name": name, "limit_bytes": plan.get("limit_bytes"), "predicted_peak_bytes": plan.get("predicted_peak_bytes"),
             **memory(runs, ours=bool(plan)),
             "seconds": spread([run["seconds"] for run in runs]),
             "time_ratio": spread([pair["time_ratio"] for pair in pairs]),
             "largest_error": max(pair["largest_error"] for pair in pairs),
             "largest_error_relative": max(pair["largest_error_relative"] for pair in pairs),
             "psnr_db": min(psnr, default=None)}
    if plan:
        entry["exact"] = entry["largest_error_relative"] <= EXACT
        entry["within_limit"] = all(map(measure.held, runs))
    return entry


def untiled_summary(pairs: list[Run]) -> dict[str, Any]:
    runs = [pair["untiled"] for pair in pairs]
    return {"name": "diffusers untiled", "seconds": spread([run["seconds"] for run in runs]),
            **memory(runs, ours=False)}


def table(rows: list[dict[str, Any]]) -> str:
    def ranged(values: dict[str, float] | None, unit: str) -> str:
        return f"{values['median']:.2f}{unit} ({values['least']:.2f}–{values['most']:.2f})" if values else "1"

    lines = [["decode", "limit", "predicted peak", "measured peak", "resident growth", "time", "time against untiled",
              "largest error", "relative", "PSNR"]]
    for row in rows:
        compared = "largest_error" in row
        lines.append([row["name"], mib(row.get("limit_bytes")), mib(row.get("predicted_peak_bytes")), mib(row["peak_bytes"]),
                      mib(row["rss_growth_bytes"]), ranged(row["seconds"], " s"), ranged(row.get("time_ratio"), ""),
                      *([f"{row['largest_error']:.1e}", f"{row['largest_error_relative']:.1e}", decibels(row["psnr_db"])]
                        if compared else ["–"] * 3)])
    return measure.markdown_table(lines)


def notes(pairs: int) -> str:
    return (f"\nPeaks include the weights: Headroom's largest, diffusers' median of its runs (for it, resident growth). Times: "
            f"median\n(least–most) of {pairs} pair(s), each against the run of diffusers untiled just before it, for the decode "
            "with its weights in\nplace. Errors are against diffusers untiled; relative is to its largest magnitude.\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="folder in diffusers' layout, or sd15, sdxl, sd3, flux")
    parser.add_argument("--random-weights", type=int, metavar="SEED", help="seeded weights instead of the folder's")
    parser.add_argument("--size", type=measure.parse_size, help="pixels, WIDTHxHEIGHT: a random latent of this size")
    parser.add_argument("--latent", type=Path, help="a latent's file instead")
    parser.add_argument("--limits", type=limit_list, default=[], help="for example 576MiB,2GiB")
    parser.add_argument("--modes", type=lambda text: text.split(","), default=["untiled"],
                        help="of diffusers: untiled (always), channels-last, tiled; commas between")
    parser.add_argument("--tile", type=int, default=32, help="tiled: latent positions a side, default: %(default)s")
    parser.add_argument("--pairs", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--profile", help="plan by this profile; by assumed costs without")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the results, .json; the table lies beside it, .md")
    args = parser.parse_args()
    if unknown := set(args.modes) - set(MODES):
        parser.error(f"--modes: expected {', '.join(MODES)}, found {', '.join(unknown)}")
    if (args.size is None) == (args.latent is None):
        parser.error("expected --size or --latent")
    if args.pairs < 1 or not (args.limits or set(args.modes) - {"untiled"}):
        parser.error("expected at least one pair, and a limit or another mode to compare")

    header = measure.result_header()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        latent = args.latent or measure.write_random_latent(args.model, args.size, args.random_weights or 0,
                                                            scratch / "latent.npy")
        scale, shape = measure.scale_factor(args.model), measure.read_latent(latent).shape
        size = (shape[-1] * scale, shape[-2] * scale)
        runs = contenders(args, size, latent, scratch)
        pairs = run_pairs(args, latent, scratch, runs)
    rows = [untiled_summary(pairs)]
    rows += [summary(name, plan, [pair for pair in pairs if pair["name"] == name]) for name, (plan, _) in runs.items()]
    title = f"{Path(args.model).name} {size[0]}×{size[1]}, fp32, {args.threads} threads"
    costs = "a profile" if args.profile else "assumed costs"
    markdown = measure.markdown_header(title, header) + table(rows) + notes(args.pairs) + f"Plans are made with {costs}.\n"
    plans = {name: plan for name, (plan, _) in runs.items() if plan}
    measure.write_results(args.output, {"title": title, **header, "rows": rows, "plans": plans, "pairs": pairs}, markdown)
    print(markdown)
    return 0 if all(row.get("exact", True) and row.get("within_limit", True) for row in rows) else 1


if __name__ == "__main__":
    measure.run_main(main)
