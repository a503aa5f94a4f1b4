#!/usr/bin/env python3
"""The rate of copies between the host's pinned memory and the GPU, as JSON: the yardstick of a decode's copies.

    python reports/bench/link_rate.py

Blocks of 256 MiB, the median of several, each way by itself and both ways at once on two streams, bytes of one way. With
--device cpu it copies within the host's memory, to try the script where there is no GPU.
"""

import argparse
import json
import statistics
import time
from typing import Callable

import torch

BLOCK_BYTES = 256 << 20
CALLS = 8


def rate(copy: Callable[[], None], wait: Callable[[], None]) -> float:
    seconds = []
    for _ in range(CALLS + 1):
        wait()
        start = time.perf_counter()
        copy()
        wait()
        seconds.append(time.perf_counter() - start)
    return BLOCK_BYTES / statistics.median(seconds[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda", help="default: %(default)s")
    args = parser.parse_args()
    on_gpu = args.device == "cuda"
    host, other_host = (torch.zeros(BLOCK_BYTES, dtype=torch.uint8, pin_memory=on_gpu) for _ in range(2))
    device, other_device = (torch.zeros(BLOCK_BYTES, dtype=torch.uint8, device=args.device) for _ in range(2))
    streams = [torch.cuda.Stream(), torch.cuda.Stream()] if on_gpu else [None, None]

    def to_host() -> None:
        with torch.cuda.stream(streams[0]):  # of None: nothing
            host.copy_(device, non_blocking=True)

    def from_host() -> None:
        with torch.cuda.stream(streams[1]):
            other_device.copy_(other_host, non_blocking=True)

    def both() -> None:
        to_host()
        from_host()

    wait = torch.cuda.synchronize if on_gpu else lambda: None
    print(json.dumps({"to_host_bytes_per_second": rate(to_host, wait), "from_host_bytes_per_second": rate(from_host, wait),
                      "both_ways_bytes_per_second": rate(both, wait)}))


if __name__ == "__main__":
    main()
