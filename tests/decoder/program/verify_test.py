"""What --verify compares with, of the programs as people run them: LibTorch's decode where it can be had.

  python verify_test.py --bin build/bin
"""
import argparse
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import tiny_decode

BIN = Path()
UNTILED, LIBTORCH = "the untiled decode", "LibTorch's untiled decode"


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

    def verified(self, *words, programs=None):
        """What the statistics say of the comparison."""
        ended = self.run_program((programs or BIN) / "headroom-decode", *self.words, "-o", "p.npy", "--verify", "--stats", "s.json", *words)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual([*(self.folder / "temporary").iterdir()], [])
        self.assertEqual(sorted(path.name for path in self.folder.glob("p.npy*")), ["p.npy"])
        return json.loads((self.folder / "s.json").read_text())["verification"]

    def programs_with_profiler(self, text):
        """The decoder and the planner, and beside them this script for a profiler."""
        programs = self.folder / "bin"
        programs.mkdir()
        for name in ("headroom-decode", "headroom-plan"):
            shutil.copy(BIN / name, programs / name)
        if text:
            script = programs / "headroom-profile"
            script.write_text(f"#!{sys.executable}\n{text}")
            script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return programs

    def test_with_libtorch(self):
        self.words[1] = "1500KiB"  # in tiles
        found = self.verified()
        self.assertEqual(found["compared_with"], LIBTORCH)
        self.assertLess(found["largest_error_relative"], 1e-5)

    def test_batches_and_clips(self):
        (self.folder / "latent.npy").write_bytes(tiny_decode.normal((3, 4, 8, 9)))
        found = self.verified()
        self.assertEqual(found["compared_with"], LIBTORCH)
        self.assertLess(found["largest_error_relative"], 1e-5)
        (self.folder / "clip").mkdir()
        (self.folder / "clip/config.json").write_text(json.dumps({
            "_class_name": "AutoencoderKLWan", "base_dim": 8, "z_dim": 4, "dim_mult": [1, 2], "num_res_blocks": 1, "attn_scales": [],
            "temperal_downsample": [True], "latents_mean": [0.0] * 4, "latents_std": [1.0] * 4}))
        (self.folder / "clip.npy").write_bytes(tiny_decode.normal((1, 4, 3, 8, 9), 1.0))
        self.words = ["--limit", "64MiB", "--model", "clip", "--random-weights", "3", "--latent", "clip.npy"]
        found = self.verified()
        self.assertEqual(found["compared_with"], LIBTORCH)
        self.assertLess(found["largest_error_relative"], 1e-5)

    def test_another_picture_shows(self):
        # The stand-in's picture is all zeros but for one value.
        programs = self.programs_with_profiler(f"""
import struct, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import tiny_decode
values = [0.0] * (3 * 48 * 40)
values[7] = 100.0
open(sys.argv[sys.argv.index("--picture") + 1], "wb").write(tiny_decode.npy(values, (1, 3, 48, 40)))
""")
        found = self.verified(programs=programs)
        self.assertEqual(found["compared_with"], LIBTORCH)
        self.assertGreater(found["largest_error"], 90)
        self.assertEqual(found["reference_magnitude"], 100)

    def test_where_libtorch_does_not_decode(self):
        self.assertEqual(self.verified("--dtype", "bf16")["compared_with"], UNTILED)
        for number, script in enumerate(["", "import sys; sys.exit(3)", "import sys; sys.exit(127)", "import os; os.abort()"]):
            shutil.rmtree(self.folder / "bin", ignore_errors=True)
            with self.subTest(number):
                found = self.verified(programs=self.programs_with_profiler(script))
                self.assertEqual(found["compared_with"], UNTILED)
                self.assertLess(found["largest_error_relative"], 1e-5)

    def test_what_the_profiler_refuses(self):
        engine = ["--engine", "libtorch", "--model", "vae", "--random-weights", "0", "-o", "r.json"]
        one = ["--layouts", "nchw", "--tilings", "whole"]
        for words, part in (
                ([*engine, *one, "--sizes", "48x40", "--latent", "latent.npy"], "--latent: expected the shape"),
                ([*engine, *one, "--sizes", "48x40,16x16", "--picture", "q.npy"], "--latent and --picture need one of --sizes"),
                ([*engine, "--sizes", "48x40", "--latent", "latent.npy"], "--latent and --picture need one of --sizes"),
                ([*engine, *one, "--sizes", "48x40", "--latent", "missing.npy"], "missing.npy"),
                (["--model", "vae", "--sizes", "16x16", "-o", "r.json", "--latent", "latent.npy"], "--latent goes with --plan"),
                (["--model", "vae", "--sizes", "16x16", "-o", "r.json", "--picture", "q.npy"], "go with --engine libtorch")):
            ended = self.run_program(BIN / "headroom-profile", *words)
            self.assertEqual(ended.returncode, 2, ended.stderr)
            self.assertEqual(ended.stderr.count("\n"), 1, ended.stderr)
            self.assertIn(part, ended.stderr)
        ended = self.run_program(BIN / "headroom-profile", *engine, *one, "--sizes", "32768x32768")
        self.assertEqual(ended.returncode, 3, ended.stderr)
        self.assertIn("are free", ended.stderr)
        self.assertFalse((self.folder / "r.json").exists())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    given, rest = parser.parse_known_args()
    BIN = given.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
