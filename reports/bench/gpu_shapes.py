#!/usr/bin/env python3
"""What a card does at the shapes of SDXL's decoder, kernel by kernel: ours, and LibTorch's on the libraries that ours call.

    python reports/bench/gpu_shapes.py --list
    python reports/bench/gpu_shapes.py --programs build/gpu/bin --part layers,attention -o reports/results/gpu-shapes.json
    python reports/bench/gpu_shapes.py --programs build/bin --rehearse -o /tmp/gpu-shapes.json    # the same on the CPU, tiny

Rates for choosing, not a comparison: nothing here is expected to be faster than something else. After every step the results are
written; a part that was cut off goes on with the step that it lacks. A shape that fails has its reason in the table.
"""

import argparse
from typing import Any, Callable

import measure
import own_kernels
import shape_timings
from kept_parts import Session, Steps, as_plain, begin, name_of_card, section_head

Rows = list[dict[str, Any]]
# By name: what it says, and its steps, each of which gives rows.
PARTS: dict[str, tuple[str, Callable[[Any, bool], dict[str, Callable[[], Rows]]]]] = {
    "layers": ("Our kernels in a decode of 1024², and its layers", own_kernels.layer_steps),
    "convolutions": ("Convolutions of the decoder, bf16, by layout, cuDNN's benchmark and bias", shape_timings.convolution_steps),
    "z-add": ("A residual added by cuDNN and by itself", shape_timings.residual_steps),
    "products": ("Chunks of attention's products, by queries and keys", shape_timings.product_steps),
    "attention": ("Attention of one head of 512", lambda place, rehearse: shape_timings.attention_steps(place, rehearse)
                  | own_kernels.attention_steps(place, rehearse)),
    "pinned": ("Pinned memory, at once and in pieces", shape_timings.pinned_steps),
    "bands": ("Norm, convolution and statistics by bands of rows; decodes by limits", lambda place, rehearse:
              shape_timings.band_steps(place, rehearse) | own_kernels.limit_steps(place, rehearse)),
}


def run_part(session: Session, name: str) -> None:
    title, steps_of = PARTS[name]

    def work(entry: dict[str, Any]) -> None:
        steps = Steps(entry, session.clock, session.save)
        for step, rows in steps_of(session.place, session.args.rehearse).items():
            try:
                steps(step, lambda rows=rows: {"rows": as_plain(rows())})
            except RuntimeError as error:  # of this shape alone
                entry["steps"][step] = {"rows": [], "error": session.words_of(error)}
                session.save()

    session.run_part(name, title, {"steps": {}}, work)


def row_line(row: dict[str, Any], best: float | None) -> list[str]:
    if "error" in row:
        return [row["what"], row["error"].replace("|", "/")[:80], "–", "–", "–", "–"]
    seconds = row["seconds"]
    return [row["what"], f"{1e3 * seconds:.3f}", f"{row['flops'] / seconds / 1e12:.1f}" if row.get("flops") else "–",
            f"{row['bytes'] / seconds / 1e12:.2f}" if row.get("bytes") else "–", f"{seconds / best:.2f}" if best else "–", row.get("note", "–")]


def part_section(name: str, entry: dict[str, Any], device: dict[str, Any]) -> str:
    """A part as Markdown, whatever there is of it."""
    lines = [["what", "ms", "TFLOP/s", "TB/s", "of the quickest", ""]]
    for step, found in entry["steps"].items():
        best = min((row["seconds"] for row in found["rows"] if row.get("seconds")), default=None)
        lines.append([f"**{step}**", found.get("error", "").replace("|", "/"), "", "", "", ""])
        lines += [row_line(row, best) for row in found["rows"]]
    said = entry["error"] + "\n\n" if entry.get("error") else ""
    return section_head(name, entry, device) + said + measure.markdown_table(lines)


def markdown(results: dict[str, Any]) -> str:
    device = results.get("device", {})
    head = f"# Shapes of SDXL's decoder on a GPU\n\n{name_of_card(device.get('card'))}; PyTorch {device.get('machine', {}).get('torch')}.\n\n"
    return head + "\n".join(part_section(name, results["parts"][name], device) for name in PARTS if name in results["parts"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    session = begin(parser, list(PARTS), markdown)
    return session.run(lambda name: run_part(session, name)) if session else 0


if __name__ == "__main__":
    measure.run_main(main)
