"""Predictions without torch and without weights."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

import headroom_vae


def resident_mib(key: str = "VmRSS") -> float:
    return next(int(line.split()[1]) / 1024 for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith(key + ":"))


class Predictions(unittest.TestCase):
    def test_planning_takes_little_memory_and_leaves_nothing_resident(self):
        headroom_vae.predict("taesd", 64, 64, limit="16MiB")
        for name, height, width, options in (
            ("sdxl", 2048, 2048, {"limit": "2GiB"}),
            ("sdxl", 4096, 4096, {"limit": 9 << 29}),
            ("flux", 2048, 2048, {"limit": "1536MiB", "dtype": "bf16"}),
            ("hunyuan-video", 720, 1280, {"frames": 129, "limit": "5500MiB", "scratch": tempfile.gettempdir()}),
            ("hunyuan-video", 720, 1280, {"frames": 129, "limit": "1MiB"}),
        ):
            with self.subTest(model=name, height=height, **options):
                pathlib.Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
                before = resident_mib()
                str(headroom_vae.predict(name, height, width, **options))
                self.assertLess(resident_mib("VmHWM") - before, 150)
                self.assertLess(resident_mib() - before, 16)

    def test_a_built_in_model_under_a_limit(self):
        found = headroom_vae.predict("sdxl", height=1024, width=768, dtype="bf16", limit="1GiB")
        self.assertTrue(found.fits)
        self.assertLessEqual(found.peak_bytes, 1 << 30)
        self.assertLess(found.smallest_limit_bytes, found.peak_bytes)
        self.assertLess(found.peak_bytes, found.untiled_peak_bytes)
        self.assertGreater(found.seconds, 0)
        self.assertIn("768x1024", str(found))
        self.assertIn("<table>", found._repr_html_())

    def test_the_smallest_limit_works_and_less_does_not(self):
        found = headroom_vae.predict("sd15", 512, 512, limit=1)
        self.assertFalse(found.fits)
        self.assertIsNone(found.peak_bytes)
        self.assertTrue(found.remedies)
        self.assertTrue(headroom_vae.predict("sd15", 512, 512, limit=found.smallest_limit_bytes).fits)
        self.assertFalse(headroom_vae.predict("sd15", 512, 512, limit=found.smallest_limit_bytes - 1).fits)
        with self.assertRaises(headroom_vae.DoesNotFit) as refused:
            found.require()
        self.assertEqual(refused.exception.smallest_limit_bytes, found.smallest_limit_bytes)
        self.assertIn("smallest limit", str(refused.exception))
        self.assertIn("with scratch=DIR it", str(refused.exception))
        self.assertIn("scratch=DIR", [remedy["change"] for remedy in found.remedies])
        self.assertIsInstance(refused.exception, MemoryError)
        self.assertIn("does not fit", found._repr_html_())

    def test_without_a_limit_it_takes_what_is_of_use(self):
        ample = headroom_vae.predict("sdxl", 512, 512, thrift=0)
        self.assertTrue(ample.plan.optimal)
        self.assertEqual(headroom_vae.predict("sdxl", 512, 512, thrift=0, limit=ample.peak_bytes).seconds, ample.seconds)

    def test_thrift_gives_time_for_memory(self):
        fastest, default, thrifty = (headroom_vae.predict("sdxl", 512, 512, **thrift) for thrift in ({"thrift": 0}, {}, {"thrift": "10%"}))
        self.assertLess(default.peak_bytes, fastest.peak_bytes)
        self.assertLess(thrifty.peak_bytes, default.peak_bytes)
        self.assertLessEqual(default.seconds, 1.01 * fastest.seconds)
        self.assertEqual(headroom_vae.predict("sdxl", 512, 512, thrift=0.1).peak_bytes, thrifty.peak_bytes)
        for wrong in (-0.1, 5, "5", True, None):
            with self.assertRaisesRegex(headroom_vae.InputError, "thrift: expected a share from 0"):
                headroom_vae.predict("sdxl", 512, 512, thrift=wrong)

    def test_without_a_profile_seconds_have_no_range(self):
        self.assertIsNone(headroom_vae.plan("sdxl", 512, 512, limit="512MiB").seconds_range)

    def test_a_plan_is_what_the_program_makes(self):
        plan = headroom_vae.plan("sdxl", 512, 512, limit="512MiB")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "plan.json")
            plan.save(str(file))
            stored = json.loads(file.read_text())
        self.assertEqual(stored["predicted"]["peak_bytes"], plan.peak_bytes)
        self.assertEqual(stored["limit_bytes"], 512 << 20)
        self.assertEqual(stored["request"]["picture_dtype"], "fp32")
        self.assertEqual(plan.picture_bytes, 3 * 512 * 512 * 4)
        self.assertEqual(json.loads(plan.json())["passes"], stored["passes"])
        self.assertIn("emit conv_out", plan.explain())
        self.assertEqual(headroom_vae.explain("sdxl", 512, 512, limit="512MiB"), plan.explain())

    def test_a_plan_spares_the_files_of_its_model(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder, "config.json")
            config.write_text((pathlib.Path(__file__).resolve().parents[2] / "data/demo_model/config.json").read_text())
            before = config.read_text()
            plan = headroom_vae.plan(folder, 64, 64, limit="512MiB")
            pathlib.Path(folder, "link.json").symlink_to("config.json")
            for name in ("config.json", "link.json"):
                with self.assertRaisesRegex(headroom_vae.InputError, "would overwrite a file of the model"):
                    plan.save(str(pathlib.Path(folder, name)))
            self.assertEqual(config.read_text(), before)

    def test_a_gpu_is_predicted_without_one(self):
        found = headroom_vae.predict("sdxl", 1024, 1024, dtype="bf16", device="cuda", limit="2GiB", host_limit="4GiB")
        self.assertTrue(found.fits)

    def test_the_frontier_falls(self):
        found = headroom_vae.frontier("sdxl", 256, 256, points=5)
        self.assertGreater(len(found), 2)
        self.assertEqual(found, tuple(sorted(found, reverse=True)))
        self.assertEqual([p.seconds for p in found], sorted(p.seconds for p in found))
        self.assertIn("<svg", found._repr_html_())
        self.assertIn("#", str(found))

    def test_a_clip(self):
        found = headroom_vae.predict("wan2.1", height=64, width=96, frames=9, limit="1GiB")
        self.assertIn("9 frames", str(found))

    def test_bad_requests(self):
        for arguments, message in (
            ({"vae": "no-such-model"}, "sdxl"),
            ({"height": 100}, "multiple"),
            ({"height": 0}, ""),
            ({"frames": 5}, "frames"),
            ({"dtype": "int8"}, "fp32"),
            ({"device": "tpu"}, "cpu, cuda, cuda:N, xpu or mps"),
            ({"limit": "many"}, "limit"),
            ({"limit": -1}, "limit"),
            ({"limit": 1.5}, "limit"),
            ({"scratch": "/no/such/folder"}, "scratch"),
            ({"host_limit": "4GiB"}, "use scratch=DIR"),
            ({"host_limit": "4GiB", "device": "cpu"}, "use scratch=DIR"),
            ({"scratch": tempfile.gettempdir(), "device": "cuda"}, "use host_limit"),
            ({"profile": "/no/such/profile.json"}, "profile.json"),
        ):
            with self.subTest(**arguments), self.assertRaises(headroom_vae.InputError) as refused:
                headroom_vae.predict(**{"vae": "sdxl", "height": 128, "width": 128, **arguments})
            self.assertIn(message, str(refused.exception))
            self.assertNotIn("\n", str(refused.exception))

    def test_a_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            config = {"_class_name": "AutoencoderKL", "latent_channels": 4, "block_out_channels": [32, 64], "out_channels": 3,
                      "up_block_types": ["UpDecoderBlock2D"] * 2, "layers_per_block": 1}  # fmt: skip
            pathlib.Path(folder, "config.json").write_text(json.dumps(config))
            self.assertTrue(headroom_vae.predict(pathlib.Path(folder), 64, 64).fits)
            config["act_fn"] = "tanh"
            pathlib.Path(folder, "config.json").write_text(json.dumps(config))
            with self.assertRaisesRegex(headroom_vae.InputError, "act_fn"):
                headroom_vae.predict(folder, 64, 64)

    def test_tf32_on_a_gpu_is_that_of_torch(self):
        switches = {
            "torch.backends.cudnn.allow_tf32 = False": "fp32",
            "torch.backends.cuda.matmul.allow_tf32 = True": "fp32 with TF32",
            "torch.set_float32_matmul_precision('high'); torch.backends.cudnn.allow_tf32 = False": "fp32 with TF32 in products",
            "torch.backends.cudnn.conv.fp32_precision = 'ieee'": "fp32",
            "torch.backends.cudnn.conv.fp32_precision = 'none'; torch.backends.fp32_precision = 'tf32'": "fp32 with TF32",
            "torch.backends.cudnn.allow_tf32 = False; torch.backends.cuda.matmul.fp32_precision = 'tf32'": "fp32 with TF32 in products",
        }
        program = """
            import os, sys, warnings
            import headroom_vae
            def show(**options):
                print(str(headroom_vae.predict("sdxl", 64, 64, **{"device": "cuda", **options})).split(":")[0], flush=True)
            show(), show(device="cpu"), show(dtype="bf16")
            assert "torch" not in sys.modules
            import torch
            warnings.simplefilter("error")
            show(dtype="fp16")
            for switch in sys.argv[1:]:
                if child := os.fork():
                    assert os.waitpid(child, 0)[1] == 0, switch
                else:
                    exec(switch)
                    show()
                    os._exit(0)
            """
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), *switches], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.removeprefix("sdxl 64x64 ") for line in done.stdout.splitlines()], [
            "fp32 with TF32 in convolutions, PyTorch's default",
            "fp32",
            "bf16",
            "fp32 with TF32 in convolutions (not fp16, since its config has force_upcast)",
            *switches.values(),
        ])  # fmt: skip

    def test_without_torch(self):
        program = """
            import sys
            for name in ("torch", "diffusers", "numpy", "tqdm"):
                sys.modules[name] = None
            import headroom_vae
            found = headroom_vae.predict("sdxl", 2048, 2048, limit="2GiB")
            print(found, found.smallest_limit_bytes, found._repr_html_(), headroom_vae.frontier("sd15", 64, 64, points=3))
            """
        folder = str(pathlib.Path(headroom_vae.__file__).parent.parent)
        done = subprocess.run(
            [sys.executable, "-S", "-E", "-c", f"import sys; sys.path.insert(0, {folder!r})\n{textwrap.dedent(program)}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2048x2048", done.stdout)


if __name__ == "__main__":
    unittest.main()
