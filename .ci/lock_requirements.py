#!/usr/bin/env python3
"""Writes requirements-build.txt from requirements-build.in, and renews the hashes of requirements-demo.txt and requirements-wheel.txt.

    python3 .ci/lock_requirements.py [--constraints FILE]

requirements-build.txt has every wheel that pip would install, with the hashes of the wheels for x86-64 Linux. The other two files keep their names and
get the same versions. Constraints are versions to keep, as `pip freeze` prints them; without them pip takes the newest that fit.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1)] + ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64"]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def resolved(python: str, constraints: Path | None) -> dict[str, tuple[str, str]]:
    """By name the version and the hash that pip chooses for a Python."""
    words = [word for platform in PLATFORMS for word in ("--platform", platform)]
    words += ["-c", str(constraints)] if constraints else []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--only-binary=:all:", "--target", folder,
                        "--implementation", "cp", "--python-version", python, *words, "--report", f"{folder}/report.json", "-r", str(ROOT / "requirements-build.in")],
                       check=True)
        report = json.loads(Path(folder, "report.json").read_text())
    return {normal(item["metadata"]["name"]): (item["metadata"]["version"], item["download_info"]["archive_info"]["hashes"]["sha256"])
            for item in report["install"]}


def lock(constraints: Path | None) -> dict[str, tuple[str, list[str]]]:
    """By name the version and the hashes for all Pythons. The first Python's versions hold for the others."""
    first = resolved(PYTHONS[0], constraints)
    locked = {name: (version, [digest]) for name, (version, digest) in first.items()}
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as pins:
        pins.writelines(f"{name}=={version}\n" for name, (version, _) in first.items())
        pins.flush()
        for python in PYTHONS[1:]:
            for name, (version, digest) in resolved(python, Path(pins.name)).items():
                hashes = locked.setdefault(name, (version, []))[1]
                if digest not in hashes:
                    hashes.append(digest)
    return locked


def lines_of(name: str, version: str, hashes: list[str]) -> str:
    return " \\\n    ".join([f"{name}=={version}", *(f"--hash=sha256:{each}" for each in hashes)]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--constraints", type=Path, help="versions to keep")
    args = parser.parse_args()
    locked = lock(args.constraints)
    text = "# Written by .ci/lock_requirements.py from requirements-build.in: every wheel, for x86-64 Linux and Python " + ", ".join(PYTHONS) + ".\n"
    (ROOT / "requirements-build.txt").write_text(text + "".join(lines_of(name, *locked[name]) for name in sorted(locked)))
    for name in ("requirements-demo.txt", "requirements-wheel.txt"):
        part = ROOT / name
        old = part.read_text().splitlines()
        names = [match[1] for line in old if (match := re.match(r"([A-Za-z0-9._-]+)==", line))]
        comments = [line for line in old if line.startswith("#")]
        part.write_text("\n".join(comments) + "\n" + "".join(lines_of(name, *locked[normal(name)]) for name in names))
    return 0


if __name__ == "__main__":
    sys.exit(main())
