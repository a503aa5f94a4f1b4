#!/usr/bin/env python3
"""The same mix of changing sizes twice in one process: as it arrives through the ordinary allocator, and as a planned queue.

    python reports/bench/queue_growth.py --model tests/data/demo_model --limit 192MiB -o reports/results/queue-cpu.md

As it arrives: diffusers, untiled, request by request. Planned: headroom-plan queue, then headroom-decode --queue. Each
has a latent of its own. Expected of the queue: one pool allocation, no growth of the pool, at most 16 MiB of growth of other
process memory once each shape was seen, everything within the limit, and each result equal bit for bit to a run of the same
plan by itself. Ends with 1 otherwise.
"""

import argparse
import json
import random
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import measure
from measure import BIN, MIB, mib

SIZES = "256x256,384x384,256x512,512x320,320x448,640x384"
MOST_OUTSIDE = 16 * MIB


def mix(args: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """The sizes in turn, then at random, so that neighbours seldom agree."""
    sizes = [measure.parse_size(size) for size in args.sizes.split(",")]
    draw = random.Random(args.seed)
    requests = []
    for i in range(args.requests):
        width, height = sizes[i] if i < len(sizes) else draw.choice(sizes)
        latent = measure.write_random_latent(args.model, (width, height), 1000 * args.seed + i, folder / f"latent-{i}.npy")
        requests.append({"name": f"request {i + 1}", "width_pixels": width, "height_pixels": height, "latent": latent.name,
                         "output": f"picture-{i}.npy"})
    return requests


def write_requests(requests: list[dict[str, Any]], folder: Path) -> Path:
    file = folder / "requests.json"
    file.write_text(json.dumps({"schema": "headroom.requests", "version": 1, "requests": requests}))
    return file


def size_of(request: dict[str, Any]) -> str:
    return f"{request['width_pixels']}x{request['height_pixels']}"


def weights(args: argparse.Namespace) -> list[str]:
    return ["--random-weights", str(args.random_weights)] if args.random_weights is not None else []


def processor_seconds() -> float:
    """Of all children so far. Unlike the clock, it does not depend on what else the machine is doing."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def as_it_arrives(args: argparse.Namespace, requests_file: Path) -> list[dict[str, Any]]:
    script = str(Path(__file__).with_name("reference_queue.py"))
    out = measure.run([sys.executable, script, str(requests_file), "--model", args.model, "--threads", str(args.threads),
                       "--dtype", args.dtype, "--device", args.device] + weights(args))
    return json.loads(out.splitlines()[-1])


def planned(args: argparse.Namespace, requests_file: Path, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The queue and the statistics of its run."""
    queue_file, stats_file = folder / "queue.json", folder / "stats.json"
    on_device = measure.on_device(args.device)
    measure.run([str(args.programs / "headroom-plan"), "queue", str(requests_file), "--model", args.model, "--limit", str(args.limit),
                 "--dtype", args.dtype, "-o", str(queue_file), *on_device] + (["--profile", args.profile] if args.profile else []))
    measure.run([str(args.programs / "headroom-decode"), "--queue", str(queue_file), "--model", args.model, "--stats", str(stats_file),
                 "--threads", str(args.threads), "--quiet", *on_device] + weights(args))
    return json.loads(queue_file.read_text()), json.loads(stats_file.read_text())


def equal_alone(args: argparse.Namespace, queue: dict[str, Any], decodes: list[dict[str, Any]], folder: Path) -> int:
    """How many of the decodes' results equal a run of the same plan in a process of its own, bit for bit."""
    equal = 0
    for decode in decodes:
        request = queue["requests"][decode["request"]]
        plan = folder / "plan.json"
        plan.write_text(json.dumps(queue["plans"][decode["plan"]]))
        measure.headroom_decode(args.model, plan, folder / request["latent"], folder / "alone.npy", args.random_weights, args.threads,
                                args.programs, measure.on_device(args.device))
        equal += np.load(folder / "alone.npy").tobytes() == np.load(folder / request["output"]).tobytes()
    return equal


def growth_where_seen(stats: dict[str, Any]) -> int:
    """The sum of what decodes of a shape that had been seen before added to other process memory."""
    seen, growth, before = set(), 0, 0
    for decode in stats["decodes"]:
        if decode["plan"] in seen:
            growth += max(0, decode["outside_growth_bytes"] - before)
        seen.add(decode["plan"])
        before = decode["outside_growth_bytes"]
    return growth


def tables(result: dict[str, Any]) -> str:
    rows = [["", "as it arrives", "peak", "resident after", "planned", "peak", "resident after"]]
    for i, (arrived, decode) in enumerate(zip(result["as_it_arrives"], result["planned"])):
        rows.append([str(i + 1), arrived["size"], mib(arrived["peak_bytes"]), mib(arrived["resident_bytes"]),
                     decode["size"], mib(decode["peak_bytes"]), mib(decode["resident_bytes"])])
    summary = [["", "as it arrives", "planned"]]
    arrived, decodes = result["as_it_arrives"], result["planned"]
    for title, key, choose in (("highest peak", "peak_bytes", max), ("resident after the last", "resident_bytes", lambda all: all[-1]),
                               ("growth of that after the first", "resident_bytes", lambda all: all[-1] - all[0])):
        summary.append([title, *(mib(choose([each[key] for each in side])) for side in (arrived, decodes))])
    summary.append(["processor time, start to end", *(f"{result['processor_seconds'][key]:.1f} s" for key in ("as_it_arrives", "planned"))])
    return measure.markdown_table(summary) + "\n" + measure.markdown_table(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measure.add_run_arguments(parser, model="tests/data/demo_model")
    parser.add_argument("--sizes", default=SIZES, help="pixels, default: %(default)s")
    parser.add_argument("--requests", type=int, default=30, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="of the mix and the latents, default: %(default)s")
    parser.add_argument("--limit", type=measure.parse_bytes, default="192MiB", help="default: %(default)s")
    args = measure.parse_run_arguments(parser)
    args.device, args.dtype, args.programs = "cpu", "fp32", BIN

    header = measure.result_header()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        requests = mix(args, folder)
        requests_file = write_requests(requests, folder)
        measure.note(f"{len(requests)} requests as they arrive")
        start = processor_seconds()
        arrived = as_it_arrives(args, requests_file)
        between = processor_seconds()
        measure.note(f"highest peak {mib(max(each['peak_bytes'] for each in arrived))}; planned")
        queue, stats = planned(args, requests_file, folder)
        seconds = {"as_it_arrives": between - start, "planned": processor_seconds() - between}
        measure.note(f"highest peak {mib(stats['peak_bytes'])}; each plan by itself")
        equal = equal_alone(args, queue, queue["order"], folder)

    for each, request in zip(arrived, requests):
        each["size"] = size_of(request)
    decodes = []
    for each in stats["decodes"]:
        decodes.append({"name": each["name"], "size": size_of(requests[each["request"]]), "seconds": each["seconds"],
                        "peak_bytes": each["peak_bytes"], "resident_bytes": each["resident_bytes"] - stats["resident_before_bytes"],
                        "outside_growth_bytes": each["outside_growth_bytes"]})
    figures = ("limit_bytes", "predicted_peak_bytes", "peak_bytes", "rss_growth_bytes", "pool_allocations", "pool_growth_bytes",
               "outside_growth_after_warmup_bytes")
    seen = growth_where_seen(stats)
    outside = max(stats["outside_growth_after_warmup_bytes"], seen)
    checks = {"one_pool_allocation": stats["pool_allocations"] == 1, "no_pool_growth": stats["pool_growth_bytes"] == 0,
              "little_outside": outside <= MOST_OUTSIDE, "within_limit": measure.held(stats), "equal_alone": equal == len(requests)}
    result = {"processor_seconds": seconds, "as_it_arrives": arrived, "planned": decodes, "pool_bytes": queue["pool_bytes"],
              **{key: stats[key] for key in figures}, "outside_growth_where_seen_bytes": seen, "equal_alone": equal, "checks": checks}

    title = f"A queue of {len(requests)} mixed requests, {Path(args.model).name}, fp32, {args.threads} threads"
    markdown = measure.markdown_header(title, header) + tables(result)
    markdown += (f"\nResident sizes are growth of VmRSS since the libraries were loaded, peaks of VmHWM; weights are part of both. As it "
                 f"arrives: diffusers, untiled,\none process, glibc's allocator. Planned: `headroom-decode --queue` under "
                 f"{mib(stats['limit_bytes'])}, predicted peak {mib(stats['predicted_peak_bytes'])}, largest need first; a "
                 f"decode's peak is the pool's\nlive bytes at their highest and the growth of other process memory.\n\n"
                 f"- Pool: {stats['pool_allocations']} allocation of addresses, {mib(stats['pool_growth_bytes'])} of growth after the first decode.\n"
                 f"- Other process memory: {stats['outside_growth_after_warmup_bytes'] / MIB:.1f} MiB of growth once each shape was seen; "
                 f"{seen / MIB:.1f} MiB in all decodes of a shape that had been seen.\n"
                 f"- {equal} of {len(requests)} results equal a run of the same plan in a process of its own, bit for bit.\n"
                 f"- {'All as expected' if all(checks.values()) else 'NOT as expected: ' + ', '.join(k for k, ok in checks.items() if not ok)}.\n")
    measure.publish(args.output, markdown)
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    measure.run_main(main)
