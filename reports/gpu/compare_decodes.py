"""Part `compare`: Headroom beside diffusers eager, channels-last and compiled at 1024² and 2048²; 4096² under 8 GiB; 8192² in 24 GiB."""

from pathlib import Path
from typing import Any, Callable

import torch

import measure
from diffusers_side import Diffusers, psnr_db
from headroom_side import ample_limit, plan
from place import Place
from report import Report

REPEATS = 5
COMPILE_SECONDS = 70  # minimum time left for a contender that compiles
GIB = 1 << 30


def as_it_is(vae: Any, latent: torch.Tensor) -> torch.Tensor:
    return latent


def channels_last(vae: Any, latent: torch.Tensor) -> torch.Tensor:
    vae.to(memory_format=torch.channels_last)
    return latent.contiguous(memory_format=torch.channels_last)


def compiled(vae: Any, latent: torch.Tensor) -> torch.Tensor:
    latent = channels_last(vae, latent)
    vae.decoder = torch.compile(vae.decoder)
    return latent


def tiled(vae: Any, latent: torch.Tensor) -> torch.Tensor:
    vae.enable_tiling()
    return latent


Prepare = Callable[[Any, torch.Tensor], torch.Tensor]


def contender(report: Report, theirs: Diffusers, name: str, latent: torch.Tensor, prepare: Prepare, repeats: int, reference: torch.Tensor | None) -> torch.Tensor:
    """Adds a row for a bf16 decode by diffusers. Returns its picture on the CPU."""
    vae = theirs.vae("sdxl", "bf16")
    given = prepare(vae, latent.bfloat16())
    timing = theirs.timed(lambda: vae.decode(given, return_dict=False)[0], repeats)
    picture = timing.picture.float().cpu()
    report.row(name, timing, timing.peaks, "the reference" if reference is None else f"{psnr_db(picture, reference):.1f} dB")
    return picture


def headroom(report: Report, where: Place, side: int, limit_bytes: int, work: Path, reference: torch.Tensor | None, repeats: int = REPEATS) -> torch.Tensor:
    planned = plan(where, "sdxl", (side, side), limit_bytes, "bf16", work)
    decoded = planned.decode(repeats)
    picture = torch.from_numpy(decoded.picture)
    report.row(f"{side}² Headroom in {measure.mib(limit_bytes)}", decoded.times, measure.mib(decoded.peak_bytes),
               "the reference" if reference is None else f"{psnr_db(picture, reference):.1f} dB", f"predicted {1e3 * planned.seconds:.0f} ms",
               ok=decoded.peak_bytes <= limit_bytes)
    return picture


def same_size(report: Report, where: Place, theirs: Diffusers, side: int, work: Path) -> None:
    """All contenders at one size, the compiled one last; the reference is diffusers in fp32."""
    latent = theirs.latent("sdxl", (side, side), work / "compared.npy")
    reference = theirs.decode(theirs.vae("sdxl"), latent, 0).picture.cpu()
    theirs.tidy()
    report.step(f"{side}² Headroom", lambda: headroom(report, where, side, ample_limit(), work, reference), 10)
    contenders = [("eager", as_it_is, 8), ("channels-last", channels_last, 8), ("compiled", compiled, COMPILE_SECONDS)]
    for name, prepare, seconds in contenders[:2] if where.rehearse else contenders:
        report.step(f"{side}² diffusers {name}", lambda: contender(report, theirs, f"{side}² diffusers {name}", latent, prepare, REPEATS, reference), seconds)
        theirs.tidy()


def large(report: Report, where: Place, theirs: Diffusers, side: int, limit_bytes: int, work: Path, untiled: bool) -> None:
    """Headroom under a limit beside blended tiles, and beside an untiled bf16 decode if it fits the card."""
    latent, reference = theirs.latent("sdxl", (side, side), work / "large.npy"), None
    if untiled:
        name = f"{side}² diffusers untiled"
        reference = report.step(name, lambda: contender(report, theirs, name, latent, as_it_is, 1, None), 15)
        theirs.tidy()
    picture = report.step(f"{side}² Headroom", lambda: headroom(report, where, side, limit_bytes, work, reference, 1), 15)
    tiles = f"{side}² diffusers enable_tiling"
    report.step(tiles, lambda: contender(report, theirs, tiles, latent, tiled, 1, picture if reference is None else reference), 15)
    theirs.tidy()


def main(report: Report, where: Place) -> None:
    work = where.work_folder()
    theirs = Diffusers(where.rehearse)
    if where.rehearse:
        same_size(report, where, theirs, 64, work)
        large(report, where, theirs, 128, GIB, work, True)
        return
    for side, limit_bytes in ((4096, 8 * GIB), (8192, 24 * GIB)):
        report.step(f"{side}²", lambda: large(report, where, theirs, side, limit_bytes, work, side == 4096), 30)
    for side in (2048, 1024):
        report.step(f"{side}²", lambda: same_size(report, where, theirs, side, work), 20)
