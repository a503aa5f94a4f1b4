"""Runs programs over the air card, plans small decodes and reads reports. README.md says what the air card is."""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest
from array import array
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "planner/decode_program"))
import tiny_decode

GOLDEN = Path(__file__).resolve().parents[1] / "data/golden"
# A small config of each class, and its latent shape. Clips have five dimensions.
SMALL = {
    "plain": (1, 4, 10, 12), "dc_interpolate": (1, 4, 7, 6), "dc_quadratic": (1, 4, 1, 2), "tiny_default": (1, 4, 9, 10),
    "hunyuan_image": (1, 8, 4, 5), "qwen_picture": (1, 16, 1, 6, 7), "qwen21_two": (1, 4, 1, 5, 4), "qwen_clip": (1, 4, 2, 4, 5),
    "wan_time_last": (1, 4, 3, 3, 5), "wan22_three_frames": (1, 4, 3, 3, 2), "hunyuan_video": (1, 16, 2, 4, 3),
    "hunyuan_video_15": (1, 8, 2, 3, 4), "ltx": (1, 8, 2, 4, 3), "ltx2": (1, 8, 2, 2, 3), "osp_v1_2": (1, 4, 2, 2, 3), "seedvr2": (1, 4, 2, 2, 3),
}
CAPABILITIES = ("8.0", "8.6", "8.9", "9.0", "10.0", "12.0")
LIVE = ("live_bytes", "pinned_bytes", "streams", "events", "descriptors", "handles")


@dataclass
class Ended:
    code: int
    output: str
    errors: str
    report: dict


@dataclass
class Case:
    """A model, a latent and the output size."""

    model: str
    latent: Path
    frames: int
    height: int
    width: int


class Card:
    def __init__(self, build, folder):
        self.build, self.folder = Path(build), Path(folder)
        self._count = 0

    def run(self, program, *words, emulated=False, settings=None, **files):
        """Runs a program on the air card. `emulated` selects the CUDA module with emulated kernels. `files` may have its standard input and
        output."""
        self._count += 1
        report = self.folder / f"report{self._count}.json"
        libraries = self.build / "tests/air_card/lib"
        preloaded = " ".join(str(libraries / name) for name in ("libcudart.so.13", "libcudnn.so.9", "libcublasLt.so.13"))
        environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries), "LD_PRELOAD": preloaded, "AIR_REPORT": str(report), **(settings or {})}
        place = self.build / ("tests/air_card/modules" if emulated else "bin")
        line = [str(place / program), *map(str, words)]
        files = {"stdout": subprocess.PIPE, **files}
        ended = subprocess.run(line, env=environment, cwd=self.folder, stderr=subprocess.PIPE, text=True, check=False, errors="replace", **files)
        errors = "".join(text + "\n" for text in ended.stderr.splitlines() if not re.search(r": (warning: this )?latent", text))
        return Ended(ended.returncode, ended.stdout, errors, json.loads(report.read_text()) if report.exists() else {})

    def case(self, model, shape, size=None):
        """A case with a random latent. `size` is frames, height and width. By default a decode on the CPU finds it and writes cpu_picture()."""
        name = Path(model).name
        latent = self.folder / f"{name}.latent.npy"
        latent.write_bytes(tiny_decode.normal(shape, 1.0))
        if size is None:
            extents = read_npy(self.decode_on_cpu(model, latent))[0]
            size = (extents[2] if len(extents) == 5 else 1, *extents[-2:])
        return Case(str(model), latent, *size)

    def cpu_picture(self, model, dtype="fp32"):
        return self.folder / f"{Path(model).name}.cpu.{dtype}.npy"

    def decode_on_cpu(self, model, latent, dtype="fp32"):
        picture = self.cpu_picture(model, dtype)
        if not picture.exists():
            self.must("headroom-decode", "--limit", "4GiB", "--model", model, "--random-weights", 0, "--dtype", dtype, "--latent", latent,
                      "-o", picture)
        return picture

    def must(self, program, *words, **options):
        ended = self.run(program, *words, **options)
        if ended.code != 0:
            raise AssertionError(f"{program} {' '.join(map(str, words))}: exit code {ended.code}: {ended.errors}")
        return ended

    def plan(self, case, limit=None, dtype="fp32", host="0"):
        """Plans under a limit, by default the smallest one that works. Returns the plan file."""
        self._count += 1
        path = self.folder / f"plan{self._count}.json"
        words = ["--device", "cuda", "--model", case.model, "--size", f"{case.width}x{case.height}", "--frames", case.frames, "--dtype", dtype]
        words += ["--host-limit", host] if host != "0" else []
        if limit is None:
            line = [str(self.build / "bin/headroom-plan"), *map(str, words), "--limit", "1", "--json", "-o", str(path)]
            refused = subprocess.run(line, cwd=self.folder, capture_output=True, text=True, check=False)
            limit = json.loads(refused.stdout)["smallest_limit_bytes"]
        self.must("headroom-plan", *words, "--limit", limit, "-o", path)
        return path

    def hosted(self, plan):
        """Copies the plan and moves kept tensors to host memory, except for those that must be on the device."""
        document = json.loads(plan.read_text())
        on_device = {kept.get("in_place_of") for kept in document["kept"]}
        on_device |= {kept["tensor"] for kept in document["kept"] if "in_place_of" in kept}
        steps = [step for one in document["passes"] for step in one["steps"]]
        on_device |= {read["tensor"] for step in steps if step["kind"] == "attention" for read in step["inputs"]}
        for kept in document["kept"]:
            if kept["tensor"] not in on_device:
                kept["tier"] = "host"
        document["host_limit_bytes"] = 1 << 30
        document["limit_bytes"] *= 2  # blocks occupy the device while they are copied
        path = plan.with_suffix(".hosted.json")
        path.write_text(json.dumps(document))
        return path

    def queue(self, model, extents, limit, ending):
        """Plans a queue of pictures with latents of these rows and columns. `ending` is the suffix of the outputs 0, 1, …"""
        requests = []
        for number, (rows, columns) in enumerate(extents):
            (self.folder / f"{number}.npy").write_bytes(tiny_decode.normal((1, 4, rows, columns), 1.0))
            requests.append({"name": str(number), "width_pixels": 2 * columns, "height_pixels": 2 * rows, "latent": f"{number}.npy",
                             "output": f"{number}.{ending}"})
        document = {"schema": "headroom.requests", "version": 1, "device": "cuda", "requests": requests}
        (self.folder / "requests.json").write_text(json.dumps(document))
        self.must("headroom-plan", "queue", "requests.json", "--model", model, "--limit", limit, "-o", "queue.json")

    def decode_queue(self, model, **options):
        """Decodes the queue into the folder `pictures`."""
        return self.run("headroom-decode", "--queue", "queue.json", "--model", model, "--random-weights", 0, "-o", "pictures", **options)

    def decode(self, case, plan, picture, *words, **options):
        return self.run("headroom-decode", "--plan", plan, "--model", case.model, "--random-weights", 0, "--latent", case.latent,
                        "-o", picture, *words, **options)


