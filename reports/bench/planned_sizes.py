#!/usr/bin/env python3
"""Plans for a GPU of sizes that people make, under what their cards have, with the proof; nothing is decoded.

    python reports/bench/planned_sizes.py -o reports/results/planned-sizes.md

Seconds are predicted by assumed costs of a server's card, so only their ratios say something. "Proven" means that no plan of
the stated space is faster, and otherwise stands by how much one could be.
"""

import time
from pathlib import Path

import measure
from plan_table import bound, clip_name, figures_of, made_plan, table_main

SIZES = [("flux2", "2048x2048", 1), ("wan2.2", "1280x704", 121), ("hunyuan-video", "960x544", 77),
         ("qwen-image-2.1", "2048x2048", 1), ("hunyuan-image-2.1", "2048x2048", 1)]
LIMITS = ["8GiB", "12GiB", "16GiB", "24GiB"]
HEAD = ["picture or clip", "dtype", "limit", "predicted peak", "predicted time", "faster plans", "planning"]


def planned(model: str, size: str, frames: int, limit: str, dtype: str, file: Path) -> dict:
    begin = time.perf_counter()
    try:
        figures = figures_of(made_plan(model, size, frames, limit, dtype, file))
    except measure.DoesNotFit as refusal:
        figures = {"refused": str(refusal)}
    return {"model": model, "size": size, "frames": frames, "limit": limit, "dtype": dtype,
            "planning_seconds": time.perf_counter() - begin, **figures}


def cells(row: dict) -> list[str]:
    name = [clip_name(row), row["dtype"], row["limit"]]
    if "refused" in row:
        return [*name, row["refused"], "", "", ""]
    return [*name, measure.mib(row["peak_bytes"]), f"{row['seconds']:.2f} s", bound(row), f"{row['planning_seconds']:.2f} s"]


def main() -> int:
    return table_main(__doc__, "Sizes that people make, planned for a GPU",
                      lambda folder: (planned(*size, limit, dtype, folder / "plan.json")
                                      for size in SIZES for dtype in ("bf16", "fp16") for limit in LIMITS),
                      lambda rows: measure.markdown_table([HEAD, *map(cells, rows)]))


if __name__ == "__main__":
    measure.run_main(main)
