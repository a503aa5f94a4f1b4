"""Drawn calls of an enabled VAE: modes of PyTorch × methods × classes × wrappers. Each call gives Headroom's picture, the VAE's own values
with a warning, or an error with a name. HEADROOM_CALLS=3000 draws that many calls; HEADROOM_CALLS_SEED=7 draws others."""

from __future__ import annotations

import copy
import functools
import os
import pickle
import random
import unittest
import warnings
from collections import Counter, defaultdict

import headroom_vae
import tiny
import torch
from changes_test import FAMILIES
from tiny import latent
from torch._subclasses import FakeTensorMode

DRAWS = int(os.environ.get("HEADROOM_CALLS", "253"))
"""By default each mode meets each door once."""
SEED = int(os.environ.get("HEADROOM_CALLS_SEED", "0"))


class Mine(torch.Tensor):
    pass


def tensor_of(made):
    """The tensor of an output of a VAE. Of a distribution, the moments."""
    if isinstance(made, (tuple, list)):
        return tensor_of(made[0])
    for name in ("sample", "latent_dist", "latent", "latents", "parameters"):
        if not isinstance(made, torch.Tensor) and hasattr(made, name) and not (name == "sample" and callable(made.sample)):
            return tensor_of(getattr(made, name))
    return made


# Doors: functions of a VAE, a latent and a picture. The second element tells which of both goes in.
DOORS = {
    "decode": ("z", lambda vae, z: vae.decode(z)),
    "decode, tuple": ("z", lambda vae, z: vae.decode(z, return_dict=False)),
    "encode": ("x", lambda vae, x: vae.encode(x)),
    "encode, tuple": ("x", lambda vae, x: vae.encode(x, return_dict=False)),
    "forward": ("x", lambda vae, x: vae(x)),
    "tiled_decode": ("z", lambda vae, z: vae.tiled_decode(z)),
    "tiled_encode": ("x", lambda vae, x: vae.tiled_encode(x)),
    "slices": ("z", lambda vae, z: (vae.enable_slicing(), vae.decode(torch.cat([z, z])))[1]),
    "_decode": ("z", lambda vae, z: vae._decode(z)),
    "class's decode": ("z", lambda vae, z: type(vae).decode(vae, z)),
    "decoder": ("z", lambda vae, z: vae.decoder(z if getattr(vae, "post_quant_conv", None) is None else vae.post_quant_conv(z))),
}


def traced(call, given):
    return torch.jit.trace(Module(call.keywords["vae"], call), given * 0.5, check_trace=False)(given)


class Module(torch.nn.Module):
    def __init__(self, vae, call):
        super().__init__()
        self.vae, self.call = vae, call

    def forward(self, given):
        return tensor_of(self.call(given))


def exported(call, given):
    return torch.export.export(Module(call.keywords["vae"], call), (given * 0.5,), strict=False).module()(given)


def recorded_by_make_fx(call, given):
    from torch.fx.experimental.proxy_tensor import make_fx

    return make_fx(lambda q: tensor_of(call(q)))(given * 0.5)(given)


def compiled(call, given, **options):
    torch._dynamo.reset()
    return torch.compile(Module(call.keywords["vae"], call), backend="eager", **options)(given)


def under(context):
    def run(call, given):
        with context():
            return call(given)

    return run


def faked(call, given):
    return call(FakeTensorMode(allow_non_fake_inputs=True).from_tensor(given))


def in_fake_mode(call, given):
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        return call(mode.from_tensor(given))


def with_default_device(call, given):
    try:
        torch.set_default_device("meta")
        return call(given)
    finally:
        torch.set_default_device(None)


def freed(call, given):
    given = given.clone()
    given.untyped_storage().resize_(8)
    return call(given)


def batched(call, given):
    return torch.vmap(lambda q: tensor_of(call(q[None]))[0], randomness="same")(given)


def counted(call, given):
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False):
        return call(given)


def trained(call, given):
    with torch.enable_grad():
        call.keywords["vae"].train()
        return call(given)


def with_leaf(call, given):
    with torch.enable_grad():
        return call(given.clone().requires_grad_())


def with_backward(call, given):
    with torch.enable_grad():
        made = tensor_of(call(given))
        made.square().mean().backward()
        return made


