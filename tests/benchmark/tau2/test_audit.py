import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from maseval.benchmark.tau2 import Broken, Kind, rule
from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.review.audit import KINDS, audit
from maseval.benchmark.tau2.review.audit.audited import TaskFinding
from maseval.benchmark.tau2.review.errata import load_errata
from tests.benchmark.tau2.todo_list import COMPLETE, CREATE, do, task, todo_list

DOMAINS = ("airline", "retail", "telecom")
LOST = {
    "env_type": "assistant",
    "func_name": "assert_task_status",
    "arguments": {"task_id": "task_1", "expected_status": "lost"},
}


@pytest.fixture(scope="module")
def findings(tau2_data: Path) -> list[TaskFinding]:
    return audit()


def kinds(domain: Domain) -> Counter:
    return Counter(finding.kind for finding in audit(domain))


def of(findings: list[TaskFinding], domain: str, kind: str) -> list[TaskFinding]:
    return [each for each in findings if (each.domain, each.kind) == (domain, kind)]


def test_a_sound_domain_of_ones_own_has_no_findings(tmp_path):
    told = {"instructions": "Ask to have the tidying up marked as completed."}

    assert audit(todo_list(tmp_path, {**task(COMPLETE), "user_scenario": told})) == []


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (task(do("create_task", user_id="user_9", title="X")), "gold raises"),
        (task(do("get_users")), "gold changes nothing"),
        (task(do("get_users")), "doing nothing passes"),
        ({**task(), "evaluation_criteria": None}, "criteria can only pass"),
        (task(reward_basis=["COMMUNICATE"]), "criteria can only pass"),
        (task(CREATE, communicate_info=["1,000"]), "text can never match"),
        (task(CREATE, communicate_info=["12"]), "text matches by chance"),
        (task(do("update_task_status", task_id="task_77", status="pending")), "id nobody can know"),
        (
            task(do("update_task_status", task_id="task_1", status="lost")),
            "gold breaks the policy",
        ),
        (task(do("sing", song="x")), "gold breaks the policy"),
        ({"id": "a_task", "evaluation_criteria": {"actions": 3}}, "task cannot be read"),
        (
            task(COMPLETE, env_assertions=[LOST], reward_basis=["ENV_ASSERTION"]),
            "gold misses its own checks",
        ),
    ],
)
def test_a_fault_in_a_task_is_found(tmp_path, raw, kind):
    assert kinds(todo_list(tmp_path, raw))[kind] == 1


def test_facts_that_the_database_denies_are_found(tmp_path):
    told = "You are Ada. Your email is ada@nowhere.org, your id user_7, your phone 555-123-4567."
    raw = {**task(COMPLETE), "user_scenario": {"instructions": told}}

    kind = "persona contradicts the database"
    found = [each.text for each in audit(todo_list(tmp_path, raw)) if each.kind == kind]

    assert found == [
        "the user is told the email address 'ada@nowhere.org', but no record has it",
        "the user is told the phone number '555-123-4567', but no record has it",
        "the user is told the id in users 'user_7', but users has no such record",
    ]


def test_an_address_that_the_gold_puts_into_the_records_is_a_new_one(tmp_path):
    raw = task(do("create_task", user_id="user_1", title="Write to ada@new.org"))
    raw = {**raw, "user_scenario": {"instructions": "Your new email is ada@new.org."}}

    assert "persona contradicts the database" not in kinds(todo_list(tmp_path, raw))


def test_a_tool_that_the_policy_makes_up_is_found(tmp_path):
    domain = todo_list(tmp_path, task(COMPLETE))
    (tmp_path / "mock" / "policy.md").write_text("Use create_task, not create_miracle.")

    (finding,) = [f for f in audit(domain) if f.kind == "unknown tool is named"]

    assert finding.text == "the policy names create_miracle, which neither side has"
    assert finding.severity == "warning"


