#!/usr/bin/env python3
"""Headroom on a GPU against diffusers there, on the same weights and latents, in turns.

    python reports/bench/gpu_decode.py --list
    python reports/bench/gpu_decode.py --programs build/gpu/bin --part sdxl-1024,sdxl-2048 -o reports/results/gpu-decode.json
    python reports/bench/gpu_decode.py --programs build/bin --rehearse -o /tmp/gpu-decode.json    # the same on the CPU, tiny

Every run is a fresh process. A run decodes once and then, where the part has repeats, again in the same process: the first decode
also loads kernels, the later ones tell what a program that stays pays. Headroom's first is one by `--plan`; its later ones, measured in the
first round, are one plan's repetitions in a queue. Seconds are those of the decode with its weights in place and the device idle at
both ends; Headroom's end with the picture in its file, diffusers' with the picture on the card.

Peaks are bytes of the card: of diffusers what LibTorch's allocator handed out and what it reserved, of Headroom what its statistics
say; the card's own count (nvidia-smi, the libraries' context with it) stands beside both. Errors are against diffusers untiled in fp32
on the same card; where that does not fit, the result names what stands in.

After every run the results are written, and a part that was cut off goes on with the run that it lacks; --again starts it anew. Ends
with 1 where a part is not done or something in it is not as expected: an error in fp32 above 1e-4 of the reference's magnitude, a PSNR in
16 bits below that of diffusers untiled, a peak above the limit.
"""

import argparse
import datetime
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable

import numpy as np

import measure
import queue_growth
from measure import EXACT, Run, decibels, mib, spread

SEED = 0
GIB = 1 << 30
AMPLE = "ample"
AMPLE_SHARE = 0.85  # of the card's memory
AMPLE_IN_REHEARSAL = 4 * GIB
LEAST_SECONDS = 20  # left on the clock for a run to begin
CUTS = 2  # a run that was cut off so often is not tried again
UNTILED = "diffusers untiled"
QUEUE = "queue"


# What is measured -----------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Case:
    """One size of one model. A limit is `ample`, bytes, or bytes of the card + bytes of the host."""

    model: str
    size: tuple[int, int]
    limits: tuple[str, ...]
    dtypes: tuple[str, ...] = ("fp16", "bf16")
    modes: tuple[str, ...] = ("untiled", "tiled")  # of diffusers
    tile: int = 128  # latent positions a side: what diffusers' own tiling of the model takes
    reference: str = "diffusers"  # or "plan": the first limit's result
    batch: int = 1
    frames: int = 1
    rounds: int = 3
    repeats: int = 3


CASES = {
    "sdxl-1024": Case("sdxl", (1024, 1024), (AMPLE,), ("fp16", "fp32", "bf16"), ("untiled", "channels-last", "tiled"), tile=64),
    "sdxl-2048": Case("sdxl", (2048, 2048), (AMPLE,), modes=("untiled", "channels-last", "tiled")),
    "sdxl-4096": Case("sdxl", (4096, 4096), (AMPLE, "8GiB"), rounds=2, repeats=1),
    "sdxl-8192": Case("sdxl", (8192, 8192), ("24GiB", "8GiB+64GiB"), modes=("tiled",), reference="plan", rounds=1, repeats=0),
    "pixart-8192": Case("sd15", (8192, 8192), (AMPLE, "24GiB"), ("fp16",), ("tiled",), tile=64, reference="plan", rounds=1, repeats=0),
    "sana-2048-batch2": Case("sana-dc-ae-f32c32", (2048, 2048), (AMPLE, "1GiB"), tile=16, batch=2),
    "open-sora-plan-512x65": Case("open-sora-plan", (512, 512), ("16GiB", "8GiB", "1GiB+32GiB"), ("fp16",), (), reference="plan",
                                  frames=65, rounds=2, repeats=1),
}
QUEUE_SIZES = "1024x1024,2048x2048,1536x1024,1024x1536,2048x1024,1280x1920"
QUEUE_LIMIT = "4GiB"
QUEUE_REQUESTS = 12


def rehearsed(case: Case) -> Case:
    """The same on the CPU with a tiny size; there no memory is the host's alone."""
    small = (128, 64)
    limits = tuple(dict.fromkeys(AMPLE if limit == AMPLE else f"{200 - 20 * i}MiB" for i, limit in enumerate(case.limits)))
    return replace(case, size=small, limits=limits, frames=min(case.frames, 5), tile=case.tile and 8, rounds=min(case.rounds, 2),
                   repeats=min(case.repeats, 2))


