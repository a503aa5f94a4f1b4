#!/usr/bin/env python3
"""What recording costs a decode: the same plan with and without it, in fresh processes, in turns.

    build/venv/bin/python reports/bench/trace_overhead.py -o reports/results/trace-overhead-cpu.json
    python3 reports/bench/trace_overhead.py --device cuda --size 2048x2048 --dtype bf16 --limit 16GiB --programs build/gpu/bin

On the CPU: headroom-decode with and without --trace. On a GPU: headroom-profile --plan, listening to nothing, to LibTorch's allocator,
to each kind of CUPTI's records by itself, and to all, against headroom-decode without any of it.

A ratio is that of one round: neighbours in time are compared, the order turns round from round to round, and the median of the rounds
counts. Seconds are those of the passes; the trace is written after them. Processor seconds are of the whole process, with weights made
and the trace written. Ends with 1 where what is to cost little costs more than --most (not judged by default).
"""

import argparse
import datetime
import json
import os
import resource
import tempfile
from pathlib import Path
from typing import Any

import measure
from measure import Run, mib, spread

BASE = "headroom-decode"
TRACED = "headroom-decode --trace"
WATCH_KINDS = ("kernels", "copies", "memory", "pools", "calls")
UNHEARD = "--watch none"
ALLOCATOR = "--watch allocator"


def variants(device: str) -> list[str]:
    """What is compared, the one without any recording first."""
    if device == "cpu":
        return [BASE, TRACED]
    return [BASE, UNHEARD, ALLOCATOR, *(f"--watch {kind}" for kind in (*WATCH_KINDS, "all"))]


def judged(device: str) -> str:
    """The one that is to cost little."""
    return TRACED if device == "cpu" else ALLOCATOR


def command_of(variant: str, programs: Path, model: str, seed: int, plan: Path, latent: Path, folder: Path, threads: int) -> list[str]:
    watched = variant.startswith("--watch")
    command = [str(programs / ("headroom-profile" if watched else BASE)), "--plan", str(plan), "--model", model, "--random-weights", str(seed),
               "--latent", str(latent), "--threads", str(threads), "--quiet"]
    if watched:
        return [*command, *variant.split(), "-o", str(folder / "trace.json"), "--json"]
    command += ["-o", str(folder / "run.npy"), "--stats", str(folder / "stats.json")]
    return command + (["--trace", str(folder / "trace.json")] if variant == TRACED else [])


