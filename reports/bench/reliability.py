"""Counts what does not happen: decodes that are killed at random instants leave no partial output, many mixed decodes in one
process do not grow it, and calls of the system that are refused end no program by a signal, without a word or with a partial output.

    python reports/bench/reliability.py --bin build/bin --out reports/results/reliability.json
"""
import argparse
import json
import platform
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / folder) for folder in ("tests/decoder/program", "tests/faults")]
import faults  # noqa: E402
import tiny_decode  # noqa: E402

FORMATS = ("npy", "png", "safetensors", "jpg")


def decode_line(programs, folder, output):
    words = ["--limit", "8MiB", "--model", folder / "vae", "--random-weights", "0", "--threads", "2", "--latent",
             folder / "latent.npy", "-o", output, "--quiet"]
    return [str(word) for word in (programs / "headroom-decode", *words)]


def is_whole(output, expected):
    return output.read_bytes() == expected


def kills(programs, count, seed):
    """Decodes that SIGKILL, SIGTERM, SIGINT or SIGHUP ends anywhere between start and end."""
    chance = random.Random(seed)
    ends = {"killed": 0, "done": 0, "partial_outputs": 0, "left_behind_after_signal": 0, "left_behind_after_next": 0}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tiny_decode.write_in(folder, (1, 4, 96, 96))
        inputs = {path.name for path in folder.iterdir()}
        whole, seconds = {}, 0.0
        for name in FORMATS:
            output = folder / f"picture.{name}"
            began = time.monotonic()
            subprocess.run(decode_line(programs, folder, output), check=True, capture_output=True)
            seconds = max(seconds, time.monotonic() - began)
            whole[name] = output.read_bytes()
            output.unlink()
        for i in range(count):
            name = FORMATS[i % len(FORMATS)]
            output = folder / f"picture.{name}"
            number = chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
            running = subprocess.Popen(decode_line(programs, folder, output), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0, seconds))
            running.send_signal(number)
            ends["killed" if running.wait() != 0 else "done"] += 1
            if output.exists():
                ends["partial_outputs"] += not is_whole(output, whole[name])
                output.unlink()
            left = {path.name for path in folder.iterdir()} - inputs
            ends["left_behind_after_signal"] += bool(left) and number != signal.SIGKILL
            if left:  # what SIGKILL leaves goes with the next decode of the same output
                subprocess.run(decode_line(programs, folder, output), check=True, capture_output=True)
                output.unlink()
                ends["left_behind_after_next"] += bool({path.name for path in folder.iterdir()} - inputs)
    return ends


def soak(programs, count):
    """Mixed sizes, one after another in one process and one pool."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tiny_decode.write_in(folder)
        sizes = [(16, 16), (48, 32), (64, 96), (128, 64), (40, 200)]
        requests = []
        for width, height in sizes:
            latent = f"{width}x{height}.npy"
            (folder / latent).write_bytes(tiny_decode.normal((1, 4, height // 2, width // 2)))
            requests.append({"name": f"{width}x{height}", "width_pixels": width, "height_pixels": height, "count": count // len(sizes),
                             "latent": latent, "output": f"out/{width}x{height}-{{i}}.png"})
        (folder / "requests.json").write_text(json.dumps({"schema": "headroom.requests", "version": 1, "model": "vae",
                                                          "requests": requests}))
        for line in (["headroom-plan", "queue", "requests.json", "--limit", "8MiB", "-o", "queue.json"],
                     ["headroom-decode", "--queue", "queue.json", "--model", "vae", "--random-weights", "0", "--quiet",
                      "--stats", "stats.json"]):
            ended = subprocess.run([str(programs / line[0]), *line[1:]], cwd=folder, capture_output=True, text=True)
            if ended.returncode:
                sys.exit(ended.stderr)
        stats = json.loads((folder / "stats.json").read_text())
        decodes = stats["decodes"]
        files = len(list((folder / "out").iterdir()))
        warm = decodes[len(decodes) // 10]["resident_bytes"]
        return {"decodes": len(decodes), "files": files, "limit_bytes": stats["limit_bytes"], "peak_bytes": stats["peak_bytes"],
                "growth_after_first_tenth_bytes": max(0, max(one["resident_bytes"] for one in decodes[len(decodes) // 10:]) - warm)}


def refusals(programs, allocations, seed):
    """Calls of the system refused in turn, by kind and how: all of each command, but of allocations so many. What is built with the
    tests is beside the programs."""
    tests = programs.parent / "tests"
    gpu = tests / "emulated-gpu-crowded.so"
    ends, found, cases = {}, [], 0
    for result in faults.refuse_all(programs, tests / "refused_calls.so", str(gpu) if gpu.exists() else "",
                                    {"memory": allocations}, seed):
        cases += 1
        found += result["faults"]
        for kind, codes in result["ends"].items():
            of_kind = ends.setdefault(kind, {"refused": 0})
            for code, count in codes.items():
                of_kind["refused"] += count
                of_kind[f"ended_{code}"] = of_kind.get(f"ended_{code}", 0) + count
    return {"commands": cases, "emulated_gpu": gpu.exists(), "allocations_of_each": allocations, "ends": ends, "faults": found}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--decodes", type=int, default=1000)
    parser.add_argument("--refusals", type=int, default=600, help="allocations of each command, drawn (50000: all, but of reports); of all other kinds every call is refused")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    programs = arguments.bin.resolve()
    found = {"machine": platform.machine(), "kills": kills(programs, arguments.kills, arguments.seed),
             "soak": soak(programs, arguments.decodes), "refusals": refusals(programs, arguments.refusals, arguments.seed)}
    text = json.dumps(found, indent=1)
    print(text)
    if arguments.out:
        arguments.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
