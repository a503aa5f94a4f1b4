"""The parts of ComfyUI that the nodes call, for machines without it. If HEADROOM_COMFYUI names a clone, its own modules serve."""

from __future__ import annotations

import enum
import os
import sys
import types

CLONE = os.environ.get("HEADROOM_COMFYUI")


class Interrupted(Exception):
    """ComfyUI's InterruptProcessingException."""


class LatentPreviewMethod(enum.Enum):
    NoPreviews = "none"
    Auto = "auto"


class ProgressBar:
    """Records what ComfyUI's bar would show."""

    shown: list[tuple] = []

    def __init__(self, total, node_id=None):
        type(self).shown = []

    def update_absolute(self, value, total=None, preview=None):
        self.shown.append((value, total, preview))


def install() -> None:
    """Makes `comfy` importable."""
    if "comfy" in sys.modules:
        return
    if CLONE:
        sys.path.insert(0, CLONE)
        given, sys.argv = sys.argv, [sys.argv[0], "--cpu"]
        import comfy.options

        comfy.options.enable_args_parsing()
        import comfy.sd  # noqa: F401

        sys.argv = given
        return
    management = types.ModuleType("comfy.model_management")
    management.freed = []
    management.interrupted = False
    management.extra_reserved_memory = lambda: 1 << 20
    management.free_memory = lambda bytes_, device: management.freed.append((bytes_, device))

    def throw_exception_if_processing_interrupted():
        if management.interrupted:
            management.interrupted = False
            raise Interrupted

    management.throw_exception_if_processing_interrupted = throw_exception_if_processing_interrupted
    utils = types.ModuleType("comfy.utils")
    utils.ProgressBar = ProgressBar
    arguments = types.ModuleType("comfy.cli_args")
    arguments.LatentPreviewMethod = LatentPreviewMethod
    arguments.args = types.SimpleNamespace(preview_method=LatentPreviewMethod.NoPreviews, preview_size=512)
    comfy = types.ModuleType("comfy")
    comfy.model_management, comfy.utils, comfy.cli_args = management, utils, arguments
    sys.modules |= {"comfy": comfy, "comfy.model_management": management, "comfy.utils": utils, "comfy.cli_args": arguments}
