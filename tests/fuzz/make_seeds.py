"""Writes the inputs that fuzzers start from, small files of each kind, with the programs themselves.

    python3 tests/fuzz/make_seeds.py --bin build/bin

The seeds are checked in. Run this again after a format changes. Inputs that revealed a bug have other names and stay.
"""
import argparse
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data"
sys.path.insert(0, str(HERE.parent / "planner/decode_program"))
import tiny_decode  # noqa: E402

CONFIG = dict(tiny_decode.CONFIG, block_out_channels=[8, 16], norm_num_groups=4)  # matches readers.cpp
REQUESTS = {"schema": "headroom.requests", "version": 1, "model": "vae",
            "requests": [{"name": "a", "width_pixels": 16, "height_pixels": 16, "count": 2, "latent": "latent.npy", "output": "a-{i}.npy"}]}


def safetensors(tensors):
    header, data = {}, b""
    for name, shape in tensors.items():
        count = 1
        for extent in shape:
            count *= extent
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * count]}
        data += struct.pack(f"<{count}f", *[0.25] * count)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=Path, required=True)
    programs = parser.parse_args().bin.resolve()

    def put(reader, name, content):
        folder = HERE / "corpus" / reader
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)

        def run(program, *words, optional=False):
            done = subprocess.run([str(word) for word in (programs / program, *words)], cwd=folder, capture_output=True, text=True,
                                  check=False)
            if done.returncode and not optional:
                sys.exit(f"{program} {words}: {done.stderr}")
            return done.returncode == 0

        (folder / "vae").mkdir()
        (folder / "vae/config.json").write_text(json.dumps(CONFIG))
        (folder / "latent.npy").write_bytes(tiny_decode.normal((1, 4, 8, 8)))
        size = ["--model", "vae", "--size", "16x16"]
        run("headroom-plan", *size, "--limit", "64MiB", "-o", "plan.json")
        run("headroom-plan", *size, "--ranks", "2", "--limit", "64MiB", "-o", "ranked.json")
        run("headroom-plan", "frontier", *size, "--points", "4", "-o", "frontier.json")
        run("headroom-decode", "--plan", "plan.json", "--model", "vae", "--random-weights", "0", "--latent", "latent.npy", "-o",
            "o.npy", "--stats", "stats.json", "--trace", "trace.json")
        for kind in ("png", "jpg", "webp"):
            run("headroom-decode", "--plan", "plan.json", "--model", "vae", "--random-weights", "0", "--latent", "latent.npy", "-o", f"small.{kind}")
            put("picture", f"small.{kind}", (folder / f"small.{kind}").read_bytes())
        (folder / "requests.json").write_text(json.dumps(REQUESTS))
        run("headroom-plan", "queue", "requests.json", "--limit", "64MiB", "-o", "queue.json")
        if (programs / "headroom-profile").exists():
            run("headroom-profile", "--model", "vae", "--random-weights", "0", "--sizes", "16x16,32x16", "--accept-noise", "-o", "profile.json")
            put("profile", "small.json", (folder / "profile.json").read_bytes())
        for reader, name in (("plan", "plan.json"), ("plan", "ranked.json"), ("stats", "stats.json"),
                             ("trace", "trace.json"), ("frontier", "frontier.json"), ("requests", "requests.json"),
                             ("requests", "queue.json")):
            if (folder / name).exists():
                put(reader, name, (folder / name).read_bytes())
        put("npy", "small.npy", tiny_decode.npy([0.5] * 4, (1, 4, 1, 1)))
    put("config", "small.json", json.dumps(CONFIG))
    for config in sorted((DATA / "golden").rglob("config.json"))[:12]:
        put("config", f"{config.parent.name}.json", config.read_bytes())
    put("safetensors", "two.safetensors", safetensors({"a": [2, 2], "latent_tensor": [1, 4, 1, 1]}))
    put("index", "small.json", json.dumps({"metadata": {"total_size": 16}, "weight_map": {"decoder.conv_in.weight": "a.safetensors"}}))
    for file in sorted((DATA / "torch").glob("*.pt")):
        if file.stat().st_size < 20_000:
            put("torch", file.name, file.read_bytes())
    for file in sorted([*(DATA / "pickles").glob("*"), *(DATA / "memory_histories").glob("*.pickle")]):
        if file.is_file() and file.stat().st_size < 60_000:
            put("snapshot", file.name, file.read_bytes())


if __name__ == "__main__":
    main()
