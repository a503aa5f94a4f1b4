#!/usr/bin/env python3
"""A build pins all downloads by hash: wheels, actions and images.

    pins_test.py
"""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def wheels(file):
    """Maps each package in a requirements file to its version and the hashes of its wheels."""
    text = (ROOT / file).read_text().replace("\\\n", " ")
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, *hashes = line.split()
            found[name] = hashes
    return found


class Pins(unittest.TestCase):
    def test_wheels(self):
        for file in ("requirements-build.txt", "requirements-demo.txt"):
            found = wheels(file)
            self.assertGreater(len(found), 30, file)
            for name, hashes in found.items():
                self.assertRegex(name, r"^[A-Za-z0-9._-]+==[A-Za-z0-9.]+$", file)
                self.assertTrue(hashes, f"{file}: {name} has no hash")
                for each in hashes:
                    self.assertRegex(each, r"^--hash=sha256:[0-9a-f]{64}$", name)

    def test_both_files_name_the_same_wheels(self):
        whole = {name.lower().replace("_", "-"): hashes for name, hashes in wheels("requirements-build.txt").items()}
        for name, hashes in wheels("requirements-demo.txt").items():
            self.assertEqual(whole.get(name.lower().replace("_", "-")), hashes, name)
        top = [line for line in (ROOT / "requirements-build.in").read_text().splitlines() if line and not line.startswith("#")]
        for line in top:
            self.assertIn(line.lower().replace("_", "-"), whole, "run make lock")

    def test_no_file_of_the_name_that_comfyui_installs(self):
        # ComfyUI's Manager installs requirements.txt of every clone in custom_nodes. Ours pins torch, and would replace the user's.
        self.assertFalse((ROOT / "requirements.txt").exists())

    def test_pip_asks_for_hashes(self):
        for line in (ROOT / "Makefile").read_text().splitlines():
            if "pip install" in line:
                self.assertIn("--require-hashes", line)

    def test_actions_and_images(self):
        uses = []
        for file in [*(ROOT / ".github/workflows").glob("*.yml"), ROOT / "Dockerfile"]:
            for line in file.read_text().splitlines():
                action, image = re.match(r"\s*(?:- )?uses:\s*(\S+)", line), re.match(r"\s*container:\s*(\S+)|FROM (\S+)", line)
                if action:
                    self.assertRegex(action[1], r"@[0-9a-f]{40}$", file.name)
                if image:
                    self.assertRegex(image[1] or image[2], r"@sha256:[0-9a-f]{64}$", file.name)
                uses += [action or image] if action or image else []
        self.assertGreaterEqual(len(uses), 5)


if __name__ == "__main__":
    unittest.main()
