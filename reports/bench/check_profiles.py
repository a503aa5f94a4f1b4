#!/usr/bin/env python3
"""Profiles a quiet machine and one that others keep busy: seconds, what is refused, and how far held-out sizes are off.

    python reports/bench/check_profiles.py --model sdxl --random-weights 0 -o reports/results/profiles-sdxl-cpu.json

Others are loops that do nothing, one or as many as there are threads. Each profile is made with --hold-out. Where it is refused it is gone on with, for a second
and with --accept-noise, so that its errors are known too. Expected: of a quiet machine a whole profile within 60 s and a quick one within 10 s, both accepted; of a busy
one none accepted. Ends with 1 otherwise. Nothing else should run meanwhile.
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Iterator

import measure

WHOLE = ["--sizes", "512x512", "--hold-out", "320x256"]
LOOP = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"  # and ends with whoever started it
QUICK = ["--quick", "--sizes", "256x256", "--hold-out", "192x128"]


@contextlib.contextmanager
def busy(loops: int) -> Iterator[None]:
    running = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(loops)]
    try:
        yield
    finally:
        for loop in running:
            loop.kill()
            loop.wait()


def profiled(args: argparse.Namespace, words: list[str], file: Path) -> tuple[int, str, float]:
    command = [str(measure.BIN / "headroom-profile"), "--model", args.model, "--threads", str(args.threads), "-o", str(file), "--quiet", *words]
    command += ["--random-weights", str(args.random_weights)] if args.random_weights is not None else []
    start = time.perf_counter()
    ended = subprocess.run(command, capture_output=True, text=True)
    return ended.returncode, ended.stderr.strip(), time.perf_counter() - start


def case(args: argparse.Namespace, kind: str, words: list[str], loops: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "profile.json"
        with busy(loops):
            code, message, seconds = profiled(args, words, file)
            if code == 5:
                profiled(args, [*words, "--accept-noise", "--seconds", "1"], file)
        found = measure.json.loads(file.read_text())
        held_out = found["held_out"][0]
        plan_file = Path(folder) / "plan.json"
        measure.make_plan(args.model, (512, 512), measure.parse_bytes("1GiB"), plan_file, str(file))
        predicted = measure.json.loads(plan_file.read_text())["predicted"]
        row = {"kind": kind, "loops": loops, "seconds": seconds, "exit_code": code, "message": message.replace(folder, "…"),
               "precision": found["precision"], "held_out_error": held_out["error"],
               "largest_table_error": max(law["held_out_error"] for law in found["laws"]),
               "median_table_error": sorted(law["held_out_error"] for law in found["laws"])[len(found["laws"]) // 2],
               "predicted_seconds": predicted["seconds"], "within": predicted["seconds_high"] / predicted["seconds"] - 1}
    measure.note(f"{kind}, {loops} loops: {seconds:.1f} s, exit code {code}, held out {row['held_out_error']:+.1%}, within {row['within']:.0%}")
    return row


def table(rows: list[dict[str, Any]]) -> str:
    lines = [["profile", "others", "seconds", "", "held-out size", "median / worst table", "clock drift", "waited", "noisy points", "a plan's time, within"]]
    for row in rows:
        precision = row["precision"]
        lines.append([row["kind"], f"{row['loops']} loops" if row["loops"] else "none", f"{row['seconds']:.1f}",
                      "accepted" if row["exit_code"] == 0 else f"refused ({row['exit_code']})", f"{row['held_out_error']:+.1%}",
                      f"{row['median_table_error']:.1%} / {row['largest_table_error']:.0%}", f"{precision['clock_drift']:.1%}",
                      f"{precision['waited_share']:.0%}", f"{precision['noisy_points']} of {precision['points']}",
                      f"{row['predicted_seconds']:.1f} s ±{row['within']:.0%}"])
    return measure.markdown_table(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measure.add_run_arguments(parser, model="sdxl")
    parser.add_argument("--repeats", type=int, default=1, help="profiles of each case, default: %(default)s")
    args = measure.parse_run_arguments(parser)
    header = measure.result_header()
    cases = [("quick", QUICK, 0), ("quick", QUICK, 1), ("quick", QUICK, args.threads), ("whole", WHOLE, 0), ("whole", WHOLE, args.threads)]
    rows = [case(args, *each) for each in cases for _ in range(args.repeats)]
    title = f"Profiles of quiet and of busy processors, {Path(args.model).name}, fp32, {args.threads} threads"
    markdown = measure.markdown_header(title, header) + table(rows)
    markdown += (f"\nWhole: `{' '.join(WHOLE)}`; quick: `{' '.join(QUICK)}`. The held-out size is that of all its layers. The plan is of 512×512 without a limit.\n"
                 "Where a profile was refused, the errors are those of what it had measured. It said:\n\n")
    markdown += "".join(f"    {row['message']}\n" for row in rows if row["message"])
    measure.publish(args.output, {"title": title, **header, "rows": rows}, markdown)
    most = {"whole": 60, "quick": 10}
    good = all((row["exit_code"] == 0 and row["seconds"] <= most[row["kind"]]) if row["loops"] == 0 else row["exit_code"] == 5 for row in rows)
    return 0 if good else 1


if __name__ == "__main__":
    measure.run_main(main)
