#!/usr/bin/env python3
"""Writes the table of README's "What works where": decodes and encodes that have run, by device, from the pages of reports/results.

    python3 reports/bench/what_ran.py [--check]

For each device and model it names the largest case of each direction, and links its page. With --check it changes nothing, and fails if README differs.
"""

import argparse
import math
import re
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "reports/results"
BEGIN, END = "<!-- by reports/bench/what_ran.py -->\n", "<!-- end -->\n"
MOST_CHARACTERS = 160  # of a line, as in all docs

COMPARED = ("sdxl", "bf16")
"""Model and dtype of the page of `reports/gpu/check.py compare`."""
CPU_PAGE = re.compile(r"# (Encode: )?(\S+) (\d+×\d+)(?:, (?:(\d+) frames|batch \d+))?, (\w+), \d+ threads")
CPU = re.compile(r"^\d{4}-[^,]+, (\w+)(?:\(R\))? (\w+).*?, (\d+ cores), ", re.M)
GPU = re.compile(r"^\d{4}-[^.]+\. (NVIDIA \S+) ", re.M)
GPU_ROW = re.compile(r"\| (\S+) (\d+×\d+)(?:×(\d+))? (\w+) Headroom ")
COMPARED_ROW = re.compile(r"\| (\d+)² Headroom ")
LINKED = re.compile(r"\]\[([^]]+)\]")
TINY_ROW = re.compile(r"\| tiny decodes +\| (\d+) of \1 right")


class Case(NamedTuple):
    """One decode or encode that ran. `frames` is 0 for pictures."""

    device: str
    direction: str
    model: str
    size: str
    frames: int
    dtype: str
    page: str

    def amount(self) -> int:
        return math.prod(map(int, self.size.split("×"))) * max(self.frames, 1)

    def text(self) -> str:
        return f"[{self.model} {self.size}{f', {self.frames} frames' if self.frames else ''}, {self.dtype}][{self.page}]"


def cases(page: str, text: str) -> Iterator[Case]:
    """The decodes and encodes of a result page. None for a page of another kind."""
    if (title := CPU_PAGE.match(text)) and (device := CPU.search(text)):
        encode, model, size, frames, dtype = title.groups()
        yield Case("{} {}, {}".format(*device.groups()), "encodes" if encode else "decodes", model, size, int(frames or 0), dtype, page)
    elif text.startswith("# GPU check:") and (device := GPU.search(text)):
        for model, size, frames, dtype in GPU_ROW.findall(text):
            yield Case(device[1], "decodes", model, size, int(frames or 0), dtype, page)
        for side in COMPARED_ROW.findall(text):
            yield Case(device[1], "decodes", COMPARED[0], f"{side}×{side}", 0, COMPARED[1], page)


def tiny_decodes(page: str, text: str) -> Iterator[tuple[str, str]]:
    """The device of a page, and its row about tiny decodes."""
    if (device := GPU.search(text)) and (row := TINY_ROW.search(text)):
        yield device[1], f"[{row[1]} tiny decodes, each model in fp32, bf16 and fp16][{page}]"


def packed(texts: list[str], room: int) -> Iterator[str]:
    """Joins texts to lines of at most `room` characters."""
    line = ""
    for text in texts:
        if line and len(line) + len(text) + 2 > room:
            yield line
            line = ""
        line += f"{', ' if line else ''}{text}"
    yield line


def table(pages: dict[str, str]) -> str:
    """`pages`: the text of each result page by its path from README."""
    largest: dict[tuple[str, str, str], Case] = {}
    rows: dict[tuple[str, str], list[str]] = {}
    for page, text in sorted(pages.items()):
        for case in cases(page, text):
            key = (case.device, case.direction, case.model)
            largest[key] = max(largest.get(key, case), case, key=Case.amount)
    for device, direction, model in sorted(largest, key=lambda key: (not key[0].startswith("NVIDIA"), key)):
        rows.setdefault((device, direction), []).append(largest[device, direction, model].text())
    for page, text in sorted(pages.items()):
        for device, shown in tiny_decodes(page, text):
            rows.setdefault((device, "decodes"), []).append(shown)
    found = sorted({page for texts in rows.values() for text in texts for page in LINKED.findall(text)})
    number = {page: str(i) for i, page in enumerate(found, 1)}
    rows = {key: [LINKED.sub(lambda link: f"][{number[link[1]]}]", text) for text in texts] for key, texts in rows.items()}
    lines = ["| has run on | the largest cases, with their results |", "|---|---|"]
    for (device, direction), texts in rows.items():
        name = f"{device}: {direction}"
        for line in packed(texts, MOST_CHARACTERS - len(name) - 7):
            lines.append(f"| {name} | {line} |")
            name = ""
    return "\n".join([*lines, "", *(f"[{number[page]}]: {page}" for page in found), ""])


def readme_of(readme: str) -> str:
    """README with the table of the result pages."""
    pages = {str(file.relative_to(ROOT)): file.read_text() for file in RESULTS.glob("*.md")}
    before, _, rest = readme.partition(BEGIN)
    return before + BEGIN + "\n" + table(pages) + "\n" + END + rest.partition(END)[2]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    file = ROOT / "README.md"
    made = readme_of(file.read_text())
    if args.check and made != file.read_text():
        sys.exit("README.md differs from the result pages: run python3 reports/bench/what_ran.py")
    file.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
