#!/usr/bin/env python3
"""Traces and profiles of decodes on a GPU, held against the driver's word and against one another.

    python reports/bench/gpu_profiler.py --list
    python reports/bench/gpu_profiler.py --programs build/gpu/bin --part trace-1024,overhead -o reports/results/gpu-profiler.json
    python reports/bench/gpu_profiler.py --programs build/bin --rehearse -o /tmp/gpu-profiler.json    # the same on the CPU, tiny

After every step the results are written; a part that was cut off goes on with the step that it lacks; --again starts it anew. Ends with 1
where a part is not done or something in it is not as expected: docs/gpu.md says what is.
"""

import argparse
import datetime
import json
import os
from pathlib import Path
from typing import Any, Callable

import measure
from gpu_contenders import Place
from gpu_figures import name_of_card, read_results
from profiler_parts import PARTS, WORKS, Work, as_plain
from profiler_text import TITLES, in_short, markdown
from run_clock import Clock, OutOfTime

CUTS = 2  # a step that was cut off so often is not tried again


class Keeper:
    """The steps of a part: each is written down before it begins and when it is done."""

    def __init__(self, entry: dict[str, Any], clock: Clock, save: Callable[[], None]):
        self.entry, self.clock, self.save = entry, clock, save

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        if name in self.entry["steps"]:
            return self.entry["steps"][name]
        if self.entry["cut"].get(name, 0) >= CUTS:
            raise RuntimeError(f"{name}: cut off {CUTS} times while it ran")
        self.entry["running"] = name
        self.save()
        try:
            found = as_plain(self.clock.run(work))
        finally:
            self.entry["running"] = None
        self.entry["steps"][name] = found
        self.save()
        measure.note(f"  {name}: {in_short(found)}")
        return found

    def forget(self, name: str) -> None:
        self.entry["steps"].pop(name, None)


def fresh_entry(name: str, build: str | None, card: dict[str, Any] | None) -> dict[str, Any]:
    return {"title": TITLES[name], "build": build, "card": name_of_card(card), "cut": {}, "steps": {}, "found": None, "faults": []}


def is_same(entry: dict[str, Any], other: dict[str, Any]) -> bool:
    """Of one build on one card."""
    return all(entry.get(key) == other[key] for key in ("build", "card"))


def run_part(work: Work, name: str, again: bool, clock: Clock, results: dict[str, Any], save: Callable[[], None]) -> None:
    found, fresh = results["parts"].get(name, {}), fresh_entry(name, results["device"]["build"], work.place.card)
    if found.get("status") == "done" and is_same(found, fresh) and not again:
        measure.note(f"{name}: done before; --again measures it anew")
        return
    goes_on = is_same(found, fresh) and found.get("status") in ("stopped", "started") and not again
    entry = found if goes_on else fresh
    if entry.get("running"):
        entry["cut"][entry["running"]] = entry["cut"].get(entry["running"], 0) + 1
    entry |= {"status": "started", "running": None, "error": None, "command": measure.command_line("python3"),
              "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")}
    results["parts"][name] = entry
    save()
    measure.note(f"{name}: {entry['title']}")
    try:
        findings, faults = WORKS[name](work, Keeper(entry, clock, save))
        entry |= {"status": "done", "found": as_plain(findings), "faults": faults, "as_expected": not faults}
    except OutOfTime:
        entry["status"] = "stopped"
        raise
    except (RuntimeError, OSError, KeyError, ValueError, IndexError) as error:
        said = f"{type(error).__name__} {error}" if isinstance(error, (KeyError, IndexError)) else str(error)
        entry |= {"status": "failed", "error": said.replace(str(work.place.work) + "/", "").replace(str(measure.ROOT) + "/", "")[:300], "as_expected": False}
        measure.note(f"{name}: {error}")
    finally:
        entry["running"] = None
        save()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", help="names or their beginnings, commas between, default: all")
    parser.add_argument("--list", action="store_true", help="name the parts and end")
    parser.add_argument("--programs", type=Path, default=measure.ROOT / "build" / "gpu" / "bin", help="default: build/gpu/bin")
    parser.add_argument("--work", type=Path, help="profiles, kept from call to call; default: check/ beside the programs' folder")
    parser.add_argument("--sanitizer", help="compute-sanitizer, where it is not on the PATH")
    parser.add_argument("--rehearse", action="store_true", help="the same on the CPU with a tiny model, and on recorded events")
    parser.add_argument("--seconds", type=float, help="begin no step that would not end by then")
    parser.add_argument("--again", action="store_true", help="measure anew what is done or begun")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: all")
    parser.add_argument("-o", "--output", type=Path, help="the results, .json; the tables lie beside it, .md")
    args = parser.parse_args()
    if args.list:
        print("\n".join(PARTS))
        return 0
    if args.output is None:
        parser.error("-o is required")
    wanted = [name for name in PARTS if not args.part or name.startswith(tuple(args.part.split(",")))]
    if not wanted:
        parser.error(f"no part begins with {args.part}; see --list")

    device = "cpu" if args.rehearse else "cuda"
    folder = (args.work or args.programs.parent / "check" / device).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    results = read_results(args.output)
    card = None if args.rehearse else measure.card()
    if card is None and not args.rehearse:
        raise SystemExit("gpu_profiler.py: nvidia-smi names no GPU; --rehearse tries the script on the CPU")
    results["device"] = {"card": card, "machine": measure.machine(args.programs), "build": measure.build_id(args.programs)}

    def save() -> None:
        measure.write_whole(args.output, json.dumps(results, indent=1, ensure_ascii=False) + "\n")
        measure.write_whole(args.output.with_suffix(".md"), markdown(results))

    work = Work(Place(args.programs.resolve(), device, folder, args.threads, card, None), args.rehearse, args.sanitizer)
    clock = Clock(args.seconds)
    try:
        for name in wanted:
            run_part(work, name, args.again, clock, results, save)
    except OutOfTime:
        measure.note("out of time: the same command goes on from here")
    print(args.output.with_suffix(".md").read_text())
    ended = [results["parts"].get(name, {}) for name in wanted]
    return 0 if all(each.get("status") == "done" and each.get("as_expected", True) for each in ended) else 1


if __name__ == "__main__":
    measure.run_main(main)
