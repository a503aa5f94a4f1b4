"""Decodes and encodes clips block by block, as latents or frames arrive."""

from __future__ import annotations

import weakref
from typing import Any

from . import _core, gate
from .amounts import THRIFT, any_case, auto_limit_bytes, limit_bytes, require_sensible_limit, whole_number
from .checkpoints import described
from .described import dtype_in_use, loaded_vae_of
from .errors import HeadroomError, Unsupported
from .latents import values_of
from .module import ModuleDecoder
from .prediction import planner_options
from .stream_prediction import stream_planner

_shared: weakref.WeakKeyDictionary[Any, dict[str, _Shared]] = weakref.WeakKeyDictionary()
"""Packed weights of the VAEs with streams, by direction."""


class _Shared:
    """What the streams of a VAE in one direction share."""

    def __init__(self, vae: Any, model: _core.Model):
        self.model = model
        self._decoder = ModuleDecoder(vae, model)
        self.plans: dict[tuple, _core.StreamPlan] = {}
        self._packed: Any = None  # fingerprint of the packed parameters
        self._streams: _core.Streams | None = None

    def streams(self) -> _core.Streams:
        """Packed weights with the module's values of now. Streams that are open keep the values that they began with."""
        import torch

        parameters = self._decoder._unchanged_parameters()
        if str(parameters.device()) != "cpu":
            raise Unsupported(f"a stream runs on the CPU, and the VAE is on {parameters.device()}. Move the VAE to the CPU")
        now = parameters.fingerprint()
        if self._streams is None or now != self._packed:
            self._streams = _core.open_streams(self.model, parameters.tensors(), torch.get_num_threads())
            self._packed = now
        return self._streams


class Stream:
    """A clip that arrives block by block. Made by :func:`headroom_vae.stream`.

    Leaving ``with headroom_vae.stream(…):`` frees the stream's memory, whether the clip has ended or not."""

    def __init__(self, stream: _core.Stream, plan: _core.StreamPlan, dtype: Any):
        self._stream: _core.Stream | None = stream
        self._plan = plan
        self._dtype = dtype
        self._measured_peak_bytes = 0

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
    def limit_bytes(self) -> int:
        """The limit on all streams of the VAE together."""
        return self._plan.limit_bytes

    def push(self, latents: Any) -> Any:
        """Takes the next latents, N×C×T×H×W with any T, as ``vae.decode`` takes them. Returns the frames that are ready, N×C×F×H×W. F
        may be 0.

        Raises InputError for latents of another shape, or with NaN or infinity. Then the stream goes on with the next push. After any
        other exception the stream has ended."""
        return self._push(latents, False)

    def finish(self) -> Any:
        """Ends the clip, and returns the frames that are left. F may be 0."""
        import torch

        batch, channels, rows, columns = self._plan.input_shape
        return self._push(torch.empty(batch, channels, 0, rows, columns), True)

    def close(self) -> None:
        """Frees the stream's memory."""
        self._stream = None

    def _push(self, latents: Any, ends: bool) -> Any:
        import torch

        if self._stream is None:
            raise HeadroomError("this stream is closed; open another one")
        gate.require_served(gate.past(latents, "latent"))
        made = None

        def frames(shape: tuple) -> Any:
            nonlocal made
            made = torch.empty(shape, dtype=self._dtype)
            return made

        self._stream.push(values_of(latents), ends, frames, torch.get_num_threads())
        self._measured_peak_bytes = self._stream.measured_peak_bytes
        if made is None:
            batch, channels, rows, columns = self._plan.output_shape
            made = torch.empty(batch, channels, 0, rows, columns, dtype=self._dtype)
        return made.to(latents.device)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        size = _core.format_bytes
        return f"<stream in blocks of {self.block}: state {size(self.state_bytes)}, peak {size(self.peak_bytes)}>"


def stream(
    vae_or_pipe: Any,
    height: int,
    width: int,
    limit: int | str | None = None,
    block: int = 1,
    *,
    batch: int = 1,
    sessions: int = 1,
    direction: str = "decode",
    profile: str | None = None,
    thrift: float | str = THRIFT,
) -> Stream:
    """Opens a stream: a clip whose latents arrive block by block. Its frames equal those of a decode of the whole clip.

    Args:
        vae_or_pipe: a diffusers VAE on the CPU, or a pipeline with one.
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

    Returns a :class:`Stream`::

        with headroom_vae.stream(vae, height=480, width=832, limit="4GiB", block=1) as s:
            for latents in sampler:
                show(s.push(latents))
            show(s.finish())

    Raises:
        Unsupported: Headroom does not support the class, or the class needs the whole clip. The message has the reason.
        DoesNotFit: the limit is too small for so many sessions.
        LimitExceeded: the streams that are open leave no room for another one.
    """
    vae = loaded_vae_of(vae_or_pipe)
    known = described(vae)
    if known.foreign:
        raise Unsupported(f"{type(vae).__name__}: a stream needs a VAE of diffusers, since a proof of other code decodes whole clips")
    dtype = dtype_in_use(vae)
    require_sensible_limit(any_case(limit))
    options = {"dtype": dtype, "direction": direction, **planner_options(profile=profile, thrift=thrift)}
    planner, _ = stream_planner(vae, height, width, block, batch, **options)
    shared = _shared.setdefault(vae, {})
    if direction not in shared:
        shared[direction] = _Shared(vae, known.model.for_direction(direction))
    streams = shared[direction].streams()
    bytes_ = auto_limit_bytes(streams.live_bytes()) if any_case(limit) == "auto" else limit_bytes(limit)
    plans, key = shared[direction].plans, (height, width, block, batch, sessions, bytes_, *options.values())
    if key not in plans:
        plans[key] = planner.stream_plan(block, whole_number(sessions, "sessions"), bytes_)
    return Stream(streams.open(plans[key]), plans[key], dtype)
