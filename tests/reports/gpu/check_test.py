#!/usr/bin/env python3
"""What the GPU check decides without a GPU: which steps of a sitting begin, what its table has when it is cut off, whether binaries serve a
machine, what tests found, and where the clocks of both sides end.

    python3 -B tests/reports/gpu/check_test.py

Needs numpy and safetensors.
"""

import argparse
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "reports" / "gpu"), str(ROOT / "reports" / "bench")]
import binaries  # noqa: E402
import check_binaries  # noqa: E402
import gpu_cases  # noqa: E402
import gpu_contenders  # noqa: E402
import gpu_figures  # noqa: E402
import gpu_shapes  # noqa: E402
import measure  # noqa: E402
import sittings  # noqa: E402
import test_runs  # noqa: E402
from commands import Commands, Failed, Refused, Stopped  # noqa: E402
from sittings import Sat, Sitting, Step, sitting_table  # noqa: E402


class Killed(BaseException):
    """Whatever ends a process at once."""


class Clock:
    """Stands still but for what steps take."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


STEPS = (Step("start", 10, "build", builds=True), Step("a", 40, "tests"), Step("b", 30, "bench"), Step("c", 20, "shapes"))


class Sittings(unittest.TestCase):
    def setUp(self) -> None:
        self.found: dict = {}
        self.saved: list[dict] = []
        self.clock = Clock()
        self.given: dict[str, float] = {}

    def sat(self, seconds: float = 100, again: bool = False) -> Sat:
        return Sat(Sitting(seconds, STEPS), self.found, again, lambda: self.saved.append(json.loads(json.dumps(self.found))), self.clock)

    def work(self, takes: dict[str, float | BaseException]):
        def run(step: Step, seconds: float) -> str:
            self.given[step.name] = seconds
            what = takes.get(step.name, 1.0)
            if isinstance(what, BaseException):
                raise what
            self.clock.now += what
            return f"{step.name} ran"

        return run

    def statuses(self) -> dict[str, str]:
        return {name: entry["status"] for name, entry in self.found.items()}

    def test_all_that_fits_is_done_and_saved_before_and_after(self) -> None:
        self.assertTrue(self.sat().run(self.work({}), lambda: "id"))
        self.assertEqual(self.statuses(), {"start": "done", "a": "done", "b": "done", "c": "done"})
        self.assertEqual(len(self.saved), 8)
        self.assertEqual(self.found["b"]["note"], "b ran")
        self.assertEqual(self.given["a"], 40)

    def test_a_build_may_take_all_that_is_left(self) -> None:
        self.sat().run(self.work({}), lambda: "id")
        self.assertEqual(self.given["start"], 100)

    def test_what_does_not_fit_is_passed_by_and_says_why(self) -> None:
        self.assertFalse(self.sat(95).run(self.work({"start": 45, "a": 40}), lambda: "id"))
        self.assertEqual(self.statuses(), {"start": "done", "a": "done", "b": "skipped", "c": "skipped"})
        self.assertEqual(self.found["b"]["note"], "10 s left, and it may take 30")

    def test_a_short_step_still_begins_where_a_longer_one_did_not(self) -> None:
        self.sat(100).run(self.work({"start": 45, "a": 40}), lambda: "id")
        self.assertEqual(self.statuses(), {"start": "done", "a": "done", "b": "skipped", "c": "done"})
        self.assertEqual(self.given["c"], 15)  # all that is left, which is less than it may take

    def test_failures_do_not_end_the_sitting(self) -> None:
        self.assertFalse(self.sat().run(self.work({"a": Failed("wrong"), "b": Refused("not here"), "c": Stopped("time was up")}), lambda: "id"))
        self.assertEqual(self.statuses(), {"start": "done", "a": "failed", "b": "refused", "c": "stopped"})
        self.assertEqual(self.found["a"]["note"], "wrong")

    def test_without_programs_nothing_else_begins(self) -> None:
        self.sat().run(self.work({"start": Failed("no compiler")}), lambda: None)
        self.assertEqual(self.statuses(), {"start": "failed", "a": "skipped", "b": "skipped", "c": "skipped"})

    def test_a_killed_sitting_leaves_its_table_and_goes_on(self) -> None:
        with self.assertRaises(Killed):
            self.sat().run(self.work({"b": Killed()}), lambda: "id")
        self.found = self.saved[-1]  # what was written
        self.assertEqual(self.statuses(), {"start": "done", "a": "done", "b": "started"})
        with mock.patch.dict(sittings.SITTINGS, {"x": Sitting(100, STEPS)}):
            lines = sitting_table("x", self.found).splitlines()
        self.assertEqual([line.split("|")[2].strip() for line in lines[-4:]], ["done", "done", "started", "not run"])
        self.given.clear()
        self.assertTrue(self.sat().run(self.work({}), lambda: "id"))
        self.assertEqual(list(self.given), ["b", "c"])

    def test_another_build_and_again_begin_anew(self) -> None:
        self.sat().run(self.work({}), lambda: "id")
        self.given.clear()
        self.sat().run(self.work({}), lambda: "other")
        self.assertEqual(len(self.given), 4)
        self.given.clear()
        self.sat(again=True).run(self.work({}), lambda: "other")
        self.assertEqual(len(self.given), 4)

    def test_sittings_fit_and_name_parts_that_are_there(self) -> None:
        own = {"bench": gpu_cases.parts(), "shapes": list(gpu_shapes.PARTS)}
        for number, seconds in (("1", 360), ("2", 480), ("3", 600)):
            sitting = sittings.SITTINGS[number]
            self.assertEqual(sitting.seconds, seconds)
            self.assertLessEqual(sum(step.seconds for step in sitting.steps), seconds)
            for step in sitting.steps:
                for word in step.wanted.split(",") if step.part in own else ():
                    self.assertEqual([name for name in own[step.part] if name.startswith(word)], [word])


class Binaries(unittest.TestCase):
    def test_newest_symbols_count_numbers_not_letters(self) -> None:
        said = "Name: GLIBC_2.4  Name: GLIBC_2.34 Name: GLIBC_2.17\nName: GLIBCXX_3.4.9 Name: GLIBCXX_3.4.30"
        self.assertEqual(binaries.newest_symbols(said), {"GLIBC": "2.34", "GLIBCXX": "3.4.30"})

    def test_which_cards_kernels_are_for(self) -> None:
        cases = {("90-real", "9.0"): True, ("90-real", "8.9"): False, ("90-real", "10.0"): False, ("80-real", "8.6"): True,
                 ("86-real", "8.0"): False, ("90a-real", "9.0"): True, ("100-real", "10.3"): True, ("100a-real", "10.3"): False, ("120", "12.0"): True}
        for (architecture, capability), serves in cases.items():
            self.assertEqual(binaries.is_for(architecture, capability), serves, (architecture, capability))

    def test_binaries_of_other_sources_are_known(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            (root / "decoder").mkdir()
            (root / "decoder" / "one.cpp").write_text("int one;\n")
            before = binaries.sources_id(root)
            (root / "decoder" / "notes.md").write_text("not a source\n")
            self.assertEqual(binaries.sources_id(root), before)
            (root / "decoder" / "one.cpp").write_text("int two;\n")
            self.assertNotEqual(binaries.sources_id(root), before)

    def test_only_what_was_unpacked_is_removed(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            build = Path(name)
            (build / "bin").mkdir()
            binaries.remove(build)
            self.assertTrue((build / "bin").exists())  # a build of sources
            (build / binaries.DESCRIPTION).write_text("{}")
            binaries.remove(build)
            self.assertEqual(list(build.iterdir()), [])

    def match(self, card: dict | None = None, **about: str) -> None:
        good = {"sources": binaries.sources_id(ROOT), "torch": "2.11.0", "architecture": "90-real"}
        with mock.patch("importlib.metadata.version", return_value="2.11.0+cu130"):
            check_binaries.require_match(good | about, card)

    def test_what_does_not_match_says_why(self) -> None:
        self.match()
        self.match({"compute_capability": "9.0"})
        for words, about, card in (("other sources", {"sources": "0"}, None), ("for torch 2.10.0", {"torch": "2.10.0"}, None),
                                   ("compute capability is 8.0", {}, {"compute_capability": "8.0"})):
            with self.assertRaisesRegex(check_binaries.DoesNotStart, words):
                self.match(card, **about)

    def test_a_bundle_without_binaries_says_so(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            args = argparse.Namespace(bundle=Path(name), build=Path(name, "build"))
            self.assertEqual(check_binaries.try_binaries(args, Commands(None, Path(name), lambda: None), {}), "the bundle has none")


REPORT = """<?xml version="1.0" encoding="UTF-8"?>
<Catch name="test_x"><Group name="test_x">
<TestCase name="good"><OverallResult success="true"/></TestCase>
<TestCase name="absent"><Warning>skipped: no GPU: none here</Warning><OverallResult success="true"/></TestCase>
<TestCase name="bad"><Expression success="false"><Original>a == b</Original></Expression><OverallResult success="false"/></TestCase>
"""


class TestRuns(unittest.TestCase):
    """A made-up executable: tests `one` to `four, and more`, of which some end the process."""

    def program(self, folder: str, fatal: str) -> Path:
        file = Path(folder, "test_made_up")
        file.write_text(f"""#!{sys.executable}
