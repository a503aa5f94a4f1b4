#!/usr/bin/env python3
"""Functions of the product have at most 80 lines and 6 parameters. Kernels are exempt from the first limit.

    function_size_test.py --list    prints larger functions
"""

import sys
import unittest

from cpp_source import Function, Source, parse, parse_product

MOST_LINES = 80
MOST_PARAMETERS = 6


def too_large(sources: list[Source]) -> list[str]:
    def place(function: Function) -> str:
        return f"{function.file}:{function.line} {function.name}"

    functions = [function for source in sources for function in source.functions]
    long = [f for f in functions if f.lines > MOST_LINES and not ("/kernels/" in f.file and f.file.endswith(".cu"))]
    # Inner loops on the CPU take plain pointers and numbers, like kernels.
    wide = [f for f in functions if f.parameters > MOST_PARAMETERS and not f.file.startswith("decoder/cpu/loops/")]
    return ([f"{place(f)}: {f.lines} lines" for f in sorted(long, key=lambda f: -f.lines)] +
            [f"{place(f)}: {f.parameters} parameters" for f in sorted(wide, key=lambda f: -f.parameters)])


class FunctionSize(unittest.TestCase):
    def test_product(self):
        self.assertEqual(too_large(parse_product()), [])

    def test_counts(self):
        text = """
        namespace a {
        int seven(int a, std::map<int, int> b, int (*c)(int, int), std::array<int, 2> d = {1, 2}, int e, int f,
                  std::function<void(int, int)> g);
        struct S final : Base<1, 2> {
          S(int a, int b) : a_{a}, b_(b) {
            f([&](int x) { return x; });
          }
          template <typename T, int N>
          auto operator()(T a, T b) const noexcept(N > 1) -> int { return 1; }
          int a_ = g(1, 2), b_{3};
        };
        const auto table = make(1, 2, 3, 4, 5, 6, 7);
        }"""
        source = parse(text, "a.cpp")
        self.assertTrue(source.balanced)
        self.assertEqual([(f.name, f.parameters, f.lines) for f in source.functions],
                         [("seven", 7, 0), ("S", 2, 3), ("operator()", 2, 2)])
        self.assertEqual(too_large([source]), ["a.cpp:3 seven: 7 parameters"])
        long = parse("void f() {" + "\n" * 80 + "}", "decoder/gpu/kernels/a.cpp")
        self.assertEqual(too_large([long]), ["decoder/gpu/kernels/a.cpp:1 f: 81 lines"])
        long.functions[0].file = "decoder/gpu/kernels/a.cu"
        self.assertEqual(too_large([long]), [])


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print(*too_large(parse_product()), sep="\n")
    else:
        unittest.main()
