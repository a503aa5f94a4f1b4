#!/usr/bin/env python3
"""Checks the predicted peak against the measured one, on sizes that were not profiled.

    python reports/bench/check_prediction.py --model sdxl --random-weights 0 -o reports/results/prediction-sdxl.json

Each size is decoded under three limits: a tight one (the smallest that headroom-plan allows, times --tight), an ample
one, and a middle one, half-way between the tight one and the peak of the ample plan.
Expected is: measured <= predicted <= --slack x measured, and everything within the limit. Ends with 1 otherwise.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import measure
from measure import mib

SIZES = "264x200,320x448,384x384,512x320,640x488"


def check(args: argparse.Namespace, size: tuple[int, int], kind: str, limit_bytes: int, scratch: Path) -> dict[str, Any]:
    plan_file = scratch / "plan.json"
    plan = measure.make_plan(args.model, size, limit_bytes, plan_file, args.profile)
    latent = measure.write_random_latent(args.model, size, args.random_weights or 0, scratch / "latent.npy")
    run = measure.headroom_decode(args.model, plan_file, latent, scratch / "out.npy", args.random_weights, args.threads)
    ratio = plan["predicted_peak_bytes"] / run["peak_bytes"]
    row = {"size": f"{size[0]}x{size[1]}", "limit": kind, **run, "passes": plan["passes"], "predicted_over_measured": ratio,
           "prediction_holds": 1 <= ratio <= args.slack, "within_limit": measure.held(run)}
    measure.note(f"{row['size']} {kind}: limit {mib(limit_bytes)}, predicted {mib(run['predicted_peak_bytes'])}, "
                 f"measured {mib(run['peak_bytes'])}, ratio {ratio:.3f}")
    return row


def table(rows: list[dict[str, Any]]) -> str:
    lines = [["size", "limit", "", "predicted peak", "measured peak", "predicted / measured", "resident growth", "time",
              "passes", "holds"]]
    for row in rows:
        lines.append([row["size"], mib(row["limit_bytes"]), row["limit"], mib(row["predicted_peak_bytes"]), mib(row["peak_bytes"]),
                      f"{row['predicted_over_measured']:.3f}", mib(row["rss_growth_bytes"]), f"{row['seconds']:.2f} s",
                      str(row["passes"]), "yes" if row["prediction_holds"] and row["within_limit"] else "NO"])
    return measure.markdown_table(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measure.add_run_arguments(parser, model="sdxl")
    parser.add_argument("--sizes", default=SIZES, help="pixels, default: %(default)s")
    parser.add_argument("--tight", type=float, default=1.05, help="times the smallest limit, default: %(default)s")
    parser.add_argument("--ample", type=measure.parse_bytes, default="16GiB", help="the largest limit, default: %(default)s")
    parser.add_argument("--slack", type=float, default=1.03, help="largest predicted / measured, default: %(default)s")
    args = measure.parse_run_arguments(parser)

    header = measure.result_header()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for size in map(measure.parse_size, args.sizes.split(",")):
            tight = round(measure.smallest_limit(args.model, size, scratch) * args.tight)
            most = measure.make_plan(args.model, size, args.ample, scratch / "ample.json", args.profile)["predicted_peak_bytes"]
            middle = (tight + max(tight, most)) // 2
            limits = (("tight", tight), ("middle", middle), ("ample", args.ample))
            rows += [check(args, size, kind, limit, scratch) for kind, limit in limits]
    title = f"Predicted and measured peak, {Path(args.model).name}, fp32, {args.threads} threads"
    markdown = measure.markdown_header(title, header) + table(rows)
    markdown += (f"\nTight is {args.tight} times the smallest limit that headroom-plan allows; middle is half-way from there to the "
                 f"ample plan's peak.\nIt holds where measured ≤ predicted ≤ {args.slack:g} × measured,\nwithin the limit. Peaks include the weights.\n")
    measure.publish(args.output, {"title": title, **header, "rows": rows}, markdown)
    return 0 if all(row["prediction_holds"] and row["within_limit"] for row in rows) else 1


if __name__ == "__main__":
    measure.run_main(main)
