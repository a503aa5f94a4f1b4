"""VAEs of classes that are not diffusers': recognised by their tensors, and proven by a tiny decode through their own code."""

from __future__ import annotations

import copy
import pickle
import unittest
import warnings
from unittest import mock

import accelerate
import comfyui_support
import diffusers
import foreign_vaes as foreign
import headroom_vae
import tiny
import torch
from foreign_vaes import copied, made, seeded
from headroom_vae import proof
from tiny import latent
from torch import nn

SCALE = [torch.linspace(-1, 1, 16), torch.linspace(0.5, 2, 16)]


def wan():
    return foreign.Wan(tiny.wan(base_dim=8, dim_mult=[1, 2, 4, 4], num_res_blocks=2), comfyui_support.original_wan_21_name)


def tensor(returned):
    return proof.tensor_of(returned)


class Right(tiny.Case):
    def check(self, vae, z, x=None, *arguments, largest=1e-4):
        """The VAE returns after enable() what it returned before, of the same types."""
        own = vae.decode(z, *arguments)
        encoded = None if x is None else vae.encode(x, *arguments)
        handle = headroom_vae.enable(vae, limit="256MiB")
        for direction, given, before in (("decode", z, own), ("encode", x, encoded)):
            if given is None:
                continue
            self.assertIn(direction, handle.entries, handle.why_no_encoder)
            ours = getattr(vae, direction)(given, *arguments)
            self.assertIs(type(ours), type(before))
            self.assertEqual(tensor(ours).dtype, tensor(before).dtype)
            self.assert_close(tensor(ours), tensor(before), largest)
            self.assertEqual(handle.last.direction, direction)
            self.assertLess(handle.last.proven_error, 1e-5)
        self.assertIn("own code was proven to compute the same, up to", str(handle.report()))
        headroom_vae.disable(vae)
        self.assertTrue(torch.equal(tensor(vae.decode(z, *arguments)), tensor(own)))
        return handle

    def test_flux_as_its_authors_write_it(self):
        self.check(seeded(foreign.AutoEncoder), latent(2, 16, 5, 7), latent(1, 3, 16, 24))

    def test_a_distribution_of_compvis(self):
        vae, x = seeded(foreign.Moments), latent(1, 3, 16, 24)
        own = vae.encode(x)
        self.check(vae, latent(1, 4, 5, 7), x)
        headroom_vae.enable(vae)
        torch.manual_seed(3)
        theirs = own.sample()
        torch.manual_seed(3)
        self.assert_close(vae.encode(x).sample(), theirs)

    def test_wan_whose_methods_take_a_scale(self):
        vae, z = wan(), latent(1, 16, 3, 2, 3)
        self.check(vae, z, latent(1, 3, 5, 16, 24), SCALE)
        handle = headroom_vae.enable(vae)
        vae.decode(z, SCALE)
        other = [SCALE[0] * 2, SCALE[1]]
        self.assert_close(vae.decode(z, other), type(vae).decode(vae, z, other))
        self.assertEqual(len(handle.decoder.prover.proofs), 2)

    def test_a_wrapper_that_is_no_module(self):
        wrapper, z = foreign.WanWrapper(wan()), latent(16, 2, 2, 3)
        (own,) = wrapper.decode([z])
        handle = headroom_vae.enable(wrapper)
        self.assert_close(wrapper.decode([z])[0], own)
        self.assertIsNotNone(handle.last)
        headroom_vae.disable(wrapper)

    def test_flux2_whose_decode_takes_patches(self):
        vae = foreign.Flux2(comfyui_support.flux2())
        own = vae.decode(latent(1, 16, 3, 4))
        handle = headroom_vae.enable(vae)
        self.assert_close(vae.decode(latent(1, 16, 3, 4)), own)
        self.assertEqual(handle.model.class_name, "AutoencoderKLFlux2")

    def test_classes_of_authors(self):
        wan22 = tiny.wan22(base_dim=8, decoder_base_dim=8, dim_mult=[1, 2, 4, 4], num_res_blocks=2, temperal_downsample=[False, True, True])
        for vae, z in (
            (foreign.Original(comfyui_support.small_vae()), latent(1, 4, 3, 4)),
            (foreign.Original(wan22, comfyui_support.original_wan_22_name), latent(1, 4, 2, 2, 3)),
        ):
            with self.subTest(type(vae.hidden[0]).__name__):
                self.check(vae, z)

    def test_a_copy_of_diffusers_file(self):
        for like, z in ((tiny.kl(), latent(1, 4, 5, 7)), (tiny.wan(), latent(1, 16, 2, 2, 3)), (tiny.hunyuan_image(), latent(1, 4, 2, 3)),
                        (tiny.ltx_video(), latent(1, 4, 2, 2, 3))):  # fmt: skip
            with self.subTest(type(like).__name__):
                self.check(made(copied(type(like)), like), z)

    def test_a_subclass_with_equal_code(self):
        vae = made(foreign.Checkpointed, tiny.kl())
        own = vae.decode(latent(1, 4, 5, 7)).sample
        handle = headroom_vae.enable(vae)
        self.assert_close(vae.decode(latent(1, 4, 5, 7)).sample, own)
        self.assertIn("proven", str(handle.report()))

    def test_a_subclass_whose_decode_takes_and_returns_something_else(self):
        class Scaled(diffusers.AutoencoderKL):
            def decode(self, z):
                return super().decode(z / 0.13025).sample

        self.check(made(Scaled, tiny.kl()), latent(1, 4, 5, 7))

    def test_wrappers_that_checkpoint(self):
        vae, z = tiny.wan(), latent(1, 16, 2, 2, 3)
        own = vae.decode(z).sample
        handle = headroom_vae.enable(vae)
        vae.decode(z)
        self.assertIsNone(handle.last.proven_error)
        for block in vae.decoder.mid_block.resnets:
            forward = block.forward
            block.forward = lambda *given, forward=forward, **options: torch.utils.checkpoint.checkpoint(forward, *given, use_reentrant=False, **options)
        self.assert_close(vae.decode(z).sample, own)
        self.assertLess(handle.last.proven_error, 1e-5)

    def test_sixteen_bits_are_proven_in_fp32(self):
        for dtype in (torch.bfloat16, torch.float16):
            self.check(seeded(foreign.AutoEncoder).to(dtype), latent(1, 16, 5, 7).to(dtype), largest=5e-2)

    def test_copies_and_pickles(self):
        vae, z = seeded(foreign.AutoEncoder), latent(1, 16, 5, 7)
        own = vae.decode(z)
        headroom_vae.enable(vae)
        for copied_vae in (copy.deepcopy(vae), pickle.loads(pickle.dumps(vae))):
            self.assert_close(copied_vae.decode(z), own)
            self.assertIsNotNone(headroom_vae.handle_of(copied_vae).last)

    def test_a_prediction_and_a_verified_decode(self):
        vae, z = seeded(foreign.AutoEncoder), latent(1, 16, 5, 7)
        self.assertTrue(headroom_vae.predict(vae, 64, 64, limit="64MiB").fits)
        for verify in (True, "torch"):
            handle = headroom_vae.enable(vae, verify=verify)
            vae.decode(z)
            self.assertLess(handle.last.largest_error, 1e-5)


