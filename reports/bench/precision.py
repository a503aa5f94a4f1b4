#!/usr/bin/env python3
"""How far 16-bit decodes are from fp32, compared with diffusers in that dtype.

    PYTHONPATH=build/python:tests/planner/python build/venv/bin/python reports/bench/precision.py \\
        --emulated-gpu build/tests/emulated-gpu-lent.so -o reports/results/precision.md

Every class gets small random weights and latents, of several seeds. Weights and latents are rounded to the dtype once, so all
decodes of a seed compute the same function. diffusers' decode in fp32 is the reference. A ratio is Headroom's mean distance to it
divided by the mean distance of diffusers' decode in the dtype, which runs on the CPU. Headroom decodes on the CPU, and on its
CUDA path over the tests' emulated GPU.
"""

from __future__ import annotations

import argparse
import math
import os
import shlex
import sys
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

import headroom
import tiny
import torch

MODELS: dict[str, tuple[Callable, tuple[int, ...], dict]] = {
    "AutoencoderKL": (tiny.kl, (4, 8, 6), {"force_upcast": False}),
    "AsymmetricAutoencoderKL": (tiny.asymmetric, (4, 8, 6), {}),
    "AutoencoderKLFlux2": (tiny.flux2, (4, 5, 4), {}),
    "AutoencoderTiny": (tiny.autoencoder_tiny, (4, 12, 10), {"num_decoder_blocks": (3, 3, 1)}),
    "AutoencoderKLHunyuanImage": (tiny.hunyuan_image, (4, 5, 4), {}),
    "AutoencoderDC": (tiny.dc, (4, 8, 6), {}),
    "AutoencoderKLQwenImage": (tiny.qwen, (4, 1, 6, 5), {}),
    "AutoencoderKLQwenImage21": (tiny.qwen21, (4, 1, 6, 5), {}),
    "AutoencoderKLWan": (tiny.wan, (16, 2, 4, 4), {}),
    "AutoencoderKLWan 2.2": (tiny.wan22, (4, 2, 4, 4), {}),
    "AutoencoderKLHunyuanVideo": (tiny.hunyuan_video, (4, 2, 5, 4), {}),
    "AutoencoderKLHunyuanVideo15": (tiny.hunyuan_video_15, (4, 2, 5, 4), {}),
    "AutoencoderKLLTXVideo": (tiny.ltx_video, (4, 2, 4, 4), {}),
    "AutoencoderKLLTX2Video": (tiny.ltx2_video, (4, 2, 4, 4), {}),
}
"""By class: what makes a model, a latent without its batch, and changes to the config. CausalVAEModel is not in diffusers."""
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


@contextmanager
def emulated_gpu(module: Path):
    """The package takes the emulated GPU for CUDA, and the CPU's tensors for torch's memory there."""
    from headroom import device

    class LentByCpu(device.TorchMemory):
        def __init__(self, asked: str):
            super().__init__("cpu")

    with ExitStack() as patches:
        patches.enter_context(mock.patch.object(device, "GPU_MODULE", module))
        patches.enter_context(mock.patch.object(device, "TorchMemory", LentByCpu))
        patches.enter_context(mock.patch.object(headroom.module.Parameters, "device", lambda _: "cuda:0"))
        yield


def decoded(vae, latent: torch.Tensor) -> torch.Tensor:
    return vae.decode(latent, return_dict=False)[0].double()


def by_headroom(vae, latent: torch.Tensor, **options) -> torch.Tensor:
    handle = headroom.enable(vae, limit=None, **options)
    try:
        return decoded(vae, latent)
    finally:
        handle.disable()


def ratios(name: str, dtype: torch.dtype, seed: int, module: Path) -> tuple[float, float]:
    """Headroom's distance over diffusers', on the CPU and on the CUDA path."""
    make, shape, config = MODELS[name]
    vae = make(seed=seed, **config).to(dtype)
    latent = torch.randn((1, *shape), generator=torch.Generator().manual_seed(1000 + seed)).to(dtype)
    theirs = decoded(vae, latent)
    on_cpu = by_headroom(vae, latent)
    with emulated_gpu(module):
        on_cuda = by_headroom(vae, latent, host_limit=0)
    exact = decoded(vae.float(), latent.float())
    distance = (theirs - exact).abs().mean()
    return tuple(float((ours - exact).abs().mean() / distance) for ours in (on_cpu, on_cuda))


def summary(values: list[float]) -> str:
    mean = math.exp(sum(map(math.log, values)) / len(values))
    return f"{mean:.2f} ({min(values):.2f}–{max(values):.2f})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emulated-gpu", type=Path, required=True, help="the tests' module emulated-gpu-lent.so")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", default="", help="classes with this in their name")
    parser.add_argument("-o", "--output", type=Path, help="the table as Markdown")
    args = parser.parse_args()
    lines = [
        "# Precision of 16-bit decodes",
        "",
        f"    PYTHONPATH=build/python:tests/planner/python build/venv/bin/python {shlex.join(sys.argv)}",
        "",
        "Mean distance to diffusers' fp32 decode, divided by that of diffusers in the dtype. Weights and latents are small, random and",
        f"rounded to the dtype beforehand. Each cell is the geometric mean over {args.seeds} seeds, with the smallest and the largest ratio.",
        "Below 1, Headroom is nearer to fp32. CUDA is Headroom's CUDA path over the tests' emulated GPU; no card ran.",
        "AutoencoderKLFlux2 in fp16: Headroom upcasts it to fp32, by the default of `force_upcast`. CausalVAEModel is not in diffusers.",
        "",
        "| class | CPU, bf16 | CUDA, bf16 | CPU, fp16 | CUDA, fp16 |",
        "|---|---|---|---|---|",
    ]
    torch.set_grad_enabled(False)
    for name in MODELS:
        if args.only not in name:
            continue
        cells = []
        for dtype in DTYPES.values():
            found = [ratios(name, dtype, seed, args.emulated_gpu) for seed in range(args.seeds)]
            cells += [summary([each[device] for each in found]) for device in (0, 1)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    if args.output:
        args.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
