"""Runs a script over the air card (tests/air_card): CUDA's libraries without a card."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import measure

LIBRARIES = ("libcudart.so.13", "libcudnn.so.9", "libcublasLt.so.13")


def restart(build: Path, card: Path, **variables: str) -> None:
    """Starts the running script again with the air card's libraries, in the folder `card`, in front of CUDA's. Returns in that run.
    `build` is the folder with `python`, the package. `variables` are more variables of the environment."""
    if os.environ.get("LD_PRELOAD", "").endswith(LIBRARIES[-1]):
        return
    air = {"LD_LIBRARY_PATH": str(card), "LD_PRELOAD": " ".join(str(card / name) for name in LIBRARIES)}
    paths = f"{build / 'python'}:{measure.ROOT / 'tests/planner/python'}"
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **air, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", **variables})
