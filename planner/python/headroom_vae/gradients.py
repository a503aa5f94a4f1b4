"""Gradients of a picture or latent that Headroom made: backward runs the VAE's own code."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Iterator

Cell = tuple[dict[str, Any], str]
"""A module's dict of parameters, and a name in it."""


def with_gradients(made: Any, cells: list[Cell], own: Callable[[], Any]) -> Any:
    """`made` as a differentiable function of the parameters in `cells`. `own` computes it again in the VAE's own code.

    So a call that needs no gradients stays within the limit, although PyTorch cannot know that. Gradient checkpointing has the same
    cost: a second run, in backward."""
    import torch

    kind = made.device.type
    autocast = torch.autocast(kind, torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind))

    class Recomputed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, made: Any, *parameters: Any) -> Any:
            ctx.save_for_backward(*parameters)
            ctx.mark_dirty(made)  # returns the tensor itself, not a view, so that it may be changed in place
            return made

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, gradient: Any) -> tuple:
            parameters = ctx.saved_tensors
            with _placed(cells, parameters), torch.enable_grad(), autocast:
                again = own()
                return None, *torch.autograd.grad(again, parameters, gradient.to(again), allow_unused=True)

    return Recomputed.apply(made, *(held[leaf] for held, leaf in cells))


@contextmanager
def _placed(cells: list[Cell], parameters: tuple) -> Iterator[None]:
    """The parameters of the forward run are in their modules, for example those that functional_call() had put there."""
    before = [held[leaf] for held, leaf in cells]
    try:
        for (held, leaf), parameter in zip(cells, parameters):
            held[leaf] = parameter
        yield
    finally:
        for (held, leaf), parameter in zip(cells, before):
            held[leaf] = parameter
