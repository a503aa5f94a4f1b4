#!/usr/bin/env python3
"""What plans for a GPU prove with the gaps of its memory, near the smallest limits; and how long it takes to say why nothing fits.

    python reports/bench/proof_with_gaps.py -o reports/results/proof-with-gaps.json

Nothing is decoded. Requests are drawn (`--seed`), their limits from the smallest that is named for them to a quarter more. Before them come
`FIXED` ones. Each built-in model is asked for usual sizes under 1 MiB on both devices. Seconds are those that the processor worked.
"""

import argparse
import json
import random
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import measure

Row = dict[str, Any]
FIXED = [("wan2.1", "1280x720", 1, 1, "fp16", 83209728), ("sana-dc-ae-f32c32", "2048x2048", 1, 2, "fp32", 694 * measure.MIB),
         ("sdxl", "4096x4096", 1, 1, "bf16", 2365009408), ("sdxl", "4096x4096", 1, 1, "bf16", 8192 * measure.MIB)]
PICTURES = ["sd15", "sdxl", "sd3", "flux", "flux2", "taesd", "qwen-image", "qwen-image-2.1", "hunyuan-image-2.1", "sana-dc-ae-f32c32"]
PICTURE_SIZES = ["1024x1024", "2048x2048", "4096x4096"]
CLIPS = [("wan2.1", "1280x720", 1), ("wan2.1", "1280x720", 81), ("wan2.2", "1280x704", 121), ("hunyuan-video", "960x544", 77),
         ("hunyuan-video-1.5", "1280x720", 121), ("ltx-video", "768x512", 121), ("ltx-2", "768x512", 121),
         ("open-sora-plan", "512x512", 65)]
SHAPES = [(model, size, 1) for model in PICTURES for size in PICTURE_SIZES] + CLIPS
TOO_LITTLE = measure.MIB


