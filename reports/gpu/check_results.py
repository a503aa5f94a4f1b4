"""What the GPU check knows of this machine and of each part, and the table of it."""

import importlib.metadata
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import measure
from commands import Entry, has_package
from kept_parts import read_results
from sittings import sitting_table

PARTS = ("build", "tests", "sanitizer", "profiler", "shapes", "bench")
DECODES, PROFILER, SHAPES, LOG = "gpu-decode.json", "gpu-profiler.json", "gpu-shapes.json", "gpu-check.log"
FILES = ("gpu-check.json", "gpu-check.md", DECODES, "gpu-decode.md", PROFILER, "gpu-profiler.md", SHAPES, "gpu-shapes.md", LOG)
LOG_BYTES = 200_000  # of each part
LOG_HEAD = "==== "


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
            self.data |= {"parts": {}, "sittings": {}}  # another card's
        self.data["device"] = device

    def entry(self, part: str) -> Entry:
        return self.data["parts"].get(part, {})

    def put(self, part: str, entry: Entry) -> None:
        self.data["parts"][part] = entry
        self.save()

    def steps_of(self, sitting: str) -> dict[str, Entry]:
        """What its steps found; to be written into, and then saved."""
        return self.data.setdefault("sittings", {}).setdefault(sitting, {})

    def save(self) -> None:
        measure.write_whole(self.state / "gpu-check.json", json.dumps(self.data, indent=1, ensure_ascii=False) + "\n")
        measure.write_whole(self.state / "gpu-check.md", check_markdown(self.data, *map(self.parts_of, (DECODES, PROFILER, SHAPES))))
        self.publish()

    def publish(self) -> None:
        for name in FILES:
            file = self.state / name
            if file.exists() and self.published.get(name) != file.stat().st_mtime_ns:
                self.published[name] = file.stat().st_mtime_ns
                measure.write_whole(self.out / name, file.read_text(errors="replace"))

    def parts_of(self, name: str) -> dict[str, Any]:
        """Of a script that writes its results itself."""
        return read_results(self.state / name)["parts"]

    def table(self) -> str:
        file = self.state / "gpu-check.md"
        return file.read_text() if file.exists() else "nothing was run"

    def log(self, part: str, text: str) -> None:
        """The end of it, which says what went wrong; beside that of the other parts."""
        file = self.state / LOG
        logs = split_log(file.read_text(errors="replace")) if file.exists() else {}
        logs[part] = text[-LOG_BYTES:]
        measure.write_whole(file, "".join(f"{LOG_HEAD}{each}\n{logs[each].rstrip()}\n" for each in PARTS if each in logs))


def split_log(text: str) -> dict[str, str]:
    """What each part printed."""
    pieces = re.split(rf"^{LOG_HEAD}({'|'.join(PARTS)})\n", text, flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2]))


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
                f"nvcc {version_of([nvcc, '--version'], r'release ([0-9.]+)')}, cuDNN {package('nvidia-cudnn-cu13')}, CUPTI {package('nvidia-cuda-cupti')}, "
                f"CMake {version_of(['cmake', '--version'], r'version ([0-9.]+)')}, g++ {version_of(['g++', '-dumpfullversion'], '([0-9.]+)')}")
    cpu = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    release = re.search(r'PRETTY_NAME="(.+)"', Path("/etc/os-release").read_text())
    return {"card": measure.card(), "cpu": cpu[1] if cpu else "unknown", "cores": len(os.sched_getaffinity(0)),
            "system": release[1] if release else "unknown", "versions": versions}


# The table ------------------------------------------------------------------------------------------------------------

def machine_lines(device: dict[str, Any]) -> str:
    card = device.get("card")
    where = f"{card['name']}, {card['memory_bytes'] >> 20} MiB, compute capability {card['compute_capability']}, driver {card['driver']}" \
        if card else "No GPU"
    return f"{where}; {device.get('cpu')}, {device.get('cores')} cores, {device.get('system')}.\n{device.get('versions')}.\n"


def suite_line(kind: str, suite: dict[str, Any]) -> str:
    return f"- Tests {kind} (label `{suite['label']}`): " + (suite.get("error") or
        f"{suite['passed']} passed, {len(suite['failed'])} failed, {len(suite['skipped'])} skipped" +
        (f", {suite['not_run']} not run" if suite.get("not_run") else "")) + ".\n"


def check_markdown(data: dict[str, Any], decodes: dict[str, Any], profiled: dict[str, Any], shapes: dict[str, Any]) -> str:
    rows = [["part", "status", "when", "seconds", "build", "what was found"]]
    for part in PARTS:
        entry = data["parts"].get(part)
        if entry:
            rows.append([part, entry["status"], entry["date"], str(entry.get("seconds", "–")), entry.get("build") or "–",
                         (entry.get("note") or "–").replace("|", "/")])
        else:
            rows.append([part, "not run", "–", "–", "–", "–"])
    text = f"# The GPU check\n\n{machine_lines(data.get('device', {}))}\n{measure.markdown_table(rows)}\n"
    text += "".join(sitting_table(number, found) + "\n" for number, found in sorted(data.get("sittings", {}).items()))
    needs = data["parts"].get("build", {}).get("needs")
    if needs:
        text += f"- Binaries from the bundle need {', '.join(f'{name} {version}' for name, version in needs.items())} at least.\n"
    text += "".join(suite_line(kind, suite) for kind, suite in data["parts"].get("tests", {}).get("suites", {}).items())
    text += "".join(f"- {name}: {run['status']}" + (f", {run['summary']}" if run["summary"] else "") + f", {run['seconds']} s.\n"
                    for name, run in data["parts"].get("sanitizer", {}).get("runs", {}).items())
    if profiled:
        text += "\n" + measure.markdown_table([["profiler", "status", "when", "what was found"], *map(profiler_line, profiled, profiled.values())])
        text += "\nAll of it: gpu-profiler.md.\n"
    if decodes:
        text += "\n" + measure.markdown_table([["decode", "status", "when", "fastest of Headroom against untiled", "least PSNR of Headroom",
                                                "highest peak of its limit"], *map(decode_line, decodes, decodes.values())])
        text += "\nAll of it: gpu-decode.md.\n"
    if shapes:
        text += "\n" + measure.markdown_table([["shapes", "status", "when", "rows"], *(
            [name, entry["status"], entry["date"], str(sum(len(step["rows"]) for step in entry["steps"].values()))] for name, entry in shapes.items())])
        text += "\nAll of it: gpu-shapes.md.\n"
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


def profiler_line(name: str, entry: dict[str, Any]) -> list[str]:
    status = entry["status"] + ("" if entry.get("as_expected", True) else ", NOT as expected")
    said = entry.get("error") or "; ".join(entry["faults"]) or ("as expected" if entry["status"] == "done" else "–")
    return [name, status, entry["date"], said[:300].replace("|", "/")]
