#!/usr/bin/env python3
"""Generates man pages and bash and zsh completion of all programs from their --help.

    python3 cmake/help_pages.py --bin build/bin --out build/share

Writes man/man1/, bash-completion/completions/ and zsh/site-functions/ below the folder. Skips programs that are not built.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

PROGRAMS = ("headroom-decode", "headroom-gui", "headroom-plan", "headroom-profile", "headroom-report")
GROUP = re.compile(r"^(?P<group>[A-Z][\w ]*):$")
OPTION = re.compile(r"^ {2,4}(?P<names>--?[\w-]+(?:,--?[\w-]+)*)(?P<rest>.*)$")
POSITIONAL = re.compile(r"^ {2}(?P<name>[A-Za-z]\w*) (?P<type>[A-Z]+)\b(?P<rest>.*)$")
COMMAND = re.compile(r"^ {2}([a-z]+) {2,}(\S.*)$", re.M)


class Option:
    """One option of a program or a command."""

    def __init__(self, names, rest, group="Options"):
        self.names = names
        self.group = group
        head, gap, text = rest.partition("  ")
        self.type = head.strip()
        self.text = text.strip() if gap else ""
        self.choices = []
        listed = re.search(r"\{([^}]*)\}", self.type) or re.match(r"([a-z0-9]+(?:\|[a-z0-9]+)+)\b", self.type)
        if listed:
            self.choices = re.split(r"[,|]", listed.group(1))

    def takes_value(self):
        return bool(self.choices or re.match(r"[A-Z]", self.type)) and not self.type.startswith("Excludes")

    def value(self):
        return "|".join(self.choices) if self.choices else re.match(r"[A-Z]+", self.type).group(0)


class Page:
    """The parsed --help of a program or of one of its commands."""

    def __init__(self, program, command, text):
        self.program, self.command = program, command
        before, usage, after = text.partition("Usage: ")
        self.usage = after.split("\n")[0] if usage else " ".join(filter(None, (program, command)))
        self.commands = COMMAND.findall(before.split("Commands, each")[1]) if "Commands, each" in before else []
        self.description = before.split("Commands, each")[0].strip()
        tail = re.search(r"^Exit codes: .*", before, re.M)
        self.exit_codes = tail.group(0).split(": ", 1)[1] if tail else ""
        self.description = self.description.split("Exit codes:")[0].strip()
        self.options, self.positionals = [], []
        last, group = None, ""
        for line in after.split("\n")[1:]:
            if GROUP.match(line):
                group = GROUP.match(line)["group"]
            option, positional = OPTION.match(line), POSITIONAL.match(line)
            if option:
                last = Option(option["names"].split(","), option["rest"], group)
                self.options.append(last)
            elif positional:
                last = Option([positional["name"]], f" {positional['type']}{positional['rest']}")
                self.positionals.append(last)
            elif last is not None and line.startswith("      "):
                last.text = (last.text + " " + line.strip()).strip()

    def name(self):
        return "-".join(filter(None, (self.program, self.command)))


def help_of(folder, program, command=""):
    words = [str(folder / program)] + ([command] if command else []) + ["--help"]
    run = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60,
                         env={**os.environ, "QT_QPA_PLATFORM": "offscreen"})
    return Page(program, command, run.stdout)


def pages_of(folder, program):
    """The program's page, and those of its commands."""
    first = help_of(folder, program)
    return [first] + [help_of(folder, program, command) for command, _ in first.commands]


# man

