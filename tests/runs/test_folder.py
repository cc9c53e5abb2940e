import json
from pathlib import Path
from typing import Any

import pytest

from maseval.core.storage import strict_json
from maseval.core.storage.records import seal_json
from maseval.runs import (
    DamagedRecord,
    RunConfigError,
    RunFolder,
    RunFolderError,
    Simulation,
    run_into,
    run_state,
)
from maseval.runs.config import cell_of
from maseval.runs.lock import FolderLock
from tests.damage import edit_line, results_in
from tests.runs.worlds import AWKWARD_IDS, as_killed, config, desk, finished_run, report, tasks


def lines(folder: Path) -> list[bytes]:
    return (folder / "log.jsonl").read_bytes().splitlines(keepends=True)


def rewritten(folder: Path, **changed: Any) -> Path:
    """The folder with some lines of its log replaced, by number: ``_2=b"..."``."""
    found = lines(folder)
    for number, line in changed.items():
        found[int(number[1:]) - 1] = line
    (folder / "log.jsonl").write_bytes(b"".join(found))
    return folder


def line_of(folder: Path, task_id: str) -> tuple[int, bytes]:
    """The number of the line that holds a task's report, and the line."""
    numbered = enumerate(lines(folder), 1)
    return next((n, line) for n, line in numbered if f'"task_id": "{task_id}"'.encode() in line)


def sealed_line(record: dict[str, Any]) -> bytes:
    return seal_json(strict_json.dumps(record)) + b"\n"


def test_a_report_comes_back_as_it_was(tmp_path):
    whole = report("a", config={"benchmark": {"git": "c0ffee"}, "agents": {}})
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        folder.append(whole)
        assert folder.report(Simulation("", "a", 0)) == whole

    assert list(RunFolder.read(tmp_path / "run").reports()) == [whole]


def test_what_all_reports_share_is_written_once_and_is_one_object_again(tmp_path):
    machine, other = {"git": "c0ffee"}, {"host": "of the next session"}
    for ids, shared in (("ab", machine), ("c", other)):
        with RunFolder.open(tmp_path / "run", config("a", "b", "c")) as folder:
            for task_id in ids:
                folder.append(report(task_id, config={"benchmark": shared}))

    reports = RunFolder.read(tmp_path / "run").reports()
    first, second, last = (each["config"]["benchmark"] for each in reports)
    assert first == machine and first is second and last == other
    assert b"".join(lines(tmp_path / "run")).count(b"c0ffee") == 1


def test_reports_come_in_the_order_of_the_plan(tmp_path):
    with RunFolder.open(tmp_path / "run", config("a", "b", trials=2)) as folder:
        for task_id, trial in (("b", 1), ("a", 1), ("b", 0), ("a", 0)):
            folder.append(report(task_id, trial))

    reports = RunFolder.read(tmp_path / "run").reports()
    assert [(one["task_id"], one["repeat_idx"]) for one in reports] == [
        *(("a", 0), ("a", 1), ("b", 0), ("b", 1))
    ]


def test_going_on_with_a_run_changes_nothing_that_was_written(tmp_path):
    with RunFolder.open(tmp_path / "run", config("a", "b")) as folder:
        folder.append(report("a"))
    before, identity = (tmp_path / "run/log.jsonl").read_bytes(), tmp_path / "run/config.json"
    stamp = identity.stat().st_mtime_ns, identity.read_bytes()

    with RunFolder.open(tmp_path / "run", config("a", "b")) as folder:
        assert folder.missing() == [Simulation("", "b", 0)]
        folder.append(report("b"))

    assert (tmp_path / "run/log.jsonl").read_bytes().startswith(before)
    assert (identity.stat().st_mtime_ns, identity.read_bytes()) == stamp


def test_another_configuration_is_refused_with_its_differences_and_the_ways_out(tmp_path):
    finished_run(tmp_path / "run", "a", model="m", args={"temperature": 0})

    with pytest.raises(RunConfigError) as caught:
        RunFolder.open(tmp_path / "run", config("a", model="n", args={"temperature": 1}))

    assert caught.value.differences == ["args.temperature: 0 -> 1", 'model: "m" -> "n"']
    assert '\n  model: "m" -> "n"\n' in str(caught.value)
    assert "--output" in str(caught.value) and "fork=True" in str(caught.value)
    RunFolder.open(tmp_path / "run", config("a", model="m", args={"temperature": 0})).close()


