#!/usr/bin/env python3
"""Forbids include cycles between files, and between the folders of libraries."""

import re
import unittest
from pathlib import Path

from cpp_source import ROOT, product_files

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
Graph = dict[str, set[str]]


def cycles(graph: Graph) -> list[str]:
    """Strongly connected components with a cycle, one line each (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[str] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in order:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], order[other])
        if lowest[node] == order[node]:
            group = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(group) > 1 or node in graph.get(node, ()):
                found.append(", ".join(sorted(group)))

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def includes() -> Graph:
    """Includes of the product and the tests. Kernels compiled for the emulator include its header."""
    files = product_files() + [path for path in (ROOT / "tests").rglob("*") if path.suffix in (".h", ".cpp")]
    return {str(path.relative_to(ROOT)): {name for name in INCLUDE.findall(path.read_text()) if (ROOT / name).is_file()}
            for path in files}


def library_folder(file: str) -> str:
    """Nearest parent folder with a CMake library, or the file's own folder if there is none."""
    folder = Path(file).parent
    while folder != Path("."):
        lists = ROOT / folder / "CMakeLists.txt"
        if lists.is_file() and re.search(r"^\s*headroom_(register_)?library\(", lists.read_text(), re.MULTILINE):
            return str(folder)
        folder = folder.parent
    return str(Path(file).parent)


def of_folders(files: Graph) -> Graph:
    folders = {file: library_folder(file) for file in files if not file.startswith("tests/")}
    graph: Graph = {folder: set() for folder in folders.values()}
    for file, folder in folders.items():
        graph[folder] |= {folders[other] for other in files[file] if other in folders} - {folder}
    return graph


class IncludeCycles(unittest.TestCase):
    def test_product(self):
        files = includes()
        self.assertGreater(len(files), 100)
        self.assertEqual(cycles(files), [])
        self.assertEqual(cycles(of_folders(files)), [])

    def test_finds_cycles(self):
        self.assertEqual(cycles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"e"}}), ["a, b, c", "e"])
        self.assertEqual(cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()}), [])


if __name__ == "__main__":
    unittest.main()
