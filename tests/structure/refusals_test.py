#!/usr/bin/env python3
"""CMake refuses what must not be linked or included: tried in a copy of the tree, one fault at a time.

    refusals_test.py [--cmake PROGRAM]
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from cpp_source import PRODUCT, ROOT

CMAKE = "cmake"
CORE = ("base", "graph", "families", "plan", "operations", "schedule", "validator", "trace", "files", "weights", "interpreter", "cpu", "gpu", "session")


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="headroom-refusals-")
        cls.tree = Path(cls.folder.name) / "tree"
        cls.tree.mkdir()
        shutil.copytree(ROOT / "cmake", cls.tree / "cmake")
        shutil.copy(ROOT / "CMakeLists.txt", cls.tree)
        for name in (*PRODUCT, "tests/emulated_gpu"):
            shutil.copytree(ROOT / name, cls.tree / name, copy_function=os.symlink)
        # The unchanged tree configures. Later runs reuse CMake's cache.
        ended = cls.configure("-G", "Ninja", "-DHEADROOM_TORCH=OFF", "-DHEADROOM_GUI=OFF", "-DHEADROOM_TESTS=OFF",
                              "-DHEADROOM_CUDA=OFF")
        if ended.returncode != 0:
            raise AssertionError(ended.stderr)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def configure(cls, *words: str) -> subprocess.CompletedProcess:
        build = cls.tree.parent / "build"
        return subprocess.run([CMAKE, "-S", str(cls.tree), "-B", str(build), *words], capture_output=True, text=True, check=False)

    def refused(self, file: str, changed, message: str) -> None:
        """Requires that CMake fails with this message after `changed` modifies the file's text."""
        path = self.tree / file
        whole = path.read_text()
        self.assertNotEqual(changed(whole), whole, file)
        path.unlink()  # a symbolic link in the copy
        path.write_text(changed(whole))
        ended = self.configure()
        path.write_text(whole)
        self.assertNotEqual(ended.returncode, 0, f"{file}: was accepted")
        self.assertIn(message, " ".join(ended.stderr.split()))

    def refused_link(self, library: str, key: str, target: str, message: str) -> None:
        """Requires an error after `target` is added to LINKS or EXTERNAL of the library in folder `library`."""
        name = library.replace("/", "_")
        self.refused(f"{library}/CMakeLists.txt", with_words(name, key, target), message)

    def test_no_libtorch_in_the_core(self):
        for library in CORE:
            self.refused_link(f"decoder/{library}", "EXTERNAL", "headroom::libtorch",
                              f"library decoder_{library} must not link headroom::libtorch")

    def test_the_validator_does_not_reach_lowering(self):
        self.refused_link("decoder/validator", "LINKS", "decoder_schedule",
                          "library decoder_validator must not link decoder_schedule")
        self.refused("decoder/validator/validator.cpp", lambda text: '#include "decoder/schedule/lowering.h"\n' + text,
                     "decoder/validator/validator.cpp includes decoder/schedule/lowering.h, but library decoder_validator does not "
                     "link decoder_schedule")

    def test_the_planner_does_not_reach_cli11_outside_its_program(self):
        for library in ("cost", "search", "explain"):
            self.refused_link(f"planner/{library}", "EXTERNAL", "CLI11::CLI11",
                              f"library planner_{library} must not link CLI11::CLI11")
            self.refused_link(f"planner/{library}", "LINKS", "decoder_cli",
                              f"library planner_{library} must not link headroom::decoder_cli")
        self.refused("planner/search/solver.cpp", lambda text: '#include "decoder/cli/arguments.h"\n' + text,
                     "planner/search/solver.cpp includes decoder/cli/arguments.h, but library planner_search does not link "
                     "decoder_cli")

    def test_dependencies_run_one_way(self):
        self.refused_link("decoder/graph", "LINKS", "decoder_plan",
                          "library decoder_graph must not link decoder_plan: dependencies run one way")


def with_words(library: str, key: str, target: str):
    """Returns a function that adds `target` to LINKS or EXTERNAL of a library in the text of a CMakeLists.txt."""
    def changed(text: str) -> str:
        call = re.search(r"headroom_library\(" + library + r"\b[^)]*\)", text)
        if not call:
            return text
        words = re.sub(rf"\b{key}\b", f"{key} {target}", call[0], count=1)
        if words == call[0]:
            words = call[0][:-1] + f" {key} {target})"
        return text[:call.start()] + words + text[call.end():]
    return changed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cmake", default=CMAKE)
    known, rest = parser.parse_known_args()
    CMAKE = known.cmake
    unittest.main(argv=[sys.argv[0], *rest])
