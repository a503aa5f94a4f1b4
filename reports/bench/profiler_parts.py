"""What gpu_profiler.py runs: recordings of decodes, profiles, what recording costs, and what another profiler in the way does."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, ContextManager, Sequence

import measure
import trace_overhead
from card_poll import CardPoll
from export_checks import check_exports
from gpu_cases import AMPLE
from gpu_contenders import SEED, Place, repeated
from kept_parts import Steps
from measure import Run
from trace_checks import Found, check_trace, counted_ns, load_trace

RECORDINGS = measure.ROOT / "tests" / "data" / "device_events"
DEMO_MODEL = measure.ROOT / "tests" / "data" / "demo_model"
STATES = ("interleaved", "out_of_order", "wrapped", "lost")
DRAWN_PEAK = 1 << 40  # what the recordings hold is drawn, and no plan predicts it
HELD_OUT_BOUND = 0.02  # of the seconds of the held-out size
ALLOCATOR_BOUND = 0.03  # of a decode's seconds
OVERHEAD_ROUNDS = 5
HOLDER_SECONDS = 120
REFUSED_INPUT = 2


@dataclass(frozen=True)
class Work:
    """What the parts decode: on a GPU SDXL in bf16, with --rehearse a tiny model on the CPU and recorded events."""

    place: Place
    rehearse: bool
    sanitizer: str | None  # compute-sanitizer, where it is known

    @property
    def model(self) -> str:
        return str(DEMO_MODEL) if self.rehearse else "sdxl"

    @property
    def dtype(self) -> str:
        return "fp32" if self.rehearse else "bf16"

    def size(self, side: int) -> tuple[int, int]:
        return (side // 16, side // 16) if self.rehearse else (side, side)

    def sizes(self, *sides: int) -> str:
        return ",".join("x".join(map(str, self.size(side))) for side in sides)

    def limit_bytes(self, text: str) -> int:
        """With --rehearse the sizes are so small that no other limit than an ample one would count."""
        return self.place.limit_bytes(AMPLE if self.rehearse else text)[0]

    def plan(self, side: int, limit: str, file: Path, profile: Path | None = None) -> Run:
        return measure.make_plan(self.model, self.size(side), self.limit_bytes(limit), file, str(profile) if profile else None, self.dtype,
                                 self.place.programs, device=self.place.device)

    def scratch(self) -> tempfile.TemporaryDirectory:
        return tempfile.TemporaryDirectory(dir=self.place.work)

    def poll(self) -> ContextManager[CardPoll | None]:
        return nullcontext() if self.rehearse else CardPoll()


# Recording a decode ---------------------------------------------------------------------------------------------------

@dataclass
class Ended:
    """How a program ended."""

    status: int | None  # None: it was ended for its time
    out: str
    err: str

    @property
    def warnings(self) -> list[str]:
        return [line.partition("warning: ")[2] for line in self.err.splitlines() if line.startswith("headroom-profile: warning: ")]

    def last_words(self) -> str:
        return ((self.err.strip() or self.out.strip() or "no message").splitlines())[-1][:200]


def run_program(command: Sequence[str], more_environment: dict[str, str] | None = None, seconds: float | None = None) -> Ended:
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | (more_environment or {}))
    try:
        out, err = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        measure.kill_with_children(child)
        return Ended(None, "", f"took longer than {seconds:.0f} s")
    return Ended(child.returncode, out, err)


class Recorded:
    """The files of one recording, in a folder."""

    def __init__(self, folder: Path):
        self.trace, self.events, self.chrome, self.table, self.snapshot = (
            folder / name for name in ("trace.json", "events.jsonl", "chrome.json", "events.csv", "snapshot.pickle"))

    def outputs(self) -> list[str]:
        return ["-o", str(self.trace), "--chrome", str(self.chrome), "--csv", str(self.table), "--snapshot", str(self.snapshot)]

    def sizes(self) -> dict[str, int]:
        return {file.name: file.stat().st_size for file in (self.trace, self.events, self.chrome, self.table, self.snapshot) if file.exists()}


def profile_command(work: Work, plan: Path, recorded: Recorded, watch: str = "all") -> list[str]:
    return [str(work.place.programs / "headroom-profile"), "--plan", str(plan), "--model", work.model, "--random-weights", str(SEED),
            "--threads", str(work.place.threads), "--watch", watch, "--quiet", "--json", "--events", str(recorded.events), *recorded.outputs()]


def succeeded(ended: Ended) -> Ended:
    if ended.status != 0:
        raise RuntimeError(f"{ended.last_words()} (headroom-profile ended with {ended.status})")
    return ended


def replay(work: Work, state: str, recorded: Recorded) -> None:
    """What was recorded of a GPU once, joined again here."""
    succeeded(run_program([str(work.place.programs / "headroom-profile"), "--plan", str(RECORDINGS / "plan.json"), "--model", str(DEMO_MODEL),
                           "--replay", str(RECORDINGS / f"{state}.jsonl"), *recorded.outputs(), "--quiet"]))


def record(work: Work, side: int, limit: str, folder: Path, more_environment: dict[str, str] | None = None) -> Found:
    """Plans, records with all that can be listened to while another process polls the card, and checks."""
    plan_file, recorded = folder / "plan.json", Recorded(folder)
    plan = work.plan(side, limit, plan_file)
    with work.poll() as poll:
        ended = succeeded(run_program(profile_command(work, plan_file, recorded), more_environment))
    trace, stats = load_trace(recorded.trace), json.loads(ended.out)
    found = check_trace(trace, plan["predicted_peak_bytes"], counted_ns(recorded.events), poll.polls if poll else None)
    return found | {"limit_bytes": plan["limit_bytes"], "passes": plan["passes"], "decode_seconds": stats["seconds"], "warnings": ended.warnings,
                    "polled_by": poll.by if poll else None, "file_bytes": recorded.sizes(),
                    "summed": [key for key in ("summed_by_step_from_seconds", "summed_by_pass_from_seconds") if key in trace]}


def replayed(work: Work, number: int) -> Found:
    """With --rehearse, in place of a GPU: recorded events, by the same checks."""
    with work.scratch() as name:
        recorded = Recorded(Path(name))
        replay(work, STATES[number % 3], recorded)
        return check_trace(load_trace(recorded.trace), DRAWN_PEAK)


def trace_part(work: Work, step: Steps, side: int, limit: str) -> tuple[Found, list[str]]:
    with work.scratch() as name:
        found = step("trace", lambda: record(work, side, limit, Path(name)))
    faults = found["faults"]
    if work.rehearse:
        events = step("recorded events", lambda: replayed(work, side // 512))
        found = found | {key: value for key, value in events.items() if key != "predicted_peak_bytes"}
        faults = faults + events["faults"]
    return found, faults


# Exports --------------------------------------------------------------------------------------------------------------

def exports_part(work: Work, step: Steps) -> tuple[Found, list[str]]:
    """The exports of a recording, read by the libraries that they are for; with --rehearse of a decode on the CPU, and of recorded events."""
    def checked() -> Found:
        with work.scratch() as name:
            recorded = Recorded(Path(name))
            work.plan(1024, AMPLE, Path(name, "plan.json"))
            succeeded(run_program(profile_command(work, Path(name, "plan.json"), recorded)))
            return check_exports(load_trace(recorded.trace), recorded.chrome, recorded.snapshot, recorded.table)

    def replayed() -> Found:
        with work.scratch() as name:
            recorded = Recorded(Path(name))
            replay(work, STATES[0], recorded)
            return check_exports(load_trace(recorded.trace), recorded.chrome, recorded.snapshot, recorded.table)

    found = {"a decode": step("a decode", checked), "recorded events": step("recorded events", replayed)}
    return found, [f"{name}: {fault}" for name, each in found.items() for fault in each["faults"]]


# What it costs --------------------------------------------------------------------------------------------------------

def overhead_part(work: Work, step: Steps) -> tuple[Found, list[str]]:
    """Rounds of single runs, so that what is cut off loses one of them."""
    rounds: list[dict[str, Run]] = []
    with work.scratch() as name:
        folder = Path(name)
        latent = measure.write_random_latent(work.model, work.size(2048), SEED, folder / "latent.npy")
        plan = work.plan(2048, AMPLE, folder / "plan.json")
        # With --rehearse all of them run with a plan for the CPU, on which nothing is captured.
        names = trace_overhead.variants("cuda")
        commands = {each: trace_overhead.command_of(each, work.place.programs, work.model, SEED, folder / "plan.json", latent, folder,
                                                    work.place.threads) for each in names}

        def attempt(each: str) -> Run:
            try:
                return trace_overhead.one_run(each, folder, commands[each])
            except (RuntimeError, KeyError, ValueError) as error:
                return {"error": str(error)[:160]}

        step("before the first", lambda: attempt(names[0]))
        for number in range(2 if work.rehearse else OVERHEAD_ROUNDS):
            rounds.append({each: step(f"{number + 1}: {each}", lambda each=each: attempt(each)) for each in trace_overhead.in_turn(names, number)})
    rows, to_none = trace_overhead.rows_of(rounds), trace_overhead.rows_of(rounds, trace_overhead.UNHEARD)
    found = {"rows": rows, "to_none": to_none, "plan": plan}
    return found, judge_overhead(rows, to_none, None if work.rehearse else ALLOCATOR_BOUND)


def judge_overhead(rows: list[dict[str, Any]], to_none: list[dict[str, Any]], most: float | None) -> list[str]:
    """The allocator's events may cost so much against a decode that nobody records, which writes its picture to a file, and against one of
    which its own events alone are recorded."""
    faults = trace_overhead.faults_of(rows, trace_overhead.ALLOCATOR, most)
    faults += [f"against --watch none: {fault}" for fault in trace_overhead.faults_of(to_none, trace_overhead.ALLOCATOR, most)
               if " costs " in fault]
    return faults


# Profiles -------------------------------------------------------------------------------------------------------------

def judge_profile(held_out: list[dict[str, Any]], most: float | None) -> list[str]:
    faults = [] if held_out else ["no size was held out"]
    for size in held_out:
        if most is not None and abs(size["error"]) > most:
            faults.append(f"{size['width_pixels']}×{size['height_pixels']}: predicted {100 * size['error']:+.1f} % of what was measured")
    return faults


def refusal_of_other(work: Work, profile: Path, folder: Path) -> dict[str, Any]:
    """What is said to the same profile of a device of another name: by headroom-plan, which need not know this machine's card, or else by
    headroom-decode, which uses it."""
    other, plan_file = folder / "other.json", folder / "other-plan.json"
    other.write_text(json.dumps(json.loads(profile.read_text()) | {"device": "another device"}))
    width, height = work.size(1536)
    device = measure.on_device(work.place.device)
    ended, by = run_program([str(work.place.programs / "headroom-plan"), "--model", work.model, "--size", f"{width}x{height}", "--dtype", work.dtype,
                             "--limit", str(work.limit_bytes(AMPLE)), "--profile", str(other), "-o", str(plan_file), *device]), "headroom-plan"
    if ended.status == 0:
        latent = measure.write_random_latent(work.model, work.size(1536), SEED, folder / "other.npy")
        ended, by = run_program([str(work.place.programs / "headroom-decode"), "--plan", str(plan_file), "--model", work.model, "--random-weights",
                                 str(SEED), "--latent", str(latent), "-o", str(folder / "other-run.npy"), "--quiet", *device]), "headroom-decode"
    return {"status": ended.status, "by": by, "said": ended.last_words().replace(str(folder) + "/", "")}


def judge_refusal(run: dict[str, Any]) -> list[str]:
    return [] if run["status"] == REFUSED_INPUT and "device" in run["said"] else \
        [f"a profile of another device is not refused: exit {run['status']}, {run['said']}"]


def measure_profile(work: Work, file: Path) -> Found:
    start = time.monotonic()
    sides = (512, 2560) if work.rehearse else (512, 1024, 2048, 4096)
    measure.run([str(work.place.programs / "headroom-profile"), "--model", work.model, "--random-weights", str(SEED), "--dtype", work.dtype,
                 "--sizes", work.sizes(*sides), "--hold-out", work.sizes(1536), "--threads", str(work.place.threads), "--quiet", "-o", str(file),
                 *(["--repeats", "1"] if work.rehearse else []), *measure.on_device(work.place.device)])
    profile = json.loads(file.read_text())
    errors = sorted(law["held_out_error"] for law in profile["laws"])
    return {"seconds": time.monotonic() - start, "device": profile["device"], "libraries": profile["libraries"], "laws": len(profile["laws"]),
            "median_law_error": errors[len(errors) // 2] if errors else None, "file_bytes": file.stat().st_size,
            "sizes": [{key: size[key] for key in ("width_pixels", "height_pixels", "seconds", "peak_bytes")} for size in profile["sizes"]],
            "held_out": [{key: size[key] for key in ("width_pixels", "height_pixels", "seconds", "predicted_seconds", "error")}
                         for size in profile["held_out"]]}


def decode_as_predicted(work: Work, profile: Path, folder: Path) -> Found:
    """The held-out size, planned with the profile and decoded."""
    latent = measure.write_random_latent(work.model, work.size(1536), SEED, folder / "latent.npy")
    plan_file = folder / "plan.json"
    plan = work.plan(1536, AMPLE, plan_file, profile)
    run = measure.headroom_decode(work.model, plan_file, latent, folder / "run.npy", SEED, work.place.threads, work.place.programs,
                                  measure.on_device(work.place.device))
    again = repeated(work.place, work.model, SEED, plan_file, latent, 3)
    return {"predicted_seconds": plan["predicted_seconds"], "first_seconds": run["seconds"], "again_seconds": measure.spread(again),
            "predicted_peak_bytes": plan["predicted_peak_bytes"], "peak_bytes": run["peak_bytes"], "passes": plan["passes"]}


def profile_part(work: Work, step: Steps) -> tuple[Found, list[str]]:
    file = work.place.work / "profile.json"
    if not file.exists():
        step.forget("profile")
    found = {"profile": step("profile", lambda: measure_profile(work, file))}
    with work.scratch() as name:
        found["refused"] = step("refused", lambda: refusal_of_other(work, file, Path(name)))
        found["decode"] = step("decode", lambda: decode_as_predicted(work, file, Path(name)))
    faults = judge_profile(found["profile"]["held_out"], None if work.rehearse else HELD_OUT_BOUND) + judge_refusal(found["refused"])
    if found["decode"]["peak_bytes"] > found["decode"]["predicted_peak_bytes"]:
        faults.append(f"the decode's peak is {found['decode']['peak_bytes']} bytes, predicted {found['decode']['predicted_peak_bytes']}")
    return found, faults


# Segments that grow ---------------------------------------------------------------------------------------------------

def mapping_calls(events_file: Path) -> dict[str, dict[str, int]]:
    """How often the driver was asked to make and map memory by hand, and of how many of these calls the memory was captured."""
    calls: dict[str, set[int]] = {}
    captured = set()
    with events_file.open() as lines:
        for line in lines:
            if line.startswith('["driver_call",'):
                _, _, _, correlation, name = json.loads(line)
                if name.startswith(("cuMemCreate", "cuMemMap", "cuMemUnmap", "cuMemRelease")):
                    calls.setdefault(name, set()).add(correlation)
            elif line.startswith('["driver",'):
                captured.add(json.loads(line)[4])
    return {name: {"calls": len(numbers), "heard": len(numbers & captured)} for name, numbers in sorted(calls.items())}


def expandable_part(work: Work, step: Steps) -> tuple[Found, list[str]]:
    def recorded() -> Found:
        with work.scratch() as name:
            found = record(work, 1024, AMPLE, Path(name), {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})
            trace = load_trace(Path(name, "trace.json"))
            return found | {"mapping_calls": mapping_calls(Path(name, "events.jsonl")), "sources": trace.get("sources", [])}

    found = step("trace", recorded)
    return found, found["faults"]


# Somebody else has CUPTI ----------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Holder:
    """One that may hold CUPTI while headroom-profile runs."""

    name: str
    prefix: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    not_there: str | None = None  # why it cannot be tried
    warned_as: str | None = None  # what a warning must call it


def cupti_folder() -> Path | None:
    """With the headers, as cmake/Cupti.cmake finds it: LibTorch's wheels first, then the toolkit."""
    import importlib.util

    torch = importlib.util.find_spec("torch")
    wheels = [Path(torch.submodule_search_locations[0]).parent / "nvidia" / "cu13"] if torch and torch.submodule_search_locations else []
    nvcc = shutil.which("nvcc")
    toolkits = [Path(os.path.realpath(nvcc)).parents[1]] if nvcc else []
    toolkits.append(Path("/usr/local/cuda"))
    folders = wheels + [folder for home in toolkits for folder in (home, home / "extras" / "CUPTI")]
    return next((folder for folder in folders if (folder / "include" / "cupti.h").exists()), None)


