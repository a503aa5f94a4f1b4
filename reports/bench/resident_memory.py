"""Growth of a Python process's resident memory in first and second decodes, polled from outside, against the limit.

  PYTHONPATH=build/python:tests/planner/python build/venv/bin/python reports/bench/resident_memory.py
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20
KL = {"block_out_channels": (64, 128, 128), "layers_per_block": 2, "down_block_types": ("DownEncoderBlock2D",) * 3,
      "up_block_types": ("UpDecoderBlock2D",) * 3}  # fmt: skip
CASES = {  # maker in tiny.py, its config, latent, options, limit in MiB
    "KL 64/128/128, 96×80": ("kl", KL, (1, 4, 96, 80), {}, 64),
    "the same, batch of 3, 64×64": ("kl", KL, (3, 4, 64, 64), {}, 72),
    "the same, release=True": ("kl", KL, (1, 4, 96, 80), {"release": True}, 64),
    "the same, scratch": ("kl", KL, (1, 4, 96, 80), {"scratch": True}, 24),
    "the same, limit with ease": ("kl", KL, (1, 4, 96, 80), {}, 400),
    "KL 32/64, 24×24": ("kl", {}, (1, 4, 24, 24), {}, 8),
    "KL 32/64, 128×128": ("kl", {}, (1, 4, 128, 128), {}, 24),
    "Wan base 32, 4×32×40": ("wan", {"base_dim": 32}, (1, 16, 4, 32, 40), {}, 96),
    "Wan base 8, 11×30×52": ("wan", {}, (1, 16, 11, 30, 52), {}, 64),
    "Wan 2.2, 3×16×16": ("wan22", {}, (1, 4, 3, 16, 16), {}, 40),
    "DC-AE, 16×16": ("dc", {}, (1, 4, 16, 16), {}, 40),
    "TAESD, 64×64": ("autoencoder_tiny", {}, (1, 4, 64, 64), {}, 40),
}


def resident(pid: int) -> int:
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def decode(name: str) -> None:
    """The child: says when each decode begins and ends, and waits to be answered."""
    import headroom
    import tiny
    import torch

    torch.set_grad_enabled(False)
    make, config, shape, options, limit = CASES[name]
    vae = getattr(tiny, make)(**config)
    with tempfile.TemporaryDirectory() as folder:
        if options.get("scratch"):
            options = {**options, "scratch": folder}
        handle = headroom.enable(vae, limit=limit * MIB, **options)
        z = torch.randn(shape)
        for _ in range(2):
            print("begin", flush=True)
            input()
            vae.decode(z)
            print("end", handle.last.predicted_peak_bytes, flush=True)
            input()


def measured(name: str) -> list[dict]:
    """Of the first and the second decode: the limit, what was predicted, and by how much the process grew at the most."""
    child = subprocess.Popen([sys.executable, __file__, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    os.set_blocking(child.stdout.fileno(), False)
    rows: list[dict] = []
    while len(rows) < 2:
        while child.stdout.readline() != "begin\n":
            time.sleep(0.01)
            if child.poll() is not None:
                raise SystemExit(f"{name}: the decode ended with {child.returncode}")
        before, most, line = resident(child.pid), 0, ""
        child.stdin.write("\n")
        while not line.startswith("end"):
            most = max(most, resident(child.pid))
            time.sleep(0.001)
            line = child.stdout.readline()
        rows.append({"predicted_bytes": int(line.split()[1]), "growth_bytes": most - before})
        child.stdin.write("\n")
    child.wait()
    return rows


def main() -> None:
    rows = {name: measured(name) for name in CASES}
    lines = ["| case | limit | predicted | first decode | second |", "|---|---|---|---|---|"]
    for name, (first, second) in rows.items():
        cells = [f"{number / MIB:.1f}" for number in (first["predicted_bytes"], first["growth_bytes"], second["growth_bytes"])]
        lines.append(f"| {name} | {CASES[name][4]} | {' | '.join(cells)} |")
    print("\n".join(["# Resident memory in Python against the limit", "", "MiB. The process is polled every millisecond from outside.", "", *lines]))
    print(json.dumps(rows), file=sys.stderr)


if __name__ == "__main__":
    decode(sys.argv[1]) if len(sys.argv) > 1 else main()
