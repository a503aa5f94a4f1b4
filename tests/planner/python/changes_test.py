"""Changed modules or values of a VAE. The decode must give the changed picture, or an error that names the change."""

from __future__ import annotations

import copy
import gc
import random
import re
import sys
import tempfile
import unittest
import weakref

import accelerate
import comfyui_support
import diffusers
import headroom_vae
import tiny
import torch
from diffusers.hooks import apply_group_offloading
from diffusers.models import attention_processor as processors
from diffusers.training_utils import EMAModel
from drawn_changes import applied, draw
from tiny import latent

DRAWS = 1000 if "--long" in sys.argv else 200
CPU = torch.device("cpu")

FAMILIES = (
    (tiny.kl, (1, 4, 3, 4)), (tiny.asymmetric, (1, 4, 3, 4)), (tiny.flux2, (1, 4, 2, 3)), (tiny.autoencoder_tiny, (1, 4, 4, 3)),
    (tiny.hunyuan_image, (1, 4, 2, 3)), (tiny.hunyuan_video, (1, 4, 2, 2, 3)), (tiny.hunyuan_video_15, (1, 4, 2, 2, 3)),
    (tiny.hunyuan_image_refiner, (1, 4, 2, 2, 3)),
    (tiny.ltx_video, (1, 4, 2, 2, 3)), (tiny.ltx2_video, (1, 4, 2, 2, 3)), (tiny.wan, (1, 16, 2, 2, 3)), (tiny.wan22, (1, 4, 2, 2, 3)),
    (tiny.qwen, (1, 4, 1, 3, 2)), (tiny.qwen21, (1, 4, 1, 2, 3)), (tiny.dc, (1, 4, 3, 4)),
)  # fmt: skip


def own_decode(vae, z):
    return type(vae).decode(vae, z, return_dict=False)[0]


class Case(tiny.Case):
    def setUp(self):
        super().setUp()
        self.z = latent(1, 4, 5, 7)

    def assert_refused(self, change, message):
        """Makes the change before the VAE is enabled, after that, and between two decodes."""
        vae = tiny.kl()
        change(vae)
        with self.assertRaisesRegex(headroom_vae.Unsupported, message):
            headroom_vae.enable(vae)
        for decodes in (0, 1):
            vae = tiny.kl()
            headroom_vae.enable(vae)
            for _ in range(decodes):
                vae.decode(self.z)
            change(vae)
            with self.assertRaisesRegex(headroom_vae.Unsupported, message):
                vae.decode(self.z)

    def assert_followed(self, change):
        for enabled in (False, True):
            vae = tiny.kl()
            if enabled:
                headroom_vae.enable(vae)
                vae.decode(self.z)
            change(vae)
            theirs = own_decode(vae, self.z)
            headroom_vae.enable(vae) if not enabled else None
            for _ in range(2):
                self.assert_close(vae.decode(self.z).sample, theirs)


def circular(vae):
    for module in vae.modules():
        if isinstance(module, torch.nn.Conv2d):
            module.padding_mode = "circular"
            module._reversed_padding_repeated_twice = [module.padding[1]] * 2 + [module.padding[0]] * 2


