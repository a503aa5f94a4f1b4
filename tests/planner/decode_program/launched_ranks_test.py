"""Decodes by ranks that torchrun, or nothing but its variables, starts: the programs as people run them.

  python launched_ranks_test.py --bin build/bin
"""
import argparse
import json
import os
import re
import resource
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np

BIN = Path()

KL = {"_class_name": "AutoencoderKL", "in_channels": 3, "out_channels": 3, "latent_channels": 4,
      "block_out_channels": [16, 32, 32], "layers_per_block": 1, "norm_num_groups": 8, "scaling_factor": 0.5,
      "mid_block_add_attention": True,
      "down_block_types": ["DownEncoderBlock2D"] * 3, "up_block_types": ["UpDecoderBlock2D"] * 3}
WAN = {"_class_name": "AutoencoderKLWan", "base_dim": 16, "z_dim": 4, "dim_mult": [1, 2, 2], "num_res_blocks": 1,
       "attn_scales": [], "temperal_downsample": [True, False], "latents_mean": [0.0] * 4, "latents_std": [1.0] * 4}
DC = {"_class_name": "AutoencoderDC", "in_channels": 3, "latent_channels": 4, "attention_head_dim": 8,
      "decoder_block_types": ["ResBlock", "ResBlock", "EfficientViTBlock"], "decoder_block_out_channels": [16, 32, 32],
      "decoder_layers_per_block": [1, 2, 2], "decoder_qkv_multiscales": [[], [], [5]], "decoder_norm_types": "rms_norm",
      "decoder_act_fns": "silu", "upsample_block_type": "interpolate", "scaling_factor": 0.5}
# Its first block attends over all positions of all frames before: most of its time.
HUNYUAN = {"_class_name": "AutoencoderKLHunyuanVideo15", "latent_channels": 4, "block_out_channels": [8, 16],
           "layers_per_block": 1, "spatial_compression_ratio": 2, "temporal_compression_ratio": 2}
SEED = ["--random-weights", "3"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Decode:
    """A folder with a model, a latent and plans for some numbers of ranks."""

    def __init__(self, config, shape, scale=4, limit="64MiB", seed=0):
        self.folder = Path(tempfile.mkdtemp())
        (self.folder / "config.json").write_text(json.dumps(config))
        self.latent = self.folder / "latent.npy"
        np.save(self.latent, np.random.default_rng(seed).standard_normal(shape).astype(np.float32))
        self.scale, self.shape, self.limit = scale, shape, limit

    def plan(self, ranks, limit=None, more=()):
        file = self.folder / f"plan-{ranks}.json"
        words = ["--model", self.folder, "--size", f"{self.shape[-1] * self.scale}x{self.shape[-2] * self.scale}",
                 "--batch", self.shape[0], "--ranks", ranks, "--limit", limit or self.limit, "-o", file]
        if len(self.shape) == 5:
            words += ["--frames", (self.shape[2] - 1) * 2 + 1]
        subprocess.run([BIN / "headroom-plan", *map(str, words), *more], check=True, capture_output=True)
        return file

    def words(self, output, plan, more=()):
        return [str(word) for word in [BIN / "headroom-decode", "--model", self.folder, *SEED, "--latent", self.latent,
                                       "--plan", plan, "-o", self.folder / output, "--threads", 1, *more]]

    def alone(self):
        words = [BIN / "headroom-decode", "--model", self.folder, *SEED, "--latent", self.latent, "--limit",
                 self.limit, "-o", self.folder / "alone.npy", "--threads", "1"]
        subprocess.run(list(map(str, words)), check=True, capture_output=True)
        return np.load(self.folder / "alone.npy")

    def start(self, rank, ranks, port, words, address="127.0.0.1"):
        """One rank by the variables that torchrun sets, on its own."""
        variables = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                         MASTER_ADDR=address, MASTER_PORT=str(port))
        return subprocess.Popen(words, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, ranks, words_of):
        """All of them: exit codes and the last line of each one's errors."""
        port = free_port()
        started = [self.start(rank, ranks, port, words_of(rank)) for rank in range(ranks)]
        return finish(started)


