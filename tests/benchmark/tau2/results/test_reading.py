"""Results files are read one simulation at a time, whatever their order, size and damage."""

import copy
import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from maseval.benchmark.tau2.conversation.recording import SimulationFormatError
from maseval.benchmark.tau2.results import ResultsFormatError, read_results
from maseval.benchmark.tau2.results.writing import Tau2Report
from maseval.benchmark.tau2.scoring.score import score_simulation
from maseval.core.exceptions import MASEvalError
from tests.benchmark.tau2.results.builders import lines, results, simulation, task, written


@pytest.mark.parametrize("order", list(itertools.permutations(["info", "tasks", "simulations"])))
def test_the_parts_of_a_file_may_come_in_any_order(tmp_path, order):
    whole = results(simulation("a"), simulation("b"))
    file = read_results(written(tmp_path / "r.json", {key: whole[key] for key in order}))

    assert list(file) == whole["simulations"]
    assert file.info == whole["info"]
    assert file.tasks == {"0": task()}
    assert [Tau2Report(each).domain_name for each in file.reports()] == ["airline"] * 2


def test_what_later_versions_add_is_kept(tmp_path):
    later = simulation(mode="half_duplex", reward_info={"reward": 1.0, "partial": {"a": 1}})
    later["messages"][0]["audio"] = {"seconds": 3}
    whole = results(later, audio_native={"a": [1]})
    whole["info"]["speech"] = {"voice": "x"}
    file = read_results(written(tmp_path / "r.json", whole))

    assert list(file) == [later]
    assert file.info["speech"] == {"voice": "x"}


def test_lines_bring_domain_and_verdict_with_them(tmp_path):
    verdict = {"reward": 0.0, "reward_breakdown": {"DB": 0.0}}
    path = lines(
        tmp_path / "c.jsonl",
        {"domain": "retail", "solo": True, "simulation": simulation(), "reward_info": verdict},
        {"domain": "airline", "simulation": simulation("b"), "exception": {"type": "ValueError"}},
    )

    first, second = map(Tau2Report, read_results(path).reports())

    assert (first.domain_name, first.solo, first.recorded_verdict) == ("retail", True, verdict)
    assert (second.domain_name, second.solo, second.recorded_verdict) == ("airline", False, {})


def test_lines_may_be_bare_simulations(tmp_path):
    path = lines(tmp_path / "c.jsonl", simulation("a"), simulation("b"))

    assert [each["id"] for each in read_results(path)] == ["a", "b"]


Damage = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda s: s.pop("id"), "id: missing"),
        (lambda s: s.update(duration="long"), "duration: .* found 'long'"),
        (lambda s: s.update(messages={}), "messages: should be a valid list, found {}"),
        (lambda s: s.update(termination_reason=3), "termination_reason.*: .* found 3"),
        (lambda s: s["messages"][1].update(role="judge"), r"messages\[1\]\.role: .* found 'judge'"),
        (lambda s: s["messages"][1].pop("role"), r"messages\[1\]\.role: missing"),
        (lambda s: s["messages"][1].update(content=["a"]), r"messages\[1\]\.content: .* \['a'\]"),
        (lambda s: s["messages"][3].pop("id"), r"messages\[3\]\.id: missing"),
        (
            lambda s: s["messages"][2]["tool_calls"][0].update(arguments="{}"),
            r"messages\[2\]\.tool_calls\[0\]\.arguments: .* found '{}'",
        ),
        (lambda s: s.update(reward_info={"reward": 1, "db_check": 3}), r"reward_info\.db_check: "),
        (
            lambda s: s.update(reward_info={"reward": 1, "action_checks": [{"action": {}}]}),
            r"reward_info\.action_checks\[0\]\.action_match: missing",
        ),
    ],
)
def test_a_malformed_simulation_is_named_with_its_field(tmp_path, damage: Damage, told):
    bad = copy.deepcopy(simulation("bad"))
    damage(bad)
    path = written(tmp_path / "r.json", results(simulation("good"), bad, simulation("after")))
    found = []

    named = "" if "id" not in bad else r" \(id 'bad'\)"
    with pytest.raises(
        ResultsFormatError, match=rf"r\.json, simulation 1{named}, {told}"
    ) as caught:
        found.extend(read_results(path))

    assert [each["id"] for each in found] == ["good"]
    assert isinstance(caught.value, MASEvalError) and isinstance(caught.value, ValueError)


def test_reading_can_go_on_behind_a_malformed_simulation(tmp_path):
    path = written(tmp_path / "r.json", results({"id": "bad"}, 7, simulation("after")))
    told: list[ResultsFormatError] = []

    (recorded,) = map(Tau2Report, read_results(path).reports(on_malformed=told.append))

    assert recorded.conversation["id"] == "after"
    assert [str(error).split(",")[1] for error in told] == [
        " simulation 0 (id 'bad')",
        " simulation 1",
    ]


