"""Decodes on a card that others use too: by a plan whose memory they have, by one for all that they leave, and two at once.

    measure_tenants(tenants_work(place, rehearse, folder, latent, reference), steps)    # what steps.entry lacks
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, ContextManager, Sequence

import numpy as np

import measure
from card_poll import CardPoll
from gpu_cases import TENANTS_CASE, Case, rehearsed
from gpu_contenders import Place, model_and_seed, seconds_on_card
from kept_parts import Steps
from measure import MIB, Run
from profiler_parts import run_program
from tenant_figures import were_at_once

SHORT_SECONDS = 6.0  # on the clock are enough for one of these steps
# The tenant leaves so much less than the plan takes. With more, --limit auto would have no plan: the decode's own context and a margin
# of 512 MiB come off what is left, too.
BELOW_PEAK = 64 * MIB
TRIES = 3  # to have both decodes on the card at the same time
POLL_PERIOD = 0.01
TENANT_SECONDS = 30  # to end in


# Somebody else on the card --------------------------------------------------------------------------------------------

class Tenant:
    """Another process that has the card's memory, from when it is first asked about until the `with` ends."""

    def __init__(self, device: str, leave_bytes: int):
        self.command = [sys.executable, str(Path(__file__).with_name("card_tenant.py")), "--device", device, "--leave", str(leave_bytes)]
        self.child: subprocess.Popen | None = None

    def __enter__(self) -> "Tenant":
        return self

    def free_bytes(self) -> int:
        """What it left."""
        if self.child is None:
            self.child = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            said = self.child.stdout.readline()
            if not said:
                _, err = self.child.communicate()
                self.child = None
                raise RuntimeError(f"no tenant: {(err.strip() or 'no message').splitlines()[-1]}")
            self.left_bytes = json.loads(said)["free_bytes"]
        if self.child.poll() is not None:
            raise RuntimeError(f"the tenant ended with {self.child.returncode}")
        return self.left_bytes

    def __exit__(self, *_: Any) -> None:
        if self.child is None:
            return
        try:
            self.child.communicate(timeout=TENANT_SECONDS)  # its standard input ends
        except subprocess.TimeoutExpired:
            measure.kill_with_children(self.child)


# Decodes --------------------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Work:
    """What is decoded, where, and by which plan."""

    place: Place
    case: Case
    dtype: str
    folder: Path  # for what nobody asks for later
    latent: Path
    reference: Path
    plan_file: Path
    plan: Run

    def model_words(self) -> list[str]:
        model, seed = model_and_seed(self.place, self.case.model)
        return ["--model", model, *(["--random-weights", str(seed)] if seed is not None else [])]

    def plan_words(self) -> list[str]:
        return ["--plan", str(self.plan_file), *measure.on_device(self.place.device)]


def tenants_work(place: Place, rehearse: bool, folder: Path, latent: Path, reference: Path) -> Work:
    case, dtype = tenants_case(rehearse)
    plan_file = folder / "plan.json"
    plan = measure.make_plan(model_and_seed(place, case.model)[0], case.size, place.limit_bytes(case.limits[0])[0], plan_file, dtype=dtype,
                             programs=place.programs, device=place.device)
    return Work(place, case, dtype, folder, latent, reference, plan_file, plan)


def tenants_case(rehearse: bool) -> tuple[Case, str]:
    return (rehearsed(TENANTS_CASE), "fp32") if rehearse else (TENANTS_CASE, TENANTS_CASE.dtypes[0])


def decode(work: Work, words: Sequence[str], programs: Path | None = None, environment: dict[str, str] | None = None) -> Run:
    """How a decode ended, what it said and left behind, and, where it succeeded, its figures and picture."""
    with tempfile.TemporaryDirectory(dir=work.folder) as name:
        output, stats_file = Path(name, "run.npy"), Path(name, "run.stats.json")
        start = time.monotonic()
        ended = run_program([str((programs or work.place.programs) / "headroom-decode"), *words, *work.model_words(), "--latent", str(work.latent),
                             "-o", str(output), "--stats", str(stats_file), "--threads", str(work.place.threads), "--quiet"], environment)
        run: Run = {"status": ended.status, "process_seconds": time.monotonic() - start,
                    "said": [line[:600] for line in ended.err.splitlines() if line.strip()], "left": sorted(file.name for file in Path(name).iterdir())}
        if ended.status == 0:
            stats = json.loads(stats_file.read_text())
            run |= {key: stats[key] for key in ("limit_bytes", "peak_bytes", "outside_bytes")}
            run |= {"seconds": seconds_on_card(stats), "passes": len(stats["passes"]), "picture": hashlib.sha256(output.read_bytes()).hexdigest()}
            run |= measure.compare(np.load(output, mmap_mode="r"), np.load(work.reference, mmap_mode="r"))
        return run


