"""The same conversations under several releases."""

import json

import pytest

from maseval.benchmark.tau2.rescoring import score_under
from maseval.commands import tau2
from maseval.core.exceptions import ConfigurationError
from maseval.core.scoring_options import ScoringOptions

OLD, NEW = "0.2.0", "1.0.1"


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A file of the library domain, in which every task was done as it should be."""
    folder = tmp_path_factory.mktemp("under")
    tau2.run(domain="library", agent="gold", output=folder / "gold")
    tau2.export(folder / "gold", folder / "gold.json")
    return json.loads((folder / "gold.json").read_text())


@pytest.fixture
def changed(played, tmp_path):
    def write(change, name="theirs.json"):
        document = json.loads(json.dumps(played))
        change(document)
        path = tmp_path / name
        path.write_text(json.dumps(document))
        return path

    return write


def answers(document, *tools):
    """The answers that these tools gave, with their simulations."""
    for simulation in document["simulations"]:
        names = {}
        for message in simulation["messages"]:
            names |= {call["id"]: call["name"] for call in message.get("tool_calls") or ()}
            if message["role"] == "tool" and names.get(message["id"]) in tools:
                yield simulation, message


def reworded(*tools):
    """The first answer of one of these tools is another than the tool gives."""

    def change(document):
        next(answers(document, *tools))[1]["content"] = '"another answer"'

    return change


def test_a_record_that_no_release_reads_otherwise_stays_as_it_is(changed):
    found = score_under(changed(lambda document: None), [OLD, NEW, "1.0.1+tasks.0.2.0"])

    assert [each.passed for each in found.recounts.values()] == [12, 12, 12]
    assert found.changes(NEW) == found.changes("1.0.1+tasks.0.2.0") == []
    assert found.totals[NEW].same == found.totals[NEW].simulations == 12


@pytest.mark.parametrize("tools", [("get_member",), ("renew_loan", "place_hold")])
def test_an_answer_that_only_the_later_release_accepts_moves_a_verdict_up(changed, tools):
    found = score_under(changed(reworded(*tools)), [OLD, NEW])

    (change,) = found.changes(NEW)
    assert (change.before, change.after, change.direction) == (False, True, "up")


def test_strictly_replayed_an_answer_of_a_write_is_accepted_by_neither(changed):
    path = changed(reworded("renew_loan", "place_hold"))

    found = score_under(path, [OLD, NEW], options=ScoringOptions(strict=True))

    assert found.changes(NEW) == []
    assert [each.passed for each in found.recounts.values()] == [11, 11]


def test_a_conversation_that_nobody_ended_fails_under_every_release(changed):
    def cut_off(document):
        document["simulations"][0]["termination_reason"] = "max_steps"

    found = score_under(changed(cut_off), [OLD, NEW])

    assert found.ended_early == found.totals[NEW].ended_early == 1
    assert [each.passed for each in found.recounts.values()] == [11, 11]


def judged(document):
    """The first task is a matter of judgement, under rules that have a judge."""
    criteria = document["tasks"][0]["evaluation_criteria"]
    criteria |= {"nl_assertions": ["The agent is polite."]}
    criteria["reward_basis"] = [*criteria["reward_basis"], "NL_ASSERTION"]


def test_what_a_judge_decides_is_neither_up_nor_down(changed):
    found = score_under(changed(judged), [OLD, NEW], options=ScoringOptions(embedded_tasks=True))

    assert [each.unjudged for each in found.recounts.values()] == [1, 1]
    totals = found.totals[NEW]
    assert (totals.up, totals.down, totals.asks_judge) == (0, 0, 1)


@pytest.mark.parametrize(
    ("releases", "words"),
    [([OLD, "9.9"], "choose one of: 0.2.0, 1.0.1"), ([OLD], "two releases or more")],
)
def test_what_cannot_be_compared_is_a_named_error(changed, releases, words):
    with pytest.raises(ConfigurationError, match=words):
        score_under(changed(lambda document: None), releases)
