#!/usr/bin/env python3
"""What reports/bench/counted_exchange.py counts of torch.distributed's functions, as one of four ranks that hand nothing on.

    python3 -m unittest tests/reports/bench/counted_exchange_test.py
"""

import sys
import unittest
from pathlib import Path

import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "reports" / "bench"))
from counted_exchange import CountedExchange  # noqa: E402

RANKS, RANK = 4, 1


class Counted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        dist.init_process_group("fake", store=FakeStore(), rank=RANK, world_size=RANKS)

    @classmethod
    def tearDownClass(cls):
        dist.destroy_process_group()

    def sent_by(self, call):
        with CountedExchange() as counted:
            call()
        return counted.sent_bytes

    def test_messages_count_as_they_are(self):
        self.assertEqual(self.sent_by(lambda: dist.send(torch.zeros(10), 2)), 40)
        self.assertEqual(self.sent_by(lambda: dist.isend(torch.zeros(10, dtype=torch.bfloat16), 2)), 20)

    def test_batched_messages_count_once_and_received_ones_not_at_all(self):
        with CountedExchange() as counted:
            messages = [dist.P2POp(dist.isend, torch.zeros(10), 2), dist.P2POp(dist.irecv, torch.zeros(99), 0)]
            dist.batch_isend_irecv(messages)
        self.assertEqual((counted.sent_bytes, counted.calls), (40, {"isend": 1}))

    def test_collectives_count_what_a_rank_must_send(self):
        tensor = torch.zeros(10)
        self.assertEqual(self.sent_by(lambda: dist.all_gather([torch.zeros(10) for _ in range(RANKS)], tensor)), 3 * 40)
        self.assertEqual(self.sent_by(lambda: dist.all_reduce(tensor)), 2 * 3 * 40 // 4)
        self.assertEqual(self.sent_by(lambda: dist.broadcast(tensor, src=RANK)), 40)
        self.assertEqual(self.sent_by(lambda: dist.broadcast(tensor, src=0)), 0)
        self.assertEqual(self.sent_by(lambda: dist.gather(tensor, dst=0)), 40)

    def test_what_has_no_rule_is_refused(self):
        with CountedExchange(), self.assertRaisesRegex(RuntimeError, "torch.distributed.all_to_all_single"):
            dist.all_to_all_single(torch.zeros(4), torch.zeros(4))

    def test_afterwards_nothing_is_counted(self):
        isend, reduce = dist.isend, dist.all_reduce
        with CountedExchange() as counted:
            self.assertIsNot(dist.isend, isend)
        self.assertIs(dist.isend, isend)
        self.assertIs(dist.all_reduce, reduce)
        dist.all_reduce(torch.zeros(10))
        self.assertEqual(counted.sent_bytes, 0)


if __name__ == "__main__":
    unittest.main()
