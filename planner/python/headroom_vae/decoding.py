"""Replaces a VAE's own ``decode`` and ``encode`` by exact ones within a memory limit."""

from __future__ import annotations

import functools
import inspect
import itertools
import weakref
from dataclasses import dataclass, replace
from typing import Any, Callable

from . import _core, gate, over, parts, sampling
from .amounts import THRIFT, is_plain_number, limit_bytes, whole_size
from .autocast import own_dtype
from .changes import shown
from .clips import encode_clips, frames_at_a_time, parts_of
from .compiled import is_own
from .checkpoints import Described, described
from .described import device_of, dtype_in_use, dtype_name, loaded_vae_of, model_of, output_name, require_precision
from .entries import Decode, Encode, Entry, not_compiled
from .errors import DoesNotFit, HeadroomError, InputError, Unsupported, join_torch
from .gradients import with_gradients
from .latents import clips_of, frames_of, picture_of
from .module import DecodeReport, ModuleDecoder
from .options import Options
from .prediction import Prediction, planner_of, planner_options
from .results import decoded_output, encoded_output, moments_of, whole_moments
from .verification import largest_error

WITHOUT_EFFECT = {
    "decode": {
        "use_tiling": "vae.enable_tiling() has no effect while Headroom is enabled: it decodes the untiled picture within the limit",
        "use_framewise_decoding": "use_framewise_decoding has no effect while Headroom is enabled: it decodes all frames as a whole, so the "
        "picture differs from that of this VAE's own decode, which blends clips of frames",
    },
    "encode": {
        "use_framewise_encoding": "use_framewise_encoding has no effect while Headroom is enabled: it encodes all frames as a whole, so the "
        "latent differs from that of this VAE's own encode, which blends clips of frames",
        "use_tiling": "vae.enable_tiling() has no effect on encode while Headroom is enabled: it encodes the untiled picture within the limit, so "
        "the latent differs from that of this VAE's own encode, which blends tiles",
    },
}
"""Warnings of attributes by which a VAE's own decode or encode blends. Each attribute warns once."""

ENTRIES: dict[str, type[Entry]] = {"decode": Decode, "encode": Encode}

INPUTS = {"decode": "latent", "encode": "picture"}
"""Names of inputs in messages."""

SMALL_LIMIT_BYTES = 16 << 20
"""A smaller limit without a unit may be meant in another unit than bytes."""


@dataclass
class Side:
    """One direction of an enabled VAE. If Headroom does not serve it, ``runs`` is None, and ``why_not`` says why."""

    runs: ModuleDecoder | None
    why_not: str = ""
    entry: Entry | None = None
    """The replacement of the VAE's method."""


