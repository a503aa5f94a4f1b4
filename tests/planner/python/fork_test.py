"""Children of fork() decode like their parent. They get an error if the parent was decoding during the fork."""

from __future__ import annotations

import os
import signal
import threading
import types
import unittest

import headroom_vae
import tiny
import torch
from headroom_vae.fork_aware_lock import ForkAwareLock
from tiny import latent


class Fork(tiny.Case):
    def test_a_child_of_fork_decodes_as_its_parent_does(self):
        vae, z = tiny.kl(), latent(1, 4, 16, 16)
        headroom_vae.enable(vae)
        expected = vae.decode(z).sample
        child = os.fork()
        if child == 0:
            signal.alarm(120)
            os._exit(0 if torch.equal(vae.decode(z).sample, expected) else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_a_child_forked_during_a_decode_gets_an_error(self):
        vae, z = tiny.kl(), latent(1, 4, 16, 16)
        begun, forked = threading.Event(), threading.Event()

        def told(*_):
            begun.set()
            forked.wait(60)

        headroom_vae.enable(vae, progress=told)
        decoding = threading.Thread(target=lambda: vae.decode(z))
        decoding.start()
        self.assertTrue(begun.wait(60))
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            try:
                vae.decode(z)
            except headroom_vae.DeviceError as error:
                os._exit(0 if "forked" in str(error) else 2)
            os._exit(1)
        forked.set()
        decoding.join()
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        vae.decode(z)

    def test_a_child_forked_just_after_the_lock_was_taken_gets_an_error(self):
        lock, taken, forked = ForkAwareLock(), threading.Event(), threading.Event()
        inner = lock._lock

        def take(blocking=True):
            got = inner.acquire(blocking)
            if blocking:
                taken.set()
                forked.wait(60)
            return got

        def hold():
            with lock:
                pass

        lock._lock = types.SimpleNamespace(acquire=take, release=inner.release)
        holder = threading.Thread(target=hold)
        holder.start()
        self.assertTrue(taken.wait(60))
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            forked.set()
            try:
                hold()
            except headroom_vae.DeviceError:
                os._exit(0)
            os._exit(1)
        forked.set()
        holder.join()
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        hold()


if __name__ == "__main__":
    unittest.main()
