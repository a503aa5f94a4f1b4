"""Files that would cost much more than they are worth: reading one takes at most 4 times its size and 64 MiB, and at most 256 MiB
before it is refused with exit code 2. The operating system says how much was resident.

  python small_files_test.py --bin build/bin
"""
import argparse
import gzip
import json
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN = Path("build/bin")
MODEL = Path(__file__).resolve().parents[2] / "data/demo_model"
MIB = 1 << 20


# Starts a program from a small process: a child's peak counts what its parent held before it became the program.
MEASURE = """import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)])
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss << 10)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def run(*words):
    """Exit code, output and peak of resident bytes of a program."""
    done = subprocess.run([sys.executable, "-S", "-c", MEASURE, *map(str, words)], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr, int(done.stdout)


def safetensors(names, width):
    """A file whose header has so many empty tensors."""
    entries = (f'"{i:0{width}}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}' for i in range(names))
    header = ("{" + ",".join(entries) + "}").encode()
    return struct.pack("<Q", len(header)) + header


class SmallFiles(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name)

    def check_refused(self, name, content, says, program="headroom-report"):
        file = self.folder / name
        with file.open("wb") as opened:
            for part in content if isinstance(content, list) else [content]:
                opened.write(part)
        words = [BIN / "headroom-report", file, "-o", self.folder / "o.html"]
        if program == "headroom-decode":
            words = [BIN / program, "--limit", "1GiB", "--model", MODEL, "--latent", file, "-o", self.folder / "o.png"]
        code, error, peak = run(*words)
        self.assertEqual(code, 2, error)
        self.assertEqual(len(error.splitlines()), 1, error)
        self.assertIn(says, error)
        most = min(4 * file.stat().st_size + 64 * MIB, 256 * MIB)
        self.assertLessEqual(peak, most, f"{name}: {peak / MIB:.0f} MiB for {file.stat().st_size / MIB:.1f} MiB")

    def test_one_long_string_in_a_compressed_file(self):
        mixed = random.Random(1).randbytes(1_600_000).hex().encode()
        self.check_refused("a.json.gz", gzip.compress(b'{"a":"' + mixed + b"a" * 150_000_000 + b'"}', 1), "strings of at most 1 MiB")

    def test_one_long_string(self):
        self.check_refused("a.json", [b'{"a":"', *[b"a" * MIB] * 200, b'"}'], "strings of at most 1 MiB")

    def test_neither_strings_nor_numbers(self):
        self.check_refused("a.json", [b'{"a":[', *[b"[]," * (MIB // 3)] * 200, b"[]]}"], "strings of at most 1 MiB")
        self.check_refused("b.json", [b'{"a":[', *[b"true," * (MIB // 5)] * 200, b"true]}"], "strings of at most 1 MiB")

    def test_many_names_of_tensors(self):
        self.check_refused("long.safetensors", safetensors(800_000, 20), "header length: expected at most", "headroom-decode")
        self.check_refused("many.safetensors", safetensors(450_000, 7), "at most 131072 tensors", "headroom-decode")

    def test_dense_pickles(self):
        for name, each in (("tuples", b"\x85"), ("lists", b"]"), ("marks", b"(")):
            self.check_refused(f"{name}.pickle", b"\x80\x04N" + each * 16_000_000 + b".", "times its bytes in memory")

    def test_a_pickle_with_a_high_memo_index(self):
        size = 40_000_000
        self.check_refused("memo.pickle", b"\x80\x04Nr" + struct.pack("<I", size - 1) + b"N" * size + b".", "times its bytes in memory")

    def test_a_trace_of_many_devices(self):
        events = [{"name": "[memory]", "ph": "i", "ts": i, "pid": 1, "tid": 1, "args": {"Bytes": 1, "Addr": i, "Device Type": 1, "Device Id": i}}
                  for i in range(2000)]
        self.check_refused("devices.json", json.dumps({"traceEvents": events}).encode(), "at most 1024 devices")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, default=BIN)
    arguments, rest = parser.parse_known_args()
    BIN = arguments.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
