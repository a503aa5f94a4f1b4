"""Random changes of a VAE: attributes, methods and hooks of all modules that decode, and weight values."""

from __future__ import annotations

import contextlib
import functools
import inspect
import random
import types
from dataclasses import dataclass
from typing import Any, Callable
from unittest import mock

import torch

UNUSED = ("encoder", "quant_conv")
BOOKKEEPING = frozenset(vars(torch.nn.Module()))
MODES = ("zeros", "circular", "reflect", "replicate", "constant", "nearest", "bilinear", "default", "spatial", "up", "rms_norm", "batch_norm")


@dataclass
class Change:
    what: str
    apply: Callable[[], Any]
    undo: Callable[[], Any] = lambda: None
    """For changes of what other VAEs have, too."""


def modules_of(vae: torch.nn.Module) -> dict[str, torch.nn.Module]:
    return {name: module for name, module in vae.named_modules() if name and name.split(".")[0] not in UNUSED and "condition_encoder" not in name}


def draw(vae: torch.nn.Module, rng: random.Random) -> Change:
    kinds = (attribute, attribute, attribute, method, method, class_method, subclass, hook, wrapper, structure, values, values, values, processor, of_vae)
    while True:
        change = rng.choice(kinds)(vae, rng)
        if change is not None:
            return change


def attribute(vae, rng):
    name, module = rng.choice([*modules_of(vae).items()])
    keys = [key for key in vars(module) if key not in BOOKKEEPING]
    if not keys:
        return None
    key = rng.choice(keys)
    value = other_value(vars(module)[key], rng)
    return Change(f"{name}.{key} = {value!r}", lambda: vars(module).__setitem__(key, value))


