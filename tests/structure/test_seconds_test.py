#!/usr/bin/env python3
"""Stores the seconds of each CTest test as a page of results.

    test_seconds_test.py --store BUILD    writes reports/results/test-seconds.md from CTest's log of the last run in a build folder

The run must have been a whole one, such as that of `make test`.
"""

import os
import re
import sys
import unittest
from pathlib import Path

from cpp_source import ROOT

PAGE = ROOT / "reports/results/test-seconds.md"
LISTED_SECONDS = 1.0
TEST = re.compile(r"^\d+/(\d+) Testing: (.+?)\n.*?^Test time = +([\d.]+) sec", re.MULTILINE | re.DOTALL)


def seconds_in(log: str) -> dict[str, float]:
    """Seconds by test. A test that runs with programs of two builds has the sum. Raises ValueError if the log is not of a whole run."""
    found = TEST.findall(log)
    total = max((int(count) for count, _, _ in found), default=0)
    if not found or len(found) < total:
        raise ValueError(f"the log has {len(found)} of {total} tests; expected a whole run. Run `make test` first")
    seconds: dict[str, float] = {}
    for _, name, taken in found:
        seconds[name] = seconds.get(name, 0) + float(taken)
    return seconds


def label_of(test: str) -> str:
    return test.split(":")[0]


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, ("---",) * len(header), *rows)) + "\n"


def page(seconds: dict[str, float], processors: int) -> str:
    labels: dict[str, list[float]] = {}
    for test, taken in seconds.items():
        labels.setdefault(label_of(test), []).append(taken)
    by_label = sorted(labels.items(), key=lambda each: (-sum(each[1]), each[0]))
    slow = sorted((each for each in seconds.items() if each[1] >= LISTED_SECONDS), key=lambda each: (-each[1], each[0]))
    return (f"# Seconds of tests\n\n"
            f"The last full run had {len(seconds)} tests on {processors} processors. They take {sum(seconds.values()):.0f} s together, each\n"
            f"counted by the clock while others run beside it. `tests/structure/test_seconds_test.py --store build` writes this page.\n\n"
            f"## By label\n\n" +
            table(("label", "tests", "seconds", "slowest"),
                  [(label, str(len(times)), f"{sum(times):.1f}", f"{max(times):.1f}") for label, times in by_label]) +
            f"\n## Tests of at least {LISTED_SECONDS:.0f} s\n\n" +
            table(("seconds", "test"), [(f"{taken:.1f}", test.replace("|", "\\|")) for test, taken in slow]))


class TestSeconds(unittest.TestCase):
    LOG = ("1/4 Testing: a: slow\n1/4 Test: a: slow\nCommand: x\nOutput:\nTest time\n<end of output>\nTest time =   2.25 sec\n---\n"
           "2/4 Testing: b\nTest time =   0.25 sec\nTest Passed.\n3/4 Testing: a: x|y: z\nTest time =   1.00 sec\n"
           "4/4 Testing: b\nTest time =   0.25 sec\n")

    def test_page(self):
        seconds = seconds_in(self.LOG)
        self.assertEqual(seconds, {"a: slow": 2.25, "b": 0.5, "a: x|y: z": 1.0})
        text = page(seconds, 2)
        self.assertIn("had 3 tests on 2 processors. They take 4 s", text)
        self.assertIn("| a | 2 | 3.2 | 2.2 |\n| b | 1 | 0.5 | 0.5 |\n", text)
        self.assertTrue(text.endswith("| --- | --- |\n| 2.2 | a: slow |\n| 1.0 | a: x\\|y: z |\n"))

    def test_refuses_part_of_a_run(self):
        for log in ("", self.LOG[:self.LOG.index("4/4")]):
            with self.assertRaises(ValueError):
                seconds_in(log)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--store":
        log = Path(sys.argv[2]) / "Testing/Temporary/LastTest.log"
        try:
            PAGE.write_text(page(seconds_in(log.read_text(errors="replace")), os.cpu_count() or 1))
        except (OSError, ValueError) as error:
            sys.exit(f"{log}: {error}")
    else:
        unittest.main()
