"""Installs the wheels of `make wheel` into bare environments: without PyTorch, with it, and under other Pythons.

  python wheel_test.py --wheels dist

Skips itself if there are no wheels of these sources. Run it with a Python that has PyTorch and diffusers: an environment of its own sees those beside
the installed wheel. With HEADROOM_WHEEL_TORCH=2.9.1 it also installs this PyTorch from PyPI (several GB), and decodes with it.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "planner/python/headroom_vae"
PROGRAMS = ("headroom-plan", "headroom-decode", "headroom-report", "headroom-profile")
SYSTEM_LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
LIBRARIES_OF_TORCH = {"libcudnn.so.9", "libstdc++.so.6"}
NEWEST_GLIBC = (2, 35)
WHEELS = Path()

PREDICT = """
import sys, headroom_vae
prediction = headroom_vae.predict("sdxl", height=1024, width=1024, limit="1GiB")
assert prediction.fits and prediction.peak_bytes <= 1 << 30, prediction
assert headroom_vae.plan("sdxl", height=512, width=512, limit="1GiB").explain()
assert not {"torch", "numpy"} & set(sys.modules)
print(headroom_vae.__file__)
"""

SAVE = """
import diffusers, numpy, torch
torch.manual_seed(0)
blocks = {"down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2}
vae = diffusers.AutoencoderKL(block_out_channels=(32, 64), latent_channels=4, **blocks)
vae.save_pretrained("vae")
z = torch.randn(1, 4, 64, 64)
numpy.save("z.npy", z.numpy())
torch.save((z, vae.decode(z).sample.detach()), "whole.pt")
"""

DECODE = """
import diffusers, headroom_vae, torch
vae = diffusers.AutoencoderKL.from_pretrained("vae").requires_grad_(False)
handle = headroom_vae.enable(vae, limit="24MiB")
z, whole = torch.load("whole.pt")
picture = vae.decode(z).sample
assert handle.last.peak_bytes <= 24 << 20, handle.last
assert (picture - whole).abs().max() < 1e-4, (picture - whole).abs().max()
print(headroom_vae.__file__)
"""


GPU = """
import torch
from headroom_vae import Unsupported, device
try:
    device.require_device("cuda:0")
    print("loaded")
except Unsupported as why:
    print(why)
"""


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)


def python_tag(wheel):
    return "-".join(wheel.stem.split("-")[-3:-1])


class Environment:
    """A virtual environment in which pip has installed the wheel that it chose from the folder of wheels."""

    def __init__(self, folder, python=sys.executable, beside=None):
        self.bin, self.folder = folder / "venv/bin", folder
        made = run(python, "-m", "venv", folder / "venv")
        assert made.returncode == 0, made.stdout + made.stderr
        if beside:
            (next((folder / "venv/lib").iterdir()) / "site-packages/beside.pth").write_text(f"{beside}\n")
        self.pip("--no-index", "--find-links", WHEELS, "headroom-vae")

    def pip(self, *words):
        done = run(self.bin / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words)
        assert done.returncode == 0, done.stdout + done.stderr

    def run(self, *words):
        """Runs a command as a shell in the environment does."""
        return run(*words, cwd=self.folder, env={"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.folder)})


class Wheels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wheels = sorted(WHEELS.glob("headroom_vae-*.whl"))
        if not cls.wheels:
            raise unittest.SkipTest(f"no wheels in {WHEELS}: make wheel")
        for wheel in cls.wheels:
            with zipfile.ZipFile(wheel) as archive:
                module = "headroom_vae/headroom-cuda-lent.so"
                cls.gpu_answer = "loaded" if module in archive.namelist() else "Headroom was built for the CPU only"
                for source in SOURCES.glob("*.py"):
                    name = f"headroom_vae/{source.name}"
                    if name not in archive.namelist() or archive.read(name) != source.read_bytes():
                        raise unittest.SkipTest(f"no wheels of these sources in {WHEELS} ({source.name} differs): make wheel")

    def environment(self, *words, **options):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        return Environment(Path(temporary.name), *words, **options)

    def require_success(self, done, shown=None):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        if shown:
            self.assertRegex(done.stdout, shown)

    def require_programs(self, environment):
        for program in PROGRAMS:
            self.require_success(environment.run(program, "--version"), r"\d+\.\d+\.\d+")
        plan = environment.run("headroom-plan", "--model", "sdxl", "--size", "512x512", "--limit", "512MiB", "-o", "-")
        self.require_success(plan, "headroom.plan")

    def require_decodes(self, environment):
        """Decodes a saved model in Python and by a program, and asks for the GPU module."""
        self.require_success(environment.run("python", "-c", SAVE))
        self.require_success(environment.run("python", "-c", DECODE), re.escape(str(environment.folder)))
        for name in ("picture.png", "picture.jpg", "picture.webp"):
            self.require_success(environment.run("headroom-decode", "--model", "vae", "--latent", "z.npy", "--limit", "64MiB", "-o", name))
            self.require_success(environment.run("python", "-c", f"import PIL.Image; print(PIL.Image.open('{name}').size)"), r"\(128, 128\)")
        gpu = environment.run("python", "-c", "import torch; print(torch.version.cuda)").stdout.startswith(("12.", "13."))
        self.require_success(environment.run("python", "-c", GPU), self.gpu_answer if gpu else "Install PyTorch for CUDA 12 or 13")

    def test_tags_and_sizes(self):
        self.assertEqual([python_tag(wheel) for wheel in self.wheels], ["cp311-cp311", "cp312-abi3"])
        for wheel in self.wheels:
            glibc = [tuple(map(int, found)) for found in re.findall(r"manylinux_(\d+)_(\d+)_x86_64", wheel.name)]
            self.assertTrue(glibc and min(glibc) <= NEWEST_GLIBC, wheel.name)
            self.assertLess(wheel.stat().st_size, 100_000_000, wheel.name)
            with zipfile.ZipFile(wheel) as archive:
                names = archive.namelist()
            for program in PROGRAMS:
                self.assertTrue(any(name.endswith(f".data/scripts/{program}") for name in names), f"{wheel.name}: no {program}")
            for name in ("py.typed", "_core.pyi"):
                self.assertIn(f"headroom_vae/{name}", names)

    def test_files_need_only_the_system(self):
        """Codecs, libstdc++ and OpenMP are not among what a file needs. The GPU module shares PyTorch's CUDA libraries and libstdc++."""
        for wheel in self.wheels:
            most = max(tuple(map(int, found)) for found in re.findall(r"manylinux_(\d+)_(\d+)_x86_64", wheel.name))
            with tempfile.TemporaryDirectory() as folder:
                with zipfile.ZipFile(wheel) as archive:
                    archive.extractall(folder)
                files = [path for path in Path(folder).rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
                self.assertGreaterEqual(len(files), len(PROGRAMS) + 1)
                for file in files:
                    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "--dynamic", file).stdout))
                    allowed = SYSTEM_LIBRARIES | (LIBRARIES_OF_TORCH if "cuda" in file.name else set())
                    self.assertLessEqual(needed, allowed, file.name)
                    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", run("readelf", "--wide", "--version-info", file).stdout)
                    self.assertLessEqual(max(tuple(map(int, version)) for version in versions), most, file.name)
                    self.assertNotIn(str(ROOT).encode(), file.read_bytes(), f"{file.name} has a path of the build")
            checked = run(sys.executable, "-B", Path(__file__).with_name("check_binaries.py"), wheel)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_without_torch(self):
        environment = self.environment()
        self.require_programs(environment)
        self.require_success(environment.run("python", "-c", PREDICT), re.escape(str(environment.folder)))
        refused = environment.run("headroom-profile", "--device", "cuda", "--model", "sd15", "--sizes", "256x256", "-o", "profile.json")
        self.assertEqual(refused.returncode, 5, refused.stdout + refused.stderr)
        self.assertRegex(refused.stderr, r"comes from the Python package.*headroom_vae\.enable")

    def test_with_torch(self):
        beside = sysconfig.get_path("purelib")
        if not Path(beside, "diffusers").exists():
            self.skipTest(f"no diffusers in {beside}")
        self.require_decodes(self.environment(beside=beside))

    def test_other_pythons(self):
        found = [python for python in map(shutil.which, ("python3.12", "python3.13", "python3.14")) if python]
        pythons = [python for python in found if run(python, "-c", "import ensurepip").returncode == 0]
        if not pythons:
            self.skipTest("no Python 3.12 or later")
        for python in pythons:
            with self.subTest(python):
                environment = self.environment(python)
                self.require_programs(environment)
                self.require_success(environment.run("python", "-c", PREDICT), re.escape(str(environment.folder)))

    def test_another_torch(self):
        version = os.environ.get("HEADROOM_WHEEL_TORCH")
        if not version:
            self.skipTest("HEADROOM_WHEEL_TORCH names no version")
        environment = self.environment()
        environment.pip(f"torch=={version}", "diffusers", "accelerate")
        self.require_decodes(environment)

    def test_bare_systems(self):
        """Debian 12 has Python 3.11, Debian 13 has 3.13. Neither has a codec's library."""
        if os.geteuid() != 0 or shutil.which("debootstrap") is None:
            self.skipTest("no root privileges or no debootstrap")
        for release in ("bookworm", "trixie"):
            with self.subTest(release), tempfile.TemporaryDirectory() as temporary:
                root = Path(temporary, "root")
                booted = run("debootstrap", "--variant=minbase", "--include=python3-venv", release, root)
                if booted.returncode:
                    self.skipTest(f"no debootstrap here: {booted.stdout[-300:]}")
                shutil.copytree(WHEELS, root / "dist")
                (root / "predict.py").write_text(PREDICT)
                install = "/venv/bin/pip install --quiet --no-index --find-links /dist headroom-vae"
                programs = (f"/venv/bin/{program} --version" for program in PROGRAMS)
                for step in ("python3 -m venv /venv", install, "/venv/bin/python /predict.py", *programs):
                    self.require_success(run("chroot", root, "sh", "-c", step))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--wheels", type=Path, required=True)
    args, rest = parser.parse_known_args()
    WHEELS = args.wheels.resolve()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
