import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.core.storage.records import seal_record
from maseval.runs import RunFolder, Simulation, log
from maseval.runs.log import contents_of, heads_of, last_record, report_at
from maseval.runs.report_line import report_record
from tests.runs.worlds import config, report


def written(path, *records, tail=b""):
    path.write_bytes(b"".join(seal_record(one) + b"\n" for one in records) + tail)
    return path


names = st.text(st.sampled_from('ab,": {}\\\n\u202eé'), max_size=12) | st.just('", "shared": ')


@given(st.lists(st.tuples(names, names, st.integers(0, 3)), max_size=5))
def test_a_look_at_the_heads_finds_what_a_full_reading_finds(tmp_path_factory, simulations):
    reports = [report(one, trial, domain=domain) for domain, one, trial in simulations]
    path = tmp_path_factory.getbasetemp() / "heads.jsonl"
    written(path, *(report_record(one, None) for one in reports), tail=b'{"crc": 1, "ki')

    found = contents_of(path)

    assert heads_of(path).places == found.places
    assert found.places.keys() == {Simulation(*one) for one in simulations}
    assert found.torn and not found.damaged


def test_of_two_reports_on_one_simulation_the_last_counts(tmp_path):
    records = [report_record(report("a", final_answer=answer), None) for answer in ("no", "yes")]
    path = written(tmp_path / "log.jsonl", *records)

    [(simulation, place)] = contents_of(path).places.items()

    assert simulation == Simulation("", "a", 0)
    assert report_at(path, place.offset, {}) == report("a", final_answer="yes")


@pytest.mark.parametrize("tail", [b"", b'{"crc', b"\n"])
def test_the_last_record_is_given_only_if_it_is_whole(tmp_path, tail):
    path = written(tmp_path / "log.jsonl", {"kind": "closed"}, tail=tail)

    assert (last_record(path).get("kind") == "closed") is (tail == b"")


def test_a_log_that_is_not_there_is_empty(tmp_path):
    assert not contents_of(tmp_path / "log.jsonl").places
    assert last_record(tmp_path / "log.jsonl") == {}


def test_a_log_that_was_found_intact_is_read_faster_and_gives_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(log, "_WORTH_KNOWING", 0)
    shared = {"kind": "shared", "id": "x", "benchmark": {"a": 1, "shared": "y"}}
    records = [report_record(report(name), "x") for name in ("a", "b")]
    path = written(tmp_path / "log.jsonl", shared, *records)
    whole = []
    monkeypatch.setattr(log, "check_report", whole.append)

    first = contents_of(path)
    assert len(whole) == 2
    assert contents_of(path) == first
    assert len(whole) == 2

    content = path.read_bytes()
    path.write_bytes(content.replace(b'"b"', b'"c"', 1))
    assert len(contents_of(path).damaged) == 1


def test_a_log_with_damage_is_not_remembered_as_intact(tmp_path, monkeypatch):
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(log, "_WORTH_KNOWING", 0)
    odd = {**report_record(report("a"), None), "traces": 7}  # its checksum is right
    path = written(tmp_path / "log.jsonl", odd)

    assert len(contents_of(path).damaged) == len(contents_of(path).damaged) == 1


@pytest.mark.parametrize("usage", [{}, "none"])
def test_a_log_that_was_written_whole_is_known_as_intact(tmp_path, monkeypatch, usage):
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(log, "_WORTH_KNOWING", 0)
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        folder.append(report("a", usage=usage))
    whole, check = [], log.check_report
    monkeypatch.setattr(log, "check_report", lambda record: whole.append(check(record)))

    read = RunFolder.read(tmp_path / "run")

    # A report that readers refuse is found by reading it.
    assert len(read.damaged) == (usage == "none")
    assert whole == [] and len(read.recorded) == (usage == {})
