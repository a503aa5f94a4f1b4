"""Cheap check before every decode that a module has not changed since its last full comparison."""

from __future__ import annotations

from itertools import chain
from operator import methodcaller
from typing import Any

from .changes import UNUSED_CHILDREN, compiled_modules, require_unchanged, used_modules
from .code_names import methods_of
from .described import config_text
from .errors import Unsupported
from .layers import LayerRules, require_plain_layers
from .parts import PartHook

UNREAD_CONFIG = ("_", "scaling_factor", "shift_factor", "latents_mean", "latents_std", "force_upcast", "sample_size")
"""Beginnings of keys of a config that a decode does not read."""

HOOK_NAMES = ("_hf_hook", "_diffusers_hook", "_internal_dict")


class Watch:
    """Snapshot of everything that require_unchanged() reads: dicts, and their values.

    holds() runs before every decode. So it compares all dicts in one list comparison, which tries identity first."""

    def __init__(self, module: Any, direction: str = "decode"):
        from torch.nn.modules import module as torch_module

        modules = [part for _, part in used_modules(module, direction)]
        self._objects = [*modules, *(vars(part)["processor"] for part in modules if "processor" in vars(part))]
        self._kinds = [*map(type, self._objects)]
        classes = {base for kind in (type(module), *self._kinds) for base in kind.__mro__ if base is not object}
        states = [vars(one) for one in self._objects if hasattr(one, "__dict__")]
        self._dicts = [*states, *(part._modules for part in (module, *modules)), *map(vars, classes)]
        self._values = _all_values(self._dicts)
        self._tensors = [held for part in modules for held in (part._parameters, part._buffers)]
        self._tensor_kinds = [*map(type, _all_values(self._tensors))]
        hooked = [*modules, *compiled_modules(module, direction)]
        self._hooks = [hooks for part in hooked for hooks in (part._forward_hooks, part._forward_pre_hooks)]
        self._hooks += [torch_module._global_forward_hooks, torch_module._global_forward_pre_hooks]
        self._copies = [(value, value.copy()) for held in states for key, value in held.items() if _may_change_inside(key, value)]
        self._own = vars(module)
        self._own_names = [*(methods_of(type(module), (direction,)).names - set(UNUSED_CHILDREN)), *HOOK_NAMES]
        self._own_values = [*map(self._own.get, self._own_names)]

    def holds(self) -> bool:
        try:
            return (
                all(type(hook) is PartHook for hook in _all_values(self._hooks))
                and [*map(type, self._objects)] == self._kinds
                and _all_values(self._dicts) == self._values
                and [*map(type, _all_values(self._tensors))] == self._tensor_kinds
                and all(value == copied for value, copied in self._copies)
                and [*map(self._own.get, self._own_names)] == self._own_values
            )
        except (RuntimeError, ValueError, TypeError):  # values that cannot be compared count as changed
            return False


def _all_values(dicts: list[Any]) -> list[Any]:
    return [*chain.from_iterable(map(methodcaller("values"), dicts))]


def _may_change_inside(key: str, value: Any) -> bool:
    return isinstance(value, (list, set, dict)) and (not key.startswith("_") or key == "_reversed_padding_repeated_twice")


class Guard:
    """Rejects changed modules. Compares a module fully at first, and again whenever its snapshot no longer holds.

    A module that is compared by `rules` is not of diffusers, even if it has a config. A proof by `prover` tells what other code computes."""

    def __init__(self, rules: LayerRules | None = None, direction: str = "decode", prover: Any = None) -> None:
        self._rules = rules
        self._prover = prover
        self._direction = direction
        self.watch: Watch | None = None
        self._config: dict[str, Any] | None = None

    def require(self, module: Any) -> None:
        """Raises Unsupported if the module was changed."""
        if self.watch is not None and self.watch.holds():
            return
        self.watch = None
        if self._prover is not None and self._prover.foreign:
            self._prover.start(module)
        elif self._rules is None and hasattr(module, "config"):
            self._require_config(module)
            try:
                require_unchanged(module, self._direction)
            except Unsupported as refused:
                if self._prover is None or not refused.provable:
                    raise
                self._prover.start(module, refused)
        else:
            require_plain_layers(module, self._rules or LayerRules(), self._direction)
        self.watch = Watch(module, self._direction)

    def _require_config(self, module: Any) -> None:
        config_text(module)
        config = dict(module.config)
        before, self._config = self._config or config, self._config or config
        for key in before.keys() | config.keys():
            if not key.startswith(UNREAD_CONFIG) and before.get(key) != config.get(key):
                raise Unsupported(
                    f"config: {key} is {config.get(key)!r}, and was {before.get(key)!r} when the VAE was enabled. Call headroom_vae.enable() again"
                )
