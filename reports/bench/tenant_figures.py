"""What is expected of decodes on a card that others use too, and how what gpu_tenants.py found of them reads."""

import re
from typing import Any, Iterator

import measure
from measure import DOES_NOT_FIT, EXACT, Run, decibels, mib

PSNR_LOSS = 0.5  # dB that the smaller plan's picture may be further from the reference
NAMED_LIMIT = re.compile(r"--limit (\d+)\b")
NAMES = {"alone": "by itself", "refused": "beside the tenant", "auto": "beside the tenant, `--limit auto`", "together": "two at once"}

Found = dict[str, Run]  # by the step's name


# What is expected -----------------------------------------------------------------------------------------------------

def were_at_once(alone: Run, growth_bytes: int | None) -> bool | None:
    """Whether the card's count is higher by a whole reservation than with one decode; None where nobody counted. A context is smaller."""
    one = alone.get("card_growth_bytes")
    return None if growth_bytes is None or one is None or "peak_bytes" not in alone else growth_bytes >= one + alone["peak_bytes"]


def named_limit(run: Run) -> int | None:
    """That a refusal in one line names."""
    named = NAMED_LIMIT.search(run["said"][0]) if len(run["said"]) == 1 else None
    return int(named[1]) if named else None


def ended_well(name: str, run: Run) -> Iterator[str]:
    if run["status"] != 0:
        yield f"{name}: ended with {run['status']}, {(run['said'] or ['no message'])[-1]}"
    elif run["peak_bytes"] > run["limit_bytes"]:
        yield f"{name}: a peak of {run['peak_bytes']} bytes, above its limit of {run['limit_bytes']}"


def faults_of_refused(run: Run) -> Iterator[str]:
    limit = named_limit(run)
    if run["status"] != DOES_NOT_FIT:
        yield f"ended with {run['status']} instead of {DOES_NOT_FIT}"
    if len(run["said"]) != 1:
        yield f"said {len(run['said'])} lines instead of one"
    elif limit is None:
        yield "its line names no --limit N"
    elif limit > run["free_bytes"]:
        yield f"its line names --limit {limit}, and {run['free_bytes']} bytes were free"
    if run["left"]:
        yield f"left {', '.join(run['left'])}"


def faults_of_auto(run: Run, alone: Run, dtype: str) -> Iterator[str]:
    if run["status"] != 0:
        return
    if run["peak_bytes"] > run["free_bytes"]:
        yield f"a peak of {run['peak_bytes']} bytes, and {run['free_bytes']} were free"
    if dtype == "fp32":
        if run["largest_error_relative"] > EXACT:
            yield f"an error of {run['largest_error_relative']:.1e}, above {EXACT}"
    elif alone.get("status") == 0 and run["psnr_db"] is not None and (alone["psnr_db"] is None or run["psnr_db"] < alone["psnr_db"] - PSNR_LOSS):
        yield f"PSNR {decibels(run['psnr_db'])}, by itself {decibels(alone['psnr_db'])}"


def faults_of_together(found: Run, alone: Run) -> Iterator[str]:
    for number, run in enumerate(found["runs"], 1):
        if run["status"] == 0 and alone.get("status") == 0 and run["picture"] != alone["picture"]:
            yield f"picture {number} differs from that of the decode by itself"
    if found["at_once"] is False:
        yield f"in {found['tries']} tries they were not on the card at the same time"


def judge(found: Found, dtype: str) -> list[str]:
    """What is not as expected. What was not run is no fault, what failed is one."""
    faults = [f"{NAMES[name]}: {run['error']}" for name, run in found.items() if "error" in run]
    runs = {name: run for name, run in found.items() if "error" not in run and "not_run" not in run}
    alone = runs.get("alone", {})
    if alone:
        faults += ended_well(NAMES["alone"], alone)
    if "refused" in runs:
        faults += [f"{NAMES['refused']}: {fault}" for fault in faults_of_refused(runs["refused"])]
    if "auto" in runs:
        faults += ended_well(NAMES["auto"], runs["auto"])
        faults += [f"{NAMES['auto']}: {fault}" for fault in faults_of_auto(runs["auto"], alone, dtype)]
    if "together" in runs:
        for number, run in enumerate(runs["together"]["runs"], 1):
            faults += ended_well(f"{NAMES['together']}, {number}", run)
        faults += [f"{NAMES['together']}: {fault}" for fault in faults_of_together(runs["together"], alone)]
    return faults


# The table ------------------------------------------------------------------------------------------------------------

def row_of(name: str, run: Run, alone: Run) -> list[str]:
    if "status" not in run:
        return [name, f"not run: {run['not_run']}" if "not_run" in run else "failed", *["–"] * 7]
    of_alone = run.get("picture") == alone.get("picture") if "picture" in run and "picture" in alone and run is not alone else None
    compared = "–" if "picture" not in run else decibels(run["psnr_db"]) + {True: ", equal bit for bit", False: ", other bits", None: ""}[of_alone]
    seconds = f"{run['seconds']:.3g} s" if "seconds" in run else "–"
    return [name, str(run["status"]), mib(run.get("free_bytes")), mib(run.get("limit_bytes")), mib(run.get("peak_bytes")), mib(run.get("outside_bytes")),
            seconds, f"{run['process_seconds']:.3g} s", compared]


def tenants_table(entry: dict[str, Any]) -> str:
    found: Found = entry["steps"]
    alone = found.get("alone", {})
    rows = [["decode", "ended with", "free", "limit", "peak", "beside the peak", "decode", "process", "PSNR, and against the picture by itself"]]
    for name, run in found.items():
        each = run.get("runs", [run])
        rows += [row_of(NAMES[name] + (f", {number}" if len(each) > 1 else ""), one, alone) for number, one in enumerate(each, 1)]
    return measure.markdown_table([[cell.replace("|", "/") for cell in row] for row in rows])


def tenants_text(entry: dict[str, Any]) -> str:
    """The part as Markdown, whatever there is of it."""
    text = "".join(f"- NOT as expected: {fault}.\n" for fault in entry["faults"]) + ("\n" if entry["faults"] else "")
    if not entry["steps"]:
        return text
    text += tenants_table(entry) + f"\nPSNR is against {entry['reference']}.\n"
    refused, together = entry["steps"].get("refused", {}), entry["steps"].get("together", {})
    text += "".join(f"\nBeside the tenant the plan, which takes {mib(refused['predicted_peak_bytes'])}, ended with: {line}\n"
                    for line in refused.get("said", []))
    if "runs" in together:
        words = {True: "were on the card at the same time", False: "were NOT on the card at the same time",
                 None: "may or may not have been on the card at the same time: nobody counted"}[together["at_once"]]
        text += f"\nThe two {words}; the card's count grew by {mib(together['card_growth_bytes'])}, by {mib(alone_growth(entry))} with one.\n"
    return text


def alone_growth(entry: dict[str, Any]) -> int | None:
    return entry["steps"].get("alone", {}).get("card_growth_bytes")