def one_run(variant: str, folder: Path, command: list[str]) -> Run:
    """Seconds of the passes, of the process on processors, and how long the trace is."""
    trace = folder / "trace.json"
    trace.unlink(missing_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = measure.run(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    stats = json.loads(said if "--json" in command else (folder / "stats.json").read_text())
    return {"seconds": sum(each["seconds"] for each in stats["passes"]), "peak_bytes": stats["peak_bytes"],
            "processor_seconds": sum(getattr(after, key) - getattr(before, key) for key in ("ru_utime", "ru_stime")),
            "trace_bytes": trace.stat().st_size if trace.exists() else None}


def in_turn(names: list[str], number: int) -> list[str]:
    """The order of a round."""
    return names if number % 2 == 0 else names[::-1]


def rows_of(rounds: list[dict[str, Run]], base_name: str = BASE) -> list[dict[str, Any]]:
    """A line for each variant, over the rounds in which it and the base ran."""
    rows = []
    for name in dict.fromkeys(name for each in rounds for name in each):
        runs = [(each[name], each[base_name]) for each in rounds
                if all(key in each and "error" not in each[key] for key in (name, base_name))]
        if not runs:
            rows.append({"name": name, "error": next((each[name]["error"] for each in rounds if "error" in each.get(name, {})), "not run")})
            continue
        rows.append({"name": name, "rounds": len(runs), "seconds": spread([run["seconds"] for run, _ in runs]),
                     "processor_seconds": spread([run["processor_seconds"] for run, _ in runs]),
                     "ratio": spread([run["seconds"] / base["seconds"] for run, base in runs]),
                     "processor_ratio": spread([run["processor_seconds"] / base["processor_seconds"] for run, base in runs]),
                     "trace_bytes": runs[0][0]["trace_bytes"]})
    rows.sort(key=lambda row: row["name"] != base_name)
    return rows


def faults_of(rows: list[dict[str, Any]], name: str, most: float | None) -> list[str]:
    """What is not as expected: runs that failed, and more than `most` of time for the one that is to cost little."""
    faults = [f"{row['name']}: {row['error']}" for row in rows if "error" in row]
    row = next((row for row in rows if row["name"] == name and "error" not in row), None)
    if row is None:
        return faults or [f"{name}: not run"]
    if most is not None and row["ratio"]["median"] > 1 + most:
        faults.append(f"{name} costs {percent(row['ratio']['median'])}, more than {100 * most:.0f} %")
    return faults


def percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"


def ranged(values: dict[str, float], digits: int = 3) -> str:
    return f"{values['median']:.{digits}g} ({values['least']:.{digits}g}–{values['most']:.{digits}g})"


def ratio_range(values: dict[str, float]) -> str:
    return f"{percent(values['median'])} ({percent(values['least'])} to {percent(values['most'])})"


def table(rows: list[dict[str, Any]]) -> str:
    lines = [["", "seconds of the passes", "more than without", "processor seconds", "more than without", "trace"]]
    for row in rows:
        if "error" in row:
            lines.append([row["name"], row["error"], "", "", "", ""])
            continue
        compared = ["–", "–"] if row["name"] == BASE else [ratio_range(row["ratio"]), ratio_range(row["processor_ratio"])]
        size = "–" if row["trace_bytes"] is None else f"{row['trace_bytes'] / measure.MIB:.1f} MiB"
        lines.append([row["name"], ranged(row["seconds"]), compared[0], ranged(row["processor_seconds"]), compared[1], size])
    return measure.markdown_table(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="sdxl", help="folder in diffusers' layout, or a built-in name, default: %(default)s")
    parser.add_argument("--random-weights", type=int, default=0, metavar="SEED", help="default: %(default)s")
    parser.add_argument("--size", type=measure.parse_size, default=(512, 512), help="default: 512x512")
    parser.add_argument("--limit", type=measure.parse_bytes, default=2 << 30, help="default: 2GiB")
    parser.add_argument("--dtype", default="fp32", choices=("fp32", "bf16", "fp16"), help="default: %(default)s")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="default: %(default)s")
    parser.add_argument("--programs", type=Path, default=measure.BIN, help="default: build/bin")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: all")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--most", type=float, help="end with 1 where --trace, or on a GPU the allocator's events, cost more, such as 0.03")
    parser.add_argument("-o", "--output", type=Path, help="the results, .json; the table lies beside it, .md")
    args = parser.parse_args()

    header = {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"), "machine": measure.machine(args.programs),
              "command": measure.command_line()}
    rounds: list[dict[str, Run]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        latent = measure.write_random_latent(args.model, args.size, 0, folder / "latent.npy")
        plan = measure.make_plan(args.model, args.size, args.limit, folder / "plan.json", dtype=args.dtype, programs=args.programs,
                                 device=args.device)
        commands = {variant: command_of(variant, args.programs, args.model, args.random_weights, folder / "plan.json", latent, folder,
                                        args.threads) for variant in variants(args.device)}
        one_run(BASE, folder, commands[BASE])  # files come into the page cache
        for number in range(args.rounds):
            done: dict[str, Run] = {}
            for variant in in_turn(list(commands), number):
                try:
                    done[variant] = one_run(variant, folder, commands[variant])
                    measure.note(f"{number + 1}/{args.rounds} {variant}: {done[variant]['seconds']:.3f} s, "
                                 f"{done[variant]['processor_seconds']:.2f} s of processors")
                except (RuntimeError, KeyError, ValueError) as error:
                    done[variant] = {"error": str(error)[:160]}
                    measure.note(f"{number + 1}/{args.rounds} {variant}: {error}")
            rounds.append(done)
    rows = rows_of(rounds)
    faults = faults_of(rows, judged(args.device), args.most)
    title = f"What recording costs: {Path(args.model).name}, {args.size[0]}×{args.size[1]}, {args.dtype}"
    said = (f"One plan under {mib(args.limit)}: {plan['passes']} passes, predicted peak {mib(plan['predicted_peak_bytes'])}. {args.threads} threads, "
            f"{args.rounds} rounds in turns, each run a process of its own; median (least–most). Ratios are of one round.\n")
    text = measure.markdown_header(title, header) + table(rows) + "\n" + said + "".join(f"\n- NOT as expected: {fault}" for fault in faults)
    measure.publish(args.output, {"title": title, **header, "plan": plan, "threads": args.threads, "rounds": rounds, "rows": rows,
                                  "faults": faults}, text)
    return 1 if faults else 0


if __name__ == "__main__":
    measure.run_main(main)
