"""Sittings: what the GPU check does where a card is lent for minutes. Steps that each may take so long, the most telling first.

Whatever ended is in the table, whenever the sitting is cut off; a step that does not fit into what is left is passed by and says so; the
same command goes on with what is not done.
"""

import argparse
import datetime
import time
from dataclasses import dataclass
from typing import Any, Callable

import measure
from commands import Commands, Entry, Failed, Refused, Stopped

LEAST_SHARE = 0.6  # of a step's seconds must be left for it to begin
DONE = ("done", "refused")


@dataclass(frozen=True)
class Step:
    """A part, or some of a script's own parts."""

    name: str
    seconds: float  # the most that it may take
    part: str  # build, tests, profiler, bench or shapes
    wanted: str = ""  # of the part's own
    builds: bool = False  # may take all that is left: where binaries do not start, sources are built


@dataclass(frozen=True)
class Sitting:
    seconds: float
    steps: tuple[Step, ...]


BEGIN = (Step("binaries start", 40, "build", builds=True),)
SITTINGS = {
    "1": Sitting(360, (
        *BEGIN, Step("tests on the GPU", 90, "tests"), Step("512²", 80, "bench", "sdxl-512-bf16"),
        Step("1024²", 60, "bench", "sdxl-1024-bf16"), Step("our kernels", 60, "shapes", "layers"),
        Step("others on the card", 30, "bench", "tenants"))),
    "2": Sitting(480, (
        *BEGIN, Step("convolutions", 60, "shapes", "convolutions,z-add"), Step("chunks of products", 30, "shapes", "products"),
        Step("attention at 512", 40, "shapes", "attention"), Step("contenders at 1024²", 145, "bench", "contenders-1024-bf16"),
        Step("contenders at 2048²", 155, "bench", "contenders-2048-bf16"))),
    "3": Sitting(600, (
        *BEGIN, Step("4096², ample and 8 GiB", 190, "bench", "sdxl-4096-bf16"), Step("8192² in 24 GiB", 170, "bench", "sdxl-8192-bf16"),
        Step("pinned memory", 60, "shapes", "pinned"), Step("bands for L2", 100, "shapes", "bands"))),
}


def now_text() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


class Sat:
    """The steps of a sitting as they go; `save` writes them whenever they change."""

    def __init__(self, sitting: Sitting, found: dict[str, Entry], again: bool, save: Callable[[], None], clock: Callable[[], float] = time.monotonic):
        self.sitting, self.found, self.again, self.save, self.clock = sitting, found, again, save, clock
        self.end = clock() + sitting.seconds

    def put(self, step: Step, **entry: Any) -> None:
        self.found[step.name] = {"budget_seconds": step.seconds, "date": now_text(), **entry}
        self.save()

    def is_done(self, step: Step, build: str | None) -> bool:
        entry = self.found.get(step.name, {})
        return not self.again and entry.get("status") in DONE and build is not None and entry.get("build") == build

    def run(self, work: Callable[[Step, float], str], build: Callable[[], str | None]) -> bool:
        """Each step in turn; `work` is told how long it may take, and says what it found. Returns whether all are done."""
        for step in self.sitting.steps:
            if self.is_done(step, build()):
                continue
            left = self.end - self.clock()
            if not step.builds and build() is None:
                self.put(step, status="skipped", note="nothing is built")
            elif left < LEAST_SHARE * step.seconds:
                self.put(step, status="skipped", note=f"{max(0, left):.0f} s left, and it may take {step.seconds:.0f}")
            else:
                self.run_one(step, left if step.builds else min(left, step.seconds), work, build)
        return all(self.found[step.name]["status"] in DONE for step in self.sitting.steps)

    def run_one(self, step: Step, seconds: float, work: Callable[[Step, float], str], build: Callable[[], str | None]) -> None:
        self.put(step, status="started")
        begun, status, note = self.clock(), "done", ""
        try:
            note = work(step, seconds)
        except Refused as end:
            status, note = "refused", str(end)
        except Failed as end:
            status, note = "failed", str(end)
        except Stopped as end:
            status, note = "stopped", str(end)
        self.put(step, status=status, note=note, seconds=round(self.clock() - begun, 1), build=build())


def sit(sat: Sat, commands: Commands, works: dict[str, Callable[..., None]], args: argparse.Namespace, results: Any) -> bool:
    """Runs a sitting's steps as the parts that they are of. Returns whether all are done."""
    def work(step: Step, seconds: float) -> str:
        measure.note(f"\n== {step.name}, at most {seconds:.0f} s")
        entry: Entry = {}
        of_step = argparse.Namespace(**vars(args) | {"part": step.wanted, "again": args.again})
        with commands.within(seconds):
            works[step.part](of_step, commands, results, entry)
        return entry.get("note", "")

    return sat.run(work, lambda: measure.build_id(args.build / "bin"))


def sitting_table(number: str, found: dict[str, Entry]) -> str:
    """Every step, what came of it, and of how long it might have taken how much it took."""
    rows = [["step", "status", "seconds", "of", "when", "what was found"]]
    for step in SITTINGS[number].steps:
        entry = found.get(step.name)
        if entry is None:
            rows.append([step.name, "not run", "–", f"{step.seconds:.0f}", "–", "–"])
            continue
        rows.append([step.name, entry["status"], str(entry.get("seconds", "–")), f"{entry['budget_seconds']:.0f}", entry["date"],
                     (entry.get("note") or "–").replace("|", "/")])
    return f"\n## Sitting {number}, at most {SITTINGS[number].seconds / 60:.0f} minutes\n\n{measure.markdown_table(rows)}"
