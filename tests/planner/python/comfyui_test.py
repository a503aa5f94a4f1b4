"""Tests the ComfyUI nodes on a stand-in for comfy.sd.VAE, whose decoder has Stable Diffusion's original names. If HEADROOM_COMFYUI
names a clone of ComfyUI, they also run on its own class."""

from __future__ import annotations

import importlib.util
import logging
import os
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

import headroom_vae
import tiny
import torch
from headroom_vae import device
from headroom_vae.checkpoints import model_of_tensors
from headroom_vae.module import ModuleDecoder

NODES = pathlib.Path(__file__).parents[3] / "planner" / "python" / "comfyui" / "__init__.py"


def nodes():
    spec = importlib.util.spec_from_file_location("headroom_nodes", NODES, submodule_search_locations=[str(NODES.parent)])
    module = importlib.util.module_from_spec(spec)
    sys.modules["headroom_nodes"] = module
    spec.loader.exec_module(module)
    return module


def original_name(name: str, levels: int) -> str:
    """Maps a diffusers tensor name to Stable Diffusion's original name. Deliberately independent of the product's rule."""
    words = name.split(".")
    if words[0] != "decoder":
        return name
    if words[1] == "mid_block" and words[2] == "resnets":
        return ".".join(["decoder", "mid", f"block_{int(words[3]) + 1}", *words[4:]])
    if words[1] == "mid_block":
        last = {"group_norm": "norm", "to_q": "q", "to_k": "k", "to_v": "v", "to_out": "proj_out"}[words[4]]
        return ".".join(["decoder", "mid", "attn_1", last, words[-1]])
    if words[1] == "up_blocks":
        level = ["decoder", "up", str(levels - 1 - int(words[2]))]
        if words[3] == "upsamplers":
            return ".".join([*level, "upsample", *words[5:]])
        return ".".join([*level, "block", words[4], *("nin_shortcut" if w == "conv_shortcut" else w for w in words[5:])])
    return name.replace("conv_norm_out", "norm_out")


def original_wan_22_name(name: str) -> str:
    """Maps a diffusers tensor name to Wan 2.2's original name."""
    words = name.split(".")
    numbers = {"norm1": "residual.0", "conv1": "residual.2", "norm2": "residual.3", "conv2": "residual.6", "conv_shortcut": "shortcut"}
    if words[1] == "mid_block" and words[2] == "resnets":
        return ".".join(["decoder.middle", str(2 * int(words[3])), numbers[words[4]], *words[5:]])
    if words[1] == "mid_block":
        return ".".join(["decoder.middle.1", *words[4:]])
    if words[1] == "up_blocks" and words[3] == "resnets":
        return ".".join(["decoder.upsamples", words[2], "upsamples", words[4], numbers[words[5]], *words[6:]])
    if words[1] == "up_blocks":
        return ".".join(["decoder.upsamples", words[2], "upsamples.3", *words[4:]])
    ends = {"decoder.conv_in": "decoder.conv1", "decoder.norm_out": "decoder.head.0", "decoder.conv_out": "decoder.head.2"}
    return ".".join([{**ends, "post_quant_conv": "conv2"}[".".join(words[:-1])], words[-1]])


class Renamed(torch.nn.Module):
    """A diffusers decoder whose parameters have the original names."""

    def __init__(self, vae, renamed=None):
        super().__init__()
        for name, tensor in vae.state_dict().items():
            if name.startswith("bn."):
                if not hasattr(self, "bn"):
                    self.bn = torch.nn.Module()
                self.bn.register_buffer(name[3:], tensor)
            elif name.startswith(("decoder.", "post_quant_conv.")):
                owner = self
                *path, leaf = (renamed(name) if renamed else original_name(name, len(vae.config.block_out_channels))).split(".")
                for word in path:
                    if not hasattr(owner, word):
                        owner.add_module(word, torch.nn.Module())
                    owner = getattr(owner, word)
                if ".attentions." in name and tensor.dim() == 2:
                    tensor = tensor[..., None, None]  # a 1x1 convolution there
                owner.register_parameter(leaf, torch.nn.Parameter(tensor))


