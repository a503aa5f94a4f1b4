"""Part of the GPU check: the bundle's programs where they start, or else a build for this machine's card, with what the bundle has."""

import argparse
import re
import shlex
import shutil
import zipfile
from pathlib import Path

import binaries
import measure
from binaries import MODULE, PROGRAMS
from check_binaries import torch_folder, try_binaries
from check_results import Results
from commands import ROOT, Commands, Entry, Failed, has_package, local, succeed

# Labels of tests: on the GPU, and beside it on the CPU: kernels in the emulator, what is cut up for CUDA's libraries, how a GPU is listened to.
ON_GPU, ON_CPU = "gpu", "(gpu_.*|cupti|events)"
REHEARSED = ("graph", "plan")
CARRIED_ON_CPU = "gpu_(kernels|library_calls)"  # which need no file of the build's folder
REHEARSED_CARRIED = ("gpu_library_calls", "gpu_kernels")


def labels_of(args: argparse.Namespace) -> tuple[str, str]:
    """Of the tests on the GPU, and of those beside it."""
    carried = binaries.description(args.build) is not None
    if args.rehearse:
        return REHEARSED_CARRIED if carried else REHEARSED
    return (ON_GPU, CARRIED_ON_CPU if carried else ON_CPU)


def tests_by_label(build: Path) -> dict[str, list[str]]:
    """The executables of tests and their labels, by what ninja is to tell CTest of them."""
    return {target: labels_in(properties.split(";")) for target, properties in re.findall(
        r"-D TEST_TARGET=(\S+) .*?TEST_PROPERTIES=([^\" ]*)", (build / "build.ninja").read_text())}


def test_targets(build: Path, labels: tuple[str, ...]) -> list[str]:
    """The executables whose tests carry one of the labels, of a build of sources or from the bundle."""
    carried = binaries.description(build)
    named = {name: [label] for name, label in carried["tests"].items()} if carried else tests_by_label(build)
    return [target for target, words in named.items() if any(re.fullmatch(label, word) for label in labels for word in words)]


def test_programs(build: Path, labels: tuple[str, ...]) -> list[Path]:
    return [build / "tests" / target for target in test_targets(build, labels)]


def labels_in(words: list[str]) -> list[str]:
    """What follows LABELS, up to the next name of a property."""
    found, inside = [], False
    for word in words:
        inside = word == "LABELS" or (inside and not word.isupper())
        if inside and word != "LABELS":
            found.append(word)
    return found


def unpack_wheels(bundle: Path, site: Path) -> list[str]:
    """diffusers in the bundle's version, and of the rest what this python lacks. Returns what was unpacked."""
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)
    unpacked = []
    for wheel in sorted((bundle / "wheels").glob("*.whl")):
        name, version = wheel.name.split("-")[:2]
        if name == "diffusers" or not has_package(name):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(site)
            unpacked.append(f"{name} {version}")
    return unpacked


def configure(args: argparse.Namespace) -> list[str]:
    command = ["cmake", "-S", str(ROOT), "-B", str(args.build), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DHEADROOM_GUI=OFF",
               "-DHEADROOM_WERROR=OFF",  # another compiler may warn of more
               f"-DCMAKE_PREFIX_PATH={args.bundle}", f"-DHEADROOM_TORCH_DIR={torch_folder()}",
               f"-DHEADROOM_CUDA={'OFF' if args.rehearse else 'ON'}", *args.cmake]
    card = measure.card()
    if card:  # for this card alone: a sixth of the time
        command.append(f"-DCMAKE_CUDA_ARCHITECTURES={card['compute_capability'].replace('.', '')}-real")
    return command


def build(args: argparse.Namespace, commands: Commands, results: Results, entry: Entry) -> None:
    if not (args.bundle / "wheels").is_dir():
        raise Failed(f"{local(str(args.bundle))}: no bundle; make_bundle.py makes it where Debian's packages and PyPI can be reached")
    entry["unpacked"] = unpack_wheels(args.bundle, commands.site)
    built_before = (args.build / "build.ninja").exists()  # whatever was wrong with the binaries, sources are not built twice
    why = "not wanted" if args.from_source else "sources were built here before" if built_before else try_binaries(args, commands, entry)
    if why:
        entry["binaries"] = why
        build_sources(args, commands, results, entry)
    entry["build"] = measure.build_id(args.build / "bin")
    entry["note"] += f"; packages from the bundle: {', '.join(entry['unpacked']) or 'none'}"


def build_sources(args: argparse.Namespace, commands: Commands, results: Results, entry: Entry) -> None:
    log = ""

    def step(command: list[str], what: str) -> str:
        nonlocal log
        done = commands.run(command, shown=True)
        log += f"$ {shlex.join(map(local, command))}\n{done[1]}\n"
        results.log("build", log)
        return succeed(done, f"binaries: {entry['binaries']}; {what}")

    entry["cmake"] = [line[3:] for line in step(configure(args), "configure").splitlines() if line.startswith("-- ") and re.search(
        r"LibTorch|CUDA|CUPTI|compiler identification|Found (PNG|ZLIB|nlohmann_json)", line)]
    targets = list(PROGRAMS) + test_targets(args.build, labels_of(args))
    listed = succeed(commands.run(["ninja", "-C", str(args.build), "-t", "targets", "all"]), "targets")
    targets += [MODULE] if re.search(rf"^{MODULE}: ", listed, re.MULTILINE) else []
    entry["targets"] = targets
    if not args.rehearse and MODULE not in targets:
        raise Failed(f"CMake made no target {MODULE}: is LibTorch's cuDNN or cuBLAS missing? See gpu-check.log")
    step(["ninja", "-C", str(args.build), "-k", "0", "-j", str(args.jobs), *targets], "build")  # all that can be
    entry["note"] = f"from source (binaries: {entry['binaries']}): {', '.join(targets)}"
    if any("no CUPTI" in line for line in entry["cmake"]):  # its headers come with LibTorch's wheels
        entry["note"] += "; without CUPTI: traces will lack what the driver tells"
