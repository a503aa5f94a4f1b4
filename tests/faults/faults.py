"""Fault injection: makes single system calls of the programs fail (refused_calls.cpp) and checks the result of each run.

A run must end in time and without a signal. It returns 0 with the usual outputs, or 5 with a one-line message. Every output is
complete or absent, and no other file remains. Files and printed pictures must be identical, except for measured values (MEASURED).

Permitted exceptions:
- A failed removal leaves its file (kind "remove").
- A failed write may truncate a preview (kind "write"). The decode continues without it.
- Times and memory sizes in printed sentences vary.
- The C library ends the program if it cannot allocate thread-local variables. Only the emulated GPU's module has any."""
import concurrent.futures
import dataclasses
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "planner/decode_program"))
import tiny_decode  # noqa: E402

# Ways in which each kind of call fails.
HOWS = {
    "memory": ("once", "on"), "map": ("once", "on"), "open": ("once", "on"), "read": ("once", "short", "interrupted"),
    "write": ("once", "on", "short", "interrupted"), "size": ("once",), "rename": ("once",), "remove": ("once",), "look": ("once",),
    "close": ("once",), "thread": ("once", "on"), "spawn": ("once",), "wait": ("once", "on", "interrupted"),
}
# Keys with measured times or resident memory, which differ between runs. All other files must be identical, including plans and
# reports.
MEASURED = {
    "stats.json": ("seconds", "output_wait_seconds", "rss_growth_bytes", "outside_bytes", "resident_before_bytes", "resident_bytes",
                   "outside_growth_bytes", "outside_growth_after_warmup_bytes"),
    "trace.json": ("seconds", "begin_seconds", "end_seconds", "device_seconds"),
}
HARMLESS = ("short", "interrupted")
# Number of calls of each kind that a quick test fails. Kinds not listed here fail at every call.
QUICK = {"memory": 24, "map": 6, "open": 6, "read": 3, "write": 3, "close": 3}
SECONDS = 10
DECODE = ["--model", "vae", "--random-weights", "0", "--threads", "2", "--quiet"]


@dataclasses.dataclass
class Case:
    """A command. It runs in a copy of the folder that `prepare` created."""
    name: str
    words: list
    outputs: list
    kinds: tuple = tuple(HOWS)

    def program(self):
        return self.words[0]


def prepare(folder, programs):
    """Writes all inputs of the cases."""
    tiny_decode.write_in(folder, (1, 4, 24, 24))
    (folder / "small.npy").write_bytes(tiny_decode.normal((1, 4, 8, 8)))
    (folder / "temporary").mkdir()
    (folder / "requests.json").write_text(json.dumps({
        "schema": "headroom.requests", "version": 1, "model": "vae", "requests": [
            {"name": "large", "width_pixels": 48, "height_pixels": 48, "latent": "latent.npy", "output": "large.npy"},
            {"name": "small", "width_pixels": 16, "height_pixels": 16, "count": 2, "latent": "small.npy", "output": "small-{i}.png"}]}))
    # The one kept tensor of this model exceeds the block size, so it can go to a scratch file.
    (folder / "wide").mkdir()
    (folder / "wide/config.json").write_text(json.dumps({
        **tiny_decode.CONFIG, "block_out_channels": [8], "down_block_types": ["DownEncoderBlock2D"],
        "up_block_types": ["UpDecoderBlock2D"], "mid_block_add_attention": False}))
    (folder / "wide.npy").write_bytes(tiny_decode.npy([8 * ((7 * i) % 11 - 5) / 3 for i in range(384 * 4)] * 384, (1, 4, 384, 384)))
    scratch = ["--scratch", ".", "--scratch-limit", "64MiB"]
    size = ["--model", "vae", "--size", "48x48"]
    for words in (["headroom-plan", *size, "--limit", "2MiB", "-o", "plan.json"],
                  ["headroom-plan", "--model", "wide", "--size", "384x384", "--limit", "9MiB", *scratch, "-o", "scratch-plan.json"],
                  ["headroom-plan", *size, "--limit", "64MiB", "--device", "cuda", "-o", "cuda-plan.json"],
                  ["headroom-plan", "queue", "requests.json", "--limit", "4MiB", "-o", "queue.json"],
                  ["headroom-plan", "frontier", *size, "--points", "3", "-o", "known-frontier.json"],
                  ["headroom-decode", *DECODE, "--plan", "plan.json", "--latent", "latent.npy", "-o", "unused.npy", "--stats",
                   "known-stats.json", "--trace", "known-trace.json"]):
        subprocess.run([str(programs / words[0]), *words[1:]], cwd=folder, check=True, capture_output=True)
    (folder / "unused.npy").unlink()


