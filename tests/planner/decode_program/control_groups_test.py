"""--limit auto in control groups that end a process which takes more: the largest picture that the plan says fits is decoded,
alive. As root, in a group of its own; says so where there is none.

  python control_groups_test.py --bin build/bin [--model sdxl] [--sizes 512,1024] [--limits 256,512,2048]
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import tiny_decode

BIN = Path()
MODEL = "taesd"
SIZES = [512, 1024]
LIMITS_MIB = [96, 200, 256]


class Group:
    """A memory group below this process's own."""

    def __init__(self, limit_bytes):
        self.folder = self._own_folder() / f"headroom-test-{os.getpid()}"
        self.folder.mkdir()
        try:
            (self.folder / "memory.max").write_text(str(limit_bytes))
        except OSError:
            self.folder.rmdir()
            raise

    @staticmethod
    def _own_folder():
        own = re.search(r"^0::(.*)$", Path("/proc/self/cgroup").read_text(), re.MULTILINE)
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            mount = line.split()
            if own and mount[mount.index("-") + 1] == "cgroup2":
                found = Path(mount[4] + own[1])
                if "memory" in (found / "cgroup.subtree_control").read_text().split():
                    return found
        raise OSError("no memory controller of version 2")

    def run(self, *words):
        def enter():
            (self.folder / "cgroup.procs").write_text(str(os.getpid()))
        return subprocess.run([str(word) for word in words], preexec_fn=enter, capture_output=True, text=True, check=False)

    def most_bytes(self):
        return int((self.folder / "memory.peak").read_text())

    def remove(self):
        self.folder.rmdir()


class ControlGroups(unittest.TestCase):
    def group(self, limit_bytes):
        try:
            group = Group(limit_bytes)
        except OSError as refused:
            self.skipTest(f"no control group can be made here: {refused}")
        self.addCleanup(group.remove)
        return group

    def test_automatic_limits_are_survived(self):
        with tempfile.TemporaryDirectory() as temporary:
            for limit_mib in LIMITS_MIB:
                with self.subTest(limit_mib=limit_mib):
                    self.check(self.group(limit_mib << 20), limit_mib, Path(temporary))
                    self.doCleanups()

    def check(self, group, limit_mib, folder):
        fits = []
        for size in SIZES:
            planned = group.run(BIN / "headroom-plan", "--model", MODEL, "--size", f"{size}x{size}", "--limit", "auto",
                                "-o", folder / "plan.json")
            self.assertIn(planned.returncode, (0, 3), planned.stderr)
            if planned.returncode == 0:
                fits.append(size)
        self.assertTrue(fits, f"nothing fits {limit_mib} MiB")
        latent = folder / "latent.npy"
        latent.write_bytes(tiny_decode.normal((1, 4, fits[-1] // 8, fits[-1] // 8)))
        ended = group.run(BIN / "headroom-decode", "--limit", "auto", "--model", MODEL, "--random-weights", "0",
                          "--latent", latent, "-o", folder / "picture.png")
        self.assertEqual(ended.returncode, 0, f"{limit_mib} MiB, {fits[-1]} pixels: {ended.stderr}")
        chosen = re.search(r"peak (.*?) \(predicted (.*?), limit (.*?)\)", ended.stdout)
        print(f"{limit_mib} MiB: {MODEL} {fits[-1]}x{fits[-1]}, "
              f"limit {chosen[3]}, predicted {chosen[2]}, peak {chosen[1]}, group's own peak "
              f"{group.most_bytes() / (1 << 20):.1f} MiB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--limits", default=",".join(map(str, LIMITS_MIB)))
    arguments, rest = parser.parse_known_args()
    BIN = arguments.bin.resolve()
    MODEL = arguments.model
    SIZES = [int(size) for size in arguments.sizes.split(",")]
    LIMITS_MIB = [int(limit) for limit in arguments.limits.split(",")]
    unittest.main(argv=[sys.argv[0], "-v", *rest])
