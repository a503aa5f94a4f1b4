#!/usr/bin/env python3
"""Counts lines and files of each folder, and places that name ranks, kinds of device and the like. No figure may pass the one in
measures.txt.

    measures_test.py --store    lowers the figures of measures.txt to those of this tree, and drops folders that are gone
    measures_test.py --list     prints sums and figures

A figure that has to grow is raised by hand in measures.txt. The commit that raises it gives the reason. After a merge conflict in
measures.txt keep the larger figures, and run --store.
"""

import re
import sys
import unittest
from dataclasses import dataclass

from cpp_source import CODE, PRODUCT, ROOT, code_files
from file_graph import cycles, imports

STORED = ROOT / "tests/structure/measures.txt"
SMALL_LINES = 80
Texts = dict[str, str]
Figures = dict[str, tuple[int, ...]]  # lines and files of a folder, or one count


@dataclass(frozen=True)
class Noun:
    pattern: str
    counts: str = "lines"  # or files
    outside: str = ""      # these files are not counted

    def count(self, texts: Texts) -> int:
        pattern = re.compile(self.pattern)
        seen = [text for file, text in texts.items() if not (self.outside and file.startswith(self.outside))]
        if self.counts == "files":
            return sum(pattern.search(text) is not None for text in seen)
        return sum(pattern.search(line) is not None for text in seen if pattern.search(text) for line in text.split("\n"))


NOUNS = {
    "files that name ranks": Noun(r"Rank|ranked|rank_", "files"),
    "files that name a kind of device": Noun(r"DeviceKind|on_cuda", "files"),
    "lines with DeviceKind::cuda or on_cuda, outside decoder/gpu": Noun(r"DeviceKind::cuda|on_cuda", outside="decoder/gpu/"),
    "lines with Direction::": Noun(r"Direction::"),
    "lines with the scale of picture() or output()": Noun(r"\b(picture|output)\(\)\)?\.scale\b"),
    "lines with a call of open_gpu()": Noun(r"\bopen_gpu\(", outside="decoder/gpu/calls/open_gpu."),
}


def product(texts: Texts) -> Texts:
    return {file: text for file, text in texts.items() if file.startswith(tuple(folder + "/" for folder in PRODUCT))}


def folder_of(file: str) -> str:
    """Two levels, such as decoder/gpu."""
    return "/".join(file.split("/")[:-1][:2])


def figures_of(texts: Texts) -> Figures:
    figures: Figures = {}
    for file, text in texts.items():
        lines, files = figures.get(folder_of(file), (0, 0))
        figures[folder_of(file)] = (lines + text.count("\n"), files + 1)
    ours = product(texts)
    counts = {name: noun.count(ours) for name, noun in NOUNS.items()}
    circles = cycles(imports({file: text for file, text in ours.items() if file.endswith(".py")}))
    counts["Python files in circles of imports"] = sum(len(circle.split(", ")) for circle in circles)
    return figures | {name: (count,) for name, count in counts.items()}


def written(figures: Figures) -> str:
    def row(name: str, values: tuple[int, ...]) -> str:
        return "".join(f"{value:6} " for value in values) + " " + name + "\n"

    return ("# tests/structure/measures_test.py describes this file.\n"
            "# lines  files  folder\n" + "".join(row(*each) for each in sorted(figures.items()) if len(each[1]) == 2) +
            "# count  places\n" + "".join(row(*each) for each in figures.items() if len(each[1]) == 1))


def read(text: str) -> Figures:
    figures: Figures = {}
    for line in text.splitlines():
        match = re.fullmatch(r" *(\d+) +(?:(\d+) +)?(\S.*)", line)
        if match:
            figures[match[3]] = tuple(int(value) for value in match.group(1, 2) if value is not None)
        elif not line.startswith("#"):
            raise ValueError(f"{STORED.name}: found {line!r}, expected numbers and a name")
    return figures


