"""Texts that are printed for people: they count rightly, and name nothing that is not installed."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import maseval
from maseval.core.words import count_of
from scripts.printed_words import sentences

PACKAGE = Path(maseval.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))

# "1 of 3 tasks", "the last 2 calls": what goes before says that there are several.
SEVERAL = re.compile(r"( of| the| all| each of| first| last| than| about| not all of) $")
THINGS = (
    *("simulation", "task", "trial", "run", "message", "row", "file", "turn", "attempt", "tool"),
    *("trace", "finding", "assertion", "doubt", "verdict", "assertion", "more simulation"),
)
NOUN = re.compile(rf" ({'|'.join(THINGS)})s\b")
NEVER_ONE = {
    *("MOST_SIMULATIONS", "_MOST", "SPLIT", "split", "name", "version", "self.tried"),
    *("enough", "tasks", "count", "number", "len(asked)", "trials", "len(failure.messages)"),
    *("of", "len(found)", "score.get('planned')", "inert(str(path))"),
    *("excerpt(trials, 20)", "len(tasks)", "model_id", "type(tasks).__name__", "_SECONDS"),
}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """The constant strings of a file that are not docstrings."""
    tree = tree_of(path)
    alone = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for each in ast.walk(tree):
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in alone:
            yield each.lineno, each.value


def docstrings_of_commands() -> Iterator[tuple[str, str]]:
    for path in sorted((PACKAGE / "cli").rglob("*.py")):
        for each in ast.walk(tree_of(path)):
            if isinstance(each, ast.FunctionDef):
                yield f"{path}:{each.lineno}", ast.get_docstring(each) or ""


def test_nothing_that_is_printed_names_a_file_of_the_docs_folder():
    printed = [(f"{path}:{line}", text) for path in SOURCES for line, text in strings(path)]
    pages = [path for name in ("*.js", "*.html") for path in PACKAGE.rglob(name)]
    printed += [(str(path), path.read_text(encoding="utf-8")) for path in pages]

    named = [place for place, text in [*printed, *docstrings_of_commands()] if "docs/" in text]
    assert named == []


def counts_in(path: Path) -> Iterator[tuple[int, str]]:
    """The numbers of a file's f-strings that a plural follows."""
    for each in ast.walk(tree_of(path)):
        if not isinstance(each, ast.JoinedStr):
            continue
        before = ""
        for part, following in zip(each.values, [*each.values[1:], None], strict=True):
            if isinstance(part, ast.Constant):
                before = str(part.value)
            elif isinstance(following, ast.Constant) and NOUN.match(str(following.value)):
                if not SEVERAL.search(before):
                    yield part.lineno, ast.unparse(part.value)
                before = ""


def test_a_number_that_may_be_one_is_counted_by_the_one_formatter():
    wrong = [
        f"{path}:{line} {value}"
        for path in SOURCES
        for line, value in counts_in(path)
        if value not in NEVER_ONE
    ]
    assert wrong == []


@pytest.mark.parametrize(("number", "words"), [(0, "0 tasks"), (1, "1 task"), (2, "2 tasks")])
def test_one_thing_is_one(number, words):
    assert count_of(number, "task") == words


STIFF = (
    *("cannot be told", "never in its place", "makes the others", "is not to be had"),
    *("has not come so far", "was wished for", "nobody had found out"),
    *("whatever comes out", "which does not talk", "passes it anyway", "none of which can fail"),
)


def test_no_command_prints_what_only_a_translator_would_write():
    found = [
        f"{path}:{line} {text}"
        for path in SOURCES
        for line, text in sentences(path)
        if any(words in text for words in STIFF)
    ]

    assert found == []