@pytest.mark.parametrize("simulations_first", [True, False])
def test_a_file_that_is_cut_off_gives_what_is_whole(tmp_path, simulations_first):
    whole = results(*(simulation(f"s{number}") for number in range(5)))
    if simulations_first:
        whole = {"simulations": whole["simulations"], **whole}
    text = json.dumps(whole)
    cut = text.index('"s3"') + 40
    path = tmp_path / "r.json"
    path.write_text(text[:cut])
    found = []

    with pytest.raises(ResultsFormatError, match=f"after 3 whole simulations: .*character {cut}"):
        found.extend(read_results(path))

    assert [each["id"] for each in found] == ["s0", "s1", "s2"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "neither a results file"),
        ("hello", "neither a results file"),
        ("[]", "neither a results file"),
        ('{"users": {}, "orders": {}}', "neither a results file"),
        ("{hello", "expected a key in double quotes at character 1"),
        ('{"simulations": {}}', "simulations: should be a list, found {}"),
        ('{"info": {}}', "simulations: missing"),
        ('{"simulations": []} x', "extra data at character 20"),
        ('{"simulations": [,]}', "after 0 whole simulations: Expecting value at character 17"),
        ('{"messages": []}\n[1]', r"simulation 0, id: missing"),
        ('{"messages": []}\n[1]', r"simulation 0, id: missing"),
    ],
)
def test_what_is_no_results_file_is_told_with_its_name(tmp_path, content, told):
    path = tmp_path / "r.json"
    path.write_text(content)

    with pytest.raises(ResultsFormatError, match=rf"r\.json.*{told}"):
        list(read_results(path))


def test_domain_and_mode_are_found_though_the_rest_of_info_is_missing(tmp_path):
    about: dict[str, Any] = {"environment_info": {"domain_name": "retail"}}
    for agent, solo in (({}, False), ({"implementation": "llm_agent_solo"}, True)):
        whole = results(simulation(), info={**about, "agent_info": agent})

        (report,) = read_results(written(tmp_path / "r.json", whole)).reports()

        recorded = Tau2Report(report)
        assert (recorded.domain_name, recorded.solo) == ("retail", solo)


@pytest.mark.parametrize(
    ("name", "retrieval", "domain"),
    [
        ("banking_knowledge", "bm25", "banking_knowledge@bm25"),
        ("banking_knowledge", "alltools", "banking_knowledge"),
        ("banking_knowledge", None, "banking_knowledge"),
        ("banking_knowledge@bm25", None, "banking_knowledge@bm25"),
        ("retail", "bm25", "retail"),
    ],
)
def test_the_way_to_search_is_found_in_its_field_and_in_a_name_of_ours(
    tmp_path, name, retrieval, domain
):
    about = {"environment_info": {"domain_name": name}, "retrieval_config": retrieval}
    path = written(tmp_path / "r.json", results(simulation(), info=about))

    file = read_results(path)
    (report,) = file.reports()

    assert Tau2Report(report).domain_name == domain == file.claims.domain_name


def test_info_and_tasks_are_checked_when_they_are_asked_for(tmp_path):
    whole = results(simulation(), tasks=[task(), {"id": 3}], info={"git_commit": "x"})
    file = read_results(written(tmp_path / "r.json", whole))

    with pytest.raises(ResultsFormatError, match=r"info, num_trials: missing \(and 5 more\)"):
        file.info  # noqa: B018
    with pytest.raises(ResultsFormatError, match=r"tasks\[1\], id: .* found 3"):
        file.tasks  # noqa: B018
    assert len(list(file)) == 1


READ_ALL = """
import resource, sys
from maseval.benchmark.tau2.results import read_results
from maseval.benchmark.tau2.conversation.recording import SimulationFormatError
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
print(sum(1 for _ in read_results(sys.argv[1])), peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the peak is told in other units")
def test_a_large_file_needs_little_memory(tmp_path):
    megabytes = 200
    answer = {"id": "c1", "role": "tool", "content": json.dumps({"orders": ["#W1"] * 500})}
    form = json.dumps(simulation(messages=simulation()["messages"] + [answer] * 40))
    count = megabytes * 1_000_000 // len(form) + 1
    head, tail = json.dumps(results("HERE")).split('"HERE"')
    path = tmp_path / "large.json"
    with path.open("w") as file:
        file.write(head)
        file.writelines(form + ("," if left else "") for left in reversed(range(count)))
        file.write(tail)

    command = [sys.executable, "-c", READ_ALL, str(path)]
    found, kilobytes = subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout.split()

    assert path.stat().st_size > megabytes * 1_000_000
    assert int(found) == count
    assert int(kilobytes) < 20_000


VOICE = [
    ({"mode": "full_duplex"}, {}),
    ({"ticks": []}, {}),
    ({}, {"audio_native_config": {"provider": "some"}}),
    ({}, {"user_info": {"implementation": "voice_streaming_user_simulator"}}),
]


@pytest.mark.parametrize(("of_simulation", "of_info"), VOICE)
def test_a_voice_simulation_is_named_as_not_supported(tmp_path, of_simulation, of_info):
    whole = results(simulation(**of_simulation))
    whole["info"] = {**whole["info"], **of_info}
    left_out = []

    file = read_results(written(tmp_path / "r.json", whole))

    assert list(file.reports(left_out.append)) == []
    assert "full-duplex (voice) simulation is not supported" in str(left_out[0])


def test_a_voice_simulation_is_never_scored():
    with pytest.raises(SimulationFormatError, match="not supported"):
        score_simulation(simulation(mode="full_duplex"), domain="airline")


def test_a_folder_holds_a_file_for_each_simulation_of_its_index(tmp_path):
    head = {**results(), "simulation_index": [{"id": "b"}, {"id": "a"}]}
    del head["simulations"]
    (tmp_path / "simulations").mkdir()
    written(tmp_path / "results.json", head)
    for each in ("a", "b"):
        written(tmp_path / "simulations" / f"{each}.json", simulation(each))

    assert [each["id"] for each in read_results(tmp_path)] == ["a", "b"]

    written(tmp_path / "simulations" / "c.json", simulation("c"))
    with pytest.raises(ResultsFormatError, match=r"Extra simulation files not in index: \['c'\]"):
        list(read_results(tmp_path))
