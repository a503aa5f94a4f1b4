#!/usr/bin/env python3
"""Checks the --help of every program, and the man pages and completions generated from it (cmake/help_pages.py).

    python3 tests/docs/help_test.py --bin build/bin

Completion is tried in a real bash, man pages by groff and man with all warnings, where these are installed.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "cmake"))
sys.dont_write_bytecode = True
import help_pages  # pylint: disable=wrong-import-position

BIN = Path("build/bin")
# Private jargon that users would not know.
DIALECT = re.compile(r"\b(knots?|outside the pool)\b", re.I)


def built():
    return [program for program in help_pages.PROGRAMS if (BIN / program).is_file()]


def complete(folder, program, line, cwd):
    """Bash completions for the last word of a line."""
    words = line.split(" ")
    script = (f". {folder}/bash-completion/completions/{program}\n"
              f"COMP_WORDS=({' '.join(help_pages.quoted(word) for word in words)})\nCOMP_CWORD={len(words) - 1}\n"
              f"_{program.replace('-', '_')}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n")
    run = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=False, cwd=cwd, timeout=240)
    assert run.returncode == 0 and not run.stderr, run.stderr
    return run.stdout.split("\n")[:-1]


class Helps(unittest.TestCase):
    """Every option of every program and command."""

    def test_every_option_with_a_value_says_its_kind(self):
        self.assertTrue(built())
        for program in built():
            for page in help_pages.pages_of(BIN, program):
                self.assertTrue(page.options, page.name())
                for option in page.options:
                    if option.names != ["--title"]:
                        self.assertNotRegex(option.type, r"^TEXT(?!:\{)", f"{page.name()} {option.names}")
                    self.assertNotIn("default: none", option.text, f"{page.name()} {option.names}")

    def test_no_word_that_nobody_knows(self):
        for program in built():
            for page in help_pages.pages_of(BIN, program):
                told = " ".join([page.description] + [option.text for option in page.options + page.positionals])
                self.assertIsNone(DIALECT.search(told), page.name())

    def test_the_words_are_gone_from_documentation_too(self):
        for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
            for number, line in enumerate(path.read_text().split("\n"), 1):
                told = re.sub(r"`[^`]*`", "", line)  # code spans may contain file keys
                self.assertIsNone(DIALECT.search(told), f"{path.name}:{number}: {line}")

    def test_defaults_are_those_of_the_program(self):
        options = {name: option for page in help_pages.pages_of(BIN, "headroom-plan")[:1]
                   for option in page.options for name in option.names}
        self.assertIn("default: fp32", options["--dtype"].text)
        self.assertIn("default: 1)", options["--batch"].text)
        self.assertNotIn("default", options["--host-limit"].text)
        self.assertEqual(options["--host-limit"].type, "BYTES")


class MadePages(unittest.TestCase):
    """Man pages and completions."""

    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.TemporaryDirectory()
        cls.out = Path(cls.made.name) / "share"
        subprocess.run([sys.executable, "-B", str(ROOT / "cmake/help_pages.py"), "--bin", str(BIN), "--out", str(cls.out)],
                       check=True, capture_output=True, timeout=120)
        cls.cwd = Path(cls.made.name) / "work"
        (cls.cwd / "some folder").mkdir(parents=True)
        (cls.cwd / "plan.json").write_text("{}")

    @classmethod
    def tearDownClass(cls):
        cls.made.cleanup()

    def offered(self, line):
        return complete(self.out, line.split(" ")[0], line, self.cwd)

    @unittest.skipUnless(shutil.which("bash"), "no bash")
    def test_bash_completes_commands_options_choices_and_files(self):
        self.assertEqual(self.offered("headroom-plan exp"), ["explain"])
        self.assertTrue({"frontier", "explain", "diff", "validate", "queue"} <= set(self.offered("headroom-plan ")))
        self.assertEqual(self.offered("headroom-plan --mod"), ["--model"])
        self.assertEqual(self.offered("headroom-plan explain --sch"), ["--schedule"])
        self.assertEqual(self.offered("headroom-plan explain pl"), ["plan.json"])
        self.assertEqual(self.offered("headroom-plan explain --analyze pl"), ["plan.json"])
        self.assertEqual(self.offered("headroom-plan explain some"), ["some folder"])
        self.assertNotIn("--schedule", self.offered("headroom-plan diff --sch"))
        self.assertEqual(self.offered("headroom-plan --weights-residency per"), ["per_pass"])
        if "headroom-profile" in built():
            self.assertEqual(self.offered("headroom-profile li"), ["link"])
        self.assertEqual(self.offered("headroom-decode --lim"), ["--limit"])
        self.assertEqual(self.offered("headroom-report pl"), ["plan.json"])

    def test_every_option_is_in_both_completions_and_on_its_page(self):
        for program in built():
            bash = (self.out / "bash-completion/completions" / program).read_text()
            zsh = (self.out / "zsh/site-functions" / f"_{program}").read_text()
            for page in help_pages.pages_of(BIN, program):
                man = (self.out / "man/man1" / f"{page.name()}.1").read_text()
                for name in (name for option in page.options for name in option.names):
                    self.assertIn(name, bash)
                    self.assertIn(name + "[", zsh)
                    self.assertIn(help_pages.roff(name), man)

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh_reads_its_completion(self):
        for path in sorted((self.out / "zsh/site-functions").iterdir()):
            run = subprocess.run(["zsh", "-n", str(path)], capture_output=True, text=True, check=False, timeout=240)
            self.assertEqual((run.returncode, run.stderr), (0, ""), path.name)

    def test_man_pages_are_set_without_a_warning(self):
        setters = [words for words in (["groff", "-man", "-ww", "-Tutf8", "-z"], ["man", "--warnings=w", "-l"]) if shutil.which(words[0])]
        if not setters:
            self.skipTest("neither groff nor man")
        for path in sorted((self.out / "man/man1").iterdir()):
            for words in setters:
                run = subprocess.run(words + [str(path)], capture_output=True, text=True, check=False, timeout=240)
                self.assertEqual((run.returncode, run.stderr), (0, ""), f"{words[0]} {path.name}")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--bin", type=Path, default=BIN)
    known, rest = arguments.parse_known_args()
    BIN = known.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
