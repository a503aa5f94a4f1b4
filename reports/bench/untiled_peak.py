#!/usr/bin/env python3
"""Checks the untiled peak that Headroom tells against diffusers' own decode, on the CPU, at sizes that nothing was fitted to.

    python reports/bench/untiled_peak.py -o reports/results/untiled-peak.json

Each case is decoded twice in processes of their own. In the first PyTorch's profiler watches LibTorch's allocator: the
most that it had handed out, and the weights, are what is predicted. The second tells what the operating system saw:
growth of resident memory since the libraries were loaded. That has code, compiled kernels and freed pieces of the heap
in it, which no prediction here has. Expected is a prediction within --slack of the allocator's peak; ends with 1 otherwise.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import measure
from measure import mib

CASES = [(model, size, frames) for model, frames, sizes in (
    ("sdxl", 1, ("320x192", "384x384", "576x320")), ("sana-dc-ae-f32c32", 1, ("320x192", "384x384", "640x448")),
    *((model, frames, sizes) for model in ("wan2.1", "wan2.2")
      for frames, sizes in ((5, ("160x96",)), (9, ("192x160",)), (13, ("224x128",))))) for size in sizes]


def predicted(model: str, size: str, frames: int, scratch: Path) -> dict[str, Any]:
    file = scratch / "frontier.json"
    measure.run([str(measure.BIN / "headroom-plan"), "frontier", "--model", model, "--size", size, "--frames", str(frames),
                 "--points", "2", "-o", str(file)])
    return json.loads(file.read_text())["untiled"]


def check(args: argparse.Namespace, model: str, size: str, frames: int, scratch: Path) -> dict[str, Any]:
    untiled = predicted(model, size, frames, scratch)
    latent = measure.write_random_latent(model, measure.parse_size(size), 0, scratch / "latent.npy", frames=frames)
    watched, plain = (measure.diffusers_decode(model, latent, scratch / "out.npy", 0, args.threads, extra=extra)
                      for extra in (["--count-allocator"], []))
    peak = watched["allocated_peak_bytes"] + watched["weights_bytes"]
    row = {"model": model, "size": size, "frames": frames, "predicted_bytes": untiled["peak_bytes"], "layer": untiled["layer"],
           "allocated_bytes": peak, "allocated_in": watched["allocated_in"], "weights_bytes": watched["weights_bytes"],
           "resident_bytes": plain["peak_bytes"], "error": untiled["peak_bytes"] / peak - 1,
           "error_above_weights": (untiled["peak_bytes"] - peak) / watched["allocated_peak_bytes"],
           "of_resident": untiled["peak_bytes"] / plain["peak_bytes"] - 1}
    row["holds"] = abs(row["error_above_weights"]) <= args.slack
    measure.note(f"{model} {size}, {frames}: predicted {mib(row['predicted_bytes'])}, allocated {mib(peak)}, resident {mib(row['resident_bytes'])}")
    return row


def table(rows: list[dict[str, Any]]) -> str:
    lines = [["model", "size", "frames", "predicted", "allocated by diffusers", "error", "above the weights", "resident growth", "predicted / resident - 1", "holds"]]
    for row in rows:
        lines.append([row["model"], row["size"], str(row["frames"]), mib(row["predicted_bytes"]), mib(row["allocated_bytes"]),
                      f"{100 * row['error']:+.2f} %", f"{100 * row['error_above_weights']:+.2f} %", mib(row["resident_bytes"]),
                      f"{100 * row['of_resident']:+.1f} %", "yes" if row["holds"] else "NO"])
    return measure.markdown_table(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--slack", type=float, default=0.03, help="largest error above the weights, default: %(default)s")
    parser.add_argument("-o", "--output", type=Path, help="the results, .json; the table lies beside it, .md")
    args = parser.parse_args()
    header = measure.result_header()
    with tempfile.TemporaryDirectory() as folder:
        rows = [check(args, *case, Path(folder)) for case in CASES]
    measure.publish(args.output, {**header, "slack": args.slack, "rows": rows},
                    measure.markdown_header("The untiled peak, predicted and by diffusers", header) + table(rows) +
                    "\nWeights included. Allocated: the most that LibTorch's CPU allocator had handed out. Resident: what the operating system saw, with code,\n"
                    "compiled kernels and freed pieces of the heap in it; the prediction has none of these.\n")
    return 0 if all(row["holds"] for row in rows) else 1


if __name__ == "__main__":
    measure.run_main(main)