def read_npy(path):
    """Returns the shape and values of an fp32 .npy file."""
    data = Path(path).read_bytes()
    length = int.from_bytes(data[8:10], "little")
    header = data[10 : 10 + length].decode()
    extents = tuple(int(word) for word in header[header.index("(") + 1 : header.index(")")].split(",") if word.strip())
    return extents, array("f", data[10 + length :])


def distance(path, reference):
    """Largest difference relative to the reference's largest magnitude. Infinite if shapes differ or a value is not finite."""
    (extents, ours), (expected, theirs) = read_npy(path), read_npy(reference)
    if extents != expected or not all(map(math.isfinite, ours)):
        return math.inf
    return max(abs(a - b) for a, b in zip(ours, theirs)) / max(map(abs, theirs))


def left_behind(report):
    """CUDA objects that the process did not release, by kind."""
    return {key: report[key] for key in LIVE if report.get(key)}


class AirCardTest(unittest.TestCase):
    """Base class. Tests one build's programs, each test in its own temporary folder."""

    BUILD = Path("build")
    LONG = False

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.card = Card(self.BUILD, self.folder)

    def check_clean(self, ended, code=0):
        self.assertEqual(ended.code, code, ended.errors)
        self.assertEqual(ended.report["wrong_uses"], [])
        self.assertEqual(ended.report["calls_after_error"], [])
        self.assertEqual(left_behind(ended.report), {})


def main():
    """Runs the tests of the calling script. `--long` tries all variants."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, default=AirCardTest.BUILD)
    parser.add_argument("--long", action="store_true")
    known, rest = parser.parse_known_args()
    AirCardTest.BUILD, AirCardTest.LONG = known.build.resolve(), known.long
    unittest.main(module="__main__", argv=[sys.argv[0], *rest])
