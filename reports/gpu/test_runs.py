"""Runs executables of tests, many tests in a process: what each found, and which was running where the process died."""

import re
import tempfile
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from commands import Commands

SAID_SKIPPED = re.compile(r"skipped: ([^\n]*)")
SECONDS = 300  # of a process that tells nothing more


@dataclass
class Outcomes:
    """Counts, the names of tests that failed, and of those that were skipped, with why; and what was printed."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    log: str = ""
    not_run: int = 0  # time was up before

    def add(self, other: "Outcomes") -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.log += other.log
        self.not_run += other.not_run


def read_report(text: str) -> tuple[dict[str, xml.Element], str | None]:
    """Tests that ended, by name, and the one that had begun, of Catch2's XML as far as it goes."""
    parser, ended, running = xml.XMLPullParser(("start", "end")), {}, None
    try:
        parser.feed(text)
        for event, element in parser.read_events():
            if element.tag == "TestCase":
                running = element.get("name") if event == "start" else None
                if event == "end":
                    ended[element.get("name")] = element
    except xml.ParseError:
        pass  # the process died
    return ended, running


def outcome_of(program: str, case: xml.Element) -> Outcomes:
    name = f"{program}: {case.get('name')}"
    said = "".join(f"{each.tag} {' '.join(''.join(each.itertext()).split())}\n" for each in case.iter() if each.tag in ("Warning", "Info", "Failure", "Exception"))
    result = case.find("OverallResult")
    skipped = SAID_SKIPPED.search(said)
    if result is None or result.get("success") != "true":
        wrong = "".join(" ".join("".join(each.itertext()).split()) + "\n" for each in case.iter("Expression"))
        return Outcomes(failed=[name], log=f"{name}: FAILED\n{said}{wrong}")
    if skipped:
        return Outcomes(skipped=[f"{name} ({skipped[1]})"])
    return Outcomes(passed=1)


def as_pattern(name: str) -> str:
    """What Catch2 takes for that name alone."""
    return re.sub(r"([\\,\[\]])", r"\\\1", name)


def run_some(commands: Commands, program: Path, names: list[str]) -> Outcomes:
    """Goes on behind a test that ended its process."""
    found, left = Outcomes(), list(names)
    while left:
        with tempfile.TemporaryDirectory() as folder:
            listed, report = Path(folder, "names.txt"), Path(folder, "report.xml")
            listed.write_text("".join(f"{as_pattern(name)}\n" for name in left))
            status, out = commands.run([str(program), "-r", "xml", "-o", str(report), "-f", str(listed)], seconds=SECONDS)
            ended, running = read_report(report.read_text(errors="replace") if report.exists() else "")
        for name in [name for name in left if name in ended]:
            found.add(outcome_of(program.name, ended[name]))
            left.remove(name)
        if not left:
            break
        skipped = SAID_SKIPPED.search(out)
        if status == 0 and not ended and skipped:  # by a main of its own, all of them
            found.skipped += [f"{program.name}: {name} ({skipped[1]})" for name in left]
            break
        if status is None and commands.left() == 0:
            found.not_run = len(left)
            break
        at_fault = running if running in left else left[0]  # so that each process is for one test at least
        how = f"took longer than {SECONDS} s" if status is None else f"ended with {status}"
        found.add(Outcomes(failed=[f"{program.name}: {at_fault} ({how})"], log=f"{program.name}: {at_fault}: {how}\n{out[-4000:]}\n"))
        left.remove(at_fault)
    return found


def names_of(commands: Commands, program: Path) -> list[str]:
    """Its tests. Ends with their number, so the exit status says nothing."""
    status, out = commands.run([str(program), "--list-test-names-only"], seconds=60)
    names = [line.strip() for line in out.splitlines() if line.strip()]
    return names if status is not None and status == min(len(names), 255) else []


def run_programs(commands: Commands, programs: list[Path], jobs: int) -> Outcomes:
    """All tests of these, in up to `jobs` processes at once."""
    found, work = Outcomes(), []
    for program in programs:
        names = names_of(commands, program)
        if not names:
            found.add(Outcomes(failed=[f"{program.name}: lists no tests"]))
        work += [(program, names[i::jobs]) for i in range(min(jobs, len(names)))]
    with ThreadPoolExecutor(jobs) as pool:
        runs = [pool.submit(run_some, commands, *each) for each in work]
        try:
            for run in runs:
                found.add(run.result())
        except BaseException:
            commands.stop()
            raise
    return found
