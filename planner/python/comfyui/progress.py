"""Shows the progress of a decode or encode in ComfyUI: the bar of the node, and a preview of decoded rows. Obeys Interrupt."""

from __future__ import annotations

import time
from typing import Any, Callable

from .latents import image_of

PREVIEW_SECONDS = 0.5
"""Previews are at least so far apart. Making one takes a few milliseconds."""

STEPS = 1000


class NodeProgress:
    """Callback of a decode or encode. Raises ComfyUI's exception if the user interrupts, which ends the work."""

    def __init__(self, vae: Any, picture: Any, began: Callable[[], None]):
        """`picture` receives the rows of a decode. Rows that are not done have zeros. None: no previews. `began` is called once."""
        from comfy import model_management
        from comfy.utils import ProgressBar

        self._stop_if_interrupted = model_management.throw_exception_if_processing_interrupted
        self._bar = ProgressBar(STEPS)
        self._vae, self._picture = vae, picture
        self._side = 0 if picture is None else _preview_side()
        self._shown = time.perf_counter()
        self._began: Callable[[], None] | None = began

    def __call__(self, share: float) -> None:
        self._stop_if_interrupted()
        if self._began is not None:
            self._began()
            self._began = None
        preview, now = None, time.perf_counter()
        if self._side and now - self._shown >= PREVIEW_SECONDS:
            self._shown, made = now, preview_of(self._vae, self._picture, self._side)
            preview = None if made is None else ("JPEG", made, self._side)
        self._bar.update_absolute(int(share * STEPS), STEPS, preview)


def _preview_side() -> int:
    """Largest side of a preview in pixels. 0 if ComfyUI shows none."""
    from comfy.cli_args import LatentPreviewMethod, args

    return 0 if args.preview_method == LatentPreviewMethod.NoPreviews else getattr(args, "preview_size", 512)


def preview_of(vae: Any, picture: Any, side: int) -> Any:
    """A small copy of the picture as it is now, in PIL's format. For a clip, of the last frame that has rows. None before there are rows."""
    from PIL import Image

    part = picture[:1]
    if part.dim() == 5:
        begun = part.flatten(3).any(dim=3).any(dim=1)[0].nonzero()  # frames
        frame = int(begun[-1]) if len(begun) else 0
        part = part[:, :, frame : frame + 1]
    step = -(-max(part.shape[-2:]) // side)
    small = part[..., ::step, ::step].clone()
    if not small.any():
        return None
    image = image_of(vae, small)[0]
    values = (image[..., :3].clamp(0, 1) * 255).byte().numpy()
    return Image.fromarray(values[..., 0] if values.shape[-1] == 1 else values)
