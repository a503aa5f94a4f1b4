"""Files that would cost much more than they are worth. SECURITY.md says what reading one takes at most. The operating system says how much was resident.

  python small_files_test.py --bin build/bin
"""
import argparse
import gzip
import pickle
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


# A memory snapshot up to its first record, and a record of it whose address and time are to be put in.
KEYS = ("alloc", "action", "addr", "size", "stream", "time_us")
SNAPSHOT_BEGIN = b"\x80\x04}\x8c\x0ddevice_traces]](" + b"".join(
    b"\x8c" + bytes([len(key)]) + key.encode() + b"q" + bytes([i]) + b"0" for i, key in enumerate(KEYS))
RECORD = b"}\x94(h\x01h\x00h\x02\x8a\x08%bh\x03M\x00\x02h\x04K\x00h\x05\x8a\x08%b" + b"u"


class SmallFiles(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name)

    def check_refused(self, name, content, says, program="headroom-report", most=None):
        file = self.folder / name
        with file.open("wb") as opened:
            for part in content if isinstance(content, list) else [content]:
                opened.write(part)
        words = {
            "headroom-report": [file, "-o", self.folder / "o.html"],
            "headroom-plan": ["validate", file],
            "headroom-decode": ["--limit", "1GiB", "--model", MODEL, "--latent", file, "-o", self.folder / "o.png"],
            "queue": ["--queue", file, "--model", MODEL],
        }[program]
        code, error, peak = run(BIN / ("headroom-decode" if program == "queue" else program), *words)
        self.assertEqual(code, 2, error)
        self.assertEqual(len(error.splitlines()), 1, error)
        self.assertIn(says, error)
        most = min(4 * file.stat().st_size + 64 * MIB, 256 * MIB) if most is None else most
        self.assertLessEqual(peak, most, f"{name}: {peak / MIB:.0f} MiB for {file.stat().st_size / MIB:.1f} MiB")

    def test_a_compressed_file(self):
        self.check_refused("a.json.gz", gzip.compress(bytes(100 * MIB)), "this is no JSON object")

    def test_one_long_string(self):
        self.check_refused("a.json", [b'{"a":"', *[b"a" * MIB] * 200, b'"}'], "strings of at most 1 MiB")

    def test_neither_strings_nor_numbers(self):
        self.check_refused("a.json", [b'{"a":[', *[b"[]," * (MIB // 3)] * 200, b"[]]}"], "strings of at most 1 MiB")
        self.check_refused("b.json", [b'{"a":[', *[b"true," * (MIB // 5)] * 200, b"true]}"], "strings of at most 1 MiB")

    def test_values_of_json(self):
        for program, schema, version in (("headroom-plan", "plan", 4), ("headroom-report", "profile", 3), ("queue", "requests", 1)):
            head = f'{{"schema":"headroom.{schema}","version":{version},"a":['.encode()
            for value in (b'{"a":1},', b"[0,64],", b"0,"):
                content = [head, *[value * (MIB // len(value))] * 30, b"0]}"]
                self.check_refused("a.json", content, "at most 192 MiB in memory", program)
        # Larger values are read, and take as much as JSON may.
        content = [b'{"schema":"headroom.plan","version":4,"a":[', *[b"[0,64]," * (MIB // 7)] * 8, b"0]}"]
        for program in ("headroom-plan", "headroom-report"):
            self.check_refused("a.json", content, "request: missing", program, most=256 * MIB)

    def test_many_names_of_tensors(self):
        self.check_refused("long.safetensors", safetensors(800_000, 20), "header length: expected at most", "headroom-decode")
        self.check_refused("many.safetensors", safetensors(450_000, 7), "at most 131072 tensors", "headroom-decode")

    def test_dense_pickles(self):
        for name, each in (("tuples", b"\x85"), ("lists", b"]"), ("marks", b"(")):
            self.check_refused(f"{name}.pickle", b"\x80\x04N" + each * 16_000_000 + b".", "times its bytes in memory")

    def test_a_pickle_with_a_high_memo_index(self):
        size = 40_000_000
        self.check_refused("memo.pickle", b"\x80\x04Nr" + struct.pack("<I", size - 1) + b"N" * size + b".", "times its bytes in memory")

    def test_a_long_pickle_is_not_read_to_its_end(self):
        content = [b"\x80\x04N" + b"\x85" * 5_000_000, *[bytes(MIB)] * 300, b"."]
        self.check_refused("long.pickle", content, "times its bytes in memory", most=80 * MIB)

    def test_a_snapshot_of_many_records(self):
        parts = [SNAPSHOT_BEGIN]
        parts += [RECORD % (struct.pack("<q", 0x7F0000000000 + 512 * i), struct.pack("<q", 10**15 + i)) for i in range(1_400_000)]
        file = self.folder / "snapshot.pickle"
        file.write_bytes(b"".join(parts) + b"eas.")
        code, error, peak = run(BIN / "headroom-report", file, "-o", self.folder / "o.html")
        self.assertEqual(code, 0, error)
        self.assertLessEqual(peak, 4 * file.stat().st_size + 64 * MIB, f"{peak / MIB:.0f} MiB for {file.stat().st_size / MIB:.1f} MiB")

    def test_a_snapshot_that_repeats_a_record_or_has_a_stack_for_each(self):
        spare = b"\x8c\x01x](" + b"M\x00\x01" * 2_000_000 + b"es"
        first = RECORD % (bytes(8), bytes(8)) + b"r\xff\x00\x00\x00"
        content = [b"\x80\x04}", spare, SNAPSHOT_BEGIN[3:], first, b"h\xff" * 1_900_000, b"eas."]
        self.check_refused("repeated.pickle", content, "records that take at most 4 times the file")
        draw = random.Random(1)
        names = [{"name": str(i), "filename": "a.py", "line": i} for i in range(200)]
        records = [{"action": "alloc", "addr": i, "size": 1, "frames": draw.choices(names, k=100)} for i in range(30_000)]
        self.check_refused("stacks.pickle", pickle.dumps({"device_traces": [records], "segments": []}), "records that take at most 4 times the file")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, default=BIN)
    arguments, rest = parser.parse_known_args()
    BIN = arguments.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
