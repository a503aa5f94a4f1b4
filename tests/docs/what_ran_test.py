#!/usr/bin/env python3
"""Checks the table of README's "What works where", which reports/bench/what_ran.py makes from the pages of results.

    python3 tests/docs/what_ran_test.py
"""

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "reports/bench"))
import what_ran  # noqa: E402

CPU = "# {}sdxl {}, fp32, 2 threads\n\n2026-11-28 06:45 UTC, AMD EPYC, 2 cores, 24106 MiB, Debian\n"
GPU = """# GPU check: {}

2026-11-27 01:53 UTC, Headroom 360cddf6. NVIDIA H100 80GB HBM3, 81559 MiB, compute capability 9.0
| sdxl 512×512 fp32 diffusers | 101.0 ms |
| wan2.1 832×480×17 bf16 Headroom in 600 MiB | 35.5 ms |
| 8192² Headroom in 24576 MiB | 14683.1 ms |
| tiny decodes | {} of 39 right |
"""


class WhatRan(unittest.TestCase):
    def test_readme_has_the_table_of_the_result_pages(self):
        readme = (ROOT / "README.md").read_text()
        self.assertEqual(what_ran.readme_of(readme), readme, "run python3 reports/bench/what_ran.py")
        self.assertGreater(readme.count("]: reports/results/"), 15)

    def test_the_largest_case_of_a_device_and_a_direction_stands_for_its_model(self):
        pages = {"a.md": CPU.format("", "512×512"), "b.md": CPU.format("", "1024×1024"), "c.md": CPU.format("Encode: ", "64×64"), "d.md": "# Other\n"}
        self.assertEqual(what_ran.table(pages).splitlines()[2:], ["| AMD EPYC, 2 cores: decodes | [sdxl 1024×1024, fp32][1] |",
                                                                  "| AMD EPYC, 2 cores: encodes | [sdxl 64×64, fp32][2] |",
                                                                  "", "[1]: b.md", "[2]: c.md"])

    def test_pages_of_a_gpu_give_what_headroom_decoded(self):
        made = what_ran.table({"e.md": GPU.format("measure", 39)})
        for part in ("| NVIDIA H100: decodes |", "[sdxl 8192×8192, bf16][1]", "[wan2.1 832×480, 17 frames, bf16][1]", "[39 tiny decodes"):
            self.assertIn(part, made)
        self.assertNotIn("tiny decodes", what_ran.table({"e.md": GPU.format("smoke", 38)}))


if __name__ == "__main__":
    unittest.main()
