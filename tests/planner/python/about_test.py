"""``python -m headroom_vae`` without a command, and ``check``."""

from __future__ import annotations

import io
import unittest
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

import headroom_vae
import tiny
import torch
from headroom_vae import about
from headroom_vae.__main__ import main


def run(*words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    return code, out.getvalue(), err.getvalue()


class About(tiny.Case):
    def test_versions_and_devices_are_told(self):
        code, text, _ = run()
        self.assertEqual(code, 0)
        self.assertIn(f"headroom_vae {headroom_vae.__version__}, Python 3", text)
        self.assertIn(f"PyTorch {torch.__version__}, for CUDA {torch.version.cuda}; diffusers ", text)
        self.assertRegex(text, r"cpu: [0-9.]+ .iB for a decode, by Headroom's own code")
        self.assertIn("PyTorch finds no GPU" if not torch.cuda.is_available() else "cuda:0: ", text)

    def test_the_code_of_each_device_is_told(self):
        fakes = (
            mock.patch.object(about, "devices", lambda: [("xpu:0", "Arc"), ("cuda:0", "T4")]),
            mock.patch.object(about, "free_bytes", lambda device: 3 << 30),
            mock.patch("headroom_vae.device._require_cuda"),
            mock.patch("torch.cuda.is_available", lambda: True),
            mock.patch("torch.cuda.get_device_capability", lambda device: (7, 5)),
        )
        with fakes[0], fakes[1], fakes[2], fakes[3], fakes[4]:
            _, text, _ = run()
        self.assertIn("xpu:0: Arc, 3.00 GiB for a decode, by PyTorch's operations (Headroom's own code runs on the CPU and on NVIDIA GPUs)", text)
        self.assertIn("cuda:0: T4, 3.00 GiB for a decode, by PyTorch's operations (compute capability 7.5, ", text)

    def test_without_torch_it_only_plans(self):
        with mock.patch.dict("sys.modules", torch=None):
            self.assertIn(about.WITHOUT_TORCH, run()[1])

    def test_check_compares_with_the_untiled_picture(self):
        code, text, _ = run("check")
        self.assertEqual(code, 0)
        self.assertRegex(text, r"^a tiny VAE decoded on cpu in .*: peak [0-9.]+ MiB of 24.0 MiB, largest error [0-9.]+e-0[67]\n$")
        with mock.patch.object(about, "CHECKED_ERROR", 1e-9):
            code, _, message = run("check")
        self.assertEqual(code, 5)
        self.assertRegex(message, "largest error .*; expected at most 1e-09")

    def test_check_of_a_device_that_is_not_there(self):
        if torch.cuda.is_available():
            self.skipTest("there is a GPU")
        code, _, message = run("check", "--device", "cuda")
        self.assertEqual(code, 2)
        self.assertEqual(len(message.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
