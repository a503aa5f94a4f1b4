"""Programs, kernels and tests that were built beforehand, for one kind of card: what is packed, and what they need of a machine.

They lie as in a build's folder (bin/, lib/, tests/), so that everything after it takes them for one. Their libraries are those of the
machine's torch wheel, which the loader is told of by LD_LIBRARY_PATH. fallback/ has the C++ runtime that they were built with, for machines
with an older one.
"""

import hashlib
import importlib.metadata
import json
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

PACKED, DESCRIPTION = "binaries.tar.xz", "binaries.json"
PROGRAMS = ("headroom-plan", "headroom-decode", "headroom-profile")
MODULE = "headroom-cuda"
RUNTIME = ("libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1")
FALLBACK = "fallback"
SOURCES = ("CMakeLists.txt", "cmake", "decoder", "planner", "profiler", "tests")
SUFFIXES = {".cmake", ".cpp", ".cu", ".h", ".txt"}
SYMBOL = re.compile(r"\b(GLIBC|GLIBCXX|CXXABI|GOMP)_([0-9]+(?:\.[0-9]+)*)\b")


def sources_id(root: Path) -> str:
    """Of all that binaries are made of: those of other sources are not measured."""
    digest = hashlib.sha256()
    files = [file for name in SOURCES for file in ([root / name] if (root / name).is_file() else (root / name).rglob("*"))]
    for file in sorted(file for file in files if file.is_file() and file.suffix in SUFFIXES):
        digest.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def newest_symbols(text: str) -> dict[str, str]:
    """By library the newest version that readelf --version-info names: what a machine must have at least."""
    found: dict[str, tuple[int, ...]] = {}
    for name, version in SYMBOL.findall(text):
        found[name] = max(found.get(name, ()), tuple(map(int, version.split("."))))
    return {name: ".".join(map(str, version)) for name, version in sorted(found.items())}


def needs_of(files: list[Path]) -> dict[str, str]:
    """Of executables and libraries, less what they have of it themselves."""
    said = ""
    for file in files:
        out = subprocess.run(["readelf", "--version-info", str(file)], capture_output=True, text=True, check=True).stdout
        said += out.partition("Version needs section")[2]
    return newest_symbols(said)


def runtime_libraries() -> list[Path]:
    """The C++ runtime of this machine's compiler."""
    return [Path(subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()).resolve()
            for name in RUNTIME]


def collect(build: Path, tests: dict[str, str], folder: Path) -> list[Path]:
    """Copies without symbols, and the C++ runtime beside them. Returns the copies of what was built."""
    built = [(build / "bin" / name, folder / "bin" / name) for name in PROGRAMS]
    built += [(build / "lib" / f"{MODULE}.so", folder / "lib" / f"{MODULE}.so")]
    built += [(build / "tests" / name, folder / "tests" / name) for name in tests]
    for source, copy in built:
        copy.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["strip", "-o", str(copy), str(source)], check=True)
    (folder / FALLBACK).mkdir()
    for name, library in zip(RUNTIME, runtime_libraries()):
        shutil.copyfile(library, folder / FALLBACK / name)
    return [copy for _, copy in built]


def pack(build: Path, tests: dict[str, str], root: Path, architecture: str, bundle: Path) -> dict[str, Any]:
    """Packs a build's programs, module and tests (by label), with a description of them, which it returns."""
    with tempfile.TemporaryDirectory(dir=bundle) as name:
        folder = Path(name)
        copies = collect(build, tests, folder)
        about = {"architecture": architecture, "sources": sources_id(root), "tests": tests, "needs": needs_of(copies),
                 "torch": importlib.metadata.version("torch"),
                 "bytes": {str(copy.relative_to(folder)): copy.stat().st_size for copy in [*copies, *(folder / FALLBACK).iterdir()]}}
        (folder / DESCRIPTION).write_text(json.dumps(about, indent=1) + "\n")
        with tarfile.open(bundle / PACKED, "w:xz", preset=9) as archive:
            for each in sorted(folder.iterdir()):
                archive.add(each, each.name)
    return about


def remove(build: Path) -> None:
    """What was unpacked there, before a build of sources takes its place; never such a build."""
    if description(build) is None:
        return
    for name in ("bin", "lib", "tests", FALLBACK):
        shutil.rmtree(build / name, ignore_errors=True)
    (build / DESCRIPTION).unlink(missing_ok=True)


def unpack(bundle: Path, build: Path) -> dict[str, Any]:
    """Into a build's folder. Returns their description."""
    remove(build)
    build.mkdir(parents=True, exist_ok=True)
    with tarfile.open(bundle / PACKED) as archive:
        archive.extractall(build, filter="data")
    return description(build)


def description(build: Path) -> dict[str, Any] | None:
    """Of what was unpacked there; None where a build of sources is."""
    file = build / DESCRIPTION
    return json.loads(file.read_text()) if file.exists() else None


def wheel_libraries(torch: Path) -> list[Path]:
    """Where the wheel and those that it brings keep their libraries."""
    return [torch / "lib", *sorted(folder for folder in (torch.parent / "nvidia").glob("*/lib") if folder.is_dir())]


def is_for(architecture: str, capability: str) -> bool:
    """Whether a card runs kernels without PTX: those for 90-real run on 9.0, and on no lower minor number; those for 90a-real on 9.0 alone."""
    number, exact = re.match(r"([0-9]+)(a?)", architecture).groups()
    major, minor = map(int, capability.split("."))
    return int(number) // 10 == major and (int(number) % 10 == minor if exact else int(number) % 10 <= minor)
