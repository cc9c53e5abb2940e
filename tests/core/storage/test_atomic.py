import json
import stat

import pytest

from maseval.core.exceptions import OutputExistsError
from maseval.core.storage.files import atomic_file, write_json


def test_a_file_that_cannot_be_replaced_leaves_no_trace_of_the_attempt(tmp_path):
    target = tmp_path / "taken.json"
    target.mkdir()

    with pytest.raises(OutputExistsError, match=r"taken\.json is a folder"):
        write_json(target, {"a": 1})

    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("name", ["file/x.json", "file/below/x.json"])
def test_what_stands_where_a_folder_should_be_is_named(name, tmp_path):
    (tmp_path / "file").write_text("mine")

    with pytest.raises(OutputExistsError, match="is not a folder"):
        write_json(tmp_path / name, {"a": 1})


def test_a_file_replaces_the_old_one_and_makes_its_folders(tmp_path):
    target = tmp_path / "new" / "folder" / "x.json"

    write_json(target, {"a": 1})
    write_json(target, {"a": 2})

    assert json.loads(target.read_text()) == {"a": 2}
    assert list(target.parent.iterdir()) == [target]


def test_until_it_is_whole_a_reader_sees_the_old_file(tmp_path):
    target = tmp_path / "x.json"
    write_json(target, {"a": 1})

    with atomic_file(target) as file:
        file.write(b"half")
        file.flush()
        assert json.loads(target.read_text()) == {"a": 1}

    assert target.read_bytes() == b"half"


def test_an_error_half_way_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "x.json"
    write_json(target, {"a": 1})

    with pytest.raises(KeyboardInterrupt), atomic_file(target) as file:
        file.write(b"half")
        raise KeyboardInterrupt

    assert json.loads(target.read_text()) == {"a": 1}
    assert list(tmp_path.iterdir()) == [target]


def test_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    write_json(tmp_path / "x.json", {})

    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1
