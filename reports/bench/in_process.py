"""A VAE's own decode and Headroom's in one process, in turns.

    PYTHONPATH=build/python python reports/bench/in_process.py --size 512 --limits 300MiB,2GiB

SDXL's decoder with seeded random weights in fp32, as diffusers builds it. Each round decodes the same latent by the VAE's own
`decode` and by an enabled one under each limit, the one that goes first changing from round to round. Prints a Markdown table:
the median time as a ratio to the original's of the same round with the least and the most, the peak above the weights (growth of
the resident size; Headroom's own count, less the bytes of the decoder's weights, which it holds packed), the largest error of the magnitude, and what planning took
in the first and in later calls. With --program also `headroom-decode`'s own seconds for the same plan.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import headroom
import torch
from diffusers import AutoencoderKL

from measure import BUILT_INS, ResidentWatch, mib

def measured(decode) -> tuple[torch.Tensor, float, int]:
    """Sample, seconds, and peak growth of the resident size."""
    watch, begun = ResidentWatch(), time.perf_counter()
    sample = decode()
    return sample, time.perf_counter() - begun, watch.growth_bytes()


def ratio(times: list[float], references: list[float]) -> str:
    ratios = sorted(a / b for a, b in zip(times, references))
    return f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})"


def decode_alone(program: str, plan: headroom.Plan, latent: torch.Tensor) -> float:
    """Seconds of headroom-decode by this plan, with random weights: times do not depend on them."""
    from safetensors.torch import save_file

    with tempfile.TemporaryDirectory() as folder:
        plan_file, latent_file, stats = (pathlib.Path(folder, name) for name in ("plan.json", "z.safetensors", "stats.json"))
        document = json.loads(plan.json())
        document["request"]["model"] = "sdxl"
        plan_file.write_text(json.dumps(document))
        save_file({"latent": latent}, latent_file)
        command = [program, "--plan", plan_file, "--model", "sdxl", "--random-weights", "0", "--latent", latent_file,
                   "-o", pathlib.Path(folder, "out.npy"), "--stats", stats, "--threads", str(torch.get_num_threads())]  # fmt: skip
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
        return json.loads(stats.read_text())["seconds"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--limits", default="300MiB,2GiB")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", help="headroom-decode, to time it by the same plans")
    options = parser.parse_args()
    torch.manual_seed(0)
    vae = AutoencoderKL(**BUILT_INS["sdxl"]).eval()
    z = torch.randn(1, 4, options.size // 8, options.size // 8)
    limits = options.limits.split(",")
    weights_bytes = sum(4 * tensor.numel() for tensor in vae.decoder.parameters())
    original: list[tuple[float, int]] = []
    ours: dict[str, list[tuple[float, int]]] = {limit: [] for limit in limits}
    alone: dict[str, list[float]] = {limit: [] for limit in limits}
    errors, planning = dict.fromkeys(limits, 0.0), {limit: [] for limit in limits}
    decoders = {limit: headroom.module.ModuleDecoder(vae, headroom.describe(vae)) for limit in limits}
    with torch.inference_mode():
        for limit, decoder in decoders.items():  # weights are packed before anything is timed
            decoder.decode(z, limit=limit)
            planning[limit].append(decoder.last.planning_seconds)
        vae.decode(z)
        for number in range(options.rounds):
            turns = [None, *limits]
            reference = None
            for limit in turns if number % 2 == 0 else turns[::-1]:
                if limit is None:
                    sample, seconds, growth = measured(lambda: vae.decode(z).sample)
                    original.append((seconds, growth))
                    reference = sample
                    continue
                decoder = decoders[limit]
                sample, seconds, growth = measured(lambda: decoder.decode(z, limit=limit))
                ours[limit].append((seconds, decoder.last.peak_bytes - weights_bytes))
                planning[limit].append(decoder.last.planning_seconds)
                if options.program:
                    alone[limit].append(decode_alone(options.program, decoder.last.plan, z))
                if reference is not None:
                    errors[limit] = max(errors[limit], float((sample - reference).abs().max() / reference.abs().max()))
    seconds = [s for s, _ in original]
    largest = max(growth for _, growth in original)
    print("| decode | time | above the weights | of the original's | largest error | planning, first | later |" + (" against headroom-decode |" if options.program else ""))
    print("|---|---|---|---|---|---|---|" + ("---|" if options.program else ""))
    print(f"| vae.decode | {statistics.median(seconds):.2f} s | {mib(largest)} | 1 | – | – | – |" + (" – |" if options.program else ""))
    for limit in limits:
        times, above = [s for s, _ in ours[limit]], max(b for _, b in ours[limit])
        row = f"| enabled, {limit} | {ratio(times, seconds)} | {mib(above)} | {above / largest:.2f} | {errors[limit]:.1e} "
        row += f"| {1000 * planning[limit][0]:.0f} ms | {1000 * max(planning[limit][1:]):.0f} ms |"
        print(row + (f" {ratio(times, alone[limit])} |" if options.program else ""))


if __name__ == "__main__":
    main()
