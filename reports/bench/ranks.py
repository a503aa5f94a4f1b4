#!/usr/bin/env python3
"""One latent decoded by several ranks: by Headroom, and by DistVAE 0.1.0, beside diffusers alone. All under Gloo on this machine.

    python reports/bench/ranks.py -o reports/results/ranks.json
    python reports/bench/ranks.py --cases uneven --ranks 2 --limits 2GiB -o uneven.json

SDXL's decoder with seeded random weights in fp32. Every run is fresh processes of one thread each, started by torchrun. CASES has
the latents: even noise, two halves that differ in mean and spread, rows and columns that do not divide, fewer rows than ranks.

    error     largest difference from diffusers alone, of the reference's largest magnitude
    above     growth of resident memory above the weights, of each rank; of Headroom its own peak, which has all that the system saw
    sent      payload bytes that each rank sends: of Headroom its own count (--stats), of theirs by the rules of counted_exchange.py
    time      of the decode alone, weights in place, against diffusers with one thread in the same round: of the slowest rank, or of Headroom's
              passes, at whose ends ranks wait for one another

More ranks than cores take turns: times then say little, the other figures what they say elsewhere. A contender that fails has its
message as the result. Ends with 1 where Headroom fails, its error passes 1e-4, or a rank passes its limit or sends other bytes than
its plan says.
"""

import argparse
import hashlib
import importlib.metadata
import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Callable, NamedTuple

import numpy as np

import measure
from measure import EXACT, MIB, Run, spread

sys.path.insert(0, str(measure.ROOT / "tests" / "reference"))
from random_weights import random_latent  # noqa: E402

MODEL, SEED = "sdxl", 0
MOST_SECONDS = 600


class Case(NamedTuple):
    size: tuple[int, int]
    latent: Callable[[tuple[int, ...]], np.ndarray]
    what: str


def noise(shape: tuple[int, ...]) -> np.ndarray:
    return random_latent(shape, SEED)