import os, sys
names = ["one", "two", "three", "four, and more"]
if "--list-test-names-only" in sys.argv:
    print("\\n".join(names))
    sys.exit(len(names))
wanted = [line.strip() for line in open(sys.argv[sys.argv.index("-f") + 1])]
with open(sys.argv[sys.argv.index("-o") + 1], "w") as out:
    out.write("<Catch>")
    for name in names:
        if name.replace(",", chr(92) + ",") in wanted:
            out.write(f'<TestCase name="{{name}}">')
            out.flush()
            if name in {fatal!r}:
                os.abort()
            out.write('<OverallResult success="true"/></TestCase>')
    out.write("</Catch>")
""")
        file.chmod(0o755)
        return file

    def run_program(self, fatal: str) -> test_runs.Outcomes:
        with tempfile.TemporaryDirectory() as folder:
            return test_runs.run_programs(Commands(None, Path(folder), lambda: None), [self.program(folder, fatal)], 2)

    def test_a_test_that_ends_its_process_takes_no_other_with_it(self) -> None:
        found = self.run_program("two three")
        self.assertEqual((found.passed, found.skipped), (2, []))
        self.assertEqual(sorted(found.failed), ["test_made_up: three (ended with -6)", "test_made_up: two (ended with -6)"])
        self.assertEqual(self.run_program("").passed, 4)

    def test_time_that_is_up_is_no_failure(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            commands = Commands(None, Path(folder), lambda: None)
            program = self.program(folder, "")
            with commands.within(0.0):
                found = test_runs.run_some(commands, program, ["one", "two"])
        self.assertEqual((found.passed, found.failed, found.not_run), (0, [], 2))

    def test_a_report_as_far_as_it_goes(self) -> None:
        ended, running = test_runs.read_report(REPORT + '<TestCase name="fatal"><Info>x</')
        self.assertEqual((list(ended), running), (["good", "absent", "bad"], "fatal"))
        outcomes = test_runs.Outcomes()
        for case in ended.values():
            outcomes.add(test_runs.outcome_of("test_x", case))
        self.assertEqual((outcomes.passed, outcomes.failed, outcomes.skipped),
                         (1, ["test_x: bad"], ["test_x: absent (no GPU: none here)"]))
        self.assertIn("a == b", outcomes.log)


class Clocks(unittest.TestCase):
    def test_the_file_is_in_no_seconds(self) -> None:
        stats = {"seconds": 0.50, "output_wait_seconds": 0.20}
        self.assertAlmostEqual(gpu_contenders.seconds_on_card(stats), 0.30)
        self.assertEqual(gpu_contenders.file_seconds(stats), 0.20)
        self.assertEqual(gpu_contenders.seconds_on_card({"seconds": 0.50}), 0.50)  # by an earlier build

    def entry(self) -> dict:
        def run(seconds: float, **more: object) -> dict:
            return {"seconds": seconds, "first_seconds": seconds, "again_seconds": [seconds], "peak_bytes": 1, "largest_error_relative": 1e-3,
                    "psnr_db": 50.0, **more}

        return {"rounds": [{"runs": {"diffusers untiled": run(0.4), "diffusers compile": run(0.2, compile_seconds=31.5),
                                     "diffusers benchmark": {"error": "took longer than 100 s"},
                                     "Headroom, ample": run(0.1, file_seconds=0.04, engines=[{"name": "cuDNN 41", "compiled": False, "runs": 40}])}}],
                "plans": {"Headroom, ample": {"limit_bytes": 2, "predicted_peak_bytes": 2, "flops": 1e12}}, "reference": "a made-up one"}

    def test_contenders_stand_with_what_they_took_apart(self) -> None:
        entry = self.entry()
        gpu_figures.add_rows(entry, "bf16")
        rows = {row["name"]: row for row in entry["rows"]}
        self.assertEqual(rows["diffusers compile"]["compile_seconds"], 31.5)
        self.assertEqual(rows["Headroom, ample"]["file_seconds"], 0.04)
        self.assertAlmostEqual(rows["Headroom, ample"]["against_untiled"]["ratio"], 0.25)
        self.assertEqual(rows["diffusers benchmark"]["error"], "took longer than 100 s")
        self.assertTrue(entry["as_expected"])  # a contender that is left out is no fault of ours
        table = gpu_figures.case_table(entry)
        self.assertEqual(len({line.count("|") for line in table.strip().splitlines()}), 1)
        self.assertIn("31.5 s", table)
        self.assertIn("Convolutions of Headroom, ample: cuDNN 41 40×.", gpu_figures.engines_text(entry))
        entry["rounds"][0]["runs"]["Headroom, ample"]["engines"][0]["compiled"] = True
        gpu_figures.add_rows(entry, "bf16")
        self.assertFalse(entry["as_expected"])

    def test_a_child_that_takes_too_long_is_ended_with_its_own(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "took longer than 1 s"):
            measure.run(["bash", "-c", "sleep 600 & wait"], 1)


class Shapes(unittest.TestCase):
    def test_a_part_that_was_cut_off_has_its_rows(self) -> None:
        entry = {"title": "Made up", "date": "now", "build": "b", "card": "c", "status": "stopped", "command": "x", "steps": {
            "first": {"rows": [{"what": "a", "seconds": 0.002, "flops": 4e12}, {"what": "b", "error": "does not fit"}, {"what": "c", "seconds": 0.001}]},
            "second": {"rows": [], "error": "took longer than 60 s"}}}
        text = gpu_shapes.part_section("layers", entry, {"build": "b"})
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
        self.assertIn(["a", "2.000", "2000.0", "–", "2.00", "–"], cells)
        self.assertIn(["b", "does not fit", "–", "–", "–", "–"], cells)
        self.assertIn("took longer than 60 s", text)
        self.assertIn("stopped", text)


if __name__ == "__main__":
    unittest.main()
