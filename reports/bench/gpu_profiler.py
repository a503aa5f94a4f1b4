#!/usr/bin/env python3
"""Traces and profiles of decodes on a GPU, held against the driver's word and against one another.

    python reports/bench/gpu_profiler.py --list
    python reports/bench/gpu_profiler.py --programs build/gpu/bin --part trace-1024,overhead -o reports/results/gpu-profiler.json
    python reports/bench/gpu_profiler.py --programs build/bin --rehearse -o /tmp/gpu-profiler.json    # the same on the CPU, tiny

After every step the results are written; a part that was cut off goes on with the step that it lacks; --again starts it anew. Ends with 1
where a part is not done or something in it is not as expected: docs/gpu.md says what is.
"""

import argparse
from typing import Any

import measure
from kept_parts import Session, Steps, as_plain, begin
from profiler_parts import PARTS, WORKS, Work
from profiler_text import TITLES, markdown


def run_part(session: Session, name: str) -> None:
    def work(entry: dict[str, Any]) -> None:
        of = Work(session.place, session.args.rehearse, session.args.sanitizer)
        findings, faults = WORKS[name](of, Steps(entry, session.clock, session.save))
        entry |= {"found": as_plain(findings), "faults": faults, "as_expected": not faults}

    session.run_part(name, TITLES[name], {"steps": {}, "found": None, "faults": []}, work)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sanitizer", help="compute-sanitizer, where it is not on the PATH")
    session = begin(parser, PARTS, markdown)
    return session.run(lambda name: run_part(session, name)) if session else 0


if __name__ == "__main__":
    measure.run_main(main)