def own_holder(folder: Path) -> Holder:
    """A library that is loaded ahead and subscribes first, by a name of its own."""
    name = "hold_cupti.cpp, loaded ahead"
    cupti = cupti_folder()
    if cupti is None:
        return Holder(name, not_there="no headers of CUPTI")
    library = folder / "hold_cupti.so"
    headers = [cupti / "include", Path("/usr/local/cuda/include")]  # the toolkit keeps CUDA's beside CUPTI's
    built = run_program(["g++", "-std=c++20", "-shared", "-fPIC", *(f"-I{each}" for each in headers if each.exists()),
                         str(Path(__file__).with_name("hold_cupti.cpp")), "-o", str(library), "-ldl"])
    if built.status != 0:
        return Holder(name, not_there=f"does not build: {built.last_words()}")
    found = next((file for place in ("lib", "lib64") for file in [cupti / place / "libcupti.so.13"] if file.exists()), None)
    return Holder(name, environment=(("LD_PRELOAD", str(library)), *((("HOLD_CUPTI_LIBRARY", str(found)),) if found else ())),
                  warned_as="hold_cupti")


def holders(work: Work, folder: Path) -> list[Holder]:
    nsys, sanitizer = shutil.which("nsys"), work.sanitizer or shutil.which("compute-sanitizer")
    return [own_holder(folder),
            Holder("nsys profile", (nsys, "profile", "--trace=cuda", "--force-overwrite=true", f"--output={folder / 'nsys'}") if nsys else (),
                   not_there=None if nsys else "no nsys on this machine"),
            Holder("compute-sanitizer", (sanitizer, "--tool", "synccheck", "--target-processes", "all") if sanitizer else (),
                   not_there=None if sanitizer else "no compute-sanitizer on this machine")]


