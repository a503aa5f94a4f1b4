#!/usr/bin/env python3
"""How long planning takes: the program with its start-up, and graphs of 500 operations through the library.

    python reports/bench/planner_speed.py -o reports/results/planner-speed.md

The graphs are seeded (tests/support/random_graph.h) and cannot be written as a model's folder, so a test helper times them.
Build it first: `ninja -C build large_graph_timing headroom-plan`. Figures are medians; targets are printed beside them.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import measure

HELPER = measure.ROOT / "build" / "tests" / "large_graph_timing"
PROGRAM = measure.BIN / "headroom-plan"
PLANS = [["--model", "sdxl", "--size", "8192x8192", "--dtype", dtype, "--device", "cuda", "--limit", "24GiB", "--host-limit", "64GiB"]
         for dtype in ("bf16", "fp16")]
FRONTIER = ["frontier", "--model", "sdxl", "--size", "4096x4096"]


def timed(command: list[str], runs: int) -> dict[str, float]:
    """Wall time of the command, start-up included."""
    seconds = []
    for _ in range(runs):
        begin = time.perf_counter()
        measure.run(command)
        seconds.append(time.perf_counter() - begin)
    return measure.spread(seconds)


def graphs(seeds: int, runs: int) -> list[dict]:
    """A row per seed, with the median of the runs."""
    rows: dict[int, list[dict]] = {}
    for _ in range(runs):
        output = subprocess.run([str(HELPER), "0", str(seeds - 1)], capture_output=True, text=True, check=True).stdout
        for line in output.splitlines():
            row = json.loads(line)
            rows.setdefault(row["seed"], []).append(row)
    return [{**found[0], **{key: measure.spread([each[key] for each in found]) for key in ("ample_seconds", "tight_seconds")}}
            for found in rows.values()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="of each, default: %(default)s")
    parser.add_argument("--seeds", type=int, default=6, help="graphs of 500 operations, default: %(default)s")
    parser.add_argument("-o", "--output", type=Path, help="the results, a Markdown file")
    args = parser.parse_args()

    header = measure.result_header()
    with tempfile.TemporaryDirectory() as folder:
        rows = [{"what": "headroom-plan " + " ".join(words), "target_seconds": target,
                 "seconds": timed([str(PROGRAM), *words, *rest], args.runs)}
                for words, rest, target in (*((plan, ["-o", str(Path(folder) / "plan.json")], 0.25) for plan in PLANS), (FRONTIER, [], 1.0))]
    measured = graphs(args.seeds, args.runs)
    for row in measured:
        for limit in ("ample", "tight"):
            rows.append({"what": f"graph {row['seed']}, {row['operations']} operations, {limit}", "target_seconds": 1.0,
                         "seconds": row[f"{limit}_seconds"], "optimal": row["optimal"]})

    def cells(row: dict) -> list[str]:
        seconds = row["seconds"]
        met = "yes" if seconds["median"] <= row["target_seconds"] else "no"
        return [row["what"], f"{seconds['median']:.3f} s ({seconds['least']:.3f}–{seconds['most']:.3f})",
                f"{row['target_seconds']:g} s", met]

    title = "How long planning takes"
    markdown = measure.markdown_header(title, header) + measure.markdown_table(
        [["what", f"median of {args.runs}", "target", "met"], *map(cells, rows)])
    markdown += ("\nPrograms with start-up and writing the plan. Graphs through the library: ample is without a limit, tight with three\n"
                 "quarters of what that plan takes; both ways of holding weights are searched and the plan is validated.\n")
    measure.publish(args.output, markdown)
    return 0


if __name__ == "__main__":
    measure.run_main(main)
