"""What a file says of itself is never taken on trust."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.rescoring.findings import in_words
from maseval.commands import compare, show, tau2
from maseval.core.exceptions import ConfigurationError
from maseval.core.scoring_options import ScoringOptions
from maseval.core.words import in_points, percent
from maseval.runs import RunFolder
from tests.benchmark.tau2.app.doctored import (
    CAUTIONS,
    CORPUS,
    Doctored,
    deleted_failures,
    doctored,
    domain_elsewhere,
    emptied_criteria,
    failures,
    faked_rewards,
    foreign_domain_name,
    foreign_task,
    from_a_model,
    relabelled_failures,
    shuffled_task_ids,
    unlisted_failures,
)
from tests.cli.commandline import maseval, require_data


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an honest file of the library domain."""
    folder = tmp_path_factory.mktemp("doctored")
    played(folder, "library", trials=2)
    return folder


def played(folder: Path, domain: str, trials: int, error_rate: float = 0.4) -> None:
    run = tau2.run(
        domain=domain,
        agent="noisy",
        agent_args={"error_rate": error_rate},
        trials=trials,
        output=folder / "runs" / domain,
    )
    tau2.export(run.folder, folder / f"{domain}.json")


@pytest.fixture(scope="module")
def honest(home: Path) -> dict[str, Any]:
    return json.loads((home / "library.json").read_text())


@pytest.fixture(autouse=True)
def beside_the_files(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)


@pytest.fixture
def changed(home: Path, honest: dict[str, Any], tmp_path: Path) -> Callable[..., Any]:
    def write(change):
        path = tmp_path / f"{change.__name__}.json"
        path.write_text(doctored(honest, change))
        return path

    return write


def test_the_honest_file_has_nothing_wrong_with_it(honest):
    (found,) = tau2.score(["library.json"])
    certified = maseval("tau2", "certify", "library.json")

    assert found.findings == [] and found.agrees
    assert (found.planned, found.compared, found.agreeing) == (24, 24, 24)
    assert found.passes == found.recorded_passes == 24 - len(failures(honest))
    assert 0 < found.passes < 24
    assert certified.exit_code == 0


def test_an_honest_file_of_a_model_has_nothing_wrong_with_it(changed):
    (found,) = tau2.score([changed(from_a_model)])

    assert found.findings == [] and found.agrees


@pytest.mark.parametrize("case", CAUTIONS, ids=lambda case: case.change.__name__)
def test_what_may_be_doctored_is_told_as_a_caution(case: Doctored, changed):
    path = changed(case.change)
    (found,) = tau2.score([path])

    scored = maseval("score", path, "--fail-on-disagreement")
    looked_at = show(path, explain=False)
    compared = compare(["library.json", path])

    (caution,) = (each for each in found.findings if each.kind == case.kind)
    assert caution.weight == "remark" and case.evidence in caution.text
    assert scored.exit_code == 0 and case.kind in scored.stdout
    assert in_words(caution) in looked_at.folder.notes
    assert any(case.kind in note for note in compared.notes)


def test_where_tasks_are_missing_the_headline_is_the_range(changed):
    path = changed(unlisted_failures)
    (honestly,), (part,) = tau2.score(["library.json"]), tau2.score([path])
    scored = maseval("score", path).stdout
    two, three = compare(["library.json", path]), compare(["library.json", path, "runs/library"])

    rate, low = honestly.pass_hat[1].value, part.over_split["worst"]
    there = len({one.task for one in part.slots})
    words = f"pass^1 between {percent(low)} and 100.0% over all 12 tasks of the split; on the"
    assert low <= rate < 1 and scored.index(words) < scored.index("pass^1 100.0%")
    span = f"lies between {in_points(low - rate)} and {in_points(1 - rate)} percentage points"
    whole = f"Over all 12 tasks, of which unlisted_failures lacks {12 - there}, pass^1"
    assert two.headline.startswith(f"{whole} of unlisted_failures \u2212 library {span}")
    assert "unlisted_failures.json lacks" in three.headline
    assert two.headline.startswith(two.to_dict()["missing"])


def set_in(*path: int | str, to: dict[str, float] | int | str) -> Callable[..., Any]:
    def change(document):
        *way, last = path
        for step in way:
            document = document[step]
        document[last] = to

    change.__name__ = "_".join(map(str, path))
    return change


