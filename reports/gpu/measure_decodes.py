"""Part `measure`: SDXL at 512², 1024², 2048² and a clip of Wan 2.1: seconds by part, peaks, PSNR, engines, and our kernels one by one."""

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import torch

import measure
from diffusers_side import Diffusers, psnr_db, relative_error
from headroom_side import ample_limit, plan
from place import ROOT, Place
from report import Report

REPEATS = 5
KERNELS = 14  # rows for the longest kernels of a decode


@dataclass(frozen=True)
class Case:
    model: str
    size: tuple[int, int]
    frames: int = 1
    dtypes: tuple[str, ...] = ("bf16",)
    limits: tuple[int | None, ...] = (None,)  # bytes; None: ample_limit()

    def __str__(self) -> str:
        return f"{Path(self.model).name} {self.size[0]}×{self.size[1]}" + (f"×{self.frames}" if self.frames > 1 else "")


CASES = (Case("sdxl", (512, 512), dtypes=("bf16", "fp32")), Case("sdxl", (1024, 1024), limits=(None, 600 * measure.MIB)), Case("sdxl", (2048, 2048)),
         Case("wan2.1", (832, 480), 17))
REHEARSED = (Case("sdxl", (64, 64), dtypes=("bf16", "fp32")), Case(str(ROOT / "tests" / "data" / "golden" / "wan_default"), (24, 16), 5))


def headroom_rows(report: Report, where: Place, case: Case, dtype: str, limit: int | None, reference: torch.Tensor, work: Path) -> None:
    planned = plan(where, case.model, case.size, limit or ample_limit(), dtype, work, case.frames)
    decoded = planned.decode(REPEATS)
    picture = torch.from_numpy(decoded.picture)
    error = relative_error(picture, reference)
    name = f"{case} {dtype} Headroom" + (f" in {measure.mib(limit)}" if limit else "")
    report.row(name, decoded.times, f"{measure.mib(decoded.peak_bytes)} (predicted {measure.mib(planned.peak_bytes)})",
               f"error {error:.1e}" if dtype == "fp32" else f"{psnr_db(picture, reference):.1f} dB",
               ok=decoded.peak_bytes <= planned.limit_bytes and (dtype != "fp32" or error <= measure.EXACT))
    report.row("  ms by part, first decode", decoded.parts, f"predicted {1e3 * planned.seconds:.1f} ms, {planned.passes} passes")
    report.row("  engines", decoded.engines)


def measure_case(report: Report, where: Place, theirs: Diffusers, case: Case, work: Path) -> None:
    latent = theirs.latent(case.model, case.size, work / "measured.npy", case.frames)
    vae = theirs.vae(case.model)
    exact = theirs.decode(vae, latent, REPEATS if "fp32" in case.dtypes else 0)
    reference = exact.picture
    if "fp32" in case.dtypes:
        report.row(f"{case} fp32 diffusers", exact, exact.peaks, "the reference")
    timing = theirs.decode(vae.to(torch.bfloat16), latent, REPEATS)
    report.row(f"{case} bf16 diffusers", timing, timing.peaks, f"{psnr_db(timing.picture, reference):.1f} dB")
    del vae, timing
    theirs.tidy()
    for dtype in case.dtypes:
        for limit in case.limits:
            report.step(f"{case} {dtype} Headroom", lambda: headroom_rows(report, where, case, dtype, limit, reference, work), 8)


def kernel_rows(report: Report, where: Place, work: Path) -> None:
    """Device seconds by kernel in one decode, measured by CUPTI."""
    size = (64, 64) if where.rehearse else (1024, 1024)
    planned, trace_file = plan(where, "sdxl", size, ample_limit(), "bf16", work), work / "trace.json"
    where.run([where.program("headroom-profile"), "--plan", str(planned.file), "--model", "sdxl", "--random-weights", "0", "--watch", "kernels,copies",
               "--quiet", "-o", str(trace_file)], report.left()).require("headroom-profile")
    trace = json.loads(trace_file.read_text())
    calls: dict[str, list[float]] = defaultdict(list)
    for activity in trace.get("activities", []):
        each = dict(zip(trace["activity_fields"], activity))
        calls[trace["activity_names"][each["name"]]].append(each["end_seconds"] - each["begin_seconds"])
    report.row(f"kernels of {size[0]}²", f"{1e3 * sum(map(sum, calls.values())):.2f} ms in {sum(map(len, calls.values()))} launches and copies")
    for kernel, seconds in sorted(calls.items(), key=lambda item: -sum(item[1]))[:KERNELS]:
        report.row("  " + short_name(kernel), f"{1e3 * sum(seconds):.2f} ms, {len(seconds)} calls")


def short_name(kernel: str) -> str:
    return kernel.split("(")[0].replace("void ", "").replace("headroom::gpu::", "")[:70] or kernel[:70]


def main(report: Report, where: Place) -> None:
    work = where.work_folder()
    theirs = Diffusers(where.rehearse)
    for case in REHEARSED if where.rehearse else CASES:
        report.step(str(case), lambda: measure_case(report, where, theirs, case, work), 20)
        theirs.tidy()
    report.step("kernels", lambda: kernel_rows(report, where, work), 10)
