"""What the tables of plans share: a plan by headroom-plan, its bound in words, and a program that publishes a row for each case."""

import argparse
import json
import math
import tempfile
from pathlib import Path
from typing import Any, Callable, Iterable

import measure

Plan = dict[str, Any]
Row = dict[str, Any]


def made_plan(model: str, size: str, frames: int, limit: str, dtype: str, file: Path, device: str = "cuda",
              host_limit: str | None = None) -> Plan:
    """The plan's own document. Raises measure.DoesNotFit where no plan fits."""
    words = ["--model", model, "--size", size, "--frames", str(frames), "--device", device, "--dtype", dtype, "--limit", limit]
    measure.run([str(measure.BIN / "headroom-plan"), *words, *(["--host-limit", host_limit] if host_limit else []), "-o", str(file)])
    return json.loads(file.read_text())


def figures_of(plan: Plan) -> Row:
    return {"peak_bytes": plan["predicted"]["peak_bytes"], "seconds": plan["predicted"]["seconds"],
            "bound_seconds": plan["bound_seconds"], "optimal": plan["optimal"], "passes": len(plan["passes"])}


def clip_name(row: Row) -> str:
    return f"{row['model']} {row['size']}" + (f", {row['frames']} frames" if row["frames"] > 1 else "")


def bound(row: Row) -> str:
    """How much faster a plan of the stated space could be."""
    per_mille = math.ceil(1000 * (row["seconds"] / row["bound_seconds"] - 1))  # upwards: it is a bound
    return "proven" if row["optimal"] else f"at most {per_mille / 10:.1f}% more"


def table_main(document: str, title: str, rows_of: Callable[[Path], Iterable[Row]], text_of: Callable[[list[Row]], str]) -> int:
    """A program's main(): the rows, made with a folder for their files, as JSON, and as Markdown by `text_of`."""
    parser = argparse.ArgumentParser(description=document, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, help="the results, a Markdown file")
    args = parser.parse_args()
    header = measure.result_header()
    with tempfile.TemporaryDirectory() as folder:
        rows = list(rows_of(Path(folder)))
    measure.publish(args.output, measure.markdown_header(title, header) + text_of(rows))
    return 0
