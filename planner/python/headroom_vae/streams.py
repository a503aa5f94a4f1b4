"""Decodes and encodes clips block by block, as latents or frames arrive."""

from __future__ import annotations

import hashlib
import json
import weakref
from typing import Any, NamedTuple

from . import _core, gate
from .amounts import THRIFT, any_case, limit_bytes, require_sensible_limit, whole_number
from .checkpoints import Described, described
from .described import dtype_in_use, dtype_name, loaded_vae_of
from .device import free_bytes, require_no_capture
from .errors import HeadroomError, InputError, Unsupported
from .executors import Executor, executor_for
from .fork_aware_lock import ForkAwareLock
from .latents import values_of
from .module import ModuleDecoder
from .prediction import planner_options
from .stream_prediction import stream_planner

_shared: weakref.WeakKeyDictionary[Any, dict[str, _Shared]] = weakref.WeakKeyDictionary()
"""Packed weights of the VAEs with streams, by direction."""

_opening = ForkAwareLock()
"""Held while a stream opens, so that streams of one VAE never pack its weights twice."""


class _Weights(NamedTuple):
    """Packed weights, and what they are packed for."""

    streams: _core.Streams
    key: tuple[str, str, str, str]
    """The checksum before packing, the device, the executor and the dtype."""
    executor: Executor
    proof: Any
    """Proof for a class that is not diffusers'. None for diffusers' classes."""

    @property
    def checksum(self) -> str:
        return self.key[0]

    @property
    def device(self) -> str:
        return self.key[1]


class _Shared:
    """Model, weights and plans that the streams of a VAE in one direction share."""

    def __init__(self, vae: Any, known: Described, direction: str):
        from .proof import Prover

        if known.foreign and direction == "encode":
            raise Unsupported(f"{type(vae).__name__}: Headroom streams the encodes of diffusers' classes alone")
        self.model = known.model.for_direction(direction)
        self._decoder = ModuleDecoder(vae, self.model, prover=Prover(self.model, True) if known.foreign else None)
        self.plans: dict[tuple, _core.StreamPlan] = {}
        self._weights: _Weights | None = None

    def device(self, executor: str) -> str:
        """The device that streams run on."""
        return self._decoder._device(self._decoder._unchanged_parameters(), executor)

    def weights(self, executor: str, dtype: Any) -> _Weights:
        """Packed weights with the module's values of now, on its device. Streams that are open keep the values that they began with."""
        parameters, device = self._decoder._unchanged_parameters(), self.device(executor)
        chosen, precision = executor_for(device, executor), self.model.decoding_dtype(dtype_name(dtype))
        key = (hashlib.sha256(repr(parameters.fingerprint()).encode()).hexdigest(), device, chosen.name, precision)
        if self._weights is None or key != self._weights.key:
            packed = chosen.open_streams(self.model, device, precision, parameters.tensors())
            self._weights = _Weights(packed, key, chosen, self._proof())
        return self._weights

    def _proof(self) -> Any:
        """The proof of the VAE's own decode, with its steps before and behind the network. None for diffusers' code."""
        proof = None if self._decoder.prover is None else self._decoder.proof({})
        if isinstance(proof, Unsupported):
            raise proof
        return proof


