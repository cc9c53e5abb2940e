"""The number over sound tasks, wherever a number of a run is shown."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maseval import frames
from maseval.app.results.examined import RunFindings
from maseval.app.results.measured import SOUND, MeasuredScore
from maseval.app.sharing.sync import _tracked_run
from maseval.benchmark.tau2 import register_domain
from maseval.benchmark.tau2.data_loader import load_raw_task, load_raw_tasks
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.domains.library import LIBRARY
from maseval.commands import report, show, tau2
from maseval.runs import RunFolder
from maseval.view.library import Library
from tests.benchmark.tau2.compliance.gold_talk import Do, Say, play, steps_of
from tests.cli.commandline import maseval
from tests.report.reading import index_of, packets_of, rows_of

OUT, WRONG, OTHER = "renew_own_not_husbands", "first_waiver", "renew_all_but_one"
"""Tasks with an erratum: left out, with a corrected gold, with another right end state."""


def erratum(task: str, kind: str, what: str, **sound_verdict: Any) -> dict[str, Any]:
    known = ["read by hand"]
    entry = {"domain": "desk", "task": task, "kind": kind, "what": what, "known": known}
    return entry | {"sound_verdict": sound_verdict}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Domain:
    """The library's desk under another name, with errata beside its tasks."""
    folder = tmp_path_factory.mktemp("desk") / "data"
    shutil.copytree(LIBRARY.data_dir, folder)
    tasks = {raw["id"]: raw["evaluation_criteria"]["actions"] for raw in load_raw_tasks("library")}
    steps = {
        task: [{key: each[key] for key in ("name", "arguments")} for each in actions]
        for task, actions in tasks.items()
    }
    written = [
        erratum(OUT, "information missing", "Nobody says whose book.", leave_out=True),
        erratum(WRONG, "gold against the policy", "It waives.", gold=steps[WRONG][:-1]),
        erratum(OTHER, "several right end states", "One will do.", accept=[steps[OTHER][-1:]]),
    ]
    (folder / "errata.json").write_text(json.dumps(written))
    return register_domain(replace(LIBRARY, name="desk", data_dir=folder), replace=True)


