"""ComfyUI nodes. Copy or link this folder into ComfyUI's custom_nodes. The package `headroom-vae` must be installed as well."""

from .nodes import NODE_CLASS_MAPPINGS, NODE_DISPLAY_NAME_MAPPINGS

__all__ = ["NODE_CLASS_MAPPINGS", "NODE_DISPLAY_NAME_MAPPINGS"]