def cases(gpu):
    decode = ["headroom-decode", *DECODE, "--latent", "latent.npy"]
    beside = [*decode, "--limit", "2MiB", "-o", "p.npy"]
    size = ["--model", "vae", "--size", "48x48"]
    found = [
        Case("decode", [*decode, "--plan", "plan.json", "-o", "p.npy"], ["p.npy"]),
        Case("decode with all files", [*decode, "--plan", "plan.json", "-o", "p.png", "--stats", "stats.json", "--trace",
                                       "trace.json", "--preview", "small.ppm"],
             ["p.png", "stats.json", "trace.json", "small.ppm"]),
        Case("decode with a scratch file", ["headroom-decode", *DECODE[2:], "--model", "wide", "--latent", "wide.npy", "--plan",
                                            "scratch-plan.json", "-o", "p.npy"], ["p.npy"],
             kinds=("open", "read", "write", "size", "look", "close", "thread")),
        Case("decode to a folder", [*decode, "--plan", "plan.json", "-o", "frames/"], ["frames/00000.png"]),
        Case("decode to jpg", [*decode, "--plan", "plan.json", "-o", "p.jpg"], ["p.jpg"]),
        Case("decode to webp", [*decode, "--plan", "plan.json", "-o", "p.webp"], ["p.webp"]),
        Case("decode to a stream", [*decode, "--plan", "plan.json", "-o", "-"], []),
        Case("decode and verify", [*decode, "--plan", "plan.json", "-o", "p.safetensors", "--verify"], ["p.safetensors"]),
        Case("decode of a queue", ["headroom-decode", *DECODE, "--queue", "queue.json", "-o", "out", "--stats", "stats.json"],
             ["out/large.npy", "out/small-0.png", "out/small-1.png", "stats.json"]),
        Case("decode that plans", beside, ["p.npy"]),
        Case("plan", ["headroom-plan", *size, "--limit", "2MiB", "-o", "p.json"], ["p.json"]),
        Case("plan of a queue", ["headroom-plan", "queue", "requests.json", "--limit", "4MiB", "-o", "q.json"], ["q.json"]),
        Case("frontier", ["headroom-plan", "frontier", *size, "--points", "3", "-o", "f.json", "--csv", "f.csv"], ["f.json", "f.csv"]),
        Case("explain", ["headroom-plan", "explain", "plan.json", "--schedule"], []),
        Case("validate", ["headroom-plan", "validate", "plan.json"], []),
        Case("report", ["headroom-report", "plan.json", "known-stats.json", "known-trace.json", "known-frontier.json", "-o", "r.html"],
             ["r.html"]),
        Case("report as text", ["headroom-report", "plan.json", "known-stats.json", "--quick", "-o", "r.md"], ["r.md"]),
    ]
    if gpu:
        found.append(Case("decode on the emulated GPU", [*decode, "--plan", "cuda-plan.json", "-o", "p.png", "--stats", "stats.json",
                                                         "--trace", "trace.json"], ["p.png", "stats.json", "trace.json"]))
    return found


def without_keys(value, keys):
    if isinstance(value, dict):
        return {name: "measured" if name in keys else without_keys(item, keys) for name, item in value.items()}
    return [without_keys(item, keys) for item in value] if isinstance(value, list) else value


def without_measurements(name, document):
    """The reproducible parts of a file with measurements. The number of memory samples varies, so only their presence counts."""
    plain = without_keys(document, MEASURED[name])
    if name == "stats.json":  # includes measured resident memory besides the exact peak of the pool
        for part in (plain, *plain.get("decodes", [])):
            part["peak_bytes"] = "measured"
    if name == "trace.json":
        for rows in ("tile", "event", "place", "activity", "driver"):
            fields = plain.get(f"{rows}_fields", [])
            kept = [i for i, field in enumerate(fields) if not field.endswith("seconds")]
            key = rows if rows == "driver" else "activities" if rows == "activity" else rows + "s"
            plain[key] = [[row[i] for i in kept if i < len(row)] for row in plain.get(key, [])]
        plain["outside"] = bool(plain["outside"])
    return plain


def figures_out(line):
    return re.sub(r"[0-9.]+ (ms|s|KiB|MiB)\b", "#", line)


def content(path):
    data = path.read_bytes()
    if path.name not in MEASURED:
        return data
    try:
        return without_measurements(path.name, json.loads(data))
    except ValueError:
        return data


@dataclasses.dataclass
class End:
    code: int
    said: str
    printed: bytes
    files: dict  # contents of new files, by name


