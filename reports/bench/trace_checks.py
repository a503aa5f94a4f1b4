"""What a trace of a decode (headroom.trace) must hold, checked on its files alone: no GPU and no program is asked.

    found = check_trace(load_trace(Path("trace.json")), predicted_peak_bytes)
    print(found["faults"])  # nothing, or a line for each thing that is not as expected
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from measure import MIB

OWN_KINDS = 5  # what the decode itself asks for: the first of `kinds`
DRIVER_BOUND = 2 * MIB  # the driver hands memory out in such pieces
POLL_BOUND = 16 * MIB  # several allocations, each rounded to the driver's pieces, and what it keeps for itself
POLL_WINDOW = 0.025  # seconds: a poll is of no moment alone
LEAST_POLLS = 5  # within a decode, to be compared moment by moment
CONTEXT_FALL = 32 * MIB  # modules stay once they are loaded
STEP_SHARE = 0.95  # of what ran on the GPU, known for which step
CLOCKS_APART = 2_000_000_000  # nanoseconds: two clocks of a machine differ by years
MICROSECOND = 0.6e-6  # events and samples are written to a microsecond: these are of one moment

Found = dict[str, Any]


def load_trace(file: Path) -> dict[str, Any]:
    trace = json.loads(file.read_text())
    if trace.get("schema") != "headroom.trace" or trace.get("version") not in (1, 2):
        raise ValueError(f"{file.name}: no headroom.trace of version 1 or 2")
    return trace


class Memory:
    """What there is of every kind after each event of a trace."""

    def __init__(self, trace: dict[str, Any]):
        self.kinds: list[str] = trace["kinds"]
        fields = {name: i for i, name in enumerate(trace["event_fields"])}
        count = len(trace["events"])
        events = np.array(trace["events"], dtype=np.float64).reshape(count, len(fields))  # bytes below 2^53 stay whole
        self.times = events[:, fields["seconds"]]
        self.live = np.zeros((count, len(self.kinds)), dtype=np.int64)
        self.live[np.arange(count), events[:, fields["kind"]].astype(np.int64)] = events[:, fields["bytes"]].astype(np.int64)
        if "slack_bytes" in fields:
            self.live[:, self.kinds.index("slack")] += events[:, fields["slack_bytes"]].astype(np.int64)
        self.live = self.live.cumsum(axis=0)
        self.all = self.live.sum(axis=1)
        self.own = self.live[:, :OWN_KINDS].sum(axis=1)

    def kind(self, name: str) -> np.ndarray:
        return self.live[:, self.kinds.index(name)] if name in self.kinds else np.zeros(len(self.times), dtype=np.int64)

    def states(self, begin: float, end: float) -> slice:
        """The states during this interval: from the last event before it to the last within it."""
        first, last = np.searchsorted(self.times, (begin, end), side="left")
        last = max(last, int(np.searchsorted(self.times, end, side="right")))
        return slice(max(0, int(first) - 1), int(last))


# One by one -----------------------------------------------------------------------------------------------------------

def check_order(memory: Memory, trace: dict[str, Any]) -> Found:
    """Times go on, nothing is below zero, what ran on the GPU ended after it began."""
    faults = []
    if len(memory.times) and (np.diff(memory.times) < 0).any():
        at = int(np.argmax(np.diff(memory.times) < 0))
        faults.append(f"time goes back after {memory.times[at]:.6f} s")
    if len(memory.times) and (memory.live < 0).any():
        event, kind = np.argwhere(memory.live < 0)[0]
        faults.append(f"{memory.kinds[kind]} below zero at {memory.times[event]:.6f} s: {memory.live[event, kind]} bytes")
    if any(one[1] < one[0] for one in trace.get("activities", [])):
        faults.append("something on the GPU ends before it begins")
    return {"events": len(memory.times), "faults": faults}


def check_driver(memory: Memory, trace: dict[str, Any]) -> Found:
    """At each of the driver's samples the sum over kinds is what it said."""
    worst, worst_at, over = -1, None, 0
    for seconds, said in trace.get("driver", []):
        near = memory.all[memory.states(seconds - MICROSECOND, seconds + MICROSECOND)]
        difference = int(np.abs(near - said).min()) if len(near) else int(said)
        over += difference > DRIVER_BOUND
        if difference > worst:
            worst, worst_at = difference, seconds
    faults = [f"{over} of {len(trace['driver'])} of the driver's samples differ from the sum of kinds, the most by {worst} bytes at {worst_at:.6f} s"] \
        if over else []
    return {"driver_samples": len(trace.get("driver", [])), "driver_difference_bytes": max(worst, 0), "driver_difference_at_seconds": worst_at,
            "faults": faults}


