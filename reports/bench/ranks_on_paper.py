#!/usr/bin/env python3
"""Plans of one picture or clip over several cards: what they predict. Nothing is decoded.

    python reports/bench/ranks_on_paper.py -o reports/results/ranks-on-paper.json

Costs are the assumed ones of a server's card (docs/planning.md), the same for both sizes of memory, so that a row differs from the one above
it by the number of cards alone. LINKS are assumptions too. `exposed` is the share of the time that a card waits for others:
what the plan predicts less what its slowest rank computes.
"""

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import measure
from plan_table import Plan, Row, clip_name, table_main

DTYPE = "bf16"
GIB = 1 << 30
SEARCH_SECONDS = 60
LINKS = {  # bytes a second one way, and seconds until the first byte is there
    "PCIe": ("24e9,2e-5", "PCIe 4.0 ×16: 24 GB/s, 20 µs"),
    "NVLink": ("200e9,1e-5", "NVLink: 200 GB/s, 10 µs"),
    "network": ("24e9,3e-5", "200 Gbit/s between machines: 24 GB/s, 30 µs"),
}


class Question(NamedTuple):
    model: str
    size: str
    frames: int
    ranks: int
    limit: str
    link: str


IN_ONE_MACHINE = [Question(model, size, frames, ranks, limit, link)
                  for model, size, frames in (("sdxl", "8192x8192", 1), ("flux2", "8192x8192", 1), ("wan2.1", "1280x720", 81))
                  for limit, link in (("24GiB", "PCIe"), ("80GiB", "NVLink")) for ranks in (1, 2, 4, 8)]
BY_SIZE = [Question("sdxl", f"{side}x{side}", 1, ranks, "80GiB", "network")
           for side in (8192, 16384, 32768) for ranks in (1, 2, 4, 8, 16, 32, 64)]


def sent(rank: Plan) -> int:
    return sum(rank["sent"].values())


def figures_of_ranks(plan: Plan) -> Row:
    """Of a plan file for several ranks, and of one for a single decode as if it had one."""
    if "ranks" not in plan:
        return {"seconds": plan["predicted"]["seconds"], "peak_bytes": plan["predicted"]["peak_bytes"], "sent_bytes": 0, "exposed": 0.0,
                "passes": len(plan["passes"])}
    ranks: list[Plan] = plan["ranks"]
    rows = [rank["latent_rows"][1] - rank["latent_rows"][0] for rank in ranks]
    computing = max(rank["plan"]["predicted"]["seconds"] for rank in ranks)
    seconds = plan["predicted"]["seconds"]
    return {"seconds": seconds, "peak_bytes": max(rank["plan"]["predicted"]["peak_bytes"] for rank in ranks), "sent_bytes": max(map(sent, ranks)),
            "sent_bytes_of_all": sum(map(sent, ranks)), "parts": {key: max(rank["sent"][key] for rank in ranks) for key in ranks[0]["sent"]},
            "exposed": max(0.0, 1 - computing / seconds), "latent_rows": [min(rows), max(rows)], "passes": len(ranks[0]["plan"]["passes"])}


def planned(question: Question, folder: Path) -> Row:
    file, begin = folder / "plan.json", time.perf_counter()
    words = ["--model", question.model, "--size", question.size, "--frames", str(question.frames), "--device", "cuda", "--dtype", DTYPE,
             "--limit", question.limit, "--time-budget", str(SEARCH_SECONDS), "-o", str(file)]
    words += ["--ranks", str(question.ranks), "--link", LINKS[question.link][0]] if question.ranks > 1 else []
    try:
        measure.run([str(measure.BIN / "headroom-plan"), *words])
        figures: dict[str, Any] = figures_of_ranks(json.loads(file.read_text()))
    except measure.DoesNotFit as refusal:
        figures = {"refused": str(refusal), "smallest_bytes": refusal.smallest_bytes}
    measure.note(f"{question}: {figures.get('seconds', 'refused')}")
    return {**question._asdict(), "planning_seconds": time.perf_counter() - begin, **figures}


def bytes_text(count: int) -> str:
    return f"{count / GIB:.2f} GiB" if count >= GIB else f"{count / measure.MIB:.1f} MiB"


def cells(row: Row, alone: Row | None) -> list[str]:
    head = [clip_name(row), f"{row['limit']}, {row['link']}", str(row["ranks"])]
    if "refused" in row:
        return [*head, f"needs {bytes_text(smallest)}" if (smallest := row.get("smallest_bytes")) else "does not fit", "", "", "", ""]
    faster = f"{alone['seconds'] / row['seconds']:.2f}" if alone and "seconds" in alone else "–"
    return [*head, f"{row['seconds']:.3f} s", faster, bytes_text(row["peak_bytes"]), bytes_text(row["sent_bytes"]), f"{100 * row['exposed']:.1f}%"]


def table(rows: list[Row]) -> str:
    """Each row beside the one of a single card with the same limit."""
    by_one = {(row["model"], row["size"], row["limit"]): row for row in rows if row["ranks"] == 1}
    head = ["decode", "of each card", "cards", "predicted time", "times as fast", "peak of a card", "sent by a card", "exposed"]
    return measure.markdown_table([head, *(cells(row, by_one.get((row["model"], row["size"], row["limit"]))) for row in rows)])


def text_of(rows: list[Row]) -> str:
    links = "\n".join(f"- {name}: {words}" for name, (_, words) in LINKS.items())
    return (f"{DTYPE}, assumed costs of a server's card, searches of at most {SEARCH_SECONDS} s. Peaks and bytes are those of the rank that has most; weights are\n"
            "in every card's peak. Exposed: the share of the time in which the slowest card waits for others. Links, assumed too:\n\n"
            f"{links}\n\n## Cards of one machine\n\n" + table(rows[:len(IN_ONE_MACHINE)])
            + "\n## SDXL by size and cards\n\n" + table(rows[len(IN_ONE_MACHINE):]))


def rows_of(folder: Path) -> list[Row]:
    return [planned(question, folder) for question in IN_ONE_MACHINE + BY_SIZE]


if __name__ == "__main__":
    measure.run_main(lambda: table_main(__doc__, "Ranks on paper: one decode over several cards", rows_of, text_of))
