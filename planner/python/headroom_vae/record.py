"""Records the memory of a VAE's own decode, module by module. The VAE itself runs, under PyTorch, so this works with any class."""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Iterable, Iterator

from . import _core
from .checkpoints import describe
from .decoding import handle_of
from .described import dtype_of, loaded_vae_of, output_name
from .errors import InputError, Unsupported
from .latents import sample_of
from .prediction import predict

SCHEMA, VERSION = "headroom.recording", 1
MARK = "headroom:"  # prefix of module names in the profiler's ranges
MOST_MOMENTS = 2000  # most points of a file's timeline

Json = dict[str, Any]


@dataclass
class Layer:
    """Memory and time of one module. Memory is that of the call with the highest peak; time is the sum of all calls."""

    kind: str
    activation_bytes: int = 0
    workspace_bytes: int = 0
    live_bytes: int = 0
    seconds: float = 0


@dataclass
class _Call:
    """A module's call that is running."""

    name: str
    start_ns: int
    end_ns: int
    live_before: int
    most: int
    made: int = 0  # bytes allocated in the call and not freed yet


@dataclass
class _Replay:
    """Replays memory events in chronological order."""

    before: int  # bytes in use when the recording began
    live: int = 0
    peak: int = 0
    peak_layer: str = ""
    held: dict[int, tuple[str, int]] = field(default_factory=dict)  # by address: module name, bytes
    at_peak: dict[int, tuple[str, int]] = field(default_factory=dict)
    moments: list[tuple[int, int]] = field(default_factory=list)  # nanoseconds, live bytes
    layers: dict[str, Layer] = field(default_factory=dict)
    calls: list[_Call] = field(default_factory=list)

    def memory(self, at_ns: int, address: int, size: int) -> None:
        """A negative ``size`` is a deallocation. Ignores deallocations of memory from before the recording."""
        if size < 0 and address not in self.held:
            return
        name = self.calls[-1].name if self.calls else "decode"
        if size < 0:
            self.held.pop(address)
        else:
            self.held[address] = (name, size)
        self.live += size
        self.moments.append((at_ns, self.before + self.live))
        for call in self.calls:
            call.made += size
            call.most = max(call.most, self.live)
        if self.live > self.peak:
            self.peak, self.peak_layer, self.at_peak = self.live, name, dict(self.held)

    def begin(self, name: str, start_ns: int, end_ns: int) -> None:
        self.calls.append(_Call(name, start_ns, end_ns, self.live, self.live))

    def end(self) -> None:
        call = self.calls.pop()
        layer = self.layers[call.name]
        layer.seconds += (call.end_ns - call.start_ns) * 1e-9
        if self.before + call.most > layer.live_bytes:
            layer.live_bytes = self.before + call.most
            layer.activation_bytes = max(0, call.made)
            layer.workspace_bytes = call.most - call.live_before - layer.activation_bytes


def _walk(events: Iterable[Any], replay: _Replay, device: str) -> None:
    """Feeds the events of the profiler's tree to the replay, in order."""
    for event in sorted(events, key=lambda one: one.start_time_ns):
        allocation = getattr(event.extra_fields, "alloc_size", None)
        if allocation is not None:
            if device in str(event.extra_fields.device):
                replay.memory(event.start_time_ns, event.extra_fields.ptr, allocation)
        elif event.name.startswith(MARK):
            replay.begin(event.name[len(MARK) :], event.start_time_ns, event.end_time_ns)
            _walk(event.children, replay, device)
            replay.end()
        else:
            _walk(event.children, replay, device)


@contextmanager
def _marked(vae: Any, called: set[Any]) -> Iterator[None]:
    """Context in which every module's forward() is a named range of the profiler."""
    from torch.autograd.profiler import record_function

    open_ranges: dict[Any, list[Any]] = defaultdict(list)

    def begin(name: str) -> Any:
        def hook(module: Any, *_: Any) -> None:
            called.add(module)
            open_ranges[module].append(record_function(MARK + name))
            open_ranges[module][-1].__enter__()

        return hook

    def end(module: Any, *_: Any) -> None:
        open_ranges[module].pop().__exit__(None, None, None)

    with ExitStack() as stack:
        for name, module in vae.named_modules():
            if name:
                stack.callback(module.register_forward_pre_hook(begin(name), prepend=True).remove)
                stack.callback(module.register_forward_hook(end, always_call=True).remove)
        yield


def _own_bytes(modules: Iterable[Any]) -> int:
    """Bytes of these modules' own parameters and buffers, without those of submodules."""
    held = {id(one): one for module in modules for one in (*module._parameters.values(), *module._buffers.values()) if one is not None}
    return sum(one.numel() * one.element_size() for one in held.values())


def _tree(profile: Any) -> list[Any]:
    return profile.profiler.kineto_results.experimental_event_tree()


def _takes_frames_as_batch(vae: Any) -> bool:
    try:
        return describe(vae).frames_in_batch
    except (Unsupported, InputError):
        return False