def run_held(work: Work, holder: Holder, folder: Path) -> Run:
    if holder.not_there:
        return {"not_run": holder.not_there}
    plan_file, recorded = folder / "plan.json", Recorded(folder)
    work.plan(512, AMPLE, plan_file)
    ended = run_program([*holder.prefix, *profile_command(work, plan_file, recorded)], dict(holder.environment), HOLDER_SECONDS)
    said = next((line for line in ended.err.splitlines() if line.startswith("hold_cupti: ")), None)
    if holder.warned_as and said != "hold_cupti: holds (0)":
        return {"not_run": said or "it was not loaded", "status": ended.status}
    if ended.status is None:
        return {"not_run": ended.err}
    if holder.prefix and ended.status != 0 and "headroom-profile: " not in ended.err:
        return {"not_run": f"it ended with {ended.status}: {ended.last_words().strip('= ')}"}
    run: Run = {"status": ended.status, "warnings": ended.warnings, "said": "" if ended.status == 0 else ended.last_words(), "trace": None}
    if recorded.trace.exists():
        trace = load_trace(recorded.trace)
        run |= {"trace": True, "not_heard": [source["name"] for source in trace.get("sources", []) if not source["heard"]],
                "faults_of_trace": check_trace(trace, 1 << 62)["faults"]}
    return run


