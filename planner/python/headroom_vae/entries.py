"""Replacements of a VAE's ``decode`` and ``encode``, which call its handle."""

from __future__ import annotations

import copy
import functools
import inspect
from typing import Any

from . import gate
from .errors import InputError
from .time_step import one_time_step

NO_GRAPH = "Headroom's decode and encode are not part of a compiled graph: without fullgraph=True they run between two graphs"


def not_compiled() -> None:
    """Makes torch.compile() end its graph before Headroom's calls, and leave their code alone. Called when torch is there."""
    import torch

    if not hasattr(Entry.__call__, "_torchdynamo_disable"):
        options = {"reason": NO_GRAPH} if "reason" in inspect.signature(torch.compiler.disable).parameters else {}
        Entry.__call__ = torch.compiler.disable(Entry.__call__, **options)


class Entry:
    """Replaces a method of a VAE and calls the handle's. A copy of the VAE gets its own replacement."""

    method = ""

    def __init__(self, handle: Any, earlier: Any = None):
        """`earlier`: an attribute of the VAE that shadowed the class's method before."""
        self.handle = handle
        self.earlier = earlier
        self.__doc__ = getattr(type(handle.vae), self.method).__doc__
        handle.sides[self.method].entry = self

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the VAE's own method."""
        return inspect.signature(getattr(type(self.handle.vae), self.method).__get__(self.handle.vae))

    def bound(self, positional: tuple, keywords: dict) -> tuple[Any, dict[str, Any]]:
        """The tensor of a call, and its other arguments by name."""
        vae, foreign = self.handle.vae, self.handle.known.foreign
        signature = inspect.signature(getattr(type(vae), self.method)) if foreign else _signature(self.handle, self.method)
        _, (_, given), *options = signature.bind(vae, *positional, **keywords).arguments.items()
        return given, dict(options)

    def __call__(self, *positional: Any, **keywords: Any) -> Any:
        handle = self.handle
        if not handle.known.foreign:
            return self.call(*positional, **keywords)
        own = functools.partial(handle._own(self.method), *positional, **keywords)
        return own() if handle.ended else handle.call_proven(self.method, *self.bound(positional, keywords), own)

    def __deepcopy__(self, memo: dict) -> Entry:
        return type(self)(copy.deepcopy(self.handle, memo), copy.deepcopy(self.earlier, memo))

    def __reduce__(self) -> tuple:
        return type(self), (self.handle,)


class Decode(Entry):
    method = "decode"

    def call(self, *positional: Any, **keywords: Any) -> Any:
        handle = self.handle
        z, options = self.bound(positional, keywords)
        conditions = {"return_dict": True, "generator": None, **options}
        return_dict, generator = conditions.pop("return_dict"), conditions.pop("generator")
        num_frames = conditions.pop("num_frames") if handle.model.frames_in_batch else None
        takes_step = handle.decoder.time_step is not None
        temb = conditions.pop("temb", None) if takes_step and one_time_step(conditions.get("temb")) else None
        unknown = [name for name, value in conditions.items() if value is not None]  # for example a mask
        if handle.ended or unknown:
            own = functools.partial(handle._original, z, return_dict, generator, num_frames=num_frames, **{"temb": temb, **conditions})
            return own() if handle.ended else handle._own_call("decode", gate.past_by_argument(unknown), own)
        if takes_step and temb is None:
            raise InputError("temb: expected a tensor with the time step of the decode, found none")
        return handle.decode(z, return_dict=return_dict, generator=generator, num_frames=num_frames, temb=temb)


class Encode(Entry):
    method = "encode"

    def call(self, *positional: Any, **keywords: Any) -> Any:
        handle = self.handle
        x, options = self.bound(positional, keywords)
        return_dict = options.pop("return_dict", True)
        unknown = [name for name, value in options.items() if value is not None]
        if handle.ended or unknown:
            own = functools.partial(handle._original_encode, *positional, **keywords)
            return own() if handle.ended else handle._own_call("encode", gate.past_by_argument(unknown), own)
        return handle.encode(x, return_dict=return_dict)


def _signature(handle: Any, method: str) -> inspect.Signature:
    """Signature of the VAE's own ``decode`` or ``encode``. Classes differ in names and in the order of options."""
    ours = "decode_frames" if method == "decode" and handle.model.frames_in_batch else method
    return _signature_of(getattr(type(handle.vae), method), getattr(type(handle), ours))


@functools.lru_cache(64)
def _signature_of(function: Any, ours: Any) -> inspect.Signature:
    own = inspect.signature(function)
    return own if "return_dict" in own.parameters else inspect.signature(ours)  # a decorator hides the real signature
