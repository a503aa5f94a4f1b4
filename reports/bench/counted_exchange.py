"""What one rank hands to torch.distributed to send, counted by stated rules while ranks run others' code.

    with CountedExchange() as counted:
        vae.decode(latent)
    print(counted.sent_bytes, counted.calls)

Payload alone, of N ranks: what one rank has to send at the least, however the library routes it.

    isend         the tensor
    all_gather    its own tensor to each of N - 1 others
    all_reduce    2 (N - 1) / N of the tensor (a ring: its share of sums, then its share of results)
    broadcast     the tensor, of the rank that has it
    gather        its own tensor, of every rank but the one that collects

send() and batched messages are isend's. Any other collective is refused, so that nothing goes uncounted.
"""

import functools
import inspect
import math
from collections import Counter
from typing import Any, Callable

import torch
import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d

Arguments = dict[str, Any]
NO_RULE = ("all_gather_into_tensor", "all_to_all", "all_to_all_single", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter")


def tensor_bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def of_broadcast(given: Arguments, _: int) -> float:
    root = given.get("src", given.get("group_src"))
    return tensor_bytes(given["tensor"]) if root == dist.get_rank() else 0


def of_gather(given: Arguments, _: int) -> float:
    root = given.get("dst", given.get("group_dst"))
    return 0 if (root or 0) == dist.get_rank() else tensor_bytes(given["tensor"])


RULES: dict[str, Callable[[Arguments, int], float]] = {
    "isend": lambda given, _: tensor_bytes(given["tensor"]),
    "all_gather": lambda given, ranks: (ranks - 1) * tensor_bytes(given["tensor"]),
    "all_reduce": lambda given, ranks: 2 * (ranks - 1) / ranks * tensor_bytes(given["tensor"]),
    "broadcast": of_broadcast,
    "gather": of_gather,
}


class CountedExchange:
    def __init__(self) -> None:
        self.bytes_of: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self._originals: list[tuple[Any, str, Any]] = []

    @property
    def sent_bytes(self) -> int:
        return math.ceil(sum(self.bytes_of.values()))

    def _counting(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        parameters = inspect.signature(original)

        @functools.wraps(original)
        def counted(*words: Any, **named: Any) -> Any:
            given = parameters.bind(*words, **named).arguments
            self.calls[name] += 1
            self.bytes_of[name] += RULES[name](given, dist.get_world_size(given.get("group")))
            return original(*words, **named)

        return counted

    @staticmethod
    def _refusing(name: str) -> Callable[..., Any]:
        def refused(*_: Any, **__: Any) -> Any:
            raise RuntimeError(f"torch.distributed.{name}: expected a function that has a rule")

        return refused

    def __enter__(self) -> "CountedExchange":
        for name in (*RULES, *NO_RULE):
            original = getattr(c10d, name)
            wrapper = self._counting(name, original) if name in RULES else self._refusing(name)
            for module in (dist, c10d):  # batch_isend_irecv compares with the second's isend, and callers take the first's
                self._originals.append((module, name, getattr(module, name)))
                setattr(module, name, wrapper)
        return self

    def __exit__(self, *_: Any) -> None:
        for module, name, original in reversed(self._originals):
            setattr(module, name, original)
        self._originals.clear()
