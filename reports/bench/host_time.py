#!/usr/bin/env python3
"""The host's own time of decodes on a GPU, by plan: what the launching thread takes while the card does nothing. No GPU is needed.

    python reports/bench/host_time.py -o reports/results/host-time.json

Decodes run over the air card (tests/air_card), whose kernels, convolutions and copies are counted and do not run. The time inside the
card's own functions is taken off. Counts and times are of a decode that is not the first of its process. Ends with 1 if a plan above
300 MiB takes the host longer than 3 ms at 1024x1024, with --check.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import measure

LIBRARIES = measure.BIN.parent / "tests/air_card/lib"
MODEL, DTYPE = "sdxl", "bf16"
CASES = [(512, "8GiB"), (1024, "8GiB"), (1024, "600MiB"), (1024, "400MiB"), (1024, "300MiB"), (1024, "160MiB")]
AMPLE = "8GiB"
DECODES = 8  # after the first
GOAL_SECONDS = 3e-3
COUNTERS = ("launches", "convolutions", "products", "copies", "copied_bytes", "own_nanoseconds")


def air_environment(report: Path) -> dict[str, str]:
    preloaded = " ".join(str(LIBRARIES / name) for name in ("libcudart.so.13", "libcudnn.so.9", "libcublasLt.so.13"))
    return {"LD_LIBRARY_PATH": str(LIBRARIES), "LD_PRELOAD": preloaded, "AIR_COPIES": "none", "AIR_REPORT": str(report)}


def counts_of(report: dict[str, Any]) -> dict[str, int]:
    counts = {name: report[name] for name in COUNTERS}
    return {**counts, "stream_waits": len(report["waits"]), "host_waits": report["calls"].get("cudaEventSynchronize", 0)}


def run_queue(side: int, limit: str, decodes: int, folder: Path) -> tuple[list[dict[str, float]], dict[str, int]]:
    """Times of each decode of a queue of equal ones, and counts of all."""
    requests, queue, stats, report = (folder / f"{name}.json" for name in ("requests", "queue", "stats", "report"))
    latent = folder / "latent.npy"
    measure.write_random_latent(MODEL, (side, side), 0, latent)
    requests.write_text(json.dumps({"schema": "headroom.requests", "version": 1, "requests": [
        {"name": "picture", "width_pixels": side, "height_pixels": side, "count": decodes, "latent": [latent.name] * decodes, "output": "{i}.npy"}]}))
    measure.run([str(measure.BIN / "headroom-plan"), "queue", str(requests), "--device", "cuda", "--model", MODEL, "--dtype", DTYPE, "--limit", limit,
                 "-o", str(queue)])
    before = dict(os.environ)
    os.environ.update(air_environment(report))
    try:
        measure.run([str(measure.BIN / "headroom-decode"), "--queue", str(queue), "--model", MODEL, "--random-weights", "0", "--stats", str(stats), "--quiet"])
    finally:
        os.environ.clear()
        os.environ.update(before)
    return json.loads(stats.read_text())["decodes"], counts_of(json.loads(report.read_text()))


def measured(side: int, limit: str, rounds: int) -> dict[str, Any]:
    """Other programs only add to times, so the least of each counts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        once = [run_queue(side, limit, 1, folder)[1] for _ in range(rounds)]
        runs = [run_queue(side, limit, 1 + DECODES, folder) for _ in range(rounds)]
    first = {key: min(counts[key] for counts in once) for key in once[0]}
    of_one = {key: (min(counts[key] for _, counts in runs) - first[key]) / DECODES for key in first}
    own_seconds = of_one.pop("own_nanoseconds") / 1e9
    later = [each for decodes, _ in runs for each in decodes[1:]]
    seconds = min(each["seconds"] - each["output_wait_seconds"] for each in later)
    return {"side": side, "limit": limit, "host_seconds": seconds - own_seconds, "card_seconds": own_seconds, **of_one}


def table(rows: list[dict[str, Any]]) -> str:
    head = ["picture", "limit", "host", "launches", "convolutions", "products", "copies", "copied", "waits between streams", "waits of the host"]
    return measure.markdown_table([head, *([
        f"{row['side']}×{row['side']}", "ample" if row["limit"] == AMPLE else row["limit"].replace("MiB", " MiB"), f"{row['host_seconds'] * 1e3:.1f} ms",
        *(f"{row[name]:.0f}" for name in ("launches", "convolutions", "products", "copies")), f"{row['copied_bytes'] / 2**20:.0f} MiB",
        f"{row['stream_waits']:.0f}", f"{row['host_waits']:.0f}"] for row in rows)])


def explained() -> str:
    return (f"**Nothing of this ran on a GPU.** {MODEL} in {DTYPE}, over the air card: kernels, convolutions and copies are counted and do not run. *Host* is\n"
            "the launching thread's time of a decode, without the card's own functions and without waits for the output's file. The first decode of a\n"
            "process is left out.\n\n")


def is_slow(row: dict[str, Any]) -> bool:
    return row["side"] == 1024 and row["limit"] not in ("300MiB", "160MiB") and row["host_seconds"] > GOAL_SECONDS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, help="the results, .json; the table lies beside it, .md")
    parser.add_argument("--rounds", type=int, default=3, help="runs of which the least times count")
    parser.add_argument("--check", action="store_true", help="end with 1 if the host takes too long")
    args = parser.parse_args()
    header = measure.result_header()
    rows = [measured(side, limit, args.rounds) for side, limit in CASES]
    title = "The host's own time on a GPU"
    measure.publish(args.output, {"title": title, **header, "rows": rows}, measure.markdown_header(title, header) + explained() + table(rows))
    return 1 if args.check and any(map(is_slow, rows)) else 0


if __name__ == "__main__":
    measure.run_main(main)
