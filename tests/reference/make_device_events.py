#!/usr/bin/env python3
"""Writes recordings of a decode on a GPU (headroom.events) and the tables that must come of them.

Nothing is decoded: what happens is drawn from a seed, and what those who watch would tell of it is written in
several ways. The tables are worked out here from what happened, by the rules that docs/formats.md states; no code is
shared with the program. Needs nothing but Python.

    python3 tests/reference/make_device_events.py tests/data/device_events
"""

import argparse
import json
import pathlib
import random

KINDS = ["weights", "latent", "kept", "tile", "workspace", "slack", "libraries", "context"]
OWN = KINDS[:5]
BASE = 0x7F0000000000
MIB = 1 << 20
SEGMENT = 64 * MIB


class Decode:
    """What happens, by the host's clock, and when the GPU meets it."""

    def __init__(self, plan, seed, first_correlation):
        self.random = random.Random(seed)
        self.plan = plan
        self.correlation = first_correlation
        self.now = 1_000_000_000
        self.free_at = {7: 0, 13: 0, 14: 0}  # streams: kernels, copies there and back
        self.own = []  # (host time, row): what the decode tells
        self.driver = []  # (time, row): what allocator and driver tell
        self.cupti = []  # rows of activities and scopes
        self.scopes = 0
        self.places = {}
        self.libraries = {}
        self.context = 300 * MIB
        self.segment = 0
        self.run()

    def tick(self):
        self.now += self.random.randint(200, 4000)
        return self.now

    def number(self):
        self.correlation = (self.correlation + 1) % (1 << 32)
        return self.correlation

    def count(self):
        used = self.context + self.segment + sum(self.libraries.values())
        self.driver.append((self.tick(), ["counted", self.now, used]))

    def take_library(self):
        address = 0x700000000000 + (len(self.driver) << 32)
        self.libraries[address] = 4096 * self.random.randint(1, 900)
        self.driver.append((self.tick(), ["driver", self.now, address, self.libraries[address], self.number(), "device", 0, 0]))

    def give_library(self):
        address = next(iter(self.libraries))
        size = self.libraries.pop(address)
        self.driver.append((self.tick(), ["driver", self.now, address, -size, self.number(), "device", 0, 0]))

    def take(self, kind, layer, size):
        address = BASE + sum(self.places.values())
        while any(address < a + s and a < address + size for a, s in self.places.items()):
            address += 512
        self.places[address] = size
        self.own.append((self.tick(), ["allocated", self.now, address, size, kind, layer]))
        return address

    def give(self, address):
        del self.places[address]
        self.own.append((self.tick(), ["freed", self.now, address]))

    def launch(self, stream, kind, name, size):
        self.tick()
        number = self.number()
        begin = max(self.free_at[stream], self.now) + self.random.randint(0, 2000)
        end = begin + self.random.randint(100, 30_000)
        self.free_at[stream] = end
        self.cupti.append(["activity", begin, end, number, stream, size, kind, name])
        self.cupti.append(["scope_of_call", number, self.scopes])

    def scope(self, number, tile, step):
        self.scopes += 1
        self.own.append((self.tick(), ["scope", self.now, self.scopes, 0, number, tile, step]))

    def run(self):
        self.count()
        self.segment = SEGMENT
        # The driver gives more than the allocator asks for.
        self.driver.append((self.tick(), ["driver", self.now, BASE, self.segment, self.number(), "device", 0, 0]))
        self.driver.append((self.tick(), ["segment", self.now, BASE, self.segment - MIB]))
        self.take("weights", -1, 3 * MIB)
        self.take_library()
        for number, program in enumerate(self.plan["passes"]):
            self.count()
            tiles = len(program["tiles"]["t"]) * len(program["tiles"]["y"]) * len(program["tiles"]["x"])
            for tile in range(tiles):
                for step in range(len(program["steps"])):
                    self.scope(number, tile, step)
                    self.step(number)
            self.scope(number, -1, -1)
        self.now = max([self.now, *self.free_at.values()])
        for address in list(self.places):
            self.give(address)
        self.driver.append((self.tick(), ["segment", self.now, BASE, -(self.segment - MIB)]))
        self.driver.append((self.tick(), ["driver", self.now, BASE, -self.segment, self.number(), "device", 0, 0]))
        self.segment = 0
        self.count()

    def step(self, layer):
        taken = [self.take("tile", layer, 512 * self.random.randint(1, 900))]
        if self.random.random() < 0.5:
            taken.append(self.take("workspace", layer, 512 * self.random.randint(1, 90)))
        if self.random.random() < 0.2:
            self.take("kept", layer, 512 * self.random.randint(1, 300))
        for kernel in range(self.random.randint(1, 2)):
            self.launch(7, "kernel", f"kernel {kernel}", 0)
        if self.random.random() < 0.1:
            self.launch(self.random.choice([13, 14]), "copy", "device to host", 4096)
        if self.random.random() < 0.05:
            self.take_library()
        if self.random.random() < 0.05 and self.libraries:
            self.give_library()
        if self.random.random() < 0.1:
            self.context += 4096 * self.random.randint(1, 20)
        for address in taken:
            self.give(address)


