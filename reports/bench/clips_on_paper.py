#!/usr/bin/env python3
"""What diffusers' own code would ask for to decode clips untiled, beside plans under what cards have; nothing is decoded.

    python reports/bench/clips_on_paper.py -o reports/results/clips-on-paper.json

diffusers' decoder runs on tensors that have shapes and no values, and what it holds is counted (counted_memory.py): once as it is,
and once with attention masks that take nothing. What an operation takes for itself, as a convolution its workspace or attention its
scores, is not seen. Any built-in model of clips that both sides have can stand in CASES.
"""

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import diffusers
import torch

import measure

sys.path.insert(0, str(measure.ROOT / "build" / "python"))
import headroom  # noqa: E402
from counted_memory import CountedMemory  # noqa: E402
from plan_table import Row, bound, clip_name, figures_of, made_plan, table_main  # noqa: E402

CASES = [("hunyuan-video", "1280x720", 129), ("hunyuan-video", "960x544", 77), ("hunyuan-video-1.5", "1280x720", 121), ("ltx-2", "768x512", 121)]
DTYPE = "bf16"
LIMITS = [("8GiB", None), ("12GiB", None), ("16GiB", None), ("24GiB", None), ("8GiB", "64GiB")]  # of the card, and of the host
AMPLE = "4096GiB"
MASKS = "prepare_causal_attention_mask"  # what the classes with attention over frames call what makes it
GIB = 1 << 30


def no_mask(_frames: int, _positions: int, dtype: torch.dtype, device: torch.device, **_: int) -> None:
    return None


def built(model: str) -> torch.nn.Module:
    with torch.device("meta"):
        vae = getattr(diffusers, measure.model_class(model)).from_config(measure.model_config(model))
    vae.use_framewise_decoding = False
    return vae.bfloat16().eval()


def mask_makers(vae: torch.nn.Module) -> list[Any]:
    """The class's module, or classes in it, that have the function which makes masks."""
    module = sys.modules[type(vae).__module__]
    classes = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]
    return [owner for owner in [module, *classes] if MASKS in vars(owner)]


@torch.inference_mode()
def decode_bytes(vae: torch.nn.Module, shape: tuple[int, ...], masks: bool) -> int:
    """The most that a decode holds at one time, beside the latent and the parameters."""
    with ExitStack() as stack:
        for owner in [] if masks else mask_makers(vae):
            stack.enter_context(mock.patch.object(owner, MASKS, staticmethod(no_mask) if isinstance(owner, type) else no_mask))
        counted = stack.enter_context(CountedMemory())
        vae.decode(torch.empty(shape, dtype=torch.bfloat16, device="meta"), return_dict=False)
    return counted.peak_bytes


def weights_bytes(vae: torch.nn.Module) -> int:
    parts = [part for name, part in vae.named_children() if name in ("decoder", "post_quant_conv")]
    return sum(each.numel() * each.element_size() for part in parts for each in part.parameters())


def untiled_row(model: str, size: str, frames: int) -> Row:
    width, height = measure.parse_size(size)
    vae, shape = built(model), measure.latent_shape(model, (width, height), 1, frames)
    tokens = shape[2] * shape[3] * shape[4]
    prediction = headroom.predict(model, height, width, frames, dtype=DTYPE, device="cuda", limit=AMPLE)
    as_it_is, without_masks = (decode_bytes(vae, shape, masks) for masks in (True, False))
    return {"model": model, "size": size, "frames": frames, "latent": shape, "positions": tokens, "mask_bytes": 2 * tokens**2 if mask_makers(vae) else 0,
            "weights_bytes": weights_bytes(vae), "diffusers_bytes": as_it_is, "diffusers_without_masks_bytes": without_masks,
            "headroom_untiled_bytes": prediction.untiled_peak_bytes}


def plan_row(model: str, size: str, frames: int, limit: str, host_limit: str | None, folder: Path) -> Row:
    begin = time.perf_counter()
    try:
        figures = figures_of(made_plan(model, size, frames, limit, DTYPE, folder / "plan.json", host_limit=host_limit))
    except measure.DoesNotFit as refusal:
        figures = {"refused": str(refusal)}
    return {"model": model, "size": size, "frames": frames, "limit": limit, "host_limit": host_limit,
            "planning_seconds": time.perf_counter() - begin, **figures}


def gib(count: int) -> str:
    return f"{count / GIB:.1f} GiB" if count < 100 * GIB else f"{count / GIB:.0f} GiB"


def untiled_cells(row: Row) -> list[str]:
    frames, rows, columns = row["latent"][2:]
    positions = f"{frames} × {rows} × {columns} = {row['positions']:,}"
    return [clip_name(row), positions, f"{row['positions']:,}² × 2 B = {gib(row['mask_bytes'])}" if row["mask_bytes"] else "none",
            gib(row["diffusers_bytes"] + row["weights_bytes"]), gib(row["diffusers_without_masks_bytes"] + row["weights_bytes"]),
            gib(row["headroom_untiled_bytes"])]


def plan_cells(row: Row) -> list[str]:
    name = [clip_name(row), row["limit"] + (f", host {row['host_limit']}" if row["host_limit"] else "")]
    if "refused" in row:
        return [*name, row["refused"], "", "", ""]
    return [*name, gib(row["peak_bytes"]), f"{row['seconds']:.2f} s", bound(row), f"{row['planning_seconds']:.1f} s"]


def text_of(rows: list[Row]) -> str:
    untiled = [untiled_cells(row) for row in rows if "positions" in row]
    plans = [plan_cells(row) for row in rows if "positions" not in row]
    return (f"{DTYPE}, one clip. What an untiled decode holds at its highest, weights included:\n\n"
            + measure.markdown_table([["clip", "positions of the latent", "a mask", "diffusers", "diffusers, were masks nothing",
                                       "Headroom, no tiles"], *untiled])
            + "\nThe mask is one number for each pair of positions. While HunyuanVideo's is made, another of 4 bytes for each is there: its "
            "highest moment.\nWhat attention and convolutions take beside their results is not in diffusers' figures, and is "
            "in Headroom's.\n\nPlans for a card with so much, by assumed costs of a server's card (docs/planning.md); nothing ran on one:\n\n"
            + measure.markdown_table([["clip", "limit", "predicted peak", "predicted time", "faster plans", "planning"], *plans]))


def rows_of(folder: Path) -> list[Row]:
    return [untiled_row(*case) for case in CASES] + [plan_row(*case, *limits, folder) for case in CASES for limits in LIMITS]


if __name__ == "__main__":
    measure.run_main(lambda: table_main(__doc__, "Clips on paper: what untiled decodes would take, and plans", rows_of, text_of))
