#!/usr/bin/env python3
"""The checks of reports/bench/gpu_profiler.py: recorded events pass them, and each thing that is made wrong is found by the check for it.

    python3 tests/reports/bench/profiler_checks_test.py --bin build/bin

Needs numpy and torch, whose tools read snapshots.
"""

import argparse
import copy
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "reports" / "bench"))
from export_checks import check_exports  # noqa: E402
from gpu_contenders import Place  # noqa: E402
from measure import MIB  # noqa: E402
from profiler_parts import (ALLOCATOR_BOUND, DRAWN_PEAK, HELD_OUT_BOUND, RECORDINGS, STATES, Recorded, Work, judge_held,  # noqa: E402
                            judge_overhead, judge_profile, judge_refusal, replay)
from trace_checks import Memory, Polls, check_trace, counted_ns, load_trace  # noqa: E402
from trace_overhead import ALLOCATOR, BASE, UNHEARD, rows_of  # noqa: E402

Trace = dict[str, Any]


def event_of(trace: Trace, kind: str, at_least: int = 1) -> int:
    """The first event that takes memory of a kind."""
    number = trace["kinds"].index(kind)
    return next(i for i, event in enumerate(trace["events"]) if event[1] == number and event[5] >= at_least)


# What is made wrong in a trace: the word that the fault must have, and how.

def wrong_driver(trace: Trace) -> None:
    trace["driver"][7][1] += 3 * MIB


def wrong_segment(trace: Trace) -> None:
    trace["events"][event_of(trace, "slack")][5] += 4 * MIB


def wrong_order(trace: Trace) -> None:
    trace["events"][20], trace["events"][60] = trace["events"][60], trace["events"][20]


def lost_allocation(trace: Trace) -> None:
    del trace["events"][event_of(trace, "tile")]


def lost_records(trace: Trace) -> None:
    trace["records_lost"] = 3


def lost_steps(trace: Trace) -> None:
    trace["activities_of_no_step"] = len(trace["activities"]) // 4


def backward_activity(trace: Trace) -> None:
    trace["activities"][3][:2] = trace["activities"][3][1::-1]


def shrinking_context(trace: Trace) -> None:
    """The driver's word falls by 64 MiB at its sixth sample, and the context with it."""
    for sample in trace["driver"][6:]:
        sample[1] -= 64 * MIB
    at = next(i for i, event in enumerate(trace["events"]) if event[0] >= trace["driver"][6][0])
    trace["events"].insert(at, [trace["driver"][6][0], trace["kinds"].index("context"), -1, -1, -1, -64 * MIB, 0])


WRONG_TRACES: dict[str, tuple[str, Callable[[Trace], None]]] = {
    "a sample of the driver's 3 MiB off": ("driver's samples", wrong_driver),
    "a segment 4 MiB larger": ("driver's samples", wrong_segment),
    "two events that changed places": ("time goes back", wrong_order),
    "an allocation left out": ("below zero", lost_allocation),
    "three records lost": ("records were lost", lost_records),
    "a quarter of kernels of no step": ("which step", lost_steps),
    "a kernel that ends before it begins": ("before it begins", backward_activity),
    "a context that shrinks": ("context shrinks", shrinking_context),
}


# Polls ----------------------------------------------------------------------------------------------------------------

def polls_of(trace: Trace, counted: np.ndarray) -> Polls:
    """What an honest poll of this decode would have found, ten times as often as any could."""
    memory = Memory(trace)
    zero = int(counted[0]) - round(trace["driver"][0][0] * 1e9)
    seconds = np.arange(-0.2, trace["seconds"] + 0.2, 0.0005)
    places = np.searchsorted(memory.times, seconds, side="right") - 1
    used = np.where(places >= 0, memory.all[places], 0)
    monotonic = zero + (seconds * 1e9).astype(np.int64)
    return Polls(monotonic + 1_700_000_000_000_000_000, monotonic, used)


def slower(trace: Trace, counted: np.ndarray, times: int) -> tuple[Trace, np.ndarray]:
    """The same decode in seconds instead of milliseconds: there is something to poll."""
    trace = copy.deepcopy(trace)
    for each in (*trace["events"], *trace["driver"]):
        each[0] *= times
    trace["seconds"] *= times
    return trace, (counted - counted[0]) * times + counted[0]


