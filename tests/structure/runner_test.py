#!/usr/bin/env python3
"""The runner takes jobs of any kind, so its code names no direction, no file of requests and no rank."""

import re
import unittest

from cpp_source import CODE, product_texts

RUNNER = "planner/run/"
KINDS = re.compile(r"\b(Direction|direction|encodes|RequestQueue|QueuedRequest|QueuedDecode|RankShare|Exchange|RankStats)\b")


def code_of(text: str) -> str:
    return re.sub(r"//.*", "", text)


class Runner(unittest.TestCase):
    def test_names_no_kind_of_run(self):
        texts = {file: code_of(text) for file, text in product_texts(CODE).items() if file.startswith(RUNNER)}
        self.assertGreaterEqual(len(texts), 5)
        self.assertEqual([(file, found.group()) for file, text in texts.items() for found in KINDS.finditer(text)], [])

    def test_finds_kinds(self):
        self.assertTrue(KINDS.search("if (request.direction == Direction::encode)"))
        self.assertFalse(KINDS.search(code_of("int x;  // of a RequestQueue")))


if __name__ == "__main__":
    unittest.main()
