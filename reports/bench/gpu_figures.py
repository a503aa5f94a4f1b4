"""What the runs of gpu_decode.py add up to, and how it reads."""

import statistics
from typing import Any

import measure
from gpu_cases import QUEUE, TENANTS, parts
from kept_parts import name_of_card, section_head
from measure import EXACT, Run, decibels, mib, spread
from tenant_figures import tenants_text

UNTILED = "diffusers untiled"


# Rows: a contender's figures over the rounds -------------------------------------------------------------------------

def median_of(runs: list[Run], key: str) -> float | None:
    values = [run[key] for run in runs if run.get(key) is not None]
    return statistics.median(values) if values else None


def row_of(name: str, entry: dict[str, Any], dtype: str) -> dict[str, Any]:
    """A contender's figures over the rounds."""
    all_runs = [each["runs"][name] for each in entry["rounds"] if name in each["runs"]]
    runs = [run for run in all_runs if "error" not in run]
    plan = entry["plans"].get(name, {})
    row: dict[str, Any] = {"name": name, "limit_bytes": plan.get("limit_bytes"), "predicted_peak_bytes": plan.get("predicted_peak_bytes")}
    if not runs:
        return row | {"error": all_runs[0]["error"] if all_runs else "not run"}
    again = [seconds for run in runs for seconds in run.get("again_seconds") or []]
    row |= {"compile_seconds": max((run["compile_seconds"] for run in runs if run.get("compile_seconds") is not None), default=None),
            "file_seconds": median_of(runs, "file_seconds"), "rounds": len(runs), "first_seconds": spread([run["first_seconds"] for run in runs]),
            "again_seconds": spread(again) if again else None,
            "peak_bytes": max(run["peak_bytes"] for run in runs),
            "reserved_bytes": median_of(runs, "reserved_bytes"), "card_growth_bytes": median_of(runs, "card_growth_bytes"),
            "largest_error_relative": max((run["largest_error_relative"] for run in runs if run["largest_error_relative"] is not None),
                                          default=None),
            "psnr_db": min((run["psnr_db"] for run in runs if run["psnr_db"] is not None), default=None),
            "is_reference": any(run.get("is_reference") for run in runs),
            "parts": {part: statistics.median(run["parts"][part] for run in runs if part in run.get("parts", {}))
                      for part in runs[0].get("parts", {})},
            "copied_bytes": median_of(runs, "copied_bytes"), "engines": engines_of(runs)}
    if plan:
        if "convolution_rate" in entry:
            row["of_convolution_rate"] = (row["again_seconds"] or row["first_seconds"])["median"] * entry["convolution_rate"] / plan["flops"]
        row["within_limit"] = row["peak_bytes"] <= plan["limit_bytes"]
        row["exact"] = is_exact(row, entry, dtype)
        row["all_there"] = not any(engine["compiled"] for engine in row["engines"])
    return row


def engines_of(runs: list[Run]) -> list[Run]:
    """What convolutions ran by in any of the runs, with the most runs of one decode."""
    engines: dict[tuple[str, bool], int] = {}
    for engine in (each for run in runs for each in run.get("engines", [])):
        key = engine["name"], engine["compiled"]
        engines[key] = max(engines.get(key, 0), engine["runs"])
    return [{"name": name, "compiled": compiled, "runs": count} for (name, compiled), count in engines.items()]


def is_exact(row: dict[str, Any], entry: dict[str, Any], dtype: str) -> bool | None:
    """None where nothing was there to tell by."""
    if row["largest_error_relative"] is None:
        return None
    if dtype == "fp32":
        return row["largest_error_relative"] <= EXACT
    theirs = [each["runs"][UNTILED].get("psnr_db") for each in entry["rounds"] if UNTILED in each["runs"]]
    theirs = [value for value in theirs if value is not None]
    return None if not theirs or row["psnr_db"] is None else row["psnr_db"] >= min(theirs)


def compare_times(rows: list[dict[str, Any]]) -> None:
    """Adds each row's time over that of diffusers untiled: later decodes where both have some, or else first ones."""
    untiled = next((row for row in rows if row["name"] == UNTILED and "error" not in row), None)
    for row in rows:
        if untiled is None or "error" in row or row is untiled:
            continue
        kind = "again_seconds" if row["again_seconds"] and untiled["again_seconds"] else "first_seconds"
        row["against_untiled"] = {"of": kind, "ratio": row[kind]["median"] / untiled[kind]["median"]}


def add_rows(entry: dict[str, Any], dtype: str) -> None:
    names = dict.fromkeys(name for each in entry["rounds"] for name in each["runs"])
    entry["rows"] = [row_of(name, entry, dtype) for name in names]
    entry["rows"].sort(key=lambda row: row["name"].startswith("Headroom"))
    compare_times(entry["rows"])
    entry["as_expected"] = all(row.get("exact") is not False and row.get("within_limit") is not False
                               and row.get("all_there") is not False
                               and not (row["name"].startswith("Headroom") and "error" in row) for row in entry["rows"])


# Tables ---------------------------------------------------------------------------------------------------------------

def ranged(values: dict[str, float] | None) -> str:
    return f"{values['median']:.3g} s ({values['least']:.3g}–{values['most']:.3g})" if values else "–"


def seconds_text(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:.3g} s"


def rate_text(rate: float | None) -> str:
    return "–" if rate is None else f"{rate / 1e12:.3g} TFLOP/s"


def gigabytes(rate: float | None) -> str:
    return "–" if rate is None else f"{rate / 1e9:.1f} GB/s"


