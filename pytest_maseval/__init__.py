"""The pytest plugin: the mark ``maseval`` and the fixture of the same name.

pytest imports this in every test suite of an environment that has maseval. So it stands beside the
package, whose import takes half a second, and imports from it when a test asks for the fixture.
"""

from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_maseval.evaluation import AgentEvaluation

MARK = "maseval"
RUNS = "--maseval-runs"

_DESCRIPTION = (
    "maseval(domain, tasks=..., trials=1, at_least=0.8, alpha=0.05, allow_undecided=False, ...): "
    "how the fixture `maseval` evaluates an agent; further options are those of `maseval tau2 run`"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that pytest lists under its ``--help``."""
    parser.getgroup("maseval", "evaluation of agents").addoption(
        RUNS,
        metavar="DIR",
        help="keep the run folders of evaluations below DIR, where a repeated test resumes them; "
        "without it they lie in the test's tmp_path",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, which strict suites want to know beforehand."""
    config.addinivalue_line("markers", _DESCRIPTION)


def _is_marked(item: pytest.Item) -> bool:
    # Not by those of its class or module, where other tests may evaluate nothing.
    return any(mark.name == MARK for mark in item.own_markers)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a marked test without the fixture: it would look like an evaluation that passed."""
    if MARK in getattr(item, "fixturenames", ()):
        return
    if _is_marked(item):
        pytest.fail(
            "the test is marked with maseval and evaluates nothing: let it take the fixture "
            "`maseval`, and call maseval.check(agent)",
            pytrace=False,
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a marked test that took the fixture and did not use it."""
    result = yield
    if _is_marked(item) and not any(name == MARK for name, _ in item.user_properties):
        pytest.fail(
            "the test is marked with maseval and evaluates nothing: call maseval.check(agent)",
            pytrace=False,
        )
    return result


@pytest.fixture
def maseval(request: pytest.FixtureRequest) -> "AgentEvaluation":
    """Return the evaluation of an agent as the test's mark ``maseval`` says."""
    from pytest_maseval.evaluation import AgentEvaluation, without_traceback

    with without_traceback():
        return AgentEvaluation.of(request)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print a line for each evaluation, so that a test that passed shows its score, too."""
    finished = [report for reports in terminalreporter.stats.values() for report in reports]
    called = [report for report in finished if getattr(report, "when", None) == "call"]
    lines = [
        f"{report.nodeid}: {line}"
        for report in called
        for name, line in report.user_properties
        if name == MARK
    ]
    if lines:
        terminalreporter.section("evaluations")
        for line in sorted(lines):
            terminalreporter.write_line(line)
