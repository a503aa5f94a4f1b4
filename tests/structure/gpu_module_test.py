#!/usr/bin/env python3
"""The CUDA modules end no process: they import neither exit() nor abort().

nvcc compiles a call of exit() into host code that calls a function for the device alone, and does not warn.

    gpu_module_test.py --lib build/lib
"""

import argparse
import subprocess
import sys
import unittest
from pathlib import Path

MODULES = ("headroom-cuda.so", "headroom-cuda-lent.so")
LIB = Path("build/lib")


def imports(module):
    """Names of functions that the module takes from other libraries."""
    listed = subprocess.run(["nm", "-D", "--undefined-only", str(module)], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in listed.splitlines()}


class GpuModule(unittest.TestCase):
    def test_it_ends_no_process(self):
        for name in MODULES:
            found = imports(LIB / name)
            self.assertIn("cudnnCreate", found, name)
            self.assertEqual(found & {"exit", "_exit", "_Exit", "abort", "quick_exit"}, set(), name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lib", type=Path, default=LIB)
    known, rest = parser.parse_known_args()
    LIB = known.lib
    unittest.main(argv=[sys.argv[0], *rest])
