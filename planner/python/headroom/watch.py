"""Whether a module is still as it was when it was last compared with what its class makes. Cheap, for every decode."""

from __future__ import annotations

from typing import Any

from .changes import decoding_modules, require_unchanged
from .code_names import methods_of
from .described import config_text
from .errors import Unsupported
from .layers import require_plain_layers

UNREAD_CONFIG = ("_", "scaling_factor", "shift_factor", "latents_mean", "latents_std", "force_upcast", "sample_size")
"""Beginnings of keys of a config that a decode does not read."""

HOOK_NAMES = ("_hf_hook", "_diffusers_hook", "_internal_dict")


class Watch:
    """Has all that require_unchanged() looks at: dicts with the values that they had, which are compared by identity first."""

    def __init__(self, module: Any):
        from torch.nn.modules import module as torch_module

        modules = [part for _, part in decoding_modules(module)]
        self._dicts = [(vars(part), _values(vars(part))) for part in modules]
        self._dicts += [(part._modules, _values(part._modules)) for part in (module, *modules)]
        self._tensors = [(held, [*map(type, held.values())]) for part in modules for held in (part._parameters, part._buffers)]
        self._objects = [*modules, *(vars(part)["processor"] for part in modules if "processor" in vars(part))]
        self._kinds = [*map(type, self._objects)]
        self._hooks = [hooks for part in modules for hooks in (part._forward_hooks, part._forward_pre_hooks)]
        self._hooks += [torch_module._global_forward_hooks, torch_module._global_forward_pre_hooks]
        self._copies: list[tuple[Any, Any]] = []
        for part in modules:
            for key, value in vars(part).items():
                self._watch_value(key, value)
        classes = {base for part in (module, *modules) for base in type(part).__mro__ if base is not object}
        self._classes = [(vars(base), _values(vars(base))) for base in classes]
        self._own = vars(module)
        self._own_names = [*methods_of(type(module), ("decode",)).names, *HOOK_NAMES]
        self._own_names.remove("decode")
        self._own_values = [*map(self._own.get, self._own_names)]

    def _watch_value(self, key: str, value: Any) -> None:
        if isinstance(value, (list, set, dict)):
            if not key.startswith("_") or key == "_reversed_padding_repeated_twice":
                self._copies.append((value, value.copy()))
        elif key == "processor" and hasattr(value, "__dict__"):
            self._dicts.append((vars(value), _values(vars(value))))
            self._dicts.extend((vars(base), _values(vars(base))) for base in type(value).__mro__ if base is not object)

    def holds(self) -> bool:
        try:
            return (
                not any(self._hooks)
                and [*map(type, self._objects)] == self._kinds
                and all(tuple(held.values()) == values for held, values in self._dicts)
                and all([*map(type, held.values())] == types for held, types in self._tensors)
                and all(tuple(held.values()) == values for held, values in self._classes)
                and all(value == copied for value, copied in self._copies)
                and [*map(self._own.get, self._own_names)] == self._own_values
            )
        except (RuntimeError, ValueError, TypeError):  # values that cannot be compared are other ones
            return False


def _values(held: Any) -> tuple:
    return tuple(held.values())


class Guard:
    """Refuses a module that was changed, at the first decode by name, and then when something of it is not as it was."""

    def __init__(self) -> None:
        self.watch: Watch | None = None
        self._config: dict[str, Any] | None = None

    def require(self, module: Any) -> None:
        """Raises Unsupported."""
        if self.watch is not None and self.watch.holds():
            return
        self.watch = None
        if hasattr(module, "config"):
            self._require_config(module)
            require_unchanged(module)
        else:
            require_plain_layers(module)
        self.watch = Watch(module)

    def _require_config(self, module: Any) -> None:
        config_text(module)
        config = dict(module.config)
        before, self._config = self._config or config, self._config or config
        for key in before.keys() | config.keys():
            if not key.startswith(UNREAD_CONFIG) and before.get(key) != config.get(key):
                raise Unsupported(
                    f"config: {key} is {config.get(key)!r}, and was {before.get(key)!r} when the VAE was enabled. Call headroom.enable() again"
                )
