#!/usr/bin/env python3
"""Somebody else on the card: takes its memory but for so many bytes, says so as JSON, and keeps it until standard input ends.

    python reports/bench/card_tenant.py --leave 1GiB

With --device cpu it keeps 16 MiB of the host's, to try the script where there is no GPU.
"""

import argparse
import json
import sys

import torch

from measure import MIB, parse_bytes
from shape_timings import free_host_bytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leave", type=parse_bytes, required=True, help="what is to be free then")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda", help="default: %(default)s")
    args = parser.parse_args()
    on_gpu = args.device == "cuda"

    def free_bytes() -> int:
        return torch.cuda.mem_get_info()[0] if on_gpu else free_host_bytes()

    held_bytes = free_bytes() - args.leave if on_gpu else 16 * MIB
    if held_bytes <= 0:
        raise SystemExit(f"card_tenant.py: {free_bytes()} bytes are free, no more than are to be left")
    held = torch.empty(held_bytes, dtype=torch.uint8, device=args.device)
    print(json.dumps({"held_bytes": held.nbytes, "free_bytes": free_bytes()}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
