"""Runs programs with --device cuda:1 on a machine with two devices. Only the named one may be used.

    devices_test.py --build build
"""
from air_card import GOLDEN, SMALL, AirCardTest, distance, main

TWO = {"AIR_DEVICES": "2"}
# Largest allowed distance from the CPU's result.
LARGEST = 1e-5


class Devices(AirCardTest):
    def setUp(self):
        super().setUp()
        self.case = self.card.case(GOLDEN / "plain", SMALL["plain"])
        self.of_model = ("--model", self.case.model, "--random-weights", 0)

    def check_device(self, ended, device):
        """All launches were on this device, and no other device has a context."""
        self.check_clean(ended)
        counts = [ended.report.get(f"launches_on_{one}", 0) for one in (0, 1)]
        self.assertGreater(counts[device], 0)
        self.assertEqual(counts[1 - device], 0)
        self.assertEqual(ended.report["contexts"], 1)

    def test_decodes(self):
        plan = self.card.plan(self.case, None)
        from_plan = ("--plan", plan)
        for device, words in ((1, from_plan), (0, from_plan), (1, ("--limit", "64MiB")), (1, ("--limit", "auto"))):
            with self.subTest(device=device, words=words):
                picture = self.folder / "picture.npy"
                ended = self.card.run("headroom-decode", *words, *self.of_model, "--latent", self.case.latent, "-o", picture,
                                      "--device", f"cuda:{device}", emulated=True, settings=TWO)
                self.check_device(ended, device)
                self.assertLessEqual(distance(picture, self.card.cpu_picture(self.case.model)), LARGEST)

    def test_a_queue(self):
        self.card.queue(self.case.model, ((10, 12), (6, 14)), "12MiB", "npy")
        self.check_device(self.card.run("headroom-decode", "--queue", "queue.json", *self.of_model, "-o", "pictures", "--device", "cuda:1",
                                        settings=TWO), 1)

    def test_encodes(self):
        words = ("encode", "--limit", "64MiB", *self.of_model, "--picture", self.card.cpu_picture(self.case.model))
        self.card.must("headroom-decode", *words, "-o", "cpu.npy")
        self.check_device(self.card.run("headroom-decode", *words, "-o", "gpu.npy", "--device", "cuda:1", emulated=True, settings=TWO), 1)
        self.assertLessEqual(distance(self.folder / "gpu.npy", self.folder / "cpu.npy"), LARGEST)

    def test_profiles(self):
        words = ("--quick", "--sizes", "32x32", "--accept-noise", "-o", "profile.json")
        self.check_device(self.card.run("headroom-profile", *self.of_model, *words, "--device", "cuda:1", settings=TWO), 1)
        plan = self.card.plan(self.case, "64MiB")
        self.check_device(self.card.run("headroom-profile", *self.of_model, "--plan", plan, "-o", "trace.json", "--watch", "allocator",
                                        "--device", "cuda:1", settings=TWO), 1)

    def test_a_plan_for_a_card_is_one_for_any(self):
        words = ("--model", self.case.model, "--size", f"{self.case.width}x{self.case.height}", "--limit", "64MiB")
        plans = []
        for device in ("cuda", "cuda:1"):
            self.card.must("headroom-plan", *words, "--device", device, "-o", "plan.json")
            plans.append((self.folder / "plan.json").read_text())
        self.assertEqual(*plans)

    def test_a_card_that_does_not_exist(self):
        for program, words in (
            ("headroom-decode", ("--limit", "64MiB", "--latent", self.case.latent, "-o", "picture.npy")),
            ("headroom-decode", ("--limit", "auto", "--latent", self.case.latent, "-o", "picture.npy")),
            ("headroom-profile", ("--quick", "-o", "profile.json")),
        ):
            for settings, there in ((TWO, "there are 2 GPUs, cuda:0 to cuda:1"), (None, "there is one GPU, cuda:0")):
                ended = self.card.run(program, *self.of_model, *words, "--device", "cuda:7", settings=settings)
                self.assertEqual((ended.code, ended.errors), (5, f"{program}: cannot use CUDA: cuda:7: {there}\n"))
                self.assertEqual(ended.report.get("contexts", 0), 0)

    def test_ranks_take_the_card_of_their_number(self):
        rank = {**TWO, "RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
        ended = self.card.run("headroom-decode", "--limit", "64MiB", *self.of_model, "--latent", self.case.latent, "-o", "picture.npy",
                              "--device", "cuda:1", settings=rank)
        message = "headroom-decode: --device: each rank takes the GPU of its local rank: expected cuda, found cuda:1\n"
        self.assertEqual((ended.code, ended.errors), (2, message))


if __name__ == "__main__":
    main()
