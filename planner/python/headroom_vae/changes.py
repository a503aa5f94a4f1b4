"""Finds how a VAE's modules differ from those that its class makes.

The decoder knows a VAE by its config and its parameters. It must reject anything else
that changes the picture, such as a hook or another padding. The error names the change.
"""

from __future__ import annotations

import functools
import inspect
import types
from numbers import Number
from typing import Any, Iterator

from .code_names import CALLED, Methods, methods_of
from .compiled import followed, is_compiled_method, is_own, uncompiled
from .described import SUPPORTED_CLASSES
from .errors import Unsupported
from .offloading import foreign_hook, is_hooked_forward
from .parts import PartHook

UNUSED_CHILDREN = {"decode": ("encoder", "quant_conv", "taesd_encoder"), "encode": ("decoder", "post_quant_conv", "taesd_decoder")}
"""Modules of a VAE that a decode or an encode does not run."""

UNUSED_PARTS = ("condition_encoder",)
"""Parts of decoders that run with a mask only."""

IGNORED_STATE = frozenset({
    "_backward_hooks", "_backward_pre_hooks", "_buffers", "_compiled_call_impl", "_forward_hooks", "_forward_hooks_always_called",
    "_forward_hooks_with_kwargs", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_gradient_checkpointing_func",
    "_is_full_backward_hook", "_load_state_dict_post_hooks", "_load_state_dict_pre_hooks", "_modules", "_non_persistent_buffers_set",
    "_parameters", "_state_dict_hooks", "_state_dict_pre_hooks", "fused_projections", "gradient_checkpointing", "training",
})  # fmt: skip
"""Attributes that are compared by themselves, or that do not change the picture."""

OPTIONS_OF_VAES = ("use_", "tile_", "num_sample_frames_", "num_latent_frames_", "_feat_map", "_conv_", "_enc_", "_internal_dict", "_hf_hook")
"""Attributes of a whole VAE that choose how it splits up a decode, that hold the state of one, or that are looked at elsewhere."""

RUNS_OF_FRAMES = "num_latent_frames_"
"""A VAE without the switch ``use_framewise_decoding`` always decodes so many latent frames at a time, and its norms see no others. A proof
with few frames does not show it."""

EQUIVALENT_PROCESSORS = frozenset({
    "AttnProcessor", "AttnProcessor2_0", "AttnProcessorNPU", "FusedAttnProcessor2_0", "SlicedAttnProcessor", "XFormersAttnProcessor",
    "XLAFlashAttnProcessor2_0",
})  # fmt: skip
"""diffusers' processors that compute the same attention."""

FUSED_PROCESSOR = "FusedAttnProcessor2_0"
"""The processor that reads the projections from `to_qkv`."""


def is_fused(module: Any) -> bool:
    return type(vars(module).get("processor")).__name__ == FUSED_PROCESSOR and module._modules.get("to_qkv") is not None


def used_modules(vae: Any, direction: str = "decode") -> Iterator[tuple[str, Any]]:
    """Names and modules that a decode or an encode runs, except the VAE itself. Looks inside compiled modules."""
    for name, child in vae._modules.items():
        if name not in UNUSED_CHILDREN[direction] and child is not None:
            yield from _within(name, child)


def _within(name: str, module: Any) -> Iterator[tuple[str, Any]]:
    module = followed(module)
    yield name, module
    for leaf, child in module._modules.items():
        if child is not None and leaf not in UNUSED_PARTS:
            yield from _within(f"{name}.{leaf}", child)


def compiled_modules(vae: Any, direction: str = "decode") -> Iterator[Any]:
    """Modules that torch.compile() made from modules of a decode or an encode."""
    parents = [vae, *(module for _, module in used_modules(vae, direction))]
    for leaf, child in (item for parent in parents for item in parent._modules.items()):
        if child is not None and leaf not in UNUSED_CHILDREN[direction] and followed(child) is not child:
            yield child


def is_compiled(vae: Any, direction: str = "decode") -> bool:
    """True if torch.compile() made a module of a decode or encode, its calls, or a method that runs."""
    if any(True for _ in compiled_modules(vae, direction)):
        return True
    callers = [(vae, (direction,)), *((module, CALLED) for _, module in used_modules(vae, direction))]
    return any(
        vars(module).get("_compiled_call_impl") is not None or any(is_compiled_method(module, name) for name in methods_of(type(module), called).functions)
        for module, called in callers
    )


class Unprovable(str):
    """A difference that no comparison of pictures can clear: a hook may do something else in another call, and the values of further
    parameters, such as an adapter's, may change."""


def made_class(vae: Any) -> type:
    """The supported class of a VAE, or the one that its class derives from."""
    bases = [base for base in type(vae).__mro__ if base.__name__ in SUPPORTED_CLASSES]
    return next((base for base in bases if base.__module__.startswith("diffusers.")), bases[0])


def made_anew(vae: Any) -> Any:
    """A new VAE of the same class and config, on the meta device (no memory for values)."""
    import torch

    cls = made_class(vae)
    known = inspect.signature(cls.__init__).parameters
    with torch.device("meta"):
        return cls(**{key: value for key, value in vae.config.items() if key in known})


