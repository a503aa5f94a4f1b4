#!/usr/bin/env python3
"""Checks the figures of README.md and docs/: each amount with a unit, each number such as 1e-5, and in tables each number with a fraction. Each has an
origin and agrees with it.

    python3 tests/docs/figures_test.py

A section's origins are the result pages (reports/results, docs/pictures/table.md) and the sections of pages that it links to. A figure stands
for an origin's figure that rounds to it: 75.6 s for 75.61 s, 38.1 GiB for 39051 MiB. On pages whose examples are run, the examples are origins
too. The file figures.json names the origins of all other figures, one of

    "file: text"    a constant: this text must be in the file
    "= expression"  arithmetic
    "fact: reason"  nothing here could check it

First the test checks itself: it must find every wrong figure of a page that exists only in this file.
"""

import json
import re
import sys
from pathlib import Path

from docs_test import anchor, without_fences
from examples_test import PAGES

ROOT = Path(__file__).resolve().parents[2]
UNITS = {  # unit: (dimension, size)
    "B": ("bytes", 1), "bytes": ("bytes", 1), "KiB": ("bytes", 2**10), "MiB": ("bytes", 2**20), "GiB": ("bytes", 2**30),
    "KB": ("bytes", 1e3), "MB": ("bytes", 1e6), "GB": ("bytes", 1e9),
    "ns": ("seconds", 1e-9), "µs": ("seconds", 1e-6), "ms": ("seconds", 1e-3), "s": ("seconds", 1),
    "dB": ("dB", 1), "%": ("ratio", 0.01), "×": ("ratio", 1), "": ("", 1),
    "GFLOP": ("FLOPs", 1e9), "GFLOP/s": ("FLOP/s", 1e9), "TFLOP/s": ("FLOP/s", 1e12),
    "MB/s": ("bytes/s", 1e6), "GB/s": ("bytes/s", 1e9), "TB/s": ("bytes/s", 1e12),
}
NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?"
UNIT = "|".join(sorted(map(re.escape, filter(None, UNITS)), key=len, reverse=True))
# A number with a unit. In a range such as "37 to 42 ms" the unit follows the second number.
FIGURE = re.compile(rf"(?<![\w.,^/×-])({NUMBER})(?:(?:–| to )({NUMBER}))?\s?({UNIT})(?![\w×²/]|\s?\d)")
PLAIN = re.compile(rf"(?<![\w.,^/×·-])({NUMBER})(?![\w×.,]*\w)")
# A version: Wan 2.1, FLUX.2, glibc 2.34, compute capability 8.0.
NAME = re.compile(r"\b(?:[A-Z][\w.-]*\w|glibc|capability) \d+(?:\.\d+)+(?:(?:, | and | or |/)\d+\.\d+)*(?!\w|\.\d|\s?(?:[KMG]i?B|m?s)\b)")
SOURCES = re.compile(r"(?:reports/results/|pictures/table).*\.md$")


class Figure:
    def __init__(self, text, number, unit):
        self.text = " ".join(text.split())
        self.dimension, self.size = UNITS[unit]
        mantissa, _, exponent = number.replace(",", "").partition("e")
        self.number = float(number.replace(",", ""))
        self.step = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))

    def rounds(self, value):
        """True if `value`, in this figure's unit and rounded to its digits, is this figure."""
        return abs(self.number - value) <= self.step * 0.5001

    def stands_for(self, source):
        """True if the source's figure, rounded to this figure's digits, is this figure. A figure without a unit, in a table, takes the source's."""
        value = source.number if self.dimension == "" else source.number * source.size / self.size
        comparable = self.dimension in ("", source.dimension) or (self.dimension, source.dimension) == ("ratio", "")
        return comparable and self.rounds(value)


def figures(text):
    """Amounts with a unit anywhere, and numbers with a fraction in tables."""
    text = NAME.sub(" ", text)
    found = []
    for match in FIGURE.finditer(text):
        found += [Figure(match.group(0), number, match.group(3)) for number in match.groups()[:2] if number]
    rest = FIGURE.sub(" ", text)
    for line in rest.split("\n"):
        found += [Figure(match.group(0), match.group(1), "") for match in PLAIN.finditer(line)
                  if "e-" in match.group(1) or (line.startswith("|") and "." in match.group(1))]
    return found


def with_units(text):
    """A source's text, with the unit of columns headed "seconds" written behind each number."""
    lines, seconds = [], []
    for line in text.split("\n"):
        cells = line.split("|")
        if not line.startswith("|"):
            seconds = []
        elif any(cell.strip() == "seconds" for cell in cells):
            seconds = [index for index, cell in enumerate(cells) if cell.strip() == "seconds"]
        for index in seconds:
            cells[index] = re.sub(rf"({NUMBER})", r"\1 s", cells[index])
        lines.append("|".join(cells))
    return "\n".join(lines)


