"""Part `smoke`: does anything run on this card at all?

Programs start, the module opens, every test labelled `gpu` runs in a process of its own, and each family decodes a tiny latent in each dtype.
The part reruns the first failure under compute-sanitizer and cuda-gdb, and reports it in full.
"""

import json
import os
import re
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from place import ROOT, Done, Place
from report import Report

sys.path.append(str(ROOT / "tests" / "reference"))
import measure  # noqa: E402 - beside reports/bench, which place.py adds to the path

DEMO_MODEL = ROOT / "tests" / "data" / "demo_model"
GOLDEN_FOLDER = ROOT / "tests" / "data" / "golden"
WEIGHTS_SEED, LATENT_SEED = 11, 12  # as in tests/reference/make_golden.py
# One config per class (two for Wan), and the PSNR of diffusers' own decode on a CPU in bf16 and fp16. Open-Sora-Plan is not in diffusers.
GOLDEN = {
    "plain": (54.4, 72.9), "dc_odd_heads": (47.7, 54.5), "tiny_default": (54.4, 73.1), "hunyuan_image": (57.3, 75.0), "wan_default": (43.2, 62.8),
    "wan22_default": (52.3, 70.5), "qwen_clip": (45.2, 65.1), "qwen21_default": (48.7, 65.0), "hunyuan_video": (36.8, 54.5),
    "hunyuan_video_15": (54.7, 74.5), "ltx": (54.9, 71.1), "ltx2_kinds": (56.2, 74.5), "osp_mixed_frames": (50.0, 68.0),
}
LATENTS = {"ltx": (1, 8, 2, 1, 2), "ltx2_kinds": (1, 6, 2, 2, 2)}  # shapes that the config does not determine
AGAIN_SECONDS = 8  # for each rerun of the first failure
# Test executables and their numbers of processes, longest first. The numbers keep the total under half a minute.
PROCESSES = {"test_measure_on_gpu": 1, "test_on_gpu": 9, "test_session_on_gpu": 6, "test_kernels_on_gpu": 3, "test_cupti_on_gpu": 1}
MOST_LOSS_DB = 2.0  # allowed PSNR loss in 16 bits against diffusers in that dtype, since single pictures vary
MOST_ERROR = 1e-4  # in fp32, relative to the reference's largest magnitude


def run_all(commands: dict[str, list[str]], where: Place, seconds: float) -> dict[str, Done]:
    """Runs the commands in order, as many at once as there are cores. Commands that timed out have status None."""
    end = time.monotonic() + seconds

    def run(command: list[str]) -> Done:
        left = end - time.monotonic()
        return where.run(command, left) if left > 0 else Done(None, "", 0.0)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return dict(zip(commands, pool.map(run, commands.values())))


def test_cases(where: Place, program: Path, which: str) -> list[str]:
    """The names of an executable's test cases; `which` is a tag or its exclusion."""
    listed = where.run([str(program), "--list-test-names-only", which], 10).output
    return [line.strip() for line in listed.splitlines() if line.strip() and not line.startswith("[air]")]


def as_pattern(name: str) -> str:
    """A Catch2 pattern that matches this name alone."""
    return re.sub(r"([\\,\[\]*])", r"\\\1", name)


def test_shards(where: Place, work: Path, which: str) -> dict[str, list[str]]:
    """Commands that run all test cases. A few processes share an executable's cases, since each needs seconds to open CUDA."""
    commands = {}
    for name, processes in PROCESSES.items():
        program = where.build / "tests" / name
        cases = test_cases(where, program, which) if program.exists() else []
        for i in range(min(processes, len(cases))):
            listed = work / f"{name}.{i}.{'beside' if which.startswith('~') else 'alone'}.txt"
            listed.write_text("".join(f"{as_pattern(case)}\n" for case in cases[i::processes]))
            commands[f"{name} {i}"] = [str(program), "-d", "yes", "-f", str(listed)]
    return commands


