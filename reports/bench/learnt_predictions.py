#!/usr/bin/env python3
"""Predicted beside measured seconds of the first, second and fifth decode of ten cases on the CPU, each with a cache folder of its own.

    python reports/bench/learnt_predictions.py -o reports/results/learnt-predictions.md

The first decode is planned by assumed costs, the others by what the decodes before taught. Run it on a quiet machine.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path

import measure
import numpy as np

CASES = [  # model, width, height, frames, dtype, limit
    ("sdxl", 256, 256, 1, "fp32", "1GiB"), ("sdxl", 384, 384, 1, "fp32", "300MiB"), ("sdxl", 512, 512, 1, "fp32", "2GiB"),
    ("sdxl", 512, 512, 1, "bf16", "400MiB"), ("flux", 256, 256, 1, "fp32", "1GiB"), ("qwen-image", 256, 256, 1, "fp32", "1GiB"),
    ("taesd", 1024, 1024, 1, "fp32", "1GiB"), ("sana-dc-ae-f32c32", 256, 256, 1, "fp32", "2GiB"), ("wan2.1", 128, 128, 9, "fp32", "1GiB"),
    ("ltx-2", 128, 128, 9, "fp32", "4GiB"),
]  # fmt: skip
SHOWN = (1, 2, 5)


def decodes(case: tuple, folder: Path) -> list[tuple[float, float]]:
    """Predicted and measured seconds of the passes of five decodes, in processes of their own."""
    model, width, height, frames, dtype, limit = case
    latent, stats = folder / "latent.npy", folder / "stats.json"
    np.save(latent, np.random.default_rng(0).standard_normal(measure.latent_shape(model, (width, height), frames=frames), dtype=np.float32))
    os.environ["HEADROOM_CACHE"] = str(folder / "cache")
    command = [str(measure.BIN / "headroom-decode"), "--model", model, "--random-weights", "0", "--latent", str(latent), "--latent-scale", "none",
               "--dtype", dtype, "--limit", limit, "-o", str(folder / "out.npy"), "--stats", str(stats), "--threads", "2", "--quiet"]
    found = []
    for _ in range(max(SHOWN)):
        measure.run(command)
        passes = json.loads(stats.read_text())["passes"]
        found.append((sum(each["predicted_seconds"] for each in passes), sum(each["seconds"] for each in passes)))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, help="the results, a Markdown file")
    args = parser.parse_args()

    header = measure.result_header()
    rows = [["case", *(f"decode {number}" for number in SHOWN)]]
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            found = decodes(case, Path(folder))
        model, width, height, frames, dtype, limit = case
        cells = [f"{predicted:.2f} s / {taken:.2f} s = {predicted / taken:.2f}" for predicted, taken in (found[number - 1] for number in SHOWN)]
        rows.append([f"{model} {width}×{height}" + (f", {frames} frames" if frames > 1 else "") + f", {dtype}, {limit}", *cells])
    markdown = measure.markdown_header("Predictions that learn from decodes", header) + measure.markdown_table(rows)
    markdown += "\nPredicted seconds / measured seconds of all passes, with two threads and random weights. Each decode is a process of its own.\n"
    measure.publish(args.output, markdown)
    return 0


if __name__ == "__main__":
    measure.run_main(main)
