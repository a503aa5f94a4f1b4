#!/usr/bin/env python3
"""Host time, copies and bytes of one decode of a VAE on the card, by `headroom_vae.enable()`. No GPU is needed.

    build/venv/bin/python reports/bench/enable_host_time.py -o reports/results/enable-host-time.md

Decodes run over the air card (tests/air_card), with the module that nvcc built. Kernels, convolutions and copies are counted and do not
run. The time inside the card's own functions is taken off. The first two decodes of the process are left out. `--build` names another
build of the package, for figures of before a change.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import time
from pathlib import Path
from typing import Any

import air_card
import measure

BUILD = measure.ROOT / "build"
MODEL, DTYPE, SIDE = "sdxl", "bf16", 1024
LIMITS = ("auto", "4GiB", "600MiB")
DECODES = 200  # other programs only add to times, so the least counts
COUNTERS = ("copies_to_host", "bytes_to_host", "copies_from_host", "bytes_from_host", "own_nanoseconds", "launches")


def air_report() -> dict[str, Any]:
    describe = ctypes.CDLL("libcudart.so.13").air_card_report
    describe.restype = ctypes.c_char_p
    return json.loads(describe())


def counts() -> dict[str, int]:
    report = air_report()
    emits = sum(number for name, number in report["kernels"].items() if "emit" in name and "plane" not in name)
    return {**{name: report[name] for name in COUNTERS}, "emits": emits, "driver": report["calls"].get("cudaMemGetInfo", 0)}


def sdxl() -> Any:
    import diffusers
    import torch

    model = measure.model_of(MODEL)
    with torch.device("meta"):
        vae = getattr(diffusers, model.class_name).from_config(model.config)
    vae = vae.to_empty(device="cpu").to(torch.bfloat16)
    for tensor in (*vae.parameters(), *vae.buffers()):
        tensor.data.fill_(0.01)
    return vae.to("cuda").eval()


def put_zeros_in_place_of_copies(z: Any) -> None:
    """The air card does not copy here, so a latent and weights that come to the host would not be finite."""
    import torch
    from headroom_vae import module, parameters

    own, zeros = module.values_of, torch.zeros(z.shape, dtype=z.dtype)

    def values_of(*given: Any) -> Any:
        values = own(*given)
        return zeros if values.is_cpu else values

    module.values_of = values_of
    parameters.Parameters.tensors = lambda self: {place.name: torch.zeros(found.shape, dtype=found.dtype) for place, found in zip(self._places, self._found())}


def measured(vae: Any, z: Any, limit: str, profile: bool) -> dict[str, Any]:
    import headroom_vae
    import torch

    handle = headroom_vae.enable(vae, limit=limit, progress=False)
    for _ in range(2):
        sample = vae.decode(z, return_dict=False)[0]
    if profile:
        import cProfile
        import pstats

        watched = cProfile.Profile()
        watched.runcall(lambda: [vae.decode(z, return_dict=False) for _ in range(10)])
        pstats.Stats(watched).sort_stats("tottime").print_stats(25)
    before, seconds, own, decoding = counts(), [], before_own(), []
    for _ in range(DECODES):
        begun = time.perf_counter()
        sample = vae.decode(z, return_dict=False)[0]
        seconds.append(time.perf_counter() - begun)
        own, seconds[-1] = before_own(), seconds[-1] - (before_own() - own)
        decoding.append(handle.last.seconds)
    after = counts()
    torch.cuda.synchronize()
    handle.disable()
    of_one = {name: (after[name] - before[name]) / DECODES for name in after}
    return {"limit": limit, "seconds": min(seconds), "median": sorted(seconds)[DECODES // 2], "decoding": min(decoding), **of_one,
            "emitted_bytes": sample.numel() * 4 if of_one["emits"] else 0}


def before_own() -> float:
    return air_report()["own_nanoseconds"] / 1e9


def row(one: dict[str, Any]) -> list[str]:
    def copied(way: str) -> str:
        return f"{one[f'copies_{way}_host']:.0f}, {one[f'bytes_{way}_host'] / 1e6:.2f} MB"

    return [one["limit"].replace("MiB", " MiB").replace("GiB", " GiB"), f"{one['seconds'] * 1e3:.1f} ms", f"{one['launches']:.0f}", copied("from"),
            copied("to"), f"{one['emitted_bytes'] / 1e6:.2f} MB", f"{one['driver']:.0f}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, help="the table, .md")
    parser.add_argument("--build", type=Path, default=BUILD, help="folder with `python`, the package")
    parser.add_argument("--card", type=Path, default=BUILD / "tests/air_card/lib", help="the air card's libraries")
    parser.add_argument("--profile", action="store_true", help="also print where Python spends its time")
    args = parser.parse_args()
    air_card.restart(args.build.resolve(), args.card.resolve(), AIR_COPIES="none")
    import torch

    torch.set_grad_enabled(False)
    vae = sdxl()
    z = torch.zeros(1, 4, SIDE // 8, SIDE // 8, dtype=torch.bfloat16).to("cuda")
    put_zeros_in_place_of_copies(z)
    rows = [measured(vae, z, limit, args.profile) for limit in LIMITS]
    head = ["limit", "host", "launches", "host to card", "card to host", "written to host memory by kernels", "cudaMemGetInfo"]
    table = measure.markdown_table([head, *map(row, rows)])
    print(table)
    if args.output:
        title = "Host time and copies of `enable()` on a GPU"
        explained = (f"**Nothing of this ran on a GPU.** {MODEL} in {DTYPE} at {SIDE}×{SIDE}, latent and VAE on the card, over the air card: kernels, convolutions\n"
                     "and copies are counted and do not run. *Host* is the calling thread's time of one decode, without the card's own functions. Kernels that\n"
                     "write to pinned host memory are counted apart from copies.\n\n")
        args.output.write_text(measure.markdown_header(title, measure.result_header()) + explained + table)
    return 0


if __name__ == "__main__":
    measure.run_main(main)
