"""How people call a VAE: traced, compiled, faked, trained and wrapped. Each call gets Headroom's picture, the VAE's own values with a
warning, or an error with a name."""

from __future__ import annotations

import contextlib
import copy
import inspect
import pickle
import subprocess
import sys
import unittest
import warnings

import headroom_vae
import tiny
import torch
from changes_test import FAMILIES
from tiny import latent
from torch._subclasses import FakeTensorMode

OWN = "with the VAE's own (decode|encode), outside Headroom's limit"


def moments(encoded):
    return getattr(encoded.latent_dist, "parameters", None) if hasattr(encoded, "latent_dist") else encoded.latent


class Calls(torch.nn.Module):
    def __init__(self, vae):
        super().__init__()
        self.vae = vae

    def forward(self, z):
        return self.vae.decode(z).sample * 2


class Encodes(Calls):
    def forward(self, x):
        return moments(self.vae.encode(x)) * 2


class Case(tiny.Case):
    @contextlib.contextmanager
    def one_warning(self, words=OWN):
        """Exactly one warning has these words."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        found = [str(one.message) for one in caught if "Headroom" in str(one.message)]
        self.assertEqual(len(found), 1, found)
        self.assertRegex(found[0], words)

    @contextlib.contextmanager
    def no_warning(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        self.assertEqual([str(one.message) for one in caught if "Headroom" in str(one.message)], [])

    def both(self):
        """A VAE of pictures and one of clips, enabled; an input and the own result of either direction."""
        for make, z, x in ((tiny.kl, latent(1, 4, 6, 5), latent(1, 3, 12, 10)), (tiny.wan, latent(1, 16, 2, 2, 3), latent(1, 3, 5, 16, 24))):
            for direction, given in (("decode", z), ("encode", x)):
                vae = make()
                with torch.no_grad():
                    own = self.result(vae, direction, given)
                handle = headroom_vae.enable(vae)
                yield vae, handle, direction, given, own

    def result(self, vae, direction, given):
        return vae.decode(given).sample if direction == "decode" else moments(vae.encode(given))


class Recorded(Case):
    def test_s1_a_trace_records_the_own_code(self):
        for vae, handle, direction, given, own in self.both():
            with self.one_warning(f"{OWN}: torch.jit.trace records the call"), warnings.catch_warnings():
                warnings.simplefilter("ignore", torch.jit.TracerWarning)
                warnings.filterwarnings("ignore", "`torch.jit")
                traced = torch.jit.trace((Calls if direction == "decode" else Encodes)(vae), given * 0.5, check_trace=False)
            self.assert_close(traced(given), own * 2)
            self.assertEqual(sum(handle.own_calls.counts.values()), 1)

    def test_s1_torch_export_and_make_fx_record_the_own_code(self):
        from torch.fx.experimental.proxy_tensor import make_fx

        vae, z = tiny.kl(), latent(1, 4, 6, 5)
        own = vae.decode(z).sample * 2
        headroom_vae.enable(vae)
        with self.one_warning():
            exported = torch.export.export(Calls(vae), (z * 0.5,), strict=False)
        self.assert_close(exported.module()(z), own)
        self.assert_close(make_fx(lambda q: vae.decode(q).sample * 2)(z * 0.5)(z), own)

    def test_s2_fake_tensors_give_shapes(self):
        for vae, _, direction, given, own in self.both():
            mode = FakeTensorMode(allow_non_fake_inputs=True)
            with self.one_warning():
                self.assertEqual(self.result(vae, direction, mode.from_tensor(given)).shape, own.shape)
            with self.one_warning(), mode:
                self.assertEqual(self.result(vae, direction, mode.from_tensor(given)).shape, own.shape)

    def test_s2_functional_tensors_and_transforms_run_the_own_code(self):
        vae, z = tiny.kl(mid_block_add_attention=False), latent(2, 4, 6, 5)
        own = vae.decode(z).sample
        headroom_vae.enable(vae)
        decode = lambda q: vae.decode(q).sample  # noqa: E731
        with self.one_warning():
            self.assert_close(torch.func.functionalize(decode)(z), own)
            self.assert_close(torch.vmap(lambda q: decode(q[None])[0])(z), own)
            _, tangent = torch.func.jvp(decode, (z,), (torch.ones_like(z),))
        self.assertEqual(tangent.shape, own.shape)
        functional = torch._to_functional_tensor(z)
        with self.one_warning("functional tensor"):
            self.assert_close(torch._from_functional_tensor(decode(functional)), own)

    def test_s2_tensors_without_storage_are_refused(self):
        vae, z = tiny.kl(), latent(1, 4, 6, 5)
        handle = headroom_vae.enable(vae)
        vae.decode(z)
        for length in (0, 16):
            freed = z.clone()
            freed.untyped_storage().resize_(length)
            with self.assertRaisesRegex(headroom_vae.InputError, "latent: expected values, found a tensor whose storage was freed"):
                vae.decode(freed)
            # The extension module checks again.
            plan, model = handle.last.plan, handle.model
            decoder = headroom_vae._core.cpu_decoder(model.for_frames(1))
            parameters = dict(vae.named_parameters())
            named = {name: parameters[name].detach() for name in model.parameter_names()}
            for tensors, given, out in (
                (named, freed, torch.empty(1, 3, 12, 10)),
                (named, z, self.freed(length, 1, 3, 12, 10)),
                ({**named, "decoder.conv_in.weight": self.freed(length, 64, 4, 3, 3)}, z, torch.empty(1, 3, 12, 10)),
            ):
                with self.assertRaisesRegex(headroom_vae.InputError, rf"expected \d+ bytes of values, found {length}"):
                    decoder.decode(plan, tensors, given, out)
        weight = vae.decoder.conv_in.weight
        for length in (16, 0):
            weight.untyped_storage().resize_(length)
            with self.assertRaisesRegex(headroom_vae.InputError, "decoder.conv_in.weight: expected values, found a tensor whose storage was freed"):
                vae.decode(z)

    def freed(self, length, *shape):
        tensor = torch.zeros(shape)
        tensor.untyped_storage().resize_(length)
        return tensor

    def test_s2_tensor_classes_and_modes_run_the_own_code(self):
        from torch.utils.flop_counter import FlopCounterMode

        vae, z = tiny.kl(), latent(1, 4, 6, 5)
        own = vae.decode(z).sample
        headroom_vae.enable(vae)
        with self.one_warning("FlopCounterMode is active"), FlopCounterMode(display=False) as counter:
            self.assert_close(vae.decode(z).sample, own)
        self.assertGreater(counter.get_total_flops(), 0)

        class Mine(torch.Tensor):
            pass

        with self.one_warning("the latent is a Mine"):
            self.assertIsInstance(vae.decode(z.as_subclass(Mine)).sample, Mine)
        with self.no_warning():
            self.assert_close(vae.decode(torch.nn.Parameter(z)).sample, own)

    def test_s3_compiled_callers_get_the_picture(self):
        vae, z = tiny.kl(), latent(1, 4, 6, 5)
        own, method = vae.decode(z).sample, vae.decode
        handle = headroom_vae.enable(vae)
        with self.no_warning():
            self.assert_close(torch.compile(Calls(vae), backend="eager")(z), own * 2)
        self.assertEqual(handle.last.direction, "decode")
        torch._dynamo.reset()
        with self.assertRaisesRegex(torch._dynamo.exc.Unsupported, "Headroom's decode and encode are not part of a compiled graph"):
            torch.compile(Calls(vae), backend="eager", fullgraph=True)(z)
        handle.decoder.last = None
        vae.decode = torch.compile(vae.decode, backend="eager")
        self.assert_close(vae.decode(z).sample, own)
        self.assertIsNotNone(handle.decoder.last)
        self.assertIs(headroom_vae.handle_of(vae), handle)
        headroom_vae.disable(vae)
        self.assertEqual(vae.decode, method)
        self.assertTrue(torch.equal(vae.decode(z).sample, own))

    def test_s3_callers_that_were_compiled_before_enable_get_the_picture(self):
        vae, z = tiny.kl(), latent(1, 4, 6, 5)
        own = vae.decode(z).sample
        call = torch.compile(Calls(vae), backend="eager")
        call(z)
        for _ in range(2):
            handle = headroom_vae.enable(vae)
            self.assert_close(call(z), own * 2)
            self.assertIsNotNone(handle.last)
            headroom_vae.disable(vae)
            self.assertTrue(torch.equal(call(z), own * 2))

    def test_s3_compiled_methods_and_parts(self):
        def compile_method(module, name):
            setattr(module, name, torch.compile(getattr(module, name), backend="eager"))

        changes = {
            "vae.decoder": lambda vae: compile_method(vae, "decoder"),
            "vae.decoder.compile()": lambda vae: vae.decoder.compile(backend="eager"),
            "vae.decoder.forward": lambda vae: compile_method(vae.decoder, "forward"),
            "vae._decode": lambda vae: compile_method(vae, "_decode"),
            "vae.tiled_decode": lambda vae: compile_method(vae, "tiled_decode"),
        }
        z = latent(1, 4, 6, 5)
        own = tiny.kl().decode(z).sample
        for name, change in changes.items():
            for before in (True, False):
                with self.subTest(name, before=before):
                    torch._dynamo.reset()
                    vae = tiny.kl()
                    change(vae) if before else None
                    handle = headroom_vae.enable(vae)
                    change(vae) if not before else None
                    with self.no_warning():
                        self.assert_close(vae.decode(z).sample, own)
                    self.assertEqual("torch.compile: the compiled code was not used" in handle.last.undone, name != "vae.tiled_decode")
                    part = vae.tiled_decode if "tiled" in name else vae._decode if "_decode" in name else lambda z: (vae.decoder(vae.post_quant_conv(z)),)
                    with self.one_warning("vae.decoder (ran without|is in a graph of torch.compile)"):
                        self.assertTrue(torch.equal(part(z)[0], own))
                        part(z)
                    self.assertIn("by the VAE's own code, outside the limit: vae.decoder", str(handle.report()))

    def test_s3_another_compiled_method_is_refused(self):
        vae, z = tiny.kl(), latent(1, 4, 6, 5)
        headroom_vae.enable(vae)
        vae._decode = torch.compile(lambda z, return_dict=True: (z,), backend="eager")
        with self.assertRaisesRegex(headroom_vae.Unsupported, "AutoencoderKL: _decode is .*lambda"):
            vae.decode(z)
        vae._decode = torch.compile(tiny.kl()._decode, backend="eager")
        with self.assertRaisesRegex(headroom_vae.Unsupported, "AutoencoderKL: _decode is"):
            vae.decode(z)

    def test_s4_the_default_device_is_not_the_pictures(self):
        for vae, _, direction, given, own in self.both():
            torch.set_default_device("meta")
            self.addCleanup(torch.set_default_device, None)
            made = self.result(vae, direction, given)
            torch.set_default_device(None)
            self.assert_close(made, own)


class Trained(Case):
    def gradients(self, vae, direction, given):
        vae.zero_grad()
        self.result(vae, direction, given).square().mean().backward()
        return {name: parameter.grad for name, parameter in vae.named_parameters() if parameter.grad is not None}

    def test_s5_a_training_vae_gets_its_gradients(self):
        for vae, handle, direction, given, _ in self.both():
            with torch.enable_grad():
                vae.train()
                with self.one_warning(f"{OWN}: gradients. The VAE is in training mode. Call it under torch.no_grad"):
                    ours = self.gradients(vae, direction, given)
                    self.gradients(vae, direction, given)
                headroom_vae.disable(vae)
                theirs = self.gradients(vae, direction, given)
            self.assertEqual(ours.keys(), theirs.keys())
            self.assertGreater(len(ours), 20)
            for name in ours:
                self.assert_close(ours[name], theirs[name], 1e-6)
            self.assertEqual(handle.own_calls.counts, {(direction, "gradients"): 2})

    def test_s5_a_call_that_forgot_no_grad_stays_within_the_limit_and_has_gradients(self):
        for vae, handle, direction, given, own in self.both():
            with torch.enable_grad():
                with self.no_warning():
                    made = self.result(vae, direction, given)
                self.assertEqual(handle.last.direction, direction)
                self.assertTrue(made.requires_grad)
                self.assert_close(made, own)
                with self.one_warning("gradients in backward"):
                    ours = self.gradients(vae, direction, given)
                headroom_vae.disable(vae)
                theirs = self.gradients(vae, direction, given)
            self.assertEqual(ours.keys(), theirs.keys())
            largest = max(float(gradient.abs().max()) for gradient in theirs.values())
            for name in ours:
                self.assertLessEqual(float((ours[name] - theirs[name]).abs().max()), 1e-4 * largest)
            self.assertFalse(self.result(vae, direction, given).requires_grad)

    def test_s5_an_input_that_was_changed_until_backward_is_an_error(self):
        for vae, _, direction, given, _ in self.both():
            headroom_vae.enable(vae)
            with torch.enable_grad():
                made = self.result(vae, direction, given)
                given.mul_(2)
                with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                    made.sum().backward()

    def test_s5_inputs_made_in_inference_mode_have_gradients(self):
        for vae, _, direction, given, _ in self.both():
            with torch.inference_mode():
                made = given.clone()
            with torch.enable_grad():
                theirs = self.gradients(vae, direction, given)
                headroom_vae.enable(vae)
                self.assertEqual(self.gradients(vae, direction, made).keys(), theirs.keys())

    def test_s5_a_shallow_copy_is_in_training(self):
        vae, z = tiny.kl(), latent(1, 4, 6, 5)
        handle = headroom_vae.enable(vae)
        copied = copy.copy(vae)
        copied.train()
        self.assertFalse(vae.training)
        with torch.enable_grad(), self.one_warning("The VAE is in training mode"):
            copied.decode(z)
        self.assertIsNone(handle.last)

    def test_s5_released_weights_have_no_gradients_and_say_so(self):
        vae, z = tiny.kl().requires_grad_(), latent(1, 4, 6, 5)
        headroom_vae.enable(vae, release=True)
        with torch.enable_grad(), self.one_warning("this decode has no gradients: under release=True, Headroom dropped the VAE's own weights"):
            self.assertFalse(vae.decode(z).sample.requires_grad)
            vae.decode(z)

    def test_s5_inference_mode_records_no_gradients(self):
        for vae, handle, direction, given, _ in self.both():
            with torch.inference_mode(), torch.enable_grad(), self.no_warning():
                self.assertFalse(self.result(vae, direction, given.clone().requires_grad_()).requires_grad)
            self.assertEqual(handle.last.direction, direction)

    def test_s5_frozen_parameters_need_no_gradients(self):
        for vae, _, direction, given, own in self.both():
            vae.requires_grad_(False)
            with torch.enable_grad(), self.no_warning():
                self.assertFalse(self.result(vae, direction, given).requires_grad)

    def test_s5_parameters_of_functional_call(self):
        vae, z = tiny.kl(), latent(1, 4, 6, 5)
        headroom_vae.enable(vae)
        with torch.enable_grad():
            scale = torch.ones(1, requires_grad=True)
            weights = {f"vae.{name}": parameter.detach() * scale for name, parameter in vae.named_parameters()}
            ours = torch.func.functional_call(Calls(vae), weights, (z,)).mean()
            self.assertTrue(ours.requires_grad)
            made = torch.autograd.grad(ours, scale)[0]
            headroom_vae.disable(vae)
            theirs = torch.func.functional_call(Calls(vae), {name: weights[name].detach() * scale for name in weights}, (z,)).mean()
            self.assert_close(made, torch.autograd.grad(theirs, scale)[0], 1e-3)

    def test_s6_guidance_through_the_input(self):
        for on_misfit in ("raise", "original"):
            for vae, _, direction, given, _ in self.both():
                headroom_vae.enable(vae, on_misfit=on_misfit)
                with torch.enable_grad():
                    leaf = given.clone().requires_grad_()
                    with self.one_warning(f"{OWN}: gradients. The (latent|picture) requires gradients"):
                        ours = torch.autograd.grad(self.result(vae, direction, leaf).square().sum(), leaf)[0]
                    headroom_vae.disable(vae)
                    theirs = torch.autograd.grad(self.result(vae, direction, leaf).square().sum(), leaf)[0]
                self.assertTrue(torch.equal(ours, theirs))

    def test_s6_forward_mode(self):
        from torch.autograd import forward_ad

        vae, z = tiny.kl(mid_block_add_attention=False), latent(1, 4, 6, 5)
        headroom_vae.enable(vae)
        with forward_ad.dual_level(), self.one_warning("tangent"):
            made = vae.decode(forward_ad.make_dual(z, torch.ones_like(z))).sample
            self.assertIsNotNone(forward_ad.unpack_dual(made).tangent)

    def test_on_misfit_original_runs_the_own_code_for_all_inputs(self):
        vae, z = tiny.kl(), latent(1, 4, 6, 5)
        with self.assertRaisesRegex(headroom_vae.InputError, "latent: expected values, found none"):
            headroom_vae.enable(vae)
            vae.decode(z.to("meta"))
        handle = headroom_vae.enable(vae, on_misfit="original")
        vae.to("meta")
        with self.one_warning():
            self.assertEqual(vae.decode(z.to("meta")).sample.device.type, "meta")
        self.assertEqual(handle.own_calls.counts, {("decode", "not values"): 1})

    def test_released_weights_refuse_by_name(self):
        vae, z = tiny.kl(), latent(1, 4, 6, 5)
        headroom_vae.enable(vae, release=True)
        vae.decode(z)
        with torch.enable_grad(), self.assertRaisesRegex(headroom_vae.InputError, "release=True: .*gradients"):
            vae.decode(z.clone().requires_grad_())


class Past(Case):
    def test_s7_parts_that_run_alone_are_seen(self):
        vae, z, x = tiny.kl(), latent(1, 4, 6, 5), latent(1, 3, 12, 10)
        handle = headroom_vae.enable(vae)
        with self.one_warning(r"vae.decoder ran without vae.decode\(\)"):
            vae.decoder(vae.post_quant_conv(z))
            vae.decoder(vae.post_quant_conv(z))
        with self.assertRaisesRegex(headroom_vae.HeadroomError, "2 decodes by the VAE's own code, outside the limit: vae.decoder ran"):
            handle.report()
        with self.one_warning(r"vae.encoder ran without vae.encode\(\)"):
            vae.quant_conv(vae.encoder(x))
        with self.no_warning():
            vae.tiled_decode(z)
            vae.decode(z)
        text = str(handle.report())
        self.assertIn("3 decodes by the VAE's own code, outside the limit: vae.decoder ran", text)
        self.assertIn("1 encode by the VAE's own code", text)
        for copied in (copy.deepcopy(vae), pickle.loads(pickle.dumps(vae))):
            with self.one_warning():
                copied.decoder(z)
        self.assertLess(len(pickle.dumps(vae.decoder)), len(pickle.dumps(vae)) * 0.8)
        headroom_vae.disable(vae)
        with self.no_warning():
            vae.decoder(z)
        self.assertEqual([*vae.decoder._forward_pre_hooks, *vae.encoder._forward_pre_hooks], [])

    def test_s8_arguments_of_the_own_code_alone(self):
        vae, z = tiny.ltx2_video(), latent(1, 4, 2, 2, 3)
        own = vae.decode(z, causal=True).sample
        handle = headroom_vae.enable(vae)
        with self.one_warning(f"{OWN}: argument causal"):
            self.assertTrue(torch.equal(vae.decode(z, causal=True).sample, own))
            vae.decode(z, causal=True)
        vae.decode(z)
        self.assertIn("2 decodes by the VAE's own code, outside the limit: argument causal", str(handle.report()))

    def test_s9_functions_over_headrooms(self):
        vae, z = tiny.kl(), latent(1, 4, 6, 5)
        own = vae.decode(z).sample
        handle = headroom_vae.enable(vae)
        vae.orig_decode = vae.decode

        def doubled(z, **options):
            return vae.orig_decode(z * 2, **options)

        vae.decode = doubled
        self.assertIs(headroom_vae.handle_of(vae), handle)
        vae.decode(z)
        self.assertIn("vae.decode is now", str(handle.report()))
        with self.one_warning("vae.decode is now .*doubled"):
            again = headroom_vae.enable(vae, limit="64MiB")
        vae.decode(z)
        self.assertIsNotNone(again.last)
        with self.one_warning("doubled.* It stays, and Headroom under it has ended"):
            headroom_vae.disable(vae)
        again.last = None
        self.assertIs(vae.decode, doubled)
        self.assertIsNone(headroom_vae.handle_of(vae))
        vae.decode(z)
        self.assertTrue(torch.equal(vae.orig_decode(z).sample, own))
        self.assertIsNone(again.last)
        vae.decode = vae.orig_decode
        headroom_vae.enable(vae)
        headroom_vae.disable(vae)
        self.assertFalse({"decode", "encode", "_headroom"} & vars(vae).keys())

    def test_s10_out_of_gpu_memory_is_torchs(self):
        headroom_vae.enable(tiny.kl())
        for base in (torch.OutOfMemoryError, headroom_vae.DoesNotFit, MemoryError):
            with self.assertRaises(base):
                raise headroom_vae.OutOfGpuMemory("torch refused")
        self.assertEqual(headroom_vae.OutOfGpuMemory("words", 7).smallest_limit_bytes, 7)

    def test_s11_items_that_are_not_finite_are_named(self):
        for make, shape, direction in ((tiny.kl, (3, 4, 6, 5), "decode"), (tiny.wan, (3, 3, 5, 16, 24), "encode")):
            vae, given = make(), latent(*shape)
            given[1, 2].view(-1)[3] = float("nan")
            headroom_vae.enable(vae)
            with self.assertRaises(headroom_vae.InputError) as refused:
                self.result(vae, direction, given)
            name = "latent" if direction == "decode" else "picture"
            self.assertRegex(str(refused.exception), rf"^{name}: element \d+ is not finite \(nan\): item 1 of 3, channel 2; finite: 0, 2")
            self.assertEqual(refused.exception.finite, (0, 2))
            self.assertEqual(len(self.result(vae, direction, given[list(refused.exception.finite)])), 2)

    def test_s12_autocast_returns_its_dtype(self):
        for vae, handle, direction, given, own in self.both():
            for dtype in (torch.bfloat16, torch.float16):
                with torch.autocast("cpu", dtype=dtype):
                    self.assert_close(self.result(vae, direction, given), own, 5e-2)
            with torch.autocast("cpu", enabled=False):
                self.assertEqual(self.result(vae, direction, given).dtype, torch.float32)

    def test_s12_every_class_returns_the_dtype_of_its_own_code_under_autocast(self):
        for make, shape in FAMILIES:
            for dtype in (torch.float32, torch.bfloat16):
                vae, z = make().to(dtype), latent(*shape[:-2], 4, 4).to(dtype)
                x = vae.decode(z[:, :, :1] if z.dim() == 5 else z).sample
                headroom_vae.enable(vae)
                for direction, given in (("decode", z), ("encode", x)):
                    for cast in (torch.bfloat16, torch.float16):
                        with self.subTest(make=make.__name__, dtype=dtype, direction=direction, cast=cast), torch.autocast("cpu", dtype=cast):
                            try:
                                theirs = getattr(type(vae), direction)(vae, given, return_dict=False)[0]
                            except RuntimeError:  # PyTorch lacks norms of two 16-bit dtypes on the CPU
                                self.assertEqual((dtype, cast), (torch.bfloat16, torch.float16))
                            else:
                                ours = getattr(vae, direction)(given, return_dict=False)[0]
                                self.assertEqual(getattr(ours, "parameters", ours).dtype, getattr(theirs, "parameters", theirs).dtype)

    def test_s13_a_second_process_under_limit_auto_says_so(self):
        from headroom_vae import neighbours

        hold = "import fcntl, os, sys; file = open(sys.argv[1], 'w+'); fcntl.flock(file, fcntl.LOCK_EX); file.write(f'{os.getpid():<10}'); file.flush(); print('held', flush=True); input()"
        vae, z = tiny.kl(), latent(1, 4, 6, 5)
        headroom_vae.enable(vae)
        with self.no_warning():
            vae.decode(z)
        words = [sys.executable, "-c", hold, neighbours.lock_file(z.device)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            other.stdout.readline()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                vae.decode(z)
                vae.decode(z)
                headroom_vae.enable(vae, limit="64MiB")
                vae.decode(z)
            other.communicate("\n")
        self.assertEqual(len(caught), 1)
        self.assertRegex(str(caught[0].message), rf"limit='auto': another process \({other.pid}\) decodes on cpu too")


class Wrapped(Case):
    def test_s16_a_shallow_copy_shares_its_modules(self):
        vae, z = tiny.kl(), latent(1, 4, 6, 5)
        headroom_vae.enable(vae)
        vae.decode(z)
        copied = copy.copy(vae)
        copied.decoder = tiny.kl(layers_per_block=1).decoder
        copied.decoder.conv_in.weight.mul_(3)
        self.assert_close(copied.decode(z).sample, type(copied).decode(copied, z).sample)

    def test_s15_functions_under_headrooms_are_refused(self):
        vae, z = tiny.kl(), latent(1, 4, 6, 5)
        own = vae.decode(z).sample
        decode = vae.decode
        vae.decode = lambda q, **options: decode(q * 2, **options)
        with self.assertRaisesRegex(headroom_vae.Unsupported, "AutoencoderKL: decode was replaced by .*lambda.*Undo it"):
            headroom_vae.enable(vae)
        del vae.decode
        vae.encode = lambda x: x
        self.assertIn("encode was replaced by", headroom_vae.enable(vae).why_no_encoder)
        self.assertEqual(vae.encode(3), 3)
        headroom_vae.disable(vae)
        self.assertEqual(vae.encode(3), 3)
        del vae.encode
        vae.decode = compiled = torch.compile(vae.decode, backend="eager")
        headroom_vae.enable(vae)
        self.assert_close(vae.decode(z).sample, own)
        headroom_vae.disable(vae)
        self.assertIs(vae.decode, compiled)

    def test_s17_verify_under_autocast(self):
        vae, z = tiny.kl(), latent(1, 4, 6, 5)
        handle = headroom_vae.enable(vae, verify=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            vae.decode(z)
        self.assertGreater(handle.last.largest_error, 1e-4)

    def test_s18_signatures_are_the_vaes(self):
        for make in (tiny.kl, tiny.ltx2_video, tiny.asymmetric):
            vae = make()
            own = [inspect.signature(method) for method in (vae.decode, vae.encode)]
            headroom_vae.enable(vae)
            self.assertEqual([inspect.signature(method) for method in (vae.decode, vae.encode)], own)

    def test_s19_wrappers_of_modules_are_named(self):
        for wrapper in (torch.nn.DataParallel, torch.optim.swa_utils.AveragedModel):
            with self.assertRaisesRegex(headroom_vae.Unsupported, rf"{wrapper.__name__} wraps an AutoencoderKL. Enable its .module"):
                headroom_vae.enable(wrapper(tiny.kl()))

    def test_s20_auto_in_any_case(self):
        for limit in ("AUTO", " Auto "):
            self.assertEqual(headroom_vae.enable(tiny.kl(), limit=limit, host_limit=limit).options.limit, "auto")
            self.assertTrue(headroom_vae.predict("sd15", 64, 64, limit=limit).fits)

    def test_a_limit_that_any_door_names_works_at_every_door(self):
        z, x = latent(1, 4, 1, 8, 12), latent(1, 4, 1, 32, 48)
        vae = tiny.qwen21().to(torch.bfloat16)
        headroom_vae.enable(vae, limit="100KiB")
        named = {
            "predict": headroom_vae.predict(vae, 8, 8).smallest_limit_bytes,
            "predict an encode": headroom_vae.predict(vae, 32, 48, direction="encode").smallest_limit_bytes,
        }
        for direction, given in (("decode", z), ("encode", x)):
            with self.assertRaises(headroom_vae.DoesNotFit) as refused:
                self.result(vae, direction, given.bfloat16())
            named[direction] = refused.exception.smallest_limit_bytes
        for door, limit in named.items():
            with self.subTest(door):
                handle = headroom_vae.enable(vae, limit=limit)
                self.assertEqual(handle.options.limit, limit)
                if door in ("decode", "encode"):
                    self.result(vae, door, (z if door == "decode" else x).bfloat16())
                    self.assertLessEqual(handle.last.peak_bytes, limit)


if __name__ == "__main__":
    unittest.main()