class Modules(Case):
    def test_changes_are_refused_by_name(self):
        def wrap_along_x(vae):  # like extensions for seamless pictures
            layer = vae.decoder.conv_in
            pad, convolve = torch.nn.functional.pad, torch.nn.functional.conv2d
            layer._conv_forward = lambda x, weight, bias: convolve(pad(x, (1, 1, 1, 1), mode="circular"), weight, bias)

        class Louder(accelerate.hooks.ModelHook):
            def post_forward(self, module, output):
                return output * 2

        class LoraConv(torch.nn.Module):
            def __init__(self, base_layer):
                super().__init__()
                self.base_layer = base_layer

        class Mine(processors.AttnProcessor2_0):
            def __call__(self, attention, states, *given, **options):
                return super().__call__(attention, states * 0.9, *given, **options)

        def attribute(path, key, value, found):
            return lambda vae: setattr(vae.get_submodule(path), key, value), re.escape(f"{path}: {key} {found}")

        for change, message in (
            (circular, r"decoder\.conv_in: padding_mode is 'circular', AutoencoderKL makes 'zeros' \(16 more such differences\)\. "),
            attribute("decoder.conv_out", "stride", (2, 2), "is (2, 2), AutoencoderKL makes (1, 1)"),
            attribute("decoder.conv_norm_out", "eps", 1e-3, "is 0.001, AutoencoderKL makes 1e-06"),
            attribute("decoder.conv_norm_out", "num_groups", 16, "is 16, AutoencoderKL makes 32"),
            attribute("decoder.mid_block.attentions.0", "rescale_output_factor", 2, "is 2, AutoencoderKL makes 1"),
            attribute("decoder.up_blocks.0.upsamplers.0", "interpolate", False, "is False, AutoencoderKL makes True"),
            (wrap_along_x, r"decoder\.conv_in: _conv_forward was replaced by .*wrap_along_x"),
            (lambda vae: setattr(vae.decoder, "forward", lambda z: z), r"decoder: forward was replaced by"),
            (lambda vae: setattr(vae, "_decode", lambda z: z), r"AutoencoderKL: _decode is "),
            (lambda vae: vae.decoder.conv_in.register_forward_hook(lambda *_: None), r"decoder\.conv_in: a forward hook"),
            (lambda vae: vae.decoder.mid_block.register_forward_pre_hook(lambda *_: None), r"decoder\.mid_block: a forward hook"),
            (lambda vae: accelerate.hooks.add_hook_to_module(vae.decoder.conv_in, Louder()), r"decoder\.conv_in: a forward hook, a .*Louder"),
            (lambda vae: setattr(vae.decoder, "conv_in", LoraConv(vae.decoder.conv_in)), r"decoder\.conv_in is .*LoraConv, AutoencoderKL makes Conv2d"),
            (lambda vae: torch.nn.utils.parametrizations.weight_norm(vae.decoder.conv_out), r"decoder\.conv_out is .*Parametrized.*Conv2d"),
            (lambda vae: torch.nn.utils.weight_norm(vae.decoder.conv_out), r"decoder\.conv_out: a forward hook, .*WeightNorm"),
            (lambda vae: vae.decoder.up_blocks.append(torch.nn.Identity()), r"decoder\.up_blocks\.2 is Identity, AutoencoderKL makes none"),
            (lambda vae: vae.decoder.mid_block.attentions[0].set_processor(Mine()), r"decoder\.mid_block\.attentions\.0: processor is a .*Mine"),
        ):
            with self.subTest(message):
                self.assert_refused(change, f"^{message}")

    def test_methods_of_classes_are_refused_by_name(self):
        def patched(conv, x):
            return own(conv, x) * 2

        own = torch.nn.Conv2d.forward
        self.addCleanup(setattr, torch.nn.Conv2d, "forward", own)
        vae = tiny.kl()
        headroom_vae.enable(vae)
        torch.nn.Conv2d.forward = patched
        for call in (lambda: headroom_vae.enable(tiny.kl()), lambda: vae.decode(self.z)):
            with self.assertRaisesRegex(headroom_vae.Unsupported, r"^decoder\.conv_in: forward was replaced by .*patched"):
                call()
        torch.nn.Conv2d.forward = own
        self.assert_close(vae.decode(self.z).sample, own_decode(vae, self.z))

    def test_subclasses_that_override_methods_are_refused_by_name(self):
        class Mine(diffusers.AutoencoderKL):
            def _decode(self, z, return_dict=True):
                return super()._decode(z * 2, return_dict)

        class Harmless(diffusers.AutoencoderKL):
            def encode(self, x, return_dict=True):
                return super().encode(x, return_dict)

        with self.assertRaisesRegex(headroom_vae.Unsupported, "^Mine: _decode is another one than AutoencoderKL's"):
            headroom_vae.enable(Mine.from_config(tiny.kl().config))
        vae = Harmless.from_config(tiny.kl().config).eval()
        headroom_vae.enable(vae)
        self.assert_close(vae.decode(self.z).sample, own_decode(vae, self.z))

    def test_hooks_of_all_modules_are_refused(self):
        vae = tiny.kl()
        headroom_vae.enable(vae)
        hook = torch.nn.modules.module.register_module_forward_hook(lambda *_: None)
        self.addCleanup(hook.remove)
        with self.assertRaisesRegex(headroom_vae.Unsupported, "^all modules: a forward hook"):
            vae.decode(self.z)

    def test_a_config_that_changes_is_refused_by_key(self):
        vae = tiny.wan22()
        headroom_vae.enable(vae)
        vae.register_to_config(scaling_factor=2.0)
        z = latent(1, 4, 1, 2, 3)
        self.assert_close(vae.decode(z).sample, own_decode(vae, z))
        vae.register_to_config(patch_size=1)
        with self.assertRaisesRegex(headroom_vae.Unsupported, "^config: patch_size is 1, and was 2 when the VAE was enabled"):
            vae.decode(z)

    def test_a_module_that_is_as_it_was_again_decodes(self):
        vae = tiny.kl()
        headroom_vae.enable(vae)
        vae.decoder.conv_in.padding_mode = "reflect"
        with self.assertRaises(headroom_vae.Unsupported):
            vae.decode(self.z)
        vae.decoder.conv_in.padding_mode = "zeros"
        self.assert_close(vae.decode(self.z).sample, own_decode(vae, self.z))


