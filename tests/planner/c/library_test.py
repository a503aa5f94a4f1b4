"""libheadroom against the programs: decodes, encodes, callbacks and messages. Calls the library as any language does, by ctypes.

  python library_test.py --bin build/bin --library build/lib/libheadroom.so
"""
import argparse
import array
import ctypes as c
import random
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "decode_program"))
import tiny_decode  # noqa: E402

BIN, LIBRARY = Path(), Path()
MODEL = Path(__file__).resolve().parents[2] / "data/demo_model"
DONE, STOPPED, BAD_INPUT, DOES_NOT_FIT = 0, 1, 2, 3
WIDTH, HEIGHT, LIMIT = 96, 64, 24 << 20


class Question(c.Structure):
    _fields_ = [("model", c.c_char_p), ("width", c.c_int64), ("height", c.c_int64), ("frames", c.c_int64), ("batch", c.c_int64), ("dtype", c.c_char_p),
                ("device", c.c_char_p), ("limit", c.c_int64), ("direction", c.c_char_p), ("scratch", c.c_char_p), ("host_limit", c.c_int64),
                ("profile", c.c_char_p)]


class Region(c.Structure):
    _fields_ = [(name, c.c_int64) for name in ("item", "first_frame", "frames_end", "first_row", "rows_end", "first_column", "columns_end")]


PROGRESS, REGION = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_double), c.CFUNCTYPE(None, c.c_void_p, c.POINTER(Region))


class Job(c.Structure):
    _fields_ = [("question", Question), ("weights", c.c_char_p), ("input", c.POINTER(c.c_float)), ("input_file", c.c_char_p),
                ("output", c.POINTER(c.c_float)), ("threads", c.c_int), ("progress", PROGRESS), ("region", REGION), ("context", c.c_void_p)]


class Result(c.Structure):
    _fields_ = [("peak", c.c_int64), ("predicted_peak", c.c_int64), ("seconds", c.c_double), ("predicted_seconds", c.c_double)]


def question(**fields):
    return Question(**{"model": str(MODEL).encode(), "width": WIDTH, "height": HEIGHT, "limit": LIMIT, **fields})


def floats(count):
    return (c.c_float * count)()


def read_npy(file):
    data = file.read_bytes()
    values = array.array("f")
    values.frombytes(data[10 + int.from_bytes(data[8:10], "little"):])
    return list(values)


