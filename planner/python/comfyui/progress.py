"""Shows the progress of a decode or encode in ComfyUI: the bar of the node, and a preview of decoded rows. Obeys Interrupt."""

from __future__ import annotations

import time
from typing import Any, Callable

from .latents import image_of

PREVIEW_SECONDS = 0.5
"""Previews are at least so far apart. Making one takes about 10 milliseconds."""

STEPS = 1000


LATENT_SIDE = 128
"""Most rows and columns of the latent that colours are estimated from."""

LEAST_VARIANCE = 0.05
"""There is no preview while the latent varies by a smaller share of its whole variance in pixels that are done, as in a plain sky."""

DAMPING = 0.01
"""Colours hardly follow channels whose variance in pixels that are done is less than this share of their whole variance."""


class NodeProgress:
    """Callback of a decode or encode. Raises ComfyUI's exception if the user interrupts, which ends the work."""

    def __init__(self, preview: Callable[[int], Any] | None, began: Callable[[], None]):
        """`preview` makes a picture of at most so many pixels a side, or None. `began` is called once."""
        from comfy import model_management
        from comfy.utils import ProgressBar

        self._stop_if_interrupted = model_management.throw_exception_if_processing_interrupted
        self._bar = ProgressBar(STEPS)
        self._preview = preview
        self._side = 0 if preview is None else _preview_side()
        self._shown = time.perf_counter()
        self._began: Callable[[], None] | None = began

    def __call__(self, share: float) -> None:
        self._stop_if_interrupted()
        if self._began is not None:
            self._began()
            self._began = None
        preview, now = None, time.perf_counter()
        if self._side and now - self._shown >= PREVIEW_SECONDS:
            self._shown, made = now, self._preview(self._side)
            preview = None if made is None else ("JPEG", made, self._side)
        self._bar.update_absolute(int(share * STEPS), STEPS, preview)


def _preview_side() -> int:
    """Largest side of a preview in pixels. 0 if ComfyUI shows none."""
    from comfy.cli_args import LatentPreviewMethod, args

    return 0 if args.preview_method == LatentPreviewMethod.NoPreviews else getattr(args, "preview_size", 512)


def preview_of(vae: Any, latent: Any, picture: Any, side: int) -> Any:
    """A small copy of the picture as it is now, in PIL's format. For a clip, of the last frame that has rows.

    Pixels that are not done are zeros in `picture`. The preview shows colours there that are estimated from the decoder's `latent`. None before
    there is enough for that. Both tensors are on the CPU."""
    from PIL import Image

    part, latent = picture[:1], latent[:1]
    if part.dim() == 5:
        begun = part.flatten(3).any(dim=3).any(dim=1)[0].nonzero()  # frames
        frame = int(begun[-1]) if len(begun) else 0
        latent = latent[:, :, _latent_frame(frame, part.shape[2], latent.shape[2])]
        part = part[:, :, frame : frame + 1]
    step = -(-max(part.shape[-2:]) // side)
    small = part[..., ::step, ::step].clone()
    image = _completed(image_of(vae, small)[0, ..., :3], small.any(dim=1).flatten(0, -3), latent)
    if image is None:
        return None
    values = (image.clamp(0, 1) * 255).byte().numpy()
    return Image.fromarray(values[..., 0] if values.shape[-1] == 1 else values)


def _latent_frame(frame: int, frames: int, latent_frames: int) -> int:
    """The latent frame of a frame. In causal VAEs the first latent frame makes the first frame alone, and each later one makes equally many frames."""
    if latent_frames > 1 and (frames - 1) % (latent_frames - 1) == 0:
        return -(-frame * (latent_frames - 1) // (frames - 1))
    return frame * latent_frames // frames


def _completed(image: Any, done: Any, latent: Any) -> Any:
    """The image with estimated colours in pixels that are not done: a linear map of the latent's channels, fitted to pixels that are done and
    within their colours. None if these show too little."""
    import torch
    from torch.nn.functional import interpolate

    step = -(-max(latent.shape[-2:]) // LATENT_SIDE)
    channels = latent[0, :, ::step, ::step].float()
    size, channels = channels.shape[1:], channels.flatten(1)
    known = interpolate(done[None].float(), size).flatten() > 0
    if not known.any():
        return None
    colours = interpolate(image.movedim(-1, 0)[None], size)[0].flatten(1)[:, known]
    shown = channels[:, known]
    covariance, cross = torch.cov(torch.cat([shown, colours]), correction=0)[: len(shown)].tensor_split([len(shown)], dim=1)
    whole = torch.cov(channels, correction=0).reshape(covariance.shape)
    if not (colours.isfinite().all() and covariance.trace() >= LEAST_VARIANCE * whole.trace()):  # also false for NaN
        return None
    weights = torch.linalg.lstsq(covariance + DAMPING * whole, cross, driver="gelsd").solution
    estimated = weights.T @ (channels - shown.mean(1, keepdim=True)) + colours.mean(1, keepdim=True)
    estimated = estimated.clamp(colours.amin(1, keepdim=True), colours.amax(1, keepdim=True))
    estimated = interpolate(estimated.unflatten(1, size)[None], image.shape[:2], mode="bilinear")
    return torch.where(interpolate(done[None].float(), image.shape[:2])[0].movedim(0, -1) > 0, image, estimated[0].movedim(0, -1))
