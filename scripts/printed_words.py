"""List every sentence that a command can print, with the places of its words.

    python -m scripts.printed_words            all of them, file by file
    python -m scripts.printed_words --words    only the sentences, for a reader

A text counts if it reads like a sentence: three words or more, and no docstring. What a sentence
takes from a variable is shown as ``{...}``.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).parents[1] / "maseval"
# Data, patterns and prompts: nobody reads them on a screen.
_NOT_PRINTED = ("texts", "domains", "phrases", "skeletons", "data", "words.py")
_FEWEST_WORDS = 3


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the words of every text of a file that reads like a sentence."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    passed_over = {id(each) for each in _docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            passed_over |= {id(part) for part in ast.walk(node) if part is not node}
        words = None if id(node) in passed_over else _words(node)
        if words is not None and _reads_like_a_sentence(words):
            yield getattr(node, "lineno", 0), " ".join(words.split())


def _docstrings(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _words(node: ast.AST) -> str | None:
    match node:
        case ast.JoinedStr(values=parts):
            return "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{...}" for part in parts
            )
        case ast.Constant(value=str(text)):
            return text
    return None


def _reads_like_a_sentence(text: str) -> bool:
    if any(mark in text for mark in ("(?", "\\b", "\\s", "\\d")):
        return False  # a pattern
    words = [word for word in text.split() if word.strip(".,:;!?()'\"`").isalpha()]
    return len(words) >= _FEWEST_WORDS


def main() -> None:
    only_words = "--words" in sys.argv[1:]
    for path in sorted(_ROOT.rglob("*.py")):
        place = path.relative_to(_ROOT.parent)
        if any(part in _NOT_PRINTED for part in place.parts):
            continue
        for line, words in sorted(set(sentences(path))):
            print(words if only_words else f"{place}:{line}: {words}")


if __name__ == "__main__":
    main()