def test_more_tasks_and_trials_extend_a_run_and_fewer_are_refused(tmp_path):
    path = finished_run(tmp_path / "run", "a", trials=1)
    before = (path / "config.json").read_bytes()

    with RunFolder.open(path, config("a", "b", trials=2)) as folder:
        assert [*map(str, folder.missing())] == ["a, trial 1", "b, trial 0", "b, trial 1"]
        run_into(folder, desk(), tasks("a", "b"))

    assert (path / "config.json").read_bytes() == before
    assert len(list(RunFolder.read(path).reports())) == 4
    assert not RunFolder.read(path).missing()
    with pytest.raises(RunConfigError, match="trials: 2 -> 1"):
        RunFolder.open(path, config("a", "b", trials=1))


def test_a_cell_keeps_the_order_of_its_factors_and_goes_on_when_the_grid_gets_more(tmp_path):
    cells = [{"system": "react", "domain": "shop"}, {"domain": "shop", "system": "react", "b": "1"}]
    for cell in cells:
        with RunFolder.open(tmp_path / "run", config("a", cell=cell)) as folder:
            folder.append(report("a"))
        found = RunFolder.read(tmp_path / "run")
        assert list(cell_of(found.config.values).items()) == list(cell.items())
        assert list(cell_of(run_state(found.path).config).items()) == list(cell.items())

    RunFolder.open(tmp_path / "run", config("a", "b")).close()  # by itself, with another task

    grown = RunFolder.read(tmp_path / "run")
    assert cell_of(grown.config.values) == cells[1] and len(grown.planned) == 2
    assert not grown.damage and cell_of({"tasks": {}}) == {}


def test_what_was_written_between_reading_and_locking_a_folder_counts(tmp_path, monkeypatch):
    path = tmp_path / "run"
    RunFolder.open(path, config("a", "b")).close()

    class LateLock(FolderLock):
        def __init__(self, place):
            monkeypatch.undo()
            with RunFolder.open(path, config("a", "b")) as other:
                other.append(report("a"))
            super().__init__(place)

    monkeypatch.setattr("maseval.runs.folder.FolderLock", LateLock)
    with RunFolder.open(path, config("a", "b")) as folder:
        assert folder.missing() == [Simulation("", "b", 0)]


def test_a_fork_goes_to_the_next_free_name_and_is_found_again(tmp_path):
    finished_run(tmp_path / "run", "a", model="m")
    for _ in range(2):
        with RunFolder.open(tmp_path / "run", config("a", model="n"), fork=True) as folder:
            assert folder.path == tmp_path / "run-2"
            assert folder.missing() == [Simulation("", "a", 0)]
    with RunFolder.open(tmp_path / "run", config("a", model="o"), fork=True) as folder:
        assert folder.path == tmp_path / "run-3"
    with RunFolder.open(tmp_path / "run", config("a", model="m"), fork=True) as folder:
        assert folder.path == tmp_path / "run" and not folder.missing()


def test_a_run_can_be_forked_while_it_goes_on(tmp_path):
    with (
        RunFolder.open(tmp_path / "run", config("a", model="m")),
        RunFolder.open(tmp_path / "run", config("a", model="n"), fork=True) as fork,
    ):
        assert fork.path.name == "run-2"


@pytest.mark.parametrize(
    "status",
    [
        *("setup_failed", "environment_error", "user_error", "unknown_execution_error"),
        *("task_timeout", "content_filtered", "quota_exhausted", "provider_error"),
    ],
)
def test_what_broke_around_the_agent_is_tried_again_and_the_later_report_counts(tmp_path, status):
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        folder.append(report("a", status=status))
        assert folder.missing() == [Simulation("", "a", 0)]
        assert folder.missing(retry_failed=False) == []
        folder.append(report("a", status="agent_error", final_answer="at last"))
        assert folder.missing() == [], "what the agent did is a result"

    again = RunFolder.read(tmp_path / "run")
    assert [one["final_answer"] for one in again.reports()] == ["at last"]
    assert sum(b'"kind": "report"' in line for line in lines(tmp_path / "run")) == 2


