"""Decodes by Headroom's programs on the card."""

import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import measure
from place import Place

SEED = "0"
SECONDS = 150  # time limit of one program
AMPLE_SHARE = 0.85  # share of the card's memory


@dataclass(frozen=True)
class Decoded:
    """A picture, the statistics of the first decode of a process, and the seconds of later decodes in another process."""

    picture: np.ndarray
    stats: dict[str, Any]
    again: list[float]

    @property
    def peak_bytes(self) -> int:
        return self.stats["peak_bytes"]

    @property
    def times(self) -> str:
        return times_text(seconds_on_card(self.stats), self.again)

    @property
    def parts(self) -> str:
        parts = {each["name"]: each["seconds"] for each in self.stats.get("parts", [])}
        return ", ".join(f"{name} {1e3 * seconds:.1f}" for name, seconds in sorted(parts.items(), key=lambda item: -item[1]) if seconds > 1e-5)

    @property
    def engines(self) -> str:
        return ", ".join(f"{each['name']}{' (compiled)' if each.get('compiled') else ''} ×{each['runs']}" for each in self.stats.get("engines", []))


def times_text(first: float, again: list[float]) -> str:
    spread = f"{1e3 * statistics.median(again):.1f} ms ({1e3 * min(again):.1f}–{1e3 * max(again):.1f}), " if again else ""
    return f"{spread}first {first:.2f} s"


def seconds_on_card(stats: dict[str, Any]) -> float:
    """From loaded weights and latent until the picture has left the card. Excludes the wait for the file, as diffusers' times do."""
    return stats["seconds"] - stats.get("output_wait_seconds", 0.0)


@dataclass(frozen=True)
class Planned:
    """A plan file, its figures, and decodes with it."""

    where: Place
    model: str
    file: Path
    latent: Path
    limit_bytes: int
    peak_bytes: int
    seconds: float
    passes: int

    def decode(self, repeats: int) -> Decoded:
        """One decode in a fresh process. Then `repeats` timed decodes in another process, after an untimed first one."""
        output, stats = self.file.with_suffix(".npy"), self.file.with_suffix(".stats.json")
        self.where.run([self.where.program("headroom-decode"), "--plan", str(self.file), "--model", self.model, "--random-weights", SEED,
                        "--latent", str(self.latent), "--latent-scale", "none", "--stats", str(stats), "--quiet", "-o", str(output)],
                       SECONDS).require("headroom-decode")
        return Decoded(np.load(output), json.loads(stats.read_text()), self.again(repeats) if repeats else [])

    def again(self, repeats: int) -> list[float]:
        """Seconds of `repeats` decodes in one process, without its first decode. Runs a queue that has only this plan."""
        plan = json.loads(self.file.read_text())
        asked = {key: plan["request"][key] for key in ("width_pixels", "height_pixels", "frames", "batch")}
        folder = self.file.parent / "again"
        folder.mkdir(exist_ok=True)
        request = {"name": "again", **asked, "count": repeats + 1, "latent": [str(self.latent)] * (repeats + 1), "output": "{i}.npy"}
        queue = {"schema": "headroom.requests", "version": 1, "planned": True, "model": self.model,
                 **{key: plan["request"][key] for key in ("dtype", "device", "tf32") if key in plan["request"]}, "limit_bytes": plan["limit_bytes"],
                 "pool_bytes": plan["predicted"]["peak_bytes"] - plan["reserve_bytes"],
                 "predicted": {"peak_bytes": plan["predicted"]["peak_bytes"], "seconds": plan["predicted"]["seconds"] * (repeats + 1)},
                 "requests": [request], "plans": [plan], "order": [{"request": 0, "repetition": i, "plan": 0} for i in range(repeats + 1)]}
        file, stats = folder / "queue.json", folder / "stats.json"
        file.write_text(json.dumps(queue))
        self.where.run([self.where.program("headroom-decode"), "--queue", str(file), "--model", self.model, "--random-weights", SEED,
                        "--stats", str(stats), "--device", "cuda", "--quiet"], SECONDS).require("headroom-decode --queue")
        return [seconds_on_card(decode) for decode in json.loads(stats.read_text())["decodes"][1:]]


def ample_limit() -> int:
    card = measure.card()
    return int(card["memory_bytes"] * AMPLE_SHARE) if card else 4 << 30


def plan(where: Place, model: str, size: tuple[int, int], limit_bytes: int, dtype: str, work: Path, frames: int = 1, tf32: str = "") -> Planned:
    """`tf32` is the value of --tf32, empty for none. Raises RuntimeError with the planner's message if no plan fits."""
    name = f"{Path(model).name}-{size[0]}x{size[1]}x{frames}"
    file, latent = work / f"{name}-{dtype}{tf32}.json", work / f"{name}.latent.npy"
    where.run([where.program("headroom-plan"), "--model", model, "--size", f"{size[0]}x{size[1]}", "--frames", str(frames), "--dtype", dtype,
               *([f"--tf32={tf32}"] if tf32 else []), "--device", "cuda", "--limit", str(limit_bytes), "-o", str(file)], SECONDS).require("headroom-plan")
    measure.write_random_latent(model, size, int(SEED), latent, frames=frames)
    told = json.loads(file.read_text())
    return Planned(where, model, file, latent, told["limit_bytes"], told["predicted"]["peak_bytes"], told["predicted"]["seconds"], len(told["passes"]))
