#!/usr/bin/env python3
"""Checks what README.md, HACKING.md, CONTRIBUTING.md and docs/ name: paths, links, commands, flags, functions, lines of diffs. No line is over 160
characters.

    python3 tests/docs/docs_test.py --bin build/bin

Flags are looked up in the programs' own --help. Programs that are not built are named, and their flags are not checked.
Every kind of fault is tried first: a made-up page has one of each, and each must be found.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_CHARACTERS = 160
MOST_DIFF_LINES = 100
SOURCES = {".cpp", ".h", ".cu", ".py", ".cmake"}
FOLDERS = ("decoder/", "profiler/", "planner/", "reports/", "gui/", "tests/", "docs/", "cmake/", ".ci/")
PATH = re.compile(r"(?<![\w./-])(?:" + "|".join(map(re.escape, FOLDERS)) + r")[\w./*{},-]*")
OTHERS_FILES = {"TorchConfig.cmake"}  # part of PyTorch's wheel
FILE_NAME = re.compile(r"^[\w*]+(\.cpp|\.h|\.cu|\.py|\.cmake)$")
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
PROGRAM = re.compile(r"(?:^|[\s/])(headroom-(?!cuda\b|progress\b|vae\b)[a-z]+)(?![\w.-])(?:\s+([a-z]+)(?=\s|$))?")
SCRIPT = re.compile(r"(?:reports|tests)/[\w/]+\.py")
# On these pages, code spans such as `name()` and `Name` must name something in the source.
NAMES_SOURCE = ("HACKING.md", "docs/architecture.md", "docs/models.md")
NAME = re.compile(r"^(?:\w+::)*(?:([A-Za-z_]\w*)\(\)|([A-Z][a-z]+(?:[A-Z][A-Za-z]*)+))$")


def tracked_files():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.split("\n") if listed.returncode == 0 else []
    if not names:  # not a git checkout but a release archive
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*")
                 if path.relative_to(ROOT).parts[0] not in ("build", "demo", ".git")]
    return [name for name in names if name and (ROOT / name).is_file()]


class Programs:
    """The --help texts of all programs."""

    def __init__(self, folder):
        self.folder = folder
        listed = "".join(path.read_text() for path in ROOT.glob("*/**/CMakeLists.txt") if "build" not in path.parts)
        self.names = set(re.findall(r"headroom_executable\(\s*(headroom-\w+)", listed))
        self.helps = {}

    def built(self, program):
        return (self.folder / program).is_file()

    def help(self, program, command=""):
        """The --help text of a program or one of its commands. None if the program is not built."""
        if not self.built(program):
            return None
        key = (program, command)
        if key not in self.helps:
            words = [str(self.folder / program)] + ([command] if command else []) + ["--help"]
            run = subprocess.run(words, capture_output=True, text=True, check=False, timeout=240,
                                 env={**os.environ, "QT_QPA_PLATFORM": "offscreen"})
            self.helps[key] = run.stdout if run.returncode == 0 else ""
        return self.helps[key]

    def has_command(self, program, command):
        return f"Usage: {program} {command} " in (self.help(program, command) or "")

    def commands(self, program):
        """Commands that the program's --help lists under `Commands`."""
        text = self.help(program) or ""
        if "Commands, each" not in text:
            return [""]
        words = re.findall(r"^  ([a-z]+)  ", text.split("Commands, each")[1].split("Usage:")[0], re.M)
        return [""] + [word for word in words if self.has_command(program, word)]

    def flags(self):
        """Flags of all built programs and their commands."""
        return set(FLAG.findall(" ".join(self.help(program, command) or "" for program in self.names
                                         for command in (self.commands(program) if self.built(program) else []))))