def is_heard(trace: dict[str, Any], name: str) -> bool:
    return any(source["name"] == name and source["heard"] for source in trace.get("sources", []))


def contexts_at_samples(memory: Memory, trace: dict[str, Any]) -> np.ndarray:
    """The context's bytes after each of the driver's samples: they change with samples alone."""
    context = memory.kind("context")
    ends = [memory.states(seconds, seconds + MICROSECOND).stop for seconds, _ in trace.get("driver", [])]
    return np.array([context[end - 1] if end else 0 for end in ends], dtype=np.int64)


def check_context(memory: Memory, trace: dict[str, Any]) -> Found:
    """At a sample the sum equals the driver's count, since the remainder is counted as context. That must not hide what nobody captured: where
    the driver's memory was captured, the context grows as modules are loaded, and does not shrink before the end."""
    contexts = contexts_at_samples(memory, trace)[:-1]  # at the last, all is handed back
    if len(contexts) < 2:
        return {"faults": []}
    growth, fall = int(contexts[-1] - contexts[0]), int(max(0, -np.diff(contexts).min()))
    faults = [f"the context shrinks by {fall} bytes between two samples: something was counted twice, or went unheard"] \
        if fall > CONTEXT_FALL and is_heard(trace, "CUPTI memory") else []
    return {"context_bytes": int(contexts[-1]), "context_growth_bytes": growth, "context_fall_bytes": fall, "faults": faults}


def check_peak(memory: Memory, predicted_peak_bytes: int) -> Found:
    """What the decode asked for stays below what its plan predicts."""
    peak = int(memory.own.max(initial=0))
    reserved = memory.own + memory.kind("slack")
    faults = [f"the decode's kinds reach {peak} bytes, predicted {predicted_peak_bytes}"] if peak > predicted_peak_bytes else []
    return {"peak_bytes": peak, "predicted_peak_bytes": predicted_peak_bytes, "reserved_bytes": int(reserved.max(initial=0)),
            "all_peak_bytes": int(memory.all.max(initial=0)), "faults": faults}


def check_activities(trace: dict[str, Any]) -> Found:
    """Which share of what ran on the GPU had a step."""
    count = len(trace.get("activities", [])) + trace.get("activities_left_out", 0)
    if not count:
        return {"activities": 0, "faults": []}
    share = 1 - trace["activities_of_no_step"] / count
    faults = [f"for {100 * (1 - share):.1f} % of what ran it is not known for which step"] if share < STEP_SHARE else []
    return {"activities": count, "share_with_step": share, "faults": faults}


def check_sources(trace: dict[str, Any]) -> Found:
    """What was not captured and why is the machine's affair; records that were lost are not."""
    unheard = [f"{source['name']}: {source['detail']}" for source in trace.get("sources", []) if not source["heard"]]
    lost = trace.get("records_lost", 0)
    return {"heard": [source["name"] for source in trace.get("sources", []) if source["heard"]], "not_heard": unheard, "records_lost": lost,
            "clock": trace.get("clock", "host"), "faults": [f"{lost} records were lost"] if lost else []}


# Against somebody who asked the driver meanwhile ----------------------------------------------------------------------

@dataclass
class Polls:
    """What another process read of the card's memory: growth since before the decode, by both of the machine's clocks."""

    realtime_ns: np.ndarray
    monotonic_ns: np.ndarray
    bytes: np.ndarray