def relative_error(picture, expected):
    return abs(picture - expected).max() / abs(expected).max()


def finish(started):
    """Exit codes, and lines of errors without the first one, by which rank 0 says whom ranks trust."""
    ended = [process.communicate(timeout=120) for process in started]
    lines = [[line for line in err.splitlines() if line.startswith("headroom-decode:") and "ranks meet " not in line]
             for _, err in ended]
    return [process.returncode for process in started], lines


class Whole(unittest.TestCase):
    def launch(self, ranks, words):
        launched = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--no-python", "--nproc-per-node",
                                   str(ranks), "--master-port", str(free_port()), *words],
                                  capture_output=True, text=True)
        self.assertEqual(launched.returncode, 0, launched.stderr)

    def check(self, decode):
        expected = decode.alone()
        for ranks in (1, 2, 3, 4):
            with self.subTest(ranks=ranks):
                plan = decode.plan(ranks)
                stats = decode.folder / "stats.json"
                words = decode.words("out.npy", plan, ["--stats", stats])
                codes, lines = decode.run(ranks, lambda rank: words)
                self.assertEqual(codes, [0] * ranks, lines)
                picture = np.load(decode.folder / "out.npy")
                self.assertLessEqual(relative_error(picture, expected), 1e-5)
                if ranks == 3:  # once more, by the launcher itself
                    self.launch(ranks, decode.words("again.npy", plan))
                    self.assertTrue(np.array_equal(picture, np.load(decode.folder / "again.npy")))
                measured = json.loads(stats.read_text())["ranks"]
                self.assertEqual(len(measured), ranks)
                for rank in measured:
                    self.assertEqual(rank["sent_bytes"], rank["predicted_sent_bytes"])
                    self.assertLessEqual(rank["pool_peak_bytes"], rank["predicted_peak_bytes"])

    def test_picture(self):
        self.check(Decode(KL, (1, 4, 13, 10)))

    def test_clip(self):
        self.check(Decode(WAN, (1, 4, 3, 7, 6)))

    def test_one_program_after_another_in_one_launch(self):
        decode = Decode(KL, (1, 4, 13, 10))
        first, second = (shlex.join(decode.words(name, decode.plan(2))) for name in ("first.npy", "second.npy"))
        self.launch(2, ["bash", "-c", f"{first} && {second}"])
        self.assertTrue(np.array_equal(*(np.load(decode.folder / name) for name in ("first.npy", "second.npy"))))

    def test_linear_attention(self):
        self.check(Decode(DC, (1, 4, 11, 9)))

    def test_mostly_attention(self):
        self.check(Decode(HUNYUAN, (1, 4, 5, 21, 20), scale=2))

    def test_a_link_that_is_not_as_planned(self):
        """A plan is right whatever the link is like: only its seconds are not."""
        decode = Decode(KL, (1, 4, 13, 10))
        expected = decode.alone()
        for link in ("1GB,20", "1,0", "1e18,0"):
            with self.subTest(link=link):
                plan = decode.plan(2, more=["--link", link])
                codes, lines = decode.run(2, lambda rank: decode.words("out.npy", plan, ["--rank-timeout", "10"]))
                self.assertEqual(codes, [0, 0], lines)
                self.assertLessEqual(relative_error(np.load(decode.folder / "out.npy"), expected), 1e-5)


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.decode = Decode(KL, (1, 4, 48, 48))
        cls.plan = cls.decode.plan(3)

    def check_ended(self, codes, lines, failed, code, part, output="out.npy"):
        """All ranks ended with an error of one line, `failed` with its own; and there is no file."""
        self.assertEqual(codes[failed], code, lines)
        for rank, said in enumerate(lines):
            self.assertNotEqual(codes[rank], 0)
            self.assertEqual(len(said), 1, said)
            self.assertIn(part, said[0])
        self.assertEqual([file.name for file in self.decode.folder.iterdir() if output.split(".")[0] in file.name], [])

    def test_another_plan(self):
        other = self.decode.plan(3, "32MiB")
        moved = other.rename(self.decode.folder / "other.json")
        self.plan = self.decode.plan(3)
        self.check_ended(*self.run_with(1, "--plan", str(moved)), 1, 5, "plan")

    def run_with(self, odd, option, value):
        """Three ranks, of which one was given another value of an option."""
        def words(rank):
            said = self.decode.words("out.npy", self.plan)
            if rank == odd:
                said[said.index(option) + 1] = value
            return said
        return self.decode.run(3, words)

    def test_a_rank_with_bad_input(self):
        self.check_ended(*self.run_with(1, "--latent", "missing.npy"), 1, 2, "missing.npy")

    def test_a_starved_rank(self):
        """It may take no more addresses from some moment on."""
        port = free_port()
        words = self.decode.words("starved.npy", self.plan, ["--rank-timeout", "5"])
        started = [self.decode.start(rank, 3, port, words) for rank in range(3)]
        time.sleep(0.7)
        resource.prlimit(started[1].pid, resource.RLIMIT_AS, (1 << 20, 1 << 20))
        codes, lines = finish(started)
        if 0 in codes[:2]:
            return  # it had all that it needed, or rank 0 had all of its rows
        self.assertTrue(all(codes), lines)
        self.assertFalse((self.decode.folder / "starved.npy").exists())

    def test_killed_in_every_phase(self):
        # Before they meet, while they agree, and while they decode, on a machine of 2 processors.
        for phase, after in enumerate((0.3, 0.9, 1.5)):
            with self.subTest(seconds=after):
                port = free_port()
                more = ["--rank-timeout", "5"]
                started = [self.decode.start(rank, 3, port, self.decode.words(f"k{phase}.npy", self.plan, more))
                           for rank in range(3)]
                time.sleep(after)
                started[1 + phase % 2].send_signal(signal.SIGKILL)
                codes, lines = finish(started)
                if codes[1 + phase % 2] == 0:
                    continue  # it was faster
                for rank in range(3):
                    if rank != 1 + phase % 2 and codes[rank] != 0:
                        self.assertEqual(codes[rank], 5, lines)
                        # Rank 0 may have said before how the latent is scaled.
                        faults = [line for line in lines[rank] if "latent: scaled" not in line]
                        self.assertEqual(len(faults), 1, lines)
                if codes[0] != 0:
                    self.assertFalse((self.decode.folder / f"k{phase}.npy").exists())

    def test_a_plan_for_other_ranks(self):
        codes, lines = self.decode.run(2, lambda rank: self.decode.words("out.npy", self.plan))
        self.check_ended(codes, lines, 0, 2, "expected a plan for the 2 ranks that torchrun started, found one for 3")

    def test_alone(self):
        ended = subprocess.run(self.decode.words("out.npy", self.plan), capture_output=True, text=True)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("a plan for several ranks; start as many", ended.stderr)



