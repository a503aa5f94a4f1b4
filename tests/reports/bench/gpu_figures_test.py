#!/usr/bin/env python3
"""What reports/bench/gpu_decode.py makes of the engines that convolutions ran by.

    python3 tests/reports/bench/gpu_figures_test.py
"""

import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "reports" / "bench"))
from gpu_figures import add_rows, engines_text  # noqa: E402

HEADROOM = "Headroom, ample"


def entry_of(rounds: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """A part of rounds with these engines, as expected but for what they are."""
    run = {"first_seconds": 1.0, "peak_bytes": 5, "largest_error_relative": 1e-3, "psnr_db": 60.0}
    theirs = {**run, "psnr_db": 50.0}
    return {"rounds": [{"runs": {"diffusers untiled": theirs, HEADROOM: {**run, "engines": engines}}} for engines in rounds],
            "plans": {HEADROOM: {"limit_bytes": 10, "predicted_peak_bytes": 6, "flops": 1}}, "convolution_rate": 1.0}


def engine(name: str, runs: int, compiled: bool = False) -> dict[str, Any]:
    return {"name": name, "compiled": compiled, "runs": runs}


class Engines(unittest.TestCase):
    def judged(self, *rounds: list[dict[str, Any]]) -> dict[str, Any]:
        entry = entry_of(list(rounds))
        add_rows(entry, "bf16")
        return entry

    def test_engines_that_are_there_are_as_expected_and_named(self) -> None:
        entry = self.judged([engine("cuDNN 41", 30), engine("own kernels", 1)], [engine("cuDNN 41", 32)])
        self.assertTrue(entry["as_expected"])
        self.assertIn(f"Convolutions of {HEADROOM}: cuDNN 41 32×, own kernels 1×.", engines_text(entry))

    def test_one_that_compiled_in_any_round_is_not(self) -> None:
        entry = self.judged([engine("cuDNN 41", 30)], [engine("cuDNN 41", 29), engine("cuDNN 7", 1, compiled=True)])
        self.assertFalse(entry["as_expected"])
        self.assertIn("cuDNN 7 (COMPILED) 1×", engines_text(entry))

    def test_statistics_without_engines_are_as_expected(self) -> None:
        entry = self.judged([])
        self.assertTrue(entry["as_expected"])
        self.assertEqual(engines_text(entry), "")


if __name__ == "__main__":
    unittest.main()
