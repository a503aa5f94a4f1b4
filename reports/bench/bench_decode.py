#!/usr/bin/env python3
"""Headroom against diffusers, or Open-Sora-Plan's own code, on the same weights and latent, side by side.

    python reports/bench/bench_decode.py --model sdxl --size 512x512 --random-weights 0 \\
        --limits 200MiB,400MiB,2GiB --rounds 5 -o reports/results/sdxl-512.md
    python reports/bench/bench_decode.py --model open-sora-plan --source Open-Sora-Plan --size 256x256 --frames 17 \\
        --random-weights 0 --limits 1GiB,2GiB -o reports/results/open-sora-plan-256x17.md

Every run is a fresh process. In a round all contenders run one after another: the reference runs untiled, in channels-last
(pictures) and tiled, between Headroom's runs. Times are compared within the round, since a machine's speed varies. Each round
also measures the rate of LibTorch's convolutions. The yardstick is the time of the decoder's FLOPs at that rate.
Seconds are those of the decode with its weights loaded. Errors are relative to diffusers untiled in fp32.

Writes the JSON file and, beside it, a Markdown table. Exits with 1 if Headroom's error in fp32 passes 1e-4 of the
reference's magnitude, its PSNR in 16 bits is below diffusers', its peak passes the limit, or its resident growth the
limit + 32 MiB.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any, Callable

import numpy as np

import measure
from measure import EXACT, Run, decibels, mib, spread

UNTILED, CHANNELS_LAST, TILED = " untiled", " channels-last", " tiled "  # suffixes of the reference's name
Decode = Callable[[Path], Run]


def limit_list(text: str) -> list[str]:
    limits = text.split(",")
    for each in limits:
        measure.parse_bytes(each)
    return limits


def reference_name(model: str) -> str:
    if measure.model_of(model).in_diffusers:
        return "diffusers"
    return "Open-Sora-Plan" if measure.model_of(model).video else "plain PyTorch"


def contenders(args: argparse.Namespace, size: tuple[int, int], latent: Path, scratch: Path) -> dict[str, tuple[Run, Decode]]:
    """Contenders by name, in the order of a round. Each has its known figures and a function that decodes into a file."""
    def theirs(mode: str, tile: int = 0) -> tuple[Run, Decode]:
        return {}, lambda output: measure.diffusers_decode(args.model, latent, output, args.random_weights, args.threads,
                                                           mode, tile, args.dtype, args.source)

    def ours(text: str) -> tuple[Run, Decode]:
        file, shape = scratch / f"plan-{text}.json", measure.read_latent(latent).shape
        plan = measure.make_plan(args.model, size, measure.parse_bytes(text), file, args.profile, args.dtype,
                                 batch=shape[0], frames=measure.clip_frames(args.model, shape))
        measure.note(f"plan for {text}: peak {mib(plan['predicted_peak_bytes'])}, {plan['passes']} passes")
        return plan, lambda output: measure.headroom_decode(args.model, file, latent, output, args.random_weights, args.threads)

    def enabled(executor: str, limit: str) -> tuple[Run, Decode]:
        return {}, lambda output: measure.diffusers_decode(args.model, latent, output, args.random_weights, args.threads, "enabled",
                                                           dtype=args.dtype, extra=["--executor", executor, "--limit", limit])

    name = reference_name(args.model)
    reference = {name + UNTILED: theirs("untiled")}
    if name == "diffusers" and not measure.model_of(args.model).video:
        reference[name + CHANNELS_LAST] = theirs("channels-last")
    reference |= {f"{name}{TILED}{tile}": theirs("tiled", tile) for tile in args.tiles}
    headroom = {f"Headroom, {text}": ours(text) for text in args.limits}
    headroom |= {f"enable(), {executor}, {text}": enabled(executor, text) for executor in args.executors for text in args.limits}
    return measure.in_turns(reference, headroom)


def run_rounds(args: argparse.Namespace, runs: dict[str, tuple[Run, Decode]], reference: np.ndarray | None, scratch: Path) -> list[Run]:
    """Convolution rate and runs of each round. `reference` is the fp32 picture; None if the untiled run makes it."""
    rounds = []
    for number in range(1, args.rounds + 1):
        entry: dict[str, Any] = {"flops_per_second": measure.convolution_rate(args.threads, args.dtype), "runs": {}}
        measure.note(f"round {number}/{args.rounds}: convolutions at {entry['flops_per_second'] / 1e9:.0f} GFLOP/s")
        for name, (_, decode) in runs.items():
            run = decode(scratch / "run.npy")
            picture = np.load(scratch / "run.npy")
            if name.endswith(UNTILED) and args.dtype == "fp32":
                reference = picture
            run.update(measure.compare(picture, reference))
            entry["runs"][name] = run
            measure.note(f"  {name}: {run['seconds']:.2f} s, resident growth {mib(run['rss_growth_bytes'])}, "
                         f"error {run['largest_error_relative']:.1e}")
        rounds.append(entry)
    return rounds


def above_weights(run: Run, weights_bytes: int) -> int:
    """Resident growth less the bytes of the model's weight file, which are the same for all contenders."""
    return max(0, run["rss_growth_bytes"] - weights_bytes)