def test_a_record_that_lacks_only_its_line_end_counts(tmp_path):
    path = finished_run(tmp_path / "run", "a")
    number, line = line_of(path, "a")
    (path / "log.jsonl").write_bytes(b"".join(lines(path)[: number - 1]) + line.rstrip())

    with RunFolder.open(path, config("a", "b")) as folder:
        assert folder.set_aside is None
        folder.append(report("b"))

    assert len(list(RunFolder.read(path).reports())) == 2


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (b'{"kind": "report", "task\n', "Invalid control character"),
        (b"\0\0\0\0\0\n", "Expecting value"),
        (b"[1, 2]\n", "expected a JSON object"),
        (sealed_line({"kind": "report"}), "'domain' is missing"),
        (sealed_line({"kind": "riddle"}), "unknown kind 'riddle'"),
        (sealed_line({"a": 1}), "'kind' is missing"),
        (
            sealed_line({"kind": "closed"}).replace(b"closed", b"report"),
            "its checksum does not match",
        ),
        (b'{"kind": "closed"}\n', "it has no checksum"),
        (b"\xff\n", "can't decode byte"),
    ],
)
def test_a_damaged_record_is_reported_stays_and_its_simulation_is_run_again(
    tmp_path, caplog, damage, reason
):
    path = finished_run(tmp_path / "run", "a", "b", "c")
    number, _ = line_of(path, "b")
    rewritten(path, **{f"_{number}": damage})

    with RunFolder.open(path, config("a", "b", "c")) as folder:
        assert folder.missing() == [Simulation("", "b", 0)]
        [found] = folder.damaged
        assert isinstance(found, DamagedRecord)
        assert found.line == number and reason in found.reason
        assert f"line {number}: " in caplog.text
        run_into(folder, desk(), tasks("a", "b", "c"))

    assert damage in lines(path)
    again = RunFolder.read(path)
    assert len(list(again.reports())) == 3 and len(again.damaged) == 1


def test_a_report_that_json_has_no_words_for_is_whole_when_it_is_read(tmp_path):
    class Odd:
        told = 0

        def __str__(self):
            Odd.told += 1
            return f"odd {Odd.told}"

    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        folder.append(report("a", final_answer=[Odd(), float("nan"), {1: 2, "1": 3}, {4}]))

    assert not RunFolder.read(tmp_path / "run").damaged
    assert not RunFolder.read(tmp_path / "run").missing()


def test_no_file_is_named_after_data(tmp_path):
    path = finished_run(tmp_path / "deep" / "run", *AWKWARD_IDS, trials=2)

    assert sorted(one.name for one in path.iterdir()) == [
        *("config.json", "lock", "log.jsonl", "seal.json")
    ]
    assert [one.name for one in tmp_path.iterdir()] == ["deep"]
    reports = list(RunFolder.read(path).reports())
    assert [one["task_id"] for one in reports[::2]] == AWKWARD_IDS


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "precious.txt").write_text("mine")

    with pytest.raises(RunFolderError, match=r"other files, such as 'precious.txt'.*empty folder"):
        RunFolder.open(tmp_path, config("a"))
    with pytest.raises(RunFolderError, match="is a file"):
        RunFolder.open(tmp_path / "precious.txt", config("a"))
    assert [one.name for one in tmp_path.iterdir()] == ["precious.txt"]


@pytest.mark.parametrize("left", ["lock", ".0123.tmp"])
def test_what_a_process_killed_at_the_start_leaves_is_no_obstacle(tmp_path, left):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / left).write_text("{")

    RunFolder.open(tmp_path / "run", config("a")).close()


