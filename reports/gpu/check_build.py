"""Part of the GPU check: a build for this machine's card, with what the bundle has."""

import argparse
import importlib.util
import re
import shlex
import shutil
import zipfile
from pathlib import Path

import measure
from check_results import Results
from commands import ROOT, Commands, Entry, Failed, has_package, local, succeed

PROGRAMS = ("headroom-plan", "headroom-decode", "headroom-profile")
MODULE = "headroom-cuda"


def test_targets(build: Path, labels: tuple[str, ...]) -> list[str]:
    """The executables whose tests carry one of the labels, by what ninja is to tell CTest of them."""
    text = (build / "build.ninja").read_text()
    targets = []
    for target, properties in re.findall(r"-D TEST_TARGET=(\S+) .*?TEST_PROPERTIES=([^\" ]*)", text):
        if any(re.fullmatch(label, word) for label in labels for word in labels_in(properties.split(";"))):
            targets.append(target)
    return targets


def labels_in(words: list[str]) -> list[str]:
    """What follows LABELS, up to the next name of a property."""
    found, inside = [], False
    for word in words:
        inside = word == "LABELS" or (inside and not word.isupper())
        if inside and word != "LABELS":
            found.append(word)
    return found


def torch_folder() -> Path:
    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:
        raise Failed("this python3 has no torch")
    return Path(found.submodule_search_locations[0])


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
    log = ""

    def step(command: list[str], what: str) -> str:
        nonlocal log
        done = commands.run(command, shown=True)
        log += f"$ {shlex.join(map(local, command))}\n{done[1]}\n"
        results.log("build", log)
        return succeed(done, what)

    entry["cmake"] = [line[3:] for line in step(configure(args), "configure").splitlines() if line.startswith("-- ") and re.search(
        r"LibTorch|CUDA|CUPTI|compiler identification|Found (PNG|ZLIB|nlohmann_json)", line)]
    targets = list(PROGRAMS) + test_targets(args.build, args.labels)
    listed = succeed(commands.run(["ninja", "-C", str(args.build), "-t", "targets", "all"]), "targets")
    targets += [MODULE] if re.search(rf"^{MODULE}: ", listed, re.MULTILINE) else []
    entry["targets"] = targets
    if not args.rehearse and MODULE not in targets:
        raise Failed(f"CMake made no target {MODULE}: is LibTorch's cuDNN or cuBLAS missing? See gpu-check.log")
    step(["ninja", "-C", str(args.build), "-k", "0", "-j", str(args.jobs), *targets], "build")  # all that can be
    entry["build"] = measure.build_id(args.build / "bin")
    entry["note"] = f"{', '.join(targets)}; from the bundle: {', '.join(entry['unpacked']) or 'no package'}"
    if any("no CUPTI" in line for line in entry["cmake"]):  # its headers come with LibTorch's wheels
        entry["note"] += "; without CUPTI: traces will lack what the driver tells"
