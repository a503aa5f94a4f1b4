#!/usr/bin/env python3
"""Only files in decoder/families may name a family's class, or the Python file that defines it."""

import re
import unittest

from cpp_source import CODE, ROOT, product_texts

FAMILIES = "decoder/families"


def names_of_records() -> list[str]:
    text = "".join(path.read_text() for path in sorted((ROOT / FAMILIES).glob("*.cpp")))
    return re.findall(r'\.(?:class_name|source_file) = "([^"]+)"', text)


def other_texts() -> dict[str, str]:
    """Files outside of the families' folder."""
    return {file: text for file, text in product_texts(CODE).items() if not file.startswith(FAMILIES + "/")}


def naming(names: list[str], texts: dict[str, str]) -> list[str]:
    whole = re.compile(r"\b(" + "|".join(map(re.escape, names)) + r")\b")
    return [f"{file}:{number}: {line.strip()}" for file, text in texts.items()
            for number, line in enumerate(text.split("\n"), start=1) if whole.search(line)]


class Families(unittest.TestCase):
    def test_product(self):
        self.assertEqual(naming(names_of_records(), other_texts()), [])

    def test_finds_names(self):
        names = names_of_records()
        self.assertGreaterEqual(len(names), 28)  # one class and one file for each of 14 families
        for name in names:
            self.assertEqual(naming(names, {"a.py": f"import os\n# As {name} has it.\n"}), [f"a.py:2: # As {name} has it."])
        self.assertGreater(len(other_texts()), 300)


if __name__ == "__main__":
    unittest.main()