class Tree:
    """Files, targets, flags and words of the repository."""

    def __init__(self, programs):
        self.programs = programs
        self.files = tracked_files()
        self.paths = set(self.files) | {"/".join(name.split("/")[:n]) for name in self.files for n in range(1, name.count("/") + 1)}
        self.file_names = {name.rsplit("/", 1)[-1] for name in self.files}
        self.targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
        self.presets = {preset["name"] for preset in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]}
        texts = {name: (ROOT / name).read_text(errors="replace") for name in self.files
                 if Path(name).suffix in SOURCES or name.endswith("CMakeLists.txt")}
        self.cmake_text = "".join(text for name, text in texts.items() if name.endswith(("CMakeLists.txt", ".cmake")))
        self.words = set(re.findall(r"\w+", " ".join(text for name, text in texts.items() if not name.startswith("tests/docs/"))))
        self.script_flags = {flag for name, text in texts.items() if name.endswith(".py") and not name.startswith("tests/docs/")
                             for flag in FLAG.findall(text)}
        self.flags = programs.flags() | self.script_flags | {"--help", "--version", "--preset"}
        if not all(programs.built(name) for name in programs.names):  # flags of missing programs come from their sources
            self.flags |= {flag for name, text in texts.items() if "/program/" in name or name.startswith("decoder/cli/")
                           for flag in FLAG.findall(text)}

    def has_path(self, path):
        path = path.rstrip("/.,")
        variants = [path]
        while any("{" in variant for variant in variants):
            variants = [variant.replace(group, choice, 1) for variant in variants
                        for group in re.findall(r"\{[^}]*\}", variant)[:1] for choice in group[1:-1].split(",")]
        return all(any(ROOT.glob(variant)) if "*" in variant else variant in self.paths for variant in variants)

    def has_file_name(self, name):
        pattern = re.compile(re.escape(name).replace(r"\*", r"\w*") + "$")
        return any(pattern.match(other) for other in self.file_names)


def without_fences(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def anchor(heading):
    """Link anchor that GitHub generates for a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(text):
    return {anchor(heading) for heading in re.findall(r"^#+ (.+)$", without_fences(text), re.M)}


def code_of(text):
    """Yields (line number, code, is_block) for code spans and for lines of indented or fenced blocks."""
    fenced = False
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or (line.startswith("    ") and not re.match(r"\s+(-|\d+\.) ", line)):
            while line.endswith("\\") and number < len(lines):
                line = line[:-1] + lines[number]
                number += 1
            yield number, re.sub(r"\s#\s.*$", "", line), True
        else:
            for span in re.findall(r"`([^`]+)`", line):
                yield number, span, False


def check_program(tree, code, match):
    """Checks a command line from the program's name on. Returns its faults."""
    program, command = match.group(1), match.group(2) or ""
    if program not in tree.programs.names:
        return [f"no program {program}"]
    if not tree.programs.built(program):
        return []
    if command and not tree.programs.has_command(program, command):
        return [f"{program} has no command {command}"]
    known = set(FLAG.findall(tree.programs.help(program, command))) | {"--version"}
    named = FLAG.findall(re.split(r"[|;&]", code[match.start():])[0])
    return [f"{program} {command}".rstrip() + f" has no {flag}" for flag in named if flag not in known]


def check_flags(tree, code, block):
    match = PROGRAM.search(code)
    if match:
        return check_program(tree, code, match)
    script = SCRIPT.search(code)
    if script and script.group(0) in tree.paths:
        text = (ROOT / script.group(0)).read_text()
        return [f"{script.group(0)} has no {flag}" for flag in FLAG.findall(code)
                if flag != "--help" and flag not in text and flag not in tree.script_flags]
    # Blocks may show commands of other projects' programs, which are not checked.
    return [] if block else [f"no program or script has {flag}" for flag in FLAG.findall(code) if flag not in tree.flags
                             and not re.match(r"(cmake|ctest|ninja|git|torchrun|pip) ", code)]


def check_code(tree, page, code, block):
    faults = [f"no such path: {path}" for path in PATH.findall(code) if not tree.has_path(path)]
    if not block and FILE_NAME.match(code) and code not in OTHERS_FILES and not tree.has_file_name(code):
        faults.append(f"no file of this name: {code}")
    faults += check_flags(tree, code, block)
    faults += [f"no target of the Makefile: {target}" for target in re.findall(r"(?:^|\s)make ([a-z]+)(?=\s|$)", code)
               if target not in tree.targets]
    faults += [f"no preset: {preset}" for preset in re.findall(r"--preset[ =]([a-z]+)", code) if preset not in tree.presets]
    faults += [f"no option of CMake: {option}" for option in re.findall(r"-D(HEADROOM_\w+)", code) if option not in tree.cmake_text]
    name = NAME.match(code)
    if not block and name and page in NAMES_SOURCE:
        word = name.group(1) or name.group(2)
        if word not in tree.words:
            faults.append(f"no such name in the source: {word}")
    return faults


def check_links(page, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r"^\[\w+\]:\s+(\S+)", text, re.M):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        if not file.exists():
            yield f"link to nothing: {target}"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text() if path else text):
            yield f"link to no heading: {target}"