class Undisturbed(tiny.Case):
    def test_what_a_proof_leaves_as_it_was(self):
        vae = seeded(foreign.AutoEncoder).train().requires_grad_()
        before = {name: value.clone() for name, value in vae.state_dict().items()}
        seen = []
        vae.decoder.register_full_backward_hook(lambda *_: seen.append(1))
        torch.manual_seed(5)
        theirs = torch.rand(3)
        torch.manual_seed(5)
        headroom_vae.enable(vae)
        self.assertTrue(torch.equal(torch.rand(3), theirs))
        self.assertTrue(all(module.training for module in vae.modules()))
        self.assertTrue(all(torch.equal(value, before[name]) for name, value in vae.state_dict().items()))
        self.assertTrue(all(parameter.grad is None for parameter in vae.parameters()))
        self.assertEqual(seen, [])

    def test_it_runs_once_and_again_where_the_module_changes(self):
        vae, z = seeded(foreign.AutoEncoder), latent(1, 16, 5, 7)
        with mock.patch.object(proof, "prove", wraps=proof.prove) as prove:
            headroom_vae.enable(vae)
            vae.decode(z), vae.decode(z)
            self.assertEqual(prove.call_count, 2)  # decode and encode
            vae.decoder.conv_in.padding_mode = "circular"
            vae.decoder.conv_in._reversed_padding_repeated_twice = [1, 1, 1, 1]
            with self.assertRaisesRegex(headroom_vae.Unsupported, r"AutoEncoder.decode and Headroom differ by \d\.\de"):
                vae.decode(z)
            vae.decoder.conv_in.padding_mode = "zeros"
            vae.decode(z)

    def test_gradients_and_training_run_the_own_code(self):
        vae, z = seeded(foreign.AutoEncoder), latent(1, 16, 5, 7)
        with torch.enable_grad():
            theirs = torch.autograd.grad(vae.decode(z).square().mean(), [*vae.decoder.parameters()])
            handle = headroom_vae.enable(vae)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ours = torch.autograd.grad(vae.decode(z).square().mean(), [*vae.decoder.parameters()])
        self.assertIsNotNone(handle.last)
        for one, other in zip(ours, theirs):
            self.assertLessEqual(float((one - other).abs().max()), 1e-3 * float(other.abs().max()) + 1e-6)

    def test_offloaded_weights(self):
        vae, z = seeded(foreign.AutoEncoder), latent(1, 16, 5, 7)
        own = vae.decode(z)
        accelerate.cpu_offload(vae, torch.device("cpu"))
        headroom_vae.enable(vae)
        self.assert_close(vae.decode(z), own)

    def test_weights_without_values_are_refused(self):
        with self.assertRaisesRegex(headroom_vae.InputError, "decoder.*expected values, found none"):
            headroom_vae.enable(seeded(foreign.AutoEncoder).to("meta"))


