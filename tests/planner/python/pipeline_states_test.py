"""States in which people run their pipelines. Each is set up before and after headroom_vae.enable(). The pipeline must give the
picture of its own untiled decode, or one line that says what to do. The report names what was not used.

air_card_test.py tests offload to a GPU. changes_test.py tests changes of modules in more detail.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import json
import pickle
import tempfile
import unittest
import warnings
from pathlib import Path
from unittest import mock

import accelerate
import comfyui_support
import diffusers
import headroom_vae
import tiny
import torch
from diffusers.hooks import apply_group_offloading
from safetensors.torch import save_file

CPU = torch.device("cpu")
LIMIT = "64MiB"


class States(tiny.Case):
    def setUp(self):
        super().setUp()
        accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)  # CPU offload hooks of other tests

    def made(self):
        pipe, self.arguments = tiny.stable_diffusion()
        return pipe

    def picture(self, pipe, **more):
        result = tiny.run(pipe, self.arguments, **more)
        return result[0] if isinstance(result, tuple) else result

    def assert_follows(self, state, *undone, theirs=None):
        """The state is set up before enable(), after it, and after a first picture. The picture is that of the pipeline's own decode,
        and the report names exactly what was not used."""
        theirs = self.picture(self.made()) if theirs is None else theirs
        for pictures in (None, 0, 1):
            with self.subTest(pictures_before=pictures), warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)
                pipe = self.made()
                handle = None if pictures is None else headroom_vae.enable(pipe, limit=LIMIT)
                if pictures:
                    self.picture(pipe)
                state(pipe)
                handle = handle or headroom_vae.enable(pipe, limit=LIMIT)
                for _ in range(2):
                    self.assert_close(self.picture(pipe), theirs)
                self.assert_reports(handle, undone)

    def assert_reports(self, handle, undone):
        report = handle.report()
        self.assertEqual(report.undone, undone)
        self.assertRegex(str(report), r"^\S+ m?s on cpu in \w+, peak \S+ \wiB")
        for text in undone:
            self.assertIn(text, str(report))
            self.assertIn(text, repr(handle))
            self.assertIn(text, handle._repr_html_())
        self.assertLessEqual(report.peak_bytes, 64 << 20)

    def assert_refused(self, state, message):
        """One line, at enable() or before the denoising."""
        pipe = self.made()
        state(pipe)
        with self.assertRaisesRegex(headroom_vae.Unsupported, message):
            headroom_vae.enable(pipe, limit=LIMIT)
        for pictures in (0, 1):
            pipe = self.made()
            headroom_vae.enable(pipe, limit=LIMIT)
            if pictures:
                self.picture(pipe)
            state(pipe)
            with self.assertRaisesRegex(headroom_vae.Unsupported, message) as refused, self.assert_no_denoising(pipe):
                self.picture(pipe)
            self.assertNotIn("\n", str(refused.exception))

    @contextlib.contextmanager
    def assert_no_denoising(self, pipe):
        with mock.patch.object(type(pipe.unet), "forward", side_effect=AssertionError("denoising began")):
            yield

    # Offloading

    def test_model_offload(self):
        self.assert_follows(lambda pipe: accelerate.cpu_offload_with_hook(pipe.vae, CPU))
        self.assert_follows(lambda pipe: pipe.enable_model_cpu_offload(device="cpu"))  # its hooks name the device cpu:0

    def test_sequential_offload(self):
        undone = "sequential offload was on: its hooks moved nothing, the decode read the weights from where they are"
        # The hooks of pipe.enable_sequential_cpu_offload(), which fails by itself on the CPU (accelerate 1.15).
        self.assert_follows(lambda pipe: accelerate.cpu_offload(pipe.vae, CPU), undone)

    def test_group_offload_by_blocks_and_by_leaves(self):
        for kind in ("block_level", "leaf_level"):
            with self.subTest(kind):
                self.assert_follows(
                    lambda pipe: apply_group_offloading(pipe.vae, onload_device=CPU, offload_type=kind, num_blocks_per_group=1),
                    "group offload was on: its hooks moved nothing, the decode read the weights from where they are",
                )

    # The VAE's own ways to save memory

    def test_tiling(self):
        theirs = self.picture(self.made())
        for enabled_first in (False, True):
            pipe = self.made()
            message = "vae.enable_tiling() has no effect while Headroom is enabled"
            if enabled_first:
                handle = headroom_vae.enable(pipe, limit=LIMIT)
            pipe.vae.enable_tiling()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                handle = handle if enabled_first else headroom_vae.enable(pipe, limit=LIMIT)
                self.assert_close(self.picture(pipe), theirs)
                self.picture(pipe)
            self.assertEqual([message in str(warning.message) for warning in caught if warning.category is UserWarning], [True])
            self.assertEqual(handle.report().undone, ("tiling was on: not used",))

    def test_slicing(self):
        self.assert_follows(lambda pipe: pipe.vae.enable_slicing())
        pipe = self.made()
        theirs = self.picture(pipe, num_images_per_prompt=3)
        pipe.vae.enable_slicing()
        handle = headroom_vae.enable(pipe, limit=LIMIT)
        self.assert_close(self.picture(pipe, num_images_per_prompt=3), theirs)
        (undone,) = handle.report().undone
        self.assertRegex(undone, r"^slicing was on: not used, the plan decodes \d of 3 at a time$")

    def test_torch_compile(self):
        undone = "torch.compile: the compiled code was not used"
        self.assert_follows(lambda pipe: pipe.vae.compile(), undone)
        self.assert_follows(lambda pipe: setattr(pipe.vae, "decoder", torch.compile(pipe.vae.decoder)), undone)

    def test_a_compiled_vae_as_the_pipelines_vae(self):
        theirs = self.picture(self.made())
        pipe = self.made()
        pipe.vae = torch.compile(pipe.vae)
        handle = headroom_vae.enable(pipe, limit=LIMIT)
        self.assert_close(self.picture(pipe), theirs)
        self.assertIsNotNone(handle.last)
        pipe = self.made()
        handle = headroom_vae.enable(pipe, limit=LIMIT)
        pipe.vae = torch.compile(pipe.vae)
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            self.assert_close(self.picture(pipe), theirs)
        self.assertIsNotNone(handle.last)

    def test_fp16_and_force_upcast(self):
        def made(**config):
            pipe = self.made()
            pipe.vae = tiny.kl(**config).half()
            return pipe

        def decoded(pipe, z):
            return pipe.vae.decode(z.half(), return_dict=False)[0]

        z = tiny.embeddings(1, 4, 32, 24)
        upcast = "fp16: decoded in fp32, since its config has force_upcast"
        for config, undone in (({"force_upcast": True}, (upcast,)), ({"force_upcast": False}, ())):
            theirs = decoded(made(**config), z)
            exact = tiny.kl(**config).decode(z).sample
            for half_first in (False, True):
                pipe = made(**config)
                if not half_first:
                    pipe.vae.float()
                handle = headroom_vae.enable(pipe, limit=LIMIT)
                pipe.vae.half()
                ours = decoded(pipe, z)
                self.assertEqual(ours.dtype, torch.float16)
                self.assert_close(ours, theirs, 1e-2)
                self.assertLessEqual(float((ours - exact).abs().max()), 1.1 * float((theirs - exact).abs().max()))
                self.assertEqual(handle.report().undone, undone)

    def test_a_pipeline_that_upcasts_its_vae(self):
        pipe, arguments = tiny.stable_diffusion_xl()
        pipe.vae.half()
        arguments["output_type"] = "pt"
        theirs = tiny.run(pipe, arguments)  # the pipeline turns the VAE to fp32 and back
        self.assertEqual(pipe.vae.dtype, torch.float16)
        handle = headroom_vae.enable(pipe, limit=LIMIT)
        for _ in range(2):
            self.assert_close(tiny.run(pipe, arguments), theirs)
        self.assertEqual(handle.report().plan.dtype, "fp32")

    # Changes

    def test_changed_modules(self):
        class Conv2d(torch.nn.Module):  # as peft's layers are
            def __init__(self, base_layer):
                super().__init__()
                self.base_layer, self.weight, self.bias = base_layer, base_layer.weight, base_layer.bias

            def forward(self, x):
                return self.base_layer(x)

        Conv2d.__module__ = "peft.tuners.lora.layer"
        undo = r".* Undo it, or decode without Headroom"
        for change, message in (
            (lambda decoder: setattr(decoder.conv_in, "padding_mode", "circular"), rf"^decoder\.conv_in: padding_mode is 'circular', {undo}"),
            (lambda decoder: decoder.conv_in.register_forward_hook(lambda module, inputs, output: output * 2),
             rf"^decoder\.conv_in: a forward hook, {undo}"),
            (lambda decoder: setattr(decoder, "conv_in", Conv2d(decoder.conv_in)),
             r"^decoder\.conv_in is peft\.tuners.*Conv2d, AutoencoderKL makes Conv2d\. .* Merge the adapter into the weights, or"),
        ):  # fmt: skip
            with self.subTest(message):
                self.assert_refused(lambda pipe: change(pipe.vae.decoder), message)

    def test_changed_weights(self):
        def merged(pipe):  # as a merged LoRA
            pipe.vae.decoder.conv_in.weight.data += 0.1 * torch.sign(pipe.vae.decoder.conv_in.weight)

        def loaded(pipe):
            pipe.vae.load_state_dict(tiny.kl(seed=1).state_dict())

        for state in (merged, loaded):
            pipe = self.made()
            state(pipe)
            self.assert_follows(state, theirs=self.picture(pipe))

    # Other pipelines, VAEs and devices

    def test_a_second_pipeline_on_the_vae(self):
        first = self.made()
        second = diffusers.StableDiffusionImg2ImgPipeline.from_pipe(first)
        image = tiny.embeddings(1, 3, 64, 48).clamp(-1, 1)
        arguments = {key: value for key, value in self.arguments.items() if key not in ("height", "width")}
        arguments.update(image=image, strength=0.6, num_inference_steps=4)
        theirs = self.picture(first), tiny.run(second, arguments)
        handle = headroom_vae.enable(first, limit=LIMIT)
        for pipe, asked, whole in ((first, self.arguments, theirs[0]), (second, arguments, theirs[1]), (first, self.arguments, theirs[0])):
            handle.last = None
            self.assert_close(tiny.run(pipe, asked), whole)
            self.assertIsNotNone(handle.last)
        other = headroom_vae.enable(second, limit="128MiB")  # replaces the options for both
        self.assert_close(self.picture(first), theirs[0])
        self.assertIsNotNone(other.last)
        headroom_vae.disable(first)
        self.assertIsNone(headroom_vae.handle_of(second))
        for pipe, asked, whole in ((first, self.arguments, theirs[0]), (second, arguments, theirs[1])):
            torch.testing.assert_close(tiny.run(pipe, asked), whole, rtol=0, atol=0)

    def test_from_single_file(self):
        made = tiny.kl(mid_block_add_attention=True)
        with tempfile.TemporaryDirectory() as folder:
            values = made.state_dict()
            original = {f"first_stage_model.{_original_name(name)}": _as_original(name, value) for name, value in values.items()}
            save_file(original, f"{folder}/vae.safetensors")
            config = {key: value for key, value in made.config.items() if not key.startswith("_")}
            Path(folder, "config.json").write_text(json.dumps({"_class_name": "AutoencoderKL", **config}))
            vae = diffusers.AutoencoderKL.from_single_file(f"{folder}/vae.safetensors", config=folder)
            torch.testing.assert_close(vae.state_dict(), values, rtol=0, atol=0)
            pipe = self.made()
            pipe.vae = vae
            theirs = self.picture(pipe)
            handle = headroom_vae.enable(pipe, limit=LIMIT)
            self.assert_close(self.picture(pipe), theirs)
            self.assertEqual(handle.report().undone, ())

    def test_a_quantised_transformer_beside_the_vae(self):
        def quantise(pipe):
            pipe.transformer = torch.ao.quantization.quantize_dynamic(pipe.transformer, {torch.nn.Linear}, dtype=torch.qint8)

        pipe, arguments = tiny.flux()
        quantise(pipe)
        theirs = tiny.run(pipe, arguments)
        for before in (True, False):
            pipe, arguments = tiny.flux()
            if before:
                quantise(pipe)
            handle = headroom_vae.enable(pipe, limit=LIMIT)
            if not before:
                quantise(pipe)
            self.assert_close(tiny.run(pipe, arguments), theirs)
            self.assertEqual(handle.report().undone, ())

    def test_another_vae_in_the_pipeline(self):
        pipe = self.made()
        headroom_vae.enable(pipe, limit=LIMIT)
        self.picture(pipe)
        pipe.vae = tiny.kl(seed=1)
        gc.collect()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            theirs = self.picture(pipe)
            self.picture(pipe)
        messages = [str(warning.message) for warning in caught if warning.category is UserWarning]
        self.assertEqual(len(messages), 1)
        self.assertRegex(messages[0], r"^pipe\.vae was replaced after headroom_vae\.enable\(\): this AutoencoderKL decodes without Headroom and "
                                      r"its limit\. Call headroom_vae\.enable\(pipe, …\) again$")  # fmt: skip
        handle = headroom_vae.enable(pipe, limit=LIMIT)
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            self.assert_close(self.picture(pipe), theirs)
        self.assertIsNotNone(handle.last)
        headroom_vae.disable(pipe)
        pipe.vae = tiny.kl()
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            self.picture(pipe)

    def test_a_report_before_any_decode(self):
        pipe = self.made()
        handle = headroom_vae.enable(pipe)
        with self.assertRaisesRegex(headroom_vae.HeadroomError, r"^no decode yet: .* Was pipe\.vae replaced\?"):
            handle.report()
        self.assertIn("no decode yet", repr(handle))
        self.assertIn("no decode yet", handle._repr_html_())
        pipe.vae = None
        gc.collect()
        with self.assertRaisesRegex(headroom_vae.HeadroomError, r"^the VAE that was enabled is gone\. Call headroom_vae\.enable\(\)"):
            handle.predict(64, 64)


def _original_name(name: str) -> str:
    """Name of a tensor in Stable Diffusion's original code."""
    words = name.split(".")
    if words[0] != "encoder":
        return comfyui_support.original_name(name, 2)
    if words[1] == "down_blocks":
        kind = ["block", words[4]] if words[3] == "resnets" else ["downsample"]
        return ".".join(["encoder", "down", words[2], *kind, *words[5:]]).replace("conv_shortcut", "nin_shortcut")
    return "encoder" + comfyui_support.original_name(".".join(["decoder", *words[1:]]), 2).removeprefix("decoder")