def roff(text):
    """Escapes text for groff: no line is a request, and minus signs can be copied."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    escaped = "".join(letter if ord(letter) < 128 else f"\\[u{ord(letter):04X}]" for letter in escaped)
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in escaped.split("\n"))


def man_description(text):
    """Fills paragraphs, and keeps the lines of indented examples."""
    parts = []
    for paragraph in text.split("\n\n"):
        lines = paragraph.split("\n")
        prose = [line for line in lines if not line.startswith("  ")]
        code = [line.strip() for line in lines if line.startswith("  ")]
        parts.append(".PP\n" + roff(" ".join(prose)))
        if code:
            parts.append(".nf\n.RS 4\n" + "\n".join(roff(line) for line in code) + "\n.RE\n.fi")
    return "\n".join(parts)


def man_page(page, version, others):
    title = page.name()
    summary = re.split(r"[.:;]\s", page.description.replace("\n", " "), maxsplit=1)[0].rstrip(".")
    lines = [f'.TH {roff(title.upper())} 1 "" "Headroom {roff(version)}" "Headroom"', ".SH NAME", f"{roff(title)} \\- {roff(summary)}",
             ".SH SYNOPSIS", f".B {roff(page.usage)}", ".SH DESCRIPTION", man_description(page.description)]
    if page.commands:
        lines.append(".SH COMMANDS")
        for name, meaning in page.commands:
            lines += [".TP", f".B {roff(name)}", roff(meaning)]
    if page.positionals or page.options:
        lines.append(".SH OPTIONS")
    group = "Options"
    for option in page.positionals + page.options:
        if option.group != group:
            group = option.group
            lines.append(f".SS {roff(group)}")
        value = f" \\fI{roff(option.value())}\\fR" if option.takes_value() and option.names[0].startswith("-") else ""
        required = " (required)" if "REQUIRED" in option.type else ""
        lines += [".TP", f"\\fB{roff(', '.join(option.names))}\\fR{value}{required}", roff(option.text) or "\\&"]
    if page.exit_codes:
        lines += [".SH EXIT STATUS", roff(page.exit_codes)]
    if others:
        lines += [".SH SEE ALSO", ", ".join(f".BR {roff(other)} (1)" for other in others[:1])]
        lines += [f".BR {roff(other)} (1)" for other in others[1:]]
    return "\n".join(lines) + "\n"


# completion

def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def bash_case(page):
    flags = " ".join(name for option in page.options for name in option.names)
    lines = [f"    {quoted(page.command) if page.command else chr(39) * 2})", "      case $before in"]
    for option in page.options:
        if option.takes_value():
            action = f"words={quoted(' '.join(option.choices))}" if option.choices else "files=1"
            lines.append(f"        {'|'.join(option.names)}) {action} ;;")
    words = flags + ("" if page.command or not page.commands else " " + " ".join(name for name, _ in page.commands))
    lines += ["        *) " + f"words={quoted(words)}; files=1 ;;", "      esac ;;"]
    return "\n".join(lines)


def bash_completion(program, pages):
    function = "_" + program.replace("-", "_")
    commands = "|".join(name for name, _ in pages[0].commands)
    find = f'  case ${{COMP_WORDS[1]}} in {commands}) [ "$COMP_CWORD" -gt 1 ] && command=${{COMP_WORDS[1]}} ;; esac\n' if commands else ""
    cases = "\n".join(bash_case(page) for page in pages)
    return f"""# Completion of {program} for bash, made from its --help.
{function}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command= words= files=
{find}  case $command in
{cases}
  esac
  COMPREPLY=()
  if [ -n "$words" ] && {{ [ -z "$files" ] || [ "${{word#-}}" != "$word" ] || [ "$COMP_CWORD" -eq 1 ]; }}; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  fi
  if [ -n "$files" ] && [ "${{word#-}}" = "$word" ]; then
    compopt -o filenames 2>/dev/null
    local IFS=$'\\n'
    COMPREPLY+=($(compgen -f -- "$word"))
  fi
}}
complete -F {function} {program}
"""


def zsh_text(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", text).replace("'", "'\\''")


def zsh_arguments(page):
    lines = []
    for option in page.options:
        others = f"({' '.join(option.names)})" if len(option.names) > 1 else ""
        for name in option.names:
            value = ""
            if option.takes_value():
                value = f":value:({' '.join(option.choices)})" if option.choices else ":value:_files"
            lines.append(f"'{others}{name}[{zsh_text(option.text)}]{value}'")
    lines.append("'*:file:_files'")
    return " \\\n      ".join(lines)


def zsh_completion(program, pages):
    function = "_" + program.replace("-", "_")
    named = " ".join(f"'{name}:{zsh_text(meaning)}'" for name, meaning in pages[0].commands)
    cases = "\n".join(f"    {page.command})\n      shift words; (( CURRENT-- ))\n      _arguments \\\n      {zsh_arguments(page)} ;;"
                      for page in pages[1:])
    commands = f"""  if (( CURRENT == 2 )); then
    local -a commands=({named})
    _describe command commands
  fi
""" if named else ""
    return f"""#compdef {program}
# Completion of {program} for zsh, made from its --help.
{function}() {{
{commands}  case ${{words[2]}} in
{cases}
    *)
      _arguments \\
      {zsh_arguments(pages[0])} ;;
  esac
}}
{function} "$@"
"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=Path, required=True, help="folder with the programs")
    parser.add_argument("--out", type=Path, required=True, help="folder that the pages are written below")
    asked = parser.parse_args()
    built = [program for program in PROGRAMS if (asked.bin / program).is_file()]
    if not built:
        sys.exit(f"help_pages.py: {asked.bin}: no programs there")
    for program in built:
        version = subprocess.run([str(asked.bin / program), "--version"], capture_output=True, text=True, check=True,
                                 env={**os.environ, "QT_QPA_PLATFORM": "offscreen"}).stdout.split()[-1]
        pages = pages_of(asked.bin, program)
        names = [page.name() for page in pages] + [other for other in built if other != program]
        for page in pages:
            write(asked.out / "man/man1" / f"{page.name()}.1", man_page(page, version, [name for name in names if name != page.name()]))
        write(asked.out / "bash-completion/completions" / program, bash_completion(program, pages))
        write(asked.out / "zsh/site-functions" / f"_{program}", zsh_completion(program, pages))
    print(f"{asked.out}: {len(built)} programs")


if __name__ == "__main__":
    main()
