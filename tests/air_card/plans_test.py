"""Runs plans of every kind on the CUDA module that nvcc built. Requires exit code 0 and no leak or wrong use. Kernels do not run.

    plans_test.py --build build
"""
import itertools
import json

from air_card import CAPABILITIES, GOLDEN, SMALL, AirCardTest, main

# Built-in models: latent shape, then frames, height and width of the output.
BUILT_IN = {
    "sd15": ((1, 4, 8, 8), (1, 64, 64)), "sdxl": ((1, 4, 16, 8), (1, 128, 64)), "sd3": ((1, 16, 8, 8), (1, 64, 64)),
    "flux": ((1, 16, 8, 8), (1, 64, 64)), "flux2": ((1, 32, 8, 8), (1, 64, 64)), "sana-dc-ae-f32c32": ((1, 32, 2, 2), (1, 64, 64)),
    "hunyuan-image-2.1": ((1, 64, 2, 2), (1, 64, 64)), "hunyuan-video": ((1, 16, 2, 8, 8), (5, 64, 64)),
    "hunyuan-video-1.5": ((1, 32, 2, 4, 4), (5, 64, 64)), "ltx-2": ((1, 128, 2, 2, 2), (9, 64, 64)), "ltx-video": ((1, 128, 2, 2, 2), (9, 64, 64)),
    "ltx-video-0.9.5": ((1, 128, 2, 2, 2), (9, 64, 64)),
    "open-sora-plan": ((1, 4, 2, 8, 8), (5, 64, 64)), "taesd": ((1, 4, 8, 8), (1, 64, 64)), "taef1": ((1, 16, 8, 8), (1, 64, 64)),
    "taef2": ((1, 32, 8, 8), (1, 64, 64)),
    "qwen-image": ((1, 16, 1, 8, 8), (1, 64, 64)), "qwen-image-2.1": ((1, 64, 1, 4, 4), (1, 64, 64)),
    "wan2.1": ((1, 16, 2, 8, 8), (5, 64, 64)), "wan2.2": ((1, 48, 2, 4, 4), (5, 64, 64)), "seedvr2": ((1, 16, 2, 8, 8), (5, 64, 64)),
    "cogvideox": ((1, 16, 3, 8, 8), (9, 64, 64)), "taew2.1": ((1, 16, 2, 8, 8), (5, 64, 64)), "taeltx2": ((1, 128, 2, 2, 2), (9, 64, 64)),
}
# The first chunk of a clip can be longer than the others. A plan counts each tile of a pass at its longest chunk, so the card takes less.
UNEVEN_CHUNKS = {"cogvideox"}
# Random weights of these models take seconds to generate.
HEAVY = {"hunyuan-image-2.1", "hunyuan-video-1.5", "ltx-2", "ltx-video", "ltx-video-0.9.5", "wan2.2", "qwen-image-2.1"}


class Plans(AirCardTest):
    def decode(self, case, plan, capability, output="picture.npy"):
        ended = self.card.decode(case, plan, self.folder / output, settings={"AIR_CAPABILITY": capability})
        self.check_clean(ended)
        self.assertGreater(ended.report["launches"], 0)
        planned = json.loads((self.folder / plan).read_text())
        taken, expected = ended.report["peak_live_bytes"], planned["predicted"]["peak_bytes"]
        if case.model in UNEVEN_CHUNKS:
            self.assertTrue(0.99 * expected <= taken <= expected, f"{taken} of {expected}")
        else:
            self.assertEqual(taken, expected)
        self.assertLessEqual(ended.report["peak_live_bytes"], planned["limit_bytes"])
        return ended.report

    def plan_of_kind(self, case, kind, dtype):
        if kind == "tight":
            return self.card.plan(case, None, dtype)
        ample = self.card.plan(case, "8GiB", dtype)
        return self.card.hosted(ample) if kind == "with host memory" else ample

    def test_built_in_models(self):
        # Each model runs each kind of plan. All models together cover each kind with each compute capability.
        capabilities = itertools.cycle(CAPABILITIES)
        for name, (shape, size) in BUILT_IN.items():
            case = self.card.case(name, shape, size)
            next(capabilities)
            for kind, dtype in (("ample", "bf16"), ("tight", "fp16"), ("with host memory", "fp32")):
                if name in HEAVY and kind != "ample" and not self.LONG:
                    continue
                plan = self.plan_of_kind(case, kind, dtype)
                for capability in CAPABILITIES if self.LONG else (next(capabilities),):
                    with self.subTest(model=name, plan=kind, capability=capability):
                        self.decode(case, plan, capability)

    def test_every_capability(self):
        small = GOLDEN / "dc_interpolate"  # built-in ones take seconds
        for name, dtype in (("sdxl", "bf16"), ("wan2.1", "fp32"), (small.name, "fp16")):
            case = self.card.case(name, *BUILT_IN[name]) if name in BUILT_IN else self.card.case(small, SMALL[name])
            plan = self.plan_of_kind(case, "ample", dtype)
            for capability in CAPABILITIES:
                with self.subTest(model=name, dtype=dtype, capability=capability):
                    self.decode(case, plan, capability)

    def test_a_capability_that_is_too_old_is_refused(self):
        case = self.card.case("taesd", *BUILT_IN["taesd"])
        ended = self.card.decode(case, self.card.plan(case, "1GiB"), "picture.npy", settings={"AIR_CAPABILITY": "7.5"})
        self.check_clean(ended, 5)
        self.assertEqual(ended.errors, "headroom-decode: cannot use CUDA: the GPU has compute capability 7.5, needed is 8.0\n")

    def test_clips_and_pictures_as_files(self):
        clip = self.card.case("wan2.1", *BUILT_IN["wan2.1"])
        for output in ("clip.y4m", "clip.npy", "frames/"):
            self.decode(clip, self.card.plan(clip, "1GiB"), "9.0", output)
        picture = self.card.case("taesd", *BUILT_IN["taesd"])
        for output in ("picture.png", "picture.jpg", "picture.safetensors"):
            self.decode(picture, self.card.plan(picture, "1GiB"), "9.0", output)

    def test_a_queue(self):
        extents = ((16, 16), (8, 24), (20, 12), (16, 16))
        self.card.queue(GOLDEN / "plain", extents, "16MiB", "png")
        self.check_clean(self.card.decode_queue(GOLDEN / "plain"))
        self.assertEqual(len(list((self.folder / "pictures").iterdir())), len(extents))

    def test_a_profile_of_the_card_and_a_trace(self):
        case = self.card.case(GOLDEN / "plain", SMALL["plain"], (1, 20, 24))
        words = ("--model", case.model, "--random-weights", 0)
        profiled = self.card.run("headroom-profile", "--device", "cuda", *words, "--sizes", "32x32", "--quick", "--accept-noise", "-o",
                                 "profile.json")
        self.check_clean(profiled)
        self.card.must("headroom-plan", "--device", "cuda", "--model", case.model, "--size", "24x20", "--limit", "64MiB",
                       "--profile", "profile.json", "-o", "plan.json")
        self.decode(case, "plan.json", "9.0")
        traced = self.card.run("headroom-profile", "--plan", "plan.json", *words, "-o", "trace.json")
        self.check_clean(traced)
        trace = json.loads((self.folder / "trace.json").read_text())
        self.assertGreater(len(trace["driver"]), 0)
        other = self.card.decode(case, "plan.json", "picture.npy", settings={"AIR_CAPABILITY": "8.9"})
        self.check_clean(other, 2)  # the plan was profiled on another card


if __name__ == "__main__":
    main()
