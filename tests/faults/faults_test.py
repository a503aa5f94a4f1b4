"""Calls of each kind are refused in every program and way (faults.py).

  python faults_test.py --bin build/bin --library build/tests/refused_calls.so --gpu build/tests/emulated-gpu-crowded.so
"""
import argparse
import sys
import time
from pathlib import Path

import faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--gpu", default="", help="the emulated GPU's module; without, its decodes are left out")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", default="", help="cases whose names have this")
    given = parser.parse_args()
    print("seed", given.seed)
    wrong, tried = [], 0
    for result in faults.refuse_all(given.bin.resolve(), given.library.resolve(), given.gpu, faults.QUICK, given.seed, given.only):
        count = sum(sum(ends.values()) for ends in result["ends"].values())
        print(f"{result['case']}: {sum(result['calls'].values())} calls, {count} refused, {len(result['faults'])} faults", flush=True)
        wrong += result["faults"]
        tried += count
    for fault in wrong:
        print(fault)
    print(f"{tried} calls refused, {len(wrong)} faults")
    sys.exit(1 if wrong or not tried else 0)


if __name__ == "__main__":
    main()
