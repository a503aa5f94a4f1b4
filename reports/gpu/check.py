#!/usr/bin/env python3
"""Builds, tests and measures Headroom on a machine with a GPU and little else, part by part.

    python3 reports/gpu/check.py all                    # every part that is not done yet, in order
    python3 reports/gpu/check.py all --seconds 570      # no longer than that; the same command goes on
    python3 reports/gpu/check.py sitting --sitting 1        # what tells most in 6 minutes; 2: in 8, 3: in 10
    python3 reports/gpu/check.py build | tests | sanitizer | summary
    python3 reports/gpu/check.py profiler --part trace-1024,overhead
    python3 reports/gpu/check.py shapes --part attention
    python3 reports/gpu/check.py bench --part sdxl-1024
    python3 reports/gpu/check.py --list

Needs a python3 with torch, numpy and safetensors, and the bundle that make_bundle.py made; no network. Where the bundle's binaries do not
start, also CMake 3.25, ninja, g++ and nvcc. What a part finds is written into --out as soon as it is known, at most nine files: a part that is cut off loses nothing and can be started
again. Ends with 1 where a part that was asked for failed or is not done.
"""

import argparse
import datetime
import os
import shlex
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Callable, Sequence

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
import gpu_cases  # noqa: E402
import gpu_shapes  # noqa: E402
import measure  # noqa: E402
import profiler_parts  # noqa: E402
from check_binaries import use_libraries  # noqa: E402
from check_build import build  # noqa: E402
from check_results import DECODES, PARTS, PROFILER, SHAPES, Results, describe_machine  # noqa: E402
from check_tests import compute_sanitizer, sanitizer, tests  # noqa: E402
from commands import ROOT, Commands, Entry, Failed, Refused, Stopped, local, succeed  # noqa: E402
from sittings import SITTINGS, Sat, sit  # noqa: E402

# Scripts that know themselves what of theirs is done, and their parts.
PARTS_OF_THEIR_OWN = {"profiler": profiler_parts.PARTS, "shapes": tuple(gpu_shapes.PARTS), "bench": gpu_cases.parts()}


def measured(script: str, output: str, wanted: list[str], more: list[str], args: argparse.Namespace, commands: Commands, results: Results,
             entry: Entry) -> None:
    """Runs a script of reports/bench that has parts of its own, and tells how these ended."""
    if measure.build_id(args.build / "bin") is None:
        raise Failed("nothing is built")
    command = [sys.executable, str(ROOT / "reports" / "bench" / script), "--programs", str(args.build / "bin"), "--part", ",".join(wanted),
               "-o", str(results.state / output), *more]
    command += ["--rehearse"] * args.rehearse + ["--again"] * args.again
    command += ["--seconds", str(max(1, round(commands.left() - 5)))] if commands.end else []
    status, out = commands.run(command, shown=True)
    found = results.parts_of(output)
    lacking = [name for name in wanted if found.get(name, {}).get("status") != "done"]
    wrong = [name for name in wanted if found.get(name, {}).get("as_expected") is False]
    if lacking and not found:
        succeed((status, out), script)
    words = [f"{title}: {', '.join(names)}" for title, names in (("not done", lacking), ("not as expected", wrong)) if names]
    if lacking and not any(found.get(name, {}).get("status") == "failed" for name in lacking):
        raise Stopped("; ".join(words))
    if words:
        raise Failed("; ".join(words))
    entry["note"] = f"{', '.join(wanted)}: as expected"


def bench(args: argparse.Namespace, commands: Commands, results: Results, entry: Entry) -> None:
    more = [word for name in ("rounds", "repeats") if getattr(args, name) is not None for word in (f"--{name}", str(getattr(args, name)))]
    measured("gpu_decode.py", DECODES, chosen(args.part, gpu_cases.parts()), more, args, commands, results, entry)


def profiler(args: argparse.Namespace, commands: Commands, results: Results, entry: Entry) -> None:
    try:
        more = ["--sanitizer", compute_sanitizer()]
    except Refused:
        more = []
    measured("gpu_profiler.py", PROFILER, chosen(args.part, profiler_parts.PARTS), more, args, commands, results, entry)


def shapes(args: argparse.Namespace, commands: Commands, results: Results, entry: Entry) -> None:
    measured("gpu_shapes.py", SHAPES, chosen(args.part, tuple(gpu_shapes.PARTS)), [], args, commands, results, entry)


def chosen(text: str | None, names: Sequence[str]) -> list[str]:
    """Those that begin with one of the words in `text`; all without one."""
    return [name for name in names if not text or name.startswith(tuple(text.split(",")))]


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def run_part(part: str, work: Callable[..., None], args: argparse.Namespace, commands: Commands, results: Results) -> str:
    """Runs one part and writes its entry before and after; returns its status."""
    before = results.entry(part)
    build = measure.build_id(args.build / "bin")
    entry: Entry = {"status": "started", "date": now(), "command": shlex.join(["python3", *map(local, sys.argv)]), "build": build}
    if part == "sanitizer" and before.get("build") == build and not args.again:
        entry["runs"] = before.get("runs", {})
    results.put(part, entry)
    start = time.monotonic()
    try:
        work(args, commands, results, entry)
        entry["status"] = "done"
    except Refused as refusal:
        entry |= {"status": "refused", "note": str(refusal)}
        measure.note(f"\n*** {part}: {refusal} ***\n")
    except (Failed, Stopped) as end:
        entry |= {"status": "failed" if isinstance(end, Failed) else "stopped", "note": str(end)}
        measure.note(f"\n*** {part}: {end} ***\n")
    entry["seconds"] = round(time.monotonic() - start)
    results.put(part, entry)
    return entry["status"]


