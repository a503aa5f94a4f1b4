"""The GPU module under the names of CUDA 12's libraries. A process without PyTorch decodes over the air card, with the library that
stands for PyTorch for CUDA 12, and the pictures are those of diffusers."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path("build")


def save(folder):
    """Writes a small VAE's config and weights, a latent, and the picture that diffusers decodes. Runs with PyTorch."""
    import numpy
    import tiny
    import torch

    vae, z = tiny.kl(mid_block_add_attention=True), tiny.latent(1, 4, 11, 13)
    with torch.no_grad():
        picture = vae.decode(z).sample
    (folder / "config.json").write_text(json.dumps({**vae.config, "_class_name": "AutoencoderKL"}, default=list))
    numpy.savez(folder / "weights.npz", **{name: tensor.numpy() for name, tensor in vae.state_dict().items()})
    numpy.savez(folder / "tensors.npz", latent=z.numpy(), picture=picture.numpy())


def decode(folder, module):
    """Decodes over the air card. Prints facts as JSON. Runs without PyTorch."""
    import ctypes

    import numpy
    from headroom_vae import _core

    ctypes.CDLL(str(Path(module).with_name("libtorch_cuda.so")))  # as `import torch` does
    cuda = ctypes.CDLL("libcudart.so.12")

    class Memory:
        block = ctypes.c_void_p()

        def name(self):
            return "a test"

        def reserve(self, bytes_):
            assert cuda.cudaMalloc(ctypes.byref(self.block), ctypes.c_size_t(bytes_)) == 0
            return self.block.value

        def stream(self):
            return 0

        def release(self):
            assert cuda.cudaFree(self.block) == 0
            self.block = ctypes.c_void_p()

    model = _core.Model.from_config((folder / "config.json").read_text(), "config.json")
    weights, tensors = dict(numpy.load(folder / "weights.npz")), numpy.load(folder / "tensors.npz")
    latent, expected = tensors["latent"], tensors["picture"]
    planner = _core.Planner(model, width=expected.shape[3], height=expected.shape[2], frames=1, batch=1, dtype="fp32", device="cuda",
                            tf32="none", picture_dtype="fp32")
    decoder, largest, passes = _core.gpu_decoder(model, module, 0, Memory()), 0.0, set()
    for plan in (planner.plan(None), planner.smallest()):
        picture = numpy.zeros_like(expected)
        json.loads(decoder.decode(plan, weights, latent, picture, threads=1, progress=None, trace_file=""))
        largest = max(largest, float(abs(picture - expected).max() / abs(expected).max()))
        passes.add(plan.explain())
    with open("/proc/self/maps") as maps:
        loaded = sorted({Path(line.split()[-1]).name for line in maps if "libcudart" in line or "libcublasLt" in line})
    print(json.dumps({"error": largest, "plans": len(passes), "loaded": loaded}))


class Cuda12(unittest.TestCase):
    def test_pictures_are_those_of_diffusers(self):
        card, module = BUILD / "tests/air_card/lib12", BUILD / "tests/air_card/modules12/headroom-cuda-lent.so"
        with tempfile.TemporaryDirectory() as folder:
            save(Path(folder))
            report = Path(folder) / "report.json"
            environment = {**os.environ, "LD_LIBRARY_PATH": str(card), "AIR_REPORT": str(report), "AIR_ORDER": "late"}
            ended = subprocess.run([sys.executable, __file__, "--decode", folder, str(module)], env=environment, capture_output=True, text=True, check=False)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            found, said = json.loads(ended.stdout), json.loads(report.read_text())
        self.assertEqual(found["loaded"], ["libcublasLt.so.12", "libcudart.so.12"])
        self.assertEqual(found["plans"], 2)
        self.assertLess(found["error"], 1e-5)
        self.assertEqual((said["wrong_uses"], said["calls_after_error"]), ([], []))
        self.assertGreater(min(said["launches"], said["convolutions"], said["products"]), 0)

    def test_a_process_without_pytorch_is_refused(self):
        module = BUILD / "lib/headroom-cuda-lent.so"
        code = f"import ctypes; m = ctypes.CDLL({str(module)!r}); m.headroom_refuses_torch.restype = ctypes.c_char_p; print(m.headroom_refuses_torch().decode())"
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        self.assertRegex(ended.stdout, "^PyTorch for CUDA is not loaded, or its libraries have no __cudaGetKernel", ended.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, default=BUILD)
    parser.add_argument("--decode", nargs=2)
    given, rest = parser.parse_known_args()
    BUILD = given.build.resolve()
    if given.decode:
        decode(Path(given.decode[0]), given.decode[1])
    else:
        unittest.main(argv=[sys.argv[0], *rest])
