"""Scripts that run part by part on a GPU: what is found is written at once, and a part that was cut off goes on with what it lacks.

    session = begin(parser, names, markdown)
    return session.run(lambda name: session.run_part(name, title, {}, lambda entry: measure_part(Part(entry, session.clock, session.save))))
"""

import argparse
import datetime
import json
import os
import time
from pathlib import Path
from typing import Any, Callable, Sequence

import numpy as np

import measure
from gpu_contenders import Place
from measure import mib

CUTS = 2  # what was cut off so often is not tried again
LEAST_SECONDS = 20  # left on the clock for a run to begin

Entry = dict[str, Any]


class OutOfTime(Exception):
    """The clock does not leave another run."""


class Clock:
    """What is left of --seconds; a run begins only where the longest one so far would still fit."""

    def __init__(self, seconds: float | None):
        self.end = time.monotonic() + seconds if seconds else None
        self.longest = 0.0

    def run(self, work: Callable[[], Any], least_seconds: float = LEAST_SECONDS) -> Any:
        if self.end and self.end - time.monotonic() < max(least_seconds, 1.2 * self.longest):
            raise OutOfTime()
        start = time.monotonic()
        result = work()
        self.longest = max(self.longest, time.monotonic() - start)
        return result


class Part:
    """A part that is being measured: its entry among the results, which are written whenever it changes."""

    def __init__(self, entry: Entry, clock: Clock, save_results: Callable[[], None], least_seconds: float = LEAST_SECONDS):
        self.entry, self.clock, self.save_results, self.least_seconds = entry, clock, save_results, least_seconds

    def save(self) -> None:
        self.save_results()

    def run(self, name: str, work: Callable[[], Any]) -> Any:
        """Runs and says beforehand that it does, so that whoever goes on knows what was cut off."""
        self.entry["running"] = name
        self.save()
        try:
            return self.clock.run(work, self.least_seconds)
        finally:
            self.entry["running"] = None

    def was_cut_off(self, name: str) -> bool:
        return self.entry["cut"].get(name, 0) >= CUTS


class Steps(Part):
    """The steps of a part, by name: each is run once, and what it found is kept."""

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        if name in self.entry["steps"]:
            return self.entry["steps"][name]
        if self.was_cut_off(name):
            raise RuntimeError(f"{name}: cut off {CUTS} times while it ran")
        found = self.entry["steps"][name] = as_plain(self.run(name, work))
        self.save()
        measure.note(f"  {name}: {in_short(found)}")
        return found

    def forget(self, name: str) -> None:
        self.entry["steps"].pop(name, None)