def original_wan_21_name(name: str) -> str:
    """Maps a diffusers tensor name to Wan 2.1's original name, which numbers all resolutions in one list of 15 modules."""
    words = original_wan_22_name(name.replace(".upsamplers.0.", ".upsampler.")).split(".")
    if words[1] == "upsamples":
        words[2:5] = [str(4 * int(words[2]) + int(words[4]))]
    return ".".join(words)


class Nested:
    """Stand-in for ComfyUI's NestedTensor, which holds a clip and its sound and is not a tensor."""

    is_nested = True

    def __init__(self, *tensors):
        self._tensors = list(tensors)

    def unbind(self):
        return self._tensors


def comfy_vae(vae, renamed=None):
    made = types.SimpleNamespace()
    made.first_stage_model = Renamed(vae, renamed)
    made.process_output = lambda image: torch.clamp((image + 1.0) / 2.0, min=0.0, max=1.0)
    made.memory_used_decode = lambda shape, dtype: 7
    made.vae_dtype = torch.float32
    made.device = torch.device("cpu")
    return made


def decoded_by_node(vae, latent, **options):
    return nodes().NODE_CLASS_MAPPINGS["HeadroomVAEDecode"]().decode({"samples": latent}, vae, **{"limit": "1GiB", **options})[0]


def flux2():
    return tiny.flux2(layers_per_block=2, decoder_block_out_channels=(32, 64, 64, 96))


def flux2_picture(vae, latent):
    """Decodes by diffusers, after ComfyUI's own preprocessing of a latent of patches."""
    mean, variance = (t.reshape(1, -1, 1, 1) for t in (vae.bn.running_mean, vae.bn.running_var))
    z = torch.nn.functional.pixel_shuffle(latent * torch.sqrt(variance + 1e-4) + mean, 2)
    return torch.clamp((vae.decode(z).sample + 1) / 2, 0, 1).movedim(1, -1)


