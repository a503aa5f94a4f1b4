"""A simple C++ parser for these tests. Finds the types and functions that a file defines. Needs no compiler.

A file is cut into tokens and its braces are followed. What stands before a brace says what the brace opens: a
namespace, a type, a function, or something else such as a lambda or an initializer.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("decoder", "profiler", "planner", "reports", "gui")
CODE = (".h", ".c", ".cpp", ".cu", ".py")

COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<delimiter>[^()\s\\]*)\(.*?\)(?P=delimiter)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL)
TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.']*|::|->|\[\[|\]\]|\S")
TYPE_KEYS = {"struct", "class", "union", "enum"}
NOT_FUNCTION_NAMES = {"alignas", "decltype", "noexcept", "explicit", "requires", "sizeof", "__attribute__", "__launch_bounds__",
                      "static_assert", "if", "while", "for", "switch", "return", "catch"}


@dataclass
class Function:
    file: str
    line: int
    name: str
    parameters: int
    lines: int = 0  # 0: declared only


@dataclass
class Type:
    file: str
    line: int
    name: str  # with its namespaces


@dataclass
class Source:
    functions: list[Function] = field(default_factory=list)
    types: list[Type] = field(default_factory=list)
    balanced: bool = True


def code_files(folders: tuple[str, ...], suffixes: tuple[str, ...]) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in suffixes)


def product_files(suffixes: tuple[str, ...] = (".h", ".cpp", ".cu")) -> list[Path]:
    return code_files(PRODUCT, suffixes)


def product_texts(suffixes: tuple[str, ...]) -> dict[str, str]:
    return {str(path.relative_to(ROOT)): path.read_text() for path in product_files(suffixes)}


def without_comments(text: str) -> str:
    """Removes comments and empties string and character literals. Keeps line numbers."""
    def replaced(match: re.Match) -> str:
        return ("" if match[0].startswith("/") else '""') + "\n" * match[0].count("\n")
    return COMMENT_OR_TEXT.sub(replaced, text)


def without_preprocessor(text: str) -> str:
    """Removes directives, and all but the first branch of conditionals."""
    kept, skipping, continued = [], [], False
    for line in text.split("\n"):
        directive = re.match(r"\s*#\s*(\w+)", line)
        if continued or directive:
            name = directive[1] if directive and not continued else ""
            if name.startswith("if"):
                skipping.append(False)
            elif name.startswith("el") and skipping:
                skipping[-1] = True
            elif name == "endif" and skipping:
                skipping.pop()
            continued = line.rstrip().endswith("\\")
            line = ""
        kept.append("" if any(skipping) else line)
    return "\n".join(kept)


def tokens_of(text: str) -> list[tuple[str, int]]:
    """Returns each token with its line number."""
    tokens = []
    for number, line in enumerate(without_preprocessor(without_comments(text)).split("\n"), start=1):
        tokens += [(match[0], number) for match in TOKEN.finditer(line)]
    return tokens


def without_template(head: list[str]) -> list[str]:
    """Removes leading `template <...>`."""
    while head and head[0] == "template":
        depth = i = 0
        for i, word in enumerate(head):
            depth += (word == "<") - (word == ">")
            if word == ">" and depth == 0:
                break
        head = head[i + 1:]
    return head


def groups(head: list[str]) -> list[tuple[int, int]]:
    """Indices of the ( and ) of each outermost pair of parentheses."""
    found, depth, begin = [], 0, 0
    for i, word in enumerate(head):
        if word == "(":
            begin = i if depth == 0 else begin
            depth += 1
        elif word == ")":
            depth -= 1
            if depth == 0:
                found.append((begin, i))
    return found


def parameter_list(head: list[str]) -> tuple[str, int, int] | None:
    """Name and parentheses of the function that `head` declares. Returns None if it declares something else."""
    if not head or head[0] in ("using", "typedef", "static_assert", "return"):
        return None
    for begin, end in groups(head):
        if begin == 0:
            continue
        if head[begin - 1] == "operator":  # operator()(...)
            continue
        before = head[:begin]
        if "operator" in before[-4:]:
            return "operator" + "".join(before[before.index("operator") + 1:]), begin, end
        if "=" in before:
            return None
        if re.match(r"[A-Za-z_]", before[-1]) and before[-1] not in NOT_FUNCTION_NAMES:
            return before[-1], begin, end
    return None


def count_parameters(words: list[str]) -> int:
    if not words or words == ["void"]:
        return 0
    depth = 0
    count = 1
    for word in words:
        depth += (word in "(<[{") - (word in ")>]}")
        count += word == "," and depth == 0
    return count


def type_name(head: list[str]) -> str | None:
    """Name of the type that `head {` defines, or "" if it is anonymous. Returns None if it defines no type."""
    key = next((i for i, word in enumerate(head) if word in TYPE_KEYS), None)
    if key is None or parameter_list(head[:key]):
        return None
    rest = head[key + 1:]
    if rest[:1] and rest[0] in ("class", "struct"):
        rest = rest[1:]
    if rest[:1] == ["[["]:
        rest = rest[rest.index("]]") + 1:]
    if rest[:1] == ["alignas"]:
        rest = rest[groups(rest)[0][1] + 1:]
    base = rest.index(":") if ":" in rest else len(rest)
    if "(" in rest[:base] or "=" in rest[:base]:
        return None
    return "".join(word for word in rest[:base] if word != "final")


def opens_member(head: list[str], list_end: int) -> bool:
    """True if a brace after `head` initializes a member, as in `Foo(int a) : a_{`."""
    behind = head[list_end + 1:]
    return ":" in behind and re.match(r"[A-Za-z_>]", head[-1]) is not None


class Parser:
    def __init__(self, text: str, file: str):
        self.tokens, self.file, self.at = tokens_of(text), file, 0
        self.source = Source()

    def scope(self, path: list[str], hidden: bool, nested: bool = False) -> None:
        """Parses a namespace or a type, up to its closing brace. `hidden`: within an anonymous namespace."""
        head: list[tuple[str, int]] = []
        while self.at < len(self.tokens):
            word, line = self.tokens[self.at]
            self.at += 1
            if word == "}":
                self.source.balanced &= nested
                return
            if word == ";":
                self.declared([w for w, _ in head], head)
                head = []
            elif word == "{":
                if self.opened(head, path, hidden):
                    head = []
                else:
                    head.append(("{}", line))
            elif word == ":" and [w for w, _ in head] in (["public"], ["private"], ["protected"]):
                head = []
            else:
                head.append((word, line))
        self.source.balanced &= not nested

    def declared(self, words: list[str], head: list[tuple[str, int]]) -> None:
        found = parameter_list(without_template(words))
        if found:
            name, begin, end = found
            words = without_template(words)
            self.source.functions.append(Function(self.file, head[0][1], name, count_parameters(words[begin + 1:end])))

    def opened(self, head: list[tuple[str, int]], path: list[str], hidden: bool) -> bool:
        """Reads the content of a brace. Returns False if the statement continues behind it."""
        words = without_template([word for word, _ in head])
        if "namespace" in words:
            names = [word for word in words[words.index("namespace") + 1:] if word not in ("::", "inline")]
            self.scope(path + names, hidden or not names, nested=True)
            return True
        if words[:1] == ["extern"] and len(words) == 3:  # extern "C"; the string literal is empty
            self.scope(path, hidden, nested=True)
            return True
        name = type_name(words)
        if name is not None:
            if name and not hidden:
                self.source.types.append(Type(self.file, head[0][1], "::".join([*path, name])))
            self.scope([*path, name], hidden or not name, nested=True)
            return False  # continues up to the semicolon
        found = parameter_list(words)
        if found and not opens_member(words, found[2]):
            last = self.skip()
            begin = head[0][1]
            self.source.functions.append(
                Function(self.file, begin, found[0], count_parameters(words[found[1] + 1:found[2]]), last - begin + 1))
            return True
        self.skip()
        return False

    def skip(self) -> int:
        """Skips past the closing brace. Returns its line."""
        depth = 1
        while self.at < len(self.tokens):
            word, line = self.tokens[self.at]
            self.at += 1
            depth += (word == "{") - (word == "}")
            if depth == 0:
                return line
        self.source.balanced = False
        return self.tokens[-1][1]


def parse(text: str, file: str) -> Source:
    parser = Parser(text, file)
    parser.scope([], hidden=False)
    return parser.source


def parse_product() -> list[Source]:
    sources = []
    for path in product_files():
        source = parse(path.read_text(), str(path.relative_to(ROOT)))
        if not source.balanced:
            raise AssertionError(f"{path.relative_to(ROOT)}: its braces do not match, or tests/structure/cpp_source.py misreads them")
        sources.append(source)
    return sources
