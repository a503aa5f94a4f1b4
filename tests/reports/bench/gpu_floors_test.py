#!/usr/bin/env python3
"""The floors of reports/bench/gpu_floors.py, of plans written by hand.

    python3 -m unittest tests/reports/bench/gpu_floors_test.py
"""

import copy
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "reports" / "bench"))
import gpu_floors  # noqa: E402

WHOLE = {"t": [[0, 1]], "y": [[0, 8]], "x": [[0, 8]]}
PLAN = {
    "request": {"model": "two passes", "width_pixels": 8, "height_pixels": 8, "frames": 1, "batch": 1},
    "kept": [{"tensor": "a", "bytes": 1000, "first_pass": 0}, {"tensor": "b", "bytes": 100, "first_pass": 1}],
    "passes": [
        {"name": "0", "tiles": WHOLE, "predicted": {"flops": 5.0, "seconds": 1.0},
         "steps": [{"inputs": [{"tensor": "latent"}]}, {"inputs": [{"tensor": "a", "step": 0}]}]},
        # The shortcut reads `a` a second time in the same pass; statistics read what this pass has just written.
        {"name": "1", "tiles": WHOLE, "predicted": {"flops": 7.0, "seconds": 1.0},
         "steps": [{"inputs": [{"tensor": "a"}]}, {"inputs": [{"tensor": "x", "step": 0}, {"tensor": "a"}]}, {"inputs": [{"tensor": "b"}]}]},
        {"name": "2", "tiles": WHOLE, "predicted": {"flops": 1.0, "seconds": 1.0}, "steps": [{"inputs": [{"tensor": "b"}]}]},
    ],
}


class Floors(unittest.TestCase):
    def test_tensors_are_written_once_and_read_once_by_each_pass(self):
        self.assertEqual(gpu_floors.least_bytes(PLAN), (1000 + 1000) + (100 + 100) + 8 * 8 * 3 * 4)

    def test_flops_are_those_of_untiled_passes(self):
        self.assertEqual(gpu_floors.flops_once(PLAN), 13)
        tiled = copy.deepcopy(PLAN)
        tiled["passes"][1]["tiles"] = {**WHOLE, "y": [[0, 4], [4, 8]]}
        with self.assertRaisesRegex(RuntimeError, "expected passes of one tile, 1 has several"):
            gpu_floors.flops_once(tiled)
        self.assertEqual(gpu_floors.tiles_of(tiled["passes"][1]), 2)


if __name__ == "__main__":
    unittest.main()