@pytest.mark.parametrize(
    ("said", "severities"),
    [
        ("50.00", ["warning"]),  # a tool answers 50.0
        ("delivered", ["warning"]),
        ("77", ["info"]),
        ("50.0", []),
        ("Ada", []),
    ],
)
def test_what_must_be_said_and_no_tool_answers_is_found(tmp_path, said, severities):
    raw = task(do("create_task", user_id="user_1", title="Pay 50.0"), communicate_info=[said])
    found = [e for e in audit(todo_list(tmp_path, raw)) if e.kind == "text is in no answer"]

    assert [each.severity for each in found] == severities


def test_the_same_request_with_another_solution_is_found(tmp_path):
    domain = todo_list(tmp_path, task(COMPLETE), {**task(CREATE), "id": "two"})

    (finding,) = [e for e in audit(domain) if e.kind == "stored twice with different gold"]

    assert finding.severity == "error" and "tasks a_task and two" in finding.text


def test_one_task_is_audited_by_itself(tmp_path):
    domain = todo_list(tmp_path, task(do("get_users")), {**task(do("get_users")), "id": "two"})

    assert {finding.task_id for finding in audit(domain)} == {"a_task", "two"}
    assert {finding.task_id for finding in audit(domain, task_id="two")} == {"two"}
    with pytest.raises(UnknownTaskError, match="mock has no task 'nine'; it has 'a_task'"):
        audit(domain, task_id="nine")


def test_progress_is_reported_to_the_end(tmp_path):
    seen = []

    audit(todo_list(tmp_path, task(COMPLETE)), on_progress=lambda *counts: seen.append(counts))

    assert (seen[0], seen[-1]) == ((0, 1), (1, 1)) and seen == sorted(seen)


def test_a_domain_of_ones_own_brings_what_its_policy_forbids(tmp_path):
    @rule("todo.title", Kind.STATE, place="Titles", tools=["create_task"])
    def short(moment):
        """A title is no longer than its owner's name."""
        title = moment.arguments["title"]
        if len(title) > len(moment.tools.db.users.view("user_1").name):
            yield Broken(f"{title!r} is longer than its owner's name")

    domain = replace(todo_list(tmp_path, task(CREATE)), rules=[short])

    (finding,) = [each for each in audit(domain) if each.kind == "gold breaks the policy"]

    assert finding.text == "'Meeting' is longer than its owner's name"
    assert finding.rule == "todo.title"
    assert finding.call.startswith("create_task(")


@pytest.mark.data
def test_the_known_faults_of_the_published_tasks_are_found(findings):
    raising = of(findings, "retail", "gold raises")
    assert len(raising) == 23
    assert len({each.task_id for each in raising}) == 18
    assert len(of(findings, "airline", "gold changes nothing")) == 20
    assert not of(findings, "telecom", "gold misses its own checks")


@pytest.mark.data
def test_an_erratum_that_names_the_audit_is_found_by_it(findings):
    found = {(each.domain, each.task_id, each.kind) for each in findings}
    for each in load_errata():
        kinds = [kind for kind in KINDS if f"audit: {kind}" in each.known]
        if each.domain in DOMAINS and "0.2.0" in each.releases:
            assert {(each.domain, each.task, kind) for kind in kinds} <= found


@pytest.mark.data
def test_findings_are_machine_readable_and_the_worst_come_first(findings):
    severities = [finding.severity for finding in findings]

    assert severities == sorted(severities, key=["error", "warning", "info"].index)
    assert {finding.kind for finding in findings} <= set(KINDS)
    found = json.loads(json.dumps(findings[0].to_dict()))
    assert found["source"] == "audit" and found["severity"] == findings[0].severity


def test_what_the_next_release_put_right_is_no_longer_found(findings, tau2_data_of_1_0_1):
    later = audit(["airline", "retail"], version="1.0.1")

    assert len(of(findings, "retail", "gold raises")) == 23
    assert len(of(later, "retail", "gold raises")) == 18
    assert of(findings, "airline", "gold breaks the policy")
    assert not of(later, "airline", "gold breaks the policy")