class Nodes(unittest.TestCase):
    def setUp(self):
        logging.disable(logging.NOTSET)
        self.addCleanup(logging.disable, logging.WARNING)

    def vae(self):
        return tiny.kl(block_out_channels=(32, 64, 64), layers_per_block=2, down_block_types=("DownEncoderBlock2D",) * 3,
                       up_block_types=("UpDecoderBlock2D",) * 3)  # fmt: skip

    @torch.no_grad()
    def test_decode(self):
        vae = self.vae()
        z = torch.randn(2, 4, 9, 7, generator=torch.Generator().manual_seed(0))
        theirs = torch.clamp((vae.decode(z).sample + 1) / 2, 0, 1).movedim(1, -1)
        node = nodes().NODE_CLASS_MAPPINGS["HeadroomVAEDecode"]
        made = comfy_vae(vae)
        (ours,) = getattr(node(), node.FUNCTION)({"samples": z}, made, limit="32MiB")
        self.assertEqual(ours.shape, (2, 36, 28, 3))
        self.assertLessEqual(float((ours - theirs).abs().max()), 1e-4)
        with self.assertRaises(headroom_vae.DoesNotFit):
            node().decode({"samples": z}, made, limit="1MiB")

    def test_estimate(self):
        made = comfy_vae(self.vae())
        node = nodes().NODE_CLASS_MAPPINGS["HeadroomMemoryEstimate"]
        vae, text = getattr(node(), node.FUNCTION)(made)
        self.assertIs(vae, made)
        small, large = (vae.memory_used_decode((1, 4, side, side), torch.float16) for side in (32, 64))
        self.assertGreater(small, 1 << 20)
        self.assertGreater(large, 2 * small)
        self.assertIn("4 latent channels", text)

    @torch.no_grad()
    def test_flux2_latents_are_patches_that_a_batch_norm_normalises(self):
        vae = flux2()
        made, z = comfy_vae(vae), torch.randn(2, 16, 3, 4, generator=torch.Generator().manual_seed(0))
        ours, theirs = decoded_by_node(made, z), flux2_picture(vae, z)
        self.assertEqual(ours.shape, theirs.shape)
        self.assertLessEqual(float((ours - theirs).abs().max()), 1e-4)
        with self.assertRaisesRegex(headroom_vae.InputError, "expected N×16×H×W, found 1×4×6×8"):
            decoded_by_node(made, torch.zeros(1, 4, 6, 8))

    def test_the_estimate_of_flux2_is_that_of_its_decoder(self):
        vae = flux2()
        made, text = nodes().NODE_CLASS_MAPPINGS["HeadroomMemoryEstimate"]().estimate(comfy_vae(vae))
        known = headroom_vae.predict(vae, 48, 64, batch=2, dtype=torch.float16, device="cuda").untiled_peak_bytes
        self.assertEqual(made.memory_used_decode((2, 16, 3, 4), torch.float16), known)
        self.assertIn("AutoencoderKLFlux2", text)

    def test_nothing_that_the_estimate_finds_breaks_comfyuis_own_decode(self):
        node = nodes().NODE_CLASS_MAPPINGS["HeadroomMemoryEstimate"]()
        made, _ = node.estimate(comfy_vae(self.vae()))
        made, _ = node.estimate(made)  # a second time, like a workflow that runs twice
        with self.assertLogs("headroom", "WARNING") as logged:
            for shape in ((1, 128, 3, 4), (1, 4, 0, 4), (1, 4), (), (1, 4, 10**9, 4), ("a",), None):
                self.assertEqual(made.memory_used_decode(shape, torch.float16), 7, shape)
            self.assertEqual(made.memory_used_decode((1, 4, 3, 4), torch.int8), 7)
        self.assertIn("leaves ComfyUI's own", logged.output[0])
        for module in (torch.nn.Linear(2, 2), None):
            other = types.SimpleNamespace(first_stage_model=module, memory_used_decode=lambda shape, dtype: 9)
            vae, text = node.estimate(other)
            self.assertIs(vae, other)
            self.assertEqual(vae.memory_used_decode((1, 4, 3, 4), torch.float16), 9)
            self.assertIn("ComfyUI's own estimate: vae: expected", text)

    @torch.no_grad()
    def test_of_nested_latents_the_first_is_decoded(self):
        made, z = comfy_vae(self.vae()), torch.randn(1, 4, 6, 5)
        self.assertTrue(torch.equal(decoded_by_node(made, Nested(z, torch.randn(1, 8, 20))), decoded_by_node(made, z)))

    @torch.no_grad()
    def test_of_a_clip_in_a_vae_of_pictures_the_first_frame_is_decoded(self):
        made, z = comfy_vae(self.vae()), torch.randn(1, 4, 3, 6, 5)
        ours = decoded_by_node(made, z)
        self.assertEqual(ours.shape, (1, 24, 20, 3))
        self.assertTrue(torch.equal(ours, decoded_by_node(made, z[:, :, 0])))
        estimated, _ = nodes().NODE_CLASS_MAPPINGS["HeadroomMemoryEstimate"]().estimate(made)
        self.assertEqual(estimated.memory_used_decode(z.shape, torch.float32), estimated.memory_used_decode(z[:, :, 0].shape, torch.float32))

    @torch.no_grad()
    def test_twelve_channels_are_pixels_side_by_side(self):
        vae = tiny.wan(dim_mult=[1, 1, 2, 2], num_res_blocks=2, out_channels=12)
        made, z = comfy_vae(vae, original_wan_21_name), torch.randn(1, 16, 2, 3, 4, generator=torch.Generator().manual_seed(0))
        theirs = torch.clamp((vae.decode(z).sample + 1) / 2, 0, 1)
        ours = decoded_by_node(made, z)
        self.assertEqual(ours.shape, (5, 48, 64, 3))
        for row, column, channel in ((0, 0, 0), (0, 1, 1), (1, 0, 2), (1, 1, 0)):
            of_theirs = theirs[0, 4 * channel + 2 * row + column]
            self.assertLessEqual(float((ours[:, row::2, column::2, channel] - of_theirs).abs().max()), 1e-4)
        shuffled = made.process_output
        made.process_output = lambda image: shuffled(torch.nn.functional.pixel_shuffle(image.movedim(1, 2), 2).movedim(1, 2))
        self.assertTrue(torch.equal(decoded_by_node(made, z), ours))

    @torch.no_grad()
    def test_other_numbers_of_channels_are_refused_by_their_number(self):
        made = comfy_vae(self.vae())
        made.first_stage_model = Renamed(tiny.kl(out_channels=5, layers_per_block=2))
        with self.assertRaisesRegex(headroom_vae.Unsupported, "its pictures have 5 channels; expected 1, 3, 4, or 12"):
            decoded_by_node(made, torch.zeros(1, 4, 3, 4))

    def test_odd_inputs_are_refused_in_one_line(self):
        made, z = comfy_vae(self.vae()), torch.zeros(1, 4, 3, 4)
        for samples, vae, options, message in (
            (None, made, {}, "samples: expected a latent, found NoneType"),
            ({}, made, {}, "samples: expected a latent, found dict"),
            ({"samples": [z]}, made, {}, "samples: expected a latent, found list"),
            ({"samples": torch.zeros(1, 8, 20)}, made, {}, "found 1×8×20"),
            ({"samples": torch.zeros(1, 16, 3, 4)}, made, {}, "expected N×4×H×W, found 1×16×3×4"),
            ({"samples": z}, None, {}, "vae: expected a VAE as ComfyUI's Load VAE gives it, found NoneType"),
            ({"samples": z}, types.SimpleNamespace(first_stage_model=None), {}, "found SimpleNamespace without a model"),
            ({"samples": z}, types.SimpleNamespace(first_stage_model=torch.nn.Linear(2, 2)), {}, "original tensor names of Stable Diffusion"),
            ({"samples": z}, made, {"limit": "much"}, "limit"),
            ({"samples": z}, made, {"limit": "\ud800"}, r"limit: expected bytes such as 8GiB, found '\\ud800'"),
            ({"samples": z}, made, {"limit": "4"}, "limit 4 is 4 bytes. Did you mean 4GiB"),
            ({"samples": z}, made, {"limit": "1000000TiB"}, "limit: expected at most the [0-9.]+ GiB of memory that cpu has, or auto, found 1000000TiB"),
        ):
            with self.subTest(message), self.assertRaisesRegex(headroom_vae.InputError, message) as refused:
                nodes().NODE_CLASS_MAPPINGS["HeadroomVAEDecode"]().decode(samples, vae, **options)
            self.assertNotIn("\n", str(refused.exception))

    @torch.no_grad()
    def test_a_limit_ends_at_the_memory_of_the_control_group(self):
        made, z = comfy_vae(self.vae()), torch.randn(1, 4, 3, 4)
        with mock.patch("headroom_vae._core.memory_bytes", lambda: 3 << 30):
            self.assertEqual(decoded_by_node(made, z, limit="3GiB").shape, (1, 12, 16, 3))
            with self.assertRaisesRegex(headroom_vae.InputError, "limit: expected at most the 3.0 GiB of memory that cpu has, or auto, found 4GiB"):
                decoded_by_node(made, z, limit="4GiB")

    @torch.no_grad()
    def test_scratch_folders_are_those_that_the_server_allows(self):
        made, z = comfy_vae(self.vae()), torch.randn(1, 4, 6, 5)
        with tempfile.TemporaryDirectory() as folder:
            temporary, allowed, elsewhere = (pathlib.Path(folder, name) for name in ("temp", "allowed", "elsewhere"))
            (allowed / "below").mkdir(parents=True)
            elsewhere.mkdir()
            (allowed / "link").symlink_to(elsewhere)
            comfyui = {"folder_paths": types.SimpleNamespace(get_temp_directory=lambda: str(temporary))}

            def messages(*folders):
                found = set()
                for each in folders:
                    with self.assertRaises(headroom_vae.InputError) as refused:
                        decoded_by_node(made, z, scratch=str(each))
                    found.add(str(refused.exception))
                return found

            refused = [elsewhere, folder, "/etc", "/no/such/folder", allowed / "link", allowed / "..", f"{allowed}2", "a\0b", "\ud800"]
            self.assertEqual(len(messages(allowed, temporary, *refused)), 1)
            with mock.patch.dict(sys.modules, comfyui), mock.patch.dict(os.environ, {"HEADROOM_COMFYUI_SCRATCH": str(allowed)}):
                for each in (allowed, allowed / "below", temporary):
                    self.assertEqual(decoded_by_node(made, z, scratch=str(each)).shape, (1, 24, 20, 3))
                (message,) = messages(*refused, allowed / "none")
                self.assertIn("HEADROOM_COMFYUI_SCRATCH", message)

    @torch.no_grad()
    def test_a_decode_on_the_cpu_instead_of_a_gpu_warns_once(self):
        made, z = comfy_vae(self.vae()), torch.randn(1, 4, 3, 4)
        decoded = decoded_by_node(made, z)
        module = nodes()
        node = module.NODE_CLASS_MAPPINGS["HeadroomVAEDecode"]()
        for where, words in (("cuda", "HEADROOM_CUDA=ON"), ("mps", "mps: expected a VAE on the CPU or on a GPU by CUDA")):
            made.device = torch.device(where)
            with mock.patch.object(device, "GPU_MODULE", pathlib.Path("/nowhere/headroom-cuda-lent.so")):
                with self.assertLogs("headroom", "WARNING") as logged:
                    for _ in range(2):
                        self.assertTrue(torch.equal(node.decode({"samples": z}, made)[0], decoded))
            self.assertEqual(len(logged.output), 1)
            self.assertRegex(logged.output[0], "runs on the CPU, not on ComfyUI's device: .*" + words)

    def test_what_comfyui_asks_of_a_node(self):
        module = nodes()
        self.assertEqual(set(module.NODE_CLASS_MAPPINGS), set(module.NODE_DISPLAY_NAME_MAPPINGS))
        for node in module.NODE_CLASS_MAPPINGS.values():
            self.assertTrue(callable(getattr(node, node.FUNCTION)))
            self.assertIn("vae", node.INPUT_TYPES()["required"])
            self.assertTrue(node.RETURN_TYPES)

    def test_configs_from_shapes(self):
        model = model_of_tensors(Renamed(self.vae()).state_dict())
        self.assertEqual((model.class_name, model.latent_channels), ("AutoencoderKL", 4))
        with self.assertRaisesRegex(headroom_vae.Unsupported, "original tensor names of Stable Diffusion"):
            model_of_tensors({"encoder.weight": torch.zeros(1)})
        with self.assertRaisesRegex(headroom_vae.Unsupported, "mix_factor"):
            model_of_tensors({"decoder.mid.block_1.norm1.weight": torch.zeros(1), "decoder.mid.block_1.mix_factor": torch.zeros(1)})
        with self.assertRaisesRegex(headroom_vae.Unsupported, "no tensor decoder.conv_in.weight"):
            model_of_tensors({"decoder.mid.block_1.norm1.weight": torch.zeros(1)})

    @torch.no_grad()
    def test_wan_2_2_by_its_original_names(self):
        vae = tiny.wan22(dim_mult=[1, 2, 4, 4], num_res_blocks=2, temperal_downsample=[False, True, True])
        made = Renamed(vae, original_wan_22_name)
        model = model_of_tensors(made.state_dict())
        self.assertEqual((model.class_name, model.latent_channels), ("AutoencoderKLWan", 4))
        for frames in (1, 2):
            z = torch.randn(1, 4, frames, 3, 5, generator=torch.Generator().manual_seed(0))
            theirs = vae.decode(z).sample
            ours = ModuleDecoder(made, model).decode(z, limit="256MiB")
            self.assertLessEqual(float((ours - theirs).abs().max()), 1e-4 * float(theirs.abs().max()))

    @torch.no_grad()
    def test_over_comfyuis_own_vae(self):
        clone = os.environ.get("HEADROOM_COMFYUI")
        if not clone:
            self.skipTest("HEADROOM_COMFYUI names no clone of ComfyUI: its own comfy.sd.VAE was not tried")
        sys.path.insert(0, clone)
        sys.argv = ["comfyui", "--cpu"]
        import comfy.options

        comfy.options.enable_args_parsing()
        import comfy.sd

        state = {original_name(name, 4): (t[..., None, None] if ".attentions." in name and t.dim() == 2 else t)
                 for name, t in tiny.kl(block_out_channels=(128, 256, 512, 512), layers_per_block=2,
                                        down_block_types=("DownEncoderBlock2D",) * 4,
                                        up_block_types=("UpDecoderBlock2D",) * 4).state_dict().items()
                 if not name.startswith("encoder.")}  # fmt: skip
        vae = comfy.sd.VAE(sd=state)
        z = torch.randn(1, 4, 16, 16, generator=torch.Generator().manual_seed(0))
        (ours,) = nodes().NODE_CLASS_MAPPINGS["HeadroomVAEDecode"]().decode({"samples": z}, vae, limit="1GiB")
        self.assertLessEqual(float((ours - vae.decode(z)).abs().max()), 1e-3)


if __name__ == "__main__":
    unittest.main()
