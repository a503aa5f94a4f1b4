#!/usr/bin/env python3
"""What a bare GPU machine lacks to build and measure Headroom, as one folder to carry there.

    build/venv/bin/python reports/gpu/make_bundle.py -o gpu-bundle

Takes the headers, static libraries and CMake files of Debian's packages (packages.txt; installed here), laid out as under
/usr, so that CMAKE_PREFIX_PATH finds them, and from PyPI the wheels that diffusers needs beside torch, for Python 3.12.
Static libraries that were built against an older glibc link on machines with a newer one. Then builds programs, the CUDA
module and tests for one architecture (CMake's preset `bundle`, in build/bundle) and packs them; the machine builds sources
only where they do not start. Ends with 1 where the bundle and the repository's tracked files together pass 64 MiB.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
import binaries  # noqa: E402
from check_binaries import torch_folder  # noqa: E402
from check_build import CARRIED_ON_CPU, ON_GPU, tests_by_label, test_targets  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
MOST = 64 * MIB
PACKAGES = ("catch2", "libcli11-dev", "libjpeg62-turbo-dev", "libpng-dev", "libwebp-dev", "nlohmann-json3-dev", "zlib1g-dev")
KEPT = ("include/", "lib/", "share/cmake/")  # of what a package lays under /usr
SUFFIXES = (".a", ".cmake", ".h", ".hpp")
# diffusers, and what it imports that a machine with torch, safetensors, huggingface_hub and pillow may lack.
WHEELS = ("diffusers", "certifi", "charset-normalizer", "filelock", "idna", "importlib-metadata", "regex", "requests", "urllib3", "zipp")
PYTHON = "3.12"
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in (34, 31, 28, 27, 24, 17)] + ["manylinux2014_x86_64", "manylinux1_x86_64"]


def output_of(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[0]}: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1]}")
    return done.stdout


def place_in_bundle(file: Path) -> Path | None:
    """Where a package's file goes; None where no build asks for it. Libraries lie in lib/ itself, and headers in include/: what
    stands between is Debian's own habit, and CMake on another system does not look there."""
    if not file.is_relative_to("/usr") or not file.is_file():
        return None
    place = file.relative_to("/usr")
    if not str(place).startswith(KEPT) or file.suffix not in SUFFIXES:
        return None
    place = Path(*(part for part in place.parts if not part.endswith("-linux-gnu")))
    return Path("lib", place.name) if file.suffix == ".a" else place


def copy_packages(bundle: Path) -> None:
    for package in PACKAGES:
        for line in output_of("dpkg", "-L", package).splitlines():
            file = Path(line)
            place = place_in_bundle(file)
            if place:
                (bundle / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, bundle / place)  # what a link leads to; of the same date, so that a later build takes it for the same
        licence = Path("/usr/share/doc", package, "copyright")
        (bundle / "licences").mkdir(exist_ok=True)
        shutil.copyfile(licence, bundle / "licences" / package)


def pinned(name: str) -> str:
    """With the version that requirements.txt has, if it does."""
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    return next((line for line in lines if line.split("==")[0] == name), name)


def download_wheels(folder: Path) -> None:
    folder.mkdir()
    platforms = [word for each in PLATFORMS for word in ("--platform", each)]
    output_of(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
              "--python-version", PYTHON, "--implementation", "cp", *platforms, "-d", str(folder), *map(pinned, WHEELS))


def build_binaries(bundle: Path, architecture: str, jobs: int) -> None:
    """Builds what is carried, linked with the same static libraries, and packs it."""
    build, packages = ROOT / "build" / "bundle", ROOT / "build" / "bundle-packages"
    copy_packages(packages)  # in a place that stays, so that another bundle compiles nothing anew
    for command in (["cmake", "--preset", "bundle", f"-DCMAKE_PREFIX_PATH={packages}", f"-DHEADROOM_TORCH_DIR={torch_folder()}",
                     f"-DCMAKE_CUDA_ARCHITECTURES={architecture}"],
                    ["ninja", "-C", str(build), "-j", str(jobs), *binaries.PROGRAMS, binaries.MODULE]):
        if command[0] == "ninja":
            command += test_targets(build, (ON_GPU, CARRIED_ON_CPU))
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            raise SystemExit(f"{command[0]} failed; --no-binaries makes a bundle of sources alone")
    labels = tests_by_label(build)
    tests = {target: labels[target][0] for target in test_targets(build, (ON_GPU, CARRIED_ON_CPU))}
    about = binaries.pack(build, tests, ROOT, architecture, bundle)
    for name, count in about["bytes"].items():
        print(f"  {name:32}{count / MIB:8.1f} MiB")
    print("  need " + ", ".join(f"{name} {version}" for name, version in about["needs"].items()))


def bytes_of(files: list[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.is_file())


def tracked_files() -> list[Path]:
    return [ROOT / name for name in output_of("git", "-C", str(ROOT), "ls-files", "-z").split("\0") if name]


def report(bundle: Path) -> int:
    """Prints the sizes; 1 where they pass what may be carried."""
    for each in sorted(bundle.iterdir()):
        print(f"{each.name + '/' * each.is_dir():20}{bytes_of(list(each.rglob('*')) if each.is_dir() else [each]) / MIB:8.1f} MiB")
    for wheel in sorted((bundle / "wheels").iterdir()):
        print(f"  {wheel.name}")
    of_bundle, of_repository = bytes_of(list(bundle.rglob("*"))), bytes_of(tracked_files())
    print(f"bundle {of_bundle / MIB:.1f} MiB, tracked files {of_repository / MIB:.1f} MiB, "
          f"together {(of_bundle + of_repository) / MIB:.1f} of {MOST // MIB} MiB")
    return 0 if of_bundle + of_repository <= MOST else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "gpu-bundle", help="the folder, written anew, default: gpu-bundle")
    parser.add_argument("--architecture", default="90-real", help="what kernels are built for, as CMake names it, default: %(default)s")
    parser.add_argument("--no-binaries", action="store_true", help="carry sources alone")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="of the build, default: all cores")
    args = parser.parse_args()
    if args.output.exists():
        if not (args.output / "wheels").is_dir() and any(args.output.iterdir()):
            parser.error(f"--output {args.output}: exists and is no bundle")
        shutil.rmtree(args.output)
    args.output.mkdir(parents=True)
    copy_packages(args.output)
    download_wheels(args.output / "wheels")
    if not args.no_binaries:
        build_binaries(args.output, args.architecture, args.jobs)
    return report(args.output)


if __name__ == "__main__":
    raise SystemExit(main())
