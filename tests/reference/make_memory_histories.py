#!/usr/bin/env python3
"""Writes synthetic memory snapshots of PyTorch's CUDA allocator during decodes.

The snapshots are simulated, so they need no GPU. An allocator like PyTorch's (blocks of 512 bytes, segments of at least 2 MiB,
best fit, splits) serves the tensors of an SDXL-like decoder until memory runs out. The files have the keys of
torch.cuda.memory._snapshot() in PyTorch 2.11, and in its newest format. The expected results are computed here too and written
to the same folder.

    python3 tests/reference/make_memory_histories.py snapshots tests/data/memory_histories
    python3 tests/reference/make_memory_histories.py decodes tests/data/memory_histories
    python3 tests/reference/make_memory_histories.py recordings tests/data/memory_histories  # needs torch and diffusers

`decodes` has two devices with the requests of AutoencoderKL's real layers: 1024x1024 in 16 bits, and 1152x896 in fp32 until
memory runs out. The weights are allocated before the recording. `recordings` record real configs with random weights on a CPU.
"""

import argparse
import functools
import json
import pathlib
import pickle
import re
import tempfile

MIB = 1 << 20
BASE = 0x7F2A00000000
LEAST_BYTES = 1024  # smaller allocations are not recorded
DIFFUSERS = "/site-packages/diffusers/models/"
TORCH = "/site-packages/torch/nn/"


def frame(filename, line, name):
    return {"filename": filename, "line": line, "name": name}


OUTER = [frame(DIFFUSERS + "autoencoders/vae.py", 307, "forward"), frame(TORCH + "modules/module.py", 1776, "_call_impl"),
         frame(DIFFUSERS + "autoencoders/autoencoder_kl.py", 199, "_decode"),
         frame("/home/someone/decode.py", 12, "<module>")]
RESNET = [frame(DIFFUSERS + "resnet.py", 341, "forward"), frame(TORCH + "modules/module.py", 1776, "_call_impl"),
          frame(DIFFUSERS + "unets/unet_2d_blocks.py", 2706, "forward")] + OUTER
CONVOLUTION = [frame("??", 0, "at::native::cudnn_convolution"), frame(TORCH + "modules/conv.py", 548, "_conv_forward"),
               frame(TORCH + "modules/conv.py", 553, "forward"), frame(TORCH + "modules/module.py", 1776, "_call_impl")] + RESNET
NORM = [frame(TORCH + "functional.py", 2954, "group_norm"), frame(TORCH + "modules/normalization.py", 313, "forward")] + RESNET
UPSAMPLE = [frame(TORCH + "functional.py", 4676, "interpolate"), frame(DIFFUSERS + "upsampling.py", 170, "forward"),
            frame(DIFFUSERS + "unets/unet_2d_blocks.py", 2710, "forward")] + OUTER


class OutOfMemory(Exception):
    pass