def test_a_folder_that_is_no_run_says_so(tmp_path):
    with pytest.raises(RunFolderError, match=r"not a run folder.*list_runs"):
        RunFolder.read(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace('"m"', '"n"'), "was edited"),
        (lambda text: text[:-30], "is damaged"),
        (lambda text: text.replace('"format": 1', '"format": 9'), "format 9"),
        (lambda text: "[]", "is damaged"),
    ],
)
def test_a_configuration_file_that_is_not_ours_is_not_believed(tmp_path, change, message):
    """In a folder of an earlier release, whose log does not begin with the configuration."""
    path = as_killed(finished_run(tmp_path / "run", "a", model="m"))
    (path / "log.jsonl").write_bytes(b"".join(lines(path)[1:]))
    text = (path / "config.json").read_text()
    (path / "config.json").write_text(change(text))

    with pytest.raises(RunFolderError, match=message):
        RunFolder.read(path)


def test_the_configuration_of_another_run_does_not_count_and_is_replaced(tmp_path):
    path = finished_run(tmp_path / "run", "a", model="m")
    other = finished_run(tmp_path / "other", "a", model="n")
    (path / "config.json").write_bytes((other / "config.json").read_bytes())

    assert RunFolder.read(path).config.values["model"] == "m"
    RunFolder.open(path, config("a", model="m")).close()
    assert json.loads((path / "config.json").read_bytes())["config"]["model"] == "m"


def test_a_changed_last_line_does_not_count(tmp_path):
    path = finished_run(tmp_path / "run", "a", "b")
    made_up = edit_line(line_of(path, "a")[1], after=json.loads(lines(path)[-1])["after"])
    (path / "log.jsonl").write_bytes(b"".join(lines(path)[:-1]) + made_up)

    found = RunFolder.read(path)

    assert "it was changed after its session closed" in str(found.damaged[0])
    assert results_in(path) == results_in(finished_run(tmp_path / "again", "a", "b"))


def test_what_follows_a_gap_is_not_taken_for_an_addition(tmp_path):
    """The number of a new line counts those that are missing, as the lines before it do."""
    path = as_killed(finished_run(tmp_path / "run", "a", "b", "c"))
    number, _ = line_of(path, "a")
    (path / "log.jsonl").write_bytes(
        b"".join([*lines(path)[: number - 1], *lines(path)[number:-1]])
    )

    with RunFolder.open(path, config("a", "b", "c")) as folder:
        run_into(folder, desk(), tasks("a", "b", "c"))

    assert [one.reason for one in RunFolder.read(path).damaged] == ["a line before it is missing"]
    assert len(results_in(path)) == 3


def test_a_folder_that_was_only_read_is_not_written_to(tmp_path):
    path = finished_run(tmp_path / "run", "a")

    with pytest.raises(RunFolderError, match=r"use RunFolder\.open"):
        RunFolder.read(path).append(report("a"))
    with pytest.raises(RunFolderError, match="no report on b, trial 3"):
        RunFolder.read(path).report(Simulation("", "b", 3))


def test_secrets_are_in_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "canary-env-0123")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://ann:canary-userinfo@host/v1")
    given = config(
        "a",
        agent_args={"api_key": "canary-arg-0123", "headers": {"Authorization": "canary-head-01"}},
        base_url="https://ann:canary-url-0123@host/v1?key=canary-query-0123",
        judge="https://host/canary-env-0123/v1",
    )
    quoted = (
        "canary-env-0123 canary-arg-0123 canary-head-01 canary-url-0123 canary-query-0123 "
        "canary-userinfo"
    )
    with RunFolder.open(tmp_path / "run", given) as folder:
        error = {"error_message": quoted}
        machine = {"environment": {"X": quoted}}
        folder.append(report("a", error=error, config={"benchmark": machine}))
        (tmp_path / "run" / "whole").write_text(json.dumps(folder.whole_record(report("a"))))

    files = [one for one in (tmp_path / "run").iterdir() if one.is_file()]
    assert len(files) == 5
    for file in files:
        assert "canary" not in file.read_text(), file.name
    RunFolder.open(tmp_path / "run", given).close()


def test_a_task_that_is_called_like_a_password_is_still_found(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOP_PASSWORD", "cancel-order")
    with RunFolder.open(tmp_path / "run", config("cancel-order")) as folder:
        folder.append(report("cancel-order"))
        assert not folder.missing()

    assert not RunFolder.read(tmp_path / "run").missing()
