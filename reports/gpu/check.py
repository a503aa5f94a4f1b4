#!/usr/bin/env python3
"""Builds, tests and measures Headroom on a machine with a GPU and little else, part by part.

    python3 reports/gpu/check.py all                    # every part that is not done yet, in order
    python3 reports/gpu/check.py all --seconds 570      # no longer than that; the same command goes on
    python3 reports/gpu/check.py build | tests | sanitizer | summary
    python3 reports/gpu/check.py bench --part sdxl-1024
    python3 reports/gpu/check.py --list

Needs CMake 3.25, ninja, g++, nvcc, a python3 with torch, numpy and safetensors, and the bundle that make_bundle.py made; no network.
What a part finds is written into --out as soon as it is known, at most seven files: a part that is cut off loses nothing and can be started
again. Ends with 1 where a part that was asked for failed or is not done.
"""

import argparse
import datetime
import importlib.metadata
import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
import zipfile
from pathlib import Path
from typing import Any, Callable

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "reports" / "bench"))
import gpu_decode  # noqa: E402
import measure  # noqa: E402

PARTS = ("build", "tests", "sanitizer", "bench", "summary")
FILES = ("gpu-check.json", "gpu-check.md", "gpu-decode.json", "gpu-decode.md", "gpu-build.log", "gpu-tests.log", "gpu-sanitizer.log")
PROGRAMS = ("headroom-plan", "headroom-decode")
MODULE = "headroom-cuda"
# Labels of tests: on the GPU, and beside it on the CPU: kernels in the emulator, what is cut up for CUDA's libraries.
ON_GPU, ON_CPU = "gpu", "(gpu_|cuda|cudnn|emulated).*"
REHEARSED = ("graph", "cli")
SANITIZERS = ("memcheck", "racecheck")
SANITIZER_SECONDS = 120
LOG_BYTES = 200_000
PUBLISH_SECONDS = 5
REFUSED = ("Device not supported", "Unable to find injection library")
SAID_SKIPPED = re.compile(r"\bskipp?ed\b|\bno GPU\b", re.IGNORECASE)
Entry = dict[str, Any]


class Failed(Exception):
    """The part cannot go on; says why in one line."""


class Stopped(Exception):
    """Time was up; another call goes on."""


class Refused(Exception):
    """The machine does not allow the part, which is no fault of Headroom's."""


# Results --------------------------------------------------------------------------------------------------------------

class Results:
    """What is known, in the folder of the build, and copied to --out whenever it changes."""

    def __init__(self, state: Path, out: Path, device: dict[str, Any]):
        self.state, self.out = state, out
        self.published: dict[str, int] = {}  # when the copies in `out` were written in `state`
        state.mkdir(parents=True, exist_ok=True)
        out.mkdir(parents=True, exist_ok=True)
        for name in FILES:  # what an earlier machine found and this one has not
            if (out / name).exists() and not (state / name).exists():
                shutil.copyfile(out / name, state / name)
        self.data: dict[str, Any] = {"parts": {}}
        if (state / "gpu-check.json").exists():
            self.data = json.loads((state / "gpu-check.json").read_text())
        if device["card"] != self.data.get("device", device)["card"]:
            self.data["parts"] = {}  # another card's
        self.data["device"] = device

    def entry(self, part: str) -> Entry:
        return self.data["parts"].get(part, {})

    def put(self, part: str, entry: Entry) -> None:
        self.data["parts"][part] = entry
        self.save()

    def save(self) -> None:
        gpu_decode.write_whole(self.state / "gpu-check.json", json.dumps(self.data, indent=1, ensure_ascii=False) + "\n")
        gpu_decode.write_whole(self.state / "gpu-check.md", check_markdown(self.data, self.decodes()))
        self.publish()

    def publish(self) -> None:
        for name in FILES:
            file = self.state / name
            if file.exists() and self.published.get(name) != file.stat().st_mtime_ns:
                self.published[name] = file.stat().st_mtime_ns
                gpu_decode.write_whole(self.out / name, file.read_text(errors="replace"))

    def decodes(self) -> dict[str, Any]:
        return gpu_decode.read_results(self.state / "gpu-decode.json")["parts"]

    def log(self, name: str, text: str) -> None:
        """The end of it, which says what went wrong."""
        gpu_decode.write_whole(self.state / name, text[-LOG_BYTES:])


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


