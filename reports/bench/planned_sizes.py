#!/usr/bin/env python3
"""Plans for a GPU in bf16, by the assumed costs of an H100: large pictures and long clips under the memory of usual cards.

    PYTHONPATH=build/python build/venv/bin/python reports/bench/planned_sizes.py -o reports/results/planned-sizes.md

Needs no GPU: nothing is decoded. Takes about five minutes, most of them for HunyuanVideo.
"""

import argparse
import tempfile
from pathlib import Path

import headroom_vae
import measure

GIB = 1 << 30
SIZES = [  # label, model, width, height, frames
    ("SDXL, 4096×4096", "sdxl", 4096, 4096, 1),
    ("SDXL, 8192×8192", "sdxl", 8192, 8192, 1),
    ("FLUX.2, 2048×2048", "flux2", 2048, 2048, 1),
    ("Qwen-Image, 2048×2048", "qwen-image", 2048, 2048, 1),
    ("Wan 2.1, 81 frames of 832×480", "wan2.1", 832, 480, 81),
    ("Wan 2.1, 81 frames of 1280×720", "wan2.1", 1280, 720, 81),
    ("Wan 2.2, 121 frames of 1280×704", "wan2.2", 1280, 704, 121),
    ("HunyuanVideo, 77 frames of 960×544", "hunyuan-video", 960, 544, 77),
    ("HunyuanVideo, 129 frames of 1280×720", "hunyuan-video", 1280, 720, 129),
    ("HunyuanVideo 1.5, 121 frames of 1280×720", "hunyuan-video-1.5", 1280, 720, 121),
    ("LTX-2, 121 frames of 768×512", "ltx-2", 768, 512, 121),
]
LIMITS = [(8, 0), (16, 0), (24, 0), (8, 64)]  # GiB of the card and of the host


def gib(count: int) -> str:
    return f"{count / GIB:.2f} GiB"


def seconds(value: float) -> str:
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def plan_cell(model: str, size: tuple[int, int], frames: int, limit: tuple[int, int], file: Path) -> str:
    try:
        plan = measure.make_plan(model, size, limit[0] * GIB, file, dtype="bf16", frames=frames, device="cuda",
                                 host_limit_bytes=limit[1] * GIB)
    except measure.DoesNotFit:
        return "does not fit"
    return f"{seconds(plan['predicted_seconds'])}, {gib(plan['predicted_peak_bytes'])}"


def smallest(model: str, size: tuple[int, int], frames: int, file: Path) -> int:
    try:
        measure.make_plan(model, size, 1, file, dtype="bf16", frames=frames, device="cuda")
    except measure.DoesNotFit as error:
        return error.smallest_bytes
    raise RuntimeError(f"{model}: a limit of one byte was accepted")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, help="the results, a Markdown file")
    args = parser.parse_args()

    header = measure.result_header()
    rows = [["picture or clip", "untiled, at least", "smallest limit",
             *(f"{card} GiB" + (f", {host} GiB of host memory" if host else "") for card, host in LIMITS)]]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "plan.json"
        for label, model, width, height, frames in SIZES:
            untiled = headroom_vae.predict(model, height=height, width=width, frames=frames, device="cuda", dtype="bf16").untiled_peak_bytes
            size = width, height
            rows.append([label, gib(untiled), gib(smallest(model, size, frames, file)),
                         *(plan_cell(model, size, frames, limit, file) for limit in LIMITS)])
            print(*rows[-1], sep=" | ", flush=True)
    markdown = measure.markdown_header("Plans for a GPU", header) + measure.markdown_table(rows)
    markdown += ("\nbf16, one item, by the assumed costs of an H100 (docs/planning.md). Nothing ran. A cell has the predicted time and peak of the\n"
                 "default plan, which takes at most 1 % longer than the fastest. *Untiled* is the memory of diffusers' decode without cuDNN's, for the classes that docs/planning.md names. For other\n"
                 "classes it is the memory of Headroom's decode without tiles.\n")
    measure.publish(args.output, markdown)
    return 0


if __name__ == "__main__":
    measure.run_main(main)