def polled(work: Work) -> ContextManager[CardPoll | None]:
    return CardPoll(POLL_PERIOD) if work.place.device == "cuda" else nullcontext()


def growth_of(poll: CardPoll | None) -> int | None:
    return int(poll.polls.bytes.max()) if poll and poll.polls else None


def alone(work: Work) -> Run:
    with polled(work) as poll:
        run = decode(work, work.plan_words())
    return run | {"card_growth_bytes": growth_of(poll)}


def refused(work: Work, free_bytes: int) -> Run:
    """By the plan that takes more than is free. Without a card, by the programs on an emulated one that refuses the first reservation."""
    if work.place.device == "cuda":
        return decode(work, work.plan_words()) | {"free_bytes": free_bytes, "predicted_peak_bytes": work.plan["predicted_peak_bytes"]}
    module = work.place.programs.parent / "tests" / "emulated-gpu-crowded.so"
    if not module.exists():
        return {"not_run": "neither a card nor the tests' emulated one"}
    installed = work.folder / "installed"
    for folder in ("bin", "lib"):
        (installed / folder).mkdir(parents=True, exist_ok=True)
    for program in ("headroom-decode", "headroom-plan"):
        shutil.copy(work.place.programs / program, installed / "bin" / program)
    shutil.copy(module, installed / "lib" / "headroom-cuda.so")
    plan_file = work.folder / "plan-for-cuda.json"
    plan = measure.make_plan(work.case.model, work.case.size, work.plan["limit_bytes"], plan_file, dtype=work.dtype, programs=work.place.programs,
                             device="cuda")
    run = decode(work, ["--plan", str(plan_file)], installed / "bin", {"HEADROOM_CROWDED_GPU": "1"})
    return run | {"free_bytes": free_bytes, "predicted_peak_bytes": plan["predicted_peak_bytes"]}


def for_all_that_is_left(work: Work, free_bytes: int) -> Run:
    return decode(work, ["--limit", "auto", "--dtype", work.dtype, *measure.on_device(work.place.device)]) | {"free_bytes": free_bytes}


def together(work: Work, by_itself: Run) -> Run:
    """Two at once, again where the card's count says that they were not on it at the same time."""
    for tries in range(1, TRIES + 1):
        with polled(work) as poll, ThreadPoolExecutor(2) as threads:
            runs = list(threads.map(lambda _: decode(work, work.plan_words()), range(2)))
        growth = growth_of(poll)
        at_once = were_at_once(by_itself, growth)
        if at_once is not False or any(run["status"] != 0 for run in runs):
            break
    return {"runs": runs, "card_growth_bytes": growth, "at_once": at_once, "tries": tries}


def measure_tenants(work: Work, steps: Steps) -> None:
    """Each step that is not there yet; one that fails takes no other with it."""
    found = steps.entry["steps"]

    def step(name: str, run: Callable[[], Run]) -> None:
        try:
            steps(name, run)
        except (RuntimeError, OSError, KeyError, ValueError) as error:
            found[name] = {"error": str(error).replace(f"{work.folder}/", "")[:300]}
            steps.save()
            measure.note(f"  {name}: {error}")

    step("alone", lambda: alone(work))
    with Tenant(work.place.device, max(0, work.plan["predicted_peak_bytes"] - BELOW_PEAK)) as tenant:
        step("refused", lambda: refused(work, tenant.free_bytes()))
        step("auto", lambda: for_all_that_is_left(work, tenant.free_bytes()))
    step("together", lambda: together(work, found["alone"]))
