#!/usr/bin/env python3
"""One rank of a decode by DistVAE under Gloo; ranks.py starts as many as it wants by torchrun.

    torchrun --nproc-per-node 2 reports/bench/distvae_rank.py --model sdxl --random-weights 0 --latent latent.npy --folder out/

Each rank writes out/rank-K.json; rank 0 also the picture, out/picture.npy. What a rank reports:

    seconds                   of the decode alone, begun together
    peak_above_weights_bytes  growth of resident memory from where the weights were in place and the ranks had met
    sent_bytes, calls         by the rules of counted_exchange.py
    failed                    instead of these, the error that ended it

With --averaged-variances each GroupNorm averages the ranks' own variances, as DistVAE did until 2024 (commit a7e7ee7): what
that leaves out is the spread between the ranks' means. It shows what the omission costs; DistVAE 0.1.0 does not make it.
"""

import argparse
import json
import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from reference_decode import build, decode, decoders_input, give_weights, tidy, to_array, weights_bytes
from convolution_rate import DTYPES
from counted_exchange import CountedExchange
from measure import ResidentWatch

from distvae.models.layers.normalization import PatchGroupNorm
from distvae.vae import parallelize_decoder


def averaged_variances(norm: PatchGroupNorm, x: torch.Tensor) -> torch.Tensor:
    """GroupNorm by the true mean, and by the mean of the ranks' own variances weighed by their sizes."""
    grouped = x.reshape(x.shape[0], norm.num_groups, -1)
    sums = torch.stack([grouped.sum(-1), grouped.var(-1) * grouped.shape[-1], torch.full(grouped.shape[:2], float(grouped.shape[-1]))])
    dist.all_reduce(sums)
    mean, variance = (sums[:2] / sums[2]).unsqueeze(-1)
    normal = ((grouped - mean) / torch.sqrt(variance + norm.eps)).view(x.shape)
    parameters = (1, -1, *[1] * (x.ndim - 2))
    return normal * norm.weight.view(parameters) + norm.bias.view(parameters)


@torch.inference_mode()
def decoded(args: argparse.Namespace) -> dict[str, Any]:
    latent = decoders_input(args)
    vae = build(args.model)
    torch.nn.functional.conv2d(torch.zeros(1, 32, 34, 34), torch.zeros(32, 32, 3, 3))
    give_weights(vae, args.model, args.random_weights)
    if args.dtype != "fp32":
        latent = latent.to(vae.to(DTYPES[args.dtype]).dtype)
    adapter = parallelize_decoder(vae, None)
    if args.averaged_variances:
        PatchGroupNorm.forward = averaged_variances
    tidy()
    dist.barrier()
    watch, counted = ResidentWatch(), CountedExchange()
    with counted:
        start = time.perf_counter()
        out = decode(vae, latent, args.model)
        seconds = time.perf_counter() - start
    above = watch.growth_bytes()
    if dist.get_rank() == 0:
        np.save(args.folder / "picture.npy", to_array(out))
    return {"adapter": adapter, "seconds": seconds, "peak_above_weights_bytes": above, "weights_bytes": weights_bytes(vae),
            "sent_bytes": counted.sent_bytes, "calls": counted.calls,
            "sent_bytes_by_call": {name: math.ceil(count) for name, count in counted.bytes_of.items()},
            "rows_of_output": out.shape[-2], "threads": torch.get_num_threads()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="folder in diffusers' layout, or a built-in name")
    parser.add_argument("--random-weights", type=int, metavar="SEED", help="seeded weights instead of the folder's")
    parser.add_argument("--latent", type=Path, required=True, help=".npy or .safetensors; of a clip N×C×T×H×W")
    parser.add_argument("--dtype", choices=DTYPES, default="fp32", help="default: %(default)s")
    parser.add_argument("--averaged-variances", action="store_true", help="statistics without the spread between ranks")
    parser.add_argument("--folder", type=Path, required=True, help="for the picture and the ranks' figures")
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    figures: dict[str, Any]
    try:
        figures = decoded(args)
    except Exception as error:  # whatever theirs says is the result
        figures = {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}
    (args.folder / f"rank-{dist.get_rank()}.json").write_text(json.dumps(figures))
    if "failed" in figures:
        os._exit(1)  # the others may wait for this rank
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
