#!/usr/bin/env python3
"""How long decodes take while other programs run: two builds in turn, alone, beside busy loops, and beside PyTorch's threads in one process.

    python reports/bench/busy_machine.py --before FOLDER -o reports/results/busy-machine.json

FOLDER has bin/headroom-decode and python/ of another build, as build/ has. The programs decode plans that one headroom-plan made. `passive` is the
other build with OMP_WAIT_POLICY=passive. In Python an enabled VAE of SDXL's kind decodes, alone and while a second thread runs convolutions of
PyTorch. Rounds alternate between all of them, and figures are medians. Compare them where nothing else runs, or with `nice` below 0.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import measure

MODEL, SIZE = "sdxl", (256, 256)
LIMITS = ("100MiB", "64MiB")
PYTHON_LIMIT = "100MiB"
CONFIG = {"latent_channels": 4, "block_out_channels": (128, 256, 512, 512), "layers_per_block": 2,
          "down_block_types": ("DownEncoderBlock2D",) * 4, "up_block_types": ("UpDecoderBlock2D",) * 4}
BUSY = {0: "", 1: "a busy loop", 2: "two busy loops"}  # by their number


class BusyLoops:
    """So many processes that never wait, while it lives."""

    def __init__(self, number: int):
        self.loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]

    def __enter__(self):
        time.sleep(0.3)

    def __exit__(self, *_):
        for loop in self.loops:
            loop.kill()
            loop.wait()


def serve() -> int:
    """Decodes once for each line of standard input: `alone`, or `torch` beside PyTorch's threads. Prints seconds and PyTorch's calls a second."""
    import diffusers
    import headroom
    import torch

    torch.set_grad_enabled(False)
    torch.manual_seed(0)
    vae = diffusers.AutoencoderKL(**CONFIG)
    handle = headroom.enable(vae, limit=PYTHON_LIMIT)
    z = torch.randn(1, 4, SIZE[1] // 8, SIZE[0] // 8)
    vae.decode(z)
    image, kernel = torch.randn(1, 64, 128, 128), torch.randn(64, 64, 3, 3)
    for line in sys.stdin:
        ends, calls = threading.Event(), [0]

        def convolve(ends=ends, calls=calls):
            while not ends.is_set():
                torch.nn.functional.conv2d(image, kernel, padding=1)
                calls[0] += 1

        beside = threading.Thread(target=convolve) if line.strip() == "torch" else None
        if beside:
            beside.start()
        begin = time.perf_counter()
        vae.decode(z)
        seconds = time.perf_counter() - begin
        ends.set()
        if beside:
            beside.join()
        print(json.dumps([seconds, calls[0] / seconds]), flush=True)
    handle.free()
    return 0


class Served:
    """A process of serve() with the package of one build."""

    def __init__(self, python: Path, **environment: str):
        self.process = subprocess.Popen([sys.executable, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "PYTHONPATH": str(python), **environment})

    def decode(self, how: str) -> list[float]:
        self.process.stdin.write(how + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("a decode in Python failed")
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def decoded(program: Path, plan: Path, latent: Path, folder: Path, **environment: str) -> float:
    stats = folder / "stats.json"
    words = [str(program), "--plan", str(plan), "--model", MODEL, "--random-weights", "0", "--latent", str(latent), "--latent-scale", "none",
             "-o", str(folder / "picture.npy"), "--stats", str(stats), "--quiet"]
    subprocess.run(words, check=True, capture_output=True, env={**os.environ, **environment})
    return json.loads(stats.read_text())["seconds"]


def measured(args: argparse.Namespace, folder: Path) -> dict[tuple[str, str, int], dict[str, list[float]]]:
    """Seconds by what decodes, beside what, the number of busy loops, and build."""
    builds = {"before": (args.before, {}), "passive": (args.before, {"OMP_WAIT_POLICY": "passive"}), "after": (measure.ROOT / "build", {})}
    latent = measure.write_random_latent(MODEL, SIZE, 0, folder / "latent.npy")
    plans = {}
    for limit in LIMITS:
        plans[limit] = folder / f"{limit}.json"
        measure.run([str(measure.BIN / "headroom-plan"), "--model", MODEL, "--size", f"{SIZE[0]}x{SIZE[1]}", "--limit", limit, "-o", str(plans[limit])])
    served = {name: Served(build / "python", **more) for name, (build, more) in builds.items()}
    found: dict[tuple[str, str, int], dict[str, list[float]]] = {}

    def add(key: tuple[str, str, int], build: str, seconds: float):
        found.setdefault(key, {}).setdefault(build, []).append(seconds)

    for _ in range(args.runs):
        for loops in BUSY:
            with BusyLoops(loops):
                for name, (build, more) in builds.items():
                    for limit, plan in plans.items():
                        add((f"program, {limit}", "", loops), name, decoded(build / "bin" / "headroom-decode", plan, latent, folder, **more))
                    add((f"Python, {PYTHON_LIMIT}", "", loops), name, served[name].decode("alone")[0])
                    if loops < 2:
                        seconds, calls = served[name].decode("torch")
                        add((f"Python, {PYTHON_LIMIT}", "PyTorch's threads", loops), name, seconds)
                        add(("PyTorch's calls a second meanwhile", "PyTorch's threads", loops), name, calls)
    for each in served.values():
        each.end()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="build folder of the other build")
    parser.add_argument("--runs", type=int, default=5, help="rounds, default: %(default)s")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", type=Path, help="the results, .json; the table lies beside it, .md")
    args = parser.parse_args()
    if args.serve:
        return serve()
    if args.before is None:
        parser.error("--before: expected the build folder of another build")
    header = measure.result_header()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(args, Path(folder))
    rows = [{"what": what, "beside": beside, "busy_loops": loops, **{name: measure.spread(values) for name, values in of.items()}}
            for (what, beside, loops), of in found.items()]

    def cells(row: dict) -> list[str]:
        beside = ", ".join(filter(None, [row["beside"], BUSY[row["busy_loops"]]])) or "nothing"
        unit = "" if "calls" in row["what"] else " s"
        figures = [f"{row[name]['median']:.2f}{unit} ({row[name]['least']:.2f}–{row[name]['most']:.2f})" for name in ("before", "passive", "after")]
        return [row["what"], beside, *figures]

    title = "Decodes on a busy machine"
    table = measure.markdown_table([["what decodes", "beside", "before", "before, passive", "after"], *map(cells, rows)])
    markdown = (measure.markdown_header(title, header) + table +
                f"\nMedians of {args.runs} alternating rounds, with the least and the most. {MODEL} {SIZE[0]}×{SIZE[1]} in fp32, all processors.\n"
                "A busy loop is a process that never waits, of the same priority as the decodes. `passive` is the build before with\n"
                "OMP_WAIT_POLICY=passive.\n")
    measure.publish(args.output, {"title": title, **header, "rows": rows}, markdown)
    return 0


if __name__ == "__main__":
    measure.run_main(main)
