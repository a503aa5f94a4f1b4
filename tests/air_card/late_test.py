"""Runs streams late. Every order must give the same picture, and omitting a wait must change it.

    late_test.py --build build
"""
from air_card import GOLDEN, SMALL, AirCardTest, main

ORDERS = ({"AIR_ORDER": "late"}, {"AIR_ORDER": "drawn", "AIR_SEED": "1"}, {"AIR_ORDER": "drawn", "AIR_SEED": "2"})
# Streams in order of creation: compute, to the host, from the host, second compute stream.
COMPUTE, TO_HOST, FROM_HOST, BESIDE = 1, 2, 3, 4


class Late(AirCardTest):
    def decode(self, case, plan, settings=None, output="picture.npy"):
        """Decodes and returns the picture's bytes and the report."""
        ended = self.card.decode(case, plan, self.folder / output, emulated=True, settings=settings)
        self.check_clean(ended)
        return (self.folder / output).read_bytes(), ended.report

    def test_small_decoders_of_every_class(self):
        waits = 0
        for number, (name, shape) in enumerate(SMALL.items()):
            case = self.card.case(GOLDEN / name, shape)
            plan = self.card.hosted(self.card.plan(case, "1GiB", "bf16" if case.frames == 1 and number % 2 == 0 else "fp32"))
            expected, report = self.decode(case, plan)
            waits += len(report["waits"])
            for settings in ORDERS:
                with self.subTest(name=name, settings=settings):
                    picture, report = self.decode(case, plan, settings)
                    self.assertEqual(picture, expected)
                    self.assertGreater(report["delayed"], 0)
        self.assertGreater(waits, 100)

    def test_a_tight_plan_and_files(self):
        for name, output in (("plain", "picture.png"), ("wan_time_last", "clip.y4m"), ("wan_time_last", "clip.npy")):
            case = self.card.case(GOLDEN / name, SMALL[name])
            plan = self.card.plan(case, None, "bf16")
            expected, _ = self.decode(case, plan, output=output)
            for settings in ORDERS:
                with self.subTest(name=name, output=output, settings=settings):
                    self.assertEqual(self.decode(case, plan, settings, output)[0], expected)

    def test_a_queue(self):
        self.card.queue(GOLDEN / "plain", ((10, 12), (6, 14), (10, 12)), "12MiB", "npy")
        pictures = {}
        for settings in ({}, *ORDERS):
            ended = self.card.decode_queue(GOLDEN / "plain", emulated=True, settings=settings)
            self.check_clean(ended)
            found = {path.name: path.read_bytes() for path in (self.folder / "pictures").iterdir()}
            self.assertEqual(found, pictures or found)
            pictures = found

    def noticed(self, case, plan):
        """Omits each wait in turn. Counts, by pair of streams, the waits that change the picture, those that do not, and redundant ones."""
        expected, report = self.decode(case, plan)
        counts = {}
        for number, wait in enumerate(report["waits"], 1):
            pair, *covered = wait.split()
            stream = int(pair.split("<-")[0])
            count = counts.setdefault(pair, {"noticed": 0, "unnoticed": 0, "covered": 0})
            if covered:
                count["covered"] += 1
                continue
            # The waiting stream runs as early, and all other work as late, as the remaining waits allow.
            settings = {"AIR_ORDER": "late", "AIR_EAGER": str(stream), "AIR_SKIP_WAIT": str(number)}
            output = self.folder / "late.npy"
            output.unlink(missing_ok=True)
            ended = self.card.decode(case, plan, output, emulated=True, settings=settings)
            same = ended.code == 0 and output.read_bytes() == expected  # uninitialized values are NaNs
            count["unnoticed" if same else "noticed"] += 1
        return counts

    def test_each_wait_is_left_out(self):
        clip = self.card.case(GOLDEN / "wan_time_last", (1, 4, 5, 4, 5))
        hosted = self.noticed(clip, self.card.hosted(self.card.plan(clip)))
        picture = self.card.case(GOLDEN / "plain", (1, 4, 20, 20))
        attention = self.noticed(picture, self.card.plan(picture, "64MiB", "bf16"))
        # Compute waits for copies to the host before it reuses memory. These plans have at least 10 MiB and reuse none.
        for counts, pair in (
            (hosted, (TO_HOST, COMPUTE)), (hosted, (COMPUTE, FROM_HOST)),
            (attention, (BESIDE, COMPUTE)), (attention, (COMPUTE, BESIDE)),
        ):
            self.assertGreater(counts["{}<-{}".format(*pair)]["noticed"], 0, pair)
        # These waits are redundant. Comments in decoder/gpu/transfers/host_transfers.cpp name the waits that cover them.
        for pair in ((FROM_HOST, TO_HOST), (TO_HOST, FROM_HOST)):
            count = hosted["{}<-{}".format(*pair)]
            self.assertEqual((count["noticed"], count["unnoticed"]), (0, 0), pair)
            self.assertGreater(count["covered"], 0)


if __name__ == "__main__":
    main()
