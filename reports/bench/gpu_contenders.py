"""The two sides of gpu_decode.py: how each decodes a case, in processes of its own, and what it then knows."""

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import measure
from gpu_cases import AMPLE, Case
from measure import Run, mib

SEED = 0
COMPILE_SECONDS = 100  # of the whole run that compiles: where it takes longer, it is left out
AMPLE_SHARE = 0.85  # of the card's memory
AMPLE_IN_REHEARSAL = 4 << 30


@dataclass
class Place:
    """Where and how all runs are made."""

    programs: Path
    device: str
    work: Path  # models and references, kept from call to call
    threads: int
    card: dict[str, Any] | None
    repeats: int | None  # instead of the case's

    def limit_bytes(self, text: str) -> tuple[int, int]:
        """Of the card and of the host."""
        if text == AMPLE:
            return (int(self.card["memory_bytes"] * AMPLE_SHARE) if self.card else AMPLE_IN_REHEARSAL), 0
        device, _, host = text.partition("+")
        return measure.parse_bytes(device), measure.parse_bytes(host) if host else 0

    def repeats_of(self, case: Case) -> int:
        return case.repeats if self.repeats is None else self.repeats


def model_and_seed(place: Place, model: str) -> tuple[str, int | None]:
    """A folder that both sides read. A model that is not diffusers' keeps its name and gets its weights from the seed."""
    if measure.model_class(model) == measure.OPEN_SORA_PLAN:
        return model, SEED
    folder = place.work / model
    if not (folder / "config.json").exists():
        measure.note(f"writing {model} with random weights")
        measure.run([sys.executable, str(Path(__file__).with_name("write_model.py")), "--model", model, "--random-weights", str(SEED),
                     "-o", str(folder)])
    return str(folder), None


def brief(error: Exception) -> str:
    text = str(error)
    return "does not fit" if "out of memory" in text else text[:160]


@dataclass
class Contender:
    """A way to decode: `first` in a fresh process, `again` the seconds of later decodes in one process."""

    first: Callable[[], Run]
    again: Callable[[], list[float]] | None = None
    plan: Run | None = None


def diffusers_decode(place: Place, case: Case, dtype: str, mode: str, latent: Path, output: Path) -> Contender:
    model, seed = model_and_seed(place, case.model)
    repeats = place.repeats_of(case)
    most_seconds = COMPILE_SECONDS if mode.startswith("compile") else None
    return Contender(lambda: measure.diffusers_decode(model, latent, output, seed, place.threads, mode, case.tile, dtype,
                                                      device=place.device, repeats=repeats, most_seconds=most_seconds))


def headroom_decode(place: Place, case: Case, dtype: str, limit: str, latent: Path, output: Path) -> Contender:
    """Plans at once: raises where nothing fits."""
    model, seed = model_and_seed(place, case.model)
    device_bytes, host_bytes = place.limit_bytes(limit)
    plan_file = output.with_name(f"plan-{limit}.json")
    plan = measure.make_plan(model, case.size, device_bytes, plan_file, dtype=dtype, programs=place.programs, batch=case.batch,
                             frames=case.frames, device=place.device, host_limit_bytes=host_bytes)
    measure.note(f"  plan for {limit}: peak {mib(plan['predicted_peak_bytes'])}, {plan['passes']} passes")
    repeats = place.repeats_of(case)

    def first() -> Run:
        run = measure.headroom_decode(model, plan_file, latent, output, seed, place.threads, place.programs,
                                      measure.on_device(place.device))
        stats = json.loads(output.with_suffix(".stats.json").read_text())
        scalars = {key: value for key, value in stats.items() if isinstance(value, (int, float, str))}
        return {**run, "seconds": seconds_on_card(stats), "file_seconds": file_seconds(stats), "parts": seconds_by_part(stats),
                "copied_bytes": copied_bytes(stats), "engines": stats.get("engines", []), "stats": scalars}

    def again() -> list[float]:
        return repeated(place, model, seed, plan_file, latent, repeats)

    return Contender(first, again if repeats else None, plan)


def repeated(place: Place, model: str, seed: int | None, plan_file: Path, latent: Path, repeats: int) -> list[float]:
    """Seconds on the card of a plan's decodes after its first in one process: a queue of that plan alone."""
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
        command = [str(place.programs / "headroom-decode"), "--queue", str(file), "--model", model, "--stats", str(stats),
                   "--threads", str(place.threads), "--quiet", *measure.on_device(place.device)]
        measure.run(command + (["--random-weights", str(seed)] if seed is not None else []))
        return [seconds_on_card(decode) for decode in json.loads(stats.read_text())["decodes"][1:]]


def file_seconds(stats: Run) -> float:
    """In which the decode stood still for its output's file."""
    return stats.get("output_wait_seconds", 0.0)


def seconds_on_card(stats: Run) -> float:
    """From weights and latent in place until the whole picture has left the card for pinned memory, less what the file took meanwhile: diffusers'
    clock, which sees no file, stops with the picture on the card."""
    return stats["seconds"] - file_seconds(stats)


def seconds_by_part(stats: Run) -> dict[str, float]:
    """Convolution, attention, elementwise, copies: as the statistics name them; nothing where they do not."""
    parts = stats.get("parts") or {}
    if isinstance(parts, list):
        parts = {each["name"]: each for each in parts}
    return {name: each["seconds"] if isinstance(each, dict) else each for name, each in parts.items()}


def copied_bytes(stats: Run) -> int | None:
    """Between the card and the host, both ways; None where the statistics do not say."""
    found = [value for key, value in stats.items() if key.endswith(("to_host_bytes", "from_host_bytes"))]
    return sum(found) if found else None


def contenders(place: Place, case: Case, dtype: str, latent: Path, output: Path) -> dict[str, Contender | str]:
    """By name, in the order of a round: neighbours are of different sides. A text says why there is none."""
    theirs = {f"diffusers {mode}" + (f" {case.tile}" if mode == "tiled" else ""):
              diffusers_decode(place, case, dtype, mode, latent, output) for mode in case.modes}
    ours: dict[str, Contender | str] = {}
    for limit in case.limits:
        try:
            ours[f"Headroom, {limit}"] = headroom_decode(place, case, dtype, limit, latent, output)
        except RuntimeError as error:
            ours[f"Headroom, {limit}"] = brief(error)
    return measure.in_turns(ours, theirs)  # ours first: where time is short, and for what the first plan's result is the reference
