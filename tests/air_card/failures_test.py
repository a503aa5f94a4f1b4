"""Makes each call of CUDA's libraries fail. Checks the exit code and the message, and that nothing leaks. Kernels do not run.

    failures_test.py --build build
"""
import shutil

from air_card import GOLDEN, SMALL, AirCardTest, left_behind, main

# Allocations. Their failure gives exit code 3.
MEMORY = {"cudaMalloc", "cudaHostAlloc"}
# Calls that allocate, with CUDA's status for a lack of memory.
ALLOCATING = {"cudaMalloc": ":2", "cudaHostAlloc": ":2", "cudaStreamCreateWithPriority": ":2", "cudaEventCreateWithFlags": ":2", "cudnnCreate": "",
              "cublasLtCreate": ""}
# The picture may be complete despite a failure of these: they release something, or run after the decode.
LAST = {
    "cublasLtDestroy", "cudaDeviceSynchronize", "cudaEventDestroy", "cudaFree", "cudaFreeHost", "cudaGetDevice", "cudaStreamDestroy",
    "cudnnBackendDestroyDescriptor", "cudnnDestroy",
}


class Failures(AirCardTest):
    def setUp(self):
        super().setUp()
        self.case = self.card.case(GOLDEN / "plain", SMALL["plain"], (1, 20, 24))
        self.picture = self.folder / "picture.png"

    def decode(self, plan, failure):
        self.picture.unlink(missing_ok=True)
        return self.card.decode(self.case, plan, self.picture, settings={"AIR_FAIL": failure} if failure else None)

    def check_failure(self, ended, call):
        self.assertEqual(ended.report["faults"], 1)
        self.assertEqual(ended.report["wrong_uses"], [])
        self.assertEqual(ended.report["calls_after_error"], [])
        if ended.code == 0 and call in LAST:
            self.assertTrue(self.picture.exists())
            return
        # LibTorch may print a warning line.
        lines = [line for line in ended.errors.splitlines() if not line.startswith("[W")]
        self.assertEqual(ended.code, 3 if call in MEMORY else 5, ended.errors)
        self.assertEqual(len(lines), 1, ended.errors)
        self.assertTrue(lines[0].startswith("headroom-decode: ") and len(lines[0]) < 300, ended.errors)
        self.assertEqual(list(self.folder.glob("*picture*")), [], "no part of a picture")
        self.assertEqual(left_behind(ended.report), {})

    def test_each_call_fails(self):
        tried = 0
        for dtype in ("fp32", "bf16"):
            plan = self.card.hosted(self.card.plan(self.case, "64MiB", dtype))
            whole = self.decode(plan, None)
            self.check_clean(whole)
            for call, count in whole.report["calls"].items():
                if dtype == "bf16" and not call.startswith("cublas"):
                    continue  # the fp32 run covers all other calls
                if call == "cudnnBackendFinalize":
                    continue  # another test covers plans that cuDNN rejects
                for number in sorted({1, (count + 1) // 2, count}):
                    with self.subTest(call=call, number=number, dtype=dtype):
                        self.check_failure(self.decode(plan, f"{call}:{number}"), call)
                        tried += 1
        self.assertGreater(tried, 80)

    def test_a_message_names_the_call(self):
        plan = self.card.plan(self.case, "64MiB")
        for failure, message in (
            ("cudaMemcpyAsync:3", "headroom-decode: cudaMemcpyAsync: unspecified launch failure (cudaErrorLaunchFailure)\n"),
            ("cudaMemcpyAsync:3:700", "headroom-decode: cudaMemcpyAsync: an illegal memory access was encountered (cudaErrorIllegalAddress)\n"),
            ("cudaLaunchKernelExC:5", "headroom-decode: kernel .*: unspecified launch failure\n"),
            ("cudnnBackendExecute:2", "headroom-decode: cudnnBackendExecute: CUDNN_STATUS_EXECUTION_FAILED\n"),
            ("cudaHostAlloc:1", "headroom-decode: cannot pin 32.0 MiB of the host's memory for copies to and from the GPU\n"),
        ):
            with self.subTest(failure=failure):
                self.assertRegex(self.decode(plan, failure).errors, message.replace("(", r"\(").replace(")", r"\)"))

    def test_each_allocation_is_refused(self):
        self.card.queue(self.case.model, ((10, 12), (6, 14)), "12MiB", "npy")
        picture = self.card.cpu_picture(self.case.model)
        self.card.decode_on_cpu(self.case.model, self.case.latent)
        of_model = ("--model", self.case.model, "--random-weights", 0)
        latent = ("--latent", self.case.latent, "-o", "picture.npy", "--device", "cuda")
        per_pass = self.card.plan(self.case, None, "bf16", "1GiB")
        tried = 0
        for name, words in {
            "under a limit": ("--limit", "64MiB", *latent),
            "in what is free": ("--limit", "auto", *latent),
            "with host memory": ("--plan", self.card.hosted(self.card.plan(self.case, "64MiB")), *latent),
            "the smallest plan": ("--plan", per_pass, *latent),
            "a queue": ("--queue", "queue.json", "-o", "picture-folder"),
            "an encode": ("encode", "--limit", "64MiB", "--picture", picture, "-o", "picture-latent.npy", "--device", "cuda"),
        }.items():
            def run(failure):
                for left in self.folder.glob("picture*"):
                    shutil.rmtree(left) if left.is_dir() else left.unlink()
                command = [words[0], *of_model, *words[1:]] if words[0] == "encode" else [*of_model, *words]
                return self.card.run("headroom-decode", *command, settings={"AIR_FAIL": failure} if failure else None)

            calls = run(None).report["calls"]
            for call, status in ALLOCATING.items():
                count = calls.get(call, 0)
                for number in sorted({1, (count + 1) // 2, count} if "Event" in call else range(1, count + 1)):
                    with self.subTest(name, call=call, number=number):
                        self.check_refusal(run(f"{call}:{number}{status}"), call, again=name == "in what is free" and call == "cudaMalloc")
                        tried += 1
        self.assertGreater(tried, 60)

    def check_refusal(self, ended, call, again):
        """Requires the exit code, one line and no leak. `again`: the decode may plan again with less memory, and succeed."""
        self.assertEqual(ended.report["faults"], 1)
        self.assertEqual(ended.report["wrong_uses"], [])
        self.assertEqual(ended.report["calls_after_error"], [])
        self.assertEqual(left_behind(ended.report), {})
        if again and ended.code == 0:
            return
        lines = [line for line in ended.errors.splitlines() if not line.startswith("[W")]
        self.assertEqual(ended.code, 3 if call in MEMORY else 5, ended.errors)
        self.assertEqual(len(lines), 1, ended.errors)
        self.assertTrue(lines[0].startswith("headroom-decode: "), ended.errors)
        self.assertEqual([left for left in self.folder.glob("picture*") if left.is_file()], [], "no part of a picture")

    def test_memory_that_others_have(self):
        case = self.card.case("sd15", (1, 4, 8, 8), (1, 64, 64))
        plan = self.card.plan(case, "1GiB")
        ended = self.card.decode(case, plan, self.picture, settings={"AIR_TOTAL_MIB": "640"})
        self.check_clean(ended, 3)
        self.assertIn("cannot have", ended.errors)
        self.assertEqual(ended.errors.count("\n"), 1, ended.errors)

    def test_engines_that_cudnn_refuses(self):
        # cuDNN rejects one plan or graph. Another engine or Headroom's own kernel replaces it.
        plan = self.card.plan(self.case, "64MiB")
        finalized = self.decode(plan, None).report["calls"]["cudnnBackendFinalize"]
        refused = set()
        for number in range(1, finalized + 1, 3):
            ended = self.decode(plan, f"cudnnBackendFinalize:{number}")
            self.assertEqual(ended.report["wrong_uses"], [])
            self.assertEqual(left_behind(ended.report), {})
            self.assertIn(ended.code, (0, 5), ended.errors)
            refused.add(ended.code)
        self.assertEqual(refused, {0, 5})


if __name__ == "__main__":
    main()