def check_diffs(text):
    """Added and unchanged lines of a diff must be in the file that it names. A diff has at most 100 lines."""
    for block in re.findall(r"^```diff\n(.*?)^```", text, re.M | re.S):
        lines = block.rstrip("\n").split("\n")
        if len(lines) > MOST_DIFF_LINES:
            yield f"a diff of {len(lines)} lines"
        current = set()
        for line in lines:
            if line.startswith("+++ b/"):
                file = ROOT / line[6:]
                current = {own.strip() for own in file.read_text().split("\n")} if file.is_file() else set()
            elif line[:1] in "+ " and line[1:].strip() and line[1:].strip() not in current:
                yield f"no such line: {line[1:].strip()}"


def check_page(tree, page, text):
    """Returns all faults of a page as text."""
    faults = [f"{page}:{number}: {len(line)} characters" for number, line in enumerate(text.split("\n"), 1) if len(line) > MOST_CHARACTERS]
    faults += [f"{page}: {fault}" for fault in [*check_links(page, text), *check_diffs(text)]]
    if page != "CHANGELOG.md":  # which also names removed features
        faults += [f"{page}:{number}: {fault}" for number, code, block in code_of(text) for fault in check_code(tree, page, code, block)]
    return faults


def check_glossary():
    """The glossary and the window's F1 page must have the same words and meanings."""
    source = (ROOT / "gui/view/glossary.cpp").read_text()
    pairs = re.findall(r'\{tr\("([^"]+)"\),\s*tr\(((?:"[^"]*"\s*)+)\)\}', source)
    window = [(word, "".join(re.findall(r'"([^"]*)"', pieces))) for word, pieces in pairs]
    page = (ROOT / "docs/glossary.md").read_text()
    rows = [(word, " ".join(text.split())) for word, text in re.findall(r"^\*\*([^*]+)\*\*: (.*?)(?=\n\n|\Z)", page, re.M | re.S)]
    return [] if window and window == rows else ["docs/glossary.md and gui/view/glossary.cpp differ"]


FAULTS = {
    "no such path: decoder/graphs": "`decoder/graphs`",
    "no such path: planner/search/{solver,unknown}.h": "`planner/search/{solver,unknown}.h`",
    "no file of this name": "`autoencoder_unknown.cpp`",
    "no program headroom-planner": "`headroom-planner --model sdxl`",
    "headroom-plan has no command foretell": "    headroom-plan foretell plan.json",
    "headroom-plan has no --limits": "    build/bin/headroom-plan --model sdxl --limits 1GiB",
    "headroom-plan explain has no --limit": "`headroom-plan explain --limit 1GiB`",
    "no program or script has --no-such-flag": "`--no-such-flag`",
    "reports/bench/demo.py has no --no-such-flag": "    python3 reports/bench/demo.py --no-such-flag",
    "no target of the Makefile: everything": "`make everything`",
    "no preset: fast": "    cmake --preset fast",
    "no option of CMake: HEADROOM_NOTHING": "`-DHEADROOM_NOTHING=ON`",
    "no such name in the source: lower_nothing": "`lower_nothing()`",
    "link to nothing: docs/unknown.md": "[link](docs/unknown.md)",
    "link to no heading: docs/formats.md#unknown": "[link](docs/formats.md#unknown)",
    "161 characters": "x" * 161,
    "no such line: int64_t nothing": "```diff\n+++ b/decoder/graph/graph.h\n+int64_t nothing = 0;\n```",
    "a diff of 101 lines": "```diff\n" + "-x\n" * 101 + "```",
}


def check_the_checks(tree):
    """Tests the checks. Returns faults that they miss in a broken page, and any that they report in a correct one."""
    missed = [f"not found: {fault}" for fault, line in FAULTS.items()
              if not any(fault in found for found in check_page(tree, "HACKING.md", "text\n" + line + "\n"))]
    sound = "`decoder/graph`, `headroom-plan explain plan.json --json`, `make demo`\n[a](docs/formats.md#latents)\n"
    return missed + [f"found where nothing is wrong: {fault}" for fault in check_page(tree, "HACKING.md", sound)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin", help="folder of the programs")
    programs = Programs(parser.parse_args().bin)
    if not programs.built("headroom-plan"):
        sys.exit(f"{programs.folder} has no headroom-plan: build it first")
    tree = Tree(programs)
    pages = ["README.md", "HACKING.md", "CONTRIBUTING.md", "CHANGELOG.md"] + [name for name in tree.files if name.startswith("docs/") and name.endswith(".md")]
    faults = check_the_checks(tree) + check_glossary()
    for page in pages:
        faults += check_page(tree, page, (ROOT / page).read_text())
    missing = sorted(name for name in programs.names if not programs.built(name))
    print(f"{len(pages)} pages, {len(FAULTS)} kinds of fault tried, {len(faults)} faults")
    if missing:
        print("not built, flags not checked:", *missing)
    print(*faults, sep="\n")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
