"""Headroom's nodes for ComfyUI. This folder belongs into ComfyUI's custom_nodes; requirements.txt has what it needs."""

try:
    import headroom_vae  # noqa: F401
except ModuleNotFoundError as missing:
    if missing.name != "headroom_vae":
        raise
    raise ImportError(
        "Headroom's nodes need the package headroom-vae. Install it into ComfyUI's Python: python -m pip install headroom-vae") from None

from .nodes import NODE_CLASS_MAPPINGS, NODE_DISPLAY_NAME_MAPPINGS

WEB_DIRECTORY = "./web"
"""Has the help pages, in docs/."""

__all__ = ["NODE_CLASS_MAPPINGS", "NODE_DISPLAY_NAME_MAPPINGS", "WEB_DIRECTORY"]
