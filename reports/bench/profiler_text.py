"""How the results of gpu_profiler.py read."""

from typing import Any

import measure
import trace_overhead
from kept_parts import name_of_card, section_head
from measure import MIB, mib
from profiler_parts import ALLOCATOR_BOUND, HELD_OUT_BOUND, PARTS, TRACES
from trace_checks import CONTEXT_FALL, DRIVER_BOUND, POLL_BOUND, POLL_WINDOW, STEP_SHARE, Found

TITLES = {
    **{name: f"sdxl {side}×{side}, bf16, {'ample limit' if limit == 'ample' else limit}, all that can be listened to"
       for name, (side, limit) in TRACES.items()},
    "exports": "A trace of sdxl 1024×1024 by those who read its exports", "overhead": "What recording costs: sdxl 2048×2048, bf16",
    "profile": "sdxl, bf16: a profile of four sizes, and a fifth that it predicts",
    "held": "sdxl 512×512 while another profiler has CUPTI", "expandable": "sdxl 1024×1024 with segments that grow",
}


def fine(count: float | None) -> str:
    """Small ones too."""
    return "–" if count is None else f"{count / MIB:.2f} MiB"


# Traces ---------------------------------------------------------------------------------------------------------------

def trace_rows(parts: dict[str, Any]) -> list[list[str]]:
    rows = [["trace", "peak", "predicted", "reserved", "libraries and context with it", "largest difference from the driver",
             "from a poll", "context grew", "with a step", "lost", "clock", "seconds"]]
    for name in (*TRACES, "expandable"):
        found = (parts.get(name) or {}).get("found")
        if not found:
            continue
        polled = "–" if not found.get("polls_compared") else f"{fine(found['poll_difference_bytes'])} of {found['polls_compared']}"
        differs = "–" if not found["driver_samples"] else \
            f"{fine(found['driver_difference_bytes'])} of {found['driver_samples']}, at {found['driver_difference_at_seconds']:.3f} s"
        share = f"{100 * found['share_with_step']:.1f} % of {found['activities']}" if found["activities"] else "–"
        rows.append([name, mib(found["peak_bytes"]), mib(found["predicted_peak_bytes"]), mib(found["reserved_bytes"]),
                     mib(found["all_peak_bytes"]), differs, polled, fine(found.get("context_growth_bytes")), share, str(found["records_lost"]),
                     found["clock"], f"{found['decode_seconds']:.3g}"])
    return rows


def trace_lines(found: Found) -> list[str]:
    """What a table has no room for."""
    sizes = ", ".join(f"{name} {count / MIB:.1f} MiB" for name, count in found["file_bytes"].items())
    lines = [f"- Heard: {', '.join(found['heard']) or 'nobody'}. Files: {sizes}."]
    lines += [f"- Not heard: {said}." for said in found["not_heard"]]
    if found.get("polled_by"):
        compared = "moment by moment" if found["polls_compared"] else "at their highest alone" if found["poll_clock"] is None else \
            "at their highest alone: too few within the decode"
        lines.append(f"- Polled by {found['polled_by']}, {found['polls']} times, the highest {mib(found['poll_peak_bytes'])}; compared {compared}"
                     f"{', by the ' + found['poll_clock'] + ' clock' if found.get('poll_clock') else ''}.")
    if found["summed"]:
        lines.append(f"- Summed up: {', '.join(found['summed'])}.")
    for name, counted in found.get("mapping_calls", {}).items():
        lines.append(f"- {name}: {counted['calls']} calls, of {counted['heard']} the memory was heard.")
    return lines


# The other parts ------------------------------------------------------------------------------------------------------

def exports_lines(found: Found) -> list[str]:
    lines = []
    for name, each in found.items():
        chrome, snapshot, perfetto = each["chrome"], each["snapshot"], each["perfetto"]
        lines += [f"- {name[0].upper()}{name[1:]}, peak {each['own_peak_bytes']} bytes. Chrome's JSON: {chrome.get('events', 0)} events on "
                  f"{chrome.get('tracks', 0)} tracks, strictly by the format, peak {chrome.get('own_peak_bytes')}. Perfetto: "
                  + (f"not run, {perfetto['not_run']}" if "not_run" in perfetto else f"peak {perfetto['own_peak_bytes']}") +
                  f". Snapshot: {snapshot.get('entries')} entries, peak {snapshot.get('own_peak_bytes')}, read by "
                  f"{', '.join(snapshot.get('printed', {}))}. CSV: {each['csv']['rows']} lines, peak {each['csv']['own_peak_bytes']}."]
    return lines


