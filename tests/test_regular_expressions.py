"""Every regular expression of the package takes time in proportion to the text it reads.

A text of a provider, a model or a file may be megabytes long and made to be slow: an expression
that looks through the rest of the text from each of its characters would stop a run for minutes.
"""

import ast
import importlib
import re
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from re import _constants as kinds
from re import _parser as parser
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import maseval

ROOT = Path(maseval.__file__).parent
FUNCTIONS = {"compile", "search", "match", "fullmatch", "sub", "subn", "findall", "finditer"}
FUNCTIONS |= {"split"}
# A step for each pair of characters shows at the last, and an expression that would take hours for
# it is stopped on the way.
LENGTHS = (16, 64, 256, 2_048)
# Of the processor: a step for each character of the last takes a twentieth of it.
NOTICED = 0.001
# Twice the text takes twice as long where each character takes a step, four times where each pair.
GROWTH = 3.0
ANCHORED = {"match", "fullmatch"}
NOT_FOREIGN = {
    "app/running/folder_run.py": "reads an option of the command line",
    "benchmark/tau2/texts/": "reads source files of a known hash, and limits their length",
    "benchmark/tau2/review/audit/": "reads the files of a benchmark, which its author checks",
}
MADE_WHILE_RUNNING = {
    "benchmark/tau2/app/running/rewording.py": "an escaped word of a task",
    "benchmark/tau2/domains/banking_knowledge/documents.py": "given by the agent, as a tool's rule",
    "benchmark/tau2/scoring/rule.py": "an escaped value of a task",
    "cli/run_file.py": "an escaped name",
    "core/user.py": "an escaped word",
    "interface/agents/acp.py": "escaped names of tools",
    "interface/inference/http.py": "words of the package",
    "view/site.py": "escaped paths",
}
SAMPLES = {
    kinds.CATEGORY_DIGIT: "0",
    kinds.CATEGORY_SPACE: " ",
    kinds.CATEGORY_WORD: "a",
    kinds.CATEGORY_NOT_DIGIT: "x",
    kinds.CATEGORY_NOT_SPACE: "x",
    kinds.CATEGORY_NOT_WORD: "-",
}


class Use(NamedTuple):
    """An expression, and whether it is only tried at the beginning of a text."""

    pattern: str | bytes
    flags: int
    anchored: bool


def expressions() -> dict[str, Use | None]:
    """Every expression of the package, by the place where it is; None if it is made later."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text(encoding="utf-8")
        if "import re\n" not in text or name.startswith(tuple(NOT_FOREIGN)):
            continue
        tree = ast.parse(text)
        methods = methods_called(tree)
        for node in ast.walk(tree):
            for call in ast.walk(node) if isinstance(node, ast.Assign) else [node]:
                if is_use(call):
                    target = ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else ""
                    used = methods.get(target, {call.func.attr})
                    found.setdefault(f"{name}:{call.lineno}", evaluate(call, path, used))
    return found


def methods_called(tree: ast.AST) -> dict[str, set[str]]:
    """The methods that are called of each name, such as of a compiled expression."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.setdefault(node.value.id, set()).add(node.attr)
    return found


def is_use(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in FUNCTIONS
    )


def evaluate(call: ast.Call, path: Path, used: set[str]) -> Use | None:
    flags = [word.value for word in call.keywords if word.arg == "flags"]
    flags += [arg for arg in call.args[1:] if "re." in ast.unparse(arg)]
    try:
        names = {"re": re, **vars(module_of(path))}
        pattern = value_of(call.args[0], names)
        return Use(pattern, value_of(flags[0], names) if flags else 0, used <= ANCHORED)
    except (NameError, ImportError):
        return None


def module_of(path: Path) -> ModuleType:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return importlib.import_module(".".join(parts).removesuffix(".__init__"))


def value_of(node: ast.expr, names: dict[str, object]) -> bytes | re.RegexFlag | str:
    return eval(compile(ast.Expression(node), "<pattern>", "eval"), names)


