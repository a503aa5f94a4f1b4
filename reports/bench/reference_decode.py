#!/usr/bin/env python3
"""One decode by diffusers, or by Open-Sora-Plan's own code, in this process, measured; prints one line of JSON.

    python reports/bench/reference_decode.py --model sdxl --random-weights 0 --latent latent.npy -o out.npy
    python reports/bench/reference_decode.py --model tests/data/demo_model --latent latent.safetensors \\
        --mode tiled --tile 32 -o out.npy
    python reports/bench/reference_decode.py --model open-sora-plan --source Open-Sora-Plan --random-weights 0 \\
        --latent latent.safetensors -o out.npy
    python reports/bench/reference_decode.py --model sdxl --random-weights 0 --latent latent.npy --device cuda \\
        --dtype fp16 --repeats 3 -o out.npy

`seconds` is the decode alone. `peak_bytes` is the growth of resident memory after the libraries are loaded and one
convolution has run. It includes the decoder's weights and all memory of the decode. The encoder is never allocated.
`peak_above_weights_bytes` is the growth after the weights are loaded.

With --count-allocator PyTorch's profiler watches the decode. `allocated_peak_bytes` is the peak of LibTorch's CPU allocator
above the weights, and `allocated_in` the operator that ran then. The resident figures of that decode are too large, since
they include the profiler's own memory.

On a GPU `peak_bytes` is the peak of LibTorch's allocator, weights included, and `reserved_bytes` its reserved memory. TF32 is
off. The clock starts with all data on the card and after one convolution. It stops when the picture is complete on the card.
`first_seconds` is the first decode and `again_seconds` has those of --repeats. `seconds` is the median of the latter, or
`first_seconds` without repeats. Modes that compile do so in an earlier, separate decode, timed by `compile_seconds`.
"""

import argparse
import ctypes
import gc
import inspect
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

for unneeded in ("accelerate", "peft", "transformers"):  # no decoder needs these packages, which take seconds to load
    sys.modules.setdefault(unneeded, None)
from convolution_rate import DTYPES  # noqa: E402
from measure import ROOT, ResidentWatch, model_of, read_latent  # noqa: E402
from reference_model import build, give_weights  # noqa: E402


# Modes that use channels-last, and the torch.compile mode of each. None: not compiled; `benchmark` uses cuDNN's autotuner.
CHANNELS_LAST = {"channels-last": None, "benchmark": None, "compile": "default", "compile-tuned": "max-autotune-no-cudagraphs"}


def tidy() -> None:
    """Returns freed memory of the loading phase to the system, so that it does not count against the decode."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


# Tiles overlap by a quarter, the default of diffusers.
def tile_like_kl(vae: torch.nn.Module, args: argparse.Namespace) -> None:
    vae.enable_tiling()
    vae.tile_latent_min_size, vae.tile_sample_min_size = args.tile, args.tile * model_of(args.model).spatial_factor
    vae.tile_overlap_factor = 0.25


def tile_by_sides(vae: torch.nn.Module, args: argparse.Namespace) -> None:
    side = args.tile * model_of(args.model).spatial_factor
    vae.enable_tiling(side, side, side * 3 // 4, side * 3 // 4)


def tile_like_open_sora_plan(vae: torch.nn.Module, args: argparse.Namespace) -> None:
    """Keeps the class's own overlap of an eighth and its frames per chunk. The tile size must be a multiple of 8, or the
    tiles would not join."""
    if args.tile % 8:
        raise SystemExit(f"--tile: expected a multiple of 8, found {args.tile}")
    vae.enable_tiling()
    vae.tile_latent_min_size, vae.tile_sample_min_size = args.tile, args.tile * model_of(args.model).spatial_factor


def tile(vae: torch.nn.Module, args: argparse.Namespace) -> None:
    if not model_of(args.model).in_diffusers:
        tile_like_open_sora_plan(vae, args)
    elif inspect.signature(vae.enable_tiling).parameters:
        tile_by_sides(vae, args)
    else:
        tile_like_kl(vae, args)


def enable(vae: torch.nn.Module, args: argparse.Namespace) -> None:
    sys.path.insert(0, str(ROOT / "build" / "python"))
    import headroom_vae

    headroom_vae.enable(vae, limit=args.limit, executor=args.executor)


def decoders_input(args: argparse.Namespace) -> torch.Tensor:
    latent = torch.from_numpy(read_latent(args.latent))
    return latent.unsqueeze(2) if model_of(args.model).video and latent.ndim == 4 else latent


def prepare(vae: torch.nn.Module, latent: torch.Tensor, args: argparse.Namespace) -> torch.Tensor:
    """Sets weights, mode and dtype of the VAE. Returns the latent in the matching dtype and layout."""
    give_weights(vae, args.model, args.random_weights)
    if args.mode in CHANNELS_LAST:
        vae.to(memory_format=torch.channels_last)
        latent = latent.contiguous(memory_format=torch.channels_last)
    elif args.mode == "tiled":
        tile(vae, args)
    elif args.mode == "enabled":
        enable(vae, args)
    if args.mode != "tiled" and hasattr(vae, "use_framewise_decoding"):
        vae.use_framewise_decoding = False  # some classes cut clips along time by default, and blend
    return latent if args.dtype == "fp32" else latent.to(vae.to(DTYPES[args.dtype]).dtype)


def decode(vae: torch.nn.Module, latent: torch.Tensor, model: str) -> torch.Tensor:
    if "num_frames" in inspect.signature(vae.decode).parameters:  # takes the frames of a clip as a batch
        frames = latent.shape[2]
        return vae.decode(latent.transpose(1, 2).flatten(0, 1), num_frames=frames).sample.unflatten(0, (-1, frames)).transpose(1, 2)
    return vae.decode(latent, return_dict=False)[0] if model_of(model).in_diffusers else vae.decode(latent)


def weights_bytes(vae: torch.nn.Module) -> int:
    return sum(parameter.numel() * parameter.element_size() for parameter in vae.parameters())


def to_array(out: torch.Tensor) -> np.ndarray:
    if out.ndim == 5 and out.shape[2] == 1:
        out = out.squeeze(2)  # drops the frame axis of a picture, as Headroom does
    return out.cpu().float().contiguous().numpy()


def watched(profile: torch.profiler.profile) -> dict[str, Any]:
    """The allocator's peak since the profile began, and the outermost operator that ran then."""
    events = profile.profiler.kineto_results.events()
    live = peak = at = 0
    for event in sorted((each for each in events if each.name() == "[memory]"), key=lambda each: each.start_ns()):
        live += event.nbytes()
        if live > peak:
            peak, at = live, event.start_ns()
    running = [each for each in events if each.name() != "[memory]" and each.start_ns() <= at <= each.start_ns() + each.duration_ns()]
    outermost = min(running, key=lambda each: each.start_ns(), default=None)
    return {"allocated_peak_bytes": peak, "allocated_in": outermost.name() if outermost else None}