def require_unchanged(vae: Any, direction: str = "decode") -> None:
    """Compares what a VAE's decode or encode uses with a new VAE of its class. Raises Unsupported with the first difference. It is
    `provable` if all differences are."""
    cls = made_class(vae)
    raise_first(_differences(vae, made_anew(vae), cls.__name__, direction), direction)


def raise_first(differences: Iterator[str], direction: str) -> None:
    found = list(differences)
    if found:
        more = f" ({len(found) - 1} more such differences)" if len(found) > 1 else ""
        undo = "Merge the adapter into the weights" if " is peft." in found[0] else "Undo it"
        refused = Unsupported(f"{found[0]}{more}. The {direction} would ignore this. {undo}, or {direction} without Headroom")
        refused.provable = not any(isinstance(one, Unprovable) for one in found)
        raise refused


def _differences(vae: Any, made: Any, makes: str, direction: str) -> Iterator[str]:
    yield from global_hooks()
    yield from _of_vae(vae, made, makes, direction)
    for name, expected in made._modules.items():
        if name not in UNUSED_CHILDREN[direction]:
            yield from _of_modules(name, vae._modules.get(name), expected, makes)


def global_hooks() -> Iterator[str]:
    from torch.nn.modules import module

    for kind in ("_global_forward_hooks", "_global_forward_pre_hooks"):
        for hook in getattr(module, kind, {}).values():
            yield Unprovable(f"all modules: a forward hook, {shown(hook)}")


def _of_vae(vae: Any, made: Any, makes: str, direction: str) -> Iterator[str]:
    """Changes to the VAE itself, in methods and attributes that its own decode or encode uses."""
    methods = methods_of(type(made), (direction,))
    yield from replaced_methods(makes, methods)
    for name in methods.functions:
        if name != "__init__" and inspect.getattr_static(type(vae), name) is not inspect.getattr_static(type(made), name):
            other = f"{type(vae).__name__}: {name} is another one than {makes}'s"
            yield Unprovable(other) if name == direction else other
    own, expected = vars(vae), vars(made)
    for key in sorted(methods.names & (set(own) | set(expected))):
        runs = key.startswith(RUNS_OF_FRAMES) and not hasattr(vae, "use_framewise_decoding")
        if key in UNUSED_CHILDREN or key in IGNORED_STATE or key.startswith(OPTIONS_OF_VAES) and not runs or is_own(vae, key, own.get(key)):
            continue
        for difference in _of_attribute(makes, key, own, expected, makes):
            yield Unprovable(difference) if runs else _difference(difference, vae, own.get(key))


def _difference(text: str, module: Any, function: Any) -> str:
    """Cannot be proven if the function is a method of another object: that one's weights may change by themselves."""
    return Unprovable(text) if getattr(uncompiled(function), "__self__", module) is not module else text


def _other_module(text: str, module: Any, expected: Any) -> str:
    """Cannot be proven if the module has more tensors than expected."""
    names = [set() if one is None else set(one.state_dict()) for one in (module, expected)]
    return Unprovable(text) if names[0] - names[1] else text


def _of_modules(name: str, module: Any, expected: Any, makes: str) -> Iterator[str]:
    if module is None or expected is None:
        if module is not expected:
            yield _other_module(f"{name} is {kind_of(module)}, {makes} makes {kind_of(expected)}", module, expected)
        return
    yield from forward_hooks(name, module)
    compiled, module = module, followed(module)
    if compiled is not module:
        yield from forward_hooks(name, module)
    if type(module) is not type(expected):
        yield _other_module(f"{name} is {kind_of(module)}, {makes} makes {kind_of(expected)}", module, expected)
        return
    methods = methods_of(type(module), CALLED)
    yield from replaced_methods(name, methods)
    yield from replaced_on_instance(name, module, methods)
    yield from _of_tensors(name, module, expected, makes)
    own, made = vars(module), vars(expected)
    for key in made:
        if key not in IGNORED_STATE:
            yield from _of_attribute(name, key, own, made, makes)
    for key in own:
        if key not in made and key in methods.names and key not in methods.functions and key not in IGNORED_STATE:
            yield from _of_attribute(name, key, own, made, makes)
    yield from _of_children(name, module, expected, makes)


def _of_children(name: str, module: Any, expected: Any, makes: str) -> Iterator[str]:
    own, made = module._modules, dict(expected._modules)
    if is_fused(module):
        made["to_qkv"] = _fused_projection(expected)
    for leaf in own:
        if leaf not in made and not (leaf == "to_qkv" and type(own[leaf]).__name__ == "Linear"):
            yield _other_module(f"{name}.{leaf} is {kind_of(own[leaf])}, {makes} makes none", own[leaf], None)
    for leaf, child in made.items():
        if leaf not in UNUSED_PARTS:
            yield from _of_modules(f"{name}.{leaf}", own.get(leaf), child, makes)
    if type(module).__name__ in ("Sequential", "ModuleList") and sorted(own) == sorted(made) and list(own) != list(made):
        yield f"{name}: its modules are in another order than {makes} makes them"


