"""Which tests need which library, said so that its absence takes one line of a test report."""

import os
import re
from pathlib import Path

import pytest

from maseval.interface.extras import is_installed

# LiteLLM's own types trouble pydantic; nothing of ours is meant.
QUIET_LITELLM = pytest.mark.filterwarnings("ignore:Item '.*' on TypedDict class:UserWarning")


def needing(library: str) -> list[pytest.MarkDecorator]:
    """The marks of tests that can only run where a library is installed.

    Where ``MASEVAL_REQUIRE_LIBRARY`` names it, its absence is a failure.
    """
    marks = [pytest.mark.needs(library=library)]
    if not is_installed(library) and os.environ.get("MASEVAL_REQUIRE_LIBRARY") != library:
        marks.append(pytest.mark.skip(reason=f"{library} is not installed"))
    return marks


def py_example(page: str) -> str:
    """The example of a page of the documentation that needs an optional library."""
    path = Path(__file__).parents[2] / "docs" / f"{page}.md"
    (found,) = re.findall(r"^```py\n(.*?)^```$", path.read_text(encoding="utf-8"), re.M | re.S)
    return str(found)
