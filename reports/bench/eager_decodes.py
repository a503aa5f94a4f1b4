#!/usr/bin/env python3
"""Holds headroom-profile --engine libtorch against diffusers' own decodes, on the CPU: whole, channels-last and in tiles.

    python reports/bench/eager_decodes.py -o reports/results/eager-decodes.json

Recorded is what LibTorch's allocator handed out while headroom-profile ran its operators; allocated, what it handed out while
diffusers ran (PyTorch's profiler watches), with the weights and the latent, which are there before. Counted is what
profiler/eager predicts, of decodes in one piece. Expected is a recording within --slack of diffusers' own peak, above the weights; ends with 1
otherwise.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import measure
from measure import mib
from untiled_peak import CASES

# In tiles as well: of so many latent positions along each side.
TILED = {("sdxl", "384x384"): 32, ("sana-dc-ae-f32c32", "384x384"): 8, ("wan2.1", "160x96"): 8, ("wan2.1", "192x160"): 16,
         ("wan2.2", "160x96"): 4, ("wan2.2", "192x160"): 8}
FEW = [case for case in CASES if case[:2] in {("sdxl", "320x192"), ("sdxl", "384x384"), ("sana-dc-ae-f32c32", "384x384"), ("wan2.1", "160x96"), ("wan2.2", "160x96")}]


def mode_of(decode: dict[str, Any]) -> str | None:
    """As reference_decode.py calls it; None where it has no such decode."""
    if decode["tile"]:
        return "tiled" if decode["layout"] == "nchw" else None
    return "untiled" if decode["layout"] == "nchw" else decode["layout"]


def recorded(model: str, size: str, frames: int, threads: int, scratch: Path) -> list[dict[str, Any]]:
    words = ["--sizes", size, "--frames", str(frames), "--threads", str(threads), "--quiet", "-o", str(scratch / "eager.json")]
    words += ["--tile", str(TILED[model, size])] if (model, size) in TILED else ["--tilings", "whole"]
    measure.run([str(measure.BIN / "headroom-profile"), "--engine", "libtorch", "--model", model, *words])
    recording = json.loads((scratch / "eager.json").read_text())
    return [{**decode, "weights_bytes": recording["weights_bytes"]} for decode in recording["decodes"] if mode_of(decode)]


def row_of(args: argparse.Namespace, model: str, size: str, frames: int, decode: dict[str, Any], scratch: Path) -> dict[str, Any]:
    latent = measure.write_random_latent(model, measure.parse_size(size), 0, scratch / "latent.npy", frames=frames)
    mode = mode_of(decode)
    own = measure.diffusers_decode(model, latent, scratch / "out.npy", 0, args.threads, mode=mode, tile=decode["tile"] or 32, extra=["--count-allocator"])
    held = next(tensor["bytes"] for tensor in decode["peak_live"] if tensor["name"] == "latent")
    allocated = own["allocated_peak_bytes"] + own["weights_bytes"] + held
    counted = decode.get("counted_peak_bytes")
    row = {"model": model, "size": size, "frames": frames, "layout": decode["layout"], "tile": decode["tile"], "tiles": decode["tile_count"],
           "recorded_bytes": decode["peak_bytes"], "slack_bytes": decode["peak_slack_bytes"], "layer": decode["peak_layer"],
           "counted_bytes": counted, "allocated_bytes": allocated, "recorded_seconds": decode["seconds"], "seconds": own["seconds"],
           "counted_error": counted and counted / decode["peak_bytes"] - 1,
           "error_above_weights": (decode["peak_bytes"] - allocated) / own["allocated_peak_bytes"]}
    row["holds"] = abs(row["error_above_weights"]) <= args.slack
    measure.note(f"{model} {size}, {frames}, {mode}: recorded {mib(row['recorded_bytes'])}, allocated {mib(allocated)}")
    return row


def table(rows: list[dict[str, Any]]) -> str:
    lines = [["model", "size", "frames", "decode", "recorded", "slack", "counted", "counted / recorded - 1", "allocated by diffusers",
              "recorded, above the weights", "layer", "holds"]]
    for row in rows:
        decode = row["layout"] + (f", {row['tiles']} tiles of {row['tile']}" if row["tile"] else "")
        counted = [mib(row["counted_bytes"]), f"{100 * row['counted_error']:+.2f} %"] if row["counted_bytes"] else ["", ""]
        lines.append([row["model"], row["size"], str(row["frames"]), decode, mib(row["recorded_bytes"]), f"{row['slack_bytes'] / 1024:.0f} KiB",
                      *counted, mib(row["allocated_bytes"]), f"{100 * row['error_above_weights']:+.2f} %", row["layer"],
                      "yes" if row["holds"] else "NO"])
    return measure.markdown_table(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--slack", type=float, default=0.03, help="largest error above the weights, default: %(default)s")
    parser.add_argument("--all", action="store_true", help="every size of untiled_peak.py, not a few")
    parser.add_argument("-o", "--output", type=Path, help="the results, .json; the table lies beside it, .md")
    args = parser.parse_args()
    header = measure.result_header()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        rows = [row_of(args, *case, decode, scratch) for case in (CASES if args.all else FEW) for decode in recorded(*case, args.threads, scratch)]
    measure.publish(args.output, {**header, "slack": args.slack, "rows": rows},
                    measure.markdown_header("LibTorch's own decode, recorded and by diffusers", header) + table(rows) +
                    "\nWeights and latent included. Recorded: by `headroom-profile --engine libtorch`. Slack: what the heap set aside beyond what was asked\n"
                    "for. Counted: what the untiled peak is told as, of decodes in one piece. Allocated: what LibTorch's allocator had handed out to diffusers.\n")
    return 0 if all(row["holds"] for row in rows) else 1


if __name__ == "__main__":
    measure.run_main(main)
