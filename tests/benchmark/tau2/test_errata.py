import json
from dataclasses import replace
from typing import Any

import pytest

from maseval.benchmark.tau2 import Broken, Kind, rule
from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.review.errata import errata_for, load_errata, sound_finding
from maseval.benchmark.tau2.review.explain import explain
from maseval.benchmark.tau2.scoring.case import open_case
from maseval.core.exceptions import ConfigurationError
from maseval.core.finding import LEFT_OUT, SOUND_FAIL, SOUND_PASS
from tests.benchmark.tau2.staged import gold, staged
from tests.benchmark.tau2.todo_list import COMPLETE, CREATE, do, task, todo_list

ERRATUM = {
    "domain": "mock",
    "task": "a_task",
    "kind": "several right end states",
    "what": "Either will do.",
    "known": ["read"],
    "sound_verdict": {"leave_out": True},
}


def own_errata(domain: Domain, **changes: Any) -> Domain:
    (domain.data_dir / "errata.json").write_text(json.dumps([ERRATUM | changes]))
    return domain


def sound(
    domain: Domain,
    raw: dict[str, Any],
    actions: list[dict[str, Any]] | None = None,
    *,
    said: list[str] | tuple[Any, ...] = (),
) -> tuple[str, str] | None:
    """Return how the sound verdict differs, as kind and reason; None if it does not."""
    found = sound_finding(open_case(staged(domain, raw, actions, said=said), domain, raw))
    return found and (found.kind, found.text)


def step(call: dict[str, Any]) -> dict[str, Any]:
    return {key: call[key] for key in ("name", "arguments")}


WHY = "several right end states: Either will do."
OTHER = "another right end state: also create_task, without update_task_status"


@pytest.mark.parametrize(
    ("correction", "kept", "created", "nothing"),
    [
        (None, None, None, None),
        ({"leave_out": True}, (LEFT_OUT, WHY), (LEFT_OUT, WHY), (LEFT_OUT, WHY)),
        ({"gold": [step(CREATE)]}, (SOUND_FAIL, WHY), (SOUND_PASS, WHY), None),
        ({"accept": [[step(CREATE)]]}, None, (SOUND_PASS, OTHER), None),
    ],
)
def test_an_erratum_says_how_the_sound_verdict_differs(
    tmp_path, correction, kept, created, nothing
):
    domain, raw = todo_list(tmp_path, task(COMPLETE)), task(COMPLETE)
    if correction:
        own_errata(domain, sound_verdict=correction)

    assert sound(domain, raw) == kept
    assert sound(domain, raw, [CREATE]) == created
    assert sound(domain, raw, []) == nothing


def test_a_text_to_be_told_can_be_corrected(tmp_path):
    raw = task(COMPLETE, communicate_info=["five"], reward_basis=["DB", "COMMUNICATE"])
    domain = own_errata(todo_list(tmp_path, raw), sound_verdict={"tell": ["four"]})

    assert sound(domain, raw, said=["five"])[0] == SOUND_FAIL
    assert sound(domain, raw, said=["four"])[0] == SOUND_PASS


def test_a_gold_that_fails_is_unsound_without_any_erratum(tmp_path):
    raw = task(do("update_task_status", task_id="no_such_task", status="completed"))

    kind, why = sound(todo_list(tmp_path, raw), raw, [])

    assert kind == LEFT_OUT and why.startswith("gold impossible: update_task_status fails")


def test_a_gold_that_the_policy_forbids_is_unsound_without_any_erratum(tmp_path):
    @rule("todo.never", Kind.STATE, place="Titles", tools=["update_task_status"])
    def never(moment):
        """Nothing is completed."""
        yield Broken("nothing may be completed")

    domain = replace(todo_list(tmp_path, task(COMPLETE)), rules=(never,))

    forbidden = "gold against the policy: nothing may be completed"
    assert sound(domain, task(COMPLETE)) == (LEFT_OUT, forbidden)
    corrected = own_errata(domain, sound_verdict={"gold": [step(CREATE)]})
    assert sound(corrected, task(COMPLETE), [CREATE])[0] == SOUND_PASS


def test_a_text_that_is_never_found_is_unsound(tmp_path):
    raw = task(COMPLETE, communicate_info=["1,024"], reward_basis=["DB", "COMMUNICATE"])

    assert sound(todo_list(tmp_path, raw), raw, said=["1,024"])[0] == LEFT_OUT


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "odd"}, "entry 0, kind"),
        ({"releases": ["0.3.0"]}, "no release '0.3.0'; there are 0.2.0, 1.0.1, verified"),
        ({"sound_verdict": {}}, "give either leave_out: true, or stands: true, or some of gold"),
        ({"sound_verdict": {"stands": True, "gold": []}}, "give either leave_out"),
        ({"sound_verdict": {"leave_out": True, "gold": []}}, "give either leave_out"),
        ({"sound_verdict": {"gold": [{"name": "create"}]}}, "sound_verdict.gold.0.arguments"),
        ({"known": []}, "entry 0, known"),
        ({"extra": 1}, "entry 0, extra"),
        ("{", "errata.json"),
        ('{"errata": []}', "errata.json"),
        ("[1]", "errata.json"),
    ],
)
def test_a_wrong_entry_or_file_is_a_named_error(tmp_path, changes, words):
    text = changes if isinstance(changes, str) else json.dumps([ERRATUM | changes])
    (tmp_path / "errata.json").write_text(text)

    with pytest.raises(ConfigurationError) as caught:
        load_errata(tmp_path / "errata.json")

    assert words in str(caught.value) and str(tmp_path) in str(caught.value)


def test_errata_belong_to_the_release_whose_tasks_these_are():
    assert errata_for("retail", "12", "0.2.0")
    assert errata_for("retail", "12", "1.0.1+tasks.0.2.0")
    assert not errata_for("retail", "12", "1.0.1")
    assert not errata_for("retail", "12", "0.2.0+tasks.1.0.1")


def test_an_explanation_tells_a_sound_verdict_that_is_not_the_official_one(tmp_path):
    domain = own_errata(
        todo_list(tmp_path, task(COMPLETE)), sound_verdict={"accept": [[step(CREATE)]]}
    )
    kept, other, nothing = (
        explain(staged(domain, task(COMPLETE), actions), domain=domain)
        for actions in (None, [CREATE], [])
    )

    assert kept.sound is nothing.sound is None
    titles = {each.title: each.lines for each in other.sections()}
    (line,) = titles["Sound verdict"]
    assert line.startswith("passed: another right end state: also create_task")
    assert other.to_dict()["sound"]["kind"] == SOUND_PASS and not other.passed


@pytest.mark.data
@pytest.mark.usefixtures("tau2_data")
def test_a_cancellation_that_the_policy_forbids_no_longer_passes() -> None:
    raw = load_raw_task("airline", "9")
    played = open_case(staged("airline", raw), "airline")
    refused = open_case(staged("airline", raw, gold(raw)[1:]), "airline")

    assert sound_finding(played).kind == SOUND_FAIL
    assert sound_finding(refused).kind == SOUND_PASS
