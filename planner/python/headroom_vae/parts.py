"""Notices calls of a VAE's decoder or encoder that go past an enabled VAE's ``decode`` and ``encode``."""

from __future__ import annotations

import weakref
from typing import Any, Iterator

from .compiled import followed
from .gate import Past

HANDLE = "_headroom"
"""Attribute of an enabled VAE: its handle, also under functions that others put over ``decode``."""

PARTS = {"decode": "decoder", "encode": "encoder"}


class Owner:
    """The VAE of a handle and its hooks. A pickled decoder takes it along without the VAE. A pickled VAE's handle sets it again."""

    def __init__(self, vae: Any = None):
        self.vae = weakref.ref(vae) if vae is not None else lambda: None

    def __deepcopy__(self, memo: dict) -> Owner:
        return Owner(memo.get(id(self.vae())))

    def __reduce__(self) -> tuple:
        return Owner, ()


class PartHook:
    """A forward pre-hook of ``vae.decoder`` or ``vae.encoder``. Changes nothing. A copy of the VAE gets its own hook."""

    def __init__(self, owner: Owner, direction: str):
        self._owner = owner
        self._direction = direction

    def __call__(self, module: Any, inputs: Any) -> None:
        import torch

        if torch.compiler.is_dynamo_compiling():
            self.note_of_graph()
        else:
            self._note(f"vae.{PARTS[self._direction]} ran without vae.{self._direction}()")

    def note_of_graph(self) -> bool:
        """torch.compile() calls it once while it records a graph, and leaves it out of the graph."""
        self._note(f"vae.{PARTS[self._direction]} is in a graph of torch.compile(), whose runs are not counted")
        return True

    def _note(self, reason: str) -> None:
        vae = self._owner.vae()
        handle = None if vae is None else vars(vae).get(HANDLE)
        if handle is not None and not handle.own_calls.is_running:
            handle.own_calls.note(self._direction, Past(reason))


def watch(vae: Any, owner: Owner, directions: tuple[str, ...]) -> None:
    """Puts a hook on the parts that these directions run, in place of earlier ones."""
    import torch

    torch.compiler.assume_constant_result(PartHook.note_of_graph)
    unwatch(vae)
    for direction, part in _parts(vae):
        if direction in directions:
            part.register_forward_pre_hook(PartHook(owner, direction))


def unwatch(vae: Any) -> None:
    for _, part in _parts(vae):
        hooks = part._forward_pre_hooks
        for key in [key for key, hook in hooks.items() if isinstance(hook, PartHook)]:
            del hooks[key]


def part_of(vae: Any, direction: str) -> Any:
    """The part that a direction runs. The VAE itself if it has no such part."""
    return dict(_parts(vae)).get(direction, vae)


def _parts(vae: Any) -> Iterator[tuple[str, Any]]:
    for direction, name in PARTS.items():
        part = vae._modules.get(name)
        if part is not None:
            yield direction, followed(part)