def judge_held(holder: str, warned_as: str | None, run: Run) -> list[str]:
    """It goes on without CUPTI: ends with 0, says so, and names whoever is in the way where CUPTI tells."""
    if "not_run" in run:
        return []
    faults = [] if run["status"] == 0 else [f"ended with {run['status']}: {run['said']}"]
    if not run.get("trace"):
        faults.append("no trace")
    if run.get("not_heard") and not any("not captured" in line for line in run["warnings"]):
        faults.append("no warning")
    if warned_as and not any(warned_as in line for line in run["warnings"]):
        faults.append(f"no warning names {warned_as}")
    return [f"{holder}: {fault}" for fault in faults + run.get("faults_of_trace", [])]


def held_part(work: Work, step: Steps) -> tuple[Found, list[str]]:
    found, faults = {}, []
    with work.scratch() as name:
        for holder in holders(work, Path(name)):
            def run(holder: Holder = holder) -> Run:
                with work.scratch() as own:
                    return run_held(work, holder, Path(own))

            found[holder.name] = step(holder.name, run)
            faults += judge_held(holder.name, holder.warned_as, found[holder.name])
    return {"holders": found}, faults


# All of them -----------------------------------------------------------------------------------------------------------

TRACES = {"trace-512": (512, AMPLE), "trace-1024": (1024, AMPLE), "trace-2048": (2048, AMPLE), "trace-4096": (4096, AMPLE),
          "trace-4096-8gib": (4096, "8GiB")}
WORKS: dict[str, Callable[[Work, Steps], tuple[Found, list[str]]]] = {
    **{name: lambda work, step, side=side, limit=limit: trace_part(work, step, side, limit) for name, (side, limit) in TRACES.items()},
    "exports": exports_part, "overhead": overhead_part, "profile": profile_part, "held": held_part, "expandable": expandable_part,
}
# The most telling first.
PARTS = ("trace-1024", "exports", "overhead", "trace-512", "trace-4096-8gib", "profile", "held", "expandable", "trace-2048",
         "trace-4096")
