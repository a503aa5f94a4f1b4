"""Compares pictures of the GPU path with those of the CPU. The GPU path calls CUDA's libraries on the air card.

    pixels_test.py --build build
"""
import json

from air_card import GOLDEN, SMALL, AirCardTest, distance, main, tiny_decode

# Largest allowed distance from the CPU's picture.
LARGEST = 1e-5
# In 16 bits, the GPU's distance from fp32 may be this many times the CPU's distance in the same dtype.
ROUNDED_MORE = 3
# dtype, limit (None: the smallest one that works), and True to keep tensors in host memory.
PLANS = (("fp32", "1GiB", False), ("fp32", None, False), ("fp32", "1GiB", True), ("bf16", None, False), ("fp16", "1GiB", False))
# TF32 rounds inputs to 10 bits. The picture's distance from full fp32 lies between these.
TF32 = (1e-5, 1e-2)
# A larger distance means a wrong picture in bf16.
WRONG = 0.2
BUILT_IN = {
    "taesd": (1, 4, 5, 6), "sd15": (1, 4, 6, 8), "sdxl": (1, 4, 6, 8), "sd3": (1, 16, 6, 8), "flux2": (1, 32, 6, 8),
    "sana-dc-ae-f32c32": (1, 32, 2, 2), "hunyuan-image-2.1": (1, 64, 2, 2), "qwen-image": (1, 16, 1, 6, 8), "wan2.1": (1, 16, 2, 6, 8),
    "hunyuan-video": (1, 16, 2, 6, 8), "open-sora-plan": (1, 4, 2, 6, 8), "hunyuan-video-1.5": (1, 32, 2, 3, 4), "ltx-2": (1, 128, 2, 2, 2),
}
# Corrupted arguments. The program, the picture or a check of the air card must reveal each of them.
MUTATIONS = ("strides:2:8", "strides:3:-4", "strides:0:16", "dimensions:2:-1", "dimensions:3:-1", "paddings:0:1", "paddings:1:1",
             "pointers:0:4", "pointers:0:32", "pointers:1:4", "pointers:2:4", "pointers:3:32", "pointers:3:2", "workspace:0:-262144")
MUTATED_PRODUCTS = ("leading:0:8", "leading:0:-1")


