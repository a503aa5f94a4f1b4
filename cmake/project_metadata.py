"""Reads version and address of the project from CMakeLists.txt, for the wheel (pyproject.toml) and the pack for ComfyUI."""

import re
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "CMakeLists.txt"


def stated(key: str, value: str) -> str:
    return re.search(rf"^\s*(?:project\(headroom )?{key} {value}", PROJECT.read_text(), re.M)[1]


def version() -> str:
    return stated("VERSION", r"([0-9.]+)")


def address() -> str:
    """Empty while the address is not decided."""
    return stated("HOMEPAGE_URL", '"([^"]*)"')


def dynamic_metadata(settings: dict, project: dict) -> dict[str, object]:
    """Fields of [project] that scikit-build-core asks for."""
    return {"version": version(), "urls": {"Repository": address()} if address() else {}}
