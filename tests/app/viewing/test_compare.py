"""Two runs side by side in the viewer, over the real server's application."""

import pytest

pytest.importorskip("starlette")

from maseval.app.viewing.features import comparisons
from maseval.commands import compare, tau2
from tests.view.builders import viewer

pytestmark = pytest.mark.needs(library="starlette")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    for name, error_rate in (("careful", 0.05), ("hurried", 0.4)):
        tau2.run(
            domain="library",
            agent="noisy",
            agent_args={"error_rate": error_rate},
            trials=2,
            output=folder / name,
        )
    return folder


def asked(root, **query):
    return viewer(root, features=[comparisons()]).get("/api/compare", params=query)


def test_the_numbers_are_those_of_maseval_compare(root):
    found = asked(root, a="careful", b="hurried").json()
    expected = compare([root / "careful", root / "hurried"])

    rows = {row["name"]: row for row in found["results"]["rows"]}
    at = found["results"]["measures"].index("pass^1")
    for name, summary in expected.summaries.items():
        (shown,) = [each for each in summary.overall.estimates if each.name == "pass^1"]
        assert rows[name]["measures"][at] == shown.in_brief()
    assert f"{100 * expected.two.main.difference:+.1f}" in found["results"]["notes"][0]
    assert (found["a"], found["b"]) == ("careful", "hurried")
    assert found["results"]["headline"] == expected.headline
    assert found["results"]["cautions"] == expected.cautions
    assert len(found["results"]["why"]) == sum(map(len, expected.reasons.values())) > 1


def test_flipped_tasks_come_first(root):
    tasks = asked(root, a="careful", b="hurried").json()["tasks"]
    flipped = compare([root / "careful", root / "hurried"]).two.flipped

    changes = [abs(task["change"]) for task in tasks]
    assert changes == sorted(changes, reverse=True)
    assert {task["id"] for task in tasks if task["change"]} == {flip.task for flip in flipped}
    for task in tasks:
        share = {side: [each["passed"] for each in task[side]].count(True) / 2 for side in "ab"}
        assert task["change"] == share["b"] - share["a"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"a": "careful"}, "lacks b"),
        ({"a": "careful", "b": "careful"}, "named twice"),
        ({"a": "careful", "b": "../hurried"}, "no run is called"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(root, query, words):
    answer = asked(root, **query)
    assert 400 <= answer.status_code < 500
    assert words in answer.json()["error"]
