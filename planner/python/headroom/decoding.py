"""Exact decodes inside a limit, in the place of a VAE's own ``decode``."""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import warnings
from dataclasses import dataclass, replace
from typing import Any, Callable

from . import _core
from .amounts import require_sensible_limit, whole_number
from .described import config_text, describe, dtype_name, loaded_vae_of, model_of, output_name
from .errors import DoesNotFit, HeadroomError, InputError
from .module import DecodeReport, ModuleDecoder
from .prediction import Prediction, planner_of, planner_options
from .verification import largest_error

WITHOUT_EFFECT = {
    "use_tiling": "vae.enable_tiling() has no effect while Headroom is enabled: it decodes the untiled picture within the limit",
    "use_framewise_decoding": "use_framewise_decoding has no effect while Headroom is enabled: it decodes all frames as a whole, so the "
    "picture differs from that of this VAE's own decode, which blends clips of frames",
}
"""Warnings of attributes by which a VAE's own decode blends."""


@dataclass(frozen=True)
class Options:
    """As they were given to :func:`headroom.enable`."""

    limit: int | str | None = "auto"
    host_limit: int | str = "auto"
    scratch: str | None = None
    profile: str | None = None
    on_misfit: str = "raise"
    verify: bool = False
    release: bool = False
    progress: bool | Callable[[float], None] | None = None

    def checked(self) -> Options:
        if self.on_misfit not in ("raise", "original"):
            raise InputError(f"on_misfit: expected 'raise' or 'original', found {self.on_misfit!r}")
        for flag, name in ((self.verify, "verify"), (self.release, "release")):
            if not isinstance(flag, int):
                raise InputError(f"{name}: expected True or False, found {flag!r}")
        if self.release and (self.verify or self.on_misfit == "original"):
            raise InputError("release=True: the original decode is gone then; expected verify=False and on_misfit='raise'")
        require_sensible_limit(self.limit)
        planner_options(0 if self.host_limit == "auto" else self.host_limit, self.scratch, self.profile)
        if not (self.progress is None or isinstance(self.progress, bool) or callable(self.progress)):
            raise InputError(f"progress: expected True, False, None or a function of the share that is done, found {self.progress!r}")
        return self


