"""Runs diffusers' own VAE tests with every decode by Headroom. HEADROOM_DIFFUSERS_TESTS must name a checkout of the installed
version of diffusers. Needs pytest, parameterized and requests_mock."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

import headroom_vae

FILES = ("kl", "dc", "wan")
NEED_WEIGHTS_FROM_A_HUB = ("test_from_pretrained_hub", "test_output_pretrained")


class DiffusersSuite(unittest.TestCase):
    def test_autoencoders(self):
        checkout = os.environ.get("HEADROOM_DIFFUSERS_TESTS")
        if not checkout:
            self.skipTest("HEADROOM_DIFFUSERS_TESTS names no checkout of diffusers")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "every_vae", "-p", "no:cacheprovider"]
        command += ["-k", " and ".join(f"not {name}" for name in NEED_WEIGHTS_FROM_A_HUB)]
        command += [f"tests/models/autoencoders/test_models_autoencoder_{name}.py" for name in FILES]
        here, package = Path(__file__).parent, Path(headroom_vae.__file__).parents[1]
        paths = os.pathsep.join([str(here), str(package), *sys.path])
        ended = subprocess.run(
            command, cwd=checkout, env={**os.environ, "PYTHONPATH": paths, "HF_HUB_OFFLINE": "1"}, capture_output=True, text=True
        )
        print(*ended.stdout.splitlines()[-3:], sep="\n")
        self.assertEqual(ended.returncode, 0, ended.stdout[-3000:])
        decodes = re.search(r"decodes: (\d+) by Headroom", ended.stdout)
        self.assertGreater(int(decodes[1]), 30)


if __name__ == "__main__":
    unittest.main()
