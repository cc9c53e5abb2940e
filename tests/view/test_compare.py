"""Runs compared in the viewer, over the real server's application."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from maseval.app.comparing.page import document_of
from maseval.app.judging.label import begin_labelling
from maseval.commands import compare, tau2
from maseval.core.storage import strict_json
from tests.app.judging.runs import broken_in_truth, judge_passes
from tests.browser.runs import written_run
from tests.noisy_runs import noisy_run
from tests.report.builders import simulated
from tests.view.builders import viewer

pytestmark = pytest.mark.needs(library="starlette")

RATES = {"careful": 0.05, "hurried": 0.4, "middling": 0.2}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compared")
    for name, error_rate in RATES.items():
        noisy_run(folder / name, error_rate)
    return folder


def asked(view: Any, *runs: str, part: str = "") -> Any:
    return view.get(f"/api/compare{part}", params=[("run", run) for run in runs])


def answered(view: Any, *runs: str, part: str = "") -> dict[str, Any]:
    return asked(view, *runs, part=part).json()


@pytest.fixture
def view(root: Path) -> Any:
    return viewer(root)


@pytest.mark.parametrize("names", [["careful", "hurried"], [*RATES]])
def test_the_document_is_that_of_maseval_compare(view, root, names):
    found = answered(view, *names)
    reasons = answered(view, *names, part="/reasons")
    expected = compare([root / name for name in names])

    assert found["names"] == names
    assert found["headline"] == expected.headline
    assert found["pairs"][0]["difference"] == expected.table.pairs[0].main.difference
    notes = {task["id"]: task.pop("note") for task in found["tasks"]}
    assert all(notes.values())
    whole = strict_json.loads(strict_json.dumps(document_of(expected)))
    for task in whole["tasks"]:
        del task["note"]
    assert found.pop("places") == names
    assert found.pop("measures")[0] == ""
    assert {**found, **reasons} == whole
    assert len(reasons["reasons"]["rows"]) > 1


def test_tasks_that_differ_most_come_first(view, root):
    tasks = answered(view, *RATES)["tasks"]

    shares = [[letters.count("p") / 2 for (letters,) in task["cells"]] for task in tasks]
    spreads = [max(each) - min(each) for each in shares]
    assert spreads == sorted(spreads, reverse=True) and spreads[0] > spreads[-1]
    mean = compare([root / name for name in RATES]).table.pairs[0].main.first
    assert sum(first for first, *_ in shares) / len(shares) == pytest.approx(mean)


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        (["careful"], "1 run cannot be compared"),
        (["careful", "careful"], "1 run cannot be compared"),
        (["careful", "../hurried"], "no run is called"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(view, runs, words):
    answer = asked(view, *runs)
    assert 400 <= answer.status_code < 500
    assert words in answer.json()["error"]


def test_runs_without_a_common_task_are_told_apart(view, root):
    written_run(root / "elsewhere" / "one", [simulated("0")])
    written_run(root / "elsewhere" / "two", [simulated("1")])
    answer = asked(view, "elsewhere/one", "elsewhere/two")
    assert answer.status_code == 422
    assert "no task in common" in answer.json()["error"]


def test_a_run_that_grew_is_read_anew(root, tmp_path):
    for name in ("one", "other"):
        tau2.run(domain="library", agent="gold", num_tasks=1, output=tmp_path / name)
    view = viewer(tmp_path)
    assert len(answered(view, "one", "other")["tasks"]) == 1
    for name in ("one", "other"):
        tau2.run(domain="library", agent="gold", num_tasks=2, output=tmp_path / f"{name}-2")

    more = answered(view, "one", "one-2", "other-2")
    assert len(more["tasks"]) == 1 and len(answered(view, "one-2", "other-2")["tasks"]) == 2


def test_labels_that_were_added_since_count(tmp_path):
    for name, rate in (("one", 0.02), ("other", 0.05)):
        judge_passes(noisy_run(tmp_path / name, rate, trials=5).folder)
    view = viewer(tmp_path)
    before = answered(view, "one", "other")
    labelling = begin_labelling(tmp_path / "one", "kim", numbers=10)
    for one in labelling.remaining:
        labelling.add(one, "broken" if broken_in_truth(one) else "kept")

    after = answered(view, "one", "other")

    assert after != before
    expected = document_of(compare([tmp_path / "one", tmp_path / "other"]))
    assert after["results"]["notes"] == expected["results"]["notes"]