def overhead_text(found: Found) -> str:
    ratios = {row["name"]: trace_overhead.ratio_range(row["ratio"]) for row in found["to_none"] if "error" not in row}
    ours = ratios.get(trace_overhead.ALLOCATOR)
    return trace_overhead.table(found["rows"]) + (f"\n- The allocator's events against `--watch none`: {ours}.\n" if ours else "")


def profile_lines(found: Found) -> list[str]:
    profile, decode = found["profile"], found["decode"]
    lines = [f"- On {profile['device']} ({profile['libraries']}): {profile['laws']} latency tables in {profile['seconds']:.0f} s."]
    lines += [f"- {size['width_pixels']}×{size['height_pixels']}: layers {size['seconds']:.4g} s, untiled peak {mib(size['peak_bytes'])}."
              for size in profile["sizes"]]
    lines += [f"- {size['width_pixels']}×{size['height_pixels']}, held out: layers {size['seconds']:.4g} s, predicted "
              f"{size['predicted_seconds']:.4g} s, {100 * size['error']:+.1f} %." for size in profile["held_out"]]
    again = decode["again_seconds"]
    return lines + [f"- The same planned with the profile and decoded: predicted {decode['predicted_seconds']:.4g} s, first "
                    f"{decode['first_seconds']:.4g} s, again {trace_overhead.ranged(again)} s "
                    f"({trace_overhead.percent(decode['predicted_seconds'] / again['median'])} of the last); peak {mib(decode['peak_bytes'])} of "
                    f"{mib(decode['predicted_peak_bytes'])}.",
                    f"- A profile of another device: {found['refused']['by']} ends with {found['refused']['status']}, {found['refused']['said']}."]


def held_lines(found: Found) -> list[str]:
    lines = []
    for name, run in found["holders"].items():
        if "not_run" in run:
            lines.append(f"- {name}: not run, {run['not_run']}.")
            continue
        silent = f"not captured: {', '.join(run['not_heard'])}" if run.get("not_heard") else "all captured"
        lines.append(f"- {name}: exit {run['status']}, {'a trace' if run['trace'] else 'no trace'}, {silent}.")
        lines += [f"  - {line}" for line in run["warnings"]]
    return lines


# All of it ------------------------------------------------------------------------------------------------------------

def part_text(name: str, found: Found) -> str:
    if name == "overhead":
        return overhead_text(found)
    lines_of = {"exports": exports_lines, "profile": profile_lines, "held": held_lines}.get(name, trace_lines)
    return "\n".join(lines_of(found)) + "\n"


def part_section(name: str, entry: dict[str, Any], device: dict[str, Any]) -> str:
    """A part as Markdown, whatever there is of it."""
    text = section_head(name, entry, device)
    text += "".join(f"- NOT as expected: {fault}.\n" for fault in entry["faults"])
    if entry.get("error"):
        text += entry["error"] + "\n"
    return text + (part_text(name, entry["found"]) if entry.get("found") and entry["status"] == "done" else "")


def markdown(results: dict[str, Any]) -> str:
    device = results.get("device", {})
    machine = device.get("machine", {})
    text = (f"# Traces and profiles on a GPU\n\n{name_of_card(device.get('card'))}; {machine.get('cpu')}, {machine.get('cores')} cores, "
            f"{machine.get('system')}.\nHeadroom {machine.get('headroom')}, build {device.get('build')}, PyTorch {machine.get('torch')}, "
            f"Python {machine.get('python')}.\n")
    if device.get("card") is None:
        text += "A rehearsal: a tiny model on the CPU, whose traces have nothing of a GPU's, and recorded events. Its figures tell of the scripts alone.\n"
    text += (f"Bounds: the sum of kinds and the driver's word {mib(DRIVER_BOUND)}; a poll within {1000 * POLL_WINDOW:.0f} ms {mib(POLL_BOUND)}; "
             f"a context that shrinks {mib(CONTEXT_FALL)}; what ran on the GPU with a step {100 * STEP_SHARE:.0f} %; a held-out size "
             f"{100 * HELD_OUT_BOUND:.0f} %; the allocator's events {100 * ALLOCATOR_BOUND:.0f} % of a decode.\n\n")
    rows = trace_rows(results["parts"])
    text += measure.markdown_table(rows) + "\n" if len(rows) > 1 else ""
    return text + "\n".join(part_section(name, results["parts"][name], device) for name in PARTS if name in results["parts"])