def say_more(document: Any) -> None:
    next(m for m in document["simulations"][0]["messages"] if m["role"] == "user")["content"] += "!"


def drop_a_call(document: Any) -> None:
    messages = document["simulations"][0]["messages"]
    at = next(n for n, each in enumerate(messages) if each.get("tool_calls"))
    del messages[at : at + 2]


@pytest.mark.parametrize(
    "change",
    [
        set_in("info", "agent_info", "llm", to="another-model"),
        set_in("info", "agent_info", "implementation", to="another_agent"),
        set_in("info", "user_info", "llm", to="another-model"),
        set_in("info", "agent_info", "llm_args", to={"temperature": 1.0}),
        set_in("info", "max_steps", to=7),
        set_in("info", "max_errors", to=7),
        set_in("info", "seed", to=7),
        set_in("simulations", 0, "seed", to=7),
        set_in("simulations", 0, "termination_reason", to="agent_stop"),
        set_in("simulations", 0, "id", to="another"),
        say_more,
        drop_a_call,
    ],
    ids=lambda change: change.__name__,
)
def test_a_certificate_holds_for_the_file_that_was_certified_alone(change, changed, tmp_path):
    honest = changed(from_a_model)
    certificate = tmp_path / "certificate.json"
    tau2.certify(honest, certificate)
    assert tau2.verify(certificate, honest) == []

    def other(document):
        from_a_model(document)
        change(document)

    assert tau2.verify(certificate, changed(other)) != []


@pytest.mark.parametrize("change", [{"max_steps": 7}, {"agent": {"player": "gold"}}], ids=str)
def test_a_certificate_of_a_run_holds_for_its_participants_and_limits_alone(home, tmp_path, change):
    tau2.certify("runs/library", tmp_path / "certificate.json")
    whole = RunFolder.read(home / "runs" / "library")
    for name, config in (("same", {}), ("other", change)):
        with RunFolder.open(tmp_path / name, {**whole.config.values, **config}) as folder:
            for report in whole.reports():
                folder.append(report)

    other = tau2.verify(tmp_path / "certificate.json", tmp_path / "other")

    assert tau2.verify(tmp_path / "certificate.json", tmp_path / "same") == []
    assert [each.partition(":")[0] for each in other] == ["setup"]


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case.change.__name__)
def test_a_doctored_file_is_found_out_by_every_command(case: Doctored, changed):
    path = changed(case.change)
    (honestly,) = tau2.score(["library.json"])

    scored = maseval("score", path, "--fail-on-disagreement")
    certified = maseval("tau2", "certify", path, "--json")
    (found,), view = tau2.score([path]), show(path, explain=False)

    assert scored.exit_code == certified.exit_code == 1
    kinds = {each.kind: in_words(each) for each in found.findings}
    assert case.kind in kinds and case.evidence in kinds[case.kind]
    assert scored.stdout.splitlines()[1].strip().startswith(found.findings[0].kind)
    assert case.kind in {each["kind"] for each in json.loads(certified.stdout)["findings"]}
    assert found.passes <= honestly.passes and found.planned >= honestly.planned
    overall = view.summary.overall
    assert (overall.passed, overall.planned) == (found.passes, found.planned)
    assert view.folder.notes[: len(kinds)] == [in_words(each) for each in found.findings]
    try:
        compared = compare(["library.json", path])
    except ConfigurationError as error:
        refused = "no task in common" in str(error) or "compared task by task" in str(error)
        assert refused and case.kind in str(error)
        return
    assert compared.two.main.difference <= 0 or compared.incomplete
    assert any(case.kind in note for note in compared.notes)


def test_failures_stay_in_the_denominator_or_in_the_range_whatever_they_are_called(changed):
    (honestly,) = tau2.score(["library.json"])
    honest_number = honestly.pass_hat[1].value
    for change in (relabelled_failures, deleted_failures):
        (found,) = tau2.score([changed(change)])
        number = tau2.certify(changed(change)).content["numbers"]["library"]
        assert (found.passes, found.planned) == (honestly.passes, 24)
        assert (number["passed"], number["simulations"]) == (honestly.passes, 24)
        first = found.pass_hat[1]
        worst = first.value if first.bounds is None else first.bounds[0]
        assert worst == honest_number == (number["range"] or [number["pass_hat_k"]["pass^1"]])[0]
        assert (first.bounds is None) == (change is relabelled_failures)


