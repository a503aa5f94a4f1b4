#!/usr/bin/env python3
"""One latent decoded by several ranks: by Headroom, and by DistVAE 0.1.0, beside diffusers alone. All under Gloo on this machine.

    python reports/bench/ranks.py -o reports/results/ranks.json
    python reports/bench/ranks.py --cases uneven --ranks 1,2 --limits 2GiB -o uneven.json

SDXL's decoder with seeded random weights in fp32. Every run is fresh processes of one thread each, started by torchrun. CASES has
the latents: even noise, two halves that differ in mean and spread, rows and columns that do not divide, fewer rows than ranks.
--limits are those of one rank of Headroom. N ranks get so little that each may use, above the weights, SHARE times the N-th part
of what one rank uses; the weights are those of the model, though Headroom's own may be packed and larger.

    error     largest difference from diffusers alone, and from one rank of the same contender, of the reference's largest magnitude
    above     growth of resident memory above the weights, of each rank; of Headroom its own peak, which has all that the system saw
    sent      payload bytes that each rank sends: of Headroom its own count (--stats), of theirs by the rules of counted_exchange.py
    time      of the decode alone, weights in place, against diffusers with one thread in the same round: of the slowest rank, or of Headroom's
              passes, at whose ends ranks wait for one another

More ranks than cores take turns: times then say little, the other figures what they say elsewhere. A contender that fails has its
message as the result. Ends with 1 where Headroom fails, its error passes 1e-4, or 1e-5 beside one rank, a second decode has other bits,
or a rank passes its predicted peak, uses more than that share, or sends other bytes than its plan says.
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
SHARE = 1.15  # of the N-th part of one rank's bytes above the weights
AS_ONE_RANK = 1e-5  # largest error beside one rank, of the reference's largest magnitude


class Case(NamedTuple):
    size: tuple[int, int]
    latent: Callable[[tuple[int, ...]], np.ndarray]
    what: str
    ranks: tuple[int, ...] = (1, 2, 3, 4)  # of Headroom; one first, as others are compared with it
    theirs: tuple[int, ...] = (1, 2, 4)
    averaged: bool = False  # their former rule, too


def noise(shape: tuple[int, ...]) -> np.ndarray:
    return random_latent(shape, SEED)


def differing_halves(shape: tuple[int, ...]) -> np.ndarray:
    """The upper half as drawn, the lower with a third of its spread and another mean: parts of a picture are like that."""
    latent = noise(shape)
    latent[:, :, shape[2] // 2 :] = latent[:, :, shape[2] // 2 :] / 3 + 2
    return latent


CASES = {
    "uneven": Case((512, 512), differing_halves, "noise whose halves differ in mean and spread", averaged=True),
    "odd": Case((520, 456), differing_halves, "57 latent rows of 65 positions, halves differ", (1, 3, 4), (1, 4)),
    "few-rows": Case((512, 24), noise, "3 latent rows", (1, 2, 4), (2, 4)),
    "even": Case((512, 512), noise, "noise", (2,), (2,), averaged=True),
}


# Contenders: figures by rank, and picture.npy in the folder; or {"failed": message} ------------------------------------

class Task(NamedTuple):
    size: tuple[int, int]
    latent: Path
    folder: Path
    weights_bytes: int  # of the model: 0 until the reference has told


class Contender(NamedTuple):
    decode: Callable[[Task], Run]
    ranks: int = 1
    alone: str | None = None  # the name of what one rank of it is called


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


def ranked_plan(size: tuple[int, int], ranks: int, limit_bytes: int, file: Path) -> Run:
    """What the plan of so many ranks predicts. Raises measure.DoesNotFit."""
    measure.run([str(measure.BIN / "headroom-plan"), "--model", MODEL, "--size", f"{size[0]}x{size[1]}", "--limit", str(limit_bytes),
                 "--ranks", str(ranks), "-o", str(file)])
    plan = json.loads(file.read_text())
    each_plan = [each["plan"] for each in plan["ranks"]]
    return {"limit_bytes": limit_bytes, "predicted_peak_bytes": [each["predicted"]["peak_bytes"] for each in each_plan],
            "predicted_sent_bytes": [sum(each["sent"].values()) for each in plan["ranks"]], "passes": len(each_plan[0]["passes"]),
            "weights_residency": each_plan[0]["weights"], "packed_weights_bytes": each_plan[0]["weights_bytes"]}


def limit_of_each(task: Task, ranks: int, limit: str, file: Path) -> int:
    """Of one rank the limit as given. Of more, what leaves each SHARE times its part of what one rank is predicted to use."""
    limit_bytes = measure.parse_bytes(limit)
    if ranks == 1:
        return limit_bytes
    of_one = ranked_plan(task.size, 1, limit_bytes, file)["predicted_peak_bytes"][0]
    return task.weights_bytes + int(SHARE * (of_one - task.weights_bytes) / ranks)


def ranks_decode(ranks: int, plan_file: Path, task: Task) -> Run:
    """One decode by the plan. Raises RuntimeError with what the program said."""
    stats_file = task.folder / "stats.json"
    done = torchrun(ranks, ["--no-python", str(measure.BIN / "headroom-decode"), "--plan", str(plan_file), "--model", MODEL,
                            "--random-weights", str(SEED), "--latent", str(task.latent), "-o", str(task.folder / "picture.npy"),
                            "--stats", str(stats_file), "--threads", "1", "--quiet"])
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.startswith("headroom-decode")]
        raise RuntimeError((said or done.stderr.strip().splitlines() or ["no message"])[-1])
    stats = json.loads(stats_file.read_text())
    return {"seconds": sum(each["seconds"] for each in stats["passes"]), "ranks": stats["ranks"],
            "picture": hashlib.sha256((task.folder / "picture.npy").read_bytes()).hexdigest()}


def headroom(ranks: int, limit: str, task: Task) -> Run:
    """Two decodes, for their bits; the faster one's time, the higher one's peak."""
    plan_file = task.folder / "plan.json"
    try:
        plan = ranked_plan(task.size, ranks, limit_of_each(task, ranks, limit, plan_file), plan_file)
        twice = [ranks_decode(ranks, plan_file, task) for _ in range(2)]
    except RuntimeError as failure:
        return {"failed": str(failure), "limit_bytes": measure.parse_bytes(limit)}
    peaks = [max(each["ranks"][rank]["peak_bytes"] for each in twice) for rank in range(ranks)]
    sent = [[rank["sent_bytes"] for rank in each["ranks"]] for each in twice]
    return {"seconds": min(each["seconds"] for each in twice), "peak_bytes": peaks,
            "above_bytes": [max(0, peak - task.weights_bytes) for peak in peaks], "sent_bytes": sent[0],
            "same_bits_again": twice[0]["picture"] == twice[1]["picture"] and sent[0] == sent[1], **plan}


# Rounds ---------------------------------------------------------------------------------------------------------------

def contenders(args: argparse.Namespace, case: Case) -> dict[str, Contender]:
    """By name; the first is the reference. One rank of each comes before more of it."""
    runs = {"diffusers alone": Contender(diffusers_alone)}
    if case.averaged:
        runs["variances averaged, 2 ranks"] = Contender(partial(distvae, 2, True), 2)
    for ranks in args.ranks or sorted({*case.ranks, *case.theirs}):
        number = "1 rank" if ranks == 1 else f"{ranks} ranks"
        if args.ranks or ranks in case.theirs:
            runs[f"DistVAE, {number}"] = Contender(partial(distvae, ranks, False), ranks, "DistVAE, 1 rank")
        if args.ranks or ranks in case.ranks:
            runs |= {f"Headroom, {number}, of {limit}": Contender(partial(headroom, ranks, limit), ranks, f"Headroom, 1 rank, of {limit}")
                     for limit in args.limits}
    return runs


def judged(run: Run, picture: np.ndarray, reference: np.ndarray, alone: tuple[Run, np.ndarray] | None) -> Run:
    """The run and how its picture compares with the reference and with one rank's, and its memory with that of one."""
    run["picture"] = hashlib.sha256(picture.tobytes()).hexdigest()[:16]
    run |= measure.compare(picture, reference)
    if alone is not None:
        run["error_beside_one_rank"] = measure.compare(picture, alone[1])["largest_error_relative"]
        part = alone[0]["above_bytes"][0] / len(run["above_bytes"])
        run["times_nth_part"] = max(run["above_bytes"]) / part if part else None
    return run