class Handle:
    """A VAE whose ``decode`` is Headroom's. ``last`` is the DecodeReport of the last decode; ``disable()`` ends it, and so does the
    end of ``with headroom.enable(…):``."""

    def __init__(self, vae: Any, model: _core.Model, options: Options, pipeline_bar: Any = None, earlier: Any = None):
        self.options = options
        self.model = model
        self.decoder = ModuleDecoder(vae, model)
        self.last: DecodeReport | None = None
        self._pipeline_bar = pipeline_bar
        self._trace_file = ""
        self._earlier = earlier  # a decode that the VAE had in the place of its class's
        self._warned: set[str] = set()
        self._dtypes: tuple[Any, Any] = (None, None)

    @property
    def vae(self) -> Any:
        return self.decoder.module

    @property
    def held_bytes(self) -> int:
        """Bytes held between decodes: packed weights."""
        return self.decoder.held_bytes

    def free(self) -> None:
        """Drops packed weights; the next decode packs them again."""
        self.decoder.free()

    def predict(self, height: int, width: int, frames: int = 1, batch: int = 1) -> Prediction:
        """Predicts what a decode of this size in pixels would take now. Raises InputError.

        ``handle.predict(1536, 2048).require()`` raises DoesNotFit if that decode would."""
        chosen = self.options
        named = (("height", height), ("width", width), ("frames", frames), ("batch", batch))
        height, width, frames, batch = (whole_number(value, name) for name, value in named)
        return self.decoder.predict(
            (batch, frames, height, width), self.vae.dtype, chosen.limit, host_limit=chosen.host_limit,
            scratch=chosen.scratch, profile=chosen.profile, release=chosen.release,
        )  # fmt: skip

    def trace(self, file: str) -> None:
        """The next decode writes a trace to this file, for headroom-report and headroom-gui. Raises InputError where its folder does
        not exist, and for a file of the folder that the VAE was loaded from."""
        self._trace_file = output_name(file, "file", self.vae)

    def disable(self) -> None:
        """Gives the VAE its own ``decode`` back, and frees what is held."""
        disable(self.vae)

    def __enter__(self) -> Handle:
        if self.options.release:
            raise InputError("release=True: cannot be undone, so not in a with statement")
        return self

    def __exit__(self, *_: Any) -> None:
        vae = self.decoder.module_or_none()
        if vae is not None and handle_of(vae) is self:
            self.disable()

    def __repr__(self) -> str:
        return f"<headroom: {self.model.name}, limit {self.options.limit}, last: {self.last or 'no decode yet'}>"

    def decode(self, z: Any, return_dict: bool = True, generator: Any = None) -> Any:
        """As the VAE's own ``decode``, without tiles that blend."""
        import torch

        vae = self.vae
        hook = getattr(vae, "_hf_hook", None)
        if hook is not None and hasattr(hook, "pre_forward"):
            hook.pre_forward(vae)  # as diffusers' apply_forward_hook does
        if torch.is_grad_enabled() and getattr(z, "requires_grad", False):
            raise InputError("latent: expected one without gradients; headroom.disable(vae) to train through decode")
        self._warn_of_blending(4)
        try:
            sample = self._sample(vae, z)
        except DoesNotFit as refused:
            if self.options.on_misfit == "raise":
                refused.latents = z
                raise
            warnings.warn(f"decoding with the VAE's own decode: {refused}", stacklevel=3)
            return self._original(z, return_dict, generator)
        return _output(sample, return_dict)

    def _original(self, z: Any, return_dict: bool, generator: Any, **conditions: Any) -> Any:
        """By the decode that the VAE had before it was enabled."""
        chosen = conditions if generator is None else {**conditions, "generator": generator}
        own = self._earlier or functools.partial(type(self.vae).decode, self.vae)
        return own(z, return_dict=return_dict, **chosen)

    def _restore(self) -> None:
        """Gives the VAE the decode back that it had before it was enabled."""
        vae = self.vae
        del vae.decode
        if self._earlier is not None:
            vae.decode = self._earlier

    def _warn_of_blending(self, stacklevel: int) -> None:
        """Once of each attribute by which the VAE's own decode blends."""
        for name, message in WITHOUT_EFFECT.items():
            if name not in self._warned and getattr(self.vae, name, False):
                self._warned.add(name)
                warnings.warn(message, stacklevel=stacklevel)

    def _dtype(self, vae: Any) -> Any:
        """The VAE's dtype, which diffusers looks for in all modules. It changes with that of the parameters."""
        first = next(vae.parameters()).dtype
        if first != self._dtypes[0]:
            self._dtypes = first, vae.dtype
        return self._dtypes[1]

    def _sample(self, vae: Any, z: Any) -> Any:
        chosen, trace_file = self.options, self._trace_file
        self._trace_file = ""
        sample = self.decoder.decode(
            z, limit=chosen.limit, host_limit=chosen.host_limit, scratch=chosen.scratch, profile=chosen.profile, dtype=self._dtype(vae), release=chosen.release,
            progress=chosen.progress, pipeline_bar=self._pipeline_bar, trace_file=trace_file,
        )  # fmt: skip
        self.last = self.decoder.last
        if chosen.verify and sample.numel() > 0:
            self.last = replace(self.last, largest_error=largest_error(vae, self.model, z, sample))
        return sample

    # A copy of the VAE decodes with its own weights.

    def __deepcopy__(self, memo: dict) -> Handle:
        vae = self.vae
        return Handle(memo.get(id(vae), vae), self.model, self.options, earlier=copy.deepcopy(self._earlier, memo))

    def __reduce__(self) -> tuple:
        return _rebuilt, (self.vae, config_text(self.vae), self.model.class_name, self.options)


class Decode:
    """Replaces a VAE's ``decode`` and calls the handle's. A copy of the VAE gets its own replacement."""

    def __init__(self, handle: Handle):
        self.handle = handle
        self.__doc__ = type(handle.vae).decode.__doc__

    def __call__(self, *positional: Any, **keywords: Any) -> Any:
        vae = self.handle.vae
        _, (_, z), *options = _signature(vae).bind(vae, *positional, **keywords).arguments.items()
        conditions = {"return_dict": True, "generator": None, **dict(options)}
        return_dict, generator = conditions.pop("return_dict"), conditions.pop("generator")
        if any(value is not None for value in conditions.values()):  # such as a mask, which only the VAE's own decode knows
            return self.handle._original(z, return_dict, generator, **conditions)
        return self.handle.decode(z, return_dict=return_dict, generator=generator)

    def __deepcopy__(self, memo: dict) -> Decode:
        return Decode(copy.deepcopy(self.handle, memo))


def _signature(vae: Any) -> inspect.Signature:
    """Signature of the VAE's own ``decode``. Classes differ in the name of the latent and the order of options."""
    own = inspect.signature(type(vae).decode)
    return own if "return_dict" in own.parameters else inspect.signature(Handle.decode)  # hidden by a decorator


