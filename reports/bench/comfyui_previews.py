#!/usr/bin/env python3
"""Decodes the example latent by the node in ComfyUI's own code, and writes the first previews from 10, 50 and 90 % on.

    HEADROOM_COMFYUI=~/ComfyUI PYTHONPATH=build/python build/venv/bin/python reports/bench/comfyui_previews.py --out docs/pictures

Needs a clone of ComfyUI with its packages. Exits with an error if any preview is flat, has no finished pixel or has grey ones. Pixels
that are not done are estimated. There is no preview before enough rows exist for that.
"""

import argparse
import os
import sys
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[2]
SHARES = (10, 50, 90)
LIMIT_GIB = "0.06"  # small enough for many tiles
FLAT = 8
"""A preview is flat if its pixels' standard deviation is less."""
MOST_GREY = 0.01
"""Share of exactly grey pixels that a picture may have."""


def begin_comfyui() -> None:
    sys.path.insert(0, os.environ["HEADROOM_COMFYUI"])
    sys.path.append(str(ROOT / "planner/python"))  # the pack; behind the package of PYTHONPATH
    sys.argv = [sys.argv[0], "--cpu", "--preview-method", "auto"]
    import comfy.options

    comfy.options.enable_args_parsing()


def previews() -> tuple[list[tuple[int, object]], object]:
    """All previews with their percent, and the picture."""
    import comfy.sd
    import comfy.utils
    from comfyui import example_files, nodes, progress

    progress.PREVIEW_SECONDS = 0.1
    found: list[tuple[int, object]] = []

    def shown(value: int, total: int, preview: object, node_id: object = None) -> None:
        if preview is not None:
            found.append((round(100 * value / total), preview[1]))

    comfy.utils.set_progress_bar_global_hook(shown)
    vae = comfy.sd.VAE(sd=example_files.vae())
    picture, report = nodes.HeadroomVAEDecode().decode({"samples": example_files.latent()}, vae, LIMIT_GIB)
    print(report)
    return found, picture[0]


def faults(preview: object, picture: object) -> list[str]:
    """Why a preview is not what a user should see."""
    pixels = numpy.asarray(preview, dtype=float)
    step = -(-max(picture.shape[:2]) // max(preview.size))
    done = numpy.abs(pixels - picture[::step, ::step].numpy() * 255).max(axis=2) < 2
    found = {"has no finished pixel": not done.any(), "is flat": pixels.std() < FLAT, "has grey pixels": (pixels == 127).all(axis=2).mean() > MOST_GREY}
    return [fault for fault, holds in found.items() if holds]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    begin_comfyui()
    found, picture = previews()
    for percent, preview in found:
        if wrong := faults(preview, picture):
            preview.save(out / "comfyui-preview-fault.png")
            sys.exit(f"comfyui_previews.py: the preview at {percent} % {' and '.join(wrong)}")
    print(f"{len(found)} previews, the first at {found[0][0]} %, none flat or grey")
    for share in SHARES:
        percent, preview = next((each for each in found if each[0] >= share), found[-1])
        preview.save(out / f"comfyui-preview-{share}.jpg", quality=85)
        print(f"comfyui-preview-{share}.jpg: at {percent} %, {preview.width}×{preview.height}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