def _as_original(name: str, value: torch.Tensor) -> torch.Tensor:
    """The original code has 1x1 convolutions where diffusers has linear layers."""
    return (value[..., None, None] if "attentions" in name and value.dim() == 2 else value).contiguous()


class BeforeTheDenoising(tiny.Case):
    """Errors of the decode come before the denoising where the size is known."""

    def assert_raises_before(self, pipe, arguments, **more):
        denoiser = pipe.unet if hasattr(pipe, "unet") else pipe.transformer
        with (
            self.assertRaises(headroom_vae.DoesNotFit) as refused,
            mock.patch.object(type(denoiser), "forward", side_effect=AssertionError("denoising began")),
        ):
            tiny.run(pipe, arguments, **more)
        self.assertIsNone(refused.exception.latents)
        return refused.exception

    def test_every_pipeline(self):
        for name, make in tiny.PIPELINES.items():
            with self.subTest(name):
                pipe, arguments = make()
                handle = headroom_vae.enable(pipe, limit="1MiB")
                size = arguments["height"], arguments["width"], arguments.get("num_frames", 1)
                smallest = handle.predict(*size).smallest_limit_bytes
                handle = headroom_vae.enable(pipe, limit=smallest - 1)
                self.assertEqual(self.assert_raises_before(pipe, arguments).smallest_limit_bytes, smallest)
                handle = headroom_vae.enable(pipe, limit=smallest)
                tiny.run(pipe, arguments)
                self.assertLessEqual(handle.report().peak_bytes, smallest)
                self.assertEqual(handle.report().planning_seconds, 0)  # the check has planned

    def test_pictures_of_a_call_are_counted(self):
        pipe, arguments = tiny.stable_diffusion()
        handle = headroom_vae.enable(pipe)
        smallest = [handle.predict(64, 48, batch=batch).smallest_limit_bytes for batch in (1, 8)]
        self.assertLess(*smallest)
        headroom_vae.enable(pipe, limit=smallest[0])
        tiny.run(pipe, arguments)
        self.assert_raises_before(pipe, arguments, num_images_per_prompt=8)

    def test_nothing_is_checked_where_nothing_is_decoded(self):
        pipe, arguments = tiny.stable_diffusion()
        headroom_vae.enable(pipe, limit="1MiB")
        latents = tiny.run(pipe, arguments, output_type="latent")
        self.assertEqual(latents.shape, (1, 4, 32, 24))
        pipe.prepare_latents(1, 4, 64, 48, torch.float32, "cpu", None)  # by a script that samples by itself
        with self.assertRaises(headroom_vae.DoesNotFit) as refused:
            pipe.vae.decode(latents)
        self.assertIs(refused.exception.latents, latents)

    def test_on_misfit_original_warns_at_the_decode(self):
        pipe, arguments = tiny.stable_diffusion()
        theirs = tiny.run(pipe, arguments)
        headroom_vae.enable(pipe, limit="1MiB", on_misfit="original")
        with self.assertWarnsRegex(UserWarning, "decoding with the VAE's own decode"):
            torch.testing.assert_close(tiny.run(pipe, arguments), theirs, rtol=0, atol=0)

    def test_where_the_size_is_not_known_the_latents_are_in_the_error(self):
        pipe, arguments = tiny.stable_diffusion()
        headroom_vae.enable(pipe.vae, limit="1MiB")  # the VAE alone
        with self.assertRaises(headroom_vae.DoesNotFit) as refused:
            tiny.run(pipe, arguments)
        self.assertEqual(refused.exception.latents.shape, (1, 4, 32, 24))

    def test_all_errors_of_an_enabled_vae_carry_the_latents(self):
        pipe, _ = tiny.stable_diffusion()
        headroom_vae.enable(pipe.vae)
        z = torch.full((1, 4, 4, 4), float("nan"))
        with self.assertRaises(headroom_vae.InputError) as refused:
            pipe.vae.decode(z)
        self.assertIs(refused.exception.latents, z)

    def test_the_pipelines_own_method_comes_back(self):
        pipe, arguments = tiny.stable_diffusion()
        theirs = tiny.run(pipe, arguments)
        for end in (lambda handle: headroom_vae.disable(pipe), lambda handle: handle.disable(), lambda handle: handle.__exit__()):
            handle = headroom_vae.enable(pipe)
            self.assertIn("prepare_latents", vars(pipe))
            self.assertEqual(pipe.prepare_latents.__name__, "prepare_latents")
            end(handle)
            self.assertNotIn("prepare_latents", vars(pipe))
        calls = []
        own = pipe.prepare_latents

        def mine(*positional, **keywords):
            calls.append(positional)
            return own(*positional, **keywords)

        pipe.prepare_latents = mine
        headroom_vae.enable(pipe)
        headroom_vae.enable(pipe, limit=LIMIT)
        torch.testing.assert_close(tiny.run(pipe, arguments), theirs, rtol=1e-4, atol=1e-4)
        self.assertEqual(len(calls), 1)
        headroom_vae.disable(pipe)
        self.assertIs(pipe.prepare_latents, mine)

    def test_copies_of_a_pipeline_check_their_own_vae(self):
        pipe, arguments = tiny.stable_diffusion()
        headroom_vae.enable(pipe, limit="1MiB")
        for copied in (copy.deepcopy(pipe), pickle.loads(pickle.dumps(pipe))):
            self.assert_raises_before(copied, arguments)
            headroom_vae.enable(copied, limit=LIMIT)
            tiny.run(copied, arguments)
        self.assert_raises_before(pipe, arguments)

    def test_an_enabled_pipeline_goes_with_its_last_reference(self):
        pipe, arguments = tiny.stable_diffusion()
        headroom_vae.enable(pipe, limit=LIMIT)
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        prepare = pipe.prepare_latents
        del pipe
        self.assertIsNone(prepare._pipe())


if __name__ == "__main__":
    unittest.main()
