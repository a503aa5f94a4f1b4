#!/usr/bin/env python3
"""How the check for machines with a GPU collects and reports, without a GPU.

    python3 -B tests/reports/gpu/check_test.py

Needs numpy and safetensors.
"""

import contextlib
import io
import json
import sys
import tarfile
import tempfile
import time
import unittest
import zipfile
from pathlib import Path
from unittest import mock

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "reports" / "gpu"), str(ROOT / "reports" / "bench")]
import binaries  # noqa: E402
import check  # noqa: E402
import headroom_side  # noqa: E402
import smoke  # noqa: E402
from place import Done, Place  # noqa: E402
from report import Report  # noqa: E402

FAILING = """Filters: x
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
-------------------------------------------------------------------------------
a name that is longer than a line of the console, so that it is broken before
its end
-------------------------------------------------------------------------------
/src/one_test.cpp:12
...............................................................................

/src/one_test.cpp:20: FAILED:
  CHECK( 1 == 2 )

0.012 s: a name that is longer than a line
-------------------------------------------------------------------------------
only warns
-------------------------------------------------------------------------------
/src/two_test.cpp:3: warning:
  libraries took 3 bytes

===============================================================================
test cases:  3 |  2 passed | 1 failed
assertions: 30 | 29 passed | 1 failed
"""


