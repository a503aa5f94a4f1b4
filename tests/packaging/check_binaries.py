#!/usr/bin/env python3
"""Checks programs, libraries and modules that are built, installed or packed.

    check_binaries.py [--no-hardening] PATH...

A path is an ELF file, a folder, or an archive: .whl, .deb or .tar.*. Prints one line for each fault and exits with 1 if there is any.

- Libraries are searched for in absolute folders and beside the file ($ORIGIN) only. An empty or relative element of RUNPATH or RPATH is a fault:
  the loader takes it relative to the current folder, so whoever fills that folder chooses the code.
- Headroom's own files have the hardening of Debian's packages (cmake/Hardening.cmake), unless --no-hardening is given. Tests are built without.
"""

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Iterator

OWN = re.compile(r"(lib)?headroom|_core\.")
ENDBR64 = b"\xf3\x0f\x1e\xfa"  # with -fcf-protection, every indirectly callable function starts with it


def readelf(option: str, file: Path) -> str:
    return subprocess.run(["readelf", "--wide", option, str(file)], capture_output=True, text=True, check=True).stdout


def run_path_faults(dynamic: str) -> list[str]:
    """Lists RUNPATH and RPATH elements that depend on the current folder."""
    faults = []
    for kind, elements in re.findall(r"\((RUNPATH|RPATH)\).*\[(.*)\]", dynamic):
        for element in elements.split(":"):
            if not re.match(r"/|\$ORIGIN(/|$)|\$\{ORIGIN\}(/|$)", element):
                faults.append(f"{kind} has the element '{element}', relative to the current folder: {elements}")
    return faults


def hardening_faults(file: Path, dynamic: str) -> list[str]:
    """Lists protections that the file lacks. A protected x86-64 file contains ENDBR64."""
    header, segments, symbols = readelf("--file-header", file), readelf("--program-headers", file), readelf("--dyn-syms", file)
    present = {"position independence": re.search(r"Type:\s+DYN", header), "RELRO": "GNU_RELRO" in segments,
               "immediate binding (-z now)": re.search(r"BIND_NOW|FLAGS_1.*\bNOW\b", dynamic),
               "a stack that is not executable": re.search(r"GNU_STACK.* RW ", segments),
               "stack protector": "__stack_chk_fail" in symbols,
               "_FORTIFY_SOURCE": re.search(r"\b__\w+_chk\b", symbols) or not re.search(r"\b(v?s?n?printf|v?fprintf|longjmp|read)\b", symbols),
               "-fcf-protection": "X86-64" not in header or file.read_bytes().count(ENDBR64) > 20}
    return [f"no {name}" for name, there in present.items() if not there]


def is_elf(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(4) == b"\x7fELF"


def faults_of(file: Path, hardened: bool) -> list[str]:
    if "Type:" in (header := readelf("--file-header", file)) and re.search(r"Type:\s+REL ", header):
        return []  # an object file
    dynamic = readelf("--dynamic", file)
    return run_path_faults(dynamic) + (hardening_faults(file, dynamic) if hardened and OWN.match(file.name) else [])


def unpack(archive: Path, folder: Path) -> None:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(folder)
    elif archive.suffix == ".deb":
        subprocess.run(["dpkg-deb", "--extract", str(archive), str(folder)], check=True)
    else:
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")


def is_archive(path: Path) -> bool:
    return path.suffix in (".whl", ".deb") or ".tar" in path.suffixes


def check(path: Path, hardened: bool, shown: str = "") -> Iterator[str | None]:
    """Yields one item for each ELF file: a line with its faults, or None. Also opens archives in folders."""
    shown = shown or str(path)
    if path.is_dir():
        for each in sorted(path.iterdir()):
            if not each.is_symlink():
                yield from check(each, hardened, f"{shown}/{each.name}")
    elif is_archive(path):
        with tempfile.TemporaryDirectory() as folder:
            unpack(path, Path(folder))
            yield from check(Path(folder), hardened, shown)
    elif path.is_file() and is_elf(path):
        faults = faults_of(path, hardened)
        yield f"{shown}: {'; '.join(faults)}" if faults else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, nargs="+")
    parser.add_argument("--no-hardening", action="store_true", help="check where libraries are searched for, and nothing else")
    args = parser.parse_args()
    found = [item for path in args.path for item in check(path, not args.no_hardening)]
    faults = [item for item in found if item]
    print("\n".join(faults) if faults else f"{len(found)} files checked")
    if not found:
        print("no ELF file found")
    return 1 if faults or not found else 0


if __name__ == "__main__":
    sys.exit(main())