class Harmless(Case):
    def test_what_does_not_change_the_picture_is_not_refused(self):
        def layerwise(vae):
            vae.enable_layerwise_casting(storage_dtype=torch.float8_e4m3fn, compute_dtype=torch.float32)

        for change in (
            lambda vae: vae.train(),
            lambda vae: vae.fuse_qkv_projections(),
            lambda vae: vae.set_attn_processor(processors.AttnProcessor()),
            lambda vae: vae.decoder.mid_block.attentions[0].set_processor(processors.SlicedAttnProcessor(1)),
            lambda vae: vae.enable_gradient_checkpointing(),
            lambda vae: vae.requires_grad_(False),
            lambda vae: vae.to(memory_format=torch.channels_last),
            lambda vae: vae.enable_slicing(),
            lambda vae: vae.encoder.register_forward_hook(lambda *_: None),
            lambda vae: setattr(vae.encoder.conv_in, "padding_mode", "circular"),
            lambda vae: setattr(vae.decoder.conv_in, "my_name", "first"),
            lambda vae: vae.decoder.conv_in.register_full_backward_hook(lambda *_: None),
            lambda vae: accelerate.cpu_offload_with_hook(vae, CPU),
            lambda vae: accelerate.cpu_offload(vae, CPU),
            lambda vae: apply_group_offloading(vae, onload_device=CPU, offload_type="leaf_level"),
            lambda vae: apply_group_offloading(vae, onload_device=CPU, offload_type="block_level", num_blocks_per_group=1),
        ):
            self.assert_followed(change)
        vae = tiny.kl()
        theirs = own_decode(vae, self.z)
        headroom_vae.enable(vae)
        layerwise(vae)
        self.assert_close(vae.decode(self.z).sample, theirs, 0.2)  # the weights have 8 bits

    def test_methods_with_equal_code_are_proven_and_followed(self):
        class Mine(processors.AttnProcessor2_0):
            pass

        def checkpointed(vae):
            block = vae.decoder.mid_block.resnets[0]
            forward = block.forward
            block.forward = lambda *given: torch.utils.checkpoint.checkpoint(forward, *given, use_reentrant=False)

        for change in (checkpointed, lambda vae: vae.decoder.mid_block.attentions[0].set_processor(Mine())):
            self.assert_followed(change)

    def test_compiled_modules_are_followed(self):
        for change in (
            lambda vae: vae.compile(),
            lambda vae: setattr(vae, "decoder", torch.compile(vae.decoder)),
            lambda vae: setattr(vae.decoder, "mid_block", torch.compile(vae.decoder.mid_block)),
        ):
            vae = tiny.kl()
            theirs = own_decode(vae, self.z)
            change(vae)
            headroom_vae.enable(vae)
            self.assert_close(vae.decode(self.z).sample, theirs)
        vae = tiny.kl()
        compiled = torch.compile(vae)
        handle = headroom_vae.enable(compiled)
        self.assertIs(headroom_vae.handle_of(compiled), handle)
        self.assert_close(compiled.decode(self.z).sample, theirs)
        headroom_vae.disable(compiled)
        self.assertNotIn("decode", vars(vae))

    def test_changes_inside_of_compiled_modules_are_refused(self):
        vae = tiny.kl()
        vae.decoder = torch.compile(vae.decoder)
        headroom_vae.enable(vae)
        vae.decoder.conv_in.padding_mode = "circular"
        with self.assertRaisesRegex(headroom_vae.Unsupported, r"^decoder\.conv_in: padding_mode"):
            vae.decode(self.z)
        vae.decoder.conv_in.padding_mode = "zeros"
        vae.decode(self.z)
        vae.decoder.register_forward_hook(lambda *_: None)
        with self.assertRaisesRegex(headroom_vae.Unsupported, r"^decoder: a forward hook"):
            vae.decode(self.z)