def grown(found: Figures, stored: Figures) -> list[str]:
    """One line for each figure that passes the stored one."""
    lines = []
    for name, values in found.items():
        kept = stored.get(name, (0,) * len(values))
        words = ("lines", "files") if len(values) == 2 else ("places",)
        lines += [f"{name}: {value} {word}, {most} in {STORED.name}. Remove {value - most}, or raise the figure there by hand and "
                  f"give the reason in the commit" for value, most, word in zip(values, kept, words) if value > most]
    return lines


def lowered(found: Figures, stored: Figures) -> Figures:
    return {name: tuple(map(min, values, found[name])) for name, values in stored.items() if name in found}


def sums(texts: Texts) -> list[tuple[str, int]]:
    def lines(of: Texts) -> int:
        return sum(text.count("\n") for text in of.values())

    ours = product(texts)
    return [("product lines", lines(ours)), ("product files", len(ours)),
            (f"product files of at most {SMALL_LINES} lines", sum(text.count("\n") <= SMALL_LINES for text in ours.values())),
            ("lines of decoder and planner", lines({f: t for f, t in ours.items() if f.startswith(("decoder/", "planner/"))})),
            ("test lines", lines({f: t for f, t in texts.items() if f.startswith("tests/")}))]


def tree() -> Texts:
    return {str(path.relative_to(ROOT)): path.read_text() for path in code_files((*PRODUCT, "tests"), CODE)}


class Measures(unittest.TestCase):
    def test_nothing_grew(self):
        stored = read(STORED.read_text())
        self.assertEqual(written(stored), STORED.read_text(), "run measures_test.py --store, which sorts and aligns the rows")
        found = grown(figures_of(tree()), stored)
        if found:
            self.fail("figures grew\n" + "\n".join(found))

    def test_counts(self):
        figures = figures_of({
            "decoder/gpu/calls/open_gpu.h": "Gpu open_gpu(int device);\n",
            "decoder/gpu/a.cpp": "f(DeviceKind::cuda);\nrank_of();\n",
            "decoder/a.cpp": "open_gpu(DeviceKind::cuda);\nreopen_gpu();\nRanks x, y; Direction::decode;\n",
            "gui/view/a.cpp": "graph.tensor(graph.picture()).scale; output().scale;\nif (on_cuda) open_gpu(1); on_cuda;\n",
            "planner/python/p/__init__.py": "from .a import f\n",
            "planner/python/p/a.py": "def f():\n    from . import b\n",
            "planner/python/p/b.py": "from p.a import (  # f\n    f,\n)\nimport p\n",
            "tests/main.cpp": "open_gpu(Ranks, DeviceKind::cuda);\n",
        })
        self.assertEqual(figures, {
            "decoder": (3, 1), "decoder/gpu": (3, 2), "gui/view": (2, 1), "planner/python": (7, 3), "tests": (1, 1),
            "files that name ranks": (2,), "files that name a kind of device": (3,),
            "lines with DeviceKind::cuda or on_cuda, outside decoder/gpu": (2,), "lines with Direction::": (1,),
            "lines with the scale of picture() or output()": (1,), "lines with a call of open_gpu()": (2,),
            "Python files in circles of imports": (2,)})
        self.assertEqual(read(written(figures)), figures)

    def test_finds_growth_and_lowers(self):
        stored = {"a": (10, 2), "gone": (5, 1), "calls": (4,)}
        found = {"a": (12, 1), "new": (3, 1), "calls": (5,)}
        self.assertEqual([line.split(". ")[0] for line in grown(found, stored)],
                         ["a: 12 lines, 10 in measures.txt", "new: 3 lines, 0 in measures.txt", "new: 1 files, 0 in measures.txt",
                          "calls: 5 places, 4 in measures.txt"])
        self.assertEqual(lowered(found, stored), {"a": (10, 1), "calls": (4,)})
        self.assertEqual(grown(lowered(found, stored), stored), [])


if __name__ == "__main__":
    if sys.argv[1:] == ["--store"]:
        STORED.write_text(written(lowered(figures_of(tree()), read(STORED.read_text()))))
    elif sys.argv[1:] == ["--list"]:
        texts = tree()
        for name, value in sums(texts):
            print(f"{value:6}  {name}")
        print(written(figures_of(texts)), end="")
    else:
        unittest.main()
