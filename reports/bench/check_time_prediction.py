#!/usr/bin/env python3
"""Checks predicted times against measured ones: profiles this machine, then plans and decodes at many limits.

    python reports/bench/check_time_prediction.py --model sdxl --random-weights 0 --sizes 320x256,640x384,512x768 \\
        --profile-sizes 512x512 -o reports/results/time-prediction-sdxl-cpu.md

Limits are points of `headroom-plan frontier` of each size, from the smallest peak that it allows to where more gains nothing. Decodes of all sizes and limits
take turns, `--repeats` times. Before and after each one, and around the profile, a decode that is always the same is timed: what it takes beside
the profile (the median of two before and two after) over what it takes beside the other is the machine's rate meanwhile, since a shared machine may slow down by half
within minutes, memory more than arithmetic. Measured times are multiplied by it; the median of each limit counts. Expected is
|predicted / measured - 1| <= --slack for the passes together, measured peak <= predicted <= --peak-slack x measured, and nine times of
ten of all decodes a time within what the plan says (predicted.seconds_low to seconds_high). Ends with 1 otherwise.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import measure
from measure import mib


BESIDE = 2  # decodes by the yardstick before and after, whose median counts


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
    command = [str(measure.BIN / "headroom-profile"), "--model", args.model, "--sizes", args.profile_sizes,
               "--threads", str(args.threads), "-o", str(file), "--quiet", "--json"]
    command += ["--hold-out", args.hold_out] if args.hold_out else []
    command += ["--random-weights", str(args.random_weights)] if args.random_weights is not None else []
    start = time.perf_counter()
    found = measure.json.loads(measure.run(command))
    return {"seconds": time.perf_counter() - start, "sizes": args.profile_sizes, "device": found["device"], "libraries": found["libraries"],
            "weights_bytes_per_second": found["weights_bytes_per_second"], "latency_tables": len(found["latency_tables"]), "precision": found["precision"],
            "median_held_out_error": float(np.median([table["held_out_error"] for table in found["latency_tables"]])),
            "held_out": [{key: each[key] for key in ("width_pixels", "height_pixels", "seconds", "predicted_seconds", "error")}
                         for each in found["held_out"]]}


def name_of(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"


def plans_of(args: argparse.Namespace, size: tuple[int, int], profile_file: Path, folder: Path) -> list[dict[str, Any]]:
    """A plan for each limit of a size, with what it predicts."""
    found = measure.json.loads(measure.run([str(measure.BIN / "headroom-plan"), "frontier", "--model", args.model, "--size", name_of(size),
                                            "--profile", str(profile_file), "--points", str(args.limits), "--json"]))
    latent = measure.write_random_latent(args.model, size, args.random_weights or 0, folder / f"latent-{name_of(size)}.npy")
    rows = []
    for limit in sorted(point["peak_bytes"] for point in found["points"]):
        plan_file = folder / f"plan-{name_of(size)}-{limit}.json"
        measure.make_plan(args.model, size, limit, plan_file, str(profile_file))
        plan = measure.json.loads(plan_file.read_text())
        tiles = [len(p["tiles"]["y"]) * len(p["tiles"]["x"]) for p in plan["passes"]]
        predicted = plan["predicted"]
        rows.append({"size": name_of(size), "limit_bytes": limit, "tiles": sum(tiles), "passes": len(tiles),
                     "weights": plan.get("weights", "resident"), "files": (plan_file, latent),
                     "predicted_seconds": sum(p["predicted"]["seconds"] for p in plan["passes"]),
                     "within": predicted["seconds_high"] / predicted["seconds"] - 1,
                     "predicted_seconds_with_weights": predicted["seconds"], "runs": []})
    return rows


def judged(row: dict[str, Any], args: argparse.Namespace) -> dict[str, Any]:
    runs, predicted = row["runs"], row["predicted_seconds"]
    row = {key: value for key, value in row.items() if key != "files"}
    row["measured_seconds"] = measure.spread([run["seconds"] for run in runs])
    row["measured_seconds_with_weights"] = measure.spread([run["seconds_with_weights"] for run in runs])
    row["machine_rate"] = float(np.median([run["machine_rate"] for run in runs]))
    row["calibrated_seconds"] = measure.spread([run["calibrated_seconds"] for run in runs])
    row["predicted_over_measured"] = predicted / row["measured_seconds"]["median"]
    row["predicted_over_calibrated"] = predicted / row["calibrated_seconds"]["median"]
    row["peak_ratios"] = sorted(run["predicted_peak_bytes"] / run["peak_bytes"] for run in runs)
    row["runs_within"] = sum(abs(run["calibrated_seconds"] / predicted - 1) <= row["within"] for run in runs)
    row["holds"] = abs(row["predicted_over_calibrated"] - 1) <= args.slack and all(1 <= r <= args.peak_slack for r in row["peak_ratios"])
    return row


def table(rows: list[dict[str, Any]]) -> str:
    lines = [["size", "limit", "tiles in all", "predicted", "within", "measured", "machine's rate", "calibrated", "predicted / calibrated", "the same, peak", "holds"]]
    for row in rows:
        m = row["measured_seconds"]
        lines.append([row["size"], mib(row["limit_bytes"]), str(row["tiles"]), f"{row['predicted_seconds']:.2f} s", f"±{row['within']:.0%}",
                      f"{m['least']:.2f}–{m['most']:.2f} s", f"{row['machine_rate']:.2f}", f"{row['calibrated_seconds']['median']:.2f} s",
                      f"{row['predicted_over_calibrated']:.2f}", f"{row['peak_ratios'][-1]:.3f}", "yes" if row["holds"] else "NO"])
    return measure.markdown_table(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measure.add_run_arguments(parser, model="sdxl", profile="use this profile, and compare times as they are; without, one is made first")
    parser.add_argument("--sizes", type=lambda text: [measure.parse_size(size) for size in text.split(",")], default="512x512",
                        help="pixels of the decodes, default: %(default)s")
    parser.add_argument("--profile-sizes", help="sizes to profile, default: those that are decoded")
    parser.add_argument("--hold-out", help="sizes that the profile leaves out and predicts")
    parser.add_argument("--limits", type=int, default=6, help="how many limits of each size, smallest to ample, default: %(default)s")
    parser.add_argument("--repeats", type=int, default=3, help="decodes of each, default: %(default)s")
    parser.add_argument("--slack", type=float, default=0.10, help="largest error of the time, default: %(default)s")
    parser.add_argument("--peak-slack", type=float, default=1.03, help="largest predicted / measured peak, default: %(default)s")
    parser.add_argument("--yardstick", type=measure.parse_size, help="pixels of the decode that is timed beside all others, default: the first of --profile-sizes; "
                        "one that takes several seconds, since its own noise is added")
    args = measure.parse_run_arguments(parser)
    args.profile_sizes = args.profile_sizes or ",".join(map(name_of, args.sizes))
    args.yardstick = args.yardstick or measure.parse_size(args.profile_sizes.split(",")[0])

    header = measure.result_header()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        profile_file = args.profile or scratch / "profile.json"
        yardstick = Yardstick(args, scratch)
        beside = [yardstick.seconds() for _ in range(BESIDE)]
        profiled = None if args.profile else profile(args, profile_file)
        beside += [yardstick.seconds() for _ in range(BESIDE)]
        profile_seconds = float(np.median(beside))
        measure.note(f"profiled; beside it the yardstick takes {', '.join(f'{seconds:.2f}' for seconds in beside)} s")
        planned = [row for size in args.sizes for row in plans_of(args, size, profile_file, scratch)]
        between, turns = beside[-BESIDE:], []
        for repeat in range(args.repeats):
            for row in planned:
                run = measure.headroom_decode(args.model, *row["files"], scratch / "out.npy", args.random_weights, args.threads)
                turns.append((row, run))
                between.append(yardstick.seconds())
                measure.note(f"{row['size']}, {mib(row['limit_bytes'])}, run {repeat + 1}: predicted {row['predicted_seconds']:.2f} s, measured "
                             f"{run['seconds']:.2f} s, the yardstick then {between[-1]:.2f} s")
        between += [yardstick.seconds() for _ in range(BESIDE - 1)]
        for turn, (row, run) in enumerate(turns):
            # Nobody knows how fast the machine was when a profile from elsewhere was made.
            rate = 1.0 if args.profile else profile_seconds / float(np.median(between[turn:turn + 2 * BESIDE]))
            row["runs"].append({"peak_bytes": run["peak_bytes"], "predicted_peak_bytes": run["predicted_peak_bytes"],
                                "seconds": run["seconds"], "seconds_with_weights": run["seconds_with_weights"],
                                "machine_rate": rate, "calibrated_seconds": run["seconds"] * rate})
    rows = [judged(row, args) for row in planned]
    runs, within = sum(len(row["runs"]) for row in rows), sum(row["runs_within"] for row in rows)
    title = f"Predicted and measured time, {Path(args.model).name}, fp32, {args.threads} threads"
    markdown = measure.markdown_header(title, header) + table(rows)
    markdown += (f"\nTimes are those of the passes, {args.repeats} decodes of each in turn. The machine's rate is what a decode of {name_of(args.yardstick)} without a limit\n"
                 f"took beside the profile over what it took beside the decode (median); calibrated is measured times rate, run by run, and the median. It holds\n"
                 f"within {args.slack:.0%}, and where measured peak ≤ predicted ≤ {args.peak_slack:g} × measured.\n"
                 f"\n{within} of {runs} decodes took what their plan says (calibrated; \"within\" is meant nine times of ten).\n")
    if profiled:
        precision = profiled["precision"]
        markdown += (f"\nProfile of {profiled['sizes']}: {profiled['seconds']:.0f} s, {profiled['latency_tables']} latency tables, median error between measured points "
                     f"{profiled['median_held_out_error']:.1%}; {precision['noisy_points']} of {precision['points']} points not within ±{precision['target_error']:.0%}, "
                     f"clock drift {precision['clock_drift']:.1%}, waited {precision['waited_share']:.1%}, decodes take {precision['decode_ratio']:.2f} of what calls in a row do.\n")
        for each in profiled["held_out"]:
            markdown += (f"Held out {each['width_pixels']}×{each['height_pixels']}: layers {each['seconds']:.2f} s, predicted "
                         f"{each['predicted_seconds']:.2f} s ({each['error']:+.1%}).\n")
    measure.publish(args.output, markdown)
    return 0 if all(row["holds"] for row in rows) and within >= 0.9 * runs else 1


if __name__ == "__main__":
    measure.run_main(main)
