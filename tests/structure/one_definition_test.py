#!/usr/bin/env python3
"""No two types of the product share a name. Linking both into one program is undefined behaviour that no tool detects."""

import unittest

from cpp_source import Source, parse, parse_product


def defined_twice(sources: list[Source]) -> list[str]:
    places: dict[str, dict[str, int]] = {}
    for source in sources:
        for found in source.types:
            places.setdefault(found.name, {}).setdefault(found.file, found.line)
    return [name + ": " + " and ".join(f"{file}:{line}" for file, line in files.items())
            for name, files in sorted(places.items()) if len(files) > 1]


class OneDefinition(unittest.TestCase):
    def test_product(self):
        self.assertEqual(defined_twice(parse_product()), [])

    def test_finds_pairs(self):
        first = "namespace a::b { struct Row { int x; enum class Kind { one }; }; }"
        again = "namespace a { namespace b {\n template <typename T> // {\n class Row final : public Base<T> {}; } }"
        self.assertEqual(defined_twice([parse(first, "1.h"), parse(again, "2.cpp")]), ["a::b::Row: 1.h:1 and 2.cpp:2"])

    def test_leaves_what_is_no_pair(self):
        for other in ("namespace a::b { namespace { struct Row { int x; }; } }",      # local to its file
                      "namespace a::c { struct Row {}; }",                              # another namespace
                      "namespace a::b { struct Row; struct Row f(int x) { return {}; } }",
                      "namespace a::b { void f() { struct Row { int x; }; } }",        # local to its function
                      "namespace a::b { template <class Row> struct Column { Row* row{}; }; }"):
            first = parse("namespace a::b { struct Row { int x; }; }", "1.h")
            self.assertEqual(defined_twice([first, parse(other, "2.cpp")]), [], other)


if __name__ == "__main__":
    unittest.main()