def summary(name: str, plan: Run, rounds: list[Run], weights_bytes: int, flops: float, dtype: str) -> dict[str, Any]:
    """Figures of one contender. Memory is Headroom's maximum, but the reference's median, since its allocator varies."""
    runs = [each["runs"][name] for each in rounds]
    untiled, channels_last = (next((other for other in rounds[0]["runs"] if other.endswith(kind)), None)
                              for kind in (UNTILED, CHANNELS_LAST))
    typical = max if plan else np.median

    def against(other: str | None) -> dict[str, float] | None:
        if other in (name, None):
            return None
        return spread([each["runs"][name]["seconds"] / each["runs"][other]["seconds"] for each in rounds])

    def above_of(other: str) -> int:
        return int(np.median([above_weights(each["runs"][other], weights_bytes) for each in rounds]))

    above = int(typical([above_weights(run, weights_bytes) for run in runs]))
    psnr = [run["psnr_db"] for run in runs if run["psnr_db"] is not None]
    tiled = [other for other in rounds[0]["runs"] if TILED in other]
    nearest = min(tiled, key=lambda other: abs(above_of(other) - above),
                  default=None) if plan else None
    entry = {"name": name, "limit_bytes": plan.get("limit_bytes"), "predicted_peak_bytes": plan.get("predicted_peak_bytes"),
             "peak_bytes": int(typical([run["peak_bytes"] for run in runs])),
             "rss_growth_bytes": int(typical([run["rss_growth_bytes"] for run in runs])),
             "peak_above_weights_bytes": above, "peak_share": above / above_of(untiled),
             "seconds": spread([run["seconds"] for run in runs]),
             "time_ratio": against(untiled), "time_ratio_channels_last": against(channels_last),
             "nearest_tiling": nearest, "faster_than_nearest_tiling":
                 spread([each["runs"][nearest]["seconds"] / each["runs"][name]["seconds"] for each in rounds]) if nearest else None,
             "of_convolution_rate": spread([each["runs"][name]["seconds"] * each["flops_per_second"] / flops for each in rounds]),
             "largest_error": max(run["largest_error"] for run in runs),
             "largest_error_relative": max(run["largest_error_relative"] for run in runs), "psnr_db": min(psnr, default=None)}
    if plan:
        worst_of_theirs = min(each["runs"][untiled]["psnr_db"] or np.inf for each in rounds)
        entry["exact"] = (entry["largest_error_relative"] <= EXACT if dtype == "fp32"
                          else entry["psnr_db"] is None or entry["psnr_db"] >= worst_of_theirs)
        entry["within_limit"] = all(map(measure.held, runs))
    return entry


def table(rows: list[dict[str, Any]]) -> str:
    def ranged(values: dict[str, float] | None, unit: str = "") -> str:
        return f"{values['median']:.2f}{unit} ({values['least']:.2f}–{values['most']:.2f})" if values else "–"

    lines = [["decode", "predicted peak", "resident growth", "above weights", "share of untiled's", "time", "against untiled",
              "against channels-last", "of FLOPs / rate", "tiling takes", "largest error", "PSNR"]]
    for row in rows:
        tiling = ranged(row["faster_than_nearest_tiling"]) + f", {row['nearest_tiling'].split(' ', 1)[1]}" if row["nearest_tiling"] else "–"
        lines.append([row["name"], mib(row["predicted_peak_bytes"]), mib(row["rss_growth_bytes"]),
                      mib(row["peak_above_weights_bytes"]), f"{row['peak_share']:.2f}", ranged(row["seconds"], " s"),
                      ranged(row["time_ratio"]), ranged(row["time_ratio_channels_last"]), ranged(row["of_convolution_rate"]),
                      tiling, f"{row['largest_error_relative']:.1e}", decibels(row["psnr_db"])])
    return measure.markdown_table(lines)


