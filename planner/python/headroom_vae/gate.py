"""Decides what happens to a tensor that an enabled VAE gets: Headroom serves it, the VAE's own code runs, or an error names the reason."""

from __future__ import annotations

import sys
import threading
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterable, Iterator

from .errors import HeadroomError, InputError

PACKAGE = str(Path(__file__).parent)

OUTSIDE = ("torch", "diffusers")
"""Packages between Headroom and the line that a warning points at."""

WITHOUT_GRADIENTS = "Call it under torch.no_grad() to stay within the limit"


@dataclass(frozen=True)
class Past:
    """A call that goes past Headroom."""

    reason: str
    """A few words for reports and counts."""
    advice: str = ""
    """A sentence that says how Headroom serves the call."""
    refused: str = ""
    """The error's message. Empty if the VAE's own code gives the right result."""

    def message(self, beginning: str) -> str:
        return f"{beginning}{self.reason}" + (f". {self.advice}" if self.advice else "")


def past(tensor: Any, name: str) -> Past | None:
    """None if Headroom serves `tensor`, the input of a decode or encode. `name` is what messages call it.

    Headroom reads values from memory. PyTorch must not record the call, and the tensor must be plain: dense, with storage."""
    import torch

    if torch._C._is_tracing():
        return Past("torch.jit.trace records the call")
    if not isinstance(tensor, torch.Tensor):
        if type(tensor).__module__.startswith("torch.fx."):
            return Past("torch.fx records the call")
        return _refused(name, "a torch tensor", type(tensor).__name__)
    if torch._C._len_torch_dispatch_stack():
        return Past(f"{_kind(torch._C._get_dispatch_stack_at(0))} is active")
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return Past("a transform of torch.func is active")
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return Past(f"the {name} is a {_kind(tensor)}")
    if torch._is_functional_tensor(tensor):
        return Past(f"the {name} is a functional tensor")
    if tensor.is_nested or tensor.layout is not torch.strided:
        return _refused(name, "a dense tensor", "a nested one" if tensor.is_nested else str(tensor.layout).removeprefix("torch."))
    if not tensor.is_floating_point():
        return _refused(name, "floating-point values", str(tensor.dtype).removeprefix("torch."))
    if tensor.is_meta:
        return _refused(name, "values", "none (device meta)")
    if not has_storage(tensor):
        return _refused(name, "values", "a tensor whose storage was freed")
    if torch._C._len_torch_function_stack() and not _only_default_device():
        return Past("a TorchFunctionMode is active")
    if tensor.requires_grad and are_recorded():
        return Past("gradients", f"The {name} requires gradients. {WITHOUT_GRADIENTS}")
    if _has_tangent(tensor):
        return Past("gradients", f"The {name} has a tangent of forward-mode differentiation")
    return None


def are_recorded() -> bool:
    """True if PyTorch records gradients."""
    import torch

    return torch.is_grad_enabled() and not torch.is_inference_mode_enabled()


def past_of_training(modules: Iterable[Any], trained: list) -> Past | None:
    """`trained` are the parameters that the call uses and that need gradients. `modules` are the VAE and its part that the call runs.
    Shallow copies of a VAE share the part and have a mode of their own."""
    if trained and any(module.training for module in modules):
        return Past("gradients", f"The VAE is in training mode. {WITHOUT_GRADIENTS}, or call vae.eval()")
    return None


def past_by_argument(names: Iterable[str]) -> Past:
    return Past(f"argument {', '.join(names)}", "Headroom does not know this argument")


def has_storage(tensor: Any) -> bool:
    """True if the memory behind a dense tensor covers its elements."""
    elements = tensor.numel()
    if elements and not tensor.is_contiguous():
        elements = 1 + sum((length - 1) * stride for length, stride in zip(tensor.shape, tensor.stride()))
    return not elements or tensor.untyped_storage().nbytes() >= (tensor.storage_offset() + elements) * tensor.element_size()


def _refused(name: str, expected: str, found: str) -> Past:
    return Past(f"not {expected}", refused=f"{name}: expected {expected}, found {found}")


def _kind(value: Any) -> str:
    return type(value).__name__


def _only_default_device() -> bool:
    """True if torch.set_default_device() or ``with torch.device(…)`` made all active function modes."""
    import torch
    from torch.utils._device import DeviceContext

    return all(type(torch._C._get_function_stack_at(at)) is DeviceContext for at in range(torch._C._len_torch_function_stack()))


def _has_tangent(tensor: Any) -> bool:
    from torch.autograd import forward_ad

    return forward_ad._current_level >= 0 and forward_ad.unpack_dual(tensor).tangent is not None


class OwnCalls:
    """Counts calls of a VAE's own code since it was enabled. Warns once of each kind."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self._warned: set[str] = set()
        self._running = threading.local()

    def note(self, direction: str, past: Past) -> None:
        self.counts[direction, past.reason] += 1
        message = past.message(f"{direction[:-1]}ing with the VAE's own {direction}, outside Headroom's limit: ")
        if message not in self._warned:
            self._warned.add(message)
            warn(message)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Within it, Headroom knows of the calls of the VAE's parts."""
        before, self._running.now = self.is_running, True
        try:
            yield
        finally:
            self._running.now = before

    @property
    def is_running(self) -> bool:
        return getattr(self._running, "now", False)

    def lines(self) -> tuple[str, ...]:
        """For reports."""
        return tuple(f"{count} {direction}{'s' if count > 1 else ''} by the VAE's own code, outside the limit: {reason}"
                     for (direction, reason), count in self.counts.items())  # fmt: skip


def warn(message: str) -> None:
    """Warns at the line outside this package that made the call, and outside PyTorch and diffusers."""
    level, frame = 1, sys._getframe()
    while frame is not None and (frame.f_code.co_filename.startswith(PACKAGE) or frame.f_globals.get("__name__", "").partition(".")[0] in OUTSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def require_served(found: Past | None) -> None:
    """Raises InputError for an input that Headroom does not serve."""
    if found is not None:
        raise InputError(found.refused or found.message("Headroom does not serve this call: "))


def with_items(error: HeadroomError, given: Any, name: str) -> HeadroomError:
    """An error about values that are not finite, with the item and the channel; ``finite`` has the items that are. Other errors are
    returned unchanged."""
    if " is not finite" not in str(error) or not str(error).startswith(("latent: element", "picture: element")):
        return error
    import torch

    values = given.detach()
    finite = torch.isfinite(values if values.dtype in (torch.float32, torch.float16, torch.bfloat16) else values.float())
    by_item = finite.flatten(1).all(1).tolist()
    if all(by_item):
        return error
    item = by_item.index(False)
    channel = finite[item].flatten(1).all(1).tolist().index(False)
    rest = [at for at, whole in enumerate(by_item) if whole]
    more = f"; finite: {', '.join(map(str, rest))} (error.finite)" if rest else ""
    named = type(error)(f"{name}: {str(error).partition(': ')[2]}: item {item} of {len(by_item)}, channel {channel}{more}")
    named.latents, named.finite = error.latents, tuple(rest)
    return named
