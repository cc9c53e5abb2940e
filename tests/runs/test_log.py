from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.core.storage import strict_json
from maseval.core.storage.records import seal_json
from maseval.runs import RunFolder, RunFolderError, Simulation
from maseval.runs.log import contents_of, last_record, report_at
from maseval.runs.report_line import report_record
from tests.runs.worlds import config, report


def written(path: Path, *records: dict[str, Any], tail: bytes = b"") -> Path:
    path.write_bytes(b"".join(seal_json(strict_json.dumps(one)) + b"\n" for one in records) + tail)
    return path


names = st.text(st.sampled_from('ab,": {}\\\n\u202eé'), max_size=12) | st.just('", "shared": ')


@given(st.lists(st.tuples(names, names, st.integers(0, 3)), max_size=5))
def test_the_heads_of_reports_name_every_simulation(tmp_path_factory, simulations):
    reports = [report(one, trial, domain=domain) for domain, one, trial in simulations]
    path = tmp_path_factory.getbasetemp() / "heads.jsonl"
    written(path, *(report_record(one, None) for one in reports), tail=b'{"crc": 1, "ki')

    found = contents_of(path)

    assert found.places.keys() == {Simulation(*one) for one in simulations}
    assert found.torn and not found.damaged


@pytest.mark.parametrize("tail", [b"", b'{"crc', b"\n"])
def test_the_last_record_is_given_only_if_it_is_whole(tmp_path, tail):
    assert last_record(tmp_path / "log.jsonl") == {}
    path = written(tmp_path / "log.jsonl", {"kind": "closed"}, tail=tail)

    assert (last_record(path).get("kind") == "closed") is (tail == b"")


def test_a_report_that_readers_would_refuse_is_not_recorded(tmp_path):
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        with pytest.raises(ValueError, match="'usage' is none"):
            folder.append(report("a", usage="none"))
        assert not folder.recorded


def test_a_report_of_others_that_cannot_be_read_is_named_when_it_is_asked_for(tmp_path):
    odd = {**report_record(report("a"), None), "traces": 7}  # its checksum is right
    path = written(tmp_path / "log.jsonl", odd)
    [place] = contents_of(path).places.values()

    with pytest.raises(RunFolderError, match=r"on a, trial 0 cannot be read .*remove its line"):
        report_at(path, place.offset, {})


def keys_of(path: Path, *records: dict[str, Any], benchmark: str = "one") -> list[str]:
    """Return the key of each simulation."""
    shared = {"kind": "shared", "id": "x", "benchmark": benchmark}
    contents = contents_of(written(path, shared, *records))
    return [contents.key_of(place) for place in contents.places.values()]


A, B = report_record(report("a"), "x"), report_record(report("b"), "x")
LONGER = report_record(report("a", final_answer="yes" * 50_000), "x")


def test_a_key_is_the_same_for_the_writer_and_for_readers(tmp_path):
    with RunFolder.open(tmp_path / "run", config("a", "b")) as folder:
        for one in ("a", "b", "a"):
            folder.append(report(one))
        keys = [folder.content_key(Simulation.of(report(one))) for one in ("a", "b")]

    read = RunFolder.read(tmp_path / "run")
    assert keys == [read.content_key(Simulation.of(report(one))) for one in ("a", "b")]


def test_a_key_changes_with_all_that_a_report_is_read_from(tmp_path):
    path = tmp_path / "log.jsonl"

    first, other = keys_of(path, A, B)
    again = [keys_of(path, LONGER), keys_of(path, LONGER, A), keys_of(path, A, benchmark="two")]

    assert len({first, other, *(key for [key] in again)}) == 5
    assert keys_of(path, B, A) == [other, first]  # wherever it stands
