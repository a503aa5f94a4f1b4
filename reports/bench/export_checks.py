"""Whether what a trace is exported to can be read by those it is for, and tells of the same peak.

Chrome's JSON by Perfetto's trace processor where its package and the program that it downloads are there, and in any case strictly by the
Trace Event Format; the snapshot by torch.cuda._memory_viz; the table by Python's csv.
"""

import csv
import json
import math
import pickle
from pathlib import Path
from typing import Any, Callable

from trace_checks import OWN_KINDS, Found, Memory

NANOSECOND = 2e-3  # in microseconds: begins and lengths are written to a nanosecond
PERFETTO_ERRORS = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
PERFETTO_COUNTERS = "select t.name, c.ts, c.value from counter c join process_counter_track t on c.track_id = t.id order by c.id"


# Chrome's JSON, by the Trace Event Format -----------------------------------------------------------------------------

def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def event_fault(event: Any) -> str | None:
    """Why it is none of the events that the format has, or that a trace is written with."""
    if not isinstance(event, dict) or not isinstance(event.get("name"), str) or not isinstance(event.get("pid"), int):
        return "no name or process"
    kind, values = event.get("ph"), event.get("args", {})
    if not isinstance(values, dict):
        return "args are no object"
    if kind == "M":
        return None if event["name"] in ("process_name", "thread_name") and isinstance(values.get("name"), str) else "metadata without a name"
    if kind not in ("X", "C"):
        return f"an event of kind {kind!r}"
    if not is_number(event.get("ts")) or event["ts"] < 0:
        return "no time"
    if kind == "C":
        return None if values and all(is_number(value) for value in values.values()) else "a counter without numbers"
    if not is_number(event.get("dur")) or event["dur"] < 0:
        return "a duration below zero, or none"
    return None if isinstance(event.get("tid"), int) else "a duration of no track"


def overlaps(durations: list[tuple[float, float]]) -> int:
    """How many of one track neither follow one another nor lie within one another: viewers drop these."""
    ends: list[float] = []
    count = 0
    for begin, end in sorted(durations, key=lambda one: (one[0], -one[1])):
        while ends and ends[-1] <= begin + NANOSECOND:
            ends.pop()
        if ends and end > ends[-1] + NANOSECOND:
            count += 1
        else:
            ends.append(end)
    return count


def counters_peak(samples: list[tuple[str, float]], own: list[str]) -> int:
    """The most that the counters of these names have together, one after another."""
    live, peak = dict.fromkeys(own, 0.0), 0.0
    for name, value in samples:
        if name in live:
            live[name] = value
            peak = max(peak, sum(live.values()))
    return round(peak)


def check_chrome(file: Path, own: list[str]) -> Found:
    try:
        whole = json.loads(file.read_text())
    except ValueError as error:
        return {"faults": [f"chrome: no JSON: {error}"]}
    events = whole.get("traceEvents") if isinstance(whole, dict) else None
    if not isinstance(events, list):
        return {"faults": ["chrome: no traceEvents"]}
    faults, tracks, samples = [], {}, []
    for number, event in enumerate(events):
        fault = event_fault(event)
        if fault:
            faults.append(f"chrome: event {number}: {fault}")
            break
        if event["ph"] == "X":
            tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
        elif event["ph"] == "C":
            samples.append((event["name"], event["args"].get("bytes", 0)))
    crossing = {track: overlaps(durations) for track, durations in tracks.items()}
    faults += [f"chrome: {count} durations of track {track} overlap" for track, count in crossing.items() if count]
    return {"events": len(events), "tracks": len(tracks), "own_peak_bytes": counters_peak(samples, own), "faults": faults}


# And by Perfetto itself -----------------------------------------------------------------------------------------------

def check_perfetto(file: Path, own: list[str]) -> Found:
    """`not_run` says why where it could not be asked. That its program is missing is no fault of the file."""
    try:
        from perfetto.trace_processor import TraceProcessor
    except ImportError as error:
        return {"not_run": f"no Python package perfetto ({error})", "faults": []}
    try:
        processor = TraceProcessor(trace=str(file))
    except Exception as error:  # noqa: BLE001: whatever its download or its program says
        return {"not_run": f"its trace processor, which it downloads, did not start ({type(error).__name__})", "faults": []}
    try:
        said = [f"chrome: Perfetto: {row.name}: {row.value}" for row in processor.query(PERFETTO_ERRORS)]
        samples = [(row.name.removesuffix(" bytes"), row.value) for row in processor.query(PERFETTO_COUNTERS)]
    finally:
        processor.close()
    return {"own_peak_bytes": counters_peak(samples, own), "faults": said}


