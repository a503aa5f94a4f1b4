"""Checks an enabled pipeline before it samples: raises errors of its decode before the denoising, not after it."""

from __future__ import annotations

import inspect
import warnings
import weakref
from types import FrameType
from typing import Any

from . import parts
from .compiled import followed

COUNTS = ("num_images_per_prompt", "num_videos_per_prompt")
"""Arguments of pipelines that decode all pictures of a call at once."""

OUTER_FRAMES = 8
"""How far above ``prepare_latents`` the pipeline's ``__call__`` is searched for. Decorators lie between them."""


class PrepareLatents:
    """Replaces ``prepare_latents`` of a pipeline, which runs just before the denoising.

    After the pipeline's own ``prepare_latents`` it checks the VAE, and the limit if the size of the decode is known."""

    def __init__(self, pipe: Any, vae: Any, earlier: Any = None):
        self._pipe = weakref.ref(pipe)
        self._vae = weakref.ref(vae)
        self._earlier = earlier  # an attribute `prepare_latents` that shadowed the class's method before
        self._warned_of: weakref.ref | None = None
        own = pipe.prepare_latents
        self.__name__, self.__doc__, self.__signature__ = "prepare_latents", own.__doc__, inspect.signature(own)

    def __call__(self, *positional: Any, **keywords: Any) -> Any:
        pipe = self._pipe()
        own = self._earlier or inspect.getattr_static(type(pipe), "prepare_latents").__get__(pipe, type(pipe))
        made = own(*positional, **keywords)
        call = _arguments_of_call(pipe)
        if call is not None and call.get("output_type") != "latent":
            handle = self._handle(pipe)
            if handle is not None:
                arguments = self.__signature__.bind(*positional, **keywords).arguments
                handle._require_ready(*_latents_to_decode(handle.model, made, arguments, call))
        return made

    def remove(self) -> None:
        """Restores the pipeline's own ``prepare_latents``."""
        pipe = self._pipe()
        if pipe is not None and vars(pipe).get("prepare_latents") is self:
            del pipe.prepare_latents
            if self._earlier is not None:
                pipe.prepare_latents = self._earlier

    def _handle(self, pipe: Any) -> Any:
        """The handle of the pipeline's VAE. Warns if the VAE that was enabled has been replaced by one that was not."""
        vae = followed(pipe.vae)
        handle = getattr(vae, "__dict__", {}).get(parts.HANDLE)
        if handle is not None and not handle.ended:
            return handle
        if vae is not None and vae is not self._vae() and (self._warned_of is None or self._warned_of() is not vae):
            self._warned_of = weakref.ref(vae)
            warnings.warn(
                f"pipe.vae was replaced after headroom_vae.enable(): this {type(vae).__name__} decodes without Headroom and its limit. "
                "Call headroom_vae.enable(pipe, …) again", stacklevel=4,
            )  # fmt: skip
        return None

    # A copy of the pipeline checks its own VAE.

    def __deepcopy__(self, memo: dict) -> PrepareLatents:
        pipe, vae = self._pipe(), self._vae()
        return PrepareLatents(memo.get(id(pipe), pipe), memo.get(id(vae), vae), self._earlier)

    def __reduce__(self) -> tuple:
        return PrepareLatents, (self._pipe(), self._vae(), self._earlier)


def install(pipe: Any, vae: Any) -> PrepareLatents | None:
    """Replaces the pipeline's ``prepare_latents``. Returns None if the object has none, as a VAE alone."""
    if not hasattr(type(pipe), "prepare_latents"):
        return None
    found = vars(pipe).get("prepare_latents")
    pipe.prepare_latents = PrepareLatents(pipe, vae, found._earlier if isinstance(found, PrepareLatents) else found)
    return pipe.prepare_latents


def remove(pipe: Any) -> None:
    """Undoes install(). Does nothing to any other object."""
    found = getattr(pipe, "__dict__", {}).get("prepare_latents")
    if isinstance(found, PrepareLatents):
        found.remove()


def _arguments_of_call(pipe: Any) -> dict[str, Any] | None:
    """Local variables of the pipeline's running ``__call__``. None if it does not run, for example if a script samples by itself."""
    frame: FrameType | None = inspect.currentframe()
    for _ in range(OUTER_FRAMES):
        frame = None if frame is None else frame.f_back
        if frame is not None and frame.f_code.co_name == "__call__" and frame.f_locals.get("self") is pipe:
            return frame.f_locals
    return None


def _latents_to_decode(model: Any, made: Any, arguments: dict[str, Any], call: dict[str, Any]) -> tuple[Any, list[int] | None]:
    """The tensor that ``prepare_latents`` made, and the smallest shape in which it is decoded. The shape is None if it is unknown."""
    latents = made[0] if isinstance(made, (tuple, list)) and made else made
    shape = list(getattr(latents, "shape", ()))
    if not shape:
        return None, None
    if model.frames_in_batch and len(shape) == 5:  # N×T×C×H×W, decoded a run of frames at a time
        return latents, [1, shape[2], min(shape[0] * shape[1], call.get("decode_chunk_size") or shape[1]), *shape[3:]]
    axes = 5 if model.decodes_clips else 4
    batch = shape[0] if any(name in call for name in COUNTS) else 1
    if len(shape) == axes and shape[1] == model.latent_channels:
        return latents, [batch, *shape[1:]]
    height, width, frames = (arguments.get(name) for name in ("height", "width", "num_frames"))
    if len(shape) != 3 or not (isinstance(height, int) and isinstance(width, int)):
        return latents, None
    # Packed latents. Pipelines round the size down to whole patches of two rows and two columns.
    _, _, _, scale_y, scale_x = model.picture_shape([1, model.latent_channels, 1, 1])
    rows, columns = max(2, height // scale_y // 2 * 2), max(2, width // scale_x // 2 * 2)
    if not model.decodes_clips:
        return latents, [batch, model.latent_channels, rows, columns]
    per_latent_frame = model.picture_shape([1, model.latent_channels, 2, 1, 1])[2] - 1
    frames = frames if isinstance(frames, int) else 1
    return latents, [batch, model.latent_channels, (frames - 1) // per_latent_frame + 1, rows, columns]
