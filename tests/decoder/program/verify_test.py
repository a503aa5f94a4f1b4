"""--verify of headroom-decode, as people run it: the tiled picture against the untiled decode.

  python verify_test.py --bin build/bin
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import tiny_decode

BIN = Path()
UNTILED = "the untiled decode"


class Verify(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name)
        self.words = tiny_decode.write_in(self.folder, (1, 4, 24, 20))
        (self.folder / "temporary").mkdir()

    def run_program(self, program, *words):
        return subprocess.run([str(word) for word in (program, *words)], capture_output=True, text=True, cwd=self.folder, check=False,
                              env={**os.environ, "TMPDIR": str(self.folder / "temporary")})

    def verified(self, *words):
        """What the statistics say of the comparison."""
        ended = self.run_program(BIN / "headroom-decode", *self.words, "-o", "p.npy", "--verify", "--stats", "s.json", *words)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual([*(self.folder / "temporary").iterdir()], [])
        self.assertEqual(sorted(path.name for path in self.folder.glob("p.npy*")), ["p.npy"])
        return json.loads((self.folder / "s.json").read_text())["verification"]

    def test_tiles(self):
        self.words[1] = "1500KiB"  # in tiles
        found = self.verified()
        self.assertEqual(found["compared_with"], UNTILED)
        self.assertLess(found["largest_error_relative"], 1e-5)

    def test_batches_and_clips(self):
        (self.folder / "latent.npy").write_bytes(tiny_decode.normal((3, 4, 8, 9)))
        found = self.verified()
        self.assertEqual(found["compared_with"], UNTILED)
        self.assertLess(found["largest_error_relative"], 1e-5)
        (self.folder / "clip").mkdir()
        (self.folder / "clip/config.json").write_text(json.dumps({
            "_class_name": "AutoencoderKLWan", "base_dim": 8, "z_dim": 4, "dim_mult": [1, 2], "num_res_blocks": 1, "attn_scales": [],
            "temperal_downsample": [True], "latents_mean": [0.0] * 4, "latents_std": [1.0] * 4}))
        (self.folder / "clip.npy").write_bytes(tiny_decode.normal((1, 4, 3, 8, 9), 1.0))
        self.words = ["--limit", "64MiB", "--model", "clip", "--random-weights", "3", "--latent", "clip.npy"]
        found = self.verified()
        self.assertEqual(found["compared_with"], UNTILED)
        self.assertLess(found["largest_error_relative"], 1e-5)

    def test_half_precision(self):
        self.assertEqual(self.verified("--dtype", "bf16")["compared_with"], UNTILED)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    given, rest = parser.parse_known_args()
    BIN = given.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
