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
import warnings
from pathlib import Path

import air_card
import measure

AIR = measure.ROOT / "build" / "tests" / "air_card"

MODELS: list[tuple[str, tuple[int, ...], dict]] = [
    ("kl", (4, 8, 6), {"force_upcast": False}), ("asymmetric", (4, 8, 6), {}), ("flux2", (4, 5, 4), {}),
    ("autoencoder_tiny", (4, 12, 10), {"num_decoder_blocks": (3, 3, 1)}), ("hunyuan_image", (4, 5, 4), {}), ("dc", (4, 8, 6), {}),
    ("qwen", (4, 1, 6, 5), {}), ("qwen21", (4, 1, 6, 5), {}), ("wan", (16, 2, 4, 4), {}), ("wan22", (4, 2, 4, 4), {}),
    ("hunyuan_video", (4, 2, 5, 4), {}), ("hunyuan_video_15", (4, 2, 5, 4), {}), ("ltx_video", (4, 2, 4, 4), {}), ("ltx2_video", (4, 2, 4, 4), {}),
]  # fmt: skip
"""Names of functions of tests/planner/python/tiny.py, the latent's shape without its batch, and changes to the config."""


def decoded(vae, latent):
    return vae.decode(latent, return_dict=False)[0].cpu().double()


def by_headroom(vae, latent, **options):
    import headroom_vae

    with headroom_vae.enable(vae, **options):
        return decoded(vae, latent)


def ratios(model: tuple, dtype, seed: int) -> tuple[float, float]:
    """Headroom's distance over diffusers', on the CPU and on the CUDA path."""
    import tiny
    import torch

    name, shape, config = model
    vae = getattr(tiny, name)(seed=seed, **config).to(dtype)
    latent = torch.randn((1, *shape), generator=torch.Generator().manual_seed(1000 + seed)).to(dtype)
    theirs = decoded(vae, latent)
    ours = [by_headroom(vae, latent, limit=None), by_headroom(vae.to("cuda"), latent.to("cuda"), limit="900MiB", host_limit=0)]
    exact = decoded(vae.to("cpu").float(), latent.float())
    distance = (theirs - exact).abs().mean()
    return tuple(float((each - exact).abs().mean() / distance) for each in ours)


def summary(values: list[float]) -> str:
    mean = math.exp(sum(map(math.log, values)) / len(values))
    return f"{mean:.2f} ({min(values):.2f}–{max(values):.2f})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", default="", help="models with this in their name")
    parser.add_argument("-o", "--output", type=Path, help="the table as Markdown")
    args = parser.parse_args()
    air_card.restart(measure.ROOT / "build", AIR / "lib", AIR_TOTAL_MIB="2048")

    import torch
    from headroom_vae import device

    warnings.simplefilter("ignore")
    torch.set_grad_enabled(False)
    device.GPU_MODULE = AIR / "modules" / "headroom-cuda-lent.so"  # its kernels are emulated
    rows = [["model", "CPU, bf16", "CUDA, bf16", "CPU, fp16", "CUDA, fp16"]]
    for model in MODELS:
        if args.only not in model[0]:
            continue
        row = [model[0]]
        for dtype in (torch.bfloat16, torch.float16):
            on_cpu, on_gpu = zip(*(ratios(model, dtype, seed) for seed in range(args.seeds)))
            row += [summary(on_cpu), summary(on_gpu)]
        rows.append(row)
        print(" | ".join(row), flush=True)
    text = (
        "Mean distance to diffusers' fp32 decode, divided by that of diffusers in the dtype. Weights and latents are small, random and\n"
        f"rounded to the dtype beforehand. Each cell is the geometric mean over {args.seeds} seeds, with the smallest and the largest ratio.\n"
        "Below 1, Headroom is nearer to fp32. CUDA is Headroom's CUDA path over the air card, with emulated kernels; no card ran.\n"
        "The model flux2 in fp16: Headroom upcasts it to fp32, by the default of `force_upcast`. On CUDA its convolutions then use TF32, by\n"
        "PyTorch's default. Models have the names of tests/planner/python/tiny.py.\n\n"
    )
    header = measure.markdown_header("Precision of 16-bit decodes", measure.result_header())
    measure.publish(args.output, header + text + measure.markdown_table(rows))
    return 0


if __name__ == "__main__":
    measure.run_main(main)
