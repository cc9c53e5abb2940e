"""One number of a run, wherever it is shown, whatever became of its simulations."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval import frames
from maseval.app.results.names import open_recording
from maseval.app.results.report import drawings
from maseval.app.sharing.sync import _tracked_run
from maseval.commands import compare, gate, report, show, tau2
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import total_cost
from maseval.core.words import between, in_percent, percent
from maseval.runs import RunFolder
from maseval.stats import summarise
from tests.cli.commandline import maseval
from tests.report.reading import index_of, rows_of
from tests.view.builders import viewer
from tests.waiting import wait_until

COST = {"agents": {"a": {"cost": 0.5, "input_tokens": 100}}}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete run of the library domain: 12 tasks, some of which fail."""
    folder = tmp_path_factory.mktemp("whole") / "whole"
    args = {"error_rate": 0.3}
    tau2.run(domain="library", agent="noisy", agent_args=args, output=folder)
    return folder


@pytest.fixture(scope="module")
def exported(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run as a results file."""
    file = tmp_path_factory.mktemp("exported") / "whole.json"
    tau2.export(whole, file)
    return file


def broken(recorded: Any, status: Any) -> dict[str, Any]:
    """The report of the same simulation, ended by an error before anything was said."""
    error = {"error_type": "Trouble", "error_message": "out of order", "traceback": ""}
    empty = {"traces": {}, "eval": None, "final_answer": None, "usage": COST}
    return {**recorded, **empty, "status": status, "error": error}


def provider_outage(reports: list[dict[str, Any]]) -> list[Any]:
    return [*(broken(each, "provider_error") for each in reports[:5]), *reports[5:]]


CASES = {
    "complete": lambda reports: reports,
    "stopped": lambda reports: reports[:5],
    "quota": lambda reports: [*reports[:4], broken(reports[4], "quota_exhausted")],
    "provider outage": provider_outage,
    "resumed": lambda reports: [*provider_outage(reports), *reports[:5]],
    "every way to fail": lambda reports: [
        *(
            broken(each, status)
            for each, status in zip(
                reports,
                ("agent_error", "task_timeout", "user_error", "setup_failed", "worker_died"),
                strict=False,
            )
        ),
        *reports[5:10],
    ],
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, whole: Path, tmp_path: Path) -> Path:
    """A run in the folder ``runs/case``, of which this is the path."""
    recorded = RunFolder.read(whole)
    with RunFolder.open(tmp_path / "runs" / "case", dict(recorded.config.values)) as folder:
        for each in CASES[request.param](list(recorded.reports())):
            folder.append(each)
    return tmp_path / "runs" / "case"


def finish(case: Path) -> None:
    """End the session as a run does, which writes the number down for the list of runs."""
    with RunFolder.open(case, dict(RunFolder.read(case).config.values)) as folder:
        summary = show(case, explain=False).summary
        used = summary.cost, summary.tokens
        folder.note_result(summary.overall.pass_1, summary.overall.verdicts, *used)


def test_every_text_says_how_many_have_a_verdict(case, whole, tmp_path):
    view = show(case, explain=False).summary
    sentence = re.search(r"\d+ of 12 simulations have a verdict.*all pass\.", view.method)
    if view.overall.verdicts == view.overall.planned:
        assert sentence is None
        assert not compare([whole, case]).incomplete
        assert gate(case, whole).verdict != "worse"
        return
    assert sentence is not None
    words = sentence[0]

    found = compare([whole, case])
    with pytest.raises(ConfigurationError) as refused:
        gate(case, whole)
    (score,) = tau2.score([case])
    page = index_of(report(case, tmp_path / "page.html", explain=False))["results"]["notes"]
    numbers = re.sub(r" \(.*?\)", "", words)

    finish(case)
    listed = " ".join(maseval("runs", case.parent).stdout.split())
    assert f", {view.overall.verdicts}/12 verdicts" in listed and "incomplete" in listed
    assert found.incomplete[0] == f"case: {words}"
    assert words.rstrip(".") in str(refused.value)
    assert any(words in note for note in page)
    assert re.sub(r" \(.*?\)", "", score.shortfall) == numbers
    assert numbers in tau2.certify(case, partial=True).text()
    assert gate(case, whole, allow_incomplete=True).verdict != "worse"
    assert maseval("gate", case, "--baseline", whole).exit_code == 2


def test_a_provider_that_was_down_makes_no_run_worse(case, whole):
    found = compare([whole, case])

    assert found.two.main.difference == (0 if "agent_error" not in statuses(case) else -1 / 6)


def statuses(case: Path) -> set[str]:
    return set(RunFolder.read(case).recorded.values())


def with_usage(reports: list[dict[str, Any]], **model: Any) -> list[dict[str, Any]]:
    """The same reports, each of which read 100 tokens; ``model`` is what is recorded of it."""
    return [
        {
            **each,
            "usage": {"models": {"agent_model": {"cost": cost, "input_tokens": 100}}},
            "config": {**each["config"], "models": {"agent_model": {"model_id": "m", **model}}},
        }
        for each, cost in zip(reports, model.pop("costs"), strict=False)
    ]


FREE = {"type": "ModelPrice", "source": "a file", "input": 0.0, "output": 0.0}


def foreign(benchmark: Any, passed: Any, trials: int) -> tuple[Any, Any]:
    """The configuration and the reports of a benchmark without a world; None has no verdict."""
    ids = [f"t{at}" for at in range(len(passed) // trials)]
    config = {"benchmark": benchmark, "tasks": {"": ids}, "trials": trials, "seed": 77}
    reports = [
        {
            **{"task_id": ids[at // trials], "repeat_idx": at % trials, "seed": 1000 + at},
            **{"status": "provider_error" if each is None else "success", "error": None},
            "eval": [] if each is None else [{"passed": each, "overall_gsr": float(each)}],
            **{"traces": {}, "config": {}, "usage": {}, "attempts": [], "run_id": "r"},
            **{"final_answer": None, "duration_seconds": 1.0, "started_at": "2026-01-02T03:04:05"},
            "task": {"query": "", "metadata": {}, "protocol": {}},
        }
        for at, each in enumerate(passed)
    ]
    return config, reports


def of_library(change: Callable[..., Any], **settings: Any) -> Callable[..., Any]:
    def make(recorded):
        return {**recorded.config.values, **settings}, change(list(recorded.reports()))

    return make


def free_of_charge(reports: list[dict[str, Any]]) -> Any:
    return with_usage(reports, costs=[0.0] * 12, cost_calculator=FREE)


def same_words(reports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Two trials of each task by a model that says the same again, at another time."""
    again = json.loads(re.sub(r"(20\d\d)-(\d\d-\d\dT)", r"2031-\2", json.dumps(reports)))
    for each in again:
        each["repeat_idx"] = 1
        each["traces"]["environment"]["simulation"]["id"] += "-again"
    return with_usage([*reports, *again], costs=[0.25] * 24)


RUNS = {
    **{name: of_library(change) for name, change in CASES.items()},
    "with costs": of_library(lambda reports: with_usage(reports, costs=[0.25] * 12)),
    "no price": of_library(lambda reports: with_usage(reports, costs=[0.0] * 12)),
    "some prices": of_library(lambda reports: with_usage(reports, costs=[0.0, 0.5] * 6)),
    "free": of_library(free_of_charge, prices={"models": {"m": FREE}, "unknown": []}),
    "deterministic model": of_library(same_words, trials=2),
    "one task": lambda _: foreign("mine:Shop", [True] * 5, 5),
    "many trials": lambda _: foreign("mine:Shop", [True, False, True] * 4 + [False] * 4, 4),
    "one trial": lambda _: foreign("mine:Shop", [True] * 5 + [False] * 11, 1),
    "macs": lambda _: foreign("macs", [True, False, True, None], 2),
}


@pytest.fixture(params=[*RUNS, "whole file", "partial file"])
def source(
    request: pytest.FixtureRequest,
    whole: Path,
    exported: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A run or a results file, alone in its folder."""
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "240")
    path = tmp_path / "runs" / "case"
    if request.param.endswith("file"):
        return copy_of(exported, path, 3 if request.param == "partial file" else None)
    config, reports = RUNS[request.param](RunFolder.read(whole))
    with RunFolder.open(path, config) as folder:
        for each in reports:
            folder.append(each)
    finish(path)
    return path


def copy_of(exported: Path, path: Path, left: int | None = None) -> Path:
    """A copy of a results file, with so many of its simulations."""
    content = json.loads(exported.read_text())
    content["simulations"] = content["simulations"][:left]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".json").write_text(json.dumps(content))
    return path.with_suffix(".json")


def interval(
    found: dict[str, Any],
    names: tuple[str, str, str, str, str] = ("value", "low", "high", "worst", "best"),
) -> dict[str, float]:
    value, low, high, worst, best = (found.get(name) for name in names)
    ends = value if worst is None else worst, value if best is None else best
    return dict(
        zip(("pass_1", "low", "high", "worst", "best"), (value, low, high, *ends), strict=True)
    )


def in_show(source: Path) -> dict[str, float]:
    view = show(source, explain=False)
    overall = view.summary.overall
    return {
        **interval(overall.pass_hat[1].in_brief()),
        **{"planned": overall.planned, "verdicts": overall.verdicts, "passed": overall.passed},
        **{"tasks": overall.tasks, "recorded": overall.recorded, "failed": overall.failed},
        **{"cost": view.summary.cost, "tokens": view.summary.tokens},
        "seed": view.folder.config.values.get("seed"),
        "complete": overall.verdicts == overall.planned,
    }


def in_json(source: Path) -> dict[str, float]:
    found = json.loads(maseval("show", source, "--no-explain", "--json").stdout)
    overall, rows = found["overall"], found["simulations"]
    assert sum(row["passed"] is True for row in rows) == overall["passed"]
    assert total_cost(row["cost"] for row in rows) == found["cost"]
    return {
        **interval(overall["pass^1"]),
        **{key: overall[key] for key in ("planned", "verdicts", "passed", "tasks", "failed")},
        **{key: found[key] for key in ("cost", "tokens", "complete")},
        "recorded": len(rows),
    }


def in_frame_of_runs(source: Path) -> dict[str, Any]:
    (row,) = frames.runs(source)
    names = ("planned", "verdicts", "passed", "tasks", "cost", "tokens", "seed")
    ends = ("pass_1", *(f"pass_1_{end}" for end in ("low", "high", "worst", "best")))
    return {
        **{name: row[name] for name in names},
        **interval(row, ends),
        "recorded": row["simulations"],
    }


def in_frame_of_simulations(source: Path) -> dict[str, float]:
    rows = list(frames.simulations(source))
    passed = [row["passed"] for row in rows if row["passed"] is not None]
    return {
        "recorded": len(rows),
        "verdicts": len(passed),
        "passed": sum(passed),
        "cost": total_cost(row["cost"] for row in rows),
        "tokens": sum((row["input_tokens"] or 0) + (row["output_tokens"] or 0) for row in rows),
    }


def in_index(index: dict[str, Any]) -> dict[str, Any]:
    """What a page shows: the row of all in its table, its facts, and its simulations."""
    results, rows = index["results"], rows_of(index)
    row = next(each for each in reversed(results["rows"]) if not each["name"].startswith("with"))
    counts = dict(zip(results["counts"], row["counts"], strict=True))
    measures = dict(zip(results["measures"], row["measures"], strict=True))
    seed = dict(index["facts"]).get("Seed")
    return {
        **interval(measures["pass^1"]),
        **{"planned": counts["simulations"], "verdicts": counts["verdicts"]},
        **{"tasks": counts["tasks"], "recorded": len(rows)},
        "passed": sum(each["outcome"] == "pass" for each in rows),
        "cost": total_cost(each["cost"] for each in rows),
        "tokens": sum(each["tokens"] for each in rows),
        "seed": None if seed is None else int(seed),
    }


def in_report(source: Path) -> dict[str, Any]:
    return in_index(index_of(report(source, source.with_name("page.html"), explain=False)))


def in_viewer(source: Path) -> dict[str, float]:
    client = viewer(source.parent)

    def row():
        return client.get("/api/runs").json()["runs"][0]

    wait_until(lambda: row()["planned"])
    listed, name = row(), source.name
    live = client.get("/api/run/live", params={"run": name}).json()
    same = ("planned", "failed", "cost", "tokens", "state")
    assert {key: live[key] for key in same} == {key: listed[key] for key in same}
    return {
        **in_index(client.get("/api/run/index", params={"run": name}).json()),
        **interval(listed["pass_1"]),
        **{key: listed[key] for key in ("planned", "failed", "cost", "tokens")},
        "verdicts": listed["pass_1"]["verdicts"],
        "recorded": listed["done"] + listed["failed"],
        "complete": listed["state"] == "complete",
    }


def in_list(source: Path) -> dict[str, float]:
    (listed,) = json.loads(maseval("runs", source.parent, "--json").stdout)
    return {
        **interval(listed["pass^1"]),
        **{key: listed[key] for key in ("planned", "failed", "cost", "tokens")},
        "recorded": listed["done"] + listed["failed"],
        "verdicts": listed["pass^1"]["verdicts"],
        "complete": listed["state"] == "complete",
    }


def in_trackers(source: Path) -> dict[str, float]:
    with _tracked_run(open_recording(source)) as sent:
        found = sent.metrics
    ends = ("pass_hat_1", *(f"pass_hat_1_{end}" for end in ("low", "high", "worst", "best")))
    return {
        **interval(found, ends),
        **{key: found[key] for key in ("verdicts", "passed", "tokens")},
        "cost": found.get("cost"),
        "recorded": found["simulations"],
        "complete": sent.complete,
    }


def in_score(source: Path) -> dict[str, float]:
    (found,) = tau2.score([source])
    numbers = found.to_dict()
    counts = {key: numbers[key] for key in ("planned", "verdicts", "passed")}
    return {**interval(numbers["pass^1"]), **counts, "recorded": numbers["simulations"]}


def in_certificate(source: Path) -> dict[str, float]:
    numbers = tau2.certify(source, partial=True).content["numbers"]["library"]
    value = numbers["pass_hat_k"]["pass^1"]
    worst, best = numbers["range"] or (value, value)
    return {
        **{"pass_1": value, "worst": worst, "best": best, "planned": numbers["simulations"]},
        **{key: numbers[key] for key in ("verdicts", "passed", "tasks")},
    }


def in_comparison(source: Path) -> dict[str, float]:
    """Compared with a copy of itself, whose numbers are on the tasks that have a verdict."""
    copy = source.with_name(f"copy{source.suffix}")
    if source.is_dir():
        shutil.copytree(source, copy)
    else:
        shutil.copy(source, copy)
    found = compare([source, copy])
    first, second = found.summaries.values()
    assert first.overall == second.overall and not found.two.main.difference
    mean, done = first.overall.mean_cost, first.overall
    known = [row["cost"] for row in frames.simulations(source) if row["cost"] is not None]
    paid = {} if found.dropped else {"cost": None if mean is None else mean * len(known)}
    return {
        **{"pass_1": done.estimate(1).value, "passed": done.passed},
        **{"verdicts": done.done, **paid},
    }


PLACES = [
    in_json,
    *(in_frame_of_runs, in_frame_of_simulations, in_report, in_viewer, in_list, in_trackers),
    *(in_score, in_certificate, in_comparison),
]


def places_of(source: Path) -> list[Callable[..., Any]]:
    """A list of runs has no files, and only tau2 scores and certifies."""
    benchmark = show(source, explain=False).folder.config.values["benchmark"]
    left_out = [] if source.is_dir() else [in_list]
    left_out += [] if benchmark == "tau2" else [in_score, in_certificate]
    return [place for place in PLACES if place not in left_out]


def test_every_place_shows_the_same_numbers(source):
    shown = in_show(source)
    for place in places_of(source):
        found = place(source)
        assert {place.__name__: found} == {
            place.__name__: pytest.approx({key: shown[key] for key in found})
        }


def test_a_run_of_a_deterministic_model_and_its_export_have_one_number(whole, tmp_path):
    config, reports = RUNS["deterministic model"](RunFolder.read(whole))
    with RunFolder.open(tmp_path / "run", config) as folder:
        for each in reports:
            folder.append(each)
    tau2.export(tmp_path / "run", tmp_path / "run.json")
    found = compare([tmp_path / "run", tmp_path / "run.json"])
    (score,) = tau2.score([tmp_path / "run.json"])

    assert 0 < in_show(tmp_path / "run")["pass_1"] < 1
    assert found.two.main.difference == 0 and not found.incomplete
    assert score.findings == [] and score.agrees
    for place in (in_score, in_certificate, in_report, in_frame_of_runs):
        in_run, in_file = place(tmp_path / "run"), place(tmp_path / "run.json")
        for left_out in ("cost", "tokens", "seed"):  # a results file has them elsewhere
            in_run.pop(left_out, None), in_file.pop(left_out, None)
        assert in_run == pytest.approx(in_file)


def test_every_text_shows_the_same_number_and_interval(source):
    shown = in_show(source)
    ends = (shown["low"], shown["high"])
    missing = shown["verdicts"] < shown["planned"]
    value, so_far = percent(shown["pass_1"]), f"so far {percent(shown['pass_1'])}"
    if missing:
        value = f"{in_percent(shown['worst'])} to {percent(shown['best'])}"
    in_terminal = f"{so_far} {between(*ends)}" if missing else between(*ends)
    in_plot = "({}{} to {})".format(f"{so_far}, " if missing else "", *map(percent, ends))
    recording = open_recording(source)
    found = summarise(show(source, explain=False).lines, planned=recording.planned)
    drawn = str(drawings(recording, found)[-1])

    assert f"{value} {in_plot}" in drawn
    table = maseval("show", source, "--no-explain").stdout
    if source.is_dir() and not missing:
        assert f"pass^1 {value} {in_terminal}" in maseval("plan", source).stdout
    assert 0 < table.index(value) < table.index(between(*ends))
    if source.is_dir():
        assert f"{value} {in_terminal}" in maseval("runs", source.parent).stdout
    if in_score in places_of(source):
        assert f"{value} {in_terminal}" in maseval("score", source).stdout


def test_what_a_results_file_lacks_is_missing_everywhere_and_no_error(exported, tmp_path):
    file = copy_of(exported, tmp_path / "files" / "theirs", 3)
    words = "3 of 12 simulations have a verdict (9 missing): pass^1 is "
    client = viewer(file.parent)
    wait_until(lambda: client.get("/api/runs").json()["runs"][0]["planned"])
    (row,) = client.get("/api/runs").json()["runs"]
    shown = " ".join(maseval("show", file).stdout.split())
    page = index_of(report(file, tmp_path / "page.html", explain=False))
    (frame,) = frames.runs(file)

    assert words in shown and "setup_failed" not in shown
    assert any(words in note for note in page["results"]["notes"])
    assert tau2.score([file])[0].shortfall.startswith(words)
    assert words in compare([exported, file]).incomplete[0]
    assert (row["state"], row["done"], row["failed"], row["planned"]) == ("incomplete", 3, 0, 12)
    assert (frame["simulations"], frame["errors"], frame["planned"]) == (3, 0, 12)
    with pytest.raises(ConfigurationError, match="no trial of"):
        show(file, show(exported).lines[5].task_id)


def test_a_simulation_of_a_file_that_was_not_judged_did_not_fail_at_setup(exported, tmp_path):
    file = copy_of(exported, tmp_path / "theirs")
    content = json.loads(file.read_text())
    del content["simulations"][0]["reward_info"]
    file.write_text(json.dumps(content))
    first = show(file, explain=False, as_recorded=True).lines[0]

    assert (first.status, first.error) == ("evaluation_failed", "no recorded verdict")
