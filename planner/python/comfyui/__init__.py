"""Headroom's nodes for ComfyUI. Copy this folder into ComfyUI's custom_nodes. README.md says how to install the package that they need."""

import logging

try:
    import headroom_vae  # noqa: F401
except ModuleNotFoundError as missing:
    if missing.name != "headroom_vae":
        raise
    logging.getLogger("headroom").error(
        "Headroom's nodes need the package headroom-vae, which is not on PyPI. Build it in a clone of Headroom: make venv wheel (on Debian 12; the "
        "pack's README.md has a command for other systems). Then run, with ComfyUI's Python: python -m pip install --no-index --find-links "
        "CLONE/dist headroom-vae"
    )
    NODE_CLASS_MAPPINGS, NODE_DISPLAY_NAME_MAPPINGS = {}, {}  # so that ComfyUI shows no traceback beside the sentence
else:
    from .nodes import NODE_CLASS_MAPPINGS, NODE_DISPLAY_NAME_MAPPINGS

WEB_DIRECTORY = "./web"
"""Has the help pages, in docs/."""

__all__ = ["NODE_CLASS_MAPPINGS", "NODE_DISPLAY_NAME_MAPPINGS", "WEB_DIRECTORY"]