MODES = {
    "no_grad": lambda call, given: call(given),
    "inference_mode": under(torch.inference_mode),
    "grad": under(torch.enable_grad),
    "grad, backward": with_backward,
    "grad, input": with_leaf,
    "grad, training": trained,
    "autocast": under(lambda: torch.autocast("cpu", dtype=torch.bfloat16)),
    "default device meta": with_default_device,
    "fake input": faked,
    "fake mode": in_fake_mode,
    "meta": lambda call, given: call(given.to("meta")),
    "freed": freed,
    "sparse": lambda call, given: call(given.to_sparse()),
    "integers": lambda call, given: call(given.int()),
    "subclass": lambda call, given: call(given.as_subclass(Mine)),
    "vmap": batched,
    "functionalize": lambda call, given: torch.func.functionalize(lambda q: tensor_of(call(q)))(given),
    "flop counter": counted,
    "trace": traced,
    "export": exported,
    "make_fx": recorded_by_make_fx,
    "compile": compiled,
    "compile, fullgraph": functools.partial(compiled, fullgraph=True),
}
SLOW = ("trace", "export", "make_fx", "compile", "compile, fullgraph")
"""Modes that record all of a class's code: a small AutoencoderKL alone, so that a test takes minutes."""

PLAIN = ("no_grad", "inference_mode", "grad")
"""Modes in which a compiled decoder of any class runs. In others PyTorch may record it once more, as in SLOW."""

ONLY_SHAPES = ("fake input", "fake mode", "meta", "freed")


def enabled(vae, **options):
    headroom_vae.enable(vae, **options)
    return vae


def with_function_over(vae):
    decode = enabled(vae).decode
    vae.decode = lambda *given, **options: decode(*given, **options)
    return vae


def compiled_over(vae):
    enabled(vae).decode = torch.compile(vae.decode, backend="eager")
    return vae


def with_compiled(vae, name):
    if hasattr(vae, name):
        setattr(vae, name, torch.compile(getattr(vae, name), backend="eager"))
    return vae


def shallow_copy(vae):
    copied = copy.copy(enabled(vae))
    copied.originals = [vae]
    return copied


COMPILED = {"compiled decoder": "decoder", "compiled _decode": "_decode"}
"""Wrappers that replace an attribute before a VAE is enabled. The own code gets the same."""

WRAPPERS = {
    "": enabled,
    "deepcopy": lambda vae: copy.deepcopy(enabled(vae)),
    "pickle": lambda vae: pickle.loads(pickle.dumps(enabled(vae))),
    "copy": shallow_copy,
    "a function over it": with_function_over,
    "enabled twice": lambda vae: enabled(enabled(vae)),
    "enabled again": lambda vae: (headroom_vae.disable(enabled(vae)), enabled(vae))[1],
    **dict.fromkeys(COMPILED, enabled),
    "on_misfit": lambda vae: enabled(vae, on_misfit="original"),
}


def small():
    return tiny.kl(block_out_channels=(32,), down_block_types=("DownEncoderBlock2D",), up_block_types=("UpDecoderBlock2D",))


@functools.cache
def master(make):
    """A VAE that is never enabled, and its latent and picture."""
    vae, shape = make(), {**dict(FAMILIES), small: (1, 4, 3, 4)}[make]
    z = latent(*shape)
    picture = tensor_of(vae.decode(z)).clone() / 3
    # Wan's own encode drops frames after the first that are not four.
    return vae, z, picture[:, :, :1] if make is tiny.wan22 else picture


def finished(mode, call, given):
    """Result of a call: a tensor, or its exception."""
    try:
        return tensor_of(mode(call, given))
    except Exception as error:
        return error


