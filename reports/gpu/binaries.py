"""The prebuilt part of a bundle for one GPU architecture: an archive of programs, the CUDA module and tests.

The layout is that of a build folder (bin/, lib/, tests/). The programs use the libraries of the machine's torch wheel (place.py).
fallback/ has the C++ runtime of the build, for machines with an older one.
"""

import importlib.metadata
import json
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from place import wheel_libraries

PACKED, DESCRIPTION = "binaries.tar.xz", "binaries.json"
PROGRAMS = ("headroom-plan", "headroom-decode", "headroom-profile")
MODULE = "headroom-cuda"
RUNTIME = ("libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1")
FALLBACK = "fallback"
GLIBC = ("libc.so.", "libm.so.", "libdl.so.", "libpthread.so.", "librt.so.", "ld-linux")
SYMBOL = re.compile(r"\b(GLIBC|GLIBCXX|CXXABI|GOMP)_([0-9]+(?:\.[0-9]+)*)\b")


def newest_symbols(text: str) -> dict[str, str]:
    """The newest symbol version per library in the output of `readelf --version-info`, which is the minimum for a machine."""
    found: dict[str, tuple[int, ...]] = {}
    for name, version in SYMBOL.findall(text):
        found[name] = max(found.get(name, ()), tuple(map(int, version.split("."))))
    return {name: ".".join(map(str, version)) for name, version in sorted(found.items())}


def needs_of(files: list[Path]) -> dict[str, str]:
    """Minimum library versions that executables and shared libraries need."""
    told = ""
    for file in files:
        out = subprocess.run(["readelf", "--version-info", str(file)], capture_output=True, text=True, check=True).stdout
        told += out.partition("Version needs section")[2]
    return newest_symbols(told)


def missing_libraries(files: list[Path], folders: list[Path]) -> dict[str, list[str]]:
    """Needed libraries by file that are not in glibc, the C++ runtime or the folders. Such a file would not start on a bare machine."""
    missing = {}
    for file in files:
        out = subprocess.run(["readelf", "--dynamic", str(file)], capture_output=True, text=True, check=True).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.+)\]", out)
        lacking = [name for name in needed if not name.startswith(GLIBC) and name not in RUNTIME and not any((folder / name).exists() for folder in folders)]
        if lacking:
            missing[file.name] = lacking
    return missing


def runtime_libraries() -> list[Path]:
    """The C++ runtime of this machine's compiler."""
    return [Path(subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()).resolve()
            for name in RUNTIME]


def collect(build: Path, tests: list[str], folder: Path) -> list[Path]:
    """Copies programs, module and tests without symbols, and the C++ runtime. Returns the copies of the built files."""
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


def pack(build: Path, tests: list[str], commit: str, architecture: str, bundle: Path) -> dict[str, Any]:
    """Packs a build's programs, module and tests with a description, which it returns."""
    with tempfile.TemporaryDirectory(dir=bundle) as name:
        folder = Path(name)
        copies = collect(build, tests, folder)
        missing = missing_libraries(copies, wheel_libraries())
        if missing:
            raise SystemExit("not to be carried: " + "; ".join(f"{file} needs {', '.join(names)}" for file, names in missing.items()))
        about = {"commit": commit, "architecture": architecture, "needs": needs_of(copies), "torch": importlib.metadata.version("torch"),
                 "bytes": {str(copy.relative_to(folder)): copy.stat().st_size for copy in [*copies, *(folder / FALLBACK).iterdir()]}}
        (folder / DESCRIPTION).write_text(json.dumps(about, indent=1) + "\n")
        with tarfile.open(bundle / PACKED, "w:xz", preset=9) as archive:
            for each in sorted(folder.iterdir()):
                archive.add(each, each.name)
    return about


def has_package(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def unpack_wheels(bundle: Path, site: Path) -> list[str]:
    """Unpacks the bundle's wheels of Headroom and diffusers, and other wheels that this Python lacks. Returns their names."""
    unpacked = []
    for wheel in sorted((bundle / "wheels").glob("*.whl")):
        name, version = wheel.name.split("-")[:2]
        if name.startswith(("headroom", "diffusers")) or not has_package(name):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(site)
            unpacked.append(f"{name} {version}")
    return unpacked


def unpack(bundle: Path, build: Path) -> dict[str, Any]:
    """Unpacks binaries and wheels into a build folder, once. Returns the description. Raises RuntimeError if there is no bundle."""
    if not (bundle / PACKED).exists():
        raise RuntimeError(f"{bundle}: no bundle; make_bundle.py makes it where Debian's packages and PyPI can be reached")
    stamp = build / "unpacked"
    identity = str((bundle / PACKED).stat().st_mtime_ns)
    if not stamp.exists() or stamp.read_text() != identity:
        shutil.rmtree(build, ignore_errors=True)
        build.mkdir(parents=True)
        with tarfile.open(bundle / PACKED) as archive:
            archive.extractall(build, filter="data")
        unpack_wheels(bundle, build / "site")
        stamp.write_text(identity)
    return json.loads((build / DESCRIPTION).read_text())


def lay_out(air_card: Path, folder: Path) -> None:
    """Recreates a folder like an unpacked bundle, for rehearsals over the air card (`build/tests/air_card`)."""
    shutil.rmtree(folder, ignore_errors=True)
    build = air_card.resolve().parents[1]
    for name in ("bin", "lib", "tests"):
        (folder / name).mkdir(parents=True)
    for name in PROGRAMS:
        shutil.copy2(air_card / "modules" / name, folder / "bin" / name)
    shutil.copy2(air_card / "modules" / "headroom-cuda.so", folder / "lib")
    for test in sorted((build / "tests").glob("test_*on_gpu")):
        shutil.copy2(test, folder / "tests")
    package = folder / "site" / "headroom_vae"
    shutil.copytree(build / "python" / "headroom_vae", package)
    (package / "headroom-cuda-lent.so").unlink()
    shutil.copy2(air_card / "modules" / "headroom-cuda-lent.so", package)
