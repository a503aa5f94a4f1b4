"""Attention on the CPU beside LibTorch's, in turns.

    python reports/bench/attention.py --program build/tests/attention_timing

Queries and keys of one head, as the decoders have it: 4096 keys with 512 channels are SDXL at 512x512. Each round calls one
after the other, the one that goes first changing from round to round. Prints a Markdown table: median seconds, and the median
of the rounds' ratios with the least and the most.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time

import torch

CASES = ((4096, 4096, 512), (1000, 4096, 512), (96, 4096, 512), (1024, 1024, 512), (16384, 16384, 384))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/tests/attention_timing")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print("| queries | keys | channels | Headroom | LibTorch | ratio of times |\n|---|---|---|---|---|---|")
    for queries, keys, channels in CASES:
        ours, theirs = rounds(options, queries, keys, channels)
        ratios = sorted(a / b for a, b in zip(ours, theirs))
        print(
            f"| {queries} | {keys} | {channels} | {statistics.median(ours):.4f} s | {statistics.median(theirs):.4f} s "
            f"| {statistics.median(ratios):.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f}) |",
            flush=True,
        )


def rounds(options: argparse.Namespace, queries: int, keys: int, channels: int) -> tuple[list[float], list[float]]:
    q, k, v = (torch.rand(1, 1, rows, channels) * 3.4 - 1.7 for rows in (queries, keys, keys))
    command = [options.program, *map(str, (queries, keys, channels, options.threads))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program, torch.inference_mode():

        def call_ours() -> float:
            program.stdin.write("\n")
            program.stdin.flush()
            return float(program.stdout.readline())

        def call_theirs() -> float:
            begun = time.perf_counter()
            torch.nn.functional.scaled_dot_product_attention(q, k, v)
            return time.perf_counter() - begun

        call_ours(), call_theirs()
        ours, theirs = [], []
        for number in range(options.rounds):
            for call, times in ((call_ours, ours), (call_theirs, theirs))[:: 1 if number % 2 == 0 else -1]:
                times.append(call())
        program.stdin.close()
    return ours, theirs


if __name__ == "__main__":
    main()
