"""Values are kept while all that decides them is the same."""

from pathlib import Path

import pytest

from maseval.data import kept
from maseval.data.kept import KeptValues, package_fingerprint


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    values = KeptValues(tmp_path / "kept", "rules 1")
    values.put("a", {"text": "naïve\n"})
    values.put("b", [1])
    values.save()
    return tmp_path / "kept"


def test_a_value_is_found_again_under_its_key_and_version(file):
    values = KeptValues(file, "rules 1")

    assert values.get("a") == {"text": "naïve\n"}
    assert values.get("c") is None
    assert KeptValues(file, "rules 2").get("a") is None


def test_what_is_added_stands_behind_and_the_last_value_counts(file):
    before = file.read_bytes()
    values = KeptValues(file, "rules 1")
    values.put("b", [2])
    values.save()

    assert file.read_bytes().startswith(before)
    assert KeptValues(file, "rules 1").get("b") == [2]


def test_another_version_replaces_the_file(file):
    values = KeptValues(file, "rules 2")
    values.put("a", 2)
    values.save()

    assert KeptValues(file, "rules 2").get("a") == 2
    assert KeptValues(file, "rules 1").get("b") is None


def test_no_damage_gives_a_wrong_value(file):
    """Whatever byte is changed, or wherever the file is cut: a value is as it was, or not there."""
    whole = file.read_bytes()
    known = {"a": {"text": "naïve\n"}, "b": [1]}
    damaged = [whole[:at] for at in range(len(whole))]
    damaged += [whole[:at] + b"7" + whole[at + 1 :] for at in range(len(whole))]

    for content in damaged:
        file.write_bytes(content)
        values = KeptValues(file, "rules 1")
        for key, value in known.items():
            assert values.get(key) in (value, None)


def test_a_line_that_was_cut_off_spoils_no_later_one(file):
    file.write_bytes(file.read_bytes()[:-3])
    values = KeptValues(file, "rules 1")
    values.put("c", 3)
    values.save()

    found = KeptValues(file, "rules 1")
    assert (found.get("a"), found.get("b"), found.get("c")) == ({"text": "naïve\n"}, None, 3)


def test_without_a_version_or_where_nothing_can_be_written_nothing_is_kept(tmp_path):
    (tmp_path / "file").write_text("a file, so that nothing can lie below")
    for place, version in ((tmp_path / "kept", None), (tmp_path / "file" / "kept", "rules 1")):
        values = KeptValues(place, version)
        values.put("a", 1)
        values.save()

        assert KeptValues(place, version).get("a") is None and not place.exists()
        assert values.get("a") is not None


def test_the_fingerprint_is_that_of_every_file_of_code_and_data(tmp_path, monkeypatch):
    (tmp_path / "package").mkdir()
    rules = tmp_path / "package" / "rules.py"
    rules.write_text("LIMIT = 1")
    monkeypatch.setattr(kept, "_PACKAGE", tmp_path / "package")
    monkeypatch.setattr(kept, "_STARTED", rules.stat().st_mtime_ns)
    fresh = package_fingerprint.__wrapped__
    before = fresh()

    assert before == fresh() is not None
    rules.write_text("LIMIT = 2")
    monkeypatch.setattr(kept, "_STARTED", rules.stat().st_mtime_ns)
    assert fresh() not in (before, None)
    monkeypatch.setattr(kept, "_STARTED", rules.stat().st_mtime_ns - 1)
    assert fresh() is None  # what runs may be the code from before
