"""Proves that a module's own code and Headroom compute the same: one tiny decode or encode runs through both.

Both run in fp32, also for weights of 16 bits. A small difference, such as another epsilon, would vanish in the rounding of 16 bits. A copy of
all weights in fp32 would take as much memory as a decode, so the module's code gets an fp32 copy of each 16-bit tensor when an operation reads
it, and Headroom reads the module's tensors by a plan of small memory. Decision 25 has the reasons.
"""

from __future__ import annotations

import copy
import inspect
import math
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any, Iterator

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from . import _core, parts
from .errors import HeadroomError, Unsupported
from .latents import picture_of, request_of
from .parameters import Parameters
from .tf32 import full_fp32
from .time_step import TimeStep

LARGEST_ERROR = 1e-4
"""The largest accepted difference, as a share of the largest magnitude of the module's own result."""

SIDES = (2, 4)
"""Rows and columns of the latent. The second is for code that cannot decode the first."""

FRAMES = 3
"""Frames of the latent of a clip. Code that decodes frame by frame treats the first, the second and the others differently."""

PLAN_BYTES = 64 << 20
"""Memory of Headroom's decode, if a plan fits it."""

LARGEST_EPSILON = 1e-2

RESULT_PARTS = ("sample", "latent_dist", "latent", "latents", "parameters")
"""Attributes in which objects keep the tensor of a decode or encode."""


