#!/usr/bin/env python3
"""Programs link no LibTorch: they start without it, and allocate nothing through it.

    linked_libraries_test.py --bin build/bin
"""

import argparse
import re
import subprocess
import sys
import unittest
from pathlib import Path

PROGRAMS = ("headroom-plan", "headroom-decode", "headroom-profile", "headroom-report", "headroom-gui")
BIN = Path("build/bin")


class LinkedLibraries(unittest.TestCase):
    def test_no_libtorch(self):
        built = [name for name in PROGRAMS if (BIN / name).is_file()]
        if not built:
            self.skipTest(f"no programs in {BIN}")
        for name in built:
            read = subprocess.run(["readelf", "-d", str(BIN / name)], capture_output=True, text=True, check=True)
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", read.stdout)
            self.assertIn("libc.so.6", needed)
            self.assertEqual([library for library in needed if re.match(r"libtorch|libc10|libshm", library)], [], name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=BIN)
    known, rest = parser.parse_known_args()
    BIN = known.bin
    unittest.main(argv=[sys.argv[0], *rest])