def _fused_projection(attention: Any) -> Any:
    import torch

    query = attention.to_q
    return torch.nn.Linear(query.in_features, 3 * query.out_features, bias=query.bias is not None, device="meta")


def _of_tensors(name: str, module: Any, expected: Any, makes: str) -> Iterator[str]:
    for kind, own, made in (("parameter", module._parameters, expected._parameters), ("buffer", module._buffers, expected._buffers)):
        for leaf in {**made, **own}:
            there, wanted = own.get(leaf) is not None, made.get(leaf) is not None
            if there != wanted and (there or leaf not in vars(module)):
                text = f"{name}: {'has' if there else 'lacks'} the {kind} {leaf}, unlike what {makes} makes"
                yield Unprovable(text) if there else text
    for leaf, tensor in (*module._parameters.items(), *module._buffers.items()):
        if tensor is not None and not is_plain(tensor):
            yield Unprovable(f"{name}: {leaf} is {kind_of(tensor)}, {makes} makes plain values")


def is_plain(tensor: Any) -> bool:
    """True if a tensor stores plain values. Quantisation libraries use tensor types with other formats."""
    import torch

    return type(tensor) in (torch.Tensor, torch.nn.Parameter)


def forward_hooks(name: str, module: Any) -> Iterator[str]:
    for hook in (*module._forward_pre_hooks.values(), *module._forward_hooks.values()):
        if not isinstance(hook, PartHook):
            yield Unprovable(f"{name}: a forward hook, {shown(hook)}")


def replaced_methods(name: str, methods: Methods) -> Iterator[str]:
    for method, function in methods.foreign:
        yield f"{name}: {method} was replaced by {shown(function)}"


def replaced_on_instance(name: str, module: Any, methods: Methods) -> Iterator[str]:
    for key, value in vars(module).items():
        if key in ("forward", "_old_forward"):
            if not is_hooked_forward(module, value) and not is_own(module, key, value):
                yield _difference(f"{name}: {key} was replaced by {shown(value)}", module, value)
        elif key in methods.functions and not is_own(module, key, value):
            yield _difference(f"{name}: {key} was replaced by {shown(value)}", module, value)
    hook = foreign_hook(module)
    if hook is not None:
        yield Unprovable(f"{name}: a forward hook, {shown(hook)}")


def _of_attribute(name: str, key: str, own: dict, made: dict, makes: str) -> Iterator[str]:
    if key not in own:
        yield f"{name}: {key} is missing, {makes} makes {shown(made[key])}"
    elif key not in made:
        yield f"{name}: {key} is {shown(own[key])}, {makes} makes none"
    elif not (_same_processor if key == "processor" else same)(own[key], made[key]):
        yield f"{name}: {key} is {shown(own[key])}, {makes} makes {shown(made[key])}"


def _same_processor(own: Any, made: Any) -> bool:
    of_diffusers = all(type(one).__module__ == "diffusers.models.attention_processor" for one in (own, made))
    if of_diffusers and {type(own).__name__, type(made).__name__} <= EQUIVALENT_PROCESSORS:
        methods = methods_of(type(own), ("__call__",))
        return not methods.foreign and not set(vars(own)) & methods.functions
    return same(own, made)


def same(a: Any, b: Any) -> bool:
    """True if two attributes have equal meaning."""
    if a is b:
        return True
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if type(a) is not type(b):
        return isinstance(a, Number) and isinstance(b, Number) and isinstance(a, bool) == isinstance(b, bool) and a == b
    if isinstance(a, types.FunctionType):
        return a.__code__ is b.__code__ and same(a.__defaults__, b.__defaults__) and same(_closure(a), _closure(b))
    if isinstance(a, types.MethodType):
        return a.__func__ is b.__func__
    if isinstance(a, functools.partial):
        return same((a.func, a.args, a.keywords), (b.func, b.args, b.keywords))
    if type(a).__eq__ is object.__eq__:
        return hasattr(a, "__dict__") and same(vars(a), vars(b)) and not methods_of(type(a), ("__call__",)).foreign
    try:
        return bool(a == b)
    except (RuntimeError, ValueError, TypeError):  # tensors and arrays
        return False


def _closure(function: types.FunctionType) -> tuple:
    return tuple(cell.cell_contents for cell in function.__closure__ or ())


def kind_of(value: Any) -> str:
    if value is None:
        return "None"
    kind = type(value)
    return kind.__name__ if kind.__module__.startswith(("torch.", "diffusers.")) else f"{kind.__module__}.{kind.__qualname__}"


def shown(value: Any) -> str:
    if isinstance(value, functools.partial):
        value = value.func
    if hasattr(value, "__qualname__"):
        return f"{getattr(value, '__module__', '')}.{value.__qualname__}".lstrip(".")
    if type(value).__repr__ is object.__repr__:
        return f"a {kind_of(value)}"
    text = repr(value).replace("\n", " ")
    return text if len(text) <= 60 else f"{text[:57]}..."
