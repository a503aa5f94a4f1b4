"""What a module's code would ask for, counted without having it: its tensors have shapes and no values.

    with torch.device("meta"), CountedMemory() as counted: decoder(latent)
    counted.peak_bytes
"""

import weakref
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class CountedMemory(TorchDispatchMode):
    """Bytes of all storages that operations made and that are still held, and the most at one time.

    What an operation takes for itself while it runs is not seen: `peak_bytes` is the least that the code asks for.
    """

    def __init__(self) -> None:
        super().__init__()
        self.live_bytes = self.peak_bytes = 0
        self._known = weakref.WeakSet()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        results = function(*args, **(kwargs or {}))
        for tensor in tree_leaves((args, kwargs or {})):
            if isinstance(tensor, torch.Tensor):
                self._known.add(tensor.untyped_storage())  # there before, or counted when it was made
        for tensor in tree_leaves(results):
            if isinstance(tensor, torch.Tensor):
                self._count(tensor.untyped_storage())
        return results

    def _count(self, storage: torch.UntypedStorage) -> None:
        if storage in self._known:
            return
        self._known.add(storage)
        size = storage.nbytes()
        weakref.finalize(storage, self._free, size)
        self.live_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)

    def _free(self, size: int) -> None:
        self.live_bytes -= size
