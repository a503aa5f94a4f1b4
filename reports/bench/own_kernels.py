"""Rows of gpu_shapes.py that Headroom's programs give: kernels and layers of a decode, its attention, and what a limit does to it."""

import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any, Callable

import measure
from gpu_cases import AMPLE
from gpu_contenders import SEED, Place, file_seconds, repeated, seconds_by_part, seconds_on_card

Rows = list[dict[str, Any]]
DEMO_MODEL = measure.ROOT / "tests" / "data" / "demo_model"
HEAD = 512  # channels of the attention's one head
PROFILE_SECONDS = 60


def model_of(rehearse: bool) -> str:
    return str(DEMO_MODEL) if rehearse else "sdxl"


def side_of(side: int, rehearse: bool) -> int:
    return side // 16 if rehearse else side


def make_plan(place: Place, rehearse: bool, side: int, limit: str, file: Path) -> measure.Run:
    size = (side_of(side, rehearse),) * 2
    return measure.make_plan(model_of(rehearse), size, place.limit_bytes(AMPLE if rehearse else limit)[0], file,
                             dtype="fp32" if rehearse else "bf16", programs=place.programs, device=place.device)


# Kernels and layers ---------------------------------------------------------------------------------------------------

def kernel_rows(trace: dict[str, Any]) -> Rows:
    """What the card ran, by name, the longest first; without CUPTI nothing."""
    fields = trace.get("activity_fields", [])
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0, 0])
    for activity in trace.get("activities", []):
        each = dict(zip(fields, activity))
        total = sums[trace["activity_names"][each["name"]]]
        total[0] += each["end_seconds"] - each["begin_seconds"]
        total[1] += 1
        total[2] += max(0, each.get("bytes", 0))
    ordered = sorted(sums.items(), key=lambda item: -item[1][0])
    return [{"what": short_name(name), "seconds": seconds, "bytes": count_bytes or None, "note": f"{calls} calls"}
            for name, (seconds, calls, count_bytes) in ordered[:24]]


def short_name(kernel: str) -> str:
    """Without arguments, and no longer than a table bears."""
    return kernel.split("(")[0].replace("void ", "")[:60] or kernel[:60]


def step_rows(trace: dict[str, Any]) -> Rows:
    """By kind of step: seconds on the card where they are known, else the host's."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0])
    for step in trace.get("steps", []):
        sums[step["kind"]][0] += step.get("device_seconds", 0.0 if trace.get("clock") == "device" else step["seconds"])
        sums[step["kind"]][1] += step["calls"]
    return [{"what": kind, "seconds": seconds, "note": f"{calls} calls"}
            for kind, (seconds, calls) in sorted(sums.items(), key=lambda item: -item[1][0]) if seconds > 0]


def layer_rows(profile: dict[str, Any]) -> Rows:
    """By kind of layer, untiled, with what of it is the output's bytes."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0, 0])
    for layer in profile["layers"]:
        total = sums[layer["kind"]]
        for i, key in enumerate(("seconds", "flops", "activation_bytes")):
            total[i] += layer[key][0]
        total[3] += 1
    return [{"what": kind, "seconds": seconds, "flops": flops, "bytes": count, "note": f"{layers} layers; bytes of the outputs alone"}
            for kind, (seconds, flops, count, layers) in sorted(sums.items(), key=lambda item: -item[1][0]) if seconds > 0]


def traced(place: Place, rehearse: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=place.work) as name:
        plan, trace = Path(name, "plan.json"), Path(name, "trace.json")
        make_plan(place, rehearse, 1024, AMPLE, plan)
        measure.run([str(place.programs / "headroom-profile"), "--plan", str(plan), "--model", model_of(rehearse), "--random-weights", str(SEED),
                     "--watch", "kernels,copies", "--threads", str(place.threads), "--quiet", "-o", str(trace)], PROFILE_SECONDS)
        return json.loads(trace.read_text())


def profiled(place: Place, rehearse: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=place.work) as name:
        file, side = Path(name, "profile.json"), side_of(1024, rehearse)
        measure.run([str(place.programs / "headroom-profile"), "--model", model_of(rehearse), "--random-weights", str(SEED),
                     "--dtype", "fp32" if rehearse else "bf16", "--sizes", f"{side}x{side}", "--repeats", "1", "--threads", str(place.threads),
                     "--quiet", "-o", str(file), *measure.on_device(place.device)], PROFILE_SECONDS)
        return json.loads(file.read_text())


def layer_steps(place: Place, rehearse: bool) -> dict[str, Callable[[], Rows]]:
    kept: dict[str, Any] = {}

    def trace() -> dict[str, Any]:
        if "trace" not in kept:
            kept["trace"] = traced(place, rehearse)
        return kept["trace"]

    return {"kernels of a decode": lambda: kernel_rows(trace()), "kinds of steps of it": lambda: step_rows(trace()),
            "layers untiled": lambda: layer_rows(profiled(place, rehearse))}


# Decodes --------------------------------------------------------------------------------------------------------------

def decoded(place: Place, rehearse: bool, side: int, limit: str, folder: Path) -> tuple[measure.Run, dict[str, Any]]:
    """A plan's figures and a decode's statistics."""
    plan_file, latent = folder / "plan.json", folder / "latent.npy"
    plan = make_plan(place, rehearse, side, limit, plan_file)
    measure.write_random_latent(model_of(rehearse), (side_of(side, rehearse),) * 2, SEED, latent)
    measure.headroom_decode(model_of(rehearse), plan_file, latent, folder / "run.npy", SEED, place.threads, place.programs,
                            measure.on_device(place.device))
    return plan, json.loads((folder / "run.stats.json").read_text())


def attention_steps(place: Place, rehearse: bool) -> dict[str, Callable[[], Rows]]:
    def rows(side: int) -> Rows:
        with tempfile.TemporaryDirectory(dir=place.work) as name:
            _, stats = decoded(place, rehearse, side, AMPLE, Path(name))
        seconds = seconds_by_part(stats).get("attention")
        if not seconds:
            return [{"what": "ours", "error": "the statistics have no attention"}]
        positions = (side // 8) ** 2
        return [{"what": f"ours, {positions} positions", "seconds": seconds, "flops": 4.0 * positions**2 * HEAD, "note": "in a decode"}]

    return {f"ours in {side}²": lambda side=side: rows(side) for side in (1024, 2048)}


def limit_steps(place: Place, rehearse: bool) -> dict[str, Callable[[], Rows]]:
    """The same picture in fewer and fewer rows at once."""
    def rows(limit: str) -> Rows:
        with tempfile.TemporaryDirectory(dir=place.work) as name:
            folder = Path(name)
            plan, stats = decoded(place, rehearse, 2048, limit, folder)
            again = repeated(place, model_of(rehearse), SEED, folder / "plan.json", folder / "latent.npy", 3)
        note = f"{plan['passes']} passes; first {seconds_on_card(stats):.3g} s, its file {file_seconds(stats):.3g} s"
        return [{"what": f"2048², {limit}", "seconds": sorted(again)[1], "flops": plan["flops"], "note": note}]

    return {f"2048² under {limit}": lambda limit=limit: rows(limit) for limit in (AMPLE, "8GiB", "4GiB", "2GiB", "1GiB")}