@torch.inference_mode()
def measure(args: argparse.Namespace) -> tuple[np.ndarray, dict[str, Any]]:
    latent = decoders_input(args)
    vae = build(args.model, args.source)
    torch.nn.functional.conv2d(torch.zeros(1, 32, 34, 34), torch.zeros(32, 32, 3, 3))
    tidy()
    whole = ResidentWatch()
    latent = prepare(vae, latent, args)
    tidy()
    loading_bytes = whole.growth_bytes()
    watch = ResidentWatch()
    start = time.perf_counter()
    figures = {}
    if args.count_allocator:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            out = decode(vae, latent, args.model)
        figures = watched(profile)
    else:
        out = decode(vae, latent, args.model)
    seconds = time.perf_counter() - start
    above = watch.growth_bytes()
    peak = max(loading_bytes, watch.start_bytes - whole.start_bytes + above)
    return to_array(out), {
        "seconds": seconds, "peak_bytes": peak, "rss_growth_bytes": peak, "peak_above_weights_bytes": above,
        "weights_bytes": weights_bytes(vae), "threads": torch.get_num_threads(), **figures}


def start_gpu() -> None:
    """Turns TF32 off and loads the libraries."""
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.nn.functional.conv2d(torch.zeros(1, 32, 34, 34, device="cuda"), torch.zeros(32, 32, 3, 3, device="cuda"))
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


def compile_decoder(vae: torch.nn.Module, latent: torch.Tensor, args: argparse.Namespace) -> dict[str, float]:
    """Compiles the decoder if the mode asks for it, by an untimed decode. Returns the seconds that this took."""
    torch.backends.cudnn.benchmark = args.mode == "benchmark"
    mode = CHANNELS_LAST.get(args.mode)
    if mode is None:
        return {}
    start = time.perf_counter()
    vae.decoder = torch.compile(vae.decoder, mode=mode)
    decode(vae, latent, args.model)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return {"compile_seconds": time.perf_counter() - start}


@torch.inference_mode()
def measure_on_gpu(args: argparse.Namespace) -> tuple[np.ndarray, dict[str, Any]]:
    start_gpu()
    vae = build(args.model, args.source)
    latent = prepare(vae, decoders_input(args), args).cuda()
    vae.cuda()
    compiled = compile_decoder(vae, latent, args)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    seconds, out = [], None
    for _ in range(1 + args.repeats):
        del out  # so that the peak never includes two pictures
        torch.cuda.synchronize()
        start = time.perf_counter()
        out = decode(vae, latent, args.model)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return to_array(out), {
        "seconds": statistics.median(seconds[1:] or seconds), "first_seconds": seconds[0], "again_seconds": seconds[1:],
        **compiled, "peak_bytes": torch.cuda.max_memory_allocated(), "reserved_bytes": torch.cuda.max_memory_reserved(),
        "weights_bytes": weights_bytes(vae), "device": torch.cuda.get_device_name(),
        "libraries": f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="folder in diffusers' layout, or a built-in name")
    parser.add_argument("--random-weights", type=int, metavar="SEED", help="seeded weights instead of the folder's")
    parser.add_argument("--latent", type=Path, required=True, help=".npy or .safetensors; of a clip N×C×T×H×W")
    parser.add_argument("--mode", choices=("untiled", "tiled", "enabled", *CHANNELS_LAST), default="untiled",
                        help="enabled: by headroom_vae; the ones after it are channels-last, for pictures alone; to compile asks for a GPU, "
                             "default: %(default)s")
    parser.add_argument("--limit", help="enabled: of the decode, such as 256MiB")
    parser.add_argument("--executor", default="auto", help="enabled: native or torch, default: %(default)s")
    parser.add_argument("--tile", type=int, default=32, help="tiled: latent positions a side, default: %(default)s")
    parser.add_argument("--dtype", choices=DTYPES, default="fp32", help="default: %(default)s")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="default: %(default)s")
    parser.add_argument("--repeats", type=int, default=0, help="on a GPU: decode this many times more, default: %(default)s")
    parser.add_argument("--count-allocator", action="store_true", help="on the CPU: watch LibTorch's allocator")
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--source", type=Path, help="Open-Sora-Plan: a clone of its repository")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the decoded picture or clip, .npy")
    args = parser.parse_args()
    if args.mode in CHANNELS_LAST and model_of(args.model).video:
        parser.error(f"--mode {args.mode}: expected a model of pictures")
    torch.set_num_threads(args.threads)
    picture, figures = (measure_on_gpu if args.device == "cuda" else measure)(args)
    np.save(args.output, picture)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
