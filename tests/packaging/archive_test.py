"""Tests the source archive: it has the sources of all that pip can build from it, and nothing that git does not track. One line of CMakeLists.txt
states the repository's address, and all files that name it take it from there. Needs scikit-build-core, nanobind and CMake.

  python archive_test.py
"""
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("cmake/", "decoder/", "profiler/", "planner/", "reports/figures/", "reports/render/", "reports/program/", "CMakeLists.txt", "LICENSE",
          "README.md", "Makefile", "CMakePresets.json", "packages.txt", "packages-wheel.txt", "pyproject.toml")
ADDRESS = "https://code.example/somebody/headroom"


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def backend(function, folder, sources):
    """Calls a function of the build backend, as pip does."""
    folder.mkdir()
    run(sys.executable, "-B", "-c", f"import scikit_build_core.build as b; b.{function}({str(folder)!r})", cwd=sources)


class Archive(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        backend("build_sdist", cls.folder / "dist", ROOT)
        (archive,) = (cls.folder / "dist").iterdir()
        with tarfile.open(archive) as opened:
            cls.names = {name.partition("/")[2] for name in opened.getnames()}
            opened.extractall(cls.folder, filter="data")
        cls.sources = cls.folder / archive.name.removesuffix(".tar.gz")
        cls.tracked = set(run("git", "ls-files", cwd=ROOT).split("\n"))

    def of_address(self, address):
        """A copy of the archive's sources whose CMakeLists.txt has the address."""
        sources = Path(self.enterContext(tempfile.TemporaryDirectory())) / "sources"
        shutil.copytree(self.sources, sources)
        project = sources / "CMakeLists.txt"
        edited, edits = re.subn(r'(HOMEPAGE_URL )"[^"]*"', rf'\1"{address}"', project.read_text())
        self.assertEqual(edits, 1)
        project.write_text(edited)
        return sources

    def configured(self, sources, programs):
        """The build folder, configured as pip configures it. CMake fails if a source is missing."""
        definitions = tomllib.loads((sources / "pyproject.toml").read_text())["tool"]["scikit-build"]["cmake"]["define"]
        definitions |= {"HEADROOM_WHEEL_PROGRAMS": programs, "Python_EXECUTABLE": sys.executable, "SKBUILD_SCRIPTS_DIR": "scripts"}
        run("cmake", "-G", "Ninja", "-S", sources, "-B", sources / "build", *(f"-D{name}={value}" for name, value in definitions.items()))
        steps = run("ninja", "-C", sources / "build", "-t", "commands", "python_package")
        self.assertIn("_core.pyi", steps)
        for program in ("plan", "decode", "report", "profile"):
            self.assertEqual(f"-o bin/headroom-{program} " in steps, programs == "ON", program)
        return sources / "build"

    def test_files_are_those_of_git(self):
        self.assertEqual(self.names - self.tracked - {"PKG-INFO"}, set())
        missing = {name for name in self.tracked if name.startswith(NEEDED)} - self.names
        self.assertEqual(missing, set())
        self.assertEqual({name for name in self.names if name.startswith((".", "tests/", "docs/", "gui/"))}, set())

    def test_pip_builds_the_module_alone_or_programs_as_well(self):
        build = self.configured(self.of_address(""), "OFF")
        self.assertNotIn("URL", (build / "package/headroom.pc").read_text())
        self.assertNotRegex((build / "CPackConfig.cmake").read_text(), 'HOMEPAGE_URL "."')

    def test_one_edit_gives_all_files_the_address(self):
        sources = self.of_address(ADDRESS)
        build = self.configured(sources, "ON")
        self.assertIn(f"URL: {ADDRESS}\n", (build / "package/headroom.pc").read_text())
        self.assertIn(f'HOMEPAGE_URL "{ADDRESS}"', (build / "CPackConfig.cmake").read_text())
        backend("prepare_metadata_for_build_wheel", sources / "metadata", sources)
        (metadata,) = (sources / "metadata").glob("*/METADATA")
        self.assertIn(f"Project-URL: Repository, {ADDRESS}\n", metadata.read_text())

    def test_make_archive_gives_the_pack_for_comfyui_the_address(self):
        for address in ("", ADDRESS):
            sources = self.of_address(address)
            (sources / ".ci").mkdir()
            shutil.copy(ROOT / ".ci/build_archive.py", sources / ".ci")
            run(sys.executable, "-B", sources / ".ci/build_archive.py", "--out", sources / "dist")
            archive, pack = sorted((sources / "dist").iterdir(), reverse=True)
            self.assertEqual(archive.name, f"{self.sources.name}.tar.gz")
            with zipfile.ZipFile(pack) as opened:
                self.assertEqual(len(opened.namelist()), len([name for name in self.tracked if name.startswith("planner/python/comfyui/")]))
                project = tomllib.loads(opened.read("pyproject.toml").decode())
            self.assertEqual(project["project"].get("urls", {}).get("Repository", ""), address)
            icon = project["tool"]["comfy"].get("Icon", "")
            self.assertTrue(icon.startswith(address) and bool(icon) == bool(address), icon)
            self.assertTrue(not icon or (ROOT / icon.partition("/raw/HEAD/")[2]).exists(), icon)

    def test_no_other_file_states_the_address(self):
        (address,) = re.findall(r'^ +HOMEPAGE_URL "(.*)"\)$', (ROOT / "CMakeLists.txt").read_text(), re.M)
        self.assertRegex(address, r"^(https://\S+[^/])?$")
        stated = re.compile(r"\w+\.(?:com|org|net|io)/[\w.-]+/headroom\b|\bOWNER/|" + (re.escape(address) if address else "$."))
        for name in sorted(self.tracked - {"", "CMakeLists.txt", "tests/packaging/archive_test.py"}):
            file = ROOT / name
            if file.is_file() and not file.is_symlink():
                self.assertNotRegex(file.read_text(errors="replace"), stated, name)


if __name__ == "__main__":
    unittest.main()
