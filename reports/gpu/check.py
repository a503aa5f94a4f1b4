#!/usr/bin/env python3
"""Checks and measures Headroom on a machine with an NVIDIA GPU, in six parts that each end on time.

    python3 reports/gpu/check.py smoke      # 45 s: every kernel, every family, every dtype
    python3 reports/gpu/check.py python     # 2 min: the wheel, headroom_vae.enable() by step, offload
    python3 reports/gpu/check.py measure    # 5 min: SDXL and Wan 2.1: seconds, peaks, PSNR, engines; bf16, fp32 with TF32 and without
    python3 reports/gpu/check.py kernels    # 5 min: seconds by kernel, for each case of measure and families
    python3 reports/gpu/check.py families   # 5 min: Wan 2.1 with 81 frames, FLUX.2, Qwen-Image, beside published times
    python3 reports/gpu/check.py compare    # 4 min: diffusers eager, channels-last and compiled; 4096² and 8192²

Several parts run in turn. Needs the bundle of make_bundle.py, a driver, and a python3 with torch; no network. Each part writes a
table to gpu-<part>.md in --out and prints at most 60 lines of it at the end. All other output goes to gpu-<part>.log. Exits with 1 if
a part failed.
"""

import argparse
import datetime
import importlib
import importlib.metadata
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import binaries
from place import ROOT, Place
from report import Report

import measure  # noqa: E402 - beside reports/bench, which place.py adds to the path

PARTS = {"smoke": 45, "python": 120, "measure": 300, "kernels": 300, "families": 300, "compare": 240}  # seconds
MODULES = {"smoke": "smoke", "python": "python_package", "measure": "measure_decodes", "kernels": "kernel_traces", "families": "measure_families",
           "compare": "compare_decodes"}  # imported only by the part
MOST_LINES = 60
GRACE_SECONDS = 3  # after its time, for a part's last rows


def run_part(name: str, where: Place, seconds: float) -> None:
    """Runs a part in this process, which collect() kills if it takes too long."""
    report = Report(seconds)
    report.step(name, lambda: importlib.import_module(MODULES[name]).main(report, where))
    raise SystemExit(1 if report.failed else 0)


def collect(command: list[str], where: Place, seconds: float, log: Path) -> tuple[list[dict[str, Any]], str]:
    """Runs a part's process. Returns its rows and how it ended. Its standard error goes to the log."""
    rows: queue.Queue[dict[str, Any]] = queue.Queue()
    with log.open("wb") as errors:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, process_group=0, cwd=ROOT, env=where.environment())

        def read() -> None:
            for line in child.stdout:
                try:
                    row = json.loads(line)
                    rows.put({"what": row["what"], "found": row["found"], "ok": row["ok"]})
                except (ValueError, KeyError, TypeError):
                    errors.write(line)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            status = child.wait(seconds)
            how = "passed" if status == 0 else "FAILED" if status == 1 else f"FAILED: exit code {status}"
        except subprocess.TimeoutExpired:
            how = f"FAILED: ended after {seconds:.0f} s"
        try:
            os.killpg(child.pid, signal.SIGKILL)  # the part's own children
        except ProcessLookupError:
            pass
        child.wait()
        reader.join(GRACE_SECONDS)
        child.stdout.close()
    return list(rows.queue), how


def machine_lines() -> str:
    def version(name: str) -> str:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return "none"

    card = measure.card()
    release = re.search(r'PRETTY_NAME="(.+)"', Path("/etc/os-release").read_text())
    of_card = f"{card['name']}, {card['memory_bytes'] >> 20} MiB, compute capability {card['compute_capability']}, driver {card['driver']}" if card else "No GPU"
    return (f"{of_card}; {len(os.sched_getaffinity(0))} cores, {release[1] if release else 'unknown system'}.\n"
            f"Python {sys.version.split()[0]}, PyTorch {version('torch')}, cuDNN {version('nvidia-cudnn-cu13')}.")


def table(part: str, rows: list[dict[str, Any]], how: str, seconds: float, commit: str, where: Place) -> str:
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    columns = max([len(row["found"]) for row in rows], default=1)
    cells = [["", *["" for _ in range(columns)]]] + [
        [row["what"].replace("|", "/"), *(each.replace("|", "/") for each in row["found"]), *[""] * (columns - len(row["found"]))] for row in rows]
    rehearsal = " (a rehearsal without a card)" if where.rehearse else ""
    return (f"# GPU check: {part}{rehearsal}\n\n{date}, Headroom {commit}. {machine_lines()}\n\n{part}: {how}, {seconds:.0f} s of {PARTS[part]}.\n\n"
            + "\n".join(measure.markdown_table(cells).splitlines()) + f"\n\n    python3 reports/gpu/check.py {part}\n")


def shortened(page: str, file: str) -> str:
    """At most MOST_LINES lines of a page, without the last rows of a long table."""
    lines = page.splitlines()
    if len(lines) <= MOST_LINES:
        return page
    of_end = 2  # an empty line and the command
    return "\n".join([*lines[:MOST_LINES - of_end - 1], f"… {len(lines) - MOST_LINES + 1} more rows in {file}", *lines[-of_end:]]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=PARTS, metavar="part", help=f"one or several of {', '.join(PARTS)}")
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "results", help="where tables and logs go, default: reports/results")
    parser.add_argument("--bundle", type=Path, default=ROOT / "gpu-bundle", help="what make_bundle.py made, default: gpu-bundle")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "gpu", help="where the bundle is unpacked, default: build/gpu")
    parser.add_argument("--rehearse", type=Path, metavar="FOLDER", help="without a GPU: over the air card of a build, build/tests/air_card")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)  # runs the part itself, in a child process with a time limit
    args = parser.parse_args()
    where = Place(args.build.resolve(), (args.rehearse.resolve() / "lib",) if args.rehearse else (), bool(args.rehearse))
    if args.alone:
        run_part(args.parts[0], where, PARTS[args.parts[0]] - GRACE_SECONDS)
    if args.rehearse:
        binaries.lay_out(args.rehearse, args.build)
    commit = "rehearsed" if args.rehearse else binaries.unpack(args.bundle, args.build)["commit"]
    args.out.mkdir(parents=True, exist_ok=True)
    failed = False
    for part in args.parts:
        begun = time.monotonic()
        command = [sys.executable, __file__, part, "--alone", "--build", str(args.build), *(["--rehearse", str(args.rehearse)] if args.rehearse else [])]
        rows, how = collect(command, where, PARTS[part], args.out / f"gpu-{part}.log")
        text = table(part, rows, how, time.monotonic() - begun, commit, where)
        page = args.out / f"gpu-{part}.md"
        page.write_text(text)
        print(shortened(text, page.name), flush=True)
        failed |= how != "passed"
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
