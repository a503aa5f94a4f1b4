#!/usr/bin/env python3
"""Runs the commands of docs/architecture.md and docs/planning.md that begin with $ and compares their output with the page.

    python3 tests/docs/examples_test.py --bin build/bin

A line of three points on a page stands for any lines. Commands of a page run one after another in one folder.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/architecture.md", "docs/planning.md")
PROMPT = "    $ "


def examples(page):
    """Each command of a page, with its expected output."""
    command, printed = None, []
    for line in [*page.split("\n"), "end"]:
        if command is not None and (line.startswith(PROMPT) or (line and not line.startswith("    "))):
            while printed and not printed[-1]:
                printed.pop()
            yield command, printed
            command, printed = None, []
        if line.startswith(PROMPT):
            command = line[len(PROMPT):]
        elif command is not None:
            printed.append(line[4:])


def pattern_of(printed):
    parts = [r"(?:.*\n)*?" if line == "..." else re.escape(line) + r" *\n" for line in printed]
    return re.compile("".join(parts))


def run(command, folder):
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, done.stdout, done.stderr


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--bin", type=Path, required=True)
    build = arguments.parse_args().bin.resolve().parent
    wrong, checked = [], 0
    for name in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "build").symlink_to(build)
            for command, printed in examples((ROOT / name).read_text()):
                program = re.search(r"build/\S+", command)[0]
                if not (Path(folder) / program).is_file():
                    print(f"{name}: {program} is not built")
                    continue
                code, out, err = run(command, folder)
                checked += 1
                if code != 0 or not pattern_of(printed).fullmatch(out):
                    wrong.append(f"{name}: {command}\nends with {code} and prints\n{out}{err}")
    print("\n".join(wrong) or f"{checked} commands print what the pages say")
    return 1 if wrong or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