class DrawnCalls(tiny.Case):
    def test_no_call_crashes_or_goes_past_headroom_in_silence(self):
        draw, outcomes = random.Random(SEED), defaultdict(Counter)
        deck = []
        for _ in range(DRAWS):
            if not deck:
                deck = [(mode, door) for mode in MODES for door in DOORS]
                draw.shuffle(deck)
            mode, door = deck.pop()
            wrapper = draw.choice([*WRAPPERS])
            recorded = mode in SLOW or (wrapper in COMPILED and mode not in PLAIN)
            make = small if recorded else draw.choice(FAMILIES)[0]
            with self.subTest(mode=mode, door=door, make=make.__name__, wrapper=wrapper):
                outcomes[mode, door][self.outcome(mode, door, make, wrapper)] += 1
        print(table(outcomes))

    def outcome(self, mode, door, make, wrapper):
        own, z, x = master(make)
        takes, call = DOORS[door]
        given = z if takes == "z" else x
        before = (lambda vae: with_compiled(vae, COMPILED[wrapper])) if wrapper in COMPILED else (lambda vae: vae)
        theirs = finished(MODES[mode], functools.partial(_called, call, vae=before(copy.deepcopy(own))), given)
        torch._dynamo.reset()  # Headroom does not see runs of a graph that was recorded before enable(), also of an equal VAE
        vae = WRAPPERS[wrapper](before(copy.deepcopy(own)))
        handle = headroom_vae.handle_of(vae)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ours = finished(MODES[mode], functools.partial(_called, call, vae=vae), given)
        warned = [str(one.message) for one in caught if "outside Headroom's limit" in str(one.message)]
        if isinstance(ours, headroom_vae.HeadroomError):
            self.assertRegex(str(ours), r"^[^\n]+$")
            return "refused"
        if isinstance(ours, torch._dynamo.exc.Unsupported) and "Headroom" in str(ours):
            return "refused"
        if isinstance(ours, Exception):
            self.assertIsInstance(theirs, Exception, f"{type(ours).__name__}: {ours}")
            self.assertEqual(type(ours), type(theirs), ours)
            return "own error"
        if isinstance(theirs, Exception):  # Headroom does without what the own code lacks
            self.assertTrue(handle.last is not None or warned, theirs)
            return "Headroom alone"
        self.assertEqual((ours.shape, ours.dtype), (theirs.shape, theirs.dtype))
        self.assertLessEqual(theirs.requires_grad, ours.requires_grad)
        if mode not in ONLY_SHAPES and theirs.numel() > 0:
            ours, theirs = (made.detach().as_subclass(torch.Tensor) for made in (ours, theirs))
            if mode == "autocast":
                self.assert_rounds_no_worse(ours, theirs, functools.partial(call, copy.deepcopy(own)), given)
            elif door == "forward":  # an encode and a decode: a tiny decoder makes the latent's rounding up to 30 times larger, also the own code's
                exact = finished(lambda call, given: call(given), functools.partial(_called, call, vae=copy.deepcopy(own).double()), given.double())
                # AutoencoderTiny's own code does not run in fp64.
                self.assert_close(ours, exact.detach().float() if isinstance(exact, torch.Tensor) else theirs, 2e-4)
            else:
                self.assert_close(ours, theirs, 2e-4)
        if warned:
            return "own code"
        if handle.last is not None:
            return "Headroom"
        self.assertTrue(takes == "x" and handle.encoder is None, "the own code ran without a warning")
        return "no encoder"


    def assert_rounds_no_worse(self, ours, theirs, call, given):
        """Compares with the own code in fp32. Its rounding under autocast is the measure, or that of the VAE in bf16: autocast rounds less
        in some classes, and more in others."""
        exact = tensor_of(call(given)).float()
        rounded = finished(lambda call, given: call(given), functools.partial(_called, lambda vae, q: call.func(vae.bfloat16(), q), vae=call.args[0]), given.bfloat16())
        bounds = [float((made.float() - exact).abs().max()) for made in (theirs, rounded) if isinstance(made, torch.Tensor)]
        self.assertLessEqual(float((ours.float() - exact).abs().max()), 2 * max(bounds))


def _called(call, given, vae):
    return call(vae, given)


LETTERS = {"Headroom": "H", "own code": "w", "refused": "r", "own error": "e", "Headroom alone": "A", "no encoder": "n"}


def table(outcomes):
    width = max(map(len, MODES))
    lines = [" | ".join([" " * width, *DOORS])]
    for mode in MODES:
        cells = ["".join(sorted(LETTERS[kind] for kind in outcomes[mode, door])).ljust(len(door)) for door in DOORS]
        lines.append(" | ".join([mode.ljust(width), *cells]))
    total = Counter()
    for found in outcomes.values():
        total.update(found)
    legend = ", ".join(f"{LETTERS[kind]} {kind}: {total[kind]}" for kind in LETTERS)
    return "\n".join([*lines, legend])


if __name__ == "__main__":
    unittest.main()