class Allocator:
    def __init__(self, device_bytes):
        self.free_on_device = device_bytes
        self.segments = []  # [address, bytes, [[address, bytes, asked, frames or None]]]
        self.next = BASE
        self.trace = []
        self.now = 1_700_000_000_000_000

    def note(self, action, address, size, frames):
        self.now += 37
        entry = {"action": action, "addr": address, "size": size, "stream": 0, "time_us": self.now, "frames": frames}
        if action == "oom":
            entry["device_free"] = entry.pop("addr")
        self.trace.append(entry)

    def take(self, size, frames):
        block = (size + 511) // 512 * 512
        fits = [(b[1], s, b) for s in self.segments for b in s[2] if b[3] is None and b[1] >= block]
        if not fits:
            segment = max(20 * MIB if block < 10 * MIB else (block + 2 * MIB - 1) // (2 * MIB) * 2 * MIB, 2 * MIB)
            if segment > self.free_on_device:
                self.release()
            if segment > self.free_on_device:
                self.note("oom", self.free_on_device, size, frames)
                raise OutOfMemory
            self.free_on_device -= segment
            self.segments.append([self.next, segment, [[self.next, segment, 0, None]]])
            self.note("segment_alloc", self.next, segment, frames)
            self.next += segment + 64 * MIB
            return self.take(size, frames)
        _, segment, chosen = min(fits, key=lambda fit: (fit[0], fit[2][0]))
        if chosen[1] - block >= 512:
            at = segment[2].index(chosen)
            segment[2].insert(at + 1, [chosen[0] + block, chosen[1] - block, 0, None])
            chosen[1] = block
        chosen[2], chosen[3] = size, frames
        self.note("alloc", chosen[0], size, frames)
        return chosen

    def release(self):
        """Returns empty segments to the device. The allocator does this before it rejects a request."""
        for segment in [s for s in self.segments if all(b[3] is None for b in s[2])]:
            self.segments.remove(segment)
            self.free_on_device += segment[1]
            self.note("segment_free", segment[0], segment[1], [])

    def give(self, block, frames):
        self.note("free_requested", block[0], block[2], frames)
        self.note("free_completed", block[0], block[2], frames)
        block[2], block[3] = 0, None
        for segment in self.segments:
            blocks = segment[2]
            for i in range(len(blocks) - 1, 0, -1):
                if blocks[i][3] is None and blocks[i - 1][3] is None:
                    blocks[i - 1][1] += blocks.pop(i)[1]

    def snapshot_segments(self):
        segments = []
        for address, size, blocks in self.segments:
            used = [b for b in blocks if b[3] is not None]
            segments.append({
                "device": 0, "address": address, "total_size": size, "allocated_size": sum(b[1] for b in used),
                "active_size": sum(b[1] for b in used), "requested_size": sum(b[2] for b in used), "stream": 0,
                "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
                "blocks": [{"address": b[0], "size": b[1], "requested_size": b[2] if b[3] is not None else 0,
                            "state": "inactive" if b[3] is None else "active_allocated", "frames": b[3] or []}
                           for b in blocks]})
        return segments


def decode(allocator, channels, height, width):
    """Makes the requests of a decoder's blocks: about two tensors at a time, with growing sizes."""
    weights = [allocator.take(9 * channels * channels * 4 + 4, OUTER) for _ in range(6)]
    held = allocator.take(channels * height * width * 4, CONVOLUTION)
    for _ in range(6):
        for _ in range(3):
            normed = allocator.take(channels * height * width * 4 + 100, NORM)
            convolved = allocator.take(channels * height * width * 4, CONVOLUTION)
            allocator.give(normed, NORM)
            allocator.give(held, RESNET)
            held = convolved
        height, width = 2 * height, 2 * width
        larger = allocator.take(channels * height * width * 4, UPSAMPLE)
        allocator.give(held, RESNET)
        held = larger
    return weights


def peak_of(allocator):
    now = most = 0
    live = {}
    for entry in allocator.trace:
        if entry["action"] == "alloc":
            live[entry["addr"]] = entry["size"]
        elif entry["action"] == "free_completed":
            del live[entry["addr"]]
        most = max(most, sum(live.values()))
    return most, sum(live.values())


def write_snapshots(folder):
    allocator = Allocator(600 * MIB)
    try:
        decode(allocator, 128, 32, 32)
    except OutOfMemory:
        pass
    peak, at_end = peak_of(allocator)
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0,
                "expandable_segments": False, "pinned_num_register_threads": 1, "release_lock_on_cudamalloc": False,
                "pinned_use_cuda_host_register": False, "roundup_power2_divisions": {"1": 0, "2": 0}}
    for entry in allocator.trace:
        entry.update(compile_context="N/A", user_metadata="")
    snapshot = {"segments": allocator.snapshot_segments(), "device_traces": [allocator.trace], "allocator_settings": settings,
                "external_annotations": []}
    with open(folder / "torch-2.11.pickle", "wb") as out:
        pickle.dump(snapshot, out, 4)
    # The newest format: pool ids, forward frames, accelerator-independent settings, annotations, and protocol 5.
    settings.update(PYTORCH_ALLOC_CONF="expandable_segments:False", graph_capture_record_stream_reuse=False, per_process_memory_fraction=1.0)
    for entry in allocator.trace:
        entry.update(pool_id=(0, 0), user_metadata="decode", forward_frames=["vae.py:307"])
    snapshot["external_annotations"] = [{"device": 0, "time_us": allocator.now, "stage": "START", "name": "decode"}]
    snapshot["device_traces"] += [[], []]
    with open(folder / "torch-newest.pickle", "wb") as out:
        pickle.dump(snapshot, out, 5)
    # A recording with only the last entries, as with max_entries.
    del snapshot["device_traces"][0][:60]
    with open(folder / "torch-late.pickle", "wb") as out:
        pickle.dump(snapshot, out, 4)
    blocks = [b for s in allocator.snapshot_segments() for b in s["blocks"]]
    free = [b["size"] for b in blocks if b["state"] == "inactive"]
    refused = snapshot["device_traces"][0][-1]
    with open(folder / "expected.json", "w") as out:
        json.dump({"peak_bytes": peak, "allocated_at_end_bytes": at_end,
                   "reserved_at_end_bytes": sum(s["total_size"] for s in snapshot["segments"]),
                   "rounding_at_end_bytes": sum(b["size"] - b["requested_size"] for b in blocks if b["state"] != "inactive"),
                   "largest_free_bytes": max(free), "free_bytes": sum(free), "asked_bytes": refused["size"],
                   "device_free_bytes": refused["device_free"]}, out, indent=1)
        out.write("\n")


BLOCKS = ((512, 512), (512, 512), (512, 256), (256, 128))  # input and output channels of each block


def autoencoder_kl_weights():
    """Numbers of elements of the decoder's parameters."""
    shapes = [512 * 4 * 9, 512, 4 * 4, 4] + 4 * [512 * 512, 512] + [128 * 3 * 9, 3, 128, 128]
    for before, after in ((512, 512), (512, 512)) + tuple(pair for pair in BLOCKS):
        for i in range(3):
            inner = before if i == 0 else after
            shapes += [inner, inner, inner * after * 9, after, after, after, after * after * 9, after]
            shapes += [inner * after, after] if inner != after else []
        shapes += [after * after * 9, after]
    return shapes


