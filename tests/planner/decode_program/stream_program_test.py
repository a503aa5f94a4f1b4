"""headroom-decode stream as people run it: blocks through a pipe, frames out of a pipe.

  python stream_program_test.py --bin build/bin
"""
import argparse
import io
import os
import pty
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKLWan

BIN = Path()
FRAME = b"FRAME\n"


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def parts(y4m):
    """The header, and the bytes of all frames."""
    header, _, frames = y4m.partition(b"\n")
    return header, frames


class Streams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        torch.manual_seed(0)
        vae = AutoencoderKLWan(base_dim=16, z_dim=4, dim_mult=[1, 1, 2, 2], num_res_blocks=1, temperal_downsample=[False, True, True],
                               latents_mean=[0.1, -0.2, 0.3, 0.4], latents_std=[1.5, 2.0, 0.5, 1.0])
        vae.save_pretrained(cls.folder / "wan")
        cls.latents = np.random.default_rng(0).standard_normal((1, 4, 7, 4, 6)).astype(np.float32)
        np.save(cls.folder / "whole.npy", cls.latents)
        cls.bytes_of_frame = len(FRAME) + 3 * 32 * 48

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def line(self, *words, limit="256MiB", model="wan"):
        found = self.folder / model if (self.folder / model).exists() else model
        words = [BIN / "headroom-decode", "stream", "--model", found, "--limit", limit, "--threads", 2, *words]
        return [str(word) for word in words]

    def stream(self, blocks, *words, **options):
        return subprocess.run(self.line(*words, **options), input=b"".join(blocks), capture_output=True, check=False)

    def refuse(self, pattern, blocks, *words, code=2, **options):
        ended = self.stream(blocks, *words, **options)
        said = ended.stderr.decode()
        self.assertEqual(ended.returncode, code, said)
        self.assertRegex(said, pattern)
        return ended

    def refuse_at_once(self, pattern, blocks, *words, **options):
        ended = self.refuse(pattern, blocks, *words, **options)
        self.assertEqual((ended.stdout, ended.stderr.count(b"\n")), (b"", 1), ended.stderr)

    def whole(self, *words):
        output = self.folder / "whole.y4m"
        line = [BIN / "headroom-decode", "--model", self.folder / "wan", "--limit", "256MiB", "--threads", 2, "--latent-scale", "model",
                "--latent", self.folder / "whole.npy", "-o", output, *words]
        subprocess.run([str(word) for word in line], capture_output=True, check=True)
        return output.read_bytes()

    def assert_same_clip(self, ours, theirs):
        """Plans differ, so a pixel may be rounded the other way."""
        (header, frames), (expected_header, expected) = parts(ours), parts(theirs)
        self.assertEqual((header, len(frames)), (expected_header, len(expected)))
        difference = np.frombuffer(frames, np.uint8).astype(int) - np.frombuffer(expected, np.uint8)
        self.assertLessEqual(np.abs(difference).max(), 1)
        self.assertLess(np.count_nonzero(difference), len(frames) / 1000)

    def test_blocks_of_any_size_and_dtype_make_the_clip(self):
        whole = self.whole("--fps", "30000/1001")
        for cuts, dtype in (((3, 4), "<f4"), ((2, 3, 5, 6), "<f8"), ((), "<f4"), ((1, 2, 3, 4, 5, 6), "<f4")):
            with self.subTest(cuts=cuts):
                blocks = [npy(block.astype(dtype)) for block in np.split(self.latents, cuts, axis=2)]
                ended = self.stream(blocks, "--fps", "30000/1001", "--block", 7)
                self.assertEqual(ended.returncode, 0, ended.stderr)
                self.assert_same_clip(ended.stdout, whole)
                self.assertRegex(ended.stderr.decode(), r"25 frames in .*, state .*, peak .* \(predicted .*, limit 256.0 MiB\)")

    def test_frames_come_before_the_next_block_is_there(self):
        with subprocess.Popen(self.line(), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            made = b""
            for number, block in enumerate(np.split(self.latents, 7, axis=2)):
                running.stdin.write(npy(block))
                running.stdin.flush()
                if number == 0:
                    made += running.stdout.readline()
                made += running.stdout.read(self.bytes_of_frame * (1 if number == 0 else 4))
            running.stdin.close()
            self.assertEqual(running.stdout.read(), b"")
            self.assertEqual(running.wait(), 0)
        self.assert_same_clip(made, self.whole())

    def test_scale_of_the_latents(self):
        own = self.latents * np.float32([1.5, 2.0, 0.5, 1.0]).reshape(4, 1, 1, 1) + np.float32([0.1, -0.2, 0.3, 0.4]).reshape(4, 1, 1, 1)
        ended = self.stream([npy(own)], "--latent-scale", "none")
        self.assert_same_clip(ended.stdout, self.whole())

    def test_what_is_refused_before_the_first_frame(self):
        block = self.latents[:, :, :2]
        self.refuse_at_once("standard input: expected blocks as numpy.save", [])
        self.refuse_at_once("block 1: expected a .npy file", [b"PK\x03\x04 and more bytes"])
        self.refuse_at_once("block 1: header: the file ends inside it", [npy(block)[:40]])
        self.refuse_at_once("block 1: dtype: expected '<f2', '<f4' or '<f8', found '<i4'", [npy(block.astype("<i4"))])
        self.refuse_at_once("block 1: shape: expected N×C×T×H×W", [npy(block[0])])
        self.refuse_at_once("block 1: shape: expected 1 clip, found 2", [npy(np.concatenate([block, block]))])
        self.refuse_at_once("5 channels", [npy(np.zeros((1, 5, 1, 4, 6), np.float32))])
        self.refuse_at_once("block 1: expected 768 bytes after the header, found 668", [npy(block)[:-100]])
        self.refuse_at_once("block 1: element 3 is not finite", [npy(np.where(np.arange(block.size).reshape(block.shape) == 3, np.nan, block).astype(np.float32))])
        self.refuse_at_once("--limit: expected", [npy(block)], limit="lots")
        self.refuse_at_once("limit of", [npy(block)], limit="2MiB", code=3)
        self.refuse_at_once("cannot run block by block", [npy(block)], "--random-weights", 0, model="sdxl")

    def test_what_is_refused_later(self):
        block = npy(self.latents[:, :, :2])
        ended = self.refuse("block 2: latent frames: expected at most 2, as in the first block, found 3; or give --block 3", [block, npy(self.latents[:, :, 2:5])])
        self.assertEqual(len(parts(ended.stdout)[1]), 5 * self.bytes_of_frame)  # what was ready has been written
        self.refuse("block 2: expected the size of the first block", [block, npy(self.latents[:, :, 2:4, :2])])
        self.refuse("block 3: expected a .npy file", [block, block, b"more"])

    def test_a_terminal_and_a_reader_that_left(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        ended = subprocess.run(self.line(), stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, check=False)
        os.close(theirs)
        self.assertEqual(ended.returncode, 2)
        self.assertIn(b"a terminal shows no clip", ended.stderr)
        with subprocess.Popen(self.line(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            running.stdout.close()
            _, said = running.communicate(npy(self.latents))
            self.assertEqual(running.returncode, 5, said)
            self.assertIn(b"cannot be written", said)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    options, rest = parser.parse_known_args()
    BIN = options.bin
    unittest.main(argv=[sys.argv[0], *rest])