def counted_ns(events_file: Path) -> np.ndarray:
    """When the driver was asked, by the clock of the recording (headroom.events)."""
    times = []
    with events_file.open() as lines:
        for line in lines:
            match = re.match(r'\["counted",\s*(-?\d+),', line)
            if match:
                times.append(int(match[1]))
    return np.array(sorted(times), dtype=np.int64)


def on_clock_of(trace: dict[str, Any], counted: np.ndarray, polls: Polls) -> tuple[str, np.ndarray] | None:
    """When the polls were, in seconds of the trace, and by which clock; None where the recording's is none of the machine's.

    The trace and the recording tell of the same samples of the driver: the first gives the trace's zero by the recording's clock."""
    if not len(counted) or not trace.get("driver") or not len(polls.bytes):
        return None
    zero_ns = int(counted[0]) - round(trace["driver"][0][0] * 1e9)
    for name, clock in (("realtime", polls.realtime_ns), ("monotonic", polls.monotonic_ns)):
        if clock[0] - CLOCKS_APART <= counted[0] and counted[-1] <= clock[-1] + CLOCKS_APART:  # of the same minutes
            return name, (clock - zero_ns) * 1e-9
    return None


def check_poll(memory: Memory, trace: dict[str, Any], counted: np.ndarray, polls: Polls) -> Found:
    """A poll finds what the trace has within POLL_WINDOW of its moment. Between two of the driver's samples the context may be what it was at
    either. Where clocks cannot be aligned, or there are few polls, the highest ones alone are compared."""
    most, sums_most = int(polls.bytes.max(initial=0)), int(memory.all.max(initial=0))
    found: Found = {"polls": len(polls.bytes), "poll_peak_bytes": most, "polls_compared": 0, "faults": []}
    aligned = on_clock_of(trace, counted, polls)
    contexts = contexts_at_samples(memory, trace)
    sampled = np.array([seconds for seconds, _ in trace.get("driver", [])])
    context_growth = int(np.ptp(contexts)) if len(contexts) else 0
    if most > sums_most + context_growth + POLL_BOUND:
        found["faults"].append(f"a poll found {most} bytes, the trace has {sums_most} at most")
    if aligned is None:
        return found | {"poll_clock": None}
    found["poll_clock"], at = aligned
    inside = (at > sampled[0] + POLL_WINDOW) & (at < sampled[-1] - POLL_WINDOW)
    claimed = memory.all - memory.kind("context")
    worst, worst_at = -1, None
    for moment, said in zip(at[inside], polls.bytes[inside]):
        states = claimed[memory.states(moment - POLL_WINDOW, moment + POLL_WINDOW)]
        first = max(0, int(np.searchsorted(sampled, moment - POLL_WINDOW, side="right")) - 1)
        around = contexts[first:int(np.searchsorted(sampled, moment + POLL_WINDOW, side="left")) + 1]
        low, high = states.min() + around.min(), states.max() + around.max()
        difference = int(max(0, said - high, low - said))
        if difference > worst:
            worst, worst_at = difference, float(moment)
    found |= {"polls_compared": int(inside.sum()), "poll_difference_bytes": max(0, worst) if inside.any() else None,
              "poll_difference_at_seconds": worst_at}
    if worst > POLL_BOUND and inside.sum() >= LEAST_POLLS:
        found["faults"].append(f"a poll differs from the trace by {worst} bytes at {worst_at:.3f} s")
    return found


# All of it ------------------------------------------------------------------------------------------------------------

def check_trace(trace: dict[str, Any], predicted_peak_bytes: int, counted: np.ndarray | None = None, polls: Polls | None = None) -> Found:
    """The figures of every check, and `faults`."""
    memory = Memory(trace)
    parts = [check_order(memory, trace), check_driver(memory, trace), check_context(memory, trace), check_peak(memory, predicted_peak_bytes),
             check_activities(trace), check_sources(trace)]
    if polls is not None and counted is not None:
        parts.append(check_poll(memory, trace, counted, polls))
    whole: Found = {"seconds": trace["seconds"]}
    for part in parts:
        whole |= part
    whole["faults"] = [fault for part in parts for fault in part["faults"]]
    return whole
