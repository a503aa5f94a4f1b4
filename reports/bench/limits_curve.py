#!/usr/bin/env python3
"""Seconds of SDXL at 512x512 on the CPU under eight limits: predicted, measured, and processor time.

    python reports/bench/limits_curve.py -o reports/results/limits-curve-cpu.md

Decodes of all limits alternate, so that a busy machine slows them alike. Processor time changes less on a busy machine.
"""

import argparse
import resource
import statistics
import tempfile
from pathlib import Path

import measure
import numpy as np

SIZE = (512, 512)
LIMITS_MIB = (110, 150, 200, 290, 442, 645, 800, 1000)
THREADS = 2


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="decodes of each limit, default: %(default)s")
    parser.add_argument("-o", "--output", type=Path, help="the results, a Markdown file")
    args = parser.parse_args()

    header = measure.result_header()
    rows = [["limit", "predicted peak", "predicted", "measured", "processor time"]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        latent = folder / "latent.npy"
        np.save(latent, np.random.default_rng(0).standard_normal(measure.latent_shape("sdxl", SIZE), dtype=np.float32))
        plans = {limit: measure.make_plan("sdxl", SIZE, limit * measure.MIB, folder / f"{limit}.json", options=["--thrift", "0"]) for limit in LIMITS_MIB}
        seconds: dict[int, list[float]] = {limit: [] for limit in LIMITS_MIB}
        processor: dict[int, list[float]] = {limit: [] for limit in LIMITS_MIB}
        for _ in range(args.rounds):
            for limit in LIMITS_MIB:
                before = processor_seconds()
                seconds[limit].append(measure.headroom_decode("sdxl", folder / f"{limit}.json", latent, folder / "out.npy", 0, THREADS)["seconds"])
                processor[limit].append(processor_seconds() - before)
    for limit, plan in plans.items():
        rows.append([f"{limit} MiB", f"{plan['predicted_peak_bytes'] / measure.MIB:.0f} MiB", f"{plan['predicted_seconds']:.2f} s",
                     f"{statistics.median(seconds[limit]):.2f} s", f"{statistics.median(processor[limit]):.2f} s"])
    markdown = measure.markdown_header("SDXL at 512×512 under eight limits", header) + measure.markdown_table(rows)
    markdown += (f"\nfp32, {THREADS} threads, random weights, the fastest plan of each limit. Medians of {args.rounds}. Measured seconds are those of the passes;\n"
                 "processor time is that of the whole process, on all threads.\n")
    measure.publish(args.output, markdown)
    return 0


if __name__ == "__main__":
    measure.run_main(main)
