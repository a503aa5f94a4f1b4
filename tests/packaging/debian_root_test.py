"""Installs the Debian packages in a minimal root from debootstrap, with this machine's Debian mirror. Needs root privileges.
Skips itself if the root cannot be created.

  python debian_root_test.py --build build
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

BUILD = Path()


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)


def mirror():
    """Returns the address and release of apt's mirror of Debian's main archive, or None."""
    listed = [*Path("/etc/apt").glob("sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]
    pairs = []
    for text in (path.read_text() for path in listed if path.is_file()):
        pairs += re.findall(r"^deb (?:\[[^]]*\] )?(\S+) (\w+) main", text, re.M)
        pairs += re.findall(r"^URIs: (\S+)[\s\S]*?^Suites: (\w+)", text, re.M)
    for address, release in pairs:
        if address.rstrip("/").endswith("/debian"):
            return address, release
    return None


class DebianRoot(unittest.TestCase):
    def test_tools_in_a_bare_root(self):
        if os.geteuid() != 0:
            self.skipTest("no root: only root makes one")
        if shutil.which("debootstrap") is None or mirror() is None:
            self.skipTest("no debootstrap, or no mirror of Debian")
        address, release = mirror()
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            made = run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder / "debs")
            self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
            check = Path(__file__).resolve().parent / "check_binaries.py"
            checked = run(sys.executable, "-B", check, "--no-hardening", *(folder / "debs").glob("*.deb"))
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            root = folder / "root"
            began = time.monotonic()
            booted = run("debootstrap", "--variant=minbase", release, root, address)
            if booted.returncode:
                self.skipTest(f"no debootstrap here: {booted.stdout[-300:]}")
            print(f"debootstrap: {time.monotonic() - began:.0f} s")
            for configuration in Path("/etc/apt/apt.conf.d").glob("*"):  # settings to reach the mirror, such as a proxy
                shutil.copy(configuration, root / "etc/apt/apt.conf.d" / configuration.name)
            for package in (folder / "debs").glob("*.deb"):
                shutil.copy(package, root / "tmp")
                print(f"{package.name}: {package.stat().st_size / (1 << 20):.1f} MiB")
            if run("mount", "-t", "proc", "proc", root / "proc").returncode:
                self.skipTest("no mounts are allowed here")
            try:
                fetched = self.inside(root, "sh", "-c", "apt-get update -q && apt-get install -y -q --no-install-recommends "
                                      "--download-only /tmp/headroom*.deb")
                if "Unable to fetch" in fetched.stderr or "Failed to fetch" in fetched.stderr:
                    self.skipTest("no mirror of Debian reaches into the root")
                self.check_tools(root)
                self.check_decoders(root)
            finally:
                run("umount", root / "proc")

    def inside(self, root, *words):
        return run("chroot", root, "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", "QT_QPA_PLATFORM=offscreen", *words)

    def check_tools(self, root):
        began = time.monotonic()
        installed = self.inside(root, "sh", "-c", "apt-get install -y -q --no-install-recommends /tmp/headroom-tools_*.deb")
        self.assertEqual(installed.returncode, 0, installed.stdout[-2000:] + installed.stderr[-2000:])
        seconds = time.monotonic() - began
        began = time.monotonic()
        frontier = self.inside(root, "headroom-plan", "frontier", "--model", "sdxl", "--size", "1024x1024", "-o", "/tmp/f.json")
        self.assertEqual(frontier.returncode, 0, frontier.stderr)
        print(f"installed, fetched before, in {seconds:.1f} s; first frontier in {time.monotonic() - began:.2f} s after that")
        self.assertIn("MiB", frontier.stdout)
        report = self.inside(root, "headroom-report", "/tmp/f.json", "-o", "/tmp/f.html")
        self.assertEqual(report.returncode, 0, report.stderr)
        window = self.inside(root, "headroom-gui", "/tmp/f.json", "--screenshot", "/tmp/pages")
        self.assertEqual(window.returncode, 0, window.stderr)
        self.assertTrue(list((root / "tmp/pages").glob("*.png")))

    def check_decoders(self, root):
        installed = self.inside(root, "sh", "-c", "apt-get install -y -q --no-install-recommends /tmp/headroom_*.deb")
        self.assertEqual(installed.returncode, 0, installed.stdout[-2000:] + installed.stderr[-2000:])
        latent = Path(__file__).resolve().parent.parent / "data/latents/photo_512x512.safetensors"
        model = latent.parent.parent / "demo_model"
        shutil.copy(latent, root / "tmp/latent.safetensors")
        shutil.copytree(model, root / "tmp/vae")
        decoded = self.inside(root, "headroom-decode", "--limit", "auto", "--model", "/tmp/vae", "--latent", "/tmp/latent.safetensors",
                              "-o", "/tmp/picture.png")
        self.assertEqual(decoded.returncode, 0, decoded.stderr)
        self.assertTrue((root / "tmp/picture.png").read_bytes().startswith(b"\x89PNG"))
        removed = self.inside(root, "apt-get", "purge", "-y", "-q", "headroom", "headroom-tools")
        self.assertEqual(removed.returncode, 0, removed.stderr)
        # Skips /proc, whose entries change during the search.
        left = [path for folder in ("etc", "opt", "root", "usr") for path in (root / folder).rglob("*headroom*")]
        self.assertEqual(left, [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    arguments, rest = parser.parse_known_args()
    BUILD = arguments.build.resolve()
    unittest.main(argv=[sys.argv[0], "-v", *rest])