# Commands -------------------------------------------------------------------------------------------------------------

class Commands:
    """Runs children in sessions of their own, so that nothing of them is left when time is up."""

    def __init__(self, seconds: float | None, site: Path, meanwhile: Callable[[], None]):
        """`site` holds Python packages of the bundle; `meanwhile` is called every few seconds."""
        self.end = time.monotonic() + seconds if seconds else None
        self.site, self.meanwhile = site, meanwhile

    def left(self) -> float | None:
        return None if self.end is None else max(0.0, self.end - time.monotonic())

    def environment(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(self.site), os.environ.get("PYTHONPATH")]))}

    def run(self, command: list[str], seconds: float | None = None, shown: bool = False) -> tuple[int | None, str]:
        """The exit status, None where time was up, and all output; `shown` prints it as it comes."""
        limits = [limit for limit in (seconds, self.left()) if limit is not None]
        end = time.monotonic() + min(limits) if limits else None
        measure.note("$ " + shlex.join(map(local, command)))
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                                 env=self.environment(), cwd=ROOT)
        os.set_blocking(child.stdout.fileno(), False)
        out, published = bytearray(), time.monotonic()
        try:
            while True:
                if time.monotonic() > published + PUBLISH_SECONDS:
                    self.meanwhile()
                    published = time.monotonic()
                chunk = child.stdout.read()
                out += chunk or b""
                if chunk and shown:
                    sys.stderr.buffer.write(chunk)
                    sys.stderr.flush()
                if chunk == b"" or (chunk is None and child.poll() is not None):
                    return child.wait(), out.decode(errors="replace")
                if end and time.monotonic() > end:
                    return None, out.decode(errors="replace")
                if chunk is None:
                    time.sleep(0.05)
        finally:
            end_session(child)


def end_session(child: subprocess.Popen) -> None:
    for kind in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, kind)
        except ProcessLookupError:
            break
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            pass
    child.wait()


def local(word: str) -> str:
    """Without the machine's own folders."""
    return word.replace(str(ROOT) + "/", "").replace(sys.executable, "python3")


def succeed(done: tuple[int | None, str], what: str) -> str:
    status, out = done
    if status == 0:
        return out
    if status is None:
        raise Stopped(f"{what}: time was up")
    last = next((line for line in reversed(out.splitlines()) if line.strip()), "no message")
    raise Failed(f"{what}: ended with {status}: {last[:200]}")


# Build ----------------------------------------------------------------------------------------------------------------

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


