"""Runs as files that other programs read: ATIF and Every Eval Ever."""

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from maseval import commands
from maseval.commands import tau2
from maseval.core.exceptions import ConfigurationError, NotRunError, OutputExistsError
from maseval.core.outcome import RecordedReport
from maseval.exchange.atif import read_trajectory
from maseval.runs import RunFolder
from tests.cli.commandline import maseval

CHECKOUT = Path(__file__).parents[3]
BOOKING = "examples.booking:BookingBenchmark"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library") / "run"
    return tau2.run(domain="library", agent="noisy", num_tasks=5, trials=2, output=folder).folder


@pytest.fixture(scope="module")
def results(library: Path) -> tuple[dict[str, Any], list[dict[str, Any]], bytes]:
    """The document of a run in Every Eval Ever, its rows, and the bytes of the latter."""
    (found,) = commands.export(library, "eee", library.parent / "eee")
    (rows,) = found.path.rglob("*_samples.jsonl")
    (document,) = (path for path in found.path.rglob("*.json"))
    lines = rows.read_bytes()
    return json.loads(document.read_text()), list(map(json.loads, lines.splitlines())), lines


def test_scores_and_intervals_are_those_of_every_command(library, results):
    document, _, _ = results
    shown = commands.show(library).summary.overall.pass_hat

    assert [each["evaluation_name"] for each in document["evaluation_results"]] == [
        f"tau_bench.text.library.pass_{k}" for k in shown
    ]
    for each, estimate in zip(document["evaluation_results"], shown.values(), strict=True):
        interval = each["score_details"]["uncertainty"]["confidence_interval"]
        assert each["score_details"]["score"] == 100 * estimate.value
        assert (interval["lower"], interval["upper"]) == (100 * estimate.low, 100 * estimate.high)
        assert interval["confidence_level"] == 0.95
        assert each["metric_config"]["metric_parameters"] == {"k": estimate.k}


def test_rows_are_the_simulations_and_the_list_of_them_is_right(library, results):
    document, rows, content = results
    detailed, lines = document["detailed_evaluation_results"], commands.show(library).lines

    assert detailed["total_rows"] == len(rows) == len(lines) == 10
    assert detailed["checksum"] == hashlib.sha256(content).hexdigest()
    assert {row["evaluation_id"] for row in rows} == {document["evaluation_id"]}
    assert {row["model_id"] for row in rows} == {document["model_info"]["id"]} == {"maseval/noisy"}
    assert [row["evaluation"]["is_correct"] for row in rows] == [line.passed for line in lines]
    assert [(row["sample_id"], row["metadata"]["trial"]) for row in rows] == [
        (str(line.key), str(line.trial)) for line in lines
    ]
    names = {each["evaluation_result_id"] for each in document["evaluation_results"]}
    assert {row["evaluation_result_id"] for row in rows} <= names
    called = [
        call for row in rows for each in row["messages"] for call in (each["tool_calls"] or ())
    ]
    assert called and all(
        isinstance(value, str) for call in called for value in call["arguments"].values()
    )


def test_the_same_run_gives_the_same_files(library, tmp_path):
    written = {}
    for name in ("one", "two"):
        for form in ("atif", "eee"):
            (found,) = commands.export(library, form, tmp_path / f"{name}.{form}")
            files = {p.relative_to(found.path): p.read_bytes() for p in found.path.rglob("*.json*")}
            written[name, form] = files

    assert written["one", "atif"] == written["two", "atif"]
    assert written["one", "eee"] == written["two", "eee"]


def test_any_benchmark_is_written_as_trajectories(tmp_path):
    run = commands.run(benchmark=BOOKING, num_tasks=2, output=tmp_path / "run").folder
    (found,) = commands.export(run, "atif", tmp_path / "out.atif")

    files = sorted(found.path.iterdir())
    first = json.loads(files[0].read_text())
    conversation = read_trajectory(first)
    said = RecordedReport(next(iter(RunFolder.read(run).reports()))).said()
    assert len(files) == 2
    assert conversation.messages == [message.raw for _, message in said]
    assert first["extra"]["maseval"]["simulation"]["evaluation"]
    assert "it is of another benchmark" in maseval("score", found.path).stdout


def test_the_extension_has_the_documented_schema(library, tmp_path):
    schema = json.loads((CHECKOUT / "docs" / "atif-extension.schema.json").read_text("utf-8"))
    part = {**schema["$defs"]["difference"], "properties": {"kind": {"type": "string"}}}
    part["properties"] |= schema["$defs"]["difference"]["properties"]
    booking = commands.run(benchmark=BOOKING, num_tasks=1, output=tmp_path / "run").folder
    count = 0
    for run in (library, booking):
        (found,) = commands.export(
            run, "atif", tmp_path / f"{run.name}.jsonl", single=True, overwrite=True
        )
        for line in found.path.read_text().splitlines():
            root = json.loads(line)
            jsonschema.validate(root["extra"]["maseval"], schema)
            results = [
                each for s in root["steps"] for each in s.get("observation", {}).get("results", ())
            ]
            for each in (*root["steps"], *results):
                if "extra" in each:
                    jsonschema.validate(each["extra"]["maseval"], part)
                    count += 1
    assert count


@pytest.mark.parametrize("form", ["atif", "eee"])
def test_what_is_there_is_replaced_on_request_only(form, library, tmp_path):
    target = tmp_path / "out"
    target.mkdir()
    (target / "mine").write_text("kept")

    with pytest.raises(OutputExistsError, match="--overwrite"):
        commands.export(library, form, target)
    assert (target / "mine").read_text() == "kept"
    commands.export(library, form, target, overwrite=True)
    assert not (target / "mine").exists()


def test_a_form_that_is_not_known_is_refused_with_those_that_are(library):
    with pytest.raises(ConfigurationError, match="give one of atif, eee"):
        commands.export(library, "atiff")
    with pytest.raises(ConfigurationError, match="single is for the form 'atif'"):
        commands.export(library, "eee", single=True)
    found = maseval("export", library, library, "--format", "atif", "--output", "x")
    assert found.exit_code == 2 and "no common --output" in found.stderr


def test_a_run_without_a_simulation_is_refused(tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    file = folder / "results.jsonl"
    file.write_text("")
    for form in ("atif", "eee"):
        with pytest.raises((NotRunError, ConfigurationError, ValueError)):
            commands.export(file, form, tmp_path / "out")
        assert not (tmp_path / "out").exists()