class Wrong(tiny.Case):
    def assert_refused(self, vae, message):
        with self.assertRaisesRegex(headroom_vae.Unsupported, message):
            headroom_vae.enable(vae)
        self.assertFalse({"decode", "encode", "_headroom"} & vars(vae).keys())

    def test_other_code_is_refused_with_the_figure(self):
        def conv_in(**settings):
            def change(vae):
                vars(vae.decoder.conv_in).update(settings)
                vae.decoder.conv_in._reversed_padding_repeated_twice = [1, 1, 1, 1]

            return change

        def order(self, x):
            h = self.conv1(self.norm1(self.swish(x)))
            h = self.conv2(self.swish(self.norm2(h)))
            return (self.nin_shortcut(x) if hasattr(self, "nin_shortcut") else x) + h

        def replaced(path, function):
            def change(vae):
                module = vae.get_submodule(path)
                module.forward = function.__get__(module)

            return change

        def decode(function):
            return lambda vae: setattr(vae, "__class__", type("Other", (type(vae),), {"decode": function}))

        def norms(**settings):
            def change(vae):
                for module in vae.decoder.modules():
                    if isinstance(module, nn.GroupNorm):
                        vars(module).update(settings)

            return change

        differ = r"decode and Headroom differ by \d\.\de[+-]\d+ of the magnitude, for 1×16×2×2\. At most 1e-04"
        for change, message in (
            (conv_in(padding_mode="circular"), differ),
            (conv_in(padding_mode="replicate"), differ),
            (norms(num_groups=16), differ),
            (norms(eps=1e-3), differ),
            (norms(eps=2e-6), r"AutoEncoder.decode: a norm adds 2e-06, AutoencoderKL's norms add 1e-06"),
            (replaced("decoder.up.0.block.0", order), differ),
            (replaced("decoder.mid.attn_1", lambda module, x: x), differ),
            (replaced("decoder.up.1.upsample", lambda module, x: module.conv(nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear"))), differ),
            (lambda vae: setattr(vae.decoder.up[0].block[0], "swish", lambda x: x * torch.sigmoid(1.02 * x)), differ),
            (lambda vae: setattr(vae.decoder.up[0].block[0], "swish", nn.functional.gelu), differ),
            (decode(lambda vae, z: vae.decoder(z).clamp(-0.1, 0.1)), differ.replace("decode", "Other.decode", 1)),
            (decode(lambda vae, z: vae.decoder(z) * 1.001), "Other.decode and Headroom differ by 1.0e-03"),
            (decode(lambda vae, z: vae.decoder(torch.tanh(z / 3) * 3)), "Other.decode and Headroom differ"),
            (decode(lambda vae, z: vae.decoder(z + 0.1 * torch.randn_like(z))), "Other.decode and Headroom differ"),
            (decode(lambda vae, z: vae.decoder(z)[..., :-1]), r"Other.decode makes 1×3×4×3 of 1×16×2×2, Headroom makes 1×3×4×4"),
            (decode(lambda vae, z: {"picture": vae.decoder(z)}), "Other.decode returns dict: expected a tensor"),
            (decode(lambda vae, z: vae.decoder(z, 3)), "Other.decode fails for 1×16×4×4: TypeError"),
        ):
            vae = seeded(foreign.AutoEncoder)
            change(vae)
            with self.subTest(message):
                self.assert_refused(vae, message)

    def test_copies_of_diffusers_with_other_code(self):
        vae = made(copied(diffusers.AutoencoderKL, other=("dec = self.decoder(z)", "dec = self.decoder(z * 1.01)")), tiny.kl())
        self.assert_refused(vae, r"AutoencoderKL.decode and Headroom differ by \d")

    def test_a_class_of_a_known_name_with_other_code(self):
        class AutoencoderTiny(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.config, self.decoder = config, tiny.autoencoder_tiny().decoder

            def decode(self, z):
                return self.decoder(z) + 1

        self.assert_refused(AutoencoderTiny(dict(tiny.autoencoder_tiny().config)), r"AutoencoderTiny.decode and Headroom differ by")

    def test_a_changed_vae_of_diffusers_is_refused_by_name_and_figure(self):
        vae = tiny.kl()
        vae.decoder.conv_norm_out.eps = 1e-3
        self.assert_refused(vae, r"^decoder.conv_norm_out: eps is 0.001.*AutoencoderKL.decode (and Headroom differ by|: a norm adds)")

    def test_an_encode_of_another_type_stays_the_own(self):
        class Latents(diffusers.AutoencoderKL):
            def encode(self, x):
                return super().encode(x).latent_dist.parameters

        vae = made(Latents, tiny.kl())
        self.assertIn("Latents: encode is another one than AutoencoderKL's", headroom_vae.enable(vae).why_no_encoder)
        self.assertEqual(vae.encode(latent(1, 3, 8, 8)).shape, (1, 8, 4, 4))

    def test_modules_that_are_no_vae(self):
        self.assert_refused(nn.Conv2d(3, 3, 1), "Conv2d: expected one of Asymm")

    def test_a_random_encode_stays_the_own(self):
        class Random(foreign.AutoEncoder):
            def encode(self, x):
                return super().encode(x) + torch.randn(1)

        vae = seeded(Random)
        handle = headroom_vae.enable(vae)
        self.assertRegex(handle.why_no_encoder, "encode\\(\\) is the VAE's own: Random.encode and Headroom differ by")
        self.assertNotIn("encode", vars(vae))

    def test_arguments_that_change_the_picture_run_the_own_code(self):
        class Strong(foreign.AutoEncoder):
            def decode(self, z, strength=1.0):
                return super().decode(z) * strength

        vae, z = seeded(Strong), latent(1, 16, 5, 7)
        own = vae.decode(z, strength=2.0)
        headroom_vae.enable(vae)
        vae.decode(z, strength=1.0)
        with self.assertWarnsRegex(UserWarning, "own decode, outside Headroom's limit: argument strength"):
            self.assertTrue(torch.equal(vae.decode(z, strength=2.0), own))


if __name__ == "__main__":
    unittest.main()
