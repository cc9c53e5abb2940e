"""The table of faults in docs/errors.md: each row is what a test plays and what it asserts."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, TypeVar

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
SHOWN = 3
BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"
MODULES = (
    "faults.test_provider_faults",
    "faults.test_run_faults",
    "faults.test_folder_faults",
    "runs.test_kill",
    "benchmark.tau2.app.test_forged_runs",
)

TestT = TypeVar("TestT", bound=Callable[..., object])


class Row(NamedTuple):
    """One fault, what happens at it, and the test that shows it."""

    area: str
    fault: str
    outcome: str
    test: str


ROWS: list[Row] = []


def shows(area: str, *faults: tuple[str, str]) -> Callable[[TestT], TestT]:
    """Put the faults that a test plays into the table, each with its outcome."""

    def noted(test: TestT) -> TestT:
        module = test.__module__.removeprefix("tests.").replace(".", "/")
        name = f"tests/{module}.py::{test.__name__}"
        ROWS.extend(Row(area, fault, outcome, name) for fault, outcome in faults)
        return test

    return noted


def rendered() -> str:
    """The table as Markdown, from all modules of this folder."""
    for module in MODULES:
        import_module(f"tests.{module}")
    order = [f"tests/{module.replace('.', '/')}.py" for module in MODULES]
    # Each once: the test runner may have imported a module under another name.
    rows = sorted(dict.fromkeys(ROWS), key=lambda row: order.index(row.test.partition("::")[0]))
    lines = []
    for area in dict.fromkeys(row.area for row in rows):
        lines += [f"### {area}", "", "| what happens | at these faults |", "|---|---|"]
        # An outcome once, with all faults that have it: most of them share one with others.
        by_outcome: dict[str, list[str]] = {}
        for row in rows:
            if row.area == area:
                by_outcome.setdefault(row.outcome, []).append(row.fault)
        lines += [f"| {outcome} | {_few(faults)} |" for outcome, faults in by_outcome.items()]
        lines.append("")
    return "\n".join(lines)


def _few(faults: list[str]) -> str:
    """Return the first faults in a line, and how many there are besides."""
    rest = len(faults) - SHOWN
    return "; ".join([*faults[:SHOWN], *([f"and {rest} more"] if rest > 0 else [])])


def parts_of_page() -> tuple[str, str, str]:
    """The page before the table, the table, and the page after it."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(f"{BEGIN}\n")
    table, _, after = rest.partition(END)
    return before, table, after


if __name__ == "__main__":
    # Under its own name, so that the tests fill this very list.
    from tests.faults import table

    before, _, after = parts_of_page()
    PAGE.write_text(f"{before}{BEGIN}\n{table.rendered()}{END}{after}", encoding="utf-8")
