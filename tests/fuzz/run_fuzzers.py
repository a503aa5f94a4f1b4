"""Runs all fuzzers for some seconds each, beside each other, and prints what came of it; ends with 1 where one found a fault.

    python3 tests/fuzz/run_fuzzers.py --bin build/asan/bin --seconds 60

Inputs that reveal a bug go to --faults, and new inputs that increase coverage go to --found. Both are in the build folder by
default. After a bug is fixed, add its input to tests/fuzz/corpus.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MOST_MIB = 2048  # a reader that allocates whatever size an input claims exceeds this
MOST_SECONDS_AN_INPUT = 10


def fuzz(program, arguments):
    name = program.name.removeprefix("fuzz_")
    found, faults = arguments.found / name, arguments.faults / name
    found.mkdir(parents=True, exist_ok=True)
    faults.mkdir(parents=True, exist_ok=True)
    seeds = HERE / "corpus" / name
    line = [program, f"-max_total_time={arguments.seconds}", f"-rss_limit_mb={MOST_MIB}", f"-timeout={MOST_SECONDS_AN_INPUT}",
            f"-seed={arguments.seed}", "-max_len=131072", "-print_final_stats=1", f"-artifact_prefix={faults}/", found, seeds]
    environment = dict(os.environ, ASAN_OPTIONS="allocator_may_return_null=0:detect_leaks=1")
    done = subprocess.run([str(word) for word in line], stderr=subprocess.PIPE, text=True, errors="replace", env=environment,
                          check=False)
    runs = re.search(r"number_of_executed_units:\s+(\d+)", done.stderr)
    peak = re.search(r"peak_rss_mb:\s+(\d+)", done.stderr)
    slowest = re.search(r"slowest_unit_time_sec:\s+(\d+)", done.stderr)
    fault = "" if done.returncode == 0 else (re.search(r"^.*(?:ERROR|SUMMARY).*$", done.stderr, re.M) or [done.stderr[-300:]])[0]
    return (name, int(runs[1]) if runs else 0, len(list(seeds.iterdir())), int(slowest[1]) if slowest else -1,
            int(peak[1]) if peak else -1, fault)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn; another one looks elsewhere")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="beside each other; 0: all")
    parser.add_argument("--found", type=Path)
    parser.add_argument("--faults", type=Path)
    arguments = parser.parse_args()
    arguments.found = arguments.found or arguments.bin.parent / "found"
    arguments.faults = arguments.faults or arguments.bin.parent / "faults"
    programs = sorted(arguments.bin.glob("fuzz_*"))
    if not programs:
        sys.exit(f"{arguments.bin}: no fuzzers")
    print("| reader | inputs | seeds | slowest, s | peak, MiB | fault |\n|---|---|---|---|---|---|")
    total, faults = 0, 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs or len(programs)) as pool:
        for name, runs, seeds, slowest, peak, fault in pool.map(lambda program: fuzz(program, arguments), programs):
            print(f"| {name} | {runs} | {seeds} | {slowest} | {peak} | {fault or 'none'} |", flush=True)
            total += runs
            faults += bool(fault)
    print(f"\n{len(programs)} readers, {total} inputs, {faults} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