def units(items: Any) -> Iterator[str]:
    """Pieces of text for which the parts of a pattern are made."""
    literal = ""
    for kind, value in items:
        if kind is kinds.LITERAL:
            literal += chr(value)
            yield chr(value)
            continue
        if literal:
            yield literal
            literal = ""
        yield from unit_of(kind, value)
    if literal:
        yield literal


def unit_of(
    kind: int, value: int | list[tuple[int, int | tuple[int, int] | None]] | tuple[Any, ...]
) -> Iterator[str]:
    match kind:
        case kinds.ANY | kinds.NOT_LITERAL:
            yield "x"
        case kinds.IN:
            yield from samples_of(value)
        case kinds.BRANCH:
            for branch in value[1]:
                yield from units(branch)
        case kinds.SUBPATTERN:
            yield from units(value[-1])
        case kinds.MAX_REPEAT | kinds.MIN_REPEAT | kinds.POSSESSIVE_REPEAT:
            yield from units(value[2])
        case kinds.ASSERT | kinds.ASSERT_NOT:
            yield from units(value[1])
        case kinds.ATOMIC_GROUP:
            yield from units(value)


def samples_of(items: list[tuple[int, int | tuple[int, int] | None]]) -> Iterator[str]:
    for kind, value in items:
        match kind:
            case kinds.NEGATE:
                yield from "xa0 -?="
            case kinds.LITERAL:
                yield chr(value)
            case kinds.RANGE:
                yield chr(value[0])
            case kinds.CATEGORY:
                yield SAMPLES.get(value, "x")


def adversaries(use: Use) -> Iterator[tuple[str, str, str]]:
    """Texts that an expression may take long for, as start, piece that repeats, and end."""
    pieces = list(dict.fromkeys([*units(parser.parse(use.pattern, use.flags)), "x", " "]))
    singles = [piece for piece in pieces if len(piece) == 1][:8]
    shapes = [("", piece, end) for piece in pieces for end in ("", "\0")]
    for first, second in product(pieces, singles):
        shapes += [(first, second, "\0"), ("", first + second, "")]
    return iter(shapes)


def seconds_of(search: Callable[[str | bytes], object], text: str | bytes, tries: int = 1) -> float:
    """The least time of the processor: what else the machine does only adds to it."""
    best = float("inf")
    for _ in range(tries):
        started = time.thread_time()
        search(text)
        best = min(best, time.thread_time() - started)
    return best


def growth(
    search: Callable[[str | bytes], object], text: str | bytes, half: str | bytes, tries: int
) -> float:
    return seconds_of(search, text, tries) / max(seconds_of(search, half, tries), 1e-6)


def slow_text(use: Use) -> str | None:
    """A text of which twice as much takes far more than twice as long."""
    compiled = re.compile(use.pattern, use.flags)
    search = compiled.fullmatch if use.anchored else compiled.findall
    for start, piece, end in adversaries(use):
        for length in LENGTHS:
            text = start + piece * (length // len(piece)) + end
            half = start + piece * (length // len(piece) // 2) + end
            is_bytes = isinstance(use.pattern, bytes)
            given, before = (text.encode(), half.encode()) if is_bytes else (text, half)
            if seconds_of(search, given) > NOTICED:
                # One try is enough for most; what looks slow is looked at again.
                if all(growth(search, given, before, tries) > GROWTH for tries in (1, 5, 25)):
                    return text
                break
    return None


EXPRESSIONS = expressions()


@pytest.mark.parametrize("where", [where for where, use in EXPRESSIONS.items() if use])
def test_an_expression_takes_no_longer_than_its_text(where):
    use = EXPRESSIONS[where]
    slow = slow_text(use)
    assert slow is None, f"{use.pattern!r} takes far more than a step for each of {slow[:20]!r}…"


def test_an_expression_that_is_made_later_is_known_to_be_harmless():
    made = {where.partition(":")[0] for where, use in EXPRESSIONS.items() if use is None}

    assert made == set(MADE_WHILE_RUNNING)


def test_a_slow_expression_would_be_noticed():
    assert "?" in (slow_text(Use(r"([?&;])([^=&;\s]+)=", 0, False)) or "")
    assert slow_text(Use(r"\s+$", 0, False)) and not slow_text(Use(r"\s+$", 0, True))
