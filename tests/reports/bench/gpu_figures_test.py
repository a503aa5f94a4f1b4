#!/usr/bin/env python3
"""What reports/bench/gpu_decode.py makes of the engines that convolutions ran by, and of decodes on a card that others use too.

    python3 tests/reports/bench/gpu_figures_test.py
"""

import copy
import importlib.util
import json
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "reports" / "bench"))
import gpu_tenants  # noqa: E402
from gpu_cases import TENANTS  # noqa: E402
from gpu_figures import add_rows, engines_text, part_section  # noqa: E402
from kept_parts import Clock, OutOfTime, Steps  # noqa: E402
from tenant_figures import judge, tenants_text  # noqa: E402

HEADROOM = "Headroom, ample"


def entry_of(rounds: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """A part of rounds with these engines, as expected but for what they are."""
    run = {"first_seconds": 1.0, "peak_bytes": 5, "largest_error_relative": 1e-3, "psnr_db": 60.0}
    theirs = {**run, "psnr_db": 50.0}
    return {"rounds": [{"runs": {"diffusers untiled": theirs, HEADROOM: {**run, "engines": engines}}} for engines in rounds],
            "plans": {HEADROOM: {"limit_bytes": 10, "predicted_peak_bytes": 6, "flops": 1}}, "convolution_rate": 1.0}


def engine(name: str, runs: int, compiled: bool = False) -> dict[str, Any]:
    return {"name": name, "compiled": compiled, "runs": runs}


class Engines(unittest.TestCase):
    def judged(self, *rounds: list[dict[str, Any]]) -> dict[str, Any]:
        entry = entry_of(list(rounds))
        add_rows(entry, "bf16")
        return entry

    def test_engines_that_are_there_are_as_expected_and_named(self) -> None:
        entry = self.judged([engine("cuDNN 41", 30), engine("own kernels", 1)], [engine("cuDNN 41", 32)])
        self.assertTrue(entry["as_expected"])
        self.assertIn(f"Convolutions of {HEADROOM}: cuDNN 41 32×, own kernels 1×.", engines_text(entry))

    def test_one_that_compiled_in_any_round_is_not(self) -> None:
        entry = self.judged([engine("cuDNN 41", 30)], [engine("cuDNN 41", 29), engine("cuDNN 7", 1, compiled=True)])
        self.assertFalse(entry["as_expected"])
        self.assertIn("cuDNN 7 (COMPILED) 1×", engines_text(entry))

    def test_statistics_without_engines_are_as_expected(self) -> None:
        entry = self.judged([])
        self.assertTrue(entry["as_expected"])
        self.assertEqual(engines_text(entry), "")


MIB = 1 << 20
REFUSAL = ("headroom-decode: cannot have 1.64 GiB of the GPU's memory: of 80.0 GiB, 1.06 GiB are free now; a plan for --limit 601882624 may run "
           "beside what uses the rest (takes 509.5 MiB, predicted 51.2 ms instead of 44.7 ms)")


def decoded(**more: Any) -> dict[str, Any]:
    return {"status": 0, "process_seconds": 3.0, "said": [], "left": ["run.npy", "run.stats.json"], "limit_bytes": 4096 * MIB,
            "peak_bytes": 1677 * MIB, "outside_bytes": 20 * MIB, "seconds": 0.1, "passes": 32, "picture": "one", "largest_error_relative": 1e-2,
            "psnr_db": 50.0, **more}


def tenants_found() -> dict[str, Any]:
    """All as expected."""
    refused = {"status": 3, "process_seconds": 2.0, "said": [REFUSAL], "left": [], "free_bytes": 1613 * MIB, "predicted_peak_bytes": 1677 * MIB}
    auto = decoded(limit_bytes=574 * MIB, peak_bytes=510 * MIB, picture="other", psnr_db=49.6, free_bytes=1613 * MIB)
    return {"alone": decoded(card_growth_bytes=2200 * MIB), "refused": refused, "auto": auto,
            "together": {"runs": [decoded(seconds=0.2), decoded(seconds=0.2)], "card_growth_bytes": 4400 * MIB, "at_once": True, "tries": 1}}


class Tenants(unittest.TestCase):
    def faults(self, step: str, dtype: str = "bf16", **other: Any) -> list[str]:
        """Of what is as expected but for one step's figures."""
        found = tenants_found()
        found[step] |= other
        return judge(found, dtype)

    def test_all_as_expected(self) -> None:
        self.assertEqual(judge(tenants_found(), "bf16"), [])
        self.assertEqual(self.faults("auto", psnr_db=None), [])  # equal to the reference
        self.assertEqual(self.faults("together", at_once=None), [])  # nobody counted

    def test_each_fault_is_named(self) -> None:
        beside, auto, two = "beside the tenant: ", "beside the tenant, `--limit auto`: ", "two at once: "
        cases: list[tuple[str, dict[str, Any], list[str]]] = [
            ("alone", {"peak_bytes": 4097 * MIB}, [f"by itself: a peak of {4097 * MIB} bytes, above its limit of {4096 * MIB}"]),
            ("refused", {"status": 4}, [beside + "ended with 4 instead of 3"]),
            ("refused", {"status": 0, "said": [], "left": ["run.npy"]},
             [beside + "ended with 0 instead of 3", beside + "said 0 lines instead of one", beside + "left run.npy"]),
            ("refused", {"said": [REFUSAL, "and more"]}, [beside + "said 2 lines instead of one"]),
            ("refused", {"said": ["headroom-decode: nothing may run beside what uses the rest"]}, [beside + "its line names no --limit N"]),
            ("refused", {"said": ["headroom-decode: use --limit N"]}, [beside + "its line names no --limit N"]),
            ("refused", {"free_bytes": 500 * MIB}, [beside + f"its line names --limit 601882624, and {500 * MIB} bytes were free"]),
            ("refused", {"left": ["run.npy.partial-17"]}, [beside + "left run.npy.partial-17"]),
            ("auto", {"status": 3, "said": ["does not fit"]}, [auto + "ended with 3, does not fit"]),
            ("auto", {"peak_bytes": 1614 * MIB, "limit_bytes": 2048 * MIB}, [auto + f"a peak of {1614 * MIB} bytes, and {1613 * MIB} were free"]),
            ("auto", {"peak_bytes": 600 * MIB}, [auto + f"a peak of {600 * MIB} bytes, above its limit of {574 * MIB}"]),
            ("auto", {"psnr_db": 49.4}, [auto + "PSNR 49.4 dB, by itself 50.0 dB"]),
            ("auto", {"error": "no tenant"}, [auto + "no tenant"]),
            ("together", {"at_once": False, "tries": 3}, [two + "in 3 tries they were not on the card at the same time"]),
            ("together", {"runs": [decoded(), decoded(picture="other")]}, [two + "picture 2 differs from that of the decode by itself"]),
            ("together", {"runs": [decoded(peak_bytes=4100 * MIB), decoded(status=3, said=["refused"])]},
             [f"two at once, 1: a peak of {4100 * MIB} bytes, above its limit of {4096 * MIB}", "two at once, 2: ended with 3, refused"])]
        for step, other, faults in cases:
            with self.subTest(step=step, **other):
                self.assertEqual(self.faults(step, **other), faults)

    def test_fp32_goes_by_its_largest_error(self) -> None:
        self.assertEqual(self.faults("auto", "fp32", psnr_db=40.0, largest_error_relative=1e-5), [])
        self.assertEqual(self.faults("auto", "fp32", largest_error_relative=2e-4),
                         ["beside the tenant, `--limit auto`: an error of 2.0e-04, above 0.0001"])

    def test_without_the_decode_by_itself_the_rest_is_judged(self) -> None:
        found = tenants_found() | {"alone": {"error": "took too long"}}
        found["auto"]["peak_bytes"] = 2000 * MIB
        self.assertEqual(len(judge(found, "bf16")), 3)  # that, and both of the peak's

    def test_what_was_not_run_is_no_fault(self) -> None:
        self.assertEqual(judge(tenants_found() | {"refused": {"not_run": "no card"}}, "bf16"), [])

    def test_two_reservations_are_told_from_two_contexts(self) -> None:
        alone = decoded(card_growth_bytes=2200 * MIB)  # of which 523 MiB are a context
        for growth, at_once in ((4400 * MIB, True), (2800 * MIB, False), (None, None)):
            self.assertIs(gpu_tenants.were_at_once(alone, growth), at_once)
        self.assertIsNone(gpu_tenants.were_at_once({"error": "failed"}, 4400 * MIB))

    def test_two_that_missed_each_other_are_tried_again(self) -> None:
        growths = iter([2800 * MIB, 4400 * MIB])
        work = mock.Mock()
        work.place.device = "cpu"
        with mock.patch.object(gpu_tenants, "decode", return_value=decoded()), \
                mock.patch.object(gpu_tenants, "growth_of", side_effect=lambda _: next(growths)):
            found = gpu_tenants.together(work, decoded(card_growth_bytes=2200 * MIB))
        self.assertEqual((found["tries"], found["at_once"], len(found["runs"])), (2, True, 2))

    def entry(self, found: dict[str, Any]) -> dict[str, Any]:
        faults = judge(found, "bf16")
        return {"title": "Made up", "date": "now", "build": "b", "card": "c", "status": "done", "command": "x", "reference": "a made-up one",
                "steps": found, "faults": faults, "as_expected": not faults}

    def cells(self, text: str) -> list[list[str]]:
        return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]

    def test_the_table_has_every_decode(self) -> None:
        text = part_section(TENANTS, self.entry(tenants_found()), {"build": "b"})
        rows = self.cells(text)
        self.assertIn(["by itself", "0", "–", "4096 MiB", "1677 MiB", "20 MiB", "0.1 s", "3 s", "50.0 dB"], rows)
        self.assertIn(["beside the tenant", "3", "1613 MiB", "–", "–", "–", "–", "2 s", "–"], rows)
        self.assertIn(["beside the tenant, `--limit auto`", "0", "1613 MiB", "574 MiB", "510 MiB", "20 MiB", "0.1 s", "3 s", "49.6 dB, other bits"], rows)
        self.assertIn(["two at once, 2", "0", "–", "4096 MiB", "1677 MiB", "20 MiB", "0.2 s", "3 s", "50.0 dB, equal bit for bit"], rows)
        self.assertIn(REFUSAL, text)
        self.assertIn("grew by 4400 MiB, by 2200 MiB with one", text)
        self.assertNotIn("NOT", text)

    def test_a_part_that_failed_or_was_cut_off_has_its_table(self) -> None:
        found = tenants_found()
        found["refused"], found["auto"] = {"not_run": "no card"}, {"error": "no tenant: nothing | free"}
        found["together"] |= {"at_once": False}
        text = part_section(TENANTS, self.entry(found), {"build": "b"})
        self.assertIn("NOT as expected: beside the tenant, `--limit auto`: no tenant: nothing | free.", text)
        self.assertIn("were NOT on the card at the same time", text)
        self.assertEqual({len(row) for row in self.cells(text)}, {9})
        self.assertEqual(len(self.cells(tenants_text(self.entry({"alone": tenants_found()["alone"]})))), 3)
        self.assertEqual(tenants_text(self.entry({})), "")


