"""Part `kernels`: seconds on the card by kernel, for each case of the parts `measure` and `families`."""

import json
from collections import defaultdict
from pathlib import Path

from cases import Arithmetic, Case, families, measured
from headroom_side import SEED, ample_limit, plan
from place import Place
from report import Report

KERNELS = 14  # rows for the longest kernels of a decode


def calls_by_kernel(trace: dict) -> dict[str, list[float]]:
    """Seconds of each launch and copy, by name."""
    calls: dict[str, list[float]] = defaultdict(list)
    for activity in trace.get("activities", []):
        each = dict(zip(trace["activity_fields"], activity))
        calls[trace["activity_names"][each["name"]]].append(each["end_seconds"] - each["begin_seconds"])
    return calls


def kernel_rows(report: Report, where: Place, case: Case, arithmetic: Arithmetic, work: Path) -> None:
    """Seconds by kernel in the first decode of a process, measured by CUPTI."""
    planned = plan(where, case.model, case.size, ample_limit(), arithmetic.dtype, work, case.frames, arithmetic.tf32)
    trace_file = work / "trace.json"
    where.run([where.program("headroom-profile"), "--plan", str(planned.file), "--model", case.model, "--random-weights", SEED, "--watch", "kernels,copies",
               "--quiet", "-o", str(trace_file)], report.left()).require("headroom-profile")
    calls = calls_by_kernel(json.loads(trace_file.read_text()))
    report.row(f"{case} {arithmetic}", f"{1e3 * sum(map(sum, calls.values())):.2f} ms in {sum(map(len, calls.values()))} launches and copies")
    for kernel, seconds in sorted(calls.items(), key=lambda item: -sum(item[1]))[:KERNELS]:
        report.row("  " + short_name(kernel), f"{1e3 * sum(seconds):.2f} ms, {len(seconds)} calls", f"longest {1e3 * max(seconds):.3f} ms")


def short_name(kernel: str) -> str:
    return kernel.split("(")[0].replace("void ", "").replace("headroom::gpu::", "")[:70] or kernel[:70]


def main(report: Report, where: Place) -> None:
    work = where.work_folder()
    for case in sorted((*measured(where.rehearse), *families(where.rehearse)), key=lambda case: case.frames == 1):  # clips first
        for arithmetic in case.number_formats:
            report.step(f"{case} {arithmetic}", lambda: kernel_rows(report, where, case, arithmetic, work), 10)
