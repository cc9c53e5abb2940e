"""Index lines: what a run is listed by, without reading a report."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maseval.core.index_line import IndexLine
from maseval.core.outcome import Outcome, RecordedReport, Simulation
from maseval.core.storage import strict_json
from maseval.core.storage.records import seal_json
from maseval.data.kept import place_for
from maseval.runs import RunFolder, log
from maseval.runs.recording import INDEX_FILE, outcomes_in
from maseval.runs.report_line import BEGINNING, INDEX, LINK, Link
from tests.runs.worlds import config, finished_run, report


def rewritten(path: Path, change: Callable[..., Any]) -> Path:
    """Write a log anew after ``change`` to each record of a report, as whoever knows the format."""
    end, lines = BEGINNING, []
    for line in (path / "log.jsonl").read_bytes().splitlines():
        record = json.loads(line)
        if record["kind"] == "report":
            change(record)
        del record["crc"]
        text = strict_json.dumps({LINK: str(end), **{k: v for k, v in record.items() if k != LINK}})
        lines.append(seal_json(text) + b"\n")
        end = Link.of(end.number + 1, lines[-1])
    (path / "log.jsonl").write_bytes(b"".join(lines))
    (path / "seal.json").unlink(missing_ok=True)
    return path


def without_index(path: Path) -> Path:
    """Make a log as an earlier release wrote it."""
    return rewritten(path, lambda record: record.pop(INDEX))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The offsets of the reports that are read from a log."""
    found = []
    real = log.report_at

    def noted(path, offset, shared):
        found.append(offset)
        return real(path, offset, shared)

    monkeypatch.setattr(log, "report_at", noted)
    return found


def as_reports_say(folder: RunFolder) -> list[IndexLine]:
    return [IndexLine.of(RecordedReport(each)) for each in folder.reports()]


ODD = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    *(st.just(Decimal("0.5")), st.just(10**400), st.just({"$same_as": ["x"]})),
)
PARTS = {
    "status": st.sampled_from(["success", "agent_error", "provider_error", "no such status"]),
    "error": st.none() | st.fixed_dictionaries({"error_message": ODD, "error_type": ODD}),
    "eval": st.none() | st.lists(st.dictionaries(st.sampled_from(["reward", "passed"]), ODD)),
    "usage": st.dictionaries(
        st.sampled_from(["models", "agents"]),
        st.just({}) | st.fixed_dictionaries({"a": st.fixed_dictionaries({"cost": ODD})}),
    ),
    "traces": st.fixed_dictionaries(
        {
            "environment": st.fixed_dictionaries(
                {"simulation": st.dictionaries(st.just("termination_reason"), ODD)}
            )
        }
    ),
    "started_at": ODD,
    "run_id": ODD,
}


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.fixed_dictionaries({}, optional=PARTS))
def test_an_index_line_says_what_its_report_says_whatever_that_holds(
    tmp_path_factory: pytest.TempPathFactory, parts: Any
) -> None:
    path = tmp_path_factory.mktemp("runs") / "run"
    with RunFolder.open(path, config("a")) as folder:
        folder.append(report("a", **parts))
    run = RunFolder.read(path)

    said = [run.index_line(one) for one in run.recorded]

    assert repr(said) == repr(as_reports_say(run))  # NaN is not equal to itself


def test_a_run_is_listed_without_reading_a_report(tmp_path, reads):
    path = finished_run(tmp_path / "run", *"abc", trials=2)

    found = outcomes_in(RunFolder.read(path))

    assert not reads
    assert found == [each.outcome for each in as_reports_say(RunFolder.read(path))]


def test_what_earlier_attempts_cost_is_counted(tmp_path):
    usage = {"models": {"m": {"cost": 0.5, "input_tokens": 7}}}
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        folder.append(report("a", status="provider_error", eval=None, usage=usage))
        folder.append(report("a", usage=usage))

    (found,) = outcomes_in(RunFolder.read(tmp_path / "run"))

    assert (found.passed, found.cost, found.tokens) == (True, 1.0, 14)


def test_the_log_of_an_earlier_release_is_read_once_for_its_index(tmp_path, reads):
    path = finished_run(tmp_path / "run", *"abc")
    expected = outcomes_in(RunFolder.read(path))
    without_index(path)
    assert RunFolder.read(path).damaged == []

    first = listed(path)
    read, reads[:] = list(reads), []

    assert first == listed(path) == expected
    assert (len(read), reads) == (3, [])


def listed(path: Path) -> list[Outcome]:
    return outcomes_in(RunFolder.read(path))


def test_a_kept_index_that_is_damaged_or_stale_is_made_anew(tmp_path, reads):
    path = without_index(finished_run(tmp_path / "run", *"ab"))
    before = listed(path)
    kept = place_for(path / "log.jsonl", INDEX_FILE)
    whole = kept.read_bytes()

    for content in (whole[: len(whole) // 2], whole.replace(b"pass", b"fail"), b"", b"\0" * 99):
        kept.write_bytes(content)
        assert listed(path) == before

    rewritten(path, lambda record: record.update(eval=[{"reward": 0.0}]))
    assert [each.passed for each in before] == [True, True]
    assert [each.passed for each in listed(path)] == [False, False]


def test_a_folder_that_cannot_be_written_to_is_listed(tmp_path, monkeypatch, reads):
    path = without_index(finished_run(tmp_path / "run", *"ab"))
    before = sorted(each.name for each in path.iterdir())
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(path / "log.jsonl" / "nowhere"))
    path.chmod(0o500)

    assert len(listed(path)) == 2

    path.chmod(0o700)
    assert sorted(each.name for each in path.iterdir()) == before


@pytest.mark.parametrize(
    "index",
    [None, [], {}, {"form": 0}, {"form": 1}, {"form": 1, "kind": "won"}, {"form": 1, "cost": "1"}],
)
def test_an_index_line_of_another_form_is_made_from_the_report(tmp_path, index):
    path = finished_run(tmp_path / "run", "a")
    expected = outcomes_in(RunFolder.read(path))
    rewritten(path, lambda record: record.update({INDEX: index}))

    run = RunFolder.read(path)

    assert run.damaged == [] and outcomes_in(run) == expected


def test_a_report_that_was_rescued_gets_its_index_line_with_the_rest(tmp_path, reads):
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        record = folder.whole_record(report("a"))
    rescued = tmp_path / "rescued.jsonl"
    rescued.write_text(strict_json.dumps(record) + "\n")
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        folder.adopt(rescued)

    run = RunFolder.read(tmp_path / "run")

    assert run.index_line(Simulation("", "a", 0)).outcome.passed and not reads