def case_table(entry: dict[str, Any]) -> str:
    lines = [["decode", "limit", "predicted peak", "peak", "reserved", "card's count", "first", "again", "its file", "to compile",
              "against untiled", "of FLOPs / rate", "largest error", "PSNR"]]
    for row in entry["rows"]:
        if "error" in row:
            lines.append([row["name"], mib(row["limit_bytes"]), mib(row["predicted_peak_bytes"]), row["error"]] + [""] * 10)
            continue
        ratio, share, error = row.get("against_untiled"), row.get("of_convolution_rate"), row["largest_error_relative"]
        compared = ["reference", "–"] if row["is_reference"] else [f"{error:.1e}" if error is not None else "–", decibels(row["psnr_db"])]
        lines.append([row["name"], mib(row["limit_bytes"]), mib(row["predicted_peak_bytes"]), mib(row["peak_bytes"]),
                      mib(row["reserved_bytes"]), mib(row["card_growth_bytes"]), ranged(row["first_seconds"]), ranged(row["again_seconds"]),
                      seconds_text(row.get("file_seconds")), seconds_text(row.get("compile_seconds")),
                      f"{ratio['ratio']:.2f}" + ("" if ratio["of"] == "again_seconds" else " (first)") if ratio else "–",
                      f"{share:.2f}" if share else "–", *compared])
    return measure.markdown_table(lines)


def parts_table(entry: dict[str, Any]) -> str:
    """Where the time went, and the rate of copies; empty where the statistics do not tell."""
    rows = [row for row in entry["rows"] if row.get("parts")]
    names = list(dict.fromkeys(part for row in rows for part in row["parts"]))
    if not names:
        return ""
    lines = [["seconds in", *names, "copied", "rate of copies"]]
    for row in rows:
        seconds, copied = row["parts"].get("copies"), row["copied_bytes"]
        lines.append([row["name"], *(f"{row['parts'][part]:.3g}" if part in row["parts"] else "–" for part in names), mib(copied),
                      gigabytes(copied / seconds if copied and seconds else None)])
    return "\n" + measure.markdown_table(lines)


def engines_text(entry: dict[str, Any]) -> str:
    """What convolutions ran by, a line for each contender that tells."""
    lines = []
    for row in entry["rows"]:
        engines = [f"{engine['name']}{' (COMPILED)' if engine['compiled'] else ''} {engine['runs']}×" for engine in row.get("engines") or []]
        if engines:
            lines.append(f"Convolutions of {row['name']}: {', '.join(engines)}.\n")
    return "\n" + "\n".join(lines) if lines else ""


def queue_table(entry: dict[str, Any]) -> str:
    arrived, planned = entry["as_it_arrives"], entry["planned"]
    last, first = arrived[-1]["resident_bytes"], arrived[0]["resident_bytes"]
    rows = [["", "as it arrives", "peak", "reserved after", "s", "planned", "peak", "s"]]
    for i, (theirs, ours) in enumerate(zip(arrived, planned)):
        rows.append([str(i + 1), theirs["size"], mib(theirs["peak_bytes"]), mib(theirs["resident_bytes"]), f"{theirs['seconds']:.3g}",
                     ours["size"], mib(ours["peak_bytes"]), f"{ours['seconds']:.3g}"])
    return (f"As it arrives: diffusers untiled, one process; highest peak {mib(max(each['peak_bytes'] for each in arrived))}, reserved "
            f"{mib(first)} after the first and {mib(last)} after the last.\nPlanned: under {mib(entry['limit_bytes'])}, predicted peak "
            f"{mib(entry['predicted_peak_bytes'])}, measured {mib(entry['peak_bytes'])}; {entry['pool_allocations']} reservation, "
            f"{mib(entry['pool_growth_bytes'])} of growth; {entry['equal_alone']} of {entry['held_alone']} shapes equal a run by itself, "
            "bit for bit.\n\n" + measure.markdown_table(rows))


def part_section(name: str, entry: dict[str, Any], device: dict[str, Any]) -> str:
    """A part as Markdown, whatever there is of it."""
    lines = [section_head(name, entry, device).removesuffix("\n")]
    if entry.get("error"):
        lines.append(entry["error"] + "\n")
    if name == QUEUE and "planned" in entry:
        lines.append(queue_table(entry))
    elif name == TENANTS:
        lines.append(tenants_text(entry))
    elif entry.get("rows"):
        lines.append(case_table(entry) + parts_table(entry) + engines_text(entry))
        link = entry.get("link", {})
        lines.append(f"Errors are against {entry['reference']}. Convolutions of LibTorch ran at {rate_text(entry.get('convolution_rate'))}; "
                     f"copies of pinned memory at {gigabytes(link.get('to_host_bytes_per_second'))} to the host, "
                     f"{gigabytes(link.get('from_host_bytes_per_second'))} from it, "
                     f"{gigabytes(link.get('both_ways_bytes_per_second'))} each way at once.\n")
    return "\n".join(lines)


def markdown(results: dict[str, Any]) -> str:
    device = results.get("device", {})
    machine, where = device.get("machine", {}), name_of_card(device.get("card"))
    head = (f"# Headroom on a GPU against diffusers\n\n{where}; {machine.get('cpu')}, {machine.get('cores')} cores, {machine.get('system')}.\n"
            f"Headroom {machine.get('headroom')}, build {device.get('build')}, PyTorch {machine.get('torch')}, diffusers {machine.get('diffusers')}, Python {machine.get('python')}.\n"
            "Times: median (least–most). First: in a fresh process; again: in the same process. Plans are made with assumed costs.\n"
            "Of FLOPs / rate: the time over what the decoder's FLOPs take at the rate of LibTorch's convolutions in that dtype.\n\n")
    return head + "\n".join(part_section(name, results["parts"][name], device) for name in parts() if name in results["parts"])
