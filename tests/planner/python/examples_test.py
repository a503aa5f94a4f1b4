"""Runs docs/examples: the cells of the notebook, the scripts with tiny pipelines in place of downloads, and the block for modular
pipelines."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import runpy
import sys
import tempfile
import unittest
import warnings
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import comfyui_stand_in
import diffusers
import headroom_vae
import numpy
import tiny
import torch
from PIL import Image, ImageChops
from diffusers import modular_pipelines

EXAMPLES = Path(__file__).parents[3] / "docs/examples"


def run_cell(source: str, names: dict) -> object:
    """Runs a cell as a notebook does. Returns the value of its last expression."""
    body = ast.parse(source).body
    last = ast.Expression(body.pop().value) if body and isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";") else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return None if last is None else eval(compile(last, "cell", "eval"), names)


class Notebook(unittest.TestCase):
    def test_cells_run_in_order(self):
        self.addCleanup(torch.set_grad_enabled, torch.is_grad_enabled())
        notebook = json.loads((EXAMPLES / "headroom.ipynb").read_text())
        names, printed, shown = {}, io.StringIO(), []
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # tiling has no effect, as the text says
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None))
                    value = run_cell("".join(cell["source"]), names)
                    shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
        for expected in ("does not fit 4.0 MiB; the smallest limit that works is", "tiling was on: not used", "<- the peak of the plan"):
            self.assertIn(expected, printed.getvalue())
        difference = float(printed.getvalue().split("largest difference: ")[1].split()[0])
        self.assertLess(difference, 1e-4)
        for expected in ("untiled", "<svg", "decodes with Headroom, limit 16.0 MiB", "torch.Size([1, 3, 256, 384])"):
            self.assertTrue(any(expected in text for text in shown), expected)
        self.assertNotIn("decode", vars(names["vae"]))


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_script(self, name: str, pipeline: str, make, *options: str) -> str:
        """Runs a script on a tiny pipeline, which takes its prompt as embeddings. Returns its output."""
        pipe, arguments = make()
        pipe.set_progress_bar_config(disable=True)

        class WithoutTextEncoder(type(pipe)):
            def __call__(self, prompt, **asked):
                steps = {"num_inference_steps": 1, **({"guidance_scale": 1.0} if "max_sequence_length" not in asked else {})}
                asked.pop("max_sequence_length", None)
                torch.manual_seed(0)  # the same noise in each call
                return super().__call__(**{**arguments, **asked, **steps})

        pipe.__class__ = WithoutTextEncoder
        printed = io.StringIO()
        with (
            mock.patch.object(getattr(diffusers, pipeline), "from_pretrained", lambda *_, **__: pipe),
            mock.patch.object(sys, "argv", [name, "a lighthouse", *options]),
            contextlib.redirect_stdout(printed),
        ):
            runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        self.pipe = pipe
        return printed.getvalue()

    def test_sdxl(self):
        file = f"{self.folder}/picture.png"
        printed = self.run_script("sdxl.py", "StableDiffusionXLPipeline", tiny.stable_diffusion_xl, "--height", "64", "--width", "48",
                                  "--limit", "64MiB", "-o", file)  # fmt: skip
        self.assertRegex(printed, r"AutoencoderKL 48x64 bf16: untiled .*\nunder 64\.0 MiB: peak .*\n(more than the untiled .*\n)?.* on cpu in bf16, peak ")
        self.assertTrue(Path(file).exists())
        self.assertIsNone(headroom_vae.handle_of(self.pipe))

    def test_flux(self):
        file, size = f"{self.folder}/picture.png", ("--height", "32", "--width", "48")
        self.assertIn(" on cpu in fp32, peak ", self.run_script("flux.py", "FluxPipeline", tiny.flux, *size, "-o", file))
        self.assertTrue(Path(file).exists())
        with self.assertRaisesRegex(SystemExit, r"does not fit 1\.0 MiB; .*\nTry --limit \d+"):
            self.run_script("flux.py", "FluxPipeline", tiny.flux, *size, "--limit", "1MiB", "-o", file)

    def test_wan(self):
        saved = []
        with mock.patch("diffusers.utils.export_to_video", lambda frames, name, fps: saved.append((frames.shape, name, fps))):
            printed = self.run_script("wan.py", "WanPipeline", tiny.wan_video, "--height", "32", "--width", "48", "--frames", "5", "-o", "clip.mp4")
        self.assertIn(" on cpu in fp32, peak ", printed)
        self.assertEqual(saved, [((5, 32, 48, 3), "clip.mp4", 16)])

    def test_wan_stream(self):
        size = ("--height", "32", "--width", "48", "--frames", "9")
        printed = self.run_script("wan_stream.py", "WanPipeline", tiny.wan_video, *size, "--limit", "64MiB", "-o", f"{self.folder}/frames")
        self.assertRegex(printed, r"9 frames; <stream in blocks of 1: state .*, peak ")
        whole = self.pipe("a lighthouse", height=32, width=48, num_frames=9, output_type="pil").frames[0]
        for number, frame in enumerate(whole):
            saved = Image.open(f"{self.folder}/frames/{number:05}.png")
            self.assertLessEqual(max(most for _, most in ImageChops.difference(saved, frame).getextrema()), 1)


class ComfyUI(unittest.TestCase):
    def test_blocks_are_shown_while_a_sampler_makes_them(self):
        comfyui_stand_in.install()
        from comfy.utils import ProgressBar

        names, latents = runpy.run_path(str(EXAMPLES / "comfyui_stream.py")), tiny.embeddings(1, 16, 4, 4, 6)
        network, module = tiny.wan(), SimpleNamespace(inner_model=SimpleNamespace(process_latent_out=lambda latent: latent * 2))
        vae = SimpleNamespace(first_stage_model=network, spacial_compression_decode=lambda: 8)

        def in_blocks(model, x, sigmas, callback, extra_args):  # as comfy.k_diffusion's sample_ar_video does
            steps = []
            for block in x.split(1, dim=2):
                for sigma in sigmas[:-1]:
                    callback({"sigma": sigma, "denoised": block + sigma - sigmas[-2]})
                    steps.append(sigma)
            return x + len(steps)

        told = []
        (sampler,) = names["ShowBlocks"]().wrapped(SimpleNamespace(sampler_function=in_blocks), vae, "64MiB")
        model = SimpleNamespace(inner_model=module)
        made = sampler.sampler_function(model, latents, torch.tensor([1.0, 0.5, 0.0]), callback=told.append, extra_args={})
        self.assertTrue(torch.equal(made, latents + 8))
        self.assertEqual(len(told), 8)
        with torch.no_grad():
            clip = network.decode(latents * 2).sample[0]
        self.assertEqual([value for value, _, _ in ProgressBar.shown], [1, 2, 3, 4])
        for (_, _, (kind, shown, _)), frame in zip(ProgressBar.shown, (0, 4, 8, 12)):
            expected = (clip[:, frame].movedim(0, -1) * 127.5 + 127.5).clamp(0, 255).byte()
            difference = torch.from_numpy(numpy.array(shown)).int() - expected.int()
            self.assertEqual((kind, bool(difference.abs().max() <= 1)), ("JPEG", True))


class Block(unittest.TestCase):
    def test_of_a_modular_pipeline(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch("diffusers.utils.dynamic_modules_utils.HF_MODULES_CACHE", folder):
            block = modular_pipelines.ModularPipelineBlocks.from_pretrained(str(EXAMPLES / "decode_block"), trust_remote_code=True)
        pipe = block.init_pipeline()
        vae = tiny.kl()
        pipe.update_components(vae=vae)
        z = tiny.embeddings(1, 4, 8, 6)
        with torch.no_grad():
            theirs = type(vae).decode(vae, z / vae.config.scaling_factor).sample
            for limit in ("32MiB", "32MiB", "64MiB"):
                made = pipe(latents=z, output_type="pt", limit=limit)
                ours = made.get("images") * 2 - 1
                self.assertLessEqual(float((ours - theirs.clamp(-1, 1)).abs().max()), 1e-4)
                self.assertIn(" on cpu in fp32, peak ", str(made.get("decode_report")))
                self.assertEqual(headroom_vae.handle_of(vae).options.limit, limit)


if __name__ == "__main__":
    unittest.main()