def listening_addresses(port):
    """Addresses of all sockets of this machine that listen on that port, as numbers in text."""
    addresses = set()
    for file, family in (("/proc/net/tcp", socket.AF_INET), ("/proc/net/tcp6", socket.AF_INET6)):
        for line in Path(file).read_text().splitlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            address, hexadecimal_port = local.split(":")
            if int(hexadecimal_port, 16) != port or state != "0A":
                continue
            words = [bytes.fromhex(address[i:i + 8])[::-1] for i in range(0, len(address), 8)]
            addresses.add(socket.inet_ntop(family, b"".join(words)))
    return addresses


def flood(port):
    from torch.distributed import TCPStore
    stranger = TCPStore("127.0.0.1", port, is_master=False)
    try:
        for number in range(100):
            stranger.set(f"flood {number}", b"x" * (4 << 20))
    except RuntimeError:
        pass  # the rank has ended


class Network(unittest.TestCase):
    def test_the_store_listens_where_ranks_meet_and_nowhere_else(self):
        decode, port = Decode(KL, (1, 4, 8, 8)), free_port()
        words = decode.words("out.npy", decode.plan(2))
        waits = decode.start(0, 2, port, words)
        addresses = set()
        while not addresses and waits.poll() is None:
            addresses = listening_addresses(port)
            time.sleep(0.01)
        codes, lines = finish([waits, decode.start(1, 2, port, words)])
        self.assertEqual(addresses, {"127.0.0.1"})
        self.assertEqual(codes, [0, 0], lines)

    def test_whom_ranks_trust_comes_before_any_port_opens(self):
        decode = Decode(KL, (1, 4, 8, 8))
        for program, words in (("headroom-decode", decode.words("out.npy", decode.plan(2))),
                               ("headroom-profile", [BIN / "headroom-profile", "link"])):
            with self.subTest(program), socket.socket() as taken:
                taken.bind(("127.0.0.1", 0))
                taken.listen()
                port = taken.getsockname()[1]
                _, err = decode.start(0, 2, port, words).communicate(timeout=120)
                said, error = err.splitlines()
                self.assertTrue(said.startswith(f"{program}: ranks meet at 127.0.0.1:{port}: whoever reaches this port"), err)
                self.assertIn("rank 0 cannot receive the other ranks", error)

    def test_a_flooded_store_ends_the_rank_that_keeps_it(self):
        decode, port = Decode(KL, (1, 4, 300, 300), limit="150MiB"), free_port()
        words = decode.words("out.npy", decode.plan(2))
        started = [decode.start(rank, 2, port, words) for rank in range(2)]
        next(line for line in started[0].stderr if "latent: scaled" in line)  # then the decode begins
        flood(port)
        codes, lines = finish(started)
        self.assertEqual(codes, [4, 5], lines)
        self.assertIn("more than the limit of 150.0 MiB", lines[0][-1])
        self.assertFalse((decode.folder / "out.npy").exists())


