#!/usr/bin/env python3
"""What decodes on a GPU ask for, as reports/bench/host_time.py counts it over the air card. Times are not looked at: they are the machine's.

    python3 -m unittest tests/reports/bench/host_time_test.py
"""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "reports" / "bench"))
import host_time  # noqa: E402

WEIGHTS = 107_284_736  # bytes of SDXL's decoder in bf16, packed
LATENT = 4 * 128 * 128 * 4


class HostTime(unittest.TestCase):
    def test_weights_that_stay_are_not_copied_again(self):
        row = host_time.measured(1024, host_time.AMPLE, 1)
        self.assertEqual(row["copied_bytes"], LATENT)
        self.assertLess(row["host_waits"], 64)

    def test_weights_per_pass_come_in_few_copies(self):
        row = host_time.measured(1024, "600MiB", 1)
        self.assertGreaterEqual(row["copied_bytes"], WEIGHTS + LATENT)
        self.assertLess(row["copied_bytes"], 1.01 * WEIGHTS)  # a norm may be part of two passes
        self.assertLess(row["copies"], 48)  # of 32 passes
        self.assertLess(row["host_waits"], 64)  # none for a buffer of staging


if __name__ == "__main__":
    unittest.main()