def parts() -> list[str]:
    """Names with their dtype, the most telling first: all in fp16, then the rest."""
    named = [(case.dtypes.index(dtype), f"{name}-{dtype}") for name, case in CASES.items() for dtype in case.dtypes]
    return [name for rank, name in sorted(named, key=lambda each: each[0]) if rank == 0] + [QUEUE] \
        + [name for rank, name in sorted(named, key=lambda each: each[0]) if rank > 0]


def chosen(text: str | None) -> list[str]:
    """The parts whose names begin with one of those given."""
    if not text:
        return parts()
    for each in text.split(","):
        if not any(part.startswith(each) for part in parts()):
            raise argparse.ArgumentTypeError(f"no part begins with {each}; see --list")
    return [part for part in parts() if part.startswith(tuple(text.split(",")))]


# Where and how long ---------------------------------------------------------------------------------------------------

class OutOfTime(Exception):
    """The clock does not leave another run."""


class Clock:
    """What is left of --seconds; a run begins only where the longest one so far would still fit."""

    def __init__(self, seconds: float | None):
        self.end = time.monotonic() + seconds if seconds else None
        self.longest = 0.0

    def run(self, work: Callable[[], Any]) -> Any:
        if self.end and self.end - time.monotonic() < max(LEAST_SECONDS, 1.2 * self.longest):
            raise OutOfTime()
        start = time.monotonic()
        result = work()
        self.longest = max(self.longest, time.monotonic() - start)
        return result


@dataclass
class Bench:
    """What all parts share."""

    programs: Path
    device: str
    work: Path  # models and references, kept from call to call
    threads: int
    card: dict[str, Any] | None
    clock: Clock
    save: Callable[[], None]
    rounds: int | None
    repeats: int | None

    def limit_bytes(self, text: str) -> tuple[int, int]:
        """Of the card and of the host."""
        if text == AMPLE:
            return (int(self.card["memory_bytes"] * AMPLE_SHARE) if self.card else AMPLE_IN_REHEARSAL), 0
        device, _, host = text.partition("+")
        return measure.parse_bytes(device), measure.parse_bytes(host) if host else 0


