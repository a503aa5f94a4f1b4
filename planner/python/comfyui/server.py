"""Restricts the folders and memory limits that a workflow may request from the machine that runs ComfyUI."""

from __future__ import annotations

import math
import os

import headroom_vae
from headroom_vae.amounts import memory_bytes

SCRATCH_VARIABLE = "HEADROOM_COMFYUI_SCRATCH"


def _allowed_folders() -> list[str]:
    """ComfyUI's temp folder, and the folders that the server's operator allows."""
    folders = [folder for folder in os.environ.get(SCRATCH_VARIABLE, "").split(os.pathsep) if folder]
    try:
        import folder_paths  # ComfyUI's

        temporary = folder_paths.get_temp_directory()
        os.makedirs(temporary, exist_ok=True)  # ComfyUI makes it when it is first needed
        folders.append(temporary)
    except (ImportError, OSError):
        pass
    return [os.path.realpath(folder) for folder in folders]


def scratch_example() -> str:
    """A folder that the input scratch may name."""
    return next(iter(_allowed_folders()), "a folder on a disk")


def allowed_scratch(scratch: str) -> str | None:
    """The folder, or None for an empty name. Raises InputError for any other folder.

    The message does not reveal whether a refused folder exists."""
    if not scratch:
        return None
    try:
        folder = os.path.realpath(scratch)
    except ValueError:  # a null character or a lone surrogate, which file names cannot have
        folder = ""
    below = any(os.path.commonpath([folder, allowed]) == allowed for allowed in _allowed_folders() if folder)
    if not below or not os.path.isdir(folder):
        raise headroom_vae.InputError(
            "scratch: expected an existing folder in ComfyUI's temp folder, or in one that the person who runs ComfyUI allows by "
            f"the environment variable {SCRATCH_VARIABLE}")
    return folder


def _memory_bytes(device: str) -> int:
    """Total memory of the device, in use or not."""
    import torch

    if device == "cpu" or not torch.cuda.is_available():
        return memory_bytes()
    return torch.cuda.mem_get_info(device)[1]


def gib_of_input(limit_gib: str | float) -> float:
    """The number in the input limit_gib. 0 for "auto". Raises InputError."""
    try:
        gib = 0.0 if limit_gib == "auto" else float(limit_gib)
    except (TypeError, ValueError):
        gib = math.nan
    if not 0 <= gib < math.inf:
        raise headroom_vae.InputError(f"limit_gib: expected GiB, such as 6.5, or auto for the free memory, found {limit_gib!r}")
    return gib


def bytes_of_gib(gib: float) -> int | str:
    """The limit in bytes. "auto" for 0."""
    return max(1, int(gib * (1 << 30))) if gib > 0 else "auto"


def gib_of_bytes(bytes_: int) -> float:
    """Rounded up to what the node's widget shows."""
    return math.ceil(1000 * bytes_ / (1 << 30)) / 1000


def require_limit_of_machine(limit: int | str, device: str) -> None:
    """Raises InputError for a limit above the device's memory, because it would have no effect."""
    if limit == "auto":
        return
    most = _memory_bytes(device)
    if limit > most:
        gib = 1 << 30
        raise headroom_vae.InputError(
            f"limit_gib: expected at most the {most / gib:.1f} GiB of memory that {device} has, or auto for the free memory, found {limit / gib:g}")
