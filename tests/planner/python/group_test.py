"""One picture over the ranks of a process group: each gets what diffusers decodes alone, and all of them end alike where one
of them does something else."""

from __future__ import annotations

import datetime
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
import unittest
from typing import Any, Callable
from unittest import mock

import diffusers
import headroom
import tiny
import torch
import torch.distributed as dist
from headroom.parameters import Parameters

EXACT = 1e-5
"""Of the largest magnitude."""

HANGS_SECONDS = 120
"""A rank that says nothing for so long is killed."""

# Ranks are forked, with what is imported here: diffusers imports a class when it is named. Nothing has been computed
# before, so no thread is lost.
IMPORTED = diffusers.AutoencoderKL, diffusers.AutoencoderKLWan, diffusers.AutoencoderDC
FORK = multiprocessing.get_context("fork")


def by_ranks(ranks: int, body: Callable[[int], Any], timeout: float = 60.0) -> list[Any]:
    """What each rank returned: what it raised as its class and text, None of one that died."""
    port, over = FORK.Value("i", 0), FORK.Event()
    pipes, processes = [], []
    for rank in range(ranks):
        receiver, sender = FORK.Pipe(duplex=False)
        process = FORK.Process(target=_rank, args=(rank, ranks, (port, over), timeout, body, sender))
        process.start()
        sender.close()
        pipes.append(receiver)
        processes.append(process)
    results = []
    for receiver, process in zip(pipes, processes, strict=True):
        if not receiver.poll(HANGS_SECONDS):
            process.kill()
        try:
            results.append(receiver.recv())
        except EOFError:
            results.append(None)
    over.set()
    for process in processes:
        process.join()
    return results


def _rank(rank: int, ranks: int, shared: tuple, timeout: float, body: Callable[[int], Any], sender: Any) -> None:
    torch.set_num_threads(1)
    port, over = shared
    while rank > 0 and port.value == 0:
        time.sleep(0.01)
    store = dist.TCPStore("127.0.0.1", port.value, ranks, is_master=rank == 0, wait_for_workers=False)
    port.value = store.port
    dist.init_process_group("gloo", store=store, rank=rank, world_size=ranks, timeout=datetime.timedelta(seconds=timeout))
    try:
        sender.send(body(rank))
    except BaseException:
        sender.send(traceback.format_exc())
    sender.close()
    if rank == 0:  # it has the store, which others may still need
        over.wait()
    os._exit(0)


def raised(call: Callable[[], Any]) -> tuple[str, str]:
    """Class and text of what a call raises."""
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)
    return "nothing", ""


