"""Code that the benchmarks share: resident memory, running the programs, comparing arrays, describing the machine.

    watch = ResidentWatch(); ...; print(watch.growth_bytes())
    plan = make_plan("sdxl", (512, 512), "576MiB", Path("plan.json"))
    run = headroom_decode("sdxl", Path("plan.json"), Path("latent.npy"), Path("out.npy"), seed=0, threads=2)

Needs numpy and safetensors. Only child processes that need torch and diffusers load them.
"""

import argparse
import datetime
import functools
import importlib.metadata
import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, NamedTuple, Sequence

import numpy as np
from safetensors.numpy import load_file, save_file

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / "build" / "bin"
MIB = 1 << 20
os.environ["HEADROOM_CACHE"] = "off"  # decodes of benchmarks neither use nor change what the user's decodes taught
RESIDENT_SLACK = 32 * MIB  # allowed resident growth beyond the limit
EXACT = 1e-4  # largest fp32 error, relative to the reference's largest magnitude
DOES_NOT_FIT = 3

UNITS = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}

Run = dict[str, Any]
Config = dict[str, Any]


class DoesNotFit(RuntimeError):
    """headroom-plan exited with 3. `smallest_bytes` is the smallest limit that it reported."""

    def __init__(self, message: str, smallest_bytes: int):
        super().__init__(message)
        self.smallest_bytes = smallest_bytes


# Sizes ----------------------------------------------------------------------------------------------------------------

def parse_bytes(text: str) -> int:
    """Parses 2GiB, 512MiB, 1.25GiB or plain bytes."""
    match = re.fullmatch(r"([0-9.]+)\s*([A-Za-z]*)", text.strip())
    if not match or match[2].upper() not in UNITS:
        raise argparse.ArgumentTypeError(f"expected a size such as 512MiB, found {text!r}")
    return round(float(match[1]) * UNITS[match[2].upper()])


