"""Hold docs/migrating.md against the API document of MASEval: every public name is here or listed.

    python -m scripts.api_document FOLDER

``FOLDER`` has the document as Markdown files. A name is a word in code marks; it is here if it
stands anywhere in the package's sources. What begins with an underscore is not public.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
_CODE = re.compile(r"`([A-Za-z][\w.,:()*= \[\]|-]+)`")
# Words of prose, values and single letters are none: a name has two parts.
_NAME = re.compile(r"\b(?:[A-Z]+[a-z]\w*[A-Z]\w*|[A-Z]+_[A-Z_]+|[a-z]+_[a-z_]+)\b")
_WORD = re.compile(r"\w+")
# Names of data and of vectors, made-up arguments, and what is put together from two words here.
_NO_NAMES = {
    *("BookAirbnb__viewreservation", "BookHotel__cancelreservation", "BookHotel__viewreservation"),
    *("NewsSearch__search", "DATA_LICENSE", "requires_confirmation", "judge_outputs"),
    *("agents_dict", "last_report_of_that_task", "sliced_list", "suppress_errors"),
    *("MASEVAL_MACS_BASE_URL", "MASEVAL_MACS_DATA", "smolagents_config", "task_images_count"),
}


def document_names(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield each public name of the document, with the file that has it."""
    for page in sorted(folder.glob("*.md")):
        for code in _CODE.findall(page.read_text(encoding="utf-8")):
            yield from ((name, page.name) for name in _NAME.findall(code))


def package_words(folder: Path = CHECKOUT / "maseval") -> set[str]:
    """Return every word of the package's sources."""
    files = [*folder.rglob("*.py"), *folder.rglob("*.pyi")]
    return {word for file in files for word in _WORD.findall(file.read_text(encoding="utf-8"))}


def missing_names(document: Path, manual: str, known: set[str]) -> dict[str, str]:
    """Return the names that are neither here nor in the manual, with the file that has them."""
    here = known | _NO_NAMES | set(_WORD.findall(manual))
    return {name: page for name, page in document_names(document) if name not in here}


def main(folder: str) -> int:
    manual = (CHECKOUT / "docs" / "migrating.md").read_text(encoding="utf-8")
    missing = missing_names(Path(folder), manual, package_words())
    for name, page in sorted(missing.items()):
        print(f"{page}: {name} is neither in maseval nor in docs/migrating.md")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