@dataclass(frozen=True)
class Entry:
    """A scale and a shift of each channel, then perhaps patches that become pixels: the steps of a module's own decode before its first
    layer."""

    scale: Any = None
    shift: Any = None
    patches: tuple[int, int] | None = None

    def __call__(self, z: Any) -> Any:
        if self.scale is None:
            return z
        made = (z.detach().double() * self._of(self.scale, z) + self._of(self.shift, z)).float()
        return made if self.patches is None else _unfolded(made, *self.patches)

    def inverse(self, latent: Any) -> Any:
        """The same steps in reverse, as a module's own encode ends."""
        if self.scale is None:
            return latent
        made = (latent if self.patches is None else _folded(latent, *self.patches)).double()
        return ((made - self._of(self.shift, made)) / self._of(self.scale, made)).to(latent.dtype)

    def latent_shape(self, shape: list[int]) -> list[int]:
        """The shape of the first layer's input, for a latent of this shape."""
        if self.patches is None:
            return shape
        rows, columns = self.patches
        return [shape[0], shape[1] // (rows * columns), shape[2] * rows, shape[3] * columns]

    @staticmethod
    def _of(values: Any, like: Any) -> Any:
        return values.to(like.device).reshape(1, -1, *[1] * (like.dim() - 2))


@dataclass(frozen=True)
class Proof:
    """A call of a module's own code that Headroom computes, too."""

    error: float
    """The largest difference between both, of the largest magnitude."""
    entry: Entry
    returned: Any
    """The result of the module's own code."""

    def result(self, made: Any) -> Any:
        """Headroom's picture or latent in an object as the module's own code returns it."""
        return with_tensor(self.returned, self.tensor(made))

    def tensor(self, made: Any) -> Any:
        return _as_own(made, tensor_of(self.returned).shape[1], self.entry)


def prove(module: Any, model: _core.Model, decoding: _core.Model, options: dict[str, Any], entry: Entry | None = None) -> Proof:
    """Decodes or encodes through the module's own code, with these arguments, and through Headroom. Raises Unsupported with the largest
    difference. `decoding`: the model of the decode. `entry`: that of the module's decode, if it is known. None: finds it."""
    if model.frames_in_batch or TimeStep.of(module) is not None:
        raise Unsupported(f"{model.class_name}: Headroom knows only diffusers' own code of this class")
    parameters = Parameters(module, model)
    given, mode, returned = _own_result(module, model, decoding, options, parameters)
    theirs = tensor_of(returned)
    name = f"{type(module).__name__}.{model.direction}"
    if theirs is None:
        raise Unsupported(f"{name} returns {type(returned).__name__}: expected a tensor, or an object with one in {', '.join(RESULT_PARTS)}")
    if entry is None:
        entry = _entry(given, mode.entered, model)
    taken = entry(given) if model.direction == "decode" else given
    ours = _as_own(_ours(model, parameters, taken), theirs.shape[1] if theirs.dim() > 1 else 0, entry)
    if ours.shape != theirs.shape:
        raise Unsupported(f"{name} makes {_shape(theirs)} of {_shape(given)}, Headroom makes {_shape(ours)}")
    error = float((ours.to(theirs.device) - theirs).abs().max() / theirs.abs().max().clamp_min(1e-30))
    if not error <= LARGEST_ERROR:
        raise Unsupported(
            f"{name} and Headroom differ by {error:.1e} of the magnitude, for {_shape(given)}. At most {LARGEST_ERROR:.0e} is accepted: the code "
            f"of this class is another one than {model.class_name}'s"
        )
    others = sorted(found for found in mode.constants if not any(math.isclose(found, known, rel_tol=1e-6) for known in model.epsilons))
    if others:
        raise Unsupported(f"{name}: a norm adds {others[0]:g}, {model.class_name}'s norms add {' or '.join(f'{known:g}' for known in model.epsilons)}")
    return Proof(error, entry, returned)


def tensor_of(returned: Any) -> Any:
    """The picture or latent in what a decode or encode returned. None if there is none."""
    if isinstance(returned, torch.Tensor):
        return returned
    if isinstance(returned, (tuple, list)) and not hasattr(returned, "_fields"):
        return tensor_of(returned[0]) if len(returned) == 1 else None
    name = _part(returned)
    return None if name is None else tensor_of(getattr(returned, name))


def with_tensor(returned: Any, tensor: Any) -> Any:
    """A copy of `returned` with another tensor."""
    if isinstance(returned, torch.Tensor):
        return tensor
    if isinstance(returned, (tuple, list)):
        return type(returned)([with_tensor(returned[0], tensor)])
    name = _part(returned)
    if name == "parameters":  # a distribution, which computes its other attributes of them
        return type(returned)(tensor)
    made = copy.copy(returned)
    setattr(made, name, with_tensor(getattr(returned, name), tensor))
    return made


def _part(returned: Any) -> str | None:
    return next((name for name in RESULT_PARTS if getattr(returned, name, None) is not None and not callable(getattr(returned, name))), None)


def _shape(tensor: Any) -> str:
    return "×".join(map(str, tensor.shape))


def _own_result(module: Any, model: _core.Model, decoding: _core.Model, options: dict[str, Any], parameters: Parameters) -> tuple[Any, _Observed, Any]:
    """A seeded input that the module's own code accepts, what was seen in the run, and its result."""
    device, refused = parameters.running_device(), None
    for given in _inputs(decoding, model.direction):
        given, mode = given.to(device), _Observed(_first_kernel(module, model))
        try:
            with _undisturbed(module, device), _Fp32(), mode:
                return given, mode, getattr(type(module), model.direction)(module, given.clone(), **options)
        except Exception as failed:  # noqa: BLE001: whatever the module's code raises
            refused = refused or failed
    why = (str(refused).strip().splitlines() or [""])[0]
    raise Unsupported(f"{type(module).__name__}.{model.direction} fails for {_shape(given)}: {type(refused).__name__}: {why}")


def _inputs(decoding: _core.Model, direction: str) -> Iterator[Any]:
    patches = decoding.latent_patches
    for side in SIDES:
        shape = [1, decoding.latent_channels, *([FRAMES] if decoding.decodes_clips else []), side, side]
        if direction == "encode":
            _, shape = picture_of(decoding, shape)
        elif patches is not None:
            yield _seeded([1, shape[1] * patches[0] * patches[1], side, side])
        yield _seeded(shape)


def _seeded(shape: list[int]) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def _first_kernel(module: Any, model: _core.Model) -> tuple[int, ...]:
    tensors = module.state_dict()
    return next((tuple(tensors[name].shape) for name in model.read_names(list(tensors)) if tensors[name].dim() > 1), ())


class _Fp32(TorchFunctionMode):
    """Runs code in fp32, whatever the dtype of the weights."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if getattr(func, "__name__", "") == "__get__":  # an attribute of a tensor
            return func(*args)
        args, kwargs = tree_map(_wide, (args, kwargs or {}))
        return func(*args, **kwargs)


class _Observed(TorchDispatchMode):
    """Notes the input of the first kernel, and small constants of norms behind it. Keeps operations in fp32 that PyTorch itself calls."""

    def __init__(self, first_kernel: tuple[int, ...]):
        super().__init__()
        self.entered: Any = None
        self.constants: set[float] = set()
        self._first_kernel = first_kernel

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        args, kwargs = tree_map(_wide, (args, kwargs or {}))
        name = func._schema.name
        if name == "aten::convolution" and self.entered is None and tuple(args[1].shape) == self._first_kernel:
            self.entered = args[0].clone()
            self.constants.clear()
        if "norm" in name or name.startswith("aten::add"):
            self.constants.update(value for value in (*args, *kwargs.values()) if isinstance(value, float) and 0 < value <= LARGEST_EPSILON)
        return func(*args, **kwargs)


def _wide(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.float() if value.is_floating_point() and value.element_size() < 4 else value
    return torch.float32 if isinstance(value, torch.dtype) and value.is_floating_point and value.itemsize < 4 else value


class _undisturbed:
    """Within it, the module's code runs as in evaluation, without gradients, TF32, autocast and compiled code. Random state, modes of the
    modules and counts of an enabled VAE are afterwards as before."""

    def __init__(self, module: Any, device: str):
        self._module, self._device = module, torch.device(device)
        self._until_done = ExitStack()

    def __enter__(self) -> None:
        enter, kind = self._until_done.enter_context, self._device.type
        enter(torch.no_grad())
        enter(torch.autocast(kind, enabled=False))
        enter(full_fp32())
        enter(torch.random.fork_rng([] if kind == "cpu" else [self._device], device_type="cuda" if kind == "cpu" else kind))
        enter(torch.compiler.set_stance("force_eager") if hasattr(torch.compiler, "set_stance") else nullcontext())
        handle = vars(self._module).get(parts.HANDLE)
        if handle is not None:
            enter(handle.own_calls.running())
        for part in self._module.modules():
            if part.training:
                self._until_done.callback(setattr, part, "training", True)
                part.training = False

    def __exit__(self, *_: Any) -> None:
        self._until_done.close()


def _ours(model: _core.Model, parameters: Parameters, given: Any) -> Any:
    """Headroom's result in fp32. On a CPU by Headroom's own code, elsewhere by PyTorch's operations, which read weights where they are."""
    (batch, frames, height, width), shape = request_of(model, list(given.shape))
    device = str(given.device)
    planner = _core.Planner(
        model.for_frames(frames), width=width, height=height, frames=frames, batch=batch, dtype="fp32", picture_dtype="fp32",
        device="cpu" if given.is_cpu else "torch",
    )  # fmt: skip
    plan = planner.plan(PLAN_BYTES) or planner.smallest()
    made = torch.empty(shape, device=device)
    if given.is_cpu:
        decoder = _core.cpu_decoder(model.for_frames(frames))
        decoder.decode(plan, parameters.tensors(), given.contiguous(), made, threads=torch.get_num_threads())
    else:
        from .torch_executor import TorchDecoder

        TorchDecoder(model.for_frames(frames), device).decode(plan, parameters.on(device), given, made)
    return made


def _as_own(made: Any, channels: int, entry: Entry) -> Any:
    """An encoder's output as the module's own encode returns it, which may be the mean alone, normalised. Pictures are unchanged."""
    latent_channels = made.shape[1] // 2 if made.shape[1] % 2 == 0 else made.shape[1] - 1
    if channels > made.shape[1] and channels == 2 * (made.shape[1] - 1):  # one log-variance for all
        return torch.cat([made, made[:, -1:].repeat_interleave(latent_channels - 1, dim=1)], dim=1)
    patches = math.prod(entry.patches) if entry.patches else 1
    return entry.inverse(made[:, :latent_channels]) if channels == latent_channels * patches else made


def _entry(given: Any, entered: Any, model: _core.Model) -> Entry:
    """The scale and shift that turn `given` into `entered`, the input of the first kernel. None of them if there are no such values."""
    if entered is None or model.direction != "decode":
        return Entry()
    patches = None
    if model.latent_patches is not None and entered.shape[1] != given.shape[1]:
        patches = tuple(model.latent_patches[:2])
        entered = _folded(entered, *patches)
    if entered.dim() != given.dim() or entered.shape[1] != given.shape[1]:
        return Entry()
    for axis in range(2, given.dim()):  # some code pads before the kernel: around pictures, and before the first frame
        more = entered.shape[axis] - given.shape[axis]
        entered = entered.narrow(axis, more if given.dim() == 5 and axis == 2 else more // 2, given.shape[axis]) if more > 0 else entered
    if entered.shape != given.shape:
        return Entry()
    x, y = (tensor[0].flatten(1).double().cpu() for tensor in (given, entered))
    mean_x, mean_y = x.mean(1, keepdim=True), y.mean(1, keepdim=True)
    scale = ((x - mean_x) * (y - mean_y)).sum(1, keepdim=True) / (x - mean_x).square().sum(1, keepdim=True)
    shift = mean_y - scale * mean_x
    if (x * scale + shift - y).abs().max() > 1e-5 * y.abs().max() or (patches is None and torch.equal(x, y)):
        return Entry()
    return Entry(scale.flatten(), shift.flatten(), patches)


def _folded(pixels: Any, rows: int, columns: int) -> Any:
    """Patches of pixels as channels."""
    return pixels.unflatten(3, (-1, columns)).unflatten(2, (-1, rows)).permute(0, 1, 3, 5, 2, 4).flatten(1, 3)


def _unfolded(patches: Any, rows: int, columns: int) -> Any:
    return patches.unflatten(1, (-1, rows, columns)).permute(0, 1, 4, 2, 5, 3).flatten(4, 5).flatten(2, 3)


class Prover:
    """The proofs of one direction of a module, one for each combination of arguments of its method."""

    def __init__(self, model: _core.Model, foreign: bool, decoding: Prover | None = None):
        """`foreign`: the class is not diffusers', so only a proof tells what its code computes. `decoding`: that of the module's decode."""
        self.model, self.foreign = model, foreign
        self._decoding = decoding
        self._known: dict[Any, Proof | Unsupported] = {}

    @property
    def proofs(self) -> list[Proof]:
        return [known for known in self._known.values() if isinstance(known, Proof)]

    @property
    def error(self) -> float | None:
        """The largest error of the proofs. None if the module needed none."""
        return max((proof.error for proof in self.proofs), default=None)

    def start(self, module: Any, refused: Unsupported | None = None) -> None:
        """Forgets earlier proofs. Proves a call without other arguments, if the method requires no others. `refused` is the first difference
        between a module and what its class makes, or None. Raises Unsupported with the figure."""
        self._known.clear()
        if self.foreign and _requires_options(module, self.model.direction):
            return
        try:
            self.proof(module, {})
        except Unsupported as differs:
            if refused is None:
                raise
            raise Unsupported(f"{refused}. {differs}") from None
        except HeadroomError:
            if refused is None:
                raise
            raise refused from None

    def proof(self, module: Any, options: dict[str, Any]) -> Proof | Unsupported:
        """The proof of calls with these arguments. If Headroom computes something else with them: why. Raises that if no call is proven."""
        key = _key(options)
        if key not in self._known:
            decoding, entry = self.model, None if self.foreign else Entry()
            if self._decoding is not None:
                decoding, entry = self._decoding.model, next((proof.entry for proof in self._decoding.proofs), Entry())
            try:
                self._known[key] = prove(module, self.model, decoding, options, entry)
            except Unsupported as refused:
                if not self.proofs:
                    raise
                self._known[key] = refused
        return self._known[key]


def _key(value: Any) -> Any:
    """A key that is equal for equal values."""
    if isinstance(value, dict):
        return tuple((name, _key(one)) for name, one in sorted(value.items()))
    if isinstance(value, (tuple, list)):
        return tuple(map(_key, value))
    if isinstance(value, torch.Tensor):
        return value.dtype, tuple(value.shape), tuple(value.detach().cpu().double().flatten().tolist())
    return value if value.__hash__ is not None else repr(value)


def _requires_options(module: Any, direction: str) -> bool:
    """True if a module's method requires arguments beside its input."""
    _, _, *others = inspect.signature(getattr(type(module), direction)).parameters.values()
    return any(one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in others)
