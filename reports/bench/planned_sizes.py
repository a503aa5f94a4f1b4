#!/usr/bin/env python3
"""Plans for a GPU of sizes that people make, under what their cards have, with the proof; nothing is decoded.

    python reports/bench/planned_sizes.py -o reports/results/planned-sizes.json

Seconds are predicted by assumed costs of a server's card, so only their ratios say something. "Proven" means that no plan of
the stated space is faster, and otherwise stands by how much one could be.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import measure

PROGRAM = measure.BIN / "headroom-plan"
SIZES = [("flux2", "2048x2048", 1), ("wan2.2", "1280x704", 121), ("qwen-image-2.1", "2048x2048", 1), ("hunyuan-image-2.1", "2048x2048", 1)]
LIMITS = ["8GiB", "12GiB", "16GiB", "24GiB"]


def planned(model: str, size: str, frames: int, limit: str, dtype: str, file: Path) -> dict:
    words = ["--model", model, "--size", size, "--frames", str(frames), "--device", "cuda", "--dtype", dtype, "--limit", limit]
    begin = time.perf_counter()
    ended = subprocess.run([str(PROGRAM), *words, "-o", str(file)], capture_output=True, text=True)
    row = {"model": model, "size": size, "frames": frames, "limit": limit, "dtype": dtype,
           "planning_seconds": time.perf_counter() - begin}
    if ended.returncode == 3:
        return {**row, "refused": ended.stderr.strip().splitlines()[-1]}
    if ended.returncode != 0:
        raise RuntimeError(ended.stderr)
    plan = json.loads(file.read_text())
    return {**row, "peak_bytes": plan["predicted"]["peak_bytes"], "seconds": plan["predicted"]["seconds"],
            "bound_seconds": plan["bound_seconds"], "optimal": plan["optimal"], "passes": len(plan["passes"])}


def cells(row: dict) -> list[str]:
    name = [f"{row['model']} {row['size']}" + (f", {row['frames']} frames" if row["frames"] > 1 else ""), row["dtype"], row["limit"]]
    if "refused" in row:
        return [*name, row["refused"], "", "", ""]
    bound = "proven" if row["optimal"] else f"at most {row['seconds'] / row['bound_seconds'] - 1:.1%} more"
    return [*name, measure.mib(row["peak_bytes"]), f"{row['seconds']:.2f} s", bound,
            f"{row['planning_seconds']:.2f} s"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, help="the results, .json; the table lies beside it, .md")
    args = parser.parse_args()
    header = measure.result_header()
    with tempfile.TemporaryDirectory() as folder:
        rows = [planned(*size, limit, dtype, Path(folder) / "plan.json")
                for size in SIZES for dtype in ("bf16", "fp16") for limit in LIMITS]
    title = "Sizes that people make, planned for a GPU"
    markdown = measure.markdown_header(title, header) + measure.markdown_table(
        [["picture or clip", "dtype", "limit", "predicted peak", "predicted time", "faster plans", "planning"], *map(cells, rows)])
    measure.publish(args.output, {"title": title, **header, "rows": rows}, markdown)
    return 0


if __name__ == "__main__":
    measure.run_main(main)
