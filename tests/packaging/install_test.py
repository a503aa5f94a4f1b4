"""Tests `make install`. Programs start from any folder and contain no paths of the build. Man pages and completions are in
place. C and C++ projects find the library.

  python install_test.py --build build
"""
import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "planner/decode_program"))
import tiny_decode  # noqa: E402

BUILD = Path()


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        first = cls.folder / "first"
        done = run("cmake", "--install", BUILD, "--prefix", first)
        assert done.returncode == 0, done.stderr
        cls.prefix = cls.folder / "moved elsewhere"  # the whole installation is moved
        first.rename(cls.prefix)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_programs_start(self):
        for program in sorted((self.prefix / "bin").iterdir()):
            if program.name == "headroom-profile":
                continue  # needs LibTorch, which the installation does not contain
            shown = run(program, "--version", cwd="/", env={"PATH": "/usr/bin:/bin", "QT_QPA_PLATFORM": "offscreen"})
            self.assertEqual(shown.returncode, 0, f"{program.name}: {shown.stderr}")
        plan = run(self.prefix / "bin/headroom-plan", "--model", "sdxl", "--size", "512x512", "--limit", "512MiB", "-o", "-")
        self.assertEqual(json.loads(plan.stdout)["schema"], "headroom.plan")

    def test_nothing_else_is_installed(self):
        names = {str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*") if not path.is_dir()}
        programs = "(plan|decode|profile|report|gui)"
        allowed = (rf"bin/headroom-{programs}", r"lib/headroom/headroom-[\w-]+\.so", r"lib/libheadroom\.so(\.0(\.1\.0)?)?", r"lib/pkgconfig/headroom\.pc",
                   r"lib/cmake/headroom/headroom\w+(-\w+)?\.cmake", r"include/headroom\.h", rf"share/man/man1/headroom-{programs}(-\w+)?\.1",
                   rf"share/bash-completion/completions/headroom-{programs}", rf"share/zsh/site-functions/_headroom-{programs}",
                   r"share/applications/headroom\.desktop", r"share/icons/hicolor/scalable/apps/headroom\.svg",
                   r"share/doc/headroom(-tools)?/LICENSE")
        self.assertEqual({name for name in names if not any(re.fullmatch(pattern, name) for pattern in allowed)}, set())
        self.assertLessEqual({"bin/headroom-plan", "bin/headroom-decode", "lib/libheadroom.so", "include/headroom.h"}, names)

    def test_no_path_of_the_build_is_kept(self):
        binaries = [path for path in self.prefix.rglob("*")
                    if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF"]
        self.assertGreaterEqual(len(binaries), 3)
        for binary in binaries:
            dynamic = run("readelf", "-d", binary).stdout
            self.assertNotIn("RUNPATH", dynamic, binary.name)
            self.assertNotIn("RPATH", dynamic, binary.name)
        checked = run(sys.executable, "-B", HERE / "check_binaries.py", "--no-hardening", self.prefix)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        for text in self.prefix.rglob("*.cmake"):
            self.assertNotIn(str(BUILD), text.read_text())

    def test_pages_and_completions_are_in_place(self):
        for program in (self.prefix / "bin").iterdir():
            self.assertTrue((self.prefix / f"share/man/man1/{program.name}.1").exists(), program.name)
            self.assertTrue((self.prefix / f"share/bash-completion/completions/{program.name}").exists(), program.name)
            self.assertTrue((self.prefix / f"share/zsh/site-functions/_{program.name}").exists(), program.name)

    def test_projects_in_c_and_cpp_find_it(self):
        project = self.folder / "consumer"
        shutil.copytree(HERE / "consumer", project)
        made = run("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}", "-G", "Ninja")
        self.assertEqual(made.returncode, 0, made.stderr)
        built = run("cmake", "--build", project / "build")
        self.assertEqual(built.returncode, 0, built.stdout)
        limit = 300 << 20
        words = ["sdxl", "512", "512", str(limit)]
        in_c = run(project / "build/ask_in_c", *words, self.folder / "c.json")
        self.assertEqual(in_c.returncode, 0, in_c.stdout + in_c.stderr)
        status, untiled, smallest, peak, seconds, passes = in_c.stdout.split()
        self.assertTrue(int(smallest) < int(peak) <= limit < int(untiled))
        planned = run(self.prefix / "bin/headroom-plan", "--model", "sdxl", "--size", "512x512", "--limit", str(limit), "-o",
                      self.folder / "program.json")
        self.assertEqual(planned.returncode, 0, planned.stderr)
        by_program, by_library = (json.loads((self.folder / name).read_text()) for name in ("program.json", "c.json"))
        self.assertEqual(by_library, by_program)
        self.assertEqual((int(peak), int(passes)), (by_program["predicted"]["peak_bytes"], len(by_program["passes"])))
        self.assertAlmostEqual(float(seconds), by_program["predicted"]["seconds"], places=6)
        in_cpp = run(project / "build/ask_in_cpp", *words)
        self.assertEqual(in_cpp.stdout, f"0.1.0 {peak}\n")
        refused = run(project / "build/ask_in_c", "sdxl", "512", "512", 1 << 20)
        self.assertEqual(refused.returncode, 3)
        self.assertEqual(refused.stdout.splitlines()[0].split()[:3], ["3", untiled, smallest])
        for model, said in (("nothing", "nothing"), ("{", "model: "), ('{"_class_name": "UNet"}', "UNet")):
            wrong = run(project / "build/ask_in_c", model, "512", "512", 1 << 20)
            self.assertEqual(wrong.returncode, 2)
            self.assertIn(said, wrong.stdout)
        config = json.dumps({"_class_name": "AutoencoderKL", "latent_channels": 4, "block_out_channels": [16, 32],
                             "norm_num_groups": 8, "layers_per_block": 1, "down_block_types": ["DownEncoderBlock2D"] * 2,
                             "up_block_types": ["UpDecoderBlock2D"] * 2})
        of_text = run(project / "build/ask_in_c", config, "64", "64", 64 << 20)
        self.assertEqual(of_text.returncode, 0, of_text.stdout)

    def test_the_library_shows_nothing_else(self):
        library = self.prefix / "lib/libheadroom.so"
        names = [line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", library).stdout.splitlines()]
        functions = ("decode", "encode", "free", "message", "plan", "predict", "shapes", "version")
        self.assertEqual(sorted(names), ["HEADROOM_0", *(f"headroom_{name}" for name in functions)])

    def test_pkg_config_finds_it_and_a_program_in_c_decodes(self):
        program, picture, latent = (self.folder / name for name in ("decode", "picture.ppm", "z.npy"))
        found = run("pkg-config", "--cflags", "--libs", "headroom", env={**os.environ, "PKG_CONFIG_PATH": str(self.prefix / "lib/pkgconfig")})
        self.assertEqual(found.returncode, 0, found.stderr)
        flags = shlex.split(found.stdout)
        built = run("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", HERE / "consumer/decode_in_c.c", *flags, f"-Wl,-rpath,{self.prefix}/lib", "-o", program)
        self.assertEqual(built.returncode, 0, built.stderr)
        latent.write_bytes(tiny_decode.normal((1, 4, 8, 12), 1.0))
        model = HERE.parents[1] / "tests/data/demo_model"
        made = run(program, model, 96, 64, 24 << 20, latent, picture)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertRegex(made.stdout, r"^\d+ of 25165824 bytes, \d+\.\d+ s\n$")
        self.assertIn("100 % of", made.stderr)
        self.assertEqual(len(picture.read_bytes()), len(b"P6 96 64 255\n") + 3 * 96 * 64)
        self.assertGreater(len(set(picture.read_bytes())), 50)
        refused = run(program, model, 96, 64, 1 << 20, latent, picture)
        self.assertEqual((refused.returncode, len(refused.stderr.splitlines())), (3, 1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    arguments, rest = parser.parse_known_args()
    BUILD = arguments.build.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
