"""Command lines and environments drawn from a seed end with a documented exit code and one line, never as an internal error.

  python drawn_lines_test.py --bin build/bin [--seed 1] [--seconds 8]
"""
import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import tiny_decode

BIN = Path()
SEED, SECONDS = 1, 8.0
CODES = {0, 2, 3, 4, 5}
PROGRAMS = [("headroom-decode",), ("headroom-plan",), ("headroom-plan", "frontier"), ("headroom-plan", "queue"),
            ("headroom-plan", "explain"), ("headroom-plan", "validate"), ("headroom-plan", "diff"), ("headroom-report",),
            ("headroom-profile",)]
VALUES = [b"", b"-1", b"0", b"1", b"16x16", b"64MiB", b"auto", b"1e999", b"nan", b"99999999999999999999", b"m\xff", b"o\xff.npy",
          b"vae", b"latent.npy", b"plan.json", b"o.png", b"o.npy", b"missing/o.png", b"/proc/self/mem", b"/dev/null", b"/dev/full", b".",
          b"cpu", b"fp32", b"bf16", b"a" * 300, b"\x1b[31m\n", b"{i}", b"sdxl"]
GOOD = {"headroom-decode": [b"--model", b"vae", b"--random-weights", b"0", b"--latent", b"latent.npy", b"--limit", b"64MiB", b"-o", b"o.png"],
        "headroom-plan": [b"--model", b"vae", b"--size", b"16x16", b"--limit", b"64MiB", b"-o", b"o.json"],
        "headroom-report": [b"plan.json", b"-o", b"o.html"], "headroom-profile": [b"--model", b"vae"]}
ENVIRONMENTS = {b"TMPDIR": [b"/nonexistent", b"", b"/proc/self/mem", b"t\xff", b"."], b"HOME": [b"/nonexistent", b"", b"h\xff"],
                b"LANG": [b"xx_XX.UTF-8", b"C", b"l\xff"], b"COLUMNS": [b"0", b"-1", b"x"]}


class DrawnLines(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        tiny_decode.write_in(self.folder)
        os.symlink("vae", os.fsencode(self.folder) + b"/m\xff")
        self.run_line([b"headroom-plan", *GOOD["headroom-plan"][:-1], b"plan.json"])

    def run_line(self, line, environment=None):
        program = os.fsencode(BIN) + b"/" + line[0]
        return subprocess.run([program, *line[1:]], cwd=self.folder, env={**os.environb, **(environment or {})}, timeout=60,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)

    def check_line(self, line, environment=None, codes=frozenset(CODES)):
        ended = self.run_line(line, environment)
        with self.subTest(seed=SEED, line=line, environment=environment):
            said = ended.stderr.decode(errors="replace")
            self.assertIn(ended.returncode, codes, said)
            self.assertNotIn("internal error", said)
            if ended.returncode != 0:
                failures = [text for text in said.splitlines() if "warning" not in text and "note" not in text]
                self.assertEqual(len(failures), 1, said)

    def test_odd_names_and_folders(self):
        size = [b"--size", b"16x16"]
        for line in ([b"headroom-plan", b"--model", b"m\xff", *size, b"--limit", b"64MiB", b"-o", b"o.json"],
                     [b"headroom-plan", b"frontier", b"--model", b"m\xff", *size, b"--points", b"2", b"-o", b"o.json"],
                     [b"headroom-decode", b"--model", b"m\xff", *GOOD["headroom-decode"][2:]],
                     [b"headroom-report", b"/proc/self/mem", b"-o", b"o.html"]):
            if (BIN / line[0].decode()).exists():
                self.check_line(line, codes={0, 2})
        for folder in (b"/nonexistent", b"t\xff"):  # which one process needs no longer
            self.check_line([b"headroom-decode", *GOOD["headroom-decode"]], {b"TMPDIR": folder}, {0})

    def test_drawn(self):
        draw = random.Random(SEED)
        programs = [words for words in PROGRAMS if (BIN / words[0]).exists()]
        options = {}
        for words in programs:
            text = subprocess.run([BIN / words[0], *words[1:], "--help"], capture_output=True, text=True, check=True).stdout
            options[words] = sorted(set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text)) - {"--ranks"})
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            words = draw.choice(programs)
            line = [word.encode() for word in words]
            if draw.random() < 0.7:
                line += GOOD[words[0]]
            for _ in range(draw.randint(0, 3)):
                line.append(draw.choice(options[words]).encode())
                if draw.random() < 0.8:
                    line.append(draw.choice(VALUES))
            environment = {name: draw.choice(values) for name, values in ENVIRONMENTS.items() if draw.random() < 0.2}
            self.check_line(line, environment)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    arguments, rest = parser.parse_known_args()
    BIN, SEED, SECONDS = arguments.bin.resolve(), arguments.seed, arguments.seconds
    unittest.main(argv=[sys.argv[0], *rest])
