#!/usr/bin/env python3
"""Writes one value as pickles of every protocol, for tests of decoder/files/pickle.h. Needs nothing but Python.

    python3 tests/reference/make_pickles.py tests/data/pickles
"""

import argparse
import array
import collections
import datetime
import fractions
import pathlib
import pickle


class Storage:
    """An object stored outside the pickle, like torch's storages."""


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        return "storage 7" if isinstance(value, Storage) else None


def value():
    shared = ["twice"]
    cycle = [1]
    cycle.append(cycle)
    named = collections.OrderedDict(b=1, a=2)
    named.note = "kept"
    return {
        "none": None, "true": True, "false": False,
        "integers": [0, 255, 256, 65535, 65536, -1, -2**31, 2**31, 2**63 - 1, -2**63],
        "reals": [0.5, -1e300, float("inf")],
        "text": "plain", "accents": "Grüße \u4f60\u597d \U0001f600 \\ 'quoted' \n", "long text": "x" * 300,
        "bytes": b"\x00\xff'\n",
        "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
        "long list": list(range(1001)),
        "long dict": {i: i * i for i in range(1001)},
        "shared": [shared, shared], "cycle": cycle,
        "set": {1}, "frozen set": frozenset([2]),
        "ordered dict": named,
        "deque": collections.deque([1, 2]),
        "date": datetime.date(2026, 1, 2),
        "fraction": fractions.Fraction(1, 3),
        "array": array.array("i", [1]),
        "global": len,
        "storage": Storage(),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    for protocol in range(2, 6):
        with open(folder / f"protocol{protocol}.pickle", "wb") as out:
            Pickler(out, protocol).dump(value())


if __name__ == "__main__":
    main()
