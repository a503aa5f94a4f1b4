#!/usr/bin/env python3
"""The demo: a picture decoded inside a limit that the untiled decode would not fit, beside diffusers' two ways.

    python reports/bench/demo.py                  # pictures and a table in demo/
    python reports/bench/demo.py --views          # also files for headroom-gui, and a report; needs `make build`
    python reports/bench/demo.py --update-docs    # and small copies in docs/pictures/, and the files of `make tour`

Writes untiled.png (diffusers), picture.png (Headroom), blended.png (diffusers' enable_tiling), side-by-side.png (the
three), difference.png (both errors, amplified alike), table.md, plan.json, stats.json and trace.json. With --views also plan-tighter.json, profile.json, frontier.json and report.html.
Exits with 1 if Headroom's error exceeds 1e-4 of the reference's magnitude, or its resident growth the limit + 32 MiB.
"""

import argparse
import math
import os
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import measure
from measure import EXACT, MIB, ROOT, Run, decibels, mib

TILE = 64  # latent positions a side: 512 pixels, diffusers' own choice for this model
LIMIT_STEP = 16 * MIB
PROFILED_SIZES = "256x256,512x384,768x768"
DECODE_FILES = ("plan.json", "stats.json", "trace.json")
VIEWED_FILES = ("plan-tighter.json", *DECODE_FILES, "profile.json", "frontier.json")
DOCS = ROOT / "docs" / "pictures"
DOCS_WIDTH = 1200
DOCS_BYTES = 300_000
GUI_PAGES = ("timeline", "decoder", "memory", "layers", "scaling", "plan", "frontier")
SNAPSHOT = ROOT / "tests" / "data" / "memory_histories" / "torch-newest.pickle"  # for the window's page on PyTorch's memory
PANEL_WIDTH = 1000
SIDE_WIDTH = 480
LABEL_HEIGHT = 26
TOUR = ROOT / "docs" / "tour"


# Decodes --------------------------------------------------------------------------------------------------------------

def load_picture(file: Path) -> np.ndarray:
    """[H, W, 3], the decoder's own range."""
    return np.load(file)[0].transpose(1, 2, 0)


def plan_within(args: argparse.Namespace, size: tuple[int, int], untiled_peak: int, plan: Path) -> Run:
    """A plan under --limit, or under a quarter of the untiled peak, or else under the smallest limit that works."""
    if args.limit:
        return measure.make_plan(args.model, size, args.limit, plan, args.profile)
    return plan_near(args, size, max(1, round(untiled_peak / 4 / LIMIT_STEP)) * LIMIT_STEP, plan)


def plan_near(args: argparse.Namespace, size: tuple[int, int], limit: int, plan: Path) -> Run:
    """A plan under this limit, or else under the smallest one that works."""
    try:
        return measure.make_plan(args.model, size, limit, plan, args.profile)
    except measure.DoesNotFit as refusal:
        limit = math.ceil(refusal.smallest_bytes / LIMIT_STEP) * LIMIT_STEP
        return measure.make_plan(args.model, size, limit, plan, args.profile)


def decode_ours(args: argparse.Namespace, plan: Path, scratch: Path) -> Run:
    """Decodes to a PNG and to an array for comparison. Figures are the PNG run's; memory is the larger of both."""
    picture = measure.headroom_decode(args.model, plan, args.latent, args.output / "picture.png", args.random_weights,
                                      args.threads)
    (args.output / "picture.stats.json").replace(args.output / "stats.json")
    values = measure.headroom_decode(args.model, plan, args.latent, scratch / "ours.npy", args.random_weights, args.threads,
                                     extra=["--trace", str(args.output / "trace.json")])
    return {**picture, **{key: max(picture[key], values[key]) for key in ("peak_bytes", "rss_growth_bytes")}}


def program(name: str, *words: str) -> None:
    measure.run([str(measure.BIN / name), *words])