def found_in_polls(trace: Trace, counted: np.ndarray) -> dict[str, str | None]:
    """What is wrong with the check of polls; a text says it."""
    trace, counted = slower(trace, counted, 400)
    polls = polls_of(trace, counted)
    inside = len(polls.bytes) // 2
    higher, later = polls.bytes.copy(), polls.bytes.copy()
    higher[inside - 5:inside + 5] += 128 * MIB
    later = np.concatenate([np.zeros(700, dtype=np.int64), later[:-700]])  # the polls' clock is 0.35 s off
    missed = polls.bytes - np.where(polls.bytes > 0, 40 * MIB, 0)
    elsewhere = replace(polls, realtime_ns=polls.monotonic_ns + 10**15, monotonic_ns=polls.monotonic_ns + 10**15)

    def faults(changed: Polls) -> list[str]:
        return [fault for fault in check_trace(trace, DRAWN_PEAK, counted, changed)["faults"] if "a poll" in fault]

    honest = check_trace(trace, DRAWN_PEAK, counted, polls)
    return {"polls that agree": None if not faults(polls) and honest["polls_compared"] > 1000 and honest["poll_clock"] == "monotonic" else str(honest),
            "polls by the other clock": None if not faults(Polls(polls.monotonic_ns, polls.realtime_ns, polls.bytes)) else "not aligned",
            "a poll that finds 128 MiB more": None if len(faults(replace(polls, bytes=higher))) == 2 else "not found",
            "polls 0.35 s off": None if faults(replace(polls, bytes=later)) else "not found",
            "polls 40 MiB lower": None if faults(replace(polls, bytes=missed)) else "not found",
            "a clock that is none of the machine's": None if not faults(elsewhere) and faults(replace(elsewhere, bytes=higher)) else "not seen"}


# Exports --------------------------------------------------------------------------------------------------------------

def edited(file: Path, change: Callable[[str], str]) -> None:
    text = file.read_text()
    changed = change(text)
    if changed == text:
        raise ValueError(f"{file.name}: nothing was changed")
    file.write_text(changed)


def changed_chrome(change: Callable[[list[dict[str, Any]]], None]) -> Callable[[Recorded], None]:
    def work(recorded: Recorded) -> None:
        whole = json.loads(recorded.chrome.read_text())
        change(whole["traceEvents"])
        recorded.chrome.write_text(json.dumps(whole))

    return work


def first_of(events: list[dict[str, Any]], kind: str, process: int = 1) -> dict[str, Any]:
    return next(event for event in events if event["ph"] == kind and event["pid"] == process)