class Stream:
    """A clip that arrives block by block. Made by :func:`headroom_vae.stream`.

    Leaving ``with headroom_vae.stream(…):`` frees the stream's memory, whether the clip has ended or not."""

    def __init__(self, weights: _Weights, plan: _core.StreamPlan, direction: str, dtype: Any, state: bytes = b""):
        self._stream: _core.Stream | None = weights.streams.open(plan, state)
        self._weights = weights
        self._plan = plan
        self._direction = direction
        self._dtype = dtype
        self._suspended: bytes | None = None
        self._measured_peak_bytes = 0
        self._frames_on: Any = "cpu"

    @property
    def block(self) -> int:
        """Latent frames of the largest block. A longer push runs as several blocks."""
        return self._plan.block

    @property
    def delay_frames(self) -> int:
        """Frames by which the output stays behind, since the decoder reads later frames. 0 for a causal decoder."""
        return self._plan.delay_frames

    @property
    def state_bytes(self) -> int:
        """The most that stays in memory between two blocks."""
        return self._plan.state_bytes

    @property
    def peak_bytes(self) -> int:
        """The most that the stream takes: packed weights, state, work, and the frames of a block."""
        return self._plan.peak_bytes()

    @property
    def measured_peak_bytes(self) -> int:
        """The most that the stream has taken so far, without the frames that its blocks returned."""
        return self._measured_peak_bytes

    @property
    def limit_bytes(self) -> int | None:
        """The limit on all streams of the VAE together. None: no limit."""
        return self._plan.limit_bytes

    def push(self, latents: Any) -> Any:
        """Takes the next latents, N×C×T×H×W with any T, as ``vae.decode`` takes them. Returns the frames that are ready, N×C×F×H×W. F
        may be 0.

        Raises InputError for latents of another shape, or with NaN or infinity. Then the stream goes on with the next push. After any
        other exception the stream has ended."""
        return self._push(latents, False)

    def finish(self) -> Any:
        """Ends the clip, and returns the frames that are left, on the device of the last push. F may be 0."""
        import torch

        batch, channels, rows, columns = self._plan.input_shape
        return self._push(torch.empty(batch, channels, 0, rows, columns, device=self._frames_on), True)

    def state(self) -> bytes:
        """The state between two blocks, with the plan. ``stream(vae, state=…)`` goes on with it, also in another process with the same
        weights. Raises InputError if the stream has ended."""
        plan = json.loads(self._plan.json())
        header = {"direction": self._direction, "block": self.block, "sessions": self._plan.sessions, "weights": self._weights.checksum, "plan": plan}
        return json.dumps(header).encode() + b"\n" + (self._open().state() if self._suspended is None else self._suspended)

    def suspend(self) -> None:
        """Moves the state out of the memory that the limit covers, into memory of the process. ``resume()`` brings it back."""
        if self._suspended is None:
            self._suspended = self._open().state()
            self._stream = None

    def resume(self) -> None:
        """Goes on after ``suspend()``. Raises LimitExceeded if other streams took the room."""
        if self._suspended is not None:
            self._stream = self._weights.streams.open(self._plan, self._suspended)
            self._suspended = None

    def close(self) -> None:
        """Frees the stream's memory."""
        self._stream = self._suspended = None

    def _open(self) -> _core.Stream:
        if self._suspended is not None:
            raise HeadroomError("this stream is suspended; call resume() first")
        if self._stream is None:
            raise HeadroomError("this stream is closed; open another one")
        return self._stream

    def _push(self, latents: Any, ends: bool) -> Any:
        import torch

        stream, proof, self._frames_on = self._open(), self._weights.proof, latents.device
        gate.require_served(gate.past(latents, "latent"))
        if proof is not None:
            latents = proof.entry(latents)
        made = None

        def frames(shape: tuple) -> Any:
            nonlocal made
            made = torch.empty(shape, dtype=self._dtype)
            return made

        require_no_capture(self._weights.device)
        with self._weights.executor.running(self._weights.device):
            stream.push(values_of(latents), ends, frames, torch.get_num_threads())
        self._measured_peak_bytes = max(self._measured_peak_bytes, stream.measured_peak_bytes())
        if made is None:
            batch, channels, rows, columns = self._plan.output_shape
            made = torch.empty(batch, channels, 0, rows, columns, dtype=self._dtype)
        return (made if proof is None else proof.tensor(made)).to(latents.device)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        size = _core.format_bytes
        return f"<stream in blocks of {self.block}: state {size(self.state_bytes)}, peak {size(self.peak_bytes)}>"


