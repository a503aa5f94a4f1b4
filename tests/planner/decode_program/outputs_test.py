"""Outputs as a shell hands them over: pipes, devices, links, closed and full standard output, names that collide.

  python outputs_test.py --bin build/bin
"""
import argparse
import json
import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import tiny_decode

BIN = Path()
PNG = b"\x89PNG\r\n\x1a\n"


class Outputs(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name)
        self.words = tiny_decode.write_in(self.folder)

    def run_program(self, program, *words, **options):
        options.setdefault("stdout", subprocess.PIPE)
        line = [str(word) for word in (BIN / program, *words)]
        return subprocess.run(line, stderr=subprocess.PIPE, cwd=self.folder, check=False, **options)

    def decode(self, *words, **options):
        return self.run_program("headroom-decode", *self.words, *words, **options)

    def check_refused(self, ended, *parts):
        said = ended.stderr.decode()
        self.assertEqual(ended.returncode, 2, said)
        self.assertEqual(said.count("\n"), 1, said)
        for part in parts:
            self.assertIn(str(part), said)

    def files(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if not path.is_dir())

    def test_streams(self):
        expected = self.decode("-o", "p.png")
        self.assertEqual(expected.returncode, 0, expected.stderr)
        picture = (self.folder / "p.png").read_bytes()
        self.assertTrue(picture.startswith(PNG))
        printed = self.decode("-o", "-")
        self.assertEqual(printed.stdout, picture)
        self.assertIn(b"-: fp32", printed.stderr)  # what is said goes beside it
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            self.assertEqual(self.decode("-o", name).stdout, picture, name)
        with open(self.folder / "appended", "wb") as file:  # not replaced, and written at its place
            file.write(b"before")
            file.flush()
            self.assertEqual(self.decode("-o", "-", stdout=file).returncode, 0)
        self.assertEqual((self.folder / "appended").read_bytes(), b"before" + picture)
        os.mkfifo(self.folder / "pipe")
        received = []
        reader = threading.Thread(target=lambda: received.append((self.folder / "pipe").read_bytes()))
        reader.start()
        ended = self.decode("-o", "pipe")
        reader.join(timeout=240)
        self.assertEqual((ended.returncode, received), (0, [picture]), ended.stderr)
        self.assertTrue((self.folder / "pipe").is_fifo())
        stats = self.decode("-o", "p.png", "--stats", "-")
        self.assertEqual(json.loads(stats.stdout)["schema"], "headroom.stats")
        plan = self.run_program("headroom-plan", "--model", "vae", "--size", "16x16", "--limit", "64MiB", "-o", "-")
        self.assertEqual(json.loads(plan.stdout)["schema"], "headroom.plan")
        csv = self.run_program("headroom-plan", "frontier", "--model", "vae", "--size", "64x64", "--points", "3",
                               "-o", "/dev/null", "--csv", "/dev/stdout")
        self.assertTrue(csv.stdout.startswith(b"peak_bytes,"), csv.stderr)

    def test_a_report_spares_its_inputs(self):
        planned = self.run_program("headroom-plan", "--model", "vae", "--size", "16x16", "--limit", "64MiB", "-o", "plan.json")
        self.assertEqual(planned.returncode, 0, planned.stderr)
        ranked = self.run_program("headroom-plan", "--model", "vae", "--size", "32x32", "--ranks", "2", "--limit", "64MiB", "-o", "ranked.json")
        self.assertEqual(ranked.returncode, 0, ranked.stderr)
        shutil.copy(self.folder / "plan.json", self.folder / "plan.html")
        os.link(self.folder / "vae/config.json", self.folder / "config.html")
        (self.folder / "to-plan.html").symlink_to("plan.html")
        before = {name: (self.folder / name).read_bytes() for name in self.files()}
        for words in (["plan.html", "-o", "plan.html"], ["plan.html", "-o", "to-plan.html"], ["plan.json", "-o", "config.html"],
                      ["plan.json", "--model", "vae", "-o", "config.html"], ["ranked.json", "-o", "config.html"]):
            with self.subTest(words=words):
                self.check_refused(self.run_program("headroom-report", *words), "would overwrite")
                self.assertEqual({name: (self.folder / name).read_bytes() for name in self.files()}, before)

    def test_a_queue_spares_its_inputs(self):
        weights = "diffusion_pytorch_model.safetensors"
        os.link(self.folder / "vae/config.json", self.folder / "hard.png")
        (self.folder / "p-0.png").symlink_to("latent.npy")
        limit = ["--model", "vae", "--limit", "64MiB"]
        for output, batch in (("vae/" + weights, 1), ("hard.png", 1), ("queue.npy", 1), ("stats.npy", 1), ("p.png", 2)):
            if not (self.folder / "vae" / weights).exists():
                (self.folder / "vae" / weights).write_bytes(b"weights")
            with self.subTest(output=output):
                request = {"name": "a", "width_pixels": 16, "height_pixels": 16, "latent": "latent.npy", "output": output,
                           "batch": batch}
                document = {"schema": "headroom.requests", "version": 1, "requests": [request]}
                (self.folder / "requests.json").write_text(json.dumps(document))
                planned = self.run_program("headroom-plan", "queue", "requests.json", *limit, "-o", "queue.npy")
                self.assertEqual(planned.returncode, 0, planned.stderr)
                before = {name: (self.folder / name).read_bytes() for name in self.files()}
                ended = self.run_program("headroom-decode", "--queue", "queue.npy", "--model", "vae", "--random-weights",
                                         "0", "--stats", "stats.npy")
                refused = "another file than" if output == "stats.npy" else "would overwrite"
                self.check_refused(ended, "output", refused)
                self.assertEqual({name: (self.folder / name).read_bytes() for name in self.files()}, before)
        for output in ("requests.json", "vae/config.json"):
            self.check_refused(self.run_program("headroom-plan", "queue", "requests.json", *limit, "-o", output),
                               "would overwrite")

    def test_a_queue_stays_in_its_folder(self):
        (self.folder / "outside").mkdir()
        (self.folder / "outside/precious.png").write_bytes(b"x")
        (self.folder / "inside").mkdir()
        (self.folder / "inside/folder").symlink_to("../outside")
        (self.folder / "inside/x.png").symlink_to(self.folder / "outside/precious.png")
        (self.folder / "inside/y.png").symlink_to("deep/y.png")
        for output, code in (("folder/precious.png", 2), ("x.png", 2), ("deep/frames/", 0), ("deep/z.png", 0), ("y.png", 0)):
            with self.subTest(output=output):
                request = {"name": "a", "width_pixels": 16, "height_pixels": 16, "latent": "latent.npy", "output": output}
                document = {"schema": "headroom.requests", "version": 1, "requests": [request]}
                (self.folder / "requests.json").write_text(json.dumps(document))
                self.run_program("headroom-plan", "queue", "requests.json", "--model", "vae", "--limit", "64MiB", "-o", "q.json")
                ended = self.run_program("headroom-decode", "--queue", "q.json", "--model", "vae", "--random-weights", "0",
                                         "-o", "inside")
                self.assertEqual(ended.returncode, code, ended.stderr)
                if code == 2:
                    self.check_refused(ended, "expected a name inside inside, found a link that leads out of it")
        self.assertEqual((self.folder / "outside/precious.png").read_bytes(), b"x")
        self.assertTrue((self.folder / "inside/deep/y.png").read_bytes().startswith(PNG))

    def test_lost_standard_output(self):
        programs = [("headroom-decode", [*self.words, "-o", "p.png"]), ("headroom-decode", ["--help"]),
                    ("headroom-plan", ["--version"]), ("headroom-report", ["--help"]),
                    ("headroom-plan", ["frontier", "--model", "vae", "--size", "64x64", "--points", "3"])]
        for program, words in programs:
            if not (BIN / program).exists():
                continue
            with self.subTest(program=program, words=words[-1]):
                with open("/dev/full", "wb") as full:
                    self.assertEqual(self.run_program(program, *words, stdout=full).returncode, 5)
                closed = self.run_program(program, *words, stdout=None, preexec_fn=lambda: os.close(1))
                self.assertEqual(closed.returncode, 5, closed.stderr)
        # A reader that has seen enough, as head, is told nothing.
        reader, writer = os.pipe()
        os.close(reader)
        piped = self.run_program("headroom-plan", "--help", stdout=writer)
        os.close(writer)
        self.assertEqual((piped.stderr, piped.returncode), (b"", 5))
        # The next file must not take the descriptor of the closed stream: no line of the program in the picture.
        self.assertEqual(self.decode("-o", "q.npy", stdout=None, preexec_fn=lambda: os.close(1)).returncode, 5)
        self.assertNotIn(b"fp32,", (self.folder / "q.npy").read_bytes())

    def test_names_do_nothing_to_a_terminal(self):
        size = ["--model", "vae", "--size", "16x16", "--limit", "64MiB"]
        self.assertEqual(self.run_program("headroom-plan", *size, "-o", "plan.json").returncode, 0)
        plan = json.loads((self.folder / "plan.json").read_text())
        for one in plan["passes"]:
            one["name"] = "\x1b[2J\x9b31m\u202e\x07" + one["name"]
        (self.folder / "plan.json").write_text(json.dumps(plan))
        hostile = "\x1b[31mred\n.npy"
        (self.folder / "vae").rename(self.folder / hostile)
        lines = [("headroom-plan", ["explain", "plan.json", "--model", hostile, "--schedule"], 0),
                 ("headroom-plan", ["validate", "plan.json", "--model", hostile], 0),
                 ("headroom-plan", ["--model", hostile, "--size", "16x16", "--limit", "64MiB", "-o", hostile + ".json"], 0),
                 ("headroom-plan", ["validate", "plan.json", "--model", hostile + "none"], 2),
                 ("headroom-decode", ["--plan", "plan.json", "--model", hostile, "--random-weights", "0", "--latent",
                                      "latent.npy", "-o", "out" + hostile, "--progress", "bar"], 0)]
        shown = ""
        for program, words, code in lines:
            with self.subTest(program=program, words=words[0]):
                ended, text = self.run_on_terminal(program, *words)
                self.assertEqual(ended, code, text)
                shown += text.replace("\r", "").replace("\x1b[K", "").replace("\x1b[2K", "")
        for mark in ("\x1b", "\x9b", "\u202e", "\x07"):
            self.assertNotIn(mark, shown)
        self.assertIn("\\x1b[31mred\\n", shown)

    def run_on_terminal(self, program, *words):
        ours, theirs = pty.openpty()
        running = subprocess.Popen([str(word) for word in (BIN / program, *words)], stdout=theirs, stderr=theirs, cwd=self.folder)
        os.close(theirs)
        text = b""
        try:
            while piece := os.read(ours, 65536):
                text += piece
        except OSError:  # how a terminal ends
            pass
        os.close(ours)
        return running.wait(timeout=240), text.decode(errors="replace")

    def test_an_extreme_latent_is_the_inputs_fault(self):
        signs = random.Random(0)
        values = [signs.choice((-3e38, 3e38)) for _ in range(4 * 8 * 8)]
        (self.folder / "latent.npy").write_bytes(tiny_decode.npy(values, (1, 4, 8, 8)))
        for output in ("p.png", "p.npy"):
            ended = self.decode("-o", output)
            self.assertEqual(ended.returncode, 2, ended.stderr)
            self.assertIn(b"conv_in: its output is not finite", ended.stderr)
            self.assertFalse((self.folder / output).exists())

    def test_signals_leave_nothing(self):
        (self.folder / "large").mkdir()
        words = tiny_decode.write_in(self.folder / "large", (1, 4, 256, 256))
        before = self.files()
        for _ in range(3):
            line = [str(word) for word in (BIN / "headroom-decode", *words, "-o", self.folder / "p.npy", "--progress", "lines")]
            running = subprocess.Popen(line, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
            for seen in running.stderr:
                if b"pass" in seen:
                    break
            running.terminate()
            running.stderr.read()
            running.stderr.close()
            self.assertIn(running.wait(timeout=240), (-15, 0))
            (self.folder / "p.npy").unlink(missing_ok=True)
            self.assertEqual(self.files(), before)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    arguments, rest = parser.parse_known_args()
    BIN = arguments.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
