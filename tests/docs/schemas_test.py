"""Validates files of each kind, written by the programs, against docs/schemas.

  python schemas_test.py --bin build/bin
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import jsonschema

BIN = Path()
ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "docs/schemas"
sys.path.insert(0, str(ROOT / "tests/planner/decode_program"))
import tiny_decode  # noqa: E402

REQUESTS = [{"name": "a", "width_pixels": 16, "height_pixels": 16, "count": 2, "latent": "latent.npy", "output": "a-{i}.npy"},
            {"name": "b", "width_pixels": 24, "height_pixels": 16, "batch": 1, "latent": ["wide.npy"], "output": "b.npy"}]


def validator(kind):
    schema = json.loads((SCHEMAS / f"{kind}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


class Schemas(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name)
        tiny_decode.write_in(self.folder)
        (self.folder / "wide.npy").write_bytes(tiny_decode.normal((1, 4, 8, 12)))
        (self.folder / "requests.json").write_text(json.dumps({"schema": "headroom.requests", "version": 1, "model": "vae",
                                                               "requests": REQUESTS}))

    def write(self, program, *words):
        done = subprocess.run([str(word) for word in (BIN / program, *words)], cwd=self.folder, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, f"{program} {words}: {done.stderr}")

    def check(self, kind, name):
        document = json.loads((self.folder / name).read_text())
        faults = [f"{name}: {'.'.join(map(str, fault.absolute_path))}: {fault.message[:200]}"
                  for fault in validator(kind).iter_errors(document)]
        self.assertEqual(faults[:3], [])
        return document

    def test_all_that_is_written(self):
        size = ["--model", "vae", "--size", "16x16"]
        decode = ["--model", "vae", "--random-weights", "0", "--latent", "latent.npy", "-o", "o.npy"]
        plans = {"plain": [*size, "--limit", "64MiB"],
                 "cuda": [*size, "--limit", "64MiB", "--device", "cuda", "--dtype", "bf16"],
                 "ranks": [*size, "--limit", "64MiB", "--ranks", "2"],
                 "scratch": ["--model", "sdxl", "--size", "1024x1024", "--limit", "280MiB", "--scratch", "/var/tmp"],
                 "host": ["--model", "sdxl", "--size", "2048x2048", "--dtype", "bf16", "--device", "cuda", "--limit", "900MiB",
                          "--host-limit", "8GiB"],
                 "clip": ["--model", "wan2.1", "--size", "64x64", "--frames", "9", "--limit", "600MiB"]}
        for name, words in plans.items():
            self.write("headroom-plan", *words, "-o", f"{name}.json")
            self.check("plan", f"{name}.json")
        self.write("headroom-plan", "frontier", *size, "--points", "4", "-o", "frontier.json")
        self.check("frontier", "frontier.json")
        self.write("headroom-plan", "queue", "requests.json", "--limit", "64MiB", "-o", "queue.json")
        self.check("requests", "requests.json")
        self.check("requests", "queue.json")
        self.write("headroom-decode", "--plan", "plain.json", *decode, "--stats", "stats.json", "--trace", "trace.json")
        self.check("stats", "stats.json")
        self.check("trace", "trace.json")
        self.write("headroom-decode", "--plan", "plain.json", *decode, "--stats", "verified.json", "--verify")
        self.check("stats", "verified.json")
        self.write("headroom-decode", "--queue", "queue.json", "--model", "vae", "--random-weights", "0", "--stats", "queue-stats.json")
        self.check("stats", "queue-stats.json")
        if (BIN / "headroom-profile").exists():
            self.write("headroom-profile", "--model", "vae", "--random-weights", "0", "--sizes", "16x16,32x16", "--accept-noise", "-o", "profile.json")
            self.check("profile", "profile.json")
            self.write("headroom-plan", *size, "--limit", "64MiB", "--profile", "profile.json", "-o", "profiled.json")
            self.check("plan", "profiled.json")

    def test_a_profile_of_a_busy_machine_is_refused(self):
        """Two threads on one processor disturb each other like other programs would, so the profile is noisy."""
        if not (BIN / "headroom-profile").exists():
            self.skipTest("no headroom-profile")
        words = ["headroom-profile", "--model", "vae", "--random-weights", "0", "--sizes", "32x32", "--threads", "2", "-o", "profile.json"]
        one = {min(os.sched_getaffinity(0))}
        ended = subprocess.run([str(BIN / words[0]), *words[1:]], cwd=self.folder, capture_output=True, text=True, check=False,
                               preexec_fn=lambda: os.sched_setaffinity(0, one))
        self.assertEqual(ended.returncode, 5, ended.stderr)
        self.assertRegex(ended.stderr, r"too noisy to plan by: .* \d+ %.*--accept-noise\n$")
        self.assertFalse((self.folder / "profile.json").exists())
        self.write(*words, "--accept-noise")

    def test_files_that_are_checked_in(self):
        for path in sorted((ROOT / "docs/tour").glob("*.json")):
            document = json.loads(path.read_text())
            kind = document["schema"].removeprefix("headroom.")
            self.assertEqual([fault.message[:200] for fault in validator(kind).iter_errors(document)][:3], [], path.name)

    def test_every_kind_of_file_has_one(self):
        named = set()
        for folder in ("decoder", "planner", "profiler", "reports"):
            for path in (ROOT / folder).rglob("*.cpp"):
                named |= set(re.findall(r'"headroom\.(\w+)"', path.read_text()))
        named.discard("errors")  # a Python module, not a kind of file
        self.assertEqual(named, {path.stem for path in SCHEMAS.glob("*.json")})

    def test_what_is_missing_or_of_another_type_is_found(self):
        size = ["--model", "vae", "--size", "16x16"]
        self.write("headroom-plan", *size, "--limit", "64MiB", "-o", "plan.json")
        self.write("headroom-plan", "frontier", *size, "--points", "2", "-o", "frontier.json")
        for kind in ("plan", "frontier"):
            held = validator(kind)
            document = json.loads((self.folder / f"{kind}.json").read_text())
            for key in held.schema["required"]:
                without = {name: value for name, value in document.items() if name != key}
                self.assertFalse(held.is_valid(without), key)
                self.assertFalse(held.is_valid({**document, key: {"another": "type"}} if not isinstance(document[key], dict)
                                               else {**document, key: 7}), key)
            self.assertTrue(held.is_valid({**document, "of_a_later_release": 1}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    arguments, rest = parser.parse_known_args()
    BIN = arguments.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
