"""Finds changes in modules without a config, such as ComfyUI's, by comparing their layers with those of known decoders and encoders."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, Iterator, Mapping

from .changes import (
    forward_hooks,
    global_hooks,
    is_plain,
    kind_of,
    raise_first,
    replaced_methods,
    replaced_on_instance,
    shown,
    used_modules,
)
from .code_names import CALLED, methods_of

PATCHES = ("weight_function", "bias_function")
"""Attributes in which ComfyUI lists functions that change a layer's weights on each run."""

FLAGS = ("give_pre_end", "tanh_out")
"""Flags of ComfyUI's decoders. With one of them set, a decoder returns something other than the picture."""


@dataclass(frozen=True)
class LayerRules:
    """How the convolutions of a family pad, where its modules have settings for it."""

    outside: bool = False
    """The modules around convolutions over frames pad, so the convolutions themselves do not."""
    padding_mode: str = "zeros"
    both_ends: bool = False
    """Kernels over frames read zeros at both ends of the clip, and norms before them have another epsilon."""
    norm: tuple[int, float] = (32, 1e-6)
    """Groups and epsilon of GroupNorms."""
    read: frozenset[str] | None = None
    """Names of the parameters that Headroom reads. Settings of a layer without any do not matter. None: all layers matter."""
    strided: Mapping[str, tuple] = field(default_factory=dict)
    """An encoder's kernels with a stride, as the model's strided() returns them."""


def require_plain_layers(vae: Any, rules: LayerRules = LayerRules(), direction: str = "decode") -> None:
    """Raises Unsupported with the first layer that computes something else than Headroom's decoder or encoder."""
    raise_first(_differences(vae, rules, direction), direction)


def _differences(vae: Any, rules: LayerRules, direction: str) -> Iterator[str]:
    yield from global_hooks()
    for name, module in used_modules(vae, direction):
        methods = methods_of(type(module), CALLED)
        yield from forward_hooks(name, module)
        yield from replaced_methods(name, methods)
        yield from replaced_on_instance(name, module, methods)
        for leaf, tensor in (*module._parameters.items(), *module._buffers.items()):
            if tensor is not None and not is_plain(tensor):
                yield f"{name}: {leaf} is {kind_of(tensor)}, expected plain values"
        parameters = {f"{name}.{leaf}" for leaf in module._parameters}
        if parameters and rules.read is not None and not parameters & rules.read:
            continue  # for example a convolution over frames in a VAE of pictures
        yield from _of_settings(name, module, rules, direction)


def _of_settings(name: str, module: Any, rules: LayerRules, direction: str) -> Iterator[str]:
    package = type(module).__module__.partition(".")[0]
    for key, value in vars(module).items():  # for example an attention function passed to a block's constructor
        if isinstance(value, FunctionType) and value.__module__.partition(".")[0] not in (package, "torch"):
            yield f"{name}: {key} is {shown(value)}, expected a function of {package}"
    settings = _expected(name, module, rules) | (_expected_of_encoder(name, module, rules) if direction == "encode" else {})
    for key, expected in settings.items():
        found = vars(module).get(key, expected)
        if found != expected:
            yield f"{name}: {key} is {shown(found)}, expected {shown(expected)}"


def _expected(name: str, module: Any, rules: LayerRules) -> dict[str, Any]:
    """Expected values of a layer's settings. A layer may lack some of them."""
    import torch

    expected: dict[str, Any] = {
        **{key: [] for key in PATCHES if vars(module).get(key) is not None}, **dict.fromkeys(FLAGS, False), "merge_strategy": "learned",
    }  # fmt: skip
    if isinstance(module, torch.nn.modules.conv._ConvNd):
        kernel = tuple(module.weight.shape[2:])
        same = tuple(length // 2 for length in kernel)
        axes = len(kernel)
        mode = rules.padding_mode if max(kernel) > 1 else "zeros"
        expected |= {"kernel_size": kernel, "stride": (1,) * axes, "dilation": (1,) * axes, "groups": 1, "padding_mode": mode, "padding": same,
                     "transposed": False}  # fmt: skip
        if axes == 3 and rules.both_ends:
            pass
        elif axes == 3 and isinstance(vars(module).get("_padding"), tuple):  # causal convolution: pads by itself, only before the first frame
            expected |= {"padding": (0, 0, 0), "_padding": (*(same[2],) * 2, *(same[1],) * 2, kernel[0] - 1, 0)}
        elif axes == 3 and rules.outside:
            expected["padding"] = (0, 0, 0)
        elif axes == 3:
            expected |= {"padding": (0, *same[1:]), "_padding": kernel[0] - 1}
    elif isinstance(module, torch.nn.GroupNorm):
        groups, epsilon = rules.norm
        expected |= {"num_groups": groups, "eps": 1e-5 if rules.both_ends and ".time_stack." in name else epsilon}
    elif isinstance(module, torch.nn.LayerNorm):
        expected |= {"eps": 1e-6}
    elif isinstance(module, torch.nn.Upsample):
        both = (2.0, 2.0) if isinstance(module.scale_factor, tuple) else 2.0
        exact = module.mode if module.mode in ("nearest", "nearest-exact") else "nearest"  # equal at a whole factor
        expected |= {"scale_factor": both, "size": None, "mode": exact}
    elif "gamma" in module._parameters:
        expected |= {"scale": module.gamma.numel() ** 0.5, "channel_first": True}
    return expected


def _expected_of_encoder(name: str, module: Any, rules: LayerRules) -> dict[str, Any]:
    """Like _expected(), of settings that only an encoder's layers have."""
    import torch

    expected: dict[str, Any] = {}
    if isinstance(module, torch.nn.modules.conv._ConvNd) and f"{name}.weight" in rules.strided:
        stride, padded_outside = rules.strided[f"{name}.weight"]
        around = vars(module).get("_padding")
        expected = {"stride": stride[-len(module.kernel_size) :]}
        if padded_outside:
            expected |= {
                "padding_mode": "zeros",
                "padding": (0,) * len(module.kernel_size),
                "_padding": (0,) * len(around) if isinstance(around, tuple) else 0,
            }
    if isinstance(module, torch.nn.ZeroPad2d):
        expected["padding"] = (0, 1, 0, 1)
    if isinstance(vars(module).get("sample"), bool):  # of a regularisation, which makes the latent from the distribution
        expected["sample"] = False
    return expected
