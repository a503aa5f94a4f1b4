"""Parts of the GPU check: tests on the GPU and of its kernels in the emulator; the former again under compute-sanitizer."""

import argparse
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from check_build import labels_of, test_programs
from check_results import Results
from commands import Commands, Entry, Failed, Refused, Stopped
from test_runs import run_programs

SANITIZERS = ("memcheck", "racecheck")
SANITIZER_SECONDS = 120
REFUSED = ("Device not supported", "Unable to find injection library")


# Tests ----------------------------------------------------------------------------------------------------------------

def run_tests(args: argparse.Namespace, commands: Commands, label: str, jobs: int) -> tuple[dict[str, Any], str]:
    """Those of a label: what was found, and what was printed."""
    programs = test_programs(args.build, (label,))
    missing = [program.name for program in programs if not program.exists()]
    if not programs or missing:
        return {"passed": 0, "failed": [], "skipped": [], "error": f"not built: {', '.join(missing)}" if missing else "no tests"}, ""
    found = run_programs(commands, programs, jobs)
    return {"passed": found.passed, "failed": found.failed, "skipped": found.skipped, "not_run": found.not_run}, found.log


def tests(args: argparse.Namespace, commands: Commands, results: Results, entry: Entry) -> None:
    log = ""
    entry["suites"] = {}
    # On the GPU one at a time: each may want most of its memory.
    for label, kind, jobs in zip(labels_of(args), ("on the GPU", "on the CPU"), (1, args.jobs)):
        entry["suites"][kind], out = run_tests(args, commands, label, jobs)
        entry["suites"][kind]["label"] = label
        log += out
        results.log("tests", log)
        results.save()
    faults = [f"{kind}: {suite.get('error') or ', '.join(suite['failed'])}" for kind, suite in entry["suites"].items()
              if suite.get("error") or suite["failed"]]
    without_gpu = [name for name in entry["suites"]["on the GPU"]["skipped"] if "(no GPU" in name]
    if without_gpu:
        faults.append(f"{len(without_gpu)} found no GPU: {without_gpu[0]}")
    if faults:
        raise Failed("; ".join(faults)[:600])
    not_run = sum(suite.get("not_run", 0) for suite in entry["suites"].values())
    if not_run:
        raise Stopped(f"time was up before {not_run} tests")
    entry["note"] = ", ".join(f"{suite['passed']} passed {kind}" for kind, suite in entry["suites"].items())


# Sanitizer ------------------------------------------------------------------------------------------------------------

def compute_sanitizer() -> str:
    found = shutil.which("compute-sanitizer")
    if found:
        return found
    homes = [Path(os.path.realpath(nvcc)).parents[1] for nvcc in [shutil.which("nvcc")] if nvcc] + [Path("/usr/local/cuda")]
    for file in (home / place / "compute-sanitizer" for home in homes for place in ("bin", "compute-sanitizer")):
        if os.access(file, os.X_OK):
            return str(file)
    raise Refused("no compute-sanitizer on this machine")


def our_kernels(sanitizer: str) -> list[str]:
    """Those of libraries would take hours under racecheck. The option has had two names."""
    help_text = subprocess.run([sanitizer, "--help"], capture_output=True, text=True, check=False).stdout
    return ["--kernel-name" if "--kernel-name " in help_text else "--kernel-regex", "kns=headroom"]


def sanitized(commands: Commands, tool: str, program: Path) -> tuple[dict[str, Any], str]:
    """One executable under one tool."""
    start = time.monotonic()
    program_itself = compute_sanitizer()
    status, out = commands.run([program_itself, "--tool", tool, "--target-processes", "all", "--error-exitcode", "99",
                                *(our_kernels(program_itself) if tool == "racecheck" else []), str(program)], seconds=SANITIZER_SECONDS)
    summary = re.search(r"(ERROR|RACECHECK) SUMMARY: (.+)", out)
    errors = re.search(r"(\d+) (errors?|hazards?)", summary[2]) if summary else None
    found: dict[str, Any] = {"seconds": round(time.monotonic() - start, 1), "summary": summary[2].strip() if summary else None}
    if any(word in out for word in REFUSED):
        found["status"] = "refused"
    elif status is None:
        found["status"] = "cut off"
    else:
        found["status"] = "done" if status == 0 and errors and errors[1] == "0" else "failed"
    return found, out


def sanitizer(args: argparse.Namespace, commands: Commands, results: Results, entry: Entry) -> None:
    if args.rehearse:
        raise Refused("a rehearsal has no GPU")
    programs = test_programs(args.build, labels_of(args)[:1])
    if not programs or not all(program.exists() for program in programs):
        raise Failed("tests on the GPU are not built")
    compute_sanitizer()
    entry.setdefault("runs", {})
    log = ""
    for tool in SANITIZERS:
        for program in programs:
            name = f"{tool} {program.name}"
            if entry["runs"].get(name, {}).get("status") == "done":
                continue
            entry["runs"][name], out = sanitized(commands, tool, program)
            if entry["runs"][name]["status"] == "cut off" and commands.left() == 0:
                raise Stopped("time was up")
            log += f"== {name}\n{out}\n"
            results.log("sanitizer", log)
            results.save()
            if entry["runs"][name]["status"] == "refused":
                raise Refused("compute-sanitizer does not run here: " + next(line for line in out.splitlines() if any(
                    word in line for word in REFUSED)).strip("= ")[:200])
    faults = [f"{name}: {run['status']}" + (f", {run['summary']}" if run["summary"] else "")
              for name, run in entry["runs"].items() if run["status"] != "done"]
    if faults:
        raise Failed("; ".join(faults))