def as_plain(value: Any) -> Any:
    """For JSON."""
    if isinstance(value, dict):
        return {key: as_plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def in_short(found: Any) -> str:
    """What a step found, in a line."""
    if not isinstance(found, dict):
        return str(found)
    if "error" in found or "not_run" in found:
        return found.get("error") or f"not run: {found['not_run']}"
    if "faults" in found:
        return "; ".join(found["faults"])[:300] or "as expected"
    return f"{found['seconds']:.3f} s" if "seconds" in found else "done"


# Results --------------------------------------------------------------------------------------------------------------

def read_results(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text()) if file.exists() else {"parts": {}}


def name_of_card(card: dict[str, Any] | None) -> str:
    return f"{card['name']}, {mib(card['memory_bytes'])}, driver {card['driver']}" if card else "no GPU: a rehearsal on the CPU"


def section_head(name: str, entry: Entry, device: dict[str, Any]) -> str:
    """A part's head in Markdown; says so where it was another build's or another card's."""
    other = [] if entry["build"] == device.get("build") else [f"by the earlier build {entry['build']}"]
    other += [] if entry["card"] == name_of_card(device.get("card")) else [f"on {entry['card']}"]
    words = [entry["title"], entry["date"], *other, entry["status"], *([] if entry.get("as_expected", True) else ["NOT as expected"])]
    return f"## {name}\n\n{', '.join(words)}.\n\n    {entry['command']}\n\n"


def is_same(entry: Entry, other: Entry) -> bool:
    """Of one build on one card."""
    return all(entry.get(key) == other[key] for key in ("build", "card", "title"))


# The program ----------------------------------------------------------------------------------------------------------

class Session:
    """The parts that were asked for, where they run, and the results of all."""

    def __init__(self, args: argparse.Namespace, place: Place, wanted: Sequence[str], markdown: Callable[[dict[str, Any]], str]):
        self.args, self.place, self.wanted, self.markdown = args, place, wanted, markdown
        self.clock, self.results = Clock(args.seconds), read_results(args.output)
        self.results["device"] = {"card": place.card, "machine": measure.machine(args.programs), "build": measure.build_id(args.programs)}

    def save(self) -> None:
        measure.write_whole(self.args.output, json.dumps(self.results, indent=1, ensure_ascii=False) + "\n")
        measure.write_whole(self.args.output.with_suffix(".md"), self.markdown(self.results))

    def words_of(self, error: Exception) -> str:
        """In short, without this machine's folders."""
        text = f"{type(error).__name__} {error}" if isinstance(error, (KeyError, IndexError)) else str(error)
        return "does not fit" if "out of memory" in text else \
            text.replace(f"{self.place.work}/", "").replace(f"{measure.ROOT}/", "")[:300]

    def run_part(self, name: str, title: str, more: Entry, work: Callable[[Entry], None]) -> None:
        """`work` measures what the entry lacks; `more` is what a fresh one has besides."""
        device, found = self.results["device"], self.results["parts"].get(name, {})
        fresh = {"title": title, "build": device["build"], "card": name_of_card(device["card"]), "cut": {}, **more}
        known = is_same(found, fresh) and not self.args.again
        if known and found.get("status") == "done":
            measure.note(f"{name}: done before; --again measures it anew")
            return
        entry = found if known and found.get("status") in ("stopped", "started") else fresh
        if entry.get("running"):
            entry["cut"][entry["running"]] = entry["cut"].get(entry["running"], 0) + 1
        entry |= {"status": "started", "running": None, "error": None, "command": measure.command_line("python3"),
                  "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")}
        self.results["parts"][name] = entry
        self.save()
        measure.note(f"{name}: {title}")
        try:
            work(entry)
            entry["status"] = "done"
        except OutOfTime:
            entry["status"] = "stopped"
            raise
        except (RuntimeError, OSError, KeyError, ValueError, IndexError) as error:
            entry |= {"status": "failed", "error": self.words_of(error), "as_expected": False}
            measure.note(f"{name}: {error}")
        finally:
            entry["running"] = None
            self.save()

    def run(self, run_part: Callable[[str], None]) -> int:
        """Each part in order; 0 where all are done and as expected."""
        try:
            for name in self.wanted:
                run_part(name)
        except OutOfTime:
            measure.note("out of time: the same command goes on from here")
        print(self.args.output.with_suffix(".md").read_text())
        ended = [self.results["parts"].get(name, {}) for name in self.wanted]
        return 0 if all(each.get("status") == "done" and each.get("as_expected", True) for each in ended) else 1


def begin(parser: argparse.ArgumentParser, names: Sequence[str], markdown: Callable[[dict[str, Any]], str]) -> Session | None:
    """Adds what every such script takes, and reads the command line; None where it asks for the names of the parts alone."""
    parser.add_argument("--part", help="names or their beginnings, commas between, default: all")
    parser.add_argument("--list", action="store_true", help="name the parts and end")
    parser.add_argument("--programs", type=Path, default=measure.ROOT / "build" / "gpu" / "bin", help="default: build/gpu/bin")
    parser.add_argument("--work", type=Path, help="models, references and profiles, kept from call to call; default: check/ beside the programs' folder")
    parser.add_argument("--rehearse", action="store_true", help="the same on the CPU, tiny")
    parser.add_argument("--seconds", type=float, help="begin no run that would not end by then")
    parser.add_argument("--again", action="store_true", help="measure anew what is done or begun")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: all")
    parser.add_argument("-o", "--output", type=Path, help="the results, .json; the tables lie beside it, .md")
    args = parser.parse_args()
    if args.list:
        print("\n".join(names))
        return None
    if args.output is None:
        parser.error("-o is required")
    for word in args.part.split(",") if args.part else ():
        if not any(name.startswith(word) for name in names):
            parser.error(f"no part begins with {word}; see --list")
    wanted = [name for name in names if not args.part or name.startswith(tuple(args.part.split(",")))]

    device = "cpu" if args.rehearse else "cuda"
    work = (args.work or args.programs.parent / "check" / device).resolve()
    work.mkdir(parents=True, exist_ok=True)
    card = None if args.rehearse else measure.card()
    if card is None and not args.rehearse:
        raise SystemExit(f"{parser.prog}: nvidia-smi names no GPU; --rehearse tries the script on the CPU")
    place = Place(args.programs.resolve(), device, work, args.threads, card, getattr(args, "repeats", None))
    return Session(args, place, wanted, markdown)
