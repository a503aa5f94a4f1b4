"""Invalid arguments raise a one-line error that names the argument, before any decode starts."""

from __future__ import annotations

import pathlib
import tempfile
import types
import unittest
import warnings
from unittest import mock

import diffusers
import headroom_vae
import tiny
import torch

BUILT_IN = ("sd15", 64, 64)


class Configless(torch.nn.Linear):
    config = 3


Configless.__name__ = "AutoencoderKL"


class Arguments(tiny.Case):
    def setUp(self):
        super().setUp()
        catch = warnings.catch_warnings()
        catch.__enter__()
        self.addCleanup(catch.__exit__, None, None, None)
        warnings.simplefilter("ignore")

    def assert_refused(self, words, call, *arguments, kind=headroom_vae.InputError, **named):
        with self.assertRaises(kind) as refused:
            call(*arguments, **named)
        text = str(refused.exception)
        self.assertIn(words, text)
        self.assertNotIn("\n", text)
        self.assertNotIn("--", text)

    def test_what_has_no_decode_is_refused_by_every_call(self):
        pipe = diffusers.DDPMPipeline(unet=None, scheduler=None)
        for call in (headroom_vae.enable, headroom_vae.disable, headroom_vae.handle_of):
            for given, words in (
                ("tinysd", "found the name 'tinysd'; load it first"),
                (pathlib.Path("tinysd"), "found the name 'tinysd'"),
                (diffusers.AutoencoderKL, "AutoencoderKL is a class; expected an object"),
                (pipe, "DDPMPipeline: this pipeline has no VAE"),
                (None, "NoneType: expected one of"),
                (b"x", "bytes: expected one of"),
                ([tiny.kl()], "list: expected one of"),
                (headroom_vae.describe("sd15"), "Model: expected one of"),
            ):
                self.assert_refused(words, call, given)
        self.assert_refused("expected a config, as diffusers' models have, found int", headroom_vae.enable, Configless(2, 2))
        fake = type("AutoencoderKL", (), {"config": dict(tiny.kl().config)})()
        self.assert_refused("expected a torch module with parameters", headroom_vae.enable, fake)
        unet = torch.nn.Linear(2, 2)
        headroom_vae.disable(unet)  # it was never enabled
        self.assertIsNone(headroom_vae.handle_of(unet))

    def test_predictions_take_pipelines(self):
        pipe, _ = tiny.stable_diffusion()
        self.assertEqual(str(headroom_vae.predict(pipe, 64, 48, limit="64MiB")), str(headroom_vae.predict(pipe.vae, 64, 48, limit="64MiB")))
        self.assertEqual(headroom_vae.plan(pipe, 64, 48).json(), headroom_vae.plan(pipe.vae, 64, 48).json())
        self.assertEqual(headroom_vae.explain(pipe, 64, 48), headroom_vae.explain(pipe.vae, 64, 48))
        self.assertEqual(headroom_vae.frontier(pipe, 64, 48, points=3), headroom_vae.frontier(pipe.vae, 64, 48, points=3))
        self.assertEqual(headroom_vae.describe(pipe).class_name, "AutoencoderKL")
        for call in (headroom_vae.predict, headroom_vae.plan, headroom_vae.explain, headroom_vae.frontier):
            self.assert_refused("this pipeline has no VAE", call, diffusers.DDPMPipeline(unet=None, scheduler=None), 64, 64)

    def test_odd_values_of_every_argument(self):
        odd = (None, 3, 0, -1, 2.5, "x", "", b"x", [1, 2], (), {}, object(), int, True, float("nan"), 1 << 70, torch.zeros(2), "a\0b", print)
        vae = tiny.kl()
        handle = headroom_vae.enable(vae)
        for value in odd:
            for call, names in (
                (lambda **named: headroom_vae.predict("sd15", **{"height": 64, "width": 64, **named}),
                 ("height", "width", "frames", "batch", "dtype", "device", "limit", "host_limit", "scratch", "profile")),
                (lambda **named: headroom_vae.frontier(*BUILT_IN, **named), ("points", "dtype", "scratch")),
                (lambda **named: headroom_vae.enable(vae, **named),
                 ("limit", "host_limit", "scratch", "profile", "on_misfit", "verify", "release", "progress")),
                (lambda **named: handle.predict(**{"height": 64, "width": 64, **named}), ("height", "width", "frames", "batch")),
                (lambda vae: headroom_vae.predict(vae, 64, 64), ("vae",)),
                (lambda file: handle.trace(file), ("file",)),
                (lambda z: vae.decode(z), ("z",)),
            ):  # fmt: skip
                for name in names:
                    with self.subTest(name=name, value=repr(value)[:20]):
                        try:
                            call(**{name: value})
                        except headroom_vae.HeadroomError as error:
                            self.assertNotRegex(str(error), "\n|--|^$")

    def test_errors_name_arguments_of_python(self):
        for words, named in (
            ("vae=nosuch: expected a folder", {"vae": "nosuch"}),
            ("height: expected a height", {"height": 100}),
            ("width: expected a width", {"width": 100}),
            ("frames: AutoencoderKL decodes single pictures", {"frames": 3}),
            ("batch: expected from 1 to 4096, found 0", {"batch": 0}),
            ("batch: expected from 1 to 4096, found -2", {"batch": -2}),
            ("height: expected a whole number, found '64'", {"height": "64"}),
            ("points: expected at least 1, found 0", {"points": 0}),
        ):
            self.assert_refused(words, headroom_vae.frontier, **{"vae": "sd15", "height": 64, "width": 64, **named})

    def test_messages_of_the_programs_in_words_of_python(self):
        for text, expected in (
            ("--model SDXL: no such file", "vae=SDXL: no such file"),
            ("put its config.json beside the file, or give --model FOLDER --weights FILE", "put its config.json beside the file, or give vae=FOLDER"),
            ("say which (--model sdxl --weights a.safetensors), or put", "say which (vae=sdxl), or put"),
            ("--size: expected a width that is a multiple of 8", "width: expected a width that is a multiple of 8"),
            ("--size: too large for tiles", "height, width: too large for tiles"),
            ("use --scratch FOLDER, or --device cuda", "use scratch=FOLDER, or device=cuda"),
            ("a plan for --host-limit 123 takes no more", "a plan for host_limit=123 takes no more"),
            ("starts 3 of 64 threads (--threads 3 takes no more)", "starts 3 of 64 threads (torch.set_num_threads(3) takes no more)"),
            ("plan with a profile of this machine, or give --other-environment", "plan with a profile of this machine"),
            ("measured on x, this is y; give --other-environment to plan for that machine", "measured on x, this is y"),
            ("  ... 7 bands more; --pass 3 shows them all\n", "  ... 7 bands more\n"),
            ("hf download a/b --include \"vae/*\" --local-dir b, then --model b", "hf download a/b --include \"vae/*\" --local-dir b, then vae=b"),
            ("expected a profile of headroom-profile --frames 9", "expected a profile of headroom-profile --frames 9"),  # a shell's command
        ):
            self.assertEqual(headroom_vae.errors.in_python(text), expected)

    def test_remedies_name_arguments_of_python(self):
        vae = tiny.kl(block_out_channels=(64, 64), layers_per_block=2)
        found = headroom_vae.enable(vae, limit="2MiB", release=True).predict(128, 128)
        changes = [remedy["change"] for remedy in found.remedies]
        self.assertIn("release=False", changes)
        self.assertNotIn("--", " ".join([*changes, str(found)]))

    def test_limits_of_a_few_bytes_are_refused_at_once(self):
        for limit, words in (
            (4, "limit=4 is 4 bytes. Did you mean '4GiB'?"),
            (" 8", "limit='8' is 8 bytes. Did you mean '8GiB'?"),
            (0, "limit=0 is 0 bytes."),
            (8192, "limit=8192 is 8.0 KiB; the smallest picture of AutoencoderKL takes 942.4 KiB. Did you mean '8192MiB'?"),
            (960000, "limit=960000 is 937.5 KiB; the smallest picture of AutoencoderKL takes 942.4 KiB."),
        ):
            kind = headroom_vae.DoesNotFit if limit in (8192, 960000) else headroom_vae.InputError
            self.assert_refused(words, headroom_vae.enable, tiny.kl(), limit=limit, kind=kind)
        # A limit that an encode names works too, also in 16 bits.
        smallest = headroom_vae.predict(tiny.kl(), 2, 2, dtype="bf16", direction="encode").smallest_limit_bytes
        with self.assertRaises(headroom_vae.DoesNotFit) as refused:
            headroom_vae.enable(tiny.kl(), limit=smallest - 1)
        self.assertEqual(refused.exception.smallest_limit_bytes, smallest)
        headroom_vae.enable(tiny.kl(), limit=smallest)
        headroom_vae.enable(tiny.kl(), limit=8192, on_misfit="original")
        headroom_vae.enable(tiny.kl(), limit="1MiB")
        headroom_vae.enable(tiny.kl(), host_limit=0)

    def test_files_that_are_missing_or_something_else_are_refused_at_once(self):
        vae = tiny.kl()
        self.assert_refused("nope.json", headroom_vae.enable, vae, profile="nope.json")
        with tempfile.TemporaryDirectory() as folder:
            other = pathlib.Path(folder, "config.json")
            other.write_text("{}")
            self.assert_refused("config.json", headroom_vae.enable, vae, profile=str(other))
            self.assert_refused("config.json", headroom_vae.enable, vae, profile=other)
            handle = headroom_vae.enable(vae)
            handle.trace(pathlib.Path(folder, "trace.json"))
        self.assert_refused("expected a folder that exists", handle.trace, "/no/such/folder/trace.json")

    def test_profiles_of_pictures_and_of_clips_are_taken_for_any_device(self):
        vae, made = tiny.wan(), []

        def planner(model, *_, profile="", frames=1, device="cpu", **__):
            made.append((model.direction, device, frames))
            if profile.startswith("clips") and (frames == 1 or device == "cpu"):
                raise headroom_vae.InputError("clips: layers: expected others")
            if profile == "clips of encodes" and model.direction == "decode":
                raise headroom_vae.InputError("clips of encodes: direction: measured encode")

        with mock.patch("headroom_vae.prediction._core.Planner", planner):
            headroom_vae.enable(vae, profile="clips")
            tries = [("cpu", 1), ("cpu", 9), ("cuda", 1), ("cuda", 9)]
            self.assertEqual(made, [("decode", *one) for one in tries])
            made.clear()
            handle = headroom_vae.enable(vae, profile="clips of encodes")
        self.assertEqual(made, [(direction, *one) for direction in ("decode", "encode") for one in tries])
        self.assertIsNone(handle._options_of(handle.decoder)["profile"])
        self.assertEqual(handle._options_of(handle.encoder)["profile"], "clips of encodes")

    def test_a_vae_in_float64_is_refused_at_once(self):
        self.assert_refused("dtype: expected fp32, bf16 or fp16, found 'float64'", headroom_vae.enable, tiny.kl().double())

    def test_latents_that_are_none(self):
        vae, z = tiny.kl(), torch.zeros(2, 4, 4, 4)
        headroom_vae.enable(vae)
        broken = z.clone()
        broken[1, 2, 0, 3] = float("nan")
        for given, words in (
            ([1, 2], "latent: expected a torch tensor, found list"),
            (z.numpy(), "latent: expected a torch tensor, found ndarray"),
            (z.int(), "latent: expected floating-point values, found int32"),
            (z.to(torch.complex64), "latent: expected floating-point values, found complex64"),
            (z.to("meta"), "latent: expected values, found none"),
            (z.to_sparse(), "latent: expected a dense tensor, found sparse_coo"),
            (torch.nested.nested_tensor([z[0], z[1]]), "latent: expected a dense tensor, found a nested one"),
            (torch.tensor(1.0), "found no axes"),
            (broken, "latent: element 99 is not finite (nan)"),
            (z - float("inf"), "latent: element 0 is not finite (-inf)"),
            (z.double() + 1e300, "latent: element 0 is not finite (inf)"),
        ):
            self.assert_refused(words, vae.decode, given)

    def test_what_cannot_be_undone_is_no_context(self):
        handle = headroom_vae.enable(tiny.kl(), release=True)
        self.assert_refused("release=True: cannot be undone", handle.__enter__)

    def test_a_namespace_with_a_vae_is_a_pipeline(self):
        vae = tiny.kl()
        handle = headroom_vae.enable(types.SimpleNamespace(vae=vae))
        self.assertIs(headroom_vae.handle_of(vae), handle)


if __name__ == "__main__":
    unittest.main()
