#!/usr/bin/env python3
"""Forbids include cycles between files, and between the folders of libraries."""

import re
import unittest
from pathlib import Path

from cpp_source import ROOT
from file_graph import Graph, cycles, includes


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