class Values(Case):
    def test_values_are_followed_however_they_are_written(self):
        def averaged(vae):
            average = EMAModel(vae.parameters())
            average.shadow_params = [shadow * 1.3 for shadow in average.shadow_params]
            average.copy_to(vae.parameters())

        def exchanged(vae):
            first, second = (vae.decoder.up_blocks[1].resnets[i].conv2.weight for i in (0, 1))
            kept = first.data.clone()
            first.data.copy_(second.data)
            second.data.copy_(kept)

        weight = lambda vae: vae.decoder.conv_in.weight  # noqa: E731
        for change in (
            lambda vae: weight(vae).data.copy_(weight(vae).data * 1.3),
            lambda vae: weight(vae).data.add_(0.2),
            lambda vae: weight(vae).data.neg_(),
            lambda vae: weight(vae).data.copy_(weight(vae).data.flip(3)),
            lambda vae: weight(vae).data[0, 0, 0, 0].add_(1),
            lambda vae: weight(vae).detach().numpy().__imul__(0.5),
            averaged,
            exchanged,
        ):
            vae = tiny.kl()
            handle = headroom_vae.enable(vae)
            before = vae.decode(self.z).sample
            change(vae)
            theirs = own_decode(vae, self.z)
            self.assertGreater(float((before - theirs).abs().max()), 1e-3)
            self.assert_close(vae.decode(self.z).sample, theirs)
            self.assertEqual(headroom_vae.handle_of(vae), handle)

    def test_fused_projections_are_read_where_they_are(self):
        vae = tiny.kl()
        headroom_vae.enable(vae)
        vae.fuse_qkv_projections()
        vae.decoder.mid_block.attentions[0].to_qkv.weight.data.mul_(3)
        vae.decoder.mid_block.attentions[0].to_q.weight.data.zero_()
        self.assert_close(vae.decode(self.z).sample, own_decode(vae, self.z))


class Offloaded(Case):
    """Weights that are offloaded between decodes. The offload is set up before or after headroom_vae.enable()."""

    def check(self, offload):
        theirs = own_decode(tiny.kl(), self.z)
        for enabled in (False, True):
            vae = tiny.kl()
            if enabled:
                headroom_vae.enable(vae, limit="64MiB")
                vae.decode(self.z)
            offload(vae)
            handle = headroom_vae.handle_of(vae) or headroom_vae.enable(vae, limit="64MiB")
            for _ in range(2):
                self.assert_close(vae.decode(self.z).sample, theirs)
            self.assertGreater(handle.held_bytes, 0)

    def test_group_offload_to_a_disk(self):
        for kind in ("leaf_level", "block_level"):
            with tempfile.TemporaryDirectory() as folder:
                self.check(lambda vae: apply_group_offloading(vae, onload_device=CPU, offload_type=kind, num_blocks_per_group=1,
                                                              offload_to_disk_path=folder))  # fmt: skip

    def test_group_offload_to_a_disk_whose_files_are_gone(self):
        vae = tiny.kl()
        with tempfile.TemporaryDirectory() as folder:
            apply_group_offloading(vae, onload_device=CPU, offload_type="leaf_level", offload_to_disk_path=folder)
        with self.assertRaisesRegex(headroom_vae.InputError, r"group_.*\.safetensors: group offload keeps weights here, which cannot be read"):
            headroom_vae.enable(vae)

    def test_sequential_offload_to_memory_and_to_a_disk(self):
        self.check(lambda vae: accelerate.cpu_offload(vae, CPU))
        with tempfile.TemporaryDirectory() as folder:
            self.check(lambda vae: accelerate.disk_offload(vae, folder, CPU))


class Layered(torch.nn.Module):
    """A diffusers decoder with the layer names of the original code and without a config, as in ComfyUI."""

    def __init__(self, vae):
        super().__init__()
        for name, module in vae.named_modules():
            if not name.startswith(("decoder.", "post_quant_conv")) or not module._parameters:
                continue
            if isinstance(module, torch.nn.Linear):  # the original code has a 1x1 convolution here
                linear, module = module, torch.nn.Conv2d(module.in_features, module.out_features, 1)
                module.load_state_dict({"weight": linear.weight[..., None, None], "bias": linear.bias})
            owner = self
            *path, leaf = comfyui_support.original_name(f"{name}.weight", len(vae.config.block_out_channels)).split(".")[:-1]
            for word in path:
                if word not in owner._modules:
                    owner.add_module(word, torch.nn.Module())
                owner = getattr(owner, word)
            owner.add_module(leaf, module)


