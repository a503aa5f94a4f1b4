#!/usr/bin/env python3
"""Frames per second, state and peak of streams against the size of a block, with random weights, on the CPU.

    PYTHONPATH=build/python build/venv/bin/python reports/bench/streams.py --size 480x272 -o reports/results/streams.md

Decodes a few blocks of each size and measures the last ones, which begin with the state of earlier blocks.
"""

import argparse
import time

import diffusers
import headroom_vae
import torch
from headroom_vae import _core

MEASURED_FRAMES = 24


def row(vae, height, width, block):
    channels = vae.config.z_dim
    with headroom_vae.stream(vae, height, width, block=block) as stream:
        latents = torch.randn(1, channels, block, height // 8, width // 8)
        stream.push(latents)
        frames, started = 0, time.perf_counter()
        while frames < MEASURED_FRAMES:
            frames += stream.push(latents).shape[2]
        seconds = time.perf_counter() - started
        size = _core.format_bytes
        return f"| {block} | {frames / seconds:.2f} | {size(stream.state_bytes)} | {size(stream.peak_bytes)} | {size(stream.measured_peak_bytes)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", default="480x272", help="width x height in pixels")
    parser.add_argument("--blocks", type=int, nargs="+", default=[1, 2, 3, 5], help="latent frames of a block")
    parser.add_argument("-o", "--output", required=True, help="the page to write")
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    vae = getattr(diffusers, headroom_vae.describe("wan2.1").class_name)().eval()
    lines = [
        "# Streams",
        "",
        f"Wan 2.1's decoder at {width}×{height} in fp32 with random weights, on {_core.processor_name()}, {torch.get_num_threads()} threads, without a limit.",
        f"`reports/bench/streams.py --size {options.size}` measures the blocks after the first. The measured peak leaves out the returned frames.",
        "",
        "| latent frames of a block | frames per second | state | peak | measured peak |",
        "|---|---|---|---|---|",
    ]
    for block in options.blocks:
        lines.append(row(vae, height, width, block))
        print(lines[-1], flush=True)
    with open(options.output, "w", encoding="utf-8") as page:
        page.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