def test_a_certificate_is_about_the_whole_split_or_says_that_it_is_not(changed):
    path = changed(unlisted_failures)

    whole = maseval("tau2", "certify", path)
    part = maseval("tau2", "certify", path, "--partial", "--json")

    assert whole.exit_code == 1 and "missing tasks: " in whole.stdout
    assert "of the 12 tasks of the base split" in whole.stdout
    assert part.exit_code == 0
    assert json.loads(part.stdout)["rules"]["tasks"] == "as listed"


def test_recorded_rewards_and_embedded_tasks_count_if_asked_for_and_are_marked(changed):
    recorded = maseval("score", changed(faked_rewards), "--as-recorded")
    embedded = maseval("score", changed(emptied_criteria), "--embedded-tasks")
    compared = compare(
        ["library.json", changed(faked_rewards)], options=ScoringOptions(as_recorded=True)
    )

    assert "rewards as recorded, not recomputed" in recorded.stdout
    assert "passed: 24 of 24;" in recorded.stdout
    assert "judged by the tasks in the file" in embedded.stdout
    assert "passed: 24 of 24;" in embedded.stdout
    assert compared.two.main.second == 1.0
    assert any("as recorded, not recomputed" in note for note in compared.notes)


def test_shuffled_files_are_not_compared(changed):
    path = changed(shuffled_task_ids)

    refused = maseval("compare", "library.json", path)
    gated = maseval("gate", path, "--baseline", "library.json")

    assert refused.exit_code == gated.exit_code == 2
    assert "task ids shuffled" in refused.stderr


def test_an_explanation_leads_with_what_is_wrong_with_the_record(changed, honest):
    path = changed(shuffled_task_ids)
    task = json.loads(path.read_text())["simulations"][0]["task_id"]

    found = maseval("explain", path, task, 0)
    emptied = maseval("explain", changed(emptied_criteria), failures(honest)[0]["task_id"])

    assert found.stdout.splitlines()[1].startswith("Note: task ids shuffled")
    assert "criteria removed" in emptied.stdout and "reward 0" in emptied.stdout


def test_a_file_with_a_foreign_domain_name_is_judged_as_the_domain_that_is_named(changed):
    path = changed(foreign_domain_name)

    unnamed = maseval("score", path)
    named = maseval("score", path, "--domain", "library")
    certified = maseval("tau2", "certify", path, "--domain", "library")
    compared = compare(["library.json", path], options=ScoringOptions(domain="library"))

    assert unnamed.exit_code == 2 and "--domain" in unnamed.stderr
    assert named.exit_code == 0
    assert "foreign domain: the file calls its domain 'tighter_policy'" in named.stdout
    assert "other policy" in named.stdout
    assert "24 of 24 recorded verdicts confirmed" in named.stdout
    assert certified.exit_code == 1
    assert compared.two.main.difference == 0
    assert any("other policy" in note for note in compared.notes)


def test_a_domain_that_stands_elsewhere_can_be_named(changed):
    path = changed(domain_elsewhere)

    assert maseval("score", path).exit_code == 2
    assert maseval("score", path, "--domain", "library").exit_code == 0
    assert maseval("tau2", "certify", path, "--domain", "library").exit_code == 0


@pytest.mark.parametrize(("name", "code"), [("broken.json", 1), ("nowhere.json", 2)])
def test_a_file_that_cannot_be_read_is_named_before_anything_is_judged(home, name, code):
    (home / "broken.json").write_text('{"simulations": 3')

    found = maseval("score", "library.json", name)

    assert (found.exit_code, found.stdout) == (code, "") and name in found.stderr