def stream(
    vae_or_pipe: Any,
    height: int | None = None,
    width: int | None = None,
    limit: int | str | None = None,
    block: int = 1,
    *,
    batch: int = 1,
    sessions: int = 1,
    direction: str = "decode",
    profile: str | None = None,
    thrift: float | str = THRIFT,
    executor: str = "auto",
    state: bytes | None = None,
) -> Stream:
    """Opens a stream: a clip whose latents arrive block by block. Its frames equal those of a decode of the whole clip.

    Args:
        vae_or_pipe: a diffusers VAE, or a pipeline with one. Streams run on its device.
        height, width: of the frames, in pixels.
        limit: peak memory, in bytes or as ``"2GiB"``, of all streams of this VAE and direction together. It covers packed weights, the
            state of each stream, the work of one, and the frames that a block returns. Of several limits the smallest counts.
            ``"auto"``: the free memory. None: no limit.
        block: latent frames that run at a time. Larger blocks take more memory and less time for each frame.
        batch: clips that run side by side in one stream.
        sessions: streams that the limit has to hold. Streams of one VAE share packed weights and run one after another.
        direction: ``"decode"``, or ``"encode"``: frames in, parameters of the latent's distribution out.
        profile: a profile that headroom-profile measured on this machine.
        thrift: share of time to give for memory, as in ``enable()``.
        executor: the code that runs the plan, as in ``enable()``.
        state: what ``state()`` of another stream returned. The stream goes on from there, by the other stream's plan and limit. Give no other
            arguments then, except ``executor``.

    Returns a :class:`Stream`::

        with headroom_vae.stream(vae, height=480, width=832, limit="4GiB", block=1) as s:
            for latents in sampler:
                show(s.push(latents))
            show(s.finish())

    Raises:
        Unsupported: Headroom does not support the class, or the class needs the whole clip. The message has the reason.
        DoesNotFit: the limit is too small for so many sessions.
        LimitExceeded: the streams that are open leave no room for another one.
        OutOfGpuMemory: the GPU has less free than the limit allows for, also under ``"auto"`` if another program was faster.
    """
    vae = loaded_vae_of(vae_or_pipe)
    known = described(vae)
    with _opening:
        if state is not None:
            return _continued(vae, known, state, executor, (height, width, limit))
        dtype = dtype_in_use(vae)
        require_sensible_limit(any_case(limit))
        if height is None or width is None:
            raise InputError("height, width: expected pixels, or state= of another stream")
        shared = _shared_of(vae, known, direction)
        options = {
            "dtype": dtype, "device": shared.device(executor), "direction": direction, "executor": executor,
            **planner_options(profile=profile, thrift=thrift),
        }  # fmt: skip
        planner, _ = stream_planner(vae, height, width, block, batch, **options)
        weights = shared.weights(executor, dtype)
        bytes_ = _free_bytes(weights) if any_case(limit) == "auto" else limit_bytes(limit)
        key = (height, width, block, batch, sessions, bytes_, *options.values())
        if key not in shared.plans:
            shared.plans[key] = planner.stream_plan(block, whole_number(sessions, "sessions"), bytes_)
        return Stream(weights, shared.plans[key], direction, dtype)


def _free_bytes(weights: _Weights) -> int:
    """The limit of ``"auto"``: the free memory, and what the open streams have of it."""
    held, device = weights.streams.live_bytes(), weights.device
    return free_bytes(device, held) + (0 if device == "cpu" else held)


def _shared_of(vae: Any, known: Described, direction: str) -> _Shared:
    shared = _shared.setdefault(vae, {})
    if direction not in shared:
        shared[direction] = _Shared(vae, known, direction)
    return shared[direction]


def _continued(vae: Any, known: Described, state: bytes, executor: str, others: tuple) -> Stream:
    """The stream that goes on with a state. Raises InputError if the state is of another model or of other weights."""
    if any(other is not None for other in others):
        raise InputError("state: has its own size and limit. Leave out height, width and limit")
    text, _, values = bytes(state).partition(b"\n")
    try:
        header = json.loads(text)
        direction, block, sessions, checksum, plan = (header[key] for key in ("direction", "block", "sessions", "weights", "plan"))
    except (ValueError, KeyError, TypeError):
        raise InputError("state: expected what state() of a stream returned") from None
    shared = _shared_of(vae, known, direction)
    dtype = dtype_in_use(vae)
    weights = shared.weights(executor, dtype)
    if weights.checksum != checksum:
        raise InputError("state: is of other weights than this VAE has; expected the VAE of the stream that it was taken from")
    planned = _core.stream_plan_of(shared.model, json.dumps(plan), whole_number(block, "block"), whole_number(sessions, "sessions"))
    here = weights.executor.planned_device(weights.device)
    if planned.device != here:
        raise InputError(f"state: is of a stream on {planned.device}; the streams of this VAE run on {here}")
    return Stream(weights, planned, direction, dtype, values)
