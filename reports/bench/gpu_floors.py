#!/usr/bin/env python3
"""Planned times on a GPU by assumed costs, beside what arithmetic and memory take at the least; nothing is decoded.

    python reports/bench/gpu_floors.py -o reports/results/gpu-floors.json

The floor of FLOPs is every operation once, convolutions over upsampling by phases, at 798 TFLOP/s: what an H100's tensor
cores keep up in the largest products. The floor of bytes is every materialised tensor written once, and read once by each
pass that reads it, at 3.0 TB/s: as if whatever lies between were done on the chip. No decode can be faster than either.
"""

import time
from pathlib import Path
from typing import Any

import measure
from plan_table import Plan, clip_name, made_plan, table_main

CASES = [(model, f"{side}x{side}", 1) for model in ("sdxl", "flux2") for side in (1024, 2048, 4096, 8192)] + [
    ("wan2.1", "832x480", 81), ("hunyuan-video", "960x544", 77)]
HEAD = ["picture or clip", "planned", "FLOPs at 798 TFLOP/s", "least bytes at 3.0 TB/s", "planned / floor", "passes / tiles",
        "predicted peak", "fastest", "planning"]
CARD_LIMIT = "75GiB"
NO_LIMIT = "4096GiB"  # so that every pass has one tile, and computes nothing twice
FLOPS_PER_SECOND = 798e12
BYTES_PER_SECOND = 3.0e12
FLOAT_BYTES = 4
OUTPUT_CHANNELS = 3


def tiles_of(plan_pass: Plan) -> int:
    tiles = plan_pass["tiles"]
    return len(tiles["t"]) * len(tiles["y"]) * len(tiles["x"])


def flops_once(plan: Plan) -> float:
    """FLOPs of a plan that computes nothing twice."""
    halos = [one["name"] for one in plan["passes"] if len(one["tiles"]["y"]) * len(one["tiles"]["x"]) > 1]
    if halos:
        raise RuntimeError(f"{plan['request']['model']}: expected passes of one tile, {halos[0]} has several, whose halos overlap")
    return sum(one["predicted"]["flops"] for one in plan["passes"])


def least_bytes(plan: Plan) -> int:
    """What materialised tensors and the picture move at the least."""
    bytes_of = {entry["tensor"]: entry["bytes"] for entry in plan["kept"]}
    made_in = {entry["tensor"]: entry["first_pass"] for entry in plan["kept"]}
    moved = sum(bytes_of.values())
    for number, one in enumerate(plan["passes"]):
        read = {source["tensor"] for step in one["steps"] for source in step.get("inputs", []) if "step" not in source}
        moved += sum(size for tensor, size in bytes_of.items() if tensor in read and made_in[tensor] != number)
    request = plan["request"]
    picture = request["width_pixels"] * request["height_pixels"] * request["frames"] * request["batch"]
    return moved + picture * OUTPUT_CHANNELS * FLOAT_BYTES


def row_of(case: tuple[str, str, int], folder: Path) -> dict[str, Any]:
    begin = time.perf_counter()
    plan = made_plan(*case, CARD_LIMIT, "bf16", folder / "plan.json")
    planning_seconds = time.perf_counter() - begin
    return {"model": case[0], "size": case[1], "frames": case[2], "seconds": sum(one["predicted"]["seconds"] for one in plan["passes"]),
            "flops_once": flops_once(made_plan(*case, NO_LIMIT, "bf16", folder / "untiled.json", "cpu")), "least_bytes": least_bytes(plan),
            "peak_bytes": plan["predicted"]["peak_bytes"], "optimal": plan["optimal"], "passes": len(plan["passes"]),
            "tiles": sum(map(tiles_of, plan["passes"])), "planning_seconds": planning_seconds}


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 0.1 else f"{seconds * 1e3:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def cells(row: dict[str, Any]) -> list[str]:
    arithmetic, memory = row["flops_once"] / FLOPS_PER_SECOND, row["least_bytes"] / BYTES_PER_SECOND
    return [clip_name(row), milliseconds(row["seconds"]), milliseconds(arithmetic), milliseconds(memory),
            f"{row['seconds'] / max(arithmetic, memory):.2f}", f"{row['passes']} / {row['tiles']}", measure.mib(row["peak_bytes"]),
            "proven" if row["optimal"] else "not proven", f"{row['planning_seconds']:.2f} s"]


def text_of(rows: list[dict[str, Any]]) -> str:
    return measure.markdown_table([HEAD, *map(cells, rows)]) + (
        f"\nbf16, one item, under {CARD_LIMIT}, by the assumed costs of an H100 (docs/planning.md); nothing ran on a card. Planned seconds are"
        "\nthose of the passes: parameters are on the card, and the picture's file is not written.\n")


def main() -> int:
    return table_main(__doc__, "Planned times on a GPU beside their floors",
                      lambda folder: (row_of(case, folder) for case in CASES), text_of)


if __name__ == "__main__":
    measure.run_main(main)
