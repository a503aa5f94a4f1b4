"""Options in drawn pairs: a decode writes what is asked for, or refuses options that have no effect.

  python option_pairs_test.py --bin build/bin [--draws 30]
"""
import argparse
import json
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import tiny_decode

BIN = Path()
DRAWS = 30
DECODE_OPTIONS = {
    "--profile": ["none.json"], "--dtype": ["bf16"], "--device": ["cpu"], "--tf32": [],
    "--scratch": ["."], "--scratch-limit": ["1GiB"], "--stats": ["stats.json"], "--trace": ["trace.json"],
    "--verify": [], "--fps": ["25"], "--quality": ["50"], "--preview": ["preview.ppm"],
    "--rank-timeout": ["5"], "--rank-exchange": ["gloo"], "--json": [],
}
WRITTEN = ("--stats", "--trace", "--preview")


class OptionPairs(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        tiny_decode.write_in(self.folder, (1, 4, 32, 32))
        self.model = ["--model", "vae"]
        self.size = [*self.model, "--size", "64x64"]
        self.weights = [*self.model, "--random-weights", "0"]
        ended = self.call("headroom-plan", *self.size, "--limit", "1KiB", "--json", "-o", "none.json")
        self.assertEqual(ended.returncode, 3)
        self.smallest = json.loads(ended.stdout)["smallest_limit_bytes"]

    def call(self, program, *words):
        return subprocess.run([BIN / program, *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=240)

    def assert_refused(self, ended, *parts, codes=(2,)):
        self.assertIn(ended.returncode, codes, ended.stderr)
        self.assertEqual(ended.stderr.count("\n"), 1, ended.stderr)
        for part in parts:
            self.assertIn(part, ended.stderr)

    def pairs(self, options):
        draws = random.Random(7)
        for _ in range(DRAWS):
            chosen = draws.sample(sorted(options), draws.choice([1, 2, 2]))
            yield draws, chosen, [word for option in chosen for word in [option, *options[option]]]

    def test_decodes_with_any_two_options_write_what_is_asked_for_or_are_refused(self):
        self.assertEqual(self.call("headroom-plan", *self.size, "--limit", "64MiB", "-o", "plan.json").returncode, 0)
        for draws, chosen, words in self.pairs(DECODE_OPTIONS):
            source = draws.choice([["--plan", "plan.json"], ["--limit", "64MiB"]])
            for option in WRITTEN:
                (self.folder / DECODE_OPTIONS[option][0]).unlink(missing_ok=True)
            with self.subTest(words=words, source=source):
                ended = self.call("headroom-decode", *source, *self.weights, "--latent", "latent.npy", "-o", "picture.npy", *words)
                if ended.returncode != 0:
                    self.assert_refused(ended)
                    continue
                for option in set(chosen) & set(WRITTEN):
                    self.assertTrue((self.folder / DECODE_OPTIONS[option][0]).exists(), option)

    def test_what_no_device_has_is_refused_with_what_to_use(self):
        for command in ([], ["frontier"]):
            limit = [] if command else ["--limit", self.smallest]
            ended = self.call("headroom-plan", *command, *self.size, *limit, "--host-limit", "8MiB", "-o", "plan.json")
            self.assert_refused(ended, "--host-limit", "--scratch", "--device cuda")
            self.assertFalse((self.folder / "plan.json").exists())

    def test_options_without_effect_are_refused(self):
        plan = ["headroom-plan", *self.size, "--limit", "64MiB", "-o", "plan.json"]
        self.assertEqual(self.call(*plan).returncode, 0)
        decode = ["headroom-decode", *self.weights, "--latent", "latent.npy", "-o", "picture.npy", "--stats", "stats.json"]
        self.assertEqual(self.call(*decode, "--plan", "plan.json").returncode, 0)
        profile = ["headroom-profile", *self.weights, "--plan", "plan.json", "-o", "trace.json"]
        refused = [
            ([*plan, "--other-environment"], "--other-environment: goes with --profile"),
            (["headroom-plan", "explain", "plan.json", "--schedule", "--analyze", "stats.json"], "--schedule: not with"),
            (["headroom-plan", "explain", "plan.json", "--quick", "--profile", "p.json"], "--profile: "),
            ([*decode, "--plan", "plan.json", "--profile", "p.json"], "--profile: goes with --limit"),
            ([*decode, "--plan", "plan.json", "--tf32"], "--tf32: goes with --limit; a plan has its own"),
            ([*decode, "--limit", "64MiB", "--tf32"], "--tf32: TF32 needs fp32 on cuda, found fp32 on cpu"),
            ([*decode, "--plan", "plan.json", "--scratch", "."], "--scratch: plan.json keeps nothing"),
            ([*decode, "--plan", "plan.json", "--rank-timeout", "5"], "--rank-timeout: goes with several ranks"),
            ([*decode, "--queue", "queue.json", "--trace", "t.json"], "--trace: not with --queue"),
            (["headroom-report", "plan.json", "--json", "--frames", "9"], "--frames: goes with"),
            (["headroom-report", "plan.json", "--json", "--recorded-device", "cuda:0"], "--recorded-device: goes with"),
            (["headroom-report", "stats.json", "--json", "--model", "vae"], "--model: goes with"),
        ]
        if (BIN / "headroom-profile").exists():
            refused.append(([*profile, "--dtype", "bf16"], "--dtype, --tf32, --direction and --repeats do not go with --plan"))
        for words, part in refused:
            with self.subTest(words=words):
                self.assert_refused(self.call(*words), part)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=DRAWS)
    arguments, rest = parser.parse_known_args()
    BIN, DRAWS = arguments.bin.resolve(), arguments.draws
    unittest.main(argv=[sys.argv[0], *rest])