class File(unittest.TestCase):
    """Ranks of one machine that meet in a file."""

    def setUp(self):
        self.decode, self.port = Decode(KL, (1, 4, 150, 150), limit="100MiB"), free_port()
        self.file = self.decode.folder / "meeting"
        self.plan = self.decode.plan(2)

    def start(self, rank, *more):
        return self.decode.start(rank, 2, self.port, self.decode.words("out.npy", self.plan, more), f"file:{self.file}")

    def test_a_stranger_does_not_find_the_ranks(self):
        waits = self.start(0)
        self.assertIn(f"ranks meet in {self.file}", waits.stderr.readline())
        words = self.decode.words("stranger.npy", self.plan, ["--rank-timeout", 1])
        codes, lines = finish([self.decode.start(1, 2, self.port, words)])
        self.assertEqual(codes, [5], lines)
        self.assertIn("cannot reach rank 0", lines[0][0])
        self.assertEqual(listening_addresses(self.port), set())
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o600)
        codes, lines = finish([waits, self.start(1)])
        self.assertEqual(codes, [0, 0], lines)
        self.assertLessEqual(relative_error(np.load(self.decode.folder / "out.npy"), self.decode.alone()), 1e-5)
        self.assertFalse(self.file.exists())

    def test_what_others_may_write_is_refused(self):
        other = self.decode.folder / "other"
        other.touch()
        (self.decode.folder / "open").mkdir()
        (self.decode.folder / "open").chmod(0o777)
        (self.decode.folder / "link").symlink_to(other)
        other.chmod(0o666)
        for name, why in (("other", "expected a file that you own and no other user may write"),
                          ("open/file", "expected a folder in which no other user may replace files"),
                          ("link", "Too many levels of symbolic links"), ("no/file", "No such file or directory")):
            self.file = self.decode.folder / name
            codes, lines = finish([self.start(0)])
            self.assertEqual(codes, [5], lines)
            self.assertIn(f"ranks cannot meet in {self.file}: {why}", lines[0][0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    given, rest = parser.parse_known_args()
    BIN = given.bin.resolve()
    unittest.main(argv=sys.argv[:1] + rest)