def other_value(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice((1, 2, value or 1))
    if isinstance(value, float):
        return value * 1.5 + 0.25
    if isinstance(value, str):
        return rng.choice([mode for mode in MODES if mode != value])
    if isinstance(value, (tuple, list)) and value:
        changed = list(value)
        at = rng.randrange(len(changed))
        changed[at] = other_value(changed[at], rng)
        return type(value)(changed) if type(value) in (tuple, list) else tuple(changed)
    return 1 if value is None else lambda *arguments, **_: arguments[0]


def methods(cls: type) -> list[str]:
    own = [name for name in dir(cls) if not name.startswith("__") or name == "__call__"]
    return [name for name in own if isinstance(inspect.getattr_static(cls, name), types.FunctionType)]


def doubled(result: Any) -> Any:
    if isinstance(result, torch.Tensor):
        return result * 1.25
    if hasattr(result, "sample") and hasattr(result, "keys"):
        return type(result)(sample=doubled(result.sample))
    return type(result)(map(doubled, result)) if isinstance(result, (tuple, list)) else result


def method(vae, rng):
    name, module = rng.choice([*modules_of(vae).items()])
    key = rng.choice([rng.choice(methods(type(module))), "forward"])
    own = getattr(module, key)
    return Change(f"{name}.{key} replaced", lambda: vars(module).__setitem__(key, functools.wraps(own)(lambda *a, **k: doubled(own(*a, **k)))))


def class_method(vae, rng):
    name, module = rng.choice([*modules_of(vae).items()])
    owner = rng.choice([base for base in type(module).__mro__ if base is not object and "forward" in vars(base)])
    own = vars(owner)["forward"]
    patch = mock.patch.object(owner, "forward", functools.wraps(own)(lambda *a, **k: doubled(own(*a, **k))))
    return Change(f"{owner.__name__}.forward patched, as of {name}", patch.start, patch.stop)


def of_vae(vae, rng):
    """Changes the VAE object itself, but not its tiling and slicing."""
    name = type(vae).__name__
    if rng.random() < 0.5:
        keys = [key for key in vars(vae) if key not in BOOKKEEPING and key != "decode" and not key.startswith(("_", "use_", "tile_", "num_"))]
        if not keys:
            return None
        key = rng.choice(keys)
        value = other_value(vars(vae)[key], rng)
        return Change(f"{name}: {key} = {value!r}", lambda: vars(vae).__setitem__(key, value))
    key = rng.choice([name for name in methods(type(vae)) if name != "decode"] + ["_decode"] * 20)
    own = getattr(vae, key)
    return Change(f"{name}: {key} replaced", lambda: vars(vae).__setitem__(key, functools.wraps(own)(lambda *a, **k: doubled(own(*a, **k)))))


def subclass(vae, rng):
    name, module = rng.choice([*modules_of(vae).items()])
    base = type(module)

    def forward(self, *a, **k):
        return doubled(base.forward(self, *a, **k))

    return Change(f"{name} of a class of its own", lambda: setattr(module, "__class__", type(f"My{base.__name__}", (base,), {"forward": forward})))


def hook(vae, rng):
    name, module = rng.choice([*modules_of(vae).items()])
    choices = {
        "forward hook": lambda: module.register_forward_hook(lambda _, __, output: doubled(output)),
        "forward pre-hook": lambda: module.register_forward_pre_hook(lambda _, inputs: doubled(inputs)),
        "watching hook": lambda: module.register_forward_hook(lambda *_: None),
        "backward hook": lambda: module.register_full_backward_hook(lambda *_: None),
    }
    what = rng.choice([*choices])
    return Change(f"{name}: {what}", choices[what])


class Wrapped(torch.nn.Module):
    """Wraps a layer like adapters do."""

    def __init__(self, layer):
        super().__init__()
        self.base_layer = layer

    def forward(self, *a, **k):
        return doubled(self.base_layer(*a, **k))


def put(vae, name, module):
    path, _, leaf = name.rpartition(".")
    (vae.get_submodule(path) if path else vae)._modules[leaf] = module


def wrapper(vae, rng):
    name, module = rng.choice([*modules_of(vae).items()])
    choices = {"Wrapped": lambda: put(vae, name, Wrapped(module)), "Identity": lambda: put(vae, name, torch.nn.Identity()),
               "Sequential": lambda: put(vae, name, torch.nn.Sequential(module)), "None": lambda: put(vae, name, None)}  # fmt: skip
    if getattr(module, "weight", None) is not None:
        choices["weight_norm"] = lambda: torch.nn.utils.weight_norm(module)
        choices["parametrised"] = lambda: torch.nn.utils.parametrize.register_parametrization(module, "weight", torch.nn.Tanh())
    what = rng.choice([*choices])
    return Change(f"{name}: {what}", choices[what])


def structure(vae, rng):
    lists = {name: module for name, module in modules_of(vae).items() if isinstance(module, (torch.nn.ModuleList, torch.nn.Sequential)) and len(module)}
    if not lists:
        return None
    name, module = rng.choice([*lists.items()])
    choices = {"one more": lambda: module.append(torch.nn.Identity()), "one less": lambda: module._modules.popitem(),
               "another order": lambda: [module._modules.move_to_end(key) for key in [*module._modules][:-1]] if hasattr(module._modules, "move_to_end")
               else module._modules.update({key: module._modules.pop(key) for key in [*module._modules][:-1]})}  # fmt: skip
    what = rng.choice([*choices])
    return Change(f"{name}: {what}", choices[what])


def processor(vae, rng):
    from diffusers.models import attention_processor as processors

    found = {name: module for name, module in modules_of(vae).items() if hasattr(module, "set_processor") or "processor" in vars(module)}
    if not found:
        return None
    name, module = rng.choice([*found.items()])

    class Mine(type(module.processor)):
        def __call__(self, *a, **k):
            return doubled(super().__call__(*a, **k))

    made = rng.choice([processors.AttnProcessor, processors.AttnProcessor2_0, Mine])
    if made is not Mine and "Multiscale" in type(module).__name__:
        return None
    return Change(f"{name}: {made.__name__}", lambda: setattr(module, "processor", made()))


def values(vae, rng):
    tensors = {f"{name}.{leaf}": tensor for name, module in modules_of(vae).items() for leaf, tensor in module.named_parameters(recurse=False)}
    name, tensor = rng.choice([*tensors.items()])
    alike = [other for other in tensors.values() if other.shape == tensor.shape and other is not tensor]
    owner, _, leaf = name.rpartition(".")
    flat = tensor.data.view(-1)
    order = torch.randperm(len(flat), generator=torch.Generator().manual_seed(rng.randrange(1 << 30)))

    def exchange(other):
        kept = tensor.data.clone()
        tensor.data.copy_(other.data)
        other.data.copy_(kept)

    choices = {
        "copy_": lambda: tensor.data.copy_(tensor.data * 1.3),
        "+=": lambda: tensor.data.add_(0.3),
        "neg": lambda: tensor.data.neg_(),
        "one value": lambda: flat[rng.randrange(len(flat))].add_(0.7),
        "permuted": lambda: flat.copy_(flat[order]),
        "numpy": lambda: tensor.detach().numpy().__imul__(0.7),
        "data =": lambda: setattr(tensor, "data", tensor.data * 0.6),
        "parameter": lambda: setattr(vae.get_submodule(owner), leaf, torch.nn.Parameter(tensor.data * 0.8)),
        "loaded": lambda: vae.load_state_dict({name: tensor.data * 1.2}, strict=False),
        "counted": lambda: tensor.mul_(1.1),
    }
    if alike:
        choices["exchanged"] = lambda other=rng.choice(alike): exchange(other)
    what = rng.choice([*choices])
    return Change(f"{name}: {what}", choices[what])


@contextlib.contextmanager
def applied(change: Change):
    change.apply()
    try:
        yield
    finally:
        change.undo()