class Node(Case):
    """ComfyUI's VAEs have no config."""

    def decode(self, made, node=comfyui_support.nodes().NODE_CLASS_MAPPINGS["HeadroomVAEDecode"]):
        return node().decode({"samples": self.z}, made, limit_gib=1 / 16)[0]

    def test_changed_layers_are_refused_by_name(self):
        def attention(vae):
            vae.decoder.mid.attn_1.optimized_attention = attention

        for change, message in (
            (circular, r"^decoder\.conv_in: padding_mode is 'circular', expected 'zeros' \("),
            (lambda vae: setattr(vae.decoder.conv_out, "dilation", (2, 2)), r"^decoder\.conv_out: dilation is \(2, 2\), expected \(1, 1\)"),
            (lambda vae: setattr(vae.decoder.norm_out, "num_groups", 16), r"^decoder\.norm_out: num_groups is 16, expected 32"),
            (lambda vae: setattr(vae.decoder.norm_out, "eps", 1e-3), r"^decoder\.norm_out: eps is 0.001, expected 1e-06"),
            (lambda vae: setattr(vae.decoder, "tanh_out", True), r"^decoder: tanh_out is True, expected False"),
            (lambda vae: setattr(vae.decoder.conv_in, "weight_function", [abs]), r"^decoder\.conv_in: weight_function is "),
            (lambda vae: setattr(vae.decoder.conv_in, "_conv_forward", lambda x, *_: x), r"^decoder\.conv_in: _conv_forward was replaced by"),
            (lambda vae: vae.decoder.mid.register_forward_hook(lambda *_: None), r"^decoder\.mid: a forward hook"),
            (attention, r"^decoder\.mid\.attn_1: optimized_attention is .*attention, expected a function of torch"),
        ):
            vae = comfyui_support.small_vae()
            theirs = torch.clamp((own_decode(vae, self.z) + 1) / 2, 0, 1).movedim(1, -1)
            for decodes in (0, 1):
                made = comfyui_support.comfy_vae(vae)
                made.first_stage_model = Layered(copy.deepcopy(vae))
                for _ in range(decodes):
                    self.assert_close(self.decode(made), theirs)
                change(made.first_stage_model)
                with self.assertRaisesRegex(headroom_vae.Unsupported, message):
                    self.decode(made)


    def test_what_is_held_goes_with_the_module(self):
        made = comfyui_support.comfy_vae(comfyui_support.small_vae())
        self.decode(made)
        gone = weakref.ref(made.first_stage_model)
        del made
        gc.collect()
        self.assertIsNone(gone())


class Drawn(Case):
    def test_drawn_changes_give_the_changed_picture_or_are_named(self):
        outcomes = {"followed": 0, "refused": 0, "refused, and its own decode fails": 0}
        for seed in range(DRAWS):
            rng = random.Random(seed)
            make, shape = FAMILIES[seed % len(FAMILIES)]
            vae, z = copy.deepcopy(_made(make)), latent(*shape)
            decodes = rng.choice((None, 0, 1))  # decodes before the change; None: enable the VAE after the change
            if decodes is not None:
                headroom_vae.enable(vae, limit=None)
                for _ in range(decodes):
                    vae.decode(z)
            change = draw(vae, rng)
            with self.subTest(seed=seed, family=make.__name__, change=change.what, decodes=decodes), applied(change):
                outcomes[self.outcome(vae, z, change, decodes is None)] += 1
        print(f"{DRAWS} drawn changes: {', '.join(f'{count} {what}' for what, count in outcomes.items())}", file=sys.stderr)

    def outcome(self, vae, z, change, enable):
        try:
            theirs = own_decode(vae, z)
        except Exception:  # noqa: BLE001: whatever a broken module raises
            theirs = None
        try:
            if enable:
                headroom_vae.enable(vae, limit=None)
            ours = vae.decode(z, return_dict=False)[0]
        except headroom_vae.InputError as refusal:
            named = str(refusal).split(" ")[0].split(":")[0]
            where = change.what.split(":")[0]
            self.assertTrue(where.startswith(named) or named.startswith(where) or "patched" in where, f"{change.what}: {refusal}")
            return "refused" if theirs is not None else "refused, and its own decode fails"
        self.assertIsNotNone(theirs, f"{change.what}: the VAE's own decode fails")
        self.assert_close(ours, theirs)
        return "followed"


_makes = {}


def _made(make):
    if make not in _makes:
        _makes[make] = make()
    return _makes[make]


if __name__ == "__main__":
    unittest.main(argv=[argument for argument in sys.argv if argument != "--long"])