class Pixels(AirCardTest):
    def decode(self, case, plan, settings=None):
        """Returns the finished run and its picture's distance from the CPU's. The distance is None if the run failed."""
        picture = self.folder / "picture.npy"
        picture.unlink(missing_ok=True)
        ended = self.card.decode(case, plan, picture, emulated=True, settings=settings)
        return ended, distance(picture, self.card.cpu_picture(case.model)) if ended.code == 0 else None

    def test_small_decoders_of_every_class(self):
        started = {"convolutions": 0, "products": 0}
        for name, shape in SMALL.items():
            case = self.card.case(GOLDEN / name, shape)
            for dtype, limit, hosted in PLANS:
                if case.frames > 1 and dtype != "fp32" and not self.LONG:
                    continue  # emulated tensor cores take half a minute
                with self.subTest(name=name, dtype=dtype, limit=limit, hosted=hosted):
                    plan = self.card.plan(case, limit, dtype)
                    ended, apart = self.decode(case, self.card.hosted(plan) if hosted else plan)
                    self.check_clean(ended)
                    own = distance(self.card.decode_on_cpu(case.model, case.latent, dtype), self.card.cpu_picture(case.model))
                    self.assertLessEqual(apart, max(LARGEST, ROUNDED_MORE * own))
                    for key in started:
                        started[key] += ended.report[key]
        self.assertGreater(started["convolutions"], 1000)
        self.assertGreater(started["products"], 10)

    def test_a_stream_from_a_pipe(self):
        blocks = self.folder / "blocks"
        blocks.write_bytes(b"".join(tiny_decode.normal((1, 4, frames, 3, 5), 1.0) for frames in (2, 1, 2)))
        made = {}
        for device in ("cpu", "cuda"):
            clip = self.folder / f"{device}.y4m"
            with blocks.open("rb") as given, clip.open("wb") as taken:
                ended = self.card.run("headroom-decode", "stream", "--model", GOLDEN / "wan_time_last", "--limit", "64MiB", "--device", device,
                                      "--random-weights", 0, "--latent-scale", "none", emulated=True, stdin=given, stdout=taken)  # fmt: skip
            self.assertEqual(ended.code, 0, ended.errors)
            made[device] = clip.read_bytes()
        self.check_clean(ended)
        self.assertEqual(len(made["cuda"]), len(made["cpu"]))
        self.assertLess(sum(a != b for a, b in zip(made["cuda"], made["cpu"])), len(made["cpu"]) / 1000)

    def test_built_in_models(self):
        for name, shape in (BUILT_IN if self.LONG else {"taesd": BUILT_IN["taesd"]}).items():
            case = self.card.case(name, shape)
            for limit in ("8GiB", None) if self.LONG else ("8GiB",):
                with self.subTest(name=name, limit=limit):
                    ended, apart = self.decode(case, self.card.plan(case, limit))
                    self.check_clean(ended)
                    self.assertLessEqual(apart, LARGEST)

    def test_tf32_moves_the_picture_within_its_tolerance(self):
        case = self.card.case(GOLDEN / "plain", SMALL["plain"])
        pictures = {}
        for option in (None, "--tf32", "--tf32=convolutions", "--tf32=products"):
            with self.subTest(option=option):
                picture = pictures[option] = self.folder / f"picture{option}.npy"
                words = ("--device", "cuda", "--limit", "1GiB", "--model", case.model, "--random-weights", 0, "--latent", case.latent)
                ended = self.card.run("headroom-decode", *words, *([option] if option else []), "--verify", "--stats", "stats.json", "-o", picture,
                                      emulated=True)
                self.check_clean(ended)
                verified = json.loads((self.folder / "stats.json").read_text())["verification"]["largest_error_relative"]
                apart = distance(picture, pictures[None])
                if option is None:
                    self.assertLessEqual(distance(picture, self.card.cpu_picture(case.model)), LARGEST)
                    self.assertLessEqual(verified, LARGEST)
                    self.assertNotIn("TF32", ended.output)
                    continue
                for moved in (apart, verified):
                    self.assertGreater(moved, TF32[0])
                    self.assertLess(moved, TF32[1])
                self.assertIn("TF32 accounts for a relative error up to 1e-2", ended.output)
        self.assertEqual(len({path.read_bytes() for path in pictures.values()}), len(pictures))

    def test_a_queue(self):
        model, extents = GOLDEN / "plain", ((10, 12), (6, 14), (16, 8))
        self.card.queue(model, extents, "12MiB", "npy")
        ended = self.card.decode_queue(model, emulated=True)
        self.check_clean(ended)
        for number in range(len(extents)):
            words = ("--limit", "1GiB", "--model", model, "--random-weights", 0, "--latent", f"{number}.npy")
            self.card.must("headroom-decode", *words, "-o", "cpu.npy")
            self.assertLessEqual(distance(self.folder / f"pictures/{number}.npy", self.folder / "cpu.npy"), LARGEST)

    def check_mutations(self, case, plan, mutations):
        for mutation in mutations:
            with self.subTest(mutation=mutation):
                ended, apart = self.decode(case, plan, {"AIR_MUTATE": mutation})
                self.assertGreater(ended.report["mutations"], 0)
                found = ended.code != 0 or ended.report["wrong_uses"] or apart > WRONG
                self.assertTrue(found, apart)

    def test_values_that_are_handed_over_wrongly(self):
        case = self.card.case(GOLDEN / "plain", SMALL["plain"])
        plan = self.card.plan(case, None, "bf16")
        ended, apart = self.decode(case, plan)
        self.check_clean(ended)
        self.assertLess(apart, WRONG / 4)
        self.check_mutations(case, plan, MUTATIONS + MUTATED_PRODUCTS)


if __name__ == "__main__":
    main()