def read_tests(output: str) -> tuple[int, list[str]]:
    """Parses Catch2's console output with durations: number of passed test cases, and names of failed ones."""
    sections = re.split(r"^-{79}\n((?:.+\n)+?)-{79}\n", output, flags=re.MULTILINE)  # alternates names and their messages
    failed = [" ".join(name.split("\n")).strip() for name, said in zip(sections[1::2], sections[2::2]) if ": FAILED:" in said]
    totals = re.search(r"^test cases: +(\d+) \| +(?:(\d+) passed)?", output, re.MULTILINE)
    every = re.search(r"^All tests passed \(.* in (\d+) test cases?\)", output, re.MULTILINE)
    passed = int(every[1]) if every else int(totals[2] or 0) if totals else 0
    return passed, list(dict.fromkeys(failed))


class FirstFailure:
    """Remembers the first command that failed."""

    def __init__(self) -> None:
        self.command: list[str] | None = None
        self.name = ""

    def note(self, name: str, command: list[str]) -> None:
        if self.command is None:
            self.name, self.command = name, command


def report_tests(report: Report, ended: dict[str, Done], commands: dict[str, list[str]], first: FirstFailure) -> None:
    passed, failed, died = 0, [], []
    for name, done in ended.items():
        right, wrong = read_tests(done.output)
        passed += right
        failed += [f"{name.split()[0]}: {case}" for case in wrong]
        if done.status != 0:
            report.log(f"*** {name}: status {done.status}, {done.seconds:.1f} s\n{done.output[-30000:]}")
            if not wrong:
                died.append(f"{name}: " + ("no time" if done.status is None else f"ended with {done.status}: {done.last_line[:120]}"))
            for case in wrong[:1]:
                first.note(case, [commands[name][0], as_pattern(case)])
            if not wrong and done.status is not None:
                first.note(name, commands[name])
        report.log(f"--- {name}: {done.seconds:.1f} s: " + "; ".join(re.findall(r"^[1-9][0-9.]* s: .+$", done.output, re.MULTILINE)))
    report.row("tests", f"{passed} passed, {len(failed)} failed, {len(died)} processes died or had no time", ok=not (failed or died))
    for each in failed[:12] + died[:8]:
        report.row("  " + each[:100], "FAILED", ok=False)


def golden_latent(folder: Path, expected: np.ndarray) -> np.ndarray:
    """The latent of a golden picture, as tests/reference/make_golden.py draws it."""
    from random_weights import random_latent

    frames = expected.shape[2] if expected.ndim == 5 else 1
    shape = LATENTS.get(folder.name) or measure.latent_shape(str(folder), (expected.shape[-1], expected.shape[-2]), expected.shape[0], frames)
    return random_latent(tuple(shape), LATENT_SEED)


def tiny_decodes(where: Place, work: Path) -> dict[str, list[str]]:
    """Commands that decode the golden latents of every class in every dtype."""
    commands = {}
    for name in GOLDEN:
        latent = work / f"{name}.npy"
        np.save(latent, golden_latent(GOLDEN_FOLDER / name, np.load(GOLDEN_FOLDER / name / "expected.npy")))
        for dtype in ("fp32",) if where.rehearse else ("fp32", "bf16", "fp16"):
            commands[f"{name} {dtype}"] = [
                where.program("headroom-decode"), "--model", str(GOLDEN_FOLDER / name), "--random-weights", str(WEIGHTS_SEED), "--latent", str(latent),
                "--latent-scale", "none", "--quiet", "--device", "cuda", "--limit", "1GiB", "--dtype", dtype, "-o", str(work / f"{name}.{dtype}.npy")]
    return commands


def judge(work: Path, name: str) -> str | None:
    """Compares a tiny decode with diffusers' stored picture. Returns the fault, or None."""
    model, dtype = name.split()
    expected = np.load(GOLDEN_FOLDER / model / "expected.npy")
    found = measure.compare(np.load(work / f"{model}.{dtype}.npy").reshape(expected.shape), expected)
    if dtype == "fp32":
        error = found["largest_error_relative"]
        return None if error <= MOST_ERROR else f"error {error:.1e} of the magnitude"
    psnr, theirs = found["psnr_db"], GOLDEN[model][dtype == "fp16"]
    return None if psnr is None or psnr >= theirs - MOST_LOSS_DB else f"{psnr:.1f} dB, diffusers {theirs:.1f}"


