"""Times cuDNN's engines on the air card, whose first engine is made slow, and decodes by the choices.

    engines_test.py --build build
"""
import json

from air_card import GOLDEN, SMALL, AirCardTest, distance, main

SLOW = {"AIR_SLOW_ENGINE": "41"}
PROFILE = ("--random-weights", 0, "--quick", "--accept-noise", "--dtype", "bf16", "-o", "profile.json")
# Largest distance of two pictures that differ by rounding.
ROUNDING = 1e-6


class Engines(AirCardTest):
    def setUp(self):
        super().setUp()
        self.case = self.card.case(GOLDEN / "plain", SMALL["plain"], (1, 20, 24))

    def read(self, name):
        return json.loads((self.folder / name).read_text())

    def plan(self, limit, name, *words):
        self.card.must("headroom-plan", "--device", "cuda", "--model", self.case.model, "--size", "24x20", "--limit", limit,
                       "--dtype", "bf16", *words, "-o", name)
        return self.read(name)

    def profile(self, settings, size="24x20"):
        self.check_clean(self.card.run("headroom-profile", "--device", "cuda", "--model", self.case.model, "--sizes", size, *PROFILE,
                                       settings=settings))
        return self.read("profile.json")

    def decode(self, plan, picture):
        """Returns the runs of each engine."""
        ended = self.card.decode(self.case, plan, picture, "--stats", "stats.json", emulated=True)
        self.check_clean(ended)
        return {engine["name"]: engine["runs"] for engine in self.read("stats.json")["engines"]}

    def test_a_profile_names_faster_engines_and_a_decode_runs_them(self):
        timed = self.profile(SLOW)["engines"]
        self.assertGreater(len(timed), 5)
        for choice in timed:
            self.assertEqual(choice["first_engine"], "cuDNN 41 k2=1")
            self.assertEqual(choice["engine"], "cuDNN 42 k2=2")
            self.assertGreater(choice["first_seconds"], choice["seconds"] + 4e-3)
        planned = self.plan("1GiB", "plan.json", "--profile", "profile.json")
        self.assertEqual(planned["engines"], timed)

        plain = {key: value for key, value in planned.items() if key != "engines"}
        (self.folder / "plain.json").write_text(json.dumps(plain))
        self.assertEqual(self.decode("plain.json", "plain.npy").keys() - {"own kernels"}, {"cuDNN 41"})
        runs = self.decode("plan.json", "picture.npy")
        self.assertGreater(runs["cuDNN 42 by time"], 0)
        self.assertNotIn("cuDNN 42", runs)
        self.assertLessEqual(distance(self.folder / "picture.npy", self.folder / "plain.npy"), ROUNDING)

    def test_the_profile_learns_the_convolutions_of_a_plan(self):
        self.profile(SLOW, "32x32")
        words = ("--profile", "profile.json")
        unknown = self.plan("1GiB", "unknown.json", *words)
        before = self.decode("unknown.json", "before.npy")
        self.assertGreater(before["cuDNN 41"], 0)
        self.check_clean(self.card.run("headroom-profile", "--plan", "unknown.json", "--model", self.case.model, "--random-weights", 0,
                                       "--engines", "profile.json", settings=SLOW))
        again = self.plan("1GiB", "again.json", *words)
        self.assertGreater(len(again["engines"]), len(unknown["engines"]))
        self.assertEqual(again["passes"], unknown["passes"])
        runs = self.decode("again.json", "after.npy")
        self.assertNotIn("cuDNN 41", runs)
        self.assertEqual(runs["cuDNN 42 by time"], before["cuDNN 41"])
        self.assertLessEqual(distance(self.folder / "after.npy", self.folder / "before.npy"), ROUNDING)

    def test_a_plan_names_no_engines_if_the_first_are_fastest(self):
        timed = self.profile({"AIR_SLOW_ENGINE": "42"})["engines"]
        self.assertGreater(len(timed), 5)
        self.assertEqual({choice["engine"] for choice in timed}, {"cuDNN 41 k2=1"})
        self.assertNotIn("engines", self.plan("1GiB", "plan.json", "--profile", "profile.json"))

    def test_engines_of_another_card_are_not_added(self):
        self.profile(SLOW)
        self.plan("1GiB", "plan.json")
        before = (self.folder / "profile.json").read_bytes()
        ended = self.card.run("headroom-profile", "--plan", "plan.json", "--model", self.case.model, "--random-weights", 0,
                              "--engines", "profile.json", settings={"AIR_CAPABILITY": "8.9"})
        self.check_clean(ended, 2)
        self.assertRegex(ended.errors, "profile.json: device: found .*9.0.*, expected .*8.9.*; profile the model again")
        self.assertEqual((self.folder / "profile.json").read_bytes(), before)


if __name__ == "__main__":
    main()