class CardWatch:
    """The card's memory in use, as its driver counts it, at its highest while a run goes on; less what was before."""

    def __init__(self) -> None:
        query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        try:
            self.before = int(measure.run(query).split()[0])
            self.child = subprocess.Popen([*query, "-lms", "50"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        except (OSError, RuntimeError, ValueError):
            self.child = None

    def growth_bytes(self) -> int | None:
        if self.child is None:
            return None
        self.child.terminate()
        seen = [int(word) for word in self.child.communicate()[0].split() if word.isdigit()]
        return max(0, max(seen) - self.before) * measure.MIB if seen else None


def build_id(programs: Path) -> str:
    """Of the programs and modules that are measured: results of another build are not gone on with."""
    digest = hashlib.sha256()
    for file in sorted([*programs.glob("headroom-*"), *programs.parent.rglob("*headroom*.so")]):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def read_results(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text()) if file.exists() else {"parts": {}}


def write_whole(file: Path, text: str) -> None:
    """Never half a file, whenever the process is ended."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(file.name + ".partial")
    partial.write_text(text)
    os.replace(partial, file)


# Models, latents, references ------------------------------------------------------------------------------------------

def model_and_seed(bench: Bench, model: str) -> tuple[str, int | None]:
    """A folder that both sides read. A model that is not diffusers' keeps its name and gets its weights from the seed."""
    if measure.model_class(model) == measure.OPEN_SORA_PLAN:
        return model, SEED
    folder = bench.work / model
    if not (folder / "config.json").exists():
        measure.note(f"writing {model} with random weights")
        measure.run([sys.executable, str(Path(__file__).with_name("write_model.py")), "--model", model, "--random-weights", str(SEED),
                     "-o", str(folder)])
    return str(folder), None


def shape_name(case: Case) -> str:
    return f"{case.model}-{case.size[0]}x{case.size[1]}-{case.frames}-{case.batch}"


def fp32_reference(bench: Bench, case: Case, entry: dict[str, Any], latent: Path) -> tuple[Path, str]:
    """diffusers untiled in fp32 on the device, or else Headroom in fp32 under an ample limit; and which."""
    file = bench.work / f"{shape_name(case)}-fp32.npy"
    said = file.with_suffix(".txt")
    if said.exists():
        return file, said.read_text()
    model, seed = model_and_seed(bench, case.model)
    where = "on the GPU" if bench.device == "cuda" else "on the CPU"
    try:
        if cut_off(entry, "reference"):
            raise RuntimeError(f"cut off {CUTS} times")
        guarded(bench, entry, "reference", lambda: measure.diffusers_decode(model, latent, file, seed, bench.threads, device=bench.device))
    except RuntimeError as error:
        measure.note(f"  no reference by diffusers: {error}")
        bench.clock.run(headroom_decode(bench, case, "fp32", AMPLE, latent, file).first)
        return file, f"Headroom in fp32 {where} (diffusers untiled: {brief(error)})"  # not kept: it is this build's
    said.write_text(f"diffusers untiled in fp32 {where}")
    return file, said.read_text()


def brief(error: Exception) -> str:
    text = str(error)
    return "does not fit" if "out of memory" in text else text[:160]


# Runs -----------------------------------------------------------------------------------------------------------------

@dataclass
class Contender:
    """A way to decode: `first` in a fresh process, `again` the seconds of later decodes in one process."""

    first: Callable[[], Run]
    again: Callable[[], list[float]] | None = None
    plan: Run | None = None


def diffusers_decode(bench: Bench, case: Case, dtype: str, mode: str, latent: Path, output: Path) -> Contender:
    model, seed = model_and_seed(bench, case.model)
    repeats = case.repeats if bench.repeats is None else bench.repeats
    return Contender(lambda: measure.diffusers_decode(model, latent, output, seed, bench.threads, mode, case.tile, dtype,
                                                      device=bench.device, repeats=repeats))


def headroom_decode(bench: Bench, case: Case, dtype: str, limit: str, latent: Path, output: Path) -> Contender:
    """Plans at once: raises where nothing fits."""
    model, seed = model_and_seed(bench, case.model)
    device_bytes, host_bytes = bench.limit_bytes(limit)
    plan_file = output.with_name(f"plan-{limit}.json")
    plan = measure.make_plan(model, case.size, device_bytes, plan_file, dtype=dtype, programs=bench.programs, batch=case.batch,
                             frames=case.frames, device=bench.device, host_limit_bytes=host_bytes)
    measure.note(f"  plan for {limit}: peak {mib(plan['predicted_peak_bytes'])}, {plan['passes']} passes")
    repeats = case.repeats if bench.repeats is None else bench.repeats

    def first() -> Run:
        run = measure.headroom_decode(model, plan_file, latent, output, seed, bench.threads, bench.programs,
                                      measure.on_device(bench.device))
        stats = json.loads(output.with_suffix(".stats.json").read_text())
        scalars = {key: value for key, value in stats.items() if isinstance(value, (int, float, str))}
        return {**run, "parts": seconds_by_part(stats), "copied_bytes": copied_bytes(stats), "stats": scalars}

    def again() -> list[float]:
        return repeated(bench, model, seed, plan_file, latent, repeats)

    return Contender(first, again if repeats else None, plan)


def repeated(bench: Bench, model: str, seed: int | None, plan_file: Path, latent: Path, repeats: int) -> list[float]:
    """Seconds of a plan's decodes after its first in one process: a queue of that plan alone."""
    plan = json.loads(plan_file.read_text())
    asked = {key: plan["request"][key] for key in ("width_pixels", "height_pixels", "frames", "batch")}
    with tempfile.TemporaryDirectory(dir=plan_file.parent) as folder:
        request = {"name": "again", **asked, "count": repeats + 1, "latent": [str(latent)] * (repeats + 1), "output": "{i}.npy"}
        on_device = {key: plan["request"][key] for key in ("dtype", "device") if key in plan["request"]}
        queue = {"schema": "headroom.requests", "version": 1, "planned": True, "model": model, **on_device,
                 "limit_bytes": plan["limit_bytes"], "pool_bytes": plan["predicted"]["peak_bytes"] - plan["reserve_bytes"],
                 "predicted": {"peak_bytes": plan["predicted"]["peak_bytes"],
                               "seconds": plan["predicted"]["seconds"] * (repeats + 1)},
                 "requests": [request], "plans": [plan],
                 "order": [{"request": 0, "repetition": i, "plan": 0} for i in range(repeats + 1)]}
        file, stats = Path(folder, "queue.json"), Path(folder, "stats.json")
        file.write_text(json.dumps(queue))
        command = [str(bench.programs / "headroom-decode"), "--queue", str(file), "--model", model, "--stats", str(stats),
                   "--threads", str(bench.threads), "--quiet", *measure.on_device(bench.device)]
        measure.run(command + (["--random-weights", str(seed)] if seed is not None else []))
        return [decode["seconds"] for decode in json.loads(stats.read_text())["decodes"][1:]]


def seconds_by_part(stats: Run) -> dict[str, float]:
    """Convolution, attention, elementwise, copies: as the statistics name them; nothing where they do not."""
    told = stats.get("parts") or {}
    if isinstance(told, list):
        told = {each["name"]: each for each in told}
    return {name: each["seconds"] if isinstance(each, dict) else each for name, each in told.items()}


def copied_bytes(stats: Run) -> int | None:
    """Between the card and the host, both ways; None where the statistics do not say."""
    found = [value for key, value in stats.items() if key.endswith(("to_host_bytes", "from_host_bytes"))]
    return sum(found) if found else None


def contenders(bench: Bench, case: Case, dtype: str, latent: Path, output: Path) -> dict[str, Contender | str]:
    """By name, in the order of a round: neighbours are of different sides. A text says why there is none."""
    theirs = {f"diffusers {mode}" + (f" {case.tile}" if mode == "tiled" else ""):
              diffusers_decode(bench, case, dtype, mode, latent, output) for mode in case.modes}
    ours: dict[str, Contender | str] = {}
    for limit in case.limits:
        try:
            ours[f"Headroom, {limit}"] = headroom_decode(bench, case, dtype, limit, latent, output)
        except RuntimeError as error:
            ours[f"Headroom, {limit}"] = brief(error)
    order: dict[str, Contender | str] = {}
    while theirs or ours:
        for side in (theirs, ours) if case.reference == "diffusers" else (ours, theirs):
            if side:
                name = next(iter(side))
                order[name] = side.pop(name)
    return order


# A part ---------------------------------------------------------------------------------------------------------------

def cut_off(entry: dict[str, Any], name: str) -> bool:
    return entry["cut"].get(name, 0) >= CUTS


def guarded(bench: Bench, entry: dict[str, Any], name: str, work: Callable[[], Any]) -> Any:
    """Runs and says beforehand that it does, so that whoever goes on knows what was cut off."""
    entry["running"] = name
    bench.save()
    try:
        return bench.clock.run(work)
    finally:
        entry["running"] = None


def run_once(bench: Bench, entry: dict[str, Any], name: str, contender: Contender | str, files: dict[str, Path], first_round: bool) -> Run:
    """One run with its errors, or what went wrong as `error`."""
    if isinstance(contender, str):
        return {"error": contender}
    if cut_off(entry, name):
        return {"error": f"cut off {CUTS} times while it ran"}
    watch = CardWatch() if first_round and bench.device == "cuda" else None
    try:
        run = guarded(bench, entry, name, contender.first)
        run["card_growth_bytes"] = watch.growth_bytes() if watch else None
        run.setdefault("first_seconds", run["seconds"])
        if files["reference"] is None:  # the first result is what the others are held against
            files["reference"] = files["kept"]
            os.replace(files["output"], files["kept"])
            run |= {"largest_error": None, "largest_error_relative": None, "psnr_db": None, "is_reference": True}
        elif run_is_reference(entry, name):
            run |= {"largest_error": None, "largest_error_relative": None, "psnr_db": None, "is_reference": True}
        else:
            run |= measure.compare(np.load(files["output"], mmap_mode="r"), np.load(files["reference"], mmap_mode="r"))
    except (RuntimeError, KeyError, ValueError) as error:
        if watch:
            watch.growth_bytes()
        return {"error": brief(error)}
    if first_round and contender.again:
        again = f"{name}, again"
        try:
            run["again_seconds"] = [] if cut_off(entry, again) else guarded(bench, entry, again, contender.again)
        except (RuntimeError, KeyError) as error:
            run["again_error"] = brief(error)
    return run


def run_is_reference(entry: dict[str, Any], name: str) -> bool:
    return any(each["runs"].get(name, {}).get("is_reference") for each in entry["rounds"])


def run_rounds(bench: Bench, case: Case, entry: dict[str, Any], runs: dict[str, Contender | str], files: dict[str, Path]) -> None:
    rounds = bench.rounds or case.rounds
    for number in range(rounds):
        if len(entry["rounds"]) == number:
            entry["rounds"].append({"runs": {}})
        done = entry["rounds"][number]["runs"]
        for name, contender in runs.items():
            before = entry["rounds"][0]["runs"].get(name, {})
            if name in done or (number and "error" in before):
                continue
            done[name] = run = run_once(bench, entry, name, contender, files, number == 0)
            bench.save()
            shown = run.get("error") or (f"{run['first_seconds']:.2f} s, peak {mib(run['peak_bytes'])}, "
                                         f"PSNR {decibels(run['psnr_db'])}")
            measure.note(f"  {number + 1}/{rounds} {name}: {shown}")


def run_case(bench: Bench, name: str, case: Case, dtype: str, entry: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory(dir=bench.work) as folder:
        scratch = Path(folder)
        latent = measure.write_random_latent(case.model, case.size, SEED, scratch / "latent.npy", case.batch, case.frames)
        files = {"output": scratch / "run.npy", "reference": None, "kept": bench.work / f"{name}.npy"}
        if case.reference == "diffusers":
            files["reference"], entry["reference"] = fp32_reference(bench, case, entry, latent)
        else:
            entry["reference"] = f"the first of Headroom's plans in {dtype}"
            if files["kept"].exists() and any(run_is_reference(entry, each) for each in entry["plans"]):
                files["reference"] = files["kept"]
            else:
                entry["rounds"] = []
        runs = contenders(bench, case, dtype, latent, files["output"])
        entry["plans"] = {each: run.plan for each, run in runs.items() if isinstance(run, Contender) and run.plan}
        if "convolution_rate" not in entry:
            entry["convolution_rate"] = bench.clock.run(lambda: measure.convolution_rate(bench.threads, dtype, bench.device))
            entry["link"] = bench.clock.run(lambda: measure.link_rate(bench.device))
        run_rounds(bench, case, entry, runs, files)
    files["kept"].unlink(missing_ok=True)


def median_of(runs: list[Run], key: str) -> float | None:
    values = [run[key] for run in runs if run.get(key) is not None]
    return statistics.median(values) if values else None


def row_of(name: str, entry: dict[str, Any], dtype: str) -> dict[str, Any]:
    """A contender's figures over the rounds."""
    all_runs = [each["runs"][name] for each in entry["rounds"] if name in each["runs"]]
    runs = [run for run in all_runs if "error" not in run]
    plan = entry["plans"].get(name, {})
    row: dict[str, Any] = {"name": name, "limit_bytes": plan.get("limit_bytes"), "predicted_peak_bytes": plan.get("predicted_peak_bytes")}
    if not runs:
        return row | {"error": all_runs[0]["error"] if all_runs else "not run"}
    again = [seconds for run in runs for seconds in run.get("again_seconds") or []]
    row |= {"rounds": len(runs), "first_seconds": spread([run["first_seconds"] for run in runs]),
            "again_seconds": spread(again) if again else None,
            "peak_bytes": max(run["peak_bytes"] for run in runs),
            "reserved_bytes": median_of(runs, "reserved_bytes"), "card_growth_bytes": median_of(runs, "card_growth_bytes"),
            "largest_error_relative": max((run["largest_error_relative"] for run in runs if run["largest_error_relative"] is not None),
                                          default=None),
            "psnr_db": min((run["psnr_db"] for run in runs if run["psnr_db"] is not None), default=None),
            "is_reference": any(run.get("is_reference") for run in runs),
            "parts": {part: statistics.median(run["parts"][part] for run in runs if part in run.get("parts", {}))
                      for part in runs[0].get("parts", {})},
            "copied_bytes": median_of(runs, "copied_bytes")}
    if plan:
        row["of_convolution_rate"] = (row["again_seconds"] or row["first_seconds"])["median"] * entry["convolution_rate"] / plan["flops"]
        row["within_limit"] = row["peak_bytes"] <= plan["limit_bytes"]
        row["exact"] = is_exact(row, entry, dtype)
    return row


def is_exact(row: dict[str, Any], entry: dict[str, Any], dtype: str) -> bool | None:
    """None where nothing was there to tell by."""
    if row["largest_error_relative"] is None:
        return None
    if dtype == "fp32":
        return row["largest_error_relative"] <= EXACT
    theirs = [each["runs"][UNTILED].get("psnr_db") for each in entry["rounds"] if UNTILED in each["runs"]]
    theirs = [value for value in theirs if value is not None]
    return None if not theirs or row["psnr_db"] is None else row["psnr_db"] >= min(theirs)


def compare_times(rows: list[dict[str, Any]]) -> None:
    """Adds each row's time over that of diffusers untiled: later decodes where both have some, or else first ones."""
    untiled = next((row for row in rows if row["name"] == UNTILED and "error" not in row), None)
    for row in rows:
        if untiled is None or "error" in row or row is untiled:
            continue
        kind = "again_seconds" if row["again_seconds"] and untiled["again_seconds"] else "first_seconds"
        row["against_untiled"] = {"of": kind, "ratio": row[kind]["median"] / untiled[kind]["median"]}


def finish_case(entry: dict[str, Any], dtype: str) -> None:
    names = dict.fromkeys(name for each in entry["rounds"] for name in each["runs"])
    entry["rows"] = [row_of(name, entry, dtype) for name in names]
    entry["rows"].sort(key=lambda row: row["name"].startswith("Headroom"))
    compare_times(entry["rows"])
    entry["as_expected"] = all(row.get("exact") is not False and row.get("within_limit") is not False
                               and not (row["name"].startswith("Headroom") and "error" in row) for row in entry["rows"])


# The queue ------------------------------------------------------------------------------------------------------------

def run_queue(bench: Bench, rehearse: bool, entry: dict[str, Any]) -> None:
    """Changing sizes as they arrive through LibTorch's caching allocator, and as a planned queue over one reservation."""
    model, seed = model_and_seed(bench, "sdxl")
    args = argparse.Namespace(
        model=model, random_weights=seed, threads=bench.threads, seed=1, device=bench.device, programs=bench.programs, profile=None,
        dtype="bf16" if rehearse else "fp16", sizes="64x64,128x64,64x128" if rehearse else QUEUE_SIZES,
        requests=5 if rehearse else QUEUE_REQUESTS, limit=measure.parse_bytes("1GiB" if rehearse else QUEUE_LIMIT))
    with tempfile.TemporaryDirectory(dir=bench.work) as name:
        folder = Path(name)
        requests = queue_growth.mix(args, folder)
        file = queue_growth.write_requests(requests, folder)
        arrived = guarded(bench, entry, "as it arrives", lambda: queue_growth.as_it_arrives(args, file))
        queue, stats = guarded(bench, entry, "planned", lambda: queue_growth.planned(args, file, folder))
        first_of_each = list({decode["plan"]: decode for decode in reversed(queue["order"])}.values())
        equal = guarded(bench, entry, "each by itself", lambda: queue_growth.equal_alone(args, queue, first_of_each, folder))
    for each, request in zip(arrived, requests):
        each["size"] = queue_growth.size_of(request)
    sizes = [queue_growth.size_of(request) for request in requests]
    entry.update(
        dtype=args.dtype, as_it_arrives=arrived, limit_bytes=args.limit, predicted_peak_bytes=queue["predicted"]["peak_bytes"],
        peak_bytes=stats["peak_bytes"], pool_bytes=queue["pool_bytes"], pool_allocations=stats["pool_allocations"],
        pool_growth_bytes=stats["pool_growth_bytes"],
        planned=[{**{key: each[key] for key in ("name", "seconds", "peak_bytes")}, "size": sizes[each["request"]]} for each in stats["decodes"]],
        equal_alone=equal, held_alone=len(first_of_each))
    entry["as_expected"] = (stats["peak_bytes"] <= args.limit and stats["pool_allocations"] == 1
                            and stats["pool_growth_bytes"] == 0 and equal == len(first_of_each))


# Tables ---------------------------------------------------------------------------------------------------------------

def ranged(values: dict[str, float] | None) -> str:
    return f"{values['median']:.3g} s ({values['least']:.3g}–{values['most']:.3g})" if values else "–"


def gigabytes(rate: float | None) -> str:
    return "–" if rate is None else f"{rate / 1e9:.1f} GB/s"


def case_table(entry: dict[str, Any]) -> str:
    lines = [["decode", "limit", "predicted peak", "peak", "reserved", "card's count", "first", "again", "against untiled",
              "of FLOPs / rate", "largest error", "PSNR"]]
    for row in entry["rows"]:
        if "error" in row:
            lines.append([row["name"], mib(row["limit_bytes"]), mib(row["predicted_peak_bytes"]), row["error"]] + [""] * 8)
            continue
        ratio, share, error = row.get("against_untiled"), row.get("of_convolution_rate"), row["largest_error_relative"]
        compared = ["reference", "–"] if row["is_reference"] else [f"{error:.1e}" if error is not None else "–", decibels(row["psnr_db"])]
        lines.append([row["name"], mib(row["limit_bytes"]), mib(row["predicted_peak_bytes"]), mib(row["peak_bytes"]),
                      mib(row["reserved_bytes"]), mib(row["card_growth_bytes"]), ranged(row["first_seconds"]), ranged(row["again_seconds"]),
                      f"{ratio['ratio']:.2f}" + ("" if ratio["of"] == "again_seconds" else " (first)") if ratio else "–",
                      f"{share:.2f}" if share else "–", *compared])
    return measure.markdown_table(lines)


def parts_table(entry: dict[str, Any]) -> str:
    """Where the time went, and the rate of copies; empty where the statistics do not tell."""
    rows = [row for row in entry["rows"] if row.get("parts")]
    names = list(dict.fromkeys(part for row in rows for part in row["parts"]))
    if not names:
        return ""
    lines = [["seconds in", *names, "copied", "rate of copies"]]
    for row in rows:
        seconds, copied = row["parts"].get("copies"), row["copied_bytes"]
        lines.append([row["name"], *(f"{row['parts'][part]:.3g}" if part in row["parts"] else "–" for part in names), mib(copied),
                      gigabytes(copied / seconds if copied and seconds else None)])
    return "\n" + measure.markdown_table(lines)


def queue_table(entry: dict[str, Any]) -> str:
    arrived, planned = entry["as_it_arrives"], entry["planned"]
    last, first = arrived[-1]["resident_bytes"], arrived[0]["resident_bytes"]
    rows = [["", "as it arrives", "peak", "reserved after", "s", "planned", "peak", "s"]]
    for i, (theirs, ours) in enumerate(zip(arrived, planned)):
        rows.append([str(i + 1), theirs["size"], mib(theirs["peak_bytes"]), mib(theirs["resident_bytes"]), f"{theirs['seconds']:.3g}",
                     ours["size"], mib(ours["peak_bytes"]), f"{ours['seconds']:.3g}"])
    return (f"As it arrives: diffusers untiled, one process; highest peak {mib(max(each['peak_bytes'] for each in arrived))}, reserved "
            f"{mib(first)} after the first and {mib(last)} after the last.\nPlanned: under {mib(entry['limit_bytes'])}, predicted peak "
            f"{mib(entry['predicted_peak_bytes'])}, measured {mib(entry['peak_bytes'])}; {entry['pool_allocations']} reservation, "
            f"{mib(entry['pool_growth_bytes'])} of growth; {entry['equal_alone']} of {entry['held_alone']} shapes equal a run by itself, "
            "bit for bit.\n\n" + measure.markdown_table(rows))


def part_section(name: str, entry: dict[str, Any], device: dict[str, Any]) -> str:
    """A part as Markdown, whatever there is of it; says so where it was another build's or another card's."""
    other = [] if entry["build"] == device.get("build") else [f"by the earlier build {entry['build']}"]
    other += [] if entry["card"] == name_of_card(device.get("card")) else [f"on {entry['card']}"]
    words = [entry["title"], entry["date"], *other, entry["status"], *([] if entry.get("as_expected", True) else ["NOT as expected"])]
    lines = [f"## {name}\n", f"{', '.join(words)}.\n\n    {entry['command']}\n"]
    if entry.get("error"):
        lines.append(entry["error"] + "\n")
    if name == QUEUE and "planned" in entry:
        lines.append(queue_table(entry))
    elif entry.get("rows"):
        lines.append(case_table(entry) + parts_table(entry))
        link = entry.get("link", {})
        lines.append(f"Errors are against {entry['reference']}. Convolutions of LibTorch ran at {entry['convolution_rate'] / 1e12:.3g} TFLOP/s; "
                     f"copies of pinned memory at {gigabytes(link.get('to_host_bytes_per_second'))} to the host, "
                     f"{gigabytes(link.get('from_host_bytes_per_second'))} from it, "
                     f"{gigabytes(link.get('both_ways_bytes_per_second'))} each way at once.\n")
    return "\n".join(lines)


def name_of_card(card: dict[str, Any] | None) -> str:
    return f"{card['name']}, {mib(card['memory_bytes'])}, driver {card['driver']}" if card else "no GPU: a rehearsal on the CPU"


def markdown(results: dict[str, Any]) -> str:
    device = results.get("device", {})
    machine, where = device.get("machine", {}), name_of_card(device.get("card"))
    head = (f"# Headroom on a GPU against diffusers\n\n{where}; {machine.get('cpu')}, {machine.get('cores')} cores, {machine.get('system')}.\n"
            f"Headroom {machine.get('headroom')}, build {device.get('build')}, PyTorch {machine.get('torch')}, diffusers {machine.get('diffusers')}, Python {machine.get('python')}.\n"
            "Times: median (least–most). First: in a fresh process; again: in the same process. Plans are made with assumed costs.\n"
            "Of FLOPs / rate: the time over what the decoder's FLOPs take at the rate of LibTorch's convolutions in that dtype.\n\n")
    return head + "\n".join(part_section(name, results["parts"][name], device) for name in parts() if name in results["parts"])


# The program ----------------------------------------------------------------------------------------------------------

def fresh_entry(case: Case | None, dtype: str, build: str, card: dict[str, Any] | None) -> dict[str, Any]:
    if case:
        extra = (f", {case.frames} frames" if case.frames > 1 else "") + (f", batch {case.batch}" if case.batch > 1 else "")
        title = f"{case.model} {case.size[0]}×{case.size[1]}{extra}, {dtype}"
    else:
        title = "Changing sizes, sdxl"
    return {"title": title, "build": build, "card": name_of_card(card), "cut": {}, "rounds": [], "plans": {}}


def goes_on(entry: dict[str, Any], fresh: dict[str, Any]) -> bool:
    return is_same(entry, fresh) and entry.get("status") in ("stopped", "started")


def is_same(entry: dict[str, Any], other: dict[str, Any]) -> bool:
    """Of one build on one card."""
    return all(entry.get(key) == other[key] for key in ("build", "card", "title"))


def run_part(bench: Bench, name: str, rehearse: bool, again: bool, build: str, results: dict[str, Any]) -> None:
    base, _, dtype = name.rpartition("-") if name != QUEUE else (QUEUE, "", "")
    case = CASES.get(base)
    if case and rehearse:
        case, dtype = rehearsed(case), "bf16" if dtype == "fp16" else dtype  # fp16 takes PyTorch minutes on a CPU
    found, fresh = results["parts"].get(name, {}), fresh_entry(case, dtype, build, bench.card)
    if found.get("status") == "done" and is_same(found, fresh) and not again:
        measure.note(f"{name}: done before; --again measures it anew")
        return
    entry = found if goes_on(found, fresh) and not again else fresh
    if entry.get("running"):
        entry["cut"][entry["running"]] = entry["cut"].get(entry["running"], 0) + 1
    entry |= {"status": "started", "running": None, "error": None, "command": measure.command_line(),
              "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")}
    results["parts"][name] = entry
    bench.save()
    measure.note(f"{name}: {entry['title']}")
    try:
        if case:
            run_case(bench, name, case, dtype, entry)
        else:
            run_queue(bench, rehearse, entry)
        entry["status"] = "done"
    except OutOfTime:
        entry["status"] = "stopped"
        raise
    except (RuntimeError, OSError, KeyError, ValueError) as error:
        entry |= {"status": "failed", "error": brief(error), "as_expected": False}
        measure.note(f"{name}: {error}")
    finally:
        entry["running"] = None
        if case and entry["rounds"] and "convolution_rate" in entry:
            finish_case(entry, dtype)
        bench.save()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", type=chosen, default=None, help="names or their beginnings, commas between, default: all")
    parser.add_argument("--list", action="store_true", help="name the parts and end")
    parser.add_argument("--programs", type=Path, default=measure.ROOT / "build" / "gpu" / "bin", help="default: build/gpu/bin")
    parser.add_argument("--work", type=Path, help="models and references, kept from call to call; default: check/ beside the programs' folder")
    parser.add_argument("--rehearse", action="store_true", help="the same on the CPU with a tiny size")
    parser.add_argument("--rounds", type=int, help="instead of each part's own number")
    parser.add_argument("--repeats", type=int, help="later decodes in a process, instead of each part's own number")
    parser.add_argument("--seconds", type=float, help="begin no run that would not end by then")
    parser.add_argument("--again", action="store_true", help="measure anew what is done or begun")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: all")
    parser.add_argument("-o", "--output", type=Path, help="the results, .json; the tables lie beside it, .md")
    args = parser.parse_args()
    if args.list:
        print("\n".join(parts()))
        return 0
    if args.output is None:
        parser.error("-o is required")

    device = "cpu" if args.rehearse else "cuda"
    work = (args.work or args.programs.parent / "check" / device).resolve()
    work.mkdir(parents=True, exist_ok=True)
    results = read_results(args.output)
    card = None if args.rehearse else measure.card()
    if card is None and not args.rehearse:
        raise SystemExit("gpu_decode.py: nvidia-smi names no GPU; --rehearse tries the script on the CPU")
    build = build_id(args.programs)
    results["device"] = {"card": card, "machine": measure.machine(args.programs), "build": build}

    def save() -> None:
        write_whole(args.output, json.dumps(results, indent=1, ensure_ascii=False) + "\n")
        write_whole(args.output.with_suffix(".md"), markdown(results))

    bench = Bench(args.programs, device, work, args.threads, card, Clock(args.seconds), save, args.rounds, args.repeats)
    try:
        for name in args.part or parts():
            run_part(bench, name, args.rehearse, args.again, build, results)
    except OutOfTime:
        measure.note("out of time: the same command goes on from here")
    wanted = [results["parts"].get(name, {}) for name in args.part or parts()]
    print(args.output.with_suffix(".md").read_text())
    return 0 if all(each.get("status") == "done" and each.get("as_expected", True) for each in wanted) else 1


if __name__ == "__main__":
    measure.run_main(main)