def by_device(decode, cupti):
    """The decode's own events at the times at which the GPU meets them, and where in the plan it is from when on."""
    scope_of = {row[1]: row[2] for row in cupti if row[0] == "scope_of_call"}
    spans = {}
    for row in cupti:
        if row[0] == "activity" and row[4] == 7 and row[3] in scope_of:
            begin, end = spans.get(scope_of[row[3]], (row[1], row[2]))
            spans[scope_of[row[3]]] = (min(begin, row[1]), max(end, row[2]))
    steps = [len(program["steps"]) for program in decode.plan["passes"]]
    now, span, current, place = decode.own[0][0], None, None, (-1, -1)
    reported, places = [], [(0, place)]
    for at, row in decode.own:
        if row[0] == "scope":
            if current is not None and current[6] >= 0:
                now = max(now, span[1] if span else at)
                if current[6] + 1 == steps[current[4]]:
                    place = (place[0], -1)
                    places.append((now, place))
            span, current = spans.get(row[2]), row
            now = max(now, span[0] if span else at)
            if row[6] == 0:
                place = (row[4], row[5])
                places.append((now, place))
            continue
        # Taken when the step's first kernel begins, given back when its last one has ended.
        now = max(now, at if not span else now if row[0] == "allocated" else span[1])
        reported.append((now, row, place))
    return reported, places


def table(decode, driver, cupti, layers):
    """What headroom-profile --csv must write."""
    own, places = by_device(decode, cupti)
    happened = [(at, 1, i, row, place) for i, (at, row, place) in enumerate(own)]
    for i, (at, row) in enumerate(driver):
        rank = 2 if row[0] == "counted" else 0 if row[3] > 0 else 3
        happened.append((at, rank, i, row, [place for time, place in places if time <= at][-1]))
    happened.sort(key=lambda one: one[:3])
    start = happened[0][0]
    live, taken, libraries = dict.fromkeys(KINDS, 0), {}, {}
    lines = ["seconds,kind,layer,pass,tile,bytes," + ",".join(f"{kind}_bytes" for kind in KINDS) + ",all_bytes"]
    for at, _, _, row, place in happened:
        kind, layer, size = None, -1, 0
        if row[0] == "allocated":
            kind, layer, size = row[4], row[5], row[3]
            taken[row[2]] = row
        elif row[0] == "freed":
            kind, layer, size = taken[row[2]][4], taken[row[2]][5], -taken.pop(row[2])[3]
        elif row[0] == "segment":
            kind, size = "slack", SEGMENT if row[3] > 0 else -SEGMENT  # as large as the driver says
        elif row[0] == "driver" and row[2] != BASE:
            kind, size = "libraries", row[3] if row[3] > 0 else -libraries.pop(row[2], 0)
            if row[3] > 0:
                libraries[row[2]] = row[3]
        elif row[0] == "counted":
            kind, size = "context", row[2] - sum(live.values())
        if kind is None or size == 0:
            continue
        live[kind] += size
        if kind in OWN:
            live["slack"] -= size
        cells = [f"{(at - start) * 1e-9:.6f}", kind, layers[layer] if layer >= 0 else "",
                 *(number if number >= 0 else "" for number in place), size, *live.values(), sum(live.values())]
        lines.append(",".join(map(str, cells)))
    return "\n".join(lines) + "\n"


def write(path, plan, rows):
    request = plan["request"]
    name = (f"{request['width_pixels']}x{request['height_pixels']}, frames {request.get('frames', 1)}, batch {request['batch']}, "
            f"{request['dtype']}, {request['device']}, {len(plan['passes'])} passes, peak {plan['predicted']['peak_bytes']}")
    head = {"schema": "headroom.events", "version": 2, "plan": name, "device": "a GPU", "libraries": "some",
            "sources": [{"name": "CUPTI memory", "captured": True, "detail": ""}]}
    path.write_text("\n".join(json.dumps(row, separators=(",", ":")) for row in [head, *rows]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="with plan.json; takes what is written")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    plan = json.loads((options.folder / "plan.json").read_text())
    layers = json.loads((options.folder / "layers.json").read_text())
    draw = random.Random(options.seed)

    decode = Decode(plan, options.seed, 100)
    captured = [row for _, row in decode.own] + [row for _, row in decode.driver]
    (options.folder / "expected.csv").write_text(table(decode, decode.driver, decode.cupti, layers))
    # As buffers are handed on: those of each stream by themselves, marks apart from what they mark.
    streams = sorted(decode.cupti, key=lambda row: row[4] if row[0] == "activity" else 99)
    write(options.folder / "interleaved.jsonl", plan, captured + streams)
    shuffled = captured + decode.cupti
    draw.shuffle(shuffled)
    write(options.folder / "out_of_order.jsonl", plan, shuffled)
    # The same once more, with a counter that begins again while it runs.
    wrapped = Decode(plan, options.seed, (1 << 32) - 60)
    write(options.folder / "wrapped.jsonl", plan,
          [row for _, row in wrapped.own] + [row for _, row in wrapped.driver] + wrapped.cupti)
    # Some buffers never came: of activities and marks, and of the driver's memory.
    lost_of = {i for begin in range(41, len(decode.cupti), 160) for i in range(begin, begin + 50)}
    kept = [row for i, row in enumerate(decode.cupti) if i not in lost_of]
    reported = [one for i, one in enumerate(decode.driver)
            if not (one[1][0] == "driver" and one[1][2] != BASE and i % 2 == 1)]
    lost = len(decode.cupti) - len(kept) + len(decode.driver) - len(reported)
    write(options.folder / "lost.jsonl", plan,
          [row for _, row in decode.own] + [row for _, row in reported] + kept + [["lost", lost]])
    (options.folder / "expected_lost.csv").write_text(table(decode, reported, kept, layers))


if __name__ == "__main__":
    main()