def decode_autoencoder_kl(allocator, height, width, element_bytes):
    """Makes the requests of an untiled decode of a latent of this size, in order."""
    def take(channels, side, frames):
        return allocator.take(channels * height * width * side * side * element_bytes, frames)

    def resnet(x, before, after, side):
        normed = take(before, side, NORM)
        inner = take(after, side, CONVOLUTION)
        allocator.give(normed, NORM)
        normed = take(after, side, NORM)
        allocator.give(inner, NORM)
        result = take(after, side, CONVOLUTION)
        allocator.give(normed, NORM)
        if before != after:
            shortcut = take(after, side, CONVOLUTION)
            allocator.give(x, RESNET)
            x = shortcut
        total = take(after, side, RESNET)
        allocator.give(result, RESNET)
        allocator.give(x, RESNET)
        return total

    latent = take(4, 1, OUTER)
    x = take(512, 1, CONVOLUTION)
    allocator.give(latent, OUTER)
    for _ in range(2):
        x = resnet(x, 512, 512, 1)
    side = 1
    for block, (before, after) in enumerate(BLOCKS):
        for i in range(3):
            x = resnet(x, before if i == 0 else after, after, side)
        if block < 3:
            side *= 2
            larger = take(after, side, UPSAMPLE)
            allocator.give(x, UPSAMPLE)
            x = take(after, side, CONVOLUTION)
            allocator.give(larger, UPSAMPLE)
    normed = take(128, side, NORM)
    allocator.give(x, NORM)
    take(3, side, CONVOLUTION)
    allocator.give(normed, NORM)


def write_decodes(folder):
    segments, traces = [], []
    for device, (height, width, element_bytes, device_bytes) in enumerate(((128, 128, 2, 8 << 30), (112, 144, 4, 1500 * MIB))):
        allocator = Allocator(device_bytes)
        for elements in autoencoder_kl_weights():
            allocator.take(elements * element_bytes, [])
        allocator.trace.clear()  # start recording after the weights are allocated
        try:
            decode_autoencoder_kl(allocator, height, width, element_bytes)
        except OutOfMemory:
            pass
        traces.append(allocator.trace)
        segments += [segment | {"device": device} for segment in allocator.snapshot_segments()]
    with open(folder / "autoencoder-kl.pickle", "wb") as out:
        pickle.dump({"segments": segments, "device_traces": traces, "allocator_settings": {}}, out, 4)


def write_recordings(folder):
    import diffusers
    import torch

    torch.manual_seed(0)
    vae = diffusers.AutoencoderKL(
        latent_channels=4, block_out_channels=[128, 256, 512, 512], layers_per_block=2, norm_num_groups=32,
        down_block_types=["DownEncoderBlock2D"] * 4, up_block_types=["UpDecoderBlock2D"] * 4)
    record(vae, torch.randn(1, 4, 32, 48), folder / "sdxl-384x256.pickle")
    record(diffusers.AutoencoderKLWan(), torch.randn(1, 16, 3, 16, 16), folder / "wan2.1-128x128-9-frames.pickle")


def record(vae, latent, file):
    """Decodes on the CPU, and writes the memory events of PyTorch's profiler in the format of a CUDA snapshot."""
    import torch

    with tempfile.TemporaryDirectory() as scratch, torch.no_grad():
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True, with_stack=True) as profile:
            image = vae.decode(latent).sample
        profile.export_chrome_trace(scratch + "/trace.json")
        events = json.load(open(scratch + "/trace.json"))["traceEvents"]
        del image
    with open(file, "wb") as out:
        pickle.dump({"segments": [], "device_traces": [records_of(events)]}, out, 4)


def records_of(events):
    """Converts the profiler events of one thread to allocator records."""
    calls = [event for event in events if event.get("cat") == "python_function" and "diffusers" in event["name"]]
    records, frames, open_calls = [], {}, []
    for event in sorted(calls + [event for event in events if event["name"] == "[memory]"], key=lambda event: (event["ts"], -event.get("dur", 0))):
        open_calls = [call for call in open_calls if call["ts"] + call["dur"] >= event["ts"]]
        if event["name"] != "[memory]":
            open_calls.append(event)
            continue
        size = event["args"]["Bytes"]
        record = {"action": "alloc" if size > 0 else "free_completed", "addr": event["args"]["Addr"], "size": abs(size), "time_us": int(event["ts"])}
        if abs(size) >= LEAST_BYTES:
            names = tuple(call["name"] for call in reversed(open_calls))
            record["frames"] = frames.setdefault(names, [frame_named(name) for name in names])
            records.append(record)
    return records


@functools.cache
def frame_named(text):
    """Parses a frame such as "…/site-packages/diffusers/models/resnet.py(341): forward"."""
    path, line, name = re.fullmatch(r"(.*)\((\d+)\): (.*)", re.sub(r"^.*site-packages/", "", text)).groups()
    return frame(path, int(line), name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["snapshots", "decodes", "recordings"])
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    {"snapshots": write_snapshots, "decodes": write_decodes, "recordings": write_recordings}[arguments.what](arguments.folder)


if __name__ == "__main__":
    main()