def _rebuilt(vae: Any, config: str, class_name: str, options: Options) -> Handle:
    return Handle(vae, model_of(config, class_name), options)


def _output(sample: Any, return_dict: bool) -> Any:
    if not return_dict:
        return (sample,)
    from diffusers.models.autoencoders.vae import DecoderOutput

    return DecoderOutput(sample=sample)


def enable(
    vae_or_pipe: Any,
    limit: int | str | None = "auto",
    host_limit: int | str = "auto",
    scratch: str | None = None,
    profile: str | None = None,
    on_misfit: str = "raise",
    verify: bool = False,
    *,
    release: bool = False,
    progress: bool | Callable[[float], None] | None = None,
) -> Handle:
    """From now on ``vae.decode`` gives the untiled picture inside a limit. Everything else of the VAE stays as it is.

    Args:
        vae_or_pipe: a diffusers VAE, or a pipeline with one.
        limit: bytes or ``"8GiB"`` for what a decode takes at its peak: packed weights, tensors, workspace, and the picture
            that it returns. ``"auto"``: what is free when it begins, on a GPU what torch could give. None: as much as is of use.
        host_limit: on a GPU, pinned host memory for tensors that do not fit the device; ``"auto"``: half of what is free.
        scratch: on a CPU, a folder on a disk for tensors that do not fit memory.
        profile: a file of headroom-profile, measured on this machine.
        on_misfit: where nothing fits the limit, ``"raise"`` DoesNotFit before anything runs, or decode by the VAE's
            ``"original"`` with a warning.
        verify: decode each item by the VAE's own untiled decode, too, and raise VerificationError where they differ. Where that cannot
            run, warn.
        release: drop the module's own copy of the weights once they are packed. Cannot be undone.
        progress: True for a tqdm bar, a function that is called with the share that is done, False for neither; None
            shows a bar for long decodes of a pipeline whose own bars are on.

    Returns the handle, whose ``last`` is the DecodeReport of the last decode. Enabling again replaces the options. As a context manager
    it disables the VAE at its end::

        with headroom.enable(pipe, limit="4GiB") as handle:
            handle.predict(1536, 2048).require()
            image = pipe(prompt, height=1536, width=2048).images[0]

    Raises Unsupported where the decoder is not supported, by key, and InputError.
    """
    vae = loaded_vae_of(vae_or_pipe)
    bar = getattr(vae_or_pipe, "progress_bar", None) if vae is not vae_or_pipe else None
    options = Options(limit, host_limit, scratch, profile, on_misfit, verify, release, progress).checked()
    model, installed = describe(vae), vars(vae).get("decode")
    if not hasattr(vae, "named_parameters"):
        raise InputError(f"{type(vae).__name__}: expected a torch module with parameters")
    dtype_name(vae.dtype)
    handle = Handle(vae, model, options, bar, installed.handle._earlier if isinstance(installed, Decode) else installed)
    handle.decoder.require_parameters(release)
    if profile is not None:
        _require_profile(vae, model, profile)
    handle._warn_of_blending(3)
    vae.decode = Decode(handle)
    return handle


def _require_profile(vae: Any, model: _core.Model, profile: str) -> None:
    """Raises InputError for what is no profile of this model. It may be of pictures or of clips, and its device may be one that the VAE
    is moved to later."""
    channels, refused = model.latent_channels, None
    latents = [[1, channels, 1, 1], *([[1, channels, 2, 1, 1]] if model.decodes_clips else [])]
    for device, latent in itertools.product(("cpu", "cuda"), latents):
        _, _, frames, height, width = model.picture_shape(latent)
        try:
            planner_of(vae, height, width, frames, device=device, **planner_options(profile=profile))
            return
        except InputError as error:
            refused = refused or error
    raise refused


def disable(vae_or_pipe: Any) -> None:
    """Gives the VAE the ``decode`` back that it had before, and frees what is held. Nothing where it was not enabled."""
    handle = handle_of(vae_or_pipe)
    if handle is not None:
        if handle.decoder.released:
            raise HeadroomError("release=True: the VAE has no weights of its own any more; load it again")
        handle._restore()
        handle.decoder.free()


def handle_of(vae_or_pipe: Any) -> Handle | None:
    """The handle of an enabled VAE; None of another."""
    installed = vars(loaded_vae_of(vae_or_pipe)).get("decode")
    return installed.handle if isinstance(installed, Decode) else None