def _record_one(vae: Any, latent: Any) -> tuple[_Replay, int, float, Any]:
    import torch

    on_gpu = latent.device.type == "cuda"
    called: set[Any] = set()
    in_batch = _takes_frames_as_batch(vae)
    with torch.inference_mode(), _marked(vae, called):
        if on_gpu:
            torch.cuda.synchronize()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True, acc_events=True) as profile:
            began = time.perf_counter()
            picture = sample_of(vae.decode, latent, in_batch)
            if on_gpu:
                torch.cuda.synchronize()
            seconds = time.perf_counter() - began
    weights = _own_bytes(called)
    replay = _Replay(before=weights + latent.numel() * latent.element_size())
    names = {module: name for name, module in vae.named_modules()}
    replay.layers = {names[module]: Layer(type(module).__name__) for module in vae.modules() if module in called and names[module]}
    _walk(_tree(profile), replay, latent.device.type)
    return replay, weights, seconds, picture


def _live_at_peak(replay: _Replay, weights: int) -> list[Json]:
    sums: dict[str, int] = defaultdict(int)
    for name, size in replay.at_peak.values():
        sums[name] += size
    sums["weights"], sums["latent"] = weights, replay.before - weights
    return [{"name": name, "bytes": size} for name, size in sorted(sums.items(), key=lambda one: -one[1])]


def _thinned(moments: list[tuple[int, int]], before: int) -> Json:
    """Reduces the timeline to at most MOST_MOMENTS points: the highest point of each interval."""
    start = moments[0][0] if moments else 0
    stretch = -(-len(moments) // MOST_MOMENTS) or 1
    kept = [max(moments[at : at + stretch], key=lambda one: one[1]) for at in range(0, len(moments), stretch)]
    return {"seconds": [0.0, *((at - start) * 1e-9 for at, _ in kept)], "live_bytes": [before, *(live for _, live in kept)]}


def _planned(vae: Any, size: Json, dtype: str) -> Json:
    """Headroom's predictions for the same decode. Empty if it does not support the class."""
    try:
        found = predict(vae, size["height_pixels"], size["width_pixels"], size["frames"], size["batch"], dtype=dtype)
        return {"counted_peak_bytes": found.untiled_peak_bytes, "smallest_limit_bytes": found.smallest_limit_bytes}
    except (Unsupported, InputError):
        return {}


def _document(vae: Any, name: str, latent: Any, decodes: list[Json], weights: int) -> Json:
    import torch

    device = latent.device.type
    return {
        "schema": SCHEMA, "version": VERSION, "model": name, "class_name": type(vae).__name__, "dtype": dtype_of(vae),
        "device_kind": device, "device": torch.cuda.get_device_name(latent.device) if device == "cuda" else _core.processor_name(),
        "libraries": f"PyTorch {torch.__version__}", "threads": torch.get_num_threads(), "weights_bytes": weights, "decodes": decodes,
    }  # fmt: skip


def record(vae_or_pipe: Any, latent: Any, path: str | os.PathLike | None = None, *, model: str | None = None) -> Json:
    """Decodes ``latent`` with the VAE's own ``decode``, untiled unless tiling is enabled there, and records every allocation.

    Args:
        vae_or_pipe: a VAE of any class with ``decode(latent)``, such as diffusers', or a pipeline with one. Disable Headroom on it first.
        latent: what the decoder takes, N×C×H×W or N×C×T×H×W on the VAE's device, or a list of them for several sizes in one file.
        path: output file for the recording, JSON (``headroom.recording``). The window and ``headroom-report`` open it.
        model: the model's name in the file; its class by default.

    Returns the recording as a dict: for each latent ``peak_bytes`` (weights of the decoder and latent included), ``peak_layer``,
    ``peak_live``, ``layers`` and ``timeline``. Sizes are in bytes, times in seconds. On a GPU, bytes are the allocator's blocks, and
    a module's seconds are the time of the thread that launches its kernels.

    Raises InputError for a latent that is no tensor, for a VAE that Headroom decodes for, where the file's folder does not exist, and
    for a file of the folder that the VAE was loaded from; what the VAE's own ``decode`` raises.
    """
    vae = loaded_vae_of(vae_or_pipe)
    if handle_of(vae) is not None:
        raise InputError("Headroom decodes for this VAE. Call headroom_vae.disable(vae) first, to record the VAE's own decode")
    file = None if path is None else output_name(path, "path", vae)
    latents = list(latent) if isinstance(latent, (list, tuple)) else [latent]
    if not latents:
        raise InputError("latent: expected a tensor or a list of them, found an empty list")
    decodes, most_weights = [], 0
    for one in latents:
        if not hasattr(one, "element_size") or one.ndim not in (4, 5):
            shape = tuple(one.shape) if hasattr(one, "shape") else type(one).__name__
            raise InputError(f"latent: expected a tensor N×C×H×W or N×C×T×H×W, found {shape}")
        replay, weights, seconds, picture = _record_one(vae, one)
        most_weights = max(most_weights, weights)
        size = {
            "width_pixels": picture.shape[-1], "height_pixels": picture.shape[-2],
            "frames": picture.shape[2] if picture.ndim == 5 else 1, "batch": picture.shape[0],
        }  # fmt: skip
        del picture
        decodes.append({
            **size, "peak_bytes": replay.before + replay.peak, "peak_layer": replay.peak_layer,
            "peak_live": _live_at_peak(replay, weights), "seconds": seconds,
            "layers": [{"name": name, **vars(layer)} for name, layer in replay.layers.items()],
            "timeline": _thinned(replay.moments, replay.before), **_planned(vae, size, dtype_of(vae)),
        })  # fmt: skip
    document = _document(vae, model or type(vae).__name__, latents[0], decodes, most_weights)
    if file is not None:
        _core.write_file_whole(file, json.dumps(document))
    return document