def views(args: argparse.Namespace, size: tuple[int, int], limit: int) -> None:
    """Makes the other files that the window and the report show: a plan under half the limit, a profile, a frontier and
    the page."""
    file = {name: str(args.output / name)
            for name in ("plan-tighter.json", "profile.json", "frontier.json", "report.html", *DECODE_FILES)}
    plan_near(args, size, limit // 2, args.output / "plan-tighter.json")
    weights = ["--random-weights", str(args.random_weights)] if args.random_weights is not None else []
    program("headroom-profile", "--model", args.model, *weights, "--sizes", PROFILED_SIZES, "--threads", str(args.threads),
            "--accept-noise", "--quiet", "-o", file["profile.json"])
    program("headroom-plan", "frontier", "--model", args.model, "--size", f"{size[0]}x{size[1]}", "-o", file["frontier.json"])
    program("headroom-report", *(file[name] for name in (*DECODE_FILES, "profile.json", "frontier.json")), "--model", args.model,
            "-o", file["report.html"])


def gui_pictures(args: argparse.Namespace, scratch: Path) -> None:
    """Pages of headroom-gui on the demo's files, and on a snapshot of PyTorch's memory, in docs/pictures/."""
    shown = [str(args.output / name) for name in VIEWED_FILES]
    for files, pages in ((shown, GUI_PAGES), ([str(SNAPSHOT)], ("history",))):
        program("headroom-gui", *files, "--screenshot", str(scratch), "--size", "1360x850")
        for page in pages:
            picture = Image.open(scratch / f"{page}.png").convert("RGB")
            picture.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(DOCS / f"gui-{page}.png", optimize=True)


class Decode(NamedTuple):
    name: str
    run: Run
    values: np.ndarray  # [H, W, 3], the decoder's own range


# Pictures -------------------------------------------------------------------------------------------------------------

def to_image(values: np.ndarray) -> Image.Image:
    """Maps -1..1 to 0..255 like headroom-decode's PNG writer."""
    return Image.fromarray(np.rint((np.clip(values, -1, 1) + 1) * 127.5).astype(np.uint8))


def levels_off(found: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """[H, W, 3]: the error of the clipped picture, in steps of 1/255."""
    return np.abs(np.clip(found, -1, 1) - np.clip(reference, -1, 1)) * 127.5


def side_by_side(panels: list[tuple[str, Image.Image]]) -> Image.Image:
    """Pictures of equal size in a row, each under its label."""
    width, height, gap = panels[0][1].width, panels[0][1].height, 8
    sheet = Image.new("RGB", (len(panels) * (width + gap) - gap, height + LABEL_HEIGHT), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=16)
    for i, (label, picture) in enumerate(panels):
        draw.text((i * (width + gap) + 2, 3), label, fill="black", font=font)
        sheet.paste(picture, (i * (width + gap), LABEL_HEIGHT))
    return sheet


def smaller(picture: Image.Image, width: int) -> Image.Image:
    """Scales a picture down to at most `width` pixels across."""
    scale = min(1.0, width / picture.width)
    return picture.resize((round(picture.width * scale), round(picture.height * scale)), Image.Resampling.LANCZOS)


def difference(blended: np.ndarray, ours: np.ndarray, name: str) -> Image.Image:
    """Both error pictures, amplified alike so that the largest errors of blended tiles are just white."""
    gain = max(1, round(255 / max(float(np.percentile(blended, 99.5)), 1e-3)))

    def panel(error: np.ndarray) -> Image.Image:
        picture = Image.fromarray(np.clip(error * gain, 0, 255).astype(np.uint8))
        scale = min(1.0, PANEL_WIDTH / picture.width)
        return picture.resize((round(picture.width * scale), round(picture.height * scale)), Image.Resampling.BOX)

    return side_by_side([(f"{name}, error x {gain}", panel(blended)), (f"Headroom, error x {gain}", panel(ours))])


def save_small(picture: Image.Image, file: Path) -> None:
    """A JPEG of at most DOCS_WIDTH pixels across and DOCS_BYTES."""
    small = smaller(picture, DOCS_WIDTH)
    file.parent.mkdir(parents=True, exist_ok=True)
    for quality in range(90, 20, -10):
        small.save(file, quality=quality, optimize=True)
        if file.stat().st_size <= DOCS_BYTES:
            return
    raise RuntimeError(f"{file.name}: larger than {DOCS_BYTES} bytes at every quality")


def write_pictures(args: argparse.Namespace, decodes: dict[str, Decode]) -> None:
    untiled, ours, blended = (decodes[name] for name in ("untiled", "ours", "blended"))
    error = {name: levels_off(decodes[name].values, untiled.values) for name in ("ours", "blended")}
    sheets = {
        "untiled": to_image(untiled.values), "blended": to_image(blended.values),
        "side-by-side": side_by_side([(f"{each.name}: {mib(each.run['peak_bytes'])}", smaller(to_image(each.values), SIDE_WIDTH))
                                      for each in (untiled, ours, blended)]),
        "difference": difference(error["blended"], error["ours"], blended.name),
    }
    for name, picture in sheets.items():
        picture.save(args.output / f"{name}.png")
    if args.update_docs:
        for name in ("side-by-side", "difference"):
            save_small(sheets[name], DOCS / f"{name}.jpg")


# The table ------------------------------------------------------------------------------------------------------------

def table(untiled: Run, tiled: Run, tile: int, ours: Run, errors: dict[str, Run]) -> str:
    def row(name: str, run: Run, error: Run | None) -> list[str]:
        shown = [f"{error['largest_error']:.1e}", decibels(error["psnr_db"])] if error else ["–", "–"]
        return [name, mib(run.get("limit_bytes")), mib(run.get("predicted_peak_bytes")), mib(run["peak_bytes"]),
                mib(run["rss_growth_bytes"]), f"{run['seconds']:.1f} s", *shown]

    return measure.markdown_table([
        ["decode", "limit", "predicted peak", "measured peak", "resident growth", "time", "largest error", "PSNR against untiled"],
        row("diffusers untiled", untiled, None), row(f"diffusers tiled, {tile}", tiled, errors["tiled"]),
        row("Headroom", ours, errors["ours"])])


def main() -> int:
    data = Path(os.path.relpath(ROOT / "tests" / "data"))  # relative, since the plan stores the model's path
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=str(data / "demo_model"), help="folder in diffusers' layout, or a built-in name")
    parser.add_argument("--random-weights", type=int, metavar="SEED", help="seeded weights instead of the folder's")
    parser.add_argument("--latent", type=Path, default=data / "latents" / "portrait_1024x1024.safetensors", help="one latent")
    parser.add_argument("--limit", type=measure.parse_bytes, help="default: about a quarter of the untiled peak")
    parser.add_argument("--tile", type=int, default=TILE, help="latent positions a side of diffusers' tiles, default: %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--profile", help="plan by this profile; by assumed costs without")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "demo", help="the folder to write to, default: demo")
    parser.add_argument("--views", action="store_true", help="also write what headroom-gui shows, and a report")
    parser.add_argument("--update-docs", action="store_true",
                        help="with --views; write small copies into docs/pictures/, and files into docs/tour/")
    args = parser.parse_args()
    if args.update_docs:
        args.views = True

    header = measure.result_header()
    args.output.mkdir(parents=True, exist_ok=True)
    scale = measure.model_of(args.model).spatial_factor
    shape = measure.read_latent(args.latent).shape
    if shape[0] != 1:
        parser.error(f"--latent: expected one picture, found {shape[0]}")
    size = (shape[-1] * scale, shape[-2] * scale)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        untiled = measure.diffusers_decode(args.model, args.latent, scratch / "untiled.npy", args.random_weights, args.threads)
        measure.note(f"diffusers untiled: peak {mib(untiled['peak_bytes'])}, {untiled['seconds']:.1f} s")
        plan = plan_within(args, size, untiled["peak_bytes"], args.output / "plan.json")
        measure.note(f"plan: limit {mib(plan['limit_bytes'])}, predicted peak {mib(plan['predicted_peak_bytes'])}")
        ours = decode_ours(args, args.output / "plan.json", scratch)
        measure.note(f"Headroom: peak {mib(ours['peak_bytes'])}, {ours['seconds']:.1f} s")
        tiled = measure.diffusers_decode(args.model, args.latent, scratch / "tiled.npy", args.random_weights, args.threads, "tiled", args.tile)
        measure.note(f"diffusers tiled: peak {mib(tiled['peak_bytes'])}, {tiled['seconds']:.1f} s")
        if args.views:
            views(args, size, plan["limit_bytes"])
        if args.update_docs:
            gui_pictures(args, scratch)
            for name in VIEWED_FILES:
                shutil.copyfile(args.output / name, TOUR / name)

        decodes = {
            "untiled": Decode("diffusers, untiled", untiled, load_picture(scratch / "untiled.npy")),
            "ours": Decode("Headroom", ours, load_picture(scratch / "ours.npy")),
            "blended": Decode(f"diffusers, blended tiles of {args.tile}", tiled, load_picture(scratch / "tiled.npy")),
        }
    reference, exact = decodes["untiled"].values, decodes["ours"].values
    errors = {"tiled": measure.compare(decodes["blended"].values, reference), "ours": measure.compare(exact, reference)}
    write_pictures(args, decodes)

    title = f"Headroom's demo: {size[0]}×{size[1]}, fp32, {args.threads} threads"
    shown = table(untiled, tiled, args.tile, ours, errors)
    page = measure.markdown_header(title, header) + shown + (
        "\nPeaks include the weights; the measured peak of diffusers is its resident growth. Times are of the decode with its\n"
        "weights in place, for Headroom with the PNG written. Headroom also records a trace, which no plan counts and which takes about a\n"
        "MiB. Errors are in the decoder's own range, -1 to 1.\n")
    (args.output / "table.md").write_text(page)
    if args.update_docs:
        (DOCS / "table.md").write_text(page)
    print(f"\n{shown}\nPictures: picture.png, untiled.png, blended.png, side-by-side.png and difference.png in {args.output.name}/")

    faults = []
    if errors["ours"]["largest_error_relative"] > EXACT:
        faults.append(f"error {errors['ours']['largest_error_relative']:.1e} of the magnitude, expected at most {EXACT:g}")
    if not measure.held(ours):
        faults.append(f"resident growth {mib(ours['rss_growth_bytes'])}, limit {mib(ours['limit_bytes'])}")
    on_disk = np.asarray(Image.open(args.output / "picture.png"), dtype=np.int16)
    if np.abs(on_disk - np.asarray(to_image(exact), dtype=np.int16)).max() > 1:
        faults.append("picture.png is not the picture that was compared")
    if plan["limit_bytes"] >= untiled["peak_bytes"]:
        measure.note("note: the untiled decode would have fitted this limit")
    for fault in faults:
        measure.note(f"demo: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    measure.run_main(main)