def timed_plan(words: list[str], file: Path) -> Row:
    """The plan's figures, or the smallest limit and the remedies; with seconds of the processor and of the clock."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    try:
        measure.run([str(measure.BIN / "headroom-plan"), *words, "-o", str(file)])
        plan = json.loads(file.read_text())
        peak = plan["predicted"]["peak_bytes"]
        figures = {"peak_bytes": peak, "live_bytes": peak - plan["reserve_bytes"], "seconds": plan["predicted"]["seconds"],
                   "bound_seconds": plan["bound_seconds"], "optimal": plan["optimal"]}
    except measure.DoesNotFit as refusal:
        figures = {"refused": str(refusal), "smallest_bytes": refusal.smallest_bytes}
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**figures, "planning_cpu_seconds": worked, "planning_wall_seconds": time.perf_counter() - begin}


def words_of(shape: tuple[str, str, int], batch: int, dtype: str, device: str, limit: int) -> list[str]:
    model, size, frames = shape
    return ["--model", model, "--size", size, "--frames", str(frames), "--batch", str(batch), "--device", device, "--dtype", dtype,
            "--limit", str(limit)]


def planned(shape: tuple[str, str, int], batch: int, dtype: str, limit: int, file: Path) -> Row:
    model, size, frames = shape
    row = {"model": model, "size": size, "frames": frames, "batch": batch, "dtype": dtype, "limit_bytes": limit}
    return {**row, **timed_plan(words_of(shape, batch, dtype, "cuda", limit), file)}


def drawn(count: int, seed: int, file: Path) -> list[Row]:
    chance = random.Random(seed)
    rows = []
    for _ in range(count):
        shape, dtype = chance.choice(SHAPES), chance.choice(["bf16", "fp16", "fp32"])
        batch = chance.choice([1, 1, 2]) if shape[2] == 1 else 1
        share = chance.uniform(1, 1.25)
        smallest = timed_plan(words_of(shape, batch, dtype, "cuda", TOO_LITTLE), file)["smallest_bytes"]
        rows.append({**planned(shape, batch, dtype, round(smallest * share), file), "of_smallest": share})
    return rows


def refused(file: Path) -> list[Row]:
    return [{"model": shape[0], "size": shape[1], "frames": shape[2], "device": device, "dtype": dtype,
             **timed_plan(words_of(shape, 1, dtype, device, TOO_LITTLE), file)}
            for device, dtype in (("cpu", "fp32"), ("cuda", "bf16")) for shape in SHAPES]


def gap(row: Row) -> float:
    """By what share a plan of the stated space could be faster at the most."""
    return 0 if row["optimal"] else row["seconds"] / row["bound_seconds"] - 1


def summary(rows: list[Row]) -> str:
    """Of drawn requests that fit."""
    proven = sum(row["optimal"] for row in rows)
    near = sum(gap(row) <= 0.005 for row in rows)
    quick = sum(row["planning_cpu_seconds"] <= 2 for row in rows)
    tight = sum(row["peak_bytes"] <= 1.01 * row["live_bytes"] for row in rows)
    seconds, ratios = [measure.spread([row[key] for row in rows])
                       for key in ("planning_cpu_seconds", "reserved_of_live")]
    return (f"Of {len(rows)} drawn requests {proven} are proven, {near} within 0.5 % of the bound; the worst may be "
            f"{100 * max(map(gap, rows)):.1f} % above the best. {quick} took 2 s or less; median {seconds['median']:.2f} s, most "
            f"{seconds['most']:.2f} s. {tight} reserve 1.01 of what is live or less; median {ratios['median']:.4f}, most "
            f"{ratios['most']:.4f}.\n\n")


def plan_cells(row: Row) -> list[str]:
    batch = f", batch {row['batch']}" if row["batch"] > 1 else ""
    frames = f", {row['frames']} frames" if row["frames"] > 1 else ""
    name = [f"{row['model']} {row['size']}{frames}{batch}", row["dtype"], f"{row['limit_bytes'] / measure.MIB:.1f} MiB"]
    worked = f"{row['planning_cpu_seconds']:.2f} s"
    if "refused" in row:
        return [*name, "does not fit", "", worked]
    proof = "proven" if row["optimal"] else f"at most {100 * gap(row):.2f} %"
    return [*name, proof, f"{row['reserved_of_live']:.4f}", worked]


def refusal_cells(row: Row) -> list[str]:
    frames = f", {row['frames']} frames" if row["frames"] > 1 else ""
    left = row["refused"].partition("there was no time to look at ")[2].partition(" (headroom-plan ended")[0]
    return [f"{row['model']} {row['size']}{frames}", f"{row['device']}, {row['dtype']}", measure.mib(row["smallest_bytes"]),
            left or "–", f"{row['planning_cpu_seconds']:.2f} s"]


def text_of(fixed: list[Row], rows: list[Row], why: list[Row]) -> str:
    head = ["request", "dtype", "limit", "above the best", "reserved / live", "planning"]
    within = sum(row["planning_cpu_seconds"] <= 1 for row in why)
    complete = sum("no time to look" not in row["refused"] for row in why)
    return (measure.markdown_table([head, *map(plan_cells, fixed)]) + "\n## Drawn near the smallest limit\n\n" +
            summary([row for row in rows if "refused" not in row]) + measure.markdown_table([head, *map(plan_cells, rows)]) +
            f"\n## Why not\n\nUnder 1 MiB. {within} of {len(why)} answers took 1 s or less, the longest "
            f"{max(row['planning_cpu_seconds'] for row in why):.2f} s; {complete} looked at every remedy.\n\n" +
            measure.markdown_table([["request", "device", "smallest limit", "remedies left out", "answer"], *map(refusal_cells, why)]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40, help="of requests that are drawn, default: %(default)s")
    parser.add_argument("--seed", type=int, default=28, help="default: %(default)s")
    parser.add_argument("-o", "--output", type=Path, help="the results, .json; the table lies beside it, .md")
    args = parser.parse_args()

    header = measure.result_header()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "plan.json"
        fixed = [planned((model, size, frames), batch, dtype, limit, file) for model, size, frames, batch, dtype, limit in FIXED]
        rows = drawn(args.count, args.seed, file)
        why = refused(file)
    for row in fixed + rows:
        if "refused" not in row:
            row["reserved_of_live"] = row["peak_bytes"] / row["live_bytes"]
    title = "Proof with gaps"
    measure.publish(args.output, {"title": title, **header, "seed": args.seed, "fixed": fixed, "drawn": rows, "why_not": why},
                    measure.markdown_header(title, header) + text_of(fixed, rows, why))
    return 0


if __name__ == "__main__":
    measure.run_main(main)