def run_round(name: str, latent: Path, runs: dict[str, Contender], scratch: Path) -> dict[str, Run]:
    entry: dict[str, Run] = {}
    pictures: dict[str, np.ndarray] = {}
    for contender, (decode, ranks, alone) in runs.items():
        folder = Path(tempfile.mkdtemp(dir=scratch))
        reference = next(iter(entry.values()), None)
        run = entry[contender] = decode(Task(CASES[name].size, latent, folder, reference["weights_bytes"] if reference else 0))
        if "failed" not in run:
            pictures[contender] = np.load(folder / "picture.npy")
            beside = (entry[alone], pictures[alone]) if alone in pictures and ranks > 1 else None
            judged(run, pictures[contender], next(iter(pictures.values())), beside)
        measure.note(f"{name}, {contender}: " + (run.get("failed") or f"{run['seconds']:.1f} s, error {run['largest_error_relative']:.1e}"))
    return entry


def run_case(args: argparse.Namespace, name: str, scratch: Path) -> list[dict[str, Run]]:
    """For each round each contender's run."""
    case, latent = CASES[name], scratch / f"{name}.npy"
    np.save(latent, case.latent(measure.latent_shape(MODEL, case.size)))
    return [run_round(name, latent, contenders(args, case), scratch) for _ in range(args.rounds)]