def latent(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def error_of(vae: Any, z: torch.Tensor, ours: torch.Tensor) -> float:
    """Against the VAE's own decode, of its largest magnitude."""
    with torch.no_grad():
        theirs = type(vae).decode(vae, z, return_dict=False)[0].float()
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    return float((ours.float() - theirs).abs().max() / theirs.abs().max())


class Ranks(unittest.TestCase):
    def check(self, ranks: int, make: Callable[[], Any], shape: tuple[int, ...], **options: Any):
        def body(rank: int) -> Any:
            vae, z = make(), latent(*shape)
            handle = headroom.enable(vae, group=dist.group.WORLD, **options)
            first = vae.decode(z, return_dict=False)[0]
            again = vae.decode(z, return_dict=False)[0]
            last = handle.last
            return error_of(vae, z, first), [first.numpy(), again.numpy()], last.sent_bytes, last.predicted_peak_bytes - last.peak_bytes, last.plan.ranks

        pictures = []
        for result in by_ranks(ranks, body):
            self.assertIsInstance(result, tuple, result)
            error, decoded, sent, spare, planned = result
            pictures += [picture.tobytes() for picture in decoded]
            self.assertLessEqual(error, EXACT)
            self.assertGreater(sent, 0)
            self.assertGreaterEqual(spare, 0)
            self.assertEqual(planned, ranks)
        self.assertEqual(len(set(pictures)), 1)

    def test_every_rank_gets_the_picture(self):
        self.check(2, tiny.kl, (2, 4, 16, 10))
        self.check(3, tiny.kl, (1, 4, 13, 10), limit="64MiB")

    def test_clips(self):
        self.check(2, tiny.wan, (1, 16, 3, 5, 7), limit="64MiB")

    def test_more_ranks_than_rows(self):
        self.check(3, tiny.dc, (1, 4, 2, 9))

    def test_sixteen_bits_come_back_as_such(self):
        def body(rank: int) -> Any:
            vae, z = tiny.kl().to(torch.bfloat16), latent(1, 4, 8, 8).to(torch.bfloat16)
            headroom.enable(vae)
            alone = vae.decode(z).sample
            headroom.enable(vae, group=dist.group.WORLD)
            together = vae.decode(z).sample
            return together.dtype, float((together.float() - alone.float()).abs().max() / alone.float().abs().max())

        for dtype, error in by_ranks(2, body):
            self.assertEqual(dtype, torch.bfloat16)
            self.assertLessEqual(error, 2e-2)

    def test_some_ranks_of_the_world_while_their_group_carries_something_else(self):
        def body(rank: int) -> Any:
            vae, z = tiny.kl(), latent(1, 4, 11, 8)
            group = dist.new_group([1, 2])
            if rank == 0:
                return raised(lambda: headroom.enable(vae, group=group))
            headroom.enable(vae, group=group)
            total = torch.ones(1)
            work = dist.all_reduce(total, group=group, async_op=True) if rank == 1 else None
            error = error_of(vae, z, vae.decode(z).sample)
            (work or dist.all_reduce(total, group=group, async_op=True)).wait()
            return error, float(total)

        outside, *inside = by_ranks(3, body)
        self.assertEqual(outside[0], "InputError", outside)
        self.assertIn("member", outside[1])
        for error, total in inside:
            self.assertLessEqual(error, EXACT)
            self.assertEqual(total, 2)

    def test_a_rank_of_several_groups(self):
        def body(rank: int) -> Any:
            groups = [dist.new_group([0, 1]), dist.new_group([1, 2])]
            vae, errors = tiny.kl(), []
            for seed, group in enumerate(groups):
                if group != dist.GroupMember.NON_GROUP_MEMBER:
                    headroom.enable(vae, group=group)
                    z = latent(1, 4, 9, 8, seed=seed)
                    errors.append(error_of(vae, z, vae.decode(z).sample))
            return errors

        results = by_ranks(3, body, timeout=10)
        self.assertEqual([len(errors) for errors in results], [1, 2, 1], results)
        self.assertLessEqual(max(sum(results, [])), EXACT)

    def test_for_rank_0_alone(self):
        def body(rank: int) -> Any:
            vae, z = tiny.kl(), latent(1, 4, 11, 8)
            headroom.enable(vae, group=dist.group.WORLD, gather="rank0", verify=True)
            sample = vae.decode(z).sample
            return error_of(vae, z, sample) if rank == 0 else tuple(sample.shape)

        first, *others = by_ranks(3, body)
        self.assertLessEqual(first, EXACT)
        self.assertEqual(others, [(0, 3, 22, 16)] * 2)

    def test_ranks_that_decode_something_else_are_refused_by_all(self):
        def body(rank: int) -> Any:
            odd = rank == 1
            vae, z = tiny.kl(seed=5 if odd else 0), latent(1, 4, 8, 8)
            handle = headroom.enable(vae, group=dist.group.WORLD)
            said = [raised(lambda: vae.decode(z))]
            with torch.no_grad():
                vae.load_state_dict(tiny.kl().state_dict())
            said.append(raised(lambda: vae.decode(latent(1, 4, 8, 8, seed=1 if odd else 0))))
            said.append(raised(lambda: vae.decode(latent(1, 4, 8, 6 if odd else 8))))
            said.append(raised(lambda: vae.decode(latent(1, 3 if odd else 4, 8, 8))))
            connected = handle.decoder._exchange._connected
            error = error_of(vae, z, vae.decode(z).sample)
            other = tiny.kl(norm_num_groups=16 if odd else 32)
            headroom.enable(other, group=dist.group.WORLD)
            said.append(raised(lambda: other.decode(z)))
            return said, error, connected is handle.decoder._exchange._connected

        for rank, result in enumerate(by_ranks(3, body)):
            said, error, same_connections = result
            self.assertLessEqual(error, EXACT)
            self.assertTrue(same_connections)
            for expected, (name, text) in zip(
                ("rank 1 has another weights than rank 0", "rank 1 has another latent than rank 0", "1x4x8x6 rather than 1x4x8x8",
                 "expected N×4×H×W, found 1×3×8×8", "rank 1 has another decoder than rank 0"),
                said, strict=True,
            ):  # fmt: skip
                self.assertIn(expected, text)
                self.assertNotIn("\n", text)
                own = rank == 1 and "N×4" in expected
                self.assertEqual(name, "InputError" if own else "ExchangeError")
                self.assertEqual(text.startswith("rank 1 ended: "), "N×4" in expected and not own)

    def test_a_rank_that_raises_ends_all_and_the_next_decode_is_well(self):
        def body(rank: int) -> Any:
            vae, z = tiny.kl(), latent(1, 4, 24, 8)
            group = dist.new_group([0, 1, 2])
            said, begun = [], time.monotonic()
            for after in (0, 4):  # at once, and with rows on their way

                def stop(share: float) -> None:
                    if handle.decoder._exchange._next_ticket - tickets >= after:
                        raise ValueError("no more\nof this")
                    time.sleep(0.05)  # it is told often enough

                handle = headroom.enable(vae, group=group, progress=stop if rank == 1 else None)
                tickets = handle.decoder._exchange._next_ticket
                said.append(raised(lambda: vae.decode(z)))
            seconds = time.monotonic() - begun
            headroom.enable(vae, group=group)
            return said, seconds, error_of(vae, z, vae.decode(z).sample)

        for rank, result in enumerate(by_ranks(3, body)):
            self.assertIsInstance(result, tuple, result)
            said, seconds, error = result
            self.assertEqual(said, [("ValueError", "no more\nof this") if rank == 1 else ("ExchangeError", "rank 1 ended: no more")] * 2)
            self.assertLess(seconds, 30)
            self.assertLessEqual(error, EXACT)

    def test_an_interrupt_while_a_rank_waits(self):
        def body(rank: int) -> Any:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            vae, z = tiny.kl(), latent(1, 4, 24, 8)
            pauses = [3]  # once: the other has come to wait by then
            slow = lambda share: time.sleep(pauses.pop() if pauses else 0)  # noqa: E731
            headroom.enable(vae, group=dist.group.WORLD, progress=slow if rank == 1 else None)
            if rank == 0:
                threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                vae.decode(z)
                said = "nothing"
            except (KeyboardInterrupt, headroom.ExchangeError) as error:
                said = type(error).__name__
            headroom.enable(vae, group=dist.group.WORLD)
            return said, error_of(vae, z, vae.decode(z).sample)

        for rank, result in enumerate(by_ranks(2, body)):
            self.assertIsInstance(result, tuple, result)
            self.assertEqual(result[0], ("KeyboardInterrupt", "ExchangeError")[rank])
            self.assertLessEqual(result[1], EXACT)

    def test_a_rank_that_is_killed(self):
        def body(rank: int) -> Any:
            vae, z = tiny.kl(), latent(1, 4, 24, 8)
            kill = lambda share: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731
            handle = headroom.enable(vae, group=dist.group.WORLD, progress=kill if rank == 1 else None)
            handle.decoder._exchange.timeout = datetime.timedelta(seconds=3)
            said = [raised(lambda: vae.decode(z)) for _ in range(2)]
            headroom.enable(vae, group=dist.new_group([0, 2], use_local_synchronization=True))
            return said, error_of(vae, z, vae.decode(z).sample)

        first, dead, last = by_ranks(3, body)
        self.assertIsNone(dead)
        self.assertEqual(first, last)
        said, error = first
        self.assertEqual([name for name, _ in said], ["ExchangeError"] * 2)
        self.assertRegex(said[0][1], "^(rank 1|another rank) has ended .*$")
        self.assertEqual(said[1][1], "the group's 3 ranks did not come together in 3 s")
        self.assertLessEqual(error, EXACT)

    def test_a_rank_that_does_not_answer_in_the_groups_timeout(self):
        def body(rank: int) -> Any:
            pauses = [6] if rank == 1 else []
            vae, z = tiny.kl(), latent(1, 4, 24, 8)
            headroom.enable(vae, group=dist.group.WORLD, progress=lambda share: time.sleep(pauses.pop() if pauses else 0))
            return raised(lambda: vae.decode(z))

        for name, text in by_ranks(3, body, timeout=2):
            self.assertEqual(name, "ExchangeError")
            self.assertRegex(text, "^(rank [01]|another rank) did not answer in 2 s$")

    def test_each_rank_has_a_limit_of_its_own(self):
        def body(rank: int) -> Any:
            vae, z = tiny.kl(), latent(1, 4, 32, 32)
            tight = headroom.enable(vae, group=dist.group.WORLD, limit="1MiB" if rank == 1 else "64MiB")
            try:
                vae.decode(z)
            except headroom.DoesNotFit as refused:
                text, smallest = str(refused), refused.smallest_limit_bytes
            handle = headroom.enable(vae, group=dist.group.WORLD, limit=smallest if rank == 1 else None)
            error = error_of(vae, z, vae.decode(z).sample)
            prediction = handle.predict(64, 64)
            return text, smallest, error, handle.last.plan.peak_bytes, prediction.peak_bytes, tight.predict(64, 64).fits

        results = by_ranks(2, body)
        self.assertEqual(results[0][:2], results[1][:2])
        for rank, (text, smallest, error, peak, predicted, fits) in enumerate(results):
            self.assertRegex(text, "^AutoencoderKL 64x64 fp32 by 2 ranks does not fit .* each; the smallest limit .*$")
            self.assertLessEqual(error, EXACT)
            self.assertLessEqual(peak, smallest)
            self.assertEqual(fits, rank == 0)

    def test_what_does_not_go_with_a_group(self):
        def body(rank: int) -> Any:
            vae, group = tiny.kl(), dist.group.WORLD
            handle = headroom.enable(vae, group=group)
            with mock.patch.object(Parameters, "device", lambda self: "cuda:0"):
                refused_on_a_gpu = raised(lambda: headroom.enable(vae, group=group))
                while_enabled = raised(lambda: vae.decode(latent(1, 4, 8, 8)))
            copied = pickle.loads(pickle.dumps(vae))
            return [
                raised(lambda: headroom.enable(vae, group=group, scratch="/tmp")),
                raised(lambda: headroom.enable(vae, group=group, gather="some")),
                raised(lambda: headroom.enable(vae, gather="rank0")),
                raised(lambda: headroom.enable(vae, group="world")),
                refused_on_a_gpu,
                while_enabled,
            ], headroom.handle_of(copied).options.group

        for refused, group in by_ranks(2, body):
            self.assertIsNone(group)
            for expected, (name, text) in zip(
                ("scratch: not with group=", "gather: expected one of 'all', 'rank0', found 'some'", "gather='rank0': expected a group",
                 "group: expected a process group", "group=: on the CPU only so far", "group=: on the CPU only so far"),
                refused, strict=True,
            ):  # fmt: skip
                self.assertEqual(name, "InputError")
                self.assertIn(expected, text)
        alone = by_ranks(1, lambda rank: type(headroom.enable(tiny.kl(), group=dist.group.WORLD).decoder).__name__)
        self.assertEqual(alone, ["ModuleDecoder"])


if __name__ == "__main__":
    unittest.main()