class Library(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = c.CDLL(str(LIBRARY))
        cls.library.headroom_message.restype = c.c_size_t
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def message(self):
        length = self.library.headroom_message(None, 0)
        text = c.create_string_buffer(length + 1)
        self.assertEqual(self.library.headroom_message(text, length + 1), length)
        return text.value.decode()

    def shapes(self, asked):
        shapes = (c.c_int64 * 5)(), (c.c_int64 * 5)()
        self.assertEqual(self.library.headroom_shapes(c.byref(asked), *shapes, None, 0), DONE, self.message())
        return [list(shape) for shape in shapes]

    def job(self, direction="decode", seed=0, **fields):
        """A job with a random input, and that input."""
        asked = question(direction=direction.encode())
        given, made = self.shapes(asked)
        count = given[0] * given[1] * given[2] * given[3] * given[4]
        numbers = random.Random(seed)
        values = (c.c_float * count)(*(numbers.uniform(-1, 1) for _ in range(count)))
        output = floats(made[0] * made[1] * made[2] * made[3] * made[4])
        return Job(**{"question": asked, "input": values, "output": output, **fields}), given, list(values), output

    def program(self, *words):
        done = subprocess.run([str(BIN / words[0]), *map(str, words[1:])], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_decode_equals_the_programs(self):
        job, shape, values, output = self.job()
        self.assertEqual(shape[0], 1)
        latent, picture = self.folder / "z.npy", self.folder / "picture.npy"
        latent.write_bytes(tiny_decode.npy(values, [*shape[:2], *shape[3:]]))
        self.program("headroom-decode", "--model", MODEL, "--latent", latent, "--latent-scale", "none", "--limit", LIMIT, "-o", picture)
        result = Result()
        self.assertEqual(self.library.headroom_decode(c.byref(job), c.byref(result), None, 0), DONE, self.message())
        self.assertEqual(max(abs(a - b) for a, b in zip(output, read_npy(picture), strict=True)), 0)
        self.assertLessEqual(result.peak, LIMIT)
        self.assertGreater(result.seconds, 0)
        self.assertEqual(self.message(), "")
        of_file, _, _, again = self.job(input=None, input_file=str(latent).encode())
        self.assertEqual(self.library.headroom_decode(c.byref(of_file), None, None, 0), DONE, self.message())
        self.assertTrue(list(again) == list(output))

    def test_an_encode_keeps_the_limit_and_gives_finite_moments(self):
        job, shape, _, output = self.job("encode")
        self.assertEqual(shape, [1, 3, 1, HEIGHT, WIDTH])
        result = Result()
        self.assertEqual(self.library.headroom_encode(c.byref(job), c.byref(result), None, 0), DONE, self.message())
        self.assertLessEqual(result.peak, LIMIT)
        self.assertTrue(all(abs(value) < 1e4 for value in output) and any(output))
        self.assertEqual(self.library.headroom_decode(c.byref(job), None, None, 0), BAD_INPUT)
        self.assertEqual(self.message(), "direction: expected decode or NULL, found encode")

    def test_regions_cover_the_output_and_progress_ends_at_one(self):
        shares, positions = [], []

        def region(_, done):
            one = done.contents
            positions.extend((y, x) for y in range(one.first_row, one.rows_end) for x in range(one.first_column, one.columns_end))

        job, *_ = self.job(progress=PROGRESS(lambda _, share: shares.append(share) or 0), region=REGION(region))
        self.assertEqual(self.library.headroom_decode(c.byref(job), None, None, 0), DONE, self.message())
        self.assertTrue(sorted(positions) == [(y, x) for y in range(HEIGHT) for x in range(WIDTH)])
        self.assertEqual(shares, sorted(shares))
        self.assertAlmostEqual(shares[-1], 1)

    def test_progress_stops_a_decode_and_the_next_one_runs(self):
        job, *_ = self.job(progress=PROGRESS(lambda _, share: 1))
        self.assertEqual(self.library.headroom_decode(c.byref(job), None, None, 0), STOPPED)
        self.assertEqual(self.message(), "stopped by the progress function")
        job, *_ = self.job()
        self.assertEqual(self.library.headroom_decode(c.byref(job), None, None, 0), DONE, self.message())

    def test_threads_decode_one_after_another(self):
        jobs = [self.job(seed=seed) for seed in (1, 2)]
        alone = []
        for job, _, _, output in jobs:
            self.library.headroom_decode(c.byref(job), None, None, 0)
            alone.append(list(output))
        statuses = []
        threads = [threading.Thread(target=lambda job=job: statuses.append(self.library.headroom_decode(c.byref(job), None, None, 0))) for job, *_ in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(statuses, [DONE, DONE])
        self.assertTrue([list(output) for _, _, _, output in jobs] == alone)

    def test_messages_name_fields(self):
        buffer = c.create_string_buffer(8)
        nan, _, _, _ = self.job()
        nan.input[3] = float("nan")
        without, *_ = self.job(output=None)
        both, *_ = self.job(input_file=b"z.npy")
        small, *_ = self.job()
        small.question.limit = 1 << 20
        folder, *_ = self.job()
        folder.question.scratch = b"/no/such/folder"
        for job, status, words in (
            (nan, BAD_INPUT, "not finite"),
            (without, BAD_INPUT, "output: expected a pointer, found NULL"),
            (both, BAD_INPUT, "input, input_file: expected one of both"),
            (small, DOES_NOT_FIT, "the smallest limit that works"),
            (folder, BAD_INPUT, "scratch_folder /no/such/folder: expected a folder that exists"),
        ):
            with self.subTest(words):
                self.assertEqual(self.library.headroom_decode(c.byref(job), None, buffer, len(buffer)), status)
                message = self.message()
                self.assertIn(words, message)
                self.assertNotIn("--", message)
                self.assertEqual(buffer.value.decode(), message[:7])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--library", type=Path, required=True)
    arguments, rest = parser.parse_known_args()
    BIN, LIBRARY = arguments.bin, arguments.library
    unittest.main(argv=[sys.argv[0], *rest])