def highest_counter(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the weights."""
    return max((event for event in events if event["ph"] == "C" and event["name"] == "weights"), key=lambda event: event["args"]["bytes"])


WRONG_EXPORTS: dict[str, tuple[str, Callable[[Recorded], None]]] = {
    "chrome: an event of no kind": ("chrome: event", changed_chrome(lambda events: first_of(events, "X").update(ph="Q"))),
    "chrome: a duration below zero": ("chrome: event", changed_chrome(lambda events: first_of(events, "X").update(dur=-1))),
    "chrome: a counter without a number": ("chrome: event", changed_chrome(lambda events: first_of(events, "C").update(args={"bytes": "1"}))),
    "chrome: kernels across one another": ("overlap", changed_chrome(lambda events: events.extend(
        [first_of(events, "X", 2) | {"ts": first_of(events, "X", 2)["ts"] + first_of(events, "X", 2)["dur"] / 2}]))),
    "chrome: another peak": ("chrome: a peak", changed_chrome(lambda events: highest_counter(events)["args"].update(bytes=10 * MIB))),
    "chrome: cut": ("no JSON", lambda recorded: edited(recorded.chrome, lambda text: text[:len(text) // 2])),
    "csv: a line that does not add up": ("csv: line", lambda recorded: edited(recorded.table, lambda text: text.replace("3145728,0,0", "3145729,0,0", 1))),
    "csv: cut": ("csv", lambda recorded: edited(recorded.table, lambda text: text[:len(text) // 2])),
    "snapshot: cut": ("snapshot: no pickle", lambda recorded: recorded.snapshot.write_bytes(recorded.snapshot.read_bytes()[:5000])),
    "snapshot: another peak": ("snapshot: a peak", lambda recorded: halve_snapshot(recorded.snapshot)),
}


def halve_snapshot(file: Path) -> None:
    import pickle

    snapshot = pickle.loads(file.read_bytes())
    snapshot["device_traces"][0] = snapshot["device_traces"][0][:4]
    file.write_bytes(pickle.dumps(snapshot))


# Verdicts on figures --------------------------------------------------------------------------------------------------

def rounds_with(allocator: float, none: float = 1.0) -> list[dict[str, dict[str, Any]]]:
    return [{name: {"seconds": seconds, "processor_seconds": seconds, "trace_bytes": None}
             for name, seconds in ((BASE, 1.0), (UNHEARD, none), (ALLOCATOR, allocator))}] * 3


def overhead_faults(allocator: float, none: float = 1.0) -> list[str]:
    rounds = rounds_with(allocator, none)
    return judge_overhead(rows_of(rounds), rows_of(rounds, UNHEARD), ALLOCATOR_BOUND)


def verdicts() -> dict[str, bool]:
    """Each holds."""
    size = {"width_pixels": 1536, "height_pixels": 1536}
    held = {"status": 0, "warnings": ["CUPTI memory: not captured: multiple subscribers: held by hold_cupti"], "trace": True,
            "not_heard": ["CUPTI memory"], "faults_of_trace": [], "said": ""}

    def held_faults(**changes: Any) -> list[str]:
        return judge_held("a holder", "hold_cupti", held | changes)

    return {
        "a held-out size 1.9 % off": not judge_profile([size | {"error": -0.019}], HELD_OUT_BOUND),
        "a held-out size 2.1 % off": len(judge_profile([size | {"error": -0.021}], HELD_OUT_BOUND)) == 1,
        "nothing held out": bool(judge_profile([], HELD_OUT_BOUND)),
        "another's profile refused": not judge_refusal({"status": 2, "said": "device: measured on another"}),
        "another's profile taken": bool(judge_refusal({"status": 0, "said": ""})),
        "the allocator's events at 2 %": not overhead_faults(1.02),
        "the allocator's events at 4 %": len(overhead_faults(1.04)) == 2,
        "the allocator's events 4 % above none": len(overhead_faults(1.02, 0.98)) == 1,
        "a decode that went on without CUPTI": not held_faults(),
        "one that failed": len(held_faults(status=1)) == 1,
        "one without a warning": len(held_faults(warnings=[])) == 2,
        "a warning that names nobody": len(held_faults(warnings=["CUPTI memory: not captured: multiple subscribers"])) == 1,
        "one without a trace": len(held_faults(trace=None)) == 1,
        "a holder that is not there": not judge_held("a holder", None, {"not_run": "not there"}),
    }


# All of it ------------------------------------------------------------------------------------------------------------

def faults_of(work: Work) -> list[str]:
    faults = []

    def judge(name: str, as_expected: bool, said: str) -> None:
        if not as_expected:
            faults.append(f"{name}: {said}")

    with work.scratch() as name:
        recorded = Recorded(Path(name))
        for state in STATES:
            replay(work, state, recorded)
            said = check_trace(load_trace(recorded.trace), DRAWN_PEAK)["faults"]
            expected = ["records were lost"] if state == "lost" else []
            if len(said) != len(expected) or any(word not in fault for word, fault in zip(expected, said)):
                faults.append(f"{state}: {'; '.join(said) or 'no fault'}")
        replay(work, STATES[0], recorded)
        right = load_trace(recorded.trace)
        for what, (word, change) in WRONG_TRACES.items():
            trace = copy.deepcopy(right)
            change(trace)
            said = check_trace(trace, DRAWN_PEAK)["faults"]
            judge(what, any(word in fault for fault in said), "; ".join(said) or "not found")
        said = check_trace(right, check_trace(right, DRAWN_PEAK)["peak_bytes"] - 1)["faults"]
        judge("a prediction one byte too low", any("predicted" in fault for fault in said), "; ".join(said) or "not found")
        for what, wrong in found_in_polls(right, counted_ns(RECORDINGS / f"{STATES[0]}.jsonl")).items():
            judge(what, wrong is None, str(wrong))
        exports = check_exports(right, recorded.chrome, recorded.snapshot, recorded.table)
        judge("exports as they are", not exports["faults"], "; ".join(exports["faults"]))
        for what, (word, spoil) in WRONG_EXPORTS.items():
            replay(work, STATES[0], recorded)
            spoil(recorded)
            said = check_exports(right, recorded.chrome, recorded.snapshot, recorded.table)["faults"]
            judge(what, any(word in fault for fault in said), "; ".join(said)[:300] or "not found")
        for what, holds in verdicts().items():
            judge(what, holds, "told wrongly")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True, help="the folder with headroom-profile")
    programs = parser.parse_args().bin.resolve()
    with tempfile.TemporaryDirectory() as folder:
        faults = faults_of(Work(Place(programs, "cpu", Path(folder), 1, None, None), True, None))
    print("\n".join(faults) or "every check tells rightly")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