def is_done(part: str, args: argparse.Namespace, results: Results) -> bool:
    """Whether `all` may pass it by: done, or refused, with the programs that are there."""
    if part in PARTS_OF_THEIR_OWN or args.again:
        return False
    build = measure.build_id(args.build / "bin")
    return build is not None and results.entry(part).get("build") == build and results.entry(part)["status"] in ("done", "refused")


def run_sitting(args: argparse.Namespace, commands: Commands, works: dict[str, Callable[..., None]], results: Results) -> bool:
    """Returns whether all of its steps are done. A step's parts stand in the table of parts as well, where they are whole ones."""
    def as_part(part: str, work: Callable[..., None]) -> Callable[..., None]:
        def run(of_step: argparse.Namespace, commands: Commands, results: Results, entry: Entry) -> None:
            run_part(part, work, of_step, commands, results)
            found = results.entry(part)
            entry["note"] = found.get("note", "")
            if found["status"] != "done":
                raise {"refused": Refused, "stopped": Stopped}.get(found["status"], Failed)(entry["note"])

        return run if part in ("build", "tests") else work

    sitting = SITTINGS[args.sitting]
    sat = Sat(replace(sitting, seconds=min(sitting.seconds, args.seconds or sitting.seconds)), results.steps_of(args.sitting), args.again, results.save)
    return sit(sat, commands, {part: as_part(part, work) for part, work in works.items()}, args, results)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=(*PARTS, "all", "sitting", "summary"), help="the part, or all; summary prints the table again")
    parser.add_argument("--list", action="store_true", help="name the parts and those of profiler and bench, and end")
    parser.add_argument("--sitting", choices=SITTINGS, help="sitting: the first, of at most 6 minutes, the second, of 8, or the third, of 10")
    parser.add_argument("--from-source", action="store_true", help="build sources though the bundle has binaries")
    parser.add_argument("--part", help="profiler, shapes, bench: names or their beginnings, commas between, default: all")
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "results", help="where results go, default: reports/results")
    parser.add_argument("--bundle", type=Path, default=ROOT / "gpu-bundle", help="what make_bundle.py made, default: gpu-bundle")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "gpu", help="the build's folder, default: build/gpu")
    parser.add_argument("--cmake", action="append", default=[], metavar="-DNAME=VALUE", help="more for CMake, e.g. --cmake=-DCMAKE_CXX_COMPILER=g++-13")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="of the build, default: all cores")
    parser.add_argument("--seconds", type=float, help="end by then and leave the rest for another call")
    parser.add_argument("--rounds", type=int, help="bench: instead of each part's own number")
    parser.add_argument("--repeats", type=int, help="bench: later decodes in a process, instead of each part's own number")
    parser.add_argument("--again", action="store_true", help="also what is done")
    parser.add_argument("--rehearse", action="store_true", help="try the script without a GPU: a CPU build, other tests, tiny decodes")
    args = parser.parse_args()
    if args.list:
        print("\n".join([*PARTS, "summary", *(f"{part} --part {name}" for part, names in PARTS_OF_THEIR_OWN.items() for name in names)]))
        return 0
    if args.what is None:
        parser.error("expected a part, or all; see --list")
    if (args.what == "sitting") != (args.sitting is not None):
        parser.error("sitting and --sitting go together")
    if args.part and args.what not in PARTS_OF_THEIR_OWN:
        parser.error("--part goes with profiler, shapes and bench")
    for word in args.part.split(",") if args.part else ():
        if not chosen(word, PARTS_OF_THEIR_OWN[args.what]):
            parser.error(f"no part of {args.what} begins with {word}; see --list")
    args.build, args.bundle = args.build.resolve(), args.bundle.resolve()

    for kind in (signal.SIGTERM, signal.SIGHUP):  # so that children are ended too
        signal.signal(kind, lambda number, _: sys.exit(128 + number))
    device = describe_machine()
    if not args.rehearse and device["card"] is None and args.what != "summary":
        raise SystemExit("check.py: nvidia-smi names no GPU; --rehearse tries the script without one")
    results = Results(args.build / "check", args.out, device)
    commands = Commands(args.seconds, args.build / "check" / "site", results.publish)
    use_libraries(args.build, commands)
    works = dict(zip(PARTS, (build, tests, sanitizer, profiler, shapes, bench)))
    if args.what == "sitting":
        done = run_sitting(args, commands, works, results)
        print(results.table())
        return 0 if done else 1
    statuses = {}
    for part in {"all": PARTS, "summary": ()}.get(args.what, (args.what,)):
        if args.what == "all" and is_done(part, args, results):
            measure.note(f"{part}: {results.entry(part)['status']} before; --again does it anew")
            continue
        statuses[part] = run_part(part, works[part], args, commands, results)
        if part == "build" and statuses[part] != "done":
            break
    print(results.table())
    return 0 if all(status in ("done", "refused") for status in statuses.values()) else 1


if __name__ == "__main__":
    measure.run_main(main)