class TenantSteps(unittest.TestCase):
    """What is run, kept and gone on with, in a made-up place."""

    def setUp(self) -> None:
        self.work = mock.Mock(folder=Path("/made-up"), plan={"predicted_peak_bytes": 1677 * MIB})
        self.work.place.device = "cpu"
        self.entry: dict[str, Any] = {"steps": {}, "cut": {}}
        self.saved: list[dict[str, Any]] = []
        self.asked: list[str] = []

    def measure(self, steps: Steps | None = None, **ends: Exception) -> None:
        made_up = {"alone": "alone", "refused": "refused", "for_all_that_is_left": "auto", "together": "together"}

        def ended(name: str) -> dict[str, Any]:
            self.asked.append(name)
            if name in ends:
                raise ends[name]
            return tenants_found()[name]

        steps = steps or Steps(self.entry, Clock(None), lambda: self.saved.append(copy.deepcopy(self.entry)))
        patches = {function: mock.Mock(side_effect=lambda *_, name=name: ended(name)) for function, name in made_up.items()}
        with mock.patch.multiple(gpu_tenants, **patches), mock.patch.object(gpu_tenants, "Tenant"), mock.patch("measure.note"):
            gpu_tenants.measure_tenants(self.work, steps)

    def test_a_step_that_fails_takes_no_other_with_it(self) -> None:
        self.measure(refused=RuntimeError("/made-up/plan.json is not there"))
        self.assertEqual(self.asked, ["alone", "refused", "auto", "together"])
        self.assertEqual(judge(self.entry["steps"], "bf16"), ["beside the tenant: plan.json is not there"])

    def test_what_was_killed_goes_on_with_the_step_that_it_lacks(self) -> None:
        with self.assertRaises(KeyboardInterrupt):
            self.measure(auto=KeyboardInterrupt())
        self.entry = self.saved[-1]  # what was written
        self.assertEqual((list(self.entry["steps"]), self.entry["running"]), (["alone", "refused"], "auto"))
        self.asked.clear()
        self.measure()
        self.assertEqual(self.asked, ["auto", "together"])

    def test_short_steps_begin_where_little_time_is_left(self) -> None:
        clock = Clock(gpu_tenants.SHORT_SECONDS + 5)
        with self.assertRaises(OutOfTime):
            self.measure(Steps(self.entry, clock, lambda: None))
        self.measure(Steps(self.entry, clock, lambda: None, gpu_tenants.SHORT_SECONDS))
        self.assertEqual(self.asked, ["alone", "refused", "auto", "together"])


@unittest.skipUnless(importlib.util.find_spec("torch"), "no torch")
class AnotherProcess(unittest.TestCase):
    def test_it_says_what_is_free_and_ends_with_its_input(self) -> None:
        with gpu_tenants.Tenant("cpu", 0) as tenant:
            free = tenant.free_bytes()
            child = tenant.child
            self.assertGreater(free, 0)
            self.assertIsNone(child.poll())
            self.assertEqual(tenant.free_bytes(), free)
        self.assertEqual(child.returncode, 0)

    def test_one_that_cannot_hold_says_why(self) -> None:
        with gpu_tenants.Tenant("tpu", 0) as tenant, self.assertRaisesRegex(RuntimeError, "no tenant: .*tpu"):
            tenant.free_bytes()

    def test_what_it_says_is_json(self) -> None:
        with gpu_tenants.Tenant("cpu", 0) as tenant:
            ended = subprocess.run(tenant.command, input="", capture_output=True, text=True)
        self.assertEqual(json.loads(ended.stdout)["held_bytes"], 16 * MIB)


if __name__ == "__main__":
    unittest.main()
