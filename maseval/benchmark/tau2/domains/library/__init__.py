"""Library: the desk of a public library, and a member with a bag of books at its drop box.

A domain of our own, small and complete: it brings its data along, both sides have tools, and it is
the example that docs/add-your-own-domain.md refers to.
"""

from pathlib import Path

from maseval.benchmark.tau2.domains.domain import Domain, LateRules
from maseval.benchmark.tau2.domains.library.models import LibraryDB, LibraryUserDB
from maseval.benchmark.tau2.domains.library.tools import LibraryTools, LibraryUserTools, sync

LIBRARY = Domain(
    name="library",
    db=LibraryDB,
    toolkit=LibraryTools,
    user_db=LibraryUserDB,
    user_db_file="user_db.json",
    user_toolkit=LibraryUserTools,
    sync=sync,
    rules=LateRules("library"),
    data_dir=Path(__file__).parent / "data",
)

__all__ = ["LIBRARY", "LibraryDB", "LibraryTools", "LibraryUserDB", "LibraryUserTools"]
