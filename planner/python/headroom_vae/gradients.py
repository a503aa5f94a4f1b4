"""Gradients of a picture or latent that Headroom made: backward runs the VAE's own code."""

from __future__ import annotations

import functools
from contextlib import contextmanager
from typing import Any, Callable, Iterator

Cell = tuple[dict[str, Any], str]
"""A module's dict of parameters, and a name in it."""


def with_gradients(made: Any, given: Any, cells: list[Cell], own: Callable[[Any], Any]) -> Any:
    """`made` as a differentiable function of the parameters in `cells`. `own` computes it again from `given` in the VAE's own code.

    So a call that needs no gradients stays within the limit, although PyTorch cannot know that. Gradient checkpointing has the same
    cost: a second run, in backward."""
    import torch

    kind = made.device.type
    autocast = torch.autocast(kind, torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind))
    given = given.clone() if given.is_inference() else given  # PyTorch does not save inference tensors
    return _recomputed().apply(made, cells, autocast, own, given, *(held[leaf] for held, leaf in cells))


@functools.cache
def _recomputed() -> Any:
    import torch

    class Recomputed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, made: Any, cells: list[Cell], autocast: Any, own: Callable[[Any], Any], given: Any, *parameters: Any) -> Any:
            ctx.save_for_backward(given, *parameters)  # PyTorch raises an error if one of them was changed in place until backward
            ctx.mark_dirty(made)  # returns the tensor itself, not a view, so that it may be changed in place
            ctx.rest = cells, autocast, own
            return made

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, gradient: Any) -> tuple:
            (cells, autocast, own), (given, *parameters) = ctx.rest, ctx.saved_tensors
            with _placed(cells, parameters), torch.enable_grad(), autocast:
                again = own(given)
                return *(None,) * 5, *torch.autograd.grad(again, parameters, gradient.to(again), allow_unused=True)

    return Recomputed


@contextmanager
def _placed(cells: list[Cell], parameters: list) -> Iterator[None]:
    """The parameters of the forward run are in their modules, for example those that functional_call() had put there."""
    before = [held[leaf] for held, leaf in cells]
    try:
        for (held, leaf), parameter in zip(cells, parameters):
            held[leaf] = parameter
        yield
    finally:
        for (held, leaf), parameter in zip(cells, before):
            held[leaf] = parameter
