#!/usr/bin/env python3
"""Decodes of changing sizes by diffusers in this process, one after another through the ordinary allocator.

    python reports/bench/reference_queue.py --model sdxl --random-weights 0 requests.json

Takes a headroom.requests file, decodes it in the order in which it stands, untiled, and prints one line of JSON: for
each decode its seconds, the resident high-water mark while it ran, and what was resident once it was done and its
picture was gone. All are growth since the libraries were loaded and one convolution had run; the weights are part of it.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch

from measure import ResidentWatch, read_latent, status_bytes
from reference_decode import build, fill_module, load_weights, tidy


@torch.inference_mode()
def measure(args: argparse.Namespace) -> list[dict[str, Any]]:
    requests = json.loads(args.requests.read_text())["requests"]
    vae = build(args.model)
    torch.nn.functional.conv2d(torch.zeros(1, 32, 34, 34), torch.zeros(32, 32, 3, 3))
    tidy()
    start_bytes = ResidentWatch().start_bytes
    if args.random_weights is not None:
        fill_module(vae, args.random_weights)
    else:
        load_weights(vae, Path(args.model))
    tidy()
    decodes = []
    for request in requests:
        latent = torch.from_numpy(read_latent(args.requests.parent / request["latent"]))
        watch = ResidentWatch()
        start = time.perf_counter()
        vae.decode(latent, return_dict=False)[0].contiguous().numpy()
        seconds = time.perf_counter() - start
        peak = watch.start_bytes - start_bytes + watch.growth_bytes()
        decodes.append({"name": request["name"], "seconds": seconds, "peak_bytes": peak,
                        "resident_bytes": status_bytes("VmRSS") - start_bytes})
    return decodes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("requests", type=Path, help="a headroom.requests file; counts are not repeated")
    parser.add_argument("--model", required=True, help="folder in diffusers' layout, or sd15, sdxl, sd3, flux")
    parser.add_argument("--random-weights", type=int, metavar="SEED", help="seeded weights instead of the folder's")
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    print(json.dumps(measure(args)))


if __name__ == "__main__":
    main()