# The snapshot and the table -------------------------------------------------------------------------------------------

def check_snapshot(file: Path) -> Found:
    """Read as LibTorch's own: its tools print and draw it, and its entries add up."""
    from torch.cuda import _memory_viz as viz

    try:
        snapshot = pickle.loads(file.read_bytes())
    except Exception as error:  # noqa: BLE001: pickle raises of every kind
        return {"faults": [f"snapshot: no pickle: {error}"]}
    faults = []
    tools: dict[str, Callable[[Any], str]] = {"trace": viz.trace, "segsum": viz.segsum, "trace_plot": viz.trace_plot}
    sizes = {}
    for name, tool in tools.items():
        try:
            sizes[name] = len(tool(snapshot))
        except Exception as error:  # noqa: BLE001: they raise whatever their own code meets
            faults.append(f"snapshot: {name}: {type(error).__name__} {error}")
    live, reserved, own_peak, reserved_peak = 0, 0, 0, 0
    entries = snapshot["device_traces"][0] if isinstance(snapshot, dict) and snapshot.get("device_traces") else []
    for entry in entries:
        change = {"alloc": 1, "free_completed": -1}.get(entry["action"], 0) * entry["size"]
        live, reserved = live + change, reserved + {"segment_alloc": 1, "segment_free": -1}.get(entry["action"], 0) * entry["size"]
        own_peak, reserved_peak = max(own_peak, live), max(reserved_peak, reserved)
    if not entries:
        faults.append("snapshot: no entries")
    return {"entries": len(entries), "printed": sizes, "own_peak_bytes": own_peak, "reserved_peak_bytes": reserved_peak, "faults": faults}


def check_csv(file: Path, own: list[str]) -> Found:
    faults, peak, all_peak, rows = [], 0, 0, 0
    with file.open(newline="") as text:
        reader = csv.DictReader(text, strict=True)
        kinds = [name for name in reader.fieldnames or [] if name.endswith("_bytes") and name != "all_bytes"]
        try:
            for row in reader:
                rows += 1
                live = {name: int(row[name]) for name in kinds}
                if None in row or sum(live.values()) != int(row["all_bytes"]):
                    faults.append(f"csv: line {reader.line_num}: all_bytes is not the sum of kinds")
                    break
                peak, all_peak = max(peak, sum(live[f"{name}_bytes"] for name in own)), max(all_peak, sum(live.values()))
        except (KeyError, TypeError, ValueError, csv.Error) as error:
            faults.append(f"csv: line {reader.line_num}: {type(error).__name__} {error}")
    return {"rows": rows, "own_peak_bytes": peak, "all_peak_bytes": all_peak, "faults": faults}


# All of them ----------------------------------------------------------------------------------------------------------

ENTRIES = 200_000  # of a snapshot, the last ones


def check_exports(trace: dict[str, Any], chrome: Path, snapshot: Path, table: Path) -> Found:
    """Each by its reader, and all of one peak. A snapshot that was cut, or was made where something was lost, need not have it."""
    own = trace["kinds"][:OWN_KINDS]
    peak = int(Memory(trace).own.max(initial=0))
    found: Found = {"own_peak_bytes": peak, "chrome": check_chrome(chrome, own), "perfetto": check_perfetto(chrome, own),
                    "snapshot": check_snapshot(snapshot), "csv": check_csv(table, own)}
    readers = ("chrome", "perfetto", "snapshot", "csv")
    faults = [fault for name in readers for fault in found[name]["faults"]]
    for name in readers:
        theirs = found[name].get("own_peak_bytes")
        whole = name != "snapshot" or (found[name].get("entries", 0) < ENTRIES and not trace.get("records_lost"))
        if theirs is not None and theirs != peak and whole:
            faults.append(f"{name}: a peak of {theirs} bytes, the trace has {peak}")
    return found | {"faults": faults}