@pytest.fixture(scope="module")
def run(desk: Domain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every task, done as its reference solution does it: all pass officially."""
    folder = tmp_path_factory.mktemp("runs") / "gold"
    return tau2.run(domain="desk", agent="gold", output=folder).folder


@pytest.fixture(scope="module")
def file(desk: Domain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results file: the user leaves before the confirmed write; another right end state."""
    tasks = {raw["id"]: raw for raw in load_raw_tasks("desk")}
    steps = steps_of("desk", tasks[OTHER])
    writes = [i for i, step in enumerate(steps) if isinstance(step, Do) and "renew" in step.name]
    left = [*steps[: writes[1] - 1], Say("user", "Yes, please go ahead. ###STOP###")]
    other = [*steps[: writes[0] - 2], *steps[writes[0] + 1 :]]
    played = [play("desk", tasks[OTHER], each) for each in (steps, left, other)]
    path = tmp_path_factory.mktemp("files") / "theirs.jsonl"
    for trial, each in enumerate(played):
        each |= {"id": str(trial), "trial": trial}
    path.write_text("".join(json.dumps(each) + "\n" for each in played))
    return path


def numbers(view: RunFindings) -> list[MeasuredScore]:
    """The official number and the one over sound tasks."""
    return [each for each in view.scores if each.counted in ("official", SOUND.name)]


def test_the_official_number_stays_and_the_others_stand_beside_it(run):
    view = show(run)

    official, sound = numbers(view)
    assert view.summary.overall.pass_hat[1].value == official.pass_hat[1].value == 1.0
    assert sound.effect == "1 task left out, 1 verdict differs"
    assert sound.pass_hat[1].value == pytest.approx(10 / 11)
    assert sound.pass_hat[1].interval is not None


def test_a_file_with_another_right_end_state(file):
    view = show(file, domain="desk")

    official, sound = numbers(view)
    assert official.pass_hat[1].value == pytest.approx(1 / 3)
    assert sound.effect == "1 verdict differs"
    assert sound.pass_hat[1].value == pytest.approx(2 / 3)
    every = [each for some in view.findings.values() for each in some]
    (reason,) = [each.text for each in every if each.kind == "sound verdict: passed"]
    assert reason.startswith("another right end state: ")


def test_a_task_that_a_file_brings_has_the_errata_of_the_release_only_if_it_is_the_same(
    run, tmp_path
):
    (exported,) = tau2.export(run, tmp_path / "results.json")
    content = json.loads(exported.path.read_text())
    (changed,) = [task for task in content["tasks"] if task["id"] == OUT]
    changed["user_scenario"]["instructions"] = {"task_instructions": "Renew your own book."}
    (tmp_path / "changed.json").write_text(json.dumps(content))

    for judged_by_the_file in (True, False):
        same, other = (
            show(path, embedded_tasks=judged_by_the_file).scores[-1].effect
            for path in (exported.path, tmp_path / "changed.json")
        )
        assert same == "1 task left out, 1 verdict differs"
        assert other == "1 verdict differs"


@pytest.mark.parametrize("verdict", [{"reward": 0.0}, {"reward": "high"}, {}, None])
def test_a_recorded_verdict_may_lack_any_part(file, tmp_path, verdict):
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    odd = tmp_path / "odd.jsonl"
    odd.write_text("".join(json.dumps(each | {"reward_info": verdict}) + "\n" for each in lines))

    for as_recorded in (True, False):
        found = show(odd, domain="desk", as_recorded=as_recorded).scores
        assert found[-1].counted == "over sound tasks"


def test_show_sound_names_each_task_and_verdict(run):
    shown = " ".join(maseval("show", run, "--sound").stdout.split())

    assert shown.index("the official number") < shown.index("pass^k, over sound tasks")
    assert "1 task left out, 1 verdict differs" in shown
    assert f"left out task desk/{OUT}: information missing: Nobody says whose book." in shown
    assert f"- desk/{WRONG} trial 0: gold against the policy: It waives." in shown
    assert "Nobody says" not in maseval("show", run).stdout


def test_a_sound_verdict_is_told_once(file, tmp_path):
    shown = maseval("show", file, OTHER, "2", "--domain", "desk").stdout
    page = report(file, tmp_path / "page.html", domain="desk")

    assert shown.count("sound verdict: passed") == 1 and "Sound verdict" not in shown
    titles = [
        [section["title"] for section in (detail.get("explanation") or {}).get("sections", ())]
        for packet in packets_of(page)
        for detail in packet
    ]
    sound = [[title for title in each if title.startswith("The task")] for each in titles]
    assert sound == [[], [], ["The task: sound verdict: passed"]]


def test_report_and_viewer_have_the_same_rows_notes_and_labels(run, tmp_path):
    page = report(run, tmp_path / "page.html")
    viewed = Library(run.parent).run(run.name)
    before = viewed.index()["results"]
    viewed.label()
    index, shown = viewed.index(), index_of(page)

    assert [row["name"] for row in shown["results"]["rows"]] == ["desk"]
    assert shown["results"]["beside"][-1]["name"] == "over sound tasks"
    assert index["results"] == shown["results"]
    assert before["beside"] == []
    notes = " ".join(shown["results"]["meaning"])
    assert "ver sound tasks: 1 task left out, 1 verdict differs; " in notes
    assert "These are additional numbers; the official one is unchanged." in notes
    labels = [each for row in rows_of(shown) for each in row["labels"]]
    assert labels.count("task: left out") == labels.count("task: sound verdict: failed") == 1
    assert [list(each["labels"]) for each in rows_of(index)] == [
        each["labels"] for each in rows_of(shown)
    ]
    sections = [
        section
        for packet in packets_of(page)
        for detail in packet
        for section in (detail.get("explanation") or {}).get("sections", ())
    ]
    (lines,) = [
        each["lines"] for each in sections if each["title"] == "The task: sound verdict: failed"
    ]
    assert lines == ["gold against the policy: It waives. [known fault of the task]"]


def test_a_task_with_an_erratum_is_marked_where_findings_are(run, tmp_path):
    index = index_of(report(run, tmp_path / "page.html", explain=False))

    marks = {task["id"]: task["findings"] for task in index["tasks"] if "findings" in task}
    (badge,) = [each for each in marks[OUT] if each["name"].startswith("erratum")]
    assert badge["name"] == "erratum: information missing"
    assert badge["text"] == "Nobody says whose book. Known from: read by hand."
    names = [each["name"] for found in marks.values() for each in found]
    assert all(name.startswith("erratum: ") for name in names)


def test_frames_have_every_number_by_what_it_counts(run, file):
    wanted = ("official", "over sound tasks")
    every = [row for row in frames.scores(run, domain="desk") if row["k"] == 1]
    scores = [row for row in every if row["counted"] in wanted]
    assert [row["value"] for row in scores] == [1.0, pytest.approx(10 / 11)]
    assert scores[1]["low"] < scores[1]["value"] <= scores[1]["high"]
    assert (scores[1]["left_out_tasks"], scores[1]["differing_verdicts"]) == (1, 1)
    errata = [row for row in frames.findings(run) if row["source"] == "erratum"]
    assert {row["task_id"]: row["kind"] for row in errata} == {
        OUT: "left out",
        WRONG: "sound verdict: failed",
    }
    assert all(row["passed"] and row["counts"] for row in errata)
    causes = [row for row in frames.findings(file, domain="desk") if row["source"] == "cause"]
    assert {row["who"] for row in causes} == {"unclear", "task"}


def test_what_is_handed_on_has_the_official_number_only(run, tmp_path):
    """Certificates, trackers and results files know neither errata nor who failed."""
    certificate = tau2.certify(run, tmp_path / "certificate.json", partial=True)
    (results,) = tau2.export(run, tmp_path / "results.json")
    with _tracked_run(RunFolder.read(run)) as tracked:
        metrics = dict(tracked.metrics)

    assert metrics["pass_hat_1"] == 1.0
    exported = json.loads(results.path.read_text())
    assert all(each["reward_info"]["reward"] == 1.0 for each in exported["simulations"])
    (row,) = frames.runs(run)
    for text in (
        certificate.to_json(),
        results.path.read_text(),
        json.dumps(metrics),
        json.dumps(row, default=str),
    ):
        assert "sound" not in text and "erratum" not in text


@pytest.mark.data
def test_a_choice_that_only_the_files_own_task_settles_is_not_open(tau2_data, tmp_path):
    raw = load_raw_task("retail", "100")
    paypal = json.loads(json.dumps(raw).replace("credit_card_3261838", "paypal_3650980"))
    asked = "Have you named all items that you want to change?"
    looked_up = [
        Do(
            "find_user_id_by_name_zip",
            {"first_name": "Liam", "last_name": "Thomas", "zip": "85049"},
        ),
        Do("get_user_details", {"user_id": "liam_thomas_7882"}),
        *(Do("get_order_details", {"order_id": each}) for each in ("#W3295833", "#W8488728")),
        *(Do("get_product_details", {"product_id": each}) for each in ("1968349452", "5426915165")),
        *(Say("assistant", asked), Say("user", "Yes, those are all.")),
    ]
    played = play("retail", paypal, steps_of("retail", paypal, looked_up))
    told = json.loads(json.dumps(raw))
    told["user_scenario"]["instructions"]["reason_for_call"] += " Pay with your Visa card."

    def effect(task):
        path = tmp_path / "file.json"
        path.write_text(json.dumps({"info": {}, "tasks": [task], "simulations": [played]}))
        return show(path, domain="retail").scores[-1].effect

    assert effect(raw) == "1 verdict differs"
    assert effect(told) == "0 verdicts differ"