KEPT = ("predicted", "limit", "calls", "passes", "weights", "packed")


def row_of(case: str, name: str, rounds: list[dict[str, Run]]) -> Run:
    runs = [each[name] for each in rounds]
    row: Run = {"case": case, "name": name, **{key: runs[0][key] for key in runs[0] if key.startswith(KEPT)}}
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
    for key in ("error_beside_one_rank", "times_nth_part"):
        if runs[0].get(key) is not None:
            row[key] = max(run[key] for run in runs)
    return row | (verdict(row, runs) if "limit_bytes" in row else {})


def verdict(row: Run, runs: list[Run]) -> Run:
    """What must be true of Headroom."""
    return {"peak_bytes": [max(run["peak_bytes"][rank] for run in runs) for rank in range(len(runs[0]["peak_bytes"]))],
            "within_prediction": all(peak <= predicted <= run["limit_bytes"] for run in runs
                                     for peak, predicted in zip(run["peak_bytes"], run["predicted_peak_bytes"], strict=True)),
            "sent_as_predicted": all(run["sent_bytes"] == run["predicted_sent_bytes"] for run in runs),
            "same_bits_again": all(run["same_bits_again"] for run in runs),
            "exact": row["largest_error_relative"] <= EXACT and row.get("error_beside_one_rank", 0) <= AS_ONE_RANK,
            "share_kept": row.get("times_nth_part", 0) <= SHARE}


VERDICTS = ("within_prediction", "sent_as_predicted", "same_bits_again", "exact", "share_kept")


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


def number(row: Run, key: str, form: str) -> str:
    return format(row[key], form) if key in row else "–"


def cells(row: Run) -> list[str]:
    if "failed" in row:
        return [row["name"], "failed", *[""] * 11]
    ours = "limit_bytes" in row
    peaks = [in_mib(row["peak_bytes"]), in_mib(row["predicted_peak_bytes"]), in_mib([row["limit_bytes"]])] if ours else ["–"] * 3
    same = ("yes" if row["sent_as_predicted"] else "NO", "yes" if row["same_bits_again"] else "NO") if ours else ("–", "–")
    return [row["name"], number(row, "largest_error_relative", ".1e"), number(row, "error_beside_one_rank", ".1e"), in_mib(row["above_bytes"]),
            number(row, "times_nth_part", ".2f"), *peaks, in_mib(row["sent_bytes"], 2), *same, exchanges(row), times(row["time_ratio"])]


def section(name: str, rows: list[Run]) -> str:
    case = CASES[name]
    head = ["decode", "largest error", "beside one rank", "above the weights, a rank", "of the N-th part", "peak, a rank",
            "predicted", "limit", "sent, a rank", "as predicted", "same bits again", "calls of a rank", "time"]
    text = f"\n## {case.size[0]}×{case.size[1]}: {case.what}\n\n" + measure.markdown_table([head, *map(cells, rows)])
    failures = [f"- {row['name']}: `{row['failed']}`" for row in rows if "failed" in row]
    return text + ("\nWhat failed said:\n\n" + "\n".join(failures) + "\n" if failures else "")


def notes(args: argparse.Namespace) -> str:
    return (f"{MODEL}, fp32, random weights, one thread a rank, Gloo; {args.rounds} round(s). Errors: of the largest magnitude of diffusers alone, "
            "and of one rank of the same contender.\nTimes: of the slowest rank, against diffusers alone with one thread in the same round; ranks beyond the "
            "machine's cores take turns. Sent: payload, the least that\na rank has to send for its calls (`reports/bench/counted_exchange.py` has the rules); of "
            "Headroom its own count. \"Variances averaged\" is DistVAE with the\nGroupNorm that it had until 2024: no spread between the ranks' means.\n\n"
            "Limits: \"of 2GiB\" is one rank that may use 2 GiB. Each of N ranks may then use W + 1.15 (P − W)/N, where P is the peak that one rank's\n"
            "plan predicts and W the model's weights in fp32, which are in every rank's peak but where its plan brings them in\npass by pass. \"Of the N-th part\": the highest rank's bytes above W, divided by the\n"
            "N-th part of one rank's. Headroom decodes twice, and both have to have the same bits; its time is the faster one's.\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=lambda text: text.split(","), default=list(CASES), help=f"of {', '.join(CASES)}; default: all")
    parser.add_argument("--ranks", type=lambda text: [int(each) for each in text.split(",")],
                        help="one rank first, as others are compared with it; default: those of the case")
    parser.add_argument("--limits", type=lambda text: text.split(","), default=["2GiB"], help="of one rank of Headroom, default: 2GiB")
    parser.add_argument("--rounds", type=int, default=1, help="default: %(default)s")
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
    return 0 if all(row.get(each) for row in ours for each in VERDICTS) else 1


if __name__ == "__main__":
    measure.run_main(main)