def differing_halves(shape: tuple[int, ...]) -> np.ndarray:
    """The upper half as drawn, the lower with a third of its spread and another mean: parts of a picture are like that."""
    latent = noise(shape)
    latent[:, :, shape[2] // 2 :] = latent[:, :, shape[2] // 2 :] / 3 + 2
    return latent


CASES = {
    "even": Case((512, 512), noise, "noise"),
    "uneven": Case((512, 512), differing_halves, "noise whose halves differ in mean and spread"),
    "odd": Case((520, 456), differing_halves, "57 × 65 latent positions, halves differ"),
    "few-rows": Case((512, 24), noise, "3 latent rows"),
}


# Contenders: figures by rank, and picture.npy in the folder; or {"failed": message} ------------------------------------

class Task(NamedTuple):
    size: tuple[int, int]
    latent: Path
    folder: Path
    weights_bytes: int  # of the model: 0 until the reference has told



def torchrun(ranks: int, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Ranks of one thread each, on a free port."""
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), *command]
    return subprocess.run(words, capture_output=True, text=True, timeout=MOST_SECONDS)


def diffusers_alone(task: Task) -> Run:
    run = measure.diffusers_decode(MODEL, task.latent, task.folder / "picture.npy", SEED, threads=1)
    return {"seconds": run["seconds"], "above_bytes": [run["peak_above_weights_bytes"]], "sent_bytes": [0],
            "weights_bytes": run["weights_bytes"]}


def distvae(ranks: int, averaged: bool, task: Task) -> Run:
    script = str(Path(__file__).with_name("distvae_rank.py"))
    words = ["--model", MODEL, "--random-weights", str(SEED), "--latent", str(task.latent), "--folder", str(task.folder)]
    done = torchrun(ranks, [script, *words, *(["--averaged-variances"] if averaged else [])])
    figures = [json.loads(file.read_text()) for file in sorted(task.folder.glob("rank-*.json"))]
    failures = [each["failed"] for each in figures if "failed" in each]
    if failures or done.returncode != 0:
        return {"failed": failures[0] if failures else done.stderr.strip().splitlines()[-1], "failed_ranks": len(failures)}
    return {"seconds": max(each["seconds"] for each in figures), "calls": figures[0]["calls"],
            "above_bytes": [each["peak_above_weights_bytes"] for each in figures],
            "sent_bytes": [each["sent_bytes"] for each in figures]}


def ranked_plan(size: tuple[int, int], ranks: int, limit: str, file: Path) -> Run:
    """What the plan of so many ranks predicts. Raises measure.DoesNotFit."""
    measure.run([str(measure.BIN / "headroom-plan"), "--model", MODEL, "--size", f"{size[0]}x{size[1]}", "--limit", limit,
                 "--ranks", str(ranks), "-o", str(file)])
    plan = json.loads(file.read_text())
    return {"limit_bytes": measure.parse_bytes(limit), "predicted_peak_bytes": [each["plan"]["predicted"]["peak_bytes"] for each in plan["ranks"]],
            "predicted_sent_bytes": [sum(each["sent"].values()) for each in plan["ranks"]], "passes": len(plan["ranks"][0]["plan"]["passes"])}


def headroom(ranks: int, limit: str, task: Task) -> Run:
    plan_file, stats_file = task.folder / "plan.json", task.folder / "stats.json"
    try:
        plan = ranked_plan(task.size, ranks, limit, plan_file)
    except measure.DoesNotFit as refusal:
        return {"failed": str(refusal), "limit_bytes": measure.parse_bytes(limit)}
    done = torchrun(ranks, ["--no-python", str(measure.BIN / "headroom-decode"), "--plan", str(plan_file), "--model", MODEL,
                            "--random-weights", str(SEED), "--latent", str(task.latent), "-o", str(task.folder / "picture.npy"),
                            "--stats", str(stats_file), "--threads", "1", "--quiet"])
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.startswith("headroom-decode")]
        return {"failed": (said or done.stderr.strip().splitlines())[-1], **plan}
    whole = json.loads(stats_file.read_text())
    stats = whole["ranks"]
    return {"seconds": sum(each["seconds"] for each in whole["passes"]), "seconds_with_weights": max(rank["seconds"] for rank in stats),
            "peak_bytes": [rank["peak_bytes"] for rank in stats],
            "above_bytes": [max(0, rank["peak_bytes"] - task.weights_bytes) for rank in stats],
            "sent_bytes": [rank["sent_bytes"] for rank in stats], **plan}


# Rounds ---------------------------------------------------------------------------------------------------------------

def contenders(args: argparse.Namespace) -> dict[str, Callable[[Task], Run]]:
    """By name; the first is the reference."""
    runs: dict[str, Callable[[Task], Run]] = {"diffusers alone": diffusers_alone}
    runs[f"variances averaged, {args.ranks[0]} ranks"] = partial(distvae, args.ranks[0], True)
    for ranks in args.ranks:
        runs[f"DistVAE, {ranks} ranks"] = partial(distvae, ranks, False)
        runs |= {f"Headroom, {ranks} ranks, {limit} each": partial(headroom, ranks, limit) for limit in args.limits}
    return runs


def judged(run: Run, folder: Path, reference: np.ndarray | None) -> np.ndarray | None:
    """Adds to the run how its picture compares; returns the picture."""
    if "failed" in run:
        return None
    picture = np.load(folder / "picture.npy")
    run["picture"] = hashlib.sha256(picture.tobytes()).hexdigest()[:16]
    if reference is not None:
        run.update(measure.compare(picture, reference))
    return picture


def run_case(args: argparse.Namespace, name: str, scratch: Path) -> list[dict[str, Run]]:
    """For each round each contender's run."""
    case, latent = CASES[name], scratch / f"{name}.npy"
    np.save(latent, case.latent(measure.latent_shape(MODEL, case.size)))
    rounds: list[dict[str, Run]] = []
    for number in range(args.rounds):
        reference, weights_bytes = None, 0
        entry: dict[str, Run] = {}
        for contender, decode in contenders(args).items():
            folder = scratch / f"{name}-{number}-{len(entry)}"
            folder.mkdir()
            run = entry[contender] = decode(Task(case.size, latent, folder, weights_bytes))
            picture = judged(run, folder, reference)
            if reference is None:
                reference, weights_bytes = picture, run["weights_bytes"]
            measure.note(f"{name}, {contender}: " + (run.get("failed") or f"{run['seconds']:.1f} s, error {run.get('largest_error_relative', 0):.1e}"))
        rounds.append(entry)
    return rounds


def row_of(case: str, name: str, rounds: list[dict[str, Run]]) -> Run:
    runs = [each[name] for each in rounds]
    row: Run = {"case": case, "name": name, **{key: runs[0][key] for key in runs[0] if key.startswith(("predicted", "limit", "calls", "passes"))}}
    failed = [run for run in runs if "failed" in run]
    if failed:
        return row | {"failed": failed[0]["failed"], "failed_ranks": failed[0].get("failed_ranks")}
    reference = next(iter(rounds[0]))
    row |= {"seconds": spread([run["seconds"] for run in runs]), "sent_bytes": runs[0]["sent_bytes"],
            "time_ratio": spread([each[name]["seconds"] / each[reference]["seconds"] for each in rounds]) if name != reference else None,
            "above_bytes": [max(run["above_bytes"][rank] for run in runs) for rank in range(len(runs[0]["above_bytes"]))],
            "same_bits_in_all_rounds": len({run["picture"] for run in runs}) == 1 if len(runs) > 1 else None}
    if name != reference:
        row |= {"largest_error_relative": max(run["largest_error_relative"] for run in runs),
                "psnr_db": min((run["psnr_db"] for run in runs if run["psnr_db"] is not None), default=None)}
    if "limit_bytes" in row:
        row["within_limit"] = all(peak <= row["limit_bytes"] for run in runs for peak in run["peak_bytes"])
        row["sent_as_predicted"] = all(run["sent_bytes"] == run["predicted_sent_bytes"] for run in runs)
        row["exact"] = row["largest_error_relative"] <= EXACT
    return row


# The table ------------------------------------------------------------------------------------------------------------

def in_mib(counts: list[int], digits: int = 0) -> str:
    """Of all ranks, the least and the most."""
    least, most = (f"{pick(counts) / MIB:.{digits}f}" for pick in (min, max))
    return f"{least} MiB" if least == most else f"{least}–{most} MiB"


def times(ratio: dict[str, float] | None) -> str:
    if ratio is None:
        return "1"
    return f"{ratio['median']:.2f}" + (f" ({ratio['least']:.2f}–{ratio['most']:.2f})" if ratio["least"] < ratio["most"] else "")


def exchanges(row: Run) -> str:
    return ", ".join(f"{count} {name}" for name, count in row.get("calls", {}).items()) or "–"


def cells(row: Run) -> list[str]:
    if "failed" in row:
        return [row["name"], "failed", "", "", "", ""]
    return [row["name"], f"{row['largest_error_relative']:.1e}" if "largest_error_relative" in row else "–",
            in_mib(row["above_bytes"]), in_mib(row["sent_bytes"], 2), exchanges(row), times(row["time_ratio"])]


def section(name: str, rows: list[Run]) -> str:
    case = CASES[name]
    head = ["decode", "largest error", "above the weights, a rank", "sent, a rank", "calls of a rank", "time"]
    text = f"\n## {case.size[0]}×{case.size[1]}: {case.what}\n\n" + measure.markdown_table([head, *map(cells, rows)])
    failures = [f"- {row['name']}: `{row['failed']}`" for row in rows if "failed" in row]
    return text + ("\nWhat failed said:\n\n" + "\n".join(failures) + "\n" if failures else "")


def notes(args: argparse.Namespace) -> str:
    return (f"{MODEL}, fp32, random weights, one thread a rank, Gloo; {args.rounds} round(s). Errors: of the largest magnitude of diffusers alone. "
            "Times: of the slowest rank, against\ndiffusers alone with one thread in the same round; ranks beyond the machine's cores take turns. "
            "Sent: payload, the least that a rank has to send for\nits calls (`reports/bench/counted_exchange.py` has the rules); of Headroom "
            "its own count. \"Variances averaged\" is DistVAE with the GroupNorm that it had\nuntil 2024: no spread between the ranks' means.\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=lambda text: text.split(","), default=list(CASES), help=f"of {', '.join(CASES)}; default: all")
    parser.add_argument("--ranks", type=lambda text: [int(each) for each in text.split(",")], default=[2, 4], help="default: 2,4")
    parser.add_argument("--limits", type=lambda text: text.split(",") if text else [], default=["2GiB", "240MiB"],
                        help="of each rank of Headroom, default: 2GiB,240MiB; empty for none")
    parser.add_argument("--rounds", type=int, default=2, help="default: %(default)s")
    parser.add_argument("-o", "--output", type=Path, help="the results, .json; the table lies beside it, .md")
    args = parser.parse_args()
    if unknown := set(args.cases) - set(CASES):
        parser.error(f"--cases: expected {', '.join(CASES)}, found {', '.join(sorted(unknown))}")
    header = measure.result_header()
    header["machine"]["distvae"] = importlib.metadata.version("distvae")
    with tempfile.TemporaryDirectory() as scratch:
        rounds = {name: run_case(args, name, Path(scratch)) for name in args.cases}
    rows = [row_of(case, name, of_case) for case, of_case in rounds.items() for name in of_case[0]]
    title = "One picture over several ranks: Headroom and DistVAE"
    text = measure.markdown_header(title, header) + notes(args)
    text += "".join(section(name, [row for row in rows if row["case"] == name]) for name in args.cases)
    measure.publish(args.output, {"title": title, **header, "rows": rows, "rounds": rounds}, text)
    ours = [row for row in rows if "limit_bytes" in row]
    return 0 if all(row.get("exact") and row.get("within_limit") and row.get("sent_as_predicted") for row in ours) else 1


if __name__ == "__main__":
    measure.run_main(main)
