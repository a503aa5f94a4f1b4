#!/usr/bin/env python3
"""Memory that thrift saves, and the time that it gives: twenty plans by assumed costs, without a limit.

    python reports/bench/thrift.py -o reports/results/thrift.md

Nothing is decoded. Build first: `ninja -C build headroom-plan`.
"""

import argparse
import json
import tempfile
from pathlib import Path

import measure

REQUESTS = [  # model, width, height, frames, dtype, device
    ("sdxl", 512, 512, 1, "fp32", "cpu"), ("sdxl", 1024, 1024, 1, "fp32", "cpu"), ("sdxl", 2048, 2048, 1, "fp32", "cpu"),
    ("sdxl", 1024, 1024, 1, "bf16", "cpu"), ("sd15", 512, 512, 1, "fp32", "cpu"), ("flux", 1024, 1024, 1, "fp32", "cpu"),
    ("qwen-image", 1024, 1024, 1, "fp32", "cpu"), ("taesd", 1024, 1024, 1, "fp32", "cpu"), ("sana-dc-ae-f32c32", 1024, 1024, 1, "fp32", "cpu"),
    ("wan2.1", 832, 480, 17, "fp32", "cpu"), ("sdxl", 512, 512, 1, "bf16", "cuda"), ("sdxl", 1024, 1024, 1, "bf16", "cuda"),
    ("sdxl", 1024, 1024, 1, "fp32", "cuda"), ("sdxl", 2048, 2048, 1, "bf16", "cuda"), ("sdxl", 4096, 4096, 1, "bf16", "cuda"),
    ("flux2", 2048, 2048, 1, "bf16", "cuda"), ("qwen-image", 2048, 2048, 1, "bf16", "cuda"), ("wan2.1", 832, 480, 81, "bf16", "cuda"),
    ("wan2.2", 1280, 704, 121, "bf16", "cuda"), ("ltx-2", 768, 512, 121, "bf16", "cuda"),
]  # fmt: skip
SHARES = ("0", "1%", "5%")


def plan(request: tuple, share: str, file: Path) -> dict:
    model, width, height, frames, dtype, device = request
    words = ["--model", model, "--size", f"{width}x{height}", "--frames", str(frames), "--dtype", dtype, "--device", device]
    measure.run([str(measure.BIN / "headroom-plan"), *words, "--limit", str(1 << 50), "--thrift", share, "-o", str(file)])
    return json.loads(file.read_text())["predicted"]


def seconds(value: float) -> str:
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


def cells(request: tuple, file: Path) -> list[str]:
    model, width, height, frames, dtype, device = request
    fastest, *thrifty = (plan(request, share, file) for share in SHARES)
    row = [f"{model} {width}×{height}" + (f", {frames} frames" if frames > 1 else "") + f", {dtype} on {device}",
           f"{fastest['peak_bytes'] / measure.MIB:.0f} MiB, {seconds(fastest['seconds'])}"]
    for found in thrifty:
        saved = fastest["peak_bytes"] - found["peak_bytes"]
        row.append(f"{found['peak_bytes'] / measure.MIB:.0f} MiB: -{100 * saved / fastest['peak_bytes']:.0f} %, "
                   f"+{100 * (found['seconds'] / fastest['seconds'] - 1):.1f} % time")
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, help="the results, a Markdown file")
    args = parser.parse_args()

    header = measure.result_header()
    with tempfile.TemporaryDirectory() as folder:
        rows = [cells(request, Path(folder) / "plan.json") for request in REQUESTS]
    markdown = measure.markdown_header("Memory that thrift saves", header) + measure.markdown_table(
        [["plan without a limit", "fastest (`--thrift 0`)", "`--thrift 1%`, the default", "`--thrift 5%`"], *rows])
    markdown += "\nPeaks and seconds are predictions by assumed costs. Nothing ran.\n"
    measure.publish(args.output, markdown)
    return 0


if __name__ == "__main__":
    measure.run_main(main)