def report_decodes(report: Report, work: Path, ended: dict[str, Done], commands: dict[str, list[str]], first: FirstFailure) -> None:
    faults = {}
    for name, done in ended.items():
        if done.status is None:
            faults[name] = "no time"
        elif done.status != 0:
            faults[name] = f"exit code {done.status}: {done.last_line[:160]}"
            report.log(f"*** {name}: {faults[name]}\n{done.output[-4000:]}")
        else:
            fault = judge(work, name)
            if fault:
                faults[name] = fault
        if name in faults and faults[name] != "no time":
            first.note(name, commands[name])
    report.row("tiny decodes", f"{len(ended) - len(faults)} of {len(ended)} right", ok=not faults)
    for name, fault in list(faults.items())[:16]:
        report.row(f"  {name}", fault, ok=False)
    times = sorted((done.seconds, name) for name, done in ended.items())
    report.log("slowest decodes: " + ", ".join(f"{name} {seconds:.1f} s" for seconds, name in times[-5:]))


def tool(name: str) -> str | None:
    return shutil.which(name) or next((path for path in (f"/usr/local/cuda/bin/{name}",) if os.access(path, os.X_OK)), None)


def look_closer(report: Report, where: Place, first: FirstFailure) -> None:
    """Reruns the first failure under compute-sanitizer and cuda-gdb."""
    assert first.command is not None
    commands = {"compute-sanitizer": ["--tool", "memcheck", "--error-exitcode", "99"],
                "cuda-gdb": ["-batch", "-ex", "break exit", "-ex", "run", "-ex", "bt 25", "--args"]}
    for name, options in commands.items():
        program = tool(name)
        if program is None:
            report.log(f"{name}: not on this machine")
            continue
        done = where.run([program, *options, *first.command], min(AGAIN_SECONDS, report.left() / 2))
        report.log(f"*** {first.name} under {name} (status {done.status}):\n{done.output[:15000]}")
        told = [line for line in done.output.splitlines() if line.startswith(("=========", "#"))]
        report.row(f"  {first.name[:60]}, {name}", " / ".join(line.strip("= ")[:110] for line in told[:4]) or "nothing")


def start(report: Report, where: Place, work: Path) -> bool:
    """Checks that programs start and that the module decodes the demo's model. Returns False if further checks make no sense."""
    for name in ("headroom-plan", "headroom-decode", "headroom-profile"):
        done = where.run([where.program(name), "--version"], 20)
        if done.status != 0:
            report.fail(name, f"does not start: {done.last_line[:200]}", done.output)
            return False
    latent = measure.write_random_latent(str(DEMO_MODEL), (256, 256), 0, work / "demo.npy")
    command = [where.program("headroom-decode"), "--model", str(DEMO_MODEL), "--latent", str(latent), "--latent-scale", "none", "--quiet"]
    stats = work / "demo.json"
    done = where.run([*command, "--device", "cuda", "--limit", "1GiB", "--dtype", "bf16", "--stats", str(stats), "-o", str(work / "demo.bf16.npy")], 30)
    if done.status != 0:
        report.fail("module", f"exit code {done.status}: {done.last_line[:200]}", done.output)
        first = FirstFailure()
        first.note("the demo's decode", [*command, "--device", "cuda", "--limit", "1GiB", "--dtype", "bf16", "-o", str(work / "demo.again.npy")])
        look_closer(report, where, first)
        return False
    told = json.loads(stats.read_text())
    report.row("module", f"opens: {told['device']}", told["libraries"], f"first decode {done.seconds:.1f} s")
    return True


def main(report: Report, where: Place) -> None:
    work = where.work_folder()
    if not start(report, where, work):
        return
    first = FirstFailure()
    alone = test_shards(where, work, "[alone]")
    tests = {} if where.rehearse else test_shards(where, work, "~[alone]")  # rehearsals skip the tests: emulated kernels take minutes
    decodes = tiny_decodes(where, work)
    ended = {name: where.run(command, 10) for name, command in alone.items()}
    report.step("tests", lambda: report_tests(report, ended, alone, first))
    ended = run_all(tests | decodes, where, report.left() - AGAIN_SECONDS)
    report.step("tests beside each other", lambda: report_tests(report, {name: ended[name] for name in tests}, tests, first))
    report.step("tiny decodes", lambda: report_decodes(report, work, {name: ended[name] for name in decodes}, decodes, first))
    if first.command is not None:
        report.step("first failure", lambda: look_closer(report, where, first))