class Rows(unittest.TestCase):
    def rows_of(self, work) -> tuple[list[dict], Report]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            report = Report(60)
            work(report)
        return [json.loads(line) for line in out.getvalue().splitlines()], report

    def test_an_error_is_a_row_and_the_next_step_runs(self) -> None:
        def work(report: Report) -> None:
            report.step("first", lambda: 1 // 0)
            report.step("second", lambda: report.row("second", "fine"))

        rows, report = self.rows_of(work)
        self.assertEqual([(row["what"], row["ok"]) for row in rows], [("first", False), ("second", True)])
        self.assertIn("ZeroDivisionError", rows[0]["found"][0])
        self.assertTrue(report.failed)

    def test_a_step_without_time_is_not_run_and_says_so(self) -> None:
        rows, _ = self.rows_of(lambda report: report.step("long", lambda: report.row("never"), needs_seconds=100))
        self.assertEqual(len(rows), 1)
        self.assertRegex(rows[0]["found"][0], "not run: [0-9]+ s left, needs 100")


class Parts(unittest.TestCase):
    def collect(self, code: str, seconds: float) -> tuple[list[dict], str, str, float]:
        with tempfile.TemporaryDirectory() as folder, mock.patch("place.wheel_libraries", return_value=[]):
            begun, log = time.monotonic(), Path(folder, "log")
            rows, how = check.collect([sys.executable, "-c", code], Place(Path(folder)), seconds, log)
            return rows, how, log.read_text(), time.monotonic() - begun

    def test_a_part_that_is_ended_keeps_its_rows_and_leaves_no_process(self) -> None:
        code = ("import json, subprocess, sys, time\n"
                "print(json.dumps({'what': 'a', 'found': ['1'], 'ok': True}), flush=True)\n"
                "print('not a row', flush=True)\n"
                "print('for the log', file=sys.stderr, flush=True)\n"
                "subprocess.Popen(['sleep', '60']); time.sleep(60)")
        rows, how, log, seconds = self.collect(code, 5)
        self.assertEqual([row["what"] for row in rows], ["a"])
        self.assertIn("FAILED: ended after 5 s", how)
        self.assertIn("for the log", log)
        self.assertIn("not a row", log)
        self.assertLess(seconds, 50)

    def test_the_exit_code_says_how_it_went(self) -> None:
        self.assertEqual([self.collect(f"raise SystemExit({code})", 20)[1] for code in (0, 1, 3)], ["passed", "FAILED", "FAILED: exit code 3"])

    def test_at_most_sixty_lines_of_a_page_are_printed(self) -> None:
        rows = [{"what": f"row {i} | x", "found": ["1"] * (1 + i % 3), "ok": True} for i in range(200)]
        with mock.patch("check.machine_lines", return_value="One card\nTwo versions"):
            page = check.table("smoke", rows, "passed", 12.3, "abc", Place(Path("x")))
        self.assertEqual(page.count("\n| row "), len(rows))
        text = check.shortened(page, "gpu-smoke.md")
        self.assertEqual(len(text.splitlines()), check.MOST_LINES)
        left = len(rows) - text.count("\n| row ")
        self.assertIn(f"… {left} more rows in gpu-smoke.md\n\n    python3 reports/gpu/check.py smoke\n", text)
        self.assertEqual(check.shortened("short\n", "gpu-smoke.md"), "short\n")
        self.assertEqual(len({line.count("|") for line in text.splitlines() if line.startswith("|")}), 1)


class Smoke(unittest.TestCase):
    def test_catch2_says_what_failed(self) -> None:
        self.assertEqual(smoke.read_tests(FAILING), (2, ["a name that is longer than a line of the console, so that it is broken before its end"]))
        self.assertEqual(smoke.read_tests("All tests passed (6709 assertions in 7 test cases)\n"), (7, []))
        self.assertEqual(smoke.read_tests(""), (0, []))

    def test_processes_that_die_and_those_without_time_are_told_apart(self) -> None:
        ended = {"test_a 0": Done(0, "All tests passed (3 assertions in 3 test cases)\n", 1.0), "test_a 1": Done(1, FAILING, 1.0),
                 "test_b 0": Done(-11, "0.1 s: one\nlast words\n", 1.0), "test_b 1": Done(None, "", 0.0)}
        out, first = io.StringIO(), smoke.FirstFailure()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            smoke.report_tests(Report(60), ended, {name: [name.split()[0]] for name in ended}, first)
        rows = [json.loads(line) for line in out.getvalue().splitlines()]
        self.assertEqual(rows[0]["found"], ["5 passed, 1 failed, 2 processes died or had no time"])
        self.assertEqual([row["what"].strip()[:8] for row in rows[1:]], ["test_a: ", "test_b 0", "test_b 1"])
        self.assertEqual(first.command[0], "test_a")

    def test_latents_are_those_of_the_golden_pictures(self) -> None:
        for name in smoke.GOLDEN:
            folder = smoke.GOLDEN_FOLDER / name
            expected = np.load(folder / "expected.npy")
            self.assertEqual(smoke.golden_latent(folder, expected).shape[0], expected.shape[0], name)

    def test_a_wrong_picture_is_a_fault(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            expected = np.load(smoke.GOLDEN_FOLDER / "plain" / "expected.npy")
            magnitude = np.abs(expected).max()
            for dtype, error, right in (("fp32", 1e-5, True), ("fp32", 1e-3, False), ("bf16", 1e-3, True), ("bf16", 1e-1, False), ("fp16", 1e-2, False)):
                np.save(Path(name, f"plain.{dtype}.npy"), expected + np.float32(error * magnitude))
                self.assertEqual(smoke.judge(Path(name), f"plain {dtype}") is None, right, (dtype, error))


class Bundles(unittest.TestCase):
    def test_newest_symbols_count_numbers_not_letters(self) -> None:
        told = "Name: GLIBC_2.4  Name: GLIBC_2.34 Name: GLIBC_2.17\nName: GLIBCXX_3.4.9 Name: GLIBCXX_3.4.30"
        self.assertEqual(binaries.newest_symbols(told), {"GLIBC": "2.34", "GLIBCXX": "3.4.30"})

    def test_a_program_that_needs_more_than_the_wheels_is_not_carried(self) -> None:
        program = Path(sys.executable).resolve()
        with mock.patch("subprocess.run") as run:
            run.return_value.stdout = "(NEEDED) Shared library: [libwebp.so.7]\n(NEEDED) Shared library: [libc.so.6]\n (NEEDED) Shared library: [libc10.so]\n"
            with tempfile.TemporaryDirectory() as name:
                self.assertEqual(binaries.missing_libraries([program], [Path(name)]), {program.name: ["libwebp.so.7", "libc10.so"]})
                Path(name, "libc10.so").touch()
                self.assertEqual(binaries.missing_libraries([program], [Path(name)]), {program.name: ["libwebp.so.7"]})

    def test_a_bundle_is_unpacked_once_and_another_anew(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            bundle, build = Path(name, "bundle"), Path(name, "build")
            with self.assertRaisesRegex(RuntimeError, "no bundle"):
                binaries.unpack(bundle, build)
            (bundle / "wheels").mkdir(parents=True)
            with zipfile.ZipFile(bundle / "wheels" / "headroom-0.1.0-cp312-abi3-linux_x86_64.whl", "w") as wheel:
                wheel.writestr("headroom_vae/__init__.py", "")
            for commit in ("one", "two"):
                (Path(name) / binaries.DESCRIPTION).write_text(json.dumps({"commit": commit}))
                with tarfile.open(bundle / binaries.PACKED, "w:xz") as archive:
                    archive.add(Path(name) / binaries.DESCRIPTION, binaries.DESCRIPTION)
                self.assertEqual(binaries.unpack(bundle, build)["commit"], commit)
                self.assertTrue((build / "site" / "headroom_vae" / "__init__.py").exists())
                (build / "kept").touch()
                binaries.unpack(bundle, build)
                self.assertTrue((build / "kept").exists())


class Clocks(unittest.TestCase):
    def test_the_file_is_in_no_seconds(self) -> None:
        self.assertAlmostEqual(headroom_side.seconds_on_card({"seconds": 0.50, "output_wait_seconds": 0.20}), 0.30)
        self.assertEqual(headroom_side.seconds_on_card({"seconds": 0.50}), 0.50)

    def test_parts_and_engines_of_statistics(self) -> None:
        stats = {"seconds": 0.1, "peak_bytes": 5, "parts": [{"name": "copies", "seconds": 0.001}, {"name": "convolution", "seconds": 0.02}],
                 "engines": [{"name": "cuDNN 41", "compiled": False, "runs": 40}, {"name": "own kernels", "compiled": True, "runs": 2}]}
        decoded = headroom_side.Decoded(np.zeros(1), stats, [0.2, 0.1, 0.3])
        self.assertEqual(decoded.parts, "convolution 20.0, copies 1.0")
        self.assertEqual(decoded.engines, "cuDNN 41 ×40, own kernels (compiled) ×2")
        self.assertEqual(decoded.times, "200.0 ms (100.0–300.0), first 0.10 s")


if __name__ == "__main__":
    unittest.main()
