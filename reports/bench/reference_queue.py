#!/usr/bin/env python3
"""Decodes of changing sizes by diffusers in this process, one after another through the ordinary allocator.

    python reports/bench/reference_queue.py --model sdxl --random-weights 0 requests.json

Takes a headroom.requests file, decodes it in the order in which it stands, untiled, and prints one line of JSON: for
each decode its seconds, the resident high-water mark while it ran, and what was resident once it was done and its
picture was gone. All are growth since the libraries were loaded and one convolution had run; the weights are part of it.
On a GPU they are bytes of the card: handed out by LibTorch's allocator at the highest, and kept by it afterwards.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch

from convolution_rate import DTYPES
from measure import ResidentWatch, read_latent, status_bytes
from reference_decode import build, give_weights, start_gpu, tidy


@torch.inference_mode()
def measure(args: argparse.Namespace) -> list[dict[str, Any]]:
    requests = json.loads(args.requests.read_text())["requests"]
    vae = build(args.model)
    torch.nn.functional.conv2d(torch.zeros(1, 32, 34, 34), torch.zeros(32, 32, 3, 3))
    tidy()
    start_bytes = ResidentWatch().start_bytes
    give_weights(vae, args.model, args.random_weights)
    vae.to(DTYPES[args.dtype])
    tidy()
    decodes = []
    for request in requests:
        latent = torch.from_numpy(read_latent(args.requests.parent / request["latent"])).to(DTYPES[args.dtype])
        watch = ResidentWatch()
        start = time.perf_counter()
        vae.decode(latent, return_dict=False)[0].float().contiguous().numpy()
        seconds = time.perf_counter() - start
        peak = watch.start_bytes - start_bytes + watch.growth_bytes()
        decodes.append({"name": request["name"], "seconds": seconds, "peak_bytes": peak,
                        "resident_bytes": status_bytes("VmRSS") - start_bytes})
    return decodes


@torch.inference_mode()
def measure_on_gpu(args: argparse.Namespace) -> list[dict[str, Any]]:
    start_gpu()
    vae = build(args.model)
    give_weights(vae, args.model, args.random_weights)
    vae.to("cuda", DTYPES[args.dtype])
    decodes = []
    for request in json.loads(args.requests.read_text())["requests"]:
        latent = torch.from_numpy(read_latent(args.requests.parent / request["latent"])).to("cuda", DTYPES[args.dtype])
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        picture = vae.decode(latent, return_dict=False)[0]
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        del picture, latent
        decodes.append({"name": request["name"], "seconds": seconds, "peak_bytes": torch.cuda.max_memory_allocated(),
                        "resident_bytes": torch.cuda.memory_reserved()})
    return decodes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("requests", type=Path, help="a headroom.requests file; counts are not repeated")
    parser.add_argument("--model", required=True, help="folder in diffusers' layout, or sd15, sdxl, sd3, flux")
    parser.add_argument("--random-weights", type=int, metavar="SEED", help="seeded weights instead of the folder's")
    parser.add_argument("--dtype", choices=DTYPES, default="fp32", help="default: %(default)s")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    print(json.dumps((measure_on_gpu if args.device == "cuda" else measure)(args)))


if __name__ == "__main__":
    main()
