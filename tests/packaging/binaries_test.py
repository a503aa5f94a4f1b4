"""Checks library search paths and hardening of the programs, libraries and modules in the build folder.

  python binaries_test.py --build build
"""
import argparse
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).resolve().parent / "check_binaries.py"
BUILD = Path()
HARDENED = True


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)


def check(*words):
    return run(sys.executable, "-B", CHECK, *words)


class Binaries(unittest.TestCase):
    def test_nothing_looks_into_the_current_folder(self):
        tests = [path for path in (BUILD / "tests").glob("test_*") if path.is_file()]
        done = check("--no-hardening", *tests, *(BUILD / name for name in ("bin", "lib", "python") if (BUILD / name).exists()))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_files_of_the_current_folder_are_not_loaded(self):
        """The loader rejects an empty file. A program that found it would not start."""
        for program in sorted(path for path in (BUILD / "bin").glob("headroom-*") if path.is_file()):
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "--dynamic", program).stdout)
            with tempfile.TemporaryDirectory() as folder:
                for name in needed:
                    Path(folder, name).touch()
                done = run(program, "--version", cwd=folder)
            self.assertEqual(done.returncode, 0, f"{program.name}: {done.stderr}")

    def test_own_files_are_hardened(self):
        if not HARDENED:
            self.skipTest("built with HEADROOM_HARDENED=OFF")
        done = check(*(BUILD / name for name in ("bin", "lib", "python") if (BUILD / name).exists()))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Check(unittest.TestCase):
    def check_of(self, name, *options):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "main.c")
            source.write_text('#include <stdio.h>\nint main(int count, char** words) { return printf("%s %d", words[0], count) < 0; }\n')
            built = run("gcc", source, "-o", Path(folder, name), *options)
            self.assertEqual(built.returncode, 0, built.stderr)
            source.unlink()
            return check(folder)

    def test_empty_and_relative_elements_are_faults(self):
        for path in ("/usr/lib:", ":/usr/lib", "/usr/lib::/opt", "lib", "$ORIGINAL"):
            for tags in ("--enable-new-dtags", "--disable-new-dtags"):
                done = self.check_of("program", f"-Wl,-rpath,{path},{tags}")
                self.assertEqual(done.returncode, 1, path)
                self.assertIn("relative to the current folder", done.stdout)
        for path in ("/usr/lib", "$ORIGIN", "$ORIGIN/../lib:/opt"):
            self.assertEqual(self.check_of("program", f"-Wl,-rpath,{path}").returncode, 0, path)

    def test_own_files_without_hardening_are_faults(self):
        done = self.check_of("headroom-program", "-no-pie")
        self.assertEqual(done.returncode, 1)
        for lacking in ("position independence", "immediate binding", "stack protector", "_FORTIFY_SOURCE"):
            self.assertIn(f"no {lacking}", done.stdout)

    def test_nothing_to_check_is_a_fault(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(check(folder).returncode, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--not-hardened", action="store_true")
    arguments, rest = parser.parse_known_args()
    BUILD, HARDENED = arguments.build.resolve(), not arguments.not_hardened
    unittest.main(argv=[sys.argv[0], *rest])
