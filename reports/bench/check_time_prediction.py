#!/usr/bin/env python3
"""Checks predicted times against measured ones: profiles this machine, then plans and decodes at many limits.

    python reports/bench/check_time_prediction.py --model sdxl --random-weights 0 --size 512x512 \\
        -o reports/results/time-prediction-sdxl-512-cpu.json

Limits are points of `headroom-plan frontier`, from the smallest peak that it allows to where more gains nothing. Decodes of all limits take turns, `--repeats`
times. Before and after each one, and around the profile, a decode of the same size without a limit is timed: what it takes beside
the profile over what it takes beside the other is the machine's rate meanwhile, since a shared machine may slow down by half
within minutes, memory more than arithmetic. Measured times are multiplied by it; the median of each limit counts. Expected is
|predicted / measured - 1| <= --slack for the passes together, and measured peak <= predicted <= --peak-slack x measured.
Ends with 1 otherwise.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import measure
from measure import mib


class Yardstick:
    """A decode, always the same, whose time says how fast the machine is just now."""

    def __init__(self, args: argparse.Namespace, folder: Path):
        self.args, self.folder = args, folder
        measure.make_plan(args.model, args.yardstick, measure.parse_bytes("1TiB"), folder / "yardstick.json")
        self.latent = measure.write_random_latent(args.model, args.yardstick, 0, folder / "yardstick.npy")
        self.seconds()  # brings the program's files into memory

    def seconds(self) -> float:
        return measure.headroom_decode(self.args.model, self.folder / "yardstick.json", self.latent, self.folder / "yardstick-out.npy",
                                       self.args.random_weights, self.args.threads)["seconds"]


def profile(args: argparse.Namespace, file: Path) -> dict[str, Any]:
    size = f"{args.size[0]}x{args.size[1]}"
    command = [str(measure.BIN / "headroom-profile"), "--model", args.model, "--sizes", args.profile_sizes or size,
               "--threads", str(args.threads), "-o", str(file), "--quiet", "--json"]
    command += ["--hold-out", args.hold_out] if args.hold_out else []
    command += ["--random-weights", str(args.random_weights)] if args.random_weights is not None else []
    start = time.perf_counter()
    found = measure.json.loads(measure.run(command))
    return {"seconds": time.perf_counter() - start, "device": found["device"], "libraries": found["libraries"],
            "weights_bytes_per_second": found["weights_bytes_per_second"], "laws": len(found["laws"]),
            "median_held_out_error": float(np.median([law["held_out_error"] for law in found["laws"]])),
            "held_out": [{key: each[key] for key in ("width_pixels", "height_pixels", "seconds", "predicted_seconds", "error")}
                         for each in found["held_out"]]}


def table(rows: list[dict[str, Any]]) -> str:
    lines = [["limit", "tiles in all", "predicted", "measured", "spread", "machine's rate", "calibrated", "predicted / calibrated", "the same, peak", "holds"]]
    for row in rows:
        m = row["measured_seconds"]
        lines.append([mib(row["limit_bytes"]), str(row["tiles"]), f"{row['predicted_seconds']:.2f} s", f"{m['median']:.2f} s",
                      f"{m['least']:.2f}–{m['most']:.2f} s", f"{row['machine_rate']:.2f}", f"{row['calibrated_seconds']['median']:.2f} s",
                      f"{row['predicted_over_calibrated']:.2f}", f"{row['peak_ratios'][-1]:.3f}", "yes" if row["holds"] else "NO"])
    return measure.markdown_table(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measure.add_run_arguments(parser, model="sdxl", profile="use this profile, and compare times as they are; without, one is made first")
    parser.add_argument("--size", type=measure.parse_size, default="512x512", help="pixels, default: %(default)s")
    parser.add_argument("--profile-sizes", help="sizes to profile, default: the size that is decoded")
    parser.add_argument("--hold-out", help="sizes that the profile leaves out and predicts")
    parser.add_argument("--limits", type=int, default=6, help="how many limits, smallest to ample, default: %(default)s")
    parser.add_argument("--repeats", type=int, default=3, help="decodes of each, default: %(default)s")
    parser.add_argument("--slack", type=float, default=0.20, help="largest error of the time, default: %(default)s")
    parser.add_argument("--peak-slack", type=float, default=1.03, help="largest predicted / measured peak, default: %(default)s")
    parser.add_argument("--yardstick", type=measure.parse_size, help="pixels of the decode that is timed beside all others, default: those of --size")
    args = measure.parse_run_arguments(parser)
    args.yardstick = args.yardstick or args.size

    header = measure.result_header()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        profile_file = args.profile or scratch / "profile.json"
        yardstick = Yardstick(args, scratch)
        beside = [yardstick.seconds()]
        profiled = None if args.profile else profile(args, profile_file)
        beside.append(yardstick.seconds())
        profile_seconds = sum(beside) / 2
        measure.note(f"profiled; the yardstick takes {beside[0]:.2f} s before, {beside[1]:.2f} s after")

        size = f"{args.size[0]}x{args.size[1]}"
        found = measure.json.loads(measure.run([str(measure.BIN / "headroom-plan"), "frontier", "--model", args.model, "--size", size,
                                                "--profile", str(profile_file), "--points", str(args.limits), "--json"]))
        limits = sorted(point["peak_bytes"] for point in found["points"])
        rows = []
        for i, limit in enumerate(limits):
            plan_file = scratch / f"plan-{i}.json"
            measure.make_plan(args.model, args.size, limit, plan_file, str(profile_file))
            plan = measure.json.loads(plan_file.read_text())
            tiles = [len(p["tiles"]["y"]) * len(p["tiles"]["x"]) for p in plan["passes"]]
            rows.append({"limit_bytes": limit, "tiles": sum(tiles), "passes": len(tiles), "weights": plan.get("weights", "resident"),
                         "predicted_seconds": sum(p["predicted"]["seconds"] for p in plan["passes"]),
                         "predicted_seconds_with_weights": plan["predicted"]["seconds"], "runs": []})
        latent = measure.write_random_latent(args.model, args.size, args.random_weights or 0, scratch / "latent.npy")
        before = yardstick.seconds()
        for repeat in range(args.repeats):
            for i, row in enumerate(rows):
                run = measure.headroom_decode(args.model, scratch / f"plan-{i}.json", latent, scratch / "out.npy",
                                              args.random_weights, args.threads)
                after = yardstick.seconds()
                # Nobody knows how fast the machine was when a profile from elsewhere was made.
                rate = 1.0 if args.profile else profile_seconds / ((before + after) / 2)
                before = after
                row["runs"].append({"peak_bytes": run["peak_bytes"], "predicted_peak_bytes": run["predicted_peak_bytes"],
                                    "seconds": run["seconds"], "seconds_with_weights": run["seconds_with_weights"],
                                    "machine_rate": rate, "calibrated_seconds": run["seconds"] * rate})
                measure.note(f"{mib(row['limit_bytes'])}, run {repeat + 1}: predicted {row['predicted_seconds']:.2f} s, measured "
                             f"{run['seconds']:.2f} s, machine at {rate:.2f} of the profile's")
    for row in rows:
        row["measured_seconds"] = measure.spread([run["seconds"] for run in row["runs"]])
        row["measured_seconds_with_weights"] = measure.spread([run["seconds_with_weights"] for run in row["runs"]])
        row["machine_rate"] = float(np.median([run["machine_rate"] for run in row["runs"]]))
        row["calibrated_seconds"] = measure.spread([run["calibrated_seconds"] for run in row["runs"]])
        row["predicted_over_measured"] = row["predicted_seconds"] / row["measured_seconds"]["median"]
        row["predicted_over_calibrated"] = row["predicted_seconds"] / row["calibrated_seconds"]["median"]
        row["peak_ratios"] = sorted(run["predicted_peak_bytes"] / run["peak_bytes"] for run in row["runs"])
        row["holds"] = abs(row["predicted_over_calibrated"] - 1) <= args.slack and all(1 <= r <= args.peak_slack for r in row["peak_ratios"])
    size = f"{args.size[0]}×{args.size[1]}"
    title = f"Predicted and measured time, {Path(args.model).name} {size}, fp32, {args.threads} threads"
    markdown = measure.markdown_header(title, header) + table(rows)
    markdown += (f"\nTimes are those of the passes, medians of {args.repeats} decodes in turn. The machine's rate is what a decode without a limit took beside the profile\n"
                 f"over what it took beside the decode (median); calibrated is measured times rate, run by run. It holds within {args.slack:.0%}, and where\n"
                 f"measured peak ≤ predicted ≤ {args.peak_slack:g} × measured.\n")
    if profiled:
        markdown += (f"\nProfile: {profiled['seconds']:.0f} s, {profiled['laws']} latency tables, median error between measured points "
                     f"{profiled['median_held_out_error']:.1%}.\n")
        for each in profiled["held_out"]:
            markdown += (f"Held out {each['width_pixels']}×{each['height_pixels']}: layers {each['seconds']:.2f} s, predicted "
                         f"{each['predicted_seconds']:.2f} s ({each['error']:+.1%}).\n")
    measure.publish(args.output, {"title": title, **header, "profile": profiled, "rows": rows}, markdown)
    return 0 if all(row["holds"] for row in rows) else 1


if __name__ == "__main__":
    measure.run_main(main)