class Runner:
    """Runs one case in its own folder."""

    def __init__(self, case, programs, library, prepared):
        self.case, self.programs, self.library = case, programs, library
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name) / "work"
        shutil.copytree(prepared, self.folder)
        self.inputs = self.files()
        self.whole = self.run()
        if self.whole.code != 0 or {*self.case.outputs} != {*self.whole.files}:
            raise RuntimeError(f"{case.name}: undisturbed, it ends with {self.whole.code}, {[*self.whole.files]}, {self.whole.said}")

    def files(self):
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")}

    def environment(self, order, **more):
        return {**os.environ, "LD_PRELOAD": str(self.library), "HEADROOM_REFUSED": order, "HEADROOM_REFUSED_IN": self.case.program(),
                "TMPDIR": str(self.folder / "temporary"), "OMP_WAIT_POLICY": "passive", **more}

    def run(self, order="", **more):
        line = [str(self.programs / self.case.words[0]), *self.case.words[1:]]
        for patience in (1, 6):  # retry a slow run with a longer timeout
            try:
                ended = subprocess.run(line, cwd=self.folder, env=self.environment(order, **more), capture_output=True, check=False,
                                       timeout=SECONDS * patience)
                break
            except subprocess.TimeoutExpired:
                ended = None
        present = sorted(self.files() - self.inputs, reverse=True)
        end = End(ended.returncode if ended else None, ended.stderr.decode(errors="replace") if ended else "",
                  ended.stdout if ended else b"", {})
        for name in present:
            path = self.folder / name
            if path.is_dir():
                if not any(other.startswith(name + "/") for other in present):
                    end.files[name + "/"] = b""
                path.rmdir()
            else:
                end.files[name] = content(path)
                path.unlink()
        return end

    def counts(self):
        """Number of calls of each kind in an undisturbed run."""
        file = self.folder / "counts"
        self.run(HEADROOM_REFUSED_COUNTS=str(file.parent.parent / "counts"))
        lines = (file.parent.parent / "counts").read_text().splitlines()
        return {line.split()[0]: int(line.split()[1]) for line in lines}

    def shown(self, end):
        """Standard output, with numbers masked unless the command prints a file."""
        return end.printed if "-" in self.case.words else figures_out(end.printed.decode())

    def fault(self, end, kind, how):
        """Describes what is wrong with the result of a run. Returns None if it is correct."""
        if self.case.name == "decode on the emulated GPU" and "cannot allocate memory for thread-local data" in end.said:
            return None
        if end.code is None:
            return f"does not end within {SECONDS} s"
        if end.code not in (0, 5) or (how in HARMLESS and end.code != 0):
            return f"ends with {end.code}"
        for name, data in end.files.items():
            if name in self.whole.files:
                # A failed write may truncate a preview. The decode continues without it.
                if data != self.whole.files[name] and not (name.endswith(".ppm") and kind == "write" and how not in HARMLESS):
                    return f"{name} is another one"
            elif kind != "remove":  # a failed removal leaves its file
                return f"{name} is left behind"
        if end.code == 0 and {*self.whole.files} - {*end.files}:
            return f"ends with 0 without {', '.join({*self.whole.files} - {*end.files})}"
        if end.code == 0 and self.shown(end) != self.shown(self.whole):
            return "ends with 0 and prints something else"
        lines = [figures_out(line) for line in end.said.splitlines() if line]
        for line in self.whole.said.splitlines():
            if figures_out(line) in lines:
                lines.remove(figures_out(line))
        if end.code == 0 and lines:
            return f"ends with 0 and says {lines}"
        if end.code != 0 and len(lines) != 1:
            return f"says {len(lines)} lines"
        return None


def numbers(count, most, chance):
    """Selects at most `most` of the calls 1 to `count`: the first ones, the last ones, and a random sample between."""
    if count <= most:
        return list(range(1, count + 1))
    edge = most // 4
    between = chance.sample(range(edge + 1, count - edge + 1), most - 2 * edge)
    return [*range(1, edge + 1), *sorted(between), *range(count - edge + 1, count + 1)]


def refuse(case, programs, library, prepared, most, chance):
    """Makes calls of each kind fail in each way. `most` limits the calls by kind, like QUICK. Returns exit codes and faults."""
    runner = Runner(case, programs, library, prepared)
    again = runner.run()
    if again.files != runner.whole.files:
        raise RuntimeError(f"{case.name}: two runs differ")
    counts = runner.counts()
    tried, faults = {}, []
    for kind in case.kinds:
        for how in HOWS[kind]:
            ends = {}
            for number in numbers(counts[kind], most.get(kind, counts[kind]), chance):
                end = runner.run(f"{kind}:{number}:{how}")
                fault = runner.fault(end, kind, how)
                ends[end.code] = ends.get(end.code, 0) + 1
                if fault:
                    faults.append(f"{case.name}: {kind}:{number}:{how} of {counts[kind]}: {fault}: {end.said!r}")
            if ends:
                tried[f"{kind} {how}"] = ends
    return {"case": case.name, "calls": counts, "ends": tried, "faults": faults}


def refuse_all(programs, library, gpu_module="", most=None, seed=0, only=""):
    """Runs all cases in parallel. `most` limits the calls by kind, like QUICK. Without it, every call fails in each way."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "prepared").mkdir()
        if gpu_module:  # programs look for the CUDA module in ../lib
            (folder / "bin").mkdir()
            (folder / "lib").mkdir()
            for name in ("headroom-decode", "headroom-plan", "headroom-report"):
                shutil.copy(programs / name, folder / "bin" / name)
            shutil.copy(gpu_module, folder / "lib/headroom-cuda.so")
            programs = folder / "bin"
        prepare(folder / "prepared", programs)
        chosen = [case for case in cases(bool(gpu_module)) if only in case.name]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            running = [pool.submit(refuse, case, programs, library, folder / "prepared", most or {}, random.Random(f"{seed} {case.name}"))
                       for case in chosen]
            yield from (one.result() for one in concurrent.futures.as_completed(running))
