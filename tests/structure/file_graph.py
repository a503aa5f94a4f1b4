"""Which file names which: includes of C++ and imports of Python."""

import re
from pathlib import Path

from cpp_source import ROOT, product_files

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
IMPORT = re.compile(r"^ *(?:from (\.*[\w.]*) import (\([^)]*\)|[^\n]*)|import ([\w.]+))", re.MULTILINE)
Graph = dict[str, set[str]]


def cycles(graph: Graph) -> list[str]:
    """Strongly connected components with a cycle, one line each (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[str] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in order:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], order[other])
        if lowest[node] == order[node]:
            group = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(group) > 1 or node in graph.get(node, ()):
                found.append(", ".join(sorted(group)))

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def includes() -> Graph:
    """Includes of the product and the tests. Kernels compiled for the emulator include its header."""
    files = product_files() + [path for path in (ROOT / "tests").rglob("*") if path.suffix in (".h", ".cpp")]
    return {str(path.relative_to(ROOT)): {name for name in INCLUDE.findall(path.read_text()) if (ROOT / name).is_file()}
            for path in files}


def imports_of(file: str, text: str, modules: dict[str, str]) -> set[str]:
    """Files that a Python file imports, at its start or in a function. `modules`: files by the names of their modules."""
    package = Path(file).with_suffix("").parts
    found = set()
    for origin, names, whole in IMPORT.findall(text):
        dots = len(origin) - len(origin.lstrip("."))
        base = ".".join([*package[:len(package) - dots], *filter(None, [origin[dots:]])]) if dots else origin or whole
        members = [base + "." + word.split()[0] for word in re.sub(r"#.*|[()]", "", names).split(",") if word.strip()]
        submodules = {modules[name] for name in members if name in modules}
        found |= submodules or ({modules[base]} if base in modules else set())
    # A member may import its package, which names all of its members.
    return found - {file, str(Path(file).parent / "__init__.py")}


def imports(texts: dict[str, str]) -> Graph:
    """Imports among these Python files."""
    modules = {".".join(Path(file).with_suffix("").parts): file for file in texts}
    for name, file in list(modules.items()):
        parts = name.split(".")
        if parts[-1] == "__init__":
            modules[".".join(parts[:-1])] = file
        for i in range(1, len(parts)):  # scripts import by their folder, packages by their name
            modules.setdefault(".".join(parts[i:]), file)
    return {file: imports_of(file, text, modules) for file, text in texts.items()}
