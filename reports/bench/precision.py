#!/usr/bin/env python3
"""Compares the error of 16-bit decodes with that of diffusers in the same dtype. No GPU is needed.

    build/venv/bin/python reports/bench/precision.py -o reports/results/precision.md

Every class gets small random weights and latents, of several seeds. They are rounded to the dtype once, so all decodes of a seed
compute the same function. The reference is diffusers' decode in fp32. A ratio is Headroom's mean distance to the reference, divided
by that of diffusers' decode in the dtype on the CPU. Headroom decodes on the CPU, and on its CUDA path over the air card
(tests/air_card), whose kernels are emulated.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from pathlib import Path

import air_card
import measure

AIR = measure.ROOT / "build" / "tests" / "air_card"

MODELS: list[tuple[str, tuple[int, ...], dict]] = [
    ("kl", (4, 8, 6), {"force_upcast": False}), ("asymmetric", (4, 8, 6), {}), ("flux2", (4, 5, 4), {}),
    ("autoencoder_tiny", (4, 12, 10), {"num_decoder_blocks": (3, 3, 1)}), ("hunyuan_image", (4, 5, 4), {}), ("dc", (4, 8, 6), {}),
    ("qwen", (4, 1, 6, 5), {}), ("qwen21", (4, 1, 6, 5), {}), ("wan", (16, 2, 4, 4), {}), ("wan22", (4, 2, 4, 4), {}),
    ("temporal_decoder", (4, 3, 6, 5), {}), ("hunyuan_image3", (4, 5, 4), {}),
    ("hunyuan_video", (4, 2, 5, 4), {}), ("hunyuan_video_15", (4, 2, 5, 4), {}), ("ltx_video", (4, 2, 4, 4), {}), ("ltx2_video", (4, 2, 4, 4), {}),
]  # fmt: skip
"""Names of functions of tests/planner/python/tiny.py, the latent's shape without its batch, and changes to the config. hunyuan_image3 is the
plain module of tests/reference instead."""


def hunyuan_image3(seed: int, **changes):
    """With a config, as diffusers' classes have it, so that enable() knows it. A proof compares its code with Headroom's."""
    import torch
    from hunyuan_image3 import HunyuanImage3
    from make_golden_hunyuan_image3 import config_of

    config = config_of(changes)
    torch.manual_seed(seed)
    vae = type(config["_class_name"], (HunyuanImage3,), {})(config).eval()
    vae.config = config
    return vae


def decoded(vae, latent):
    import tiny

    made = tiny.decoded(vae, latent)
    return getattr(made, "sample", made).cpu().double()


def by_headroom(vae, latent, **options):
    import headroom_vae

    with headroom_vae.enable(vae, **options):
        return decoded(vae, latent)


def ratios(model: tuple, dtype, seed: int, on_gpu: bool) -> tuple[float, ...]:
    """Headroom's distance over diffusers', on the CPU and on the CUDA path."""
    import tiny
    import torch

    name, shape, config = model
    vae = (getattr(tiny, name, None) or globals()[name])(seed=seed, **config).to(dtype)
    latent = torch.randn((1, *shape), generator=torch.Generator().manual_seed(1000 + seed)).to(dtype)
    theirs = decoded(vae, latent)
    ours = [by_headroom(vae, latent, limit=None)]
    if on_gpu:
        ours.append(by_headroom(vae.to("cuda"), latent.to("cuda"), limit="900MiB", host_limit=0))
    exact = decoded(vae.to("cpu").float(), latent.float())
    distance = (theirs - exact).abs().mean()
    return tuple(float((each - exact).abs().mean() / distance) for each in ours)


def summary(values: list[float]) -> str:
    mean = math.exp(sum(map(math.log, values)) / len(values))
    return f"{mean:.2f} ({min(values):.2f}–{max(values):.2f})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", type=lambda text: text.split(","), default=[""], help="models with one of these texts in their name, commas between")
    parser.add_argument("--cpu", action="store_true", help="the CPU alone, without the air card")
    parser.add_argument("-o", "--output", type=Path, help="the table as Markdown")
    args = parser.parse_args()
    if not args.cpu:
        air_card.restart(measure.ROOT / "build", AIR / "lib", AIR_TOTAL_MIB="2048")
    sys.path += [str(measure.ROOT / folder) for folder in ("build/python", "tests/planner/python", "tests/reference")]

    import torch
    from headroom_vae import device

    warnings.simplefilter("ignore")
    torch.set_grad_enabled(False)
    device.GPU_MODULE = AIR / "modules" / "headroom-cuda-lent.so"  # its kernels are emulated
    devices = ["CPU"] if args.cpu else ["CPU", "CUDA"]
    rows = [["model", *(f"{name}, {dtype}" for dtype in ("bf16", "fp16") for name in devices)]]
    for model in MODELS:
        if not any(text in model[0] for text in args.only):
            continue
        row = [model[0]]
        for dtype in (torch.bfloat16, torch.float16):
            row += map(summary, zip(*(ratios(model, dtype, seed, not args.cpu) for seed in range(args.seeds))))
        rows.append(row)
        print(" | ".join(row), flush=True)
    text = (
        "Mean distance to diffusers' fp32 decode, divided by that of diffusers in the dtype. Weights and latents are small, random and\n"
        f"rounded to the dtype beforehand. Each cell is the geometric mean over {args.seeds} seeds, with the smallest and the largest ratio.\n"
        "Below 1, Headroom is nearer to fp32. Models have the names of tests/planner/python/tiny.py; a plain PyTorch module stands for\n"
        "HunyuanImage 3's own code.\n"
    )
    if not args.cpu:
        text += (
            "CUDA is Headroom's CUDA path over the air card, with emulated kernels; no card ran. The model flux2 in fp16: Headroom upcasts it to\n"
            "fp32, by the default of `force_upcast`. On CUDA its convolutions then use TF32, by PyTorch's default.\n"
        )
    text += "\n"
    header = measure.markdown_header("Precision of 16-bit decodes", measure.result_header())
    measure.publish(args.output, header + text + measure.markdown_table(rows))
    return 0


if __name__ == "__main__":
    measure.run_main(main)