def prose(text):
    """A section's text without code and targets of links."""
    text = "\n".join("" if re.match(r" {4}(?! *(-|\d+\.) )", line) else line for line in text.split("\n"))
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "", text))


def sections(text):
    """(heading, its text without fenced blocks) for each section, subsections apart."""
    parts = re.split(r"^#+ (.+)$", without_fences(text), flags=re.M)
    return list(zip(parts[1::2], parts[2::2]))


def sources(page, text, whole):
    """Text of all sources that a section's text links to. `whole`: the page, which defines [name]: links."""
    named = dict(re.findall(r"^\[(\w+)\]:\s+(\S+)", whole, re.M))
    targets = re.findall(r"\]\(([^)\s]+)\)", text) + [named[name] for name in re.findall(r"\]\[(\w+)\]", text) if name in named]
    found = ""
    for target in targets:
        path, _, fragment = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        if ":" in target or file.suffix != ".md" or not file.is_file():
            continue
        content = file.read_text()
        if SOURCES.search(str(file.resolve().relative_to(ROOT))):
            found += with_units(content)
        elif fragment:
            found += "".join(prose(body) for heading, body in sections(content) if anchor(heading) == fragment)
    return found


def rounds_to(figure, expression):
    names = {unit: size for unit, (_, size) in UNITS.items() if unit.isalpha()}
    return figure.rounds(eval(expression, {"__builtins__": {}}, names) / figure.size)  # the expressions are this folder's own


def origin_fault(figure, origin):
    """Why an entry of figures.json does not hold. None if it does."""
    kind, _, text = origin.partition(": ")
    if origin.startswith("= "):
        return None if rounds_to(figure, origin[2:]) else f"{figure.text} is not {origin[2:]}"
    if kind == "fact":
        return None
    file = ROOT / kind
    return None if file.is_file() and text in file.read_text() else f"{figure.text}: {kind} has no longer: {text}"


def check_page(page, whole, listed):
    """Faults of one page. `listed`: its entries of figures.json."""
    examples = "\n".join(re.findall(r"^    .*$", whole, re.M)) if page in PAGES else ""
    faults, used = [], set()
    for heading, body in sections(whole):
        origins = sources(page, body, whole)
        known = figures(origins + examples)
        for figure in figures(prose(body)):
            if figure.text in listed:
                used.add(figure.text)
                wrong = (origin_fault(figure, origin) for origin in listed[figure.text])
                faults += [f"{page}: {fault}" for fault in wrong if fault]
            elif (figure.dimension or origins) and not any(figure.stands_for(each) for each in known):
                faults.append(f"{page}: {heading}: no origin for {figure.text}")
    return faults + [f"figures.json: {page} has no {text}" for text in listed if text not in used]


WRONG = "docs/made-up.md"
WRONG_FIGURES = {
    "no origin for 838 MiB": "838 MiB",
    "no origin for 59.3 dB": "59.3 dB\n[nothing](unknown.md)",
    "no origin for 3 GiB": "3 GiB\n[results](../reports/results/sdxl-512-cpu.md)",
    "no origin for 8.88 s": "8.88 s\n[results](../reports/results/sdxl-512-cpu.md)",
    "no origin for 0.34": "| 0.34 |\n[results](../reports/results/sdxl-512-cpu.md)",
    "no origin for 5e-6": "5e-6\n[results](../reports/results/sdxl-512-cpu.md)",
    "7 KiB is not 6 * KiB": "7 KiB",
    "9 KiB: README.md has no longer: nine kibibytes": "9 KiB",
    "has no 11 KiB": "nothing",
}
WRONG_LIST = {"7 KiB": ["= 6 * KiB"], "9 KiB": ["README.md: nine kibibytes"], "11 KiB": ["= 11 * KiB"]}
SOUND = "# A\n298 MiB, 0.29 GiB, 3.69 times, `7 MiB`\n| 0.33 (0.31–0.40) | 3.1e-6 |\n[results](../reports/results/sdxl-512-cpu.md)\n"


def check_the_checks():
    missed = [f"not found: {fault}" for fault, text in WRONG_FIGURES.items()
              if not any(fault in found for found in check_page(WRONG, f"# A\n{text}\n", WRONG_LIST))]
    return missed + [f"found where nothing is wrong: {fault}" for fault in check_page(WRONG, SOUND, {})]


def main():
    listed = json.loads((ROOT / "tests/docs/figures.json").read_text())
    pages = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))]
    faults = check_the_checks() + [f"figures.json: no page {page}" for page in listed if page not in pages]
    count = 0
    for page in pages:
        whole = (ROOT / page).read_text()
        count += sum(len(figures(prose(body))) for _, body in sections(whole))
        faults += check_page(page, whole, listed.get(page, {}))
    print(f"{len(pages)} pages, {count} figures, {len(faults)} faults")
    print(*faults, sep="\n")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
