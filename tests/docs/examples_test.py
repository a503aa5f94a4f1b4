#!/usr/bin/env python3
"""Runs the examples of pages in docs/ and compares their output with the page.

    python3 tests/docs/examples_test.py --bin build/bin            # the test
    python3 tests/docs/examples_test.py --bin build/bin --update   # writes the output into the pages

Examples are indented lines that begin with `$ ` (shell) or `>>> ` (Python, one statement a line). The lines below them are their
output, standard error included. All examples of a page run in order, in one folder and one Python process. A Python block whose
first line is `# NAME.py` becomes that file. White space does not count, so the page may wrap long lines. A line of three points
stands for any lines. Measured output differs between runs: there only the words of the first line must agree, without numbers.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
os.environ["HEADROOM_CACHE"] = "off"  # the pages show plans of a machine that has not decoded yet
PAGES = ("docs/architecture.md", "docs/evidence.md", "docs/planning.md", "docs/tutorial.md")
INDENT = "    "
PROMPTS = ("$ ", ">>> ")
MEASURED = re.compile(r"build/bin/headroom-decode|--analyze")
NUMBER = re.compile(r"[+-]?\d[\d.e+-]*( ?(ms|s|%|[KMG]iB)\b)?")
WIDTH = 156
# Reads one statement a line, as JSON, and answers each with what it prints.
INTERPRETER = """
import contextlib, io, json, sys
names = {}
for line in sys.stdin:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(json.loads(line), "page", "single"), names)
        except Exception as error:
            printed.write(f"{type(error).__module__.split('.')[0]}.{type(error).__name__}: {error}")
    print(json.dumps(printed.getvalue()), flush=True)
"""


class Example(NamedTuple):
    prompt: str
    command: str
    printed: list  # lines on the page, without their indent
    begin: int     # lines of the page that `printed` has: [begin, end)
    end: int


def examples(lines):
    found, at = [], 0
    while at < len(lines):
        prompt = next((each for each in PROMPTS if lines[at].startswith(INDENT + each)), None)
        at += 1
        if prompt is None:
            continue
        begin = at
        while at < len(lines) and (lines[at].startswith(INDENT) or not lines[at]) and not lines[at].startswith(
                tuple(INDENT + each for each in PROMPTS)):
            at += 1
        end = at
        while end > begin and not lines[end - 1]:
            end -= 1
        found.append(Example(prompt, lines[begin - 1][len(INDENT + prompt):], [line[len(INDENT):] for line in lines[begin:end]], begin, end))
    return found


def words_of(lines):
    return " ".join(" ".join(lines).split())


def agrees(example, output):
    if MEASURED.search(example.command):
        first, shown = (NUMBER.sub("#", words_of(lines[:1])) for lines in (output.splitlines(), example.printed))
        return first.startswith(shown)  # the page may wrap the line
    parts, part = [], []
    for line in [*example.printed, None]:
        if line == "..." or line is None:
            parts.append(re.escape(words_of(part)))
            part = []
        else:
            part.append(line)
    return re.fullmatch(r"\s*.*?\s*".join(parts), words_of(output.splitlines())) is not None


def wrapped(output):
    lines = []
    for line in output.rstrip("\n").splitlines():
        lines += textwrap.wrap(line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) if len(line) > WIDTH else [line]
    return lines


def write_files(page, folder):
    for block in re.findall(r"^```python\n(# (\S+\.py)\n.*?)^```", page, re.MULTILINE | re.DOTALL):
        (folder / block[1]).write_text(block[0])


def outputs_of(page, found, build, folder):
    """The output of each example of a page, or None if its program is not built."""
    write_files(page, folder)
    (folder / "build").symlink_to(build)
    (folder / "tests").symlink_to(ROOT / "tests")
    python = build / "venv" / "bin" / "python"
    interpreter = None
    for example in found:
        program = python if example.prompt == ">>> " else re.search(r"build/(?:bin|tests|venv)/\S+", example.command)
        if program and not (folder / (program if program == python else program[0])).is_file():
            yield None
        elif example.prompt == "$ ":
            yield subprocess.run(["bash", "-c", example.command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 check=False, timeout=600).stdout
        else:
            interpreter = interpreter or subprocess.Popen(
                [python, "-W", "ignore", "-c", INTERPRETER], cwd=folder, env={**os.environ, "PYTHONPATH": str(build / "python")},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            print(json.dumps(example.command), file=interpreter.stdin, flush=True)
            yield json.loads(interpreter.stdout.readline())
    if interpreter:
        interpreter.communicate()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--bin", type=Path, required=True)
    arguments.add_argument("--update", action="store_true", help="write the output into the pages")
    arguments.add_argument("pages", nargs="*", default=PAGES)
    asked = arguments.parse_args()
    build = asked.bin.resolve().parent
    wrong, checked = [], 0
    for name in asked.pages:
        text = (ROOT / name).read_text()
        lines = text.split("\n")
        found = examples(lines)
        with tempfile.TemporaryDirectory() as folder:
            outputs = list(outputs_of(text, found, build, Path(folder)))
        for example, output in reversed(list(zip(found, outputs))):
            if output is None:
                print(f"{name}: not built: {example.command}")
                continue
            checked += 1
            if asked.update and "..." not in example.printed and (MEASURED.search(example.command) or not agrees(example, output)):
                lines[example.begin:example.end] = [(INDENT + line).rstrip() for line in wrapped(output)]
            elif not agrees(example, output):
                wrong.append(f"{name}: {example.command}\nprints\n{output}")
        if asked.update:
            (ROOT / name).write_text("\n".join(lines))
    print("\n".join(wrong) or f"{checked} examples print what the pages say")
    return 1 if wrong or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