def has_package(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


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
        results.log("gpu-build.log", log)
        return succeed(done, what)

    entry["cmake"] = [line[3:] for line in step(configure(args), "configure").splitlines() if line.startswith("-- ") and re.search(
        r"LibTorch|CUDA|compiler identification|Found (PNG|ZLIB|nlohmann_json)", line)]
    targets = list(PROGRAMS) + test_targets(args.build, args.labels)
    listed = step(["ninja", "-C", str(args.build), "-t", "targets", "all"], "targets")
    targets += [MODULE] if re.search(rf"^{MODULE}: ", listed, re.MULTILINE) else []
    entry["targets"] = targets
    if not args.rehearse and MODULE not in targets:
        raise Failed(f"CMake made no target {MODULE}: is LibTorch's cuDNN or cuBLAS missing? See gpu-build.log")
    step(["ninja", "-C", str(args.build), "-j", str(args.jobs), *targets], "build")
    entry["build"] = gpu_decode.build_id(args.build / "bin")
    entry["note"] = f"{', '.join(targets)}; from the bundle: {', '.join(entry['unpacked']) or 'no package'}"


# Tests ----------------------------------------------------------------------------------------------------------------

def junit_outcomes(file: Path) -> dict[str, Any]:
    """Counts, and the names of tests that failed or, though they passed, said that they were skipped."""
    counts: dict[str, Any] = {"passed": 0, "failed": [], "skipped": []}
    for case in xml.parse(file).getroot().iter("testcase"):
        said = "".join(out.text or "" for out in case.iter("system-out"))
        if case.get("status") in ("fail", "notrun") and case.find("skipped") is None:
            counts["failed"].append(case.get("name"))
        elif case.find("skipped") is not None or case.get("status") != "run" or SAID_SKIPPED.search(said):
            counts["skipped"].append(case.get("name"))
        else:
            counts["passed"] += 1
    return counts


def run_tests(args: argparse.Namespace, commands: Commands, label: str, jobs: int) -> tuple[dict[str, Any], str]:
    file = args.build / "check" / "junit.xml"
    file.unlink(missing_ok=True)
    status, out = commands.run(["ctest", "--test-dir", str(args.build), "-L", f"^{label}$", "--output-on-failure", "--output-junit",
                                str(file), "-j", str(jobs), "--timeout", "300"], shown=True)
    if not file.exists():
        if status is None:
            raise Stopped("time was up")
        found = "no tests" if "No tests were found" in out else f"ctest ended with {status}"
        return {"passed": 0, "failed": [], "skipped": [], "error": found}, out
    counts = junit_outcomes(file)
    if not counts["passed"] + len(counts["failed"]) + len(counts["skipped"]):
        counts["error"] = "no tests"
    return counts, out


def tests(args: argparse.Namespace, commands: Commands, results: Results, entry: Entry) -> None:
    log = ""
    entry["suites"] = {}
    # On the GPU one at a time: each may want most of its memory.
    for label, kind, jobs in zip(args.labels, ("on the GPU", "on the CPU"), (1, args.jobs)):
        entry["suites"][kind], out = run_tests(args, commands, label, jobs)
        entry["suites"][kind]["label"] = label
        log += out
        results.log("gpu-tests.log", log)
        results.save()
    faults = [f"{kind}: {suite.get('error') or ', '.join(suite['failed'])}" for kind, suite in entry["suites"].items()
              if suite.get("error") or suite["failed"]]
    if not args.rehearse and entry["suites"]["on the GPU"]["skipped"]:
        faults.append("skipped, though there is a GPU: " + ", ".join(entry["suites"]["on the GPU"]["skipped"]))
    if faults:
        raise Failed("; ".join(faults)[:600])
    entry["note"] = ", ".join(f"{suite['passed']} passed {kind}" for kind, suite in entry["suites"].items())


# Sanitizer ------------------------------------------------------------------------------------------------------------

def compute_sanitizer() -> str:
    found = shutil.which("compute-sanitizer")
    if found:
        return found
    homes = [Path(os.path.realpath(nvcc)).parents[1] for nvcc in [shutil.which("nvcc")] if nvcc] + [Path("/usr/local/cuda")]
    for file in (home / place / "compute-sanitizer" for home in homes for place in ("bin", "compute-sanitizer")):
        if os.access(file, os.X_OK):
            return str(file)
    raise Refused("no compute-sanitizer on this machine")


def our_kernels(sanitizer: str) -> list[str]:
    """Those of libraries would take hours under racecheck. The option has had two names."""
    told = subprocess.run([sanitizer, "--help"], capture_output=True, text=True, check=False).stdout
    return ["--kernel-name" if "--kernel-name " in told else "--kernel-regex", "kns=headroom"]


def sanitized(commands: Commands, tool: str, program: Path) -> tuple[dict[str, Any], str]:
    """One executable under one tool."""
    start = time.monotonic()
    program_itself = compute_sanitizer()
    status, out = commands.run([program_itself, "--tool", tool, "--target-processes", "all", "--error-exitcode", "99",
                                *(our_kernels(program_itself) if tool == "racecheck" else []), str(program)], seconds=SANITIZER_SECONDS)
    summary = re.search(r"(ERROR|RACECHECK) SUMMARY: (.+)", out)
    errors = re.search(r"(\d+) (errors?|hazards?)", summary[2]) if summary else None
    found: dict[str, Any] = {"seconds": round(time.monotonic() - start, 1), "summary": summary[2].strip() if summary else None}
    if any(word in out for word in REFUSED):
        found["status"] = "refused"
    elif status is None:
        found["status"] = "cut off"
    else:
        found["status"] = "done" if status == 0 and errors and errors[1] == "0" else "failed"
    return found, out


def sanitizer(args: argparse.Namespace, commands: Commands, results: Results, entry: Entry) -> None:
    if args.rehearse:
        raise Refused("a rehearsal has no GPU")
    programs = [args.build / "tests" / target for target in test_targets(args.build, args.labels[:1])]
    if not programs:
        raise Failed("no tests on the GPU")
    compute_sanitizer()
    entry.setdefault("runs", {})
    log = ""
    for tool in SANITIZERS:
        for program in programs:
            name = f"{tool} {program.name}"
            if entry["runs"].get(name, {}).get("status") == "done":
                continue
            entry["runs"][name], out = sanitized(commands, tool, program)
            if entry["runs"][name]["status"] == "cut off" and commands.left() == 0:
                raise Stopped("time was up")
            log += f"== {name}\n{out}\n"
            results.log("gpu-sanitizer.log", log)
            results.save()
            if entry["runs"][name]["status"] == "refused":
                raise Refused("compute-sanitizer does not run here: " + next(line for line in out.splitlines() if any(
                    word in line for word in REFUSED)).strip("= ")[:200])
    faults = [f"{name}: {run['status']}" + (f", {run['summary']}" if run["summary"] else "")
              for name, run in entry["runs"].items() if run["status"] != "done"]
    if faults:
        raise Failed("; ".join(faults))


# Bench ----------------------------------------------------------------------------------------------------------------

def bench(args: argparse.Namespace, commands: Commands, results: Results, entry: Entry) -> None:
    wanted = args.part or gpu_decode.parts()
    command = [sys.executable, str(ROOT / "reports" / "bench" / "gpu_decode.py"), "--programs", str(args.build / "bin"),
               "--part", ",".join(wanted), "-o", str(results.state / "gpu-decode.json")]
    command += ["--rehearse"] * args.rehearse + ["--again"] * args.again
    command += ["--seconds", str(max(1, round(commands.left() - 5)))] if commands.end else []
    for name in ("rounds", "repeats"):
        command += [f"--{name}", str(getattr(args, name))] if getattr(args, name) is not None else []
    status, out = commands.run(command, shown=True)
    found = results.decodes()
    lacking = [name for name in wanted if found.get(name, {}).get("status") != "done"]
    wrong = [name for name in wanted if found.get(name, {}).get("as_expected") is False]
    if lacking and not found:
        succeed((status, out), "gpu_decode.py")
    words = [f"{title}: {', '.join(names)}" for title, names in (("not done", lacking), ("not as expected", wrong)) if names]
    if lacking and not any(found.get(name, {}).get("status") == "failed" for name in lacking):
        raise Stopped("; ".join(words))
    if words:
        raise Failed("; ".join(words))
    entry["note"] = f"{len(wanted)} parts, all as expected"


# The table ------------------------------------------------------------------------------------------------------------

def machine_lines(device: dict[str, Any]) -> str:
    card = device.get("card")
    where = f"{card['name']}, {card['memory_bytes'] >> 20} MiB, compute capability {card['compute_capability']}, driver {card['driver']}" \
        if card else "No GPU"
    return f"{where}; {device.get('cpu')}, {device.get('cores')} cores, {device.get('system')}.\n{device.get('versions')}.\n"


def suite_line(kind: str, suite: dict[str, Any]) -> str:
    return f"- Tests {kind} (label `{suite['label']}`): " + (suite.get("error") or
        f"{suite['passed']} passed, {len(suite['failed'])} failed, {len(suite['skipped'])} skipped") + ".\n"


def check_markdown(data: dict[str, Any], decodes: dict[str, Any]) -> str:
    rows = [["part", "status", "when", "seconds", "build", "what was found"]]
    for part in PARTS[:-1]:
        entry = data["parts"].get(part)
        if entry:
            rows.append([part, entry["status"], entry["date"], str(entry.get("seconds", "–")), entry.get("build") or "–",
                         (entry.get("note") or "–").replace("|", "/")])
        else:
            rows.append([part, "not run", "–", "–", "–", "–"])
    text = f"# The GPU check\n\n{machine_lines(data.get('device', {}))}\n{measure.markdown_table(rows)}\n"
    text += "".join(suite_line(kind, suite) for kind, suite in data["parts"].get("tests", {}).get("suites", {}).items())
    text += "".join(f"- {name}: {run['status']}" + (f", {run['summary']}" if run["summary"] else "") + f", {run['seconds']} s.\n"
                    for name, run in data["parts"].get("sanitizer", {}).get("runs", {}).items())
    if decodes:
        text += "\n" + measure.markdown_table([["decode", "status", "when", "fastest of Headroom against untiled", "least PSNR of Headroom",
                                                "highest peak of its limit"], *map(decode_line, decodes, decodes.values())])
        text += "\nAll of it: gpu-decode.md.\n"
    commands = dict.fromkeys(entry["command"] for entry in data["parts"].values())
    return text + "".join(f"\n    {command}" for command in commands) + "\n"


def decode_line(name: str, entry: dict[str, Any]) -> list[str]:
    ours = [row for row in entry.get("rows", []) if row["name"].startswith("Headroom") and "error" not in row]
    ratios = [row["against_untiled"]["ratio"] for row in ours if "against_untiled" in row]
    psnr = [row["psnr_db"] for row in ours if row["psnr_db"] is not None]
    share = [row["peak_bytes"] / row["limit_bytes"] for row in ours if row["limit_bytes"]]
    status = entry["status"] + ("" if entry.get("as_expected", True) else ", NOT as expected")
    return [name, status, entry["date"], f"{min(ratios):.2f}" if ratios else "–", f"{min(psnr):.1f} dB" if psnr else "–",
            f"{max(share):.2f}" if share else "–"]


def summary(args: argparse.Namespace, commands: Commands, results: Results, entry: Entry) -> None:
    file = results.state / "gpu-check.md"
    print(file.read_text() if file.exists() else "nothing was run")


# The program ----------------------------------------------------------------------------------------------------------

def describe_machine() -> dict[str, Any]:
    def version_of(command: list[str], pattern: str) -> str:
        try:
            found = re.search(pattern, measure.run(command))
        except (OSError, RuntimeError):
            return "none"
        return found[1] if found else "unknown"

    def package(name: str) -> str:
        return importlib.metadata.version(name) if has_package(name) else "none"

    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    versions = (f"Python {sys.version.split()[0]}, PyTorch {package('torch')}, numpy {package('numpy')}, "
                f"nvcc {version_of([nvcc, '--version'], r'release ([0-9.]+)')}, cuDNN {package('nvidia-cudnn-cu13')}, "
                f"CMake {version_of(['cmake', '--version'], r'version ([0-9.]+)')}, g++ {version_of(['g++', '-dumpfullversion'], '([0-9.]+)')}")
    cpu = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    release = re.search(r'PRETTY_NAME="(.+)"', Path("/etc/os-release").read_text())
    return {"card": measure.card(), "cpu": cpu[1] if cpu else "unknown", "cores": len(os.sched_getaffinity(0)),
            "system": release[1] if release else "unknown", "versions": versions}


def run_part(part: str, work: Callable[..., None], args: argparse.Namespace, commands: Commands, results: Results) -> str:
    """Runs one part and writes its entry before and after; returns its status."""
    before = results.entry(part)
    build = gpu_decode.build_id(args.build / "bin") if (args.build / "bin").is_dir() else None
    entry: Entry = {"status": "started", "date": now(), "command": shlex.join(["python3", *map(local, sys.argv)]), "build": build}
    if part == "sanitizer" and before.get("build") == build and not args.again:
        entry["runs"] = before.get("runs", {})
    if part != "summary":
        results.put(part, entry)
    start = time.monotonic()
    try:
        work(args, commands, results, entry)
        entry["status"] = "done"
    except Refused as refusal:
        entry |= {"status": "refused", "note": str(refusal)}
        measure.note(f"\n*** {part}: {refusal} ***\n")
    except (Failed, Stopped) as end:
        entry |= {"status": "failed" if isinstance(end, Failed) else "stopped", "note": str(end)}
        measure.note(f"\n*** {part}: {end} ***\n")
    entry["seconds"] = round(time.monotonic() - start)
    if part != "summary":
        results.put(part, entry)
    return entry["status"]


def is_done(part: str, args: argparse.Namespace, results: Results) -> bool:
    """Whether `all` may pass it by: done, or refused, with the programs that are there."""
    if part in ("summary", "bench") or args.again or not (args.build / "bin" / PROGRAMS[1]).exists():
        return False
    return results.entry(part).get("status") in ("done", "refused") \
        and results.entry(part).get("build") == gpu_decode.build_id(args.build / "bin")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=(*PARTS, "all"), help="the part, or all")
    parser.add_argument("--list", action="store_true", help="name the parts and those of bench, and end")
    parser.add_argument("--part", type=gpu_decode.chosen, help="bench: names or their beginnings, commas between, default: all")
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "results", help="where results go, default: reports/results")
    parser.add_argument("--bundle", type=Path, default=ROOT / "gpu-bundle", help="what make_bundle.py made, default: gpu-bundle")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "gpu", help="the build's folder, default: build/gpu")
    parser.add_argument("--cmake", action="append", default=[], metavar="-DNAME=VALUE", help="more for CMake, e.g. --cmake=-DCMAKE_CXX_COMPILER=g++-13")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="of the build, default: all cores")
    parser.add_argument("--seconds", type=float, help="end by then and leave the rest for another call")
    parser.add_argument("--rounds", type=int, help="bench: instead of each part's own number")
    parser.add_argument("--repeats", type=int, help="bench: later decodes in a process, instead of each part's own number")
    parser.add_argument("--again", action="store_true", help="also what is done")
    parser.add_argument("--rehearse", action="store_true", help="try the script without a GPU: a CPU build, other tests, tiny decodes")
    args = parser.parse_args()
    if args.list:
        print("\n".join([*PARTS, *(f"bench --part {name}" for name in gpu_decode.parts())]))
        return 0
    if args.what is None:
        parser.error("expected a part, or all; see --list")
    args.build, args.bundle = args.build.resolve(), args.bundle.resolve()
    args.labels = REHEARSED if args.rehearse else (ON_GPU, ON_CPU)

    device = describe_machine()
    if not args.rehearse and device["card"] is None and args.what != "summary":
        raise SystemExit("check.py: nvidia-smi names no GPU; --rehearse tries the script without one")
    results = Results(args.build / "check", args.out, device)
    commands = Commands(args.seconds, args.build / "check" / "site", results.publish)
    works = dict(zip(PARTS, (build, tests, sanitizer, bench, summary)))
    statuses = {}
    for part in PARTS if args.what == "all" else (args.what,):
        if args.what == "all" and is_done(part, args, results):
            measure.note(f"{part}: {results.entry(part)['status']} before; --again does it anew")
            continue
        statuses[part] = run_part(part, works[part], args, commands, results)
        if part == "build" and statuses[part] != "done":
            break
    if "summary" not in statuses:
        summary(args, commands, results, {})
    return 0 if all(status in ("done", "refused") for status in statuses.values()) else 1


if __name__ == "__main__":
    measure.run_main(main)
