#!/usr/bin/env python3
"""Headroom's encode against diffusers', on the same seeded weights and picture, side by side.

    python reports/bench/bench_encode.py --model sdxl --size 1024x1024 --limits 1GiB,2GiB --rounds 3 -o reports/results/encode-sdxl-1024-cpu.md
    python reports/bench/bench_encode.py --model wan2.1 --size 480x272 --frames 81 --limits 1GiB -o reports/results/encode-wan-81-cpu.md

Every run is a fresh process. In a round all run one after another, and times are compared within the round. Seconds are those of the
encode with its weights loaded. Memory is the growth of the process, weights included; diffusers' VAE has no decoder. diffusers encodes
untiled. Errors are relative to the largest magnitude of its moments' mean.

Exits with 1 if the error passes 1e-5, or if Headroom's peak passes its limit.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

import measure
from measure import mib

EXACT = 1e-5
SEED = 0


def encode_by_diffusers(model: str, picture: Path, output: Path, threads: int) -> None:
    """Runs in a child process. Prints one line of JSON."""
    import torch
    from reference_decode import tidy
    from reference_model import fill_module, model_family

    torch.set_num_threads(threads)
    with torch.device("meta"):
        vae = model_family(model, None).from_config(measure.model_config(model))
    vae.decoder, vae.post_quant_conv = torch.nn.Module(), None
    vae = vae.to_empty(device="cpu").eval()
    pixels = torch.from_numpy(np.load(picture))
    torch.nn.functional.conv2d(torch.zeros(1, 32, 34, 34), torch.zeros(32, 32, 3, 3))
    for name in ("use_framewise_encoding", "use_framewise_decoding", "use_tiling"):
        if hasattr(vae, name):
            setattr(vae, name, False)
    tidy()
    watch = measure.ResidentWatch()
    fill_module(vae, SEED, ("encoder.", "quant_conv."))
    tidy()
    with torch.inference_mode():
        start = time.perf_counter()
        output_of = vae.encode(pixels)
        seconds = time.perf_counter() - start
    mean = output_of.latent_dist.mean if hasattr(output_of, "latent_dist") else output_of[0]
    peak = watch.growth_bytes()
    np.save(output, (mean.squeeze(2) if mean.ndim == 5 and mean.shape[2] == 1 else mean).contiguous().numpy())
    print(json.dumps({"seconds": seconds, "peak_bytes": peak}))


def run_diffusers(args: argparse.Namespace, picture: Path, output: Path) -> measure.Run:
    command = [sys.executable, __file__, "--child", str(picture), "--model", args.model, "--threads", str(args.threads), "-o", str(output)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def run_headroom(args: argparse.Namespace, limit: str, picture: Path, output: Path) -> measure.Run:
    stats = output.with_suffix(".stats.json")
    command = [str(measure.BIN / "headroom-decode"), "encode", "--model", args.model, "--random-weights", str(SEED), "--limit", limit, "--picture",
               str(picture), "--latent-scale", "none", "--threads", str(args.threads), "--stats", str(stats), "-o", str(output), "--quiet"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(stats.read_text())
    return {"seconds": sum(each["seconds"] for each in found["passes"]), "peak_bytes": found["peak_bytes"], "predicted_bytes": found["predicted_peak_bytes"],
            "limit_bytes": found["limit_bytes"]}


def write_picture(args: argparse.Namespace, file: Path) -> None:
    width, height = args.size
    channels = 4 if args.model == "qwen-image-2.1" else 3
    video = measure.model_of(args.model).video
    shape = (1, channels, *([args.frames] if video else []), height, width)
    np.save(file, np.random.default_rng(SEED).uniform(-1, 1, shape).astype(np.float32))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a built-in name")
    parser.add_argument("--size", type=measure.parse_size, help="WIDTHxHEIGHT in pixels")
    parser.add_argument("--frames", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--limits", help="limits with commas between them")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the table, .md")
    args = parser.parse_args()
    if args.child:
        encode_by_diffusers(args.model, args.child, args.output, args.threads)
        return
    limits, rounds, error, passed = args.limits.split(","), [], {}, True
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "picture.npy"
        write_picture(args, picture)
        for number in range(args.rounds):
            round_of = {"diffusers untiled": run_diffusers(args, picture, Path(folder) / "theirs.npy")}
            theirs = np.load(Path(folder) / "theirs.npy")
            for limit in limits:
                round_of[f"Headroom, {limit}"] = run_headroom(args, limit, picture, Path(folder) / "ours.npy")
                ours = np.load(Path(folder) / "ours.npy")
                if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
                    sys.exit("the encodes have values that are not finite")
                error[limit] = max(error.get(limit, 0), float(np.abs(ours - theirs).max() / np.abs(theirs).max()))
            rounds.append(round_of)
            measure.note(f"round {number + 1}: " + ", ".join(f"{name} {run['seconds']:.1f} s" for name, run in round_of.items()))
    size = f"{args.size[0]}×{args.size[1]}" + (f", {args.frames} frames" if args.frames > 1 else "")
    rows = [["encode", "predicted peak", "peak", "seconds", "against untiled", "largest error"]]
    for name in rounds[0]:
        runs = [each[name] for each in rounds]
        ratios = [each[name]["seconds"] / each["diffusers untiled"]["seconds"] for each in rounds]
        peak = max(run["peak_bytes"] for run in runs)
        limit = name.partition(", ")[2]
        passed &= not limit or (error[limit] <= EXACT and peak <= runs[0]["limit_bytes"])
        rows.append([name, mib(runs[0].get("predicted_bytes")), mib(peak), f"{median(run['seconds'] for run in runs):.2f}", f"{median(ratios):.2f}",
                     f"{error[limit]:.1e}" if limit else "–"])
    text = measure.markdown_header(f"Encode: {args.model} {size}, fp32, {args.threads} threads", measure.result_header())
    text += measure.markdown_table(rows) + f"\nMedians of {args.rounds} round(s). The picture is uniform noise, the weights are seeded.\n"
    measure.publish(args.output, text)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
