"""Part `measure`: SDXL at 512², 1024², 2048² in bf16 and fp32, with TF32 and without, and a clip of Wan 2.1: seconds by part, peaks, PSNR, engines."""

from pathlib import Path

import torch

import measure
from cases import BF16, DEFAULTS, EXACT, Arithmetic, Case, measured
from diffusers_side import Diffusers, psnr_db, relative_error
from headroom_side import ample_limit, plan
from place import Place
from report import Report

REPEATS, REHEARSED = 5, 1


def repeats(where: Place) -> int:
    return REHEARSED if where.rehearse else REPEATS


def headroom_rows(report: Report, where: Place, case: Case, arithmetic: Arithmetic, limit: int | None, reference: torch.Tensor, work: Path) -> None:
    planned = plan(where, case.model, case.size, limit or ample_limit(), arithmetic.dtype, work, case.frames, arithmetic.tf32)
    decoded = planned.decode(repeats(where))
    picture = torch.from_numpy(decoded.picture)
    error = relative_error(picture, reference)
    name = f"{case} {arithmetic} Headroom" + (f" in {measure.mib(limit)}" if limit else "")
    report.row(name, decoded.times, f"{measure.mib(decoded.peak_bytes)} (predicted {measure.mib(planned.peak_bytes)})",
               f"error {error:.1e}" if arithmetic == EXACT else f"{psnr_db(picture, reference):.1f} dB",
               ok=decoded.peak_bytes <= planned.limit_bytes and (arithmetic != EXACT or error <= measure.EXACT))
    report.row("  ms by part, first decode", decoded.parts, f"predicted {1e3 * planned.seconds:.1f} ms, {planned.passes} passes")
    report.row("  engines", decoded.engines)


def diffusers_rows(report: Report, where: Place, theirs: Diffusers, case: Case, latent: torch.Tensor) -> torch.Tensor:
    """Rows of diffusers' own decodes. Returns the reference: fp32 without TF32."""
    vae, again = theirs.vae(case.model), repeats(where)
    exact = theirs.decode(vae, latent, again if EXACT in case.number_formats else 0)
    if EXACT in case.number_formats:
        report.row(f"{case} {EXACT} diffusers", exact, exact.peaks, "the reference")
    reference = exact.picture
    if DEFAULTS in case.number_formats:
        with theirs.torch_defaults():
            timing = theirs.decode(vae, latent, again)
        report.row(f"{case} {DEFAULTS} diffusers", timing, timing.peaks, f"{psnr_db(timing.picture, reference):.1f} dB")
    timing = theirs.decode(vae.to(torch.bfloat16), latent, again)
    report.row(f"{case} {BF16} diffusers", timing, timing.peaks, f"{psnr_db(timing.picture, reference):.1f} dB")
    return reference


def measure_case(report: Report, where: Place, theirs: Diffusers, case: Case, work: Path) -> None:
    latent = theirs.latent(case.model, case.size, work / "measured.npy", case.frames)
    reference = diffusers_rows(report, where, theirs, case, latent)
    theirs.tidy()
    for arithmetic in case.number_formats:
        for limit in case.limits if arithmetic == BF16 else case.limits[:1]:
            report.step(f"{case} {arithmetic} Headroom", lambda: headroom_rows(report, where, case, arithmetic, limit, reference, work), 8)
    if case.published:
        report.row("  published by others", case.published)


def measure_cases(report: Report, where: Place, cases: tuple[Case, ...]) -> None:
    work = where.work_folder()
    theirs = Diffusers(where.rehearse)
    for case in cases:
        report.step(str(case), lambda: measure_case(report, where, theirs, case, work), 20)
        theirs.tidy()


def main(report: Report, where: Place) -> None:
    measure_cases(report, where, measured(where.rehearse))