def notes(reference: str, rounds: int, dtype: str, gflops: dict[str, float], flops: float) -> str:
    theirs = reference + ("'" if reference.endswith("s") else "'s")
    return (f"\nTimes: median (least–most) of {rounds} round(s), ratios within a round, for the decode with its weights in place. "
            f"Resident growth\nincludes the weights: Headroom's largest, {theirs} median. Above weights: less the "
            "model's weights in this dtype, for\neveryone, though Headroom may hold only some of them or hold them packed. LibTorch's convolutions ran at "
            f"{gflops['median']:.0f} GFLOP/s ({gflops['least']:.0f}–{gflops['most']:.0f}) in {dtype}; FLOPs / rate is what the "
            f"decoder's\n{flops / 1e9:.0f} GFLOP (upsampling by phases) take at that. \"Tiling takes\": the time of {theirs} tiling of "
            f"the nearest peak over this one. Errors\nare against {reference} untiled in fp32, relative to its largest magnitude.\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="folder in diffusers' layout, or a built-in name")
    parser.add_argument("--random-weights", type=int, metavar="SEED", help="seeded weights instead of the folder's")
    parser.add_argument("--size", type=measure.parse_size, help="pixels, WIDTHxHEIGHT: a random latent of this size")
    parser.add_argument("--frames", type=int, default=1, help="of the clip that the random latent decodes to, default: %(default)s")
    parser.add_argument("--batch", type=int, default=1, help="of the random latent, default: %(default)s")
    parser.add_argument("--latent", type=Path, help="a latent's file instead")
    parser.add_argument("--limits", type=limit_list, required=True, help="for example 400MiB,2GiB")
    parser.add_argument("--executors", type=lambda text: text.split(","), default=[],
                        help="enable() with these limits too, in Python: for example torch,native")
    parser.add_argument("--tiles", type=lambda text: [int(each) for each in text.split(",")] if text else [], default=[32],
                        help="the reference's own tiling: latent positions a side, commas between, default: 32; empty for none")
    parser.add_argument("--source", type=Path, help="Open-Sora-Plan: a clone of its repository")
    parser.add_argument("--dtype", choices=("fp32", "bf16", "fp16"), default="fp32", help="of both sides, default: %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--profile", help="plan by this profile; by assumed costs without")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the results, a Markdown file")
    args = parser.parse_args()
    if (args.size is None) == (args.latent is None):
        parser.error("expected --size or --latent")
    if args.rounds < 1:
        parser.error("--rounds: expected at least 1")

    header = measure.result_header()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        latent = args.latent or measure.write_random_latent(args.model, args.size, args.random_weights or 0,
                                                            scratch / "latent.safetensors", args.batch, args.frames)
        scale, shape = measure.model_of(args.model).spatial_factor, measure.read_latent(latent).shape
        size, frames = (shape[-1] * scale, shape[-2] * scale), measure.clip_frames(args.model, shape)
        runs = contenders(args, size, latent, scratch)
        reference = None
        if args.dtype != "fp32":
            measure.diffusers_decode(args.model, latent, scratch / "fp32.npy", args.random_weights, args.threads,
                                     source=args.source)
            reference = np.load(scratch / "fp32.npy")
        flops = measure.make_plan(args.model, size, 1 << 50, scratch / "ample.json", batch=shape[0], frames=frames)["flops"]
        rounds = run_rounds(args, runs, reference, scratch)
    weights_bytes = rounds[0]["runs"][reference_name(args.model) + UNTILED]["weights_bytes"]
    rows = [summary(name, plan, rounds, weights_bytes, flops, args.dtype) for name, (plan, _) in runs.items()]
    rows.sort(key=lambda row: row["name"].startswith("Headroom"))
    gflops = spread([each["flops_per_second"] / 1e9 for each in rounds])
    items = (f", {frames} frames" if frames > 1 else "") + (f", batch {shape[0]}" if shape[0] > 1 else "")
    title = f"{Path(args.model).name} {size[0]}×{size[1]}{items}, {args.dtype}, {args.threads} threads"
    costs = "a profile" if args.profile else "assumed costs"
    markdown = (measure.markdown_header(title, header) + table(rows)
                + notes(reference_name(args.model), args.rounds, args.dtype, gflops, flops)
                + f"Plans are made with {costs}.\n")
    measure.publish(args.output, markdown)
    return 0 if all(row.get("exact", True) and row.get("within_limit", True) for row in rows) else 1


if __name__ == "__main__":
    measure.run_main(main)
