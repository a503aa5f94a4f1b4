#!/usr/bin/env python3
"""Decodes by --recipe diffusers-tiling against diffusers after enable_tiling(), under limits of bytes.

    python reports/bench/recipes.py --model sdxl --size 1280x768 --limits 512MiB,1GiB -o reports/results/recipes-sdxl.json

For AutoencoderKL and AutoencoderKLWan, with the tiles that the model's class has by itself. Expected is: the largest
difference is at most 1e-4 of the largest magnitude, and measured <= predicted <= limit. Ends with 1 otherwise.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import measure
from measure import mib

LARGEST_ERROR = 1e-4
CLIP_TILE_PIXELS = 256  # of diffusers' classes of clips


def tile_positions(model: str) -> int:
    """Latent positions along a side of the tiles that the class has by itself."""
    scale = measure.scale_factor(model)
    clip = measure.model_class(model) in measure.CLIPS
    return (CLIP_TILE_PIXELS if clip else measure.model_config(model)["sample_size"]) // scale


def decode(args: argparse.Namespace, limit_bytes: int, latent: Path, scratch: Path) -> dict[str, Any]:
    """Plans and decodes in a fresh process."""
    plan, output, stats = scratch / "plan.json", scratch / "out.npy", scratch / "stats.json"
    measure.run([str(measure.BIN / "headroom-plan"), "--model", args.model, "--size", f"{args.size[0]}x{args.size[1]}",
                 "--frames", str(args.frames), "--limit", str(limit_bytes), "--recipe", "diffusers-tiling", "-o", str(plan)])
    measure.run([str(measure.BIN / "headroom-decode"), "--plan", str(plan), "--model", args.model, "--latent", str(latent),
                 "-o", str(output), "--stats", str(stats), "--threads", str(args.threads), "--quiet",
                 *(["--random-weights", str(args.random_weights)] if args.random_weights is not None else [])])
    document = json.loads(plan.read_text())
    return {"tiles": len(document["recipe"]["plan_of_tile"]), "kept_bytes": document["recipe"]["kept_bytes"],
            **json.loads(stats.read_text())}


def row_of(args: argparse.Namespace, limit_bytes: int, latent: Path, reference: np.ndarray, scratch: Path) -> dict[str, Any]:
    run = decode(args, limit_bytes, latent, scratch)
    error = measure.compare(np.load(scratch / "out.npy"), reference)
    holds = error["largest_error_relative"] <= LARGEST_ERROR and run["peak_bytes"] <= run["predicted_peak_bytes"] <= limit_bytes
    measure.note(f"{mib(limit_bytes)}: {run['tiles']} tiles, measured {mib(run['peak_bytes'])}, error {error['largest_error_relative']:.1e}")
    return {"contender": "Headroom", **run, **error, "holds": holds}


def table(rows: list[dict[str, Any]]) -> str:
    lines = [["", "limit", "predicted peak", "measured peak", "kept to blend", "time", "largest error", "holds"]]
    for row in rows:
        error = row.get("largest_error_relative")
        lines.append([row["contender"], mib(row.get("limit_bytes")), mib(row.get("predicted_peak_bytes")), mib(row["peak_bytes"]),
                      mib(row.get("kept_bytes")), f"{row['seconds']:.1f} s", "–" if error is None else f"{error:.1e}",
                      "–" if error is None else "yes" if row["holds"] else "NO"])
    return measure.markdown_table(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measure.add_run_arguments(parser, model="sdxl")
    parser.add_argument("--size", type=measure.parse_size, default="1280x768", help="pixels, default: %(default)s")
    parser.add_argument("--frames", type=int, default=1, help="of a clip, default: %(default)s")
    parser.add_argument("--limits", default="512MiB,1GiB", help="bytes, default: %(default)s")
    args = measure.parse_run_arguments(parser)

    header = measure.result_header()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        latent = measure.write_random_latent(args.model, args.size, args.random_weights or 0, scratch / "latent.npy", frames=args.frames)
        expected = scratch / "expected.npy"
        own = measure.diffusers_decode(args.model, latent, expected, args.random_weights, args.threads, "tiled", tile_positions(args.model))
        rows: list[dict[str, Any]] = [{"contender": "diffusers", **own}]
        measure.note(f"diffusers, tiles of {tile_positions(args.model)}: {mib(own['peak_bytes'])}")
        reference = np.load(expected)
        rows += [row_of(args, measure.parse_bytes(limit), latent, reference, scratch) for limit in args.limits.split(",")]
    size = f"{args.size[0]}×{args.size[1]}" + (f", {args.frames} frames" if args.frames > 1 else "")
    title = f"diffusers' own tiles, {Path(args.model).name}, {size}, fp32, {args.threads} threads"
    markdown = measure.markdown_header(title, header) + table(rows)
    markdown += (f"\ndiffusers ran after `enable_tiling()`, Headroom with `--recipe diffusers-tiling`. Errors are against diffusers' picture, of its "
                 f"largest magnitude.\nIt holds where the error is at most {LARGEST_ERROR:g} and measured ≤ predicted ≤ limit. Peaks include the weights.\n")
    measure.publish(args.output, {"title": title, **header, "rows": rows}, markdown)
    return 0 if all(row.get("holds", True) for row in rows) else 1


if __name__ == "__main__":
    measure.run_main(main)