class Handle:
    """A VAE that decodes and encodes with Headroom. Made by :func:`headroom_vae.enable`.

    ``last`` is the DecodeReport of the last decode or encode, or None. ``disable()`` restores the VAE's own ``decode`` and
    ``encode``. So does leaving ``with headroom_vae.enable(…):``."""

    def __init__(self, vae: Any, known: Described, options: Options, pipeline_bar: Any = None):
        self.options = options
        self.known = known
        self.model = known.model
        self.sides: dict[str, Side] = {}
        for direction in ENTRIES:
            self.sides[direction] = self._side(vae, direction)
        self.last: DecodeReport | None = None
        self._pipeline_bar = weakref.WeakMethod(pipeline_bar) if inspect.ismethod(pipeline_bar) else lambda: pipeline_bar
        self._trace_file = ""
        self._warned: set[str] = set()
        self._dtypes: tuple[Any, dict[Any, Any]] = (None, {})  # of the first parameter; of results, by autocast
        self._prepare: sampling.PrepareLatents | None = None
        self._profiled = "decode"  # the direction that the profile measured
        self.own_calls = gate.OwnCalls()
        self.ended = False
        self.owner = parts.Owner(vae)  # shared with the hooks

    def _side(self, vae: Any, direction: str) -> Side:
        from .proof import Prover

        try:
            model = self.model.for_direction(direction)
        except InputError as refused:  # in the words of a config file
            return _left_to_vae(direction, str(refused).removeprefix(f"{self.model.class_name}.config: "))
        partner = next(iter(self.running.values()), None)
        prover = Prover(model, self.known.foreign, None if partner is None else partner.prover)
        return Side(ModuleDecoder(vae, model, partner=partner, prover=prover))

    @property
    def running(self) -> dict[str, ModuleDecoder]:
        """The directions that Headroom serves."""
        return {direction: side.runs for direction, side in self.sides.items() if side.runs is not None}

    @property
    def main(self) -> ModuleDecoder:
        """The decoder, or the encoder of a class with which Headroom only encodes."""
        return next(iter(self.running.values()))

    @property
    def decoder(self) -> ModuleDecoder | None:
        return self.sides["decode"].runs

    @property
    def encoder(self) -> ModuleDecoder | None:
        return self.sides["encode"].runs

    @property
    def why_no_decoder(self) -> str:
        return self.sides["decode"].why_not

    @property
    def why_no_encoder(self) -> str:
        return self.sides["encode"].why_not

    @property
    def entries(self) -> dict[str, Entry]:
        """The replacements of methods of the VAE."""
        return {direction: side.entry for direction, side in self.sides.items() if side.entry is not None}

    @property
    def vae(self) -> Any:
        return self.main.module

    @property
    def held_bytes(self) -> int:
        """Bytes held between decodes: packed weights."""
        return sum(runs.held_bytes for runs in self.running.values())

    def free(self) -> None:
        """Drops packed weights; the next decode or encode packs them again."""
        for runs in self.running.values():
            runs.free()

    def predict(self, height: int, width: int, frames: int = 1, batch: int = 1, direction: str = "decode") -> Prediction:
        """Predicts what a decode with this handle's limit would take now, without decoding. ``direction="encode"``: an encode.

        ``height`` and ``width`` are in pixels, ``frames`` are those of the clip, and ``batch`` counts pictures or clips. For a class that
        encodes parts of a clip, the prediction is that of the largest part. Returns a Prediction. Raises InputError for a size that the VAE cannot decode. To raise DoesNotFit if nothing fits::

            handle.predict(1536, 2048).require()
        """
        if direction not in self.sides:
            raise InputError(f"direction: expected 'decode' or 'encode', found {direction!r}")
        side = self.sides[direction]
        if side.runs is None:
            raise Unsupported(side.why_not)
        if side.runs.model.encoded_clips and frames > 1:
            frames = frames_at_a_time(parts_of(side.runs.model, [batch, 3, frames, height, width])[0])
        return side.runs.predict(whole_size(height, width, frames, batch), dtype_in_use(self.vae), **self._options_of(side.runs))

    def take_methods(self) -> None:
        """Checks the VAE's methods and parameters for each direction. Raises the refusal of the main one. Leaves another one to the VAE."""
        vae, main = self.vae, self.main
        for direction, runs in self.running.items():
            try:
                if not hasattr(type(vae), direction):
                    raise Unsupported(f"{type(vae).__name__} has no method {direction}")
                self.sides[direction].entry = _entry_of(vae, ENTRIES[direction], self)
                runs.require_parameters(runs is main and self.options.release, warn=runs is main, executor=self.options.executor)
            except (InputError, Unsupported) as refused:
                if runs is main:
                    raise
                self.sides[direction] = _left_to_vae(direction, refused)

    def _options_of(self, runs: ModuleDecoder) -> dict[str, Any]:
        """The options for one direction. A profile serves the direction that it measured; the other one has assumed costs. An encode
        keeps the module's weights, because the VAE's own ``encode`` may run later, and the VAE's dtype."""
        options = self.options.of_decode()
        if runs.model.direction != self._profiled:
            options["profile"] = None
        return options if runs is self.decoder else {**options, "release": False, "precision": None}

    def report(self) -> DecodeReport:
        """The report of the last decode or encode: device, peak in bytes, seconds, and settings of the VAE that were not used.

        ``print(handle.report())`` shows it in words. Raises HeadroomError if the VAE has not decoded with Headroom yet."""
        remarks = (*self.own_calls.lines(), *self._functions_over())
        if self.last is None:
            why = "; ".join(remarks) or "the VAE that was enabled has not decoded. Was pipe.vae replaced? Then enable the pipeline again"
            raise HeadroomError(f"no decode yet: {why}")
        return replace(self.last, undone=(*self.last.undone, *remarks))

    def trace(self, file: str) -> None:
        """Makes the next decode write a trace to this file, for headroom-report and headroom-gui.

        Raises InputError if the file's folder does not exist, or if the file is in the folder that the VAE was loaded from."""
        self._trace_file = output_name(file, "file", self.vae)

    def disable(self) -> None:
        """Restores the VAE's own ``decode`` and ``encode``, and frees packed weights."""
        disable(self.vae)

    def __enter__(self) -> Handle:
        if self.options.release:
            raise InputError("release=True: cannot be undone, so not in a with statement")
        return self

    def __exit__(self, *_: Any) -> None:
        vae = self.main.module_or_none()
        if vae is not None and handle_of(vae) is self:
            self.disable()

    def __repr__(self) -> str:
        last = "no decode yet" if self.last is None else "; ".join(str(self.last).splitlines())
        return f"<headroom: {self.model.name}, limit {self._limit_text()}, last: {last}>"

    def _limit_text(self) -> str:
        limit = self.options.limit
        return str(limit) if limit in (None, "auto") else _core.format_bytes(limit_bytes(limit))

    def decode(self, z: Any, return_dict: bool = True, generator: Any = None, num_frames: int | None = None, temb: Any = None) -> Any:
        """Replacement for the VAE's own ``decode``. Tiles are exact and never blended. ``num_frames``: the frames of a clip, for a class
        that takes frames as a batch. ``temb``: the time step, for a decoder that takes one."""
        return self._through(
            "decode", z, lambda trained: decoded_output(self._sample(z, trained, num_frames, temb), return_dict),
            lambda: self._original(z, return_dict, generator, num_frames=num_frames, temb=temb),
        )  # fmt: skip

    def decode_frames(self, z: Any, num_frames: int, return_dict: bool = True) -> Any:
        """Replacement for the ``decode`` of a class that takes the frames of clips as a batch."""
        return self.decode(z, return_dict, num_frames=num_frames)

    def encode(self, x: Any, return_dict: bool = True) -> Any:
        """Replacement for the VAE's own ``encode``. Tiles are exact and never blended."""
        return self._through("encode", x, lambda trained: self._encoded(x, return_dict, trained), lambda: self._original_encode(x, return_dict=return_dict))

    def call_proven(self, direction: str, given: Any, options: dict[str, Any], own: Callable[[], Any]) -> Any:
        """Replacement for a ``decode`` or ``encode`` that is not diffusers'. A proof tells what it computes with these arguments."""
        from .proof import tensor_of

        def again(given: Any) -> Any:
            return tensor_of(self._own(direction)(given, **options))

        def serve(trained: list) -> Any:
            proof = self.running[direction].proof(options)
            if isinstance(proof, Unsupported):
                return self._own_call(direction, gate.Past(f"argument {', '.join(options)}", str(proof)), own)
            if direction == "decode":
                return proof.result(self._sample(given, trained, own=again, entry=proof.entry))
            return proof.result(self._with_gradients("encode", given, proof.tensor(self._moments(given)), trained, again))

        return self._through(direction, given, serve, own)

    def _own(self, direction: str) -> Callable[..., Any]:
        """The ``decode`` or ``encode`` that the VAE had before it was enabled."""
        return self.entries[direction].earlier or functools.partial(getattr(type(self.vae), direction), self.vae)

    def _through(self, direction: str, given: Any, serve: Callable[[list], Any], own: Callable[[], Any]) -> Any:
        """Serves a call within the limit, or runs the VAE's own code, as the gate decides."""
        vae, runs = self.vae, self.running[direction]
        name, original = INPUTS[direction], self.options.on_misfit == "original"
        past = gate.past(given, name)
        try:
            trained = runs.trained() if past is None else []
            past = past or gate.past_of_training((vae, parts.part_of(vae, direction)), trained)
            if past is None:
                self._prepare_vae(vae)
                return serve(trained)
            if runs.released:
                raise InputError(past.message("release=True: the VAE has no weights of its own any more, and only Headroom decodes: "))
            if past.refused and not original:
                gate.require_served(past)
        except HeadroomError as refused:
            if direction == "decode":
                refused.latents = given
            if not (original and isinstance(refused, DoesNotFit)):
                raise gate.with_items(refused, given, name)
            past = gate.Past("no plan fits", str(refused))
        return self._own_call(direction, past, own)

    def _prepare_vae(self, vae: Any) -> None:
        hook = getattr(vae, "_hf_hook", None)
        if hook is not None and hasattr(hook, "pre_forward"):
            hook.pre_forward(vae)  # diffusers' apply_forward_hook does the same
        self._warn_of_blending()

    def _functions_over(self) -> tuple[str, ...]:
        """Sentences about functions that lie over Headroom's."""
        return tuple(filter(None, (over.remark(self.vae, name, type(entry)) for name, entry in self.entries.items())))

    def _own_call(self, direction: str, past: gate.Past, own: Callable[[], Any]) -> Any:
        self.own_calls.note(direction, past)
        with self.own_calls.running():
            return own()

    def _with_gradients(self, direction: str, given: Any, made: Any, trained: list, own: Callable[[Any], Any]) -> Any:
        """`made` with a backward if `trained`, parameters that the call used and that need gradients, has any."""
        if not trained:
            return made
        if self.main.released:
            gate.warn(f"this {direction} has no gradients: under release=True, Headroom dropped the VAE's own weights")
            return made
        past = gate.Past("gradients in backward", gate.WITHOUT_GRADIENTS)
        return with_gradients(made, given, trained, lambda given: self._own_call(direction, past, lambda: own(given)))

    def _encoded(self, x: Any, return_dict: bool, trained: list) -> Any:
        made = whole_moments(self._moments(x), self.model.latent_channels)
        made = self._with_gradients("encode", x, made, trained, lambda x: moments_of(self._original_encode(x, return_dict=False)[0]))
        return encoded_output(made, self.model, return_dict)

    def _moments(self, x: Any) -> Any:
        options = {
            **self._options_of(self.encoder), "dtype": self._dtype(self.vae, x, "encode"), "progress": self.options.progress,
            "pipeline_bar": self._pipeline_bar(),
        }  # fmt: skip
        if self.encoder.model.encoded_clips is not None and x.dim() == 5 and x.shape[2] > 1:
            made, self.last = encode_clips(self.encoder, x, **options)
        else:
            made, self.last = self.encoder.decode(x, **options), self.encoder.last
        return made

    def _original_encode(self, *positional: Any, **keywords: Any) -> Any:
        return self._own("encode")(*positional, **keywords)

    def _original(self, z: Any, return_dict: bool, generator: Any, **conditions: Any) -> Any:
        """Decodes with the ``decode`` that the VAE had before it was enabled."""
        chosen = {name: value for name, value in {**conditions, "generator": generator}.items() if value is not None}
        return self._own("decode")(z, return_dict=return_dict, **chosen)

    def _restore(self) -> None:
        """Restores the ``decode`` and the ``encode`` that the VAE had before it was enabled. A function that lies over Headroom's
        stays, and calls the VAE's own code from now on."""
        vae = self.vae
        self.ended = True
        remarks = self._functions_over()
        for name, entry in self.entries.items():
            if over.is_call_of(vars(vae).get(name), type(entry)):
                delattr(vae, name)
                if entry.earlier is not None:
                    setattr(vae, name, entry.earlier)
        for remark in remarks:
            gate.warn(f"{remark}. It stays, and Headroom under it has ended")
        if not remarks:
            vars(vae).pop(parts.HANDLE, None)
        parts.unwatch(vae)
        if self._prepare is not None:
            self._prepare.remove()

    def _require_ready(self, latents: Any, shape: list[int] | None) -> None:
        """Raises the errors that a decode of such latents would raise before it runs. ``shape`` is that of the latents to decode, if it
        is known."""
        size = picture_of(self.model, shape)[0] if shape is not None and self.options.on_misfit == "raise" else None
        self.decoder.require_ready(latents, size, self._dtype(self.vae, latents), **self.options.of_decode())

    def _warn_of_blending(self) -> None:
        """Warns once for each attribute that makes the VAE's own decode blend tiles."""
        for direction in self.running:
            for name, message in WITHOUT_EFFECT[direction].items():
                if name not in self._warned and getattr(self.vae, name, False):
                    self._warned.add(name)
                    gate.warn(message)

    def _warn_of_upcast(self) -> None:
        """Warns if decodes on a GPU run in fp32 though the VAE has 16 bits. Gives no exact figures: these would need two plans (0.3 s)."""
        asked = dtype_name(dtype_in_use(self.vae))
        if self.options.dtype is not None or self.model.decoding_dtype(asked) == asked or device_of(self.vae) == "cpu":
            return
        gate.warn(
            f"decodes run in fp32, because this VAE overflows in {asked} (force_upcast in its config). In bf16 they take about half the memory and "
            "less time: enable(..., dtype=\"bf16\")"
        )

    def _dtype(self, vae: Any, given: Any, direction: str = "decode") -> Any:
        """The dtype that the VAE's own code would return. Cached, because diffusers searches all modules for it. A change of the
        first parameter's dtype invalidates the cache."""
        import torch

        first = next(vae.parameters()).dtype
        if first != self._dtypes[0]:
            self._dtypes = first, {None: dtype_in_use(vae)}
        kind = (next(vae.parameters()) if given is None else given).device.type
        key = (direction, kind, torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else None
        if key not in self._dtypes[1]:
            self._dtypes[1][key] = torch.get_autocast_dtype(kind) if self.known.foreign else own_dtype(vae, self.model, direction, kind)
        return self._dtypes[1][key]

    def _sample(
        self, z: Any, trained: list, num_frames: int | None = None, temb: Any = None, own: Callable[[Any], Any] | None = None,
        entry: Callable[[Any], Any] = lambda z: z,
    ) -> Any:  # fmt: skip
        """The picture of a latent. `own` makes it by a decode that is not diffusers', and `entry` is what this decode does to the latent first."""
        if num_frames is not None:
            made = frames_of(self._decoded(clips_of(z, num_frames)))
        else:
            made = self._decoded(z, temb, own, entry)
        own = own or (lambda z: self._original(z, False, None, num_frames=num_frames, temb=temb)[0])
        return self._with_gradients("decode", z, made, trained, own)

    def _decoded(self, z: Any, temb: Any = None, own: Callable[[Any], Any] | None = None, entry: Callable[[Any], Any] = lambda z: z) -> Any:
        vae, chosen, trace_file = self.vae, self.options, self._trace_file
        self._trace_file = ""
        sample = self.decoder.decode(
            entry(z), **chosen.of_decode(), dtype=self._dtype(vae, z), progress=chosen.progress, pipeline_bar=self._pipeline_bar(), trace_file=trace_file,
            temb=temb,
        )  # fmt: skip
        self.last = self.decoder.last
        if chosen.verify and sample.numel() > 0:
            with self.own_calls.running():
                by_torch = (lambda z: self._by_torch(entry(z), temb)) if chosen.verify == "torch" else None
                self.last = replace(self.last, largest_error=largest_error(vae, self.model, z, sample, self.last.plan, by_torch, temb, own))
        return sample

    def _by_torch(self, z: Any, temb: Any) -> Any:
        """Decodes a latent by PyTorch's executor. ``last`` stays that of the decode to compare."""
        options = {**self.options.of_decode(), "scratch": None, "profile": None, "executor": "torch"}
        return self.decoder.decode(z, **options, dtype=self._dtype(self.vae, z), temb=temb)

    # A copy of the VAE decodes with its own weights.

    def __deepcopy__(self, memo: dict) -> Handle:
        vae = self.vae
        return Handle(memo.get(id(vae), vae), self.known, self.options)

    def __reduce__(self) -> tuple:
        return _rebuilt, (self.vae, self.known.config, self.model.class_name, self.known.foreign, self.options, self.owner)


def _left_to_vae(direction: str, refused: Exception | str) -> Side:
    return Side(None, f"{direction}() is the VAE's own: {refused}")


def _rebuilt(vae: Any, config: str, class_name: str, foreign: bool, options: Options, owner: parts.Owner) -> Handle:
    owner.vae = weakref.ref(vae)
    handle = Handle(vae, Described(model_of(config, class_name), config, foreign), options)
    handle.owner = owner
    return handle


def enable(
    vae_or_pipe: Any,
    limit: int | str | None = "auto",
    host_limit: int | str = "auto",
    scratch: str | None = None,
    profile: str | None = None,
    on_misfit: str = "raise",
    verify: bool | str = False,
    *,
    release: bool = False,
    progress: bool | Callable[[float], None] | None = None,
    thrift: float | str = THRIFT,
    executor: str = "auto",
    dtype: Any = None,
) -> Handle:
    """Makes ``vae.decode`` return the untiled picture within a memory limit, and ``vae.encode`` the untiled latent. Does not change the
    VAE in any other way. Encodes run with Headroom if it has an encoder for the VAE's class. Otherwise ``encode`` stays the VAE's own.

    If a pipeline is enabled, and its decode cannot run, the error comes before the denoising where possible. For that, the
    pipeline's ``prepare_latents`` is wrapped.

    Args:
        vae_or_pipe: a diffusers VAE, or a pipeline with one. Or a module with ``decode`` whose tensors have the names of a known VAE: a tiny
            decode proves that its code computes the same.
        limit: peak memory of a decode or encode, in bytes or as ``"8GiB"``. It covers packed weights, tensors, workspace, and the
            returned picture. ``"auto"``: the free memory when a decode begins; on a GPU, the memory that torch could
            allocate. None: no limit.
        host_limit: on a GPU, pinned host memory for tensors that do not fit the device; ``"auto"``: half of the free memory.
        scratch: on a CPU, a folder on a disk for tensors that do not fit memory.
        profile: a profile that headroom-profile measured on this machine.
        on_misfit: behaviour if no plan fits the limit, or if Headroom refuses an input such as a sparse one. ``"raise"``: raise
            DoesNotFit or InputError before anything runs. ``"original"``: warn, and use the VAE's own decode.
        verify: also decode each item with the VAE's own untiled decode, and raise VerificationError if the pictures differ.
            Warns if that decode cannot run. ``"torch"``: compare with a decode by PyTorch's executor within the same limit instead.
        release: drop the module's own copy of the weights once they are packed. Cannot be undone.
        progress: True shows a tqdm bar, False shows nothing. A function is called with the share that is done. None shows
            a bar for long decodes, if the pipeline's own bars are on.
        thrift: share of time to give for memory: of the plans that take at most this much longer than the fastest, such as ``0.05`` or
            ``"5%"``, a small one runs. 0: the fastest.
        executor: the code that runs the plan. ``"native"``: Headroom's own, on the CPU and on NVIDIA GPUs. ``"torch"``: PyTorch's operations,
            on any device that PyTorch has. ``"auto"``: Headroom's own where it can run, otherwise PyTorch's.
        dtype: the dtype of decodes' arithmetic and of their weights: ``"bf16"``, ``"fp16"``, ``"fp32"`` or a torch dtype. The VAE, its
            encodes and the returned picture keep their dtype. None: the VAE's own, or fp32 for fp16 if its config has force_upcast.

    Returns a handle. Its ``last`` is the DecodeReport of the last decode. Enabling a VAE again replaces the options. As a
    context manager, the handle disables the VAE at the end::

        with headroom_vae.enable(pipe, limit="4GiB") as handle:
            handle.predict(1536, 2048).require()
            image = pipe(prompt, height=1536, width=2048).images[0]

    Decodes take latents of shape N×C×H×W, or N×C×T×H×W for a VAE of clips, on any device, and return the picture on that device in
    the VAE's dtype. Stable Video Diffusion's VAE takes frames as a batch, N·T×C×H×W, and ``num_frames``. Each call decodes whole clips.

    Raises:
        Unsupported: Headroom does not support the class, the config, or a change of the VAE. The message has its name.
        InputError: an argument is wrong, or parameters are missing.
        DoesNotFit: the limit is a small number without a unit, and too small for any picture.
    """
    vae = loaded_vae_of(vae_or_pipe)
    bar = getattr(vae_or_pipe, "progress_bar", None) if vae is not vae_or_pipe else None
    options = Options(limit, host_limit, scratch, profile, thrift, on_misfit, verify, release, progress, executor, dtype).checked()
    known = described(vae)
    if not hasattr(vae, "named_parameters"):
        raise InputError(f"{type(vae).__name__}: expected a torch module with parameters")
    dtype_name(dtype_in_use(vae))
    require_precision(known.model, options.dtype)
    handle = Handle(vae, known, options, bar)
    handle.take_methods()
    if profile is not None:
        handle._profiled = _profiled_direction(handle, profile)
    _require_limit_of_use(handle)
    handle._warn_of_blending()
    handle._warn_of_upcast()
    _install(vae, handle)
    if handle.decoder is None:
        gate.warn(handle.why_no_decoder)
    elif vae is not vae_or_pipe:
        handle._prepare = sampling.install(vae_or_pipe, vae)
    return handle


def _entry_of(vae: Any, kind: type[Entry], handle: Handle) -> Entry:
    """The replacement of a method of the VAE: the one that it has, also under functions of others, or a new one. Raises Unsupported for a
    function of others that Headroom would drop."""
    name = kind.method
    found, known = vars(vae).get(name), vars(vae).get(parts.HANDLE)
    if found is None or is_own(vae, name, found):
        return kind(handle, found)
    if isinstance(known, Handle) and known.vae is vae and name in known.entries:
        return known.entries[name]
    if over.is_call_of(found, kind):  # of the VAE that this one is a shallow copy of
        return kind(handle)
    raise Unsupported(
        f"{type(vae).__name__}: {name} was replaced by {shown(found)}, and Headroom would ignore that. Undo it (del vae.{name}) and call "
        "enable() again. A function that is put over vae.decode after enable() is followed"
    )


def _install(vae: Any, handle: Handle) -> None:
    """Replaces the VAE's methods. Functions of others that lie over Headroom's stay, and call it with its new options."""
    not_compiled()
    join_torch()
    for direction, entry in handle.entries.items():
        if entry.handle is handle or over.remark(vae, direction, type(entry)) is None:  # a new one, or nothing lies over it
            setattr(vae, direction, entry)
        entry.handle = handle
    vars(vae)[parts.HANDLE] = handle
    parts.watch(vae, handle.owner, tuple(handle.entries))
    for remark in handle._functions_over():
        gate.warn(remark)


def _require_limit_of_use(handle: Handle) -> None:
    """Raises DoesNotFit for a small limit without a unit in which the VAE cannot decode even its smallest picture."""
    limit, model = handle.options.limit, handle.model
    if handle.options.on_misfit != "raise" or not is_plain_number(limit):
        return
    bytes_ = limit_bytes(limit) or 0
    if bytes_ >= SMALL_LIMIT_BYTES:
        return
    smallest = min(_smallest_limit_bytes(handle, runs, dtype) for runs in handle.running.values() for dtype in {dtype_name(dtype_in_use(handle.vae)), "bf16"})
    if bytes_ < smallest:
        meant = f" Did you mean '{bytes_}MiB'?" if bytes_ < 1 << 20 else ""
        size = _core.format_bytes
        raise DoesNotFit(f"limit={limit!r} is {size(bytes_)}; the smallest picture of {model.name} takes {size(smallest)}.{meant}", smallest)


def _smallest_limit_bytes(handle: Handle, runs: ModuleDecoder, dtype: str) -> int:
    """The smallest limit that a decode or encode could name. ``vae.to()`` and torch.autocast() may change the dtype later."""
    _, _, _, height, width = handle.model.picture_shape([1, handle.model.latent_channels, 1, 1])
    for _ in range(8):
        try:
            return runs.predict((1, 1, height, width), dtype, **handle._options_of(runs)).smallest_limit_bytes
        except InputError:  # an encoder may take larger steps than the decoder
            height, width = 2 * height, 2 * width
    return 0


def _profiled_direction(handle: Handle, profile: str) -> str:
    """The direction that ``profile`` measured. Raises InputError unless it is a profile of this model.

    Accepts profiles of pictures and of clips, and of either device, because the VAE may move to the other device later."""
    model, refused = handle.model, None
    channels = model.latent_channels
    latents = [[1, channels, 1, 1], *([[1, channels, 3, 1, 1]] if model.decodes_clips else [])]
    for direction, device, latent in itertools.product(handle.running, ("cpu", "cuda"), latents):
        _, _, frames, height, width = model.picture_shape(latent)
        try:
            planner_of(handle.vae, height, width, frames, device=device, direction=direction, **planner_options(profile=profile))
            return direction
        except InputError as error:
            refused = refused or error
    raise refused


def disable(vae_or_pipe: Any) -> None:
    """Restores the ``decode`` and ``encode`` that the VAE had before, and frees packed weights. Does nothing if the VAE is not enabled."""
    handle = handle_of(vae_or_pipe)
    if handle is not None and handle.main.released:
        raise HeadroomError("release=True: the VAE has no weights of its own any more; load it again")
    sampling.remove(vae_or_pipe)
    if handle is not None:
        handle._restore()
        handle.free()


def handle_of(vae_or_pipe: Any) -> Handle | None:
    """The handle of an enabled VAE. None for any other VAE."""
    found = vars(loaded_vae_of(vae_or_pipe)).get(parts.HANDLE)
    return found if isinstance(found, Handle) and not found.ended else None
