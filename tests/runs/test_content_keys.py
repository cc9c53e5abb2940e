from dataclasses import replace

from maseval.core.storage.records import seal_record
from maseval.runs.content_keys import ContentKeys
from maseval.runs.log import contents_of
from maseval.runs.report_line import report_record
from tests.runs.worlds import report


def keys_of(path, *records, benchmark="one", known=True):
    """Return the key of each simulation, with the hashes that reading found or without them."""
    shared = {"kind": "shared", "id": "x", "benchmark": benchmark}
    path.write_bytes(b"".join(seal_record(each) + b"\n" for each in (shared, *records)))
    contents = contents_of(path)
    keys = ContentKeys(path, contents if known else replace(contents, lines={}))
    return [keys.of(place) for place in contents.places.values()]


A, B = report_record(report("a"), "x"), report_record(report("b"), "x")
LONGER = report_record(report("a", final_answer="yes" * 50_000), "x")


def test_a_key_is_the_same_whether_or_not_its_line_was_read_before(tmp_path):
    path = tmp_path / "log.jsonl"

    assert keys_of(path, A, B, LONGER) == keys_of(path, A, B, LONGER, known=False)


def test_a_key_changes_with_all_that_a_report_is_read_from(tmp_path):
    path = tmp_path / "log.jsonl"

    first, other = keys_of(path, A, B)
    again = [keys_of(path, LONGER), keys_of(path, LONGER, A), keys_of(path, A, benchmark="two")]

    assert len({first, other, *(key for [key] in again)}) == 5
    assert keys_of(path, B, A) == [other, first]  # wherever it stands