def parse_size(text: str) -> tuple[int, int]:
    """Parses WIDTHxHEIGHT in pixels."""
    match = re.fullmatch(r"(\d+)x(\d+)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"expected WIDTHxHEIGHT, found {text!r}")
    return int(match[1]), int(match[2])


def mib(count: float | None) -> str:
    return "–" if count is None else f"{count / MIB:.0f} MiB"


# Memory ---------------------------------------------------------------------------------------------------------------

def status_bytes(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status: no {key}")


class ResidentWatch:
    """Growth of this process's peak resident memory since this object reset the peak."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")
        self.start_bytes = status_bytes("VmRSS")

    def growth_bytes(self) -> int:
        return max(0, status_bytes("VmHWM") - self.start_bytes)


# Models and latents ---------------------------------------------------------------------------------------------------

class Model(NamedTuple):
    """A decoder's entry in `headroom-plan models --json`."""
    config: Config
    class_name: str
    in_diffusers: bool  # False: Open-Sora-Plan's own code
    video: bool
    latent_channels: int
    spatial_factor: int  # pixels per latent position and axis
    time_factor: int  # frames per latent frame, except that the first one makes one frame


def listed_models(*words: str) -> dict[str, Model]:
    return {each["name"]: Model(each["config"], each["class"], each["in_diffusers"], each["video"], each["latent_channels"],
                                each["spatial_factor"], each["time_factor"])
            for each in json.loads(run([str(BIN / "headroom-plan"), "models", "--json", *words]))}


@functools.cache
def built_in_models() -> dict[str, Model]:
    return listed_models()


@functools.cache
def model_of(model: str) -> Model:
    """A built-in name, or a folder in diffusers' layout."""
    if model in built_in_models():
        return built_in_models()[model]
    (listed,) = listed_models(model).values()
    return listed._replace(config=json.loads((Path(model) / "config.json").read_text()))


def model_config(model: str) -> Config:
    return model_of(model).config


def clip_frames(model: str, latent_shape: Sequence[int]) -> int:
    """Number of frames that a latent of this shape decodes to; 1 for a picture."""
    return model_of(model).time_factor * (latent_shape[2] - 1) + 1 if len(latent_shape) == 5 else 1


def latent_shape(model: str, size: tuple[int, int], batch: int = 1, frames: int = 1) -> tuple[int, ...]:
    """N×C×H×W for picture models, N×C×T×H×W for video models."""
    of = model_of(model)
    rows_columns = (size[1] // of.spatial_factor, size[0] // of.spatial_factor)
    if not of.video:
        if frames != 1:
            raise RuntimeError(f"--frames: {model} decodes pictures; expected 1, found {frames}")
        return (batch, of.latent_channels, *rows_columns)
    if (frames - 1) % of.time_factor:
        raise RuntimeError(f"--frames: expected 1 more than a multiple of {of.time_factor}, found {frames}")
    return (batch, of.latent_channels, (frames - 1) // of.time_factor + 1, *rows_columns)


def read_latent(file: Path) -> np.ndarray:
    array = np.load(file) if file.suffix == ".npy" else next(iter(load_file(file).values()))
    return array.astype(np.float32)


def write_random_latent(model: str, size: tuple[int, int], seed: int, file: Path, batch: int = 1, frames: int = 1) -> Path:
    """Writes .npy or .safetensors, by the file's suffix."""
    sys.path.insert(0, str(ROOT / "tests" / "reference"))
    from random_weights import random_latent

    latent = random_latent(latent_shape(model, size, batch, frames), seed)
    if file.suffix == ".npy":
        np.save(file, latent)
    else:
        save_file({"latent": latent}, file)
    return file


# Arguments ------------------------------------------------------------------------------------------------------------

def add_run_arguments(parser: argparse.ArgumentParser, model: str, profile: str = "plan by this profile; by assumed costs without") -> None:
    """Adds the options of every benchmark: the model and its weights, threads, a profile, the results' file."""
    parser.add_argument("--model", default=model, help="folder in diffusers' layout, or a built-in name, default: %(default)s")
    parser.add_argument("--random-weights", type=int, metavar="SEED", help="seeded weights instead of the folder's")
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--profile", help=profile)
    parser.add_argument("-o", "--output", type=Path, help="the results, a Markdown file")


def parse_run_arguments(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Parses the arguments. The seed of a built-in model defaults to 0, since it has no weights."""
    args = parser.parse_args()
    if args.model in built_in_models() and args.random_weights is None:
        args.random_weights = 0
    return args


# Programs -------------------------------------------------------------------------------------------------------------

def with_children(number: int) -> list[int]:
    """A process and its descendants, descendants first. All stay in this script's process group, so killing the group ends them."""
    try:
        children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
    except OSError:
        children = []
    return [each for child in children for each in with_children(int(child))] + [number]


def kill_with_children(child: subprocess.Popen) -> None:
    for number in with_children(child.pid):
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    child.communicate()


def run(command: list[str], seconds: float | None = None) -> str:
    """Returns a command's standard output. Raises its last line of output if it fails. Kills it and its descendants after `seconds`."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = child.communicate(timeout=seconds)
    except BaseException as end:
        kill_with_children(child)
        if isinstance(end, subprocess.TimeoutExpired):
            raise RuntimeError(f"took longer than {seconds:.0f} s") from None
        raise
    if child.returncode == 0:
        return out
    message = (err.strip() or out.strip() or "no message").splitlines()[-1]
    message = f"{message} ({Path(command[0]).name} ended with {child.returncode})"
    smallest = re.search(r"\((\d+) bytes\)", message)
    if child.returncode == DOES_NOT_FIT and smallest:
        raise DoesNotFit(message, int(smallest[1]))
    raise RuntimeError(message)


def on_device(device: str) -> list[str]:
    """The programs' --device option. Empty for the CPU, their default."""
    return [] if device == "cpu" else ["--device", device]


def make_plan(model: str, size: tuple[int, int], limit_bytes: int, file: Path, profile: str | None = None,
              dtype: str = "fp32", programs: Path = BIN, batch: int = 1, frames: int = 1, device: str = "cpu",
              host_limit_bytes: int = 0, options: Sequence[str] = ()) -> Run:
    """Makes a plan and returns its figures. Raises DoesNotFit if the limit is too small."""
    command = [str(programs / "headroom-plan"), "--model", model, "--size", f"{size[0]}x{size[1]}", "--dtype", dtype,
               "--frames", str(frames), "--batch", str(batch), "--limit", str(limit_bytes), "-o", str(file),
               *on_device(device)]
    command += ["--host-limit", str(host_limit_bytes)] if host_limit_bytes else []
    run(command + list(options) + (["--profile", profile] if profile else []))
    plan = json.loads(file.read_text())
    return {"limit_bytes": plan["limit_bytes"], "predicted_peak_bytes": plan["predicted"]["peak_bytes"],
            "predicted_seconds": plan["predicted"]["seconds"], "passes": len(plan["passes"]),
            "weights_bytes": plan["weights_bytes"], "flops": sum(each["predicted"]["flops"] for each in plan["passes"]),
            "optimal": plan["optimal"], "assumed": plan.get("assumed", False)}


def headroom_decode(model: str, plan: Path, latent: Path, output: Path, seed: int | None, threads: int,
                    programs: Path = BIN, extra: Sequence[str] = ()) -> Run:
    """One decode in a fresh process. `seconds` excludes loading weights, as the figures of diffusers do."""
    stats_file = output.with_suffix(".stats.json")
    command = [str(programs / "headroom-decode"), "--plan", str(plan), "--model", model, "--latent", str(latent),
               "--latent-scale", "none", "-o", str(output), "--stats", str(stats_file), "--threads", str(threads), "--quiet", *extra]
    run(command + (["--random-weights", str(seed)] if seed is not None else []))
    stats = json.loads(stats_file.read_text())
    figures = ("limit_bytes", "predicted_peak_bytes", "peak_bytes", "pool_peak_bytes", "rss_growth_bytes",
               "predicted_seconds", "libraries")
    return {"seconds": sum(each["seconds"] for each in stats["passes"]), "seconds_with_weights": stats["seconds"],
            **{key: stats[key] for key in figures}}


def diffusers_decode(model: str, latent: Path, output: Path, seed: int | None, threads: int, mode: str = "untiled",
                     tile: int = 32, dtype: str = "fp32", source: Path | None = None, device: str = "cpu", repeats: int = 0,
                     most_seconds: float | None = None, extra: Sequence[str] = ()) -> Run:
    """One decode by diffusers, or by the clone at `source`, in a fresh process. On a GPU it makes `repeats` further decodes."""
    command = [sys.executable, str(Path(__file__).with_name("reference_decode.py")), "--model", model,
               "--latent", str(latent), "--mode", mode, "--tile", str(tile), "--threads", str(threads), "--dtype", dtype, "-o", str(output)]
    command += ["--source", str(source)] if source else []
    command += ["--device", device, "--repeats", str(repeats), *extra]
    return json.loads(run(command + (["--random-weights", str(seed)] if seed is not None else []), most_seconds).splitlines()[-1])


def convolution_rate(threads: int, dtype: str = "fp32", device: str = "cpu") -> float:
    """FLOP/s of LibTorch's 3×3 convolutions on channels-last bands of pixels, the fastest case of oneDNN and cuDNN."""
    command = [sys.executable, str(Path(__file__).with_name("convolution_rate.py")), "--threads", str(threads), "--dtype", dtype,
               "--device", device]
    return json.loads(run(command))["flops_per_second"]


def held(run: Run) -> bool:
    """True if a Headroom decode stayed within its limit, by its own peak and by the resident growth."""
    return run["peak_bytes"] <= run["limit_bytes"] and run["rss_growth_bytes"] <= run["limit_bytes"] + RESIDENT_SLACK


# Results --------------------------------------------------------------------------------------------------------------

def compare(found: np.ndarray, reference: np.ndarray) -> dict[str, float | None]:
    """Largest error, that error relative to the reference's largest magnitude, and PSNR with the reference's range as peak."""
    if found.shape != reference.shape:
        raise RuntimeError(f"expected shape {reference.shape}, found {found.shape}")
    if not np.isfinite(found).all():
        raise RuntimeError("not all values are finite")
    error = np.abs(found.astype(np.float64) - reference)
    largest, magnitude = float(error.max()), float(np.abs(reference).max())
    deviation = float(np.sqrt(np.mean(error**2)))
    span = float(reference.max()) - float(reference.min())
    return {"largest_error": largest, "largest_error_relative": largest / magnitude if magnitude else largest,
            "reference_magnitude": magnitude, "psnr_db": 20 * float(np.log10(span / deviation)) if deviation else None}


def decibels(value: float | None) -> str:
    return "equal" if value is None else f"{value:.1f} dB"


def in_turns(*sides: dict[str, Any]) -> dict[str, Any]:
    """The entries of all sides, interleaved so that neighbours come from different sides."""
    rounds = itertools.zip_longest(*(side.items() for side in sides))
    return dict(each for of_round in rounds for each in of_round if each)


def spread(values: list[float]) -> dict[str, float]:
    return {"median": float(np.median(values)), "least": min(values), "most": max(values)}


def card() -> dict[str, Any] | None:
    """The GPU's description from its driver; None without a GPU."""
    try:
        words = run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total,compute_cap", "--format=csv,noheader,nounits"])
    except (OSError, RuntimeError):
        return None
    name, driver, memory, capability = (word.strip() for word in words.splitlines()[0].split(","))
    return {"name": name, "driver": driver, "memory_bytes": int(memory) * MIB, "compute_capability": capability}


def machine(programs: Path = BIN) -> dict[str, Any]:
    cpu = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())
    release = re.search(r'PRETTY_NAME="(.+)"', Path("/etc/os-release").read_text())
    versions = {name: importlib.metadata.version(name) for name in ("torch", "diffusers", "numpy")}
    return {"cpu": cpu[1] if cpu else "unknown", "cores": len(os.sched_getaffinity(0)),
            "memory_bytes": int(memory[1]) * 1024 if memory else None, "system": release[1] if release else "unknown",
            "load_average": round(os.getloadavg()[0], 2), "python": sys.version.split()[0], **versions,
            "headroom": run([str(programs / "headroom-plan"), "--version"]).split()[-1]}


def command_line(python: str = "build/venv/bin/python") -> str:
    """This command as typed in the repository's root, without the machine's own folders."""
    def local(word: str) -> str:
        path = Path(word)
        if not path.is_absolute():
            return word
        return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name

    script = Path(sys.argv[0]).resolve()
    return shlex.join([python, local(str(script)), *map(local, sys.argv[1:])])


def result_header() -> dict[str, Any]:
    return {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "machine": machine(), "command": command_line()}


def markdown_header(title: str, header: dict[str, Any]) -> str:
    m = header["machine"]
    return (f"# {title}\n\n{header['date']}, {m['cpu']}, {m['cores']} cores, {mib(m['memory_bytes'])}, {m['system']}, "
            f"load {m['load_average']} at the start.\nHeadroom {m['headroom']}, PyTorch {m['torch']}, "
            f"diffusers {m['diffusers']}, Python {m['python']}.\n\n    {header['command']}\n\n")


def markdown_table(rows: list[list[str]]) -> str:
    """An aligned table; the first row is its head."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]) + "\n"


def publish(file: Path | None, markdown: str) -> None:
    """Prints the Markdown and, if a file is given, writes it there."""
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(markdown)
    print(markdown)


def run_main(main: Callable[[], int]) -> None:
    """Exits with the status that `main` returns. Reports a failed child program in one line."""
    try:
        raise SystemExit(main())
    except (RuntimeError, OSError) as error:
        raise SystemExit(f"{Path(sys.argv[0]).name}: {error}") from None


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
