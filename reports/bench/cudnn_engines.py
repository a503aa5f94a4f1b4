#!/usr/bin/env python3
"""Which engines of cuDNN the convolutions of decodes take on a card, asked by the card's properties: no GPU is needed.

    python reports/bench/cudnn_engines.py -o reports/results/cudnn-engines.json

The program plans each decode for CUDA, runs it dry and asks cuDNN's heuristics about every convolution; the plan of the engine that would
be taken is made. What a kernel then computes, and how fast, only a card can tell. Ends with 1 where an engine would be compiled during a
decode, takes more workspace than was granted, or a convolution is left to kernels of our own for another reason than groups, first frames, and
one tap that adds in place.
"""

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

import measure

MODELS = ["sd15", "sdxl", "sd3", "flux", "sana-dc-ae-f32c32", "wan2.1", "flux2", "hunyuan-image-2.1", "qwen-image", "qwen-image-2.1",
          "open-sora-plan", "taesd", "taef1", "wan2.2"]
EXPECTED_LEFT = {"groups", "first frames", "one tap in place"}


def as_expected(card: dict[str, Any]) -> bool:
    compiled = any(engine["compiled"] for engine in card["engines"])
    return not compiled and card["over_grant"] == 0 and set(card["left"]) <= EXPECTED_LEFT


def size_text(decode: dict[str, Any]) -> str:
    frames = f"×{decode['frames']}" if decode["frames"] > 1 else ""
    return f"{decode['width_pixels']}×{decode['height_pixels']}{frames}"


def cells(survey: dict[str, Any], card: dict[str, Any]) -> list[str]:
    """A row of the table. Engines with the most convolutions come first; a star marks those without tensor cores."""
    engines = sorted(card["engines"], key=lambda engine: -engine["convolutions"])
    names = ", ".join(f"{engine['engine']}{'' if engine['tensor_cores'] else '*'}: {engine['convolutions']}" for engine in engines)
    compiled = sum(engine["convolutions"] for engine in engines if engine["compiled"])
    workspace = f"{measure.mib(card['workspace_bytes'])} of {measure.mib(card['granted_bytes'])}" if card["workspace_bytes"] else "none"
    left = ", ".join(f"{why}: {count}" for why, count in card["left"].items())
    return [survey["model"], survey["dtype"], card["architecture"], str(sum(engine["convolutions"] for engine in engines)), names,
            workspace, str(compiled or "none"), str(card["poor"] or "none"), left or "none"]


def table(surveys: list[dict[str, Any]]) -> str:
    head = ["model", "dtype", "card", "convolutions", "engine: convolutions", "largest workspace, of its grant", "compiled", "poor", "left"]
    return measure.markdown_table([head, *(cells(survey, card) for survey in surveys for card in survey["cards"])])


def explained(results: dict[str, Any]) -> str:
    surveys = results["surveys"]
    cards = ", ".join(f"{card['architecture']} {card['card']}" for card in surveys[0]["cards"])
    sizes: dict[str, list[str]] = {}
    for survey in surveys:
        text = ", ".join(dict.fromkeys(map(size_text, survey["decodes"])))
        sizes.setdefault(text, []).append(survey["model"])
    decoded = "; ".join(f"{text}: {', '.join(dict.fromkeys(models))}" for text, models in sizes.items())
    return (f"**Nothing of this ran on a GPU.** cuDNN {results['cudnn']} was asked by the properties of {cards}.\n\n"
            f"Decodes: {decoded}. Each of them by a plan under an ample limit and by one under half of what that takes.\n\n"
            "Convolutions are distinct problems as cuDNN is asked for them. A star marks an engine without tensor cores. *Poor* are those\n"
            "that would have tensor cores, were there more workspace. *Left* are distinct kernels that our own convolution takes, or takes for\n"
            "some frames. *Compiled* would be kernels that cuDNN compiles during the decode.\n\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/tests/cudnn_engines")
    parser.add_argument("--models", default=",".join(MODELS), help="built-in names with commas between, default: all")
    parser.add_argument("-o", "--output", type=Path, help="the results, .json; the table lies beside it, .md")
    args = parser.parse_args()
    header = measure.result_header()
    done = subprocess.run([args.program, *args.models.split(",")], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return done.returncode
    results = json.loads(done.stdout)
    title = "Engines of cuDNN by the card"
    markdown = measure.markdown_header(title, header) + explained(results) + table(results["surveys"])
    measure.publish(args.output, {"title": title, **header, **results}, markdown)
    return 0 if all(as_expected(card) for survey in results["surveys"] for card in survey["cards"]) else 1


if __name__ == "__main__":
    measure.run_main(main)