def test_a_file_that_is_cut_off_is_judged_as_far_as_it_goes(home):
    text = (home / "library.json").read_text()
    (home / "cut.json").write_text(text[: len(text) // 2])

    scored = maseval("score", "cut.json")
    certified = maseval("tau2", "certify", "cut.json")

    assert "unreadable simulations: 1 part of the file" in scored.stdout
    assert (
        "missing simulations: " in scored.stdout
        and " of 24 simulations have a verdict" in scored.stdout
    )
    assert certified.exit_code == 1


def test_nothing_compared_is_no_agreement(home, honest):
    bare = {**honest, "simulations": [{**s, "reward_info": None} for s in honest["simulations"]]}
    (home / "bare.json").write_text(json.dumps(bare))
    (home / "empty.json").write_text(json.dumps({**honest, "simulations": []}))

    unrecorded = maseval("score", "bare.json")
    empty = maseval("score", "empty.json", "--domain", "library")

    assert unrecorded.exit_code == empty.exit_code == 1
    assert "confirmed" not in unrecorded.stdout
    assert "%" not in empty.stdout


def test_all_but_the_foreign_task_of_a_file_are_compared(changed):
    found = compare(["library.json", changed(foreign_task)])

    assert found.two.main.tasks == 11
    assert any("not in every run" in line for line in found.dropped)


def test_simulations_whose_lines_in_a_log_were_edited_have_no_verdict(home):
    log = home / "runs" / "library" / "log.jsonl"
    before = compare(["library.json", "runs/library"])
    kept = log.read_text()
    try:
        log.write_text(kept.replace('"passed": false', '"passed": true'))
        edited = compare(["library.json", "runs/library"])
    finally:
        log.write_text(kept)

    assert before.two.main.difference == 0 and not before.incomplete
    assert any("its log is damaged in" in note for note in edited.notes)
    assert "of 24 simulations have a verdict" in edited.incomplete[0]


@pytest.mark.data
def test_the_published_airline_tasks_are_judged_the_same_way(tmp_path):
    require_data()
    played(tmp_path, "airline", trials=1, error_rate=0.3)
    honest = json.loads((tmp_path / "airline.json").read_text())
    (honestly,) = tau2.score([tmp_path / "airline.json"])
    for case in CORPUS:
        if case.change.__name__ in ("missing_trials", "faked_verdicts"):
            continue
        path = tmp_path / "doctored.json"
        path.write_text(doctored(honest, case.change))
        (found,) = tau2.score([path])
        assert case.kind in {each.kind for each in found.findings}, case.kind
        assert found.passes <= honestly.passes


@pytest.mark.data
def test_nothing_of_a_release_that_was_not_asked_for_is_fetched(tau2_data, tmp_path, monkeypatch):
    cache = tmp_path / "cache" / "tau2"
    cache.mkdir(parents=True)
    (cache / "v0.2.0").symlink_to(tau2_data, target_is_directory=True)
    left = cache / "v1.0.1" / "domains" / "airline" / "db.json"  # by a fetch that failed
    left.parent.mkdir(parents=True)
    left.write_text("{}")
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(cache.parent))
    played(tmp_path, "airline", trials=1, error_rate=0.3)
    path = tmp_path / "airline.json"
    path.write_text(doctored(json.loads(path.read_text()), emptied_criteria))

    (found,) = tau2.score([path])

    assert "criteria removed" in {each.kind for each in found.findings}
    assert [each for each in cache.rglob("v1*/**/*") if each.is_file()] == [left]


def test_the_verdicts_of_a_run_are_recomputed(home, tmp_path):
    """A rewritten log with valid checksums and false verdicts."""
    whole = RunFolder.read(home / "runs" / "library")
    with RunFolder.open(tmp_path / "forged", dict(whole.config.values)) as folder:
        for report in whole.reports():
            entries = [{**entry, "passed": True, "reward": 1.0} for entry in report["eval"]]
            folder.append({**report, "eval": entries})

    found = compare([home / "runs" / "library", tmp_path / "forged"])
    believed = compare(
        [home / "runs" / "library", tmp_path / "forged"],
        options=ScoringOptions(as_recorded=True),
    )

    assert found.two.main.difference == 0
    assert any("recorded verdicts do not hold" in note for note in found.notes)
    assert believed.two.main.difference > 0


def test_simulations_without_a_plan_are_counted_as_they_are(tmp_path, honest):
    some = [each for each in honest["simulations"] if each["trial"] == 0][:7]
    lines = [{"simulation": each, "domain": "library"} for each in some + some[:2]]
    (tmp_path / "lines.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    (found,) = tau2.score([tmp_path / "lines.jsonl"])

    assert (found.planned, len(found.simulations), found.missing) == (9, 9, [])
    assert [each.kind for each in found.findings] == ["repeated id", "repeated times"]
